"""Model files: what comes back, what a file may not do, and what a failing save leaves behind."""

import errno
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import safetensors.numpy
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import max_error

import fuzz_model_file as fuzzer
from hedgerow import (
    SVC,
    SVR,
    AdaBoostRegressor,
    BaggingClassifier,
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    GradientBoostingSurvival,
    KNeighborsClassifier,
    KNeighborsRegressor,
    LinearSVC,
    LinearSVR,
    ModelFileError,
    NearestNeighbors,
    NuSVC,
    NuSVR,
    OneClassSVM,
    ParameterError,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
    RandomForestClassifier,
)
from hedgerow._model_file import NotStored, atomic, load, save
from hedgerow._model_file.container import pack, unpack
from hedgerow._model_file.contents import read_estimator, write_estimator
from hedgerow._model_file.values import decode, encode

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
X[RNG.random(X.shape) < 0.1] = np.nan
NUMBERS = np.nansum(X[:, :2], axis=1)
TWO = (NUMBERS > 0).astype(int)
THREE = np.digitize(NUMBERS, [-1.0, 1.0])
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "ü d"])
FRAME["town"] = RNG.choice(["Bonn", "Köln", "Ulm", "☂"], 200)
FRAME["level"] = pd.Categorical(RNG.choice([1, 2, 3.5], 200))
FRAME["flag"] = pd.Categorical(RNG.choice([True, False], 200))
SMALL = {"n_estimators": 4, "max_leaves": 5, "n_jobs": 1}
FILLED = np.nan_to_num(X)
SPARSE = scipy.sparse.csr_array(np.where(np.abs(FILLED) > 1, FILLED, 0.0))
NAMES = np.array(["no", "perhaps ☂", "yes"])
HISTORY = ("evals_result_", "n_initial_rounds_", "best_iteration_", "best_score_")


def classifier(**parameters):
    return GradientBoostingClassifier(**SMALL | parameters)


def regressor(**parameters):
    return GradientBoostingRegressor(**SMALL | parameters)


def gradients(y, raw_scores):
    return raw_scores - y, np.ones_like(y)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.hedgerow"


@pytest.fixture(scope="module")
def small():
    """Give a fitted model and the bytes of its file."""
    model = regressor(n_estimators=2, max_leaves=3, max_bins=8).fit(X[:, :2], NUMBERS)
    return model, pack(*write_estimator(model))


@pytest.fixture(scope="module")
def categorical():
    """Give the document and arrays of a model with names, categories, classes and a history."""
    return write_estimator(classifier(early_stopping=True, max_bins=8).fit(FRAME, TWO))


@pytest.fixture(scope="module")
def encoded():
    """Give the document and arrays of a model with statistics of two columns, one with gaps."""
    frame = FRAME.assign(town=FRAME["town"].where(FRAME["flag"] == True, None))  # noqa: E712
    return write_estimator(classifier(max_categories=2).fit(frame, THREE))


@pytest.fixture(scope="module")
def sloped():
    """Give the document and arrays of a model with linear leaves, beside which there are towns."""
    parameters = {"linear_leaves": True, "min_samples_leaf": 10, "max_leaves": 4}
    return write_estimator(regressor(**parameters).fit(FRAME, NUMBERS))


def through_file(model, path):
    save(model, path)
    return load(path)


def read(data, path):
    path.write_bytes(data)
    return load(path)


def names_in(folder):
    return [file.name for file in folder.iterdir()]


def assert_same(loaded, model, table):
    assert type(loaded) is type(model)
    of_the_machine = {"n_jobs": None, "verbose": 0}
    assert loaded.get_params() == model.get_params() | of_the_machine
    assert loaded._model.ensemble == model._model.ensemble
    assert loaded._model.schema == model._model.schema
    assert loaded._model.link == model._model.link
    assert set(vars(loaded)) == set(vars(model))
    for name in {"n_features_in_", "n_iter_", *HISTORY} & set(vars(model)):
        assert getattr(loaded, name) == getattr(model, name)
    for name in {"classes_", "feature_names_in_"} & set(vars(model)):
        assert getattr(loaded, name).dtype == getattr(model, name).dtype
        assert getattr(loaded, name).tolist() == getattr(model, name).tolist()
    for name in ("predict", "predict_proba", "decision_function", "apply"):
        if hasattr(model, name):
            np.testing.assert_array_equal(getattr(loaded, name)(table), getattr(model, name)(table))


# What comes back


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes", "perhaps ☂"]),
        np.array(["no", "\ud800", ""], dtype=object),
        np.array([-1, 0, 5], dtype=np.int8),
        np.array([2**63, 2**64 - 1, 7], dtype=np.uint64),
        np.array([0.0, 1.0, 2.0], dtype=np.float32),
        np.array([False, True]),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_a_classifier_comes_back_with_its_classes_and_their_dtype(labels, path):
    model = classifier().fit(X, labels[THREE if len(labels) == 3 else TWO])
    assert_same(through_file(model, path), model, X)


def test_a_regressor_comes_back(path):
    model = regressor(subsample=0.5, max_leaves=None, random_state=None).fit(X, NUMBERS)
    assert_same(through_file(model, path), model, X)


@pytest.mark.parametrize("y", [TWO, THREE])
def test_names_categories_and_history_come_back(y, path):
    model = classifier(eval_metric=["log_loss", "accuracy"])
    model.fit(
        FRAME, y, eval_set=[(FRAME[:50], y[:50]), (FRAME[50:], y[50:])], eval_names=["z", "a"]
    )
    loaded = through_file(model, path)
    assert_same(loaded, model, FRAME)
    assert list(loaded.evals_result_) == ["z", "a"]


def test_a_model_of_the_exact_splitter_comes_back(path):
    model = classifier(splitter="exact").fit(FRAME, TWO)
    assert_same(through_file(model, path), model, FRAME)


def test_a_model_with_target_statistics_comes_back(path):
    model = classifier(max_categories=2, random_state=7).fit(FRAME, THREE)
    loaded = through_file(model, path)
    assert_same(loaded, model, FRAME.assign(town=["Rom", None, *FRAME["town"][2:]]))
    theirs, ours = loaded._model.statistics, model._model.statistics
    assert (theirs.seed, theirs.features, theirs.n_columns) == (7, ours.features, ours.n_columns)
    np.testing.assert_array_equal(theirs.priors, ours.priors)
    for their, our in zip(theirs.columns, ours.columns, strict=True):
        np.testing.assert_array_equal(their.numbers, our.numbers)
        np.testing.assert_array_equal(their.smoothing, our.smoothing)


def test_a_history_that_is_not_finite_comes_back(path):
    model = regressor(eval_metric=lambda _y, _p: ("odd", np.inf, True))
    model.fit(X, NUMBERS, eval_set=[(X, NUMBERS)])
    model.evals_result_["eval_0"]["nan"] = [np.nan, -np.inf]
    loaded = through_file(model, path)
    assert loaded.evals_result_["eval_0"]["odd"] == [np.inf] * 4
    np.testing.assert_equal(loaded.evals_result_, model.evals_result_)


