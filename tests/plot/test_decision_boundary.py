"""Pictures of decisions: what is drawn is where theory, or predict, says it is."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier as SklearnNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as SklearnSVC  # noqa: N811
from sklearn.svm import LinearSVC as SklearnLinearSVC
from sklearn.tree import DecisionTreeRegressor as SklearnTree

import hedgerow as hr
from hedgerow._neighbors import KNeighborsClassifier
from hedgerow._svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, OneClassSVM
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot import DecisionBoundaryDisplay
from hedgerow.plot._colors import COLORS, class_colors, tint
from hedgerow.plot._decisions import REGION, UNSURE

mpl.use("Agg")
import matplotlib.pyplot as plt

draw = DecisionBoundaryDisplay.from_estimator
MOONS, MOON = make_moons(80, noise=0.2, random_state=0)
NAMED = np.array(["sun", "moon"])[MOON]
IRIS = load_iris(as_frame=True)
PETALS, SPECIES = IRIS.data.iloc[:, [2, 3]], IRIS.target_names[IRIS.target]
# Two rows at (0, 0) and (2, 2), and others beyond them: f(x) = (x1 + x2) / 2 − 1.
CORNERS = np.array([[0.0, 0.0], [-1.0, 0.0], [0.0, -1.0], [2.0, 2.0], [3.0, 2.0], [2.0, 4.0]])
SIDES = np.array(["low", "low", "low", "high", "high", "high"])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def points_of(lines):
    return np.vstack([path.vertices for path in lines.get_paths()])


def pixels(display, points):
    """Give the colours of the picture at some points of the plane."""
    display.figure_.canvas.draw()
    image = np.asarray(display.figure_.canvas.buffer_rgba())[:, :, :3] / 255.0
    x, y = display.ax_.transData.transform(points).T
    return image[(image.shape[0] - 1 - y).round().astype(int), x.round().astype(int)]


def assert_regions_are_those_of_predict(display, estimator, X):
    """Look at the colours of random points that are far enough from the edges of regions."""
    for lines in np.ravel(display.boundary_):
        lines.set_visible(False)
    points = np.random.default_rng(0).uniform(X.min(axis=0), X.max(axis=0), (400, 2))
    near = points[:, np.newaxis] + np.random.default_rng(1).normal(size=(30, 2)) * 0.02 * np.ptp(
        X, axis=0
    )
    own = estimator.predict(points)
    inner = (estimator.predict(near.reshape(-1, 2)).reshape(400, 30) == own[:, np.newaxis]).all(1)
    assert inner.sum() > 100
    place = np.searchsorted(estimator.classes_, own[inner])
    colors = class_colors(len(estimator.classes_), None)
    expected = tint(colors[place], REGION)
    np.testing.assert_allclose(pixels(display, points[inner]), expected, atol=0.01)


# Where lines are.


def test_boundary_and_margins_of_a_hard_margin_are_where_the_closed_form_says():
    machine = SVC(kernel="linear", C=np.inf).fit(CORNERS, SIDES == "high")
    display = draw(machine, CORNERS, eps=1.0)
    assert display.boundary_.levels.tolist() == [0.0]
    assert display.margins_.levels.tolist() == [-1.0, 1.0]
    np.testing.assert_allclose(points_of(display.boundary_).sum(axis=1), 2.0, atol=1e-5)
    low, high = (path.vertices for path in display.margins_.get_paths())
    np.testing.assert_allclose(low.sum(axis=1), 0.0, atol=1e-5)
    np.testing.assert_allclose(high.sum(axis=1), 4.0, atol=1e-5)


def test_margins_are_dashed_and_the_boundary_is_solid():
    display = draw(SVC().fit(MOONS, MOON), MOONS)
    assert all(on_off is None for _, on_off in display.boundary_.get_linestyle())
    assert all(on_off is not None for _, on_off in display.margins_.get_linestyle())


@pytest.mark.parametrize(
    "machine",
    [
        SVC(),
        NuSVC(nu=0.4),
        LinearSVC(loss="hinge"),
        LinearSVC(),
        SklearnSVC(),
        SklearnLinearSVC(),
        SGDClassifier(random_state=0),
        make_pipeline(StandardScaler(), SVC(kernel="poly")),
        GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=2),
    ],
    ids=lambda machine: type(machine).__module__.split(".")[0] + type(machine).__name__,
)
def test_the_decision_function_is_as_large_as_the_lines_say(machine):
    machine.fit(MOONS, MOON)
    display = draw(machine, MOONS)
    scale = np.ptp(machine.decision_function(MOONS))
    assert display.response_method == "decision_function"
    np.testing.assert_allclose(
        machine.decision_function(points_of(display.boundary_)), 0.0, atol=1e-3 * scale
    )
    np.testing.assert_allclose(
        np.abs(machine.decision_function(points_of(display.margins_))), 1.0, atol=1e-3 * scale
    )


def test_free_support_vectors_lie_on_the_margins():
    machine = SVC(C=1.0, tol=1e-8).fit(MOONS, MOON)
    display = draw(machine, MOONS, grid_resolution=500)
    free = np.abs(machine.dual_coef_[0]) < 1.0 - 1e-6
    assert free.sum() >= 3
    lines = points_of(display.margins_)
    gaps = np.linalg.norm(machine.support_vectors_[free][:, np.newaxis] - lines, axis=2).min(axis=1)
    assert gaps.max() < 0.01


def test_others_than_machines_have_a_boundary_but_no_margins():
    for estimator in (LogisticRegression(), GaussianNB(), hr.GradientBoostingClassifier()):
        display = draw(estimator.fit(MOONS, MOON), MOONS)
        assert display.margins_ is None
        assert display.support_vectors_ is None
        on_line = estimator.predict_proba(points_of(display.boundary_))[:, 1]
        if not isinstance(estimator, hr.GradientBoostingClassifier):
            np.testing.assert_allclose(on_line, 0.5, atol=0.01)


def test_a_boundary_that_is_elsewhere_is_not_drawn():
    machine = SVC(kernel="linear", C=np.inf).fit(CORNERS, SIDES)
    display = draw(machine, np.array([[50.0, 50.0], [51.0, 51.0]]))
    assert display.boundary_ is None
    assert display.margins_ is None
    assert display.legend_ is not None


def test_lines_of_a_regressor_have_the_predictions_that_are_written_on_them():
    X = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    linear = LinearRegression().fit(X, 3.0 * X[:, 0] - X[:, 1])
    display = draw(linear, X, 3.0 * X[:, 0] - X[:, 1])
    for level, path in zip(display.boundary_.levels, display.boundary_.get_paths(), strict=True):
        np.testing.assert_allclose(linear.predict(path.vertices), level, atol=1e-9)
    written = {float(text.get_text().replace("\N{MINUS SIGN}", "-")) for text in display.text_}
    assert len(written) >= 4
    assert written <= set(display.boundary_.levels.tolist())
    assert display.legend_ is None


@pytest.mark.parametrize("machine", [SVR(), LinearSVR(), hr.RandomForestRegressor(n_estimators=5)])
def test_regressors_are_drawn_by_their_predictions(machine):
    t = MOONS[:, 0] ** 2
    display = draw(machine.fit(MOONS, t), MOONS, t)
    assert display.classes is None
    np.testing.assert_array_equal(display.response, display.prediction)
    assert display.points_[0].get_array().tolist() == t.tolist()
    assert (display.support_vectors_ is not None) == isinstance(machine, SVR)


def test_a_constant_prediction_has_no_lines():
    constant = SklearnTree(max_depth=1).fit(MOONS, np.ones(len(MOONS)))
    display = draw(constant, MOONS)
    assert display.boundary_ is None
    assert display.text_ == []


# What the colours of the plane say.


@pytest.mark.parametrize(
    "estimator",
    [
        SVC(probability=False),
        SVC(C=100, gamma=10.0),
        KNeighborsClassifier(n_neighbors=1),
        SklearnNeighbors(n_neighbors=2),
        hr.DecisionTreeClassifier(max_depth=3),
        LogisticRegression(),
        FixedThresholdClassifier(GaussianNB(), threshold=0.9),
    ],
    ids=repr,
)
@pytest.mark.parametrize("y", [MOON, NAMED], ids=["numbers", "strings"])
def test_the_grid_predicts_what_the_estimator_predicts(estimator, y):
    estimator.fit(MOONS, y)
    display = draw(estimator, MOONS, grid_resolution=60)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    np.testing.assert_array_equal(
        display.classes[display.prediction.ravel()], estimator.predict(grid)
    )


@pytest.mark.parametrize("response_method", ["decision_function", "predict"])
def test_colours_of_two_classes_are_those_of_their_regions(response_method):
    estimator = LogisticRegression().fit(MOONS, NAMED)
    display = draw(estimator, MOONS, response_method=response_method, points=False, legend=False)
    assert_regions_are_those_of_predict(display, estimator, MOONS)


def test_colours_are_paler_within_the_margins():
    machine = SVC(C=10.0, gamma=2.0).fit(MOONS, NAMED)
    display = draw(machine, MOONS, points=False, support_vectors=False, legend=False)
    grid = np.random.default_rng(0).uniform(MOONS.min(axis=0), MOONS.max(axis=0), (600, 2))
    f = machine.decision_function(grid)
    for side, color in ((-1.0, COLORS[0]), (1.0, COLORS[1])):
        color = np.array(mpl.colors.to_rgb(color))
        for part, strength in (
            ((side * f > 0.2) & (side * f < 0.8), UNSURE),
            (side * f > 1.2, 1.0),
        ):
            found = pixels(display, grid[part])
            expected = np.tile(tint(color, strength * REGION), (part.sum(), 1))
            assert part.sum() > 10
            np.testing.assert_allclose(found, expected, atol=0.01)


@pytest.mark.parametrize("estimator", [SVC(), hr.RandomForestClassifier(n_estimators=10)])
def test_more_classes_have_a_region_each_and_lines_around_them(estimator):
    estimator.fit(PETALS.to_numpy(), SPECIES)
    display = draw(estimator, PETALS.to_numpy(), points=False, support_vectors=False, legend=False)
    assert display.response_method == "predict"
    assert display.margins_ is None
    assert len(display.boundary_) == 2
    assert_regions_are_those_of_predict(display, estimator, PETALS.to_numpy())
    # Half a step of the grid to either side of a line, there are two classes.
    step = np.array([np.diff(display.xx0[0])[0], np.diff(display.xx1[:, 0])[0]])
    for lines in display.boundary_:
        around = (
            points_of(lines)[:, np.newaxis] + np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]]) * step
        )
        predicted = estimator.predict(around.reshape(-1, 2)).reshape(len(around), 4)
        assert all(len(set(row)) >= 2 for row in predicted)


def test_regions_are_those_of_predict_where_probabilities_move_them_off_the_boundary():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1, (150, 2)), rng.normal(1.2, 1, (30, 2))])
    y = np.repeat([0, 1], [150, 30])
    machine = SVC(kernel="linear", probability=True, C=0.05).fit(X, y)
    display = draw(machine, X, points=False, support_vectors=False, legend=False, margins=False)
    assert display.response_method == "decision_function"
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    disagree = (machine.decision_function(grid) > 0) != (machine.predict(grid) == 1)
    assert disagree.mean() > 0.02
    np.testing.assert_allclose(
        machine.decision_function(points_of(display.boundary_)), 0.0, atol=1e-3
    )
    assert_regions_are_those_of_predict(display, machine, X)


def test_a_threshold_other_than_one_half_is_drawn_where_it_is():
    model = FixedThresholdClassifier(
        LogisticRegression(), threshold=0.9, response_method="predict_proba"
    )
    model.fit(MOONS, MOON)
    display = draw(model, MOONS)
    assert display.response_method == "predict"
    on_line = model.predict_proba(points_of(display.boundary_[0]))[:, 1]
    np.testing.assert_allclose(on_line, 0.9, atol=0.05)


def test_probabilities_fade_towards_where_nothing_is_sure():
    model = GaussianNB().fit(PETALS.to_numpy(), SPECIES)
    display = draw(model, PETALS.to_numpy(), response_method="predict_proba")
    image = display.surface_.get_array()
    sureness = (display.response - 1 / 3) / (2 / 3)
    colors = class_colors(3, None)
    expected = tint(
        colors[display.prediction], REGION * (UNSURE + (1 - UNSURE) * sureness)[..., None]
    )
    np.testing.assert_allclose(image, expected)
    two = draw(GaussianNB().fit(MOONS, MOON), MOONS, response_method="predict_proba")
    assert two.boundary_.levels.tolist() == [0.5]
    np.testing.assert_allclose(two.surface_.levels[1:-1], np.arange(0.1, 0.95, 0.1))


def test_outlier_detectors_have_an_inside_and_an_outside():
    X, _ = make_blobs(60, centers=2, random_state=0)
    machine = OneClassSVM(nu=0.1).fit(X)
    display = draw(machine, X)
    assert display.margins_ is None
    np.testing.assert_allclose(
        machine.decision_function(points_of(display.boundary_)), 0, atol=1e-3
    )
    assert [text.get_text() for text in display.legend_.get_texts()] == [
        *("outlier", "inlier", "support vectors")
    ]
    assert len(display.support_vectors_.get_offsets()) == len(machine.support_)
    forest = IsolationForest(n_estimators=10, random_state=0).fit(X)
    assert draw(forest, X, forest.predict(X)).boundary_ is not None


def test_colours_differ_in_lightness_where_they_meet_most():
    lightness = class_colors(7, None) @ [0.2126, 0.7152, 0.0722]
    assert (np.abs(np.diff(lightness)) > 0.1).all()
    assert len(np.unique(class_colors(12, None), axis=0)) == 12


# Rows and support vectors.


def test_rows_are_points_by_class_with_a_legend():
    display = draw(SVC().fit(MOONS, NAMED), MOONS, NAMED)
    for points, label in zip(display.points_, ["moon", "sun"], strict=True):
        np.testing.assert_array_equal(points.get_offsets(), MOONS[label == NAMED])
    texts = [text.get_text() for text in display.legend_.get_texts()]
    assert texts == ["moon", "sun", "support vectors", "$f = 0$", r"$f = \pm 1$"]
    markers = {points.get_paths()[0].vertices.tobytes() for points in display.points_}
    assert len(markers) == 2


def test_rows_without_classes_are_points_of_one_kind():
    display = draw(LogisticRegression().fit(MOONS, NAMED), MOONS)
    assert len(display.points_) == 1
    assert len(display.points_[0].get_offsets()) == len(MOONS)
    assert [text.get_text() for text in display.legend_.get_texts()] == ["moon", "sun"]


@pytest.mark.parametrize("machine", [SVC(), SklearnSVC(), NuSVC()])
def test_rings_are_around_the_support_vectors(machine):
    machine.fit(MOONS, MOON)
    rings = draw(machine, MOONS).support_vectors_.get_offsets()
    np.testing.assert_array_equal(rings, MOONS[machine.support_])
    # A machine alone knows its vectors, whatever rows are drawn.
    np.testing.assert_array_equal(draw(machine, MOONS[:5]).support_vectors_.get_offsets(), rings)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda machine: make_pipeline(StandardScaler(), machine),
        lambda machine: make_pipeline(StandardScaler(), StandardScaler(), machine),
        lambda machine: GridSearchCV(
            make_pipeline(StandardScaler(), machine),
            {f"{type(machine).__name__.lower()}__C": [1.0]},
        ),
        lambda machine: make_pipeline(StandardScaler(), GridSearchCV(machine, {"C": [1.0]})),
    ],
    ids=["pipeline", "two steps", "search", "search at the end"],
)
@pytest.mark.parametrize("machine", [SVC(), SklearnSVC()], ids=["hedgerow", "scikit-learn"])
def test_support_vectors_are_found_through_a_pipeline(wrap, machine):
    frame = pd.DataFrame(MOONS * [100.0, 0.01], columns=["a", "b"])
    model = wrap(machine).fit(frame, MOON)
    alone = machine.fit(StandardScaler().fit_transform(frame), MOON)
    rings = draw(model, frame).support_vectors_.get_offsets()
    np.testing.assert_array_equal(rings, frame.to_numpy()[alone.support_])


def test_support_vectors_are_left_out_where_rows_are_not_those_of_the_fit():
    model = make_pipeline(StandardScaler(), SVC()).fit(MOONS, MOON)
    assert draw(model, MOONS[:-1]).support_vectors_ is None
    assert draw(model, MOONS[::-1]).support_vectors_ is None
    assert draw(model, MOONS).support_vectors_ is not None


def test_many_rows_are_smaller_points():
    few = draw(LogisticRegression().fit(MOONS, MOON), MOONS, MOON)
    X, y = make_moons(5_000, random_state=0)
    many = draw(LogisticRegression().fit(X, y), X, y)
    assert many.points_[0].get_sizes()[0] < few.points_[0].get_sizes()[0]


def test_rows_with_gaps_are_no_points_but_do_no_harm():
    X = MOONS.copy()
    X[3, 0] = np.nan
    display = draw(hr.GradientBoostingClassifier(n_estimators=5).fit(X, MOON), X, MOON)
    assert np.isfinite(display.xx0).all()
    assert display.ax_.get_xlim() == (display.xx0.min(), display.xx0.max())


# Tables, axes and options.


@pytest.mark.parametrize(
    "make",
    [
        lambda columns: pd.DataFrame(columns),
        lambda columns: pl.DataFrame(columns),
        lambda columns: pa.table(columns),
    ],
    ids=["pandas", "polars", "arrow"],
)
@pytest.mark.parametrize("machine", [SVC(), hr.RandomForestClassifier(n_estimators=3)])
def test_columns_of_frames_are_labels_and_the_grid_has_their_names(make, machine):
    frame = make({"price in $ or $": MOONS[:, 0], "size": MOONS[:, 1]})
    display = draw(machine.fit(frame, NAMED), frame, NAMED, grid_resolution=30)
    assert display.ax_.get_xlabel() == r"price in \$ or \$"
    assert display.ax_.get_ylabel() == "size"
    display.figure_.canvas.draw()


def test_scikit_learn_sees_the_names_of_the_fit():
    for frame in (pd.DataFrame(MOONS, columns=["a", "b"]), pl.DataFrame(MOONS, schema=["a", "b"])):
        model = make_pipeline(StandardScaler(), SklearnSVC()).fit(frame, MOON)
        assert draw(model, frame, pd.Series(MOON)).ax_.get_xlabel() == "a"


def test_arrays_and_sparse_matrices_have_no_names():
    assert draw(SVC().fit(MOONS, MOON), MOONS.tolist(), MOON.tolist()).ax_.get_xlabel() == "$x_1$"
    sparse = scipy.sparse.csr_array(MOONS)
    display = draw(SVC().fit(sparse, MOON), sparse)
    np.testing.assert_allclose(display.response, draw(SVC().fit(MOONS, MOON), MOONS).response)
    np.testing.assert_array_equal(
        display.support_vectors_.get_offsets(), MOONS[SVC().fit(MOONS, MOON).support_]
    )
    unnamed = pd.DataFrame(MOONS)
    assert draw(SVC().fit(unnamed, MOON), unnamed).ax_.get_ylabel() == "$x_2$"


def test_labels_can_be_given_and_those_of_the_axes_stay():
    model = LogisticRegression().fit(MOONS, MOON)
    assert draw(model, MOONS, xlabel="east", ylabel="").ax_.get_xlabel() == "east"
    _, ax = plt.subplots()
    ax.set_xlabel("mine")
    display = draw(model, MOONS, ax=ax)
    assert ax.get_xlabel() == "mine"
    assert display.plot(ax=ax, xlabel="yours").ax_.get_xlabel() == "yours"


def test_the_axes_that_are_given_are_drawn_on():
    figure, axes = plt.subplots(1, 2)
    display = draw(SVC().fit(MOONS, MOON), MOONS, MOON, ax=axes[1])
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    assert not axes[0].has_data()
    assert display.plot(ax=axes[0]) is display
    assert axes[0].has_data()
    assert plt.get_fignums() == [figure.number]


def test_a_figure_is_made_if_no_axes_are_given():
    before = plt.get_fignums()
    display = draw(SVC().fit(MOONS, MOON), MOONS, MOON)
    assert plt.get_fignums() == [*before, display.figure_.number]


def test_the_grid_goes_beyond_the_rows():
    model = LogisticRegression().fit(MOONS, MOON)
    low, high = MOONS.min(axis=0), MOONS.max(axis=0)
    display = draw(model, MOONS, eps=0.5, grid_resolution=7)
    assert display.xx0.shape == (7, 7)
    np.testing.assert_allclose(display.ax_.get_xlim(), (low[0] - 0.5, high[0] + 0.5))
    np.testing.assert_allclose(display.ax_.get_ylim(), (low[1] - 0.5, high[1] + 0.5))
    np.testing.assert_allclose(
        draw(model, MOONS).ax_.get_xlim(),
        (low[0] - 0.1 * (high - low)[0], high[0] + 0.1 * (high - low)[0]),
    )
    flat = np.column_stack([MOONS[:, 0], np.ones(len(MOONS))])
    assert draw(model, flat).ax_.get_ylim() == (0.0, 2.0)


def test_parts_can_be_left_out():
    display = draw(
        SVC().fit(MOONS, MOON),
        *(MOONS, MOON),
        points=False,
        margins=False,
        support_vectors=False,
        legend=False,
    )
    assert display.points_ == []
    assert display.margins_ is display.support_vectors_ is display.legend_ is None
    assert display.ax_.get_legend() is None


def box(artist, figure):
    return artist.get_window_extent(figure.canvas.get_renderer())


def test_a_legend_is_beside_the_picture_if_there_is_room_or_where_it_is_told_to_be():
    model = SVC().fit(MOONS, MOON)
    alone = draw(model, MOONS, MOON)
    alone.figure_.canvas.draw()
    assert box(alone.legend_, alone.figure_).x0 > alone.ax_.bbox.x1
    assert box(alone.legend_, alone.figure_).x1 <= alone.figure_.bbox.x1
    _, ax = plt.subplots()
    inside = draw(model, MOONS, MOON, ax=ax)
    inside.figure_.canvas.draw()
    assert box(inside.legend_, inside.figure_).x1 < ax.bbox.x1
    corner = inside.plot(ax=ax, legend="lower left")
    corner.figure_.canvas.draw()
    assert box(corner.legend_, corner.figure_).x1 < ax.bbox.x0 + ax.bbox.width / 2
    assert box(corner.legend_, corner.figure_).y1 < ax.bbox.y0 + ax.bbox.height / 2


def test_colours_can_be_given():
    colors = ["black", "#ff0000"]
    display = draw(SVC().fit(MOONS, MOON), MOONS, MOON, colors=colors)
    for points, color in zip(display.points_, colors, strict=True):
        np.testing.assert_allclose(points.get_facecolor()[0, :3], mpl.colors.to_rgb(color))


def test_labels_that_matplotlib_would_leave_out_are_in_the_legend():
    display = draw(LogisticRegression().fit(MOONS, np.array(["_a", "b"])[MOON]), MOONS)
    texts = [text.get_text() for text in display.legend_.get_texts()]
    assert texts == ["_a", "b"]


# What cannot be drawn.


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones((4, 3)), "X has 3 columns"),
        (np.ones((4, 1)), "X has 1 columns"),
        (pd.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"]}), "column 'b' is categorical"),
        (np.full((4, 2), np.nan), "column 0 has only missing values"),
        (np.array([[1.0, np.inf], [0.0, 0.0]]), "infinity"),
    ],
)
def test_tables_that_are_no_plane_are_refused(X, message):
    with pytest.raises(DataError, match=message):
        draw(SVC().fit(MOONS, MOON), X)


def test_an_estimator_of_more_columns_is_refused():
    X = np.column_stack([MOONS, MOONS])
    with pytest.raises(DataError, match="fitted to 4 columns"):
        draw(SVC().fit(X, MOON), MOONS)


@pytest.mark.parametrize(
    ("y", "message"),
    [(MOON[:-1], "y has 79 values, but X has 80 rows"), (MOON + 1, "y contains 2")],
)
def test_classes_that_do_not_fit_are_refused(y, message):
    with pytest.raises(DataError, match=message):
        draw(SVC().fit(MOONS, MOON), MOONS, y)


@pytest.mark.parametrize("estimator", [SVC(), LinearSVC(), make_pipeline(StandardScaler(), SVC())])
def test_estimators_must_be_fitted(estimator):
    with pytest.raises(NotFittedError):
        draw(estimator, MOONS)


@pytest.mark.parametrize(
    "estimator", [SVC, "SVC", None, KMeans(2).fit(MOONS), StandardScaler().fit(MOONS)]
)
def test_other_things_than_estimators_are_refused(estimator):
    with pytest.raises(ParameterError, match="estimator"):
        draw(estimator, MOONS)


def test_several_outputs_are_refused():
    y = np.column_stack([MOON, 1 - MOON])
    for model in (SklearnTree(max_depth=1), SklearnNeighbors()):
        with pytest.raises(ParameterError, match="several outputs"):
            draw(model.fit(MOONS, y), MOONS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ax": "here"}, "ax has the type str"),
        ({"ax": np.array([None])}, "ax has the type ndarray"),
        ({"grid_resolution": 1}, "grid_resolution=1 is not allowed"),
        ({"grid_resolution": 9.5}, "grid_resolution=9.5 is not allowed"),
        ({"eps": -1}, "eps=-1 is not allowed"),
        ({"eps": "wide"}, "eps='wide' is not allowed"),
        ({"response_method": "guess"}, "response_method='guess' is not allowed"),
        ({"response_method": "predict_proba"}, "this SVC has no predict_proba"),
        ({"colors": ["red"]}, "must be a list of 2 colours"),
        ({"colors": ["red", "no colour"]}, "must be a list of 2 colours"),
        ({"legend": "yes"}, "legend='yes' is not allowed"),
        ({"points": None}, "points=None is not allowed"),
        ({"margins": 1}, "margins=1 is not allowed"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_options_that_are_not_allowed_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        draw(SVC().fit(MOONS, MOON), MOONS, **options)


def test_one_score_cannot_be_drawn_of_several():
    with pytest.raises(ParameterError, match="more than one score"):
        draw(SVC().fit(PETALS, SPECIES), PETALS, response_method="decision_function")
    with pytest.raises(ParameterError, match="has no predict_proba"):
        draw(SVR().fit(MOONS, MOONS[:, 0]), MOONS, response_method="predict_proba")


def test_matplotlib_is_asked_for_only_when_needed():
    code = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)

sys.meta_path.insert(0, Missing())
from hedgerow.plot import DecisionBoundaryDisplay
from hedgerow._svm import SVC
machine = SVC().fit([[0, 0], [1, 1]], [0, 1])
try:
    DecisionBoundaryDisplay.from_estimator(machine, [[0, 0], [1, 1]])
except ImportError as error:
    assert str(error) == "plot() needs matplotlib. Install it: pip install matplotlib", error
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_predictions_in_steps_have_a_colour_bar_instead_of_numbers():
    random = np.random.default_rng(0)
    rows = random.normal(size=(300, 2))
    t = random.normal(size=300)
    display = draw(hr.GradientBoostingRegressor(n_estimators=40).fit(rows, t), rows, t)
    assert display.text_ == []
    assert "prediction" in [ax.get_ylabel() for ax in display.figure_.axes]
