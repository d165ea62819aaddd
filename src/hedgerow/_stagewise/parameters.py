"""The parameters of stagewise boosting, declared once: default, what is allowed, what each does."""

from __future__ import annotations

from typing import Any

from hedgerow._params import (
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
)


def _is_estimator(value: Any) -> bool:
    needed = ("fit", "predict", "get_params")
    return not isinstance(value, type) and all(hasattr(value, name) for name in needed)


def _is_loss(value: Any) -> bool:
    return not isinstance(value, type) and all(
        callable(getattr(value, name, None)) for name in ("loss", "gradient")
    )


ESTIMATOR = ParameterKind("an estimator with fit and predict", _is_estimator)
LOSS = ParameterKind("an object with methods loss(y, F) and gradient(y, F)", _is_loss)

_OWN_LOSS = (
    "An object of your own has loss(y, F), which returns a number for each row, and "
    "gradient(y, F), its derivative by F in the shape of F; with hessian(y, F) Newton's steps can "
    "be had too. F has shape (n,)"
)

PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "estimator",
        None,
        any_of(NOTHING, ESTIMATOR),
        "The base learner, of which each round fits a copy. A regressor is fitted to the response; "
        "a classifier to its sign, with the size as weights. None is a regression tree of up to "
        "eight leaves.",
        Peers("", "", "", "estimator"),
        positional=True,
    ),
    Parameter(
        "loss",
        "log_loss",
        any_of(Options(("log_loss", "exponential")), LOSS),
        "What is minimised. 'log_loss' is binomial for two classes and multinomial, with a learner "
        "a class a round, for more; 'exponential' is AdaBoost's, for two classes. "
        + _OWN_LOSS
        + " for two classes, (n, K) for more; y are class numbers, and scores mean what those of "
        "the log loss do.",
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
        "What is minimised. " + _OWN_LOSS + ".",
        Peers("objective", "objective", "loss_function", "loss"),
        only="regressor",
    ),
    Parameter(
        "alpha",
        0.9,
        Number(0, 1, open_low=True, open_high=True),
        "Of loss='quantile', the quantile; of loss='huber', the part of the residuals that count "
        "by their square, from which each round takes its δ.",
        Peers("quantile_alpha", "alpha", "", "alpha"),
        only="regressor",
    ),
    Parameter(
        "response",
        "gradient",
        Options(("gradient", "newton")),
        "What learners are fitted to: the pseudo-residuals −g, or −g/h with the hessian h as "
        "weights, as in LogitBoost and in gradient boosting of the second order.",
    ),
    Parameter(
        "step",
        "auto",
        Options(("auto", "line_search", "per_leaf", "newton", "unit")),
        "ρ, how far to follow a learner. 'line_search' minimises the loss over one ρ for the "
        "learner, or for the K learners of a round; 'per_leaf' over one for each leaf of a tree; "
        "'newton' takes one Newton step in each leaf, and Friedman's step for the Huber loss; "
        "'unit' is 1. 'auto' is 'newton' for a regression tree, 'per_leaf' if the loss has no "
        "second derivative, and 'line_search' for any other learner.",
    ),
    Parameter(
        "learning_rate",
        0.1,
        Number(0, open_low=True),
        "ν, shrinkage: every step is multiplied by it.",
        Peers("learning_rate", "learning_rate", "learning_rate", "learning_rate"),
    ),
    Parameter(
        "n_estimators",
        100,
        COUNT,
        "Boosting rounds, at most: they end early if no row has a gradient left.",
        Peers("n_estimators", "n_estimators", "iterations", "n_estimators"),
    ),
    Parameter(
        "subsample",
        1.0,
        FRACTION,
        "Part of the rows that a round fits its learners and finds its steps on, drawn anew every "
        "round without replacement.",
        Peers("subsample", "subsample", "subsample", "subsample"),
    ),
    Parameter(
        "init",
        None,
        any_of(NOTHING, Options(("zero",)), ESTIMATOR),
        "F₀, where the scores start. None is the constant of least loss (of the Huber loss, the "
        "median); an estimator is fitted to y first.",
        Peers("base_score", "init_score", "baseline", "init"),
    ),
    Parameter(
        "early_stopping",
        False,
        FLAG,
        "Stop when the loss on a held-out part of the training data has not fallen for "
        "n_iter_no_change rounds and go back to the best round.",
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
        "Part of the rows held out for early stopping; of each class the same part.",
        Peers("", "", "", "validation_fraction"),
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
    ),
    Parameter(
        "tol",
        0.0,
        NOT_NEGATIVE,
        "How much lower than the lowest so far the loss must be to count as an improvement.",
        Peers("", "early_stopping_min_delta", "", "tol"),
    ),
    Parameter(
        "warm_start",
        False,
        FLAG,
        "Keep the rounds of the last fit and add to them until there are n_estimators.",
        Peers("", "", "", "warm_start"),
    ),
    RANDOM_STATE,
    VERBOSE,
)