@pytest.mark.parametrize(
    ("parameters", "restored"),
    [
        ({"class_weight": {0: 2.0, 1: 1}}, {0: 2.0, 1: 1}),
        ({"class_weight": {np.int64(0): np.float32(0.5), 1: 1.0}}, {0: 0.5, 1: 1.0}),
        ({"eval_metric": ("auc", "error")}, ("auc", "error")),
        ({"learning_rate": np.float32(0.1)}, float(np.float32(0.1))),
        ({"learning_rate": np.longdouble(0.5)}, 0.5),
        ({"reg_alpha": Fraction(1, 4)}, 0.25),
        ({"n_estimators": np.int16(3)}, 3),
        ({"early_stopping": np.False_}, False),
        ({"categorical_features": np.array([4, 5, 6])}, [4, 5, 6]),
        ({"categorical_features": pd.Index(["level", "town", "flag"])}, ["level", "town", "flag"]),
        ({"categorical_features": {"town", "level", "flag"}}, ["flag", "level", "town"]),
        ({"categorical_features": pl.Series(["level", "town", "flag"])}, ["level", "town", "flag"]),
        ({"categorical_features": range(4, 7)}, [4, 5, 6]),
    ],
    ids=lambda case: type(next(iter(case.values()))).__name__ if isinstance(case, dict) else "",
)
def test_parameters_come_back_as_pythons_own_types(parameters, restored, path):
    loaded = through_file(classifier(**parameters).fit(FRAME, TWO), path)
    ((name, _),) = parameters.items()
    assert loaded.get_params()[name] == restored
    assert type(loaded.get_params()[name]) is type(restored)


def test_a_warm_start_goes_on_from_a_file(path):
    whole = classifier(n_estimators=6).fit(FRAME, TWO)
    loaded = through_file(classifier(n_estimators=3).fit(FRAME, TWO), path)
    loaded.set_params(warm_start=True, n_estimators=6).fit(FRAME, TWO)
    np.testing.assert_allclose(loaded.predict_proba(FRAME), whole.predict_proba(FRAME), rtol=1e-12)


def test_a_model_with_its_own_loss_predicts_but_asks_for_the_loss_to_fit_again(path):
    model = regressor(loss=gradients).fit(X, NUMBERS)
    loaded = through_file(model, path)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.loss == NotStored("the function gradients")
    assert "gradients" in repr(loaded)
    with pytest.raises(ParameterError, match=r"the function gradients was not stored.*set_params"):
        clone(loaded).fit(X, NUMBERS)
    np.testing.assert_array_equal(
        loaded.set_params(loss=gradients).fit(X, NUMBERS).predict(X), model.predict(X)
    )


def test_a_random_state_is_asked_for_again(path):
    model = regressor(random_state=np.random.RandomState(3), eval_metric=["rmse", max_error])
    loaded = through_file(model.fit(X, NUMBERS), path)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.eval_metric == ["rmse", NotStored("the function max_error")]
    with pytest.raises(ParameterError, match="random_state=<a RandomState, not stored"):
        loaded.fit(X, NUMBERS)


# Neighbours and linear machines: all that they have learned, and all that they say


def assert_alike(loaded, model, table):
    """Hold every attribute and every answer of a loaded model against the model's own."""
    assert type(loaded) is type(model)
    np.testing.assert_equal(attributes_of(loaded), attributes_of(model) | {"n_jobs": None})
    for name in ("predict", "predict_proba", "decision_function", "kneighbors"):
        if hasattr(model, name):
            theirs, ours = (getattr(one, name)(table) for one in (loaded, model))
            np.testing.assert_equal(theirs, ours)
    if hasattr(model, "radius_neighbors"):
        pairs = zip(loaded.radius_neighbors(table), model.radius_neighbors(table), strict=True)
        for theirs, ours in pairs:
            assert [one.tolist() for one in theirs] == [one.tolist() for one in ours]


def attributes_of(model):
    return {
        name: value.toarray() if scipy.sparse.issparse(value) else value
        for name, value in vars(model).items()
        if name != "_model"
    }


@pytest.mark.parametrize("metric", ["euclidean", "l1", "chebyshev", "cosine", "minkowski"])
@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_neighbours_come_back_with_any_metric(metric, algorithm, path):
    options = {"metric": metric, "algorithm": algorithm, "p": 3, "n_jobs": 2}
    for model in (
        NearestNeighbors(radius=0.7, **options).fit(FILLED),
        KNeighborsClassifier(3, weights="distance", **options).fit(FILLED, NAMES[THREE]),
        KNeighborsRegressor(**options).fit(FILLED, np.column_stack([NUMBERS, FILLED[:, 3]])),
        RadiusNeighborsClassifier(0.7, outlier_label="most_frequent", **options).fit(
            FILLED, NAMES[THREE]
        ),
        RadiusNeighborsRegressor(3.0, weights="distance", **options).fit(FILLED, NUMBERS),
    ):
        assert_alike(through_file(model, path), model, FILLED + 0.1)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_neighbours_of_sparse_rows_come_back(metric, path):
    model = KNeighborsClassifier(metric=metric).fit(SPARSE, np.column_stack([THREE, TWO]))
    loaded = through_file(model, path)
    assert scipy.sparse.issparse(loaded._model.rows)
    assert_alike(loaded, model, SPARSE[:50])
    assert_alike(loaded, model, FILLED[:50])


def test_neighbours_of_a_mixed_table_come_back(path):
    params = {"w": np.arange(1.0, 8.0), "categorical_features": ["town", "level", "flag"]}
    model = KNeighborsClassifier(metric="gower", metric_params=params).fit(FRAME, NAMES[THREE])
    loaded = through_file(model, path)
    queries = FRAME[::-1].assign(town=["Rom", None, *FRAME["town"][2:]])
    model.metric_params = loaded.metric_params  # an array comes back as a list
    assert_alike(loaded, model, queries[queries.columns[::-1]])


def test_extreme_parameters_and_rows_of_neighbours_come_back(path):
    model = KNeighborsRegressor(2, p=np.inf).fit([[1e-320], [1e300], [-1e308]], [0.5, 1e70, -0.0])
    assert_alike(through_file(model, path), model, [[0.0], [1e308]])


def test_neighbours_with_weights_of_their_own_ask_for_them_again(path):
    model = KNeighborsRegressor(weights=np.exp).fit(FILLED, NUMBERS)
    loaded = through_file(model, path)
    np.testing.assert_array_equal(loaded.kneighbors(FILLED)[1], model.kneighbors(FILLED)[1])
    with pytest.raises(ParameterError, match=r"the function exp was not stored.*set_params"):
        loaded.predict(FILLED)
    loaded.set_params(weights=np.exp)
    np.testing.assert_array_equal(loaded.predict(FILLED), model.predict(FILLED))


def far_apart(a, b, *, times=1.0):
    return times * np.abs(a - b).max()


def test_neighbours_by_a_function_ask_for_it_again(path):
    options = {"metric": far_apart, "metric_params": {"times": 2.0}, "radius": 1.0}
    model = NearestNeighbors(**options).fit(FILLED)
    loaded = through_file(model, path)
    assert loaded.metric == loaded.effective_metric_ == NotStored("the function far_apart")
    assert loaded.effective_metric_params_ == {"times": 2.0}
    with pytest.raises(ParameterError, match=r"the function far_apart was not stored.*set_params"):
        loaded.kneighbors(FILLED[:5])
    loaded.set_params(metric=far_apart)
    np.testing.assert_array_equal(loaded.kneighbors(FILLED[:5]), model.kneighbors(FILLED[:5]))
    np.testing.assert_array_equal(loaded.kneighbors()[1], model.kneighbors()[1])


def test_a_matrix_of_distances_comes_back(path):
    distances = np.abs(FILLED[:, :1] - FILLED[:, 0])
    model = RadiusNeighborsClassifier(0.3, metric="precomputed", outlier_label=["no", 2])
    model.fit(distances, pd.DataFrame({"name": NAMES[THREE], "number": THREE}))
    assert_alike(through_file(model, path), model, distances[:50])


@pytest.mark.parametrize("label", [None, "perhaps", "most_frequent", ["no"]])
def test_the_label_of_outliers_comes_back(label, path):
    model = RadiusNeighborsClassifier(1.0, outlier_label=label).fit(FILLED, NAMES[THREE])
    loaded = through_file(model, path)
    assert loaded.outlier_label_ == model.outlier_label_
    assert_alike(loaded, model, FILLED)


