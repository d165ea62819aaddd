"""Classification and regression: how a target is read, and which losses and metrics it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from hedgerow._boosting.fit.dataset import Dataset
from hedgerow._boosting.losses import (
    BaseLoss,
    BinaryLogLoss,
    CrossEntropy,
    CustomLoss,
    FormulaLoss,
    MultinomialLogLoss,
    MultiOutputLoss,
    NativeLoss,
    SoftBinaryLogLoss,
    SquaredError,
)
from hedgerow._boosting.losses.classification import TWO_CLASS_LOSSES
from hedgerow._boosting.losses.formula import Loss
from hedgerow._boosting.losses.regression import REGRESSION_LOSSES, as_levels
from hedgerow._boosting.metrics import Metric, UserMetric, resolve_metrics
from hedgerow._collective import workers
from hedgerow._data.target import (
    Classes,
    class_weight_vector,
    has_columns,
    read_classification_target,
    read_fitted_classes,
    read_fitted_labels,
    read_labels,
    read_number_columns,
    read_probabilities,
    read_regression_target,
    require_moderate,
)
from hedgerow._estimator import Estimator
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError


class Task(Protocol):
    """What differs between the estimators in a fit."""

    name: ClassVar[str]

    def learn_target(self, y: Any, n_rows: int, loss: Any = None) -> tuple[Classes | None, Floats]:
        """Read y of the training set: its classes, if there are any, and the target."""
        return None, self.read_target(y, n_rows, None, loss)

    def read_target(self, y: Any, n_rows: int, classes: Any, loss: Any = None) -> Floats:
        """Read y of other rows."""

    def count_targets(self, classes: Classes | None, target: Floats) -> int:  # noqa: ARG002
        """Return the number of columns of y that have scores of their own."""
        return 1

    def choose_loss(self, estimator: Estimator, classes: Any, n_targets: int = 1) -> BaseLoss:
        """Return the loss that the parameters select, for this many columns of y."""
        if n_targets == 1:
            return self._single_loss(estimator, classes)
        _require_one_number_per_column(estimator)
        single = self._single_loss(estimator, None if classes is None else classes[0])
        if isinstance(single, NativeLoss):
            return MultiOutputLoss(single, n_targets)
        assert isinstance(single, CustomLoss | FormulaLoss)
        return single.for_targets(n_targets)

    def _single_loss(self, estimator: Estimator, classes: Any) -> BaseLoss:
        """Return the loss for one column of y."""

    def choose_metrics(
        self, estimator: Estimator, classes: Any, loss: BaseLoss
    ) -> list[Metric | UserMetric]:
        """Return the metrics that `eval_metric` selects."""
        return resolve_metrics(estimator.eval_metric, classes, loss)

    def class_weights(self, dataset: Dataset, estimator: Estimator, classes: Any) -> Floats | None:  # noqa: ARG002
        """Return the weight of each class of the training set; None if there are none."""
        return None

    def grouped(self, dataset: Dataset) -> Dataset:
        """Return the training set with the groups that the target implies."""
        return dataset


@dataclass(frozen=True)
class Classification(Task):
    """The target is a class index or, if allowed, multilabel: 1 for the second class of a label."""

    multilabel: bool = True
    name: ClassVar[str] = "classifier"

    def learn_target(self, y: Any, n_rows: int, loss: Any = None) -> tuple[Classes | None, Floats]:
        """Find the classes of y, or of each label; class probabilities have a column per class."""
        if loss == "cross_entropy":
            classes, probabilities = read_probabilities(y, n_rows)
            return classes, _without_first_of_two(probabilities)
        if self.multilabel and has_columns(y):
            return read_labels(y, n_rows)
        classes, index = read_classification_target(y, n_rows)
        return classes, index.astype(np.float64)

    def read_target(self, y: Any, n_rows: int, classes: Any, loss: Any = None) -> Floats:
        """Find the values among the classes."""
        if isinstance(classes, list):
            return read_fitted_labels(y, classes, n_rows)
        if loss == "cross_entropy":
            probabilities = read_probabilities(y, n_rows, len(classes))[1]
            return _without_first_of_two(probabilities)
        return read_fitted_classes(y, classes, n_rows).astype(np.float64)

    def count_targets(self, classes: Classes | None, target: Floats) -> int:  # noqa: ARG002
        """Return the number of labels; class probabilities are one target."""
        return len(classes) if isinstance(classes, list) else 1

    def _single_loss(self, estimator: Estimator, classes: Any) -> BaseLoss:
        """Return the loss for this number of classes; a user's has the outputs of the log loss."""
        n_classes, loss = len(classes), estimator.loss
        log_loss = BinaryLogLoss() if n_classes == 2 else MultinomialLogLoss(n_classes)
        if isinstance(loss, Loss):
            return FormulaLoss.for_classification(loss, log_loss)
        if callable(loss):
            return CustomLoss(loss, log_loss.link, log_loss.n_outputs, log_loss.metric)
        if loss == "log_loss":
            return log_loss
        if loss == "cross_entropy":
            return SoftBinaryLogLoss() if n_classes == 2 else CrossEntropy(n_classes)
        if n_classes > 2:
            raise ParameterError(
                f"loss={loss!r} is for two classes, but y has {n_classes}. Use 'log_loss'."
            )
        return TWO_CLASS_LOSSES[loss].loss.from_estimator(loss, estimator)

    def class_weights(self, dataset: Dataset, estimator: Estimator, classes: Any) -> Floats | None:
        """Return what class_weight and scale_pos_weight make of each class."""
        if estimator.class_weight is None and estimator.scale_pos_weight == 1.0:
            return None
        _require_one_class_per_row(estimator, classes)
        index = dataset.target.astype(np.intp)
        by_class = np.ones(len(classes))
        if estimator.class_weight is not None:
            by_class = class_weight_vector(estimator.class_weight, classes, index, dataset.weights)
        if estimator.scale_pos_weight != 1.0:
            by_class = by_class * np.array([1.0, estimator.scale_pos_weight])
        weights = dataset.weighted_by_class(by_class).weights
        assert weights is not None
        if not workers().any(bool(weights.any())):
            raise ParameterError(
                f"class_weight={estimator.class_weight!r} leaves no row with a positive weight."
            )
        require_moderate(weights, "class_weight times sample_weight")
        return by_class


