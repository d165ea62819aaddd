"""A tree's picture says what the tree does, and can be read."""

from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier as SklearnTree

import hedgerow as hr
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot import TreeDisplay
from hedgerow.plot._tree_contents import tidy_positions
from oracles.pictures import assert_no_overlap, texts_of

mpl.use("Agg")
import matplotlib.pyplot as plt

draw = TreeDisplay.from_estimator
IRIS = load_iris(as_frame=True)
SPECIES = IRIS.target_names[IRIS.target]
CANCER, TUMOUR = load_breast_cancer(return_X_y=True, as_frame=True)
DIABETES = load_diabetes(as_frame=True, scaled=False)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def headlines(display):
    return [node.lines[0] for node in display.nodes]


# Where nodes go.


@st.composite
def shapes(draw):
    """Give children, in the order of breadth, and widths of a random binary tree."""
    children, depth = [], [0]
    place = 0
    while place < len(depth):
        if depth[place] < 6 and len(depth) < 60 and draw(st.booleans()):
            children.append((len(depth), len(depth) + 1))
            depth += [depth[place] + 1] * 2
        else:
            children.append(None)
        place += 1
    widths = draw(st.lists(st.floats(1, 100), min_size=len(depth), max_size=len(depth)))
    return children, depth, np.array(widths)


@given(shapes())
@settings(max_examples=60)
def test_nodes_of_a_level_never_overlap_and_parents_are_above_the_middle(shape):
    children, depth, widths = shape
    x = tidy_positions(children, widths, 5.0)
    for level in set(depth):
        nodes = [i for i, d in enumerate(depth) if d == level]
        nodes.sort(key=lambda i: x[i])
        for a, b in pairwise(nodes):
            assert x[b] - widths[b] / 2 - (x[a] + widths[a] / 2) >= 5.0 - 1e-6
    for node, below in enumerate(children):
        if below is not None:
            assert x[node] == pytest.approx((x[below[0]] + x[below[1]]) / 2)
    assert min(x - widths / 2) == pytest.approx(0.0)


def test_a_subtree_moves_below_a_shallow_neighbour():
    # The deep left subtree is wider than its parent's level, and may reach below the right leaf.
    children = [(1, 2), (3, 4), None, None, None]
    x = tidy_positions(children, np.array([10.0, 10.0, 10.0, 10.0, 10.0]), 2.0)
    np.testing.assert_allclose(np.diff(x[[3, 4]]), 12.0)
    np.testing.assert_allclose(x[2] - x[1], 12.0)


# What is written.


def test_tests_gains_and_rows_are_those_of_the_tree():
    model = hr.DecisionTreeClassifier(max_depth=2).fit(IRIS.data, SPECIES)
    display = draw(model)
    assert headlines(display)[0] == "petal length (cm) ≤ 2.45"
    assert headlines(display)[1] == "setosa: 100 %"
    assert display.nodes[0].lines[1] == "gain 50 · 150 rows"
    assert [node.lines[-1] for node in display.nodes if node.kind == "leaf"] == [
        *("50 rows", "54 rows", "46 rows")
    ]


def test_missing_values_are_named_where_they_go_left():
    x = np.r_[np.arange(20.0), np.full(5, np.nan)]
    for with_gap, expected in ((0.0, " or missing"), (1.0, "")):
        y = np.r_[np.zeros(10), np.ones(10), np.full(5, with_gap)]
        model = hr.DecisionTreeRegressor(max_depth=1).fit(pd.DataFrame({"income": x}), y)
        assert headlines(draw(model))[0] == "income ≤ 9.5" + expected


def test_a_test_for_missing_alone_says_so():
    X = pd.DataFrame({"income": np.r_[np.zeros(10), np.full(10, np.nan)]})
    model = hr.DecisionTreeRegressor(max_depth=1).fit(X, np.repeat([0.0, 1.0], 10))
    assert headlines(draw(model))[0] == "income is not missing"


def test_categories_are_listed_and_cut_short():
    towns = [f"{letter}ville" for letter in "ABCDEFGH"]
    X = pd.DataFrame({"town": np.repeat(towns, 10)}, dtype="category")
    y = np.repeat([0, 0, 0, 0, 0, 0, 1, 1], 10).astype(float)
    model = hr.DecisionTreeRegressor(max_depth=1).fit(X, y)
    text = headlines(draw(model))[0]
    listed = text.removeprefix("town is ").removesuffix(" or missing")
    assert listed in ("Aville, Bville, … 4 more", "Gville or Hville")


