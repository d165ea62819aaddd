"""The display of feature importances as bars, the longest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.names import fitted_names, labels_of
from hedgerow._data.target import read_numbers_with_missing
from hedgerow._params import Options, Parameter
from hedgerow._result import GREY
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot._colors import COLORS, INK
from hedgerow.plot._display import (
    LABEL,
    LONGEST_NAME,
    TOP,
    Display,
    number,
    open_frame,
    require_axes,
    shorts,
    wrapped,
    write_beside,
)
from hedgerow.theory._voters import require_fitted

_LABELS = {
    "gain": "total gain of the splits on the feature",
    "split": "number of splits on the feature",
    "cover": "total cover of the splits on the feature",
}
_KIND = Parameter("kind", "gain", Options(tuple(_LABELS)), "")
# Height in inches of a row of bars in a new figure, and of the axis below.
ROW, BELOW = 0.26, 0.9


class ImportanceDisplay(Display):
    """Feature importances as bars, the most important first.

    Create it with `from_estimator`, or with `from_values` for any other importances.

    Parameters
    ----------
    names : sequence of str
        The features.
    values : array of shape (n_features,)
        Their importances.
    errors : array of shape (n_features,), optional
        Half the length of the error bars, such as standard deviations.
    label : str
        Meaning of the values, with their unit.
    top : int
        Number of features to draw.
    longest : int
        Maximum length of a name; longer ones are shortened in the middle.
    things : str
        Plural noun for what the bars show.

    Attributes
    ----------
    order : array
        Features by decreasing value; the first ones are drawn.
    ax_, figure_ : matplotlib Axes and Figure
        The axes and the figure of the last drawing.
    """

    names: Sequence[str]
    values: Floats
    errors: Floats | None = None
    label: str = "importance"
    top: int = 15
    longest: int = LONGEST_NAME
    things: str = "features"

    @property
    def order(self) -> Any:
        """Features by decreasing value, in a stable order."""
        return np.argsort(-self.values, kind="stable")

    @classmethod
    def from_estimator(
        cls, model: Any, *, kind: str = "gain", top: int = 15, ax: Any = None
    ) -> Self:
        """Draw the importances of a tree model.

        Parameters
        ----------
        model : fitted estimator
            A model with an `importances` method, such as boosted models and forests of Hedgerow,
            or with `feature_importances_`.
        kind : {"gain", "split", "cover"}, default="gain"
            The quantity summed over the splits on a feature. A model that only has
            `feature_importances_` supports "gain", as a fraction of the total.
        top : int, default=15
            Number of features to draw.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        """
        require_axes(ax)
        _KIND.check(kind)
        require_fitted(model, "a fitted estimator")
        values, label = _importances(model, kind)
        names = labels_of(fitted_names(model), len(values))
        return cls.from_values(names, values, label=label, top=top, ax=ax)

    @classmethod
    def from_values(
        cls,
        names: Sequence[Any],
        values: Any,
        errors: Any = None,
        *,
        label: str = "importance",
        top: int = 15,
        ax: Any = None,
    ) -> Self:
        """Draw importances; the other parameters are those of the class.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        """
        require_axes(ax)
        TOP.check(top)
        numbers = _finite(values, "values", len(names))
        spread = None if errors is None else _finite(errors, "errors", len(names))
        if spread is not None and spread.min() < 0.0:
            raise DataError("errors contains a negative number.")
        texts = [str(name) for name in names]
        return cls(names=texts, values=numbers, errors=spread, label=label, top=top).plot(ax)

    def _figure_size(self) -> tuple[float, float]:
        return bars_size(min(self.top, len(self.values)))

    def _draw(self) -> None:
        ax, largest = self.ax_, self.order[: self.top]
        y = np.arange(len(largest))
        values = self.values[largest]
        errors = np.zeros(len(largest)) if self.errors is None else self.errors[largest]
        ax.barh(
            y,
            values,
            xerr=None if self.errors is None else errors,
            color=COLORS[0],
            height=0.72,
            error_kw={"ecolor": INK, "elinewidth": 1.0, "capsize": 2.0},
        )
        ax.axvline(0.0, color=GREY, linewidth=0.8)
        self._write_numbers(values, errors)
        ax.set_yticks(y, shorts((self.names[i] for i in largest), self.longest))
        ax.set_ylim(len(largest) - 0.4, -0.6)
        n_omitted = len(self.values) - len(largest)
        note = f"\nfirst {len(largest)} of {len(self.values)} {self.things}" if n_omitted else ""
        ax.set_xlabel(wrapped(self.label, LABEL) + note)
        ax.locator_params(axis="x", nbins=4)
        ax.tick_params(axis="y", length=0)
        open_frame(ax)

    def _write_numbers(self, values: Floats, errors: Floats) -> None:
        """Write each number at the end of its bar, and make space for it."""
        # At negative bars also on the right: the names are on the left.
        ends = np.maximum(values + errors, 0.0)
        for y, (value, end) in enumerate(zip(values, ends, strict=True)):
            write_beside(self.ax_, number(float(value)), (float(end), y), 3)
        low, high = min((values - errors).min(), 0.0), ends.max()
        span = (high - low) or 1.0
        self.ax_.set_xlim(low - (0.03 * span if low < 0.0 else 0.0), high + 0.18 * span)


def bars_size(n_bars: int) -> tuple[float, float]:
    """Return the size of a figure with this number of bars, in inches."""
    return 6.4, BELOW + ROW * max(n_bars, 3)


def names_of(features: NDArray[Any]) -> list[str]:
    """Return the names of features, with x0, x1 and so on for column indices."""
    is_numbered = features.dtype.kind in "iu"
    return [f"x{feature}" if is_numbered else str(feature) for feature in features]


def _importances(model: Any, kind: str) -> tuple[Floats, str]:
    if hasattr(model, "importances"):
        return np.asarray(model.importances(kind), np.float64), _LABELS[kind]
    if kind != "gain" or not hasattr(model, "feature_importances_"):
        raise ParameterError(f"kind={kind!r}: this {type(model).__name__} has no such importances.")
    values = np.asarray(model.feature_importances_, np.float64)
    return values, "fraction of the total gain"


def _finite(values: Any, name: str, n_features: int) -> Floats:
    numbers = read_numbers_with_missing(values, name)
    if len(numbers) != n_features:
        raise DataError(f"{name} has {len(numbers)} numbers, but there are {n_features} names.")
    if not np.isfinite(numbers).all():
        raise DataError(f"{name} contains a number that is not finite.")
    return numbers
