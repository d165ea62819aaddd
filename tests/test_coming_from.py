"""The pages for those who come from another library know its names, and so do our constructors."""

import re
from dataclasses import astuple
from inspect import signature
from pathlib import Path

import pytest

import hedgerow as hr
from contract import UNMET
from hedgerow._boosting.estimators.parameters import PARAMETERS
from hedgerow._params import Peers, _options
from hedgerow._peer_values import value_instead

PAGES = Path(__file__).parents[1] / "docs" / "coming_from"
LIBRARIES = ["xgboost", "lightgbm", "catboost"]
ESTIMATORS = [hr.GradientBoostingClassifier, hr.GradientBoostingRegressor]


def names(cell):
    return re.findall(r"`([a-z_0-9]+)`", cell)


def rows(library):
    """Return their names and ours, row by row of the page's table of parameters."""
    text = (PAGES / f"{library}.md").read_text(encoding="utf-8")
    table = text.split("## Parameters")[1].split("\n## ")[0]
    cells = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    return [(names(theirs), names(ours)) for theirs, ours in cells]


def answers(name):
    """Return what the constructors say of a name that is not theirs; None if one takes it."""
    messages = []
    for estimator in ESTIMATORS:
        try:
            estimator(**{name: 1})
        except TypeError as error:
            messages.append(str(error))
        else:
            return None
    return " ".join(messages)


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_name_that_is_declared_is_on_the_page(library):
    place = list(Peers.__dataclass_fields__).index(library)
    declared = {astuple(parameter.peers)[place] for parameter in PARAMETERS} - {""}
    written = {name for theirs, _ in rows(library) for name in theirs}
    assert declared <= written


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_the_page_calls_ours_is_a_parameter(library):
    known = {parameter.name for parameter in PARAMETERS}
    assert {name for _, ours in rows(library) for name in ours} <= known


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_constructors_answer_with_what_the_page_says(library):
    for theirs, ours in rows(library):
        for name in theirs if ours else ():
            message = answers(name)
            assert message is None or any(f"'{one}'" in message for one in ours), name


def losses(library):
    """Return their losses and our estimator and loss, where the page gives one for one."""
    text = (PAGES / f"{library}.md").read_text(encoding="utf-8")
    table = re.split(r"## (?:Objectives|Losses)", text)[1].split("\n## ")[0]
    for line in table.splitlines():
        theirs, ours = ([*line.split("|")[1:3], ""] if line.startswith("| `") else ["", ""])[:2]
        found = re.findall(r'"(\w+)"', ours)
        if len(found) == 1 and "loss=" in ours:
            estimator = re.search(r"GradientBoosting\w+", ours)
            for name in re.findall(r"`([\w:]+)", theirs):
                yield name, found[0], estimator[0] if estimator else None


@pytest.mark.parametrize("library", LIBRARIES)
def test_losses_are_answered_as_the_page_says(library):
    answered = list(losses(library))
    assert len(answered) >= 5
    for theirs, ours, named in answered:
        messages = []
        for estimator in ESTIMATORS if named is None else [getattr(hr, named)]:
            loss = next(p for p in estimator._parameters if p.name == "loss")
            messages.append(value_instead("loss", theirs, _options(loss.allowed)))
        is_ours = named is None and theirs == ours
        assert is_ours or any(f"'{ours}'" in each for each in messages), (theirs, messages)


@pytest.mark.parametrize("library", LIBRARIES)
def test_arguments_are_answered(library):
    text = (PAGES / f"{library}.md").read_text(encoding="utf-8")
    model = hr.GradientBoostingClassifier()
    for method, name in re.findall(r"`(fit|predict)\(\.\.\., (\w+)=", text):
        ask = getattr(model, method)
        if name in signature(ask).parameters:
            continue
        with pytest.raises(TypeError, match=f"argument '{name}'; (?!its arguments)"):
            ask(**{name: 1})


def test_the_page_for_scikit_learn_knows_every_name_that_is_declared():
    page = (PAGES / "scikit_learn.md").read_text(encoding="utf-8")
    declared = {p.peers.sklearn for p in PARAMETERS if p.name != "calibration"} - {""}
    assert [name for name in declared if f"`{name}`" not in page] == []


def test_the_page_for_scikit_learn_lists_the_checks_that_are_not_met():
    page = (PAGES / "scikit_learn.md").read_text(encoding="utf-8")
    lines = page.split("## Checks that are not met")[1].split("\n## ")[0].splitlines()
    table = [tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in lines if "|" in line]
    expected = [
        (unmet.estimators, ", ".join(f"`{check}`" for check in unmet.checks), unmet.reason)
        for unmet in UNMET
    ]
    assert table[2:] == expected
