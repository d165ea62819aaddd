"""Ensembles, decision trees and forests ↔ a model file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._contract import internals
from hedgerow._data.binning import Binner
from hedgerow._data.outputs import ClassOutputs, Outputs
from hedgerow._data.table import TableSchema
from hedgerow._estimator import Estimator, column_attributes
from hedgerow._forest.combinations import Combinations
from hedgerow._forest.model import ForestModel, LeafTargets
from hedgerow._model_file.container import Arrays, Document
from hedgerow._model_file.stored import (
    Stored,
    check_columns,
    finite_or_none,
    outputs_kind,
    read_outputs,
    require,
    with_prefix,
    write_outputs,
)
from hedgerow._tree.cart import BootstrapSamples
from hedgerow._tree.fitting import TreeModel
from hedgerow._tree.linear_leaves import SLOPE_ARRAYS, LinearLeaves
from hedgerow._tree.packed import ARRAYS, PackedForest
from hedgerow._tree.structure import OWN_ARITHMETIC, Arithmetic, Ensemble
from hedgerow._tree.unpacked import UnpackedForest
from hedgerow._types import Indices

_NO_ARRAY = ("n_features", "slopes", "arithmetic")
_ENSEMBLE_ARRAYS = sorted(f.name for f in fields(Ensemble) if f.init and f.name not in _NO_ARRAY)
_COMBINATION_ARRAYS = ("inputs", "coefficients", "centres", "counts_as_one", "is_categorical")
_LEAF_ARRAYS = ("rows", "starts", "targets", "weights")
# Out-of-bag predictions of the training rows are not stored.
_OUT_OF_BAG_SCORE = "oob_score_"
_ROW_CLASS, _ROWS = "draws.row_class", "draws.rows"


def write_trees(model: Any) -> Arrays:
    """Return the arrays of a model's ensemble and of its bins."""
    ensemble: Ensemble = model.ensemble
    arrays = _arrays_of("ensemble.", ensemble, _ENSEMBLE_ARRAYS)
    if ensemble.slopes is not None:
        arrays |= _arrays_of("ensemble.slopes.", ensemble.slopes, SLOPE_ARRAYS)
    return arrays | with_prefix("binner.", model.binner.to_dict())


def read_trees(
    stored: Stored, schema: TableSchema, *, may_slope: bool = False
) -> tuple[Binner, Ensemble]:
    """Read and validate bins and an ensemble; `may_slope` if its leaves may be linear."""
    binner = stored.binner()
    check_columns(schema, binner)
    arrays = stored.arrays("ensemble.", _ENSEMBLE_ARRAYS)
    slopes = None
    if may_slope and stored.has_arrays("ensemble.slopes."):
        slopes = LinearLeaves(**stored.arrays("ensemble.slopes.", SLOPE_ARRAYS))
    ensemble = Ensemble(
        **arrays, slopes=slopes, n_features=schema.n_features, arithmetic=_read_arithmetic(stored)
    )
    ensemble.validate()
    _check_tests(schema, ensemble)
    return binner, ensemble


def write_arithmetic(ensemble: Ensemble) -> Document:
    """Return how an ensemble adds up its trees, if that is not our way."""
    if ensemble.arithmetic == OWN_ARITHMETIC:
        return {}
    return {"arithmetic": asdict(ensemble.arithmetic)}


def _read_arithmetic(stored: Stored) -> Arithmetic:
    """Read the output of `write_arithmetic`."""
    if not stored.has("arithmetic"):
        return OWN_ARITHMETIC
    flags = stored.field("arithmetic")
    names = {f.name for f in fields(Arithmetic)}
    is_known = isinstance(flags, dict) and set(flags) == names
    require(is_known, f"arithmetic does not have exactly the fields {', '.join(sorted(names))}")
    require(all(type(flag) is bool for flag in flags.values()), "arithmetic has no flags")
    return Arithmetic(**flags)


