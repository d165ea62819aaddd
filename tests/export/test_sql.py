"""Exported queries: many trees, deep trees, names; test_readers.py compares predictions."""

import json
import sqlite3

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from export.models import model
from hedgerow._export.portable import portable
from hedgerow._export.sql import _nesting


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


def test_a_chain_of_2000_levels_is_one_flat_expression(tmp_path):
    """Its nesting is that of one split, in every database."""
    x = np.arange(2_001.0)
    n = 2 * len(x) - 1
    inner = np.arange(0, n - 1, 2)
    left, right = np.full(n, -1), np.full(n, -1)
    left[inner], right[inner] = inner + 1, inner + 2
    conditions = np.where(left >= 0, np.arange(n) // 2 + 0.5, (np.arange(n) // 2) % 7)
    chain = _imported_tree(left, right, conditions, tmp_path)
    np.testing.assert_array_equal(
        np.sort(_in_sqlite(chain, x, tmp_path)), np.sort(chain.predict(x[:, np.newaxis]))
    )


def test_a_balanced_tree_of_16384_leaves_is_not_too_deep_for_sqlite(tmp_path):
    """SQLite 3.40 accepts 17 CASE expressions inside each other, which are 131,072 such leaves."""
    n = 2**15 - 1
    inner = np.arange(n // 2)
    left, right = np.full(n, -1), np.full(n, -1)
    left[inner], right[inner] = 2 * inner + 1, 2 * inner + 2
    x = np.array([1.0, 50.0, 96.0])
    tree = _imported_tree(left, right, np.arange(n) % 97 + 0.5, tmp_path)
    assert _nesting(tree.__hedgerow__().model().ensemble.tree(0))[0] == 14
    np.testing.assert_array_equal(
        np.sort(_in_sqlite(tree, x, tmp_path)), np.sort(tree.predict(x[:, np.newaxis]))
    )


def _imported_tree(left, right, conditions, folder):
    """Return a model of one tree by its arrays; the conditions of leaves are their values."""
    n = len(left)
    zeros = [0] * n
    parents = np.full(n, 2147483647)
    inner = np.flatnonzero(left >= 0)
    parents[left[inner]] = parents[right[inner]] = inner
    document = json.loads(_stump_of_xgboost(folder))
    tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
    tree |= {
        "left_children": left.tolist(),
        "right_children": right.tolist(),
        "split_conditions": conditions.tolist(),
        "split_indices": zeros,
        "split_type": zeros,
        "default_left": zeros,
        "base_weights": zeros,
        "loss_changes": zeros,
        "sum_hessian": [1.0] * n,
        "parents": parents.tolist(),
    }
    tree["tree_param"]["num_nodes"] = str(n)
    (folder / "tree.xgb.json").write_text(json.dumps(document))
    return hr.read_model(folder / "tree.xgb.json")


def _in_sqlite(estimator, x, folder):
    estimator.export(folder / "tree.sql", table="t")
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (x0)")
    database.executemany("INSERT INTO t VALUES (?)", [[value] for value in x.tolist()])
    found = np.array(database.execute((folder / "tree.sql").read_text("utf-8")).fetchall())[:, 0]
    database.close()
    return found


def _stump_of_xgboost(folder):
    X = np.arange(20.0)[:, np.newaxis]
    stump = hr.GradientBoostingRegressor(n_estimators=1, max_leaves=2, min_samples_leaf=1)
    stump.fit(X, X[:, 0]).export(folder / "stump.xgb.json")
    return (folder / "stump.xgb.json").read_text(encoding="utf-8")


def test_nesting_grows_with_the_logarithm_of_the_leaves():
    for kind in ("deep tree", "deep forest"):
        ensemble = portable(model(kind)).ensemble
        for t in range(ensemble.n_trees):
            tree = ensemble.tree(t)
            assert _nesting(tree)[0] <= np.log2(tree.n_leaves)


def test_nul_is_refused(tmp_path):
    frame = pd.DataFrame({"a": ["x\0y", "z"] * 30, "b": np.arange(60.0)})
    tree = hr.DecisionTreeRegressor(max_depth=2).fit(frame, frame["b"])
    with pytest.raises(hr.ExportError, match="NUL"):
        tree.export(tmp_path / "tree.sql", table="t")
    numbers = hr.DecisionTreeRegressor(max_depth=2).fit(frame[["b"]], frame["b"])
    with pytest.raises(hr.ParameterError, match="NUL"):
        numbers.export(tmp_path / "tree.sql", table="a\0b")
