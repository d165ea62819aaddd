"""``python -m benchmarks.gpu``: the engine of a GPU against the CPU's, bytes and seconds.

On a machine with an NVIDIA GPU, all checkpoints take some minutes; each can be run alone::

    python -m benchmarks.gpu                              # everything
    python -m benchmarks.gpu --checkpoints losses models  # bytes: formulas, then whole models
    python -m benchmarks.gpu --checkpoints profile --shapes higgs
    python -m benchmarks.gpu --checkpoints times --repeats 2

``losses``, ``binning``, ``models``, ``ahead`` and ``memory`` compare with the CPU and end with an
error if a byte differs; ``profile`` shows the time of each kernel; ``times`` the seconds of whole
fits. Every result is a line of JSON.
"""

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import hedgerow as hr
from hedgerow import _native
from hedgerow._cuda import memory, self_check
from hedgerow._cuda.device import CudaDevice
from hedgerow._cuda.engine import CudaEngine
from hedgerow._cuda.intake import bin_on_device
from hedgerow._data.binning import Binner
from hedgerow._data.intake import learn_schema
from hedgerow._tree.growth_params import GrowthParams


def report(checkpoint, **facts):
    print(json.dumps({"checkpoint": checkpoint} | facts), flush=True)


# ---- Shapes -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """A table and the parameters of a fit; `bar` and `goal` are seconds on an H200."""

    n_rows: int
    n_features: int
    bar: float
    goal: float
    options: dict[str, Any] = field(default_factory=dict)

    def data(self, seed=0):
        """Give numbers that trees can learn something from, made in pieces to save memory."""
        rng = np.random.default_rng(seed)
        X = np.empty((self.n_rows, self.n_features), np.float32)
        for j in range(self.n_features):
            X[:, j] = rng.standard_normal(self.n_rows, dtype=np.float32)
        score = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + 0.5 * X[:, 3]
        return X, (score + rng.logistic(size=self.n_rows) > 0).astype(np.int32)

    def model(self, **options):
        return hr.GradientBoostingClassifier(
            learning_rate=0.1, subsample=1.0, colsample_bytree=1.0, **self.options | options
        )


DEPTH_6 = {"grow_policy": "levelwise", "max_depth": 6, "max_leaves": None, "n_estimators": 100}
SHAPES = {
    "higgs": Shape(10_000_000, 28, 2.0, 1.25, DEPTH_6 | {"max_depth": 8, "n_estimators": 500}),
    "million": Shape(1_000_000, 28, 0.085, 0.05, DEPTH_6),
    "leaves": Shape(10_000_000, 28, 1.2, 0.5, {"max_leaves": 255, "n_estimators": 100}),
    "wide": Shape(1_000_000, 500, 0.33, 0.2, DEPTH_6),
    "small": Shape(100_000, 28, 0.2, 0.07, DEPTH_6 | {"n_estimators": 500}),
}


def seconds(work, *args, **options):
    start = time.perf_counter()
    work(*args, **options)
    return time.perf_counter() - start


# ---- Bytes --------------------------------------------------------------------------------------


