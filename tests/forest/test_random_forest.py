"""Forests: naive loops over their trees, scikit-learn's accuracy, and what users may give them."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import ensemble as sk
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_iris,
    load_wine,
    make_multilabel_classification,
)
from sklearn.metrics import accuracy_score, balanced_accuracy_score, r2_score, roc_auc_score
from sklearn.model_selection import cross_val_score, train_test_split

from contract import parametrize_with_checks, run_check
from hedgerow import (
    BaggingClassifier,
    DataError,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    ParameterError,
    RandomForestClassifier,
    RandomForestRegressor,
    load,
)
from hedgerow._forest import combinations

CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
IRIS = load_iris(return_X_y=True)
CLASSIFIERS = [RandomForestClassifier, ExtraTreesClassifier]
REGRESSORS = [RandomForestRegressor, ExtraTreesRegressor]


@parametrize_with_checks(
    [
        RandomForestClassifier(n_estimators=10),
        RandomForestRegressor(n_estimators=10),
        RandomForestClassifier(n_estimators=5, feature_combinations=2),
        ExtraTreesClassifier(n_estimators=10),
        ExtraTreesRegressor(n_estimators=10),
    ]
)
@pytest.mark.filterwarnings("default")
def test_scikit_learn_check(estimator, check):
    run_check(estimator, check)


# As good as scikit-learn's.


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_a_classifier_ranks_as_well_as_scikit_learns(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 10))
    p = 1 / (1 + np.exp(-(X[:, 0] * X[:, 1] + X[:, 2] ** 2 - 1)))
    y = (rng.random(4000) < p).astype(int)
    options = {"n_estimators": 100, "min_samples_leaf": 5, "random_state": 0}
    scores = []
    for each in (kind, getattr(sk, kind.__name__)):
        model = each(**options).fit(X[:2000], y[:2000])
        scores.append(roc_auc_score(y[2000:], model.predict_proba(X[2000:])[:, 1]))
    assert scores[0] > scores[1] - 0.01


@pytest.mark.parametrize("kind", REGRESSORS)
def test_a_regressor_predicts_as_well_as_scikit_learns(kind):
    X, y = DIABETES
    ours = cross_val_score(kind(), X, y, cv=5).mean()
    theirs = cross_val_score(getattr(sk, kind.__name__)(random_state=0), X, y, cv=5).mean()
    assert ours > theirs - 0.02


# Held to its own trees.


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
def test_the_prediction_is_the_mean_of_the_trees(kind):
    X, y = IRIS
    model = kind(n_estimators=7).fit(X, y)
    forest = model._model.forest
    leaves = model.apply(X)
    values = np.mean([forest.tree(t).value[leaves[:, t]] for t in range(7)], axis=0)
    if kind in CLASSIFIERS:
        np.testing.assert_allclose(model.predict_proba(X), values, atol=1e-12)
        votes = [forest.tree(t).value[leaves[:, t]].argmax(axis=1) for t in range(7)]
        np.testing.assert_array_equal(model.predict_trees(X), votes)
    else:
        np.testing.assert_allclose(model.predict(X), values[:, 0])
        np.testing.assert_allclose(model.predict_trees(X).mean(axis=0), model.predict(X))


def test_trees_draw_two_thirds_of_the_rows():
    X, y = CANCER
    model = RandomForestClassifier(n_estimators=50).fit(X, y)
    fractions = [len(np.unique(rows)) / len(X) for rows in model.estimators_samples_]
    assert np.mean(fractions) == pytest.approx(1 - np.exp(-1), abs=0.01)
    assert all(len(rows) == len(X) for rows in model.estimators_samples_)
    part = RandomForestClassifier(n_estimators=5, bootstrap=False, max_samples=0.3).fit(X, y)
    for rows in part.estimators_samples_:
        assert len(np.unique(rows)) == len(rows) == round(0.3 * len(X))


@pytest.mark.parametrize("options", [{}, {"feature_combinations": 2}], ids=str)
def test_the_out_of_bag_prediction_is_that_of_the_trees_that_did_not_draw_a_row(options):
    X, y = CANCER
    model = RandomForestClassifier(n_estimators=40, oob_score=True, **options).fit(X, y)
    forest, leaves = model._model.forest, model.apply(X)
    sums, counts = np.zeros(len(X)), np.zeros(len(X))
    for t, rows in enumerate(model.estimators_samples_):
        out = np.setdiff1d(np.arange(len(X)), rows)
        sums[out] += forest.tree(t).value[leaves[out, t], 0]
        counts[out] += 1
    np.testing.assert_allclose(model.oob_decision_function_[:, 1], sums / counts)
    right = (sums / counts > 0.5) == y
    assert model.oob_score_ == pytest.approx(right.mean())


def test_the_out_of_bag_error_is_near_the_test_error():
    X, X_test, y, y_test = train_test_split(*CANCER, random_state=0)
    model = RandomForestClassifier(oob_score=True).fit(X, y)
    assert model.oob_score_ == pytest.approx(model.score(X_test, y_test), abs=0.04)
    regressor = RandomForestRegressor(oob_score=True).fit(*DIABETES)
    assert regressor.oob_score_ == pytest.approx(r2_score(DIABETES[1], regressor.oob_prediction_))
    judged = RandomForestClassifier(oob_score=balanced_accuracy_score).fit(X, y)
    votes = judged.oob_decision_function_.argmax(axis=1)
    assert judged.oob_score_ == balanced_accuracy_score(y, votes)


@pytest.mark.parametrize("kind", [RandomForestClassifier, BaggingClassifier])
def test_the_out_of_bag_score_of_several_outputs_is_the_measure_of_score(kind):
    X, Y = make_multilabel_classification(300, n_classes=4, random_state=0)
    model = kind(n_estimators=60, oob_score=True).fit(X, Y)
    theirs = sk.RandomForestClassifier(60, oob_score=True, random_state=0).fit(X, Y)
    votes = model.oob_decision_function_.argmax(axis=1)
    assert model.oob_decision_function_.shape == theirs.oob_decision_function_.shape == (300, 2, 4)
    assert model.oob_score_ == accuracy_score(Y, votes)
    assert model.oob_score_ == pytest.approx(theirs.oob_score_, abs=0.1)
    several = np.column_stack([Y[:, 0], Y[:, 1] + Y[:, 2]])
    model.fit(X, several)
    by_output = model.oob_decision_function_
    votes = np.column_stack([probabilities.argmax(axis=1) for probabilities in by_output])
    assert model.oob_score_ == pytest.approx((votes == several).all(axis=1).mean())
    columns = np.column_stack([X[:, 0], X[:, 1] - X[:, 2]])
    regressor = RandomForestRegressor(n_estimators=60, oob_score=True).fit(X, columns)
    assert regressor.oob_score_ == pytest.approx(r2_score(columns, regressor.oob_prediction_))


def test_a_row_that_every_tree_drew_has_no_out_of_bag_prediction():
    with pytest.warns(UserWarning, match="in the sample of every tree"):
        model = RandomForestClassifier(n_estimators=2, oob_score=True).fit(*IRIS)
    gaps = np.isnan(model.oob_decision_function_).any(axis=1)
    assert 0 < gaps.sum() < len(gaps)
    assert 0.5 < model.oob_score_ <= 1.0


def test_permutation_importance_is_the_rise_of_the_trees_own_losses():
    """By a loop over trees, with one permutation that can be known: of a column of two values."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 400), rng.normal(size=400), rng.normal(size=400)])
    y = X[:, 0] * 10.0
    model = RandomForestRegressor(n_estimators=30, max_features=1.0).fit(X, y)
    found = model.permutation_importances(X, y)
    # Shuffled, the column is wrong in 2 p (1 − p) of the rows, and then by 10.
    expected = 100 * 2 * X[:, 0].mean() * (1 - X[:, 0].mean())
    assert found.mean[0] == pytest.approx(expected, rel=0.05)
    np.testing.assert_array_equal(found.mean[1:], 0.0)
    assert found.by_tree.shape == (30, 3)
    np.testing.assert_array_equal(found.z[1:], 0.0)
    np.testing.assert_allclose(found.z[0], found.mean[0] / (found.std[0] / np.sqrt(30)))


