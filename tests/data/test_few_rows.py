"""A few rows, dicts and lists of dicts: the same predictions as of the whole table, bit for bit."""

import datetime as dt
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import hedgerow as hr
from hedgerow import explain
from hedgerow._data.few_rows import FewRows
from hedgerow._data.intake import as_matrix, learn_schema, read_table
from hedgerow.exceptions import DataError

RNG = np.random.default_rng(0)
N = 400
TABLE = pd.DataFrame(
    {
        "size": RNG.normal(size=N),
        "count": RNG.integers(0, 9, N),
        "single": RNG.normal(size=N).astype(np.float32),
        "flag": RNG.random(N) < 0.5,
        "colour": RNG.choice(["red", "green", "blue"], N),
        "town": RNG.choice([f"town {k}" for k in range(30)], N),
        "code": RNG.integers(0, 5, N),
    }
)
TABLE.loc[::7, "size"] = np.nan
TABLE.loc[::5, "colour"] = None
Y = (TABLE["count"] + (TABLE["colour"] == "red") + TABLE["code"] % 2 > 5).to_numpy()
MODEL = hr.GradientBoostingClassifier(n_estimators=20, categorical_features=["code"]).fit(TABLE, Y)
SCORES = MODEL.predict_proba(TABLE)
KINDS = {
    "pandas": lambda rows: rows,
    "object": lambda rows: rows.astype({"colour": object, "town": object}),
    "category": lambda rows: rows.astype({"colour": "category", "code": "category"}),
    "nullable": lambda rows: rows.convert_dtypes(),
    "other order": lambda rows: rows.iloc[:, ::-1],
    "polars": pl.from_pandas,
    "polars categorical": lambda rows: pl.from_pandas(rows).with_columns(
        pl.col("town").cast(pl.Categorical)
    ),
    "arrow": lambda rows: pa.Table.from_pandas(rows, preserve_index=False),
    "dicts": lambda rows: rows.to_dict("records"),
    "dicts with None": lambda rows: pl.from_pandas(rows).to_dicts(),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_few_rows_are_predicted_as_among_many(make):
    for first, n_rows in ((0, 1), (5, 1), (7, 3), (0, 146), (0, 147), (0, N)):
        rows = make(TABLE.iloc[first : first + n_rows])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = MODEL.predict_proba(rows)
        assert np.array_equal(found, SCORES[first : first + n_rows])
    table = read_table(make(TABLE.head(3)), MODEL._model.schema)
    assert isinstance(table, FewRows)


@pytest.mark.parametrize("kind", ["pandas", "polars", "dicts"])
def test_one_row_of_mixed_columns_costs_few_calls(kind):
    """Read as a table of many rows it takes thousands. Unlike times, calls are exact."""
    row, n_calls = KINDS[kind](TABLE.head(1)), 0

    def count(_frame, event, _argument):
        nonlocal n_calls
        n_calls += event in ("call", "c_call")

    MODEL.predict(row)  # whatever is imported or prepared by the first
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        MODEL.predict(row)
    finally:
        sys.setprofile(before)
    assert 0 < n_calls < 600


def test_a_dict_is_a_row():
    row = TABLE.iloc[1].to_dict()
    assert np.array_equal(MODEL.predict_proba(row), SCORES[1:2])
    assert np.array_equal(MODEL.predict_proba([row]), SCORES[1:2])
    assert np.array_equal(MODEL.predict_proba(dict(reversed(row.items()))), SCORES[1:2])


@pytest.mark.parametrize("kind", ["pandas", "polars", "dicts"])
def test_other_models_take_few_rows_too(kind):
    models = [
        hr.RandomForestClassifier(n_estimators=3, random_state=0),
        hr.DecisionTreeClassifier(max_depth=3),
        hr.KNeighborsClassifier(metric="gower"),
        hr.GradientBoostingClassifier(n_estimators=3, max_categories=4),  # target statistics
    ]
    for model in models:
        expected = model.fit(TABLE, Y).predict_proba(TABLE)[:3]
        assert np.array_equal(model.predict_proba(KINDS[kind](TABLE.head(3))), expected)


@pytest.mark.parametrize("kind", ["pandas", "polars", "dicts"])
def test_tables_of_numbers_alone_are_read_the_same(kind):
    numbers = TABLE[["size", "count", "single"]].fillna(0.0)
    for model in (
        hr.SVC(),
        hr.KNeighborsClassifier(),
        hr.GradientBoostingClassifier(n_estimators=3),
    ):
        method = "decision_function" if isinstance(model, hr.SVC) else "predict_proba"
        expected = getattr(model.fit(numbers, Y), method)(numbers)[:3]
        assert np.array_equal(getattr(model, method)(KINDS[kind](numbers.head(3))), expected)


def test_columns_of_few_rows_can_be_had():
    schema = MODEL._model.schema
    few, many = read_table(TABLE.head(3), schema), read_table(TABLE, schema).take(slice(0, 3))
    assert (few.n_rows, few.n_features, few.names) == (3, 7, schema.feature_names)
    for j in range(7):
        column, same = few.column(j), many.column(j)
        assert type(column) is type(same)
        if j in schema.categories:
            np.testing.assert_array_equal(column.codes, same.codes)
        else:
            np.testing.assert_array_equal(column.values, same.values)
    bins = MODEL._model.category_bins
    np.testing.assert_array_equal(as_matrix(few.take([2, 0]), bins), as_matrix(few, bins)[[2, 0]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": "large"}, "column 'size' contained numbers in fit, but now contains strings"),
        ({"size": np.inf}, "column 'size' contains infinity"),
        ({"size": 10**400}, "column 'size' contains a number too large"),
        ({"colour": 3}, "column 'colour' had strings as its categories in fit"),
        ({"code": "x"}, "column 'code' had numbers as its categories in fit"),
        ({"code": np.inf}, "column 'code' contains infinity"),
        ({"size": dt.date(2020, 1, 1)}, "column 'size' contains dates"),
        ({"size": [1.0]}, "'size' is a list. Convert columns to a data frame"),
        ({"weight": 3.0}, "X has the column 'weight', which the model was not trained on"),
    ],
)
def test_a_bad_value_is_named(change, message):
    row = TABLE.iloc[1].to_dict()
    with pytest.raises(DataError, match=message):
        MODEL.predict(row | change)


def test_missing_and_unknown_values_of_dicts():
    row = TABLE.iloc[1].to_dict()
    del row["town"]
    with pytest.raises(DataError, match="X has no column 'town'"):
        MODEL.predict(row)
    with pytest.raises(DataError, match="It has no 'town': use None"):
        MODEL.predict([row | {"town": None}, row])
    with pytest.raises(DataError, match="row 1 has the type list"):
        MODEL.predict([row | {"town": None}, [1, 2]])
    unknown = MODEL.predict_proba(row | {"town": "nowhere"})
    assert np.array_equal(unknown, MODEL.predict_proba(row | {"town": None}))
    strict = hr.DecisionTreeClassifier(max_depth=2, unknown_category="error").fit(TABLE, Y)
    with pytest.raises(DataError, match=r"the category 'nowhere' \(first in row 0\)"):
        strict.predict(row | {"town": "nowhere"})


def test_a_fit_takes_a_list_of_dicts():
    rows = pl.from_pandas(TABLE).to_dicts()
    model = hr.GradientBoostingClassifier(n_estimators=20, categorical_features=["code"])
    assert np.array_equal(model.fit(rows, Y).predict_proba(rows), SCORES)
    assert list(model.feature_names_in_) == list(TABLE)
    with pytest.raises(DataError, match="a dict, which is one row"):
        learn_schema(rows[0])
    with pytest.raises(DataError, match="X is a dict"):
        hr.BaggingClassifier(hr.SVC()).fit(rows[0], Y)


MEMBERS = {
    "bagging": hr.BaggingClassifier(hr.SVC(), n_estimators=2, n_jobs=1, random_state=0),
    "AdaBoost": hr.AdaBoostClassifier(hr.SVC(), n_estimators=2, random_state=0),
    "stagewise": hr.StagewiseClassifier(n_estimators=2),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_dicts_are_passed_on_to_base_estimators(name):
    numbers = TABLE.select_dtypes("number").astype(float).fillna(0.0)
    swapped = numbers.iloc[:, ::-1].to_dict("records")
    model = clone(MEMBERS[name]).fit(numbers, Y)
    expected = model.decision_function(numbers)
    assert np.array_equal(model.decision_function(swapped), expected)
    assert np.array_equal(model.decision_function(swapped[0]), expected[:1])
    of_dicts = clone(model).fit(numbers.to_dict("records"), Y)
    assert np.array_equal(of_dicts.decision_function(numbers), expected)
    with pytest.raises(TypeError, match="dict"):
        model.fit(swapped[0], Y[:1])


def test_explanations_take_lists_of_dicts():
    rows, name = TABLE.to_dict("records"), TABLE.columns[0]
    for explained in (explain.partial_dependence, explain.accumulated_effects):
        assert str(explained(MODEL, rows, name)) == str(explained(MODEL, TABLE, name))
    of_dicts = explain.permutation_importance(MODEL, rows, Y, n_repeats=1, random_state=0)
    expected = explain.permutation_importance(MODEL, TABLE, Y, n_repeats=1, random_state=0)
    assert str(of_dicts) == str(expected)


@pytest.mark.parametrize("row", [{}, [{}]])
def test_a_dict_without_names_is_an_error(row):
    with pytest.raises(hr.DataError, match="empty dict"):
        MODEL.predict(row)


def test_a_huge_integer_among_strings_is_an_error_of_the_data():
    values = np.array(["a", "b", 10**400] * 10, dtype=object)
    with pytest.raises(hr.DataError, match="mixes strings and numbers"):
        hr.DecisionTreeClassifier().fit(values[:, np.newaxis], [0, 1, 1] * 10)
