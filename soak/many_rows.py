"""Many rows: 70 million of them, whose sums of hessians would overflow into the counts.

A fit of log loss to 70,000,000 rows × 1 column, twice the same 35 million, is compared with a fit
to the 35 million with a weight of 2. What must be equal, and why:

- base score: both are exact means of zeros and ones;
- features, thresholds and children of every tree; counts, doubled; the counts of leaves add up to
  the number of rows;
- in the first tree, all values, gains and covers, bit for bit: hessians are equal in all rows, so
  they are one step, and gradients of weight 2 are the same steps of twice the unit;
- in later trees, values and covers up to the steps of hessians: 70 million rows share 37 bits, so
  their unit is coarser than that of 35 million. The mean hessian has some 1,900 steps, and half a
  step of that is 3e-4.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import hedgerow as hr
from hedgerow._contract import internals
from hedgerow._tree.structure import Ensemble
from soak.outcome import Outcome

GOAL = "70,000,000 rows: correct counts, and the model of half of the rows with a weight of 2"
N_ROWS = 70_000_000
LEAST_ROWS = 100_000
N_TREES = 4
TOLERANCE = 1e-3
EQUAL = ("feature", "threshold", "left", "right", "missing_left")
EQUAL_AT_FIRST = ("value", "gain", "cover")


def half_of_the_rows(n: int) -> tuple[Any, Any]:
    """Return a column of bytes and two classes whose odds depend on it."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 200, n, np.uint8)
    return x[:, np.newaxis], rng.integers(0, 1000, n, np.int16) < 300 + 2 * x.astype(np.int16)


def fitted(X: Any, y: Any, sample_weight: Any = None) -> Ensemble:
    """Return the trees of a model that early stopping has no part in."""
    model = hr.GradientBoostingClassifier(n_estimators=N_TREES, learning_rate=0.3, max_leaves=8)
    ensemble: Ensemble = internals(model.fit(X, y, sample_weight)).model().ensemble
    return ensemble


def differences(full: Ensemble, half: Ensemble, n_rows: int) -> Iterator[str]:
    """Compare the two models, as the top of this file says."""
    for name in ("base_score", "tree_offset", *EQUAL):
        if not np.array_equal(getattr(full, name), getattr(half, name)):
            yield f"{name} differs"
            return
    if not np.array_equal(full.count, 2 * half.count):
        yield "counts are not twice those of half of the rows"
    for tree, (begin, end) in enumerate(zip(full.tree_offset, full.tree_offset[1:], strict=False)):
        is_leaf = full.feature[begin:end] < 0
        if full.count[begin:end][is_leaf].sum() != n_rows:
            yield f"tree {tree}: the counts of leaves do not add up to {n_rows:,}"
        for name in EQUAL_AT_FIRST:
            ours, theirs = (getattr(model, name)[begin:end] for model in (full, half))
            error = np.abs(ours - theirs).max() / np.abs(theirs).max()
            if error > (TOLERANCE if tree else 0.0):
                yield f"tree {tree}: {name} differs by {error:.2g} of the largest"


def run(share: float) -> Outcome:
    """Fit both models, to this share of the rows."""
    n = max(int(N_ROWS * share), LEAST_ROWS) // 2
    X, y = half_of_the_rows(n)
    half = fitted(X, y, np.full(n, 2.0))
    full = fitted(np.concatenate([X, X]), np.concatenate([y, y]))
    failures = tuple(differences(full, half, 2 * n))
    return Outcome(f"{2 * n:,} rows, {N_TREES} trees, {len(full.count)} nodes", failures)
