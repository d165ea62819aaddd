"""Fits, predictions and explanations from several threads at once, and forks in between.

The workload of soak/data_races.py: ``python -m soak.race_workload ROUNDS``. Models and tables are
shared between the threads as a server would share them; each fits an estimator of its own.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import clone

import hedgerow as hr
from soak.small_models import small_models, small_table

CALLERS = 4
CROWD = 200
SHORT: dict[str, Any] = {"n_estimators": 3, "learning_rate": 0.1, "n_jobs": 2}


def actions() -> list[Callable[[], Any]]:
    """Return what the threads do, over and over."""
    X, y = small_table(0)
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((3_000, 8))
    classes = (rows[:, 0] > 0).astype(int)
    fitted = hr.GradientBoostingClassifier(**SHORT).fit(rows, classes)
    forest = hr.RandomForestClassifier(n_estimators=5, n_jobs=2).fit(rows, classes)
    near = hr.KNeighborsClassifier(n_jobs=2).fit(rows, classes)
    return [
        *((lambda make=make: make().fit(X, y).predict(X)) for make in small_models().values()),
        *large_fits(),
        lambda: fitted.predict_proba(rows),
        lambda: forest.predict_proba(rows),
        lambda: near.predict(rows[:500]),
        lambda: hr.explain.shap_values(fitted, rows[:200]),
    ]


def large_fits() -> list[Callable[[], Any]]:
    """Return fits of every engine to tables in which each kernel has work for two threads."""
    rng = np.random.default_rng(1)
    numbers = rng.standard_normal((20_000, 8))
    flags = (numbers > 1.0).astype(float)  # they share columns
    words = scipy.sparse.random_array((20_000, 200), density=0.05, random_state=rng, format="csr")
    target = numbers[:, 0] + flags.sum(axis=1) + words.sum(axis=1)
    classes = np.digitize(target, np.quantile(target, [0.3, 0.6]))
    gaps = np.where(rng.random(numbers.shape) < 0.1, np.nan, numbers)
    return [
        lambda: hr.GradientBoostingClassifier(**SHORT).fit(gaps, classes),
        lambda: hr.GradientBoostingClassifier(**SHORT).fit(flags, classes),
        lambda: hr.GradientBoostingRegressor(**SHORT).fit(words, target),
        lambda: hr.GradientBoostingClassifier(multi_strategy="vector", **SHORT).fit(
            numbers, classes
        ),
        lambda: hr.GradientBoostingRegressor(splitter="exact", **SHORT).fit(numbers, target),
        lambda: hr.GradientBoostingRegressor(linear_leaves=True, **SHORT).fit(numbers, target),
    ]


def crowd() -> None:
    """Predict with one model and fit others in 200 threads; raise if results are not the same."""
    X, y = small_table(0)
    models = [make() for make in small_models().values()]
    fitted = [clone(model).fit(X, y) for model in models]
    expected = [model.predict(X) for model in fitted]
    shared = pickle.loads(pickle.dumps(fitted))  # which have prepared nothing for predictions
    together = threading.Barrier(CROWD)

    def predict_or_fit(number: int) -> None:
        which = number // 2 % len(models)
        together.wait()
        model = shared[which] if number % 2 else clone(models[which]).fit(X, y)
        if not np.array_equal(model.predict(X), expected[which]):
            raise RuntimeError(f"{model} predicts something else in a crowd")

    with ThreadPoolExecutor(CROWD) as pool:
        list(pool.map(predict_or_fit, range(CROWD)))


def fork_and_predict(model: Any, rows: Any) -> None:
    """Predict in a forked child; raise if it does not end well."""
    child = os.fork()
    if child == 0:
        os._exit(0 if len(model.predict(rows)) == len(rows) else 1)
    if os.waitpid(child, 0)[1] != 0:
        raise RuntimeError("a forked child failed")


def main() -> None:
    """Run so many rounds of all actions."""
    warnings.simplefilter("ignore")
    n_rounds, forks = int(sys.argv[1]), "nofork" not in sys.argv
    todo = actions()
    X, y = small_table(0)
    model = hr.GradientBoostingClassifier(n_estimators=2, learning_rate=0.1, n_jobs=2).fit(X, y)
    n_done = 0
    for _ in range(n_rounds):
        with ThreadPoolExecutor(CALLERS) as pool:
            n_done += len([done.result() for done in [pool.submit(action) for action in todo]])
        if forks:
            fork_and_predict(model, X)
    crowd()
    print(n_done + CROWD, threading.active_count(), flush=True)


if __name__ == "__main__":
    main()