def test_a_bag_of_neighbours_comes_back(path):
    model = BaggingClassifier(KNeighborsClassifier(2), n_estimators=3).fit(FILLED, NAMES[THREE])
    loaded = through_file(model, path)
    np.testing.assert_array_equal(loaded.predict_proba(FILLED), model.predict_proba(FILLED))


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(),
        LinearSVC(loss="hinge", class_weight={"no": 2.0}, n_jobs=2),
        LinearSVC(penalty="l1", C=0.1),
        LinearSVC(multi_class="crammer_singer", fit_intercept=False),
    ],
    ids=str,
)
@pytest.mark.parametrize("classes", [THREE, TWO], ids=["three", "two"])
@pytest.mark.parametrize("table", [FILLED, SPARSE, FRAME.iloc[:, :4].fillna(0.0)], ids=type)
def test_a_linear_classifier_comes_back(model, classes, table, path):
    model = clone(model).fit(table, NAMES[classes])
    assert_alike(through_file(model, path), model, table[::-1])


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_a_linear_regressor_comes_back(loss, path):
    model = LinearSVR(loss=loss, epsilon=0.1).fit(FILLED, NUMBERS)
    assert_alike(through_file(model, path), model, FILLED)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian", "precomputed"])
@pytest.mark.parametrize("classes", [THREE, TWO], ids=["three", "two"])
@pytest.mark.parametrize(
    "model",
    [
        SVC(probability=True, class_weight="balanced", n_jobs=2),
        SVC(multi_class="ovr", C=3.0),
        NuSVC(nu=0.05, decision_function_shape="ovo"),
    ],
    ids=str,
)
def test_a_kernel_classifier_comes_back(model, classes, kernel, path):
    table = FILLED @ FILLED.T if kernel == "precomputed" else FILLED
    model = clone(model).set_params(kernel=kernel).fit(table, NAMES[classes])
    loaded = through_file(model, path)
    assert_alike(loaded, model, table[::-1])
    np.testing.assert_array_equal(loaded.decision_function(table), model.decision_function(table))


@pytest.mark.parametrize("table", [FILLED, SPARSE, FRAME.iloc[:, :4].fillna(0.0)], ids=type)
@pytest.mark.parametrize(
    "model", [SVR(C=3.0), NuSVR(kernel="linear"), OneClassSVM(nu=0.2)], ids=str
)
def test_other_kernel_svms_come_back(model, table, path):
    model = clone(model).fit(table, NUMBERS)
    assert_alike(through_file(model, path), model, table)


def test_single_kernels_come_back(path):
    table = np.random.default_rng(0).normal(size=(2500, 4))
    model = SVC().fit(table, table[:, 0] * table[:, 1] > 0)
    assert model._model.single
    assert_alike(through_file(model, path), model, table)


def test_a_kernel_that_is_a_function_is_asked_for(path):
    def product(A, B):
        return A @ B.T

    model = SVR(kernel=product).fit(FILLED, NUMBERS)
    loaded = through_file(model, path)
    with pytest.raises(ParameterError, match="product was not stored"):
        loaded.predict(FILLED)
    loaded.set_params(kernel=product)
    np.testing.assert_array_equal(loaded.predict(FILLED), model.predict(FILLED))


def test_an_infinite_cost_comes_back(path):
    model = SVC(kernel="linear", C=np.inf).fit([[0.0], [1.0]], [0, 1])
    assert np.inf == through_file(model, path).C


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.lists(inner).map(tuple)
            | st.dictionaries(st.text() | st.integers(0, 9) | st.none(), inner)
        ),
        max_leaves=10,
    )
)
@settings(max_examples=50)
def test_values_of_any_shape_survive_json(value):
    assert repr(decode(json.loads(json.dumps(encode(value), allow_nan=False)))) == repr(value)


CHILD = """
import json, resource, sys
import numpy as np
from hedgerow import GradientBoostingClassifier
from hedgerow._model_file import load, save

loaded, copy, fitted = sys.argv[1:]
model = load(loaded)
X = np.arange(80.0).reshape(40, 2)
report = {"proba": model.predict_proba(X).tobytes().hex()}
small = GradientBoostingClassifier(
    n_estimators=2, min_samples_leaf=2, categorical_features={"b", "a"}
)
save(small.fit(*model_data(X)), fitted)
sys.dont_write_bytecode = True  # Python would leave it cut short
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    save(model, copy)
except OSError as error:
    report["error"] = str(error)
print(json.dumps(report))
"""
MODEL_DATA = """
def model_data(X):
    import numpy as np
    import pandas as pd
    frame = pd.DataFrame({"a": X[:, 0] % 3, "b": X[:, 1] % 5})
    return frame, np.array(["u", "v"])[(frame.a > frame.b).astype(int)]
"""


@pytest.fixture(scope="module")
def child(tmp_path_factory):
    """Let another process, with other hashes of strings, load and save."""
    folder = tmp_path_factory.mktemp("child")
    model = classifier(n_estimators=20).fit(np.arange(80.0).reshape(40, 2), np.arange(40) % 3)
    save(model, folder / "loaded")
    (folder / "copy").write_bytes(b"old")
    files = [str(folder / name) for name in ("loaded", "copy", "fitted")]
    command = [sys.executable, "-c", MODEL_DATA + CHILD, *files]
    env = os.environ | {"PYTHONHASHSEED": "1"}
    ran = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return model, json.loads(ran.stdout), folder


def test_another_process_reads_the_file(child):
    model, report, _ = child
    expected = model.predict_proba(np.arange(80.0).reshape(40, 2))
    assert bytes.fromhex(report["proba"]) == expected.tobytes()


# The bytes


def test_the_same_model_gives_the_same_bytes(path):
    def saved():
        save(classifier(early_stopping=True).fit(FRAME, TWO), path)
        return path.read_bytes()

    first = saved()
    assert saved() == first
    save(load(path), path)
    assert path.read_bytes() == first


def test_bytes_do_not_depend_on_the_process(child, path):
    defined = {}
    exec(MODEL_DATA, defined)
    small = GradientBoostingClassifier(
        n_estimators=2, min_samples_leaf=2, categorical_features={"b", "a"}
    )
    save(small.fit(*defined["model_data"](np.arange(80.0).reshape(40, 2))), path)
    assert path.read_bytes() == (child[2] / "fitted").read_bytes()


def test_a_file_is_a_safetensors_file_with_aligned_arrays(categorical, path):
    path.write_bytes(pack(*categorical))
    tensors = safetensors.numpy.load_file(path)
    assert set(tensors) == set(categorical[1])
    for name, array in categorical[1].items():
        assert tensors[name].dtype == array.dtype
        np.testing.assert_array_equal(tensors[name], array)
    data = path.read_bytes()
    header = fuzzer.header_of(data)
    begin = 8 + int.from_bytes(data[:8], "little")
    for name, array in categorical[1].items():
        assert (begin + header[name]["data_offsets"][0]) % array.itemsize == 0


# What a file may not do


def test_every_truncation_is_refused(small, path):
    for length in range(len(small[1])):
        with pytest.raises(ModelFileError, match=r"empty|not a Hedgerow|truncated|damaged"):
            unpack(small[1][:length])
    with pytest.raises(ModelFileError, match=r"model\.hedgerow': truncated"):
        read(small[1][:200], path)


