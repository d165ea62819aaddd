"""Accumulated local effects: closed forms, a naive loop, and the order of labels."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

import hedgerow as hr
from hedgerow._data.columns import LabelColumn, NumericColumn
from hedgerow.explain import accumulated_effects
from hedgerow.explain._grid import order_by_similarity


class Formula(RegressorMixin, BaseEstimator):
    """A function of a table."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def fit(self, X: Any, y: Any = None) -> Formula:  # noqa: ARG002
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.function(X), np.float64)


def formula(function: Callable[[Any], Any], X: Any) -> Formula:
    return Formula(function).fit(X)


DRAW = np.random.RandomState(0)
NUMBERS = DRAW.normal(size=(200, 3))
BOOSTED = {"n_estimators": 8, "max_leaves": 6, "min_samples_leaf": 5}


def table(n_rows: int = 150) -> pd.DataFrame:
    draw = np.random.RandomState(1)
    a = draw.normal(size=n_rows)
    frame = pd.DataFrame({"a": a, "b": a + draw.normal(size=n_rows)})
    frame["c"] = np.digitize(a + 0.3 * draw.normal(size=n_rows), [-0.5, 0.5])
    frame["c"] = frame["c"].map({0: "low", 1: "middle", 2: "high"})
    frame.loc[::11, "b"] = np.nan
    return frame


X = table()
Y = (X["a"] * (X["c"] == "high") + X["b"].fillna(0.0)).to_numpy()
MODEL = hr.GradientBoostingRegressor(**BOOSTED).fit(X, Y)
CLASSES = hr.GradientBoostingClassifier(**BOOSTED).fit(X, np.digitize(Y, [-1.0, 1.0]))


def trapezoid_mean(values: np.ndarray, counts: np.ndarray) -> float:
    return float((counts * (values[1:] + values[:-1]) / 2.0).sum() / counts.sum())


def test_the_effect_of_a_sum_is_each_term_whatever_columns_go_together() -> None:
    together = NUMBERS.copy()
    together[:, 1] = together[:, 0] + 0.1 * together[:, 1]
    model = formula(lambda X: 3.0 * X[:, 0] + X[:, 1] ** 2, together)
    linear, square = accumulated_effects(model, together, [0, 1], grid_resolution=12)
    for result, term in ((linear, 3.0 * linear.grid[0]), (square, square.grid[0] ** 2)):
        apart = result.average[:, 0] - term
        np.testing.assert_allclose(apart, apart[0], atol=1e-12)
    edges = linear.grid[0]
    counts = np.bincount(np.maximum(np.searchsorted(edges, together[:, 0]) - 1, 0))
    assert trapezoid_mean(linear.average[:, 0], counts) == pytest.approx(0.0, abs=1e-12)


def naive(model: Any, frame: pd.DataFrame, name: str, edges: np.ndarray) -> np.ndarray:
    """Add up mean differences, a cell and a row at a time."""
    effect, counts = [0.0], []
    for k in range(len(edges) - 1):
        low, high = edges[k], edges[k + 1]
        inside = frame[(frame[name] > low) & (frame[name] <= high)]
        if k == 0:
            inside = frame[(frame[name] >= low) & (frame[name] <= high)]
        upper = model.predict(inside.assign(**{name: high}))
        lower = model.predict(inside.assign(**{name: low}))
        effect.append(effect[-1] + (upper - lower).mean())
        counts.append(len(inside))
    return np.array(effect) - trapezoid_mean(np.array(effect), np.array(counts))


@pytest.mark.parametrize("name", ["a", "b"])
def test_trees_are_asked_as_a_naive_loop_asks(name: str) -> None:
    result = accumulated_effects(MODEL, X, name, grid_resolution=8)
    assert result.grid[0][0] == X[name].min()
    assert result.grid[0][-1] == X[name].max()
    np.testing.assert_allclose(
        result.average[:, 0], naive(MODEL, X, name, result.grid[0]), rtol=1e-9, atol=1e-12
    )
    assert result.n_rows == X[name].notna().sum()


