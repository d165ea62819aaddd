"""Boosting on one training set: gradients of the loss at the scores so far, then trees to fit them.

`Trainer` grows trees from histograms, `ExactTrainer` from sorted columns; both have the same face.
Python owns the rounds here, native code owns the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._data.binning import BinnedMatrix
from hedgerow._tree.exact import ExactGrower
from hedgerow._tree.growth_params import GrowParams
from hedgerow._tree.leaf_quantiles import LeafQuantiles, LeafRows, LeafRule, TrainedLoss
from hedgerow._tree.leaf_slopes import LeafSlopes
from hedgerow._tree.monotone import OrderedLeaves
from hedgerow._tree.row_sampling import Bag, RowSampler
from hedgerow._tree.structure import NATIVE_FIELDS, Ensemble, Tree
from hedgerow._types import Floats

MOST_LEAVES: int = _native.most_leaves


class DivergenceError(ArithmeticError):
    """The scores have grown so large that their gradients cannot be added up."""


class BoostsRounds(Protocol):
    """What the rounds need of a trainer."""

    @property
    def scores(self) -> Floats:
        """Scores of the rows, (n_outputs, n_rows), all trees so far included; may be written."""

    def boost(self, round_index: int) -> list[Tree]:
        """Grow one round on the gradients of a built-in loss."""

    def boost_with(self, round_index: int, gradient: Floats, hessian: Floats) -> list[Tree]:
        """Grow one round on the gradients of a user's loss."""


class Trainer:
    """Grows trees from histograms of fixed-point gradients.

    Parameters
    ----------
    binned : BinnedMatrix
        The table, by row and by column.
    target : float64 array (n_rows,) or (n_outputs, n_rows)
        Numbers, or class numbers 0 … K-1; one for all outputs, or one for each.
    weights : float64 array (n_rows,), optional
        Weights of the rows.
    loss : TrainedLoss, optional
        None if gradients are given, through `boost_with`.
    n_outputs : int
        Scores of a row.
    vector : bool
        Whether one tree a round serves all outputs, or each output has its own.
    base_score : float64 array (n_outputs,)
        Where the scores start.
    params : GrowParams
        How trees grow.
    draws : RowSampler, optional
        Which rows a round has; all by default.
    colsample_bytree : float
        Part of the features that a tree may use.
    leaves : LeafRule, optional
        How leaves are replaced if gradients are given.
    slopes : LeafSlopes, optional
        How leaves get slopes, if they do.
    n_threads : int
        Threads at most; the trees do not depend on it.
    """

    def __init__(
        self,
        binned: BinnedMatrix,
        target: Floats,
        weights: Floats | None,
        *,
        loss: TrainedLoss | None,
        n_outputs: int,
        base_score: Floats,
        params: GrowParams,
        vector: bool = False,
        draws: RowSampler | None = None,
        colsample_bytree: float = 1.0,
        leaves: LeafRule | None = None,
        slopes: LeafSlopes | None = None,
        n_threads: int = 1,
    ) -> None:
        if binned.by_row is None:
            raise ValueError("histograms need the table by row")
        self._target, self._weights, self._loss = np.atleast_2d(target), weights, loss
        self._leaves = _ordered(leaves or leaf_rule(loss, params), params, is_always=vector)
        self._slopes = slopes
        self._n_outputs, self._n_threads = n_outputs, n_threads
        self._n_trees = 1 if vector else n_outputs
        self._draws = draws or RowSampler(binned.n_rows)
        settings = _settings(params, colsample_bytree)
        self._grower = (_native.VectorGrower if vector else _native.Grower)(
            binned.by_column,
            binned.by_row,
            binned.n_bins,
            binned.is_categorical,
            binned.bundle_slots,
            binned.width,
            binned.threshold_values,
            binned.threshold_starts,
            settings,
            n_threads,
        )
        self._gradients = _native.GradientStore(binned.n_rows, n_outputs, n_threads, vector)
        self._scores = np.empty((n_outputs, binned.n_rows))
        self._scores[...] = base_score[:, None]
        # The last round's trees as rows see them. They are added to the scores when the gradients
        # of the next round are taken: one pass over the rows instead of two.
        self._leaf_of_row = np.empty((self._n_trees, binned.n_rows), np.uint16)
        self._leaf_value = np.empty((n_outputs, settings.max_leaves))
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

    def boost(self, round_index: int) -> list[Tree]:
        """Grow one round: take the loss's gradients, then fit a tree, or one for each output."""
        with _divergence():
            drawn = self._differentiate(self._draws.by_gradient(round_index))
        return self._grow(round_index, self._draws.bag(round_index, drawn))

    def boost_with(self, round_index: int, gradient: Floats, hessian: Floats) -> list[Tree]:
        """Grow one round on given gradients, (n_outputs, n_rows), weights multiplied in."""
        self.scores  # noqa: B018  brings them up to date
        with _divergence():
            drawn = self._gradients.take(gradient, hessian, self._draws.by_gradient(round_index))
        return self._grow(round_index, self._draws.bag(round_index, drawn))

    def _differentiate(self, draw: _native.Draw | None = None) -> Any:
        assert self._loss is not None
        scores = self.scores if self._loss.adapts else self._scores
        target = self._target[0] if len(self._target) == 1 else self._target
        drawn = self._gradients.differentiate(
            self._loss.name,
            self._loss.parameters(target, scores, self._weights),
            self._scores,
            self._leaf_of_row if self._pending else None,
            self._leaf_value,
            self._target,
            self._weights,
            draw,
        )
        self._pending = False
        return drawn

    def _grow(self, round_index: int, bag: Bag) -> list[Tree]:
        trees = []
        for output in range(self._n_trees):
            arrays = self._grower.grow(
                self._gradients,
                output,
                bag.rows,
                round_index * self._n_trees + output,
                self._leaf_of_row,
                self._leaf_value,
            )
            tree = Tree(**dict(zip(NATIVE_FIELDS, arrays, strict=True)))
            if self._leaves is not None:
                for served in range(output, self._n_outputs, self._n_trees):
                    self._replace_leaves(tree, served, bag)
            trees.append(tree if self._slopes is None else self._with_slopes(tree, output, bag))
        self._pending = self._slopes is None
        return trees

    def _with_slopes(self, tree: Tree, output: int, bag: Bag) -> Tree:
        """Give the tree's leaves slopes, and add it to the scores; all gradients are taken."""
        assert self._slopes is not None
        outputs = range(output, self._n_outputs, self._n_trees)
        leaf = self._leaf_of_row[output]
        gradients = [(self._gradients, k) for k in outputs]
        tree = self._slopes.fit(tree, gradients, leaf, bag.rows, self._n_threads)
        for place, served in enumerate(outputs):
            self._slopes.add(tree, place, leaf, self._scores[served], self._n_threads)
        return tree

    def _replace_leaves(self, tree: Tree, output: int, bag: Bag) -> None:
        assert self._leaves is not None
        target, scores = self._target[output % len(self._target)], self._scores[output]
        leaf = self._leaf_of_row[output % self._n_trees]
        weights = bag.weights(self._weights, len(scores))
        rows = LeafRows(target, scores, self._scores, weights, leaf, bag.rows)
        values = self._leaves.replace(tree, output, rows, self._n_threads)
        self._leaf_value[output, : len(values)] = values


