"""Long explanations show how far they are, if asked to, and say the same as without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import explain

X = np.random.RandomState(0).normal(size=(50, 3))
Y = X[:, 0] * X[:, 1] + X[:, 2]
MODEL = hr.GradientBoostingRegressor(n_estimators=30, max_leaves=4).fit(X, Y)

# What is asked, what is counted, and the number of which the last line tells.
CALLS: dict[str, tuple[Callable[..., Any], str]] = {
    "values": (lambda **o: explain.shap_values(MODEL, X, **o).values, "row 50/50"),
    "pairs": (
        lambda **o: explain.shap_values(MODEL, X, interactions=True, **o).values,
        "row 50/50",
    ),
    "against": (lambda **o: explain.shap_values(MODEL, X, background=9, **o).values, "row 50/50"),
    "partial dependence": (
        lambda **o: [r.average for r in explain.partial_dependence(MODEL, X, [0, 1], **o)],
        "feature 2/2",
    ),
    "accumulated effects": (
        lambda **o: explain.accumulated_effects(MODEL, X, 0, **o).average,
        "feature 1/1",
    ),
    # Each of three columns, with the two others, which are the pairs as well.
    "interaction": (lambda **o: explain.interaction_strength(MODEL, X, **o).h2, "part 6/6"),
    "permutation": (
        lambda **o: explain.permutation_importance(MODEL, X, Y, n_repeats=2, **o).repeats,
        "shuffle 6/6",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_lines_tell_how_far_it_is(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    call, last = CALLS[name]
    silent = call()
    assert capsys.readouterr().err == ""
    with_progress = call(verbose=1)
    assert capsys.readouterr().err.splitlines()[-1] == last
    assert np.array_equal(silent, with_progress)


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_verbose_is_refused(name: str) -> None:
    with pytest.raises(hr.ParameterError, match="verbose=-1"):
        CALLS[name][0](verbose=-1)
