"""The summary of a report: its figures are scikit-learn's, and it is plain JSON of any model."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn import metrics as sk

import hedgerow as hr
from hedgerow._reporting.curves import histogram_bars
from hedgerow._reporting.summary import ReportOptions, summarise
from hedgerow.exceptions import DataError, ParameterError
from reporting.tables import number_of, table

X, NEW = table(), table(150, seed=7)
NUMBER, NEW_NUMBER = number_of(X), number_of(NEW, seed=8)
TWO, NEW_TWO = (np.where(y > 2.0, "yes", "no") for y in (NUMBER, NEW_NUMBER))
MANY, NEW_MANY = (np.digitize(y, [1.0, 2.5]) for y in (NUMBER, NEW_NUMBER))
NUMBERS = ["size", "single", "count"]
FILLED, NEW_FILLED = (frame[NUMBERS].fillna(0.0).astype(float) for frame in (X, NEW))
FEW = {"n_estimators": 10, "max_leaves": 6}
OPTIONS = ReportOptions(title="t", target_name="y", n_mistakes=3, n_bootstrap=20, seed=0)


def summary_of(model: Any, rows: Any, y: Any, **options: Any) -> dict[str, Any]:
    """Return a summary that has been through JSON, which NaN and NumPy's numbers would not."""
    summary = summarise(model, rows, y, options.pop("wishes", OPTIONS), **options)
    return json.loads(json.dumps(summary, allow_nan=False))


def figures(summary: dict[str, Any], k: int = 0) -> dict[str, float]:
    """Return the metrics by name."""
    return {metric["name"]: metric["value"] for metric in summary["outcomes"][k]["metrics"]}


@pytest.mark.parametrize("weighted", [False, True])
def test_metrics_of_two_classes_are_scikit_learns(weighted: bool) -> None:
    model = hr.GradientBoostingClassifier(**FEW).fit(X, TWO)
    w = np.random.RandomState(0).uniform(0.5, 2.0, len(NEW)) if weighted else None
    actual = figures(summary_of(model, NEW, NEW_TWO, sample_weight=w))
    p, predicted = model.predict_proba(NEW)[:, 1], model.predict(NEW)
    expected = {
        "ROC AUC": sk.roc_auc_score(NEW_TWO == "yes", p, sample_weight=w),
        "average precision": sk.average_precision_score(NEW_TWO == "yes", p, sample_weight=w),
        "log loss": sk.log_loss(NEW_TWO == "yes", p, sample_weight=w),
        "Brier score": sk.brier_score_loss(NEW_TWO == "yes", p, sample_weight=w),
        "accuracy": sk.accuracy_score(NEW_TWO, predicted, sample_weight=w),
        "balanced accuracy": sk.balanced_accuracy_score(NEW_TWO, predicted, sample_weight=w),
    }
    recalls = sk.recall_score(NEW_TWO, predicted, average=None, sample_weight=w)
    expected["G-mean"] = np.sqrt(recalls[0] * recalls[1])
    assert actual == pytest.approx(expected, rel=1e-12)


def test_metrics_of_many_classes_are_scikit_learns() -> None:
    model = hr.GradientBoostingClassifier(**FEW).fit(X, MANY)
    summary = summary_of(model, NEW, NEW_MANY)
    actual, p = figures(summary), model.predict_proba(NEW)
    assert actual["ROC AUC"] == pytest.approx(sk.roc_auc_score(NEW_MANY, p, multi_class="ovr"))
    assert actual["log loss"] == pytest.approx(sk.log_loss(NEW_MANY, p))
    assert actual["Brier score"] == pytest.approx(sk.brier_score_loss(NEW_MANY, p))
    precision, recall, f1, rows = sk.precision_recall_fscore_support(NEW_MANY, model.predict(NEW))
    by_class = summary["outcomes"][0]["by_class"]
    assert [entry["precision"] for entry in by_class] == pytest.approx(precision.tolist())
    assert [entry["recall"] for entry in by_class] == pytest.approx(recall.tolist())
    assert [entry["f1"] for entry in by_class] == pytest.approx(f1.tolist())
    assert [entry["rows"] for entry in by_class] == rows.tolist()
    confusion = sk.confusion_matrix(NEW_MANY, model.predict(NEW))
    assert summary["outcomes"][0]["curves"]["confusion"] == confusion.tolist()