def test_permutation_importance_finds_what_gain_overrates():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 500), rng.normal(size=500)])
    y = (X[:, 0] == (rng.random(500) < 0.8)).astype(int)
    model = RandomForestClassifier(max_features=1).fit(X, y)
    assert model.feature_importances_[1] > 0.5
    importance = model.permutation_importances(X, y)
    assert importance.mean[0] > 10 * abs(importance.mean[1])
    for n_jobs in (1, 3):
        again = model.set_params(n_jobs=n_jobs).permutation_importances(X, y)
        np.testing.assert_array_equal(again.by_tree, importance.by_tree)


def test_importances_add_up():
    model = RandomForestRegressor(n_estimators=10).fit(*DIABETES)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    forest = model._model.forest
    trees = [forest.tree(t) for t in range(10)]
    gain = sum(np.bincount(t.feature[t.feature >= 0], t.gain[t.feature >= 0], 10) for t in trees)
    np.testing.assert_allclose(model.importances("gain"), gain)
    assert model.importances("split").sum() == forest.n_nodes - forest.n_leaves
    assert (model.importances("cover") > 0).all()
    theirs = sk.RandomForestRegressor(random_state=0).fit(*DIABETES).feature_importances_
    assert np.corrcoef(model.feature_importances_, theirs)[0, 1] > 0.98
    with pytest.raises(ParameterError, match="kind='weight'"):
        model.importances("weight")


