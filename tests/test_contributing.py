"""CONTRIBUTING.md is true: its files and commands exist, and its examples fit today's sources."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

FOLDERS = ("benchmarks", "docs", "native", "soak", "src", "tests", "tools")
# How many source files a change may take; tests and documentation not counted.
MOST_FILES = {"A growth parameter": 3, "A loss": 2, "A neighbour metric": 2}


def make_targets(text):
    return set(re.findall(r"\bmake ([a-z]+(?:-[a-z]+)*)", re.sub(r"GNU make\b", "", text)))


def sections():
    """Yield the title and the text of each recipe."""
    recipes = GUIDE.partition("\n## Recipes\n")[2].partition("\n## ")[0]
    for section in recipes.split("\n### ")[1:]:
        title, _, text = section.partition("\n")
        yield title, text


def hunks(text):
    """Yield the file and the lines before the change of each hunk of the examples in a text."""
    for block in re.findall(r"```diff\n(.*?)```", text, re.DOTALL):
        for part in re.split(r"^--- ", block, flags=re.MULTILINE)[1:]:
            path, _, changes = part.partition("\n")
            for hunk in re.split(r"^@@.*\n", changes, flags=re.MULTILINE)[1:]:
                before = [line[1:] for line in hunk.splitlines() if not line.startswith("+")]
                yield path, "\n".join(before)


def test_files_that_the_guide_names_exist():
    text = re.sub(r"```.*?```", "", GUIDE, flags=re.DOTALL)
    named = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./]+)`|\]\(([\w./]+)", text)
    paths = {a or b for a, b in named}
    assert len(paths) > 20
    assert not [path for path in paths if not (ROOT / path).exists()]


def test_functions_that_the_guide_names_exist():
    text = re.sub(r"```.*?```", "", GUIDE, flags=re.DOTALL)
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", text))
    named = {name for name in named if not name.startswith("test_")}  # an example of a good name
    folders = [ROOT / name for name in ("native", "src", "tests", "tools")]
    files = [path for folder in folders for path in folder.rglob("*.*")]
    sources = [path for path in files if path.suffix in {".cpp", ".hpp", ".py"}]
    words = set(re.findall(r"\w+", "\n".join(path.read_text("utf-8") for path in sources)))
    assert len(named) > 10
    assert not named - words


@pytest.mark.parametrize("path", [ROOT / "CONTRIBUTING.md", *WORKFLOWS], ids=lambda path: path.name)
def test_commands_are_targets_of_the_makefile(path):
    targets = make_targets(path.read_text(encoding="utf-8"))
    assert not [name for name in targets if f"\n{name}:" not in MAKEFILE]


def test_every_target_for_developers_is_explained():
    described = set(re.findall(r"\.PHONY:(.*)", MAKEFILE)[0].split())
    assert described - make_targets(GUIDE) <= {"demo", "pictures"}


def test_there_is_an_example_for_each_recipe():
    titles = [title for title, text in sections() if list(hunks(text))]
    assert titles == [
        *("A growth parameter", "A loss", "A sampling method", "A split rule"),
        *("A neighbour metric", "An engine"),
    ]


@pytest.mark.parametrize(("path", "before"), hunks(GUIDE))
def test_examples_fit_the_sources(path, before):
    assert (ROOT / path).read_text(encoding="utf-8").count(before) == 1


@pytest.mark.parametrize("title", MOST_FILES)
def test_a_change_takes_few_files(title):
    files = {path for path, _ in hunks(dict(sections())[title])}
    assert len([path for path in files if path.startswith(("native", "src"))]) <= MOST_FILES[title]


def test_tests_that_commands_leave_out_exist():
    left_out = set(re.findall(r"\bnot ([a-z]+(?:_[a-z]+)+)\b", MAKEFILE))
    files = (ROOT / "tests").rglob("test_*.py")
    names = set(re.findall(r"def (test_\w+)", "\n".join(path.read_text("utf-8") for path in files)))
    assert len(left_out) > 5
    assert [part for part in left_out if not any(part in name for name in names)] == []
