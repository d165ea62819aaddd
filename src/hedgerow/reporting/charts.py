"""Parts of a summary → Vega-Lite charts, by Altair.

Colours are the page's CSS variables, so that a chart follows light, dark and print by itself. Names
that a user chose are data or titles, never fields, so that any of them will do.
"""

from __future__ import annotations

from typing import Any

from hedgerow.reporting.curves import MOST_CLASSES as MOST_CURVES
from hedgerow.reporting.forest_payload import score_words
from hedgerow.reporting.verdict import number
from hedgerow.result import imported

HEIGHT = 260
INK, SOFT, LINE, ACCENT = "var(--ink)", "var(--soft)", "var(--line)", "var(--c0)"
MOST_CLASSES = 20  # in the chart of their shares
SERIES = [f"var(--c{i})" for i in range(7)]
# Pixels that a chart has, asked anew whenever its width changes.
ROOM = "(0 * width + containerSize()[0])"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"

Spec = dict[str, Any]


def charts_of(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every chart of the page: where it stands, what it is, and its specification."""
    found: list[dict[str, Any]] = []
    # Altair would hold every point against its schema, for seconds; a test does that once.
    with imported("altair.utils.schemapi", "report()").debug_mode(False):
        found += _of_targets(summary)
        found += _of_training(summary["training"])
        for k, outcome in enumerate(summary["outcomes"][: summary["n_drawn"]]):
            found += _of_outcome(outcome, k, summary["target"])
        found += _of_importances(summary)
        found += _of_effects(summary["effects"])
        found += _of_mistakes(summary["mistakes"], summary["target"])
    return found


def _chart(
    place: str, title: str, words: str, drawn: Any, *, wide: bool = False, caption: bool = True
) -> dict[str, Any]:
    """Return a chart with its place in the page, its heading and a description for all readers.

    Without a caption, the description is for those who cannot see the chart.
    """
    alt = _altair()
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
    spec |= {"config": config, "padding": {"left": 4, "right": 14, "top": 5, "bottom": 5}}
    return {
        "place": place,
        "title": title,
        "words": words,
        "spec": spec,
        "wide": wide,
        "caption": caption,
    }


def _altair() -> Any:
    return imported("altair", "report()")


def _data(points: list[dict[str, Any]]) -> Any:
    return _altair().Data(values=points)


def _of_targets(summary: dict[str, Any]) -> list[dict[str, Any]]:
    charts = []
    for target in summary["targets"]:
        name = target["name"] or summary["target"]
        if target["kind"] == "classes":
            drawn, words = _of_class_shares(target["classes"], name)
        else:
            drawn = _histogram(target["histogram"], name)
            words = f"How many rows have which {name}."
            if target["kind"] == "times":
                words += " Of rows whose event was not seen, it is how long they were watched."
        charts.append(_chart("target", f"Distribution of {name}", words, drawn))
    return charts


def _of_class_shares(classes: list[dict[str, Any]], name: str) -> tuple[Any, str]:
    words = f"How often each class of {name} occurs."
    if len(classes) > MOST_CLASSES:
        words = f"How often classes of {name} occur: the {MOST_CLASSES} most frequent."
        classes = sorted(classes, key=lambda one: -one["rows"])[:MOST_CLASSES]
    return _bars(classes, "label", "share", "part of the rows", percent=True), words


def _histogram(bars: list[dict[str, Any]], title: str, of: str = "rows") -> Any:
    alt = _altair()
    return (
        alt.Chart(_data(bars))
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


def _bars(
    bars: list[dict[str, Any]], label: str, value: str, title: str, *, percent: bool = False
) -> Any:
    alt = _altair()
    return (
        alt.Chart(_data(bars))
        .mark_bar(color=ACCENT, cornerRadiusEnd=2, height={"band": 0.75})
        .encode(
            x=alt.X(
                f"{value}:Q",
                title=title,
                axis=alt.Axis(format="~%" if percent else "~g"),
            ),
            y=alt.Y(
                f"{label}:N",
                sort=None,
                title=None,
                axis=alt.Axis(grid=False, ticks=False, domain=False),
            ),
            tooltip=[
                alt.Tooltip(f"{label}:N"),
                alt.Tooltip(f"{value}:Q", format=".1%" if percent else ".4~g"),
            ],
        )
        .properties(height=24 * len(bars))
    )


def _of_training(training: dict[str, Any]) -> list[dict[str, Any]]:
    charts = []
    for curve in training["curves"]:
        if not curve["points"]:
            continue
        words = f"{curve['metric']} on each set of rows, after each round of training."
        drawn = _learning(curve, training["best_round"])
        charts.append(_chart("training", f"Learning curve: {curve['metric']}", words, drawn))
    return charts


def _learning(curve: dict[str, Any], best_round: int | None) -> Any:
    alt = _altair()
    lines = (
        alt.Chart(_data(curve["points"]))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("round:Q", title="round", axis=alt.Axis(grid=False)),
            y=alt.Y("value:Q", title=curve["metric"], scale=alt.Scale(zero=False)),
            color=_color(curve["points"], "set", always=True),
            tooltip=["set:N", "round:Q", alt.Tooltip("value:Q", format=".5~g")],
        )
    )
    if best_round is None:
        return lines.properties(height=HEIGHT)
    chosen = [{"round": best_round, "label": f"best: round {best_round}"}]
    rule = alt.Chart(_data(chosen)).mark_rule(color=SOFT, strokeDash=[4, 4]).encode(x="round:Q")
    text = (
        alt.Chart(_data(chosen))
        .mark_text(color=SOFT, align="right", dx=-6, fontSize=12, baseline="top")
        .encode(x="round:Q", y=alt.value(2), text="label:N")
    )
    return (lines + rule + text).properties(height=HEIGHT)


def _of_outcome(outcome: dict[str, Any], k: int, target: str) -> list[dict[str, Any]]:
    curves, place, target = outcome["curves"], f"curves-{k}", outcome["name"] or target
    n_classes = len(outcome.get("classes", []))
    some = f" Of {n_classes} classes, the first {MOST_CURVES}." if n_classes > MOST_CURVES else ""
    charts = []
    if "roc" in curves:
        words = "Part of each class that is found, by the part of other rows that is taken for it."
        words += some
        drawn = _curve(curves["roc"], "false positive rate", "true positive rate", diagonal=True)
        charts.append(_chart(place, "ROC curve", words, drawn))
    if "precision" in curves:
        words = "Part of what is taken for a class that is of it, by the part of the class found."
        words += some
        drawn = _curve(curves["precision"], "recall", "precision")
        charts.append(_chart(place, "Precision and recall", words, drawn))
    if "calibration" in curves:
        words = "How often rows were of a class, by the probability that the model gave it."
        words += f" Bars are 95% intervals.{some}"
        drawn = _with_intervals(
            curves["calibration"], "probability that was said", "how often it was so"
        )
        charts.append(_chart(place, "Calibration", words, drawn))
    if "coverage" in curves:
        words = (
            "Part of true values below each quantile, by the part that was asked for. Bars are 95% "
            "intervals."
        )
        drawn = _with_intervals(curves["coverage"], "asked for", "part of rows below")
        charts.append(_chart(place, "Coverage of the quantiles", words, drawn))
    if "dots" in curves:
        charts += _of_residuals(curves, place, target)
    if curves.get("ndcg"):
        words = "How many queries have which NDCG."
        charts.append(
            _chart(
                place, "NDCG of the queries", words, _histogram(curves["ndcg"], "NDCG", "queries")
            )
        )
    if "survival" in curves:
        words = (
            "Part that survives, of the thirds that the model expects to last shortest to longest."
        )
        drawn = _curve(curves["survival"], target, "part that survives", step=True)
        charts.append(_chart(place, "Survival by prediction", words, drawn))
    return charts


def _curve(
    points: list[dict[str, Any]], x: str, y: str, *, diagonal: bool = False, step: bool = False
) -> Any:
    alt = _altair()
    domain = alt.Undefined if step else [0, 1]
    drawn = (
        alt.Chart(_data(points))
        .mark_line(strokeWidth=2, interpolate="step-after" if step else "linear")
        .encode(
            x=alt.X("x:Q", title=x, scale=alt.Scale(domain=domain)),
            y=alt.Y("y:Q", title=y, scale=alt.Scale(domain=[0, 1])),
            color=_color(points, "class"),
            tooltip=[
                "class:N",
                alt.Tooltip("x:Q", title=x, format=".3f"),
                alt.Tooltip("y:Q", title=y, format=".3f"),
            ],
        )
    )
    return ((_diagonal() + drawn) if diagonal else drawn).properties(height=HEIGHT)


def _color(points: list[dict[str, Any]], field: str, *, always: bool = False) -> Any:
    """Return the colour of each series, with a legend of as many columns as have room."""
    alt = _altair()
    names = {str(point[field]) for point in points if field in point}
    if len(names) < 2 and not always:
        return alt.value(ACCENT)
    letters = max(map(len, names))
    columns: Any = {"expr": f"max(1, floor(({ROOM} - 70) / {7 * letters + 34}))"}
    legend = alt.Legend(columns=columns, symbolOpacity=1)
    return alt.Color(f"{field}:N", title=None, sort=None, legend=legend)


def _diagonal() -> Any:
    alt = _altair()
    ends = [{"x": 0, "y": 0}, {"x": 1, "y": 1}]
    return (
        alt.Chart(_data(ends))
        .mark_line(color=SOFT, strokeDash=[4, 4], strokeWidth=1)
        .encode(x="x:Q", y="y:Q")
    )


def _with_intervals(points: list[dict[str, Any]], x: str, y: str) -> Any:
    alt = _altair()
    color = _color(points, "class")
    at = alt.X("x:Q", title=x, scale=alt.Scale(domain=[0, 1]))
    base = alt.Chart(_data(points))
    bars = base.mark_rule(strokeWidth=2, opacity=0.5).encode(
        x=at, y=alt.Y("low:Q", title=y, scale=alt.Scale(domain=[0, 1])), y2="high:Q", color=color
    )
    dots = base.mark_line(point=alt.OverlayMarkDef(size=45, filled=True), strokeWidth=1.5).encode(
        x=at,
        y=alt.Y("y:Q", title=y),
        color=color,
        tooltip=[
            alt.Tooltip("x:Q", title=x, format=".3f"),
            alt.Tooltip("y:Q", title=y, format=".3f"),
        ],
    )
    return (_diagonal() + bars + dots).properties(height=HEIGHT)


def _of_residuals(curves: dict[str, Any], place: str, target: str) -> list[dict[str, Any]]:
    n = len(curves["dots"])
    drawn_of = "" if n == curves["n_rows"] else f" {n:,} of {curves['n_rows']:,} rows are drawn."
    return [
        _chart(
            place,
            "Predicted and true",
            f"Each dot is a row; on the line, the prediction is right.{drawn_of}",
            _cloud(curves["dots"], "true", f"true {target}", identity=True),
        ),
        _chart(
            place,
            "Residuals",
            f"What the prediction left over, by the prediction.{drawn_of}",
            _cloud(curves["dots"], "residual", "true less predicted", identity=False),
        ),
        _chart(
            place,
            "Sizes of the errors",
            "Histogram of true less predicted.",
            _histogram(curves["residuals"], "true less predicted"),
        ),
    ]


def _cloud(dots: list[dict[str, Any]], y: str, title: str, *, identity: bool) -> Any:
    alt = _altair()
    low = min(dot["predicted"] for dot in dots)
    high = max(dot["predicted"] for dot in dots)
    ends = [{"x": at, "y": at if identity else 0.0} for at in (low, high)]
    line = alt.Chart(_data(ends)).mark_line(color=SOFT, strokeDash=[4, 4], strokeWidth=1)
    cloud = alt.Chart(_data(dots)).mark_circle(color=ACCENT, size=16, opacity=0.35)
    tip = [alt.Tooltip(f"{name}:Q", format=".5~g") for name in ("predicted", "true")]
    return (
        cloud.encode(
            x=alt.X("predicted:Q", title="predicted", scale=alt.Scale(zero=False)),
            y=alt.Y(f"{y}:Q", title=title, scale=alt.Scale(zero=False)),
            tooltip=tip,
        )
        + line.encode(x="x:Q", y="y:Q")
    ).properties(height=HEIGHT)


def _of_importances(summary: dict[str, Any]) -> list[dict[str, Any]]:
    charts = []
    for part, title, percent in (
        ("importances", "By the model itself", True),
        ("shuffled", "By shuffling", False),
    ):
        found = summary[part]
        if "absent" not in found:
            drawn = _bars(found["bars"], "name", "value", found["what"], percent=percent)
            words = f"The most important columns: {found['what']}."
            charts.append(_chart("importances", title, words, drawn, caption=False))
    return charts


def _of_effects(effects: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        _chart(
            "effects",
            effect["name"],
            f"How {effects['what']} goes with {effect['name']}.",
            _effect(effect, effects["what"]),
            caption=False,
        )
        for effect in effects.get("curves", [])
    ]


def _about(points: list[dict[str, Any]]) -> Any:
    """Return a scale of what is drawn; about one number alone, which has no range, a tenth."""
    alt = _altair()
    low, high = (end(point["y"] for point in points) for end in (min, max))
    if high - low > 1e-9 * max(abs(low), abs(high)):
        return alt.Scale(zero=False)
    room = 0.1 * abs(low) or 1.0
    return alt.Scale(domain=[low - room, low + room])


def _effect(effect: dict[str, Any], what: str) -> Any:
    alt = _altair()
    kind = "N" if effect["is_category"] else "Q"
    color = _color(effect["points"], "output")
    y = alt.Y("y:Q", title=what, scale=_about(effect["points"]))
    tip = [
        alt.Tooltip(f"x:{kind}", title=effect["name"]),
        alt.Tooltip("y:Q", title=what, format=".4~g"),
    ]
    base = alt.Chart(_data(effect["points"]))
    if effect["is_category"]:
        side = alt.Y("x:N", title=None, sort=None, axis=alt.Axis(grid=True, ticks=False))
        along = alt.X(
            "y:Q",
            title=what,
            scale=alt.Scale(zero=False, padding=8),
        )
        dots = base.mark_circle(size=60, opacity=1).encode(
            y=side, x=along, color=color, tooltip=tip
        )
        n_labels = len({point["x"] for point in effect["points"]})
        return dots.properties(height=max(22 * n_labels, 60))
    whole = all(point["x"] == round(point["x"]) for point in effect["points"])
    axis = alt.Axis(tickMinStep=1) if whole else alt.Axis()
    lines = base.mark_line(strokeWidth=2).encode(
        x=alt.X("x:Q", title=effect["name"], scale=alt.Scale(zero=False), axis=axis),
        y=y,
        color=color,
        tooltip=tip,
    )
    return lines.properties(height=HEIGHT - 60)


def _of_mistakes(mistakes: dict[str, Any], target: str) -> list[dict[str, Any]]:
    target = mistakes.get("target") or target
    return [
        _chart(
            f"mistake-{k}",
            "",
            _way(entry["waterfall"]),
            _waterfall(entry["waterfall"], target),
            wide=True,
        )
        for k, entry in enumerate(mistakes.get("rows", []))
        if entry["waterfall"] is not None
    ]


def _way(found: dict[str, Any]) -> str:
    return (
        f"From {number(found['base'])}, the average, to {number(found['score'])}, this row: what "
        "each column added."
    )


def _waterfall(found: dict[str, Any], target: str) -> Any:
    alt = _altair()
    bars = [
        {
            "label": f"{bar['name']} = {bar['value']}" if bar["value"] else bar["name"],
            "from": bar["from"],
            "to": bar["to"],
            "adds": bar["to"] - bar["from"],
            "side": "raises" if bar["to"] >= bar["from"] else "lowers",
        }
        for bar in found["bars"]
    ]
    color = alt.Color(
        "side:N",
        title=None,
        scale=alt.Scale(domain=["raises", "lowers"], range=["var(--c4)", "var(--c0)"]),
    )
    title = score_words(found["unit"], [found["of"]], target)
    # Labels stand above their bars, which so have the whole width, on a phone too.
    limit: Any = {"expr": "width"}
    above = alt.Axis(
        grid=False,
        ticks=False,
        domain=False,
        zindex=1,
        labelAlign="left",
        labelPadding=0,
        labelOffset=-11,
        labelLimit=limit,
    )
    return (
        alt.Chart(_data(bars))
        .mark_bar(height=10, yOffset=7)
        .encode(
            y=alt.Y("label:N", sort=None, title=None, axis=above),
            x=alt.X(
                "from:Q",
                title=title,
                scale=alt.Scale(zero=False, padding=4),
                axis=alt.Axis(grid=False),
            ),
            x2="to:Q",
            color=color,
            tooltip=["label:N", alt.Tooltip("adds:Q", format="+.4~g")],
        )
        .properties(height=34 * len(bars))
    )
