"""The constructor, docstring and documentation tables derived from an estimator's `_parameters`.

scikit-learn, editors and Sphinx read `inspect.signature`, which is set here to what a constructor
written by hand would have. Type checkers do not run this code: they read `hedgerow/__init__.pyi`,
which `tools/stubs.py` writes from the same declarations.
"""

from __future__ import annotations

# Type hints of parameters use the names imported from collections.abc, typing and numpy:
# typing.get_type_hints looks them up in this module.
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple
from inspect import Parameter as Argument
from inspect import Signature, cleandoc
from textwrap import fill
from typing import Any, Literal, TypeVar  # noqa: F401

from numpy.random import RandomState  # noqa: F401
from numpy.typing import NDArray  # noqa: F401

from hedgerow._arguments import bind_arguments
from hedgerow._params import Parameter, parameters_of

T = TypeVar("T", bound=type)
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
        classes_ : array of shape (n_classes,), or a list of such
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
