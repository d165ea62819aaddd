"""What fitting a forest leaves behind and a prediction needs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.binning import Binner
from hedgerow.data.intake import TableSchema
from hedgerow.forest.combinations import Combinations
from hedgerow.forest.quantiles import LeafRows
from hedgerow.tree.cart import RowDraws
from hedgerow.tree.outputs import Outputs
from hedgerow.tree.packed import PackedForest
from hedgerow.tree.structure import Rows

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class ForestModel:
    """Trees, how a table is read for them (schema, bins), and what their values mean (outputs).

    `draws` and `n_rows` tell which of the training rows each tree was grown on. `combinations`, if
    there are any, are what trees test instead of the columns, and `leaf_rows` the training rows of
    each leaf.
    """

    schema: TableSchema
    binner: Binner
    forest: PackedForest
    outputs: Outputs
    draws: RowDraws
    n_rows: int
    combinations: Combinations | None = None
    leaf_rows: LeafRows | None = None

    @cached_property
    def category_bins(self) -> list[Any]:
        """Of each categorical feature, the bin of each category code."""
        return self.binner.category_bins

    def tested(self, matrix: Rows) -> Rows:
        """Return what trees test of a table's rows: its columns, or combinations of them."""
        return matrix if self.combinations is None else self.combinations.of(matrix)

    def mean(self, matrix: Rows, n_threads: int) -> Floats:
        """Return the mean over the trees of the values of rows, (n_rows, n_values)."""
        sums = self.forest.sum_values(self.tested(matrix), n_threads=n_threads)
        sums /= self.forest.n_trees
        return sums

    def draw_counts(self, tree: int) -> NDArray[np.uint16]:
        """Return how often a tree drew each training row."""
        return self.draws.counts(tree, self.n_rows)

    def out_of_bag_bits(self) -> NDArray[np.uint8]:
        """Return a bit for each tree and training row: whether the tree did not draw it."""
        out = (self.draw_counts(tree) == 0 for tree in range(self.forest.n_trees))
        return np.stack([np.packbits(rows, bitorder="little") for rows in out])
