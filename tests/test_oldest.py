"""The oldest versions that `make oldest` installs are those that pyproject.toml states."""

import importlib.util
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PYPROJECT["project"]["optional-dependencies"]


@pytest.fixture(scope="module")
def program():
    spec = importlib.util.spec_from_file_location("oldest", ROOT / "tools" / "oldest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def of_project(*needed, **extras):
    project = {"dependencies": needed, "optional-dependencies": extras}
    return {"build-system": {"requires": ["nanobind>=2.9"]}, "project": project}


def test_every_bound_of_the_project_becomes_a_version(program):
    pins = program.oldest(PYPROJECT)
    assert {f"{name}>={version}" for name, version in pins.items()} >= {
        *PYPROJECT["build-system"]["requires"],
        *PYPROJECT["project"]["dependencies"],
    }


def test_what_tests_need_is_all_that_extras_offer():
    offered = {each for name in EXTRAS if not name.startswith("cuda") for each in EXTRAS[name]}
    assert offered == set(EXTRAS["dev"])


def test_extras_and_pins_are_read_and_those_for_gpus_are_not(program):
    pins = program.oldest(of_project("numpy>=2.0", a=["ruff==0.17.4"], cuda12=["cupy-cuda12x>=13"]))
    assert pins == {"nanobind": "2.9", "numpy": "2.0", "ruff": "0.17.4"}


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3", "numpy>=2,<3", "numpy>2"])
def test_a_requirement_without_a_single_lower_bound_is_refused(program, requirement):
    with pytest.raises(SystemExit, match="no lower bound"):
        program.oldest(of_project(requirement))


def test_two_bounds_of_one_package_are_refused(program):
    with pytest.raises(SystemExit, match=r"pandas has two bounds, 2\.1 and 2\.2"):
        program.oldest(of_project("pandas>=2.1", plot=["pandas>=2.2"]))


def test_a_later_python_is_refused_with_the_command_to_write(program):
    needed = PYPROJECT["project"]["requires-python"].removeprefix(">=")
    program.check_python(PYPROJECT, tuple(map(int, needed.split("."))))
    with pytest.raises(SystemExit, match=f"this is 3.99: make oldest PYTHON=python{needed}"):
        program.check_python(PYPROJECT, (3, 99))
