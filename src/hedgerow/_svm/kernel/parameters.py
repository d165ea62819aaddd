"""The parameters of kernel SVMs."""

from __future__ import annotations

import numpy as np

from hedgerow._params import (
    CLASS_WEIGHT,
    COUNT,
    FLAG,
    FRACTION,
    N_JOBS,
    NOT_NEGATIVE,
    RANDOM_STATE,
    VERBOSE,
    Number,
    Options,
    Parameter,
    ParameterKind,
    Peers,
    any_of,
)
from hedgerow._svm.kernel.kernels import NAMES

LARGEST_C = 1e30
MOST_DEGREE = 1000
INFINITE = ParameterKind(
    "inf", lambda value: isinstance(value, float | np.floating) and value == np.inf, "float"
)

_KERNEL = Parameter(
    "kernel",
    "rbf",
    any_of(
        Options(NAMES),
        ParameterKind(
            "a function (X, Z) -> array (len(X), len(Z))", callable, "Callable[..., Any]"
        ),
    ),
    "k(x, z): x·z for 'linear', (γ x·z + coef0)^degree for 'poly', exp(−γ‖x − z‖²) for 'rbf', "
    "tanh(γ x·z + coef0) for 'sigmoid', exp(−γ Σ|x − z|) for 'laplacian'. With 'precomputed', X is "
    "the kernel matrix: kernel values with all rows of fit.",
    Peers(sklearn="kernel"),
)
_DEGREE = Parameter(
    "degree",
    3,
    Number(0, MOST_DEGREE, integer=True),
    "Degree of kernel='poly'.",
    Peers(sklearn="degree"),
)
_GAMMA = Parameter(
    "gamma",
    "scale",
    any_of(Options(("scale", "auto")), Number(0, 1e30)),
    "γ of the kernel. 'scale' is 1 / (n_features · variance of X), 'auto' is 1 / n_features.",
    Peers(sklearn="gamma"),
)
_COEF0 = Parameter(
    "coef0", 0.0, Number(-1e30, 1e30), "Constant of 'poly' and 'sigmoid'.", Peers(sklearn="coef0")
)
_TOL = Parameter(
    "tol",
    1e-3,
    Number(0, open_low=True),
    "Tolerance: the fit ends when no pair of rows violates the optimality conditions by more, and "
    "the duality gap is at most this fraction of the objective.",
    Peers(sklearn="tol"),
)
_C = Parameter(
    "C",
    1.0,
    Number(0, LARGEST_C, open_low=True),
    "Cost of errors relative to the width of the margin; smaller values regularise more. It is "
    "multiplied by class and sample weights.",
    Peers(sklearn="C"),
)
_C_OR_INFINITE = Parameter(
    "C",
    1.0,
    any_of(Number(0, LARGEST_C, open_low=True), INFINITE),
    _C.description + " inf is a hard margin: no row may be within it.",
    Peers(sklearn="C"),
)
_NU = Parameter(
    "nu",
    0.5,
    FRACTION,
    "Upper bound on the fraction of rows within the margin or outside the tube, and lower bound on "
    "the fraction of support vectors.",
    Peers(sklearn="nu"),
)
_EPSILON = Parameter(
    "epsilon",
    0.1,
    NOT_NEGATIVE,
    "Half-width of the tube: smaller errors have no loss.",
    Peers(sklearn="epsilon"),
)
_SHRINKING = Parameter(
    "shrinking",
    True,
    FLAG,
    "Whether to use shrinking: rows that seem likely to stay at their bounds are only checked at "
    "the end.",
    Peers(sklearn="shrinking"),
)
_PROBABILITY = Parameter(
    "probability",
    False,
    FLAG,
    "Whether to fit probabilities for predict_proba: Platt scaling on out-of-fold scores, from "
    "five more SVMs. predict then returns the most probable class.",
    Peers(sklearn="probability"),
)
_CACHE_SIZE = Parameter(
    "cache_size",
    200,
    Number(0, open_low=True),
    "Size of the cache of kernel rows, in megabytes. It always has room for at least one working "
    "set.",
    Peers(sklearn="cache_size"),
)
_MAX_ITER = Parameter(
    "max_iter",
    -1,
    any_of(ParameterKind("-1", lambda value: value in Number(-1, -1, integer=True), "int"), COUNT),
    "Maximum number of steps, each of two rows; −1 is ten million, or 100 per row if that is more. "
    "If the tolerance is not reached, there is a warning. The initial interior-point steps of "
    "linear kernels do not count.",
    Peers(sklearn="max_iter"),
)
_MULTI_CLASS = Parameter(
    "multi_class",
    "ovo",
    Options(("ovo", "ovr")),
    "With more than two classes: one-vs-one, an SVM for every pair of classes, or one-vs-rest.",
)
_DECISION_FUNCTION_SHAPE = Parameter(
    "decision_function_shape",
    "ovr",
    Options(("ovo", "ovr")),
    "Shape of decision_function with multi_class='ovo': a value for each class, the votes of the "
    "pairs with ties broken by their scores, or the score of every pair.",
    Peers(sklearn="decision_function_shape"),
)
_BREAK_TIES = Parameter(
    "break_ties",
    False,
    FLAG,
    "Whether ties of votes are broken by the scores; otherwise by the order of the classes.",
    Peers(sklearn="break_ties"),
)

_KERNELS = (_KERNEL, _DEGREE, _GAMMA, _COEF0)
_OF_CLASSES = (
    _MAX_ITER,
    _MULTI_CLASS,
    _DECISION_FUNCTION_SHAPE,
    _BREAK_TIES,
    RANDOM_STATE,
    N_JOBS,
    VERBOSE,
)
_OF_OTHERS = (_SHRINKING, _CACHE_SIZE, _MAX_ITER, N_JOBS, VERBOSE)

_CLASS_MIDDLE = (_SHRINKING, _PROBABILITY, _TOL, _CACHE_SIZE, CLASS_WEIGHT)
SVC_PARAMETERS = (_C_OR_INFINITE, *_KERNELS, *_CLASS_MIDDLE, *_OF_CLASSES)
NU_SVC_PARAMETERS = (_NU, *_KERNELS, *_CLASS_MIDDLE, *_OF_CLASSES)
SVR_PARAMETERS = (*_KERNELS, _TOL, _C, _EPSILON, *_OF_OTHERS)
NU_SVR_PARAMETERS = (_NU, _C, *_KERNELS, _TOL, *_OF_OTHERS)
ONE_CLASS_PARAMETERS = (*_KERNELS, _TOL, _NU, *_OF_OTHERS)
