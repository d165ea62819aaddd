"""Rankers beside LightGBM's and XGBoost's: times, and the NDCG of held-out queries.

All get the settings of LightGBM's own example of ranking. A tenth of the rows is left out of each
tree there, so models differ by their seeds: on the real table, of which few queries are held out,
the score is the mean over several.
"""

import gzip
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.boosters import use_level
from benchmarks.measure import Entrant, Say, available_cores, seconds_of, take_turns
from benchmarks.processes import Worker
from benchmarks.results import HEDGEROW, Bar, Result, Timing

PEERS = ("lightgbm", "xgboost-leaf")
GRADES = (0.7, 1.4, 2.1, 2.8)


class Queries(NamedTuple):
    """Rows, their relevance, and their query; rows of a query are adjacent."""

    X: NDArray[Any]
    y: NDArray[Any]
    qid: NDArray[Any]

    @property
    def sizes(self) -> NDArray[np.intp]:
        return np.unique(self.qid, return_counts=True)[1]


@dataclass(frozen=True)
class RankingCase:
    """A table of queries, generated or from files, and what is measured on it."""

    name: str
    about: str
    k: int
    n_queries: int = 0
    columns: int = 0
    files: tuple[str, str] | None = None
    n_trees: int = 100
    seeds: int = 1
    turns: int = 3
    bars: tuple[Bar, ...] = ()
    libraries: tuple[str, ...] = (HEDGEROW, *PEERS)
    quick: bool = False

    @property
    def metric(self) -> str:
        return f"NDCG@{self.k}"

    def quick_version(self) -> "RankingCase":
        """A small version that shows that all works, not who is faster."""
        return replace(self, n_queries=self.n_queries // 40, n_trees=10, turns=1, quick=True)


NOT_WORSE = Bar("score", "within", 0.0, ("lightgbm",))
FILES = ("ranking_train.svm.gz", "ranking_test.svm.gz")

RANKING_CASES = (
    RankingCase(
        name="ranking",
        about="200,000 × 50 in 2,000 queries, 100 trees of 31 leaves",
        k=10,
        n_queries=2_000,
        columns=50,
        bars=(Bar("fit", "times", 0.6, PEERS), NOT_WORSE),
    ),
)
REAL_RANKINGS = tuple(
    RankingCase(
        name=f"ranking-real-{k}",
        about="3,005 × 300 in 201 queries, 50 held out, 100 trees of 31 leaves, ten seeds",
        k=k,
        files=FILES,
        seeds=10,
        bars=(Bar("fit", "times", 0.6, PEERS), NOT_WORSE),
    )
    for k in (5, 10)
)


def generated_queries(n_queries: int, columns: int, seed: int) -> Queries:
    """About 100 rows a query; a fifth of the columns is the same in all rows of a query.

    Relevance is graded by a noisy sum of steps, products and weak effects, and by how strict the
    query is, which no column tells.
    """
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), np.maximum(2, rng.poisson(100, n_queries)))
    X = rng.standard_normal((len(qid), columns), dtype=np.float32)
    n_shared = columns // 5
    X[:, :n_shared] = rng.standard_normal((n_queries, n_shared), dtype=np.float32)[qid]
    signal = signal_of(X)
    noise = rng.standard_normal(len(qid)) + 0.5 * rng.standard_normal(n_queries)[qid]
    return Queries(X, np.digitize(signal + noise, GRADES), qid)


def signal_of(X: NDArray[Any]) -> NDArray[Any]:
    """What of the columns matters to relevance, with standard deviation 1."""
    a, b, c, d, e = X.T[-5:]
    signal = 1.2 * np.maximum(a, 0) + 0.8 * b * (c > 0) + np.sin(2 * d) + 0.5 * e
    signal += 0.6 * X[:, 0] * a + 0.4 * X[:, 1] * b
    weak = np.random.default_rng(0).normal(0.0, 0.08, X.shape[1])
    signal += (X * weak).sum(axis=1)
    centred: NDArray[Any] = (signal - signal.mean()) / signal.std()
    return centred


def read_queries(path: Path, n_features: int | None = None) -> Queries:
    """Read an SVMlight file."""
    from sklearn.datasets import load_svmlight_file

    with gzip.open(path) as file:
        X, y, qid = load_svmlight_file(file, query_id=True, n_features=n_features)
    return Queries(X.toarray().astype(np.float32), y, qid)


