"""How tests are run: CI's environment, what `make` shows while it installs, signals."""

import os
import re
import runpy
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OF_THE_SHELL = {"PWD", "OLDPWD", "SHLVL", "_"}


def test_ci_runs_make_test_without_variables_of_the_machine(tmp_path):
    """PYTHONUNBUFFERED, set in one shell, made tests pass that failed everywhere else."""
    make = tmp_path / "make"
    make.write_text('#!/bin/sh\necho "$@"\nenv\n')
    make.chmod(0o755)
    variables = {"HOME": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    ran = subprocess.run(
        [ROOT / ".ci" / "run"],
        env=variables | {"PYTHONUNBUFFERED": "1", "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=True,
    )
    arguments, *lines = ran.stdout.splitlines()
    assert arguments == "test"
    assert {line.partition("=")[0] for line in lines} - OF_THE_SHELL == {"HOME", "PATH", "LANG"}


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_shows_progress_while_it_installs():
    variables = {name: text for name, text in os.environ.items() if not name.startswith("MAKE")}
    commands = subprocess.run(
        ["make", "--dry-run", "--always-make", "demo"],
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "Compiling the kernels" in commands
    assert "tools/install.py --editable ." in commands
    assert "pip install" not in commands  # which is silent, or prints thousands of lines


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, getattr(signal, "SIGHUP", None)])
def test_signals_that_the_shell_ignores_reach_the_tests(number):
    """A background job ignores SIGINT, and nohup SIGHUP: tests of interrupts would wait forever."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        runpy.run_path(str(ROOT / "tests" / "conftest.py"))
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        assert signal.getsignal(number) == usual
    finally:
        signal.signal(number, before)


def test_no_test_is_expected_to_fail():
    """What is not met is in `contract.UNMET` and in the documentation, with the reason."""
    marks = re.compile(r"\bx(?:fail)\b|\bexpected_(?:failed_checks)\b")
    files = (ROOT / "tests").rglob("*.py")
    assert [str(file) for file in files if marks.search(file.read_text(encoding="utf-8"))] == []
