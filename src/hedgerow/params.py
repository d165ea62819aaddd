"""Every parameter of the estimators, declared once: default, what is allowed, what it does.

From these declarations come the check that `fit` makes before any work, the parameter section of
the docstrings, and the table in the documentation that maps each name to its peers'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from functools import cache
from math import inf
from numbers import Integral, Real
from textwrap import fill
from typing import Any, Protocol, TypeVar

import numpy as np

from hedgerow.exceptions import ParameterError

T = TypeVar("T", bound=type)

# What the kernels count to; too large to be worth a word in a message.
MOST = 2**31 - 1


class Allowed(Protocol):
    """What a parameter may be: a test, and words for the error message."""

    def __contains__(self, value: object) -> bool: ...

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Number:
    """A finite number in an interval, with or without its ends. A bool is no number."""

    low: float = -inf
    high: float = inf
    open_low: bool = False
    open_high: bool = False
    integer: bool = False

    def __contains__(self, value: object) -> bool:
        if isinstance(value, (bool, np.bool_)) or not isinstance(
            value, Integral if self.integer else Real
        ):
            return False
        number: Any = value
        try:
            float(number)
        except OverflowError:
            return False
        above = number > self.low if self.open_low else number >= self.low
        below = number < self.high if self.open_high else number <= self.high
        return bool(above and below and -inf < number < inf)

    def __str__(self) -> str:
        kind = "an int" if self.integer else "a number"
        if self.high >= MOST:
            return (
                kind if self.low == -inf else f"{kind} {'>' if self.open_low else '>='} {self.low}"
            )
        left, right = "(" if self.open_low else "[", ")" if self.open_high else "]"
        return f"{kind} in {left}{self.low}, {self.high}{right}"


@dataclass(frozen=True)
class Options:
    """One of a few strings."""

    names: tuple[str, ...]

    def __contains__(self, value: object) -> bool:
        return isinstance(value, str) and value in self.names

    def __str__(self) -> str:
        return " or ".join(repr(name) for name in self.names)


@dataclass(frozen=True)
class Kind:
    """Anything that a predicate accepts, with the words for it."""

    words: str
    accepts: Callable[[Any], bool]

    def __contains__(self, value: object) -> bool:
        return self.accepts(value)

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True)
class AnyOf:
    """One of several kinds."""

    kinds: tuple[Allowed, ...]

    def __contains__(self, value: object) -> bool:
        return any(value in kind for kind in self.kinds)

    def __str__(self) -> str:
        return ", or ".join(str(kind) for kind in self.kinds)


def any_of(*kinds: Allowed) -> AnyOf:
    """Allow what any of these allows."""
    return AnyOf(kinds)


def _is_eval_metric(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return len(value) > 0 and all(isinstance(m, str) or callable(m) for m in value)
    return isinstance(value, str) or callable(value)


FRACTION = Number(0, 1, open_low=True)
NOT_NEGATIVE = Number(0)
COUNT = Number(1, MOST, integer=True)
NOTHING = Kind("None", lambda value: value is None)
FLAG = Kind("True or False", lambda value: isinstance(value, (bool, np.bool_)))
FUNCTION = Kind("a function (y, raw_scores[, sample_weight]) -> (gradient, hessian)", callable)
COLUMNS = Kind(
    "a list of column names or indices, or a boolean mask",
    lambda value: (
        isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping, Iterator))
    ),
)
CLASS_WEIGHTS = Kind("a dict from class to weight", lambda value: isinstance(value, Mapping))
RANDOM_STATE = Kind("a RandomState", lambda value: isinstance(value, np.random.RandomState))
EVAL_METRIC = Kind("a metric's name, a function, or a list of those", _is_eval_metric)
N_JOBS = Kind(
    "an int other than 0", lambda value: value in Number(-MOST, MOST, integer=True) and value != 0
)


@dataclass(frozen=True)
class Peers:
    """The parameter's name in other libraries' estimators; empty where there is none."""

    xgboost: str = ""
    lightgbm: str = ""
    catboost: str = ""
    sklearn: str = ""


@dataclass(frozen=True)
class Parameter:
    """One parameter; `only` names the task it belongs to, if it does not belong to both."""

    name: str
    default: Any
    allowed: Allowed
    description: str
    peers: Peers = Peers()
    only: str | None = None

    def check(self, value: Any) -> None:
        """Raise unless the value is allowed."""
        if value not in self.allowed:
            raise ParameterError(
                f"{self.name}={value!r} is not allowed; it must be {self.allowed}"
                f"{_too_large(value, self.allowed)}."
            )


def _too_large(value: Any, allowed: Allowed) -> str:
    """Name the upper end of a range where that is what the value exceeds."""
    if isinstance(allowed, AnyOf):
        return "".join(_too_large(value, kind) for kind in allowed.kinds)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if isinstance(allowed, Number) and is_number and value > allowed.high >= MOST:
        return f", at most {allowed.high}"
    return ""


PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "loss",
        "log_loss",
        any_of(Options(("log_loss",)), FUNCTION),
        "What is minimised. 'log_loss' is the binary log loss for two classes and the multinomial "
        "one, with a tree a class a round, for more. A function gets y as class numbers 0 … K−1 "
        "and raw_scores of shape (n,) for two classes, (n, K) for more, and returns gradient and "
        "hessian of the same shape; its scores start at 0. Weights multiply what it returns, "
        "unless it takes sample_weight itself.",
        Peers("objective", "objective", "loss_function", "loss"),
        only="classifier",
    ),
    Parameter(
        "loss",
        "squared_error",
        any_of(Options(("squared_error",)), FUNCTION),
        "What is minimised. A function gets y and raw_scores of shape (n,) and returns gradient "
        "and hessian of the same shape; its scores start at 0. Weights multiply what it returns, "
        "unless it takes sample_weight itself.",
        Peers("objective", "objective", "loss_function", "loss"),
        only="regressor",
    ),
    Parameter(
        "learning_rate",
        0.1,
        Number(0, open_low=True),
        "Shrinkage: every tree's leaf values are multiplied by it.",
        Peers("learning_rate", "learning_rate", "learning_rate", "learning_rate"),
    ),
    Parameter(
        "n_estimators",
        100,
        COUNT,
        "Boosting rounds; with early stopping, at most so many.",
        Peers("n_estimators", "n_estimators", "iterations", "max_iter"),
    ),
    Parameter(
        "max_leaves",
        31,
        any_of(Number(2, 65_535, integer=True), NOTHING),
        "Leaves of a tree, at most. None sets no limit but 65,535.",
        Peers("max_leaves", "num_leaves", "max_leaves", "max_leaf_nodes"),
    ),
    Parameter(
        "max_depth",
        None,
        any_of(COUNT, NOTHING),
        "Splits from the root to a leaf, at most. None sets no limit.",
        Peers("max_depth", "max_depth", "depth", "max_depth"),
    ),
    Parameter(
        "min_samples_leaf",
        20,
        COUNT,
        "Rows in a leaf, at least; counted exactly, whatever their weights.",
        Peers("", "min_child_samples", "min_data_in_leaf", "min_samples_leaf"),
    ),
    Parameter(
        "min_child_weight",
        1e-3,
        NOT_NEGATIVE,
        "Sum of the hessian in a leaf, at least.",
        Peers("min_child_weight", "min_child_weight", "", ""),
    ),
    Parameter(
        "reg_lambda",
        1.0,
        NOT_NEGATIVE,
        "λ, the L2 penalty on leaf values.",
        Peers("reg_lambda", "reg_lambda", "l2_leaf_reg", "l2_regularization"),
    ),
    Parameter(
        "reg_alpha",
        0.0,
        NOT_NEGATIVE,
        "α, the L1 penalty on leaf values.",
        Peers("reg_alpha", "reg_alpha", "", ""),
    ),
    Parameter(
        "min_split_gain",
        0.0,
        NOT_NEGATIVE,
        "γ, what a split must gain to be made.",
        Peers("gamma", "min_split_gain", "", ""),
    ),
    Parameter(
        "max_delta_step",
        0.0,
        NOT_NEGATIVE,
        "Largest size of a leaf value before shrinkage. 0 sets no limit.",
        Peers("max_delta_step", "max_delta_step", "", ""),
    ),
    Parameter(
        "max_bins",
        255,
        Number(2, 255, integer=True),
        "Bins of a feature, at most; missing values have one more of their own.",
        Peers("max_bin", "max_bin", "border_count", "max_bins"),
    ),
    Parameter(
        "subsample",
        1.0,
        FRACTION,
        "Part of the rows that a round grows its trees on, drawn anew every round.",
        Peers("subsample", "subsample", "subsample", ""),
    ),
    Parameter(
        "colsample_bytree",
        1.0,
        FRACTION,
        "Part of the features that a tree may use.",
        Peers("colsample_bytree", "colsample_bytree", "", ""),
    ),
    Parameter(
        "colsample_bylevel",
        1.0,
        FRACTION,
        "Part of the tree's features that a level of it may use.",
        Peers("colsample_bylevel", "", "rsm", ""),
    ),
    Parameter(
        "colsample_bynode",
        1.0,
        FRACTION,
        "Part of the level's features that a node may use.",
        Peers("colsample_bynode", "feature_fraction_bynode", "", "max_features"),
    ),
    Parameter(
        "grow_policy",
        "leafwise",
        Options(("leafwise", "levelwise")),
        "Which leaf is split next: the one that gains most, or level after level.",
        Peers("grow_policy", "", "grow_policy", ""),
    ),
    Parameter(
        "splitter",
        "hist",
        Options(("hist", "exact")),
        "'hist' looks for splits between bins; 'exact' tries every value of numeric features, "
        "which is slow on large tables.",
        Peers("tree_method", "", "", ""),
    ),
    Parameter(
        "categorical_features",
        "auto",
        any_of(Options(("auto",)), NOTHING, COLUMNS),
        "Columns whose values have no order. 'auto' takes the columns of strings or of a "
        "categorical type. Of more than max_bins categories the rarest share a bin, with a "
        "warning.",
        Peers("enable_categorical", "categorical_feature", "cat_features", "categorical_features"),
    ),
    Parameter(
        "unknown_category",
        "missing",
        Options(("missing", "error")),
        "What a category that fit did not see is taken for at predict time.",
    ),
    Parameter(
        "class_weight",
        None,
        any_of(Options(("balanced",)), CLASS_WEIGHTS, NOTHING),
        "Weights of the classes, multiplied with sample_weight; a class that is left out has "
        "weight 1. 'balanced' gives every class the same total.",
        Peers("scale_pos_weight", "class_weight", "class_weights", "class_weight"),
        only="classifier",
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
    ),
    Parameter(
        "validation_fraction",
        0.1,
        Number(0, 1, open_low=True, open_high=True),
        "Part of the rows held out for early stopping when there is no eval_set; of each class the "
        "same part.",
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
        "How much better than the best so far a round must be to count as an improvement.",
        Peers("", "early_stopping_min_delta", "", "tol"),
    ),
    Parameter(
        "eval_metric",
        None,
        any_of(NOTHING, EVAL_METRIC),
        "What is measured on the evaluation sets after each round; None is the log loss or the "
        "root mean squared error. Names: 'log_loss', 'auc', 'average_precision', 'error', "
        "'accuracy', 'balanced_accuracy', 'f1' of a classifier; 'rmse', 'mse', 'mae', "
        "'median_absolute_error', 'mape', 'r2' of a regressor. A function is called as "
        "(y, prediction[, sample_weight]), where prediction is the probability of classes_[1], "
        "(n, K) probabilities or the predicted number, and returns a number or (name, number, "
        "higher_is_better); of a number alone, higher is better if the function's name ends in "
        "'_score'. The first metric decides when to stop.",
        Peers("eval_metric", "eval_metric", "eval_metric", "scoring"),
    ),
    Parameter(
        "subsample_for_bin",
        200_000,
        COUNT,
        "Rows that the bins are made from, at most.",
        Peers("", "subsample_for_bin", "", ""),
    ),
    Parameter(
        "warm_start",
        False,
        FLAG,
        "Keep the rounds of the last fit and add to them until there are n_estimators. The table "
        "must have the same columns; its values are binned as in the first fit.",
        Peers("", "", "", "warm_start"),
    ),
    Parameter(
        "random_state",
        0,
        any_of(Number(0, 2**32 - 1, integer=True), RANDOM_STATE, NOTHING),
        "Seed of subsampling and of the held-out part. The same seed gives the same model; None "
        "takes a new seed for every fit.",
        Peers("random_state", "random_state", "random_state", "random_state"),
    ),
    Parameter(
        "n_jobs",
        None,
        any_of(NOTHING, N_JOBS),
        "Threads, as in scikit-learn: −1 is all, None as many as are useful. The model does not "
        "depend on it.",
        Peers("n_jobs", "n_jobs", "thread_count", ""),
    ),
    Parameter(
        "verbose",
        0,
        any_of(Number(0, integer=True), FLAG),
        "0 is silent. Otherwise a progress bar with the time left, if standard error is a terminal "
        "and rich is installed, or else a line there every verbose rounds.",
        Peers("verbosity", "verbose", "verbose", "verbose"),
    ),
)


@cache
def parameters_of(task: str) -> tuple[Parameter, ...]:
    """Return the declarations for 'classifier' or 'regressor', in the signature's order."""
    return tuple(p for p in PARAMETERS if p.only in (None, task))


