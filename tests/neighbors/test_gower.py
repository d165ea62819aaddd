"""Gower's distance for mixed tables, held to a plain loop over rows and columns."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hedgerow._neighbors import KNeighborsClassifier, NearestNeighbors
from oracles.neighbors import gower_distances, nearest

TOWNS = ["Eridu", "Kish", "Ur"]


def mixed_rows(n, seed, gaps=0.2):
    """Rows of two numbers, a town and a constant, with gaps."""
    rng = np.random.default_rng(seed)
    rows = [
        (rng.standard_normal() + 1e8, int(rng.integers(5)), TOWNS[rng.integers(3)], 4.0)
        for _ in range(n)
    ]
    return [tuple(None if rng.random() < gaps else value for value in row) for row in rows]


def frame(rows, library):
    columns = dict(zip(["size", "rooms", "town", "same"], zip(*rows, strict=True), strict=True))
    if library is pl:
        return pl.DataFrame({name: list(values) for name, values in columns.items()})
    return pd.DataFrame({name: list(values) for name, values in columns.items()})


def ranges(rows):
    numbers = [[row[j] for row in rows if row[j] is not None] for j in (0, 1)]
    return [*(max(column) - min(column) for column in numbers), None, 0]


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
@pytest.mark.parametrize("weights", [None, [1, 2.5, 0.5, 0]])
def test_distances_are_those_of_a_plain_loop(library, weights):
    rows, queries = mixed_rows(300, 0), mixed_rows(40, 1)
    queries[0] = (None, None, None, None)  # has nothing in common with any row
    queries[1] = (1e8, 2, "Nippur", 5.0)  # a town, and a constant, that training does not have
    queries[2] = (2e8, -7, "Ur", 4.0)  # far outside of the ranges
    spans, is_category = ranges(rows), [False, False, True, False]
    used = [1, 1, 1, 1] if weights is None else weights
    expected = np.array([gower_distances(rows, q, is_category, spans, used) for q in queries])
    params = None if weights is None else {"w": weights}
    model = NearestNeighbors(n_neighbors=300, metric="gower", metric_params=params)
    distances, indices = model.fit(frame(rows, library)).kneighbors(frame(queries, library))
    sorted_expected, order = nearest(expected, 300)
    assert (distances == sorted_expected).all()
    assert (indices == order).all()
    assert (distances[0] == 1).all()


def test_rows_within_a_radius():
    rows = mixed_rows(200, 2)
    table = frame(rows, pd)
    found = NearestNeighbors(metric="gower", radius=0.25).fit(table)
    distances, indices = found.radius_neighbors(table.iloc[:20])
    expected = [
        gower_distances(rows, q, [False, False, True, False], ranges(rows), [1] * 4)
        for q in rows[:20]
    ]
    for query, all_distances in enumerate(expected):
        assert sorted(indices[query]) == np.flatnonzero(all_distances <= 0.25).tolist()
        assert (distances[query] == all_distances[indices[query]]).all()


def test_without_gaps_and_categories_it_is_the_mean_of_scaled_differences():
    rng = np.random.default_rng(0)
    X, Q = rng.standard_normal((100, 5)), rng.standard_normal((9, 5))
    span = np.ptp(X, axis=0)
    expected = np.abs(X[None] - Q[:, None]) @ (1 / span) / 5
    distances, indices = NearestNeighbors(metric="gower").fit(X).kneighbors(Q)
    np.testing.assert_allclose(distances, nearest(expected, 5)[0], rtol=1e-12)
    assert (indices == nearest(expected, 5)[1]).all()


def test_numbers_can_be_said_to_be_categories():
    X = [[1, 0.0], [2, 1.0], [9, 0.0]]
    model = NearestNeighbors(
        n_neighbors=3, metric="gower", metric_params={"categorical_features": [0]}
    ).fit(X)
    distances, indices = model.kneighbors([[9, 1.0]])
    assert indices.tolist() == [[1, 2, 0]]
    assert distances.tolist() == [[0.5, 0.5, 1.0]]


def test_columns_are_found_by_name_when_categories_are_unknown():
    rows = pd.DataFrame({"town": ["Ur", "Kish"], "size": [1.0, 2.0]})
    query = pd.DataFrame({"size": [1.0, 1.0], "town": ["Nippur", None]})
    distances, _ = NearestNeighbors(n_neighbors=2, metric="gower").fit(rows).kneighbors(query)
    assert distances.tolist() == [[0.5, 1.0], [0.0, 1.0]]


def test_a_classifier_learns_from_towns_alone():
    towns = pd.DataFrame({"town": ["Ur", "Kish", "Ur", "Kish"] * 5})
    labels = [1, 0, 1, 0] * 5
    model = KNeighborsClassifier(3, metric="gower").fit(towns, labels)
    assert model.predict(towns).tolist() == labels
