"""Margins against votes counted row by row, and what is known of them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow import DataError, ParameterError, theory

CANCER = tuple(part[::3] for part in load_breast_cancer(return_X_y=True))
IRIS = load_iris(return_X_y=True)
STUMP = DecisionTreeClassifier(max_depth=1)
MODELS = [
    AdaBoostClassifier(n_estimators=12, random_state=0),
    AdaBoostClassifier(STUMP, n_estimators=12, learning_rate=0.5, random_state=0),
    BaggingClassifier(STUMP, n_estimators=12, max_features=0.6, random_state=0),
    BaggingClassifier(GaussianNB(), n_estimators=4, random_state=0),
    RandomForestClassifier(12, max_depth=2, random_state=0),
    ExtraTreesClassifier(12, max_depth=2, random_state=0),
    hr.RandomForestClassifier(n_estimators=12, max_depth=2),
    hr.ExtraTreesClassifier(n_estimators=12, max_depth=2),
]


def member_labels(model, X):
    """What each member predicts, in the model's own labels, one member at a time."""
    if hasattr(model, "predict_trees"):
        return [model.classes_[each] for each in model.predict_trees(X)]
    if isinstance(model, AdaBoostClassifier):
        return [member.predict(X) for member in model.estimators_]
    features = getattr(model, "estimators_features_", [slice(None)] * len(model.estimators_))
    return [
        model.classes_[member.predict(X[:, columns]).astype(int)]
        for member, columns in zip(model.estimators_, features, strict=True)
    ]


def naive_margins(model, X, y, n_members):
    labels = member_labels(model, X)[:n_members]
    weights = getattr(model, "estimator_weights_", np.ones(n_members))[:n_members]
    expected = []
    for i, right in enumerate(y):
        tally = dict.fromkeys(model.classes_.tolist(), 0.0)
        for labels_of_member, weight in zip(labels, weights, strict=True):
            tally[labels_of_member[i]] += weight
        best_other = max(count for label, count in tally.items() if label != right)
        expected.append((tally[right] - best_other) / sum(abs(w) for w in weights))
    return np.array(expected)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("data", [CANCER, IRIS], ids=["cancer", "iris"])
def test_margins_are_votes_counted_row_by_row(model, data):
    X, y = data
    y = np.array(["a", "b", "c"])[y]
    model = model.fit(X, y)
    n_members = len(member_labels(model, X))
    rounds = [1, 3, n_members]
    result = theory.margins(model, X, y, rounds=rounds)
    np.testing.assert_array_equal(result.rounds, rounds)
    for n, measured in zip(result.rounds, result.margins, strict=True):
        np.testing.assert_allclose(measured, naive_margins(model, X, y, n), atol=1e-12)


def test_of_two_classes_the_margin_is_the_normalised_sum():
    X, y = CANCER
    model = AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y)
    f = sum(
        alpha * np.where(member.predict(X) == 1, 1, -1)
        for member, alpha in zip(model.estimators_, model.estimator_weights_, strict=True)
    )
    expected = np.where(y == 1, 1, -1) * f / model.estimator_weights_.sum()
    result = theory.margins(model, X, y)
    np.testing.assert_allclose(result.margins[-1], expected, atol=1e-12)
    wrong = model.predict(X) != y
    assert (result.margins[-1][wrong] <= 0).all()
    assert (result.margins[-1][~wrong] >= 0).all()


def test_boosting_goes_on_widening_margins_when_no_error_is_left():
    X, y = CANCER
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=100).fit(X, y)
    errors = [(predicted != y).mean() for predicted in model.staged_predict(X)]
    first_perfect = errors.index(0.0) + 1
    assert first_perfect < 50
    result = theory.margins(model, X, y, rounds=[first_perfect, 100])
    assert result.minimum[1] > result.minimum[0]
    np.testing.assert_array_equal(result.at_most(0.0), [0.0, 0.0])


def test_summaries_and_default_rounds():
    X, y = IRIS
    model = RandomForestClassifier(60, random_state=0).fit(X, y)
    result = theory.margins(model, X, y)
    np.testing.assert_array_equal(result.rounds, [1, 2, 5, 10, 20, 50, 60])
    assert result.margins.shape == (7, len(y))
    np.testing.assert_array_equal(result.minimum, result.margins.min(axis=1))
    np.testing.assert_allclose(result.quantile(0.5), np.median(result.margins, axis=1))
    assert result.quantile([0.1, 0.9]).shape == (2, 7)
    np.testing.assert_allclose(result.at_most(0.5), (result.margins <= 0.5).mean(axis=1))
    assert (np.abs(result.margins) <= 1).all()


def test_frames_are_taken_as_the_models_take_them():
    X, y = CANCER
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    for model in (
        AdaBoostClassifier(n_estimators=5, random_state=0),
        BaggingClassifier(n_estimators=5, random_state=0),
        RandomForestClassifier(5, random_state=0),
        hr.RandomForestClassifier(n_estimators=5),
    ):
        of_frame = theory.margins(model.fit(frame, y), frame, y)
        of_array = theory.margins(model.fit(X, y), X, y)
        np.testing.assert_allclose(of_frame.margins, of_array.margins)


@pytest.mark.parametrize("rounds", [[], [0], [13], [1.5], 3, [[1, 2]]])
def test_rounds_that_never_were_are_refused(rounds):
    X, y = IRIS
    model = RandomForestClassifier(12, random_state=0).fit(X, y)
    with pytest.raises(ParameterError, match="ints from 1 to 12"):
        theory.margins(model, X, y, rounds=rounds)


def test_models_without_votes_are_refused():
    X, y = IRIS
    with pytest.raises(NotFittedError):
        theory.margins(RandomForestClassifier(), X, y)
    with pytest.raises(NotFittedError):
        theory.margins(hr.RandomForestClassifier(), X, y)
    for model in (
        SVC().fit(X, y),
        hr.GradientBoostingClassifier(n_estimators=2).fit(X, y),
        RandomForestRegressor(2).fit(X, y),
        hr.RandomForestRegressor(n_estimators=2).fit(X, y),
    ):
        with pytest.raises(ParameterError, match="is not a random forest"):
            theory.margins(model, X, y)
    two_outputs = RandomForestClassifier(3).fit(X, np.stack([y, y], axis=1))
    with pytest.raises(ParameterError, match="more than one output"):
        theory.margins(two_outputs, X, y)
    model = RandomForestClassifier(3).fit(X, y)
    with pytest.raises(DataError, match="y has 3 values"):
        theory.margins(model, X, y[:3])
    with pytest.raises(DataError, match="not among the classes"):
        theory.margins(model, X, y + 7)
