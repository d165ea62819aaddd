"""Calibrated probabilities and intervals that cover what they are asked to."""

import math

import numpy as np
import pytest
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss

import hedgerow as hr
from contract import SINCE_1_8
from hedgerow import (
    DataError,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ModelFileError,
    ParameterError,
)
from hedgerow._boosting.fit.calibration import fit_calibration, interval
from hedgerow._boosting.losses import CONSTANT_SPREAD, Spread
from hedgerow._model_file import boosted
from hedgerow._model_file.stored import Stored

RNG = np.random.default_rng(11)
N = 9_000
X = RNG.normal(size=(N, 4))
SIGNAL = np.sin(2 * X[:, 0]) + X[:, 1]
SPREAD = 0.2 + np.abs(X[:, 2])
NUMBERS = SIGNAL + SPREAD * RNG.normal(size=N)
LABELS = (RNG.random(N) < expit(2 * SIGNAL)).astype(int)
THREE = np.array(["a", "b", "c"])[np.digitize(NUMBERS, [-0.5, 0.7])]
FIT, HOLDOUT, TEST = slice(0, 3_000), slice(3_000, 6_000), slice(6_000, N)
# Learns by heart, so that its own probabilities are too sure.
EAGER = {"n_estimators": 150, "learning_rate": 0.3, "min_samples_leaf": 5}


def expected_gap(y, p):
    """Return the mean distance between probability and frequency, over ten bins."""
    bins = np.minimum((p * 10).astype(int), 9)
    gaps = [abs(y[bins == b].mean() - p[bins == b].mean()) * (bins == b).mean() for b in set(bins)]
    return sum(gaps)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_probabilities_become_frequencies(method):
    model = GradientBoostingClassifier(**EAGER).fit(X[FIT], LABELS[FIT])
    before = model.predict_proba(X[TEST])
    model.calibrate(X[HOLDOUT], LABELS[HOLDOUT], method=method)
    after = model.predict_proba(X[TEST])
    assert expected_gap(LABELS[TEST], after[:, 1]) < 0.5 * expected_gap(LABELS[TEST], before[:, 1])
    assert log_loss(LABELS[TEST], after) < log_loss(LABELS[TEST], before)
    np.testing.assert_array_equal(model.predict(X[TEST]), after.argmax(axis=1))


@pytest.mark.parametrize("method", ["sigmoid", *(["temperature"] if SINCE_1_8 else [])])
@pytest.mark.parametrize("y", [LABELS, THREE], ids=["two", "three"])
def test_calibrations_are_scikit_learn_s(method, y):
    model = GradientBoostingClassifier(**EAGER | {"n_estimators": 30}).fit(X[FIT], y[FIT])
    theirs = CalibratedClassifierCV(FrozenEstimator(model), method=method).fit(
        X[HOLDOUT], y[HOLDOUT]
    )
    expected = theirs.predict_proba(X[TEST])
    ours = model.calibrate(X[HOLDOUT], y[HOLDOUT], method=method).predict_proba(X[TEST])
    np.testing.assert_allclose(ours, expected, atol=2e-3 if method == "temperature" else 1e-3)


@pytest.mark.parametrize("y", [LABELS, THREE], ids=["two", "three"])
def test_isotonic_calibration_is_near_scikit_learn_s_and_better(y):
    model = GradientBoostingClassifier(**EAGER | {"n_estimators": 30}).fit(X[FIT], y[FIT])
    theirs = CalibratedClassifierCV(FrozenEstimator(model), method="isotonic")
    expected = theirs.fit(X[HOLDOUT], y[HOLDOUT]).predict_proba(X[TEST])
    ours = model.calibrate(X[HOLDOUT], y[HOLDOUT], method="isotonic").predict_proba(X[TEST])
    assert np.abs(ours - expected).mean() < 0.02
    assert log_loss(y[TEST], ours) < log_loss(y[TEST], expected)


def test_rows_are_held_out_for_it():
    model = GradientBoostingClassifier(**EAGER, calibration="sigmoid", calibration_fraction=0.25)
    model.fit(X[FIT], LABELS[FIT])
    assert model._model.ensemble.count[0] == 2_250
    plain = GradientBoostingClassifier(**EAGER).fit(X[FIT], LABELS[FIT])
    ours, other = (log_loss(LABELS[TEST], m.predict_proba(X[TEST])) for m in (model, plain))
    assert ours < other


