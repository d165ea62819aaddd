"""Error messages about unknown names: arguments, parameters, attributes, names of a module.

Each message suggests what to write instead. The name may be misspelt, another library's (found in
the `Peers` of parameters and the tables of `hedgerow._peers`), or in the wrong place: a parameter
of the constructor passed to `fit`, or an argument of `fit` passed to the constructor.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple
from functools import wraps
from inspect import Parameter as Argument
from inspect import Signature
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
    hints,
    library_of,
)
from hedgerow._spelling import near
from hedgerow.exceptions import ParameterError

F = TypeVar("F", bound=Callable[..., Any])

POSITIONAL = (Argument.POSITIONAL_ONLY, Argument.POSITIONAL_OR_KEYWORD)


def bind_arguments(
    cls: type[Any], signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a constructor by name; raise TypeError for any it does not have."""
    try:
        bound: dict[str, Any] = signature.bind(None, *args, **kwargs).arguments
    except TypeError:
        _explain_constructor(cls, signature, args, kwargs)
        raise
    bound.pop("self")
    return bound


def explain_arguments(cls: type[Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise TypeError if a user's own constructor does not have these arguments."""
    if hasattr(cls.__init__, "__signature__"):  # a generated one, which explains them itself
        return
    signature = inspect.signature(cls.__init__)
    try:
        signature.bind(None, *args, **kwargs)
    except TypeError:  # Python reports missing arguments when it calls the constructor
        _explain_constructor(cls, signature, args, kwargs)


def _explain_constructor(
    cls: type[Any], signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Raise TypeError about an unknown name, or a value without one."""
    names = [*signature.parameters][1:]
    unknown = [name for name in kwargs if name not in names]
    if unknown:
        raise TypeError(unknown_parameter(unknown[0], cls, names)) from None
    if args:
        raise TypeError(_by_name(cls.__name__, names[0], args[0])) from None


def _by_name(name: str, parameter: str, value: Any) -> str:
    for_a_dict = f"; to pass a dict, write {name}(**params)" if isinstance(value, Mapping) else ""
    return f"{name} takes its parameters by name, as in {name}({parameter}=…){for_a_dict}."


def explain_parameters(estimator: Declared, names: Iterable[str]) -> None:
    """Raise ParameterError if `set_params` is called with an unknown parameter."""
    parameters = list(estimator.get_params(deep=False))
    for name in names:
        own = name.partition("__")[0]
        if own not in parameters:
            raise ParameterError(unknown_parameter(own, type(estimator), parameters))


def with_argument_hints(function: F) -> F:
    """Decorate a function or method so that errors about its arguments suggest the right ones."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError:
            _explain_call(function, args, kwargs)
            raise

    return call  # type: ignore[return-value]


def add_argument_hints(cls: type[Any]) -> None:
    """Decorate all public methods of a class, and `score`, which scikit-learn defines."""
    own = dict(vars(cls))
    if "score" not in own and hasattr(cls, "score"):
        own["score"] = cls.score
    for name, method in own.items():
        if name.startswith("_"):
            continue
        if isinstance(method, FunctionType) and not hasattr(method, "__wrapped__"):
            setattr(cls, name, with_argument_hints(method))
        elif isinstance(getattr(method, "fn", None), FunctionType):  # scikit-learn's available_if
            method.fn = with_argument_hints(method.fn)


def _explain_call(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Raise TypeError if the arguments do not fit the signature."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        message = _call_message(function, signature, args, kwargs)
        raise TypeError(message or f"{function.__name__}: {error}.") from None


def _call_message(
    function: Callable[..., Any],
    signature: Signature,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> str | None:
    """Say what is wrong with the arguments; None if Python's own message is good enough."""
    names = list(signature.parameters)
    is_method = names[0] == "self"
    if is_method and not (args and _is_of_class(args[0], function)):
        return _called_on_class(function.__name__, names)
    cls = type(args[0]) if is_method else None
    name = function.__name__ if cls is None else f"{cls.__name__}.{function.__name__}"
    hidden = 0 if cls is None else 1
    unknown = [each for each in kwargs if each not in names]
    if unknown:
        return _unknown_argument(unknown[0], name, cls, names[hidden:])
    positional = [each for each in names if signature.parameters[each].kind in POSITIONAL]
    if len(args) > len(positional):
        if len(positional) == hidden:
            return f"{name} takes its arguments by name; to pass a dict, write {name}(**params)."
        return (
            f"{name} takes {_listed(positional[hidden:])} by position, but {len(args) - hidden} "
            f"were given. {_keyword_example(names, positional)}"
        )
    return _missing_arguments(name, signature, args, kwargs, hidden)


def _is_of_class(instance: Any, function: Callable[..., Any]) -> bool:
    """Return whether an object is an instance of the class that defines a method."""
    owner = function.__qualname__.split(".")[-2]
    return owner in {cls.__name__ for cls in type(instance).__mro__}


def _called_on_class(method: str, names: Sequence[str]) -> str:
    needed = ", ".join(name for name in names if name in ("X", "y"))
    return (
        f"{method} was called on the class, not on an instance. Create an instance first: "
        f"model = Estimator(), with the name of the class, then model.{method}({needed})."
    )


def _keyword_example(names: Sequence[str], positional: Sequence[str]) -> str:
    by_name = [name for name in names if name not in positional]
    return f"Pass the others by name, as in {by_name[0]}=…." if by_name else "It takes no more."


def _missing_arguments(
    name: str, signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any], hidden: int
) -> str | None:
    arguments = signature.parameters
    required = [each for each in arguments if arguments[each].default is Argument.empty]
    missing = [each for each in required if each not in {*list(arguments)[: len(args)], *kwargs}]
    if not missing:  # an argument is passed twice
        return None
    are = "is" if len(missing) == 1 else "are"
    text = f"{name} needs {_listed(required[hidden:])}; {_listed(missing)} {are} missing."
    library = next(filter(None, map(library_of, args[hidden:])), None)
    if library is not None:
        text += f" Pass the data themselves, fit(X, y), not an object of {library}'s."
    return text


def _unknown_argument(unknown: str, name: str, cls: type[Any] | None, names: Sequence[str]) -> str:
    """Return the message about an argument that a method or function does not have."""
    text = f"{name} has no argument {unknown!r}"
    method = name.rpartition(".")[2]
    if cls is None:
        table, parameters = FUNCTIONS.get(method, {}), ()
    else:
        table, parameters = METHODS.get(method, PREDICT), getattr(cls, "_parameters", ())
    hint = _from_table(table, unknown, cls, method) or _constructor_hint(unknown, cls, parameters)
    return f"{text}; {hint or _nearest(unknown, names, 'arguments')}"


def _constructor_hint(
    unknown: str, cls: type[Any] | None, parameters: Iterable[Parameter]
) -> str | None:
    """Say which parameter of the constructor an argument is, if it is one."""
    if cls is None:
        return None
    not_needed = getattr(cls, "_not_needed", {})
    if unknown in not_needed:
        return _ended(not_needed[unknown])
    names = [parameter.name for parameter in parameters]
    ours = [unknown] if unknown in names else _own_names(unknown, parameters)
    if not ours:
        return None
    example = ", ".join(f"{each}=…" for each in ours)
    return f"set it in the constructor, {cls.__name__}({example})."


def unknown_parameter(unknown: str, cls: type[Any], names: Sequence[str]) -> str:
    """Return the message about a parameter that an estimator does not have."""
    text = f"{cls.__name__} has no parameter {unknown!r}"
    if unknown in inspect.signature(cls.fit).parameters:
        return f"{text}; it is an argument of fit."
    not_needed = getattr(cls, "_not_needed", {})
    if unknown in not_needed:
        return f"{text}: {not_needed[unknown]}."
    hint = _from_table(CONSTRUCTOR, unknown, cls, "")
    if hint:
        return f"{text}; {hint}"
    ours = _own_names(unknown, cls._parameters)
    return f"{text}; {_question(ours) if ours else _nearest(unknown, names, 'parameters')}"


def attribute_hint(cls: type[Any], name: str) -> str | None:
    """Return the message about an attribute that other libraries' estimators have, if it is one."""
    if hasattr(cls, name):  # it exists, but not in this state: its own error says why
        return None
    hint = _from_table(ATTRIBUTES, name, cls, name)
    return f"{cls.__name__} has no attribute {name!r}; {hint}" if hint else None


def unknown_name_error(
    module: str, name: str, names: Iterable[str]
) -> AttributeError | ImportError:
    """Return the error about a name that a module does not have, with what to use instead.

    To be called by the module's `__getattr__`. Python replaces an AttributeError by its own message
    in ``from module import name``, so names of other libraries are an ImportError there.
    """
    caller = sys._getframe(2).f_code.co_name  # noqa: SLF001
    text = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(text)
    hint = _from_table(MODULES[module], name, None, name)
    if hint and caller == "_handle_fromlist":
        return ImportError(f"cannot import name {name!r} from {module!r}; {hint}", name=module)
    if not hint:
        similar = near(name, names)
        hint = _question(similar) if similar else None
    text += f"; {hint}" if hint else ""
    return AttributeError(text, name=name, obj=None)  # obj=None: Python adds no guess of its own


def _from_table(table: Table, name: str, cls: type[Any] | None, method: str) -> str | None:
    """Return the first hint of a table that applies to the class."""
    label = "" if cls is None else cls.__name__
    for hint in hints(table, name):
        if not hint.needs or _has(cls, hint.needs):
            return _ended(hint.text.format(cls=label, method=method))
    return None


def _has(cls: type[Any] | None, name: str) -> bool:
    """Return whether a class has a method, a parameter, or an argument of `fit`."""
    if cls is None:
        return False
    names = (parameter.name for parameter in getattr(cls, "_parameters", ()))
    return hasattr(cls, name) or name in names or name in inspect.signature(cls.fit).parameters


def _nearest(unknown: str, names: Sequence[str], what: str) -> str:
    similar = near(unknown, names)
    return _question(similar) if similar else f"its {what} are {', '.join(names)}."


def _question(names: Iterable[str]) -> str:
    return f"did you mean {' or '.join(map(repr, names))}?"


def _own_names(name: str, parameters: Iterable[Parameter]) -> list[str]:
    """Return our names for a parameter of other libraries."""
    return [
        parameter.name
        for parameter in parameters
        if name in astuple(parameter.peers) or parameter.name in ALIASES.get(name, ())
    ]


def _ended(text: str) -> str:
    return text if text.endswith("?") else f"{text}."


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
