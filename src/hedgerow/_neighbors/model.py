"""The fitted model: the training rows, their schema, and their targets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from hedgerow._data.intake import TableSchema
from hedgerow._neighbors.gower import GowerColumns
from hedgerow._neighbors.metrics import DistanceMetric
from hedgerow._neighbors.search import NeighborSearch
from hedgerow._tree.outputs import Outputs


@dataclass(frozen=True, eq=False)
class NeighborsModel:
    """Rows as float64 (for Gower with codes for categories), as a CSR matrix, or their distances.

    `target` has a row for each: indices of classes or numbers, (n_rows, n_outputs).
    """

    schema: TableSchema
    metric: DistanceMetric
    use_tree: bool
    rows: Any
    gower: GowerColumns | None = None
    outputs: Outputs | None = None
    target: NDArray[Any] | None = None

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return int(self.rows.shape[0])

    @cached_property
    def search(self) -> NeighborSearch:
        """The search over the rows, built on first use: not pickled, since it can be rebuilt."""
        return self.build_search(1)

    def search_by(self, metric: Any) -> NeighborSearch:
        """Return the search, with a user-defined `metric` as it is set on the estimator now.

        So the function can be set again on a model loaded from a file, which does not store it.
        """
        if self.metric.function is None or not callable(metric):
            return self.search
        return NeighborSearch.build(
            self.rows,
            replace(self.metric, function=metric),
            use_tree=False,
            gower=None,
            threads=1,
        )

    def build_search(self, threads: int) -> NeighborSearch:
        """Build the index for queries."""
        return NeighborSearch.build(
            self.rows, self.metric, use_tree=self.use_tree, gower=self.gower, threads=threads
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "search"}
