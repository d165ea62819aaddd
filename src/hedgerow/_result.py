"""The base class of results: a readable repr, a plot and a data frame.

A result is a frozen dataclass whose fields are plain numbers and arrays. It defines its title, its
figures, its columns and its plot; the rest is here. matplotlib and pandas are imported on use.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow._types import Floats

Columns = Mapping[str, NDArray[Any]]

# Colours of lines and areas: bounds, measurements, reference lines.
GREEN, BROWN, GREY = "#2f6f4f", "#b5651d", "#8a8a8a"
# Rows of a table that its repr shows at the beginning and at the end.
FIRST_ROWS, LAST_ROWS = 3, 2


class Result(ABC):
    """A result to print, to plot, or to take as a data frame."""

    _is_long: ClassVar[bool] = True  # whether the repr shows only the ends of the table

    @abstractmethod
    def _title(self) -> str:
        """Return one line that says what this is."""

    def _figures(self) -> Mapping[str, float]:
        """Return the summary statistics by their labels."""
        return {}

    @abstractmethod
    def _columns(self) -> Columns:
        """Return the columns of the data frame, all of one length."""

    def _repr_columns(self) -> Columns:
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
        table = _table(self._repr_columns(), shorten=self._is_long)
        return "\n".join([self._title(), *_list(self._figures()), *table])


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


def _table(columns: Columns, *, shorten: bool) -> list[str]:
    """Return a table, or its first and last rows, as aligned lines."""
    as_texts = _ends if shorten else texts
    cells = [[name, *as_texts(values)] for name, values in columns.items()]
    widths = [max(map(len, column)) for column in cells]
    return [
        "  " + "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        for row in zip(*cells, strict=True)
    ]


def _ends(values: NDArray[Any]) -> list[str]:
    if len(values) <= FIRST_ROWS + LAST_ROWS + 1:
        return texts(values)
    ends = texts(np.concatenate([values[:FIRST_ROWS], values[-LAST_ROWS:]]))
    return [*ends[:FIRST_ROWS], "…", *ends[FIRST_ROWS:]]


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
    """Return the module that draws results, which imports the classes of all of them."""
    return import_module("hedgerow.plot._results")


def imported(module: str, what: str) -> Any:
    """Import an optional dependency; the error says what needs it and how to install it."""
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{what} needs {package}. Install it: pip install {package}") from error


@dataclass(frozen=True, repr=False, eq=False)
class PermutationImportance(Result):
    """How much worse a model performs when a column, or a group of columns, is shuffled.

    Attributes
    ----------
    feature : array
        Names of the columns or groups; numbers, if a forest was fitted to columns without names.
    mean : array of shape (features,)
        The decrease of a score, or the increase of an error: the mean over the repeats, or over the
        trees.
    std : array of shape (features,)
        The standard deviation over the repeats or trees.
    repeats : array of shape (features, n_repeats)
        The value of each repeat or tree.
    baseline : float
        The score or error without shuffling.
    metric : str
        Name of the metric.
    higher_is_better : bool
        Whether the metric is a score rather than an error.
    is_by_tree : bool
        Whether repeats are the trees of a forest.
    """

    feature: NDArray[Any]
    mean: Floats
    std: Floats
    repeats: Floats
    baseline: float
    metric: str
    higher_is_better: bool
    is_by_tree: bool = False

    @property
    def by_tree(self) -> Floats:
        """The increase of each tree's out-of-bag loss, (n_trees, features)."""
        if not self.is_by_tree:
            raise AttributeError("by_tree: rows were shuffled for the whole model, not by tree.")
        return self.repeats.T

    @property
    def standard_error(self) -> Floats:
        """The standard error of the mean."""
        return self.std / np.sqrt(self.repeats.shape[1])

    @property
    def z(self) -> Floats:
        """The mean divided by its standard error (Breiman's z); 0 where repeats do not differ."""
        error = self.standard_error
        return np.divide(self.mean, error, out=np.zeros_like(self.mean), where=error > 0)

    @property
    def change(self) -> str:
        """How the metric changes if a useful column is shuffled: a "fall" or a "rise"."""
        return "fall" if self.higher_is_better else "rise"

    def _title(self) -> str:
        n_features, n_repeats = self.repeats.shape
        return (
            f"PermutationImportance of {n_features} features, largest first: {self.change} in "
            f"{self.metric} from {self.baseline:.4g}, {n_repeats} "
            + ("trees" if self.is_by_tree else "repeats")
        )

    def _columns(self) -> Columns:
        order = np.argsort(-self.mean, kind="stable")
        columns = {"feature": self.feature, "mean": self.mean, "std": self.std, "z": self.z}
        return {name: column[order] for name, column in columns.items()}
