"""The intake: one table through every library, what is learned, matched and refused."""

from __future__ import annotations

import datetime as dt
import json
import math
import tracemalloc
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import _native
from hedgerow._data import sources
from hedgerow._data.columns import refuse_infinite
from hedgerow._data.intake import (
    CategoricalColumn,
    Table,
    TableSchema,
    as_matrix,
    is_plain,
    iter_dense_blocks,
    learn_schema,
    read_table,
)
from hedgerow.exceptions import DataError, ParameterError

# A logical table is name → (kind, values), with None for a gap; each backend builds it its own way.
PANDAS_NULLABLE = {"float": "Float64", "int": "Int64", "bool": "boolean", "string": "string"}
POLARS = {"float": pl.Float64, "int": pl.Int64, "bool": pl.Boolean, "string": pl.String}
ARROW = {"float": pa.float64(), "int": pa.int64(), "bool": pa.bool_(), "string": pa.string()}


def as_lists(table):
    return [list(row) for row in zip(*(values for _, values in table.values()), strict=True)]


def as_numpy(table):
    out = np.empty((len(as_lists(table)), len(table)), dtype=object)
    for j, (_, values) in enumerate(table.values()):
        out[:, j] = values
    return out


def as_pandas_classic(table):
    def series(kind, values):
        return pd.Series(
            values, dtype=float if kind == "float" else None if kind == "int" else object
        )

    return pd.DataFrame({name: series(kind, values) for name, (kind, values) in table.items()})


def as_pandas_nullable(table):
    return pd.DataFrame(
        {
            name: pd.array(values, dtype=PANDAS_NULLABLE[kind])
            for name, (kind, values) in table.items()
        }
    )


def as_pandas_arrow(table):
    return pd.DataFrame(
        {
            name: pd.Series(values, dtype=pd.ArrowDtype(ARROW[kind]))
            for name, (kind, values) in table.items()
        }
    )


def as_polars(table):
    return pl.DataFrame(
        [pl.Series(name, values, dtype=POLARS[kind]) for name, (kind, values) in table.items()]
    )


def as_arrow(table):
    return pa.table({name: pa.array(values, ARROW[kind]) for name, (kind, values) in table.items()})


def as_arrow_chunked(table):
    whole = as_arrow(table)
    return pa.concat_tables([whole.slice(0, 1), whole.slice(1)])


FRAMES = [
    as_pandas_classic,
    as_pandas_nullable,
    as_pandas_arrow,
    as_polars,
    as_arrow,
    as_arrow_chunked,
]
BACKENDS = [as_numpy, as_lists, *FRAMES]
each_backend = pytest.mark.parametrize("build", BACKENDS)
each_frame = pytest.mark.parametrize("build", FRAMES)

SMALL = {
    "size": ("float", [1.5, None, -2.0, 0.25]),
    "count": ("int", [3, 2**40, None, -7]),
    "open": ("bool", [True, None, False, True]),
    "colour": ("string", ["red", "", None, "blue"]),
}


def contents(table: Table, schema: TableSchema) -> list[list[object]]:
    """Give every column back as plain values: floats, or categories, with None for a gap.

    A category that the schema does not know is an ellipsis.
    """
    out = []
    for j in range(table.n_features):
        column = table.column(j)
        if isinstance(column, CategoricalColumn):
            assert column.codes.dtype == np.int32
            values = [*schema.categories[j].values, ...]
            out.append([None if c < 0 else values[c] for c in column.codes])
        else:
            gaps = column.is_missing()
            out.append([None if g else float(v) for v, g in zip(column.values, gaps, strict=True)])
    return out


def expected(table) -> list[list[object]]:
    return [
        [v if v is None or kind == "string" else float(v) for v in values]
        for kind, values in table.values()
    ]


def round_trip(schema: TableSchema) -> TableSchema:
    return TableSchema.from_dict(json.loads(json.dumps(schema.to_dict())))