def file_hash(model):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.hedgerow"
        model.save(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()


def require_equal(checkpoint, name, expected, actual, **facts):
    report(checkpoint, name=name, equal=bool(expected == actual), **facts)
    if expected != actual:
        FAILURES.append(f"{checkpoint}: {name}")


FAILURES: list[str] = []


def bins_of(X):
    _, table = learn_schema(X, None)
    return Binner().fit_transform(table, columns_only=True)


def check_losses(arguments):
    """Derivatives of every native loss, bit for bit, at ordinary and extreme scores."""
    n = arguments.rows
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(n) * np.exp(rng.uniform(-30, 5, n))
    scores[:8] = [0.0, -0.0, 709.5, -745.2, 800.0, -800.0, 1e-310, -1e-310]
    target = rng.integers(0, 2, n).astype(np.float64)
    binned = bins_of(np.zeros((n, 1), np.float32))
    device = CudaDevice()
    for index, name in enumerate(_native.loss_names()):
        k = 3 if name in ("multinomial", "cross_entropy") else 1
        engine = CudaEngine(binned, GrowthParams(), np.zeros(k), device)
        engine.scores[...] = scores if k == 1 else np.stack([scores, scores / 2, -scores])
        engine._upload_scores()
        engine._set("target", np.tile(target, (k, 1)) if name == "cross_entropy" else target)
        engine._target_stride = n if name == "cross_entropy" else 0
        engine._set("loss_parameter", np.full(k, 0.7))
        engine._fit = None
        g, h = device.empty((k, n), np.float64), device.empty((k, n), np.float64)
        args = (engine._struct(), np.int32(index), g, h)
        device.launch("derivatives", (4 * device.n_processors, 1), 256, *args)
        own = device.read(g), device.read(h)
        targets = np.tile(target, (k, 1)) if name == "cross_entropy" else target[None]
        expected = _native.loss_gradients(
            name, [0.7] * k, engine._scores.copy(), targets, None, arguments.threads
        )
        same = all(a.tobytes() == b.tobytes() for a, b in zip(own, expected, strict=True))
        require_equal("losses", name, True, same, rows=n)


def check_binning(arguments):
    """Numbers to bins on the device, bit for bit, and how long it takes from the host's memory."""
    rng = np.random.default_rng(0)
    device = CudaDevice()
    n = arguments.rows
    for dtype, order in ((np.float32, "C"), (np.float32, "F"), (np.float64, "C")):
        X = (rng.standard_normal((n, 9)) * np.exp(rng.uniform(-90, 5, (n, 9)))).astype(dtype)
        X[rng.random(X.shape) < 0.01] = np.nan
        _, table = learn_schema(np.asarray(X, order=order), None)
        binner = Binner().fit(table)
        expected = binner.transform(table, columns_only=True, threads=arguments.threads)
        bins = device.empty(X.T.shape, np.uint8)
        unbinned = binner.leave_unbinned(table)
        bin_on_device(unbinned, device, bins)
        same = device.read(bins).tobytes() == expected.by_column.tobytes()
        took = seconds(bin_on_device, unbinned, device, bins)
        require_equal(
            "binning", f"{X.dtype} {order}", True, same, seconds=took, gigabytes=X.nbytes / 1e9
        )


def random_problem(rng):
    """Give a random estimator with data for it."""
    n = int(rng.choice([50, 700, 5_000, 40_000, 120_000]))
    d = int(rng.choice([1, 4, 28, 33, 70]))
    X = rng.standard_normal((n, d)).astype(rng.choice([np.float32, np.float64]))
    X[:, rng.random(d) < 0.2] *= 1e-39
    X[:, rng.random(d) < 0.3] = rng.integers(0, int(rng.choice([2, 12, 200])), (n, 1))
    X[rng.random(X.shape) < rng.choice([0.0, 0.1])] = np.nan
    score = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, -1]) ** 2
    options = {
        "n_estimators": int(rng.integers(1, 8)),
        "learning_rate": float(rng.choice([0.1, 0.5])),
        "grow_policy": str(rng.choice(["leafwise", "levelwise", "symmetric"])),
        "max_leaves": [None, 4, 31, 255][rng.integers(4)],
        "max_depth": [None, 3, 7][rng.integers(3)],
        "min_samples_leaf": int(rng.choice([1, 20])),
        "reg_lambda": float(rng.choice([0.0, 1.0])),
        "reg_alpha": float(rng.choice([0.0, 0.0, 0.5])),
        "max_delta_step": [0.0, 0.0, 0.3][rng.integers(3)],
        "subsample": float(rng.choice([1.0, 0.6])),
        "colsample_bytree": float(rng.choice([1.0, 0.7])),
        "colsample_bynode": float(rng.choice([1.0, 0.5])),
        "categorical_features": [0] if rng.random() < 0.3 and np.ptp(score) < 1e6 else None,
        "random_state": int(rng.integers(1000)),
    }
    if options["max_leaves"] is None and options["max_depth"] is None:
        options["max_leaves"] = 63
    if options["categorical_features"]:
        X[:, 0] = rng.integers(0, 30, n)
    weights = rng.uniform(0.1, 3, n) if rng.random() < 0.3 else None
    if rng.random() < 0.5:
        noisy = score + rng.logistic(size=n)
        levels = [0.0] if rng.random() < 0.6 else [-1.0, 0.5, 2.0]
        losses = ["log_loss", "exponential", "hinge", "focal"] if len(levels) == 1 else ["log_loss"]
        loss = str(rng.choice(losses))
        return (
            hr.GradientBoostingClassifier(loss=loss, **options),
            X,
            np.digitize(noisy - np.median(noisy), levels),
            weights,
        )
    losses = [
        *("squared_error", "absolute_error", "quantile", "expectile", "huber", "pseudo_huber"),
        *("log_cosh", "poisson", "gamma", "tweedie"),
    ]
    y = np.exp(np.clip(score, -3, 3) / 3) + rng.random(n)
    return hr.GradientBoostingRegressor(loss=str(rng.choice(losses)), **options), X, y, weights


