"""The fitted model of a forest, and quantile regression forests (Meinshausen, 2006)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.binned_rows import TreeRows, rows_of
from hedgerow._data.binning import Binner
from hedgerow._data.intake import TableSchema
from hedgerow._data.outputs import ClassOutputs, Outputs
from hedgerow._data.table import Table, as_matrix
from hedgerow._forest.combinations import Combinations
from hedgerow._tree.additive import AdditiveTrees, column_names, leaf_names, leaf_unit
from hedgerow._tree.cart import BootstrapSamples, impurity_unit
from hedgerow._tree.fitting import TreeModel
from hedgerow._tree.packed import PackedForest
from hedgerow._tree.structure import Ensemble, Rows
from hedgerow._tree.unpacked import UnpackedForest
from hedgerow._types import Floats, Snapshot
from hedgerow.exceptions import ParameterError

_BLOCK = 1 << 21  # weights that are sorted at a time


@dataclass(frozen=True, eq=False, kw_only=True)
class ForestModel(Snapshot):
    """Trees with the schema and bins of their tables, and the outputs of their leaves.

    `sampling` and `n_rows` determine the training rows of each tree; they are unknown for a forest
    imported from another library, the only kind that is not packed. `combinations`, if any, are the
    features that trees split on instead of the columns; `leaf_targets` are the training targets of
    each leaf.
    """

    schema: TableSchema
    binner: Binner
    forest: PackedForest | UnpackedForest
    outputs: Outputs
    sampling: BootstrapSamples
    n_rows: int
    combinations: Combinations | None = None
    leaf_targets: LeafTargets | None = None

    @cached_property
    def category_bins(self) -> list[Any]:
        """The bin of each category code, for each categorical feature."""
        return self.binner.category_bins

    @cached_property
    def votes(self) -> Floats:
        """The leaf values of hard voting: 1 for the largest class of the leaf, else 0."""
        assert isinstance(self.outputs, ClassOutputs)
        return self.outputs.certain(self.outputs.votes(self.forest.value))

    def values(self, voting: str) -> Floats | None:
        """Return leaf values that replace the stored ones; None to use those."""
        return self.votes if voting == "hard" else None

    def rows(self, table: Table, n_threads: int) -> TreeRows:
        """Return a table as trees read it; combinations of features need a matrix."""
        if self.combinations is not None:
            return as_matrix(table, self.category_bins)
        return rows_of(table, self.binner, n_threads)

    def mean(self, matrix: TreeRows, n_threads: int, values: Floats | None = None) -> Floats:
        """Return the mean over the trees of the values of rows, (n_rows, n_values).

        `values` replace the values of the leaves.
        """
        sums = [
            self.forest.sum_values(X, values=values, n_threads=n_threads)
            for _, X in self._tested(matrix)
        ]
        means = _joined(sums)
        means /= self.forest.n_trees
        return means

    def leaves(self, matrix: TreeRows, n_threads: int) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree, counted over all trees."""
        return _joined(
            [self.forest.leaves(X, n_threads=n_threads) for _, X in self._tested(matrix)]
        )

    def out_of_bag_means(
        self, matrix: TreeRows, n_threads: int, values: Floats | None = None
    ) -> Floats:
        """Return the mean out-of-bag value of each row; NaN if it is in every sample."""
        bits, means = self.out_of_bag_bits(), []
        for first, X in self._tested(matrix):
            of_rows = np.ascontiguousarray(bits[:, first // 8 : -(-(first + len(X)) // 8)])
            sums, n_trees = self.forest.sum_out_of_bag(
                X, of_rows, values=values, n_threads=n_threads
            )
            with np.errstate(invalid="ignore"):
                means.append(sums / n_trees[:, np.newaxis])
        return _joined(means)

    def _tested(self, matrix: TreeRows) -> Iterator[tuple[int, TreeRows]]:
        """Yield the features that trees split on, by blocks of rows."""
        if self.combinations is None:
            yield 0, matrix
        else:
            assert isinstance(matrix, np.ndarray)
            yield from self.combinations.blocks(matrix)

    def draw_counts(self, tree: int) -> NDArray[np.uint16]:
        """Return how often each training row is in the sample of a tree."""
        return self.sampling.counts(tree, self.n_rows)

    def tree(self, index: int, criterion: str) -> TreeModel:
        """Return the model of one tree, with gains in the criterion's unit."""
        tree = self.forest.tree(index)
        tree = replace(tree, gain=tree.gain / impurity_unit(criterion))
        return TreeModel.of(self.schema, self.binner, tree, self.outputs)

    def additive_trees(
        self, matrix: Callable[[Any], Rows], n_threads: int, values: Floats | None = None
    ) -> AdditiveTrees:
        """Return the mean of the trees as a sum; `matrix` reads a table for them.

        `values` replace the values of the leaves.
        """
        if self.combinations is not None:
            raise ParameterError(
                "trees of feature_combinations split on sums of columns, so no split belongs to "
                "one column. Fit the forest with feature_combinations=None to explain it."
            )
        forest = self.forest
        if values is not None:
            if isinstance(forest, UnpackedForest):
                raise ParameterError(
                    "voting='hard': the votes of a forest imported from another library cannot be "
                    "explained; set voting='soft'."
                )
            forest = replace(forest, value=values)
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
        """Return the bootstrap sample of each tree, as row indices."""
        rows = np.arange(self.n_rows)
        return [np.repeat(rows, self.draw_counts(t)) for t in range(self.forest.n_trees)]

    def of_rows_with_weight(self) -> ForestModel:
        """Return the model as if only the rows that its samples are drawn from had been there."""
        rows = self.sampling.rows
        if rows is None:
            return self
        return replace(self, n_rows=len(rows), sampling=replace(self.sampling, rows=None))

    def out_of_bag_bits(self) -> NDArray[np.uint8]:
        """Return a bit for each tree and training row: whether it is out of bag."""
        out = (self.draw_counts(tree) == 0 for tree in range(self.forest.n_trees))
        return np.stack([np.packbits(rows, bitorder="little") for rows in out])


def _joined(blocks: list[NDArray[Any]]) -> NDArray[Any]:
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


@dataclass(frozen=True, eq=False)
class LeafTargets:
    """The training rows of each leaf: those of leaf l are ``rows[starts[l]:starts[l + 1]]``.

    The distribution of a row is that of the training targets in its leaves: every tree distributes
    a weight of 1 evenly among the training rows of the leaf, and the trees' weights are added.
    """

    rows: NDArray[np.uint32]
    starts: NDArray[np.int64]
    targets: Floats
    """(n_rows, n_outputs)"""
    weights: Floats

    @classmethod
    def of(
        cls, leaves: NDArray[np.int32], n_leaves: int, y: Floats, weights: Floats | None
    ) -> LeafTargets:
        """List the rows of each leaf; `leaves` has a leaf for each row and tree."""
        weights = np.ones(len(y)) if weights is None else weights
        order = np.argsort(leaves, axis=None, kind="stable")
        rows = (order // leaves.shape[1]).astype(np.uint32)
        counts = np.bincount(leaves.reshape(-1), minlength=n_leaves)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return cls(rows, starts, y, weights)

    def variances(self) -> Floats:
        """Return the weighted variance of the targets in each leaf, (n_leaves, n_outputs)."""
        n_leaves = len(self.starts) - 1
        leaf = np.repeat(np.arange(n_leaves), np.diff(self.starts))
        weight = self.weights[self.rows]
        total = np.bincount(leaf, weight, n_leaves)

        def mean(numbers: Floats) -> Floats:
            return np.bincount(leaf, weight * numbers, n_leaves) / total

        columns = [target[self.rows] for target in self.targets.T]
        return np.column_stack([mean((column - mean(column)[leaf]) ** 2) for column in columns])

    def quantiles(self, leaves: NDArray[np.int32], quantiles: Floats) -> Floats:
        """Return the quantiles of rows by their leaves, (n_rows, n_quantiles, n_outputs).

        The quantile q is the smallest target at which the cumulative weight reaches q.
        """
        result = np.empty((len(leaves), len(quantiles), self.targets.shape[1]))
        sizes = np.diff(self.starts)
        per_row = max(1, int(sizes[leaves].sum(axis=1).max(initial=1)))
        step = max(1, _BLOCK // per_row)
        for begin in range(0, len(leaves), step):
            block = slice(begin, begin + step)
            result[block] = self._of_block(leaves[block], sizes, quantiles)
        return result

    def _of_block(
        self, leaves: NDArray[np.int32], sizes: NDArray[np.int64], quantiles: Floats
    ) -> Floats:
        """Sort the weights of all rows by target, and find where their sums reach q."""
        leaf_of_vote = leaves.reshape(-1)
        n_votes = sizes[leaf_of_vote]
        position = np.arange(n_votes.sum()) - np.repeat(np.cumsum(n_votes) - n_votes, n_votes)
        voters = self.rows[np.repeat(self.starts[leaf_of_vote], n_votes) + position]
        weight = self.weights[voters]
        total = np.add.reduceat(weight, np.cumsum(n_votes) - n_votes)
        vote = weight / np.repeat(total, n_votes)
        query_of_vote = np.repeat(np.arange(len(leaves)), n_votes.reshape(leaves.shape).sum(axis=1))
        ends = np.cumsum(np.bincount(query_of_vote, minlength=len(leaves)))
        result = np.empty((len(leaves), len(quantiles), self.targets.shape[1]))
        for output, targets in enumerate(self.targets.T):
            order = np.lexsort((targets[voters], query_of_vote))
            sorted_targets, votes = targets[voters][order], vote[order]
            for i, (begin, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
                reached = np.cumsum(votes[begin:end])
                # Rounding must not move a quantile beyond a target that reaches it exactly.
                at = np.searchsorted(reached, (quantiles - 1e-12) * reached[-1])
                result[i, :, output] = sorted_targets[begin:end][at]
        return result
