"""The MLflow flavour: models by any of its doors, and runs of fits."""

import json

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr

mlflow = pytest.importorskip("mlflow")
flavor = pytest.importorskip("hedgerow.mlflow")

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(300, 2)), columns=["a", "b"])
FRAME["town"] = RNG.choice(["Ulm", "Bonn", None], 300)
Y = np.where(FRAME["a"] + (FRAME["town"] == "Ulm") > 0.5, "yes", "no")
T = FRAME["a"] * 2 + RNG.normal(size=300)

pytestmark = pytest.mark.filterwarnings("ignore")  # of MLflow and of what it imports


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """Make one database for all tests, which takes a second."""
    return f"sqlite:///{tmp_path_factory.mktemp('mlflow')}/runs.db"


@pytest.fixture(autouse=True)
def _tracked(database, tmp_path, request):
    """Track in an experiment of the test."""
    mlflow.set_tracking_uri(database)
    mlflow.create_experiment(request.node.name, artifact_location=str(tmp_path / "artifacts"))
    mlflow.set_experiment(request.node.name)
    yield
    flavor.autolog(disable=True)
    while mlflow.active_run() is not None:
        mlflow.end_run()


def classifier(**options):
    return hr.GradientBoostingClassifier(**{"n_estimators": 5} | options)


def test_a_saved_model_is_loaded_by_both_interfaces(tmp_path):
    model = classifier().fit(FRAME, Y)
    flavor.save_model(model, tmp_path / "saved", pyfunc_predict_fn="predict_proba")
    files = {path.name for path in (tmp_path / "saved").iterdir()}
    assert {"MLmodel", "model.hedgerow", "requirements.txt", "conda.yaml"} <= files
    assert not [name for name in files if "pkl" in name or "pickle" in name]
    own = flavor.load_model(str(tmp_path / "saved"))
    np.testing.assert_array_equal(own.predict_proba(FRAME), model.predict_proba(FRAME))
    generic = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    np.testing.assert_array_equal(generic.predict(FRAME), model.predict_proba(FRAME))
    assert isinstance(generic.get_raw_model(), type(model))
    requirements = (tmp_path / "saved" / "requirements.txt").read_text()
    assert f"hedgerow=={hr.__version__}" in requirements


def test_the_signature_is_that_of_the_columns(tmp_path):
    flavor.save_model(classifier().fit(FRAME, Y), tmp_path / "named")
    inputs = mlflow.models.get_model_info(str(tmp_path / "named")).signature.inputs
    assert inputs.input_names() == ["a", "b", "town"]
    generic = mlflow.pyfunc.load_model(str(tmp_path / "named"))
    with pytest.raises(mlflow.MlflowException, match="town"):
        generic.predict(FRAME[["a", "b"]])
    array = FRAME[["a", "b"]].to_numpy()
    flavor.save_model(classifier().fit(array, Y), tmp_path / "array")
    assert mlflow.models.get_model_info(str(tmp_path / "array")).signature is None


def every_dtype():
    """Return a table with a column of every type that a model takes, with and without gaps."""
    columns = {kind: RNG.integers(0, 9, 300).astype(kind) for kind in ("int64", "int32", "uint8")}
    columns |= {kind: RNG.normal(size=300).astype(kind) for kind in ("float64", "float32")}
    columns["bool"] = RNG.random(300) < 0.5
    columns["object"] = RNG.choice(np.array(["u", "v", None], object), 300)
    for kind in ("int64", "bool", "object"):
        columns[f"category of {kind}"] = pd.Categorical(columns[kind])
    table = pd.DataFrame(columns).assign(text=RNG.choice(["p", "q"], 300), nothing=np.nan)
    for kind in ("Int64", "Float64", "int64[pyarrow]", "double[pyarrow]"):
        table[kind] = table["int64"].where(table["int64"] > 1).astype(kind)
    for kind in ("boolean", "bool[pyarrow]"):
        table[kind] = table["bool"].astype(kind).where(table["int64"] > 1)
    for kind in ("string", "string[pyarrow]"):
        table[kind] = table["object"].astype(kind)
    return table


@pytest.mark.parametrize("without", [[], ["category of int64", "category of bool"]])
def test_a_served_model_takes_its_training_table_whatever_its_types(tmp_path, without):
    table = every_dtype().drop(columns=without)
    model = hr.GradientBoostingRegressor(n_estimators=20)
    expected = model.fit(table, table["int64"] + table["bool"] + table["float32"]).predict(table)
    flavor.save_model(model, tmp_path / "saved")
    served = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    np.testing.assert_array_equal(served.predict(table), expected)
    np.testing.assert_array_equal(served.predict(table[::-1]), expected[::-1])
    np.testing.assert_array_equal(served.predict(table[:1]), expected[:1])


