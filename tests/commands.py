"""For tests of the command line: people as a table, a command as a process, files in a folder."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

# Buffered as usual, whatever the shell says: without a buffer, what fails at exit does not show.
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
ENVIRONMENT.pop("PYTHONUNBUFFERED", None)
FEW = ("--param", "n_estimators=12", "--param", "max_leaves=6", "--quiet")
PARAMETERS = {"n_estimators": 12, "max_leaves": 6}
NOT_FEATURES = ["person", "weight", "group", "answer", "amount"]
FEATURES = ["town", "age", "income", "member"]


def make_people(n_rows=300, seed=0):
    """Make up people: text with commas, quotes and digits, numbers, flags, gaps."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "person": np.arange(n_rows) + 1000,
            "town": rng.choice(["Bonn", "Köln, Deutz", 'the "old" town', "7"], n_rows),
            "age": rng.integers(18, 90, n_rows),
            "income": rng.lognormal(8, 1, n_rows),
            "member": rng.random(n_rows) < 0.5,
            "weight": rng.random(n_rows) + 0.5,
            "group": rng.integers(0, 30, n_rows),
        }
    )
    score = (table["town"] == "Bonn") + (table["age"] > 50) + table["member"] * 0.5
    noisy = score + rng.normal(0, 0.4, n_rows)
    table["answer"] = np.where(noisy > 1.2, "yes", "no")
    table["amount"] = noisy * 3.7
    for column in ("town", "age", "income"):
        table.loc[rng.random(n_rows) < 0.1, column] = None
    return table


def without(target):
    """Return what to drop so that the features and a target are left."""
    return "--drop", ",".join(name for name in NOT_FEATURES if name != target)


def run_process(*arguments, **options):
    """Run a command in a process of its own, which finds the library from any folder."""
    command = [sys.executable, "-m", "hedgerow", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.run(command, text=True, check=False, env=ENVIRONMENT, **pipes | options)


def everything_in(folder):
    """Return the names of all files and folders below a folder."""
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*"))
