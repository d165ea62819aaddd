"""Ranking as a task: the target is a relevance within a query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from hedgerow._boosting.fit.training_data import Examples
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
    """Relevances as they were given, the number of each row's query, and weights, if any.

    Queries were told by their sizes (`by_group`), or by an id for each row.
    """

    y: Any
    query: QueryNumbers
    sample_weight: Any = None
    by_group: bool = False

    def read(self, n_rows: int) -> Floats:
        """Return relevance and query of each row, (n_rows, 2)."""
        if len(self.query) != n_rows:
            said = "group adds up to" if self.by_group else "qid is of"
            raise DataError(f"{said} {len(self.query)} rows, but X has {n_rows}.")
        relevance = read_relevance(self.y, n_rows)
        self._require_weights_of_queries(n_rows)
        return np.column_stack([relevance, self.query.astype(np.float64)])

    def _require_weights_of_queries(self, n_rows: int) -> None:
        weights = read_weights(self.sample_weight, n_rows)
        if weights is None:
            return
        first = np.unique(self.query, return_index=True)[1]
        differs = weights != weights[first][self.query]
        if differs.any():
            raise DataError(
                "sample_weight must be the same in all rows of a query, for queries are what a "
                f"ranker weighs; it differs in row {int(differs.argmax())}."
            )


class Ranking(Task):
    """The target is a relevance, which says something beside others of the same query only."""

    name: ClassVar[str] = "ranker"

    def learn_target(self, y: Any, n_rows: int, loss: Any = None) -> tuple[None, Floats]:  # noqa: ARG002
        """Read relevances and queries; there are no classes."""
        return None, y.read(n_rows)

    def read_target(self, y: Any, n_rows: int, classes: Any, loss: Any = None) -> Floats:  # noqa: ARG002
        """Read relevances and queries."""
        read: Floats = y.read(n_rows)
        return read

    def choose_loss(self, estimator: Estimator, classes: Any) -> BaseLoss:  # noqa: ARG002
        """Return the loss that the parameters mean."""
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
        """Return metrics of rankings."""
        assert isinstance(loss, RankingLoss)
        return ranking_metrics(estimator.eval_metric, loss)

    def weigh(self, examples: Examples, estimator: Estimator, classes: Any) -> Examples:  # noqa: ARG002
        """Let the rows of a query stay together."""
        return replace(examples, groups=examples.target[:, 1].astype(np.int32))
