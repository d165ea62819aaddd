"""`tools/wheel_checks.py`: a wheel that breaks a rule is found (its module is one of NumPy's)."""

import os
import platform
import zipfile
from pathlib import Path

import pytest
from numpy.random import mtrand
from wheel.wheelfile import WheelFile

from hedgerow import _native
from tools import wheel_checks

MODULE = Path(mtrand.__file__).read_bytes()
MACHINE = platform.machine()
NEW, OLD = f"manylinux_2_99_{MACHINE}", f"manylinux_2_1_{MACHINE}"
NAME = "hedgerow/_native/cpu.abi3.so"
LIST = "hedgerow-0.1.dist-info/sboms/hedgerow.cdx.json"


@pytest.fixture
def make_wheel(tmp_path):
    def make(files, tag=NEW, abi="abi3"):
        path = tmp_path / f"hedgerow-0.1-cp312-{abi}-{tag}.whl"
        with WheelFile(path, "w") as wheel:
            for name, content in ({LIST: b"{}"} | files).items():
                if content is not None:
                    wheel.writestr(name, content)
        return path

    return make


@pytest.fixture
def faults(make_wheel):
    def found(files, tag=NEW, abi="abi3", private=()):
        return list(wheel_checks.faults(make_wheel(files, tag, abi), private))

    return found


def test_a_good_wheel_has_no_faults(make_wheel, capsys):
    wheel_checks.check(make_wheel({NAME: MODULE}))
    assert "as its tag promises" in capsys.readouterr().out


def test_a_large_wheel_is_a_fault(faults):
    (fault,) = faults({"noise": os.urandom(wheel_checks.MOST_BYTES)})
    assert "at most 5,000,000 are allowed" in fault


def test_modules_of_one_python_are_a_fault(faults):
    ending = "hedgerow/_native/cpu.cpython-313-x86_64-linux-gnu.so"
    assert faults({"a.py": b""}, abi="cp313") == ["does not have the stable ABI but cp313"]
    assert faults({ending: MODULE}) == [f"{ending} should end in .abi3.so"]


def test_a_folder_of_this_machine_is_a_fault(faults):
    assert faults({"a.py": b"# /home/me/b"}, private=["/home/me"]) == ["a.py names /home/me"]


def test_another_machine_is_a_fault(faults):
    other = {"x86_64": "aarch64", "aarch64": "x86_64"}[MACHINE]
    found = faults({NAME: MODULE}, f"manylinux_2_99_{other}")
    assert f"{NAME} is for {wheel_checks.MACHINES[MACHINE]}" in found


def test_symbols_of_a_newer_glibc_are_a_fault(faults):
    found = faults({NAME: MODULE}, OLD)
    assert found
    assert all(fault.startswith(f"{NAME} needs GLIBC_2.") for fault in found)


def test_libraries_that_other_systems_lack_are_a_fault(faults):
    assert f"{NAME} needs libc.so.6" in faults({NAME: MODULE}, f"musllinux_1_2_{MACHINE}")
    assert f"{NAME} needs libc.so.6" in faults({NAME: MODULE}, "macosx_11_0_x86_64")


def test_a_library_beside_a_module_comes_along(faults):
    (library,) = (path for folder in _native.__path__ for path in Path(folder).glob("libhedgerow*"))
    module = next(library.parent.glob(f"{_native.isa_level()}.*")).read_bytes()
    needed = f"{NAME} needs {library.name}"
    assert needed in faults({NAME: module})
    assert needed in faults({NAME: module, f"elsewhere/{library.name}": module})
    together = faults({NAME: module, f"{Path(NAME).parent}/{library.name}": module})
    assert not any(fault.startswith(needed) for fault in together)


def test_a_wheel_without_the_list_of_what_is_in_its_modules_is_a_fault(faults):
    assert faults({"a.py": b"", LIST: None}) == ["does not list what is compiled into it"]


def test_a_file_that_is_not_the_one_recorded_ends_the_check(make_wheel):
    path = make_wheel({"a.py": b"a = 1"})
    with zipfile.ZipFile(path) as wheel:
        files = {name: wheel.read(name) for name in wheel.namelist()}
    with zipfile.ZipFile(path, "w") as wheel:
        for name, content in files.items():
            wheel.writestr(name, content.replace(b"a = 1", b"a = 2"))
    with pytest.raises(SystemExit, match="Hash mismatch for file 'a\\.py'"):
        wheel_checks.check(path)
