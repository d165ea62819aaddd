"""scikit-learn's own checks of ensembles."""

import pytest

from contract import parametrize_with_checks, run_check
from hedgerow import (
    SVR,
    DecisionTreeClassifier,
    EnsembleClassifier,
    EnsembleRegressor,
    LinearSVC,
    LinearSVR,
)


@parametrize_with_checks(
    [
        EnsembleClassifier([("tree", DecisionTreeClassifier()), ("svm", LinearSVC())], cv=2),
        EnsembleRegressor([("svm", SVR()), ("linear", LinearSVR())], cv=2),
    ]
)
@pytest.mark.filterwarnings("default")
def test_scikit_learn_check(estimator, check):
    run_check(estimator, check)
