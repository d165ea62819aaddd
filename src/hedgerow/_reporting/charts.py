"""A summary → all charts of the page; those of the performance are in performance_charts.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hedgerow._reporting.chart_frame import (
    DOTS,
    HEIGHT,
    SOFT,
    alt,
    bars_chart,
    chart,
    color_of,
    data,
    histogram_chart,
    names_axis,
    tips,
)
from hedgerow._reporting.performance_charts import outcome_charts, threshold_charts
from hedgerow._result import imported

MOST_CLASSES = 20  # in the chart of their shares
# Heights of a partial dependence panel, and of the distribution at its bottom.
PANEL, STRIP = 240, 40


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
        charts += _importance_charts(summary)
        charts += _shap_charts(summary["shap"])
        charts += _effect_charts(summary["effects"])
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
    return [
        chart(
            "training",
            "",
            f"{curve['metric'].capitalize()} on each data set after each boosting round.",
            _learning(curve, training["best_round"]),
            wide=True,
        )
        for curve in training["curves"]
        if curve["points"]
    ]


def _learning(curve: dict[str, Any], best_round: int | None) -> Any:
    lines = alt.Chart(data(curve["points"])).mark_line(strokeWidth=2)
    lines = lines.encode(
        x=alt.X("round:Q", title="round", axis=alt.Axis(grid=False)),
        y=alt.Y("value:Q", title=curve["metric"], scale=alt.Scale(zero=False)),
        color=color_of(curve["points"], "set", always=True),
        tooltip=["set:N", "round:Q", alt.Tooltip("value:Q", format=".5~g")],
    )
    if best_round is None:
        return lines.properties(height=HEIGHT)
    best = alt.Chart(data([{"round": best_round, "label": f"best round: {best_round}"}]))
    rule = best.mark_rule(color=SOFT, strokeDash=[4, 4]).encode(x="round:Q")
    text = best.mark_text(color=SOFT, align="right", dx=-6, fontSize=12, baseline="top")
    text = text.encode(x="round:Q", y=alt.value(2), text="label:N")
    return (lines + rule + text).properties(height=HEIGHT)


def _importance_charts(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the importances: by permutation, and by gain."""
    charts = []
    for part, percent in (("shuffled", False), ("importances", True)):
        importances = summary[part]
        if "absent" not in importances:
            plot = bars_chart(
                importances["bars"], "name", "value", importances["what"], percent=percent
            )
            description = f"The most important features by {importances['what']}."
            charts.append(chart(part, "", description, plot, caption=False, wide=True))
    return charts


