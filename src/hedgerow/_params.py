"""How parameters are declared: default, what is allowed, what it does.

Each estimator lists its declarations once, as ``_parameters``. From them come the check that `fit`
makes before any work, the parameter section of the docstring, and the table in the documentation
that maps each name to its peers'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from math import inf
from numbers import Integral, Real
from textwrap import fill
from typing import Any, Protocol, TypeVar

import numpy as np

from hedgerow._peer_values import value_instead
from hedgerow._warning import warn_user
from hedgerow.exceptions import ParameterError

T = TypeVar("T", bound=type)

# What the kernels count to; too large to be worth a word in a message.
MOST = 2**31 - 1
# Letters of a value that are shown in a message.
_LONGEST = 200


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
TRUE = Kind("True", bool)
FUNCTION = Kind("a function (y, raw_scores[, sample_weight]) -> (gradient, hessian)", callable)
COLUMNS = Kind(
    "a list of column names or indices, or a boolean mask",
    lambda value: (
        isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping, Iterator))
    ),
)
CLASS_WEIGHTS = Kind("a dict from class to weight", lambda value: isinstance(value, Mapping))
RANDOM_STREAM = Kind("a RandomState", lambda value: isinstance(value, np.random.RandomState))
EVAL_METRIC = Kind("a metric's name, a function, or a list of those", _is_eval_metric)
THREAD_COUNT = Kind(
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
class With:
    """What another parameter has to be for this one to have an effect."""

    parameter: str
    allowed: Allowed


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    Attributes
    ----------
    only : {"classifier", "regressor"}, optional
        Which estimators have it, if not both.
    used : With, optional
        When it is used at all, if not always.
    remark : str
        What to tell those who give it a value that is not allowed.
    """

    name: str
    default: Any
    allowed: Allowed
    description: str
    peers: Peers = Peers()
    only: str | None = None
    used: With | None = None
    remark: str = ""

    def check(self, value: Any) -> None:
        """Raise unless the value is allowed."""
        if value not in self.allowed:
            meant = value_instead(self.name, value, _options(self.allowed)) or self._written(value)
            refused = (
                f"{self.name}={shown(value)} is not allowed; {meant}{'It' if meant else 'it'} "
                f"must be {self.allowed}{_too_large(value, self.allowed)}. {self.remark}"
            )
            raise ParameterError(refused.rstrip())

    def _written(self, value: Any) -> str:
        """Say how to write what a value was probably meant to be, if that is allowed."""
        if isinstance(value, type):
            return f"it is a class; write {self.name}={value.__name__}(). "
        for other in _other_forms(value):
            if other in self.allowed:
                return f"write {self.name}={other!r}. "
        return ""

    def is_default(self, value: Any) -> bool:
        """Tell whether a value is the default."""
        return value is self.default or bool(np.array_equal(value, self.default))


def shown(value: Any) -> str:
    """Write a value in a message: as it is if that is short, else what kind of thing it is."""
    written = repr(value)
    if len(written) <= _LONGEST and "\n" not in written:
        return written
    name, shape = type(value).__name__, getattr(value, "shape", None)
    return f"<{name}>" if shape is None else f"<{name} of shape {shape}>"


def _options(allowed: Allowed) -> Iterator[str]:
    """Yield the strings that are allowed."""
    if isinstance(allowed, Options):
        yield from allowed.names
    elif isinstance(allowed, AnyOf):
        for kind in allowed.kinds:
            yield from _options(kind)


def _other_forms(value: Any) -> Iterator[Any]:
    """Yield a value as a number, as a whole number, as a part of 1, and in a list."""
    if isinstance(value, str):
        for kind in (int, float):
            with suppress(ValueError):
                yield kind(value)
    elif isinstance(value, (float, np.floating)) and float(value).is_integer():
        yield int(value)
    if isinstance(value, (int, np.integer)) and 1 < value <= 100:
        yield int(value) / 100
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        yield [value]


def _too_large(value: Any, allowed: Allowed) -> str:
    """Name the upper end of a range where that is what the value exceeds."""
    if isinstance(allowed, AnyOf):
        return "".join(_too_large(value, kind) for kind in allowed.kinds)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if isinstance(allowed, Number) and is_number and value > allowed.high >= MOST:
        return f", at most {allowed.high}"
    return ""


