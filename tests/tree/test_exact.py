"""Exact greedy growth, held to the oracle, to exact rational arithmetic and to brute force."""

import hashlib
import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow._tree.exact import ExactGrower
from hedgerow._tree.growth_params import GrowthParams
from interrupts import interrupted_inside
from levels import printed_at_every_level
from oracles.grow import Columns, assert_same_splits, category_set

PARAMS = st.builds(
    GrowthParams,
    max_leaves=st.sampled_from([0, 2, 5, 16]),
    max_depth=st.sampled_from([0, 1, 3]),
    min_samples_leaf=st.sampled_from([0, 1, 4]),
    min_child_weight=st.sampled_from([0.0, 1e-3, 2.0]),
    reg_lambda=st.sampled_from([0.0, 1.0, 100.0]),
    reg_alpha=st.sampled_from([0.0, 0.3, 5.0]),
    min_split_gain=st.sampled_from([0.0, 0.3]),
    max_delta_step=st.sampled_from([0.0, 0.2]),
    learning_rate=st.sampled_from([1.0, 0.1]),
    grow_policy=st.sampled_from(["leafwise", "levelwise"]),
    max_cat_to_onehot=st.sampled_from([1, 4]),
    max_cat_threshold=st.sampled_from([3, 32]),
    cat_l2=st.sampled_from([0.0, 10.0]),
    min_category_weight=st.sampled_from([0.0, 0.7, 2.5]),
)


def random_table(rng, n_rows, n_features, missing):
    """A table with ties, some gaps, and about a third of its columns categorical."""
    X = rng.normal(size=(n_rows, n_features))
    coarse = rng.random(n_features) < 0.5
    X[:, coarse] = np.round(X[:, coarse], 1)
    is_categorical = rng.random(n_features) < 0.35
    for f in np.flatnonzero(is_categorical):
        X[:, f] = rng.integers(0, rng.choice([2, 5, 60, 255]), n_rows)
    X[rng.random(X.shape) < missing] = np.nan
    return X, is_categorical


def grown(X, g, h, params, is_categorical=None, **options):
    return ExactGrower(X, is_categorical).grow(g, h, params, **options)


@settings(max_examples=150)
@given(
    params=PARAMS,
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 150),
    missing=st.sampled_from([0.0, 0.1, 0.7]),
    bagged=st.booleans(),
    masked=st.booleans(),
)
def test_every_split_is_the_oracle_s(params, seed, n_rows, missing, bagged, masked):
    rng = np.random.default_rng(seed)
    X, is_categorical = random_table(rng, n_rows, 4, missing)
    g, h = rng.normal(size=n_rows), rng.uniform(0, 1, n_rows)
    rows = rng.permutation(n_rows)[: n_rows // 2 + 1] if bagged else None
    features = np.array([True, False, True, True]) if masked else None
    tree = grown(X, g, h, params, is_categorical, rows=rows, features=features, n_threads=2)
    assert_same_splits(
        tree,
        Columns.from_values(X, is_categorical),
        g,
        h,
        params,
        rows=None if rows is None else np.sort(rows),
        features=None if features is None else np.flatnonzero(features),
        rtol=1e-12,
    )


HEAVY = {
    "lognormal": lambda rng, n: rng.lognormal(sigma=3, size=n),
    "cauchy": lambda rng, n: rng.standard_cauchy(n),
    "million": lambda rng, n: np.where(rng.random(n) < 0.01, 1e6, 1) * rng.normal(size=n),
}


@pytest.mark.parametrize("policy", ["leafwise", "levelwise"])
@pytest.mark.parametrize("tail", HEAVY)
def test_heavy_tailed_targets_get_the_oracle_s_splits(tail, policy):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(800, 4))
    y = HEAVY[tail](rng, 800)
    g, h = y.mean() - y, np.ones(800)
    params = GrowthParams(max_leaves=31, grow_policy=policy, reg_lambda=0.0)
    tree = grown(X, g, h, params)
    assert_same_splits(tree, Columns.from_values(X), g, h, params, rtol=1e-12)


@pytest.mark.parametrize("reg_lambda", [0.0, 1.0])
def test_weights_over_ten_decades_get_the_oracle_s_splits(reg_lambda):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(800, 4))
    w = 10 ** rng.uniform(-5, 5, 800)
    g, h = w * rng.normal(size=800), w
    params = GrowthParams(max_leaves=63, reg_lambda=reg_lambda, min_child_weight=0.0)
    tree = grown(X, g, h, params)
    assert_same_splits(tree, Columns.from_values(X), g, h, params, rtol=1e-12)


def exact_weight(g, h, rows, params):
    G = sum((Fraction(g[i]) for i in rows), Fraction(0))
    d = sum((Fraction(h[i]) for i in rows), Fraction(params.reg_lambda))
    alpha = Fraction(params.reg_alpha)
    shrunk = max(abs(G) - alpha, 0) * (1 if G > 0 else -1)
    return -shrunk / d, shrunk * shrunk / d


