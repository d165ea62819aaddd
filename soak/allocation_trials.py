"""The trials of soak/allocations.py: a process in which allocations fail.

``python -m soak.allocation_trials MODEL ACTION SHARE FIRST`` with failing_malloc preloaded. Before
a trial it writes {"n": …}, after it {"n": …, "result": …}.
"""

from __future__ import annotations

import ctypes
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from soak.allocations import FEW_TRIALS, LOCK, UNNAMED
from soak.small_models import small_models, small_table

# Libraries whose allocations fail; others (BLAS, the loader) are not ours to answer for.
TRACED = ("/_native/", "/libstdc++.so", "/_multiarray_umath.", "/libpython", "/bin/python")
NEVER = 2**62


def watch(library: Any) -> None:
    """Tell the library which code's allocations count."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        place, rights, *others = line.split(maxsplit=5)
        path = others[-1]
        if "x" in rights and any(part in path for part in TRACED):
            low, high = (int(end, 16) for end in place.split("-"))
            library.soak_watch(ctypes.c_size_t(low), ctypes.c_size_t(high))


def numbers(total: int, share: float, first: int) -> Iterator[int]:
    """Give the allocations that are to fail, from `first` on."""
    step = max(total // FEW_TRIALS, 1) if share <= 0 else max(round(1 / share), 1)
    return (n for n in range(1, total + 1, step) if n >= first)


class Trials:
    """One model, fitted; one action; and how the model must be afterwards."""

    def __init__(self, name: str, action: str, folder: Path) -> None:
        self.rows, self.target = small_table(0)
        self.other_rows, self.other_target = small_table(1)
        self.model = small_models()[name]().fit(self.rows, self.target)
        self.path = folder / "model.hedgerow"
        self.folder = folder
        self.model.save(self.path)
        self.saved = self.path.read_bytes()
        self.action: Callable[[], Any] = getattr(self, action)
        self.changes = action == "fit"
        self.predicted = self.model.predict(self.rows)
        self.state = dict(vars(self.model))

    def fit(self) -> None:
        """Fit to other rows."""
        self.model.fit(self.other_rows, self.other_target)

    def predict(self) -> None:
        """Predict, and compare."""
        if not np.array_equal(self.model.predict(self.rows), self.predicted):
            raise AssertionError("other predictions")

    def save(self) -> None:
        """Write the model over its own file."""
        self.model.save(self.path)

    def wrongs(self, is_done: bool) -> str:
        """Say what is not as it was before, if the action failed, or as it should be."""
        if self.path.read_bytes() != self.saved:
            return "another file"
        if [entry.name for entry in self.folder.iterdir()] != [self.path.name]:
            return "a file left behind"
        if is_done and self.changes:
            vars(self.model).clear()
            vars(self.model).update(self.state)
            return ""
        now = vars(self.model)
        if now.keys() != self.state.keys() or any(now[k] is not self.state[k] for k in now):
            return "another estimator"
        if not np.array_equal(self.model.predict(self.rows), self.predicted):
            return "other predictions"
        return ""


def _name(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "MemoryError"
    if isinstance(error, RuntimeError) and "allocate" in str(error):
        return LOCK
    is_unnamed = isinstance(error, SystemError) and "exception" in str(error)
    return UNNAMED if is_unnamed else f"{type(error).__name__}: {error}"


def outcome(trials: Trials, library: Any, n: int) -> tuple[str, int]:
    """Let allocation n fail; return what came of it, and how many allocations there were."""
    library.soak_arm(ctypes.c_long(n))
    try:
        trials.action()
    except BaseException as error:  # noqa: BLE001 - a panic is one
        count = library.soak_disarm()
        result = _name(error)
        wrong = trials.wrongs(False)
    else:
        count = library.soak_disarm()
        result = "done"
        wrong = trials.wrongs(True)
    return (f"{result}; {wrong}" if wrong else result), count


def main() -> None:
    """Run the trials that the command line names."""
    name, action, share, first = *sys.argv[1:3], float(sys.argv[3]), int(sys.argv[4])
    warnings.simplefilter("ignore")
    library = ctypes.CDLL(None)
    library.soak_disarm.restype = ctypes.c_long
    with tempfile.TemporaryDirectory() as folder:
        trials = Trials(name, action, Path(folder))
        for _ in range(2):  # what is imported or kept by the first call is there in the second
            _, total = outcome(trials, library, NEVER)
        watch(library)
        _, total = outcome(trials, library, NEVER)
        for n in numbers(total, share, first):
            print(json.dumps({"n": n}), flush=True)
            result, _ = outcome(trials, library, n)
            print(json.dumps({"n": n, "result": result}), flush=True)


if __name__ == "__main__":
    main()
