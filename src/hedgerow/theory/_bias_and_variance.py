"""`bias_variance`: fit an estimator to many training sets and decompose its error.

Training sets are sampled from a table, or made by a function. Each repeat has a seed of its own, so
that results do not depend on the number of processes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.random import Generator, SeedSequence, default_rng
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import train_test_split
from sklearn.utils import resample

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
from hedgerow._types import Floats, SklearnEstimator
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.theory._decomposition import (
    SquaredErrorDecomposition,
    ZeroOneDecomposition,
    squared_error_terms,
    zero_one_terms,
)

Draw = Callable[[Generator, int], tuple[Any, ...]]
TrainingSet = tuple[Any, Any]
MakeTrainingSet = Callable[[SeedSequence], TrainingSet]
MOST_SEED = 2**31 - 1
SEVERAL = Number(2, integer=True)
SEED = Number(0, integer=True)
GENERATED_TEST_ROWS = 1000
TEST_FRACTION = 1 / 3


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
    """Fit an estimator to many training sets and decompose its expected error.

    **Regressors, squared error.** With f the fit to one training set, f̄ its mean over training sets
    and ȳ(x) = E[y | x]: E (f − y)² = E (y − ȳ)² + (f̄ − ȳ)² + E (f − f̄)², which is
    noise + bias² + variance. Bias² and variance are unbiased estimates: the uncertainty of f̄ after
    B repeats, variance / B, is subtracted from bias², which may therefore be slightly below 0.

    **Classifiers, 0–1 loss** (Domingos). The best class is the most probable one given x; the main
    prediction is the class that most fits predict. The bias of a row is 1 where they differ. The
    variance is how often a fit deviates from the main prediction: this adds to the error where the
    main prediction is the best class (unbiased variance), and reduces it where a deviation hits
    the best class (biased variance). Noise is the contribution of random labels: for two classes,
    (2 P(fit is best) − 1) times the error of the best class. For any number of classes,
    error = noise + bias + unbiased variance − biased variance.

    Noise and bias can only be separated if ȳ(x) or P(class | x) is known: from the `truth` that
    `draw` returns, or from several targets at the same x (a `y_test` of two dimensions). Otherwise
    y itself is used as the truth, and the noise is part of the bias.

    Parameters
    ----------
    estimator : regressor or classifier
        Cloned for each fit. Each of its random_state parameters gets a new seed in each repeat.
    X, y : table and target, optional
        The table that training sets are sampled from. These overlap, so that the variance between
        independent training sets may be larger.
    X_test, y_test : table and target, optional
        The test set; by default a part of X and y, or made by `draw`. A y_test of shape
        (n_test, r) has r targets for each row.
    draw : function (rng, n) -> (X, y) or (X, y, truth), optional
        Used instead of X and y: makes n independent rows with a NumPy Generator. The truth is
        E[y | x], of shape (n,), for a regressor, and the probabilities of the classes in sorted
        order, (n, n_classes), for a classifier.
    n_train : int, optional
        Rows of a training set. By default all rows, or half of them without bootstrap; required
        with `draw`.
    n_test : int, optional
        Rows of the test set; by default a third of X, or 1000 rows made by `draw`.
    n_repeats : int
        Number of training sets, at least 2.
    bootstrap : bool
        Whether rows are sampled with replacement.
    random_state : int or None
        Seed; None for a random one.
    n_jobs : int or None
        Number of parallel fits, as in joblib. The result does not depend on it.

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
    test_seed, *repeat_seeds = SeedSequence(random_state).spawn(n_repeats + 1)
    truth = None
    if draw is not None:
        if X_test is None:
            X_test, y_test, truth = _generate_rows(draw, test_seed, n_test or GENERATED_TEST_ROWS)
        n_rows = _required_rows(n_train)
        training_set = partial(_generated_set, draw, n_rows)
    else:
        if X_test is None:
            X, X_test, y, y_test = _split_test_set(X, y, n_test, test_seed)
        n_rows = _sample_size(len(y), n_train, bootstrap)
        training_set = partial(_resampled_set, X, y, n_rows, bootstrap)
    predicted = _predictions(estimator, training_set, repeat_seeds, X_test, n_jobs)
    decompose = _decompose_classes if is_classifier(estimator) else _decompose_numbers
    return decompose(predicted, y_test, truth, n_rows)


def _decompose_numbers(
    predicted: NDArray[Any], y_test: Any, truth: Any, n_train: int
) -> SquaredErrorDecomposition:
    targets = _targets(y_test, predicted.shape[1])
    if targets.dtype.kind not in "fiub" or not np.isfinite(targets).all():
        raise DataError("y_test of a regressor must have finite numbers.")
    expected = _truth(truth, (predicted.shape[1],))
    return squared_error_terms(
        predicted.astype(np.float64), targets.astype(np.float64), expected, n_train
    )


def _decompose_classes(
    predicted: NDArray[Any], y_test: Any, truth: Any, n_train: int
) -> ZeroOneDecomposition:
    targets = _targets(y_test, predicted.shape[1])
    p = _truth(truth, (predicted.shape[1], -1))
    if p is not None and not (np.allclose(p.sum(axis=1), 1.0) and (p >= 0.0).all()):
        raise DataError("draw: the truth of a classifier must be probabilities that sum to 1.")
    return zero_one_terms(predicted, targets, p, n_train)


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
        expected = f"({shape[0]},)" if len(shape) == 1 else f"({shape[0]}, n_classes)"
        raise DataError(
            f"draw: the truth has shape {array.shape}; it must be {expected} and finite."
        )
    return array


