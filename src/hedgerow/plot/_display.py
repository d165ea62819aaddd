"""What displays share: where they are drawn, panels beside that, numbers and names as text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import pairwise
from math import floor, isfinite, log10
from textwrap import fill
from typing import Any, ClassVar, Literal, Self

from hedgerow._result import imported
from hedgerow.exceptions import ParameterError
from hedgerow.plot._plane import plain

SMALL = "small"
# Characters of a name, beyond which its middle is left out.
LONGEST_NAME = 26
# Characters of a line of what is written along an axis.
LABEL = 46
# Of the size of letters: what a line takes, and a letter at most on average.
LEADING, LETTER = 1.25, 0.68
# Points of the smallest letters that can be read.
SMALLEST = 5.0
# Intervals between the numbers of an axis.
MOST_TICKS = 6
# What numbers of an axis are multiples of.
ROUND = (1, 2, 2.5, 5, 10)


class Display(ABC):
    """A picture whose data are there already, to be drawn as often as one likes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.
    """

    _size: ClassVar[tuple[float, float]] = (6.0, 4.0)  # of a new figure, in inches

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        This display, with ``ax_`` and ``figure_``.
        """
        require_axes(ax)
        self.ax_ = new_axes(*self._figure_size()) if ax is None else ax
        self.figure_ = self.ax_.figure
        self._draw()
        return self

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
            f"ax is a {type(ax).__name__}, but must be one matplotlib Axes, such as "
            "plt.subplots()[1], or None."
        )


def new_axes(width: float, height: float) -> Any:
    """Return the axes of a new figure, of a size in inches."""
    pyplot = imported("matplotlib.pyplot", "plot()")
    _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    return ax


def measured(ax: Any) -> Any:
    """Return the box of axes in pixels, once layouts have put them in their place."""
    ax.figure.canvas.figure.draw_without_rendering()
    return ax.get_window_extent()


def fit_labels(axis: Any) -> None:
    """Make the labels of categories small enough, and those below turned, for the room they have.

    The axes must be in their place (`measured`). Labels keep their size where that is enough; if
    even the smallest is not, they are dense.
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
    """Write numbers between low and high along an axis, no more than there is room for.

    The axes must be in their place (`measured`). `beside` is a place outside of the numbers and
    what to write there; they keep away from it.
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
            kept = [
                (tick, text)
                for tick, text in zip(ticks, texts, strict=True)
                if abs(beside[0] - tick) * per_unit >= (room(text) + room(beside[1])) / 2.0
            ]
            ticks, texts = [tick for tick, _ in kept], [text for _, text in kept]
        apart = min((b - a for a, b in pairwise(ticks)), default=float("inf")) * per_unit
        if apart >= max(map(room, texts), default=0.0):
            break
    else:
        ticks, texts = ticks[::2], texts[::2]
    if beside is not None:
        ticks, texts = [*ticks, beside[0]], [*texts, beside[1]]
    axis.set_ticks(ticks, labels=texts)


def open_frame(ax: Any) -> None:
    """Leave out the lines at the top and on the right."""
    ax.spines[["top", "right"]].set_visible(False)


def panel(ax: Any, side: Literal["below", "right"], share: float, **options: Any) -> Any:
    """Return new axes that take a share of the height or width of some axes.

    Axes in a grid give up a part of their cell, so that layouts keep working; others, of their box.
    """
    figure, current = ax.figure, ax.figure.gca()
    ratios, below = [1.0 - share, share], side == "below"
    cell = ax.get_subplotspec()
    if cell is not None:
        shape = {"nrows": 2, "ncols": 1} if below else {"nrows": 1, "ncols": 2}
        grid = cell.subgridspec(**shape, **{"height_ratios" if below else "width_ratios": ratios})
        ax.set_subplotspec(grid[0])
        made = figure.add_subplot(grid[1], **options)
    else:
        box = ax.get_position()
        x, y, w, h = box.x0, box.y0, box.width, box.height
        # A tenth is left between the two for labels.
        first, second = (0.9 - share), share
        if below:
            ax.set_position((x, y + h * (1.0 - first), w, h * first))
            made = figure.add_axes((x, y, w, h * second), **options)
        else:
            ax.set_position((x, y, w * first, h))
            made = figure.add_axes((x + w * (1.0 - second), y, w * second, h), **options)
    figure.sca(current)
    return made


def number(value: float, digits: int = 3) -> str:
    """Return a number as a person would write it: so many digits, or one decimal at least.

    From 100,000 on there are no decimals; what is very large or small has a power of ten.
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
    """Say of which output a unit is: "log-odds of yes", where one unit has several."""
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
    """Return names that stand side by side: longer than asked for if some would be the same."""
    names = [str(name) for name in names]
    for length in range(longest, max(map(len, names), default=0) + 1):
        texts = [short(name, length) for name in names]
        if len(set(texts)) == len(set(names)):
            return texts
    return [plain(" ".join(name.split())) for name in names]


def short(name: Any, longest: int = LONGEST_NAME) -> str:
    """Return a name for a picture: not too long, and not taken for a formula."""
    text = " ".join(str(name).split())
    if len(text) > longest:
        head = (longest - 1) * 2 // 3
        text = text[:head] + "…" + text[len(text) - (longest - 1 - head) :]
    return plain(text)
