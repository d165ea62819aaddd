"""Steepest descent in function space: on the training rows themselves, and by a base learner.

On the rows, the values F(x_i) are free numbers, and a step of steepest descent changes each by −ρ
times its derivative. That says nothing about any other x. A learner that is fitted to the negative
gradient does: this is gradient boosting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow._arithmetic import sum_of
from hedgerow._contract import internals
from hedgerow._data.target import read_regression_target
from hedgerow._params import COUNT, Options, Parameter
from hedgerow._result import Columns, Result
from hedgerow._stagewise import StagewiseRegressor
from hedgerow._stagewise.losses import regression_loss
from hedgerow._stagewise.model import AdditiveModel
from hedgerow._types import Floats

_LOSS = Parameter(
    "loss", "absolute_error", Options(("squared_error", "absolute_error", "huber", "poisson")), ""
)
_STEPS = Parameter("n_steps", 4, COUNT, "")
GRID = 400  # points of the learner's curve


def function_descent(
    X: Any, y: Any, *, loss: str = "absolute_error", learner: Any = None, n_steps: int = 4
) -> FunctionDescent:
    """Return steepest descent in function space: on the rows themselves, and with a base learner.

    Both begin with the best constant F₀. On the rows, step m is F(x_i) ← F(x_i) − ρ g_i with
    g_i = ∂L(y_i, F(x_i))/∂F(x_i) and ρ = argmin Σ L(y_i, F(x_i) − ρ g_i). By a learner, h is fitted
    to −g, and F ← F + ρ h with ρ = argmin Σ L(y_i, F(x_i) + ρ h(x_i)), which also changes F between
    the rows.

    Parameters
    ----------
    X : table of shape (n_rows, n_features)
        Any table that the learner accepts. The plot needs a single numeric column.
    y : array of shape (n_rows,)
        The target.
    loss : {"squared_error", "absolute_error", "huber", "poisson"}
        The loss L of `StagewiseRegressor`.
    learner : regressor, optional
        The base learner; by default a regression tree with at most eight leaves.
    n_steps : int
        Number of steps.

    Returns
    -------
    FunctionDescent
        ``plot()`` draws both, if X has one column.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import theory
    >>> x = np.arange(6.0)
    >>> descent = theory.function_descent(x[:, None], x**2, loss="squared_error", n_steps=1)
    >>> float(descent.loss_rows[-1])  # one step on the rows ends at y
    0.0
    """
    _LOSS.check(loss)
    _STEPS.check(n_steps)
    options = {"loss": loss, "step": "line_search", "learning_rate": 1.0, "n_estimators": n_steps}
    model = StagewiseRegressor(learner, **options).fit(X, y)
    target = read_regression_target(y)
    start = np.full(len(target), float(model.init_[0]))
    fitted: AdditiveModel = internals(model).model()
    scores = [start, *(stage.copy() for stage in fitted.staged_scores(X, len(target)))]
    rows = _on_rows(target, start, loss, n_steps)
    grid = _grid(X)
    curves = None
    if grid is not None:
        curves = np.array([stage.copy() for stage in fitted.staged_scores(grid, len(grid))])
    return FunctionDescent(
        y=target,
        rows=rows,
        learner=np.array(scores),
        loss_rows=np.array([_mean_loss(loss, target, F) for F in rows]),
        loss_learner=np.array([_mean_loss(loss, target, F) for F in scores]),
        x=None if grid is None else np.asarray(X, np.float64)[:, 0],
        grid=None if grid is None else grid[:, 0],
        curves=curves,
        link=fitted.link,
    )


@dataclass(frozen=True, eq=False, repr=False)
class FunctionDescent(Result):
    """Scores of the training rows after each step of steepest descent.

    Attributes
    ----------
    y : array of shape (n_rows,)
        The target.
    rows : array of shape (n_steps + 1, n_rows)
        F(x_i) if the values of the rows themselves are changed.
    learner : array of shape (n_steps + 1, n_rows)
        F(x_i) if a learner is fitted to the negative gradient; fewer steps if the gradient
        vanished.
    loss_rows, loss_learner : array of shape (n_steps + 1,)
        The mean loss of both; the Huber loss uses the δ of the current scores.
    x : array of shape (n_rows,), or None
        The column of X, if there is only one and it is a number.
    grid, curves : array of shape (n_points,) and (n_steps, n_points), or None
        Points between the rows, and the learner's F there.
    link : str
        "log" if the prediction is e^F.
    """

    y: Floats
    rows: Floats
    learner: Floats
    loss_rows: Floats
    loss_learner: Floats
    x: Floats | None
    grid: Floats | None
    curves: Floats | None
    link: str

    def _title(self) -> str:
        return f"FunctionDescent: {len(self.rows) - 1} steps, {len(self.y)} rows"

    def _columns(self) -> Columns:
        n_steps = min(len(self.loss_rows), len(self.loss_learner))
        return {
            "step": np.arange(n_steps),
            "loss_rows": self.loss_rows[:n_steps],
            "loss_learner": self.loss_learner[:n_steps],
        }

    def predictions(self, F: Floats) -> Floats:
        """Return the predictions of scores."""
        return np.exp(F) if self.link == "log" else F


def _on_rows(y: Floats, start: Floats, loss_name: str, n_steps: int) -> Floats:
    """Return F₀ and the scores after each step on the rows themselves."""
    F, w, steps = start.copy(), np.ones(len(y)), [start]
    for _ in range(n_steps):
        loss = regression_loss(loss_name, 0.9).adapted(y, F, w)
        gradient = loss.gradient(y, F)
        F = F + loss.line_step(y, F, -gradient, w) * -gradient
        steps.append(F)
    return np.array(steps)


def _mean_loss(loss_name: str, y: Floats, F: Floats) -> float:
    loss = regression_loss(loss_name, 0.9).adapted(y, F, np.ones(len(y)))
    return float(sum_of(loss.loss(y, F)) / len(y))


def _grid(X: Any) -> Floats | None:
    """Return points along a single column of numbers, None for other tables."""
    column = np.asarray(X)
    if column.ndim != 2 or column.shape[1] != 1 or column.dtype.kind not in "fiu":
        return None
    return np.linspace(column.min(), column.max(), GRID)[:, None]
