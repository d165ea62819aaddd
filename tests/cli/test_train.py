"""`hedgerow train`: what it writes is what the Python API would make of the same table."""

import io
import json
import re
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.metrics import log_loss, mean_poisson_deviance
from sklearn.model_selection import train_test_split

import hedgerow as hr
from commands import FEATURES, FEW, PARAMETERS, everything_in, make_people, without
from hedgerow._cli.dataset import LabeledDataset, Roles
from hedgerow._cli.models import find_task


@pytest.fixture
def train(run, tmp_path):
    """Train, and give the answer and the model; pages, which take longest, are tested elsewhere."""

    def run_train(data, *arguments, few=FEW):
        out = ("--out", tmp_path / "out", "--json", "--no-report")
        answer = run("train", data, *arguments, *few, *out)
        assert answer.code == 0, answer.err
        return json.loads(answer.out), hr.load(tmp_path / "out" / "model.hedgerow")

    return run_train


def same_model(a, b, X):
    return a.predict_proba(X).tobytes() == b.predict_proba(X).tobytes()


def test_the_model_is_that_of_the_python_api(people, train):
    table = pd.read_csv(people, float_precision="round_trip")
    expected = hr.GradientBoostingClassifier(**PARAMETERS).fit(table[FEATURES], table["answer"])
    _, model = train(people, "--target", "answer", *without("answer"), "--test-size", 0)
    assert same_model(model, expected, table[FEATURES])


def test_metrics_are_those_of_the_rows_held_out(people, train, tmp_path):
    table = pd.read_csv(people, float_precision="round_trip")
    y = table["answer"]
    rows, test_rows = map(
        np.sort, train_test_split(np.arange(len(table)), test_size=0.25, random_state=3, stratify=y)
    )
    expected = hr.GradientBoostingClassifier(**PARAMETERS, random_state=3)
    expected.fit(table[FEATURES].iloc[rows], y.iloc[rows])
    loss = log_loss(y.iloc[test_rows], expected.predict_proba(table[FEATURES].iloc[test_rows]))

    options = ("--test-size", 0.25, "--seed", 3)
    answer, model = train(people, "--target", "answer", *without("answer"), *options)
    assert same_model(model, expected, table[FEATURES])
    assert answer["test"]["metrics"]["log_loss"] == pytest.approx(loss, rel=1e-12)
    metrics_file = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics_file == {name: answer[name] for name in metrics_file}


def test_the_summary_for_people_says_what_was_inferred_and_written(run, people, tmp_path):
    out = tmp_path / "deep" / "out"
    answer = run("train", people, "--target", "answer", *without("answer"), *FEW, "--out", out)
    assert answer.code == 0
    assert answer.err == ""
    assert "classification, since the target is text with 2 distinct values" in answer.out
    assert "60 rows of the file; trained on the other 240" in answer.out
    assert str(out / "model.hedgerow") in answer.out
    assert {"metrics.json", "model.hedgerow"} <= set(everything_in(out))
    assert not [name for name in everything_in(out) if name.startswith(".")]


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow", "t.csv.gz", "t.tsv"])
def test_all_formats_give_the_same_model(people, train, tmp_path, name):
    table = pd.read_csv(people, float_precision="round_trip")
    path = tmp_path / name
    if name.endswith(("feather", "arrow")):
        table.to_feather(path)
    elif name.endswith("parquet"):
        table.to_parquet(path)
    else:
        table.to_csv(path, index=False, sep="\t" if "tsv" in name else ",")
    options = ("--target", "answer", *without("answer"), "--test-size", 0)
    assert same_model(train(path, *options)[1], train(people, *options)[1], table[FEATURES])


def test_a_format_may_be_said(train, people, tmp_path):
    path = tmp_path / "people.data"
    path.write_bytes(people.read_bytes())
    answer, _ = train(path, "--target", "answer", "--format", "csv")
    assert answer["data"]["rows"] == 300


def test_another_file_may_judge(run, train, people, new, tmp_path):
    answer, _ = train(people, "--target", "answer", *without("answer"), "--test", new)
    evaluation = run(
        "evaluate", tmp_path / "out/model.hedgerow", new, "--target", "answer", "--json"
    )
    assert answer["test"]["metrics"] == json.loads(evaluation.out)["metrics"]


