"""Build wheels for all platforms on this machine and check them: `make wheels`.

The compiler of the PyPI package ziglang compiles for all of them (tools/zig.cmake), scikit-build-
core assembles the wheels, and tools/wheel_checks.py says what must hold of each. One wheel serves
CPython 3.12 and all later versions (the stable ABI), so it takes such a Python to build it. A wheel
that this machine can install is installed into a new environment, and must fit, predict, and write
the same model at every instruction-set level.

    python tools/wheels.py                 all platforms
    python tools/wheels.py win_amd64       the platforms of these names
    python tools/wheels.py --twice         each built again elsewhere; it must have the same bytes

Wheels lie in dist/; everything else (packages, compiled objects) in build/wheels.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path("build", "wheels").resolve()
DIST = Path("dist").resolve()
TOOLS = Path(__file__).parent.resolve()


@dataclass(frozen=True)
class Platform:
    """What wheels call a platform, and what its compiler does."""

    name: str
    target: str


PLATFORMS = (
    Platform("manylinux_2_17_x86_64", "x86_64-linux-gnu.2.17"),
    Platform("manylinux_2_17_aarch64", "aarch64-linux-gnu.2.17"),
    Platform("musllinux_1_2_x86_64", "x86_64-linux-musl"),
    Platform("musllinux_1_2_aarch64", "aarch64-linux-musl"),
    Platform("macosx_11_0_x86_64", "x86_64-macos.11.0"),
    Platform("macosx_11_0_arm64", "aarch64-macos.11.0"),
    Platform("win_amd64", "x86_64-windows-gnu"),
)
# Where one of them runs: this machine, if its C library is glibc.
HERE = f"manylinux_2_17_{os.uname().machine}"

LEVELS = """
from hedgerow import _native
print(*(level for level in _native.LEVELS if level <= _native.isa_level()))
"""
# What a first user does. The model file is the same at every level.
FIRST_USE = """
import hashlib, pathlib, tempfile
import hedgerow
from sklearn.datasets import load_breast_cancer
X, y = load_breast_cancer(return_X_y=True)
model = hedgerow.GradientBoostingClassifier(n_estimators=20).fit(X, y)
assert model.score(X, y) > 0.95
path = pathlib.Path(tempfile.mkdtemp(), "model.hedgerow")
model.save(path)
assert (hedgerow.load(path).predict_proba(X) == model.predict_proba(X)).all()
print(hashlib.sha256(path.read_bytes()).hexdigest())
"""


def run(*command: str | Path, **options: object) -> None:
    """Run a command; if it fails, so does this script."""
    print("$", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **options)


def output(*command: str | Path, **options: object) -> str:
    """Run a command and return what it prints."""
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options)
    return result.stdout.strip()


def make_environment(folder: Path, *packages: str | Path) -> Path:
    """Make a virtual environment with these packages, and return its interpreter."""
    run(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", *packages)
    return python


def make_tools() -> Path:
    """Return the interpreter of an environment with everything that builds and checks wheels."""
    folder = FOLDER / f"tools-{sys.version_info.major}.{sys.version_info.minor}"
    requirements = TOOLS / "wheel-requirements.txt"
    made = folder / "made"
    if not made.exists() or made.stat().st_mtime < requirements.stat().st_mtime:
        make_environment(folder, "--requirement", requirements)
        made.touch()
    return folder / "bin" / "python"


def copy_headers(folder: Path) -> Path:
    """Copy this Python's headers, with a pyconfig.h that fits every platform."""
    headers = folder / "include"
    shutil.copytree(sysconfig.get_path("include"), headers, dirs_exist_ok=True)
    shutil.copy(TOOLS / "pyconfig.h", headers)
    return headers


