"""Strength and correlation against loops over trees, rows and classes, and against definitions."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow import DataError, ParameterError, theory

IRIS = load_iris(return_X_y=True)
WINE = load_wine(return_X_y=True)
NOISY = make_classification(80, 6, flip_y=0.2, random_state=3)
FORESTS = [
    RandomForestClassifier(7, max_depth=2, random_state=0),
    RandomForestClassifier(25, random_state=1),
    ExtraTreesClassifier(9, bootstrap=True, random_state=0),
    BaggingClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=8, random_state=0),
    BaggingClassifier(n_estimators=6, max_samples=0.4, max_features=0.5, random_state=0),
    hr.RandomForestClassifier(n_estimators=8, max_depth=2),
    hr.ExtraTreesClassifier(n_estimators=8, bootstrap=True),
]


def tree_labels(model, X):
    """The class number that each tree gives each row."""
    if hasattr(model, "predict_trees"):
        return model.predict_trees(X).tolist()
    features = getattr(model, "estimators_features_", [slice(None)] * len(model.estimators_))
    return [
        [int(label) for label in tree.predict(X[:, columns])]
        for tree, columns in zip(model.estimators_, features, strict=True)
    ]


def naive_bound(model, X, y):
    """Breiman's estimates, word by word, for class numbers y."""
    labels = tree_labels(model, X)
    in_bag = [set(samples.tolist()) for samples in model.estimators_samples_]
    n_classes = len(model.classes_)
    margins, rivals, wrong = {}, {}, []
    for i in range(len(y)):
        counts, voters = [0] * n_classes, 0
        for k in range(len(labels)):
            if i not in in_bag[k]:
                voters += 1
                for j in range(n_classes):
                    counts[j] += labels[k][i] == j
        if voters == 0:
            continue
        Q = [count / voters for count in counts]
        rivals[i] = max((j for j in range(n_classes) if j != y[i]), key=lambda j: Q[j])
        margins[i] = Q[y[i]] - Q[rivals[i]]
        wrong.append(max(range(n_classes), key=lambda j: Q[j]) != y[i])
    s = sum(margins.values()) / len(margins)
    variance = sum(m**2 for m in margins.values()) / len(margins) - s**2
    sds = []
    for k in range(len(labels)):
        rows = [i for i in range(len(y)) if i not in in_bag[k]]
        p1 = sum(labels[k][i] == y[i] for i in rows) / len(rows)
        p2 = sum(labels[k][i] == rivals[i] for i in rows) / len(rows)
        sds.append((p1 + p2 - (p1 - p2) ** 2) ** 0.5)
    rho = variance / (sum(sds) / len(sds)) ** 2
    bound = rho * (1 - s**2) / s**2 if s > 0 else np.inf
    return s, rho, bound, sum(wrong) / len(wrong), margins, sds


@pytest.mark.parametrize("model", FORESTS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("data", [IRIS, WINE, NOISY], ids=["iris", "wine", "noisy"])
def test_every_quantity_is_that_of_the_naive_loops(model, data):
    X, y = data
    model = model.fit(X, y)
    s, rho, bound, error, margins, sds = naive_bound(model, X, y)
    result = theory.forest_bound(model, X, y)
    assert result.strength == pytest.approx(s, rel=1e-10)
    assert result.correlation == pytest.approx(rho, rel=1e-8)
    assert result.bound == pytest.approx(bound, rel=1e-8)
    assert result.error == pytest.approx(error)
    assert result.ratio == pytest.approx(rho / s**2 if s > 0 else np.inf, rel=1e-8)
    np.testing.assert_allclose(result.tree_sd, sds, atol=1e-7)
    known = np.flatnonzero(np.isfinite(result.margins))
    np.testing.assert_array_equal(known, sorted(margins))
    np.testing.assert_allclose(result.margins[known], [margins[i] for i in known], atol=1e-12)


def test_with_the_same_rows_for_every_tree_the_definitions_agree_exactly():
    """On held-out rows ρ̄ is the mean correlation of raw margins, weighted by their deviations."""
    X, y = make_classification(400, 8, n_classes=3, n_informative=5, random_state=0)
    model = RandomForestClassifier(15, random_state=0).fit(X[:200], y[:200])
    X, y = X[200:], y[200:]
    result = theory.forest_bound(model, X, y, out_of_bag=False)
    labels = np.array(tree_labels(model, X))
    Q = np.stack([(labels == j).mean(axis=0) for j in range(3)], axis=1)
    Q[np.arange(len(y)), y] = -1
    rival = Q.argmax(axis=1)
    raw = (labels == y) * 1.0 - (labels == rival)
    np.testing.assert_allclose(result.margins, raw.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(result.tree_sd, raw.std(axis=1), atol=1e-12)
    covariance = np.cov(raw, bias=True)
    sd = raw.std(axis=1)
    rho = covariance.sum() / np.outer(sd, sd).sum()
    assert result.correlation == pytest.approx(rho, rel=1e-10)
    assert result.margin_variance == pytest.approx(result.margins.var(), rel=1e-10)
    # From here on theorem 2's own steps: Chebyshev, then E sd ≤ √(E var) ≤ √(1 − s²).
    assert result.error <= result.margin_variance / result.strength**2 + 1e-12
    assert result.margin_variance / result.strength**2 <= result.bound + 1e-12


@pytest.mark.parametrize("forest", [RandomForestClassifier, hr.RandomForestClassifier])
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_iris])
def test_the_error_keeps_below_the_bound(load, forest):
    X, y = load(return_X_y=True)
    model = forest(n_estimators=60, random_state=0, oob_score=True).fit(X, y)
    result = theory.forest_bound(model, X, y)
    assert 0 < result.strength < 1
    assert 0 < result.correlation < 1
    assert result.error <= result.bound
    # The trees are grown to the end, so that means of probabilities are votes but for ties.
    assert result.error == pytest.approx(1 - model.oob_score_, abs=0.01)


