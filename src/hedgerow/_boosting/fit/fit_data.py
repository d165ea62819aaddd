"""The arguments of a fit, and the data read from them: problem, training set, evaluation sets."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from hedgerow import _native
from hedgerow._boosting.fit.calibration import require_calibratable
from hedgerow._boosting.fit.constraints import (
    CONSTRAINT_PARAMETERS,
    UNCONSTRAINED,
    Constraints,
    read_constraints,
    require_monotone,
)
from hedgerow._boosting.fit.dataset import (
    Dataset,
    PassedRows,
    iter_folds,
    read_eval_sets,
    split_holdout,
)
from hedgerow._boosting.initial_estimator import (
    fit_initial,
    initial_scores,
    require_initial,
    require_positive,
)
from hedgerow._boosting.losses import BaseLoss, CustomLoss, FormulaLoss, NativeLoss
from hedgerow._boosting.metrics import Metric, UserMetric
from hedgerow._boosting.model import BoostedModel
from hedgerow._boosting.targets.tasks import Task
from hedgerow._collective import workers
from hedgerow._contract import internals
from hedgerow._cuda.device import device_index
from hedgerow._cuda.support import require_supported
from hedgerow._data.gpu_table import as_gpu_table
from hedgerow._data.intake import Table, TableSchema, learn_schema
from hedgerow._data.memory import MemoryLimit
from hedgerow._data.parquet_table import ParquetTable
from hedgerow._data.sources import refuse_more_rows
from hedgerow._data.target import (
    Classes,
    read_groups,
    read_offset,
    read_weights,
    rows_with_weight,
)
from hedgerow._estimator import TableEstimator, seed_of
from hedgerow._threads import effective_n_jobs
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError

AUTO = "auto"

# The values of "auto" if the number of rounds is given, or a search is not possible.
AUTO_DEFAULTS: Mapping[str, Any] = {
    "n_estimators": 100,
    "learning_rate": 0.1,
    "grow_policy": "leafwise",
    "max_leaves": 31,
    "min_samples_leaf": 20,
    "reg_lambda": 1.0,
    "subsample": 1.0,
    "colsample_bytree": 1.0,
    "colsample_bynode": 1.0,
}
SYMMETRIC_LEAVES = 64  # those of six levels, as in CatBoost
NOTHING_CHOSEN: Mapping[str, Any] = {}


@dataclass(frozen=True)
class FitArguments:
    """The arguments of `fit`, unchecked."""

    X: Any
    y: Any
    sample_weight: Any = None
    groups: Any = None
    eval_set: Any = None
    eval_names: Any = None
    callbacks: Any = None
    init_model: Any = None
    checkpoint: Any = None
    checkpoint_every: Any = 10
    memory_limit: MemoryLimit | None = None
    offset: Any = None


@dataclass(frozen=True)
class Settings:
    """The parameters of one fit.

    Attributes
    ----------
    estimator : estimator
        The user's estimator, whose parameters may be "auto".
    params : estimator
        A copy of it with values in place of "auto".
    seed : int
        The seed of all random numbers.
    n_threads : int
        The number of threads.
    """

    estimator: TableEstimator
    params: TableEstimator
    seed: int
    n_threads: int

    @classmethod
    def of(cls, estimator: TableEstimator) -> Settings:
        """Resolve the parameters of an estimator, which have been checked one by one."""
        require_possible(estimator)
        seed, n_threads = seed_of(estimator.random_state), effective_n_jobs(estimator.n_jobs)
        return cls(estimator, resolve_auto(estimator), seed, n_threads)

    @property
    def is_balanced(self) -> bool:
        """Whether each round samples equally many rows of every class."""
        return bool(self.params.sampling == "balanced")

    def with_chosen(self, chosen: Mapping[str, Any]) -> Settings:
        """Return the settings with other values in place of "auto"."""
        return replace(self, params=resolve_auto(self.estimator, chosen))


def require_possible(estimator: TableEstimator) -> None:
    """Refuse values of parameters that cannot be used together."""
    if estimator.multi_strategy == "vector" and estimator.splitter == "exact":
        raise ParameterError(
            "multi_strategy='vector' cannot be used with splitter='exact', which finds splits for "
            "one output at a time. Use splitter='hist' or 'approx'."
        )
    _require_symmetric_engine(estimator)
    _require_prunable(estimator)
    if estimator.device != "cpu":
        require_supported(estimator.device, estimator)


def _require_symmetric_engine(estimator: TableEstimator) -> None:
    if estimator.grow_policy != "symmetric":
        return
    for name, value, advice in (
        ("splitter", "exact", "hist"),
        ("multi_strategy", "vector", "separate"),
    ):
        if getattr(estimator, name) == value:
            raise ParameterError(
                f"grow_policy='symmetric' cannot be used with {name}={value!r}. Use "
                f"{name}={advice!r}, or another grow_policy."
            )


def _require_prunable(estimator: TableEstimator) -> None:
    if not estimator.prune:
        return
    if estimator.grow_policy == "symmetric":
        raise ParameterError(
            "prune=True cannot be used with grow_policy='symmetric': the leaves of a level share "
            "one test. Use another grow_policy, or prune=False."
        )
    if estimator.monotonic_constraints is not None:
        raise ParameterError(
            "prune=True cannot be used with monotonic_constraints yet: the values of leaves depend "
            "on one another. Use prune=False."
        )


def is_auto(value: Any) -> bool:
    """Return whether the library chooses the value of a parameter."""
    return isinstance(value, str) and value == AUTO


def resolve_auto(estimator: TableEstimator, chosen: Mapping[str, Any] = NOTHING_CHOSEN) -> Any:
    """Return a copy of an estimator with the chosen values in place of "auto".

    Parameters that were set to "auto" after the choice was made get their defaults. `max_bins` is a
    maximum, and a choice may be of fewer.
    """
    resolved = copy.copy(estimator)
    for name, value in {**_auto_defaults(estimator), **chosen}.items():
        if is_auto(getattr(resolved, name)):
            setattr(resolved, name, value)
    resolved.max_bins = min(resolved.max_bins, chosen.get("max_bins", resolved.max_bins))
    return resolved


def _auto_defaults(estimator: TableEstimator) -> Mapping[str, Any]:
    if estimator.grow_policy != "symmetric":
        return AUTO_DEFAULTS
    leaves = SYMMETRIC_LEAVES if estimator.max_depth is None else None
    return {**AUTO_DEFAULTS, "max_leaves": leaves}


def as_fitted(estimator: TableEstimator, number: int = 0) -> Any:
    """Return a copy of a fitted estimator with the parameter values of its fit.

    If it is the mean of several models, those of the model with this number.
    """
    choice = getattr(estimator, "auto_", None)
    return resolve_auto(estimator, NOTHING_CHOSEN if choice is None else choice.member(number))


@dataclass(frozen=True)
class Problem:
    """What is learned: schema, classes, loss and constraints, the same for every training set.

    `initial_model` is the model that the fit continues, if any. `init_estimator`, once fitted,
    predicts the scores before the first round. `class_weights`, if any, multiply the weights of the
    rows of the training set and of all evaluation sets.
    """

    task: Task
    initial_model: BoostedModel | None
    schema: TableSchema
    classes: Classes | None
    loss: BaseLoss
    trees_per_round: int
    constraints: Constraints
    init_estimator: Any = None
    class_weights: Floats | None = None

    @property
    def has_vector_leaves(self) -> bool:
        """Whether one tree serves several outputs."""
        return self.trees_per_round < self.loss.n_outputs

    @property
    def is_native(self) -> bool:
        """Whether no function of the user's is called in a round."""
        return not isinstance(self.loss, CustomLoss | FormulaLoss)

    @property
    def native_loss(self) -> NativeLoss | None:
        """The loss, if the kernels implement it."""
        return self.loss if isinstance(self.loss, NativeLoss) else None

    @property
    def can_stratify(self) -> bool:
        """Whether every row has one class, by which rows can be sampled and split."""
        return self.classes is not None and self.loss.n_targets == 1 and not self.loss.is_soft

    def read(
        self,
        estimator: TableEstimator,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        offset: Any = None,
    ) -> Dataset:
        """Read an evaluation set."""
        table = internals(estimator).read(X, self.schema)
        if table.is_streamed:
            require_bins_suffice(estimator, self.initial_model)
        target = self.task.read_target(y, table.n_rows, self.classes, estimator.loss)
        n_targets = self.task.count_targets(self.classes, target)
        if n_targets != self.loss.n_targets:
            raise DataError(f"y has {n_targets} columns, but had {self.loss.n_targets} in fit.")
        objection = self._objection(target)
        if objection:
            raise DataError(objection)
        dataset = self.with_start(self.dataset(table, target, sample_weight, offset), estimator, X)
        return self._weighted_by_class(dataset, estimator)

    def _weighted_by_class(self, dataset: Dataset, estimator: TableEstimator) -> Dataset:
        """Weight an evaluation set like the training set: metrics measure the same problem."""
        if self.class_weights is None:
            return dataset
        weighted = dataset.weighted_by_class(self.class_weights)
        if not workers().any(bool(np.any(weighted.weights))):
            raise DataError(
                f"class_weight={estimator.class_weight!r} leaves no row with a positive weight."
            )
        return weighted

    def with_start(self, dataset: Dataset, estimator: TableEstimator, X: Any) -> Dataset:
        """Add the scores of `init_estimator` to the offset, or the rows that it must predict."""
        if self.init_estimator is not None:
            return dataset.starting_from(self.initial_scores(X))
        is_needed = estimator.init_estimator is not None
        return replace(dataset, passed=PassedRows(X)) if is_needed else dataset

    def started(self, dataset: Dataset) -> Dataset:
        """Add the scores of `init_estimator` for the rows of a dataset that has them."""
        assert dataset.passed is not None
        return dataset.starting_from(self.initial_scores(dataset.passed.table))

    def initial_scores(self, X: Any) -> Floats:
        """Return the scores of `init_estimator`."""
        loss, estimator = self.loss, self.init_estimator
        return initial_scores(estimator, X, loss.link, self.classes, loss.n_outputs)

    def dataset(self, table: Table, target: Floats, sample_weight: Any, offset: Any) -> Dataset:
        """Return a dataset whose rows with weight the loss accepts."""
        weights = read_weights(sample_weight, table.n_rows)
        objection = self._objection(_of_rows_with_weight(target, weights))
        if objection and weights is not None and not self._objection(target):
            objection = (
                "sample_weight is 0 in every row that the loss needs: without those rows, "
                f"{objection}"
            )
        if objection:
            raise DataError(objection)
        offset = read_offset(offset, table.n_rows, self.loss.n_outputs)
        return Dataset(table, target, weights, offset=offset)

    def _objection(self, target: Floats) -> str | None:
        """Return why the loss is not defined for the target of all workers; None if it is."""
        together = workers()
        if together.size == 1:
            return self.loss.objection(target)
        if self.loss.objects_to_rows:
            own = self.loss.objection(target) if len(target) else None
            return next(filter(None, together.objects(own)), None)
        ends = [target.min(axis=0), target.max(axis=0)] if len(target) else []
        return self.loss.objection(
            np.array([end for of_worker in together.objects(ends) for end in of_worker])
        )

    def objection_to(self, train: Dataset, holdout: Dataset) -> str | None:
        """Return why one cannot train on some rows and evaluate on others, or None."""
        objection = self._objection(train.target)
        if objection:
            return f"in the training set, {objection.removesuffix('.')}"
        objection = self._objection(holdout.target)
        if objection:
            return f"in the holdout, {objection.removesuffix('.')}"
        if self.can_stratify:
            of_train, of_holdout = map(workers().distinct, (train.target, holdout.target))
            if not np.isin(of_holdout, of_train).all():
                return "the training set lacks one of the classes"
        return None


