"""`hedgerow predict`: the numbers of the Python API, bit for bit."""

import io
import json
import sys

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


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_without_rows_has_no_predictions(run, classes, new, tmp_path, kind):
    empty = tmp_path / f"none.{kind}"
    WRITERS[kind](read_exactly(new)[FEATURES][:0], empty, index=False)
    answer = run("predict", classes, empty, "--proba")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.strip() == "prediction,probability_no,probability_yes"


@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz", "p.parquet", "p.feather"])
def test_numbers_are_those_of_the_model_in_any_format(run, numbers, new, tmp_path, name):
    out = tmp_path / name
    assert run("predict", numbers, new, "-o", out).code == 0
    readers = {"parquet": pd.read_parquet, "feather": pd.read_feather}
    predicted = readers.get(name.rpartition(".")[2], read_exactly)(out)
    expected = hr.load(numbers).predict(read_exactly(new)[FEATURES])
    assert predicted["prediction"].to_numpy().tobytes() == expected.tobytes()


def make_all_kinds(n_rows, seed):
    """Make a table of all kinds of columns: text, flags, whole numbers, many digits, gaps."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "text": rng.choice(["a", "ö, ü", 'say "hi"', "7", "-"], n_rows),
            "flag": rng.random(n_rows) < 0.5,
            "small": rng.integers(-5, 5, n_rows),
            "large": rng.integers(2**53, 2**60, n_rows),
            "digits": rng.random(n_rows) / 3,
            "wide": rng.normal(size=n_rows) * 10.0 ** rng.integers(-300, 300, n_rows),
        }
    )
    effect = (table["text"] == "7") + table["flag"] + table["digits"] * table["small"]
    table["target"] = effect + np.sign(table["wide"]) + rng.normal(0, 0.1, n_rows)
    for column in ("text", "digits", "wide"):
        table.loc[rng.random(n_rows) < 0.1, column] = None
    return table


WRITERS = {"csv": pd.DataFrame.to_csv, "parquet": pd.DataFrame.to_parquet}


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("classes", [False, True])
def test_training_and_predicting_are_the_python_apis_bit_for_bit(run, tmp_path, kind, classes):
    table, new = make_all_kinds(400, seed=0), make_all_kinds(100, seed=1)
    if classes:
        table["target"] = np.where(table["target"] > 0.5, "high", "low")
    X = table.drop(columns="target")
    estimator = hr.GradientBoostingClassifier if classes else hr.GradientBoostingRegressor
    model = estimator(n_estimators=12).fit(X, table["target"])

    for name, frame in (("data", table), ("new", new)):
        WRITERS[kind](frame, tmp_path / f"{name}.{kind}", index=False)
    few = ("--param", "n_estimators=12", "--test-size", 0, "--quiet", "--out", tmp_path)
    assert run("train", tmp_path / f"data.{kind}", "--target", "target", *few).code == 0
    out, model_path = tmp_path / f"p.{kind}", tmp_path / "model.hedgerow"
    options = ("--proba",) if classes else ()
    assert run("predict", model_path, tmp_path / f"new.{kind}", *options, "-o", out).code == 0

    model.save(tmp_path / "api.hedgerow")
    assert model_path.read_bytes() == (tmp_path / "api.hedgerow").read_bytes()
    predicted = read_exactly(out) if kind == "csv" else pd.read_parquet(out)
    assert predicted["prediction"].tolist() == model.predict(new[X.columns]).tolist()
    if classes:
        p = predicted[["probability_high", "probability_low"]].to_numpy()
        assert np.ascontiguousarray(p).tobytes() == model.predict_proba(new[X.columns]).tobytes()


def test_an_id_is_kept_as_it_stands(run, numbers, tmp_path):
    table = make_people(5).assign(person=["007", "1e3", "", "a,b", "12345678901234567890"])
    table.to_csv(tmp_path / "t.csv", index=False)
    answer = run("predict", numbers, tmp_path / "t.csv", "--id", "person")
    ids = pd.read_csv(io.StringIO(answer.out), dtype=str, keep_default_na=False)["person"]
    assert ids.tolist() == table["person"].tolist()


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
    options = ("train", people, "--target", "amount", *without("amount"), *FEW, "--out", tmp_path)
    assert run(*options, "--param", "calibration=conformal", "--no-report").code == 0
    model = tmp_path / "model.hedgerow"
    answer = run("predict", model, new, "--interval", "--coverage", 0.8)
    bounds = read_exactly(io.StringIO(answer.out))[["low", "high"]].to_numpy()
    expected = hr.load(model).predict_interval(read_exactly(new)[FEATURES], coverage=0.8)
    assert np.ascontiguousarray(bounds).tobytes() == expected.tobytes()


def test_quantiles_have_a_column_each(run, people, new, tmp_path):
    options = ("train", people, "--target", "amount", *without("amount"), *FEW, "--test-size", 0)
    quantiles = ("--param", "loss=quantile", "--param", "quantile=[0.1, 0.9]", "--out", tmp_path)
    assert run(*options, *quantiles).code == 0
    answer = run("predict", tmp_path / "model.hedgerow", new)
    assert answer.out.splitlines()[0] == "prediction_0,prediction_1"


def test_a_model_of_the_python_api_predicts_files(run, new, tmp_path):
    table = make_people()
    model = hr.RandomForestClassifier(n_estimators=5).fit(table[FEATURES], table["member"])
    model.save(tmp_path / "m.hedgerow")
    answer = run("predict", tmp_path / "m.hedgerow", new)
    expected = model.predict(read_exactly(new)[FEATURES])
    assert read_exactly(io.StringIO(answer.out))["prediction"].tolist() == expected.tolist()


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "feather"])
def test_standard_input_is_predicted(run, numbers, new, monkeypatch, tmp_path, kind):
    table, path = read_exactly(new), tmp_path / f"t.{kind}"
    write = {"parquet": table.to_parquet, "feather": table.to_feather}
    write.get(kind, lambda path: table.to_csv(path, index=False))(path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    answer = run("predict", numbers, "-", "-o", "-")
    assert (answer.code, answer.out) == (0, run("predict", numbers, new).out)


def test_what_is_wrong_with_standard_input_is_said_of_it(run, numbers, monkeypatch):
    for text, message in ((b"", "is empty"), (b"a,b\n1,2\n", "has no column 'town'")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        answer = run("predict", numbers, "-")
        assert answer.code == 2
        assert answer.err.startswith(f"hedgerow: error: standard input {message}")


def test_the_probability_of_the_positive_class_alone(run, classes, new):
    columns = run("predict", classes, new, "--positive-class", "yes").out.splitlines()[0]
    assert columns == "prediction,probability_yes"


def test_offsets_are_a_column_of_the_file(run, people, new, tmp_path):
    table = read_exactly(people)
    table["exposure"] = np.linspace(-1, 1, len(table))
    table.to_csv(tmp_path / "train.csv", index=False)
    out = tmp_path / "model"
    options = ("--target", "amount", *without("amount"), "--offset", "exposure", "--cv", "2")
    answer = run("train", tmp_path / "train.csv", *options, "--out", out, *FEW)
    assert answer.code == 0, answer.err
    model = hr.load(out / "model.hedgerow")
    rows = read_exactly(new)
    rows["exposure"] = 0.5
    rows.to_csv(tmp_path / "new.csv", index=False)
    answer = run("predict", out / "model.hedgerow", tmp_path / "new.csv", "--offset", "exposure")
    assert answer.code == 0, answer.err
    predicted = read_exactly(io.StringIO(answer.out))["prediction"]
    assert "exposure" not in model.feature_names_in_
    X = rows[list(model.feature_names_in_)]
    assert predicted.tolist() == model.predict(X, offset=rows["exposure"]).tolist()
    roles = ("--target", "amount", "--offset", "exposure")
    answer = run("evaluate", out / "model.hedgerow", tmp_path / "new.csv", *roles, "--json")
    assert answer.code == 0, answer.err
    r2 = model.score(X, rows["amount"], offset=rows["exposure"])
    assert json.loads(answer.out)["metrics"]["r2"] == pytest.approx(r2)


def test_streamed_offsets_are_those_in_memory(run, numbers, new, tmp_path):
    rows = read_exactly(new)
    rows["exposure"] = np.linspace(-1, 1, len(rows))
    rows.to_parquet(tmp_path / "new.parquet", index=False)
    out = tmp_path / "p.parquet"
    options = ("--offset", "exposure", "--out-of-core", "-o", out)
    answer = run("predict", numbers, tmp_path / "new.parquet", *options)
    assert answer.code == 0, answer.err
    expected = hr.load(numbers).predict(rows[FEATURES], offset=rows["exposure"])
    np.testing.assert_array_equal(pd.read_parquet(out)["prediction"], expected)


def test_an_offset_for_a_model_without_scores_is_refused(run, people, tmp_path):
    options = ("--target", "amount", *without("amount"), "--model", "random_forest")
    answer = run("train", people, *options, "--offset", "member", "--out", tmp_path, *FEW)
    assert answer.code != 0
    assert "--offset: a RandomForestRegressor has no scores" in answer.err


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_formulas_are_escaped_in_csv_files(run, tmp_path, ending):
    labels = np.array(["=HYPERLINK(1)", "@SUM(1)", "fine"])
    table = make_people(60).assign(label=labels[np.arange(60) % 3])
    table["=id"] = np.where(np.arange(60) % 2, "+1", "a=b")
    model = hr.GradientBoostingClassifier(n_estimators=3).fit(table[["age"]], table["label"])
    model.save(tmp_path / "m.hedgerow")
    table.to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / f"p{ending}"
    options = ("predict", tmp_path / "m.hedgerow", tmp_path / "t.csv", "--proba", "--id", "=id")
    assert run(*options, "-o", out).code == 0
    plain = pd.read_csv(out, float_precision="round_trip")
    assert run(*options, "--escape-formulas", "-o", out).code == 0
    escaped = pd.read_csv(out, float_precision="round_trip")
    cells = [*escaped.columns, *escaped["'=id"], *escaped["prediction"]]
    assert not [cell for cell in cells if cell[0] in "=+-@"]
    assert set(escaped["prediction"]) <= {"'=HYPERLINK(1)", "'@SUM(1)", "fine"}
    assert set(escaped["'=id"]) == {"'+1", "a=b"}
    numbers = plain.columns.drop(["=id", "prediction"])
    pd.testing.assert_frame_equal(escaped[numbers], plain[numbers])
    assert run(*options, "--escape-formulas").out.startswith("'=id,")
    answer = run(*options, "--escape-formulas", "-o", tmp_path / "p.parquet")
    assert answer.code == 2
    assert "--escape-formulas is for CSV" in answer.err


def test_escaped_formulas_are_refused_for_a_parquet_file_that_is_written_in_blocks(run, tmp_path):
    table = make_people(60)
    hr.DecisionTreeRegressor().fit(table[["age"]], table["amount"]).save(tmp_path / "m.hedgerow")
    table.to_parquet(tmp_path / "t.parquet")
    files = "predict", tmp_path / "m.hedgerow", tmp_path / "t.parquet", "--out-of-core"
    answer = run(*files, "--escape-formulas", "-o", tmp_path / "p.parquet")
    assert answer.code == 2
    assert "--escape-formulas is for CSV" in answer.err
    assert not (tmp_path / "p.parquet").exists()


def test_formulas_are_escaped_in_explanations(run, tmp_path):
    table = make_people(60).rename(columns={"age": "=age"})
    model = hr.GradientBoostingRegressor(n_estimators=3).fit(table[["=age"]], table["amount"])
    model.save(tmp_path / "m.hedgerow")
    table.to_csv(tmp_path / "t.csv", index=False)
    answer = run(
        *("explain", tmp_path / "m.hedgerow", tmp_path / "t.csv", "--rows", "0-1"),
        *("--escape-formulas", "-o", "-"),
    )
    assert answer.out.splitlines()[0] == "row,output,base value,'=age"
    assert all(float(line.split(",")[2]) for line in answer.out.splitlines()[1:])
