"""The parameters of the kernel machines, declared once; see `hedgerow._params`."""

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
    "the matrix of kernels with the rows of fit.",
    Peers(sklearn="kernel"),
)
_DEGREE = Parameter(
    "degree",
    3,
    Number(0, MOST_DEGREE, integer=True),
    "Of kernel='poly'.",
    Peers(sklearn="degree"),
)
_GAMMA = Parameter(
    "gamma",
    "scale",
    any_of(Options(("scale", "auto")), Number(0, 1e30)),
    "γ of the kernel. 'scale' is 1 / (columns · variance of all numbers in X), 'auto' 1 / columns.",
    Peers(sklearn="gamma"),
)
_COEF0 = Parameter(
    "coef0", 0.0, Number(-1e30, 1e30), "Of kernel='poly' and 'sigmoid'.", Peers(sklearn="coef0")
)
_TOL = Parameter(
    "tol",
    1e-3,
    Number(0, open_low=True),
    "How exactly to solve: the fit ends when no two rows violate the conditions of an optimum by "
    "more, and the duality gap is at most this part of the objective.",
    Peers(sklearn="tol"),
)
_C = Parameter(
    "C",
    1.0,
    Number(0, LARGEST_C, open_low=True),
    "Cost of a row within the margin, or beyond epsilon, against a wide margin; class and sample "
    "weights multiply it.",
    Peers(sklearn="C"),
)
_C_OR_INFINITE = Parameter(
    "C",
    1.0,
    any_of(Number(0, LARGEST_C, open_low=True), INFINITE),
    _C.description + " inf allows no row within the margin.",
    Peers(sklearn="C"),
)
_NU = Parameter(
    "nu",
    0.5,
    FRACTION,
    "Upper bound of the part of rows within the margin or beyond the tube, and lower bound of the "
    "part of support vectors.",
    Peers(sklearn="nu"),
)
_EPSILON = Parameter(
    "epsilon", 0.1, NOT_NEGATIVE, "Errors up to this size cost nothing.", Peers(sklearn="epsilon")
)
_SHRINKING = Parameter(
    "shrinking",
    True,
    FLAG,
    "Whether rows that seem to be settled are left aside until the rest is solved.",
    Peers(sklearn="shrinking"),
)
_PROBABILITY = Parameter(
    "probability",
    False,
    FLAG,
    "Whether predict_proba is wanted: Platt's sigmoids, fitted to scores of five more machines "
    "that have not seen the rows. predict then returns the class of the largest probability.",
    Peers(sklearn="probability"),
)
_CACHE_SIZE = Parameter(
    "cache_size",
    200,
    Number(0, open_low=True),
    "Megabytes for rows of the kernel matrix; those of a working set are always kept.",
    Peers(sklearn="cache_size"),
)
_MAX_ITER = Parameter(
    "max_iter",
    -1,
    any_of(ParameterKind("-1", lambda value: value in Number(-1, -1, integer=True), "int"), COUNT),
    "Steps at most, each of two rows; −1 for ten million, or 100 for each row if that is more. If "
    "the tolerance is not reached by then, there is a warning. What linear kernels do before the "
    "first of them does not count.",
    Peers(sklearn="max_iter"),
)
_MULTI_CLASS = Parameter(
    "multi_class",
    "ovo",
    Options(("ovo", "ovr")),
    "With more than two classes: a machine for every pair of classes, or one for each class "
    "against the rest.",
)
_DECISION_FUNCTION_SHAPE = Parameter(
    "decision_function_shape",
    "ovr",
    Options(("ovo", "ovr")),
    "What decision_function gives for machines of pairs: votes for each class, with the scores "
    "deciding between equal votes, or the score of every pair.",
    Peers(sklearn="decision_function_shape"),
)
_BREAK_TIES = Parameter(
    "break_ties",
    False,
    FLAG,
    "Whether scores decide between classes of equal votes; otherwise the first wins.",
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
