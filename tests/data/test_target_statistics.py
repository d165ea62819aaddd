"""Target statistics: the numbers of the definition, and nothing of a row's own target in them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import _native
from hedgerow._data import target_statistics
from hedgerow._data.columns import CategoricalColumn, NumericColumn
from hedgerow._data.table import Categories, Table, TableSchema
from hedgerow._data.target_statistics import TargetStatistics, learn_statistics
from oracles import target_statistics as oracle


def table_of(*columns):
    return Table(
        None,
        columns=[
            CategoricalColumn(c) if c.dtype == np.int32 else NumericColumn(c) for c in columns
        ],
    )


def random_rows(n_rows, n_categories, seed=0, effect=1.0):
    """Codes, some of them missing, targets that depend on them, and weights, some of them 0."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(-1, n_categories, n_rows).astype(np.int32)
    target = effect * rng.normal(size=n_categories + 1)[codes] + rng.normal(size=n_rows) + 3.0
    weights = rng.choice([0.0, 0.5, 1.0, 2.75], n_rows)
    return codes, target, weights


def numbers_of(table, feature=0):
    return table.column(feature).values


@settings(max_examples=60)
@given(
    n_rows=st.integers(1, 40),
    n_categories=st.integers(1, 12),
    seed=st.integers(0, 2**32 - 1),
    effect=st.sampled_from([0.0, 1.0, 30.0]),
    is_weighted=st.booleans(),
)
def test_numbers_are_those_of_the_definition(n_rows, n_categories, seed, effect, is_weighted):
    codes, target, weights = random_rows(n_rows, n_categories, seed, effect)
    if not is_weighted or not weights.any():
        weights = None
    ones = np.ones(n_rows) if weights is None else weights
    table = table_of(codes)
    statistics = learn_statistics(table, {0: n_categories}, [target], weights, seed)
    (column,), (prior,) = statistics.columns, statistics.priors
    assert prior == pytest.approx(np.average(target, weights=ones), rel=1e-12)
    smoothing = oracle.smoothing_of(codes, target, ones)
    assert column.smoothing[0] * ones.max() == pytest.approx(smoothing, rel=1e-8)
    trained = numbers_of(statistics.encode_training(table, [target], weights))
    expected = oracle.training_numbers(codes, target, ones, seed, prior, smoothing)
    np.testing.assert_allclose(trained[codes >= 0], expected[codes >= 0], rtol=1e-8)
    assert np.isnan(trained[codes < 0]).all()
    for code in range(n_categories):
        of_all = oracle.number(codes, target, ones, range(n_rows), code, prior, smoothing)
        assert column.numbers[0, code] == pytest.approx(of_all, rel=1e-8)


def test_a_rows_own_target_never_enters_its_number():
    codes, target, weights = random_rows(300, 20)
    table = table_of(codes)
    statistics = learn_statistics(table, {0: 20}, [target], weights, 7)
    before = numbers_of(statistics.encode_training(table, [target], weights))
    present, changed_others = np.flatnonzero(codes >= 0), 0
    for row in present[::5]:
        other = target.copy()
        other[row] += 2.0
        after = numbers_of(statistics.encode_training(table, [other], weights))
        assert after[row] == pytest.approx(before[row], rel=1e-12)
        changed_others += np.any(np.abs(after - before)[present] > 1e-6)
    assert changed_others > len(present[::5]) / 2


def test_numbers_of_targets_that_are_noise_do_not_follow_them(monkeypatch):
    monkeypatch.setattr(target_statistics, "_SIGNIFICANT", -1e9)  # or there would be no numbers
    rng = np.random.default_rng(3)
    n_rows, n_categories = 40_000, 10_000
    correlations = []
    for seed in range(8):
        codes = rng.integers(0, n_categories, n_rows).astype(np.int32)
        target = rng.normal(size=n_rows)
        table = table_of(codes)
        statistics = learn_statistics(table, {0: n_categories}, [target], None, seed)
        smoothing = np.array([5.0])
        column = target_statistics.EncodedColumn(0, smoothing, statistics.columns[0].numbers)
        encoded = target_statistics.TargetStatistics(1, seed, statistics.priors, (column,))
        numbers = numbers_of(encoded.encode_training(table, [target], None))
        assert np.ptp(numbers) > 0.5
        correlations.append(np.corrcoef(numbers, target)[0, 1])
    # Of independent columns a correlation has a standard deviation of 1/√n.
    assert abs(np.mean(correlations)) < 4 / np.sqrt(8 * n_rows)


