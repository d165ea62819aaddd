"""Checkpoints: the file that an interrupted fit is resumed from, and the digest of its data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike, fsdecode
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._boosting.fit.dataset import Dataset
from hedgerow._boosting.fit.fit_data import is_auto
from hedgerow._collective import workers
from hedgerow._estimator import Estimator
from hedgerow.exceptions import ParameterError

# Parameters that do not affect what a round becomes.
MAY_DIFFER = ("n_estimators", "device", "n_jobs", "verbose", "warm_start", "random_state")
# The fraction of a fit's time that checkpoints may take, apart from the first and the last.
WRITING = 0.1


class CheckpointFile:
    """The file to which a fit writes its rounds now and then, and from which it is resumed.

    Of several workers, the first reads the file for all, and writes it.
    """

    def __init__(self, path: str | PathLike[str], every: Any) -> None:
        if not isinstance(path, str | PathLike):
            raise ParameterError(f"checkpoint={path!r} is not allowed; it must be a file name.")
        is_count = isinstance(every, int | np.integer) and not isinstance(every, bool)
        if not is_count or every < 1:
            raise ParameterError(f"checkpoint_every={every!r} is not allowed; it must be >= 1.")
        self.path = fsdecode(path)
        folder = Path(self.path).absolute().parent
        if workers().rank == 0 and not folder.is_dir():
            raise ParameterError(f"checkpoint={self.path!r}: there is no folder {str(folder)!r}.")
        self.every = int(every)
        self.data = ""
        self._began = perf_counter()
        self._writing = self._last_writing = 0.0

    def read(self, estimator: Estimator) -> Any:
        """Return the checkpoint in the file, if there is one; refuse one of other parameters."""
        from hedgerow._model_file.checkpoint import parse_checkpoint
        from hedgerow._model_file.contents import write_parameter

        data = workers().objects(self._bytes() if workers().rank == 0 else None)[0]
        if data is None:
            return None
        checkpoint = parse_checkpoint(data, self.path)
        if type(checkpoint.model) is not type(estimator):
            raise self._refusal(f"of a {type(checkpoint.model).__name__}")
        now, then = estimator.get_params(deep=False), checkpoint.model.get_params(deep=False)
        for name, value in now.items():
            may_differ = name in MAY_DIFFER and not _matters(name, value, then[name])
            # As a file stores it: the name of a function, a list for an array.
            if not may_differ and write_parameter(value) != write_parameter(then[name]):
                raise self._refusal(f"of a fit with {name}={then[name]!r}, not {value!r}")
        return checkpoint

    def _bytes(self) -> bytes | None:
        """Return what is in the file, if there is one."""
        from hedgerow._model_file.atomic import clear_abandoned

        clear_abandoned(self.path)
        path = Path(self.path)
        return path.read_bytes() if path.exists() else None

    def check_rounds(self, done: int, last: int) -> None:
        """Refuse a checkpoint with more rounds than the fit."""
        if done > last:
            raise self._refusal(f"of {done} rounds, more than the {last} of this fit")

    def check_data(self, data: str) -> None:
        """Store the digest of the data; refuse a checkpoint with another."""
        if self.data and self.data != data:
            raise self._refusal("of a fit to different data")
        self.data = data

    def is_due(self, round_: int, *, is_last: bool) -> bool:
        """Return whether to write after this round: every few rounds, if there was time for it."""
        if workers().rank > 0:
            return False
        with_this = self._writing + self._last_writing
        in_time = with_this <= WRITING * (perf_counter() - self._began)
        return is_last or (round_ % self.every == 0 and in_time)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Count the time of a block as writing."""
        began = perf_counter()
        yield
        self._last_writing = perf_counter() - began
        self._writing += self._last_writing

    def write(self, model: Any, seed: int, best: Any) -> None:
        """Write the model so far, and the model of the best round if it differs."""
        from hedgerow._model_file.checkpoint import Checkpoint, write_checkpoint

        write_checkpoint(Checkpoint(model, seed, self.data, best), self.path)

    def _refusal(self, what: str) -> ParameterError:
        return ParameterError(
            f"checkpoint={self.path!r} is a checkpoint {what}. Use another name, or delete the "
            "file to start again."
        )


def _matters(name: str, now: Any, then: Any) -> bool:
    """Return whether "auto" or a seed makes the fit another than the interrupted one."""
    are_seeds = name == "random_state" and isinstance(now, int) and isinstance(then, int)
    return is_auto(now) != is_auto(then) or (are_seeds and now != then)


def digest(
    datasets: Sequence[Dataset],
    bins: Sequence[NDArray[np.uint8]],
    numbers: NDArray[Any] | None,
    n_extra_rounds: int,
    n_threads: int = 1,
) -> str:
    """Return a digest of the data of a fit (bins, targets, weights, …) and of its start.

    `datasets` are the training set and the evaluation sets, `bins` their rows (n_features, n_rows).
    `numbers` is the training set itself, if trees depend on more than its bins. Workers add up the
    digests of their own rows.
    """
    hashed = hashlib.sha256(str(n_extra_rounds).encode())
    for dataset, of_dataset in zip(datasets, bins, strict=True):
        by_row = [dataset.target, dataset.weights, dataset.groups]
        by_row += [] if dataset.offset is None else [dataset.offset]
        shapes = [None if array is None else array.shape[1:] for array in by_row]
        n_features, n_rows = of_dataset.shape
        hashed.update(repr([n_features, workers().count(n_rows), shapes]).encode())
        columns = [c for array in by_row if array is not None for c in np.atleast_2d(array.T)]
        hashed.update(_digest_of_rows(of_dataset, columns, n_threads))
    if numbers is not None:
        for column in numbers.T:
            hashed.update(_digest_of_rows(bins[0][:0], [column], n_threads))
    return hashed.hexdigest()


def _digest_of_rows(
    bins: NDArray[np.uint8], columns: Sequence[NDArray[Any]], n_threads: int
) -> bytes:
    words = [
        column.astype(np.float64 if column.dtype.kind == "f" else np.int64).view(np.uint64)
        for column in columns
    ]
    together = workers()
    own = _native.digest_rows(bins, words, together.first_row(bins.shape[1]), n_threads)
    return together.sum(own).tobytes()
