"""Refitting the leaf values of a model to other rows, with the same splits."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, zip_longest

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._arithmetic import sums_by_group
from hedgerow._boosting.fit.choice import Choice
from hedgerow._boosting.fit.constraints import require_no_slopes
from hedgerow._boosting.fit.fit_data import FitArguments, Settings, as_fitted, read_problem
from hedgerow._boosting.fit.fitting import fit_curve
from hedgerow._boosting.fit.foreign import require_ours
from hedgerow._boosting.fit.round_grower import growth_params, leaf_search
from hedgerow._boosting.fit.training_set import encode_like_initial_model
from hedgerow._boosting.model import BoostedModel
from hedgerow._boosting.targets.tasks import Task
from hedgerow._contract import internals
from hedgerow._data.binned_rows import rows_of
from hedgerow._data.intake import as_matrix
from hedgerow._estimator import TableEstimator
from hedgerow._tree.engine import leaf_numbers
from hedgerow._tree.leaves import LeafRows, LeafSlopes, average_inner_nodes
from hedgerow._tree.linear_leaves import mixed_slopes
from hedgerow._tree.monotone import make_monotone
from hedgerow._tree.structure import Ensemble, Tree
from hedgerow._tree.trainer import leaf_update_for
from hedgerow._types import Attributes, Floats


class Refitting:
    """Fits the leaf values of a model again, round after round, to the gradients of other rows.

    `keep` is the fraction of its old value that a leaf keeps; leaves without rows keep all of it.
    """

    def __init__(
        self, estimator: TableEstimator, task: Task, arguments: FitArguments, keep: float
    ) -> None:
        self.model: BoostedModel = internals(estimator).model()
        require_ours(estimator, self.model)
        self.estimator, self.keep = estimator, keep
        settings = Settings.of(estimator)
        problem, dataset = read_problem(arguments, task, self.model, settings)
        self.problem, self.settings = problem, settings
        self.n_threads = settings.n_threads
        self.train = encode_like_initial_model(problem, dataset, self.n_threads)
        self.loss = problem.loss
        self.target = self.train.target_by_output
        self.weights = self.loss.row_weights(self.target, self.train.weights)
        self.differentiate = self.loss.differentiator(self.target, self.weights, self.n_threads)
        self.rows = rows_of(self.train.table, self.model.binner, self.n_threads)
        self._set_parameters(0)
        if self.params.directions:
            require_no_slopes(self.model.ensemble)

    def _set_parameters(self, number: int) -> None:
        """Take the parameters of a model; the mean may be of models that differ in them."""
        settings, problem = (
            replace(self.settings, params=as_fitted(self.estimator, number)),
            self.problem,
        )
        self.params = growth_params(problem, settings, self.model.statistics)
        search = leaf_search(problem, settings, self.train)
        self.leaf_update = search or leaf_update_for(problem.native_loss, self.params)
        self.slopes: LeafSlopes | None = None
        if settings.params.linear_leaves:
            linear_lambda = settings.params.linear_lambda
            numbers = as_matrix(self.train.table, self.model.category_bins)
            self.slopes = LeafSlopes(numbers, self.params, linear_lambda)

    def run(self) -> Attributes:
        """Return the attributes of the estimator with new leaf values."""
        old = self.model.ensemble
        choice: Choice | None = getattr(self.estimator, "auto_", None)
        n_models = 1 if choice is None else choice.n_members
        in_turn = 1 if choice is None else choice.n_in_turn
        members = []
        for number in range(in_turn):
            self._set_parameters(number)
            own = old.of_rounds(range(number, old.n_rounds, in_turn)).scaled(n_models)
            members.append(self._refit_rounds(own))
        ordered = chain.from_iterable(zip_longest(*members, fillvalue=[]))
        trees = [tree.scaled(1.0 / n_models) for round_ in ordered for tree in round_]
        new = Ensemble.from_trees(trees, old.tree_output, old.base_score, old.n_features)
        kept = {name: value for name, value in vars(self.estimator).items() if name.endswith("_")}
        curve = fit_curve(self.loss, new, self.train, lambda: self.rows, self.n_threads)
        refitted = replace(self.model, ensemble=new, curve=curve)
        if self.keep < 1.0:  # the calibration was of other leaf values
            refitted = replace(refitted, calibration=None, residuals=None)
        return kept | {"_model": refitted}

    def _refit_rounds(self, ensemble: Ensemble) -> list[list[Tree]]:
        """Return the trees of each round with new values."""
        rows = self.rows
        scores = np.empty((ensemble.n_outputs, len(rows)))
        scores[...] = ensemble.base_score[:, np.newaxis]
        if self.train.offset is not None:
            scores += self.train.offset.T
        rounds: list[list[Tree]] = []
        for round_ in range(ensemble.n_rounds):
            alone = ensemble.of_rounds(range(round_, round_ + 1))
            leaves = alone.apply(rows, n_threads=self.n_threads)
            new = self._refit_round(alone, leaves, scores)
            again = Ensemble.from_trees(new, alone.tree_output, alone.base_score, alone.n_features)
            again.add_trees(rows, scores.T, 0, len(new), n_threads=self.n_threads)
            rounds.append(new)
        return rounds

    def _refit_round(
        self, alone: Ensemble, leaves: NDArray[np.int32], scores: Floats
    ) -> list[Tree]:
        """Return the trees of a round with values fitted to rows with these scores (K, n)."""
        gradient, hessian = self.differentiate(scores)
        old = alone.trees()
        new = [replace(tree, value=tree.value.copy()) for tree in old]
        for k in range(len(scores)):
            t = k % len(new)
            node, place = leaves[:, t], k % new[t].value.shape[1]
            self._take_newton_steps(new[t], place, node, gradient[k], hessian[k])
            if self.leaf_update is not None:
                self._take_best_steps(new[t], k, node, scores)
        for t, tree in enumerate(new):
            outputs = range(t, len(scores), len(new))
            sloped = self._with_slopes(tree, outputs, leaves[:, t], gradient, hessian)
            new[t] = self._keep_part(old[t], sloped, leaves[:, t])
            self._make_monotone(new[t], outputs, leaves[:, t], hessian)
        return new

    def _take_newton_steps(
        self, tree: Tree, place: int, node: NDArray[np.int32], g: Floats, h: Floats
    ) -> None:
        G, H = (sums_by_group(of, node, tree.n_nodes) for of in (g, h))
        params, rate = _native.GrowthParams(self.params), self.params.learning_rate
        value = rate * _native.leaf_weights(params, G, H)
        tree.value[:, place] = value + _native.common_step(params, G, H, value)

    def _take_best_steps(
        self, tree: Tree, output: int, node: NDArray[np.int32], scores: Floats
    ) -> None:
        assert self.leaf_update is not None
        targets = np.atleast_2d(self.target)
        target = targets[output % len(targets)]
        leaf = leaf_numbers(tree, node)
        rows = LeafRows(target, scores[output], scores, self.weights, leaf, None)
        self.leaf_update.replace(tree, output, rows, self.n_threads)

    def _with_slopes(
        self,
        tree: Tree,
        outputs: range,
        node: NDArray[np.int32],
        gradient: Floats,
        hessian: Floats,
    ) -> Tree:
        if self.slopes is None:
            return replace(tree, slopes=None)
        counted = replace(tree, count=np.bincount(node, minlength=tree.n_nodes).astype(np.int64))
        gradients = [(gradient[k], hessian[k]) for k in outputs]
        leaf = leaf_numbers(tree, node)
        sloped = self.slopes.fit(counted, gradients, leaf, None, self.n_threads)
        return replace(tree, slopes=sloped.slopes)

    def _keep_part(self, old: Tree, new: Tree, node: NDArray[np.int32]) -> Tree:
        """Mix in the old values; leaves without rows keep theirs."""
        is_leaf = old.feature < 0
        is_reached = np.bincount(node, minlength=old.n_nodes) > 0
        kept = np.where(is_reached, self.keep, 1.0)
        mixed = (1.0 - kept[:, np.newaxis]) * new.value + kept[:, np.newaxis] * old.value
        slopes, offset = mixed_slopes(old.slopes, new.slopes, kept)
        new.value[is_leaf] = (mixed + offset)[is_leaf]
        for place in range(new.value.shape[1]):
            average_inner_nodes(new, place)
        return replace(new, slopes=slopes)

    def _make_monotone(
        self, tree: Tree, outputs: range, node: NDArray[np.int32], hessian: Floats
    ) -> None:
        """Make the values monotone; leaves with few rows change most."""
        if not self.params.directions:
            return
        for place, k in enumerate(outputs):
            H = sums_by_group(hessian[k], node, tree.n_nodes)
            weights = (H + self.params.reg_lambda)[tree.feature < 0]
            make_monotone(tree, place, self.params.directions, weights)
