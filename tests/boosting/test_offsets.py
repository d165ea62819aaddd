"""Offsets: what is added to the scores of each row, in fits, evaluations and predictions."""

import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit
from sklearn.metrics import log_loss, mean_poisson_deviance, r2_score
from threadpoolctl import threadpool_limits

import hedgerow as hr
from hedgerow._boosting.fit.dataset import Dataset
from hedgerow._boosting.fit.training_set import base_score_of
from hedgerow._contract import internals

RNG = np.random.default_rng(11)
N = 900
X = RNG.normal(size=(N, 4)).round(1)  # so few different numbers that bins do not depend on weights
SIGNAL = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] * (X[:, 2] > 0)
MEAN = np.exp(SIGNAL)
NUMBERS = SIGNAL + RNG.normal(0, 0.5, N)
COUNTS = RNG.poisson(MEAN).astype(float)
CLASSES = (RNG.random(N) < expit(2 * SIGNAL - 0.5)).astype(int)
THREE = np.digitize(NUMBERS, [-0.4, 0.6])
OFFSET = RNG.normal(0.3, 0.6, N)
WEIGHTS = RNG.uniform(0.5, 2.0, N)
QUERIES = np.repeat(np.arange(N // 10), 10)
TIMES = np.where(RNG.random(N) < 0.7, 1, -1) * RNG.exponential(MEAN)


def regressor(loss="squared_error", n_estimators=6, **options):
    return hr.GradientBoostingRegressor(loss=loss, n_estimators=n_estimators, **options)


def classifier(loss="log_loss", n_estimators=6, **options):
    return hr.GradientBoostingClassifier(loss=loss, n_estimators=n_estimators, **options)


def squared(y, scores):
    return scores - y, np.ones_like(scores)


CASES = {
    "squared_error": (regressor(), NUMBERS),
    "absolute_error": (regressor("absolute_error"), NUMBERS),
    "quantile": (regressor("quantile", quantile=0.8), NUMBERS),
    "quantiles": (regressor("quantile", quantile=[0.1, 0.5, 0.9]), NUMBERS),
    "expectile": (regressor("expectile", quantile=0.8), NUMBERS),
    "huber": (regressor("huber"), NUMBERS),
    "huber, fixed": (regressor("huber", delta=0.4), NUMBERS),
    "pseudo_huber": (regressor("pseudo_huber", delta=0.7), NUMBERS),
    "log_cosh": (regressor("log_cosh", delta=0.7), NUMBERS),
    "mape": (regressor("mape"), MEAN),
    "poisson": (regressor("poisson"), COUNTS),
    "gamma": (regressor("gamma"), MEAN),
    "tweedie": (regressor("tweedie", tweedie_power=1.4), COUNTS),
    "log_loss of numbers": (regressor("log_loss"), expit(NUMBERS)),
    "several outputs": (regressor(), np.column_stack([NUMBERS, COUNTS])),
    "vector leaves": (regressor(multi_strategy="vector"), np.column_stack([NUMBERS, COUNTS])),
    "function": (regressor(squared), NUMBERS),
    "formula": (regressor(hr.Loss(lambda y, f: np.log1p((y - f) ** 2))), NUMBERS),
    "two classes": (classifier(), CLASSES),
    "exponential": (classifier("exponential"), CLASSES),
    "hinge": (classifier("hinge"), CLASSES),
    "focal": (classifier("focal", focal_gamma=2.0), CLASSES),
    "three classes": (classifier(), THREE),
    "vector leaves of classes": (classifier(multi_strategy="vector"), THREE),
    "labels": (classifier(), np.column_stack([CLASSES, THREE == 1]).astype(int)),
    "probabilities": (classifier("cross_entropy"), np.eye(3)[THREE] * 0.7 + 0.1),
    "cox": (hr.GradientBoostingSurvival(n_estimators=6), TIMES),
    "aft": (hr.GradientBoostingSurvival(n_estimators=6, loss="aft"), TIMES),
    "ndcg": (hr.GradientBoostingRanker(n_estimators=6), THREE),
    "listwise": (hr.GradientBoostingRanker(n_estimators=6, loss="listwise"), THREE),
    "dart": (regressor("poisson", boosting="dart", drop_rate=0.5, skip_drop=0.0), COUNTS),
    "exact": (regressor("poisson", splitter="exact"), COUNTS),
    "linear leaves": (regressor("poisson", linear_leaves=True), COUNTS),
}


def options_of(model):
    return {"qid": QUERIES} if isinstance(model, hr.GradientBoostingRanker) else {}


def scores_of(model, rows=X, offset=None):
    return internals(model).scores(rows, offset=offset)


def bytes_of(model, folder):
    model.save(folder / "model")
    return (folder / "model").read_bytes()


def with_constant(model, constant):
    """The model with another base score."""
    moved, of_model = copy.copy(model), internals(model).model()
    ensemble = replace(of_model.ensemble, base_score=of_model.ensemble.base_score + constant)
    moved._model = replace(of_model, ensemble=ensemble)
    return moved


@pytest.mark.parametrize("name", [name for name in CASES if name != "dart"])  # which drops rounds
def test_an_offset_is_an_initial_model_with_these_scores(name):
    model, y = CASES[name]
    options = options_of(model)
    first = copy.copy(model).set_params(n_estimators=3).fit(X, y[::-1], **options)
    offset = scores_of(first)
    fitted = copy.copy(model).fit(X, y, offset=offset, **options)
    ensemble = internals(fitted).model().ensemble
    by_hand = with_constant(first, ensemble.base_score)
    continued = copy.copy(model).fit(X, y, init_model=by_hand, **options)
    trees = internals(continued).model().ensemble.trees()[first._model.ensemble.n_trees :]
    for tree, same in zip(internals(fitted).model().ensemble.trees(), trees, strict=True):
        np.testing.assert_array_equal(tree.feature, same.feature)
        np.testing.assert_allclose(tree.value, same.value, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(
        scores_of(fitted, offset=offset), scores_of(continued), rtol=1e-6, atol=1e-8
    )


def total_loss(name, offset):
    """The sum of a loss's values as a function of constants beside an offset, by its formula."""
    y = CASES[name][1]
    weights = WEIGHTS

    def at(constants):
        s = offset + constants
        r = y - s[:, 0] if np.ndim(y) == 1 else None
        signs = 2 * y - 1 if np.ndim(y) == 1 else None
        each = {
            "squared_error": lambda: r**2,
            "function": lambda: r**2,
            "absolute_error": lambda: np.abs(r),
            "quantile": lambda: np.where(r > 0, 0.8, -0.2) * r,
            "quantiles": lambda: sum(
                np.where(y - s[:, k] > 0, q, q - 1) * (y - s[:, k])
                for k, q in enumerate([0.1, 0.5, 0.9])
            ),
            "expectile": lambda: np.where(r > 0, 0.8, 0.2) * r**2,
            "huber, fixed": lambda: np.where(np.abs(r) < 0.4, r**2 / 2, 0.4 * (np.abs(r) - 0.2)),
            "pseudo_huber": lambda: np.sqrt(1 + (r / 0.7) ** 2),
            "log_cosh": lambda: np.log(np.cosh(r / 0.7)),
            "mape": lambda: np.abs(r) / np.maximum(np.abs(y), 1.0),
            "poisson": lambda: np.exp(s[:, 0]) - y * s[:, 0],
            "gamma": lambda: y * np.exp(-s[:, 0]) + s[:, 0],
            "tweedie": lambda: y * np.exp(-0.4 * s[:, 0]) / 0.4 + np.exp(0.6 * s[:, 0]) / 0.6,
            "log_loss of numbers": lambda: np.logaddexp(0, s[:, 0]) - y * s[:, 0],
            "several outputs": lambda: ((y - s) ** 2).sum(axis=1),
            "formula": lambda: np.log1p(r**2),
            "two classes": lambda: np.logaddexp(0, -signs * s[:, 0]),
            "exponential": lambda: np.exp(-signs * s[:, 0]),
            "hinge": lambda: np.maximum(0, 1 - signs * s[:, 0]),
            "focal": lambda: expit(-signs * s[:, 0]) ** 2 * np.logaddexp(0, -signs * s[:, 0]),
            "three classes": lambda: (
                np.logaddexp.reduce(s, axis=1) - np.take_along_axis(s, y[:, None], 1)[:, 0]
            ),
            "labels": lambda: np.logaddexp(0, (1 - 2 * y) * s).sum(axis=1),
            "probabilities": lambda: np.logaddexp.reduce(s, axis=1) - (y * s).sum(axis=1),
        }
        return float((weights * each[name]()).sum())

    return at


# Losses that are sums over rows; the base scores of other cases are the same, a median, or 0.
SUMS = ["squared_error", "absolute_error", "quantile", "quantiles", "expectile", "huber, fixed"]
SUMS += ["pseudo_huber", "log_cosh", "mape", "poisson", "gamma", "tweedie", "log_loss of numbers"]
SUMS += ["several outputs", "function", "formula", "two classes", "exponential", "hinge", "focal"]
SUMS += ["three classes", "labels", "probabilities"]
KINKS = ("absolute_error", "quantile", "quantiles", "mape", "hinge")


@pytest.mark.parametrize("name", SUMS)
def test_the_base_score_is_the_best_constant_beside_the_offset(name):
    model, y = CASES[name]
    n_scores = scores_of(copy.copy(model).fit(X, y)).shape[1]
    offset = np.column_stack([OFFSET * (k + 1) for k in range(n_scores)])
    fitted = copy.copy(model).fit(X, y, WEIGHTS, offset=offset)
    base = internals(fitted).model().ensemble.base_score
    loss = total_loss(name, offset)
    best = loss(base)
    for k in range(n_scores):
        step = 1e-4 * (np.arange(n_scores) == k)
        above, below = loss(base + step) - best, loss(base - step) - best
        assert min(above, below) >= -1e-9 * abs(best)
        if name not in KINKS:  # at the minimum of a parabola, both sides rise by the same
            assert above == pytest.approx(below, rel=1e-2)


def test_failure_times_divided_by_a_factor_are_an_offset():
    model = hr.GradientBoostingSurvival(loss="aft", n_estimators=15)
    beside = copy.copy(model).fit(X, TIMES, offset=OFFSET)
    divided = copy.copy(model).fit(X, TIMES * np.exp(-OFFSET))
    np.testing.assert_allclose(beside.predict(X), divided.predict(X), rtol=1e-6)
    assert beside.scale_ == pytest.approx(divided.scale_, rel=1e-6)
    np.testing.assert_allclose(
        beside.predict_quantile(X, 0.3, offset=OFFSET),
        divided.predict_quantile(X, 0.3) * np.exp(OFFSET),
        rtol=1e-6,
    )


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "expectile"])
def test_residuals_are_an_offset(loss):
    beside = regressor(loss, n_estimators=20).fit(X, NUMBERS, WEIGHTS, offset=OFFSET)
    residuals = regressor(loss, n_estimators=20).fit(X, NUMBERS - OFFSET, WEIGHTS)
    np.testing.assert_allclose(beside.predict(X), residuals.predict(X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("splitter", ["hist", "exact"])
def test_counts_with_log_exposures_are_rates_with_exposures_as_weights(splitter):
    exposure = RNG.uniform(1.0, 8.0, N)
    counts = RNG.poisson(exposure * MEAN)
    model = regressor("poisson", n_estimators=30, splitter=splitter)
    beside = copy.copy(model).fit(X, counts, offset=np.log(exposure))
    rates = copy.copy(model).fit(X, counts / exposure, exposure)
    np.testing.assert_allclose(beside.predict(X), rates.predict(X), rtol=1e-6)
    np.testing.assert_allclose(
        beside.predict(X, offset=np.log(exposure)), exposure * rates.predict(X), rtol=1e-6
    )


@pytest.mark.parametrize("name", CASES)
def test_an_offset_of_zeros_changes_nothing(name, tmp_path):
    model, y = CASES[name]
    options = options_of(model)
    without = copy.copy(model).fit(X, y, **options)
    zeros = np.zeros(scores_of(without).shape)
    if name in ("function", "formula"):
        beside = copy.copy(model).fit(X, y, offset=zeros)
        np.testing.assert_array_equal(scores_of(beside), scores_of(without))
        return
    beside = copy.copy(model).fit(X, y, offset=zeros, **options)
    assert bytes_of(beside, tmp_path) == bytes_of(without, tmp_path)
    np.testing.assert_array_equal(scores_of(beside, offset=zeros), scores_of(without))


@pytest.mark.parametrize("name", ["two classes", "three classes", "huber, fixed", "tweedie"])
def test_models_do_not_depend_on_threads_or_on_the_order_of_rows(name, tmp_path):
    model, y = CASES[name]
    n_scores = 3 if name == "three classes" else 1
    offset = np.column_stack([OFFSET * (k + 1) for k in range(n_scores)])
    order = RNG.permutation(N)
    files = []
    for n_jobs, rows in ((1, slice(None)), (3, slice(None)), (2, order)):
        with threadpool_limits(limits=3):
            fitted = copy.copy(model).set_params(n_jobs=n_jobs)
            fitted.fit(X[rows], y[rows], offset=offset[rows]).set_params(n_jobs=None)
            files.append(bytes_of(fitted, tmp_path))
    assert files[0] == files[1] == files[2]


def test_predictions_and_stages_add_the_offset():
    offset = np.column_stack([OFFSET, -OFFSET, 0.5 * OFFSET])
    model = classifier().fit(X, THREE, offset=offset)
    scores = model.decision_function(X, offset=offset)
    np.testing.assert_allclose(scores, model.decision_function(X) + offset, rtol=1e-12)
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X, offset=offset), p, rtol=1e-12)
    np.testing.assert_allclose(model.predict_log_proba(X, offset=offset), np.log(p), atol=1e-12)
    np.testing.assert_array_equal(model.predict(X, offset=offset), p.argmax(axis=1))
    assert model.score(X, THREE, offset=offset) == (p.argmax(axis=1) == THREE).mean()
    *_, last = model.staged_decision_function(X, offset=offset)
    np.testing.assert_array_equal(last, scores)
    *_, last = model.staged_predict_proba(X, offset=offset)
    np.testing.assert_array_equal(last, model.predict_proba(X, offset=offset))
    *_, last = model.staged_predict(X, offset=offset)
    np.testing.assert_array_equal(last, model.predict(X, offset=offset))
    np.testing.assert_array_equal(
        model[:2].decision_function(X, offset=offset),
        list(model.staged_decision_function(X, offset=offset))[1],
    )


def test_offsets_may_be_of_any_kind():
    model = regressor("poisson").fit(X, COUNTS, offset=OFFSET)
    expected = model.predict(X, offset=OFFSET)
    kinds = (list(OFFSET), pd.Series(OFFSET), pl.Series(OFFSET), OFFSET[:, None])
    for offset in kinds:
        np.testing.assert_array_equal(model.predict(X, offset=offset), expected)
    np.testing.assert_array_equal(
        model.predict(X, offset=0.5), model.predict(X, offset=np.full(N, 0.5))
    )
    three = np.column_stack([OFFSET, -OFFSET, 0.5 * OFFSET])
    model = classifier().fit(X, THREE, offset=pd.DataFrame(three))
    np.testing.assert_array_equal(
        model.predict_proba(X, offset=pl.DataFrame(three)), model.predict_proba(X, offset=three)
    )


@pytest.mark.parametrize("boosting", ["gradient", "dart"])
def test_metrics_of_evaluation_sets_use_their_offsets(boosting):
    train, test = slice(0, 600), slice(600, N)
    options = {"boosting": boosting} | ({"drop_rate": 0.5} if boosting == "dart" else {})
    model = regressor("poisson", n_estimators=12, **options)
    entry = (X[test], COUNTS[test], None, OFFSET[test])
    model.fit(X[train], COUNTS[train], offset=OFFSET[train], eval_set=[entry])
    predicted = model.predict(X[test], offset=OFFSET[test])
    *_, last = model.evals_result_["eval_0"]["poisson_deviance"]
    assert last == pytest.approx(mean_poisson_deviance(COUNTS[test], predicted), rel=1e-12)


def test_holdouts_of_early_stopping_and_calibration_take_their_offsets_along():
    offset = 3.0 * OFFSET
    y = (RNG.random(N) < expit(SIGNAL + offset)).astype(int)
    model = classifier(n_estimators=200, early_stopping=True, calibration="sigmoid")
    model.fit(X, y, offset=offset)
    assert log_loss(y, model.predict_proba(X, offset=offset)) < 0.45
    assert log_loss(y, model.predict_proba(X)) > 0.6
    again = classifier(n_estimators=20).fit(X, y, offset=offset)
    again.calibrate(X, y, offset=offset)
    assert log_loss(y, again.predict_proba(X, offset=offset)) < 0.45


def test_the_automatic_search_uses_offsets():
    offset = 2.0 * OFFSET
    y = NUMBERS + offset
    model = hr.GradientBoostingRegressor(random_state=0).fit(X, y, offset=offset)
    without = hr.GradientBoostingRegressor(random_state=0).fit(X, NUMBERS)
    assert model.auto_.n_members == without.auto_.n_members
    assert model.score(X, y, offset=offset) == pytest.approx(
        r2_score(y, without.predict(X) + offset), abs=0.01
    )


def test_intervals_are_those_of_residuals():
    model = regressor("squared_error", n_estimators=20)
    beside = copy.copy(model).fit(X, NUMBERS, offset=OFFSET)
    beside.calibrate(X[:300], NUMBERS[:300], offset=OFFSET[:300])
    residuals = copy.copy(model).fit(X, NUMBERS - OFFSET)
    residuals.calibrate(X[:300], (NUMBERS - OFFSET)[:300])
    np.testing.assert_allclose(
        beside.predict_interval(X, 0.8, offset=OFFSET),
        residuals.predict_interval(X, 0.8) + OFFSET[:, None],
        rtol=1e-6,
        atol=1e-8,
    )


def test_refitting_leaves_starts_from_the_offset():
    model = regressor("poisson", n_estimators=15).fit(X, COUNTS, offset=OFFSET)
    before = model.predict(X)
    model.refit(X, COUNTS, offset=OFFSET)
    np.testing.assert_allclose(model.predict(X), before, rtol=1e-6)
    model.refit(X, COUNTS)
    assert np.abs(model.predict(X) / before - 1).max() > 0.05


def test_survival_curves_use_the_offset():
    model = hr.GradientBoostingSurvival(n_estimators=10).fit(X, TIMES, offset=OFFSET)
    times = np.quantile(np.abs(TIMES), [0.2, 0.5])
    hazard = model.predict_cumulative_hazard(X, times, offset=OFFSET)
    factor = np.exp(OFFSET)[:, None]
    np.testing.assert_allclose(hazard, model.predict_cumulative_hazard(X, times) * factor)
    survival = model.predict_survival_function(X, times, offset=OFFSET)
    np.testing.assert_allclose(survival, np.exp(-hazard))
    assert survival.mean(axis=0) == pytest.approx([0.8, 0.5], abs=0.12)
    assert model.score(X, TIMES, offset=OFFSET) != model.score(X, TIMES)


def test_an_interrupted_fit_resumes_with_its_offset(tmp_path):
    model = regressor("poisson", n_estimators=20, subsample=0.7, random_state=0)
    expected = bytes_of(copy.copy(model).fit(X, COUNTS, offset=OFFSET), tmp_path)

    class Stop(Exception):  # noqa: N818
        pass

    def stop(info):
        if info.round == 12:
            raise Stop

    options = {"checkpoint": tmp_path / "rounds", "checkpoint_every": 1}
    with pytest.raises(Stop):
        copy.copy(model).fit(X, COUNTS, offset=OFFSET, callbacks=[stop], **options)
    with pytest.raises(hr.ParameterError, match="different data"):
        copy.copy(model).fit(X, COUNTS, offset=OFFSET + 0.1, **options)
    with pytest.raises(hr.ParameterError, match="different data"):
        copy.copy(model).fit(X, COUNTS, **options)
    resumed = copy.copy(model).fit(X, COUNTS, offset=OFFSET, **options)
    assert bytes_of(resumed, tmp_path) == expected


def test_a_warm_start_needs_the_offset_again(tmp_path):
    at_once = regressor("gamma", n_estimators=10).fit(X, MEAN, offset=OFFSET)
    warm = regressor("gamma", n_estimators=4, warm_start=True).fit(X, MEAN, offset=OFFSET)
    warm.set_params(n_estimators=10).fit(X, MEAN, offset=OFFSET).set_params(warm_start=False)
    assert bytes_of(warm, tmp_path) == bytes_of(at_once, tmp_path)


BAD = {
    "too few": (OFFSET[:-1], "899"),
    "two columns": (np.zeros((N, 2)), r"2 scores for each row.*one score.*\(n_rows,\)"),
    "missing": (np.where(np.arange(N) == 7, np.nan, OFFSET), "row 7"),
    "infinite": (np.where(np.arange(N) == 3, np.inf, OFFSET), "row 3"),
    "strings": (["a"] * N, "strings"),
    "huge": (np.full(N, 1e80), "1e\\+80"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_offsets_are_refused_by_name(name):
    offset, message = BAD[name]
    with pytest.raises(hr.DataError, match=f"offset.*{message}"):
        regressor().fit(X, NUMBERS, offset=offset)
    fitted = regressor().fit(X, NUMBERS)
    with pytest.raises(hr.DataError, match=f"offset.*{message}"):
        fitted.predict(X, offset=offset)
    with pytest.raises(hr.DataError, match=rf"eval_set\[0\]: .*offset.*{message}"):
        regressor().fit(X, NUMBERS, offset=OFFSET, eval_set=[(X, NUMBERS, None, offset)])


def test_an_offset_of_one_column_for_three_classes_is_refused():
    with pytest.raises(hr.DataError, match=r"one score for each row.*3 scores.*\(n_rows, 3\)"):
        classifier().fit(X, THREE, offset=OFFSET)


def test_an_evaluation_set_without_its_offset_is_refused():
    with pytest.raises(hr.DataError, match="'eval_0' has no offset"):
        regressor().fit(X, NUMBERS, offset=OFFSET, eval_set=[(X, NUMBERS)])


def test_offsets_that_overflow_the_loss_are_a_clear_error():
    offset = np.where(np.arange(N) < 10, 1e5, -1e5)
    with pytest.raises(hr.DataError, match="offset"):
        regressor("gamma").fit(X, MEAN, offset=offset)


def test_rows_of_weight_0_and_constant_offsets_do_not_move_predictions():
    model = regressor("poisson", n_estimators=10).fit(X, COUNTS, offset=np.full(N, 1.5))
    plain = regressor("poisson", n_estimators=10).fit(X, COUNTS)
    np.testing.assert_allclose(model.predict(X, offset=1.5), plain.predict(X), rtol=1e-9)


def test_the_base_score_of_a_loss_takes_any_dataset():
    loss = internals(regressor()).task.choose_loss(regressor("poisson"), None, 1)
    data = Dataset(None, COUNTS, None, offset=np.log(WEIGHTS)[:, None])
    assert base_score_of(loss, data)[0] == pytest.approx(np.log(COUNTS.sum() / WEIGHTS.sum()))
