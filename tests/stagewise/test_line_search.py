"""The line search: roots of slopes that are smooth, broken, without end, or wrong."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from hedgerow._stagewise.line_search import NEGLIGIBLE, line_search, shortened


@given(
    root=st.floats(1e-12, 1e12) | st.floats(-1e12, -1e-12),
    scale=st.floats(1e-100, 1e100),
    power=st.sampled_from([1, 3]),
)
def test_the_root_of_a_rising_slope_is_found_at_any_scale(root, scale, power):
    actual = line_search(
        lambda step: scale * np.sign(step - root) * abs(step / root - 1.0) ** power
    )
    assert actual == pytest.approx(root, rel=1e-14 if power == 1 else 1e-5)  # ε^⅓ where it is flat


def test_a_slope_that_jumps_over_zero_has_its_root_at_the_jump():
    assert line_search(lambda step: -2.0 if step < np.pi else 1.0) == pytest.approx(np.pi)


def test_no_slope_is_no_step():
    assert line_search(lambda step: step) == 0.0


def test_a_function_that_levels_out_has_a_finite_step():
    step = line_search(lambda step: -np.exp(-step))
    assert step == pytest.approx(-np.log(NEGLIGIBLE))


def test_overflow_is_beyond_the_step():
    with np.errstate(over="ignore"):
        step = line_search(lambda step: float(np.exp(1000.0 * step) - np.exp(700.0)))
    assert step == pytest.approx(0.7)
    assert line_search(lambda step: step - 3.0 if step < 3.5 else np.nan) == pytest.approx(3.0)


def test_a_function_without_end_is_warned_of_after_so_many_looks():
    looks = []

    def slope(step):
        looks.append(step)
        return -1.0

    with pytest.warns(ConvergenceWarning, match="decreases without bound"):
        assert line_search(slope) == 1.0
    assert len(looks) < 1000


def test_a_step_that_leads_up_is_halved_until_it_leads_down():
    assert shortened(0.75, lambda step: step**2 - step, 0.0) == 0.75
    assert shortened(3.0, lambda step: step**2 - step, 0.0) == 0.75
    assert shortened(8.0, lambda step: np.inf if step > 1.0 else -step, 0.0) == 1.0


def test_rounding_is_no_reason_to_shorten_a_step():
    assert shortened(3.0, lambda step: 1e-12 * step, 4e-12) == 3.0


def test_where_every_step_leads_up_there_is_none_and_a_warning():
    with pytest.warns(ConvergenceWarning, match="does not decrease"):
        assert shortened(1.0, lambda step: step, 1e-12) == 0.0
