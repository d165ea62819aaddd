"""The displays of SHAP values: beeswarm, bars, waterfall and dependence."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow import explain
from hedgerow._params import Number, Parameter
from hedgerow._result import GREY, imported
from hedgerow._types import Floats
from hedgerow.plot._colors import COLORS, PALE_INK, class_colors, ramp
from hedgerow.plot._display import (
    BESIDE_AXES,
    LABEL,
    SMALL,
    TOP,
    Display,
    counted,
    fit_labels,
    measured,
    number,
    open_frame,
    require_axes,
    short,
    shorts,
    signed,
    sparse_ticks,
    wrapped,
    write_beside,
)
from hedgerow.plot._importance import ImportanceDisplay, bars_size
from hedgerow.plot._shap_data import (
    FeatureValues,
    ShapData,
    prepare_shap,
    swarm,
)

UP, DOWN = COLORS[4], COLORS[0]  # positive and negative SHAP values
UNKNOWN = "#9a9a9a"  # categories and missing values
# Quantiles that the colours span, so that outliers do not dominate them.
SPAN = 0.05, 0.95
# Diameter of dots in points, by the maximum number of rows.
DOTS = ((300, 4.0), (1500, 3.0), (np.inf, 2.2))
ROW, BELOW, BAR = 0.46, 1.0, 0.12  # inches: a row, the axis below, a colour bar
# Characters of a line of the y label.
UPRIGHT = 40
# Categories that colours can distinguish.
MOST_COLORS = len(COLORS)
# Distance of missing values from the largest number, relative to the range.
MISSING_OFFSET = 0.12


class _ShapDisplay(Display):
    """A display of SHAP values, made from them or from a model and rows."""

    shap: ShapData

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, *selection: Any, output: Any = None, ax: Any = None, **options: Any
    ) -> Self:
        """Compute SHAP values with `hedgerow.explain.shap_values`, and draw them.

        Parameters
        ----------
        model : fitted estimator
            A tree model.
        X : table
            Rows to explain.
        output : int or class, optional
            The output to draw, if there are several.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        *selection, **options
            As in `from_values`: a feature or a row, and options.
        """
        require_axes(ax)
        display: Any = cls
        values = explain.shap_values(model, X)
        return display.from_values(values, *selection, output=output, ax=ax, **options)


class _ShapSummaryDisplay(_ShapDisplay):
    """A display of the SHAP values of many rows, by feature."""

    top: int = 12

    @classmethod
    def from_values(cls, shap: Any, *, output: Any = None, top: int = 12, ax: Any = None) -> Self:
        """Draw SHAP values.

        Parameters
        ----------
        shap : ShapValues
            The result of `hedgerow.explain.shap_values`.
        output : int or class, optional
            The output to draw, if there are several.
        top : int, default=12
            Number of features to draw.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        """
        require_axes(ax)
        TOP.check(top)
        return cls(shap=prepare_shap(shap, output), top=top).plot(ax)


class ShapBeeswarmDisplay(_ShapSummaryDisplay):
    """A beeswarm plot of SHAP values: a line of dots for each feature, the most important first.

    Create it with `from_values` or `from_estimator`. A dot is a row, coloured by the value of the
    feature (grey if it is categorical or missing). Dots are piled up where values are close. If a
    pile would be too high, all piles of the feature are reduced to fewer dots than rows.

    Parameters
    ----------
    shap : ShapData
        The SHAP values.
    top : int
        Number of features to draw.
    """

    def _figure_size(self) -> tuple[float, float]:
        return 7.0, BELOW + ROW * max(min(self.top, len(self.shap.names)), 3)

    def _draw(self) -> None:
        ax, shap = self.ax_, self.shap
        largest = shap.order()[: self.top]
        values = shap.values[:, largest]
        low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
        margin = 0.04 * ((high - low) or 1.0)
        ax.set_xlim(low - margin, high + margin)
        ax.set_ylim(len(largest) - 0.5, -0.5)
        ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)
        ax.set_yticks(range(len(largest)), shorts(shap.names[j] for j in largest))
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("\n".join([wrapped(shap.label(), LABEL), self._note(largest)]))
        open_frame(ax)
        _feature_colorbar(ax)
        box = measured(ax)  # for the size of dots
        for line, j in enumerate(largest):
            self._draw_line(line, int(j), box)

    def _note(self, largest: NDArray[np.intp]) -> str:
        """Return a note on the number of rows and features, and on grey dots."""
        shap = self.shap
        notes = [counted(len(shap.values), "row")]
        if len(largest) < len(shap.names):
            notes.append(f"first {len(largest)} of {len(shap.names)} features")
        if any(np.isnan(_between(shap.columns[j])).any() for j in largest):
            notes.append("grey: categorical or missing")
        return ", ".join(notes)

    def _draw_line(self, line: int, j: int, box: Any) -> None:
        to_points = 72.0 / self.ax_.figure.dpi
        low, high = self.ax_.get_xlim()
        diameter = next(size for most, size in DOTS if len(self.shap.values) <= most)
        dot = diameter * (high - low) / (box.width * to_points)  # width on the x axis
        n_lines = abs(float(np.subtract(*self.ax_.get_ylim())))
        room = int(0.9 * box.height * to_points / n_lines / diameter)
        level = _between(self.shap.columns[j])
        rows, x, pile = swarm(self.shap.values[:, j], level, dot, max(room, 1))
        step = diameter / (box.height * to_points) * n_lines
        is_number = ~np.isnan(level[rows])
        colors = np.where(is_number[:, np.newaxis], ramp()(np.nan_to_num(level[rows])), _grey())
        self.ax_.scatter(
            x,
            line - pile * step,
            s=(0.9 * diameter) ** 2,
            c=colors,
            linewidth=0,
            rasterized=True,
            zorder=3,
        )


class ShapBarDisplay(_ShapSummaryDisplay):
    """The mean absolute SHAP value of each feature, as bars.

    Create it with `from_values` or `from_estimator`.

    Parameters
    ----------
    shap : ShapData
        The SHAP values.
    top : int
        Number of features to draw.
    """

    def _figure_size(self) -> tuple[float, float]:
        return bars_size(min(self.top, len(self.shap.names)))

    def _draw(self) -> None:
        shap, top = self.shap, self.top
        label = "mean |SHAP value|" + (f" ({shap.measured_in})" if shap.unit else "")
        bars = ImportanceDisplay(names=shap.names, values=shap.importance, label=label, top=top)
        bars.plot(self.ax_)


class ShapWaterfallDisplay(_ShapDisplay):
    """A waterfall plot of one prediction: from the base value, feature by feature.

    Create it with `from_values` or `from_estimator`. The least important features share one bar.

    Parameters
    ----------
    shap : ShapData
        The SHAP values.
    row : int
        Index of the row.
    top : int
        Number of features with a bar of their own.

    Attributes
    ----------
    steps : list of (text, number)
        Label and SHAP value of each bar, from the base value upwards.
    """

    row: int = 0
    top: int = 9

    @classmethod
    def from_values(
        cls, shap: Any, row: int = 0, *, output: Any = None, top: int = 9, ax: Any = None
    ) -> Self:
        """Draw the SHAP values of one row.

        Parameters
        ----------
        shap : ShapValues
            The result of `hedgerow.explain.shap_values`.
        row : int, default=0
            Index of the row.
        output : int or class, optional
            The output to draw, if there are several.
        top : int, default=9
            Number of features with a bar of their own.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        """
        require_axes(ax)
        TOP.check(top)
        data = prepare_shap(shap, output)
        Parameter("row", 0, Number(0, len(data.values) - 1, integer=True), "").check(row)
        return cls(shap=data, row=int(row), top=top).plot(ax)

    @property
    def steps(self) -> list[tuple[str, float]]:
        """Label and SHAP value of each bar, the smallest first."""
        shap, values = self.shap, self.shap.values[self.row]
        order = np.argsort(-np.abs(values), kind="stable")
        largest = order[: self.top]
        steps = [
            (f"{short(shap.names[j], 22)} = {shap.columns[j].text(self.row)}", float(values[j]))
            for j in largest[::-1]
        ]
        others = order[self.top :]
        if len(others):
            steps.insert(0, (counted(len(others), "other feature"), float(values[others].sum())))
        return steps

    def _figure_size(self) -> tuple[float, float]:
        return 7.0, 1.5 + 0.36 * len(self.steps)

    def _draw(self) -> None:
        ax, steps = self.ax_, self.steps
        base = float(self.shap.base[self.row])
        ends = base + np.cumsum([value for _, value in steps])
        starts = np.concatenate([[base], ends[:-1]])
        low, high = float(min(base, ends.min())), float(max(base, ends.max()))
        span = (high - low) or 1.0
        ax.set_xlim(low - 0.2 * span, high + 0.2 * span)
        ax.set_ylim(-1.15, len(steps) + 0.15)
        for y, ((_, value), start, end) in enumerate(zip(steps, starts, ends, strict=True)):
            ax.barh(y, value, left=start, height=0.62, color=UP if value > 0.0 else DOWN)
            ax.plot([end, end], [y - 0.31, y + 1.31], color=GREY, linewidth=0.7, zorder=0)
            write_beside(ax, signed(value), (end, y), 4 if value >= 0.0 else -4)
        ax.axvline(base, color=GREY, linewidth=0.7, linestyle=":", zorder=0)
        ax.set_yticks(range(len(steps)), [text for text, _ in steps])
        self._write_ends(base, float(ends[-1]), len(steps))
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel(wrapped(self._score(), LABEL))
        open_frame(ax)

    def _score(self) -> str:
        """Return the label of the score."""
        unit = self.shap.unit
        if unit.startswith("the "):
            return f"prediction of {unit}"
        return f"score ({unit})" if unit else "score"

    def _write_ends(self, base: float, end: float, n_steps: int) -> None:
        middle = float(np.mean(self.ax_.get_xlim()))
        for x, y, text in (
            (base, -0.85, f"base value {number(base)}"),
            (end, n_steps - 0.15, f"prediction {number(end)}"),
        ):
            side = 1 if x < middle else -1  # towards the middle, where there is space
            write_beside(self.ax_, text, (x, y), 4 * side, color=PALE_INK)


class ShapDependenceDisplay(_ShapDisplay):
    """The SHAP values of one feature against its values, coloured by another feature.

    Create it with `from_values` or `from_estimator`. Categories are side by side, with their rows
    spread out; rows with a missing value are on the right, at "missing".

    Parameters
    ----------
    shap : ShapData
        The SHAP values.
    feature : int
        Index of the feature.
    color : int, optional
        The feature that colours the dots.
    """

    _size: ClassVar[tuple[float, float]] = (6.4, 4.2)

    feature: int
    color: int | None = None

    @classmethod
    def from_values(
        cls, shap: Any, feature: Any, *, color: Any = None, output: Any = None, ax: Any = None
    ) -> Self:
        """Draw the SHAP values of one feature.

        Parameters
        ----------
        shap : ShapValues
            The result of `hedgerow.explain.shap_values`.
        feature : str or int
            The feature.
        color : str or int, optional
            The feature that colours the dots; none by default.
        output : int or class, optional
            The output to draw, if there are several.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        """
        require_axes(ax)
        data = prepare_shap(shap, output)
        colored = None if color is None else data.feature(color, "color")
        return cls(shap=data, feature=data.feature(feature, "feature"), color=colored).plot(ax)

    def _draw(self) -> None:
        ax, shap = self.ax_, self.shap
        x = self._places()
        n_rows = len(x)
        colors = COLORS[0] if self.color is None else self._colors(self.color)
        ax.axhline(0.0, color=GREY, linewidth=0.8, zorder=0)
        ax.scatter(
            x,
            shap.values[:, self.feature],
            s=max(4.0, min(16.0, 8000.0 / n_rows)),
            c=colors,
            alpha=max(0.3, min(0.9, 1500.0 / n_rows)),
            linewidth=0,
            rasterized=True,
        )
        name = short(shap.names[self.feature])
        ax.set_xlabel(name)
        ax.set_ylabel(wrapped(f"{shap.label()} of {name}", UPRIGHT))
        open_frame(ax)
        self._write_values()

    def _colors(self, feature: int) -> Any:
        """Return the colours of rows by another feature, and add their legend or colour bar."""
        column, name = self.shap.columns[feature], short(self.shap.names[feature])
        if column.codes is not None and len(column.categories) <= MOST_COLORS:
            palette = np.vstack([class_colors(len(column.categories), None), _grey()[:3]])
            patch = imported("matplotlib.patches", "plot()").Patch
            texts = shorts(column.categories, 18)
            texts += ["missing"] if (column.codes < 0).any() else []
            self.ax_.legend(
                [patch(facecolor=color) for color in palette[: len(texts)]],
                texts,
                title=name,
                title_fontsize=SMALL,
                **BESIDE_AXES,
            )
            return palette[column.codes]  # missing, code −1, has the last
        level = _between(column)
        is_number = ~np.isnan(level)[:, np.newaxis]
        _feature_colorbar(self.ax_, name + ("" if is_number.all() else " (grey: not a number)"))
        return np.where(is_number, ramp()(np.nan_to_num(level)), _grey())

    def _write_values(self) -> None:
        """Set the ticks of the x axis for the available space."""
        column, axis = self.shap.columns[self.feature], self.ax_.xaxis
        measured(self.ax_)
        if column.numbers is None:
            fit_labels(axis)
        elif np.isnan(column.numbers).any():
            low, high, at = _with_missing(column.numbers)
            sparse_ticks(axis, low, high, (at, "missing"))
        else:
            sparse_ticks(axis, *self.ax_.get_xlim())

    def _places(self) -> Floats:
        """Return the positions of rows on the x axis, and label categories."""
        column, ax = self.shap.columns[self.feature], self.ax_
        values = self.shap.values[:, self.feature]
        spread = _spread(values)
        if column.numbers is None:
            assert column.codes is not None
            n = len(column.categories)
            missing = column.codes < 0
            texts = shorts(column.categories, 14)
            texts += ["missing"] if missing.any() else []
            ax.set_xticks(range(len(texts)), texts)
            ax.set_xlim(-0.6, len(texts) - 0.4)
            return np.where(missing, n, column.codes) + spread
        numbers = column.numbers
        missing = np.isnan(numbers)
        if not missing.any():
            return numbers
        low, high, at = _with_missing(numbers)
        span = (high - low) or 1.0
        ax.set_xlim(low - 0.04 * span, at + 0.08 * span)
        return np.where(missing, at + 0.06 * span * spread, numbers)


def _with_missing(numbers: Floats) -> tuple[float, float, float]:
    """Return the smallest and the largest number, and the position of missing values beside it."""
    present = numbers[~np.isnan(numbers)]
    low, high = (float(present.min()), float(present.max())) if len(present) else (0.0, 1.0)
    return low, high, high + MISSING_OFFSET * ((high - low) or 1.0)


def _between(column: FeatureValues) -> Floats:
    """Return numbers on a scale from low (0) to high (1); NaN for other values."""
    if column.numbers is None:
        assert column.codes is not None
        return np.full(len(column.codes), np.nan)
    present = column.numbers[np.isfinite(column.numbers)]
    if not len(present):
        return np.full(len(column.numbers), np.nan)
    low, high = np.quantile(present, SPAN)
    if low == high:
        low, high = present.min(), present.max()
    span = (high - low) or 1.0
    return np.clip((column.numbers - low) / span, 0.0, 1.0)


def _spread(values: Floats) -> Floats:
    """Spread the rows of a category evenly, in an order that looks random."""
    order = np.argsort(values, kind="stable")
    spread = np.empty(len(values))
    # Multiples of the golden ratio fill an interval evenly.
    spread[order] = np.arange(len(values)) * 0.6180339887498949 % 1.0
    return 0.6 * (spread - 0.5)


def _grey() -> NDArray[np.float64]:
    colors = imported("matplotlib.colors", "plot()")
    return np.array(colors.to_rgba(UNKNOWN))


def _feature_colorbar(ax: Any, label: str = "feature value") -> Any:
    """Add a colour bar from low to high."""
    cm = imported("matplotlib.cm", "plot()")
    inches = ax.get_window_extent().height / ax.figure.dpi
    aspect = max(20.0, inches / BAR)
    bar = ax.figure.colorbar(cm.ScalarMappable(cmap=ramp()), ax=ax, aspect=aspect, pad=0.02)
    bar.set_ticks([0.0, 1.0], labels=["low", "high"])
    bar.ax.tick_params(length=0, labelsize=SMALL)
    bar.set_label(label, fontsize=SMALL)
    bar.outline.set_visible(False)
    return bar
