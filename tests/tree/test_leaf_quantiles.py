"""Leaf quantiles: the definition, in any order of rows, and on any number of workers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import _native
from workers import first_rows, on_workers


def definition(kinks, weights, level):
    """Return the quantile by exact fractions; a total is level within the rounding of weights."""
    rows = [(k, Fraction(w)) for k, w in zip(kinks, weights, strict=True) if w > 0]
    if not rows:
        return 0.0
    target = Fraction(level) * sum(w for _, w in rows)
    slack = target * Fraction(1, 2**40)
    values = sorted({k for k, _ in rows})
    for at, following in zip(values, [*values[1:], None], strict=True):
        passed = sum(w for k, w in rows if k <= at)
        if passed >= target - slack:
            is_level = passed <= target + slack and following is not None
            return 0.5 * (at + following) if is_level else at
    raise AssertionError


KINKS = st.sampled_from([-3.5, -1.0, -0.0, 0.0, 0.25, 0.5, 2.0, 7.0, 1e-300, -1e300])
WEIGHTS = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0])
LEVELS = st.sampled_from([0.05, 0.1, 0.2, 1 / 3, 0.5, 0.7, 0.9])


@settings(max_examples=300)
@given(st.lists(st.tuples(KINKS, WEIGHTS), min_size=1, max_size=12), LEVELS, st.booleans())
def test_a_quantile_is_that_of_the_definition(rows, level, is_weighted):
    kinks, weights = np.array(rows).T
    leaf, own = np.zeros(len(rows), np.uint16), weights if is_weighted else None
    (value,) = _native.leaf_quantiles(kinks.copy(), own, leaf, None, np.array([level]), 1)
    expected = definition(kinks, weights if is_weighted else np.ones(len(rows)), level)
    assert value == expected
    assert math.copysign(1, value) == math.copysign(1, expected + 0.0)


def leaves_of(rng, n_rows, n_leaves):
    kinks = rng.normal(size=n_rows).round(int(rng.integers(1, 4)))
    weights = rng.choice([0.0, 0.1, 0.2, 0.3, 7.0], n_rows) * 10.0 ** int(rng.integers(-200, 200))
    return kinks, weights, rng.integers(0, n_leaves, n_rows).astype(np.uint16)


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_rows_does_not_matter(seed, is_weighted):
    rng = np.random.default_rng(seed)
    kinks, weights, leaf = leaves_of(rng, 3_000, 40)
    levels = rng.choice([0.1, 0.25, 0.5, 0.9], 41)
    results = set()
    for threads in (1, 3):
        order = rng.permutation(3_000)
        own = weights[order] if is_weighted else None
        value = _native.leaf_quantiles(kinks[order], own, leaf[order], None, levels, threads)
        results.add(value.tobytes())
    assert len(results) == 1


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("n_workers", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_workers_find_the_quantiles_that_one_would_find(seed, n_workers, is_weighted):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.choice([7, 200, 3_000]))
    kinks, weights, leaf = leaves_of(rng, n_rows, 9)
    levels = rng.choice([0.1, 0.25, 0.5, 0.9], 11)  # two leaves have no rows
    starts = first_rows(rng, n_rows, n_workers)

    def quantiles(begin, end, reduction):
        own = weights[begin:end] if is_weighted else None
        rows = kinks[begin:end], own, leaf[begin:end]
        return _native.leaf_quantiles(*rows, None, levels, 2, reduction)

    alone = quantiles(0, n_rows, None)
    for together in on_workers(n_workers, lambda r, reduce: quantiles(*starts[r : r + 2], reduce)):
        assert together.tobytes() == alone.tobytes()


def test_a_reduction_that_fails_ends_the_kernel_with_its_error():
    class Broken:
        def max(self, _numbers):
            raise ConnectionError("gone")

    ones, leaf, level = np.ones(5), np.zeros(5, np.uint16), np.array([0.5])
    with pytest.raises(ConnectionError, match="gone"):
        _native.leaf_quantiles(ones, ones, leaf, None, level, 1, Broken())