def test_a_test_file_is_read_with_the_types_of_the_other(train, people, tmp_path):
    test = make_people(40, seed=2)
    test["town"] = "7"  # a category that looks like a number
    test["income"] = None
    test.to_csv(tmp_path / "test.csv", index=False)
    options = ("--target", "answer", *without("answer"), "--test", tmp_path / "test.csv")
    assert train(people, *options)[0]["test"]["metrics"]["accuracy"] > 0.3


def test_folds_judge_and_the_model_is_of_all_rows(people, train):
    options = ("--target", "amount", *without("amount"))
    answer, model = train(people, *options, "--cv", 3)
    _, of_all = train(people, *options, "--test-size", 0)
    X = pd.read_csv(people)[FEATURES]
    assert model.predict(X).tobytes() == of_all.predict(X).tobytes()
    assert set(answer["test"]["standard_deviation"]) == {"rmse", "mae", "r2"}


def test_folds_have_a_report_of_out_of_fold_predictions(run, people, tmp_path):
    pytest.importorskip("altair")
    options = ("train", people, "--target", "answer", *without("answer"), "--cv", 3)
    answer = run(*options, "--positive-class", "no", *FEW, "--out", tmp_path)
    assert answer.code == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "In 3-fold cross-validation on 300 rows" in page
    assert "<title>Answer: no or yes</title>" in page
    test = json.loads((tmp_path / "metrics.json").read_text())["test"]
    # The mean over folds of (nearly) equal size is the accuracy of all out-of-fold predictions.
    shown = re.search(r"Accuracy</th>.*?<td class=\"n strong\">([.0-9]+)</td>", page, re.I | re.S)
    assert float(shown[1]) == pytest.approx(test["metrics"]["accuracy"], abs=5e-4)


def test_without_a_test_set_there_is_no_report_and_the_summary_says_so(run, people, tmp_path):
    options = ("train", people, "--target", "amount", *without("amount"), "--test-size", 0)
    answer = run(*options, *FEW, "--out", tmp_path)
    assert "no report: there is no test set to report on" in answer.out


def refuse(constant):
    raise AssertionError(f"{constant} is no JSON")


def test_metrics_that_are_not_defined_in_a_fold_are_null(run, tmp_path):
    # Two of three groups hold all rows of class 1, so one fold has none.
    group = np.repeat([0, 1, 2], 20)
    table = pd.DataFrame({"x": np.arange(60.0), "g": group, "y": (group > 0) * (np.arange(60) % 2)})
    table.to_csv(tmp_path / "t.csv", index=False)
    options = ("train", tmp_path / "t.csv", "--target", "y", "--groups", "g", "--cv", 3, *FEW)
    answer = run(*options, "--out", tmp_path / "out", "--json")
    assert answer.code == 0, answer.err
    for text in (answer.out, (tmp_path / "out" / "metrics.json").read_text()):
        test = json.loads(text, parse_constant=refuse)["test"]
        assert test["metrics"]["auc"] is test["standard_deviation"]["auc"] is None
        assert test["metrics"]["accuracy"] > 0
    lines = run(*options, "--out", tmp_path / "out").out.splitlines()
    (line,) = [line for line in lines if " auc " in line]
    assert line.split(maxsplit=1)[1] == "– (undefined in some folds)"


@pytest.mark.parametrize("way", [("--cv", 3), ("--test-size", 0.3)])
@pytest.mark.parametrize("target", ["answer", "amount"])
def test_weights_and_groups_are_no_features(people, train, target, way):
    drop = ("--drop", "person," + ("amount" if target == "answer" else "answer"))
    options = ("--target", target, "--weights", "weight", "--groups", "group", *drop)
    answer, model = train(people, *options, *way)
    assert list(model.feature_names_in_) == FEATURES
    assert answer["test"]["metrics"]


