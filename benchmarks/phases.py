"""Where the time of a large fit goes: `python -m benchmarks.phases [rows] [trees]`.

Times each phase of 1,000,000 × 28, 63 leaves, through the library's own parts, and says how many
histogram updates a second the growing of trees came to. What happens inside `grow` is a profiler's
business: ``perf record -e cpu-clock python -m benchmarks.phases`` names the kernels.
"""

import sys
import time
from dataclasses import replace

import numpy as np

from benchmarks.cases import CASES
from hedgerow._boosting.losses import BinaryLogLoss
from hedgerow._data.binning import Binner
from hedgerow._data.intake import learn_schema
from hedgerow._threads import available_cpus
from hedgerow._tree.engine import Bag, HistogramEngine
from hedgerow._tree.growth_params import GrowthParams


def updates(tree, n_features):
    """Count the histogram updates of a tree: the root's rows, and each smaller child's."""
    inner = np.flatnonzero(tree.feature >= 0)
    inner = inner[np.argsort(tree.left[inner])]  # in the order in which they were split
    smaller = np.minimum(tree.count[tree.left[inner]], tree.count[tree.right[inner]])
    # The children of the last split are leaves for good, and are not looked at.
    return n_features * (tree.count[0] + smaller[:-1].sum())


def main():
    n_rows, n_trees = (int(number) for number in [*sys.argv[1:], 1_000_000, 100][:2])
    (case,) = (case for case in CASES if case.name == "big")
    X, y, *_ = replace(case, rows=n_rows).split()
    threads = available_cpus()
    clock = [("start", time.perf_counter())]

    def lap(name):
        clock.append((name, time.perf_counter()))

    _, table = learn_schema(X)
    lap("intake (checks)")
    binner = Binner().fit(table, threads=threads)
    lap("thresholds")
    binned = binner.transform(table, threads=threads)
    lap("values to bins")
    target = y.astype(np.float64)
    params = GrowthParams(max_leaves=63, min_samples_leaf=20, min_child_weight=1.0)
    loss = BinaryLogLoss()
    engine = HistogramEngine(binned, params, loss.base_score(target, None), n_threads=threads)
    lap("setting up")
    gradients = grown = 0.0
    n_updates = 0
    for round_ in range(n_trees):
        start = time.perf_counter()
        engine.differentiate(loss, target[None], None, None)
        middle = time.perf_counter()
        tree = engine.grow(0, Bag(None), round_)
        engine.add(tree, 0, None)
        grown += time.perf_counter() - middle
        gradients += middle - start
        n_updates += updates(tree, X.shape[1])
    lap("rounds")
    phases = {name: at - clock[i][1] for i, (name, at) in enumerate(clock[1:])}
    phases |= {"  scores, gradients, quantisation": gradients, "  growing trees": grown}
    total = clock[-1][1] - clock[0][1]
    print(f"{n_rows:,} x {X.shape[1]}, {n_trees} trees, {threads} threads")
    for name, seconds in phases.items():
        print(f"{name:34} {seconds:7.3f} s  {seconds / total:6.1%}")
    print(f"{'total':34} {total:7.3f} s")
    print(
        f"{n_updates / 1e9:.2f} G histogram updates, {n_updates / grown / 1e9:.2f} G/s of growing"
    )


if __name__ == "__main__":
    main()
