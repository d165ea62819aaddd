"""The rounds of one model: the trainer that the parameters mean, and what goes on in each round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from hedgerow._boosting.fit.dart import DartRounds, Drops
from hedgerow._boosting.fit.problem import Problem, no_slopes
from hedgerow._boosting.fit.settings import Settings
from hedgerow._boosting.fit.training_data import Examples
from hedgerow._boosting.fit.training_set import Prepared
from hedgerow._boosting.losses import Differentiate, FormulaLoss
from hedgerow._boosting.losses.formula import LeafSearch
from hedgerow._boosting.model import BoostedModel
from hedgerow._data.target_statistics import TargetStatistics
from hedgerow._tree.engine import Engine, ExactEngine, HistogramEngine
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.leaves import LeafSlopes
from hedgerow._tree.row_sampling import RowSampler
from hedgerow._tree.structure import Tree
from hedgerow._tree.trainer import Trainer
from hedgerow._types import Floats

GrowRound = Callable[[int], Sequence[Tree]]


def rounds_of_one(prepared: Prepared, settings: Settings, start: BoostedModel | None) -> GrowRound:
    """Return the function that grows a round of one model, after those of `start` if it has any."""
    train, loss = prepared.train, prepared.problem.loss
    trainer = _trainer(prepared, settings)
    if start is not None:
        matrix, n_threads = prepared.matrix(train), settings.n_threads
        trainer.scores[...] = start.ensemble.predict_raw(matrix, n_threads=n_threads).T
    if settings.estimator.linear_leaves:
        _require_hessians(prepared, settings, trainer.scores)
    grow_round: GrowRound = trainer.boost
    if prepared.problem.native_loss is None:
        rows = train.target_by_output, train.weights
        differentiate = loss.differentiator(*rows, settings.n_threads)
        grow_round = partial(_grow_with_gradients, trainer, differentiate)
    if settings.estimator.boosting == "dart":
        trees = [] if start is None else start.ensemble.trees()
        return _dart(prepared, settings, trainer, grow_round, trees)
    return grow_round


def _grow_with_gradients(
    trainer: Trainer, differentiate: Differentiate, round_index: int
) -> Sequence[Tree]:
    return trainer.boost_with(round_index, *differentiate(trainer.scores))


def _require_hessians(prepared: Prepared, settings: Settings, scores: Floats) -> None:
    """Raise if a formula loss is piecewise linear: slopes of linear leaves need hessians."""
    train, loss = prepared.train, prepared.problem.loss
    if not isinstance(loss, FormulaLoss):
        return
    loss.gradients(train.target.T, scores, train.weights)
    if loss.is_piecewise_linear.any():
        raise no_slopes(settings.estimator)


def _dart(
    prepared: Prepared,
    settings: Settings,
    trainer: Trainer,
    grow_round: GrowRound,
    trees: Sequence[Tree],
) -> DartRounds:
    """Return rounds with drops, of which `trees` may be dropped as well."""
    estimator, n_threads = settings.estimator, settings.n_threads
    matrix = prepared.matrix(prepared.train)
    return DartRounds(
        trainer,
        grow_round,
        Drops(estimator.drop_rate, estimator.skip_drop, estimator.max_drop, settings.seed),
        estimator.learning_rate,
        lambda trees: prepared.ensemble(trees).predict_raw(matrix, n_threads=n_threads).T,
        trees,
    )


def _trainer(prepared: Prepared, settings: Settings) -> Trainer:
    train, problem, estimator = prepared.train, prepared.problem, settings.estimator
    target = train.target_by_output
    params = grow_params(problem, settings, prepared.statistics)
    slopes = None
    if estimator.linear_leaves:
        slopes = LeafSlopes(prepared.matrix(train), params, estimator.linear_lambda)
    return Trainer(
        _engine(prepared, settings, params),
        target,
        problem.loss.row_weights(target, train.weights),
        loss=problem.native_loss,
        params=params,
        row_sampler=row_draws(train, settings),
        leaf_update=leaf_search(problem, settings, train),
        slopes=slopes,
        n_threads=settings.n_threads,
    )


def _engine(prepared: Prepared, settings: Settings, params: GrowthParams) -> Engine:
    """Return what holds the rows and grows the trees: the one place where engines are chosen."""
    base_score, n_threads = prepared.base_score, settings.n_threads
    if settings.estimator.splitter == "exact":
        matrix, flags = prepared.matrix(prepared.train), prepared.binner.is_categorical
        return ExactEngine(matrix, flags, params, base_score, n_threads=n_threads)
    assert prepared.binned is not None
    vector = prepared.problem.grows_vectors
    return HistogramEngine(prepared.binned, params, base_score, vector=vector, n_threads=n_threads)


def grow_params(problem: Problem, settings: Settings, statistics: TargetStatistics) -> GrowthParams:
    """Return the parameters of growth: the estimator's, and those of the loss and the columns."""
    native = problem.native_loss
    decay_rate, growth_rate = (0.0, 0.0) if native is None else native.leaf_rates
    return GrowthParams.of(
        settings.estimator,
        leaf_decay_rate=decay_rate,
        leaf_growth_rate=growth_rate,
        seed=settings.seed,
        **problem.constraints.of_columns(statistics.sources.tolist()),
    )


def leaf_search(problem: Problem, settings: Settings, rows: Examples) -> LeafSearch | None:
    """Return how the leaf values of a formula loss are found, after a tree has grown."""
    if not isinstance(problem.loss, FormulaLoss):
        return None
    rate, most = settings.estimator.learning_rate, settings.estimator.max_delta_step
    return LeafSearch(problem.loss, rows.target_by_output, rate, most)


def row_draws(train: Examples, settings: Settings) -> RowSampler:
    """Return how each round draws its rows."""
    estimator = settings.estimator
    kind = unit = None
    if estimator.sampling == "balanced":
        kind = train.target.astype(np.int32)
    if estimator.sampling == "group":
        assert train.groups is not None
        unit = train.groups
    return RowSampler(
        n_rows=train.table.n_rows,
        fraction=estimator.subsample,
        seed=settings.seed,
        sampling=estimator.sampling,
        row_class=kind,
        row_group=unit,
        reg_lambda=estimator.reg_lambda,
    )
