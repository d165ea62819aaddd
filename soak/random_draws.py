"""The random numbers: hashes of (seed, purpose, a, b), tested as generators are, and in forests.

The hash is written again in NumPy (a test holds it to the kernels), and read along each of its
arguments: draws of a node, trees, seeds, and the nodes of a tree, whose keys are hashes themselves.
The tests are those of PractRand and TestU01 in small: balance and independence of bits, avalanche,
serial correlation, birthday spacings. Forests with one candidate feature per node split on the
feature that they draw, so the features that they use must be uniform, at every depth, for every
seed. A test gives p-values, which must be uniform: none is too small for their number, and their
distribution passes a test of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import hedgerow as hr
from soak.outcome import Outcome

GOAL = (
    "random numbers along seeds, trees, nodes and draws, and the features that forests draw: "
    "p-values are uniform"
)
FULL_SIZE = 1 << 22  # numbers of a sequence
FULL_REPEATS = 200
FULL_SEEDS = 2_000  # of forests
LEAST_P = 1e-3  # of the smallest p-value given their number, and of their distribution

Words = NDArray[np.uint64]
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
CART_FEATURES = 6  # the purpose of the draws of forests' features, native/shared/random.hpp


def mix(x: Words) -> Words:
    """Return `mix_u64` of native/shared/random.hpp."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def hashes(seed: Words, a: Words, b: Words, purpose: int = CART_FEATURES) -> Words:
    """Return `hash_u64`; arguments are broadcast."""
    with np.errstate(over="ignore"):
        key = mix(seed + GOLDEN)
        key = mix(key + GOLDEN * np.uint64(purpose))
        return mix(mix(key + GOLDEN * a) + GOLDEN * b)


