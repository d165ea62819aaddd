"""Reports on models of any kind: pipelines, searches, and models of scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, mean_poisson_deviance, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import hedgerow as hr
from hedgerow.exceptions import ParameterError
from reporting.tables import number_of, table

pytest.importorskip("altair")
pytest.importorskip("jinja2")
pytest.importorskip("vl_convert")

from hedgerow._reporting.any_model import reported_model
from hedgerow._reporting.rendering import render
from hedgerow._reporting.summary import ReportOptions, summarise

X, NEW = table(300), table(100, seed=7)
NUMBER, NEW_NUMBER = number_of(X), number_of(NEW, seed=8)
TWO, NEW_TWO = (np.where(y > 2.0, "good", "bad") for y in (NUMBER, NEW_NUMBER))
NUMERIC = ["single", "count", "flag"]
OPTIONS = ReportOptions(title=None, target_name="credit", n_mistakes=2, n_bootstrap=0, seed=0)


def summary_of(model: Any, X: Any, y: Any) -> dict[str, Any]:
    return summarise(reported_model(model), X, y, OPTIONS)


def metrics_of(summary: dict[str, Any]) -> dict[str, float]:
    return {metric["name"]: metric["value"] for metric in summary["outcomes"][0]["metrics"]}


def names_of(summary: dict[str, Any]) -> list[str]:
    return [curve["name"] for curve in summary["effects"]["curves"]]


def test_a_pipeline_is_reported_by_the_users_own_columns() -> None:
    encoder = make_column_transformer(
        (StandardScaler(), NUMERIC), (OneHotEncoder(handle_unknown="ignore"), ["city"])
    )
    columns = [*NUMERIC, "city"]
    model = make_pipeline(encoder, LogisticRegression(max_iter=300)).fit(X[columns], TWO)
    summary = summary_of(model, NEW[columns], NEW_TWO)
    p = model.predict_proba(NEW[columns])
    assert metrics_of(summary)["log loss"] == pytest.approx(log_loss(NEW_TWO, p))
    assert metrics_of(summary)["ROC AUC"] == pytest.approx(roc_auc_score(NEW_TWO, p[:, 1]))
    assert sorted(names_of(summary)) == sorted(columns)
    assert {bar["name"] for bar in summary["shuffled"]["bars"]} == set(columns)
    assert summary["training"]["estimator"] == "ColumnTransformer → LogisticRegression"
    is_set = {row["name"] for row in summary["parameters"] if row["is_set"]}
    assert is_set == {
        "columntransformer__onehotencoder__handle_unknown",
        "logisticregression__max_iter",
    }
    assert "absent" in summary["shap"]
    assert "absent" in summary["what_if"]
    assert "LogisticRegression has no trees" in render(summary)


def test_a_scaled_support_vector_machine_gets_a_report(tmp_path: Path) -> None:
    model = make_pipeline(StandardScaler(), hr.SVC(probability=True)).fit(X[NUMERIC], TWO)
    path = tmp_path / "svm.html"
    hr.report(model, NEW[NUMERIC], pd.Series(NEW_TWO, name="credit"), path, n_bootstrap=0)
    page = path.read_text(encoding="utf-8")
    assert "<title>Credit: good or bad</title>" in page
    assert 'id="calibration-curve"' in page


def test_a_search_is_reported_by_its_best_estimator() -> None:
    pipeline = make_pipeline(StandardScaler(), hr.RandomForestClassifier(n_estimators=5))
    grid = {"randomforestclassifier__max_depth": [1, 4]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(X[NUMERIC], TWO)
    summary = summary_of(search, NEW[NUMERIC], NEW_TWO)
    best = search.best_estimator_
    expected = log_loss(NEW_TWO, best.predict_proba(NEW[NUMERIC]))
    assert metrics_of(summary)["log loss"] == pytest.approx(expected)
    assert summary["training"]["estimator"] == "StandardScaler → RandomForestClassifier"
    assert "pipeline[:-1].transform(X)" in summary["shap"]["absent"]
    search = GridSearchCV(pipeline[-1], {"max_depth": [1, 4]}, cv=2).fit(X[NUMERIC], TWO)
    assert "dots" in summary_of(search, NEW[NUMERIC], NEW_TWO)["shap"]


def test_the_training_of_a_pipelines_last_step_is_shown() -> None:
    boosting = hr.GradientBoostingRegressor(n_estimators=5, early_stopping=True)
    model = make_pipeline(StandardScaler(), boosting).fit(X[NUMERIC], NUMBER)
    training = summary_of(model, NEW[NUMERIC], NEW_NUMBER)["training"]
    assert training["n_rounds"] == model[-1].n_iter_
    assert training["curves"]


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(10, max_depth=4, random_state=0),
        HistGradientBoostingRegressor(max_iter=8),
    ],
    ids=lambda model: type(model).__name__,
)
def test_tree_models_of_scikit_learn_have_shap_values_and_a_form(model: Any) -> None:
    is_classifier = hasattr(model, "predict_proba")
    y, new_y = (TWO, NEW_TWO) if is_classifier else (NUMBER, NEW_NUMBER)
    model.fit(X[NUMERIC].astype(float), y)
    rows = NEW[NUMERIC].astype(float)
    summary = summary_of(model, rows, new_y)
    assert "dots" in summary["shap"]
    assert "absent" not in summary["what_if"]
    if is_classifier:
        expected = roc_auc_score(new_y, model.predict_proba(rows)[:, 1])
        assert metrics_of(summary)["ROC AUC"] == pytest.approx(expected)
    else:
        assert metrics_of(summary)["R²"] == pytest.approx(model.score(rows, new_y))
    assert summary["training"]["estimator"] == type(model).__name__
    assert {row["name"] for row in summary["parameters"]} == set(model.get_params())
    assert "bit for bit" not in render(summary)


def test_what_has_no_report_is_refused(tmp_path: Path) -> None:
    unfitted = make_pipeline(StandardScaler(), hr.LinearSVR())
    trained = GridSearchCV(hr.LinearSVC(), {"C": [1.0]})
    for error, model in (
        (NotFittedError, unfitted),
        (NotFittedError, trained),
        (ParameterError, hr.SVC),
        (ParameterError, "model"),
        (ParameterError, StandardScaler().fit(X[NUMERIC])),
        (ParameterError, IsolationForest(n_estimators=5).fit(X[NUMERIC])),
    ):
        with pytest.raises(error):
            hr.report(model, NEW[NUMERIC], NEW_NUMBER, tmp_path / "a.html")
    assert isinstance(unfitted, Pipeline)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "values",
    [
        pd.date_range("2020-01-01", periods=100).where(NEW["count"] > 1.0),
        pd.Series([[1, 2], None] * 50),
        np.array([1, "text"] * 50, object),
    ],
    ids=["dates", "lists", "mixed"],
)
def test_columns_that_a_pipeline_drops_may_hold_anything(values: Any) -> None:
    scaler = make_column_transformer((StandardScaler(), ["single"]))
    table_of_users = NEW[["single"]].fillna(0.0).assign(other=np.asarray(values, object))
    model = make_pipeline(scaler, LogisticRegression()).fit(table_of_users, NEW_TWO)
    summary = summary_of(model, table_of_users, NEW_TWO)
    single, other = summary["data"]["columns"]
    assert (single["kind"], other["kind"]) == ("numeric", "other")
    assert other["n_missing"] == pd.isna(values).sum()
    assert {bar["name"] for bar in summary["shuffled"]["bars"]} == {"single", "other"}
    assert names_of(summary) == ["single"]
    ours = hr.DecisionTreeClassifier().fit(table_of_users[["single"]], NEW_TWO)
    with pytest.raises(hr.DataError):
        summary_of(ours, table_of_users, NEW_TWO)


@pytest.mark.parametrize(
    "model",
    [hr.RandomForestClassifier(n_estimators=3, random_state=0), RandomForestClassifier(3)],
    ids=["ours", "scikit-learn"],
)
def test_classifiers_of_several_targets_get_a_report(tmp_path: Path, model: Any) -> None:
    y = np.column_stack([TWO == "good", NUMBER > 0.0])
    model.fit(X[NUMERIC].fillna(0.0), y)
    path = tmp_path / "report.html"
    hr.report(model, X[NUMERIC].fillna(0.0), y, path, n_bootstrap=0)
    assert "Classification of 2 targets" in path.read_text()


def test_columns_in_another_order_keep_their_importances() -> None:
    model = hr.GradientBoostingRegressor(n_estimators=10).fit(X, NUMBER)
    one, other = (summary_of(model, rows, NEW_NUMBER) for rows in (NEW, NEW[NEW.columns[::-1]]))
    by_name = [
        {bar["name"]: bar["value"] for bar in summary["shuffled"]["bars"]}
        for summary in (one, other)
    ]
    assert by_name[0] == pytest.approx(by_name[1])
    curves = [
        {curve["name"]: [point["y"] for point in curve["points"]] for curve in effects["curves"]}
        for effects in (one["effects"], other["effects"])
    ]
    assert curves[0] == curves[1]


def test_a_cross_validation_is_reported_by_its_out_of_fold_predictions() -> None:
    model = hr.GradientBoostingClassifier(n_estimators=5).fit(X, TWO)
    result = hr.cross_validate(model, X, TWO, cv=3)
    summary = summarise(model, X, TWO, OPTIONS, folds=result)
    metrics = metrics_of(summary)
    assert metrics["log loss"] == pytest.approx(log_loss(TWO, result.oof_prediction))
    assert metrics["ROC AUC"] == pytest.approx(roc_auc_score(TWO, result.oof_prediction[:, 1]))
    assert summary["verdict"].startswith("In 3-fold cross-validation on 300 rows, ")
    assert "absent" in summary["shuffled"]
    assert summary["mistakes"]["no_waterfall"] is not None
    assert "out-of-fold predictions" in render(summary)


def test_out_of_fold_predictions_add_the_offset_of_each_row() -> None:
    offset = np.linspace(-1.0, 1.0, len(X))
    counts = np.random.RandomState(0).poisson(np.exp(offset) + X["flag"])
    model = hr.GradientBoostingRegressor(loss="poisson", n_estimators=5)
    result = hr.cross_validate(model, X, counts, cv=3, offset=offset)
    model.fit(X, counts, offset=offset)
    summary = summarise(model, X, counts, OPTIONS, offset=offset, folds=result)
    metrics = metrics_of(summary)
    expected = mean_poisson_deviance(counts, result.oof_prediction)
    assert metrics["poisson deviance"] == pytest.approx(expected)
    assert metrics["RMSE"] == pytest.approx(np.sqrt(np.mean((counts - result.oof_prediction) ** 2)))


def test_a_cross_validation_of_other_rows_is_refused(tmp_path: Path) -> None:
    model = hr.DecisionTreeClassifier(max_depth=2).fit(X, TWO)
    result = hr.cross_validate(model, X, TWO, cv=3)
    with pytest.raises(ParameterError, match="each of the 100 rows of X must be in one"):
        hr.report(model, NEW, NEW_TWO, tmp_path / "a.html", cross_validation=result)
    with pytest.raises(ParameterError, match=r"hedgerow\.cross_validate returns"):
        hr.report(model, X, TWO, tmp_path / "a.html", cross_validation=3)