@dataclass(frozen=True)
class FitData:
    """The datasets of a fit, and how models are evaluated.

    Attributes
    ----------
    train : Dataset
        The training set.
    eval_sets : mapping of Dataset
        Evaluation sets by name. The last one is the validation set.
    calibration_set : Dataset, optional
        The holdout for calibration.
    metrics : sequence of Metric
        What is measured on evaluation sets; early stopping uses the first.
    """

    train: Dataset
    eval_sets: Mapping[str, Dataset]
    calibration_set: Dataset | None
    metrics: Sequence[Metric | UserMetric]

    def started(self, problem: Problem) -> FitData:
        """Return the datasets with the scores of `init_estimator`."""
        holdout = self.calibration_set
        return FitData(
            problem.started(self.train),
            {name: problem.started(dataset) for name, dataset in self.eval_sets.items()},
            None if holdout is None else problem.started(holdout),
            self.metrics,
        )


def _of_rows_with_weight(target: Floats, weights: Floats | None) -> Floats:
    """Return a target in which rows of weight 0 repeat another row, so that rows keep their number.

    It is empty if no row has weight, as on one of several workers.
    """
    rows = rows_with_weight(weights)
    if rows is None or not len(rows):
        return target if rows is None else target[rows]
    repeated = np.full_like(target, target[rows[0]])
    repeated[rows] = target[rows]
    return repeated


