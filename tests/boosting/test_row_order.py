"""Rows may be in any order: a fit that draws no rows gives the same model.

Rows are drawn by their number, so samples, holdouts and folds do depend on the order of rows. So
do linear leaves and the Cox loss.
"""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow._boosting.losses import AbsolutePercentageError, MultinomialLogLoss
from hedgerow._data.binning import Binner
from hedgerow._data.table import CategoricalColumn, Table
from hedgerow._data.target import class_weight_vector

FEW, MANY = 5_420, 34_823  # wide rows, packed rows

REGRESSORS = {
    "squared_error": {},
    "expectile": {"quantile": 0.7},
    "huber": {"delta": 0.5},
    "poisson": {},
    "gamma": {},
    "tweedie": {"tweedie_power": 1.3},
    "mape": {},
}


def rows(n):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 4] = rng.integers(0, 12, n)
    score = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1] * X[:, 2]) + 0.1 * X[:, 4]
    weights = rng.uniform(0.1, 3.0, n)
    return X, score + rng.normal(size=n), weights, rng.permutation(n)


def files(model, X, y, weights, order, folder):
    """The model files of both orders."""
    for name, at in (("a", slice(None)), ("b", order)):
        model.fit(X[at], y[at], None if weights is None else weights[at]).save(folder / name)
    return [(folder / name).read_bytes() for name in ("a", "b")]


@pytest.mark.parametrize("n", [FEW, MANY])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", REGRESSORS)
def test_regressors_do_not_depend_on_the_order_of_rows(loss, weighted, n, tmp_path):
    X, y, weights, order = rows(n)
    model = hr.GradientBoostingRegressor(loss=loss, n_estimators=5, **REGRESSORS[loss])
    y = y if loss in ("squared_error", "expectile", "huber") else np.exp(y)
    first, second = files(model, X, y, weights if weighted else None, order, tmp_path)
    assert first == second


@pytest.mark.parametrize("n", [FEW, MANY])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"loss": "exponential"},
        {"loss": "focal"},
        {"class_weight": "balanced"},
        {"n_classes": 4},
        {"n_classes": 4, "multi_strategy": "vector"},
        {"n_classes": 4, "class_weight": "balanced"},
    ],
    ids=str,
)
def test_classifiers_do_not_depend_on_the_order_of_rows(parameters, weighted, n, tmp_path):
    X, y, weights, order = rows(n)
    others = dict(parameters)
    classes = np.digitize(y, np.linspace(-1, 2, others.pop("n_classes", 2) - 1))
    model = hr.GradientBoostingClassifier(n_estimators=5, categorical_features=[4], **others)
    first, second = files(model, X, classes, weights if weighted else None, order, tmp_path)
    assert first == second


def test_formula_losses_do_not_depend_on_the_order_of_rows(tmp_path):
    X, y, weights, order = rows(FEW)
    loss = hr.Loss(lambda y, f: np.log(np.cosh(y - f)))
    model = hr.GradientBoostingRegressor(loss=loss, n_estimators=3)
    scores = []
    for at in (slice(None), order):
        fitted = model.fit(X[at], y[at], weights[at])
        scores.append(fitted.predict(X[:50]))
    np.testing.assert_array_equal(*scores)


def test_priors_and_class_weights_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    n = FEW
    order, weights = rng.permutation(n), rng.lognormal(sigma=3.0, size=n)
    target = rng.integers(0, 3, n).astype(np.float64)
    loss, classes = MultinomialLogLoss(3), np.arange(3)
    for of in (
        lambda at: loss.base_score(target[at], weights[at]),
        lambda at: class_weight_vector(
            "balanced", classes, target[at].astype(np.intp), weights[at]
        ),
    ):
        np.testing.assert_array_equal(of(np.arange(n)), of(order))
    of_rows = AbsolutePercentageError().row_weights
    np.testing.assert_array_equal(of_rows(weights, None)[order], of_rows(weights[order], None))


def test_which_categories_are_rare_does_not_depend_on_the_order_of_rows():
    """Of two categories, one is heavier by 2^−52: two halves of that, which 1 would swallow."""
    codes = np.array([0, 1, 1, 1, 2, 3, 4], np.int32)
    weights = np.array([1.0, 1.0, 2.0**-53, 2.0**-53, 5.0, 5.0, 0.5])
    rng = np.random.default_rng(0)
    for _ in range(20):
        order = rng.permutation(len(codes))
        table = Table(None, columns=[CategoricalColumn(codes[order])])
        binner = Binner(max_bins=4)
        with pytest.warns(UserWarning, match="rarest"):
            binner.fit(table, weights[order])
        assert binner.category_bins[0].tolist() == [3, 0, 1, 2, 3]