def load(case: RankingCase, folder: Path | None) -> tuple[Queries, Queries]:
    """Queries to learn from, and held-out ones."""
    if case.files is None:
        test_rows = generated_queries(max(50, case.n_queries // 4), case.columns, seed=1)
        return generated_queries(case.n_queries, case.columns, seed=0), test_rows
    assert folder is not None
    train = read_queries(folder / case.files[0])
    return train, read_queries(folder / case.files[1], train.X.shape[1])


def available_rankings(folder: Path) -> list[RankingCase]:
    """The real cases whose files are in the folder."""
    return [
        case
        for case in REAL_RANKINGS
        if case.files is not None and all((folder / name).is_file() for name in case.files)
    ]


def ndcg(test_rows: Queries, scores: NDArray[Any], k: int) -> float:
    """Mean NDCG up to rank k, with gains 2^y − 1; queries without a relevant row are left out."""
    from sklearn.metrics import ndcg_score

    rows_of = np.split(np.arange(len(scores)), np.cumsum(test_rows.sizes)[:-1])
    gains = 2.0**test_rows.y - 1.0
    values = [
        ndcg_score([gains[rows]], [scores[rows]], k=k)
        for rows in rows_of
        if len(rows) > 1 and gains[rows].any()
    ]
    return float(np.mean(values))


Predict = Callable[[NDArray[Any]], NDArray[Any]]


def fit_hedgerow(train: Queries, n_trees: int, seed: int) -> Predict:
    import hedgerow

    model = hedgerow.GradientBoostingRanker(
        n_estimators=n_trees,
        min_samples_leaf=50,
        min_child_weight=5.0,
        reg_lambda=0.0,
        subsample=0.9,
        random_state=seed,
    )
    return model.fit(train.X, train.y, qid=train.qid).predict


def fit_hedgerow_at(level: str, train: Queries, n_trees: int, seed: int) -> Predict:
    use_level(level)
    return fit_hedgerow(train, n_trees, seed)


def fit_lightgbm(train: Queries, n_trees: int, seed: int) -> Predict:
    import lightgbm

    parameters = {
        "objective": "lambdarank",
        "learning_rate": 0.1,
        "num_leaves": 31,
        "min_data_in_leaf": 50,
        "min_sum_hessian_in_leaf": 5.0,
        "bagging_freq": 1,
        "bagging_fraction": 0.9,
        "max_bin": 255,
        "num_threads": available_cores(),
        "seed": seed,
        "verbosity": -1,
    }
    data = lightgbm.Dataset(train.X, label=train.y, group=train.sizes, params=parameters)
    predict: Predict = lightgbm.train(parameters, data, num_boost_round=n_trees).predict
    return predict


def fit_xgboost(train: Queries, n_trees: int, seed: int) -> Predict:
    import xgboost

    parameters = {
        "objective": "rank:ndcg",
        "learning_rate": 0.1,
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": 31,
        "max_depth": 0,
        "subsample": 0.9,
        "max_bin": 255,
        "nthread": available_cores(),
        "seed": seed,
    }
    data = xgboost.QuantileDMatrix(
        train.X, train.y, qid=train.qid, max_bin=255, nthread=available_cores()
    )
    predict: Predict = xgboost.train(parameters, data, num_boost_round=n_trees).inplace_predict
    return predict


FITS = {
    HEDGEROW: fit_hedgerow,
    "hedgerow-v3": partial(fit_hedgerow_at, "v3"),
    "hedgerow-v2": partial(fit_hedgerow_at, "v2"),
    "lightgbm": fit_lightgbm,
    "xgboost-leaf": fit_xgboost,
}


class RankingBench:
    """One library on one table of queries; lives in a worker."""

    def __init__(self, case: RankingCase, library: str, folder: Path | None) -> None:
        self._case = case
        self._fit = FITS[library]
        self._train, self._test_rows = load(case, folder)
        self._predict: Predict | None = None
        few = self._train.qid <= self._train.qid[500]
        self._fit(Queries(*(column[few] for column in self._train)), 2, 0)

    def fit(self) -> float:
        """Seconds of one fit."""
        return seconds_of(lambda: self._fitted(seed=1))

    def predict(self) -> float:
        """Seconds of one prediction."""
        assert self._predict is not None
        predict, X = self._predict, self._test_rows.X
        return seconds_of(lambda: predict(X))

    def scores(self) -> tuple[float, ...]:
        """The score of each seed."""
        return tuple(
            ndcg(self._test_rows, self._fitted(seed)(self._test_rows.X), self._case.k)
            for seed in range(1, self._case.seeds + 1)
        )

    def _fitted(self, seed: int) -> Predict:
        self._predict = self._fit(self._train, self._case.n_trees, seed)
        return self._predict


class RankingEntrant(Entrant):
    """A library among rankers."""

    def __init__(self, library: str, worker: Worker) -> None:
        super().__init__(library, worker)
        self._fits: list[float] = []
        self._predicts: list[float] = []

    def turn(self, number: int) -> None:  # noqa: ARG002  every turn is the same
        self._fits.append(self.worker.call("fit"))
        self._predicts.append(self.worker.call("predict"))

    def finish(self) -> None:
        scores = self.worker.call("scores")
        self.result.fit = Timing(tuple(self._fits), available_cores())
        self.result.predict = Timing(tuple(self._predicts), available_cores())
        self.result.score = float(np.mean(scores))
        self.result.scores = scores if len(scores) > 1 else None


def run_ranking(
    case: RankingCase, folder: Path | None, libraries: Sequence[str], say: Say
) -> list[Result]:
    """Measure some libraries on a table of queries."""

    def worker(library: str) -> Worker:
        return Worker(partial(RankingBench, case), library, folder)

    return take_turns(case.name, case.turns, libraries, worker, RankingEntrant, say)
