"""Forks, threads and worker processes: right results, and no hang."""

import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.datasets import make_classification

import hedgerow as hr

X, Y = make_classification(40_000, 20, random_state=0)


def fitted(n_jobs=2, **parameters):
    return hr.GradientBoostingClassifier(n_estimators=10, n_jobs=n_jobs, **parameters).fit(X, Y)


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture(scope="module")
def expected(model):
    return model.predict_proba(X)


def _fit_in_child(connection):
    connection.send(fitted().predict_proba(X))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_forked_after_a_fit_fits_the_same_model(expected):
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=_fit_in_child, args=(theirs,))
    child.start()
    np.testing.assert_array_equal(ours.recv(), expected)
    child.join()
    assert child.exitcode == 0


def test_eight_threads_predict_at_once(model, expected):
    with ThreadPoolExecutor(8) as pool:
        for probabilities in pool.map(lambda _: model.predict_proba(X), range(24)):
            np.testing.assert_array_equal(probabilities, expected)


def test_prediction_and_fits_run_at_the_same_time(model, expected):
    with ThreadPoolExecutor(6) as pool:
        fits = [pool.submit(fitted) for _ in range(3)]
        predictions = [pool.submit(model.predict_proba, X) for _ in range(12)]
        for future in predictions:
            np.testing.assert_array_equal(future.result(), expected)
        for future in fits:
            np.testing.assert_array_equal(future.result().predict_proba(X), expected)


def test_an_unfitted_thread_count_does_not_matter_in_worker_processes(expected):
    results = Parallel(n_jobs=2)(delayed(fitted)(n_jobs=None) for _ in range(2))
    for model in results:
        np.testing.assert_array_equal(model.predict_proba(X), expected)
