"""The map of the quadratic kernel: products are the kernel, and the plane is the boundary."""

import matplotlib as mpl
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot import FeatureMapDisplay
from hedgerow.plot._feature_map import plane_in_box, quadratic_map

mpl.use("Agg")
import matplotlib.pyplot as plt

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (120, 2))
Y = np.where((X[:, 0] / 1.6) ** 2 + (X[:, 1] / 1.0) ** 2 < 1, "inside", "outside")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_products_in_three_dimensions_are_the_kernel():
    Z = quadratic_map(X, 0.7)
    np.testing.assert_allclose(Z @ Z.T, (0.7 * X @ X.T) ** 2, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("gamma", ["scale", 1.0])
def test_the_plane_is_the_boundary_of_the_svm(gamma):
    model = hr.SVC(kernel="poly", degree=2, coef0=0.0, gamma=gamma, C=100.0).fit(X, Y)
    display = FeatureMapDisplay.from_estimator(model, X, Y)
    np.testing.assert_allclose(
        display.mapped @ display.normal + display.intercept, model.decision_function(X), atol=1e-8
    )
    np.testing.assert_allclose(display.decision(X), model.decision_function(X), atol=1e-8)
    assert display.mapped_ax_.name == "3d"
    assert len(display.mapped_ax_.collections) == 3  # two classes and the plane


def test_a_plane_cuts_a_box_in_a_polygon_on_the_plane():
    rng = np.random.default_rng(1)
    for _ in range(30):
        normal, low = rng.normal(size=3), rng.normal(size=3)
        high = low + rng.uniform(0.5, 2.0, 3)
        intercept = -normal @ rng.uniform(low, high)
        corners = plane_in_box(normal, intercept, low, high)
        assert 3 <= len(corners) <= 6
        np.testing.assert_allclose(corners @ normal + intercept, 0.0, atol=1e-12)
        assert (corners >= low - 1e-12).all()
        assert (corners <= high + 1e-12).all()
        turns = np.cross(np.roll(corners, -1, 0) - corners, np.roll(corners, -2, 0) - corners)
        assert (turns @ normal > -1e-12).all() or (turns @ normal < 1e-12).all()  # convex
    assert plane_in_box(np.array([1.0, 0, 0]), 5.0, np.zeros(3), np.ones(3)).shape == (0, 3)


def test_other_kernels_and_tables_are_refused():
    with pytest.raises(ParameterError, match="kernel='poly', degree=2 and coef0=0"):
        FeatureMapDisplay.from_estimator(hr.SVC().fit(X, Y), X, Y)
    model = hr.SVC(kernel="poly", degree=2, coef0=0.0).fit(X, Y)
    with pytest.raises(DataError, match="two columns"):
        FeatureMapDisplay.from_estimator(model, X[:, :1], Y)
