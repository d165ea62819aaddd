"""A row of weight 2 is two rows, and one of weight 0 none: scikit-learn's checks in more settings.

What does not hold is in `contract.UNMET`, and so in the documentation.
"""

from functools import partial

import pytest
from sklearn.utils.estimator_checks import (
    check_class_weight_classifiers,
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
)

import hedgerow as hr
from contract import run_check

pytestmark = pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
FEW = {"n_estimators": 6}
SETTINGS = [
    kind(**FEW, **parameters)
    for kind in (hr.GradientBoostingClassifier, hr.GradientBoostingRegressor)
    for parameters in (
        {},
        {"splitter": "exact", "min_samples_leaf": 1},
        {"splitter": "approx", "min_samples_leaf": 1},
        {"splitter": "hist", "min_samples_leaf": 1, "max_bins": 5},
        {"grow_policy": "symmetric"},
        {"multi_strategy": "vector"},
        {"boosting": "dart"},
        {"subsample": 0.5},
        {"sampling": "gradient", "subsample": 0.5},
        {"early_stopping": True},
    )
]
SETTINGS += [
    hr.GradientBoostingClassifier(**FEW, calibration="sigmoid"),
    hr.GradientBoostingRegressor(**FEW, calibration="conformal"),
    hr.DecisionTreeRegressor(splitter="exact"),
    hr.DecisionTreeRegressor(splitter="hist"),
    hr.DecisionTreeRegressor(splitter="random"),
    hr.DecisionTreeRegressor(min_samples_leaf=3),
    hr.DecisionTreeRegressor(min_weight_fraction_leaf=0.2),
    hr.RandomForestClassifier(**FEW, bootstrap=False),
    hr.BaggingRegressor(**FEW, bootstrap=False, max_samples=0.5),
    hr.AdaBoostClassifier(**FEW, algorithm="gentle"),
    hr.AdaBoostClassifier(n_estimators=8, algorithm="logit", max_depth=3),
    hr.AdaBoostClassifier(**FEW, algorithm="real", max_depth=3),
    hr.AdaBoostClassifier(**FEW, resample=True),
    hr.AdaBoostClassifier(**FEW, error_divisor="rows"),
    hr.StagewiseRegressor(**FEW, early_stopping=True),
    hr.SVR(kernel="linear"),
    hr.SVR(kernel="linear", tol=1e-8),
    hr.SVC(kernel="laplacian", gamma="auto"),
    hr.SVC(kernel="laplacian", gamma="auto", tol=1e-8),
    hr.SVC(kernel="laplacian", tol=1e-8),
    hr.SVC(kernel="poly"),
    hr.SVC(kernel="poly", tol=1e-8),
    hr.SVC(kernel="sigmoid", gamma="auto"),
    hr.SVC(kernel="sigmoid", gamma="auto", tol=1e-8),
    hr.NuSVR(kernel="linear"),
    hr.LinearSVC(),
    hr.LinearSVR(),
]


def name_of(estimator):
    return "".join(repr(estimator).split())


@pytest.mark.parametrize("estimator", SETTINGS, ids=name_of)
def test_on_sparse_data(estimator):
    run_check(estimator, named(check_sample_weight_equivalence_on_sparse_data, estimator))


@pytest.mark.parametrize(
    "estimator", [e for e in SETTINGS if not isinstance(e, hr.SVC | hr.SVR | hr.NuSVR)], ids=name_of
)
def test_on_dense_data(estimator):
    run_check(estimator, named(check_sample_weight_equivalence_on_dense_data, estimator))


@pytest.mark.parametrize("max_depth", [1, 3])
def test_classes_of_gentle_adaboost(max_depth):
    estimator = hr.AdaBoostClassifier(algorithm="gentle", max_depth=max_depth)
    run_check(estimator, named(check_class_weight_classifiers, estimator))


def named(check, estimator):
    """Return a check as `estimator_checks_generator` passes it on."""
    return partial(check, type(estimator).__name__)
