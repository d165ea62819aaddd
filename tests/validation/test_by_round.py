"""The number of rounds by cross-validation: the mean curve over folds, against a loop."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import log_loss, root_mean_squared_error

import hedgerow as hr
from hedgerow.exceptions import ParameterError

FEW = {"n_estimators": 6}


def test_the_curve_of_a_regressor_is_that_of_its_staged_predictions():
    X, y = load_diabetes(return_X_y=True)
    model = hr.GradientBoostingRegressor(max_leaves=4, learning_rate=0.5, **FEW)
    validation = hr.cross_validate(model, X, y, cv=3)
    curves = validation.by_round(X, y)
    expected = [
        [root_mean_squared_error(y[f.test], s) for s in m.staged_predict(X[f.test])]
        for m, f in zip(validation.models, validation.folds, strict=True)
    ]
    np.testing.assert_allclose(curves.folds, expected, rtol=1e-12)
    np.testing.assert_allclose(curves.mean, np.mean(expected, axis=0))
    assert curves.best_round == np.mean(expected, axis=0).argmin() + 1
    assert curves.one_standard_error_round <= curves.best_round
    limit = curves.mean.min() + curves.standard_error[curves.best_round - 1]
    assert curves.mean[curves.one_standard_error_round - 1] <= limit
    assert (curves.mean[: curves.one_standard_error_round - 1] > limit).all()


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
@pytest.mark.parametrize(
    "model",
    [hr.AdaBoostClassifier(max_depth=2, **FEW), hr.StagewiseClassifier(**FEW)],
    ids=["AdaBoost", "stagewise"],
)
def test_the_curve_of_a_classifier_is_its_log_loss(load, model):
    X, y = load(return_X_y=True)
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    validation = hr.cross_validate(model, X, y, cv=2, sample_weight=w)
    curves = validation.by_round(X, y, sample_weight=w)
    fitted, fold = validation.models[1], validation.folds[1].test
    expected = [
        log_loss(y[fold], p, sample_weight=w[fold]) for p in fitted.staged_predict_proba(X[fold])
    ]
    n_rounds = curves.folds.shape[1]
    np.testing.assert_allclose(curves.folds[1], expected[:n_rounds], rtol=1e-9)
    accuracy = validation.by_round(X, y, "accuracy")
    assert accuracy.higher_is_better
    assert accuracy.best_round == accuracy.mean.argmax() + 1
    assert accuracy.plot().get_ylabel() == "accuracy"
    assert "2 folds" in repr(accuracy)


def test_models_without_rounds_and_unknown_metrics_are_refused():
    X, y = load_iris(return_X_y=True)
    validation = hr.cross_validate(hr.DecisionTreeClassifier(), X, y, cv=2)
    with pytest.raises(ParameterError, match="has no staged_predict_proba"):
        validation.by_round(X, y)
    with pytest.raises(ParameterError, match="metric='rmse' is not allowed"):
        validation.by_round(X, y, "rmse")
