"""GradientBoostingSurvival: what it learns, its curves, scikit-learn's contract."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer
from sklearn.model_selection import cross_val_score

import hedgerow as hr
from contract import parametrize_with_checks, run_check

RNG = np.random.default_rng(0)
N = 1_500
X = RNG.normal(size=(N, 4))
X[RNG.random(X.shape) < 0.03] = np.nan
SIGNAL = np.nan_to_num(X[:, 0]) + np.sin(2 * np.nan_to_num(X[:, 1]))
# Weibull times: hazards are proportional, and times accelerated by an extreme Z with scale ½.
TIME = np.exp(SIGNAL + 0.5 * np.log(RNG.exponential(size=N)))
UNTIL = np.exp(RNG.normal(1.0, 1.0, N))
Y = np.where(TIME < UNTIL, TIME, -UNTIL)
BOUNDS = np.column_stack([np.minimum(TIME, UNTIL), np.where(TIME < UNTIL, TIME, np.inf)])
SMALL = {"n_estimators": 10, "max_leaves": 6, "n_jobs": 1}
MODELS = [
    {"loss": "cox"},
    {"loss": "cox", "ties": "breslow"},
    *({"loss": "aft", "aft_distribution": d} for d in ("normal", "logistic", "extreme")),
    {"loss": "aft", "aft_scale": 0.7},
]


def model_of(**parameters):
    return hr.GradientBoostingSurvival(**SMALL | parameters)


@pytest.fixture(scope="module", params=MODELS, ids=str)
def fitted(request):
    return model_of(**request.param, n_estimators=40).fit(X, Y)


@parametrize_with_checks([hr.GradientBoostingSurvival(n_estimators=10)])
@pytest.mark.filterwarnings("default", "ignore::hedgerow.NoSplitWarning")
def test_scikit_learn_check(estimator, check):
    run_check(estimator, check)


# What it learns


@pytest.mark.parametrize("splitter", ["hist", "exact"])
@pytest.mark.parametrize("parameters", MODELS, ids=str)
def test_every_model_learns_who_survives_longer(parameters, splitter):
    model = model_of(**parameters, splitter=splitter, n_estimators=40).fit(X[:1000], BOUNDS[:1000])
    assert model.score(X[1000:], BOUNDS[1000:]) > 0.8


def test_the_loss_of_the_training_rows_falls(fitted):
    model = clone(fitted).fit(X, Y, eval_set=[(X, Y)])
    (history,) = model.evals_result_["eval_0"].values()
    assert (np.diff(history) < 0.0).all()


def test_a_scale_that_is_found_comes_near_the_true_one():
    model = model_of(loss="aft", aft_distribution="extreme", n_estimators=60).fit(X, BOUNDS)
    assert 0.35 < model.scale_ < 0.55
    assert model_of(loss="aft", aft_scale=0.7).fit(X, Y).scale_ == 0.7


def test_scales_of_many_rows_are_found_again_by_a_fit_that_was_broken_off(tmp_path):
    times = np.exp(np.tile(SIGNAL, 3) + np.log(RNG.exponential(size=3 * N)))
    table = np.tile(X, (3, 1))
    model, path = model_of(loss="aft"), tmp_path / "rounds"
    model_of(loss="aft", n_estimators=4).fit(table, times, checkpoint=path)
    resumed = clone(model).set_params(n_jobs=2).fit(table, times, checkpoint=path)
    whole = model.fit(table, times)
    assert resumed._model.ensemble == whole._model.ensemble
    assert resumed.scale_ == whole.scale_


@pytest.mark.parametrize("distribution", ["normal", "logistic", "extreme"])
def test_intervals_teach_nearly_as_much_as_times(distribution):
    """Every time is known only to lie between two visits, or before the first or after the last."""
    visits = np.append(0.0, np.exp(np.linspace(-2.0, 3.0, 12)))
    place = np.searchsorted(visits, TIME)
    upper = np.append(visits, np.inf)[place]
    y = np.column_stack([visits[place - 1], upper])
    assert np.isinf(upper).any()
    assert (y[:, 0] == 0.0).any()
    model = model_of(loss="aft", aft_distribution=distribution, n_estimators=40).fit(X, y)
    exact = model_of(loss="aft", aft_distribution=distribution, n_estimators=40).fit(X, TIME)
    assert model.score(X, TIME) > exact.score(X, TIME) - 0.01


@pytest.mark.parametrize("distribution", ["normal", "logistic", "extreme"])
def test_a_weight_of_two_is_a_row_twice(distribution):
    twice = np.arange(N) % 3 == 0
    options = {"loss": "aft", "aft_distribution": distribution, "n_estimators": 5}
    options |= {"min_samples_leaf": 1, "min_child_weight": 1.0, "max_bins": 250}
    weighted = model_of(**options).fit(X, Y, np.where(twice, 2.0, 1.0))
    repeated = model_of(**options).fit(np.vstack([X, X[twice]]), np.append(Y, Y[twice]))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-5, atol=1e-7)


# Curves


def test_curves_fall_from_one_and_hazards_rise_from_nothing(fitted):
    times = np.append(0.0, np.sort(RNG.exponential(3.0, 20)))
    survival = fitted.predict_survival_function(X, times)
    assert survival.shape == (N, 21)
    assert (survival[:, 0] == 1.0).all()
    assert (np.diff(survival, axis=1) <= 0.0).all()
    assert (survival >= 0.0).all()
    hazard = fitted.predict_cumulative_hazard(X, times)
    np.testing.assert_array_equal(np.exp(-hazard), survival)


@pytest.mark.parametrize("method", ["predict_survival_function", "predict_cumulative_hazard"])
def test_without_times_there_is_a_function_for_each_row(fitted, method):
    predict = getattr(fitted, method)
    times = np.append(0.0, np.sort(RNG.exponential(3.0, 20)))
    functions, expected = predict(X[:30]), predict(X[:30], times)
    assert functions.shape == (30,)
    np.testing.assert_array_equal([function(times) for function in functions], expected)
    assert functions[3](times[5]) == expected[3, 5]
    for function in functions[:3]:
        np.testing.assert_array_equal(function.y, function(function.x))
    copy = pickle.loads(pickle.dumps(functions[0]))
    np.testing.assert_array_equal(copy(times), expected[0])
    with pytest.raises(hr.DataError, match="times must be"):
        functions[0](-1.0)


def test_functions_of_time_have_all_steps_of_a_cox_model_and_percentiles_of_a_distribution():
    cox = model_of().fit(X, Y)
    (function,) = cox.predict_survival_function(X[:1])
    events = np.unique(BOUNDS[np.isfinite(BOUNDS[:, 1]), 0])
    np.testing.assert_array_equal(function.x, events)
    between = (events[1:] + events[:-1]) / 2
    np.testing.assert_array_equal(function(between), function.y[:-1])
    assert function(0.0) == 1.0
    assert function(2 * events[-1]) == function.y[-1]
    (function,) = model_of(loss="aft").fit(X, Y).predict_survival_function(X[:1])
    np.testing.assert_allclose(function.y, 1 - np.arange(1, 100) / 100, rtol=1e-9)


def test_scorers_of_scikit_survival_take_the_model():
    metrics = pytest.importorskip("sksurv.metrics")
    y = np.array([(t > 0, abs(t)) for t in Y], [("event", bool), ("time", float)])
    table, times = np.nan_to_num(X), np.quantile(np.abs(Y), [0.2, 0.4, 0.6])
    model = model_of(n_estimators=20)
    brier = metrics.as_integrated_brier_score_scorer(model, times=times).fit(table, y)
    survival = brier.estimator_.predict_survival_function(table, times)
    assert brier.score(table, y) == -metrics.integrated_brier_score(y, y, survival, times)
    assert brier.score(table, y) > -0.16
    auc = metrics.as_cumulative_dynamic_auc_scorer(model, times=times).fit(table, y)
    concordance = metrics.as_concordance_index_ipcw_scorer(model, tau=times[-1]).fit(table, y)
    assert min(auc.score(table, y), concordance.score(table, y)) > 0.8


def test_the_median_is_where_half_survive(fitted):
    median = fitted.predict_quantile(X)
    rows = np.flatnonzero(np.isfinite(median))[:20]
    after = [fitted.predict_survival_function(X[[row]], [median[row] * 1.0001]) for row in rows]
    before = [fitted.predict_survival_function(X[[row]], [median[row] * 0.9999]) for row in rows]
    assert np.max(after) <= 0.5 <= np.min(before)
    assert (fitted.predict_quantile(X, 0.2) <= median).all()


def test_the_mean_curve_is_that_of_kaplan_and_meier():
    """Of the right model, what it says of all rows together is what was seen of them."""
    order = np.argsort(BOUNDS[:, 0])
    time, observed = BOUNDS[order, 0], np.isfinite(BOUNDS[order, 1])
    kaplan_meier = np.cumprod(1.0 - observed / np.arange(N, 0, -1))
    at = np.array([0.3, 0.7, 1.0, 2.0, 4.0])
    expected = kaplan_meier[np.searchsorted(time, at, side="right") - 1]
    for parameters in ({"loss": "cox"}, {"loss": "aft", "aft_distribution": "extreme"}):
        model = model_of(**parameters, n_estimators=60).fit(X, Y)
        mean = model.predict_survival_function(X, at).mean(axis=0)
        np.testing.assert_allclose(mean, expected, atol=0.03)


def test_predictions_are_risks_or_times():
    cox, aft = model_of().fit(X, Y), model_of(loss="aft").fit(X, Y)
    assert np.corrcoef(cox.predict(X), SIGNAL)[0, 1] < -0.7
    assert np.corrcoef(np.log(aft.predict(X)), SIGNAL)[0, 1] > 0.7
    np.testing.assert_allclose(aft.predict(X), aft.predict_quantile(X), rtol=1e-12)
    times, hazard = cox.baseline_hazard_
    at_0 = cox.predict_cumulative_hazard(X[:1], times) / np.exp(cox.predict(X[:1]))
    np.testing.assert_allclose(at_0[0], hazard, rtol=1e-12)
    for model, name in ((cox, "scale_"), (aft, "baseline_hazard_")):
        assert not hasattr(model, name)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m: m.predict_survival_function(X, [-1.0]), hr.DataError, "times must be"),
        (lambda m: m.predict_survival_function(X, [np.nan]), hr.DataError, "times must be"),
        (lambda m: m.predict_survival_function(X, ["x"]), hr.DataError, "times contains strings"),
        (lambda m: m.predict_survival_function(X, 1.0), hr.DataError, "times should be a 1d"),
        (lambda m: m.predict_quantile(X, 1.0), hr.ParameterError, "quantile=1.0"),
        (lambda m: m.predict_quantile(X, None), hr.ParameterError, "quantile=None"),
    ],
)
def test_what_is_no_time_or_part_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(model_of(n_estimators=2).fit(X, Y))


# Targets and parameters


@pytest.mark.parametrize(
    ("y", "parameters", "message"),
    [
        (-np.abs(Y), {}, "y has no event"),
        (-np.abs(Y), {"loss": "aft"}, "all times are right-censored"),
        (np.column_stack([np.zeros(N), TIME]), {"loss": "aft"}, "all times are left-censored"),
        (np.column_stack([0.5 * TIME, TIME]), {}, "interval in row 0, but loss='cox'"),
        (np.where(np.arange(N) == 7, 0.0, TIME), {"loss": "aft"}, "y is 0 in row 7"),
        (Y[:-1], {}, "y has 1499 values"),
        (np.where(np.arange(N) == 3, np.nan, Y), {}, "missing or infinite in row 3"),
        (np.where(np.arange(N) == 3, np.inf, Y), {"loss": "aft"}, "missing or infinite in row 3"),
        (np.column_stack([-TIME, TIME]), {"loss": "aft"}, "a negative bound in row 0"),
    ],
)
def test_times_that_a_loss_cannot_learn_from_are_refused(y, parameters, message):
    with pytest.raises(hr.DataError, match=message):
        model_of(**parameters).fit(X, y)


@pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
@pytest.mark.parametrize("parameters", MODELS, ids=str)
@pytest.mark.parametrize(
    "y",
    [
        np.where(np.arange(N) == 5, 1.0, -TIME),
        np.where(np.arange(N) % 2, 1e300, 1e-300),
        np.full(N, 2.5),
    ],
    ids=["one event", "far apart", "all at once"],
)
def test_times_at_the_edge_give_finite_models(parameters, y):
    model = model_of(**parameters).fit(X, y)
    assert np.isfinite(np.log(model.predict(X)) if model.loss == "aft" else model.predict(X)).all()
    survival = model.predict_survival_function(X, [0.0, 1.0, 1e300, np.inf])
    assert ((survival >= 0.0) & (survival <= 1.0)).all()


@pytest.mark.parametrize(
    "parameters",
    [{"loss": "weibull"}, {"ties": "exact"}, {"aft_distribution": "cauchy"}, {"aft_scale": 0.0},
     {"aft_scale": "found"}],
)  # fmt: skip
def test_parameters_that_are_not_allowed_are_named(parameters):
    (name,) = parameters
    with pytest.raises(hr.ParameterError, match=f"{name}="):
        model_of(**parameters).fit(X, Y)


def test_scorers_are_refused():
    with pytest.raises(hr.ParameterError, match="is a scorer, which needs an estimator"):
        model_of(eval_metric=get_scorer("r2")).fit(X, Y)


def test_metrics_of_other_losses_are_refused():
    with pytest.raises(hr.ParameterError, match="eval_metric='aft_nloglik'"):
        model_of(eval_metric="aft_nloglik").fit(X, Y)


# Evaluation, files, contract


@pytest.mark.parametrize("loss", ["cox", "aft"])
def test_early_stopping_goes_back_to_the_best_round(loss):
    model = model_of(loss=loss, early_stopping=True, n_estimators=300, learning_rate=0.5)
    model.set_params(max_leaves=31).fit(X, Y)
    assert model.n_iter_ == model.best_iteration_ < 300
    assert model.best_score_ == min(model.evals_result_["validation"][f"{loss}_nloglik"])


def test_concordance_is_a_metric_and_the_score(fitted):
    model = clone(fitted).set_params(n_estimators=5, eval_metric="concordance")
    model.fit(X[:1000], Y[:1000], eval_set=[(X[1000:], Y[1000:])])
    history = model.evals_result_["eval_0"]["concordance"]
    assert history[-1] == pytest.approx(model.score(X[1000:], Y[1000:]), rel=1e-12)


def test_files_pickles_and_clones(fitted, tmp_path):
    fitted.save(tmp_path / "model.hedgerow")
    times = [0.0, 0.5, 2.0]
    for copy in (hr.load(tmp_path / "model.hedgerow"), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(copy.predict(X), fitted.predict(X))
        np.testing.assert_array_equal(
            copy.predict_survival_function(X, times), fitted.predict_survival_function(X, times)
        )
        np.testing.assert_array_equal(copy.predict_quantile(X), fitted.predict_quantile(X))
    unfitted = clone(fitted)
    assert unfitted.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        unfitted.predict_survival_function(X, times)


def test_a_warm_start_adds_rounds(fitted):
    model = clone(fitted).set_params(n_estimators=15, warm_start=True).fit(X, Y)
    model.set_params(n_estimators=40).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), fitted.predict(X), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.predict_quantile(X), fitted.predict_quantile(X), rtol=1e-7)


def test_structured_targets_in_cross_validation():
    y = np.empty(N, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = np.isfinite(BOUNDS[:, 1]), BOUNDS[:, 0]
    frame = pd.DataFrame({"event": y["event"], "time": y["time"]})
    scores = [cross_val_score(model_of(), X, target, cv=3) for target in (y, frame, BOUNDS, Y)]
    for others in scores[1:]:
        np.testing.assert_array_equal(others, scores[0])
    assert scores[0].min() > 0.75


def test_stages_end_with_the_prediction(fitted):
    stages = list(fitted.staged_predict(X))
    assert len(stages) == 40
    np.testing.assert_array_equal(stages[-1], fitted.predict(X))


def test_few_events_may_all_be_held_out():
    rng = np.random.RandomState(0)
    table, y = rng.normal(size=(300, 3)), -rng.uniform(1, 2, 300)
    y[:2] = 1.0
    model = hr.GradientBoostingSurvival(budget=0.1).fit(table, y)
    assert 0 < model.auto_.n_folds <= 2  # others hold no event out
    y[1] = -1.0
    assert model.fit(table, y).auto_.n_folds == 0
    assert np.isfinite(model.predict(table)).all()
    model.set_params(n_estimators=10, early_stopping=True)
    with pytest.raises(hr.DataError, match=r"early_stopping cannot split .* y has no event"):
        model.fit(table, y)


def test_events_without_weight_are_none():
    table, y = np.arange(20.0)[:, None], -np.arange(1.0, 21.0)
    y[3] = 4.0
    weights = np.ones(20)
    weights[3] = 0.0
    with pytest.raises(hr.DataError, match=r"sample_weight is 0 .* y has no event"):
        hr.GradientBoostingSurvival(n_estimators=3).fit(table, y, sample_weight=weights)
