"""Names of columns: of any type, matched by name, found by parameters, kept in files."""

import datetime as dt
import json
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow._data.intake import as_matrix, learn_schema, read_table
from hedgerow._data.names import Labels, column_index, labels_of, plain_name, read_names
from hedgerow._data.table import TableSchema
from hedgerow.exceptions import DataError, ParameterError

RNG = np.random.default_rng(0)
N = 120
NUMBERS = RNG.normal(size=(N, 4))
Y = NUMBERS @ [3.0, -2.0, 1.0, 0.1]
CLASSES = (Y > 0).astype(int)
KINDS = {
    "integers": [3, 10, 5, 8],
    "floats": [0.5, 1.5, 2.5, 3.5],
    "tuples": [("a", 1), ("a", 2), ("b", 1), ("b", 2)],
    "dates": [dt.date(2020, 1, day) for day in (1, 2, 3, 4)],
    "times": list(pd.date_range("2020-01-01", periods=4, tz="Europe/Paris")),
    "nanoseconds": list(pd.date_range("2020-01-01", periods=4, freq="ns")),
    "periods": list(pd.period_range("2020-01", periods=4, freq="M")),
    "intervals": list(pd.interval_range(0, 4)),
    "mixed": ["a", 1, ("b", 2), 0.5],
    "mixed with the same text": ["1", 1, "b", 2],
}
ALL = pytest.mark.parametrize("names", KINDS.values(), ids=KINDS)
SMALL = {"n_estimators": 5, "min_samples_leaf": 5}


def frame(names, numbers=NUMBERS):
    return pd.DataFrame(numbers, columns=pd.Index(names))


def by_json(schema):
    return TableSchema.from_dict(json.loads(json.dumps(schema.to_dict())))


@ALL
def test_columns_are_matched_by_name_in_any_order_also_after_a_trip_through_a_file(names):
    X = frame(names)
    schema, _ = learn_schema(X)
    shuffled = X.iloc[:, [2, 0, 3, 1]]
    for known in (schema, by_json(schema)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert as_matrix(read_table(shuffled, known)).tolist() == NUMBERS.tolist()


@ALL
def test_missing_and_extra_columns_are_named(names):
    X = frame(names)
    schema = by_json(learn_schema(X)[0])
    other = X.iloc[:, 1:].copy()
    other.columns = pd.Index([*map(plain_name, names[1:3]), "z"], tupleize_cols=False)
    first, last = plain_name(names[0]), plain_name(names[3])
    with pytest.raises(DataError) as caught:
        read_table(other, schema)
    assert str(caught.value) == (
        f"X has no columns {first!r}, {last!r}, which the model was trained on. "
        "X has the column 'z', which the model was not trained on."
    )


@ALL
def test_a_model_knows_its_columns_by_name(names, tmp_path):
    X = frame(names)
    model = hr.GradientBoostingRegressor(**SMALL, monotonic_constraints={names[1]: -1}).fit(X, Y)
    by_place = hr.GradientBoostingRegressor(**SMALL, monotonic_constraints=[0, -1, 0, 0])
    expected = by_place.fit(NUMBERS, Y).predict(NUMBERS)
    shuffled = X.iloc[:, ::-1]
    assert np.array_equal(model.predict(shuffled), expected)
    model.save(tmp_path / "m.hedgerow")
    loaded = hr.load(tmp_path / "m.hedgerow")
    assert np.array_equal(loaded.predict(shuffled), expected)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(shuffled), expected)
    assert not hasattr(loaded, "feature_names_in_")
    labels = list(labels_of(read_names(names), 4))
    explained = hr.explain.shap_values(loaded, shuffled.head(5))
    assert list(explained.feature_names) == labels
    assert np.array_equal(explained.data, NUMBERS[:5])
    found = hr.explain.partial_dependence(loaded, shuffled, [names[2]], grid_resolution=5)[0]
    assert found.features == (labels[2],)
    assert list(hr.explain.importance(loaded).feature) == labels