def test_weights_are_used(people, train):
    table = pd.read_csv(people, float_precision="round_trip")
    expected = hr.GradientBoostingClassifier(**PARAMETERS)
    expected.fit(table[FEATURES], table["answer"], sample_weight=table["weight"])
    drop = ("--drop", "person,group,amount")
    options = ("--target", "answer", "--weights", "weight", *drop, "--test-size", 0)
    assert same_model(train(people, *options)[1], expected, table[FEATURES])


@pytest.mark.parametrize("way", [("--cv", 3), ("--test-size", 0.3)])
def test_svmlight_with_queries_is_a_ranking(train, tmp_path, way):
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(200, 4)), np.repeat(np.arange(20), 10)
    y = np.digitize(X[:, 0], [0.0, 1.0])
    dump_svmlight_file(X, y, str(tmp_path / "t.svm"), query_id=qid, zero_based=False)
    answer, model = train(tmp_path / "t.svm", *way)
    assert answer["task"] == {"name": "ranking", "why": "since the file has queries"}
    assert answer["test"]["metrics"]["ndcg"] > 0.8
    assert isinstance(model, hr.GradientBoostingRanker)


def test_queries_of_a_column_stay_together(train, people):
    options = ("--target", "age_group", "--qid", "group", "--drop", "person,answer,amount,weight")
    table = make_people().assign(age_group=lambda t: (t["amount"] > 4).astype(int))
    path = people.with_name("queries.csv")
    table.to_csv(path, index=False)
    answer, model = train(path, *options)
    assert answer["task"]["name"] == "ranking"
    assert list(model.feature_names_in_) == FEATURES


def test_dates_that_name_queries_are_no_features_to_warn_of(run, tmp_path):
    rng = np.random.default_rng(0)
    days = np.repeat([f"2024-01-{day:02}" for day in range(1, 21)], 5)
    table = pd.DataFrame({"day": days, "x": rng.normal(size=100), "y": rng.integers(0, 3, 100)})
    table.to_csv(tmp_path / "t.csv", index=False)
    options = (
        "train",
        tmp_path / "t.csv",
        "--target",
        "y",
        *FEW,
        "--out",
        tmp_path / "out",
        "--no-report",
    )
    answer = run(*options, "--qid", "day")
    assert (answer.code, answer.err) == (0, "")
    assert "'day' has dates" in run(*options).err


@pytest.mark.parametrize("flags", [(0, 1), (False, True)])
@pytest.mark.parametrize("way", [("--cv", 3), ("--test-size", 0.3)])
def test_events_make_it_survival(train, tmp_path, flags, way):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=200), "until": rng.exponential(size=200)})
    time = np.exp(table["x"]) * rng.exponential(size=200)
    table["died"] = np.where(time < table["until"], flags[1], flags[0])
    table["until"] = np.minimum(time, table["until"])
    table.to_csv(tmp_path / "t.csv", index=False)
    answer, model = train(tmp_path / "t.csv", "--target", "until", "--event", "died", *way)
    assert answer["task"]["why"] == "since --event died is given"
    assert answer["test"]["metrics"]["concordance"] > 0.6
    assert list(model.feature_names_in_) == ["x"]


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b", "c"], "classification"),
        ([True, False, True], "classification"),
        ([0, 1, 1], "classification"),
        ([5, 9, 9], "classification"),
        ([-1.0, 1.0, 1.0], "classification"),
        ([1, 2, 3], "classification"),
        ([3, 4, 5], "regression"),
        ([0, 1, 5], "regression"),
        (list(range(12)), "regression"),
        ([0.5, 1.5, 1.5], "regression"),
        ([0.5, 1.5, None], "regression"),
    ],
)
def test_tasks_are_inferred_from_targets(values, task):
    dataset = LabeledDataset(np.zeros((len(values), 1)), pd.Series(values))
    assert find_task(None, dataset, Roles()).name == task


def test_a_task_may_be_said(train, people):
    drop = ("--drop", "answer,amount,person")
    options = ("--target", "group", *drop, "--task", "counts")
    answer, model = train(people, *options)
    assert model.loss == "poisson"
    assert answer["parameters"]["loss"] == "poisson"


