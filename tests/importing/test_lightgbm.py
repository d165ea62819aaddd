"""Models of LightGBM, read from its text: the same scores, bit for bit, and everything on top."""

from functools import cache

import lightgbm
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import hedgerow as hr
from export.models import model as own_model
from export.models import rows as own_rows
from importing.rows import (
    NUMERIC,
    as_categories,
    hard_rows,
    raw_scores,
    table,
    target,
    three_classes,
    with_odd_labels,
)

SMALL = {
    "num_leaves": 31,
    "min_data_in_leaf": 5,
    "min_data_per_group": 5,
    "cat_smooth": 1.0,
    "verbose": -1,
    "num_threads": 1,
    "seed": 1,
}
FOREST = {"boosting": "rf", "bagging_fraction": 0.5, "bagging_freq": 1}
KINDS = {
    "regression": ({"objective": "regression"}, target),
    "l1": ({"objective": "regression_l1"}, target),
    "quantile": ({"objective": "quantile", "alpha": 0.3}, target),
    "poisson": ({"objective": "poisson"}, lambda X: np.exp(target(X) / 4)),
    "tweedie": ({"objective": "tweedie"}, lambda X: np.exp(target(X) / 4)),
    "cross_entropy": ({"objective": "cross_entropy"}, lambda X: target(X) > 0),
    "binary": ({"objective": "binary"}, lambda X: target(X) > 0),
    "binary_steep": ({"objective": "binary", "sigmoid": 1.5}, lambda X: target(X) > 0),
    "binary_half": ({"objective": "binary", "sigmoid": 2.0}, lambda X: target(X) > 0),
    "multiclass": ({"objective": "multiclass", "num_class": 3}, three_classes),
    "ova": ({"objective": "multiclassova", "num_class": 3}, three_classes),
    "dart": ({"objective": "regression", "boosting": "dart"}, target),
    "forest": ({"objective": "regression", **FOREST}, target),
    "zero_is_missing": ({"objective": "regression", "zero_as_missing": True}, target),
    "nothing_is_missing": ({"objective": "regression", "use_missing": False}, target),
    "linear": ({"objective": "regression", "linear_tree": True}, target),
    "one_hot": ({"objective": "regression", "max_cat_to_onehot": 20}, target),
}


@cache
def fitted(kind, n_rounds=15):
    parameters, y_of = KINDS[kind]
    frame = table()
    data = lightgbm.Dataset(frame, y_of(frame))
    return lightgbm.train(SMALL | parameters, data, n_rounds)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_lightgbm(kind, tmp_path):
    booster = fitted(kind)
    booster.save_model(tmp_path / "model.txt")
    model = hr.read_model(tmp_path / "model.txt")
    frame = with_odd_labels(hard_rows(model))
    # LightGBM averages trees only in predictions, not in raw scores.
    expected = booster.predict(as_categories(frame), raw_score=kind != "forest")
    found = raw_scores(model, frame)
    np.testing.assert_array_equal(found.reshape(expected.shape), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_those_of_lightgbm(kind):
    booster = fitted(kind)
    model = hr.from_lightgbm(booster)
    frame = with_odd_labels(table(500, seed=3))
    expected = booster.predict(as_categories(frame))
    found = model.predict_proba(frame) if hasattr(model, "predict_proba") else model.predict(frame)
    found = found[:, 1] if expected.ndim == 1 and found.ndim == 2 else found
    if kind == "ova":  # where LightGBM's probabilities do not add up to 1
        expected = expected / expected.sum(axis=1, keepdims=True)
        assert "divided by their sum" in model.origin_.notes[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_forest_of_classes_averages_before_the_link():
    frame = table()
    booster = lightgbm.train(
        SMALL | FOREST | {"objective": "binary"}, lightgbm.Dataset(frame, target(frame) > 0), 15
    )
    model = hr.from_lightgbm(booster)
    np.testing.assert_allclose(model.predict_proba(frame)[:, 1], booster.predict(frame), rtol=1e-14)
    offset = np.linspace(-1.0, 1.0, len(frame))
    shifted = model.decision_function(frame, offset=offset)
    np.testing.assert_array_equal(shifted, offset + model.decision_function(frame))
    staged = list(model.staged_predict_proba(frame))
    np.testing.assert_array_equal(staged[-1], model.predict_proba(frame))
    np.testing.assert_array_equal(staged[4], model[:5].predict_proba(frame))


@pytest.mark.parametrize("kind", ["regression", "multiclass", "one_hot", "forest"])
def test_shapley_values_are_those_of_lightgbm(kind):
    booster = fitted(kind)
    model = hr.from_lightgbm(booster)
    frame = table(200, seed=3)
    expected = booster.predict(frame, pred_contrib=True).reshape(200, -1, 5)
    if kind == "forest":  # LightGBM explains the sum
        expected = expected / model.n_iter_
    explained = hr.explain.shap_values(model, frame)
    found = explained.values.reshape(200, 4, -1).transpose(0, 2, 1)
    np.testing.assert_allclose(found, expected[..., :-1], rtol=1e-5, atol=1e-8)


def test_columns_of_codes_are_categories_of_numbers():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=2_000), rng.integers(0, 30, 2_000) * 3])
    y = X[:, 0] + np.isin(X[:, 1], [3, 9, 27, 60])
    data = lightgbm.Dataset(X, y, categorical_feature=[1])
    booster = lightgbm.train(SMALL | {"objective": "regression"}, data, 10)
    model = hr.from_lightgbm(booster)
    new = np.column_stack([np.zeros(200), np.arange(-50, 150)]).astype(float)
    new[::7, 1] = np.nan
    np.testing.assert_array_equal(model.predict(new), booster.predict(new))


