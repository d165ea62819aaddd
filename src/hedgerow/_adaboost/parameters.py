"""The parameters of AdaBoost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hedgerow._params import (
    CATEGORICAL_FEATURES,
    CLASS_WEIGHT,
    COUNT,
    FLAG,
    MAX_BINS,
    N_JOBS,
    NOTHING,
    RANDOM_STATE,
    SUBSAMPLE_FOR_BIN,
    UNKNOWN_CATEGORY,
    Number,
    Options,
    Parameter,
    ParameterKind,
    Peers,
    any_of,
)

ALGORITHMS = ("SAMME", "M1", "SAMME.R", "real", "gentle", "logit")


def _is_estimator(value: Any) -> bool:
    return not isinstance(value, type) and hasattr(value, "fit") and hasattr(value, "predict")


ESTIMATOR = ParameterKind("an estimator with fit and predict", _is_estimator, "SklearnEstimator")

MAX_DEPTH = Parameter(
    "max_depth",
    1,
    any_of(COUNT, NOTHING),
    "Maximum depth of the default trees; None means no limit.",
    Peers("max_depth", "max_depth", "depth", "estimator__max_depth"),
)

PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "estimator",
        None,
        any_of(ESTIMATOR, NOTHING),
        "The base estimator. None grows histogram-based decision trees. An estimator is cloned "
        "for each round and must support sample_weight, unless resample=True. 'SAMME', 'M1' and "
        "'real' need a classifier, 'real' one with predict_proba; 'gentle' and 'logit' need a "
        "regressor.",
        Peers(sklearn="estimator"),
        positional=True,
        only="classifier",
    ),
    Parameter(
        "estimator",
        None,
        any_of(ESTIMATOR, NOTHING),
        "The base estimator. None grows histogram-based decision trees. A regressor is cloned for "
        "each round and must support sample_weight if resample=False.",
        Peers(sklearn="estimator"),
        positional=True,
        only="regressor",
    ),
    Parameter(
        "n_estimators",
        50,
        COUNT,
        "Maximum number of rounds.",
        Peers("n_estimators", "n_estimators", "iterations", "n_estimators"),
    ),
    Parameter(
        "learning_rate",
        1.0,
        Number(0, 1e6, open_low=True),
        "Factor by which the weight of each base model, and so the exponent of the row weights, "
        "is multiplied.",
        Peers("learning_rate", "learning_rate", "learning_rate", "learning_rate"),
    ),
    Parameter(
        "algorithm",
        "SAMME",
        Options(ALGORITHMS),
        "'SAMME' is discrete AdaBoost, with log(K − 1) added to each base model's weight for K "
        "classes. 'M1' is AdaBoost.M1, without that term: its base models must err less than half "
        "of the time, even with many classes. 'real', also known as 'SAMME.R', adds the base "
        "models' log-odds. 'gentle' fits the classes, coded as ±1, by least squares. 'logit' is "
        "LogitBoost: Newton steps on the log loss. With K > 2 classes, the last two fit K base "
        "models per round.",
        only="classifier",
    ),
    Parameter(
        "loss",
        "linear",
        Options(("linear", "square", "exponential")),
        "The loss of a row in R2, as a function of its error relative to the largest error.",
        Peers(sklearn="loss"),
        only="regressor",
    ),
    Parameter(
        "resample",
        False,
        FLAG,
        "Whether each round is fitted to a bootstrap sample, in which rows are sampled in "
        "proportion to their weights, instead of to all rows with weights. If a base model of "
        "'SAMME' is then no better than chance, or one of 'M1' errs at least half of the time, a "
        "new sample is drawn; if it is worse than that, the weights are reset to the initial ones "
        "first.",
        only="classifier",
    ),
    Parameter(
        "resample",
        True,
        FLAG,
        "Whether each round is fitted to a bootstrap sample, in which rows are sampled in "
        "proportion to their weights, instead of to all rows with weights.",
        only="regressor",
    ),
    Parameter(
        "error_divisor",
        "weights",
        Options(("weights", "rows")),
        "The error of a base model of 'SAMME' or 'M1' is the weight of the misclassified rows "
        "divided by the weight of all rows ('weights') or, as in some textbooks, by their number "
        "('rows').",
        only="classifier",
    ),
    CLASS_WEIGHT,
    Parameter(
        "criterion",
        "gini",
        Options(("gini", "entropy", "error")),
        "Impurity measure of the splits of the default trees. 'error' is the weighted error "
        "itself, as in the textbooks; 'gini' and 'entropy' are smooth substitutes, which may pass "
        "over the stump with the least error.",
        Peers(sklearn="estimator__criterion"),
        only="classifier",
    ),
    replace(MAX_DEPTH, default=1, only="classifier"),
    replace(MAX_DEPTH, default=3, only="regressor"),
    Parameter(
        "max_leaves",
        None,
        any_of(Number(2, 65_535, integer=True), NOTHING),
        "Maximum number of leaves of a default tree, which then grows leaf-wise, the split with "
        "the largest gain first; None means no limit.",
        Peers("max_leaves", "num_leaves", "max_leaves", "estimator__max_leaf_nodes"),
    ),
    Parameter(
        "min_samples_leaf",
        1,
        COUNT,
        "Minimum number of distinct rows in a leaf of the default trees, regardless of weights.",
        Peers("", "min_child_samples", "min_data_in_leaf", "estimator__min_samples_leaf"),
    ),
    MAX_BINS,
    CATEGORICAL_FEATURES,
    UNKNOWN_CATEGORY,
    SUBSAMPLE_FOR_BIN,
    RANDOM_STATE,
    N_JOBS,
)
