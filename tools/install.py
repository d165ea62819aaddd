"""Install packages with pip and show how far it is: `python tools/install.py [pip's arguments]`.

`--dependencies-of dev` stands for what Hedgerow and its extra "dev" need, but not for Hedgerow
itself, which would be compiled.

pip shows either nothing of a build or all of it. This shows what is done now: how many files are
compiled, and how long that may still take. In a terminal it is one line that changes, in a log one
line every ten seconds. All that pip says is in build/install.log, and its end is shown if it fails.

Needs nothing but Python: it runs before anything is installed.
"""

from __future__ import annotations

import queue
import re
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

LOG = Path("build") / "install.log"
SECONDS_BETWEEN_LINES = 10.0
SECONDS_BETWEEN_CHANGES = 0.5  # of a line in a terminal
LINES_OF_A_FAILURE = 40  # at its end, and before them the first that name an error
FIRST_ERRORS = 5

# Ninja counts files, "[7/186] Building CXX object …", and Make per cent, "[ 12%] Building …".
COMPILED = re.compile(r"\s*\[\s*(\d+)(?:/(\d+)|%)\]\s+((?:Building|Linking|Generating)\b.*)")
PACKAGE = re.compile(r"\s*(Collecting|Downloading|Installing collected packages:)\s+(.*)")


class Progress:
    """What pip's lines say of where it is."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._compiling_since: float | None = None
        self._done, self._total, self._what = 0, 0, "preparing"

    def take(self, line: str) -> None:
        """Learn from a line."""
        compiled = COMPILED.match(line)
        if compiled:
            self._compiling_since = self._compiling_since or time.monotonic()
            self._done, self._total = int(compiled[1]), int(compiled[2] or 100)
            self._what = _file_of(compiled[3])
            return
        package = PACKAGE.match(line)
        if package:
            self._total = 0
            self._what = _package_step(package[1], package[2])

    @property
    def text(self) -> str:
        """Where it is now, as a line."""
        spent = _duration(time.monotonic() - self._started)
        if self._total == 0:
            return f"{self._what} ({spent})"
        unit = "%" if self._total == 100 else f" of {self._total} files"
        return f"compiling: {self._done}{unit}, {self._what} ({spent}{self._left()})"

    def _left(self) -> str:
        """Return how long the rest may take, once a tenth is done."""
        if self._compiling_since is None or self._done * 10 < self._total:
            return ""
        each = (time.monotonic() - self._compiling_since) / self._done
        return f", about {_duration(each * (self._total - self._done))} left"


def _package_step(verb: str, rest: str) -> str:
    """Return what is done with packages: collecting numpy>=1.26, installing 12 packages."""
    if verb.startswith("Installing"):
        return f"installing {rest.count(',') + 1} packages"
    return f"{verb.lower()} {rest.split()[0]}"


def _file_of(step: str) -> str:
    """Return what is built: grow.cpp for v3."""
    source = re.search(r"CMakeFiles/(\w+)\.dir/(?:.*/)?([\w.]+\.cpp)", step)
    if source:
        return f"{source[2]} for {source[1]}"
    return step if len(step) <= 40 else step[:39] + "…"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


class Display:
    """One line that changes in a terminal; elsewhere a line now and then."""

    def __init__(self) -> None:
        self._in_place = sys.stdout.isatty()
        self._every = SECONDS_BETWEEN_CHANGES if self._in_place else SECONDS_BETWEEN_LINES
        self._next = time.monotonic() + self._every

    @property
    def wait(self) -> float:
        """Seconds until the next line is due."""
        return max(0.0, self._next - time.monotonic())

    def show(self, text: str) -> None:
        """Show a line if it is time for one."""
        if self.wait > 0:
            return
        self._next = time.monotonic() + self._every
        if self._in_place:
            self._replace(text)
        else:
            print(f"  {text}", flush=True)

    def close(self) -> None:
        """Leave an empty line to whoever prints next."""
        if self._in_place:
            self._replace("")
            print(end="\r", flush=True)

    def _replace(self, text: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{text[:width]:<{width}}", end="", flush=True)


def _lines(process: subprocess.Popen[str], display: Display) -> Iterator[str | None]:
    """Yield the lines of a process, and None whenever a line of progress is due."""
    waiting: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            waiting.put(line)
        waiting.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = waiting.get(timeout=display.wait + 0.01)
        except queue.Empty:
            yield None
            continue
        if line is None:
            return
        yield line


def with_dependencies(arguments: list[str]) -> list[str]:
    """Replace `--dependencies-of <extra>` by the requirements that pyproject.toml lists."""
    if "--dependencies-of" not in arguments:
        return arguments
    at = arguments.index("--dependencies-of")
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = project["optional-dependencies"][arguments[at + 1]]
    return [*arguments[:at], *project["dependencies"], *extra, *arguments[at + 2 :]]


def install(arguments: list[str]) -> int:
    """Install, and return pip's exit code."""
    command = [sys.executable, "-m", "pip", "install", "--verbose", "--progress-bar=off"]
    progress, display = Progress(), Display()
    LOG.parent.mkdir(exist_ok=True)
    with (
        LOG.open("w", encoding="utf-8", buffering=1) as log,
        subprocess.Popen(
            [*command, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        ) as process,
    ):
        for line in _lines(process, display):
            if line is not None:
                log.write(line)
                progress.take(line)
            display.show(progress.text)
    display.close()
    if process.returncode != 0:
        _explain_failure()
    return process.returncode


def _explain_failure() -> None:
    """Show the first lines of the log that name an error, and its end."""
    lines = LOG.read_text(encoding="utf-8").splitlines()
    before, end = lines[:-LINES_OF_A_FAILURE], lines[-LINES_OF_A_FAILURE:]
    errors = [line for line in before if "error:" in line][:FIRST_ERRORS]
    print(*errors, *end, f"pip failed; all that it said is in {LOG}.", sep="\n", file=sys.stderr)


if __name__ == "__main__":
    try:
        sys.exit(install(with_dependencies(sys.argv[1:])))
    except KeyboardInterrupt:  # which pip was sent, too
        sys.exit(130)
