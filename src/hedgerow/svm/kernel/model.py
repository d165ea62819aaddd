"""What a fit leaves behind: support vectors, their coefficients, and what sums of kernels mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.intake import TableSchema
from hedgerow.svm.kernel.kernels import Floats, Indices, Kernel, PrecomputedTable, Table
from hedgerow.svm.kernel.multiclass import pairs


@dataclass(frozen=True, eq=False)
class KernelModel:
    """Machines f(x) = Σ_s coefficient_s k(vector s, x) + intercept on the same support vectors.

    If `counts` has one element, each row of coefficients is a machine. If it has more, vectors are
    in the order of their classes, so many of each, and coefficients are laid out as scikit-learn
    does for pairs of classes (see `multiclass.by_class`).
    """

    schema: TableSchema
    kernel: Kernel
    single: bool  # whether kernels are float32
    support: Indices  # the vectors' rows in the table of `fit`
    vectors: Any  # those rows: a matrix, or CSR; None if the kernel is precomputed
    n_rows: int  # of that table
    counts: Indices
    coefficients: Floats  # (n_machines, n_vectors) or (n_classes − 1, n_vectors)
    intercepts: Floats  # (n_machines,)
    classes: NDArray[Any] | None = None
    sigmoids: Floats | None = None  # (n_machines, 2): see `platt`

    def scores(self, queries: Any, threads: int) -> Floats:
        """Return f of every machine, (n_queries, n_machines)."""
        ends = np.cumsum(self.counts)
        sums = [
            table.sums(queries, np.ascontiguousarray(self.coefficients[:, end - n : end]), threads)
            for table, n, end in zip(self._tables, self.counts, ends, strict=True)
        ]
        if len(sums) == 1:
            return sums[0] + self.intercepts
        of_pairs = [sums[i][:, j - 1] + sums[j][:, i] for i, j in pairs(len(sums))]
        return np.column_stack(of_pairs) + self.intercepts

    @cached_property
    def _tables(self) -> list[Table]:
        """The vectors, prepared for queries, in as many parts as there are counts."""
        ends = np.cumsum(self.counts)
        return [
            self._table(np.arange(end - n, end)) for n, end in zip(self.counts, ends, strict=True)
        ]

    def _table(self, vectors: Indices) -> Table:
        if self.vectors is None:
            return PrecomputedTable(np.empty((0, 0)), self.support[vectors])
        return self.kernel.table(self.vectors[vectors], single=self.single)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_tables"}