def test_every_flipped_byte_is_found(small):
    data = small[1]
    for at in range(len(data)):
        for mask in (0x01, 0x20, 0xFF):
            damaged = data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]
            with pytest.raises(ModelFileError):
                unpack(damaged)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"\x00", "not a Hedgerow model file"),
        (b"PK\x03\x04" * 100, "not a Hedgerow model file"),
        (b"\xff" * 300, "not a Hedgerow model file"),
        (safetensors.numpy.save({"x": np.zeros(3)}), "not one that Hedgerow saved"),
        (safetensors.numpy.save({"x": np.zeros(3)}, {"a": "b"}), "not one that Hedgerow saved"),
    ],
)
def test_a_foreign_file_is_refused(data, reason, path):
    with pytest.raises(ModelFileError, match=reason):
        read(data, path)


@pytest.mark.parametrize("length", [0, 1, 100_000_001, 2**63, 2**64 - 1])
def test_an_absurd_header_length_is_refused(length, small, path):
    with pytest.raises(ModelFileError):
        read(fuzzer.seal(length.to_bytes(8, "little") + small[1][8:]), path)


def test_a_huge_file_that_is_no_model_is_not_read(path):
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ModelFileError, match="not a Hedgerow model file"):
        load(path)


def test_a_newer_file_says_so(small, path):
    header = fuzzer.header_of(small[1])
    document = json.loads(header["__metadata__"]["hedgerow"])
    header["__metadata__"]["hedgerow"] = json.dumps(document | {"format_version": 2, "new": 1})
    newer = fuzzer.with_header(small[1], fuzzer.dumped(header).encode())
    message = r"written by a newer Hedgerow \(format 2; this one reads up to 1\)"
    with pytest.raises(ModelFileError, match=message):
        read(newer, path)


def test_what_is_not_a_regular_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="not a regular file"):
        load(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="not a regular file"):
        load("/dev/zero")


def test_the_systems_own_errors_stay_what_they_are(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)
    with pytest.raises(TypeError):
        load(3.5)


def forged(contents, changes=(), **fields):
    """Give contents with other fields, and with arrays changed in place by a function."""
    document, arrays = contents
    arrays = {name: array.copy() for name, array in arrays.items()}
    for name, change in changes:
        changed = change(arrays[name])
        arrays[name] = arrays[name] if changed is None else changed
    return unpack(pack(document | fields, arrays))


def put(place, value):
    def change(array):
        array[place] = value

    return change


INNER = 0  # the root of the first tree


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("ensemble.feature", put(INNER, 7), "feature is out of range"),
        ("ensemble.left", put(INNER, 10**6), "outside its tree"),
        ("ensemble.left", put(INNER, 0), "after its parent"),
        ("ensemble.value", put(INNER, np.nan), "not finite"),
        ("ensemble.base_score", put(0, np.inf), "not finite"),
        ("ensemble.base_score", lambda _: np.zeros(2), "outputs"),
        ("ensemble.tree_output", lambda a: a[:-1], "tree_offset does not fit"),
        ("ensemble.feature", lambda a: a.astype(np.int64), "int64, not int32"),
        ("ensemble.feature", lambda a: a[:, None], "dimensions"),
        ("ensemble.category_bits", lambda a: a[:, :4], "8 words"),
        ("ensemble.missing_left", lambda a: a.view(np.uint8) + 2, "uint8, not bool"),
        ("binner.category_values", put(0, 255), "bin 255"),
        ("binner.category_values", lambda a: a[1:], "category_starts"),
        ("binner.threshold_values", put(0, np.nan), "finite and increase"),
        ("binner.is_categorical", lambda a: ~a, "different categorical features"),
        # Differences that wrap around: each is positive, and yet the middle is out of range.
        ("binner.category_starts", put([2, 3], [2**63 - 1, -2]), "category_starts"),
    ],
)
def test_a_forged_array_is_refused(name, change, reason, categorical):
    with pytest.raises(ModelFileError, match=reason):
        read_estimator(*forged(categorical, [(name, change)]))


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("features", put(0, 5), "not sorted"),
        ("features", put(0, 0), "of a numeric feature"),
        ("features", put(0, -1), "of a numeric feature"),
        ("features", lambda a: a[:1], "numbers is not float64 of shape"),
        ("features", lambda a: a.astype(np.int32), "features is not int64"),
        ("features", lambda a: a.reshape(1, 2), "features is not int64"),
        ("features", lambda a: a.reshape(-1)[0].reshape(()), "features is not int64"),
        ("numbers", put((1, 2), np.nan), "encoding of a category is not finite"),
        ("numbers", put((1, 5), np.inf), "encoding of missing values is infinite"),
        ("numbers", lambda a: a[:, 1:], "numbers is not float64 of shape"),
        ("numbers", lambda a: a.ravel(), "numbers is not float64 of shape"),
        ("priors", put(0, np.nan), "a prior is not finite"),
        ("priors", lambda a: a[:0], "statistics are empty"),
        ("priors", lambda a: a[1:], "numbers is not float64 of shape"),
        ("priors", lambda a: a[0].reshape(()), "priors is not float64"),
        ("smoothing", put((0, 0), 0.0), "smoothing is not positive"),
        ("smoothing", put((0, 0), np.nan), "smoothing is not positive"),
        ("smoothing", lambda a: a.T, "smoothing is not float64 of shape"),
    ],
)
def test_forged_target_statistics_are_refused(name, change, reason, encoded):
    with pytest.raises(ModelFileError, match=reason):
        read_estimator(*forged(encoded, [(f"statistics.{name}", change)]))


def test_statistics_of_another_number_of_targets_do_not_suit_the_bins(encoded):
    changes = [(f"statistics.{name}", lambda a: a[:-1]) for name in ("numbers", "priors")]
    changes.append(("statistics.smoothing", lambda a: a[:-1]))
    with pytest.raises(ModelFileError, match="different numbers of features"):
        read_estimator(*forged(encoded, changes))


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("feature", put(0, 4), "slope along a categorical feature"),
        ("feature", put(0, 7), "feature of a slope is out of range"),
        ("start", lambda a: np.maximum(a, np.arange(len(a)) > 0), "an inner node has slopes"),
        ("start", put(-1, 0), "does not span the terms"),
        ("coefficient", put((0, 0), np.inf), "non-finite"),
        ("coefficient", put((0, 0), 1.7e308), "values of a leaf can overflow"),
        ("low", put(0, 1e9), "range is empty"),
        ("centre", lambda a: a[:, 0].copy(), "shape"),
    ],
)
def test_forged_slopes_are_refused(name, change, reason, sloped):
    with pytest.raises(ModelFileError, match=reason):
        read_estimator(*forged(sloped, [(f"ensemble.slopes.{name}", change)]))


def test_slopes_come_whole_or_not_at_all(sloped):
    document, arrays = sloped
    less = {name: array for name, array in arrays.items() if name != "ensemble.slopes.low"}
    with pytest.raises(ModelFileError, match=r"low of ensemble\.slopes are missing"):
        read_estimator(*unpack(pack(document, less)))
    none = {name: array for name, array in arrays.items() if "slopes" not in name}
    assert read_estimator(*unpack(pack(document, none)))._model.ensemble.slopes is None


def test_models_that_have_no_slopes_may_not_bring_any(sloped):
    document, arrays = write_estimator(AdaBoostRegressor(n_estimators=2).fit(X, NUMBERS))
    slopes = {name: array for name, array in sloped[1].items() if "slopes" in name}
    with pytest.raises(ModelFileError, match="there are unknown arrays"):
        read_estimator(*unpack(pack(document, arrays | slopes)))


@pytest.mark.parametrize("seed", [-1, 2**32, 1.0, None, "x", True])
def test_a_forged_seed_is_refused(seed, encoded):
    with pytest.raises(ModelFileError, match="seed"):
        read_estimator(*forged(encoded, statistics_seed=seed))


def test_a_truth_value_that_is_neither_true_nor_false_is_refused(small, path):
    data = bytearray(small[1])
    data[-1] = 2  # the last array is of the narrowest type
    with pytest.raises(ModelFileError, match="something other than true and false"):
        read(fuzzer.seal(bytes(data)), path)


