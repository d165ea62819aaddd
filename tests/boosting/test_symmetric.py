"""Symmetric trees in gradient boosting: what other trees can do, they can."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import hedgerow as hr
from hedgerow.exceptions import ParameterError
from oracles import predict as naive

SYMMETRIC = {"grow_policy": "symmetric", "n_estimators": 12, "random_state": 0}


def table(n_rows=400, seed=0):
    """Numbers with missing values, a column of categories, and a score with interactions."""
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal((n_rows, 4))
    numbers[rng.random(numbers.shape) < 0.1] = np.nan
    town = rng.choice(list("abcdefgh"), n_rows)
    frame = pd.DataFrame(numbers, columns=list("wxyz")).assign(town=pd.Categorical(town))
    known = np.nan_to_num(numbers)
    score = known[:, 0] * known[:, 1] + np.where(np.isin(town, list("adg")), 1.0, -1.0)
    return frame, score + 0.3 * rng.standard_normal(n_rows)


def trees(model):
    ensemble = model._model.ensemble
    return [ensemble.tree(t) for t in range(ensemble.n_trees)]


def n_tests(tree):
    """Return the number of different tests of a tree."""
    inner = np.flatnonzero(tree.feature >= 0)
    sets = [tuple(tree.category_bits[s]) if s >= 0 else () for s in tree.category_set[inner]]
    return len(set(zip(tree.feature[inner], tree.threshold[inner], sets, strict=True)))


def depth(tree, node=0):
    if tree.feature[node] < 0:
        return 0
    return 1 + max(depth(tree, tree.left[node]), depth(tree, tree.right[node]))


@pytest.mark.parametrize(
    ("parameters", "levels"),
    [({}, 6), ({"max_depth": 3}, 3), ({"max_leaves": 20}, 4), ({"max_depth": 8}, 8)],
)
def test_the_number_of_levels_follows_from_depth_and_leaves(parameters, levels):
    X, y = table(2_000)
    model = hr.GradientBoostingRegressor(**SYMMETRIC | {"n_estimators": 3} | parameters)
    for tree in trees(model.fit(X, y)):
        assert n_tests(tree) == levels
        assert depth(tree) <= levels


@pytest.mark.parametrize(
    "parameters",
    [
        *({"loss": loss} for loss in ("squared_error", "absolute_error", "huber", "quantile")),
        {"loss": "quantile", "quantile": (0.1, 0.9)},
        {"subsample": 0.6, "colsample_bytree": 0.8, "colsample_bynode": 0.8},
        {"subsample": 0.6, "sampling": "gradient"},
        {"boosting": "dart", "skip_drop": 0.0},
        {"early_stopping": True},
        {"max_categories": 3},
        {"splitter": "approx"},
        {"interaction_constraints": "pairwise"},
        {"reg_alpha": 0.5, "max_delta_step": 0.8, "min_split_gain": 0.1},
    ],
    ids=str,
)
def test_every_option_of_regression_learns(parameters):
    X, y = table(800)
    model = hr.GradientBoostingRegressor(**SYMMETRIC, **parameters)
    score = model.fit(X[:600], y[:600], sample_weight=np.linspace(0.5, 2, 600)).predict(X[600:])
    score = score.mean(axis=1) if score.ndim > 1 else score
    assert np.corrcoef(score, y[600:])[0, 1] > 0.7
    assert all(n_tests(tree) <= 6 for tree in trees(model))


@pytest.mark.parametrize("parameters", [{}, {"loss": "exponential"}, {"loss": "hinge"}], ids=str)
def test_every_loss_of_two_classes_learns(parameters):
    X, y = table(800)
    model = hr.GradientBoostingClassifier(**SYMMETRIC, **parameters).fit(X[:600], y[:600] > 0)
    assert model.score(X[600:], y[600:] > 0) > 0.8


def test_rankers_and_survival_models_can_have_symmetric_trees():
    X, y = table(300)
    ranker = hr.GradientBoostingRanker(**SYMMETRIC)
    ranker.fit(X, np.digitize(y, [-1, 0, 1]), group=np.repeat(10, 30))
    survival = hr.GradientBoostingSurvival(**SYMMETRIC).fit(X, np.exp(y))
    for model in (ranker, survival):
        assert all(n_tests(tree) <= 6 for tree in trees(model))


@pytest.fixture(scope="module")
def classes():
    X, y = table(900)
    target = np.digitize(y, [-1, 1])
    return X, target, hr.GradientBoostingClassifier(**SYMMETRIC).fit(X, target)


def test_blocks_of_rows_have_the_scores_of_a_walk_through_the_nodes(classes):
    X, _, model = classes
    matrix = np.column_stack([X[list("wxyz")].to_numpy(), X["town"].cat.codes])
    expected = naive.predict_raw(model._model.ensemble, matrix[:60])
    np.testing.assert_array_equal(model.decision_function(X)[:60], expected)
    np.testing.assert_array_equal(model.decision_function(X[:5]), expected[:5])


def test_a_saved_model_is_the_same_and_so_are_those_of_any_threads(classes, tmp_path):
    X, target, model = classes
    model.save(tmp_path / "one")
    loaded = hr.load(tmp_path / "one")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    other = hr.GradientBoostingClassifier(**SYMMETRIC, n_jobs=3).fit(X, target)
    assert other._model.ensemble == model._model.ensemble


def test_shap_values_add_up_to_scores(classes):
    X, _, model = classes
    shap = hr.explain.shap_values(model, X[:40])
    total = shap.values.sum(axis=1) + shap.base_values
    np.testing.assert_allclose(total, model.decision_function(X[:40]), atol=1e-12)


def test_exported_models_predict_the_same(classes, tmp_path):
    X, _, model = classes
    model.export(tmp_path / "model.txt")
    read = hr.read_model(tmp_path / "model.txt")
    np.testing.assert_array_equal(read.decision_function(X), model.decision_function(X))


def test_predictions_are_monotone_where_they_must_be():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (500, 3))
    y = X[:, 0] - X[:, 1] + np.sin(6 * X[:, 0]) + 0.2 * rng.standard_normal(500)
    model = hr.GradientBoostingRegressor(**SYMMETRIC, monotonic_constraints=[1, -1, 0]).fit(X, y)
    grid = np.linspace(-1, 1, 50)
    for column, sign in ((0, 1), (1, -1)):
        for row in X[:20]:
            line = np.tile(row, (50, 1))
            line[:, column] = grid
            assert (sign * np.diff(model.predict(line)) >= 0).all()


def test_linear_leaves_can_be_those_of_symmetric_trees():
    X, y = table(500)
    model = hr.GradientBoostingRegressor(**SYMMETRIC, linear_leaves=True, eval_metric="rmse")
    model.fit(X, y, eval_set=[(X, y)])
    rmse = np.sqrt(np.mean((model.predict(X) - y) ** 2))
    ((curve,),) = (curves.values() for curves in model.evals_result_.values())
    assert curve[-1] == pytest.approx(rmse, rel=1e-12)


def test_a_fit_continues_with_symmetric_trees():
    X, y = table(400)
    whole = hr.GradientBoostingRegressor(**SYMMETRIC).fit(X, y)
    first = hr.GradientBoostingRegressor(**SYMMETRIC | {"n_estimators": 5}).fit(X, y)
    rest = hr.GradientBoostingRegressor(**SYMMETRIC | {"n_estimators": 7})
    rest.fit(X, y, init_model=first)
    np.testing.assert_array_equal(rest.predict(X), whole.predict(X))


def test_sparse_tables_give_the_trees_of_dense_ones():
    X = scipy.sparse.random(600, 150, density=0.01, random_state=0, format="csr")
    y = np.asarray(X.sum(axis=1)).ravel() + X[:, [3]].toarray().ravel()
    model = hr.GradientBoostingRegressor(**SYMMETRIC, min_samples_leaf=2)
    sparse = model.fit(X, y)._model.ensemble
    assert sparse == model.fit(X.toarray(), y)._model.ensemble


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"splitter": "exact"}, "splitter='exact'"),
        ({"multi_strategy": "vector"}, "multi_strategy='vector'"),
    ],
)
def test_what_has_no_symmetric_trees_is_refused(parameters, what):
    X, y = table(50)
    with pytest.raises(ParameterError, match=f"grow_policy='symmetric'.*{what}"):
        hr.GradientBoostingRegressor(**SYMMETRIC, **parameters).fit(X, y)
