"""`hedgerow predict`: the numbers of the Python API, bit for bit."""

import io

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from commands import FEATURES, FEW, make_people, without


def read_exactly(source):
    return pd.read_csv(source, float_precision="round_trip")


def test_classes_and_probabilities_are_those_of_the_model(run, classes, new):
    answer = run("predict", classes, new, "--proba")
    assert (answer.code, answer.err) == (0, "")
    predicted = read_exactly(io.StringIO(answer.out))
    X, model = read_exactly(new)[FEATURES], hr.load(classes)
    assert predicted["prediction"].tolist() == model.predict(X).tolist()
    p = predicted[["probability_no", "probability_yes"]].to_numpy()
    assert np.ascontiguousarray(p).tobytes() == model.predict_proba(X).tobytes()


@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz", "p.parquet", "p.feather"])
def test_numbers_are_those_of_the_model_in_any_format(run, numbers, new, tmp_path, name):
    out = tmp_path / name
    assert run("predict", numbers, new, "-o", out).code == 0
    readers = {"parquet": pd.read_parquet, "feather": pd.read_feather}
    predicted = readers.get(name.rpartition(".")[2], read_exactly)(out)
    expected = hr.load(numbers).predict(read_exactly(new)[FEATURES])
    assert predicted["prediction"].to_numpy().tobytes() == expected.tobytes()


def test_an_id_is_kept_as_it_stands(run, numbers, tmp_path):
    table = make_people(5).assign(person=["007", "1e3", "", "a,b", "12345678901234567890"])
    table.to_csv(tmp_path / "t.csv", index=False)
    answer = run("predict", numbers, tmp_path / "t.csv", "--id", "person")
    kept = pd.read_csv(io.StringIO(answer.out), dtype=str, keep_default_na=False)["person"]
    assert kept.tolist() == table["person"].tolist()


def test_a_feature_may_be_the_id(run, numbers, new):
    answer = run("predict", numbers, new, "--id", "town")
    assert answer.out.splitlines()[0] == "town,prediction"


def test_columns_are_found_by_name_and_types_are_those_of_the_training(run, numbers, tmp_path):
    table = make_people(40, seed=5)
    table["town"] = "7"  # a category that looks like a number
    table["income"] = None
    shuffled = table[["amount", "member", "income", "age", "town"]]
    shuffled.to_csv(tmp_path / "t.csv", index=False, sep=";")
    answer = run("predict", numbers, tmp_path / "t.csv")
    expected = hr.load(numbers).predict(table[FEATURES].astype({"income": float}))
    assert read_exactly(io.StringIO(answer.out))["prediction"].tolist() == expected.tolist()


def test_intervals_are_those_of_the_model(run, people, new, tmp_path):
    asked = ("train", people, "--target", "amount", *without("amount"), *FEW, "--out", tmp_path)
    assert run(*asked, "--param", "calibration=conformal").code == 0
    model = tmp_path / "model.hedgerow"
    answer = run("predict", model, new, "--interval", "--coverage", 0.8)
    found = read_exactly(io.StringIO(answer.out))[["low", "high"]].to_numpy()
    expected = hr.load(model).predict_interval(read_exactly(new)[FEATURES], coverage=0.8)
    assert np.ascontiguousarray(found).tobytes() == expected.tobytes()


def test_quantiles_have_a_column_each(run, people, new, tmp_path):
    asked = ("train", people, "--target", "amount", *without("amount"), *FEW, "--test-size", 0)
    given = ("--param", "loss=quantile", "--param", "quantile=[0.1, 0.9]", "--out", tmp_path)
    assert run(*asked, *given).code == 0
    answer = run("predict", tmp_path / "model.hedgerow", new)
    assert answer.out.splitlines()[0] == "prediction_0,prediction_1"


def test_a_model_of_the_python_api_predicts_files(run, new, tmp_path):
    table = make_people()
    model = hr.RandomForestClassifier(n_estimators=5).fit(table[FEATURES], table["member"])
    model.save(tmp_path / "m.hedgerow")
    answer = run("predict", tmp_path / "m.hedgerow", new)
    expected = model.predict(read_exactly(new)[FEATURES])
    assert read_exactly(io.StringIO(answer.out))["prediction"].tolist() == expected.tolist()
