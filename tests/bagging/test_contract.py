"""scikit-learn's own checks of bagging, and the tools that users put around it."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from contract import parametrize_with_checks, run_check
from hedgerow._bagging import BaggingClassifier, BaggingRegressor
from hedgerow._tree.decision_tree import DecisionTreeClassifier


@parametrize_with_checks(
    [
        BaggingClassifier(n_estimators=5),
        BaggingClassifier(n_estimators=5, bootstrap=False, voting="hard"),
        BaggingClassifier(n_estimators=5, max_features=0.7),
        BaggingClassifier(LogisticRegression(), 2, bootstrap=False),
        BaggingClassifier(KNeighborsClassifier(), 5),
        BaggingRegressor(n_estimators=5),
        BaggingRegressor(n_estimators=5, bootstrap=False, max_features=0.7),
        BaggingRegressor(Ridge(), 5, bootstrap_features=True),
    ]
)
@pytest.mark.filterwarnings("default")
def test_scikit_learn_check(estimator, check):
    run_check(estimator, check)


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


def test_clone_has_the_parameters_and_not_the_model(cancer):
    bag = BaggingClassifier(GaussianNB(), 3).fit(*cancer)
    copy = clone(bag)
    assert copy.get_params().keys() == bag.get_params().keys()
    assert copy.estimator is not bag.estimator
    assert not hasattr(copy, "estimators_")
    with pytest.raises(NotFittedError):
        copy.predict(cancer[0])


def test_parameters_of_the_estimator_are_the_bags():
    bag = BaggingClassifier(DecisionTreeClassifier()).set_params(estimator__max_depth=2)
    X, y = load_iris(return_X_y=True)
    assert {tree.get_depth() for tree in bag.fit(X, y).estimators_} <= {1, 2}


def test_a_grid_search_in_a_pipeline(cancer):
    pipeline = make_pipeline(StandardScaler(), BaggingClassifier(KNeighborsClassifier(), 3))
    grid = {"baggingclassifier__estimator__n_neighbors": [1, 5]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(*cancer)
    assert search.best_score_ > 0.9


@pytest.mark.parametrize("estimator", [None, GaussianNB()])
def test_a_pickle_predicts_the_same(cancer, estimator):
    X, y = cancer
    bag = BaggingClassifier(estimator, 4).fit(X, y)
    again = pickle.loads(pickle.dumps(bag))
    np.testing.assert_array_equal(again.predict_proba(X), bag.predict_proba(X))
    for mine, theirs in zip(again.estimators_samples_, bag.estimators_samples_, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_tags_are_those_of_the_estimator():
    tags = sklearn.utils.get_tags
    assert tags(BaggingClassifier()).input_tags.allow_nan
    assert not tags(BaggingClassifier(GaussianNB())).input_tags.allow_nan
    assert not tags(BaggingClassifier(GaussianNB())).input_tags.sparse
    assert tags(BaggingRegressor(Ridge())).target_tags.multi_output
    assert not tags(BaggingClassifier(GaussianNB())).target_tags.multi_output


def test_a_decision_function_is_there_if_the_estimator_has_one():
    assert hasattr(BaggingClassifier(LogisticRegression()), "decision_function")
    assert not hasattr(BaggingClassifier(GaussianNB()), "decision_function")
    assert not hasattr(BaggingClassifier(), "decision_function")


class Recorder(GaussianNB):
    """Keeps what `fit` was given."""

    def fit(self, X, y, sample_weight=None, note=None):
        self.fit_arguments_ = {"rows": len(X), "sample_weight": sample_weight, "note": note}
        return super().fit(X, y, sample_weight)


def test_sample_weight_is_routed_to_the_bag(cancer):
    X, y = cancer
    weights = (np.arange(len(y)) % 2).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        bag = BaggingClassifier(GaussianNB(), 3)
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            cross_validate(bag, X, y, cv=2, params={"sample_weight": weights})
        bag.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        results = cross_validate(
            bag, X, y, cv=2, params={"sample_weight": weights}, return_indices=True,
            return_estimator=True,
        )  # fmt: skip
    for fitted, rows in zip(results["estimator"], results["indices"]["train"], strict=True):
        for sample in fitted.estimators_samples_:
            assert (weights[rows][sample] == 1.0).all()


def test_other_metadata_is_routed_to_the_estimators(cancer):
    X, y = cancer
    notes = np.arange(len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        repeats = Recorder().set_fit_request(note=True, sample_weight=False)
        bag = BaggingClassifier(repeats, 3).fit(X, y, note=notes)
        for member, sample in zip(bag.estimators_, bag.estimators_samples_, strict=True):
            np.testing.assert_array_equal(member.fit_arguments_["note"], notes[sample])
            assert member.fit_arguments_["sample_weight"] is None
        weighs = Recorder().set_fit_request(note=True, sample_weight=True)
        bag = BaggingClassifier(weighs, 3).fit(X, y, note=notes)
        for member, sample in zip(bag.estimators_, bag.estimators_samples_, strict=True):
            rows, times = np.unique(sample, return_counts=True)
            np.testing.assert_array_equal(member.fit_arguments_["note"], notes[rows])
            np.testing.assert_array_equal(member.fit_arguments_["sample_weight"], times)


def test_metadata_needs_routing(cancer):
    with pytest.raises(ValueError, match="routing"):
        BaggingClassifier(Recorder(), 3).fit(*cancer, note=1)


def test_cross_validation_of_a_regressor():
    X, y = load_diabetes(return_X_y=True)
    scores = cross_validate(BaggingRegressor(n_estimators=30), X, y, cv=3)["test_score"]
    assert scores.mean() > 0.35
