"""Hard voting of forests, samples that draw from each class, and class weights of bagging."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import hedgerow as hr
from oracles.random_numbers import hash_of, unit_interval

RNG = np.random.default_rng(3)
X = RNG.normal(size=(400, 4))
Y = np.array(["common", "rare", "rarer"])[np.digitize(X[:, 0] + RNG.normal(size=400), [1.5, 2.3])]
COUNTS = {name: int((name == Y).sum()) for name in np.unique(Y)}
FORESTS = [hr.RandomForestClassifier, hr.ExtraTreesClassifier]
SIZES = {
    "balanced": [134, 133, 133],
    "undersample": [COUNTS["rarer"]] * 3,
    "oversample": [COUNTS["common"]] * 3,
}

# ---- votes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FORESTS)
def test_hard_voting_counts_the_classes_that_trees_predict(kind, tmp_path):
    model = kind(n_estimators=31, voting="hard", max_depth=3, max_samples=0.5, oob_score=True)
    model.fit(X, Y)
    votes = np.stack([np.eye(3)[np.searchsorted(model.classes_, t.predict(X))] for t in model])
    np.testing.assert_allclose(model.predict_proba(X), votes.mean(axis=0))
    # Equal numbers of votes: the first class.
    np.testing.assert_array_equal(
        model.predict(X), model.classes_[votes.sum(axis=0).argmax(axis=1)]
    )
    outside = np.ones((31, len(Y)), bool)
    for tree, rows in enumerate(model.estimators_samples_):
        outside[tree, rows] = False
    expected = (votes * outside[:, :, None]).sum(axis=0) / outside.sum(axis=0)[:, None]
    np.testing.assert_allclose(model.oob_decision_function_, expected)
    soft = kind(n_estimators=31, max_depth=3, max_samples=0.5).fit(X, Y)
    assert soft._model.forest == model._model.forest  # the trees are the same
    assert (soft.predict_proba(X) != model.predict_proba(X)).any()
    model.save(tmp_path / "forest.hedgerow")
    loaded = hr.load(tmp_path / "forest.hedgerow")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_hard_votes_are_explained_and_of_several_outputs():
    model = hr.RandomForestClassifier(n_estimators=5, voting="hard", max_depth=4).fit(X, Y)
    values = hr.explain.shap_values(model, X[:20])
    total = values.values.sum(axis=1) + values.base_values
    np.testing.assert_allclose(total, model.predict_proba(X[:20]), atol=1e-9)
    both = np.stack([Y, Y == "common"], axis=1)
    first, second = (
        hr.RandomForestClassifier(n_estimators=5, voting="hard").fit(X, both).predict_proba(X)
    )
    for shares in (first, second):
        np.testing.assert_allclose(shares * 5, np.round(shares * 5), atol=1e-9)


# ---- samples by class ------------------------------------------------------------------------


def naive_sample(seed, tree, draws):
    """The rows of a tree, by the definition of the draws."""
    rows, draw = [], 0
    for name, n in zip(np.unique(Y), draws, strict=True):
        of_class = np.flatnonzero(name == Y)
        for _ in range(n):
            u = unit_interval(hash_of(seed, "bootstrap", tree, draw))
            rows.append(of_class[int(u * len(of_class))])
            draw += 1
    return np.sort(rows)


@pytest.mark.parametrize("kind", FORESTS)
@pytest.mark.parametrize("bootstrap", SIZES)
def test_every_class_has_as_many_rows_in_the_sample_of_a_tree(kind, bootstrap, tmp_path):
    files = []
    for n_jobs in (1, 3):
        model = kind(n_estimators=3, bootstrap=bootstrap, random_state=5, n_jobs=n_jobs).fit(X, Y)
        model.set_params(n_jobs=None).save(tmp_path / "forest.hedgerow")
        files.append((tmp_path / "forest.hedgerow").read_bytes())
    assert files[0] == files[1]
    loaded = hr.load(tmp_path / "forest.hedgerow")
    for tree, rows in enumerate(model.estimators_samples_):
        np.testing.assert_array_equal(rows, naive_sample(5, tree, SIZES[bootstrap]))
        np.testing.assert_array_equal(rows, loaded.estimators_samples_[tree])
        assert [(Y[rows] == name).sum() for name in model.classes_] == SIZES[bootstrap]
        # The root has the sample's shares of the classes.
        assert model[tree].tree_.cover[0] == len(rows)
    more = kind(n_estimators=2, bootstrap=bootstrap, random_state=5, warm_start=True).fit(X, Y)
    more.set_params(n_estimators=3).fit(X, Y)
    assert more._model.forest == model._model.forest


def test_a_balanced_sample_may_be_smaller():
    model = hr.RandomForestClassifier(n_estimators=2, bootstrap="balanced", max_samples=31)
    rows = model.fit(X, Y).estimators_samples_[0]
    assert [(Y[rows] == name).sum() for name in model.classes_] == [11, 10, 10]


@pytest.mark.parametrize("bootstrap", SIZES)
def test_rare_classes_are_found_more_often(bootstrap):
    plain = hr.RandomForestClassifier(n_estimators=30, min_samples_leaf=5).fit(X[:300], Y[:300])
    even = hr.RandomForestClassifier(n_estimators=30, min_samples_leaf=5, bootstrap=bootstrap)
    even.fit(X[:300], Y[:300])
    rare = Y[300:] != "common"
    recall, even_recall = (
        (model.predict(X[300:])[rare] != "common").mean() for model in (plain, even)
    )
    assert even_recall > recall


@pytest.mark.parametrize("bootstrap", SIZES)
@pytest.mark.parametrize("estimator", [None, LogisticRegression()])
def test_bags_sample_by_class_too(bootstrap, estimator):
    bag = hr.BaggingClassifier(estimator, n_estimators=2, bootstrap=bootstrap, random_state=5)
    bag.fit(X, Y)
    for index, rows in enumerate(bag.estimators_samples_):
        np.testing.assert_array_equal(np.sort(rows), naive_sample(5, index, SIZES[bootstrap]))


def test_weights_of_rows_sampled_by_class_are_those_of_the_trees(tmp_path):
    weight = RNG.uniform(0.5, 2.0, len(Y))
    for options in ({}, {"max_features": 3}):  # grown as a forest, and one by one
        bag = hr.BaggingClassifier(n_estimators=2, bootstrap="undersample", **options)
        bag.fit(X, Y, sample_weight=weight)
        for tree, rows in zip(bag.estimators_, bag.estimators_samples_, strict=True):
            assert tree.tree_.cover[0] == pytest.approx(weight[rows].sum())
        bag.save(tmp_path / "bag.hedgerow")
        loaded = hr.load(tmp_path / "bag.hedgerow")
        np.testing.assert_array_equal(
            np.concatenate(loaded.estimators_samples_), np.concatenate(bag.estimators_samples_)
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bootstrap": "even"}, "bootstrap='even' is not allowed"),
        ({"voting": "loud"}, "voting='loud' is not allowed"),
        ({"bootstrap": "oversample", "max_samples": 0.5}, "max_samples=0.5 cannot be combined"),
        ({"bootstrap": "balanced", "max_samples": 2}, "2 rows are fewer than the 3 classes"),
    ],
)
def test_what_cannot_be_sampled_is_refused(options, message):
    with pytest.raises(hr.ParameterError, match=message):
        hr.RandomForestClassifier(**options).fit(X, Y)


def test_samples_by_class_need_one_output_and_the_same_classes():
    model = hr.RandomForestClassifier(n_estimators=1, bootstrap="undersample", warm_start=True)
    with pytest.raises(hr.ParameterError, match="supports one output, but y has 2"):
        model.fit(X, np.stack([Y, Y], axis=1))
    model.fit(X, Y).set_params(n_estimators=2)
    with pytest.raises(hr.DataError, match="some rows have a different class"):
        model.fit(X, Y[::-1])
    with pytest.raises(hr.ParameterError, match="bootstrap and max_samples must be the same as in"):
        model.set_params(bootstrap="oversample").fit(X, Y)


# ---- class weights of bagging ----------------------------------------------------------------


@pytest.mark.parametrize("class_weight", ["balanced", {"common": 0.2, "rare": 3.0}])
@pytest.mark.parametrize("bootstrap", [True, False])
def test_class_weights_of_a_bag_are_sample_weights(class_weight, bootstrap):
    factor = {"common": 0.2, "rare": 3.0, "rarer": 1.0}
    if class_weight == "balanced":
        factor = {name: len(Y) / (3 * count) for name, count in COUNTS.items()}
    weight = RNG.uniform(0.5, 2.0, len(Y))
    if class_weight == "balanced":
        weight[:] = 1.0
    by_class = hr.BaggingClassifier(n_estimators=3, bootstrap=bootstrap, class_weight=class_weight)
    by_row = hr.BaggingClassifier(n_estimators=3, bootstrap=bootstrap)
    by_class.fit(X, Y, sample_weight=weight)
    by_row.fit(X, Y, sample_weight=weight * np.vectorize(factor.get)(Y))
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X), atol=1e-9)
