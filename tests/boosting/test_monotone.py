"""Monotone constraints of models: no prediction goes against one, whatever the loss and mode."""

from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

import hedgerow as hr
from hedgerow import (
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    GradientBoostingSurvival,
    ParameterError,
)
from hedgerow._boosting.estimators.parameters import PARAMETERS

from .test_constraints import SPLITTERS, table


def losses(task):
    """Give the names of all losses that are built in."""
    (declared,) = [p for p in PARAMETERS if p.name == "loss" and p.only == task]
    return declared.allowed.kinds[0].names


def a_function(y, raw_scores):
    return np.tanh(raw_scores - y), 1 / np.cosh(raw_scores - y) ** 2 + 1e-3


def piecewise_linear(y, f):
    return np.abs(y - f) * np.where(y > f, 0.7, 0.3)


def curved(y, f):
    return np.log(np.cosh(y - f))


DIRECTIONS = {"a": 1, "b": -1, "d": "increasing"}


@cache
def constrained_table(n_rows, seed=0):
    """Give a table with gaps and categories, and y > 0 that opposes the constraints in part.

    Tests share it, and do not write to it.
    """
    X, _ = table(n_rows, seed)
    a, b, c, d = (X[name].fillna(0.7) for name in "abcd")
    reds = (X["kind"] == "red") * np.sin(3 * a) + X["kind"].isna() * b
    noise = np.random.default_rng(seed).normal(size=n_rows)
    return X, np.exp(0.5 * (a - b + np.sin(2 * d) + a * c + reds + 0.5 * noise))


def lines(model, X, column, n_lines=40, seed=3):
    """Give rows that differ in one column alone, a line of them after the other, values ascending.

    They pass every threshold of the model closely, on either side, and begin at rows with gaps and
    with categories that the model does not know.
    """
    rng = np.random.default_rng(seed)
    starts = X.iloc[rng.choice(len(X), n_lines)].reset_index(drop=True)
    starts.loc[::7, "kind"] = "purple"
    starts = starts.mask(rng.random(starts.shape) < 0.2)
    ensemble = model._model.ensemble
    cuts = np.unique(ensemble.threshold[ensemble.feature == X.columns.get_loc(column)])
    cuts = np.append(cuts[np.abs(cuts) < 1e300], [-1e300, 0.0, 1e300])
    values = np.unique([cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf)])
    rows = starts.loc[np.repeat(np.arange(n_lines), len(values))]
    return rows.assign(**{column: np.tile(values, n_lines)}), (n_lines, len(values))


def assert_keeps_directions(model, X, score):
    """Hold the score along lines, or each of several scores, to the constraints."""
    size = 0.0
    for column, direction in DIRECTIONS.items():
        rows, shape = lines(model, X, column)
        steps = np.diff(score(rows).reshape(*shape, -1), axis=1)
        assert (steps * (-1 if direction == -1 else 1) >= 0).all(), column
        size += np.abs(steps).sum(axis=(0, 1))
    assert (size > 0).all()


VARIANTS = [
    {},
    {"splitter": "exact"},
    {"grow_policy": "levelwise", "max_depth": 4, "max_delta_step": 0.3},
    {"subsample": 0.6, "colsample_bytree": 0.7, "colsample_bynode": 0.7, "reg_alpha": 0.5},
    {"splitter": "exact", "grow_policy": "levelwise", "max_depth": 5, "subsample": 0.6},
    {"max_leaves": 200, "min_samples_leaf": 2, "reg_lambda": 0.0, "max_bins": 20},
    {"boosting": "dart", "skip_drop": 0.0, "drop_rate": 0.3},
    {"boosting": "dart", "skip_drop": 0.0, "drop_rate": 0.3, "splitter": "exact"},
    {"sampling": "gradient", "subsample": 0.4},
    {"sampling": "minimal_variance", "subsample": 0.4, "splitter": "exact"},
    {"max_categories": 2},
]
REGRESSION_LOSSES = [*losses("regressor"), a_function, hr.Loss(piecewise_linear), hr.Loss(curved)]
LOG_LOSS = hr.Loss(lambda y, f: np.logaddexp(0, f) - y * f)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("loss", REGRESSION_LOSSES)
def test_predictions_never_go_against_a_constraint(loss, variant):
    X, y = constrained_table(700)
    model = GradientBoostingRegressor(
        loss=loss, n_estimators=15, monotonic_constraints=DIRECTIONS, **variant
    ).fit(X, y / (1 + y) if loss == "log_loss" else y)
    assert_keeps_directions(model, X, model.predict)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("loss", [*losses("classifier"), a_function, LOG_LOSS])
