"""Folds as tasks of a Dask cluster: the table is sent once, and results come in order.

Nothing of Dask is imported: all that is needed are the methods of the client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from hedgerow._params import short_repr
from hedgerow._types import Indices
from hedgerow._warning import deduplicate_warnings
from hedgerow.exceptions import ParameterError

T = TypeVar("T")


def on_client(
    client: Any, run: Callable[[Indices, Indices], T], splits: Sequence[tuple[Indices, Indices]]
) -> Iterator[T]:
    """Yield ``run(train, holdout)`` of each split, computed by the workers of a client.

    Tasks that are still running when this ends, by an error or an interrupt, are cancelled.
    """
    if not (hasattr(client, "submit") and hasattr(client, "scatter")):
        raise ParameterError(
            f"client={short_repr(client)} is not allowed; it must be a distributed.Client."
        )
    if getattr(client, "status", "running") in ("closing", "closed"):
        raise ParameterError("client is closed. Create a new one, as in distributed.Client().")
    shared = client.scatter([_Shared(run)], broadcast=True, hash=False)[0]
    futures = [
        client.submit(_run_fold, shared, number, *split, pure=False)
        for number, split in enumerate(splits)
    ]
    try:
        for future in futures:
            yield future.result()
    finally:
        client.cancel([*futures, shared])


class _Shared:
    """What all tasks use; one object, whatever it holds."""

    def __init__(self, run: Callable[[Indices, Indices], Any]) -> None:
        self.run = run


def _run_fold(shared: _Shared, number: int, train: Indices, holdout: Indices) -> Any:
    with deduplicate_warnings(is_repeated_fit=number > 0):
        return shared.run(train, holdout)