def test_proximities_are_shared_leaves():
    X, y = IRIS
    model = RandomForestClassifier(n_estimators=20).fit(X, y)
    leaves = model.apply(X)
    expected = (leaves[:, None, :] == leaves[None, :, :]).mean(axis=2)
    np.testing.assert_allclose(model.proximities(X), expected)
    np.testing.assert_allclose(model.proximities(X[:5], X[50:]), expected[:5, 50:])


def test_paths_lead_to_the_leaves():
    X, y = IRIS
    model = RandomForestClassifier(n_estimators=3).fit(X, y)
    path, begins = model.decision_path(X)
    leaves = model.apply(X)
    assert path.shape == (len(X), begins[-1])
    for t in range(3):
        np.testing.assert_array_equal(path[np.arange(len(X)), begins[t] + leaves[:, t]], 1)


def naive_quantile(model, X, y, row, q):
    """Meinshausen's: the votes of the training rows that share the row's leaves, sorted by y."""
    votes = np.zeros(len(y))
    leaves, of_row = model.apply(X), model.apply(row[None])[0]
    for t in range(leaves.shape[1]):
        same = leaves[:, t] == of_row[t]
        votes[same] += 1 / same.sum()
    order = np.argsort(y, kind="stable")
    reached = np.cumsum(votes[order]) / votes.sum()
    return y[order][np.flatnonzero(reached >= q - 1e-12)[0]]


def test_quantiles_are_those_of_the_training_rows_in_the_leaves(tmp_path):
    X, y = DIABETES
    model = RandomForestRegressor(n_estimators=25, min_samples_leaf=5, keep_targets=True)
    found = model.fit(X, y).predict_quantiles(X[:8], [0.1, 0.5, 0.9])
    for row, quantiles in zip(X[:8], found, strict=True):
        expected = [naive_quantile(model, X, y, row, q) for q in (0.1, 0.5, 0.9)]
        np.testing.assert_array_equal(quantiles, expected)
    np.testing.assert_array_equal(model.predict_quantiles(X[:8], 0.5), found[:, 1])
    model.save(tmp_path / "forest.hedgerow")
    again = load(tmp_path / "forest.hedgerow").predict_quantiles(X[:8], [0.1, 0.5, 0.9])
    np.testing.assert_array_equal(again, found)


