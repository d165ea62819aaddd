"""The display of learning curves, round by round or tree by tree, with the best round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from hedgerow._adaboost.estimators import AdaBoost
from hedgerow._boosting.estimators.base import GradientBoosting
from hedgerow._boosting.fit.choice import ROUNDS_PER_EVALUATION, Choice
from hedgerow._contract import internals
from hedgerow._data.outputs import ClassOutputs
from hedgerow._forest.estimator import Forest
from hedgerow._result import GREY
from hedgerow._stagewise.estimators import Stagewise
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot._colors import COLORS, INK
from hedgerow.plot._display import SMALL, Display, number, open_frame, require_axes, short
from hedgerow.theory._bounds import AdaBoostBound, adaboost_bound
from hedgerow.theory._voters import out_of_bag


@dataclass(frozen=True, eq=False)
class Curve:
    """The values of a metric after some rounds."""

    rounds: NDArray[np.int64]
    values: Floats


class LearningCurveDisplay(Display):
    """The error of a model after each round, or for each number of trees.

    Create it with `from_estimator`.

    Parameters
    ----------
    curves : mapping from str to Curve
        The curves by name: evaluation sets, or "out of bag".
    xlabel, ylabel : str
        Labels of the axes.
    chosen : int, optional
        The best round, at which the model stops.
    trials : sequence of Curve
        The trials of ``n_estimators="auto"``, drawn as thin lines.
    bound : AdaBoostBound, optional
        AdaBoost's training error and its bound, drawn instead of curves.
    choice : Choice, optional
        The trials of ``n_estimators="auto"``, drawn if there are no other curves.
    """

    curves: Mapping[str, Curve]
    xlabel: str
    ylabel: str
    chosen: int | None = None
    trials: Sequence[Curve] = ()
    bound: AdaBoostBound | None = None
    choice: Choice | None = None

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any = None, y: Any = None, *, metric: str | None = None, ax: Any = None
    ) -> Self:
        """Draw the learning curves of a model.

        Parameters
        ----------
        model : fitted estimator
            A boosted model with metrics from its fit (``eval_set``, ``early_stopping`` or
            ``n_estimators="auto"``), a stagewise model, AdaBoost or a forest.
        X, y : rows and their target, optional
            For AdaBoost, the rows whose error is drawn; the bound holds for the training set.
            Forests need the training set, in the order of fit, for their out-of-bag error. Boosted
            models need none.
        metric : str, optional
            The metric of a boosted model; the first by default.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        """
        require_axes(ax)
        if metric is not None and not isinstance(model, GradientBoosting):
            raise ParameterError(f"metric={metric!r}: only boosted models have several metrics.")
        if isinstance(model, GradientBoosting | Stagewise | AdaBoost | Forest):
            check_is_fitted(model)
            return cls(**_parts(model, X, y, metric)).plot(ax)
        raise ParameterError(
            f"model: {type(model).__name__} is not allowed; it must be a fitted boosted model, "
            "stagewise model, AdaBoost model or forest of Hedgerow."
        )

    def _draw(self) -> None:
        if self.bound is not None:
            self.bound.plot(self.ax_)
            return
        if not self.curves and self.choice is not None:
            self.choice.plot(self.ax_)
            return
        ax = self.ax_
        for place, trial in enumerate(self.trials):
            label = "trials of the automatic search" if place == 0 else None
            ax.plot(trial.rounds, trial.values, color=GREY, linewidth=0.7, alpha=0.8, label=label)
        for place, (name, curve) in enumerate(self.curves.items()):
            color = COLORS[place % len(COLORS)]
            ax.plot(curve.rounds, curve.values, color=color, linewidth=1.8, label=short(name))
        self._mark_best_round()
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel)
        ax.legend(frameon=False, fontsize=SMALL)
        open_frame(ax)

    def _mark_best_round(self) -> None:
        """Mark the best round on the curve of the validation set: the last."""
        if self.chosen is None or not self.curves:
            return
        curve = list(self.curves.values())[-1]
        at = np.flatnonzero(curve.rounds == self.chosen)
        if not len(at):
            return
        value = float(curve.values[at[0]])
        self.ax_.axvline(self.chosen, color=GREY, linestyle=":", linewidth=1)
        self.ax_.plot(
            [self.chosen],
            [value],
            "o",
            color=COLORS[4],
            markeredgecolor=INK,
            label=f"best: round {self.chosen}, {number(value, 4)}",
            zorder=4,
        )


def _parts(model: Any, X: Any, y: Any, metric: str | None) -> dict[str, Any]:
    if isinstance(model, GradientBoosting):
        return _of_rounds(model, metric)
    if isinstance(model, Stagewise):
        return _of_stages(model)
    return _of_trees(model, X, y) if isinstance(model, Forest) else _of_adaboost(model, X, y)


def _of_rounds(model: Any, metric: str | None) -> dict[str, Any]:
    """Return the curves of a boosted model, and the trials of the automatic search."""
    history, before = model.evals_result_, getattr(model, "n_initial_rounds_", 0)
    choice: Any = getattr(model, "auto_", None)
    metrics = list(dict.fromkeys(name for by_metric in history.values() for name in by_metric))
    has_trials = choice is not None and len(choice.tried) > 0
    if not metrics and not has_trials:
        raise ParameterError(
            f"model: this {type(model).__name__} has no metrics from its fit. Fit it with an "
            "eval_set, with early_stopping or with n_estimators='auto'."
        )
    if metric is None:
        metric = metrics[0] if metrics else choice.metric
    known = metrics or [choice.metric]
    if metric not in known:
        raise ParameterError(
            f"metric={metric!r} is not allowed; this model has {', '.join(known)}."
        )
    curves = {of: _curve(by[metric], before) for of, by in history.items() if metric in by}
    trials = [
        Curve(ROUNDS_PER_EVALUATION * np.arange(1, len(one.curve) + 1), np.array(one.curve))
        for one in (choice.tried if has_trials and choice.metric == metric else ())
    ]
    is_deciding = bool(metrics) and metric == metrics[0]
    return {
        "curves": curves,
        "xlabel": "round",
        "ylabel": metric,
        "chosen": getattr(model, "best_iteration_", None) if is_deciding else None,
        "trials": trials,
        "choice": choice if has_trials else None,
    }


def _of_stages(model: Any) -> dict[str, Any]:
    curves = {"training set": _curve(model.train_score_)}
    validation = getattr(model, "validation_score_", None)
    if validation is not None:
        before = getattr(model, "n_initial_rounds_", 0)
        curves["validation set"] = _curve(validation, before)
    best_round = getattr(model, "best_iteration_", None)
    return {"curves": curves, "xlabel": "round", "ylabel": "mean loss", "chosen": best_round}


def _of_adaboost(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Return the theoretical bound if there is one, else the error after each round."""
    try:
        bound = adaboost_bound(model, X, y) if is_classifier(model) else None
    except ParameterError:  # real-valued base models, or reset weights
        bound = None
    parts: dict[str, Any] = {"curves": {}, "xlabel": "round", "ylabel": "", "bound": bound}
    if bound is not None:
        return parts
    if X is None or y is None:
        raise ParameterError(
            "X and y are needed, because there is no bound for this AdaBoost model."
        )
    scores = np.array(list(model.staged_score(X, y)))
    if is_classifier(model):
        return parts | {"curves": {"X and y": _curve(1.0 - scores)}, "ylabel": "error rate"}
    return parts | {"curves": {"X and y": _curve(scores)}, "ylabel": "R²"}


