"""Tables that are binned once: rows of them are what a table of these rows would be."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from hedgerow._data.binned_table import BinnedTable, share_bins
from hedgerow._data.binning import Binner
from hedgerow._data.intake import Table, as_matrix, learn_schema, read_table

RNG = np.random.RandomState(0)
N = 300
NUMBERS = RNG.randint(0, 40, size=(N, 5)).astype(np.float32)
NUMBERS[RNG.uniform(size=NUMBERS.shape) < 0.1] = np.nan
SPARSE = scipy.sparse.random(N, 40, 0.05, "csr", random_state=0)
FRAME = pd.DataFrame({"a": NUMBERS[:, 0], "b": RNG.choice(["x", "y", "z"], N), "c": NUMBERS[:, 1]})
TABLES = {"numbers": NUMBERS, "sparse": SPARSE, "frame": FRAME}
ROWS = np.sort(RNG.choice(N, 120, replace=False))


def shared(X):
    schema, table = learn_schema(X)
    return share_bins(schema, table, Binner(), None, threads=1), table


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("columns_only", [True, False])
def test_rows_in_bins_are_those_of_the_whole_table(name, columns_only):
    whole, table = shared(TABLES[name])
    expected = whole.binner.transform(table, columns_only=columns_only)
    binned = Binner().fit(whole.take(ROWS)).transform(whole.take(ROWS), columns_only=columns_only)
    np.testing.assert_array_equal(binned.by_column, expected.by_column[:, ROWS])
    np.testing.assert_array_equal(binned.places, expected.places)
    assert (binned.by_row is None) == columns_only
    if not columns_only:
        width = binned.width
        np.testing.assert_array_equal(binned.by_row[..., :width], expected.by_row[:, ROWS, :width])
        assert binned.by_row.ctypes.data % 64 == 0


@pytest.mark.parametrize("name", TABLES)
def test_numbers_of_some_rows_are_those_of_the_whole_table(name):
    whole, table = shared(TABLES[name])
    bins = whole.binner.category_bins
    some = whole.take(ROWS)
    assert (some.n_rows, some.n_features, some.names) == (120, table.n_features, table.names)
    np.testing.assert_array_equal(as_matrix(some, bins), as_matrix(table, bins)[ROWS])


@pytest.mark.parametrize("rows", [slice(10, 200, 3), np.arange(N) % 2 == 0, np.array([5, 3, 3])])
def test_rows_may_be_a_slice_a_mask_or_indices(rows):
    whole, _ = shared(NUMBERS)
    np.testing.assert_array_equal(as_matrix(whole.take(rows)), NUMBERS[rows])
    np.testing.assert_array_equal(as_matrix(whole.take(rows).take(slice(1, 3))), NUMBERS[rows][1:3])


def test_a_binner_takes_over_the_bins_of_all_rows():
    whole, table = shared(NUMBERS)
    expected = Binner().fit(table)
    found = Binner().fit(whole.take(ROWS))
    for name, array in expected.to_dict().items():
        np.testing.assert_array_equal(found.to_dict()[name], array)


def test_a_binner_of_its_own_ignores_the_bins_that_are_known():
    whole, _ = shared(NUMBERS)
    coarse = Binner(max_bins=3).fit(Table(None, dense=NUMBERS))
    some = coarse.transform(whole.take(ROWS))
    np.testing.assert_array_equal(
        some.by_column, coarse.transform(Table(None, dense=NUMBERS[ROWS])).by_column
    )


def test_only_categories_are_learned_where_only_they_are_wanted():
    whole, _ = shared(FRAME)
    binner = Binner().fit(whole.take(ROWS), categories_only=True)
    assert len(binner.threshold_values) == 0


def test_the_table_passes_where_tables_are_read():
    whole, _ = shared(FRAME)
    assert learn_schema(whole) == (whole.schema, whole)
    assert read_table(whole, whole.schema) is whole


def test_a_table_is_mapped_to_bins_once(monkeypatch):
    whole, _ = shared(NUMBERS)
    calls = []
    transform = Binner.transform

    def counted(self, table, **options):
        calls.append(isinstance(table, BinnedTable))
        return transform(self, table, **options)

    monkeypatch.setattr(Binner, "transform", counted)
    for start in range(3):
        some = whole.take(slice(start, None, 3))
        Binner().fit(some).transform(some)
    assert calls.count(False) == 1
