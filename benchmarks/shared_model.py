"""Predictions per second of Python threads that share one model, by number of threads.

    python -m benchmarks.shared_model

Run it with a free-threaded Python and with an ordinary one, side by side. Each call predicts on one
thread: `n_jobs` would divide the same cores. The best of several repetitions counts.
"""

import sys
import threading
import time
from functools import partial

import numpy as np

import hedgerow as hr

SECONDS, REPETITIONS = 0.5, 7
N_ROWS = (1, 100, 1_000)


def make_model():
    """Fit 100 trees of 31 leaves to 20 columns; return the model and rows to predict."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 20))
    y = X[:, 0] + X[:, 1] * X[:, 2] > 0
    return hr.GradientBoostingClassifier(n_estimators=100, n_jobs=1).fit(X, y), X


def calls_per_second(call, n_threads):
    """Return how often threads complete a call in a second, together."""
    counts, begin = [0] * n_threads, threading.Barrier(n_threads + 1)
    is_over = threading.Event()

    def work(thread):
        begin.wait()
        n = 0
        while not is_over.is_set():
            call()
            n += 1
        counts[thread] = n

    threads = [threading.Thread(target=work, args=(i,)) for i in range(n_threads)]
    for thread in threads:
        thread.start()
    begin.wait()
    started = time.perf_counter()
    time.sleep(SECONDS)
    is_over.set()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - started)


def main():
    """Print a line for each number of rows."""
    lock = "with" if getattr(sys, "_is_gil_enabled", lambda: True)() else "without"
    print(
        f"Python {sys.version.split()[0]} {lock} the global lock: calls of predict_proba a second"
    )
    model, X = make_model()
    for n_rows in N_ROWS:
        call = partial(model.predict_proba, np.ascontiguousarray(X[:n_rows]))
        trials = [[calls_per_second(call, n) for n in (1, 2)] for _ in range(REPETITIONS)]
        one, two = map(max, zip(*trials, strict=True))
        print(f"{n_rows:>6} rows: {one:,.0f} on 1 thread, {two:,.0f} on 2, {two / one:.2f} times")


if __name__ == "__main__":
    main()