@pytest.mark.parametrize("weighted", [False, True])
def test_metrics_of_numbers_are_scikit_learns(weighted: bool) -> None:
    model = hr.GradientBoostingRegressor(**FEW).fit(X, NUMBER)
    w = np.random.RandomState(0).uniform(0.5, 2.0, len(NEW)) if weighted else None
    actual = figures(summary_of(model, NEW, NEW_NUMBER, sample_weight=w))
    predicted = model.predict(NEW)
    expected = {
        "R²": sk.r2_score(NEW_NUMBER, predicted, sample_weight=w),
        "RMSE": sk.root_mean_squared_error(NEW_NUMBER, predicted, sample_weight=w),
        "MAE": sk.mean_absolute_error(NEW_NUMBER, predicted, sample_weight=w),
    }
    assert actual == pytest.approx(expected, rel=1e-12)


def test_metrics_of_quantiles() -> None:
    levels = [0.1, 0.5, 0.9]
    model = hr.GradientBoostingRegressor(loss="quantile", quantile=levels, **FEW).fit(X, NUMBER)
    actual = figures(summary_of(model, NEW, NEW_NUMBER))
    predicted = model.predict(NEW)
    pinball = [sk.mean_pinball_loss(NEW_NUMBER, predicted[:, k], alpha=levels[k]) for k in range(3)]
    assert actual["pinball loss"] == pytest.approx(np.mean(pinball))
    within = (predicted[:, 0] <= NEW_NUMBER) & (predicted[:, 2] >= NEW_NUMBER)
    assert actual["coverage of quantiles 0.1 to 0.9"] == pytest.approx(within.mean())


def test_metrics_of_rankings_and_times_are_the_models_own_scores() -> None:
    qid, new_qid = np.arange(len(X)) // 20, np.arange(len(NEW)) // 15
    ranker = hr.GradientBoostingRanker(**FEW).fit(X, MANY, qid=qid)
    actual = figures(summary_of(ranker, NEW, NEW_MANY, qid=new_qid))
    assert actual["NDCG"] == pytest.approx(ranker.score(NEW, NEW_MANY, qid=new_qid))
    assert actual["NDCG@3"] == pytest.approx(ranker.score(NEW, NEW_MANY, qid=new_qid, k=3))
    times, new_times = np.exp(NUMBER / 4.0), np.exp(NEW_NUMBER / 4.0)
    for loss in ("cox", "aft"):
        model = hr.GradientBoostingSurvival(loss=loss, **FEW).fit(X, times)
        summary = summary_of(model, NEW, new_times)
        assert figures(summary)["concordance"] == pytest.approx(model.score(NEW, new_times))
        assert summary["outcomes"][0]["curves"]["survival"]


def test_intervals_are_those_of_drawn_rows() -> None:
    model = hr.GradientBoostingClassifier(**FEW).fit(X, TWO)
    summary = summary_of(model, NEW, NEW_TWO)
    p, draw, values = model.predict_proba(NEW)[:, 1], np.random.RandomState(0), []
    for _ in range(20):
        rows = draw.randint(0, len(NEW), len(NEW))
        values.append(sk.roc_auc_score(NEW_TWO[rows] == "yes", p[rows]))
    auc = summary["outcomes"][0]["metrics"][0]
    assert [auc["low"], auc["high"]] == pytest.approx(np.quantile(values, [0.025, 0.975]).tolist())
    assert auc["low"] <= auc["value"] <= auc["high"]


def test_the_same_call_gives_the_same_summary() -> None:
    model = hr.GradientBoostingClassifier(**FEW).fit(X, TWO)
    assert summary_of(model, NEW, NEW_TWO) == summary_of(model, NEW, NEW_TWO)


