"""One tree: scikit-learn's on the same data, its pruning, its text, and what users may give it."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn import tree as sk
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import GridSearchCV, cross_val_score

from contract import parametrize_with_checks, run_check
from hedgerow import (
    AdaBoostClassifier,
    DataError,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ParameterError,
    load,
)
from hedgerow._tree.cart import n_candidate_features

CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
IRIS = load_iris(return_X_y=True)


@parametrize_with_checks(
    [
        DecisionTreeClassifier(),
        DecisionTreeClassifier(splitter="hist"),
        DecisionTreeClassifier(splitter="random"),
        DecisionTreeRegressor(),
        DecisionTreeRegressor(splitter="hist"),
        DecisionTreeRegressor(criterion="absolute_error"),
    ]
)
@pytest.mark.filterwarnings("default")
def test_scikit_learn_check(estimator, check):
    run_check(estimator, check)


# Data with few ties between splits, down to nodes of twenty rows: between equal ones the two
# libraries may choose differently.
_RNG = np.random.default_rng(7)
X_FREE = _RNG.normal(size=(700, 5))
Y_FREE = X_FREE[:, 0] * 2 + np.abs(X_FREE[:, 1]) + _RNG.normal(size=700)
CLASS_FREE = np.digitize(Y_FREE, [-0.5, 2.0])
UNEVEN = _RNG.uniform(0.5, 2.0, 700)

# Its trees of weighted rows are others than those of rows that are repeated.
WEIGHTED_MEDIANS = pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8),
    reason="scikit-learn 1.7 misjudges weighted absolute errors",
)

LIMITS = [
    {"max_depth": 3},
    {"min_samples_leaf": 40},
    {"min_samples_leaf": 0.05},
    {"min_samples_split": 150},
    {"min_samples_split": 0.2, "max_depth": 4},
    {"min_impurity_decrease": 0.01},
    {"min_weight_fraction_leaf": 0.07},
    {"max_leaves": 9},
]


def theirs(limits):
    return {("max_leaf_nodes" if k == "max_leaves" else k): v for k, v in limits.items()}


@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_classification_tree_is_scikit_learns(criterion, limits, weighted):
    weight = UNEVEN if weighted else None
    ours = DecisionTreeClassifier(criterion=criterion, **limits)
    peer = sk.DecisionTreeClassifier(criterion=criterion, random_state=0, **theirs(limits))
    ours.fit(X_FREE, CLASS_FREE, weight)
    peer.fit(X_FREE, CLASS_FREE, weight)
    assert ours.get_n_leaves() == peer.get_n_leaves() > 2
    assert ours.get_depth() == peer.get_depth()
    np.testing.assert_allclose(ours.predict_proba(X_FREE), peer.predict_proba(X_FREE), atol=1e-9)
    np.testing.assert_allclose(ours.feature_importances_, peer.feature_importances_, atol=1e-9)


@pytest.mark.parametrize(
    ("criterion", "limits", "weighted"),
    [
        ("squared_error", {"max_depth": 4}, False),
        ("squared_error", {"max_depth": 4}, True),
        ("squared_error", {"min_samples_leaf": 30}, True),
        # Without weights, many cuts are as good.
        pytest.param("absolute_error", {"max_depth": 4}, True, marks=WEIGHTED_MEDIANS),
        pytest.param("absolute_error", {"min_samples_leaf": 30}, True, marks=WEIGHTED_MEDIANS),
    ],
)
def test_a_regression_tree_is_scikit_learns(criterion, limits, weighted):
    weight = UNEVEN if weighted else None
    ours = DecisionTreeRegressor(criterion=criterion, **limits).fit(X_FREE, Y_FREE, weight)
    peer = sk.DecisionTreeRegressor(criterion=criterion, random_state=0, **limits)
    peer.fit(X_FREE, Y_FREE, weight)
    np.testing.assert_allclose(ours.predict(X_FREE), peer.predict(X_FREE), rtol=1e-9)
    np.testing.assert_allclose(ours.feature_importances_, peer.feature_importances_, atol=1e-9)
    assert ours.get_depth() == peer.get_depth()


def test_best_first_growth_splits_what_gains_most():
    X, y = DIABETES
    ours = DecisionTreeRegressor(max_leaves=12).fit(X, y)
    theirs = sk.DecisionTreeRegressor(max_leaf_nodes=12, random_state=0).fit(X, y)
    assert ours.get_n_leaves() == 12
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))


def test_bins_find_nearly_what_every_value_finds():
    X, y = CANCER
    exact = cross_val_score(DecisionTreeClassifier(), X, y, cv=5).mean()
    hist = cross_val_score(DecisionTreeClassifier(splitter="hist"), X, y, cv=5).mean()
    assert hist > exact - 0.03


# Pruning.


@pytest.mark.parametrize(
    ("kind", "theirs", "criterion", "y"),
    [
        (DecisionTreeClassifier, sk.DecisionTreeClassifier, "gini", CLASS_FREE),
        (DecisionTreeClassifier, sk.DecisionTreeClassifier, "entropy", CLASS_FREE),
        (DecisionTreeRegressor, sk.DecisionTreeRegressor, "squared_error", Y_FREE),
        pytest.param(
            *(DecisionTreeRegressor, sk.DecisionTreeRegressor, "absolute_error", Y_FREE),
            marks=WEIGHTED_MEDIANS,
        ),
    ],
    ids=["gini", "entropy", "squared error", "absolute error"],
)
def test_the_pruning_path_is_scikit_learns(kind, theirs, criterion, y):
    options = {"criterion": criterion, "min_samples_leaf": 20}
    ours, peer = kind(**options), theirs(random_state=0, **options)
    path = ours.cost_complexity_pruning_path(X_FREE, y, UNEVEN)
    expected = peer.cost_complexity_pruning_path(X_FREE, y, UNEVEN)
    mine, other = path.ccp_alphas > 1e-12, expected.ccp_alphas > 1e-12  # some splits gain nothing
    np.testing.assert_allclose(path.ccp_alphas[mine], expected.ccp_alphas[other], rtol=1e-9)
    np.testing.assert_allclose(path.impurities[mine], expected.impurities[other], rtol=1e-9)
    assert not hasattr(ours, "n_features_in_")
    for alpha in path.ccp_alphas[1:-1] * 1.0001:
        pruned = clone(ours).set_params(ccp_alpha=alpha).fit(X_FREE, y, UNEVEN)
        same = clone(peer).set_params(ccp_alpha=alpha).fit(X_FREE, y, UNEVEN)
        assert pruned.get_n_leaves() == same.get_n_leaves()
        np.testing.assert_allclose(pruned.predict(X_FREE), same.predict(X_FREE))


def test_a_pruned_tree_is_the_best_of_all_subtrees():
    """Every subtree of a small tree is tried: none has a lower cost for its leaves."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    full = DecisionTreeRegressor(max_leaves=7).fit(X, y).tree_
    falls = full.gain / len(y)

    def subtrees(node):
        yield frozenset()
        if full.feature[node] >= 0:
            for left in subtrees(full.left[node]):
                for right in subtrees(full.right[node]):
                    yield left | right | {node}

    costs = {kept: -sum(falls[list(kept)]) for kept in subtrees(0)}
    for alpha in (0.001, 0.01, 0.03, 0.1):
        pruned = DecisionTreeRegressor(max_leaves=7, ccp_alpha=alpha).fit(X, y).tree_
        cost = -pruned.gain.sum() / len(y) + alpha * pruned.n_leaves
        best = min(c + alpha * (len(kept) + 1) for kept, c in costs.items())
        assert cost == pytest.approx(best)


