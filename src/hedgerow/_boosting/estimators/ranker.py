"""Gradient boosting for ranking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from hedgerow._arguments import IN_TABLE, with_parameters
from hedgerow._boosting.estimators.base import BoostedInternals
from hedgerow._boosting.estimators.one_score import RANKING, OneScore
from hedgerow._boosting.fit.fit_data import FitArguments
from hedgerow._boosting.losses import RankingLoss
from hedgerow._boosting.ranking_metrics import ALL, mean_quality, ranking_metrics
from hedgerow._boosting.targets.ranking import Judgements, Ranking
from hedgerow._boosting.targets.tasks import Task
from hedgerow._cuda.predictions import GpuScores
from hedgerow._data.memory import MemoryLimit
from hedgerow._data.parquet_table import ParquetTable
from hedgerow._data.ranking_queries import (
    QueryNumbers,
    read_group_sizes,
    read_query_ids,
    split_column,
)
from hedgerow._data.sparse import SparseLayouts
from hedgerow._data.target import fit_columns, fit_offset, read_weights
from hedgerow._params import COUNT, check_parameters
from hedgerow._tree.additive import AdditiveTrees
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError


@dataclass(frozen=True)
class RankerInternals(BoostedInternals):
    """What a ranker offers to other packages, in addition to `BoostedInternals`.

    Attributes
    ----------
    split_queries : function of X, qid and group
        Returns the features of a table and the index of each row's query.
    mean_of : function of the name of a metric and the arguments of score
        Returns the mean of the metric over the queries.
    """

    split_queries: Callable[[Any, Any, Any], tuple[Any, QueryNumbers]]
    mean_of: Callable[..., float]


@with_parameters
class GradientBoostingRanker(OneScore):
    """Gradient boosting of trees for ranking rows within queries (learning to rank).

    y is the relevance of a row to its query. Only the order of scores within a query has a meaning,
    and the model learns only from differences in relevance within a query. Queries with a single
    row, or with the same relevance in all rows, are allowed and have no effect.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {columns}
    n_iter_ : int
        Number of rounds in the model; also ``n_estimators_``.
    estimators_ : array of shape (n_rounds, trees of a round)
        The trees as regression trees, whose predictions add up to the scores.
    evals_result_ : dict
        ``evals_result_[set][metric]`` holds a value for each round of the last fit, including
        those after the best round.
    n_initial_rounds_ : int
        Number of rounds before the first of `evals_result_`: those of the model that the last fit
        continued, if any.
    best_iteration_, best_score_ : int, float
        The best round, counted from 1, and its score: the first metric on the last evaluation
        set. Only with early stopping or an eval_set.
    feature_importances_ : array of shape (n_features,)
        Each feature's fraction of the total gain; see `importances` for more.

    Notes
    -----
    Weights apply to queries: sample_weight must be the same in all rows of a query, whose pairs and
    metrics are multiplied by it.

    In cross-validation the rows of a query must stay together, as with ``GroupKFold``. If ``qid``
    is not a column of X, let scikit-learn pass it on by metadata routing:
    ``set_fit_request(qid=True).set_score_request(qid=True)``.

    Examples
    --------
    >>> import numpy as np
    >>> import hedgerow as hr
    >>> rng = np.random.default_rng(0)
    >>> qid = np.repeat(np.arange(50), 10)
    >>> X = rng.normal(size=(500, 3))
    >>> y = np.digitize(X[:, 0] + rng.normal(size=500) / 4, [0, 1])
    >>> ranker = hr.GradientBoostingRanker(n_estimators=20).fit(X, y, qid=qid)
    >>> bool(ranker.score(X, y, qid=qid, k=5) > 0.9)
    True
    """

    _task: ClassVar[Task] = Ranking()
    _parameters = RANKING

    def fit(  # type: ignore[override]  # queries are the groups
        self,
        X: Any,
        y: Any = IN_TABLE,
        sample_weight: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        eval_set: Any = None,
        eval_names: Any = None,
        callbacks: Any = None,
        init_model: Any = None,
        checkpoint: Any = None,
        checkpoint_every: int = 10,
        memory_limit: float | str | None = None,
        offset: Any = None,
    ) -> Self:
        """Fit the model.

        If `fit` fails or is interrupted by Ctrl-C, the estimator is left unchanged.

        Parameters
        ----------
        X, eval_names, callbacks, init_model, checkpoint, checkpoint_every, memory_limit :
            As in `GradientBoostingRegressor.fit`; init_model is a ranker.
        y : array of shape (n_rows,)
            Relevances, 0 or more; see the parameter gain.
        sample_weight : array of shape (n_rows,), optional
            Weights of the queries, the same in all rows of a query.
        qid : array of shape (n_rows,), optional
            The query of each row, a number or a string. The rows of a query need not be adjacent.
        group : array of shape (n_queries,), optional
            Instead of qid, the number of rows of each query, in order.
        eval_set : list of (X, y, qid[, sample_weight[, offset]]), optional
            Evaluation sets: metrics are computed after each round and stored in
            ``evals_result_``. With qid_column, entries have no qid.
        offset : array of shape (n_rows,), optional
            Added to the score of each row before the first round. `predict` has the same argument.

        Returns
        -------
        self
        """
        check_parameters(self)
        limit = None if memory_limit is None else MemoryLimit(memory_limit)  # before y is read
        y, sample_weight, qid = fit_columns(X, y, sample_weight, qid)
        features, query = self._split_queries(X, qid, group)
        arguments = FitArguments(
            features,
            Judgements(y, query, sample_weight, group is not None),
            sample_weight,
            eval_set=None if eval_set is None else [*map(self._read_entry, _as_list(eval_set))],
            eval_names=eval_names,
            callbacks=callbacks,
            init_model=init_model,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            memory_limit=limit,
            offset=fit_offset(X, offset),
        )
        return self._fit(arguments)

    def refit(
        self,
        X: Any,
        y: Any = IN_TABLE,
        sample_weight: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        keep: float = 0.0,
        offset: Any = None,
    ) -> Self:
        """Fit the leaf values to other queries; the splits do not change.

        Round after round, each leaf takes the best step for its rows, as in `fit`. If it fails,
        the estimator is left unchanged.

        Parameters
        ----------
        X, y, sample_weight, qid, group, offset : as in `fit`
            Rows of other queries, with the same columns.
        keep : float in [0, 1]
            The fraction of its old value that a leaf keeps. Leaves without rows keep all of it.

        Returns
        -------
        self
        """
        self._fitted_model()
        check_parameters(self)
        y, sample_weight, qid = fit_columns(X, y, sample_weight, qid)
        offset = fit_offset(X, offset)
        features, query = self._split_queries(X, qid, group)
        judgements = Judgements(y, query, sample_weight, group is not None)
        return super().refit(features, judgements, sample_weight, keep=keep, offset=offset)

    def predict(self, X: Any, *, offset: Any = None) -> Floats:
        """Return the score of each row: the higher, the better its rank in the query.

        An offset, as in `fit`, is added.
        """
        return self._from_scores(X, offset, _only_score, GpuScores.decision)

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[Floats]:
        """Yield what `predict` returns after each round."""
        return map(_only_score, self._staged_scores(X, offset))

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        k: int | None = None,
        offset: Any = None,
    ) -> float:
        """Return the mean NDCG of the queries, up to rank k or of complete rankings.

        Gains are those of the parameter gain. Queries without a relevant row are left out. For tied
        scores, NDCG is averaged over all orders.

        Parameters
        ----------
        X, y, sample_weight, qid, group, offset :
            As in `fit`.
        k : int, optional
            Number of top-ranked rows of each query that count; by default all.
        """
        if k is not None and k not in COUNT:
            raise ParameterError(f"k={k!r} is not allowed; it must be {COUNT} or None.")
        measure = partial(mean_quality, "ndcg", k or ALL)
        return self._mean(measure, X, y, sample_weight, qid=qid, group=group, offset=offset)

    def _mean_of(self, metric: str, *rows: Any, **options: Any) -> float:
        """Return the mean of a metric over the queries; arguments as in `score`."""

        def measure(loss: RankingLoss, *measured: Any) -> float:
            (named,) = ranking_metrics(metric, loss)
            return named.measure(*measured)

        return self._mean(measure, *rows, **options)

    def _mean(
        self,
        measure: Callable[..., float],
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        offset: Any = None,
    ) -> float:
        """Return what a function of loss, target, scores and weights returns for some rows."""
        offset = fit_offset(X, offset)
        features, query = self._split_queries(X, qid, group)
        scores = self._scores(features, offset)[:, 0]
        target = Judgements(y, query, sample_weight, group is not None).read(len(scores))
        loss: Any = self._task.choose_loss(self, None)
        objection = loss.objection(target)
        if objection:
            raise DataError(objection)
        return measure(loss, target, scores, read_weights(sample_weight, len(scores)))

    def __hedgerow__(self) -> RankerInternals:
        """Return what other packages of the library may use."""
        shared = vars(super().__hedgerow__())
        return RankerInternals(**shared, split_queries=self._split_queries, mean_of=self._mean_of)

    def _count_scores(self, y: Any, n_rows: int) -> int:  # noqa: ARG002
        return 1

    def _split_queries(self, X: Any, qid: Any, group: Any) -> tuple[Any, QueryNumbers]:
        """Return the features of a table and the index of each row's query."""
        names = [name for name, value in (("qid", qid), ("group", group)) if value is not None]
        names += [] if self.qid_column is None else ["qid_column"]
        if len(names) != 1:
            raise DataError(
                "A ranker needs the query of each row: pass exactly one of qid (an id for each "
                "row), group (the number of rows of each query) or the parameter qid_column (a "
                f"column of X); got {' and '.join(names) or 'none'}."
            )
        if self.qid_column is not None and isinstance(X, ParquetTable):
            raise ParameterError(
                f"qid_column={self.qid_column!r} is for tables in memory. Name the column of "
                f"queries in the table: ParquetTable(paths, groups={self.qid_column!r})."
            )
        if isinstance(X, ParquetTable):
            X = X.without_roles()
        if self.qid_column is not None:
            column, features = split_column(X, self.qid_column)
            return features, read_query_ids(column, f"X, column {self.qid_column!r}")
        return X, read_query_ids(qid) if group is None else read_group_sizes(group)

    def _read_entry(self, entry: Sequence[Any]) -> tuple[Any, Judgements, Any, Any]:
        """Read an entry of eval_set."""
        if isinstance(entry, ParquetTable):
            y, weights, qid = fit_columns(entry, None, None)
            entry = (entry, y, qid, weights, fit_offset(entry, None))
        needed = ("X", "y", "qid") if self.qid_column is None else ("X", "y")
        n = len(needed)
        if not isinstance(entry, tuple | list) or len(entry) not in (n, n + 1, n + 2):
            entry_names = ", ".join(needed)
            raise DataError(
                f"eval_set must be a list of ({entry_names}), ({entry_names}, sample_weight) or "
                f"({entry_names}, sample_weight, offset)."
            )
        weights, offset = (*entry[n:], None, None)[:2]
        features, query = self._split_queries(entry[0], entry[2] if n == 3 else None, None)
        return features, Judgements(entry[1], query, weights), weights, offset

    def _matrix(self, X: Any) -> NDArray[Any]:
        """Read a table, with or without the column of queries."""
        self._fitted_model()
        return super()._matrix(self._features(X))

    def _stored(self, X: Any) -> SparseLayouts | None:
        """Read a sparse table, with or without the column of queries."""
        self._fitted_model()
        return super()._stored(self._features(X))

    def _features(self, X: Any) -> Any:
        """Return a table without the column of queries, if it has one."""
        if self.qid_column is not None and self._has_queries(X):
            return split_column(X, self.qid_column)[1]
        return X

    def _additive_trees(self) -> AdditiveTrees:
        return replace(super()._additive_trees(), features=self._features)

    def _bins_tables(self) -> bool:
        return self.qid_column is None

    def _has_queries(self, X: Any) -> bool:
        frame = nw.from_native(X, pass_through=True)
        columns = frame.columns if isinstance(frame, nw.DataFrame) else []
        if self.qid_column in columns or (columns and isinstance(self.qid_column, str)):
            return self.qid_column in columns
        shape = np.shape(X) if not hasattr(X, "shape") else X.shape
        return len(shape) == 2 and shape[1] == self.n_features_in_ + 1

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        return tags


def _only_score(scores: Floats) -> Floats:
    return scores[:, 0].copy()


def _as_list(eval_set: Any) -> list[Any]:
    if isinstance(eval_set, ParquetTable):
        return [eval_set]
    if not isinstance(eval_set, tuple | list):
        raise DataError("eval_set must be a list of evaluation sets.")
    return list(eval_set)
