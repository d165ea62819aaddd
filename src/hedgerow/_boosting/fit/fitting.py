"""One call of `fit`: arguments → data → training set → rounds → model.

Nothing is written to the estimator before the fit is finished; then it adopts the result. So a fit
that fails or is interrupted leaves the estimator unchanged.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np

from hedgerow._boosting.fit.auto import choose_parameters
from hedgerow._boosting.fit.calibration import calibrate_model
from hedgerow._boosting.fit.checkpoint import CheckpointFile, digest
from hedgerow._boosting.fit.choice import Choice
from hedgerow._boosting.fit.dataset import Dataset
from hedgerow._boosting.fit.distributed import require_distributable
from hedgerow._boosting.fit.fit_data import FitArguments, FitData, Settings, is_auto, read_data
from hedgerow._boosting.fit.foreign import require_ours
from hedgerow._boosting.fit.loop import BestRound, Callbacks, RoundGrower, RoundMonitor, boost
from hedgerow._boosting.fit.no_split import warn_never_split
from hedgerow._boosting.fit.round_grower import round_grower
from hedgerow._boosting.fit.training_set import EncodedRows, TrainingSet, encode_and_bin
from hedgerow._boosting.losses import BaseLoss, SurvivalLoss
from hedgerow._boosting.model import BoostedModel
from hedgerow._boosting.survival_curves import SurvivalCurve
from hedgerow._boosting.targets.tasks import Task
from hedgerow._collective import workers
from hedgerow._contract import internals
from hedgerow._data.binned_rows import TreeRows
from hedgerow._estimator import TableEstimator, adopt, column_attributes, require_more
from hedgerow._params import short_repr, warn_of_unused
from hedgerow._progress import Progress, progress
from hedgerow._tree.structure import Ensemble, Tree
from hedgerow._tree.trainer import DivergenceError
from hedgerow._types import Attributes
from hedgerow.exceptions import ParameterError


def fit_boosting(
    estimator: TableEstimator,
    task: Task,
    warm_model: BoostedModel | None,
    arguments: FitArguments,
) -> Attributes:
    """Return the attributes of the fitted estimator; `warm_model` is that of a warm start."""
    settings, callbacks = Settings.of(estimator), Callbacks(arguments.callbacks)
    initial = find_initial_state(arguments, warm_model, settings)
    settings = replace(settings, seed=initial.seed)
    with workers().phase("intake"):
        problem, data = read_data(arguments, task, initial.model, settings)
    if workers().size > 1:
        require_distributable(problem, settings)
    warn_of_unused(estimator)
    choice = None
    if is_auto(estimator.n_estimators):
        choice = choose_parameters(problem, data, settings, initial.checkpoint)
        settings = settings.with_chosen(choice.parameters)
    rounds = initial.remaining_rounds(settings.params.n_estimators)
    with workers().phase("binning"):
        training_set = encode_and_bin(problem, settings, data.train, drops=True)
        eval_sets = {
            name: training_set.encoded_rows(each, settings.n_threads)
            for name, each in data.eval_sets.items()
        }
    with workers().phase("digest"):
        _check_checkpoint(initial, training_set, eval_sets, settings)
    with workers().phase("set-up"):
        grower = round_grower(training_set, settings, initial.model, choice)
    fitting = Fitting(data, settings, initial, choice, training_set, eval_sets, grower)
    callbacks.before_fit(estimator)
    attributes = fitting.boost(rounds, callbacks)
    model = attributes["_model"]
    if (model.ensemble.feature < 0).all():
        warn_never_split(training_set, settings)
    if data.calibration_set is not None:
        method, n_threads = settings.params.calibration, settings.n_threads
        attributes["_model"] = calibrate_model(
            model, problem.loss, data.calibration_set, method, n_threads
        )
    callbacks.after_fit(fitting.copy_with(attributes))
    return attributes


@dataclass(frozen=True)
class InitialState:
    """Where a fit begins.

    Attributes
    ----------
    model : BoostedModel, optional
        The initial model.
    n_extra_rounds : int
        Its rounds that n_estimators does not count: those of `init_model`.
    seed : int
        The seed of all random numbers.
    checkpoint_file : CheckpointFile, optional
        Where rounds are written.
    checkpoint : Checkpoint, optional
        The contents of that file: an interrupted fit.
    """

    model: BoostedModel | None
    n_extra_rounds: int
    seed: int
    checkpoint_file: CheckpointFile | None = None
    checkpoint: Any = None

    @property
    def n_rounds(self) -> int:
        """Number of rounds before the fit, also before one that was interrupted."""
        if self.checkpoint is not None:
            return int(self.checkpoint.model.n_initial_rounds_)
        return _n_rounds(self.model)

    def remaining_rounds(self, n_estimators: int) -> range:
        """Return the rounds that are still to be grown."""
        done, last = _n_rounds(self.model), self.n_extra_rounds + n_estimators
        if self.checkpoint_file is not None:
            self.checkpoint_file.check_rounds(done, last)
        return range(min(done, last), last)


def find_initial_state(
    arguments: FitArguments, warm_model: BoostedModel | None, settings: Settings
) -> InitialState:
    """Find the initial model of a fit, if any; `warm_model` is that of a warm start."""
    estimator, model = settings.estimator, warm_model
    if arguments.init_model is not None:
        model = _read_model(arguments.init_model, estimator)
    is_warm = arguments.init_model is None
    if is_warm and model is not None:
        require_ours(estimator, model)
    _require_rounds_to_add(model, estimator, is_warm=is_warm)
    n_extra_rounds = 0 if is_warm else _n_rounds(model)
    seed = _seed(settings, warm_model if is_warm else None)
    if arguments.checkpoint is None:
        return InitialState(model, n_extra_rounds, seed)
    file = CheckpointFile(arguments.checkpoint, arguments.checkpoint_every)
    checkpoint = file.read(estimator)
    if checkpoint is None:
        return InitialState(model, n_extra_rounds, seed, file)
    file.data = checkpoint.data
    model = internals(checkpoint.model).model()
    return InitialState(model, n_extra_rounds, checkpoint.seed, file, checkpoint)


def _n_rounds(model: BoostedModel | None) -> int:
    return 0 if model is None else model.ensemble.n_rounds


def _seed(settings: Settings, warm_model: BoostedModel | None) -> int:
    """Return the seed; if none is fixed, a warm start keeps the last, and so the same holdout."""
    is_fixed = isinstance(settings.estimator.random_state, Integral)
    if is_fixed or warm_model is None or warm_model.seed is None:
        return settings.seed
    return warm_model.seed


def _require_rounds_to_add(
    model: BoostedModel | None, estimator: TableEstimator, *, is_warm: bool
) -> None:
    if model is None:
        return
    if is_auto(estimator.n_estimators):
        raise ParameterError(
            "n_estimators='auto' chooses all rounds of a model. To continue one with init_model or "
            "warm_start, set the number of rounds, as in n_estimators=100."
        )
    if is_warm:
        require_more(estimator, _n_rounds(model), "rounds")


def _read_model(init_model: Any, estimator: TableEstimator) -> BoostedModel:
    """Return the model of the argument `init_model`: an estimator, or the path of a model file."""
    from hedgerow import _model_file

    fitted = init_model
    if isinstance(init_model, str | PathLike):
        fitted = _model_file.load(init_model)
    if type(fitted) is not type(estimator):
        raise ParameterError(
            f"init_model={short_repr(init_model)} is not allowed; it must be a fitted "
            f"{type(estimator).__name__} or the path of a model file."
        )
    model: BoostedModel = internals(fitted).model()
    require_ours(fitted, model)
    return model


@dataclass(frozen=True)
class Fitting:
    """A fit that is ready for its first round.

    Attributes
    ----------
    data : FitData
        The datasets as they were read.
    settings : Settings
        The parameters.
    initial : InitialState
        The initial model and the checkpoint.
    choice : Choice, optional
        The chosen parameters, if n_estimators is "auto".
    training_set : TrainingSet
        The training set, encoded and binned.
    eval_sets : mapping of EncodedRows
        The evaluation sets, encoded.
    grower : RoundGrower
        Grows the rounds.
    """

    data: FitData
    settings: Settings
    initial: InitialState
    choice: Choice | None
    training_set: TrainingSet
    eval_sets: Mapping[str, EncodedRows]
    grower: RoundGrower

    def boost(self, rounds: range, callbacks: Callbacks) -> Attributes:
        """Grow some rounds; return the fitted attributes."""
        verbose = self.settings.params.verbose
        with progress(verbose, rounds.stop, rounds.start) as progress_bar:
            monitor = self._monitor(rounds, callbacks, progress_bar)
            try:
                boost(self.grower, rounds, monitor)
            except DivergenceError as error:
                raise self._divergence() from error
            finally:
                self.grower.close()
        return self._attributes(monitor)

    def copy_with(self, attributes: Attributes) -> Any:
        """Return a copy of the estimator with fitted attributes."""
        fitted = copy.copy(self.settings.estimator)
        adopt(fitted, attributes)
        return fitted

    def _monitor(
        self, rounds: range, callbacks: Callbacks, progress_bar: Progress | None
    ) -> RoundMonitor | None:
        """Return what evaluates each round, if anything is to be done after a round."""
        initial, training_set, n_threads = self.initial, self.training_set, self.settings.n_threads
        if not (self.eval_sets or callbacks or progress_bar or initial.checkpoint_file):
            return None
        monitor = RoundMonitor(
            n_rounds=rounds.stop,
            link=training_set.problem.loss.link,
            eval_sets=[
                training_set.eval_set(name, each.dataset, each.rows, n_threads)
                for name, each in self.eval_sets.items()
            ],
            metrics=self.data.metrics,
            best=BestRound(self.settings.params.tol),
            patience=self._patience(),
            callbacks=callbacks,
            progress_bar=progress_bar,
            grower=self.grower,
            build_ensemble=training_set.ensemble,
            build_model=lambda: self.copy_with(self._attributes(None)),
            write_checkpoint=self._write_checkpoint if initial.checkpoint_file else None,
        )
        if initial.checkpoint is not None:
            monitor.restore(initial.checkpoint.model, initial.checkpoint.best)
        else:
            monitor.judge_initial_model(_n_rounds(initial.model))
        return monitor

    def _patience(self) -> int | None:
        """Return the rounds without improvement after which to stop, if early stopping is on."""
        stops = self.eval_sets and self.settings.params.early_stopping and self.choice is None
        return int(self.settings.params.n_iter_no_change) if stops else None

    def _write_checkpoint(self, monitor: RoundMonitor, is_last: bool) -> None:
        file = self.initial.checkpoint_file
        assert file is not None
        if not file.is_due(monitor.round, is_last=is_last):
            return
        with workers().phase("checkpoint"), file.timed():
            so_far = self.copy_with(self._attributes(monitor, up_to_best=False))
            best = self.copy_with(self._attributes(monitor)) if monitor.best.trees else None
            file.write(so_far, self.settings.seed, best)

    def _attributes(self, monitor: RoundMonitor | None, *, up_to_best: bool = True) -> Attributes:
        """Return the fitted attributes; with early stopping, up to the best round."""
        problem = self.training_set.problem
        best = None if monitor is None or monitor.best.round == 0 else monitor.best
        trees: Sequence[Tree] = self.grower.trees
        if best is not None and self._patience() is not None and up_to_best:
            trees = best.trees or trees[: best.round * problem.trees_per_round]
        model = self._model(trees)
        history = {} if monitor is None else monitor.history
        fitted: Attributes = column_attributes(problem.schema) | {
            "_model": model,
            "n_iter_": model.ensemble.n_rounds,
            "n_outputs_": problem.loss.n_targets,
            "evals_result_": history,
            "n_initial_rounds_": self.initial.n_rounds if history else 0,
        }
        if problem.classes is not None:
            fitted["classes_"] = problem.classes
        if self.choice is not None:
            fitted["auto_"] = self.choice
        if best is not None:
            fitted |= {"best_iteration_": best.round, "best_score_": best.score}
        return fitted

    def _model(self, trees: Sequence[Tree]) -> BoostedModel:
        training_set, n_threads = self.training_set, self.settings.n_threads
        problem, binner = training_set.problem, training_set.binner
        ensemble = training_set.ensemble(trees)
        if not (np.isfinite(ensemble.value).all() and np.isfinite(ensemble.gain).all()):
            raise self._divergence()
        rows = partial(training_set.rows, training_set.train, n_threads)
        return BoostedModel(
            problem.schema,
            training_set.statistics,
            binner,
            ensemble,
            problem.loss.link,
            problem.classes,
            curve=fit_curve(problem.loss, ensemble, training_set.train, rows, n_threads),
            quantiles=problem.loss.single_output.quantiles,
            init_estimator=problem.init_estimator,
            seed=self.settings.seed,
        )

    def _divergence(self) -> ParameterError:
        has_offset = self.training_set.train.offset is not None
        offset = ", or a smaller offset" if has_offset else ""
        return ParameterError(
            f"learning_rate={self.settings.params.learning_rate!r} makes the scores diverge. Set a "
            f"smaller learning_rate, a larger reg_lambda, or max_delta_step{offset}."
        )


def _check_checkpoint(
    initial: InitialState,
    training_set: TrainingSet,
    eval_sets: Mapping[str, EncodedRows],
    settings: Settings,
) -> None:
    """Refuse a checkpoint of other data, or of another initial model."""
    if initial.checkpoint_file is None:
        return
    train, n_threads = training_set.train, settings.n_threads
    numbers = training_set.matrix(train) if settings.params.linear_leaves else None
    of_eval_sets = [
        (each.dataset, training_set.bins(each, n_threads)) for each in eval_sets.values()
    ]
    datasets, bins = zip((train, training_set.train_bins(n_threads)), *of_eval_sets, strict=True)
    data = digest(datasets, bins, numbers, initial.n_extra_rounds, n_threads)
    initial.checkpoint_file.check_data(data)


def fit_curve(
    loss: BaseLoss,
    ensemble: Ensemble,
    train: Dataset,
    rows: Callable[[], TreeRows],
    n_threads: int,
) -> SurvivalCurve | None:
    """Return how a survival model turns scores into times, estimated on encoded rows."""
    if not isinstance(loss, SurvivalLoss):
        return None
    scores = ensemble.predict_raw(rows(), offset=train.offset, n_threads=n_threads)
    return loss.curve(train.target_by_output, scores[:, 0], train.weights)
