"""What all displays promise: lazily imported matplotlib, nothing of pyplot's state changed."""

import sys
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.plot._display import short, shorts
from oracles import pictures

mpl.use("Agg")
import matplotlib.pyplot as plt


def test_every_display_has_the_contract():
    displays = [getattr(hr.plot, name) for name in hr.plot.__all__]
    assert len(displays) == 19
    for display in displays:
        assert callable(display.from_estimator)
        assert callable(display.plot)
        assert display.__doc__


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    model = hr.DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(ImportError, match="pip install matplotlib"):
        hr.plot.TreeDisplay.from_estimator(model)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        hr.plot.RocDisplay.from_predictions([0, 1], [0.2, 0.7])


def test_settings_and_current_axes_stay_as_they_were():
    before = dict(mpl.rcParams)
    _, (one, other) = plt.subplots(1, 2)
    plt.sca(other)
    numbers = plt.get_fignums()
    hr.plot.ResidualDisplay.from_predictions([0.0, 1.0, 2.0], [0.1, 1.2, 1.9], ax=one)
    hr.plot.ImportanceDisplay.from_values(["a"], [1.0], ax=other)
    assert plt.gca() is other
    assert plt.get_fignums() == numbers
    assert dict(mpl.rcParams) == before
    plt.close("all")


def test_a_display_can_be_drawn_again():
    display = hr.plot.RocDisplay.from_predictions([0, 1, 1, 0], [0.2, 0.7, 0.4, 0.5])
    first = display.figure_
    assert display.plot() is display
    assert display.figure_ is not first
    plt.close("all")


def test_displays_fit_into_subfigures():
    figure = plt.figure(figsize=(12, 5), layout="constrained")
    left, right = figure.subfigures(1, 2)
    model = hr.DecisionTreeRegressor(max_depth=2).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0])
    hr.plot.TreeDisplay.from_estimator(model, ax=left.subplots())
    shap = SimpleNamespace(values=np.eye(3), base_values=0.0, data=np.eye(3))
    hr.plot.ShapBeeswarmDisplay.from_values(shap, ax=right.subplots())
    pictures.assert_no_overlap(figure)
    plt.close("all")


def test_overlaps_would_be_seen():
    figure = plt.figure()
    figure.text(0.5, 0.5, "some words")
    figure.text(0.52, 0.5, "others")
    with pytest.raises(AssertionError, match="'some words' overlaps 'others'"):
        pictures.assert_no_overlap(figure)
    figure = plt.figure()
    figure.text(0.97, 0.5, "beyond the edge")
    with pytest.raises(AssertionError, match="is cut off"):
        pictures.assert_no_overlap(figure)
    plt.close("all")


def test_names_that_stand_side_by_side_stay_different():
    names = ["Married-civ-spouse", "Married-AF-spouse", "Divorced"]
    assert len(set(shorts(names, 14))) == 3
    assert shorts(["Divorced", "a name of many letters"], 10) == [
        "Divorced",
        short("a name of many letters", 10),
    ]
    assert shorts(["the same", "the same"], 4) == [short("the same", 4)] * 2
    assert shorts([], 4) == []
