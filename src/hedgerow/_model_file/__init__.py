"""Fitted estimators ↔ ``.hedgerow`` files.

`container.py` is the bytes, `contents.py` what they mean, with a file for what each family of
models has learned and `stored.py` for the parts that they share; `values.py` is how parameters
become JSON, `atomic.py` how a file is replaced. A file holds numbers and text; loading one never
runs code.
"""

from __future__ import annotations

import os
import stat
from os import PathLike
from pathlib import Path
from typing import Any

from hedgerow._arguments import with_argument_hints
from hedgerow._estimator import Estimator
from hedgerow._model_file.atomic import write_atomically
from hedgerow._model_file.checkpoint import read_model
from hedgerow._model_file.container import BEGINNING, check_beginning, pack, unpack
from hedgerow._model_file.contents import read_estimator, write_estimator
from hedgerow._model_file.values import NotStored
from hedgerow.exceptions import ModelFileError

__all__ = ["NotStored", "load", "save"]


def save(estimator: Estimator, path: str | PathLike[str]) -> None:
    """Write a fitted estimator to a file, which `load` reads.

    The file holds all that prediction, ``apply``, importances and a warm start need: the trees, the
    bins, names and categories of the columns, the classes, the parameters, ``evals_result_``,
    ``best_iteration_`` and ``best_score_``. It does not hold training data (but for nearest
    neighbours, which are nothing else), the time, or anything that would have to run on load: of a
    function (``loss``, ``eval_metric``) and of a ``RandomState`` only the name is kept, and a
    `NotStored` takes its place in the loaded model, which predicts as before but has to be given
    the parameter again before it is fitted again; neighbours that predict by a function
    (``weights``, ``metric``) have to be given it before that, too.
    Arrays, sets and ranges in parameters come back as lists, NumPy numbers as Python's, and
    ``n_jobs`` and ``verbose``, which affect how a fit runs and not what it learns, as their
    defaults.

    The same model always gives the same bytes. They are a safetensors file, so that other programs
    can read the arrays.

    Parameters
    ----------
    estimator : fitted estimator
        One of the library's own.
    path : str or path-like
        Where to. A file of that name is replaced in one step once the new one is whole and on the
        disk; if anything fails before that, it stays as it was. What a save that was killed left
        in the folder, the next one to the same path deletes.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    TypeError
        If it is of a class that files do not know, such as a subclass of your own.
    ModelFileError
        If something in it cannot be stored, such as a parameter that ``fit`` would refuse.
    OSError
        If the file cannot be written: no such folder, no permission, disk full.
    """
    data = pack(*write_estimator(estimator))
    try:
        read_estimator(*unpack(data))  # never write what cannot be read
    except ModelFileError as error:
        raise ModelFileError(f"this model cannot be saved: {error}") from error
    write_atomically(_file_name(path), data)


@with_argument_hints
def load(path: str | PathLike[str]) -> Any:
    """Read the estimator that `save` wrote, or a fit's checkpoint; it predicts the same bits.

    Loading a file from somebody else is safe: it runs no code, and everything in the file is
    checked before it is used. See `save` for what a file holds and what it does not.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    fitted estimator
        Of the class that was saved.

    Raises
    ------
    ModelFileError
        If the file is not a whole, undamaged model of a format that this version reads.
    OSError
        If the file is not there or cannot be read.
    """
    name = _file_name(path)
    try:
        return read_model(*unpack(_read_bytes(Path(name))))
    except ModelFileError as error:
        raise ModelFileError(f"{name!r}: {error}") from error


def _file_name(path: Any) -> str:
    if not isinstance(path, str | bytes | PathLike):
        raise TypeError(f"path must be a file name, not a {type(path).__name__}.")
    return os.fsdecode(path)


def _read_bytes(path: Path) -> bytes:
    """Read a file, unless its first bytes show that it is not a model."""
    status = path.stat()
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise ModelFileError("not a regular file")  # a pipe would be waited for, a device endless
    with path.open("rb") as file:
        beginning = file.read(BEGINNING)
        check_beginning(beginning, status.st_size)
        try:
            return beginning + file.read()
        except MemoryError:
            raise ModelFileError("the file is larger than the memory") from None
