"""Every check of `soak` runs, with little work, and holds."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from patience import LONG
from soak.__main__ import PAGE, checks

CHECKS = checks()


# Limits on the time of something, which hold on a machine that has nothing else to do.
LIMITS = {
    "allocations": ["LONGEST"],
    "model_files": ["SECONDS"],
    "worker_loss": ["HANG", "SECONDS"],
}


@pytest.mark.parametrize("name", CHECKS)
def test_check_holds_on_little_work(name, monkeypatch):
    check = importlib.import_module(f"soak.{name}")
    for limit in LIMITS.get(name, []):
        monkeypatch.setattr(check, limit, LONG)
    outcome = check.run(0.0)
    assert outcome.holds, outcome.failures
    assert outcome.summary


@pytest.mark.parametrize("name", CHECKS)
def test_figure_is_published(name):
    assert f"`python -m soak {name}" in PAGE.read_text(encoding="utf-8")


def test_a_check_runs_without_the_packages_of_others():
    program = (
        "import sys; sys.modules['polars'] = None; from soak.__main__ import main; "
        "sys.argv = ['soak', 'no_such_check']; main()"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[1],
        check=False,
    )
    assert "no check no_such_check; there are" in run.stderr
