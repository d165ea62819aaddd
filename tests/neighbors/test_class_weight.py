"""Class weights of nearest neighbours, against votes counted in a loop."""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.exceptions import ParameterError

RNG = np.random.default_rng(2)
X = RNG.normal(size=(60, 2))
Y = np.array(["rare", "often", "some"])[RNG.choice(3, 60, p=[0.1, 0.6, 0.3])]
QUERIES = RNG.normal(size=(30, 2))
WEIGHT = {"rare": 5.0, "often": 0.5}


def votes_in_a_loop(neighbors, distances, weights, by_class):
    votes = []
    for rows, far in zip(neighbors, distances, strict=True):
        of_row = dict.fromkeys(sorted(WEIGHT | {"some": 1.0}), 0.0)
        for row, distance in zip(rows, far, strict=True):
            of_row[Y[row]] += by_class[Y[row]] * (1.0 if weights == "uniform" else 1.0 / distance)
        votes.append([of_row[label] for label in sorted(of_row)])
    votes = np.array(votes)
    return votes / votes.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("class_weight", [WEIGHT, "balanced"], ids=["dict", "balanced"])
def test_votes_of_neighbours_are_multiplied_by_the_weight_of_their_class(weights, class_weight):
    labels, counts = np.unique(Y, return_counts=True)
    by_class = (
        dict(zip(labels, len(Y) / (3 * counts), strict=True))
        if class_weight == "balanced"
        else WEIGHT | {"some": 1.0}
    )
    options = {"weights": weights, "class_weight": class_weight}
    nearest = hr.KNeighborsClassifier(7, **options).fit(X, Y)
    distances, rows = nearest.kneighbors(QUERIES)
    expected = votes_in_a_loop(rows, distances, weights, by_class)
    np.testing.assert_allclose(nearest.predict_proba(QUERIES), expected, rtol=1e-12)
    np.testing.assert_array_equal(nearest.predict(QUERIES), labels[expected.argmax(axis=1)])
    within = hr.RadiusNeighborsClassifier(3.0, **options).fit(X, Y)
    distances, rows = within.radius_neighbors(QUERIES)
    expected = votes_in_a_loop(rows, distances, weights, by_class)
    np.testing.assert_allclose(within.predict_proba(QUERIES), expected, rtol=1e-12)


def test_class_weights_apply_to_each_output_and_are_saved(tmp_path):
    both = np.column_stack([Y, Y[::-1]])
    model = hr.KNeighborsClassifier(7, class_weight="balanced").fit(X, both)
    alone = hr.KNeighborsClassifier(7, class_weight="balanced").fit(X, both[:, 1])
    np.testing.assert_array_equal(model.predict(QUERIES)[:, 1], alone.predict(QUERIES))
    alone.save(tmp_path / "k.hedgerow")
    read = hr.load(tmp_path / "k.hedgerow")
    np.testing.assert_array_equal(read.predict_proba(QUERIES), alone.predict_proba(QUERIES))


@pytest.mark.parametrize(
    ("class_weight", "says"), [({"rare": 0.0}, "must be a number > 0"), ({"no": 1.0}, "refers to")]
)
def test_class_weights_that_cannot_vote_are_refused_by_fit(class_weight, says):
    for kind in (hr.KNeighborsClassifier, hr.RadiusNeighborsClassifier):
        with pytest.raises(ParameterError, match=says):
            kind(class_weight=class_weight).fit(X, Y)
