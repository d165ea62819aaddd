"""The parameters of gradient boosting, declared once: default, what is allowed, what each does."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import get_args

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
    DEVICE,
    EVAL_METRIC,
    FLAG,
    FRACTION,
    FUNCTION,
    MAX_BINS,
    N_JOBS,
    NOT_NEGATIVE,
    NOTHING,
    RANDOM_STATE,
    SOMETHING,
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
    is_estimator,
)
from hedgerow._tree.approx import Sketch
from hedgerow._tree.growth_params import (
    COLSAMPLE_BYLEVEL,
    COLSAMPLE_BYNODE,
    GROW_POLICY,
    GROWTH_PARAMETERS,
)
from hedgerow._tree.trainer import Sampling

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

GRADIENT_SAMPLING = (
    "'gradient' (GOSS) keeps the rows with the largest gradients and a sample of the others, a "
    "third of all rows used, with larger weights; 'minimal_variance' (MVS) samples rows in "
    "proportion to the size of their gradients, which minimises the variance of the sums."
)

PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "loss",
        "log_loss",
        any_of(Options(("log_loss", *TWO_CLASS_LOSSES, "cross_entropy")), FUNCTION),
        "Loss function to minimise. 'log_loss' is the binary log loss for two classes and the "
        "multinomial log loss, with one tree per class in each round, for more. For two classes "
        f"only: {describe(TWO_CLASS_LOSSES)} 'cross_entropy' trains on class probabilities: y has "
        "a column for each class, and each row sums to 1. A function is called as (y, "
        "raw_scores), with y as class numbers 0 … K−1 and raw_scores of shape (n,) for two "
        "classes, (n, K) for more. The function returns gradient and hessian in the shape of "
        "raw_scores; scores start at the constant that minimises the loss. Gradient and hessian "
        "are multiplied by the sample weights, unless the function takes sample_weight itself. "
        "hedgerow.Loss turns a formula for the loss into such a function.",
        Peers("objective", "objective", "loss_function", "loss"),
        only="classifier",
        group="Loss",
    ),
    Parameter(
        "loss",
        "squared_error",
        any_of(Options(tuple(REGRESSION_LOSSES)), FUNCTION),
        f"Loss function to minimise. {describe(REGRESSION_LOSSES)} A function is called as (y, "
        "raw_scores), both of shape (n,). The function returns gradient and hessian in the shape "
        "of raw_scores; scores start at the constant that minimises the loss. Gradient and "
        "hessian are multiplied by the sample weights, unless the function takes sample_weight "
        "itself. hedgerow.Loss turns a formula for the loss into such a function.",
        Peers("objective", "objective", "loss_function", "loss"),
        only="regressor",
        group="Loss",
    ),
    Parameter(
        "focal_gamma",
        2.0,
        NOT_NEGATIVE,
        "Exponent γ of loss='focal': the weight of a row is (1 − P)^γ, where P is the predicted "
        "probability of its class.",
        Peers("", "", "focal_gamma", ""),
        only="classifier",
        used=With("loss", Options(("focal",))),
        group="Loss",
    ),
    Parameter(
        "quantile",
        0.5,
        any_of(Number(0, 1, open_low=True, open_high=True), LEVELS),
        "Quantile to predict with loss='quantile'; a list of them gives predictions of shape "
        "(n_rows, n_quantiles), sorted within each row. Level of the expectile with "
        "loss='expectile'.",
        Peers("quantile_alpha", "alpha", "alpha", "quantile"),
        only="regressor",
        used=With("loss", Options(("quantile", "expectile"))),
        group="Loss",
    ),
    Parameter(
        "delta",
        None,
        any_of(Number(0, open_low=True), NOTHING),
        "Threshold δ of loss='huber', 'pseudo_huber' and 'log_cosh': smaller residuals have "
        "squared loss, larger ones absolute loss. None takes the 0.9-quantile of the absolute "
        "residuals in each round.",
        Peers("huber_slope", "alpha", "delta", ""),
        only="regressor",
        used=With("loss", Options(("huber", "pseudo_huber", "log_cosh"))),
        group="Loss",
    ),
    Parameter(
        "leaf_step",
        "newton",
        Options(("newton", "minimum")),
        "Leaf values of loss='huber', 'pseudo_huber' and 'log_cosh': 'newton' is one step on a "
        "parabola that touches the loss from above; 'minimum' is the value that minimises the "
        "penalised loss of the leaf, which is slower.",
        only="regressor",
        used=With("loss", Options(("huber", "pseudo_huber", "log_cosh"))),
        group="Loss",
    ),
    Parameter(
        "tweedie_power",
        1.5,
        Number(1, 2),
        "Variance power of loss='tweedie': the variance is proportional to this power of the "
        "mean. 1 is Poisson, 2 is gamma.",
        Peers("tweedie_variance_power", "tweedie_variance_power", "variance_power", ""),
        only="regressor",
        used=With("loss", Options(("tweedie",))),
        group="Loss",
    ),
    Parameter(
        "learning_rate",
        "auto",
        any_of(Number(0, open_low=True), AUTO),
        "Learning rate (shrinkage): the leaf values of every tree are multiplied by it. 'auto' is "
        "chosen from the data if n_estimators is 'auto', and is 0.1 otherwise.",
        Peers("learning_rate", "learning_rate", "learning_rate", "learning_rate"),
        group="Rounds and learning rate",
    ),
    Parameter(
        "n_estimators",
        "auto",
        any_of(COUNT, AUTO),
        "Number of boosting rounds; with early stopping, the maximum. 'auto' chooses it, and "
        "every other parameter that is 'auto', by early stopping on a holdout of a fifth of the "
        "rows, and then fits all rows; ``auto_`` reports the choice. If groups are passed to "
        "fit, the holdout consists of whole groups. With early_stopping and an eval_set, the last "
        "evaluation set is used instead.",
        Peers("n_estimators", "n_estimators", "iterations", "max_iter"),
        group="Rounds and learning rate",
    ),
    Parameter(
        "budget",
        "balanced",
        any_of(Options(("quick", "balanced", "thorough")), Number(0, 20, open_low=True)),
        "Work allowed for n_estimators='auto': 'quick' is a quarter of 'balanced', 'thorough' "
        "four times as much, and a number is a multiple of 'balanced'. Work is counted in rounds "
        "and rows, not in seconds, so that the model is the same on every machine.",
        used=With("n_estimators", AUTO),
        group="Rounds and learning rate",
        remark="A number is a multiple of 'balanced', not a time in seconds.",
    ),
    Parameter(
        "init",
        "constant",
        Options(("constant", "zero")),
        "Scores before the first round: the constant that minimises the loss, or 0. Offsets and "
        "the predictions of init_estimator are added to it.",
        group="Rounds and learning rate",
    ),
    Parameter(
        "init_estimator",
        None,
        any_of(
            NOTHING,
            ParameterKind("an estimator with fit and predict", is_estimator, "SklearnEstimator"),
        ),
        "An estimator whose predictions are the scores before the first round. A clone is fitted "
        "to the training set and is also used in predictions. The link function of the loss turns "
        "its predictions (means or probabilities) into scores.",
        Peers("", "", "", "init"),
        group="Rounds and learning rate",
    ),
    *GROWTH_PARAMETERS,
    MAX_BINS,
    Parameter(
        "subsample",
        "auto",
        any_of(FRACTION, AUTO),
        "Fraction of the rows sampled for each round. 'auto' is chosen from the data if "
        "n_estimators is 'auto', and is 1 otherwise.",
        Peers("subsample", "subsample", "subsample", ""),
        group="Sampling of rows and columns",
    ),
    Parameter(
        "sampling",
        "uniform",
        Options(get_args(Sampling)),
        "How rows are sampled. 'uniform': each with the same probability. 'balanced': as many "
        "rows of each class as of the rarest, times subsample. 'group': whole groups, as passed "
        f"to fit. {GRADIENT_SAMPLING}",
        Peers("sampling_method", "data_sample_strategy", "bootstrap_type", ""),
        group="Sampling of rows and columns",
    ),
    Parameter(
        "colsample_bytree",
        "auto",
        any_of(FRACTION, AUTO),
        "Fraction of the features sampled for each tree. 'auto' is chosen from the data if "
        "n_estimators is 'auto', and is 1 otherwise.",
        Peers("colsample_bytree", "colsample_bytree", "", ""),
        group="Sampling of rows and columns",
    ),
    COLSAMPLE_BYLEVEL,
    COLSAMPLE_BYNODE,
    Parameter(
        "boosting",
        "gradient",
        Options(("gradient", "dart")),
        "'gradient' is gradient boosting. 'dart' (dropout) grows each round without some of the "
        "earlier rounds, and rescales these and the new trees, so that late trees contribute as "
        "much as early ones.",
        Peers("booster", "boosting_type", "", ""),
        group="DART",
    ),
    Parameter(
        "drop_rate",
        0.1,
        Number(0, 1),
        "Probability of dropping an earlier round, with boosting='dart'.",
        Peers("rate_drop", "drop_rate", "", ""),
        used=With("boosting", Options(("dart",))),
        group="DART",
    ),
    Parameter(
        "skip_drop",
        0.5,
        Number(0, 1),
        "Probability that a round drops no earlier rounds, with boosting='dart'.",
        Peers("skip_drop", "skip_drop", "", ""),
        used=With("boosting", Options(("dart",))),
        group="DART",
    ),
    Parameter(
        "max_drop",
        50,
        COUNT,
        "Maximum number of rounds dropped at once, with boosting='dart'.",
        Peers("", "max_drop", "", ""),
        used=With("boosting", Options(("dart",))),
        group="DART",
    ),
    GROW_POLICY,
    Parameter(
        "linear_leaves",
        False,
        FLAG,
        "Whether leaves are linear functions of the numeric features on their path, instead of "
        "constants. Feature values are clipped to the range of the leaf's training rows, extended "
        "by a tenth; missing values add nothing. Not for piecewise linear losses: "
        "'absolute_error', 'mape', 'quantile' and 'hinge'.",
        Peers("", "linear_tree", "", ""),
        group="Trees",
    ),
    Parameter(
        "linear_lambda",
        1.0,
        NOT_NEGATIVE,
        "L2 penalty on the slopes of linear leaves, for features scaled to a standard deviation "
        "of 1 in the leaf.",
        Peers("", "linear_lambda", "", ""),
        used=With("linear_leaves", TRUE),
        group="Trees",
    ),
    Parameter(
        "splitter",
        "hist",
        Options(("hist", "approx", "exact")),
        "'hist' considers splits between bins of nearly equal numbers of rows; 'approx' between "
        "bins of nearly equal hessian (XGBoost's weighted quantile sketch), which needs 8 to 10 "
        "bytes of memory per value and more time; 'exact' considers every value of a numeric "
        "feature, which is slow on large tables.",
        Peers("tree_method", "", "", ""),
        group="Trees",
    ),
    Parameter(
        "sketch",
        "global",
        Options(get_args(Sketch)),
        "When splitter='approx' divides the columns into bins: 'global' once, by the hessians "
        "before the first tree of the fit; 'tree' before each tree, by the hessians of that round, "
        "which is slower.",
        used=With("splitter", Options(("approx",))),
        group="Trees",
    ),
    Parameter(
        "multi_strategy",
        "separate",
        Options(("separate", "vector")),
        "How several outputs or classes are learned. 'separate' grows a tree for each of them in "
        "every round; 'vector' grows one tree, whose splits maximise the total gain and whose "
        "leaves have a value for each output. This gives fewer trees and is faster, but needs more "
        "leaves or rounds. 'vector' cannot be used with splitter='exact'.",
        Peers("multi_strategy", "", "", ""),
        group="Trees",
    ),
    Parameter(
        "monotonic_constraints",
        None,
        MONOTONIC_CONSTRAINTS,
        "How predictions may change with a numeric feature while all others stay the same: 1 or "
        "'increasing', they never decrease as the feature increases; -1 or 'decreasing', they "
        "never increase; 0, no constraint. A list has an entry for each column; a dict maps names "
        "of columns (or indices, if no names are numbers) to constraints, and columns not in it "
        "are 0. The constraint holds at every input, for each output and for the probability of "
        "classes_[1]; it is not available for more than two classes. Missing values are not "
        "constrained.",
        Peers(
            "monotone_constraints", "monotone_constraints", "monotone_constraints", "monotonic_cst"
        ),
        group="Constraints",
    ),
    Parameter(
        "interaction_constraints",
        None,
        INTERACTION_CONSTRAINTS,
        "Groups of features that may interact: the features on the path to a leaf all belong to "
        "one group. Groups may overlap; columns that are in no group form another group. "
        "'pairwise' allows any two features to interact, 'no_interactions' none, which makes the "
        "model a sum of functions of one feature. colsample_bynode samples from the allowed "
        "features.",
        Peers("interaction_constraints", "interaction_constraints", "", "interaction_cst"),
        group="Constraints",
    ),
    Parameter(
        "feature_weights",
        None,
        FEATURE_WEIGHTS,
        "Factors by which gains are multiplied when splits are compared, in a node and between "
        "leaves; 0 excludes a feature. Columns that are not in a dict have weight 1. "
        "min_split_gain and feature importances use the unweighted gain.",
        Peers("", "feature_contri", "feature_weights", ""),
        group="Constraints",
    ),
    replace(
        CATEGORICAL_FEATURES,
        description="Categorical features. 'auto' selects the columns of strings or of a "
        "categorical type; a list (names, indices, or a bool for every column) adds numeric "
        "columns to these; None selects none.",
    ),
    Parameter(
        "max_categories",
        255,
        Number(0, 255, integer=True),
        "Maximum number of categories that a split can divide into any two sets. A feature with "
        "more categories, or more than max_bins, is replaced by target "
        "statistics: mean targets of other rows of the same category.",
        Peers("", "", "one_hot_max_size", ""),
        group="Categorical features",
    ),
    replace(
        UNKNOWN_CATEGORY,
        description="How categories that were not in the training data are treated in prediction: "
        "as missing values ('missing'; in a feature with more than max_categories categories, as "
        "the mean target) or as an error ('error').",
    ),
    CLASS_WEIGHT,
    Parameter(
        "scale_pos_weight",
        1.0,
        Number(0, open_low=True),
        "Weight of the positive class, classes_[1], relative to the other.",
        Peers("scale_pos_weight", "scale_pos_weight", "scale_pos_weight", ""),
        only="classifier",
        group="Class weights",
    ),
    Parameter(
        "early_stopping",
        False,
        FLAG,
        "Whether to stop when the validation metric has not improved for n_iter_no_change rounds, "
        "and to keep the best round. The metric is the first of eval_metric on the last eval_set "
        "or, without eval_set, on a validation set split off from the training data.",
        Peers(
            "early_stopping_rounds",
            "early_stopping_round",
            "early_stopping_rounds",
            "early_stopping",
        ),
        remark="The number of rounds to wait is n_iter_no_change.",
        group="Validation and early stopping",
    ),
    Parameter(
        "validation_fraction",
        0.1,
        Number(0, 1, open_low=True, open_high=True),
        "Fraction of the rows in the validation set for early stopping, if there is no eval_set; "
        "stratified by class.",
        Peers("", "", "", "validation_fraction"),
        used=With("early_stopping", TRUE),
        group="Validation and early stopping",
    ),
    Parameter(
        "validation_rows",
        "random",
        Options(("random", "last")),
        "Rows of the holdout for early stopping, n_estimators='auto' and calibration. 'last' uses "
        "the end of the table, for rows in chronological order.",
        Peers("", "", "", ""),
        group="Validation and early stopping",
    ),
    Parameter(
        "calibration",
        None,
        any_of(Options(("sigmoid", "isotonic", "temperature")), NOTHING),
        "How probabilities are calibrated on a holdout: by a sigmoid of each class's score (Platt "
        "scaling), by isotonic regression, whose blocks are smoothed by Laplace's rule, or by "
        "temperature scaling. None uses the probabilities of the loss.",
        Peers("", "", "", "method"),
        only="classifier",
        group="Calibration",
    ),
    Parameter(
        "calibration",
        None,
        any_of(Options(("conformal",)), NOTHING),
        "'conformal' uses a holdout to learn how wide the intervals of predict_interval must be "
        "to have the requested coverage.",
        Peers("", "", "", ""),
        only="regressor",
        group="Calibration",
    ),
    Parameter(
        "calibration_fraction",
        0.2,
        Number(0, 1, open_low=True, open_high=True),
        "Fraction of the rows in the holdout for calibration.",
        Peers("", "", "", ""),
        used=With("calibration", SOMETHING),
        group="Calibration",
    ),
    Parameter(
        "n_iter_no_change",
        10,
        COUNT,
        "Number of rounds without improvement before early stopping.",
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
        "Minimum improvement of the metric over the best round so far that counts as an "
        "improvement.",
        Peers("", "early_stopping_min_delta", "", "tol"),
        group="Validation and early stopping",
    ),
    Parameter(
        "eval_metric",
        None,
        any_of(NOTHING, EVAL_METRIC),
        "Metrics computed on the evaluation sets after each round; None chooses one that suits "
        "the loss, 'log_loss' and 'rmse' for the default losses. Names for classifiers: "
        "'log_loss', 'auc', 'average_precision', 'error', 'accuracy', 'balanced_accuracy', "
        "'g_mean' (the geometric mean of the recalls), 'f1', 'macro_f1', 'mcc' (Matthews "
        "correlation), 'quadratic_kappa' (Cohen's, for ordered classes), 'brier'; for regressors: "
        "'rmse', 'mse', 'mae', 'median_absolute_error', 'mape', 'rmsle', 'r2'; for "
        "particular losses: 'pinball', 'expectile', 'poisson_deviance', 'gamma_deviance', "
        "'tweedie_deviance', 'focal', 'cross_entropy', and the name of a hedgerow.Loss for its "
        "mean. A function is called as (y, prediction[, sample_weight]), where prediction is the "
        "probability of classes_[1], (n, K) probabilities, or the predicted number, and returns a "
        "number or (name, number, higher_is_better). For a number alone, higher is better if the "
        "function's name ends in '_score', and lower if it ends in '_loss', '_error' or "
        "'_deviance'. Early stopping uses the first metric; if its direction is unknown, there is "
        "no best round.",
        Peers("eval_metric", "eval_metric", "eval_metric", "scoring"),
        group="Validation and early stopping",
    ),
    SUBSAMPLE_FOR_BIN,
    Parameter(
        "warm_start",
        False,
        FLAG,
        "Whether to keep the rounds of the previous fit and add rounds until there are "
        "n_estimators. The table must have the same columns; its values are binned as in the "
        "first fit.",
        Peers("", "", "", "warm_start"),
        group="Running",
    ),
    RANDOM_STATE,
    N_JOBS,
    DEVICE,
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
