"""The parameters of classifiers that decide by codes, thresholds or costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow._params import (
    COUNT,
    NOTHING,
    RANDOM_STATE,
    Number,
    Options,
    Parameter,
    ParameterKind,
    Peers,
    any_of,
    is_estimator,
)

CODES = ("one_vs_rest", "one_vs_one", "exhaustive", "random")


def _is_matrix(value: Any) -> bool:
    if not isinstance(value, list | tuple | np.ndarray):
        return False
    try:
        matrix = np.asarray(value)
    except ValueError:  # rows of different lengths
        return False
    return matrix.ndim == 2 and matrix.size > 0 and matrix.dtype.kind in "fiu"


ESTIMATOR = ParameterKind("a classifier with fit and predict", is_estimator, "SklearnEstimator")
MATRIX = ParameterKind(
    "a matrix of numbers", _is_matrix, "Sequence[Sequence[float]] | NDArray[Any]"
)
LABEL = ParameterKind("a class", lambda value: isinstance(value, str | int | float | np.generic))

CODE_PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "estimator",
        None,
        any_of(NOTHING, ESTIMATOR),
        "The classifier of two classes; each column of the code fits a clone of it. None is a "
        "GradientBoostingClassifier.",
        Peers(sklearn="estimator"),
        positional=True,
    ),
    Parameter(
        "code",
        "one_vs_rest",
        any_of(Options(CODES), MATRIX),
        "The code matrix, with a row for each class and a column for each problem: 1 and −1 are "
        "the two sides, 0 leaves a class out. 'one_vs_rest' has a column for each class, "
        "'one_vs_one' one for each pair, 'exhaustive' all 2^(K − 1) − 1 divisions of up to 10 "
        "classes, and 'random' n_columns random divisions with rows that differ as much as "
        "possible. A matrix is used as it is. For two classes there is one column.",
    ),
    Parameter(
        "n_columns",
        None,
        any_of(NOTHING, COUNT),
        "Number of columns of a random code; None is 10 log₂ K, rounded up (Allwein, Schapire and "
        "Singer, 2000).",
    ),
    Parameter(
        "decoding",
        "soft",
        Options(("soft", "hard")),
        "How the class is found whose row is nearest. 'soft' adds up the scores of the columns, "
        "2p − 1 or else the decision function; 'hard' counts their votes (Hamming decoding).",
    ),
    RANDOM_STATE,
)

DECISION_PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "estimator",
        None,
        any_of(NOTHING, ESTIMATOR),
        "The classifier, with predict_proba. None is a GradientBoostingClassifier.",
        Peers(sklearn="estimator"),
        positional=True,
    ),
    Parameter(
        "decision_threshold",
        None,
        any_of(NOTHING, Number(0, 1)),
        "For two classes: the positive class is predicted if its probability is at least this. "
        "None predicts the most probable class, or decides by `cost_matrix`.",
        Peers(sklearn="threshold"),
    ),
    Parameter(
        "pos_label",
        None,
        any_of(NOTHING, LABEL),
        "The positive class of `decision_threshold`; None is the second of the two.",
        Peers(sklearn="pos_label"),
    ),
    Parameter(
        "cost_matrix",
        None,
        any_of(NOTHING, MATRIX),
        "Costs of decisions, for any number of classes: row i, column j is the cost of predicting "
        "class j for a row of class i, in the order of ``classes_``. The class of least expected "
        "cost is predicted.",
    ),
    RANDOM_STATE,
)
