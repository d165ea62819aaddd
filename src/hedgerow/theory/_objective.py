"""The objective Σ l(y, ŷ) + Σ Ω(f_k) of a gradient boosting model, as one number.

ŷ is the sum of the trees f_k, and Ω(f) = γT + ½ λ ‖w‖² + α ‖w‖₁ counts the T leaves of a tree and
their values w as they are added to the scores, learning rate included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._arithmetic import sum_of
from hedgerow._boosting.estimators.gradient_boosting import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from hedgerow._boosting.fit.fit_data import as_fitted
from hedgerow._contract import internals
from hedgerow._result import BROWN, GREEN, GREY, Columns, Result
from hedgerow._stagewise.losses import StagewiseLoss, classification_loss, regression_loss
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError
from hedgerow.theory._structure import ACCEPTED, read_training_set
from hedgerow.theory._voters import require_fitted

CLASS_LOSSES = ("auto", "log_loss", "exponential")
NUMBER_LOSSES = ("squared_error", "absolute_error", "quantile", "poisson")


def objective(
    model: Any, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None
) -> Objective:
    """Return Σ l(y, ŷ) + Σ Ω(f_k) of a gradient boosting model, also after each round.

    l is the loss of a row: ½ (y − ŷ)² for the squared error, ln(1 + e^ŷ) − y ŷ for the log loss of
    two classes, −ln p(y) for more, and so on. Ω(f) = γT + ½ λ ‖w‖² for a tree of T leaves that add
    w to the scores; with reg_alpha = α there is a term α ‖w‖₁. λ is reg_lambda and γ is
    min_split_gain.

    With the squared error and learning_rate=1, a round changes the objective by exactly the
    structure score J of its tree; with other losses, J is its second-order approximation.

    Parameters
    ----------
    model : fitted GradientBoostingClassifier or GradientBoostingRegressor
        Its parameters must not have changed since the fit. Its loss is 'log_loss', 'exponential',
        'squared_error', 'absolute_error', 'quantile' with one level, or 'poisson'.
    X, y : rows and their targets
        Usually the training set; on other rows Ω is the same.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows' losses.
    offset : array of shape (n_rows,) or (n_rows, n_scores), optional
        Added to the scores of the rows, as in `fit`.

    Returns
    -------
    Objective
        ``total`` is the number; ``float(…)`` returns it, too.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow import theory
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 2.0, 2.0]
    >>> model = hr.GradientBoostingRegressor(
    ...     n_estimators=1, learning_rate=1.0, min_samples_leaf=1, reg_lambda=2.0
    ... )
    >>> theory.objective(model.fit(X, y), X, y).total  # leaves ∓½: 4 · ½ · (1 − ½)² + ½ · 2 · ½
    1.0
    """
    require_fitted(model, ACCEPTED)
    _require_sum(model)
    fitted = internals(model).model()
    loss = _loss(model, getattr(model, "classes_", None))
    dataset = read_training_set(model, X, y, sample_weight, offset)
    target = dataset.target.astype(np.float64)
    weights = np.ones(len(target)) if dataset.weights is None else dataset.weights
    ensemble, added = fitted.ensemble, dataset.offset
    start = np.zeros((len(target), ensemble.n_outputs)) if added is None else added
    stages = [
        ensemble.base_score + start,
        *ensemble.staged_raw(fitted.matrix(dataset.table), offset=added),
    ]
    losses = [sum_of(weights * loss.loss(target, _shaped(scores))) for scores in stages]
    return Objective(
        rounds=np.arange(len(stages)),
        loss=np.array(losses),
        penalty=np.append(0.0, np.cumsum(_penalties(model))),
    )


@dataclass(frozen=True, eq=False, repr=False)
class Objective(Result):
    """The objective of gradient boosting after each round.

    Attributes
    ----------
    rounds : array of shape (n_rounds + 1,)
        0, 1, 2, …; before the first round there is only the base score.
    loss : array of shape (n_rounds + 1,)
        Σ l(y, ŷ).
    penalty : array of shape (n_rounds + 1,)
        Σ Ω(f_k) over the trees so far.
    """

    rounds: NDArray[np.int64]
    loss: Floats
    penalty: Floats

    @property
    def total(self) -> float:
        """The objective of the whole model."""
        return float(self.loss[-1] + self.penalty[-1])

    def __float__(self) -> float:
        return self.total

    def _title(self) -> str:
        return f"Objective: {len(self.rounds) - 1} rounds"

    def _figures(self) -> dict[str, float]:
        return {"Σ l + Σ Ω": self.total}

    def _columns(self) -> Columns:
        return {
            "round": self.rounds,
            "loss": self.loss,
            "penalty": self.penalty,
            "objective": self.loss + self.penalty,
        }

    def _draw(self, ax: Any) -> None:
        ax.plot(self.rounds, self.loss + self.penalty, color=GREEN, label="objective")
        ax.plot(self.rounds, self.loss, color=GREY, linestyle="--", label="loss")
        ax.plot(self.rounds, self.penalty, color=BROWN, label="penalty")
        ax.set(xlabel="round", ylabel="sum over rows and trees", ylim=(0.0, None))
        ax.legend(frameon=False)


def _require_sum(model: Any) -> None:
    """Refuse models that are not a plain sum of trees with constant leaves."""
    if not isinstance(model, GradientBoostingClassifier | GradientBoostingRegressor):
        raise ParameterError(f"model: {type(model).__name__} is not allowed; pass {ACCEPTED}.")
    fitted = internals(model).model()
    reasons = {
        "n_estimators='auto' averaged several models": (
            hasattr(model, "auto_") and model.auto_.n_members > 1
        ),
        "linear_leaves=True gives leaves slopes": fitted.ensemble.slopes is not None,
        "init_estimator adds scores that do not come from trees": fitted.init_estimator is not None,
    }
    for reason, applies in reasons.items():
        if applies:
            raise ParameterError(f"model: {reason}, for which Ω is not defined.")


def _loss(model: Any, classes: Any) -> StagewiseLoss:
    """Return the model's loss, with its value as a function of raw scores."""
    name = model.loss
    allowed = NUMBER_LOSSES if classes is None else CLASS_LOSSES
    if isinstance(name, str) and name in allowed:
        if classes is not None:
            return classification_loss("log_loss" if name == "auto" else name, len(classes))
        level = model.quantile
        if name != "quantile" or isinstance(level, float):
            return regression_loss(name, level if name == "quantile" else 0.5)
    raise ParameterError(
        f"model: the objective is known for loss={', '.join(map(repr, allowed))}, not for "
        f"loss={name!r}."
    )


def _shaped(scores: Floats) -> Floats:
    return scores[:, 0] if scores.shape[1] == 1 else scores


def _penalties(model: Any) -> Floats:
    """Return the Ω of each round."""
    ensemble, used = internals(model).model().ensemble, as_fitted(model)
    is_leaf = ensemble.feature < 0
    size = np.where(is_leaf[:, None], ensemble.value, 0.0)
    of_nodes = 0.5 * used.reg_lambda * size**2 + used.reg_alpha * np.abs(size)
    of_nodes = of_nodes.sum(axis=1) + used.min_split_gain * is_leaf
    of_trees = np.add.reduceat(of_nodes, ensemble.tree_offset[:-1])
    return of_trees.reshape(ensemble.n_rounds, -1).sum(axis=1)