def test_columns_are_summed_up() -> None:
    model = hr.GradientBoostingClassifier(**FEW).fit(X, TWO)
    columns = {c["name"]: c for c in summary_of(model, NEW, NEW_TWO)["data"]["columns"]}
    assert columns["size"]["missing"] == pytest.approx(NEW["size"].isna().mean())
    assert columns["size"]["median"] == pytest.approx(NEW["size"].median())
    assert columns["count"]["kind"] == "integer"
    assert columns["flag"]["kind"] == "boolean"
    assert columns["color"]["n_distinct"] == 4
    most = NEW["color"].value_counts().iloc[0] / NEW["color"].notna().sum()
    assert columns["color"]["labels"][0]["share"] == pytest.approx(most)


def test_the_most_wrong_rows_are_the_most_wrong() -> None:
    model = hr.GradientBoostingRegressor(**FEW).fit(X, NUMBER)
    over, under = summary_of(model, NEW, NEW_NUMBER)["mistakes"]["kinds"]
    errors = model.predict(NEW) - NEW_NUMBER
    assert [entry["row"] for entry in over["rows"]] == np.argsort(-errors)[:3].tolist()
    assert [entry["row"] for entry in under["rows"]] == np.argsort(errors)[:3].tolist()
    assert over["n_rows"] == (errors > 0).sum()
    for entry in over["rows"] + under["rows"]:
        assert entry["predicted"] == pytest.approx(model.predict(NEW)[entry["row"]])
        assert entry["error"] == pytest.approx(errors[entry["row"]])


def test_mistakes_of_two_classes_are_of_both_kinds() -> None:
    model = hr.GradientBoostingClassifier(**FEW).fit(X, TWO)
    positives, negatives = summary_of(model, NEW, NEW_TWO)["mistakes"]["kinds"]
    p, predicted = model.predict_proba(NEW)[:, 1], model.predict(NEW)
    for kind, wrong, order in (
        (positives, (predicted == "yes") & (NEW_TWO == "no"), -p),
        (negatives, (predicted == "no") & (NEW_TWO == "yes"), p),
    ):
        expected = sorted(np.flatnonzero(wrong), key=lambda row: order[row])[:3]
        assert [entry["row"] for entry in kind["rows"]] == expected
        assert kind["n_rows"] == wrong.sum()
    assert positives["title"] == "False positives"
    assert positives["meaning"].startswith("Predicted yes, actually no")


def test_rows_are_called_by_the_index_of_a_frame() -> None:
    model = hr.GradientBoostingRegressor(**FEW).fit(X, NUMBER)
    index = pd.Index([f"c{i}" for i in range(len(NEW))], name="customer")
    summary = summary_of(model, NEW.set_index(index), NEW_NUMBER)
    mistakes = summary["mistakes"]
    assert mistakes["id_name"] == "customer"
    for entry in mistakes["kinds"][0]["rows"]:
        assert entry["id"] == f"c{entry['row']}"
        assert len(entry["values"]) == NEW.shape[1]
    assert all(row["id"] == f"c{row['row']}" for row in summary["what_if"]["rows"])
    counted = summary_of(model, NEW, NEW_NUMBER)["mistakes"]
    assert counted["id_name"] == "row"
    assert counted["kinds"][0]["rows"][0]["id"] == str(counted["kinds"][0]["rows"][0]["row"])


@pytest.mark.parametrize("quantile", [None, [0.1, 0.5, 0.9]])
def test_a_conformal_model_is_judged_by_its_calibrated_intervals(quantile: Any) -> None:
    loss = {} if quantile is None else {"loss": "quantile", "quantile": quantile}
    model = hr.GradientBoostingRegressor(calibration="conformal", **loss, **FEW).fit(X, NUMBER)
    coverage = 0.9 if quantile is None else 0.8
    summary = summary_of(model, NEW, NEW_NUMBER)
    ends = model.predict_interval(NEW, coverage)
    within = (ends[:, 0] <= NEW_NUMBER) & (ends[:, 1] >= NEW_NUMBER)
    actual, nominal = figures(summary), f"{100 * coverage:g}%"
    assert actual[f"coverage of the {nominal} intervals"] == pytest.approx(within.mean())
    width = (ends[:, 1] - ends[:, 0]).mean()
    assert actual[f"mean width of the {nominal} intervals"] == pytest.approx(width)
    assert f"{100 * within.mean():.1f}%" in summary["verdict"]
    points = summary["outcomes"][0]["curves"]["intervals"]
    assert {point["x"]: point["y"] for point in points}[coverage] == pytest.approx(within.mean())
    if quantile is not None:
        rows = [entry for kind in summary["mistakes"]["kinds"] for entry in kind["rows"]]
        assert all(entry["interval"] == ends[entry["row"]].tolist() for entry in rows)


