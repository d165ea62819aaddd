"""`tools/install.py`: what is shown while the kernels are compiled, and when that fails."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[1] / "tools" / "install.py"


@pytest.fixture
def install():
    spec = importlib.util.spec_from_file_location("install", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def pip(tmp_path, monkeypatch):
    """Put a program in pip's place, and go to an empty folder."""

    def put(code):
        (tmp_path / "pip").mkdir()
        (tmp_path / "pip" / "__init__.py").touch()
        (tmp_path / "pip" / "__main__.py").write_text(code)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.chdir(tmp_path)

    return put


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("Collecting numpy>=1.26 (from hedgerow==0.1.0)", "collecting numpy>=1.26 (0 s)"),
        ("  Installing collected packages: a, b", "installing 2 packages (0 s)"),
        (
            "  [7/186] Building CXX object CMakeFiles/v3.dir/native/grow.cpp.o",
            "compiling: 7 of 186 files, grow.cpp for v3 (0 s)",
        ),
        ("  [  9%] Linking CXX shared module v3.so", "compiling: 9%, Linking CXX shared module v3"),
        ("  [0/2] Re-checking globbed directories...", "preparing (0 s)"),
        ("anything else", "preparing (0 s)"),
    ],
)
def test_a_line_of_pip_becomes_a_line_of_progress(install, line, text):
    progress = install.Progress()
    progress.take(line)
    assert progress.text.startswith(text)


def test_the_time_left_is_said_once_a_tenth_is_compiled(install, monkeypatch):
    now = iter([0.0, 10.0, 70.0, 70.0])  # made, first file, asked twice
    monkeypatch.setattr(install.time, "monotonic", lambda: next(now))
    progress = install.Progress()
    progress.take("[20/100] Building CXX object CMakeFiles/v2.dir/native/a.cpp.o")
    assert progress.text.endswith("(1 min 10 s, about 4 min 0 s left)")


def test_a_log_gets_lines_while_pip_is_silent(install, pip, monkeypatch, capfd, tmp_path):
    show, shown = install.Display.show, tmp_path / "shown"

    def show_and_tell(display, text):
        is_late = display.wait == 0
        show(display, text)
        if is_late and "cart.cpp" in text:
            shown.touch()

    step = "[3/9] Building CXX object CMakeFiles/v4.dir/native/cart.cpp.o"
    silence = f"while not os.path.exists({str(shown)!r}): time.sleep(0.01)"
    pip(f"import os, time; print('{step}', flush=True)\n{silence}")
    monkeypatch.setattr(install, "SECONDS_BETWEEN_LINES", 0.1)
    monkeypatch.setattr(install.Display, "show", show_and_tell)
    assert install.install([]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines
    assert lines[-1].startswith("  compiling: 3 of 9 files, cart.cpp for v4")


def test_a_failure_is_pips_exit_code_and_its_last_lines(pip):
    script = "print('a.cpp:1: error: no'); print('x\\n' * 90); print('the end')"
    pip(f"import sys; {script}; sys.exit(3)")
    ended = subprocess.run(
        [sys.executable, str(PROGRAM), "x"], capture_output=True, text=True, env=os.environ
    )
    assert ended.returncode == 3
    lines = ended.stderr.splitlines()
    assert lines[0] == "a.cpp:1: error: no"
    assert lines[-2:] == ["the end", "pip failed; all that it said is in build/install.log."]
    assert len(lines) < 50


def test_dependencies_are_those_of_the_project_and_of_the_extra(install, tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text(
        '[project]\ndependencies = ["a>=1"]\n[project.optional-dependencies]\ndev = ["b==2"]\n'
    )
    monkeypatch.chdir(tmp_path)
    arguments = ["--quiet", "--dependencies-of", "dev", "c"]
    assert install.with_dependencies(arguments) == ["--quiet", "a>=1", "b==2", "c"]
    assert install.with_dependencies(["d"]) == ["d"]
