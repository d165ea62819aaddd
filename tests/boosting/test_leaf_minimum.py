"""`leaf_step="minimum"`: leaves at the minimum of a robust loss; and `init="zero"`."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import hedgerow as hr

RNG = np.random.default_rng(5)
X = RNG.normal(size=(300, 3))
Y = X[:, 0] ** 2 + RNG.standard_t(1.5, 300)
WEIGHTS = RNG.uniform(0.5, 2.0, 300)
OPTIONS = {"n_estimators": 3, "max_leaves": 7, "learning_rate": 0.7, "leaf_step": "minimum"}
LOSSES = {
    "huber": lambda r, d: np.where(abs(r) <= d, r**2 / 2, d * (abs(r) - d / 2)),
    "pseudo_huber": lambda r, d: d**2 * (np.sqrt(1 + (r / d) ** 2) - 1),
    "log_cosh": lambda r, d: d**2 * (np.logaddexp(r / d, -r / d) - np.log(2)),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("delta", [0.4, None])
@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_a_leaf_has_the_value_with_the_least_penalised_loss(loss, delta, alpha):
    options = OPTIONS | {"loss": loss, "delta": delta, "reg_alpha": alpha, "reg_lambda": 1.5}
    model = hr.GradientBoostingRegressor(**options).fit(X, Y, sample_weight=WEIGHTS)
    ensemble = model._model.ensemble
    score = np.full(300, ensemble.base_score[0])
    for t in range(3):
        tree, leaf = ensemble.tree(t), model.apply(X)[:, t]
        d = delta or weighted_quantile(abs(Y - score), 0.9)
        for node in np.flatnonzero(tree.feature < 0):
            rows = leaf == node

            def objective(v, rows=rows, d=d, score=score):
                loss_of = WEIGHTS[rows] @ LOSSES[loss](score[rows] + v - Y[rows], d)
                return loss_of + 1.5 * v**2 / 2 + alpha * abs(v)

            value = tree.value[node, 0] / 0.7
            best = minimize_scalar(objective, bracket=(value - 1, value + 1), tol=1e-12)
            assert objective(value) <= best.fun + 1e-9 * abs(best.fun)
            assert value == pytest.approx(best.x, abs=2e-5)
        score = score + tree.value[leaf, 0]
    np.testing.assert_allclose(model.predict(X), score)


def weighted_quantile(values, level):
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(WEIGHTS[order])
    return values[order][np.searchsorted(reached, level * reached[-1])]


@pytest.mark.parametrize("options", [{}, {"splitter": "exact"}, {"subsample": 0.6}], ids=str)
def test_the_training_loss_falls_further_than_by_newton_steps(options, tmp_path):
    losses = {}
    for step in ("newton", "minimum"):
        model = hr.GradientBoostingRegressor(
            **OPTIONS | options | {"leaf_step": step}, loss="huber", delta=0.3, reg_lambda=0.0
        ).fit(X, Y)
        losses[step] = LOSSES["huber"](model.predict(X) - Y, 0.3).mean()
    assert losses["minimum"] < losses["newton"]
    files = []
    for n_jobs in (1, 3):
        model.set_params(n_jobs=n_jobs).fit(X, Y).save(tmp_path / "model")
        files.append((tmp_path / "model").read_bytes())
    assert files[0] == files[1]
    assert hr.load(tmp_path / "model").leaf_step == "minimum"


def test_what_the_minimum_is_not_for_is_named():
    with pytest.raises(hr.ParameterError, match="leaf_step='minimum' supports one output"):
        hr.GradientBoostingRegressor(**OPTIONS, loss="huber").fit(X, np.stack([Y, Y], axis=1))
    with pytest.warns(UserWarning, match="leaf_step='minimum' has no effect"):
        hr.GradientBoostingRegressor(**OPTIONS).fit(X, Y)
    with pytest.raises(hr.ParameterError, match="leaf_step='best' is not allowed"):
        hr.GradientBoostingRegressor(leaf_step="best", loss="huber").fit(X, Y)


# ---- scores that start at 0 --------------------------------------------------------------------


@pytest.mark.parametrize("splitter", ["hist", "exact", "approx"])
def test_scores_may_start_at_zero(splitter, tmp_path):
    """The first tree then fits y itself: a leaf has lr · Σy / (n + λ)."""
    options = {"n_estimators": 2, "learning_rate": 0.5, "reg_lambda": 3.0, "splitter": splitter}
    model = hr.GradientBoostingRegressor(init="zero", **options).fit(X, Y)
    assert model._model.ensemble.base_score.tolist() == [0.0]
    leaf, tree = model.apply(X)[:, 0], model._model.ensemble.tree(0)
    for node in np.unique(leaf):
        rows = leaf == node
        expected = 0.5 * Y[rows].sum() / (rows.sum() + 3.0)
        assert tree.value[node, 0] == pytest.approx(expected, rel=1e-6)
    model.save(tmp_path / "model")
    assert hr.load(tmp_path / "model").init == "zero"


def test_class_scores_and_offsets_start_at_zero_too():
    classes = np.digitize(Y, [-0.5, 1.0])
    model = hr.GradientBoostingClassifier(init="zero", n_estimators=1).fit(X, classes)
    assert model._model.ensemble.base_score.tolist() == [0.0] * 3
    constant = hr.GradientBoostingRegressor(init="zero", n_estimators=1, min_samples_leaf=200)
    with pytest.warns(hr.NoSplitWarning):
        constant.fit(X, Y, offset=Y)
    np.testing.assert_allclose(constant.predict(X, offset=Y), Y, atol=1e-9)
    with pytest.raises(hr.ParameterError, match="init='nothing' is not allowed"):
        hr.GradientBoostingRegressor(init="nothing").fit(X, Y)