def _of_trees(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Return the out-of-bag error of the first tree, the first two trees, and so on."""
    if X is None or y is None:
        raise ParameterError("X and y are needed: the training set of the forest.")
    leaves = internals(model).leaves(X)
    inner = internals(model).model()
    outputs, forest = inner.outputs, inner.forest
    if not outputs.is_single:
        raise ParameterError(f"model: this {type(model).__name__} has several outputs.")
    outside = out_of_bag(model, len(leaves))
    if not outside.any():
        raise ParameterError(
            f"model: every tree of this {type(model).__name__} was trained on every row, so "
            "there are no out-of-bag rows. Fit it with bootstrap=True."
        )
    is_classes = isinstance(outputs, ClassOutputs)
    learned, truth = type(outputs).learn(y, len(leaves))
    if learned != outputs:
        raise DataError("y has different classes or outputs than in fit.")
    votes = inner.values(getattr(model, "voting", "soft"))
    values = forest.value if votes is None else votes
    sums, n_votes = np.zeros((len(leaves), values.shape[1])), np.zeros(len(leaves))
    errors = np.full(forest.n_trees, np.nan)
    for t in range(forest.n_trees):
        rows = outside[t]
        sums[rows] += values[leaves[rows, t]]
        n_votes += rows
        has_votes = n_votes > 0.0
        average = sums[has_votes] / n_votes[has_votes, np.newaxis]
        if is_classes:
            errors[t] = np.mean(outputs.votes(average)[:, 0] != truth[has_votes, 0])
        else:
            errors[t] = np.sqrt(np.mean((average[:, 0] - truth[has_votes, 0]) ** 2))
    ylabel = "error rate" if is_classes else "root mean squared error"
    return {"curves": {"out of bag": _curve(errors)}, "xlabel": "trees", "ylabel": ylabel}


def _curve(values: Any, before: int = 0) -> Curve:
    """Return the curve of the rounds after the initial ones."""
    array = np.asarray(values, np.float64)
    return Curve(before + np.arange(1, len(array) + 1), array)
