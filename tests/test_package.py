"""The package's names: imported when they are asked for, and the same as the stub's."""

import ast
from pathlib import Path

import pytest

import hedgerow as hr

STUB = Path(hr.__file__).with_suffix(".pyi")


def test_the_stub_tells_the_same_names():
    found = {}
    for statement in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ImportFrom):
            found |= {name.asname or name.name: statement.module for name in statement.names}
    assert sorted(found) == hr.__all__
    for name, module in found.items():
        value = getattr(hr, name)
        home = getattr(value, "__module__", None) or module
        assert home.startswith(module), (name, home)


def test_every_name_is_listed():
    assert set(hr.__all__) <= set(dir(hr))


def test_names_that_are_not_there_are_an_error():
    with pytest.raises(AttributeError, match="'hedgerow' has no attribute 'Forest'"):
        hr.Forest  # noqa: B018
