"""One call of a tree's `fit`: arguments → data → bins → tree → model."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from hedgerow._arithmetic import sum_of
from hedgerow._data.binning import BinnedMatrix, Binner
from hedgerow._data.intake import Table, TableSchema, as_matrix, learn_schema
from hedgerow._data.outputs import ClassOutputs, Outputs, TreeTarget
from hedgerow._data.target import read_weights, rows_with_weight, weigh_by_class
from hedgerow._estimator import Estimator, seed_of
from hedgerow._params import parameters_of
from hedgerow._threads import effective_n_jobs
from hedgerow._tree.cart import (
    BootstrapSamples,
    CartParams,
    SortedMatrix,
    grow_trees,
    impurity_unit,
)
from hedgerow._tree.structure import Ensemble, Tree
from hedgerow._types import Floats, Snapshot
from hedgerow._warning import warn_user
from hedgerow.exceptions import NoSplitWarning, ParameterError

# Parameters that may forbid every split.
LIMITS = (
    *("min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf"),
    "min_impurity_decrease",
)


@dataclass(frozen=True, eq=False)
class TreeModel(Snapshot):
    """A tree with the schema and bins of its table, and the meaning of its leaf values."""

    schema: TableSchema
    binner: Binner
    ensemble: Ensemble
    outputs: Outputs

    @classmethod
    def of(cls, schema: TableSchema, binner: Binner, tree: Tree, outputs: Outputs) -> TreeModel:
        """Return the model of one tree."""
        ensemble = Ensemble.from_trees([tree], [0], np.zeros(outputs.n_values), schema.n_features)
        return cls(schema, binner, ensemble, outputs)

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def category_bins(self) -> list[Any]:
        """The bin of each category code, for each categorical feature."""
        return self.binner.category_bins

    @cached_property
    def tree(self) -> Tree:
        """The tree."""
        return self.ensemble.tree(0)


@dataclass(frozen=True, eq=False)
class UnprunedTree:
    """A fully grown tree with the impurities that pruning needs, as means over rows."""

    model: TreeModel
    root_impurity: float
    decreases: Floats
    """Decrease of the tree's impurity by each split."""

    def pruned(self, tree: Tree) -> TreeModel:
        """Return the model with a pruned tree."""
        model = self.model
        return TreeModel.of(model.schema, model.binner, tree, model.outputs)


def grow(
    estimator: Estimator, outputs_kind: type[Outputs], X: Any, y: Any, sample_weight: Any
) -> UnprunedTree:
    """Read the arguments of `fit` and grow a tree."""
    schema, table = learn_schema(
        X, estimator.categorical_features, streams=True, n_jobs=estimator.n_jobs
    )
    if table.is_streamed and estimator.splitter != "hist":
        raise ParameterError(
            f"splitter={estimator.splitter!r} needs the original values of all rows in memory, but "
            "a fit to a ParquetTable keeps only the binned values. Set splitter='hist', or read "
            "the table: X.read()."
        )
    outputs: Outputs
    read: Any
    outputs, read = outputs_kind.learn(y, table.n_rows)
    weights = read_weights(sample_weight, table.n_rows)
    if isinstance(outputs, ClassOutputs):
        weights = weigh_by_class(estimator.class_weight, outputs.classes, read, weights)
    rows = rows_with_weight(weights)
    if rows is not None and weights is not None:
        table, read, weights = table.take(rows), read[rows], weights[rows]
    seed, n_threads = seed_of(estimator.random_state), effective_n_jobs(estimator.n_jobs)
    fit = estimator, schema, table, weights, seed, n_threads
    binned: BinnedMatrix | None = None
    if estimator.splitter == "hist":
        binner, binned = bin_table(*fit)
    else:
        binner = fit_binner(*fit, categories_only=True)
    target = outputs.target(read)
    tree = _grow(estimator, table, binner, binned, target, weights, seed, n_threads)
    warn_if_never_split(estimator, tree.feature, table.n_rows)
    unit = impurity_unit(estimator.criterion)
    tree = replace(tree, gain=tree.gain / unit, value=outputs.stored(tree.value))
    model = TreeModel.of(schema, binner, tree, outputs)
    impurity = root_impurity(estimator.criterion, target, weights)
    return UnprunedTree(model, impurity, tree.gain / tree.cover[0])