LOSSES = {
    "quantiles": {"loss": "quantile", "quantile": [0.05, 0.5, 0.95]},
    "many quantiles": {"loss": "quantile", "quantile": [0.05, 0.1, 0.25, 0.75, 0.9, 0.95]},
    "squared_error": {"loss": "squared_error"},
    "median": {"loss": "quantile", "quantile": 0.5},
}


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("loss", LOSSES)
def test_intervals_cover_what_they_are_asked_to(loss, coverage):
    model = GradientBoostingRegressor(**LOSSES[loss], n_estimators=60, calibration="conformal")
    model.set_params(calibration_fraction=0.5).fit(X[: 2 * N // 3], NUMBERS[: 2 * N // 3])
    low, high = model.predict_interval(X[TEST], coverage).T
    assert (low <= high).all()
    inside = (NUMBERS[TEST] >= low) & (NUMBERS[TEST] <= high)
    assert inside.mean() == pytest.approx(coverage, abs=0.02)


def test_quantiles_make_intervals_as_wide_as_rows_are_uncertain():
    options = {"n_estimators": 60, "calibration": "conformal"}
    by_quantiles = GradientBoostingRegressor(**LOSSES["quantiles"], **options)
    constant = GradientBoostingRegressor(**options)
    for model in (by_quantiles, constant):
        model.fit(X[: 2 * N // 3], NUMBERS[: 2 * N // 3])
    width = np.diff(by_quantiles.predict_interval(X[TEST]), axis=1)[:, 0]
    assert np.corrcoef(width, SPREAD[TEST])[0, 1] > 0.7
    same = np.diff(constant.predict_interval(X[TEST]), axis=1)[:, 0]
    np.testing.assert_allclose(same, same[0])
    assert width.mean() < same.mean()


def test_the_median_miss_is_at_the_right_rank():
    """Of m misses the ⌈(m + 1) c⌉-th is taken: a new one is below it with that probability."""
    model = GradientBoostingRegressor(n_estimators=5).fit(X[FIT], NUMBERS[FIT])
    covered = []
    for start in range(3_000, 8_990, 10):
        model.calibrate(X[start : start + 9], NUMBERS[start : start + 9])
        low, high = model.predict_interval(X[start + 9 : start + 10], 0.8)[0]
        covered.append(low <= NUMBERS[start + 9] <= high)
    assert np.mean(covered) == pytest.approx(0.8, abs=0.05)


def test_margins_are_those_of_the_definition():
    """Of the misses, sorted, that of rank ⌈(m + 1) c⌉ is added at both ends."""
    rng = np.random.default_rng(3)
    levels, at = (0.1, 0.5, 0.9), np.sort(rng.normal(size=(7, 3)), axis=1)
    for m, coverage in [(4, 0.75), (9, 0.8), (9, 0.85), (50, 0.7), (101, 0.9)]:
        rank = math.ceil(round((m + 1) * coverage, 9))
        residuals = rng.normal(size=(m, 3)) - [1, 0, -1]
        half = np.sort(np.abs(residuals[:, 1]))[rank - 1]
        bounds = interval(at[:, 1], residuals[:, 1:2], None, coverage)
        np.testing.assert_array_equal(bounds, np.column_stack([at[:, 1] - half, at[:, 1] + half]))
        margin = sorted(max(-low, high) for low, _, high in residuals)[rank - 1]
        bounds = interval(at, residuals, levels, coverage)
        np.testing.assert_array_equal(bounds, at[:, [0, 2]] + [-margin, margin])


def test_of_pairs_of_quantiles_that_cover_as_much_the_symmetric_one_is_taken():
    levels, at = (0.1, 0.25, 0.6, 0.75), np.array([[1.0, 2.0, 3.0, 4.0]])
    np.testing.assert_array_equal(interval(at, np.zeros((9, 4)), levels, 0.5), [[2.0, 4.0]])
    np.testing.assert_array_equal(interval(at, np.zeros((9, 4)), levels, 0.35), [[2.0, 3.0]])


def test_ends_that_would_pass_each_other_meet_half_way():
    at, missed_by_little = np.array([[0.0, 1.0], [0.0, 10.0]]), np.tile([3.0, -3.0], (9, 1))
    bounds = interval(at, missed_by_little, (0.1, 0.9), 0.8)
    np.testing.assert_array_equal(bounds, [[0.5, 0.5], [3.0, 7.0]])


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("y", [LABELS, THREE], ids=["two", "three"])
def test_a_weight_of_two_is_a_row_twice(method, y):
    model = GradientBoostingClassifier(**EAGER | {"n_estimators": 10}).fit(X[FIT], y[FIT])
    weights = np.where(NUMBERS[HOLDOUT] > 0, 2.0, 1.0)
    weighted = model.calibrate(X[HOLDOUT], y[HOLDOUT], weights, method=method).predict_proba(
        X[TEST]
    )
    rows = np.repeat(np.arange(3_000, 6_000), weights.astype(int))
    repeated = model.calibrate(X[rows], y[rows], method=method).predict_proba(X[TEST])
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)
    plain = model.calibrate(X[HOLDOUT], y[HOLDOUT], method=method).predict_proba(X[TEST])
    assert np.abs(weighted - plain).max() > 1e-3


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_files_keep_calibrations(method, tmp_path):
    model = GradientBoostingClassifier(n_estimators=5, calibration=method).fit(X, THREE)
    model.save(tmp_path / "m")
    loaded = hr.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    regressor = GradientBoostingRegressor(n_estimators=5, calibration="conformal").fit(X, NUMBERS)
    regressor.save(tmp_path / "r")
    loaded = hr.load(tmp_path / "r")
    np.testing.assert_array_equal(loaded.predict_interval(X), regressor.predict_interval(X))


def test_what_cannot_be_calibrated_is_named():
    regressor = GradientBoostingRegressor(n_estimators=2).fit(X, NUMBERS)
    with pytest.raises(ParameterError, match="predict_interval needs a calibrated model"):
        regressor.predict_interval(X)
    regressor.calibrate(X[:5], NUMBERS[:5])
    with pytest.raises(ParameterError, match=r"coverage=0\.9 needs at least 9 rows .* were 5"):
        regressor.predict_interval(X)
    with pytest.raises(ParameterError, match="coverage=1"):
        regressor.predict_interval(X, 1)
    classifier = GradientBoostingClassifier(n_estimators=2).fit(X, LABELS)
    with pytest.raises(DataError, match="at least two classes"):
        classifier.calibrate(X[:3], np.zeros(3, int))
    with pytest.raises(ParameterError, match="calibration='platt'"):
        classifier.calibrate(X, LABELS, method="platt")
    with pytest.raises(ParameterError, match="loss='hinge' cannot be calibrated"):
        GradientBoostingClassifier(n_estimators=2, loss="hinge", calibration="sigmoid").fit(
            X, LABELS
        )
    with pytest.raises(
        DataError, match=r"calibration_fraction=0\.01 of 20 rows is less than one row"
    ):
        GradientBoostingRegressor(calibration="conformal", calibration_fraction=0.01).fit(
            X[:20], NUMBERS[:20]
        )


COUNTED = np.random.RandomState(5)
PLACE = COUNTED.random_sample((12_000, 1))
MEAN = np.exp(np.log(900.0) * PLACE[:, 0])  # 1 … 900
COUNTS = {
    "poisson": COUNTED.poisson(MEAN).astype(float),
    "gamma": MEAN * COUNTED.gamma(4.0, 0.25, len(MEAN)),
    "tweedie": np.array([COUNTED.gamma(2.0, 1.0, n).sum() for n in COUNTED.poisson(MEAN)]),
}


@pytest.mark.parametrize("coverage", [0.8, 0.95])
@pytest.mark.parametrize(("loss", "power"), [("poisson", 1.0), ("gamma", 2.0), ("tweedie", 1.5)])
def test_intervals_of_counts_are_as_wide_as_their_mean_asks_for(loss, power, coverage, tmp_path):
    inside, large, spreads = [], [], []
    for seed in range(5):  # the holdout is a sample, and so is what it covers
        model = GradientBoostingRegressor(
            loss=loss, n_estimators=100, calibration="conformal", random_state=seed
        )
        model.fit(PLACE[:8_000], COUNTS[loss][:8_000]).save(tmp_path / "m")
        ends = model.predict_interval(PLACE[8_000:], coverage)
        np.testing.assert_array_equal(
            hr.load(tmp_path / "m").predict_interval(PLACE[8_000:], coverage), ends
        )
        low, high = ends.T
        assert (low >= 0.0).all()
        y, mean = COUNTS[loss][8_000:], model.predict(PLACE[8_000:])
        inside.append((low <= y) & (y <= high))
        large.append(mean > 30.0)
        scale = (high - mean) / mean ** (power / 2)
        spreads.append(np.ptp(scale) / scale[0])
    inside, large = np.concatenate(inside), np.concatenate(large)
    assert inside.mean() == pytest.approx(coverage, abs=0.02)
    if loss == "gamma":  # whose shape is the same at every mean, but for its scale
        assert inside[large].mean() == pytest.approx(coverage, abs=0.02)
        assert inside[~large].mean() == pytest.approx(coverage, abs=0.02)
    # Intervals grow faster only if the holdout shows that they should, here by chance and a little.
    assert min(spreads) < 1e-7
    assert max(spreads) < 0.2


def test_intervals_of_parts_stay_between_0_and_1():
    fractions = COUNTED.beta(0.3, 0.3, len(PLACE))
    model = GradientBoostingRegressor(loss="log_loss", n_estimators=5, calibration="conformal")
    low, high = model.fit(PLACE, fractions).predict_interval(PLACE, 0.99).T
    assert low.min() >= 0.0
    assert high.max() <= 1.0


def test_a_file_without_a_spread_has_even_intervals():
    model = GradientBoostingRegressor(n_estimators=3, calibration="conformal")
    model.fit(PLACE, COUNTS["poisson"])
    document, arrays = boosted.write(model)
    del document["spread"]
    read = boosted.read(type(model), Stored(document, arrays))
    assert read["_model"].spread == CONSTANT_SPREAD


@pytest.mark.parametrize(
    ("loss", "spread"),
    [
        ("poisson", [1.0, 0.0]),
        ("poisson", ["1", 0.0, 1.0]),
        ("poisson", [2.5, 0.0, 1.0]),
        ("poisson", [float("nan"), 0.0, 1.0]),
        ("poisson", [1.0, 1.0, 0.0]),
        ("squared_error", [1.0, 0.0, 1.0]),
    ],
)
def test_a_file_with_a_wrong_spread_is_refused(loss, spread):
    model = GradientBoostingRegressor(loss=loss, n_estimators=1, calibration="conformal")
    model.fit(PLACE[:100], COUNTS["poisson"][:100])
    document, arrays = boosted.write(model)
    document["spread"] = boosted.encode(spread)
    with pytest.raises(ModelFileError, match="spread"):
        boosted.read(type(model), Stored(document, arrays))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_isotonic_probabilities_of_few_rows_are_never_certain(n_classes):
    X, y = make_classification(
        3750, 20, n_informative=6, flip_y=0.15, class_sep=0.8, n_classes=n_classes, random_state=1
    )
    losses = {}
    for method in ("isotonic", "sigmoid", None):
        model = GradientBoostingClassifier(n_estimators=60, calibration=method)
        p = model.fit(X[:750], y[:750]).predict_proba(X[750:])
        assert 0.0 < p.min() < p.max() < 1.0
        losses[method] = log_loss(y[750:], p)
    assert losses["isotonic"] < 1.05 * losses["sigmoid"]
    assert losses["isotonic"] < 1.05 * losses[None]


def test_a_block_of_an_isotonic_calibration_has_laplaces_estimate():
    scores, classes = np.array([[-2.0], [-1.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 0, 1])
    calibration = fit_calibration("isotonic", scores, classes, None)
    np.testing.assert_allclose(calibration.x, [-1.5, 1.5, 3.0])
    np.testing.assert_allclose(calibration.y, [1 / 4, 2 / 4, 2 / 3])


def test_intervals_of_counts_cover_large_means_as_well():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(7000, 4))
    mean = np.exp(2 + 0.9 * rows[:, 0] + 0.5 * np.sin(2 * rows[:, 1]) + 0.3 * rows[:, 2])
    counts = rng.poisson(mean)
    model = GradientBoostingRegressor(loss="poisson", calibration="conformal", n_estimators=60)
    model.fit(rows[:3000], counts[:3000])
    loaded = boosted.read(type(model), Stored(*boosted.write(model)))["_model"]
    assert loaded.spread == model._model.spread
    ends = model.predict_interval(rows[3000:], 0.8)
    covered = (ends[:, 0] <= counts[3000:]) & (counts[3000:] <= ends[:, 1])
    large = model.predict(rows[3000:]) > 30
    assert covered.mean() == pytest.approx(0.8, abs=0.05)
    assert covered[large].mean() > 0.72  # with the root of the mean alone, 0.64


@pytest.mark.parametrize("n_rows", [1, 2, 50])
def test_an_excess_is_not_learned_from_misses_without_a_trend(n_rows):
    scores = np.linspace(-700.0, 700.0, n_rows)[:, None]
    assert Spread(1.0).learned_from(scores, np.zeros((n_rows, 1))).excess == 0.0
    even = Spread(1.0).learned_from(scores, Spread(1.0).scale(scores))
    assert np.isfinite(even.scale(scores)).all()