class TestEveryBackend:
    @each_backend
    def test_values_and_gaps_come_through_unchanged(self, build):
        schema, table = learn_schema(build(SMALL))
        assert contents(table, schema) == expected(SMALL)
        assert (table.n_rows, table.n_features) == (4, 4)

    @each_backend
    def test_strings_are_categories_in_sorted_order_and_booleans_are_numbers(self, build):
        schema, _ = learn_schema(build(SMALL))
        assert schema.is_categorical.tolist() == [False, False, False, True]
        assert schema.categories[3].values == ("", "blue", "red")

    @each_backend
    def test_predict_reads_what_fit_read(self, build):
        schema, _ = learn_schema(build(SMALL))
        table = read_table(build(SMALL), round_trip(schema))
        assert contents(table, schema) == expected(SMALL)

    @each_backend
    def test_integers_named_as_categorical_are_categories_by_value(self, build):
        table = {"a": ("int", [3, 1, 3]), "b": ("float", [0.5, 1.0, 2.0])}
        schema, read = learn_schema(build(table), categorical_features=[0])
        assert schema.categories[0].kind == "number"
        assert schema.categories[0].values == (1, 3)
        assert contents(read, schema)[0] == [3, 1, 3]

    @each_backend
    def test_a_selection_of_rows_is_the_table_of_those_rows(self, build):
        schema, table = learn_schema(build(SMALL))
        for rows in (np.array([2, 0]), slice(1, 3), np.array([True, False, False, True])):
            positions = np.arange(4)[rows]
            expected_values = [[column[i] for i in positions] for column in expected(SMALL)]
            assert contents(table.take(rows), schema) == expected_values

    @each_backend
    def test_a_category_fit_did_not_see_is_missing_or_an_error(self, build):
        schema, _ = learn_schema(build({"c": ("string", ["a", "b", None])}))
        new = build({"c": ("string", ["b", "z", None])})
        table = read_table(new, schema)
        assert contents(table, schema) == [["b", ..., None]]
        np.testing.assert_array_equal(
            as_matrix(table, {0: np.array([5, 3])}), [[3], [math.nan], [math.nan]]
        )
        with pytest.raises(DataError, match=r"column .*'z' \(first in row 1\)"):
            read_table(new, schema, unknown_category="error")

    @each_backend
    def test_infinity_is_refused_with_its_column_and_row(self, build):
        table = {"a": ("float", [0.0, 1.0]), "b": ("float", [None, -math.inf])}
        with pytest.raises(
            DataError, match=r"X, column (1|'b') contains infinity \(first in row 1\)"
        ):
            learn_schema(build(table))

    @each_backend
    def test_infinity_is_refused_as_a_category(self, build):
        with pytest.raises(
            DataError, match=r"X, column (0|'a') contains infinity \(first in row 1\)"
        ):
            learn_schema(build({"a": ("float", [0.0, math.inf])}), categorical_features=[0])

    @each_backend
    def test_strings_are_refused_where_categories_are_not_allowed(self, build):
        with pytest.raises(DataError, match=r"column (3|'colour') contains strings"):
            learn_schema(build(SMALL), categorical_features=None)

    @each_backend
    def test_a_list_adds_to_the_categories_that_are_known_by_their_type(self, build):
        automatic, _ = learn_schema(build(SMALL))
        for choice in ([0], [True, False, False, False], *([["size"]] if build in FRAMES else [])):
            chosen, _ = learn_schema(build(SMALL), categorical_features=choice)
            assert set(chosen.categories) == {0, *automatic.categories}
        assert learn_schema(build(SMALL), categorical_features=[])[0] == automatic

    @each_backend
    def test_strings_where_fit_had_numbers_are_refused(self, build):
        schema, _ = learn_schema(build({"a": ("float", [1.0, 2.0])}))
        with pytest.raises(DataError, match=r"column (0|'a') contained numbers in fit"):
            read_table(build({"a": ("string", ["1.0", "2.0"])}), schema)

    @each_backend
    def test_numbers_where_fit_had_strings_are_refused(self, build):
        schema, _ = learn_schema(build({"a": ("string", ["x", "y"])}))
        with pytest.raises(DataError, match=r"column (0|'a') had strings as its categories in fit"):
            read_table(build({"a": ("float", [1.0, 2.0])}), schema)

    @each_backend
    def test_a_column_of_gaps_fits_any_learned_column(self, build):
        schema, _ = learn_schema(build(SMALL))
        gaps = {name: (kind, [None, None]) for name, (kind, _) in SMALL.items()}
        gaps["size"] = ("string", [None, None])
        assert contents(read_table(build(gaps), schema), schema) == [[None, None]] * 4

    @each_backend
    def test_the_matrix_holds_numbers_bins_and_nan(self, build):
        schema, table = learn_schema(build(SMALL))
        bins = np.array([7, 5, 6])
        matrix = as_matrix(table, {3: bins})
        code = schema.categories[3].code
        expected_values = expected(SMALL)
        expected_values[3] = [None if v is None else bins[code[v]] for v in expected_values[3]]
        np.testing.assert_array_equal(matrix, np.array(expected_values, float).T)
        assert matrix.dtype == np.float64

    @each_backend
    def test_blocks_of_rows_make_up_the_matrix(self, build):
        _, table = learn_schema(build(SMALL))
        bins = {3: np.arange(3)}
        blocks = list(iter_dense_blocks(table, bins, block_rows=3))
        assert [start for start, _ in blocks] == [0, 3]
        np.testing.assert_array_equal(np.vstack([b for _, b in blocks]), as_matrix(table, bins))


def logical_columns(n):
    def values(elements):
        return st.lists(st.none() | elements, min_size=n, max_size=n)

    text = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
    return st.one_of(
        st.tuples(st.just("float"), values(st.floats(allow_nan=False, allow_infinity=False))),
        st.tuples(st.just("int"), values(st.integers(-(2**63), 2**63 - 1))),
        st.tuples(st.just("bool"), values(st.booleans())),
        st.tuples(st.just("string"), values(text)),
    )


logical_tables = st.integers(1, 6).flatmap(
    lambda n: st.lists(logical_columns(n), min_size=1, max_size=4).map(
        lambda columns: {f"c{j}": column for j, column in enumerate(columns)}
    )
)


class TestProperties:
    @given(logical_tables)
    @settings(max_examples=40)
    def test_the_same_table_is_read_from_every_library(self, table):
        for build in BACKENDS:
            schema, read = learn_schema(build(table))
            assert contents(read, schema) == expected(table), build.__name__
            assert round_trip(schema) == schema

    @given(logical_tables, st.randoms())
    @settings(max_examples=30)
    def test_columns_are_matched_by_name_whatever_their_order(self, table, random):
        names = random.sample(list(table), len(table))
        shuffled = {name: table[name] for name in names}
        for build in FRAMES:
            schema, _ = learn_schema(build(table))
            read = read_table(build(shuffled), schema)
            assert contents(read, schema) == expected(table)
            assert read.names == tuple(table)

    @given(st.lists(st.none() | st.integers(-3, 300), min_size=1, max_size=30))
    @settings(max_examples=30)
    def test_numbers_as_categories_are_the_same_from_every_library(self, values):
        table = {"a": ("int", values)}
        expected_values = tuple(sorted({v for v in values if v is not None}))
        for build in BACKENDS:
            schema, read = learn_schema(build(table), categorical_features=[0])
            assert schema.categories[0].values == expected_values
            assert contents(read, schema) == [values]


