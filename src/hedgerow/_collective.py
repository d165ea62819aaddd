"""What workers that share the rows of a table compute together.

A distributed fit runs the same code on every worker, each on its own rows. Wherever a fit needs
something of all rows (a sum, the classes, how many rows there are), it asks the `Workers` of the
fit, which is `workers()`. Without a cluster there is one worker, and every operation returns its
argument. All operations are collective: every worker calls them in the same order.

Nothing that is computed together depends on how rows are divided among workers: integers are added,
largest values are compared, sets are united, and sums of real numbers are exact. So the model is
the same, bit for bit, with any number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._phases import phase
from hedgerow._plain_values import NotPlainError, pack_value, unpack_value
from hedgerow.exceptions import ClusterError

T = TypeVar("T")


class Communicator(Protocol):
    """How the workers of a fit exchange bytes; write your own, or use one of `hedgerow.cluster`.

    Every worker has a communicator with its own rank, and all call the same methods in the same
    order. A call that cannot be completed must raise an error on every worker, within a time limit.
    """

    @property
    def rank(self) -> int:
        """The number of this worker, from 0."""

    @property
    def size(self) -> int:
        """The number of workers."""

    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        """Send ``parts[j]`` to worker j; return what each worker has sent to this worker."""

    def gather(self, part: bytes) -> list[bytes]:
        """Return what each worker has passed, in the order of their ranks."""

    def abort(self, reason: str) -> None:
        """Make all pending and future calls fail, on all workers."""


class Workers:
    """The workers of a fit, with what they compute together.

    Attributes
    ----------
    communicator : Communicator, optional
        How they exchange bytes; None if there is one worker.
    """

    def __init__(self, communicator: Communicator | None = None) -> None:
        alone = communicator is None or communicator.size == 1
        self.communicator = None if alone else communicator

    @property
    def rank(self) -> int:
        """The number of this worker, from 0."""
        return 0 if self.communicator is None else self.communicator.rank

    @property
    def size(self) -> int:
        """The number of workers."""
        return 1 if self.communicator is None else self.communicator.size

    def phase(self, name: str) -> AbstractContextManager[None]:
        """Return a block that counts as a phase of the fit, if there are several workers."""
        return nullcontext() if self.communicator is None else phase(name)

    def objects(self, value: T) -> list[T]:
        """Return the plain value that each worker has passed, in the order of their ranks."""
        if self.communicator is None:
            return [value]
        parts = self.communicator.gather(pack_value(value))
        return [_value_of(rank, part) for rank, part in enumerate(parts)]

    def arrays(self, array: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the 1-d array of each worker; all have the same dtype."""
        if self.communicator is None:
            return [array]
        parts = self.communicator.gather(np.ascontiguousarray(array).tobytes())
        for rank, part in enumerate(parts):
            if len(part) % array.itemsize:
                raise ClusterError(f"Worker {rank} sent {len(part)} bytes as {array.dtype}.")
        return [np.frombuffer(part, array.dtype) for part in parts]

    def concatenated_rows(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of all workers, in the order of the table."""
        if self.communicator is None:
            return array
        parts = self.arrays(array.reshape(-1))
        return np.concatenate(parts).reshape(-1, *array.shape[1:])

    def combined(
        self, array: NDArray[Any], combine: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
    ) -> NDArray[Any]:
        """Combine the arrays of all workers, which have the same shape, element by element."""
        if self.communicator is None:
            return array
        parts = self.arrays(array.reshape(-1))
        for rank, part in enumerate(parts):
            if part.size != array.size:
                raise ClusterError(f"Worker {rank} sent {part.size} numbers, not {array.size}.")
        total = parts[0].copy()
        for part in parts[1:]:
            total = combine(total, part)
        return total.reshape(array.shape)

    @property
    def reduction(self) -> Workers | None:
        """What kernels add up and compare integers with; None if there is one worker."""
        return None if self.communicator is None else self

    def sum(self, integers: NDArray[Any]) -> NDArray[Any]:
        """Add up integers, whose sums do not depend on the order of the workers."""
        assert integers.dtype.kind in "iu"
        return self.combined(integers, np.add)

    def max(self, integers: NDArray[Any]) -> NDArray[Any]:
        """Return the largest value of each integer."""
        return self.combined(integers, np.maximum)

    def class_counts(self, index: NDArray[Any]) -> NDArray[np.int64]:
        """Count the rows of each class, by its index."""
        n_classes = int(self.largest(float(index.max(initial=-1)))) + 1
        return self.sum(np.bincount(index, minlength=n_classes).astype(np.int64))

    def exact_sum(self, numbers: NDArray[np.float64]) -> float:
        """Return the exact sum of a number of each row, rounded once."""
        numbers = np.ascontiguousarray(numbers, np.float64)
        if self.communicator is None:
            return _native.sum_rows(numbers)
        return _native.sum_of_words(self.sum(_native.sum_words(numbers)))

    def count(self, local: int) -> int:
        """Add up a count."""
        return int(self.sum(np.array([local], np.int64))[0])

    def largest(self, value: float) -> float:
        """Return the largest value of a number."""
        return float(self.combined(np.array([value]), np.maximum)[0])

    def smallest(self, value: float) -> float:
        """Return the smallest value of a number."""
        return float(self.combined(np.array([value]), np.minimum)[0])

    def any(self, condition: bool) -> bool:
        """Return whether a condition is true on any worker."""
        return self.count(int(condition)) > 0

    def first_row(self, n_rows: int) -> int:
        """Return the rows of the workers before this one, of a table of which it has `n_rows`."""
        counts = self.arrays(np.array([n_rows], np.int64))
        return int(sum(int(count[0]) for count in counts[: self.rank]))

    def distinct(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sorted union of arrays that may differ in dtype and length."""
        if self.communicator is None:
            return np.unique(values)
        return np.unique(np.concatenate(self.objects(np.unique(values))))


def _value_of(rank: int, part: bytes) -> Any:
    try:
        return unpack_value(part)
    except NotPlainError as error:
        raise ClusterError(
            f"Worker {rank} sent something that is no plain value: {error}."
        ) from None


ALONE = Workers()
_WORKERS: ContextVar[Workers] = ContextVar("workers", default=ALONE)


def workers() -> Workers:
    """Return the workers of the fit that is running."""
    return _WORKERS.get()


@contextmanager
def working_together(communicator: Communicator) -> Iterator[Workers]:
    """Let the code of the block share its rows with other workers.

    An error on one worker ends the fit on all of them.
    """
    together = Workers(communicator)
    token = _WORKERS.set(together)
    try:
        yield together
    except BaseException as error:
        communicator.abort(f"worker {communicator.rank}: {type(error).__name__}: {error}")
        raise
    finally:
        _WORKERS.reset(token)


@contextmanager
def working_alone() -> Iterator[None]:
    """Let the code of the block work on rows that this worker has gathered from all."""
    token = _WORKERS.set(ALONE)
    try:
        yield
    finally:
        _WORKERS.reset(token)
