"""The index of the lectures: every call in it runs, and every test that it names exists."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "lectures_index.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+) \| (.*?) \| (.+?) \| `(.+)` \| `(tests/.+?)::(\w+)` \|$", re.MULTILINE)
DOCUMENTS = ("1", "2", "3", "4", "5")


class Item(NamedTuple):
    number: int
    call: str
    file: str
    test: str


ITEMS = [
    Item(int(row[1]), row[4].replace(r"\|", "|"), row[5], row[6]) for row in ROW.finditer(PAGE)
]


@pytest.fixture(scope="module")
def names():
    defined = {}
    exec(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1], defined)
    return defined


@cache
def functions_of(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    return set(re.findall(r"^def (test_\w+)\(", text, re.MULTILINE))


def test_items_are_numbered_counted_and_of_every_document():
    assert [item.number for item in ITEMS] == list(range(1, len(ITEMS) + 1))
    assert len(ITEMS) == len(re.findall(r"^\| \d", PAGE, re.MULTILINE))  # no row is overlooked
    assert f"that holds it: {len(ITEMS)} items" in PAGE.replace("\n", " ")
    assert re.findall(r"^## (\d) ", PAGE, re.MULTILINE) == list(DOCUMENTS)


def test_every_call_runs_and_every_comparison_holds(names):
    false = []
    for item in ITEMS:
        value = eval(item.call, names)
        plt.close("all")
        if isinstance(value, bool | np.bool_) and not value:
            false.append(item)
    assert not false


def test_every_test_exists():
    missing = [
        item
        for item in ITEMS
        if not (ROOT / item.file).exists() or item.test not in functions_of(item.file)
    ]
    assert not missing
