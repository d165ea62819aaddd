"""A fit learns from a row of weight 0 as if the row were not there.

Every estimator is fitted to a table with additional rows of weight 0, in random places and with
absurd numbers and targets, and to the same table without these. The model files are the same, byte
for byte; those of models that know the numbers of their training rows, apart from these.
"""

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet
import pytest
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, PredefinedSplit
from sklearn.tree import DecisionTreeClassifier as SklearnTreeClassifier
from sklearn.tree import DecisionTreeRegressor as SklearnTree

import hedgerow as hr
from hedgerow import cluster, theory
from hedgerow._data.pieced_table import RowPieces
from hedgerow._ensemble import fitting as ensemble_fitting
from hedgerow._ensemble.candidates import candidates_for
from hedgerow.exceptions import DataError, ParameterError

N, N_FEATURES = 150, 4
RNG = np.random.default_rng(0)
IS_REAL = np.ones(190, bool)
IS_REAL[RNG.choice(190, 40, replace=False)] = False  # N are left
REAL = np.flatnonzero(IS_REAL)


def with_absurd(real, absurd):
    """Put rows between others."""
    out = np.empty((len(IS_REAL), *np.shape(real)[1:]), np.asarray(real).dtype)
    out[IS_REAL], out[~IS_REAL] = real, absurd
    return out


MATRIX = RNG.normal(size=(N, N_FEATURES)).round(2)
ABSURD_ROWS = np.array([1e6, -3.0, 0.005, 7e-9]) * RNG.choice([-1, 0, 0.5, 1], (40, N_FEATURES))
X = with_absurd(MATRIX, ABSURD_ROWS)
GAPS = with_absurd(np.where(RNG.random(MATRIX.shape) < 0.1, np.nan, MATRIX), ABSURD_ROWS)
WEIGHTS = with_absurd(RNG.choice([0.5, 1.0, 2.5], N), 0.0)
SIGNAL = MATRIX[:, 0] + MATRIX[:, 1] * MATRIX[:, 2] + RNG.normal(size=N) / 4
NUMBERS = with_absurd(SIGNAL, 1e9)
TWO = with_absurd((SIGNAL > 0).astype(int), RNG.integers(0, 2, 40))
THREE = with_absurd(np.digitize(SIGNAL, [-0.6, 0.6]), RNG.integers(0, 3, 40))
SIGNALS = with_absurd(SIGNAL, 0.0)
SEVERAL = np.column_stack([NUMBERS, with_absurd(-SIGNAL, -5.0)])
LABELS = np.column_stack([TWO, THREE > 0]).astype(int)
POSITIVE = with_absurd(np.abs(SIGNAL) + 0.1, -1.0)  # which a loss for positive numbers refuses
GROUPS = with_absurd(RNG.integers(3, 30, N), RNG.integers(0, 9, 40))
OFFSET = with_absurd(MATRIX[:, 3] / 9, 1e5)
QUERIES = with_absurd(np.sort(RNG.integers(5, 20, N)), np.sort(RNG.integers(0, 5, 40)))
OF_QUERY = np.where(IS_REAL, 1.0 + QUERIES % 3, 0.0)
FEW = {"n_estimators": 3, "random_state": 5}
BOOSTED = FEW | {"min_samples_leaf": 4, "max_leaves": 8}


def regressor(**parameters):
    return hr.GradientBoostingRegressor(**(BOOSTED | parameters))


def classifier(**parameters):
    return hr.GradientBoostingClassifier(**(BOOSTED | parameters))


