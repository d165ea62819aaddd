"""What a call does not take, or an object does not have, answered with what to write instead.

Names may be misspelt, other libraries' (`Peers` of the declarations and the tables of
`hedgerow._peers` know them), or belong elsewhere: a parameter of the constructor given to `fit`, an
argument of `fit` given to the constructor. Constructors, methods, functions, `set_params`,
attributes and the module's own names are all answered from here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple
from functools import wraps
from inspect import Parameter as Argument
from inspect import Signature, signature
from types import FunctionType
from typing import Any, TypeVar

from hedgerow._params import Declared, Parameter
from hedgerow._peers import (
    ALIASES,
    ATTRIBUTES,
    CONSTRUCTOR,
    FUNCTIONS,
    METHODS,
    MODULES,
    PREDICT,
    Table,
    answers,
    library_of,
)
from hedgerow._spelling import near
from hedgerow.exceptions import ParameterError

F = TypeVar("F", bound=Callable[..., Any])

BY_PLACE = (Argument.POSITIONAL_ONLY, Argument.POSITIONAL_OR_KEYWORD)


def bind_arguments(
    cls: type[Any], taken: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a constructor by name; raise TypeError for any it does not have."""
    try:
        bound: dict[str, Any] = taken.bind(None, *args, **kwargs).arguments
    except TypeError:
        _explain_constructor(cls, taken, args, kwargs)
        raise
    bound.pop("self")
    return bound


