"""Write hedgerow/__init__.pyi: the typed names of the package, for type checkers and editors.

Constructors are derived from declarations when the package is imported, so tools that do not run it
cannot see them. In the stub each estimator is a subclass of the class that it is, with the
constructor and the attributes that its `_parameters` declare.

    python -m tools.stubs          writes the stub, formatted by ruff
    python -m tools.stubs --check  fails if it is not current
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hedgerow

PATH = Path(__file__).parents[1] / "src" / "hedgerow" / "__init__.pyi"

HEAD = """# Written by tools/stubs.py from hedgerow/__init__.py and the declarations of parameters.
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from numpy.random import RandomState
from numpy.typing import NDArray
"""


def stub() -> str:
    """Return the stub, not yet formatted."""
    names = [name for name in hedgerow.__all__ if not is_estimator(name)]
    estimators = [name for name in hedgerow.__all__ if is_estimator(name)]
    parts = [
        HEAD,
        *map(import_line, names),
        *(import_line(name, private=True) for name in estimators),
        "__version__: str",
        f"__all__ = {sorted(hedgerow.__all__, key=by_case)!r}",
        *map(estimator_class, estimators),
    ]
    return "\n".join(parts) + "\n"


def is_estimator(name: str) -> bool:
    """Return whether a public name is a class with declared parameters."""
    return hasattr(getattr(hedgerow, name), "_parameters")


def by_case(name: str) -> tuple[int, str]:
    """Return the sort key of ruff: constants, classes, functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def import_line(name: str, *, private: bool = False) -> str:
    """Return the import of a name from its module."""
    if name in hedgerow._MODULES:  # noqa: SLF001
        return f"from hedgerow import {name} as {name}"
    if name == "isa_level":
        return "from hedgerow._native import level as isa_level"
    home = hedgerow._HOMES[name]  # noqa: SLF001
    return f"from hedgerow.{home} import {name} as {'_' if private else ''}{name}"


def estimator_class(name: str) -> str:
    """Return a class with the constructor of an estimator."""
    return "\n".join(class_lines(name, getattr(hedgerow, name)))


def class_lines(name: str, estimator: Any) -> Iterator[str]:
    """Yield the lines of an estimator's class: attributes, constructor."""
    parameters = estimator._parameters  # noqa: SLF001
    yield f"class {name}(_{name}):"
    for parameter in parameters:
        yield f"    {parameter.name}: {parameter.type_hint}"
    yield "    def __init__("
    yield "        self,"
    named = False
    for parameter in parameters:
        if not (parameter.positional or named):
            named = True
            yield "        *,"
        yield f"        {parameter.name}: {parameter.type_hint} = {parameter.default!r},"
    yield "    ) -> None: ..."


def is_current() -> bool:
    """Return whether the stub on disk says the same, however it is formatted."""
    return statements(PATH.read_text(encoding="utf-8")) == statements(stub())


def statements(text: str) -> tuple[set[str], list[str]]:
    """Return the imports of a stub, whose order does not matter, and all other statements."""
    body = ast.parse(text).body
    imports = {ast.dump(node) for node in body if isinstance(node, ast.ImportFrom)}
    return imports, [ast.dump(node) for node in body if not isinstance(node, ast.ImportFrom)]


def main() -> int:
    """Write or check the stub. Return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="only check that it is current")
    if parser.parse_args().check:
        if is_current():
            return 0
        print(f"{PATH.name} is not current: run python -m tools.stubs", file=sys.stderr)
        return 1
    PATH.write_text(stub(), encoding="utf-8")
    ruff = Path(sys.executable).with_name("ruff")
    subprocess.run([ruff, "check", "--fix-only", "--quiet", PATH], check=True)
    subprocess.run([ruff, "format", "--quiet", PATH], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
