"""The base class of displays, panels beside axes, and numbers and names as text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import floor, isfinite, log10
from textwrap import fill
from typing import Any, ClassVar, Literal, Self, dataclass_transform

from hedgerow._params import COUNT, Parameter
from hedgerow._result import imported
from hedgerow.exceptions import ParameterError

SMALL = "small"
# A legend to the right of the axes.
BESIDE_AXES: dict[str, Any] = {
    "loc": "upper left",
    "bbox_to_anchor": (1.01, 1.0),
    "borderaxespad": 0.0,
    "frameon": False,
    "fontsize": SMALL,
}
# Maximum length of a name; longer ones are shortened in the middle.
LONGEST_NAME = 26
# Characters in a line of an axis label.
LABEL = 46
# Height of a line and average width of a letter, relative to the font size.
LEADING, LETTER = 1.25, 0.68
# Smallest readable font size, in points.
SMALLEST = 5.0
# Maximum number of intervals between the ticks of an axis.
MOST_TICKS = 6
# Tick steps, up to a power of 10.
ROUND = (1, 2, 2.5, 5, 10)
TOP = Parameter("top", 12, COUNT, "")  # number of features to draw


@dataclass_transform(kw_only_default=True, eq_default=False)
class Display(ABC):
    """A plot with its data, which can be drawn repeatedly.

    Subclasses are dataclasses: they declare their data as fields, which constructors take by name.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes and the figure of the last drawing.
    """

    _size: ClassVar[tuple[float, float]] = (6.0, 4.0)  # of a new figure, in inches

    def __init_subclass__(cls) -> None:
        dataclass(cls, kw_only=True, eq=False, repr=False)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        This display, with ``ax_`` and ``figure_``.
        """
        require_axes(ax)
        self.ax_ = self._new_axes() if ax is None else ax
        self.figure_ = self.ax_.figure
        self._draw()
        return self

    def _new_axes(self) -> Any:
        return new_axes(*self._figure_size())

    def _figure_size(self) -> tuple[float, float]:
        return self._size

    @abstractmethod
    def _draw(self) -> None:
        """Draw onto `ax_`."""


def require_axes(ax: Any) -> None:
    """Raise unless this is None or one matplotlib Axes."""
    axes = imported("matplotlib.axes", "plot()")
    if ax is not None and not isinstance(ax, axes.Axes):
        raise ParameterError(
            f"ax has the type {type(ax).__name__}, but must be one matplotlib Axes, such as "
            "plt.subplots()[1], or None."
        )


def new_axes(width: float, height: float) -> Any:
    """Return the axes of a new figure, of a size in inches."""
    pyplot = imported("matplotlib.pyplot", "plot()")
    _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    return ax


def measured(ax: Any) -> Any:
    """Return the bounding box of axes in pixels, after the layout is computed."""
    ax.figure.canvas.figure.draw_without_rendering()
    return ax.get_window_extent()


def fit_labels(axis: Any) -> None:
    """Shrink (and on the x axis rotate) category labels to the available space.

    The layout must be computed (`measured`). Labels keep their size if there is enough space.
    """
    ax, labels = axis.axes, axis.get_ticklabels()
    box, upright = ax.get_window_extent(), axis.axis_name == "y"
    room = (box.height if upright else box.width) * 72.0 / ax.figure.dpi / max(len(labels), 1)
    size = labels[0].get_fontsize() if labels else 0.0
    longest = max((len(label.get_text()) for label in labels), default=0)
    fits_across = not upright and LETTER * size * longest < room
    if not fits_across:
        size = min(size, max(SMALLEST, room / LEADING))
    turn = 0 if upright or fits_across else 90
    axis.set_tick_params(labelsize=size, labelrotation=turn)


def sparse_ticks(
    axis: Any, low: float, high: float, beside: tuple[float, str] | None = None
) -> None:
    """Set ticks between low and high, no more than there is space for.

    The layout must be computed (`measured`). `beside` is a position outside of the numbers and its
    label, which the ticks do not overlap.
    """
    ax, upright = axis.axes, axis.axis_name == "y"
    box, interval = ax.get_window_extent(), axis.get_view_interval()
    points = (box.height if upright else box.width) * 72.0 / ax.figure.dpi
    per_unit = points / ((interval[1] - interval[0]) or 1.0)
    size = imported("matplotlib", "plot()").rcParams["font.size"]
    locator = imported("matplotlib.ticker", "plot()").MaxNLocator

    def room(text: str) -> float:
        return LEADING * size if upright else LETTER * size * (len(text) + 1)

    for n in range(MOST_TICKS, 0, -1):
        ticks = [
            float(t) for t in locator(n, steps=ROUND).tick_values(low, high) if low <= t <= high
        ]
        texts = [number(tick) for tick in ticks]
        if beside is not None:
            clear = [
                (tick, text)
                for tick, text in zip(ticks, texts, strict=True)
                if abs(beside[0] - tick) * per_unit >= (room(text) + room(beside[1])) / 2.0
            ]
            ticks, texts = [tick for tick, _ in clear], [text for _, text in clear]
        apart = min((b - a for a, b in pairwise(ticks)), default=float("inf")) * per_unit
        if apart >= max(map(room, texts), default=0.0):
            break
    else:
        ticks, texts = ticks[::2], texts[::2]
    if beside is not None:
        ticks, texts = [*ticks, beside[0]], [*texts, beside[1]]
    axis.set_ticks(ticks, labels=texts)