# What several estimators have.
MAX_BINS = Parameter(
    "max_bins",
    255,
    Number(2, 255, integer=True),
    "Bins of a feature, at most; missing values have one more of their own.",
    Peers("max_bin", "max_bin", "border_count", "max_bins"),
)
CATEGORICAL_FEATURES = Parameter(
    "categorical_features",
    "auto",
    any_of(Options(("auto",)), NOTHING, COLUMNS),
    "Columns whose values have no order. 'auto' takes the columns of strings or of a "
    "categorical type; a list (names, indices, or True and False for every column) adds "
    "columns of numbers to these; None takes none. Of more than max_bins categories the rarest "
    "share a bin, with a warning.",
    Peers("enable_categorical", "categorical_feature", "cat_features", "categorical_features"),
)
UNKNOWN_CATEGORY = Parameter(
    "unknown_category",
    "missing",
    Options(("missing", "error")),
    "What a category that fit did not see is taken for at predict time.",
)
CLASS_WEIGHT = Parameter(
    "class_weight",
    None,
    any_of(Options(("balanced",)), CLASS_WEIGHTS, NOTHING),
    "Weights of the classes, multiplied with sample_weight; a class that is left out has "
    "weight 1. 'balanced' gives every class the same total.",
    Peers("scale_pos_weight", "class_weight", "class_weights", "class_weight"),
    only="classifier",
)
SUBSAMPLE_FOR_BIN = Parameter(
    "subsample_for_bin",
    200_000,
    COUNT,
    "Rows that the bins are made from, at most.",
    Peers("", "subsample_for_bin", "", ""),
)
RANDOM_STATE = Parameter(
    "random_state",
    0,
    any_of(Number(0, 2**32 - 1, integer=True), RANDOM_STREAM, NOTHING),
    "Seed of everything random. The same seed gives the same model; None takes a new seed for "
    "every fit.",
    Peers("random_state", "random_state", "random_state", "random_state"),
)
N_JOBS = Parameter(
    "n_jobs",
    None,
    any_of(NOTHING, THREAD_COUNT),
    "Threads, as in scikit-learn: −1 is all, None as many as are useful. The model does not "
    "depend on it.",
    Peers("n_jobs", "n_jobs", "thread_count", ""),
)
VERBOSE = Parameter(
    "verbose",
    0,
    any_of(Number(0, integer=True), FLAG),
    "0 is silent. Otherwise a progress bar with the time left, if standard error is a terminal "
    "or a notebook and rich is installed (for notebooks also ipywidgets), or else lines there: "
    "1 is about twenty of them or fewer, a larger number a line every so many rounds.",
    Peers("verbosity", "verbose", "verbose", "verbose"),
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
    """Warn of parameters that were set but have no effect beside what others are."""
    idle = [
        f"{parameter.name}={value!r} has no effect without {used.parameter}={used.allowed}"
        for parameter in parameters_of(estimator)
        if (used := parameter.used) is not None
        and getattr(estimator, used.parameter) not in used.allowed
        and not parameter.is_default(value := getattr(estimator, parameter.name))
    ]
    if idle:
        warn_user(f"{type(estimator).__name__}: {'; '.join(idle)}.")


def documented(cls: T) -> T:
    """Write an estimator's declarations into its docstring, where it says {parameters}.

    An estimator with `_parameter_groups` lists them group by group, after a table of the groups.
    """
    declared: Any = cls
    if declared.__doc__ is None:
        return cls
    groups = grouped(parameters_of(declared), getattr(declared, "_parameter_groups", {}))
    ordered = [parameter for members in groups.values() for parameter in members]
    text = declared.__doc__.replace("    {parameters}\n", _numpydoc(ordered))
    if len(groups) > 1:
        heading = "    Parameters\n    ----------\n"
        text = text.replace(heading, _overview(groups) + heading, 1)
    declared.__doc__ = text
    return cls


def grouped(
    parameters: Iterable[Parameter], groups: Mapping[str, Sequence[str]]
) -> dict[str, list[Parameter]]:
    """Return parameters by the group that names them, in its order; the first takes all others."""
    declared = list(parameters)
    elsewhere = {name for names in list(groups.values())[1:] for name in names}
    first = next(iter(groups), "")
    found = {first: [parameter for parameter in declared if parameter.name not in elsewhere]}
    for group, names in list(groups.items())[1:]:
        members = [parameter for parameter in declared if parameter.name in names]
        if members:
            found[group] = sorted(members, key=lambda member: names.index(member.name))
    return found


def _overview(groups: Mapping[str, Iterable[Parameter]]) -> str:
    """Return a list of groups and the names in each, for the head of a docstring."""
    lines = ["    Parameters by purpose:\n\n"]
    for group, members in groups.items():
        names = ", ".join(dict.fromkeys(parameter.name for parameter in members))
        text = f"- {group}: {names}"
        lines.append(fill(text, 96, initial_indent="    ", subsequent_indent="      ") + "\n")
    return "".join(lines) + "\n"


def _numpydoc(parameters: Iterable[Parameter]) -> str:
    lines = []
    for parameter in parameters:
        lines.append(f"    {parameter.name} : {parameter.allowed}, default={parameter.default!r}\n")
        indent = " " * 8
        text = fill(parameter.description, 92, initial_indent=indent, subsequent_indent=indent)
        lines.append(text + "\n")
    return "".join(lines)


def parameter_table(parameters: Iterable[Parameter]) -> str:
    """Return parameters and their names in other libraries as a Markdown table."""
    lines = [
        "| parameter | default | XGBoost | LightGBM | CatBoost | scikit-learn |",
        "|---" * 6 + "|",
    ]
    merged: dict[str, list[Parameter]] = {}
    for parameter in parameters:
        merged.setdefault(parameter.name, []).append(parameter)
    for name, declared in merged.items():
        defaults = " / ".join(dict.fromkeys(f"`{parameter.default!r}`" for parameter in declared))
        peers = (f"`{peer}`" if peer else "" for peer in astuple(declared[0].peers))
        lines.append(f"| `{name}` | {defaults} | {' | '.join(peers)} |")
    return "\n".join(lines) + "\n"


def grouped_tables(parameters: Iterable[Parameter], groups: Mapping[str, Sequence[str]]) -> str:
    """Return a heading and a Markdown table for each group of parameters."""
    tables = grouped(parameters, groups).items()
    return "\n".join(f"### {group}\n\n{parameter_table(members)}" for group, members in tables)
