"""Two builds of the library side by side, to see whether one of them is slower anywhere.

    pip install --no-deps --target OLD .     # in a checkout of the old commit
    pip install --no-deps --target NEW .
    python -m tools.compare_speed OLD NEW --threads 2

Each build runs in a process of its own and both take turns, in alternating order, so that a machine
that drifts favours neither. All of it is repeated in fresh processes, because where the memory of a
process lies can cost a tenth of the speed for as long as it lives. Printed are the best times and
their ratio, new to old: wall-clock time and processor time, the second of which other programs
disturb less. Pass the same folder twice to see how large ratios are by chance.

It needs an environment in which the library is not installed as editable: that of `make dev` would
import the sources of this checkout instead of either build.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

Work = Callable[[], object]


def classes(rows: int, columns: int, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return a generated table and its classes."""
    rng = np.random.default_rng(rows + columns)
    X = rng.normal(size=(rows, columns)).astype(np.float32)
    scores = X[:, :n_classes] + np.roll(X, 1, axis=1)[:, :n_classes] * X[:, 2 : 2 + n_classes]
    scores += rng.normal(size=scores.shape)
    return X, (scores[:, 0] > 0).astype(int) if n_classes == 2 else scores.argmax(axis=1)


def numbers(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a generated table and positive numbers with a long tail."""
    X, _ = classes(rows, columns)
    noise = np.random.default_rng(1).gamma(2.0, size=rows)
    return X, np.exp(X[:, 0] / 2 + X[:, 1] * X[:, 2] / 4) * noise


def flags(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ten columns of numbers beside columns of 0 and 1, and seven classes."""
    X, y = classes(rows, columns, 7)
    X[:, 10:] = X[:, 10:] > 1
    return X, y


def mixed(rows: int) -> tuple[Any, np.ndarray]:
    """Return a data frame with categorical features and missing values, and two classes."""
    import pandas as pd

    X, y = classes(rows, 12)
    X[X > 1.5] = np.nan
    frame = pd.DataFrame(X, columns=[f"n{i}" for i in range(12)])
    rng = np.random.default_rng(2)
    for i, size in enumerate((3, 20, 100, 1000)):
        frame[f"c{i}"] = rng.integers(size, size=rows).astype(str)
    return frame, y


def workloads(threads: int) -> Iterator[tuple[str, Work]]:
    """Yield each name with the work to be timed; tables are made when their turn comes."""
    import hedgerow as hr

    def boosted(kind: str = "Classifier", **parameters: Any) -> Any:
        defaults = {"n_estimators": 50, "max_leaves": 31, "learning_rate": 0.1, "n_jobs": threads}
        return getattr(hr, f"GradientBoosting{kind}")(**defaults | parameters)

    tall, medium, small = classes(400_000, 28), classes(100_000, 28), classes(2_000, 20)
    wide, many = classes(20_000, 500), flags(60_000, 54)
    yield "boosting tall", lambda: boosted(max_leaves=63).fit(*tall)
    yield "boosting small", lambda: [boosted().fit(*small) for _ in range(5)]
    yield "boosting wide", lambda: boosted().fit(*wide)
    yield "boosting 7 classes", lambda: boosted(n_estimators=20).fit(*many)
    vector = {"n_estimators": 20, "multi_strategy": "vector"}
    yield "boosting vector leaves", lambda: boosted(**vector).fit(*many)
    yield "boosting exact", lambda: boosted(n_estimators=10, splitter="exact").fit(*medium)
    constraints = {"monotonic_constraints": {0: "increasing", 1: "increasing"}}
    yield "boosting monotonic", lambda: boosted(**constraints).fit(*medium)
    yield "boosting subsample", lambda: boosted(subsample=0.5, colsample_bytree=0.5).fit(*tall)
    frame = mixed(100_000)
    yield "boosting categorical", lambda: boosted().fit(*frame)
    yield "boosting defaults", lambda: hr.GradientBoostingClassifier(n_jobs=threads).fit(*small)
    positive = numbers(200_000, 28)
    for loss in ("squared_error", "poisson", "quantile"):
        yield f"boosting {loss}", lambda loss=loss: boosted("Regressor", loss=loss).fit(*positive)
    trees = {"n_jobs": threads, "random_state": 0}
    forest = hr.RandomForestClassifier(n_estimators=30, **trees)
    yield "forest", lambda: forest.fit(*medium)
    yield "forest predict", lambda: forest.predict_proba(medium[0])
    extra = hr.ExtraTreesClassifier(n_estimators=30, **trees)
    yield "extra trees", lambda: extra.fit(*medium)
    yield "tree", lambda: hr.DecisionTreeClassifier().fit(*medium)
    yield "bagging", lambda: hr.BaggingClassifier(n_estimators=10, **trees).fit(*medium)
    yield "adaboost", lambda: hr.AdaBoostClassifier(n_estimators=50, random_state=0).fit(*medium)
    model = boosted(max_leaves=63).fit(*medium)
    yield "predict", lambda: [model.predict_proba(medium[0]) for _ in range(5)]
    rows = [medium[0][i : i + 1] for i in range(300)]
    yield "predict one row", lambda: [model.predict_proba(row) for row in rows]
    yield "shap", lambda: hr.explain.shap_values(model, medium[0][:2000])
    yield "dependence", lambda: hr.explain.partial_dependence(model, medium[0][:2000], 0)
    near = hr.KNeighborsClassifier(n_neighbors=10, n_jobs=threads).fit(*medium)
    yield "neighbours", lambda: near.predict(medium[0][:5000])
    points = classes(4_000, 10)
    yield "svc", lambda: hr.SVC(n_jobs=threads).fit(*points)
    yield "linear svc", lambda: hr.LinearSVC(n_jobs=threads).fit(*medium)


def serve(folder: str, threads: int, connection: Connection) -> None:
    """Run each workload of the build in a folder whenever the other end asks for it."""
    sys.path.insert(0, folder)
    import hedgerow

    if not Path(hedgerow.__file__).is_relative_to(Path(folder).resolve()):
        sys.exit(f"{hedgerow.__file__} was imported instead of {folder}: use another environment.")
    warnings.simplefilter("ignore")
    work = workloads(threads)
    current: Work = list
    while (order := connection.recv()) != "stop":
        if order == "next":
            name, current = next(work, ("", list))
            connection.send(name)
            continue
        gc.collect()
        wall, processor = time.perf_counter(), time.process_time()
        current()
        connection.send((time.perf_counter() - wall, time.process_time() - processor))


@contextmanager
def server(folder: Path, threads: int) -> Iterator[Connection]:
    """Start the process of a build."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve, args=(str(folder.resolve()), threads, there))
    process.start()
    there.close()
    try:
        yield here
    finally:
        here.send("stop")
        process.join()


def ask(connection: Connection, order: str) -> Any:
    """Send an order and wait for its answer."""
    connection.send(order)
    return connection.recv()


Times = dict[str, tuple[list[tuple[float, float]], list[tuple[float, float]]]]


def measure(builds: list[Connection], turns: int, times: Times) -> None:
    """Let both builds take turns at each workload, and add their times."""
    while name := {ask(build, "next") for build in builds}.pop():
        both = times.setdefault(name, ([], []))
        for turn in range(turns):
            for which in (0, 1) if turn % 2 else (1, 0):
                both[which].append(ask(builds[which], "run"))


def report(times: Times) -> None:
    """Print a line for each workload."""
    print(f"{'':24}{'old s':>9}{'new s':>9}{'wall':>8}{'cpu':>8}")
    for name, both in times.items():
        (old, old_cpu), (new, new_cpu) = (tuple(map(min, zip(*t, strict=True))) for t in both)
        print(f"{name:24}{old:9.3f}{new:9.3f}{new / old:8.2f}{new_cpu / old_cpu:8.2f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Two builds of the library side by side.")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=2, help="of each build in a pair of processes")
    parser.add_argument("--processes", type=int, default=4, help="pairs of processes")
    options = parser.parse_args()
    times: Times = {}
    for _ in range(options.processes):
        with server(options.old, options.threads) as a, server(options.new, options.threads) as b:
            measure([a, b], options.turns, times)
    report(times)
