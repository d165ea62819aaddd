"""Other packages, as their users use them, with models of this library.

Each client is a row of `CLIENTS`: the package, and functions that do one thing with it and raise
where it does not work. `make clients` installs the packages and runs all.
"""

from __future__ import annotations

import importlib.metadata
import json
import logging
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import hedgerow as hr
from soak.outcome import Outcome

GOAL = "current versions of client packages: every step works, with the same predictions and values"

RNG = np.random.default_rng(0)
ROWS = 300
NUMBERS = pd.DataFrame(RNG.normal(size=(ROWS, 4)), columns=list("abcd"))
TARGET = NUMBERS["a"] * 2 - NUMBERS["b"] ** 2 + RNG.normal(size=ROWS) / 3
GAPS = NUMBERS.mask(RNG.random(NUMBERS.shape) < 0.1)
TABLE = NUMBERS.assign(
    count=RNG.integers(0, 9, ROWS),
    small=RNG.integers(0, 9, ROWS).astype(np.int32),
    single=NUMBERS["c"].astype(np.float32),
    seen=RNG.random(ROWS) < 0.5,
    town=pd.Categorical(RNG.choice(["Ulm", "Bonn", "Köln"], ROWS)),
    plan=RNG.choice(["basic", "plus"], ROWS),
)
TABLE["maybe"] = TABLE["count"].where(TABLE["count"] > 2).astype("Int64")
TWO, THREE = (TARGET > 0).astype(int), pd.Series(np.digitize(TARGET, [-1.0, 0.5]))
FEW = {"n_estimators": 20}


def _regressor() -> Any:
    return hr.GradientBoostingRegressor(**FEW)


def _classifier() -> Any:
    return hr.GradientBoostingClassifier(**FEW)


# ---- shap and what is based on it ----------------------------------------------------------------


def explainers() -> None:
    """Explain models by `TreeExplainer` and `Explainer`, which return this library's values."""
    import shap

    models = [(_regressor(), GAPS, TARGET), (_classifier(), NUMBERS, TWO)]
    models += [(_classifier(), GAPS, THREE), (hr.RandomForestClassifier(**FEW), NUMBERS, THREE)]
    models += [(_regressor(), TABLE, TARGET), (_classifier(), TABLE, THREE)]
    for model, X, y in models:
        ours = hr.explain.shap_values(model.fit(X, y), X)
        for explainer in (shap.TreeExplainer(model), shap.Explainer(model)):
            theirs = explainer(X)
            np.testing.assert_allclose(theirs.values, ours.values, rtol=0, atol=1e-10)
            np.testing.assert_allclose(theirs.base_values, ours.base_values, rtol=0, atol=1e-10)


def dashboards() -> None:
    """Build dashboards of regression and classification, and write them as HTML."""
    from explainerdashboard import ClassifierExplainer, ExplainerDashboard, RegressionExplainer

    mixed = NUMBERS.assign(town=TABLE["town"])
    logodds = {"model_output": "logodds"}
    explained = [
        RegressionExplainer(_regressor().fit(NUMBERS, TARGET), NUMBERS, TARGET),
        RegressionExplainer(_regressor().fit(mixed, TARGET), mixed, TARGET),
        ClassifierExplainer(_classifier().fit(NUMBERS, TWO), NUMBERS, TWO),
        ClassifierExplainer(_classifier().fit(mixed, TWO), mixed, TWO),
        ClassifierExplainer(_classifier().fit(NUMBERS, THREE), NUMBERS, THREE, **logodds),
    ]
    for each in explained:
        assert len(ExplainerDashboard(each).to_html()) > 10_000


# ---- formats and servers -------------------------------------------------------------------------


def served() -> None:
    """Serve a model of integers, booleans, categories and gaps: its table, and JSON records."""
    import mlflow
    from mlflow.pyfunc import scoring_server

    from hedgerow import mlflow as flavor

    model = _regressor().fit(TABLE, TARGET)
    with tempfile.TemporaryDirectory() as folder:
        flavor.save_model(model, Path(folder) / "model")
        generic = mlflow.pyfunc.load_model(str(Path(folder) / "model"))
        np.testing.assert_array_equal(generic.predict(TABLE), model.predict(TABLE))
        records = json.loads(TABLE.to_json(orient="records", double_precision=15))
        schema = generic.metadata.get_input_schema()
        rows = scoring_server.infer_and_parse_data({"dataframe_records": records}, schema)
        np.testing.assert_allclose(generic.predict(rows), model.predict(TABLE), atol=1e-9)


def trusted() -> None:
    """Load models by skops with `TRUSTED_TYPES` and no other types."""
    import skops.io

    from hedgerow.skops import TRUSTED_TYPES

    models = [_classifier(), hr.BaggingClassifier(hr.SVC(), n_estimators=2), hr.SVC()]
    models += [hr.AdaBoostClassifier(hr.LinearSVC(), algorithm="M1"), hr.KNeighborsClassifier()]
    models += [hr.AdaBoostClassifier(algorithm=name, **FEW) for name in ("real", "gentle", "logit")]
    for model in models:
        data = skops.io.dumps(make_pipeline(StandardScaler(), model).fit(NUMBERS, TWO))
        loaded = skops.io.loads(data, trusted=TRUSTED_TYPES)
        np.testing.assert_array_equal(
            loaded[-1].predict(NUMBERS.to_numpy()), model.predict(NUMBERS.to_numpy())
        )


