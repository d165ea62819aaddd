"""The files that a default fit passes through, in the order in which they are first used.

    python -m tools.fit_path                  GradientBoostingClassifier
    python -m tools.fit_path RandomForestClassifier

A small table with numbers, categories and missing values is fitted once beforehand, so that neither
imports nor caches count. Then every Python function of the library that runs during
``Estimator().fit(X, y)`` is recorded, and printed by file: the first function called in it, and how
many different functions of it ran. Long lists are the reason to look for a file that only forwards.
The kernels that the fit calls are listed in docs/architecture.md.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd

import hedgerow as hr

SOURCE = Path(hr.__file__).parent


def mixed_table(n_rows: int = 2000) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table with numeric and categorical features and missing values, and two classes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    y = (X["a"] + rng.normal(size=n_rows) > 0).to_numpy(int)
    X["town"] = pd.Categorical(rng.choice(["Basel", "Bern", "Chur"], n_rows))
    X.loc[rng.random(n_rows) < 0.1, "b"] = np.nan
    return X, y


def files_used(call: Callable[[], Any]) -> dict[str, list[str]]:
    """Return the library's files that run functions during a call, and these functions."""
    used: dict[str, list[str]] = {}

    def record(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(SOURCE)):
            return
        functions = used.setdefault(str(Path(code.co_filename).relative_to(SOURCE)), [])
        if code.co_qualname not in functions:
            functions.append(code.co_qualname)

    threading.setprofile(record)  # of threads that the call starts
    sys.setprofile(record)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return used


def fit_files(estimator: str = "GradientBoostingClassifier") -> dict[str, list[str]]:
    """Return the files that a default fit passes through, and the functions that run in them."""
    make, (X, y) = getattr(hr, estimator), mixed_table()
    make(random_state=0).fit(X, y)
    return files_used(lambda: make(random_state=0).fit(X, y))


def main() -> None:
    """Print the files of a fit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("estimator", nargs="?", default="GradientBoostingClassifier")
    parser.add_argument("--functions", action="store_true", help="list all functions of each file")
    options = parser.parse_args()
    used = fit_files(options.estimator)
    for number, (file, functions) in enumerate(used.items(), 1):
        print(f"{number:3}  {file:45} {functions[0]} ({len(functions)})")
        if options.functions:
            print(*(f"       {name}" for name in functions), sep="\n")
    print(f"{len(used)} files")


if __name__ == "__main__":
    main()
