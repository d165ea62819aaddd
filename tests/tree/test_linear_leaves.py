"""Slopes of leaves: how they are fitted, joined, mixed, predicted with and checked."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from hedgerow._tree.engine import leaf_numbers
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.leaves import LeafSlopes
from hedgerow._tree.linear_leaves import mixed_slopes
from hedgerow._tree.structure import Ensemble
from oracles import linear_leaves as oracle
from oracles import predict as naive
from oracles.trees import random_rows, random_slopes, random_tree

N, F = 3_000, 6


def sloped_ensemble(seed, leaves=(5, 1, 20, 200), n_outputs=2, *, vector=False, categorical=1):
    """Trees of which all but one have slopes; the largest is too large to be flat."""
    rng = np.random.default_rng(seed)
    n_values = n_outputs if vector else 1
    options = {"n_categorical": categorical, "n_values": n_values}
    trees = [random_tree(rng, n, F, **options) for n in leaves]
    trees = [
        t if i == 1 else replace(t, slopes=random_slopes(rng, t, F - categorical))
        for i, t in enumerate(trees)
    ]
    outputs = np.arange(len(trees)) % (1 if vector else n_outputs)
    return Ensemble.from_trees(trees, outputs, rng.normal(size=n_outputs), F)


def grown(seed=0, *, categorical=1, missing=0.1, n_values=1):
    """A tree, rows in its leaves with gradients, and the count of each node."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 25, F, n_categorical=categorical, n_values=n_values)
    X = random_rows(rng, N, F, n_categorical=categorical, missing=missing)
    alone = Ensemble.from_trees([tree], [0], np.zeros(n_values), F)
    node = alone.apply(X)[:, 0]
    g, h = rng.normal(size=(n_values, N)), rng.uniform(0.2, 2.0, (n_values, N))
    count = np.bincount(node, minlength=tree.n_nodes).astype(np.int64)
    return replace(tree, count=count), X, node, g, h


def fit(tree, X, node, g, h, *, bag=None, linear_lambda=1.0, n_threads=1, **params):
    slopes = LeafSlopes(X, GrowthParams(learning_rate=0.3, **params), linear_lambda)
    gradients = list(zip(np.atleast_2d(g), np.atleast_2d(h), strict=True))
    return slopes.fit(tree, gradients, leaf_numbers(tree, node), bag, n_threads).slopes


def terms_of(slopes, node):
    return slice(int(slopes.start[node]), int(slopes.start[node + 1]))


# Fitting


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("linear_lambda", [0.0, 3.0])
def test_slopes_are_those_of_a_ridge_that_fits_the_value_too(dtype, linear_lambda):
    tree, X, node, (g,), (h,) = grown()
    X = X.astype(dtype)
    slopes = fit(tree, X, node, g, h, linear_lambda=linear_lambda)
    fitted = 0
    for leaf in np.flatnonzero(tree.feature < 0):
        own = node == leaf
        features = oracle.varying(X[own], oracle.path_features(tree, leaf))
        terms = terms_of(slopes, leaf)
        assert slopes.feature[terms].tolist() == features
        if not features:
            continue
        rows, of_leaf = X[own][:, features].astype(np.float64), (g[own], h[own])
        value, coefficient, centre = oracle.fit_leaf(
            rows, *of_leaf, reg_lambda=2.0, linear_lambda=linear_lambda
        )
        np.testing.assert_allclose(value, -g[own].sum() / (h[own].sum() + 2.0), rtol=1e-9)
        np.testing.assert_allclose(slopes.coefficient[terms, 0], 0.3 * coefficient, rtol=1e-8)
        np.testing.assert_allclose(slopes.centre[terms, 0], centre, rtol=1e-12, atol=1e-13)
        low, high = oracle.limits(rows)
        np.testing.assert_allclose(slopes.low[terms], low, rtol=1e-12)
        np.testing.assert_allclose(slopes.high[terms], high, rtol=1e-12)
        fitted += len(features)
    assert fitted > 10


def test_only_rows_in_the_bag_count():
    tree, X, node, (g,), (h,) = grown(1)
    bag = np.flatnonzero(np.arange(N) % 3 > 0).astype(np.uint32)
    sampled = fit(tree, X, node, g, h, bag=bag)
    inside = np.isin(np.arange(N), bag)
    assert sampled == fit(tree, X[inside], node[inside], g[inside], h[inside])
    assert sampled != fit(tree, X, node, g, h)