def test_numbers_are_rounded_as_a_person_would():
    from hedgerow.plot._display import number

    values = [52.34, 0.012345, 2010.5, 123456.7, 3.0, -1.5, 0.0, 1.23e-7, 45678.9]
    expected = ["52.3", "0.0123", "2010.5", "123,457", "3", "−1.5", "0", "1.23e−07", "45,678.9"]
    assert [number(value) for value in values] == expected


def test_leaves_of_boosted_models_add_to_a_named_score():
    model = hr.GradientBoostingClassifier(n_estimators=3, max_leaves=4).fit(IRIS.data, SPECIES)
    display = draw(model, 4)
    assert "the score of versicolor" in display.meaning
    leaves = [node for node in display.nodes if node.kind == "leaf"]
    own = model._fitted_model().ensemble.tree(4)
    assert sorted(float(n.value[0]) for n in leaves) == sorted(own.value[own.feature < 0, 0])


def test_encoded_categories_are_named_as_mean_targets():
    rng = np.random.default_rng(0)
    town = rng.integers(0, 300, 2000)
    X = pd.DataFrame({"size": rng.normal(size=2000), "town": [f"t{i}" for i in town]})
    y = (town % 7 > 3) + 0.1 * rng.normal(size=2000)
    model = hr.GradientBoostingRegressor(n_estimators=2, max_leaves=3).fit(X, y)
    assert headlines(draw(model))[0].startswith("mean target of town ≤")


# What leaves show.


def test_bars_count_the_classes_of_the_rows_in_each_leaf():
    model = hr.GradientBoostingClassifier(n_estimators=2, max_leaves=5).fit(CANCER, TUMOUR)
    display = draw(model, 1, CANCER, TUMOUR)
    leaf = model.apply(CANCER)[:, 1]
    for node in display.nodes:
        if node.kind == "leaf":
            expected = np.bincount(TUMOUR[leaf == node.node], minlength=2)
            np.testing.assert_array_equal(node.bars, expected)


def test_bars_of_numbers_are_a_histogram_of_the_targets():
    model = hr.DecisionTreeRegressor(max_depth=2).fit(DIABETES.data, DIABETES.target)
    display = draw(model, 0, DIABETES.data, DIABETES.target)
    leaf = model.apply(DIABETES.data)
    for node in display.nodes:
        if node.kind == "leaf":
            expected, _ = np.histogram(DIABETES.target[leaf == node.node], display.edges)
            np.testing.assert_array_equal(node.bars, expected)


def test_without_rows_leaves_show_the_shares_that_they_hold():
    model = hr.RandomForestClassifier(n_estimators=3).fit(IRIS.data, SPECIES)
    shares = model[2].predict_proba(IRIS.data)
    display = draw(model, 2)
    leaf = model[2].apply(IRIS.data)
    for node in display.nodes:
        if node.kind == "leaf" and (leaf == node.node).any():
            expected = shares[leaf == node.node][0]
            np.testing.assert_allclose(node.bars / node.bars.sum(), expected)


# Depth.


def test_stubs_tell_how_many_leaves_are_left_out():
    model = hr.DecisionTreeRegressor(max_depth=6).fit(DIABETES.data, DIABETES.target)
    display = draw(model, max_depth=2)
    stubs = [node for node in display.nodes if node.kind == "stub"]
    n_omitted = sum(int(node.lines[0].split()[1]) for node in stubs)
    n_visible = sum(node.kind == "leaf" for node in display.nodes)
    assert n_visible + n_omitted == model.get_n_leaves()
    assert max(node.depth for node in display.nodes) == 2


def test_by_default_a_deep_tree_is_drawn_as_far_as_it_can_be_read():
    model = hr.RandomForestRegressor(n_estimators=1).fit(DIABETES.data, DIABETES.target)
    display = draw(model)
    assert 4 <= sum(node.kind != "split" for node in display.nodes) <= 16


def test_by_default_a_tree_of_many_leaves_fits_a_page_and_all_of_it_is_drawn_on_demand():
    model = hr.DecisionTreeRegressor(max_leaves=64).fit(DIABETES.data, DIABETES.target)
    display = draw(model)
    assert display.figure_.get_size_inches()[0] < 13
    assert sum(node.kind == "split" for node in display.nodes) > 3
    whole = draw(model, max_depth="all")
    assert sum(node.kind == "leaf" for node in whole.nodes) == model.get_n_leaves() == 64
    # A page may be too narrow for anything, but a tree is not folded to its root.
    wide = DIABETES.data.rename(columns=lambda name: "a column with a long name, " * 4 + name)
    wide = draw(hr.DecisionTreeRegressor(max_leaves=64).fit(wide, DIABETES.target))
    assert max(node.depth for node in wide.nodes) == 2