def test_parameters_are_read_by_their_declarations(train, people):
    parameters = {
        "learning_rate": ("0.25", 0.25),
        "max_depth": ("4", 4),
        "reg_lambda": ("auto", "auto"),
        "early_stopping": ("true", True),
        "categorical_features": ("town,member", ["town", "member"]),
        "class_weight": ('{"no": 2, "yes": 1}', {"no": 2, "yes": 1}),
        "calibration": ("none", None),
        "eval_metric": ("auc", "auc"),
    }
    options = [
        part for name, (text, _) in parameters.items() for part in ("--param", f"{name}={text}")
    ]
    _, model = train(people, "--target", "answer", *without("answer"), *options)
    assert {name: getattr(model, name) for name in parameters} == {
        name: value for name, (_, value) in parameters.items()
    }


def test_seed_and_budget_are_parameters(train, people):
    options = ("--target", "amount", *without("amount"), "--seed", 9, "--budget", "quick")
    _, model = train(people, *options)
    assert (model.random_state, model.budget) == (9, "quick")


@pytest.mark.parametrize(
    "family", ["random_forest", "extra-trees", "decision_tree", "bagging", "adaboost", "stagewise"]
)
@pytest.mark.parametrize("target", ["answer", "amount"])
def test_models_of_trees_by_name(train, people, family, target):
    few = ("--quiet",) if family == "decision_tree" else ("--param", "n_estimators=5", "--quiet")
    # Learners of bagging and of stages take tables as scikit-learn's do: numbers without gaps.
    more = ",town,age,income" if family in ("bagging", "stagewise") else ""
    option, drop = without(target)
    answer, _ = train(people, "--target", target, option, drop + more, "--model", family, few=few)
    assert family.replace("-", "_").replace("_", "") in answer["model"].lower()


@pytest.mark.parametrize("family", ["svm", "linear_svm", "neighbors"])
@pytest.mark.parametrize("target", ["answer", "amount"])
def test_machines_by_name(train, people, family, target):
    option, drop = without(target)
    drop += ",town,age,income"
    answer, _ = train(people, "--target", target, option, drop, "--model", family, few=("--quiet",))
    assert answer["test"]["metrics"]


def test_progress_goes_to_standard_error(run, people, tmp_path):
    options = ("train", people, "--target", "answer", *without("answer"), "--out", tmp_path / "out")
    answer = run(*options, "--param", "n_estimators=100", "--json", "--no-report")
    assert "round 100/100" in answer.err
    json.loads(answer.out)


# Files without names, values that mean missing, and the class that matters.


def test_a_file_without_header_keeps_its_first_row(run, train, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 3))).assign(y=lambda t: (t[0] > 0).astype(int))
    table.to_csv(tmp_path / "bare.csv", index=False, header=False)
    answer, model = train(tmp_path / "bare.csv", "--no-header", "--target", "x3", "--test-size", 0)
    assert answer["data"]["rows"] == 80
    assert list(model.feature_names_in_) == ["x0", "x1", "x2"]

    # Rows to predict may have the column of the target, or may be without it.
    out = tmp_path / "out" / "model.hedgerow"
    expected = run("predict", out, tmp_path / "bare.csv", "--no-header").out
    table.drop(columns="y").to_csv(tmp_path / "new.csv", index=False, header=False)
    assert run("predict", out, tmp_path / "new.csv", "--no-header").out == expected
    assert expected.count("\n") == 81


def test_without_the_first_column_the_others_are_still_found(run, train, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 3)))
    table.to_csv(tmp_path / "bare.csv", index=False, header=False)
    train(tmp_path / "bare.csv", "--no-header", "--target", "x0", "--test-size", 0)
    out = tmp_path / "out" / "model.hedgerow"
    table[[1, 2]].to_csv(tmp_path / "new.csv", index=False, header=False)
    expected = run("predict", out, tmp_path / "bare.csv", "--no-header").out
    assert run("predict", out, tmp_path / "new.csv", "--no-header").out == expected


