"""A table as a matrix: scaled numbers, indicators of missing values, one-hot categories."""

import numpy as np
import pandas as pd
import pytest

from hedgerow._data.intake import learn_schema, read_table
from hedgerow._ensemble.encoding import LARGEST, MOST_CATEGORIES, TableEncoder


def encoded(train, test=None):
    schema, table = learn_schema(train)
    encoder = TableEncoder.learn(schema, table)
    matrix = encoder.encode(table if test is None else read_table(test, schema))
    assert matrix.shape[1] == encoder.width <= TableEncoder.width_of(schema)
    return matrix


def naive(column):
    """Scale a column without missing values."""
    values = sorted(column)
    n = len(values)
    quartiles = [values[(n - 1) * k // 4] for k in (1, 2, 3)]
    z = (np.asarray(column) - quartiles[1]) / ((quartiles[2] - quartiles[0]) / 1.34897950039)
    return z / np.sqrt(1 + (z / 3) ** 2)


def test_numbers_are_scaled_by_quartiles_and_compressed():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(5, 2, 101), rng.lognormal(0, 3, 101)])
    matrix = encoded(X)
    for j in range(2):
        np.testing.assert_allclose(matrix[:, j], naive(X[:, j]), rtol=1e-9)
    assert abs(matrix).max() < LARGEST


def test_missing_values_are_the_median_and_marked():
    X = np.array([[1.0], [2.0], [3.0], [4.0], [np.nan]])
    matrix = encoded(X)
    assert matrix.shape == (5, 2)
    assert matrix[4].tolist() == [0.0, 1.0]
    assert matrix[:4, 1].tolist() == [0.0] * 4
    full = encoded(X[:4], X)  # no missing values in fit: no column that marks them
    assert full.shape == (5, 1)
    assert full[4, 0] == 0.0


def test_categories_have_a_column_each():
    train = pd.DataFrame({"a": ["x", "y", "x", None]})
    test = pd.DataFrame({"a": ["y", "z", None, "x"]})
    np.testing.assert_array_equal(encoded(train, test), [[0, 1], [0, 0], [0, 0], [1, 0]])


def test_only_the_most_frequent_categories_have_one():
    values = [f"v{i:03d}" for i in range(80)]
    train = pd.DataFrame({"a": values + values[30:]})
    matrix = encoded(train, pd.DataFrame({"a": values}))
    assert matrix.shape == (80, MOST_CATEGORIES)
    np.testing.assert_array_equal(matrix.sum(axis=1), [0] * 30 + [1] * 50)


@pytest.mark.parametrize(
    "column",
    [
        [3.0, 3.0, 3.0],
        [np.nan, np.nan, np.nan],
        [0.0, 0.0, 0.0, 0.0, 7.0],
        [-1.7e308, 0.0, 1.7e308],
        [5e-324, 0.0, -5e-324],
    ],
)
def test_extreme_columns_are_finite(column):
    X = np.array(column).reshape(-1, 1)
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(encoded(X)).all()
        assert np.isfinite(encoded(X, np.array([[1e308], [-1e308], [np.nan]]))).all()
