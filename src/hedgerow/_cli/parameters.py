"""``--param name=value`` → a parameter: the text becomes what the declaration allows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from hedgerow._arguments import unknown_parameter
from hedgerow._params import Parameter, parameters_of
from hedgerow.exceptions import ParameterError

_WORDS = {"none": None, "null": None, "true": True, "false": False}


def read_parameters(given: Iterable[str], estimator: type[Any]) -> dict[str, Any]:
    """Read all that is given for an estimator; what is not allowed raises `ParameterError`."""
    declared = {parameter.name: parameter for parameter in parameters_of(estimator)}
    read: dict[str, Any] = {}
    for assignment in given:
        name, equals, text = assignment.partition("=")
        name = name.strip()
        if not (name and equals):
            raise ParameterError(f"--param {assignment}: write name=value.")
        if name not in declared:
            raise ParameterError(
                f"--param {name}: {unknown_parameter(name, estimator, list(declared))}"
            )
        read[name] = _read(text.strip(), declared[name])
    return read


def _read(text: str, parameter: Parameter) -> Any:
    """Return the first reading of a text that the parameter allows."""
    readings = list(_readings(text))
    for value in readings:
        if value in parameter.allowed:
            return value
    parameter.check(readings[0])
    return readings[0]


def _readings(text: str) -> Iterator[Any]:
    """Yield what a text may mean: a word, a number, JSON, itself, a list of names."""
    if text.lower() in _WORDS:
        yield _WORDS[text.lower()]
    for kind in (int, float, json.loads):
        try:
            yield kind(text)
        except (ValueError, RecursionError):
            continue
    yield text
    if "," in text:
        yield [part.strip() for part in text.split(",")]
