"""Engines hold the rows of a training set, with their scores and gradients, and grow trees.

`Trainer` decides what a round does and calls its engine for each step, so that an engine on another
device, or on several computers, follows the same rounds. `HistogramEngine` grows trees from
histograms of fixed-point gradients, `ExactEngine` from sorted columns; both run on the CPU.
`native/hist/engine.hpp` is the same interface one level below, between a tree and its rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._collective import workers
from hedgerow._data.binning import BinnedMatrix
from hedgerow._data.sparse_bins import SparseBinnedMatrix
from hedgerow._tree.exact import ExactGrower
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.leaves import Gradients, LeafSlopes, TrainerLoss
from hedgerow._tree.structure import NATIVE_FIELDS, Ensemble, JoinedTrees, Tree, TreeList
from hedgerow._types import Floats

MOST_LEAVES: int = _native.most_leaves
# Open leaves whose children workers evaluate together: a tree of 63 leaves then takes about a dozen
# messages instead of 62.
LEAVES_AHEAD = 8

# What trees that are grown side by side cost, measured on 16 cores: seconds of a tree on one thread
# for each entry of the table; and seconds that several threads of a tree do not save, for the root
# of that number.
_UPDATE_SECONDS, _NOT_SAVED = 1.3e-9, 6e-7
# Bytes of a row: the lists of a tree, and the scores, gradients and leaf of an output. Rows for
# which a tree keeps another histogram, and how many it keeps at most, measured with 31 leaves. Then
# what trees that are grown side by side may add to the memory: a share of it, or a few megabytes.
_ROW_LIST_BYTES, _OUTPUT_BYTES = 8, 18
_ROWS_PER_HISTOGRAM, _MOST_HISTOGRAMS = 4096, 8
_MORE_MEMORY, _LITTLE_MEMORY = 0.12, 4.5e6

_ROUNDS_PER_CALL = 16  # of a kernel, whose trees are in memory twice until it returns

# The rows of a sample by gradients and the factors of their weights; None for other sampling.
Sample = tuple[NDArray[np.uint32], Floats] | None


@dataclass(frozen=True)
class Bag:
    """The rows of a round, in increasing order, and the factors of their weights; None is all."""

    rows: NDArray[np.uint32] | None
    factor: Floats | None = None

    def weights(self, weights: Floats | None, n_rows: int) -> Floats | None:
        """Return the weights of all rows, with those of the sampled rows multiplied by `factor`."""
        if self.factor is None or self.rows is None:
            return weights
        product = np.ones(n_rows) if weights is None else weights.copy()
        product[self.rows] *= self.factor
        return product


class Engine(Protocol):
    """The interface of an engine for `Trainer`.

    A round sets the gradients once, by `differentiate` or `take`. Then each tree is grown, its leaf
    values may be replaced, and it is added to the scores, before the next one is requested. The
    gradients do not change meanwhile, so an engine may grow all trees at the first request.
    """

    @property
    def n_outputs(self) -> int:
        """Scores of a row."""

    @property
    def n_trees(self) -> int:
        """Trees of a round: one for each output, or one for all."""

    @property
    def keeps_monotone(self) -> bool:
        """Whether trees satisfy monotone constraints when they are grown."""

    @property
    def scores(self) -> Floats:
        """Scores of the rows, (n_outputs, n_rows), all rounds so far included; may be written."""

    def differentiate(
        self,
        loss: TrainerLoss,
        target: Floats,
        weights: Floats | None,
        sampling: _native.Draw | None,
    ) -> Sample:
        """Compute the gradients of a built-in loss; `target` is (1 or n_outputs, n_rows)."""

    def take(self, gradient: Floats, hessian: Floats, sampling: _native.Draw | None) -> Sample:
        """Set the gradients, (n_outputs, n_rows), weights multiplied in."""

    def grow(self, output: int, bag: Bag, tree_id: int) -> Tree:
        """Grow a tree for an output, or for all, on the rows of a bag."""

    def leaf_of_row(self, output: int) -> NDArray[np.uint16]:
        """Return each row's leaf in the last tree grown for an output, in the order of nodes."""

    def gradients(self, output: int) -> Gradients:
        """Return the gradients of an output in the form that `LeafSlopes` takes."""

    def set_leaf_values(self, output: int, values: Floats) -> None:
        """Replace the leaf values of the last tree, whose arrays have them already."""

    def add(self, tree: Tree, output: int, slopes: LeafSlopes | None) -> None:
        """Add the last tree grown for an output to the scores, now or with the next gradients."""


