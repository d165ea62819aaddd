"""The package's names: imported on first use, and typed by a stub that is current."""

import re
import sys
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow import _native

sys.path.insert(0, str(Path(__file__).parents[1]))
from tools import stubs

sys.path.pop(0)


def test_the_stub_is_current():
    assert stubs.is_current(), "run python -m tools.stubs"


def test_the_stub_has_every_name():
    imports, others = stubs.statements(stubs.PATH.read_text(encoding="utf-8"))
    for name in hr.__all__:
        assert any(f"'{name}'" in text for text in [*imports, *others]), name


USES = """
import hedgerow as hr

hr.GradientBoostingClassifier(n_estimators=10, loss="focal").fit([[1]], [0])
hr.KNeighborsClassifier(3)
hr.SVC(kernel=min, random_state=None)
hr.GradientBoostingClassifier(n_estimators="ten")  # wrong type
hr.GradientBoostingClassifier(n_estimator=10)  # wrong name
hr.KNeighborsClassifier(3, "uniform")  # wrong position
hr.SVC(kernel="rfb")  # wrong option
"""


def test_a_type_checker_knows_the_constructors(tmp_path):
    api = pytest.importorskip("mypy.api")
    file = tmp_path / "uses.py"
    file.write_text(USES, encoding="utf-8")
    # What the stub imports is skipped, which makes the check a matter of a second.
    options = ["--config-file=", "--follow-imports=skip", f"--cache-dir={tmp_path}"]
    report, _, _ = api.run([*options, str(stubs.PATH), str(file)])
    lines = [int(line) for line in re.findall(r"uses\.py:(\d+): error", report)]
    wrong = [i for i, line in enumerate(USES.splitlines(), 1) if "# wrong" in line]
    assert lines == wrong, report


def test_every_name_is_listed():
    assert set(hr.__all__) <= set(dir(hr))


def test_names_that_are_not_there_are_an_error():
    with pytest.raises(AttributeError, match="'hedgerow' has no attribute 'Forest'"):
        hr.Forest  # noqa: B018


@pytest.mark.parametrize(
    ("override", "best", "built", "level"),
    [
        (None, "v4", ("v2", "v3", "v4"), "v4"),
        (None, "v3", ("v2", "v3", "v4"), "v3"),
        (None, "v4", ("v3",), "v3"),
        ("v2", "v4", ("v2", "v3", "v4"), "v2"),
        ("", "v4", ("v2", "v3", "v4"), "v4"),  # not set
    ],
)
def test_the_best_level_is_loaded_that_is_built_and_runs_here(override, best, built, level):
    assert _native._choose_level(override, best, built) == level


@pytest.mark.skipif(_native.isa_level() == "plain", reason="levels are of x86-64")
@pytest.mark.parametrize(
    ("override", "best", "built", "message"),
    [
        ("v9", "v4", ("v4",), "HEDGEROW_ISA='v9' is unknown; allowed: v2, v3, v4"),
        ("v4", "v3", ("v3", "v4"), "HEDGEROW_ISA='v4', but this processor only supports 'v3'"),
        ("v2", "v4", ("v4",), "HEDGEROW_ISA='v2' is not part of this build; compiled: v4"),
        (None, "v3", ("v4",), "no kernels for this processor, which supports 'v3'; compiled: v4"),
        (None, "v3", (), "no kernels for this processor, which supports 'v3'; compiled: none"),
    ],
)
def test_a_level_that_cannot_be_loaded_is_an_import_error(override, best, built, message):
    with pytest.raises(ImportError, match=re.escape(message)):
        _native._choose_level(override, best, built)
