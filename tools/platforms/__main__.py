"""Try the wheels in dist/ on platforms that this machine can imitate: `make platforms`.

    python -m tools.platforms [aarch64] [musl] [windows]

On each, a Python of its own installs the wheel that users would, which has to pass the tests of the
kernels; and the models that it writes must be, byte for byte, those of this machine
(`tools.model_hashes`). Emulation is slow: an hour in all on two cores. musl needs none; its Python
and scikit-learn are compiled, once, which takes up to an hour on a busy machine.

Needs Debian, and says which of its packages. Interpreters and what they import are fetched into
build/platforms, or compiled there; nothing is installed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools import arm
from tools.platforms.aarch64 import AARCH64
from tools.platforms.commands import Platform, run
from tools.platforms.musl import MUSL
from tools.platforms.windows import WINDOWS

PLATFORMS = {"aarch64": AARCH64, "musl": MUSL, "windows": WINDOWS}
BUILD = Path("build", "platforms").resolve()


def main() -> None:
    """Write the hashes of this machine's models, and try the platforms that are named."""
    names = sys.argv[1:] or list(PLATFORMS)
    for name in names:
        PLATFORMS[name].require_tools()
    BUILD.mkdir(parents=True, exist_ok=True)
    hashes = BUILD / "hashes.json"
    run(sys.executable, "-m", "tools.model_hashes", "--write", hashes)
    for name in names:
        check(PLATFORMS[name], BUILD / name, hashes)


def check(platform: Platform, folder: Path, hashes: Path) -> None:
    """Test the wheel of a platform, and compare its models."""
    search = (install_wheel(platform, folder), install_packages(platform, folder))
    python = platform.python(folder, (*search, Path.cwd()))
    python("-m", "pytest", "-q", "--timeout=0", "-p", "no:cacheprovider", *arm.TESTS)
    python("-m", "tools.model_hashes", "--compare", hashes.relative_to(Path.cwd()).as_posix())


def install_packages(platform: Platform, folder: Path) -> Path:
    """Return a folder with the packages that the library and its tests need."""
    packages = folder / "packages"
    if not packages.exists():
        wanted = (*arm.PYTHON, *arm.TESTING, *platform.packages)
        _install(platform, folder, packages.name, *wanted)
    return packages


def install_wheel(platform: Platform, folder: Path) -> Path:
    """Return a folder with the library."""
    wheels = sorted(Path("dist").glob(f"*abi3*{platform.wheel}"))
    if not wheels:
        raise SystemExit(f"There is no wheel dist/*{platform.wheel}: run make wheels.")
    _install(platform, folder, "library", "--upgrade", "--no-deps", "--no-index", wheels[-1])
    return folder / "library"


def _install(platform: Platform, folder: Path, target: str, *arguments: str | Path) -> None:
    platform.pip(folder)("--quiet", f"--target={folder / target}", *arguments)


if __name__ == "__main__":
    main()
