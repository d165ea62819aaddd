"""Build the kernels for aarch64, test them and compare models with this machine's: `make arm`.

Debian's cross compiler builds them, and an aarch64 Python runs under qemu: its kernel tests must
pass, and its models must be, byte for byte, those that this machine writes (`tools.model_hashes`).
Emulation is slow: ten minutes of processor time, with compilation.

Needs a Debian or Ubuntu machine with the packages g++-aarch64-linux-gnu and qemu-user. Python and
its libraries for aarch64 are fetched with apt and pip into build/arm; nothing is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ARM = Path("build", "arm").resolve()
SYSROOT, PACKAGES, KERNELS = ARM / "sysroot", ARM / "packages", ARM / "kernels"
TOOLS = {
    "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu",
    "qemu-aarch64": "qemu-user",
    "apt-get": "apt",
    "dpkg-deb": "dpkg",
}
DEBIAN = ("python3", "libpython3-dev", "libstdc++6")
PYTHON = ("numpy", "scipy", "scikit-learn", "narwhals", "pandas")
TESTING = ("pytest", "pytest-timeout", "hypothesis")
PLATFORMS = ("manylinux2014_aarch64", *(f"manylinux_2_{n}_aarch64" for n in (17, 24, 27, 28)))
TESTS = (
    "tests/tree/test_grower.py",
    "tests/svm/kernel/test_kernels.py",
    "tests/svm/linear/test_kernels.py",
    "tests/data/test_binning.py",
    "tests/test_math.py",
)


def run(*command: str | Path, **options: object) -> None:
    """Run a command; if it fails, so does this script."""
    print("$", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **options)


def require_tools() -> None:
    """Say which packages are missing."""
    missing = sorted({package for tool, package in TOOLS.items() if not shutil.which(tool)})
    if missing:
        raise SystemExit(f"make arm needs these packages of Debian: {' '.join(missing)}")


def fetch_python() -> Path:
    """Unpack Debian's Python for aarch64 into the sysroot, and return its interpreter."""
    if not SYSROOT.exists():
        apt = ARM / "apt"
        for folder in ("lists/partial", "cache/archives/partial"):
            (apt / folder).mkdir(parents=True, exist_ok=True)
        (apt / "status").touch()
        settings = {
            "APT::Architecture": "arm64",
            "APT::Architectures": "arm64",
            "Dir::State": apt,
            "Dir::State::status": apt / "status",
            "Dir::Cache": apt / "cache",
        }
        options = [f"-o{name}={value}" for name, value in settings.items()]
        run("apt-get", *options, "--quiet", "update")
        wanted = ("--download-only", "--no-install-recommends", "install", *DEBIAN)
        run("apt-get", *options, "--quiet", "--yes", *wanted)
        for package in (apt / "cache" / "archives").glob("*.deb"):
            run("dpkg-deb", "--extract", package, SYSROOT)
    return next(path for path in SYSROOT.glob("usr/bin/python3.*") if path.name[-1].isdigit())


def fetch_packages(version: str) -> None:
    """Unpack wheels for aarch64."""
    if PACKAGES.exists():
        return
    platforms = [f"--platform={platform}" for platform in PLATFORMS]
    run(
        *(sys.executable, "-m", "pip", "install", "--quiet", "--only-binary=:all:"),
        *(f"--target={PACKAGES}", f"--python-version={version}", "--implementation=cp"),
        *platforms,
        *PYTHON,
        *TESTING,
    )


def build(version: str) -> None:
    """Compile the kernels and put them beside a copy of the Python sources."""
    folder = Path(sys.executable).parent
    headers = SYSROOT / "usr" / "include"
    suffix = f"cpython-{version.replace('.', '')}-aarch64-linux-gnu"
    run(
        *(folder / "cmake", "-S", ".", "-B", KERNELS, "-G", "Ninja"),
        *("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64"),
        *("-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++", "-DCMAKE_BUILD_TYPE=Release"),
        f"-DCMAKE_MAKE_PROGRAM={folder / 'ninja'}",
        f"-DCMAKE_CXX_FLAGS=-idirafter {headers}",
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-DPython_INCLUDE_DIR={headers / f'python{version}'}",
        f"-DSKBUILD_SOABI={suffix}",
    )
    run(folder / "ninja", "-C", KERNELS)
    copy = ARM / "src"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree("src", copy, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for module in KERNELS.glob("*.so"):
        shutil.copy(module, copy / "hedgerow" / "_native")


def emulate(python: Path, arguments: Sequence[str | Path]) -> None:
    """Run Python under qemu with the kernels just built."""
    paths = (ARM / "src", PACKAGES, Path.cwd())
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "PYTHONDONTWRITEBYTECODE": "",
        "OPENBLAS_NUM_THREADS": "1",
    }
    run("qemu-aarch64", "-L", SYSROOT, python, *arguments, env=environment)


def main() -> None:
    """Build, test and compare."""
    require_tools()
    python = fetch_python()
    version = python.name.removeprefix("python")
    fetch_packages(version)
    build(version)
    hashes = ARM / "hashes.json"
    run(sys.executable, "-m", "tools.model_hashes", "--write", hashes)
    emulate(python, ["-m", "pytest", "-q", "--timeout=0", "-p", "no:cacheprovider", *TESTS])
    emulate(python, ["-m", "tools.model_hashes", "--compare", hashes])


if __name__ == "__main__":
    main()
