"""`hedgerow explain`: the Shapley values of each column, row by row or on average."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hedgerow._cli import output
from hedgerow._cli.dataset import ExpectedColumns, LabeledDataset, read_features
from hedgerow._cli.models import load_model
from hedgerow._cli.options import STANDARD, Reading
from hedgerow._cli.scores import chosen_class
from hedgerow._data.columns import is_missing
from hedgerow._reporting.positive import shap_of_class
from hedgerow.exceptions import ParameterError
from hedgerow.explain import ShapValues, shap_values

_BAR = 30  # characters of the longest bar
_ONLY_OUTPUT = "y"  # the name of a single output


def explain(
    model_file: Path,
    data: Path,
    selection: str | None,
    top: int,
    out: Path | None,
    positive: str | None,
    escape_formulas: bool,
    reading: Reading,
    as_json: bool,
) -> None:
    """Print the Shapley values of some rows, or their mean sizes over all rows."""
    file = None if out == STANDARD else out
    output.require_table_name(file, escape_formulas=escape_formulas)
    output.require_other_files([file], model_file, data)
    model = load_model(model_file)
    label = chosen_class(positive, model)
    X, *_ = read_features(data, reading.like(model), ExpectedColumns.of_model(model), None)
    rows = np.arange(X.shape[0]) if selection is None else _row_numbers(selection, X.shape[0])
    explained = shap_values(model, LabeledDataset(X, None).take(rows).X)
    if label is not None:
        classes = model.classes_.tolist()
        explained = shap_of_class(explained, list(map(str, classes)), classes.index(label))
    if out is not None:
        output.write_table(_all_values(explained, rows), file, escape_formulas=escape_formulas)
    if out == STANDARD:
        return
    if as_json:
        output.answer_json(_as_dict(explained, rows, by_row=selection is not None))
    elif selection is None:
        output.answer(_average_text(explained, top))
    else:
        output.answer("\n".join(_row_text(explained, i, row, top) for i, row in enumerate(rows)))


def _row_numbers(text: str, n_rows: int) -> Any:
    """Read numbers and ranges of rows, such as 0-4,7."""
    rows: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not (first.isdecimal() and (last or first).isdecimal()):
            raise ParameterError(f"--rows {text}: use row numbers and ranges, such as 0-4,7.")
        if int(last or first) >= n_rows:
            raise ParameterError(f"--rows {text}: the rows are 0 to {n_rows - 1}.")
        rows += range(int(first), int(last or first) + 1)
    if not rows:
        raise ParameterError(f"--rows {text} selects no rows.")
    return np.array(rows)


def _by_output(explained: ShapValues) -> tuple[Any, Any]:
    """Return values (rows, columns, outputs) and base values (rows, outputs)."""
    n_rows, n_columns = explained.values.shape[:2]
    return explained.values.reshape(n_rows, n_columns, -1), explained.base_values.reshape(
        n_rows, -1
    )


def _all_values(explained: ShapValues, rows: Any) -> Any:
    """Return a line for each row and output, with a column for each column of the table."""
    values, base = _by_output(explained)
    parts = []
    for k, of in enumerate(explained.output_names):
        frame = pd.DataFrame(values[:, :, k], columns=list(explained.feature_names))
        leading = {"row": rows, "output": of, "base value": base[:, k]}
        parts.append(pd.concat([pd.DataFrame(leading), frame], axis=1))
    return pd.concat(parts).sort_values("row", kind="stable", ignore_index=True)


def _as_dict(explained: ShapValues, rows: Any, *, by_row: bool) -> dict[str, Any]:
    values, base = _by_output(explained)
    names = explained.feature_names
    outputs = {}
    for k, of in enumerate(explained.output_names):
        sizes = dict(zip(names, np.abs(values[:, :, k]).mean(axis=0).tolist(), strict=True))
        outputs[of] = {"base_value": float(base[0, k]), "mean_absolute_value": sizes}
        if by_row:
            outputs[of]["rows"] = [
                {"row": int(row), "values": dict(zip(names, line.tolist(), strict=True))}
                for row, line in zip(rows, values[:, :, k], strict=True)
            ]
    return {"unit": explained.unit, "n_rows": len(rows), "outputs": outputs}


def _average_text(explained: ShapValues, top: int) -> str:
    """Return the columns with the largest mean Shapley values, with bars."""
    values, _ = _by_output(explained)
    sizes = np.abs(values).mean(axis=(0, 2))
    order = np.argsort(-sizes, kind="stable")[:top]
    largest = sizes[order[0]] or 1.0
    bars = {
        explained.feature_names[j]: f"{sizes[j]:<10.4g}{'▇' * round(_BAR * sizes[j] / largest)}"
        for j in order
    }
    rows = output.count(len(values), "row")
    names = explained.output_names
    of = f" of {names[0]}" if len(names) == 1 and names[0] != _ONLY_OUTPUT else ""
    title = f"mean absolute Shapley value of each column, {rows} ({explained.unit}{of})"
    return f"{title}\n{output.lines_of(bars)}"


def _row_text(explained: ShapValues, i: int, row: int, top: int) -> str:
    """Return a row's score as a sum of Shapley values, the largest first."""
    values, base = _by_output(explained)
    lines = []
    for k, of in enumerate(explained.output_names):
        terms = values[i, :, k]
        score = base[i, k] + terms.sum()
        name = "" if of == _ONLY_OUTPUT else f", {of}"
        lines.append(
            f"row {row}{name}: {score:.4g}, base value {base[i, k]:.4g} ({explained.unit})"
        )
        lines += _term_lines(terms, explained.feature_names, explained.data[i], top)
    return "\n".join(lines)


def _term_lines(terms: Any, names: Sequence[str], data: Any, top: int) -> list[str]:
    """Return the largest terms and the sum of the others, with aligned decimal points."""
    order = np.argsort(-np.abs(terms), kind="stable")
    lines = [(terms[j], f"{names[j]} {_value_text(data[j])}") for j in order[:top]]
    if len(order) > top:
        lines.append((terms[order[top:]].sum(), output.count(len(order) - top, "other column")))
    decimals = _decimals(max(abs(term) for term, _ in lines))
    numbers = [f"{term:+.{decimals}f}" for term, _ in lines]
    width = max(map(len, numbers))
    return [
        f"  {number:>{width}}  {text}" for number, (_, text) in zip(numbers, lines, strict=True)
    ]


def _decimals(largest: float) -> int:
    """Return the number of decimals that gives the largest number four digits."""
    return max(0, 3 - math.floor(math.log10(largest))) if largest > 0 else 0


def _value_text(value: Any) -> str:
    if is_missing(value):
        return "is missing"
    is_integer = isinstance(value, float) and value.is_integer()
    return f"= {value:.0f}" if is_integer else f"= {value}"
