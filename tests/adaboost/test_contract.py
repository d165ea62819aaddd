"""AdaBoost under scikit-learn's checks and tools, and what it says to wrong parameters and data."""

import inspect

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from contract import parametrize_with_checks, run_check
from hedgerow import DataError, ParameterError
from hedgerow._adaboost import AdaBoostClassifier, AdaBoostRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(100, 3))
NUMBERS = X[:, 0] + RNG.normal(size=100) * 0.3
TWO = (NUMBERS > 0).astype(int)


@parametrize_with_checks(
    [
        AdaBoostClassifier(n_estimators=10),
        # On the nine rows of a check of weights, two cuts of the third round are equally good.
        AdaBoostClassifier(algorithm="real", n_estimators=2),
        AdaBoostClassifier(algorithm="gentle", n_estimators=10),
        AdaBoostClassifier(algorithm="logit", n_estimators=10),
        AdaBoostClassifier(GaussianNB(), n_estimators=5),
        AdaBoostRegressor(n_estimators=10),
        AdaBoostRegressor(n_estimators=10, resample=False),
        AdaBoostRegressor(LinearRegression(), resample=False, n_estimators=5),
    ]
)
@pytest.mark.filterwarnings("default", "ignore:divide by zero:RuntimeWarning")
def test_scikit_learn_check(estimator, check):
    run_check(estimator, check)


@pytest.mark.parametrize("estimator", [AdaBoostClassifier, AdaBoostRegressor])
def test_declarations_are_the_signature(estimator):
    signature = inspect.signature(estimator).parameters
    declared = {parameter.name: parameter.default for parameter in estimator._parameters}
    assert list(declared.items()) == [(name, p.default) for name, p in signature.items()]
    for name in declared:
        assert f"\n{name} : " in estimator.__doc__


def test_clone_and_repr():
    model = AdaBoostClassifier(GaussianNB(), n_estimators=3).fit(X, TWO)
    copy = clone(model)
    assert copy.get_params()["estimator__var_smoothing"] == 1e-9
    assert not hasattr(copy, "classes_")
    assert repr(copy) == "AdaBoostClassifier(estimator=GaussianNB(), n_estimators=3)"


def test_grid_search_over_the_member_in_a_pipeline():
    rows, y = load_breast_cancer(return_X_y=True)
    model = AdaBoostClassifier(DecisionTreeClassifier(), n_estimators=5)
    grid = {"adaboostclassifier__estimator__max_depth": [1, 2]}
    search = GridSearchCV(make_pipeline(StandardScaler(), model), grid, cv=3).fit(rows, y)
    assert search.best_score_ > 0.9


def test_sample_weight_is_routed():
    weights = np.where(np.arange(100) < 50, 1.0, 0.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = AdaBoostClassifier(n_estimators=3).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=False)
        params = {"sample_weight": weights}
        results = cross_validate(model, X, TWO, cv=2, params=params, return_estimator=True)
    assert all(len(fitted.estimators_) for fitted in results["estimator"])


def test_weights_reach_the_end_of_a_pipeline_by_routing():
    end = LogisticRegression()
    pipeline = make_pipeline(StandardScaler(), end)
    with pytest.raises(ParameterError, match=r"not support sample_weight in fit.*resample=True"):
        AdaBoostClassifier(pipeline).fit(X, TWO)
    with sklearn.config_context(enable_metadata_routing=True):
        end.set_fit_request(sample_weight=True)
        routed = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), end)
        model = AdaBoostClassifier(routed, n_estimators=3).fit(X, TWO)
        assert model.score(X, TWO) > 0.8
    resampled = AdaBoostClassifier(pipeline, n_estimators=3, resample=True).fit(X, TWO)
    assert resampled.score(X, TWO) > 0.8


class Untouchable:
    """A table that fails when it is looked at."""

    def __getattribute__(self, name):
        raise AssertionError("the table was touched")


SHARED = [
    ("estimator", "tree"),
    ("estimator", DecisionTreeClassifier),
    ("n_estimators", 0),
    ("n_estimators", 2.0),
    ("learning_rate", 0.0),
    ("learning_rate", np.inf),
    ("learning_rate", 1e7),
    ("resample", "yes"),
    ("max_depth", 0),
    ("max_leaves", 1),
    ("min_samples_leaf", 0),
    ("max_bins", 256),
    ("categorical_features", 3),
    ("unknown_category", None),
    ("subsample_for_bin", 0),
    ("random_state", -1),
    ("n_jobs", 0),
]
NOT_ALLOWED = [
    *((AdaBoostClassifier, *case) for case in SHARED),
    *((AdaBoostRegressor, *case) for case in SHARED),
    (AdaBoostClassifier, "algorithm", "samme"),
    (AdaBoostClassifier, "error_divisor", "N"),
    (AdaBoostRegressor, "loss", "huber"),
]


