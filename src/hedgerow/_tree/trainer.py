"""The rounds of boosting on a training set: gradients of the loss, then trees that fit them.

`Trainer` decides which rows a round samples and how leaves are updated. Its engine (`engine.py`)
holds the rows, with their scores and gradients, and grows the trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._collective import workers
from hedgerow._tree.engine import Bag, Engine, HistogramEngine
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.leaves import LeafQuantiles, LeafRows, LeafSlopes, LeafUpdate, TrainerLoss
from hedgerow._tree.monotone import MonotoneLeaves
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats

Sampling = Literal["uniform", "balanced", "group", "gradient", "minimal_variance"]
BY_GRADIENT = ("gradient", "minimal_variance")


class DivergenceError(ArithmeticError):
    """The scores have become so large that the sums of their gradients overflow."""


class BoostsRounds(Protocol):
    """The interface of a trainer for the rounds."""

    @property
    def scores(self) -> Floats:
        """Scores of the rows, (n_outputs, n_rows), all trees so far included; may be written."""

    def boost(self, round_index: int) -> list[Tree]:
        """Grow one round on the gradients of a built-in loss."""

    def boost_rounds(self, rounds: range) -> Sequence[Tree]:
        """Grow several rounds as `boost` does."""

    def boost_with(self, round_index: int, gradient: Floats, hessian: Floats) -> list[Tree]:
        """Grow one round on the gradients of a user-defined loss."""


class Trainer:
    """Boosts on one training set.

    Parameters
    ----------
    engine : Engine
        The rows, with their scores and gradients.
    target : float64 array (n_rows,) or (n_outputs, n_rows)
        Numbers, or class numbers 0 … K-1; one for all outputs, or one for each.
    weights : float64 array (n_rows,), optional
        Sample weights.
    loss : TrainerLoss, optional
        None for a user-defined loss, whose gradients are passed to `boost_with`.
    params : GrowthParams
        The growth parameters.
    row_sampler : RowSampler, optional
        The rows of each round; all by default.
    leaf_update : LeafUpdate, optional
        Replaces the leaf values if the loss is user-defined.
    slopes : LeafSlopes, optional
        Fits linear leaves; None for constant leaves.
    n_threads : int
        Maximum number of threads; the trees do not depend on it.
    """

    def __init__(
        self,
        engine: Engine,
        target: Floats,
        weights: Floats | None,
        *,
        loss: TrainerLoss | None,
        params: GrowthParams,
        row_sampler: RowSampler | None = None,
        leaf_update: LeafUpdate | None = None,
        slopes: LeafSlopes | None = None,
        n_threads: int = 1,
    ) -> None:
        self._engine = engine
        self._target, self._weights, self._loss = np.atleast_2d(target), weights, loss
        update = leaf_update or leaf_update_for(loss, params)
        self._leaf_update = _monotone(update, params, is_always=not engine.keeps_monotone)
        self._slopes, self._n_threads = slopes, n_threads
        self._row_sampler = row_sampler or RowSampler(self._target.shape[1])

    @property
    def scores(self) -> Floats:
        """Scores of the rows, (n_outputs, n_rows), all trees so far included; may be written."""
        return self._engine.scores

    def boost(self, round_index: int) -> list[Tree]:
        """Grow one round: compute the gradients, then fit a tree, or one for each output."""
        assert self._loss is not None
        sampling = self._row_sampler.by_gradient(round_index)
        with _divergence(), workers().phase("gradients"):
            sample = self._engine.differentiate(self._loss, self._target, self._weights, sampling)
        return self._grow(round_index, self._row_sampler.bag(round_index, sample))

    def boost_rounds(self, rounds: range) -> Sequence[Tree]:
        """Grow several rounds as `boost` does, in fewer calls where that is possible."""
        engine, loss = self._engine, self._loss
        if not isinstance(engine, HistogramEngine) or not engine.boosts_rounds or self._has_steps:
            return [tree for index in rounds for tree in self.boost(index)]
        assert loss is not None
        sampling = self._row_sampler.fraction, self._row_sampler.seed
        with _divergence():
            return engine.boost(loss, self._target, self._weights, sampling, rounds)

    @property
    def _has_steps(self) -> bool:
        """Whether a round has steps in Python, between the kernels."""
        replaces_leaves = self._leaf_update is not None or self._slopes is not None
        is_adaptive = self._loss is not None and self._loss.is_adaptive
        return replaces_leaves or is_adaptive or not self._row_sampler.is_plain

    def boost_with(self, round_index: int, gradient: Floats, hessian: Floats) -> list[Tree]:
        """Grow one round on gradients (n_outputs, n_rows), weights multiplied in."""
        sampling = self._row_sampler.by_gradient(round_index)
        with _divergence(), workers().phase("gradients"):
            sample = self._engine.take(gradient, hessian, sampling)
        return self._grow(round_index, self._row_sampler.bag(round_index, sample))

    def _grow(self, round_index: int, bag: Bag) -> list[Tree]:
        n_trees = self._engine.n_trees
        trees = []
        for output in range(n_trees):
            with workers().phase("trees"):
                tree = self._engine.grow(output, bag, round_index * n_trees + output)
            outputs = range(output, self._engine.n_outputs, n_trees)
            if self._leaf_update is not None:
                for served in outputs:
                    self._replace_leaves(tree, served, bag)
            if self._slopes is not None:
                gradients = [self._engine.gradients(served) for served in outputs]
                leaf = self._engine.leaf_of_row(output)
                tree = self._slopes.fit(tree, gradients, leaf, bag.rows, self._n_threads)
            self._engine.add(tree, output, self._slopes)
            trees.append(tree)
        return trees

    def _replace_leaves(self, tree: Tree, output: int, bag: Bag) -> None:
        assert self._leaf_update is not None
        all_scores = self._engine.scores
        target, scores = self._target[output % len(self._target)], all_scores[output]
        weights = bag.weights(self._weights, len(scores))
        leaf = self._engine.leaf_of_row(output)
        rows = LeafRows(target, scores, all_scores, weights, leaf, bag.rows)
        values = self._leaf_update.replace(tree, output, rows, self._n_threads)
        self._engine.set_leaf_values(output, values)


class Reduction(Protocol):
    """Sums and maxima over all workers, each of which has some of the rows.

    All workers call the same methods with arrays of the same length, in the same order.
    """

    def sum(self, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the sum of each number over all workers."""

    def max(self, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the maximum of each number over all workers."""


@dataclass(frozen=True)
class RowSampler:
    """Samples the rows of each round.

    Attributes
    ----------
    n_rows : int
        Rows of the training set.
    fraction : float
        Expected fraction of the rows in a round.
    seed : int
        Random seed.
    sampling : {"uniform", "balanced", "group", "gradient", "minimal_variance"}
        "balanced" samples as many rows of each class as of the rarest, times `fraction`; "group"
        samples whole groups; the last two sample by gradients, with larger weights for rows that
        are sampled with a smaller probability.
    row_class : int32 array (n_rows,), optional
        The class of each row, for "balanced".
    row_group : int32 array (n_rows,), optional
        The group of each row, for "group".
    reg_lambda : float
        λ, used by "minimal_variance".
    first_row : int
        The number of the first row, if other workers have rows before it.
    n_total : int, optional
        Rows of all workers; `n_rows` by default.
    reduction : Reduction, optional
        Sums over all workers; None for a worker that has all rows.
    """

    n_rows: int
    fraction: float = 1.0
    seed: int = 0
    sampling: Sampling = "uniform"
    row_class: NDArray[np.int32] | None = None
    row_group: NDArray[np.int32] | None = None
    reg_lambda: float = 1.0
    first_row: int = 0
    n_total: int | None = None
    reduction: Reduction | None = None

    @property
    def is_plain(self) -> bool:
        """Whether each row is sampled by itself, all with the same probability."""
        return self.sampling == "uniform" and self.reduction is None

    def by_gradient(self, round_index: int) -> _native.Draw | None:
        """Return the sampling by gradients; None if it is not by gradients."""
        if self.sampling not in BY_GRADIENT or self.fraction >= 1.0:
            return None
        return _native.Draw(
            self.sampling, self.fraction, self.reg_lambda, self.seed, round_index,
            self.first_row, self.n_total or self.n_rows, self.reduction,
        )  # fmt: skip

    def bag(
        self, round_index: int, gradient_sample: tuple[NDArray[np.uint32], Floats] | None
    ) -> Bag:
        """Return the rows of a round; `gradient_sample` is the result of sampling by gradients."""
        if gradient_sample is not None:
            rows, factor = gradient_sample
            return Bag(self._one_row(round_index)) if self._is_empty(rows) else Bag(rows, factor)
        if self.fraction >= 1.0 and self.sampling != "balanced":
            return Bag(None)
        classes = self.row_class if self.sampling == "balanced" else None
        groups = self.row_group if self.sampling == "group" else None
        fractions = np.array([self.fraction]) if classes is None else self._balance(classes)
        rows = _native.sample_rows(
            self.seed, round_index, self.n_rows, fractions, classes, groups, self.first_row
        )
        return Bag(self._one_row(round_index) if self._is_empty(rows) else rows)

    def _balance(self, classes: NDArray[np.int32]) -> Floats:
        """Return the fraction of each class."""
        counts: NDArray[Any] = np.bincount(classes)
        if self.reduction is not None:
            (n_classes,) = self.reduction.max(np.array([len(counts)], np.uint64))
            padded = np.bincount(classes, minlength=int(n_classes))
            counts = self.reduction.sum(padded.astype(np.uint64))
        rarest = counts[counts > 0].min()
        return self.fraction * rarest / np.maximum(counts, 1)

    def _is_empty(self, rows: NDArray[np.uint32]) -> bool:
        """Return whether no worker has a row."""
        if self.reduction is None:
            return len(rows) == 0
        return not self.reduction.sum(np.array([len(rows)], np.uint64)).any()

    def _one_row(self, round_index: int) -> NDArray[np.uint32]:
        """Return one row, since a round must not be empty; none if another worker has it."""
        row = round_index % (self.n_total or self.n_rows) - self.first_row
        return np.array([row] if 0 <= row < self.n_rows else [], np.uint32)


@contextmanager
def _divergence() -> Iterator[None]:
    """Distinguish a kernel's overflow from one that a user-defined function raises."""
    try:
        yield
    except OverflowError as error:
        raise DivergenceError(*error.args) from error


def leaf_update_for(loss: TrainerLoss | None, params: GrowthParams) -> LeafUpdate | None:
    """Return the rule that replaces leaf values; None if they are those of the grower."""
    if loss is None or not loss.is_piecewise_linear:
        return None
    return LeafQuantiles(loss, params.learning_rate, params.max_delta_step)


def _monotone(
    update: LeafUpdate | None, params: GrowthParams, *, is_always: bool
) -> LeafUpdate | None:
    """Return the rule with monotone constraints, which a replacement of values may violate."""
    if not params.directions or (update is None and not is_always):
        return update
    return MonotoneLeaves(update, params.directions, params.reg_lambda)