def test_a_waterfall_leads_from_the_average_to_the_score() -> None:
    model = hr.GradientBoostingClassifier(**FEW).fit(X, TWO)
    entry = summary_of(model, NEW, NEW_TWO)["mistakes"]["kinds"][0]["rows"][0]
    score = model.decision_function(NEW)[entry["row"]]
    bars = entry["waterfall"]["bars"]
    assert entry["waterfall"]["score"] == pytest.approx(score)
    assert bars[0]["from"] == pytest.approx(entry["waterfall"]["base"])
    assert [bar["to"] for bar in bars[:-1]] == pytest.approx([bar["from"] for bar in bars[1:]])


def test_what_was_set_and_what_was_chosen_are_told() -> None:
    model = hr.GradientBoostingClassifier(max_depth=4, budget="quick").fit(X, TWO)
    summary = summary_of(model, NEW, NEW_TWO)
    is_set = [entry["name"] for entry in summary["parameters"] if entry["is_set"]]
    assert sorted(is_set) == ["budget", "max_depth"]
    chosen = summary["training"]["choice"]
    assert int(chosen["parameters"]["n_estimators"]) == model.n_iter_
    assert len(chosen["tried"]) == len(model.auto_.tried)


def test_the_digest_is_that_of_the_saved_file(tmp_path: Any) -> None:
    import hashlib

    model = hr.GradientBoostingClassifier(**FEW).fit(X, TWO)
    model.save(tmp_path / "model.hedgerow")
    expected = hashlib.sha256((tmp_path / "model.hedgerow").read_bytes()).hexdigest()
    assert summary_of(model, NEW, NEW_TWO)["reproducibility"]["digest"] == expected


CLASSIFIERS = [
    hr.GradientBoostingClassifier(loss="hinge", **FEW),
    hr.RandomForestClassifier(n_estimators=5),
    hr.RandomForestClassifier(n_estimators=5, feature_combinations=2),
    hr.ExtraTreesClassifier(n_estimators=5),
    hr.BaggingClassifier(n_estimators=3),
    hr.BaggingClassifier(hr.KNeighborsClassifier(), n_estimators=2),
    hr.DecisionTreeClassifier(max_depth=3),
    hr.AdaBoostClassifier(n_estimators=4),
    hr.StagewiseClassifier(n_estimators=3),
    hr.KNeighborsClassifier(),
    hr.RadiusNeighborsClassifier(radius=3.0, outlier_label="most_frequent"),
    hr.SVC(),
    hr.NuSVC(nu=0.3),
    hr.LinearSVC(),
]
REGRESSORS = [
    hr.GradientBoostingRegressor(linear_leaves=True, **FEW),
    hr.RandomForestRegressor(n_estimators=5),
    hr.ExtraTreesRegressor(n_estimators=5),
    hr.BaggingRegressor(n_estimators=3),
    hr.DecisionTreeRegressor(max_depth=3),
    hr.AdaBoostRegressor(n_estimators=4),
    hr.StagewiseRegressor(n_estimators=3),
    hr.KNeighborsRegressor(),
    hr.RadiusNeighborsRegressor(radius=4.0),
    hr.SVR(),
    hr.NuSVR(),
    hr.LinearSVR(),
]


def _name(model: Any) -> str:
    return type(model).__name__


@pytest.mark.parametrize("model", CLASSIFIERS, ids=_name)
def test_every_classifier_has_a_summary(model: Any) -> None:
    model.fit(FILLED, TWO)
    summary = summary_of(model, NEW_FILLED, NEW_TWO)
    expected = sk.accuracy_score(NEW_TWO, model.predict(NEW_FILLED))
    assert figures(summary)["accuracy"] == pytest.approx(expected)
    _assert_reasons_are_sentences(summary)


