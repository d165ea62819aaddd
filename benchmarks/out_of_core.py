"""A fit to Parquet files under a limit of memory, beside the same fit in memory without a limit.

    python -m benchmarks.out_of_core                      # 6 M rows × 100 columns, 4.8 GB of floats
    python -m benchmarks.out_of_core --rows 1e6 --columns 30 --rounds 10

The limit is half the size of the floats and is enforced by the kernel (``RLIMIT_AS``). That limit
counts address space, and so is stricter than one on memory in use; allocators are told to reserve
none that they do not use. Each fit is a process of its own; times include reading the files. Files
are in a temporary folder, or in --folder, where they are kept.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hedgerow as hr

ROWS_PER_FILE = 500_000
# PyArrow's own allocator reserves a gigabyte at once, and glibc 64 MB for each thread.
LITTLE_ADDRESS_SPACE = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}


def write_files(folder: Path, n_rows: int, n_columns: int) -> None:
    """Write a regression problem with normal columns, unless the files are there already."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for number, start in enumerate(range(0, n_rows, ROWS_PER_FILE)):
        n = min(ROWS_PER_FILE, n_rows - start)
        X = rng.normal(size=(n_columns, n))
        y = 2 * X[0] + np.sin(3 * X[1]) + X[2] * X[3] + rng.normal(size=n)
        path = folder / f"part-{number}.parquet"
        if not path.exists():
            columns = {f"x{j}": column for j, column in enumerate(X)}
            pq.write_table(pa.table({**columns, "y": y}), path)


def peak_bytes() -> int:
    """Return the largest amount of memory that this process had in use."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def fit(how: str, folder: str, rounds: int, limit: int, saved: str) -> dict[str, Any]:
    """Fit in this process; return seconds, peak, forecast and a digest of the model file."""
    if limit:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    model = hr.GradientBoostingRegressor(n_estimators=rounds)
    forecast = 0
    began = time.perf_counter()
    if how == "files":
        table = hr.ParquetTable(folder, target="y")
        forecast = hr.memory_estimate(table, model).total
        model.fit(table, memory_limit=limit or None)
    else:
        paths = hr.ParquetTable(
            folder
        ).paths  # in natural order, unlike those of read_table(folder)
        whole = pa.concat_tables([pq.read_table(path) for path in paths])
        model.fit(whole.drop_columns(["y"]), whole["y"])
    seconds = time.perf_counter() - began
    model.save(saved)
    digest = hashlib.sha256(Path(saved).read_bytes()).hexdigest()
    return {"seconds": seconds, "peak": peak_bytes(), "forecast": forecast, "sha256": digest}


def in_process(*arguments: Any) -> dict[str, Any]:
    """Run `fit` in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.out_of_core", "--fit", *map(str, arguments)]
    environment = {**os.environ, **LITTLE_ADDRESS_SPACE}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if ended.returncode:
        raise SystemExit(ended.stderr)
    result: dict[str, Any] = json.loads(ended.stdout)
    return result


def compare(folder: Path, n_rows: int, n_columns: int, rounds: int, repeats: int) -> None:
    """Print both fits, and whether they meet the bars."""
    write_files(folder, n_rows, n_columns)
    raw = 8 * n_rows * n_columns
    limit = raw // 2
    files: list[dict[str, Any]] = []
    memory: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as saved:
        for _ in range(repeats):  # in turn, so that other load meets both
            files.append(in_process("files", folder, rounds, limit, Path(saved) / "a"))
            memory.append(in_process("memory", folder, rounds, 0, Path(saved) / "b"))
    best = {
        name: min(runs, key=lambda run: run["seconds"])
        for name, runs in (("files", files), ("memory", memory))
    }
    gb = 1e9
    print(f"{n_rows:,} rows, {n_columns} columns, {rounds} rounds; floats {raw / gb:.2f} GB")
    print(f"limit of address space: {limit / gb:.2f} GB")
    for name, run in best.items():
        print(f"{name:<7} {run['seconds']:6.1f} s   peak {run['peak'] / gb:5.2f} GB")
    ratio = best["files"]["seconds"] / best["memory"]["seconds"]
    over = best["files"]["peak"] / best["files"]["forecast"]
    same = len({run["sha256"] for run in (*files, *memory)}) == 1
    print(f"time {ratio:.2f} × in memory (bar 1.3)")
    print(f"peak {over:.2f} × forecast of {best['files']['forecast'] / gb:.2f} GB (bar 1.2)")
    print(f"model files are {'equal' if same else 'NOT EQUAL'}")
    sys.exit(not (same and ratio <= 1.3 and over <= 1.2))


def main() -> None:
    """Parse the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=float, default=6e6)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--fit", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.fit:
        how, folder, rounds, limit, saved = given.fit
        print(json.dumps(fit(how, folder, int(rounds), int(limit), saved)))
        return
    shape = int(given.rows), given.columns
    if given.folder is not None:
        compare(given.folder, *shape, given.rounds, given.repeats)
    with tempfile.TemporaryDirectory(prefix="hedgerow-") as folder:
        compare(Path(folder), *shape, given.rounds, given.repeats)


if __name__ == "__main__":
    main()
