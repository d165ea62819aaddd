"""One call of `fit`, from a table to the attributes of a fitted estimator.

Everything lives in a `Fitting` until it is finished; then the estimator adopts the result in one
step. So a fit that fails or is interrupted leaves the estimator as it was.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.boosting.auto import (
    Choice,
    Members,
    Search,
    is_auto,
    member_of,
    member_seeds,
    no_choice,
    settled,
)
from hedgerow.boosting.calibration import calibrate
from hedgerow.boosting.callbacks import Callbacks
from hedgerow.boosting.classes import Classes
from hedgerow.boosting.constraints import Constraints, read_constraints, require_monotone
from hedgerow.boosting.dart import DartRounds, Drops
from hedgerow.boosting.encoding import encode_again, learn_encoding
from hedgerow.boosting.losses import (
    CustomLoss,
    Differentiate,
    Floats,
    Loss,
    NativeLoss,
    SurvivalLoss,
)
from hedgerow.boosting.model import BoostedModel, prediction_of
from hedgerow.boosting.multi_output import choose_loss
from hedgerow.boosting.resuming import CheckpointFile, digest, read_start
from hedgerow.boosting.rounds import BestRound, EvalSet, Watcher, boost
from hedgerow.boosting.survival_curves import SurvivalCurve
from hedgerow.boosting.tasks import Task
from hedgerow.boosting.training_data import Examples, hold_out, partings, read_eval_sets
from hedgerow.boosting.written_loss import LeafSearch, WrittenLoss
from hedgerow.data.binning import BinnedMatrix, Binner
from hedgerow.data.intake import Table, TableSchema, as_matrix, learn_schema
from hedgerow.data.target import read_groups, read_weights
from hedgerow.data.target_statistics import TargetStatistics
from hedgerow.estimator import adopt, column_attributes, seed_of
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.progress import Progress, progress
from hedgerow.threads import effective_n_jobs
from hedgerow.tree.grow_params import GrowParams
from hedgerow.tree.grower import DivergenceError, ExactTrainer, Trainer
from hedgerow.tree.leaf_quantiles import LeafRule
from hedgerow.tree.leaf_slopes import LeafSlopes
from hedgerow.tree.row_draws import RowDraws
from hedgerow.tree.structure import Ensemble, Tree

Attributes = dict[str, Any]
GrowRound = Callable[[int], Sequence[Tree]]

# With n_estimators="auto", a fifth of the rows is held out; of few rows, times the outputs,
# each fifth in turn.
AUTO_FOLDS, FEW_ROWS = 5, 3000
# A quarter more rows than were tried on are worth so much more learning.
MORE_ROWS = 1.1


@dataclass(frozen=True)
class Given:
    """What `fit` was called with."""

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


class Fitting:
    """A fit under way; `start` is the model whose rounds it goes on from, if any.

    A warm start counts those rounds among n_estimators, another model's come before them. `asked`
    is the user's estimator, and `estimator` has numbers where its parameters are "auto".
    """

    classes: Classes | None
    schema: TableSchema
    loss: Loss
    constraints: Constraints
    statistics: TargetStatistics
    binner: Binner
    binned: BinnedMatrix | None
    base_score: Floats
    train: Examples

    def __init__(self, estimator: Any, task: Task, start: BoostedModel | None) -> None:
        _require_histograms(estimator)
        self.asked = estimator
        self.estimator = settled(estimator)
        self.choice: Choice | None = None
        self.task = task
        self.start = start
        self.checkpoint: CheckpointFile | None = None
        self.resumed: Any = None
        self.dart: DartRounds | None = None
        self.rounds_of_other = 0
        self.held_for_calibration: Examples | None = None
        self.seed = seed_of(estimator.random_state)
        self.n_threads = effective_n_jobs(estimator.n_jobs)

    def run(self, given: Given) -> Attributes:
        """Read, encode, bin, boost; return the attributes of the fitted estimator."""
        told = Callbacks(given.callbacks)
        self.find_start(given)
        train, watched = self.read(given)
        if is_auto(self.asked.n_estimators):
            self.adopt_choice(self.choose(train, watched))
        rounds = self.rounds_to_do()
        train, watched = self.encode(train, watched)
        self.learn_bins(train)
        self._check_checkpoint(train, watched)
        grow_round = self.rounds_on(train)
        told.before_fit(self.asked)
        with progress(self.estimator.verbose, rounds.stop, rounds.start) as shown:
            watcher = self.watcher(rounds, watched, told, shown)
            try:
                trees = boost(grow_round, rounds, watcher)
            except DivergenceError as error:
                raise self._diverged() from error
            finally:
                if isinstance(grow_round, Members):
                    grow_round.close()
        attributes = self.attributes(trees, watcher)
        if self.held_for_calibration is not None:
            model = attributes["_model"]
            attributes["_model"] = self.calibrated(model, self.held_for_calibration)
        told.after_fit(self.copy_with(attributes))
        return attributes

    def find_start(self, given: Given) -> None:
        """Find out which rounds this fit goes on from, if any."""
        last = self.asked.n_estimators
        if given.init_model is not None:
            self.start = read_start(given.init_model, self.asked)
            self.rounds_of_other = self.rounds_done()
        if self.start is not None and is_auto(last):
            raise ParameterError(
                "n_estimators='auto' chooses all rounds of a model. To go on from one, by "
                "init_model or warm_start, say with how many rounds: n_estimators=100."
            )
        if given.init_model is None and self.start is not None and self.rounds_done() > last:
            raise ParameterError(
                f"n_estimators={last} is less than the {self.rounds_done()} rounds that "
                "warm_start=True begins with."
            )
        if given.checkpoint is not None:
            self.checkpoint = CheckpointFile(given.checkpoint, given.checkpoint_every)
            self._resume(self.checkpoint)

    def rounds_to_do(self) -> range:
        """Return the rounds that are still to be grown."""
        last = self.rounds_of_other + self.estimator.n_estimators
        if self.checkpoint is not None:
            self.checkpoint.check_rounds(self.rounds_done(), last)
        return range(min(self.rounds_done(), last), last)

    def _check_checkpoint(self, train: Examples, watched: dict[str, Examples]) -> None:
        """Refuse a checkpoint of other rows, or another start."""
        if self.checkpoint is not None:
            numbers = self._matrix(train) if self.estimator.linear_leaves else None
            parts = [train, *watched.values()]
            found = digest(parts, self.binner, numbers, self.rounds_of_other)
            self.checkpoint.check_data(found)

    def _resume(self, file: CheckpointFile) -> None:
        found = file.found(self.asked)
        if found is not None:
            self.resumed = found
            self.start, self.seed = found.model._model, found.seed  # noqa: SLF001
            file.data = found.data

    def choose(self, train: Examples, watched: dict[str, Examples]) -> Choice:
        """Choose what is "auto": by the last of eval_set if it is to stop, or by rows held out."""
        if self.resumed is not None:
            choice: Choice = self.resumed.model.auto_
            return choice
        if self.estimator.early_stopping and watched:
            return Search(self, [(train, [*watched.values()][-1])], more_rows=1.0).run()
        stratify, rows = self._may_stratify(), self.estimator.validation_rows
        parts = partings(train, AUTO_FOLDS, self.seed, stratify, rows)
        parts = [part for part in parts if not self._objection_to(*part)]
        if not parts:
            return no_choice(self.asked)
        few = train.table.n_rows * self.loss.n_outputs < FEW_ROWS
        return Search(self, parts if few else parts[:1], more_rows=MORE_ROWS).run()

    def adopt_choice(self, choice: Choice) -> None:
        """Take what was chosen for what is "auto"."""
        self.choice = choice
        self.estimator = settled(self.asked, choice.parameters)

    @property
    def n_members(self) -> int:
        """How many models are grown side by side."""
        return 1 if self.choice is None else self.choice.n_members

    @property
    def is_native(self) -> bool:
        """Whether no function of the user's is called in every round."""
        return not isinstance(self.loss, CustomLoss | WrittenLoss)

    def on_part(self) -> Fitting:
        """Return the fit of other rows with the same columns, classes and loss."""
        other = copy.copy(self)
        other.checkpoint = other.held_for_calibration = None
        return other

    def with_settings(self, estimator: Any, n_threads: int) -> Fitting:
        """Return the same fit with other parameters."""
        other = copy.copy(self)
        other.estimator, other.n_threads = estimator, n_threads
        return other

    def rounds_done(self) -> int:
        """Return how many rounds there were before."""
        return 0 if self.start is None else self.start.ensemble.n_rounds

    @property
    def grows_vectors(self) -> bool:
        """Whether a tree serves several outputs."""
        return self.loss.n_outputs > 1 and self.estimator.multi_strategy == "vector"

    @property
    def trees_per_round(self) -> int:
        """Trees of a round."""
        return 1 if self.grows_vectors else self.loss.n_outputs

    def read(self, given: Given) -> tuple[Examples, dict[str, Examples]]:
        """Check everything that was given; return what to train on and what to measure on."""
        train = self.read_training(given)
        self._check_start()
        self._check_sampling(train)
        if self.estimator.calibration is not None:
            fraction, stratify = self.estimator.calibration_fraction, self._may_stratify()
            rows = self.estimator.validation_rows
            self.require_calibratable()
            train, self.held_for_calibration = hold_out(
                train, fraction, self.seed, stratify, rows, "calibration"
            )
            self._require_parts(train, self.held_for_calibration, "calibration")
        self.metrics = self.task.choose_metrics(self.estimator, self.classes, self.loss)
        watched = read_eval_sets(given.eval_set, given.eval_names, self._read_more)
        stops_by_itself = is_auto(self.asked.n_estimators)
        if not self.estimator.early_stopping or watched or stops_by_itself:
            return train, watched
        fraction, rows = self.estimator.validation_fraction, self.estimator.validation_rows
        train, held_out = hold_out(train, fraction, self.seed, self._may_stratify(), rows)
        self._require_parts(train, held_out, "early_stopping")
        return train, {"validation": held_out}

    def _require_parts(self, train: Examples, held: Examples, purpose: str) -> None:
        objection = self._objection_to(train, held)
        if not objection and purpose == "calibration" and self.classes is not None:
            is_one = len(np.unique(held.target)) < 2
            objection = "the rows held out are all of one class" if is_one else None
        if objection:
            raise DataError(
                f"{purpose} cannot part the rows as it is asked to: {objection}. Give it rows of "
                "your own, or another part of the rows, or other groups."
            )

    def _objection_to(self, train: Examples, held: Examples) -> str | None:
        """Say why nothing can be learned from some rows or measured on others, if it cannot."""
        objection = self.loss.objection(train.target)
        if objection:
            return f"of the rows to train on, {objection.removesuffix('.')}"
        objection = self.loss.objection(held.target)
        if objection:
            return f"of the rows held out, {objection.removesuffix('.')}"
        n_classes = 0 if self.classes is None else len(self.classes)
        if self._may_stratify() and len(np.unique(train.target)) < n_classes:
            return "none of the rows to train on is of one of the classes"
        return None

    def _may_stratify(self) -> bool:
        return self.classes is not None and self.loss.n_targets == 1 and not self.loss.is_soft

    def require_calibratable(self) -> None:
        """Refuse a calibration that there is none of."""
        if self.loss.n_targets > 1:
            raise ParameterError("calibration needs a y of one column; fit a model for each.")
        if isinstance(self.loss, WrittenLoss) and not self.loss.predicts_targets:
            raise ParameterError(
                f"loss={self.estimator.loss!r} cannot be calibrated: its {self.loss.n_outputs} "
                "scores are not predictions of y."
            )
        if self.classes is not None and (self.loss.is_soft or self.loss.link == "margin"):
            raise ParameterError(
                f"loss={self.estimator.loss!r} cannot be calibrated: it has no classes or no "
                "probabilities."
            )

    def calibrated(self, model: BoostedModel, held: Examples) -> BoostedModel:
        """Return the model with what rows that it was not trained on say of its predictions."""
        self.require_calibratable()
        scores = model.ensemble.predict_raw(model.matrix(held.table), n_threads=self.n_threads)
        if self.classes is None:
            prediction = prediction_of(scores, model.link).reshape(len(scores), -1)
            return replace(model, residuals=held.target[:, np.newaxis] - prediction)
        index = held.target.astype(np.intp)
        method = self.estimator.calibration
        return replace(model, calibration=calibrate(method, scores, index, held.weights))

    def read_training(self, given: Given) -> Examples:
        """Read the rows to train on, and what the loss is."""
        if self.start is None:
            self.schema, table = learn_schema(given.X, self.estimator.categorical_features)
            y, loss = given.y, self.estimator.loss
            self.classes, target = self.task.learn_target(y, table.n_rows, loss)
        else:
            self.schema, self.classes = self.start.schema, self.start.classes
            table = self._read_table(given.X)
            loss = self.estimator.loss
            target = self.task.read_target(given.y, table.n_rows, self.classes, loss)
        n_targets = self.task.count_targets(self.classes, target)
        self.loss = choose_loss(self.task, self.estimator, self.classes, n_targets)
        _require_slopes(self.estimator, self.loss)
        self._require_the_same_trees()
        self.constraints = read_constraints(self.estimator, self.schema, self.loss)
        examples = self._examples(table, target, given.sample_weight)
        if given.groups is not None:
            examples = replace(examples, groups=read_groups(given.groups, table.n_rows))
        return self.task.weigh(examples, self.estimator, self.classes)

    def _require_the_same_trees(self) -> None:
        """Refuse to go on from trees of another kind."""
        if self.start is None:
            return
        before = self.start.ensemble
        if self.start.link != self.loss.link:
            raise ParameterError(
                f"loss={self.estimator.loss!r}: its scores mean something else than those of the "
                f"model to go on from ({self.loss.link}, not {self.start.link})."
            )
        if before.n_outputs != self.loss.n_outputs:
            raise DataError(
                f"The model to go on from has {before.n_outputs} outputs, but loss and y now ask "
                f"for {self.loss.n_outputs}."
            )
        if before.trees_per_round != self.trees_per_round:
            raise ParameterError(
                f"multi_strategy={self.estimator.multi_strategy!r}, but the model to go on from "
                "was fitted with the other strategy."
            )

    def _check_start(self) -> None:
        """Refuse to go on from trees that break the constraints."""
        if self.start is not None:
            features = self.start.statistics.sources.tolist()
            directions = self.constraints.of_columns(features)["directions"]
            require_monotone(self.start.ensemble, directions)

    def _check_sampling(self, train: Examples) -> None:
        sampling, subsample = self.estimator.sampling, self.estimator.subsample
        if sampling == "balanced" and not self._may_stratify():
            raise ParameterError("sampling='balanced' draws rows by their class; there are none.")
        if sampling == "group" and train.groups is None:
            raise ParameterError("sampling='group' draws whole groups; fit must be given groups.")
        if sampling not in ("uniform", "balanced") and subsample == 1.0:
            raise ParameterError(
                f"sampling={sampling!r} draws the part subsample of the rows, but "
                f"subsample={self.asked.subsample!r} is all of them. Give a number below 1, such "
                "as subsample=0.5."
            )

    def _read_more(self, X: Any, y: Any, sample_weight: Any) -> Examples:
        table = self._read_table(X)
        target = self.task.read_target(y, table.n_rows, self.classes, self.estimator.loss)
        n_targets = self.task.count_targets(self.classes, target)
        if n_targets != self.loss.n_targets:
            raise DataError(f"y has {n_targets} columns, but that of fit {self.loss.n_targets}.")
        return self._examples(table, target, sample_weight)

    def _examples(self, table: Table, target: Floats, sample_weight: Any) -> Examples:
        objection = self.loss.objection(target)
        if objection:
            raise DataError(objection)
        weights = read_weights(sample_weight, table.n_rows)
        if weights is not None and self.loss.objection(target[weights > 0.0]):
            raise DataError(
                "sample_weight is 0 in every row that the loss needs: without those rows, "
                f"{self.loss.objection(target[weights > 0.0])}"
            )
        return Examples(table, target, weights)

    def _read_table(self, X: Any) -> Table:
        return self.estimator._read(X, self.schema)  # noqa: SLF001

    def encode(
        self, train: Examples, watched: dict[str, Examples]
    ) -> tuple[Examples, dict[str, Examples]]:
        """Let numbers stand for columns of many categories, as the training rows have them."""
        of_target = self.loss, self.classes
        if self.start is None:
            many = self._many_categories()
            self.statistics, table = learn_encoding(
                train, many, *of_target, self.seed, self.n_threads
            )
        else:
            self.statistics = self.start.statistics
            table = encode_again(self.statistics, train, *of_target, self.n_threads)
        encode = self.statistics.encode
        return replace(train, table=table), {
            name: replace(examples, table=encode(examples.table))
            for name, examples in watched.items()
        }

    def _many_categories(self) -> dict[int, int]:
        """Return the columns of too many categories for sets of them, and how many these are."""
        most = min(self.estimator.max_categories, self.estimator.max_bins)
        counts = {j: len(learned.values) for j, learned in self.schema.categories.items()}
        return {j: count for j, count in counts.items() if count > most}

    def learn_bins(self, train: Examples) -> None:
        """Bin the table, and find the constant that scores start from."""
        self.train = train
        if self.start is None:
            self.binner = self._fit_binner(train)
            self.base_score = self.loss.base_score(train.target_by_output, train.weights)
        else:
            self.binner, self.base_score = self.start.binner, self.start.ensemble.base_score
        self.binned = None
        if self.estimator.splitter == "hist":
            self.binned = self.binner.transform(train.table, threads=self.n_threads)

    def rounds_on(self, train: Examples) -> GrowRound:
        """Return the function that grows a round."""
        if self.n_members == 1:
            return self.rounds_of_one(train)
        n_threads = max(1, self.n_threads // self.n_members)
        members = []
        for number, seed in enumerate(member_seeds(self.seed, self.n_members)):
            member = self.with_settings(self.estimator, n_threads)
            member.seed = seed
            if self.start is not None:
                alone = member_of(self.start.ensemble, number, self.n_members)
                member.start = replace(self.start, ensemble=alone)
            members.append(member.rounds_of_one(train))
        return Members(members, self.n_threads)

    def rounds_of_one(self, train: Examples) -> GrowRound:
        """Return the function that grows a round of one model."""
        trainer = self._trainer(train)
        if self.start is not None:
            trainer.scores[...] = self._scores_so_far(self._matrix(train)).T
        self._require_hessians(train, trainer.scores)
        grow_round: GrowRound = trainer.boost
        if not isinstance(self.loss, NativeLoss):
            rows = train.target_by_output, train.weights
            differentiate = self.loss.differentiator(*rows, self.n_threads)
            grow_round = partial(_grow_with_gradients, trainer, differentiate)
        if self.estimator.boosting == "dart":
            self.dart = grow_round = self._dart(trainer, grow_round, train)
        return grow_round

    def _require_hessians(self, train: Examples, scores: Floats) -> None:
        """Refuse linear leaves of a written loss that has no hessian to fit slopes by."""
        if not (self.estimator.linear_leaves and isinstance(self.loss, WrittenLoss)):
            return
        self.loss.gradients(train.target.T, scores, train.weights)
        if self.loss.is_straight.any():
            raise _no_slopes(self.estimator)

    def _dart(
        self, trainer: Trainer | ExactTrainer, grow_round: GrowRound, train: Examples
    ) -> DartRounds:
        estimator, matrix = self.estimator, self._matrix(train)
        drops = Drops(estimator.drop_rate, estimator.skip_drop, estimator.max_drop, self.seed)
        return DartRounds(
            trainer,
            grow_round,
            drops,
            estimator.learning_rate,
            lambda trees: self.ensemble(trees).predict_raw(matrix, n_threads=self.n_threads).T,
            self._trees_before(),
        )

    def watcher(
        self, rounds: range, watched: dict[str, Examples], told: Callbacks, shown: Progress | None
    ) -> Watcher | None:
        """Return what looks at each round, if anyone wants it looked at."""
        if not (watched or told or shown or self.checkpoint):
            return None
        estimator = self.estimator
        watcher = Watcher(
            n_rounds=rounds.stop,
            link=self.loss.link,
            eval_sets=[self.eval_set(name, examples) for name, examples in watched.items()],
            metrics=self.metrics,
            best=BestRound(estimator.tol),
            patience=self._patience() if watched else None,
            callbacks=told,
            progress=shown,
            build_model=lambda trees: self.copy_with(self.attributes(trees, None)),
            checkpoint=self._write_checkpoint if self.checkpoint else None,
            dart=self.dart,
            ensemble_of=self.ensemble,
        )
        if self.resumed is not None:
            watcher.recall(self.resumed.model, self.resumed.best)
        return watcher

    def _patience(self) -> int | None:
        """Return the rounds without a gain that end the fit, unless rounds have been chosen."""
        stops = self.estimator.early_stopping and self.choice is None
        return int(self.estimator.n_iter_no_change) if stops else None

    def _write_checkpoint(self, watcher: Watcher, trees: Sequence[Tree], is_last: bool) -> None:
        assert self.checkpoint is not None
        if is_last or watcher.round % self.checkpoint.every == 0:
            so_far = self.copy_with(self.attributes(trees, watcher, is_whole=True))
            best = self.copy_with(self.attributes(trees, watcher)) if watcher.best.trees else None
            self.checkpoint.write(so_far, self.seed, best)

    def attributes(
        self, trees: Sequence[Tree], watcher: Watcher | None, *, is_whole: bool = False
    ) -> Attributes:
        """Assemble what the estimator will hold; unless it is to be whole, up to the best round."""
        stops = watcher is not None and watcher.patience is not None and watcher.best.round
        trees = [*self._trees_before(), *trees] if self.dart is None else self.dart.trees
        if watcher is not None and stops and not is_whole:
            trees = watcher.best.trees or trees[: watcher.best.round * self.trees_per_round]
        model = self._model(trees)
        fitted: Attributes = column_attributes(self.schema) | {
            "_model": model,
            "n_iter_": model.ensemble.n_rounds,
            "n_outputs_": self.loss.n_targets,
            "evals_result_": {} if watcher is None else watcher.history,
        }
        if self.classes is not None:
            fitted["classes_"] = self.classes
        if self.choice is not None:
            fitted["auto_"] = self.choice
        if watcher is not None and watcher.best.round:
            fitted |= {"best_iteration_": watcher.best.round, "best_score_": watcher.best.score}
        return fitted

    def copy_with(self, attributes: Attributes) -> Any:
        """Return a copy of the estimator, fitted."""
        fitted = copy.copy(self.asked)
        adopt(fitted, attributes)
        return fitted

    def _trees_before(self) -> list[Tree]:
        """Return the trees of the model that this fit goes on from."""
        before = None if self.start is None else self.start.ensemble
        return [] if before is None else [before.tree(t) for t in range(before.n_trees)]

    def ensemble(self, trees: Sequence[Tree]) -> Ensemble:
        """Return trees, round after round, as a model."""
        outputs = np.arange(len(trees), dtype=np.int32) % self.trees_per_round
        return Ensemble.from_trees(trees, outputs, self.base_score, self.statistics.n_columns)

    def _model(self, trees: Sequence[Tree]) -> BoostedModel:
        ensemble = self.ensemble(trees)
        if not (np.isfinite(ensemble.value).all() and np.isfinite(ensemble.gain).all()):
            raise self._diverged()
        return BoostedModel(
            self.schema,
            self.statistics,
            self.binner,
            ensemble,
            self.loss.link,
            self.classes,
            curve=self.curve(ensemble, self.train),
        )

    def curve(self, ensemble: Ensemble, rows: Examples) -> SurvivalCurve | None:
        """Return what the scores of a survival model mean, learned from rows."""
        if not isinstance(self.loss, SurvivalLoss):
            return None
        scores = ensemble.predict_raw(self._matrix(rows), n_threads=self.n_threads)
        return self.loss.curve(rows.target_by_output, scores[:, 0], rows.weights)

    def _diverged(self) -> ParameterError:
        return ParameterError(
            f"learning_rate={self.estimator.learning_rate!r} lets the scores grow beyond all "
            "bounds. Choose a smaller one, or a larger reg_lambda, or set max_delta_step."
        )

    def eval_set(self, name: str, examples: Examples) -> EvalSet:
        """Return rows to measure on."""
        matrix = self._matrix(examples)
        scores = self._scores_so_far(matrix)
        return EvalSet(
            *(name, matrix, examples.target, examples.weights, scores),
            *(self.trees_per_round, self.n_threads),
        )

    def _matrix(self, examples: Examples) -> NDArray[Any]:
        return as_matrix(examples.table, self.binner.category_bins)

    def _scores_so_far(self, matrix: NDArray[Any]) -> Floats:
        """Return the scores (n, K) that the first round to run finds."""
        if self.start is None:
            return np.tile(self.base_score, (len(matrix), 1))
        return self.start.ensemble.predict_raw(matrix, n_threads=self.n_threads)

    def _fit_binner(self, train: Examples) -> Binner:
        max_bins, subsample = self.estimator.max_bins, self.estimator.subsample_for_bin
        binner = Binner(max_bins=max_bins, subsample_for_bin=subsample, seed=self.seed)
        columns = self.statistics.encoded_schema(self.schema)
        counts = {j: len(learned.values) for j, learned in columns.categories.items()}
        return binner.fit(train.table, train.weights, n_categories=counts, threads=self.n_threads)

    def _draws(self, train: Examples) -> RowDraws:
        """Return how each round draws its rows."""
        estimator = self.estimator
        kind = unit = None
        if estimator.sampling == "balanced":
            kind = train.target.astype(np.int32)
        if estimator.sampling == "group":
            assert train.groups is not None
            unit = train.groups
        return RowDraws(
            n_rows=train.table.n_rows,
            fraction=estimator.subsample,
            seed=self.seed,
            sampling=estimator.sampling,
            kind=kind,
            unit=unit,
            reg_lambda=estimator.reg_lambda,
        )

    def grow_params(self) -> GrowParams:
        """Return how trees grow on an encoded table."""
        loss = self.loss if isinstance(self.loss, NativeLoss) else None
        constraints = self.constraints.of_columns(self.statistics.sources.tolist())
        return replace(grow_params(self.estimator, loss, self.seed), **constraints)

    def slopes(self, matrix: NDArray[Any]) -> LeafSlopes | None:
        """Return how leaves get slopes, if they do, from rows as the predictor sees them."""
        estimator = self.estimator
        if not estimator.linear_leaves:
            return None
        return LeafSlopes(matrix, self.grow_params(), estimator.linear_lambda)

    def _trainer(self, train: Examples) -> Trainer | ExactTrainer:
        loss = self.loss if isinstance(self.loss, NativeLoss) else None
        target = train.target_by_output
        weights = self.loss.row_weights(target, train.weights)
        options: dict[str, Any] = {
            "loss": loss,
            "n_outputs": self.loss.n_outputs,
            "base_score": self.base_score,
            "params": self.grow_params(),
            "draws": self._draws(train),
            "colsample_bytree": self.estimator.colsample_bytree,
            "leaves": self.leaf_rule(train),
            "slopes": self.slopes(self._matrix(train)) if self.estimator.linear_leaves else None,
            "n_threads": self.n_threads,
        }
        if self.estimator.splitter == "exact":
            flags = self.binner.is_categorical
            return ExactTrainer(self._matrix(train), flags, target, weights, **options)
        assert self.binned is not None
        return Trainer(self.binned, target, weights, vector=self.grows_vectors, **options)

    def leaf_rule(self, rows: Examples) -> LeafRule | None:
        """Return how leaves of a written loss are replaced after a tree has grown."""
        if not isinstance(self.loss, WrittenLoss):
            return None
        rate, most = self.estimator.learning_rate, self.estimator.max_delta_step
        return LeafSearch(self.loss, rows.target_by_output, rate, most)


def _require_histograms(estimator: Any) -> None:
    if estimator.multi_strategy == "vector" and estimator.splitter == "exact":
        raise ParameterError(
            "multi_strategy='vector' needs splitter='hist': exact splits are found for one output "
            "at a time."
        )


def _require_slopes(estimator: Any, loss: Loss) -> None:
    """Refuse linear leaves where leaves are replaced by quantiles."""
    if estimator.linear_leaves and isinstance(loss, NativeLoss) and loss.has_corners:
        raise _no_slopes(estimator)


def _no_slopes(estimator: Any) -> ParameterError:
    return ParameterError(
        f"linear_leaves=True is not allowed with loss={estimator.loss!r}: the loss is straight but "
        "for corners, so that leaves take the values which are best for their rows, and no hessian "
        "tells how steep they should be."
    )


def grow_params(estimator: Any, loss: NativeLoss | None, seed: int) -> GrowParams:
    """Translate an estimator's parameters into a grower's, where 0 is no limit."""
    falls, rises = (0.0, 0.0) if loss is None else loss.leaf_rates
    return GrowParams(
        max_leaves=estimator.max_leaves or 0,
        max_depth=estimator.max_depth or 0,
        min_samples_leaf=estimator.min_samples_leaf,
        min_child_weight=estimator.min_child_weight,
        reg_lambda=estimator.reg_lambda,
        reg_alpha=estimator.reg_alpha,
        min_split_gain=estimator.min_split_gain,
        max_delta_step=estimator.max_delta_step,
        learning_rate=estimator.learning_rate,
        grow_policy=estimator.grow_policy,
        colsample_bylevel=estimator.colsample_bylevel,
        colsample_bynode=estimator.colsample_bynode,
        leaf_falls=falls,
        leaf_rises=rises,
        seed=seed,
    )


def _grow_with_gradients(
    trainer: Trainer | ExactTrainer, differentiate: Differentiate, round_index: int
) -> Sequence[Tree]:
    return trainer.boost_with(round_index, *differentiate(trainer.scores))
