"""Out-of-bag estimates of a forest: scores, and permutation importance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score

from hedgerow._data.binned_rows import TreeRows
from hedgerow._data.names import labels_of
from hedgerow._data.outputs import ClassOutputs, NumberOutputs, Outputs
from hedgerow._estimator import accuracy
from hedgerow._forest.model import ForestModel
from hedgerow._result import PermutationImportance
from hedgerow._tree.packed import PackedForest
from hedgerow._tree.structure import Rows
from hedgerow._types import Floats, Indices
from hedgerow._warning import warn_user


def out_of_bag_attributes(
    model: ForestModel,
    matrix: TreeRows,
    y: NDArray[Any],
    score: bool | Callable[..., Any],
    n_threads: int,
    voting: str = "soft",
) -> dict[str, Any]:
    """Return scikit-learn's attributes: the out-of-bag predictions and their score."""
    means = model.out_of_bag_means(matrix, n_threads, model.values(voting))
    return attributes_of_means(model.outputs, means, y, score, "tree", model.sampling.rows)


def attributes_of_means(
    outputs: Outputs,
    means: Floats,
    y: NDArray[Any],
    score: bool | Callable[..., Any],
    base_name: str,
    rows: Indices | None,
) -> dict[str, Any]:
    """Return these attributes for the out-of-bag means, NaN where there are none.

    `base_name` is the word for a base model in messages; `rows` are those with weight, if not all
    have: the score is that of these.
    """
    is_out_of_bag = ~np.isnan(means[:, 0])
    if not is_out_of_bag.all():
        warn_user(
            f"{np.count_nonzero(~is_out_of_bag)} rows are in the sample of every {base_name}, so "
            "their out-of-bag prediction is NaN. "
            f"Use more {base_name}s or a smaller max_samples."
        )
    attributes: dict[str, Any]
    if isinstance(outputs, NumberOutputs):
        prediction = outputs.prediction(means)
        truth = outputs.prediction(y)
        attributes = {"oob_prediction_": prediction}
        score = score if callable(score) else r2_score
    else:
        prediction = outputs.labels(outputs.votes(np.nan_to_num(means)))
        truth = outputs.labels(y)
        attributes = {"oob_decision_function_": _side_by_side(outputs.probabilities(means))}
        score = score if callable(score) else partial(accuracy, sample_weight=None)
    counted = np.flatnonzero(is_out_of_bag) if rows is None else rows[is_out_of_bag[rows]]
    attributes["oob_score_"] = (
        score(truth[counted], prediction[counted]) if len(counted) else np.nan
    )
    return attributes


def _side_by_side(by_output: Sequence[Floats]) -> Any:
    """Return the probabilities of all outputs as one array (n_rows, n_classes[, n_outputs]).

    Outputs with different numbers of classes, which scikit-learn refuses, stay a list.
    """
    if len(by_output) == 1:
        return by_output[0]
    shapes = {probabilities.shape for probabilities in by_output}
    return np.stack(by_output, axis=2) if len(shapes) == 1 else list(by_output)


def permutation_importance(
    model: ForestModel, matrix: Rows, y: NDArray[Any], n_threads: int
) -> PermutationImportance:
    """Shuffle one column after another among the out-of-bag rows of each tree."""
    forest, outputs = model.forest, model.outputs
    assert isinstance(forest, PackedForest)
    increases = np.empty((forest.n_trees, forest.n_features + 1))
    vote = label = value = target = None
    if isinstance(outputs, ClassOutputs):
        vote, label = outputs.votes(forest.value), np.ascontiguousarray(y, np.int32)
    else:
        value, target = forest.value, y
    forest.predictor().permute(
        matrix,
        model.out_of_bag_bits(),
        vote,
        label,
        value,
        target,
        model.sampling.seed,
        increases,
        n_threads,
    )
    by_tree = increases[:, 1:]
    labels = labels_of(model.schema.feature_names, forest.n_features)
    numbered = model.schema.has_no_names
    feature = np.arange(forest.n_features) if numbered else np.array(labels, dtype=object)
    return PermutationImportance(
        feature=feature,
        mean=by_tree.mean(axis=0),
        std=by_tree.std(axis=0),
        repeats=by_tree.T,
        baseline=float(increases[:, 0].mean()),
        metric="the out-of-bag " + ("squared error" if vote is None else "error rate"),
        higher_is_better=False,
        is_by_tree=True,
    )
