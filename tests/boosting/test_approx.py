"""`splitter="approx"`: candidate splits that divide the hessian evenly, once or for each tree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow._tree.approx import SketchedTable

RNG = np.random.default_rng(7)
X = np.column_stack([RNG.normal(size=(500, 2)), RNG.integers(0, 40, 500), RNG.integers(0, 6, 500)])
X[::13, 0] = np.nan
CLASSES = RNG.random(500) < 1 / (1 + np.exp(-2 * np.nan_to_num(X[:, 0]) - X[:, 1]))
OPTIONS = {"n_estimators": 5, "max_bins": 12, "splitter": "approx", "min_samples_leaf": 2}
CATEGORICAL = {"categorical_features": [3]}


def sketched(matrix, hessian, max_bins, n_threads=1, often=False):
    n_features = matrix.shape[1]
    none = np.zeros(n_features, bool)
    table = SketchedTable(matrix, none, np.ones(n_features, np.int32), n_threads, often=often)
    return table.bins(np.asarray(hessian, float), max_bins)


# ---- the guarantee ---------------------------------------------------------------------------

WEIGHTS = st.one_of(st.just(0.0), st.floats(1e-6, 1e6))


@settings(max_examples=150)
@given(
    st.lists(st.tuples(st.integers(0, 60) | st.none(), WEIGHTS), min_size=1, max_size=120),
    st.integers(2, 20),
    st.booleans(),
)
def test_a_bin_has_its_share_of_the_hessian_or_one_value(rows, max_bins, often):
    column = np.array([np.nan if value is None else float(value) for value, _ in rows])
    hessian = np.array([weight for _, weight in rows])
    binned = sketched(column[:, None], hessian, max_bins, often=often)
    bins, present = binned.by_column[0], ~np.isnan(column)
    np.testing.assert_array_equal(bins[~present], 255)
    # Bins are those of the thresholds, all in use, and at most max_bins.
    expected = np.searchsorted(binned.threshold_values, column[present])
    np.testing.assert_array_equal(bins[present], expected)
    assert binned.n_bins[0] <= max_bins
    assert set(expected) == set(range(len(set(expected))))
    if len(np.unique(column[present])) <= max_bins:
        assert len(set(expected)) == len(np.unique(column[present]))
    weights = hessian[present] if hessian.any() else np.ones(present.sum())
    rounding = 64 * hessian.max() * 2**-31  # of hessians far below the largest
    for b in set(expected):
        if len(np.unique(column[present][expected == b])) > 1:
            assert weights[expected == b].sum() <= (2 / max_bins + 1e-6) * weights.sum() + rounding


def test_hessians_far_below_that_of_a_missing_value_may_share_a_bin():
    column = np.array([[0.0], [1.0], [2.0], [3.0], [np.nan]])
    bins = sketched(column, [1.43e-6, 0.0, 0.0, 0.0, 128.0], 3).by_column[0]
    np.testing.assert_array_equal(bins, [0, 0, 0, 0, 255])
    bins = sketched(column, [1.43e-6, 0.0, 0.0, 0.0, 1.0], 3).by_column[0]
    assert bins[0] != bins[1]


@pytest.mark.parametrize("often", [False, True])
def test_shares_are_nearly_even_in_columns_of_many_values(often):
    hessian = RNG.gamma(0.5, size=20_000)
    column = RNG.normal(size=(20_000, 1))
    binned = sketched(column, hessian, 50, often=often)
    bins = binned.by_column[0]
    np.testing.assert_array_equal(bins, np.searchsorted(binned.threshold_values, column[:, 0]))
    shares = np.bincount(bins, hessian) / hessian.sum()
    assert 45 <= len(shares) <= 50
    assert shares.max() <= 1.04 / 50


def test_values_that_share_a_cell_are_told_apart_if_they_are_heavy():
    column = np.append(RNG.permutation(20_000).astype(float), np.nan)  # about five values in a cell
    hessian = np.where(np.isin(column, [9000.0, 9001.0, 9002.0]), 1.0, 1e-6)
    bins = sketched(column[:, None], hessian, 50, often=True).by_column[0]
    assert len(set(bins[hessian == 1.0])) == 3
    assert bins[-1] == 255


@pytest.mark.parametrize("often", [False, True])
def test_bins_do_not_depend_on_the_number_of_threads_or_the_order_of_rows(often):
    hessian = RNG.random(500)
    one, many = (sketched(X[:, :3], hessian, 20, n_threads, often) for n_threads in (1, 3))
    np.testing.assert_array_equal(one.by_column, many.by_column)
    np.testing.assert_array_equal(one.by_row, many.by_row)
    order = RNG.permutation(500)
    shuffled = sketched(X[order, :3], hessian[order], 20)
    np.testing.assert_array_equal(one.by_column[:, order], shuffled.by_column)
    np.testing.assert_array_equal(one.threshold_values, shuffled.threshold_values)


# ---- trees -----------------------------------------------------------------------------------


def naive_thresholds(column, hessian, max_bins):
    """Fill bins value by value, with the smallest of the capacities that suffices."""
    present = ~np.isnan(column)
    values = np.unique(column[present])
    weight = [hessian[present][column[present] == value].sum() for value in values]
    for capacity in [0.0] if len(values) <= max_bins else np.array([33, 34, 36, 40, 48, 64]) / 32:
        firsts, filled = [], 0.0
        for i, w in enumerate(weight):
            if i and filled + w > capacity * sum(weight) / max_bins * (1 + 1e-7):
                firsts.append(i)
                filled = 0.0
            filled += w
        if len(firsts) < max_bins:
            break
    return [(values[i - 1] + values[i]) / 2 for i in firsts]


@pytest.mark.parametrize("sketch", ["global", "tree"])
def test_trees_split_at_thresholds_that_divide_their_hessians(sketch):
    """Thresholds are those of the hessians before the tree, and the root has the best of them."""
    model = hr.GradientBoostingClassifier(**OPTIONS, sketch=sketch, reg_lambda=1.0)
    model.fit(X[:, :3], CLASSES)
    base = model._model.ensemble.base_score[0]
    after = [np.full(500, base), *(s.reshape(-1) for s in staged_scores(model, X[:, :3]))]
    n_split = 0
    for t in range(5):
        tree, p = model._model.ensemble.tree(t), 1 / (1 + np.exp(-after[t]))
        p_sketch = p if sketch == "tree" else 1 / (1 + np.exp(-after[0]))
        best = 0.0
        for f in range(3):
            candidates = naive_thresholds(X[:, f], p_sketch * (1 - p_sketch), 12)
            used = tree.threshold[tree.feature == f]
            used = used[used < 1e300]
            n_split += len(used)
            assert np.isin(used, candidates).all()
            best = max(best, best_gain(X[:, f], p - CLASSES, p * (1 - p), candidates))
        assert tree.gain[0] == pytest.approx(best, rel=1e-5)
    assert n_split > 10


def staged_scores(model, table):
    return (model._model.ensemble.first_trees(t + 1).predict_raw(table) for t in range(5))


def best_gain(column, g, h, candidates):
    def score(rows):
        return g[rows].sum() ** 2 / (h[rows].sum() + 1.0)

    missing = np.isnan(column)
    below = [column <= threshold for threshold in candidates]
    sides = [*below, *(left | missing for left in below), ~missing]
    allowed = [left for left in sides if min(left.sum(), (~left).sum()) >= 2]
    return max((score(left) + score(~left) - score(left | ~left)) / 2 for left in allowed)


def test_the_candidates_of_few_values_are_all_of_them():
    few = X.copy()
    few[:, :2] = few[:, :2].round(1)
    options = {**OPTIONS, "max_bins": 255, **CATEGORICAL}
    hist = hr.GradientBoostingClassifier(**options | {"splitter": "hist"}).fit(few, CLASSES)
    for sketch in ("global", "tree"):
        model = hr.GradientBoostingClassifier(**options, sketch=sketch).fit(few, CLASSES)
        np.testing.assert_allclose(model.predict_proba(few), hist.predict_proba(few), atol=1e-7)


CASES = {
    "two classes": (hr.GradientBoostingClassifier, CLASSES, {}),
    "three classes": (hr.GradientBoostingClassifier, np.digitize(X[:, 1], [-0.5, 0.5]), {}),
    "vector": (
        hr.GradientBoostingRegressor,
        np.column_stack([X[:, 1], CLASSES]),
        {"multi_strategy": "vector"},
    ),
    "poisson": (hr.GradientBoostingRegressor, np.exp(X[:, 1]), {"loss": "poisson"}),
    "symmetric": (hr.GradientBoostingClassifier, CLASSES, {"grow_policy": "symmetric"}),
    "sample": (hr.GradientBoostingClassifier, CLASSES, {"subsample": 0.5, "prune": True}),
    "dart": (hr.GradientBoostingClassifier, CLASSES, {"boosting": "dart"}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("sketch", ["global", "tree"])
def test_models_are_the_same_on_any_number_of_threads(name, sketch, tmp_path):
    kind, y, options = CASES[name]
    files = []
    for n_jobs in (1, 3):
        model = kind(**OPTIONS, **CATEGORICAL, **options, sketch=sketch, n_jobs=n_jobs)
        model.fit(X, y).save(tmp_path / "model")
        files.append((tmp_path / "model").read_bytes())
    assert files[0] == files[1]
    loaded = hr.load(tmp_path / "model")
    assert loaded.sketch == sketch
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_a_fit_that_continues_another_has_the_same_sketches():
    options = OPTIONS | {"sketch": "tree"}
    whole = hr.GradientBoostingClassifier(**options).fit(X, CLASSES)
    first = hr.GradientBoostingClassifier(**options | {"n_estimators": 3}).fit(X, CLASSES)
    rest = hr.GradientBoostingClassifier(**options | {"n_estimators": 2})
    rest.fit(X, CLASSES, init_model=first)
    np.testing.assert_array_equal(rest.predict_proba(X), whole.predict_proba(X))


def test_what_is_not_allowed_is_named():
    with pytest.raises(hr.ParameterError, match="sketch='local' is not allowed"):
        hr.GradientBoostingClassifier(splitter="approx", sketch="local").fit(X, CLASSES)