def test_numbers_may_be_names(run, train, tmp_path):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)))
    table.to_csv(tmp_path / "t.csv", index=False)
    train(tmp_path / "t.csv", "--header", "--target", "2", "--test-size", 0)
    # A model that knows these names needs no option.
    assert run("predict", tmp_path / "out" / "model.hedgerow", tmp_path / "t.csv").code == 0


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_values_that_mean_missing_are_remembered_by_the_model(run, train, tmp_path, kind):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=90).round(3), "b": rng.integers(0, 50, 90)})
    table["y"] = table["a"] + rng.normal(size=90)
    missing = rng.random((90, 2)) < 0.2
    clean = table.assign(
        a=table["a"].mask(missing[:, 0]), b=table["b"].astype(float).mask(missing[:, 1])
    )
    marked = table.assign(
        a=table["a"].astype(str).mask(missing[:, 0], " ?"), b=table["b"].mask(missing[:, 1], -999)
    )
    write = {"csv": pd.DataFrame.to_csv, "parquet": pd.DataFrame.to_parquet}[kind]
    if kind == "parquet":  # where text stays text
        marked["a"], clean["a"] = table["a"], table["a"]
    clean.to_csv(tmp_path / "clean.csv", index=False)
    write(marked, tmp_path / f"marked.{kind}", index=False)

    options = ("--target", "y", "--test-size", 0)
    _, expected = train(tmp_path / "clean.csv", *options)
    _, model = train(tmp_path / f"marked.{kind}", *options, "--na", "?", "--na", "-999")
    X = clean[["a", "b"]]
    assert model.predict(X).tobytes() == expected.predict(X).tobytes()
    assert model.na_values_ == ["?", "-999"]
    predicted = run("predict", tmp_path / "out/model.hedgerow", tmp_path / f"marked.{kind}").out
    predictions = [float(line) for line in predicted.splitlines()[1:]]
    assert predictions == model.predict(X).tolist()
    assert "missing     also '?', '-999'\n" in run("inspect", tmp_path / "out/model.hedgerow").out
    again = tmp_path / "again.hedgerow"
    assert run("convert", tmp_path / "out/model.hedgerow", tmp_path / "m.json").code == 0
    assert run("convert", tmp_path / "m.json", again).code == 0
    assert hr.load(again).na_values_ == ["?", "-999"]


def test_nearly_numeric_columns_are_one_line_that_names_the_option(run, tmp_path):
    ages = ["?" if i % 9 == 0 else str(20 + i % 40) for i in range(60)]
    rows = [f"{age},{i % 7 + 0.5}\n" for i, age in enumerate(ages)]
    (tmp_path / "t.csv").write_text("age,y\n" + "".join(rows))
    options = (
        "train",
        tmp_path / "t.csv",
        "--target",
        "y",
        *FEW,
        "--param",
        "min_samples_leaf=2",
        "--out",
        tmp_path / "out",
        "--no-report",
    )
    (line,) = run(*options).err.splitlines()
    assert line == (
        "hedgerow: warning: column 'age' is read as categorical: 7 of 60 values are not numbers "
        "('?'). If that means missing, use --na '?'."
    )
    assert run(*options, "--na", "?").err == ""


def test_rows_without_a_target_may_be_left_out(train, run, people, tmp_path):
    table = pd.read_csv(people)
    table["amount"] = table["amount"].astype(str).where(table.index % 10 != 0, "?")
    table.to_csv(tmp_path / "t.csv", index=False)
    options = ("--target", "amount", "--na", "?", "--drop-missing-target", *without("amount"))
    answer, _ = train(tmp_path / "t.csv", *options)
    assert (answer["data"]["rows"], answer["task"]["name"]) == (270, "regression")
    evaluation = run("evaluate", tmp_path / "out/model.hedgerow", tmp_path / "t.csv", *options[:2])
    assert "--drop-missing-target" in evaluation.err  # '?' is still missing


@pytest.mark.parametrize("way", [("--cv", 3), ("--test-size", 0.3)])
def test_metrics_of_a_positive_class(train, people, way):
    options = ("--target", "answer", *without("answer"), "--positive-class", "no", *way)
    metrics = train(people, *options)[0]["test"]["metrics"]
    assert list(metrics)[3:] == ["average_precision", "precision", "recall", "f1"]
    assert all(0.5 < value <= 1 for value in list(metrics.values())[3:])