class TestArrays:
    @pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u2", "i4", "i8", "u8", "?"])
    @pytest.mark.parametrize("layout", ["C", "F", "reversed", "strided", "transposed", "read-only"])
    def test_numbers_of_any_dtype_and_layout_are_taken_without_a_copy(self, dtype, layout):
        plain = (np.arange(60).reshape(12, 5) % 7).astype(dtype)
        X = {
            "C": plain,
            "F": np.asfortranarray(plain),
            "reversed": plain[::-1, ::-1],
            "strided": plain[::3, 1::2],
            "transposed": plain.T,
            "read-only": np.broadcast_to(plain[:1], (4, 5)),
        }[layout]
        schema, table = learn_schema(X)
        assert table.dense is X
        assert np.shares_memory(table.column(1).values, X)
        assert table.column(1).values.dtype == X.dtype
        np.testing.assert_array_equal(table.column(1).values, X[:, 1])
        np.testing.assert_array_equal(as_matrix(read_table(X, schema)), X.astype(float))

    def test_float_arrays_are_their_own_matrix(self):
        for dtype in (np.float32, np.float64):
            X = np.zeros((3, 2), dtype)
            assert as_matrix(learn_schema(X)[1]) is X

    @pytest.mark.parametrize(
        ("dtype", "float_dtype"),
        [
            ("f2", "f4"),
            ("i2", "f4"),
            ("u2", "f4"),
            ("?", "f4"),
            ("i4", "f8"),
            ("u4", "f8"),
            ("i8", "f8"),
        ],
    )
    def test_a_matrix_is_float32_where_that_is_exact(self, dtype, float_dtype):
        X = np.ones((3, 2), dtype)
        assert as_matrix(learn_schema(X)[1]).dtype == float_dtype
        frame = pd.DataFrame({"a": X[:, 0].copy(), "b": ["x", "y", "x"]})
        assert as_matrix(learn_schema(frame)[1], {1: np.array([0, 1])}).dtype == float_dtype

    @pytest.mark.parametrize("dtype", [">f4", ">f8", ">i2", "g"])
    def test_foreign_byte_orders_and_long_doubles_are_converted(self, dtype):
        X = np.arange(6).reshape(3, 2).astype(dtype)
        _, table = learn_schema(X)
        assert table.dense is None
        assert table.column(1).values.dtype.isnative
        np.testing.assert_array_equal(as_matrix(table), np.arange(6).reshape(3, 2))

    def test_unaligned_arrays_are_converted(self):
        raw = np.zeros(4 * 6 + 1, np.uint8)
        X = raw[1:].view(np.float32).reshape(3, 2)
        _, table = learn_schema(X)
        assert table.dense is None
        assert table.column(0).values.flags.aligned

    def test_integers_beyond_2_to_the_53_are_compared_as_float64(self):
        X = np.array([[2**53], [2**53 + 1], [2**62]])
        np.testing.assert_array_equal(as_matrix(learn_schema(X)[1]), X.astype(np.float64))

    def test_masked_values_are_missing(self):
        X = np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
        schema, table = learn_schema(X)
        assert contents(table, schema) == [[1.0, 3.0], [None, 4.0]]
        words = np.ma.array([["a"], ["b"]], mask=[[True], [False]])
        schema, table = learn_schema(words)
        assert contents(table, schema) == [[None, "b"]]

    def test_infinities_under_a_mask_are_missing(self):
        X = np.ma.masked_invalid(np.array([[1, np.inf], [np.nan, 2]], np.float32))
        schema, table = learn_schema(X)
        assert contents(table, schema) == [[1.0, None], [None, 2.0]]
        assert table.column(0).values.dtype == np.float32

    def test_array_likes_and_matrices_are_arrays(self):
        class Wrapped:
            def __array__(self, dtype=None, copy=None):
                return np.ones((2, 3), np.float32)

        assert learn_schema(Wrapped())[1].dense.dtype == np.float32
        assert learn_schema(np.matrix([[1.0, 2.0]]))[1].dense.shape == (1, 2)

    def test_arrays_of_strings_are_categories(self):
        schema, table = learn_schema(np.array([["b", "x"], ["a", "x"]]))
        assert contents(table, schema) == [["b", "a"], ["x", "x"]]

    def test_numbers_in_lists_stay_numbers_beside_strings(self):
        schema, table = learn_schema([[1, "a"], [2.5, "b"]])
        assert contents(table, schema) == [[1.0, 2.5], ["a", "b"]]

    def test_objects_that_are_numbers_become_numbers(self):
        X = np.array([[Decimal("1.5")], [Fraction(1, 4)], [np.float32(2)], [True], [pd.NA]], object)
        schema, table = learn_schema(X)
        assert contents(table, schema) == [[1.5, 0.25, 2.0, 1.0, None]]

    def test_every_kind_of_gap_in_objects_is_missing(self):
        gaps = [
            None,
            math.nan,
            np.nan,
            np.float32("nan"),
            pd.NA,
            pd.NaT,
            float("nan"),
            Decimal("nan"),
        ]
        for value in ("word", 1.0):
            column = np.array([value, *gaps], object)[:, None]
            for X in (column, pd.DataFrame(column)):
                schema, table = learn_schema(X)
                assert contents(table, schema) == [[value] + [None] * len(gaps)]

    def test_huge_integers_in_objects_become_floats(self):
        schema, table = learn_schema(np.array([[2**70], [1]], object))
        assert contents(table, schema) == [[2.0**70, 1.0]]
        with pytest.raises(DataError, match="column 0 contains a number too large"):
            learn_schema(np.array([[10**400], [1]], object))

    def test_float_input_is_never_copied_whole(self):
        X = np.random.default_rng(0).standard_normal((200_000, 10)).astype(np.float32)
        frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(10)], copy=False)
        for table in (X, np.asfortranarray(X), frame):
            tracemalloc.start()
            schema, _ = learn_schema(table)
            as_matrix(read_table(table, schema))
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert peak < X.nbytes / 8

    def test_a_frame_made_from_an_array_is_that_array_again(self):
        X = np.arange(60_000, dtype=np.float32).reshape(-1, 3)
        for array in (X, np.asfortranarray(X), X[::2], X[:, ::-1]):
            frame = pd.DataFrame(array, columns=list("abc"), copy=False)
            _, table = learn_schema(frame)
            assert np.shares_memory(table.dense, X) or np.shares_memory(table.dense, array)
            np.testing.assert_array_equal(table.dense, array)

    @pytest.mark.parametrize("n_rows", [4, 20_000])
    def test_a_frame_of_separate_or_reordered_columns_is_read_right(self, n_rows):
        X = np.arange(3 * n_rows, dtype=np.float32).reshape(n_rows, 3)
        frame = pd.DataFrame(X, columns=list("abc"), copy=False)
        schema, _ = learn_schema(frame)
        np.testing.assert_array_equal(as_matrix(read_table(frame[["c", "a", "b"]], schema)), X)
        apart = pd.DataFrame({name: X[:, j].copy() for j, name in enumerate("abc")})
        np.testing.assert_array_equal(as_matrix(read_table(apart, schema)), X)


