"""Survival analysis: the target is a time, or an interval that contains it."""

from __future__ import annotations

from typing import Any, ClassVar

from hedgerow._boosting.losses import BaseLoss, CoxLoss, FailureTimeLoss, SurvivalLoss
from hedgerow._boosting.metrics import Metric, UserMetric
from hedgerow._boosting.survival_metrics import survival_metrics
from hedgerow._boosting.targets.tasks import Task
from hedgerow._data.survival_times import read_survival_times
from hedgerow._estimator import Estimator
from hedgerow._types import Floats


class Survival(Task):
    """The target is a lower and an upper bound of the time."""

    name: ClassVar[str] = "survival"

    def read_target(self, y: Any, n_rows: int, classes: Any, loss: Any = None) -> Floats:  # noqa: ARG002
        """Read the bounds."""
        return read_survival_times(y, n_rows)

    def _single_loss(self, estimator: Estimator, classes: Any) -> BaseLoss:  # noqa: ARG002
        if estimator.loss == "cox":
            return CoxLoss(estimator.ties)
        scale = None if estimator.aft_scale == "auto" else estimator.aft_scale
        return FailureTimeLoss(estimator.aft_distribution, scale)

    def choose_metrics(
        self,
        estimator: Estimator,
        classes: Any,  # noqa: ARG002
        loss: BaseLoss,
    ) -> list[Metric | UserMetric]:
        """Return the metrics of survival models that `eval_metric` selects."""
        assert isinstance(loss, SurvivalLoss)
        return survival_metrics(estimator.eval_metric, loss)
