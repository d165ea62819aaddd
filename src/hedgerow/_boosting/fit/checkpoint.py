"""Checkpoints: the file that an interrupted fit is resumed from, and the digest of its data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike, fsdecode
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._boosting.fit.dataset import Dataset
from hedgerow._boosting.fit.fit_data import is_auto
from hedgerow._collective import workers
from hedgerow._data.binning import Binner
from hedgerow._estimator import Estimator
from hedgerow.exceptions import ParameterError

# Parameters that do not affect what a round becomes.
MAY_DIFFER = ("n_estimators", "device", "n_jobs", "verbose", "warm_start", "random_state")
# The fraction of a fit's time that checkpoints may take, apart from the first and the last.
WRITING = 0.1
# Rows of a block that has its own digest: those of a block of gradients.
DIGEST_ROWS = 1024


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
        from hedgerow._model_file.values import decode, encode

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
            if not may_differ and decode(encode(value)) != then[name]:
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
            raise self._refusal("of a fit to other data")
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
    datasets: Iterable[Dataset], binner: Binner, numbers: NDArray[Any] | None, n_extra_rounds: int
) -> str:
    """Return a digest of the data of a fit (bins, targets, weights, groups) and of its start.

    `datasets` are the training set and the evaluation sets. `numbers` is the training set itself,
    if trees depend on more than its bins. The digest is one of the digests of blocks of rows, which
    can be computed wherever the rows are.
    """
    hashed = hashlib.sha256(str(n_extra_rounds).encode())
    together = workers()
    for dataset in datasets:
        bins = binner.transform(dataset.table, columns_only=True).by_column.T
        hashed.update(str(together.count(len(bins))).encode())
        by_row: list[NDArray[Any] | None] = [bins, dataset.target, dataset.weights, dataset.groups]
        arrays = [array for array in (*by_row, numbers) if array is not None]
        for of_worker in together.objects(list(_block_digests(_whole_blocks(arrays)))):
            for of_block in of_worker:
                hashed.update(of_block)
        numbers = None  # of the training set, which comes first
    return hashed.hexdigest()


def _whole_blocks(arrays: Sequence[NDArray[Any]]) -> Sequence[NDArray[Any]]:
    """Return the rows of the blocks that begin on this worker, including those of other workers."""
    together, n_rows = workers(), len(arrays[0])
    n_of_earlier = min(n_rows, -together.first_row(n_rows) % DIGEST_ROWS)
    if together.size == 1:
        return arrays
    ends = together.objects([np.ascontiguousarray(array[:n_of_earlier]) for array in arrays])
    begins_block = [bool(own) for own in together.objects(n_rows > n_of_earlier)]
    if not begins_block[together.rank]:
        return [array[:0] for array in arrays]
    parts = [[array[n_of_earlier:] for array in arrays]]
    for rank in range(together.rank + 1, together.size):
        parts.append(ends[rank])
        if begins_block[rank]:
            break
    return [np.concatenate(of_array) for of_array in zip(*parts, strict=True)]


def _block_digests(arrays: Sequence[NDArray[Any]]) -> Iterator[bytes]:
    """Yield a digest of what all arrays have in each block of rows, their first axis."""
    kinds = repr([(array.dtype.str, array.shape[1:]) for array in arrays]).encode()
    for begin in range(0, len(arrays[0]), DIGEST_ROWS):
        hashed = hashlib.sha256(kinds)
        for array in arrays:
            hashed.update(np.ascontiguousarray(array[begin : begin + DIGEST_ROWS]).data)
        yield hashed.digest()
