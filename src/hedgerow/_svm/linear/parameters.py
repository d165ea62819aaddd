"""The parameters of the linear machines, declared once; see `hedgerow._params`."""

from __future__ import annotations

from hedgerow._params import (
    CLASS_WEIGHT,
    COUNT,
    FLAG,
    N_JOBS,
    NOT_NEGATIVE,
    RANDOM_STATE,
    VERBOSE,
    Number,
    Options,
    Parameter,
    Peers,
    any_of,
)

LARGEST_C = 1e30

_DUAL = Parameter(
    "dual",
    "auto",
    any_of(Options(("auto",)), FLAG),
    "'auto' takes the solver that is fastest for the shape of X. True allows only those that work "
    "on the dual: coordinate descent, or with the plain losses and few columns an interior point "
    "method. False allows only those of the primal: Newton's method, or coordinate descent if "
    "penalty='l1'.",
    Peers(sklearn="dual"),
)
_TOL = Parameter(
    "tol",
    1e-4,
    Number(0, open_low=True),
    "How exactly to solve: the fit ends when the duality gap is at most tol / 100 of the "
    "objective. That is about where scikit-learn ends at the same tol.",
    Peers(sklearn="tol"),
)
_C = Parameter(
    "C",
    1.0,
    Number(0, LARGEST_C, open_low=True),
    "Weight of the losses against the penalty; class and sample weights multiply it.",
    Peers(sklearn="C"),
)
_FIT_INTERCEPT = Parameter(
    "fit_intercept", True, FLAG, "Whether there is an intercept.", Peers(sklearn="fit_intercept")
)
_INTERCEPT_SCALING = Parameter(
    "intercept_scaling",
    1.0,
    Number(0, LARGEST_C, open_low=True),
    "Value of the constant feature whose weight gives the intercept. That weight is penalised as "
    "any other is, as in scikit-learn: the larger the value, the less it is.",
    Peers(sklearn="intercept_scaling"),
)
_MAX_ITER = Parameter(
    "max_iter",
    1000,
    COUNT,
    "Iterations at most: epochs of coordinate descent, or steps of the other methods. If the "
    "tolerance is not reached by then, there is a warning.",
    Peers(sklearn="max_iter"),
)

CLASSIFIER_PARAMETERS = (
    Parameter(
        "penalty",
        "l2",
        Options(("l1", "l2")),
        "½‖w‖², or the sum of absolute weights, which makes many of them 0.",
        Peers(sklearn="penalty"),
        positional=True,
    ),
    Parameter(
        "loss",
        "squared_hinge",
        Options(("hinge", "squared_hinge")),
        "max(0, 1 − y f(x)), or its square.",
        Peers(sklearn="loss"),
        positional=True,
    ),
    _DUAL,
    _TOL,
    _C,
    Parameter(
        "multi_class",
        "ovr",
        Options(("ovr", "crammer_singer")),
        "With more than two classes: a machine for each class against the rest, or Crammer and "
        "Singer's machine of all classes at once, for which penalty, loss and dual say nothing.",
        Peers(sklearn="multi_class"),
    ),
    _FIT_INTERCEPT,
    _INTERCEPT_SCALING,
    CLASS_WEIGHT,
    RANDOM_STATE,
    _MAX_ITER,
    N_JOBS,
    VERBOSE,
)
REGRESSOR_PARAMETERS = (
    Parameter(
        "epsilon",
        0.0,
        NOT_NEGATIVE,
        "Errors up to this size cost nothing.",
        Peers(sklearn="epsilon"),
    ),
    _TOL,
    _C,
    Parameter(
        "loss",
        "epsilon_insensitive",
        Options(("epsilon_insensitive", "squared_epsilon_insensitive")),
        "``max(0, |y − f(x)| − ε)``, or its square.",
        Peers(sklearn="loss"),
    ),
    _FIT_INTERCEPT,
    _INTERCEPT_SCALING,
    _DUAL,
    RANDOM_STATE,
    _MAX_ITER,
    N_JOBS,
    VERBOSE,
)