@pytest.mark.parametrize(("estimator", "name", "value"), NOT_ALLOWED)
def test_what_is_not_allowed_is_named_before_any_work(estimator, name, value):
    with pytest.raises(ParameterError, match=rf"^{name}=.* must be "):
        estimator(**{name: value}).fit(Untouchable(), Untouchable())


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (AdaBoostClassifier(LinearRegression()), "must be a classifier"),
        (AdaBoostClassifier(GaussianNB(), algorithm="gentle"), "must be a regressor"),
        (AdaBoostClassifier(GaussianNB(), algorithm="logit"), "must be a regressor"),
        (AdaBoostRegressor(GaussianNB()), "must be a regressor"),
        (AdaBoostClassifier(LinearSVC(), algorithm="real"), "must have predict_proba"),
        (AdaBoostClassifier(KNeighborsClassifier()), "does not support sample_weight"),
        (AdaBoostRegressor(KNeighborsRegressor(), resample=False), "not support sample_weight"),
        (AdaBoostClassifier(error_divisor="rows", algorithm="real"), "error_divisor='rows'"),
    ],
)
def test_parameters_that_do_not_go_together_are_named_before_any_work(model, message):
    with pytest.raises(ParameterError, match=message):
        model.fit(Untouchable(), Untouchable())


def test_samples_are_checked():
    drawing = AdaBoostClassifier(resample=True, n_estimators=2)
    with pytest.raises(ParameterError, match="samples needs resample=True"):
        AdaBoostClassifier().fit(X, TWO, samples=[[0]])
    for samples, message in (
        (3, "samples must be a list"),
        ([[0, 1]], "samples has 1 arrays, but there are n_estimators=2"),
        ([[0, 1], [0, 100]], r"samples\[1\] contains row numbers outside 0 … 99"),
        ([[0, 1], [0, -1]], r"samples\[1\] contains row numbers outside"),
        ([[0.5], [1]], r"samples\[0\] must be an array of row numbers"),
        ([[], [1]], r"samples\[0\] must be an array of row numbers"),
        ([[[0]], [1]], r"samples\[0\] must be an array of row numbers"),
    ):
        with pytest.raises(DataError, match=message):
            drawing.fit(X, TWO, samples=samples)


def test_samples_can_run_out():
    rows, y = np.arange(4.0)[:, None], [0, 1, 1, 1]
    with pytest.raises(DataError, match="All 1 samples have been used"):
        AdaBoostClassifier(resample=True, n_estimators=1).fit(rows, y, samples=[[0]])


BASES = {
    "bins": (None, None),
    "estimator": (DecisionTreeClassifier(max_depth=1), DecisionTreeRegressor(max_depth=1)),
}
BAD = {
    "no rows": (X[:0], TWO[:0], None, "0 sample"),
    "no columns": (X[:, :0], TWO, None, "0 feature"),
    "one dimension": (X[:, 0], TWO, None, "two dimensions|2D array"),
    "complex": (X + 1j, TWO, None, "Complex data not supported"),
    "no y": (X, None, None, "y is None"),
    "short y": (X, TWO[:-1], None, "y has 99 values, but X has 100 rows"),
    "NaN in y": (X, np.where(TWO, np.nan, 1.0), None, "y contains NaN"),
    "negative weight": (X, TWO, np.full(100, -1.0), "sample_weight is negative in row 0"),
    "zero weights": (X, TWO, np.zeros(100), "sample_weight is zero in every row"),
    "short weights": (X, TWO, np.ones(99), "sample_weight has 99 values"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("base", BASES)
def test_bad_data_is_named_and_harms_no_model(case, base):
    rows, y, weights, message = BAD[case]
    of_classes, of_numbers = BASES[base]
    for model in (AdaBoostClassifier(of_classes), AdaBoostRegressor(of_numbers)):
        model.set_params(n_estimators=3).fit(X, TWO)
        before = dict(vars(model))
        with pytest.raises(DataError, match=message):
            model.fit(rows, y, weights)
        assert vars(model) == before


def test_infinity_is_named():
    spoiled = np.where(np.arange(3) == 1, np.inf, X)
    with pytest.raises(DataError, match="column 1 contains infinity"):
        AdaBoostClassifier().fit(spoiled, TWO)


@pytest.mark.parametrize("y", [np.zeros(100), NUMBERS, np.full(100, "a")])
def test_a_target_without_classes_to_tell_apart_is_named(y):
    with pytest.raises(DataError, match="y "):
        AdaBoostClassifier().fit(X, y)


@pytest.mark.parametrize("base", BASES)
def test_other_columns_than_in_fit_are_named(base):
    model = AdaBoostClassifier(BASES[base][0], n_estimators=2).fit(X, TWO)
    with pytest.raises(DataError, match="X has 2 features, but AdaBoostClassifier is expecting 3"):
        model.predict(X[:, :2])


@pytest.mark.parametrize(
    "method",
    [
        *("predict", "predict_proba", "predict_log_proba", "decision_function"),
        *("staged_predict", "staged_predict_proba", "staged_decision_function"),
    ],
)
def test_an_estimator_that_is_not_fitted_says_so(method):
    with pytest.raises(NotFittedError, match="AdaBoostClassifier instance is not fitted"):
        getattr(AdaBoostClassifier(), method)(X)


@pytest.mark.parametrize("attribute", ["estimators_", "feature_importances_"])
@pytest.mark.parametrize("estimator", [AdaBoostClassifier, AdaBoostRegressor])
def test_members_of_an_estimator_that_is_not_fitted_are_not_there(estimator, attribute):
    with pytest.raises(NotFittedError):
        getattr(estimator(), attribute)


def test_a_class_without_weight_is_never_predicted():
    y = np.digitize(NUMBERS, [-0.5, 0.5])
    for algorithm in ("SAMME", "real", "gentle", "logit"):
        model = AdaBoostClassifier(algorithm=algorithm).fit(X, y, (y != 1).astype(float))
        assert set(model.predict(X)) <= {0, 2}
        assert np.isfinite(model.predict_proba(X)).all()
