"""The parameters of random forests and extremely randomised trees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hedgerow._forest.class_samples import CLASS_SAMPLES
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
from hedgerow._tree.parameters import (
    CCP_ALPHA,
    CLASS_CRITERION,
    GROWTH,
    NUMBER_CRITERION,
    TABLE,
    TREE_CLASS_WEIGHT,
)

SCORE_FUNCTION = ParameterKind(
    "a function (y_true, y_pred) -> score", callable, "Callable[..., Any]"
)

N_ESTIMATORS = Parameter(
    "n_estimators", 100, COUNT, "Number of trees.", Peers(sklearn="n_estimators")
)
BOOTSTRAP = Parameter(
    "bootstrap",
    True,
    FLAG,
    "Whether the rows of each tree are sampled with replacement.",
    Peers(sklearn="bootstrap"),
    only="regressor",
)
BY_CLASS = (
    "'balanced', 'undersample' and 'oversample' sample the same number of rows from each class, "
    "with replacement: 'balanced' max_samples in total; 'undersample' as many per class as the "
    "rarest class has (balanced random forests); 'oversample' as many per class as the most "
    "frequent class has."
)
CLASS_BOOTSTRAP = replace(
    BOOTSTRAP,
    allowed=any_of(FLAG, Options(CLASS_SAMPLES)),
    description=f"{BOOTSTRAP.description} {BY_CLASS}",
    only="classifier",
)
VOTING = Parameter(
    "voting",
    "soft",
    Options(("soft", "hard")),
    "'soft' averages the class probabilities of the trees. 'hard' counts votes: each tree votes "
    "for the largest class of the leaf, predict returns the class with the most votes, and "
    "predict_proba the shares of votes; ties are broken by the order of the classes.",
    only="classifier",
)
MAX_SAMPLES = Parameter(
    "max_samples",
    None,
    any_of(COUNT, FRACTION, NOTHING),
    "Number of rows sampled for a tree, or their fraction; None samples as many as there are rows.",
    Peers(sklearn="max_samples"),
)
OOB_SCORE = Parameter(
    "oob_score",
    False,
    any_of(FLAG, SCORE_FUNCTION),
    "Whether to compute out-of-bag predictions and their score: accuracy, R², or a function.",
    Peers(sklearn="oob_score"),
)
WARM_START = Parameter(
    "warm_start",
    False,
    FLAG,
    "Whether fit keeps the trees of the last fit and adds trees until there are n_estimators.",
    Peers(sklearn="warm_start"),
)
FOREST_CLASS_WEIGHT = replace(
    TREE_CLASS_WEIGHT,
    allowed=any_of(
        Options(("balanced", "balanced_subsample")),
        *TREE_CLASS_WEIGHT.allowed.kinds[1:],  # type: ignore[attr-defined]
    ),
    description=TREE_CLASS_WEIGHT.description
    + " 'balanced_subsample' does so for the sample of each tree.",
)

FOREST_PARAMETERS: tuple[Parameter, ...] = (
    N_ESTIMATORS,
    CLASS_CRITERION,
    NUMBER_CRITERION,
    *GROWTH,
    CCP_ALPHA,
    CLASS_BOOTSTRAP,
    BOOTSTRAP,
    MAX_SAMPLES,
    VOTING,
    Parameter(
        "feature_combinations",
        None,
        any_of(COUNT, NOTHING),
        "Number L of features combined in a split, as in Breiman's Forest-RC, for tables with few "
        "columns: splits use random linear combinations of L features, scaled by their standard "
        "deviations, with coefficients between −1 and 1; a categorical feature is 1 for a random "
        "set of its categories, else 0. None splits on single features.",
    ),
    Parameter(
        "keep_targets",
        False,
        FLAG,
        "Whether to store the training targets of each leaf, which predict_quantiles needs.",
        only="regressor",
    ),
    OOB_SCORE,
    FOREST_CLASS_WEIGHT,
    *TABLE,
    WARM_START,
    RANDOM_STATE,
    N_JOBS,
    VERBOSE,
)


def with_defaults(declared: tuple[Parameter, ...], **defaults: Any) -> tuple[Parameter, ...]:
    """Return the declarations with other defaults for some parameters."""

    def changed(parameter: Parameter) -> Parameter:
        if parameter.name not in defaults:
            return parameter
        return replace(parameter, default=defaults[parameter.name])

    return tuple(map(changed, declared))
