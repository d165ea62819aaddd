"""Trees ↔ a model file: the arrays of one or of many, and what a single tree has learned."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from hedgerow._data.schema import TableSchema
from hedgerow._estimator import column_attributes
from hedgerow._model_file.container import Arrays, Document
from hedgerow._model_file.outputs import read_outputs, write_outputs
from hedgerow._model_file.stored import Stored, check_columns, require, with_prefix
from hedgerow._tree.fitting import TreeModel
from hedgerow._tree.linear_leaves import SLOPE_ARRAYS, LinearLeaves
from hedgerow._tree.structure import Ensemble

_NO_ARRAY = ("n_features", "slopes")
_ENSEMBLE_ARRAYS = sorted(f.name for f in fields(Ensemble) if f.init and f.name not in _NO_ARRAY)


def ensemble_arrays(ensemble: Ensemble) -> Arrays:
    """Return the arrays of an ensemble."""
    arrays = {name: getattr(ensemble, name) for name in _ENSEMBLE_ARRAYS}
    if ensemble.slopes is not None:
        slopes = {name: getattr(ensemble.slopes, name) for name in SLOPE_ARRAYS}
        arrays |= with_prefix("slopes.", slopes)
    return with_prefix("ensemble.", arrays)


def read_ensemble(stored: Stored, schema: TableSchema, *, may_slope: bool = False) -> Ensemble:
    """Read an ensemble whose arrays can be trusted; `may_slope` if its leaves may be linear."""
    arrays = stored.arrays("ensemble.", _ENSEMBLE_ARRAYS)
    slopes = None
    if may_slope and stored.has_arrays("ensemble.slopes."):
        slopes = LinearLeaves(**stored.arrays("ensemble.slopes.", SLOPE_ARRAYS))
    ensemble = Ensemble(**arrays, slopes=slopes, n_features=schema.n_features)
    ensemble.validate()
    return ensemble


def check_tests(schema: TableSchema, ensemble: Ensemble) -> None:
    """Check that categories are tested of categorical features, and numbers of the others."""
    inner = ensemble.feature >= 0
    require(
        np.array_equal(
            # Not by [ ]: NumPy crashes where it has no memory to convert indices in.
            schema.is_categorical.take(ensemble.feature[inner]),
            ensemble.category_set[inner] >= 0,
        ),
        "a node tests a category of a numeric feature, or a number of a categorical one",
    )
    if ensemble.slopes is not None:
        has_slope = schema.is_categorical.take(ensemble.slopes.feature)
        require(not has_slope.any(), "a leaf has a slope along a categorical feature")


def write(estimator: Any) -> tuple[Document, Arrays]:
    """Return what a tree has learned."""
    model: TreeModel = estimator._fitted_model()  # noqa: SLF001
    document = {"schema": model.schema.to_dict(), "outputs": write_outputs(model.outputs)}
    arrays = ensemble_arrays(model.ensemble) | with_prefix("binner.", model.binner.to_dict())
    return document, arrays


def read(kind: type[Any], stored: Stored) -> dict[str, Any]:
    """Read the attributes of a fitted tree."""
    schema, binner = stored.schema(), stored.binner()
    check_columns(schema, binner)
    ensemble = read_ensemble(stored, schema)
    check_tests(schema, ensemble)
    outputs = read_outputs(kind._outputs, stored.field("outputs"))  # noqa: SLF001
    require(ensemble.n_trees == 1, "there is not one tree")
    fits = ensemble.value.shape[1] == ensemble.n_outputs == outputs.n_values
    require(fits, "leaves have not a value for each output")
    require(not ensemble.base_score.any(), "a tree begins with no score")
    model = TreeModel(schema, binner, ensemble, outputs)
    return column_attributes(schema) | outputs.attributes() | {"_model": model}