def check_parameters(estimator: Any, task: str) -> None:
    """Raise `ParameterError` if a parameter of the estimator is not allowed; touch no data."""
    for parameter in parameters_of(task):
        parameter.check(getattr(estimator, parameter.name))


def documented(task: str) -> Callable[[T], T]:
    """Write the declarations into a class's docstring, where it says {parameters}."""

    def fill_in(cls: T) -> T:
        if cls.__doc__ is not None:
            cls.__doc__ = cls.__doc__.replace("    {parameters}\n", _numpydoc(task))
        return cls

    return fill_in


def _numpydoc(task: str) -> str:
    lines = []
    for parameter in parameters_of(task):
        lines.append(f"    {parameter.name} : {parameter.allowed}, default={parameter.default!r}\n")
        indent = " " * 8
        text = fill(parameter.description, 92, initial_indent=indent, subsequent_indent=indent)
        lines.append(text + "\n")
    return "".join(lines)


def parameter_table() -> str:
    """Return the parameters and their names in other libraries as a Markdown table."""
    lines = [
        "| parameter | default | XGBoost | LightGBM | CatBoost | scikit-learn |",
        "|---" * 6 + "|",
    ]
    merged: dict[str, list[Parameter]] = {}
    for parameter in PARAMETERS:
        merged.setdefault(parameter.name, []).append(parameter)
    for name, declared in merged.items():
        defaults = " / ".join(f"`{parameter.default!r}`" for parameter in declared)
        peers = (f"`{peer}`" if peer else "" for peer in astuple(declared[0].peers))
        lines.append(f"| `{name}` | {defaults} | {' | '.join(peers)} |")
    return "\n".join(lines) + "\n"
