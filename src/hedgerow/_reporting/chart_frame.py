"""The common parts of charts: Vega-Lite by Altair, in the style of the page.

Colours are CSS variables of the page, so that charts follow its light, dark and print themes. Names
of users are data or titles, never fields, so that any name is safe.
"""

from __future__ import annotations

from typing import Any

from hedgerow._reporting.wording import decimals_of
from hedgerow._result import imported

HEIGHT = 260
INK, SOFT, LINE, ACCENT = "var(--ink)", "var(--soft)", "var(--line)", "var(--c0)"
SERIES = [f"var(--c{i})" for i in range(7)]
# Width of a chart in pixels, evaluated again whenever it changes.
ROOM = "(0 * width + containerSize()[0])"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
DOTS = "dots"  # name of the dataset of a scatter plot

alt = imported("altair", "report()")  # this file is imported when a page is written


def chart(
    place: str,
    title: str,
    description: str,
    plot: Any,
    *,
    wide: bool = False,
    caption: bool = True,
    dots: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return a chart with its place in the page, its heading and its description.

    Without a caption, the description is only for screen readers. Thousands of dots are passed
    separately, because Altair copies the data of a chart repeatedly.
    """
    config: dict[str, Any] = {
        "background": "transparent",
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            "labelColor": SOFT,
            "titleColor": SOFT,
            "gridColor": LINE,
            "domainColor": LINE,
            "tickColor": LINE,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": 400,
            "labelLimit": 220,
            "titlePadding": 8,
            "labelFlush": False,
        },
        # A tick every 80 pixels, so that labels of six digits do not overlap.
        "axisX": {
            "tickCount": {"expr": "max(2, ceil(width / 80))"},
            "titleLimit": {"expr": "width"},
        },
        "axisY": {"titleLimit": HEIGHT - 60},
        # Names at the left take less than half of the width.
        "axisYBand": {"labelLimit": {"expr": f"0.42 * {ROOM}"}},
        "legend": {
            "labelColor": INK,
            "titleColor": SOFT,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": 400,
            "orient": "bottom",
            "labelLimit": {"expr": f"{ROOM} - 110"},
        },
        "range": {"category": SERIES},
    }
    spec = plot.properties(
        width="container",
        description=description,
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
    ).to_dict(validate=False)
    if dots is not None:
        spec["datasets"] = {DOTS: dots}
    spec |= {"config": config, "padding": {"left": 4, "right": 14, "top": 5, "bottom": 5}}
    return {
        "place": place,
        "title": title,
        "description": description,
        "spec": spec,
        "wide": wide,
        "caption": caption,
    }


def data(points: list[dict[str, Any]]) -> Any:
    """Return points as data of a chart."""
    return alt.Data(values=points)


def tips(form: str, **titles: str) -> list[Any]:
    """Return tooltips of numbers, by field: their titles, in one format."""
    return [alt.Tooltip(f"{name}:Q", title=of, format=form) for name, of in titles.items()]


def dashed_line(ends: list[dict[str, Any]]) -> Any:
    """Return a dashed line between two points."""
    line = alt.Chart(data(ends)).mark_line(color=SOFT, strokeDash=[4, 4], strokeWidth=1)
    return line.encode(x="x:Q", y="y:Q")


def histogram_chart(bars: list[dict[str, Any]], title: str, of: str = "rows") -> Any:
    """Return a histogram of precomputed bars."""
    plot = alt.Chart(data(bars)).mark_bar(color=ACCENT, binSpacing=1).properties(height=HEIGHT)
    return plot.encode(
        x=alt.X("low:Q", bin="binned", title=title, axis=alt.Axis(grid=False)),
        x2="high:Q",
        y=alt.Y("rows:Q", title=of, axis=alt.Axis(tickMinStep=1)),
        tooltip=[*tips(".4~g", low="from", high="to"), alt.Tooltip("rows:Q", title=of)],
    )


def bars_chart(
    bars: list[dict[str, Any]], label: str, value: str, title: str, *, percent: bool = False
) -> Any:
    """Return bars with their numbers at the end and, if they have any, their error bars."""
    ends = [max(bar[value], bar.get("high", bar[value])) for bar in bars]
    low = min([0.0, *(bar.get("low", bar[value]) for bar in bars)])
    longest = max([*ends, 1e-12])
    # The label of the longest bar takes about 60 pixels.
    end: Any = {"expr": f"{low!r} + {longest - low!r} * width / max(60, width - 64)"}
    decimals = max(0, decimals_of(bar[value] for bar in bars) - 1)
    form = ".1%" if percent else f",.{decimals}f"
    base = alt.Chart(data([bar | {"end": end} for bar, end in zip(bars, ends, strict=True)]))
    x = alt.X(
        f"{value}:Q",
        title=title,
        scale=alt.Scale(domainMin=low, domainMax=end, nice=False),
        # Percentages are labels of the bars; a tick of 110% would make no sense.
        axis=alt.Axis(labels=False, ticks=False, grid=False) if percent else alt.Axis(format="~g"),
    )
    plot = base.mark_bar(color=ACCENT, cornerRadiusEnd=2, height={"band": 0.7}).encode(
        x=x,
        y=names_axis(label),
        tooltip=[alt.Tooltip(f"{label}:N"), alt.Tooltip(f"{value}:Q", title=title, format=form)],
    )
    numbers = base.mark_text(align="left", dx=6, color=INK, fontSize=12).encode(
        x="end:Q", y=names_axis(label), text=alt.Text(f"{value}:Q", format=form)
    )
    if any("high" in bar for bar in bars):
        errors = base.mark_rule(color=INK, opacity=0.6, strokeWidth=1.5)
        plot = plot + errors.encode(x="low:Q", x2="high:Q", y=names_axis(label))
    return (plot + numbers).properties(height=24 * len(bars))


def color_of(points: list[dict[str, Any]], field: str, *, always: bool = False) -> Any:
    """Return the colour of each series, with as many legend columns as there is space for."""
    names = {str(point[field]) for point in points if field in point}
    if len(names) < 2 and not always:
        return alt.value(ACCENT)
    letters = max(map(len, names))
    columns: Any = {"expr": f"max(1, floor(({ROOM} - 70) / {7 * letters + 34}))"}
    legend = alt.Legend(columns=columns, symbolOpacity=1)
    return alt.Color(f"{field}:N", title=None, sort=None, legend=legend)


def names_axis(field: str, *, grid: bool = False) -> Any:
    """Return a y axis of names."""
    axis = alt.Axis(grid=grid, ticks=False, domain=False, labelPadding=6)
    return alt.Y(f"{field}:N", sort=None, title=None, axis=axis)
