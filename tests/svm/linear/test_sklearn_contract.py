"""scikit-learn's own checks of the linear machines."""

import pytest
import sklearn.svm
from sklearn.utils.estimator_checks import check_class_weight_classifiers

from contract import parametrize_with_checks, run_check
from hedgerow._svm import LinearSVC, LinearSVR


@parametrize_with_checks(
    [
        LinearSVC(),
        LinearSVC(loss="hinge"),
        LinearSVC(penalty="l1"),
        LinearSVC(multi_class="crammer_singer", max_iter=100),
        LinearSVC(dual=True),
        LinearSVC(fit_intercept=False),
        LinearSVR(),
        LinearSVR(loss="squared_epsilon_insensitive"),
    ]
)
# Crammer and Singer's machine stops early, which saves minutes and says so: the checks do not need
# the optimum.
@pytest.mark.filterwarnings("default", r"ignore:LinearSVC ended after 100 iterations")
def test_scikit_learn_check(estimator, check):
    run_check(estimator, check)


def test_scikit_learns_machine_without_intercept_fails_the_check_of_weights_too():
    for kind in (sklearn.svm.LinearSVC, LinearSVC):
        with pytest.raises(AssertionError):
            check_class_weight_classifiers("LinearSVC", kind(fit_intercept=False))
