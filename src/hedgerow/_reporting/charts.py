"""A summary → all charts of the page."""

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
    """Return every chart of the page: place, title, description and specification."""
    charts: list[dict[str, Any]] = []
    # Altair would validate every point against its schema, for seconds; a test does that once.
    with imported("altair.utils.schemapi", "report()").debug_mode(False):
        charts += _of_targets(summary)
        charts += _of_training(summary["training"])
        for k, outcome in enumerate(summary["outcomes"][: summary["n_drawn"]]):
            charts += outcome_charts(outcome, k, summary["target"])
        charts += threshold_charts(summary["threshold"])
        charts += importance_charts(summary)
        charts += shap_charts(summary["shap"])
        charts += effect_charts(summary["effects"])
    return charts


def _of_targets(summary: dict[str, Any]) -> list[dict[str, Any]]:
    charts = []
    for target in summary["targets"]:
        name = target["name"] or summary["target"]
        if target["kind"] == "classes":
            plot, description = _of_class_shares(target["classes"], name)
        else:
            plot = histogram_chart(target["histogram"], name)
            description = f"Distribution of {name} over the rows."
            if target["kind"] == "times":
                description += " For censored rows it is the time of censoring."
        title = "Class balance" if target["kind"] == "classes" else "Distribution of the target"
        title += f": {name}" if target["name"] else ""
        charts.append(chart("target", title, description, plot, caption=target["kind"] == "times"))
    return charts


def _of_class_shares(classes: list[dict[str, Any]], name: str) -> tuple[Any, str]:
    description = f"Share of the rows in each class of {name}."
    if len(classes) > MOST_CLASSES:
        description = f"Share of the rows in the {MOST_CLASSES} most frequent classes of {name}."
        classes = sorted(classes, key=lambda one: -one["rows"])[:MOST_CLASSES]
    return bars_chart(classes, "label", "share", "share of the rows", percent=True), description


def _of_training(training: dict[str, Any]) -> list[dict[str, Any]]:
    charts = []
    for curve in training["curves"]:
        if not curve["points"]:
            continue
        description = f"{curve['metric'].capitalize()} on each data set after each boosting round."
        plot = _learning(curve, training["best_round"])
        charts.append(chart("training", "", description, plot, wide=True))
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
    best = [{"round": best_round, "label": f"best round: {best_round}"}]
    rule = alt.Chart(data(best)).mark_rule(color=SOFT, strokeDash=[4, 4]).encode(x="round:Q")
    text = (
        alt.Chart(data(best))
        .mark_text(color=SOFT, align="right", dx=-6, fontSize=12, baseline="top")
        .encode(x="round:Q", y=alt.value(2), text="label:N")
    )
    return (lines + rule + text).properties(height=HEIGHT)
