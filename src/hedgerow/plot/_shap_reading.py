"""SHAP values as the displays take them: one output, the features' own values beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.columns import CategoricalColumn
from hedgerow._data.intake import learn_schema
from hedgerow._data.names import Labels
from hedgerow._params import COUNT, Parameter
from hedgerow._tree.additive import numbered_names
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot._display import number, short, unit_of

_TOP = Parameter("top", 12, COUNT, "")


@dataclass(frozen=True, eq=False)
class FeatureValues:
    """A column of the explained rows.

    `numbers` has NaN where a value is missing, and is None if the values are categories; then
    `codes` are places among `categories`, −1 where a value is missing.
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
class ReadShap:
    """SHAP values of one output: (n_rows, n_features), base values (n_rows,), and the rest."""

    values: Floats
    base: Floats
    columns: Sequence[FeatureValues]
    names: Labels
    unit: str

    @property
    def importance(self) -> Floats:
        """The mean size of each feature's values."""
        return np.abs(self.values).mean(axis=0)

    def order(self) -> NDArray[np.intp]:
        """Features by falling importance, the first of equals first."""
        return np.argsort(-self.importance, kind="stable")

    def feature(self, wanted: Any, argument: str) -> int:
        """Find a feature by name or, where names are no numbers, by place."""
        if self.names.names is not None:
            return self.names.find(wanted, argument)
        is_place = isinstance(wanted, int | np.integer) and not isinstance(wanted, bool)
        if is_place and 0 <= wanted < len(self.names):
            return int(wanted)
        if isinstance(wanted, str) and wanted in self.names:
            return list(self.names).index(wanted)
        raise ParameterError(
            f"{argument}={wanted!r} is not allowed; it must be a feature's name, or a number from "
            f"0 to {len(self.names) - 1}."
        )

    def label(self) -> str:
        """Say what the values are, in which unit."""
        return f"SHAP value ({self.measured_in})" if self.unit else "SHAP value"

    @property
    def measured_in(self) -> str:
        """The unit of differences."""
        return f"in units of {self.unit}" if self.unit.startswith("the ") else self.unit


def read_shap(shap: Any, output: Any = None) -> ReadShap:
    """Read SHAP values, and take one output.

    `shap` has `values` (n_rows, n_features) or (n_rows, n_features, n_outputs), `base_values` (a
    number, or one for each output, or one for each row), `data`, `feature_names`, `output_names`
    and `unit`.
    """
    values = getattr(shap, "values", None)
    if values is None or not hasattr(shap, "base_values") or callable(values):
        raise ParameterError(
            f"shap is a {type(shap).__name__}, but must be what hedgerow.explain.shap_values "
            "returns."
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
    return ReadShap(
        values=values,
        base=np.broadcast_to(base, (len(values),)).astype(np.float64),
        columns=_columns(getattr(shap, "data", None), values.shape),
        names=Labels([str(name) for name in names], getattr(names, "names", None)),
        unit=_unit(shap, place, n_outputs),
    )


def _unit(shap: Any, place: int, n_outputs: int) -> str:
    """Return what values are measured in, and of which output, as far as that is known."""
    unit, names = str(getattr(shap, "unit", None) or ""), getattr(shap, "output_names", None)
    return unit if names is None else unit_of(unit, names[place], n_outputs)


def check_top(top: Any) -> None:
    """Raise unless this is a number of features."""
    _TOP.check(top)


def output_place(of: Any, n_outputs: int, output: Any) -> int:
    """Find an output by its number or by its name, which may be a class."""
    known = getattr(of, "output_names", None)
    names = [] if known is None else [str(name) for name in known]
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
    """Read the table of the rows that are explained; without one, no value is known."""
    if data is None:
        return [FeatureValues(np.full(shape[0], np.nan)) for _ in range(shape[1])]
    schema, table = learn_schema(data, warns=False)
    if (table.n_rows, schema.n_features) != shape[:2]:
        raise DataError(
            f"shap: data have the shape {(table.n_rows, schema.n_features)}, but values {shape}."
        )
    read = []
    for j in range(schema.n_features):
        column = table.column(j)
        if isinstance(column, CategoricalColumn):
            texts = [str(value) for value in schema.categories[j].values]
            read.append(FeatureValues(None, np.asarray(column.codes, np.int64), texts))
        else:
            numbers = np.array(column.values, np.float64)
            if column.missing is not None:
                numbers[column.missing] = np.nan
            read.append(FeatureValues(numbers))
    return read


def explain(model: Any, X: Any) -> Any:
    """Ask for the SHAP values of rows."""
    return import_module("hedgerow.explain").shap_values(model, X)
