"""Permutation importance: how much a metric worsens if a column is shuffled (Breiman)."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from hedgerow._arguments import with_argument_hints
from hedgerow._data.names import Labels
from hedgerow._data.pass_through import take_rows
from hedgerow._data.target import read_weights
from hedgerow._params import COUNT, FRACTION, RANDOM_STATE, VERBOSE, Parameter, any_of
from hedgerow._progress import with_progress
from hedgerow._result import PermutationImportance
from hedgerow._threads import effective_n_jobs
from hedgerow._tree.additive import AdditiveTrees
from hedgerow._types import Floats, Indices
from hedgerow._validation.fold_data import require_rows
from hedgerow._validation.predictions import predict, with_offset
from hedgerow._validation.scoring import (
    OWN_SCORE,
    FoldHoldout,
    MetricScore,
    Score,
    read_known_target,
    resolve_scores,
)
from hedgerow.exceptions import ParameterError
from hedgerow.explain._tables import UserTable
from hedgerow.explain._what_if import (
    features_of,
    model_labels,
    require_fitted,
    table_labels,
    trees_or_none,
)

_N_REPEATS = Parameter("n_repeats", 10, COUNT, "")
_MAX_SAMPLES = Parameter("max_samples", 1.0, any_of(COUNT, FRACTION), "")
# Limit for the copies of the matrix, one for each column that is shuffled at the same time.
_COPIED_BYTES = 1 << 30


@with_argument_hints
def permutation_importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    scoring: Any = None,
    n_repeats: int = 10,
    groups: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    offset: Any = None,
    max_samples: float = 1.0,
    random_state: int | np.random.RandomState | None = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> PermutationImportance:
    """Return how much a metric gets worse when each column in turn is shuffled.

    Use rows that the model was not trained on: on training rows, overfitted features look
    important, too.

    Parameters
    ----------
    model : fitted estimator
        An estimator of Hedgerow or scikit-learn, a pipeline, or a search.
    X : table of shape (n_rows, n_features)
        The rows, in any form that `predict` accepts.
    y : array of shape (n_rows,) or (n_rows, n_outputs)
        The targets of the rows.
    scoring : str or callable, optional
        The metric: one of gradient boosting by name ('log_loss', 'auc', 'rmse' …), a function of
        (y, prediction[, sample_weight]), or a scikit-learn scorer, by name or as a function of
        (model, X, y). None is the model's ``score`` method. The importance is the increase of an
        error, or the decrease of a score.
    n_repeats : int
        Number of times that each column is shuffled.
    groups : dict from name to list of columns, optional
        Columns that are shuffled together, so that no other column of the group can replace them.
        Columns that are in no group are shuffled alone.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows in the metric, if it accepts weights.
    offset : array of shape (n_rows,) or (n_rows, n_scores), optional
        For gradient boosting: added to the scores of the rows, as in `predict`. It is not shuffled.
    max_samples : int or float
        Number or fraction of the rows of X to sample, once for all repeats.
    random_state : int, RandomState or None
        Seed of the shuffles. All columns are shuffled in the same way, and as in scikit-learn with
        the same seed.
    n_jobs : int or None
        Number of threads. None is all cores for Hedgerow's models, and one for others. A custom
        metric is called from one thread.
    verbose : int
        As in the estimators: 0 is silent; otherwise a progress bar, or a line every few shuffles.

    Returns
    -------
    PermutationImportance
        With ``mean``, ``std``, ``repeats`` and ``z`` for each column or group.

    Notes
    -----
    Tree ensembles read the table once and predict from the shuffled matrix. A column that no tree
    splits on has importance 0 and is not shuffled. Results equal those of predicting shuffled
    tables, bit for bit, with any number of threads.

    References
    ----------
    Breiman, "Random forests", Machine Learning 45 (2001).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import train_test_split
    >>> import hedgerow as hr
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    >>> model = hr.GradientBoostingRegressor(n_estimators=50).fit(X, y)
    >>> result = hr.explain.permutation_importance(model, X_test, y_test, scoring="rmse")
    >>> result.to_frame()["feature"].iloc[0] in ("bmi", "s5")
    True
    """
    _N_REPEATS.check(n_repeats)
    _MAX_SAMPLES.check(max_samples)
    RANDOM_STATE.check(random_state)
    VERBOSE.check(verbose)
    model = require_fitted(model)
    table = UserTable(X)
    require_rows("y", y, table.n_rows)
    weights = read_weights(sample_weight, table.n_rows)
    target = replace(read_known_target(model, y, table.n_rows), default=OWN_SCORE)
    if isinstance(scoring, list | tuple | Mapping):
        raise ParameterError(f"scoring={scoring!r} is not allowed; it must be one metric.")
    (score,) = resolve_scores(scoring, target)
    columns = _read_groups(groups, table_labels(table, model_labels(model, table.n_columns)))
    random = check_random_state(random_state)
    random = np.random.RandomState(random.randint(np.iinfo(np.int32).max + 1))
    rows = _sample_rows(random, table.n_rows, max_samples)
    with_offset(model, offset)  # which only gradient boosting accepts
    if offset is not None:
        require_rows("offset", offset, table.n_rows)
    evaluator = _Evaluator(score, y, target.values, target.classes, weights, offset)
    if rows is not None:
        table, evaluator = table.take(rows), evaluator.of_rows(rows)
    orders = _orders(random, table.n_rows, n_repeats)
    shuffling = _shuffling_of(model, table)
    n_threads = effective_n_jobs(shuffling.default_jobs if n_jobs is None else n_jobs)
    n_workers = 1 if callable(scoring) else shuffling.n_workers(n_threads)
    shuffling.prepare(n_threads // n_workers)
    return _compute(shuffling, evaluator, columns, orders, n_workers, verbose)


def _read_groups(groups: Any, names: Labels) -> dict[str, list[int]]:
    """Return the columns of each group; a column outside all groups is a group of its own."""
    if groups is None:
        return {name: [place] for place, name in enumerate(names)}
    if not isinstance(groups, Mapping) or not groups:
        raise ParameterError(
            f"groups={groups!r} is not allowed; it must be a dict from names to lists of columns."
        )
    grouped: dict[str, list[int]] = {}
    for name, columns in groups.items():
        if isinstance(columns, str) or not hasattr(columns, "__len__") or not len(columns):
            raise ParameterError(f"groups: {name!r} has {columns!r}, not a list of columns.")
        grouped[str(name)] = sorted({names.find(column, "groups") for column in columns})
    members = {place for places in grouped.values() for place in places}
    alone = {name: [place] for place, name in enumerate(names) if place not in members}
    both = sorted(set(grouped) & set(alone))
    if both:
        raise ParameterError(f"groups: {both[0]!r} is also the name of a column outside the group.")
    return grouped | alone


def _sample_rows(random: np.random.RandomState, n_rows: int, max_samples: float) -> Indices | None:
    """Return a sample of rows, None for all."""
    is_count = isinstance(max_samples, Integral)
    count = int(max_samples) if is_count else max(1, int(max_samples * n_rows))
    if count > n_rows:
        raise ParameterError(f"max_samples={max_samples}, but X has {n_rows} rows.")
    return None if count == n_rows else np.sort(random.permutation(n_rows)[:count])


def _orders(random: np.random.RandomState, n_rows: int, n_repeats: int) -> list[Indices]:
    """Return the shuffled rows of each repeat: each shuffles the order of the one before."""
    shuffle, order = np.arange(n_rows), np.arange(n_rows)
    orders = []
    for _ in range(n_repeats):
        random.shuffle(shuffle)
        order = order[shuffle]
        orders.append(order)
    return orders


def _compute(
    shuffling: _Shuffling,
    evaluator: _Evaluator,
    groups: Mapping[str, list[int]],
    orders: Sequence[Indices],
    n_workers: int,
    verbose: int,
) -> PermutationImportance:
    """Shuffle every group in every order, and compare with the original rows."""
    baseline = shuffling.measure(evaluator, (), None)
    repeats = np.full((len(groups), len(orders)), baseline)
    tasks = [
        (group, repeat)
        for group, places in enumerate(groups.values())
        if shuffling.is_used(places)
        for repeat in range(len(orders))
    ]
    columns = list(groups.values())

    def measure(task: tuple[int, int]) -> float:
        return shuffling.measure(evaluator, columns[task[0]], orders[task[1]])

    values = with_progress(
        _parallel_map(measure, tasks, n_workers),
        len(tasks),
        verbose,
        unit="shuffle",
        title="permutation importance",
    )
    for task, value in zip(tasks, values, strict=True):
        repeats[task] = value
    losses = baseline - repeats if evaluator.higher_is_better else repeats - baseline
    return PermutationImportance(
        feature=np.array(list(groups), object),
        mean=losses.mean(axis=1),
        std=losses.std(axis=1),
        repeats=losses,
        baseline=baseline,
        metric=evaluator.score.name,
        higher_is_better=evaluator.higher_is_better,
    )


def _parallel_map(
    function: Callable[[tuple[int, int]], float], tasks: list[tuple[int, int]], n_workers: int
) -> Iterator[float]:
    """Apply a function to tasks in several threads; if one fails, cancel those not started."""
    if n_workers == 1:
        yield from map(function, tasks)
        return
    pool = ThreadPoolExecutor(n_workers)
    try:
        yield from pool.map(function, tasks)
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True, eq=False)
class _Evaluator:
    """A metric with the targets, weights and offsets of the rows."""

    score: Score
    y: Any
    target: Any
    classes: Any
    weights: Floats | None
    offset: Any = None

    def of_rows(self, rows: Indices) -> _Evaluator:
        """Return the evaluator of some rows."""
        return replace(
            self,
            y=take_rows(self.y, rows),
            target=None if self.target is None else self.target[rows],
            weights=None if self.weights is None else self.weights[rows],
            offset=None if self.offset is None else take_rows(self.offset, rows),
        )

    @property
    def higher_is_better(self) -> bool:
        """Whether higher values are better, as for all scores of scikit-learn."""
        return not isinstance(self.score, MetricScore) or self.score.metric.higher_is_better

    def measure(self, model: Any, X: Any) -> float:
        """Return the metric of a model on a table of these rows, with any columns shuffled."""
        by_row = {"sample_weight": self.weights, "offset": self.offset}
        options = {name: values for name, values in by_row.items() if values is not None}
        model = with_offset(model, self.offset)
        return self.score.of(
            FoldHoldout(
                model=model,
                X=lambda: X,
                table=X,
                y=self.y,
                weights=self.weights,
                options=options,
                target=self.target,
                classes=self.classes,
                predicted=cache(lambda method: predict(model, X, method, self.classes)),
            )
        )


class _Shuffling:
    """A model and a table whose columns are shuffled, in the type of the table."""

    default_jobs: int | None = 1

    def __init__(self, model: Any, table: UserTable) -> None:
        self.model, self.table = model, table

    def n_workers(self, n_threads: int) -> int:
        """Return the number of columns to shuffle at the same time with this number of threads."""
        return n_threads

    def is_used(self, places: Sequence[int]) -> bool:  # noqa: ARG002
        """Tell whether the model uses any of some columns."""
        return True

    def prepare(self, n_threads: int) -> None:
        """Prepare for calls from several threads, each with this number of threads."""

    def measure(self, evaluator: _Evaluator, places: Sequence[int], order: Indices | None) -> float:
        """Return the metric with some columns in another order of rows."""
        X = self.table.X
        if order is not None:
            X = self.table.with_columns_of(self.table.take(order), places)
        return evaluator.measure(self.model, X)


class _TreeShuffling(_Shuffling):
    """A tree ensemble and the matrix that it reads from a table: columns are shuffled in place."""

    default_jobs = None

    def __init__(self, model: Any, table: UserTable, trees: AdditiveTrees) -> None:
        super().__init__(model, table)
        self._trees = trees
        self._matrix = trees.matrix(table.X)
        self._local = threading.local()  # with a copy of the matrix for each thread
        ensemble = trees.ensemble
        split_features = ensemble.feature[ensemble.feature >= 0]
        sloped = ensemble.slopes.feature if ensemble.slopes is not None else split_features[:0]
        self._used = np.union1d(split_features, sloped)

    def n_workers(self, n_threads: int) -> int:
        """Return as many as there is memory for their copies; further threads help to predict."""
        room = _COPIED_BYTES // max(self._matrix.nbytes, 1)
        return max(1, min(n_threads, room))

    def is_used(self, places: Sequence[int]) -> bool:
        """Tell whether a tree uses a feature of these columns."""
        return bool(np.isin(features_of(self._trees, self.table, places), self._used).any())

    def prepare(self, n_threads: int) -> None:
        """Make a model that accepts the matrix in place of a table."""
        reader = copy.copy(self.model)
        vars(reader)["_matrix"] = lambda matrix: matrix
        vars(reader)["n_jobs"] = n_threads
        self.model = reader

    def measure(self, evaluator: _Evaluator, places: Sequence[int], order: Indices | None) -> float:
        """Overwrite columns, measure, and restore them."""
        if order is None:
            return evaluator.measure(self.model, self._matrix)
        if not hasattr(self._local, "matrix"):
            self._local.matrix = self._matrix.copy()
        matrix, features = self._local.matrix, features_of(self._trees, self.table, places)
        matrix[:, features] = self._matrix[np.ix_(order, features)]
        try:
            return evaluator.measure(self.model, matrix)
        finally:
            matrix[:, features] = self._matrix[:, features]


def _shuffling_of(model: Any, table: UserTable) -> _Shuffling:
    """Choose the fast way for tree ensembles whose predictions all use one matrix."""
    trees = trees_or_none(model)
    is_one_matrix = trees is not None and trees.matrix == getattr(model, "_matrix", None)
    if trees is None or not is_one_matrix or trees.features(table.X) is not table.X:
        return _Shuffling(model, table)
    return _TreeShuffling(model, table, trees)
