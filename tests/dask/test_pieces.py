"""Partitions as pieces: what they hold, how they are joined, and which worker takes which."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.dask._collections import PartitionedData, contiguous_runs, nearest_workers
from hedgerow.dask._pieces import common_layout, join, read_piece, stack
from hedgerow.exceptions import DataError

FRAME = pd.DataFrame(
    {
        "number": [1.5, np.nan, 3.0, 4.0],
        "count": np.array([1, 2, 3, 4], np.int16),
        "town": ["a", None, "b", "a"],
        "kind": pd.Categorical(["x", "y", None, "x"]),
        "maybe": pd.array([1, None, 3, 4], "Int64"),
        "flag": [True, False, True, True],
    }
)


def joined(parts):
    pieces = [read_piece(part, "X") for part in parts]
    layout = common_layout([piece.summary for piece in pieces], "X")
    return join(pieces, layout), pieces


def test_a_frame_survives_in_pieces():
    table, pieces = joined([FRAME[:1], FRAME[1:1], FRAME[1:]])
    pd.testing.assert_frame_equal(table, FRAME)
    assert all(part is None for piece in pieces for part in piece.parts)  # nothing is held twice


def test_partitions_are_not_copied():
    frame, matrix = FRAME[["number"]], np.arange(12.0).reshape(4, 3)
    for part in (frame, matrix, matrix[:, :2]):
        piece = read_piece(part, "X")
        (table,) = stack([piece], piece.layout).take_out()
        assert piece.parts == []
        assert np.shares_memory(np.asarray(table), np.asarray(part))
    small = read_piece(matrix[:, :1], "X")  # which would keep all of the matrix alive
    assert not np.shares_memory(small.parts[0], matrix)


def test_pieces_have_the_types_of_all_partitions():
    pieces = [read_piece(pd.DataFrame({"a": part}), "X") for part in ([1, 2], [0.5], ["x"][:0])]
    layout = common_layout([piece.summary for piece in pieces], "X")
    rows = stack(pieces, layout)
    assert rows.shape == (3, 1)
    assert [list(part["a"]) for part in rows.take_out()] == [[1.0, 2.0], [0.5]]
    assert list(rows.take_out()) == []


def test_columns_may_have_the_same_or_odd_names():
    frame = FRAME[["number", "count"]].set_axis([3, 3], axis=1)
    pd.testing.assert_frame_equal(joined([frame[:2], frame[2:]])[0], frame)


@pytest.mark.parametrize("column", FRAME.columns)
def test_a_series_survives_in_pieces(column):
    table, _ = joined([FRAME[column][:3], FRAME[column][3:]])
    pd.testing.assert_series_equal(table, FRAME[column])


@pytest.mark.parametrize(
    "array", [np.arange(12.0).reshape(4, 3), np.arange(4), np.array(["a", "b"])]
)
def test_an_array_survives_in_pieces(array):
    table, _ = joined([array[:1], array[1:1], array[1:]])
    np.testing.assert_array_equal(table, array)
    assert table.dtype == array.dtype


def test_a_sparse_matrix_survives_in_pieces():
    matrix = sp.random(20, 5, density=0.3, format="csr", random_state=0)
    table, _ = joined([matrix[:7], matrix[7:7], matrix[7:]])
    assert (table != matrix).nnz == 0


def test_a_worker_without_rows_has_the_columns_of_the_others():
    layout = common_layout([read_piece(FRAME, "X").summary], "X")
    empty = join([], layout)
    pd.testing.assert_frame_equal(empty, FRAME[:0])


def test_categories_are_united():
    parts = [pd.Series(list(text), dtype="category") for text in ("ba", "", "ca")]
    table, _ = joined(parts)
    assert list(table) == ["b", "a", "c", "a"]
    assert set(table.cat.categories) == {"a", "b", "c"}


def test_types_of_empty_partitions_do_not_matter():
    table, _ = joined([pd.Series([], dtype=object), pd.Series([1.0]), pd.Series([2], dtype=int)])
    assert table.dtype == float


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([pd.Series([1.0]), pd.Series(["a"], dtype=object)], "float64 in partition 0, but object"),
        ([np.zeros((2, 2)), np.zeros((2, 3))], "2 columns in partition 0, but 3 in partition 1"),
        ([np.zeros((2, 2)), np.zeros(2)], "is a matrix, but partition 1 is a vector"),
        (
            [pd.Series(["a"], dtype="category"), pd.Series([1], dtype="category")],
            "category of .* but category of int64",
        ),
    ],
)
def test_partitions_that_disagree_are_an_error(parts, message):
    with pytest.raises(DataError, match=message):
        joined(parts)


def test_anything_else_is_refused():
    with pytest.raises(DataError, match="Partition 3 of X is a list"):
        read_piece([1, 2], "Partition 3 of X")


# ---- runs ----------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=30), st.integers(1, 9))
def test_every_partition_has_one_worker_in_order(sizes, n_workers):
    runs = contiguous_runs(sizes, n_workers)
    assert len(runs) == n_workers
    assert [index for run in runs for index in run] == list(range(len(sizes)))


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=30), st.integers(1, 9))
def test_no_worker_has_much_more_than_its_share(sizes, n_workers):
    runs = contiguous_runs(sizes, n_workers)
    rows = [sum(sizes[i] for i in run) for run in runs]
    assert max(rows) <= sum(sizes) / n_workers + max(sizes)


def test_partitions_of_one_size_are_divided_evenly():
    assert [len(run) for run in contiguous_runs([1] * 10, 4)] in ([2, 3, 2, 3], [3, 2, 3, 2])
    assert [len(run) for run in contiguous_runs([1, 1], 2)] == [1, 1]


def test_workers_get_the_partitions_that_they_have():
    class Partitions(PartitionedData):
        n_partitions = 6
        tasks = [{i: None} for i in range(6)]  # noqa: RUF012

    data = Partitions({}, None)
    holders = {0: ["c"], 1: ["c"], 2: ["a"], 3: ["b", "gone"], 4: ["b"], 5: ["b"]}
    assert nearest_workers(data, ("a", "b", "c"), holders) == ("c", "a", "b")
    assert sorted(nearest_workers(data, ("a", "b", "c"), {})) == ["a", "b", "c"]
