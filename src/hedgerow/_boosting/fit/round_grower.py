"""Growers of the rounds of a fit: of one boosted model (also DART), or of several to be averaged.

Several models are grown side by side, on threads that they share.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from hedgerow import _native
from hedgerow._boosting.fit.choice import Choice
from hedgerow._boosting.fit.dart import DartRounds, Drops
from hedgerow._boosting.fit.dataset import Dataset
from hedgerow._boosting.fit.fit_data import Problem, Settings, no_slopes
from hedgerow._boosting.fit.loop import RoundGrower
from hedgerow._boosting.fit.training_set import TrainingSet
from hedgerow._boosting.losses import FormulaLoss
from hedgerow._boosting.losses.formula import LeafSearch
from hedgerow._boosting.losses.leaf_minimum import LeafMinimum
from hedgerow._boosting.losses.regression import RobustLoss
from hedgerow._boosting.model import BoostedModel
from hedgerow._collective import workers
from hedgerow._cuda import self_check
from hedgerow._cuda.engine import CudaEngine
from hedgerow._data.binning import BinnedMatrix, UnbinnedMatrix
from hedgerow._data.sparse_bins import SparseBinnedMatrix
from hedgerow._data.target_statistics import TargetStatistics
from hedgerow._threads import SideBySide
from hedgerow._tree.approx import ApproxEngine, SketchedTable
from hedgerow._tree.engine import Engine, ExactEngine, HistogramEngine
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.leaves import LeafSlopes
from hedgerow._tree.structure import Ensemble, Tree, TreeList
from hedgerow._tree.trainer import RowSampler, Trainer
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError

GrowRounds = Callable[[range], Sequence[Tree]]
_ROUNDS_PER_STEP = 8  # of one model, before a thread turns to another


def round_grower(
    training_set: TrainingSet,
    settings: Settings,
    initial_model: BoostedModel | None,
    choice: Choice | None = None,
) -> RoundGrower:
    """Return what grows the rounds of a fit, after those of the initial model.

    An automatic choice may be of several models.
    """
    if choice is not None and choice.n_members > 1:
        return BaggedRounds.of(training_set, settings, initial_model, choice)
    trainer = _trainer(training_set, settings)
    trees: list[Tree] = []
    train = training_set.train
    if initial_model is not None:
        ensemble, n_threads = initial_model.ensemble, settings.n_threads
        rows = training_set.rows(train, n_threads)
        scores = ensemble.predict_raw(rows, offset=train.offset, n_threads=n_threads)
        trainer.scores[...] = scores.T
        trees = ensemble.trees()
    elif train.offset is not None:
        trainer.scores[...] += train.offset.T
    if settings.params.linear_leaves:
        _require_hessians(training_set, settings, trainer.scores)
    grow_rounds = _grow_rounds(trainer, training_set, settings)
    if settings.params.boosting == "dart":
        return _dart(training_set, settings, trainer, grow_rounds, trees)
    return BoostedRounds(grow_rounds, trees)


class BoostedRounds:
    """The rounds of one model, none of which changes earlier ones."""

    revises_trees = has_revised = False

    def __init__(self, grow_rounds: GrowRounds, trees: Sequence[Tree]) -> None:
        self._grow_rounds, self.trees = grow_rounds, TreeList(trees)

    def grow(self, rounds: range) -> Sequence[Tree]:
        """Grow the trees of some rounds, and return them."""
        grown = self._grow_rounds(rounds)
        self.trees += grown
        return grown

    def close(self) -> None:
        """Do nothing: there are no threads to end."""


class BaggedRounds:
    """The mean of several boosted models, which are grown side by side.

    They have different seeds, and may have different parameters.

    The ensemble has a round of each model in turn, with leaf values divided by the number of
    models. So the sum of the first rounds is the mean of the models at that time. The number is a
    power of 2: division by it is exact, and a resumed fit recovers the scores of each model.
    """

    revises_trees = has_revised = False

    def __init__(
        self, members: Sequence[RoundGrower], n_workers: int, trees: Sequence[Tree] = ()
    ) -> None:
        self._members = members
        # The trees of each model's rounds that were grown, but not yet returned.
        self._ahead: list[deque[list[Tree]]] = [deque() for _ in members]
        self._threads = SideBySide(min(n_workers, len(members)))
        self.trees = list(trees)

    @classmethod
    def of(
        cls,
        training_set: TrainingSet,
        settings: Settings,
        initial_model: BoostedModel | None,
        choice: Choice,
    ) -> BaggedRounds:
        """Set up a grower for each model, after its own rounds of the initial model."""
        n_models = choice.n_members
        n_threads = max(1, settings.n_threads // n_models)
        members = []
        for number, seed in enumerate(member_seeds(settings.seed, n_models)):
            own_model = initial_model
            if initial_model is not None:
                own = member_of(initial_model.ensemble, number, n_models)
                own_model = replace(initial_model, ensemble=own)
            own_settings = settings.with_chosen(choice.member(number))
            own_settings = replace(own_settings, seed=seed, n_threads=n_threads)
            members.append(round_grower(training_set, own_settings, own_model))
        # A user's function may not expect calls from several threads; and workers that compute
        # together, or share a GPU, must do everything in the same order.
        is_alone = workers().size == 1 and settings.params.device == "cpu"
        is_parallel = training_set.problem.is_native and is_alone
        n_workers = settings.n_threads if is_parallel else 1
        return cls(
            members, n_workers, [] if initial_model is None else initial_model.ensemble.trees()
        )

    def grow(self, rounds: range) -> Sequence[Tree]:
        """Return the trees of some rounds; rounds must be requested in order."""
        n_members = len(self._members)
        # Rounds of all models up to the same one, for they are grown in parallel.
        last = -(-rounds.stop // n_members)
        self._threads.run(
            [
                self._grow_member(number, range(-(-(rounds.start - number) // n_members), last))
                for number in range(n_members)
            ]
        )
        grown = [tree for index in rounds for tree in self._ahead[index % n_members].popleft()]
        self.trees += grown
        return grown

    def close(self) -> None:
        """End the threads."""
        self._threads.close()

    def _grow_member(self, number: int, rounds: range) -> Iterator[None]:
        """Grow those rounds of a model that have not been grown yet, a few in each step."""
        ahead, scale = self._ahead[number], 1.0 / len(self._members)
        rounds = rounds[len(ahead) :]
        for first in rounds[::_ROUNDS_PER_STEP]:
            some = range(first, min(first + _ROUNDS_PER_STEP, rounds.stop))
            trees = [tree.scaled(scale) for tree in self._members[number].grow(some)]
            per_round = len(trees) // len(some)
            ahead.extend(trees[t : t + per_round] for t in range(0, len(trees), per_round))
            yield


def member_seeds(seed: int, n_models: int) -> list[int]:
    """Return a seed for each model; the first has the seed of the fit."""
    others = _native.hashes(seed, "member_seed", 0, 1, n_models - 1)
    return [seed, *(int(other >> 33) for other in others)]


def member_of(ensemble: Ensemble, number: int, n_models: int) -> Ensemble:
    """Return one of the models whose mean an ensemble is."""
    return ensemble.of_rounds(range(number, ensemble.n_rounds, n_models)).scaled(n_models)


def _grow_rounds(trainer: Trainer, training_set: TrainingSet, settings: Settings) -> GrowRounds:
    """Return the function that grows rounds, for a built-in loss or any other."""
    if training_set.problem.native_loss is not None:
        return trainer.boost_rounds
    train, loss = training_set.train, training_set.problem.loss
    differentiate = loss.differentiator(train.target_by_output, train.weights, settings.n_threads)

    def grow_rounds(rounds: range) -> list[Tree]:
        return [
            tree
            for index in rounds
            for tree in trainer.boost_with(index, *differentiate(trainer.scores))
        ]

    return grow_rounds


def _require_hessians(training_set: TrainingSet, settings: Settings, scores: Floats) -> None:
    """Refuse linear leaves with a formula loss whose hessian is zero."""
    train, loss = training_set.train, training_set.problem.loss
    if not isinstance(loss, FormulaLoss):
        return
    loss.gradients(train.target.T, scores, train.weights)
    if loss.is_piecewise_linear.any():
        raise no_slopes(settings.params)


def _dart(
    training_set: TrainingSet,
    settings: Settings,
    trainer: Trainer,
    grow_rounds: GrowRounds,
    trees: Sequence[Tree],
) -> DartRounds:
    params, n_threads, offset = settings.params, settings.n_threads, training_set.train.offset
    rows = training_set.rows(training_set.train, n_threads)

    def score(trees: Sequence[Tree]) -> Floats:
        ensemble = training_set.ensemble(trees)
        return ensemble.predict_raw(rows, offset=offset, n_threads=n_threads).T

    return DartRounds(
        trainer,
        grow_rounds,
        Drops(params.drop_rate, params.skip_drop, params.max_drop, settings.seed),
        params.learning_rate,
        score,
        trees,
    )


def _trainer(training_set: TrainingSet, settings: Settings) -> Trainer:
    train, problem, params = training_set.train, training_set.problem, settings.params
    target = train.target_by_output
    growth = growth_params(problem, settings, training_set.statistics)
    slopes = None
    if params.linear_leaves:
        slopes = LeafSlopes(training_set.matrix(train), growth, params.linear_lambda)
    return Trainer(
        _engine(training_set, settings, growth),
        target,
        problem.loss.row_weights(target, train.weights),
        loss=problem.native_loss,
        params=growth,
        row_sampler=row_sampler(train, settings),
        leaf_update=leaf_search(problem, settings, train),
        slopes=slopes,
        n_threads=settings.n_threads,
    )


def _engine(training_set: TrainingSet, settings: Settings, growth: GrowthParams) -> Engine:
    """Return what holds the rows and grows the trees: the one place where engines are chosen."""
    base_score, n_threads = training_set.base_score, settings.n_threads
    vector = training_set.problem.has_vector_leaves
    if settings.params.splitter != "hist":
        matrix = training_set.matrix(training_set.train)
        is_categorical = training_set.binner.is_categorical
        if settings.params.splitter == "exact":
            return ExactEngine(matrix, is_categorical, growth, base_score, n_threads=n_threads)
        n_bins = training_set.binner.n_bins
        sketch = settings.params.sketch
        return ApproxEngine(
            SketchedTable(matrix, is_categorical, n_bins, n_threads, often=sketch == "tree"),
            growth,
            base_score,
            max_bins=settings.params.max_bins,
            sketch=sketch,
            vector=vector,
            n_threads=n_threads,
        )
    binned = training_set.binned
    if settings.params.device != "cpu":
        device = self_check.open_checked_device(settings.params.device)
        assert isinstance(binned, BinnedMatrix | UnbinnedMatrix)
        return CudaEngine(binned, growth, base_score, device)
    assert isinstance(binned, BinnedMatrix | SparseBinnedMatrix)
    return HistogramEngine(binned, growth, base_score, vector=vector, n_threads=n_threads)


def growth_params(
    problem: Problem, settings: Settings, statistics: TargetStatistics
) -> GrowthParams:
    """Return how trees are grown: parameters of the estimator, the loss and the columns."""
    native = problem.native_loss
    decay_rate, growth_rate = (0.0, 0.0) if native is None else native.leaf_rates
    constraints = vars(problem.constraints)
    if statistics.columns:  # trees split more columns than the table has
        constraints = problem.constraints.of_columns(statistics.sources.tolist())
    return GrowthParams.of(
        settings.params,
        leaf_decay_rate=decay_rate,
        leaf_growth_rate=growth_rate,
        seed=settings.seed,
        **constraints,
    )


def leaf_search(
    problem: Problem, settings: Settings, train: Dataset
) -> LeafSearch | LeafMinimum | None:
    """Return how leaf values are replaced after a tree has grown, if they are searched for."""
    params, target = settings.params, train.target_by_output
    rate, max_step = params.learning_rate, params.max_delta_step
    if isinstance(problem.loss, FormulaLoss):
        return LeafSearch(problem.loss, target, rate, max_step)
    if vars(params).get("leaf_step", "newton") == "newton":
        return None
    if not isinstance(problem.loss, RobustLoss):
        if problem.loss.n_outputs > 1:
            raise ParameterError(
                f"leaf_step='minimum' supports one output, but y has {problem.loss.n_outputs}."
            )
        return None  # a warning has said that it has no effect
    weights = problem.loss.row_weights(target, train.weights)
    penalties = float(params.reg_lambda), float(params.reg_alpha)
    return LeafMinimum(problem.loss, weights, rate, max_step, *penalties)


def row_sampler(train: Dataset, settings: Settings) -> RowSampler:
    """Return how the rows of each round are sampled."""
    params, together, n_rows = settings.params, workers(), train.table.n_rows
    return RowSampler(
        n_rows=n_rows,
        fraction=params.subsample,
        seed=settings.seed,
        sampling=params.sampling,
        row_class=train.target.astype(np.int32) if params.sampling == "balanced" else None,
        row_group=train.groups if params.sampling == "group" else None,
        reg_lambda=params.reg_lambda,
        first_row=together.first_row(n_rows),
        n_total=together.count(n_rows),
        reduction=together.reduction,
    )
