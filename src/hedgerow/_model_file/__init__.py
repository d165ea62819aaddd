"""Fitted estimators ↔ ``.hedgerow`` files.

`container.py` defines the bytes, `contents.py` their meaning, with a file for each family of models
and `stored.py` for what families share; `values.py` converts parameters to JSON, and `atomic.py`
replaces files. A file consists of numbers and strings; loading it never runs code.
"""

from __future__ import annotations

import stat
from os import PathLike
from pathlib import Path
from typing import Any

from hedgerow._arguments import with_argument_hints
from hedgerow._estimator import Estimator
from hedgerow._model_file.atomic import file_name, write_atomically
from hedgerow._model_file.checkpoint import read_model
from hedgerow._model_file.container import BEGINNING, check_beginning, pack, unpack
from hedgerow._model_file.contents import read_estimator, write_estimator
from hedgerow._model_file.values import NotStored
from hedgerow.exceptions import ModelFileError

__all__ = ["NotStored", "load", "save"]


def save(estimator: Estimator, path: str | PathLike[str]) -> None:
    """Write a fitted estimator to a file, which `load` reads.

    The file contains everything that prediction, ``apply``, importances and a warm start need: the
    trees, the bins, the names and categories of the columns, the classes, the parameters,
    ``evals_result_``, ``best_iteration_`` and ``best_score_``. It contains no training data (except
    for nearest neighbours), no timestamp, and nothing that would run code on load. Functions
    (``loss``, ``eval_metric``) and a ``RandomState`` are stored by name only: the loaded model has
    a `NotStored` in their place and predicts as before, but the parameter must be set again before
    the next fit; functions that nearest neighbours predict with (``weights``, ``metric``) must be
    set before the next prediction. Arrays, sets and ranges in parameters become lists, NumPy
    numbers become Python numbers, and ``n_jobs`` and ``verbose``, which do not affect the model,
    are reset to their defaults.

    The same model always gives the same bytes. The format is safetensors, so that other programs
    can read the arrays.

    Parameters
    ----------
    estimator : fitted estimator
        An estimator of this library.
    path : str or path-like
        The file. An existing file is replaced atomically, once the new one is complete and on disk;
        if anything fails before that, it is unchanged. A temporary file that a killed process left
        behind is deleted by the next save to the same path.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    TypeError
        If its class is not supported, such as a user-defined subclass.
    ModelFileError
        If something in it cannot be stored, such as a parameter that ``fit`` would not accept.
    OSError
        If the file cannot be written: no such folder, no permission, disk full.
    """
    data = pack(*write_estimator(estimator))
    try:
        read_estimator(*unpack(data))  # never write what cannot be read
    except ModelFileError as error:
        raise ModelFileError(f"this model cannot be saved: {error}") from error
    write_atomically(file_name(path), data)


@with_argument_hints
def load(path: str | PathLike[str]) -> Any:
    """Read an estimator from a file that `save` wrote, or from a checkpoint of a fit.

    Its predictions are the same, bit for bit. Files from untrusted sources may be loaded: that
    runs no code, and everything in the file is checked before it is used; SECURITY.md says how
    this is tested. See `save` for the contents.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    fitted estimator
        An estimator of the class that was saved.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model, or has a format that this version cannot read.
    OSError
        If the file does not exist or cannot be read.
    """
    name = file_name(path)
    try:
        return read_model(*unpack(_read_bytes(Path(name))))
    except ModelFileError as error:
        raise ModelFileError(f"{name!r}: {error}") from error


def _read_bytes(path: Path) -> bytes:
    """Read a file, unless its first bytes show that it is not a model."""
    status = path.stat()
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise ModelFileError("not a regular file")  # reading a pipe or device may never end
    with path.open("rb") as file:
        beginning = file.read(BEGINNING)
        check_beginning(beginning, status.st_size)
        try:
            return beginning + file.read()
        except MemoryError:
            raise ModelFileError("the file does not fit into memory") from None