def check_models(arguments):
    """Whole models of random tables: the same file on both devices."""
    for seed in range(arguments.first, arguments.first + arguments.tables):
        model, X, y, weights = random_problem(np.random.default_rng(seed))
        hashes, times = [], []
        for device in ("cpu", "cuda"):
            model.set_params(device=device, n_jobs=arguments.threads)
            times.append(seconds(model.fit, X, y, sample_weight=weights))
            hashes.append(file_hash(model))
        shown = {k: v for k, v in model.get_params().items() if k in ("loss", "grow_policy")}
        require_equal("models", seed, *hashes, shape=X.shape, seconds=times, **shown)


def check_ahead(arguments):
    """Leaf-wise trees do not depend on how many leaves are divided ahead; how fast each is."""
    shape = Shape(arguments.rows, 28, 0.0, 0.0, {"max_leaves": 255, "n_estimators": 10})
    X, y = shape.data()
    expected = file_hash(shape.model(n_jobs=arguments.threads).fit(X, y))
    usual = memory.MOST_AHEAD
    for most in (1, 8, 32, 64, 128):
        memory.MOST_AHEAD = most
        model = shape.model(device="cuda", n_jobs=arguments.threads)
        took = seconds(model.fit, X, y)
        require_equal("ahead", most, expected, file_hash(model), seconds=took)
    memory.MOST_AHEAD = usual


def check_memory(arguments):
    """The forecast of memory against what is really reserved."""
    import cupy

    n = arguments.rows
    X, _ = Shape(n, 28, 0.0, 0.0).data()
    binned = bins_of(X)
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    before = pool.used_bytes()
    device = CudaDevice()
    params = GrowthParams()
    engine = CudaEngine(binned, params, np.zeros(1), device)
    used = pool.used_bytes() - before
    capacity = memory.Capacity.of(params, n)
    sizes = memory.array_bytes(engine._shape, capacity, engine._sizes, engine._row_blocks)
    forecast = sum(sizes.values())
    report("memory", rows=n, used=used, forecast=forecast, ratio=forecast / used)
    if not 0.9 < forecast / used < 1.1:
        FAILURES.append("memory")


# ---- Seconds ------------------------------------------------------------------------------------


