"""scikit-learn's own checks of the linear machines."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from hedgerow.svm import LinearSVC, LinearSVR


@parametrize_with_checks(
    [
        LinearSVC(),
        LinearSVC(loss="hinge"),
        LinearSVC(penalty="l1"),
        LinearSVC(multi_class="crammer_singer"),
        LinearSVC(dual=True),
        LinearSVR(),
        LinearSVR(loss="squared_epsilon_insensitive"),
    ]
)
@pytest.mark.filterwarnings("default")
def test_scikit_learn_check(estimator, check):
    check(estimator)
