"""AdaBoost of the library's own trees: what is exported to rounding errors, and what is refused."""

import importlib.util

import lightgbm
import numpy as np
import pytest

import hedgerow as hr
from export.models import ADABOOST, number_of, table

FRAME = table()
Y = number_of(FRAME)
CLASSES = {2: Y > 0.8, 3: np.digitize(Y, [0.0, 1.2]), 5: np.digitize(Y, [-0.5, 0.2, 0.9, 1.6])}


def python_predictions(model, path):
    model.export(path)
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    records = FRAME.astype(object).where(FRAME.notna(), None).to_dict("records")
    return np.array([module.predict(row) for row in records])


@pytest.mark.parametrize("algorithm", ["SAMME", "real", "logit"])
@pytest.mark.parametrize("n_classes", CLASSES)
def test_probabilities_agree(algorithm, n_classes, tmp_path):
    model = hr.AdaBoostClassifier(algorithm=algorithm, **ADABOOST).fit(FRAME, CLASSES[n_classes])
    predicted = python_predictions(model, tmp_path / "model.py")
    np.testing.assert_allclose(predicted, model.predict_proba(FRAME), rtol=0, atol=1e-12)


def test_lightgbm_reads_the_votes(tmp_path):
    numbers = FRAME[["size", "floor area"]]
    model = hr.AdaBoostClassifier(n_estimators=8, max_depth=2).fit(numbers, CLASSES[2])
    model.export(tmp_path / "model.txt")
    booster = lightgbm.Booster(model_file=tmp_path / "model.txt")
    p = model.predict_proba(numbers)[:, 1]
    np.testing.assert_allclose(booster.predict(numbers), p, rtol=0, atol=1e-12)


def test_medians_and_other_estimators_are_refused_with_the_reason(tmp_path):
    numbers = FRAME[["floor area"]].to_numpy()
    refused = {
        "weighted median": hr.AdaBoostRegressor(n_estimators=3).fit(numbers, Y),
        "algorithm='gentle'": hr.AdaBoostClassifier(algorithm="gentle", n_estimators=3).fit(
            numbers, CLASSES[3]
        ),
        "AdaBoost classifiers with the default trees": hr.AdaBoostClassifier(
            hr.DecisionTreeClassifier(max_depth=1), n_estimators=3
        ).fit(numbers, CLASSES[2]),
    }
    for reason, model in refused.items():
        with pytest.raises(hr.ExportError, match=reason):
            model.export(tmp_path / "model.py")
