"""Programs from templates: the parts that a model needs, with its numbers filled in.

A template consists of parts, each of which begins with a line `@ name`. The first part is always
written, the others only if a part that is written contains their name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from string import Template

_FIRST = ""


def render(template: str, values: Mapping[str, object]) -> str:
    """Return a program; `$name` in a template, or in the name of a part, stands for a value."""
    texts = {
        Template(name).substitute(values): Template(text).substitute(values)
        for name, text in _parts(template).items()
    }
    needed, pending = {_FIRST}, [_FIRST]
    while pending:
        words = set(re.findall(r"\w+", texts[pending.pop()]))
        found = [name for name in texts if name in words and name not in needed]
        needed.update(found)
        pending += found
    return "".join(text for name, text in texts.items() if name in needed)


@cache
def _parts(template: str) -> dict[str, str]:
    first, *others = re.split(r"^@ (\S+)\n", read(template), flags=re.MULTILINE)
    return {_FIRST: first} | dict(zip(others[::2], others[1::2], strict=True))


def read(name: str) -> str:
    """Return the text of a file of the folder `templates`."""
    folder = resources.files("hedgerow._export") / "templates"
    return (folder / name).read_text(encoding="utf-8")


def string(text: str) -> str:
    """Return a string literal of JavaScript."""
    return json.dumps(text)
