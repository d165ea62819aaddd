"""Predictions of several folds, put together."""

import numpy as np

from hedgerow._validation.predictions import OutOfFold


def test_numbers_may_be_whole_in_some_folds():
    found = OutOfFold(3)
    found.add(np.array([0]), np.array([1.5]))
    found.add(np.array([2, 0]), np.array([2, 3]))
    np.testing.assert_array_equal(found.result(), [2.25, np.nan, 2.0])


def test_whole_numbers_stay_what_they_are():
    found = OutOfFold(3)
    found.add(np.array([0, 1]), np.array([1, 2]))
    found.add(np.array([2]), np.array([0.5]))
    assert found.result().tolist() == [1.0, 2.0, 0.5]


def test_names_of_any_length_keep_it():
    found = OutOfFold(3)
    found.add(np.array([1]), np.array(["a"]))
    assert found.result().tolist() == [None, "a", None]
    found.add(np.array([0, 2]), np.array(["long", "b"]))
    assert found.result().tolist() == ["long", "a", "b"]
