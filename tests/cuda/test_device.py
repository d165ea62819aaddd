"""`device=`: the same model files as on the CPU."""

import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
from cuda_shim import ON_BOTH
from hedgerow._cuda import device as cuda_device
from hedgerow._cuda import self_check
from hedgerow._cuda.support import REFUSALS
from hedgerow.exceptions import DeviceError, ParameterError

RNG = np.random.default_rng(0)
N = 400
X = np.column_stack([RNG.normal(size=(N, 3)), RNG.integers(0, 9, N), RNG.integers(0, 2, N)])
X[RNG.random(X.shape) < 0.05] = np.nan
NUMBERS = np.nan_to_num(X[:, 0]) ** 2 + np.nan_to_num(X[:, 3]) % 3 + RNG.normal(0, 0.1, N)
LABELS = np.digitize(NUMBERS, [0.5, 1.5])
SMALL = {"n_estimators": 4, "max_leaves": 6, "learning_rate": 0.3}


@pytest.fixture
def opened(monkeypatch, device):
    """Have device='cuda' mean this device."""
    made = device()
    monkeypatch.setattr(self_check, "open_checked_device", lambda _: made)


def file_of(estimator, tmp_path, device, X, y, **fit_options):
    path = tmp_path / "model.hedgerow"
    estimator.set_params(device=device).fit(X, y, **fit_options).save(path)
    return path.read_bytes()


ESTIMATORS = {
    "regression": lambda: hr.GradientBoostingRegressor(**SMALL),
    "levels": lambda: hr.GradientBoostingRegressor(
        **SMALL, grow_policy="levelwise", max_depth=3, subsample=0.6, colsample_bynode=0.7
    ),
    "symmetric": lambda: hr.GradientBoostingRegressor(
        **SMALL | {"max_leaves": 8},
        grow_policy="symmetric",
        categorical_features=[3],
        colsample_bynode=0.7,
        subsample=0.8,
    ),
    "absolute": lambda: hr.GradientBoostingRegressor(**SMALL, loss="absolute_error"),
    "huber": lambda: hr.GradientBoostingRegressor(**SMALL, loss="huber"),
    "quantiles": lambda: hr.GradientBoostingRegressor(
        **SMALL, loss="quantile", quantile=[0.2, 0.8]
    ),
    "formula": lambda: hr.GradientBoostingRegressor(
        **SMALL, loss=hr.Loss(lambda y, s: (y - s) ** 4)
    ),
    "categories": lambda: hr.GradientBoostingRegressor(**SMALL, categorical_features=[3, 4]),
    "dart": lambda: hr.GradientBoostingRegressor(**SMALL, boosting="dart", drop_rate=0.5),
    "stopping": lambda: hr.GradientBoostingRegressor(
        **SMALL | {"n_estimators": 8}, early_stopping=True, n_iter_no_change=2
    ),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@ON_BOTH
def test_regressors_have_the_same_file(name, opened, tmp_path):
    make = ESTIMATORS[name]
    weights = RNG.uniform(0.5, 2.0, N)
    files = [
        file_of(make(), tmp_path, device, X, NUMBERS, sample_weight=weights)
        for device in ("cpu", "cuda")
    ]
    assert files[0] == files[1]


@pytest.mark.parametrize("sampling", ["uniform", "balanced"])
@ON_BOTH
def test_classifiers_of_three_classes_have_the_same_file(sampling, opened, tmp_path):
    def make():
        return hr.GradientBoostingClassifier(**SMALL, sampling=sampling, subsample=0.8)

    files = [file_of(make(), tmp_path, device, X, LABELS) for device in ("cpu", "cuda:0")]
    assert files[0] == files[1]


@ON_BOTH
def test_offsets_give_the_same_file(opened, tmp_path):
    offset = np.sin(np.arange(3 * len(NUMBERS))).reshape(-1, 3)
    model = hr.GradientBoostingClassifier(**SMALL)
    files = [file_of(model, tmp_path, d, X, LABELS, offset=offset) for d in ("cpu", "cuda")]
    assert files[0] == files[1]


@ON_BOTH
def test_rankers_have_the_same_file(opened, tmp_path):
    files = [
        file_of(
            hr.GradientBoostingRanker(**SMALL), tmp_path, device, X, LABELS,
            group=np.full(N // 10, 10),
        )
        for device in ("cpu", "cuda")
    ]  # fmt: skip
    assert files[0] == files[1]


@pytest.mark.parametrize("grow_policy", ["auto", "leafwise"])
@ON_BOTH
def test_automatic_fits_have_the_same_file(grow_policy, opened, tmp_path):
    def make():
        return hr.GradientBoostingRegressor(grow_policy=grow_policy, max_leaves=4, budget=0.005)

    few, target = X[:100], NUMBERS[:100]
    files = [file_of(make(), tmp_path, device, few, target) for device in ("cpu", "cuda")]
    assert files[0] == files[1]


@ON_BOTH
def test_a_fit_continues_on_another_device(opened, tmp_path):
    def model(devices):
        estimator = hr.GradientBoostingRegressor(**SMALL, warm_start=True)
        for n_estimators, device in zip((3, 6), devices, strict=True):
            estimator.set_params(n_estimators=n_estimators, device=device).fit(X, NUMBERS)
        path = tmp_path / "model.hedgerow"
        estimator.save(path)
        return path.read_bytes()

    assert model(("cpu", "cuda")) == model(("cuda", "cpu")) == model(("cpu", "cpu"))


REFUSED = {
    "splitter": ["exact", "approx"],
    "prune": [True],
    "linear_leaves": [True],
    "multi_strategy": ["vector"],
    "sampling": ["gradient", "minimal_variance"],
    "monotonic_constraints": [[1, 0, 0, 0, 0]],
    "interaction_constraints": ["pairwise"],
}


def test_every_refusal_has_a_test():
    assert set(REFUSED) == {refusal.parameter for refusal in REFUSALS}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in REFUSED.items() for value in values]
)
def test_what_a_gpu_cannot_do_is_refused_by_name(name, value):
    model = hr.GradientBoostingRegressor(**SMALL, device="cuda", **{name: value})
    with pytest.raises(ParameterError, match=rf"{name}=.*device='cuda'.*device='cpu'"):
        model.fit(X, NUMBERS)


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "cuda:-1", 0, None])
def test_other_devices_are_refused(device):
    with pytest.raises(ParameterError, match=r"device=.*'cpu', 'cuda' or 'cuda:N'"):
        hr.GradientBoostingRegressor(device=device).fit(X, NUMBERS)


def test_a_machine_without_cupy_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setattr(cuda_device, "_OPENED", threading.local())
    cuda_device._cupy.cache_clear()
    with pytest.raises(DeviceError, match="pip install cupy-cuda13x"):
        hr.GradientBoostingRegressor(**SMALL, device="cuda").fit(X, NUMBERS)


@ON_BOTH
def test_files_do_not_say_which_device_was_used(opened, tmp_path):
    path = tmp_path / "model.hedgerow"
    hr.GradientBoostingRegressor(**SMALL, device="cuda").fit(X, NUMBERS).save(path)
    assert hr.load(path).device == "cpu"


def test_the_documentation_lists_what_is_refused():
    page = Path(__file__).parents[2] / "docs" / "gpu.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    for refusal in REFUSALS:
        values = refusal.values
        if values != "any":
            values = ", ".join(f"`{value}`" for value in values.split(", "))
        assert f"| `{refusal.parameter}` | {values} |" in lines
