"""Declarations of parameters: name, default, allowed values, description.

A parameter is declared once, in the `_parameters` of its estimators. Everything else follows from
the declaration: the constructor, the docstring and the tables of the documentation
(`hedgerow._arguments`), the check at the start of `fit`, the typed stub (`tools/stubs.py`), and
what the command line accepts.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np

from hedgerow._peer_values import value_instead
from hedgerow._warning import warn_user
from hedgerow.exceptions import ParameterError

# The largest count of the kernels. Messages do not mention a limit as large as this.
MOST = 2**31 - 1
# A message quotes values of up to this many characters.
_LONGEST = 200


class Allowed(Protocol):
    """The allowed values of a parameter: a test, a description for messages, a type hint."""

    def __contains__(self, value: object) -> bool: ...

    def __str__(self) -> str: ...

    @property
    def type_hint(self) -> str:
        """The type, as source code that uses the names imported by `hedgerow._arguments`."""


@dataclass(frozen=True)
class Number:
    """A finite number in an open or closed interval. A bool is not a number."""

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

    @property
    def type_hint(self) -> str:
        """An int, or a float, for which type checkers accept an int too."""
        return "int" if self.integer else "float"


@dataclass(frozen=True)
class Options:
    """One of a few strings."""

    names: tuple[str, ...]

    def __contains__(self, value: object) -> bool:
        return isinstance(value, str) and value in self.names

    def __str__(self) -> str:
        *others, last = map(repr, self.names)
        return f"{', '.join(others)} or {last}" if others else last

    @property
    def type_hint(self) -> str:
        """The strings, which editors then complete."""
        return f"Literal[{', '.join(map(repr, self.names))}]"


@dataclass(frozen=True)
class ParameterKind:
    """Values that a predicate accepts, with a description and a type hint."""

    description: str
    accepts: Callable[[Any], bool]
    type_hint: str = "Any"

    def __contains__(self, value: object) -> bool:
        return self.accepts(value)

    def __str__(self) -> str:
        return self.description


@dataclass(frozen=True)
class AnyOf:
    """One of several kinds."""

    kinds: tuple[Allowed, ...]

    def __contains__(self, value: object) -> bool:
        return any(value in kind for kind in self.kinds)

    def __str__(self) -> str:
        return ", or ".join(str(kind) for kind in self.kinds)

    @property
    def type_hint(self) -> str:
        """The union of the types. A float may be an int, and None comes last."""
        hints = dict.fromkeys(kind.type_hint for kind in self.kinds)
        if "float" in hints:
            hints.pop("int", None)
        return " | ".join(sorted(hints, key=lambda hint: hint == "None"))


def any_of(*kinds: Allowed) -> AnyOf:
    """Allow what any of these allows."""
    return AnyOf(kinds)


def _is_eval_metric(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return len(value) > 0 and all(isinstance(m, str) or callable(m) for m in value)
    return isinstance(value, str) or callable(value)


def is_estimator(value: Any) -> bool:
    """Return whether a value is an estimator in scikit-learn's sense, not the class of one."""
    needed = ("fit", "predict", "get_params")
    return not isinstance(value, type) and all(hasattr(value, name) for name in needed)


AUTO = Options(("auto",))
FRACTION = Number(0, 1, open_low=True)
NOT_NEGATIVE = Number(0)
COUNT = Number(1, MOST, integer=True)
NOTHING = ParameterKind("None", lambda value: value is None, "None")
SOMETHING = ParameterKind("…", lambda value: value is not None)
FLAG = ParameterKind("True or False", lambda value: isinstance(value, (bool, np.bool_)), "bool")
TRUE = ParameterKind("True", bool, "bool")
FUNCTION = ParameterKind(
    "a function (y, raw_scores[, sample_weight]) -> (gradient, hessian)",
    callable,
    "Callable[..., Any]",
)
COLUMNS = ParameterKind(
    "a list of column names or indices, or a boolean mask",
    lambda value: (
        isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping, Iterator))
    ),
    "Iterable[Any]",
)
CLASS_WEIGHTS = ParameterKind(
    "a dict from class to weight", lambda value: isinstance(value, Mapping), "Mapping[Any, float]"
)
RANDOM_STREAM = ParameterKind(
    "a RandomState", lambda value: isinstance(value, np.random.RandomState), "RandomState"
)
EVAL_METRIC = ParameterKind(
    "a metric's name, a function, or a list of those",
    _is_eval_metric,
    "str | Callable[..., Any] | Sequence[str | Callable[..., Any]]",
)
DEVICE_NAME = ParameterKind(
    "'cpu', 'cuda' or 'cuda:N'",
    lambda value: isinstance(value, str) and bool(re.fullmatch("cpu|cuda(:[0-9]{1,3})?", value)),
    "str",
)
THREAD_COUNT = ParameterKind(
    "an int other than 0",
    lambda value: value in Number(-MOST, MOST, integer=True) and value != 0,
    "int",
)


