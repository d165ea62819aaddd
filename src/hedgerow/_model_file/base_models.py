"""The base models of an ensemble ↔ a model file.

A base model is a complete model and checks itself. Whether it has the columns, classes and outputs
that the ensemble relies on is checked here, so that an invalid file is refused when it is read, not
at prediction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._boosting.model import BoostedModel
from hedgerow._contract import internals
from hedgerow._data.names import COLUMN_NAMES, labels_of
from hedgerow._model_file.stored import Stored, require


def read_base_models(stored: Stored, name: str) -> list[Any]:
    """Read the estimators of a list, all of one kind."""
    from hedgerow._model_file.contents import read_stored

    base_models = [read_stored(nested) for nested in stored.nested_list(name)]
    require(
        len({type(base_model) for base_model in base_models}) <= 1,
        f"{name} have different classes",
    )
    return base_models


def require_columns(
    base_model: Any, owner: Mapping[str, Any], columns: NDArray[np.intp] | None = None
) -> None:
    """Check that a base model accepts the table of its ensemble, or these columns of it."""
    n_features, names = owner.get("n_features_in_"), _names_for_base_models(owner)
    if columns is not None:
        n_features = len(columns)
        names = None if names is None else np.asarray(_names_of(names, columns), object)
    own = getattr(base_model, "n_features_in_", n_features)
    takes_queries = getattr(base_model, "qid_column", None) is not None  # besides the features
    fits = n_features is None or own == n_features or (takes_queries and own == n_features - 1)
    require(fits, f"a base model has {own} columns, not {n_features}")
    _require_names(getattr(base_model, "feature_names_in_", None), names, takes_queries)


def _names_for_base_models(owner: Mapping[str, Any]) -> NDArray[Any] | None:
    """Return the column names that base models get: strings, even if some names are not."""
    names: NDArray[Any] | None = owner.get("feature_names_in_")
    mixed = owner.get(COLUMN_NAMES)
    if names is not None or mixed is None:
        return names
    return np.array(labels_of(tuple(mixed), len(mixed)), object)


def _names_of(names: NDArray[Any], columns: NDArray[np.intp]) -> list[Any]:
    """Return the names of sampled columns; bagging numbers repeated ones."""
    own = [names[column] for column in columns]
    repeats = [own[:j].count(name) for j, name in enumerate(own)]
    return [f"{name}#{n + 1}" if n else name for name, n in zip(own, repeats, strict=True)]


def _require_names(
    own: NDArray[Any] | None, names: NDArray[Any] | None, takes_queries: bool
) -> None:
    # Other names are positions, which bagging may reassign.
    if own is None or not all(isinstance(name, str) for name in own):
        return
    expected = [] if names is None else names.tolist()
    fits = set(own.tolist()) <= set(expected) if takes_queries else own.tolist() == expected
    require(fits, "a base model has different column names")


def require_numbers(base_model: Any, n_outputs: int = 1) -> None:
    """Check that a base model predicts `n_outputs` numbers per row."""
    is_regressor = hasattr(base_model, "predict") and not hasattr(base_model, "classes_")
    require(is_regressor, f"a {type(base_model).__name__} does not predict numbers")
    require(_n_numbers(base_model) == n_outputs, "a base model lacks outputs")


def _n_numbers(base_model: Any) -> int:
    model = internals(base_model).model()
    if isinstance(model, BoostedModel):
        return model.ensemble.n_outputs
    outputs = getattr(model, "outputs", None)
    return 1 if outputs is None else int(outputs.n_outputs)


def require_classes(
    base_model: Any, classes: Sequence[NDArray[Any]], *, shares: bool = False
) -> None:
    """Check that a base model predicts classes of each output, and probabilities if `shares`."""
    own_classes = getattr(base_model, "classes_", None)
    require(own_classes is not None, f"a {type(base_model).__name__} does not predict classes")
    listed = own_classes if isinstance(own_classes, list) else [own_classes]
    are_as_many = len(listed) == len(classes) and isinstance(own_classes, list) == (
        len(classes) > 1
    )
    require(are_as_many, "a base model has a different number of outputs")
    for own, allowed in zip(listed, classes, strict=True):
        # Numbers are compared by value, which is how they are looked up among the classes.
        is_subset = set(own.tolist()) <= set(allowed.tolist())
        alike = (own.dtype.kind in "UO") == (allowed.dtype.kind in "UO")
        require(is_subset and alike, "a base model has different classes")
    has_shares = not shares or hasattr(base_model, "predict_proba")
    require(has_shares, f"a {type(base_model).__name__} does not predict probabilities")


def require_one_tree(base_model: Any) -> None:
    """Check that a base model is a single tree with `apply`."""
    model = internals(base_model).model()
    trees = getattr(model, "ensemble", getattr(model, "forest", None))
    is_one = hasattr(base_model, "apply") and trees is not None and trees.n_trees == 1
    require(is_one, "a base model with a step for each leaf is not a single tree")
