"""One call of a stagewise `fit`: arguments → data → booster → rounds → model.

Nothing is written to the estimator before the fit is finished; then it adopts the result. So a fit
that fails or is interrupted leaves the estimator unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from hedgerow._boosting.fit.dataset import Dataset, split_holdout
from hedgerow._boosting.fit.loop import BestRound
from hedgerow._boosting.targets.tasks import Task
from hedgerow._data.pass_through import check_anything, fitted_columns, learn_anything
from hedgerow._data.sources import refuse_no_table
from hedgerow._data.sparse import sound_rows
from hedgerow._data.target import read_weights, weigh_by_class
from hedgerow._estimator import Estimator, require_more, seed_of
from hedgerow._progress import progress
from hedgerow._stagewise.joint_search import JointSearch
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
    PER_LEAF,
    StagewiseBooster,
    StagewiseRounds,
    StepData,
    ValidationSet,
    negligible_gradient,
)
from hedgerow._types import Attributes, Floats
from hedgerow._warning import deduplicate_warnings
from hedgerow.exceptions import DataError, ParameterError


class PassThroughTable:
    """A table that is passed unchanged to base estimators, which alone know how to read it."""

    def __init__(self, X: Any) -> None:
        # Lists and tables support row selection, but not everything that can become an array.
        is_array_like = hasattr(X, "__array__") and not hasattr(X, "shape")
        self.X = np.asarray(X) if is_array_like else sound_rows(X)
        self.n_rows = count_rows(X)

    def take(self, rows: NDArray[np.intp]) -> PassThroughTable:
        """Return some of the rows."""
        return PassThroughTable(_safe_indexing(self.X, rows))


@dataclass(frozen=True)
class StagewiseSettings:
    """The parameters of a fit; `init_model` is the model that a warm start continues."""

    estimator: Estimator
    init_model: AdditiveModel | None
    seed: int
    learner: BaseLearner

    @classmethod
    def of(cls, estimator: Estimator, init_model: AdditiveModel | None) -> StagewiseSettings:
        """Resolve the seed and the base estimator."""
        base = estimator.estimator
        base = default_learner(estimator.search) if base is None else base
        return cls(estimator, init_model, seed_of(estimator.random_state), BaseLearner(base))

    @property
    def rounds(self) -> range:
        """The rounds to do; n_estimators includes those of a warm start."""
        if self.init_model is None:
            return range(self.estimator.n_estimators)
        require_more(self.estimator, self.init_model.n_rounds, "rounds")
        return range(self.init_model.n_rounds, self.estimator.n_estimators)


@dataclass(frozen=True, eq=False)
class StagewiseData:
    """The checked arguments of `fit`: training set, validation set, and the loss."""

    columns: Attributes
    classes: Any
    loss: StagewiseLoss
    step: str
    train: Dataset
    validation: Dataset | None


def fit_stagewise(
    estimator: Estimator,
    task: Task,
    init_model: AdditiveModel | None,
    X: Any,
    y: Any,
    sample_weight: Any,
) -> Attributes:
    """Read, boost; return the attributes of the fitted estimator."""
    settings = StagewiseSettings.of(estimator, init_model)
    with deduplicate_warnings():  # not in every round
        rounds = settings.rounds
        data = read_data(settings, task, X, y, sample_weight)
        model = init_model or _model_without_rounds(settings, data)
        booster = _booster(settings, data, model)
        validation_set = _validation_set(settings, data, model, booster)
        train_score = [] if init_model is None else estimator.train_score_.tolist()
        history = StagewiseRounds(list(model.stages), train_score, validation_set)
        with progress(estimator.verbose, rounds.stop, rounds.start) as progress_bar:
            history.run(booster, rounds, progress_bar)
        return _fitted_attributes(data, model, history)


def read_data(
    settings: StagewiseSettings, task: Task, X: Any, y: Any, sample_weight: Any
) -> StagewiseData:
    """Check the arguments of `fit`, and split off a validation set for early stopping."""
    estimator = settings.estimator
    columns, classes, dataset = _read_dataset(settings, task, X, y, sample_weight)
    dataset = dataset.with_weight()
    loss: StagewiseLoss = estimator._choose_loss(classes)  # noqa: SLF001
    objection = loss.objection(dataset.target)
    if objection is not None:
        raise DataError(objection)
    step = resolve_step(estimator.step, settings.learner, loss)
    require_consistent(step, estimator.response, settings.learner, loss)
    _require_search(estimator, step, loss)
    _require_valid_init(settings, loss, is_classification=classes is not None)
    _require_weight_support(settings, is_weighted=dataset.weights is not None)
    train, validation = dataset, None
    if estimator.early_stopping:
        train, validation = _split_validation(settings, dataset, stratify=classes is not None)
    return StagewiseData(columns, classes, loss, step, train, validation)


def _read_dataset(
    settings: StagewiseSettings, task: Task, X: Any, y: Any, sample_weight: Any
) -> tuple[Attributes, Any, Dataset]:
    """Return the attributes of the columns, the classes, and the rows."""
    estimator = settings.estimator
    count_rows(X)
    if settings.init_model is None:
        X, columns = learn_anything(X)
        table: Any = PassThroughTable(X)
        classes, target = task.learn_target(y, table.n_rows)
    else:
        X, columns = check_anything(estimator, X), fitted_columns(estimator)
        table = PassThroughTable(X)
        classes = getattr(estimator, "classes_", None)
        target = task.read_target(y, table.n_rows, classes)
    weights = read_weights(sample_weight, table.n_rows)
    if classes is not None:
        index = target.astype(np.int64)[:, None]
        weights = weigh_by_class(estimator.class_weight, [np.asarray(classes)], index, weights)
    return columns, classes, Dataset(table, target, weights)


def _split_validation(
    settings: StagewiseSettings, dataset: Dataset, *, stratify: bool
) -> tuple[Dataset, Dataset]:
    fraction = settings.estimator.validation_fraction
    try:
        return split_holdout(dataset, fraction, settings.seed, stratify)
    except DataError:
        n_rows = len(dataset.target)
        rows = "1 sample" if n_rows == 1 else f"{n_rows} rows"
        raise DataError(
            f"The validation set is empty: validation_fraction={fraction} of {rows}. Set a larger "
            "validation_fraction."
        ) from None


def _require_valid_init(
    settings: StagewiseSettings, loss: StagewiseLoss, *, is_classification: bool
) -> None:
    """Raise if the rounds cannot start from the model of a warm start, or from `init`."""
    init_model, init = settings.init_model, settings.estimator.init
    if init_model is not None and init_model.link != loss.link:
        raise ParameterError(
            f"loss={settings.estimator.loss!r} has a different link from the rounds that "
            "warm_start=True continues."
        )
    if is_classification and _is_model(init) and not hasattr(init, "predict_proba"):
        raise ParameterError(f"init={type(init).__name__} has no predict_proba.")


def _require_weight_support(settings: StagewiseSettings, *, is_weighted: bool) -> None:
    """Raise if weights must be passed to an estimator that does not support them."""
    estimator, learner = settings.estimator, settings.learner.prototype
    has_class_weight = getattr(estimator, "class_weight", None) is not None
    reason = "class_weight is set" if has_class_weight else "sample_weight was passed"
    if is_weighted:
        require_weights(learner, "estimator", reason)
    if is_weighted and _is_model(estimator.init):
        require_weights(estimator.init, "init", reason)
    if settings.learner.predicts_signs:
        require_weights(learner, "estimator", "a classifier needs the gradients as weights")
    if estimator.response == "newton":
        require_weights(learner, "estimator", "response='newton' needs the hessian as weights")


def _model_without_rounds(settings: StagewiseSettings, data: StagewiseData) -> AdditiveModel:
    return AdditiveModel(_fit_init(settings, data), [], data.loss.link, data.loss.n_outputs)


def _fit_init(settings: StagewiseSettings, data: StagewiseData) -> Any:
    """Return F₀: scores, one for each output, or a fitted estimator."""
    init, train, loss = settings.estimator.init, data.train, data.loss
    if init is None:
        return loss.best_constant(train.target, _weights(train))
    if not _is_model(init):
        return np.zeros(loss.n_outputs)
    target = train.target if data.classes is None else train.target.astype(np.intp)
    start = fitted_copy(init, _table(train), target, train.weights, settings.seed)
    if loss.link == "log" and output_of(start, _table(train)).min() <= 0.0:
        raise ParameterError(
            f"init={type(init).__name__} predicts numbers that are not positive, but "
            f"loss={loss.name!r} needs their logarithm."
        )
    return start


def _booster(
    settings: StagewiseSettings, data: StagewiseData, model: AdditiveModel
) -> StagewiseBooster:
    estimator, train, start = settings.estimator, data.train, replace(model, stages=[])
    return StagewiseBooster(
        X=_table(train),
        rows=_step_data(train, model),
        is_weighted=train.weights is not None,
        loss=data.loss,
        learner=settings.learner,
        seed=settings.seed,
        response=estimator.response,
        step=data.step,
        subsample=float(estimator.subsample),
        learning_rate=float(estimator.learning_rate),
        normalise=estimator.normalise,
        joint_search=_joint_search(settings, train),
        least_gradient=negligible_gradient(data.loss, _step_data(train, start)),
    )


def _joint_search(settings: StagewiseSettings, train: Dataset) -> JointSearch | None:
    if settings.estimator.search == "gradient":
        return None
    return JointSearch.of(settings.learner.prototype, _table(train))


def _validation_set(
    settings: StagewiseSettings,
    data: StagewiseData,
    model: AdditiveModel,
    booster: StagewiseBooster,
) -> ValidationSet | None:
    """Return the validation set, with one loss for all rounds, though each may adapt its own."""
    if data.validation is None:
        return None
    rows = booster.rows
    validation_set = ValidationSet(
        X=_table(data.validation),
        rows=_step_data(data.validation, model),
        loss=data.loss.adapted(rows.y, rows.F, rows.w),
        best=BestRound(settings.estimator.tol),
        patience=settings.estimator.n_iter_no_change,
    )
    if model.n_rounds:
        validation_set.judge(model.n_rounds)
    return validation_set


def _fitted_attributes(
    data: StagewiseData, model: AdditiveModel, history: StagewiseRounds
) -> Attributes:
    """Return the fitted attributes of an initial model and its new rounds, up to the best."""
    validation = history.validation_set
    best = None if validation is None or validation.best.round == 0 else validation.best
    n_rounds = len(history.train_score) if best is None else best.round
    stages = history.stages[: n_rounds * model.n_outputs]
    steps = [stage.step for stage in stages]
    are_numbers = all(isinstance(step, float) for step in steps)
    fitted: Attributes = data.columns | {
        "_model": replace(model, stages=stages),
        "n_iter_": n_rounds,
        "n_initial_rounds_": model.n_rounds,
        "init_": model.start,
        "estimators_": [stage.learner for stage in stages],
        "steps_": np.array(steps, np.float64) if are_numbers else steps,
        "train_score_": np.array(history.train_score[:n_rounds]),
    }
    if data.classes is not None:
        fitted["classes_"] = data.classes
    if validation is not None:
        fitted["validation_score_"] = np.array(validation.history)
    if best is not None:
        fitted |= {"best_iteration_": best.round, "best_score_": best.score}
    return fitted


def count_rows(X: Any) -> int:
    """Return the number of rows of any table."""
    refuse_no_table(X)
    return int(_num_samples(X))


def resolve_step(step: str, learner: BaseLearner, loss: StagewiseLoss) -> str:
    """Return the kind of step that "auto" means.

    A Newton step is preferred to a search for the minimal loss: in leaves of a single class the log
    loss has no minimum, and large steps generalize worse.
    """
    if step != "auto":
        return step
    if not learner.has_leaves or learner.predicts_signs:
        return "line_search"
    return "newton" if loss.has_newton_step else "per_leaf"


def require_consistent(step: str, response: str, learner: BaseLearner, loss: StagewiseLoss) -> None:
    """Raise if parameters are inconsistent with one another."""
    if step in PER_LEAF and not learner.has_leaves:
        raise ParameterError(
            f"step={step!r} needs the leaves of one tree, but estimator={learner.name} is not a "
            "tree with apply(X). Use step='line_search'."
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
            f"response='newton' needs a regressor, but estimator={learner.name} is a "
            "classifier. Use response='gradient'."
        )


def _require_search(estimator: Estimator, step: str, loss: StagewiseLoss) -> None:
    """Raise if other parameters do not go with a joint search, or a step not with rescaling."""
    is_joint = estimator.search == "joint"
    for name, neutral in (("step", "auto"), ("response", "gradient"), ("normalise", None)):
        value = getattr(estimator, name)
        if is_joint and value != neutral:
            raise ParameterError(
                f"{name}={value!r} is not allowed with search='joint', which chooses learner and "
                f"step together; it must be {neutral!r}."
            )
    if is_joint and loss.n_outputs > 1:
        raise ParameterError(
            f"search='joint' needs one score per row, but y has {loss.n_outputs} classes. Use "
            "search='gradient', or two classes."
        )
    if estimator.normalise is not None and step in PER_LEAF:
        raise ParameterError(
            f"normalise={estimator.normalise!r} rescales a learner that has one step, but "
            f"step={step!r} has one per leaf. Use step='unit' or 'line_search'."
        )


def _is_model(init: Any) -> bool:
    return init is not None and not isinstance(init, str)


def _table(dataset: Dataset) -> Any:
    table: Any = dataset.table
    return table.X


def _weights(dataset: Dataset) -> Floats:
    return np.ones(len(dataset.target)) if dataset.weights is None else dataset.weights


def _step_data(dataset: Dataset, model: AdditiveModel) -> StepData:
    scores = model.scores(_table(dataset), len(dataset.target))
    return StepData(dataset.target, scores, _weights(dataset))
