"""DART: which rounds are dropped, and what becomes of them."""

import numpy as np
import pytest
from sklearn.metrics import mean_squared_error

import hedgerow as hr
from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow._boosting.fit.dart import Drops
from hedgerow._tree.structure import Ensemble

RNG = np.random.default_rng(5)
N = 2_000
X = RNG.normal(size=(N, 5))
SIGNAL = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
Y = SIGNAL + RNG.normal(0, 0.4, N)
TRAIN, TEST = slice(0, N // 2), slice(N // 2, N)
DART = {"boosting": "dart", "n_estimators": 15, "drop_rate": 0.3, "skip_drop": 0.2}


def test_drops_have_their_rates():
    drops = Drops(rate=0.2, skip=0.4, most=10**6, seed=3)
    counts = np.array([len(drops.of_round(r)) for r in range(500, 1_500)])
    none = counts == 0
    assert none.mean() == pytest.approx(0.4, abs=0.05)
    rounds = np.arange(500, 1_500)[~none]
    assert (counts[~none] / rounds).mean() == pytest.approx(0.2, abs=0.01)
    assert drops.of_round(0) == []
    assert drops.of_round(777) == drops.of_round(777)
    few = Drops(rate=0.5, skip=0.0, most=4, seed=0)
    assert {len(few.of_round(r)) for r in range(100, 200)} == {4}
    assert max(max(few.of_round(r)) for r in range(100, 200)) > 80


def test_rounds_are_those_of_the_definition():
    """Each round by hand: drop, grow on what is left, scale both."""
    model = GradientBoostingRegressor(**DART, learning_rate=0.2, max_leaves=6).fit(X, Y)
    ensemble = model._model.ensemble
    drops = Drops(0.3, 0.2, 50, 0)
    scale = scales_before(drops, 15)
    assert any(drops.of_round(r) for r in range(15))
    # Unscaled, a round's leaves are Newton steps of the residuals at its own scores.
    trees = [ensemble.tree(t) for t in range(15)]
    leaves = model.apply(X)
    for r in range(15):
        history = scales_before(drops, r)
        history[drops.of_round(r)] = 0.0
        scores = np.full(N, ensemble.base_score[0])
        for q in range(r):
            scores += history[q] * trees[q].value[leaves[:, q], 0] / scale[q]
        G = np.bincount(leaves[:, r], scores - Y, minlength=trees[r].n_nodes)
        H = np.bincount(leaves[:, r], minlength=trees[r].n_nodes)
        is_leaf = trees[r].feature < 0
        expected = -0.2 * G / (H + 1.0)
        np.testing.assert_allclose(
            trees[r].value[is_leaf, 0] / scale[r], expected[is_leaf], rtol=1e-6, atol=1e-9
        )


def scales_before(drops, r):
    scale = np.zeros(15)
    for q in range(r):
        dropped = drops.of_round(q)
        k = len(dropped)
        scale[dropped] *= k / (k + 0.2) if k else 1.0
        scale[q] = 1.0 / (k + 0.2) if k else 1.0
    return scale


def test_without_drops_it_is_gradient_boosting():
    plain = GradientBoostingRegressor(n_estimators=15).fit(X, Y)
    for options in ({"drop_rate": 0.0}, {"skip_drop": 1.0}):
        dart = GradientBoostingRegressor(**(DART | options)).fit(X, Y)
        assert dart._model.ensemble == plain._model.ensemble


def test_later_trees_count_more_than_without_drops():
    options = {"n_estimators": 60, "learning_rate": 0.3}
    dart = GradientBoostingRegressor(**(DART | options)).fit(X[TRAIN], Y[TRAIN])
    plain = GradientBoostingRegressor(**options).fit(X[TRAIN], Y[TRAIN])

    def first_part(model):
        ensemble: Ensemble = model._model.ensemble
        sizes = [np.abs(ensemble.tree(t).value).max() for t in range(60)]
        return sum(sizes[:5]) / sum(sizes)

    assert first_part(dart) < first_part(plain)
    error, other = (mean_squared_error(Y[TEST], m.predict(X[TEST])) for m in (dart, plain))
    assert error < 1.1 * other


@pytest.mark.parametrize("splitter", ["hist", "exact"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_measures_threads_and_checkpoints(n_classes, splitter, tmp_path):
    y = np.digitize(Y, [-0.5, 0.7][: n_classes - 1])
    model = GradientBoostingClassifier(**DART, splitter=splitter, max_leaves=6, subsample=0.8)
    model.fit(X, y, eval_set=[(X[TEST], y[TEST])])
    p = model.predict_proba(X[TEST])
    loss = -np.log(p[np.arange(len(p)), y[TEST]]).mean()
    assert model.evals_result_["eval_0"]["log_loss"][-1] == pytest.approx(loss, rel=1e-12)
    threads = GradientBoostingClassifier(**model.get_params() | {"n_jobs": 3})
    assert threads.fit(X, y)._model.ensemble == model._model.ensemble

    class Stop(Exception):  # noqa: N818
        pass

    def stop(info):
        if info.round == 11:
            raise Stop

    path = tmp_path / "checkpoint"
    broken = GradientBoostingClassifier(**model.get_params())
    options = {"eval_set": [(X[TEST], y[TEST])], "checkpoint": path, "checkpoint_every": 4}
    with pytest.raises(Stop):
        broken.fit(X, y, callbacks=stop, **options)
    broken.fit(X, y, **options)
    assert broken._model.ensemble == model._model.ensemble
    assert broken.evals_result_ == model.evals_result_
    loaded = tmp_path / "model"
    model.save(loaded)
    np.testing.assert_array_equal(hr.load(loaded).predict_proba(X), model.predict_proba(X))


def test_early_stopping_goes_back_to_the_trees_of_the_best_round():
    options = DART | {"n_estimators": 200, "learning_rate": 0.5, "early_stopping": True}
    model = GradientBoostingRegressor(**options, eval_metric="rmse")
    model.fit(X[TRAIN], Y[TRAIN], eval_set=[(X[TEST], Y[TEST])])
    assert model.n_iter_ == model.best_iteration_ < 200
    error = mean_squared_error(Y[TEST], model.predict(X[TEST])) ** 0.5
    assert error == pytest.approx(model.best_score_, rel=1e-12)


def test_warm_starts_go_on():
    whole = GradientBoostingRegressor(**DART).fit(X, Y)
    first = GradientBoostingRegressor(**DART | {"n_estimators": 6}, warm_start=True).fit(X, Y)
    assert first.set_params(n_estimators=15).fit(X, Y)._model.ensemble == whole._model.ensemble