class ExactTrainer:
    """Grows trees from sorted columns, trying every boundary between values.

    `matrix` is the table as the predictor sees it (n_rows, n_features), categories as bin numbers;
    all else is as in `Trainer`.
    """

    def __init__(
        self,
        matrix: NDArray[Any],
        is_categorical: NDArray[np.bool_],
        target: Floats,
        weights: Floats | None,
        *,
        loss: TrainedLoss | None,
        n_outputs: int,
        base_score: Floats,
        params: GrowParams,
        draws: RowSampler | None = None,
        colsample_bytree: float = 1.0,
        leaves: LeafRule | None = None,
        slopes: LeafSlopes | None = None,
        n_threads: int = 1,
    ) -> None:
        self._matrix, self._weights, self._loss = matrix, weights, loss
        self._target = np.atleast_2d(target)
        self._leaves = _ordered(leaves or leaf_rule(loss, params), params)
        self._slopes = slopes
        self._params, self._colsample, self._n_threads = params, colsample_bytree, n_threads
        n_rows = len(matrix)
        self._draws = draws or RowSampler(n_rows)
        self._grower = ExactGrower(matrix, is_categorical, n_threads)
        self.scores = np.empty((n_outputs, n_rows))
        self.scores[...] = base_score[:, None]

    def boost(self, round_index: int) -> list[Tree]:
        """Grow one round: take the loss's gradients, then fit a tree for each output."""
        assert self._loss is not None
        gradient, hessian = self._loss.gradients(
            self._target, self.scores, self._weights, self._n_threads
        )
        return self.boost_with(round_index, gradient, hessian)

    def boost_with(self, round_index: int, gradient: Floats, hessian: Floats) -> list[Tree]:
        """Grow one round on given gradients, (n_outputs, n_rows), weights multiplied in."""
        bag, gradient, hessian = self._draw(round_index, gradient, hessian)
        trees = []
        for output, (g, h) in enumerate(zip(gradient, hessian, strict=True)):
            tree_id = round_index * len(gradient) + output
            arrays: dict[str, Any] = self._grower.grow(
                g,
                h,
                self._params,
                rows=bag.rows,
                features=self._tree_features(tree_id),
                tree_id=tree_id,
                n_threads=self._n_threads,
            )
            leaf_of_row = arrays.pop("leaf_of_row")
            trees.append(Tree(**arrays))
            if self._leaves is not None:
                self._replace_leaves(trees[-1], output, leaf_of_row, bag)
            if self._slopes is not None:
                leaf = leaf_numbers(trees[-1], leaf_of_row)
                trees[-1] = self._slopes.fit(trees[-1], [(g, h)], leaf, bag.rows, self._n_threads)
            self._add(output, trees[-1], leaf_of_row)
        return trees

    def _tree_features(self, tree_id: int) -> NDArray[np.bool_]:
        n_features = self._matrix.shape[1]
        allowed = np.zeros(n_features, bool)
        usable = self._params.usable_features(n_features)
        drawn = _native.sample_tree_features(usable, self._colsample, self._params.seed, tree_id)
        # Of intp: NumPy crashes where it has no memory to convert indices in.
        allowed[drawn.astype(np.intp)] = True
        return allowed

    def _draw(
        self, round_index: int, gradient: Floats, hessian: Floats
    ) -> tuple[Bag, Floats, Floats]:
        """Return the round's rows, and the gradients as often as rows count."""
        draw = self._draws.by_gradient(round_index)
        if draw is None:
            return self._draws.bag(round_index, None), gradient, hessian
        store = _native.GradientStore(gradient.shape[1], len(gradient), self._n_threads)
        bag = self._draws.bag(round_index, store.take(gradient, hessian, draw))
        counts = bag.weights(None, gradient.shape[1])
        if counts is None:
            return bag, gradient, hessian
        return bag, gradient * counts, hessian * counts

    def _replace_leaves(
        self, tree: Tree, output: int, leaf_of_row: NDArray[np.int32], bag: Bag
    ) -> None:
        assert self._leaves is not None
        leaf = leaf_numbers(tree, leaf_of_row)
        target, scores = self._target[output % len(self._target)], self.scores[output]
        weights = bag.weights(self._weights, len(scores))
        rows = LeafRows(target, scores, self.scores, weights, leaf, bag.rows)
        self._leaves.replace(tree, output, rows, self._n_threads)

    def _add(self, output: int, tree: Tree, leaf_of_row: NDArray[np.int32]) -> None:
        values = tree.value[leaf_of_row.astype(np.intp), 0]  # as above
        outside = np.flatnonzero((leaf_of_row < 0) | (tree.slopes is not None))
        if len(outside):
            alone = Ensemble.from_trees([tree], [0], np.zeros(1), self._matrix.shape[1])
            values[outside] = alone.predict_raw(self._matrix[outside])[:, 0]
        self.scores[output] += values