def node_keys(tree: int, n: int) -> Words:
    """Return the keys of the first nodes of a tree, level by level."""
    keys = np.empty(n, np.uint64)
    with np.errstate(over="ignore"):
        keys[0] = mix(np.array([tree], np.uint64) + GOLDEN)[0]
        for first in (1 << np.arange(1, 64)) - 1:
            if first >= n:
                break
            place = np.arange(first, min(2 * first + 1, n))
            parent = keys[(place - 1) // 2]
            keys[place] = mix(parent + GOLDEN * (place % 2 == 0).astype(np.uint64) + GOLDEN)
    return keys


def sequences(n: int, repeat: int) -> Iterator[tuple[str, Words]]:
    """Yield sequences of n words along each argument of the hash; `repeat` varies the others."""
    one, some = np.arange(n, dtype=np.uint64), np.array([repeat], np.uint64)
    zero = np.zeros(1, np.uint64)
    yield "draws of a node", hashes(some, some, one)
    yield "trees", hashes(some, one, zero)
    yield "seeds", hashes(one + np.uint64(repeat * n), zero, zero)
    yield "nodes of a tree", hashes(some, node_keys(repeat, n), zero)


# ---- tests of a sequence, each of which returns a p-value ----------------------------------------


def bits_are_balanced(words: Words) -> float:
    """χ² of the ones of each of the 64 bits."""
    ones = np.array([np.count_nonzero(words >> np.uint64(k) & np.uint64(1)) for k in range(64)])
    z = (ones - len(words) / 2) / np.sqrt(len(words) / 4)
    return float(stats.chi2.sf((z**2).sum(), 64))


def bytes_are_uniform(words: Words) -> float:
    """χ² of the values of the highest byte, on which bins of draws depend most."""
    counts = np.bincount((words >> np.uint64(56)).astype(np.intp), minlength=256)
    return float(stats.chisquare(counts).pvalue)


def neighbours_are_independent(words: Words) -> float:
    """χ² of pairs of neighbouring words, in 64 × 64 cells of their highest bits."""
    high = (words >> np.uint64(58)).astype(np.intp)
    pairs = high[:-1:2] * 64 + high[1::2]
    return float(stats.chisquare(np.bincount(pairs, minlength=64 * 64)).pvalue)


def is_not_correlated(words: Words) -> float:
    """χ² of the serial correlations at lags 1 to 16."""
    u = (words >> np.uint64(11)).astype(np.float64) / 2**53 - 0.5
    z = [np.sqrt(len(u) - k) * 12 * np.mean(u[:-k] * u[k:]) for k in range(1, 17)]
    return float(stats.chi2.sf(np.sum(np.square(z)), 16))


def birthdays_are_spaced(words: Words) -> float:
    """Duplicate spacings among 4,096 birthdays in a year of 2^34 days: Poisson, mean 1 each."""
    m, bits = 4096, 34
    years = words[: len(words) // m * m].reshape(-1, m) >> np.uint64(64 - bits)
    spacings = np.sort(np.diff(np.sort(years, axis=1), axis=1), axis=1)
    duplicates = int(np.count_nonzero(np.diff(spacings, axis=1) == 0))
    mean = len(years) * m**3 / 2 ** (bits + 2)
    return float(np.random.default_rng(duplicates).uniform(  # a discrete p-value, made uniform
        stats.poisson.sf(duplicates, mean), stats.poisson.sf(duplicates - 1, mean)
    ))  # fmt: skip


TESTS: tuple[Callable[[Words], float], ...] = (
    bits_are_balanced,
    bytes_are_uniform,
    neighbours_are_independent,
    is_not_correlated,
    birthdays_are_spaced,
)


def avalanche(n: int) -> Iterator[float]:
    """Yield a p-value for each input bit: flipping it flips every output bit half of the time."""
    rng = np.random.default_rng(0)
    arguments = rng.integers(0, 2**63, (3, n), dtype=np.uint64)
    before = hashes(*arguments)
    for which in range(3):
        for bit in range(64):
            flipped = arguments.copy()
            flipped[which] ^= np.uint64(1) << np.uint64(bit)
            yield bits_are_balanced(before ^ hashes(*flipped))


def features_drawn(seed: int) -> Iterator[float]:
    """Yield p-values of the features on which a forest splits, for the nodes of each depth."""
    rng = np.random.default_rng(seed)
    n_features = 7
    X, y = rng.normal(size=(120, n_features)), rng.integers(0, 2, 120)
    forest = hr.RandomForestClassifier(n_estimators=150, max_features=1, random_state=seed)
    forest.fit(X, y)
    counts = np.zeros((6, n_features), np.intp)
    for tree in (forest._model.forest.tree(t) for t in range(150)):
        depth = np.zeros(tree.n_nodes, np.intp)
        for node in np.flatnonzero(tree.feature >= 0):
            depth[[tree.left[node], tree.right[node]]] = depth[node] + 1
            counts[min(depth[node], 5), tree.feature[node]] += 1
    for of_depth in counts:
        if of_depth.sum() >= 20 * n_features:  # else χ² is only approximate
            yield float(stats.chisquare(of_depth).pvalue)


def features_tried(seed: int) -> float:
    """Return a p-value of the 5 of 30 features that the first 1,000 nodes of a tree try."""
    n_nodes, n_features, n_tried = 1_000, 30, 5
    keys = node_keys(seed % 97, n_nodes)[:, np.newaxis]
    words = hashes(np.array([seed], np.uint64), keys, np.arange(n_tried, dtype=np.uint64))
    u = (words >> np.uint64(11)).astype(np.float64) / 2**53
    order, node = np.tile(np.arange(n_features), (n_nodes, 1)), np.arange(n_nodes)
    for place in range(n_tried):  # as FeatureOrder of native/cart/grower.hpp shuffles
        other = place + (u[:, place] * (n_features - place)).astype(np.intp)
        order[node, place], order[node, other] = order[node, other], order[node, place].copy()
    counts = np.bincount(order[:, :n_tried].ravel(), minlength=n_features)
    mean, share = n_nodes * n_tried / n_features, n_tried / n_features
    # A node tries a feature once at most, so counts vary less than those of independent draws.
    chi2 = ((counts - mean) ** 2).sum() / (mean * (1 - share)) * (n_features - 1) / n_features
    return float(stats.chi2.sf(chi2, n_features - 1))


# ---- the verdict ---------------------------------------------------------------------------------


def objections(name: str, p: list[float]) -> Iterator[str]:
    """Yield what is wrong with p-values that should be uniform."""
    least, most = min(p), max(p)
    for extreme, what in ((least, f"p = {least:.2g}"), (1.0 - most, f"1 − p = {1 - most:.2g}")):
        if -np.expm1(len(p) * np.log1p(-extreme)) < LEAST_P:
            yield f"{name}: {what} among {len(p)}"
    if len(p) >= 20 and stats.kstest(p, "uniform").pvalue < LEAST_P:
        yield f"{name}: {len(p)} p-values are not uniform"


def run(share: float) -> Outcome:
    """Test every sequence, and forests of many seeds."""
    n = int(min(FULL_SIZE, max(1 << 15, FULL_SIZE * share)))
    repeats, n_seeds = max(3, round(FULL_REPEATS * share)), max(20, round(FULL_SEEDS * share))
    found: dict[str, list[float]] = {}
    for repeat in range(repeats):
        for name, words in sequences(n, repeat):
            for test in TESTS:
                found.setdefault(f"{name}, {test.__name__}", []).append(test(words))
    found["avalanche"] = list(avalanche(max(1 << 10, n >> 6)))
    found["features tried"] = [features_tried(seed) for seed in range(10 * n_seeds)]
    found["features of forests"] = [p for seed in range(n_seeds) for p in features_drawn(seed)]
    failures = tuple(objection for name, p in found.items() for objection in objections(name, p))
    drawn = np.array(found["features of forests"])
    every = np.concatenate(list(found.values()))
    return Outcome(
        f"{len(every):,} p-values, the smallest {every.min():.1g}; {repeats} × 4 sequences of "
        f"{n:,} numbers; features of forests of {n_seeds:,} seeds, up to 6 depths each: "
        f"{(drawn < 0.05).mean():.1%} of {len(drawn):,} p-values below 0.05, "
        f"the smallest {drawn.min():.1g}",
        failures,
    )
