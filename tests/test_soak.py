"""Every check of `soak` runs, with little work, and holds."""

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
    for limit in LIMITS.get(name, []):
        monkeypatch.setattr(CHECKS[name], limit, LONG)
    outcome = CHECKS[name].run(0.0)
    assert outcome.holds, outcome.failures
    assert outcome.summary


@pytest.mark.parametrize("name", CHECKS)
def test_figure_is_published(name):
    assert f"`python -m soak {name}" in PAGE.read_text(encoding="utf-8")
