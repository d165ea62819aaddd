"""The same data, parameters and seed give the same model file, whatever runs it."""

import hashlib
import os
import subprocess
import sys

import pytest
from hedgerow._native.cpu import isa_level

from hedgerow._native import LEVELS

# Fits models that use everything random or parallel, and prints the hash of each one's file.
FIT_AND_HASH = """
import hashlib, sys, tempfile
from pathlib import Path
import numpy as np
import hedgerow as hr

def digest(model, path):
    model.save(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()

rng = np.random.default_rng(0)
n = 40_000
X = rng.standard_normal((n, 37), dtype=np.float32)
X[rng.random(X.shape) < 0.05] = np.nan
X[:, 3] = rng.integers(0, 40, n)
score = np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) + np.sin(X[:, 3])
noisy = score + rng.logistic(size=n)
sampled = {"subsample": 0.7, "colsample_bytree": 0.8, "colsample_bylevel": 0.9,
           "colsample_bynode": 0.7, "random_state": 3, "n_estimators": 6}
weights = rng.uniform(0.1, 3, n)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model"
    for n_jobs in map(int, sys.argv[1].split(",")):
        shared = sampled | {"n_jobs": n_jobs}
        binary = hr.GradientBoostingClassifier(
            categorical_features=[3], early_stopping=True, subsample_for_bin=5_000, **shared)
        classes = hr.GradientBoostingClassifier(grow_policy="levelwise", max_depth=5, **shared)
        heavy = hr.GradientBoostingRegressor(**shared)
        vector = hr.GradientBoostingClassifier(
            categorical_features=[3], multi_strategy="vector", **shared)
        columns = hr.GradientBoostingRegressor(multi_strategy="vector", reg_alpha=0.5, **shared)
        exact = hr.GradientBoostingRegressor(splitter="exact", max_depth=4, **shared)
        linear = hr.GradientBoostingClassifier(
            categorical_features=[3], linear_leaves=True, max_leaves=63, **shared)
        lines = hr.GradientBoostingRegressor(
            linear_leaves=True, multi_strategy="vector", loss="poisson", **shared)
        for model, y, rows in (
            (binary, noisy > 0, n), (classes, np.digitize(noisy, [-2, 0, 2]), 6_000),
            (heavy, np.exp(3 * noisy), n), (exact, noisy, 5_000),
            (vector, np.digitize(noisy, [-2, -1, 0, 1, 2]), n),
            (columns, np.column_stack([noisy + k * score for k in range(10)]), 3_000),
            (linear, noisy > 0, n), (lines, np.exp(np.column_stack([noisy, score]) / 4), n),
            *FAMILY(n_jobs, noisy),
        ):
            model.fit(X[:rows], y[:rows], sample_weight=weights[:rows])
            print(digest(model, path))
        for model, table, y in OF_NUMBERS(n_jobs, np.nan_to_num(X[:3_000]), noisy[:3_000]):
            model.fit(table, y)
            print(digest(model, path))
"""
# The other estimators, with all that is random or parallel in them.
FAMILY = """
def FAMILY(n_jobs, noisy):
    shared = {"n_jobs": n_jobs, "random_state": 3}
    classes, codes = np.digitize(noisy, [-2, 0, 2]), {"categorical_features": [3]}
    small = {"n_estimators": 5}
    yield hr.GradientBoostingClassifier(n_jobs=n_jobs, budget=0.1), noisy > 0, 1_500
    bound = shared | small | {"monotonic_constraints": {0: 1, 1: -1, 5: 1}}
    pairs = {"interaction_constraints": "pairwise", "feature_weights": {0: 2, 3: 0.5}}
    yield hr.GradientBoostingClassifier(**bound, **pairs, **codes), noisy > 0, 20_000
    yield hr.GradientBoostingRegressor(**bound, loss="absolute_error"), noisy, 5_000
    yield hr.GradientBoostingRegressor(**bound, splitter="exact", reg_alpha=0.1), noisy, 3_000
    both = np.column_stack([noisy, np.abs(noisy)])
    yield hr.GradientBoostingRegressor(**bound, multi_strategy="vector"), both, 5_000
    yield hr.RandomForestClassifier(**shared, **small, **codes, oob_score=True), classes, 1_500
    yield hr.RandomForestRegressor(**shared, **small, max_features=0.3, max_leaves=50), noisy, 1_500
    yield hr.RandomForestRegressor(**shared, **small, feature_combinations=2), noisy, 600
    yield hr.ExtraTreesClassifier(**shared, **small, criterion="entropy"), noisy > 0, 1_500
    yield hr.DecisionTreeClassifier(**shared, **codes, criterion="entropy"), classes, 1_500
    absolute = {"criterion": "absolute_error", "max_depth": 4}
    yield hr.DecisionTreeRegressor(**shared, **absolute), noisy, 1_000
    yield hr.DecisionTreeRegressor(**shared, splitter="random", max_features="sqrt"), noisy, 1_500
    yield hr.BaggingClassifier(**shared, **small, max_samples=0.4), noisy > 0, 1_000
    yield hr.BaggingRegressor(hr.DecisionTreeRegressor(), **shared, **small), noisy, 1_000
    yield hr.AdaBoostClassifier(**shared, **small, **codes, max_depth=2), classes, 1_500
    yield hr.AdaBoostRegressor(**shared, **small), noisy, 1_500
    yield hr.StagewiseRegressor(random_state=3, **small, subsample=0.5), noisy, 600
"""
# Those that take no gaps. Of neighbours, whose files hold the rows, it is the answers that could
# depend on threads: tests/neighbors has them, and tests/svm/linear larger tables.
OF_NUMBERS = """
def OF_NUMBERS(n_jobs, X, noisy):
    import scipy.sparse
    shared = {"n_jobs": n_jobs}
    classes, sparse = np.digitize(noisy, [-2, 0, 2]), scipy.sparse.csr_array(X * (X > 1))
    yield hr.KNeighborsClassifier(**shared), X, classes
    yield hr.KNeighborsRegressor(**shared, metric="gower"), X, noisy
    yield hr.NearestNeighbors(**shared, metric="cosine"), sparse, None
    yield hr.LinearSVC(**shared), X, classes
    yield hr.LinearSVC(**shared, loss="hinge", tol=0.01), X, classes
    yield hr.LinearSVC(**shared, penalty="l1", C=0.01), sparse, classes
    yield hr.LinearSVC(**shared, multi_class="crammer_singer", tol=0.1), sparse, classes
    yield hr.LinearSVR(**shared, epsilon=0.5), X, noisy
    yield hr.SVC(**shared, probability=True), X, classes
    yield hr.NuSVC(**shared, nu=0.05, multi_class="ovr", kernel="laplacian"), X, classes
    yield hr.SVR(**shared, kernel="poly", degree=2), X, noisy
    yield hr.NuSVR(**shared), sparse, noisy
    yield hr.OneClassSVM(**shared), X, noisy
    yield hr.LinearSVR(**shared, loss="squared_epsilon_insensitive"), X, noisy
    boosted = shared | {"n_estimators": 5, "subsample": 0.8, "early_stopping": True}
    for loss in ("ndcg", "map", "pairwise", "listwise"):
        ranker = hr.GradientBoostingRanker(**boosted, loss=loss, qid_column=3)
        yield ranker, X, noisy > 0 if loss == "map" else classes
    yield hr.GradientBoostingSurvival(**boosted), X, noisy
    for distribution in ("normal", "logistic", "extreme"):
        times = np.column_stack([np.exp(noisy), np.exp(noisy + np.maximum(0, X[:, 0]))])
        model = hr.GradientBoostingSurvival(**boosted, loss="aft", aft_distribution=distribution)
        yield model, X, times
"""
# Two yields are in loops, of four and of three.
KINDS = 8 + FAMILY.count("yield") + OF_NUMBERS.count("yield") + 3 + 2


def digests(level: str, n_jobs: str) -> list[str]:
    environment = os.environ | {"HEDGEROW_ISA": level}
    program = FAMILY + OF_NUMBERS + FIT_AND_HASH
    command = [sys.executable, "-c", program, n_jobs]
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout.split()


@pytest.mark.skipif(len(LEVELS) == 1, reason="there is one level on this kind of processor")
def test_model_files_are_the_same_for_every_thread_count_level_and_run():
    levels = [level for level in LEVELS if level <= isa_level()]
    assert isa_level() in levels
    hashes = digests(levels[-1], "1,2,8")
    for level in levels[:-1]:
        hashes += digests(level, "3")
    assert len(hashes) == KINDS * (3 + len(levels) - 1)
    for kind in range(KINDS):
        assert len(set(hashes[kind::KINDS])) == 1, kind
    assert len(set(hashes)) == KINDS
    assert all(len(found) == len(hashlib.sha256().hexdigest()) for found in hashes)