def test_linear_leaves_are_asked_through_predict() -> None:
    model = hr.GradientBoostingRegressor(linear_leaves=True, **BOOSTED).fit(X, Y)
    result = accumulated_effects(model, X, "a", grid_resolution=5)
    expected = naive(model, X, "a", result.grid[0])
    np.testing.assert_allclose(result.average[:, 0], expected, rtol=1e-9, atol=1e-12)


def test_a_weight_of_two_is_a_row_twice() -> None:
    times = np.random.RandomState(2).randint(0, 3, len(X))
    repeated = X.iloc[np.repeat(np.arange(len(X)), times)]
    edges = np.quantile(X["a"], [0.0, 0.3, 0.6, 1.0])
    for features, grid in (("a", edges), (("a", "b"), {"a": edges, "b": [-1.0, 0.0, 1.0]})):
        weighed = accumulated_effects(MODEL, X, features, grid=grid, sample_weight=times)
        listed = accumulated_effects(MODEL, repeated, features, grid=grid)
        np.testing.assert_allclose(weighed.average, listed.average, rtol=1e-10, atol=1e-13)


def test_labels_step_from_one_to_the_next_by_the_rows_of_both() -> None:
    order = ["low", "middle", "high"]
    result = accumulated_effects(MODEL, X, "c", grid=order)
    effect = [0.0]
    for here, there in pairwise(order):
        rows = X[X["c"].isin([here, there])]
        step = MODEL.predict(rows.assign(c=there)) - MODEL.predict(rows.assign(c=here))
        effect.append(effect[-1] + step.mean())
    shares = [(X["c"] == label).mean() for label in order]
    expected = np.array(effect) - np.dot(shares, effect)
    np.testing.assert_allclose(result.average[:, 0], expected, rtol=1e-10, atol=1e-13)
    assert result.grid[0].tolist() == order


def test_labels_come_in_the_order_of_likeness() -> None:
    result = accumulated_effects(MODEL, X, "c")
    assert result.grid[0].tolist() in (["low", "middle", "high"], ["high", "middle", "low"])


def test_likeness_is_that_of_the_other_columns() -> None:
    draw = np.random.RandomState(0)
    codes = draw.randint(0, 5, 1000)
    position = np.array([2.0, 0.0, 4.0, 1.0, 3.0])[codes]
    number = NumericColumn(position + draw.normal(size=1000))
    label = LabelColumn((position > 1.5).astype(np.int32), ["n", "y"], "string")
    labels = list("abcde")
    for others in ([number], [number, label]):
        order = order_by_similarity(codes, range(5), labels, others)
        assert order in ([1, 3, 0, 4, 2], [2, 4, 0, 3, 1])
    constant = NumericColumn(np.zeros(1000))
    assert order_by_similarity(codes, range(5), labels, [constant]) == [0, 1, 2, 3, 4]


def test_a_sum_has_no_effect_of_two_columns_together() -> None:
    model = formula(lambda X: np.sin(X[:, 0]) + X[:, 1] ** 3, NUMBERS)
    result = accumulated_effects(model, NUMBERS, (0, 1), grid_resolution=6)
    np.testing.assert_allclose(result.average, 0.0, atol=1e-12)


def test_a_product_has_the_product_of_deviations_as_its_effect() -> None:
    side = np.linspace(-1.0, 2.0, 31)
    rows = np.array([(p, q) for p in side for q in side])
    model = formula(lambda X: X[:, 0] * X[:, 1], rows)
    grid = {0: np.linspace(-1.0, 2.0, 7), 1: np.linspace(-1.0, 2.0, 4)}
    result = accumulated_effects(model, rows, (0, 1), grid=grid)
    # The first cell has the rows at both of its ends, so that the mean lies a little to the left.
    means = [
        trapezoid_mean(edges, np.histogram(side, np.r_[edges[0] - 1.0, edges[1:] + 1e-9])[0])
        for edges in result.grid
    ]
    expected = np.outer(result.grid[0] - means[0], result.grid[1] - means[1])
    np.testing.assert_allclose(result.average[..., 0], expected, atol=1e-12)


