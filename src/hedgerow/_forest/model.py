"""What fitting a forest leaves behind and a prediction needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.binning import Binner
from hedgerow._data.intake import TableSchema
from hedgerow._data.outputs import Outputs
from hedgerow._forest.combinations import Combinations
from hedgerow._forest.quantiles import LeafTargets
from hedgerow._tree.additive import AdditiveTrees, column_names, leaf_names, leaf_unit
from hedgerow._tree.cart import BootstrapSamples
from hedgerow._tree.cart_params import impurity_unit
from hedgerow._tree.fitting import TreeModel
from hedgerow._tree.packed import PackedForest
from hedgerow._tree.structure import Ensemble, Rows
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError


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
    sampling: BootstrapSamples
    n_rows: int
    combinations: Combinations | None = None
    leaf_targets: LeafTargets | None = None

    @cached_property
    def category_bins(self) -> list[Any]:
        """Of each categorical feature, the bin of each category code."""
        return self.binner.category_bins

    def mean(self, matrix: Rows, n_threads: int, values: Floats | None = None) -> Floats:
        """Return the mean over the trees of the values of rows, (n_rows, n_values).

        `values` are those of the leaves unless others are given.
        """
        sums = [
            self.forest.sum_values(X, values=values, n_threads=n_threads)
            for _, X in self._tested(matrix)
        ]
        means = _joined(sums)
        means /= self.forest.n_trees
        return means

    def leaves(self, matrix: Rows, n_threads: int) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree, counted over all trees."""
        return _joined(
            [self.forest.leaves(X, n_threads=n_threads) for _, X in self._tested(matrix)]
        )

    def out_of_bag_means(
        self, matrix: Rows, n_threads: int, values: Floats | None = None
    ) -> Floats:
        """Return the mean value of the trees that did not draw a row; NaN if all of them did."""
        bits, means = self.out_of_bag_bits(), []
        for first, X in self._tested(matrix):
            of_rows = np.ascontiguousarray(bits[:, first // 8 : -(-(first + len(X)) // 8)])
            sums, n_trees = self.forest.sum_out_of_bag(
                X, of_rows, values=values, n_threads=n_threads
            )
            with np.errstate(invalid="ignore"):
                means.append(sums / n_trees[:, np.newaxis])
        return _joined(means)

    def _tested(self, matrix: Rows) -> Iterator[tuple[int, Rows]]:
        """Yield what trees test of a table's rows: its columns, or combinations, by blocks."""
        if self.combinations is None:
            yield 0, matrix
        else:
            yield from self.combinations.blocks(matrix)

    def draw_counts(self, tree: int) -> NDArray[np.uint16]:
        """Return how often a tree drew each training row."""
        return self.sampling.counts(tree, self.n_rows)

    def tree(self, index: int, criterion: str) -> TreeModel:
        """Return a tree as a model by itself, its gains in the criterion's unit."""
        tree = self.forest.tree(index)
        tree = replace(tree, gain=tree.gain / impurity_unit(criterion))
        return TreeModel.of(self.schema, self.binner, tree, self.outputs)

    def additive_trees(
        self, matrix: Callable[[Any], Rows], n_threads: int, values: Floats | None = None
    ) -> AdditiveTrees:
        """Return the mean of the trees as a sum; `matrix` reads a table for them.

        `values` are those of the leaves unless others are given.
        """
        if self.combinations is not None:
            raise ParameterError(
                "trees of feature_combinations test sums of columns, so that no split belongs to "
                "one column. Fit the forest with feature_combinations=None to explain it."
            )
        forest = self.forest if values is None else replace(self.forest, value=values)
        n_trees, n_features = forest.n_trees, self.schema.n_features
        trees = [forest.tree(index).scaled(1.0 / n_trees) for index in range(n_trees)]
        base = np.zeros(self.outputs.n_values)
        return AdditiveTrees(
            ensemble=Ensemble.from_trees(trees, np.zeros(n_trees, np.int32), base, n_features),
            matrix=matrix,
            sources=np.arange(n_features),
            feature_names=column_names(self.schema),
            output_names=leaf_names(self.outputs),
            unit=leaf_unit(self.outputs),
            n_threads=n_threads,
        )

    def sampled_rows(self) -> list[NDArray[np.intp]]:
        """Return the training rows that each tree drew, those drawn twice listed twice."""
        rows = np.arange(self.n_rows)
        return [np.repeat(rows, self.draw_counts(t)) for t in range(self.forest.n_trees)]

    def out_of_bag_bits(self) -> NDArray[np.uint8]:
        """Return a bit for each tree and training row: whether the tree did not draw it."""
        out = (self.draw_counts(tree) == 0 for tree in range(self.forest.n_trees))
        return np.stack([np.packbits(rows, bitorder="little") for rows in out])


def _joined(blocks: list[NDArray[Any]]) -> NDArray[Any]:
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
