"""Pipelines as one ONNX graph by skl2onnx, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import hedgerow as hr

onnxruntime = pytest.importorskip("onnxruntime")
skl2onnx = pytest.importorskip("skl2onnx")
pytestmark = pytest.mark.filterwarnings("ignore")  # of skl2onnx and what it imports

from skl2onnx.common.data_types import (  # noqa: E402
    DoubleTensorType,
    FloatTensorType,
    StringTensorType,
)

from hedgerow.skl2onnx import register  # noqa: E402

register()
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
T = X[:, 0] - X[:, 1] ** 2 + 0.2 * RNG.normal(size=200)
TWO, NAMES = (T > 0).astype(int), np.array(["no", "perhaps ☂", "yes"])[np.digitize(T, [-1, 0])]
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(town=RNG.choice(["Ulm", "Köln"], 200))
FEW = {"n_estimators": 5}

MODELS = {
    "two classes": (hr.GradientBoostingClassifier(**FEW), TWO),
    "classes": (hr.GradientBoostingClassifier(**FEW), NAMES),
    "calibrated": (hr.GradientBoostingClassifier(calibration="isotonic", **FEW), NAMES),
    "numbers": (hr.GradientBoostingRegressor(**FEW), T),
    "quantiles": (hr.GradientBoostingRegressor(loss="quantile", quantile=[0.1, 0.9], **FEW), T),
    "survival": (hr.GradientBoostingSurvival(**FEW), np.exp(T)),
    "forest": (hr.RandomForestClassifier(**FEW), NAMES),
    "extra trees": (hr.ExtraTreesRegressor(**FEW), T),
    "tree": (hr.DecisionTreeClassifier(), TWO),
    "bagging": (hr.BaggingClassifier(**FEW), NAMES),
    "adaboost": (hr.AdaBoostClassifier(**FEW), TWO),
    "svm": (hr.SVC(), NAMES),
    "probabilities": (hr.SVC(probability=True), TWO),
    "linear svm": (hr.LinearSVC(), NAMES),
    "svr": (hr.SVR(), T),
    "neighbours": (hr.KNeighborsClassifier(), NAMES),
    "neighbours' numbers": (hr.KNeighborsRegressor(weights="distance"), T),
}


def run(pipeline: Any, types: list[Any], feeds: dict[str, np.ndarray]) -> list[Any]:
    options = {"zipmap": False} if hasattr(pipeline, "classes_") else None
    converted = skl2onnx.to_onnx(pipeline, initial_types=types, options=options)
    session = onnxruntime.InferenceSession(
        converted.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, feeds)


def scores_of(pipeline: Any, rows: Any) -> np.ndarray:
    method = "predict_proba" if hasattr(pipeline, "predict_proba") else "decision_function"
    return getattr(pipeline, method)(rows)


@pytest.mark.parametrize("name", MODELS)
def test_a_pipeline_is_one_graph(name: str) -> None:
    model, y = MODELS[name]
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    found = run(pipeline, [("rows", DoubleTensorType([None, 4]))], {"rows": X})
    if not hasattr(model, "classes_"):
        expected = pipeline.predict(X).reshape(len(X), -1)
        np.testing.assert_allclose(found[0], expected, rtol=0, atol=1e-12)
        return
    np.testing.assert_array_equal(found[0], pipeline.predict(X))
    expected = scores_of(pipeline, X).reshape(len(X), -1)
    np.testing.assert_allclose(found[1], expected, rtol=0, atol=1e-12)


def test_a_mixed_table_passes_through_its_transformers() -> None:
    columns = ColumnTransformer(
        [("numbers", StandardScaler(), list("abcd")), ("town", OneHotEncoder(), ["town"])]
    )
    pipeline = make_pipeline(columns, hr.GradientBoostingClassifier(**FEW)).fit(FRAME, NAMES)
    types: list[Any] = [(name, DoubleTensorType([None, 1])) for name in "abcd"]
    types.append(("town", StringTensorType([None, 1])))
    feeds = {name: FRAME[[name]].to_numpy() for name in "abcd"}
    label, probabilities = run(pipeline, types, feeds | {"town": FRAME[["town"]].to_numpy(object)})
    np.testing.assert_array_equal(label, pipeline.predict(FRAME))
    np.testing.assert_allclose(probabilities, pipeline.predict_proba(FRAME), rtol=0, atol=1e-12)


def test_float32_rows_have_float32_predictions() -> None:
    rows = X.astype(np.float32)
    pipeline = make_pipeline(StandardScaler(), hr.SVR()).fit(rows, T)
    (found,) = run(pipeline, [("rows", FloatTensorType([None, 4]))], {"rows": rows})
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[:, 0], pipeline.predict(rows), rtol=0, atol=1e-5)


def test_two_models_in_a_graph_keep_their_names_apart() -> None:
    from sklearn.ensemble import StackingRegressor

    models = [("trees", hr.RandomForestRegressor(**FEW)), ("rows", hr.KNeighborsRegressor())]
    stack = StackingRegressor(models, hr.LinearSVR(), cv=2).fit(X, T)
    (found,) = run(stack, [("rows", DoubleTensorType([None, 4]))], {"rows": X})
    np.testing.assert_allclose(found[:, 0], stack.predict(X), rtol=0, atol=1e-10)


def test_steps_that_no_graph_expresses_are_refused_with_a_reason() -> None:
    types = [("rows", DoubleTensorType([None, 4]))]
    both = make_pipeline(StandardScaler(), hr.RandomForestClassifier(**FEW))
    with pytest.raises(hr.ExportError, match="has no label"):
        run(both.fit(X, np.c_[TWO, TWO]), types, {})
    gower = make_pipeline(StandardScaler(), hr.KNeighborsRegressor(metric="gower")).fit(X, T)
    with pytest.raises(hr.ExportError, match="gower"):
        run(gower, types, {})
    narrow = [("rows", DoubleTensorType([None, 3]))]
    with pytest.raises(hr.ExportError, match="'x3' of the model is not among the inputs"):
        run(hr.SVR().fit(X, T), narrow, {})
    with pytest.raises(hr.ExportError, match="expects numbers in the column 'x0'"):
        run(hr.SVR().fit(X, T), [("rows", StringTensorType([None, 4]))], {})