def _check_tests(schema: TableSchema, ensemble: Ensemble) -> None:
    """Check that nodes test categories of categorical features and thresholds of the others."""
    inner = ensemble.feature >= 0
    require(
        np.array_equal(
            # Not by [ ]: NumPy crashes if there is no memory to convert the indices.
            schema.is_categorical.take(ensemble.feature[inner]),
            ensemble.category_set[inner] >= 0,
        ),
        "a node has a category set for a numeric feature, or a threshold for a categorical one",
    )
    if ensemble.slopes is not None:
        has_slope = schema.is_categorical.take(ensemble.slopes.feature)
        require(not has_slope.any(), "a leaf has a slope along a categorical feature")


def write_tree(estimator: Estimator) -> tuple[Document, Arrays]:
    """Return the document and arrays of a fitted tree."""
    model: TreeModel = internals(estimator).model()
    document = {"schema": model.schema.to_dict(), "outputs": write_outputs(model.outputs)}
    return document, write_trees(model)


def read_tree(kind: type[Any], stored: Stored) -> dict[str, Any]:
    """Read the attributes of a fitted tree."""
    schema = stored.schema()
    binner, ensemble = read_trees(stored, schema)
    outputs = read_outputs(outputs_kind(kind), stored.field("outputs"))
    require(ensemble.n_trees == 1, "a decision tree has several trees")
    fits = ensemble.value.shape[1] == ensemble.n_outputs == outputs.n_values
    require(fits, "the leaves do not have a value for each output")
    require(not ensemble.base_score.any(), "a decision tree has a base score")
    model = TreeModel(schema, binner, ensemble, outputs)
    return column_attributes(schema) | outputs.attributes() | {"_model": model}


def write_forest(estimator: Estimator) -> tuple[Document, Arrays]:
    """Return the document and arrays of a fitted model."""
    model: ForestModel = internals(estimator).model()
    score = vars(estimator).get(_OUT_OF_BAG_SCORE)
    document = {
        "schema": model.schema.to_dict(),
        "outputs": write_outputs(model.outputs),
        "draws": write_samples(model.sampling, model.n_rows),
        "oob_score": finite_or_none(score),
        "has_combinations": model.combinations is not None,
        "keeps_targets": model.leaf_targets is not None,
    }
    if isinstance(model.forest, UnpackedForest):
        return document, write_trees(model.forest)
    arrays = with_prefix("forest.", model.forest.arrays())
    arrays |= with_prefix("binner.", model.binner.to_dict()) | write_sampled_rows(model.sampling)
    if model.combinations is not None:
        arrays |= _arrays_of("combinations.", model.combinations, _COMBINATION_ARRAYS)
        arrays |= with_prefix("combined.", model.forest.binner.to_dict())
    if model.leaf_targets is not None:
        arrays |= _arrays_of("leaf_rows.", model.leaf_targets, _LEAF_ARRAYS)
    return document, arrays


def read_forest(kind: type[Any], stored: Stored) -> dict[str, Any]:
    """Read the attributes of a fitted estimator."""
    schema = stored.schema()
    if stored.has_arrays("ensemble."):
        return _read_unpacked(kind, stored, schema)
    binner = stored.binner()
    check_columns(schema, binner)
    outputs = read_outputs(outputs_kind(kind), stored.field("outputs"))
    combinations, tested = None, binner
    if stored.flag("has_combinations"):
        combinations = _read_combinations(stored, schema)
        tested = stored.binner("combined.")
        fits = len(tested.is_categorical) == combinations.n_combinations
        require(fits and not tested.is_categorical.any(), "the bins do not match the combinations")
    forest = PackedForest(**stored.arrays("forest.", ARRAYS), binner=tested)
    forest.validate()
    require(forest.n_values == outputs.n_values, "the leaves do not have a value for each output")
    sampling, n_rows = read_samples(stored.field("draws"), stored, outputs)
    leaf_targets = _read_leaf_targets(stored, forest) if stored.flag("keeps_targets") else None
    model = ForestModel(
        schema=schema,
        binner=binner,
        forest=forest,
        outputs=outputs,
        sampling=sampling,
        n_rows=n_rows,
        combinations=combinations,
        leaf_targets=leaf_targets,
    )
    attributes = column_attributes(schema) | outputs.attributes() | {"_model": model}
    score = stored.score("oob_score")
    return attributes if score is None else attributes | {_OUT_OF_BAG_SCORE: score}


