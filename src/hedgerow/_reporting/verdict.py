"""The first paragraph of the report: what the model predicts, how well, and against what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hedgerow._reporting.outcomes import (
    ClassOutcome,
    NumberOutcome,
    Outcome,
    QuantileOutcome,
    RankingOutcome,
)
from hedgerow._reporting.wording import brief, number

MOST_NAMED = 4  # classes of a title


def verdict(summary: dict[str, Any], outcome: Outcome) -> str:
    """Return one or two sentences for a reader in a hurry."""
    metrics = {metric["name"]: metric for metric in summary["outcomes"][0]["metrics"]}
    n_targets, n_folds = len(summary["outcomes"]), summary["n_folds"]
    on = f"On {_rows(outcome.n_rows)}"
    if n_folds is not None:
        on = f"In {n_folds}-fold cross-validation on {_rows(outcome.n_rows)}"
    if n_targets == 1:
        return _sentence(outcome, metrics, summary["target"], on)
    sentence = _sentence(outcome, metrics, outcome.name, on)
    return f"The model predicts {n_targets} targets. For the first, {outcome.name}: {sentence}"


def title_of(outcomes: Sequence[Outcome], target: str) -> str:
    """Return a title: the target with its classes, or the task."""
    first, n = outcomes[0], len(outcomes)
    is_class = isinstance(first, ClassOutcome)
    if n > 1:
        return f"{'Classification' if is_class else 'Regression'} of {n} targets"
    name = brief(target)
    if isinstance(first, ClassOutcome):
        start = name.capitalize() if name.islower() else name
        return f"{start}: {_choice_of(first)}"
    if isinstance(first, NumberOutcome):
        return f"Regression of {name}"
    if isinstance(first, QuantileOutcome):
        return f"Quantiles of {name}"
    return f"Ranking by {name}" if isinstance(first, RankingOutcome) else f"Survival: {name}"


def _choice_of(outcome: ClassOutcome) -> str:
    """Return the classes, the positive one first; of many, their number."""
    if len(outcome.classes) > MOST_NAMED:
        return f"{len(outcome.classes)} classes"
    order = dict.fromkeys([*outcome.scored_classes, *range(len(outcome.classes))])
    *others, last = [brief(outcome.classes[k]) for k in order]
    return f"{', '.join(others)} or {last}" if others else last


def _sentence(outcome: Outcome, metrics: dict[str, Any], target: str, on: str) -> str:
    if isinstance(outcome, ClassOutcome):
        return _of_classes(outcome, metrics, on)
    if isinstance(outcome, NumberOutcome):
        return _of_numbers(outcome, metrics, target, on) + _of_intervals(outcome, metrics)
    if isinstance(outcome, QuantileOutcome):
        return _of_quantiles(outcome, metrics, target, on)
    if isinstance(outcome, RankingOutcome):
        return (
            f"{on}, the rankings have a mean NDCG of {_interval(metrics['NDCG'])}; 1 would be a "
            "perfect order."
        )
    return (
        f"{on}, the model puts {_percent(metrics['concordance'])} of the comparable pairs in the "
        "right order of survival; guessing would get 50%."
    )


def _rows(n_rows: int) -> str:
    return "1 row" if n_rows == 1 else f"{n_rows:,} rows"


def _of_numbers(outcome: NumberOutcome, metrics: dict[str, Any], target: str, on: str) -> str:
    off = f"a root mean squared error of {number(metrics['RMSE']['value'])}"
    if not np.isfinite(metrics["R²"]["value"]):
        return f"{on}, the predictions of {target} have {off}."
    return (
        f"{on}, the model explains {_percent(metrics['R²'])} of the variance of {target}. Its "
        f"predictions have {off}; always predicting the mean would have "
        f"{number(float(np.std(outcome.y)))}."
    )


def _of_intervals(outcome: NumberOutcome, metrics: dict[str, Any]) -> str:
    if outcome.intervals is None:
        return ""
    nominal = f"{100 * outcome.intervals.coverage:.3g}%"
    coverage = _percent(metrics[f"coverage of the {nominal} intervals"])
    width = number(metrics[f"mean width of the {nominal} intervals"]["value"])
    return (
        f" Its {nominal} prediction intervals cover {coverage} of the true values and are {width} "
        "wide on average."
    )


def _of_quantiles(outcome: QuantileOutcome, metrics: dict[str, Any], target: str, on: str) -> str:
    nominal = outcome.levels[-1] - outcome.levels[0]
    kind = "calibrated " if outcome.intervals is not None else ""
    first = next(metrics[name] for name in metrics if name.startswith("coverage"))
    width = next(metrics[name] for name in metrics if name.startswith("mean width"))
    return (
        f"{on}, the {kind}{100 * nominal:.3g}% intervals of {target} cover {_percent(first)} of "
        f"the true values. They are {number(width['value'])} wide on average."
    )


def _of_classes(outcome: ClassOutcome, metrics: dict[str, Any], on: str) -> str:
    counts = np.bincount(outcome.index, minlength=len(outcome.classes))
    most = float(counts.max() / outcome.n_rows)
    frequent = brief(outcome.classes[int(counts.argmax())])
    right = (
        f"classifies {100 * metrics['accuracy']['value']:.1f}% of the rows correctly; always "
        f"predicting the most frequent class, {frequent}, would get "
        f"{100 * most:.1f}%"
    )
    auc = metrics.get("ROC AUC")
    if auc is None or not np.isfinite(auc["value"]):
        return f"{on}, the model {right}."
    kinds = f"separates {len(outcome.classes)} classes"
    if len(outcome.classes) == 2:
        (k,) = outcome.scored_classes
        kinds = f"separates {brief(outcome.classes[k])} from {brief(outcome.classes[1 - k])}"
    return f"{on}, the model {kinds} with a ROC AUC of {_interval(auc)}. It {right}."


def _interval(metric: dict[str, Any], text: Callable[[float], str] = number) -> str:
    """Return the value of a metric with its confidence interval, if there is one."""
    low, high = metric["low"], metric["high"]
    is_known = not np.isnan([low, high]).any()
    inside = f" (95% interval {text(low)} to {text(high)})" if is_known else ""
    return text(metric["value"]) + inside


def _percent(metric: dict[str, Any]) -> str:
    return _interval(metric, lambda share: f"{100 * share:.1f}%")
