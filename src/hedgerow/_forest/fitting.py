"""One call of a forest's `fit`: read, bin, draw rows and grow, a batch of trees at a time.

Everything lives in a `ForestFitting` until it is finished; then the estimator adopts the result.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._arithmetic import sum_of
from hedgerow._contract import internals
from hedgerow._data.binning import BinnedMatrix, Binner
from hedgerow._data.class_weight import weigh_by_class
from hedgerow._data.intake import Table, TableSchema, as_matrix, learn_schema
from hedgerow._data.outputs import ClassOutputs, Outputs
from hedgerow._data.target import read_weights
from hedgerow._estimator import TableEstimator, column_attributes, seed_of
from hedgerow._forest.combinations import Combinations
from hedgerow._forest.model import ForestModel
from hedgerow._forest.out_of_bag import out_of_bag_attributes
from hedgerow._forest.quantiles import LeafRows
from hedgerow._progress import progress
from hedgerow._threads import effective_n_jobs
from hedgerow._tree.cart import CartParams, RowDraws
from hedgerow._tree.cart_params import cart_params, grow_trees, impurity_unit
from hedgerow._tree.no_split import warn_if_never_split
from hedgerow._tree.packed import ForestPacker, PackedForest
from hedgerow._tree.pruning import prune
from hedgerow._tree.structure import Tree
from hedgerow._types import Attributes, Floats
from hedgerow.exceptions import DataError, ParameterError

_TREES_AT_ONCE = 16  # for each thread: enough to keep all busy, few enough to show progress
_MANY_ROWS = 500_000  # of which trees are so large that fewer at once are unpacked


class ForestFitting:
    """A fit under way; `start` is the model that a warm start adds to."""

    schema: TableSchema
    outputs: Outputs
    y: NDArray[Any]
    weights: Floats | None
    draws: RowDraws
    binner: Binner
    combinations: Combinations | None = None

    def __init__(
        self, estimator: TableEstimator, start: ForestModel | None, *, random_cuts: bool
    ) -> None:
        self.estimator = estimator
        self.start = start
        self.random_cuts = random_cuts
        self.seed = seed_of(estimator.random_state) if start is None else start.draws.seed
        self.n_threads = effective_n_jobs(estimator.n_jobs)

    def run(self, outputs: type[Outputs], X: Any, y: Any, sample_weight: Any) -> Attributes:
        """Return the attributes of the fitted estimator."""
        table = self.read(outputs, X, y, sample_weight)
        binner, binned = self.bin(table)
        forest = self.grow(binner, binned)
        if self.estimator.ccp_alpha == 0.0:
            warn_if_never_split(self.estimator, forest.feature, table.n_rows)
        model = ForestModel(
            schema=self.schema,
            binner=self.binner,
            forest=forest,
            outputs=self.outputs,
            draws=self.draws,
            n_rows=table.n_rows,
            combinations=self.combinations,
        )
        attributes = column_attributes(self.schema) | self.outputs.attributes()
        if self.estimator.oob_score or getattr(self.estimator, "keep_targets", False):
            model, judged = self._look_back(model, as_matrix(table, model.category_bins))
            attributes |= judged
        return attributes | {"_model": model}

    def read(self, outputs: type[Outputs], X: Any, y: Any, sample_weight: Any) -> Table:
        """Check everything that was given."""
        if self.start is None:
            self.schema, table = learn_schema(X, self.estimator.categorical_features)
        else:
            self.schema = self.start.schema
            table = internals(self.estimator).read(X, self.schema)
        self.outputs, self.y = outputs.learn(y, table.n_rows)
        self.draws = row_draws(self.estimator, table.n_rows, self.seed)
        if self.start is not None:
            self._check_continues(self.start, table)
        self.weights = self._weigh(read_weights(sample_weight, table.n_rows))
        if self.weights is not None and not self.weights.all():
            self._check_samples_weigh(self.weights)
        return table

    def _check_continues(self, start: ForestModel, table: Table) -> None:
        n_trees = self.estimator.n_estimators
        if n_trees < start.forest.n_trees:
            raise ParameterError(
                f"n_estimators={n_trees} is less than the {start.forest.n_trees} trees that "
                "warm_start=True begins with."
            )
        if self.outputs != start.outputs:
            raise DataError(
                "y has other classes or outputs than the fit that warm_start=True continues."
            )
        if table.n_rows != start.n_rows:
            raise DataError(
                f"X has {table.n_rows} rows, but the fit that warm_start=True continues had "
                f"{start.n_rows}: the trees of a forest draw from the same rows."
            )
        n_inputs = self.estimator.feature_combinations
        had = None if start.combinations is None else start.combinations.n_inputs
        if (None if n_inputs is None else min(n_inputs, table.n_features)) != had:
            raise ParameterError(
                f"feature_combinations={n_inputs!r} must be as in the fit that warm_start=True "
                "continues."
            )
        if self.draws != start.draws:
            raise ParameterError(
                "bootstrap and max_samples must be as in the fit that warm_start=True continues: "
                "which rows a tree drew is known by them."
            )

    def _weigh(self, weights: Floats | None) -> Floats | None:
        class_weight = getattr(self.estimator, "class_weight", None)
        if class_weight is None or not isinstance(self.outputs, ClassOutputs):
            return weights
        if class_weight != "balanced_subsample":
            return weigh_by_class(class_weight, self.outputs.classes, self.y, weights)
        if not self.outputs.is_single:
            raise ParameterError(
                "class_weight='balanced_subsample' is for one output, but y has "
                f"{len(self.outputs.classes)}; 'balanced' is for any number."
            )
        return weights  # tree by tree

    def _check_samples_weigh(self, weights: Floats) -> None:
        """Refuse weights that leave a tree without any row."""
        first = 0 if self.start is None else self.start.forest.n_trees
        for tree in range(first, self.estimator.n_estimators):
            if not weights[self.draws.counts(tree, len(weights)) > 0].any():
                raise DataError(
                    f"sample_weight: only {np.count_nonzero(weights)} of {len(weights)} rows weigh "
                    "anything, and one of the samples has none of them. Leave out rows of weight 0."
                )

    def bin(self, table: Table) -> tuple[Binner, BinnedMatrix]:
        """Bin what trees test: the columns, or combinations of them."""
        if self.start is not None:
            self.binner, self.combinations = self.start.binner, self.start.combinations
        else:
            n_categories = {j: len(known.values) for j, known in self.schema.categories.items()}
            self.binner = self._fit_binner(table, self.weights, n_categories)
        n_inputs = self.estimator.feature_combinations
        if n_inputs is None:
            binned = self.binner.transform(table, columns_only=True, threads=self.n_threads)
            return self.binner, binned
        matrix = as_matrix(table, self.binner.category_bins)
        if self.combinations is None:
            flags = self.binner.is_categorical
            self.combinations = Combinations.draw(matrix, flags, n_inputs, self.seed)
        return self._bin_combinations(matrix, self.combinations)

    def _bin_combinations(
        self, matrix: NDArray[Any], combinations: Combinations
    ) -> tuple[Binner, BinnedMatrix]:
        """Bin a few rows' combinations at a time: all of them may not fit into memory."""
        if self.start is not None:
            binner = self.start.forest.binner
        else:
            rows = combinations.sample(len(matrix), self.seed)
            weights = None if self.weights is None else self.weights[rows]
            sampled = Table(None, dense=combinations.of(matrix[rows]))
            binner = self._fit_binner(sampled, weights, {})
        blocks = [
            binner.transform(Table(None, dense=block), columns_only=True, threads=self.n_threads)
            for _, block in combinations.blocks(matrix)
        ]
        by_column = np.concatenate([block.by_column for block in blocks], axis=1)
        return binner, replace(blocks[0], by_column=by_column)

    def _fit_binner(
        self, table: Table, weights: Floats | None, n_categories: dict[int, int]
    ) -> Binner:
        max_bins, subsample = self.estimator.max_bins, self.estimator.subsample_for_bin
        binner = Binner(max_bins=max_bins, subsample_for_bin=subsample, seed=self.seed)
        return binner.fit(table, weights, n_categories=n_categories, threads=self.n_threads)

    def grow(self, binner: Binner, binned: BinnedMatrix) -> PackedForest:
        """Grow the trees that are not there yet."""
        packer = ForestPacker(binner, None if self.start is None else self.start.forest)
        n_trees, verbose = self.estimator.n_estimators, self.estimator.verbose
        class_weight = getattr(self.estimator, "class_weight", None)
        params, target = self._cart_params(binned), self.outputs.target(self.y)
        at_once = self.n_threads * (_TREES_AT_ONCE if binned.n_rows < _MANY_ROWS else 2)
        with progress(verbose, n_trees, packer.n_trees, unit="tree", title="growing") as shown:
            for first in range(packer.n_trees, n_trees, at_once):
                last = min(first + at_once, n_trees)
                trees = grow_trees(
                    binned,
                    target,
                    params,
                    self.draws,
                    weights=self.weights,
                    balance_drawn=class_weight == "balanced_subsample",
                    first_tree=first,
                    n_trees=last - first,
                    n_threads=self.n_threads,
                )
                packer.add(map(self._finished, trees))
                if shown is not None:
                    shown.show(last)
        return packer.forest()

    def _finished(self, tree: Tree) -> Tree:
        """Return a grown tree as the forest keeps it."""
        alpha = self.estimator.ccp_alpha
        if alpha > 0.0:
            unit = impurity_unit(self.estimator.criterion) * tree.cover[0]
            tree = prune(tree, tree.gain / unit, alpha)
        return replace(tree, value=self.outputs.stored(tree.value))

    def _cart_params(self, binned: BinnedMatrix) -> CartParams:
        total = float(binned.n_rows if self.weights is None else sum_of(self.weights))
        drawn = total * self.draws.n_draws / binned.n_rows
        params = cart_params(self.estimator, binned.n_rows, binned.n_features, drawn, self.seed)
        return replace(params, random_cuts=self.random_cuts)

    def _look_back(
        self, model: ForestModel, matrix: NDArray[Any]
    ) -> tuple[ForestModel, Attributes]:
        """Take what is wanted of the training rows: their leaves, their out-of-bag predictions."""
        judged: Attributes = {}
        if self.estimator.oob_score:
            judged = out_of_bag_attributes(
                model, matrix, self.y, self.estimator.oob_score, self.n_threads
            )
        if getattr(self.estimator, "keep_targets", False):
            leaves = model.leaves(matrix, self.n_threads)
            kept = LeafRows.of(leaves, model.forest.n_leaves, self.y, self.weights)
            model = replace(model, leaf_rows=kept)
        return model, judged


def row_draws(estimator: TableEstimator, n_rows: int, seed: int) -> RowDraws:
    """Return how rows are drawn that `max_samples` and `bootstrap` of an estimator ask for."""
    given = estimator.max_samples
    n_draws = n_rows if given is None else int(given)
    if given is not None and not isinstance(given, Integral):
        n_draws = max(1, round(given * n_rows))
    if n_draws > n_rows:
        rows = "1 sample" if n_rows == 1 else f"{n_rows} rows"
        raise ParameterError(f"max_samples={given} is more than the {rows} of X.")
    bootstrap = bool(estimator.bootstrap)
    if estimator.oob_score and not bootstrap and n_draws == n_rows:
        raise ParameterError(
            "oob_score needs rows that are not drawn: set bootstrap=True, or max_samples to less "
            "than all rows."
        )
    return RowDraws(n_draws, bootstrap=bootstrap, seed=seed)