def test_quantiles_cover_what_they_say():
    rng = np.random.default_rng(0)
    X = rng.random((4000, 2))
    y = X[:, 0] + rng.normal(scale=0.1 + X[:, 1], size=4000)
    model = RandomForestRegressor(min_samples_leaf=20, keep_targets=True).fit(X[:3000], y[:3000])
    low, high = model.predict_quantiles(X[3000:], [0.1, 0.9]).T
    assert np.mean((low <= y[3000:]) & (y[3000:] <= high)) == pytest.approx(0.8, abs=0.05)


def test_quantiles_of_several_outputs_are_those_of_each():
    X, y = DIABETES
    options = {"n_estimators": 10, "keep_targets": True}
    model = RandomForestRegressor(**options).fit(X, np.column_stack([y, -y]))
    found = model.predict_quantiles(X[:5], [0.2, 0.8])
    assert found.shape == (5, 2, 2)
    for row, quantiles in zip(X[:5], found, strict=True):
        for q, of_outputs in zip((0.2, 0.8), quantiles, strict=True):
            assert of_outputs[0] == naive_quantile(model, X, y, row, q)
            assert of_outputs[1] == naive_quantile(model, X, -y, row, q)
    assert model.predict_quantiles(X[:5], 0.5).shape == (5, 2)


def test_quantiles_must_have_been_prepared():
    model = RandomForestRegressor(n_estimators=3).fit(*DIABETES)
    with pytest.raises(ParameterError, match="keep_targets=True"):
        model.predict_quantiles(DIABETES[0])
    model.set_params(keep_targets=True).fit(*DIABETES)
    with pytest.raises(ParameterError, match=r"quantiles=1.5 must be"):
        model.predict_quantiles(DIABETES[0], 1.5)


def test_permutation_importance_can_be_read_and_drawn():
    frame = pd.DataFrame(DIABETES[0], columns=list("abcdefghij"))
    found = RandomForestRegressor(n_estimators=20).fit(frame, DIABETES[1])
    found = found.permutation_importances(frame, DIABETES[1])
    table = found.to_frame()
    assert table["feature"][0] == "i"
    assert (np.diff(table["mean"]) <= 0).all()
    assert "of 10 features" in repr(found)
    assert "20 trees" in repr(found)
    assert len(found.plot().patches) == 10


def test_trees_are_estimators_by_themselves():
    X, y = CANCER
    forest = RandomForestClassifier(n_estimators=6, criterion="entropy").fit(X, y)
    assert len(forest) == len(forest.estimators_) == 6
    means = np.mean([tree.predict_proba(X) for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(means, forest.predict_proba(X), atol=1e-12)
    assert forest[-1].export_text() == forest.estimators_[5].export_text()
    texts = [tree.export_text() for tree in forest.estimators_]
    assert [tree.export_text() for tree in forest[1:4]] == texts[1:4]
    with pytest.raises(IndexError, match="there is no tree 6"):
        forest[6]
    with pytest.raises(TypeError, match="integer"):
        forest["first"]
    mixed = RandomForestClassifier(n_estimators=2, feature_combinations=2).fit(X, y)
    assert not hasattr(mixed, "estimators_")


@pytest.mark.parametrize("scale", [1e-30, 1e20, 1e60])
def test_targets_of_any_size_have_importances_and_files(scale, tmp_path):
    X, y = DIABETES
    model = RandomForestRegressor(n_estimators=5).fit(X, y)
    scaled = RandomForestRegressor(n_estimators=5).fit(X, y * scale)
    np.testing.assert_allclose(scaled.feature_importances_, model.feature_importances_, rtol=1e-6)
    scaled.save(tmp_path / "scaled.hedgerow")


@pytest.mark.filterwarnings("ignore::hedgerow.DataWarning")
def test_there_is_a_limit_to_the_classes():
    n = 65_537
    with pytest.raises(DataError, match="65537 classes; at most 65536"):
        RandomForestClassifier(n_estimators=1).fit(np.zeros((n, 1)), np.arange(n))


# Combinations of inputs.


def test_combinations_are_sums_in_units_of_the_deviation():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) * [1.0, 10.0, 0.1]
    X[0, 0] = np.nan
    pool = combinations.Combinations.draw(X, np.zeros(3, bool), 2, seed=1)
    mixed = pool.of(X)
    scaled = np.where(np.isnan(X), np.nanmean(X, axis=0), X) / np.nanstd(X, axis=0)
    for c in range(0, pool.n_combinations, 100):
        inputs = pool.inputs[c]
        weights = pool.coefficients[c] * np.nanstd(X, axis=0)[inputs]
        assert (np.abs(weights) <= 1).all()
        np.testing.assert_allclose(mixed[:, c], scaled[:, inputs] @ weights, rtol=1e-9)
    assert len({tuple(sorted(i)) for i in pool.inputs.tolist()}) == 3
    shares = pool.to_inputs(np.eye(pool.n_combinations))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert np.isnan(pool.of(np.full((1, 3), np.nan))).all()


def test_combinations_are_better_where_the_border_is_oblique():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1300, 4))
    y = (X[:, 0] + X[:, 1] - X[:, 2] > 0).astype(int)
    options = {"n_estimators": 50, "max_features": 2}
    scores = [
        RandomForestClassifier(**options, feature_combinations=L)
        .fit(X[:300], y[:300])
        .score(X[300:], y[300:])
        for L in (None, 3)
    ]
    assert scores[1] > scores[0] + 0.02


