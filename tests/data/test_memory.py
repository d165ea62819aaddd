"""Forecasts of memory are close to real peaks, and a limit is refused before the fit."""

import json
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow._boosting.fit import budget, kinds
from hedgerow._data import memory
from hedgerow._data.memory import read_bytes

# Fits in a process of its own and prints forecast and peak.
MEASURE = """
import json, sys
import hedgerow as hr

kind, options = json.loads(sys.argv[2])
model = getattr(hr, kind)(**options)
table = hr.ParquetTable(sys.argv[1], target="label" if "Class" in kind else "y")
forecast = hr.memory_estimate(table, model).total
model.fit(table)
# Not getrusage, which counts what the process was before it ran this program.
status = dict(line.split(":") for line in open("/proc/self/status"))
print(forecast, int(status["VmHWM"].split()[0]) * 1024)
"""


def write(folder, n_rows, n_columns):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_columns, n_rows))
    y = X[0] + np.sin(X[1])
    columns = {f"x{j}": column for j, column in enumerate(X)}
    label = np.digitize(y, [-1, -0.3, 0.3, 1])
    pq.write_table(pa.table({**columns, "y": y, "label": label}), folder / "a.parquet")
    return str(folder / "a.parquet")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peaks are measured on Linux")
@pytest.mark.skipif(
    "HEDGEROW_MEASURE_MEMORY" not in os.environ,
    reason="how much Arrow keeps depends on what else runs: HEDGEROW_MEASURE_MEMORY=1 measures",
)
@pytest.mark.parametrize(
    ("shape", "kind", "options"),
    [
        ((1_000_000, 12), "GradientBoostingRegressor", {"n_estimators": 3}),
        ((300_000, 80), "GradientBoostingRegressor", {"n_estimators": 3}),
        (
            (1_500_000, 20),
            "GradientBoostingRegressor",
            {"n_estimators": 3, "early_stopping": True, "validation_fraction": 0.3},
        ),
        ((800_000, 12), "GradientBoostingRegressor", {"budget": 0.001}),
        ((800_000, 12), "GradientBoostingClassifier", {"n_estimators": 2}),
    ],
)
def test_the_forecast_is_within_15_percent_of_the_peak(shape, kind, options, tmp_path):
    path = write(tmp_path, *shape)
    command = [sys.executable, "-c", MEASURE, path, json.dumps([kind, options])]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    forecast, peak = map(float, ended.stdout.split())
    assert peak / forecast == pytest.approx(1.0, abs=0.15)


def test_a_limit_is_refused_before_the_fit(tmp_path):
    table = hr.ParquetTable(write(tmp_path, 2000, 3), target="y", columns=["x0", "x1"])
    model = hr.GradientBoostingRegressor(n_estimators=2)
    with pytest.raises(hr.MemoryLimitError, match=r"needs about .*B, more than memory_limit=5"):
        model.fit(table, memory_limit="50 MB")
    assert not hasattr(model, "_model")
    model.fit(table, memory_limit="64GB")
    with pytest.raises(MemoryError):
        model.fit(np.ones((9, 2)), np.arange(9.0), memory_limit=1000)


SHAPES = [(50, 2), (999, 3), (20_000, 2), (33_000, 5), (2000, 40), (300, 300)]
MODELS = {
    "regressor": (hr.GradientBoostingRegressor(n_estimators=1), {}),
    "early stopping": (hr.GradientBoostingRegressor(n_estimators=1, early_stopping=True), {}),
    "auto": (hr.GradientBoostingRegressor(budget=0.001), {}),
    "quantiles": (
        hr.GradientBoostingRegressor(n_estimators=1, loss="quantile", quantile=[0.1, 0.9]),
        {"n_outputs": 2},
    ),
    "classes": (hr.GradientBoostingClassifier(n_estimators=1), {"n_outputs": 5}),
}


def assert_limit_is_exact(model, X, *passed, **known):
    limit = hr.memory_estimate(X, model, **known).total
    model.fit(X, *passed, memory_limit=limit)
    with pytest.raises(hr.MemoryLimitError):
        model.fit(X, *passed, memory_limit=limit - 1)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_limit_of_the_forecast_is_not_refused_and_one_byte_less_is(shape, name, tmp_path):
    if name == "auto" and shape != (999, 3):
        pytest.skip("each is a search")
    path, (model, options) = write(tmp_path, *shape), MODELS[name]
    target = "label" if name == "classes" else "y"
    frame = pq.read_table(path).to_pandas()
    X, y = frame.drop(columns=["y", "label"]), frame[target]
    assert_limit_is_exact(model, hr.ParquetTable(path, target=target, columns=list(X)))
    assert_limit_is_exact(model, X, y, **options)
    assert_limit_is_exact(model, X, y, X.x1.abs(), **options, has_weights=True)


