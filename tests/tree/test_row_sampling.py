"""Rows of a round: how many are drawn, and that they stand for those that are not."""

import numpy as np
import pytest

from hedgerow import _native
from hedgerow._tree.trainer import RowSampler

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
