"""Several ROC curves: areas and covariances by DeLong's definition, counted pair by pair."""

import matplotlib as mpl
import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import auc, roc_auc_score, roc_curve

import hedgerow as hr
from hedgerow._curves import area_and_contributions, mean_curve
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot import RocCurvesDisplay
from oracles.pictures import assert_no_overlap

mpl.use("Agg")
import matplotlib.pyplot as plt

X, Y = make_classification(120, 5, flip_y=0.2, weights=[0.7], random_state=0)
MODELS = {
    "forest": hr.RandomForestClassifier(n_estimators=10).fit(X[:60], Y[:60]),
    "boosting": hr.GradientBoostingClassifier(n_estimators=10).fit(X[:60], Y[:60]),
    "logistic": LogisticRegression().fit(X[:60], Y[:60]),
}
TEST, TRUTH = X[60:], Y[60:]
IRIS_X, IRIS_Y = load_iris(return_X_y=True)
IRIS = hr.AdaBoostClassifier(n_estimators=3).fit(IRIS_X[::2], IRIS_Y[::2])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def delong(positive, scores):
    """Areas and their covariance, from the definition: ψ of all pairs of rows."""
    psi = [
        np.array([[float(a > b) + 0.5 * float(a == b) for b in s[~positive]] for a in s[positive]])
        for s in scores
    ]
    of_positive, of_negative = ([p.mean(axis=axis) for p in psi] for axis in (1, 0))
    covariance = np.atleast_2d(np.cov(of_positive)) / positive.sum()
    covariance += np.atleast_2d(np.cov(of_negative)) / (~positive).sum()
    return np.array([p.mean() for p in psi]), covariance


@pytest.mark.parametrize("decimals", [8, 1], ids=["distinct", "ties"])
def test_areas_and_their_covariance_are_delong_s(decimals):
    scores = [m.predict_proba(TEST)[:, 1].round(decimals) for m in MODELS.values()]
    positive = TRUTH == 1
    areas, covariance = delong(positive, scores)
    found = [area_and_contributions(positive, s) for s in scores]
    contributions = np.array([c for _, c in found])
    np.testing.assert_allclose([area for area, _ in found], areas, rtol=1e-12)
    np.testing.assert_allclose(contributions @ contributions.T, covariance, rtol=1e-9, atol=1e-15)


def test_models_are_compared_by_delong_s_test():
    display = RocCurvesDisplay.from_estimators(MODELS, TEST, TRUTH)
    scores = [m.predict_proba(TEST)[:, 1] for m in MODELS.values()]
    areas, covariance = delong(TRUTH == 1, scores)
    for curve, area, variance in zip(display.curves, areas, np.diag(covariance), strict=True):
        assert curve.standard_error == pytest.approx(np.sqrt(variance))
        low, high = curve.interval
        assert high == pytest.approx(min(1.0, area + 1.959964 * np.sqrt(variance)), abs=1e-6)
        assert low <= area <= high
    frame = display.comparison.to_frame()
    assert frame["first"].tolist() == ["forest", "forest", "boosting"]
    error = np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    assert frame["difference"][0] == pytest.approx(areas[0] - areas[1])
    assert frame["high"][0] - frame["difference"][0] == pytest.approx(1.959964 * error, rel=1e-6)
    z = abs(areas[0] - areas[1]) / error
    assert frame["p_value"][0] == pytest.approx(2 * norm.sf(z), rel=1e-9)
    assert display.comparison.plot().get_xlabel().startswith("difference")


def test_classes_are_each_against_the_rest_and_their_mean_has_the_mean_area():
    truth, p = IRIS_Y[1::2], IRIS.predict_proba(IRIS_X[1::2])
    display = RocCurvesDisplay.from_estimator(IRIS, IRIS_X[1::2], truth)
    for k, curve in enumerate(display.curves[:3]):
        fpr, tpr, _ = roc_curve(truth == k, p[:, k], drop_intermediate=False)
        np.testing.assert_allclose(curve.fpr, fpr)
        np.testing.assert_allclose(curve.tpr, tpr)
    mean = display.curves[3]
    expected = roc_auc_score(truth, p, multi_class="ovr", average="macro")
    assert mean.area == pytest.approx(expected)
    assert auc(mean.fpr, mean.tpr) == pytest.approx(expected)
    assert mean.standard_error > 0.0
    colors = {tuple(line.get_color()) for line in display.ax_.lines[1:4]}
    assert len(colors) == 3


def test_the_mean_of_curves_is_the_mean_at_every_rate():
    rng = np.random.default_rng(0)
    curves = [roc_curve(rng.integers(0, 2, 30), rng.random(30))[:2] for _ in range(3)]
    fpr, tpr = mean_curve(curves)
    assert auc(fpr, tpr) == pytest.approx(np.mean([auc(*curve) for curve in curves]))
    inside = [0.101, 0.55, 0.903]  # between the steps of the curves
    expected = np.mean([np.interp(inside, *curve) for curve in curves], axis=0)
    np.testing.assert_allclose(np.interp(inside, fpr, tpr), expected)


def test_the_mean_over_classes_compares_models_of_several_classes():
    forest = hr.RandomForestClassifier(n_estimators=5, max_depth=1).fit(IRIS_X[::2], IRIS_Y[::2])
    display = RocCurvesDisplay.from_estimators([IRIS, forest], IRIS_X[1::2], IRIS_Y[1::2])
    assert [c.name for c in display.curves] == ["AdaBoostClassifier", "RandomForestClassifier"]
    expected = roc_auc_score(IRIS_Y[1::2], forest.predict_proba(IRIS_X[1::2]), multi_class="ovr")
    assert display.curves[1].area == pytest.approx(expected)


def test_the_positive_class_may_be_the_first_and_scores_may_be_margins():
    svm = hr.LinearSVC().fit(X[:60], Y[:60])
    display = RocCurvesDisplay.from_estimators([svm, svm], TEST, TRUTH, pos_label=0)
    expected = roc_auc_score(TRUTH == 0, -svm.decision_function(TEST))
    assert display.curves[0].area == pytest.approx(expected)
    assert [curve.name for curve in display.curves] == ["LinearSVC 1", "LinearSVC 2"]
    assert display.comparison.p_value[0] == 1.0


def test_texts_do_not_overlap():
    assert_no_overlap(RocCurvesDisplay.from_estimators(MODELS, TEST, TRUTH).figure_)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ParameterError, match="estimators=str is not allowed"):
        RocCurvesDisplay.from_estimators("forest", TEST, TRUTH)
    with pytest.raises(ParameterError, match="is not a fitted classifier"):
        RocCurvesDisplay.from_estimator(hr.DecisionTreeRegressor().fit(X, Y), TEST, TRUTH)
    with pytest.raises(ParameterError, match="pos_label=1 is for two classes"):
        RocCurvesDisplay.from_estimators([IRIS], IRIS_X, IRIS_Y, pos_label=1)
    with pytest.raises(DataError, match="needs rows of class"):
        RocCurvesDisplay.from_estimator(IRIS, IRIS_X[:50], IRIS_Y[:50])
