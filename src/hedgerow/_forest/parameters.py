"""The parameters of random forests and extremely randomised trees, declared once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

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

N_ESTIMATORS = Parameter("n_estimators", 100, COUNT, "Trees.", Peers(sklearn="n_estimators"))
BOOTSTRAP = Parameter(
    "bootstrap",
    True,
    FLAG,
    "Draw the rows of each tree with replacement; otherwise each row at most once.",
    Peers(sklearn="bootstrap"),
)
MAX_SAMPLES = Parameter(
    "max_samples",
    None,
    any_of(COUNT, FRACTION, NOTHING),
    "Rows drawn for a tree: a number, at most that of all rows, or a fraction of them; None is as "
    "many as there are.",
    Peers(sklearn="max_samples"),
)
OOB_SCORE = Parameter(
    "oob_score",
    False,
    any_of(FLAG, SCORE_FUNCTION),
    "Judge every row by the trees that did not draw it: accuracy, or R², or the function given.",
    Peers(sklearn="oob_score"),
)
WARM_START = Parameter(
    "warm_start",
    False,
    FLAG,
    "Keep the trees of the last fit and add to them until there are n_estimators.",
    Peers(sklearn="warm_start"),
)
FOREST_CLASS_WEIGHT = replace(
    TREE_CLASS_WEIGHT,
    allowed=any_of(
        Options(("balanced", "balanced_subsample")),
        *TREE_CLASS_WEIGHT.allowed.kinds[1:],  # type: ignore[attr-defined]
    ),
    description=TREE_CLASS_WEIGHT.description
    + " 'balanced_subsample' does so among the rows that each tree drew.",
)

FOREST_PARAMETERS: tuple[Parameter, ...] = (
    N_ESTIMATORS,
    CLASS_CRITERION,
    NUMBER_CRITERION,
    *GROWTH,
    CCP_ALPHA,
    BOOTSTRAP,
    MAX_SAMPLES,
    Parameter(
        "feature_combinations",
        None,
        any_of(COUNT, NOTHING),
        "L of Breiman's Forest-RC, for tables of few columns: splits are on sums of L inputs, "
        "drawn at random, in units of their standard deviations, with random coefficients between "
        "−1 and 1; of a category, on whether it is in a random set. None splits on inputs.",
    ),
    Parameter(
        "keep_targets",
        False,
        FLAG,
        "Keep which training rows are in which leaf, so that predict_quantiles can be asked.",
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
    """Return the declarations with other defaults for some."""

    def changed(parameter: Parameter) -> Parameter:
        if parameter.name not in defaults:
            return parameter
        return replace(parameter, default=defaults[parameter.name])

    return tuple(map(changed, declared))
