"""Metrics: the values scikit-learn gives, and the door for a user's function."""

# ruff: noqa: ARG005

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from hedgerow import (
    DataError,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ParameterError,
    RandomForestRegressor,
    cross_validate,
)
from hedgerow._boosting.losses import BinaryLogLoss, QuantileLoss, SquaredError, TweedieLoss
from hedgerow._boosting.metrics import CLASSIFICATION, REGRESSION, resolve_metrics

TWO, THREE = np.array(["a", "b"]), np.array(["a", "b", "c"])


def classification_case(seed, n_classes):
    rng = np.random.default_rng(seed)
    target = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 40)]).astype(float)
    p = rng.dirichlet(np.ones(n_classes), len(target))
    weights = rng.uniform(0.1, 2, len(target)) if seed % 2 else None
    return target, p[:, 1] if n_classes == 2 else p, weights


@given(st.integers(0, 2**31), st.integers(2, 4))
def test_log_loss_is_scikit_learn_s(seed, n_classes):
    target, p, w = classification_case(seed, n_classes)
    expected = sk.log_loss(target, p, sample_weight=w, labels=np.arange(n_classes))
    assert CLASSIFICATION["log_loss"][1](target, p, w) == pytest.approx(expected, rel=1e-12)


def test_log_loss_of_a_certain_mistake_is_finite():
    assert CLASSIFICATION["log_loss"][1](np.array([1.0]), np.array([0.0]), None) < 40


@given(st.integers(0, 2**31))
def test_rmse_is_scikit_learn_s(seed):
    rng = np.random.default_rng(seed)
    y, s, w = rng.normal(size=20), rng.normal(size=20), rng.uniform(0.1, 2, 20)
    expected = sk.root_mean_squared_error(y, s, sample_weight=w)
    assert REGRESSION["rmse"][1](y, s, w) == pytest.approx(expected, rel=1e-12)


REGRESSION_ORACLES = {
    "mse": sk.mean_squared_error,
    "mae": sk.mean_absolute_error,
    "mape": sk.mean_absolute_percentage_error,
    "median_absolute_error": sk.median_absolute_error,
    "r2": sk.r2_score,
    "rmsle": sk.root_mean_squared_log_error,
}


@pytest.mark.parametrize("name", REGRESSION_ORACLES)
@given(st.integers(0, 2**31))
def test_metrics_of_numbers_are_scikit_learn_s(name, seed):
    rng = np.random.default_rng(seed)
    y, s, w = rng.normal(size=20), rng.normal(size=20), rng.uniform(0.1, 2, 20)
    if name == "rmsle":
        y, s = np.expm1(y), np.expm1(s)
    for weights in (w, None):
        expected = REGRESSION_ORACLES[name](y, s, sample_weight=weights)
        assert REGRESSION[name][1](y, s, weights) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("power", [1.0, 1.1, 1.5, 1.9, 2.0])
@given(st.integers(0, 2**31))
def test_deviances_are_scikit_learn_s(power, seed):
    rng = np.random.default_rng(seed)
    y = rng.gamma(1.0, size=30) * (1.0 if power == 2.0 else rng.random(30) < 0.7)
    s, w = rng.gamma(1.0, size=30) + 1e-9, rng.uniform(0.1, 2, 30)
    loss = TweedieLoss(power)
    (metric,) = resolve_metrics(None, None, loss)
    expected = sk.mean_tweedie_deviance(y, s, sample_weight=w, power=power)
    assert metric.measure(y, s, w) == pytest.approx(expected, rel=1e-9)


def test_the_deviance_of_a_mean_that_underflows_is_no_error():
    for power in (1.0, 1.5, 2.0):
        (metric,) = resolve_metrics(None, None, TweedieLoss(power))
        assert metric.measure(np.ones(2), np.array([0.0, 1.0]), None) > 0.0


