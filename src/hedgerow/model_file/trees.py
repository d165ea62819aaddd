"""Trees ↔ the arrays of a model file."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from hedgerow.data.schema import TableSchema
from hedgerow.model_file.container import Arrays
from hedgerow.model_file.stored import Stored, require, with_prefix
from hedgerow.tree.structure import Ensemble

_ENSEMBLE_ARRAYS = sorted(f.name for f in fields(Ensemble) if f.init and f.name != "n_features")


def ensemble_arrays(ensemble: Ensemble) -> Arrays:
    """Give the arrays of an ensemble."""
    return with_prefix("ensemble.", {name: getattr(ensemble, name) for name in _ENSEMBLE_ARRAYS})


def read_ensemble(stored: Stored, schema: TableSchema) -> Ensemble:
    """Read an ensemble whose arrays can be trusted."""
    arrays = stored.arrays("ensemble.", _ENSEMBLE_ARRAYS)
    ensemble = Ensemble(**arrays, n_features=schema.n_features)
    ensemble.validate()
    return ensemble


def check_tests(schema: TableSchema, ensemble: Ensemble) -> None:
    """Check that categories are tested of categorical features, and numbers of the others."""
    inner = ensemble.feature >= 0
    require(
        np.array_equal(
            schema.is_categorical[ensemble.feature[inner]], ensemble.category_set[inner] >= 0
        ),
        "a node tests a category of a numeric feature, or a number of a categorical one",
    )
