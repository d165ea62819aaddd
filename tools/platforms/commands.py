"""Commands that are shown, and Pythons of other platforms as commands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

VERSION = "3.13"


def run(*command: str | Path, **options: object) -> None:
    """Run a command; if it fails, so does this script."""
    print("$", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **options)


@dataclass(frozen=True)
class Python:
    """An interpreter of another platform: a command, and variables of its environment."""

    command: Sequence[str | Path]
    variables: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, *arguments: str | Path) -> None:
        """Run it. Its streams are pipes: Wine lets Python write into nothing else."""
        print("$", *self.command, *arguments, flush=True)
        process = subprocess.Popen(
            [*map(str, self.command), *map(str, arguments)],
            env=os.environ | self.variables | {"OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert process.stdout is not None
        for line in process.stdout:
            print(line.decode(errors="replace").rstrip(), flush=True)
        if process.wait():
            raise SystemExit(f"This ended with exit code {process.returncode}.")


def on_linux(command: Sequence[str | Path], folder: Path, search: Sequence[Path]) -> Python:
    """Return an interpreter that imports from these folders, and keeps bytecode in its own."""
    paths = os.pathsep.join(map(str, search))
    return Python(command, {"PYTHONPATH": paths, "PYTHONPYCACHEPREFIX": str(folder / "cache")})


def pip_for(*tags: str) -> Callable[[Path], Python]:
    """Return this machine's pip, which installs wheels with these tags."""
    options = ("--only-binary=:all:", f"--python-version={VERSION}", "--implementation=cp")
    platforms = (f"--platform={tag}" for tag in tags)
    pip = Python((sys.executable, "-m", "pip", "install", *options, *platforms))
    return lambda _: pip


@dataclass(frozen=True)
class Platform:
    """A platform that this machine imitates.

    `wheel` is the end of the names of wheels for it. In a folder, `pip` makes what installs
    packages for it, and `python` an interpreter, which imports from other folders.
    """

    wheel: str
    tools: Mapping[str, str]  # programs, and the packages of Debian that have them
    pip: Callable[[Path], Python]
    python: Callable[[Path, Sequence[Path]], Python]
    packages: Sequence[str] = ()  # that other platforms do not need

    def require_tools(self) -> None:
        """Say which packages of Debian are missing."""
        missing = sorted({name for tool, name in self.tools.items() if not shutil.which(tool)})
        if missing:
            raise SystemExit(f"make platforms needs packages of Debian: {' '.join(missing)}")