def test_a_row_without_hessian_is_as_if_it_were_not_there():
    tree, X, node, (g,), (h,) = grown(2)
    outlier = np.arange(N) % 7 == 0
    X[np.ix_(outlier, range(F - 1))] *= 1_000.0
    silent = fit(tree, X, node, np.where(outlier, 0.0, g), np.where(outlier, 0.0, h))
    assert silent == fit(tree, X[~outlier], node[~outlier], g[~outlier], h[~outlier])


def test_slopes_do_not_depend_on_the_unit_of_a_feature():
    tree, X, node, (g,), (h,) = grown(3, categorical=0)
    unit = 2.0 ** np.array([0, 3, -7, 20, -30, 1])
    plain, scaled = fit(tree, X, node, g, h), fit(tree, X * unit, node, g, h)
    np.testing.assert_array_equal(
        plain.coefficient[:, 0], scaled.coefficient[:, 0] * unit[scaled.feature]
    )


def test_a_feature_that_is_another_once_more_gets_no_slope():
    tree, X, node, (g,), (h,) = grown(4, categorical=0, missing=0.0)
    X[:, 3] = 2.0 * X[:, 1] + 5.0
    X[:, 4] = 7.0
    slopes = fit(tree, X, node, g, h, linear_lambda=0.0)
    slopes_of = [slopes.feature[terms_of(slopes, leaf)].tolist() for leaf in range(tree.n_nodes)]
    paths = [
        oracle.path_features(tree, leaf) if tree.feature[leaf] < 0 else []
        for leaf in range(tree.n_nodes)
    ]
    assert any({1, 3} <= set(path) for path in paths)
    assert any(4 in path for path in paths)
    for got, path in zip(slopes_of, paths, strict=True):
        assert got == [f for f in path if f != 4 and not (f == 3 and 1 in path)]
    assert np.abs(slopes.coefficient).max() < 10.0


def test_small_leaves_have_slopes_along_their_last_splits():
    tree, X, node, (g,), (h,) = grown(5, categorical=0)
    few = np.concatenate([np.flatnonzero(node == leaf)[:11] for leaf in np.unique(node)])
    few.sort()
    tree = replace(tree, count=np.bincount(node[few], minlength=tree.n_nodes).astype(np.int64))
    slopes = fit(tree, X[few], node[few], g[few], h[few])
    assert np.diff(slopes.start).max() == 2
    for leaf in np.flatnonzero(tree.feature < 0):
        expected = oracle.varying(X[few][node[few] == leaf], oracle.path_features(tree, leaf))
        assert slopes.feature[terms_of(slopes, leaf)].tolist() == expected


def test_numbers_of_any_size_give_finite_slopes():
    tree, X, node, (g,), (h,) = grown(6, categorical=0)
    X[:, 0] *= 1e300
    X[:, 1] *= 1e-300
    X[::2, 2], X[1::2, 2] = 1.7e308, -1.7e308
    X[5, 3] = np.inf
    slopes = fit(tree, X, node, g, h)
    alone = Ensemble.from_trees([replace(tree, slopes=slopes)], [0], [0.0], F)
    alone.validate()
    assert 2 not in slopes.feature
    assert {0, 3} <= set(slopes.feature.tolist())
    assert np.isfinite(alone.predict_raw(X)).all()


def test_max_delta_step_holds_for_every_row():
    tree, X, node, (g,), (h,) = grown(7)
    tree = replace(tree, value=np.clip(tree.value, -0.3, 0.3))
    slopes = fit(tree, X, node, 10.0 * g, h, max_delta_step=1.0)
    alone = Ensemble.from_trees([replace(tree, slopes=slopes)], [0], [0.0], F)
    far = random_rows(np.random.default_rng(1), 5_000, F, n_categorical=1) * 100.0
    assert np.abs(alone.predict_raw(far)).max() <= 0.3 * (1.0 + 1e-12)
    free = fit(tree, X, node, 10.0 * g, h)
    assert np.abs(free.coefficient).max() > 2.0 * np.abs(slopes.coefficient).max()


