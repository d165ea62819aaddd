"""Survival times in every form that they may have."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hedgerow import DataError
from hedgerow._data.survival_times import read_survival_times

TIME = np.array([3.0, 1.5, 2.0, 0.5])
SEEN = np.array([True, False, True, False])
BOUNDS = np.column_stack([TIME, np.where(SEEN, TIME, np.inf)])


def structured(names, first=np.bool_, second=float):
    array = np.empty(4, dtype=[(names[0], first), (names[1], second)])
    array[names[0]], array[names[1]] = (SEEN, TIME) if first is np.bool_ else (TIME, SEEN)
    return array


@pytest.mark.parametrize(
    "y",
    [
        structured(("event", "time")),
        structured(("months", "died"), float, np.bool_),
        structured(("event", "time"), second=np.float32),
        np.where(SEEN, TIME, -TIME),
        list(np.where(SEEN, TIME, -TIME)),
        pd.Series(np.where(SEEN, TIME, -TIME)),
        pd.DataFrame({"time": TIME, "event": SEEN}),
        pl.DataFrame({"event": SEEN, "time": TIME}),
        BOUNDS,
        BOUNDS.tolist(),
        pd.DataFrame(BOUNDS),
        np.where(np.isinf(BOUNDS), np.nan, BOUNDS),
        pl.DataFrame({"lower": TIME, "upper": [3.0, None, 2.0, None]}),
    ],
)
def test_every_form_says_the_same(y):
    np.testing.assert_array_equal(read_survival_times(y, 4), BOUNDS)


@pytest.mark.parametrize("nothing", [0.0, -np.inf, np.nan])
def test_a_lower_bound_may_be_missing(nothing):
    y = np.array([[nothing, 2.0], [1.0, 3.0], [1.0, np.inf]])
    expected = [[0.0, 2.0], [1.0, 3.0], [1.0, np.inf]]
    np.testing.assert_array_equal(read_survival_times(y, 3), expected)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "target y is None"),
        (TIME[:3], "y has 3 values, but X has 4 rows"),
        (np.array([1.0, np.nan, 2.0, 3.0]), "missing or infinite in row 1"),
        (np.array([1.0, 2.0, np.inf, 3.0]), "missing or infinite in row 2"),
        (np.array(["a", "b", "c", "d"]), "y contains strings"),
        (SEEN, "y must be a structured array"),
        (np.ones((4, 3)), "y must be a structured array"),
        (np.ones((4, 2, 2)), "y must be a structured array"),
        (np.column_stack([TIME, 0.5 * TIME]), "a lower bound above the upper one in row 0"),
        (np.column_stack([-TIME, TIME]), "a negative bound in row 0"),
        (np.full((4, 2), np.inf), "a lower bound that is infinite"),
        (pd.DataFrame({"event": SEEN, "time": -TIME}), "a negative time in row 0"),
        (pd.DataFrame({"event": SEEN, "other": SEEN}), "y must be a structured array"),
    ],
)
def test_what_says_no_times_is_refused(y, message):
    with pytest.raises(DataError, match=message):
        read_survival_times(y, 4)


def test_numbers_are_not_taken_for_flags_nor_for_bounds():
    event, time = np.array([0, 1, 1]), np.array([2.0, 3.0, 4.0])
    both = np.empty(3, [("event", int), ("time", float)])
    both["event"], both["time"] = event, time
    frames = [pd.DataFrame({"event": event.astype(t), "time": time}) for t in (int, float)]
    stacked = [np.column_stack([event, time]), np.column_stack([event, time]).tolist()]
    seen = [(True, 2.0), (True, 3.0), (True, 4.0)]
    for y in (*frames, *stacked, both, seen):
        with pytest.raises(DataError, match="in which it is a bool; if it is a bound"):
            read_survival_times(y, 3)
    bounds = pd.DataFrame({"lower": event, "upper": time})
    assert read_survival_times(bounds, 3).tolist() == [[0, 2], [1, 3], [1, 4]]
    left_censored = np.column_stack([np.zeros(3), time])
    assert read_survival_times(left_censored, 3).tolist() == left_censored.tolist()


def test_bools_among_objects_are_flags():
    time = np.array([2.0, 3.0, 4.0])
    frame = pd.DataFrame({"event": np.array([False, True, True], object), "time": time})
    assert read_survival_times(frame, 3).tolist() == [[2, np.inf], [3, 3], [4, 4]]