@pytest.mark.parametrize("model", REGRESSORS, ids=_name)
def test_every_regressor_has_a_summary(model: Any) -> None:
    model.fit(FILLED, NUMBER)
    summary = summary_of(model, NEW_FILLED, NEW_NUMBER)
    expected = sk.r2_score(NEW_NUMBER, model.predict(NEW_FILLED))
    assert figures(summary)["R²"] == pytest.approx(expected)
    _assert_reasons_are_sentences(summary)


def _assert_reasons_are_sentences(summary: dict[str, Any]) -> None:
    for part in summary.values():
        if isinstance(part, dict) and "absent" in part:
            assert part["absent"].endswith("."), part["absent"]


def test_a_one_class_machine_is_judged_by_inside_and_outside() -> None:
    model = hr.OneClassSVM(nu=0.2).fit(FILLED)
    inside = np.where(np.abs(NEW_FILLED["size"]) < 1.0, 1, -1)
    actual = figures(summary_of(model, NEW_FILLED, inside))
    expected = sk.roc_auc_score(inside, model.decision_function(NEW_FILLED))
    assert actual["ROC AUC"] == pytest.approx(expected)


def test_several_targets_are_judged_one_by_one() -> None:
    y, new_y = (np.column_stack([a, a**2]) for a in (NUMBER, NEW_NUMBER))
    model = hr.GradientBoostingRegressor(**FEW).fit(X, y)
    summary = summary_of(model, NEW, new_y)
    for k in range(2):
        expected = sk.r2_score(new_y[:, k], model.predict(NEW)[:, k])
        assert figures(summary, k)["R²"] == pytest.approx(expected)
    labels, new_labels = (np.column_stack([a > 2.0, a > 3.0]) for a in (NUMBER, NEW_NUMBER))
    boosted, forest = (
        hr.GradientBoostingClassifier(**FEW),
        hr.RandomForestClassifier(n_estimators=5),
    )
    for classifier in (boosted, forest):
        summary = summary_of(classifier.fit(X, labels), NEW, new_labels)
        expected = sk.accuracy_score(new_labels[:, 1], classifier.predict(NEW)[:, 1])
        assert figures(summary, 1)["accuracy"] == pytest.approx(expected)


def test_a_sparse_table_has_a_summary() -> None:
    rows = scipy.sparse.random(200, 30, 0.2, "csr", random_state=0)
    y = rows.toarray()[:, 0] + rows.toarray()[:, 1]
    model = hr.GradientBoostingRegressor(**FEW).fit(rows, y)
    assert summary_of(model, rows, y)["data"]["n_columns"] == 30


def test_one_class_alone_in_the_rows_leaves_what_is_not_defined_open() -> None:
    model = hr.GradientBoostingClassifier(**FEW).fit(X, TWO)
    only = NEW_TWO == "yes"
    summary = summary_of(model, NEW[only], NEW_TWO[only])
    assert figures(summary)["ROC AUC"] is None
    assert "AUC" not in summary["verdict"]
    assert summary["threshold"] is None


def test_a_report_needs_something_to_judge() -> None:
    model = hr.GradientBoostingClassifier(**FEW).fit(X, TWO)
    with pytest.raises(DataError, match="y is None"):
        summarise(model, NEW, None, OPTIONS)
    with pytest.raises(DataError, match="X has no column 'size'"):
        summarise(model, NEW.drop(columns="size"), NEW_TWO, OPTIONS)
    with pytest.raises(DataError, match="maybe"):
        summarise(model, NEW, np.where(NEW_TWO == "yes", "maybe", "no"), OPTIONS)
    with pytest.raises(DataError, match="y"):
        summarise(model, NEW, NEW_TWO[:-1], OPTIONS)
    with pytest.raises(ParameterError, match="NearestNeighbors is not supported"):
        summarise(hr.NearestNeighbors().fit(FILLED), NEW_FILLED, NEW_NUMBER, OPTIONS)
    with pytest.raises(ParameterError, match="qid"):
        summarise(model, NEW, NEW_TWO, OPTIONS, qid=np.zeros(len(NEW)))