def test_several_outputs_have_slopes_of_their_own():
    tree, X, node, g, h = grown(8, n_values=3)
    together = fit(tree, X, node, g, h)
    for k in range(3):
        alone = fit(replace(tree, value=tree.value[:, [k]].copy()), X, node, g[k], h[k])
        np.testing.assert_array_equal(together.coefficient[:, k], alone.coefficient[:, 0])
        np.testing.assert_array_equal(together.centre[:, k], alone.centre[:, 0])


def test_threads_do_not_matter():
    rng = np.random.default_rng(9)
    tree = random_tree(rng, 20, F)
    X = random_rows(rng, 60_000, F)
    node = Ensemble.from_trees([tree], [0], [0.0], F).apply(X)[:, 0]
    tree = replace(tree, count=np.bincount(node, minlength=tree.n_nodes).astype(np.int64))
    g, h = rng.normal(size=60_000), rng.random(60_000)
    one = fit(tree, X, node, g, h)
    for n_threads in (2, 3, 8):
        assert fit(tree, X, node, g, h, n_threads=n_threads) == one


# Prediction


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("vector", [False, True])
def test_scores_are_those_of_the_definition(dtype, vector):
    ensemble = sloped_ensemble(0, vector=vector)
    ensemble.validate()
    X = random_rows(np.random.default_rng(1), 400, F, n_categorical=1).astype(dtype)
    X[3, 0] = np.inf
    expected = naive.predict_raw(ensemble, X)
    np.testing.assert_array_equal(ensemble.predict_raw(X), expected)
    np.testing.assert_array_equal(ensemble.predict_raw(np.asfortranarray(X), n_threads=3), expected)
    for i in range(5):
        np.testing.assert_array_equal(ensemble.predict_raw(X[i : i + 1])[0], expected[i])
    np.testing.assert_array_equal(list(ensemble.staged_raw(X))[-1], expected)


def test_trees_added_in_training_are_those_of_prediction():
    tree, X, node, g, h = grown(10, n_values=2)
    slopes = LeafSlopes(X, GrowthParams(), 1.0)
    leaf = leaf_numbers(tree, node)
    tree = slopes.fit(tree, list(zip(g, h, strict=True)), leaf, None, 1)
    ensemble = Ensemble.from_trees([tree], [0], [0.5, -1.0], F)
    for place in range(2):
        scores = np.full(N, ensemble.base_score[place])
        slopes.add(tree, place, leaf, scores, 2)
        np.testing.assert_array_equal(scores, ensemble.predict_raw(X)[:, place])


# Arrays


def test_joined_slopes_come_back_one_by_one():
    ensemble = sloped_ensemble(2)
    assert ensemble.tree(1).slopes is None
    trees = [ensemble.tree(t) for t in range(ensemble.n_trees)]
    again = Ensemble.from_trees(trees, ensemble.tree_output, ensemble.base_score, F)
    assert again == ensemble
    assert pickle.loads(pickle.dumps(ensemble)) == ensemble
    first = ensemble.first_trees(3)
    X = random_rows(np.random.default_rng(3), 50, F, n_categorical=1)
    np.testing.assert_array_equal(first.predict_raw(X), ensemble.predict_raw(X, n_trees=3))
    assert ensemble.of_rounds(range(2)) == ensemble


def test_equality_looks_at_slopes():
    ensemble = sloped_ensemble(3)
    slopes = ensemble.slopes
    assert replace(ensemble, slopes=slopes.scaled(1.0)) == ensemble
    assert replace(ensemble, slopes=slopes.scaled(2.0)) != ensemble
    assert replace(ensemble, slopes=None) != ensemble


def test_terms_that_add_nothing_are_left_out():
    tree = sloped_ensemble(4, vector=True).tree(2)
    flat = np.arange(tree.slopes.n_terms) % 3 == 0
    coefficient = np.where(flat[:, None], 0.0, tree.slopes.coefficient)
    kept = replace(tree.slopes, coefficient=coefficient).steep()
    assert kept.n_terms == np.count_nonzero(~flat)
    X = random_rows(np.random.default_rng(5), 300, F, n_categorical=1)
    both = [
        Ensemble.from_trees([replace(tree, slopes=s)], [0], np.zeros(2), F).predict_raw(X)
        for s in (kept, replace(tree.slopes, coefficient=coefficient))
    ]
    np.testing.assert_array_equal(*both)
    assert tree.slopes.scaled(0.0).steep() is None