def fit_binner(
    estimator: Estimator,
    schema: TableSchema | None,
    table: Table,
    weights: Floats | None,
    seed: int,
    n_threads: int,
    *,
    categories_only: bool = False,
) -> Binner:
    """Fit the bins of a table by an estimator's parameters; without a schema all are numbers."""
    return _new_binner(estimator, seed).fit(
        table,
        weights,
        n_categories=_category_counts(schema),
        categories_only=categories_only,
        threads=n_threads,
    )


def bin_table(
    estimator: Estimator,
    schema: TableSchema,
    table: Table,
    weights: Floats | None,
    seed: int,
    n_threads: int,
) -> tuple[Binner, BinnedMatrix]:
    """Fit the bins of a table, and map it to them by column."""
    binner, counts = _new_binner(estimator, seed), _category_counts(schema)
    options: dict[str, Any] = {"n_categories": counts, "threads": n_threads}
    return binner, binner.fit_transform(table, weights, columns_only=True, **options)


def _new_binner(estimator: Estimator, seed: int) -> Binner:
    max_bins, subsample = estimator.max_bins, estimator.subsample_for_bin
    return Binner(max_bins=max_bins, subsample_for_bin=subsample, seed=seed)


def _category_counts(schema: TableSchema | None) -> dict[int, int]:
    categories = {} if schema is None else schema.categories
    return {j: len(learned.values) for j, learned in categories.items()}


def _grow(
    estimator: Estimator,
    table: Table,
    binner: Binner,
    binned: BinnedMatrix | None,
    target: TreeTarget,
    weights: Floats | None,
    seed: int,
    n_threads: int,
) -> Tree:
    total = float(table.n_rows if weights is None else sum_of(weights))
    params = CartParams.of(estimator, table.n_rows, table.n_features, total, seed)
    params = replace(params, random_thresholds=estimator.splitter == "random")
    sampling = BootstrapSamples.all(table.n_rows)
    options: dict[str, Any] = {"weights": weights, "n_threads": n_threads}
    if binned is not None:
        return grow_trees(binned, target, params, sampling, **options)[0]
    matrix = as_matrix(table, binner.category_bins)
    ordered = SortedMatrix.from_matrix(matrix, binner.is_categorical, n_threads=n_threads)
    return grow_trees(ordered, target, params, sampling, **options)[0]


def warn_if_never_split(estimator: Estimator, features: Any, n_rows: int) -> None:
    """Warn if no tree has a split and a parameter that is not the default limits splits.

    Without limits, a tree with one leaf follows from the data: equal targets, or equal rows.
    """
    if (features >= 0).any():
        return
    limits = [
        f"{parameter.name}={value!r}"
        for parameter in parameters_of(estimator)
        if parameter.name in LIMITS
        and not parameter.is_default(value := getattr(estimator, parameter.name))
    ]
    if limits:
        warn_user(
            f"No split of {n_rows} rows is allowed by {' and '.join(limits)}, so every row gets "
            "the same prediction.",
            NoSplitWarning,
            about="splits",
        )


def root_impurity(criterion: str, target: TreeTarget, weights: Floats | None) -> float:
    """Return the impurity of the root, in the criterion's unit; a mean over outputs."""
    if criterion == "absolute_error":
        return _mean_deviation(target, weights)
    shares: Floats
    if target.labels is not None:
        totals = np.bincount(target.labels, weights, minlength=target.n_values)
        shares = totals / totals.sum()
    else:
        assert target.numbers is not None
        if criterion == "squared_error":
            mean = np.average(target.numbers, axis=0, weights=weights)
            squares = np.average((target.numbers - mean) ** 2, axis=0, weights=weights)
            return float(squares.sum() / target.n_outputs)
        shares = np.average(target.numbers, axis=0, weights=weights)
    if criterion == "error":
        return float(1.0 - shares.max())
    if criterion == "gini":
        return float((shares * (1.0 - shares)).sum() / target.n_outputs)
    present = shares[shares > 0.0]
    return float(-(present * np.log2(present)).sum() / target.n_outputs)


def _mean_deviation(target: TreeTarget, weights: Floats | None) -> float:
    assert target.numbers is not None
    w = np.ones(len(target.numbers)) if weights is None else weights
    deviations = [np.abs(column - weighted_median(column, w)) for column in target.numbers.T]
    return float(np.mean([np.average(d, weights=w) for d in deviations]))


def weighted_median(values: Floats, weights: Floats) -> float:
    """Return the weighted median; the midpoint of two values if both are medians."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    half = 0.5 * reached[-1]
    at = int(np.searchsorted(reached, half))
    if reached[at] == half and at + 1 < len(order):
        return float(0.5 * values[order[at]] + 0.5 * values[order[at + 1]])
    return float(values[order[at]])
