"""XGBoost's JSON: leaves, names and what is refused; test_readers.py compares predictions."""

import json

import numpy as np
import pandas as pd
import pytest
import xgboost

import hedgerow as hr
from export.models import model, rows, table


def booster(estimator, folder):
    estimator.export(folder / "model.xgb.json")
    return xgboost.Booster(model_file=folder / "model.xgb.json")


def known_rows(kind):
    """Rows that float32 holds exactly, without categories that XGBoost would reject."""
    frame = rows(kind)
    colours = table()["colour"].dropna().unique()
    frame = frame[
        frame["code"].isin([1, 3, 20]) & (frame["colour"].isna() | frame["colour"].isin(colours))
    ]
    return frame.astype({"size": np.float32, "floor area": np.float32})


def matrix(frame):
    known = table()
    frame = frame.copy()
    for name in ("colour", "code"):
        values = sorted(known[name].dropna().unique().tolist())
        frame[name] = pd.Categorical(frame[name], categories=values)
    return xgboost.DMatrix(frame, enable_categorical=True)


def test_every_row_ends_in_the_same_leaf(tmp_path):
    frame, estimator = known_rows("regressor"), model("regressor")
    found = booster(estimator, tmp_path).predict(matrix(frame), pred_leaf=True)
    np.testing.assert_array_equal(found, estimator.apply(frame))


def test_a_split_between_all_categories_and_missing_values(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"colour": rng.choice(["red", "blue", None], 300)})
    frame["size"] = rng.integers(0, 4, 300).astype(float)
    y = np.where(frame["colour"].isna(), 8.0 + frame["size"], frame["size"] // 2)
    tree = hr.DecisionTreeRegressor(max_depth=3).fit(frame, y)
    known = frame.assign(colour=pd.Categorical(frame["colour"], categories=["blue", "red"]))
    found = booster(tree, tmp_path).predict(xgboost.DMatrix(known, enable_categorical=True))
    np.testing.assert_array_equal(found, y)
    read = hr.read_model(tmp_path / "model.xgb.json")
    np.testing.assert_array_equal(read.predict(frame), y)


def test_siblings_are_adjacent_in_every_tree(tmp_path):
    for kind in ("deep tree", "deep forest", "XGBoost", "scikit-learn forest", "deep SAMME"):
        model(kind).export(tmp_path / "model.xgb.json")
        document = json.loads((tmp_path / "model.xgb.json").read_text(encoding="utf-8"))
        for tree in document["learner"]["gradient_booster"]["model"]["trees"]:
            left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
            np.testing.assert_array_equal(right[left >= 0], left[left >= 0] + 1)


def test_names_outside_ascii_are_those_of_the_table(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["größe", "面 积"])
    frame = frame.astype(np.float32)
    tree = hr.DecisionTreeRegressor(max_depth=3).fit(frame, frame["größe"])
    found = booster(tree, tmp_path).predict(xgboost.DMatrix(frame))
    np.testing.assert_allclose(found, tree.predict(frame), rtol=1e-6)


def test_an_array_needs_no_names(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    tree = hr.DecisionTreeRegressor(max_depth=3).fit(X, X[:, 0])
    found = booster(tree, tmp_path).predict(xgboost.DMatrix(X))
    np.testing.assert_allclose(found, tree.predict(X), rtol=1e-6)


@pytest.mark.parametrize("name", ["a[0]", "a]", "a<b", "a\x01"])
def test_names_that_xgboost_refuses_are_an_error(name, tmp_path):
    frame = pd.DataFrame({name: np.arange(50.0)})
    tree = hr.DecisionTreeRegressor(max_depth=2).fit(frame, np.arange(50.0))
    with pytest.raises(hr.ExportError, match="does not allow the column name"):
        tree.export(tmp_path / "model.xgb.json")


def test_categories_that_xgboost_itself_confuses_are_refused(tmp_path):
    """XGBoost cuts the bytes of its own file; if it no longer does, export them."""
    frame = pd.DataFrame({"city": pd.Categorical(["a", "é", "c"] * 30)})
    y = (frame["city"] == "é").to_numpy(float)
    own = xgboost.train({}, xgboost.DMatrix(frame, y, enable_categorical=True), 1)
    saved = json.loads(own.save_raw("json").decode())
    (encoded,) = saved["learner"]["gradient_booster"]["model"]["cats"]["enc"]
    assert len(encoded["values"]) < len("aéc".encode())
    tree = hr.DecisionTreeRegressor(max_depth=2).fit(frame, y)
    with pytest.raises(hr.ExportError, match=r"'é'.*XGBoost itself.*\. Rename"):
        tree.export(tmp_path / "model.xgb.json")
    with pytest.raises(hr.ModelFileError, match="XGBoost itself"):
        hr.from_xgboost(own)


def test_a_refusal_lists_the_formats_that_can(tmp_path):
    reasons = {
        "temperature": "'c', 'javascript', 'onnx', 'python' and 'sql'",
        "linear_leaves": "'c', 'javascript', 'python' and 'sql'",
        "quantiles": "'c', 'javascript', 'onnx' and 'python'",
    }
    for kind, formats in reasons.items():
        with pytest.raises(hr.ExportError, match=f"that can are {formats}"):
            model(kind).export(tmp_path / "model.xgb.json")
    assert not list(tmp_path.iterdir())