def test_importances_by_shuffling_and_effects_are_those_of_explain() -> None:
    model = hr.GradientBoostingClassifier(**FEW).fit(X, TWO)
    summary = summary_of(model, NEW, NEW_TWO)
    shuffled = hr.explain.permutation_importance(
        model, NEW, NEW_TWO, scoring="log_loss", n_repeats=5
    )
    bars = summary["shuffled"]["bars"]
    assert [bar["value"] for bar in bars] == pytest.approx(np.sort(shuffled.mean)[::-1].tolist())
    assert summary["shuffled"]["what"] == "increase in log loss"
    curve = summary["effects"]["curves"][0]
    assert curve["name"] == X.columns[shuffled.mean.argmax()]
    expected = hr.explain.partial_dependence(model, NEW, curve["name"], grid_resolution=40)
    known = ~np.isnan(expected.grid[0]) if not curve["is_category"] else slice(None)
    actual = [point["y"] for point in curve["points"]]
    assert sorted(actual) == pytest.approx(sorted(expected.average[known, 0].tolist()))


def test_partial_dependence_has_the_distribution_of_the_feature() -> None:
    model = hr.GradientBoostingRegressor(**FEW).fit(X, NUMBER)
    curves = {c["name"]: c for c in summary_of(model, NEW, NEW_NUMBER)["effects"]["curves"]}
    color = {bar["x"]: bar["rows"] for bar in curves["color"]["bars"]}
    counts = NEW["color"].fillna("missing").value_counts().to_dict()
    assert color == {label: n for label, n in counts.items() if label in color}
    assert [p["y"] for p in curves["color"]["points"]] == sorted(
        p["y"] for p in curves["color"]["points"]
    )
    grid = [point["x"] for point in curves["size"]["points"]]
    inside = NEW["size"].between(min(grid), max(grid)).sum()
    assert sum(bar["rows"] for bar in curves["size"]["bars"]) == inside
    assert curves["city"]["n_left_out"] > 0
    assert len(curves["city"]["bars"]) == 12


def test_the_shap_summary_is_of_the_largest_values() -> None:
    model = hr.GradientBoostingClassifier(**FEW).fit(X, TWO)
    shap = summary_of(model, NEW, NEW_TWO)["shap"]
    values = hr.explain.shap_values(model, NEW).values
    sizes = np.abs(values).mean(axis=0)
    assert shap["features"] == NEW.columns[np.argsort(-sizes, kind="stable")].tolist()
    assert shap["sizes"] == pytest.approx(np.sort(sizes)[::-1].tolist())
    assert len(shap["dots"]) == values.size
    several = hr.GradientBoostingClassifier(**FEW).fit(X, MANY)
    bars = summary_of(several, NEW, NEW_MANY)["shap"]["bars"]
    assert {bar["output"] for bar in bars} == {"0", "1", "2"}


def test_columns_of_a_model_without_importances_are_ordered_by_shuffling() -> None:
    model = hr.KNeighborsRegressor().fit(FILLED, NUMBER)
    summary = summary_of(model, NEW_FILLED, NEW_NUMBER)
    assert "absent" in summary["importances"]
    best = summary["shuffled"]["order"][0]
    assert summary["effects"]["curves"][0]["name"] == NUMBERS[best]


def test_weights_that_leave_one_row_leave_intervals_open() -> None:
    model = hr.GradientBoostingRegressor(**FEW).fit(X, NUMBER)
    weights = np.zeros(len(NEW))
    weights[5] = 1.0
    rmse = summary_of(model, NEW, NEW_NUMBER, sample_weight=weights)["outcomes"][0]["metrics"][1]
    assert rmse["value"] == pytest.approx(abs(NEW_NUMBER[5] - model.predict(NEW)[5]))
    assert rmse["low"] is None