def open_frame(ax: Any) -> None:
    """Hide the top and right spines."""
    ax.spines[["top", "right"]].set_visible(False)


def write_beside(ax: Any, text: str, at: tuple[float, float], offset: float, **style: Any) -> None:
    """Write a small text to the right of a point or, with a negative offset, to its left."""
    side = "left" if offset >= 0.0 else "right"
    place = {"xytext": (offset, 0), "textcoords": "offset points", "ha": side, "va": "center"}
    ax.annotate(text, at, **place, fontsize=SMALL, **style)


def panel(ax: Any, side: Literal["below", "right"], share: float, **options: Any) -> Any:
    """Return new axes that take a share of the height or width of existing axes.

    Axes in a grid give up a part of their cell, so that layouts keep working; others, of their box.
    """
    figure, current = ax.figure, ax.figure.gca()
    ratios, below = [1.0 - share, share], side == "below"
    cell = ax.get_subplotspec()
    if cell is not None:
        shape = {"nrows": 2, "ncols": 1} if below else {"nrows": 1, "ncols": 2}
        grid = cell.subgridspec(**shape, **{"height_ratios" if below else "width_ratios": ratios})
        ax.set_subplotspec(grid[0])
        added = figure.add_subplot(grid[1], **options)
    else:
        box = ax.get_position()
        x, y, w, h = box.x0, box.y0, box.width, box.height
        # A tenth remains between the two for labels.
        first, second = (0.9 - share), share
        if below:
            ax.set_position((x, y + h * (1.0 - first), w, h * first))
            added = figure.add_axes((x, y, w, h * second), **options)
        else:
            ax.set_position((x, y, w * first, h))
            added = figure.add_axes((x + w * (1.0 - second), y, w * second, h), **options)
    figure.sca(current)
    return added


def number(value: float, digits: int = 3) -> str:
    """Return a number with this many significant digits, and at least one decimal.

    From 100,000 on there are no decimals; very large and small numbers have an exponent.
    """
    if value == 0.0 or not isfinite(value):
        return "0" if value == 0.0 else str(value).replace("-", "−")
    size = floor(log10(abs(value)))
    if not -4 <= size < 9:
        return f"{value:.{digits}g}".replace("-", "−")
    decimals = 0 if size >= 5 else max(digits - 1 - size, 1)
    text = f"{value:,.{decimals}f}" if size >= 4 else f"{value:.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if decimals else text
    return text.replace("-", "−")


def signed(value: float, digits: int = 3) -> str:
    """Return a number with its sign."""
    return ("+" if value > 0.0 else "") + number(value, digits)


def unit_of(unit: str, output: Any, n_outputs: int = 1) -> str:
    """Return a unit with the name of its output, such as "log-odds of yes"."""
    name = short(output)
    if unit in ("probability", "log-odds"):
        return f"{unit} of {name}"
    if unit.startswith("log of the probability"):
        return unit.replace("probability", f"probability of {name}")
    return unit if n_outputs == 1 else f"{unit}: {name}"


def wrapped(text: str, width: int) -> str:
    """Break a label that is longer than this number of characters into lines."""
    return "\n".join(fill(line, width) for line in text.split("\n"))


def counted(n: int, noun: str) -> str:
    """Return "1 row", "2 rows" or "12,345 rows"."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def shorts(names: Iterable[Any], longest: int = LONGEST_NAME) -> list[str]:
    """Return shortened names; longer than `longest` if some would be equal otherwise."""
    names = [str(name) for name in names]
    for length in range(longest, max(map(len, names), default=0) + 1):
        texts = [short(name, length) for name in names]
        if len(set(texts)) == len(set(names)):
            return texts
    return [plain(" ".join(name.split())) for name in names]


def short(name: Any, longest: int = LONGEST_NAME) -> str:
    """Return a name for a plot: shortened, and not parsed as a formula."""
    text = " ".join(str(name).split())
    if len(text) > longest:
        head = (longest - 1) * 2 // 3
        text = text[:head] + "…" + text[len(text) - (longest - 1 - head) :]
    return plain(text)


def plain(name: str) -> str:
    """Escape $, which matplotlib would parse as a formula."""
    return name.replace("$", r"\$")
