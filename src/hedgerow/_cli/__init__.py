"""The command line: ``hedgerow train data.csv --target y`` and the other commands.

`program.py` is the entry point, with exit codes. `commands.py`, `options.py` and `choices.py`
declare commands and options; each command is imported when it runs. They share `tables.py`
and `csv_file.py` (files → tables), `dataset.py` (tables → training and test sets),
`models.py` (what is learned, and by which model), `holdout.py` and `scores.py`
(test sets and metrics), `output.py` (printing and writing) and `streams.py` (standard output or
standard error that is closed).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command (by default, the arguments of the process) and return its exit code."""
    try:
        from hedgerow._cli.program import run
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        print(
            "hedgerow: error: the command line needs click: pip install click pandas pyarrow rich",
            file=sys.stderr,
        )
        return 1
    return run(arguments)
