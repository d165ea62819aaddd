"""Rows of a round: how many are drawn, and that they stand for those that are not."""

from typing import get_args

import numpy as np
import pytest

from hedgerow import _native
from hedgerow._tree.trainer import RowSampler, Sampling
from oracles.random_numbers import hash_of, unit_interval
from workers import first_rows, on_workers

RNG = np.random.default_rng(0)


def sampled(g, h, sampling, fraction, *, seed=0, round_=0, threads=1):
    store = _native.GradientStore(g.shape[1], len(g), threads)
    draw = RowSampler(g.shape[1], fraction, seed, sampling).by_gradient(round_)
    rows, factor = store.take(g, h, draw)
    return rows, factor, [store.to_float(k) for k in range(len(g))]


@pytest.mark.parametrize("sampling", ["gradient", "minimal_variance"])
@pytest.mark.parametrize("n_rows", [3_000, 50_000])  # wide, and packed gradients
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_sums_are_right_on_average(sampling, n_rows, n_outputs):
    g = RNG.normal(size=(n_outputs, n_rows)) ** 3
    h = RNG.uniform(0.1, 1.0, (n_outputs, n_rows))
    inside = RNG.random(n_rows) < 0.3  # the rows of a node
    sums, counts = [], []
    for round_ in range(60):
        rows, _, pairs = sampled(g, h, sampling, 0.2, round_=round_)
        taken = rows[inside[rows]]
        sums.append([pair[taken].sum(axis=0) for pair in pairs])
        counts.append(len(rows))
    error = np.std(sums, axis=0) / np.sqrt(len(sums))
    exact = np.stack([g[:, inside].sum(axis=1), h[:, inside].sum(axis=1)], axis=1)
    assert (np.abs(np.mean(sums, axis=0) - exact) < 5 * error + 1e-3).all()
    assert np.mean(counts) == pytest.approx(0.2 * n_rows, rel=0.02)


def test_minimal_variance_varies_least():
    g = RNG.normal(size=(1, 5_000)) ** 3
    h = np.ones_like(g)

    def spread(sampling):
        rounds = (sampled(g, h, sampling, 0.1, round_=r) for r in range(200))
        return np.std([(factor * g[0, rows]).sum() for rows, factor, _ in rounds])

    uniform = np.std(
        [10 * g[0, RowSampler(5_000, 0.1).bag(r, None).rows].sum() for r in range(200)]
    )
    assert spread("minimal_variance") < spread("gradient") < uniform


def test_minimal_variance_draws_by_size():
    g, h = RNG.normal(size=(1, 4_000)), RNG.uniform(0.0, 1.0, (1, 4_000))
    rows, factor, _ = sampled(g, h, "minimal_variance", 0.3)
    size = np.sqrt(g[0] ** 2 + h[0] ** 2)
    by_chance = factor > 1.0
    # p is size × slope, the same slope for all that are drawn by chance.
    slope = 1.0 / (factor * size[rows])[by_chance]
    np.testing.assert_allclose(slope, slope[0], rtol=1e-9)
    assert (size[rows][~by_chance] * slope[0] >= 1.0 - 1e-9).all()
    assert np.minimum(1.0, size * slope[0]).sum() == pytest.approx(0.3 * 4_000, rel=1e-9)
    certain = np.flatnonzero(size * slope[0] > 1.0)
    assert np.isin(certain, rows).all()


def test_one_sided_draws_keep_the_largest():
    g = RNG.normal(size=(1, 3_000))
    rows, factor, _ = sampled(g, np.ones_like(g), "gradient", 0.3)
    ranked = np.argsort(-np.abs(g[0]))
    assert set(ranked[:600]) <= set(rows.tolist())
    assert np.count_nonzero(factor == 1.0) == 600
    np.testing.assert_allclose(factor[factor > 1.0], 2_400 / 300)


@pytest.mark.parametrize("sampling", ["gradient", "minimal_variance"])
@pytest.mark.parametrize("size", [0.0, 1.0])
def test_equal_gradients_are_drawn_alike(sampling, size):
    g = np.full((1, 20_000), size)
    rows, factor, _ = sampled(g, np.full_like(g, size), sampling, 0.25)
    assert len(rows) == pytest.approx(5_000, rel=0.1)
    np.testing.assert_allclose(factor, 4.0)


@pytest.mark.parametrize("sampling", ["gradient", "minimal_variance"])
@pytest.mark.parametrize("n_rows", [10_000, 80_000])
def test_draws_do_not_depend_on_threads_but_on_seed_and_round(sampling, n_rows):
    g, h = RNG.normal(size=(2, n_rows)), RNG.uniform(size=(2, n_rows))
    rows, factor, pairs = sampled(g, h, sampling, 0.2)
    for threads in (2, 3):
        again = sampled(g, h, sampling, 0.2, threads=threads)
        np.testing.assert_array_equal(again[0], rows)
        np.testing.assert_array_equal(again[1], factor)
        np.testing.assert_array_equal(again[2], pairs)
    for other in ({"seed": 1}, {"round_": 1}):
        assert not np.array_equal(sampled(g, h, sampling, 0.2, **other)[0], rows)


def probabilities(size, sampling, sample_size):
    """Return each row's probability, from the sorted sizes."""
    ranked = np.sort(size)[::-1]
    if sampling == "gradient":
        certain = size > ranked[int(2 / 3 * sample_size)]
        n_certain = np.count_nonzero(certain)
        return np.where(certain, 1.0, (sample_size - n_certain) / (len(size) - n_certain))
    for n_certain in range(len(size)):
        slope = (sample_size - n_certain) / np.sort(ranked[n_certain:]).sum()
        if ranked[n_certain] * slope <= 1.0:
            return np.minimum(1.0, size * slope)
    raise AssertionError


