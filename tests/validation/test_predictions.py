"""Predictions of several folds, put together."""

import numpy as np

from hedgerow._validation.predictions import OutOfFold


def test_numbers_may_be_whole_in_some_folds():
    out_of_fold = OutOfFold(3)
    out_of_fold.add(np.array([0]), np.array([1.5]))
    out_of_fold.add(np.array([2, 0]), np.array([2, 3]))
    np.testing.assert_array_equal(out_of_fold.result(), [2.25, np.nan, 2.0])


def test_whole_numbers_stay_what_they_are():
    out_of_fold = OutOfFold(3)
    out_of_fold.add(np.array([0, 1]), np.array([1, 2]))
    out_of_fold.add(np.array([2]), np.array([0.5]))
    assert out_of_fold.result().tolist() == [1.0, 2.0, 0.5]


def test_names_of_any_length_keep_it():
    out_of_fold = OutOfFold(3)
    out_of_fold.add(np.array([1]), np.array(["a"]))
    assert out_of_fold.result().tolist() == [None, "a", None]
    out_of_fold.add(np.array([0, 2]), np.array(["long", "b"]))
    assert out_of_fold.result().tolist() == ["long", "a", "b"]
