"""The same trees on other rows: structures stay, leaves get the values that these rows ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow import _native
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
        self.rows: Examples = self.fitting.read_training(given)
        self.loss = self.fitting.loss
        native = self.loss if isinstance(self.loss, NativeLoss) else None
        self.params = grow_params(estimator, native, self.fitting.seed)
        self.quantiles = leaf_rule(native, self.params)

    def run(self) -> Attributes:
        """Return the attributes of the estimator with new leaves."""
        ensemble = self.model.ensemble
        matrix = as_matrix(self.rows.table, self.model.category_bins)
        scores = np.empty((ensemble.n_outputs, len(matrix)))
        scores[...] = ensemble.base_score[:, np.newaxis]
        trees: list[Tree] = []
        for first in range(0, ensemble.n_trees, ensemble.n_outputs):
            of_round = [ensemble.tree(first + k) for k in range(ensemble.n_outputs)]
            leaves = Ensemble.from_trees(
                of_round, range(len(of_round)), np.zeros(len(of_round)), ensemble.n_features
            ).apply(matrix, n_threads=self.fitting.n_threads)
            target = self.rows.target_by_output
            weights = self.loss.row_weights(target, self.rows.weights)
            gradient, hessian = self.loss.gradients(target, scores, weights)
            for k, tree in enumerate(of_round):
                node = leaves[:, k]
                new = self._refitted(tree, k, node, gradient[k], hessian[k], scores[k], weights)
                scores[k] += new.value[node, 0]
                trees.append(new)
        outputs = np.arange(len(trees), dtype=np.int32) % ensemble.n_outputs
        refitted = Ensemble.from_trees(trees, outputs, ensemble.base_score, ensemble.n_features)
        kept = {name: value for name, value in vars(self.estimator).items() if name.endswith("_")}
        return kept | {"_model": replace(self.model, ensemble=refitted)}

    def _refitted(
        self,
        tree: Tree,
        output: int,
        node: Any,
        g: Floats,
        h: Floats,
        scores: Floats,
        weights: Floats | None,
    ) -> Tree:
        """Return a tree with new values."""
        new = replace(tree, value=tree.value.copy())
        is_leaf = tree.feature < 0
        if self.quantiles is None:
            G = np.bincount(node, g, minlength=tree.n_nodes).astype(np.float64)
            H = np.bincount(node, h, minlength=tree.n_nodes).astype(np.float64)
            steps = _native.leaf_weights(split_rules(self.params), G, H)
            new.value[:, 0] = self.estimator.learning_rate * steps
        else:
            number = np.cumsum(is_leaf, dtype=np.uint16) - np.uint16(1)
            target = np.atleast_2d(self.rows.target_by_output)
            of_output = target[output % len(target)]
            rows = LeafRows(of_output, scores, weights, number[node], None)
            self.quantiles.replace(new, output, rows, self.fitting.n_threads)
        new.value[is_leaf] = (1.0 - self.keep) * new.value[is_leaf] + self.keep * tree.value[
            is_leaf
        ]
        unreached = is_leaf & (np.bincount(node, minlength=tree.n_nodes) == 0)
        new.value[unreached] = tree.value[unreached]
        average_inner(new)
        return new