@pytest.mark.parametrize("sampling", ["gradient", "minimal_variance"])
@pytest.mark.parametrize("power", [1, 5, 15])  # the larger, the heavier the tail
@pytest.mark.parametrize("fraction", [0.02, 0.3, 0.9])
def test_draws_are_those_of_the_definition(sampling, power, fraction):
    rng = np.random.default_rng(power)
    g, h = rng.normal(size=(2, 900)) ** power, rng.uniform(size=(2, 900))
    g[:, ::7] = g[:, 3:4]  # ties
    h[:, ::7] = h[:, 3:4]
    rows, factor, _ = sampled(g, h, sampling, fraction, seed=5, round_=2)
    size = np.sqrt((g**2 + (h**2 if sampling == "minimal_variance" else 0.0)).sum(axis=0))
    p = probabilities(size, sampling, fraction * 900)
    u = np.array([unit_interval(hash_of(5, "row_sample", 2, row)) for row in range(900)])
    np.testing.assert_array_equal(rows, np.flatnonzero(u < p))
    np.testing.assert_allclose(factor, 1.0 / p[rows], rtol=1e-9)


@pytest.mark.parametrize("sampling", ["gradient", "minimal_variance"])
@pytest.mark.parametrize("exponent", [-1000, -300, 300, 1000])
def test_the_unit_of_gradients_does_not_matter(sampling, exponent):
    rng = np.random.default_rng(1)
    g, h = rng.normal(size=(1, 500)), rng.uniform(0.5, 1.0, (1, 500))
    rows, factor, _ = sampled(g, h, sampling, 0.3)
    scale = 2.0**exponent
    scaled_rows, scaled_factor, _ = sampled(g * scale, h * scale, sampling, 0.3)
    np.testing.assert_array_equal(scaled_rows, rows)
    np.testing.assert_array_equal(scaled_factor, factor)


def test_rows_far_below_the_largest_keep_their_chance():
    g = np.full((1, 10_000), 1e-12)
    g[0, 0] = 1.0
    rows, factor, _ = sampled(g, np.zeros_like(g), "minimal_variance", 0.1)
    assert rows[0] == 0
    assert len(rows) == pytest.approx(1_000, rel=0.1)
    assert (factor[1:] * 1e-12).sum() == pytest.approx(1e-8, rel=0.1)


@pytest.mark.parametrize("sampling", get_args(Sampling))
@pytest.mark.parametrize("fraction", [0.2, 1e-9])
@pytest.mark.parametrize("n_workers", [2, 3, 5])
def test_workers_draw_the_rows_that_one_would_draw(sampling, fraction, n_workers):
    rng = np.random.default_rng(n_workers)
    n = 4_000
    g, h = rng.normal(size=(2, n)) ** 3, rng.uniform(size=(2, n))
    label, unit = rng.choice(3, n, p=[0.8, 0.15, 0.05]), rng.integers(0, 300, n)
    starts = first_rows(rng, n, n_workers)

    def drawn(begin, end, reduction):
        draws = RowSampler(
            end - begin, fraction, 3, sampling, label[begin:end].astype(np.int32),
            unit[begin:end].astype(np.int32), first_row=begin, n_total=n, reduction=reduction,
        )  # fmt: skip
        by_gradient, taken = draws.by_gradient(8), None
        if by_gradient is not None:
            store = _native.GradientStore(end - begin, 2, 1)
            taken = store.take(g[:, begin:end].copy(), h[:, begin:end].copy(), by_gradient)
        bag = draws.bag(8, taken)
        factor = np.ones(len(bag.rows)) if bag.factor is None else bag.factor
        return bag.rows.astype(int) + begin, factor

    alone = drawn(0, n, None)
    parts = on_workers(
        n_workers, lambda rank, reduction: drawn(*starts[rank : rank + 2], reduction)
    )
    for own, together in zip(alone, zip(*parts, strict=True), strict=True):
        np.testing.assert_array_equal(np.concatenate(together), own)


def test_balanced_draws_have_as_many_rows_of_each_class():
    kind = RNG.choice(3, 30_000, p=[0.9, 0.08, 0.02]).astype(np.int32)
    rarest = np.bincount(kind).min()
    for fraction in (1.0, 0.5):
        draws = RowSampler(30_000, fraction, sampling="balanced", row_class=kind)
        counts = np.mean([np.bincount(kind[draws.bag(r, None).rows]) for r in range(50)], axis=0)
        np.testing.assert_allclose(counts, fraction * rarest, rtol=0.05)


def test_groups_are_drawn_whole():
    unit = RNG.integers(0, 400, 20_000).astype(np.int32)
    draws = RowSampler(20_000, 0.3, sampling="group", row_group=unit)
    rows = draws.bag(0, None).rows
    kept = np.unique(unit[rows])
    assert np.isin(unit, kept).sum() == len(rows)
    assert len(kept) == pytest.approx(120, abs=40)
    assert not np.array_equal(draws.bag(1, None).rows, rows)


@pytest.mark.parametrize("sampling", ["uniform", "gradient", "minimal_variance"])
def test_a_round_has_at_least_one_row(sampling):
    draws = RowSampler(5, 1e-9, sampling=sampling)
    g = np.ones((1, 5))
    drawn_rows = None
    if draws.by_gradient(3) is not None:
        drawn_rows = _native.GradientStore(5, 1, 1).take(g, g, draws.by_gradient(3))
    assert len(draws.bag(3, drawn_rows).rows) >= 1
