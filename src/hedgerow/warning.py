"""Warnings that point at the user's line: the nearest one that is no library's."""

from __future__ import annotations

import os
import warnings
from inspect import currentframe

import sklearn

# Frames know their file as a string. scikit-learn's methods, such as `score`, call ours.
_NOT_THE_USER_S = tuple(
    os.path.join(os.path.dirname(file), "")  # noqa: PTH118, PTH120
    for file in (__file__, sklearn.__file__)
)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn of what a call of this library was given."""
    level, frame = 1, currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_NOT_THE_USER_S):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
