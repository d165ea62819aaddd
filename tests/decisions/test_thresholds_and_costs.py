"""Thresholds that are applied, costs of many classes, and thresholds by cross-validation."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.datasets import load_iris, make_classification

import hedgerow as hr
from contract import parametrize_with_checks, run_check
from hedgerow.exceptions import DataError, ParameterError

mpl.use("Agg")

X, NUMBER = make_classification(300, 5, flip_y=0.15, weights=[0.85], random_state=0)
Y = np.array(["common", "rare"])[NUMBER]
TREE = hr.DecisionTreeClassifier(max_depth=4)
FOREST = hr.RandomForestClassifier(n_estimators=10, min_samples_leaf=5)
WEIGHTS = np.random.default_rng(0).uniform(0.5, 2.0, 300)


@parametrize_with_checks(
    [
        hr.DecisionClassifier(hr.DecisionTreeClassifier(max_depth=3)),
    ]
)
@pytest.mark.filterwarnings("default")
def test_scikit_learn_check(estimator, check):
    run_check(estimator, check)


@pytest.mark.parametrize("pos_label", [None, "rare", "common"])
@pytest.mark.parametrize("threshold", [0.0, 0.2, 0.5, 1.0])
def test_a_threshold_is_applied_to_the_positive_class(threshold, pos_label):
    model = hr.DecisionClassifier(TREE, decision_threshold=threshold, pos_label=pos_label)
    p = model.fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(
        p, hr.DecisionTreeClassifier(max_depth=4).fit(X, Y).predict_proba(X)
    )
    positive = 0 if pos_label == "common" else 1
    expected = np.where(p[:, positive] >= threshold, positive, 1 - positive)
    np.testing.assert_array_equal(model.predict(X), model.classes_[expected])


def test_costs_of_many_classes_give_the_decision_of_least_expected_cost():
    X, y = load_iris(return_X_y=True)
    costs = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [30.0, 10.0, -1.0]])
    model = hr.DecisionClassifier(FOREST, cost_matrix=costs).fit(X, y)
    p = model.predict_proba(X)
    expected = [[sum(row[i] * costs[i, j] for i in range(3)) for j in range(3)] for row in p]
    np.testing.assert_allclose(model.expected_costs(X), expected)
    np.testing.assert_array_equal(model.predict(X), np.argmin(expected, axis=1))


def test_costs_of_two_errors_are_a_threshold():
    costs = hr.DecisionClassifier(FOREST, cost_matrix=[[0, 1], [4, 0]]).fit(X, Y)
    threshold = hr.DecisionClassifier(FOREST, decision_threshold=1 / 5).fit(X, Y)
    p = threshold.predict_proba(X)[:, 1]
    apart = np.abs(p - 0.2) > 1e-9  # at the threshold both decisions cost the same
    np.testing.assert_array_equal(costs.predict(X)[apart], threshold.predict(X)[apart])


def test_without_a_rule_the_most_probable_class_is_predicted():
    model = hr.DecisionClassifier(FOREST).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), model.estimator_.predict(X))
    np.testing.assert_allclose(model.expected_costs(X), 1 - model.predict_proba(X))


def test_rules_are_saved(tmp_path):
    for number, rule in enumerate(({"decision_threshold": 0.3}, {"cost_matrix": [[0, 1], [4, 0]]})):
        model = hr.DecisionClassifier(FOREST, **rule).fit(X, Y, sample_weight=WEIGHTS)
        model.save(tmp_path / f"{number}.hedgerow")
        read = hr.load(tmp_path / f"{number}.hedgerow")
        np.testing.assert_array_equal(read.predict(X), model.predict(X))
        assert read.get_params()["decision_threshold"] == rule.get("decision_threshold")


METRICS = {
    "g_mean": lambda y, p, w: np.sqrt(
        sk.recall_score(y, p, sample_weight=w) * sk.recall_score(y, p, pos_label=0, sample_weight=w)
    ),
    "balanced_accuracy": lambda y, p, w: sk.balanced_accuracy_score(y, p, sample_weight=w),
    "f1": lambda y, p, w: sk.f1_score(y, p, sample_weight=w),
    "mcc": lambda y, p, w: sk.matthews_corrcoef(y, p, sample_weight=w),
    "accuracy": lambda y, p, w: sk.accuracy_score(y, p, sample_weight=w),
}


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("metric", METRICS)
def test_the_tuned_threshold_is_the_best_on_the_holdouts(metric, weights):
    choice = hr.tune_threshold(TREE, X, Y, metric=metric, cv=3, sample_weight=weights)
    out = hr.cross_validate(TREE, X, Y, cv=3, sample_weight=weights, method="predict_proba")
    p = out.oof_prediction[:, 1]
    by_threshold = [METRICS[metric](NUMBER, p >= t, weights) for t in np.unique(p)]
    assert choice.best_value == pytest.approx(max(by_threshold))
    found = METRICS[metric](NUMBER, p >= choice.threshold, weights)
    assert found == pytest.approx(choice.best_value)


def test_the_tuned_threshold_may_minimise_costs():
    options = {"cost_false_positive": 1.0, "cost_false_negative": 6.0}
    choice = hr.tune_threshold(TREE, X, Y, cv=3, **options)
    p = hr.cross_validate(TREE, X, Y, cv=3).oof_prediction[:, 1]

    def cost(t):
        return ((p >= t) & (NUMBER == 0)).mean() + 6 * ((p < t) & (NUMBER == 1)).mean()

    assert choice.best_value == pytest.approx(min(cost(t) for t in [*np.unique(p), 2.0]))
    assert cost(choice.threshold) == pytest.approx(choice.best_value)


def test_a_choice_makes_a_classifier_and_a_picture():
    choice = hr.tune_threshold(FOREST, X, Y, cv=3, pos_label="rare")
    model = choice.classifier().fit(X, Y)
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(model.predict(X) == "rare", p >= choice.threshold)
    assert "ThresholdChoice: g_mean of RandomForestClassifier" in repr(choice)
    assert choice.plot().get_ylabel() == "g_mean"
    assert list(choice.to_frame()) == ["threshold", "g_mean"]


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"estimator": hr.LinearSVC()}, "must have predict_proba"),
        ({"decision_threshold": 1.5}, "decision_threshold=1.5"),
        ({"decision_threshold": 0.5, "cost_matrix": np.eye(2)}, "not both"),
        ({"decision_threshold": 0.5, "pos_label": "no"}, "pos_label='no'"),
        ({"cost_matrix": np.eye(3)}, "cost_matrix has shape"),
        ({"cost_matrix": [[0, np.nan], [1, 0]]}, "NaN or infinite"),
        ({"cost_matrix": [[0, 1], [1]]}, "a matrix of numbers"),
    ],
)
def test_rules_that_cannot_be_applied_are_refused(parameters, says):
    with pytest.raises(ParameterError, match=says):
        hr.DecisionClassifier(**{"estimator": TREE} | parameters).fit(X, Y)


def test_thresholds_are_for_two_classes():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ParameterError, match="is for two classes, but y has 3"):
        hr.DecisionClassifier(TREE, decision_threshold=0.5).fit(X, y)
    with pytest.raises(DataError, match="y has 3 classes"):
        hr.tune_threshold(TREE, X, y)
    with pytest.raises(ParameterError, match="metric='auc'"):
        hr.tune_threshold(TREE, X, y, metric="auc")
    with pytest.raises(ParameterError, match="pass both"):
        hr.tune_threshold(TREE, X, y, cost_false_positive=1.0)
