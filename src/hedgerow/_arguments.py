"""Constructors, made from an estimator's `_parameters`, and error messages about unknown names.

scikit-learn, editors and Sphinx read `inspect.signature`, which is set here to what a constructor
written by hand would have. Type checkers do not run this code: they read `hedgerow/__init__.pyi`,
which `tools/stubs.py` writes from the same declarations.

A message about an unknown argument, parameter, attribute or name of a module suggests what to write
instead. The name may be misspelt, another library's (found in the `Peers` of parameters and the
tables of `hedgerow._peers`), or in the wrong place: a parameter of the constructor passed to `fit`,
or an argument of `fit` passed to the constructor.
"""

from __future__ import annotations

import inspect
import sys

# Type hints of parameters use the names imported from collections.abc, typing, numpy and _types:
# typing.get_type_hints looks them up in this module.
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple
from functools import wraps
from inspect import Parameter as Argument
from inspect import Signature, cleandoc
from textwrap import fill
from types import FunctionType
from typing import Any, Literal, TypeVar  # noqa: F401

from numpy.random import RandomState  # noqa: F401
from numpy.typing import NDArray  # noqa: F401

from hedgerow._params import Declared, Parameter, parameters_of
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
from hedgerow._types import SklearnEstimator  # noqa: F401
from hedgerow.exceptions import DataError, ParameterError

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T", bound=type)

POSITIONAL = (Argument.POSITIONAL_ONLY, Argument.POSITIONAL_OR_KEYWORD)
PLACEHOLDER = "{parameters}\n"
_HEADING = "Parameters\n----------\n"
# Documentation of fitted attributes that many classes share, by placeholder.
_SHARED_ATTRIBUTES = {
    "columns": """
        n_features_in_ : int
            Number of features.
        feature_names_in_ : array of str
            Feature names, if X has string names.
        """,
    "outputs": """
        classes_ : array of shape (n_classes,), or a list of such arrays
            The classes of each output, sorted.
        n_classes_ : int, or a list of int
            The number of classes of each output.
        n_outputs_ : int
            Number of outputs (columns of y).
        """,
}


def with_parameters(cls: T) -> T:
    """Add the constructor and the docstring section that the class's `_parameters` declare."""
    parameters = parameters_of(cls)
    declared: Any = cls
    declared.__init__ = constructor(parameters, f"{cls.__qualname__}.__init__", cls.__module__)
    if cls.__doc__ is not None:  # Python runs without docstrings under -OO
        groups = getattr(cls, "_parameter_groups", ())
        docstring = insert_parameters(cls.__doc__, parameters, groups)
        cls.__doc__ = insert_attributes(docstring, getattr(cls, "_attribute_docs", {}))
    return cls


def constructor(parameters: Sequence[Parameter], qualname: str, module: str) -> Callable[..., None]:
    """Return an `__init__` that sets an attribute for each parameter and does nothing else.

    Values are checked at the start of `fit`, as scikit-learn requires.
    """
    defaults = {parameter.name: parameter.default for parameter in parameters}
    signature = constructor_signature(parameters)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        if args or not kwargs.keys() <= defaults.keys():
            kwargs = bind_arguments(type(self), signature, args, kwargs)
        for name, default in defaults.items():
            setattr(self, name, kwargs.get(name, default))

    __init__.__qualname__ = qualname
    __init__.__module__ = module
    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__annotations__ = {each.name: each.type_hint for each in parameters} | {"return": None}
    return __init__


def constructor_signature(parameters: Iterable[Parameter]) -> Signature:
    """Return the signature of the constructor with these parameters."""
    arguments = [Argument("self", Argument.POSITIONAL_OR_KEYWORD)]
    arguments += [
        Argument(
            parameter.name,
            Argument.POSITIONAL_OR_KEYWORD if parameter.positional else Argument.KEYWORD_ONLY,
            default=parameter.default,
            annotation=parameter.type_hint,
        )
        for parameter in parameters
    ]
    return Signature(arguments, return_annotation=None)


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


class MissingArgumentError(TypeError):
    """An argument is missing that only a table with a column for it makes unnecessary."""


class _InTable:
    """The default of an argument that may be a column of a `ParquetTable`."""

    def __repr__(self) -> str:
        return "in the table"


IN_TABLE = _InTable()


