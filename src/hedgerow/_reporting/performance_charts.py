"""Charts of the performance on a target: curves, residuals, intervals, and thresholds."""

from __future__ import annotations

from math import ceil
from typing import Any

from hedgerow._reporting.chart_frame import (
    ACCENT,
    DOTS,
    HEIGHT,
    SERIES,
    alt,
    chart,
    color_of,
    dashed_line,
    data,
    histogram_chart,
    tips,
)
from hedgerow._reporting.curves import MOST_CLASSES as MOST_CURVES
from hedgerow._reporting.wording import brief


def outcome_charts(outcome: dict[str, Any], k: int, target: str) -> list[dict[str, Any]]:
    """Return the charts of a target and its predictions."""
    curves, target = outcome["curves"], outcome["name"] or target
    return [
        *(_of_classes(outcome, k) if "classes" in outcome else []),
        *_of_quantiles(curves, k),
        *(_of_residuals(curves, k, target) if "dots" in curves else []),
        *_of_order(curves, k, target),
    ]


def _of_classes(outcome: dict[str, Any], k: int) -> list[dict[str, Any]]:
    """Return the ROC, precision–recall and calibration curves, as far as there are any."""
    curves, charts = outcome["curves"], []
    if curves.get("roc"):
        description = (
            "True against false positive rate, over all thresholds. The dashed line is a random "
            "ranking."
        )
        plot = _curve(curves["roc"], "false positive rate", "true positive rate", diagonal=True)
        charts.append(chart(f"roc-{k}", "", description + _of_which(outcome), plot))
    if curves.get("precision"):
        description = (
            "Precision by recall, over all thresholds. A random ranking has a precision equal to "
            "the share of positives."
        )
        plot = _curve(curves["precision"], "recall", "precision")
        charts.append(chart(f"precision-{k}", "", description + _of_which(outcome), plot))
    if curves.get("calibration"):
        of = f" of {brief(outcome['positive'])}" if len(outcome["classes"]) == 2 else ""
        description = (
            f"Rows in ten groups of equal size by predicted probability{of}: how often the class "
            "occurred in each. Points on the dashed line are calibrated. Bars are 95% intervals."
        )
        names = "mean predicted probability", "observed frequency"
        some = _of_which(outcome) if not of else ""
        plot = _with_intervals(curves["calibration"], *names)
        charts.append(chart(f"calibration-{k}", "", description + some, plot))
    return charts


def _of_which(outcome: dict[str, Any]) -> str:
    """Return a note on the classes that are drawn, or on the dot."""
    n_classes = len(outcome["classes"])
    if n_classes == 2 and not outcome["name"]:
        return " The dot is the decision threshold chosen above."
    if n_classes <= MOST_CURVES:
        return ""
    return f" The first {MOST_CURVES} of {n_classes} classes are drawn."


def _of_quantiles(curves: dict[str, Any], k: int) -> list[dict[str, Any]]:
    charts = []
    if "intervals" in curves:
        description = (
            "Share of true values inside the calibrated intervals, by nominal coverage. Points on "
            "the dashed line have exactly this coverage. Bars are 95% intervals."
        )
        plot = _with_intervals(curves["intervals"], "nominal coverage", "observed coverage")
        charts.append(chart(f"coverage-{k}", "Calibrated intervals", description, plot))
    if "coverage" in curves:
        before = ", before calibration" if "intervals" in curves else ""
        description = (
            f"Share of true values below each predicted quantile{before}. Points on the dashed "
            "line are calibrated. Bars are 95% intervals."
        )
        plot = _with_intervals(curves["coverage"], "quantile level", "share of true values below")
        title = "Predicted quantiles" if not before else "Quantiles before calibration"
        charts.append(chart(f"coverage-{k}", title, description, plot))
    return charts


def _of_order(curves: dict[str, Any], k: int, target: str) -> list[dict[str, Any]]:
    """Return the chart of a ranking, or of survival times."""
    if curves.get("ndcg"):
        description = "Distribution of the NDCG over the queries."
        plot = histogram_chart(curves["ndcg"], "NDCG", "queries")
        return [chart(f"other-{k}", "NDCG by query", description, plot)]
    if "survival" in curves:
        description = (
            "Kaplan–Meier curves of three groups of rows: those with the shortest, middle and "
            "longest predicted survival."
        )
        plot = _curve(curves["survival"], target, "share surviving", step=True)
        return [chart(f"other-{k}", "Survival by prediction", description, plot)]
    return []


def _curve(
    points: list[dict[str, Any]], x: str, y: str, *, diagonal: bool = False, step: bool = False
) -> Any:
    # By this name the page replaces the positive class and marks the threshold.
    base = alt.Chart(alt.Data(values=points, name="curve"))
    lines = base.mark_line(strokeWidth=2, interpolate="step-after" if step else "linear").encode(
        x=alt.X("x:Q", title=x, scale=alt.Scale(domain=alt.Undefined if step else [0, 1])),
        y=alt.Y("y:Q", title=y, scale=alt.Scale(domain=[0, 1])),
        color=color_of(points, "class"),
        order=alt.Order("i:Q"),
        tooltip=["class:N", *tips(".3f", x=x, y=y)],
    )
    layers = lines if step else lines + _dot("now", "var(--c4)").encode(x="x:Q", y="y:Q")
    return ((_diagonal() + layers) if diagonal else layers).properties(height=HEIGHT)