def test_a_tree_with_categories_can_be_pruned():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=400), "b": rng.choice(list("pqrst"), 400)})
    y = frame["a"] + frame["b"].isin(["p", "s"]) * 2 + rng.normal(size=400)
    full = DecisionTreeRegressor().fit(frame, y)
    pruned = DecisionTreeRegressor(ccp_alpha=0.05).fit(frame, y)
    pruned._model.ensemble.validate()
    assert 1 < pruned.get_n_leaves() < 20 < full.get_n_leaves()
    assert np.mean((pruned.predict(frame) - y) ** 2) < 1.3


# Outputs, weights, tables.


def test_several_outputs_are_learned_together():
    X, y = DIABETES
    Y = np.column_stack([y, -2 * y, X[:, 2]])
    ours = DecisionTreeRegressor(max_depth=4).fit(X, Y)
    theirs = sk.DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, Y)
    assert ours.n_outputs_ == 3
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


def test_stumps_by_error_are_the_best_weak_learners_of_adaboost():
    """Each round has the least weighted error of all stumps; by Gini some rounds have more."""
    X, classes = X_FREE[:80, :3], CLASS_FREE[:80] == 1
    sides = [column <= value for column in X.T for value in column]
    margins = np.array([np.where(side, 1, -1) for side in sides]) * np.where(classes, 1, -1)
    excess = {}
    for criterion in ("error", "gini"):
        stump = DecisionTreeClassifier(criterion=criterion, max_depth=1)
        model = AdaBoostClassifier(stump, n_estimators=15).fit(X, classes)
        weight, found = np.full(80, 1 / 80), []
        for base_model, error in zip(model.estimators_, model.estimator_errors_, strict=True):
            wrong = base_model.predict(X) != classes
            assert error == pytest.approx(weight[wrong].sum())
            found.append(error - (1 - abs(margins @ weight).max()) / 2)
            weight = np.where(wrong, weight / (2 * error), weight / (2 - 2 * error))
        excess[criterion] = max(found)
    assert excess["error"] < 1e-9 < 0.01 < excess["gini"]


