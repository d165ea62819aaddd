"""The parameters of linear SVMs."""

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
    "'auto' uses the fastest solver for the shape of X. True allows only dual solvers: coordinate "
    "descent or, for few columns and losses that are not squared, an interior-point method. False "
    "allows only primal solvers: Newton's method, or coordinate descent if penalty='l1'.",
    Peers(sklearn="dual"),
)
_TOL = Parameter(
    "tol",
    1e-4,
    Number(0, open_low=True),
    "Tolerance: the fit ends when the duality gap is at most tol / 100 of the objective, which is "
    "about as accurate as scikit-learn with the same tol.",
    Peers(sklearn="tol"),
)
_C = Parameter(
    "C",
    1.0,
    Number(0, LARGEST_C, open_low=True),
    "Weight of the loss relative to the penalty; smaller values regularise more. It is multiplied "
    "by class and sample weights.",
    Peers(sklearn="C"),
)
_FIT_INTERCEPT = Parameter(
    "fit_intercept", True, FLAG, "Whether to fit an intercept.", Peers(sklearn="fit_intercept")
)
_INTERCEPT_SCALING = Parameter(
    "intercept_scaling",
    1.0,
    Number(0, LARGEST_C, open_low=True),
    "Value of the constant feature whose weight gives the intercept. As in scikit-learn, this "
    "weight is penalised like any other: the larger the value, the weaker the penalty.",
    Peers(sklearn="intercept_scaling"),
)
_MAX_ITER = Parameter(
    "max_iter",
    1000,
    COUNT,
    "Maximum number of iterations: epochs of coordinate descent, or steps of other solvers. If the "
    "tolerance is not reached, there is a warning.",
    Peers(sklearn="max_iter"),
)

CLASSIFIER_PARAMETERS = (
    Parameter(
        "penalty",
        "l2",
        Options(("l1", "l2")),
        "The penalty: ½‖w‖² ('l2') or Σ|w| ('l1'), which makes many weights 0.",
        Peers(sklearn="penalty"),
        positional=True,
    ),
    Parameter(
        "loss",
        "squared_hinge",
        Options(("hinge", "squared_hinge")),
        "The loss: max(0, 1 − y f(x)), or its square.",
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
        "With more than two classes: one-vs-rest, or Crammer and Singer's joint problem for all "
        "classes, which ignores penalty, loss and dual.",
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
        "Half-width of the tube: smaller errors have no loss.",
        Peers(sklearn="epsilon"),
    ),
    _TOL,
    _C,
    Parameter(
        "loss",
        "epsilon_insensitive",
        Options(("epsilon_insensitive", "squared_epsilon_insensitive")),
        "The loss: ``max(0, |y − f(x)| − ε)``, or its square.",
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