def test_a_column_whose_sets_need_more_than_255_bins():
    rng = np.random.default_rng(0)
    labels = np.array([f"c{i:04}" for i in range(1_500)])
    effect = rng.normal(size=len(labels))
    code = rng.integers(0, len(labels), 20_000)
    frame = pd.DataFrame({"x": rng.normal(size=20_000), "label": pd.Categorical(labels[code])})
    data = lightgbm.Dataset(frame, frame["x"] + effect[code])
    options = {"objective": "regression", "max_cat_threshold": 200, "min_data_per_group": 1}
    booster = lightgbm.train(SMALL | options, data, 20)
    model = hr.from_lightgbm(booster)
    assert model._model.statistics.columns, "otherwise the test is of bins"
    new = pd.DataFrame({"x": 0.3, "label": [*labels, None, "other"]})
    as_known = new.assign(
        label=pd.Categorical(new["label"].where(new["label"] != "other"), categories=labels)
    )
    np.testing.assert_array_equal(model.predict(new), booster.predict(as_known))
    explained = hr.explain.shap_values(model, new[:50])
    expected = booster.predict(as_known[:50], pred_contrib=True)
    np.testing.assert_allclose(explained.values, expected[:, :-1], rtol=1e-6, atol=1e-9)


def test_an_estimator_brings_its_classes_and_its_best_iteration():
    frame = table()
    y = np.array([30, 10, 20])[three_classes(frame)]
    estimator = lightgbm.LGBMClassifier(n_estimators=200, verbose=-1, learning_rate=0.5, n_jobs=1)
    stop = lightgbm.early_stopping(3, verbose=False)
    half = len(frame) // 2
    estimator.fit(frame[:half], y[:half], eval_X=frame[half:], eval_y=y[half:], callbacks=[stop])
    model = hr.from_lightgbm(estimator)
    assert model.n_iter_ == estimator.best_iteration_ < 200
    assert model.predict(frame).tolist() == estimator.predict(frame).tolist()
    assert model.classes_.tolist() == [10, 20, 30]
    assert model.origin_.version == lightgbm.__version__


def test_a_ranker():
    frame = table()
    data = lightgbm.Dataset(frame, three_classes(frame), group=[30] * 100)
    booster = lightgbm.train(SMALL | {"objective": "lambdarank"}, data, 10)
    model = hr.from_lightgbm(booster)
    assert type(model) is hr.GradientBoostingRanker
    np.testing.assert_array_equal(raw_scores(model, frame)[:, 0], booster.predict(frame))


@pytest.mark.parametrize("kind", ["multiclass", "zero_is_missing", "linear", "forest", "ova"])
def test_a_read_model_is_saved_and_loaded(kind, tmp_path):
    model = hr.from_lightgbm(fitted(kind))
    frame = with_odd_labels(hard_rows(model, 2_000))
    model.save(tmp_path / "model.hedgerow")
    loaded = hr.read_model(tmp_path / "model.hedgerow")
    assert loaded.origin_ == model.origin_
    np.testing.assert_array_equal(raw_scores(loaded, frame), raw_scores(model, frame))
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))


@pytest.mark.parametrize(
    "kind",
    [
        *("regressor", "poisson", "two_classes", "exponential", "three_classes", "vector_leaves"),
        *("multilabel", "two_targets", "no_split", "forest", "extra_trees", "tree"),
    ],
)
def test_a_round_trip_keeps_the_scores(kind, tmp_path):
    estimator, frame = own_model(kind), own_rows(kind)
    estimator.export(tmp_path / "model.txt")
    model = hr.read_model(tmp_path / "model.txt")
    fitted_model = estimator.__hedgerow__()
    if hasattr(fitted_model, "scores"):
        expected = fitted_model.scores(frame)
    else:
        matrix, inner = fitted_model.matrix(frame), fitted_model.model()
        is_forest = hasattr(inner, "forest")
        expected = inner.mean(matrix, 1) if is_forest else inner.ensemble.predict_raw(matrix)
    # LightGBM does not allow spaces in names.
    found = raw_scores(model, frame.rename(columns={"floor area": "floor_area"}))
    np.testing.assert_array_equal(found, expected)


