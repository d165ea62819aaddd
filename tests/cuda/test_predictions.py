"""Predictions for rows on a GPU: the bits of the CPU; kernels run in `tests/cuda_shim.py`."""

import pickle

import numpy as np
import pytest

import hedgerow as hr
from cuda_shim import COMPILER, ON_BOTH, ShimDevice
from hedgerow._boosting import gpu_predictions
from hedgerow._cuda import forest
from hedgerow._cuda.forest import _PREDICTION, DeviceForest
from hedgerow._cuda.intake import DeviceRows
from hedgerow._tree.structure import _NODE_DTYPES, Ensemble, Tree
from hedgerow.exceptions import DataError, DeviceError

RNG = np.random.default_rng(0)
N = 90
X = np.column_stack([RNG.normal(size=(N, 3)), RNG.integers(0, 6, N)])
X[RNG.random(X.shape) < 0.1] = np.nan
NUMBERS = np.nan_to_num(X[:, 0]) ** 2 + np.nan_to_num(X[:, 3]) % 3 + RNG.normal(0, 0.1, N)
LABELS = np.digitize(NUMBERS, [0.5, 1.5])
SMALL = {"n_estimators": 5, "max_leaves": 6, "min_samples_leaf": 3}


def forest_scores(device, ensemble, rows, categories=None):
    """Give the scores that a device computes."""
    on_device = device.upload(rows)
    strides = tuple(stride // rows.itemsize for stride in on_device.strides)
    scores = device.empty((len(rows), ensemble.n_outputs), np.float64)
    trees = DeviceForest(ensemble, rows.dtype, categories or {}, device)
    trees.scores(device, DeviceRows(on_device, rows.shape, strides, rows.dtype), None, scores)
    return device.read(scores)


MODELS = {
    "numbers": lambda: hr.GradientBoostingRegressor(**SMALL).fit(X, NUMBERS),
    "classes": lambda: hr.GradientBoostingClassifier(**SMALL).fit(X, LABELS),
    "vectors": lambda: hr.GradientBoostingClassifier(**SMALL, multi_strategy="vector").fit(
        X, LABELS
    ),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", MODELS)
@ON_BOTH
def test_scores_are_those_of_the_cpu(device, name, dtype):
    ensemble = MODELS[name]()._model.ensemble
    rows = X.astype(dtype)
    expected = ensemble.predict_raw(rows)
    assert forest_scores(device(), ensemble, rows).tobytes() == expected.tobytes()


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
@pytest.mark.parametrize("tree_bytes", [16, 400, 4000])
def test_scores_do_not_depend_on_what_has_room_in_shared_memory(tree_bytes, monkeypatch):
    monkeypatch.setattr(forest, "_TREE_BYTES", tree_bytes)
    ensemble = MODELS["classes"]()._model.ensemble
    device = ShimDevice()
    for shared_bytes in (2 * tree_bytes, tree_bytes + 64 * 32, 64 << 10):
        device.shared_bytes = shared_bytes
        found = forest_scores(device, ensemble, X)
        assert found.tobytes() == ensemble.predict_raw(X).tobytes()


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
def test_rows_of_any_layout_are_read():
    ensemble = MODELS["numbers"]()._model.ensemble
    wide = np.asfortranarray(np.repeat(X, 2, axis=1))[::-1, ::2]
    rows = DeviceRows(wide, wide.shape, tuple(s // 8 for s in wide.strides), wide.dtype)
    device, scores = ShimDevice(), np.empty((N, 1))
    DeviceForest(ensemble, wide.dtype, {}, device).scores(device, rows, None, scores)
    assert scores.tobytes() == ensemble.predict_raw(wide).tobytes()


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
def test_an_ensemble_may_have_no_splits_or_no_trees():
    ensemble = MODELS["classes"]()._model.ensemble
    leaf = ensemble.feature < 0
    first = [int(np.flatnonzero(leaf)[0])]
    single = {name: getattr(ensemble, name)[first] for name in _NODE_DTYPES}
    tree = Tree(**single, category_bits=ensemble.category_bits[:0])
    stump = Ensemble.from_trees([tree], [0], [0.5], 4)
    for other in (ensemble.first_trees(0), stump):
        found = forest_scores(ShimDevice(), other, X)
        assert found.tobytes() == other.predict_raw(X).tobytes()


def test_the_struct_of_a_prediction_has_no_gaps():
    assert _PREDICTION.itemsize == 17 * 8 + 6 * 4


# ---- Estimators ----------------------------------------------------------------------------------


class OnGpu:
    """An array that says that it is on a GPU."""

    def __init__(self, array):
        self.array = np.asarray(array)

    def __dlpack_device__(self):
        return 2, 0


@pytest.fixture
def gpu(monkeypatch):
    """Have kernels run on the CPU for arrays of `OnGpu`."""
    if COMPILER is None:
        pytest.skip("there is no C++ compiler")
    device = ShimDevice()
    monkeypatch.setattr(gpu_predictions, "cupy_view", lambda values, _: values.array)
    monkeypatch.setattr(gpu_predictions, "device_of", lambda _: (device, 0))
    monkeypatch.setattr(gpu_predictions, "_CHECKED", set())
    return device


LABELLED = np.array(["few", "some", "many"])[LABELS]
COUNTS = np.round(NUMBERS.clip(0) * 3)
ESTIMATORS = {
    "two classes": (hr.GradientBoostingClassifier(**SMALL), LABELS > 0),
    "exponential": (hr.GradientBoostingClassifier(**SMALL, loss="exponential"), LABELS > 0),
    "hinge": (hr.GradientBoostingClassifier(**SMALL, loss="hinge"), LABELS > 0),
    "three classes": (hr.GradientBoostingClassifier(**SMALL), LABELS * 2.0),
    "strings": (hr.GradientBoostingClassifier(**SMALL), LABELLED),
    "several labels": (
        hr.GradientBoostingClassifier(**SMALL),
        np.column_stack([LABELS > 0, LABELS > 1]),
    ),
    "calibrated": (hr.GradientBoostingClassifier(**SMALL, calibration="sigmoid"), LABELS > 0),
    "numbers": (hr.GradientBoostingRegressor(**SMALL), NUMBERS),
    "counts": (hr.GradientBoostingRegressor(**SMALL, loss="poisson"), COUNTS),
    "quantiles": (
        hr.GradientBoostingRegressor(**SMALL, loss="quantile", quantile=[0.2, 0.8]),
        NUMBERS,
    ),
    "linear leaves": (hr.GradientBoostingRegressor(**SMALL, linear_leaves=True), NUMBERS),
    "categories": (hr.GradientBoostingRegressor(**SMALL, categorical_features=[3]), NUMBERS),
    "survival": (hr.GradientBoostingSurvival(**SMALL), np.abs(NUMBERS) + 0.1),
}
METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.usefixtures("gpu")
def test_every_method_returns_what_it_returns_on_the_cpu(name):
    model, y = ESTIMATORS[name]
    model.fit(X, y)
    rows = X.copy()
    rows[:4, 3] = [17.0, 2.5, -1.0, np.nan]  # unknown categories
    for method in METHODS:
        if hasattr(model, method):
            expected = getattr(model, method)(rows)
            found = getattr(model, method)(OnGpu(rows))
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            assert found.tobytes() == expected.tobytes(), method
    assert model.score(rows, y) == pytest.approx(model.score(rows, y))


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.int64, np.uint8])
@pytest.mark.usefixtures("gpu")
def test_other_types_of_numbers_are_converted_as_on_the_cpu(dtype):
    rows = np.nan_to_num(10 * X).astype(dtype)
    model = hr.GradientBoostingRegressor(**SMALL).fit(rows, NUMBERS)
    assert model.predict(OnGpu(rows)).tobytes() == model.predict(rows).tobytes()


@pytest.mark.usefixtures("gpu")
def test_offsets_are_added_before_the_trees():
    model = hr.GradientBoostingClassifier(**SMALL).fit(X, LABELS)
    offset = RNG.normal(size=(N, 3))
    found = model.decision_function(OnGpu(X), offset=offset)
    assert found.tobytes() == model.decision_function(X, offset=offset).tobytes()


@pytest.mark.usefixtures("gpu")
def test_rows_that_the_cpu_refuses_are_refused():
    model = hr.GradientBoostingRegressor(
        **SMALL, categorical_features=[3], unknown_category="error"
    )
    model.fit(X, NUMBERS)
    assert model.predict(OnGpu(X)).tobytes() == model.predict(X).tobytes()
    for row, column, value, message in (
        (3, 1, np.inf, "contains infinity"),
        (4, 3, 17.0, "17"),
    ):
        wrong = X.copy()
        wrong[row, column] = value
        with pytest.raises(DataError, match=message):
            model.predict(OnGpu(wrong))
    with pytest.raises(DataError, match="3 features"):
        model.predict(OnGpu(X[:, :3]))


@pytest.mark.usefixtures("gpu")
def test_a_model_that_has_been_on_a_gpu_can_be_pickled():
    model = hr.GradientBoostingRegressor(**SMALL).fit(X, NUMBERS)
    model.predict(OnGpu(X))
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(OnGpu(X)).tobytes() == model.predict(X).tobytes()


def test_other_scores_are_an_error(gpu):
    model = hr.GradientBoostingRegressor(**SMALL).fit(X, NUMBERS)
    upload = gpu.upload
    gpu.upload = lambda array: upload(array + 1.0 if array.shape == (1,) else array)  # base score
    with pytest.raises(DeviceError, match="different scores from the CPU"):
        model.predict(OnGpu(X))


def test_models_that_a_gpu_cannot_read_are_left_to_the_cpu(gpu):
    records = [{"a": a, "b": b} for a, b in zip(NUMBERS.tolist(), LABELLED.tolist(), strict=True)]
    for table in (records, X):
        model = hr.GradientBoostingRegressor(**SMALL, linear_leaves=table is X).fit(table, NUMBERS)
        n_features = model.n_features_in_
        assert model._model.on_gpus.scores(X[:, :n_features], None, gpu, 0) is None
