"""Classes and numbers by the rows within a radius, held to scikit-learn's."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn import neighbors as sk

from hedgerow import DataError, ParameterError
from hedgerow._neighbors import RadiusNeighborsClassifier, RadiusNeighborsRegressor

RNG = np.random.default_rng(11)
X, Q = RNG.standard_normal((300, 3)), RNG.standard_normal((60, 3))
NUMBERS = RNG.standard_normal((300, 2))
CLASSES = np.array(["ash", "beech", "elm"])[RNG.integers(0, 3, 300)]
TWO_OUTPUTS = np.column_stack([RNG.integers(0, 3, 300), RNG.integers(5, 7, 300)])


def fading(distances):
    return 1.0 / (1.0 + distances)


@pytest.mark.parametrize("weights", ["uniform", "distance", fading, None])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
@pytest.mark.parametrize("radius", [0.5, 1.5])
def test_predictions_are_scikit_learns(weights, metric, radius):
    options = {"radius": radius, "weights": weights, "metric": metric}
    outliers = {"outlier_label": "most_frequent"}
    ours = RadiusNeighborsClassifier(**options, **outliers).fit(X, CLASSES)
    theirs = sk.RadiusNeighborsClassifier(**options, **outliers).fit(X, CLASSES)
    np.testing.assert_allclose(ours.predict_proba(Q), theirs.predict_proba(Q), atol=1e-9)
    decided = np.sort(theirs.predict_proba(Q), axis=1) @ [0, -1, 1] > 1e-9
    assert (ours.predict(Q) == theirs.predict(Q))[decided].all()
    ours = RadiusNeighborsRegressor(**options).fit(X, NUMBERS)
    theirs = sk.RadiusNeighborsRegressor(**options).fit(X, NUMBERS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of outliers, which another test looks at
        np.testing.assert_allclose(ours.predict(Q), theirs.predict(Q), atol=1e-9)


def test_several_outputs_and_their_outliers_are_scikit_learns():
    options = {"radius": 0.6, "outlier_label": [2, 5]}
    ours = RadiusNeighborsClassifier(**options).fit(X, TWO_OUTPUTS)
    theirs = sk.RadiusNeighborsClassifier(**options).fit(X, TWO_OUTPUTS)
    for mine, other in zip(ours.predict_proba(Q), theirs.predict_proba(Q), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-12)
    far = [[50.0, 0.0, 0.0]]
    assert ours.predict(far).tolist() == theirs.predict(far).tolist() == [[2, 5]]
    assert ours.outlier_label_ == [2, 5]


def test_without_queries_no_row_is_its_own_neighbour():
    options = {"radius": 0.9, "outlier_label": "elm"}
    ours = RadiusNeighborsClassifier(**options).fit(X, CLASSES)
    theirs = sk.RadiusNeighborsClassifier(**options).fit(X, CLASSES)
    np.testing.assert_allclose(ours.predict_proba(None), theirs.predict_proba(None), atol=1e-12)
    ours, theirs = (
        kind(radius=3.0).fit(X, NUMBERS[:, 0])
        for kind in (RadiusNeighborsRegressor, sk.RadiusNeighborsRegressor)
    )
    mine = ours.predict(None)
    assert mine.shape == (300,)
    alone = np.array([len(found) == 0 for found in ours.radius_neighbors(return_distance=False)])
    assert not alone.any()
    np.testing.assert_allclose(mine, theirs.predict(None), atol=1e-12)


def test_sparse_rows_have_the_predictions_of_dense_ones():
    sparse = scipy.sparse.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))
    model = RadiusNeighborsRegressor(weights="distance").fit(sparse, NUMBERS)
    dense = RadiusNeighborsRegressor(weights="distance").fit(sparse.toarray(), NUMBERS)
    np.testing.assert_array_equal(model.predict(sparse), dense.predict(sparse.toarray()))


FAR = [[100.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 100.0, 0.0]]


def test_a_query_without_neighbours_has_nan_and_a_warning():
    model = RadiusNeighborsRegressor().fit(X, NUMBERS)
    with pytest.warns(UserWarning, match=r"2 of 3 rows of X have no neighbors within radius=1.0"):
        predicted = model.predict(FAR)
    assert np.isnan(predicted).all(axis=1).tolist() == [True, False, True]
    for weights in ("distance", fading):
        with pytest.warns(UserWarning, match="1 of 1 rows"):
            assert np.isnan(model.set_params(weights=weights).predict(FAR[:1])).all()


def test_a_query_without_neighbours_is_refused_unless_there_is_a_label_for_it():
    model = RadiusNeighborsClassifier().fit(X, CLASSES)
    message = r"No neighbors found for 2 of 3 rows of X \(first for row 0\).*outlier_label"
    with pytest.raises(DataError, match=message):
        model.predict(FAR)
    with pytest.raises(ValueError, match="No neighbors found"):
        sk.RadiusNeighborsClassifier().fit(X, CLASSES).predict(FAR)


def test_the_label_of_outliers_gets_all_of_their_probability():
    model = RadiusNeighborsClassifier(outlier_label="beech").fit(X, CLASSES)
    assert model.predict_proba(FAR)[[0, 2]].tolist() == [[0, 1, 0]] * 2
    assert model.predict(FAR)[[0, 2]].tolist() == ["beech"] * 2
    most = RadiusNeighborsClassifier(outlier_label="most_frequent").fit(X, CLASSES)
    names, counts = np.unique(CLASSES, return_counts=True)
    assert most.outlier_label_ == [names[counts.argmax()]]
    assert most.predict(FAR)[0] == names[counts.argmax()]


@pytest.mark.parametrize(
    ("classes", "label"),
    [
        (CLASSES, "nowhere to be found"),
        (CLASSES.astype(object), "nowhere"),
        (TWO_OUTPUTS[:, 0].astype(np.int8), 1000),
        (TWO_OUTPUTS[:, 0], np.int64(-1)),
    ],
    ids=["str", "object", "int8", "int64"],
)
def test_a_label_that_is_no_class_is_predicted_with_no_probabilities(classes, label):
    model = RadiusNeighborsClassifier(outlier_label=label).fit(X, classes)
    with pytest.warns(UserWarning, match="not a class of the training set"):
        predicted = model.predict(FAR)
    assert predicted[0] == predicted[2] == label
    assert predicted[1] in classes
    with pytest.warns(UserWarning, match="probabilities of 2 rows without neighbors are 0"):
        shares = model.predict_proba(FAR)
    np.testing.assert_allclose(shares.sum(axis=1), [0, 1, 0])


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (3, "not have the type of the classes, such as 'ash'"),
        (["ash", "elm"], "a list of 2, but y has 1 outputs"),
        ({"ash": 1}, "outlier_label={'ash': 1} is not allowed"),
        ([["ash"]], "is not allowed"),
    ],
)
def test_a_label_that_makes_no_sense_is_refused(label, message):
    with pytest.raises(ParameterError, match=message):
        RadiusNeighborsClassifier(outlier_label=label).fit(X, CLASSES)


def test_a_function_has_the_distances_of_a_query_from_the_nearest_on():
    calls = []

    def halves(distances):
        calls.append(distances)
        return 0.5 ** np.arange(len(distances))

    model = RadiusNeighborsRegressor(weights=halves, radius=1.0).fit(
        [[0.0], [0.5], [5.0]], [0, 6, 9]
    )
    assert model.predict([[0.1], [5.2]]).tolist() == [2.0, 9.0]
    np.testing.assert_allclose(np.concatenate(calls), [0.1, 0.4, 0.2])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (lambda d: d[:0], r"shape \(0,\)"),
        (lambda d: -d, "negative"),
        (lambda d: d * 0, "returned 0 for all neighbours of a row"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weights, message):
    with pytest.raises(DataError, match=message):
        RadiusNeighborsRegressor(weights=weights).fit(X, NUMBERS).predict(X + 0.01)


def test_graphs_are_scikit_learns():
    ours = RadiusNeighborsClassifier(radius=0.8).fit(X, CLASSES)
    theirs = sk.RadiusNeighborsClassifier(radius=0.8).fit(X, CLASSES)
    for mode in ("connectivity", "distance"):
        mine, other = (m.radius_neighbors_graph(Q, mode=mode) for m in (ours, theirs))
        np.testing.assert_allclose(mine.toarray(), other.toarray())
    assert not hasattr(ours, "kneighbors")
