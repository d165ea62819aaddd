"""The parameters of growing one tree, as every grower takes them.

Plain numbers, already checked where the user gave them; 0 is "no limit" where a limit can be off.
Kernels take a `GrowthParams` as it is: ``native/shared/growth_params.hpp`` and
``native/tree/constraints.hpp`` have fields of the same names, and a test holds them together.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from hedgerow._estimator import Estimator
from hedgerow._params import (
    AUTO,
    COUNT,
    FRACTION,
    NOT_NEGATIVE,
    NOTHING,
    Number,
    Options,
    Parameter,
    Peers,
    any_of,
)

GrowPolicy = Literal["leafwise", "levelwise"]

GROWTH_PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "max_leaves",
        "auto",
        any_of(Number(2, 65_535, integer=True), NOTHING, AUTO),
        "Maximum number of leaves of a tree. None is no limit (at most 65,535). 'auto' is chosen "
        "from the data if n_estimators is 'auto', and is 31 otherwise.",
        Peers("max_leaves", "num_leaves", "max_leaves", "max_leaf_nodes"),
        group="Trees",
    ),
    Parameter(
        "max_depth",
        None,
        any_of(COUNT, NOTHING),
        "Maximum depth of a tree: splits from the root to a leaf. None is no limit.",
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
        "max_delta_step",
        0.0,
        NOT_NEGATIVE,
        "Maximum absolute leaf value before shrinkage. 0 is no limit.",
        Peers("max_delta_step", "max_delta_step", "", ""),
        group="Regularisation",
    ),
)
GROW_POLICY = Parameter(
    "grow_policy",
    "leafwise",
    Options(get_args(GrowPolicy)),
    "Which leaf is split next: 'leafwise' splits the leaf with the largest gain, 'levelwise' all "
    "leaves of a level before the next level.",
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
    1.0,
    FRACTION,
    "Fraction of the level's features sampled for each node.",
    Peers("colsample_bynode", "feature_fraction_bynode", "", "max_features"),
    group="Sampling of rows and columns",
)


@dataclass(frozen=True)
class GrowthParams:
    """How a tree grows, when it stops, and what its leaves are worth.

    Attributes
    ----------
    max_leaves, max_depth : int
        Limits on the tree; 0 is no limit. A root alone has depth 0.
    min_samples_leaf : int
        Rows that each child of a split must have.
    min_child_weight : float
        Sum of hessians that each child of a split must have.
    reg_lambda, reg_alpha : float
        L2 and L1 penalty on a leaf's weight.
    min_split_gain : float
        γ: what a split must gain before it is worth a leaf more.
    max_delta_step : float
        Largest magnitude of a leaf's weight before shrinkage; 0 is no limit.
    learning_rate : float
        Shrinkage: a leaf adds ``learning_rate * weight``.
    grow_policy : {"leafwise", "levelwise"}
        Split the leaf that gains most, or every leaf of a level in turn.
    max_cat_to_onehot : int
        Up to this many categories in a node, each is tried against the rest.
    max_cat_threshold : int
        Most categories on the listed side of a split that sorts categories.
    cat_smooth : float
        Added to a category's hessian when categories are sorted by gradient over hessian.
    cat_l2 : float
        Added to ``reg_lambda`` in the gain of a split that sorts categories.
    min_category_weight : float
        Sum of hessians below which a category of a node is not sorted with the others, but goes
        right: too few rows to say where it belongs. 2.5 is ten rows of an even log loss,
        three of a squared error; no whole number, so that rounding does not decide.
    colsample_bytree, colsample_bylevel, colsample_bynode : float
        Fraction of the features that a tree may use, of those that a level, and of those that a
        node may.
    leaf_decay_rate, leaf_growth_rate : float
        Rates a and b of a loss that consists of the exponentials e^(−a s) and e^(b s): its leaves
        take the best step. Both 0 is any other loss: Newton's step.
    interaction_groups : tuple of tuples of int
        Features that may be on a path together, increasing; a path's features all belong to one
        group. None given: any may.
    most_features_on_path : int
        Different features on a path, at most; 0 is no limit.
    directions : tuple of int
        1 for a feature with which values may not fall, -1 for one with which they may not rise,
        else 0. None given: all are 0.
    feature_weights : tuple of float
        What each feature's gains are multiplied with when splits compete; 0 forbids a feature. None
        given: all are 1.
    seed : int
        Key of the column draws, with the number of the tree.
    """

    max_leaves: int = 31
    max_depth: int = 0
    min_samples_leaf: int = 1
    min_child_weight: float = 1e-3
    reg_lambda: float = 1.0
    reg_alpha: float = 0.0
    min_split_gain: float = 0.0
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
        """Return the estimator's parameters of the same names, and others by name.

        An estimator has None where a limit is off, and the growers 0.
        """
        parameters = vars(estimator)
        shared = (field.name for field in fields(cls) if field.name in parameters)
        own: dict[str, Any] = {name: parameters[name] for name in shared}
        limits = {name: 0 for name, value in own.items() if value is None}
        return cls(**own | limits | others)

    def usable_features(self, n_features: int) -> list[int]:
        """Return the features that trees may use at all."""
        return [f for f in range(n_features) if not self.feature_weights or self.feature_weights[f]]
