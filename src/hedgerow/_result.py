"""What results share that are more than a number: a readable repr, a plot and a data frame.

A result is a frozen dataclass whose fields are plain numbers and arrays. It says what its title,
its figures and its columns are, and how it is drawn; the rest is here. matplotlib and pandas are
imported when they are asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = Mapping[str, NDArray[Any]]

# Lines and areas: what a bound promises, what was measured, what is only a help to the eye.
GREEN, BROWN, GREY = "#2f6f4f", "#b5651d", "#8a8a8a"
# Rows of a table that its repr shows at the beginning and at the end.
FIRST_ROWS, LAST_ROWS = 3, 2


class Result(ABC):
    """A result to print, to plot, or to take as a data frame."""

    @abstractmethod
    def _title(self) -> str:
        """Return one line that says what this is."""

    def _figures(self) -> Mapping[str, float]:
        """Return the numbers that sum it up, by the words to show them under."""
        return {}

    @abstractmethod
    def _columns(self) -> Columns:
        """Return the columns of the data frame, all of one length."""

    def _shown_columns(self) -> Columns:
        """Return the columns that the repr shows."""
        return self._columns()

    def _draw(self, ax: Any) -> None:
        """Draw onto matplotlib axes."""
        drawings().draw(self, ax)

    def _figure_size(self) -> tuple[float, float]:
        """Return the size of a new figure, in inches."""
        size: tuple[float, float] = drawings().figure_size(self)
        return size

    def to_frame(self) -> Any:
        """Return the result as a pandas DataFrame."""
        return imported("pandas", "to_frame()").DataFrame(dict(self._columns()))

    def plot(self, ax: Any = None) -> Any:
        """Draw the result.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
        """
        if ax is None:
            pyplot = imported("matplotlib.pyplot", "plot()")
            _, ax = pyplot.subplots(figsize=self._figure_size(), layout="constrained")
        self._draw(ax)
        ax.spines[["top", "right"]].set_visible(False)
        return ax

    def __repr__(self) -> str:
        return "\n".join([self._title(), *_list(self._figures()), *_table(self._shown_columns())])


def _list(figures: Mapping[str, float]) -> list[str]:
    """Return names and numbers as aligned lines."""
    if not figures:
        return []
    numbers = texts(np.array(list(figures.values())))
    widths = max(map(len, figures)), max(map(len, numbers))
    return [
        f"  {name:<{widths[0]}}  {number:>{widths[1]}}"
        for name, number in zip(figures, numbers, strict=True)
    ]


def _table(columns: Columns) -> list[str]:
    """Return the first and last rows of a table as aligned lines."""
    cells = [[name, *_ends(values)] for name, values in columns.items()]
    widths = [max(map(len, column)) for column in cells]
    return [
        "  " + "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        for row in zip(*cells, strict=True)
    ]


def _ends(values: NDArray[Any]) -> list[str]:
    if len(values) <= FIRST_ROWS + LAST_ROWS + 1:
        return texts(values)
    shown = texts(np.concatenate([values[:FIRST_ROWS], values[-LAST_ROWS:]]))
    return [*shown[:FIRST_ROWS], "…", *shown[FIRST_ROWS:]]


def texts(values: NDArray[Any]) -> list[str]:
    """Return numbers as text, with the same decimals if they are of similar size."""
    if values.dtype.kind != "f":
        return [str(value) for value in values]
    sizes = np.abs(values[np.isfinite(values) & (values != 0.0)])
    largest, smallest = sizes.max(initial=0.0), sizes.min(initial=np.inf)
    if largest <= 100.0 * smallest or largest < 10.0:
        decimals = min(_decimals(largest), 4)
        return [_text(value, decimals) for value in values]
    return [_text(value, _decimals(abs(value))) for value in values]


def _text(value: float, decimals: int) -> str:
    if 0.0 < abs(value) < 10.0**-decimals / 2.0:
        return f"{value:.2g}"
    return f"{value:.4g}" if abs(value) >= 1e7 else f"{value:.{decimals}f}"


def _decimals(size: float) -> int:
    """Return the decimals that make four digits of a number of this size."""
    if not 0.0 < size < np.inf:
        return 0
    return min(max(3 - int(np.floor(np.log10(size))), 0), 4)


def drawings() -> Any:
    """Return the module that draws results which do not do so themselves.

    It is above everything that makes results, and so is imported only when one is drawn.
    """
    return import_module("hedgerow.plot._results")


def imported(module: str, what: str) -> Any:
    """Import an optional dependency, or say what needs it and how to install it."""
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{what} needs {package}. Install it: pip install {package}") from error
