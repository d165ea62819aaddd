"""Fits to Parquet files are fits to the same rows in memory; bad files are refused."""

import os
import pickle
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import make_classification

import hedgerow as hr
from hedgerow._data.parquet_table import natural_order

BOOSTING = hr.GradientBoostingRegressor


@pytest.fixture(autouse=True)
def _in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def mixed_frame(n=1200, seed=0):
    """Columns of every kind: floats, integers, booleans, strings, categories, missing values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "double": rng.normal(size=n),
            "single": rng.normal(size=n).astype(np.float32),
            "half": rng.normal(size=n).astype(np.float16).astype(np.float32),
            "large": rng.integers(-(2**60), 2**60, n),
            "byte": rng.integers(0, 200, n).astype(np.uint8),
            "flag": rng.random(n) < 0.3,
            "text": rng.choice(["north", "south", "é", ""], n),
            "category": pd.Categorical(rng.choice(list("hgfedcba"), n), list("abcdefghij")),
            "whole": pd.array(rng.integers(-5, 5, n), dtype="Int16"),
            "maybe": pd.array(rng.random(n) < 0.5, dtype="boolean"),
            "constant": np.ones(n),
            "empty": np.full(n, np.nan),
            "rare": np.where(np.arange(n) % 300 == 7, 5.0, 0.0),
            "weight": rng.exponential(size=n),
            "group": rng.integers(0, 60, n),
        }
    )
    for name in ("double", "single", "text", "whole", "maybe"):
        frame.loc[rng.random(n) < 0.1, name] = None
    signal = frame.double.fillna(1.0) + (frame.text == "north") + frame["byte"] / 50
    frame["y"] = signal + frame["maybe"].fillna(False).astype(float) + rng.normal(size=n) / 5
    frame["label"] = pd.cut(frame.y, 3, labels=["low", "mid", "high"]).astype(str)
    return frame


def write(frame, cuts=(0, 0, 7, 500, 501, 1200, 1200), row_group_size=173):
    """Write a frame into files of uneven sizes, some of them empty."""
    Path("data").mkdir(exist_ok=True)
    for number, (begin, end) in enumerate(pairwise(cuts)):
        part = pa.Table.from_pandas(frame.iloc[begin:end], preserve_index=False)
        pq.write_table(part, f"data/part-{number}.parquet", row_group_size=row_group_size)
    return "data/*.parquet"


def saved(model):
    model.save("model.hedgerow")
    return Path("model.hedgerow").read_bytes()


def names():
    return sorted(path.name for path in Path().iterdir())


NOT_FEATURES = ["y", "label", "weight", "group"]


@pytest.fixture
def frame():
    return mixed_frame()


@pytest.fixture
def features(frame):
    return frame.drop(columns=NOT_FEATURES)


def table_of(frame, **roles):
    columns = [name for name in frame.columns if name not in NOT_FEATURES]
    return hr.ParquetTable(write(frame), columns=columns, **roles)


# ---- The same bytes ------------------------------------------------------------------------------

REGRESSORS = {
    "rounds": BOOSTING(n_estimators=8),
    "auto": BOOSTING(budget=0.05),
    "early stopping": BOOSTING(n_estimators=20, early_stopping=True, n_iter_no_change=3),
    "last rows": BOOSTING(n_estimators=9, early_stopping=True, validation_rows="last"),
    "dart": BOOSTING(n_estimators=8, boosting="dart", drop_rate=0.5),
    "conformal": BOOSTING(n_estimators=8, calibration="conformal"),
    "statistics": BOOSTING(n_estimators=8, max_categories=3),
    "few bins": BOOSTING(n_estimators=8, max_bins=6),
    "subsample": BOOSTING(n_estimators=8, subsample=0.5, colsample_bytree=0.5),
    "minimal variance": BOOSTING(n_estimators=8, subsample=0.5, sampling="minimal_variance"),
    "quantile": BOOSTING(n_estimators=8, loss="quantile", quantile=[0.2, 0.8]),
    "absolute error": BOOSTING(n_estimators=8, loss="absolute_error"),
    "numbers as categories": BOOSTING(n_estimators=8, categorical_features=["byte", "flag"]),
    "forest": hr.RandomForestRegressor(n_estimators=4, oob_score=True, random_state=0),
    "extra trees": hr.ExtraTreesRegressor(n_estimators=4, random_state=0),
    "quantile forest": hr.RandomForestRegressor(n_estimators=4, keep_targets=True, random_state=0),
    "tree": hr.DecisionTreeRegressor(splitter="hist", max_depth=6),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REGRESSORS)
def test_a_fit_to_files_is_the_fit_in_memory(name, frame, features):
    table, model = table_of(frame, target="y", weight="weight"), REGRESSORS[name]
    from_files = saved(model.fit(table))
    predicted = model.predict(table)
    assert from_files == saved(model.fit(features, frame.y, frame.weight))
    np.testing.assert_array_equal(predicted, model.predict(features))


def wide_frame(n_columns, n=120):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, n_columns)).astype(np.float32)).add_prefix("x")
    return X.assign(x7=rng.choice(list("abc"), n), y=X.x0 + X.x1 * X.x2)


# A batch has more than 32 columns, as many as a block of bins, from 240 columns on.
@pytest.mark.parametrize("n_columns", [239, 240, 255, 256, 257, 1000])
@pytest.mark.parametrize(
    "model",
    [BOOSTING(n_estimators=2, early_stopping=True), hr.RandomForestRegressor(n_estimators=2)],
    ids=lambda model: type(model).__name__,
)
def test_a_table_may_have_any_number_of_columns(model, n_columns):
    frame = wide_frame(n_columns)
    table = hr.ParquetTable(write(frame, cuts=(0, 50, 120)), target="y")
    X = frame.drop(columns="y")
    model.set_params(random_state=0)
    from_files = saved(model.fit(table))
    predicted = model.predict(table)
    assert from_files == saved(model.fit(X, frame.y))
    np.testing.assert_array_equal(predicted, model.predict(X))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize(
    "model",
    [
        hr.GradientBoostingClassifier(n_estimators=6, class_weight="balanced"),
        hr.GradientBoostingClassifier(n_estimators=6, calibration="isotonic"),
        hr.GradientBoostingClassifier(n_estimators=6, multi_strategy="vector"),
        hr.RandomForestClassifier(n_estimators=3, random_state=0),
        hr.DecisionTreeClassifier(splitter="hist", max_depth=5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_classes_are_the_same_whichever_library_read_the_files(model, library, frame):
    table = table_of(frame, target="label")
    if library == "polars":
        whole = pl.concat(map(pl.read_parquet, table.paths), how="vertical_relaxed")
        X, y = whole.select(table.columns), whole["label"]
    else:
        whole = pa.concat_tables(map(pq.read_table, table.paths), promote_options="default")
        whole = whole if library == "pyarrow" else whole.to_pandas()
        X = whole.select(table.columns) if library == "pyarrow" else whole[list(table.columns)]
        y = whole["label"]
    if library == "pyarrow":  # which counts categories that no row has
        X = X.drop_columns(["category"])
        table = hr.ParquetTable(
            "data/*.parquet", target="label", columns=[c for c in table.columns if c != "category"]
        )
    from_files = saved(model.fit(table))
    probabilities = model.predict_proba(table)
    assert from_files == saved(model.fit(X, y))
    np.testing.assert_array_equal(probabilities, model.predict_proba(X))


def test_a_ranker_takes_the_groups_as_queries(frame, features):
    relevance = pd.Series(np.digitize(frame.y, [0, 2]), name="y")
    table = table_of(frame.assign(y=relevance), target="y", groups="group")
    ranker = hr.GradientBoostingRanker(n_estimators=5)
    assert saved(ranker.fit(table)) == saved(ranker.fit(features, relevance, qid=frame.group))


def test_a_survival_model_takes_event_and_time(frame, features):
    y = pd.DataFrame({"event": frame["byte"] > 50, "time": np.exp(frame.y / 5)})
    whole = pd.concat([features, y], axis=1)
    table = hr.ParquetTable(write(whole), target=["event", "time"])
    model = hr.GradientBoostingSurvival(n_estimators=5)
    assert saved(model.fit(table)) == saved(model.fit(features, y))


def test_several_target_columns_are_outputs(frame, features):
    whole = features.assign(a=frame.y, b=-frame.weight)
    table = hr.ParquetTable(write(whole), target=["a", "b"])
    model = BOOSTING(n_estimators=5)
    assert saved(model.fit(table)) == saved(model.fit(features, whole[["a", "b"]]))


def test_groups_keep_holdouts_together(frame, features):
    model = BOOSTING(n_estimators=9, early_stopping=True)
    from_files = saved(model.fit(table_of(frame, target="y", groups="group")))
    assert from_files == saved(model.fit(features, frame.y, groups=frame.group))


def test_evaluation_sets_may_be_files(frame, features):
    table = table_of(frame, target="y")
    train, valid = table.take(slice(0, 800)), table.take(slice(800, None))
    model = BOOSTING(n_estimators=9, early_stopping=True)
    from_files = saved(model.fit(train, eval_set=[valid]))
    in_memory = model.fit(features[:800], frame.y[:800], eval_set=[(features[800:], frame.y[800:])])
    assert from_files == saved(in_memory)


@pytest.mark.parametrize("rows", ["sorted", "shuffled", "repeated"])
def test_selected_rows_are_those_in_memory(rows, frame, features):
    rng = np.random.default_rng(1)
    chosen = rng.integers(0, 1200, 700) if rows == "repeated" else rng.permutation(1200)[:700]
    chosen = np.sort(chosen) if rows == "sorted" else chosen
    table = table_of(frame, target="y").take(chosen)
    model = BOOSTING(n_estimators=5)
    X, y = features.iloc[chosen], frame.y.iloc[chosen]
    assert saved(model.fit(table)) == saved(model.fit(X, y))
    np.testing.assert_array_equal(model.predict(table), model.predict(X))


def test_fits_continue_from_files(frame, features):
    table = table_of(frame, target="y")
    first = BOOSTING(n_estimators=4).fit(features, frame.y)
    from_files = saved(BOOSTING(n_estimators=3).fit(table, init_model=first))
    assert from_files == saved(BOOSTING(n_estimators=3).fit(features, frame.y, init_model=first))
    again = hr.load("model.hedgerow").refit(table, keep=0.5)
    in_memory = hr.load("model.hedgerow").refit(features, frame.y, keep=0.5)
    assert saved(again) == saved(in_memory)


def test_a_checkpoint_of_files_resumes_in_memory(frame, features):
    table = table_of(frame, target="y")
    BOOSTING(n_estimators=3).fit(table, checkpoint="fit.checkpoint")
    resumed = BOOSTING(n_estimators=6).fit(features, frame.y, checkpoint="fit.checkpoint")
    assert saved(resumed) == saved(BOOSTING(n_estimators=6).fit(table))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", [{}, {"share_bins": False}, {"early_stopping": True}])
def test_cross_validation_of_files_is_that_in_memory(options, frame, features):
    table, model = table_of(frame, target="y", weight="weight"), BOOSTING(n_estimators=5)
    of_files = hr.cross_validate(model, table, cv=3, **options)
    weights = {"sample_weight": frame.weight}
    in_memory = hr.cross_validate(model, features, frame.y, cv=3, **weights, **options)
    np.testing.assert_array_equal(of_files.oof_prediction, in_memory.oof_prediction)
    assert list(map(saved, of_files.models)) == list(map(saved, in_memory.models))


@pytest.mark.filterwarnings("ignore")
def test_classes_in_files_are_cross_validated(frame, features):
    model = hr.GradientBoostingClassifier(n_estimators=5)
    of_files = hr.cross_validate(model, table_of(frame, target="label"), cv=3)
    in_memory = hr.cross_validate(model, features, frame.label, cv=3)
    np.testing.assert_array_equal(of_files.oof_prediction, in_memory.oof_prediction)


@pytest.mark.filterwarnings("ignore")
def test_queries_in_files_are_cross_validated(frame, features):
    relevance = pd.Series(np.digitize(frame.y, [0, 2]), name="y")
    table = table_of(frame.assign(y=relevance), target="y", groups="group")
    ranker = hr.GradientBoostingRanker(n_estimators=5)
    of_files = hr.cross_validate(ranker, table, cv=3)
    in_memory = hr.cross_validate(ranker, features, relevance, qid=frame.group, cv=3)
    np.testing.assert_array_equal(of_files.oof_prediction, in_memory.oof_prediction)


def test_rankers_are_refitted_to_files(frame, features):
    relevance = pd.Series(np.digitize(frame.y, [0, 2]), name="y")
    table = table_of(frame.assign(y=relevance), target="y", groups="group")
    ranker = hr.GradientBoostingRanker(n_estimators=4).fit(features, relevance, qid=frame.group)
    ranker.save("ranker.hedgerow")
    other = hr.load("ranker.hedgerow").refit(features, relevance, qid=frame.group, keep=0.5)
    assert saved(ranker.refit(table, keep=0.5)) == saved(other)


def test_row_groups_without_selected_rows_are_not_read(frame):
    table = table_of(frame, target="y")
    for path in table.paths[4:]:
        Path(path).unlink()
    assert table.head(300).read().num_rows == 300
    rows = np.array([499, 3, 8, 8])
    taken = table.take(rows).read()["large"].to_pylist()
    assert taken == frame.large.iloc[rows].tolist()
    with pytest.raises(hr.DataError, match="can no longer be read"):
        table.read()


@pytest.mark.parametrize("rows", [[1300], [-1300], [[1]], 3, ["a"], [0.5]])
def test_rows_that_do_not_exist_are_refused(rows, frame):
    with pytest.raises(hr.DataError, match="rows"):
        table_of(frame, target="y").take(rows)


@pytest.mark.parametrize("n_rows", [-1, 0.5, "all", None, True])
def test_a_number_of_rows_is_a_count(n_rows, frame):
    table = table_of(frame, target="y")
    for method in (table.head, table.sample):
        with pytest.raises(hr.ParameterError, match="n_rows="):
            method(n_rows)


def test_a_numeric_table_of_many_batches_is_binned_like_one_matrix():
    X, y = make_classification(3000, 70, random_state=0)
    X[:, 5:40] = np.where(np.arange(35) == np.arange(3000)[:, None] % 35, 1.0, 0.0)  # bundles
    whole = pd.DataFrame(X, columns=[f"x{j}" for j in range(70)])
    table = hr.ParquetTable(write(whole.assign(y=y), (0, 1, 2999, 3000)), target="y")
    model = hr.GradientBoostingClassifier(n_estimators=8)
    assert saved(model.fit(table)) == saved(model.fit(whole, y))


def test_predictions_stream_into_a_file(frame, features):
    table = table_of(frame, target="label")
    model = hr.GradientBoostingClassifier(n_estimators=5).fit(table)
    hr.predict_parquet(model, table, "out.parquet", proba=True, keep=["group", "text"])
    written = pq.read_table("out.parquet").to_pandas()
    assert written.group.tolist() == frame.group.tolist()
    assert written.prediction.tolist() == model.predict(features).tolist()
    p = model.predict_proba(features)
    np.testing.assert_array_equal(written.filter(like="probability_").to_numpy(), p)
    assert names() == ["data", "out.parquet"]


def test_a_failed_prediction_leaves_no_file(frame):
    table = table_of(frame, target="y")
    model = BOOSTING(n_estimators=2).fit(table)
    with pytest.raises(hr.DataError, match="name of a column of the predictions"):
        hr.predict_parquet(
            model,
            hr.ParquetTable(write(frame.assign(prediction=1)), columns=table.columns),
            "out.parquet",
            keep=["prediction"],
        )
    with pytest.raises(hr.ParameterError, match="file of the table"):
        hr.predict_parquet(model, table, table.paths[0])
    assert names() == ["data"]


def test_a_report_is_written_on_files(frame):
    table = table_of(frame, target="y")
    hr.report(BOOSTING(n_estimators=2).fit(table), table, None, "report.html", n_bootstrap=5)
    assert Path("report.html").stat().st_size > 10_000
    table = table_of(frame, target="label")
    model = hr.GradientBoostingClassifier(n_estimators=2).fit(table)
    hr.report(model, table, None, "classes.html", n_bootstrap=5)
    assert Path("classes.html").stat().st_size > 10_000


def test_progress_is_shown_for_every_pass(frame, capsys):
    table = table_of(frame, target="y")
    BOOSTING(n_estimators=2, verbose=1).fit(table).predict(table)
    shown = capsys.readouterr().err
    assert "column" in shown
    assert "batch of columns" in shown
    assert "round 2/2" in shown
    assert "row 1200/1200" in shown


# ---- Files ---------------------------------------------------------------------------------------


def test_files_are_in_natural_order():
    assert sorted(["p10", "p9", "p1", "q", "p010"], key=natural_order)[:2] == ["p1", "p9"]
    for number in (10, 9, 1):
        pq.write_table(pa.table({"x": [number], "y": [0.0]}), f"p{number}.parquet")
    assert hr.ParquetTable("p*.parquet", target="y").read()["x"].to_pylist() == [1, 9, 10]
    listed = hr.ParquetTable(["p10.parquet", "p1.parquet"], target="y")
    assert listed.read()["x"].to_pylist() == [10, 1]
    assert len(hr.ParquetTable(".", target="y")) == 3


def test_the_index_of_pandas_is_no_feature():
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [0, 1]}, index=[7, 9])
    frame.to_parquet("a.parquet")
    assert hr.ParquetTable("a.parquet", target="y").columns == ("x",)


def one(name="a.parquet", **columns):
    pq.write_table(pa.table(columns), name)
    return name


REFUSED = {
    "no match": (lambda: "none/*.parquet", "matches no file"),
    "no file": (lambda: "none.parquet", "no such file"),
    "empty folder": (lambda: Path("sub").mkdir() or "sub", "folder without files"),
    "partitioned": (
        lambda: Path("sub/year=1").mkdir(parents=True) or "sub",
        "partitioned by folders",
    ),
    "empty file": (lambda: Path("a.parquet").touch() or "a.parquet", "is empty"),
    "csv": (lambda: Path("a.csv").touch() or "a.csv", "from_csv"),
    "number": (lambda: 3, "paths=3 is not allowed"),
    "empty list": (list, "is not allowed"),
    "address": (lambda: "s3://bucket/a.parquet", "is a URL"),
    "twice": (lambda: [one(x=[1], y=[1]), "a.parquet"], "listed twice"),
    "no target": (lambda: one(x=[1]), "target='y': a.parquet has no such column"),
    "only target": (lambda: one(y=[1]), "no columns besides"),
    "other type": (
        lambda: [one(x=[1], y=[1]), one("b.parquet", x=["1"], y=[1])],
        "Column 'x' has the type int64 in a.parquet, but string in b.parquet",
    ),
    "other columns": (
        lambda: [one(x=[1], y=[1]), one("b.parquet", z=[1], y=[1])],
        "b.parquet has no column 'x', which a.parquet has",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_table_is_refused(name):
    make, message = REFUSED[name]
    with pytest.raises((hr.DataError, hr.ParameterError), match=message):
        hr.ParquetTable(make(), target="y")


def test_duplicate_names_are_refused():
    pq.write_table(pa.table([[1.0], [2.0], [1.0]], names=["x", "x", "y"]), "a.parquet")
    with pytest.raises(hr.DataError, match="'x'"):
        hr.ParquetTable("a.parquet", target="y")


@pytest.mark.parametrize("share", [0.5, 0.99])
def test_a_truncated_file_is_refused(share, frame):
    table = table_of(frame, target="y")
    path = table.paths[4]
    os.truncate(path, int(share * Path(path).stat().st_size))
    with pytest.raises(hr.DataError, match=r"part-4.parquet is not a complete Parquet file"):
        hr.ParquetTable("data/*.parquet", target="y")
    with pytest.raises(hr.DataError, match=r"part-4.parquet has changed"):
        BOOSTING(n_estimators=2).fit(table)


def test_damaged_pages_are_refused():
    rng = np.random.default_rng(0)
    one(x=rng.normal(size=50_000), y=rng.normal(size=50_000))
    with Path("a.parquet").open("r+b") as file:  # the header of the first page
        file.seek(4)
        file.write(b"\xff" * 64)
    with pytest.raises(hr.DataError, match=r"a.parquet|column 'x'"):
        BOOSTING(n_estimators=2).fit(hr.ParquetTable("a.parquet", target="y"))


@pytest.mark.parametrize("metadata", [b"{broken", b"[1]", b'{"index_columns": 3}', b"\xff"])
def test_damaged_metadata_of_pandas_is_refused(metadata):
    table = pa.table({"x": np.arange(20.0), "y": np.arange(20.0)})
    pq.write_table(table.replace_schema_metadata({b"pandas": metadata}), "a.parquet")
    with pytest.raises(hr.DataError, match=r"a.parquet is damaged: its metadata for pandas"):
        BOOSTING(n_estimators=2).fit(hr.ParquetTable("a.parquet", target="y"))


def test_a_file_that_changes_between_passes_is_refused(frame):
    table = table_of(frame, target="y")
    model = BOOSTING(n_estimators=2).fit(table)
    os.utime(table.paths[2], (0, 0))
    with pytest.raises(hr.DataError, match="has changed since the table was opened"):
        model.predict(table)
    Path(table.paths[2]).unlink()
    with pytest.raises(hr.DataError, match="can no longer be read"):
        model.predict(table)


TYPES = {
    "nested": (pa.array([[1.0], [2.0]]), "Expand it"),
    "struct": (pa.array([{"a": 1}, {"a": 2}]), "Expand it"),
    "dates": (pa.array([0, 1], pa.date32()), "dates, times or durations"),
    "zones": (pa.array([0, 1], pa.timestamp("us", "Europe/Paris")), "dates, times or durations"),
    "bytes": (pa.array([b"a", b"b"]), "Expand it"),
    "infinity": (pa.array([1.0, np.inf]), r"'x' contains infinity \(first in row 1\)"),
}


@pytest.mark.parametrize("name", TYPES)
def test_columns_that_are_neither_numbers_nor_strings_are_refused(name):
    values, message = TYPES[name]
    table = hr.ParquetTable(one(x=values, y=[0.0, 1.0]), target="y")
    with pytest.raises(hr.DataError, match=message):
        BOOSTING(n_estimators=2).fit(table)


def test_decimals_and_nulls_are_numbers():
    from decimal import Decimal

    values = [Decimal(k) / 4 for k in range(80)]
    nothing = pa.nulls(80)
    whole = pa.table({"d": values, "n": nothing, "y": np.arange(80.0)})
    pq.write_table(whole[:40], "a.parquet")
    pq.write_table(whole[40:].set_column(1, "n", nothing[40:].cast("string")), "b.parquet")
    model = BOOSTING(n_estimators=3, min_samples_leaf=2)
    from_files = model.fit(hr.ParquetTable(["a.parquet", "b.parquet"], target="y")).predict(
        whole.select(["d", "n"])
    )
    in_memory = model.fit(whole.select(["d", "n"]), whole["y"]).predict(whole.select(["d", "n"]))
    np.testing.assert_array_equal(from_files, in_memory)


@pytest.mark.parametrize(
    ("columns", "roles", "message"),
    [
        ({"y": [0.0, None, 1.0]}, {}, "y .*missing|missing.*y|NaN"),
        ({"y": [0.0, 2.0, 1.0], "w": [1.0, -1.0, 1.0]}, {"weight": "w"}, "negative in row 1"),
        ({"y": ["a", "b", "c"]}, {}, "y contains strings"),
    ],
)
def test_bad_targets_and_weights_are_refused(columns, roles, message):
    table = hr.ParquetTable(one(x=[1.0, 2.0, 3.0], **columns), target="y", **roles)
    with pytest.raises(hr.DataError, match=message):
        BOOSTING(n_estimators=2).fit(table)


def test_a_table_without_rows_can_be_predicted_but_not_learned():
    one(x=np.arange(50.0), y=np.arange(50.0))
    one("empty.parquet", x=pa.array([], "float64"), y=pa.array([], "float64"))
    model = BOOSTING(n_estimators=2).fit(hr.ParquetTable("a.parquet", target="y"))
    empty = hr.ParquetTable("empty.parquet", target="y")
    assert model.predict(empty).shape == (0,)
    hr.predict_parquet(model, empty, "out.parquet")
    assert pq.read_table("out.parquet").num_rows == 0
    with pytest.raises(hr.DataError, match="0 sample"):
        model.fit(empty)


def test_the_target_is_given_once(frame):
    with pytest.raises(hr.DataError, match="already has target='y'"):
        BOOSTING().fit(table_of(frame, target="y"), frame.y)
    with pytest.raises(hr.DataError, match="needs the target"):
        BOOSTING().fit(table_of(frame))
    with pytest.raises(hr.ParameterError, match="both name column 'y'"):
        table_of(frame, target="y", weight="y")


@pytest.mark.parametrize(
    "model",
    [
        BOOSTING(splitter="exact"),
        BOOSTING(linear_leaves=True),
        hr.RandomForestRegressor(feature_combinations=2),
        hr.DecisionTreeRegressor(splitter="exact"),
        hr.KNeighborsRegressor(),
        hr.LinearSVR(),
        hr.AdaBoostRegressor(),
        hr.BaggingRegressor(),
        hr.StagewiseRegressor(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_what_needs_all_numbers_in_memory_is_refused_by_name(model):
    table = hr.ParquetTable(one(x=np.arange(60.0), y=np.arange(60.0)), target="y")
    with pytest.raises((hr.DataError, hr.ParameterError), match="ParquetTable"):
        model.fit(table.without_roles(), np.arange(60.0))


def test_models_with_exact_splits_do_not_continue_on_bins(frame, features):
    numeric = features[["double", "byte"]]
    exact = BOOSTING(n_estimators=2, splitter="exact").fit(numeric, frame.y)
    table = hr.ParquetTable(write(frame), target="y", columns=["double", "byte"])
    with pytest.raises(hr.ParameterError, match="exact splits or linear leaves"):
        BOOSTING(n_estimators=2).fit(table, init_model=exact)


def test_without_pyarrow_the_error_says_what_to_install():
    code = "import sys; sys.modules['pyarrow'] = None\nimport hedgerow as hr\nhr.ParquetTable('.')"
    one(x=[1], y=[1])
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert "pip install pyarrow" in ended.stderr


# ---- CSV -----------------------------------------------------------------------------------------


def test_csv_files_are_converted_to_a_temporary_folder(frame, features):
    pd.DataFrame(frame[:700]).to_csv("a.csv", index=False)
    pd.DataFrame(frame[700:]).to_csv("b.csv.gz", index=False)
    exact = {"float_precision": "round_trip"}
    parts = [pd.read_csv("a.csv", **exact), pd.read_csv("b.csv.gz", **exact)]
    in_memory = pd.concat(parts, ignore_index=True)
    columns = [c for c in features.columns if c != "maybe"]
    table = hr.ParquetTable.from_csv(["a.csv", "b.csv.gz"], target="y", columns=columns)
    model = BOOSTING(n_estimators=5)
    assert saved(model.fit(table)) == saved(model.fit(in_memory[columns], in_memory.y))
    folder = Path(table.paths[0]).parent
    del table
    assert not folder.exists()
    assert names() == ["a.csv", "b.csv.gz", "model.hedgerow"]


def test_csv_files_are_converted_to_a_folder_in_which_nothing_is_replaced():
    Path("a.csv").write_text('x,s,y\n1,"a, b\nc",1\n2.5,NA,2\n,d,3\n')
    table = hr.ParquetTable.from_csv("a.csv", to="new", target="y", verbose=0)
    assert table.paths == [str(Path("new", "a.parquet"))]
    assert table.read().to_pydict() == {"x": [1.0, 2.5, None], "s": ["a, b\nc", None, "d"]}
    with pytest.raises(hr.DataError, match="already exists"):
        hr.ParquetTable.from_csv("a.csv", to="new", target="y")


@pytest.mark.parametrize("text", ["", "x,y\n1\n", "x,x\n1,2\n"])
def test_bad_csv_files_leave_nothing(text):
    Path("a.csv").write_text(text)
    with pytest.raises(hr.DataError):
        hr.ParquetTable.from_csv("a.csv", to="new", target="y")
    assert not list(Path().glob("new/*"))


@pytest.fixture
def small_table():
    """Return a table of a key, a feature and a target."""
    numbers = np.arange(100.0)
    pq.write_table(pa.table({"key": np.arange(100), "x": numbers, "y": numbers}), "small.parquet")
    return hr.ParquetTable("small.parquet", target="y", columns=["x"])


@pytest.mark.parametrize("keep", ["key", ["key", "key"], None, 3])
def test_columns_to_keep_must_be_a_list_of_names(small_table, keep):
    model = BOOSTING(n_estimators=2).fit(small_table)
    with pytest.raises(hr.ParameterError, match=r"^keep"):
        hr.predict_parquet(model, small_table, "out.parquet", keep=keep)
    assert not Path("out.parquet").exists()


def test_an_empty_list_of_columns_is_named(small_table):
    with pytest.raises(hr.ParameterError, match="columns=\\[\\] is not allowed"):
        hr.ParquetTable(small_table.paths, columns=[])


def test_a_table_can_be_pickled(small_table):
    copy = pickle.loads(pickle.dumps(small_table))
    assert copy.read().equals(small_table.read())
    model = BOOSTING(n_estimators=2).fit(small_table)
    np.testing.assert_array_equal(model.predict(copy), model.predict(small_table))


def test_offsets_are_columns_of_the_files(tmp_path):
    frame = mixed_frame()
    frame["exposure"] = np.log(frame.weight + 0.1)
    paths = write(frame)
    features = ["double", "byte", "text", "whole"]
    columns = {"target": "y", "offset": "exposure", "columns": features}
    table = hr.ParquetTable(paths, **columns)
    streamed = BOOSTING(n_estimators=5).fit(table, eval_set=table)
    local = BOOSTING(n_estimators=5)
    entry = (frame[features], frame.y, None, frame.exposure)
    local.fit(frame[features], frame.y, offset=frame.exposure, eval_set=[entry])
    np.testing.assert_array_equal(streamed.predict(table), local.predict(entry[0], offset=entry[3]))
    assert streamed.evals_result_ == local.evals_result_
    part = table.take([700, 3, 512])
    expected = local.predict(
        frame[features].iloc[[700, 3, 512]], offset=frame.exposure[[700, 3, 512]]
    )
    np.testing.assert_array_equal(streamed.predict(part), expected)
    hr.predict_parquet(streamed, table, tmp_path / "out.parquet", keep=["group"])
    written = pd.read_parquet(tmp_path / "out.parquet")
    np.testing.assert_array_equal(written.prediction, local.predict(entry[0], offset=entry[3]))
    assert list(written.columns) == ["group", "prediction"]
    with pytest.raises(hr.DataError, match="already has offset='exposure'"):
        streamed.predict(table, offset=frame.exposure)
    with pytest.raises(hr.ParameterError, match="target and offset both name"):
        hr.ParquetTable(paths, target="y", offset="y")
    result = hr.cross_validate(BOOSTING(n_estimators=5), table)
    same = hr.cross_validate(BOOSTING(n_estimators=5), *entry[:2], offset=entry[3])
    np.testing.assert_array_equal(result.oof_prediction, same.oof_prediction)


def test_an_offset_of_several_scores_is_a_list_of_columns():
    frame = mixed_frame()
    for k, name in enumerate(["low", "mid", "high"]):
        frame[f"o_{name}"] = frame.weight * (k - 1)
    names = ["o_low", "o_mid", "o_high"]
    paths = write(frame)
    table = hr.ParquetTable(paths, target="label", offset=names, columns=["double", "byte"])
    model = hr.GradientBoostingClassifier(n_estimators=3)
    expected = model.fit(table).predict_proba(table)
    local = model.fit(frame[["double", "byte"]], frame.label, offset=frame[names])
    p = local.predict_proba(frame[["double", "byte"]], offset=frame[names])
    np.testing.assert_array_equal(expected, p)
