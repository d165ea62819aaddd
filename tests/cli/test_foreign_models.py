"""Commands take models of other libraries as they take model files."""

import json

import lightgbm
import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from commands import make_people

TABLE = make_people()
NUMBERS = TABLE[["age", "income"]]


@pytest.fixture
def files(tmp_path):
    booster = lightgbm.train(
        {"objective": "regression", "verbose": -1, "num_threads": 1, "num_leaves": 4},
        lightgbm.Dataset(NUMBERS, TABLE["amount"]),
        5,
    )
    booster.save_model(tmp_path / "model.txt")
    NUMBERS.to_csv(tmp_path / "new.csv", index=False)
    return booster, tmp_path


def test_predict(run, files):
    booster, folder = files
    result = run("predict", folder / "model.txt", folder / "new.csv", "--out", folder / "out.csv")
    assert result.code == 0, result.err
    found = pd.read_csv(folder / "out.csv").iloc[:, -1]
    np.testing.assert_allclose(found, booster.predict(NUMBERS), rtol=1e-12)


def test_convert(run, files):
    booster, folder = files
    for name in ("model.hedgerow", "model.json", "model.h"):
        assert run("convert", folder / "model.txt", folder / name).code == 0
    for name in ("model.hedgerow", "model.json"):
        read = hr.read_model(folder / name)
        assert read.origin_.library == "LightGBM"
        np.testing.assert_array_equal(read.predict(NUMBERS), booster.predict(NUMBERS))


def test_inspect(run, files):
    _, folder = files
    result = run("inspect", folder / "model.txt", "--json")
    facts = json.loads(result.out)
    assert facts["origin"] == "LightGBM (text v4, regression)"
    assert facts["hedgerow"] is None
    assert facts["trees"] == 5
    assert "LightGBM (text v4, regression)" in run("inspect", folder / "model.txt").out
