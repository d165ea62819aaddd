"""Model files of earlier versions are read, and their models predict the same."""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr
from hedgerow._model_file.contents import _KINDS

FIXTURES = Path(__file__).parent / "fixtures"
sys.path.insert(0, str(FIXTURES))
from make import N_ROWS, answers, fitted, make_inputs, models, tables  # noqa: E402

# Their sums and exponentials were NumPy's in 0.1.0, whose versions differ in last bits. They are
# our own since, the same with every NumPy.
NUMPY_DECIDED = {"0.1.0": ("SVC", "NuSVC", "SVR", "OneClassSVM", "BaggingClassifier", "Stagewise")}
LAST_BITS = 1e-12

FILES = sorted(FIXTURES.glob("*/*.hedgerow")) + sorted(FIXTURES.glob("*/checkpoint"))
NAMES = [f"{file.parent.name}/{file.stem}" for file in FILES]


def expected_of(folder, name):
    """Give the table that a model is asked about, and its answers by method."""
    with np.load(folder / "expected.npz") as stored:
        found = [key.split("/") for key in stored.files if key.split("/")[1] == name]
        return found[0][0], {method: stored["/".join((t, n, method))] for t, n, method in found}


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_a_file_of_an_earlier_version_predicts_the_same_bits(file):
    table, expected = expected_of(file.parent, file.stem)
    inputs = json.loads((file.parent / "inputs.json").read_text(encoding="utf-8"))
    queries = tables(inputs)[table][N_ROWS:]
    model = hr.load(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outputs = answers(model, queries)
    assert set(expected) <= set(outputs)
    for method, answer in expected.items():
        assert outputs[method].dtype == answer.dtype
        if answer.dtype.kind == "f" and file.stem.startswith(
            NUMPY_DECIDED.get(file.parent.name, ())
        ):
            np.testing.assert_allclose(outputs[method], answer, rtol=LAST_BITS, atol=LAST_BITS)
        else:
            assert outputs[method].tobytes() == answer.tobytes(), method


# Kinds that are newer than the last release; the next one writes files of them (fixtures/make.py).
NEW_KINDS = {
    "DecisionClassifier",
    "EnsembleClassifier",
    "EnsembleRegressor",
    "OutputCodeClassifier",
}


def test_there_is_a_file_of_every_kind():
    found = {file.stem.partition("-")[0] for file in FILES}
    assert set(_KINDS) - NEW_KINDS <= found
    assert not NEW_KINDS & found


def test_the_next_release_has_files_of_the_new_kinds_too():
    inputs = make_inputs()
    recipes = models(inputs)
    assert {name.partition("-")[0] for name in recipes} == set(_KINDS)
    for name in NEW_KINDS:
        model, table, y = recipes[name]
        assert answers(fitted(model, tables(inputs)[table][:N_ROWS], y), tables(inputs)[table])


def test_fixtures_are_small():
    assert sum(file.stat().st_size for file in FIXTURES.glob("0.1.0/*")) < 300_000