def test_scores_of_the_second_class_never_go_against_a_constraint(loss, variant):
    X, y = constrained_table(700)
    second = y / (1 + y)
    probabilities = np.column_stack([1 - second, second])
    model = GradientBoostingClassifier(
        loss=loss, n_estimators=15, monotonic_constraints=DIRECTIONS, **variant
    ).fit(X, probabilities if loss == "cross_entropy" else np.where(second > 0.5, "yes", "no"))
    assert_keeps_directions(model, X, model.decision_function)


@pytest.mark.parametrize("loss", ["log_loss", "exponential", "focal"])
@pytest.mark.parametrize("calibration", [None, "sigmoid", "isotonic", "temperature"])
def test_probabilities_never_go_against_a_constraint(loss, calibration):
    X, y = constrained_table(700)
    model = GradientBoostingClassifier(
        loss=loss, n_estimators=15, monotonic_constraints=DIRECTIONS, calibration=calibration
    ).fit(X, y > np.median(y))
    assert_keeps_directions(model, X, lambda rows: model.predict_proba(rows)[:, 1])


@SPLITTERS
@pytest.mark.parametrize("loss", ["ndcg", "pairwise", "listwise"])
def test_scores_of_rankings_keep_the_constraints(loss, splitter):
    X, y = constrained_table(700)
    options = {"n_estimators": 15, "monotonic_constraints": DIRECTIONS, "splitter": splitter}
    model = GradientBoostingRanker(loss=loss, **options)
    model.fit(X, np.digitize(y, [0.7, 1.5]), qid=np.arange(700) % 50)
    assert_keeps_directions(model, X, model.predict)


@SPLITTERS
@pytest.mark.parametrize("loss", ["cox", "aft"])
def test_survival_keeps_the_constraints(loss, splitter):
    X, y = constrained_table(700)
    options = {"n_estimators": 15, "monotonic_constraints": DIRECTIONS, "splitter": splitter}
    model = GradientBoostingSurvival(loss=loss, **options)
    model.fit(X, np.where(y < 3, 1, -1) * np.minimum(y, 3) / (y**2 if loss == "cox" else 1))
    assert_keeps_directions(model, X, model.predict)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_models_whose_rounds_are_chosen_keep_the_constraints(loss):
    X, y = constrained_table(300)
    model = GradientBoostingRegressor(loss=loss, budget=0.1, monotonic_constraints=DIRECTIONS)
    model.fit(X, y)
    assert_keeps_directions(model, X, model.predict)


STRATEGIES = [
    {"multi_strategy": "vector"},
    {"multi_strategy": "vector", "boosting": "dart", "subsample": 0.6, "max_leaves": 100},
    {"multi_strategy": "separate"},
    {"multi_strategy": "separate", "splitter": "exact"},
]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson", a_function])
def test_each_of_several_outputs_keeps_the_constraints(loss, strategy):
    X, y = constrained_table(700)
    both = np.column_stack([y, np.sqrt(y) + (X["c"].fillna(0) > 0), 1 / y])
    model = GradientBoostingRegressor(
        loss=loss, n_estimators=15, monotonic_constraints=DIRECTIONS, **strategy
    ).fit(X, both)
    assert_keeps_directions(model, X, model.predict)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_each_of_several_quantiles_keeps_the_constraints(strategy):
    X, y = constrained_table(700)
    model = GradientBoostingRegressor(
        loss="quantile", quantile=[0.1, 0.5, 0.9], n_estimators=15,
        monotonic_constraints=DIRECTIONS, **strategy,
    ).fit(X, y)  # fmt: skip
    assert_keeps_directions(model, X, model.predict)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_each_of_several_labels_keeps_the_constraints(strategy):
    X, y = constrained_table(700)
    model = GradientBoostingClassifier(
        n_estimators=15, monotonic_constraints=DIRECTIONS, **strategy
    ).fit(X, np.column_stack([y > 1, y > 2]))
    assert_keeps_directions(model, X, model.decision_function)