def read_data(
    arguments: FitArguments, task: Task, initial_model: BoostedModel | None, settings: Settings
) -> tuple[Problem, FitData]:
    """Read and check all data of a fit, and split off the holdouts that parameters ask for."""
    params = settings.params
    problem, train = read_problem(arguments, task, initial_model, settings)
    _require_initial_model_monotone(problem)
    _require_sampling_possible(problem, settings, train)
    calibration_set = None
    if params.calibration is not None:
        require_calibratable(problem.loss, problem.classes, params)
        train, calibration_set = _split_for_calibration(problem, settings, train)
    metrics = task.choose_metrics(params, problem.classes, problem.loss)
    read = partial(problem.read, params)
    eval_sets = read_eval_sets(arguments.eval_set, arguments.eval_names, read)
    if train.offset is not None:
        _require_offsets(eval_sets)
    needs_validation_set = params.early_stopping and not is_auto(settings.estimator.n_estimators)
    if needs_validation_set and not eval_sets:
        train, eval_sets["validation"] = _split_for_early_stopping(problem, settings, train)
    data = FitData(train, eval_sets, calibration_set, metrics)
    if params.init_estimator is None or problem.init_estimator is not None:
        return problem, data
    problem = _with_initial_estimator(problem, settings, arguments, train)
    return problem, data.started(problem)


