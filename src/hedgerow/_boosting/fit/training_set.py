"""The training set as trees see it: categories encoded, values binned, and the base score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._boosting.fit.dataset import Dataset
from hedgerow._boosting.fit.encoding import encode_again, learn_encoding
from hedgerow._boosting.fit.fit_data import Problem, Settings
from hedgerow._boosting.fit.loop import EvalSet
from hedgerow._boosting.losses import BaseLoss
from hedgerow._collective import workers
from hedgerow._cuda import self_check
from hedgerow._cuda.device import Device
from hedgerow._cuda.intake import DeviceRows, copy_rows, rows_of_array
from hedgerow._cuda.thresholds import find_thresholds
from hedgerow._data.binned_rows import BinnedRows, TreeRows, rows_of
from hedgerow._data.binning import BinnedMatrix, Binner, UnbinnedMatrix, is_array_of_floats
from hedgerow._data.intake import NumericColumn, Table, TableSchema, as_matrix
from hedgerow._data.sparse_bins import SparseBinnedMatrix, bin_stored, stays_sparse
from hedgerow._data.target_statistics import TargetStatistics
from hedgerow._estimator import Estimator
from hedgerow._tree.structure import Ensemble, Tree
from hedgerow._types import Floats
from hedgerow.exceptions import DataError

TrainingRows = BinnedMatrix | SparseBinnedMatrix | UnbinnedMatrix


@dataclass(frozen=True)
class EncodedRows:
    """Rows that are encoded like the training set, and the same as trees read them."""

    dataset: Dataset
    rows: TreeRows


@dataclass(frozen=True)
class TrainingSet:
    """An encoded and binned training set, and how other rows are encoded and binned like it.

    Attributes
    ----------
    problem : Problem
        What is learned.
    train : Dataset
        The rows, with target statistics in place of features with many categories.
    statistics : TargetStatistics
        The target statistics.
    binner : Binner
        The bins.
    binned : BinnedMatrix, SparseBinnedMatrix or UnbinnedMatrix, optional
        The rows for the engine, unless splits are exact: binned, or to be binned by it.
    base_score : array of shape (n_outputs,)
        The scores before the first round.
    """

    problem: Problem
    train: Dataset
    statistics: TargetStatistics
    binner: Binner
    binned: TrainingRows | None
    base_score: Floats

    def encode(self, dataset: Dataset) -> Dataset:
        """Encode other rows like the training set."""
        if not self.statistics.columns:
            return dataset
        return replace(dataset, table=self.statistics.encode(dataset.table))

    def matrix(self, encoded: Dataset) -> NDArray[Any]:
        """Return encoded rows as the matrix that trees split."""
        return as_matrix(encoded.table, self.binner.category_bins)

    def rows(self, encoded: Dataset, n_threads: int = 1) -> TreeRows:
        """Return encoded rows as trees read them: that matrix, if not sparse or in files."""
        if encoded.table.sparse is None and not encoded.table.is_streamed:
            return self.matrix(encoded)
        if encoded.table.is_streamed and encoded is self.train and self.binned is not None:
            assert isinstance(self.binned, BinnedMatrix)
            return BinnedRows(self.binned.by_column, self.binner)
        return rows_of(encoded.table, self.binner, n_threads)

    def encoded_rows(self, dataset: Dataset, n_threads: int) -> EncodedRows:
        """Encode rows that nobody else needs, and return them as trees read them."""
        encoded = self.encode(dataset)
        if encoded.table.sparse is None and not encoded.table.is_streamed:
            return EncodedRows(encoded, self.matrix(encoded))
        return EncodedRows(encoded, rows_of(encoded.table, self.binner, n_threads, drops=True))

    def bins(self, encoded: EncodedRows, n_threads: int) -> NDArray[np.uint8]:
        """Return the bins of encoded rows, (n_features, n_rows)."""
        if isinstance(encoded.rows, BinnedRows):
            return encoded.rows.by_column
        table = encoded.dataset.table
        return self.binner.transform(table, columns_only=True, threads=n_threads).by_column

    def train_bins(self, n_threads: int) -> NDArray[np.uint8]:
        """Return the bins of the training set, (n_features, n_rows)."""
        if isinstance(self.binned, BinnedMatrix):
            return self.binned.by_column
        return self.bins(EncodedRows(self.train, self.rows(self.train, n_threads)), n_threads)

    def ensemble(self, trees: Sequence[Tree]) -> Ensemble:
        """Return an ensemble of trees, round after round."""
        outputs = np.arange(len(trees), dtype=np.int32) % self.problem.trees_per_round
        return Ensemble.from_trees(trees, outputs, self.base_score, self.train.table.n_features)

    def eval_set(self, name: str, encoded: Dataset, rows: TreeRows, n_threads: int) -> EvalSet:
        """Return an evaluation set with its scores before the first round of this fit."""
        initial_model = self.problem.initial_model
        if initial_model is None:
            scores = np.tile(self.base_score, (len(rows), 1))
            if encoded.offset is not None:
                scores += encoded.offset
        else:
            ensemble, offset = initial_model.ensemble, encoded.offset
            scores = ensemble.predict_raw(rows, offset=offset, n_threads=n_threads)
        return EvalSet(
            *(name, rows, encoded.target, encoded.weights, encoded.offset, scores),
            *(self.problem.trees_per_round, n_threads),
        )


def encode_and_bin(
    problem: Problem, settings: Settings, train: Dataset, *, drops: bool = False
) -> TrainingSet:
    """Encode and bin a training set; like the initial model, if there is one.

    `drops` if nobody needs its numbers afterwards, where bins suffice.
    """
    n_threads, initial_model = settings.n_threads, problem.initial_model
    binned: TrainingRows | None
    if initial_model is None:
        statistics, schema, train = _encode(problem, settings, train)
        binner, binned = _fit_binner(problem, schema, settings, train, drops)
        balanced = train.balanced_like(train) if settings.is_balanced else train
        base_score = base_score_of(problem.loss, balanced)
        if settings.params.init == "zero":
            base_score = np.zeros_like(base_score)
    else:
        statistics, binner = initial_model.statistics, initial_model.binner
        train = encode_like_initial_model(problem, train, n_threads)
        base_score = initial_model.ensemble.base_score
        binned = None
        if settings.params.splitter == "hist":
            binned = _transform(problem, settings, train, binner, drops)
    return TrainingSet(problem, train, statistics, binner, binned, base_score)


def base_score_of(loss: BaseLoss, train: Dataset) -> Floats:
    """Return the best constant scores, beside the offset if there is one."""
    target, weights, offset = train.target_by_output, train.weights, train.offset
    if offset is None or not workers().any(bool(offset.any())):
        return loss.base_score(target, weights)
    base_score = loss.base_score_given(np.ascontiguousarray(offset.T), target, weights)
    if not np.isfinite(base_score).all():
        raise DataError(
            "offset: its values range from "
            f"{workers().smallest(offset.min(initial=np.inf)):.3g} to "
            f"{workers().largest(offset.max(initial=-np.inf)):.3g}, so that the loss overflows. An "
            "offset is added to scores: with a log link, it is the logarithm of a factor."
        )
    return base_score


def encode_like_initial_model(problem: Problem, train: Dataset, n_threads: int) -> Dataset:
    """Encode a training set with the statistics of the initial model."""
    assert problem.initial_model is not None
    statistics, loss, classes = problem.initial_model.statistics, problem.loss, problem.classes
    return replace(train, table=encode_again(statistics, train, loss, classes, n_threads))


def _encode(
    problem: Problem, settings: Settings, train: Dataset
) -> tuple[TargetStatistics, TableSchema, Dataset]:
    """Replace features with many categories by target statistics."""
    n_categories = _many_categories(problem.schema, settings.params)
    if not n_categories:
        return TargetStatistics(train.table.n_features), problem.schema, train
    statistics, table = learn_encoding(
        train, n_categories, problem.loss, problem.classes, settings.seed, settings.n_threads
    )
    return statistics, statistics.encoded_schema(problem.schema), replace(train, table=table)


def _many_categories(schema: TableSchema, params: Estimator) -> dict[int, int]:
    """Return the features with too many categories for splits, and their numbers of categories."""
    most = min(params.max_categories, params.max_bins)
    counts = {j: len(categories.values) for j, categories in schema.categories.items()}
    return {j: count for j, count in counts.items() if count > most}


def _stays_sparse(problem: Problem, settings: Settings, train: Dataset) -> bool:
    is_dense = problem.has_vector_leaves or _has_own_rows(settings)
    return train.table.sparse is not None and not is_dense and stays_sparse(train.table)


def _fit_binner(
    problem: Problem, schema: TableSchema, settings: Settings, train: Dataset, drops: bool
) -> tuple[Binner, TrainingRows | None]:
    """Learn the bins; also return the rows for the engine, unless splits are exact."""
    max_bins, subsample = settings.params.max_bins, settings.params.subsample_for_bin
    binner = Binner(max_bins=max_bins, subsample_for_bin=subsample, seed=settings.seed)
    counts = {j: len(categories.values) for j, categories in schema.categories.items()}
    options: dict[str, Any] = {"n_categories": counts, "threads": settings.n_threads}
    if settings.params.splitter != "hist":
        return binner.fit(train.table, train.weights, **options), None
    if train.table.reads_columns:  # learned and mapped in one pass
        columns_only = _has_own_rows(settings)
        return binner, binner.fit_transform(
            train.table, train.weights, columns_only=columns_only, drops=drops, **options
        )
    if _has_own_rows(settings) and _can_be_dealt_on_device(train):
        device = self_check.open_checked_device(settings.params.device)
        rows = _rows_on(device, train.table)
        if rows is not None:
            thresholds = _thresholds_on(device, rows, train.table, binner, settings.n_threads)
            binner.fit(train.table, thresholds=thresholds)
            return binner, binner.leave_unbinned(train.table, rows)
    binner.fit(train.table, train.weights, **options)
    return binner, _transform(problem, settings, train, binner, drops)


def _can_be_dealt_on_device(train: Dataset) -> bool:
    """Return whether a device can find the thresholds of a table: of rows of equal weight."""
    return train.weights is None and workers().size == 1 and is_array_of_floats(train.table)


def _rows_on(device: Device, table: Table) -> DeviceRows | None:
    """Return a table on the device; None if it is too large for it."""
    if table.on_gpu is not None:
        return rows_of_array(table.on_gpu)
    assert table.dense is not None
    return copy_rows(table.dense, device)


def _thresholds_on(
    device: Device, rows: DeviceRows, table: Table, binner: Binner, n_threads: int
) -> tuple[Floats, NDArray[np.int64]]:
    def host_column(j: int) -> NDArray[Any]:
        column = table.column(j)
        assert isinstance(column, NumericColumn)
        return column.values

    return find_thresholds(
        *(rows, host_column, binner.max_bins, binner.subsample_for_bin, binner.seed),
        *(n_threads, device),
    )


def _transform(
    problem: Problem, settings: Settings, train: Dataset, binner: Binner, drops: bool
) -> TrainingRows:
    """Return rows for the engine, with bins that are known."""
    table, n_threads, is_own = train.table, settings.n_threads, _has_own_rows(settings)
    if _stays_sparse(problem, settings, train):
        return bin_stored(binner, table, n_threads)
    if is_own and is_array_of_floats(table):
        return binner.leave_unbinned(table)
    return binner.transform(table, columns_only=is_own, drops=drops, threads=n_threads)


def _has_own_rows(settings: Settings) -> bool:
    """Return whether the engine makes its own bins and layout by row, as that of a GPU does."""
    return bool(settings.params.device != "cpu")