# An estimator, the table, the target, and further arguments that have an entry for each row.
CASES = {
    "boosting": (regressor(), GAPS, NUMBERS, {}),
    "exact": (regressor(splitter="exact"), GAPS, NUMBERS, {}),
    "approx": (regressor(splitter="approx"), GAPS, NUMBERS, {}),
    "symmetric": (regressor(grow_policy="symmetric"), GAPS, NUMBERS, {}),
    "symmetric approx": (regressor(grow_policy="symmetric", splitter="approx"), X, NUMBERS, {}),
    "levelwise": (regressor(grow_policy="levelwise", max_depth=3), GAPS, NUMBERS, {}),
    "vector leaves": (regressor(multi_strategy="vector"), GAPS, SEVERAL, {}),
    "vector approx": (regressor(multi_strategy="vector", splitter="approx"), X, SEVERAL, {}),
    "several outputs": (regressor(), X, SEVERAL, {}),
    "linear leaves": (regressor(linear_leaves=True), X, NUMBERS, {}),
    "pruned": (regressor(prune=True), X, NUMBERS, {}),
    "dart": (regressor(boosting="dart", drop_rate=0.5), X, NUMBERS, {}),
    "few bins of few rows": (regressor(max_bins=7, subsample_for_bin=60), GAPS, NUMBERS, {}),
    "medians": (regressor(loss="absolute_error"), X, NUMBERS, {}),
    "quantiles": (regressor(loss="quantile", quantile=[0.1, 0.9]), X, NUMBERS, {}),
    "positive numbers": (regressor(loss="gamma"), X, POSITIVE, {}),
    "subsample": (regressor(subsample=0.6, colsample_bytree=0.6), X, NUMBERS, {}),
    "gradient sampling": (regressor(sampling="gradient", subsample=0.5), X, NUMBERS, {}),
    "group sampling": (
        regressor(sampling="group", subsample=0.5),
        X,
        NUMBERS,
        {"groups": GROUPS},
    ),
    "balanced sampling": (classifier(sampling="balanced"), X, THREE, {}),
    "early stopping": (regressor(early_stopping=True), X, NUMBERS, {}),
    "groups held out": (regressor(early_stopping=True), X, NUMBERS, {"groups": GROUPS}),
    "last rows held out": (
        regressor(early_stopping=True, validation_rows="last"),
        X,
        NUMBERS,
        {},
    ),
    "offsets": (regressor(), X, NUMBERS, {"offset": OFFSET}),
    "initial estimator": (regressor(init_estimator=hr.LinearSVR()), X, NUMBERS, {}),
    "conformal": (regressor(calibration="conformal"), X, NUMBERS, {}),
    "search": (hr.GradientBoostingRegressor(budget="quick", random_state=0), X, NUMBERS, {}),
    "classes": (classifier(), X, THREE, {}),
    "labels": (classifier(), X, LABELS, {}),
    "balanced classes": (classifier(class_weight="balanced", splitter="exact"), X, THREE, {}),
    "calibrated": (classifier(calibration="isotonic"), X, TWO, {}),
    "ranking": (
        hr.GradientBoostingRanker(**BOOSTED, early_stopping=True),
        X,
        THREE,
        {"qid": QUERIES},
    ),
    "cox": (hr.GradientBoostingSurvival(**BOOSTED), X, np.abs(NUMBERS) + 0.1, {}),
    "aft": (hr.GradientBoostingSurvival(**BOOSTED, loss="aft"), X, np.abs(NUMBERS) + 0.1, {}),
    "tree": (hr.DecisionTreeRegressor(min_samples_leaf=3, ccp_alpha=0.01), GAPS, NUMBERS, {}),
    "median tree": (hr.DecisionTreeRegressor(criterion="absolute_error"), X, NUMBERS, {}),
    "random tree": (hr.DecisionTreeRegressor(splitter="random"), X, NUMBERS, {}),
    "binned tree": (hr.DecisionTreeClassifier(splitter="hist", max_bins=9), GAPS, LABELS, {}),
    "balanced tree": (hr.DecisionTreeClassifier(class_weight="balanced"), GAPS, THREE, {}),
    "forest": (hr.RandomForestRegressor(**FEW, min_samples_leaf=2), GAPS, NUMBERS, {}),
    "forest of classes": (hr.RandomForestClassifier(**FEW), GAPS, THREE, {}),
    "fraction": (hr.RandomForestRegressor(**FEW, max_samples=0.3), GAPS, SEVERAL, {}),
    "balanced forest": (hr.RandomForestClassifier(**FEW, bootstrap="balanced"), X, THREE, {}),
    "quantile forest": (hr.RandomForestRegressor(**FEW, keep_targets=True), X, NUMBERS, {}),
    "combinations": (hr.RandomForestRegressor(**FEW, feature_combinations=2), X, NUMBERS, {}),
    "extra trees": (hr.ExtraTreesClassifier(**FEW, max_features="sqrt"), GAPS, THREE, {}),
    "bagging": (hr.BaggingClassifier(**FEW), GAPS, THREE, {}),
    "bagging without replacement": (
        hr.BaggingRegressor(**FEW, bootstrap=False, max_samples=0.5),
        GAPS,
        NUMBERS,
        {},
    ),
    "bagging of exact trees": (
        hr.BaggingRegressor(
            hr.DecisionTreeRegressor(min_samples_leaf=2),
            **FEW,
            bootstrap=False,
            max_samples=0.5,
            max_features=0.5,
        ),
        X,
        NUMBERS,
        {},
    ),
    "bagging of SVMs": (hr.BaggingClassifier(hr.SVC(), **FEW), X, TWO, {}),
    "balanced bagging": (
        hr.BaggingClassifier(hr.SVC(), **FEW, bootstrap="undersample"),
        X,
        TWO,
        {},
    ),
    "AdaBoost": (hr.AdaBoostClassifier(**FEW), GAPS, THREE, {}),
    "AdaBoost M1": (hr.AdaBoostClassifier(**FEW, algorithm="M1", max_depth=3), X, TWO, {}),
    "real AdaBoost": (hr.AdaBoostClassifier(**FEW, algorithm="real", max_bins=5), X, TWO, {}),
    "gentle AdaBoost": (hr.AdaBoostClassifier(**FEW, algorithm="gentle"), GAPS, THREE, {}),
    "LogitBoost": (hr.AdaBoostClassifier(**FEW, algorithm="logit"), X, TWO, {}),
    "divided by rows": (hr.AdaBoostClassifier(**FEW, error_divisor="rows"), X, THREE, {}),
    "resampled AdaBoost": (hr.AdaBoostClassifier(**FEW, resample=True), X, THREE, {}),
    "AdaBoost of SVMs": (hr.AdaBoostClassifier(hr.LinearSVC(), **FEW), X, TWO, {}),
    "AdaBoost.R2": (hr.AdaBoostRegressor(**FEW), GAPS, NUMBERS, {}),
    "stagewise": (hr.StagewiseRegressor(**FEW), X, NUMBERS, {}),
    "stagewise with holdout": (
        hr.StagewiseClassifier(**FEW, early_stopping=True),
        X,
        TWO,
        {},
    ),
    "output code": (hr.OutputCodeClassifier(classifier(), random_state=0), X, THREE, {}),
    "thresholds": (hr.DecisionClassifier(classifier(), decision_threshold=0.3), X, TWO, {}),
    "ensemble": (
        hr.EnsembleClassifier(
            [("boosting", classifier()), ("tree", hr.DecisionTreeClassifier(max_depth=2))],
            cv=3,
            random_state=0,
        ),
        X,
        THREE,
        {},
    ),
    "ensemble of groups": (
        hr.EnsembleRegressor(
            [("boosting", regressor()), ("tree", hr.DecisionTreeRegressor(max_depth=2))],
            cv=3,
            refit="both",
            random_state=0,
        ),
        X,
        NUMBERS,
        {"groups": GROUPS},
    ),
    "SVC": (hr.SVC(), X / 9, THREE, {}),
    "SVC one against the rest": (hr.SVC(multi_class="ovr", kernel="poly"), X / 9, THREE, {}),
    "SVC with probabilities": (hr.SVC(probability=True, random_state=0), X / 9, TWO, {}),
    "balanced SVC": (hr.SVC(class_weight="balanced", kernel="laplacian"), X / 9, THREE, {}),
    "NuSVC": (hr.NuSVC(nu=0.1), X / 9, TWO, {}),
    "SVR": (hr.SVR(), X / 9, NUMBERS, {}),
    "linear SVR": (hr.SVR(kernel="linear"), X / 9, NUMBERS, {}),
    "NuSVR": (hr.NuSVR(), X / 9, NUMBERS, {}),
    "one class": (hr.OneClassSVM(), X / 9, None, {}),
    "LinearSVC": (hr.LinearSVC(), X / 9, THREE, {}),
    "balanced LinearSVC": (hr.LinearSVC(class_weight="balanced", dual=True), X / 9, THREE, {}),
    "LinearSVR": (hr.LinearSVR(), X / 9, NUMBERS, {}),
}


