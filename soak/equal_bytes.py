"""Equal bytes: a model's file depends on rows, target and parameters alone.

Every kind of estimator is fitted by fresh processes with other numbers of threads and other
instruction sets, to the same numbers in other containers. Containers without names give one file,
those with names another, and sparse ones a third, for a file holds names and what kind of rows
it keeps.

    python -m soak.equal_bytes THREADS     what one process does: digests as JSON
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse

import hedgerow as hr
from hedgerow import _native
from hedgerow._model_file.container import pack
from hedgerow._model_file.contents import write_estimator
from soak.outcome import Outcome

GOAL = "equal model bytes for all threads, instruction sets, containers and processes"
THREADS = (1, 2, 3, 8)
NAMES = ["a", "b", "c", "d", "e"]
N_ROWS = 400

CONTAINERS: dict[str, dict[str, Callable[[Any], Any]]] = {
    "without names": {
        "NumPy, by rows": np.ascontiguousarray,
        "NumPy, by columns": np.asfortranarray,
        "NumPy, float32": lambda X: X.astype(np.float32),
        "NumPy, every other row of more": lambda X: np.repeat(X, 2, axis=0)[::2],
        "list": lambda X: X.tolist(),
    },
    "with names": {
        "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
        "Polars": lambda X: pl.DataFrame(X, schema=NAMES),
        "Arrow": lambda X: pa.table(dict(zip(NAMES, X.T.copy(), strict=True))),
    },
    "sparse": {
        "CSR": scipy.sparse.csr_array,
        "CSC": scipy.sparse.csc_array,
        "COO": scipy.sparse.coo_array,
    },
}


def models(threads: int) -> dict[str, Any]:
    """Give every kind of estimator, and some with parameters that take other paths."""
    jobs = {"n_jobs": threads}
    few = {"n_estimators": 4, **jobs}
    three = {"n_estimators": 3}
    tree = hr.DecisionTreeRegressor(max_depth=3, **jobs)
    return {
        "GradientBoostingClassifier": hr.GradientBoostingClassifier(**few),
        "GradientBoostingClassifier, auto": hr.GradientBoostingClassifier(budget="quick", **jobs),
        "GradientBoostingClassifier, exact": hr.GradientBoostingClassifier(splitter="exact", **few),
        "GradientBoostingRegressor": hr.GradientBoostingRegressor(**few, subsample=0.5),
        "GradientBoostingRegressor, slopes": hr.GradientBoostingRegressor(
            **few, linear_leaves=True
        ),
        "GradientBoostingRanker": OneQuery(**few),
        "GradientBoostingSurvival": hr.GradientBoostingSurvival(**few),
        "AdaBoostClassifier": hr.AdaBoostClassifier(**few),
        "AdaBoostRegressor": hr.AdaBoostRegressor(**few),
        "StagewiseClassifier": hr.StagewiseClassifier(tree, **three),
        "StagewiseRegressor": hr.StagewiseRegressor(tree, **three, subsample=0.5),
        "DecisionTreeClassifier": hr.DecisionTreeClassifier(**jobs),
        "DecisionTreeRegressor": hr.DecisionTreeRegressor(**jobs),
        "BaggingClassifier": hr.BaggingClassifier(hr.LinearSVC(), **few, max_features=3),
        "BaggingRegressor": hr.BaggingRegressor(**few),
        "RandomForestClassifier": hr.RandomForestClassifier(**few),
        "RandomForestClassifier, sums": hr.RandomForestClassifier(**few, feature_combinations=2),
        "RandomForestRegressor": hr.RandomForestRegressor(**few),
        "ExtraTreesClassifier": hr.ExtraTreesClassifier(**few),
        "ExtraTreesRegressor": hr.ExtraTreesRegressor(**few),
        "KNeighborsClassifier": hr.KNeighborsClassifier(**jobs),
        "KNeighborsRegressor": hr.KNeighborsRegressor(**jobs),
        "NearestNeighbors": hr.NearestNeighbors(**jobs),
        "RadiusNeighborsClassifier": hr.RadiusNeighborsClassifier(2.0, **jobs),
        "RadiusNeighborsRegressor": hr.RadiusNeighborsRegressor(2.0, **jobs),
        "LinearSVC": hr.LinearSVC(**jobs),
        "LinearSVC, hinge": hr.LinearSVC(loss="hinge", **jobs),
        "LinearSVR": hr.LinearSVR(**jobs),
        "SVC": hr.SVC(**jobs),
        "SVC, probabilities": hr.SVC(kernel="poly", probability=True, **jobs),
        "NuSVC": hr.NuSVC(nu=0.2, **jobs),
        "SVR": hr.SVR(**jobs),
        "NuSVR": hr.NuSVR(**jobs),
        "OneClassSVM": hr.OneClassSVM(**jobs),
    }


class OneQuery(hr.GradientBoostingRanker):
    """A ranker of rows that come in queries of ten."""

    def fit(self, X: Any, y: Any) -> Any:
        """Fit to relevances made of y, in queries of ten rows."""
        return super().fit(X, np.digitize(y, [-0.5, 0.5]), group=[10] * (len(y) // 10))


def make_rows() -> tuple[Any, Any, Any]:
    """Give numbers that a float32 holds, with zeros among them, numbers to predict, and classes."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(N_ROWS, len(NAMES))) * 8) / 8
    X[rng.random(X.shape) < 0.3] = 0.0
    y = np.round((X[:, 0] - X[:, 1] * X[:, 2] + rng.normal(size=N_ROWS) * 0.3) * 64) / 64
    return X, y, np.digitize(y, [-0.7, 0.7])


