"""Models of XGBoost, read from JSON and UBJSON: the same scores, bit for bit."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
import xgboost

import hedgerow as hr
from hedgerow._import.ubjson import parse_ubjson
from importing.rows import (
    NUMERIC,
    as_categories,
    hard_rows,
    raw_scores,
    table,
    target,
    three_classes,
    trees_of,
    with_odd_labels,
)

SMALL = {"max_depth": 5, "nthread": 1, "seed": 1}


def positive(frame):
    return np.exp(target(frame) / 4)


def two_classes(frame):
    return target(frame) > 0


def three_targets(frame):
    return np.column_stack([target(frame), -target(frame), target(frame) ** 2])


VECTOR = {"multi_strategy": "multi_output_tree"}
DART = {"booster": "dart", "rate_drop": 0.3}
SOFT = {"objective": "multi:softprob", "num_class": 3}
KINDS = {
    "squared": ({"objective": "reg:squarederror"}, target),
    "absolute": ({"objective": "reg:absoluteerror"}, target),
    "quantiles": ({"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.9]}, target),
    "poisson": ({"objective": "count:poisson"}, positive),
    "gamma": ({"objective": "reg:gamma"}, positive),
    "tweedie": ({"objective": "reg:tweedie"}, positive),
    "aft": ({"objective": "survival:aft"}, positive),
    "logistic": ({"objective": "reg:logistic"}, two_classes),
    "binary": ({"objective": "binary:logistic"}, two_classes),
    "one_hot": ({"objective": "binary:logistic", "max_cat_to_onehot": 20}, two_classes),
    "logitraw": ({"objective": "binary:logitraw"}, two_classes),
    "hinge": ({"objective": "binary:hinge"}, two_classes),
    "softprob": (SOFT, three_classes),
    "softmax": (SOFT | {"objective": "multi:softmax"}, three_classes),
    "forest": (SOFT | {"num_parallel_tree": 4, "subsample": 0.5}, three_classes),
    "dart": ({"objective": "reg:squarederror", **DART}, target),
    "dart_softprob": (SOFT | DART, three_classes),
    "targets": ({"objective": "reg:squarederror"}, three_targets),
    "labels": (
        {"objective": "binary:logistic"},
        lambda X: np.column_stack([target(X) > 0, target(X) > 1]),
    ),
    "vectors": ({"objective": "reg:squarederror", **VECTOR}, three_targets),
    "vectors_softprob": (SOFT | VECTOR, three_classes),
    "deep": ({"objective": "reg:squarederror", "max_depth": 12, "tree_method": "exact"}, target),
    "pruned": ({"objective": "reg:squarederror", "gamma": 20.0, "tree_method": "exact"}, target),
}
NUMBERS_ONLY = ("vectors", "vectors_softprob", "deep", "pruned")


def columns_of(kind, frame):
    return frame[NUMERIC] if kind in NUMBERS_ONLY else frame


@cache
def fitted(kind, n_rounds=12):
    parameters, y_of = KINDS[kind]
    frame = table()
    data = xgboost.DMatrix(columns_of(kind, frame), y_of(frame), enable_categorical=True, nthread=1)
    if kind == "aft":
        data.set_float_info("label_lower_bound", positive(frame))
        data.set_float_info("label_upper_bound", positive(frame))
    return xgboost.train(SMALL | parameters, data, n_rounds)


def matrix(kind, frame):
    return xgboost.DMatrix(
        columns_of(kind, as_categories(frame)), enable_categorical=True, nthread=1
    )


@pytest.mark.parametrize("ending", ["json", "ubj"])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_xgboost(kind, ending, tmp_path):
    booster = fitted(kind)
    booster.save_model(tmp_path / f"model.{ending}")
    model = hr.read_model(tmp_path / f"model.{ending}")
    frame = with_odd_labels(hard_rows(model), unknown=False)  # which XGBoost refuses
    expected = booster.predict(matrix(kind, frame), output_margin=True)
    found = raw_scores(model, columns_of(kind, frame)).reshape(expected.shape)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_those_of_xgboost(kind):
    booster = fitted(kind)
    model = hr.from_xgboost(booster)
    frame = table(500, seed=3)
    expected = booster.predict(matrix(kind, frame))
    rows = columns_of(kind, frame)
    if kind in ("hinge", "softmax"):
        np.testing.assert_array_equal(model.predict(rows), expected)
    elif kind == "logitraw":
        np.testing.assert_array_equal(model.decision_function(rows), expected)
    else:
        is_classifier = hasattr(model, "predict_proba")
        found = model.predict_proba(rows) if is_classifier else model.predict(rows)
        found = found[:, 1] if is_classifier and expected.ndim == 1 else found
        np.testing.assert_allclose(found, expected, rtol=2e-6)


@pytest.mark.parametrize("kind", ["squared", "binary", "softprob", "forest"])
def test_shapley_values_are_those_of_xgboost(kind):
    booster = fitted(kind)
    model = hr.from_xgboost(booster)
    frame = table(200, seed=3)
    expected = booster.predict(matrix(kind, frame), pred_contribs=True).reshape(200, -1, 5)
    explained = hr.explain.shap_values(model, frame)
    found = explained.values.reshape(200, 4, -1).transpose(0, 2, 1)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected[..., :-1], rtol=1e-5, atol=1e-5 * scale)


def test_columns_of_codes_and_unknown_codes():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=3_000), rng.integers(0, 30, 3_000)])
    X[::9, 1] = np.nan
    y = X[:, 0] + np.isin(X[:, 1], [3, 9, 27]) + 2 * np.isnan(X[:, 1])
    types = ["float", "c"]
    data = xgboost.DMatrix(X, y, feature_types=types, enable_categorical=True, nthread=1)
    booster = xgboost.train(SMALL | {"max_cat_to_onehot": 1}, data, 12)
    model = hr.from_xgboost(booster)
    new = np.column_stack([np.zeros(100), np.arange(100.0)])
    new[::7, 1] = np.nan
    expected = booster.predict(
        xgboost.DMatrix(new, feature_types=types, enable_categorical=True, nthread=1)
    )
    found = raw_scores(model, new)[:, 0]
    np.testing.assert_array_equal(found, expected)
    assert found[40] == found[41] != found[42]  # two unknown codes and a missing one


def test_unknown_codes_are_not_missing_after_saving(tmp_path):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=3_000), rng.integers(0, 9, 3_000)])
    X[::3, 1] = np.nan
    y = X[:, 0] + np.isin(X[:, 1], [3, 7]) + 2 * np.isnan(X[:, 1])
    data = xgboost.DMatrix(X, y, feature_types=["float", "c"], enable_categorical=True, nthread=1)
    model = hr.from_xgboost(xgboost.train(SMALL | {"max_cat_to_onehot": 1}, data, 12))
    column = model.__hedgerow__().model().binner.category_bins[1]
    assert len(column) == len(model._model.schema.categories[1].values) + 1
    model.save(tmp_path / "model.hedgerow")
    loaded = hr.load(tmp_path / "model.hedgerow")
    new = np.array([[0.0, 3.0], [0.0, 50.0], [0.0, np.nan]])
    np.testing.assert_array_equal(raw_scores(loaded, new), raw_scores(model, new))
    assert len(np.unique(raw_scores(model, new))) == 3
    model.export(tmp_path / "model.py")
    names: dict = {}
    exec((tmp_path / "model.py").read_text(), names)
    with pytest.raises(hr.ExportError, match="unknown categories of column 'x1'"):
        model.export(tmp_path / "model.txt")


def test_an_estimator_brings_its_classes_and_its_best_iteration():
    frame = table()
    y = three_classes(frame)
    estimator = xgboost.XGBClassifier(
        n_estimators=200,
        learning_rate=0.5,
        early_stopping_rounds=3,
        n_jobs=1,
        enable_categorical=True,
    )
    half = len(frame) // 2
    estimator.fit(frame[:half], y[:half], eval_set=[(frame[half:], y[half:])], verbose=False)
    model = hr.from_xgboost(estimator)
    assert model.n_iter_ == estimator.best_iteration + 1 < 200
    np.testing.assert_array_equal(model.predict(frame), estimator.predict(frame))
    assert model.origin_.version == xgboost.__version__


def test_a_read_model_is_saved_and_loaded(tmp_path):
    model = hr.from_xgboost(fitted("softprob"))
    model.save(tmp_path / "model.hedgerow")
    loaded = hr.read_model(tmp_path / "model.hedgerow")
    frame = with_odd_labels(hard_rows(model, 2_000))
    np.testing.assert_array_equal(raw_scores(loaded, frame), raw_scores(model, frame))
    assert loaded.origin_ == model.origin_


def test_leaves_are_fitted_again_and_rounds_added(tmp_path):
    frame, y = table(), target(table())
    model = hr.from_xgboost(fitted("squared"))
    before = np.mean((model.predict(frame) + y) ** 2)
    model.refit(frame, -y)  # without the counts of rows, which XGBoost does not store
    assert np.mean((model.predict(frame) + y) ** 2) < 0.1 * before
    model.save(tmp_path / "model.hedgerow")
    more = hr.GradientBoostingRegressor(n_estimators=5).fit(frame, -y, init_model=model)
    assert more.n_iter_ == 17
    assert np.mean((more.predict(frame) + y) ** 2) < np.mean((model.predict(frame) + y) ** 2)
    trees = trees_of(model)
    root = trees.tree_offset[0]
    left, right = trees.left[root], trees.right[root]
    weights = trees.cover[[root + left, root + right]]
    mean = np.average(trees.value[[root + left, root + right], 0], weights=weights)
    np.testing.assert_allclose(trees.value[root, 0], mean)


def test_an_export_of_xgboost_is_read(tmp_path):
    frame = table()[NUMERIC].astype(np.float32).astype(float)
    model = hr.GradientBoostingRegressor(n_estimators=10).fit(frame, target(table()))
    model.export(tmp_path / "model.xgb.json")
    read = hr.read_model(tmp_path / "model.xgb.json")
    np.testing.assert_allclose(read.predict(frame), model.predict(frame), rtol=1e-5, atol=1e-6)


def test_reports_and_explanations_of_a_read_model(tmp_path):
    frame = table()
    model = hr.from_xgboost(fitted("binary"))
    hr.report(model, frame, target(frame) > 0, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 50_000
    dependence = hr.explain.partial_dependence(model, frame, "label")
    rows = [frame.assign(label=pd.Categorical([label] * len(frame))) for label in "ru"]
    means = [model.predict_proba(rows_of_label)[:, 1].mean() for rows_of_label in rows]
    found = dict(zip(dependence.grid[0], dependence.average.reshape(-1), strict=True))
    np.testing.assert_allclose([found["r"], found["u"]], means, rtol=1e-7)  # float32 sums


# ---- what is refused -----------------------------------------------------------------------------


def document(kind="squared"):
    return json.loads(fitted(kind, 2).save_raw("json"))


def read(value, tmp_path):
    (tmp_path / "model.json").write_text(value if isinstance(value, str) else json.dumps(value))
    return hr.read_model(tmp_path / "model.json")


def tree_of(model):
    return model["learner"]["gradient_booster"]["model"]["trees"][0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(version=[1, 6, 0]), r"version=\[1, 6, 0\].*at least 1\.7"),
        (lambda m: m["learner"]["objective"].update(name="x"), "objective.name='x'"),
        (lambda m: m["learner"]["gradient_booster"].update(name="gblinear"), "'gbtree' or 'dart'"),
        (lambda m: m["learner"]["learner_model_param"].update(num_feature="-1"), "num_feature"),
        (lambda m: m["learner"]["learner_model_param"].update(num_feature="9"), "feature_names"),
        (lambda m: m["learner"]["learner_model_param"].update(base_score="x"), "base_score='x'"),
        (lambda m: tree_of(m)["left_children"].pop(), r"trees\[0\]\.right_children"),
        (lambda m: tree_of(m)["split_indices"].__setitem__(0, 99), "feature of node.*from 0 to 3"),
        (lambda m: tree_of(m)["left_children"].__setitem__(0, 0), "left child of node"),
        (lambda m: tree_of(m)["left_children"].__setitem__(0, 2), "two parents"),
        (lambda m: tree_of(m).pop("sum_hessian"), r"trees\[0\]\.sum_hessian is missing"),
        (lambda m: tree_of(m)["sum_hessian"].__setitem__(0, "a"), "a list of .* numbers"),
        (lambda m: m.pop("learner"), "not a model of"),
    ],
)
def test_errors_name_the_field_the_value_and_what_is_allowed(change, message, tmp_path):
    model = document()
    change(model)
    with pytest.raises(hr.ModelFileError, match=message) as error:
        read(model, tmp_path)
    assert "model.json" in str(error.value)


def test_json_that_is_none(tmp_path):
    with pytest.raises(hr.ModelFileError, match="not valid JSON"):
        read('{"learner": ', tmp_path)
    with pytest.raises(hr.ModelFileError, match="nested too deeply"):
        read('{"learner": ' + "[" * 100_000, tmp_path)


def ubjson_length(n):
    return b"L" + n.to_bytes(8, "big")


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"{}", {}),
        (b"{" + ubjson_length(1) + b"aT" + b"}", {"a": True}),
        (b"[i\x01U\xffI\x01\x00Z]", [1, 255, 256, None]),
        (b"[$U#i\x03\x01\x02\x03", [1, 2, 3]),
        (b"[#i\x02SU\x01aSU\x00", ["a", ""]),
        (b"[NNl\x00\x00\x00\x07d\x3f\x80\x00\x00]", [7, 1.0]),
        (b"{#i\x01i\x01ai\x05", {"a": 5}),
    ],
)
def test_universal_binary_json(data, value):
    parsed = parse_ubjson(data)
    assert (parsed.tolist() if isinstance(parsed, np.ndarray) else parsed) == value


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"x",
        b"[$U#L\x7f\xff\xff\xff\xff\xff\xff\xff",
        b"[$Z#L\x00\x00\x00\x00\xff\xff\xff\xff",
        b"[#i\xff",
        b"SL\x00\x00\x00\x00\x00\x00\x00\x09ab",
        b"SU\x01\xff",
        b"[" * 1000,
        b"{}x",
        b"{i\x01ai\x05i\x01ai\x06}",
        b"{#i\x02i\x01ai\x05i\x01ai\x05",
    ],
)
def test_damaged_binary_json_is_refused(data):
    with pytest.raises(hr.ModelFileError):
        parse_ubjson(data)


def test_something_else_is_no_model_of_xgboost():
    with pytest.raises(hr.ParameterError, match="model=3 is not allowed; it must be an xgboost"):
        hr.from_xgboost(3)
