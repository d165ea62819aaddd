"""Warnings that point at the user's line: the nearest one that is no library's."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import currentframe

import sklearn

# Frames know their file as a string. scikit-learn's methods, such as `score`, call ours.
_NOT_THE_USER_S = tuple(
    os.path.join(os.path.dirname(file), "")  # noqa: PTH118, PTH120
    for file in (__file__, sklearn.__file__)
)


# What has been warned of in a call that fits several models to the same table; None outside of one.
_WARNED: ContextVar[set[str] | None] = ContextVar("warned", default=None)
# In there, that columns and targets have been warned of, whichever they are.
_ALL_DATA = "all data"


@contextmanager
def warned_once(*, data_seen: bool = False) -> Iterator[None]:
    """Give each warning once, though several models are fitted; none of the data if `data_seen`."""
    warned = _WARNED.get()
    warned = set() if warned is None else warned
    token = _WARNED.set(warned | {_ALL_DATA} if data_seen else warned)
    try:
        yield
    finally:
        _WARNED.reset(token)


def warn_user(
    message: str, category: type[Warning] = UserWarning, *, about: str | None = None
) -> None:
    """Warn of what a call of this library was given.

    `about` names the column, or "y", that a warning is about, so that folds and members, which
    count other rows of it, do not repeat the warning.
    """
    if _was_given(message, about):
        return
    level, frame = 1, currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_NOT_THE_USER_S):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _was_given(message: str, about: str | None) -> bool:
    """Tell whether a warning has been given in this call, and take note of it."""
    warned = _WARNED.get()
    if warned is None:
        return False
    key = message if about is None else about
    if key in warned or (about is not None and _ALL_DATA in warned):
        return True
    warned.add(key)
    return False