def _shap_charts(shap: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the SHAP values of rows: a beeswarm, or mean absolute values by output."""
    if "absent" in shap:
        return []
    what = shap["what"]
    if "totals" in shap:
        description = (
            f"Mean absolute SHAP value of each feature, sum over {shap['n_outputs']} outputs."
        )
        plot = bars_chart(shap["totals"], "name", "value", f"mean |SHAP value| ({what})")
        return [chart("shap", "", description, plot, caption=False, wide=True)]
    if "bars" in shap:
        description = f"Mean absolute SHAP value of each feature, by output; in {shap['units']}."
        return [chart("shap", "", description, _stacked(shap), caption=False, wide=True)]
    description = f"SHAP values of {shap['n_rows']} rows, by feature; in {shap['units']}."
    plot = _beeswarm(shap)
    return [chart("shap", "", description, plot, caption=False, wide=True, dots=shap["dots"])]


def _stacked(shap: dict[str, Any]) -> Any:
    bars = alt.Chart(data(shap["bars"])).mark_bar(height={"band": 0.75})
    return bars.properties(height=24 * len(shap["features"])).encode(
        x=alt.X("value:Q", title=f"mean |SHAP value| ({shap['what']})", stack="zero"),
        y=names_axis("name"),
        color=color_of(shap["bars"], "output"),
        order=alt.Order("order:Q"),
        tooltip=["name:N", "output:N", alt.Tooltip("value:Q", format=".4~g")],
    )


def _beeswarm(shap: dict[str, Any]) -> Any:
    colors = [f"color-mix(in srgb, var(--c4) {20 * i}%, var(--c0))" for i in range(6)]
    scale = alt.Scale(domain=[-1, *range(6)], range=["var(--soft)", *colors])
    zero = alt.Chart(data([{"x": 0}])).mark_rule(color=SOFT, strokeDash=[4, 4]).encode(x="x:Q")
    dots = alt.Chart(alt.NamedData(name=DOTS)).mark_circle(size=14, opacity=0.8)
    dots = dots.encode(
        x=alt.X("x:Q", title=f"SHAP value ({shap['what']})", axis=alt.Axis(grid=False)),
        y=names_axis("name", grid=True),
        yOffset=alt.YOffset("y:Q", scale=alt.Scale(domain=[-1.15, 1.15])),
        color=alt.Color("color:O", scale=scale, legend=None),
        tooltip=["name:N", *tips("+.4~g", x="SHAP value")],
    )
    return (zero + dots).properties(height=34 * len(shap["features"]))


def _effect_charts(effects: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a panel of partial dependence for each feature, all on one scale."""
    curves = effects.get("curves", [])
    if not curves:
        return []
    scale = shared_domain([point["y"] for curve in curves for point in curve["points"]])
    return [
        chart(
            "effects",
            effect["name"],
            f"Partial dependence of {effects['what']} on {effect['name']}, and its distribution.",
            _effect(effect, effects["what"], scale),
            caption=False,
        )
        for effect in curves
    ]


def shared_domain(values: list[float]) -> dict[str, Any]:
    """Return the common domain of all panels, with a margin; a constant gets ±10%."""
    low, high = min(values), max(values)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        room = 0.1 * abs(low) or 1.0
    else:
        room = 0.05 * (high - low)
    return {"domain": [low - room, high + room]}


def _effect(effect: dict[str, Any], what: str, shared: dict[str, Any]) -> Any:
    """Return the curve above, on the scale of all panels, and the distribution below it."""
    above = alt.Scale(**shared, zero=False, nice=False, range=[PANEL - STRIP - 12, 0])
    upright = alt.Axis(titleAlign="right", titleAnchor="end", grid=True)
    y = alt.Y("y:Q", title=what, scale=above, axis=upright)
    base = alt.Chart(data(effect["points"]))
    color = color_of(effect["points"], "output")
    kind = "N" if effect["is_category"] else "Q"
    tip = [alt.Tooltip(f"x:{kind}", title=effect["name"]), *tips(".4~g", y=what)]
    if effect["is_category"]:
        axis = alt.Axis(labelAngle=-40, labelLimit=150, grid=False, labelOverlap=False)
        x = alt.X("x:N", sort=None, title=None, axis=axis)
        plot = base.mark_circle(size=70, opacity=1)
        below = _counts(effect["bars"], x)
    else:
        grid = [point["x"] for point in effect["points"]]
        ends = [min(grid), max(grid)]
        gap = Gap.beside(ends) if effect["missing"] else None
        domain = ends if gap is None else [ends[0], gap.end]
        scale = alt.Scale(zero=False, nice=False, domain=domain)
        scale = scale if domain[0] < domain[1] else alt.Scale()
        x = alt.X("x:Q", title=None, scale=scale, axis=_number_axis(grid, gap))
        plot = base.mark_line(strokeWidth=2)
        below = _strip(effect, scale, ends, gap)
        if gap is not None:
            dots = [point | {"at": gap.middle} for point in effect["missing"]]
            mark = alt.Chart(data(dots)).mark_circle(size=70, opacity=1)
            tip_missing = [alt.Tooltip("x:N", title=effect["name"]), *tips(".4~g", y=what)]
            beside = alt.Y("y:Q", scale=above, axis=None)
            below += mark.encode(x="at:Q", y=beside, color=color, tooltip=tip_missing)
    lines = plot.encode(x=x, y=y, color=color, tooltip=tip)
    return (below + lines).resolve_scale(y="independent").properties(height=PANEL)


@dataclass(frozen=True)
class Gap:
    """The place of missing values, at the right of the numbers of an axis."""

    begin: float
    middle: float
    end: float

    @classmethod
    def beside(cls, ends: list[float]) -> Gap:
        """Return the place beside an axis with these ends: a tenth of its width."""
        width = ends[1] - ends[0] or 1.0
        return cls(*(ends[1] + share * width for share in (0.06, 0.11, 0.16)))


def _number_axis(grid: list[float], gap: Gap | None) -> Any:
    """Return the axis of a numeric feature; only "missing" is written in the gap."""
    step = {"tickMinStep": 1} if all(at == round(at) for at in grid) else {}
    if gap is None:
        return alt.Axis(**step)
    visible = {"condition": {"test": f"datum.value < {gap.begin!r}", "value": 1}, "value": 0}
    return alt.Axis(
        **step, **dict.fromkeys(("labelOpacity", "tickOpacity", "gridOpacity"), visible)
    )


def _strip(effect: dict[str, Any], scale: Any, ends: list[float], gap: Gap | None) -> Any:
    """Return a small histogram at the bottom of a panel, and the rows with missing values."""
    bars = effect["bars"]
    inside = [
        bar | {"low": max(bar["low"], ends[0]), "high": min(bar["high"], ends[1])}
        for bar in bars
        if bar["high"] > ends[0] and bar["low"] < ends[1]
    ]
    here = [] if gap is None else [{"low": gap.begin, "high": gap.end, "rows": effect["n_missing"]}]
    y, rows = _rows_axis([*bars, *here]), tips(",", rows="rows")
    x = {"x": alt.X("low:Q", bin="binned", title=None, scale=scale), "x2": "high:Q"}
    strip = alt.Chart(data(inside)).mark_bar(color=SOFT, opacity=0.55, binSpacing=0.5)
    strip = strip.encode(y=y, tooltip=[*tips(".4~g", low="from", high="to"), *rows], **x)
    if gap is None:
        return strip
    beside = alt.Chart(data(here)).mark_bar(color=SOFT, opacity=0.55)
    at = alt.Chart(data([{"x": gap.middle, "label": "missing"}]))
    word = at.mark_text(color=SOFT, fontSize=12, baseline="top")
    word = word.encode(x="x:Q", y=alt.value(PANEL + 20), text="label:N")
    return strip + beside.encode(y=y, tooltip=rows, **x) + word


def _counts(bars: list[dict[str, Any]], x: Any) -> Any:
    """Return the rows of each category at the bottom of a panel."""
    tip = [alt.Tooltip("x:N", title="category"), *tips(",", rows="rows")]
    plot = alt.Chart(data(bars)).mark_bar(color=SOFT, opacity=0.55)
    return plot.encode(x=x, y=_rows_axis(bars), tooltip=tip)


def _rows_axis(bars: list[dict[str, Any]]) -> Any:
    most = max((bar["rows"] for bar in bars), default=1) or 1
    scale = alt.Scale(domain=[0, most], nice=False, range=[PANEL, PANEL - STRIP])
    return alt.Y("rows:Q", scale=scale, axis=None)
