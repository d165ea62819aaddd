"""Growth parameters: their declarations for estimators, and `GrowthParams` for growers.

A `GrowthParams` has checked values, with 0 for "no limit". Kernels read its fields by name:
``native/shared/growth_params.hpp`` and ``native/tree/constraints.hpp`` have the same fields, and a
test compares them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from hedgerow._estimator import Estimator
from hedgerow._params import (
    AUTO,
    COUNT,
    FLAG,
    FRACTION,
    NOT_NEGATIVE,
    NOTHING,
    Number,
    Options,
    Parameter,
    Peers,
    any_of,
)

GrowPolicy = Literal["leafwise", "levelwise", "symmetric"]

GROWTH_PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "max_leaves",
        "auto",
        any_of(Number(2, 65_535, integer=True), NOTHING, AUTO),
        "Maximum number of leaves of a tree. None means no limit (at most 65,535). 'auto' is "
        "chosen from the data if n_estimators is 'auto', and is 31 otherwise; for symmetric trees "
        "it is 64, or no limit if max_depth is set.",
        Peers("max_leaves", "num_leaves", "max_leaves", "max_leaf_nodes"),
        group="Trees",
    ),
    Parameter(
        "max_depth",
        None,
        any_of(COUNT, NOTHING),
        "Maximum depth of a tree: splits from the root to a leaf. None means no limit.",
        Peers("max_depth", "max_depth", "depth", "max_depth"),
        group="Trees",
    ),
    Parameter(
        "min_samples_leaf",
        "auto",
        any_of(COUNT, AUTO),
        "Minimum number of rows in a leaf, regardless of their weights. 'auto' is chosen from the "
        "data if n_estimators is 'auto', and is 20 otherwise.",
        Peers("", "min_child_samples", "min_data_in_leaf", "min_samples_leaf"),
        group="Trees",
    ),
    Parameter(
        "min_child_weight",
        1e-3,
        NOT_NEGATIVE,
        "Minimum sum of hessians in a leaf; for the squared error this is the sum of the sample "
        "weights. Weights with a mean below 1 are divided by their mean.",
        Peers("min_child_weight", "min_child_weight", "", ""),
        group="Trees",
    ),
    Parameter(
        "reg_lambda",
        "auto",
        any_of(NOT_NEGATIVE, AUTO),
        "L2 penalty on leaf values (λ). 'auto' is chosen from the data if n_estimators is 'auto', "
        "and is 1 otherwise.",
        Peers("reg_lambda", "reg_lambda", "l2_leaf_reg", "l2_regularization"),
        group="Regularisation",
    ),
    Parameter(
        "reg_alpha",
        0.0,
        NOT_NEGATIVE,
        "L1 penalty on leaf values (α).",
        Peers("reg_alpha", "reg_alpha", "", ""),
        group="Regularisation",
    ),
    Parameter(
        "min_split_gain",
        0.0,
        NOT_NEGATIVE,
        "Minimum gain required to make a split (γ).",
        Peers("gamma", "min_split_gain", "", ""),
        group="Regularisation",
    ),
    Parameter(
        "prune",
        False,
        FLAG,
        "Whether min_split_gain is applied after growth: trees are grown without it, and splits "
        "are then removed from the bottom up, if both children are leaves and the gain is not "
        "above min_split_gain. A split that gains little is kept if splits below it gain enough.",
        group="Regularisation",
    ),
    Parameter(
        "max_delta_step",
        0.0,
        NOT_NEGATIVE,
        "Maximum absolute leaf value before shrinkage. 0 means no limit.",
        Peers("max_delta_step", "max_delta_step", "", ""),
        group="Regularisation",
    ),
)
GROW_POLICY = Parameter(
    "grow_policy",
    "auto",
    Options((*get_args(GrowPolicy), "auto")),
    "Which leaf is split next: 'leafwise' splits the leaf with the largest gain, 'levelwise' all "
    "leaves of a level before the next level. 'symmetric' splits all leaves of a level on the "
    "same condition, the one with the largest total gain; min_split_gain is the minimum of that "
    "total. Symmetric trees are not available with splitter='exact'. 'auto' is chosen from "
    "the data if n_estimators is 'auto', and is 'leafwise' otherwise.",
    Peers("grow_policy", "", "grow_policy", ""),
    group="Trees",
)
COLSAMPLE_BYLEVEL = Parameter(
    "colsample_bylevel",
    1.0,
    FRACTION,
    "Fraction of the tree's features sampled for each level.",
    Peers("colsample_bylevel", "", "rsm", ""),
    group="Sampling of rows and columns",
)
COLSAMPLE_BYNODE = Parameter(
    "colsample_bynode",
    "auto",
    any_of(FRACTION, AUTO),
    "Fraction of the level's features sampled for each node; a level of a symmetric tree counts "
    "as one node. 'auto' is chosen from the data if n_estimators is 'auto', and is 1 otherwise.",
    Peers("colsample_bynode", "feature_fraction_bynode", "", "max_features"),
    group="Sampling of rows and columns",
)


@dataclass(frozen=True)
class GrowthParams:
    """The parameters of all boosting engines.

    Attributes
    ----------
    max_leaves, max_depth : int
        Maximum number of leaves, and maximum depth (a single leaf has depth 0); 0 is no limit.
    min_samples_leaf : int
        Minimum number of rows in each child of a split.
    min_child_weight : float
        Minimum sum of hessians in each child of a split.
    reg_lambda, reg_alpha : float
        L2 and L1 penalty on leaf weights.
    min_split_gain : float
        Minimum gain of a split (γ) during growth.
    prune_below : float
        Minimum gain of splits whose children are leaves, applied after growth, from the bottom up;
        0 is no pruning. It is subtracted from all gains, as min_split_gain is.
    max_delta_step : float
        Maximum absolute leaf weight before shrinkage; 0 is no limit.
    learning_rate : float
        Shrinkage: a leaf adds ``learning_rate * weight``.
    grow_policy : {"leafwise", "levelwise", "symmetric"}
        Whether the leaf with the largest gain is split next, or all leaves of a level, each by its
        own test or all by the same.
    max_cat_to_onehot : int
        With at most this many categories in a node, each is tried against the rest.
    max_cat_threshold : int
        Maximum number of categories on the smaller side of a split of sorted categories.
    cat_smooth : float
        Added to a category's hessian when categories are sorted by gradient over hessian.
    cat_l2 : float
        Added to ``reg_lambda`` in the gain of a split of sorted categories.
    min_category_weight : float
        Minimum sum of hessians of a category in a node to be sorted; categories with fewer rows go
        right. 2.5 is ten rows of a log loss with balanced classes, three of a squared error; not an
        integer, so that rounding does not matter.
    colsample_bytree, colsample_bylevel, colsample_bynode : float
        Fractions of the features sampled for a tree, of these for a level, and of these for a node.
    leaf_decay_rate, leaf_growth_rate : float
        Rates a and b of a loss that consists of e^(−a s) and e^(b s), whose leaf weights are exact
        minimisers. Both are 0 for other losses, whose leaf weights are Newton steps.
    interaction_groups : tuple of tuples of int
        Groups of features, increasing; the features on a path all belong to one group. Empty: no
        constraint.
    most_features_on_path : int
        Maximum number of different features on a path; 0 is no limit.
    directions : tuple of int
        Monotone constraints: 1 if values may not decrease with a feature, -1 if they may not
        increase, else 0. Empty: no constraint.
    feature_weights : tuple of float
        Factors of each feature's gain when splits are compared; 0 excludes a feature. Empty: all 1.
    seed : int
        Random seed of the feature sampling.
    """

    max_leaves: int = 31
    max_depth: int = 0
    min_samples_leaf: int = 1
    min_child_weight: float = 1e-3
    reg_lambda: float = 1.0
    reg_alpha: float = 0.0
    min_split_gain: float = 0.0
    prune_below: float = 0.0
    max_delta_step: float = 0.0
    learning_rate: float = 0.1
    grow_policy: GrowPolicy = "leafwise"
    max_cat_to_onehot: int = 4
    max_cat_threshold: int = 32
    cat_smooth: float = 10.0
    cat_l2: float = 10.0
    min_category_weight: float = 2.5
    colsample_bytree: float = 1.0
    colsample_bylevel: float = 1.0
    colsample_bynode: float = 1.0
    leaf_decay_rate: float = 0.0
    leaf_growth_rate: float = 0.0
    interaction_groups: tuple[tuple[int, ...], ...] = ()
    most_features_on_path: int = 0
    directions: tuple[int, ...] = ()
    feature_weights: tuple[float, ...] = ()
    seed: int = 0

    @classmethod
    def of(cls, estimator: Estimator, **others: Any) -> GrowthParams:
        """Return the estimator's parameters with the names of fields, and others by name.

        None, which is no limit for estimators, becomes 0.
        """
        parameters = vars(estimator)
        names = (field.name for field in fields(cls) if field.name in parameters)
        values: dict[str, Any] = {name: parameters[name] for name in names}
        limits: dict[str, float] = {name: 0 for name, value in values.items() if value is None}
        if parameters.get("prune", False):
            limits |= {"min_split_gain": 0.0, "prune_below": values["min_split_gain"]}
        return cls(**values | limits | others)

    def usable_features(self, n_features: int) -> list[int]:
        """Return the features whose weight is not 0."""
        return [f for f in range(n_features) if not self.feature_weights or self.feature_weights[f]]