def test_wider_lines_carry_more_cover():
    model = hr.DecisionTreeClassifier(max_depth=1).fit(IRIS.data, SPECIES)
    thin, thick = draw(model).ax_.lines[:2]
    assert thin.get_linewidth() < thick.get_linewidth()


# Drawing.


MODELS = [
    hr.DecisionTreeClassifier(max_depth=3),
    hr.GradientBoostingClassifier(n_estimators=2, max_leaves=6),
    hr.AdaBoostClassifier(n_estimators=3),
    hr.RandomForestClassifier(n_estimators=2),
    hr.ExtraTreesClassifier(n_estimators=2),
    hr.BaggingClassifier(n_estimators=2),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_nothing_overlaps(model):
    model.fit(IRIS.data, SPECIES)
    for rows in ((), (IRIS.data, SPECIES)):
        display = draw(model, -1, *rows)
        assert_no_overlap(display.figure_)
        written = {text.get_text() for text in texts_of(display.figure_)}
        assert set(headlines(display)) <= written


def test_a_tree_fits_into_axes_that_are_given():
    _, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    model = hr.DecisionTreeClassifier(max_depth=3).fit(IRIS.data, SPECIES)
    display = draw(model, ax=axes[1])
    assert display.ax_ is axes[1]
    axes[0].set_axis_off()
    assert_no_overlap(display.figure_)


def test_a_tree_of_one_leaf_can_be_drawn():
    display = draw(hr.DecisionTreeRegressor().fit([[1.0], [1.0]], [2.0, 2.0]))
    assert headlines(display) == ["2"]
    assert_no_overlap(display.figure_)


def test_strange_names_are_written_as_they_are():
    X = IRIS.data.set_axis(["$a_1$", "x" * 80, "a\nb", "<i>"], axis=1)
    display = draw(hr.DecisionTreeClassifier(max_depth=3).fit(X, SPECIES))
    assert_no_overlap(display.figure_)


OTHERS = [
    hr.GradientBoostingClassifier(n_estimators=1, max_leaves=4, multi_strategy="vector"),
    hr.GradientBoostingRegressor(n_estimators=1, max_leaves=4, linear_leaves=True),
    hr.AdaBoostRegressor(n_estimators=2),
]


@pytest.mark.parametrize("model", OTHERS, ids=lambda model: type(model).__name__)
def test_vector_leaves_slopes_and_medians_can_be_drawn(model):
    is_classifier = hasattr(model, "predict_proba")
    rows = (IRIS.data, SPECIES) if is_classifier else (DIABETES.data, DIABETES.target)
    assert_no_overlap(draw(model.fit(*rows), 0, *rows).figure_)


def test_several_outputs_can_be_drawn_without_their_targets():
    several = np.column_stack([DIABETES.target, -DIABETES.target])
    model = hr.DecisionTreeRegressor(max_depth=2).fit(DIABETES.data, several)
    display = draw(model)
    assert_no_overlap(display.figure_)
    assert ", " in headlines(display)[-1]
    with pytest.raises(ParameterError, match="several columns"):
        draw(model, 0, DIABETES.data, several)


# Bad input.


def test_bad_input_is_refused_by_name():
    model = hr.RandomForestClassifier(n_estimators=2).fit(IRIS.data, SPECIES)
    with pytest.raises(ParameterError, match=r"tree=2 is not allowed.*trees 0 to 1"):
        draw(model, 2)
    with pytest.raises(ParameterError, match="max_depth=0"):
        draw(model, max_depth=0)
    with pytest.raises(ParameterError, match="both X and y"):
        draw(model, 0, IRIS.data)
    with pytest.raises(DataError, match="'rose'"):
        draw(model, 0, IRIS.data, np.full(150, "rose"))
    with pytest.raises(ParameterError, match="ax has the type int"):
        draw(model, ax=3)
    with pytest.raises(ParameterError, match="SVC is not allowed"):
        draw(hr.SVC().fit(IRIS.data, SPECIES))
    with pytest.raises(NotFittedError):
        draw(hr.DecisionTreeClassifier())
    own = hr.AdaBoostClassifier(SklearnTree(max_depth=1), n_estimators=2).fit(IRIS.data, SPECIES)
    with pytest.raises(ParameterError, match="separate estimators"):
        draw(own)
