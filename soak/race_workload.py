"""Fits, predictions and explanations from several threads at once, and forks in between.

The workload of soak/data_races.py: ``python -m soak.race_workload ROUNDS``. Models and tables are
shared between the threads as a server would share them; each fits an estimator of its own.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import hedgerow as hr
from soak.small_models import small_models, small_table

CALLERS = 4


def actions() -> list[Callable[[], Any]]:
    """Return what the threads do, over and over."""
    X, y = small_table(0)
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((3_000, 8))
    classes = (rows[:, 0] > 0).astype(int)
    options: dict[str, Any] = {"n_estimators": 3, "learning_rate": 0.1, "n_jobs": 2}
    fitted = hr.GradientBoostingClassifier(**options).fit(rows, classes)
    forest = hr.RandomForestClassifier(n_estimators=5, n_jobs=2).fit(rows, classes)
    near = hr.KNeighborsClassifier(n_jobs=2).fit(rows, classes)
    return [
        *((lambda make=make: make().fit(X, y).predict(X)) for make in small_models().values()),
        lambda: hr.GradientBoostingClassifier(**options).fit(rows, classes),
        lambda: fitted.predict_proba(rows),
        lambda: forest.predict_proba(rows),
        lambda: near.predict(rows[:500]),
        lambda: hr.explain.shap_values(fitted, rows[:200]),
    ]


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
    print(n_done, threading.active_count(), flush=True)


if __name__ == "__main__":
    main()