def _with_initial_estimator(
    problem: Problem, settings: Settings, arguments: FitArguments, train: Dataset
) -> Problem:
    """Fit `init_estimator` to the training set, without the holdouts."""
    assert train.passed is not None
    X, estimator = train.passed.table, settings.params.init_estimator
    y: Any = train.target
    if problem.classes is not None:
        y = np.asarray(problem.classes)[train.target.astype(np.intp)]
    weights = read_weights(arguments.sample_weight, int(_num_samples(arguments.X)))
    if weights is not None and train.passed.rows is not None:
        weights = weights[train.passed.rows]
    problem = replace(problem, init_estimator=fit_initial(estimator, X, y, weights, settings.seed))
    require_positive(estimator, problem.initial_scores(X), problem.loss.link)
    return problem


def _require_offsets(eval_sets: Mapping[str, Dataset]) -> None:
    for name, dataset in eval_sets.items():
        if dataset.offset is None:
            raise DataError(
                f"eval_set: {name!r} has no offset, but the training set has one. Pass "
                "(X, y, sample_weight, offset); sample_weight may be None."
            )


def read_problem(
    arguments: FitArguments, task: Task, initial_model: BoostedModel | None, settings: Settings
) -> tuple[Problem, Dataset]:
    """Read the training data: what is to be learned, and the rows."""
    params = settings.params
    if arguments.memory_limit is not None:  # with several outputs it will be more
        arguments.memory_limit.require(settings.estimator, arguments.X)
    if initial_model is None:
        schema, table = _learn_on_gpu(arguments.X, params) or learn_schema(
            arguments.X,
            params.categorical_features,
            streams=True,
            verbose=params.verbose,
            n_jobs=params.n_jobs,
        )
        refuse_more_rows(table.n_rows, _native.most_rows, "gradient boosting")
        classes, target = task.learn_target(arguments.y, table.n_rows, params.loss)
    else:
        schema, classes = initial_model.schema, initial_model.classes
        table = internals(params).read(arguments.X, schema)
        refuse_more_rows(table.n_rows, _native.most_rows, "gradient boosting")
        target = task.read_target(arguments.y, table.n_rows, classes, params.loss)
    if table.is_streamed:
        require_bins_suffice(params, initial_model)
    loss = task.choose_loss(params, classes, task.count_targets(classes, target))
    if arguments.memory_limit is not None:
        arguments.memory_limit.require(
            *(settings.estimator, arguments.X, loss.n_outputs),
            has_weights=arguments.sample_weight is not None,
            has_offset=arguments.offset is not None,
        )
    if params.linear_leaves and isinstance(loss, NativeLoss) and loss.is_piecewise_linear:
        raise no_slopes(params)
    has_vector_leaves = loss.n_outputs > 1 and params.multi_strategy == "vector"
    trees_per_round = 1 if has_vector_leaves else loss.n_outputs
    if initial_model is not None:
        _require_compatible(initial_model, loss, trees_per_round, params)
    constraints = UNCONSTRAINED
    if any(getattr(params, name) is not None for name in CONSTRAINT_PARAMETERS):
        constraints = read_constraints(params, schema, loss)
    init_estimator = None if initial_model is None else initial_model.init_estimator
    problem = Problem(
        *(task, initial_model, schema, classes, loss, trees_per_round, constraints, init_estimator)
    )
    if params.init_estimator is not None:
        _require_initial_estimator(problem, params, arguments)
    dataset = problem.dataset(table, target, arguments.sample_weight, arguments.offset)
    dataset = problem.with_start(dataset, params, arguments.X)
    if arguments.groups is not None:
        dataset = replace(dataset, groups=read_groups(arguments.groups, table.n_rows))
    class_weights = task.class_weights(dataset, settings.estimator, classes)
    dataset = weigh(task.grouped(dataset), settings.estimator, class_weights, loss)
    return replace(problem, class_weights=class_weights), dataset


