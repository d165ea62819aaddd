"""Boosting on one training set: gradients of the loss at the scores so far, then trees to fit them.

`Trainer` owns the rounds: which rows take part, what happens to the leaves of a tree. Its engine
(`engine.py`) owns the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from hedgerow._tree.engine import Engine
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.leaf_quantiles import LeafQuantiles, LeafRows, LeafRule, TrainerLoss
from hedgerow._tree.leaf_slopes import LeafSlopes
from hedgerow._tree.monotone import MonotoneLeaves
from hedgerow._tree.row_sampling import Bag, RowSampler
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats


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
    """Boosts on one training set, whose rows an engine has.

    Parameters
    ----------
    engine : Engine
        Scores, gradients and trees of the rows.
    target : float64 array (n_rows,) or (n_outputs, n_rows)
        Numbers, or class numbers 0 … K-1; one for all outputs, or one for each.
    weights : float64 array (n_rows,), optional
        Weights of the rows.
    loss : TrainerLoss, optional
        None if gradients are given, through `boost_with`.
    params : GrowthParams
        How trees grow.
    draws : RowSampler, optional
        Which rows a round has; all by default.
    leaves : LeafRule, optional
        How leaves are replaced if gradients are given.
    slopes : LeafSlopes, optional
        How leaves get slopes, if they do.
    n_threads : int
        Threads at most; the trees do not depend on it.
    """

    def __init__(
        self,
        engine: Engine,
        target: Floats,
        weights: Floats | None,
        *,
        loss: TrainerLoss | None,
        params: GrowthParams,
        draws: RowSampler | None = None,
        leaves: LeafRule | None = None,
        slopes: LeafSlopes | None = None,
        n_threads: int = 1,
    ) -> None:
        self._engine = engine
        self._target, self._weights, self._loss = np.atleast_2d(target), weights, loss
        rule = leaves or leaf_rule(loss, params)
        self._leaves = _ordered(rule, params, is_always=not engine.keeps_order)
        self._slopes, self._n_threads = slopes, n_threads
        self._draws = draws or RowSampler(self._target.shape[1])

    @property
    def scores(self) -> Floats:
        """Scores of the rows, (n_outputs, n_rows), all trees so far included; may be written."""
        return self._engine.scores

    def boost(self, round_index: int) -> list[Tree]:
        """Grow one round: take the loss's gradients, then fit a tree, or one for each output."""
        assert self._loss is not None
        sampling = self._draws.by_gradient(round_index)
        with _divergence():
            sample = self._engine.differentiate(self._loss, self._target, self._weights, sampling)
        return self._grow(round_index, self._draws.bag(round_index, sample))

    def boost_with(self, round_index: int, gradient: Floats, hessian: Floats) -> list[Tree]:
        """Grow one round on given gradients, (n_outputs, n_rows), weights multiplied in."""
        sampling = self._draws.by_gradient(round_index)
        with _divergence():
            sample = self._engine.take(gradient, hessian, sampling)
        return self._grow(round_index, self._draws.bag(round_index, sample))

    def _grow(self, round_index: int, bag: Bag) -> list[Tree]:
        n_trees = self._engine.n_trees
        trees = []
        for output in range(n_trees):
            tree = self._engine.grow(output, bag, round_index * n_trees + output)
            outputs = range(output, self._engine.n_outputs, n_trees)
            if self._leaves is not None:
                for served in outputs:
                    self._replace_leaves(tree, served, bag)
            if self._slopes is not None:
                gradients = [self._engine.gradients(served) for served in outputs]
                leaf = self._engine.leaf_of_row(output)
                tree = self._slopes.fit(tree, gradients, leaf, bag.rows, self._n_threads)
            self._engine.add(tree, output, self._slopes)
            trees.append(tree)
        return trees

    def _replace_leaves(self, tree: Tree, output: int, bag: Bag) -> None:
        assert self._leaves is not None
        all_scores = self._engine.scores
        target, scores = self._target[output % len(self._target)], all_scores[output]
        weights = bag.weights(self._weights, len(scores))
        leaf = self._engine.leaf_of_row(output)
        rows = LeafRows(target, scores, all_scores, weights, leaf, bag.rows)
        values = self._leaves.replace(tree, output, rows, self._n_threads)
        self._engine.set_leaf_values(output, values)


@contextmanager
def _divergence() -> Iterator[None]:
    """Tell a kernel's overflow from one that a user's function raises."""
    try:
        yield
    except OverflowError as error:
        raise DivergenceError(*error.args) from error


def leaf_rule(loss: TrainerLoss | None, params: GrowthParams) -> LeafRule | None:
    """Return how leaves are replaced after a tree has grown, if they are."""
    if loss is None or not loss.is_piecewise_linear:
        return None
    return LeafQuantiles(loss, params.learning_rate, params.max_delta_step)


def _ordered(
    rule: LeafRule | None, params: GrowthParams, *, is_always: bool = False
) -> LeafRule | None:
    """Return the rule for monotone leaves: growers of single trees keep them so unless replaced."""
    if not params.directions or (rule is None and not is_always):
        return rule
    return MonotoneLeaves(rule, params.directions, params.reg_lambda)