def test_a_number_means_the_name_where_names_are_integers():
    names = (0, 10, 2, 8)
    assert [column_index(name, names, 4, "p") for name in (10, 2, np.int64(8))] == [1, 2, 3]
    with pytest.raises(ParameterError, match="p: X has no column 3; its"):
        column_index(3, names, 4, "p")
    assert column_index(3, ("a", "b", "c", "d"), 4, "p") == 3
    assert column_index(3, None, 4, "p") == 3
    assert column_index(("a", "x"), (("a", "y"), ("a", "x")), 2, "p") == 1
    for wrong in (None, True, 0.5, [1]):
        with pytest.raises(ParameterError, match="column names or indices"):
            column_index(wrong, ("a", "b"), 2, "p")


@pytest.mark.parametrize(
    ("parameter", "by_name", "by_place"),
    [
        ("monotonic_constraints", {10: -1, 3: 1}, [1, -1, 0, 0]),
        ("interaction_constraints", [[3, 10], [5, 8]], [[0, 1], [2, 3]]),
        ("feature_weights", {3: 0.0, 8: 2.0}, [0.0, 1.0, 1.0, 2.0]),
        ("categorical_features", [10], [1]),
    ],
)
def test_parameters_take_integer_names(parameter, by_name, by_place):
    numbers = np.round(NUMBERS)
    rest = SMALL | {"colsample_bynode": 0.5} if parameter == "feature_weights" else SMALL
    model = hr.GradientBoostingRegressor(**rest, **{parameter: by_name}, random_state=0)
    same = hr.GradientBoostingRegressor(**rest, **{parameter: by_place}, random_state=0)
    model.fit(frame(KINDS["integers"], numbers), Y)
    assert np.array_equal(
        model.predict(frame(KINDS["integers"], numbers)), same.fit(numbers, Y).predict(numbers)
    )


def test_explanations_take_integer_names():
    X = frame(KINDS["integers"])
    model = hr.GradientBoostingRegressor(**SMALL).fit(X, Y)
    found = hr.explain.partial_dependence(model, X, 10)
    assert found.features == ("10",)
    by_place = hr.GradientBoostingRegressor(**SMALL).fit(NUMBERS, Y)
    expected = hr.explain.partial_dependence(by_place, NUMBERS, 1)
    assert np.array_equal(found.average, expected.average)
    pair = hr.explain.partial_dependence(model, X, (10, 3), grid_resolution=4)
    assert pair.features == ("10", "3")
    groups = hr.explain.permutation_importance(model, X, Y, groups={"two": [3, 8]}, n_repeats=2)
    assert sorted(groups.feature) == ["10", "5", "two"]
    strength = hr.explain.interaction_strength(model, X.head(20), features=[10, 5])
    assert strength.features == ("10", "5")
    assert hr.explain.accumulated_effects(model, X, 8).features == ("8",)
    with pytest.raises(ParameterError, match="X has no column 0"):
        hr.explain.partial_dependence(model, X, 0)


def test_plots_and_texts_use_names():
    X = frame(KINDS["integers"])
    tree = hr.DecisionTreeRegressor(max_depth=2).fit(X, Y)
    assert "3 <= " in tree.export_text()
    assert ">10<" in hr.RandomForestRegressor(n_estimators=3).fit(X, Y)._repr_html_()
    shap = hr.explain.shap_values(tree, X)
    display = hr.plot.ShapDependenceDisplay.from_values(shap, 10)
    assert display.ax_.get_xlabel() == "10"
    display = hr.plot.ImportanceDisplay.from_estimator(tree)
    assert {label.get_text() for label in display.ax_.get_yticklabels()} <= {"3", "10", "5", "8"}


