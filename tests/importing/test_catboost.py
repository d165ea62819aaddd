"""Models of CatBoost, read from JSON: the same scores, bit for bit.

`catboost/` has small files that CatBoost wrote, with its scores (`make_catboost.py`); where
CatBoost is installed, its models are compared on many rows.
"""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import hedgerow as hr
from importing.rows import NUMERIC, hard_rows, raw_scores, table, target

FOLDER = Path(__file__).parent / "catboost"
SCORES = json.loads((FOLDER / "scores.json").read_text())


def new_rows():
    frame = table(40, seed=5)
    labels = frame["label"].astype(object)
    labels[::7] = "unknown"
    return frame.assign(label=labels.astype(str))


@pytest.mark.parametrize("name", SCORES)
def test_scores_are_those_that_catboost_computed(name, tmp_path):
    model = hr.read_model(FOLDER / f"{name}.json")
    rows = new_rows()[model.feature_names_in_]
    found = raw_scores(model, rows)
    np.testing.assert_array_equal(found, SCORES[name])
    assert model.origin_.library == "CatBoost"
    assert model.origin_.version == "1.2.10"
    model.save(tmp_path / "model.hedgerow")
    loaded = hr.load(tmp_path / "model.hedgerow")
    np.testing.assert_array_equal(raw_scores(loaded, rows), found)
    explained = hr.explain.shap_values(model, rows)
    base = np.asarray(explained.base_values).reshape(40, -1)
    totals = explained.values.reshape(*rows.shape, -1).sum(axis=1) + base
    np.testing.assert_allclose(totals, found, atol=1e-9)


def test_classes_are_those_of_the_file():
    assert hr.read_model(FOLDER / "two_classes.json").classes_.tolist() == ["no", "yes"]
    assert hr.read_model(FOLDER / "classes.json").classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m["features_info"].pop("cat_features_hash"), "Pass its training data"),
        (lambda m: m.update(scale_and_bias=[1]), "a scale and a list of biases"),
        (lambda m: m["oblivious_trees"][0]["leaf_values"].pop(), r"leaf_values=.*16 numbers"),
        (
            lambda m: m["oblivious_trees"][0]["splits"][0].update(split_type="OnlineCtr"),
            r"splits on target statistics \(CTR\) cannot be read",
        ),
        (
            lambda m: m["oblivious_trees"][0]["splits"][0].update(split_type="x"),
            "split_type='x' is not allowed",
        ),
        (
            lambda m: m["model_info"]["params"]["loss_function"].update(type="RMSEWithUncertainty"),
            "the loss function='RMSEWithUncertainty' is not allowed",
        ),
        (
            lambda m: m["features_info"]["float_features"][0].update(flat_feature_index=9),
            "flat_feature_index",
        ),
    ],
)
def test_errors_name_the_field_the_value_and_what_is_allowed(change, message, tmp_path):
    document = json.loads((FOLDER / "squared.json").read_text())
    change(document)
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(hr.ModelFileError, match=message):
        hr.read_model(tmp_path / "model.json")


def test_something_else_is_no_model_of_catboost():
    with pytest.raises(hr.ParameterError, match="a fitted model of CatBoost"):
        hr.from_catboost(3)


def test_what_catboost_cannot_write_as_json_is_said():
    def save_model(*_, **__):
        raise OSError("text features")

    model = SimpleNamespace(tree_count_=1, save_model=save_model)
    with pytest.raises(hr.ModelFileError, match="cannot write the model as JSON: text features"):
        hr.from_catboost(model)


# ---- with CatBoost -------------------------------------------------------------------------------


def test_scores_of_many_rows():
    pytest.importorskip("catboost")
    from importing.make_catboost import models, pool_of, texts

    for name, theirs in models().items():
        model = hr.from_catboost(theirs, pool_of(theirs))
        frame = hard_rows(model)
        labels = frame["label"].astype(object)
        labels[::17] = "unknown"
        frame = texts(frame.assign(label=labels))
        expected = np.asarray(theirs.predict(frame, prediction_type="RawFormulaVal"))
        found = raw_scores(model, frame).reshape(expected.shape)
        np.testing.assert_array_equal(found, expected, err_msg=name)


def test_models_without_categorical_features_are_read_with_and_without_their_pool(tmp_path):
    pytest.importorskip("catboost")
    from importing.make_catboost import numeric_models, pool_of

    for name, theirs in numeric_models().items():
        theirs.save_model(str(tmp_path / "with.json"), format="json", pool=pool_of(theirs))
        theirs.save_model(str(tmp_path / "without.json"), format="json")
        theirs.save_model(str(tmp_path / "model.cbm"))
        read = [
            hr.from_catboost(theirs),
            hr.from_catboost(theirs, pool_of(theirs)),
            *(hr.read_model(path) for path in sorted(tmp_path.iterdir())),
        ]
        rows = hard_rows(read[0])[NUMERIC]
        expected = np.asarray(theirs.predict(rows, prediction_type="RawFormulaVal"))
        for model in read:
            found = raw_scores(model, rows).reshape(expected.shape)
            np.testing.assert_array_equal(found, expected, err_msg=name)


def test_shapley_values_and_binary_files(tmp_path):
    catboost = pytest.importorskip("catboost")
    frame = table()[["size", "step", "count"]]
    theirs = catboost.CatBoostClassifier(iterations=10, verbose=0, allow_writing_files=False)
    theirs.fit(frame, target(table()) > 0)
    theirs.save_model(str(tmp_path / "model.cbm"))
    model = hr.read_model(tmp_path / "model.cbm")
    np.testing.assert_allclose(model.predict_proba(frame), theirs.predict_proba(frame), rtol=1e-12)
    expected = theirs.get_feature_importance(catboost.Pool(frame), type="ShapValues")
    found = hr.explain.shap_values(model, frame).values
    np.testing.assert_allclose(found.reshape(len(frame), 3), expected[:, :-1], atol=1e-10)