class HistogramEngine:
    """Grows trees from histograms of fixed-point gradients.

    Parameters
    ----------
    binned : BinnedMatrix or SparseBinnedMatrix
        The table, by row and by column, or its entries by column if `vector` is False.
    params : GrowthParams
        The growth parameters.
    base_score : float64 array (n_outputs,)
        The initial scores.
    vector : bool
        Whether a round has one tree with vector leaves, or a tree for each output.
    n_threads : int
        Maximum number of threads; the trees do not depend on it.
    most_growers : int, optional
        Number of trees of a round that are grown side by side; by default the fastest.
    """

    def __init__(
        self,
        binned: BinnedMatrix | SparseBinnedMatrix,
        params: GrowthParams,
        base_score: Floats,
        *,
        vector: bool = False,
        n_threads: int = 1,
        most_growers: int | None = None,
    ) -> None:
        self.n_outputs = len(base_score)
        self.n_trees = 1 if vector else self.n_outputs
        self.keeps_monotone = not vector and params.grow_policy != "symmetric"
        self._n_threads = n_threads
        communicator = workers().communicator
        n_growers = most_growers or trees_side_by_side(binned, self.n_trees, n_threads)
        self._threads_each = n_threads // n_growers
        self._growers = [
            make_grower(binned, params, vector, self._threads_each) for _ in range(n_growers)
        ]
        self._grown: list[Tree] = []  # trees of a round that are grown side by side
        n_total = workers().count(binned.n_rows)
        self._gradients = _native.GradientStore(
            binned.n_rows, self.n_outputs, n_threads, vector, n_total, communicator
        )
        self._scores = np.empty((self.n_outputs, binned.n_rows))
        self._scores[...] = base_score[:, None]
        # The leaves of the last round's trees. They are added to the scores when the gradients of
        # the next round are computed: one pass over the rows instead of two.
        self._leaf_of_row = np.empty((self.n_trees, binned.n_rows), np.uint16)
        most_leaves = min(params.max_leaves or MOST_LEAVES, MOST_LEAVES)
        self._leaf_value = np.empty((self.n_outputs, most_leaves))
        self._pending = False

    @property
    def scores(self) -> Floats:
        """Scores of the rows, (n_outputs, n_rows), all trees so far included."""
        if self._pending:
            self._pending = False
            _native.update_scores(
                self._scores, self._leaf_of_row, self._leaf_value, self._n_threads
            )
        return self._scores

    def differentiate(
        self,
        loss: TrainerLoss,
        target: Floats,
        weights: Floats | None,
        sampling: _native.Draw | None,
    ) -> Sample:
        """Add the last trees to the scores, and compute the gradients there."""
        scores = self.scores if loss.is_adaptive else self._scores
        sample = self._gradients.differentiate(
            loss.name,
            loss.parameters(target[0] if len(target) == 1 else target, scores, weights),
            self._scores,
            self._leaf_of_row if self._pending else None,
            self._leaf_value,
            target,
            weights,
            sampling,
        )
        self._pending = False
        return sample

    def take(self, gradient: Floats, hessian: Floats, sampling: _native.Draw | None) -> Sample:
        """Set the gradients, (n_outputs, n_rows), weights multiplied in."""
        self.scores  # noqa: B018  adds pending trees
        return self._gradients.take(gradient, hessian, sampling)

    def grow(self, output: int, bag: Bag, tree_id: int) -> Tree:
        """Grow a tree for an output, or for all, on the rows of a bag.

        Trees of a round do not depend on each other: where that is faster, the first call grows
        them all, several at the same time.
        """
        first = self._growers[0]
        if len(self._growers) == 1:
            return Tree.of_arrays(
                first.grow(
                    self._gradients, output, bag.rows, tree_id, self._leaf_of_row, self._leaf_value
                )
            )
        if output == 0:
            grown = first.grow_side_by_side(
                self._growers,
                self._threads_each,
                self._gradients,
                bag.rows,
                tree_id,
                self._leaf_of_row,
                self._leaf_value,
            )
            self._grown = [Tree.of_arrays(arrays) for arrays in grown]
        return self._grown[output]

    @property
    def boosts_rounds(self) -> bool:
        """Whether there is a kernel for `boost`: for trees of one output on a dense table."""
        return isinstance(self._growers[0], _native.ScalarGrower)

    def boost(
        self,
        loss: TrainerLoss,
        target: Floats,
        weights: Floats | None,
        sampling: tuple[float, int],
        rounds: range,
    ) -> TreeList:
        """Grow the trees of several rounds of a built-in loss, in few calls.

        `sampling` is the fraction of the rows in a round, and the seed by which they are sampled.
        """
        parameters = loss.parameters(
            target[0] if len(target) == 1 else target, self._scores, weights
        )
        trees = TreeList()
        for first in rounds[::_ROUNDS_PER_CALL]:
            is_pending, self._pending = self._pending, False
            arrays, n_nodes, n_sets = _native.boost_rounds(
                self._growers,
                self._threads_each,
                self._gradients,
                loss.name,
                parameters,
                self._scores,
                self._leaf_of_row,
                is_pending,
                self._leaf_value,
                target,
                weights,
                *sampling,
                first,
                min(_ROUNDS_PER_CALL, rounds.stop - first),
            )
            self._pending = True
            named = dict(zip(NATIVE_FIELDS, arrays, strict=True))
            trees += JoinedTrees(named, n_nodes.tolist(), n_sets.tolist())
        return trees

    def leaf_of_row(self, output: int) -> NDArray[np.uint16]:
        """Return each row's leaf in the last tree grown for an output, in the order of nodes."""
        return self._leaf_of_row[output % self.n_trees]

    def gradients(self, output: int) -> Gradients:
        """Return the gradient store, and the output's index in it."""
        return self._gradients, output

    def set_leaf_values(self, output: int, values: Floats) -> None:
        """Replace the leaf values of the last tree."""
        self._leaf_value[output, : len(values)] = values

    def add(self, tree: Tree, output: int, slopes: LeafSlopes | None) -> None:
        """Add a tree with slopes to the scores; others are added with the next gradients."""
        if slopes is None:
            self._pending = output == self.n_trees - 1
            return
        leaf = self.leaf_of_row(output)
        for place, served in enumerate(range(output, self.n_outputs, self.n_trees)):
            slopes.add(tree, place, leaf, self._scores[served], self._n_threads)


