"""The page for coding assistants says what the library accepts, and llms.txt leads to pages."""

import re
from pathlib import Path

import pytest

import hedgerow as hr

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "assistants.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("| parameter of `GradientBoosting*`")[2].partition("\n\n")[0]
NAMED = [
    [re.findall(r"`(\w+)`", cell) for cell in (row.split("|")[1], row.split("|")[3])]
    for row in TABLE.splitlines()[2:]
]


def test_the_page_fits_on_a_screen_or_two():
    assert len(PAGE.splitlines()) < 90


@pytest.mark.parametrize(("names", "wrong"), NAMED)
def test_parameters_have_these_names_and_errors_lead_from_others_to_them(names, wrong):
    assert set(names) <= set(hr.GradientBoostingClassifier().get_params())
    for name in wrong:
        with pytest.raises(TypeError, match="|".join(names)):
            hr.GradientBoostingClassifier(**{name: 1})


def test_estimators_that_the_page_names_exist():
    tables = re.findall(r"`([A-Z]\w+)`", PAGE.partition("| task | estimator |")[2])
    estimators = set(tables) - {"DMatrix", "Dataset", "Pool", "DataError", "False", "None"}
    assert len(estimators) > 8
    assert estimators <= set(hr.__all__)


def test_llms_txt_leads_to_pages():
    text = (DOCS / "_root" / "llms.txt").read_text(encoding="utf-8")
    pages = re.findall(r"\]\(([\w/]+)\.html\)", text)
    assert text.startswith("# Hedgerow\n\n> ")
    assert pages[0] == "assistants"
    assert [page for page in pages if not (DOCS / f"{page}.md").exists()] == []
