"""Boosting of scikit-learn, from the arrays of fitted objects.

`HistGradientBoosting*` is like our own: x ≤ threshold goes left, missing values have a direction,
and scores are sums of float64 numbers from a baseline on. A categorical split is a set of codes
that go left; unknown categories are missing. Columns are read by a preprocessor that puts the
categorical ones first.

`GradientBoosting*` consists of regression trees, whose values are multiplied by the learning rate
and added to the scores of an initial model, which must be a constant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor

from hedgerow._boosting import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow._data.columns import Label, is_missing, plain_label
from hedgerow._import.categories import ForeignColumn
from hedgerow._import.fields import choice_of, unsupported
from hedgerow._import.model import ForeignModel, ScoreMeaning
from hedgerow._import.sklearn_trees import columns_of, foreign_tree, origin_of
from hedgerow._import.trees import ForeignTree, Indices

_REGRESSION = ScoreMeaning(GradientBoostingRegressor)
_LOG = ScoreMeaning(GradientBoostingRegressor, "log", {"loss": "poisson"})
_REGRESSION_LOSSES: Mapping[str, ScoreMeaning] = {
    **dict.fromkeys(("squared_error", "absolute_error", "quantile", "huber"), _REGRESSION),
    **dict.fromkeys(("poisson", "gamma"), _LOG),
}


def _meaning(model: Any) -> ScoreMeaning:
    if not hasattr(model, "classes_"):
        meaning: ScoreMeaning = choice_of("loss", str(model.loss), _REGRESSION_LOSSES)
        return meaning
    if model.loss == "exponential":
        return ScoreMeaning(GradientBoostingClassifier, "half_sigmoid", {"loss": "exponential"})
    link = "sigmoid" if len(model.classes_) == 2 else "softmax"
    return ScoreMeaning(GradientBoostingClassifier, link)  # type: ignore[arg-type]


def read_hist_gradient_boosting(model: Any) -> ForeignModel:
    """Read a fitted HistGradientBoostingClassifier or HistGradientBoostingRegressor."""
    columns, place = _columns(model)
    rounds = model._predictors  # noqa: SLF001
    n_outputs = model.n_trees_per_iteration_
    trees = [_hist_tree(predictor, place) for of_round in rounds for predictor in of_round]
    return ForeignModel(
        origin=origin_of(model),
        meaning=_meaning(model),
        columns=columns,
        trees=trees,
        tree_output=np.arange(len(trees)) % n_outputs,
        base_score=np.asarray(model._baseline_prediction, np.float64).reshape(-1),  # noqa: SLF001
        classes=np.asarray(model.classes_) if hasattr(model, "classes_") else None,
    )


def _columns(model: Any) -> tuple[list[ForeignColumn], Indices]:
    """Return the columns, and the column of each feature of the trees."""
    columns = columns_of(model)
    flags = getattr(model, "is_categorical_", None)
    if flags is None:
        return columns, np.arange(len(columns))
    encoder = model._preprocessor.named_transformers_["encoder"]  # noqa: SLF001
    categorical = np.flatnonzero(flags)
    for j, categories in zip(categorical.tolist(), encoder.categories_, strict=True):
        columns[j] = ForeignColumn(columns[j].name, True, _labels(categories))
    columns = [
        ForeignColumn(c.name, c.is_categorical, c.labels, unknown_is_missing=True) for c in columns
    ]
    return columns, np.concatenate([categorical, np.flatnonzero(~np.asarray(flags))])


def _labels(categories: Any) -> tuple[Label, ...]:
    return tuple(plain_label(label) for label in categories if not is_missing(label))


def _hist_tree(predictor: Any, place: Indices) -> ForeignTree:
    nodes = predictor.nodes
    is_leaf = nodes["is_leaf"].astype(bool)
    is_set = nodes["is_categorical"].astype(bool) & ~is_leaf
    bitsets = predictor.raw_left_cat_bitsets
    count = nodes["count"].astype(np.int64)
    return ForeignTree(
        where="HistGradientBoosting",
        feature=place[np.where(is_leaf, 0, nodes["feature_idx"])],
        left=np.where(is_leaf, -1, nodes["left"].astype(np.int64)),
        right=np.where(is_leaf, -1, nodes["right"].astype(np.int64)),
        threshold=np.where(is_leaf | is_set, 0.0, nodes["num_threshold"]),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        value=nodes["value"].reshape(-1, 1).astype(np.float64),
        gain=np.where(is_leaf, 0.0, nodes["gain"]),
        cover=count.astype(np.float64),
        count=count,
        sets={
            int(node): _members(bitsets[nodes["bitset_idx"][node]])
            for node in np.flatnonzero(is_set)
        },
    )


def _members(words: NDArray[np.uint32]) -> Indices:
    return np.flatnonzero(np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little"))


def read_gradient_boosting(model: Any) -> ForeignModel:
    """Read a fitted GradientBoostingClassifier or GradientBoostingRegressor."""
    is_constant = isinstance(model.init_, DummyClassifier | DummyRegressor) or (
        isinstance(model.init_, str) and model.init_ == "zero"
    )
    if not is_constant:
        unsupported(f"gradient boosting with init={type(model.init_).__name__}")
    rate = float(model.learning_rate)
    members = model.estimators_.reshape(-1)
    start = model._raw_predict_init(np.zeros((1, model.n_features_in_)))  # noqa: SLF001
    return ForeignModel(
        origin=origin_of(model),
        meaning=_meaning(model),
        columns=columns_of(model),
        trees=[foreign_tree(member, rate * member.tree_.value[:, :, 0]) for member in members],
        tree_output=np.arange(len(members)) % model.estimators_.shape[1],
        base_score=start.reshape(-1).astype(np.float64),
        classes=np.asarray(model.classes_) if hasattr(model, "classes_") else None,
    )
