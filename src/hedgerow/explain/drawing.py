"""Curves and surfaces over columns, as results draw themselves: numbers, categories and gaps."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.result import BROWN, GREEN, GREY, Floats

# Curves of single rows that are drawn: more are a grey area.
_MOST_ROWS = 100


class OverColumns(Protocol):
    """A result over the values of one or two columns."""

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the columns."""

    @property
    def grid(self) -> tuple[NDArray[Any], ...]:
        """Values of each."""

    @property
    def is_categorical(self) -> tuple[bool, ...]:
        """Whether they are labels."""

    @property
    def deciles(self) -> tuple[Floats, ...]:
        """Of each column of numbers."""

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs."""

    @property
    def unit(self) -> str:
        """What is drawn."""


def draw_curves(
    ax: Any, result: OverColumns, average: Floats | None, individual: Floats | None
) -> None:
    """Draw a curve for each output; labels and gaps are points by themselves."""
    x, labels = _positions(result.grid[0], result.is_categorical[0])
    is_number = np.array([label is None for label in labels])
    names = result.output_names
    if individual is not None:
        for row in individual[:_MOST_ROWS, :, 0]:
            ax.plot(x[is_number], row[is_number], color=GREY, linewidth=0.5, alpha=0.5)
    for k, name in enumerate(names if average is not None else ()):
        assert average is not None
        line = {"color": GREEN} if len(names) == 1 else {"color": None, "label": name}
        ax.plot(x, np.where(is_number, average[:, k], np.nan), **line)
        ax.plot(x[~is_number], average[~is_number, k], "o", color=ax.lines[-1].get_color())
    if len(names) > 1:
        ax.legend(frameon=False)
    _write_labels(ax.xaxis, x, labels)
    if len(result.deciles[0]):
        ax.plot(
            result.deciles[0],
            np.zeros(len(result.deciles[0])),
            "|",
            color=BROWN,
            transform=ax.get_xaxis_transform(),
        )
    ax.set_xlabel(result.features[0])
    ax.set_ylabel(result.unit)


def draw_surface(ax: Any, result: OverColumns, mean: Floats) -> None:
    """Draw the first output over two columns, a colour for each pair of values."""
    ticks = [
        _positions(values, is_categorical)
        for values, is_categorical in zip(result.grid, result.is_categorical, strict=True)
    ]
    shown = ax.pcolormesh(ticks[0][0], ticks[1][0], mean[..., 0].T, shading="nearest", cmap="BrBG")
    ax.figure.colorbar(shown, ax=ax, label=result.unit)
    _write_labels(ax.xaxis, *ticks[0])
    _write_labels(ax.yaxis, *ticks[1])
    ax.set_xlabel(result.features[0])
    ax.set_ylabel(result.features[1])


def _write_labels(axis: Any, at: Floats, labels: list[str | None]) -> None:
    """Write labels beside the numbers of an axis, or in their place if all values have one."""
    named = [k for k, label in enumerate(labels) if label is not None]
    if not named:
        return
    numbers = at[[k for k, label in enumerate(labels) if label is None]]
    kept = [tick for tick in axis.get_ticklocs() if (numbers <= tick).any()]
    kept = [tick for tick in kept if (numbers >= tick).any()]
    texts = [f"{tick:g}" for tick in kept]
    axis.set_ticks([*kept, *at[named]], labels=[*texts, *(labels[k] for k in named)])


def _positions(values: NDArray[Any], is_categorical: bool) -> tuple[Floats, list[str | None]]:
    """Return where values lie on an axis, and labels for those that are no numbers."""
    if is_categorical:
        texts: list[str | None] = ["missing" if value is None else str(value) for value in values]
        return np.arange(len(values), dtype=np.float64), texts
    gaps = np.isnan(values)
    present = values[~gaps]
    # A gap stands a little to the right of all numbers.
    beside = present.max() + 0.08 * max(np.ptp(present), 1e-300) if len(present) else 0.0
    return np.where(gaps, beside, values), ["missing" if gap else None for gap in gaps]