class TestSparse:
    DENSE = np.array([[0, 1.5, 0], [0, 0, np.nan], [2, 0, 0]])

    @pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
    @pytest.mark.parametrize("kind", ["array", "matrix"])
    def test_what_is_not_stored_is_zero_and_nan_is_missing(self, form, kind):
        X = getattr(scipy.sparse, f"{form}_{kind}")(self.DENSE)
        schema, table = learn_schema(X)
        assert table.sparse.csc.format == "csc"
        assert contents(table, schema) == [[0, 0, 2], [1.5, 0, 0], [0, None, 0]]
        np.testing.assert_array_equal(as_matrix(table), self.DENSE)
        assert contents(table.take(np.array([2])), schema) == [[2], [0], [0]]

    @pytest.mark.parametrize(("dtype", "float_dtype"), [("f4", "f4"), ("i8", "f8"), ("?", "f4")])
    def test_blocks_of_rows_are_dense_floats(self, dtype, float_dtype):
        dense = (np.arange(20).reshape(10, 2) % 3).astype(dtype)
        _, table = learn_schema(scipy.sparse.csr_array(dense))
        blocks = list(iter_dense_blocks(table, block_rows=4))
        assert [start for start, _ in blocks] == [0, 4, 8]
        assert all(block.dtype == float_dtype and block.flags.c_contiguous for _, block in blocks)
        np.testing.assert_array_equal(np.vstack([b for _, b in blocks]), dense)

    def test_rows_taken_in_any_order_are_sorted_within_columns(self):
        X = scipy.sparse.random(50, 4, density=0.5, random_state=0)
        rows = np.random.default_rng(1).permutation(50)[:30]
        taken = learn_schema(X)[1].take(rows)
        assert taken.sparse.csc.has_canonical_format
        np.testing.assert_array_equal(as_matrix(taken), X.toarray()[rows])

    def test_duplicate_entries_add_up_and_the_input_is_left_alone(self):
        X = scipy.sparse.csc_array(([1.0, 2.0], [0, 0], [0, 2]), shape=(2, 1))
        schema, table = learn_schema(X)
        assert contents(table, schema) == [[3.0, 0.0]]
        assert X.nnz == 2

    def test_infinity_is_refused_with_its_column_and_row(self):
        X = scipy.sparse.csr_array(np.array([[0, 1.0], [0, np.inf]]))
        with pytest.raises(DataError, match=r"X, column 1 contains infinity \(first in row 1\)"):
            learn_schema(X)

    def test_a_sparse_column_may_be_categorical(self):
        schema, table = learn_schema(
            scipy.sparse.csr_array(self.DENSE), categorical_features=[0, 2]
        )
        assert contents(table, schema) == [[0, 0, 2], [1.5, 0, 0], [0, None, 0]]
        assert schema.categories[0].values == (0, 2)

    def test_long_doubles_become_float64(self):
        _, table = learn_schema(scipy.sparse.csr_array(self.DENSE.astype("g")))
        assert table.sparse.matrix.dtype == np.float64
        np.testing.assert_array_equal(as_matrix(table), self.DENSE)

    def test_complex_numbers_are_refused(self):
        with pytest.raises(DataError, match="Complex data not supported"):
            learn_schema(scipy.sparse.csr_array(np.array([[1j]])))


def encoded(strings):
    return pa.array(strings).dictionary_encode()


