"""What a fit is to learn: columns, classes, a loss, what is known of features, where to go on from.

All this is read from the training rows before they are parted, and stays the same for every part.
Other rows of the same fit, such as those of evaluation sets, are read by it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hedgerow._boosting.fit.constraints import Constraints, read_constraints, require_monotone
from hedgerow._boosting.fit.settings import Settings, is_auto
from hedgerow._boosting.fit.training_data import Examples, Given
from hedgerow._boosting.losses import BaseLoss, CustomLoss, FormulaLoss, NativeLoss
from hedgerow._boosting.model import BoostedModel
from hedgerow._boosting.targets.classes import Classes
from hedgerow._boosting.targets.multi_output import choose_loss
from hedgerow._boosting.targets.tasks import Task
from hedgerow._contract import internals
from hedgerow._data.intake import Table, TableSchema, learn_schema
from hedgerow._data.target import read_groups, read_weights
from hedgerow._estimator import TableEstimator
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError


@dataclass(frozen=True)
class Problem:
    """What is to be learned; `start` is the model whose rounds come before, if any."""

    task: Task
    start: BoostedModel | None
    schema: TableSchema
    classes: Classes | None
    loss: BaseLoss
    trees_per_round: int
    constraints: Constraints

    @property
    def grows_vectors(self) -> bool:
        """Whether a tree serves several outputs."""
        return self.trees_per_round < self.loss.n_outputs

    @property
    def is_native(self) -> bool:
        """Whether rounds are grown without a function of the user's."""
        return not isinstance(self.loss, CustomLoss | FormulaLoss)

    @property
    def native_loss(self) -> NativeLoss | None:
        """The loss, if kernels know it."""
        return self.loss if isinstance(self.loss, NativeLoss) else None

    @property
    def has_one_class_a_row(self) -> bool:
        """Whether rows can be parted and drawn by their class."""
        return self.classes is not None and self.loss.n_targets == 1 and not self.loss.is_soft

    def read(self, estimator: TableEstimator, X: Any, y: Any, sample_weight: Any) -> Examples:
        """Read rows of an evaluation set."""
        table = internals(estimator).read(X, self.schema)
        target = self.task.read_target(y, table.n_rows, self.classes, estimator.loss)
        n_targets = self.task.count_targets(self.classes, target)
        if n_targets != self.loss.n_targets:
            raise DataError(f"y has {n_targets} columns, but that of fit {self.loss.n_targets}.")
        return self.examples(table, target, sample_weight)

    def examples(self, table: Table, target: Floats, sample_weight: Any) -> Examples:
        """Put rows together that the loss can learn from, or be measured on."""
        objection = self.loss.objection(target)
        if objection:
            raise DataError(objection)
        weights = read_weights(sample_weight, table.n_rows)
        if weights is not None:
            objection = self.loss.objection(target[weights > 0.0])
        if objection:
            raise DataError(
                "sample_weight is 0 in every row that the loss needs: without those rows, "
                f"{objection}"
            )
        return Examples(table, target, weights)


def read_problem(
    given: Given, task: Task, start: BoostedModel | None, settings: Settings
) -> tuple[Problem, Examples]:
    """Read the training rows, and from them what is to be learned."""
    estimator = settings.estimator
    if start is None:
        schema, table = learn_schema(given.X, estimator.categorical_features)
        classes, target = task.learn_target(given.y, table.n_rows, estimator.loss)
    else:
        schema, classes = start.schema, start.classes
        table = internals(estimator).read(given.X, schema)
        target = task.read_target(given.y, table.n_rows, classes, estimator.loss)
    loss = choose_loss(task, estimator, classes, task.count_targets(classes, target))
    _require_slopes(estimator, loss)
    is_vector = loss.n_outputs > 1 and estimator.multi_strategy == "vector"
    trees_per_round = 1 if is_vector else loss.n_outputs
    if start is not None:
        _require_the_same_trees(start, loss, trees_per_round, estimator)
    constraints = read_constraints(estimator, schema, loss)
    problem = Problem(task, start, schema, classes, loss, trees_per_round, constraints)
    examples = problem.examples(table, target, given.sample_weight)
    if given.groups is not None:
        examples = replace(examples, groups=read_groups(given.groups, table.n_rows))
    return problem, weigh(examples, settings.asked, task, classes, loss)


def weigh(examples: Examples, asked: Any, task: Task, classes: Any, loss: BaseLoss) -> Examples:
    """Multiply class weights in, and scale all weights to units of a row."""
    only_ratios = is_auto(asked.n_estimators) and not loss.single_output.weights_are_exposures
    return task.weigh(examples, asked, classes).weighted_in_rows(only_ratios=only_ratios)


def _require_the_same_trees(
    start: BoostedModel, loss: BaseLoss, trees_per_round: int, estimator: TableEstimator
) -> None:
    """Refuse to go on from trees of another kind."""
    before = start.ensemble
    if start.link != loss.link:
        raise ParameterError(
            f"loss={estimator.loss!r}: its scores mean something else than those of the "
            f"model to go on from ({loss.link}, not {start.link})."
        )
    of, now = start.quantiles, loss.single_output.quantiles
    if of and now and of != now:
        raise ParameterError(
            f"quantile={estimator.quantile!r}, but the model to go on from was fitted with "
            f"quantile={of[0] if len(of) == 1 else list(of)!r}: its scores mean something else. "
            "Fit anew, or give that quantile."
        )
    if before.n_outputs != loss.n_outputs:
        raise DataError(
            f"The model to go on from has {before.n_outputs} outputs, but loss and y now ask "
            f"for {loss.n_outputs}."
        )
    if before.trees_per_round != trees_per_round:
        raise ParameterError(
            f"multi_strategy={estimator.multi_strategy!r}, but the model to go on from "
            "was fitted with the other strategy."
        )


def require_constraints_kept(problem: Problem) -> None:
    """Refuse to go on from trees that break the constraints."""
    if problem.start is not None:
        features = problem.start.statistics.sources.tolist()
        directions = problem.constraints.of_columns(features)["directions"]
        require_monotone(problem.start.ensemble, directions)


def require_rows_to_draw(problem: Problem, settings: Settings, train: Examples) -> None:
    """Refuse to draw rows by what they do not have, or all of them."""
    sampling, subsample = settings.estimator.sampling, settings.estimator.subsample
    if sampling == "balanced" and not problem.has_one_class_a_row:
        raise ParameterError("sampling='balanced' draws rows by their class; there are none.")
    if sampling == "group" and train.groups is None:
        raise ParameterError("sampling='group' draws whole groups; fit must be given groups.")
    if sampling not in ("uniform", "balanced") and subsample == 1.0:
        raise ParameterError(
            f"sampling={sampling!r} draws the part subsample of the rows, but "
            f"subsample={settings.asked.subsample!r} is all of them. Give a number below 1, such "
            "as subsample=0.5."
        )


def _require_slopes(estimator: TableEstimator, loss: BaseLoss) -> None:
    """Refuse linear leaves where leaves are replaced by quantiles."""
    if estimator.linear_leaves and isinstance(loss, NativeLoss) and loss.is_piecewise_linear:
        raise no_slopes(estimator)


def no_slopes(estimator: TableEstimator) -> ParameterError:
    """Return the error of linear leaves for a loss that has no hessian."""
    return ParameterError(
        f"linear_leaves=True is not allowed with loss={estimator.loss!r}: the loss is straight but "
        "for corners, so that leaves take the values which are best for their rows, and no hessian "
        "tells how steep they should be."
    )
