"""Exact sums against rational arithmetic, however rows are ordered and divided."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hedgerow import _native

LARGEST = np.finfo(np.float64).max

finite = st.floats(allow_nan=False, allow_infinity=False)


def nearest(numbers):
    """Add fractions; infinite where the sum is beyond the largest double."""
    total = sum(map(Fraction, numbers))
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


@given(st.lists(finite, max_size=40))
@example([LARGEST, LARGEST, -LARGEST])
@example([LARGEST, 2.0**969])
@example([LARGEST, 2.0**970])
@example([-LARGEST, -LARGEST])
@example([1.0, 2.0**-53])
@example([1.0, 2.0**-53, 5e-324])
@example([1.0 + 2.0**-52, 2.0**-53])
@example([-1.0, -(2.0**-53), -5e-324])
@example([5e-324, 5e-324, -2.2e-308])
@example([2.2250738585072014e-308, -5e-324])
@example([0.1] * 10)
@example([2.0**32 - 1] * 40)
@example([-0.0])
def test_numbers_add_up_exactly_and_are_rounded_once(numbers):
    assert _native.sum_rows(np.array(numbers, float)) == nearest(numbers)


@given(st.lists(finite, max_size=40), st.data())
def test_words_of_parts_add_up_to_the_words_of_the_whole(numbers, data):
    whole = _native.sum_words(np.array(numbers, float))
    order = data.draw(st.permutations(range(len(numbers))))
    cut = data.draw(st.integers(0, len(numbers)))
    parts = [[numbers[i] for i in rows] for rows in (order[:cut], order[cut:])]
    words = sum(_native.sum_words(np.array(part, float)) for part in parts)
    assert _native.sum_of_words(words) == _native.sum_of_words(whole) == nearest(numbers)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([], 0.0),
        ([1.0, math.inf], math.inf),
        ([-math.inf, LARGEST, LARGEST], -math.inf),
        ([math.inf, -math.inf], math.nan),
        ([math.inf, math.nan], math.nan),
        ([math.nan], math.nan),
    ],
)
def test_infinities_and_nan_are_those_of_ieee_arithmetic(numbers, expected):
    np.testing.assert_equal(_native.sum_rows(np.array(numbers, float)), expected)
    words = sum(
        (_native.sum_words(np.array([one])) for one in numbers), _native.sum_words(np.empty(0))
    )
    np.testing.assert_equal(_native.sum_of_words(words), expected)


def test_large_sums_are_those_of_fsum():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=3000) * 10.0 ** rng.integers(-300, 300, 3000)
    assert _native.sum_rows(np.array(numbers, float)) == math.fsum(numbers)


@pytest.mark.parametrize("n", [1023, 1024, 1025, 2049])
@pytest.mark.parametrize(
    "exponents", [(0, 1), (-60, 60), (-1074, -1000), (-1074, 1012), (1000, 1012)]
)
def test_blocks_of_numbers_of_any_size_add_up_exactly(n, exponents):
    rng = np.random.default_rng(n)
    numbers = np.ldexp(rng.uniform(-1.0, 1.0, n), rng.integers(*exponents, n))
    numbers[n // 2 : n // 2 + 100] = 0.0
    assert _native.sum_rows(numbers) == nearest(numbers.tolist())
    strided = np.zeros((n, 2))
    strided[:, 1] = numbers
    assert _native.sum_columns(strided, 1).tolist() == [0.0, nearest(numbers.tolist())]


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=5000) * 10.0 ** rng.integers(-9, 9, 5000)
    assert _native.sum_rows(rng.permutation(numbers)) == _native.sum_rows(numbers)


def test_words_of_half_a_billion_parts_can_be_added():
    """2^29 equal parts, added as one product; the sum may be beyond the largest double."""
    part = np.array([LARGEST / 2**40, 2.0**-40])
    expected = sum(map(Fraction, part.tolist())) * 2**29
    assert _native.sum_of_words(_native.sum_words(np.array(part, float)) * 2**29) == float(expected)
    assert _native.sum_of_words(_native.sum_words(np.array([LARGEST])) * 2**29) == math.inf
    assert _native.sum_of_words(_native.sum_words(np.array([-LARGEST])) * 2**29) == -math.inf


@pytest.mark.parametrize("n_groups", [5, 1000])
@given(rows=st.lists(st.tuples(st.integers(0, 4), finite), max_size=40))
def test_sums_of_groups_are_exact(n_groups, rows):
    numbers = np.array([number for _, number in rows], float)
    group = np.array([k for k, _ in rows], np.int64)
    expected = [nearest([number for k, number in rows if k == one]) for one in range(5)]
    assert _native.sum_groups(numbers, group, n_groups)[:5].tolist() == expected


@pytest.mark.parametrize("group", [-1, 2])
def test_groups_out_of_range_are_refused(group):
    with pytest.raises(ValueError, match="a group is out of range"):
        _native.sum_groups(np.ones(1), np.array([group]), 2)


def test_words_of_another_length_are_refused():
    with pytest.raises(ValueError, match="the number of words is wrong"):
        _native.sum_of_words(np.zeros(3, np.int64))


def test_threads_do_not_change_sums():
    numbers = np.random.default_rng(0).standard_cauchy((30_000, 3)) * 10.0 ** np.arange(
        -150, 151, 150
    )
    expected = [math.fsum(column) for column in numbers.T]
    for threads in (1, 2, 5):
        assert _native.sum_columns(numbers, threads).tolist() == expected
        assert _native.sum_rows(numbers[:, 1].copy(), threads) == expected[1]
    assert _native.sum_columns(np.empty((0, 2)), 2).tolist() == [0.0, 0.0]