def test_a_missing_and_an_extra_array_are_refused(categorical):
    document, arrays = categorical
    with pytest.raises(ModelFileError, match="left of ensemble are missing"):
        read_estimator(document, {k: v for k, v in arrays.items() if k != "ensemble.left"})
    with pytest.raises(ModelFileError, match="category_starts of binner are missing"):
        read_estimator(document, {k: v for k, v in arrays.items() if k != "binner.category_starts"})
    for extra in ("extra", "ensemble.extra", "binner.extra"):
        with pytest.raises(ModelFileError, match="there are unknown arrays"):
            read_estimator(document, arrays | {extra: np.zeros(1)})


def test_a_node_may_not_test_a_number_of_a_categorical_feature(categorical):
    arrays = categorical[1]
    is_number_test = (arrays["ensemble.feature"] >= 0) & (arrays["ensemble.category_set"] < 0)
    at = np.flatnonzero(is_number_test)[0]
    with pytest.raises(ModelFileError, match="a node has a category set"):
        read_estimator(*forged(categorical, [("ensemble.feature", put(at, 4))]))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"estimator": "os.system"}, "estimator 'os.system' is unknown"),
        ({"estimator": "GradientBoostingRegressor"}, "does not know the parameters class_weight"),
        ({"link": "softmax"}, "the link is 'softmax', but must be one of"),
        ({"link": []}, "the link is"),
        ({"classes": None}, "classes do not match"),
        (
            {"classes": {"dtype": "int64", "values": [1, 2, 3]}},
            "the number of outputs does not match the classes",
        ),
        ({"classes": {"dtype": "int8", "values": [1, 300]}}, "does not fit into int8"),
        ({"classes": {"dtype": "int64", "values": [2, 1]}}, "distinct and sorted"),
        ({"classes": {"dtype": "int64", "values": ["a", "b"]}}, "not a list of int64"),
        ({"classes": {"dtype": "M8[ns]", "values": [1, 2]}}, "have dtype"),
        ({"parameters": {"learning_rate": -1}}, "learning_rate=-1 is not allowed"),
        ({"parameters": {"n_jobs": {"not_stored": "x"}}}, "n_jobs=.* is not allowed"),
        ({"parameters": {"n_estimators": 10**400}}, "too large"),
        ({"parameters": {"__class__": 1}}, "does not know the parameters"),
        ({"parameters": []}, "parameters are not a JSON object"),
        ({"evals_result": {"dict": [["a", {"dict": [["b", ["c"]]]}]]}}, "evals_result"),
        ({"evals_result": {"a": {"b": [1.0]}}}, "unknown type"),
        ({"best_iteration": 0}, "best_iteration"),
        ({"best_score": None}, "best_score"),
        ({"library_version": 1}, "library version"),
        ({"schema": {"n_features": 10**15, "feature_names": None, "categories": []}}, "features"),
        ({"schema": {"n_features": 2**29, "feature_names": None, "categories": []}}, "features"),
        ({"schema": []}, "schema"),
        ({"more": 1}, "fields"),
    ],
    ids=str,
)
def test_a_forged_document_is_refused(fields, reason, categorical):
    with pytest.raises(ModelFileError, match=reason):
        read_estimator(*forged(categorical, **fields))


def test_a_score_may_be_any_whole_number():
    X, y = np.arange(40.0).reshape(-1, 1), np.arange(40) > 20
    forest = RandomForestClassifier(n_estimators=20, oob_score=True).fit(X, y)
    again = read_estimator(*forged(write_estimator(forest), oob_score=10**30))
    assert write_estimator(again)[0]["oob_score"] == 1e30


NEIGHBOURS = {
    "dense": lambda: KNeighborsClassifier().fit(FILLED, THREE),
    "sparse": lambda: NearestNeighbors().fit(SPARSE),
    "mixed": lambda: KNeighborsRegressor(metric="gower").fit(FRAME, NUMBERS),
    "powers": lambda: NearestNeighbors(p=3).fit(FILLED),
    "matrix": lambda: NearestNeighbors(metric="precomputed").fit(np.abs(FILLED[:4])),
    "outliers": lambda: RadiusNeighborsClassifier(outlier_label=1).fit(FILLED, THREE),
    "function": lambda: NearestNeighbors(metric=far_apart).fit(FILLED),
}


@pytest.mark.parametrize(
    ("kind", "name", "change", "reason"),
    [
        ("dense", "rows", put((3, 1), np.nan), "not finite"),
        ("dense", "rows", put((3, 1), np.inf), "not finite"),
        ("dense", "rows", lambda a: a.astype(np.float32), "not float64"),
        ("dense", "rows", lambda a: a[:, 1:].copy(), "a number for each feature"),
        ("dense", "rows", lambda a: a.ravel(), "a number for each feature"),
        ("dense", "rows", lambda a: a[:0], "no rows"),
        ("dense", "rows", lambda a: a[1:], "a class for each row"),
        ("dense", "target", put((0, 0), 3), "class index is out of range"),
        ("dense", "target", put((0, 0), -1), "class index is out of range"),
        ("dense", "target", lambda a: a.astype(np.float64), "a class for each row"),
        ("dense", "target", lambda a: a[:, [0, 0]], "a class for each row"),
        ("sparse", "rows.indices", put(0, 4), "column index is out of range"),
        ("sparse", "rows.indices", put(0, -1), "column index is out of range"),
        ("sparse", "rows.indices", lambda a: a[1:], "indptr does not increase"),
        ("sparse", "rows.indices", lambda a: a[::-1].copy(), "not sorted"),
        ("sparse", "rows.indices", lambda a: a.astype(np.int64), "wrong type or shape"),
        ("sparse", "rows.indptr", put(0, 1), "indptr does not increase"),
        ("sparse", "rows.indptr", put(1, 2**62), "indptr does not increase"),
        ("sparse", "rows.indptr", put(-1, 10**6), "indptr does not increase"),
        ("sparse", "rows.indptr", lambda a: a[:1], "no rows"),
        ("sparse", "rows.data", put(0, np.nan), "not finite"),
        ("sparse", "rows.data", lambda a: a[:, None], "wrong type or shape"),
        ("mixed", "rows", put((0, 4), 4.0), "unknown category code"),
        ("mixed", "rows", put((0, 4), -1.0), "unknown category code"),
        ("mixed", "rows", put((0, 4), 0.5), "unknown category code"),
        ("mixed", "rows", put((0, 0), np.inf), "not finite"),
        ("mixed", "column_weights", put(0, -1.0), "nonnegative"),
        ("mixed", "column_weights", lambda a: a * 0, "not all 0"),
        ("mixed", "column_weights", lambda a: a[1:], "number of weights"),
        ("mixed", "target", put((0, 0), np.inf), "a target is missing or not finite"),
        ("matrix", "rows", put((0, 0), -1.0), "not a square matrix"),
        ("matrix", "rows", lambda a: a[:-1], "not a square matrix"),
    ],
)
def test_forged_rows_of_neighbours_are_refused(kind, name, change, reason):
    with pytest.raises(ModelFileError, match=reason):
        read_estimator(*forged(write_estimator(NEIGHBOURS[kind]()), [(name, change)]))