def test_the_error_is_that_of_one_output():
    with pytest.raises(ParameterError, match="criterion='error' supports one output, but y has 2"):
        DecisionTreeClassifier(criterion="error").fit(X_FREE, np.stack([CLASS_FREE] * 2, axis=1))


def test_costs_of_pruning_by_error_are_numbers_of_misclassified_rows():
    """As CART prunes classification trees: the path ends with the rows of the smaller classes."""
    path = DecisionTreeClassifier(criterion="error").cost_complexity_pruning_path(*CANCER)
    misclassified = path.impurities * len(CANCER[1])
    np.testing.assert_allclose(misclassified, np.round(misclassified), atol=1e-9)
    assert misclassified[0] == pytest.approx(0.0, abs=1e-9)
    assert misclassified[-1] == pytest.approx(np.bincount(CANCER[1]).min())


@pytest.mark.parametrize("criterion", ["gini", "entropy", "gain_ratio", "error"])
@pytest.mark.parametrize("splitter", ["exact", "hist", "random"])
def test_a_tree_is_the_same_on_any_number_of_threads(criterion, splitter, tmp_path):
    files = []
    for n_jobs in (1, 3):
        tree = DecisionTreeClassifier(
            criterion=criterion, splitter=splitter, random_state=0, n_jobs=n_jobs
        ).fit(X_FREE, CLASS_FREE, UNEVEN)
        tree.set_params(n_jobs=None).save(tmp_path / "tree.hedgerow")
        files.append((tmp_path / "tree.hedgerow").read_bytes())
        loaded = load(tmp_path / "tree.hedgerow")
        assert (loaded.predict_proba(X_FREE) == tree.predict_proba(X_FREE)).all()
        assert loaded.criterion == criterion
    assert files[0] == files[1]


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_several_outputs_may_be_classes(criterion):
    X = X_FREE
    Y = np.column_stack(
        [np.array(["a", "b", "c"])[CLASS_FREE], np.where(X[:, 2] > 0.3, "hi", "lo")]
    )
    options = {"criterion": criterion, "max_depth": 3}
    ours = DecisionTreeClassifier(**options).fit(X, Y)
    theirs = sk.DecisionTreeClassifier(random_state=0, **options).fit(X, Y)
    assert [list(c) for c in ours.classes_] == [["a", "b", "c"], ["hi", "lo"]]
    for p, q in zip(ours.predict_proba(X), theirs.predict_proba(X), strict=True):
        np.testing.assert_allclose(p, q, atol=1e-9)
    assert (ours.predict(X) == theirs.predict(X)).all()
    assert ours.n_classes_ == [3, 2]