def test_standard_input_is_a_file_like_others(train, people, monkeypatch):
    options = ("--target", "answer", *without("answer"), "--test-size", 0)
    _, expected = train(people, *options)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(people.read_bytes())))
    _, model = train("-", *options)
    assert same_model(model, expected, pd.read_csv(people, float_precision="round_trip")[FEATURES])


@pytest.mark.parametrize("way", [("--cv", 3), ("--test-size", 0.3)])
def test_counts_are_measured_by_the_deviance_of_their_training(train, run, tmp_path, way):
    table = make_people()
    table["claims"] = np.random.default_rng(0).poisson(np.where(table["age"] > 50, 3.0, 1.0))
    table[[*FEATURES, "claims"]].to_csv(tmp_path / "t.csv", index=False)
    answer, model = train(tmp_path / "t.csv", "--target", "claims", "--task", "counts", *way)
    assert next(iter(answer["test"]["metrics"])) == "poisson_deviance"
    evaluation = run(
        *("evaluate", tmp_path / "out/model.hedgerow", tmp_path / "t.csv"),
        *("--target", "claims", "--json"),
    )
    metrics = json.loads(evaluation.out)["metrics"]
    read = pd.read_csv(tmp_path / "t.csv", float_precision="round_trip")
    expected = mean_poisson_deviance(read["claims"], model.predict(read[FEATURES]))
    assert metrics["poisson_deviance"] == pytest.approx(expected)


def test_the_positive_class_is_remembered(train, run, people, tmp_path):
    options = ("--target", "answer", *without("answer"), "--positive-class", "no")
    _, model = train(people, *options)
    assert model.positive_class_ == "no"
    file = tmp_path / "out" / "model.hedgerow"
    json_file, again = tmp_path / "m.json", tmp_path / "again.hedgerow"
    assert run("convert", file, json_file).code == run("convert", json_file, again).code == 0
    assert again.read_bytes() == file.read_bytes()
    answers = [
        json.loads(run("evaluate", file, people, "--target", "answer", *more, "--json").out)
        for more in ((), ("--positive-class", "no"), ("--positive-class", "yes"))
    ]
    assert answers[0] == answers[1] != answers[2]
    assert "precision" in answers[0]["metrics"]
    explained = [
        json.loads(run("explain", file, people, "--rows", "0", *more, "--json").out)["outputs"]
        for more in ((), ("--positive-class", "yes"))
    ]
    of_no, of_yes = explained[0]["no"], explained[1]["yes"]
    assert of_no["base_value"] == -of_yes["base_value"]
    of_no, of_yes = (one["rows"][0]["values"] for one in (of_no, of_yes))
    assert of_no == {name: -value for name, value in of_yes.items()}
    assert "(log-odds of no)" in run("explain", file, people).out
    assert json.loads(run("inspect", file, "--json").out)["positive_class"] == "no"


def test_a_report_follows_the_remembered_class(people, train, tmp_path):
    pytest.importorskip("altair")
    options = ("--target", "answer", *without("answer"), "--positive-class", "no")
    _, model = train(people, *options)
    table = pd.read_csv(people)
    hr.report(model, table[FEATURES], table["answer"], tmp_path / "r.html", n_bootstrap=0)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<title>Answer: no or yes</title>" in page
    assert "log-odds of no" in page


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_with_the_same_marker_share_a_warning(run, tmp_path, ending):
    numbers = np.random.default_rng(0).integers(0, 1000, (60, 5))
    table = pd.DataFrame(numbers.astype(str), columns=list("abcde"))
    table.iloc[::9] = "?"
    table["code"] = [f"0{j}" for j in range(60)]
    table["y"] = np.arange(60) % 2
    write = table.to_csv if ending == "csv" else table.to_parquet
    write(tmp_path / f"t.{ending}", index=False)
    answer = run(
        *("train", tmp_path / f"t.{ending}", "--target", "y", *FEW),
        *("--out", tmp_path / "out", "--no-report"),
    )
    (line,) = [line for line in answer.err.splitlines() if "?" in line]
    assert line == (
        "hedgerow: warning: 5 columns contain '?' among numbers and are read as categorical "
        "('a', 'b', 'c' and 2 more). If that means missing, use --na '?'."
    )
