"""XGBoost reads an exported model: the same decisions, and scores up to float32."""

import numpy as np
import pandas as pd
import pytest
import xgboost

import hedgerow as hr
from export.models import model, rows, table

KINDS = (
    *("regressor", "poisson", "two_classes", "exponential", "three_classes", "vector_leaves"),
    *("multilabel", "two_targets", "no_split", "forest", "extra_trees", "two_class_forest", "tree"),
    *("symmetric", "averaged", "averaged_classes"),
)


def booster(estimator, folder):
    estimator.export(folder / "model.xgb.json")
    return xgboost.Booster(model_file=folder / "model.xgb.json")


def known_rows(kind):
    """Rows that float32 holds exactly, without categories that XGBoost would reject."""
    frame = rows(kind)
    colours = table()["colour"].dropna().unique()
    frame = frame[
        frame["code"].isin([1, 3, 20]) & (frame["colour"].isna() | frame["colour"].isin(colours))
    ]
    return frame.astype({"size": np.float32, "floor area": np.float32})


def matrix(frame):
    known = table()
    frame = frame.copy()
    for name in ("colour", "code"):
        values = sorted(known[name].dropna().unique().tolist())
        frame[name] = pd.Categorical(frame[name], categories=values)
    return xgboost.DMatrix(frame, enable_categorical=True)


@pytest.mark.parametrize("kind", KINDS)
def test_xgboost_predicts_as_the_model(kind, tmp_path):
    frame, estimator = known_rows(kind), model(kind)
    found = booster(estimator, tmp_path).predict(matrix(frame))
    if hasattr(estimator, "predict_proba"):
        expected = estimator.predict_proba(frame)
        # One score is the probability of the second class.
        expected = expected[:, 1] if found.ndim == 1 else expected
    else:
        expected = estimator.predict(frame)
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)


def test_every_row_ends_in_the_same_leaf(tmp_path):
    frame, estimator = known_rows("regressor"), model("regressor")
    found = booster(estimator, tmp_path).predict(matrix(frame), pred_leaf=True)
    np.testing.assert_array_equal(found, estimator.apply(frame))


def test_a_split_between_all_categories_and_missing_values(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"colour": rng.choice(["red", "blue", None], 300)})
    frame["size"] = rng.integers(0, 4, 300).astype(float)
    y = np.where(frame["colour"].isna(), 8.0 + frame["size"], frame["size"] // 2)
    tree = hr.DecisionTreeRegressor(max_depth=3).fit(frame, y)
    known = frame.assign(colour=pd.Categorical(frame["colour"], categories=["blue", "red"]))
    found = booster(tree, tmp_path).predict(xgboost.DMatrix(known, enable_categorical=True))
    np.testing.assert_array_equal(found, y)
    read = hr.read_model(tmp_path / "model.xgb.json")
    np.testing.assert_array_equal(read.predict(frame), y)


def test_what_xgboost_cannot_hold_is_refused(tmp_path):
    for kind, reason in (
        ("linear_leaves", "linear_leaves"),
        ("temperature", "calibration"),
        ("target_statistics", "target statistics"),
        ("quantiles", "sorted"),
    ):
        with pytest.raises(hr.ExportError, match=reason):
            model(kind).export(tmp_path / "model.xgb.json")
    assert not list(tmp_path.iterdir())