def trees_side_by_side(
    binned: BinnedMatrix | SparseBinnedMatrix, n_trees: int, n_threads: int
) -> int:
    """Return how many trees of a round to grow at the same time.

    Threads of one tree wait for each other some hundred times; threads of different trees do not,
    but every tree that is grown at the same time needs a list of its rows, and histograms.
    """
    if n_trees == 1 or n_threads == 1 or workers().communicator is not None:
        return 1
    other_bytes = binned.n_bytes + n_trees * _OUTPUT_BYTES * binned.n_rows
    histograms = min(_MOST_HISTOGRAMS, 1 + binned.n_rows // _ROWS_PER_HISTOGRAM)
    own_bytes = _ROW_LIST_BYTES * binned.n_rows + histograms * binned.histogram_bytes
    share = max(_MORE_MEMORY * other_bytes, _LITTLE_MEMORY) / max(1, own_bytes)
    alone = _UPDATE_SECONDS * binned.n_entries  # the seconds of a tree on one thread

    def seconds(n_growers: int) -> float:
        threads = n_threads // n_growers
        not_saved = 0.0 if threads == 1 else _NOT_SAVED * binned.n_entries**0.5
        return -(-n_trees // n_growers) * (alone / threads + not_saved)

    return min(range(1, min(n_trees, n_threads, 1 + int(share)) + 1), key=seconds)


def make_grower(
    binned: BinnedMatrix | SparseBinnedMatrix, params: GrowthParams, vector: bool, n_threads: int
) -> Any:
    """Return what grows trees on a table, or on the rows of all workers."""
    if isinstance(binned, SparseBinnedMatrix):
        return _sparse_grower(binned, params, vector, n_threads)
    if binned.by_row is None:
        raise ValueError("histograms need the table by row")
    communicator = workers().communicator
    make: Callable[..., Any] = _native.VectorGrower if vector else _native.ScalarGrower
    if communicator is not None:
        make = partial(
            _native.DistributedGrower, communicator=communicator, leaves_ahead=LEAVES_AHEAD
        )
    return make(
        binned.by_column,
        binned.by_row,
        binned.n_bins,
        binned.is_categorical,
        binned.places,
        binned.width,
        binned.threshold_values,
        binned.threshold_starts,
        _native.GrowthParams(params),
        _native.Constraints(params),
        n_threads,
    )


def _sparse_grower(
    binned: SparseBinnedMatrix, params: GrowthParams, vector: bool, n_threads: int
) -> Any:
    """Return what grows trees of one output on a sparse table."""
    if vector:
        raise ValueError("trees with vector leaves need the table by row")
    return _native.SparseGrower(
        binned.starts,
        binned.rows,
        binned.bins,
        binned.n_bins,
        binned.zero_bins,
        binned.n_rows,
        binned.threshold_values,
        binned.threshold_starts,
        _native.GrowthParams(params),
        _native.Constraints(params),
        n_threads,
    )


class ExactEngine:
    """Grows trees from sorted columns, with a candidate threshold between any two values.

    `matrix` is the table as the predictor reads it (n_rows, n_features), with categories as bin
    numbers; the other parameters are those of `HistogramEngine`.
    """

    def __init__(
        self,
        matrix: NDArray[Any],
        is_categorical: NDArray[np.bool_],
        params: GrowthParams,
        base_score: Floats,
        *,
        n_threads: int = 1,
    ) -> None:
        self.n_outputs = self.n_trees = len(base_score)
        self.keeps_monotone = True
        self._matrix, self._params, self._n_threads = matrix, params, n_threads
        self._grower = ExactGrower(matrix, is_categorical, n_threads)
        self.scores = np.empty((self.n_outputs, len(matrix)))
        self.scores[...] = base_score[:, None]
        self._gradient = self._hessian = np.empty((0, 0))
        # The last tree, and each row's node in it; -1 for rows outside its bag.
        self._tree: Tree | None = None
        self._node_of_row = np.empty(0, np.int32)

    def differentiate(
        self,
        loss: TrainerLoss,
        target: Floats,
        weights: Floats | None,
        sampling: _native.Draw | None,
    ) -> Sample:
        """Compute the gradients at the scores."""
        return self.take(*loss.gradients(target, self.scores, weights, self._n_threads), sampling)

    def take(self, gradient: Floats, hessian: Floats, sampling: _native.Draw | None) -> Sample:
        """Set the gradients, multiplied by the factors of sampled rows."""
        self._gradient, self._hessian = gradient, hessian
        if sampling is None:
            return None
        n_outputs, n_rows = gradient.shape
        store = _native.GradientStore(n_rows, n_outputs, self._n_threads)
        sample = store.take(gradient, hessian, sampling)
        assert sample is not None
        counts = Bag(*sample).weights(None, n_rows)
        if counts is not None and len(sample[0]):
            self._gradient, self._hessian = gradient * counts, hessian * counts
        return sample

    def grow(self, output: int, bag: Bag, tree_id: int) -> Tree:
        """Grow a tree for an output on the rows of a bag."""
        arrays: dict[str, Any] = self._grower.grow(
            self._gradient[output],
            self._hessian[output],
            self._params,
            rows=bag.rows,
            features=self._tree_features(tree_id),
            tree_id=tree_id,
            n_threads=self._n_threads,
        )
        self._node_of_row = arrays.pop("leaf_of_row")
        self._tree = Tree(**arrays)
        return self._tree

    def _tree_features(self, tree_id: int) -> NDArray[np.bool_]:
        n_features = self._matrix.shape[1]
        allowed = np.zeros(n_features, bool)
        usable = self._params.usable_features(n_features)
        fraction, seed = self._params.colsample_bytree, self._params.seed
        features = _native.sample_tree_features(usable, fraction, seed, tree_id)
        # As intp, because NumPy crashes if it has no memory to convert indices.
        allowed[features.astype(np.intp)] = True
        return allowed

    def leaf_of_row(self, output: int) -> NDArray[np.uint16]:  # noqa: ARG002
        """Return each row's leaf in the last tree, in the order of nodes; 0 outside its bag."""
        assert self._tree is not None
        return leaf_numbers(self._tree, self._node_of_row)

    def gradients(self, output: int) -> Gradients:
        """Return gradients and hessians of the rows."""
        return self._gradient[output], self._hessian[output]

    def set_leaf_values(self, output: int, values: Floats) -> None:
        """Do nothing: scores are computed from the tree."""

    def add(self, tree: Tree, output: int, slopes: LeafSlopes | None) -> None:  # noqa: ARG002
        """Add the last tree to the scores of an output."""
        node = self._node_of_row
        values = tree.value[node.astype(np.intp), 0]  # as above
        outside = np.flatnonzero((node < 0) | (tree.slopes is not None))
        if len(outside):
            alone = Ensemble.from_trees([tree], [0], np.zeros(1), self._matrix.shape[1])
            values[outside] = alone.predict_raw(self._matrix[outside])[:, 0]
        self.scores[output] += values


def leaf_numbers(tree: Tree, node_of_row: NDArray[np.int32]) -> NDArray[np.uint16]:
    """Return each row's leaf, counted in the order of nodes; 0 for rows without a node."""
    number = np.maximum(np.cumsum(tree.feature < 0), 1) - 1
    return number[np.maximum(node_of_row, 0)].astype(np.uint16)