def test_combinations_take_gaps_and_categories(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=300), "c": rng.choice(list("abcd"), 300)})
    frame.loc[::7, "x"] = np.nan
    y = frame["c"].isin(["a", "b"]).astype(int)
    model = RandomForestClassifier(n_estimators=20, feature_combinations=2, max_features=4)
    assert model.fit(frame, y).score(frame, y) == 1.0
    assert model.feature_importances_[1] > model.feature_importances_[0]
    model.save(tmp_path / "rc.hedgerow")
    np.testing.assert_array_equal(
        load(tmp_path / "rc.hedgerow").predict_proba(frame), model.predict_proba(frame)
    )


@pytest.mark.parametrize("scale", [1e-200, 1e300])
def test_combinations_of_very_large_or_small_inputs_are_commensurable(scale):
    X, y = IRIS
    options = {"n_estimators": 10, "feature_combinations": 2}
    model = RandomForestClassifier(**options).fit(X * scale, y)
    assert model.score(X * scale, y) > 0.97


def test_combinations_by_blocks_are_combinations(monkeypatch):
    X, y = IRIS
    options = {"n_estimators": 40, "feature_combinations": 2, "oob_score": True}
    whole = RandomForestClassifier(**options).fit(X, y)
    monkeypatch.setattr(combinations, "_BLOCK", 1024 * 16)
    parts = RandomForestClassifier(**options).fit(X, y)
    assert parts._model.forest == whole._model.forest
    np.testing.assert_array_equal(parts.predict_proba(X), whole.predict_proba(X))
    np.testing.assert_array_equal(parts.oob_decision_function_, whole.oob_decision_function_)
    np.testing.assert_array_equal(parts.apply(X), whole.apply(X))


# Weights, outputs, tables.


def test_balanced_classes_weigh_the_same():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = (X[:, 0] + rng.normal(size=600) > 1.8).astype(int)
    options = {"n_estimators": 30, "min_samples_leaf": 10}
    plain, balanced, balanced_by_tree = (
        RandomForestClassifier(class_weight=w, **options).fit(X, y)
        for w in (None, "balanced", "balanced_subsample")
    )
    for model in (balanced, balanced_by_tree):
        assert model.predict(X).mean() > 2 * plain.predict(X).mean()
    tree = balanced_by_tree._model.forest.tree(0)
    assert tree.value[0, 0] == pytest.approx(0.5)
    same = RandomForestClassifier(class_weight={0: 1.0, 1: 4.0}, **options).fit(X, y)
    weighted = RandomForestClassifier(**options).fit(X, y, np.where(y == 1, 4.0, 1.0))
    assert same._model.forest == weighted._model.forest
    with pytest.raises(ParameterError, match="one output, but y has 2"):
        RandomForestClassifier(class_weight="balanced_subsample").fit(X, np.c_[y, y])


