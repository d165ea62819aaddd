"""What all charts of the page share: Vega-Lite by Altair, with the look of the page.

Colours are the page's CSS variables, so that a chart follows light, dark and print by itself. Names
that a user chose are data or titles, never fields, so that any of them will do.
"""

from __future__ import annotations

from typing import Any

from hedgerow._reporting.wording import decimals_of
from hedgerow._result import imported

HEIGHT = 260
INK, SOFT, LINE, ACCENT = "var(--ink)", "var(--soft)", "var(--line)", "var(--c0)"
SERIES = [f"var(--c{i})" for i in range(7)]
# Pixels that a chart has, asked anew whenever its width changes.
ROOM = "(0 * width + containerSize()[0])"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
DOTS = "dots"  # the data of a chart of many

Points = list[dict[str, Any]]


def chart(
    place: str,
    title: str,
    words: str,
    drawn: Any,
    *,
    wide: bool = False,
    caption: bool = True,
    dots: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return a chart with its place in the page, its heading and a description for all readers.

    Without a caption, the description is for those who cannot see the chart. Thousands of dots are
    passed beside the chart, because Altair copies what is in it again and again.
    """
    alt = altair()
    width: Any = "container"
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
        # A tick for every 80 pixels: so labels of six digits stay apart.
        "axisX": {
            "tickCount": {"expr": "max(2, ceil(width / 80))"},
            "titleLimit": {"expr": "width"},
        },
        "axisY": {"titleLimit": HEIGHT - 60},
        # Names at the left leave more than half of the width to what they name.
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
    spec = drawn.properties(
        width=width,
        description=words,
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
    ).to_dict(validate=False)
    if dots is not None:
        spec["datasets"] = {DOTS: dots}
    spec |= {"config": config, "padding": {"left": 4, "right": 14, "top": 5, "bottom": 5}}
    return {
        "place": place,
        "title": title,
        "words": words,
        "spec": spec,
        "wide": wide,
        "caption": caption,
    }


def altair() -> Any:
    """Return the module, which is only needed for reports."""
    return imported("altair", "report()")


def data(points: list[dict[str, Any]]) -> Any:
    """Return points as data of a chart."""
    return altair().Data(values=points)


def histogram_chart(bars: list[dict[str, Any]], title: str, of: str = "rows") -> Any:
    """Return a histogram of bars that were counted before."""
    alt = altair()
    return (
        alt.Chart(data(bars))
        .mark_bar(color=ACCENT, binSpacing=1)
        .encode(
            x=alt.X("low:Q", bin="binned", title=title, axis=alt.Axis(grid=False)),
            x2="high:Q",
            y=alt.Y("rows:Q", title=of, axis=alt.Axis(tickMinStep=1)),
            tooltip=[
                alt.Tooltip("low:Q", title="from", format=".4~g"),
                alt.Tooltip("high:Q", title="to", format=".4~g"),
                alt.Tooltip("rows:Q", title=of),
            ],
        )
        .properties(height=HEIGHT)
    )


def bars_chart(
    bars: list[dict[str, Any]], label: str, value: str, title: str, *, percent: bool = False
) -> Any:
    """Return bars with their numbers at the end and, if they have any, their error bars."""
    alt = altair()
    ends = [max(bar[value], bar.get("high", bar[value])) for bar in bars]
    low = min([0.0, *(bar.get("low", bar[value]) for bar in bars)])
    longest = max([*ends, 1e-12])
    # The number of the longest bar takes some 60 pixels.
    end: Any = {"expr": f"{low!r} + {longest - low!r} * width / max(60, width - 64)"}
    decimals = max(0, decimals_of(bar[value] for bar in bars) - 1)
    form = ".1%" if percent else f",.{decimals}f"
    base = alt.Chart(data([bar | {"end": end} for bar, end in zip(bars, ends, strict=True)]))
    x = alt.X(
        f"{value}:Q",
        title=title,
        scale=alt.Scale(domainMin=low, domainMax=end, nice=False),
        # Shares stand beside their bars, and 110% would be no tick.
        axis=alt.Axis(labels=False, ticks=False, grid=False) if percent else alt.Axis(format="~g"),
    )
    drawn = base.mark_bar(color=ACCENT, cornerRadiusEnd=2, height={"band": 0.7}).encode(
        x=x,
        y=names_axis(label),
        tooltip=[alt.Tooltip(f"{label}:N"), alt.Tooltip(f"{value}:Q", title=title, format=form)],
    )
    numbers = base.mark_text(align="left", dx=6, color=INK, fontSize=12).encode(
        x="end:Q", y=names_axis(label), text=alt.Text(f"{value}:Q", format=form)
    )
    if any("high" in bar for bar in bars):
        errors = base.mark_rule(color=INK, opacity=0.6, strokeWidth=1.5)
        drawn = drawn + errors.encode(x="low:Q", x2="high:Q", y=names_axis(label))
    return (drawn + numbers).properties(height=24 * len(bars))


def color_of(points: list[dict[str, Any]], field: str, *, always: bool = False) -> Any:
    """Return the colour of each series, with a legend of as many columns as have room."""
    alt = altair()
    names = {str(point[field]) for point in points if field in point}
    if len(names) < 2 and not always:
        return alt.value(ACCENT)
    letters = max(map(len, names))
    columns: Any = {"expr": f"max(1, floor(({ROOM} - 70) / {7 * letters + 34}))"}
    legend = alt.Legend(columns=columns, symbolOpacity=1)
    return alt.Color(f"{field}:N", title=None, sort=None, legend=legend)


def names_axis(field: str, *, grid: bool = False) -> Any:
    """Return names along the side."""
    alt = altair()
    axis = alt.Axis(grid=grid, ticks=False, domain=False, labelPadding=6)
    return alt.Y(f"{field}:N", sort=None, title=None, axis=axis)
