"""The command line: ``hedgerow train data.csv --target y`` and what goes with it.

`program.py` is the whole, with exit codes; each command has a file of its own. They share
`tables.py` and `csv_file.py` (files become tables), `examples.py` (tables become rows to learn from
or to judge by), `tasks.py`, `models.py` and `parameters.py` (what is learned, and by what),
`scores.py` (how good it is) and `output.py` (what is shown and written).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

_NEEDED = ("click", "pandas", "pyarrow")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, that of the process by default, and return its exit code."""
    try:
        from hedgerow.cli.program import run
    except ModuleNotFoundError as error:
        if error.name not in _NEEDED:
            raise
        print(
            f"hedgerow: error: the command line needs {error.name}: pip install 'hedgerow[cli]'",
            file=sys.stderr,
        )
        return 1
    return run(arguments)
