"""The structure score against gradients summed by hand, and against a search of all trees."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from hedgerow import (
    DataError,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ParameterError,
    RandomForestRegressor,
    theory,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
X[RNG.random(X.shape) < 0.05] = np.nan
NUMBERS = 3 * np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2 + RNG.normal(size=300)
TWO = (NUMBERS > 1).astype(int)
THREE = np.digitize(NUMBERS, [0.0, 2.0])
WEIGHTS = RNG.uniform(0.2, 2.0, 300)
SMALL = {"n_estimators": 6, "max_leaves": 6, "min_samples_leaf": 5}


def regressor(**parameters):
    return GradientBoostingRegressor(**SMALL | parameters)


def classifier(**parameters):
    return GradientBoostingClassifier(**SMALL | parameters)


def gradients(loss, y, scores, weights):
    """g and h of each output, from the losses' definitions."""
    if loss == "squared_error":
        g, h = [scores[:, 0] - y], [np.ones(len(y))]
    elif loss == "log_loss":
        p = 1 / (1 + np.exp(-scores[:, 0]))
        g, h = [p - y], [p * (1 - p)]
    else:
        p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        g = [p[:, k] - (y == k) for k in range(3)]
        h = [p[:, k] * (1 - p[:, k]) for k in range(3)]
    return [w * weights for w in g], [w * weights for w in h]


def boost_by_hand(model, loss, X, y, weights):
    """Yield for each tree the node sums {node: (G, H)}, from `apply` and formulas alone."""
    ensemble = model._model.ensemble
    leaves = model.apply(X)
    scores = np.tile(ensemble.base_score, (len(y), 1))
    n_outputs = scores.shape[1]
    for t in range(ensemble.n_trees):
        if t % n_outputs == 0:
            g, h = gradients(loss, y, scores, weights)
        tree = ensemble.tree(t)
        rows = {node: np.zeros(len(y), bool) for node in range(tree.n_nodes)}
        parent = {}
        for node in range(tree.n_nodes):
            if tree.feature[node] >= 0:
                parent[int(tree.left[node])] = parent[int(tree.right[node])] = node
        for node in range(tree.n_nodes):
            above = node
            while True:
                rows[above] |= leaves[:, t] == node
                if above not in parent:
                    break
                above = parent[above]
        k = t % n_outputs
        yield tree, {node: (g[k][is_in].sum(), h[k][is_in].sum()) for node, is_in in rows.items()}
        scores[:, k] += tree.value[leaves[:, t], 0]


CASES = [
    ("squared_error", regressor, NUMBERS),
    ("log_loss", classifier, TWO),
    ("multinomial", classifier, THREE),
]


@pytest.mark.parametrize("splitter", ["exact", "hist"])
@pytest.mark.parametrize(("loss", "build", "y"), CASES, ids=[case[0] for case in CASES])
@pytest.mark.parametrize("weights", [np.ones(300), WEIGHTS], ids=["plain", "weighted"])
def test_sums_scores_gains_and_penalty_are_those_of_the_rows(splitter, loss, build, y, weights):
    lam, gamma = 0.7, 0.05
    model = build(splitter=splitter, reg_lambda=lam, min_split_gain=gamma, learning_rate=0.3)
    model.fit(X, y, weights)
    result = theory.structure_score(model, X, y, weights)
    nodes = result.nodes
    trees = list(boost_by_hand(model, loss, X, y, weights))
    assert len(result.score) == len(trees)
    for t, (tree, sums) in enumerate(trees):
        of = np.flatnonzero(nodes.tree == t)
        G, H = (np.array([sums[n][i] for n in range(tree.n_nodes)]) for i in (0, 1))
        scale = np.abs(NUMBERS).sum()
        np.testing.assert_allclose(nodes.G[of], G, rtol=1e-9, atol=1e-13 * scale)
        np.testing.assert_allclose(nodes.H[of], H, rtol=1e-9)
        leaf = tree.feature < 0
        worth = -0.5 * G**2 / (H + lam)
        J = worth[leaf].sum() + gamma * leaf.sum()
        w = -G[leaf] / (H[leaf] + lam)
        assert result.score[t] == pytest.approx(J, rel=1e-9)
        assert result.recomputed[t] == pytest.approx(J, rel=1e-9)
        assert result.n_leaves[t] == leaf.sum()
        omega = gamma * leaf.sum() + 0.5 * lam * (w**2).sum()
        assert result.penalty[t] == pytest.approx(omega, rel=1e-9)
        objective = (G[leaf] * w + 0.5 * H[leaf] * w**2).sum() + omega
        assert result.score[t] == pytest.approx(objective, rel=1e-9)
        for node in np.flatnonzero(~leaf):
            parts = worth[node] - worth[tree.left[node]] - worth[tree.right[node]] - gamma
            assert nodes.gain[of[node]] == pytest.approx(parts, rel=1e-7, abs=1e-9)
            assert nodes.gain[of[node]] == pytest.approx(tree.gain[node], rel=1e-7)