def _read_unpacked(kind: type[Any], stored: Stored, schema: TableSchema) -> dict[str, Any]:
    """Read a forest of another library."""
    binner, ensemble = read_trees(stored, schema)
    outputs = read_outputs(outputs_kind(kind), stored.field("outputs"))
    require(ensemble.n_trees > 0, "there is no tree")
    fits = ensemble.value.shape[1] == ensemble.n_outputs == outputs.n_values
    require(fits, "the leaves do not have a value for each output")
    require(not ensemble.base_score.any(), "a forest has a base score")
    require(ensemble.arithmetic == OWN_ARITHMETIC, "a forest has a different arithmetic")
    sampling, n_rows = read_samples(stored.field("draws"))
    require(stored.score("oob_score") is None, "a forest of another library has an oob_score")
    is_plain = not (stored.flag("has_combinations") or stored.flag("keeps_targets"))
    require(is_plain, "a forest of another library has combinations or targets")
    model = ForestModel(
        schema=schema,
        binner=binner,
        forest=UnpackedForest(ensemble, binner),
        outputs=outputs,
        sampling=sampling,
        n_rows=n_rows,
    )
    return column_attributes(schema) | outputs.attributes() | {"_model": model}


def _arrays_of(prefix: str, part: Any, names: Iterable[str]) -> Arrays:
    return with_prefix(prefix, {name: getattr(part, name) for name in names})


def write_samples(sampling: BootstrapSamples, n_rows: int) -> Document:
    """Return how rows are sampled, and from how many."""
    by_class = {"class_draws": list(sampling.class_draws)} if sampling.class_draws else {}
    n_drawn_from = {} if sampling.rows is None else {"n_drawn_from": len(sampling.rows)}
    return {
        "n_rows": n_rows,
        "n_draws": sampling.n_draws,
        "bootstrap": sampling.bootstrap,
        "seed": sampling.seed,
    } | (by_class | n_drawn_from)


def write_sampled_rows(sampling: BootstrapSamples) -> Arrays:
    """Return the rows that are drawn from, if not all are, and their classes, if these matter."""
    rows, row_class = sampling.rows, sampling.row_class
    arrays: Arrays = {} if row_class is None else {_ROW_CLASS: row_class.astype(np.int32)}
    return arrays if rows is None else arrays | {_ROWS: rows.astype(np.int64)}


def read_samples(
    stored: Any, model: Stored | None = None, outputs: Outputs | None = None
) -> tuple[BootstrapSamples, int]:
    """Read the output of `write_samples`; `model` has the output of `write_sampled_rows`."""
    fields = Stored(stored, {})
    n_rows, n_draws, seed = (fields.field(name) for name in ("n_rows", "n_draws", "seed"))
    bootstrap = fields.flag("bootstrap")
    class_draws = fields.field("class_draws") if fields.has("class_draws") else None
    are_fewer = fields.has("n_drawn_from")
    n_drawn_from = fields.field("n_drawn_from") if are_fewer else n_rows
    fields.finish()
    are_counts = all(type(n) is int and 1 <= n < 2**32 for n in (n_rows, n_drawn_from, n_draws))
    is_possible = are_counts and (n_draws <= n_drawn_from or class_draws is not None)
    require(is_possible, "samples are larger than the number of rows")
    require(type(seed) is int and 0 <= seed < 2**34, "the seed is not an integer below 2³⁴")
    sampling = BootstrapSamples(n_draws, bootstrap=bootstrap, seed=seed)
    if are_fewer:
        require(model is not None, "the rows that samples are drawn from are missing")
        sampling = replace(sampling, rows=_read_drawn_rows(model, n_drawn_from, n_rows))
    if class_draws is None:
        return sampling, n_rows
    require(isinstance(outputs, ClassOutputs) and model is not None, "there are no classes to draw")
    return _read_row_classes(sampling, class_draws, model, outputs, n_drawn_from), n_rows