def test_without_constraints_the_same_lines_go_up_and_down():
    X, y = constrained_table(700)
    model = GradientBoostingRegressor(n_estimators=15).fit(X, y)
    for column in DIRECTIONS:
        rows, shape = lines(model, X, column)
        steps = np.diff(model.predict(rows).reshape(shape), axis=1)
        assert (steps > 0).any()
        assert (steps < 0).any()


@SPLITTERS
def test_constraints_may_be_given_by_name_index_or_for_all_columns(splitter):
    X, y = constrained_table(300)
    forms = [
        {"a": 1, "b": -1},
        {0: "increasing", 1: "decreasing"},
        {"a": np.int8(1), 1: -1.0, "c": 0},
        [1, -1, 0, 0, 0],
        np.array([1, -1, 0, 0, 0]),
        ("increasing", "decreasing", 0, 0, 0),
    ]
    fitted = [
        GradientBoostingRegressor(n_estimators=5, monotonic_constraints=one, splitter=splitter)
        .fit(X, y)
        ._model.ensemble
        for one in forms
    ]
    assert all(one == fitted[0] for one in fitted)
    free = GradientBoostingRegressor(n_estimators=5, splitter=splitter).fit(X, y)._model.ensemble
    assert fitted[0] != free


@SPLITTERS
def test_constraints_of_0_change_nothing(splitter):
    X, y = constrained_table(300)
    models = [
        GradientBoostingRegressor(n_estimators=5, monotonic_constraints=one, splitter=splitter)
        for one in (None, {}, {"a": 0}, [0] * 5)
    ]
    first, *others = (model.fit(X, y)._model.ensemble for model in models)
    assert all(other == first for other in others)