def _dot(name: str, color: str) -> Any:
    """Return a large dot, whose place the page computes."""
    base = alt.Chart(alt.Data(values=[], name=name))
    return base.mark_point(color=color, size=110, filled=True, opacity=1)


def _diagonal(end: float = 1.0) -> Any:
    return dashed_line([{"x": 0, "y": 0}, {"x": end, "y": end}])


def _with_intervals(points: list[dict[str, Any]], x: str, y: str) -> Any:
    color = color_of(points, "class")
    # Probabilities of a rare class are all small.
    largest = max(max(point["x"], point["high"]) for point in points)
    end = 1.0 if largest > 0.5 else max(0.05, ceil(20.0 * largest) / 20.0)
    scale = alt.Scale(domain=[0, end])
    at = alt.X("x:Q", title=x, scale=scale)
    base = alt.Chart(data(points))
    bars = base.mark_rule(strokeWidth=2, opacity=0.5).encode(
        x=at, y=alt.Y("low:Q", title=y, scale=scale), y2="high:Q", color=color
    )
    dots = base.mark_line(point=alt.OverlayMarkDef(size=45, filled=True), strokeWidth=1.5).encode(
        x=at, y=alt.Y("y:Q", title=y), color=color, tooltip=tips(".3f", x=x, y=y)
    )
    return (_diagonal(end) + bars + dots).properties(height=HEIGHT)


def _of_residuals(curves: dict[str, Any], k: int, target: str) -> list[dict[str, Any]]:
    n, place = len(curves["dots"]), f"residuals-{k}"
    note = "" if n == curves["n_rows"] else f" {n:,} of {curves['n_rows']:,} rows are drawn."
    return [
        chart(
            place,
            "Actual and predicted",
            f"Each dot is a row. On the dashed line, the prediction equals the actual value.{note}",
            _cloud(curves["dots"], "true", f"actual {target}", identity=True),
            dots=curves["dots"],
        ),
        chart(
            place,
            "Residuals by prediction",
            f"Actual minus predicted. A pattern around the dashed line is a bias.{note}",
            _cloud(curves["dots"], "residual", "residual", identity=False),
            dots=curves["dots"],
        ),
        chart(
            place,
            "Distribution of the residuals",
            "Actual minus predicted; the outermost bars include everything beyond them.",
            histogram_chart(curves["residuals"], "residual"),
        ),
    ]


def _cloud(dots: list[dict[str, Any]], y: str, title: str, *, identity: bool) -> Any:
    predicted = [dot["predicted"] for dot in dots]
    ends = [{"x": at, "y": at if identity else 0.0} for at in (min(predicted), max(predicted))]
    cloud = alt.Chart(alt.NamedData(name=DOTS)).mark_circle(color=ACCENT, size=16, opacity=0.35)
    cloud = cloud.encode(
        x=alt.X("predicted:Q", title="predicted", scale=alt.Scale(zero=False)),
        y=alt.Y(f"{y}:Q", title=title, scale=alt.Scale(zero=False)),
        tooltip=[alt.Tooltip(f"{name}:Q", format=".5~g") for name in ("predicted", "true")],
    )
    return (cloud + dashed_line(ends)).properties(height=HEIGHT)


def threshold_charts(threshold: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return charts whose points the page computes, for any positive class and costs."""
    if threshold is None:
        return []
    what = threshold["unit"]
    description = f"Precision, recall and F1 of the positive class by decision threshold ({what})."
    rates = chart("rates", "Metrics by threshold", description, _rates(what), caption=False)
    description = (
        f"Total cost of false positives and false negatives by decision threshold ({what})."
    )
    costs = chart("costs", "Cost by threshold", description, _costs(what), caption=False)
    return [rates, costs]


def _rates(what: str) -> Any:
    colors = alt.Scale(domain=["precision", "recall", "F1"], range=SERIES[:3])
    at, value = tips(".4~g", x="threshold"), tips(".3f", y="value")
    lines = (
        alt.Chart(alt.Data(values=[], name="curve"))
        .mark_line(strokeWidth=2)
        .encode(
            x=_threshold_axis(what),
            y=alt.Y("y:Q", title=None, scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("name:N", title=None, scale=colors),
            tooltip=["name:N", *at, *value],
        )
    )
    return (lines + _now()).properties(height=HEIGHT - 40)


def _costs(what: str) -> Any:
    at, value = tips(".4~g", x="threshold"), tips(",.6~g", y="total cost")
    base = alt.Chart(alt.Data(values=[], name="curve")).mark_line(strokeWidth=2, color=ACCENT)
    lines = base.encode(
        x=_threshold_axis(what),
        y=alt.Y("y:Q", title="total cost", axis=alt.Axis(format=",.10~g")),
        tooltip=[*at, *value],
    )
    tip = [alt.Tooltip("x:Q", title="least cost at")]
    best = _dot("best", "var(--c2)").encode(x="x:Q", y="y:Q", tooltip=tip)
    return (lines + _now() + best).properties(height=HEIGHT - 40)


def _threshold_axis(what: str) -> Any:
    return alt.X("x:Q", title=f"threshold ({what})", scale=alt.Scale(zero=False, nice=False))


def _now() -> Any:
    """Return a line at the threshold, which the page computes."""
    base = alt.Chart(alt.Data(values=[], name="now"))
    return base.mark_rule(color="var(--c4)", strokeWidth=2).encode(x="x:Q")
