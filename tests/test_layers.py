"""Which part of the library may use which other: the layers that docs/architecture.md draws."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import hedgerow

NATIVE = Path(__file__).parents[1] / "native"

# A folder of native/, and the folders whose headers it may include beside its own.
INCLUDES = {
    "shared": set(),
    "core": {"shared"},
    "table": {"core", "shared"},
    "gradient": {"core", "shared", "table"},
    "tree": {"core", "gradient", "shared", "table"},
    "hist": {"core", "gradient", "shared", "table", "tree"},
    "exact": {"core", "shared", "table", "tree"},
    "cart": {"core", "shared", "table", "tree"},
    "predict": {"core", "shared", "table"},
    "explain": {"core", "predict", "shared", "table"},
    "neighbors": {"core", "shared"},
    "svm": {"core", "shared"},
}
FOLDERS = sorted(path.name for path in NATIVE.iterdir() if path.is_dir())


def included_by(folder):
    """Yield each file of a folder with a header that it includes."""
    for path in sorted((NATIVE / folder).iterdir()):
        for header in re.findall(r'#include "([^"]+)"', path.read_text(encoding="utf-8")):
            yield path.name, header


def test_every_native_folder_has_a_place_among_the_layers():
    assert sorted([*INCLUDES, "bind"]) == FOLDERS


@pytest.mark.parametrize("folder", FOLDERS)
def test_native_files_name_headers_from_the_root(folder):
    wrong = [pair for pair in included_by(folder) if not (NATIVE / pair[1]).is_file()]
    assert not wrong


@pytest.mark.parametrize("folder", INCLUDES)
def test_native_folders_include_only_what_is_below_them(folder):
    allowed = {folder, *INCLUDES[folder]}
    wrong = [pair for pair in included_by(folder) if pair[1].partition("/")[0] not in allowed]
    assert not wrong


def test_formulas_that_decide_bits_are_headers_that_need_nothing_else():
    # Another compiler, such as a GPU's, can use them as they are.
    assert {path.suffix for path in (NATIVE / "shared").iterdir()} == {".hpp"}
    known = {"algorithm", "array", "bit", "cmath", "cstddef", "cstdint", "limits", "type_traits"}
    for path in (NATIVE / "shared").iterdir():
        used = set(re.findall(r"#include <([^>]+)>", path.read_text(encoding="utf-8")))
        assert used <= known, path.name


# ---- the public face -----------------------------------------------------------------------------

PUBLIC = {"hedgerow", "hedgerow.exceptions", "hedgerow.explain", "hedgerow.plot", "hedgerow.theory"}


def modules():
    yield "hedgerow"
    for module in pkgutil.walk_packages(hedgerow.__path__, "hedgerow."):
        yield module.name


def test_every_module_is_public_and_documented_or_has_an_underscore():
    unmarked = {name for name in modules() if not any(part[0] == "_" for part in name.split("."))}
    assert unmarked == PUBLIC


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_modules_say_what_is_public(name):
    module = importlib.import_module(name)
    assert module.__all__
    for exported in module.__all__:
        assert getattr(module, exported) is not None