def test_bins_do_not_say_what_slopes_add():
    tree = replace(sloped_ensemble(5).tree(0), split_bin=np.zeros(9, np.uint8))
    with pytest.raises(ValueError, match="slopes"):
        tree.add_binned(np.zeros((F, 3), np.uint8), np.zeros(3))


@pytest.mark.parametrize("keep", [0.0, 0.3, 1.0])
def test_a_mixture_is_the_mixture_of_both_lines(keep):
    tree, X, node, (g,), (h,) = grown(11, categorical=0, missing=0.0)
    old = replace(tree, slopes=fit(tree, X, node, g, h))
    new = replace(tree, slopes=fit(tree, X + 0.3, node, h, h), value=tree.value[::-1].copy())
    kept = np.full(tree.n_nodes, keep)
    slopes, offset = mixed_slopes(old.slopes, new.slopes, kept)
    mixed = replace(tree, value=keep * old.value + (1 - keep) * new.value + offset, slopes=slopes)
    inside = [replace(t, slopes=unlimited(t.slopes)) for t in (old, new, mixed)]
    scores = [Ensemble.from_trees([t], [0], [0.0], F).predict_raw(X)[:, 0] for t in inside]
    np.testing.assert_allclose(scores[2], keep * scores[0] + (1 - keep) * scores[1], atol=1e-12)
    low = {
        0.0: new.slopes.low,
        0.3: np.minimum(old.slopes.low, new.slopes.low),
        1.0: old.slopes.low,
    }
    np.testing.assert_array_equal(slopes.low, low[keep])


def unlimited(slopes):
    return replace(slopes, low=slopes.low - 100.0, high=slopes.high + 100.0)


def test_a_mixture_of_nothing_is_nothing():
    assert mixed_slopes(None, None, np.ones(3)) == (None, 0.0)
    tree, X, node, (g,), (h,) = grown(12)
    slopes = fit(tree, X, node, g, h)
    only_old, offset = mixed_slopes(slopes, None, np.ones(tree.n_nodes))
    assert only_old == slopes
    assert not offset.any()
    assert mixed_slopes(slopes, None, np.zeros(tree.n_nodes))[0] is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda s: {"feature": s.feature + np.int32(F)}, "feature of a slope"),
        (lambda s: {"feature": s.feature - np.int32(F)}, "feature of a slope"),
        (lambda s: {"feature": s.feature.astype(np.int64)}, "int64"),
        (lambda s: {"start": s.start[:-1]}, "shape"),
        (lambda s: {"start": s.start + 1}, "span the terms"),
        (lambda s: {"start": np.sort(s.start)[::-1].copy()}, "span the terms"),
        (lambda s: {"start": moved_to_the_root(s.start)}, "an inner node"),
        (lambda s: {"start": not_increasing(s.start)}, "is not increasing"),
        (lambda s: {"coefficient": s.coefficient * np.inf}, "non-finite"),
        (lambda s: {"centre": s.centre * np.nan}, "non-finite"),
        (lambda s: {"coefficient": np.hstack([s.coefficient] * 2)}, "shape"),
        (lambda s: {"low": s.high + 1.0}, "range"),
        (lambda s: {"coefficient": s.coefficient * 1e307, "high": s.high + 1e6}, "can overflow"),
        (
            lambda s: {"low": np.full_like(s.low, -1.7e308), "centre": 1.7e308 + 0 * s.centre},
            "can overflow",
        ),
        (lambda s: {"high": s.high.tolist()}, "not an array"),
    ],
)
def test_what_is_not_slopes_is_refused(change, reason):
    ensemble = sloped_ensemble(6)
    slopes = replace(ensemble.slopes, **change(ensemble.slopes))
    with pytest.raises(ValueError, match=reason):
        replace(ensemble, slopes=slopes).validate()


def moved_to_the_root(start):
    start = start.copy()
    start[1] = start[start > 0][0]
    return np.maximum.accumulate(start)


def not_increasing(start):
    start = start.copy()
    start[3] = start[-1] + 5
    return start