def make_import_libraries(python: Path, zig: str, folder: Path) -> dict[str, Path]:
    """Make libraries by which modules for Windows import the stable ABI from python3.dll.

    CMake wants a second one, named after this Python.
    """
    definition = folder / "python3.def"
    definition.write_text(output(python, TOOLS / "stable_abi.py"))
    names = {"SABI_LIBRARY": "python3", "LIBRARY": f"python3{sys.version_info.minor}"}
    paths = {f"Python_{name}": folder / f"{library}.lib" for name, library in names.items()}
    for path in paths.values():
        run(zig, "dlltool", "-m", "i386:x86-64", "-d", definition, "-l", path)
    return paths


def build(platform: Platform, python: Path, folder: Path) -> Path:
    """Build a wheel below a folder and return its path."""
    wheels = folder / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    zig = output(python, "-c", "import ziglang; print(ziglang.__path__[0] + '/zig')")
    is_windows = platform.name.startswith("win")
    defines = {
        "Python_INCLUDE_DIR": copy_headers(folder),
        "SKBUILD_SOSABI": "" if is_windows else "abi3",
        **(make_import_libraries(python, zig, folder) if is_windows else {}),
    }
    settings = {
        "build-dir": folder / "objects",
        "wheel.reproducible": "true",
        "install.strip": "false",  # the linker did: this machine's strip knows one format
        "cmake.toolchain-file": TOOLS / "zig.cmake",
        **{f"cmake.define.{name}": value for name, value in defines.items()},
    }
    environment = os.environ | {
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        "SOURCE_DATE_EPOCH": output("git", "log", "-1", "--format=%ct"),
        "ZIG": zig,
        "ZIG_TARGET": platform.target,
        "_PYTHON_HOST_PLATFORM": platform.name,
    }
    run(
        *(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"),
        *(f"--config-settings={name}={value}" for name, value in settings.items()),
        *("--wheel-dir", wheels, "."),
        env=environment,
    )
    (wheel,) = wheels.glob("*.whl")
    return wheel


def check_use(wheel: Path) -> None:
    """Install a wheel, and use it at every instruction-set level that this processor runs."""
    with tempfile.TemporaryDirectory() as folder:
        python = make_environment(Path(folder, "user"), wheel)
        levels = output(python, "-c", LEVELS, cwd=folder).split()
        models = {
            output(python, "-c", FIRST_USE, cwd=folder, env=os.environ | {"HEDGEROW_ISA": level})
            for level in levels
        }
    if len(models) != 1:
        raise SystemExit(f"The levels {', '.join(levels)} do not write the same model.")
    print("The wheel installs, fits, predicts and writes the same model at", *levels)


def make(platform: Platform, python: Path, twice: bool) -> None:
    """Build a wheel, check it, and put it into dist/."""
    wheel = build(platform, python, FOLDER / platform.name)
    if twice:
        with tempfile.TemporaryDirectory() as folder:
            again = build(platform, python, Path(folder))
            if again.read_bytes() != wheel.read_bytes():
                raise SystemExit(f"{wheel.name} has other bytes when it is built again.")
    run(python, TOOLS / "wheel_checks.py", wheel)
    if platform.name == HERE:
        check_use(wheel)
    DIST.mkdir(exist_ok=True)
    shutil.copy(wheel, DIST)


def main() -> None:
    """Build the wheels of the platforms that the command line names."""
    names = [platform.name for platform in PLATFORMS]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("platforms", nargs="*", default=names, metavar="|".join(names))
    parser.add_argument("--twice", action="store_true", help="build twice and compare the bytes")
    options = parser.parse_args()
    if unknown := set(options.platforms) - set(names):
        parser.error(f"no wheels for {', '.join(sorted(unknown))}")
    if sys.version_info < (3, 12):
        raise SystemExit(
            "Wheels for Python 3.12 and later are built by such a Python; name one:"
            " make wheels PYTHON=python3.13"
        )
    python = make_tools()
    for platform in PLATFORMS:
        if platform.name in options.platforms:
            make(platform, python, options.twice)


if __name__ == "__main__":
    main()
