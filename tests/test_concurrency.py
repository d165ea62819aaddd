"""Forks, threads and worker processes: right results, and no hang."""

import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np
import pytest
import scipy.sparse
from joblib import Parallel, delayed
from sklearn.base import clone
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


def parts(value, seen):
    """Yield the library's objects within an object."""
    if id(value) in seen:
        return
    seen[id(value)] = value
    inside = []
    if isinstance(value, dict | list | tuple):
        inside = value.values() if isinstance(value, dict) else value
    elif type(value).__module__.startswith("hedgerow") and hasattr(value, "__dict__"):
        yield value
        inside = vars(value).values()
    for part in list(inside):
        yield from parts(part, seen)


@pytest.mark.parametrize(
    "model",
    [
        hr.GradientBoostingClassifier(n_estimators=2),
        hr.RandomForestClassifier(n_estimators=2),
        hr.BaggingClassifier(hr.DecisionTreeClassifier(max_depth=2), n_estimators=2),
        hr.AdaBoostClassifier(n_estimators=2),
        hr.KNeighborsClassifier(),
        hr.SVC(),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("rows", [np.asarray, scipy.sparse.csr_array])
def test_what_other_threads_may_add_to_is_copied_before_it_is_pickled(model, rows):
    X = rows(np.random.default_rng(0).normal(size=(60, 3)).round(1))
    model = clone(model).fit(X, np.arange(60) % 2)
    model.predict(X)
    checked = 0
    for part in parts(model, {}):
        grows = any(isinstance(getattr(type(part), n, None), cached_property) for n in dir(part))
        if grows or part is model:
            state = part.__reduce_ex__(4)[2]
            assert state is not vars(part), type(part)
            checked += 1
    assert checked >= 2
