"""The same data, parameters and seed give the same model file, whatever runs it."""

import hashlib

import numpy as np
import pytest

import hedgerow as hr
from levels import ONE_LEVEL, OTHERS, printed_with_any_threads

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
n = 33_000  # enough for gradients to be packed
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
    n_jobs = int(sys.argv[1])
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
    symmetric = hr.GradientBoostingClassifier(
        categorical_features=[3], grow_policy="symmetric", **shared)
    for model, y, rows in (
        (binary, noisy > 0, n), (symmetric, noisy > 0, n),
        (classes, np.digitize(noisy, [-2, 0, 2]), 6_000),
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
    positive, few = np.exp(noisy / 4), shared | small | {"subsample": 0.5}
    for loss in ("huber", "pseudo_huber", "log_cosh", "mape", "expectile", "gamma", "tweedie"):
        yield hr.GradientBoostingRegressor(**few, loss=loss), positive, 1_500
    for loss in ("exponential", "hinge", "focal"):
        yield hr.GradientBoostingClassifier(**few, loss=loss), noisy > 0, 1_500
    quantiles = few | {"loss": "quantile", "quantile": [0.1, 0.5, 0.9]}
    for strategy in ("separate", "vector"):
        model = hr.GradientBoostingRegressor(**quantiles, multi_strategy=strategy)
        yield model.set_params(sampling="minimal_variance", calibration="conformal"), noisy, 3_000
    many = few | codes | {"max_categories": 10, "sampling": "gradient"}
    for calibration in ("sigmoid", "isotonic", "temperature"):
        yield hr.GradientBoostingClassifier(**many, calibration=calibration), classes, 3_000
    dart = few | {"boosting": "dart", "skip_drop": 0, "drop_rate": 0.5, "sampling": "balanced"}
    yield hr.GradientBoostingClassifier(**dart), classes, 3_000
    written = hr.Loss(lambda y, f: abs(y - f) ** 1.5)
    yield hr.GradientBoostingRegressor(**few, loss=written), noisy, 3_000
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
    few = slice(800)  # tests/svm/kernel has more of them
    yield hr.KNeighborsClassifier(**shared), X, classes
    yield hr.KNeighborsRegressor(**shared, metric="gower"), X, noisy
    yield hr.NearestNeighbors(**shared, metric="cosine"), sparse, None
    yield hr.LinearSVC(**shared), X, classes
    yield hr.LinearSVC(**shared, loss="hinge", tol=0.01), X, classes
    yield hr.LinearSVC(**shared, penalty="l1", C=0.01), sparse, classes
    yield hr.LinearSVC(**shared, multi_class="crammer_singer", tol=0.1), sparse, classes
    yield hr.LinearSVR(**shared, epsilon=0.5), X, noisy
    yield hr.SVC(**shared, probability=True), X[few], classes[few]
    laplacian = {"nu": 0.05, "multi_class": "ovr", "kernel": "laplacian"}
    yield hr.NuSVC(**shared, **laplacian), X[few], classes[few]
    yield hr.SVR(**shared, kernel="poly", degree=2), X[few], noisy[few]
    yield hr.NuSVR(**shared), sparse[few], noisy[few]
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


@pytest.mark.skipif(not OTHERS, reason=ONE_LEVEL)
def test_model_files_are_the_same_for_every_thread_count_level_and_run():
    first, *others = map(str.split, printed_with_any_threads(FAMILY + OF_NUMBERS + FIT_AND_HASH))
    assert len(set(first)) == len(first) > 60
    assert all(len(found) == len(hashlib.sha256().hexdigest()) for found in first)
    assert len(others) >= 2
    for found in others:
        assert found == first


@pytest.mark.parametrize("seed", range(4))
def test_a_model_does_not_depend_on_threads_if_weights_differ_by_a_factor_of_100_000(seed):
    rng = np.random.default_rng(seed)
    X = (rng.random((60, 65)) < 0.3) * rng.integers(1, 6, (60, 65))
    X[:, -1] = 3
    y, weights = rng.standard_normal(60), rng.choice([1.0, 1e5], 60)

    def fitted(**options):
        params = {"n_estimators": 8, "learning_rate": 1.0, "min_samples_leaf": 1}
        model = hr.GradientBoostingRegressor(**params, **options)
        return model.fit(X, y, sample_weight=weights).predict(X).tobytes()

    one = fitted(n_jobs=1)
    assert {fitted(n_jobs=n_threads) for n_threads in (2, 3, 13)} == {one}
    usual_engine = [1.0] * 64 + [2.0]  # no split is on the last column, a constant
    assert {fitted(n_jobs=n, feature_weights=usual_engine) for n in (1, 2)} == {one}