def test_targets_are_named_by_the_columns_of_a_table() -> None:
    y = pd.DataFrame({"north": NEW_NUMBER, "south": -NEW_NUMBER})
    summary = summary_of(hr.GradientBoostingRegressor(**FEW).fit(NEW, y), NEW, y)
    assert [outcome["name"] for outcome in summary["outcomes"]] == ["north", "south"]
    assert "For the first, north" in summary["verdict"]
    assert summary["mistakes"]["target"] == "north"
    assert summary["what_if"]["targets"] == ["north", "south"]
    assert summary["trees"]["output_names"] == ["north", "south"]
    points = summary["effects"]["curves"][0]["points"]
    assert {point["output"] for point in points} == {"north", "south"}


def test_scores_without_a_class_are_called_what_they_are() -> None:
    ranker = hr.GradientBoostingRanker(**FEW).fit(X, MANY, qid=np.arange(len(X)) // 20)
    summary = summary_of(ranker, NEW, NEW_MANY, qid=np.arange(len(NEW)) // 15)
    assert summary["effects"]["what"] == "score"
    survival = hr.GradientBoostingSurvival(loss="cox", **FEW).fit(X, np.exp(NUMBER / 4.0))
    summary = summary_of(survival, NEW, np.exp(NEW_NUMBER / 4.0))
    assert summary["effects"]["what"] == "log of the relative risk"
    assert summary["shuffled"]["what"] == "decrease in concordance"


def test_rows_that_a_model_leaves_open_are_refused() -> None:
    model = hr.RadiusNeighborsRegressor(radius=0.1).fit(FILLED, NUMBER)
    with (
        pytest.warns(UserWarning, match="no neighbors"),
        pytest.raises(DataError, match="predicts NaN for 150 rows"),
    ):
        summarise(model, NEW_FILLED + 100.0, NEW_NUMBER, OPTIONS)


def test_a_mistake_without_a_waterfall_tells_the_row() -> None:
    model = hr.KNeighborsRegressor().fit(FILLED, NUMBER)
    entry = summary_of(model, NEW_FILLED, NEW_NUMBER)["mistakes"]["kinds"][0]["rows"][0]
    row = NEW_FILLED.iloc[entry["row"]]
    assert entry["waterfall"] is None
    actual = {one["name"]: one["value"].replace("−", "-") for one in entry["values"]}
    assert actual == {name: f"{row[name]:.6g}" for name in NUMBERS}


def test_one_row_has_a_report_without_a_warning() -> None:
    model = hr.GradientBoostingRegressor(**FEW).fit(X, NUMBER)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        summary = summary_of(model, NEW[:1], NEW_NUMBER[:1])
    assert summary["verdict"].startswith("On 1 row, the predictions of y have")


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e300, 1.7e308])
def test_a_histogram_counts_every_number(size: float) -> None:
    values = size * np.linspace(-1.0, 1.0, 101)
    with np.errstate(all="raise"):
        bars = histogram_bars(values)
    assert sum(bar["rows"] for bar in bars) == 101
    assert all(bar["low"] < bar["high"] for bar in bars)


def test_bars_stand_about_a_few_whole_numbers() -> None:
    bars = histogram_bars(np.array([0.0, 1.0, 1.0, 3.0]))
    assert [(bar["low"], bar["rows"]) for bar in bars] == [(-0.5, 1), (0.5, 2), (1.5, 0), (2.5, 1)]


def test_what_a_machine_does_not_have_is_said_in_plain_words() -> None:
    model = hr.OneClassSVM(nu=0.2).fit(FILLED)
    inside = np.where(np.abs(NEW_FILLED["size"]) < 1.0, 1, -1)
    summary = summary_of(model, NEW_FILLED, inside)
    assert summary["shap"]["absent"] == (
        "SHAP values are computed for tree models, and OneClassSVM is not one."
    )
    assert summary["mistakes"]["no_waterfall"] == summary["shap"]["absent"]
    assert summary["training"]["n_rounds"] is None  # n_iter_ counts steps of the solver


