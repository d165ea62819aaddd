"""Parameters in the documentation: the docstring section of an estimator, and Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from inspect import cleandoc
from textwrap import fill

from hedgerow._params import Parameter

PLACEHOLDER = "{parameters}\n"
_HEADING = "Parameters\n----------\n"


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
