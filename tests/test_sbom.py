"""The list of what is compiled into the modules: `tools/sbom.py`."""

import json
import os
import re
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import hedgerow._native.cpu
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from tools import sbom

sys.path.pop(0)

COMPILER = shutil.which(os.environ.get("CXX", "c++"))
MODULE = Path(hedgerow._native.cpu.__file__).read_bytes()
STATIC = {"libstdc++", "libc++"}

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no compiler")


def names(module):
    return [part["name"] for part in sbom.bill(module, "1.2.3", [COMPILER])["components"]]


def test_it_lists_what_the_bindings_are_made_of():
    document = sbom.bill(MODULE, "1.2.3", [COMPILER])
    parts = {part["name"]: part for part in document["components"]}
    assert document["metadata"]["component"]["purl"] == "pkg:pypi/hedgerow@1.2.3"
    assert parts["nanobind"]["version"] == version("nanobind")
    assert re.fullmatch(r"\d+\.\d+\.\d+", parts["robin-map"]["version"])
    for name, holder in (("nanobind", "Wenzel Jakob"), ("robin-map", "Thibaut Goetghebuer")):
        assert holder in parts[name]["licenses"][0]["license"]["text"]["content"]
    references = [part["bom-ref"] for part in document["components"]]
    assert document["dependencies"][0]["dependsOn"] == references
    assert len(set(references)) == len(references) >= 3


def test_a_library_of_the_compiler_is_listed_if_the_module_does_not_name_it():
    assert STATIC & set(names(b"\0malloc\0"))
    shared = b"\0libstdc++.so.6\0libc++.so.1\0"
    assert len(names(shared)) < len(names(b"\0malloc\0"))


def test_the_same_module_gives_the_same_bytes(tmp_path, monkeypatch):
    module = tmp_path / "module.so"
    module.write_bytes(MODULE)
    outputs = [tmp_path / "one.json", tmp_path / "other.json"]
    for output in outputs:
        monkeypatch.setattr(
            sys, "argv", ["sbom.py", str(output), str(module), "1.2.3", COMPILER, "-O2"]
        )
        sbom.main()
    first, second = (output.read_bytes() for output in outputs)
    assert first == second
    assert not {"serialNumber", "timestamp"} & set(re.findall(r'"(\w+)":', first.decode()))
    assert json.loads(first)["bomFormat"] == "CycloneDX"
