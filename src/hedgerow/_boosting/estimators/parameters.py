"""The parameters of gradient boosting, declared once: default, what is allowed, what each does."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from hedgerow._boosting.fit.constraints import (
    FEATURE_WEIGHTS,
    INTERACTION_CONSTRAINTS,
    MONOTONIC_CONSTRAINTS,
)
from hedgerow._boosting.losses.base import describe
from hedgerow._boosting.losses.classification import TWO_CLASS_LOSSES
from hedgerow._boosting.losses.regression import REGRESSION_LOSSES
from hedgerow._params import (
    AUTO,
    CATEGORICAL_FEATURES,
    CLASS_WEIGHT,
    COUNT,
    EVAL_METRIC,
    FLAG,
    FRACTION,
    FUNCTION,
    MAX_BINS,
    N_JOBS,
    NOT_NEGATIVE,
    NOTHING,
    RANDOM_STATE,
    SUBSAMPLE_FOR_BIN,
    TRUE,
    UNKNOWN_CATEGORY,
    VERBOSE,
    Number,
    Options,
    Parameter,
    ParameterKind,
    Peers,
    With,
    any_of,
)
from hedgerow._tree.growth_params import (
    COLSAMPLE_BYLEVEL,
    COLSAMPLE_BYNODE,
    GROW_POLICY,
    GROWTH_PARAMETERS,
)

LEVELS = ParameterKind(
    "a list of such numbers in increasing order",
    lambda value: (
        isinstance(value, list | tuple | np.ndarray)
        and np.ndim(value) == 1
        and len(value) > 0
        and all(level in Number(0, 1, open_low=True, open_high=True) for level in value)
        and all(low < high for low, high in pairwise(value))
    ),
    "Sequence[float] | NDArray[Any]",
)

BY_GRADIENTS = (
    "By gradients: 'gradient' keeps the rows with the largest ones and draws a third of the sample "
    "from all others, which then count for those not drawn; 'minimal_variance' draws rows by the "
    "size of their gradients, so that sums vary least."
)

PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "loss",
        "log_loss",
        any_of(Options(("log_loss", *TWO_CLASS_LOSSES, "cross_entropy")), FUNCTION),
        "What is minimised. 'log_loss' is the binary log loss for two classes and the multinomial "
        "one, with a tree a class a round, for more. For two classes: "
        f"{describe(TWO_CLASS_LOSSES)} 'cross_entropy' learns from "
        "probabilities: y has a column for each class, and each row adds up to 1. A function gets "
        "y as class numbers 0 … K−1 and raw_scores of shape (n,) for two classes, (n, K) for more, "
        "and returns gradient and hessian of the same shape; its scores start at "
        "the best constant. Weights multiply what it returns, unless it takes sample_weight "
        "itself. hedgerow.Loss makes such a function of a formula for the loss.",
        Peers("objective", "objective", "loss_function", "loss"),
        only="classifier",
        group="Loss",
    ),
    Parameter(
        "loss",
        "squared_error",
        any_of(Options(tuple(REGRESSION_LOSSES)), FUNCTION),
        f"What is minimised. {describe(REGRESSION_LOSSES)} "
        "A function gets y and raw_scores of shape (n,) and returns gradient "
        "and hessian of the same shape; its scores start at the best constant. Weights "
        "multiply what it returns, unless it takes sample_weight itself. hedgerow.Loss makes such "
        "a function of a formula for the loss.",
        Peers("objective", "objective", "loss_function", "loss"),
        only="regressor",
        group="Loss",
    ),
    Parameter(
        "focal_gamma",
        2.0,
        NOT_NEGATIVE,
        "Of loss='focal', how much less rows count that are told apart already: by (1 − P)^γ.",
        Peers("", "", "focal_gamma", ""),
        only="classifier",
        used=With("loss", Options(("focal",))),
        group="Loss",
    ),
    Parameter(
        "quantile",
        0.5,
        any_of(Number(0, 1, open_low=True, open_high=True), LEVELS),
        "Of loss='quantile', which one is predicted. A list of them gives predictions of shape "
        "(n_rows, n_quantiles), in increasing order at every input. Of loss='expectile', its "
        "level.",
        Peers("quantile_alpha", "alpha", "alpha", "quantile"),
        only="regressor",
        used=With("loss", Options(("quantile", "expectile"))),
        group="Loss",
    ),
    Parameter(
        "delta",
        None,
        any_of(Number(0, open_low=True), NOTHING),
        "Of loss='huber', 'pseudo_huber' and 'log_cosh', the size of residuals between squares and "
        "absolute values. None is each round's 0.9-quantile of them.",
        Peers("huber_slope", "alpha", "delta", ""),
        only="regressor",
        used=With("loss", Options(("huber", "pseudo_huber", "log_cosh"))),
        group="Loss",
    ),
    Parameter(
        "tweedie_power",
        1.5,
        Number(1, 2),
        "Of loss='tweedie', the power of the mean that the variance grows by: 1 is Poisson, 2 "
        "gamma.",
        Peers("tweedie_variance_power", "tweedie_variance_power", "variance_power", ""),
        only="regressor",
        used=With("loss", Options(("tweedie",))),
        group="Loss",
    ),
    Parameter(
        "learning_rate",
        "auto",
        any_of(Number(0, open_low=True), AUTO),
        "Shrinkage: every tree's leaf values are multiplied by it. 'auto' is chosen from the data "
        "if n_estimators is 'auto', and 0.1 if not.",
        Peers("learning_rate", "learning_rate", "learning_rate", "learning_rate"),
        group="Rounds and learning rate",
    ),
    Parameter(
        "n_estimators",
        "auto",
        any_of(COUNT, AUTO),
        "Boosting rounds; with early stopping, at most so many. 'auto' chooses them, and every "
        "other parameter that is 'auto', by early stopping on a fifth of the rows, and then fits "
        "to all rows; ``auto_`` tells what was chosen. Groups given to fit are held out whole. "
        "With early_stopping and an eval_set, its last is what decides.",
        Peers("n_estimators", "n_estimators", "iterations", "max_iter"),
        group="Rounds and learning rate",
    ),
    Parameter(
        "budget",
        "balanced",
        any_of(Options(("quick", "balanced", "thorough")), Number(0, 1000, open_low=True)),
        "Of n_estimators='auto', how much work may be done: 'quick' is a quarter of 'balanced', "
        "'thorough' four times as much, and a number so many times as much.",
        Peers("", "", "", ""),
        used=With("n_estimators", AUTO),
        group="Rounds and learning rate",
    ),
    *GROWTH_PARAMETERS,
    MAX_BINS,
    Parameter(
        "subsample",
        "auto",
        any_of(FRACTION, AUTO),
        "Part of the rows that a round grows its trees on, drawn anew every round. 'auto' is "
        "chosen from the data if n_estimators is 'auto', and 1 if not.",
        Peers("subsample", "subsample", "subsample", ""),
        group="Sampling of rows and columns",
    ),
    Parameter(
        "sampling",
        "uniform",
        Options(("uniform", "balanced", "group", "gradient", "minimal_variance")),
        "How subsample is drawn. 'balanced' draws as many rows of each class as of the rarest, or "
        "subsample of that many; 'group' draws whole groups, of those that fit is given. "
        f"{BY_GRADIENTS}",
        Peers("sampling_method", "data_sample_strategy", "bootstrap_type", ""),
        group="Sampling of rows and columns",
    ),
    Parameter(
        "colsample_bytree",
        "auto",
        any_of(FRACTION, AUTO),
        "Part of the features that a tree may use. 'auto' is chosen from the data if n_estimators "
        "is 'auto', and 1 if not.",
        Peers("colsample_bytree", "colsample_bytree", "", ""),
        group="Sampling of rows and columns",
    ),
    COLSAMPLE_BYLEVEL,
    COLSAMPLE_BYNODE,
    Parameter(
        "boosting",
        "gradient",
        Options(("gradient", "dart")),
        "'dart' grows a round without some of the earlier ones, and scales them and the new trees "
        "so that they share what they learn: later trees count as much as the first.",
        Peers("booster", "boosting_type", "", ""),
        group="DART",
    ),
    Parameter(
        "drop_rate",
        0.1,
        Number(0, 1),
        "Of boosting='dart', the probability of an earlier round to be dropped.",
        Peers("rate_drop", "drop_rate", "", ""),
        used=With("boosting", Options(("dart",))),
        group="DART",
    ),
    Parameter(
        "skip_drop",
        0.5,
        Number(0, 1),
        "Of boosting='dart', the probability of a round to drop none.",
        Peers("skip_drop", "skip_drop", "", ""),
        used=With("boosting", Options(("dart",))),
        group="DART",
    ),
    Parameter(
        "max_drop",
        50,
        COUNT,
        "Of boosting='dart', rounds that are dropped at once, at most.",
        Peers("", "max_drop", "", ""),
        used=With("boosting", Options(("dart",))),
        group="DART",
    ),
    GROW_POLICY,
    Parameter(
        "linear_leaves",
        False,
        FLAG,
        "Whether leaves are linear in the numeric features on their path, each beside its value. "
        "A number beyond the range of the leaf's training rows, and a tenth of it, counts as the "
        "end of that; a missing one adds nothing. Not for losses that are straight but for "
        "corners: 'absolute_error', 'mape', 'quantile' and 'hinge'.",
        Peers("", "linear_tree", "", ""),
        group="Trees",
    ),
    Parameter(
        "linear_lambda",
        1.0,
        NOT_NEGATIVE,
        "Of linear_leaves, the L2 penalty on slopes: on what a leaf's value changes by over a "
        "standard deviation of the feature in that leaf.",
        Peers("", "linear_lambda", "", ""),
        used=With("linear_leaves", TRUE),
        group="Trees",
    ),
    Parameter(
        "splitter",
        "hist",
        Options(("hist", "exact")),
        "'hist' looks for splits between bins; 'exact' tries every value of numeric features, "
        "which is slow on large tables.",
        Peers("tree_method", "", "", ""),
        group="Trees",
    ),
    Parameter(
        "multi_strategy",
        "separate",
        Options(("separate", "vector")),
        "How several outputs, or classes, are learned. 'separate' grows a tree for each of them in "
        "every round; 'vector' grows one tree, whose splits gain for all of them together and "
        "whose leaves hold a value for each: fewer and faster trees that need more leaves or "
        "rounds. Needs splitter='hist'.",
        Peers("multi_strategy", "", "", ""),
        group="Trees",
    ),
    Parameter(
        "monotonic_constraints",
        None,
        MONOTONIC_CONSTRAINTS,
        "How predictions may change with a numeric column if all else stays the same: 1 or "
        "'increasing', they never fall as it rises; -1 or 'decreasing', they never rise; 0, "
        "either. A dict has names of columns or, where names are no numbers, indices; columns that "
        "it leaves out are 0. Holds at every input, for each of several "
        "outputs and for the probability of classes_[1]; not for more than two classes. A missing "
        "value is no number: its prediction is bound to none.",
        Peers(
            "monotone_constraints", "monotone_constraints", "monotone_constraints", "monotonic_cst"
        ),
        group="Constraints",
    ),
    Parameter(
        "interaction_constraints",
        None,
        INTERACTION_CONSTRAINTS,
        "Which features may be tested on the way to the same leaf: all of a path's features belong "
        "to one of the groups. Groups may overlap; columns in no group form one more. 'pairwise' "
        "lets any two features meet, 'no_interactions' none, which makes the model a sum of "
        "functions of one feature. colsample_bynode draws from what is allowed.",
        Peers("interaction_constraints", "interaction_constraints", "", "interaction_cst"),
        group="Constraints",
    ),
    Parameter(
        "feature_weights",
        None,
        FEATURE_WEIGHTS,
        "What gains are multiplied with when splits compete, those of one node and those of "
        "different leaves; columns that a dict leaves out have weight 1, and 0 forbids a feature. "
        "min_split_gain and importances know the unweighted gain.",
        Peers("", "feature_contri", "feature_weights", ""),
        group="Constraints",
    ),
    replace(
        CATEGORICAL_FEATURES,
        description="Columns whose values have no order. 'auto' takes the columns of strings or of "
        "a categorical type; a list (names, indices, or True and False for every column) adds "
        "columns of numbers to these; None takes none.",
    ),
    Parameter(
        "max_categories",
        255,
        Number(0, 255, integer=True),
        "Categories of a column, at most, that splits part into any two sets. For those of a "
        "column that has more of them, or more than max_bins, numbers stand: means of the target "
        "in other rows of the same category.",
        Peers("", "", "one_hot_max_size", ""),
        group="Categorical features",
    ),
    replace(
        UNKNOWN_CATEGORY,
        description="What becomes of a category that fit did not see. 'missing' takes it for a "
        "missing value or, in a column of more than max_categories, for a category of no rows, "
        "whose number is the mean target; 'error' raises.",
    ),
    CLASS_WEIGHT,
    Parameter(
        "scale_pos_weight",
        1.0,
        Number(0, open_low=True),
        "Weight of classes_[1], the second of two classes, beside the first.",
        Peers("scale_pos_weight", "scale_pos_weight", "scale_pos_weight", ""),
        only="classifier",
        group="Class weights",
    ),
    Parameter(
        "early_stopping",
        False,
        FLAG,
        "Stop when the metric has not improved for n_iter_no_change rounds and go back to the best "
        "round. Judged by the first metric on the last of eval_set or, without eval_set, on a "
        "held-out part of the training data.",
        Peers(
            "early_stopping_rounds",
            "early_stopping_round",
            "early_stopping_rounds",
            "early_stopping",
        ),
        remark="How many rounds it waits is n_iter_no_change.",
        group="Validation and early stopping",
    ),
    Parameter(
        "validation_fraction",
        0.1,
        Number(0, 1, open_low=True, open_high=True),
        "Part of the rows held out for early stopping when there is no eval_set; of each class the "
        "same part.",
        Peers("", "", "", "validation_fraction"),
        used=With("early_stopping", TRUE),
        group="Validation and early stopping",
    ),
    Parameter(
        "validation_rows",
        "random",
        Options(("random", "last")),
        "Which rows are held out, for early stopping, n_estimators='auto' and calibration: 'last' "
        "is for rows in the order of time, of which the future is to be predicted.",
        Peers("", "", "", ""),
        group="Validation and early stopping",
    ),
    Parameter(
        "calibration",
        None,
        any_of(Options(("sigmoid", "isotonic", "temperature")), NOTHING),
        "How probabilities are learned from rows that are held out for it: by a sigmoid of each "
        "class's scores, by any rising function (isotonic regression, whose blocks are smoothed by "
        "Laplace's rule), or by dividing all scores by one number. None takes those of the loss.",
        Peers("", "", "", "method"),
        only="classifier",
        group="Calibration",
    ),
    Parameter(
        "calibration",
        None,
        any_of(Options(("conformal",)), NOTHING),
        "'conformal' holds rows out, from which predict_interval learns how wide intervals must "
        "be to cover what they are asked to.",
        Peers("", "", "", ""),
        only="regressor",
        group="Calibration",
    ),
    Parameter(
        "calibration_fraction",
        0.2,
        Number(0, 1, open_low=True, open_high=True),
        "Part of the rows held out for calibration, if there is one.",
        Peers("", "", "", ""),
        used=With("calibration", ParameterKind("…", lambda value: value is not None)),
        group="Calibration",
    ),
    Parameter(
        "n_iter_no_change",
        10,
        COUNT,
        "Rounds without improvement before stopping.",
        Peers(
            "early_stopping_rounds",
            "early_stopping_round",
            "early_stopping_rounds",
            "n_iter_no_change",
        ),
        used=With("early_stopping", TRUE),
        group="Validation and early stopping",
    ),
    Parameter(
        "tol",
        0.0,
        NOT_NEGATIVE,
        "How much better than the best so far a round must be to count as an improvement.",
        Peers("", "early_stopping_min_delta", "", "tol"),
        group="Validation and early stopping",
    ),
    Parameter(
        "eval_metric",
        None,
        any_of(NOTHING, EVAL_METRIC),
        "What is measured on the evaluation sets after each round; None is what suits the loss: "
        "'log_loss' and 'rmse' of the default ones. Names: 'log_loss', 'auc', "
        "'average_precision', 'error', 'accuracy', 'balanced_accuracy', 'f1' of a classifier; "
        "'rmse', 'mse', 'mae', 'median_absolute_error', 'mape', 'r2' of a regressor; and of some "
        "losses their own: 'pinball', 'expectile', 'poisson_deviance', 'gamma_deviance', "
        "'tweedie_deviance', 'focal', 'cross_entropy', and the mean of a hedgerow.Loss under its "
        "name. A function is called as (y, prediction[, sample_weight]), where prediction is the "
        "probability of classes_[1], (n, K) probabilities or the predicted number, and returns a "
        "number or (name, number, higher_is_better); of a number alone, higher is better if the "
        "function's name ends in '_score', and lower if in '_loss', '_error' or '_deviance'. The "
        "first metric decides when to stop; of one whose direction is not known, no best round "
        "can be.",
        Peers("eval_metric", "eval_metric", "eval_metric", "scoring"),
        group="Validation and early stopping",
    ),
    SUBSAMPLE_FOR_BIN,
    Parameter(
        "warm_start",
        False,
        FLAG,
        "Keep the rounds of the last fit and add to them until there are n_estimators. The table "
        "must have the same columns; its values are binned as in the first fit.",
        Peers("", "", "", "warm_start"),
        group="Running",
    ),
    RANDOM_STATE,
    N_JOBS,
    VERBOSE,
)

# The groups of the documentation, in the order in which people look for parameters.
PARAMETER_GROUPS = (
    "Loss",
    "Rounds and learning rate",
    "Trees",
    "Regularisation",
    "Sampling of rows and columns",
    "DART",
    "Categorical features",
    "Constraints",
    "Class weights",
    "Validation and early stopping",
    "Calibration",
    "Running",
)
