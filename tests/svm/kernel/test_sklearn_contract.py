"""scikit-learn's own checks of the kernel machines."""

from contract import parametrize_with_checks, run_check
from hedgerow._svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM


@parametrize_with_checks(
    [
        SVC(),
        SVC(probability=True, gamma=0.5),
        SVC(multi_class="ovr", gamma=0.5, tol=1e-10),
        SVC(kernel="precomputed"),
        SVC(kernel="linear", tol=1e-9),
        NuSVC(),
        SVR(),
        SVR(gamma=0.5, tol=1e-10),
        SVR(kernel="precomputed"),
        NuSVR(),
        NuSVR(gamma=0.5, tol=1e-10),
        OneClassSVM(),
    ]
)
def test_scikit_learn_check(estimator, check):
    run_check(estimator, check)
