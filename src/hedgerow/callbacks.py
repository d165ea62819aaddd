"""Callbacks of gradient boosting that integrate other libraries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hedgerow._spelling import near
from hedgerow.exceptions import ParameterError

if TYPE_CHECKING:
    from hedgerow._boosting.fit.loop import RoundInfo

__all__ = ["OptunaPruning"]


class OptunaPruning:
    """Reports a metric to an Optuna trial after each round, and stops the fit of a pruned trial.

    The fit then raises `optuna.TrialPruned`, and the estimator is unchanged.

    Parameters
    ----------
    trial : optuna.trial.Trial
        The trial that the fit belongs to.
    eval_name : str, optional
        The evaluation set; by default the last one.
    metric : str, optional
        The metric; by default the first. A study whose direction does not match it is refused.

    Examples
    --------
    >>> import hedgerow as hr
    >>> def objective(trial):  # doctest: +SKIP
    ...     rate = trial.suggest_float("learning_rate", 0.01, 0.3, log=True)
    ...     model = hr.GradientBoostingClassifier(n_estimators=200, learning_rate=rate)
    ...     pruning = hr.callbacks.OptunaPruning(trial)
    ...     model.fit(X, y, eval_set=[(X_valid, y_valid)], callbacks=[pruning])
    ...     return model.best_score_
    """

    def __init__(self, trial: Any, eval_name: str | None = None, metric: str | None = None) -> None:
        for method in ("report", "should_prune"):
            if not callable(getattr(trial, method, None)):
                raise ParameterError(f"trial={trial!r} is not allowed; it must be an Optuna trial.")
        self.trial, self.eval_name, self.metric = trial, eval_name, metric

    def after_round(self, info: RoundInfo) -> None:
        """Report the metric of a round; raise `TrialPruned` if the trial should be pruned."""
        import optuna

        if not info.metrics:
            raise ParameterError(
                "OptunaPruning needs an evaluation set: pass an eval_set to fit, or set "
                "early_stopping=True."
            )
        eval_name = [*info.metrics][-1] if self.eval_name is None else self.eval_name
        values = _chosen("eval_name", eval_name, info.metrics)
        metric = next(iter(values)) if self.metric is None else self.metric
        value = _chosen("metric", metric, values)
        self._require_direction(metric, info.higher_is_better)
        self.trial.report(value, info.round)
        if self.trial.should_prune():
            raise optuna.TrialPruned(f"pruned after {info.round} rounds.")

    def _require_direction(self, metric: str, higher_is_better: Mapping[str, bool]) -> None:
        """Refuse a study that would keep the worst models and prune the best."""
        study = getattr(self.trial, "study", None)  # Optuna's FixedTrial has none
        if study is None or metric not in higher_is_better or len(study.directions) > 1:
            return
        direction = study.direction.name.lower()
        needed, better = (
            ("maximize", "higher") if higher_is_better[metric] else ("minimize", "lower")
        )
        if direction != needed:
            raise ParameterError(
                f"trial: the direction of its study is {direction!r}, but {better} values of "
                f"{metric!r} are better. Use optuna.create_study(direction={needed!r}), or "
                "another metric, as in OptunaPruning(trial, metric=NAME)."
            )


def _chosen(argument: str, name: str, named: Mapping[str, Any]) -> Any:
    if name in named:
        return named[name]
    similar = near(name, list(named))
    hint = f"Did you mean {similar[0]!r}?" if similar else f"There are {', '.join(named)}."
    raise ParameterError(f"{argument}={name!r} is not allowed: there is no such name. {hint}")