@dataclass(frozen=True)
class Peers:
    """The parameter's name in other libraries' estimators; empty where there is none."""

    xgboost: str = ""
    lightgbm: str = ""
    catboost: str = ""
    sklearn: str = ""


@dataclass(frozen=True)
class With:
    """The values of another parameter with which this one has an effect."""

    parameter: str
    allowed: Allowed


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    Attributes
    ----------
    group : str
        The heading under which the documentation lists it, for estimators with many parameters.
    positional : bool
        Whether constructors accept it by position, too. Such parameters come first.
    only : {"classifier", "regressor"}, optional
        Restricts it to one kind of estimator.
    used : With, optional
        A condition without which the parameter has no effect.
    remark : str
        A hint added to the message about a value that is not allowed.
    """

    name: str
    default: Any
    allowed: Allowed
    description: str
    peers: Peers = Peers()
    group: str = ""
    positional: bool = False
    only: str | None = None
    used: With | None = None
    remark: str = ""

    @property
    def type_hint(self) -> str:
        """The type of its values, as source code."""
        return self.allowed.type_hint

    def check(self, value: Any) -> None:
        """Raise unless the value is allowed."""
        if value not in self.allowed:
            hint = value_instead(self.name, value, _options(self.allowed)) or self._hint(value)
            message = (
                f"{self.name}={short_repr(value)} is not allowed; {hint}{'It' if hint else 'it'} "
                f"must be {self.allowed}{_too_large(value, self.allowed)}. {self.remark}"
            )
            raise ParameterError(message.rstrip())

    def _hint(self, value: Any) -> str:
        """Suggest a similar value of another type, if that is allowed."""
        if isinstance(value, type):
            return f"it is a class; write {self.name}={value.__name__}(). "
        if self.name.startswith("min_samples") and isinstance(value, float) and 0.0 < value < 1.0:
            return "it is a number of rows, not a fraction of them. "
        for other in _other_forms(value, self.allowed):
            if other in self.allowed:
                return f"write {self.name}={other!r}. "
        return ""

    def is_default(self, value: Any) -> bool:
        """Return whether a value is the default."""
        if value is self.default:
            return True
        # As objects, since arrays of text and of numbers have no elements to compare in NumPy 2.0.
        return bool(np.array_equal(np.asarray(value, object), np.asarray(self.default, object)))


def short_repr(value: Any) -> str:
    """Return the repr of a value for a message, or its type if the repr is long."""
    text = repr(value)
    if len(text) <= _LONGEST and "\n" not in text:
        return text
    name, shape = type(value).__name__, getattr(value, "shape", None)
    return f"<{name}>" if shape is None else f"<{name} of shape {shape}>"


def _options(allowed: Allowed) -> Iterator[str]:
    """Yield the strings that are allowed."""
    if isinstance(allowed, Options):
        yield from allowed.names
    elif isinstance(allowed, AnyOf):
        for kind in allowed.kinds:
            yield from _options(kind)


def _other_forms(value: Any, allowed: Allowed) -> Iterator[Any]:
    """Yield a value as a number, as an int, as what its text says, as a fraction, and in a list."""
    if isinstance(value, str):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            listed = literal_eval(value)  # "(1,0,-1)", as XGBoost takes it
            if isinstance(listed, list | tuple | dict):
                yield listed if isinstance(listed, dict) else list(listed)
        for kind in (int, float):
            with suppress(ValueError):
                yield kind(value)
    elif isinstance(value, (float, np.floating)) and float(value).is_integer():
        yield int(value)
    is_fraction = 2 not in allowed  # where more than 1 is allowed, 50 is no percentage
    if isinstance(value, (int, np.integer)) and 1 < value <= 100 and is_fraction:
        yield int(value) / 100
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        yield [value]


def _too_large(value: Any, allowed: Allowed) -> str:
    """Return the upper end of a range, if the value exceeds it."""
    if isinstance(allowed, AnyOf):
        return "".join(_too_large(value, kind) for kind in allowed.kinds)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if isinstance(allowed, Number) and is_number and value > allowed.high >= MOST:
        return f", at most {allowed.high}"
    return ""


# Parameters that several families share.
MAX_BINS = Parameter(
    "max_bins",
    255,
    Number(2, 255, integer=True),
    "Maximum number of bins of a feature; missing values have an additional bin.",
    Peers("max_bin", "max_bin", "border_count", "max_bins"),
    group="Trees",
)
CATEGORICAL_FEATURES = Parameter(
    "categorical_features",
    "auto",
    any_of(Options(("auto",)), NOTHING, COLUMNS),
    "Categorical features. 'auto' selects the columns of strings or of a categorical type; a list "
    "(names, indices, or a bool for every column) adds numeric columns to these; None selects "
    "none. If a feature has more than max_bins categories, the rarest share a bin, with a warning.",
    Peers("enable_categorical", "categorical_feature", "cat_features", "categorical_features"),
    group="Categorical features",
)
UNKNOWN_CATEGORY = Parameter(
    "unknown_category",
    "missing",
    Options(("missing", "error")),
    "How categories that were not in the training data are treated in prediction: as missing "
    "values ('missing') or as an error ('error').",
    group="Categorical features",
)
CLASS_WEIGHT = Parameter(
    "class_weight",
    None,
    any_of(Options(("balanced",)), CLASS_WEIGHTS, NOTHING),
    "Weights of the classes, multiplied by sample_weight; classes not in a dict have weight 1. "
    "'balanced' gives every class the same total weight.",
    Peers("scale_pos_weight", "class_weight", "class_weights", "class_weight"),
    only="classifier",
    group="Class weights",
)
SUBSAMPLE_FOR_BIN = Parameter(
    "subsample_for_bin",
    200_000,
    COUNT,
    "Maximum number of rows used to determine the bins.",
    Peers("", "subsample_for_bin", "", ""),
    group="Trees",
)
RANDOM_STATE = Parameter(
    "random_state",
    0,
    any_of(Number(0, 2**32 - 1, integer=True), RANDOM_STREAM, NOTHING),
    "Random seed. The same seed gives the same model; None uses a new seed for every fit.",
    Peers("random_state", "random_state", "random_state", "random_state"),
    group="Running",
)
N_JOBS = Parameter(
    "n_jobs",
    None,
    any_of(NOTHING, THREAD_COUNT),
    "Number of threads. −1 uses all available CPUs, −2 all but one. None does the same as −1, "
    "unless the environment variable HEDGEROW_NUM_THREADS is set or the fit runs in a joblib or "
    "Dask worker, which gets its share of the CPUs. The model does not depend on it.",
    Peers("n_jobs", "n_jobs", "thread_count", ""),
    group="Running",
)
DEVICE = Parameter(
    "device",
    "cpu",
    DEVICE_NAME,
    "Where trees are grown: 'cpu', or an NVIDIA GPU, 'cuda' for the first and 'cuda:N' for number "
    "N. The model does not depend on it. Predictions are computed where X is, on the CPU or "
    "the GPU.",
    Peers("device", "device_type", "task_type", ""),
    group="Running",
)
VERBOSE = Parameter(
    "verbose",
    0,
    any_of(Number(0, integer=True), FLAG),
    "Verbosity. 0 is silent. Otherwise a progress bar with the remaining time, if standard error "
    "is a terminal or a notebook and rich is installed (for notebooks also ipywidgets), or lines "
    "of text: 1 prints at most about twenty, a larger number n prints one every n rounds.",
    Peers("verbosity", "verbose", "verbose", "verbose"),
    group="Running",
)


# An argument of methods.
IMPORTANCE_KIND = Parameter("kind", "gain", Options(("gain", "split", "cover")), "")


def parameters_for(task: str, declared: Iterable[Parameter]) -> tuple[Parameter, ...]:
    """Return the declarations that a "classifier" or "regressor" has, in their order."""
    return tuple(parameter for parameter in declared if parameter.only in (None, task))


class Declared(Protocol):
    """An estimator that declares its parameters."""

    @property
    def _parameters(self) -> tuple[Parameter, ...]:
        """The declarations, in the order of the constructor."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as in scikit-learn."""


def parameters_of(declared: Declared | type[Any]) -> tuple[Parameter, ...]:
    """Return the parameters that an estimator, or the class of one, declares."""
    parameters: tuple[Parameter, ...] = declared._parameters  # noqa: SLF001  the only access
    return parameters


def check_parameters(estimator: Declared) -> None:
    """Raise `ParameterError` if a parameter of the estimator is not allowed; touch no data."""
    for parameter in parameters_of(estimator):
        parameter.check(getattr(estimator, parameter.name))


def warn_of_unused(estimator: Declared) -> None:
    """Warn of parameters that were set, but have no effect with the values of other parameters."""
    idle = [
        f"{parameter.name}={value!r} has no effect without {used.parameter}={used.allowed}"
        for parameter in parameters_of(estimator)
        if (used := parameter.used) is not None
        and getattr(estimator, used.parameter) not in used.allowed
        and not parameter.is_default(value := getattr(estimator, parameter.name))
    ]
    if idle:
        warn_user(f"{type(estimator).__name__}: {'; '.join(idle)}.")
