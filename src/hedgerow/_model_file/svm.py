"""SVMs ↔ a model file: weights or support vectors, and the certificates of their solutions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hedgerow._contract import internals
from hedgerow._estimator import Estimator, column_attributes
from hedgerow._model_file.container import Arrays, Document
from hedgerow._model_file.stored import (
    CSR,
    Stored,
    check_array,
    is_number,
    read_csr,
    read_some_classes,
    require,
    with_prefix,
    write_classes,
    write_csr,
)
from hedgerow._model_file.values import NotStored, decode, encode
from hedgerow._params import MOST
from hedgerow._svm.base import LARGEST
from hedgerow._svm.kernel.base import attributes_of
from hedgerow._svm.kernel.kernels import LARGEST_KERNEL, NAMES, Kernel
from hedgerow._svm.kernel.model import Certificate, KernelModel
from hedgerow._svm.kernel.multiclass import n_binary_tasks
from hedgerow._svm.kernel.parameters import MOST_DEGREE
from hedgerow._svm.kernel.regressors import NuSVR
from hedgerow._svm.linear.estimators import LinearModel

_CERTIFICATE = {"objective": np.float64, "duality_gap": np.float64, "n_iter": np.int64}
# One number for each problem that was solved.
_LINEAR_CERTIFICATE = ("objective_", "duality_gap_")


def write_kernel(estimator: Estimator) -> tuple[Document, Arrays]:
    """Return the document and arrays of a fitted model."""
    model: KernelModel = internals(estimator).model()
    kernel = model.kernel
    is_sparse = scipy.sparse.issparse(model.vectors)
    document = {
        "schema": model.schema.to_dict(),
        "kernel": {"name": kernel.name, "gamma": kernel.gamma, "coef0": kernel.coef0}
        | {"degree": kernel.degree, "function": encode(kernel.function)},
        "single": model.single,
        "is_sparse": is_sparse,
        "n_rows": model.n_rows,
        "classes": None if model.classes is None else write_classes(model.classes),
        "has_pairs": model.has_pairs,
        "has_sigmoids": model.sigmoids is not None,
        "epsilon": model.epsilon,
        "converged": model.certificate.converged,
    }
    arrays: Arrays = {
        name: getattr(model, name) for name in ("support", "coefficients", "intercepts")
    }
    arrays |= {name: getattr(model.certificate, name) for name in _CERTIFICATE}
    if model.class_weight is not None:
        arrays |= {"counts": model.counts, "class_weight": model.class_weight}
    if model.sigmoids is not None:
        arrays["sigmoids"] = model.sigmoids
    if is_sparse:
        arrays |= with_prefix("vectors.", write_csr(model.vectors))
    elif model.vectors is not None:
        arrays["vectors"] = model.vectors
    return document, arrays


def read_kernel(kind: type[Any], stored: Stored) -> dict[str, Any]:
    """Read the attributes of a fitted estimator."""
    schema = stored.schema()
    require(not schema.categories, "a kernel SVM has categorical features")
    kernel = _read_kernel_function(stored.field("kernel"))
    n_rows = stored.field("n_rows")
    require(type(n_rows) is int and 0 < n_rows < 2**31, "n_rows is not a number of rows")
    if kernel.name == "precomputed":
        require(schema.n_features == n_rows, "the kernel lacks a column for each training row")
    support = stored.array("support", (None,), np.int64)
    require(((support >= 0) & (support < n_rows)).all(), "a support index is out of range")
    classes = read_some_classes(stored.field("classes"), kind)
    has_pairs = stored.flag("has_pairs")
    may_have_pairs = classes is not None and len(classes) > 2
    require(may_have_pairs or not has_pairs, "one-vs-one needs more than two classes")
    counts, class_weight = _read_by_class(stored, classes, len(support))
    n_scores = _n_scores(classes, has_pairs=has_pairs)
    sigmoids = None
    if stored.flag("has_sigmoids"):
        require(classes is not None, "only classifiers have probabilities")
        sigmoids = _read_array(stored, "sigmoids", (n_scores, 2))
    n_sums = len(counts) - 1 if has_pairs else n_scores
    model = KernelModel(
        schema=schema,
        kernel=kernel,
        single=_read_single(stored, kernel),
        support=support,
        vectors=_read_vectors(stored, kernel, schema.n_features, len(support)),
        n_rows=n_rows,
        counts=counts,
        coefficients=_read_array(stored, "coefficients", (n_sums, len(support))),
        intercepts=_read_array(stored, "intercepts", (n_scores,)),
        certificate=_read_certificate(stored, n_scores),
        classes=classes,
        class_weight=class_weight,
        has_pairs=has_pairs,
        sigmoids=sigmoids,
        epsilon=_read_epsilon(stored, is_nu=issubclass(kind, NuSVR)),
    )
    return attributes_of(model)


def _read_kernel_function(stored: Any) -> Kernel:
    names = {"name", "gamma", "coef0", "degree", "function"}
    require(isinstance(stored, dict) and set(stored) == names, "the kernel lacks expected fields")
    name, degree = stored["name"], stored["degree"]
    require(name in (*NAMES, "callable"), f"the kernel is {name!r}")
    constants = (stored["gamma"], stored["coef0"])
    are_numbers = all(is_number(c) and abs(c) <= LARGEST_KERNEL for c in constants)
    require(are_numbers and constants[0] >= 0.0, "gamma or coef0 of the kernel is out of range")
    require(type(degree) is int and 0 <= degree <= MOST_DEGREE, "the degree is out of range")
    function = decode(stored["function"])
    is_function = isinstance(function, NotStored)
    fits = is_function if name == "callable" else function is None
    require(fits, "the kernel's function does not suit its name")
    gamma, coef0 = (float(constant) for constant in constants)
    return Kernel(name, gamma, coef0, degree, function)


def _read_by_class(
    stored: Stored, classes: NDArray[Any] | None, n_vectors: int
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Read the number of support vectors and the weight of each class."""
    if classes is None:
        return np.array([n_vectors]), None
    counts = stored.array("counts", (len(classes),), np.int64)
    fit = ((counts >= 0) & (counts <= n_vectors)).all() and counts.sum() == n_vectors
    require(fit, "the counts of support vectors by class do not add up")
    weights = _read_array(stored, "class_weight", (len(classes),))
    require((weights >= 0.0).all(), "a weight is not allowed")
    return counts, weights


