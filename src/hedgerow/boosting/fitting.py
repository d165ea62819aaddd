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

from hedgerow.boosting.calibration import calibrate
from hedgerow.boosting.callbacks import Callbacks
from hedgerow.boosting.dart import DartRounds, Drops
from hedgerow.boosting.encoding import encode_again, learn_encoding
from hedgerow.boosting.losses import Floats, Loss, NativeLoss
from hedgerow.boosting.metrics import resolve_metrics
from hedgerow.boosting.model import BoostedModel, prediction_of
from hedgerow.boosting.multi_output import Classes, choose_loss, count_targets
from hedgerow.boosting.resuming import CheckpointFile, digest, read_start
from hedgerow.boosting.rounds import BestRound, EvalSet, Watcher, boost
from hedgerow.boosting.tasks import Task
from hedgerow.boosting.training_data import Examples, hold_out, read_eval_sets
from hedgerow.boosting.written_loss import LeafSearch, WrittenLoss
from hedgerow.data.binning import Binner
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
from hedgerow.tree.row_draws import RowDraws
from hedgerow.tree.structure import Ensemble, Tree

Attributes = dict[str, Any]
GrowRound = Callable[[int], Sequence[Tree]]


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

    A warm start counts those rounds among n_estimators, another model's come before them.
    """

    classes: Classes | None
    schema: TableSchema
    loss: Loss
    statistics: TargetStatistics
    binner: Binner
    base_score: Floats

    def __init__(self, estimator: Any, task: Task, start: BoostedModel | None) -> None:
        _require_histograms(estimator)
        self.estimator = estimator
        self.task = task
        self.start = start
        self.checkpoint: CheckpointFile | None = None
        self.resumed: Any = None
        self.dart: DartRounds | None = None
        self.held_for_calibration: Examples | None = None
        self.seed = seed_of(estimator.random_state)
        self.n_threads = effective_n_jobs(estimator.n_jobs)

    def run(self, given: Given) -> Attributes:
        """Read, encode, bin, boost; return the attributes of the fitted estimator."""
        told = Callbacks(given.callbacks)
        rounds = self.rounds_to_do(given)
        train, watched = self.encode(*self.read(given))
        grow_round = self.prepare(train)
        told.before_fit(self.estimator)
        with progress(self.estimator.verbose, rounds.stop, rounds.start) as shown:
            watcher = self.watcher(rounds, watched, told, shown)
            try:
                trees = boost(grow_round, rounds, watcher)
            except DivergenceError as error:
                raise self._diverged() from error
        attributes = self.attributes(trees, watcher)
        if self.held_for_calibration is not None:
            model = attributes["_model"]
            attributes["_model"] = self.calibrated(model, self.held_for_calibration)
        told.after_fit(self.copy_with(attributes))
        return attributes

    def rounds_to_do(self, given: Given) -> range:
        """Return the rounds that are still to be grown, and find out what they go on from."""
        last = self.estimator.n_estimators
        if given.init_model is not None:
            self.start = read_start(given.init_model, self.estimator)
            last += self.rounds_done()
        elif self.rounds_done() > last:
            raise ParameterError(
                f"n_estimators={last} is less than the {self.rounds_done()} rounds that "
                "warm_start=True begins with."
            )
        if given.checkpoint is not None:
            self.checkpoint = CheckpointFile(given.checkpoint, given.checkpoint_every)
            self._resume(self.checkpoint)
        return range(min(self.rounds_done(), last), last)

    def _resume(self, file: CheckpointFile) -> None:
        found = file.found(self.estimator)
        if found is not None:
            self.resumed = found
            self.start, self.seed = found.model._model, found.seed  # noqa: SLF001
            file.data = found.data

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
        self._check_sampling(train)
        if self.estimator.calibration is not None:
            fraction, stratify = self.estimator.calibration_fraction, self._may_stratify()
            train, self.held_for_calibration = hold_out(
                train, fraction, self.seed, stratify, "calibration"
            )
        self.metrics = resolve_metrics(self.estimator.eval_metric, self.classes, self.loss)
        watched = read_eval_sets(given.eval_set, given.eval_names, self._read_more)
        if not self.estimator.early_stopping or watched:
            return train, watched
        fraction = self.estimator.validation_fraction
        train, held_out = hold_out(train, fraction, self.seed, self._may_stratify(), "validation")
        return train, {"validation": held_out}

    def _may_stratify(self) -> bool:
        return self.classes is not None and self.loss.n_targets == 1 and not self.loss.is_soft

    def calibrated(self, model: BoostedModel, held: Examples) -> BoostedModel:
        """Return the model with what rows that it was not trained on say of its predictions."""
        if self.loss.n_targets > 1:
            raise ParameterError("calibration needs a y of one column; fit a model for each.")
        scores = model.ensemble.predict_raw(model.matrix(held.table), n_threads=self.n_threads)
        if self.classes is None:
            prediction = prediction_of(scores, model.link).reshape(len(scores), -1)
            return replace(model, residuals=held.target[:, np.newaxis] - prediction)
        if self.loss.is_soft or model.link == "margin":
            raise ParameterError(
                f"loss={self.estimator.loss!r} cannot be calibrated: it has no classes or no "
                "probabilities."
            )
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
        self.loss = choose_loss(
            self.task, self.estimator, self.classes, count_targets(self.classes, target)
        )
        self._require_the_same_trees()
        examples = self._examples(table, target, given.sample_weight)
        if given.groups is not None:
            examples = replace(examples, groups=read_groups(given.groups, table.n_rows))
        return self.task.weigh(examples, self.estimator, self.classes)

    def _require_the_same_trees(self) -> None:
        """Refuse to go on from trees of another kind."""
        if self.start is None:
            return
        before = self.start.ensemble
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

    def _check_sampling(self, train: Examples) -> None:
        sampling, subsample = self.estimator.sampling, self.estimator.subsample
        if sampling == "balanced" and not self._may_stratify():
            raise ParameterError("sampling='balanced' draws rows by their class; there are none.")
        if sampling == "group" and train.groups is None:
            raise ParameterError("sampling='group' draws whole groups; fit must be given groups.")
        if sampling not in ("uniform", "balanced") and subsample == 1.0:
            raise ParameterError(
                f"sampling={sampling!r} draws the part subsample of the rows, but subsample=1.0 is "
                "all of them."
            )

    def _read_more(self, X: Any, y: Any, sample_weight: Any) -> Examples:
        table = self._read_table(X)
        target = self.task.read_target(y, table.n_rows, self.classes, self.estimator.loss)
        n_targets = count_targets(self.classes, target)
        if n_targets != self.loss.n_targets:
            raise DataError(f"y has {n_targets} columns, but that of fit {self.loss.n_targets}.")
        return self._examples(table, target, sample_weight)

    def _examples(self, table: Table, target: Floats, sample_weight: Any) -> Examples:
        objection = self.loss.objection(target)
        if objection:
            raise DataError(objection)
        return Examples(table, target, read_weights(sample_weight, table.n_rows))

    def _read_table(self, X: Any) -> Table:
        return self.estimator._read(X, self.schema)  # noqa: SLF001

    def encode(
        self, train: Examples, watched: dict[str, Examples]
    ) -> tuple[Examples, dict[str, Examples]]:
        """Let numbers stand for columns of many categories, as the training rows have them."""
        if self.start is None:
            many = self._many_categories()
            self.statistics, table = learn_encoding(
                train, many, self.classes, self.seed, self.n_threads
            )
        else:
            self.statistics = self.start.statistics
            table = encode_again(self.statistics, train, self.classes, self.n_threads)
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

    def prepare(self, train: Examples) -> GrowRound:
        """Bin the table; return the function that grows a round."""
        if self.start is None:
            self.binner = self._fit_binner(train)
            self.base_score = self.loss.base_score(train.target_by_output, train.weights)
        else:
            self.binner, self.base_score = self.start.binner, self.start.ensemble.base_score
        if self.checkpoint is not None:
            self.checkpoint.check_data(digest(train, self.binner))
        trainer = self._trainer(train)
        if self.start is not None:
            trainer.scores[...] = self._scores_so_far(self._matrix(train)).T
        grow_round: GrowRound = trainer.boost
        if not isinstance(self.loss, NativeLoss):
            grow_round = partial(_grow_with_gradients, trainer, self.loss, train)
        if self.estimator.boosting == "dart":
            self.dart = grow_round = self._dart(trainer, grow_round, train)
        return grow_round

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
            lambda trees: self._ensemble(trees).predict_raw(matrix, n_threads=self.n_threads).T,
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
            eval_sets=[self._eval_set(name, examples) for name, examples in watched.items()],
            metrics=self.metrics,
            best=BestRound(estimator.tol),
            patience=estimator.n_iter_no_change if estimator.early_stopping and watched else None,
            callbacks=told,
            progress=shown,
            build_model=lambda trees: self.copy_with(self.attributes(trees, None)),
            checkpoint=self._write_checkpoint if self.checkpoint else None,
            dart=self.dart,
            ensemble_of=self._ensemble,
        )
        if self.resumed is not None:
            watcher.recall(self.resumed.model, self.resumed.best)
        return watcher

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
        if watcher is not None and watcher.best.round:
            fitted |= {"best_iteration_": watcher.best.round, "best_score_": watcher.best.score}
        return fitted

    def copy_with(self, attributes: Attributes) -> Any:
        """Return a copy of the estimator, fitted."""
        fitted = copy.copy(self.estimator)
        adopt(fitted, attributes)
        return fitted

    def _trees_before(self) -> list[Tree]:
        """Return the trees of the model that this fit goes on from."""
        before = None if self.start is None else self.start.ensemble
        return [] if before is None else [before.tree(t) for t in range(before.n_trees)]

    def _ensemble(self, trees: Sequence[Tree]) -> Ensemble:
        outputs = np.arange(len(trees), dtype=np.int32) % self.trees_per_round
        return Ensemble.from_trees(trees, outputs, self.base_score, self.statistics.n_columns)

    def _model(self, trees: Sequence[Tree]) -> BoostedModel:
        ensemble = self._ensemble(trees)
        if not (np.isfinite(ensemble.value).all() and np.isfinite(ensemble.gain).all()):
            raise self._diverged()
        return BoostedModel(
            self.schema, self.statistics, self.binner, ensemble, self.loss.link, self.classes
        )

    def _diverged(self) -> ParameterError:
        return ParameterError(
            f"learning_rate={self.estimator.learning_rate!r} lets the scores grow beyond all "
            "bounds. Choose a smaller one, or a larger reg_lambda, or set max_delta_step."
        )

    def _eval_set(self, name: str, examples: Examples) -> EvalSet:
        matrix = self._matrix(examples)
        scores = self._scores_so_far(matrix)
        return EvalSet(name, matrix, examples.target, examples.weights, scores, self.n_threads)

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

    def leaf_rule(self) -> LeafRule | None:
        """Return how leaves of a written loss are replaced after a tree has grown."""
        if not isinstance(self.loss, WrittenLoss):
            return None
        estimator = self.estimator
        return LeafSearch(self.loss, estimator.learning_rate, estimator.max_delta_step)

    def _trainer(self, train: Examples) -> Trainer | ExactTrainer:
        loss = self.loss if isinstance(self.loss, NativeLoss) else None
        target = train.target_by_output
        weights = self.loss.row_weights(target, train.weights)
        options: dict[str, Any] = {
            "loss": loss,
            "n_outputs": self.loss.n_outputs,
            "base_score": self.base_score,
            "params": grow_params(self.estimator, loss, self.seed),
            "draws": self._draws(train),
            "colsample_bytree": self.estimator.colsample_bytree,
            "leaves": self.leaf_rule(),
            "n_threads": self.n_threads,
        }
        if self.estimator.splitter == "exact":
            flags = self.binner.is_categorical
            return ExactTrainer(self._matrix(train), flags, target, weights, **options)
        binned = self.binner.transform(train.table, threads=self.n_threads)
        return Trainer(binned, target, weights, vector=self.grows_vectors, **options)


def _require_histograms(estimator: Any) -> None:
    if estimator.multi_strategy == "vector" and estimator.splitter == "exact":
        raise ParameterError(
            "multi_strategy='vector' needs splitter='hist': exact splits are found for one output "
            "at a time."
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
    trainer: Trainer | ExactTrainer, loss: Loss, train: Examples, round_index: int
) -> Sequence[Tree]:
    gradient, hessian = loss.gradients(train.target, trainer.scores, train.weights)
    return trainer.boost_with(round_index, gradient, hessian)