def test_further_rounds_and_new_leaf_values():
    frame = table()
    model = hr.from_lightgbm(fitted("regression"))
    more = hr.GradientBoostingRegressor(n_estimators=5).fit(frame, target(frame), init_model=model)
    assert more.n_iter_ == model.n_iter_ + 5
    assert not hasattr(more, "origin_")
    assert more.score(frame, target(frame)) > model.score(frame, target(frame))
    model.refit(frame, -target(frame))
    assert model.score(frame, -target(frame)) > 0.8


@pytest.mark.parametrize("kind", ["forest", "zero_is_missing"])
def test_models_that_cannot_be_continued(kind):
    frame = table()
    model = hr.from_lightgbm(fitted(kind))
    with pytest.raises(hr.ParameterError, match="this model of LightGBM cannot be continued"):
        hr.GradientBoostingRegressor(n_estimators=5).fit(frame, target(frame), init_model=model)
    with pytest.raises(hr.ParameterError, match="refitted"):
        model.refit(frame, target(frame))


def test_a_sparse_table_in_which_0_is_missing():
    booster = lightgbm.train(
        SMALL | {"objective": "regression", "zero_as_missing": True},
        lightgbm.Dataset(table()[NUMERIC], target(table())),
        10,
    )
    model = hr.from_lightgbm(booster)
    frame = table(500, seed=3)[NUMERIC]
    sparse = pd.DataFrame.sparse.from_spmatrix(
        scipy.sparse.csr_matrix(frame.to_numpy()), columns=NUMERIC
    )
    np.testing.assert_array_equal(model.predict(sparse), booster.predict(frame))


# ---- what is refused -----------------------------------------------------------------------------


def text_of(kind="regression"):
    return fitted(kind, 2).model_to_string()


def read(text, tmp_path):
    (tmp_path / "model.txt").write_text(text)
    return hr.read_model(tmp_path / "model.txt")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version=v4", "version=v2", r"version='v2' is not allowed; it must be v3 or v4"),
        ("objective=regression", "objective=regression sqrt", "squares of scores"),
        ("objective=regression", "objective=huge", r"objective='huge' is not allowed"),
        ("end of trees", "end", "incomplete"),
        ("end of parameters", "", "'end of parameters' is missing: the file is incomplete"),
        ("max_feature_idx=3", "max_feature_idx=2", r"number of feature_names=4.*3"),
        ("num_leaves=31", "num_leaves=30", r"Tree=0\.leaf_value=.*a list of 30 numbers"),
        ("num_leaves=31", "num_leaves=-1", r"Tree=0\.num_leaves='-1'.*from 1 to"),
        ("left_child=", "left_child=99 ", r"Tree=0\.left_child"),
        ("num_tree_per_iteration=1", "num_tree_per_iteration=0", "num_tree_per_iteration='0'"),
    ],
)
def test_errors_name_the_field_the_value_and_what_is_allowed(old, new, message, tmp_path):
    text = text_of()
    assert old in text
    with pytest.raises(hr.ModelFileError, match=message) as error:
        read(text.replace(old, new, 1), tmp_path)
    assert "model.txt" in str(error.value)


def test_a_categorical_split_on_a_column_that_does_not_exist(tmp_path):
    text = text_of()
    line = next(line for line in text.split("\n") if line.startswith("split_feature="))
    columns = " ".join(["99999999999"] * len(line.partition("=")[2].split()))
    with pytest.raises(hr.ModelFileError, match=r"Tree=0\.split_feature\[0\]=99999999999.*to 3"):
        read(text.replace(line, f"split_feature={columns}", 1), tmp_path)


def test_nodes_that_are_no_tree(tmp_path):
    text = text_of()
    line = next(line for line in text.split("\n") if line.startswith("left_child="))
    children = line.partition("=")[2].split()
    twice = [children[0], children[0], *children[2:]]
    with pytest.raises(hr.ModelFileError, match="a node has two parents"):
        read(text.replace(line, "left_child=" + " ".join(twice), 1), tmp_path)


def test_something_else_is_no_model_of_lightgbm():
    with pytest.raises(hr.ParameterError, match=r"model=3 is not allowed; it must be a lightgbm"):
        hr.from_lightgbm(3)


def test_columns_with_spaces_in_their_names_are_found_again(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=["mean  radius", " area", "depth"])
    booster = lightgbm.train({"verbose": -1}, lightgbm.Dataset(X, X.iloc[:, 0]), 5)
    booster.save_model(tmp_path / "model.txt")
    for model in (hr.from_lightgbm(booster), hr.read_model(tmp_path / "model.txt")):
        assert list(model.feature_names_in_) == ["mean__radius", "_area", "depth"]
        assert (model.predict(X) == booster.predict(X)).all()
        assert (model.predict(X[["depth", " area", "mean  radius"]]) == booster.predict(X)).all()
        with pytest.raises(hr.DataError, match=r"X has no column.*'_area'"):
            model.predict(X.rename(columns={" area": "volume"}))
        alike = X.set_axis(["mean  radius", " area", "_area"], axis=1)
        with pytest.raises(hr.DataError, match="X has no column"):
            model.predict(alike)
