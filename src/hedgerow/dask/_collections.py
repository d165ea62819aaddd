"""Dask collections as the arguments of a fit: their partitions, in the order of the rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
from dask._task_spec import Alias
from dask.core import ishashable
from dask.delayed import Delayed
from dask.optimization import cull
from distributed import Future
from scipy.optimize import linear_sum_assignment

from hedgerow._params import short_repr
from hedgerow.exceptions import DataError

# With more partitions, comparing the graphs of all of them takes longer than moving the data.
_MOST_GRAPHS = 2000


@dataclass(frozen=True)
class PartitionedData:
    """The training set or an evaluation set.

    Attributes
    ----------
    arguments : dict
        The partitions of each argument: X, y, sample_weight, … All have the same number.
    lengths : list of int, optional
        The rows of each partition, if Dask knows them.
    """

    arguments: dict[str, list[Delayed]]
    lengths: list[int] | None

    @cached_property
    def tasks(self) -> list[dict[Any, Any]]:
        """The tasks that each partition is made by, by key; empty if there are very many."""
        if self.n_partitions > _MOST_GRAPHS:
            return []
        # A graph is kept with its tasks, so that no other one can get its id.
        graphs: dict[int, tuple[Any, dict[Any, Any]]] = {}
        tasks_of: list[dict[Any, Any]] = [{} for _ in range(self.n_partitions)]
        for partitions in self.arguments.values():
            for part, tasks in zip(partitions, tasks_of, strict=True):
                graph = part.__dask_graph__()
                if id(graph) not in graphs:
                    graphs[id(graph)] = graph, dict(graph)
                tasks |= cull(graphs[id(graph)][1], list(part.__dask_keys__()))[0]
        return tasks_of

    def is_persisted(self, number: int) -> bool:
        """Return whether a partition of X is known to be on the cluster already."""
        tasks = self.tasks[number] if self.tasks else {}
        task = self.arguments["X"][number].key
        while isinstance(task, tuple | str) and ishashable(task):  # the name of a task
            task = tasks.get(task)
            task = task.target if isinstance(task, Alias) else task
        return isinstance(task, Future)

    @property
    def n_partitions(self) -> int:
        """The number of partitions of every argument."""
        return len(next(iter(self.arguments.values())))


def is_collection(value: Any) -> bool:
    """Return whether a value is a Dask DataFrame, Series, Index or Array."""
    return isinstance(value, dd.DataFrame | dd.Series | dd.Index | da.Array)


def read_dataset(arguments: Mapping[str, Any], *, where: str = "") -> PartitionedData:
    """Return the partitions of arguments that have a row for each row of X.

    `where` names an evaluation set in errors.
    """
    passed = {name: value for name, value in arguments.items() if value is not None}
    table = passed["X"]
    if not is_collection(table) or isinstance(table, dd.Series | dd.Index):
        raise DataError(
            f"{where}X is a {type(table).__name__}; it must be a Dask DataFrame or Array. For a "
            "table in memory, use the estimator of the same name in hedgerow."
        )
    require_two_dimensions(table, where)
    for name, value in passed.items():
        if not is_collection(value):
            raise DataError(
                f"{where}{name}={short_repr(value)} must be a Dask collection with the partitions "
                "of X."
            )
    arrays = {name: _aligned(value, table) for name, value in passed.items()}
    partitions = {name: partitions_of(value) for name, value in arrays.items()}
    n_partitions = len(partitions["X"])
    for name, own in partitions.items():
        if len(own) != n_partitions:
            raise DataError(
                f"{where}{name} has {len(own)} partitions, but X has {n_partitions}. Take both "
                "from the same collection, without converting one to an array (its .values may "
                "have fewer partitions), or repartition them before you separate them."
            )
    return PartitionedData(partitions, _lengths(arrays["X"]))


def require_two_dimensions(X: Any, where: str = "") -> None:
    """Refuse an array that is no table."""
    if X.ndim != 2:
        raise DataError(
            f"{where}X has {X.ndim} dimension(s), but a table has two. Reshape a single column "
            "with X.reshape(-1, 1)."
        )


def from_local(value: Any) -> Any:
    """Return a table or array in memory as a collection with one partition.

    Tables of other libraries become data frames of pandas, which keep the names of columns.
    """
    if value is None or is_collection(value):
        return value
    if hasattr(value, "columns") and hasattr(value, "__arrow_c_stream__"):
        value = pa.table(value).to_pandas()
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        value = pd.DataFrame(value)
    if isinstance(value, pd.DataFrame | pd.Series):
        return dd.from_pandas(value, npartitions=1, sort=False)
    array = np.asarray(value)
    return da.from_array(array, chunks=array.shape)


def _aligned(value: Any, table: Any) -> Any:
    """Return an array with whole rows in its chunks, which are those of X if both are known."""
    if not isinstance(value, da.Array):
        return value
    if value.ndim > 1 and value.numblocks[1] > 1:
        value = value.rechunk({1: -1})
    is_known = isinstance(table, da.Array) and not np.isnan([*table.shape, *value.shape]).any()
    if is_known and value.shape[0] == table.shape[0] and value.chunks[0] != table.chunks[0]:
        value = value.rechunk({0: table.chunks[0]})
    return value


def partitions_of(collection: Any) -> list[Delayed]:
    """Return as many partitions as the collection says; tasks that several share have one key.

    Dask's optimiser would read several files as one partition where few of their columns are
    needed, and give tasks of each collection names of their own. The graph of an array that is on
    the cluster already would be lost.
    """
    if isinstance(collection, da.Array):
        return list(collection.to_delayed(optimize_graph=False).ravel())
    partitions: list[Delayed] = collection.simplify().to_delayed(optimize_graph=False)
    return partitions


def _lengths(table: Any) -> list[int] | None:
    if not isinstance(table, da.Array) or any(math.isnan(n) for n in table.chunks[0]):
        return None
    return [int(n) for n in table.chunks[0]]


# ---- which worker takes which partitions ---------------------------------------------------------


def contiguous_runs(sizes: Sequence[int], n_workers: int) -> list[range]:
    """Divide partitions among workers: each takes some that follow one another.

    A worker ends where the sum of the sizes comes closest to its share of the total. It may have no
    partition.
    """
    ends = np.array([0, *accumulate(sizes)], np.float64)
    targets = ends[-1] * np.arange(1, n_workers) / n_workers
    cuts = [int(np.abs(ends - target).argmin()) for target in targets]
    edges = [0, *np.maximum.accumulate(cuts).tolist(), len(sizes)] if cuts else [0, len(sizes)]
    return [range(start, stop) for start, stop in pairwise(edges)]


def runs_of(dataset: PartitionedData, n_workers: int) -> list[range]:
    """Divide the partitions of a dataset: by rows if these are known, otherwise by number."""
    return contiguous_runs(dataset.lengths or [1] * dataset.n_partitions, n_workers)


def are_independent(dataset: PartitionedData) -> bool:
    """Return whether no two partitions are made from the same task.

    Each can then be made by the worker that needs it.
    """
    used: set[Any] = set()
    for tasks in dataset.tasks:
        if used & tasks.keys():
            return False
        used |= tasks.keys()
    return bool(dataset.tasks)


def nearest_workers(
    dataset: PartitionedData, addresses: Sequence[str], holders: Mapping[Any, Sequence[str]]
) -> tuple[str, ...]:
    """Return the workers in the order in which the fewest partitions have to be moved.

    `holders` are the workers on which results of tasks are, by the keys of the tasks.
    """
    place = {address: i for i, address in enumerate(addresses)}
    n_there = np.zeros((len(addresses), len(addresses)))
    for rank, run in enumerate(runs_of(dataset, len(addresses))):
        for number in run:
            for key in dataset.tasks[number] if dataset.tasks else ():
                for address in holders.get(key, ()):
                    if address in place:
                        n_there[rank, place[address]] += 1
    _, order = linear_sum_assignment(n_there, maximize=True)
    return tuple(addresses[i] for i in order)
