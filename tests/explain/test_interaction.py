"""Interaction strength: sums have none, products nothing else, and a naive loop agrees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

import hedgerow as hr
from hedgerow.explain import interaction_strength


class Formula(RegressorMixin, BaseEstimator):
    """A function of an array."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def fit(self, X: Any, y: Any = None) -> Formula:  # noqa: ARG002
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.function(X), np.float64)


# Two columns that are balanced: every combination of signs with every third column.
SIGNS = np.array([(p, q, r) for p in (-1.0, 1.0) for q in (-1.0, 1.0) for r in (-2.0, 0.5, 1.5)])
NUMBERS = np.random.RandomState(0).normal(size=(60, 3))
BOOSTED = {"n_estimators": 10, "max_leaves": 6, "min_samples_leaf": 5}


def test_a_sum_has_no_interactions() -> None:
    model = Formula(lambda X: np.exp(X[:, 0]) + X[:, 1] ** 2 - X[:, 2]).fit(NUMBERS)
    result = interaction_strength(model, NUMBERS)
    np.testing.assert_allclose(result.h2, 0.0, atol=1e-25)
    np.testing.assert_allclose(result.overall, 0.0, atol=1e-25)


def test_trees_of_one_split_have_no_interactions() -> None:
    y = NUMBERS[:, 0] * NUMBERS[:, 1]
    model = hr.GradientBoostingRegressor(n_estimators=20, max_leaves=2).fit(NUMBERS, y)
    result = interaction_strength(model, NUMBERS)
    np.testing.assert_allclose(result.h2, 0.0, atol=1e-25)


def test_a_product_is_nothing_but_interaction() -> None:
    result = interaction_strength(Formula(lambda X: X[:, 0] * X[:, 1]).fit(SIGNS), SIGNS)
    by_pair = dict(zip(result.pairs, result.h2[:, 0], strict=True))
    assert by_pair == pytest.approx({("x0", "x1"): 1.0, ("x0", "x2"): 0.0, ("x1", "x2"): 0.0})
    np.testing.assert_allclose(result.overall[:, 0], [1.0, 1.0, 0.0], atol=1e-12)
    assert result.strength[0, 0] == pytest.approx(1.0)


def test_a_product_and_a_sum_share_the_variance() -> None:
    # x0 x1 + 2 x0: variances 1 and 4 of ±1, which have no covariance.
    model = Formula(lambda X: X[:, 0] * X[:, 1] + 2.0 * X[:, 0]).fit(SIGNS)
    result = interaction_strength(model, SIGNS, [0, 1])
    assert result.h2[0, 0] == pytest.approx(0.2)


TABLE = pd.DataFrame(NUMBERS, columns=list("abc")).assign(
    d=np.random.RandomState(1).choice(["u", "v"], len(NUMBERS))
)
TARGET = TABLE["a"] * (TABLE["d"] == "u") + TABLE["b"]
MODEL = hr.GradientBoostingRegressor(**BOOSTED).fit(TABLE, TARGET)


def dependence(model: Any, frame: pd.DataFrame, names: list[str]) -> np.ndarray:
    """Return the centred partial dependence at each row, a row at a time."""
    result = []
    for i in range(len(frame)):
        changed = frame.copy()
        for name in names:
            changed[name] = frame[name].iloc[i]
        result.append(model.predict(changed).mean())
    return np.array(result) - np.mean(result)


@pytest.mark.parametrize("linear_leaves", [False, True])
def test_a_naive_loop_finds_the_same(linear_leaves: bool) -> None:
    model = hr.GradientBoostingRegressor(linear_leaves=linear_leaves, **BOOSTED)
    model.fit(TABLE, TARGET)
    few = TABLE.iloc[:25]
    result = interaction_strength(model, few, ["a", "d"])
    a, d, both = (dependence(model, few, names) for names in (["a"], ["d"], ["a", "d"]))
    expected = ((both - a - d) ** 2).sum() / (both**2).sum()
    assert result.h2[0, 0] == pytest.approx(expected, rel=1e-9)
    prediction = model.predict(few) - model.predict(few).mean()
    others = dependence(model, few, ["b", "c", "d"])
    overall = ((prediction - a - others) ** 2).sum() / (prediction**2).sum()
    assert result.overall[0, 0] == pytest.approx(overall, rel=1e-9)


def test_scores_are_asked_for_and_predictions_of_models_without_scores() -> None:
    classes = (TARGET > 0.0).to_numpy()
    boosted = hr.GradientBoostingClassifier(**BOOSTED).fit(TABLE, classes)
    assert interaction_strength(boosted, TABLE, ["a", "d"], n_rows=20).unit == "log-odds"
    nearest = hr.KNeighborsClassifier().fit(NUMBERS, classes)
    assert interaction_strength(nearest, NUMBERS, n_rows=20).unit == "probability"


def test_rows_are_drawn_by_the_seed() -> None:
    one, two, other = (
        interaction_strength(MODEL, TABLE, n_rows=20, random_state=seed).h2 for seed in (3, 3, 4)
    )
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_the_columns_with_the_largest_gain_are_looked_at() -> None:
    result = interaction_strength(MODEL, TABLE, n_rows=10, max_features=3)
    gain = pd.Series(MODEL.importances("gain"), TABLE.columns)
    assert set(result.features) == set(gain.nlargest(3).index)
    assert len(result.pairs) == 3


def test_results_print_become_frames_and_are_drawn() -> None:
    result = interaction_strength(MODEL, TABLE, n_rows=20)
    frame = result.to_frame()
    assert list(frame.columns) == ["first", "second", "H²", "strength"]
    assert frame["strength"].is_monotonic_decreasing
    assert "6 pairs, 20 rows" in repr(result)
    ax = result.plot()
    assert "standard deviation" in ax.get_xlabel()
    ax.figure.clear()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": ["a"]}, "two or more different columns"),
        ({"features": ["a", "a"]}, "two or more different columns"),
        ({"features": "ab"}, "must be a list"),
        ({"features": ["a", "e"]}, "features: X has no column 'e'"),
        ({"n_rows": 1}, "n_rows=1"),
        ({"max_features": 0}, "max_features=0"),
        ({"response": "x"}, "response='x'"),
        ({"random_state": "x"}, "random_state='x'"),
        ({"random_state": -1}, "random_state=-1"),
    ],
)
def test_what_cannot_be_asked_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(hr.ParameterError, match=message):
        interaction_strength(MODEL, TABLE, **options)


def test_columns_must_be_named_for_models_that_do_not_tell_which_matter() -> None:
    model = Formula(lambda X: X[:, 0]).fit(NUMBERS)
    with pytest.raises(hr.ParameterError, match="has no importances to choose by"):
        interaction_strength(model, NUMBERS, max_features=2)
