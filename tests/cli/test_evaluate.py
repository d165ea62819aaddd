"""`evaluate`, `report`, `explain` and `inspect`: the output is that of the Python API."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    mean_absolute_error,
    precision_score,
    r2_score,
    recall_score,
    roc_auc_score,
)

import hedgerow as hr
from commands import FEATURES, make_people


@pytest.fixture
def table(new):
    return pd.read_csv(new, float_precision="round_trip")


def test_metrics_of_classes_are_scikit_learns(run, classes, new, table):
    answer = run("evaluate", classes, new, "--target", "answer", "--json")
    metrics = json.loads(answer.out)["metrics"]
    model, y = hr.load(classes), table["answer"]
    p = model.predict_proba(table[FEATURES])[:, 1]
    assert metrics["auc"] == pytest.approx(roc_auc_score(y == "yes", p))
    assert metrics["accuracy"] == accuracy_score(y, model.predict(table[FEATURES]))


def test_metrics_of_numbers_are_scikit_learns_with_weights(run, numbers, new, table):
    options = ("--target", "amount", "--weights", "weight", "--json")
    metrics = json.loads(run("evaluate", numbers, new, *options).out)["metrics"]
    truth = (table["amount"], hr.load(numbers).predict(table[FEATURES]))
    weights = {"sample_weight": table["weight"]}
    assert metrics["mae"] == pytest.approx(mean_absolute_error(*truth, **weights))
    assert metrics["r2"] == pytest.approx(r2_score(*truth, **weights))


def test_a_metric_that_rows_do_not_allow_is_null(run, classes, tmp_path):
    make_people(20).query("answer == 'no'").to_csv(tmp_path / "t.csv", index=False)
    answer = run("evaluate", classes, tmp_path / "t.csv", "--target", "answer", "--json")
    metrics = json.loads(answer.out)["metrics"]
    assert metrics["auc"] is None
    assert metrics["accuracy"] is not None
    text = run("evaluate", classes, tmp_path / "t.csv", "--target", "answer").out
    assert "auc                         –" in text


def test_classes_of_digits_are_known_as_text(run, tmp_path):
    table = make_people().assign(answer=lambda t: t["answer"].map({"yes": "01", "no": "2"}))
    model = hr.GradientBoostingClassifier(n_estimators=3).fit(table[FEATURES], table["answer"])
    model.save(tmp_path / "m.hedgerow")
    table[table["answer"] == "2"].to_csv(tmp_path / "t.csv", index=False)
    options = ("evaluate", tmp_path / "m.hedgerow", tmp_path / "t.csv", "--target", "answer")
    assert run(*options).code == 0


@pytest.mark.parametrize("rows", [None, "0-2,5"])
def test_explanations_are_the_models_shapley_values(run, classes, new, table, tmp_path, rows):
    out = tmp_path / "values.csv"
    options = () if rows is None else ("--rows", rows)
    answer = json.loads(run("explain", classes, new, *options, "-o", out, "--json").out)
    indices = table.index if rows is None else [0, 1, 2, 5]
    expected = hr.explain.shap_values(hr.load(classes), table[FEATURES].loc[indices])
    values_file = pd.read_csv(out, float_precision="round_trip")
    assert values_file["row"].tolist() == list(indices)
    values = np.ascontiguousarray(values_file[FEATURES].to_numpy())
    assert values.tobytes() == expected.values.tobytes()
    means = np.abs(expected.values).mean(axis=0).tolist()
    assert list(answer["outputs"]["yes"]["mean_absolute_value"].values()) == means


def test_a_row_is_explained_as_a_sum(run, numbers, new, table):
    answer = run("explain", numbers, new, "--rows", 3, "--top", 2)
    first, *terms = answer.out.splitlines()
    score = hr.load(numbers).predict(table[FEATURES])[3]
    assert first.startswith(f"row 3: {score:.4g}, base value ")
    assert first.endswith(" (the target)")
    base = float(first.split("base value ")[1].split()[0])
    assert len(terms) == 3
    assert terms[-1].endswith("2 other columns")
    assert base + sum(float(line.split()[0]) for line in terms) == pytest.approx(score, abs=0.01)


def test_all_rows_are_explained_by_the_largest_columns(run, classes, new):
    lines = run("explain", classes, new, "--top", 3).out.splitlines()
    assert lines[0] == "mean absolute Shapley value of each column, 60 rows (log-odds of yes)"
    sizes = [float(line.split()[1]) for line in lines[1:]]
    assert len(sizes) == 3
    assert sizes == sorted(sizes, reverse=True)


def test_inspect_tells_what_the_file_holds(run, classes):
    facts = json.loads(run("inspect", classes, "--json").out)
    assert facts["model"] == "GradientBoostingClassifier"
    assert facts["sha256"] == hashlib.sha256(classes.read_bytes()).hexdigest()
    assert facts["classes"] == ["no", "yes"]
    assert facts["trees"] == facts["rounds"] == 12
    assert facts["parameters"] == {"n_estimators": 12, "max_leaves": 6}
    assert facts["columns"][0]["categories"] == ["7", "Bonn", "Köln, Deutz", 'the "old" town']
    text = run("inspect", classes).out
    assert facts["sha256"] in text
    assert "n_estimators=12" in text


def test_a_tree_is_printed_with_names_and_rows(run, classes):
    text = run("inspect", classes, "--tree", 0).out
    assert text.startswith("tree 0 of 12; leaves add to yes, log-odds")
    assert "town in {Bonn" in text or "Bonn}" in text
    tree = hr.load(classes)._fitted_model().ensemble.tree(0)
    assert text.count(" rows)") == tree.n_leaves


@pytest.mark.parametrize("kind", ["RandomForestRegressor", "DecisionTreeRegressor", "SVR"])
def test_every_model_can_be_inspected(run, tmp_path, kind):
    table = make_people().dropna()
    model = getattr(hr, kind)().fit(table[["age", "income"]], table["amount"])
    model.save(tmp_path / "m.hedgerow")
    assert kind in run("inspect", tmp_path / "m.hedgerow").out
    assert run("inspect", tmp_path / "m.hedgerow", "--tree", 0).code == (2 if kind == "SVR" else 0)


@pytest.fixture
def reported(monkeypatch):
    """Replace `hr.report` by a function that records its arguments."""
    arguments = {}

    def write(model, X, y, path, **options):
        arguments.update(model=model, X=X, y=y, **options)
        path.write_text("<html></html>")

    monkeypatch.setattr(hr, "report", write)
    return arguments


@pytest.mark.filterwarnings("ignore:Mismatched null-like values:FutureWarning")  # of pandas 2
def test_report_passes_on_the_model_and_its_rows(run, classes, new, table, reported, tmp_path):
    out = tmp_path / "page.html"
    answer = run("report", classes, new, "--target", "answer", "--weights", "weight", "-o", out)
    assert answer.code == 0
    assert out.exists()
    pd.testing.assert_frame_equal(reported["X"], table[FEATURES])
    assert reported["y"].tolist() == table["answer"].tolist()
    assert reported["sample_weight"].tolist() == table["weight"].tolist()
    assert reported["target_name"] == "answer"


def test_training_reports_on_the_test_set(run, people, reported, tmp_path):
    options = ("--target", "answer", "--param", "n_estimators=3", "--quiet", "--out", tmp_path)
    assert run("train", people, *options).code == 0
    assert (tmp_path / "report.html").exists()
    assert len(reported["X"]) == 60


def test_training_says_why_there_is_no_report(run, people, monkeypatch, tmp_path):
    def write(*_, **__):
        raise ImportError("report() needs Altair")

    monkeypatch.setattr(hr, "report", write)
    options = ("--target", "answer", "--param", "n_estimators=3", "--quiet", "--out", tmp_path)
    answer = run("train", people, *options)
    assert answer.code == 0
    assert "no report: report() needs Altair" in answer.out
    assert (tmp_path / "model.hedgerow").exists()


def test_metrics_of_a_positive_class_are_scikit_learns(run, classes, new, table):
    options = ("--target", "answer", "--positive-class", "yes", "--weights", "weight", "--json")
    metrics = json.loads(run("evaluate", classes, new, *options).out)["metrics"]
    model, truth = hr.load(classes), table["answer"] == "yes"
    weights = {"sample_weight": table["weight"]}
    predicted = model.predict(table[FEATURES]) == "yes"
    p = model.predict_proba(table[FEATURES])[:, 1]
    assert metrics["precision"] == pytest.approx(precision_score(truth, predicted, **weights))
    assert metrics["recall"] == pytest.approx(recall_score(truth, predicted, **weights))
    assert metrics["average_precision"] == pytest.approx(
        average_precision_score(truth, p, **weights)
    )


def test_a_report_has_the_positive_class(run, classes, new, reported, tmp_path):
    options = ("--target", "answer", "--positive-class", "no", "-o", tmp_path / "page.html")
    assert run("report", classes, new, *options).code == 0
    assert reported["positive_class"] == "no"


def test_values_may_go_to_standard_output(run, classes, new, tmp_path):
    answer = run("explain", classes, new, "-o", "-")
    assert run("explain", classes, new, "-o", tmp_path / "v.csv").code == 0
    assert answer.out == (tmp_path / "v.csv").read_text()
