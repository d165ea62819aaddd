"""``python -m soak [CHECK ...] [--share 0.1] [--write]``: run checks, print their results."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import re
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import soak
from soak.outcome import Outcome

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
HELPERS = {
    "__main__",
    "allocation_trials",
    "outcome",
    "race_workload",
    "small_models",
    "svm_objectives",
}
MOST_FAILURES = 20  # shown of one check


def checks() -> list[str]:
    """Names of the checks. Each is imported when it runs: some need packages that others do not."""
    return sorted({module.name for module in pkgutil.iter_modules(soak.__path__)} - HELPERS)


def main() -> int:
    """Run the selected checks; return 1 if a goal does not hold."""
    available = checks()
    parser = argparse.ArgumentParser(prog="python -m soak", description=soak.__doc__)
    parser.add_argument("check", nargs="*", help=f"{', '.join(available)}; all by default")
    parser.add_argument("--share", type=float, default=1.0, help="of the published amount of work")
    parser.add_argument(
        "--write", action="store_true", help="write figures into docs/reliability.md"
    )
    options = parser.parse_args()
    unknown = sorted(set(options.check) - set(available))
    if unknown:
        parser.error(f"no check {', '.join(unknown)}; there are {', '.join(available)}")
    holds = True
    for name in options.check or available:
        check = importlib.import_module(f"soak.{name}")
        outcome = _run(name, check, options.share)
        holds &= outcome.holds
        if options.write:
            _write(name, check.GOAL, outcome, options.share)
    return 0 if holds else 1


def _run(name: str, check: ModuleType, share: float) -> Outcome:
    print(f"{name}: {check.GOAL}", flush=True)
    begin = time.perf_counter()
    outcome: Outcome = check.run(share)
    verdict = "holds" if outcome.holds else f"FAILS ({len(outcome.failures)} times)"
    print(f"  {verdict}: {outcome.summary} [{time.perf_counter() - begin:.0f} s]", flush=True)
    for failure in outcome.failures[:MOST_FAILURES]:
        print(f"  - {failure}", flush=True)
    return outcome


def _write(name: str, goal: str, outcome: Outcome, share: float) -> None:
    """Put one row into the table of the page, in place of that check's earlier one."""
    command = f"`python -m soak {name}{'' if share == 1.0 else f' --share {share:g}'}`"
    summary = outcome.summary if outcome.holds else f"**missed**: {outcome.summary}"
    row = f"| {goal} | {summary} | {command} | {datetime.now(UTC):%Y-%m-%d} |"
    text = PAGE.read_text(encoding="utf-8")
    earlier = re.compile(rf"^\|.*`python -m soak {name}(?: --share [^`]*)?`.*\|$", re.MULTILINE)
    if earlier.search(text):
        text = earlier.sub(lambda _: row, text, count=1)
    else:
        text = text.replace("\n\n<!-- end of figures -->", f"\n{row}\n\n<!-- end of figures -->")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