@pytest.mark.parametrize("levels", [(0.3,), (0.1, 0.5, 0.9)])
def test_the_pinball_loss_is_scikit_learn_s(levels):
    rng = np.random.default_rng(0)
    y, s, w = rng.normal(size=50), rng.normal(size=(50, len(levels))), rng.uniform(0.1, 2, 50)
    (metric,) = resolve_metrics(None, None, QuantileLoss(levels))
    expected = np.mean(
        [
            sk.mean_pinball_loss(y, column, sample_weight=w, alpha=level)
            for level, column in zip(levels, s.T, strict=True)
        ]
    )
    assert metric.measure(y, s[:, 0] if len(levels) == 1 else s, w) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "higher"), [("log_loss", False), ("accuracy", True), ("error", False)]
)
def test_means_over_rows_do_not_depend_on_where_blocks_are(name, higher):
    rng = np.random.default_rng(0)
    blocks = rng.random((3, 9, 1024))
    shuffled = blocks[:, rng.permutation(9)]
    at = [
        CLASSIFICATION[name][1]((y > 0.3).astype(float), p, w)
        for y, p, w in (blocks.reshape(3, -1), shuffled.reshape(3, -1))
    ]
    assert at[0] == at[1]
    assert CLASSIFICATION[name][0] == higher


ORACLES = {
    "auc": lambda y, p, w: sk.roc_auc_score(y, p, sample_weight=w),
    "average_precision": lambda y, p, w: sk.average_precision_score(y, p, sample_weight=w),
    "error": lambda y, p, w: 1 - sk.accuracy_score(y, p > 0.5, sample_weight=w),
    "accuracy": lambda y, p, w: sk.accuracy_score(y, p > 0.5, sample_weight=w),
    "balanced_accuracy": lambda y, p, w: sk.balanced_accuracy_score(y, p > 0.5, sample_weight=w),
    "g_mean": lambda y, p, w: np.sqrt(
        np.average((p > 0.5)[y == 1], weights=None if w is None else w[y == 1])
        * np.average((p <= 0.5)[y == 0], weights=None if w is None else w[y == 0])
    ),
    "f1": lambda y, p, w: sk.f1_score(y, p > 0.5, sample_weight=w),
    "macro_f1": lambda y, p, w: sk.f1_score(y, p > 0.5, sample_weight=w, average="macro"),
    "mcc": lambda y, p, w: sk.matthews_corrcoef(y, p > 0.5, sample_weight=w),
    "quadratic_kappa": lambda y, p, w: sk.cohen_kappa_score(
        y, p > 0.5, weights="quadratic", sample_weight=w
    ),
    "brier": lambda y, p, w: sk.brier_score_loss(y, p, sample_weight=w),
}


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("seed", [0, 1])
def test_metrics_of_two_classes_are_scikit_learn_s(name, seed):
    target, p, w = classification_case(seed, 2)
    assert CLASSIFICATION[name][1](target, p, w) == pytest.approx(ORACLES[name](target, p, w))


@given(st.integers(0, 2**31), st.integers(3, 5))
def test_metrics_of_ordered_and_of_rare_classes_are_scikit_learn_s(seed, n_classes):
    y, p, w = classification_case(seed, n_classes)
    labels = p.argmax(axis=1)
    options = {"labels": np.arange(n_classes), "weights": "quadratic", "sample_weight": w}
    expected = {
        "quadratic_kappa": sk.cohen_kappa_score(y, labels, **options),
        "macro_f1": sk.f1_score(y, labels, average="macro", sample_weight=w),
        "brier": np.average(((p - np.eye(n_classes)[y.astype(int)]) ** 2).sum(axis=1), weights=w),
    }
    for name, value in expected.items():
        assert CLASSIFICATION[name][1](y, p, w) == pytest.approx(value, rel=1e-12), name


def test_ties_are_labels_as_in_predict():
    tied = np.array([[0.4, 0.4, 0.2], [0.2, 0.4, 0.4]])
    for name in ("macro_f1", "quadratic_kappa"):
        measure = CLASSIFICATION[name][1]
        assert measure(np.array([0.0, 1.0]), tied, None) == 1.0
        assert measure(np.array([0.0, 1.0]), np.array([0.5, 0.6]), None) == 1.0


def test_the_kappa_of_a_single_class_is_not_a_number_and_no_warning():
    measure = CLASSIFICATION["quadratic_kappa"][1]
    assert np.isnan(measure(np.zeros(3), np.zeros(3), None))
    assert measure(np.array([0.0, 1.0, 0.0]), np.zeros(3), None) == 0.0


