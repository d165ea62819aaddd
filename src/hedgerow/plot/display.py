"""What displays share: where they are drawn, panels beside that, numbers and names as text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import floor, isfinite, log10
from typing import Any, ClassVar, Literal, Self

from hedgerow.exceptions import ParameterError
from hedgerow.plot.plane import plain
from hedgerow.result import imported

SMALL = "small"
# Characters of a name, beyond which its middle is left out.
LONGEST_NAME = 26


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


def counted(n: int, noun: str) -> str:
    """Return "1 row", "2 rows" or "12,345 rows"."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def short(name: Any, longest: int = LONGEST_NAME) -> str:
    """Return a name for a picture: not too long, and not taken for a formula."""
    text = " ".join(str(name).split())
    if len(text) > longest:
        head = (longest - 1) * 2 // 3
        text = text[:head] + "…" + text[len(text) - (longest - 1 - head) :]
    return plain(text)
