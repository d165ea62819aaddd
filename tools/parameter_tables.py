"""Write the tables at the end of docs/parameters.md, from the declarations of parameters.

    python -m tools.parameter_tables

tests/boosting/test_params.py fails if they are not current.
"""

from __future__ import annotations

from pathlib import Path

from hedgerow._arguments import grouped_tables
from hedgerow._boosting.estimators.parameters import PARAMETER_GROUPS, PARAMETERS

PAGE = Path(__file__).parents[1] / "docs" / "parameters.md"


def with_tables(page: str) -> str:
    """Return the page with current tables: everything from the heading of the first group on."""
    prose = page.partition(f"### {PARAMETER_GROUPS[0]}\n")[0]
    return prose + grouped_tables(PARAMETERS, PARAMETER_GROUPS)


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
