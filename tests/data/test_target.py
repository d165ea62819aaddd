"""y and sample_weight: what comes out for what goes in, and what is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.exceptions import DataConversionWarning

from hedgerow._data.target import (
    read_classification_target,
    read_regression_target,
    read_weights,
)
from hedgerow.exceptions import DataError

NUMBERS = [3, 1, 3, 2]
CARRIERS_OF_NUMBERS = [
    NUMBERS,
    tuple(NUMBERS),
    np.array(NUMBERS, np.int8),
    np.array(NUMBERS, ">f4"),
    np.array(NUMBERS, object),
    np.array([NUMBERS, NUMBERS]).T[:, 0],
    np.array(NUMBERS)[::-1][::-1],
    pd.Series(NUMBERS, index=[9, 8, 7, 6]),
    pd.Series(NUMBERS, dtype="Int64"),
    pd.Series(NUMBERS, dtype="int32[pyarrow]"),
    pd.Series(NUMBERS, dtype=object),
    pd.Index(NUMBERS),
    pl.Series(NUMBERS),
    pa.chunked_array([NUMBERS[:2], NUMBERS[2:]]),
    pa.array(NUMBERS),
]
STRINGS = ["b", "a", "b", ""]
CARRIERS_OF_STRINGS = [
    STRINGS,
    np.array(STRINGS),
    np.array(STRINGS, object),
    pd.Series(STRINGS),
    pd.Series(STRINGS, dtype=object),
    pd.Series(STRINGS, dtype="string"),
    pd.Series(STRINGS, dtype="category"),
    pd.Categorical(STRINGS),
    pl.Series(STRINGS),
    pl.Series(STRINGS, dtype=pl.Categorical),
    pa.chunked_array([STRINGS]),
    pa.chunked_array([pa.array(STRINGS).dictionary_encode()]),
    pa.array(STRINGS),
]
READERS = [read_classification_target, read_regression_target]
each_reader = pytest.mark.parametrize("read", READERS)


class TestClassification:
    @pytest.mark.parametrize("y", CARRIERS_OF_NUMBERS)
    def test_numbers_are_classes_in_order(self, y):
        classes, index = read_classification_target(y, 4)
        assert classes.tolist() == [1, 2, 3]
        assert index.tolist() == [2, 0, 2, 1]

    @pytest.mark.parametrize("y", CARRIERS_OF_STRINGS)
    def test_strings_are_classes_in_order(self, y):
        classes, index = read_classification_target(y, 4)
        assert classes.tolist() == ["", "a", "b"]
        assert index.tolist() == [2, 1, 2, 0]

    @given(
        st.one_of(
            hnp.arrays(np.int64, st.integers(2, 30), elements=st.integers(-(2**63), 2**63 - 1)),
            hnp.arrays(np.uint64, st.integers(2, 30), elements=st.integers(0, 2**64 - 1)),
            hnp.arrays(np.int8, st.integers(2, 30)),
            hnp.arrays(bool, st.integers(2, 30)),
            hnp.arrays(np.float32, st.integers(2, 30), elements=st.integers(-50, 50)),
            hnp.arrays(np.float64, st.integers(2, 30), elements=st.sampled_from([-1e300, 0, 1e17])),
        ).filter(lambda y: len(np.unique(y)) > 1)
    )
    @settings(max_examples=100)
    def test_the_encoding_is_that_of_numpy_unique(self, y):
        classes, index = read_classification_target(y)
        expected, expected_index = np.unique(y, return_inverse=True)
        assert classes.dtype == y.dtype
        np.testing.assert_array_equal(classes, expected)
        np.testing.assert_array_equal(index, expected_index)

    def test_the_dtype_of_strings_stays(self):
        assert read_classification_target(np.array(["a", "bc"]))[0].dtype == "<U2"
        assert read_classification_target(["a", "bc"])[0].dtype == "<U2"
        assert read_classification_target(np.array(["a", "bc"], object))[0].dtype == object
        assert read_classification_target(pl.Series(["a", "bc"]))[0].dtype == object

    def test_categories_that_are_numbers_are_classes(self):
        classes, index = read_classification_target(pd.Series([7, 5, 7], dtype="category"))
        assert classes.tolist() == [5, 7]
        assert classes.dtype.kind == "i"
        assert index.tolist() == [1, 0, 1]

    @pytest.mark.parametrize("y", [[1, 1, 1], ["a", "a"], [True]])
    def test_one_class_is_refused(self, y):
        with pytest.raises(DataError, match="y contains only one class"):
            read_classification_target(y)

    def test_fractions_are_refused_as_continuous(self):
        with pytest.raises(DataError, match="Unknown label type: continuous"):
            read_classification_target([0.5, 1.0, 2.0])

    def test_strings_mixed_with_numbers_are_refused(self):
        with pytest.raises(DataError, match="y mixes strings and numbers"):
            read_classification_target(["a", 1])


class TestRegression:
    @pytest.mark.parametrize("y", CARRIERS_OF_NUMBERS)
    def test_numbers_become_float64(self, y):
        read = read_regression_target(y, 4)
        assert read.dtype == np.float64
        assert read.flags.c_contiguous
        assert read.tolist() == NUMBERS

    @pytest.mark.parametrize("y", CARRIERS_OF_STRINGS)
    def test_strings_are_refused(self, y):
        with pytest.raises(DataError, match="y contains strings or categories"):
            read_regression_target(y, 4)

    def test_float64_is_not_copied(self):
        y = np.arange(3.0)
        assert np.shares_memory(read_regression_target(y), y)


class TestBoth:
    @each_reader
    @pytest.mark.parametrize(
        "y",
        [
            [0, None, 1],
            [0.0, np.nan, 1.0],
            np.array([0, None, 1], object),
            pd.Series([0, None, 1], dtype="Int64"),
            pd.Series([True, None, False], dtype="boolean"),
            pl.Series([0, None, 1]),
            pa.chunked_array([[0, None, 1]]),
        ],
    )
    def test_gaps_are_refused_with_their_row(self, read, y):
        with pytest.raises(DataError, match=r"y contains NaN .*\(first in row 1\)"):
            read(y)

    @pytest.mark.parametrize(
        "y",
        [
            ["a", None],
            np.array(["a", np.nan], object),
            pd.Series(["a", None]),
            pl.Series(["a", None]),
        ],
    )
    def test_gaps_among_strings_are_refused_with_their_row(self, y):
        with pytest.raises(DataError, match=r"y contains NaN .*\(first in row 1\)"):
            read_classification_target(y)

    @each_reader
    def test_infinity_is_refused_with_its_row(self, read):
        with pytest.raises(DataError, match=r"y contains infinity \(first in row 2\)"):
            read([1.0, 2.0, -np.inf])

    @each_reader
    def test_masked_values_are_refused(self, read):
        with pytest.raises(DataError, match="y has masked values"):
            read(np.ma.array([1, 2], mask=[True, False]))

    @each_reader
    def test_no_target_is_refused(self, read):
        with pytest.raises(
            DataError, match="Model requires y to be passed, but the target y is None"
        ):
            read(None, 4, estimator_name="Model")

    @each_reader
    def test_another_length_than_the_table_is_refused(self, read):
        with pytest.raises(DataError, match="y has 4 values, but X has 5 rows"):
            read(NUMBERS, 5)
        with pytest.raises(DataError, match="y has no values"):
            read([])

    @each_reader
    @pytest.mark.parametrize(
        "y",
        [
            np.array(NUMBERS)[:, None],
            pd.DataFrame({"y": NUMBERS}),
            pd.DataFrame(np.array(NUMBERS)[:, None]),
            pl.DataFrame({"y": NUMBERS}),
            [[v] for v in NUMBERS],
        ],
    )
    def test_a_column_vector_passes_with_a_warning(self, read, y):
        with pytest.warns(
            DataConversionWarning, match="A column-vector y was passed when a 1d array"
        ):
            found = read(y, 4)
        for got, expected in zip(found, read(NUMBERS, 4), strict=True):
            np.testing.assert_array_equal(got, expected)

    @each_reader
    def test_a_vector_passes_without_a_warning(self, read):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read(NUMBERS, 4)

    @each_reader
    @pytest.mark.parametrize(
        "y", [np.zeros((2, 2)), np.zeros((1, 2, 1)), 1.0, pd.DataFrame({"a": [1], "b": [2]})]
    )
    def test_other_shapes_are_refused(self, read, y):
        with pytest.raises(DataError, match="y should be a 1d array"):
            read(y)

    @each_reader
    def test_what_is_neither_numbers_nor_strings_is_refused(self, read):
        with pytest.raises(DataError, match="Complex data not supported: y"):
            read(np.array([1j, 2j]))
        with pytest.raises(DataError, match="y contains dates"):
            read(pd.Series(pd.to_datetime(["2020-01-01"])))
        with pytest.raises(DataError, match="y is sparse"):
            read(scipy.sparse.csr_array(np.array([[1], [0]])))
        with pytest.raises(TypeError, match="y: row 0 contains a dict"):
            read([{"a": 1}, {"b": 2}])


class TestWeights:
    def test_no_weights_stay_none(self):
        assert read_weights(None, 4) is None

    @pytest.mark.parametrize("weight", [2, 2.0, np.float32(2)])
    def test_one_number_is_the_weight_of_every_row(self, weight):
        assert read_weights(weight, 3).tolist() == [2.0, 2.0, 2.0]

    @pytest.mark.parametrize("weights", CARRIERS_OF_NUMBERS)
    def test_weights_become_float64(self, weights):
        read = read_weights(weights, 4)
        assert read.dtype == np.float64
        assert read.tolist() == NUMBERS

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            ([1, -2, 3], r"sample_weight is negative in row 1 \(-2.0\)"),
            ([1, np.nan, 3], r"sample_weight contains NaN .*row 1"),
            (pl.Series([1, None, 3]), r"sample_weight contains NaN .*row 1"),
            ([1, 2, np.inf], r"sample_weight contains infinity \(first in row 2\)"),
            ([0, 0, 0], "sample_weight is zero in every row"),
            ([1, 2], "sample_weight has 2 values, but X has 3 rows"),
            (np.ones((3, 1)), "sample_weight should be a 1d array"),
            (["a", "b", "c"], "sample_weight contains strings"),
            (0, "sample_weight is zero in every row"),
            (np.nan, "sample_weight contains NaN"),
            (1j, "Complex data not supported: sample_weight"),
        ],
    )
    def test_impossible_weights_are_refused(self, weights, message):
        with pytest.raises(DataError, match=message):
            read_weights(weights, 3)
