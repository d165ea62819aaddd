"""Strings that are probably numbers, dates, identifiers or text: warnings that say what to do."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import hedgerow as hr
from hedgerow._data.intake import learn_schema, read_table
from hedgerow._data.suspicious_columns import is_date, is_number
from hedgerow.exceptions import DataError, DataWarning

N = 300
NUMBERS = [f"{number / 4}" for number in range(N)]
WITH_MARKS = [*NUMBERS[:100], "?", *NUMBERS[100:200], "n/a", "?", *NUMBERS[200:]]
SUSPECTS = {
    "numbers with marks": (
        WITH_MARKS,
        (
            r"X, column 'x' contains numbers as strings beside other strings \(such as '\?'\)\. "
            r".*pd\.to_numeric\(X\['x'\], errors='coerce'\).*na_values"
        ),
    ),
    "one mark": (["?", *NUMBERS], r"beside other strings \(such as '\?'\)"),
    "few numbers, many rows": (["1", "2", "3", "4", "5", "6", "?"] * 20, "beside other strings"),
    "numbers": (NUMBERS, r"contains numbers as strings\. .*Convert it"),
    "thousands": ([f"{k},{k:03d}" for k in range(1, 100)], "in a notation"),
    "currency": ([f"${k}.50" for k in range(100)], "in a notation"),
    "percent": ([f"{k}%" for k in range(100)], "in a notation"),
    "decimal commas": ([f"{k},5" for k in range(100)], "in a notation"),
    "days": ([f"{k % 28 + 1:02d}.{k % 12 + 1:02d}.2011" for k in range(100)], "dates as strings"),
    "american days": ([f"{k % 12 + 1}/{k % 28 + 1}/2011" for k in range(100)], "dates as strings"),
    "months": ([f"{k % 28 + 1} Jan 20{k % 20:02d}" for k in range(100)], "dates as strings"),
    "times": ([f"{k % 24:02d}:{k % 60:02d}" for k in range(100)], "dates as strings"),
    "identifiers": ([f"A{k:07d}" for k in range(100)], r"like an identifier.*Drop it"),
    "text": (
        [f"the house number {k} is too large for us" for k in range(100)],
        "contains free text.*TfidfVectorizer",
    ),
}
FINE = {
    "towns": [f"town {k % 40}" for k in range(100)],
    "grades": [str(k % 6 + 1) for k in range(100)],
    "house numbers": [f"{k % 30}{'abcdefgh'[k % 8]}" for k in range(300)],
    "few rows": [f"A{k:07d}" for k in range(20)],
    "versions": [f"1.{k % 10}" if k % 2 else f"v{k % 10}" for k in range(100)],
    "addresses": [f"10.0.0.{k % 40}" for k in range(200)],
    "answers": ["yes", "no", "?", "n/a"] * 50,
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(("values", "message"), SUSPECTS.values(), ids=SUSPECTS)
def test_what_is_probably_no_category_is_warned_of(values, message, make):
    table = make({"x": values})
    with pytest.warns(DataWarning, match=message) as caught:
        schema, _ = learn_schema(table)
    assert len(caught) == 1
    assert "list the column in categorical_features" in str(caught[0].message)
    assert list(schema.categories) == [0]
    # Neither those who asked for it nor predictions are warned.
    assert learn_schema(table, ["x"])[0] == schema
    read_table(table, schema)


@pytest.mark.parametrize("values", FINE.values(), ids=FINE)
def test_categories_are_not_warned_of(values):
    learn_schema(pd.DataFrame({"x": values}))


@pytest.mark.parametrize("text", ["1", "-2.5", "1e5", " 3 ", "inf"])
def test_numbers(text):
    assert is_number(text)


@pytest.mark.parametrize("text", ["?", "", "nan", "1_000", "1,5", "12a", "-"])
def test_no_numbers(text):
    assert not is_number(text)


@pytest.mark.parametrize(
    "text",
    [
        *("2011-01-31", "2011/1/31", "31.01.2011", "1/31/11", "31 January 2011", "Jan 31, 2011"),
        *("Mon, 31 Jan 2011", "2011-01-31T12:30:00Z", "01/31/2011 12:30", "12:30", "9:05 pm"),
    ],
)
def test_dates(text):
    assert is_date(text)


@pytest.mark.parametrize(
    "text", ["2011", "2011-13-01", "31.31.2011", "10.0.0.1", "1.2.3", "12:75", "May", "town 3"]
)
def test_no_dates(text):
    assert not is_date(text)


def test_an_error_shows_the_value_that_is_no_number():
    schema, _ = learn_schema(pd.DataFrame({"x": [1.0, 2.0, 3.0]}))
    with pytest.raises(DataError) as caught:
        read_table(pd.DataFrame({"x": ["3", "4", "?", "5"]}), schema)
    message = (
        "column 'x' contained numbers in fit, but now contains strings: "
        "1 of 4 values is not a number ('?'"
    )
    assert message in str(caught.value)
    with pytest.raises(DataError, match="each of its strings is a number"):
        read_table(pd.DataFrame({"x": ["3", "4"]}), schema)


def test_a_regressor_says_what_in_y_is_no_number():
    X, y = np.arange(303.0)[:, None], np.array(WITH_MARKS, object)
    message = re.escape("3 of 303 values are not numbers ('?', 'n/a'; first in row 100). Convert y")
    with pytest.raises(DataError, match=message):
        hr.GradientBoostingRegressor().fit(X, y)
    with pytest.raises(DataError, match="each of its strings is a number"):
        hr.GradientBoostingRegressor().fit(X[:300], np.array(NUMBERS))
    with pytest.raises(DataError, match=r"such as '[ab]'.*use a classifier"):
        hr.GradientBoostingRegressor().fit(X[:4], ["a", "b", "a", "b"])


def test_a_classifier_warns_of_classes_that_are_numbers():
    X, y = np.arange(303.0)[:, None], np.array(WITH_MARKS, object)
    model = hr.DecisionTreeClassifier(max_depth=1)
    with pytest.warns(DataWarning, match=r"y has classes that are numbers.*such as '\?'"):
        model.fit(X, y)
    with pytest.warns(DataWarning, match=r"y has so many classes.*use a regressor"):
        model.fit(X, np.arange(303))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, np.arange(303) % 100)
        model.fit(X, (np.arange(303) % 10).astype(str))


def test_categories_that_are_numbers_are_taken_where_fit_had_numbers():
    schema, _ = learn_schema(pd.DataFrame({"x": [1.0, 2.0, 3.0]}))
    column = read_table(pd.DataFrame({"x": pd.Categorical([3, None, 1])}), schema).column(0)
    np.testing.assert_array_equal(column.values, [3.0, np.nan, 1.0])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_categorical_dtype_is_what_was_meant(library):
    labels = [f"id {i}" for i in range(100)]
    frame = pd.DataFrame({"a": pd.Categorical(labels)})
    X = frame if library == "pandas" else pl.from_pandas(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learn_schema(X)


def test_columns_with_the_same_contents_share_a_warning():
    table = pd.DataFrame({f"c{j}": np.roll(["?", *NUMBERS], j) for j in range(39)})
    table["when"] = [f"2011-{j % 12 + 1}-{j % 28 + 1}" for j in range(len(table))]
    with pytest.warns(DataWarning) as caught:
        learn_schema(table)
    first, second = (str(warning.message) for warning in caught)
    start = "X, 39 columns ('c0', 'c1', 'c2' and 36 more) contain numbers as strings beside other"
    assert first.startswith(start)
    assert "pd.to_numeric(X['c0'], errors='coerce')" in first
    assert second.startswith("X, column 'when' contains dates as strings.")
    with pytest.warns(DataWarning, match=r"pd\.to_numeric\(X\[:, 1\], errors"):
        learn_schema(np.array([[1.0, text] for text in table["c0"]], dtype=object))


@pytest.mark.parametrize("name", SUSPECTS)
def test_folds_issue_the_same_warning(name):
    values = np.array(SUSPECTS[name][0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for fold in range(3):
            learn_schema(pd.DataFrame({"x": values[np.arange(len(values)) % 5 != fold + 1]}))
    assert len(caught) == 3
    assert len({str(warning.message) for warning in caught}) == 1