def test_places_as_names_are_no_names_to_an_array():
    """Frames that nobody named have places for names."""
    X = pd.DataFrame(NUMBERS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        of_frame, of_array = learn_schema(X)[0], learn_schema(NUMBERS)[0]
        for schema in (of_frame, of_array):
            for table in (X, NUMBERS, X[[3, 1, 0, 2]]):
                assert as_matrix(read_table(table, schema)).tolist() == NUMBERS.tolist()
    with pytest.raises(DataError, match=r"X has no column 3, which .* X has the column 7, which"):
        read_table(X.set_axis([0, 1, 2, 7], axis=1), of_frame)
    with pytest.warns(UserWarning, match="X has feature names, but"):
        read_table(X.set_axis([0, 1, 2, 7], axis=1), of_array)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        read_table(X, learn_schema(X.set_axis(list("abcd"), axis=1))[0])
    with pytest.raises(DataError, match="X has no columns 3, 5, which the model was trained on"):
        read_table(
            X[[0, 1]].set_axis([0, 1], axis=1), learn_schema(X.set_axis([3, 5, 0, 1], axis=1))[0]
        )
    assert learn_schema(X)[0].has_no_names
    assert list(labels_of(of_frame.feature_names, 4)) == ["x0", "x1", "x2", "x3"]


def test_names_that_became_strings_on_the_way_are_the_same_names():
    """JSON has strings for keys, and Parquet for names of columns."""
    X = frame(KINDS["integers"])
    as_strings = X.set_axis(X.columns.astype(str), axis=1).iloc[:, ::-1]
    model = hr.DecisionTreeRegressor().fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for table, schema in ((as_strings, X), (X, as_strings)):
            read = as_matrix(read_table(table, learn_schema(schema)[0]))
            assert read.tolist() == schema.to_numpy().tolist()
        row = json.loads(json.dumps(X.iloc[0].to_dict()))
        assert model.predict(row).tolist() == model.predict(X.head(1)).tolist()


NAMELESS = {
    "None": (["a", None, "c", "d"], r"without a name \(None for the column at position 1"),
    "NaN": ([1.0, 2.0, np.nan, 3.0], r"without a name \(nan for the column at position 2"),
    "NaT": ([pd.Timestamp(0), pd.NaT, "c", "d"], "without a name"),
    "part of a tuple": ([("a", 1), ("a", np.nan), ("b", 1), ("b", 2)], "without a name"),
    "the same": (["a", "b", "a", "b"], "several columns with the same name: 'a', 'b'"),
    "the same number": ([1, 2, 1, 3], "several columns with the same name: 1"),
}
MODELS = {
    "boosting": lambda: hr.GradientBoostingClassifier(**SMALL),
    "machine": lambda: hr.SVC(),
    "neighbours": lambda: hr.KNeighborsClassifier(),
    "bag": lambda: hr.BaggingClassifier(hr.SVC(), n_estimators=2),
    "bag of others": lambda: hr.BaggingClassifier(LogisticRegression(), n_estimators=2),
    "stagewise": lambda: hr.StagewiseClassifier(n_estimators=2),
    "stagewise of others": lambda: hr.StagewiseClassifier(Ridge(), n_estimators=2),
    "committee": lambda: hr.AdaBoostClassifier(n_estimators=2),
    "committee of others": lambda: hr.AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=1), n_estimators=2
    ),
}
EVERY_MODEL = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


@EVERY_MODEL
@pytest.mark.parametrize(("names", "message"), NAMELESS.values(), ids=NAMELESS)
def test_missing_and_repeated_names_are_an_error_of_our_own(make, names, message):
    X = pd.DataFrame(NUMBERS)
    X.columns = pd.Index(names, dtype=object) if not isinstance(names[0], tuple) else names
    with pytest.raises(DataError, match=message):
        make().fit(X, CLASSES)


@EVERY_MODEL
@pytest.mark.parametrize("kind", ["integers", "tuples", "mixed", "periods"])
def test_every_model_goes_by_name(make, kind, tmp_path):
    X = frame(KINDS[kind])
    model = make().fit(X, CLASSES)
    expected = model.predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(model.predict(X.iloc[:, ::-1]), expected)
    with pytest.raises(DataError, match="X has no column"):
        model.predict(X.iloc[:, 1:])
    try:
        model.save(tmp_path / "m.hedgerow")
    except TypeError:  # members that are not ours
        return
    assert np.array_equal(hr.load(tmp_path / "m.hedgerow").predict(X.iloc[:, ::-1]), expected)


@EVERY_MODEL
def test_strings_are_matched_in_any_order_by_every_model(make):
    X = pl.DataFrame(NUMBERS, schema=list("abcd"))
    model = make().fit(X, CLASSES)
    assert list(model.feature_names_in_) == list("abcd")
    assert np.array_equal(model.predict(X.select(list("dbca"))), model.predict(X))


def test_folds_and_reports_go_by_name():
    X = frame(KINDS["integers"])
    model = hr.GradientBoostingClassifier(**SMALL)
    with_names = hr.cross_validate(model, X, CLASSES, cv=2)
    without = hr.cross_validate(model, NUMBERS, CLASSES, cv=2)
    assert with_names.scores.keys() == without.scores.keys()
    for metric, values in without.scores.items():
        assert np.array_equal(with_names.scores[metric], values)