class TestCategories:
    @pytest.mark.parametrize(
        "X",
        [
            pd.DataFrame({"c": pd.Categorical(["b", None, "a"], categories=["z", "b", "a"])}),
            pd.DataFrame({"c": pd.Categorical(["b", None, "a"], ["b", "a"], ordered=True)}),
            pd.DataFrame({"c": pd.Series(["b", None, "a"], dtype=object)}),
            pd.DataFrame({"c": pd.Series(["b", np.nan, "a"], dtype="str")}),
            pd.DataFrame({"c": pd.Series(["b", None, "a"], dtype="string[python]")}),
            pd.DataFrame({"c": pd.Series(["b", None, "a"], dtype="string[pyarrow]")}),
            pd.DataFrame(
                {
                    "c": pd.array(
                        ["b", None, "a"], pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))
                    )
                }
            ),
            pl.DataFrame({"c": pl.Series(["b", None, "a"], dtype=pl.Categorical)}),
            pl.DataFrame({"c": pl.Series(["b", None, "a"], dtype=pl.Enum(["z", "a", "b"]))}),
            pl.DataFrame({"c": pl.Series(["b", None, "a"], dtype=pl.Object)}),
            pa.table({"c": encoded(["b", None, "a"])}),
            pa.table(
                {
                    "c": pa.DictionaryArray.from_arrays(
                        pa.array([1, 0, 2], pa.uint8()), [None, "b", "a"]
                    )
                }
            ),
            pa.table({"c": pa.array(["b", None, "a"], pa.large_string())}),
            pa.RecordBatch.from_pydict({"c": ["b", None, "a"]}),
            pa.table({"c": pa.chunked_array([encoded(["b", None]), encoded(["a"])])}),
        ],
    )
    def test_every_dtype_of_strings_is_categorical(self, X):
        schema, table = learn_schema(X)
        assert schema.categories[0].values == ("a", "b")
        assert contents(table, schema) == [["b", None, "a"]]

    def test_declared_categories_count_wherever_they_occur(self):
        """Rows are looked at in two steps; a category of the last row alone, and one of none."""
        strings = ["b", None, "a"] * 2_000 + ["last"]
        declared = pd.Categorical(strings, categories=["z", "last", "b", "a"])
        schema, table = learn_schema(pd.DataFrame({"c": declared}))
        assert schema.categories[0].values == ("a", "b", "last")
        assert contents(table, schema) == [strings]

    @pytest.mark.skipif(not hasattr(pa, "string_view"), reason="pyarrow before 16")
    def test_views_of_strings_are_categorical(self):
        X = pa.table({"c": pa.array(["b", None, "a"], pa.string_view())})
        schema, table = learn_schema(X)
        assert contents(table, schema) == [["b", None, "a"]]

    def test_categories_may_be_numbers_or_booleans(self):
        X = pd.DataFrame(
            {"n": pd.Categorical([10, 9, None]), "b": pd.Categorical([True, False, None])}
        )
        schema, table = learn_schema(X)
        assert (schema.categories[0].kind, schema.categories[0].values) == ("number", (9, 10))
        assert (schema.categories[1].kind, schema.categories[1].values) == (
            "boolean",
            (False, True),
        )
        assert contents(table, schema) == [[10, 9, None], [True, False, None]]
        assert schema == round_trip(schema)

    def test_booleans_among_numbers_are_the_numbers_0_and_1(self):
        X = pd.DataFrame({"a": pd.Categorical([True, 2, False])})
        schema, table = learn_schema(X)
        assert contents(table, schema) == [[1, 2, 0]]
        assert schema == round_trip(schema)

    def test_infinity_is_refused_as_a_category_of_its_own(self):
        with pytest.raises(DataError, match="X, column 'a' contains infinity as a category"):
            learn_schema(pd.DataFrame({"a": pd.Categorical([1.0, np.inf])}))

    def test_numbers_meet_by_value_whatever_their_dtype(self):
        schema, _ = learn_schema(pd.DataFrame({"a": [1, 2, 3]}), categorical_features=["a"])
        for column in (
            [3.0, np.nan, 7.5],
            pd.array([3, None, 9], "Int8"),
            [np.float32(3), None, 4],
        ):
            table = read_table(pd.DataFrame({"a": column}), schema)
            assert contents(table, schema) == [[3, None, ...]]

    def test_fractions_may_be_categories(self):
        schema, table = learn_schema(np.array([[0.5], [-1.0], [1e300]]), categorical_features=[0])
        assert schema.categories[0].values == (-1, 0.5, 1e300)
        assert contents(table, schema) == [[0.5, -1, 1e300]]

    @pytest.mark.parametrize(
        "choice", [["b"], [1], [False, True, False], np.array([1]), np.array([False, True, False])]
    )
    def test_columns_are_chosen_by_name_index_or_mask(self, choice):
        X = pd.DataFrame({"a": [1, 2], "b": [3, 4], "c": [5, 6]})
        schema, _ = learn_schema(X, categorical_features=choice)
        assert schema.is_categorical.tolist() == [False, True, False]

    @pytest.mark.parametrize(
        ("choice", "message"),
        [
            ("b", "'b' is not allowed"),
            (["z"], "X has no column 'z'; its columns are 'a', 'b'"),
            ([2], "index 2 is out of range; X has columns 0 to 1"),
            ([-1], "index -1"),
            ([True], "mask of 1 values, but X has 2 columns"),
            ([0.5], "contains 0.5"),
        ],
    )
    def test_an_impossible_choice_is_refused(self, choice, message):
        with pytest.raises(ParameterError, match=message):
            learn_schema(pd.DataFrame({"a": [1], "b": [2]}), categorical_features=choice)

    def test_names_cannot_choose_among_columns_without_names(self):
        with pytest.raises(ParameterError, match="columns of X have no names"):
            learn_schema(np.zeros((2, 2)), categorical_features=["a"])