def clone(estimator):
    return type(estimator)(**estimator.get_params(deep=False))


def fitted(estimator, X, y, **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(estimator).fit(X, y, **arguments)


def rows_of(values, rows):
    if values is None or isinstance(values, dict):
        return values if values is None else {k: rows_of(v, rows) for k, v in values.items()}
    if isinstance(values, pd.DataFrame | pd.Series):
        return values.iloc[rows]
    return values[rows]


def both(estimator, X, y, weights=WEIGHTS, **by_row):
    """Return a fit to all rows, and one to those with weight."""
    without = rows_of(by_row, REAL) | {"sample_weight": weights[REAL]}
    return (
        fitted(estimator, X, y, sample_weight=weights, **by_row),
        fitted(estimator, rows_of(X, REAL), rows_of(y, REAL), **without),
    )


def file_of(model, folder):
    model.save(folder / "model")
    return (folder / "model").read_bytes()


def as_if_numbered_without(model):
    """Replace the numbers of a model's training rows by those among the rows with weight."""
    inner = model._model
    if isinstance(model, hr.SVC | hr.NuSVC | hr.SVR | hr.NuSVR | hr.OneClassSVM):
        support = np.searchsorted(REAL, inner.support)
        model._model = replace(inner, support=support, n_rows=N)
    elif hasattr(inner, "of_rows_with_weight"):
        model._model = inner.of_rows_with_weight()
    elif isinstance(model, hr.BaggingClassifier | hr.BaggingRegressor):
        draws = inner.sampling
        weights = None if draws.weights is None else draws.weights[REAL]
        rows = replace(draws.rows, rows=None)
        sampling = replace(draws, n_rows=N, rows=rows, weights=weights)
        model._model = replace(inner, sampling=sampling)
    elif isinstance(model, hr.EnsembleClassifier | hr.EnsembleRegressor):
        assert (inner.fold[~IS_REAL] == -1).all()
        model._model = replace(inner, fold=inner.fold[REAL])
    elif hasattr(model, "estimators_samples_"):  # of AdaBoost
        samples = [np.searchsorted(REAL, sample) for sample in model.estimators_samples_]
        model.estimators_samples_ = [sample.astype(np.int32) for sample in samples]
    return model


@pytest.mark.parametrize("case", CASES)
def test_a_row_of_weight_0_is_as_if_it_were_not_there(case, tmp_path):
    estimator, X, y, by_row = CASES[case]
    weights = OF_QUERY if isinstance(estimator, hr.GradientBoostingRanker) else WEIGHTS
    model, without = both(estimator, X, y, weights, **by_row)
    assert file_of(as_if_numbered_without(model), tmp_path) == file_of(without, tmp_path)


def one_hot(matrix):
    """Return a table with few stored values."""
    codes = pd.cut(pd.Series(np.nan_to_num(matrix[:, 0]).clip(-3, 3)), np.linspace(-3, 3, 80))
    return np.eye(80)[np.maximum(codes.cat.codes, 0)]


def frame(matrix):
    """Return a frame with strings and categories, of which none is new in rows of weight 0."""
    towns = np.array(["Basel", "Bern", "Chur"])
    return pd.DataFrame(matrix, columns=list("abcd")).assign(
        town=towns[np.digitize(matrix[:, 3], [-0.5, 0.5])],
        kind=pd.Categorical(towns[np.digitize(matrix[:, 0], [-1, 1])]),
    )


def parquet(table, y, weights, folder):
    """Return the rows as files that also have the target and the weights."""
    whole = table.assign(target=y, weight=weights)
    for number, (begin, end) in enumerate(pairwise([0, len(y) // 3, len(y) // 2, len(y)])):
        pyarrow.parquet.write_table(
            pyarrow.Table.from_pandas(whole[begin:end], preserve_index=False),
            folder / f"{len(y)}_{number}.parquet",
        )
    paths = str(folder / f"{len(y)}_*.parquet")
    return hr.ParquetTable(paths, target="target", weight="weight")


CONTAINERS = {
    "frame": frame,
    "polars": lambda matrix: pl.from_pandas(frame(matrix)),
    "list": lambda matrix: matrix.tolist(),
    "rows": lambda matrix: scipy.sparse.csr_array(np.maximum(matrix, 0)),
    "one-hot rows": lambda matrix: scipy.sparse.csr_matrix(one_hot(matrix)),
    "columns": lambda matrix: scipy.sparse.csc_array(np.maximum(matrix, 0)),
    "float32": lambda matrix: np.asfortranarray(matrix, np.float32),
}
OF_CONTAINERS = {
    "boosting": (regressor(), NUMBERS),
    "exact": (regressor(splitter="exact"), NUMBERS),
    "categories": (regressor(max_categories=2), NUMBERS),
    "tree": (hr.DecisionTreeRegressor(), NUMBERS),
    "forest": (hr.RandomForestClassifier(**FEW), THREE),
    "AdaBoost": (hr.AdaBoostClassifier(**FEW), THREE),
    "bagging": (hr.BaggingRegressor(hr.DecisionTreeRegressor(max_depth=3), **FEW), NUMBERS),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("case", OF_CONTAINERS)
def test_in_every_container(case, container, tmp_path):
    estimator, y = OF_CONTAINERS[case]
    make = CONTAINERS[container]
    model = fitted(estimator, make(X), y, sample_weight=WEIGHTS)
    without = fitted(estimator, make(MATRIX), y[REAL], sample_weight=WEIGHTS[REAL])
    assert file_of(as_if_numbered_without(model), tmp_path) == file_of(without, tmp_path)


OUT_OF_CORE = {
    "boosting": (regressor(early_stopping=True), NUMBERS),
    "classes": (classifier(class_weight="balanced", subsample=0.7), THREE),
    "tree": (hr.DecisionTreeRegressor(splitter="hist"), NUMBERS),
    "forest": (hr.RandomForestRegressor(**FEW), NUMBERS),
}


@pytest.mark.parametrize("case", OUT_OF_CORE)
def test_in_files(case, tmp_path):
    estimator, y = OUT_OF_CORE[case]
    model = clone(estimator).fit(parquet(frame(X), y, WEIGHTS, tmp_path))
    without = clone(estimator).fit(parquet(frame(MATRIX), y[REAL], WEIGHTS[REAL], tmp_path))
    assert file_of(as_if_numbered_without(model), tmp_path) == file_of(without, tmp_path)


TOGETHER = {
    "boosting": (regressor(early_stopping=True), NUMBERS),
    "groups": (regressor(early_stopping=True), NUMBERS),
    "classes": (classifier(class_weight="balanced", sampling="balanced"), THREE),
    "one class without rows": (classifier(class_weight={0: 0.0, 1: 1.0, 2: 2.0}), THREE),
    "forest": (hr.RandomForestRegressor(**FEW), NUMBERS),
    "balanced forest": (hr.RandomForestClassifier(**FEW, bootstrap="balanced"), THREE),
}


@pytest.mark.parametrize(
    ("case", "in_pieces"),
    [
        *[(case, False) for case in TOGETHER],
        *[(case, True) for case in TOGETHER if not case.endswith("forest")],
    ],
)
def test_on_workers_however_the_rows_are_divided(case, in_pieces, tmp_path):
    estimator, y = TOGETHER[case]
    weights = WEIGHTS.copy()
    weights[40:90] = 0.0  # no row of the second worker has weight
    ends = [0, 40, 90, 150, 190]
    table = frame(X)
    by_row = {"sample_weight": weights} | ({"groups": GROUPS} if case == "groups" else {})

    def work(communicator):
        begin, end = ends[communicator.rank : communicator.rank + 2]
        part = table[begin:end]
        rows = RowPieces([part[:9], part[9:]]) if in_pieces else part
        own = {name: values[begin:end] for name, values in by_row.items()}
        return cluster.fit(clone(estimator), rows, y[begin:end], communicator=communicator, **own)

    local = file_of(clone(estimator).fit(table, y, **by_row), tmp_path)
    for model in cluster.run_threads(work, 4):
        assert file_of(model, tmp_path) == local


@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (hr.BaggingClassifier(LogisticRegression(), **FEW, max_samples=0.5), TWO),
        (hr.BaggingRegressor(SklearnTree(), **FEW, bootstrap=False, max_samples=0.5), NUMBERS),
        (hr.AdaBoostRegressor(SklearnTree(max_depth=2, min_samples_leaf=9), **FEW), NUMBERS),
        (hr.StagewiseRegressor(SklearnTree(max_depth=2, min_samples_leaf=9), **FEW), NUMBERS),
        (hr.OutputCodeClassifier(SklearnTreeClassifier(min_samples_leaf=9)), THREE),
        (regressor(init_estimator=SklearnTree(min_samples_leaf=9)), NUMBERS),
        (hr.EnsembleRegressor([("ridge", Ridge()), ("tree", SklearnTree(max_depth=2))]), NUMBERS),
    ],
    ids=lambda value: type(value).__name__,
)
def test_with_estimators_of_other_libraries(estimator, y):
    model, without = both(estimator, X, y)
    np.testing.assert_array_equal(model.predict(MATRIX), without.predict(MATRIX))


def test_with_a_candidate_of_an_ensemble_that_needs_an_encoded_table(monkeypatch):
    def one(*arguments):
        return [each for each in candidates_for(*arguments) if each.is_encoded][:1]

    monkeypatch.setattr(ensemble_fitting, "candidates_for", one)
    estimator = hr.EnsembleRegressor(cv=2, random_state=0)
    model = estimator.fit(frame(X), NUMBERS, WEIGHTS)
    without = clone(estimator).fit(frame(MATRIX), NUMBERS[REAL], WEIGHTS[REAL])
    np.testing.assert_array_equal(model.predict(frame(MATRIX)), without.predict(frame(MATRIX)))
    np.testing.assert_array_equal(model.oof_prediction_[REAL], without.oof_prediction_)
    of_others = model.predict(frame(X[~IS_REAL]))
    np.testing.assert_array_equal(model.oof_prediction_[~IS_REAL], of_others)


@pytest.mark.parametrize("splitter", [KFold(3), PredefinedSplit(np.arange(190) % 3)])
def test_folds_of_an_ensemble_are_those_of_the_rows_with_weight(splitter):
    ensemble = hr.EnsembleRegressor([("tree", hr.DecisionTreeRegressor(max_depth=2))], cv=splitter)
    model = fitted(ensemble, X, NUMBERS, sample_weight=WEIGHTS)
    fold = np.arange(190)[IS_REAL] % 3 if isinstance(splitter, PredefinedSplit) else None
    kept = splitter if fold is None else PredefinedSplit(fold)
    ensemble.set_params(cv=kept)
    without = fitted(ensemble, MATRIX, NUMBERS[REAL], sample_weight=WEIGHTS[REAL])
    np.testing.assert_array_equal(model.oof_prediction_[REAL], without.oof_prediction_)
    np.testing.assert_array_equal(model.oof_prediction_[~IS_REAL], model.predict(X[~IS_REAL]))
    for own, other in zip(model.estimators_samples_, without.estimators_samples_, strict=True):
        np.testing.assert_array_equal(own, REAL[other])


@pytest.mark.parametrize(
    "estimator",
    [
        hr.RandomForestRegressor(n_estimators=30, oob_score=True, random_state=0),
        hr.BaggingRegressor(n_estimators=30, oob_score=True, random_state=0),
        hr.BaggingRegressor(Ridge(), n_estimators=30, oob_score=True, random_state=0),
        hr.BaggingRegressor(
            hr.DecisionTreeRegressor(),
            n_estimators=30,
            oob_score=True,
            bootstrap=False,
            max_samples=0.6,
            random_state=0,
        ),
    ],
    ids=lambda e: "".join(repr(e).split()),
)
def test_out_of_bag_predictions_have_all_rows_and_their_score_those_with_weight(estimator):
    model, without = both(estimator, X, NUMBERS)
    np.testing.assert_array_equal(model.oob_prediction_[REAL], without.oob_prediction_)
    np.testing.assert_allclose(model.oob_prediction_[~IS_REAL], model.predict(X[~IS_REAL]))
    assert model.oob_score_ == without.oob_score_
    for own, other in zip(model.estimators_samples_, without.estimators_samples_, strict=True):
        np.testing.assert_array_equal(own, REAL[other])


def test_permutation_importances_leave_them_out(tmp_path):
    model, without = both(hr.RandomForestRegressor(**FEW), X, NUMBERS)
    model.save(tmp_path / "forest")
    expected = without.permutation_importances(MATRIX, NUMBERS[REAL])
    for each in (model, hr.load(tmp_path / "forest")):
        np.testing.assert_array_equal(each.permutation_importances(X, NUMBERS).mean, expected.mean)


@pytest.mark.parametrize(
    ("forest", "y"),
    [
        (hr.RandomForestRegressor(**FEW), NUMBERS),
        (hr.BaggingClassifier(hr.SVC(), **FEW), TWO),
        (hr.BaggingClassifier(**FEW, bootstrap="balanced"), TWO),
    ],
)
def test_files_keep_the_numbers_of_sampled_rows(forest, y, tmp_path):
    model = fitted(forest, X, y, sample_weight=WEIGHTS)
    model.save(tmp_path / "model")
    loaded = hr.load(tmp_path / "model")
    for own, other in zip(model.estimators_samples_, loaded.estimators_samples_, strict=True):
        np.testing.assert_array_equal(own, other)
    assert file_of(loaded, tmp_path) == file_of(model, tmp_path)


@pytest.mark.parametrize(
    "forest",
    [
        hr.RandomForestRegressor(**FEW),
        hr.BaggingRegressor(hr.LinearSVR(), **FEW, bootstrap=False, max_samples=0.5),
    ],
)
def test_a_warm_start_goes_on_with_the_same_rows_of_weight_0(forest, tmp_path):
    forest = clone(forest).set_params(warm_start=True, n_estimators=2)
    forest.fit(X, SIGNALS, WEIGHTS).set_params(n_estimators=5).fit(X, SIGNALS, WEIGHTS)
    whole = clone(forest).fit(X, SIGNALS, WEIGHTS)
    assert file_of(forest, tmp_path) == file_of(whole, tmp_path)
    other = np.roll(WEIGHTS, 1)
    with pytest.raises((DataError, ParameterError), match="must be the same"):
        forest.set_params(n_estimators=6).fit(X, SIGNALS, other)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_support_vectors_are_numbered_as_in_the_table_of_fit(kernel, tmp_path):
    table = X / 9
    K = table if kernel == "rbf" else np.exp(-0.5 * ((table[:, None] - table) ** 2).sum(axis=2))
    svm = hr.SVC(kernel=kernel, gamma=0.5).fit(K, TWO, WEIGHTS)
    svm.save(tmp_path / "svm")
    svm = hr.load(tmp_path / "svm")
    assert IS_REAL[svm.support_].all()
    without = hr.SVC(gamma=0.5).fit(table[REAL], TWO[REAL], WEIGHTS[REAL])
    np.testing.assert_array_equal(svm.support_, REAL[without.support_])
    np.testing.assert_allclose(svm.decision_function(K), without.decision_function(table))
    assert svm.shape_fit_ == K.shape


def test_samples_of_adaboost_count_rows_of_the_table():
    samples = [np.arange(start, 190, 2) for start in range(9)]
    among = [np.searchsorted(REAL, rows[IS_REAL[rows]]) for rows in samples]
    model = hr.AdaBoostClassifier(n_estimators=3, resample=True)
    model.fit(X, TWO, WEIGHTS, samples=samples)
    without = hr.AdaBoostClassifier(n_estimators=3, resample=True)
    without.fit(MATRIX, TWO[REAL], WEIGHTS[REAL], samples=among)
    np.testing.assert_array_equal(model.predict_proba(MATRIX), without.predict_proba(MATRIX))
    only_absurd = [np.flatnonzero(~IS_REAL)] * 3
    with pytest.raises(DataError, match="only rows of weight 0"):
        model.fit(X, TWO, WEIGHTS, samples=only_absurd)


def test_refit_and_calibrate_leave_them_out(tmp_path):
    model = classifier().fit(MATRIX[::2], TWO[REAL][::2])
    again = hr.load(saved(model, tmp_path))
    model.refit(X, TWO, WEIGHTS).calibrate(X, TWO, WEIGHTS, method="isotonic")
    again.refit(MATRIX, TWO[REAL], WEIGHTS[REAL])
    again.calibrate(MATRIX, TWO[REAL], WEIGHTS[REAL], method="isotonic")
    assert file_of(model, tmp_path) == file_of(again, tmp_path)


def saved(model, folder):
    model.save(folder / "first")
    return folder / "first"


def test_checkpoints_and_initial_models_leave_them_out(tmp_path):
    start, longer = regressor(subsample=0.7), regressor(subsample=0.7)
    start.fit(X, NUMBERS, WEIGHTS)
    longer.fit(X, NUMBERS, WEIGHTS, init_model=start, checkpoint=tmp_path / "checkpoint")
    without = regressor(subsample=0.7).fit(MATRIX, NUMBERS[REAL], WEIGHTS[REAL])
    again = regressor(subsample=0.7)
    again.fit(
        MATRIX,
        NUMBERS[REAL],
        WEIGHTS[REAL],
        init_model=without,
        checkpoint=tmp_path / "checkpoint",  # whose rows are the same
    )
    assert file_of(longer, tmp_path) == file_of(again, tmp_path)


@pytest.mark.parametrize("metric", ["log_loss", "auc", "accuracy", "mcc"])
def test_rows_of_weight_0_of_an_evaluation_set_do_not_count(metric):
    model = classifier(eval_metric=metric)
    model.fit(
        *(MATRIX, TWO[REAL]),
        eval_set=[(X, TWO, WEIGHTS), (MATRIX, TWO[REAL], WEIGHTS[REAL])],
        eval_names=["all", "with weight"],
    )
    values = model.evals_result_
    np.testing.assert_allclose(values["all"][metric], values["with weight"][metric], rtol=1e-12)


def test_cross_validation_scores_and_fits_without_them():
    splits = [(np.arange(60, 190), np.arange(60)), (np.arange(120), np.arange(120, 190))]
    found = hr.cross_validate(
        regressor(splitter="exact"), X, NUMBERS, sample_weight=WEIGHTS, cv=splits, scoring="rmse"
    )
    for fold, (train, test) in enumerate(splits):
        kept, scored = train[IS_REAL[train]], test[IS_REAL[test]]
        alone = fitted(
            regressor(splitter="exact"), X[kept], NUMBERS[kept], sample_weight=WEIGHTS[kept]
        )
        errors = (alone.predict(X[scored]) - NUMBERS[scored]) ** 2
        expected = np.sqrt(np.average(errors, weights=WEIGHTS[scored]))
        assert found.scores["rmse"][fold] == pytest.approx(expected, rel=1e-12)


def test_the_sums_of_a_fit_leave_them_out():
    model = regressor().fit(X, NUMBERS, WEIGHTS, offset=OFFSET)
    of_all = theory.objective(model, X, NUMBERS, WEIGHTS, offset=OFFSET)
    rest = (MATRIX, NUMBERS[REAL], WEIGHTS[REAL])
    expected = theory.objective(model, *rest, offset=OFFSET[REAL])
    np.testing.assert_array_equal(of_all.loss, expected.loss)
    own = theory.structure_score(model, X, NUMBERS, WEIGHTS, offset=OFFSET)
    np.testing.assert_allclose(own.recomputed, own.score, rtol=1e-6)


OF_CLASSES = {
    "boosting": classifier(),
    "early stopping": classifier(early_stopping=True),
    "calibrated": classifier(calibration="isotonic"),
    "balanced sampling": classifier(sampling="balanced"),
    "initial tree": classifier(init_estimator=hr.DecisionTreeClassifier(max_depth=2)),
    "exact": classifier(splitter="exact"),
    "tree": hr.DecisionTreeClassifier(min_samples_leaf=5),
    "forest": hr.RandomForestClassifier(**FEW, min_samples_leaf=5),
    "bagging": hr.BaggingClassifier(**FEW),
    "bagging of exact trees": hr.BaggingClassifier(hr.DecisionTreeClassifier(), **FEW),
    "AdaBoost": hr.AdaBoostClassifier(**FEW),
    "stagewise": hr.StagewiseClassifier(**FEW),
    "SVC": hr.SVC(),
    "LinearSVC": hr.LinearSVC(),
}


@pytest.mark.parametrize("case", OF_CLASSES)
def test_a_class_without_weight_remains_a_class_and_is_never_predicted(case):
    weights = np.where(THREE == 1, 0.0, 1.0)
    model = fitted(OF_CLASSES[case], X / 9, THREE, sample_weight=weights)
    by_class = clone(OF_CLASSES[case]).set_params(class_weight={0: 1.0, 1: 0.0, 2: 1.0})
    for each in (model, fitted(by_class, X / 9, THREE)):
        np.testing.assert_array_equal(each.classes_, [0, 1, 2])
        assert 1 not in each.predict(X / 9)
    decide = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    ours, other = getattr(model, decide)(X), getattr(each, decide)(X)
    np.testing.assert_array_equal(ours, other)


def test_samples_of_every_class_need_a_row_of_every_class():
    forest = hr.RandomForestClassifier(bootstrap="balanced")
    with pytest.raises(DataError, match="all rows of class 1 have weight 0"):
        forest.fit(X, THREE, np.where(THREE == 1, 0.0, 1.0))


def test_the_example_of_three_rows_has_its_threshold_between_the_other_two():
    model = regressor(n_estimators=1, learning_rate=1.0, reg_lambda=0.0, min_samples_leaf=1)
    for splitter in ("hist", "exact", "approx"):
        model.set_params(splitter=splitter).fit([[0.0], [1.0], [10.0]], [0.0, 99.0, 1.0], [1, 0, 1])
        assert model.predict([[2.0]]) == 0.0


def test_a_target_that_the_loss_refuses_is_refused_only_with_a_weight():
    model = regressor(loss="poisson")
    first, last = np.flatnonzero(~IS_REAL)[[0, -1]]
    with pytest.raises(DataError, match=f"y is -1 in row {first}, "):
        model.fit(X, POSITIVE)
    only_last = np.where(np.arange(190) == last, 1.0, WEIGHTS)
    with pytest.raises(DataError, match=f"y is -1 in row {last}, "):
        model.fit(X, POSITIVE, only_last)
    model.fit(X, POSITIVE, WEIGHTS)
    with pytest.raises(DataError, match="sample_weight is 0 in every row that the loss needs: "):
        model.fit(X, np.maximum(NUMBERS, 0.0), np.where(NUMBERS > 0.0, 0.0, 1.0))
