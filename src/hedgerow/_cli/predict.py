"""`hedgerow predict`: a model and a file → a table of predictions, equal to those in Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from hedgerow._cli.choices import COVERAGE
from hedgerow._cli.dataset import ExpectedColumns, open_parquet, read_features
from hedgerow._cli.models import load_model, require_offset
from hedgerow._cli.options import STANDARD, DataFiles, ParquetPaths, Reading
from hedgerow._cli.output import require_other_files, require_table_name, write_table
from hedgerow._cli.scores import positive_class
from hedgerow._data.parquet_predictions import write_blocks
from hedgerow.exceptions import ParameterError


def predict(
    model_file: Path,
    data: DataFiles,
    out: Path | None,
    proba: bool,
    positive: str | None,
    interval: bool,
    coverage: float | None,
    keep: str | None,
    offset: str | None,
    escape_formulas: bool,
    threads: int | None,
    reading: Reading,
) -> None:
    """Write the predictions of a model for the rows of a file."""
    out = None if out == STANDARD else out
    require_table_name(out, escape_formulas=escape_formulas)
    require_other_files([out], model_file, data)
    if coverage is not None and not interval:
        raise ParameterError("--coverage is for intervals: it needs --interval.")
    model = load_model(model_file)
    label = None if positive is None else positive_class(positive, model)
    if threads is not None and "n_jobs" in model.get_params(deep=False):
        model.set_params(n_jobs=threads)
    reading = replace(reading.like(model), may_be_empty=True)
    expected = ExpectedColumns.of_model(model)

    require_offset(model, offset)

    def columns_of(X: Any, first: dict[str, Any], added: Any) -> dict[str, Any]:
        options = {} if added is None else {"offset": added}
        columns = _predictions(model, X, options)
        if proba or positive is not None:
            columns |= _probabilities(model, X, None if proba else label, options)
        if interval:
            columns |= _bounds(model, X, coverage or COVERAGE, options)
        if keep in columns:
            raise ParameterError(
                f"--id {keep}: the predictions already have a column with this name."
            )
        return first | columns

    if isinstance(data, ParquetPaths) and out is not None and out.suffix == ".parquet":
        kept = [] if keep is None else [keep]
        others = [*kept, *([] if offset is None else [offset])]
        _stream(open_parquet(data, reading, others, expected), columns_of, kept, offset, out)
        return
    X, ids, added = read_features(data, reading, expected, keep, offset)
    first = {} if keep is None else {keep: ids.to_numpy()}
    table = pd.DataFrame(columns_of(X, first, added))
    write_table(table, out, escape_formulas=escape_formulas)


def _stream(table: Any, columns_of: Any, kept: list[str], offset: str | None, out: Path) -> None:
    """Write predictions for Parquet files, a block of rows at a time."""
    types = {name: table.type_of(name, "--id") for name in kept}

    def block_of(batch: Any) -> Any:
        first = {name: batch.column(name).cast(types[name]) for name in kept}
        added = None if offset is None else batch.column(offset)
        return pa.table(columns_of(batch.select(list(table.columns)), first, added))

    extra = [*kept, *([] if offset is None else [offset])]
    write_blocks(table, out, block_of, extra, verbose=0)


def _predictions(model: Any, X: Any, options: dict[str, Any]) -> dict[str, Any]:
    predicted = np.asarray(model.predict(X, **options))
    if predicted.ndim == 1:
        return {"prediction": predicted}
    return {f"prediction_{k}": column for k, column in enumerate(predicted.T)}


def _probabilities(model: Any, X: Any, only: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the probability of each class, or of one class."""
    classes = getattr(model, "classes_", None)
    if not hasattr(model, "predict_proba") or not isinstance(classes, np.ndarray):
        raise ParameterError(f"a {type(model).__name__} does not predict probabilities.")
    probabilities = model.predict_proba(X, **options)
    return {
        f"probability_{label}": column
        for label, column in zip(classes.tolist(), probabilities.T, strict=True)
        if only is None or label == only
    }


def _bounds(model: Any, X: Any, coverage: float, options: dict[str, Any]) -> dict[str, Any]:
    if not hasattr(model, "predict_interval"):
        raise ParameterError(f"--interval: a {type(model).__name__} does not predict intervals.")
    low, high = model.predict_interval(X, coverage=coverage, **options).T
    return {"low": low, "high": high}