def test_of_two_classes_the_rival_is_the_other():
    X, y = NOISY
    result = theory.forest_bound(RandomForestClassifier(20, random_state=0).fit(X, y), X, y)
    np.testing.assert_allclose(result.tree_right + result.tree_rival, 1.0)
    np.testing.assert_allclose(
        result.tree_sd, np.sqrt(1 - (result.tree_right - result.tree_rival) ** 2)
    )


def test_fewer_inputs_a_split_lower_strength_and_correlation():
    X, y = make_classification(400, 16, n_informative=8, random_state=0)
    few, all_ = (
        theory.forest_bound(
            hr.RandomForestClassifier(n_estimators=80, max_features=f).fit(X, y), X, y
        )
        for f in (1, 16)
    )
    assert few.strength < all_.strength
    assert few.correlation < all_.correlation


def test_perfect_trees_have_nothing_to_bound():
    X = np.repeat([[0.0], [1.0]], 40, axis=0)
    y = X[:, 0].astype(int)
    result = theory.forest_bound(RandomForestClassifier(10, random_state=0).fit(X, y), X, y)
    assert result.strength == 1.0
    assert np.isnan(result.correlation)
    assert result.bound == 0.0
    assert result.error == 0.0


def test_a_forest_weaker_than_chance_has_no_bound():
    X, y = NOISY
    model = RandomForestClassifier(20, max_depth=1, random_state=0).fit(X, y)
    result = theory.forest_bound(model, X, 1 - y)
    assert result.strength < 0
    assert result.bound == np.inf
    assert result.ratio == np.inf


def test_what_has_no_out_of_bag_rows_is_refused():
    X, y = IRIS
    for model in (
        ExtraTreesClassifier(5),
        hr.ExtraTreesClassifier(n_estimators=5),
        BaggingClassifier(n_estimators=5, bootstrap=False),
    ):
        model.fit(X, y)
        with pytest.raises(ParameterError, match="bootstrap=True, or pass other rows"):
            theory.forest_bound(model, X, y)
        assert theory.forest_bound(model, X, y, out_of_bag=False).strength > 0.9


def test_other_rows_than_those_of_fit_are_refused():
    X, y = IRIS
    for model in (RandomForestClassifier(5), hr.RandomForestClassifier(n_estimators=5)):
        model.fit(X, y)
        with pytest.raises(DataError, match="X has 100 rows, but the model was trained on 150"):
            theory.forest_bound(model, X[:100], y[:100])


def test_other_models_are_refused():
    X, y = IRIS
    with pytest.raises(NotFittedError):
        theory.forest_bound(hr.RandomForestClassifier(), X, y)
    with pytest.raises(ParameterError, match="depend on each other"):
        theory.forest_bound(AdaBoostClassifier(n_estimators=3).fit(X, y), X, y)
    with pytest.raises(ParameterError, match="is not a random forest"):
        theory.forest_bound(DecisionTreeClassifier().fit(X, y), X, y)
    with pytest.raises(ParameterError, match="must be a random forest"):
        theory.forest_bound(42, X, y)