class TestNames:
    def test_missing_and_extra_columns_are_listed(self):
        schema, _ = learn_schema(pd.DataFrame({"a": [1], "b": [2], "c": [3]}))
        with pytest.raises(
            DataError, match=r"X has no columns 'b', 'c', which .* X has the column 'z', which"
        ):
            read_table(pd.DataFrame({"a": [1], "z": [2]}), schema)
        with pytest.raises(
            DataError, match=r"X has the column 'd', which the model was not trained on\. Drop it"
        ):
            read_table(pl.DataFrame({"a": [1], "b": [2], "c": [3], "d": [4]}), schema)

    @pytest.mark.parametrize("choice", [None, ["c"]])
    @pytest.mark.parametrize("n_rows", [2, 20_000])
    def test_an_error_names_the_right_one_of_reordered_columns(self, choice, n_rows):
        X = pd.DataFrame(np.zeros((n_rows, 3)), columns=list("abc"))
        schema, _ = learn_schema(X, categorical_features=choice)
        shuffled = X[["b", "c", "a"]].copy()
        shuffled.loc[1, "a"] = np.inf
        with pytest.raises(DataError, match=r"X, column 'a' contains infinity \(first in row 1\)"):
            read_table(shuffled, schema)

    def test_libraries_may_differ_between_fit_and_predict(self):
        schema, _ = learn_schema(as_pandas_classic(SMALL))
        for build in FRAMES:
            assert contents(read_table(build(SMALL), schema), schema) == expected(SMALL)

    def test_an_array_after_a_named_table_warns_and_goes_by_position(self):
        schema, _ = learn_schema(pd.DataFrame({"a": [1.0], "b": [2.0]}))
        message = "X does not have valid feature names, but Model was fitted with feature names"
        with pytest.warns(UserWarning, match=message):
            table = read_table(np.array([[5.0, 6.0]]), schema, estimator_name="Model")
        assert as_matrix(table).tolist() == [[5.0, 6.0]]

    def test_a_named_table_after_an_array_warns_and_goes_by_position(self):
        schema, _ = learn_schema(np.zeros((2, 2)))
        message = "X has feature names, but Model was fitted without feature names"
        with pytest.warns(UserWarning, match=message):
            table = read_table(
                pd.DataFrame({"b": [5.0], "a": [6.0]}), schema, estimator_name="Model"
            )
        assert as_matrix(table).tolist() == [[5.0, 6.0]]

    def test_another_number_of_columns_is_refused(self):
        schema, _ = learn_schema(np.zeros((2, 4)))
        for X in (np.zeros((2, 3)), scipy.sparse.csr_array((2, 3)), pd.DataFrame(np.zeros((2, 3)))):
            with pytest.raises(
                DataError, match="X has 3 features, but M is expecting 4 features as input"
            ):
                read_table(X, schema, estimator_name="M")

    @pytest.mark.parametrize(
        "X",
        [
            pd.DataFrame([[1, 2]], columns=["a", "a"]),
            pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]),
        ],
    )
    def test_repeated_names_are_refused(self, X):
        with pytest.raises(DataError, match="several columns with the same name: 'a'"):
            learn_schema(X)