@pytest.mark.parametrize("splitter", ["exact", "hist"])
@pytest.mark.parametrize("gamma", [0.0, 0.3])
def test_gains_lead_from_the_root_to_the_tree(splitter, gamma):
    model = classifier(splitter=splitter, min_split_gain=gamma).fit(X, THREE)
    result = theory.structure_score(model)
    assert result.recomputed is None
    np.testing.assert_allclose(result.root_score - result.gain, result.score, rtol=1e-12)
    assert (result.nodes.gain[result.nodes.feature >= 0] > 0).all()
    np.testing.assert_array_equal(result.output, np.arange(18) % 3)


def test_a_stump_is_the_best_of_all_stumps():
    x, y = X[:40], NUMBERS[:40]
    x = np.nan_to_num(x)
    lam, gamma = 1.0, 0.1
    model = GradientBoostingRegressor(
        n_estimators=1,
        max_leaves=2,
        min_samples_leaf=1,
        splitter="exact",
        reg_lambda=lam,
        min_split_gain=gamma,
    ).fit(x, y)
    g = y.mean() - y

    def score(*leaves):
        return sum(-0.5 * g[rows].sum() ** 2 / (rows.sum() + lam) + gamma for rows in leaves)

    every = [
        score(x[:, f] <= cut, x[:, f] > cut) for f in range(4) for cut in np.sort(x[:, f])[:-1]
    ]
    assert theory.structure_score(model).score[0] == pytest.approx(min(every), rel=1e-12)


def test_the_weights_minimise_the_objective_of_their_structure():
    result = theory.structure_score(regressor(n_estimators=1, reg_lambda=0.5).fit(X, NUMBERS))
    leaf = result.nodes.feature < 0
    G, H, w = (of[leaf] for of in (result.nodes.G, result.nodes.H, result.nodes.weight))

    def objective(w):
        return (G * w + 0.5 * (H + 0.5) * w**2).sum()

    assert objective(w) == pytest.approx(result.score[0], rel=1e-12)
    for j in range(len(w)):
        for step in (-0.01, 0.01):
            assert objective(w + step * (np.arange(len(w)) == j)) > objective(w)


@pytest.mark.parametrize("splitter", ["exact", "hist"])
def test_reg_alpha_shrinks_the_sums(splitter):
    alpha = 4.0
    model = regressor(splitter=splitter, reg_alpha=alpha).fit(X, NUMBERS)
    result = theory.structure_score(model, X, NUMBERS)
    np.testing.assert_allclose(result.score, result.recomputed, rtol=1e-9)
    np.testing.assert_allclose(result.root_score - result.gain, result.score, rtol=1e-12)
    for t, (tree, sums) in enumerate(
        boost_by_hand(model, "squared_error", X, NUMBERS, np.ones(300))
    ):
        of = result.nodes.tree == t
        G = np.array([sums[n][0] for n in range(tree.n_nodes)])
        known = np.isfinite(result.nodes.G[of])
        np.testing.assert_allclose(result.nodes.G[of][known], G[known], rtol=1e-9)
        assert (np.abs(G[~known]) <= alpha).all()
        leaf = tree.feature < 0
        w = result.nodes.weight[of][leaf]
        omega = 0.5 * (w**2).sum() + alpha * np.abs(w).sum()
        assert result.penalty[t] == pytest.approx(omega, rel=1e-9)
    root = result.nodes.node == 0
    assert np.isnan(result.nodes.G[root][0])  # the mean leaves a root without gradient


@pytest.mark.parametrize("splitter", ["exact", "hist"])
def test_categories_too_many_to_try_each(splitter):
    """Splits that sort categories note a smaller gain than that by which J falls."""
    frame = pd.DataFrame({"kind": RNG.choice(list("abcdefghijkl"), 300), "x": X[:, 0]})
    y = frame["kind"].map({c: np.sin(i) for i, c in enumerate("abcdefghijkl")}) * 4 + NUMBERS
    model = regressor(splitter=splitter).fit(frame, y)
    result = theory.structure_score(model, frame, y)
    ensemble = model._model.ensemble
    is_sorted = ensemble.gain < result.nodes.gain * (1 - 1e-6)
    assert is_sorted.any()
    assert (ensemble.category_set[is_sorted] >= 0).all()
    np.testing.assert_allclose(result.score, result.recomputed, rtol=1e-9)
    np.testing.assert_allclose(result.root_score - result.gain, result.score, rtol=1e-12)


