"""scikit-learn's checks of our estimators, and those that some do not meet.

`UNMET` is all of these; docs/coming_from/scikit_learn.md shows it as a table. A check that is in it
must fail: one that passes has to leave the table.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import pytest
import sklearn
from sklearn.utils.estimator_checks import estimator_checks_generator

import hedgerow as hr

# Of an oracle: what it did not have before.
SINCE_1_8 = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
WEIGHTS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


@dataclass(frozen=True)
class Unmet:
    """Checks that some settings of an estimator do not meet, as the documentation says it."""

    estimators: str
    applies: Callable
    checks: tuple[str, ...]
    reason: str


def _is(*kinds, **parameters):
    """Return a function that tells whether an estimator is of a kind and has these parameters."""

    def applies(estimator):
        return isinstance(estimator, kinds) and all(
            getattr(estimator, name, None) == value for name, value in parameters.items()
        )

    return applies


FORESTS = (hr.RandomForestClassifier, hr.RandomForestRegressor)
FORESTS += (hr.ExtraTreesClassifier, hr.ExtraTreesRegressor)

BOOSTING = (hr.GradientBoostingClassifier, hr.GradientBoostingRegressor)
STAGEWISE = (hr.StagewiseClassifier, hr.StagewiseRegressor)
KERNEL_MACHINES = (hr.SVC, hr.SVR, hr.NuSVR)
WITH_GAMMA = ("rbf", "poly", "sigmoid", "laplacian")


def _samples_rows(estimator):
    """Return whether rows are sampled or held out one by one."""
    return isinstance(estimator, (*BOOSTING, *STAGEWISE)) and any(
        getattr(estimator, name, value) not in (value, "auto")
        for name, value in (("subsample", 1.0), ("early_stopping", False), ("calibration", None))
    )


def _counts_rows(estimator):
    """Return whether a limit of a tree counts rows and binds."""
    kinds = (hr.DecisionTreeClassifier, hr.DecisionTreeRegressor, *FORESTS)
    return isinstance(estimator, kinds) and (
        estimator.min_samples_leaf > 1 or estimator.min_samples_split > 2
    )


def _solves_within_tol(estimator):
    """Return whether the default tolerance of a kernel SVM is too wide."""
    return (
        isinstance(estimator, KERNEL_MACHINES)
        and estimator.kernel != "precomputed"
        and estimator.tol > 1e-8
    )


UNMET = (
    Unmet(
        '`GradientBoosting*` with `n_estimators="auto"`',
        _is(*BOOSTING, n_estimators="auto"),
        WEIGHTS,
        "the holdout is drawn by rows, so a row of weight 2 is not two rows",
    ),
    Unmet(
        "`GradientBoosting*`, `Stagewise*` with `subsample` below 1, `early_stopping` or "
        "`calibration`",
        _samples_rows,
        WEIGHTS,
        "rows are sampled or held out one by one, so a row of weight 2 is not two rows",
    ),
    Unmet(
        "`DecisionTree*`, `RandomForest*`, `ExtraTrees*` with a `min_samples_leaf` above 1 or a "
        "`min_samples_split` above 2",
        _counts_rows,
        WEIGHTS,
        "these limits count rows, so a row of weight 2 is one; `min_weight_fraction_leaf` does not",
    ),
    Unmet(
        "`RandomForest*`, `ExtraTrees*` with `bootstrap=True`",
        _is(*FORESTS, bootstrap=True),
        WEIGHTS,
        "the bootstrap draws rows, and scikit-learn exempts its own forests",
    ),
    Unmet(
        "`Bagging*` with `bootstrap=True`",
        _is(hr.BaggingClassifier, hr.BaggingRegressor, bootstrap=True),
        WEIGHTS,
        "the bootstrap draws rows, and scikit-learn exempts its own bagging",
    ),
    Unmet(
        "`Bagging*`, `RandomForest*`, `ExtraTrees*` with `max_samples` below all rows",
        lambda e: (
            isinstance(e, (hr.BaggingClassifier, hr.BaggingRegressor, *FORESTS))
            and e.max_samples not in (None, 1.0)
        ),
        WEIGHTS,
        "samples are drawn from the rows, so a row of weight 2 is not two rows",
    ),
    Unmet(
        '`AdaBoostClassifier` with `resample=True` or `error_divisor="rows"`',
        lambda e: (
            isinstance(e, hr.AdaBoostClassifier) and (e.resample or e.error_divisor == "rows")
        ),
        WEIGHTS,
        "rows are drawn, or counted in the error, one by one",
    ),
    Unmet(
        "`EnsembleClassifier`, `EnsembleRegressor`",
        _is(hr.EnsembleClassifier, hr.EnsembleRegressor),
        WEIGHTS,
        "the folds are drawn by rows, so a row of weight 2 is not two rows",
    ),
    Unmet(
        '`SVC`, `SVR`, `NuSVR` with `gamma="scale"` and any kernel that has γ, except `"poly"`',
        lambda e: (
            _is(*KERNEL_MACHINES, gamma="scale")(e)
            and e.kernel in WITH_GAMMA
            and e.kernel != "poly"
        ),
        WEIGHTS,
        "the variance behind `gamma` is that of the rows without their weights, as in scikit-learn",
    ),
    Unmet(
        "`SVC`, `SVR`, `NuSVR` with a `tol` above 1e-8, such as the default",
        _solves_within_tol,
        ("check_sample_weight_equivalence_on_sparse_data",),
        "two solutions of the same problem agree within `tol`, not within 1e-7; most kernels fail "
        "the check on dense data, too",
    ),
    Unmet(
        "`SVC` with `probability=True`",
        _is(hr.SVC, probability=True),
        WEIGHTS,
        "the calibration folds are drawn by rows",
    ),
    Unmet(
        "`NuSVC`",
        _is(hr.NuSVC),
        (*WEIGHTS, "check_class_weight_classifiers"),
        "`nu=0.5` is infeasible with the weights of these checks",
    ),
    Unmet(
        "`OneClassSVM`",
        _is(hr.OneClassSVM),
        WEIGHTS,
        "rows on the boundary may be on either side of it",
    ),
    Unmet(
        '`LinearSVC` with `dual=True` or `multi_class="crammer_singer"`',
        lambda e: (
            _is(hr.LinearSVC, dual=True)(e) or _is(hr.LinearSVC, multi_class="crammer_singer")(e)
        ),
        WEIGHTS,
        "coordinate descent stops within its tolerance, not within 1e-7",
    ),
    Unmet(
        "`LinearSVC` with `fit_intercept=False`",
        _is(hr.LinearSVC, fit_intercept=False),
        ("check_class_weight_classifiers",),
        "no line through the origin can pass this check; scikit-learn's estimator fails it too",
    ),
    Unmet(
        "`BaggingClassifier` with its default trees and `bootstrap=False`",
        _is(hr.BaggingClassifier, estimator=None, bootstrap=False),
        ("check_class_weight_classifiers",),
        "fully grown trees on all rows fit every row, whatever its weight",
    ),
    Unmet(
        '`AdaBoostClassifier` with its default trees, except stumps with `algorithm="gentle"`',
        lambda e: (
            _is(hr.AdaBoostClassifier, estimator=None)(e)
            and not (e.algorithm == "gentle" and e.max_depth == 1)
        ),
        ("check_class_weight_classifiers",),
        "boosting raises the weights of misclassified rows until a class of weight 0.0001 counts",
    ),
    Unmet(
        '`RadiusNeighborsClassifier`, except `metric="precomputed"` and `"cosine"`',
        lambda e: (
            _is(hr.RadiusNeighborsClassifier)(e) and e.metric not in ("precomputed", "cosine")
        ),
        ("check_class_weight_classifiers",),
        "most rows of this check have no neighbours within the radius",
    ),
    Unmet(
        '`KNeighborsClassifier` with `metric="precomputed"`',
        _is(hr.KNeighborsClassifier, metric="precomputed"),
        ("check_class_weight_classifiers",),
        "the check passes similarities, not distances",
    ),
    Unmet(
        "`StagewiseClassifier` with its default trees",
        _is(hr.StagewiseClassifier, estimator=None),
        ("check_class_weight_classifiers",),
        "the trees have no minimum weight of a leaf, so rows of a class of weight 0.0001 have "
        "leaves of their own",
    ),
)


def unmet_checks(estimator) -> set[str]:
    """Return the names of the checks that an estimator does not meet."""
    return {check for unmet in UNMET if unmet.applies(estimator) for check in unmet.checks}


def parametrize_with_checks(estimators: Iterable):
    """Parametrize a test with all checks that scikit-learn has for some estimators."""
    pairs, ids = [], []
    for estimator in estimators:
        of_estimator = "".join(str(estimator).split())  # which takes a while
        for pair in estimator_checks_generator(estimator):
            pairs.append(pair)
            ids.append(f"{of_estimator}-{_id(pair[1])}")
    return pytest.mark.parametrize(("estimator", "check"), pairs, ids=ids)


def run_check(estimator, check) -> None:
    """Run a check, which must pass, or must fail if `UNMET` says that it does."""
    if _name(check) not in unmet_checks(estimator):
        check(estimator)
        return
    try:
        check(estimator)
    except Exception:  # noqa: BLE001  whatever scikit-learn's check objects with
        return
    pytest.fail(f"{estimator!r} meets {_name(check)}: take it out of `UNMET` in tests/contract.py")


def _name(check) -> str:
    return check.func.__name__ if isinstance(check, partial) else check.__name__


def _id(check) -> str:
    """Return the name that a check has in scikit-learn's own tests."""
    options = ",".join(f"{name}={option}" for name, option in check.keywords.items())
    return f"{_name(check)}({options})" if options else _name(check)