@pytest.mark.parametrize(
    ("kind", "fields", "reason"),
    [
        ("dense", {"metric": "gower", "metric_params": {"dict": []}}, "k-d tree does not support"),
        ("dense", {"metric": "l2", "metric_params": {"dict": []}}, "do not match the metric 'l2'"),
        ("dense", {"metric": "hamming", "metric_params": {"dict": []}}, "metric is 'hamming'"),
        ("dense", {"metric": ["cosine"], "metric_params": {"dict": []}}, "metric is"),
        (
            "dense",
            {"metric": "cosine", "metric_params": {"dict": [["p", 2.0]]}},
            "no parameter 'p'",
        ),
        ("dense", {"metric": "cosine", "metric_params": []}, "not a dict"),
        ("dense", {"metric": {"not_stored": "f"}}, "a k-d tree does not support"),
        ("matrix", {"use_tree": True}, "a k-d tree does not support"),
        ("function", {"metric_params": {"dict": [[1, 2]]}}, "strings as names"),
        ("function", {"metric": None}, "the metric is None"),
        ("outliers", {"outlier_label": 1}, "not a list of classes"),
        ("outliers", {"outlier_label": [None]}, "not a list of classes"),
        ("outliers", {"outlier_label": ["a"]}, "not have the type"),
        ("outliers", {"outlier_label": [1, 2]}, "a list of 2, but y has 1 outputs"),
        ("dense", {"outputs": None}, "do not match the estimator"),
        ("dense", {"is_sparse": True}, "missing"),
        ("dense", {"use_tree": 1}, "use_tree is not true or false"),
        ("powers", {"metric": "minkowski", "metric_params": {"dict": []}}, "do not match"),
        (
            "powers",
            {"metric": "minkowski", "metric_params": {"dict": [["p", 2.0]]}},
            "do not match",
        ),
        ("powers", {"metric": "minkowski", "metric_params": {"dict": [["p", -3.0]]}}, "p=-3.0"),
        ("powers", {"metric": "minkowski", "metric_params": {"dict": [["p", "3"]]}}, "p='3'"),
        ("sparse", {"use_tree": True}, "a k-d tree does not support"),
        ("sparse", {"metric": "manhattan", "metric_params": {"dict": []}}, "sparse rows"),
        ("sparse", {"is_sparse": False}, "missing"),
        ("sparse", {"outputs": {"n_numbers": 1, "is_single": True}}, "do not match"),
        ("mixed", {"use_tree": True}, "a k-d tree does not support"),
        (
            "mixed",
            {"metric": "euclidean", "metric_params": {"dict": []}},
            "does not support categories",
        ),
        ("mixed", {"outputs": {"n_numbers": 2, "is_single": False}}, "a target is missing"),
        (
            "sparse",
            {"schema": {"n_features": 2**31, "feature_names": None, "categories": []}},
            "no rows",
        ),
    ],
    ids=str,
)
def test_a_forged_document_of_neighbours_is_refused(kind, fields, reason):
    with pytest.raises(ModelFileError, match=reason):
        read_estimator(*forged(write_estimator(NEIGHBOURS[kind]()), **fields))


@pytest.mark.parametrize(
    ("changes", "fields", "reason"),
    [
        ([("machine.coef", put((0, 0), np.nan))], {}, "not finite"),
        ([("machine.intercept", put(0, np.inf))], {}, "not finite"),
        ([("machine.coef", lambda a: a[:, 1:].copy())], {}, "coef is not float64 of shape"),
        ([("machine.coef", lambda a: a[1:])], {}, "coef is not float64 of shape"),
        ([("machine.coef", lambda a: a.astype(np.float32))], {}, "coef is not float64"),
        ([("machine.intercept", lambda a: a[:1])], {}, "intercept is not float64 of shape"),
        ([("objective_", put(0, np.nan))], {}, "objective_ is negative or NaN"),
        ([("duality_gap_", put(0, -1.0))], {}, "duality_gap_ is negative or NaN"),
        ([("duality_gap_", lambda a: a[:2])], {}, "duality_gap_ is not float64 of shape"),
        ([], {"n_iter": 0}, "n_iter"),
        ([], {"n_iter": True}, "n_iter"),
        ([], {"n_iter": 2**31}, "n_iter"),
        ([], {"classes": None}, "classes do not match"),
        ([], {"classes": {"dtype": "int64", "values": [1]}}, "fewer than two"),
        ([], {"classes": {"dtype": "int64", "values": [1, 2]}}, "coef is not float64 of shape"),
        ([], {"estimator": "LinearSVR", "parameters": {}}, "classes do not match"),
        (
            [],
            {"schema": {"n_features": 10**12, "feature_names": None, "categories": []}},
            "coef is not float64 of shape",
        ),
        (
            [],
            {
                "schema": {
                    "n_features": 4,
                    "feature_names": None,
                    "categories": [{"feature": 0, "kind": "string", "values": ["a"]}],
                }
            },
            "has categorical features",
        ),
    ],
)
def test_a_forged_linear_machine_is_refused(changes, fields, reason):
    contents = write_estimator(LinearSVC().fit(FILLED, THREE))
    with pytest.raises(ModelFileError, match=reason):
        read_estimator(*forged(contents, changes, **fields))


@pytest.mark.parametrize(
    ("changes", "fields", "reason"),
    [
        ([("support", put(0, -1))], {}, "support index is out of range"),
        ([("support", put(0, 10**9))], {}, "support index is out of range"),
        ([("support", lambda a: a.astype(np.int32))], {}, "support is not int64"),
        ([("support", lambda a: a[:, np.newaxis])], {}, "support is not int64 of shape"),
        ([("vectors", put((0, 0), np.nan))], {}, "not finite"),
        ([("vectors", put((0, 0), 1e60))], {}, "too large"),
        ([("vectors", lambda a: a[1:])], {}, "number of support vectors"),
        ([("vectors", lambda a: a[:, 1:].copy())], {}, "vectors is not float64 of shape"),
        ([("coefficients", lambda a: a[1:])], {}, "coefficients is not float64 of shape"),
        ([("coefficients", put((0, 0), np.inf))], {}, "coefficients is not finite"),
        ([("intercepts", lambda a: a[1:])], {}, "intercepts is not float64 of shape"),
        ([("counts", put(0, 10**9))], {}, "do not add up"),
        ([("counts", put(0, -1))], {}, "do not add up"),
        ([("class_weight", put(0, -1.0))], {}, "weight is not allowed"),
        ([("sigmoids", lambda a: a[:, :1])], {}, "sigmoids is not float64 of shape"),
        ([("objective", put(0, np.nan))], {}, "not finite"),
        ([("duality_gap", put(0, -1.0))], {}, "negative or NaN"),
        ([("n_iter", put(0, 0))], {}, "n_iter"),
        ([], {"n_rows": 0}, "n_rows"),
        ([], {"n_rows": 5}, "support index is out of range"),
        ([], {"single": True}, "single precision"),
        ([], {"is_sparse": True}, "missing"),
        ([], {"has_sigmoids": False}, "there are unknown arrays"),
        ([], {"has_pairs": False}, "is not float64 of shape"),
        ([], {"epsilon": 0.5}, "epsilon is only stored for NuSVR"),
        ([], {"classes": None}, "classes do not match"),
        ([], {"classes": {"dtype": "int64", "values": [1, 2]}}, "more than two classes"),
        ([], {"kernel": {}}, "expected fields"),
        ([], {"estimator": "NuSVR", "parameters": {}}, "classes do not match"),
    ],
)
def test_a_forged_kernel_machine_is_refused(changes, fields, reason):
    contents = write_estimator(SVC(kernel="poly", probability=True).fit(FILLED, THREE))
    with pytest.raises(ModelFileError, match=reason):
        read_estimator(*forged(contents, changes, **fields))


