"""The data profile: what it counts, and what it warns of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from hedgerow._reporting.columns import Column
from hedgerow._reporting.outcomes import ClassOutcome, NumberOutcome
from hedgerow._reporting.profile import data_profile

N = 400
DRAW = np.random.RandomState(0)
LABELS = DRAW.choice(["a", "b", "c"], N)


def number(name: str, values: Any, kind: str = "numeric") -> Column:
    return Column(name, np.asarray(values, np.float64), kind, False)


def category(name: str, values: Any) -> Column:
    return Column(name, np.array(values, dtype=object), "categorical", True)


def profile_of(*columns: Column, y: Any = None) -> dict[str, Any]:
    target = DRAW.normal(size=N) if y is None else np.asarray(y, np.float64)
    return data_profile(columns, [NumberOutcome("", target, target)], range(len(columns)))


def notes_of(profile: dict[str, Any]) -> dict[str, list[str]]:
    return {note["title"]: note["columns"] for note in profile["notes"]}


def test_missing_and_distinct_values_are_counted() -> None:
    size = DRAW.normal(size=N)
    size[:30] = np.nan
    color = np.where(np.arange(N) < 50, None, LABELS)
    profile = profile_of(number("size", size), category("color", color))
    assert [c["n_missing"] for c in profile["columns"]] == [30, 50]
    assert profile["columns"][1]["missing"] == pytest.approx(50 / N)
    assert [c["n_distinct"] for c in profile["columns"]] == [N - 30, 3]
    assert (profile["n_missing"], profile["n_with_missing"]) == (80, 2)
    assert sum(bar["rows"] for bar in profile["columns"][0]["histogram"]) == N - 30
    most = pd.Series(LABELS[50:]).value_counts()
    assert profile["columns"][1]["labels"][0]["rows"] == most.iloc[0]


def test_identifiers_constant_and_mostly_missing_columns_are_noted() -> None:
    mostly = np.full(N, np.nan)
    mostly[:100] = DRAW.normal(size=100)
    nearly = np.zeros(N)
    nearly[0] = 1.0
    profile = profile_of(
        number("measure", DRAW.normal(size=N)),  # all different, as measures are
        number("customer", DRAW.permutation(N) + 1000, "integer"),
        category("code", [f"id {i}" for i in range(N)]),
        number("one", np.ones(N)),
        number("nearly", nearly),
        number("nothing", np.full(N, np.nan)),
        number("mostly", mostly),
    )
    notes = notes_of(profile)
    assert notes["Possible identifiers"] == ["customer", "code"]
    assert notes["Constant features"] == ["one"]
    assert notes["Nearly constant features"] == ["nearly"]
    assert notes["Entirely missing"] == ["nothing"]
    assert notes["Mostly missing"] == ["mostly"]


def test_duplicate_rows_are_counted_with_missing_values_and_zeros() -> None:
    size, color = DRAW.normal(size=N), LABELS.astype(object).copy()
    size[:4] = [np.nan, np.nan, 0.0, -0.0]
    color[:4] = [None, None, "a", "a"]
    y = DRAW.normal(size=N)
    y[1] = y[0]
    profile = profile_of(number("size", size), category("color", color), y=y)["duplicates"]
    assert profile == {"n_rows": 2, "n_conflicting": 1, "most": 2}
    assert "Duplicate rows" not in notes_of(profile_of(number("size", DRAW.normal(size=N))))


def test_correlations_are_of_the_right_kind() -> None:
    size = DRAW.normal(size=N)
    near = size + 0.3 * DRAW.normal(size=N)
    near[:20] = np.nan
    shade = np.where(LABELS == "a", "dark", "light")
    by_label = (LABELS == "a") * 3.0 + DRAW.normal(size=N)
    profile = profile_of(
        number("size", size),
        number("near", near),
        category("label", LABELS),
        category("shade", shade),
        number("by label", by_label),
        category("noise", DRAW.choice([f"n{i}" for i in range(40)], N)),
        y=-(size**3),
    )["associations"]
    pairs = {(p["first"], p["second"]): p for p in profile["pairs"]}
    known = slice(20, None)
    expected = spearmanr(size[known], near[known]).statistic
    assert pairs["size", "near"]["value"] == pytest.approx(expected, abs=0.01)
    assert pairs["size", "near"]["measure"] == "Spearman's ρ"
    assert pairs["label", "shade"]["value"] == pytest.approx(1.0, abs=0.02)
    assert pairs["label", "shade"]["measure"] == "Cramér's V"
    assert 0.6 < pairs["label", "by label"]["value"] < 0.95
    assert pairs["label", "by label"]["measure"] == "correlation ratio η"
    # Forty categories of noise would look like an association if it were not corrected for.
    assert not any("noise" in names for names in pairs)
    assert profile["target"][0]["name"] == "size"
    assert profile["target"][0]["value"] == pytest.approx(-1.0)


def test_a_column_that_gives_the_target_away_is_noted() -> None:
    classes = (DRAW.rand(N) < 0.2).astype(np.intp)
    code = np.where(classes == 1, "paid", "open")
    columns = [
        number("size", classes + DRAW.normal(size=N)),
        category("status", code),
        category("code", [f"id {i}" for i in range(N)]),  # knows each row, and no other
        number("copy", np.where(DRAW.rand(N) < 0.005, 1 - classes, classes)),
    ]
    outcome = ClassOutcome("", ("no", "yes"), classes, classes, None)
    notes = notes_of(data_profile(columns, [outcome], range(4)))
    assert sorted(notes["Possible target leakage"]) == ["copy", "status"]
    y = DRAW.lognormal(size=N)
    profile = notes_of(profile_of(number("log", np.log(y)), number("size", y + 3.0), y=y))
    assert profile["Possible target leakage"] == ["log", "size"]
    assert "Possible target leakage" not in notes_of(
        profile_of(number("near", y + 0.5 * DRAW.normal(size=N)), y=y)
    )


def test_rare_classes_are_noted() -> None:
    classes = (np.arange(N) < 20).astype(np.intp)
    outcome = ClassOutcome("", ("no", "yes"), classes, classes, None)
    column = number("size", DRAW.normal(size=N))
    assert notes_of(data_profile([column], [outcome], [0]))["Imbalanced classes"] == ["yes (5.0%)"]


def test_few_rows_have_a_profile_without_correlations() -> None:
    y = np.zeros(3)
    profile = data_profile([number("size", [1.0, 2.0, np.nan])], [NumberOutcome("", y, y)], [0])
    assert "absent" in profile["associations"]
    assert profile["notes"] == []
