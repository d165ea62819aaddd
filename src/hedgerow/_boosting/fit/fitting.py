"""One call of `fit`, from a table to the attributes of a fitted estimator.

Everything is made aside, and the estimator adopts the result in one step. So a fit that fails or is
interrupted leaves the estimator as it was.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hedgerow._boosting.fit.auto import Choice, Members, choose, rounds_of_several
from hedgerow._boosting.fit.calibrating import calibrated
from hedgerow._boosting.fit.callbacks import Callbacks
from hedgerow._boosting.fit.dart import DartRounds
from hedgerow._boosting.fit.fit_data import Rows, read_rows
from hedgerow._boosting.fit.loop import BestRound, Watcher, boost
from hedgerow._boosting.fit.no_split import warn_if_never_split
from hedgerow._boosting.fit.round_grower import GrowRound, rounds_of_one
from hedgerow._boosting.fit.settings import Settings, is_auto
from hedgerow._boosting.fit.training_data import Examples, Given
from hedgerow._boosting.fit.training_set import Prepared, prepare
from hedgerow._boosting.fit.warm_start import Start, digest, find_start
from hedgerow._boosting.losses import BaseLoss, SurvivalLoss
from hedgerow._boosting.model import BoostedModel
from hedgerow._boosting.survival_curves import SurvivalCurve
from hedgerow._boosting.targets.tasks import Task
from hedgerow._data.intake import as_matrix
from hedgerow._estimator import Estimator, adopt, column_attributes
from hedgerow._params import warn_of_unused
from hedgerow._progress import Progress, progress
from hedgerow._tree.structure import Ensemble, Tree
from hedgerow._tree.trainer import DivergenceError
from hedgerow._types import Attributes
from hedgerow.exceptions import ParameterError


def fit(estimator: Estimator, task: Task, before: BoostedModel | None, given: Given) -> Attributes:
    """Read, choose, encode, bin, boost, calibrate; return the attributes of a fitted estimator.

    `before` is the model that a warm start goes on from.
    """
    settings, told = Settings.of(estimator), Callbacks(given.callbacks)
    start = find_start(given, before, settings)
    settings = replace(settings, seed=start.seed)
    rows = read_rows(given, task, start.model, settings)
    warn_of_unused(estimator)
    choice = None
    if is_auto(estimator.n_estimators):
        choice = choose(rows, settings, start.found)
        settings = settings.with_numbers(choice.parameters)
    rounds = start.rounds_to_do(settings.estimator.n_estimators)
    fitting = Fitting.of(rows, settings, start, choice)
    told.before_fit(estimator)
    attributes = fitting.boost(rounds, told)
    warn_if_never_split(attributes["_model"], fitting.prepared, settings)
    if rows.for_calibration is not None:
        model = attributes["_model"]
        attributes["_model"] = calibrated(model, rows.problem, settings, rows.for_calibration)
    told.after_fit(fitting.copy_with(attributes))
    return attributes


@dataclass(frozen=True)
class Fitting:
    """A fit whose rows are encoded and binned, and whose trainers are ready for their first round.

    Attributes
    ----------
    rows : Rows
        What there is to learn, and from which rows, as they were read.
    settings : Settings
        The parameters.
    start : Start
        The rounds before.
    choice : Choice, optional
        What was chosen, if n_estimators is "auto".
    prepared : Prepared
        The rows to train on, encoded and binned.
    watched : mapping of Examples
        The rows to measure on, encoded.
    grow_round : function
        Grows the trees of a round.
    """

    rows: Rows
    settings: Settings
    start: Start
    choice: Choice | None
    prepared: Prepared
    watched: Mapping[str, Examples]
    grow_round: GrowRound

    @classmethod
    def of(cls, rows: Rows, settings: Settings, start: Start, choice: Choice | None) -> Fitting:
        """Encode and bin the rows, and set up what grows trees on them."""
        prepared = prepare(rows.problem, settings, rows.train)
        watched = {name: prepared.encode(examples) for name, examples in rows.watched.items()}
        _check_checkpoint(start, prepared, watched, settings)
        if choice is None or choice.n_members == 1:
            grow_round = rounds_of_one(prepared, settings, start.model)
        else:
            grow_round = rounds_of_several(prepared, settings, start.model, choice.n_members)
        return cls(rows, settings, start, choice, prepared, watched, grow_round)

    def boost(self, rounds: range, told: Callbacks) -> Attributes:
        """Grow some rounds; return what the estimator will hold."""
        with progress(self.settings.estimator.verbose, rounds.stop, rounds.start) as shown:
            watcher = self._watcher(rounds, told, shown)
            try:
                trees = boost(self.grow_round, rounds, watcher)
            except DivergenceError as error:
                raise self._diverged() from error
            finally:
                if isinstance(self.grow_round, Members):
                    self.grow_round.close()
        return self._attributes(trees, watcher)

    def copy_with(self, attributes: Attributes) -> Any:
        """Return a copy of the estimator, fitted."""
        fitted = copy.copy(self.settings.asked)
        adopt(fitted, attributes)
        return fitted

    @property
    def _dart(self) -> DartRounds | None:
        """The rounds, if they change those before them."""
        return self.grow_round if isinstance(self.grow_round, DartRounds) else None

    def _watcher(self, rounds: range, told: Callbacks, shown: Progress | None) -> Watcher | None:
        """Return what looks at each round, if anyone wants it looked at."""
        start, prepared, n_threads = self.start, self.prepared, self.settings.n_threads
        if not (self.watched or told or shown or start.checkpoint):
            return None
        eval_sets = [prepared.eval_set(*named, n_threads) for named in self.watched.items()]
        watcher = Watcher(
            n_rounds=rounds.stop,
            link=self.rows.problem.loss.link,
            eval_sets=eval_sets,
            metrics=self.rows.metrics,
            best=BestRound(self.settings.estimator.tol),
            patience=self._patience() if self.watched else None,
            callbacks=told,
            progress=shown,
            build_model=lambda trees: self.copy_with(self._attributes(trees, None)),
            checkpoint=self._write_checkpoint if start.checkpoint else None,
            dart=self._dart,
            ensemble_of=prepared.ensemble,
        )
        if start.found is not None:
            watcher.recall(start.found.model, start.found.best)
        return watcher

    def _patience(self) -> int | None:
        """Return the rounds without a gain that end the fit, unless rounds have been chosen."""
        stops = self.settings.estimator.early_stopping and self.choice is None
        return int(self.settings.estimator.n_iter_no_change) if stops else None

    def _write_checkpoint(self, watcher: Watcher, trees: Sequence[Tree], is_last: bool) -> None:
        file = self.start.checkpoint
        assert file is not None
        if not (is_last or file.is_due(watcher.round)):
            return
        with file.timed():
            so_far = self.copy_with(self._attributes(trees, watcher, is_whole=True))
            best = self.copy_with(self._attributes(trees, watcher)) if watcher.best.trees else None
            file.write(so_far, self.settings.seed, best)

    def _attributes(
        self, trees: Sequence[Tree], watcher: Watcher | None, *, is_whole: bool = False
    ) -> Attributes:
        """Assemble what the estimator will hold; unless it is to be whole, up to the best round."""
        problem = self.rows.problem
        stops = watcher is not None and watcher.patience is not None and watcher.best.round
        trees = [*self.start.trees(), *trees] if self._dart is None else self._dart.trees
        if watcher is not None and stops and not is_whole:
            trees = watcher.best.trees or trees[: watcher.best.round * problem.trees_per_round]
        model = self._model(trees)
        fitted: Attributes = column_attributes(problem.schema) | {
            "_model": model,
            "n_iter_": model.ensemble.n_rounds,
            "n_outputs_": problem.loss.n_targets,
            "evals_result_": {} if watcher is None else watcher.history,
        }
        if problem.classes is not None:
            fitted["classes_"] = problem.classes
        if self.choice is not None:
            fitted["auto_"] = self.choice
        if watcher is not None and watcher.best.round:
            fitted |= {"best_iteration_": watcher.best.round, "best_score_": watcher.best.score}
        return fitted

    def _model(self, trees: Sequence[Tree]) -> BoostedModel:
        problem, prepared = self.rows.problem, self.prepared
        ensemble = prepared.ensemble(trees)
        if not (np.isfinite(ensemble.value).all() and np.isfinite(ensemble.gain).all()):
            raise self._diverged()
        return BoostedModel(
            problem.schema,
            prepared.statistics,
            prepared.binner,
            ensemble,
            problem.loss.link,
            problem.classes,
            curve=learned_curve(
                *(problem.loss, ensemble, prepared.train, prepared.binner.category_bins),
                self.settings.n_threads,
            ),
            quantiles=problem.loss.single_output.quantiles,
        )

    def _diverged(self) -> ParameterError:
        return ParameterError(
            f"learning_rate={self.settings.estimator.learning_rate!r} lets the scores grow beyond "
            "all bounds. Choose a smaller one, or a larger reg_lambda, or set max_delta_step."
        )


def _check_checkpoint(
    start: Start, prepared: Prepared, watched: Mapping[str, Examples], settings: Settings
) -> None:
    """Refuse a checkpoint of other rows, or another start."""
    if start.checkpoint is None:
        return
    train = prepared.train
    numbers = prepared.matrix(train) if settings.estimator.linear_leaves else None
    parts = [train, *watched.values()]
    start.checkpoint.check_data(digest(parts, prepared.binner, numbers, start.rounds_of_other))


def learned_curve(
    loss: BaseLoss, ensemble: Ensemble, rows: Examples, category_bins: list[Any], n_threads: int
) -> SurvivalCurve | None:
    """Return what the scores of a survival model mean, learned from encoded rows."""
    if not isinstance(loss, SurvivalLoss):
        return None
    scores = ensemble.predict_raw(as_matrix(rows.table, category_bins), n_threads=n_threads)
    return loss.curve(rows.target_by_output, scores[:, 0], rows.weights)
