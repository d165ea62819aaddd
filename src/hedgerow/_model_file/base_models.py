"""Fitted estimators inside another ↔ a model file: each is what the other will ask it to be.

A member is a whole model and checks itself. Whether it has the columns, the classes or the outputs
that its owner relies on is checked here, so that a file is refused when it is read and not when its
model predicts.
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


def read_members(stored: Stored, name: str) -> list[Any]:
    """Read the estimators of a list, all of one kind."""
    from hedgerow._model_file.contents import read_stored

    members = [read_stored(part) for part in stored.parts(name)]
    require(len({type(member) for member in members}) <= 1, f"{name} are of several kinds")
    return members


def require_columns(
    member: Any, owner: Mapping[str, Any], drawn: NDArray[np.intp] | None = None
) -> None:
    """Check that a member takes the table that its owner will hand it, or the columns `drawn`."""
    n_features, names = owner.get("n_features_in_"), _names_for_members(owner)
    if drawn is not None:
        n_features = len(drawn)
        names = None if names is None else np.asarray(_names_of(names, drawn), object)
    own = getattr(member, "n_features_in_", n_features)
    takes_queries = getattr(member, "qid_column", None) is not None  # besides the features
    fits = n_features is None or own == n_features or (takes_queries and own == n_features - 1)
    require(fits, f"a member is of {own} columns, not of {n_features}")
    _require_names(getattr(member, "feature_names_in_", None), names, takes_queries)


def _names_for_members(owner: Mapping[str, Any]) -> NDArray[Any] | None:
    """Return the names of the table that members get: strings, also where some are none."""
    names: NDArray[Any] | None = owner.get("feature_names_in_")
    mixed = owner.get(COLUMN_NAMES)
    if names is not None or mixed is None:
        return names
    return np.array(labels_of(tuple(mixed), len(mixed)), object)


def _names_of(names: NDArray[Any], drawn: NDArray[np.intp]) -> list[Any]:
    """Return the names of columns that were drawn; bagging numbers those of repeated ones."""
    known = [names[column] for column in drawn]
    repeats = [known[:place].count(name) for place, name in enumerate(known)]
    return [f"{name}#{n + 1}" if n else name for name, n in zip(known, repeats, strict=True)]


def _require_names(
    own: NDArray[Any] | None, names: NDArray[Any] | None, takes_queries: bool
) -> None:
    # Names that are no strings are those of places, which bagging may give anew.
    if own is None or not all(isinstance(name, str) for name in own):
        return
    known = [] if names is None else names.tolist()
    fits = set(own.tolist()) <= set(known) if takes_queries else own.tolist() == known
    require(fits, "a member has other names of columns")


def require_numbers(member: Any, n_outputs: int = 1) -> None:
    """Check that a member predicts so many numbers of a row."""
    is_regressor = hasattr(member, "predict") and not hasattr(member, "classes_")
    require(is_regressor, f"a {type(member).__name__} predicts no numbers")
    require(_n_numbers(member) == n_outputs, f"a member does not predict {n_outputs} numbers")


def _n_numbers(member: Any) -> int:
    model = internals(member).model()
    if isinstance(model, BoostedModel):
        return model.ensemble.n_outputs
    outputs = getattr(model, "outputs", None)
    return 1 if outputs is None else int(outputs.n_outputs)


def require_classes(member: Any, classes: Sequence[NDArray[Any]], *, shares: bool = False) -> None:
    """Check that a member tells some of each output's classes, and their `shares` if need be."""
    known = getattr(member, "classes_", None)
    require(known is not None, f"a {type(member).__name__} predicts no classes")
    listed = known if isinstance(known, list) else [known]
    are_as_many = len(listed) == len(classes) and isinstance(known, list) == (len(classes) > 1)
    require(are_as_many, "a member predicts another number of outputs")
    for own, allowed in zip(listed, classes, strict=True):
        # Numbers are compared by value, which is how they are looked up among the classes.
        are_known = set(own.tolist()) <= set(allowed.tolist())
        alike = (own.dtype.kind in "UO") == (allowed.dtype.kind in "UO")
        require(are_known and alike, "a member knows other classes")
    has_shares = not shares or hasattr(member, "predict_proba")
    require(has_shares, f"a {type(member).__name__} gives no probabilities")


def require_one_tree(member: Any) -> None:
    """Check that a member is a single tree, which tells the leaf of a row."""
    model = internals(member).model()
    trees = getattr(model, "ensemble", getattr(model, "forest", None))
    is_one = hasattr(member, "apply") and trees is not None and trees.n_trees == 1
    require(is_one, "a learner with steps by leaf is not one tree")