@pytest.mark.parametrize("tail", [*HEAVY, "normal"])
def test_gains_and_weights_equal_the_formulas_in_rational_arithmetic(tail):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(200, 3))
    y = HEAVY.get(tail, lambda rng, n: rng.normal(size=n))(rng, 200)
    w = 10 ** rng.uniform(-5, 5, 200)
    g, h = w * (np.average(y, weights=w) - y), w
    params = GrowthParams(
        max_leaves=20, reg_alpha=0.01, learning_rate=1.0, min_split_gain=0.125, reg_lambda=0.5
    )
    tree = grown(X, g, h, params)
    node_rows = {0: list(range(200))}
    assert len(tree["feature"]) > 5
    for node in range(len(tree["feature"])):
        weight, score = exact_weight(g, h, node_rows[node], params)
        assert abs(Fraction(tree["value"][node, 0]) - weight) <= Fraction(1, 10**12) * abs(weight)
        if tree["feature"][node] < 0:
            continue
        sides = split_rows(tree, node, X, node_rows[node])
        scores = [exact_weight(g, h, rows, params)[1] for rows in sides]
        gain = (sum(scores) - score) / 2 - Fraction(params.min_split_gain)
        assert abs(Fraction(tree["gain"][node]) - gain) <= Fraction(1, 10**12) * gain
        node_rows[tree["left"][node]], node_rows[tree["right"][node]] = sides


def split_rows(tree, node, X, rows):
    x = X[rows, tree["feature"][node]]
    left = np.where(np.isnan(x), tree["missing_left"][node], x <= tree["threshold"][node])
    return [i for i, go in zip(rows, left, strict=True) if go], [
        i for i, go in zip(rows, left, strict=True) if not go
    ]


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_stump_has_the_best_structure_score_of_all_stumps(seed):
    rng = np.random.default_rng(seed)
    X = rng.choice([0.0, 1.0, 2.0, 3.0, np.nan], (7, 2))
    g, h = rng.integers(-9, 10, 7).astype(float), rng.integers(1, 4, 7).astype(float)

    def structure_score(rows):
        return sum((Fraction(v) for v in g[rows]), Fraction(0)) ** 2 / Fraction(h[rows].sum() + 1)

    whole = structure_score(np.arange(7))
    best = Fraction(0)
    for f, t, missing_left in itertools.product(range(2), [0, 1, 2, 3], [False, True]):
        left = np.where(np.isnan(X[:, f]), missing_left, X[:, f] <= t)
        if 0 < left.sum() < 7:
            sides = structure_score(left) + structure_score(~left)
            best = max(best, (sides - whole) / 2)
    tree = grown(X, g, h, GrowthParams(max_leaves=2, min_child_weight=0.0))
    assert tree["gain"][0] == pytest.approx(float(best), rel=1e-12, abs=1e-12)


def test_gains_add_up_to_what_the_objective_falls_by():
    rng = np.random.default_rng(8)
    X, is_categorical = random_table(rng, 500, 5, 0.1)
    g, h = rng.normal(size=500), rng.uniform(0.1, 1, 500)
    params = GrowthParams(max_leaves=25, learning_rate=1.0, cat_l2=0.0, min_split_gain=0.1)
    tree = grown(X, g, h, params, is_categorical)

    def objective(w, leaf, n_leaves):
        leaf_penalty = params.min_split_gain * n_leaves + 0.5 * params.reg_lambda * (w**2).sum()
        return (g * w[leaf] + 0.5 * h * w[leaf] ** 2).sum() + leaf_penalty

    leaves = np.flatnonzero(tree["feature"] < 0)
    leaf = np.searchsorted(leaves, tree["leaf_of_row"])
    after = objective(tree["value"][leaves, 0], leaf, len(leaves))
    before = objective(tree["value"][:1, 0], np.zeros(500, int), 1)
    assert before - after == pytest.approx(tree["gain"].sum(), rel=1e-12)


def digest(tree):
    return hashlib.sha256(b"".join(tree[name].tobytes() for name in sorted(tree))).hexdigest()


def larger_tree(n_threads, policy="levelwise"):
    rng = np.random.default_rng(9)
    X, is_categorical = random_table(rng, 20_000, 6, 0.05)
    g, h = rng.normal(size=20_000), rng.uniform(0.1, 1, 20_000)
    rows = rng.permutation(20_000)[:15_000]
    params = GrowthParams(
        max_leaves=64, colsample_bylevel=0.8, colsample_bynode=0.8, grow_policy=policy
    )
    grower = ExactGrower(X, is_categorical, n_threads=n_threads)
    return grower.grow(g, h, params, rows=rows, n_threads=n_threads)


