"""Whether a format's own reader predicts what the model does, for each kind and each format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from export.models import N_ROWS, ROW_KINDS, model, prediction, rows
from export.readers import READERS, Reader
from hedgerow._export.portable import PortableModel, portable

_CALIBRATED = ("sigmoid_calibration", "isotonic_calibration", "temperature")
_LINEAR = ("linear_leaves", "deep linear leaves")
# Why a format cannot represent a kind.
REFUSED = {
    **{(reader, kind): "calibration" for reader in ("lightgbm", "xgboost") for kind in _CALIBRATED},
    **{
        (reader, kind): "linear_leaves"
        for reader in ("lightgbm", "onnx", "xgboost")
        for kind in _LINEAR
    },
    ("lightgbm", "target_statistics"): "target statistics",
    ("xgboost", "target_statistics"): "target statistics",
    **{(reader, "quantiles"): "sort" for reader in ("lightgbm", "xgboost", "sqlite", "duckdb")},
    **{
        (reader.name, kind): "has no trees. The format that can is 'onnx'"
        for reader in READERS
        for kind in ROW_KINDS
        if reader.name != "onnx"
    },
}
# Votes that are divided in the leaves, and scores whose mean is not subtracted.
_TOLERANCES = {"deep SAMME": 1e-12, "deep logit": 1e-12}
# Models whose sums are float32, which programs other than XGBoost add up as float64.
_OF_SINGLE_SUMS = ("XGBoost", "XGBoost classes", "XGBoost DART")


def single_error(model: PortableModel) -> float:
    """Return how far a score may be from one whose leaves and sums are rounded to float32.

    Each is rounded by 2⁻²⁴ of it, and no sum is larger than those of the largest leaf values. The
    rest is for functions of the score.
    """
    unit, trees = 2.0**-24, model.ensemble
    largest = np.abs(trees.base_score).sum() + sum(
        np.abs(tree.value).max() for tree in trees.trees()
    )
    return unit * ((trees.n_trees + 1) * largest / model.n_averaged + 8)


def labels_of(kind: str, n_rows: int = N_ROWS) -> dict[str, list[Any]]:
    columns = () if kind in ROW_KINDS else portable(model(kind, n_rows)).columns
    return {column.name: list(column.labels) for column in columns if column.categories is not None}


def rows_for(kind: str, reader: Reader, n_rows: int, n_new: int) -> pd.DataFrame:
    """Return rows that the reader can represent."""
    frame = rows(kind, n_rows, n_new).copy()
    labels = labels_of(kind, n_rows)
    for name in frame.select_dtypes("float").columns:
        frame[name] = frame[name].mask(frame[name].abs() <= reader.zero, 0.0)
    if not reader.is_single:
        return frame
    for name, known in labels.items():
        frame = frame[frame[name].isna() | frame[name].isin(known) | (not known)]
    numbers = [name for name in frame if frame[name].dtype.kind == "f" and name not in labels]
    return frame.astype(dict.fromkeys(numbers, np.float32))


def n_different(
    kind: str,
    reader: Reader,
    folder: Path,
    n_rows: int = N_ROWS,
    n_new: int = 200,
    *,
    raw: bool = False,
) -> tuple[int, int]:
    """Return how many rows the reader predicts differently, and how many there were.

    If `raw`, scores are compared instead of predictions.
    """
    estimator = model(kind, n_rows)
    file = folder / f"model{reader.suffix}"
    to_sql = {"table": "some rows", "keep": ["id"]} if reader.suffix == ".sql" else {}
    estimator.export(file, **to_sql)
    frame = rows_for(kind, reader, n_rows, n_new)
    if raw:
        found = reader.predict(file, frame, labels_of(kind, n_rows), raw=True)
        expected = estimator.__hedgerow__().scores(frame).reshape(len(frame), -1)
    else:
        found = reader.predict(file, frame, labels_of(kind, n_rows))
        expected = prediction(kind, frame, n_rows)
        if not reader.has_complements:
            expected = np.delete(expected, _complements(estimator), axis=1)
    assert found.shape == expected.shape
    tolerance = _tolerance(kind, reader, n_rows)
    is_far = np.abs(found - expected) > tolerance * np.maximum(1.0, np.abs(expected))
    return int(np.count_nonzero((is_far | np.isnan(found)).any(axis=1))), len(frame)


def _tolerance(kind: str, reader: Reader, n_rows: int) -> float:
    if reader.is_single or kind in _OF_SINGLE_SUMS:
        return single_error(portable(model(kind, n_rows)))
    return max(reader.tolerance, _TOLERANCES.get(kind, 0.0))


def _complements(estimator: Any) -> list[int]:
    """Return the places of probabilities of the first of two classes."""
    return [score + before for before, score in enumerate(portable(estimator).pairs)]