class ProfiledDevice(CudaDevice):
    """Measures each kernel, one after another."""

    totals: ClassVar[dict[str, list[float]]] = defaultdict(list)

    def launch(self, kernel, grid, threads, *args, shared_bytes=0):
        cuda = self._cupy.cuda
        with self._active():
            start, end = cuda.Event(), cuda.Event()
            start.record(self._stream)
            super().launch(kernel, grid, threads, *args, shared_bytes=shared_bytes)
            end.record(self._stream)
            end.synchronize()
            self.totals[kernel].append(cuda.get_elapsed_time(start, end))

    def recorded(self, queue):
        return queue


def by_step(times, n_rounds):
    """Give the median time of a kernel's first launch in a round, its second, and so on."""
    if len(times) % n_rounds:
        return [round(time, 4) for time in times]
    steps = np.median(np.reshape(times, (n_rounds, -1)), axis=0)
    return [round(float(time), 4) for time in steps]


def profile(arguments):
    """The time of each kernel in a few rounds, without graphs."""
    usual = self_check.open_checked_device
    for name in arguments.shapes:
        shape = SHAPES[name]
        X, y = shape.data()
        n_rounds = 10
        for measured in (False, True):  # the first fit compiles
            ProfiledDevice.totals.clear()
            device = ProfiledDevice()
            self_check.open_checked_device = lambda _, opened=device: opened
            model = shape.model(n_estimators=n_rounds, device="cuda", n_jobs=arguments.threads)
            model.fit(X if measured else X[:50_000], y if measured else y[:50_000])
        self_check.open_checked_device = usual
        rounds = {
            kernel: {
                "ms_per_round": round(sum(times) / n_rounds, 4),
                "launches": len(times),
                "by_step": by_step(times, n_rounds),
            }
            for kernel, times in ProfiledDevice.totals.items()
        }
        total = sum(sum(times) for times in ProfiledDevice.totals.values()) / n_rounds
        report("profile", shape=name, ms_per_round=round(total, 3), kernels=rounds)


def times(arguments):
    """Seconds of whole fits, from a NumPy table on the host; the first compiles kernels."""
    warm = hr.GradientBoostingClassifier(n_estimators=3, device="cuda")
    took = seconds(warm.fit, *SHAPES["small"].data())
    report("times", shape="first fit", seconds=took)
    for name in arguments.shapes:
        shape = SHAPES[name]
        X, y = shape.data()
        taken = []
        for _ in range(arguments.repeats):
            model = shape.model(device="cuda", n_jobs=arguments.threads)
            taken.append(seconds(model.fit, X, y))
        few = shape.model(n_estimators=1, device="cuda", n_jobs=arguments.threads)
        besides = seconds(few.fit, X, y)
        facts = {"best": min(taken), "all": taken, "one_round": besides}
        per_tree = (min(taken) - besides) / (shape.options["n_estimators"] - 1)
        report(
            "times", shape=name, **facts, ms_per_tree=1e3 * per_tree, bar=shape.bar, goal=shape.goal
        )
        if arguments.compare:
            cpu = shape.model(n_jobs=arguments.threads)
            report("times", shape=name, cpu=seconds(cpu.fit, X, y))
            require_equal("times", name, file_hash(cpu), file_hash(model))
        del X, y


CHECKPOINTS = {
    "losses": check_losses,
    "binning": check_binning,
    "models": check_models,
    "ahead": check_ahead,
    "memory": check_memory,
    "profile": profile,
    "times": times,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--checkpoints", nargs="+", choices=CHECKPOINTS, default=list(CHECKPOINTS))
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the smaller checks")
    parser.add_argument("--tables", type=int, default=50, help="random tables of 'models'")
    parser.add_argument("--first", type=int, default=0, help="the first random table")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--threads", type=int, default=-1)
    parser.add_argument("--compare", action="store_true", help="fit the shapes on the CPU, too")
    arguments = parser.parse_args()
    for name in arguments.checkpoints:
        took = seconds(CHECKPOINTS[name], arguments)
        report(name, seconds=round(took, 2), done=True)
    if FAILURES:
        sys.exit("different: " + ", ".join(FAILURES))


if __name__ == "__main__":
    main()