def test_several_outputs():
    X, y = load_wine(return_X_y=True)
    Y = np.column_stack([y, X[:, 0] > 13])
    model = RandomForestClassifier(n_estimators=30, oob_score=True).fit(X, Y)
    assert [p.shape for p in model.predict_proba(X)] == [(178, 3), (178, 2)]
    assert (model.predict(X) == Y).mean() > 0.97
    assert model.oob_score_ > 0.9
    assert model.predict_trees(X).shape == (30, 178, 2)
    assert model.permutation_importances(X, Y).mean.argmax() in (0, 6, 12)
    Y = np.column_stack([X[:, 0], y])
    regressor = ExtraTreesRegressor(n_estimators=10).fit(X[:, 1:], Y)
    assert regressor.predict(X[:, 1:]).shape == (178, 2)
    assert regressor.predict_trees(X[:, 1:]).shape == (10, 178, 2)


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
def test_any_table_will_do(kind):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "town": rng.choice(["Bonn", "Ulm"], 200)})
    frame.loc[::5, "x"] = np.nan
    y = (frame["town"] == "Ulm").astype(int)
    model = kind(n_estimators=20).fit(frame, y)
    assert model.score(frame, y) > 0.9
    np.testing.assert_array_equal(model.predict(pl.from_pandas(frame)), model.predict(frame))
    assert list(model.feature_names_in_) == ["x", "town"]
    unknown = frame.assign(town="Kiel")
    assert np.isfinite(model.predict(unknown)).all()
    with pytest.raises(DataError, match="Kiel"):
        model.set_params(unknown_category="error").predict(unknown)


# Determinism.


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
@pytest.mark.parametrize("options", [{}, {"max_leaves": 20}, {"max_samples": 0.5}], ids=str)
def test_a_forest_is_the_same_on_any_number_of_threads(kind, options, tmp_path):
    X, y = CANCER
    files = []
    for n_jobs in (1, 2, 3, 8):
        model = kind(n_estimators=9, n_jobs=n_jobs, random_state=5, **options).fit(X, y)
        model.save(tmp_path / "forest.hedgerow")
        files.append((tmp_path / "forest.hedgerow").read_bytes())
    assert len(set(files)) == 1


def test_a_warm_start_ends_where_one_fit_ends():
    X, y = CANCER
    options = {"oob_score": True, "max_features": "log2+1"}
    whole = RandomForestClassifier(n_estimators=50, **options).fit(X, y)
    model = RandomForestClassifier(n_estimators=42, warm_start=True, **options).fit(X, y)
    model.set_params(n_estimators=50).fit(X, y)
    assert model._model.forest == whole._model.forest
    np.testing.assert_array_equal(model.oob_decision_function_, whole.oob_decision_function_)
    with pytest.warns(UserWarning, match="already has n_estimators=50 trees"):
        model.fit(X, y)
    with pytest.raises(ParameterError, match="less than the 50 trees"):
        model.set_params(n_estimators=5).fit(X, y)
    with pytest.raises(DataError, match="different classes"):
        model.set_params(n_estimators=55).fit(X, y + 1)
    with pytest.raises(DataError, match="500 rows"):
        model.fit(X[:500], y[:500])
    with pytest.raises(
        ParameterError, match="feature_combinations=2 must be the same as in the fit"
    ):
        model.set_params(feature_combinations=2).fit(X, y)


@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample"])
def test_balanced_classes_and_a_warm_start_do_not_go_together_silently(class_weight):
    X, y = CANCER
    model = RandomForestClassifier(n_estimators=1, class_weight=class_weight, warm_start=True)
    model.fit(X, y).set_params(n_estimators=2)
    with pytest.warns(UserWarning, match=f"class_weight='{class_weight}' with warm_start=True"):
        model.fit(X, y)


