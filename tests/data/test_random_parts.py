"""Random parts of rows: by the order of hashes, whoever has the rows."""

import numpy as np
import pytest

from hedgerow import _native
from oracles.random_numbers import hash_of
from workers import first_rows, on_workers


def test_hashes_are_those_of_the_definition():
    hashes = _native.hashes(2**40 + 3, "fold", 7, 1_000_000_007, 50)
    assert hashes.tolist() == [hash_of(2**40 + 3, "fold", 7, 1_000_000_007 + i) for i in range(50)]
    assert not set(hashes) & set(_native.hashes(2**40 + 3, "holdout", 7, 1_000_000_007, 50))
    assert not set(hashes) & set(_native.hashes(2**40 + 3, "fold", 8, 1_000_000_007, 50))


def random_sizes(rng, stratum, n_strata, n_parts):
    sizes = np.zeros((n_strata, n_parts), np.int64)
    for s in range(n_strata):
        members = np.count_nonzero(stratum == s)
        sizes[s] = np.bincount(rng.integers(0, n_parts, members), minlength=n_parts)
    return sizes


def expected_parts(hashes, stratum, sizes):
    part = np.empty(len(hashes), int)
    for s, of_stratum in enumerate(sizes):
        rows = np.flatnonzero(stratum == s)
        part[rows[np.argsort(hashes[rows])]] = np.repeat(np.arange(len(of_stratum)), of_stratum)
    return part


@pytest.mark.parametrize("n_rows", [0, 1, 30, 5_000])
@pytest.mark.parametrize("n_parts", [1, 2, 5])
def test_parts_have_their_sizes_and_the_order_of_hashes(n_rows, n_parts):
    rng = np.random.default_rng(n_rows + n_parts)
    stratum = rng.integers(0, 4, n_rows)
    sizes = random_sizes(rng, stratum, 5, n_parts)
    hashes = _native.hashes(1, "fold", 0, 0, n_rows)
    part = _native.random_parts(hashes, stratum, sizes)
    np.testing.assert_array_equal(part, expected_parts(hashes, stratum, sizes))
    close = hashes >> 62  # hashes that differ in their last bits only
    close = (close << 16) + np.arange(n_rows, dtype=np.uint64)
    part = _native.random_parts(close, stratum, sizes)
    np.testing.assert_array_equal(part, expected_parts(close, stratum, sizes))


@pytest.mark.parametrize("n_workers", [1, 2, 5])
def test_workers_choose_the_parts_that_one_would_choose(n_workers):
    rng = np.random.default_rng(n_workers)
    stratum = rng.integers(0, 3, 2_000)
    sizes = random_sizes(rng, stratum, 3, 4)
    whole = _native.random_parts(_native.hashes(9, "holdout", 1, 0, 2_000), stratum, sizes)
    starts = first_rows(rng, 2_000, n_workers)

    def parts(rank, reduction):
        begin, end = starts[rank : rank + 2]
        hashes = _native.hashes(9, "holdout", 1, begin, end - begin)
        return _native.random_parts(hashes, stratum[begin:end], sizes, 2, reduction)

    np.testing.assert_array_equal(np.concatenate(on_workers(n_workers, parts)), whole)