@pytest.mark.parametrize("epsilon", [10**400, "0.1", True])
def test_a_width_that_is_no_number_is_refused(epsilon):
    contents = write_estimator(NuSVR().fit(FILLED, NUMBERS))
    with pytest.raises(ModelFileError, match="epsilon is not a number"):
        read_estimator(*forged(contents, [], epsilon=epsilon))
    # An integer beyond 64 bits is a number, of which NumPy's functions know nothing.
    assert read_estimator(*forged(contents, [], epsilon=10**100))._model.epsilon == 1e100


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"name": "cubic"}, "the kernel is"),
        ({"name": "callable"}, "function does not suit"),
        ({"name": "precomputed"}, "a column for each training row"),
        ({"gamma": -1.0}, "gamma or coef0"),
        ({"gamma": None}, "gamma or coef0"),
        ({"coef0": "0"}, "gamma or coef0"),
        ({"degree": 10**9}, "degree"),
        ({"degree": True}, "degree"),
        ({"function": {"not_stored": "f"}}, "function does not suit"),
    ],
)
def test_a_forged_kernel_is_refused(changed, reason):
    document, arrays = write_estimator(SVR(kernel="poly").fit(FILLED, NUMBERS))
    with pytest.raises(ModelFileError, match=reason):
        read_estimator(*forged((document, arrays), kernel=document["kernel"] | changed))


@pytest.mark.parametrize(
    ("loss", "changes", "fields", "reason"),
    [
        ("cox", [("curve.times", lambda a: a[::-1].copy())], {}, "survival curve do not increase"),
        ("cox", [("curve.times", lambda a: a[:-1].copy())], {}, "curve.hazard is not float64"),
        ("cox", [("curve.hazard", lambda a: -a)], {}, "curve.hazard is not finite"),
        ("cox", [("curve.hazard", put(-1, np.inf))], {}, "curve.hazard is not finite"),
        ("cox", [("curve.hazard", put(1, 0.0))], {}, "hazard decreases"),
        ("cox", [("curve.hazard", lambda a: a.astype(np.float32))], {}, "is not float64"),
        ("cox", [], {"curve": {"distribution": "normal", "scale": 1.0}}, "does not match"),
        ("cox", [], {"link": "log"}, "the link does not match"),
        ("cox", [], {"link": "sigmoid"}, "the link is"),
        ("cox", [], {"curve": None}, "there are unknown arrays"),
        ("aft", [], {"curve": "hazard"}, "are missing"),
        ("aft", [], {"curve": 3}, "neither a hazard nor a distribution"),
        ("aft", [], {"curve": {"distribution": "normal"}}, "neither a hazard nor a distribution"),
        ("aft", [], {"curve": {"distribution": "cauchy", "scale": 1.0}}, "'cauchy'"),
        ("aft", [], {"curve": {"distribution": "normal", "scale": 0.0}}, "the scale is"),
        ("aft", [], {"curve": {"distribution": "normal", "scale": "1"}}, "the scale is"),
    ],
)
def test_a_forged_survival_model_is_refused(loss, changes, fields, reason):
    model = GradientBoostingSurvival(loss=loss, n_estimators=2).fit(X, np.exp(NUMBERS))
    with pytest.raises(ModelFileError, match=reason):
        read_estimator(*forged(write_estimator(model), changes, **fields))


def test_a_forged_ranker_is_refused():
    model = GradientBoostingRanker(n_estimators=2).fit(X, THREE, group=[100, 100])
    cases = (({"link": "log"}, "the link is"), ({"classes": {}}, "fields dtype and values"))
    for fields, reason in cases:
        with pytest.raises(ModelFileError, match=reason):
            read_estimator(*forged(write_estimator(model), **fields))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b'"dtype":"F64"', b'"dtype":"F64","dtype":"F64"', "occurs twice"),
        (b'\\"link\\":', b'\\"link\\":\\"identity\\",\\"link\\":', "occurs twice"),
        (b'\\"classes\\":null', b'\\"classes\\":' + b"[" * 200_000, "nested too deeply"),
        (b'\\"tol\\":0.0', b'\\"tol\\":NaN', "not JSON"),
        (b'\\"tol\\":0.0', b'\\"tol\\":1e999', "too large"),
        (b'\\"tol\\":0.0', b'\\"tol\\":' + b"9" * 5000, "cannot be read"),
        (b'\\"tol\\":0.0', b'\\"tol\\":\xff', "cannot be read"),
        (b'"shape":[1]', b'"shape":[4611686018427387904]', "another size than its shape"),
        (b'"shape":[1]', b'"shape":[1,9223372036854775807,4]', "another size than its shape"),
        (b'"shape":[1]', b'"shape":[-1,-1]', "impossible shape"),
        (b'"shape":[1]', b'"shape":[1.0]', "impossible shape"),
        (b'"shape":[1]', b'"shape":[' + b"1," * 64 + b"1]", "impossible shape"),
        (b'"data_offsets":[0,', b'"data_offsets":[-8,', "impossible shape or place"),
        (b'"data_offsets":[', b'"data_offsets":[0,', "impossible shape or place"),
        (b'"shape":[1]', b'"shape":' + b"[" * 200_000, "nested too deeply|cannot be read"),
        (b'"dtype":"F64"', b'"dtype":"F32"', "another size than its shape"),
        (b'"dtype":"F64"', b'"dtype":["F64"]', "unknown type"),
        (b'"dtype":"F64"', b'"dtype":"F64","x":1', "not one of a safetensors file"),
        (b'"dtype":"F64"', b'"dtype":"U64"', "unknown type U64"),
    ],
)
def test_a_forged_text_is_refused(old, new, reason, small, path):
    header = small[1][8 : 8 + int.from_bytes(small[1][:8], "little")]
    assert old in header
    with pytest.raises(ModelFileError, match=reason):
        read(fuzzer.with_header(small[1], header.replace(old, new, 1)), path)


def test_arrays_that_do_not_fill_the_file_are_refused(small):
    header = fuzzer.header_of(small[1])
    shifted = json.loads(json.dumps(header))
    for name in shifted.keys() - {"__metadata__"}:
        shifted[name]["data_offsets"] = [at + 8 for at in shifted[name]["data_offsets"]]
    with pytest.raises(ModelFileError, match="does not begin where"):
        unpack(fuzzer.with_header(small[1], fuzzer.dumped(shifted).encode()))
    shared = json.loads(json.dumps(header))
    shared["ensemble.more"] = shared["ensemble.value"]
    with pytest.raises(ModelFileError, match="does not begin where"):
        unpack(fuzzer.with_header(small[1], fuzzer.dumped(shared).encode()))
    for longer in (small[1] + b"\0", small[1][:-1]):
        with pytest.raises(ModelFileError, match="bytes, but the file has"):
            unpack(fuzzer.seal(longer))


def test_a_deep_list_of_values_is_refused(categorical):
    deep = []
    for _ in range(100_000):
        deep = [deep]
    document = categorical[0] | {"parameters": {"categorical_features": deep}}
    with pytest.raises(ModelFileError, match="nested more than"):
        read_estimator(document, categorical[1])


def test_a_tree_as_deep_as_a_million_nodes_is_no_danger(small):
    n = 1_000_001  # each inner node has a leaf on its left and goes on to the right
    inner = np.arange(n) % 2 == 0
    inner[-1] = False
    place = np.arange(n, dtype=np.int32)
    nodes = {
        "feature": np.where(inner, 0, -1).astype(np.int32),
        "left": np.where(inner, place + 1, -1).astype(np.int32),
        "right": np.where(inner, place + 2, -1).astype(np.int32),
        "missing_left": np.zeros(n, bool),
        "category_set": np.full(n, -1, np.int32),
        "value": np.arange(n, dtype=np.float64)[:, None],
        "count": np.zeros(n, np.int64),
        "tree_offset": np.array([0, n]),
        "tree_output": np.zeros(1, np.int32),
    } | {name: np.zeros(n) for name in ("threshold", "gain", "cover")}
    document, arrays = write_estimator(small[0])
    arrays |= {f"ensemble.{name}": array for name, array in nodes.items()}
    model = read_estimator(*unpack(pack(document, arrays)))
    base = arrays["ensemble.base_score"][0]
    np.testing.assert_array_equal(model.predict([[-1.0, 0], [1.0, 0]]) - base, [1, n - 1])


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_document_with_anything_in_any_place_is_refused_or_is_a_model(categorical, data):
    document = json.loads(json.dumps(categorical[0]))
    place = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(ANY_JSON | st.sampled_from(fuzzer.ODD_VALUES))
    try:
        model = read_estimator(*unpack(pack(document, categorical[1])))
    except ModelFileError:
        return
    fuzzer.exercise(model, data.draw(st.randoms(use_true_random=False)))


ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


