"""Survival curves against scipy's distributions, and steps of hazards by hand."""

import numpy as np
import pytest
from scipy import stats

from hedgerow._boosting.survival_curves import AcceleratedTimes, ProportionalHazards

SCORES = np.array([-1.0, 0.0, 2.0])
TIMES = np.array([0.0, 0.01, 1.0, 3.0, 1e5])
OF_TIME = {
    "normal": lambda s: stats.lognorm(0.7, scale=np.exp(s)),
    "logistic": lambda s: stats.burr12(1 / 0.7, 1.0, scale=np.exp(s)),  # Burr's with d = 1
    "extreme": lambda s: stats.weibull_min(1 / 0.7, scale=np.exp(s)),
}


@pytest.mark.parametrize("distribution", OF_TIME)
def test_accelerated_times_are_log_normal_log_logistic_or_weibull(distribution):
    curve = AcceleratedTimes(distribution, 0.7)
    hazard = curve.cumulative_hazard(SCORES, TIMES)
    for row, score in enumerate(SCORES):
        of_time = OF_TIME[distribution](score)
        np.testing.assert_allclose(np.exp(-hazard[row]), of_time.sf(TIMES), rtol=1e-10, atol=1e-300)
        for level in (0.01, 0.5, 0.9):
            assert curve.quantile(SCORES, level)[row] == pytest.approx(of_time.ppf(level))


def test_proportional_hazards_step_at_events():
    curve = ProportionalHazards(np.array([1.0, 2.0, 5.0]), np.array([0.1, 0.3, 0.9]))
    at = np.array([0.0, 0.999, 1.0, 1.5, 2.0, 5.0, 9.0])
    expected = np.array([0.0, 0.0, 0.1, 0.1, 0.3, 0.9, 0.9])
    np.testing.assert_allclose(
        curve.cumulative_hazard(SCORES, at), np.exp(SCORES)[:, np.newaxis] * expected
    )
    # Half survive where the hazard is log 2: beyond all steps of the first row.
    np.testing.assert_array_equal(curve.quantile(SCORES, 0.5), [np.inf, 5.0, 1.0])
    assert np.isinf(curve.cumulative_hazard(np.array([1e4]), at[2:])).all()
    assert not curve.cumulative_hazard(np.array([1e4]), at[:2]).any()


def test_a_quantile_is_where_the_curve_passes_it():
    curve = ProportionalHazards(np.array([1.0, 2.0, 5.0]), np.array([0.1, 0.3, 0.9]))
    for level in (0.05, 0.2, 0.5):
        time = curve.quantile(SCORES, level)
        for row in np.flatnonzero(np.isfinite(time)):
            own = SCORES[[row]]
            after = np.exp(-curve.cumulative_hazard(own, time[[row]]))[0, 0]
            before = np.exp(-curve.cumulative_hazard(own, time[[row]] - 1e-9))[0, 0]
            assert after <= 1 - level < before