@pytest.mark.parametrize("policy", ["leafwise", "levelwise"])
def test_the_tree_is_the_same_bytes_on_any_number_of_threads(policy):
    assert len({digest(larger_tree(n, policy)) for n in (1, 2, 3, 8)}) == 1


def test_the_tree_is_the_same_bytes_at_every_instruction_set_level():
    code = "from tree.test_exact import *; print(digest(larger_tree(2)))"
    assert len(set(printed_at_every_level(code))) == 1


def test_a_grower_that_grew_another_tree_before_grows_the_same_tree():
    rng = np.random.default_rng(10)
    X, is_categorical = random_table(rng, 300, 4, 0.1)
    g, h = rng.normal(size=300), np.ones(300)
    used = ExactGrower(X, is_categorical)
    used.grow(rng.normal(size=300), h, GrowthParams(), rows=np.arange(0, 300, 3))
    assert digest(used.grow(g, h, GrowthParams())) == digest(
        grown(X, g, h, GrowthParams(), is_categorical)
    )


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(11)
    X = np.round(rng.normal(size=(500, 4)), 1)
    g, h = rng.normal(size=500), rng.uniform(0.1, 1, 500)
    shuffled = rng.permutation(500)
    tree = grown(X, g, h, GrowthParams())
    other = grown(X[shuffled], g[shuffled], h[shuffled], GrowthParams())
    np.testing.assert_array_equal(tree["feature"], other["feature"])
    np.testing.assert_array_equal(tree["threshold"], other["threshold"])


LAYOUTS = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "a slice": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "a list of columns": lambda X: [X[:, f].copy() for f in range(X.shape[1])],
    "big-endian": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "int64": lambda X: [X[:, f].astype(np.int64) for f in range(X.shape[1])],
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_dtype_and_layout_do_not_matter(layout, dtype):
    rng = np.random.default_rng(12)
    X = np.round(100 * rng.normal(size=(200, 3)))
    g, h = rng.normal(size=200), np.ones(200)
    expected = digest(grown(X, g, h, GrowthParams()))
    assert digest(grown(LAYOUTS[layout](X.astype(dtype)), g, h, GrowthParams())) == expected


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float64])
def test_categories_may_come_in_any_dtype(dtype):
    rng = np.random.default_rng(13)
    bins = rng.integers(0, 30, 400)
    g = rng.normal(size=30)[bins]
    missing = {np.uint8: 255, np.int32: -1, np.float64: np.nan}[dtype]
    column = np.where(rng.random(400) < 0.1, missing, bins).astype(dtype)
    tree = grown([column], g, np.ones(400), GrowthParams(), np.array([True]))
    reference = np.where(np.isin(column, [255, -1]) | np.isnan(column), np.nan, column)
    assert_same_splits(
        tree, Columns.from_values(reference[:, None], [True]), g, np.ones(400), GrowthParams()
    )


FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(FLOATS, FLOATS)
def test_a_threshold_separates_its_neighbours(a, b):
    lower, upper = min(a, b), max(a, b)
    if lower < upper:
        X, g = np.array([[upper], [lower]]), np.array([1.0, -1.0])
        tree = grown(X, g, np.ones(2), GrowthParams(max_leaves=2))
        assert lower <= tree["threshold"][0] < upper


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbouring_floats_and_extremes_are_told_apart(dtype):
    one, largest = dtype(1), np.finfo(dtype).max
    tiny = np.finfo(dtype).smallest_subnormal
    values = [-largest, -one, -tiny, 0, tiny, one, np.nextafter(one, dtype(2)), largest]
    for cut in range(1, len(values)):
        X = np.array(values, dtype)[::-1, None]
        g = np.where(np.arange(len(values))[::-1] < cut, 1.0, -1.0)
        tree = grown(X, g, np.ones(len(values)), GrowthParams(max_leaves=2))
        np.testing.assert_array_equal(X[:, 0] <= tree["threshold"][0], g > 0)


def test_negative_zero_is_zero():
    X = np.array([[0.0], [-0.0], [0.0], [-0.0]])
    tree = grown(X, np.array([1.0, -1, 1, -1]), np.ones(4), GrowthParams())
    assert tree["feature"].tolist() == [-1]


def test_missing_against_all_values_is_a_split():
    X = np.array([[1.0], [2.0], [np.nan], [np.nan]])
    tree = grown(X, np.array([1.0, 1, -1, -1]), np.ones(4), GrowthParams(max_leaves=2))
    assert tree["threshold"][0] == np.finfo(np.float64).max
    assert not tree["missing_left"][0]


