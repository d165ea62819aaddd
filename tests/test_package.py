"""The package's names: imported when they are asked for, and the same as the stub's."""

import ast
import re
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow import _native

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


@pytest.mark.parametrize(
    ("wanted", "best", "built", "level"),
    [
        (None, "v4", ("v2", "v3", "v4"), "v4"),
        (None, "v3", ("v2", "v3", "v4"), "v3"),
        (None, "v4", ("v3",), "v3"),
        ("v2", "v4", ("v2", "v3", "v4"), "v2"),
    ],
)
def test_the_best_level_is_loaded_that_is_built_and_runs_here(wanted, best, built, level):
    assert _native._choose_level(wanted, best, built) == level


@pytest.mark.skipif(_native.isa_level() == "plain", reason="levels are of x86-64")
@pytest.mark.parametrize(
    ("wanted", "best", "built", "message"),
    [
        ("v9", "v4", ("v4",), "HEDGEROW_ISA='v9' is unknown; allowed: v2, v3, v4"),
        ("v4", "v3", ("v3", "v4"), "HEDGEROW_ISA='v4', but this processor only runs 'v3'"),
        ("v2", "v4", ("v4",), "HEDGEROW_ISA='v2' is not part of this build; compiled: v4"),
        (None, "v3", ("v4",), "no kernels for this processor, which runs 'v3'; compiled: v4"),
        (None, "v3", (), "no kernels for this processor, which runs 'v3'; compiled: none"),
    ],
)
def test_a_level_that_cannot_be_loaded_is_an_import_error(wanted, best, built, message):
    with pytest.raises(ImportError, match=re.escape(message)):
        _native._choose_level(wanted, best, built)