def test_integer_names_are_names_in_every_section() -> None:
    """Column 13 stands in place 1: neither number must be taken for the other."""
    draw = np.random.RandomState(0)
    frame = pd.DataFrame({7: draw.normal(size=200), 13: draw.normal(size=200), 1: np.arange(200.0)})
    y = 3.0 * frame[13].to_numpy()
    model = hr.GradientBoostingRegressor(**FEW).fit(frame, y)
    summary = summary_of(model, frame, y)
    first = summary["effects"]["curves"][0]
    assert (first["name"], summary["shuffled"]["bars"][0]["name"]) == ("13", "13")
    assert np.ptp([point["y"] for point in first["points"]]) > 1.0
    assert max(point["x"] for point in first["points"]) < 10.0  # not column 1, which counts rows
    assert summary["shap"]["features"][0] == "13"


@pytest.mark.parametrize(
    "model",
    [
        hr.GradientBoostingClassifier(**FEW),
        hr.RandomForestClassifier(n_estimators=5),
        hr.AdaBoostClassifier(n_estimators=5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_explanations_follow_the_positive_class(model: Any) -> None:
    model.fit(X, TWO)
    yes, no = (
        summary_of(model, NEW, NEW_TWO, wishes=replace(OPTIONS, positive_class=label))
        for label in ("yes", "no")
    )
    assert yes["shap"]["what"].endswith(" of yes")
    assert no["shap"]["what"].endswith(" of no")
    assert no["shap"]["features"] == yes["shap"]["features"]
    dots = [[dot["x"] for dot in one["shap"]["dots"]] for one in (yes, no)]
    assert dots[1] == [-x for x in dots[0]]
    effects = [
        {
            curve["name"]: {p["x"]: p["y"] for p in curve["points"]}
            for curve in one["effects"]["curves"]
        }
        for one in (yes, no)
    ]
    total = 1.0 if "probability" in yes["effects"]["what"] else 0.0
    for name, curve in effects[0].items():
        assert effects[1][name] == pytest.approx({x: total - y for x, y in curve.items()})
    positive, negative = no["mistakes"]["kinds"][0], yes["mistakes"]["kinds"][1]
    assert [row["row"] for row in positive["rows"]] == [row["row"] for row in negative["rows"]]
    for one, other in zip(positive["rows"], negative["rows"], strict=True):
        adds = [[bar["adds"] for bar in entry["waterfall"]["bars"]] for entry in (one, other)]
        assert adds[0] == [-value for value in adds[1]]
        assert one["waterfall"]["what"].endswith(" of no")


def test_with_many_classes_the_positive_one_is_explained() -> None:
    model = hr.GradientBoostingClassifier(**FEW).fit(X, MANY)
    summary = summary_of(model, NEW, NEW_MANY, wishes=replace(OPTIONS, positive_class=2))
    explained = hr.explain.shap_values(model, NEW)
    sizes = np.abs(explained.values[..., 2]).mean(axis=0)
    names = [explained.feature_names[j] for j in np.argsort(-sizes, kind="stable")]
    assert summary["shap"]["features"] == names
    assert summary["shap"]["what"].endswith(" of 2")
    outputs = [point["output"] for point in summary["effects"]["curves"][0]["points"]]
    assert list(dict.fromkeys(outputs)) == ["2", "0", "1"]


def test_missing_numbers_are_a_level_of_their_own() -> None:
    model = hr.GradientBoostingRegressor(**FEW).fit(X, NUMBER)
    curves = summary_of(model, NEW, NEW_NUMBER)["effects"]["curves"]
    by_name = {curve["name"]: curve for curve in curves}
    gaps = NEW.assign(size=np.nan)
    (level,) = by_name["size"]["missing"]
    assert level["y"] == pytest.approx(model.predict(gaps).mean())
    assert by_name["size"]["n_missing"] == NEW["size"].isna().sum()
    assert by_name["count"]["missing"] == []
    curves = summary_of(model, gaps, NEW_NUMBER)["effects"]["curves"]
    assert {curve["name"] for curve in curves} == {*NEW.columns} - {"size"}


def test_a_regression_is_explained_in_units_of_its_target() -> None:
    model = hr.GradientBoostingRegressor(**FEW).fit(X, NUMBER)
    options = replace(OPTIONS, target_name="price")
    assert summary_of(model, NEW, NEW_NUMBER, wishes=options)["shap"]["units"] == "units of price"