def converted() -> None:
    """Convert pipelines with preprocessing to one ONNX graph, and run it."""
    import onnxruntime
    import skl2onnx
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    from hedgerow.skl2onnx import register

    register()
    names = list(NUMBERS)
    mixed = NUMBERS.assign(plan=TABLE["plan"])
    types: list[Any] = [(name, DoubleTensorType([None, 1])) for name in names]
    types.append(("plan", StringTensorType([None, 1])))
    feeds = {name: mixed[[name]].to_numpy(object if name == "plan" else float) for name in mixed}
    for model in (_classifier(), hr.RandomForestClassifier(**FEW), hr.KNeighborsClassifier()):
        columns = [("number", StandardScaler(), names), ("plan", OneHotEncoder(), ["plan"])]
        pipeline = make_pipeline(ColumnTransformer(columns), model).fit(mixed, THREE)
        graph = skl2onnx.to_onnx(pipeline, initial_types=types, options={"zipmap": False})
        session = onnxruntime.InferenceSession(graph.SerializeToString())
        label, probabilities = session.run(None, feeds)
        np.testing.assert_array_equal(label, pipeline.predict(mixed))
        np.testing.assert_allclose(probabilities, pipeline.predict_proba(mixed), rtol=0, atol=1e-12)


def exported() -> None:
    """Run exported trees, SVMs and neighbours in onnxruntime."""
    import onnxruntime

    feeds = {name: NUMBERS[[name]].to_numpy() for name in NUMBERS}
    for model in (_regressor(), hr.SVR(), hr.LinearSVR(), hr.KNeighborsRegressor()):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.onnx"
            model.fit(NUMBERS, TARGET).export(file)
            (found,) = onnxruntime.InferenceSession(str(file)).run(None, feeds)
        np.testing.assert_allclose(found[:, 0], model.predict(NUMBERS), rtol=0, atol=1e-12)


# ---- data and metrics ----------------------------------------------------------------------------


def parquet() -> None:
    """Fit X and y of one Dask collection that reads Parquet files: the model in memory."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    import hedgerow.dask as hd

    expected = _regressor().fit(NUMBERS, TARGET).predict(NUMBERS)
    options = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, **options) as cluster,
        Client(cluster),
    ):
        frame = NUMBERS.assign(y=TARGET)
        for first in range(0, ROWS, 75):
            frame[first : first + 75].to_parquet(Path(folder) / f"{first:03}.parquet")
        files = dd.read_parquet(folder)
        model = hd.GradientBoostingRegressor(**FEW).fit(files.drop(columns="y"), files.y)
        found = model.predict(NUMBERS)
    np.testing.assert_array_equal(found, expected)


def scored() -> None:
    """Score survival models by scikit-survival's scorers, which call functions of time."""
    from sksurv import metrics
    from sksurv.util import Surv

    times = np.exp(TARGET.to_numpy() / 2)
    y = Surv.from_arrays(RNG.random(ROWS) < 0.7, times)
    at = np.quantile(times, [0.2, 0.4, 0.6])
    model = hr.GradientBoostingSurvival(**FEW)
    brier = metrics.as_integrated_brier_score_scorer(model, times=at).fit(NUMBERS, y)
    survival = brier.estimator_.predict_survival_function(NUMBERS, at)
    assert brier.score(NUMBERS, y) == -metrics.integrated_brier_score(y, y, survival, at)
    auc = metrics.as_cumulative_dynamic_auc_scorer(model, times=at).fit(NUMBERS, y)
    concordance = metrics.as_concordance_index_ipcw_scorer(model, tau=at[-1]).fit(NUMBERS, y)
    assert min(auc.score(NUMBERS, y), concordance.score(NUMBERS, y)) > 0.8


CLIENTS: dict[str, Callable[[], None]] = {
    "shap": explainers,
    "explainerdashboard": dashboards,
    "mlflow-skinny": served,
    "skops": trusted,
    "skl2onnx": converted,
    "onnxruntime": exported,
    "dask": parquet,
    "scikit-survival": scored,
}
# The suite runs these; the others take longer, or are not in its environment.
QUICK = ("skops", "onnxruntime")


def run(share: float) -> Outcome:
    """Use every client that is installed; with a share of 0 those alone that are quick."""
    works, missing, failures = [], [], []
    for package in QUICK if share == 0.0 else CLIENTS:
        version = _version(package)
        if version is None:
            missing.append(package)
            continue
        error = _error_of(CLIENTS[package])
        print(f"  {package} {version}: {CLIENTS[package].__doc__} {error or 'ok'}", flush=True)
        if error is None:
            works.append(f"{package} {version}")
        else:
            failures.append(f"{package} {version}: {error}")
    summary = f"{len(works)} of {len(works) + len(failures)} work: {', '.join(works)}"
    if missing:
        summary += f"; not installed, see `make clients`: {', '.join(missing)}"
    return Outcome(summary, tuple(failures))


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _error_of(use: Callable[[], None]) -> str | None:
    """Return what went wrong, with the line where; None if nothing did."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of those packages
            use()
    except Exception as error:  # noqa: BLE001  whatever a client raises
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}: {error}"[:500]
    return None
