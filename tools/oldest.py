"""Print the oldest versions that pyproject.toml allows: `python tools/oldest.py > pins.txt`.

Every `>=` of the build, of the project and of its extras is read as `==`; `make oldest` installs
the result with pip and runs the suite. pip rather than a resolver that looks for the lowest
versions: such a one steps over a bound that does not fit the others, and then nobody tests it.

Needs nothing but Python, and the oldest that the project supports: later ones have no wheels of
such old versions.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
FOR_GPUS = "cuda"  # the beginning of extras that exclude each other and need a GPU

# What pyproject.toml uses of the grammar of requirements.
REQUIREMENT = re.compile(r"([\w.-]+)(?:>=|==)([\w.]+)")


def requirements(pyproject: dict[str, Any]) -> Iterator[str]:
    """Yield what the build, the project and its extras need, but for GPUs."""
    yield from pyproject["build-system"]["requires"]
    yield from pyproject["project"]["dependencies"]
    for extra, needed in pyproject["project"]["optional-dependencies"].items():
        if not extra.startswith(FOR_GPUS):
            yield from needed


def oldest(pyproject: dict[str, Any]) -> dict[str, str]:
    """Return the lowest version of each package; bounds that differ are an error."""
    versions: dict[str, str] = {}
    for requirement in requirements(pyproject):
        parts = REQUIREMENT.fullmatch(requirement)
        if parts is None:
            raise SystemExit(f"pyproject.toml: {requirement!r} has no lower bound; write name>=1.0")
        name, version = parts.groups()
        if versions.setdefault(name, version) != version:
            raise SystemExit(
                f"pyproject.toml: {name} has two bounds, {versions[name]} and {version}"
            )
    return versions


def check_python(pyproject: dict[str, Any], running: tuple[int, ...]) -> None:
    """Raise unless this is the oldest Python that the project supports."""
    needed = str(pyproject["project"]["requires-python"]).removeprefix(">=")
    found = ".".join(map(str, running))
    if found != needed:
        raise SystemExit(
            f"The oldest versions need Python {needed}, but this is {found}: "
            f"make oldest PYTHON=python{needed}"
        )


if __name__ == "__main__":
    declared = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    check_python(declared, sys.version_info[:2])
    print(*(f"{name}=={version}" for name, version in oldest(declared).items()), sep="\n")
