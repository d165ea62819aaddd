"""Rounds that go on from others: those of a fit that was broken off, or of another model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fsdecode
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._boosting.fit.settings import Settings, is_auto
from hedgerow._boosting.fit.training_data import Examples, Given
from hedgerow._boosting.model import BoostedModel
from hedgerow._contract import internals
from hedgerow._data.binning import Binner
from hedgerow._estimator import Estimator
from hedgerow._params import short_repr
from hedgerow._tree.structure import Tree
from hedgerow.exceptions import ParameterError

# Parameters that do not tell what a round becomes.
MAY_DIFFER = ("n_estimators", "n_jobs", "verbose", "warm_start", "random_state")
# The part of a fit's time that checkpoints may take, the first and the last aside.
WRITING = 0.1


@dataclass(frozen=True)
class Start:
    """What a fit begins with.

    Attributes
    ----------
    model : BoostedModel, optional
        The rounds that it goes on from.
    rounds_of_other : int
        How many of them are another model's, which n_estimators does not count.
    seed : int
        The key of its random draws.
    checkpoint : CheckpointFile, optional
        Where it writes its rounds.
    found : Checkpoint, optional
        What was in that file: a fit that was broken off.
    """

    model: BoostedModel | None
    rounds_of_other: int
    seed: int
    checkpoint: CheckpointFile | None = None
    found: Any = None

    def trees(self) -> list[Tree]:
        """Return the trees of the rounds so far."""
        return [] if self.model is None else self.model.ensemble.trees()

    def rounds_to_do(self, n_estimators: int) -> range:
        """Return the rounds that are still to be grown."""
        done, last = _n_rounds(self.model), self.rounds_of_other + n_estimators
        if self.checkpoint is not None:
            self.checkpoint.check_rounds(done, last)
        return range(min(done, last), last)


def find_start(given: Given, before: BoostedModel | None, settings: Settings) -> Start:
    """Find out which rounds a fit goes on from, if any: `before` are those of a warm start."""
    asked, model = settings.asked, before
    if given.init_model is not None:
        model = _read_model(given.init_model, asked)
    _require_rounds_to_add(model, asked.n_estimators, is_warm=given.init_model is None)
    of_other = 0 if given.init_model is None else _n_rounds(model)
    if given.checkpoint is None:
        return Start(model, of_other, settings.seed)
    file = CheckpointFile(given.checkpoint, given.checkpoint_every)
    found = file.found(asked)
    if found is None:
        return Start(model, of_other, settings.seed, file)
    file.data = found.data
    return Start(internals(found.model).model(), of_other, found.seed, file, found)


def _n_rounds(model: BoostedModel | None) -> int:
    return 0 if model is None else model.ensemble.n_rounds


def _require_rounds_to_add(model: BoostedModel | None, n_estimators: Any, *, is_warm: bool) -> None:
    if model is None:
        return
    if is_auto(n_estimators):
        raise ParameterError(
            "n_estimators='auto' chooses all rounds of a model. To go on from one, by "
            "init_model or warm_start, say with how many rounds: n_estimators=100."
        )
    if is_warm and _n_rounds(model) > n_estimators:
        raise ParameterError(
            f"n_estimators={n_estimators} is less than the {_n_rounds(model)} rounds that "
            "warm_start=True begins with."
        )


def _read_model(init_model: Any, estimator: Estimator) -> BoostedModel:
    """Return the model that `init_model` is, or that is in the file of this name."""
    from hedgerow import _model_file

    given = init_model
    if isinstance(init_model, str | PathLike):
        init_model = _model_file.load(init_model)
    if type(init_model) is not type(estimator):
        raise ParameterError(
            f"init_model={short_repr(given)} is not allowed; it must be a fitted "
            f"{type(estimator).__name__} or the file of one."
        )
    model: BoostedModel = internals(init_model).model()
    return model


class CheckpointFile:
    """Where a fit writes its rounds every now and then, and finds those of a fit broken off."""

    def __init__(self, path: str | PathLike[str], every: Any) -> None:
        if not isinstance(path, str | PathLike):
            raise ParameterError(f"checkpoint={path!r} is not allowed; it must be a file's name.")
        is_count = isinstance(every, int | np.integer) and not isinstance(every, bool)
        if not is_count or every < 1:
            raise ParameterError(f"checkpoint_every={every!r} is not allowed; it must be >= 1.")
        self.path = fsdecode(path)
        folder = Path(self.path).absolute().parent
        if not folder.is_dir():
            raise ParameterError(f"checkpoint={self.path!r}: there is no folder {str(folder)!r}.")
        self.every = int(every)
        self.data = ""
        self._began = perf_counter()
        self._writing = self._last_writing = 0.0

    def found(self, estimator: Estimator) -> Any:
        """Return the checkpoint that there is, if any, after a look at its parameters."""
        from hedgerow._model_file.atomic import clear_abandoned
        from hedgerow._model_file.checkpoint import read_checkpoint
        from hedgerow._model_file.values import decode, encode

        clear_abandoned(self.path)
        if not Path(self.path).exists():
            return None
        checkpoint = read_checkpoint(self.path)
        if type(checkpoint.model) is not type(estimator):
            raise self._refusal(f"of a {type(checkpoint.model).__name__}")
        now, then = estimator.get_params(deep=False), checkpoint.model.get_params(deep=False)
        for name, value in now.items():
            may_differ = name in MAY_DIFFER and not _matters(name, value, then[name])
            # As a file would give it back: of a function the name, of an array a list.
            if not may_differ and decode(encode(value)) != then[name]:
                raise self._refusal(f"of a fit with {name}={then[name]!r}, not {value!r}")
        return checkpoint

    def check_rounds(self, done: int, last: int) -> None:
        """Refuse a checkpoint of more rounds than there shall be."""
        if done > last:
            raise self._refusal(f"of {done} rounds, more than the {last} that were asked for")

    def check_data(self, data: str) -> None:
        """Remember the digest of the training rows; refuse if a checkpoint has another."""
        if self.data and self.data != data:
            raise self._refusal("of a fit to other rows")
        self.data = data

    def is_due(self, round_: int) -> bool:
        """Tell whether to write after this round: one of many, when there has been time for it."""
        with_this = self._writing + self._last_writing
        in_time = with_this <= WRITING * (perf_counter() - self._began)
        return round_ % self.every == 0 and in_time

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Count what is done meanwhile as writing."""
        began = perf_counter()
        yield
        self._last_writing = perf_counter() - began
        self._writing += self._last_writing

    def write(self, model: Any, seed: int, best: Any) -> None:
        """Write the model so far, and that of the best round if it is another."""
        from hedgerow._model_file.checkpoint import Checkpoint, write_checkpoint

        write_checkpoint(Checkpoint(model, seed, self.data, best), self.path)

    def _refusal(self, what: str) -> ParameterError:
        return ParameterError(
            f"checkpoint={self.path!r} is {what}. Give another name, or delete the file to begin "
            "anew."
        )


def _matters(name: str, now: Any, then: Any) -> bool:
    """Tell whether rounds that are chosen, or a seed, make another fit than the one broken off."""
    are_seeds = name == "random_state" and isinstance(now, int) and isinstance(then, int)
    return is_auto(now) != is_auto(then) or (are_seeds and now != then)


def digest(
    parts: Iterable[Examples], binner: Binner, numbers: NDArray[Any] | None, rounds_before: int
) -> str:
    """Return a digest of the rows of a fit, bins, targets, weights and groups, and of its start.

    `parts` are the training rows and those that are watched, `numbers` the training rows
    themselves, where trees depend on more than their bins.
    """
    hashed = hashlib.sha256(str(rounds_before).encode())
    for part in parts:
        binned = binner.transform(part.table)
        for array in (binned.by_column, part.target, part.weights, part.groups, numbers):
            if array is not None:
                hashed.update(repr((array.dtype.str, array.shape)).encode())
                hashed.update(np.ascontiguousarray(array).data)
    return hashed.hexdigest()
