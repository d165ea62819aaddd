"""The parameters of bagging, declared once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hedgerow._forest.parameters import (
    BOOTSTRAP,
    MAX_SAMPLES,
    N_ESTIMATORS,
    OOB_SCORE,
    WARM_START,
)
from hedgerow._params import (
    COUNT,
    FLAG,
    FRACTION,
    N_JOBS,
    NOTHING,
    RANDOM_STATE,
    VERBOSE,
    Options,
    Parameter,
    ParameterKind,
    Peers,
    any_of,
)


def _is_estimator(value: Any) -> bool:
    has_all = all(hasattr(value, name) for name in ("fit", "predict", "get_params"))
    return has_all and not isinstance(value, type)


BAGGING_PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "estimator",
        None,
        any_of(
            ParameterKind("an estimator with fit, predict and get_params", _is_estimator), NOTHING
        ),
        "What is cloned and fitted on each sample. None is a decision tree, grown to the end on "
        "bins.",
        Peers(sklearn="estimator"),
        positional=True,
    ),
    replace(
        N_ESTIMATORS, default=10, positional=True, description="Samples, and so estimators fitted."
    ),
    replace(
        MAX_SAMPLES,
        description="Rows drawn for an estimator: a number, at most that of all rows, or a "
        "fraction of them, whatever the rows weigh; None is as many as there are.",
    ),
    Parameter(
        "max_features",
        1.0,
        any_of(COUNT, FRACTION),
        "Columns drawn for an estimator: a number, at most that of all columns, or a fraction of "
        "them.",
        Peers(sklearn="max_features"),
    ),
    replace(
        BOOTSTRAP,
        description="Draw the rows of each estimator with replacement, in proportion to "
        "sample_weight; otherwise each row at most once, with its weight, which the estimator must "
        "then take.",
    ),
    Parameter(
        "bootstrap_features",
        False,
        FLAG,
        "Draw columns with replacement; otherwise each column at most once.",
        Peers(sklearn="bootstrap_features"),
    ),
    Parameter(
        "voting",
        "soft",
        Options(("soft", "hard")),
        "'soft' averages the probabilities that the estimators give, or counts votes if they give "
        "none; 'hard' counts votes: the class that most of them predict, and of several such the "
        "first.",
        only="classifier",
    ),
    replace(
        OOB_SCORE,
        description="Judge every row by the estimators that did not draw it: accuracy, or R², or "
        "the function given.",
    ),
    replace(
        WARM_START,
        description="Keep the estimators of the last fit and add to them until there are "
        "n_estimators.",
    ),
    RANDOM_STATE,
    replace(
        N_JOBS,
        description="Jobs at once, as in scikit-learn: −1 is all CPUs. None is as many threads as "
        "are useful for Hedgerow's trees, and one job for other estimators. The model does not "
        "depend on it.",
    ),
    VERBOSE,
)