def test_constraints_that_are_true_cost_next_to_nothing():
    """And on noisy data they help: what was learned against them was noise."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6_000, 4))
    truth = np.tanh(X[:, 0]) + 0.5 * X[:, 0] * (X[:, 2] > 0) - np.maximum(X[:, 1], 0)
    y = truth + rng.normal(size=6_000)
    free, bound = (
        GradientBoostingRegressor(n_estimators=100, monotonic_constraints=constraints).fit(
            X[:2_000], y[:2_000]
        )
        for constraints in (None, [1, -1, 0, 0])
    )
    errors = [np.mean((model.predict(X[2_000:]) - truth[2_000:]) ** 2) for model in (free, bound)]
    assert errors[1] < errors[0]


def test_a_warm_start_must_have_kept_the_constraints_from_the_start():
    X, y = constrained_table(300)
    free = GradientBoostingRegressor(n_estimators=3, warm_start=True).fit(X, y)
    with pytest.raises(ParameterError, match=r"^monotonic_constraints are violated"):
        free.set_params(n_estimators=6, monotonic_constraints=DIRECTIONS).fit(X, y)
    assert free.n_iter_ == 3
    options = {"monotonic_constraints": DIRECTIONS, "warm_start": True}
    warm = GradientBoostingRegressor(n_estimators=3, **options).fit(X, y)
    warm.set_params(n_estimators=6).fit(X, y)
    assert_keeps_directions(warm, X, warm.predict)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_model_to_go_on_from_must_keep_the_constraints(strategy):
    X, y = constrained_table(300)
    y = np.column_stack([y, 1 / y])
    model = GradientBoostingRegressor(n_estimators=3, **strategy)
    free = clone(model).fit(X, y)
    model.set_params(monotonic_constraints=DIRECTIONS)
    with pytest.raises(ParameterError, match=r"^monotonic_constraints are violated"):
        model.fit(X, y, init_model=free)
    more = clone(model).fit(X, y, init_model=clone(model).fit(X, y))
    assert more.n_iter_ == 6
    assert_keeps_directions(more, X, more.predict)


@pytest.mark.parametrize("keep", [0.0, 0.5])
@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "gamma", hr.Loss(piecewise_linear)]
)
def test_refitted_leaves_keep_the_constraints(loss, keep):
    X, y = constrained_table(700)
    model = GradientBoostingRegressor(
        loss=loss, n_estimators=15, monotonic_constraints=DIRECTIONS
    ).fit(X, y)
    X_new, y_new = constrained_table(250, seed=1)
    model.refit(X_new, y_new[::-1], keep=keep)
    assert_keeps_directions(model, X, model.predict)


def test_constraints_may_be_demanded_of_a_model_by_refitting_its_leaves():
    X, y = constrained_table(700)
    model = GradientBoostingRegressor(
        n_estimators=15, multi_strategy="vector", loss="quantile", quantile=[0.2, 0.8]
    ).fit(X, y)
    model.set_params(monotonic_constraints=DIRECTIONS).refit(X, y)
    assert_keeps_directions(model, X, model.predict)


def test_a_fit_that_was_broken_off_goes_on_to_the_same_model(tmp_path):
    X, y = constrained_table(300)
    model = GradientBoostingRegressor(n_estimators=8, monotonic_constraints=DIRECTIONS)
    whole = clone(model).fit(X, y)
    model.set_params(n_estimators=5).fit(X, y, checkpoint=tmp_path / "rounds")
    model.set_params(n_estimators=8).fit(X, y, checkpoint=tmp_path / "rounds")
    assert model._model.ensemble == whole._model.ensemble


def test_leaves_with_slopes_cannot_be_monotone():
    X, y = constrained_table(300)
    model = GradientBoostingRegressor(n_estimators=3, monotonic_constraints=DIRECTIONS)
    with pytest.raises(ParameterError, match=r"^monotonic_constraints .* linear_leaves=True"):
        clone(model).set_params(linear_leaves=True).fit(X, y)
    sloped = GradientBoostingRegressor(n_estimators=3, linear_leaves=True, max_leaves=2).fit(X, y)
    with pytest.raises(ParameterError, match=r"^monotonic_constraints .* linear_leaves=True"):
        model.fit(X, y, init_model=sloped)
    with pytest.raises(ParameterError, match=r"^monotonic_constraints .* linear_leaves=True"):
        sloped.set_params(linear_leaves=False, monotonic_constraints=DIRECTIONS).refit(X, y)


def test_vector_trees_spend_their_leaves_on_what_constraints_allow():
    """The column that y follows most may not be followed: no leaf is wasted on it."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2_000, 2))
    y = np.column_stack([3 * X[:, 0] + X[:, 1], 3 * X[:, 0] - X[:, 1]])
    model = GradientBoostingRegressor(
        n_estimators=20, multi_strategy="vector", monotonic_constraints=[-1, 0]
    )
    free = clone(model).set_params(monotonic_constraints=None).fit(X, y).importances("split")
    bound = model.fit(X, y).importances("split")
    assert bound[0] == 0
    assert bound[1] > free[1] > 0


@pytest.mark.parametrize("loss", ["log_loss", "cross_entropy", a_function])
@pytest.mark.parametrize("strategy", ["separate", "vector"])
def test_three_classes_cannot_be_monotone(loss, strategy):
    X, y = constrained_table(300)
    classes = np.digitize(y, [0.5, 1.5])
    model = GradientBoostingClassifier(
        loss=loss, multi_strategy=strategy, monotonic_constraints={"a": 1}
    )
    with pytest.raises(ParameterError, match=r"^monotonic_constraints .* y has 3 classes"):
        model.fit(X, np.eye(3)[classes] if loss == "cross_entropy" else classes)
