"""A table for models of other libraries, and rows on which readers are likely to be wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

N_HARD = 100_000
LABELS = np.array(list("xyzuvwrst"))


def table(n_rows: int = 3_000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows),
            "step": np.round(rng.normal(size=n_rows), 1),
            "label": pd.Categorical(rng.choice(LABELS, n_rows), categories=sorted(LABELS)),
            "count": rng.integers(-2, 5, n_rows).astype(float),
        }
    )
    frame.loc[rng.random(n_rows) < 0.1, "size"] = np.nan
    return frame


NUMERIC = ["size", "step", "count"]


def target(frame: pd.DataFrame) -> np.ndarray:
    in_set = frame["label"].isin(["x", "u", "r"])
    size = frame["size"].fillna(-0.7)
    noise = np.random.default_rng(9).normal(0.0, 0.1, len(frame))
    return (frame["step"] + in_set + size * frame["count"] + noise).to_numpy()


def three_classes(frame: pd.DataFrame) -> np.ndarray:
    return np.digitize(target(frame), [-0.5, 1.0])


def hard_rows(model: Any, n_rows: int = N_HARD, seed: int = 1) -> pd.DataFrame:
    """Return random rows, two thirds of them with numbers next to thresholds of the model.

    Thresholds are those of the reader, and the float32 numbers next to them.
    """
    rng = np.random.default_rng(seed)
    frame = table(n_rows, seed)
    ensemble = trees_of(model)
    for j, name in enumerate(getattr(model, "feature_names_in_", frame.columns)):
        if name == "label" or j >= ensemble.n_features:
            continue
        near = near_thresholds(ensemble.threshold[ensemble.feature == j])
        chosen = rng.random(n_rows) < 2 / 3
        frame.loc[chosen, name] = rng.choice(near, int(chosen.sum()))
    return frame


def trees_of(model: Any) -> Any:
    fitted = model.__hedgerow__().model()
    return fitted.forest.ensemble if hasattr(fitted, "forest") else fitted.ensemble


def near_thresholds(thresholds: np.ndarray) -> np.ndarray:
    t = np.unique(thresholds[np.abs(thresholds) < 1e30])
    single = np.unique(t.astype(np.float32))
    up, down = np.float32(np.inf), np.float32(-np.inf)
    singles = [single, np.nextafter(single, up), np.nextafter(single, down)]
    numbers = [t, *(one.astype(np.float64) for one in singles)]
    around = [np.nextafter(one, to) for one in numbers for to in (np.inf, -np.inf)]
    tiny = [1e-36, -1e-36, 1e-45, 5e-324, *2 * [float(np.float32(1e-35))]]
    return np.concatenate([*numbers, *around, [0.0, -0.0, np.nan, *tiny, -tiny[-1]]])


def with_odd_labels(frame: pd.DataFrame, *, unknown: bool = True) -> pd.DataFrame:
    """Return rows whose labels are strings, some of them missing or unknown."""
    labels = frame["label"].astype(object)
    labels[::19] = None
    if unknown:
        labels[::17] = "unknown"
    return frame.assign(label=labels)


def as_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """Return rows with labels as other libraries need them: unknown ones are missing."""
    known = frame["label"].where(frame["label"].isin(LABELS))
    return frame.assign(label=pd.Categorical(known, categories=sorted(LABELS)))


def raw_scores(model: Any, frame: Any) -> np.ndarray:
    return model.__hedgerow__().scores(frame)
