"""Arrays on a GPU as X, y and weights: the model of their copies on the host."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import hedgerow as hr
from cuda_shim import cuda_device
from hedgerow.exceptions import DataError, DeviceError

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 3)).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int64)
WEIGHTS = rng.uniform(0.5, 2.0, 60)
MODEL = {"n_estimators": 3, "min_samples_leaf": 2}


class WithInterface:
    """An array of a GPU that knows CUDA's interface; like CuPy's, it is not copied unasked."""

    def __init__(self, array):
        self._array, self.shape, self.ndim = array, array.shape, array.ndim

    def __len__(self):
        return len(self._array)

    def __array__(self, *_args, **_options):
        raise TypeError("implicit conversion")

    @property
    def __cuda_array_interface__(self):
        raise NotImplementedError


class WithDlpack(WithInterface):
    """An array of a GPU that knows DLPack."""

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self):
        raise NotImplementedError


class Differentiable(WithDlpack):
    """A tensor that cannot be exported."""

    is_exportable = False


@pytest.fixture
def fake_cupy(monkeypatch):
    """CuPy without a GPU."""

    def read(values):
        if not getattr(values, "is_exportable", True):
            raise BufferError("use tensor.detach()")
        return SimpleNamespace(get=lambda: values._array.copy())

    fake = SimpleNamespace(from_dlpack=read, asarray=read, ndarray=type(None))
    monkeypatch.setitem(sys.modules, "cupy", fake)


def fitted(on_device):
    model = hr.GradientBoostingClassifier(**MODEL)
    return model.fit(on_device(X), on_device(Y), sample_weight=on_device(WEIGHTS))


def predictions(on_device):
    return fitted(on_device).predict_proba(X).tobytes()


@pytest.mark.usefixtures("fake_cupy")
@pytest.mark.parametrize("on_device", [WithInterface, WithDlpack])
def test_arrays_of_a_gpu_give_the_model_of_their_copies(on_device):
    assert predictions(on_device) == predictions(lambda array: array)


@pytest.mark.gpu
@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_arrays_of_libraries_give_the_model_of_their_copies(library):
    cuda_device()
    module = pytest.importorskip(library)

    def on_device(array):
        return module.asarray(array) if library == "cupy" else module.tensor(array, device="cuda")

    assert predictions(on_device) == predictions(lambda array: array)
    model = fitted(on_device)
    on_gpu = model.predict_proba(on_device(X))
    assert type(on_gpu) is type(on_device(X))
    assert module.asarray(on_gpu).device == on_device(X).device
    host = on_gpu.get() if library == "cupy" else on_gpu.cpu().numpy()
    assert host.tobytes() == model.predict_proba(X).tobytes()
    assert model.score(on_device(X), on_device(Y)) == model.score(X, Y)


@pytest.mark.usefixtures("fake_cupy")
def test_tensors_that_cannot_be_exported_are_refused_with_the_reason():
    model = hr.GradientBoostingClassifier(**MODEL)
    with pytest.raises(DataError, match=r"X is on a GPU and cannot be read: use tensor\.detach"):
        model.fit(Differentiable(X), Y)


def test_without_cupy_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    model = hr.GradientBoostingClassifier(**MODEL)
    with pytest.raises(
        DeviceError, match=r"y is on a GPU.*CuPy.*pip install cupy-cuda13x.*copy of y"
    ):
        model.fit(X, WithDlpack(Y))


@pytest.mark.usefixtures("fake_cupy")
@pytest.mark.parametrize("estimator", [hr.BaggingClassifier, hr.AdaBoostClassifier])
def test_tables_that_are_passed_through_are_copied(estimator):
    model = estimator(n_estimators=2, random_state=0)
    expected = model.fit(X, Y).predict_proba(X)
    on_gpu = model.fit(WithDlpack(X), WithDlpack(Y)).predict_proba(WithDlpack(X))
    assert on_gpu.tobytes() == expected.tobytes()
