"""Warnings that point at the user's line: the innermost frame outside of libraries."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import currentframe

import sklearn

# scikit-learn is included because its methods, such as `score`, call ours.
_LIBRARY_FOLDERS = tuple(
    os.path.join(os.path.dirname(file), "")  # noqa: PTH118, PTH120
    for file in (__file__, sklearn.__file__)
)


# Warnings issued so far by a call that fits several models to the same table; None outside of one.
_WARNED: ContextVar[set[str] | None] = ContextVar("warned", default=None)
# Marks that a model was fitted to the same table before, with its warnings.
_REPEATED_FIT = "repeated fit"


@contextmanager
def deduplicate_warnings(*, is_repeated_fit: bool = False) -> Iterator[None]:
    """Issue each warning once while several models are fitted to the same table.

    With `is_repeated_fit`, warnings with a subject are not issued at all: an earlier fit, perhaps
    in another thread or process, has issued them.
    """
    warned = _WARNED.get()
    warned = set() if warned is None else warned
    token = _WARNED.set(warned | {_REPEATED_FIT} if is_repeated_fit else warned)
    try:
        yield
    finally:
        _WARNED.reset(token)


def warn_user(
    message: str, category: type[Warning] = UserWarning, *, about: str | None = None
) -> None:
    """Warn about the arguments of a call.

    `about` is the subject of the warning: a column, "y" or "splits". Folds and base models, which
    have different rows, do not repeat a warning about the same subject.
    """
    if _is_repeated(message, about):
        return
    level, frame = 1, currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_LIBRARY_FOLDERS):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def unmentioned(subjects: Sequence[str]) -> list[str]:
    """Return the subjects that this call has not warned about, and record them."""
    return [subject for subject in subjects if not _is_repeated(subject, subject)]


def _is_repeated(message: str, about: str | None) -> bool:
    """Return whether a warning was issued earlier in this call, and record it."""
    warned = _WARNED.get()
    if warned is None:
        return False
    key = message if about is None else about
    if key in warned or (about is not None and _REPEATED_FIT in warned):
        return True
    warned.add(key)
    return False
