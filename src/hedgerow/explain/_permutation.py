"""Permutation importance: how much worse a model predicts if a column is shuffled (Breiman)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from hedgerow._arguments import with_argument_hints
from hedgerow._data.names import Labels
from hedgerow._data.target import read_weights
from hedgerow._params import COUNT, FRACTION, RANDOM_STATE, VERBOSE, Parameter, any_of
from hedgerow._progress import with_progress
from hedgerow._result import PermutationImportance
from hedgerow._threads import effective_n_jobs
from hedgerow._types import Indices
from hedgerow._validation.fold_data import require_rows
from hedgerow._validation.scoring import OWN_SCORE, read_known_target, resolve_scores
from hedgerow.exceptions import ParameterError
from hedgerow.explain._grid import find_column
from hedgerow.explain._shuffling import Judge, Shuffling, shuffling_of
from hedgerow.explain._tables import UserTable
from hedgerow.explain._what_if import fitted, model_labels, table_labels

_N_REPEATS = Parameter("n_repeats", 10, COUNT, "")
_MAX_SAMPLES = Parameter("max_samples", 1.0, any_of(COUNT, FRACTION), "")


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
    max_samples: float = 1.0,
    random_state: int | np.random.RandomState | None = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> PermutationImportance:
    """Return how much worse a model does on rows if one column after another is shuffled.

    Give it rows that the model was not fitted to: of those that it was, it tells what the model
    learned by heart.

    Parameters
    ----------
    model : fitted estimator
        Any of this library's or of scikit-learn's make, a pipeline, or a search.
    X : table of shape (n_rows, n_features)
        The rows, as `predict` takes them.
    y : array of shape (n_rows,) or (n_rows, n_outputs)
        Their target.
    scoring : str or callable, optional
        What is measured: a metric of gradient boosting by name ('log_loss', 'auc', 'rmse' …), a
        function of (y, prediction[, sample_weight]), or a scorer of scikit-learn's, by name or as a
        function of (model, X, y). None is what the model's ``score`` says. Of errors, the rise is
        told; of scores, the fall.
    n_repeats : int
        How often each column is shuffled.
    groups : dict from name to list of columns, optional
        Columns that are shuffled together, so that what they have in common is lost with them.
        Columns that are in no group are shuffled alone.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows in the metric, if it takes any.
    max_samples : int or float
        Rows that are drawn of X for all repeats, or their share.
    random_state : int, RandomState or None
        The shuffles. They are those that scikit-learn makes with the same number, and the same for
        all columns.
    n_jobs : int or None
        Threads. None is all cores for Hedgerow's models, and one for others. A user's function is
        called from one thread.
    verbose : int
        As in the estimators: 0 is silent; otherwise a progress bar, or a line every few shuffles.

    Returns
    -------
    PermutationImportance
        With ``mean``, ``std``, ``repeats`` and ``z``, a number for each column or group.

    Notes
    -----
    Models of trees read the table once and predict from the shuffled matrix; a column that no tree
    tests is not shuffled, for its importance is 0. Results are those of predicting shuffled tables,
    bit for bit, at any number of threads.

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
    >>> found = hr.explain.permutation_importance(model, X_test, y_test, scoring="rmse")
    >>> found.to_frame()["feature"].iloc[0] in ("bmi", "s5")
    True
    """
    _N_REPEATS.check(n_repeats)
    _MAX_SAMPLES.check(max_samples)
    RANDOM_STATE.check(random_state)
    VERBOSE.check(verbose)
    model = fitted(model)
    table = UserTable(X)
    require_rows("y", y, table.n_rows)
    weights = read_weights(sample_weight, table.n_rows)
    target = replace(read_known_target(model, y, table.n_rows), default=OWN_SCORE)
    if isinstance(scoring, list | tuple | Mapping):
        raise ParameterError(f"scoring={scoring!r} is not allowed; it must be one metric.")
    (score,) = resolve_scores(scoring, target)
    named = _named_groups(groups, table_labels(table, model_labels(model, table.n_columns)))
    draw = check_random_state(random_state)
    draw = np.random.RandomState(draw.randint(np.iinfo(np.int32).max + 1))
    rows = _drawn(draw, table.n_rows, max_samples)
    judge = Judge(score, y, target.values, target.classes, weights)
    if rows is not None:
        table, judge = table.take(rows), judge.of_rows(rows)
    orders = _orders(draw, table.n_rows, n_repeats)
    shuffling = shuffling_of(model, table)
    n_threads = effective_n_jobs(shuffling.default_jobs if n_jobs is None else n_jobs)
    n_workers = 1 if callable(scoring) else shuffling.n_workers(n_threads)
    shuffling.prepare(n_threads // n_workers)
    return _measured(shuffling, judge, named, orders, n_workers, verbose)


def _named_groups(groups: Any, names: Labels) -> dict[str, list[int]]:
    """Return the columns of each group, those in no group by themselves."""
    if groups is None:
        return {name: [place] for place, name in enumerate(names)}
    if not isinstance(groups, Mapping) or not groups:
        raise ParameterError(
            f"groups={groups!r} is not allowed; it must be a dict from names to lists of columns."
        )
    named: dict[str, list[int]] = {}
    for name, columns in groups.items():
        if isinstance(columns, str) or not hasattr(columns, "__len__") or not len(columns):
            raise ParameterError(f"groups: {name!r} has {columns!r}, not a list of columns.")
        named[str(name)] = sorted({find_column(column, names, "groups") for column in columns})
    grouped = {place for places in named.values() for place in places}
    alone = {name: [place] for place, name in enumerate(names) if place not in grouped}
    both = sorted(set(named) & set(alone))
    if both:
        raise ParameterError(f"groups has a group {both[0]!r}, as a column outside it is called.")
    return named | alone


def _drawn(draw: np.random.RandomState, n_rows: int, max_samples: float) -> Indices | None:
    """Return the rows to look at, None for all."""
    is_count = isinstance(max_samples, Integral)
    count = int(max_samples) if is_count else max(1, int(max_samples * n_rows))
    if count > n_rows:
        raise ParameterError(f"max_samples={max_samples}, but X has {n_rows} rows.")
    return None if count == n_rows else np.sort(draw.permutation(n_rows)[:count])


def _orders(draw: np.random.RandomState, n_rows: int, n_repeats: int) -> list[Indices]:
    """Return shuffled rows for each repeat: each shuffles what the one before has left."""
    shuffle, order = np.arange(n_rows), np.arange(n_rows)
    orders = []
    for _ in range(n_repeats):
        draw.shuffle(shuffle)
        order = order[shuffle]
        orders.append(order)
    return orders


def _measured(
    shuffling: Shuffling,
    judge: Judge,
    groups: Mapping[str, list[int]],
    orders: Sequence[Indices],
    n_workers: int,
    verbose: int,
) -> PermutationImportance:
    """Shuffle every group in every order, and compare with the rows as they are."""
    baseline = shuffling.measure(judge, (), None)
    repeats = np.full((len(groups), len(orders)), baseline)
    tasks = [
        (group, repeat)
        for group, places in enumerate(groups.values())
        if shuffling.matters(places)
        for repeat in range(len(orders))
    ]
    columns = list(groups.values())

    def measure(task: tuple[int, int]) -> float:
        return shuffling.measure(judge, columns[task[0]], orders[task[1]])

    mapped = _mapped(measure, tasks, n_workers)
    shown = with_progress(
        mapped, len(tasks), verbose, unit="shuffle", title="permutation importance"
    )
    for task, value in zip(tasks, shown, strict=True):
        repeats[task] = value
    falls = baseline - repeats if judge.higher_is_better else repeats - baseline
    return PermutationImportance(
        feature=np.array(list(groups), object),
        mean=falls.mean(axis=1),
        std=falls.std(axis=1),
        repeats=falls,
        baseline=baseline,
        metric=judge.score.name,
        higher_is_better=judge.higher_is_better,
    )


def _mapped(
    function: Callable[[tuple[int, int]], float], tasks: list[tuple[int, int]], n_workers: int
) -> Iterator[float]:
    """Apply a function to tasks in several threads; if one fails, those not begun are left."""
    if n_workers == 1:
        yield from map(function, tasks)
        return
    pool = ThreadPoolExecutor(n_workers)
    try:
        yield from pool.map(function, tasks)
    finally:
        pool.shutdown(cancel_futures=True)
