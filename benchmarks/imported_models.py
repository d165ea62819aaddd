"""Models of other libraries: predictions and Shapley values after the import and in the library.

    python -m benchmarks.imported_models --threads 1 2

Each library fits 100 trees, and predicts raw scores (probabilities, if it has no scores) of 200,000
rows of float64. The imported model must predict the same; the two take turns, and the best times
count. Shapley values are those of XGBoost's, LightGBM's and CatBoost's own functions.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble
from threadpoolctl import threadpool_limits

import hedgerow as hr
from benchmarks.generated import binary_table
from benchmarks.measure import available_cores, seconds_of

COLUMNS, TRAINING_ROWS, TREES, LEAVES = 28, 20_000, 100, 31
Floats = NDArray[Any]


@dataclass(frozen=True)
class Peer:
    """A fitted model of a library, its functions of rows and threads, and the imported model."""

    name: str
    model: Any
    predict: Callable[[Floats, int], Floats]
    explain: Callable[[Floats, int], Floats] | None = None

    def scores(self, X: Floats, n_threads: int) -> Floats:
        """Return the predictions of the imported model."""
        model = self.model.set_params(n_jobs=n_threads)
        if hasattr(model, "decision_function"):
            return model.decision_function(X)
        return model.predict_proba(X)[:, 1]

    def shapley_values(self, X: Floats, n_threads: int) -> Floats:
        """Return the Shapley values of the imported model."""
        return hr.explain.shap_values(self.model.set_params(n_jobs=n_threads), X).values


def xgboost_model(X: Floats, y: Floats) -> Peer:
    import xgboost

    booster = xgboost.train(
        {"objective": "binary:logistic", "max_leaves": LEAVES, "grow_policy": "lossguide"},
        xgboost.DMatrix(X, y),
        TREES,
    )

    def predict(X: Floats, n_threads: int) -> Floats:
        booster.set_param({"nthread": n_threads})
        return booster.inplace_predict(X, predict_type="margin")

    def explain(X: Floats, n_threads: int) -> Floats:
        booster.set_param({"nthread": n_threads})
        return booster.predict(xgboost.DMatrix(X, nthread=n_threads), pred_contribs=True)[:, :-1]

    return Peer("XGBoost", hr.from_xgboost(booster), predict, explain)


def lightgbm_model(X: Floats, y: Floats) -> Peer:
    import lightgbm

    parameters = {"objective": "binary", "num_leaves": LEAVES, "verbose": -1}
    booster = lightgbm.train(parameters, lightgbm.Dataset(X, y), TREES)

    def predict(X: Floats, n_threads: int) -> Floats:
        return booster.predict(X, raw_score=True, num_threads=n_threads)

    def explain(X: Floats, n_threads: int) -> Floats:
        return booster.predict(X, pred_contrib=True, num_threads=n_threads)[:, :-1]

    return Peer("LightGBM", hr.from_lightgbm(booster), predict, explain)


def catboost_model(X: Floats, y: Floats) -> Peer:
    import catboost

    model = catboost.CatBoostClassifier(iterations=TREES, verbose=0, allow_writing_files=False)
    model.fit(X, y)

    def predict(X: Floats, n_threads: int) -> Floats:
        return model.predict(X, prediction_type="RawFormulaVal", thread_count=n_threads)

    def explain(X: Floats, n_threads: int) -> Floats:
        pool = catboost.Pool(X)
        return model.get_feature_importance(pool, "ShapValues", thread_count=n_threads)[:, :-1]

    return Peer("CatBoost", hr.from_catboost(model), predict, explain)


def sklearn_models(X: Floats, y: Floats) -> Iterator[Peer]:
    """Yield models of scikit-learn, which has no Shapley values."""
    boosters = (
        ensemble.HistGradientBoostingClassifier(max_iter=TREES, early_stopping=False),
        ensemble.GradientBoostingClassifier(n_estimators=TREES, max_depth=5, subsample=0.2),
    )
    for booster in boosters:
        booster.fit(X, y)

        def decide(X: Floats, n_threads: int, booster: Any = booster) -> Floats:
            with threadpool_limits(n_threads):
                return booster.decision_function(X)

        yield Peer(type(booster).__name__, hr.from_sklearn(booster), decide)
    for kind in (ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier):
        forest = kind(n_estimators=TREES, n_jobs=-1, random_state=0).fit(X, y)

        def vote(X: Floats, n_threads: int, forest: Any = forest) -> Floats:
            return forest.set_params(n_jobs=n_threads).predict_proba(X)[:, 1]

        yield Peer(kind.__name__, hr.from_sklearn(forest), vote)


def peers(X: Floats, y: Floats) -> Iterator[Peer]:
    """Yield a model of each library that is installed."""
    makers = {"xgboost": xgboost_model, "lightgbm": lightgbm_model, "catboost": catboost_model}
    for package, make in makers.items():
        if find_spec(package):
            yield make(X, y)
    yield from sklearn_models(X, y)


def compare(
    ours: Callable[[Floats, int], Floats],
    theirs: Callable[[Floats, int], Floats],
    X: Floats,
    n_threads: int,
    turns: int,
) -> str:
    """Return the times of both, their ratio, and how far the results are apart."""
    expected, found = theirs(X, n_threads), ours(X, n_threads)
    gap = np.abs(found - expected).max() / np.abs(expected).max()
    seconds: dict[int, list[float]] = {0: [], 1: []}
    for turn in range(turns):
        for which in (0, 1) if turn % 2 else (1, 0):
            work = (ours, theirs)[which]
            seconds[which].append(seconds_of(lambda work=work: work(X, n_threads)))
    own, other = min(seconds[0]), min(seconds[1])
    return f"{own:8.3f} s {other:8.3f} s {own / other:7.3f} ×   {gap:.1e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--explained", type=int, default=2_000)
    parser.add_argument("--threads", type=int, nargs="+", default=[available_cores()])
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    table, y = binary_table(TRAINING_ROWS + options.rows, COLUMNS, 0)
    X = table.astype(np.float64)
    train, test = X[:TRAINING_ROWS], np.ascontiguousarray(X[TRAINING_ROWS:])
    print(f"{'':32} threads   imported  library     ratio   gap")
    for peer in peers(train, y[:TRAINING_ROWS]):
        for n_threads in options.threads:
            times = compare(peer.scores, peer.predict, test, n_threads, options.turns)
            print(f"{peer.name:32} {n_threads:7} {times}", flush=True)
            if peer.explain is not None:
                rows = test[: options.explained]
                times = compare(peer.shapley_values, peer.explain, rows, n_threads, 2)
                print(f"{'  Shapley values':32} {n_threads:7} {times}", flush=True)


if __name__ == "__main__":
    main()
