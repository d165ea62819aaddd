"""`read_model` on files that are no models, or not as they should be, of any library."""

import shutil
from pathlib import Path

import lightgbm
import numpy as np
import pytest
import xgboost

import hedgerow as hr
from hedgerow._model_file.text import to_json

X = np.random.default_rng(0).normal(size=(200, 2))
Y = X[:, 0] * X[:, 1]


@pytest.fixture
def files(tmp_path):
    """Write a model of each library."""
    light = {"verbose": -1, "num_threads": 1}
    booster = lightgbm.train(light, lightgbm.Dataset(X, Y), 3)
    booster.save_model(tmp_path / "light.txt")
    other = xgboost.train({"nthread": 1}, xgboost.DMatrix(X, Y), 3)
    other.save_model(tmp_path / "x.json")
    other.save_model(tmp_path / "x.ubj")
    return tmp_path


@pytest.mark.parametrize("name", ["light.txt", "x.json"])
def test_a_byte_order_mark_is_skipped(name, files):
    model = hr.read_model(files / name)
    marked = files / f"marked-{name}"
    marked.write_bytes(b"\xef\xbb\xbf" + (files / name).read_bytes())
    np.testing.assert_array_equal(hr.read_model(marked).predict(X), model.predict(X))


@pytest.mark.parametrize("name", ["light.txt", "x.json", "x.ubj"])
def test_the_name_of_a_file_does_not_matter(name, files):
    expected = hr.read_model(files / name).predict(X)
    for ending in (".txt", ".json", ".hedgerow", ""):
        renamed = files / f"renamed{ending}"
        renamed.write_bytes((files / name).read_bytes())
        np.testing.assert_array_equal(hr.read_model(renamed).predict(X), expected)


@pytest.mark.parametrize(
    ("name", "field", "twice"),
    [
        ("x.json", '"base_score":', '"base_score":"5","base_score":'),
        ("light.txt", "leaf_value=", "leaf_value=1 2\nleaf_value="),
        ("light.txt", "objective=", "objective=binary\nobjective="),
        ("cat.json", '"border":', '"border":0,"border":'),
        ("hedgerow.json", '"values":', '"values":[],"values":'),
    ],
)
def test_a_field_that_occurs_twice_is_refused(name, field, twice, files):
    shutil.copy(Path(__file__).parent / "catboost" / "squared.json", files / "cat.json")
    (files / "hedgerow.json").write_text(to_json(hr.DecisionTreeRegressor(max_depth=2).fit(X, Y)))
    text = (files / name).read_text().replace('": ', '":')
    assert field in text
    hr.read_model(files / name)
    (files / name).write_text(text.replace(field, twice, 1))
    with pytest.raises(hr.ModelFileError, match=r"the field '[a-z_]+' occurs twice"):
        hr.read_model(files / name)


def test_a_file_of_another_kind_is_answered_with_the_formats(tmp_path):
    (tmp_path / "x.py").write_text("print()")
    with pytest.raises(hr.ModelFileError, match=r"not a Hedgerow model.*XGBoost's JSON and"):
        hr.read_model(tmp_path / "x.py")


def test_paths_that_are_none(tmp_path):
    with pytest.raises(TypeError, match="path must be a file name, not a NoneType"):
        hr.read_model(None)
    with pytest.raises(hr.ParameterError, match=r"path='a\\x00b' is not allowed"):
        hr.read_model("a\0b")
    with pytest.raises(IsADirectoryError):
        hr.read_model(tmp_path)
    model = hr.DecisionTreeRegressor().fit(X, Y)
    with pytest.raises(TypeError, match="path must be a file name, not a NoneType"):
        model.export(None)
    with pytest.raises(hr.ParameterError, match="null byte"):
        model.export("a\0.py")
