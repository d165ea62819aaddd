"""The command line: ``hedgerow train data.csv --target y`` and what goes with it.

`program.py` is the whole, with exit codes; `commands.py`, `options.py` and `choices.py` say what
there is to ask for, and each command has a file of its own that does it. They share `tables.py`,
`csv_file.py`, `cell_values.py` and `damage.py` (files become tables), `dataset.py`
(tables become rows to learn from or to judge by), `tasks.py`, `models.py` and `parameters.py` (what
is learned, and by what), `holdout.py` and `scores.py` (how good it is), `output.py` (what is
shown and written) and `streams.py` (standard output and standard error that cannot be written to).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, that of the process by default, and return its exit code."""
    try:
        from hedgerow._cli.program import run
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        print(
            "hedgerow: error: the command line needs click: pip install 'hedgerow[cli]'",
            file=sys.stderr,
        )
        return 1
    return run(arguments)
