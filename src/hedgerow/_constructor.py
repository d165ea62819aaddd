"""The constructor and the docstring of an estimator class, derived from its `_parameters`.

scikit-learn, editors and Sphinx read `inspect.signature`, which is set here to what a constructor
written by hand would have. Type checkers do not run this code: they read `hedgerow/__init__.pyi`,
which `tools/stubs.py` writes from the same declarations.
"""

from __future__ import annotations

# The names that type hints of parameters use: typing.get_type_hints looks them up in this module.
from collections.abc import Callable, Iterable, Mapping, Sequence  # noqa: F401
from inspect import Parameter as Argument
from inspect import Signature
from typing import Any, Literal, TypeVar  # noqa: F401

from numpy.random import RandomState  # noqa: F401
from numpy.typing import NDArray  # noqa: F401

from hedgerow._arguments import bind_arguments
from hedgerow._parameter_docs import insert_parameters
from hedgerow._params import Parameter, parameters_of

T = TypeVar("T", bound=type)


def with_parameters(cls: T) -> T:
    """Add the constructor and the docstring section that the class's `_parameters` declare."""
    parameters = parameters_of(cls)
    declared: Any = cls
    declared.__init__ = constructor(parameters, f"{cls.__qualname__}.__init__", cls.__module__)
    if cls.__doc__ is not None:  # Python runs without docstrings under -OO
        groups = getattr(cls, "_parameter_groups", ())
        cls.__doc__ = insert_parameters(cls.__doc__, parameters, groups)
    return cls


def constructor(parameters: Sequence[Parameter], qualname: str, module: str) -> Callable[..., None]:
    """Return an `__init__` that sets an attribute for each parameter and does nothing else.

    Values are checked at the start of `fit`, as scikit-learn wants it.
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
