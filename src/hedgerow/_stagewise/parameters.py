"""The parameters of stagewise boosting, declared once: default, what is allowed, what each does."""

from __future__ import annotations

from typing import Any

from hedgerow._params import (
    CLASS_WEIGHT,
    COUNT,
    FLAG,
    FRACTION,
    NOT_NEGATIVE,
    NOTHING,
    RANDOM_STATE,
    VERBOSE,
    Number,
    Options,
    Parameter,
    ParameterKind,
    Peers,
    any_of,
    is_estimator,
)


def _is_loss(value: Any) -> bool:
    return not isinstance(value, type) and all(
        callable(getattr(value, name, None)) for name in ("loss", "gradient")
    )


ESTIMATOR = ParameterKind("an estimator with fit and predict", is_estimator, "SklearnEstimator")
LOSS = ParameterKind("an object with methods loss(y, F) and gradient(y, F)", _is_loss)

_USER_LOSS = (
    "A user-defined loss is an object with methods loss(y, F), which returns a number for each "
    "row, and gradient(y, F), its derivative with respect to F in the shape of F; hessian(y, F) "
    "is needed for Newton steps. F has shape (n,)"
)

PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "estimator",
        None,
        any_of(NOTHING, ESTIMATOR),
        "Base learner; each round fits a clone of it. A regressor is fitted to the response; a "
        "classifier is fitted to the sign of the response, with its absolute value as weights. "
        "None is a regression tree with at most eight leaves, or a stump with search='joint'.",
        Peers("", "", "", "estimator"),
        positional=True,
    ),
    Parameter(
        "loss",
        "log_loss",
        any_of(Options(("log_loss", "exponential")), LOSS),
        "Loss function to minimise. 'log_loss' is the binomial log loss for two classes and the "
        "multinomial log loss, with one learner per class in each round, for more; 'exponential' "
        f"is the loss of AdaBoost, for two classes. {_USER_LOSS} for two classes, (n, K) for more; "
        "y contains class numbers, and scores have the same meaning as for the log loss.",
        Peers("objective", "objective", "loss_function", "loss"),
        only="classifier",
    ),
    Parameter(
        "loss",
        "squared_error",
        any_of(
            Options(("squared_error", "absolute_error", "huber", "quantile", "poisson")),
            LOSS,
        ),
        f"Loss function to minimise. {_USER_LOSS}.",
        Peers("objective", "objective", "loss_function", "loss"),
        only="regressor",
    ),
    Parameter(
        "alpha",
        0.9,
        Number(0, 1, open_low=True, open_high=True),
        "Quantile to predict with loss='quantile'. With loss='huber', the fraction of residuals "
        "with squared loss, which determines δ in each round.",
        Peers("quantile_alpha", "alpha", "", "alpha"),
        only="regressor",
    ),
    Parameter(
        "search",
        "gradient",
        Options(("gradient", "joint")),
        "How a round finds its learner. 'gradient' fits it to the response, then chooses the "
        "step; it works with any learner. 'joint' tries every tree within max_depth, max_leaves "
        "and min_samples_leaf of `estimator`, which must be one of Hedgerow's decision trees, "
        "each with its best step or, for a regression tree, its best leaf values, and takes the "
        "one with the smallest loss: the joint argmin over (β, G). This is slow, meant for stumps "
        "and small numeric tables, and needs a single score per row.",
    ),
    Parameter(
        "response",
        "gradient",
        Options(("gradient", "newton")),
        "What learners are fitted to: 'gradient' is the negative gradient −g (pseudo-residuals); "
        "'newton' is −g/h with the hessian h as weights, as in LogitBoost and second-order "
        "gradient boosting.",
    ),
    Parameter(
        "step",
        "auto",
        Options(("auto", "line_search", "per_leaf", "newton", "unit")),
        "How the step size ρ is chosen. 'line_search' minimises the loss over one ρ for the "
        "learner, or for the K learners of a round; 'per_leaf' over one ρ for each leaf of a "
        "tree; 'newton' takes a Newton step in each leaf, and Friedman's step for the Huber loss; "
        "'unit' is 1. 'auto' is 'newton' for a regression tree, 'per_leaf' if the loss has no "
        "second derivative, and 'line_search' for any other learner. search='joint' needs 'auto'.",
    ),
    Parameter(
        "normalise",
        None,
        any_of(NOTHING, Number(0, open_low=True)),
        "A number C: each learner is rescaled to Σ h² = C over the training rows (Σ w h² with "
        "weights) before its step is chosen, so that with step='unit' every round moves the "
        "scores by the same distance; C = n is the size of a classifier with outputs ±1. None "
        "does not rescale. This needs a single step per learner: 'unit', or 'line_search', where "
        "it changes nothing.",
    ),
    Parameter(
        "learning_rate",
        0.1,
        Number(0, open_low=True),
        "Learning rate ν (shrinkage): every step is multiplied by it.",
        Peers("learning_rate", "learning_rate", "learning_rate", "learning_rate"),
    ),
    Parameter(
        "n_estimators",
        100,
        COUNT,
        "Maximum number of boosting rounds; fewer if all gradients vanish.",
        Peers("n_estimators", "n_estimators", "iterations", "n_estimators"),
    ),
    Parameter(
        "subsample",
        1.0,
        FRACTION,
        "Fraction of the rows sampled for each round, without replacement; learners and steps are "
        "fitted on the sample.",
        Peers("subsample", "subsample", "subsample", "subsample"),
    ),
    Parameter(
        "init",
        None,
        any_of(NOTHING, Options(("zero",)), ESTIMATOR),
        "Initial scores F₀. None is the constant that minimises the loss (the median for the "
        "Huber loss); 'zero' is 0; an estimator is fitted to y first.",
        Peers("base_score", "init_score", "baseline", "init"),
    ),
    Parameter(
        "early_stopping",
        False,
        FLAG,
        "Whether to stop when the loss on a validation set, split off from the training data, has "
        "not improved for n_iter_no_change rounds, and to keep the best round.",
        Peers(
            "early_stopping_rounds",
            "early_stopping_round",
            "early_stopping_rounds",
            "early_stopping",
        ),
    ),
    Parameter(
        "validation_fraction",
        0.1,
        Number(0, 1, open_low=True, open_high=True),
        "Fraction of the rows in the validation set for early stopping; stratified by class.",
        Peers("", "", "", "validation_fraction"),
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
    ),
    Parameter(
        "tol",
        0.0,
        NOT_NEGATIVE,
        "Minimum decrease of the validation loss below the best so far that counts as an "
        "improvement.",
        Peers("", "early_stopping_min_delta", "", "tol"),
    ),
    Parameter(
        "warm_start",
        False,
        FLAG,
        "Whether to keep the rounds of the previous fit and add rounds until there are "
        "n_estimators.",
        Peers("", "", "", "warm_start"),
    ),
    CLASS_WEIGHT,
    RANDOM_STATE,
    VERBOSE,
)
