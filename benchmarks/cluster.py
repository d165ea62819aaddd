"""Dask clusters on one machine: Hedgerow, XGBoost and LightGBM on the same workers.

    python -m benchmarks.cluster --rows 16000000 --workers 8 --threads 2

Each block of a generated table (float32) lies on a worker before the clock starts. Timed are whole
fits, binning included, of trees with 63 leaves; the libraries take turns. The same fit in one
process with the threads of one worker shows how the time falls with the number of workers.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from contextlib import suppress

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

import hedgerow as hr
import hedgerow.dask as hd

LEAVES, RATE, BINS = 63, 0.1, 255


def block_of_rows(block_info: dict, columns: int) -> np.ndarray:
    """Return a block of the table, with the target as its last column."""
    (begin, end), number = block_info[None]["array-location"][0], block_info[None]["chunk-location"]
    rng = np.random.default_rng(number[0])
    X = rng.standard_normal((end - begin, columns), np.float32)
    score = (
        np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) - 0.8 + X[:, 4] * (X[:, 5] > 0)
    )
    y = score + rng.standard_normal(len(X), np.float32) > 0
    return np.column_stack([X, y.astype(np.float32)])


def table(rows: int, columns: int, n_blocks: int) -> tuple[da.Array, da.Array]:
    """Return the features and the target as Dask arrays."""
    size = -(-rows // n_blocks)
    chunks = (tuple(min(size, rows - i) for i in range(0, rows, size)), (columns + 1,))
    both = da.map_blocks(block_of_rows, columns=columns, chunks=chunks, dtype=np.float32)
    both = both.persist()
    wait(both)
    X, y = both[:, :-1].persist(), both[:, -1].persist()
    wait([X, y])
    return X, y


def best_of(work: Callable[[], object], turns: int) -> float:
    """Return the shortest time of several runs."""
    seconds = []
    for _ in range(turns):
        gc.collect()
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def peers(client: Client, X: da.Array, y: da.Array, trees: int, threads: int) -> dict:
    """Return the fits of other libraries, as far as they are installed."""
    fits: dict[str, Callable[[], object]] = {}
    with suppress(ImportError):
        from xgboost import dask as dxgb

        common = {"objective": "binary:logistic", "tree_method": "hist", "max_bin": BINS + 1}
        common |= {"learning_rate": RATE, "nthread": threads, "min_child_weight": 1.0}
        leafwise = {"grow_policy": "lossguide", "max_leaves": LEAVES, "max_depth": 0}

        def xgboost(shape: dict) -> object:
            data = dxgb.DaskQuantileDMatrix(client, X, y, max_bin=BINS + 1)
            return dxgb.train(client, common | shape, data, num_boost_round=trees)

        fits["xgboost.dask leaf-wise"] = lambda: xgboost(leafwise)
        fits["xgboost.dask level-wise"] = lambda: xgboost({"max_depth": 6})
    with suppress(ImportError):
        import lightgbm

        settings = {"n_estimators": trees, "num_leaves": LEAVES, "learning_rate": RATE}
        settings |= {"max_bin": BINS, "n_jobs": threads, "tree_learner": "data", "verbose": -1}
        fits["lightgbm.dask"] = lambda: lightgbm.DaskLGBMClassifier(client=client, **settings).fit(
            X, y
        )
    return fits


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=16_000_000)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2, help="of each worker")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--alone", action="store_true", help="also fit in one process")
    options = parser.parse_args()
    settings = {"n_estimators": options.trees, "max_leaves": LEAVES, "learning_rate": RATE}
    settings |= {"random_state": 0, "max_bins": BINS}
    shape = (options.rows, options.columns)
    with (
        LocalCluster(
            n_workers=options.workers,
            threads_per_worker=options.threads,
            dashboard_address=None,
            memory_limit=0,
        ) as cluster,
        Client(cluster) as client,
    ):
        X, y = table(*shape, n_blocks=2 * options.workers)
        model = hd.GradientBoostingClassifier(n_jobs=options.threads, **settings)
        fits = {"hedgerow.dask": lambda: model.fit(X, y)}
        fits |= peers(client, X, y, options.trees, options.threads)
        model.fit(X[: options.rows // 100], y[: options.rows // 100])  # imports, connections
        print(f"{shape[0]:,} × {shape[1]}, {options.trees} trees of {LEAVES} leaves,", end=" ")
        print(f"{options.workers} workers × {options.threads} threads", flush=True)
        times = {name: [] for name in fits}
        for turn in range(options.turns):
            for name in list(fits)[:: 1 if turn % 2 == 0 else -1]:
                try:
                    times[name].append(best_of(fits[name], 1))
                except Exception as error:  # noqa: BLE001  a peer that fails is reported
                    print(f"{name}: {type(error).__name__}: {str(error)[:200]}", flush=True)
        for name, seconds in times.items():
            print(f"{name:28}{min(seconds, default=np.nan):8.2f} s", flush=True)
        if options.alone:
            rows, target = X.compute(), y.compute()
            del X, y
    if options.alone:
        alone = hr.GradientBoostingClassifier(n_jobs=options.threads, **settings)
        seconds = best_of(lambda: alone.fit(rows, target), options.turns)
        together = min(times["hedgerow.dask"])
        linear = seconds / together / options.workers
        print(f"{'hedgerow, one process':28}{seconds:8.2f} s: {linear:.2f} of linear", flush=True)


if __name__ == "__main__":
    main()
