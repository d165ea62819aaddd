"""The files that a default fit passes through, in the order in which they are first used.

    python -m tools.fit_path                  GradientBoostingClassifier
    python -m tools.fit_path RandomForestClassifier
    .venv-coverage/bin/python -m tools.fit_path --native build/coverage

A small table with numbers, categories and missing values is fitted once beforehand, so that neither
imports nor caches count. Then the Python functions and lines of the library that run during
``Estimator().fit(X, y)`` are recorded, and printed by file: the first function called in it, how
many different functions and how many lines of it ran.

Native files follow if the kernels count their lines, as those of `make coverage` do: files of which
the fit executes lines that importing the library does not, and how many lines of each. A header and
its source count as one. Left out are `native/shared` and `native/core`, the formulas and utilities
that all kernels use.

The files to read, in order to know what a fit does, are those of which it runs a screenful, 25
lines. Of the others it runs an accessor, a default, or a check that finds nothing: what these do,
their names say. tests/test_layers.py limits how many files there are to read.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd

import hedgerow as hr

SOURCE = Path(hr.__file__).parent
NATIVE = Path(__file__).parents[1] / "native"
SCREENFUL = 25


@dataclass
class FileUse:
    """The functions of a Python file that ran, in order, and the numbers of its lines that did."""

    functions: list[str] = field(default_factory=list)
    lines: set[int] = field(default_factory=set)


def mixed_table(n_rows: int = 2000) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table with numeric and categorical features and missing values, and two classes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    y = (X["a"] + rng.normal(size=n_rows) > 0).to_numpy(int)
    X["town"] = pd.Categorical(rng.choice(["Basel", "Bern", "Chur"], n_rows))
    X.loc[rng.random(n_rows) < 0.1, "b"] = np.nan
    return X, y


def files_used(call: Callable[[], Any]) -> dict[str, FileUse]:
    """Return the library's files that run functions during a call, and what runs of them."""
    used: dict[str, FileUse] = {}

    def record(frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(str(SOURCE)):
            return None
        use = used.setdefault(str(Path(code.co_filename).relative_to(SOURCE)), FileUse())
        if event == "line":
            use.lines.add(frame.f_lineno)
        elif event == "call" and code.co_qualname not in use.functions:
            use.functions.append(code.co_qualname)
        return record

    before, before_in_threads = sys.gettrace(), threading.gettrace()  # a measure of coverage
    threading.settrace(record)  # of threads that the call starts
    sys.settrace(record)
    try:
        call()
    finally:
        sys.settrace(before)
        threading.settrace(before_in_threads)  # type: ignore[arg-type]
    return used


def fit_files(estimator: str = "GradientBoostingClassifier") -> dict[str, FileUse]:
    """Return the files that a default fit passes through, and what runs of them."""
    make, (X, y) = getattr(hr, estimator), mixed_table()
    make(random_state=0).fit(X, y)
    return files_used(lambda: make(random_state=0).fit(X, y))


def native_files(build: Path, estimator: str) -> Counter[str]:
    """Return how many lines of each native file (header and source) a fit executes."""
    setup = "from tools import fit_path; X, y = fit_path.mixed_table(); import hedgerow._native"
    unused = executed_lines(build, setup)
    used = executed_lines(build, f"{setup}; fit_path.hr.{estimator}(random_state=0).fit(X, y)")
    executed = (file for (file, line), count in used.items() if count > unused[file, line])
    by_file = Counter(file.rpartition(".")[0] for file in executed)
    return Counter({f: n for f, n in by_file.items() if not f.startswith(("shared/", "core/"))})


def executed_lines(build: Path, program: str) -> Counter[tuple[str, int]]:
    """Return how often a Python program executes each native line."""
    for old in build.rglob("*.gcda"):
        old.unlink()
    subprocess.run([sys.executable, "-c", program], check=True)
    counts: Counter[tuple[str, int]] = Counter()
    for counted in build.rglob("*.gcda"):
        command = ["gcov", "--json-format", "--stdout", str(counted)]
        report = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        for file in report["files"]:
            path = Path(report["current_working_directory"], file["file"])
            if path.is_relative_to(NATIVE):
                name = str(path.relative_to(NATIVE))
                for line in file["lines"]:
                    counts[name, line["line_number"]] += line["count"]
    return counts


def main() -> None:
    """Print the files of a fit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("estimator", nargs="?", default="GradientBoostingClassifier")
    parser.add_argument("--functions", action="store_true", help="list all functions of each file")
    parser.add_argument("--native", type=Path, metavar="BUILD", help="folder of a coverage build")
    options = parser.parse_args()
    used = fit_files(options.estimator)
    for number, (file, use) in enumerate(used.items(), 1):
        count = f"{len(use.functions)} functions, {len(use.lines)} lines"
        print(f"{number:3}  {file:40} {use.functions[0]} ({count})")
        if options.functions:
            print(*(f"       {name}" for name in use.functions), sep="\n")
    n_to_read = sum(len(use.lines) >= SCREENFUL for use in used.values())
    print(f"{len(used)} files, {n_to_read} with {SCREENFUL} lines or more")
    if options.native:
        lines = native_files(options.native, options.estimator)
        print(*(f"     {file:40} ({n} lines)" for file, n in lines.most_common()), sep="\n")
        n_native = sum(n >= SCREENFUL for n in lines.values())
        print(f"{len(lines)} native files, {n_native} with {SCREENFUL} lines or more")
        print(f"{n_to_read + n_native} files to read")


if __name__ == "__main__":
    main()