@contextmanager
def _divergence() -> Iterator[None]:
    """Tell a kernel's overflow from one that a user's function raises."""
    try:
        yield
    except OverflowError as error:
        raise DivergenceError(*error.args) from error


def leaf_numbers(tree: Tree, leaf_of_row: NDArray[np.int32]) -> NDArray[np.uint16]:
    """Return rows' leaves counted in the order of nodes; of rows that are in none, the first."""
    number = np.maximum(np.cumsum(tree.feature < 0), 1) - 1
    return number[np.maximum(leaf_of_row, 0)].astype(np.uint16)


def leaf_rule(loss: TrainedLoss | None, params: GrowParams) -> LeafRule | None:
    """Return how leaves are replaced after a tree has grown, if they are."""
    if loss is None or not loss.has_corners:
        return None
    return LeafQuantiles(loss, params.learning_rate, params.max_delta_step)


def _ordered(
    rule: LeafRule | None, params: GrowParams, *, is_always: bool = False
) -> LeafRule | None:
    """Return the rule for monotone leaves: growers of single trees keep them so unless replaced."""
    if not params.directions or (rule is None and not is_always):
        return rule
    return OrderedLeaves(rule, params.directions, params.reg_lambda)


def split_rules(params: GrowParams) -> _native.SplitRules:
    """Translate parameters into what splits and leaves must respect."""
    rules = _native.SplitRules()
    for name in (
        *("reg_lambda", "reg_alpha", "min_split_gain", "max_delta_step", "min_child_weight"),
        *("max_cat_to_onehot", "max_cat_threshold", "cat_smooth", "cat_l2"),
        "min_category_weight",
    ):
        setattr(rules, name, getattr(params, name))
    leaf = _native.LeafRule()
    leaf.falls, leaf.rises = params.leaf_falls, params.leaf_rises
    rules.leaf = leaf
    rules.min_samples_leaf = max(1, params.min_samples_leaf)
    return rules


def _settings(params: GrowParams, colsample_bytree: float) -> _native.GrowSettings:
    settings = _native.GrowSettings()
    settings.rules = split_rules(params)
    settings.constraints = _native.Constraints(params)
    settings.max_leaves = min(params.max_leaves or MOST_LEAVES, MOST_LEAVES)
    settings.max_depth = params.max_depth
    settings.leafwise = params.grow_policy == "leafwise"
    settings.learning_rate = params.learning_rate
    settings.colsample_bytree = colsample_bytree
    settings.colsample_bylevel = params.colsample_bylevel
    settings.colsample_bynode = params.colsample_bynode
    settings.seed = params.seed
    return settings