def explain_arguments(cls: type[Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise TypeError if a user's own constructor does not have these arguments."""
    if hasattr(cls.__init__, "__signature__"):  # a generated one, which explains them itself
        return
    taken = signature(cls.__init__)
    try:
        taken.bind(None, *args, **kwargs)
    except TypeError:  # Python reports missing arguments when it calls the constructor
        _explain_constructor(cls, taken, args, kwargs)


def _explain_constructor(
    cls: type[Any], taken: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Raise TypeError about an unknown name, or a value without one."""
    names = [*taken.parameters][1:]
    unknown = [name for name in kwargs if name not in names]
    if unknown:
        raise TypeError(about(unknown[0], cls, names)) from None
    if args:
        raise TypeError(_by_name(cls.__name__, names[0], args[0])) from None


def _by_name(name: str, parameter: str, value: Any) -> str:
    of_a_dict = f"; to pass a dict, write {name}(**params)" if isinstance(value, Mapping) else ""
    return f"{name} takes its parameters by name, as in {name}({parameter}=…){of_a_dict}."


def explain_parameters(estimator: Declared, named: Iterable[str]) -> None:
    """Raise ParameterError if `set_params` is given a name that is none of a parameter."""
    known = list(estimator.get_params(deep=False))
    for name in named:
        own = name.partition("__")[0]
        if own not in known:
            raise ParameterError(about(own, type(estimator), known))


def answering(function: F) -> F:
    """Let a method, or a function, answer arguments that it does not take."""

    @wraps(function)
    def answer(*given: Any, **named: Any) -> Any:
        try:
            return function(*given, **named)
        except TypeError:
            _explain_call(function, given, named)
            raise

    return answer  # type: ignore[return-value]


def let_methods_answer(cls: type[Any]) -> None:
    """Do so for all public methods of a class, and for `score`, which scikit-learn defines."""
    own = dict(vars(cls))
    if "score" not in own and hasattr(cls, "score"):
        own["score"] = cls.score
    for name, method in own.items():
        if name.startswith("_"):
            continue
        if isinstance(method, FunctionType) and not hasattr(method, "__wrapped__"):
            setattr(cls, name, answering(method))
        elif isinstance(getattr(method, "fn", None), FunctionType):  # scikit-learn's available_if
            method.fn = answering(method.fn)


def _explain_call(
    function: Callable[..., Any], given: Sequence[Any], named: Mapping[str, Any]
) -> None:
    """Raise TypeError if it is the call itself that failed."""
    taken = signature(function)
    try:
        taken.bind(*given, **named)
    except TypeError as error:
        said = _about_call(function, taken, given, named)
        raise TypeError(said or f"{function.__name__}: {error}.") from None


def _about_call(
    function: Callable[..., Any],
    taken: Signature,
    given: Sequence[Any],
    named: Mapping[str, Any],
) -> str | None:
    """Say what to write instead of a call; None if Python says it well."""
    names = list(taken.parameters)
    is_method = names[0] == "self"
    if is_method and not (given and _is_of_class(given[0], function)):
        return _about_class(function.__name__, names)
    cls = type(given[0]) if is_method else None
    name = function.__name__ if cls is None else f"{cls.__name__}.{function.__name__}"
    hidden = 0 if cls is None else 1
    unknown = [each for each in named if each not in names]
    if unknown:
        return _about_argument(unknown[0], name, cls, names[hidden:])
    by_place = [each for each in names if taken.parameters[each].kind in BY_PLACE]
    if len(given) > len(by_place):
        if len(by_place) == hidden:
            return f"{name} takes arguments by name; to pass a dict, write {name}(**params)."
        return (
            f"{name} takes {_listed(by_place[hidden:])} by position, but {len(given) - hidden} "
            f"were given. {_others(names, by_place)}"
        )
    return _about_missing(name, taken, given, named, hidden)


def _is_of_class(instance: Any, function: Callable[..., Any]) -> bool:
    """Tell an instance of a method's class from an argument in its place."""
    owner = function.__qualname__.split(".")[-2]
    return owner in {cls.__name__ for cls in type(instance).__mro__}


def _about_class(method: str, names: Sequence[str]) -> str:
    """Say that a method was called on the class."""
    needed = ", ".join(name for name in names if name in ("X", "y"))
    return (
        f"{method} was called on the class, not on an instance of it. Create one first: "
        f"model = Estimator(), with the name of the class, then model.{method}({needed})."
    )


def _others(names: Sequence[str], by_place: Sequence[str]) -> str:
    """Ask for arguments by name, with an example."""
    by_name = [name for name in names if name not in by_place]
    return f"Pass the others by name, as in {by_name[0]}=…." if by_name else "It takes no more."


def _about_missing(
    name: str, taken: Signature, given: Sequence[Any], named: Mapping[str, Any], hidden: int
) -> str | None:
    required = [each.name for each in taken.parameters.values() if each.default is Argument.empty]
    there = {*list(taken.parameters)[: len(given)], *named}
    missing = [each for each in required if each not in there]
    if not missing:  # something is given twice
        return None
    are = "is" if len(missing) == 1 else "are"
    text = f"{name} needs {_listed(required[hidden:])}; {_listed(missing)} {are} missing."
    library = next(filter(None, map(library_of, given[hidden:])), None)
    if library is not None:
        text += f" Pass the data themselves, fit(X, y), not an object of {library}."
    return text


def _about_argument(unknown: str, name: str, cls: type[Any] | None, names: Sequence[str]) -> str:
    """Say what to write instead of an argument that a method or function does not take."""
    text = f"{name} has no argument {unknown!r}"
    method = name.rpartition(".")[2]
    if cls is None:
        table, parameters = FUNCTIONS.get(method, {}), ()
    else:
        table, parameters = METHODS.get(method, PREDICT), getattr(cls, "_parameters", ())
    found = _from_table(table, unknown, cls, method) or _of_constructor(unknown, cls, parameters)
    if found:
        return f"{text}; {found}"
    return f"{text}; {_nearest(unknown, names, 'arguments')}"


def _of_constructor(
    unknown: str, cls: type[Any] | None, parameters: Iterable[Parameter]
) -> str | None:
    """Say which parameter of the constructor an argument is, if it is one."""
    if cls is None:
        return None
    not_needed = getattr(cls, "_not_needed", {})
    if unknown in not_needed:
        return _ended(not_needed[unknown])
    known = [parameter.name for parameter in parameters]
    ours = [unknown] if unknown in known else _of_peers(unknown, parameters)
    if not ours:
        return None
    example = ", ".join(f"{each}=…" for each in ours)
    return f"set it in the constructor, {cls.__name__}({example})."


def about(unknown: str, cls: type[Any], names: Sequence[str]) -> str:
    """Say what to write instead of a name that is none of a parameter."""
    text = f"{cls.__name__} has no parameter {unknown!r}"
    if unknown in signature(cls.fit).parameters:
        return f"{text}; it is an argument of fit."
    not_needed = getattr(cls, "_not_needed", {})
    if unknown in not_needed:
        return f"{text}: {not_needed[unknown]}."
    found = _from_table(CONSTRUCTOR, unknown, cls, "")
    if found:
        return f"{text}; {found}"
    ours = _of_peers(unknown, cls._parameters)
    if ours:
        return f"{text}; did you mean {' or '.join(map(repr, ours))}?"
    return f"{text}; {_nearest(unknown, names, 'parameters')}"


def about_attribute(cls: type[Any], name: str) -> str | None:
    """Say what to use instead of an attribute that other libraries' estimators have."""
    if hasattr(cls, name):  # it is there, but not now: it says why itself
        return None
    found = _from_table(ATTRIBUTES, name, cls, name)
    return f"{cls.__name__} has no attribute {name!r}; {found}" if found else None


def about_module(module: str, name: str, names: Iterable[str]) -> AttributeError | ImportError:
    """Return the error for a name that a module does not have, with what to use instead.

    To be called by the module's `__getattr__`. If that was called by ``from module import name``,
    whose own message names no alternative, names of other libraries are an ImportError at once.
    """
    caller = sys._getframe(2).f_code.co_name  # noqa: SLF001
    text = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(text)
    found = _from_table(MODULES[module], name, None, name)
    if found and caller == "_handle_fromlist":
        return ImportError(f"cannot import name {name!r} from {module!r}; {found}", name=module)
    if not found:
        meant = near(name, names)
        found = f"did you mean {' or '.join(map(repr, meant))}?" if meant else None
    text += f"; {found}" if found else ""
    return AttributeError(text, name=name, obj=None)  # without a guess of Python's behind it


def _from_table(table: Table, name: str, cls: type[Any] | None, method: str) -> str | None:
    """Return the first answer of a table that suits the class."""
    label = "" if cls is None else cls.__name__
    for answer in answers(table, name):
        if not answer.needs or _has(cls, answer.needs):
            return _ended(answer.text.format(cls=label, method=method))
    return None


def _has(cls: type[Any] | None, name: str) -> bool:
    """Tell whether a class has a method, a parameter, or an argument of fit."""
    if cls is None:
        return False
    known = (parameter.name for parameter in getattr(cls, "_parameters", ()))
    return hasattr(cls, name) or name in known or name in signature(cls.fit).parameters


def _nearest(unknown: str, names: Sequence[str], what: str) -> str:
    meant = near(unknown, names)
    if meant:
        return f"did you mean {' or '.join(map(repr, meant))}?"
    return f"its {what} are {', '.join(names)}."


def _of_peers(name: str, parameters: Iterable[Parameter]) -> list[str]:
    """Return our names of what other libraries give this name."""
    return [
        parameter.name
        for parameter in parameters
        if name in astuple(parameter.peers) or parameter.name in ALIASES.get(name, ())
    ]


def _ended(text: str) -> str:
    return text if text.endswith("?") else f"{text}."


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
