"""The parameters of trees and of forests of them, declared once."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral

from hedgerow._params import (
    CATEGORICAL_FEATURES,
    CLASS_WEIGHT,
    CLASS_WEIGHTS,
    COUNT,
    FRACTION,
    MAX_BINS,
    MOST,
    N_JOBS,
    NOT_NEGATIVE,
    NOTHING,
    RANDOM_STATE,
    SUBSAMPLE_FOR_BIN,
    UNKNOWN_CATEGORY,
    Number,
    Options,
    Parameter,
    ParameterKind,
    Peers,
    any_of,
)

PART = Number(0, 1, open_low=True, open_high=True)
FLOAT_FRACTION = ParameterKind(
    "a float in (0, 1]",
    lambda value: value in FRACTION and not isinstance(value, Integral),
    "float",
)
CLASS_WEIGHTS_BY_OUTPUT = ParameterKind(
    "a list with one for each output",
    lambda value: isinstance(value, list) and all(each in CLASS_WEIGHTS for each in value),
    "list[Mapping[Any, float]]",
)


def _same(name: str) -> Peers:
    return Peers(sklearn=name)


CLASS_CRITERION = Parameter(
    "criterion",
    "gini",
    Options(("gini", "entropy", "log_loss", "gain_ratio", "error")),
    "Impurity measure of splits: 'gini', or 'entropy' in bits; 'log_loss' is the same as "
    "'entropy'. 'gain_ratio' is that of C4.5: the best split of each feature by entropy is "
    "compared with the others by its gain divided by its split information. 'error' is the "
    "fraction of misclassified rows; ties between splits are broken by Gini impurity.",
    _same("criterion"),
    only="classifier",
)
NUMBER_CRITERION = Parameter(
    "criterion",
    "squared_error",
    Options(("squared_error", "absolute_error")),
    "Impurity measure of splits: 'squared_error' is the mean squared deviation from the mean, and "
    "leaves predict the mean; 'absolute_error' is the mean absolute deviation from the median, "
    "and leaves predict the median, which is slower.",
    _same("criterion"),
    only="regressor",
)
MAX_DEPTH = Parameter(
    "max_depth",
    None,
    any_of(COUNT, NOTHING),
    "Maximum depth of a tree: splits from the root to a leaf. None means no limit.",
    _same("max_depth"),
)
MAX_LEAVES = Parameter(
    "max_leaves",
    None,
    any_of(Number(2, MOST, integer=True), NOTHING),
    "Maximum number of leaves of a tree; the leaf whose split has the largest gain is split "
    "first. None means no limit.",
    _same("max_leaf_nodes"),
)
MIN_SAMPLES_SPLIT = Parameter(
    "min_samples_split",
    2,
    any_of(Number(2, MOST, integer=True), FLOAT_FRACTION),
    "Minimum number of rows in a node to split it; a float is a fraction of all rows.",
    _same("min_samples_split"),
)
MIN_SAMPLES_LEAF = Parameter(
    "min_samples_leaf",
    1,
    any_of(COUNT, PART),
    "Minimum number of rows in a leaf, regardless of their weights; a float is a fraction of all "
    "rows.",
    _same("min_samples_leaf"),
)
MIN_WEIGHT_FRACTION_LEAF = Parameter(
    "min_weight_fraction_leaf",
    0.0,
    Number(0, 0.5),
    "Minimum sum of weights in a leaf, as a fraction of the total weight.",
    _same("min_weight_fraction_leaf"),
)
MAX_FEATURES = Parameter(
    "max_features",
    None,
    any_of(Options(("sqrt", "log2", "log2+1")), COUNT, FRACTION, NOTHING),
    "Number of features sampled for each node. A float is a fraction of all features; 'sqrt' and "
    "'log2' are the square root and the logarithm to base 2 of their number, and 'log2+1' is one "
    "more than that, as in Breiman's forests; None is all features. If all sampled features are "
    "constant in the node, more are sampled.",
    _same("max_features"),
)
MIN_IMPURITY_DECREASE = Parameter(
    "min_impurity_decrease",
    0.0,
    NOT_NEGATIVE,
    "Minimum decrease in the tree's impurity required to make a split.",
    _same("min_impurity_decrease"),
)
CCP_ALPHA = Parameter(
    "ccp_alpha",
    0.0,
    NOT_NEGATIVE,
    "Complexity parameter α of cost-complexity pruning, the cost of a leaf: the subtree that "
    "minimises impurity plus α times the number of leaves is kept. See "
    "cost_complexity_pruning_path.",
    _same("ccp_alpha"),
)
TREE_CLASS_WEIGHT = replace(
    CLASS_WEIGHT,
    allowed=any_of(Options(("balanced",)), CLASS_WEIGHTS, CLASS_WEIGHTS_BY_OUTPUT, NOTHING),
    peers=_same("class_weight"),
)

GROWTH = (
    MAX_DEPTH,
    MAX_LEAVES,
    MIN_SAMPLES_SPLIT,
    MIN_SAMPLES_LEAF,
    MIN_WEIGHT_FRACTION_LEAF,
    MAX_FEATURES,
    MIN_IMPURITY_DECREASE,
)
TABLE = (CATEGORICAL_FEATURES, UNKNOWN_CATEGORY, MAX_BINS, SUBSAMPLE_FOR_BIN)

TREE_PARAMETERS: tuple[Parameter, ...] = (
    CLASS_CRITERION,
    NUMBER_CRITERION,
    Parameter(
        "splitter",
        "exact",
        Options(("exact", "hist", "random")),
        "'exact' considers every value of a numeric feature, 'hist' the boundaries of at most "
        "max_bins bins, and 'random' one random threshold per feature.",
        _same("splitter"),
    ),
    *GROWTH,
    CCP_ALPHA,
    TREE_CLASS_WEIGHT,
    *TABLE,
    RANDOM_STATE,
    N_JOBS,
)