def _learn_on_gpu(X: Any, params: TableEstimator) -> tuple[TableSchema, Table] | None:
    """Leave X where it is, if that is the GPU of the fit, and all columns are numeric."""
    categorical = params.categorical_features
    has_numbers_only = categorical is None or categorical == "auto"
    if params.device == "cpu" or not has_numbers_only or workers().size > 1:
        return None
    table = as_gpu_table(X, device_index(params.device))
    return None if table is None else (TableSchema(table.n_features, None, {}), table)


def _require_initial_estimator(
    problem: Problem, params: TableEstimator, arguments: FitArguments
) -> None:
    """Refuse an `init_estimator` that cannot be used in this fit."""
    name = type(params.init_estimator).__name__
    if isinstance(arguments.X, ParquetTable):
        raise ParameterError(
            f"init_estimator={name} needs the table in memory, but X is a ParquetTable. Read the "
            "table with X.read(), or pass the scores as offset=…."
        )
    if problem.initial_model is not None and problem.init_estimator is None:
        raise ParameterError(
            f"init_estimator={name}, but the initial model was fitted without one. Set "
            "init_estimator=None to continue it."
        )
    if arguments.checkpoint is not None and not can_be_stored(params.init_estimator):
        raise ParameterError(
            f"init_estimator={name} cannot be stored in a checkpoint, because it is not an "
            "estimator of Hedgerow. Fit it yourself, and pass its scores as offset=…."
        )
    loss = problem.loss
    require_initial(params.init_estimator, loss.link, problem.classes, is_soft=loss.is_soft)


def can_be_stored(estimator: object) -> bool:
    """Return whether a model file can hold an estimator."""
    from hedgerow._model_file.contents import is_supported

    return is_supported(estimator)


def require_bins_suffice(params: TableEstimator, initial_model: BoostedModel | None) -> None:
    """Refuse what needs the numbers of rows that are read from files, not only their bins."""
    for name, value in (("splitter", "exact"), ("splitter", "approx"), ("linear_leaves", True)):
        if getattr(params, name) == value:
            raise ParameterError(
                f"{name}={value!r} needs the original values of all rows in memory, but a fit to a "
                "ParquetTable or on several workers keeps only the binned values. Set "
                "splitter='hist' and linear_leaves=False, or read the table: X.read()."
            )
    if initial_model is not None and not _is_on_bins(initial_model):
        raise ParameterError(
            "the initial model has exact splits or linear leaves, which need the original values "
            "of all rows in memory, but a fit to a ParquetTable or on several workers keeps only "
            "the binned values. Read the table: X.read()."
        )


def _is_on_bins(model: BoostedModel) -> bool:
    """Return whether all splits of a model are between its bins, and its leaves are constant."""
    ensemble, thresholds = model.ensemble, model.binner.thresholds
    if ensemble.slopes is not None:
        return False
    is_numeric = (ensemble.feature >= 0) & (ensemble.category_set < 0)
    feature, threshold = ensemble.feature[is_numeric], ensemble.threshold[is_numeric]
    return all(
        np.isin(threshold[feature == f], thresholds[f]).all() for f in np.unique(feature).tolist()
    )


def weigh(
    dataset: Dataset, estimator: TableEstimator, class_weights: Floats | None, loss: BaseLoss
) -> Dataset:
    """Multiply in class weights, scale weights to units of a row, leave out rows of weight 0."""
    if class_weights is not None:
        dataset = dataset.weighted_by_class(class_weights)
    only_ratios = is_auto(estimator.n_estimators) and not loss.single_output.weights_are_exposures
    return dataset.weighted_in_rows(only_ratios=only_ratios).with_weight()


