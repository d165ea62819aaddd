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
    Options(("gini", "entropy", "log_loss")),
    "The impurity that splits lower: 'gini', or 'entropy' in bits, for which 'log_loss' is another "
    "name.",
    _same("criterion"),
    only="classifier",
)
NUMBER_CRITERION = Parameter(
    "criterion",
    "squared_error",
    Options(("squared_error", "absolute_error")),
    "The impurity that splits lower: the mean squared distance from the mean, which leaves then "
    "predict, or the mean absolute distance from the median, which takes longer.",
    _same("criterion"),
    only="regressor",
)
MAX_DEPTH = Parameter(
    "max_depth",
    None,
    any_of(COUNT, NOTHING),
    "Splits from the root to a leaf, at most. None sets no limit.",
    _same("max_depth"),
)
MAX_LEAVES = Parameter(
    "max_leaves",
    None,
    any_of(Number(2, MOST, integer=True), NOTHING),
    "Leaves of a tree, at most: the leaf whose split gains most is split first. None sets no "
    "limit.",
    _same("max_leaf_nodes"),
)
MIN_SAMPLES_SPLIT = Parameter(
    "min_samples_split",
    2,
    any_of(Number(2, MOST, integer=True), FLOAT_FRACTION),
    "Rows in a node that may be split, at least; a fraction is of all rows.",
    _same("min_samples_split"),
)
MIN_SAMPLES_LEAF = Parameter(
    "min_samples_leaf",
    1,
    any_of(COUNT, PART),
    "Rows in a leaf, at least, whatever their weights; a fraction is of all rows.",
    _same("min_samples_leaf"),
)
MIN_WEIGHT_FRACTION_LEAF = Parameter(
    "min_weight_fraction_leaf",
    0.0,
    Number(0, 0.5),
    "Part of the weight of all rows in a leaf, at least.",
    _same("min_weight_fraction_leaf"),
)
MAX_FEATURES = Parameter(
    "max_features",
    None,
    any_of(Options(("sqrt", "log2", "log2+1")), COUNT, FRACTION, NOTHING),
    "How many features a node tries, drawn anew at each: a number, a fraction of all, their square "
    "root, their logarithm to base 2, or one more than that, as in Breiman's forests; None is all. "
    "More are tried where all of those drawn are constant.",
    _same("max_features"),
)
MIN_IMPURITY_DECREASE = Parameter(
    "min_impurity_decrease",
    0.0,
    NOT_NEGATIVE,
    "By how much a split must lower the impurity of the whole tree to be made.",
    _same("min_impurity_decrease"),
)
CCP_ALPHA = Parameter(
    "ccp_alpha",
    0.0,
    NOT_NEGATIVE,
    "α of cost-complexity pruning: what a leaf costs. The subtree with the least sum of impurity "
    "and α for each leaf is kept; see cost_complexity_pruning_path.",
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
        "'exact' tries every value of numeric features, 'hist' looks between at most max_bins bins "
        "of them, and 'random' tries one random value of each.",
        _same("splitter"),
    ),
    *GROWTH,
    CCP_ALPHA,
    TREE_CLASS_WEIGHT,
    *TABLE,
    RANDOM_STATE,
    N_JOBS,
)