def with_argument_hints(function: F) -> F:
    """Decorate a function or method so that errors about its arguments suggest the right ones."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except DataError as error:
            if function.__name__ == "fit" and _are_swapped(args):
                raise DataError(
                    "X has one dimension and y has two, as if they were swapped: call fit(X, y), "
                    "first the table, then the target."
                ) from error
            raise
        except MissingArgumentError:
            signature = inspect.signature(function)
            raise TypeError(_call_message(function, signature, args, kwargs)) from None
        except TypeError:
            _explain_call(function, args, kwargs)
            raise

    return call  # type: ignore[return-value]


def _are_swapped(args: Sequence[Any]) -> bool:
    """Return whether `fit` was called with the target first."""
    if len(args) < 3:
        return False
    dimensions = [len(getattr(value, "shape", ())) for value in args[1:3]]
    return dimensions == [1, 2] and args[2].shape[1] > 1


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
    required = [each for each in arguments if arguments[each].default in (Argument.empty, IN_TABLE)]
    missing = [each for each in required if each not in {*list(arguments)[: len(args)], *kwargs}]
    if not missing:  # an argument is passed twice
        return None
    are = "is" if len(missing) == 1 else "are"
    text = f"{name} needs {_listed(required[hidden:])}; {_listed(missing)} {are} missing."
    library = next(filter(None, map(library_of, args[hidden:])), None)
    if library is not None:
        text += f" Pass the data themselves, fit(X, y), not an object from {library}."
    return text


def _unknown_argument(unknown: str, name: str, cls: type[Any] | None, names: Sequence[str]) -> str:
    """Return the message about an argument that a method or function does not have."""
    # In Python's own words, which scikit-learn's ensembles look for.
    text = f"{name} got an unexpected keyword argument {unknown!r}"
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
    relatives = [] if ours or near(unknown, names) else _relatives_with(unknown, cls)
    if relatives:
        return f"{text}; it is a parameter of {_listed(relatives)}."
    return f"{text}; {_question(ours) if ours else _nearest(unknown, names, 'parameters')}"


def _relatives_with(parameter: str, cls: type[Any]) -> list[str]:
    """Return the public estimators of the same package that have a parameter."""
    family, found = cls.__module__.split(".")[:2], []
    classes = [base for base in cls.__mro__ if hasattr(base, "_can_be_additive")][-1:]
    while classes:
        each = classes.pop()
        classes += each.__subclasses__()
        own = {known.name for known in getattr(each, "_parameters", ())}
        if each.__module__.split(".")[:2] == family and parameter in own:
            found.append(each.__name__)
    return sorted(name for name in found if not name.startswith("_"))


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


def insert_parameters(
    docstring: str, parameters: Iterable[Parameter], groups: Sequence[str] = ()
) -> str:
    """Replace {parameters} in a docstring by the parameters' section.

    With groups, the section is in their order, and a list of the groups comes before it.
    """
    members = grouped(parameters, groups)
    ordered = [parameter for group in members.values() for parameter in group]
    # Python 3.13 removes the indentation of docstrings; here every version gets the same text.
    text = cleandoc(docstring) + "\n"
    text = text.replace(PLACEHOLDER, _section(ordered))
    if groups:
        text = text.replace(_HEADING, _overview(members) + _HEADING, 1)
    return text


def insert_attributes(docstring: str, attribute_docs: Mapping[str, str]) -> str:
    """Replace placeholders such as {columns} by the documentation of fitted attributes."""
    for name, text in {**attribute_docs, **_SHARED_ATTRIBUTES}.items():
        docstring = docstring.replace(f"{{{name}}}", cleandoc(text))
    return docstring


def grouped(parameters: Iterable[Parameter], groups: Sequence[str]) -> dict[str, list[Parameter]]:
    """Return the parameters of each group, without empty groups; all in one without groups."""
    declared = list(parameters)
    if not groups:
        return {"": declared}
    unknown = [parameter.name for parameter in declared if parameter.group not in groups]
    if unknown:
        raise ValueError(f"parameters without a group: {', '.join(unknown)}")
    members = {group: [each for each in declared if each.group == group] for group in groups}
    return {group: own for group, own in members.items() if own}


def _overview(groups: Mapping[str, Iterable[Parameter]]) -> str:
    """Return a list of the groups and the names in each."""
    lines = ["Parameters by purpose:\n\n"]
    for group, members in groups.items():
        names = ", ".join(parameter.name for parameter in members)
        lines.append(fill(f"- {group}: {names}", 92, subsequent_indent="  ") + "\n")
    return "".join(lines) + "\n"


def _section(parameters: Iterable[Parameter]) -> str:
    """Return the parameters in the format of numpydoc."""
    lines = []
    for parameter in parameters:
        lines.append(f"{parameter.name} : {parameter.allowed}, default={parameter.default!r}\n")
        indent = " " * 4
        text = fill(parameter.description, 88, initial_indent=indent, subsequent_indent=indent)
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


def grouped_tables(parameters: Iterable[Parameter], groups: Sequence[str]) -> str:
    """Return a heading and a Markdown table for each group of parameters."""
    tables = grouped(parameters, groups).items()
    return "\n".join(f"### {group}\n\n{parameter_table(members)}" for group, members in tables)
