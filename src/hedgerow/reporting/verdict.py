"""One sentence for a reader in a hurry: what the model does, how well, against what."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.reporting.outcomes import (
    ClassOutcome,
    NumberOutcome,
    Outcome,
    QuantileOutcome,
    RankingOutcome,
)

MOST_LETTERS = 60  # of a name that a user chose, in text


def verdict(summary: dict[str, Any], outcome: Outcome) -> str:
    """Return the sentence."""
    metrics = {metric["name"]: metric for metric in summary["outcomes"][0]["metrics"]}
    n_targets = len(summary["outcomes"])
    if n_targets == 1:
        return _sentence(outcome, metrics, summary["target"])
    said = _sentence(outcome, metrics, outcome.name)
    return f"Of {n_targets} targets, the first is {outcome.name}. {said}"


def _sentence(outcome: Outcome, metrics: dict[str, Any], target: str) -> str:
    on = f"on {outcome.n_rows:,} rows"
    if isinstance(outcome, ClassOutcome):
        return _of_classes(outcome, metrics, target, on)
    if isinstance(outcome, NumberOutcome):
        return _of_numbers(outcome, metrics, target, on)
    if isinstance(outcome, QuantileOutcome):
        name = next(name for name in metrics if name.startswith("coverage"))
        asked = outcome.levels[-1] - outcome.levels[0]
        return (
            f"Its outer quantiles of {target} hold {_percent(metrics[name])} of the true values "
            f"{on}, where {100 * asked:.3g}% were asked for."
        )
    if isinstance(outcome, RankingOutcome):
        return f"Its rankings have a mean NDCG of {_interval(metrics['NDCG'])} {on}; 1 is the best."
    return (
        f"Of two rows, it tells rightly which lasts longer in {_percent(metrics['concordance'])} "
        f"of the cases {on}; guessing would in half."
    )


def _of_numbers(outcome: NumberOutcome, metrics: dict[str, Any], target: str, on: str) -> str:
    off = f"off by {number(metrics['RMSE']['value'])} (RMSE)"
    if not np.isfinite(metrics["R²"]["value"]):
        return f"Its predictions of {target} are {off} {on}."
    return (
        f"It explains {_percent(metrics['R²'])} of the variance of {target} {on}: predictions are "
        f"{off}, where always saying the mean would be off by {number(float(np.std(outcome.y)))}."
    )


def _of_classes(outcome: ClassOutcome, metrics: dict[str, Any], target: str, on: str) -> str:
    most = float(np.bincount(outcome.index).max() / outcome.n_rows)
    right = (
        f"{_percent(metrics['accuracy'])} of the rows get the right class, where always saying the "
        f"most frequent one would be right for {100 * most:.1f}%"
    )
    if "AUC" not in metrics or not np.isfinite(metrics["AUC"]["value"]):
        return f"It predicts {target} {on}: {right}."
    kinds = (
        f"{brief(outcome.classes[1])} from {brief(outcome.classes[0])}"
        if len(outcome.classes) == 2
        else f"{len(outcome.classes)} classes apart"
    )
    return f"It tells {kinds} with an AUC of {_interval(metrics['AUC'])} {on}; {right}."


def _interval(metric: dict[str, Any]) -> str:
    ends = (metric["low"], metric["high"])
    inside = "" if np.isnan(ends).any() else f" ({number(ends[0])} to {number(ends[1])})"
    return number(metric["value"]) + inside


def _percent(metric: dict[str, Any]) -> str:
    ends = (metric["low"], metric["high"])
    inside = "" if np.isnan(ends).any() else f" ({100 * ends[0]:.1f} to {100 * ends[1]:.1f})"
    return f"{100 * metric['value']:.1f}%{inside}"


def brief(name: str) -> str:
    """Return a name, cut if it would fill lines."""
    return name if len(name) <= MOST_LETTERS else name[: MOST_LETTERS - 1] + "…"


def number(value: float | None, *, strip: bool = True) -> str:
    """Return a number with as many digits as a reader can use; zeros at its end may stay."""
    if value is None or not np.isfinite(value):
        return "–"
    size = abs(value)
    if size != 0.0 and not 0.1 <= size < 1e10:
        return f"{value:.3g}" if strip else f"{value:#.3g}"
    whole_digits = len(f"{size:.0f}") if size >= 1.0 else 0
    text = f"{value:,.{max(0, 4 - whole_digits)}f}"
    return text.rstrip("0").rstrip(".") if strip and "." in text else text
