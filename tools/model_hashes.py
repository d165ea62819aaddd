"""Hashes of the model files of many estimators, to find out whether a change alters a model.

    python -m tools.model_hashes --write before.json        before the change
    python -m tools.model_hashes --compare before.json      after it: lists the models that differ

Every kind of estimator is fitted, and gradient boosting with every option that takes a path of its
own, to a table with missing values and categorical features; some to enough rows for the packed
form of gradients. Half a minute of processor time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import hedgerow as hr

ROUNDS = {"n_estimators": 6, "learning_rate": 0.2}
# Options of gradient boosting; each is fitted to numbers, to two classes and to three.
BOOSTING: tuple[dict[str, Any], ...] = (
    {},
    {"grow_policy": "levelwise", "max_leaves": None, "max_depth": 4},
    {"grow_policy": "symmetric"},
    {"boosting": "dart", "skip_drop": 0.0, "drop_rate": 0.5},
    {"splitter": "exact"},
    {"linear_leaves": True},
    {"subsample": 0.4},
    {"subsample": 0.4, "sampling": "gradient"},
    {"subsample": 0.4, "sampling": "minimal_variance"},
    {"colsample_bytree": 0.6, "colsample_bylevel": 0.7, "colsample_bynode": 0.7},
    {"feature_weights": {"a": 5.0}, "colsample_bytree": 0.4},
    {"min_split_gain": 0.5, "prune": True},
    {"splitter": "approx"},
    {"splitter": "approx", "sketch": "tree", "max_bins": 20},
    {"reg_alpha": 0.5, "reg_lambda": 3.0, "min_split_gain": 0.01, "max_delta_step": 0.3},
    {"min_child_weight": 5.0, "min_samples_leaf": 40, "max_bins": 20},
    {"monotonic_constraints": {"a": 1, "b": -1}},
    {"interaction_constraints": [["a", "town"], ["b", "c", "code"]]},
    {"max_categories": 3},
    {"max_categories": 3, "linear_leaves": True},
    {"early_stopping": True, "n_iter_no_change": 2, "learning_rate": 0.9},
    {"subsample_for_bin": 300},
)
REGRESSION_LOSSES: tuple[dict[str, Any], ...] = (
    *({"loss": loss} for loss in ("absolute_error", "huber", "pseudo_huber", "log_cosh")),
    *({"loss": loss} for loss in ("quantile", "expectile")),
    *({"loss": loss} for loss in ("poisson", "gamma", "tweedie")),
    {"loss": "quantile", "quantile": (0.1, 0.5, 0.9)},
    {"loss": "quantile", "quantile": (0.1, 0.9), "calibration": "conformal"},
    {"loss": "huber", "delta": 1.0, "linear_leaves": True},
)
CLASSIFICATION: tuple[dict[str, Any], ...] = (
    *({"loss": loss} for loss in ("exponential", "hinge", "focal")),
    *({"calibration": method} for method in ("sigmoid", "isotonic", "temperature")),
    {"sampling": "balanced", "subsample": 0.5},
    {"class_weight": "balanced"},
)


def make_table(n_rows: int) -> tuple[pd.DataFrame, Any]:
    """Return a table with missing values and categorical features, and numbers to predict."""
    rng = np.random.default_rng(7)
    X = pd.DataFrame(np.round(rng.normal(size=(n_rows, 4)), 3), columns=["a", "b", "c", "d"])
    X["town"] = rng.choice(["Bonn", "Kiel", "Trier", "Ulm"], n_rows)
    X["code"] = pd.Categorical(rng.integers(0, 30, n_rows))
    X["flag"] = rng.random(n_rows) < 0.2
    y = X["a"] - X["b"] * X["c"] + (X["town"] == "Ulm") + rng.normal(size=n_rows) * 0.3
    X.loc[rng.random(n_rows) < 0.1, "a"] = np.nan
    X.loc[rng.random(n_rows) < 0.1, "town"] = None
    return X, np.round(y.to_numpy(), 4)


def fits() -> Iterator[tuple[str, Any]]:
    """Yield fitted models, each with a name."""
    X, y = make_table(1_500)
    classes = {"2 classes": y > 0.5, "3 classes": np.digitize(y, [-0.5, 0.5])}
    for options in BOOSTING:
        named = ROUNDS | options
        yield f"regressor {options}", hr.GradientBoostingRegressor(**named).fit(X, y)
        for kind, target in classes.items():
            if not (kind == "3 classes" and "monotonic_constraints" in options):
                yield f"{kind} {options}", hr.GradientBoostingClassifier(**named).fit(X, target)
    for options in REGRESSION_LOSSES:
        target = np.abs(y) + 0.1 if options["loss"] in ("poisson", "gamma", "tweedie") else y
        model = hr.GradientBoostingRegressor(**ROUNDS | options)
        yield f"regressor {options}", model.fit(X, target)
    for options in CLASSIFICATION:
        model = hr.GradientBoostingClassifier(**ROUNDS | options)
        yield f"2 classes {options}", model.fit(X, classes["2 classes"])
    yield from other_boosting(X, y)
    yield from many_rows()
    yield from other_families(X, y)


def other_boosting(X: pd.DataFrame, y: Any) -> Iterator[tuple[str, Any]]:
    """Yield rankers, survival models, several outputs, automatic choices and continued fits."""
    several = np.column_stack([y, -y, y**2])
    labels = several > 0.5
    for strategy in ("separate", "vector"):
        options = ROUNDS | {"multi_strategy": strategy}
        yield f"{strategy} outputs", hr.GradientBoostingRegressor(**options).fit(X, several)
        yield f"{strategy} labels", hr.GradientBoostingClassifier(**options).fit(X, labels)
        model = hr.GradientBoostingClassifier(**options, linear_leaves=True)
        yield f"{strategy} classes, linear", model.fit(X, np.digitize(y, [-0.5, 0.5]))
    relevance, group = np.digitize(y, [-0.5, 0.5, 1.0]), [15] * (len(y) // 15)
    for loss in ("ndcg", "map", "pairwise", "listwise"):
        ranker = hr.GradientBoostingRanker(loss=loss, **ROUNDS)
        yield (
            f"ranker {loss}",
            ranker.fit(X, np.minimum(relevance, 1 + 2 * (loss != "map")), group=group),
        )
    times = np.where(y > 0, np.abs(y) + 0.01, -np.abs(y) - 0.01)
    for options in ({"loss": "cox"}, {"loss": "cox", "ties": "breslow"}):
        yield f"survival {options}", hr.GradientBoostingSurvival(**ROUNDS | options).fit(X, times)
    for distribution in ("normal", "logistic", "extreme"):
        model = hr.GradientBoostingSurvival(loss="aft", aft_distribution=distribution, **ROUNDS)
        yield f"survival {distribution}", model.fit(X, np.abs(y) + 0.01)
    for budget in ("quick", "balanced"):
        model = hr.GradientBoostingRegressor(budget=budget)
        yield f"regressor auto {budget}", model.fit(X, y)
    model = hr.GradientBoostingClassifier(budget="quick")
    yield "classifier auto", model.fit(X, np.digitize(y, [-0.5, 0.5]))
    continued = hr.GradientBoostingRegressor(**ROUNDS, warm_start=True).fit(X, y)
    yield "continued", continued.set_params(n_estimators=9).fit(X, y)
    shares = np.column_stack([y > 0.5, y <= 0.5]) * 0.8 + 0.1
    model = hr.GradientBoostingClassifier(**ROUNDS, loss="cross_entropy")
    yield "cross entropy", model.fit(X, shares)
    weights = np.linspace(0.0, 3.0, len(y))
    model = hr.GradientBoostingRegressor(**ROUNDS)
    yield "weighted", model.fit(X, y, sample_weight=weights)


def many_rows() -> Iterator[tuple[str, Any]]:
    """Yield models of so many rows that gradients are packed and nodes shared out by rows."""
    X, y = make_table(60_000)
    yield "many rows, regressor", hr.GradientBoostingRegressor(**ROUNDS).fit(X, y)
    yield "many rows, classifier", hr.GradientBoostingClassifier(**ROUNDS).fit(X, y > 0.5)
    model = hr.GradientBoostingClassifier(**ROUNDS, multi_strategy="vector")
    yield "many rows, vector", model.fit(X, np.digitize(y, [-0.5, 0.5]))
    flags = (np.random.default_rng(0).random((40_000, 60)) < 0.02).astype(float)
    target = flags[:, :5].sum(axis=1) - flags[:, 5:10].sum(axis=1)
    yield "many rows, bundles", hr.GradientBoostingRegressor(**ROUNDS).fit(flags, target)
    yield "many rows, forest", hr.RandomForestRegressor(n_estimators=2).fit(X, y)


def other_families(X: pd.DataFrame, y: Any) -> Iterator[tuple[str, Any]]:
    """Yield the other kinds of estimators, on mixed tables where they take these."""
    numbers = X[["b", "c", "d"]].to_numpy()[:400]
    three, two = np.digitize(y, [-0.5, 0.5]), y > 0.5
    for classifier in _estimators("Classifier", "SVC"):
        mixed = not any(word in classifier.__name__ for word in ("SVC", "Neighbors"))
        rows, target = (X, three) if mixed else (numbers, three[:400])
        options: dict[str, Any] = {"nu": 0.1} if classifier is hr.NuSVC else {}
        options |= {"n_estimators": 3} if hasattr(classifier(), "n_estimators") else {}
        if "Radius" in classifier.__name__:
            options |= {"radius": 3.0}
        yield classifier.__name__, classifier(**options).fit(rows, target)
    for regressor in _estimators("Regressor", "SVR"):
        mixed = not any(word in regressor.__name__ for word in ("SVR", "Neighbors"))
        rows, numbers_to_predict = (X, y) if mixed else (numbers, y[:400])
        options = {"n_estimators": 3} if hasattr(regressor(), "n_estimators") else {}
        if "Radius" in regressor.__name__:
            options |= {"radius": 3.0}
        yield regressor.__name__, regressor(**options).fit(rows, numbers_to_predict)
    yield "OneClassSVM", hr.OneClassSVM().fit(numbers)
    yield "NearestNeighbors", hr.NearestNeighbors().fit(numbers)
    yield "gower", hr.KNeighborsRegressor(metric="gower").fit(X, y)
    for criterion in ("gini", "entropy", "gain_ratio", "error"):
        tree = hr.DecisionTreeClassifier(criterion=criterion, splitter="exact", max_depth=5)
        yield f"tree {criterion}, exact", tree.fit(X, three)
    for criterion in ("squared_error", "absolute_error"):
        for splitter in ("hist", "exact"):
            tree = hr.DecisionTreeRegressor(criterion=criterion, splitter=splitter, max_depth=5)
            yield f"tree {criterion}, {splitter}", tree.fit(X, y)
    for algorithm in ("SAMME", "SAMME.R", "real", "gentle", "logit"):
        model = hr.AdaBoostClassifier(n_estimators=3, algorithm=algorithm)
        yield f"AdaBoost {algorithm}", model.fit(X, two)
    forest = hr.RandomForestClassifier(n_estimators=3, feature_combinations=2)
    yield "forest, combinations", forest.fit(X, three)
    for multi_class in ("ovr", "crammer_singer"):
        model = hr.LinearSVC(multi_class=multi_class)
        yield f"LinearSVC {multi_class}", model.fit(numbers, three[:400])
    yield "SVC, probability", hr.SVC(probability=True).fit(numbers, three[:400])


def _estimators(*endings: str) -> list[Any]:
    skipped = ("GradientBoosting",)
    return [
        getattr(hr, name)
        for name in hr.__all__
        if name.endswith(endings) and not name.startswith(skipped)
    ]


def hash_models() -> dict[str, str]:
    """Return the hash of each model's file."""
    hashes: dict[str, str] = {}
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        path = Path(folder) / "model.hedgerow"
        for name, model in fits():
            model.save(path)
            hashes[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return hashes


def main() -> int:
    """Write or compare; return 1 if models differ."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", type=Path, metavar="FILE")
    action.add_argument("--compare", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    hashes = hash_models()
    if chosen.write:
        chosen.write.write_text(json.dumps(hashes, indent=1), encoding="utf-8")
        print(f"{len(hashes)} models")
        return 0
    before: dict[str, str] = json.loads(chosen.compare.read_text(encoding="utf-8"))
    different = sorted(name for name in {*before, *hashes} if before.get(name) != hashes.get(name))
    for name in different:
        print(f"differs: {name}")
    print(f"{len(before)} models before, {len(hashes)} now, {len(different)} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