def test_class_weights_are_weights():
    X, y = CANCER
    heavy = DecisionTreeClassifier(class_weight={0: 3.0}, max_depth=3).fit(X, y)
    same = DecisionTreeClassifier(max_depth=3).fit(X, y, np.where(y == 0, 3.0, 1.0))
    assert heavy.tree_ == same.tree_
    balanced = DecisionTreeClassifier(class_weight="balanced", max_depth=1).fit(X, y)
    np.testing.assert_allclose(balanced.tree_.value[0], 0.5)


def test_one_class_makes_a_constant_tree():
    model = DecisionTreeClassifier().fit([[1.0], [2.0]], ["yes", "yes"])
    assert model.predict([[5.0]]).tolist() == ["yes"]
    np.testing.assert_array_equal(model.predict_proba([[5.0]]), [[1.0]])


@pytest.mark.parametrize("splitter", ["exact", "hist", "random"])
def test_gaps_and_categories_are_taken_as_they_are(splitter):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=300), "town": rng.choice(["Bonn", "Ulm"], 300)})
    frame.loc[rng.random(300) < 0.2, "x"] = np.nan
    y = np.where(frame["x"].isna(), 5.0, 0.0) + (frame["town"] == "Ulm")
    model = DecisionTreeRegressor(splitter=splitter).fit(frame, y)
    np.testing.assert_allclose(model.predict(frame), y)
    polars = pl.from_pandas(frame)
    np.testing.assert_array_equal(model.predict(polars), model.predict(frame))
    assert "town in {Ulm}" in model.export_text()


def test_the_absolute_error_is_not_led_astray_by_an_outlier():
    X = np.arange(40.0)[:, None]
    y = (X[:, 0] >= 20).astype(float)
    y[5] = 1000.0
    robust = DecisionTreeRegressor(criterion="absolute_error", max_depth=1).fit(X, y)
    assert mean_absolute_error(np.delete(y, 5), np.delete(robust.predict(X), 5)) == 0.0


def test_max_features_counts_as_the_lectures_do():
    assert [n_candidate_features(f, 28) for f in ("sqrt", "log2", "log2+1", None)] == [5, 4, 5, 28]
    assert [n_candidate_features(f, 28) for f in (3, 40, 0.5, 1e-9, 1.0)] == [3, 28, 14, 1, 28]
    assert [n_candidate_features(f, 1) for f in ("sqrt", "log2", "log2+1")] == [1, 1, 1]


def test_the_seed_matters_only_where_something_is_random():
    X, y = CANCER
    trees = [DecisionTreeClassifier(random_state=s).fit(X, y).tree_ for s in (0, 1)]
    assert trees[0] == trees[1]
    sampled = [DecisionTreeClassifier(max_features=3, random_state=s).fit(X, y) for s in (0, 0, 1)]
    assert sampled[0].tree_ == sampled[1].tree_ != sampled[2].tree_


def test_nodes_on_the_way_to_the_leftmost_leaf_draw_different_features():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5_000, 20)), rng.normal(size=5_000)
    tree = DecisionTreeRegressor(max_features=1, random_state=0).fit(X, y).tree_
    node, features = 0, []
    while tree.left[node] >= 0:
        features.append(int(tree.feature[node]))
        node = tree.left[node]
    assert len(set(features[:6])) > 2