def _require_compatible(
    initial_model: BoostedModel, loss: BaseLoss, trees_per_round: int, params: TableEstimator
) -> None:
    """Refuse an initial model whose trees are of another kind."""
    ensemble = initial_model.ensemble
    if initial_model.link != loss.link:
        raise ParameterError(
            f"loss={params.loss!r}: its scores have a different meaning from those of the initial "
            f"model ({loss.link}, not {initial_model.link})."
        )
    of_model, of_loss = initial_model.quantiles, loss.single_output.quantiles
    if of_model and of_loss and of_model != of_loss:
        raise ParameterError(
            f"quantile={params.quantile!r}, but the initial model was fitted with "
            f"quantile={of_model[0] if len(of_model) == 1 else list(of_model)!r}: its scores have "
            "a different meaning. Start a new model, or set that quantile."
        )
    if ensemble.n_outputs != loss.n_outputs:
        raise DataError(
            f"The initial model has {ensemble.n_outputs} outputs, but loss and y now need "
            f"{loss.n_outputs}."
        )
    if ensemble.trees_per_round != trees_per_round:
        raise ParameterError(
            f"multi_strategy={params.multi_strategy!r}, but the initial model was fitted with the "
            "other strategy."
        )


def _require_initial_model_monotone(problem: Problem) -> None:
    if problem.initial_model is not None:
        features = problem.initial_model.statistics.sources.tolist()
        directions = problem.constraints.of_columns(features)["directions"]
        require_monotone(problem.initial_model.ensemble, directions)


def _require_sampling_possible(problem: Problem, settings: Settings, train: Dataset) -> None:
    sampling, subsample = settings.params.sampling, settings.params.subsample
    if sampling == "balanced" and not problem.can_stratify:
        raise ParameterError("sampling='balanced' samples rows by class, but y has no classes.")
    if sampling == "group" and train.groups is None:
        raise ParameterError("sampling='group' samples whole groups: pass groups to fit.")
    if sampling not in ("uniform", "balanced") and subsample == 1.0:
        raise ParameterError(
            f"sampling={sampling!r} needs subsample, the fraction of rows to sample, to be below "
            f"1, but subsample={settings.estimator.subsample!r} uses all rows. Set a smaller "
            "fraction, such as subsample=0.5."
        )


def no_slopes(estimator: TableEstimator) -> ParameterError:
    """Return the error of linear leaves with a loss that has no hessian."""
    return ParameterError(
        f"linear_leaves=True is not allowed with loss={estimator.loss!r}: the loss is piecewise "
        "linear, so its hessian is zero and slopes cannot be fitted."
    )


def _split_for_calibration(
    problem: Problem, settings: Settings, dataset: Dataset
) -> tuple[Dataset, Dataset]:
    params, stratify = settings.params, problem.can_stratify
    fraction, rows = params.calibration_fraction, params.validation_rows
    train, holdout = split_holdout(dataset, fraction, settings.seed, stratify, rows, "calibration")
    objection = problem.objection_to(train, holdout)
    n_classes = len(workers().distinct(holdout.target))
    if not objection and problem.classes is not None and n_classes < 2:
        objection = "all rows of the holdout have the same class"
    _refuse_split_if(objection, "calibration")
    return train, holdout


def _split_for_early_stopping(
    problem: Problem, settings: Settings, dataset: Dataset
) -> tuple[Dataset, Dataset]:
    params, stratify = settings.params, problem.can_stratify
    fraction, rows = params.validation_fraction, params.validation_rows
    train, holdout = split_holdout(dataset, fraction, settings.seed, stratify, rows)
    _refuse_split_if(problem.objection_to(train, holdout), "early_stopping")
    return train, holdout.balanced_like(train) if settings.is_balanced else holdout


def usable_folds(
    problem: Problem, settings: Settings, train: Dataset, n_folds: int
) -> Iterator[tuple[Dataset, Dataset]]:
    """Split a training set into folds that a model can be trained and evaluated on."""
    rows, stratify = settings.params.validation_rows, problem.can_stratify
    for fold_train, holdout in iter_folds(train, n_folds, settings.seed, stratify, rows):
        if not problem.objection_to(fold_train, holdout):
            balanced = holdout.balanced_like(fold_train) if settings.is_balanced else holdout
            yield fold_train, balanced


def _refuse_split_if(objection: str | None, parameter: str) -> None:
    if objection:
        own = (
            "Pass an eval_set" if parameter == "early_stopping" else "Call calibrate on other rows"
        )
        raise DataError(
            f"{parameter} cannot split the rows into training set and holdout: {objection}. {own}, "
            "or change the fraction or the groups."
        )
