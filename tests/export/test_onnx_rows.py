"""SVMs and neighbours as ONNX, against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import hedgerow as hr

onnxruntime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 5)).round(1)  # with rows at equal distances
X[:2] = 0.0
QUERIES = np.vstack([X, RNG.normal(size=(200, 5)) * 1.5, np.zeros((1, 5))])
T = X[:, 0] - np.sin(2 * X[:, 1]) + 0.3 * RNG.normal(size=240)
TWO, THREE = (T > 0).astype(int), np.digitize(T, [-0.5, 0.5])
NAMES = np.array(["no", "perhaps ☂", "yes"])[THREE]
BOTH = np.column_stack([THREE, TWO])
SPARSE = scipy.sparse.csr_array(X)

CLASSIFIERS = {
    "linear": (hr.LinearSVC(), NAMES),
    "linear, two classes": (hr.LinearSVC(loss="hinge"), TWO),
    "Crammer and Singer": (hr.LinearSVC(multi_class="crammer_singer"), THREE),
    **{f"{k} pairs": (hr.SVC(kernel=k), NAMES) for k in ("linear", "poly", "rbf", "laplacian")},
    "sigmoid": (hr.SVC(kernel="sigmoid", gamma=0.1, coef0=0.2), TWO),
    "scores of pairs": (hr.SVC(decision_function_shape="ovo"), THREE),
    "ties": (hr.SVC(break_ties=True, C=0.05), THREE),
    "against the rest": (hr.SVC(multi_class="ovr"), NAMES == "yes"),
    "nu": (hr.NuSVC(nu=0.2), THREE),
    "probabilities": (hr.SVC(probability=True), TWO),
    "probabilities against the rest": (hr.SVC(probability=True, multi_class="ovr"), NAMES),
    "neighbours": (hr.KNeighborsClassifier(), NAMES),
    "weighted neighbours": (hr.KNeighborsClassifier(4, weights="distance"), THREE),
    "weighted classes": (hr.KNeighborsClassifier(4, class_weight="balanced"), THREE),
    "neighbours for two outputs": (hr.KNeighborsClassifier(3), BOTH),
    **{
        f"{m} neighbours": (hr.KNeighborsClassifier(metric=m, p=3), THREE)
        for m in ("manhattan", "chebyshev", "minkowski", "cosine")
    },
    "radius": (hr.RadiusNeighborsClassifier(0.8, outlier_label="no"), NAMES),
    "strangers": (hr.RadiusNeighborsClassifier(0.8, outlier_label=-1, weights="distance"), THREE),
}
NUMBERS = {
    "linear": (hr.LinearSVR(), T),
    "rbf": (hr.SVR(), T),
    "nu": (hr.NuSVR(kernel="poly", degree=2), T),
    "neighbours": (hr.KNeighborsRegressor(), T),
    "weighted neighbours": (hr.KNeighborsRegressor(weights="distance"), np.c_[T, -T]),
    "radius": (hr.RadiusNeighborsRegressor(0.8), T),
    "weighted radius": (hr.RadiusNeighborsRegressor(0.8, weights="distance"), T),
}


def run(model: Any, path: Path, rows: np.ndarray = QUERIES) -> dict[str, Any]:
    """Return the outputs of onnxruntime by their names."""
    model.export(path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    feeds = {name: rows[:, [j]] for j, name in enumerate(names)}
    outputs = [each.name for each in session.get_outputs()]
    return dict(zip(outputs, session.run(None, feeds), strict=True))


@pytest.mark.filterwarnings("ignore:outlier_label")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_predict_the_same(name: str, tmp_path: Path) -> None:
    model, y = CLASSIFIERS[name]
    found = run(model.fit(X, y), tmp_path / "model.onnx")
    if np.ndim(y) == 1:
        np.testing.assert_array_equal(found["label"], model.predict(QUERIES))
    if hasattr(model, "decision_function"):
        expected = model.decision_function(QUERIES).reshape(len(QUERIES), -1)
        np.testing.assert_allclose(found["scores"], expected, rtol=0, atol=1e-12)
    if hasattr(model, "predict_proba"):
        expected = model.predict_proba(QUERIES)
        expected = np.hstack(expected) if isinstance(expected, list) else expected
        np.testing.assert_allclose(found["probabilities"], expected, rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*no neighbors within")
@pytest.mark.parametrize("name", NUMBERS)
def test_regressors_predict_the_same(name: str, tmp_path: Path) -> None:
    model, y = NUMBERS[name]
    found = run(model.fit(X, y), tmp_path / "model.onnx")["prediction"]
    expected = model.predict(QUERIES).reshape(len(QUERIES), -1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert name == "radius" or not np.isnan(found[:240]).any()


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_outliers_are_the_same(kernel: str, tmp_path: Path) -> None:
    model = hr.OneClassSVM(nu=0.2, kernel=kernel).fit(X)
    found = run(model, tmp_path / "model.onnx")
    np.testing.assert_array_equal(found["label"], model.predict(QUERIES))
    expected = model.decision_function(QUERIES)
    np.testing.assert_allclose(found["scores"][:, 0], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", [hr.SVC(), hr.LinearSVC(), hr.KNeighborsClassifier()], ids=str)
def test_models_of_sparse_rows_predict_the_same(model: Any, tmp_path: Path) -> None:
    found = run(model.fit(SPARSE, THREE), tmp_path / "model.onnx", X)
    np.testing.assert_array_equal(found["label"], model.predict(SPARSE))


def test_inputs_have_the_names_of_the_columns(tmp_path: Path) -> None:
    table = pd.DataFrame(X, columns=list("abcde"))
    hr.SVR().fit(table, T).export(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    assert [each.name for each in session.get_inputs()] == list("abcde")


def own(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a @ b.T


DISTANCES = np.abs(X[:, :1] - X[:, 0])
REFUSED = {
    "precomputed kernel": (hr.SVC(kernel="precomputed"), X @ X.T, TWO),
    "callable kernel": (hr.SVC(kernel=own), X, TWO),
    "multi_class='ovr'": (hr.SVC(probability=True), X, THREE),
    "metric='gower'": (hr.KNeighborsClassifier(metric="gower"), X, TWO),
    "metric='precomputed'": (hr.KNeighborsRegressor(metric="precomputed"), DISTANCES, T),
    "weights as a function": (hr.KNeighborsClassifier(weights=np.exp), X, TWO),
    "outlier_label='most_frequent'": (hr.RadiusNeighborsClassifier(9.0), X, TWO),
    "no predictions": (hr.NearestNeighbors(), X, None),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_a_graph_cannot_express_is_refused_with_a_reason(message: str, tmp_path: Path) -> None:
    model, rows, y = REFUSED[message]
    model.fit(rows, y)
    with pytest.raises(hr.ExportError, match=message):
        model.export(tmp_path / "model.onnx")


def test_other_formats_name_onnx(tmp_path: Path) -> None:
    with pytest.raises(hr.ExportError, match=r"SVR has no trees\. The format that can is 'onnx'"):
        hr.SVR().fit(X, T).export(tmp_path / "model.h")


@pytest.mark.parametrize("message", ["precomputed kernel", "no predictions"])
def test_other_formats_do_not_name_onnx_if_it_refuses_the_model(
    message: str, tmp_path: Path
) -> None:
    model, rows, y = REFUSED[message]
    with pytest.raises(hr.ExportError, match=message):
        model.fit(rows, y).export(tmp_path / "model.h")
