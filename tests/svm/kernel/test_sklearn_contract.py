"""scikit-learn's own checks of the kernel machines."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from hedgerow.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

WEIGHTS = tuple(f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse"))


def expected_failures(machine):
    """What scikit-learn expects of its own machines, too, of which ours do less."""
    failures = {}
    if machine.gamma == "scale" and machine.kernel == "rbf":
        failures = dict.fromkeys(WEIGHTS, "the variance behind gamma='scale' knows no weights")
    if getattr(machine, "probability", False):
        failures = dict.fromkeys(WEIGHTS, "repeated rows are in several folds")
    if isinstance(machine, OneClassSVM):
        failures = dict.fromkeys(WEIGHTS, "rows on the boundary are on either side of it")
    if isinstance(machine, NuSVC):
        checks = (*WEIGHTS, "check_class_weight_classifiers")
        failures = dict.fromkeys(checks, "nu=0.5 is infeasible with such weights")
    return failures


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
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