def _n_scores(classes: NDArray[Any] | None, *, has_pairs: bool) -> int:
    return 1 if classes is None else n_binary_tasks(len(classes), "ovo" if has_pairs else "ovr")


def _read_single(stored: Stored, kernel: Kernel) -> bool:
    single = stored.flag("single")
    require(kernel.is_of_distances or not single, "the kernel has no single precision")
    return single


def _read_vectors(stored: Stored, kernel: Kernel, n_features: int, n_vectors: int) -> Any:
    if stored.flag("is_sparse"):
        require(kernel.name != "precomputed", "a precomputed kernel is sparse")
        vectors = read_csr(stored.arrays("vectors.", CSR), n_features, fewest_rows=0)
        numbers = vectors.data
    elif kernel.name == "precomputed":
        return None
    else:
        vectors = numbers = stored.array("vectors", (None, n_features))
    require(vectors.shape[0] == n_vectors, "the number of support vectors and indices differs")
    require((np.abs(numbers) <= LARGEST).all(), "a support vector is not finite, or too large")
    return vectors


def _read_certificate(stored: Stored, n_scores: int) -> Certificate:
    objective, gap, n_iter = (
        stored.array(name, (n_scores,), dtype) for name, dtype in _CERTIFICATE.items()
    )
    require(np.isfinite(objective).all(), "an objective is not finite")
    require((gap >= 0.0).all(), "duality_gap is negative or NaN")
    require(((n_iter >= 1) & (n_iter < 2**31)).all(), "n_iter is not positive")
    return Certificate(objective, gap, n_iter, stored.flag("converged"))


def _read_epsilon(stored: Stored, *, is_nu: bool) -> float | None:
    epsilon = stored.field("epsilon")
    require((epsilon is not None) == is_nu, "epsilon is only stored for NuSVR")
    if epsilon is None:
        return None
    require(is_number(epsilon) and math.isfinite(epsilon), "epsilon is not a number")
    return float(epsilon)


def _read_array(stored: Stored, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    array = stored.array(name, shape)
    require(np.isfinite(array).all(), f"{name} is not finite")
    return array


def write_linear(estimator: Estimator) -> tuple[Document, Arrays]:
    """Return the document and arrays of a fitted model."""
    model: LinearModel = internals(estimator).model()
    document = {
        "schema": model.schema.to_dict(),
        "classes": None if model.classes is None else write_classes(model.classes),
        "n_iter": estimator.n_iter_,
    }
    arrays = with_prefix("machine.", {"coef": model.coef, "intercept": model.intercept})
    return document, arrays | {name: getattr(estimator, name) for name in _LINEAR_CERTIFICATE}


def read_linear(kind: type[Any], stored: Stored) -> dict[str, Any]:
    """Read the attributes of a fitted estimator."""
    schema = stored.schema()
    require(not schema.categories, "a linear SVM has categorical features")
    classes = read_some_classes(stored.field("classes"), kind)
    coef, intercept = stored.arrays("machine.", ("coef", "intercept")).values()
    n_scores = 1 if classes is None or len(classes) == 2 else len(classes)
    check_array(coef, (n_scores, schema.n_features), "coef")
    check_array(intercept, (n_scores,), "intercept")
    require(np.isfinite(coef).all() and np.isfinite(intercept).all(), "a weight is not finite")
    model = LinearModel(schema, coef, intercept, classes)
    n_iter = stored.field("n_iter")
    require(type(n_iter) is int and 1 <= n_iter <= MOST, "n_iter is not a positive integer")
    attributes = column_attributes(schema) | _read_linear_certificate(stored, n_scores)
    attributes |= {"_model": model, "intercept_": intercept, "n_iter_": n_iter}
    if classes is None:
        return attributes | {"coef_": coef[0]}
    return attributes | {"coef_": coef, "classes_": classes}


def _read_linear_certificate(stored: Stored, n_scores: int) -> Arrays:
    certificate = stored.arrays("", _LINEAR_CERTIFICATE)
    # Crammer and Singer's weights are the solution of one problem.
    n_problems = 1 if certificate["objective_"].shape == (1,) else n_scores
    for name, array in certificate.items():
        check_array(array, (n_problems,), name)
        require((array >= 0.0).all(), f"{name} is negative or NaN")
    return certificate