@pytest.mark.parametrize("n_jobs", [2, 3, 8])
def test_the_tree_is_the_same_on_any_number_of_threads(n_jobs):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 6)).round(2)
    y = X[:, 0] * X[:, 1] + rng.normal(size=len(X))
    one = DecisionTreeRegressor(n_jobs=1, min_samples_leaf=20).fit(X, y)
    assert DecisionTreeRegressor(n_jobs=n_jobs, min_samples_leaf=20).fit(X, y).tree_ == one.tree_


# Looking at it.


def test_the_text_can_be_cut_short_and_weighed():
    X, y = IRIS
    model = DecisionTreeClassifier().fit(X, y)
    text = model.export_text(max_depth=0, show_weights=True, decimals=1)
    assert text.splitlines() == [
        "|--- feature_2 <= 2.5",
        "|   |--- class: 0  [1.0, 0.0, 0.0] (weight 50.0)",
        "|--- feature_2 >  2.5",
        "|   |--- truncated branch of depth 4",
    ]
    named = model.export_text(feature_names=["a", "b", "length", "d"], show_missing=True)
    assert named.startswith("|--- length <= 2.45\n")
    assert "length >  2.45 or missing" in named
    with pytest.raises(ParameterError, match="feature_names has 1 names; the tree has 4"):
        model.export_text(feature_names=["a"])


def test_paths_lead_to_the_leaves():
    X, y = IRIS
    ours, theirs = DecisionTreeClassifier().fit(X, y), sk.DecisionTreeClassifier(random_state=0)
    path = ours.decision_path(X)
    assert path.shape == (len(X), ours.tree_.n_nodes)
    np.testing.assert_array_equal(path[np.arange(len(X)), ours.apply(X)], 1)
    depths = np.asarray(path.sum(axis=1)).ravel() - 1
    assert depths.max() == ours.get_depth()
    assert depths.min() == np.asarray(theirs.fit(X, y).decision_path(X).sum(axis=1)).min() - 1


# What must not break.


def test_it_can_be_searched_pickled_and_saved(tmp_path):
    X, y = CANCER
    actual = GridSearchCV(DecisionTreeClassifier(), {"ccp_alpha": [0.0, 0.01]}, cv=3).fit(X, y)
    model = actual.best_estimator_
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    model.save(tmp_path / "tree.hedgerow")
    loaded = load(tmp_path / "tree.hedgerow")
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.export_text() == model.export_text()


NOT_ALLOWED = {
    "criterion": ["mse", None],
    "splitter": ["best"],
    "max_depth": [0, -1, 2.0],
    "max_leaves": [1, 2.5],
    "min_samples_split": [1, 0.0, 1.5],
    "min_samples_leaf": [0, 1.0, -0.1],
    "min_weight_fraction_leaf": [-0.1, 0.6],
    "max_features": [0, 1.5, "all", -0.5],
    "min_impurity_decrease": [-1.0, np.nan],
    "ccp_alpha": [-0.1, "auto"],
    "max_bins": [256],
    "random_state": [-1],
    "n_jobs": [0],
}


@pytest.mark.parametrize(
    ("name", "value"), [(n, v) for n, values in NOT_ALLOWED.items() for v in values]
)
def test_what_is_not_allowed_is_named(name, value):
    for kind in (DecisionTreeClassifier, DecisionTreeRegressor):
        with pytest.raises(ParameterError, match=rf"^{name}=.* must be "):
            kind(**{name: value}).fit(*IRIS)


def test_a_fit_that_fails_leaves_the_tree_as_it_was():
    X, y = IRIS
    model = DecisionTreeClassifier().fit(X, y)
    before = model.tree_
    with pytest.raises(DataError):
        model.fit(X, y[:-1])
    with pytest.raises(DataError, match="infinity"):
        model.fit(np.where(X > 7, np.inf, X), y)
    with pytest.raises(ParameterError, match="class_weight has 2 dicts; y has 1 outputs"):
        model.set_params(class_weight=[{}, {}]).fit(X, y)
    assert model.tree_ is before
