"""Checkpoints ↔ files: the model after some rounds, and what identifies the fit."""

from __future__ import annotations

import os
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from hedgerow._model_file.atomic import write_atomically
from hedgerow._model_file.container import Arrays, Document, pack, unpack
from hedgerow._model_file.contents import read_estimator, read_stored, write_estimator
from hedgerow._model_file.stored import Stored, require, with_prefix
from hedgerow.exceptions import ModelFileError

FIELDS = {"seed", "data", "model", "best"}


@dataclass(frozen=True)
class Checkpoint:
    """A fit after some rounds.

    Attributes
    ----------
    model : fitted estimator
        The model of the rounds so far.
    seed : int
        The random seed of the fit.
    data : str
        A digest of the training set.
    best : fitted estimator, optional
        The model of the best round, if it is not simply the first rounds of `model`.
    """

    model: Any
    seed: int
    data: str
    best: Any = None


def write_checkpoint(checkpoint: Checkpoint, path: str | PathLike[str]) -> None:
    """Replace the file atomically: whenever the process ends, the file is complete."""
    fields: Document = {"seed": checkpoint.seed, "data": checkpoint.data, "best": None}
    fields["model"], arrays = write_estimator(checkpoint.model)
    arrays = with_prefix("model.", arrays)
    if checkpoint.best is not None:
        fields["best"], of_best = write_estimator(checkpoint.best)
        arrays |= with_prefix("best.", of_best)
    write_atomically(os.fsdecode(path), pack(fields, arrays))


def read_checkpoint(path: str | PathLike[str]) -> Checkpoint:
    """Read a file that `write_checkpoint` wrote, or raise ModelFileError."""
    name = os.fsdecode(path)
    return parse_checkpoint(Path(name).read_bytes(), name)


def parse_checkpoint(data: bytes, name: str) -> Checkpoint:
    """Read the contents of a file that `write_checkpoint` wrote, or raise ModelFileError."""
    try:
        document, arrays = unpack(data)
        require(is_checkpoint(document), "a model, but not a checkpoint of a fit")
        return _read(document, arrays)
    except ModelFileError as error:
        raise ModelFileError(f"{name!r}: {error}") from error


def is_checkpoint(document: Document) -> bool:
    """Return whether a document is that of a checkpoint, not of a model."""
    return set(document) == FIELDS


def read_model(document: Document, arrays: Arrays) -> Any:
    """Read the estimator of a model file, or that of a checkpoint."""
    if is_checkpoint(document):
        return _read(document, arrays).model
    return read_estimator(document, arrays)


def _read(document: Document, arrays: Arrays) -> Checkpoint:
    stored = Stored(document, arrays)
    seed, data = stored.field("seed"), stored.field("data")
    require(type(seed) is int and 0 <= seed < 2**64, "the seed is not an integer")
    require(isinstance(data, str), "the digest of the data is not a string")
    try:
        model = read_stored(stored.nested("model"))
        has_best = document["best"] is not None
        best = read_stored(stored.nested("best")) if has_best else stored.field("best")
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelFileError(str(error)) from error
    stored.finish()
    return Checkpoint(model, seed, data, best)