def test_mutated_files_are_refused_or_are_models(path):
    refused, slowest = fuzzer.fuzz(400, 1, path)
    assert 250 < refused < 400
    assert slowest < 10


# What a failing save leaves behind


def test_an_estimator_that_is_not_fitted_cannot_be_saved(path):
    with pytest.raises(NotFittedError):
        save(regressor(), path)
    assert not path.exists()


def test_a_class_that_files_do_not_know_cannot_be_saved(path):
    class Mine(GradientBoostingRegressor):
        pass

    for estimator in (Mine(n_estimators=2).fit(X, NUMBERS), {}):
        with pytest.raises(TypeError, match="cannot be saved in a model file"):
            save(estimator, path)


def test_a_parameter_that_fit_would_refuse_cannot_be_saved(path, small):
    model = clone(small[0]).fit(X, NUMBERS).set_params(learning_rate=-1.0)
    with pytest.raises(ModelFileError, match=r"cannot be saved: learning_rate=-1\.0"):
        save(model, path)
    assert not path.exists()


def test_a_missing_folder_is_named(small, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"folder to save into does not exist.*nowhere"):
        save(small[0], tmp_path / "nowhere" / "model.hedgerow")


def test_folders_and_devices_are_not_replaced(small, tmp_path):
    with pytest.raises(IsADirectoryError):
        save(small[0], tmp_path)
    with pytest.raises(IsADirectoryError):
        save(small[0], f"{tmp_path}/new/")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="Only a regular file"):
        save(small[0], tmp_path / "pipe")
    assert names_in(tmp_path) == ["pipe"]


def fail_with(error):
    def fail(*_args, **_kwargs):
        raise error

    return fail


@pytest.mark.parametrize("function", ["open", "fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(
    function, error, small, path, monkeypatch
):
    path.write_bytes(b"old")
    with monkeypatch.context() as patch:
        patch.setattr(os, function, fail_with(error))
        with pytest.raises(type(error)) as raised:
            save(small[0], path)
    assert path.read_bytes() == b"old"
    assert names_in(path.parent) == [path.name]
    if isinstance(error, OSError):
        assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, str(path))


def test_a_full_disk_leaves_the_old_file_and_nothing_else(child):
    _, report, folder = child
    assert "File too large" in report["error"]
    assert (folder / "copy").read_bytes() == b"old"
    assert sorted(names_in(folder)) == ["copy", "fitted", "loaded"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_a_permission_error(small, tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError, match=r"model\.hedgerow"):
            save(small[0], tmp_path / "model.hedgerow")
    finally:
        tmp_path.chmod(0o700)


def test_a_disk_that_cannot_sync_folders_is_no_failure(small, path, monkeypatch):
    def fsync(descriptor, fsync=os.fsync):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    save(small[0], path)
    assert path.read_bytes() == small[1]


def test_bytes_reach_the_disk_before_the_file_gets_its_name(small, path, monkeypatch):
    events = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *a, name=name, real=real: (events.append(name), real(*a))[1]
        )
    save(small[0], path)
    assert events == ["fsync", "replace", "fsync"]


def test_a_new_file_has_the_permissions_of_any_new_file(small, path):
    old = os.umask(0o027)
    try:
        save(small[0], path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_symbolic_link_is_followed(small, path, tmp_path):
    link = tmp_path / "latest"
    link.symlink_to(path.name)
    save(small[0], str(link))
    assert link.is_symlink()
    assert path.read_bytes() == small[1]


def test_the_longest_name_can_be_saved(small, tmp_path):
    save(small[0], tmp_path / ("m" * 255))


WITHOUT = pytest.mark.parametrize("unnamed", [True, False], ids=["unnamed", "named"])


def without_unnamed_files(monkeypatch):
    monkeypatch.setattr(atomic, "_open_unnamed", lambda _folder: None)


def kill(*_arguments, **_named):
    os.kill(os.getpid(), signal.SIGKILL)


def write_and_be_killed(path, function, unnamed):
    """Write in a child that is killed when it comes to a function; return its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        if not unnamed:
            atomic._open_unnamed = lambda _folder: None
        if function == "write":
            atomic._to_disk = lambda file, data: (file.write(data[:100]), file.flush(), kill())
        elif function == "lock":
            atomic._lock = kill
        else:
            setattr(os, function, kill)
        atomic.write_atomically(str(path), b"new" * 1000)
    finally:
        os._exit(1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes to kill")
@WITHOUT
@pytest.mark.parametrize("function", ["lock", "write", "fsync", "replace"])
def test_a_save_clears_away_what_a_killed_one_left(function, unnamed, path):
    """Also a temporary file that is empty, because its writer did not come as far as the lock."""
    path.write_bytes(b"old")
    assert write_and_be_killed(path, function, unnamed) == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    assert len(names_in(path.parent)) == (1 if unnamed and function != "replace" else 2)
    atomic.write_atomically(str(path), b"new")
    assert path.read_bytes() == b"new"
    assert names_in(path.parent) == [path.name]


@WITHOUT
def test_a_save_leaves_alone_what_others_are_writing(unnamed, path, monkeypatch):
    if not unnamed:
        without_unnamed_files(monkeypatch)
    left = path.with_name(f"{atomic._prefix(path)}0123.tmp")
    others = path.with_name(f"{atomic._prefix(path.with_name('other'))}0123.tmp")
    others.write_bytes(b"part")
    with os.fdopen(atomic._open_named(left), "wb"):
        atomic.write_atomically(str(path), b"new")
        assert left.exists()
    atomic.write_atomically(str(path), b"new")
    assert sorted(names_in(path.parent)) == sorted([path.name, others.name])


def test_a_temporary_file_deleted_before_it_is_locked_is_made_again(path, monkeypatch):
    lock, deleted = atomic._lock, []

    def delete_first(descriptor, *, wait=False):
        if not deleted:
            deleted.append(path.unlink())
        lock(descriptor, wait=wait)

    monkeypatch.setattr(atomic, "_lock", delete_first)
    os.close(atomic._open_named(path))
    assert deleted == [None]
    assert path.exists()


def test_a_file_system_that_names_no_unnamed_file_is_written_to_by_name(path, monkeypatch):
    monkeypatch.setattr(os, "link", fail_with(OSError(errno.EPERM, "Operation not permitted")))
    atomic.write_atomically(str(path), b"new")
    assert path.read_bytes() == b"new"
    assert names_in(path.parent) == [path.name]


@WITHOUT
def test_files_are_whole_while_others_are_saving(unnamed, path, monkeypatch):
    if not unnamed:
        without_unnamed_files(monkeypatch)
    models = [regressor(n_estimators=n).fit(X, NUMBERS) for n in (2, 40)]
    save(models[0], path)
    stop = threading.Event()

    def keep_saving(model):
        while not stop.is_set():
            save(model, path)

    threads = [threading.Thread(target=keep_saving, args=(model,)) for model in models]
    for thread in threads:
        thread.start()
    try:
        rounds = {load(path).n_iter_ for _ in range(60)}
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert rounds <= {2, 40}
    assert names_in(path.parent) == [path.name]
