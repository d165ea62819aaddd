"""Monotonic constraints, interaction constraints and feature weights.

The parameters refer to columns by name or index. Here they are checked against the columns of the
table and converted to what growers take (see `GrowthParams`): values by feature, groups of indices.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow._boosting.losses import BaseLoss
from hedgerow._data.names import column_index
from hedgerow._data.table import TableSchema
from hedgerow._estimator import Estimator
from hedgerow._params import NOT_NEGATIVE, NOTHING, Options, ParameterKind, any_of
from hedgerow._tree.monotone import is_monotone
from hedgerow._tree.structure import Ensemble
from hedgerow.exceptions import ParameterError

CONSTRAINT_PARAMETERS = ("monotonic_constraints", "interaction_constraints", "feature_weights")
DIRECTIONS = {-1: -1, 0: 0, 1: 1, "increasing": 1, "decreasing": -1}
# The maximum number of different features on a path.
INTERACTIONS = {"pairwise": 2, "no_interactions": 1}


def _is_collection(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Iterator))


MONOTONIC_CONSTRAINTS = any_of(
    NOTHING,
    ParameterKind(
        "a list of -1, 0 or 1 for each column, or a dict from column to one of these, 'increasing' "
        "or 'decreasing'",
        _is_collection,
        "Iterable[Any]",
    ),
)
INTERACTION_CONSTRAINTS = any_of(
    NOTHING,
    Options(tuple(INTERACTIONS)),
    ParameterKind(
        "a list of groups, each a list of column names or indices",
        lambda value: _is_collection(value) and not isinstance(value, Mapping),
        "Iterable[Any]",
    ),
)
FEATURE_WEIGHTS = any_of(
    NOTHING,
    ParameterKind(
        "a list of one number for each column, or a dict from column to number",
        _is_collection,
        "Iterable[Any]",
    ),
)


@dataclass(frozen=True)
class Constraints:
    """The constraints on the features of a table; fields are those of `GrowthParams`."""

    directions: tuple[int, ...]
    interaction_groups: tuple[tuple[int, ...], ...]
    most_features_on_path: int
    feature_weights: tuple[float, ...]

    def of_columns(self, features: Sequence[int]) -> dict[str, Any]:
        """Return the fields for encoded columns, given the feature of each."""
        groups = [set(group) for group in self.interaction_groups]
        return {
            "directions": tuple(self.directions[f] for f in features if self.directions),
            "interaction_groups": tuple(
                tuple(j for j, f in enumerate(features) if f in group) for group in groups
            ),
            "most_features_on_path": self.most_features_on_path,
            "feature_weights": tuple(
                self.feature_weights[f] for f in features if self.feature_weights
            ),
        }


UNCONSTRAINED = Constraints((), (), 0, ())


def read_constraints(estimator: Estimator, schema: TableSchema, loss: BaseLoss) -> Constraints:
    """Return the constraints on the features of a table."""
    directions = _read_directions(estimator.monotonic_constraints, schema)
    if directions and estimator.linear_leaves:
        raise _no_order_of_slopes()
    if directions and loss.link == "softmax":
        raise ParameterError(
            f"monotonic_constraints need numeric targets or two classes, but y has "
            f"{loss.n_outputs} classes: the probability of each depends on the scores of all, so "
            "it would not be monotonic even if every score were."
        )
    groups, most_features = _read_interactions(estimator.interaction_constraints, schema)
    weights = _read_weights(estimator.feature_weights, schema)
    return Constraints(directions, groups, most_features, weights)


def require_no_slopes(ensemble: Ensemble) -> None:
    """Refuse linear leaves, which have no single value."""
    if ensemble.slopes is not None:
        raise _no_order_of_slopes()


def _no_order_of_slopes() -> ParameterError:
    return ParameterError(
        "monotonic_constraints are not allowed with linear_leaves=True: predictions that change "
        "within leaves cannot be kept monotonic."
    )


def require_monotone(ensemble: Ensemble, directions: Sequence[int]) -> None:
    """Refuse an initial model that violates the constraints."""
    if not directions:
        return
    require_no_slopes(ensemble)
    if not all(is_monotone(tree, directions) for tree in ensemble.trees()):
        raise ParameterError(
            "monotonic_constraints are violated by the initial model. Start a new model, without "
            "warm_start or init_model."
        )


def _read_directions(constraints: Any, schema: TableSchema) -> tuple[int, ...]:
    name = "monotonic_constraints"
    directions = [0] * schema.n_features
    for feature, value in _by_feature(constraints, schema, name).items():
        directions[feature] = _direction(value, _label(feature, schema))
        if directions[feature] and feature in schema.categories:
            raise ParameterError(
                f"{name}: {_label(feature, schema)} is categorical, and its values have no order."
            )
    return tuple(directions) if any(directions) else ()


def _direction(value: Any, label: str) -> int:
    is_flag = isinstance(value, bool | np.bool_)
    if is_flag or not isinstance(value, Hashable) or value not in DIRECTIONS:
        raise ParameterError(
            f"monotonic_constraints gives {label} the value {value!r}; it must be "
            f"one of {', '.join(map(repr, DIRECTIONS))}."
        )
    return DIRECTIONS[value]


def _read_interactions(
    constraints: Any, schema: TableSchema
) -> tuple[tuple[tuple[int, ...], ...], int]:
    """Return the groups, and the maximum number of different features on a path."""
    if constraints is None:
        return (), 0
    if isinstance(constraints, str):
        return (), INTERACTIONS[constraints]
    groups = [_read_group(group, schema) for group in constraints]
    every = set(range(schema.n_features))
    rest = every.difference(*groups)
    if rest:
        groups.append(rest)
    if every in groups:
        return (), 0
    return tuple(tuple(sorted(group)) for group in groups), 0


def _read_group(columns: Any, schema: TableSchema) -> set[int]:
    name = "interaction_constraints"
    if not _is_collection(columns) or isinstance(columns, Mapping):
        raise ParameterError(
            f"{name} contains {columns!r}: each group must be a list of column names or indices."
        )
    group = {column_index(one, schema.feature_names, schema.n_features, name) for one in columns}
    if not group:
        raise ParameterError(f"{name} has a group without columns.")
    return group


def _read_weights(feature_weights: Any, schema: TableSchema) -> tuple[float, ...]:
    name = "feature_weights"
    weights = [1.0] * schema.n_features
    for feature, value in _by_feature(feature_weights, schema, name).items():
        if value not in NOT_NEGATIVE:
            raise ParameterError(
                f"{name} gives {_label(feature, schema)} the weight {value!r}; it must be "
                f"{NOT_NEGATIVE}."
            )
        weights[feature] = float(value)
    if not any(weights):
        raise ParameterError(f"{name} are all 0: no feature is left to split on.")
    return () if all(weight == 1.0 for weight in weights) else tuple(weights)


def _by_feature(parameter: Any, schema: TableSchema, name: str) -> dict[int, Any]:
    """Return the values of a dict (for some columns) or a list (for all) by feature index."""
    if parameter is None:
        return {}
    if not (isinstance(parameter, Mapping) or _has_labels(parameter)):
        values = list(parameter)
        if len(values) != schema.n_features:
            raise ParameterError(
                f"{name} is a list of {len(values)} values, but X has {schema.n_features} columns: "
                "pass one for each, or a dict."
            )
        return dict(enumerate(values))
    values_by_feature: dict[int, Any] = {}
    for column, value in parameter.items():
        feature = column_index(column, schema.feature_names, schema.n_features, name)
        if feature in values_by_feature:
            raise ParameterError(f"{name} names {_label(feature, schema)} twice.")
        values_by_feature[feature] = value
    return values_by_feature


def _label(feature: int, schema: TableSchema) -> str:
    names = schema.feature_names
    return f"column {feature if names is None else names[feature]!r}"


def _has_labels(values: Any) -> bool:
    """Recognise a pandas series whose index names columns, instead of counting values."""
    index: Any = getattr(values, "index", None)
    if not hasattr(values, "items") or not hasattr(index, "tolist"):
        return False
    return bool(index.tolist() != list(range(len(values))))
