"""Gradient boosting with linear leaves: what it fits, what it keeps, where it is refused."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import root_mean_squared_error

import hedgerow as hr
from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor, ParameterError
from oracles import linear_leaves as oracle

RNG = np.random.default_rng(7)
N = 2_000
X = RNG.uniform(-2, 2, (N, 5))
BROKEN = np.where(X[:, 0] > 0, 3 * X[:, 0] + X[:, 1], 2 * X[:, 1] - X[:, 0])
Y = BROKEN + RNG.normal(0, 0.1, N)
GAPS = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
TRAIN, TEST = slice(0, N // 2), slice(N // 2, N)
SMALL = {"n_estimators": 12, "max_leaves": 6, "linear_leaves": True}


def regressor(**parameters):
    return GradientBoostingRegressor(**SMALL | parameters)


def classifier(**parameters):
    return GradientBoostingClassifier(**SMALL | parameters)


def rmse(model, rows=X, target=Y):
    return root_mean_squared_error(target[TEST], model.predict(rows[TEST]))


# What is fitted


@pytest.mark.parametrize("splitter", ["hist", "exact"])
def test_leaves_of_the_first_tree_are_ridges_on_their_paths(splitter):
    model = regressor(n_estimators=1, learning_rate=0.3, splitter=splitter, reg_lambda=2.0)
    ensemble = model.fit(GAPS, Y)._model.ensemble
    tree, node = ensemble.tree(0), model.apply(GAPS)[:, 0]
    residual = Y - ensemble.base_score[0]
    for leaf in np.flatnonzero(tree.feature < 0):
        own, features = node == leaf, oracle.path_features(tree, leaf)
        terms = slice(tree.slopes.start[leaf], tree.slopes.start[leaf + 1])
        assert tree.slopes.feature[terms].tolist() == features
        value, coefficient, _ = oracle.fit_leaf(
            GAPS[own][:, features], -residual[own], np.ones(own.sum()),
            reg_lambda=2.0, linear_lambda=1.0,
        )  # fmt: skip
        assert tree.value[leaf, 0] == pytest.approx(0.3 * value, rel=1e-9)
        np.testing.assert_allclose(tree.slopes.coefficient[terms, 0], 0.3 * coefficient, rtol=1e-7)


def test_gradients_are_taken_where_exponentials_lead():
    """A Poisson leaf takes its best value; its slopes are Newton's from there, not from 0."""
    counts = RNG.poisson(np.exp(1.0 + X[:, 0]))
    model = regressor(loss="poisson", n_estimators=1, learning_rate=1.0, linear_lambda=0.0)
    tree = model.fit(X, counts)._model.ensemble.tree(0)
    node, mean = model.apply(X)[:, 0], counts.mean()
    for leaf in np.flatnonzero(tree.feature < 0):
        own, features = node == leaf, oracle.path_features(tree, leaf)
        h = np.full(own.sum(), mean * np.exp(tree.value[leaf, 0]))
        _, coefficient, _ = oracle.fit_leaf(
            X[own][:, features], h - counts[own], h, reg_lambda=0.0, linear_lambda=0.0
        )
        terms = slice(tree.slopes.start[leaf], tree.slopes.start[leaf + 1])
        np.testing.assert_allclose(tree.slopes.coefficient[terms, 0], coefficient, rtol=1e-6)


def test_two_planes_are_fitted_by_one_small_tree():
    """Where a target is linear on both sides of a jump, eight leaves fit it but for rounding."""
    rows = X + 0.1 * np.sign(X)  # no row near the jump: bins need not find it exactly
    planes = np.where(X[:, 0] > 0, 9 + 3 * rows[:, 0] + rows[:, 1], 2 * rows[:, 1] - rows[:, 0])
    shape = {"max_leaves": 8, "n_estimators": 1, "learning_rate": 1.0, "reg_lambda": 0.0}
    errors = [
        rmse(regressor(**shape, **leaves).fit(rows[TRAIN], planes[TRAIN]), rows, planes)
        for leaves in ({"linear_lambda": 0.0}, {"linear_leaves": False})
    ]
    assert errors[0] < 1e-9 * planes.std()
    assert errors[1] > 0.1 * planes.std()