@pytest.mark.parametrize("exponent", [-300, 300, 900, 1000])
def test_a_split_does_not_depend_on_the_size_of_the_gradients(exponent):
    rng = np.random.default_rng(4)
    X, g, h = rng.normal(size=(200, 3)), rng.normal(size=200), np.ones(200)
    params = GrowthParams(max_leaves=2, reg_lambda=0.0)
    expected, actual = (grown(X, g * 2.0**e, h, params) for e in (0, exponent))
    for name in ("feature", "threshold", "count"):
        np.testing.assert_array_equal(actual[name], expected[name])


def test_gradients_whose_sizes_have_no_sum_are_not_split():
    X = np.arange(200.0)[:, None]
    g = np.where(np.arange(200) % 2, 1e307, -1e307)
    assert grown(X, g, np.ones(200), GrowthParams(max_leaves=2))["feature"].tolist() == [-1]


def test_rows_are_in_the_leaf_that_the_tests_lead_to():
    rng = np.random.default_rng(14)
    X, is_categorical = random_table(rng, 300, 4, 0.2)
    rows = np.flatnonzero(rng.random(300) < 0.6)
    tree = grown(X, rng.normal(size=300), np.ones(300), GrowthParams(), is_categorical, rows=rows)
    for row in range(300):
        expected = leaf_of(tree, X[row]) if row in rows else -1
        assert tree["leaf_of_row"][row] == expected


def leaf_of(tree, x):
    node = 0
    while tree["feature"][node] >= 0:
        value = x[tree["feature"][node]]
        if np.isnan(value):
            left = tree["missing_left"][node]
        elif tree["category_set"][node] >= 0:
            left = int(value) in category_set(_Namespace(tree), node)
        else:
            left = value <= tree["threshold"][node]
        node = tree["left"][node] if left else tree["right"][node]
    return node


class _Namespace:
    def __init__(self, arrays):
        self.__dict__.update(arrays)


def test_of_equal_features_the_first_is_used():
    rng = np.random.default_rng(15)
    x = rng.normal(size=(200, 1))
    tree = grown(np.hstack([-x, x, 2 * x]), rng.normal(size=200), np.ones(200), GrowthParams())
    assert set(tree["feature"]) == {0, -1}


@pytest.mark.parametrize("reg_lambda", [0.0, 1.0])
def test_equal_gradients_are_not_split(reg_lambda):
    X = np.random.default_rng(16).normal(size=(1000, 3))
    params = GrowthParams(reg_lambda=reg_lambda)
    tree = grown(X, np.full(1000, 0.1), np.full(1000, 0.3), params)
    assert len(tree["feature"]) == 1


@pytest.mark.parametrize("n_rows", [1, 2, 50])
def test_a_constant_column_makes_a_single_leaf(n_rows):
    g = np.linspace(-1, 2, n_rows)
    tree = grown(np.ones((n_rows, 1)), g, np.ones(n_rows), GrowthParams(learning_rate=1.0))
    assert tree["feature"].tolist() == [-1]
    assert tree["value"][0, 0] == pytest.approx(-g.sum() / (n_rows + 1))


def features_by_depth(tree):
    depth = np.zeros(len(tree["feature"]), int)
    used: dict[int, set[int]] = {}
    for node in np.flatnonzero(tree["feature"] >= 0):
        depth[[tree["left"][node], tree["right"][node]]] = depth[node] + 1
        used.setdefault(depth[node], set()).add(int(tree["feature"][node]))
    return used


def test_a_level_uses_only_the_features_it_drew():
    rng = np.random.default_rng(17)
    X, g = rng.normal(size=(2000, 20)), rng.normal(size=2000)
    params = GrowthParams(max_leaves=0, max_depth=5, colsample_bylevel=0.1)
    draws = []
    for tree_id in range(5):
        used = features_by_depth(grown(X, g, np.ones(2000), params, tree_id=tree_id))
        assert all(len(features) <= 2 for features in used.values())
        draws.append(str(used))
    assert len(set(draws)) == 5


def test_a_node_that_drew_one_feature_splits_on_that_feature_best():
    rng = np.random.default_rng(18)
    X, g, h = rng.normal(size=(500, 8)), rng.normal(size=500), np.ones(500)
    roots = set()
    for seed in range(40):
        params = GrowthParams(max_leaves=2, colsample_bynode=0.125, seed=seed)
        tree = grown(X, g, h, params)
        roots.add(int(tree["feature"][0]))
        only = Columns.from_values(X)
        assert_same_splits(tree, only, g, h, params, features=[int(tree["feature"][0])])
    assert roots == set(range(8))


MANY_COLUMNS = """
import numpy as np
from hedgerow._tree.exact import ExactGrower

column = np.random.default_rng(0).normal(size=1_000_000)
"""


def test_ctrl_c_ends_the_sorting_of_columns():
    call = "ExactGrower([column] * 40, [False] * 40, n_threads=2)"
    assert interrupted_inside("exact_presort", MANY_COLUMNS, call)