def test_a_bag_that_is_continued_keeps_its_order_of_columns():
    X = frame(KINDS["integers"])
    bag = hr.BaggingClassifier(hr.SVC(), n_estimators=2, warm_start=True, random_state=0)
    bag.fit(X, CLASSES).set_params(n_estimators=4).fit(X.iloc[:, ::-1], CLASSES)
    whole = hr.BaggingClassifier(hr.SVC(), n_estimators=4, random_state=0).fit(X, CLASSES)
    assert np.array_equal(bag.predict_proba(X), whole.predict_proba(X))


def test_the_column_of_queries_goes_by_name():
    query = np.repeat(np.arange(12), 10)
    X = pd.DataFrame(np.column_stack([query, NUMBERS]), columns=[7, 3, 10, 5, 8])
    ranker = hr.GradientBoostingRanker(n_estimators=3, qid_column=7).fit(X, CLASSES)
    expected = ranker.predict(X)
    assert np.array_equal(ranker.predict(X[[3, 7, 10, 5, 8]]), expected)
    assert np.array_equal(ranker.predict(X[[3, 10, 5, 8]]), expected)


def test_labels_are_a_tuple_that_knows_names():
    labels = Labels(["3", "10"], (3, 10))
    assert labels == ("3", "10")
    copied = pickle.loads(pickle.dumps(labels))
    assert copied == labels
    assert copied.names == (3, 10)
    assert labels.find(10, "feature") == labels.find("10", "feature") == 1
    assert labels_of(("1", 1), 2) == ("'1'", "1")


def usual_and_unusual_arrow():
    text = pa.array(["a", "b", "a", "c"] * 30)
    usual = pa.table({"text": text, "number": NUMBERS[:, 0]})
    runs = pa.RunEndEncodedArray.from_arrays(
        pa.array(np.arange(1, N + 1, dtype=np.int32)), pa.array(NUMBERS[:, 0])
    )
    unusual = pa.table({"text": text.cast(pa.string_view()), "number": runs})
    return usual, unusual


def in_pandas(table):
    """Make a frame of an Arrow table whose columns stay Arrow's."""
    array = pd.arrays.ArrowExtensionArray
    return pd.DataFrame({name: array(table[name]) for name in table.column_names})


@pytest.mark.parametrize("as_frame", [lambda table: table, in_pandas], ids=["arrow", "pandas"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: hr.BaggingClassifier(hr.KNeighborsClassifier(metric="gower"), n_estimators=2),
        lambda: hr.BaggingClassifier(n_estimators=2, max_features=0.5),
        lambda: hr.StagewiseClassifier(n_estimators=2, early_stopping=True, random_state=0),
        lambda: hr.AdaBoostClassifier(
            hr.DecisionTreeClassifier(max_depth=1), n_estimators=2, resample=True, random_state=0
        ),
    ],
    ids=["bag", "bag of trees", "stagewise", "committee"],
)
def test_arrow_columns_of_any_layout_are_handed_on(make, as_frame):
    usual, unusual = map(as_frame, usual_and_unusual_arrow())
    model = make().set_params(random_state=0).fit(usual, CLASSES)
    assert np.array_equal(model.predict(unusual), model.predict(usual))
    same = make().set_params(random_state=0).fit(unusual, CLASSES)
    assert np.array_equal(same.predict(unusual), model.predict(usual))


def test_arrow_columns_of_any_layout_are_folded_and_explained():
    usual, unusual = usual_and_unusual_arrow()
    model = hr.GradientBoostingClassifier(**SMALL)
    of_usual = hr.cross_validate(model, usual, CLASSES, cv=2).scores
    of_unusual = hr.cross_validate(model, unusual, CLASSES, cv=2).scores
    for metric, values in of_usual.items():
        assert np.array_equal(of_unusual[metric], values)
    model.fit(usual, CLASSES)
    found = hr.explain.permutation_importance(model, unusual, CLASSES, n_repeats=1, random_state=0)
    same = hr.explain.permutation_importance(model, usual, CLASSES, n_repeats=1, random_state=0)
    assert found.mean.tolist() == same.mean.tolist()
    assert hr.explain.partial_dependence(model, unusual, "text").average.shape[0] == 3
