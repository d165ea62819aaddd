"""Checkpoints ↔ files: the model so far, and what identifies a fit that may continue it."""

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
        As if the fit had ended here.
    seed : int
        The key of its random draws.
    data : str
        A digest of the rows that it learns from.
    best : fitted estimator, optional
        As if it had ended after the best round, if that is not a matter of leaving rounds out.
    """

    model: Any
    seed: int
    data: str
    best: Any = None


def write_checkpoint(checkpoint: Checkpoint, path: str | PathLike[str]) -> None:
    """Replace the file in one step: whenever the process ends, there is a whole one."""
    fields: Document = {"seed": checkpoint.seed, "data": checkpoint.data, "best": None}
    fields["model"], arrays = write_estimator(checkpoint.model)
    arrays = with_prefix("model.", arrays)
    if checkpoint.best is not None:
        fields["best"], of_best = write_estimator(checkpoint.best)
        arrays |= with_prefix("best.", of_best)
    write_atomically(os.fsdecode(path), pack(fields, arrays))


def read_checkpoint(path: str | PathLike[str]) -> Checkpoint:
    """Read what `write_checkpoint` wrote, or raise ModelFileError."""
    name = os.fsdecode(path)
    try:
        document, arrays = unpack(Path(name).read_bytes())
        require(is_checkpoint(document), "a model, but no checkpoint of a fit")
        return _read(document, arrays)
    except ModelFileError as error:
        raise ModelFileError(f"{name!r}: {error}") from error


def is_checkpoint(document: Document) -> bool:
    """Tell checkpoints from models."""
    return set(document) == FIELDS


def read_model(document: Document, arrays: Arrays) -> Any:
    """Read the estimator of a model file, or that of a checkpoint."""
    if is_checkpoint(document):
        return _read(document, arrays).model
    return read_estimator(document, arrays)


def _read(document: Document, arrays: Arrays) -> Checkpoint:
    stored = Stored(document, arrays)
    seed, data = stored.field("seed"), stored.field("data")
    require(type(seed) is int and 0 <= seed < 2**64, "the seed is not a number")
    require(isinstance(data, str), "the digest of the data is not text")
    try:
        model = read_stored(stored.part("model"))
        has_best = document["best"] is not None
        best = read_stored(stored.part("best")) if has_best else stored.field("best")
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelFileError(str(error)) from error
    stored.finish()
    return Checkpoint(model, seed, data, best)
