"""Ranking: the target is a relevance within a query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from hedgerow._boosting.fit.dataset import Dataset
from hedgerow._boosting.losses import BaseLoss, RankingLoss
from hedgerow._boosting.metrics import Metric, UserMetric
from hedgerow._boosting.ranking_metrics import ranking_metrics
from hedgerow._boosting.targets.tasks import Task
from hedgerow._data.ranking_queries import QueryNumbers, read_relevance
from hedgerow._data.target import read_weights
from hedgerow._estimator import Estimator
from hedgerow._types import Floats
from hedgerow.exceptions import DataError


@dataclass(frozen=True)
class Judgements:
    """Relevances as the user passed them, the query of each row, and optional weights.

    Queries were passed as their sizes (`by_group`), or as an id for each row.
    """

    y: Any
    query: QueryNumbers
    sample_weight: Any = None
    by_group: bool = False

    def read(self, n_rows: int) -> Floats:
        """Return relevance and query of each row, (n_rows, 2)."""
        if len(self.query) != n_rows:
            has = "group sums to" if self.by_group else "qid has"
            raise DataError(f"{has} {len(self.query)} rows, but X has {n_rows} rows.")
        relevance = read_relevance(self.y, n_rows)
        self._require_weights_of_queries(n_rows)
        return np.column_stack([relevance, self.query.astype(np.float64)])

    def _require_weights_of_queries(self, n_rows: int) -> None:
        weights = read_weights(self.sample_weight, n_rows)
        if weights is None:
            return
        _, first, query = np.unique(self.query, return_index=True, return_inverse=True)
        differs = weights != weights[first][query]
        if differs.any():
            raise DataError(
                "sample_weight must be the same in all rows of a query, because a ranker weights "
                f"queries; it differs in row {int(differs.argmax())}."
            )


class Ranking(Task):
    """The target is a relevance, to be compared with others of the same query only."""

    name: ClassVar[str] = "ranker"

    def read_target(self, y: Judgements, n_rows: int, classes: Any, loss: Any = None) -> Floats:  # noqa: ARG002
        """Read relevances and queries."""
        return y.read(n_rows)

    def _single_loss(self, estimator: Estimator, classes: Any) -> BaseLoss:  # noqa: ARG002
        return RankingLoss(
            estimator.loss,
            estimator.gain,
            estimator.sigma,
            estimator.truncation,
            estimator.normalize,
        )

    def choose_metrics(
        self,
        estimator: Estimator,
        classes: Any,  # noqa: ARG002
        loss: BaseLoss,
    ) -> list[Metric | UserMetric]:
        """Return the ranking metrics that `eval_metric` selects."""
        assert isinstance(loss, RankingLoss)
        return ranking_metrics(estimator.eval_metric, loss)

    def grouped(self, dataset: Dataset) -> Dataset:
        """Make queries the groups, so that their rows stay together."""
        return replace(dataset, groups=dataset.target[:, 1].astype(np.int32))
