"""Forests ↔ a model file: packed trees, and which rows they drew."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.schema import TableSchema
from hedgerow._estimator import column_attributes
from hedgerow._forest.combinations import Combinations
from hedgerow._forest.model import ForestModel
from hedgerow._forest.quantiles import LeafTargets
from hedgerow._model_file.container import Arrays, Document
from hedgerow._model_file.outputs import read_outputs, write_outputs
from hedgerow._model_file.stored import (
    Stored,
    check_columns,
    finite_or_none,
    require,
    with_prefix,
)
from hedgerow._tree.cart import BootstrapSamples
from hedgerow._tree.packed import ARRAYS, PackedForest

_COMBINATION_ARRAYS = ("inputs", "coefficients", "centres", "counts_as_one", "is_categorical")
_LEAF_ARRAYS = ("rows", "starts", "targets", "weights")
# What scikit-learn's attributes hold of the training rows is not stored.
_OUT_OF_BAG_SCORE = "oob_score_"


def write(estimator: Any) -> tuple[Document, Arrays]:
    """Return what a fit has learned."""
    model: ForestModel = estimator._fitted_model()  # noqa: SLF001
    score = vars(estimator).get(_OUT_OF_BAG_SCORE)
    document = {
        "schema": model.schema.to_dict(),
        "outputs": write_outputs(model.outputs),
        "draws": write_draws(model.sampling, model.n_rows),
        "oob_score": finite_or_none(score),
        "has_combinations": model.combinations is not None,
        "keeps_targets": model.leaf_targets is not None,
    }
    arrays = with_prefix("forest.", model.forest.arrays())
    arrays |= with_prefix("binner.", model.binner.to_dict())
    if model.combinations is not None:
        arrays |= _arrays_of("combinations.", model.combinations, _COMBINATION_ARRAYS)
        arrays |= with_prefix("combined.", model.forest.binner.to_dict())
    if model.leaf_targets is not None:
        arrays |= _arrays_of("leaf_rows.", model.leaf_targets, _LEAF_ARRAYS)
    return document, arrays


def read(kind: type[Any], stored: Stored) -> dict[str, Any]:
    """Read the attributes of a fitted estimator."""
    schema, binner = stored.schema(), stored.binner()
    check_columns(schema, binner)
    outputs = read_outputs(kind._outputs, stored.field("outputs"))  # noqa: SLF001
    combinations, tested = None, binner
    if stored.flag("has_combinations"):
        combinations = _read_combinations(stored, schema)
        tested = stored.binner("combined.")
        fits = len(tested.is_categorical) == combinations.n_combinations
        require(fits and not tested.is_categorical.any(), "the bins are not of the combinations")
    forest = PackedForest(**stored.arrays("forest.", ARRAYS), binner=tested)
    forest.validate()
    require(forest.n_values == outputs.n_values, "leaves have not a value for each output")
    sampling, n_rows = read_draws(stored.field("draws"))
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


def _arrays_of(prefix: str, part: Any, names: tuple[str, ...]) -> Arrays:
    return with_prefix(prefix, {name: getattr(part, name) for name in names})


def write_draws(sampling: BootstrapSamples, n_rows: int) -> Document:
    """Return how rows are drawn, out of how many."""
    return {
        "n_rows": n_rows,
        "n_draws": sampling.n_draws,
        "bootstrap": sampling.bootstrap,
        "seed": sampling.seed,
    }


def read_draws(stored: Any) -> tuple[BootstrapSamples, int]:
    """Read what `write_draws` gave."""
    fields = Stored(stored, {})
    n_rows, n_draws, seed = (fields.field(name) for name in ("n_rows", "n_draws", "seed"))
    bootstrap = fields.flag("bootstrap")
    fields.finish()
    are_counts = all(type(n) is int and 1 <= n < 2**32 for n in (n_rows, n_draws))
    require(are_counts and n_draws <= n_rows, "the draws are not of some of the rows")
    require(type(seed) is int and 0 <= seed < 2**34, "the seed is not a number below 2³⁴")
    return BootstrapSamples(n_draws, bootstrap=bootstrap, seed=seed), n_rows


def _read_combinations(stored: Stored, schema: TableSchema) -> Combinations:
    arrays = stored.arrays("combinations.", _COMBINATION_ARRAYS)
    dtypes = (np.int32, np.float64, np.float64, np.bool_, np.bool_)
    ranks = (2, 2, 1, 3, 1)
    for (name, array), dtype, rank in zip(arrays.items(), dtypes, ranks, strict=True):
        require(array.dtype == dtype and array.ndim == rank, f"{name} is not an array as expected")
    inputs, coefficients = arrays["inputs"], arrays["coefficients"]
    counts_as_one, flags = arrays["counts_as_one"], arrays["is_categorical"]
    require(inputs.size > 0 and inputs.shape == coefficients.shape, "no combinations")
    numbers = np.isfinite(coefficients).all() and np.isfinite(arrays["centres"]).all()
    require(numbers, "a coefficient or a centre is not finite")
    require(len(arrays["centres"]) == schema.n_features, "there is not a centre for each feature")
    in_range = (inputs >= 0).all() and (inputs < schema.n_features).all()
    require(in_range, "a combination is of no feature")
    require(np.array_equal(flags, schema.is_categorical), "combinations are of other features")
    depth = 256 if flags.any() else 0
    require(counts_as_one.shape == (*inputs.shape, depth), "categories are not counted")
    return Combinations(**arrays)


def _read_leaf_targets(stored: Stored, forest: PackedForest) -> LeafTargets:
    arrays = stored.arrays("leaf_rows.", _LEAF_ARRAYS)
    dtypes = (np.uint32, np.int64, np.float64, np.float64)
    for (name, array), dtype in zip(arrays.items(), dtypes, strict=True):
        rank = 2 if name == "targets" else 1
        fits = array.dtype == dtype and array.ndim == rank
        require(fits, f"{name} is not an array as expected")
        require(array.dtype.kind != "f" or np.isfinite(array).all(), f"{name} is not finite")
    rows, starts, n_rows = arrays["rows"], arrays["starts"], len(arrays["targets"])
    require(len(starts) == forest.n_leaves + 1, "there are not rows for each leaf")
    spans: NDArray[np.bool_] = starts[1:] > starts[:-1]
    require(starts[0] == 0 and starts[-1] == len(rows) and spans.all(), "a leaf has no rows")
    require(n_rows > 0 and len(arrays["weights"]) == n_rows, "targets and weights differ")
    require((rows < n_rows).all(), "a leaf has a row that is not there")
    require((arrays["weights"] >= 0).all(), "a weight is negative")
    require(arrays["targets"].shape[1] == forest.n_values, "targets are of other outputs")
    return LeafTargets(**arrays)
