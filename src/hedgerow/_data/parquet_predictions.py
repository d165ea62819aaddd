"""`predict_parquet`: predictions of a model for a `ParquetTable`, written block by block."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.parquet_files import pyarrow_parquet
from hedgerow._data.parquet_table import ParquetTable
from hedgerow._files import replace_file
from hedgerow._progress import progress
from hedgerow.exceptions import DataError, ParameterError

Method = Literal["predict", "predict_proba"]


def predict_parquet(
    model: Any,
    table: ParquetTable,
    path: str | PathLike[str],
    *,
    proba: bool = False,
    keep: Sequence[str] = (),
    verbose: int = 0,
) -> None:
    """Predict the rows of a `ParquetTable` and write a Parquet file, a block of rows at a time.

    If the table has an offset, it is added to the scores of gradient boosting. The file has the
    columns to keep, then ``prediction`` (``prediction_0`` and so on for several outputs) and, with
    `proba`, ``probability_<class>`` for each class. A partial file is never left behind: an
    existing file is replaced when the new one is complete.

    Parameters
    ----------
    model : fitted estimator
        Any estimator whose `predict` accepts an Arrow table.
    table : ParquetTable
        The rows.
    path : str or path-like
        The file to write.
    proba : bool
        Whether to add the probability of each class.
    keep : list of str
        Columns of the files to copy next to the predictions, such as keys.
    verbose : int
        1 shows progress.
    """
    if not isinstance(table, ParquetTable):
        raise ParameterError(f"table is a {type(table).__name__}; it must be a ParquetTable.")
    _check_keep(keep)
    classes = _classes_of(model) if proba else None
    target = _target(path, table)
    offsets = [table.offset] if isinstance(table.offset, str) else list(table.offset or ())
    types = {name: table.type_of(name, "keep") for name in keep}

    def columns_of(batch: Any) -> Any:
        kept = {name: batch.column(name).cast(types[name]) for name in keep}
        features = batch.select(list(table.columns))
        options = {"offset": batch.select(offsets)} if offsets else {}
        return _joined(kept, _columns(model, features, classes, options))

    write_blocks(table, target, columns_of, [*keep, *offsets], verbose)


def write_blocks(
    table: ParquetTable, target: Path, columns_of: Any, extra: Sequence[str], verbose: int
) -> None:
    """Write a table of each block of rows; all of them, or no file."""
    parquet = pyarrow_parquet()
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    writer, done = None, 0
    try:
        with progress(verbose, max(table.n_rows, 1), unit="row", title="predicting") as display:
            for batch in table.blocks_in_order(extra):
                block = columns_of(batch)
                if writer is None:
                    writer = parquet.ParquetWriter(partial, block.schema)
                writer.write_table(block.cast(writer.schema))
                done += batch.num_rows
                if display is not None:
                    display.show(done)
        if writer is not None:
            writer.close()
        replace_file(partial, target)
    finally:
        if writer is not None and writer.is_open:
            writer.close()
        partial.unlink(missing_ok=True)


def _target(path: Any, table: ParquetTable) -> Path:
    if not isinstance(path, str | PathLike):
        raise ParameterError(f"path={path!r} is not allowed; it must be a file name.")
    target = Path(path)
    if target.is_dir() or not target.absolute().parent.is_dir():
        raise ParameterError(f"path={str(path)!r} is a folder, or its folder does not exist.")
    if os.path.realpath(target) in {os.path.realpath(source) for source in table.paths}:
        raise ParameterError(f"path={str(path)!r} is a file of the table to predict.")
    return target


def _check_keep(keep: Any) -> None:
    if isinstance(keep, str) or not isinstance(keep, Sequence):
        raise ParameterError(f"keep={keep!r} is not allowed; it must be a list of column names.")
    for name in keep:
        if keep.count(name) > 1:
            raise ParameterError(f"keep: {name!r} is listed twice.")


def _classes_of(model: Any) -> NDArray[Any]:
    classes = getattr(model, "classes_", None)
    if not hasattr(model, "predict_proba") or not isinstance(classes, np.ndarray):
        raise ParameterError(
            f"proba=True: a {type(model).__name__} does not predict probabilities."
        )
    return classes


def _columns(
    model: Any, features: Any, classes: NDArray[Any] | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    predicted = np.asarray(model.predict(features, **options))
    columns = {"prediction": predicted}
    if predicted.ndim > 1:
        columns = {f"prediction_{k}": column for k, column in enumerate(predicted.T)}
    if classes is not None:
        probabilities = model.predict_proba(features, **options)
        labels = classes.tolist()
        columns |= {f"probability_{c}": probabilities[:, k] for k, c in enumerate(labels)}
    return columns


def _joined(kept: Mapping[str, Any], columns: Mapping[str, Any]) -> Any:
    import pyarrow as pa

    for name in kept:
        if name in columns:
            raise DataError(f"keep: {name!r} is also the name of a column of the predictions.")
    arrays = {name: pa.array(np.ascontiguousarray(column)) for name, column in columns.items()}
    return pa.table({**kept, **arrays})
