"""Partial dependence: curves, bars and maps of what was computed."""

import sys
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot import PartialDependenceDisplay
from oracles.pictures import assert_no_overlap

mpl.use("Agg")
import matplotlib.pyplot as plt

draw = PartialDependenceDisplay.from_result


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def curve(name="income", n_rows=None, scale=1.0):
    grid = np.linspace(0.0, 10.0, 21)
    average = scale * np.sqrt(grid)
    individual = None
    if n_rows:
        individual = average + np.linspace(-1.0, 1.0, n_rows)[:, np.newaxis]
    return name, grid, average, individual, np.linspace(1.0, 9.0, 9)


def bars(name="town", n_rows=None):
    grid = np.array(["Bath", "Ely", "York"], dtype=object)
    average = np.array([1.0, 3.0, 2.0])
    individual = None if not n_rows else np.tile(average, (n_rows, 1))
    return name, grid, average, individual, None


def surface(names=("income", "age"), grids=None):
    grids = grids or (np.linspace(0.0, 1.0, 8), np.linspace(20.0, 60.0, 5))
    sizes = [len(grid) for grid in grids]
    return names, grids, np.add.outer(np.arange(sizes[0]), np.arange(sizes[1])) * 0.1, None, None


def result(*panels, kind="average", unit="price in $"):
    features, grids, average, individual, deciles = map(list, zip(*panels, strict=True))
    return SimpleNamespace(
        features=features,
        grids=grids,
        average=average,
        individual=individual,
        deciles=deciles,
        kind=kind,
        unit=unit,
    )


def test_a_curve_is_the_average_and_ticks_are_the_deciles():
    display = draw(result(curve()))
    (line,) = display.ax_.lines
    np.testing.assert_array_equal(line.get_ydata(), curve()[2])
    ticks = [path.vertices[0, 0] for path in display.ax_.collections[0].get_paths()]
    np.testing.assert_allclose(ticks, np.linspace(1.0, 9.0, 9))
    assert display.ax_.get_ylabel() == "mean price in $"


def test_single_rows_are_thin_lines_and_not_too_many():
    display = draw(result(curve(n_rows=500), kind="both"))
    thin = [line for line in display.ax_.lines if line.get_linewidth() < 1.0]
    assert 40 <= len(thin) <= 60
    assert len(display.ax_.lines) == len(thin) + 1


def test_categories_have_bars():
    display = draw(result(bars(n_rows=10)))
    assert [bar.get_width() for bar in display.ax_.patches] == [1.0, 3.0, 2.0]
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["Bath", "Ely", "York"]


def test_curves_share_their_scale():
    display = draw(result(curve(), curve("age", scale=5.0), bars()))
    assert display.axes_[0].get_ylim() == display.axes_[1].get_ylim()
    assert display.axes_[0].get_ylim()[1] > 5.0 * np.sqrt(10.0)


def test_two_features_have_a_map_the_right_way_round():
    grids = (np.array([0.0, 1.0]), np.array(["a", "b", "c"], dtype=object))
    display = draw(result(surface(("x", "y"), grids)))
    mesh = display.ax_.collections[0]
    np.testing.assert_allclose(mesh.get_array().reshape(3, 2), surface(("x", "y"), grids)[2].T)
    assert display.ax_.get_xlabel() == "x"
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["a", "b", "c"]


def test_nothing_overlaps():
    everything = result(curve(n_rows=30), bars(n_rows=30), surface(), curve("age"), kind="both")
    display = draw(everything)
    assert len(display.axes_) == 4
    assert_no_overlap(display.figure_)
    _, axes = plt.subplots(1, 2, figsize=(16, 7), layout="constrained")
    plt.sca(axes[1])
    display = draw(everything, ax=axes[0])
    assert display.ax_ is axes[0]
    assert plt.gca() is axes[1]
    assert_no_overlap(display.figure_)


def test_accumulated_effects_are_called_so():
    display = draw(result(curve(), kind="accumulated"))
    assert display.ax_.get_ylabel() == "effect on price in $"


def test_an_estimator_is_asked_for_its_dependence(monkeypatch):
    def partial_dependence(model, X, features, *, kind):
        assert (model, X, features, kind) == ("model", "rows", ["income"], "both")
        return result(curve())

    explain = SimpleNamespace(partial_dependence=partial_dependence)
    monkeypatch.setitem(sys.modules, "hedgerow.explain", explain)
    PartialDependenceDisplay.from_estimator("model", "rows", ["income"], kind="both")


def test_bad_results_are_refused():
    with pytest.raises(ParameterError, match="result is a dict"):
        draw({})
    with pytest.raises(DataError, match="entry for each panel"):
        draw(SimpleNamespace(features=[], grids=[], average=[]))
    wrong = result(curve())
    wrong.average = [np.zeros(3)]
    with pytest.raises(DataError, match=r"shape \(3,\), but its grid \(21,\)"):
        draw(wrong)
    wrong.average = [None]
    with pytest.raises(DataError, match="nothing to draw of 'income'"):
        draw(wrong)
    free = plt.figure().add_axes((0.1, 0.1, 0.8, 0.8))
    with pytest.raises(ParameterError, match="cannot be divided"):
        draw(result(curve(), bars()), ax=free)