@pytest.mark.parametrize("form", ["dataframe_records", "dataframe_split", "instances"])
def test_a_served_model_takes_what_the_scoring_server_reads(tmp_path, form):
    server = pytest.importorskip("mlflow.pyfunc.scoring_server")
    table = every_dtype().drop(columns=["category of int64", "category of bool"])
    model = hr.GradientBoostingRegressor(n_estimators=20)
    expected = model.fit(table, table["int64"] + table["bool"] + table["float64"]).predict(table)
    flavor.save_model(model, tmp_path / "saved")
    served = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    orient = "split" if form == "dataframe_split" else "records"
    rows = json.loads(table.to_json(orient=orient, double_precision=15))
    data = server.infer_and_parse_data({form: rows}, served.metadata.get_input_schema())
    np.testing.assert_allclose(served.predict(data), expected, rtol=0, atol=1e-12)


def test_a_served_model_takes_a_polars_table(tmp_path):
    polars = pytest.importorskip("polars")
    table = polars.DataFrame(
        {
            "whole": RNG.integers(0, 9, 300).astype(np.int16),
            "kind": polars.Series(RNG.choice(["x", "y"], 300), dtype=polars.Categorical),
            "seen": [None, True, False] * 100,
        }
    )
    model = hr.RandomForestClassifier(n_estimators=5).fit(table, Y)
    flavor.save_model(model, tmp_path / "saved")
    served = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    np.testing.assert_array_equal(served.predict(table.to_pandas()), model.predict(table))


@pytest.mark.parametrize(
    "model",
    [hr.RandomForestRegressor(n_estimators=3), hr.KNeighborsRegressor(), hr.LinearSVR()],
    ids=lambda model: type(model).__name__,
)
def test_models_of_every_family_can_be_logged(model):
    X = FRAME[["a", "b"]]
    with mlflow.start_run():
        logged = flavor.log_model(model.fit(X, T), name="numbers")
    loaded = flavor.load_model(logged.model_uri)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_what_cannot_be_saved_is_refused(tmp_path):
    with pytest.raises(hr.ParameterError, match=r"mlflow\.sklearn"):
        flavor.save_model("model", tmp_path / "saved")
    forest = hr.RandomForestRegressor(n_estimators=2).fit(FRAME[["a"]], T)
    with pytest.raises(hr.ParameterError, match="RandomForestRegressor has no such method"):
        flavor.save_model(forest, tmp_path / "saved", pyfunc_predict_fn="predict_proba")
    with pytest.raises(hr.ParameterError, match="pyfunc_predict_fn='apply' is not allowed"):
        flavor.save_model(forest, tmp_path / "saved", pyfunc_predict_fn="apply")


def runs():
    return mlflow.search_runs(output_format="list")


def test_fits_are_logged_with_the_metrics_of_every_round():
    flavor.autolog()
    model = classifier(early_stopping=True, n_estimators=12).fit(FRAME, Y)
    (run,) = runs()
    assert run.info.status == "FINISHED"
    assert run.data.params["n_estimators"] == "12"
    assert run.data.metrics["best_iteration"] == model.best_iteration_
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "validation-log_loss")
    values = [metric.value for metric in sorted(history, key=lambda metric: metric.step)]
    assert values == model.evals_result_["validation"]["log_loss"]
    (logged,) = mlflow.search_logged_models(output_format="list")
    loaded = flavor.load_model(logged.model_uri)
    np.testing.assert_array_equal(loaded.predict_proba(FRAME), model.predict_proba(FRAME))


def test_a_fit_uses_the_active_run_and_others_are_nested():
    flavor.autolog(log_models=False)
    with mlflow.start_run() as parent:
        classifier().fit(FRAME, Y)
        hr.cross_validate(classifier(), FRAME, Y, cv=2)
    found = {run.info.run_id: run for run in runs()}
    assert len(found) == 3
    children = [run for run in found.values() if "mlflow.parentRunId" in run.data.tags]
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == {parent.info.run_id}
    assert found[parent.info.run_id].data.metrics["n_iter"] == 5
    assert not mlflow.search_logged_models(output_format="list")


def test_a_fit_that_fails_ends_its_run():
    flavor.autolog()

    def stop(info):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        classifier().fit(FRAME, Y, callbacks=stop)
    assert [run.info.status for run in runs()] == ["FAILED"]
    assert mlflow.active_run() is None
    flavor.autolog(disable=True)
    classifier().fit(FRAME, Y)
    assert len(runs()) == 1


def test_models_are_the_same_with_and_without_logging(tmp_path):
    plain = classifier(n_estimators="auto", budget="quick", random_state=0).fit(FRAME, Y)
    flavor.autolog(log_models=False)
    logged = classifier(n_estimators="auto", budget="quick", random_state=0).fit(FRAME, Y)
    np.testing.assert_array_equal(plain.predict_proba(FRAME), logged.predict_proba(FRAME))
    (run,) = runs()
    assert run.data.params["chosen_n_estimators"] == str(plain.auto_.parameters["n_estimators"])
