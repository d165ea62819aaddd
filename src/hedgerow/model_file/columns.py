"""What models of any learners know of a table's columns ↔ JSON types: how many, and their names."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.model_file.container import Document
from hedgerow.model_file.stored import Stored, require


def write_columns(estimator: Any) -> Document:
    """Give scikit-learn's attributes about the columns that a fit saw."""
    fitted = vars(estimator)
    names = fitted.get("feature_names_in_")
    return {
        "n_features": fitted.get("n_features_in_"),
        "feature_names": None if names is None else [str(name) for name in names],
    }


def read_columns(stored: Stored) -> dict[str, Any]:
    """Read the attributes."""
    attributes: dict[str, Any] = {}
    n_features, names = stored.field("n_features"), stored.field("feature_names")
    if n_features is not None:
        require(type(n_features) is int and n_features >= 1, "n_features is not a number")
        attributes["n_features_in_"] = n_features
    if names is not None:
        are_names = isinstance(names, list) and all(type(name) is str for name in names)
        require(are_names and len(names) == n_features, "there is not a name for each feature")
        attributes["feature_names_in_"] = np.array(names, dtype=object)
    return attributes
