"""Small tables with every kind of column, and models of every kind of trees on them."""

from __future__ import annotations

import numpy as np
import pandas as pd


def table(n_rows: int = 400, seed: int = 0) -> pd.DataFrame:
    """Return numbers, gaps, whole numbers, float32, categories, and many categories."""
    draw = np.random.RandomState(seed)
    frame = pd.DataFrame(
        {
            "size": draw.normal(size=n_rows),
            "single": draw.normal(size=n_rows).astype(np.float32),
            "count": draw.randint(0, 9, n_rows),
            "color": draw.choice(["red", "green", "blue", "<script>"], n_rows),
            "city": draw.choice([f"city {i}" for i in range(40)], n_rows),
            "flag": draw.rand(n_rows) < 0.4,
        }
    )
    frame.loc[draw.rand(n_rows) < 0.1, "size"] = np.nan
    frame.loc[draw.rand(n_rows) < 0.1, "color"] = None
    return frame


def number_of(X: pd.DataFrame, seed: int = 1) -> np.ndarray:
    """Return a target that depends on all columns, with noise."""
    color = X["color"].map({"red": 1.0, "green": -1.0, "<script>": 0.5}).fillna(0.0).astype(float)
    city = X["city"].str.slice(5).astype(float) % 7
    noise = np.random.RandomState(seed).normal(size=len(X))
    y = (
        X["size"].fillna(0.7) * (1 + X["flag"])
        + color * X["single"]
        + 0.3 * X["count"]
        + 0.4 * city
    )
    return (y + 0.5 * noise).to_numpy(np.float64)
