"""`hedgerow predict`: a model and a file → a table of predictions, equal to those in Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hedgerow._cli.choices import COVERAGE
from hedgerow._cli.dataset import ExpectedColumns, read_features
from hedgerow._cli.models import load_model
from hedgerow._cli.options import STANDARD, Reading
from hedgerow._cli.output import require_table_name, write_table
from hedgerow._cli.scores import positive_class
from hedgerow.exceptions import ParameterError


def predict(
    model_file: Path,
    data: Path,
    out: Path | None,
    proba: bool,
    positive: str | None,
    interval: bool,
    coverage: float | None,
    keep: str | None,
    threads: int | None,
    reading: Reading,
) -> None:
    """Write the predictions of a model for the rows of a file."""
    out = None if out == STANDARD else out
    require_table_name(out)
    if coverage is not None and not interval:
        raise ParameterError("--coverage is for intervals: it needs --interval.")
    model = load_model(model_file)
    label = None if positive is None else positive_class(positive, model)
    if threads is not None and "n_jobs" in model.get_params(deep=False):
        model.set_params(n_jobs=threads)
    reading = replace(reading.like(model), may_be_empty=True)
    X, ids = read_features(data, reading, ExpectedColumns.of_model(model), keep)
    columns = _predictions(model, X)
    if proba or positive is not None:
        columns |= _probabilities(model, X, None if proba else label)
    if interval:
        columns |= _bounds(model, X, coverage or COVERAGE)
    if keep in columns:
        raise ParameterError(f"--id {keep}: the predictions have a column of this name.")
    first = {} if keep is None else {keep: ids.to_numpy()}
    write_table(pd.DataFrame(first | columns), out)


def _predictions(model: Any, X: Any) -> dict[str, Any]:
    predicted = np.asarray(model.predict(X))
    if predicted.ndim == 1:
        return {"prediction": predicted}
    return {f"prediction_{k}": column for k, column in enumerate(predicted.T)}


def _probabilities(model: Any, X: Any, only: Any) -> dict[str, Any]:
    """Return the probability of each class, or of one class."""
    classes = getattr(model, "classes_", None)
    if not hasattr(model, "predict_proba") or not isinstance(classes, np.ndarray):
        raise ParameterError(f"a {type(model).__name__} does not predict probabilities.")
    return {
        f"probability_{label}": column
        for label, column in zip(classes.tolist(), model.predict_proba(X).T, strict=True)
        if only is None or label == only
    }


def _bounds(model: Any, X: Any, coverage: float) -> dict[str, Any]:
    if not hasattr(model, "predict_interval"):
        raise ParameterError(f"--interval: a {type(model).__name__} does not predict intervals.")
    low, high = model.predict_interval(X, coverage=coverage).T
    return {"low": low, "high": high}
