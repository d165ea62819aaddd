"""Processor time of exported queries in SQLite and DuckDB: ``python -m benchmarks.sql_export``."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

import hedgerow as hr

ROWS, COLUMNS = 1_000, 12


def main() -> None:
    """Print the size of each query, and the seconds that each database takes for it."""
    X = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 * (X[:, 3] > 0)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(COLUMNS)])
    models = {
        "500 boosted trees of 31 leaves": hr.GradientBoostingRegressor(n_estimators=500),
        "a default model": hr.GradientBoostingRegressor(),
        "100 trees of a default forest": hr.RandomForestRegressor(),
    }
    for name, model in models.items():
        with tempfile.TemporaryDirectory() as folder:
            model.fit(frame, y).export(Path(folder) / "model.sql", table="t")
            query = (Path(folder) / "model.sql").read_text(encoding="utf-8")
        lite = sqlite3.connect(":memory:")
        frame.to_sql("t", lite, index=False)
        duck = duckdb.connect(config={"threads": 1})
        duck.register("frame", frame)
        duck.execute("CREATE TABLE t AS SELECT * FROM frame")
        print(f"{name}: {len(query) / 1e6:.1f} MB")
        for database, connection in (("SQLite", lite), ("DuckDB", duck)):
            begin = time.process_time()
            connection.execute(query).fetchall()
            print(f"  {database}: {time.process_time() - begin:.2f} s for {ROWS:,} rows")


if __name__ == "__main__":
    main()
