"""The program as a whole: help, completion, what is not installed, and the tour."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hedgerow as hr
from commands import ENVIRONMENT, everything_in
from hedgerow._cli import main
from hedgerow._cli.program import program

PAGE = Path(__file__).parents[2] / "docs" / "command_line.md"


@pytest.mark.parametrize("command", [(), *((name,) for name in program.commands)])
def test_every_command_has_help(run, command):
    answer = run(*command, "--help")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("Usage: hedgerow")


def test_no_command_shows_the_help(run):
    answer = run()
    assert answer.code == 2
    assert "Commands:" in answer.err + answer.out


def test_the_version_is_the_librarys(run):
    assert run("--version").out == f"hedgerow {hr.__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_that_asks_the_program(run, shell):
    answer = run("completion", shell)
    assert answer.code == 0
    assert f"_HEDGEROW_COMPLETE={shell}_complete" in answer.out


def test_completion_knows_commands_and_options(run, monkeypatch, capsys):
    monkeypatch.setenv("_HEDGEROW_COMPLETE", "bash_complete")
    for typed, expected in (("hedgerow tr", "train"), ("hedgerow train --tas", "--task")):
        monkeypatch.setenv("COMP_WORDS", typed)
        monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
        with pytest.raises(SystemExit, match="0"):
            run()
        assert f"plain,{expected}" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("package", ["click", "pandas", "pyarrow"])
def test_a_missing_package_is_one_line(run, monkeypatch, package):
    for name in [name for name in sys.modules if name.startswith("hedgerow._cli.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)  # so that its import fails
    answer = run("predict", "model.hedgerow", "data.csv")
    assert (answer.code, answer.out) == (1, "")
    needed = f"the command line needs {package}: pip install click pandas pyarrow rich"
    assert answer.err == f"hedgerow: error: {needed}\n"


def loaded_by(*arguments, **environment):
    """Return the names of the modules that a command imports in a process of its own."""
    code = (
        "import sys; from hedgerow._cli import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, *arguments]
    env = ENVIRONMENT | environment
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    return ended.stdout, set(ended.stderr.split())


COMPLETING = {"_HEDGEROW_COMPLETE": "bash_complete", "COMP_WORDS": "hedgerow train --t"}


@pytest.mark.parametrize(
    ("arguments", "environment", "message"),
    [
        (["--help"], {}, "Commands:"),
        (["train", "--help"], {}, "--target"),
        ([], COMPLETING | {"COMP_CWORD": "2"}, "--target"),
    ],
)
def test_help_and_completion_are_quick(arguments, environment, message):
    out, modules = loaded_by(*arguments, **environment)
    assert message in out
    assert modules.isdisjoint({"numpy", "pandas", "pyarrow", "scipy", "sklearn", "altair"})


def test_closed_standard_output_is_an_error_if_the_answer_goes_there(
    numbers, new, monkeypatch, capsys
):
    monkeypatch.setattr(sys, "stdout", None)
    for call in (("predict", numbers, new), ("inspect", numbers), ("inspect", numbers, "--json")):
        assert main(list(map(str, call))) == 2
        assert capsys.readouterr().err == "hedgerow: error: standard output is closed\n"


def test_closed_standard_error_stops_nothing(people, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(sys, "stderr", None)
    options = ("--target", "amount", "--param", "n_estimators=3", "--no-report", "--json")
    assert main(["train", str(people), *options, "--out", str(tmp_path)]) == 0
    json.loads(capsys.readouterr().out)
    assert main(["inspect", "missing.hedgerow"]) == 2


def test_the_tour_runs_in_any_folder(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = run("demo", "--out", "tour")
    assert (answer.code, answer.err) == (0, "")
    for command in ("train", "predict", "evaluate", "explain", "inspect"):
        assert f"\n$ hedgerow {command} " in answer.out
    assert {"customers.csv", "new.csv", "model.hedgerow", "metrics.json"} <= set(
        everything_in(tmp_path / "tour")
    )


def test_the_commands_of_the_documentation_run_and_answer_as_shown(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    steps = [step for block in blocks for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    assert len(steps) > 5
    for step in steps:
        line, _, documented = step.replace("\\\n", "").partition("\n")
        answer = run(*line.split()[1:])
        assert answer.code == 0, answer.err
        _assert_documented(documented, answer.out)


def _assert_documented(documented, printed):
    """Compare what a page shows with what is printed; a line of … stands for any lines."""
    parts = [part.strip("\n") for part in re.split(r"^…$", documented, flags=re.MULTILINE)]
    assert all(part in printed for part in parts), (documented, printed)


def test_metrics_are_json_of_finite_numbers(run, people, tmp_path):
    few = ("--param", "n_estimators=3", "--quiet", "--no-report", "--out", tmp_path)
    assert run("train", people, "--target", "amount", *few).code == 0

    def refuse(name):
        raise AssertionError(name)

    json.loads((tmp_path / "metrics.json").read_text(), parse_constant=refuse)