def _split_test_set(
    X: Any, y: Any, n_test: int | None, seed: SeedSequence
) -> tuple[Any, Any, Any, Any]:
    if n_test is not None and n_test >= len(y):
        raise ParameterError(f"n_test={n_test} leaves no training rows: X has {len(y)}.")
    random_state = np.random.RandomState(seed.generate_state(4))
    parts = train_test_split(X, y, test_size=n_test or TEST_FRACTION, random_state=random_state)
    return parts[0], parts[1], parts[2], parts[3]


def _sample_size(n_rows: int, n_train: int | None, bootstrap: bool) -> int:
    if n_train is None:
        return n_rows if bootstrap else max(1, n_rows // 2)
    if not bootstrap and n_train > n_rows:
        raise ParameterError(f"n_train={n_train} is more than the {n_rows} rows of X.")
    return n_train


def _required_rows(n_train: int | None) -> int:
    if n_train is None:
        raise ParameterError("n_train is required with draw: the number of rows of a training set.")
    return n_train


def _require_kind(estimator: SklearnEstimator) -> None:
    is_instance = hasattr(estimator, "fit") and not isinstance(estimator, type)
    if not is_instance or not (is_classifier(estimator) or is_regressor(estimator)):
        raise ParameterError(
            f"estimator={estimator!r} is not allowed; it must be a classifier or a regressor."
        )


def _require_source(X: Any, y: Any, X_test: Any, y_test: Any, draw: Draw | None) -> None:
    if (X is None) != (y is None) or (X_test is None) != (y_test is None):
        raise ParameterError("X and y, and X_test and y_test, must be passed together.")
    if (X is None) == (draw is None):
        raise ParameterError("bias_variance needs either X and y, or draw.")
    if draw is not None and not callable(draw):
        raise ParameterError(f"draw={draw!r} is not allowed; it must be a function of (rng, n).")


_ALLOWED: dict[str, Allowed] = {
    "n_train": any_of(COUNT, NOTHING),
    "n_test": any_of(COUNT, NOTHING),
    "n_repeats": SEVERAL,
    "bootstrap": FLAG,
    "random_state": any_of(SEED, NOTHING),
    "n_jobs": any_of(THREAD_COUNT, NOTHING),
}


def _check(**arguments: Any) -> None:
    for name, value in arguments.items():
        Parameter(name, None, _ALLOWED[name], "").check(value)


def _resampled_set(X: Any, y: Any, n_rows: int, replace: bool, seed: SeedSequence) -> TrainingSet:
    """Sample a training set from the rows of a table."""
    random_state = int(default_rng(seed).integers(MOST_SEED))
    sample = resample(X, y, replace=replace, n_samples=n_rows, random_state=random_state)
    return sample[0], sample[1]


def _generated_set(draw: Draw, n_rows: int, seed: SeedSequence) -> TrainingSet:
    """Make an independent training set with a function of the user, without its truth."""
    X, y, _ = _generate_rows(draw, seed, n_rows)
    return X, y


def _generate_rows(draw: Draw, seed: SeedSequence, n_rows: int) -> tuple[Any, Any, Any]:
    """Call the function of the user; return X, y, and the truth or None."""
    returned = draw(default_rng(seed), n_rows)
    if not isinstance(returned, tuple) or len(returned) not in (2, 3):
        raise ParameterError(
            f"draw: the function must return (X, y) or (X, y, truth), not {_described(returned)}."
        )
    X, y, truth = returned if len(returned) == 3 else (*returned, None)
    if len(y) != n_rows:
        raise DataError(f"draw: the function returned {len(y)} rows instead of {n_rows}.")
    return X, y, truth


def _predictions(
    estimator: SklearnEstimator,
    training_set: MakeTrainingSet,
    seeds: list[SeedSequence],
    X_test: Any,
    n_jobs: int | None,
) -> NDArray[Any]:
    """Fit a clone to each training set; return the predictions, (n_repeats, n_test)."""
    fits = (delayed(_fit_and_predict)(estimator, training_set, seed, X_test) for seed in seeds)
    return np.stack(Parallel(n_jobs=n_jobs)(fits))


def _fit_and_predict(
    estimator: SklearnEstimator, training_set: MakeTrainingSet, seed: SeedSequence, X_test: Any
) -> NDArray[Any]:
    rows_seed, estimator_seed = seed.spawn(2)
    X, y = training_set(rows_seed)
    predicted = np.asarray(_seeded_clone(estimator, estimator_seed).fit(X, y).predict(X_test))
    if predicted.ndim != 1:
        raise ParameterError(
            f"estimator: {type(estimator).__name__} predicts an array of shape {predicted.shape}; "
            "it must predict one number or class per row."
        )
    return predicted


def _seeded_clone(estimator: SklearnEstimator, seed: SeedSequence) -> Any:
    """Return a clone with every random_state set to a number from the seed."""
    copy = clone(estimator)
    names = sorted(copy.get_params(deep=True))
    random = default_rng(seed)
    states = {
        name: int(random.integers(MOST_SEED))
        for name in names
        if name == "random_state" or name.endswith("__random_state")
    }
    return copy.set_params(**states)


def _described(returned: Any) -> str:
    if isinstance(returned, tuple):
        return f"a tuple of {len(returned)}"
    return type(returned).__name__
