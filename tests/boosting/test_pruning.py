"""`prune=True`: trees that are grown without γ and then cut from the bottom up."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse

import hedgerow as hr
from hedgerow import cluster

RNG = np.random.default_rng(4)
GAMMA = 1.5


def exclusive_or(n_rows=600):
    """Two columns that matter only together, of which one half is a little more frequent."""
    X = np.column_stack([RNG.random((n_rows, 2)) > 0.49, RNG.random((n_rows, 2)) > 0.5]) * 1.0
    X += 0.1 * RNG.normal(size=X.shape)
    y = np.where((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5), 1.0, -1.0) + 0.5 * RNG.normal(size=n_rows)
    return X, y


X, Y = exclusive_or()
FRAME = np.column_stack([X, RNG.integers(0, 12, len(X))])
FRAME[::11, 1] = np.nan
SPARSE = scipy.sparse.random(900, 300, 0.012, "csr", random_state=np.random.default_rng(1))
SPARSE_Y = np.asarray(SPARSE[:, :40].sum(axis=1)).ravel() + 0.1 * RNG.normal(size=900)
OUTPUTS = np.column_stack([Y, Y**2, RNG.normal(size=len(Y))])
OPTIONS = {"n_estimators": 1, "max_leaves": 25, "min_samples_leaf": 2, "learning_rate": 1.0}
CATEGORIES = {"categorical_features": [4]}

# Every engine: the table, the target, and the options that choose it.
ENGINES = {
    "scalar": (FRAME, Y, CATEGORIES),
    "level-wise": (FRAME, Y, {**CATEGORIES, "grow_policy": "levelwise", "max_depth": 5}),
    "exact": (FRAME, Y, {**CATEGORIES, "splitter": "exact"}),
    "vector": (FRAME, OUTPUTS, {**CATEGORIES, "multi_strategy": "vector"}),
    "sparse": (SPARSE, SPARSE_Y, {"min_samples_leaf": 4}),
    "sample": (FRAME, Y, {**CATEGORIES, "subsample": 0.6}),
    "common step": (FRAME, np.exp(Y), {**CATEGORIES, "loss": "poisson"}),
}


def naive_pruning(tree, gamma, node=0):
    """The pruned tree as nested tuples, and whether it is a leaf: recursion from the root."""
    values = tuple(tree.value[node]), tree.count[node], tree.cover[node]
    if tree.feature[node] < 0:
        return values, True
    left, left_is_leaf = naive_pruning(tree, gamma, tree.left[node])
    right, right_is_leaf = naive_pruning(tree, gamma, tree.right[node])
    if left_is_leaf and right_is_leaf and tree.gain[node] <= gamma:
        return values, True
    return (*values, *question(tree, node), tree.gain[node] - gamma, left, right), False


def question(tree, node):
    categories = tree.category_set[node]
    bits = tuple(tree.category_bits[categories]) if categories >= 0 else None
    return tree.feature[node], tree.threshold[node], tree.missing_left[node], bits


def nested(tree, node=0):
    values = tuple(tree.value[node]), tree.count[node], tree.cover[node]
    if tree.feature[node] < 0:
        assert tree.gain[node] == 0.0
        return values
    below = nested(tree, tree.left[node]), nested(tree, tree.right[node])
    return (*values, *question(tree, node), tree.gain[node], *below)


def first_tree(model):
    return model._model.ensemble.tree(0)


def fitted(name, **options):
    table, y, chosen = ENGINES[name]
    return hr.GradientBoostingRegressor(**OPTIONS | chosen | options).fit(table, y)


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "common step"])
def test_the_tree_is_the_one_that_naive_pruning_leaves(name):
    whole = first_tree(fitted(name))
    gamma = max(float(np.quantile(whole.gain[whole.feature >= 0], 0.6)), 1.2 * whole.gain[0])
    if name in ("sparse", "vector"):  # whose first split is not that of an exclusive or
        gamma = float(np.quantile(whole.gain[whole.feature >= 0], 0.6))
    tree = first_tree(fitted(name, min_split_gain=gamma, prune=True))
    assert nested(tree) == naive_pruning(whole, gamma)[0]
    assert 1 < (tree.feature < 0).sum() < (whole.feature < 0).sum()
    # Splits are kept that γ alone would not have made.
    assert name in ("sparse", "vector") or (tree.gain < 0.0).any()
    # The order of nodes is that of growth, and no set of categories is left over.
    assert (tree.left[tree.feature >= 0] > np.flatnonzero(tree.feature >= 0)).all()
    assert len(tree.category_bits) == (tree.category_set >= 0).sum()


@pytest.mark.parametrize("name", ENGINES)
def test_rows_of_cut_leaves_are_in_the_leaf_that_replaces_them(name):
    """The second round sees the scores of the first: its leaves have the mean residuals."""
    if name == "common step":
        options = {"n_estimators": 3, "min_split_gain": 5.0, "prune": True}
        whole = fitted(name, **options)
        again = fitted(name, **options | {"n_estimators": 2})
        table, y, _ = ENGINES[name]
        resumed = hr.GradientBoostingRegressor(**again.get_params() | {"n_estimators": 1})
        resumed.fit(table, y, init_model=again)  # scores are recomputed from the trees
        np.testing.assert_array_equal(resumed.predict(table), whole.predict(table))
        return
    table, y, _ = ENGINES[name]
    model = fitted(name, n_estimators=3, min_split_gain=GAMMA, prune=True, subsample=1.0)
    y = y.reshape(len(y), -1)
    base = model._model.ensemble.base_score
    after = [base + 0 * y, *(p.reshape(y.shape) for p in model.staged_predict(table))]
    for tree, (before, now) in enumerate(pairwise(after)):
        leaf = model.apply(table)[:, tree]
        for number in np.unique(leaf):
            rows = leaf == number
            expected = (y - before)[rows].sum(axis=0) / (rows.sum() + 1.0)
            np.testing.assert_allclose(
                (now - before)[rows], np.broadcast_to(expected, (rows.sum(), y.shape[1])), atol=1e-6
            )


@pytest.mark.parametrize("name", ENGINES)
def test_a_pruned_model_is_the_same_on_any_number_of_threads(name, tmp_path):
    files = []
    for n_jobs in (1, 3):
        model = fitted(name, n_estimators=4, min_split_gain=GAMMA, prune=True, n_jobs=n_jobs)
        model.set_params(n_jobs=None).save(tmp_path / "model")
        files.append((tmp_path / "model").read_bytes())
    assert files[0] == files[1]
    loaded = hr.load(tmp_path / "model")
    assert loaded.prune is True
    np.testing.assert_array_equal(loaded.predict(ENGINES[name][0]), model.predict(ENGINES[name][0]))


def test_a_pruned_model_is_the_same_on_several_workers(tmp_path):
    options = OPTIONS | {"n_estimators": 3, "min_split_gain": GAMMA, "prune": True}
    model = hr.GradientBoostingRegressor(**options)

    def work(communicator):
        ends = (0, 250, 600)[communicator.rank : communicator.rank + 2]
        rows = X[slice(*ends)], Y[slice(*ends)]
        return cluster.fit(
            hr.GradientBoostingRegressor(**options), *rows, communicator=communicator
        )

    files = []
    for each in (model.fit(X, Y), *cluster.run_threads(work, 2)):
        each.save(tmp_path / "model")
        files.append((tmp_path / "model").read_bytes())
    assert len(set(files)) == 1


def test_without_gamma_nothing_is_cut():
    for name in ("scalar", "exact", "vector"):
        assert nested(first_tree(fitted(name, prune=True))) == nested(first_tree(fitted(name)))


def test_an_exclusive_or_is_learned_whatever_gamma_says_of_its_first_split():
    bits = (X[:, :2] > 0.5) * 1.0
    y = np.where(bits[:, 0] != bits[:, 1], 1.0, -1.0)

    def error(**options):
        model = hr.GradientBoostingRegressor(
            n_estimators=30, min_split_gain=5.0, max_depth=2, learning_rate=0.5, **options
        )
        return np.mean((model.fit(bits, y).predict(bits) - y) ** 2)

    with pytest.warns(hr.NoSplitWarning, match="min_split_gain=5"):
        assert error() > 0.9
    assert error(prune=True) < 0.02


def test_gains_add_up_to_the_decrease_of_the_objective():
    """γ counts once for each leaf that is left, which `structure_score` checks split by split."""
    model = fitted("scalar", n_estimators=3, min_split_gain=GAMMA, prune=True)
    score = hr.theory.structure_score(model)
    np.testing.assert_allclose(score.root_score - score.score, score.gain)
    assert (score.gain >= 0.0).all()
    assert score.gain[0] > 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prune": "yes"}, "prune='yes' is not allowed"),
        (
            {"prune": True, "grow_policy": "symmetric"},
            "cannot be used with grow_policy='symmetric'",
        ),
        ({"prune": True, "monotonic_constraints": [1, 0, 0, 0]}, "monotonic_constraints yet"),
    ],
)
def test_what_cannot_be_pruned_is_refused(options, message):
    with pytest.raises(hr.ParameterError, match=message):
        hr.GradientBoostingRegressor(**options).fit(X, Y)
