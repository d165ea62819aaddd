"""Curves over thresholds are scikit-learn's, and the cheapest threshold is the cheapest."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)
from sklearn.svm import LinearSVC as SklearnLinearSVC

import hedgerow as hr
from hedgerow._curves import wilson_interval
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot import CalibrationDisplay, PrecisionRecallDisplay, RocDisplay
from oracles.pictures import assert_no_overlap, texts_of

mpl.use("Agg")
import matplotlib.pyplot as plt

RNG = np.random.RandomState(0)
X, NUMBER = make_classification(400, 6, flip_y=0.2, weights=[0.7], random_state=0)
Y = np.array(["healthy", "ill"])[NUMBER]
MODEL = hr.GradientBoostingClassifier(n_estimators=20, max_leaves=4).fit(X[:200], Y[:200])
P = MODEL.predict_proba(X)[:, 1]
WEIGHT = RNG.uniform(0.1, 3.0, 400)
COSTS = {"cost_false_positive": 1.0, "cost_false_negative": 4.0}


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def cost_of(threshold, score, weight=None):
    """Count what deciding by a threshold costs, row by row."""
    weight = np.ones(len(score)) if weight is None else weight
    called, ill = score >= threshold, NUMBER == 1
    cost = np.where(called & ~ill, 1.0, 0.0) + np.where(~called & ill, 4.0, 0.0)
    return np.average(cost, weights=weight)


# The curves.


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("score", [P, P.round(1)], ids=["distinct", "ties"])
def test_roc_is_that_of_scikit_learn(score, weight):
    display = RocDisplay.from_predictions(Y, score, sample_weight=weight)
    fpr, tpr, thresholds = roc_curve(NUMBER, score, sample_weight=weight, drop_intermediate=False)
    np.testing.assert_allclose(display.fpr, fpr, atol=1e-12)
    np.testing.assert_allclose(display.tpr, tpr, atol=1e-12)
    np.testing.assert_array_equal(display.thresholds, thresholds)
    expected = roc_auc_score(NUMBER, score, sample_weight=weight)
    assert display.roc_auc == pytest.approx(expected)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("score", [P, P.round(1)], ids=["distinct", "ties"])
def test_precision_and_recall_are_those_of_scikit_learn(score, weight):
    display = PrecisionRecallDisplay.from_predictions(Y, score, sample_weight=weight)
    precision, recall, thresholds = precision_recall_curve(NUMBER, score, sample_weight=weight)
    np.testing.assert_allclose(display.precision[::-1], precision, atol=1e-12)
    np.testing.assert_allclose(display.recall[::-1], recall, atol=1e-12)
    np.testing.assert_array_equal(display.thresholds[:0:-1], thresholds)
    expected = average_precision_score(NUMBER, score, sample_weight=weight)
    assert display.average_precision == pytest.approx(expected)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("n_bins", [5, 10])
def test_calibration_is_that_of_scikit_learn(strategy, n_bins):
    display = CalibrationDisplay.from_predictions(Y, P, n_bins=n_bins, strategy=strategy)
    prob_true, prob_pred = calibration_curve(NUMBER, P, n_bins=n_bins, strategy=strategy)
    np.testing.assert_allclose(display.prob_true, prob_true)
    np.testing.assert_allclose(display.prob_pred, prob_pred)
    assert display.brier_score == pytest.approx(brier_score_loss(NUMBER, P))
    assert display.counts.sum() == 400


def test_weights_count_as_repeated_rows_in_calibration():
    times = RNG.randint(1, 4, 400)
    weighted = CalibrationDisplay.from_predictions(Y, P, sample_weight=times)
    repeated = CalibrationDisplay.from_predictions(np.repeat(Y, times), np.repeat(P, times))
    np.testing.assert_allclose(weighted.prob_true, repeated.prob_true)
    np.testing.assert_allclose(weighted.ece, repeated.ece)
    np.testing.assert_allclose(weighted.brier_score, repeated.brier_score)


def test_the_calibration_error_is_the_mean_gap_over_rows():
    display = CalibrationDisplay.from_predictions(Y, P, n_bins=4)
    place = np.minimum((P * 4).astype(int), 3)
    gaps = [abs(P[place == b].mean() - NUMBER[place == b].mean()) for b in place]
    assert display.ece == pytest.approx(np.mean(gaps))


def test_wilson_intervals_hold_what_they_must():
    # Of 10 successes in 10, by the formula with z = 1.96: 1 / (1 + z² / 10).
    low, high = wilson_interval(np.array([1.0]), np.array([10.0]))
    assert low[0] == pytest.approx(1 / (1 + 1.959964**2 / 10), abs=1e-6)
    assert high[0] == pytest.approx(1.0)
    # The ends are where the score test is just not rejected.
    low, high = wilson_interval(np.array([0.3]), np.array([50.0]))
    for end in (low[0], high[0]):
        assert abs(0.3 - end) / np.sqrt(end * (1 - end) / 50) == pytest.approx(1.959964, abs=1e-5)


# Costs.


@pytest.mark.parametrize("draw", [RocDisplay, PrecisionRecallDisplay])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_the_cheapest_threshold_is_that_of_trying_them_all(draw, weight):
    display = draw.from_predictions(Y, P, sample_weight=weight, **COSTS)
    tried = [cost_of(t, P, weight) for t in [np.inf, *np.unique(P)]]
    chosen = display.operation.chosen
    assert chosen.cost == pytest.approx(min(tried))
    assert cost_of(chosen.threshold, P, weight) == pytest.approx(min(tried))
    assert display.operation.other.cost == pytest.approx(cost_of(0.5, P, weight))


def test_a_threshold_can_be_given():
    display = RocDisplay.from_estimator(MODEL, X, Y, threshold=0.3, **COSTS)
    chosen = display.operation.chosen
    assert chosen.cost == pytest.approx(cost_of(0.3, P))
    assert chosen.tpr == pytest.approx((P[NUMBER == 1] >= 0.3).mean())
    assert chosen.fpr == pytest.approx((P[NUMBER == 0] >= 0.3).mean())
    assert chosen.precision == pytest.approx(NUMBER[P >= 0.3].mean())
    without = RocDisplay.from_estimator(MODEL, X, Y)
    assert without.operation.chosen is None


def test_where_false_alarms_cost_too_much_nobody_is_called_positive():
    display = RocDisplay.from_predictions(
        Y, P.round(1), cost_false_positive=1e9, cost_false_negative=1.0
    )
    assert display.operation.chosen.threshold == np.inf
    assert display.operation.chosen.cost == pytest.approx(NUMBER.mean())
    assert any("none positive" in text.get_text() for text in texts_of(display.figure_))


# From estimators.


def test_the_estimator_and_its_predictions_give_the_same():
    one = RocDisplay.from_estimator(MODEL, X, Y)
    other = RocDisplay.from_predictions(Y, P)
    np.testing.assert_array_equal(one.fpr, other.fpr)
    assert one.estimator_name == "GradientBoostingClassifier"
    assert one.positive == other.positive == "ill"


def test_the_other_class_can_be_positive():
    display = RocDisplay.from_estimator(MODEL, X, Y, pos_label="healthy")
    assert display.positive == "healthy"
    assert display.roc_auc == pytest.approx(roc_auc_score(NUMBER, P))
    machine = SklearnLinearSVC().fit(X, Y)
    one = RocDisplay.from_estimator(machine, X, Y)
    other = RocDisplay.from_estimator(machine, X, Y, pos_label="healthy")
    assert one.roc_auc == pytest.approx(other.roc_auc)


def test_any_classifier_of_two_classes_will_do():
    model = LogisticRegression().fit(X, Y)
    display = CalibrationDisplay.from_estimator(model, X, Y)
    expected, _ = calibration_curve(NUMBER, model.predict_proba(X)[:, 1], n_bins=10)
    np.testing.assert_allclose(display.prob_true, expected)


# Drawing.


@pytest.mark.parametrize("draw", [RocDisplay, PrecisionRecallDisplay])
def test_curves_can_be_read(draw):
    for options in ({}, COSTS, {"threshold": 0.4}):
        display = draw.from_estimator(MODEL, X, Y, **options)
        assert_no_overlap(display.figure_)
    _, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    display = draw.from_estimator(MODEL, X, Y, ax=axes[0], **COSTS)
    assert display.ax_ is axes[0]
    assert_no_overlap(display.figure_)


def test_the_cost_is_said():
    display = RocDisplay.from_estimator(MODEL, X, Y, **COSTS)
    words = [text.get_text() for text in texts_of(display.figure_)]
    assert any(w.startswith("least cost: threshold") and w.endswith("per row") for w in words)


def test_a_reliability_diagram_can_be_read_and_has_its_histogram_below():
    display = CalibrationDisplay.from_estimator(MODEL, X, Y)
    assert_no_overlap(display.figure_)
    heights = [patch.get_height() for patch in display.histogram_ax_.patches]
    assert sum(heights) == 400
    assert display.histogram_ax_.get_position().y1 <= display.ax_.get_position().y0
    words = [text.get_text() for text in texts_of(display.figure_)]
    assert any("Brier" in w and "ECE" in w for w in words)


def test_panels_do_not_disturb_other_axes():
    figure, axes = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
    plt.sca(axes[1])
    display = CalibrationDisplay.from_estimator(MODEL, X, Y, ax=axes[0])
    assert plt.gca() is axes[1]
    assert display.figure_ is figure
    assert_no_overlap(figure)
    free = plt.figure(figsize=(6, 6)).add_axes((0.15, 0.15, 0.8, 0.75))
    display = CalibrationDisplay.from_estimator(MODEL, X, Y, ax=free)
    assert_no_overlap(display.figure_)


# Bad input.


@pytest.mark.parametrize("draw", [RocDisplay, PrecisionRecallDisplay, CalibrationDisplay])
def test_bad_input_is_refused_by_name(draw):
    with pytest.raises(NotFittedError):
        draw.from_estimator(hr.RandomForestClassifier(), X, Y)
    with pytest.raises(ParameterError, match="binary classifier"):
        draw.from_estimator(hr.DecisionTreeRegressor().fit(X, NUMBER), X, Y)
    with pytest.raises(ParameterError, match="pos_label='dead'"):
        draw.from_predictions(Y, P, pos_label="dead")
    with pytest.raises(DataError, match="no positive row"):
        draw.from_estimator(MODEL, X[NUMBER == 0], Y[NUMBER == 0])
    with pytest.raises(DataError, match="y has 3 values"):
        draw.from_estimator(MODEL, X, Y[:3])
    with pytest.raises(DataError, match="3 classes"):
        draw.from_predictions(np.arange(400) % 3, P)
    with pytest.raises(DataError, match="NaN"):
        draw.from_predictions(Y, np.where(P > 0.5, np.nan, P))
    with pytest.raises(ParameterError, match="ax has the type str"):
        draw.from_predictions(Y, P, ax="here")


def test_costs_come_in_pairs_and_are_not_negative():
    with pytest.raises(ParameterError, match="both cost_false_positive and cost_false_negative"):
        RocDisplay.from_predictions(Y, P, cost_false_positive=1.0)
    with pytest.raises(ParameterError, match="cost_false_negative=-1"):
        RocDisplay.from_predictions(Y, P, cost_false_positive=1.0, cost_false_negative=-1)
    with pytest.raises(ParameterError, match="threshold='high'"):
        RocDisplay.from_predictions(Y, P, threshold="high")


def test_calibration_needs_probabilities():
    with pytest.raises(DataError, match="outside of"):
        CalibrationDisplay.from_predictions(Y, 2 * P)
    with pytest.raises(ParameterError, match="no predict_proba"):
        CalibrationDisplay.from_estimator(SklearnLinearSVC().fit(X, Y), X, Y)
    with pytest.raises(ParameterError, match="n_bins=0"):
        CalibrationDisplay.from_predictions(Y, P, n_bins=0)
    with pytest.raises(ParameterError, match="strategy='even'"):
        CalibrationDisplay.from_predictions(Y, P, strategy="even")


@pytest.mark.parametrize("name", ["RocDisplay", "PrecisionRecallDisplay", "CalibrationDisplay"])
def test_long_names_of_classes_are_not_cut_off(name):
    y = np.array(["stays", "leaves the company within the next year"])[[0, 1, 1, 0, 1, 0]]
    draw = getattr(hr.plot, name).from_predictions
    display = draw(y, [0.1, 0.6, 0.9, 0.4, 0.3, 0.2], pos_label=y[1])
    assert_no_overlap(display.figure_)
