"""One call of a stagewise `fit`, from data to the attributes of a fitted estimator.

Everything lives in a `StagewiseFitting` until it is finished; then the estimator adopts the result
in one step. So a fit that fails or is interrupted leaves the estimator as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from hedgerow._boosting.fit.loop import BestRound
from hedgerow._boosting.fit.training_data import Examples, hold_out
from hedgerow._boosting.targets.tasks import Task
from hedgerow._data.columns import ColumnTypeError
from hedgerow._data.pass_through import check_anything, fitted_columns, learn_anything
from hedgerow._data.sparse import sound_rows
from hedgerow._data.target import read_weights
from hedgerow._estimator import Estimator, seed_of
from hedgerow._progress import progress
from hedgerow._stagewise.learners import (
    BaseLearner,
    default_learner,
    fitted_copy,
    output_of,
    require_weights,
)
from hedgerow._stagewise.losses import StagewiseLoss
from hedgerow._stagewise.model import AdditiveModel
from hedgerow._stagewise.rounds import (
    StagewiseBooster,
    StagewiseRounds,
    ValidationSet,
    negligible_gradient,
)
from hedgerow._stagewise.steps import PER_LEAF, StepData
from hedgerow._types import Attributes, Floats
from hedgerow._warning import deduplicate_warnings
from hedgerow.exceptions import DataError, ParameterError


class PassThroughTable:
    """A table that learners get as it came: they alone know how to read it."""

    def __init__(self, X: Any) -> None:
        # Rows can be taken of lists and of tables, but not of all that can become an array.
        is_array_like = hasattr(X, "__array__") and not hasattr(X, "shape")
        self.X = np.asarray(X) if is_array_like else sound_rows(X)
        self.n_rows = count_rows(X)

    def take(self, rows: NDArray[np.intp]) -> PassThroughTable:
        """Return some of the rows."""
        return PassThroughTable(_safe_indexing(self.X, rows))


class StagewiseFitting:
    """A fit under way; `start` is the model that a warm start adds to."""

    classes: NDArray[Any] | None
    columns: Attributes
    loss: StagewiseLoss
    step: str

    def __init__(
        self,
        estimator: Estimator,
        task: Task,
        choose_loss: Callable[[Any], StagewiseLoss],
        start: AdditiveModel | None,
    ) -> None:
        self.estimator = estimator
        self.task = task
        self.choose_loss = choose_loss
        self.start = start
        self.seed = seed_of(estimator.random_state)
        self.learner = BaseLearner(
            default_learner() if estimator.estimator is None else estimator.estimator
        )

    def run(self, X: Any, y: Any, sample_weight: Any) -> Attributes:
        """Read, boost; return the attributes of the fitted estimator."""
        with deduplicate_warnings():  # not by the learner of every round
            return self._run(X, y, sample_weight)

    def _run(self, X: Any, y: Any, sample_weight: Any) -> Attributes:
        rounds = range(self.rounds_done(), self.estimator.n_estimators)
        train, validation_set = self.read(X, y, sample_weight)
        model = self.model_to_extend(train)
        booster = self.booster(train, model)
        validation = (
            None if validation_set is None else self.validation(validation_set, model, booster)
        )
        done = StagewiseRounds(list(model.stages), self.train_score_so_far(), validation)
        with progress(self.estimator.verbose, rounds.stop, rounds.start) as progress_bar:
            done.run(booster, rounds, progress_bar)
        return self.attributes(model, done)

    def rounds_done(self) -> int:
        """Return how many rounds a warm start begins with; n_estimators counts them too."""
        done = 0 if self.start is None else self.start.n_rounds
        if self.estimator.n_estimators < done:
            raise ParameterError(
                f"n_estimators={self.estimator.n_estimators} is less than the {done} rounds that "
                "warm_start=True begins with."
            )
        return done

    def train_score_so_far(self) -> list[float]:
        """Return the losses of the rounds that a warm start begins with."""
        return [] if self.start is None else self.estimator.train_score_.tolist()

    def read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Examples, Examples | None]:
        """Check everything that was given; return what to train on and what to judge by."""
        examples = _with_weight(self._read_training(X, y, sample_weight))
        self.loss = self.choose_loss(self.classes)
        self._require_target(examples.target)
        self.step = resolve_step(self.estimator.step, self.learner, self.loss)
        require_consistent(self.step, self.estimator.response, self.learner, self.loss)
        self._require_start()
        self._require_weights(is_weighted=examples.weights is not None)
        if not self.estimator.early_stopping:
            return examples, None
        return self._split_validation(examples)

    def _split_validation(self, examples: Examples) -> tuple[Examples, Examples]:
        fraction, stratify = self.estimator.validation_fraction, self.classes is not None
        try:
            return hold_out(examples, fraction, self.seed, stratify)
        except DataError:
            n_rows = len(examples.target)
            rows = "1 sample" if n_rows == 1 else f"{n_rows} rows"
            raise DataError(
                f"early_stopping holds out validation_fraction={fraction} of "
                f"{rows}: none. Give a larger validation_fraction."
            ) from None

    def _read_training(self, X: Any, y: Any, sample_weight: Any) -> Examples:
        count_rows(X)
        X, self.columns = self._read_table(X)
        table: Any = PassThroughTable(X)
        if self.start is None:
            self.classes, target = self.task.learn_target(y, table.n_rows)
        else:
            self.classes = getattr(self.estimator, "classes_", None)
            target = self.task.read_target(y, table.n_rows, self.classes)
        return Examples(table, target, read_weights(sample_weight, table.n_rows))

    def _read_table(self, X: Any) -> tuple[Any, Attributes]:
        """Return the table, its columns in the order of the rounds so far, and what they are."""
        if self.start is None:
            return learn_anything(X)
        return check_anything(self.estimator, X), fitted_columns(self.estimator)

    def _require_target(self, target: Floats) -> None:
        objection = self.loss.objection(target)
        if objection is not None:
            raise DataError(objection)

    def _require_start(self) -> None:
        """Raise if rounds cannot begin from where they are asked to."""
        if self.start is not None and self.start.link != self.loss.link:
            raise ParameterError(
                f"loss={self.estimator.loss!r} gives scores another meaning than they have in the "
                "rounds that warm_start=True begins with."
            )
        init, is_classification = self.estimator.init, self.classes is not None
        if is_classification and _is_model(init) and not hasattr(init, "predict_proba"):
            raise ParameterError(f"init={type(init).__name__} has no predict_proba.")

    def _require_weights(self, is_weighted: bool) -> None:
        """Raise if weights must be passed to an estimator that takes none."""
        learner, init = self.learner.prototype, self.estimator.init
        reason = "sample_weight was given"
        if is_weighted:
            require_weights(learner, "estimator", reason)
        if is_weighted and _is_model(init):
            require_weights(init, "init", reason)
        if self.learner.predicts_signs:
            require_weights(learner, "estimator", "a classifier's rows weigh as their gradients")
        if self.estimator.response == "newton":
            require_weights(learner, "estimator", "response='newton' needs the hessian as weights")

    def model_to_extend(self, train: Examples) -> AdditiveModel:
        """Return the model of a warm start, or one without rounds yet."""
        if self.start is not None:
            return self.start
        return AdditiveModel(self._fit_init(train), [], self.loss.link, self.loss.n_outputs)

    def _fit_init(self, train: Examples) -> Any:
        """Return F₀: scores, one for each output, or a fitted estimator."""
        init = self.estimator.init
        if init is None:
            return self.loss.best_constant(train.target, _weights(train))
        if not _is_model(init):
            return np.zeros(self.loss.n_outputs)
        target = train.target if self.classes is None else train.target.astype(np.intp)
        start = fitted_copy(init, _table(train), target, train.weights, self.seed)
        if self.loss.link == "log" and output_of(start, _table(train)).min() <= 0.0:
            raise ParameterError(
                f"init={type(init).__name__} predicts numbers that are not positive, but "
                f"loss={self.loss.name!r} needs their logarithm."
            )
        return start

    def booster(self, train: Examples, model: AdditiveModel) -> StagewiseBooster:
        """Return what does the rounds."""
        estimator, start = self.estimator, replace(model, stages=[])
        return StagewiseBooster(
            X=_table(train),
            rows=_rows(train, model),
            is_weighted=train.weights is not None,
            loss=self.loss,
            learner=self.learner,
            seed=self.seed,
            response=estimator.response,
            step=self.step,
            subsample=float(estimator.subsample),
            learning_rate=float(estimator.learning_rate),
            least_gradient=negligible_gradient(self.loss, _rows(train, start)),
        )

    def validation(
        self, validation_set: Examples, model: AdditiveModel, booster: StagewiseBooster
    ) -> ValidationSet:
        """Return what measures rounds: by one loss, though each round may minimise its own."""
        rows = booster.rows
        return ValidationSet(
            X=_table(validation_set),
            rows=_rows(validation_set, model),
            loss=self.loss.adapted(rows.y, rows.F, rows.w),
            best=BestRound(self.estimator.tol),
            patience=self.estimator.n_iter_no_change,
        )

    def attributes(self, model: AdditiveModel, done: StagewiseRounds) -> Attributes:
        """Assemble what the estimator will hold; with early stopping, up to the best round."""
        validation = done.validation_set
        best = None if validation is None or validation.best.round == 0 else validation.best
        n_rounds = len(done.train_score) if best is None else best.round
        stages = done.stages[: n_rounds * model.n_outputs]
        steps = [stage.step for stage in stages]
        are_numbers = all(isinstance(step, float) for step in steps)
        fitted: Attributes = self.columns | {
            "_model": replace(model, stages=stages),
            "n_iter_": n_rounds,
            "init_": model.start,
            "estimators_": [stage.learner for stage in stages],
            "steps_": np.array(steps, np.float64) if are_numbers else steps,
            "train_score_": np.array(done.train_score[:n_rounds]),
        }
        if self.classes is not None:
            fitted["classes_"] = self.classes
        if validation is not None:
            fitted["validation_score_"] = np.array(validation.history)
        if best is not None:
            fitted |= {"best_iteration_": best.round, "best_score_": best.score}
        return fitted


def count_rows(X: Any) -> int:
    """Return the number of rows of a table, whatever its kind."""
    is_mapping = isinstance(X, Mapping) and not scipy.sparse.issparse(X)  # one of SciPy's is a dict
    if is_mapping or isinstance(X, str | bytes | PathLike):
        raise ColumnTypeError(
            f"X is a {type(X).__name__}. Give a table that the base learner takes, such as an "
            "array or a data frame."
        )
    return int(_num_samples(X))


def resolve_step(step: str, learner: BaseLearner, loss: StagewiseLoss) -> str:
    """Return the kind of step that is meant by "auto".

    Not a search for the least loss where a Newton step will do: in leaves of one class alone the
    log loss has no minimum, and following it outward costs more on new rows than it gains.
    """
    if step != "auto":
        return step
    if not learner.has_leaves or learner.predicts_signs:
        return "line_search"
    return "newton" if loss.has_newton_step else "per_leaf"


def require_consistent(step: str, response: str, learner: BaseLearner, loss: StagewiseLoss) -> None:
    """Raise if parameters that are allowed one by one do not go together."""
    if step in PER_LEAF and not learner.has_leaves:
        raise ParameterError(
            f"step={step!r} needs the leaves of one tree, but estimator={learner.name} is no tree "
            "with apply(X). Use step='line_search'."
        )
    if step == "newton" and not loss.has_newton_step:
        raise ParameterError(
            f"step='newton' needs a second derivative, which loss={loss.name!r} does not have. Use "
            "step='per_leaf' or 'line_search'."
        )
    if response == "newton" and not loss.has_hessian:
        raise ParameterError(
            f"response='newton' needs a second derivative, which loss={loss.name!r} does not have. "
            "Use response='gradient'."
        )
    if response == "newton" and learner.predicts_signs:
        raise ParameterError(
            f"response='newton' is fitted by a regressor, but estimator={learner.name} is a "
            "classifier. Use response='gradient'."
        )


def _with_weight(examples: Examples) -> Examples:
    """Return the rows that count."""
    if examples.weights is None or examples.weights.all():
        return examples
    return examples.take(np.flatnonzero(examples.weights))


def _is_model(init: Any) -> bool:
    return init is not None and not isinstance(init, str)


def _table(examples: Examples) -> Any:
    table: Any = examples.table
    return table.X


def _weights(examples: Examples) -> Floats:
    return np.ones(len(examples.target)) if examples.weights is None else examples.weights


def _rows(examples: Examples, model: AdditiveModel) -> StepData:
    scores = model.scores(_table(examples), len(examples.target))
    return StepData(examples.target, scores, _weights(examples))