def test_a_ranker_and_a_survival_model_keep_the_forecast_as_their_limit(tmp_path):
    path = write(tmp_path, 400, 4)
    frame = pq.read_table(path).to_pandas()
    frame = frame.assign(time=frame.x0.abs() + 0.1, event=frame.x1 > 0, query=frame.label // 2)
    frame.to_parquet(path)
    ranker = hr.ParquetTable(path, target="label", groups="query", columns=["x2", "x3"])
    survival = hr.ParquetTable(path, target=["event", "time"], columns=["x2", "x3"])
    for kind, table in (("Ranker", ranker), ("Survival", survival)):
        model = getattr(hr, f"GradientBoosting{kind}")(n_estimators=1)
        model.fit(table, memory_limit=hr.memory_estimate(table, model).total)


@pytest.mark.parametrize("X", [[{"a": 1.0}, {"a": 2.0}, {"a": 3.0}], [[1], [2], [3]]])
def test_tables_without_a_shape_have_a_limit(X):
    model = hr.GradientBoostingRegressor(n_estimators=1, min_samples_leaf=1)
    model.fit(X, [1.0, 2.0, 3.0], memory_limit="64GB")
    with pytest.raises(hr.MemoryLimitError, match=r"needs about .*B, more than memory_limit=5"):
        model.fit(X, [1.0, 2.0, 3.0], memory_limit=5)


@pytest.mark.parametrize(
    "X",
    [
        *(None, [], [1, 2, 3], np.arange(3.0), np.ones((3, 1, 1))),
        pl.LazyFrame({"a": [1, 2, 3]}),
    ],
)
def test_what_is_no_table_is_refused_as_without_a_limit(X):
    model, errors = hr.GradientBoostingRegressor(), []
    for limit in (None, "64GB"):
        with pytest.raises(hr.DataError) as error:
            model.fit(X, [1.0, 2.0, 3.0], memory_limit=limit)
        errors.append(str(error.value))
    assert errors[0] == errors[1]


def test_a_process_that_has_grown_needs_more(monkeypatch):
    model, X = hr.GradientBoostingRegressor(n_estimators=1), np.ones((50, 2))
    limit = hr.memory_estimate(X, model).total
    in_use = memory.resident_bytes() + (200 << 20)
    monkeypatch.setattr(memory, "resident_bytes", lambda: in_use)
    with pytest.raises(hr.MemoryLimitError):
        model.fit(X, np.arange(50.0), memory_limit=limit)


def test_the_forecast_shows_the_fit_apart_from_the_process():
    lines = repr(hr.memory_estimate((15_000, 10))).splitlines()
    assert [line.split("  ")[0] for line in lines[-3:]] == [
        *("this fit", "already in use by this process", "total"),
    ]


def test_the_forecast_says_what_takes_the_memory():
    estimate = hr.memory_estimate((10_000_000, 28))
    assert estimate.parts["bins by column"] == 280_000_000
    assert estimate.total == estimate.process + sum(estimate.parts.values())
    assert "bins by row" in repr(estimate)
    assert "10,000,000 rows" in repr(estimate)


def test_more_classes_need_more_memory():
    model = hr.GradientBoostingClassifier(n_estimators=5)
    one, five = (hr.memory_estimate((10**7, 9), model, n_outputs=k) for k in (1, 5))
    assert five.parts["gradients"] == 5 * one.parts["gradients"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("4GB", 4 * 10**9), ("512 MiB", 512 * 2**20), ("1.5e9", 1.5e9), (2e9, 2e9), ("7kb", 7000)],
)
def test_bytes_are_read_with_units(text, expected):
    assert read_bytes(text, "memory_limit") == expected


@pytest.mark.parametrize("value", ["much", "", "-1", 0, -5, float("nan"), True, None, "1.2.3GB"])
def test_other_limits_are_refused(value):
    with pytest.raises(hr.ParameterError, match=r"memory_limit=.*is not allowed"):
        read_bytes(value, "memory_limit")


@pytest.mark.parametrize(
    ("X", "estimator", "message"),
    [
        ((5,), None, "it must be a table, or its shape"),
        ((0, 3), None, "it must be a table, or its shape"),
        ((10, 3), hr.RandomForestRegressor(), "supports only gradient boosting"),
        ((10, 3), hr.GradientBoostingRegressor(splitter="exact"), "does not support splitter"),
    ],
)
def test_what_has_no_forecast_is_refused(X, estimator, message):
    with pytest.raises(hr.ParameterError, match=message):
        hr.memory_estimate(X, estimator)


def test_offsets_take_eight_bytes_a_score(tmp_path):
    path = write(tmp_path, 1000, 3)
    model = hr.GradientBoostingClassifier(n_estimators=2)
    without = hr.memory_estimate(hr.ParquetTable(path, target="label", columns=["x2"]), model)
    options = {"target": "label", "offset": ["x0", "x1"], "columns": ["x2"]}
    beside = hr.memory_estimate(hr.ParquetTable(path, **options), model)
    assert beside.parts["offsets"] == 16_000
    assert "offsets" not in without.parts


def test_the_forecast_counts_the_models_that_a_search_has_at_a_time():
    n_kinds = len(kinds.SMALL_KINDS) + len(kinds.KINDS)
    assert max(n_kinds, *budget.MAX_MODELS) == memory._MODELS
    assert budget.MANY_ROWS == memory._MANY_ROWS
    n_large = max(len(kinds.LARGE_KINDS), budget.MAX_MODELS_OF_MANY_ROWS)
    assert n_large == memory._MODELS_OF_MANY_ROWS