class TestRefusals:
    @pytest.mark.parametrize(
        ("X", "message"),
        [
            (np.zeros(3), "X must have two dimensions.*Reshape your data"),
            (np.zeros((2, 2, 2)), "X must have two dimensions"),
            ([1.0, 2.0], "X must have two dimensions.*Reshape your data"),
            (pd.Series([1.0]), r"X must have two dimensions.*X\.to_frame\(\)"),
            (pl.Series([1.0]), r"X must have two dimensions.*X\.to_frame\(\)"),
            (np.float64(1), r"X is np\.float64\(1\.0\)\. Pass a table"),
            (None, r"X is None\. Pass a table"),
        ],
    )
    def test_anything_but_rows_and_columns_is_refused(self, X, message):
        with pytest.raises(DataError, match=message):
            learn_schema(X)

    def test_an_empty_table_is_refused(self):
        for X in (
            np.empty((0, 3)),
            pd.DataFrame({"a": [], "b": [], "c": []}),
            scipy.sparse.csr_array((0, 3)),
        ):
            with pytest.raises(
                DataError,
                match=r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required.",
            ):
                learn_schema(X)
        for X in (np.empty((12, 0)), pd.DataFrame(index=range(12))):
            with pytest.raises(
                DataError,
                match=r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1 is required.",
            ):
                learn_schema(X)
        schema, _ = learn_schema(np.zeros((1, 3)))
        with pytest.raises(DataError, match=r"0 feature\(s\)"):
            read_table(np.empty((0, 0)), schema)

    def test_a_table_without_rows_can_be_predicted(self):
        schema, _ = learn_schema(np.zeros((1, 3)))
        for X in (np.empty((0, 3)), pd.DataFrame(np.empty((0, 3))), scipy.sparse.csr_array((0, 3))):
            assert as_matrix(read_table(X, schema)).shape == (0, 3)

    def test_complex_numbers_are_refused(self):
        for X in (np.array([[1j]]), np.array([[1j]], object), pd.DataFrame({"a": [1j]})):
            with pytest.raises(DataError, match="Complex data not supported"):
                learn_schema(X)

    @pytest.mark.parametrize(
        "X",
        [
            np.array([["2020-01-01"]], "M8[D]"),
            np.array([[dt.date(2020, 1, 1)]], object),
            pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])}),
            pd.DataFrame({"when": pd.period_range("2020-01", periods=3, freq="M")}),
            pd.DataFrame({"when": pd.period_range("2020-01", periods=3, freq="D").astype(object)}),
            pd.DataFrame({"when": pd.to_datetime(["2020-01-01"]).tz_localize("UTC")}),
            pd.DataFrame({"when": pd.to_timedelta([1], unit="s")}),
            pd.DataFrame({"when": pd.Series([pd.Timestamp(0)], dtype=object)}),
            pd.DataFrame({"when": pd.Categorical([pd.Timestamp(0)])}),
            pl.DataFrame({"when": [dt.date(2020, 1, 1)]}),
            pl.DataFrame({"when": [dt.time(1)]}),
            pa.table({"when": pa.array([dt.timedelta(1)])}),
        ],
    )
    def test_dates_and_durations_are_refused_with_advice(self, X):
        with pytest.raises(
            DataError,
            match=r"X(, column (0|'when').*)? contains dates.*Convert them to meaningful numbers",
        ):
            learn_schema(X)

    @pytest.mark.parametrize(
        "X",
        [
            np.array([[{"a": 1}], [2]], object),
            np.array([[1.0], [b"x"]], object),
            pd.DataFrame({"c": [[1, 2], [3]]}),
            pd.DataFrame({"c": pd.cut(pd.Series([1, 2, 3]), 2)}),
            pl.DataFrame({"c": [[1, 2], [3]]}),
            pl.DataFrame({"c": [{"a": 1}]}),
            pl.DataFrame({"c": [b"x"]}),
            pa.table({"c": pa.array([{"a": 1}])}),
        ],
    )
    def test_other_objects_are_refused_as_a_type_error(self, X):
        with pytest.raises(TypeError, match=r"column (0|'c').*argument must be .* string.* number"):
            learn_schema(X)

    @pytest.mark.parametrize(
        "X",
        [
            np.array([["a"], [1]], object),
            [["a"], [1]],
            pd.DataFrame({"c": pd.Series(["a"] * 200 + [1], dtype=object)}),
            pd.DataFrame({"c": pd.Categorical(["a", 1])}),
        ],
    )
    def test_strings_mixed_with_numbers_are_refused(self, X):
        with pytest.raises(
            DataError, match=r"column (0|'c').* mixes strings and numbers \('a' in row 0, 1"
        ):
            learn_schema(X)

    def test_bytes_and_records_are_refused(self):
        for X in (np.array([[b"a"]]), np.zeros((2, 2), [("a", "f4")])):
            with pytest.raises(TypeError, match=r"X has the dtype .*neither numbers nor strings"):
                learn_schema(X)

    def test_ragged_lists_are_refused(self):
        with pytest.raises(DataError, match="X cannot be converted to an array"):
            learn_schema([[1, 2], [3]])

    def test_lazy_tables_are_refused(self):
        with pytest.raises(TypeError, match="collect"):
            learn_schema(pl.LazyFrame({"a": [1]}))

    @pytest.mark.parametrize("order", ["C", "F"])
    @pytest.mark.parametrize("shape", [(3, 70_000), (70_000, 3), (1, 140_000), (140_000, 1)])
    def test_a_single_infinity_is_found_wherever_it_is(self, order, shape):
        for row, column in ((0, 0), (shape[0] - 1, shape[1] - 1), (shape[0] // 2, shape[1] // 2)):
            X = np.full(shape, np.nan, np.float32, order)
            X[row, column] = -np.inf
            message = rf"X, column {column} contains infinity \(first in row {row}\)"
            with pytest.raises(DataError, match=message):
                learn_schema(X)


class TestPlain:
    def test_a_float_array_in_row_order_needs_no_reading(self):
        schema, _ = learn_schema(np.zeros((5, 3)))
        for dtype in (np.float32, np.float64):
            X = np.zeros((1, 3), dtype)
            assert is_plain(X, schema)
            assert read_table(X, schema).dense is X

    def test_everything_else_is_not_plain(self):
        schema, _ = learn_schema(np.zeros((5, 3)))
        named, _ = learn_schema(pd.DataFrame(np.zeros((5, 3)), columns=list("abc")))
        categorical, _ = learn_schema(np.zeros((5, 3)), categorical_features=[0])
        X = np.zeros((4, 3))
        assert not is_plain(X, named)
        assert not is_plain(X, categorical)
        for other in (
            np.asfortranarray(X),
            X[:, :2],
            X[:0],
            X[0],
            X.astype(int),
            X.astype(">f8"),
            X.tolist(),
            np.ma.array(X, mask=True),
            scipy.sparse.csr_array(X),
        ):
            assert not is_plain(other, schema)

    def test_infinity_is_refused_here_too(self):
        schema, _ = learn_schema(np.zeros((5, 3)))
        with pytest.raises(DataError, match=r"column 2 contains infinity \(first in row 0\)"):
            read_table(np.array([[0, 1, np.inf]]), schema)


class TestSchemaFile:
    GOOD: ClassVar = {
        "n_features": 2,
        "feature_names": ["a", "b"],
        "categories": [{"feature": 1, "kind": "string", "values": ["x", "y"]}],
    }

    def test_a_stored_schema_reads_back_equal(self):
        assert TableSchema.from_dict(self.GOOD).to_dict() == self.GOOD

    @pytest.mark.parametrize(
        "change",
        [
            {"n_features": 0},
            {"n_features": True},
            {"n_features": "2"},
            {"n_features": 3},
            {"feature_names": ["a"]},
            {"feature_names": ["a", "a"]},
            {"feature_names": ["a", None]},
            {"feature_names": ["a", ["b"]]},
            {"feature_names": ["a", {"tuple": "b"}]},
            {"feature_names": ["a", {"tuple": [None]}]},
            {"feature_names": ["a", {"date": "yesterday"}]},
            {"feature_names": ["a", {"date": 3}]},
            {"feature_names": ["a", {"other": ["Period"]}]},
            {"feature_names": ["a", {"other": ["Period", 3]}]},
            {"feature_names": ["a", {"float": "nan"}]},
            {"feature_names": ["a", {"unknown": "b"}]},
            {"feature_names": [1, True]},
            {"feature_names": "ab"},
            {"categories": None},
            {"categories": [None]},
            {"categories": [{"feature": 2, "kind": "string", "values": []}]},
            {"categories": [{"feature": -1, "kind": "string", "values": []}]},
            {"categories": [{"feature": True, "kind": "string", "values": []}]},
            {"categories": [{"feature": 0, "kind": "string", "values": []}] * 2},
            {"categories": [{"feature": 0, "kind": "colour", "values": []}]},
            {"categories": [{"feature": 0, "kind": [], "values": []}]},
            {"categories": [{"feature": 0, "kind": "string", "values": "xy"}]},
            {"categories": [{"feature": 0, "kind": "string", "values": ["x", 1]}]},
            {"categories": [{"feature": 0, "kind": "string", "values": ["y", "x"]}]},
            {"categories": [{"feature": 0, "kind": "number", "values": [1, 1.0]}]},
            {"categories": [{"feature": 0, "kind": "number", "values": [1, True]}]},
            {"categories": [{"feature": 0, "kind": "number", "values": [float("inf")]}]},
            {"categories": [{"feature": 0, "kind": "number", "values": [float("nan")]}]},
            {"categories": [{"feature": 0, "kind": "number", "values": []}], "extra": 1},
        ],
    )
    def test_a_forged_schema_is_refused(self, change):
        with pytest.raises(DataError, match="schema"):
            TableSchema.from_dict({**self.GOOD, **change})

    def test_what_is_no_schema_is_refused(self):
        for stored in (None, [], {}, "schema", 1):
            with pytest.raises(DataError, match="schema"):
                TableSchema.from_dict(stored)


# Dates that are strings

DAYS = [str(dt.date(2011, 1, 1) + dt.timedelta(days)) for days in range(500)]
DATES = {
    "days": DAYS,
    "one day": DAYS[:1] * 30,
    "times": [f"{day}T12:30:00" for day in DAYS],
    "times of zones": [f"{day} 12:30:00+01:00" for day in DAYS],
    "with gaps": [*DAYS, None, None],
    "nearly all": [*DAYS[:95], *["unknown", "", "n/a", "2011-02-31", "2011"]],
}
OTHERS = {
    "towns": [f"town {number}" for number in range(300)] * 2,
    "numbers": [str(number) for number in range(20110101, 20110121)] * 2,
    "codes": [f"2011-{number:03d}-01" for number in range(100)] * 2,
    "no days": [f"2011-13-{number:02d}" for number in range(100)] * 2,
    "half": [*DAYS[:50], *[f"town {number}" for number in range(50)]] * 2,
    "gaps": [None, None, "a"],
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("kind", DATES)
def test_dates_as_strings_are_warned_of(kind, make):
    table = make({"price": np.arange(len(DATES[kind])), "when": DATES[kind]})
    message = r"X, column 'when' contains dates as strings\. .*year, month, weekday"
    with pytest.warns(UserWarning, match=message):
        schema, _ = learn_schema(table)
    assert list(schema.categories) == [1]
    # Neither those who asked for it nor predictions are warned.
    explicit, _ = learn_schema(table, ["when"])
    assert explicit == schema
    read_table(table, schema)


@pytest.mark.parametrize("kind", OTHERS)
def test_other_strings_are_no_dates(kind):
    learn_schema(pd.DataFrame({"x": OTHERS[kind]}))


def layouts(matrix):
    """Return the same numbers in several layouts."""
    wide = np.zeros((len(matrix), 2 * matrix.shape[1] + 1), matrix.dtype)
    wide[:, 1::2] = matrix
    yield matrix
    yield np.asfortranarray(matrix)
    yield wide[:, 1::2]
    yield np.ascontiguousarray(matrix[::-1])[::-1]
    yield matrix.astype(matrix.dtype.newbyteorder())


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
@pytest.mark.parametrize("shape", [(70_000, 3), (3, 70_000), (200_000, 1)])
@pytest.mark.parametrize("threads", [1, 3])
def test_one_infinity_in_a_large_table_of_any_layout_is_found(dtype, shape, threads):
    numbers = np.random.default_rng(0).normal(size=shape).astype(dtype)
    numbers[shape[0] // 2, 0] = np.nan
    for array in layouts(numbers):
        refuse_infinite(array, str, threads)
    row, column = shape[0] - 1, shape[1] - 1
    numbers[row, column] = -np.inf
    for array in layouts(numbers):
        with pytest.raises(DataError, match=rf"^{column} contains infinity .* row {row}\)"):
            refuse_infinite(array, str, threads)


# ---- sparse rows and columns of strings that threads read side by side --------------------------


@settings(max_examples=60)
@given(
    lists=st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=8),
    n_columns=st.sampled_from([10, 8, 4_000]),
    n_threads=st.integers(1, 3),
)
def test_lists_of_columns_are_examined_as_by_their_definition(lists, n_columns, n_threads):
    starts = np.cumsum([0, *map(len, lists)], dtype=np.int32)
    columns = np.array([column for row in lists for column in row], np.int32)
    is_valid, is_sorted, is_unique = _native.examine_row_lists(
        starts, columns, n_columns, n_threads
    )
    assert is_valid == all(column < n_columns for column in columns)
    if is_valid:
        assert is_sorted == all(row == sorted(set(row)) for row in lists)
        assert is_unique == all(len(row) == len(set(row)) for row in lists)


@pytest.mark.parametrize("starts", [[], [1, 2], [0, 2, 1], [0, 9]])
def test_lists_of_columns_with_wrong_ends_are_not_valid(starts):
    columns = np.zeros(2, np.int32)
    assert not _native.examine_row_lists(np.array(starts, np.int32), columns, 5, 1)[0]


def test_rows_that_are_not_sorted_are_read_as_they_are_and_sorted_where_that_matters():
    X = scipy.sparse.random(300, 40, density=0.2, format="csr", random_state=0)
    X.indices = X.indices.astype(np.int32)
    for row in range(X.shape[0]):
        part = slice(X.indptr[row], X.indptr[row + 1])
        X.indices[part], X.data[part] = X.indices[part][::-1].copy(), X.data[part][::-1].copy()
    layouts = learn_schema(X)[1].sparse
    assert layouts.rows_in_any_order(8)[1] == (X.nnz > 8 * 300)
    assert layouts.rows_in_any_order(1) == (layouts.csr, True)
    assert np.shares_memory(layouts.rows_in_any_order(100)[0].data, X.data)
    for matrix in (layouts.csr, layouts.csc):
        assert matrix.has_canonical_format
        np.testing.assert_array_equal(matrix.toarray(), X.toarray())


def test_columns_of_strings_are_the_same_with_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(sources, "_MANY_ROWS", 10)
    rng = np.random.default_rng(0)
    words = {f"s{j}": rng.choice(["a", "b", "c", None], 50) for j in range(4)}
    frame = pd.DataFrame({"x": rng.random(50), **words, "y": rng.integers(0, 3, 50)})
    source = sources.open_table(frame)
    assert source.strings == {1, 2, 3, 4}
    alone, together = (learn_schema(frame, n_jobs=n) for n in (1, 3))
    assert alone[0] == together[0]
    for j in range(1, 5):
        np.testing.assert_array_equal(alone[1].column(j).codes, together[1].column(j).codes)
