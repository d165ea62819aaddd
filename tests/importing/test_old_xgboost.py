"""Models of XGBoost 1.7 and 2.1: the scores that these versions computed (`make_xgboost.py`)."""

import json
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
from importing.rows import raw_scores, table

FOLDER = Path(__file__).parent / "xgboost"
SCORES = json.loads((FOLDER / "scores.json").read_text())


def new_rows(model):
    """Return rows with labels as codes, which files before 3.1 have no names for."""
    frame = table(40, seed=5)
    coded = frame.assign(label=frame["label"].cat.codes.astype(float))
    return coded[list(model.feature_names_in_)]


@pytest.mark.parametrize("name", SCORES)
def test_scores_are_those_that_the_old_version_computed(name, tmp_path):
    model = hr.read_model(FOLDER / f"{name}.json")
    found = raw_scores(model, new_rows(model))
    np.testing.assert_array_equal(found, SCORES[name])
    assert model.origin_.version.startswith(name.partition("-")[0])
    model.save(tmp_path / "model.hedgerow")
    loaded = hr.load(tmp_path / "model.hedgerow")
    np.testing.assert_array_equal(raw_scores(loaded, new_rows(model)), found)


def test_vector_leaves_of_version_2_have_no_hessians():
    model = hr.read_model(FOLDER / "2.1-vectors.json")
    assert "the file has no hessians" in model.origin_.notes[0]
    rows = new_rows(model)
    explained = hr.explain.shap_values(model, rows)
    totals = explained.values.sum(axis=1) + explained.base_values
    np.testing.assert_allclose(totals, raw_scores(model, rows), atol=1e-6)