@pytest.mark.parametrize("kind", REGRESSORS)
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("keep_targets", [False, True])
def test_the_deviation_of_a_prediction_is_that_across_and_within_leaves(
    kind, n_outputs, keep_targets
):
    X, y = DIABETES
    y = y if n_outputs == 1 else np.column_stack([y, X[:, 3] * y])
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    options = {"n_estimators": 7, "min_samples_leaf": 10, "keep_targets": keep_targets}
    model = kind(**options).fit(X, y, sample_weight=weights)
    prediction, deviation = model.predict(X[:5], return_std=True)
    np.testing.assert_array_equal(prediction, model.predict(X[:5]))
    variance = model.predict_trees(X[:5]).var(axis=0)
    if keep_targets:
        for row, leaves in enumerate(model.apply(X[:5])):
            for tree, leaf in enumerate(leaves):
                inside = model.apply(X)[:, tree] == leaf
                mean = np.average(y[inside], axis=0, weights=weights[inside])
                squares = (y[inside] - mean) ** 2
                variance[row] += np.average(squares, axis=0, weights=weights[inside]) / 7
    np.testing.assert_allclose(deviation, np.sqrt(variance), rtol=1e-9)


# What must not break.


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
def test_it_can_be_pickled_and_saved(kind, tmp_path):
    X, y = IRIS
    model = kind(n_estimators=8).fit(X, y)
    model.save(tmp_path / "forest.hedgerow")
    for again in (pickle.loads(pickle.dumps(model)), load(tmp_path / "forest.hedgerow")):
        assert again.get_params() == model.get_params()
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        np.testing.assert_array_equal(again.apply(X), model.apply(X))
        np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)


NOT_ALLOWED = {
    "n_estimators": [0, 1.5],
    "max_samples": [0, 0.0, 1.5],
    "feature_combinations": [0, 1.5],
    "oob_score": ["yes"],
    "bootstrap": [1],
    "max_features": ["all"],
    "warm_start": [None],
}


@pytest.mark.parametrize(
    ("name", "value"), [(n, v) for n, values in NOT_ALLOWED.items() for v in values]
)
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesRegressor])
def test_what_is_not_allowed_is_named(kind, name, value):
    with pytest.raises(ParameterError, match=rf"^{name}=.* must be "):
        kind(**{name: value}).fit(*IRIS)


def test_requests_that_contradict_each_other_are_refused():
    X, y = IRIS
    with pytest.raises(ParameterError, match="max_samples=151 is more than the 150 rows"):
        RandomForestClassifier(max_samples=151).fit(X, y)
    with pytest.raises(ParameterError, match="oob_score needs out-of-bag rows"):
        ExtraTreesClassifier(oob_score=True).fit(X, y)
    extra = ExtraTreesClassifier(n_estimators=3).fit(X, y)
    with pytest.raises(ParameterError, match="every tree is grown on all rows"):
        extra.permutation_importances(X, y)
    forest = RandomForestClassifier(n_estimators=3).fit(X, y)
    with pytest.raises(DataError, match="X has 100 rows, but fit had 150"):
        forest.permutation_importances(X[:100], y[:100])
    with pytest.raises(DataError, match="different classes"):
        forest.permutation_importances(X, y + 1)


def test_a_fit_that_fails_leaves_the_forest_as_it_was():
    X, y = IRIS
    model = RandomForestClassifier(n_estimators=3).fit(X, y)
    before = model._model
    with pytest.raises(DataError):
        model.fit(X, y[:-1])

    def broken(*_):
        raise RuntimeError("score")

    with pytest.raises(RuntimeError, match="score"):
        model.set_params(oob_score=broken, n_estimators=30).fit(X, y)
    assert model._model is before


def test_progress_is_shown(capsys):
    RandomForestClassifier(n_estimators=5, verbose=1, n_jobs=1).fit(*IRIS)
    assert "tree 5/5" in capsys.readouterr().err
