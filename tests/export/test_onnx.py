"""onnxruntime predicts as the model: from columns, with strings and missing values."""

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest

import hedgerow as hr
from export.models import model, prediction, rows


def session(estimator, folder):
    estimator.export(folder / "model.onnx")
    return onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])


def columns(frame, texts=("colour",), missing="NaN"):
    """Return a table as inputs of the graph; "" is a category of colour, so "NaN" is missing."""
    return {
        name: np.array([[missing if v is None or v != v else v] for v in frame[name]], object)
        if name in texts
        else frame[[name]].to_numpy(np.float64)
        for name in frame
    }


@pytest.mark.parametrize("kind", ["two_classes", "three_classes", "two_targets", "forest"])
def test_the_graph_names_its_outputs_and_labels_rows(kind, tmp_path):
    frame, estimator = rows(kind), model(kind)
    graph = session(estimator, tmp_path)
    names = [output.name for output in graph.get_outputs()]
    found = dict(zip(names, graph.run(None, columns(frame)), strict=True))
    assert names[-1] == ("probabilities" if hasattr(estimator, "classes_") else "prediction")
    np.testing.assert_allclose(found[names[-1]], prediction(kind, frame), rtol=1e-12, atol=1e-12)
    if "label" in found:
        np.testing.assert_array_equal(found["label"], estimator.predict(frame))


def test_a_missing_string_is_empty_unless_that_is_a_category(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"word": rng.choice(["a", "b", None], 300), "x": rng.normal(size=300)})
    y = (frame["word"] == "a") + 2.0 * frame["word"].isna() + frame["x"]
    for settings in ({}, {"max_categories": 1}):
        estimator = hr.GradientBoostingRegressor(n_estimators=9, **settings).fit(frame, y)
        graph = session(estimator, tmp_path)
        (found,) = graph.run(None, columns(frame, texts=["word"], missing=""))
        np.testing.assert_allclose(found[:, 0], estimator.predict(frame), rtol=1e-12)


def test_the_children_of_a_root_have_different_numbers(tmp_path):
    """Leaves and nodes are numbered apart; onnxruntime 1.23 takes equal numbers for one leaf."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd"))
    y = frame["a"] - frame["b"] ** 2 + 0.2 * rng.normal(size=200) > 0
    estimator = hr.GradientBoostingClassifier(n_estimators=40).fit(frame, y)
    found = session(estimator, tmp_path).run(["probabilities"], columns(frame, texts=()))[0]
    np.testing.assert_allclose(found, estimator.predict_proba(frame), rtol=0, atol=1e-12)
    graph = onnx.load(tmp_path / "model.onnx").graph
    (trees,) = (node for node in graph.node if node.op_type == "TreeEnsemble")
    lists = {each.name: each.ints for each in trees.attribute}
    children = lists["nodes_truenodeids"], lists["nodes_falsenodeids"]
    assert len(lists["tree_roots"]) == 40
    assert not [root for root in lists["tree_roots"] if children[0][root] == children[1][root]]


def test_many_thousand_categories(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.array([f"c{i:05}" for i in range(50_000)])
    frame = pd.DataFrame({"label": np.concatenate([labels, rng.choice(labels, 10_000)])})
    y = frame["label"].str.slice(1).astype(int).to_numpy() % 5
    estimator = hr.GradientBoostingRegressor(n_estimators=5).fit(frame, y)
    graph = session(estimator, tmp_path)
    (found,) = graph.run(None, columns(frame, texts=["label"]))
    np.testing.assert_allclose(found[:, 0], estimator.predict(frame), rtol=1e-12)


def test_linear_leaves_are_refused(tmp_path):
    with pytest.raises(hr.ExportError, match="linear_leaves"):
        model("linear_leaves").export(tmp_path / "model.onnx")


def test_columns_may_have_the_names_of_outputs_and_of_inner_results(tmp_path):
    names = ["label", "probabilities", "constant_0", "concat_0", "prediction"]
    X = np.random.default_rng(0).normal(size=(80, len(names)))
    frame = pd.DataFrame(X, columns=names)
    for estimator in (hr.DecisionTreeClassifier(max_depth=3), hr.KNeighborsClassifier()):
        estimator.fit(frame, X[:, 1] * X[:, 3] > 0)
        graph = session(estimator, tmp_path)
        label, p = graph.run(["label_", "probabilities_"], columns(frame, texts=[]))
        np.testing.assert_array_equal(label, estimator.predict(frame))
        np.testing.assert_allclose(p, estimator.predict_proba(frame), rtol=0, atol=1e-12)


def test_a_column_whose_categories_are_all_texts_for_missing_is_refused(tmp_path):
    texts = ["", "NaN", "<missing>", "<missing value>"]
    frame = pd.DataFrame({"word": texts * 20})
    estimator = hr.DecisionTreeRegressor(max_depth=2).fit(frame, np.arange(80.0) % 4)
    with pytest.raises(hr.ExportError, match=r"ONNX has no missing strings.*column 'word'"):
        estimator.export(tmp_path / "model.onnx")
    assert not any(tmp_path.iterdir())
