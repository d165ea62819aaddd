"""Classification and regression: what a target is, and which losses there are for it."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow._boosting.fit.training_data import Examples
from hedgerow._boosting.losses import (
    BaseLoss,
    BinaryLogLoss,
    CrossEntropy,
    CustomLoss,
    FormulaLoss,
    MultinomialLogLoss,
    SoftBinaryLogLoss,
    SquaredError,
)
from hedgerow._boosting.losses.classification import TWO_CLASS_LOSSES
from hedgerow._boosting.losses.formula import Loss
from hedgerow._boosting.losses.regression import REGRESSION_LOSSES, as_levels
from hedgerow._boosting.metrics import Metric, UserMetric, resolve_metrics
from hedgerow._boosting.targets.classes import Classes
from hedgerow._data.class_weight import class_weight_vector
from hedgerow._data.target import (
    read_classification_target,
    read_fitted_classes,
    read_probabilities,
    read_regression_target,
    require_moderate,
)
from hedgerow._estimator import Estimator
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError

Labels = NDArray[Any]


class Task(Protocol):
    """What differs between the estimators while they are fitted."""

    name: ClassVar[str]

    def learn_target(self, y: Any, n_rows: int, loss: Any = None) -> tuple[Labels | None, Floats]:
        """Read y of the training rows: the classes, if there are any, and the target."""

    def read_target(self, y: Any, n_rows: int, classes: Any, loss: Any = None) -> Floats:
        """Read y of other rows."""

    def choose_loss(self, estimator: Estimator, classes: Any) -> BaseLoss:
        """Return the loss that the parameters mean."""

    def count_targets(self, classes: Classes | None, target: Floats) -> int:  # noqa: ARG002
        """Return how many columns of y have scores of their own."""
        return 1

    def choose_metrics(
        self, estimator: Estimator, classes: Any, loss: BaseLoss
    ) -> list[Metric | UserMetric]:
        """Return what `eval_metric` means."""
        return resolve_metrics(estimator.eval_metric, classes, loss)

    def weigh(self, examples: Examples, estimator: Estimator, classes: Any) -> Examples:  # noqa: ARG002
        """Apply the weights that a parameter asks for."""
        return examples


class Classification(Task):
    """The target is a class, as its place among the sorted classes."""

    name: ClassVar[str] = "classifier"

    def learn_target(self, y: Any, n_rows: int, loss: Any = None) -> tuple[Labels | None, Floats]:
        """Find the classes in y; of probabilities they are the columns."""
        if loss == "cross_entropy":
            classes, probabilities = read_probabilities(y, n_rows)
            return classes, _without_the_first_of_two(probabilities)
        classes, index = read_classification_target(y, n_rows)
        return classes, index.astype(np.float64)

    def read_target(self, y: Any, n_rows: int, classes: Any, loss: Any = None) -> Floats:
        """Look the values up among the classes."""
        if loss == "cross_entropy":
            probabilities = read_probabilities(y, n_rows, len(classes))[1]
            return _without_the_first_of_two(probabilities)
        return read_fitted_classes(y, classes, n_rows).astype(np.float64)

    def choose_loss(self, estimator: Estimator, classes: Any) -> BaseLoss:
        """Return the loss for this number of classes, or the user's with the log loss's outputs."""
        n_classes, wanted = len(classes), estimator.loss
        log_loss = BinaryLogLoss() if n_classes == 2 else MultinomialLogLoss(n_classes)
        if isinstance(wanted, Loss):
            return FormulaLoss.for_classification(wanted, log_loss)
        if callable(wanted):
            return CustomLoss(wanted, log_loss.link, log_loss.n_outputs, log_loss.metric)
        if wanted == "log_loss":
            return log_loss
        if wanted == "cross_entropy":
            return SoftBinaryLogLoss() if n_classes == 2 else CrossEntropy(n_classes)
        if n_classes > 2:
            raise ParameterError(
                f"loss={wanted!r} tells two classes apart, but y has {n_classes}. Use 'log_loss'."
            )
        return TWO_CLASS_LOSSES[wanted].loss.from_estimator(wanted, estimator)

    def weigh(self, examples: Examples, estimator: Estimator, classes: Any) -> Examples:
        """Apply class_weight and scale_pos_weight."""
        if estimator.class_weight is None and estimator.scale_pos_weight == 1.0:
            return examples
        if estimator.loss == "cross_entropy":
            raise ParameterError(
                "class_weight and scale_pos_weight weigh rows by their class; with "
                "loss='cross_entropy' rows have probabilities of all. Use sample_weight."
            )
        index = examples.target.astype(np.intp)
        by_class = np.ones(len(classes))
        if estimator.class_weight is not None:
            given = estimator.class_weight
            by_class = class_weight_vector(given, classes, index, examples.weights)
        if estimator.scale_pos_weight != 1.0:
            _require_two_classes(estimator.scale_pos_weight, len(classes))
            by_class = by_class * np.array([1.0, estimator.scale_pos_weight])
        weighted = examples.weighted_by_class(by_class)
        if not np.any(weighted.weights):
            raise ParameterError(
                f"class_weight={estimator.class_weight!r} leaves no row any weight."
            )
        if weighted.weights is not None:
            require_moderate(weighted.weights, "class_weight times sample_weight")
        return weighted


class Regression(Task):
    """The target is a number."""

    name: ClassVar[str] = "regressor"

    def learn_target(self, y: Any, n_rows: int, loss: Any = None) -> tuple[Labels | None, Floats]:  # noqa: ARG002
        """Read the numbers; there are no classes."""
        return None, read_regression_target(y, n_rows)

    def read_target(self, y: Any, n_rows: int, classes: Any, loss: Any = None) -> Floats:  # noqa: ARG002
        """Read the numbers."""
        return read_regression_target(y, n_rows)

    def choose_loss(self, estimator: Estimator, classes: Any) -> BaseLoss:  # noqa: ARG002
        """Return the loss by its name, or the user's."""
        wanted, levels = estimator.loss, as_levels(estimator.quantile)
        if wanted != "quantile" and len(levels) > 1:
            raise ParameterError(
                f"quantile={estimator.quantile!r} asks for several quantiles, which only "
                f"loss='quantile' predicts; but loss={wanted!r}."
            )
        if isinstance(wanted, Loss):
            return FormulaLoss.for_regression(wanted)
        if callable(wanted):
            return CustomLoss(wanted, "identity", 1, SquaredError.metric)
        return REGRESSION_LOSSES[wanted].loss.from_estimator(wanted, estimator)


def _require_two_classes(scale_pos_weight: float, n_classes: int) -> None:
    if n_classes != 2:
        raise ParameterError(
            f"scale_pos_weight={scale_pos_weight!r} weighs the second of two classes, but y has "
            f"{n_classes}. Use class_weight."
        )


def _without_the_first_of_two(probabilities: Floats) -> Floats:
    """Return P(class 1) alone where it says all."""
    return probabilities[:, 1].copy() if probabilities.shape[1] == 2 else probabilities
