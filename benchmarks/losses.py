"""Every loss that LightGBM or XGBoost has too: is the model of the same quality?

    python -m benchmarks.losses [names of losses]

All get the same generated rows, leaves, rate and penalty, and are compared by the loss itself on a
test set, each after the number of rounds that suits it best: where a loss has no fixed curvature,
libraries take steps of different lengths at the same rate, and so learn sooner or later. One line a
loss: the mean over some tables, less is better, of each peer beside ours, and by how much ours is
larger, with its standard error.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_ndtr
from sklearn import metrics

Floats = NDArray[Any]
Metric = Callable[[Floats, Floats], float]
# From a number of rounds to the predictions of the test set.
Staged = Callable[[int], Floats]

N_TABLES, N_TRAIN, N_TEST, N_COLUMNS = 3, 8_000, 20_000, 8
LEAVES, RATE, LEAST_ROWS = 31, 0.1, 20
ROUNDS = range(10, 201, 10)
LEVEL, DELTA, POWER, N_CLASSES = 0.8, 1.0, 1.5, 4


@dataclass(frozen=True)
class Task:
    """A loss: how its target is drawn around a score, who else has it, how it is measured.

    `ours` are an estimator's name and parameters; peers are the parameters that mean the same.
    """

    draw: Callable[[np.random.Generator, Floats], Floats]
    metric: Metric
    ours: Mapping[str, Any]
    estimator: str = "GradientBoostingRegressor"
    lightgbm: Mapping[str, Any] = field(default_factory=dict)
    xgboost: Mapping[str, Any] = field(default_factory=dict)


def _huber(y: Floats, p: Floats) -> float:
    r = np.abs(y - p)
    return float(np.where(r <= DELTA, 0.5 * r**2, DELTA * (r - 0.5 * DELTA)).mean())


def _pseudo_huber(y: Floats, p: Floats) -> float:
    return float((DELTA**2 * (np.sqrt(1 + ((y - p) / DELTA) ** 2) - 1)).mean())


def _pinball(y: Floats, p: Floats) -> float:
    return float(metrics.mean_pinball_loss(y, p, alpha=LEVEL))


def _cross_entropy(y: Floats, p: Floats) -> float:
    return float(-(y * np.log(p) + (1 - y) * np.log1p(-p)).mean())


def _percentage(y: Floats, p: Floats) -> float:
    return float((np.abs(y - p) / np.maximum(1.0, np.abs(y))).mean())


def _cox(y: Floats, risk: Floats) -> float:
    """The mean −log of the partial likelihood; times below 0 are censored, and none are tied."""
    order = np.argsort(-np.abs(y))
    score = np.log(risk[order])
    at_risk = np.logaddexp.accumulate(score)
    return float((at_risk - score)[y[order] > 0].mean())


def _log_normal(y: Floats, time: Floats) -> float:
    """The mean −log likelihood of log T ~ N(log time, 1), apart from constants."""
    z = np.log(np.abs(y)) - np.log(time)
    return float(np.where(y > 0, 0.5 * z**2, -log_ndtr(-z)).mean())


def _times(rng: np.random.Generator, score: Floats) -> Floats:
    """Log-normal times, a minus before those that were still to come."""
    time = np.exp(score + rng.normal(size=len(score)))
    end = rng.exponential(3.0, len(score))
    return np.where(time <= end, time, -end)


def _heavy(rng: np.random.Generator, score: Floats) -> Floats:
    return score + rng.standard_t(2, len(score))


def _positive(rng: np.random.Generator, score: Floats) -> Floats:
    return rng.gamma(2.0, np.exp(score) / 2.0)


def _claims(rng: np.random.Generator, score: Floats) -> Floats:
    return rng.poisson(np.exp(score)) * rng.gamma(2.0, 1.0, len(score))


SURVIVAL = "GradientBoostingSurvival"
CLASSIFIER = "GradientBoostingClassifier"
TASKS = {
    "squared_error": Task(
        lambda rng, score: score + rng.normal(size=len(score)),
        metrics.mean_squared_error, {},
        lightgbm={"objective": "regression"}, xgboost={"objective": "reg:squarederror"},
    ),
    "absolute_error": Task(
        _heavy, metrics.mean_absolute_error, {"loss": "absolute_error"},
        lightgbm={"objective": "regression_l1"}, xgboost={"objective": "reg:absoluteerror"},
    ),
    "huber": Task(
        _heavy, _huber, {"loss": "huber", "delta": DELTA},
        lightgbm={"objective": "huber", "alpha": DELTA},
    ),
    "pseudo_huber": Task(
        _heavy, _pseudo_huber, {"loss": "pseudo_huber", "delta": DELTA},
        xgboost={"objective": "reg:pseudohubererror", "huber_slope": DELTA},
    ),
    "mape": Task(_positive, _percentage, {"loss": "mape"}, lightgbm={"objective": "mape"}),
    "quantile": Task(
        _heavy, _pinball, {"loss": "quantile", "quantile": LEVEL},
        lightgbm={"objective": "quantile", "alpha": LEVEL},
        xgboost={"objective": "reg:quantileerror", "quantile_alpha": LEVEL},
    ),
    "poisson": Task(
        lambda rng, score: rng.poisson(np.exp(score)).astype(float),
        metrics.mean_poisson_deviance, {"loss": "poisson"},
        lightgbm={"objective": "poisson"}, xgboost={"objective": "count:poisson"},
    ),
    "gamma": Task(
        _positive, metrics.mean_gamma_deviance, {"loss": "gamma"},
        lightgbm={"objective": "gamma"}, xgboost={"objective": "reg:gamma"},
    ),
    "tweedie": Task(
        _claims, lambda y, p: metrics.mean_tweedie_deviance(y, p, power=POWER),
        {"loss": "tweedie", "tweedie_power": POWER},
        lightgbm={"objective": "tweedie", "tweedie_variance_power": POWER},
        xgboost={"objective": "reg:tweedie", "tweedie_variance_power": POWER},
    ),
    "parts of one": Task(
        lambda rng, score: rng.beta(4 * expit(score), 4 * expit(-score)).clip(1e-9, 1 - 1e-9),
        _cross_entropy, {"loss": "log_loss"},
        lightgbm={"objective": "cross_entropy"}, xgboost={"objective": "reg:logistic"},
    ),
    "two classes": Task(
        lambda rng, score: (rng.random(len(score)) < expit(score)).astype(int),
        metrics.log_loss, {}, CLASSIFIER,
        lightgbm={"objective": "binary"}, xgboost={"objective": "binary:logistic"},
    ),
    "four classes": Task(
        lambda rng, score: np.digitize(score + rng.logistic(size=len(score)), [-1, 0, 1]),
        metrics.log_loss, {}, CLASSIFIER,
        lightgbm={"objective": "multiclass", "num_class": N_CLASSES},
        xgboost={"objective": "multi:softprob", "num_class": N_CLASSES},
    ),
    "cox": Task(_times, _cox, {"loss": "cox"}, SURVIVAL, xgboost={"objective": "survival:cox"}),
    "aft": Task(
        _times, _log_normal, {"loss": "aft", "aft_distribution": "normal", "aft_scale": 1.0},
        SURVIVAL,
        xgboost={
            "objective": "survival:aft",
            "aft_loss_distribution": "normal",
            "aft_loss_distribution_scale": 1.0,
        },
    ),
}  # fmt: skip


def table(task: Task, seed: int) -> tuple[Floats, Floats]:
    """Rows whose score is smooth, stepped and a product in parts, and their targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_TRAIN + N_TEST, N_COLUMNS))
    score = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] * (X[:, 2] > 0) + 0.3 * X[:, 3]
    return X, task.draw(rng, score)


