"""The kinds of trees that ``n_estimators="auto"`` tries, and the tables on which each is tried.

No kind suits every table. Small trees suit smooth and additive targets, large ones deep
interactions. Symmetric ones, with one test for all nodes of a level, overfit less. A random choice
of columns makes trees differ, but hides the few informative columns if most are uninformative.
Different kinds also make different errors, which partly cancel in their mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hedgerow._boosting.fit.budget import MANY_ROWS, is_small
from hedgerow._boosting.fit.fit_data import is_auto, require_possible, resolve_auto
from hedgerow._estimator import TableEstimator
from hedgerow.exceptions import ParameterError

Parameters = Mapping[str, Any]


def _kind(
    max_leaves: int,
    min_samples_leaf: int,
    reg_lambda: float,
    subsample: float,
    *,
    bytree: float = 1.0,
    bynode: float = 1.0,
    grow_policy: str = "leafwise",
) -> Parameters:
    return {
        "grow_policy": grow_policy,
        "max_leaves": max_leaves,
        "min_samples_leaf": min_samples_leaf,
        "reg_lambda": reg_lambda,
        "subsample": subsample,
        "colsample_bytree": bytree,
        "colsample_bynode": bynode,
    }


# On tables with fewer rows than MAX_ROWS_FOR_SMALL only: there is no time for more.
SMALL_KINDS = (
    _kind(16, 1, 3.0, 0.8, grow_policy="symmetric"),
    _kind(12, 3, 1.0, 0.7, bynode=0.4),
)
KINDS = (
    _kind(64, 1, 3.0, 0.8, grow_policy="symmetric"),
    _kind(64, 1, 3.0, 0.8, bynode=0.5, grow_policy="symmetric"),
    _kind(31, 5, 3.0, 0.8, bynode=0.4),
    _kind(31, 5, 5.0, 1.0, bytree=0.7),
    _kind(63, 20, 5.0, 1.0, bytree=0.7),
)
# With a small budget.
QUICK_KINDS = (KINDS[1], KINDS[2])
# On tables with many rows: as many as there is memory for.
LARGE_KINDS = (KINDS[0], KINDS[4])
MAX_ROWS_FOR_SMALL = 30_000
# Fewer bins are faster, and overfit less where a bin would have some dozen rows.
MAX_ROWS_FOR_FEW_BINS, FEW_BINS = 10_000, 127
MIN_COLUMNS_TO_SAMPLE = 5  # with fewer, every tree and node has all columns
MANY_COLUMNS = 1000  # a tree has at most as many, unless the user wants more
SAMPLING_PARAMETERS = ("subsample", "colsample_bytree", "colsample_bylevel", "colsample_bynode")


def kinds_for(estimator: TableEstimator, n_rows: int, n_columns: int) -> list[Parameters]:
    """Return the kinds that there is time for, with the user's own parameters.

    What cannot be used with these is left out: symmetric trees, for example, if prune=True.
    """
    kinds: list[Parameters] = []
    for each in _kinds_by_time(estimator, n_rows):
        params = resolve_auto(estimator, _sampled(each, n_columns))
        chosen = {name: getattr(params, name) for name in each}
        kind = {**chosen, **bins_for(estimator, n_rows)}
        if kind not in kinds and _is_possible(params):
            kinds.append(kind)
    return kinds if estimator.max_depth is None else _limit_depth(kinds, estimator)


def _kinds_by_time(estimator: TableEstimator, n_rows: int) -> Sequence[Parameters]:
    """Return the kinds that there is time for and that grow in the way that the user wants."""
    kinds: Sequence[Parameters] = QUICK_KINDS
    if n_rows >= MANY_ROWS:
        kinds = LARGE_KINDS
    elif not is_small(estimator.budget):
        kinds = (*SMALL_KINDS, *KINDS) if n_rows < MAX_ROWS_FOR_SMALL else KINDS
    if is_auto(estimator.grow_policy):
        return kinds
    is_symmetric = estimator.grow_policy == "symmetric"
    return [kind for kind in kinds if (kind["grow_policy"] == "symmetric") == is_symmetric]


def bins_for(estimator: TableEstimator, n_rows: int) -> Parameters:
    """Return `max_bins` if that should be less than the user's."""
    is_less = n_rows < MAX_ROWS_FOR_FEW_BINS and estimator.max_bins > FEW_BINS
    return {"max_bins": FEW_BINS} if is_less else {}


def _is_possible(params: TableEstimator) -> bool:
    try:
        require_possible(params)
    except ParameterError:
        return False
    return True


def is_random(estimator: TableEstimator, kind: Parameters) -> bool:
    """Return whether two models of a kind differ if their seeds do."""
    params = resolve_auto(estimator, kind)
    return any(getattr(params, name) < 1.0 for name in SAMPLING_PARAMETERS)


def _sampled(kind: Parameters, n_columns: int) -> Parameters:
    """Return a kind whose fractions of columns suit their number."""
    if n_columns < MIN_COLUMNS_TO_SAMPLE:
        return {**kind, "colsample_bytree": 1.0, "colsample_bynode": 1.0}
    return {**kind, "colsample_bytree": min(kind["colsample_bytree"], MANY_COLUMNS / n_columns)}


def _limit_depth(kinds: Sequence[Parameters], estimator: TableEstimator) -> list[Parameters]:
    """Return kinds with at most as many leaves as the depth allows.

    Among kinds that are limited to the same number of leaves and differ in min_samples_leaf only,
    the first is kept: the larger minimum was meant to limit larger trees.
    """
    most = 2 ** min(estimator.max_depth, 31)
    kept: dict[tuple[Any, ...], Parameters] = {}
    for kind in kinds:
        is_limited = is_auto(estimator.max_leaves) and kind["max_leaves"] > most
        limited = {**kind, "max_leaves": most} if is_limited else kind
        key = [v for name, v in limited.items() if not (is_limited and name == "min_samples_leaf")]
        kept.setdefault(tuple(key), limited)
    return list(kept.values())