def test_a_straight_line_goes_on_a_tenth_beyond_the_rows_and_no_further():
    x = np.linspace(0, 1, 500)[:, None]
    model = regressor(n_estimators=200, max_leaves=2, linear_lambda=0.0).fit(x, 3.0 * x[:, 0])
    np.testing.assert_allclose(model.predict(x), 3.0 * x[:, 0], atol=0.01)
    beyond = model.predict([[1.03], [1.2], [50.0], [1e300]])
    assert beyond[0] == pytest.approx(3.09, abs=0.03)
    assert beyond[1] < 3.4
    assert (beyond[1:] == beyond[1]).all()


def test_without_numbers_leaves_are_constants():
    towns = pd.DataFrame({"town": RNG.choice(["Bonn", "Köln", "Ulm"], N)})
    y = (towns["town"] == "Ulm") + RNG.normal(0, 0.1, N)
    linear = regressor().fit(towns, y)
    assert linear._model.ensemble.slopes is None
    constant = regressor(linear_leaves=False).fit(towns, y)
    assert linear._model.ensemble == constant._model.ensemble


@pytest.mark.filterwarnings("ignore::hedgerow.DataWarning")
def test_categories_and_statistics_of_categories_live_beside_slopes():
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["town"] = RNG.choice(["Bonn", "Köln", "Ulm"], N)
    frame["street"] = np.char.add("street ", RNG.integers(0, 300, N).astype(str))
    y = np.where(frame["town"] == "Ulm", X[:, 0], -X[:, 0]) + Y
    model = regressor(n_estimators=40).fit(frame[TRAIN], y[TRAIN])
    assert 5 not in model._model.ensemble.slopes.feature
    constant = clone(model).set_params(linear_leaves=False).fit(frame[TRAIN], y[TRAIN])
    errors = [root_mean_squared_error(y[TEST], m.predict(frame[TEST])) for m in (model, constant)]
    assert errors[0] < errors[1]


def test_a_missing_number_adds_nothing():
    model = regressor(n_estimators=1, max_leaves=2).fit(GAPS, Y)
    tree = model._model.ensemble.tree(0)
    (feature,) = set(tree.slopes.feature.tolist())
    row = np.full((1, 5), np.nan)
    leaf = model.apply(row)[0, 0]
    start = model._model.ensemble.base_score[0]
    assert model.predict(row)[0] == start + tree.value[leaf, 0]
    other = np.zeros((1, 5))
    other[0, feature] = 1.0
    assert model.predict(other)[0] != start + tree.value[model.apply(other)[0, 0], 0]
    other[0, (feature + 1) % 5] = np.nan
    assert model.predict(other)[0] != start + tree.value[model.apply(other)[0, 0], 0]


@pytest.mark.parametrize("multi_strategy", ["separate", "vector"])
def test_several_outputs_gain_by_slopes(multi_strategy):
    both = np.column_stack([Y, -2.0 * Y])
    options = {"multi_strategy": multi_strategy, "n_estimators": 40}
    linear = regressor(**options).fit(X[TRAIN], both[TRAIN])
    constant = regressor(**options, linear_leaves=False).fit(X[TRAIN], both[TRAIN])
    assert rmse(linear, target=both) < 0.7 * rmse(constant, target=both)


