"""The random numbers behind samples: the hash is the kernels', and has no pattern that tests find.

`python -m soak random_draws` has the long version, whose result docs/reliability.md shows.
"""

import sys
from pathlib import Path

import numpy as np

from hedgerow import _native
from oracles.random_numbers import child_key, hash_of, root_key

sys.path.insert(0, str(Path(__file__).parents[1]))
from soak import random_draws


def test_the_hash_of_the_check_is_the_kernels():
    b = np.arange(100, dtype=np.uint64)
    for seed, a in ((0, 0), (3, 7), (2**40, 2**63 + 5)):
        ours = random_draws.hashes(np.array([seed], np.uint64), np.array([a], np.uint64), b, 12)
        assert ours.tolist() == [hash_of(seed, "holdout", a, i) for i in range(100)]
        assert ours.tolist() == _native.hashes(seed, "holdout", a, 0, 100).tolist()


def test_keys_of_nodes_are_those_of_paths():
    keys = random_draws.node_keys(5, 15).tolist()
    assert keys[0] == root_key(5)
    for node in range(7):
        assert keys[2 * node + 1] == child_key(keys[node], is_right=False)
        assert keys[2 * node + 2] == child_key(keys[node], is_right=True)


def test_a_generator_with_a_pattern_is_found_out():
    """Each test objects to what it is for, so that their silence about the hash means something."""
    rng = np.random.default_rng(0)
    good = rng.integers(0, 2**64, 1 << 16, dtype=np.uint64)
    biased = np.where(rng.random(1 << 16) < 0.1, good | np.uint64(1 << 40), good)
    sticky = good.copy()
    sticky[1::2] = np.where(rng.random(1 << 15) < 0.1, sticky[::2], sticky[1::2])
    lattice = np.arange(1 << 16, dtype=np.uint64) * random_draws.GOLDEN
    assert random_draws.bits_are_balanced(biased) < 1e-4
    assert random_draws.bytes_are_uniform(good >> np.uint64(1)) < 1e-9
    assert random_draws.neighbours_are_independent(sticky) < 1e-9
    assert random_draws.is_not_correlated(sticky) < 1e-9
    assert random_draws.birthdays_are_spaced(lattice) < 1e-9
    assert all(test(good) > 1e-3 for test in random_draws.TESTS)
    assert list(random_draws.objections("low", [1e-9, 0.4, 0.6]))
    assert list(random_draws.objections("not uniform", list(np.linspace(0.1, 0.5, 50))))
