"""One call of a tree's `fit`: arguments → data → bins → tree → model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from hedgerow._arithmetic import sum_of
from hedgerow._data.binning import Binner
from hedgerow._data.intake import Table, TableSchema, as_matrix, learn_schema
from hedgerow._data.outputs import ClassOutputs, Outputs, TreeTarget
from hedgerow._data.target import read_weights, weigh_by_class
from hedgerow._estimator import Estimator, seed_of
from hedgerow._threads import effective_n_jobs
from hedgerow._tree.cart import BootstrapSamples, SortedMatrix, grow_trees
from hedgerow._tree.cart_params import cart_params, impurity_unit, root_impurity
from hedgerow._tree.no_split import warn_if_never_split
from hedgerow._tree.structure import Ensemble, Tree
from hedgerow._types import Floats


@dataclass(frozen=True, eq=False)
class TreeModel:
    """A tree with the schema and bins of its tables, and the outputs of its leaves."""

    schema: TableSchema
    binner: Binner
    ensemble: Ensemble
    outputs: Outputs

    @classmethod
    def of(cls, schema: TableSchema, binner: Binner, tree: Tree, outputs: Outputs) -> TreeModel:
        """Return the model of one tree."""
        ensemble = Ensemble.from_trees([tree], [0], np.zeros(outputs.n_values), schema.n_features)
        return cls(schema, binner, ensemble, outputs)

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
    schema, table = learn_schema(X, estimator.categorical_features)
    outputs: Outputs
    read: Any
    outputs, read = outputs_kind.learn(y, table.n_rows)
    weights = read_weights(sample_weight, table.n_rows)
    if isinstance(outputs, ClassOutputs):
        weights = weigh_by_class(estimator.class_weight, outputs.classes, read, weights)
    seed, n_threads = seed_of(estimator.random_state), effective_n_jobs(estimator.n_jobs)
    binner = _fit_binner(estimator, schema, table, weights, seed, n_threads)
    target = outputs.target(read)
    tree = _grow(estimator, table, binner, target, weights, seed, n_threads)
    warn_if_never_split(estimator, tree.feature, table.n_rows)
    unit = impurity_unit(estimator.criterion)
    tree = replace(tree, gain=tree.gain / unit, value=outputs.stored(tree.value))
    model = TreeModel.of(schema, binner, tree, outputs)
    impurity = root_impurity(estimator.criterion, target, weights)
    return UnprunedTree(model, impurity, tree.gain / tree.cover[0])


def _fit_binner(
    estimator: Estimator,
    schema: TableSchema,
    table: Table,
    weights: Floats | None,
    seed: int,
    n_threads: int,
) -> Binner:
    max_bins, subsample = estimator.max_bins, estimator.subsample_for_bin
    n_categories = {j: len(categories.values) for j, categories in schema.categories.items()}
    binner = Binner(max_bins=max_bins, subsample_for_bin=subsample, seed=seed)
    return binner.fit(
        table,
        weights,
        n_categories=n_categories,
        categories_only=estimator.splitter != "hist",
        threads=n_threads,
    )


def _grow(
    estimator: Estimator,
    table: Table,
    binner: Binner,
    target: TreeTarget,
    weights: Floats | None,
    seed: int,
    n_threads: int,
) -> Tree:
    total = float(table.n_rows if weights is None else sum_of(weights))
    params = cart_params(estimator, table.n_rows, table.n_features, total, seed)
    params = replace(params, random_cuts=estimator.splitter == "random")
    sampling = BootstrapSamples.all(table.n_rows)
    options: dict[str, Any] = {"weights": weights, "n_threads": n_threads}
    if estimator.splitter == "hist":
        binned = binner.transform(table, columns_only=True, threads=n_threads)
        return grow_trees(binned, target, params, sampling, **options)[0]
    matrix = as_matrix(table, binner.category_bins)
    ordered = SortedMatrix.from_matrix(matrix, binner.is_categorical, n_threads=n_threads)
    return grow_trees(ordered, target, params, sampling, **options)[0]