@dataclass(frozen=True)
class Regression(Task):
    """The target is a number or, if allowed, several."""

    multi_output: bool = True
    name: ClassVar[str] = "regressor"

    def read_target(self, y: Any, n_rows: int, classes: Any, loss: Any = None) -> Floats:  # noqa: ARG002
        """Read the numbers."""
        if self.multi_output and has_columns(y):
            return read_number_columns(y, n_rows)
        return read_regression_target(y, n_rows)

    def count_targets(self, classes: Classes | None, target: Floats) -> int:  # noqa: ARG002
        """Return the number of columns."""
        return target.shape[1] if target.ndim == 2 else 1

    def _single_loss(self, estimator: Estimator, classes: Any) -> BaseLoss:  # noqa: ARG002
        loss = estimator.loss
        if loss != "quantile" and len(as_levels(estimator.quantile)) > 1:
            raise ParameterError(
                f"quantile={estimator.quantile!r} has several quantiles, which only "
                f"loss='quantile' supports, but loss={loss!r}."
            )
        if isinstance(loss, Loss):
            return FormulaLoss.for_regression(loss)
        if callable(loss):
            return CustomLoss(loss, "identity", 1, SquaredError.metric)
        return REGRESSION_LOSSES[loss].loss.from_estimator(loss, estimator)


def _require_one_number_per_column(estimator: Estimator) -> None:
    if estimator.loss == "mape":
        raise ParameterError(
            "loss='mape' weights rows by their target, but y has several columns. Use "
            "'absolute_error'."
        )
    if estimator.loss == "quantile" and len(as_levels(estimator.quantile)) > 1:
        raise ParameterError(
            f"quantile={estimator.quantile!r} has several quantiles, but y has several columns. "
            "Use one quantile, or one column."
        )


def _require_one_class_per_row(estimator: Estimator, classes: Classes) -> None:
    weights = "class_weight and scale_pos_weight weight rows by class, but"
    if isinstance(classes, list):
        raise ParameterError(f"{weights} y has {len(classes)} labels. Use sample_weight.")
    if estimator.loss == "cross_entropy":
        raise ParameterError(
            f"{weights} with loss='cross_entropy' rows have a probability of every class. Use "
            "sample_weight."
        )
    if estimator.scale_pos_weight != 1.0 and len(classes) != 2:
        raise ParameterError(
            f"scale_pos_weight={estimator.scale_pos_weight!r} is the weight of the second of two "
            f"classes, but y has {len(classes)}. Use class_weight."
        )


def _without_first_of_two(probabilities: Floats) -> Floats:
    """Return P(class 1) alone if there are two classes."""
    return probabilities[:, 1].copy() if probabilities.shape[1] == 2 else probabilities