def test_rmsle_needs_numbers_above_minus_one_and_takes_predictions_that_are_not():
    measure = REGRESSION["rmsle"][1]
    assert np.isfinite(measure(np.zeros(2), np.array([-3.0, 0.0]), None))
    with pytest.raises(DataError, match="y contains -1, but the metric 'rmsle'"):
        measure(np.array([-1.0, 0.0]), np.zeros(2), None)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("f1_macro", "macro_f1"),
        ("brier_score_loss", "brier"),
        ("WKappa", "quadratic_kappa"),
        ("precision@10", "a metric for rankers"),
    ],
)
def test_the_names_of_other_libraries_are_answered_with_ours(name, hint):
    with pytest.raises(ParameterError, match=f"{hint}"):
        resolve_metrics(name, TWO, BinaryLogLoss())


def test_new_names_work_wherever_metrics_are_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.exp(X[:, 0])
    model = GradientBoostingRegressor(n_estimators=5, early_stopping=True, eval_metric="rmsle")
    assert list(model.fit(X, y).evals_result_["validation"]) == ["rmsle"]
    result = cross_validate(RandomForestRegressor(n_estimators=3), X, y, cv=2, scoring="rmsle")
    assert result.scores["rmsle"].shape == (2,)
    names = ["macro_f1", "quadratic_kappa", "brier"]
    classifier = GradientBoostingClassifier(n_estimators=3)
    result = cross_validate(classifier, X, np.digitize(y, [0.7, 1.5]), cv=2, scoring=names)
    assert list(result.scores) == names


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_every_metric_takes_more_classes_and_prefers_the_truth(name):
    target, p, w = classification_case(3, 3)
    higher_is_better, measure = CLASSIFICATION[name]
    perfect, guessed = measure(target, np.eye(3)[target.astype(int)], w), measure(target, p, w)
    assert perfect > guessed if higher_is_better else perfect < guessed


@pytest.mark.parametrize("name", REGRESSION)
def test_every_metric_of_numbers_prefers_the_truth(name):
    rng = np.random.default_rng(0)
    y, w = rng.uniform(1, 2, 30), rng.uniform(0.1, 1, 30)
    higher_is_better, measure = REGRESSION[name]
    perfect, guessed = measure(y, y, w), measure(y, y[::-1].copy(), w)
    assert perfect > guessed if higher_is_better else perfect < guessed


def test_an_unknown_name_is_an_error_that_lists_those_there_are():
    with pytest.raises(ParameterError, match=r"eval_metric='rsme' .* rmse, mse, mae"):
        resolve_metrics("rsme", None, SquaredError())


def test_a_wrong_metric_is_noticed_without_an_evaluation_set():
    with pytest.raises(ParameterError, match="eval_metric='rmse'"):
        GradientBoostingClassifier(eval_metric="rmse").fit([[0], [1]], [0, 1])


def test_a_scikit_learn_function_sees_the_labels_and_gets_the_right_direction():
    (metric,) = resolve_metrics(sk.roc_auc_score, TWO, BinaryLogLoss())
    target, p, w = classification_case(1, 2)
    assert metric.measure(target, p, w) == pytest.approx(
        sk.roc_auc_score(target, p, sample_weight=w)
    )
    assert metric.name == "roc_auc_score"
    assert metric.higher_is_better
    assert not resolve_metrics(sk.mean_squared_error, None, SquaredError())[0].higher_is_better


def test_a_function_may_name_itself_and_its_direction():
    (metric,) = resolve_metrics(
        lambda y, p: ("hits", (y == "b").sum(), True), THREE, BinaryLogLoss()
    )
    assert metric.measure(np.array([1.0, 1.0, 2.0]), np.ones((3, 3)), None) == 2.0
    assert (metric.name, metric.higher_is_better) == ("hits", True)


@pytest.mark.parametrize("returned", [None, "good", ("a", 1.0), (1.0, "a", True)])
def test_what_a_function_returns_is_checked(returned):
    (metric,) = resolve_metrics(lambda y, p: returned, None, SquaredError())
    with pytest.raises(ParameterError, match=r"^eval_metric: <lambda> returned"):
        metric.measure(np.zeros(2), np.zeros(2), None)
