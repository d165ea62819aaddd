"""Write hedgerow/__init__.pyi and hedgerow/dask/__init__.pyi, for type checkers and editors.

Constructors are derived from declarations when the package is imported, so tools that do not run it
cannot see them. In the stub each estimator is a subclass of the class that it is, with the
constructor and the attributes that its `_parameters` declare; attributes that all estimators of a
package have stand in a class of their own.

    python -m tools.stubs          writes the stub, formatted by ruff
    python -m tools.stubs --check  fails if it is not current
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import hedgerow
import hedgerow.dask
from hedgerow._params import parameters_of

PATH = Path(__file__).parents[1] / "src" / "hedgerow" / "__init__.pyi"
DASK_PATH = PATH.parent / "dask" / "__init__.pyi"

HEAD = """# Written by tools/stubs.py from hedgerow/__init__.py and the declarations of parameters.
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from numpy.random import RandomState
from numpy.typing import NDArray

from hedgerow._types import SklearnEstimator
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
        *map(family_class, sorted({home_of(name) for name in estimators})),
        *map(estimator_class, estimators),
    ]
    return "\n".join(parts) + "\n"


def dask_stub() -> str:
    """Return the stub of `hedgerow.dask`, not yet formatted."""
    names = hedgerow.dask.__all__
    estimators = [name for name in names if hasattr(getattr(hedgerow.dask, name), "_parameters")]
    others = [getattr(hedgerow.dask, name) for name in names if name not in estimators]
    bases = {base for name in estimators for base in getattr(hedgerow.dask, name).__bases__}
    (home,) = {base.__module__ for base in bases}
    classes = (getattr(hedgerow.dask, name) for name in estimators)
    parts = [
        HEAD,
        *(
            f"from {other.__module__} import {other.__name__} as {other.__name__}"
            for other in others
        ),
        f"from {home} import {', '.join(sorted(base.__name__ for base in bases))}",
        f"__all__ = {sorted(names, key=by_case)!r}",
        *("\n".join(class_lines(each.__name__, each, base_names(each))) for each in classes),
    ]
    return "\n".join(parts) + "\n"


def base_names(estimator: Any) -> str:
    """Return the base classes of an estimator, as in the statement of its class."""
    return ", ".join(base.__name__ for base in estimator.__bases__)


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
    home = home_of(name)
    bases, shared = f"{family_name(home)}, _{name}", shared_attributes(home)
    return "\n".join(class_lines(name, getattr(hedgerow, name), bases, shared))


def home_of(name: str) -> str:
    """Return the package of a public name."""
    return str(hedgerow._HOMES[name])  # noqa: SLF001


def shared_attributes(home: str) -> dict[str, str]:
    """Return the attributes, with their types, of all estimators of a package."""
    names = (name for name in hedgerow.__all__ if is_estimator(name) and home_of(name) == home)
    of_each = [
        {
            parameter.name: parameter.type_hint
            for parameter in parameters_of(getattr(hedgerow, name))
        }
        for name in names
    ]
    return {
        name: hint
        for name, hint in of_each[0].items()
        if all(attributes.get(name) == hint for attributes in of_each)
    }


def family_name(home: str) -> str:
    """Return the name of the class with the attributes of a package's estimators."""
    return f"_{home.strip('_').capitalize()}Attributes"


def family_class(home: str) -> str:
    """Return a class with the attributes that all estimators of a package have."""
    attributes = [f"    {name}: {hint}" for name, hint in shared_attributes(home).items()]
    return "\n".join([f"class {family_name(home)}:", *attributes])


def class_lines(
    name: str, estimator: Any, bases: str, shared: Collection[str] = ()
) -> Iterator[str]:
    """Yield the lines of an estimator's class: attributes that its bases lack, constructor."""
    parameters = parameters_of(estimator)
    yield f"class {name}({bases}):"
    for parameter in parameters:
        if parameter.name not in shared:
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
    """Return whether the stubs on disk say the same, however they are formatted."""
    return all(
        path.exists() and statements(path.read_text(encoding="utf-8")) == statements(text)
        for path, text in ((PATH, stub()), (DASK_PATH, dask_stub()))
    )


def statements(text: str) -> tuple[set[str], list[str]]:
    """Return the imports of a stub, whose order does not matter, and all other statements."""
    body = ast.parse(text).body
    imports = {ast.dump(node) for node in body if isinstance(node, ast.ImportFrom)}
    return imports, [ast.dump(node) for node in body if not isinstance(node, ast.ImportFrom)]


def main() -> int:
    """Write or check the stubs. Return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="only check that it is current")
    if parser.parse_args().check:
        if is_current():
            return 0
        print("the stubs are not current: run python -m tools.stubs", file=sys.stderr)
        return 1
    ruff = Path(sys.executable).with_name("ruff")
    for path, text in ((PATH, stub()), (DASK_PATH, dask_stub())):
        path.write_text(text, encoding="utf-8")
        subprocess.run([ruff, "check", "--fix-only", "--quiet", path], check=True)
        subprocess.run([ruff, "format", "--quiet", path], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
