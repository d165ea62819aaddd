"""Offsets in everything that compares predictions with targets: reports, importances, curves."""

import matplotlib as mpl
import numpy as np
import pytest
from scipy.special import expit
from sklearn.inspection import permutation_importance
from sklearn.metrics import roc_auc_score

import hedgerow as hr
from hedgerow._reporting.summary import ReportOptions, summarise
from hedgerow.theory import objective, structure_score

mpl.use("Agg")
RNG = np.random.default_rng(5)
N = 300
X = RNG.normal(size=(N, 3)).round(1)
OFFSET = RNG.normal(0.5, 1.0, N)
SIGNAL = X[:, 0] + (X[:, 1] > 0)
NUMBERS = SIGNAL + OFFSET + RNG.normal(0, 0.3, N)
CLASSES = (RNG.random(N) < expit(2 * SIGNAL - 1 + OFFSET)).astype(int)
REGRESSOR = hr.GradientBoostingRegressor(n_estimators=8).fit(X, NUMBERS, offset=OFFSET)
CLASSIFIER = hr.GradientBoostingClassifier(n_estimators=8).fit(X, CLASSES, offset=OFFSET)
FOREST = hr.RandomForestClassifier(n_estimators=2).fit(X, CLASSES)


class Shifted(hr.GradientBoostingRegressor):
    """A regressor that adds the offset by itself, for libraries that know of none."""

    def predict(self, table):
        return REGRESSOR.predict(table, offset=OFFSET)


@pytest.mark.parametrize("scoring", [None, "rmse", "neg_mean_absolute_error"])
def test_permutation_importance_is_that_of_predictions_with_the_offset(scoring):
    options = {"n_repeats": 2, "random_state": 3}
    found = hr.explain.permutation_importance(
        REGRESSOR, X, NUMBERS, scoring=scoring, offset=OFFSET, **options
    )
    known = {None: "r2", "rmse": "neg_root_mean_squared_error"}.get(scoring, scoring)
    expected = permutation_importance(Shifted(), X, NUMBERS, scoring=known, **options)
    np.testing.assert_allclose(found.repeats, expected.importances, rtol=1e-9, atol=1e-12)


def test_permutation_importance_of_a_sample_takes_the_offsets_of_its_rows():
    options = {"scoring": "log_loss", "offset": OFFSET, "n_repeats": 1}
    of_sample = hr.explain.permutation_importance(
        CLASSIFIER, X, CLASSES, max_samples=0.5, **options
    )
    everything = hr.explain.permutation_importance(CLASSIFIER, X, CLASSES, **options)
    p = CLASSIFIER.predict_proba(X, offset=OFFSET)[np.arange(N), CLASSES]
    np.testing.assert_allclose(everything.baseline, -np.log(p).mean())
    assert of_sample.baseline != everything.baseline


def test_a_report_evaluates_predictions_with_the_offset():
    options = ReportOptions("title", "y", n_mistakes=1, n_bootstrap=0, seed=0)
    summary = summarise(REGRESSOR, X, NUMBERS, options, offset=OFFSET)
    rows = {row["name"]: row["value"] for row in summary["outcomes"][0]["metrics"]}
    residuals = NUMBERS - REGRESSOR.predict(X, offset=OFFSET)
    np.testing.assert_allclose(rows["RMSE"], np.sqrt(np.mean(residuals**2)))
    assert summary["has_offset"]


def test_rounds_of_a_cross_validation_add_the_offset():
    validation = hr.cross_validate(
        *(hr.GradientBoostingRegressor(n_estimators=5), X, NUMBERS),
        cv=2,
        scoring="rmse",
        offset=OFFSET,
    )
    rounds = validation.by_round(X, NUMBERS, "rmse", offset=OFFSET)
    np.testing.assert_allclose(rounds.folds[:, -1], validation.scores["rmse"])


def test_theory_adds_the_offset():
    predicted = REGRESSOR.predict(X, offset=OFFSET)
    found = objective(REGRESSOR, X, NUMBERS, offset=OFFSET)
    np.testing.assert_allclose(found.loss[-1], 0.5 * np.sum((NUMBERS - predicted) ** 2))
    score = structure_score(CLASSIFIER, X, CLASSES, offset=OFFSET)
    np.testing.assert_allclose(score.recomputed, score.score, rtol=1e-5)


def test_displays_add_the_offset():
    p = CLASSIFIER.predict_proba(X, offset=OFFSET)[:, 1]
    calibration = hr.plot.CalibrationDisplay.from_estimator(CLASSIFIER, X, CLASSES, offset=OFFSET)
    np.testing.assert_array_equal(calibration.y_prob, p)
    roc = hr.plot.RocCurvesDisplay.from_estimator(CLASSIFIER, X, CLASSES, offset=OFFSET)
    same = hr.plot.RocCurvesDisplay.from_estimators([CLASSIFIER], X, CLASSES, offset=OFFSET)
    np.testing.assert_allclose(roc.curves[0].area, roc_auc_score(CLASSES, p))
    assert roc.curves[0].area == same.curves[0].area
    drawn = hr.plot.ResidualDisplay.from_estimator(REGRESSOR, X, NUMBERS, offset=OFFSET)
    np.testing.assert_array_equal(drawn.y_pred, REGRESSOR.predict(X, offset=OFFSET))
    mpl.pyplot.close("all")


@pytest.mark.parametrize(
    "evaluate",
    [
        lambda: hr.explain.permutation_importance(FOREST, X, CLASSES, offset=OFFSET),
        lambda: hr.plot.CalibrationDisplay.from_estimator(FOREST, X, CLASSES, offset=OFFSET),
        lambda: hr.report(FOREST, X, CLASSES, "page.html", offset=OFFSET),
    ],
)
def test_models_without_offsets_refuse_them(evaluate):
    with pytest.raises(
        hr.ParameterError, match=r"offset: .*RandomForestClassifier.*gradient boost"
    ):
        evaluate()


def test_an_offset_of_other_rows_is_refused():
    with pytest.raises(hr.DataError, match="offset"):
        hr.explain.permutation_importance(REGRESSOR, X, NUMBERS, offset=OFFSET[:9])


def test_one_offset_for_all_rows_is_refused_before_the_report_is_written(tmp_path):
    with pytest.raises(hr.DataError, match=r"offset has no rows: it is 1\.5"):
        hr.report(REGRESSOR, X, NUMBERS, tmp_path / "report.html", offset=1.5)
    assert not list(tmp_path.iterdir())
    with pytest.raises(hr.DataError, match=r"offset has no rows: it is 1\.5"):
        hr.explain.permutation_importance(REGRESSOR, X, NUMBERS, offset=1.5)