def digests(threads: int, kinds: int | None = None) -> dict[str, dict[str, str]]:
    """Fit every model to every container; return a digest of its file, by model and container."""
    X, y, classes = make_rows()
    found: dict[str, dict[str, str]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in list(models(threads).items())[:kinds]:
            target = classes if "Classifier" in name or "SVC" in name else y
            found[name] = {}
            for group, containers in CONTAINERS.items():
                for container, contained in containers.items():
                    found[name][f"{group}: {container}"] = _digest(model, contained(X), target)
    return found


def _digest(model: Any, X: Any, y: Any) -> str:
    fitted = model.fit(
        X, np.abs(y) + 0.125 if isinstance(model, hr.GradientBoostingSurvival) else y
    )
    if isinstance(fitted, OneQuery):
        fitted = _as_ranker(fitted)
    return hashlib.sha256(pack(*write_estimator(fitted))).hexdigest()


def _as_ranker(fitted: OneQuery) -> hr.GradientBoostingRanker:
    """Return the model as of the class that files know."""
    ranker = hr.GradientBoostingRanker(**fitted.get_params())
    vars(ranker).update(vars(fitted))
    return ranker


def run(share: float) -> Outcome:
    """Compare processes; at share 0 two models of this one, at another a part of the processes."""
    if share == 0.0:
        compared = [("this process", digests(threads, 1)) for threads in (1, 2)]
    else:
        compared = [(what, _in_process(*setting)) for what, setting in _settings(share)]
    models_by_group: dict[tuple[str, str], Counter[str]] = {}
    where: dict[tuple[str, str, str], str] = {}
    for what, found in compared:
        for name, by_container in found.items():
            for container, digest in by_container.items():
                key = (name, container.partition(":")[0])
                models_by_group.setdefault(key, Counter())[digest] += 1
                where.setdefault((*key, digest), f"{what}, {container}")
    failures = [
        f"{name}, {group}: {len(counts)} different files, first in "
        + "; ".join(where[name, group, digest] for digest in counts)
        for (name, group), counts in models_by_group.items()
        if len(counts) > 1
    ]
    n_models = sum(counts.total() for counts in models_by_group.values())
    n_equal = sum(max(counts.values()) for counts in models_by_group.values())
    n_containers = sum(map(len, CONTAINERS.values()))
    summary = (
        f"{n_equal:,} of {n_models:,} equal: {len({name for name, _ in models_by_group})} models, "
        f"{n_containers} containers, {len(compared)} processes"
    )
    return Outcome(summary, tuple(failures))


def _settings(share: float) -> list[tuple[str, tuple[str, int]]]:
    """Return levels and threads, each with words for it; every level and number at any share."""
    levels = [level for level in _native.LEVELS if level <= _native.isa_level()]
    crossed = [(level, threads) for threads in THREADS for level in levels]
    if share < 1.0:
        crossed = [
            pair for i, pair in enumerate(crossed) if i % len(levels) == i // len(levels) % 3
        ]
    chosen = [*crossed, crossed[0]]  # the first once more: another process alone
    return [(f"{level}, {threads} threads", (level, threads)) for level, threads in chosen]


def _in_process(level: str, threads: int) -> dict[str, dict[str, str]]:
    """Return the digests of a fresh process."""
    environment = os.environ | {"HEDGEROW_ISA": level}
    done = subprocess.run(
        [sys.executable, "-m", "soak.equal_bytes", str(threads)],
        env=environment,
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, dict[str, str]] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    print(json.dumps(digests(int(sys.argv[1]))))