def fit_hedgerow(task: Task, X: Floats, y: Floats, X_test: Floats) -> Staged:
    import hedgerow

    model = getattr(hedgerow, task.estimator)(
        n_estimators=ROUNDS[-1], max_leaves=LEAVES, learning_rate=RATE,
        min_samples_leaf=LEAST_ROWS, **task.ours,
    ).fit(X, y)  # fmt: skip
    name = "predict_proba" if task.estimator == CLASSIFIER else "predict"

    def predict(n_rounds: int) -> Floats:
        prediction = np.asarray(getattr(model[:n_rounds], name)(X_test))
        return np.exp(prediction) if task.ours.get("loss") == "cox" else prediction

    return predict


def fit_lightgbm(task: Task, X: Floats, y: Floats, X_test: Floats) -> Staged:
    import lightgbm

    parameters = dict(task.lightgbm) | {
        "num_leaves": LEAVES, "learning_rate": RATE, "min_child_samples": LEAST_ROWS,
        "lambda_l2": 1.0, "verbosity": -1,
    }  # fmt: skip
    model = lightgbm.train(parameters, lightgbm.Dataset(X, y), ROUNDS[-1])
    return lambda n_rounds: np.asarray(model.predict(X_test, num_iteration=n_rounds))


def fit_xgboost(task: Task, X: Floats, y: Floats, X_test: Floats) -> Staged:
    import xgboost

    data, test = xgboost.DMatrix(X, y), xgboost.DMatrix(X_test)
    if task.xgboost["objective"] == "survival:aft":
        data = xgboost.DMatrix(X)
        data.set_float_info("label_lower_bound", np.abs(y))
        data.set_float_info("label_upper_bound", np.where(y > 0, y, np.inf))
    parameters = dict(task.xgboost) | {
        "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": LEAVES, "max_depth": 0,
        "learning_rate": RATE, "lambda": 1.0, "verbosity": 0,
    }  # fmt: skip
    model = xgboost.train(parameters, data, ROUNDS[-1])
    return lambda n_rounds: np.asarray(model.predict(test, iteration_range=(0, n_rounds)))


FITS = {"hedgerow": fit_hedgerow, "lightgbm": fit_lightgbm, "xgboost": fit_xgboost}


def errors(task: Task, library: str) -> Floats:
    """The error on each table; NaN if the library has no such loss."""
    if library != "hedgerow" and not getattr(task, library):
        return np.full(N_TABLES, np.nan)
    losses = []
    for seed in range(N_TABLES):
        X, y = table(task, seed)
        predict = FITS[library](task, X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:])
        losses.append(min(task.metric(y[N_TRAIN:], predict(n)) for n in ROUNDS))
    return np.array(losses)


def beside(ours: Floats, theirs: Floats) -> str:
    """A peer's mean, and by which part of it ours is larger."""
    if np.isnan(theirs).any():
        return f"{'—':>22}"
    larger = 100 * (ours / theirs - 1)
    error = larger.std(ddof=1) / np.sqrt(len(larger))
    return f"{theirs.mean():8.4f} {larger.mean():+6.2f} ± {error:.2f} %"


def main(names: Sequence[str]) -> None:
    print(f"{'loss':15} {'ours':>8}   {'LightGBM':22}   {'XGBoost':22}")
    for name in names or TASKS:
        task = TASKS[name]
        ours, *peers = (errors(task, library) for library in FITS)
        columns = "   ".join(beside(ours, theirs) for theirs in peers)
        print(f"{name:15} {ours.mean():8.4f}   {columns}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