@pytest.mark.parametrize("rows_of_each", [1, 4])
def test_categories_that_differ_by_chance_have_one_number(rows_of_each):
    target = np.random.default_rng(1).normal(size=2_000)
    codes = (np.arange(2_000) // rows_of_each).astype(np.int32)
    table = table_of(codes)
    statistics = learn_statistics(table, {0: 2_000}, [target], None, 0)
    assert statistics.columns[0].smoothing[0] == np.inf
    expected = np.full(2_000, target.mean())
    np.testing.assert_array_equal(numbers_of(statistics.encode(table)), expected)
    trained = statistics.encode_training(table, [target], None)
    np.testing.assert_array_equal(numbers_of(trained), expected)


def test_categories_that_determine_the_target_have_its_value():
    codes = np.tile(np.arange(50, dtype=np.int32), 20)
    target = 2.0 + np.sin(codes)
    table = table_of(codes)
    statistics = learn_statistics(table, {0: 50}, [target], None, 0)
    np.testing.assert_allclose(numbers_of(statistics.encode(table)), target, rtol=1e-9)
    trained = numbers_of(statistics.encode_training(table, [target], None))
    np.testing.assert_allclose(trained, target, rtol=1e-9)


def test_an_unseen_category_is_the_mean_and_a_gap_is_missing_if_there_were_gaps():
    codes, target, _ = random_rows(500, 10)
    for has_gaps in (True, False):
        seen = codes if has_gaps else np.abs(codes)
        statistics = learn_statistics(table_of(seen), {0: 10}, [target], None, 0)
        unseen = numbers_of(statistics.encode(table_of(np.array([10, -1], np.int32))))
        gap = np.nan if has_gaps else target.mean()
        np.testing.assert_allclose(unseen, [target.mean(), gap], rtol=1e-12)
        trained = statistics.encode_training(
            table_of(np.array([10, -1, 10, -1], np.int32)), [target[:4]], None
        )
        np.testing.assert_allclose(numbers_of(trained), [target.mean(), gap] * 2, rtol=1e-12)


@pytest.mark.parametrize("n_rows", [0, 1, 2_047, 2_048, 30_000])
def test_rows_are_ordered_by_place_and_ties_by_number(n_rows):
    places = np.random.default_rng(n_rows).integers(0, 2**64, n_rows, dtype=np.uint64)
    places[: n_rows // 3] >>= np.uint64(60)  # 16 different places
    expected = np.argsort(places, kind="stable")
    for n_threads in (1, 3):
        np.testing.assert_array_equal(_native.order_by_place(places, n_threads), expected)


def test_the_order_is_the_seeds():
    codes, target, _ = random_rows(500, 10)
    table = table_of(codes)
    trained = [
        numbers_of(
            learn_statistics(table, {0: 10}, [target], None, seed).encode_training(
                table, [target], None
            )
        )
        for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(trained[0], trained[1])
    assert not np.array_equal(trained[0], trained[2], equal_nan=True)


def test_units_of_weights_do_not_matter():
    codes, target, weights = random_rows(500, 10)
    table = table_of(codes)
    for scale in (2.0**-200, 4.0):
        one, other = (
            numbers_of(
                learn_statistics(table, {0: 10}, [target], w, 0).encode_training(table, [target], w)
            )
            for w in (weights, weights * scale)
        )
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("scale", [1e-290, 1e-200, 1e70])
@pytest.mark.parametrize("weight", [1e-70, 1.0, 1e70])
def test_targets_and_weights_of_any_size_have_numbers(scale, weight):
    codes, target, weights = random_rows(500, 10)
    table = table_of(codes)
    plain, scaled = (
        numbers_of(learn_statistics(table, {0: 10}, [t], w, 0).encode_training(table, [t], w))
        for t, w in ((target, weights), (target * scale, weights * weight))
    )
    np.testing.assert_allclose(scaled, plain * scale, rtol=1e-9)


def test_a_large_offset_costs_no_digits_of_what_differs():
    codes, target, _ = random_rows(500, 10)
    table = table_of(codes)
    near, far = (
        numbers_of(learn_statistics(table, {0: 10}, [t], None, 0).encode(table))
        for t in (target, target + 1e9)
    )
    np.testing.assert_allclose(far - 1e9, near, atol=1e-6)


def test_a_constant_target_has_one_number():
    codes, _, weights = random_rows(500, 10)
    table, target = table_of(codes), np.full(500, 0.1)
    statistics = learn_statistics(table, {0: 10}, [target], weights, 0)
    trained = numbers_of(statistics.encode_training(table, [target], weights))
    np.testing.assert_allclose(trained[codes >= 0], 0.1, rtol=1e-12)


def test_the_first_target_takes_the_place_of_the_column_and_others_come_after_all_columns():
    codes, target, _ = random_rows(200, 10)
    number = np.linspace(0, 1, 200)
    few = np.abs(codes % 3).astype(np.int32)
    table = table_of(codes, number, few, codes[::-1].copy())
    targets = [target, target**2, number]
    statistics = learn_statistics(table, {0: 10, 3: 10}, targets, None, 0)
    assert statistics.features == (0, 3)
    assert statistics.sources.tolist() == [0, 1, 2, 3, 0, 0, 3, 3]
    encoded = statistics.encode(table)
    assert encoded.n_features == 8
    np.testing.assert_array_equal(encoded.column(1).values, number)
    np.testing.assert_array_equal(encoded.column(2).codes, few)
    for feature, codes_of, places in ((0, codes, (0, 4, 5)), (1, codes[::-1], (3, 6, 7))):
        for line, place in enumerate(places):
            expected = statistics.columns[feature].numbers[line][codes_of]
            np.testing.assert_array_equal(encoded.column(place).values, expected)
    letters = Categories("string", tuple("abcdefghij"))
    schema = TableSchema(4, tuple("wxyz"), {0: letters, 2: letters, 3: letters})
    columns = statistics.encoded_schema(schema)
    assert (columns.n_features, list(columns.categories)) == (8, [2])


def test_a_table_without_columns_to_encode_stays_what_it_is():
    table = table_of(np.arange(5.0))
    statistics = TargetStatistics(1)
    assert statistics.encode(table) is table
    assert statistics.encode_training(table, [np.arange(5.0)], None) is table
    assert statistics.sources.tolist() == [0]
