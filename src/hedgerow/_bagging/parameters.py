"""The parameters of bagging."""

from __future__ import annotations

from dataclasses import replace

from hedgerow._forest.parameters import (
    BOOTSTRAP,
    BY_CLASS,
    CLASS_BOOTSTRAP,
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
    is_estimator,
)
from hedgerow._tree.parameters import TREE_CLASS_WEIGHT

_BOOTSTRAP = (
    "Whether rows are sampled with replacement, in proportion to sample_weight. Without "
    "replacement, weights are passed to the base estimator, which must support them."
)

BAGGING_PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "estimator",
        None,
        any_of(
            ParameterKind(
                "an estimator with fit, predict and get_params", is_estimator, "SklearnEstimator"
            ),
            NOTHING,
        ),
        "The base estimator, a clone of which is fitted to each sample. None is a fully grown "
        "decision tree.",
        Peers(sklearn="estimator"),
        positional=True,
    ),
    replace(N_ESTIMATORS, default=10, positional=True, description="Number of base models."),
    replace(
        MAX_SAMPLES,
        description="Number of rows sampled for a base model, or their fraction, regardless of "
        "weights; None samples as many as there are rows.",
    ),
    Parameter(
        "max_features",
        1.0,
        any_of(COUNT, FRACTION),
        "Number of columns sampled for a base model, or their fraction.",
        Peers(sklearn="max_features"),
    ),
    replace(
        CLASS_BOOTSTRAP,
        description=f"{_BOOTSTRAP} {BY_CLASS} They pass weights to the base estimator, too.",
    ),
    replace(BOOTSTRAP, description=_BOOTSTRAP),
    Parameter(
        "bootstrap_features",
        False,
        FLAG,
        "Whether columns are sampled with replacement.",
        Peers(sklearn="bootstrap_features"),
    ),
    Parameter(
        "voting",
        "soft",
        Options(("soft", "hard")),
        "'soft' averages the base models' probabilities, or counts votes if they do not predict "
        "probabilities; 'hard' counts votes, with ties broken by the order of the classes.",
        only="classifier",
    ),
    replace(TREE_CLASS_WEIGHT, peers=Peers()),
    replace(
        OOB_SCORE,
        description="Whether to compute out-of-bag predictions and their score: accuracy, R², or "
        "a function.",
    ),
    replace(
        WARM_START,
        description="Whether fit keeps the base models of the last fit and adds base models until "
        "there are n_estimators.",
    ),
    RANDOM_STATE,
    replace(
        N_JOBS,
        description="Number of parallel jobs, as in scikit-learn: −1 uses all CPUs. None uses all "
        "available threads for Hedgerow's trees, and one job for other estimators. The model does "
        "not depend on it.",
    ),
    VERBOSE,
)
