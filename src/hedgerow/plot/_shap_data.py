"""SHAP values prepared for displays: one output, with the values of the features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.columns import CategoricalColumn
from hedgerow._data.intake import learn_schema
from hedgerow._data.names import Labels
from hedgerow._tree.additive import numbered_names
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot._display import number, short, unit_of


@dataclass(frozen=True, eq=False)
class FeatureValues:
    """A column of the explained rows.

    `numbers` has NaN for missing values, and is None for a categorical column; then `codes` are
    indices into `categories`, −1 for missing values.
    """

    numbers: Floats | None
    codes: NDArray[np.int64] | None = None
    categories: Sequence[str] = ()

    def text(self, row: int) -> str:
        """Return one value as text."""
        if self.numbers is not None:
            value = float(self.numbers[row])
            return "missing" if np.isnan(value) else number(value)
        assert self.codes is not None
        code = int(self.codes[row])
        return "missing" if code < 0 else short(self.categories[code], 18)


@dataclass(frozen=True, eq=False)
class ShapData:
    """SHAP values (n_rows, n_features) and base values (n_rows,) of one output."""

    values: Floats
    base: Floats
    columns: Sequence[FeatureValues]
    names: Labels
    unit: str

    @property
    def importance(self) -> Floats:
        """The mean absolute SHAP value of each feature."""
        return np.abs(self.values).mean(axis=0)

    def order(self) -> NDArray[np.intp]:
        """Features by decreasing importance, in a stable order."""
        return np.argsort(-self.importance, kind="stable")

    def feature(self, name: Any, argument: str) -> int:
        """Return the index of a feature by name or, if no name is an integer, by index."""
        if self.names.names is not None:
            return self.names.find(name, argument)
        is_index = isinstance(name, int | np.integer) and not isinstance(name, bool)
        if is_index and 0 <= name < len(self.names):
            return int(name)
        if isinstance(name, str) and name in self.names:
            return list(self.names).index(name)
        raise ParameterError(
            f"{argument}={name!r} is not allowed; it must be the name of a feature, or a number "
            f"from 0 to {len(self.names) - 1}."
        )

    def label(self) -> str:
        """Return the axis label, with the unit."""
        return f"SHAP value ({self.measured_in})" if self.unit else "SHAP value"

    @property
    def measured_in(self) -> str:
        """The unit of differences."""
        return f"in units of {self.unit}" if self.unit.startswith("the ") else self.unit


def prepare_shap(shap: Any, output: Any = None) -> ShapData:
    """Check SHAP values, and select one output.

    `shap` has `values` (n_rows, n_features) or (n_rows, n_features, n_outputs), `base_values` (a
    number, or one for each output, or one for each row), `data`, `feature_names`, `output_names`
    and `unit`.
    """
    values = getattr(shap, "values", None)
    if values is None or not hasattr(shap, "base_values") or callable(values):
        raise ParameterError(
            f"shap is a {type(shap).__name__}, but must be a result of "
            "hedgerow.explain.shap_values."
        )
    values = np.asarray(values, np.float64)
    if values.ndim not in (2, 3) or not values.size:
        raise DataError(f"shap: values have the shape {values.shape}, not (rows, features).")
    base = np.asarray(shap.base_values, np.float64)
    place, n_outputs = 0, values.shape[2] if values.ndim == 3 else 1
    if values.ndim == 3:
        place = output_place(shap, n_outputs, output)
        values, base = values[:, :, place], base[..., place]
    elif output not in (None, 0):
        raise ParameterError(f"output={output!r} is not allowed; there is one output.")
    names = getattr(shap, "feature_names", None)
    if names is None:
        names = numbered_names(values.shape[1])
    return ShapData(
        values=values,
        base=np.broadcast_to(base, (len(values),)).astype(np.float64),
        columns=_columns(getattr(shap, "data", None), values.shape),
        names=Labels([str(name) for name in names], getattr(names, "names", None)),
        unit=_unit(shap, place, n_outputs),
    )


def _unit(shap: Any, place: int, n_outputs: int) -> str:
    """Return the unit of the values, with the output if it is known."""
    unit, names = str(getattr(shap, "unit", None) or ""), getattr(shap, "output_names", None)
    return unit if names is None else unit_of(unit, names[place], n_outputs)


def output_place(of: Any, n_outputs: int, output: Any) -> int:
    """Return the index of an output by its number or name, which may be a class."""
    output_names = getattr(of, "output_names", None)
    names = [] if output_names is None else [str(name) for name in output_names]
    if output is None and n_outputs == 1:
        return 0
    if isinstance(output, int | np.integer) and not isinstance(output, bool):
        if 0 <= output < n_outputs:
            return int(output)
    elif output is not None and str(output) in names:
        return names.index(str(output))
    allowed = f"a number from 0 to {n_outputs - 1}" + (f", or of {names}" if names else "")
    raise ParameterError(f"output={output!r} is not allowed; it must be {allowed}.")


def _columns(data: Any, shape: tuple[int, ...]) -> list[FeatureValues]:
    """Read the table of the explained rows; without one, all values are missing."""
    if data is None:
        return [FeatureValues(np.full(shape[0], np.nan)) for _ in range(shape[1])]
    schema, table = learn_schema(data, warns=False)
    if (table.n_rows, schema.n_features) != shape[:2]:
        raise DataError(
            f"shap: data has the shape {(table.n_rows, schema.n_features)}, but values {shape}."
        )
    columns = []
    for j in range(schema.n_features):
        column = table.column(j)
        if isinstance(column, CategoricalColumn):
            texts = [str(value) for value in schema.categories[j].values]
            columns.append(FeatureValues(None, np.asarray(column.codes, np.int64), texts))
        else:
            columns.append(FeatureValues(column.floats()))
    return columns


def swarm(
    values: Floats, level: Floats, width: float, most: int
) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Return the rows of a beeswarm plot, their positions along the line, and their offsets.

    Values in one bin of a dot's width form a pile that is centred on the line. In a pile, dots are
    sorted by `level`, with NaN at the bottom. If a pile has more than `most` dots, piles of n dots
    are reduced to most · √(n / largest), so that higher ones stay higher; dots are omitted evenly.
    `width` is the diameter of a dot, in the unit of the values.
    """
    bins = np.floor(values / width + 0.5).astype(np.int64)
    order = np.lexsort((np.nan_to_num(level, nan=-1.0), bins))
    _, starts, sizes = np.unique(bins[order], return_index=True, return_counts=True)
    heights = sizes
    if sizes.max() > most:
        cut = np.ceil(most * np.sqrt(sizes / sizes.max())).astype(np.int64)
        heights = np.minimum(sizes, np.minimum(cut, most))
    rows, offsets = [], []
    for start, size, height in zip(starts, sizes, heights, strict=True):
        selected = ((np.arange(height) + 0.5) * size / height).astype(np.intp)
        rows.append(order[start + selected])
        offsets.append(np.arange(height) - (height - 1) / 2.0)
    dots = np.concatenate(rows)
    return dots, bins[dots] * width, np.concatenate(offsets)
