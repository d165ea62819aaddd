"""Binning against naive NumPy: np.searchsorted for the mapping, np.unique for the thresholds."""

import hashlib
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hedgerow._data.binning import Binner, block_shape
from hedgerow._data.sparse import SparseLayouts
from hedgerow.exceptions import DataError, ModelFileError
from levels import printed_at_every_level
from oracles.places import decoded

DTYPES = [
    *("float16", "float32", "float64", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
]


@dataclass
class Numbers:
    values: np.ndarray
    missing: np.ndarray | None = None


@dataclass
class Codes:
    codes: np.ndarray


class StandIn:
    """The attributes of a `Table` that binning reads."""

    shared_bins, on_gpu, reads_columns = None, None, False

    def __init__(self, dense=None, sparse=None, columns=(), names=None):
        self.names, self.dense, self.sparse, self.columns = names, dense, sparse, columns
        whole = dense if sparse is None else sparse.matrix
        if whole is None:
            first = columns[0]
            self.n_rows = len(first.codes if isinstance(first, Codes) else first.values)
            self.n_features = len(columns)
        else:
            self.n_rows, self.n_features = whole.shape

    def column(self, j: int) -> Any:
        if self.dense is not None:
            return Numbers(self.dense[:, j])
        if self.sparse is not None:
            return Numbers(self.sparse.csc[:, [j]].toarray()[:, 0])
        return self.columns[j]

    def pieces(self, *, drops=False):  # noqa: ARG002
        yield 0, self


def naive_bins(thresholds, x):
    with np.errstate(invalid="ignore"):  # aarch64 flags the conversion of a signalling NaN
        x = np.asarray(x).astype(np.float64)
    return np.where(np.isnan(x), 255, np.searchsorted(thresholds, x, side="left"))


def assert_bins_are_naive(binned, binner, columns):
    for f, x in enumerate(columns):
        expected = naive_bins(binner.thresholds[f], x)
        np.testing.assert_array_equal(binned.by_column[f], expected)
    np.testing.assert_array_equal(decoded(binned), binned.by_column)


def random_matrix(rng, dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        X = rng.standard_normal(shape).astype(dtype)
        X[rng.random(shape) < 0.05] = np.nan
        return X
    if dtype.kind == "b":
        return rng.random(shape) < 0.3
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)


LAYOUTS = {
    "C": lambda X: np.ascontiguousarray(X),
    "F": lambda X: np.asfortranarray(X),
    "every_other": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "read_only": lambda X: np.frombuffer(X.tobytes(), X.dtype).reshape(X.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_bin_is_the_number_of_thresholds_below_the_value(dtype, layout):
    rng = np.random.default_rng(1)
    X = LAYOUTS[layout](random_matrix(rng, dtype, (531, 5)))
    for max_bins in (2, 13, 60, 255):
        binner = Binner(max_bins=max_bins)
        assert_bins_are_naive(binner.fit_transform(StandIn(X)), binner, X.T)


@pytest.mark.parametrize("n_features", [1, 3, 4, 8, 13, 16, 28, 33, 70, 97])
@pytest.mark.parametrize("n_rows", [1, 15, 16, 257, 9001])
@pytest.mark.parametrize("max_bins", [20, 255])
def test_both_layouts_agree_for_every_shape(n_features, n_rows, max_bins):
    rng = np.random.default_rng(n_rows)
    X = random_matrix(rng, "float32", (n_rows, n_features))
    binner = Binner(max_bins=max_bins)
    binned = binner.fit_transform(StandIn(X))
    assert_bins_are_naive(binned, binner, X.T)
    assert binned.by_row.ctypes.data % 64 == 0
    assert not binned.by_row[:, :, binned.width :].any()
    n_columns = binned.places[:, 0].max() + 1
    assert not binned.by_row[-1, :, n_columns - (len(binned.by_row) - 1) * binned.width :].any()


def test_rows_do_not_straddle_cache_lines_where_that_is_cheap():
    strides = {w: block_shape(w)[1] for w in range(1, 33)}
    assert {w: s for w, s in strides.items() if s & (s - 1) == 0} == {
        **dict.fromkeys([1, 2, 3, 4], 4),
        **dict.fromkeys([5, 6, 7, 8], 8),
        **dict.fromkeys([13, 14, 15, 16], 16),
        **dict.fromkeys([28, 29, 30, 31, 32], 32),
    }
    assert all(s % 4 == 0 and w <= s for w, s in strides.items())
    assert block_shape(500) == (32, 32)
    assert block_shape(54) == (27, 28)


def test_columns_of_different_types_are_mapped_as_each_is():
    rng = np.random.default_rng(2)
    values = [random_matrix(rng, dtype, (700, 2))[:, 1] for dtype in DTYPES]
    binner = Binner(max_bins=50)
    binned = binner.fit_transform(StandIn(columns=[Numbers(x) for x in values]))
    assert_bins_are_naive(binned, binner, values)


def test_a_field_of_records_is_mapped_whatever_its_stride():
    records = np.zeros(300, [("byte", np.int8), ("x", np.float32)])
    records["x"] = np.random.default_rng(3).standard_normal(300)
    binner = Binner(max_bins=9)
    binned = binner.fit_transform(StandIn(columns=[Numbers(records["x"])]))
    assert_bins_are_naive(binned, binner, [records["x"]])


def test_masked_integers_are_missing():
    rng = np.random.default_rng(4)
    values = rng.integers(-1000, 1000, 800)
    missing = rng.random(800) < 0.2
    values[missing] = 10**9
    binner = Binner(max_bins=30)
    table = StandIn(columns=[Numbers(values, missing), Numbers(values[::-1], missing[::-1])])
    binned = binner.fit_transform(table)
    assert binner.threshold_values.max() < 1000
    expected = np.where(missing, np.nan, values)
    assert_bins_are_naive(binned, binner, [expected, expected[::-1]])


def test_every_float16_is_read_exactly():
    every = np.arange(65536).astype(np.uint16).view(np.float16)
    every = every[~np.isinf(every)]
    binner = Binner()
    binned = binner.fit_transform(StandIn(every[:, None]))
    assert_bins_are_naive(binned, binner, [every])


def distinct_floats(dtype):
    width = 8 * np.dtype(dtype).itemsize
    floats = st.floats(allow_nan=False, allow_infinity=False, width=width)
    return hnp.arrays(dtype, st.integers(1, 60), elements=floats)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@given(data=st.data())
@settings(max_examples=150)
def test_few_distinct_values_each_get_a_bin_with_a_threshold_between(dtype, data):
    x = data.draw(distinct_floats(dtype))
    x = np.concatenate([x, np.nextafter(x, x.dtype.type(0)), -x])
    binner = Binner()
    binned = binner.fit_transform(StandIn(x[:, None]))
    distinct = np.unique(x).astype(np.float64)
    assert binned.n_bins[0] == len(distinct)
    (thresholds,) = binner.thresholds
    assert (distinct[:-1] <= thresholds).all()
    assert (thresholds < distinct[1:]).all()
    np.testing.assert_array_equal(binned.by_column[0], np.searchsorted(distinct, x))


def test_a_threshold_lies_midway_where_float64_allows():
    x = np.array([[-3.0], [1.0], [2.0], [1e308], [1.7e308]])
    (thresholds,) = Binner().fit(StandIn(x)).thresholds
    np.testing.assert_allclose(thresholds, [-1.0, 1.5, 5e307, 1.35e308], rtol=1e-15)


def test_float32_values_are_compared_as_the_float64_they_are():
    binner = Binner().fit(StandIn(np.array([[0.1], [0.3], [1e300]])))
    x = np.array([0.1, 0.2, 0.3, -3e38, 3e38], np.float32)
    x = np.concatenate([x, np.nextafter(x, np.float32(0)), -x])
    binned = binner.transform(StandIn(x[:, None]))
    assert_bins_are_naive(binned, binner, [x])


def test_continuous_values_fill_bins_equally():
    X = np.random.default_rng(5).standard_normal((20_000, 3))
    binned = Binner(max_bins=100).fit_transform(StandIn(X))
    for bins in binned.by_column:
        np.testing.assert_allclose(np.bincount(bins, minlength=100), 200, atol=1)


def test_heavy_values_get_bins_of_their_own_and_the_rest_is_shared_out():
    rng = np.random.default_rng(6)
    light = rng.uniform(-1, 1, 10_000)
    x = rng.permutation(np.concatenate([light, np.zeros(50_000), np.full(20_000, 0.5)]))
    binner = Binner(max_bins=32)
    bins = binner.fit_transform(StandIn(x[:, None])).by_column[0]
    sizes = np.bincount(bins)
    assert len(sizes) == 32
    heavy = [bins[x == 0.0][0], bins[x == 0.5][0]]
    for b, weight in zip(heavy, (50_000, 20_000), strict=True):
        assert weight <= sizes[b] <= weight + 10_000 / 30
    light_sizes = np.delete(sizes, heavy)
    assert light_sizes.min() >= 10_000 / 30 / 2
    assert light_sizes.max() <= 10_000 / 30 * 1.5


@given(
    counts=hnp.arrays(np.int64, st.integers(3, 60), elements=st.integers(1, 50)),
    max_bins=st.integers(2, 20),
)
@settings(max_examples=200)
def test_a_bin_exceeds_its_heaviest_value_by_at_most_two_average_bins(counts, max_bins):
    x = np.repeat(np.arange(len(counts)), counts)
    binned = Binner(max_bins=max_bins).fit_transform(StandIn(x[:, None]))
    sizes = np.bincount(binned.by_column[0])
    assert len(sizes) == binned.n_bins[0] <= max_bins
    assert binned.n_bins[0] >= min(max_bins, len(counts)) / 2
    assert (sizes > 0).all()
    heaviest = np.array(
        [counts[np.unique(x[binned.by_column[0] == b])].max() for b in range(len(sizes))]
    )
    assert (sizes - heaviest <= 2 * counts.sum() / max_bins).all()


def test_whole_weights_count_as_repeated_rows():
    rng = np.random.default_rng(7)
    X = rng.gamma(0.5, size=(3000, 2))
    weights = rng.integers(1, 9, 3000)
    weighted = Binner(max_bins=40).fit(StandIn(X), weights)
    repeated = Binner(max_bins=40).fit(StandIn(np.repeat(X, weights, axis=0)))
    np.testing.assert_array_equal(weighted.threshold_values, repeated.threshold_values)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_rows_are_divided_like_few_with_weights(dtype):
    # Many values are divided without sorting all of them, few are sorted.
    rng = np.random.default_rng(11)
    n = 20_000
    z, u = rng.standard_normal(n), rng.random(n)
    columns = (
        z, -u, np.exp(3 * z), 1000 + u, np.where(u < 0.5, 1e-3 * z, 1e3 * z), 1e-40 * z, z.round(2),
        np.where(u < 0.1, 0.0, z), np.where(u < 0.01, 1.5, z), rng.integers(400, size=n),
    )  # fmt: skip
    X = np.column_stack(columns).astype(dtype)
    weights = rng.integers(1, 9, n)
    few = Binner().fit(StandIn(X), weights)
    many = Binner().fit(StandIn(np.repeat(X, weights, axis=0)))
    np.testing.assert_array_equal(many.threshold_starts, few.threshold_starts)
    np.testing.assert_array_equal(many.threshold_values, few.threshold_values)


def test_rows_without_weight_are_not_looked_at():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((2000, 3)).astype(np.float32)
    weights = rng.random(2000) * (rng.random(2000) < 0.4)
    X[weights == 0] *= 100
    some = Binner(max_bins=64, subsample_for_bin=900).fit(StandIn(X), weights)
    kept = Binner(max_bins=64).fit(StandIn(X[weights > 0]), weights[weights > 0])
    np.testing.assert_array_equal(some.threshold_values, kept.threshold_values)


def test_weights_over_many_decades_keep_every_value():
    x = np.arange(10.0)
    binner = Binner().fit(StandIn(x[:, None]), 10.0 ** np.arange(-150, 150, 30))
    np.testing.assert_array_equal(binner.threshold_values, x[1:] - 0.5)


def naive_hash(seed, purpose, a, b):
    def mix(x):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))

    golden = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        key = mix(np.uint64(seed) + golden)
        key = mix(key + golden * np.uint64(purpose))
        key = mix(key + golden * np.uint64(a))
        return mix(key + golden * b.astype(np.uint64))


@pytest.mark.parametrize("seed", [0, 12345, 2**64 - 1])
def test_the_sample_is_the_rows_of_smallest_hash(seed):
    rng = np.random.default_rng(9)
    X = rng.standard_normal((20_000, 2))
    sampled = Binner(subsample_for_bin=3000, seed=seed).fit(StandIn(X))
    rows = np.argsort(naive_hash(seed, 1, 0, np.arange(20_000)))[:3000]
    by_hand = Binner().fit(StandIn(X[rows]))
    np.testing.assert_array_equal(sampled.threshold_values, by_hand.threshold_values)


def table_with_rare_values(rng, dtype):
    """A column of two values, one of them rare; one of few values; one of more than bins."""
    X = np.zeros((5000, 4), dtype)
    X[4321, 0] = 1
    X[:, 1] = rng.integers(0, 30, 5000)
    X[[5, 17, 2900], 1] = [-7, 101, 50]
    X[:, 2] = rng.integers(0, 5, 5000) + (rng.random(5000) < 0.01) * rng.integers(0, 90, 5000)
    X[77, 3] = -1
    return X


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
def test_a_rare_value_of_few_gets_its_bin_though_the_sample_missed_it(dtype):
    X = table_with_rare_values(np.random.default_rng(17), dtype)
    weights = np.ones(5000)
    weights[77] = 0
    for table in (
        StandIn(X),
        StandIn(X.copy("F")),
        StandIn(sparse=SparseLayouts(scipy.sparse.csc_matrix(X))),
    ):
        binner = Binner(max_bins=40, subsample_for_bin=50)
        binned = binner.fit_transform(table, weights)
        np.testing.assert_array_equal(binner.thresholds[0], [0.5])
        distinct = np.unique(X[:, 1]).astype(float)
        np.testing.assert_array_equal(binner.thresholds[1], (distinct[1:] + distinct[:-1]) / 2)
        assert binned.n_bins[2] <= 40
        assert binned.n_bins[3] == 1


def digest_of_everything(threads):
    """A hash of every byte that binning makes of a few tables."""
    rng = np.random.default_rng(10)
    digest = hashlib.sha256()
    weights = rng.gamma(1.0, size=30_000)
    for dtype in ("float32", "float64", "int16", "int64"):
        X = random_matrix(rng, dtype, (30_000, 11))
        for weight in (None, weights):
            binner = Binner(subsample_for_bin=20_000, seed=3)
            binned = binner.fit_transform(StandIn(X), weight, threads=threads)
            for array in (binned.by_column, binned.by_row, binner.threshold_values):
                digest.update(array.tobytes())
    rare = Binner(subsample_for_bin=500).fit(
        StandIn(np.tile(table_with_rare_values(rng, "float32"), (9, 1))), threads=threads
    )
    digest.update(rare.threshold_values.tobytes())
    return digest.hexdigest()


def test_threads_change_nothing():
    assert len({digest_of_everything(threads) for threads in (1, 2, 3, 8)}) == 1


def test_instruction_set_levels_change_nothing():
    code = "from data.test_binning import *; print(digest_of_everything(2))"
    assert len(set(printed_at_every_level(code))) == 1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64"])
def test_sparse_tables_are_binned_as_dense_ones(dtype, index_dtype, weighted):
    rng = np.random.default_rng(11)
    X = random_matrix(rng, dtype, (3000, 40))
    X[rng.random(X.shape) < np.linspace(0, 1, 40)] = 0
    X[:, 5] = 0
    sparse = scipy.sparse.csc_matrix(X)
    sparse.data[:10] = 0
    X = sparse.toarray()
    sparse.indices = sparse.indices.astype(index_dtype)
    sparse.indptr = sparse.indptr.astype(index_dtype)
    weights = rng.gamma(0.3, size=3000) if weighted else None
    binners = (
        Binner(max_bins=50, subsample_for_bin=2500),
        Binner(max_bins=50, subsample_for_bin=2500),
    )
    dense = binners[0].fit_transform(StandIn(X), weights)
    binned = binners[1].fit_transform(StandIn(sparse=SparseLayouts(sparse)), weights)
    np.testing.assert_array_equal(*(b.threshold_values for b in binners))
    np.testing.assert_array_equal(*(b.threshold_starts for b in binners))
    np.testing.assert_array_equal(binned.by_column, dense.by_column)
    np.testing.assert_array_equal(binned.by_row, dense.by_row)


def test_few_categories_get_bins_in_the_order_of_their_codes():
    codes = np.random.default_rng(12).integers(-1, 255, 5000).astype(np.int32)
    binner = Binner()
    binned = binner.fit_transform(StandIn(columns=[Numbers(codes / 7), Codes(codes[::-1])]))
    np.testing.assert_array_equal(binned.is_categorical, [False, True])
    assert binned.n_bins[1] == 255
    np.testing.assert_array_equal(binner.category_bins[1], np.arange(255))
    np.testing.assert_array_equal(binned.by_column[1], np.where(codes < 0, 255, codes)[::-1])
    np.testing.assert_array_equal(binned.by_row[0, :, 1], binned.by_column[1])


def test_the_rarest_of_many_categories_share_the_last_bin():
    weight_of_code = np.array([5.0, 1.0, 7.0, 5.0, 2.0, 2.0])
    codes = np.array([0, 1, 2, 3, 4, 5, -1], np.int32)
    binner = Binner(max_bins=4)
    table, weights = StandIn(columns=[Codes(codes)]), np.append(weight_of_code, 99.0)
    with pytest.warns(UserWarning, match="Column 0 has 6 categories, more than max_bins=4"):
        binned = binner.fit_transform(table, weights)
    np.testing.assert_array_equal(binner.category_bins[0], [0, 3, 1, 2, 3, 3])
    np.testing.assert_array_equal(binned.by_column[0], [0, 3, 1, 2, 3, 3, 255])
    assert binned.n_bins[0] == 4


def test_equally_frequent_categories_are_kept_by_code():
    codes = np.tile(np.arange(400, dtype=np.int32), 3)
    with pytest.warns(UserWarning, match="has 400 categories"):
        binner = Binner().fit(StandIn(columns=[Codes(codes)]))
    np.testing.assert_array_equal(binner.category_bins[0], np.minimum(np.arange(400), 254))


def test_a_category_that_training_did_not_see_is_missing_unless_announced():
    seen = StandIn(columns=[Codes(np.array([0, 1, 0], np.int32))])
    later = StandIn(columns=[Codes(np.array([2, 1, -1], np.int32))])
    unannounced = Binner().fit(seen).transform(later, columns_only=True)
    np.testing.assert_array_equal(unannounced.by_column[0], [255, 1, 255])
    announced = Binner().fit(seen, n_categories={0: 3}).transform(later, columns_only=True)
    np.testing.assert_array_equal(announced.by_column[0], [2, 1, 255])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
def test_infinity_is_an_error_that_names_its_column_and_row(dtype, infinity):
    X = np.random.default_rng(13).standard_normal((1000, 40)).astype(dtype)
    X[700, 3] = X[613, 38] = X[613, 39] = infinity
    sparse = scipy.sparse.csc_matrix(X.astype("float32"))
    names = tuple(f"c{j}" for j in range(40))
    columns = [Numbers(x) for x in X.T]
    for table in (StandIn(X), StandIn(np.asfortranarray(X)), StandIn(sparse=SparseLayouts(sparse))):
        with pytest.raises(DataError, match=r"X, column 38 .* row 613\b"):
            Binner().fit_transform(table)
    with pytest.raises(DataError, match=r"X, column 'c38' .* row 613\b"):
        Binner().fit_transform(StandIn(columns=columns, names=names))


def test_columns_without_values_and_constant_columns_have_one_bin():
    X = np.full((50, 2), np.nan)
    X[:, 1] = 3.0
    binned = Binner().fit_transform(StandIn(X))
    np.testing.assert_array_equal(binned.n_bins, [1, 1])
    np.testing.assert_array_equal(binned.by_column, np.repeat([[255], [0]], 50, axis=1))


def test_validation_tables_need_no_rows():
    X = np.random.default_rng(14).standard_normal((500, 3))
    binner = Binner(max_bins=17)
    whole = binner.fit_transform(StandIn(X))
    columns_only = binner.transform(StandIn(X), columns_only=True)
    assert columns_only.by_row is None
    np.testing.assert_array_equal(columns_only.by_column, whole.by_column)


def test_a_pickled_matrix_comes_back_aligned_and_equal():
    binned = Binner().fit_transform(StandIn(np.random.default_rng(15).random((300, 35))))
    again = pickle.loads(pickle.dumps(binned))
    for name in ("by_column", "by_row", "n_bins", "is_categorical"):
        np.testing.assert_array_equal(getattr(again, name), getattr(binned, name))
    assert again.width == binned.width
    assert again.by_row.ctypes.data % 64 == 0


def fitted_binner():
    rng = np.random.default_rng(16)
    columns = [Numbers(rng.random(99)), Codes(rng.integers(0, 9, 99).astype(np.int32))]
    return Binner(max_bins=20).fit(StandIn(columns=columns)), StandIn(columns=columns)


def test_a_binner_comes_back_from_its_arrays():
    binner, table = fitted_binner()
    again = Binner.from_dict(binner.to_dict())
    np.testing.assert_array_equal(again.transform(table).by_row, binner.transform(table).by_row)
    np.testing.assert_array_equal(again.n_bins, binner.n_bins)


BROKEN = {
    "starts beyond the values": lambda s: s["threshold_starts"].__setitem__(-1, 10**9),
    "starts that fall": lambda s: s["threshold_starts"].__setitem__(1, -5),
    "thresholds that fall": lambda s: s["threshold_values"].__setitem__(2, -1.0),
    "thresholds that are NaN": lambda s: s["threshold_values"].__setitem__(0, np.nan),
    "categories in the missing bin": lambda s: s["category_values"].__setitem__(0, 255),
    "another dtype": lambda s: s.update(category_values=s["category_values"].astype(int)),
    "an array too few": lambda s: s.pop("category_starts"),
    "features without starts": lambda s: s.update(is_categorical=np.zeros(3, bool)),
    "no starts": lambda s: s.update(threshold_starts=np.empty(0, np.int64)),
}


@pytest.mark.parametrize("how", BROKEN)
def test_broken_arrays_are_refused(how):
    state = {name: array.copy() for name, array in fitted_binner()[0].to_dict().items()}
    BROKEN[how](state)
    with pytest.raises(ModelFileError):
        Binner.from_dict(state)
