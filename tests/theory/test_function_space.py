"""Steepest descent in function space, written out."""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import theory
from hedgerow.exceptions import DataError, ParameterError

RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(0, 6, 40))[:, None]
Y = np.sin(X[:, 0]) + RNG.standard_t(2, 40) * 0.3 + 2.0


def test_steps_on_the_rows_are_gradient_descent_in_n_dimensions():
    descent = theory.function_descent(X, Y, loss="absolute_error", n_steps=3)
    F = np.full(40, np.median(Y))
    for after in descent.rows[1:]:
        g = np.sign(F - Y)
        steps = np.abs(Y - F)  # the kinks of Σ|y − F + ρ g| are where a row reaches its target
        losses = [np.abs(Y - (F - rho * g)).sum() for rho in steps]
        assert np.abs(Y - after).sum() == pytest.approx(min(losses), rel=1e-9)
        rho = (F - after)[g != 0] / g[g != 0]
        np.testing.assert_allclose(rho, rho[0], rtol=1e-9)
        F = after


def test_the_learner_is_stagewise_boosting_by_line_search():
    tree = hr.DecisionTreeRegressor(max_leaves=3)
    descent = theory.function_descent(X, Y, loss="huber", learner=tree, n_steps=3)
    model = hr.StagewiseRegressor(
        tree, loss="huber", step="line_search", learning_rate=1.0, n_estimators=3
    ).fit(X, Y)
    np.testing.assert_array_equal(descent.learner[1:], list(model.staged_predict(X)))
    np.testing.assert_array_equal(descent.curves, list(model.staged_predict(descent.grid[:, None])))


def test_with_squared_errors_one_step_on_the_rows_ends_at_the_target():
    descent = theory.function_descent(X, Y, loss="squared_error", n_steps=1)
    np.testing.assert_allclose(descent.rows[1], Y)
    assert descent.loss_rows[1] == pytest.approx(0.0, abs=1e-20)
    assert descent.loss_learner[1] > 0.0


def test_both_descents_lower_the_loss_and_are_drawn():
    for loss in ("absolute_error", "huber", "poisson"):
        descent = theory.function_descent(X, np.maximum(Y, 0.0), loss=loss)
        if loss != "huber":  # whose δ changes with every step
            assert (np.diff(descent.loss_rows) <= 1e-12).all()
            assert (np.diff(descent.loss_learner) <= 1e-12).all()
    assert "4 steps, 40 rows" in repr(descent)
    assert list(descent.to_frame()) == ["step", "loss_rows", "loss_learner"]
    axes = descent.plot().figure.axes
    assert len(axes) == 2
    for ax in axes:  # the same limits, within which all rows are
        assert ax.get_ylim() == axes[0].get_ylim()
        assert ax.get_ylim()[0] <= descent.y.min() <= descent.y.max() <= ax.get_ylim()[1]


def test_what_has_no_picture_or_no_gradient_is_refused():
    wide = theory.function_descent(np.column_stack([X, X]), Y, n_steps=1)
    with pytest.raises(DataError, match="one numeric column"):
        wide.plot()
    for arguments in ({"loss": "hinge"}, {"n_steps": 0}):
        with pytest.raises(ParameterError, match=next(iter(arguments))):
            theory.function_descent(X, Y, **arguments)
