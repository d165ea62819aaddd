"""One call of a forest's `fit`: arguments → data → training set → trees → model.

Nothing is written to the estimator before the fit is finished; then it adopts the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._collective import Workers, workers
from hedgerow._contract import internals
from hedgerow._data.binning import BinnedMatrix, Binner
from hedgerow._data.intake import Table, TableSchema, as_matrix, learn_schema
from hedgerow._data.outputs import ClassOutputs, Outputs
from hedgerow._data.table import needs_matrix_error
from hedgerow._data.target import read_weights, rows_with_weight, weigh_by_class
from hedgerow._estimator import TableEstimator, column_attributes, require_more, seed_of
from hedgerow._forest.class_samples import (
    draws_from_same_rows,
    have_same_classes,
    samples_by_class,
    with_classes,
)
from hedgerow._forest.combinations import Combinations
from hedgerow._forest.model import ForestModel, LeafTargets
from hedgerow._forest.out_of_bag import out_of_bag_attributes
from hedgerow._progress import progress
from hedgerow._threads import effective_n_jobs
from hedgerow._tree.cart import BootstrapSamples, CartParams, grow_trees, impurity_unit
from hedgerow._tree.fitting import bin_table, fit_binner, warn_if_never_split
from hedgerow._tree.packed import ForestPacker, PackedForest
from hedgerow._tree.pruning import prune
from hedgerow._tree.structure import Tree
from hedgerow._types import Attributes, Floats, Indices
from hedgerow.exceptions import DataError, ParameterError

_TREES_AT_ONCE = 16  # trees per thread: enough to keep all busy, few enough to show progress
_MANY_ROWS = 500_000  # rows above which trees are so large that fewer are unpacked at once


@dataclass(frozen=True)
class ForestSettings:
    """The parameters of a fit; `init_model` is the model that a warm start continues."""

    estimator: TableEstimator
    init_model: ForestModel | None
    random_thresholds: bool
    seed: int
    n_threads: int

    @classmethod
    def of(
        cls,
        estimator: TableEstimator,
        init_model: ForestModel | None,
        *,
        random_thresholds: bool = False,
    ) -> ForestSettings:
        """Resolve the seed and the number of threads."""
        seed = init_model.sampling.seed if init_model else seed_of(estimator.random_state)
        return cls(
            estimator, init_model, random_thresholds, seed, effective_n_jobs(estimator.n_jobs)
        )


@dataclass(frozen=True, eq=False)
class ForestData:
    """The checked arguments of `fit`, and which rows each tree is grown on.

    `table`, `y` and `weights` are those of the rows with weight, `whole` and `whole_y` of all rows,
    whose number on all workers is `n_rows`.
    """

    schema: TableSchema
    table: Table
    outputs: Outputs
    y: NDArray[Any]
    weights: Floats | None
    sampling: BootstrapSamples
    whole: Table
    whole_y: NDArray[Any]
    n_rows: int


@dataclass(frozen=True, eq=False)
class ForestTrainingSet:
    """The binned features that trees split on: the columns, or combinations of them.

    `binner` has the bins of the columns, `feature_binner` those of the features.
    """

    binner: Binner
    combinations: Combinations | None
    feature_binner: Binner
    binned: BinnedMatrix


def fit_forest(
    settings: ForestSettings, outputs: type[Outputs], X: Any, y: Any, sample_weight: Any
) -> Attributes:
    """Return the attributes of a fitted forest."""
    data = read_data(settings, outputs, X, y, sample_weight)
    model = fit_trees(settings, data)
    attributes = column_attributes(data.schema) | data.outputs.attributes()
    oob_score = settings.estimator.oob_score
    keep_targets = getattr(settings.estimator, "keep_targets", False)
    if oob_score or keep_targets:
        matrix = model.rows(data.whole, settings.n_threads)
        if oob_score:
            voting = getattr(settings.estimator, "voting", "soft")
            attributes |= out_of_bag_attributes(
                model, matrix, data.whole_y, oob_score, settings.n_threads, voting
            )
        if keep_targets:
            leaves = model.leaves(matrix, settings.n_threads)
            if data.sampling.rows is not None:
                leaves = leaves[data.sampling.rows]
            targets = LeafTargets.of(leaves, model.forest.n_leaves, data.y, data.weights)
            model = replace(model, leaf_targets=targets)
    return attributes | {"_model": model}


def fit_trees(settings: ForestSettings, data: ForestData) -> ForestModel:
    """Bin the data and grow the trees."""
    training_set = bin_data(settings, data)
    together = workers()
    if together.size > 1:
        data, training_set = gather_rows(data, training_set, together)
        data = _with_samples(settings, data)
    forest = grow_forest(settings, data, training_set)
    if settings.estimator.ccp_alpha == 0.0:
        warn_if_never_split(settings.estimator, forest.feature, len(data.y))
    return ForestModel(
        schema=data.schema,
        binner=training_set.binner,
        forest=forest,
        outputs=data.outputs,
        sampling=data.sampling,
        n_rows=data.n_rows,
        combinations=training_set.combinations,
    )


def gather_rows(
    data: ForestData, training_set: ForestTrainingSet, together: Workers
) -> tuple[ForestData, ForestTrainingSet]:
    """Give every worker the binned rows of all: a byte for each value."""
    binned, rows = training_set.binned, together.concatenated_rows
    weights = None if data.weights is None else rows(data.weights)
    parts = together.arrays(binned.by_column.reshape(-1))
    by_column = [part.reshape(binned.n_features, -1) for part in parts]
    whole = replace(binned, by_column=np.concatenate(by_column, axis=1))
    return replace(data, y=rows(data.y), weights=weights), replace(training_set, binned=whole)


def read_data(
    settings: ForestSettings, kind: type[Outputs], X: Any, y: Any, sample_weight: Any
) -> ForestData:
    """Check the arguments of `fit`."""
    estimator, init_model = settings.estimator, settings.init_model
    if init_model is None:
        verbose = estimator.verbose
        schema, table = learn_schema(
            X,
            estimator.categorical_features,
            streams=True,
            verbose=verbose,
            n_jobs=estimator.n_jobs,
        )
    else:
        schema = init_model.schema
        table = internals(estimator).read(X, schema)
    outputs: Outputs
    target: NDArray[Any]
    outputs, target = kind.learn(y, table.n_rows)
    if init_model is not None:
        _check_continues(estimator, init_model, table, outputs)
    weights = _weigh(estimator, outputs, target, read_weights(sample_weight, table.n_rows))
    whole, whole_y, together = table, target, workers()
    rows = rows_with_weight(weights)
    if rows is not None and weights is not None:
        table, target, weights = table.take(rows), target[rows], weights[rows]
    sampling = bootstrap_samples(estimator, together.count(table.n_rows), settings.seed)
    sampling = replace(sampling, rows=_rows_of_all_workers(rows, whole.n_rows))
    n_rows = together.count(whole.n_rows)
    data = ForestData(schema, table, outputs, target, weights, sampling, whole, whole_y, n_rows)
    return _with_samples(settings, data) if together.size == 1 else data


def _rows_of_all_workers(rows: Indices | None, n_rows: int) -> Indices | None:
    """Return the numbers that rows of this worker have in the whole table, with those of others."""
    together = workers()
    if together.size == 1 or not together.any(rows is not None):
        return rows
    is_in = np.full(n_rows, rows is None)
    if rows is not None:
        is_in[rows] = True
    return np.flatnonzero(together.concatenated_rows(is_in))


def _with_samples(settings: ForestSettings, data: ForestData) -> ForestData:
    """Complete what depends on the targets of all rows: the samples, and checks of them."""
    bootstrap, init_model = settings.estimator.bootstrap, settings.init_model
    if samples_by_class(bootstrap):
        sampling = with_classes(data.sampling, bootstrap, data.outputs, data.y)
        data = replace(data, sampling=sampling)
    if init_model is not None:
        _check_same_samples(data.sampling, init_model.sampling)
    return data


def _check_continues(
    estimator: TableEstimator,
    init_model: ForestModel,
    table: Table,
    outputs: Outputs,
) -> None:
    require_more(estimator, init_model.forest.n_trees, "trees")
    if outputs != init_model.outputs:
        raise DataError(
            "y has different classes or outputs than in the fit that warm_start=True continues."
        )
    if table.n_rows != init_model.n_rows:
        raise DataError(
            f"X has {table.n_rows} rows, but the fit that warm_start=True continues had "
            f"{init_model.n_rows}: all trees of a forest are grown on samples of the same rows."
        )
    n_inputs = estimator.feature_combinations
    had = None if init_model.combinations is None else init_model.combinations.n_inputs
    if (None if n_inputs is None else min(n_inputs, table.n_features)) != had:
        raise ParameterError(
            f"feature_combinations={n_inputs!r} must be the same as in the fit that "
            "warm_start=True continues."
        )


def _check_same_samples(sampling: BootstrapSamples, last: BootstrapSamples) -> None:
    if sampling != last:
        raise ParameterError(
            "bootstrap and max_samples must be the same as in the fit that warm_start=True "
            "continues: they determine the sample of each tree."
        )
    if not draws_from_same_rows(sampling, last):
        raise DataError(
            "sample_weight: the rows of weight 0 must be the same as in the fit that "
            "warm_start=True continues, because no tree is grown on them."
        )
    if not have_same_classes(sampling, last):
        raise DataError(
            "y: some rows have a different class than in the fit that warm_start=True continues, "
            "and the samples of the trees depend on the classes."
        )


def _weigh(
    estimator: TableEstimator, outputs: Outputs, y: NDArray[Any], weights: Floats | None
) -> Floats | None:
    class_weight = getattr(estimator, "class_weight", None)
    if class_weight is None or not isinstance(outputs, ClassOutputs):
        return weights
    if class_weight != "balanced_subsample":
        return weigh_by_class(class_weight, outputs.classes, y, weights)
    if not outputs.is_single:
        raise ParameterError(
            "class_weight='balanced_subsample' supports one output, but y has "
            f"{len(outputs.classes)}; 'balanced' supports any number."
        )
    return weights  # balanced tree by tree


def bin_data(settings: ForestSettings, data: ForestData) -> ForestTrainingSet:
    """Bin the features that trees split on."""
    init_model, n_threads = settings.init_model, settings.n_threads
    n_inputs = settings.estimator.feature_combinations
    learned = data.schema, data.table, data.weights
    if n_inputs is None and init_model is None:
        binner, binned = bin_table(settings.estimator, *learned, settings.seed, n_threads)
        return ForestTrainingSet(binner, None, binner, binned)
    if init_model is not None:
        binner = init_model.binner
    else:
        binner = fit_binner(settings.estimator, *learned, settings.seed, n_threads)
    if n_inputs is None:
        binned = binner.transform(data.table, columns_only=True, threads=n_threads)
        return ForestTrainingSet(binner, None, binner, binned)
    if data.table.is_streamed:
        raise needs_matrix_error(f"feature_combinations={n_inputs!r}")
    matrix = as_matrix(data.table, binner.category_bins)
    combinations = None if init_model is None else init_model.combinations
    if combinations is None:
        combinations = Combinations.draw(matrix, binner.is_categorical, n_inputs, settings.seed)
    feature_binner, binned = _bin_combinations(settings, matrix, combinations, data.weights)
    return ForestTrainingSet(binner, combinations, feature_binner, binned)


def _bin_combinations(
    settings: ForestSettings,
    matrix: NDArray[Any],
    combinations: Combinations,
    weights: Floats | None,
) -> tuple[Binner, BinnedMatrix]:
    """Bin the combinations by blocks of rows: all of them may not fit into memory."""
    threads = settings.n_threads
    if settings.init_model is not None:
        binner = settings.init_model.forest.binner
    else:
        rows = combinations.sample(len(matrix), settings.seed)
        sample = Table(None, dense=combinations.of(matrix[rows]))
        of_rows = None if weights is None else weights[rows]
        binner = fit_binner(settings.estimator, None, sample, of_rows, settings.seed, threads)
    blocks = [
        binner.transform(Table(None, dense=block), columns_only=True, threads=threads)
        for _, block in combinations.blocks(matrix)
    ]
    by_column = np.concatenate([block.by_column for block in blocks], axis=1)
    return binner, replace(blocks[0], by_column=by_column)


def _packed(model: ForestModel) -> PackedForest:
    assert isinstance(model.forest, PackedForest)  # the estimator refuses others
    return model.forest


def grow_forest(
    settings: ForestSettings, data: ForestData, training_set: ForestTrainingSet
) -> PackedForest:
    """Grow the trees that `init_model` does not have; each worker grows some of them."""
    estimator, init_model, binned = settings.estimator, settings.init_model, training_set.binned
    packer = ForestPacker(
        training_set.feature_binner, None if init_model is None else _packed(init_model)
    )
    together, n_new = workers(), estimator.n_estimators - packer.n_trees
    begin = packer.n_trees + n_new * together.rank // together.size
    end = packer.n_trees + n_new * (together.rank + 1) // together.size
    params, target = _cart_params(settings, data, binned), data.outputs.target(data.y)
    at_once = settings.n_threads * (_TREES_AT_ONCE if binned.n_rows < _MANY_ROWS else 2)
    exchanged: list[Tree] = []
    with progress(estimator.verbose, end, begin, unit="tree", title="growing") as progress_bar:
        for first in range(begin, end, at_once):
            last = min(first + at_once, end)
            grown = grow_trees(
                binned,
                target,
                params,
                data.sampling,
                weights=data.weights,
                balance_classes=getattr(estimator, "class_weight", None) == "balanced_subsample",
                first_tree=first,
                n_trees=last - first,
                n_threads=settings.n_threads,
            )
            trees = (_finish(tree, estimator, data.outputs) for tree in grown)
            if together.size == 1:
                packer.add(trees)
            else:
                exchanged.extend(trees)
            if progress_bar is not None:
                progress_bar.show(last)
    if together.size > 1:
        for of_worker in together.objects([vars(tree) for tree in exchanged]):
            packer.add(Tree(**arrays) for arrays in of_worker)
    return packer.forest()


def _finish(tree: Tree, estimator: TableEstimator, outputs: Outputs) -> Tree:
    """Prune a tree, and return it in the form that the forest stores."""
    alpha = estimator.ccp_alpha
    if alpha > 0.0:
        unit = impurity_unit(estimator.criterion) * tree.cover[0]
        tree = prune(tree, tree.gain / unit, alpha)
    return replace(tree, value=outputs.stored(tree.value))


def _cart_params(settings: ForestSettings, data: ForestData, binned: BinnedMatrix) -> CartParams:
    n_rows = binned.n_rows
    sampled = data.sampling.total_weight(data.weights, n_rows)
    params = CartParams.of(settings.estimator, n_rows, binned.n_features, sampled, settings.seed)
    return replace(params, random_thresholds=settings.random_thresholds)


def bootstrap_samples(estimator: TableEstimator, n_rows: int, seed: int) -> BootstrapSamples:
    """Return how rows are sampled, from an estimator's `max_samples` and `bootstrap`."""
    max_samples = estimator.max_samples
    n_draws = n_rows if max_samples is None else int(max_samples)
    if max_samples is not None and not isinstance(max_samples, Integral):
        n_draws = max(1, round(max_samples * n_rows))
    if n_draws > n_rows:
        rows = "1 sample" if n_rows == 1 else f"{n_rows} rows"
        raise ParameterError(f"max_samples={max_samples} is more than the {rows} of X.")
    if samples_by_class(estimator.bootstrap) and estimator.bootstrap != "balanced":
        _refuse_size(estimator)
    bootstrap = bool(estimator.bootstrap)
    if estimator.oob_score and not bootstrap and n_draws == n_rows:
        raise ParameterError(
            "oob_score needs out-of-bag rows: set bootstrap=True, or max_samples to less than all "
            "rows."
        )
    return BootstrapSamples(n_draws, bootstrap=bootstrap, seed=seed)


def _refuse_size(estimator: TableEstimator) -> None:
    if estimator.max_samples is not None:
        raise ParameterError(
            f"max_samples={estimator.max_samples} cannot be combined with "
            f"bootstrap={estimator.bootstrap!r}, where the classes determine the size of a sample. "
            "Set it to None, or use bootstrap='balanced'."
        )
