"""The code blocks of the documentation run and print what is shown, and the site builds."""

import contextlib
import doctest
import gc
import importlib
import io
import pkgutil
import re
import runpy
import shlex
import shutil
import sys
import warnings
from pathlib import Path

import matplotlib as mpl
import pytest
from sklearn.datasets import load_breast_cancer

import hedgerow
from hedgerow._cli.program import run

mpl.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TOP = [ROOT / name for name in ("README.md", "CHANGELOG.md", "SECURITY.md")]
PAGES = [*TOP, *sorted(DOCS.rglob("*.md"))]
SCRIPTS = sorted((DOCS / "gallery").rglob("*.py"))

# A Python block, with the output if it is shown right after it; or a block of commands.
BLOCK = re.compile(
    r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?|```console\n(.*?)```\n", re.DOTALL
)
# Printed by a page, but another one here than on the page.
VERSION = re.compile(r"(?<=XGBoost )\d[\d.]*")
COMMAND_PAGE = "command_line.md"  # tests/cli runs its commands
# Packages that a page needs beside those of other tests.
NEEDS = {
    "serving.md": (
        *("fastapi", "httpx", "lightgbm", "mlflow", "onnxruntime", "optuna", "skl2onnx", "skops"),
    ),
}


def name(path):
    return str(path.relative_to(ROOT))


def modules_with_examples():
    for module in pkgutil.walk_packages(hedgerow.__path__, "hedgerow."):
        path = importlib.util.find_spec(module.name).origin
        if path.endswith(".py") and ">>> " in Path(path).read_text(encoding="utf-8"):
            yield module.name


@pytest.fixture(autouse=True)
def _temporary_folder(tmp_path, monkeypatch):
    """Run in a temporary folder, and close all figures."""
    monkeypatch.chdir(tmp_path)
    yield
    plt.close("all")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_code_runs_and_prints_what_is_shown(page):
    with warnings.catch_warnings():
        if page.name in NEEDS:
            warnings.simplefilter("ignore")  # those of other packages
        for package in NEEDS.get(page.name, ()):
            pytest.importorskip(package)
        _run_code(page)


def _run_code(page):
    X, y = load_breast_cancer(return_X_y=True)
    names = {"X": X, "y": y, "X_new": X[:5], "X_valid": X, "y_valid": y}
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        line = text[: block.start()].count("\n") + 2
        if block[1] is None:
            _run_commands(block[3] if page.name != COMMAND_PAGE else "")
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (line - 1) + block[1], page.name, "exec"), names)
        shown = None if block[2] is None else VERSION.sub("", block[2])
        assert shown in (None, VERSION.sub("", printed.getvalue())), f"{page.name}, line {line}"


def _run_commands(block):
    for command in re.findall(r"^\$ hedgerow (.*)$", block, re.MULTILINE):
        assert run(shlex.split(command)) == 0, command


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_existing_files(page):
    for target in re.findall(r"\]\(([^)#:]+)[^):]*\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("module", sorted(modules_with_examples()))
def test_docstring_examples_run(module):
    result = doctest.testmod(sys.modules.get(module) or importlib.import_module(module))
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("script", SCRIPTS, ids=name)
def test_gallery_scripts_run(script):
    with contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(script))


GUIDES = ["callbacks", "cluster", "deployment", "faq", "out_of_core", "reliability", "tuning"]


@pytest.mark.parametrize("guide", GUIDES)
def test_the_front_page_links_to_the_guides(guide):
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    assert (DOCS / f"{guide}.md").exists()
    assert f"({guide}.md)" in index
    assert re.search(rf"^{guide}$", index, re.MULTILINE)  # in the table of contents


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "index.md"], ids=name)
def test_the_first_image_shows_a_report(page):
    """`make pictures` draws it."""
    caption, file = re.search(r"!\[(.*?)\]\((.*?)\)", page.read_text(encoding="utf-8")).groups()
    assert "report" in caption
    pictures = (ROOT / "examples" / "pictures.py").read_text(encoding="utf-8")
    drawing = pictures.split(f'images" / "{Path(file).name}')[0].split("\ndef ")[-1]
    assert "hr.report(" in drawing
    assert (page.parent / file).stat().st_size < 300_000


def test_the_reference_shows_the_parameters_of_estimators():
    """The handler of conf.py returns them; a slower test builds the site."""
    handlers = []

    class App:
        def connect(self, event, handler):
            handlers.extend([handler] if event == "autodoc-process-signature" else [])

    runpy.run_path(str(DOCS / "conf.py"))["setup"](App())
    for estimator, parameter in ((hedgerow.SVC, "gamma"), (hedgerow.BaggingRegressor, "bootstrap")):
        names = ("class", estimator.__name__, estimator, None, "(**parameters)", "")
        shown = [handler(None, *names) for handler in handlers]
        assert any(f"{parameter}=" in signature for signature, _ in filter(None, shown))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # -W makes Sphinx's warnings errors
def test_the_site_builds_without_warnings_or_dead_links(tmp_path):
    """Gallery scripts are not run here, but in a test above.

    The theme is a plain one: that of `make docs` builds the navigation anew for each page, which
    takes as long as everything else.
    """
    build = pytest.importorskip("sphinx.cmd.build")
    pytest.importorskip("sphinx_gallery")
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(ROOT / "CHANGELOG.md", tmp_path)
    with (tmp_path / "docs" / "conf.py").open("a", encoding="utf-8") as settings:
        settings.write('html_theme, html_theme_options = "basic", {}')
    arguments = ["-W", "--keep-going", "-q", "-D", "plot_gallery=0", "docs", "site"]
    gc.disable()  # nodes of pages refer to each other, and all are gone with the build
    try:
        assert build.main(arguments) == 0
    finally:
        gc.enable()
    links = runpy.run_path(str(DOCS / "links.py"))
    assert list(links["dead_links"](tmp_path / "site")) == []
    reference = (tmp_path / "site/api/generated/hedgerow.SVC.html").read_text(encoding="utf-8")
    assert ">gamma</span>" in reference.split("</dt>")[0]


def test_files_that_the_architecture_page_names_exist():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:native|tests|_[a-z_]+)/[\w/.]+|_[a-z]+\.py)`", page))
    missing = [
        name
        for name in sorted(named)
        if not (ROOT / name).exists() and not (ROOT / "src" / "hedgerow" / name).exists()
    ]
    assert len(named) > 20
    assert not missing