def test_three_classes_gain_by_slopes():
    classes = np.digitize(Y, [-1.0, 2.0])
    for multi_strategy in ("separate", "vector"):
        losses = []
        for linear in (True, False):
            model = classifier(multi_strategy=multi_strategy, linear_leaves=linear)
            p = model.fit(X[TRAIN], classes[TRAIN]).predict_proba(X[TEST])
            losses.append(-np.log(p[np.arange(N // 2), classes[TEST]]).mean())
        assert losses[0] < losses[1]


@pytest.mark.parametrize(
    "loss",
    ["huber", "log_cosh", "expectile", "poisson", "gamma", "tweedie", "pseudo_huber"],
)
def test_every_loss_with_a_hessian_gains_by_slopes(loss):
    target = np.exp(0.3 * Y)
    metric = {"poisson": "poisson_deviance", "gamma": "gamma_deviance"}.get(loss)
    options = {"loss": loss, "n_estimators": 30, "eval_metric": metric}
    scores = []
    for linear in (True, False):
        model = regressor(**options, linear_leaves=linear)
        model.fit(X[TRAIN], target[TRAIN], eval_set=[(X[TEST], target[TEST])])
        (history,) = model.evals_result_["eval_0"].values()
        scores.append(history[-1])
    assert scores[0] < scores[1]


@pytest.mark.parametrize("loss", ["exponential", "focal", "log_loss"])
def test_every_loss_of_two_classes_gains_by_slopes(loss):
    labels = Y > 1
    models = [classifier(loss=loss, linear_leaves=linear) for linear in (True, False)]
    scores = [m.fit(X[TRAIN], labels[TRAIN]).score(X[TEST], labels[TEST]) for m in models]
    assert scores[0] > scores[1]


def test_a_users_gradients_are_those_of_the_built_in_loss():
    def squares(y, raw_scores):
        return raw_scores - y, np.ones_like(y)

    centred = Y - Y.mean()
    own = regressor(loss=squares).fit(X, centred)
    built_in = regressor().fit(X, centred)
    np.testing.assert_allclose(own.predict(X), built_in.predict(X), atol=1e-9)


def test_formula_losses_have_slopes_if_they_have_hessians():
    squares = hr.Loss(lambda y, f: 0.5 * (y - f) ** 2)
    formula, built_in = regressor(loss=squares).fit(X, Y), regressor().fit(X, Y)
    np.testing.assert_allclose(formula.predict(X), built_in.predict(X), atol=1e-6)


# What is refused


@pytest.mark.parametrize("loss", ["absolute_error", "mape", "quantile"])
def test_losses_whose_leaves_are_quantiles_are_refused(loss):
    with pytest.raises(ParameterError, match=r"linear_leaves=True is not allowed with loss"):
        regressor(loss=loss).fit(X, Y)


def test_a_hinge_is_refused():
    with pytest.raises(ParameterError, match=r"linear_leaves=True is not allowed with loss"):
        classifier(loss="hinge").fit(X, Y > 0)


def test_a_formula_loss_without_hessian_is_refused():
    model = regressor(loss=hr.Loss(lambda y, f: np.abs(y - f)))
    with pytest.raises(ParameterError, match="hessian is zero"):
        model.fit(X, Y)
    assert not hasattr(model, "n_iter_")


@pytest.mark.parametrize("wrong", [-1.0, np.nan, "1", None])
def test_linear_lambda_is_checked(wrong):
    with pytest.raises(ParameterError, match="linear_lambda"):
        regressor(linear_lambda=wrong).fit(X, Y)


def test_a_structure_score_is_refused():
    with pytest.raises(ParameterError, match="linear_leaves"):
        hr.theory.structure_score(regressor().fit(X, Y))


# Modes


MODES = {
    "plain": {},
    "exact": {"splitter": "exact"},
    "dart": {"boosting": "dart", "drop_rate": 0.5, "skip_drop": 0.0},
    "subsample": {"subsample": 0.6},
    "gradient": {"subsample": 0.4, "sampling": "gradient"},
    "columns": {"colsample_bytree": 0.6},
    "vector": {"multi_strategy": "vector"},
}


@pytest.fixture(scope="module", params=MODES.values(), ids=MODES)
def fitted(request):
    y = np.column_stack([Y, Y**2]) if "multi_strategy" in request.param else Y
    return regressor(**request.param).fit(GAPS, y), y


def test_scores_of_training_are_those_of_prediction(fitted):
    """An evaluation on the training rows sees, round by round, what prediction says."""
    model, y = fitted
    again = clone(model).fit(GAPS, y, eval_set=[(GAPS, y)])
    assert again._model.ensemble == model._model.ensemble
    staged = [root_mean_squared_error(y, p) for p in model.staged_predict(GAPS)]
    history = again.evals_result_["eval_0"]["rmse"]
    if model.boosting == "dart":  # earlier rounds change
        staged, history = staged[-1:], history[-1:]
    np.testing.assert_allclose(history, staged, rtol=1e-12)


def test_slices_are_stages(fitted):
    model, _ = fitted
    stages = list(model.staged_predict(GAPS))
    np.testing.assert_array_equal(model[:5].predict(GAPS), stages[4])
    np.testing.assert_array_equal(stages[-1], model.predict(GAPS))


def test_files_and_pickles_keep_slopes(fitted, tmp_path):
    model, _ = fitted
    model.save(tmp_path / "model")
    for copied in (hr.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert copied._model.ensemble == model._model.ensemble
        assert copied._model.ensemble.slopes is not None
        np.testing.assert_array_equal(copied.predict(GAPS), model.predict(GAPS))


def test_a_fit_that_was_broken_off_ends_as_if_it_had_not_been(fitted, tmp_path):
    model, y = fitted
    first = clone(model).set_params(n_estimators=5)
    first.fit(GAPS, y, checkpoint=tmp_path / "run", checkpoint_every=1)
    resumed = clone(model).fit(GAPS, y, checkpoint=tmp_path / "run")
    assert resumed._model.ensemble == model._model.ensemble


def test_a_checkpoint_of_other_numbers_in_the_same_bins_is_refused(tmp_path):
    regressor(n_estimators=3, max_bins=8).fit(X, Y, checkpoint=tmp_path / "run")
    moved = X.copy()
    moved[0, 0] += 1e-9
    with pytest.raises(ParameterError, match="different data"):
        regressor(max_bins=8).fit(moved, Y, checkpoint=tmp_path / "run")


def test_going_on_from_constants_adds_slopes(tmp_path):
    constant = regressor(linear_leaves=False).fit(X, Y)
    both = regressor().fit(X, Y, init_model=constant)
    assert both._model.ensemble.first_rounds(12) == constant._model.ensemble
    assert both._model.ensemble.slopes is not None
    warm = copy.deepcopy(constant).set_params(linear_leaves=True, warm_start=True, n_estimators=24)
    np.testing.assert_array_equal(warm.fit(X, Y).predict(X), both.predict(X))
    both.save(tmp_path / "both")
    np.testing.assert_array_equal(hr.load(tmp_path / "both").predict(X), both.predict(X))


def test_more_rounds_are_those_of_one_fit():
    whole = regressor().fit(GAPS, Y)
    half = regressor(n_estimators=6, warm_start=True).fit(GAPS, Y)
    assert half.set_params(n_estimators=12).fit(GAPS, Y)._model.ensemble == whole._model.ensemble


# Refitting


@pytest.mark.parametrize("multi_strategy", ["separate", "vector"])
def test_refitting_to_the_same_rows_changes_nothing(multi_strategy):
    y = np.column_stack([Y, Y**2])
    model = regressor(multi_strategy=multi_strategy).fit(GAPS, y)
    before = model.predict(GAPS)
    np.testing.assert_allclose(model.refit(GAPS, y).predict(GAPS), before, atol=1e-9)


def test_refitting_keeps_what_it_is_told_to():
    model = regressor().fit(X[TRAIN], Y[TRAIN])
    before = model.predict(X)
    moved = copy.deepcopy(model).refit(X[TEST], Y[TEST] + 5.0 * X[TEST, 1])
    assert rmse(moved, target=Y + 5.0 * X[:, 1]) < 0.6 * rmse(model, target=Y + 5.0 * X[:, 1])
    kept = copy.deepcopy(model).refit(X[TEST], Y[TEST] + 5.0 * X[TEST, 1], keep=1.0)
    np.testing.assert_array_equal(kept.predict(X), before)
    one = regressor(n_estimators=1).fit(X[TRAIN], Y[TRAIN])
    new = copy.deepcopy(one).refit(X[TEST], 2.0 * Y[TEST])
    half = copy.deepcopy(one).refit(X[TEST], 2.0 * Y[TEST], keep=0.5)
    inner = (np.abs(X) < 1.5).all(axis=1)  # within the ranges of both
    expected = 0.5 * (one.predict(X) + new.predict(X))
    np.testing.assert_allclose(half.predict(X)[inner], expected[inner], atol=1e-9)


def test_a_leaf_that_no_row_reaches_keeps_its_slopes():
    model = regressor(n_estimators=1).fit(X, Y)
    before, leaf = model.predict(X), model.apply(X)[:, 0]
    reached = np.isin(leaf, np.unique(leaf)[:2])
    model.refit(X[reached], Y[reached] + 10.0)
    np.testing.assert_array_equal(model.predict(X)[~reached], before[~reached])
    assert (np.abs(model.predict(X) - before)[reached] > 0.1).all()


def test_refitting_without_slopes_takes_them_away():
    model = regressor().fit(X, Y)
    model.set_params(linear_leaves=False).refit(X, Y)
    assert model._model.ensemble.slopes is None


# Numbers that hurt


@pytest.mark.parametrize("linear_lambda", [0.0, 1.0])
def test_hostile_numbers_give_finite_predictions(linear_lambda):
    hard = X.copy()
    hard[:, 0] *= 1e300
    hard[:, 2] = hard[:, 1]
    hard[:, 3] = 4.0
    hard[7, 4] = -1.7e308
    model = regressor(linear_lambda=linear_lambda).fit(hard, Y)
    model._model.ensemble.validate()
    for rows in (hard, -hard, np.full((3, 5), 1.7e308), np.full((3, 5), np.nan)):
        assert np.isfinite(model.predict(rows)).all()
    assert root_mean_squared_error(Y, model.predict(hard)) < 0.9 * Y.std()


def test_a_large_offset_costs_no_precision():
    moved = X + np.array([0.0, 2.0**30, 0.0, 0.0, 0.0])
    near = regressor().fit(np.round(X * 2**10) / 2**10, Y)
    far = regressor().fit(np.round(moved * 2**10) / 2**10, Y)
    np.testing.assert_allclose(
        far.predict(np.round(moved * 2**10) / 2**10),
        near.predict(np.round(X * 2**10) / 2**10),
        atol=1e-5,
    )


# What is chosen


@pytest.mark.parametrize("multi_strategy", ["separate", "vector"])
def test_what_is_auto_is_chosen_for_trees_with_slopes(multi_strategy, tmp_path):
    both = np.column_stack([Y, Y**2])
    model = regressor(n_estimators="auto", multi_strategy=multi_strategy, budget=0.05)
    model.fit(X[TRAIN], both[TRAIN])
    constant = clone(model).set_params(linear_leaves=False).fit(X[TRAIN], both[TRAIN])
    assert rmse(model, target=both) < rmse(constant, target=both)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(hr.load(tmp_path / "model").predict(X), model.predict(X))
    again = clone(model).fit(X[TRAIN], both[TRAIN])
    assert again._model.ensemble == model._model.ensemble
    moved = copy.deepcopy(model).refit(X[TRAIN], both[TRAIN] + 5.0)
    assert rmse(moved, target=both + 5.0) < 1.2 * rmse(model, target=both)


def test_folds_that_share_bins_have_slopes():
    validated = hr.cross_validate(regressor(), X, Y, cv=3)
    constant = hr.cross_validate(regressor(linear_leaves=False), X, Y, cv=3)
    assert all(model._model.ensemble.slopes is not None for model in validated.models)
    errors = [root_mean_squared_error(Y, result.oof_prediction) for result in (validated, constant)]
    assert errors[0] < errors[1]


# Rankings and survival times


def test_rankings_gain_by_slopes(tmp_path):
    qid = np.repeat(np.arange(N // 10), 10)
    relevance = np.digitize(Y, [-1.0, 1.0, 3.0])
    models = [hr.GradientBoostingRanker(**SMALL | {"linear_leaves": on}) for on in (True, False)]
    ndcg = [
        model.fit(X[TRAIN], relevance[TRAIN], qid=qid[TRAIN]).score(
            X[TEST], relevance[TEST], qid=qid[TEST]
        )
        for model in models
    ]
    assert ndcg[0] > ndcg[1]
    models[0].save(tmp_path / "model")
    np.testing.assert_array_equal(hr.load(tmp_path / "model").predict(X), models[0].predict(X))


@pytest.mark.parametrize("loss", ["cox", "aft"])
def test_survival_times_gain_by_slopes(loss):
    times = np.exp(0.5 * Y)
    options = SMALL | {"loss": loss}
    models = [
        hr.GradientBoostingSurvival(**options | {"linear_leaves": on}) for on in (True, False)
    ]
    concordance = [m.fit(X[TRAIN], times[TRAIN]).score(X[TEST], times[TEST]) for m in models]
    assert concordance[0] > concordance[1]
    survival = models[0].predict_survival_function(X[TEST], [0.5, 1.0, 2.0])
    assert (np.diff(survival, axis=1) <= 0.0).all()
