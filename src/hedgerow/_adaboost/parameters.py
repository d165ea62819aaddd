"""The parameters of AdaBoost, declared once: default, what is allowed, what each does."""

from __future__ import annotations

from typing import Any

from hedgerow._params import (
    CATEGORICAL_FEATURES,
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

ALGORITHMS = ("SAMME", "SAMME.R", "real", "gentle", "logit")


def _is_estimator(value: Any) -> bool:
    return not isinstance(value, type) and hasattr(value, "fit") and hasattr(value, "predict")


ESTIMATOR = ParameterKind("an estimator with fit and predict", _is_estimator)

PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "estimator",
        None,
        any_of(ESTIMATOR, NOTHING),
        "What is fitted in each round. None grows trees on bins of the table. An estimator is "
        "cloned for each round and must take sample_weight, unless resample is on. 'SAMME' and "
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
        "What is fitted in each round. None grows trees on bins of the table. A regressor is "
        "cloned for each round; it must take sample_weight if resample is off.",
        Peers(sklearn="estimator"),
        positional=True,
        only="regressor",
    ),
    Parameter(
        "n_estimators",
        50,
        COUNT,
        "Rounds, at most.",
        Peers("n_estimators", "n_estimators", "iterations", "n_estimators"),
    ),
    Parameter(
        "learning_rate",
        1.0,
        Number(0, 1e6, open_low=True),
        "Multiplies each member's part in the sum, and so the exponent of the weights.",
        Peers("learning_rate", "learning_rate", "learning_rate", "learning_rate"),
    ),
    Parameter(
        "algorithm",
        "SAMME",
        Options(ALGORITHMS),
        "'SAMME' is discrete AdaBoost, with log(K − 1) added to each member's weight for K "
        "classes. 'real', also called 'SAMME.R', adds the members' log-odds. 'gentle' fits the "
        "classes, as ±1, by least squares. 'logit' is LogitBoost: Newton steps on the log loss. "
        "For K > 2 classes the last two fit K members a round.",
        only="classifier",
    ),
    Parameter(
        "loss",
        "linear",
        Options(("linear", "square", "exponential")),
        "A row's loss in R2, of its error as a part of the largest error.",
        Peers(sklearn="loss"),
        only="regressor",
    ),
    Parameter(
        "resample",
        False,
        FLAG,
        "Whether a round fits rows drawn by the weights, as many as there are and with "
        "replacement, instead of all rows with their weights. If a 'SAMME' member is then no "
        "better than chance, rows are drawn again, and if it is worse, by the weights of the "
        "beginning.",
        only="classifier",
    ),
    Parameter(
        "resample",
        True,
        FLAG,
        "Whether a round fits rows drawn by the weights, as many as there are and with "
        "replacement, instead of all rows with their weights.",
        only="regressor",
    ),
    Parameter(
        "error_divisor",
        "weights",
        Options(("weights", "rows")),
        "What the weight of the rows that a 'SAMME' member gets wrong is divided by to give its "
        "error: the weight of all rows, or, as one textbook has it, their number.",
        only="classifier",
    ),
    Parameter(
        "max_depth",
        1,
        any_of(COUNT, NOTHING),
        "Splits from the root to a leaf of the default trees, at most. None sets no limit.",
        Peers("max_depth", "max_depth", "depth", "estimator__max_depth"),
        only="classifier",
    ),
    Parameter(
        "max_depth",
        3,
        any_of(COUNT, NOTHING),
        "Splits from the root to a leaf of the default trees, at most. None sets no limit.",
        Peers("max_depth", "max_depth", "depth", "estimator__max_depth"),
        only="regressor",
    ),
    Parameter(
        "max_leaves",
        None,
        any_of(Number(2, 65_535, integer=True), NOTHING),
        "Leaves of a default tree, at most; the split that gains most is made first. None sets no "
        "limit.",
        Peers("max_leaves", "num_leaves", "max_leaves", "estimator__max_leaf_nodes"),
    ),
    Parameter(
        "min_samples_leaf",
        1,
        COUNT,
        "Different rows in a leaf of the default trees, at least, whatever their weights.",
        Peers("", "min_child_samples", "min_data_in_leaf", "estimator__min_samples_leaf"),
    ),
    MAX_BINS,
    CATEGORICAL_FEATURES,
    UNKNOWN_CATEGORY,
    SUBSAMPLE_FOR_BIN,
    RANDOM_STATE,
    N_JOBS,
)
