"""`bias_variance`: read what is asked for, fit the estimator many times, decompose its error."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import train_test_split

from hedgerow._contract import SklearnEstimator
from hedgerow._data.sparse import sound_rows
from hedgerow._params import (
    COUNT,
    FLAG,
    NOTHING,
    THREAD_COUNT,
    Allowed,
    Number,
    Parameter,
    any_of,
)
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.theory._decomposition import (
    SquaredErrorDecomposition,
    ZeroOneDecomposition,
    squared_error_terms,
    zero_one_terms,
)
from hedgerow.theory._training_sets import Draw, Drawn, Resampled, drawn_rows, predictions

SEVERAL = Number(2, integer=True)
SEED = Number(0, integer=True)
DRAWN_TEST_ROWS = 1000
HELD_OUT = 1 / 3


def bias_variance(
    estimator: SklearnEstimator,
    X: Any = None,
    y: Any = None,
    *,
    X_test: Any = None,
    y_test: Any = None,
    draw: Draw | None = None,
    n_train: int | None = None,
    n_test: int | None = None,
    n_repeats: int = 100,
    bootstrap: bool = True,
    random_state: int | None = 0,
    n_jobs: int | None = None,
) -> SquaredErrorDecomposition | ZeroOneDecomposition:
    """Fit an estimator to many training sets and say where its expected error comes from.

    **Regressors, squared error.** With f the fit to one training set, f̄ its mean over training sets
    and ȳ(x) = E[y | x]: E (f − y)² = E (y − ȳ)² + (f̄ − ȳ)² + E (f − f̄)², which is
    noise + bias² + variance. Bias² and variance are unbiased estimates: what B repeats leave
    uncertain of f̄, variance / B, is taken out of the bias, which may so come out a little below 0.

    **Classifiers, 0–1 loss** (Domingos). The best class is the most probable one given x; the main
    prediction is the class that most fits predict. The bias of a row is 1 where they differ. The
    variance is how often a fit strays from the main prediction: where that is the best class it
    costs (unbiased variance), where it is not, straying to the best class saves (biased variance).
    Noise is what the labels' own chance adds: for two classes, (2 P(fit is best) − 1) times the
    error of the best class. Error = noise + bias + unbiased variance − biased variance, for any
    number of classes.

    The noise can be told from the bias only where ȳ(x) or P(class | x) is known: from the `truth`
    that `draw` returns, or from several targets seen at the same x (a `y_test` of two dimensions).
    Otherwise y itself is taken for the truth, and the noise is part of the bias.

    Parameters
    ----------
    estimator : regressor or classifier
        Cloned for each fit. Each of its random_state parameters gets a new seed in each repeat.
    X, y : table and target, optional
        What training sets are drawn from. Rows drawn from one table overlap, so that the variance
        between truly independent training sets may be larger.
    X_test, y_test : table and target, optional
        Rows to predict; without them, part of X and y is held out, or drawn. A y_test of shape
        (n_test, r) holds r targets for each row.
    draw : function (rng, n) -> (X, y) or (X, y, truth), optional
        Instead of X and y: makes n independent rows with a NumPy Generator. The truth is E[y | x],
        of shape (n,), for a regressor, and the probabilities of the classes in sorted order,
        (n, n_classes), for a classifier.
    n_train : int, optional
        Rows of a training set. By default as many as there are to draw from, or half of them if
        bootstrap is off; needed with `draw`.
    n_test : int, optional
        Rows to hold out, a third by default, or to draw, 1000 by default.
    n_repeats : int
        Training sets, at least 2.
    bootstrap : bool
        Whether rows are drawn with replacement.
    random_state : int or None
        Seed; None takes a new one.
    n_jobs : int or None
        Fits at a time, as in joblib. The result does not depend on it.

    Returns
    -------
    SquaredErrorDecomposition or ZeroOneDecomposition

    References
    ----------
    Domingos, "A unified bias-variance decomposition and its applications", ICML 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from hedgerow import theory
    >>> def wave(rng, n):
    ...     x = rng.uniform(0, 6, n)
    ...     return x[:, None], np.sin(x) + rng.normal(0, 0.5, n), np.sin(x)
    >>> stump = DecisionTreeRegressor(max_depth=1)
    >>> tree = DecisionTreeRegressor()
    >>> rough, fine = (theory.bias_variance(t, draw=wave, n_train=50) for t in (stump, tree))
    >>> rough.bias_squared > fine.bias_squared, rough.variance < fine.variance
    (True, True)
    """
    _check(n_train=n_train, n_test=n_test, n_repeats=n_repeats, bootstrap=bootstrap)
    _check(random_state=random_state, n_jobs=n_jobs)
    _require_kind(estimator)
    _require_source(X, y, X_test, y_test, draw)
    X, X_test = sound_rows(X), sound_rows(X_test, "X_test")
    of_test, *of_repeats = SeedSequence(random_state).spawn(n_repeats + 1)
    truth = None
    if draw is not None:
        if X_test is None:
            X_test, y_test, truth = drawn_rows(draw, of_test, n_test or DRAWN_TEST_ROWS)
        source: Drawn | Resampled = Drawn(draw, _required_rows(n_train))
    else:
        if X_test is None:
            X, X_test, y, y_test = _held_out(X, y, n_test, of_test)
        source = Resampled(X, y, _rows_to_draw(len(y), n_train, bootstrap), bootstrap)
    predicted = predictions(estimator, source, of_repeats, X_test, n_jobs)
    terms = _classified if is_classifier(estimator) else _regressed
    return terms(predicted, y_test, truth, source.n_rows)


def _regressed(
    predicted: NDArray[Any], y_test: Any, truth: Any, n_train: int
) -> SquaredErrorDecomposition:
    seen = _targets(y_test, predicted.shape[1])
    if seen.dtype.kind not in "fiub" or not np.isfinite(seen).all():
        raise DataError("y_test of a regressor must hold finite numbers.")
    expected = _truth(truth, (predicted.shape[1],))
    return squared_error_terms(
        predicted.astype(np.float64), seen.astype(np.float64), expected, n_train
    )


def _classified(
    predicted: NDArray[Any], y_test: Any, truth: Any, n_train: int
) -> ZeroOneDecomposition:
    seen = _targets(y_test, predicted.shape[1])
    p = _truth(truth, (predicted.shape[1], -1))
    if p is not None and not (np.allclose(p.sum(axis=1), 1.0) and (p >= 0.0).all()):
        raise DataError("draw: the truth of a classifier must hold probabilities that sum to 1.")
    return zero_one_terms(predicted, seen, p, n_train)


def _targets(y_test: Any, n_rows: int) -> NDArray[Any]:
    array = np.asarray(y_test)
    if array.ndim not in (1, 2) or len(array) != n_rows or array.size == 0:
        raise DataError(
            f"y_test has shape {array.shape}; it must be ({n_rows},), or ({n_rows}, r) with r "
            "targets for each row."
        )
    return array


def _truth(truth: Any, shape: tuple[int, ...]) -> Floats | None:
    if truth is None:
        return None
    array = np.asarray(truth, np.float64)
    if array.ndim != len(shape) or len(array) != shape[0] or not np.isfinite(array).all():
        wanted = f"({shape[0]},)" if len(shape) == 1 else f"({shape[0]}, n_classes)"
        raise DataError(f"draw: the truth has shape {array.shape}; it must be {wanted}, finite.")
    return array


def _held_out(X: Any, y: Any, n_test: int | None, seed: SeedSequence) -> tuple[Any, Any, Any, Any]:
    if n_test is not None and n_test >= len(y):
        raise ParameterError(f"n_test={n_test} leaves none of the {len(y)} rows to train on.")
    random_state = np.random.RandomState(seed.generate_state(4))
    parts = train_test_split(X, y, test_size=n_test or HELD_OUT, random_state=random_state)
    return parts[0], parts[1], parts[2], parts[3]


def _rows_to_draw(n_rows: int, n_train: int | None, bootstrap: bool) -> int:
    if n_train is None:
        return n_rows if bootstrap else max(1, n_rows // 2)
    if not bootstrap and n_train > n_rows:
        raise ParameterError(f"n_train={n_train} is more than the {n_rows} rows to draw from.")
    return n_train


def _required_rows(n_train: int | None) -> int:
    if n_train is None:
        raise ParameterError("n_train=None is not allowed with draw: say how many rows to draw.")
    return n_train


def _require_kind(estimator: SklearnEstimator) -> None:
    is_instance = hasattr(estimator, "fit") and not isinstance(estimator, type)
    if not is_instance or not (is_classifier(estimator) or is_regressor(estimator)):
        raise ParameterError(
            f"estimator={estimator!r} is not allowed; it must be a classifier or a regressor."
        )


def _require_source(X: Any, y: Any, X_test: Any, y_test: Any, draw: Draw | None) -> None:
    if (X is None) != (y is None) or (X_test is None) != (y_test is None):
        raise ParameterError("X and y, and X_test and y_test, come in pairs.")
    if (X is None) == (draw is None):
        raise ParameterError("bias_variance needs either X and y, or draw.")
    if draw is not None and not callable(draw):
        raise ParameterError(f"draw={draw!r} is not allowed; it must be a function (rng, n).")


_ALLOWED: dict[str, Allowed] = {
    "n_train": any_of(COUNT, NOTHING),
    "n_test": any_of(COUNT, NOTHING),
    "n_repeats": SEVERAL,
    "bootstrap": FLAG,
    "random_state": any_of(SEED, NOTHING),
    "n_jobs": any_of(THREAD_COUNT, NOTHING),
}


def _check(**given: Any) -> None:
    for name, value in given.items():
        Parameter(name, None, _ALLOWED[name], "").check(value)
