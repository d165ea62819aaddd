"""What models of any learners know of a table's columns ↔ JSON types: how many, and their names."""

from __future__ import annotations

from typing import Any

from hedgerow._data.names import names_from_json, names_to_json
from hedgerow._estimator import fitted_names, name_attributes
from hedgerow._model_file.container import Document
from hedgerow._model_file.stored import Stored, require


def write_columns(estimator: Any) -> Document:
    """Return scikit-learn's attributes about the columns that a fit saw."""
    return {
        "n_features": vars(estimator).get("n_features_in_"),
        "feature_names": names_to_json(fitted_names(estimator)),
    }


def read_columns(stored: Stored) -> dict[str, Any]:
    """Read the attributes."""
    attributes: dict[str, Any] = {}
    n_features, names = stored.field("n_features"), stored.field("feature_names")
    if n_features is not None:
        require(type(n_features) is int and n_features >= 1, "n_features is not a number")
        attributes["n_features_in_"] = n_features
    if names is not None:
        require(n_features is not None, "there are names of no features")
        attributes |= name_attributes(names_from_json(names, n_features))
    return attributes
