"""Charts of the features: importances, SHAP values, partial dependence and distributions."""

from __future__ import annotations

from typing import Any

from hedgerow._reporting.chart_frame import (
    DOTS,
    SOFT,
    altair,
    bars_chart,
    chart,
    color_of,
    data,
    names_axis,
)

PANEL, STRIP = (
    240,
    40,
)  # heights of a partial dependence panel, and of the distribution at its bottom


def importance_charts(summary: dict[str, Any]) -> list[dict[str, Any]]:
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


def shap_charts(shap: dict[str, Any]) -> list[dict[str, Any]]:
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
        description = f"Mean absolute SHAP value of each feature, by output; in {what}."
        return [chart("shap", "", description, _stacked(shap), caption=False, wide=True)]
    description = f"SHAP values of {shap['n_rows']} rows, by feature; in {what}."
    plot = _beeswarm(shap)
    return [chart("shap", "", description, plot, caption=False, wide=True, dots=shap["dots"])]


def _stacked(shap: dict[str, Any]) -> Any:
    alt = altair()
    return (
        alt.Chart(data(shap["bars"]))
        .mark_bar(height={"band": 0.75})
        .encode(
            x=alt.X("value:Q", title=f"mean |SHAP value| ({shap['what']})", stack="zero"),
            y=names_axis("name"),
            color=color_of(shap["bars"], "output"),
            order=alt.Order("order:Q"),
            tooltip=["name:N", "output:N", alt.Tooltip("value:Q", format=".4~g")],
        )
        .properties(height=24 * len(shap["features"]))
    )


def _beeswarm(shap: dict[str, Any]) -> Any:
    alt = altair()
    colors = [f"color-mix(in srgb, var(--c4) {20 * i}%, var(--c0))" for i in range(6)]
    color = alt.Color(
        "color:O",
        scale=alt.Scale(domain=[-1, *range(6)], range=["var(--soft)", *colors]),
        legend=None,
    )
    zero = alt.Chart(data([{"x": 0}])).mark_rule(color=SOFT, strokeDash=[4, 4]).encode(x="x:Q")
    dots = (
        alt.Chart(alt.NamedData(name=DOTS))
        .mark_circle(size=14, opacity=0.8)
        .encode(
            x=alt.X("x:Q", title=f"SHAP value ({shap['what']})", axis=alt.Axis(grid=False)),
            y=names_axis("name", grid=True),
            yOffset=alt.YOffset("y:Q", scale=alt.Scale(domain=[-1.15, 1.15])),
            color=color,
            tooltip=["name:N", alt.Tooltip("x:Q", title="SHAP value", format="+.4~g")],
        )
    )
    return (zero + dots).properties(height=34 * len(shap["features"]))


def effect_charts(effects: dict[str, Any]) -> list[dict[str, Any]]:
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
    alt = altair()
    above = alt.Scale(**shared, zero=False, nice=False, range=[PANEL - STRIP - 12, 0])
    y = alt.Y(
        "y:Q",
        title=what,
        scale=above,
        axis=alt.Axis(titleAlign="right", titleAnchor="end", grid=True),
    )
    base = alt.Chart(data(effect["points"]))
    color = color_of(effect["points"], "output")
    kind = "N" if effect["is_category"] else "Q"
    tip = [
        alt.Tooltip(f"x:{kind}", title=effect["name"]),
        alt.Tooltip("y:Q", title=what, format=".4~g"),
    ]
    if effect["is_category"]:
        x = alt.X(
            "x:N",
            sort=None,
            title=None,
            axis=alt.Axis(labelAngle=-40, labelLimit=150, grid=False, labelOverlap=False),
        )
        plot = base.mark_circle(size=70, opacity=1)
        below = _counts(effect["bars"], x)
    else:
        axis = alt.Axis(tickMinStep=1) if _are_integers(effect["points"]) else alt.Axis()
        ends = [min(p["x"] for p in effect["points"]), max(p["x"] for p in effect["points"])]
        scale = alt.Scale(zero=False, nice=False, domain=ends) if ends[0] < ends[1] else alt.Scale()
        x = alt.X("x:Q", title=None, scale=scale, axis=axis)
        plot = base.mark_line(strokeWidth=2)
        below = _strip(effect["bars"], scale, ends)
    lines = plot.encode(x=x, y=y, color=color, tooltip=tip)
    return (below + lines).resolve_scale(y="independent").properties(height=PANEL)


def _are_integers(points: list[dict[str, Any]]) -> bool:
    return all(point["x"] == round(point["x"]) for point in points)


def _rows_scale(bars: list[dict[str, Any]]) -> Any:
    most = max((bar["rows"] for bar in bars), default=1) or 1
    return altair().Scale(domain=[0, most], nice=False, range=[PANEL, PANEL - STRIP])


def _strip(bars: list[dict[str, Any]], scale: Any, ends: list[float]) -> Any:
    """Return a small histogram at the bottom of a panel."""
    alt = altair()
    inside = [
        bar | {"low": max(bar["low"], ends[0]), "high": min(bar["high"], ends[1])}
        for bar in bars
        if bar["high"] > ends[0] and bar["low"] < ends[1]
    ]
    return (
        alt.Chart(data(inside))
        .mark_bar(color=SOFT, opacity=0.55, binSpacing=0.5)
        .encode(
            x=alt.X("low:Q", bin="binned", title=None, scale=scale),
            x2="high:Q",
            y=alt.Y("rows:Q", scale=_rows_scale(bars), axis=None),
            tooltip=[
                alt.Tooltip("low:Q", title="from", format=".4~g"),
                alt.Tooltip("high:Q", title="to", format=".4~g"),
                alt.Tooltip("rows:Q", title="rows", format=","),
            ],
        )
    )


def _counts(bars: list[dict[str, Any]], x: Any) -> Any:
    """Return the rows of each category at the bottom of a panel."""
    alt = altair()
    return (
        alt.Chart(data(bars))
        .mark_bar(color=SOFT, opacity=0.55)
        .encode(
            x=x,
            y=alt.Y("rows:Q", scale=_rows_scale(bars), axis=None),
            tooltip=[
                alt.Tooltip("x:N", title="category"),
                alt.Tooltip("rows:Q", title="rows", format=","),
            ],
        )
    )
