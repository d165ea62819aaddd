"""Fuzz targets begin with inputs that their readers accept, and refuse damaged ones as documented.

Atheris, which `make fuzz` installs, is not needed here.
"""

import random
import runpy
import sys
import warnings
from pathlib import Path
from types import ModuleType

import pytest

FUZZ = Path(__file__).parents[1] / "fuzz"


@pytest.fixture(scope="module")
def seeds():
    pytest.importorskip("lightgbm")
    pytest.importorskip("xgboost")
    before = list(sys.path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = runpy.run_path(str(FUZZ / "seeds.py"))["seeds"]()
    sys.path[:] = before
    return found


@pytest.fixture
def targets(monkeypatch):
    monkeypatch.setitem(sys.modules, "atheris", ModuleType("atheris"))
    return runpy.run_path(str(FUZZ / "targets.py"))["TARGETS"]


def names():
    return runpy.run_path(str(FUZZ / "__main__.py"))["names"]()


def test_every_target_has_seeds(seeds, targets):
    assert list(targets) == names()
    assert {name for name, inputs in seeds.items() if inputs} == set(targets)


def test_the_threat_model_names_every_target():
    text = (FUZZ.parent / "SECURITY.md").read_text(encoding="utf-8")
    assert [name for name in names() if f"`{name}`" not in text] == []


@pytest.mark.parametrize(
    "name", [n for n in names() if n.startswith(("own", "xgb", "light", "cat"))]
)
def test_models_among_the_seeds_are_read(name, seeds, targets):
    read = []
    targets[name].__globals__["use"] = read.append
    for seed in seeds[name]:
        targets[name](seed)
    assert len(read) == len(seeds[name])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", names())
def test_damaged_seeds_are_refused_as_documented(name, seeds, targets):
    rng = random.Random(name)
    for seed in seeds[name][:20]:
        data = bytearray(seed)
        data[rng.randrange(len(data))] = rng.randrange(256)
        targets[name](bytes(data))
