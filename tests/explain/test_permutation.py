"""Permutation importance: scikit-learn's numbers, and those of predicting shuffled tables."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.compose import make_column_transformer
from sklearn.inspection import permutation_importance as of_sklearn
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, make_scorer, mean_absolute_error
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import hedgerow as hr
from hedgerow.explain import permutation_importance


def table(n_rows: int = 90, seed: int = 0) -> pd.DataFrame:
    draw = np.random.RandomState(seed)
    frame = pd.DataFrame(
        {
            "a": draw.normal(size=n_rows),
            "b": draw.randint(0, 5, n_rows),
            "c": draw.choice(["u", "v", "w"], n_rows),
            "unused": np.ones(n_rows),
        }
    )
    frame.loc[frame.index % 7 == 0, "a"] = np.nan
    return frame.set_axis([f"row {i}" for i in range(n_rows)])


X = table()
CODE = X["c"].map({"u": 0.0, "v": 1.0, "w": 2.0}).to_numpy()
NUMBER = np.nan_to_num(X["a"].to_numpy()) * CODE + X["b"].to_numpy()
TWO = np.where(NUMBER > 2.0, "yes", "no")
THREE = np.digitize(NUMBER, [1.0, 3.0])
DENSE = np.nan_to_num(X[["a", "b", "unused"]].to_numpy())
BOOSTED = {"n_estimators": 8, "max_leaves": 6, "min_samples_leaf": 5}
WEIGHTS = np.random.RandomState(2).uniform(0.5, 2.0, len(X))

MODELS = {
    "boosted numbers": (hr.GradientBoostingRegressor(**BOOSTED), NUMBER),
    "boosted classes": (hr.GradientBoostingClassifier(**BOOSTED), TWO),
    "calibrated": (hr.GradientBoostingClassifier(calibration="sigmoid", **BOOSTED), TWO),
    "linear leaves": (hr.GradientBoostingRegressor(linear_leaves=True, **BOOSTED), NUMBER),
    "few categories": (hr.GradientBoostingClassifier(max_categories=2, **BOOSTED), THREE),
    "forest": (hr.RandomForestClassifier(n_estimators=5), THREE),
    "tree": (hr.DecisionTreeRegressor(max_depth=4), NUMBER),
    "AdaBoost": (hr.AdaBoostClassifier(n_estimators=5), TWO),
    "AdaBoost.R2": (hr.AdaBoostRegressor(n_estimators=3), NUMBER),
    "bagging": (hr.BaggingClassifier(n_estimators=3, max_features=0.5), TWO),
}


@pytest.mark.parametrize("name", MODELS)
def test_it_is_that_of_scikit_learn_bit_for_bit(name: str) -> None:
    model, y = MODELS[name]
    model.fit(X, y)
    ours = permutation_importance(model, X, y, n_repeats=3, random_state=5)
    theirs = of_sklearn(model, X, y, n_repeats=3, random_state=5)
    assert np.array_equal(ours.repeats, theirs["importances"])
    assert np.array_equal(ours.mean, theirs["importances_mean"])
    assert np.array_equal(ours.std, theirs["importances_std"])
    assert ours.feature.tolist() == list(X.columns)
    assert ours.baseline == model.score(X, y)


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", "balanced_accuracy"])
def test_scorers_of_scikit_learn_and_weights_give_its_numbers(scoring: str) -> None:
    model = hr.GradientBoostingClassifier(**BOOSTED).fit(X, TWO)
    options = {"scoring": scoring, "n_repeats": 2, "sample_weight": WEIGHTS, "random_state": 1}
    ours = permutation_importance(model, X, TWO, **options)
    assert np.array_equal(ours.repeats, of_sklearn(model, X, TWO, **options)["importances"])
    assert ours.metric == scoring


def test_an_error_rises_by_as_much_as_its_negative_falls() -> None:
    model = hr.GradientBoostingClassifier(**BOOSTED).fit(X, TWO)
    error, score = (
        permutation_importance(model, X, TWO, scoring=scoring, n_repeats=2)
        for scoring in ("log_loss", "neg_log_loss")
    )
    assert (error.higher_is_better, score.higher_is_better) == (False, True)
    np.testing.assert_allclose(error.repeats, score.repeats, atol=1e-12)
    assert error.baseline == pytest.approx(log_loss(TWO, model.predict_proba(X)))


def test_our_metrics_judge_other_models_too() -> None:
    model = LogisticRegression().fit(DENSE, THREE)
    result = permutation_importance(model, DENSE, THREE, scoring="log_loss", n_repeats=2)
    assert result.baseline == pytest.approx(log_loss(THREE, model.predict_proba(DENSE)))
    some = THREE < 2  # rows that lack one of the classes
    fewer = permutation_importance(model, DENSE[some], THREE[some], scoring="log_loss", n_repeats=2)
    expected = log_loss(THREE[some], model.predict_proba(DENSE[some]), labels=[0, 1, 2])
    assert fewer.baseline == pytest.approx(expected)


def test_users_functions_are_called_from_one_thread() -> None:
    model = hr.GradientBoostingRegressor(**BOOSTED).fit(X, NUMBER)
    threads = set()

    def error(y: Any, prediction: Any) -> float:
        threads.add(threading.get_ident())
        return mean_absolute_error(y, prediction)

    def scorer(model: Any, X: Any, y: Any) -> float:
        return -error(y, model.predict(X))

    named = permutation_importance(model, X, NUMBER, scoring="mae", n_repeats=2)
    by_function = permutation_importance(model, X, NUMBER, scoring=error, n_repeats=2, n_jobs=3)
    by_scorer = permutation_importance(model, X, NUMBER, scoring=scorer, n_repeats=2, n_jobs=3)
    scorer = make_scorer(mean_absolute_error, greater_is_better=False)
    by_scorer = permutation_importance(model, X, NUMBER, scoring=scorer, n_repeats=2)
    for result in (by_function, by_scorer, by_scorer):
        np.testing.assert_allclose(result.repeats, named.repeats, rtol=1e-12, atol=1e-14)
    assert threads == {threading.get_ident()}
    assert (by_function.metric, by_function.higher_is_better) == ("error", False)


@pytest.mark.parametrize("name", ["boosted classes", "AdaBoost.R2"])
def test_bits_do_not_depend_on_threads(name: str) -> None:
    model, y = MODELS[name]
    model.fit(X, y)
    one, four = (permutation_importance(model, X, y, n_repeats=3, n_jobs=n) for n in (1, 4))
    assert np.array_equal(one.repeats, four.repeats)


def test_large_matrices_are_not_copied_for_every_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    model = hr.GradientBoostingRegressor(**BOOSTED).fit(X, NUMBER)
    expected = permutation_importance(model, X, NUMBER, n_repeats=2, n_jobs=4)
    monkeypatch.setattr("hedgerow.explain._permutation._COPIED_BYTES", 1)
    workers = mock.Mock(side_effect=ThreadPoolExecutor)
    monkeypatch.setattr("hedgerow.explain._permutation.ThreadPoolExecutor", workers)
    result = permutation_importance(model, X, NUMBER, n_repeats=2, n_jobs=4)
    assert not workers.called
    assert np.array_equal(result.repeats, expected.repeats)


@pytest.mark.parametrize(
    "table",
    [
        pl.from_pandas(X),
        pl.from_pandas(X).to_arrow(),
        X[["unused", "c", "b", "a"]],
        X.astype({"c": "category"}),
    ],
    ids=["polars", "arrow", "reordered", "categories"],
)
@pytest.mark.parametrize("name", ["boosted numbers", "AdaBoost.R2"])
def test_every_kind_of_table_gives_the_same(name: str, table: Any) -> None:
    model, y = MODELS[name]
    model.fit(X, y)
    expected = permutation_importance(model, X, y, n_repeats=2)
    result = permutation_importance(model, table, y, n_repeats=2)
    order = [result.feature.tolist().index(name) for name in X.columns]
    assert np.array_equal(result.repeats[order], expected.repeats)


def test_arrays_and_sparse_matrices_give_the_same() -> None:
    for model in (hr.GradientBoostingRegressor(**BOOSTED), Ridge()):
        model.fit(DENSE, NUMBER)
        expected = of_sklearn(model, DENSE, NUMBER, n_repeats=2, random_state=0)
        for table in (DENSE, DENSE.tolist(), scipy.sparse.csr_array(DENSE)):
            result = permutation_importance(model, table, NUMBER, n_repeats=2)
            # Falls of an R² of 1 at most: what a column adds that does nothing is its rounding.
            np.testing.assert_allclose(
                result.repeats, expected["importances"], rtol=1e-9, atol=1e-15
            )
            assert result.feature.tolist() == ["x0", "x1", "x2"]


def test_pipelines_and_searches_are_asked_with_shuffled_tables() -> None:
    encoder = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    frame = X.drop(columns="a")
    model = make_pipeline(encoder, LogisticRegression()).fit(frame, TWO)
    ours = permutation_importance(model, frame, TWO, n_repeats=2, n_jobs=2)
    theirs = of_sklearn(model, frame, TWO, n_repeats=2, random_state=0)
    assert np.array_equal(ours.repeats, theirs["importances"])
    search = GridSearchCV(hr.DecisionTreeClassifier(max_depth=2), {}, cv=2).fit(frame, TWO)
    result = permutation_importance(search, frame, TWO, n_repeats=2)
    theirs = of_sklearn(search.best_estimator_, frame, TWO, n_repeats=2, random_state=0)
    assert np.array_equal(result.repeats, theirs["importances"])


def test_a_ranker_keeps_its_queries() -> None:
    with_queries = np.column_stack([np.repeat(np.arange(9), 10), DENSE])
    model = hr.GradientBoostingRanker(qid_column=0, **BOOSTED).fit(with_queries, THREE)
    result = permutation_importance(model, with_queries, THREE, n_repeats=2)
    shuffled = with_queries.copy()
    draw = np.random.RandomState(np.random.RandomState(0).randint(2**31))
    order = np.arange(90)
    draw.shuffle(order)
    shuffled[:, 1] = with_queries[order, 1]
    expected = model.score(with_queries, THREE) - model.score(shuffled, THREE)
    assert result.repeats[1, 0] == expected


@pytest.mark.parametrize("name", ["boosted classes", "AdaBoost.R2"])
def test_columns_of_a_group_are_shuffled_together(name: str) -> None:
    model, y = MODELS[name]
    model.fit(X, y)
    result = permutation_importance(model, X, y, n_repeats=1, groups={"both": ["a", 2]})
    assert result.feature.tolist() == ["both", "b", "unused"]
    draw = np.random.RandomState(np.random.RandomState(0).randint(2**31))
    order = np.arange(len(X))
    draw.shuffle(order)
    shuffled = X.assign(a=X["a"].to_numpy()[order], c=X["c"].to_numpy()[order])
    assert result.repeats[0, 0] == model.score(X, y) - model.score(shuffled, y)


def test_a_column_that_no_tree_tests_is_not_asked_about() -> None:
    model = hr.GradientBoostingRegressor(**BOOSTED).fit(X, NUMBER)
    calls = []

    def error(y: Any, prediction: Any) -> float:
        calls.append(1)
        return float(np.abs(y - prediction).mean())

    result = permutation_importance(model, X, NUMBER, scoring=error, n_repeats=2)
    assert result.mean[3] == result.std[3] == result.z[3] == 0.0
    assert len(calls) == 1 + 2 * 3


def test_some_of_the_rows_can_be_drawn() -> None:
    model = hr.GradientBoostingRegressor(**BOOSTED).fit(X, NUMBER)
    tenth = permutation_importance(model, X, NUMBER, max_samples=0.2, n_repeats=3)
    count = permutation_importance(model, X, NUMBER, max_samples=18, n_repeats=3)
    assert np.array_equal(tenth.repeats, count.repeats)
    assert tenth.baseline != model.score(X, NUMBER)


def test_importances_of_the_truth_are_twice_the_variance() -> None:
    # Of y = 2 x + z, a shuffled x adds 4 · E (x − x')² = 8 var(x) to the squared error.
    draw = np.random.RandomState(0)
    numbers = draw.normal(size=(4000, 2))
    y = 2.0 * numbers[:, 0] + numbers[:, 1]
    model = Ridge(alpha=1e-8).fit(numbers, y)
    result = permutation_importance(model, numbers, y, scoring="neg_mean_squared_error")
    np.testing.assert_allclose(result.mean, 2.0 * numbers.var(axis=0) * [4.0, 1.0], rtol=0.02)
    np.testing.assert_allclose(result.z, result.mean / (result.std / np.sqrt(10.0)))


def test_results_print_become_frames_and_are_drawn() -> None:
    model = hr.GradientBoostingRegressor(**BOOSTED).fit(X, NUMBER)
    result = permutation_importance(model, X, NUMBER, scoring="rmse", n_repeats=2)
    frame = result.to_frame()
    assert list(frame.columns) == ["feature", "mean", "std", "z"]
    assert frame["mean"].is_monotonic_decreasing
    assert "rise in rmse" in repr(result)
    ax = result.plot()
    assert "rmse" in ax.get_xlabel()
    ax.figure.clear()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_repeats": 0}, "n_repeats=0"),
        ({"max_samples": 0.0}, "max_samples=0.0"),
        ({"max_samples": 91}, "max_samples=91, but X has 90 rows"),
        ({"scoring": "rsme"}, "scoring='rsme'"),
        ({"scoring": ["rmse", "mae"]}, "must be one metric"),
        ({"groups": {}}, "groups="),
        ({"groups": {"g": "ab"}}, "not a list of columns"),
        ({"groups": {"g": ["e"]}}, "groups: X has no column 'e'"),
        ({"groups": {"b": ["a"]}}, "'b' is also the name of a column"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"random_state": "x"}, "random_state='x'"),
    ],
)
def test_what_cannot_be_asked_is_refused(options: dict[str, Any], message: str) -> None:
    model = hr.GradientBoostingRegressor(n_estimators=2).fit(X, NUMBER)
    with pytest.raises(hr.ParameterError, match=message):
        permutation_importance(model, X, NUMBER, **options)


def test_targets_that_do_not_fit_are_refused() -> None:
    model = hr.GradientBoostingClassifier(n_estimators=2).fit(X, TWO)
    with pytest.raises(hr.DataError, match="X has 90 rows, but y has 89"):
        permutation_importance(model, X, TWO[1:])
    with pytest.raises(hr.DataError, match="y has no rows"):
        permutation_importance(model, X, None)
    with pytest.raises(hr.DataError, match="maybe"):
        permutation_importance(model, X, np.where(TWO == "yes", "maybe", "no"))