def test_a_loss_of_the_user_s_and_class_weights():
    def logistic(y, scores):
        p = 1 / (1 + np.exp(-scores))
        return p - y, p * (1 - p)

    model = classifier(loss=logistic, class_weight={0: 2.0, 1: 0.5}).fit(X, TWO, WEIGHTS)
    result = theory.structure_score(model, X, TWO, WEIGHTS)
    np.testing.assert_allclose(result.score, result.recomputed, rtol=1e-9)


def test_many_rows_are_compared_as_finely_as_they_were_rounded():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(40_000, 3))
    y = x[:, 0] + rng.normal(size=40_000)
    model = regressor(n_estimators=3).fit(x, y)
    result = theory.structure_score(model, x, y)
    np.testing.assert_allclose(result.score, result.recomputed, rtol=1e-4)
    np.testing.assert_allclose(result.root_score - result.gain, result.score, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
def test_a_model_without_splits_scores_its_roots():
    model = regressor(min_samples_leaf=300).fit(X, NUMBERS)
    result = theory.structure_score(model, X, NUMBERS)
    np.testing.assert_allclose(result.score, 0.0, atol=1e-18)
    np.testing.assert_array_equal(result.n_leaves, 1)
    np.testing.assert_array_equal(result.gain, 0.0)
    assert "6 trees" in repr(result)
    assert result.nodes.plot().get_xlabel() == "tree"


def test_weights_that_were_cut_off_are_refused():
    model = classifier(max_delta_step=0.2).fit(X, TWO)
    with pytest.raises(ParameterError, match=r"max_delta_step=0\.2 limited weights"):
        theory.structure_score(model)
    free = classifier(max_delta_step=100.0).fit(X, TWO)
    np.testing.assert_allclose(
        theory.structure_score(free).score, theory.structure_score(classifier().fit(X, TWO)).score
    )


@pytest.mark.parametrize(
    "changed", [{"learning_rate": 0.2}, {"reg_lambda": 3.0}, {"min_split_gain": 1.0}]
)
def test_parameters_changed_after_the_fit_are_noticed(changed):
    model = regressor().fit(X, NUMBERS).set_params(**changed)
    with pytest.raises(ParameterError, match="do not match its weights"):
        theory.structure_score(model)


def test_rows_that_are_not_those_of_fit_are_refused():
    with pytest.raises(DataError, match="X has 300 rows, but tree 0 was grown on"):
        theory.structure_score(regressor(subsample=0.5).fit(X, NUMBERS), X, NUMBERS)
    with pytest.raises(DataError, match="no validation set for early stopping"):
        theory.structure_score(regressor(early_stopping=True).fit(X, NUMBERS), X, NUMBERS)
    model = regressor(subsample=0.5, early_stopping=True).fit(X, NUMBERS)
    assert (theory.structure_score(model).score < 0).all()
    with pytest.raises(ParameterError, match="both X and y"):
        theory.structure_score(model, X)


def test_other_models_are_refused():
    with pytest.raises(NotFittedError):
        theory.structure_score(regressor())
    forest = RandomForestRegressor(n_estimators=2).fit(X, NUMBERS)
    with pytest.raises(ParameterError, match="pass Hedgerow's GradientBoosting"):
        theory.structure_score(forest)
    with pytest.raises(ParameterError, match="must be Hedgerow's GradientBoosting"):
        theory.structure_score("model")


@pytest.mark.parametrize("loss", ["absolute_error", "quantile", "poisson"])
def test_leaves_that_are_no_newton_steps_have_no_score(loss):
    model = regressor(loss=loss).fit(X, np.abs(NUMBERS))
    with pytest.raises(ParameterError, match=f"loss='{loss}': its leaves minimise"):
        theory.structure_score(model)


def test_sums_too_coarse_for_their_hessians_are_warned_of():
    X, y = load_iris(return_X_y=True)
    free = {"learning_rate": 1.0, "reg_lambda": 0.0, "min_child_weight": 0.0}
    model = GradientBoostingClassifier(n_estimators=60, min_samples_leaf=20, **free).fit(X, y)
    with pytest.warns(UserWarning, match="differs from J of the rows, first in tree"):
        theory.structure_score(model, X, y)


@pytest.mark.parametrize("scale", [1e-6, 3.0])
def test_weights_of_any_scale_are_those_of_the_fit(scale):
    X, y = load_iris(return_X_y=True)
    weights = scale * np.linspace(0.5, 1.5, len(y))
    model = GradientBoostingClassifier(n_estimators=3).fit(X, y, weights)
    found = theory.structure_score(model, X, y, weights)
    np.testing.assert_allclose(found.score, found.recomputed, rtol=1e-6)
