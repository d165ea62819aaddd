"""Exported queries return what the model predicts, up to the rounding of the database."""

import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from export.models import KINDS, model, prediction, rows

SQL_KINDS = [kind for kind in KINDS if kind != "quantiles"]


def query(kind, folder):
    model(kind).export(folder / "model.sql", table="some rows", keep=["id"])
    return (folder / "model.sql").read_text(encoding="utf-8")


def numbered(kind):
    return rows(kind).reset_index(names="id")


@pytest.mark.parametrize("kind", SQL_KINDS)
def test_duckdb_predicts_as_the_model(kind, tmp_path):
    with duckdb.connect() as database:
        frame = numbered(kind)
        database.register("some rows", frame)
        # In a registered frame NaN stays NaN.
        database.execute(
            'CREATE TABLE t AS SELECT * REPLACE (nullif("size", \'nan\'::DOUBLE) AS "size") '
            'FROM "some rows"'
        )
        found = database.execute(query(kind, tmp_path).replace('"some rows"', "t")).fetchnumpy()
    _compare(kind, found)


@pytest.mark.parametrize("kind", SQL_KINDS)
def test_sqlite_predicts_as_the_model(kind, tmp_path):
    frame = numbered(kind)
    records = frame.astype(object).where(frame.notna(), None)
    database = sqlite3.connect(":memory:")
    columns = ", ".join(f'"{name}"' for name in frame)
    database.execute(f'CREATE TABLE "some rows" ({columns})')
    marks = ", ".join("?" * len(frame.columns))
    database.executemany(f'INSERT INTO "some rows" VALUES ({marks})', records.values.tolist())
    cursor = database.execute(query(kind, tmp_path))
    names = [column[0] for column in cursor.description]
    found = dict(zip(names, np.array(cursor.fetchall(), float).T, strict=True))
    database.close()
    _compare(kind, found)


def _compare(kind, found):
    order = np.argsort(found.pop("id"))
    matrix = np.column_stack(list(found.values()))[order]
    np.testing.assert_allclose(matrix, prediction(kind, rows(kind)), rtol=1e-12, atol=1e-12)


def test_many_trees_are_added_in_steps(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    many = hr.GradientBoostingRegressor(n_estimators=1_500, max_leaves=2, min_samples_leaf=1)
    many.fit(X, X[:, 0] * X[:, 1])
    many.export(tmp_path / "many.sql", table="t")
    text = (tmp_path / "many.sql").read_text(encoding="utf-8")
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (x0, x1)")
    database.executemany("INSERT INTO t VALUES (?, ?)", X.tolist())
    found = np.array(database.execute(text).fetchall())[:, 0]
    database.close()
    np.testing.assert_allclose(found, many.predict(X), rtol=1e-12)


def test_kept_columns_may_have_any_name(tmp_path):
    names = ["f0", "s0", "t0_0", "p0", "k1", "x 1"]
    X = np.random.default_rng(0).normal(size=(60, len(names)))
    frame = pd.DataFrame(X, columns=names)
    tree = hr.DecisionTreeRegressor(max_depth=3).fit(frame, X[:, 1] * X[:, 3])
    tree.export(tmp_path / "tree.sql", table="t", keep=names)
    database = sqlite3.connect(":memory:")
    frame.to_sql("t", database, index=False)
    found = database.execute((tmp_path / "tree.sql").read_text(encoding="utf-8"))
    assert [column[0] for column in found.description][:-1] == names
    rows = np.array(found.fetchall())
    database.close()
    np.testing.assert_array_equal(rows[:, :-1], X)
    np.testing.assert_allclose(rows[:, -1], tree.predict(frame), rtol=1e-12)
    for keep in ("f0", [1]):
        with pytest.raises(hr.ParameterError, match=r"keep=.* must be a list of column names"):
            tree.export(tmp_path / "tree.sql", table="t", keep=keep)


def test_quantiles_are_refused(tmp_path):
    with pytest.raises(hr.ExportError, match="quantiles"):
        model("quantiles").export(tmp_path / "model.sql", table="t")