def _read_drawn_rows(model: Any, n_drawn_from: int, n_rows: int) -> Indices:
    rows = model.array(_ROWS, (n_drawn_from,), np.int64)
    are_rows = rows[0] >= 0 and rows[-1] < n_rows and (np.diff(rows) > 0).all()
    require(bool(are_rows), "the rows that samples are drawn from are out of range or order")
    return np.asarray(rows, np.intp)


def _read_row_classes(
    sampling: BootstrapSamples, draws: Any, model: Any, outputs: Any, n_rows: int
) -> BootstrapSamples:
    are_counts = isinstance(draws, list) and all(type(n) is int and 1 <= n < 2**32 for n in draws)
    require(are_counts and sum(draws) == sampling.n_draws, "the draws of the classes do not add up")
    row_class = model.array(_ROW_CLASS, (n_rows,), np.int32)
    require(outputs.is_single and len(outputs.classes[0]) == len(draws), "classes lack draws")
    is_class = (row_class >= 0) & (row_class < len(draws))
    require(is_class.all() and np.bincount(row_class).all(), "a class has no rows")
    require(row_class.max() == len(draws) - 1, "the last class has no rows")
    return replace(sampling, class_draws=tuple(draws), row_class=row_class.astype(np.uint16))


def _read_combinations(stored: Stored, schema: TableSchema) -> Combinations:
    arrays = stored.arrays("combinations.", _COMBINATION_ARRAYS)
    dtypes = (np.int32, np.float64, np.float64, np.bool_, np.bool_)
    ranks = (2, 2, 1, 3, 1)
    for (name, array), dtype, rank in zip(arrays.items(), dtypes, ranks, strict=True):
        require(array.dtype == dtype and array.ndim == rank, f"{name} has the wrong type or shape")
    inputs, coefficients = arrays["inputs"], arrays["coefficients"]
    counts_as_one, flags = arrays["counts_as_one"], arrays["is_categorical"]
    require(inputs.size > 0 and inputs.shape == coefficients.shape, "there are no combinations")
    numbers = np.isfinite(coefficients).all() and np.isfinite(arrays["centres"]).all()
    require(numbers, "a coefficient or a centre is not finite")
    require(len(arrays["centres"]) == schema.n_features, "the number of centres is wrong")
    in_range = (inputs >= 0).all() and (inputs < schema.n_features).all()
    require(in_range, "a combination has a feature that is out of range")
    require(np.array_equal(flags, schema.is_categorical), "categorical features differ")
    depth = 256 if flags.any() else 0
    require(counts_as_one.shape == (*inputs.shape, depth), "counts_as_one has the wrong shape")
    return Combinations(**arrays)


def _read_leaf_targets(stored: Stored, forest: PackedForest) -> LeafTargets:
    arrays = stored.arrays("leaf_rows.", _LEAF_ARRAYS)
    dtypes = (np.uint32, np.int64, np.float64, np.float64)
    for (name, array), dtype in zip(arrays.items(), dtypes, strict=True):
        rank = 2 if name == "targets" else 1
        fits = array.dtype == dtype and array.ndim == rank
        require(fits, f"{name} has the wrong type or shape")
        require(array.dtype.kind != "f" or np.isfinite(array).all(), f"{name} is not finite")
    rows, starts, n_rows = arrays["rows"], arrays["starts"], len(arrays["targets"])
    require(len(starts) == forest.n_leaves + 1, "the stored rows do not match the leaves")
    spans: NDArray[np.bool_] = starts[1:] > starts[:-1]
    require(starts[0] == 0 and starts[-1] == len(rows) and spans.all(), "a leaf has no rows")
    require(n_rows > 0 and len(arrays["weights"]) == n_rows, "targets and weights differ in number")
    require((rows < n_rows).all(), "a leaf refers to a row that is out of range")
    require((arrays["weights"] >= 0).all(), "a weight is negative")
    require(arrays["targets"].shape[1] == forest.n_values, "targets have different outputs")
    return LeafTargets(**arrays)
