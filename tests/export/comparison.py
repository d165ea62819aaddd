"""Whether a format's own reader predicts what the model does, for each kind and each format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from export.models import N_ROWS, model, prediction, rows
from export.readers import Reader
from hedgerow._export.portable import portable

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
}
# Rounded where the model has no exact counterpart: votes that are divided by their total, and sums
# of float32, which a model of XGBoost makes and programs do not.
_ROUNDED_VOTES, _SINGLE_SUMS = 1e-12, 2e-6
_TOLERANCES = {
    "deep SAMME": _ROUNDED_VOTES,
    "deep logit": _ROUNDED_VOTES,
    "deep real": _ROUNDED_VOTES,
    "real_adaboost": _ROUNDED_VOTES,
    "real_classes": _ROUNDED_VOTES,
    **dict.fromkeys(("XGBoost", "XGBoost classes", "XGBoost DART"), _SINGLE_SUMS),
}


def labels_of(kind: str, n_rows: int = N_ROWS) -> dict[str, list[Any]]:
    columns = portable(model(kind, n_rows)).columns
    return {column.name: list(column.labels) for column in columns if column.categories is not None}


def rows_for(kind: str, reader: Reader, n_rows: int, n_new: int) -> pd.DataFrame:
    """Return rows that the reader can represent."""
    frame = rows(kind, n_rows, n_new).copy()
    for name in ("size", "floor area", "area"):
        if name in frame:
            frame[name] = frame[name].mask(frame[name].abs() <= reader.zero, 0.0)
    if not reader.is_single:
        return frame
    labels = labels_of(kind, n_rows)
    for name, known in labels.items():
        frame = frame[frame[name].isna() | frame[name].isin(known)]
    numbers = [name for name in frame if frame[name].dtype.kind == "f" and name not in labels]
    return frame.astype(dict.fromkeys(numbers, np.float32))


def n_different(
    kind: str, reader: Reader, folder: Path, n_rows: int = N_ROWS, n_new: int = 200
) -> tuple[int, int]:
    """Return how many rows the reader predicts differently, and how many there were."""
    estimator = model(kind, n_rows)
    file = folder / f"model{reader.suffix}"
    to_sql = {"table": "some rows", "keep": ["id"]} if reader.suffix == ".sql" else {}
    estimator.export(file, **to_sql)
    frame = rows_for(kind, reader, n_rows, n_new)
    found = reader.predict(file, frame, labels_of(kind, n_rows))
    expected = prediction(kind, frame, n_rows)
    if not reader.has_complements:
        expected = np.delete(expected, _complements(estimator), axis=1)
    assert found.shape == expected.shape
    tolerance = max(reader.tolerance, _TOLERANCES.get(kind, 0.0))
    is_far = np.abs(found - expected) > tolerance * np.maximum(1.0, np.abs(expected))
    return int(np.count_nonzero((is_far | np.isnan(found)).any(axis=1))), len(frame)


def _complements(estimator: Any) -> list[int]:
    """Return the places of probabilities of the first of two classes."""
    return [score + before for before, score in enumerate(portable(estimator).pairs)]
