"""A summary → all charts of the page, and where each stands."""

from __future__ import annotations

from typing import Any

from hedgerow._reporting.chart_frame import (
    HEIGHT,
    SOFT,
    altair,
    bars_chart,
    chart,
    color_of,
    data,
    histogram_chart,
)
from hedgerow._reporting.feature_charts import effect_charts, importance_charts, shap_charts
from hedgerow._reporting.performance_charts import outcome_charts, threshold_charts
from hedgerow._result import imported

MOST_CLASSES = 20  # in the chart of their shares


def charts_of(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every chart of the page: where it stands, what it is, and its specification."""
    found: list[dict[str, Any]] = []
    # Altair would hold every point against its schema, for seconds; a test does that once.
    with imported("altair.utils.schemapi", "report()").debug_mode(False):
        found += _of_targets(summary)
        found += _of_training(summary["training"])
        for k, outcome in enumerate(summary["outcomes"][: summary["n_drawn"]]):
            found += outcome_charts(outcome, k, summary["target"])
        found += threshold_charts(summary["threshold"])
        found += importance_charts(summary)
        found += shap_charts(summary["shap"])
        found += effect_charts(summary["effects"])
    return found


def _of_targets(summary: dict[str, Any]) -> list[dict[str, Any]]:
    charts = []
    for target in summary["targets"]:
        name = target["name"] or summary["target"]
        if target["kind"] == "classes":
            drawn, words = _of_class_shares(target["classes"], name)
        else:
            drawn = histogram_chart(target["histogram"], name)
            words = f"Distribution of {name} over the rows."
            if target["kind"] == "times":
                words += " For censored rows it is the time of censoring."
        title = "Class balance" if target["kind"] == "classes" else "Distribution of the target"
        title += f": {name}" if target["name"] else ""
        charts.append(chart("target", title, words, drawn, caption=target["kind"] == "times"))
    return charts


def _of_class_shares(classes: list[dict[str, Any]], name: str) -> tuple[Any, str]:
    words = f"Share of the rows in each class of {name}."
    if len(classes) > MOST_CLASSES:
        words = f"Share of the rows in the {MOST_CLASSES} most frequent classes of {name}."
        classes = sorted(classes, key=lambda one: -one["rows"])[:MOST_CLASSES]
    return bars_chart(classes, "label", "share", "share of the rows", percent=True), words


def _of_training(training: dict[str, Any]) -> list[dict[str, Any]]:
    charts = []
    for curve in training["curves"]:
        if not curve["points"]:
            continue
        words = f"{curve['metric'].capitalize()} on each data set after each boosting round."
        drawn = _learning(curve, training["best_round"])
        charts.append(chart("training", "", words, drawn, wide=True))
    return charts


def _learning(curve: dict[str, Any], best_round: int | None) -> Any:
    alt = altair()
    lines = (
        alt.Chart(data(curve["points"]))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("round:Q", title="round", axis=alt.Axis(grid=False)),
            y=alt.Y("value:Q", title=curve["metric"], scale=alt.Scale(zero=False)),
            color=color_of(curve["points"], "set", always=True),
            tooltip=["set:N", "round:Q", alt.Tooltip("value:Q", format=".5~g")],
        )
    )
    if best_round is None:
        return lines.properties(height=HEIGHT)
    chosen = [{"round": best_round, "label": f"best round: {best_round}"}]
    rule = alt.Chart(data(chosen)).mark_rule(color=SOFT, strokeDash=[4, 4]).encode(x="round:Q")
    text = (
        alt.Chart(data(chosen))
        .mark_text(color=SOFT, align="right", dx=-6, fontSize=12, baseline="top")
        .encode(x="round:Q", y=alt.value(2), text="label:N")
    )
    return (lines + rule + text).properties(height=HEIGHT)
