"""What a fit leaves behind: the training rows, how tables are read, and what the rows stand for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from hedgerow._data.intake import TableSchema
from hedgerow._data.outputs import Outputs
from hedgerow._neighbors.gower import GowerColumns
from hedgerow._neighbors.metrics import Metric
from hedgerow._neighbors.search import Search


@dataclass(frozen=True, eq=False)
class NeighborsModel:
    """Rows as float64 (for Gower with codes for categories), as a CSR matrix, or their distances.

    `target` has a row for each: indices of classes or numbers, (n_rows, n_outputs).
    """

    schema: TableSchema
    metric: Metric
    use_tree: bool
    rows: Any
    gower: GowerColumns | None = None
    outputs: Outputs | None = None
    target: NDArray[Any] | None = None

    @property
    def n_rows(self) -> int:
        """How many rows there are to search."""
        return int(self.rows.shape[0])

    @cached_property
    def search(self) -> Search:
        """The rows, prepared for queries on first use: not stored, since they can be made again."""
        return self.prepared(1)

    def search_by(self, metric: Any) -> Search:
        """Give the rows, prepared; a function is the one that the parameter `metric` is now.

        A model of a file, which holds no function, can so be given it again.
        """
        if self.metric.function is None or not callable(metric):
            return self.search
        return Search.build(
            self.rows,
            replace(self.metric, function=metric),
            use_tree=False,
            gower=None,
            threads=1,
        )

    def prepared(self, threads: int) -> Search:
        """Prepare the rows for queries."""
        return Search.build(
            self.rows, self.metric, use_tree=self.use_tree, gower=self.gower, threads=threads
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "search"}
