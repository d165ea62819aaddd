"""Classification and regression: what a target is, and which losses there are for it."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.boosting.losses import (
    BinaryLogLoss,
    CustomLoss,
    Floats,
    Loss,
    MultinomialLogLoss,
    SquaredError,
)
from hedgerow.boosting.training_data import Examples
from hedgerow.data.class_weight import class_weight_vector
from hedgerow.data.target import (
    read_classification_target,
    read_known_classes,
    read_regression_target,
    require_moderate,
)
from hedgerow.exceptions import ParameterError

Classes = NDArray[Any]


class Task(Protocol):
    """What differs between the two estimators while they are fitted."""

    name: ClassVar[str]

    def learn_target(self, y: Any, n_rows: int) -> tuple[Classes | None, Floats]:
        """Read y of the training rows: the classes, if there are any, and the target."""

    def read_target(self, y: Any, n_rows: int, classes: Any) -> Floats:
        """Read y of other rows."""

    def choose_loss(self, loss: Any, classes: Any) -> Loss:
        """Return the loss that the parameter means."""

    def weigh(self, examples: Examples, estimator: Any, classes: Any) -> Examples:
        """Apply the weights that a parameter asks for."""


class Classification:
    """The target is a class, as its place among the sorted classes."""

    name: ClassVar[str] = "classifier"

    def learn_target(self, y: Any, n_rows: int) -> tuple[Classes | None, Floats]:
        """Find the classes in y."""
        classes, index = read_classification_target(y, n_rows)
        return classes, index.astype(np.float64)

    def read_target(self, y: Any, n_rows: int, classes: Any) -> Floats:
        """Look the values up among the classes."""
        return read_known_classes(y, classes, n_rows).astype(np.float64)

    def choose_loss(self, loss: Any, classes: Any) -> Loss:
        """Return the log loss for this number of classes, or the user's with the same outputs."""
        n_classes = len(classes)
        built_in = BinaryLogLoss() if n_classes == 2 else MultinomialLogLoss(n_classes)
        return CustomLoss(loss, built_in.link, built_in.n_outputs) if callable(loss) else built_in

    def weigh(self, examples: Examples, estimator: Any, classes: Any) -> Examples:
        """Apply class_weight."""
        if estimator.class_weight is None:
            return examples
        index = examples.target.astype(np.intp)
        weighted = examples.weighted_by_class(
            class_weight_vector(estimator.class_weight, classes, index, examples.weights)
        )
        if not np.any(weighted.weights):
            raise ParameterError(
                f"class_weight={estimator.class_weight!r} leaves no row any weight."
            )
        if weighted.weights is not None:
            require_moderate(weighted.weights, "class_weight times sample_weight")
        return weighted


class Regression:
    """The target is a number."""

    name: ClassVar[str] = "regressor"

    def learn_target(self, y: Any, n_rows: int) -> tuple[Classes | None, Floats]:
        """Read the numbers; there are no classes."""
        return None, read_regression_target(y, n_rows)

    def read_target(self, y: Any, n_rows: int, classes: Any) -> Floats:  # noqa: ARG002
        """Read the numbers."""
        return read_regression_target(y, n_rows)

    def choose_loss(self, loss: Any, classes: Any) -> Loss:  # noqa: ARG002
        """Return the squared error, or the user's loss."""
        return CustomLoss(loss, "identity", 1) if callable(loss) else SquaredError()

    def weigh(self, examples: Examples, estimator: Any, classes: Any) -> Examples:  # noqa: ARG002
        """Leave the weights alone."""
        return examples
