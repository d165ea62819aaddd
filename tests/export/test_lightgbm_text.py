"""LightGBM reads an exported model and predicts the same scores, bit for bit."""

import lightgbm
import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from export.models import model, rows, table

KINDS = (
    *("regressor", "poisson", "two_classes", "exponential", "three_classes", "vector_leaves"),
    *("multilabel", "two_targets", "no_split", "forest", "extra_trees", "two_class_forest", "tree"),
    *("symmetric", "averaged", "averaged_classes"),
)


def booster(estimator, folder):
    estimator.export(folder / "model.txt")
    return lightgbm.Booster(model_file=folder / "model.txt")


def with_categories(frame):
    """Return the table as LightGBM expects it: columns of categories have a categorical dtype."""
    known = table()
    frame = frame.copy()
    for name in ("colour", "code"):
        values = sorted(known[name].dropna().unique().tolist())
        frame[name] = pd.Categorical(frame[name], categories=values)
    return frame


def scores(kind, frame):
    estimator = model(kind)
    fitted = estimator.__hedgerow__()
    if hasattr(fitted, "scores"):
        return fitted.scores(frame)
    leaves = fitted.model()
    matrix = fitted.matrix(frame)
    if hasattr(leaves, "forest"):
        return leaves.mean(matrix, 1)
    return leaves.ensemble.predict_raw(matrix)


@pytest.mark.parametrize("kind", KINDS)
def test_lightgbm_computes_the_same_scores(kind, tmp_path):
    frame = rows(kind)
    # LightGBM averages trees only where it applies the link, which for means is the identity.
    is_mean = "forest" in kind or kind == "extra_trees"
    found = booster(model(kind), tmp_path).predict(with_categories(frame), raw_score=not is_mean)
    expected = scores(kind, frame)
    np.testing.assert_array_equal(found.reshape(expected.shape), expected)


def test_lightgbm_reads_tiny_numbers_as_zero(tmp_path):
    tiny = np.float64(np.float32(1e-35))
    X = np.array([-1.0, -tiny, -1e-310, 0.0, 1e-310, tiny, np.nextafter(tiny, 1), 1.0] * 9)[:, None]
    tree = hr.DecisionTreeRegressor().fit(X, np.tile(np.arange(8.0), 9))
    read = booster(tree, tmp_path)
    as_zero = np.where(np.abs(X) <= tiny, 0.0, X)
    np.testing.assert_array_equal(read.predict(X), tree.predict(as_zero))
    assert (read.predict(X) != tree.predict(X)).any()


def test_names_and_importances_are_there(tmp_path):
    read = booster(model("regressor"), tmp_path)
    assert read.feature_name() == ["size", "floor_area", "colour", "flag", "code"]
    np.testing.assert_array_equal(
        read.feature_importance("split"), model("regressor").importances("split")
    )
    np.testing.assert_allclose(
        read.feature_importance("gain"), model("regressor").importances("gain")
    )


def test_shapley_values_are_the_same(tmp_path):
    # LightGBM weights branches by their numbers of rows; the sums of hessians are the same here.
    frame = rows("regressor")
    read = booster(model("regressor"), tmp_path)
    found = read.predict(with_categories(frame), pred_contrib=True)
    explained = hr.explain.shap_values(model("regressor"), frame)
    np.testing.assert_allclose(found[:, :-1], explained.values, atol=1e-9)


def test_many_categories(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.array([f"c{i:03}" for i in range(250)])
    frame = pd.DataFrame({"label": rng.choice(labels, 4_000), "x": rng.normal(size=4_000)})
    y = frame["label"].str.slice(1).astype(int) % 7 + frame["x"]
    estimator = hr.GradientBoostingRegressor(n_estimators=20, max_categories=255).fit(frame, y)
    read = booster(estimator, tmp_path)
    new = pd.DataFrame({"label": [*labels, None, "other"], "x": 0.5})
    seen = sorted(frame["label"].unique())
    as_categories = new.assign(label=pd.Categorical(new["label"], categories=seen))
    np.testing.assert_array_equal(read.predict(as_categories), estimator.predict(new))


def test_names_that_lightgbm_does_not_allow_are_an_error(tmp_path):
    frame = pd.DataFrame({"a:b": np.arange(50.0), "c": 1.0})
    estimator = hr.GradientBoostingRegressor(n_estimators=2).fit(frame, np.arange(50.0))
    with pytest.raises(hr.ExportError, match="a:b"):
        estimator.export(tmp_path / "model.txt")


def test_a_default_fit_is_a_mean_of_models():
    """What the tests of all formats call "averaged" must be one, of trees of both kinds."""
    for kind in ("averaged", "averaged_classes"):
        assert model(kind).auto_.n_members > 1
