"""A y of several columns: numbers, or labels of two classes each; each has scores of its own."""

from __future__ import annotations

from typing import Any

from hedgerow._boosting.fit.training_data import Examples
from hedgerow._boosting.losses import BaseLoss, CustomLoss, FormulaLoss, MultiOutputLoss, NativeLoss
from hedgerow._boosting.losses.regression import as_levels
from hedgerow._boosting.targets.classes import Classes
from hedgerow._boosting.targets.tasks import Classification, Regression, Task
from hedgerow._data.target import (
    has_columns,
    read_fitted_labels,
    read_labels,
    read_number_columns,
)
from hedgerow._estimator import Estimator
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError


class LabelClassification(Classification):
    """The target is a class, or has several columns of labels, 1 where a row has the second."""

    def learn_target(self, y: Any, n_rows: int, loss: Any = None) -> tuple[Any, Floats]:
        """Find the classes in y, or in each of its columns."""
        if loss == "cross_entropy" or not has_columns(y):
            return super().learn_target(y, n_rows, loss)
        return read_labels(y, n_rows)

    def read_target(self, y: Any, n_rows: int, classes: Any, loss: Any = None) -> Floats:
        """Look the values up among the classes."""
        if isinstance(classes, list):
            return read_fitted_labels(y, classes, n_rows)
        return super().read_target(y, n_rows, classes, loss)

    def count_targets(self, classes: Classes | None, target: Floats) -> int:  # noqa: ARG002
        """Return the number of labels; probabilities of classes have no scores of their own."""
        return len(classes) if isinstance(classes, list) else 1

    def weigh(self, examples: Examples, estimator: Estimator, classes: Any) -> Examples:
        """Apply class_weight and scale_pos_weight."""
        is_asked = estimator.class_weight is not None or estimator.scale_pos_weight != 1.0
        if isinstance(classes, list) and is_asked:
            raise ParameterError(
                "class_weight and scale_pos_weight weigh rows by their class, but y has "
                f"{len(classes)} columns of labels. Use sample_weight."
            )
        return super().weigh(examples, estimator, classes)


class NumberRegression(Regression):
    """The target is a number, or has several columns of numbers."""

    def learn_target(self, y: Any, n_rows: int, loss: Any = None) -> tuple[None, Floats]:
        """Read the numbers; there are no classes."""
        return None, self.read_target(y, n_rows, None, loss)

    def read_target(self, y: Any, n_rows: int, classes: Any, loss: Any = None) -> Floats:
        """Read the numbers."""
        if has_columns(y):
            return read_number_columns(y, n_rows)
        return super().read_target(y, n_rows, classes, loss)

    def count_targets(self, classes: Classes | None, target: Floats) -> int:  # noqa: ARG002
        """Return the number of columns."""
        return target.shape[1] if target.ndim == 2 else 1


def choose_loss(
    task: Task, estimator: Estimator, classes: Classes | None, n_targets: int
) -> BaseLoss:
    """Return the loss that the parameters mean, for so many columns of y."""
    if n_targets == 1:
        return task.choose_loss(estimator, classes)
    _require_one_number_a_column(estimator)
    one = task.choose_loss(estimator, None if classes is None else classes[0])
    if isinstance(one, NativeLoss):
        return MultiOutputLoss(one, n_targets)
    assert isinstance(one, CustomLoss | FormulaLoss)
    return one.for_targets(n_targets)


def _require_one_number_a_column(estimator: Estimator) -> None:
    if estimator.loss == "mape":
        raise ParameterError(
            "loss='mape' weighs rows by their target, but y has several columns. Use "
            "'absolute_error'."
        )
    if estimator.loss == "quantile" and len(as_levels(estimator.quantile)) > 1:
        raise ParameterError(
            f"quantile={estimator.quantile!r} asks for several quantiles, but y has several "
            "columns. Give one quantile, or one column."
        )
