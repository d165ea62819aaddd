"""The same trees on other rows: structures stay, leaves get the values that these rows ask for."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.boosting.auto import Choice, as_fitted, member_of
from hedgerow.boosting.fitting import Attributes, Fitting, Given, grow_params
from hedgerow.boosting.losses import Floats, NativeLoss
from hedgerow.boosting.model import BoostedModel
from hedgerow.boosting.training_data import Examples
from hedgerow.data.intake import as_matrix
from hedgerow.tree.grower import leaf_rule, split_rules
from hedgerow.tree.leaf_quantiles import LeafRows, average_inner
from hedgerow.tree.structure import Ensemble, Tree


class Refitting:
    """A model whose leaves are fitted again, round after round, to the gradients of new rows.

    `keep` is the part of a leaf's old value that stays; a leaf that no row reaches keeps all of it.
    """

    def __init__(self, estimator: Any, given: Given, keep: float) -> None:
        self.model: BoostedModel = estimator._fitted_model()  # noqa: SLF001
        self.estimator, self.keep = estimator, keep
        self.fitting = Fitting(estimator, estimator._task, self.model)  # noqa: SLF001
        read = self.fitting.read_training(given)
        self.rows: Examples = self.fitting.encode(read, {})[0]
        self.fitting.binner = self.model.binner
        self.loss = self.fitting.loss
        self.target = self.rows.target_by_output
        self.weights = self.loss.row_weights(self.target, self.rows.weights)
        self.differentiate = self.loss.differentiator(
            self.target, self.weights, self.fitting.n_threads
        )
        native = self.loss if isinstance(self.loss, NativeLoss) else None
        self.fitting.estimator = as_fitted(estimator)
        self.params = grow_params(self.fitting.estimator, native, self.fitting.seed)
        self.leaf_rule = self.fitting.leaf_rule(self.rows) or leaf_rule(native, self.params)

    def run(self) -> Attributes:
        """Return the attributes of the estimator with new leaves."""
        before = self.model.ensemble
        matrix = as_matrix(self.rows.table, self.model.category_bins)
        chosen: Choice | None = getattr(self.estimator, "auto_", None)
        n_members = 1 if chosen is None else chosen.n_members
        members = [
            self._refit_rounds(member_of(before, number, n_members), matrix)
            for number in range(n_members)
        ]
        in_turn = chain.from_iterable(zip_longest(*members, fillvalue=[]))
        trees = [tree.scaled(1.0 / n_members) for round_ in in_turn for tree in round_]
        after = Ensemble.from_trees(trees, before.tree_output, before.base_score, before.n_features)
        kept = {name: value for name, value in vars(self.estimator).items() if name.endswith("_")}
        curve = self.fitting.curve(after, self.rows)
        return kept | {"_model": replace(self.model, ensemble=after, curve=curve)}

    def _refit_rounds(self, ensemble: Ensemble, matrix: NDArray[Any]) -> list[list[Tree]]:
        """Return the trees of each round with new values."""
        scores = np.empty((ensemble.n_outputs, len(matrix)))
        scores[...] = ensemble.base_score[:, np.newaxis]
        rounds: list[list[Tree]] = []
        for round_ in range(ensemble.n_rounds):
            alone = ensemble.of_rounds(range(round_, round_ + 1))
            leaves = alone.apply(matrix, n_threads=self.fitting.n_threads)
            rounds.append(self._refit_round(alone, leaves, scores))
        return rounds

    def _refit_round(
        self, alone: Ensemble, leaves: NDArray[np.int32], scores: Floats
    ) -> list[Tree]:
        """Return the trees of a round with new values, and add them to the scores (K, n)."""
        gradient, hessian = self.differentiate(scores)
        old = [alone.tree(t) for t in range(alone.n_trees)]
        new = [replace(tree, value=tree.value.copy()) for tree in old]
        steps = np.empty_like(scores)
        for k in range(len(scores)):
            t = k % len(new)
            node, place = leaves[:, t], k % new[t].value.shape[1]
            self._take_newton_steps(new[t], place, node, gradient[k], hessian[k])
            if self.leaf_rule is not None:
                self._take_best_steps(new[t], k, node, scores)
            self._keep_part(old[t], new[t], place, node)
            steps[k] = new[t].value[node, place]
        scores += steps
        return new

    def _take_newton_steps(
        self, tree: Tree, place: int, node: NDArray[np.int32], g: Floats, h: Floats
    ) -> None:
        G = np.bincount(node, g, minlength=tree.n_nodes).astype(np.float64)
        H = np.bincount(node, h, minlength=tree.n_nodes).astype(np.float64)
        weights = _native.leaf_weights(split_rules(self.params), G, H)
        tree.value[:, place] = self.params.learning_rate * weights

    def _take_best_steps(
        self, tree: Tree, output: int, node: NDArray[np.int32], scores: Floats
    ) -> None:
        assert self.leaf_rule is not None
        number = np.cumsum(tree.feature < 0, dtype=np.uint16) - np.uint16(1)
        targets = np.atleast_2d(self.target)
        target = targets[output % len(targets)]
        rows = LeafRows(target, scores[output], scores, self.weights, number[node], None)
        self.leaf_rule.replace(tree, output, rows, self.fitting.n_threads)

    def _keep_part(self, old: Tree, new: Tree, place: int, node: NDArray[np.int32]) -> None:
        """Mix old values in, and leave those of leaves that no row reaches."""
        is_leaf = old.feature < 0
        is_reached = np.bincount(node, minlength=old.n_nodes) > 0
        before, after = old.value[:, place], new.value[:, place]
        mixed = (1.0 - self.keep) * after + self.keep * before
        after[is_leaf] = np.where(is_reached, mixed, before)[is_leaf]
        average_inner(new, place)
