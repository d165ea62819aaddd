"""Tables without rows: predictions are empty, of the shape and dtype of those of other rows."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegression, Ridge

import hedgerow as hr

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
NUMBERS = X[:, 0]
TWO = (NUMBERS > 0).astype(int)
THREE = np.array(["a", "b", "c"])[np.digitize(NUMBERS, [-0.5, 0.5])]
FEW = {"n_estimators": 2}
MODELS = {
    "boosted classes": (hr.GradientBoostingClassifier(**FEW), THREE),
    "calibrated": (hr.GradientBoostingClassifier(**FEW, calibration="sigmoid"), TWO),
    "labels": (hr.GradientBoostingClassifier(**FEW), np.column_stack([TWO, 1 - TWO])),
    "intervals": (hr.GradientBoostingRegressor(**FEW, calibration="conformal"), NUMBERS),
    "quantiles": (
        hr.GradientBoostingRegressor(**FEW, loss="quantile", quantile=[0.1, 0.9]),
        NUMBERS,
    ),
    "slopes": (hr.GradientBoostingRegressor(**FEW, linear_leaves=True), NUMBERS),
    "survival": (hr.GradientBoostingSurvival(**FEW), np.abs(NUMBERS) + 0.1),
    "forest": (hr.RandomForestClassifier(**FEW), THREE),
    "random trees": (hr.ExtraTreesRegressor(**FEW), NUMBERS),
    "tree": (hr.DecisionTreeRegressor(), NUMBERS),
    "bag": (hr.BaggingClassifier(**FEW), THREE),
    "bag of others": (hr.BaggingClassifier(LogisticRegression(), **FEW, n_jobs=1), THREE),
    "bag of numbers": (hr.BaggingRegressor(Ridge(), **FEW, n_jobs=1), NUMBERS),
    "committee": (hr.AdaBoostClassifier(**FEW), THREE),
    "median": (hr.AdaBoostRegressor(**FEW), NUMBERS),
    "committee of others": (hr.AdaBoostClassifier(LogisticRegression(), **FEW), TWO),
    "median of others": (hr.AdaBoostRegressor(Ridge(), **FEW), NUMBERS),
    "stagewise": (hr.StagewiseClassifier(**FEW), THREE),
    "stagewise of others": (hr.StagewiseRegressor(Ridge(), **FEW), NUMBERS),
    "start by others": (hr.StagewiseClassifier(**FEW, init=LogisticRegression()), TWO),
    "neighbours": (hr.KNeighborsClassifier(), THREE),
    "neighbours by Gower": (hr.KNeighborsRegressor(metric="gower"), NUMBERS),
    "radius": (hr.RadiusNeighborsClassifier(radius=9.0), TWO),
    "machine": (hr.SVC(), THREE),
    "linear kernel": (hr.SVC(kernel="linear"), TWO),
    "machine of numbers": (hr.NuSVR(), NUMBERS),
    "one class": (hr.OneClassSVM(), None),
    "linear machine": (hr.LinearSVC(), THREE),
    "linear numbers": (hr.LinearSVR(), NUMBERS),
}
METHODS = [
    *("predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples"),
    *("apply", "kneighbors", "radius_neighbors", "predict_interval", "predict_quantiles"),
    *("staged_predict", "staged_predict_proba", "staged_decision_function"),
]


def kind_of(found):
    """Return dtypes and shapes, without the number of rows."""
    if isinstance(found, tuple | list) or hasattr(found, "__next__"):
        return [kind_of(one) for one in found]
    found = np.asarray(found)
    return found.dtype.kind, found.shape[1:]


@pytest.mark.parametrize(("model", "y"), MODELS.values(), ids=MODELS)
def test_predictions_of_no_rows_are_empty(model, y):
    model = model.fit(X) if y is None else model.fit(X, y)
    answered = 0
    for method in METHODS:
        if not hasattr(model, method):
            continue
        ask = getattr(model, method)
        try:
            expected = kind_of(ask(X[:2]))
        except hr.ParameterError:
            continue
        assert kind_of(ask(X[:0])) == expected
        answered += 1
    assert answered
    nothing = model.predict(pd.DataFrame(X).head(0))
    assert len(nothing) == len(model.predict(X[:0])) == 0
    assert nothing.dtype == model.predict(X[:1]).dtype


def test_sparse_tables_and_dicts_of_no_rows():
    sparse = scipy.sparse.csr_array(X)
    for model in (hr.SVC(), hr.KNeighborsClassifier(), hr.GradientBoostingClassifier(**FEW)):
        assert model.fit(sparse, TWO).predict(sparse[:0]).shape == (0,)


def test_no_rows_of_given_distances_and_kernels():
    kernels = X @ X.T
    machine = hr.SVC(kernel="precomputed").fit(kernels, TWO)
    assert machine.predict(kernels[:0]).shape == (0,)
    neighbours = hr.KNeighborsClassifier(metric="precomputed").fit(np.abs(kernels), TWO)
    assert neighbours.predict(kernels[:0]).shape == (0,)


def test_no_rows_have_no_shapley_values():
    for interactions in (False, True):
        model = hr.GradientBoostingClassifier(**FEW).fit(X, THREE)
        some = hr.explain.shap_values(model, X[:2], interactions=interactions)
        none = hr.explain.shap_values(model, X[:0], interactions=interactions)
        assert none.values.shape == (0, *some.values.shape[1:])
        assert none.base_values.shape == (0, 3)
        assert none.data.shape == (0, 3)


def test_what_needs_rows_says_so():
    model = hr.GradientBoostingRegressor(**FEW).fit(X, NUMBERS)
    for ask in (
        lambda: model.fit(X[:0], NUMBERS[:0]),
        lambda: hr.explain.partial_dependence(model, X[:0], 0),
        lambda: hr.explain.permutation_importance(model, X[:0], NUMBERS[:0]),
        lambda: hr.explain.shap_values(model, X, background=X[:0]),
        lambda: hr.explain.importance(model, "shap", X=X[:0]),
        lambda: hr.report(model, X[:0], NUMBERS[:0], "unwritten.html"),
    ):
        with pytest.raises(hr.DataError, match=r"0 sample\(s\)"):
            ask()
    with pytest.raises(hr.DataError, match=r"0 feature\(s\)"):
        model.predict(np.empty((0, 0)))


@pytest.mark.parametrize("name", ["boosted classes", "forest", "bag of others", "stagewise"])
def test_an_empty_list_of_records_is_a_table_without_rows(name):
    model, y = MODELS[name]
    for table in (pd.DataFrame(X, columns=["a", "b", "c"]), X):
        expected = model.fit(table, y).predict(table[:0])
        found = model.predict([])
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
