"""The objective Σ l + Σ Ω, against sums written out, and against structure scores."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import hedgerow as hr
from hedgerow import theory
from hedgerow.exceptions import ParameterError

X, Y = load_diabetes(return_X_y=True)
FEW = {"n_estimators": 4, "max_leaves": 5, "reg_lambda": 3.0, "min_split_gain": 0.5}
STUMP = hr.DecisionTreeRegressor(max_depth=1)
WEIGHTS = np.random.default_rng(0).uniform(0.5, 2.0, len(Y))


def penalty(model):
    """γT + ½ λ Σ w² + α Σ |w|, leaf by leaf."""
    ensemble = model._model.ensemble
    w = ensemble.value[ensemble.feature < 0]
    return (
        model.min_split_gain * len(w)
        + model.reg_lambda / 2 * (w**2).sum()
        + model.reg_alpha * np.abs(w).sum()
    )


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize(
    ("loss", "value"),
    [
        ("squared_error", lambda y, p: (y - p) ** 2 / 2),
        ("absolute_error", lambda y, p: np.abs(y - p)),
        ("quantile", lambda y, p: np.maximum(0.8 * (y - p), -0.2 * (y - p))),
        ("poisson", lambda y, p: p - y * np.log(p)),
    ],
)
def test_the_objective_of_a_regressor_is_loss_plus_penalty(loss, value, weights):
    options = FEW | {"quantile": 0.8} if loss == "quantile" else FEW
    model = hr.GradientBoostingRegressor(loss=loss, reg_alpha=0.1, **options).fit(X, Y, weights)
    w = np.ones(len(Y)) if weights is None else weights
    result = theory.objective(model, X, Y, weights)
    expected = (w * value(Y, model.predict(X))).sum() + penalty(model)
    assert result.total == pytest.approx(expected, rel=1e-9)
    assert float(result) == result.total
    for stage, of_stage in zip(model.staged_predict(X), result.loss[1:], strict=True):
        assert (w * value(Y, stage)).sum() == pytest.approx(of_stage, rel=1e-9)


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_the_objective_of_a_classifier_is_the_log_loss_plus_penalty(load):
    X, y = load(return_X_y=True)
    model = hr.GradientBoostingClassifier(class_weight={0: 2.0}, **FEW).fit(X, y)
    p = model.predict_proba(X)[np.arange(len(y)), y]
    expected = -(np.where(y == 0, 2.0, 1.0) * np.log(p)).sum() + penalty(model)
    assert theory.objective(model, X, y).total == pytest.approx(expected, rel=1e-9)


def test_the_exponential_loss_is_that_of_the_score():
    X, y = load_breast_cancer(return_X_y=True)
    model = hr.GradientBoostingClassifier(loss="exponential", **FEW).fit(X, y)
    p = model.predict_proba(X)[:, 1]
    F = np.log(p / (1 - p)) / 2
    expected = np.exp(-np.where(y == 1, 1, -1) * F).sum() + penalty(model)
    assert theory.objective(model, X, y).total == pytest.approx(expected, rel=1e-9)


def test_a_round_of_the_squared_error_changes_the_objective_by_its_structure_score():
    model = hr.GradientBoostingRegressor(learning_rate=1.0, **FEW).fit(X, Y)
    changes = np.diff(theory.objective(model, X, Y).to_frame()["objective"])
    np.testing.assert_allclose(changes, theory.structure_score(model).score, rtol=1e-9)


def test_the_objective_falls_with_every_round_and_is_drawn():
    result = theory.objective(hr.GradientBoostingRegressor(**FEW).fit(X, Y), X, Y)
    assert (np.diff(result.loss + result.penalty) < 0.0).all()
    assert "4 rounds" in repr(result)
    assert result.plot().get_xlabel() == "round"


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (hr.DecisionTreeRegressor(), "DecisionTreeRegressor is not allowed"),
        (hr.GradientBoostingRegressor(linear_leaves=True, **FEW), "linear_leaves=True"),
        (hr.GradientBoostingRegressor(loss="huber", **FEW), "not for loss='huber'"),
        (
            hr.GradientBoostingRegressor(init_estimator=STUMP, **FEW),
            "init_estimator adds scores",
        ),
    ],
)
def test_models_without_this_objective_are_refused(model, says):
    with pytest.raises(ParameterError, match=says):
        theory.objective(model.fit(X, Y), X, Y)
