"""scikit-learn's own checks of the linear machines."""

import pytest
import sklearn.svm
from sklearn.utils.estimator_checks import check_class_weight_classifiers, parametrize_with_checks

from hedgerow.svm import LinearSVC, LinearSVR

# Two orders of descent end within the tolerance of each other, not within 1e-7: so scikit-learn
# expects these of its own machines, too.
INEXACT = {
    f"check_sample_weight_equivalence_on_{kind}_data": "coordinate descent stops at its tolerance"
    for kind in ("dense", "sparse")
}
# Two noisy clouds around the origin: no line through it has nine of ten rows on one side, whatever
# the classes weigh. scikit-learn's machine fails the same way.
THROUGH_ORIGIN = {"check_class_weight_classifiers": "the line must go through the origin"}


def expected_failures(machine):
    changed = {"dual": True, "penalty": "l1", "multi_class": "crammer_singer"}
    is_descent = any(getattr(machine, name, None) == value for name, value in changed.items())
    return (INEXACT if is_descent else {}) | ({} if machine.fit_intercept else THROUGH_ORIGIN)


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
    ],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("default")
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_scikit_learns_machine_without_intercept_fails_the_check_of_weights_too():
    for kind in (sklearn.svm.LinearSVC, LinearSVC):
        with pytest.raises(AssertionError):
            check_class_weight_classifiers("LinearSVC", kind(fit_intercept=False))