def test_what_two_do_together_has_nothing_left_of_what_each_does_alone() -> None:
    result = accumulated_effects(CLASSES, X, ("a", "c"), grid_resolution=4)
    a, c = result.grid
    cell = np.clip(np.searchsorted(a, X["a"], side="left") - 1, 0, None)
    level = X["c"].map({label: k for k, label in enumerate(c)}).to_numpy()
    for k in range(len(a) - 1):
        rises = (result.average[k + 1] - result.average[k])[level[cell == k]]
        np.testing.assert_allclose(rises.mean(axis=0), 0.0, atol=1e-12)
    middle = (result.average[cell, level] + result.average[cell + 1, level]) / 2.0
    np.testing.assert_allclose(middle.mean(axis=0), 0.0, atol=1e-12)


def test_two_columns_are_asked_as_a_naive_loop_asks() -> None:
    edges = {
        "a": np.quantile(X["a"], [0.0, 0.5, 1.0]),
        "b": np.nanquantile(X["b"], [0.0, 0.4, 1.0]),
    }
    result = accumulated_effects(MODEL, X, ("a", "b"), grid=edges).average[..., 0]
    # What the two do together from corner to corner does not change if own effects are taken away.
    for i in range(2):
        for j in range(2):
            (low, high), (left, right) = edges["a"][i : i + 2], edges["b"][j : j + 2]
            rows = X[X["a"].between(low, high, inclusive="both" if i == 0 else "right")]
            rows = rows[rows["b"].between(left, right, inclusive="both" if j == 0 else "right")]
            corners = {
                corner: MODEL.predict(rows.assign(a=corner[0], b=corner[1])).mean()
                for corner in ((low, left), (low, right), (high, left), (high, right))
            }
            expected = (
                corners[high, right]
                - corners[low, right]
                - corners[high, left]
                + corners[low, left]
            )
            together = result[i + 1, j + 1] - result[i, j + 1] - result[i + 1, j] + result[i, j]
            assert together == pytest.approx(expected, abs=1e-12)


def test_an_empty_pair_of_cells_is_told_by_its_nearest() -> None:
    diagonal = np.repeat(np.arange(4.0), 5)[:, None] + np.zeros((1, 2))
    model = formula(lambda X: X[:, 0] * X[:, 1], diagonal)
    result = accumulated_effects(model, diagonal, (0, 1), grid_resolution=4)
    assert np.isfinite(result.average).all()
    together = np.diff(np.diff(result.average[..., 0], axis=0), axis=1)
    np.testing.assert_allclose(together, 1.0, atol=1e-12)


def test_scores_and_predictions_differ() -> None:
    log_odds = accumulated_effects(CLASSES, X, "a", response="score")
    assert log_odds.unit.startswith("log of the probability")
    probability = accumulated_effects(CLASSES, X, "a")
    np.testing.assert_allclose(probability.average.sum(axis=1), 0.0, atol=1e-12)


def test_results_print_become_frames_and_are_drawn() -> None:
    single, pair = accumulated_effects(MODEL, X, ["c", ("a", "b")], grid_resolution=4)
    assert "AccumulatedEffects of c (the target): 3 points, 150 rows" in repr(single)
    assert list(pair.to_frame().columns) == ["a", "b", "y"]
    for result in (single, pair):
        ax = result.plot()
        assert result.features[0] in (ax.get_xlabel(), ax.get_ylabel())
        ax.figure.clear()


@pytest.mark.parametrize(
    ("features", "options", "message"),
    [
        ("x", {}, "features: X has no column 'x'"),
        (("a", "b", "c"), {}, "must have one or two columns, not 3"),
        ("a", {"grid_resolution": 1}, "grid_resolution"),
        ("a", {"grid": [1.0]}, "two or more"),
        ("c", {"grid": ["low", "other"]}, "no row of X has the category 'other'"),
        ("a", {"response": "other"}, "response"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    features: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(hr.ParameterError, match=message):
        accumulated_effects(MODEL, X, features, **options)


def test_columns_without_steps_are_refused() -> None:
    with pytest.raises(hr.DataError, match="'a' has fewer than two distinct values"):
        accumulated_effects(MODEL, X.assign(a=1.0), "a")
    with pytest.raises(hr.DataError, match="in a cell"):
        accumulated_effects(MODEL, X, "a", grid=[50.0, 60.0])
