"""Gradient boosting again on paper: what each leaf of a fitted model was made from.

The scores before each round, the gradients of the loss at them and their sums over the rows of each
leaf, computed from the training rows in plain NumPy sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hedgerow._boosting.fit.encoding import encode_again
from hedgerow._boosting.fit.problem import weigh
from hedgerow._boosting.fit.training_data import Examples
from hedgerow._boosting.losses import BaseLoss
from hedgerow._boosting.targets.multi_output import choose_loss
from hedgerow._contract import internals
from hedgerow._data.intake import as_matrix
from hedgerow._data.target import read_weights
from hedgerow._tree.structure import Ensemble
from hedgerow._types import Floats
from hedgerow.exceptions import DataError


def leaf_sums(
    model: Any, X: Any, y: Any, sample_weight: Any = None
) -> Iterator[tuple[Floats, Floats]]:
    """Yield for each tree the sums G and H of its leaves, in the order of their nodes.

    `model` is a fitted gradient boosting estimator, the rest is what `fit` was given.
    """
    fitted = internals(model).model()
    ensemble = fitted.ensemble
    classes = getattr(model, "classes_", None)
    loss = choose_loss(internals(model).task, model, classes, model.n_outputs_)
    examples = _read_examples(model, loss, X, y, sample_weight)
    _require_all_rows(ensemble, len(examples.target))
    table = encode_again(fitted.statistics, examples, loss, classes, 1)
    leaves = ensemble.apply(as_matrix(table, fitted.category_bins))
    scores = np.empty((ensemble.n_outputs, len(leaves)))
    scores[...] = ensemble.base_score[:, None]
    for first in range(0, ensemble.n_trees, ensemble.n_outputs):
        gradient, hessian = _gradients(loss, scores, examples)
        for output, (g, h) in enumerate(zip(gradient, hessian, strict=True)):
            begin, end = ensemble.tree_offset[first + output : first + output + 2]
            node = leaves[:, first + output]
            is_leaf = ensemble.feature[begin:end] < 0
            G, H = (np.bincount(node, of_rows, minlength=end - begin) for of_rows in (g, h))
            scores[output] += ensemble.value[begin:end, 0][node]
            yield G[is_leaf], H[is_leaf]


def _read_examples(model: Any, loss: BaseLoss, X: Any, y: Any, sample_weight: Any) -> Examples:
    task, classes = internals(model).task, getattr(model, "classes_", None)
    table = internals(model).read(X, internals(model).model().schema)
    target = task.read_target(y, table.n_rows, classes, model.loss)
    weights = read_weights(sample_weight, table.n_rows)
    return weigh(Examples(table, target, weights), model, task, classes, loss)


def _require_all_rows(ensemble: Ensemble, n_rows: int) -> None:
    """Refuse rows that are not those of every tree, because it is not known which ones are."""
    grown_on = ensemble.count[ensemble.tree_offset[:-1]]
    other = np.flatnonzero(grown_on != n_rows)
    if len(other):
        raise DataError(
            f"X has {n_rows} rows, but tree {other[0]} was grown on {grown_on[other[0]]}. The "
            "comparison needs the rows of fit, all of them in every tree: no subsample, and no "
            "rows held out for early stopping."
        )


def _gradients(loss: BaseLoss, scores: Floats, examples: Examples) -> tuple[Floats, Floats]:
    """Return gradients and hessians of shape (n_outputs, n_rows), weights multiplied in."""
    target, weights = examples.target_by_output, examples.weights
    return loss.gradients(target, scores, loss.row_weights(target, weights))
