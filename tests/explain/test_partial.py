"""Partial dependence: equal to repeated prediction, whatever the model and the table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.inspection import partial_dependence as of_sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import hedgerow as hr
from hedgerow.explain import PartialDependence, partial_dependence
from oracles.shap import expected
from oracles.trees import random_ensemble, random_rows
from oracles.trees_alone import alone


def table(n_rows: int = 90, seed: int = 0) -> pd.DataFrame:
    draw = np.random.RandomState(seed)
    frame = pd.DataFrame(
        {
            "a": draw.normal(size=n_rows),
            "b": draw.randint(0, 5, n_rows),
            "c": draw.choice(["u", "v", "w"], n_rows, p=[0.2, 0.5, 0.3]),
            "d": draw.normal(size=n_rows).astype(np.float32),
        }
    )
    frame.loc[frame.index % 7 == 0, "a"] = np.nan
    return frame.set_axis([f"row {i}" for i in range(n_rows)])


X = table()
CODE = X["c"].map({"u": 0.0, "v": 1.0, "w": 2.0}).to_numpy()
NUMBER = np.nan_to_num(X["a"].to_numpy()) * CODE + X["b"].to_numpy() - X["d"].to_numpy()
TWO = np.where(NUMBER > 2.0, "yes", "no")
THREE = np.digitize(NUMBER, [1.0, 3.0])
DENSE = X[["a", "b", "d"]].to_numpy()
BOOSTED = {"n_estimators": 8, "max_leaves": 6, "min_samples_leaf": 5}


def columns_at(values: Any, n_rows: int) -> pd.Series:
    return pd.Series([values] * n_rows, index=X.index)


def predicted(model: Any, frame: Any) -> np.ndarray:
    """Return what is predicted: of two classes, the probability of the second."""
    if hasattr(model, "predict_proba"):
        p = model.predict_proba(frame)
        return p[:, 1:] if p.shape[1] == 2 else p
    return model.predict(frame).reshape(len(frame), -1)


def repeated(model: Any, result: PartialDependence) -> np.ndarray:
    """Return what is predicted of each row at each point of one column."""
    name = result.features[0]
    points = [predicted(model, X.assign(**{name: columns_at(v, len(X))})) for v in result.grid[0]]
    return np.stack(points, axis=1)


MODELS = {
    "boosted numbers": hr.GradientBoostingRegressor(**BOOSTED).fit(X, NUMBER),
    "poisson": hr.GradientBoostingRegressor(loss="poisson", **BOOSTED).fit(X, np.abs(NUMBER)),
    "quantiles": hr.GradientBoostingRegressor(loss="quantile", quantile=[0.1, 0.9], **BOOSTED).fit(
        X, NUMBER
    ),
    "two classes": hr.GradientBoostingClassifier(**BOOSTED).fit(X, TWO),
    "calibrated": hr.GradientBoostingClassifier(calibration="sigmoid", **BOOSTED).fit(X, TWO),
    "three classes": hr.GradientBoostingClassifier(**BOOSTED).fit(X, THREE),
    "linear leaves": hr.GradientBoostingRegressor(linear_leaves=True, **BOOSTED).fit(X, NUMBER),
    "few categories": hr.GradientBoostingClassifier(max_categories=2, **BOOSTED).fit(X, TWO),
    "tree": hr.DecisionTreeClassifier(max_depth=4).fit(X, THREE),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("feature", ["a", "b", "c", "d"])
def test_individual_curves_are_repeated_predictions_bit_for_bit(name: str, feature: str) -> None:
    result = partial_dependence(MODELS[name], X, feature, kind="both", grid_resolution=7)
    expected = repeated(MODELS[name], result)
    assert np.array_equal(result.individual, expected)
    np.testing.assert_allclose(result.average, expected.mean(axis=0), rtol=1e-13)


@pytest.mark.parametrize(
    "model",
    [
        hr.RandomForestClassifier(n_estimators=4, max_depth=3).fit(X, THREE),
        hr.AdaBoostClassifier(n_estimators=4, max_depth=2).fit(X, TWO),
        hr.BaggingRegressor(n_estimators=4, max_features=0.5).fit(X, NUMBER),
        hr.AdaBoostRegressor(n_estimators=3).fit(X, NUMBER),
    ],
    ids=["forest", "AdaBoost", "bagging", "AdaBoost.R2"],
)
def test_averages_are_means_of_repeated_predictions(model: Any) -> None:
    for result in partial_dependence(model, X, ["a", "c"], grid_resolution=6):
        expected = repeated(model, result).mean(axis=0)
        np.testing.assert_allclose(result.average, expected, atol=1e-12)


def test_the_score_of_a_classifier_is_its_decision() -> None:
    model = MODELS["two classes"]
    result = partial_dependence(model, X, "a", response="score", kind="both", grid_resolution=6)
    at_third = X.assign(a=result.grid[0][2])
    assert np.array_equal(result.individual[:, 2, 0], model.decision_function(at_third))
    assert (result.unit, result.output_names) == ("log-odds", ("yes",))
    np.testing.assert_allclose(result.average, result.individual.mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("response", ["prediction", "score"])
def test_weights_count_rows_more_than_once(response: str) -> None:
    times = np.random.RandomState(1).randint(0, 4, len(X))
    model, options = MODELS["two classes"], {"grid": [-1.0, 0.0, 1.0], "response": response}
    weighed = partial_dependence(model, X, "a", sample_weight=times, **options)
    listed = partial_dependence(model, X.iloc[np.repeat(np.arange(len(X)), times)], "a", **options)
    np.testing.assert_allclose(weighed.average, listed.average, rtol=1e-12)


def test_a_pair_is_looked_at_in_every_combination() -> None:
    model = MODELS["two classes"]
    result = partial_dependence(model, X, ("a", "c"), grid_resolution=4, kind="both")
    assert result.average.shape == (5, 3, 1)
    changed = X.assign(a=result.grid[0][1], c=result.grid[1][2])
    assert np.array_equal(result.individual[:, 1, 2], predicted(model, changed))


def test_many_rows_are_looked_at_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    model = MODELS["three classes"]
    whole = partial_dependence(model, X, "a", grid_resolution=5, kind="both")
    monkeypatch.setattr("hedgerow.explain._what_if._BLOCK_BYTES", 8 * 3 * 6 * 10)
    parts = partial_dependence(model, X, "a", grid_resolution=5, kind="both")
    assert np.array_equal(parts.individual, whole.individual)
    np.testing.assert_allclose(parts.average, whole.average, rtol=1e-14)


def test_bits_do_not_depend_on_threads() -> None:
    one, four = (
        partial_dependence(MODELS["three classes"].set_params(n_jobs=n), X, "a", response=response)
        for n, response in ((1, "score"), (4, "score"))
    )
    MODELS["three classes"].set_params(n_jobs=None)
    assert np.array_equal(one.average, four.average)


TABLES = {
    "polars": pl.from_pandas,
    "arrow": lambda frame: pl.from_pandas(frame).to_arrow(),
    "pandas, nullable": lambda frame: frame.convert_dtypes(),
    "pandas, categories": lambda frame: frame.astype({"c": "category"}),
    "pandas, reordered": lambda frame: frame[["c", "d", "b", "a"]],
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("name", ["two classes", "linear leaves"])
def test_every_kind_of_table_gives_the_same(kind: str, name: str) -> None:
    model = MODELS[name]
    features = ["a", "b", "c", "d", ("c", "d")]
    expected = partial_dependence(model, X, features, grid_resolution=5)
    result = partial_dependence(model, TABLES[kind](X), features, grid_resolution=5)
    for ours, theirs in zip(result, expected, strict=True):
        for mine, other in zip(ours.grid, theirs.grid, strict=True):
            assert [str(value) for value in mine] == [str(value) for value in other]
        np.testing.assert_allclose(ours.average, theirs.average, rtol=1e-14)


@pytest.mark.parametrize("linear_leaves", [False, True])
def test_arrays_lists_and_sparse_matrices_give_the_same(linear_leaves: bool) -> None:
    numbers = np.nan_to_num(DENSE)
    model = hr.GradientBoostingRegressor(linear_leaves=linear_leaves, **BOOSTED)
    model.fit(numbers, NUMBER)
    expected = partial_dependence(model, numbers, [0, (0, 2)], grid_resolution=5)
    for table_type in (
        numbers.tolist(),
        np.asfortranarray(numbers),
        scipy.sparse.csr_array(numbers),
        scipy.sparse.coo_matrix(numbers),
        pd.DataFrame(numbers),
    ):
        result = partial_dependence(model, table_type, [0, (0, 2)], grid_resolution=5)
        for ours, theirs in zip(result, expected, strict=True):
            np.testing.assert_allclose(ours.average, theirs.average, rtol=1e-14)


def test_it_is_that_of_scikit_learn() -> None:
    numbers = np.nan_to_num(DENSE)
    model = hr.GradientBoostingClassifier(**BOOSTED).fit(numbers, THREE)
    for feature in (0, (0, 2)):
        theirs = of_sklearn(model, numbers, feature, method="brute", grid_resolution=9, kind="both")
        ours = partial_dependence(model, numbers, feature, grid_resolution=9, kind="both")
        for mine, other in zip(ours.grid, theirs["grid_values"], strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-15)
        np.testing.assert_allclose(np.moveaxis(ours.average, -1, 0), theirs["average"], rtol=1e-12)
        individual = np.moveaxis(ours.individual, -1, 0)
        np.testing.assert_allclose(individual, theirs["individual"], rtol=1e-12)


def test_cover_is_the_mean_over_the_training_rows_of_each_split() -> None:
    model = hr.DecisionTreeRegressor(max_depth=3).fit(DENSE[:, [1, 2]], NUMBER)
    result = partial_dependence(model, DENSE[:, [1, 2]], 0, method="cover")
    tree = model.tree_

    def below(node: int, value: float) -> float:
        if tree.feature[node] < 0:
            return tree.value[node, 0, 0]
        left, right = tree.left[node], tree.right[node]
        if tree.feature[node] == 0:
            return below(left if value <= tree.threshold[node] else right, value)
        share = tree.cover[left] / tree.cover[node]
        return share * below(left, value) + (1.0 - share) * below(right, value)

    expected = [below(0, value) for value in result.grid[0]]
    np.testing.assert_allclose(result.average[:, 0], expected, rtol=1e-12)


@pytest.mark.parametrize("vector", [False, True])
def test_cover_is_what_is_expected_of_a_row_of_which_one_column_is_known(vector: bool) -> None:
    rng = np.random.default_rng(0)
    ensemble = random_ensemble(rng, [1, 9, 24, 5], 4, n_outputs=2, vector=vector)
    few_rows = {
        name: np.where(rng.random(ensemble.n_nodes) < 0.4, 0, getattr(ensemble, name))
        for name in ("cover", "count")
    }
    ensemble = replace(ensemble, **few_rows)
    rows = random_rows(rng, 30, 4)
    result = partial_dependence(alone(ensemble), rows, 2, method="cover", grid_resolution=9)
    for value, average in zip(result.grid[0], result.average, strict=True):
        row = np.array([0.0, 0.0, value, 0.0])
        by_definition = expected(ensemble, row, np.arange(4), frozenset({2}))
        np.testing.assert_allclose(average, by_definition, rtol=0, atol=1e-12)


@pytest.mark.parametrize("vector", [False, True])
def test_more_trees_than_are_added_up_at_a_time(vector: bool) -> None:
    rng = np.random.default_rng(1)
    ensemble = random_ensemble(rng, [3] * 200, 2, n_outputs=2, vector=vector)
    rows, points = random_rows(rng, 3, 2, missing=0.0), rng.normal(size=50_000)
    result = partial_dependence(alone(ensemble), rows, 0, grid=points)
    by_row = [
        ensemble.predict_raw(np.column_stack([points, np.full(len(points), row[1])]))
        for row in rows
    ]
    np.testing.assert_allclose(result.average, np.mean(by_row, axis=0), rtol=0, atol=1e-12)


def test_cover_is_recursion_in_scikit_learn() -> None:
    from sklearn.tree import DecisionTreeRegressor

    numbers = np.nan_to_num(DENSE).astype(np.float32)
    theirs = DecisionTreeRegressor(max_depth=4, min_samples_leaf=9).fit(numbers, NUMBER)
    ours = hr.DecisionTreeRegressor(max_depth=4, min_samples_leaf=9).fit(numbers, NUMBER)
    np.testing.assert_allclose(ours.predict(numbers), theirs.predict(numbers), rtol=1e-12)
    expected = of_sklearn(theirs, numbers, 2, method="recursion", kind="average")
    result = partial_dependence(
        ours, numbers, 2, method="cover", grid=expected["grid_values"][0].astype(np.float32)
    )
    np.testing.assert_allclose(result.average[:, 0], expected["average"][0], rtol=1e-10)


def test_cover_of_a_classifier_is_its_score() -> None:
    result = partial_dependence(MODELS["two classes"], X, "a", method="cover")
    assert (result.unit, result.method) == ("log-odds", "cover")


class Product(RegressorMixin, BaseEstimator):
    """x0 · x1, of tables that are arrays."""

    def fit(self, X: Any, y: Any = None) -> Product:  # noqa: ARG002
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any) -> np.ndarray:
        return X[:, 0] * X[:, 1]


def test_a_product_depends_on_a_factor_by_the_mean_of_the_other() -> None:
    numbers = np.random.RandomState(0).normal(size=(40, 3))
    result = partial_dependence(Product().fit(numbers), numbers, 0)
    np.testing.assert_allclose(result.average[:, 0], result.grid[0] * numbers[:, 1].mean())


def test_pipelines_and_searches_are_asked_through_predict() -> None:
    frame = X.drop(columns="a")
    encoder = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    model = make_pipeline(encoder, LogisticRegression()).fit(frame, TWO)
    result = partial_dependence(model, frame, "c")
    at_first = frame.assign(c=result.grid[0][0])
    np.testing.assert_allclose(result.average[0, 0], model.predict_proba(at_first)[:, 1].mean())
    search = GridSearchCV(hr.DecisionTreeClassifier(max_depth=2), {}, cv=2).fit(frame, TWO)
    expected = partial_dependence(search.best_estimator_, frame, "c").average
    assert np.array_equal(partial_dependence(search, frame, "c").average, expected)


def test_other_models_of_the_library_are_asked_through_predict() -> None:
    numbers = np.nan_to_num(DENSE)
    for model, unit in (
        (hr.SVC(), "score"),
        (hr.KNeighborsClassifier(), "probability"),
        (hr.SVR(), "the target"),
        (hr.OneClassSVM(), "score"),
    ):
        model.fit(numbers, NUMBER if isinstance(model, hr.SVR) else TWO)
        result = partial_dependence(model, numbers, 0, grid_resolution=3)
        assert result.unit == unit
        assert result.average.shape == (3, 1)


def test_a_ranker_is_asked_with_and_without_its_queries() -> None:
    queries = np.repeat(np.arange(9), 10)
    with_queries = np.column_stack([queries, np.nan_to_num(DENSE)])
    model = hr.GradientBoostingRanker(qid_column=0, **BOOSTED).fit(with_queries, THREE)
    first = partial_dependence(model, with_queries, 0, grid_resolution=4)
    second = partial_dependence(model, with_queries[:, 1:], 0, grid_resolution=4)
    assert np.array_equal(first.average, second.average)
    assert first.unit == "score"


def test_times_are_averaged_as_times() -> None:
    model = hr.GradientBoostingSurvival(loss="aft", **BOOSTED).fit(X, np.exp(NUMBER / 4.0))
    result = partial_dependence(model, X, "b")
    expected = [model.predict(X.assign(b=value)).mean() for value in result.grid[0]]
    np.testing.assert_allclose(result.average[:, 0], expected, rtol=1e-12)
    assert result.unit == "the time"


def test_grids_are_in_the_units_of_the_table() -> None:
    a, b, c = partial_dependence(MODELS["two classes"], X, ["a", "b", "c"])
    assert np.isnan(a.grid[0][-1])
    assert np.all(np.diff(a.grid[0][:-1]) > 0)
    assert b.grid[0].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert c.grid[0].tolist() == ["v", "w", "u"]
    assert (a.is_categorical, c.is_categorical) == ((False,), (True,))
    assert (len(a.deciles[0]), len(c.deciles[0])) == (9, 0)
    with_gaps = X.assign(c=X["c"].where(X["b"] > 0))
    assert partial_dependence(MODELS["two classes"], with_gaps, "c").grid[0].tolist()[-1] is None


def test_numbers_that_are_categories_are_looked_at_as_such() -> None:
    model = hr.GradientBoostingRegressor(categorical_features=[1], **BOOSTED).fit(DENSE, NUMBER)
    result = partial_dependence(model, DENSE, 1, kind="both")
    assert result.is_categorical == (True,)
    counts = X["b"].value_counts()
    assert [counts[label] for label in result.grid[0]] == sorted(counts, reverse=True)
    changed = DENSE.copy()
    changed[:, 1] = result.grid[0][2]
    assert np.array_equal(result.individual[:, 2, 0], model.predict(changed))


def test_of_many_categories_the_most_frequent_are_looked_at() -> None:
    draw = np.random.RandomState(0)
    frame = pd.DataFrame({"k": [f"k{v}" for v in draw.randint(0, 40, 400)], "x": np.arange(400.0)})
    model = hr.GradientBoostingRegressor(max_categories=8, **BOOSTED).fit(frame, frame["x"])
    result = partial_dependence(model, frame, "k")
    counts = frame["k"].value_counts()
    assert (len(result.grid[0]), result.left_out) == (30, (len(counts) - 30,))
    assert f"{len(counts) - 30} rarer categories of k omitted" in repr(result)
    assert min(counts[label] for label in result.grid[0]) >= counts.sort_values().iloc[-30]


def test_a_column_that_is_mostly_one_number_is_looked_at_from_end_to_end() -> None:
    numbers = np.column_stack([np.r_[np.zeros(970), np.linspace(1.0, 4.0, 30)], np.arange(1000.0)])
    result = partial_dependence(Product().fit(numbers), numbers, 0, grid_resolution=10)
    assert (result.grid[0][0], result.grid[0][-1]) == (0.0, 4.0)


def test_a_grid_can_be_given() -> None:
    model = MODELS["two classes"]
    one = partial_dependence(model, X, "a", grid=[2.0, -1.0, None])
    np.testing.assert_array_equal(one.grid[0], [2.0, -1.0, np.nan])
    pair = partial_dependence(model, X, [("a", "c"), "c"], grid={"c": ["w", "u"], "a": [0.5]})
    assert pair[0].average.shape == (1, 2, 1)
    np.testing.assert_allclose(
        pair[1].average[0], model.predict_proba(X.assign(c="w"))[:, 1].mean(), rtol=1e-13
    )


def test_results_print_and_become_frames() -> None:
    two_way = partial_dependence(MODELS["three classes"], X, ("a", "c"), grid_resolution=4)
    frame = two_way.to_frame()
    assert list(frame.columns) == ["a", "c", "0", "1", "2"]
    np.testing.assert_array_equal(frame["1"], two_way.average[..., 1].reshape(-1))
    assert "PartialDependence of probability on a and c: 5 × 3 points" in repr(two_way)
    single = partial_dependence(MODELS["two classes"], X, "c", kind="individual")
    assert single.average is None
    frame = single.to_frame()
    assert len(frame) == 3 * len(X)
    assert frame["yes"].iloc[4] == single.individual[1, 1, 0]


@pytest.mark.parametrize("feature", ["a", "c", ("a", "c"), ("a", "d")])
def test_results_are_drawn(feature: Any) -> None:
    result = partial_dependence(MODELS["three classes"], X, feature, grid_resolution=4, kind="both")
    ax = result.plot()
    if feature == "c":
        assert ax.get_ylabel() == feature
        assert [text.get_text() for text in ax.get_yticklabels()] == ["v", "w", "u"]
    else:
        assert ax.get_xlabel() == feature[0]
    ax.figure.clear()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": "aa"}, "features: X has no column 'aa'.*its columns are 'a'"),
        ({"features": 4}, "features: index 4 is out of range"),
        ({"features": 1.5}, "features contains 1.5"),
        ({"features": []}, "features is empty"),
        ({"features": ("a", "b", "c")}, "must have one or two columns, not 3"),
        ({"features": ("a", 0)}, "the same column twice"),
        ({"kind": "mean"}, "kind='mean'"),
        ({"method": "brute"}, "method='brute'"),
        ({"method": "cover", "kind": "both"}, "kind='both'"),
        ({"method": "cover", "response": "prediction"}, "response='prediction'"),
        ({"method": "cover", "sample_weight": np.ones(len(X))}, "sample_weight"),
        ({"response": "logit"}, "response='logit'"),
        ({"grid_resolution": 1}, "grid_resolution=1"),
        ({"percentiles": (0.9, 0.1)}, "percentiles="),
        ({"percentiles": 0.5}, "percentiles=0.5"),
        ({"grid": {"b": [1]}}, "grid has values for 'b'"),
        ({"grid": {"e": [1]}}, "grid: X has no column 'e'"),
        ({"grid": ["x", "y"]}, "grid: the values of 'a' are not numbers"),
        ({"grid": []}, "grid: the values of 'a'"),
        ({"grid": [np.inf]}, "grid: the values of 'a'"),
        ({"grid": [1j]}, "grid: the values of 'a' are not numbers"),
        ({"features": ("a", "d"), "grid": {"a": range(2000), "d": range(501)}}, "2000 × 501"),
        ({"grid": [1.0], "features": ["a", "b"]}, "grid must be a dict"),
        ({"features": "c", "grid": "u"}, "must be a list"),
        ({"features": "c", "grid": ["u", "u"]}, "distinct categories"),
    ],
)
def test_what_cannot_be_asked_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(hr.ParameterError, match=message):
        partial_dependence(MODELS["two classes"], X, **({"features": "a"} | options))


def test_models_that_cannot_be_asked_are_refused() -> None:
    with pytest.raises(hr.ParameterError, match="method='cover' is for tree ensembles"):
        partial_dependence(MODELS["linear leaves"], X, "a", method="cover")
    with pytest.raises(hr.ParameterError, match="fitted estimator"):
        partial_dependence(hr.SVC, X, "a")
    with pytest.raises(NotFittedError):
        partial_dependence(hr.GradientBoostingRegressor(), X, "a")
    nearest = hr.KNeighborsClassifier().fit(np.nan_to_num(DENSE), TWO)
    with pytest.raises(hr.ParameterError, match=r"response=.score.: .* has no decision_function"):
        partial_dependence(nearest, np.nan_to_num(DENSE), 0, response="score")


def test_tables_that_say_nothing_are_refused() -> None:
    model = MODELS["two classes"]
    with pytest.raises(hr.DataError, match="column 'b' has only the value 3"):
        partial_dependence(model, X.assign(b=3), "b")
    assert len(partial_dependence(model, X.assign(b=3), "b", grid=[1, 2]).average) == 2
    with pytest.raises(hr.DataError, match="column 'a' has only missing values"):
        partial_dependence(model, X.assign(a=np.nan), "a")
    with pytest.raises(hr.DataError, match="0 sample"):
        partial_dependence(model, X.iloc[:0], "a")
    with pytest.raises(hr.DataError, match="infinity"):
        partial_dependence(model, X.assign(a=np.inf), "a")
