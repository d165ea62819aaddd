"""Models as JSON: nothing is lost, and another program can predict from the text alone."""

import json
import math

import numpy as np
import pytest
from sklearn.base import clone

import hedgerow as hr
from commands import FEATURES, PARAMETERS, make_people
from hedgerow._model_file.text import from_json, to_json
from hedgerow.exceptions import ModelFileError

TABLE = make_people()
NUMBERS = TABLE[["age", "income"]].fillna(0.0)


@pytest.mark.parametrize(
    ("model", "X", "target"),
    [
        (hr.GradientBoostingClassifier(**PARAMETERS), TABLE[FEATURES], "answer"),
        (hr.GradientBoostingClassifier(**PARAMETERS, max_categories=2), TABLE[FEATURES], "group"),
        (hr.GradientBoostingRegressor(**PARAMETERS, linear_leaves=True), TABLE[FEATURES], "amount"),
        (hr.RandomForestClassifier(n_estimators=3), TABLE[FEATURES], "answer"),
        (hr.DecisionTreeRegressor(), TABLE[FEATURES], "amount"),
        (hr.AdaBoostClassifier(n_estimators=3), TABLE[FEATURES], "answer"),
        (hr.KNeighborsClassifier(), NUMBERS, "answer"),
        (hr.SVR(), NUMBERS, "amount"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_there_and_back_gives_the_same_file(run, tmp_path, model, X, target):
    first, text, second = (tmp_path / name for name in ("a.hedgerow", "b.json", "c.hedgerow"))
    clone(model).fit(X, TABLE[target]).save(first)
    assert run("convert", first, text).code == 0
    assert run("convert", text, second).code == 0
    assert first.read_bytes() == second.read_bytes()


def test_json_may_go_to_standard_output(run, numbers):
    assert run("convert", numbers, "-").out == to_json(hr.load(numbers)) + "\n"


def value_of(row, node, arrays, category_bin):
    """Go down a tree as the documentation says, with nothing but the text."""
    while arrays["feature"][node["at"]] >= 0:
        at = node["at"]
        x = row[arrays["feature"][at]]
        which = arrays["category_set"][at]
        if x is None:
            left = arrays["missing_left"][at]
        elif which >= 0:
            b = category_bin(arrays["feature"][at], x)
            left = (arrays["category_bits"][which * 8 + (b >> 5)] >> (b & 31)) & 1
        else:
            left = x <= arrays["threshold"][at]
        node["at"] = node["first"] + arrays["left" if left else "right"][at]
    return arrays["value"][node["at"]]


def test_predictions_follow_from_the_text_alone(tmp_path):
    model = hr.GradientBoostingClassifier(**PARAMETERS).fit(TABLE[FEATURES], TABLE["answer"])
    content = json.loads(to_json(model))
    arrays = {
        name.removeprefix("ensemble."): array["values"]
        for name, array in content["arrays"].items()
        if name.startswith("ensemble.")
    }
    schema = content["model"]["schema"]
    categories = {entry["feature"]: entry["values"] for entry in schema["categories"]}
    starts = content["arrays"]["binner.category_starts"]["values"]
    bins = content["arrays"]["binner.category_values"]["values"]

    def category_bin(feature, value):
        return bins[starts[feature] + categories[feature].index(value)]

    def probability(row):
        score = arrays["base_score"][0]
        for first in arrays["tree_offset"][:-1]:
            score += value_of(row, {"at": first, "first": first}, arrays, category_bin)
        return 1.0 / (1.0 + math.exp(-score))

    rows = TABLE[schema["feature_names"]].astype(object).where(TABLE[FEATURES].notna(), None)
    probabilities = [probability(row) for row in rows.to_numpy().tolist()]
    np.testing.assert_allclose(
        probabilities, model.predict_proba(TABLE[FEATURES])[:, 1], rtol=1e-14
    )


def test_numbers_that_json_has_not_survive():
    model = hr.GradientBoostingRegressor(n_estimators=2).fit(NUMBERS, TABLE["amount"])
    again = from_json(to_json(model))
    assert to_json(again) == to_json(model)


def changed(change):
    model = hr.GradientBoostingRegressor(n_estimators=2).fit(NUMBERS, TABLE["amount"])
    content = json.loads(to_json(model))
    change(content)
    return json.dumps(content)


def set_array(name, **fields):
    return lambda content: content["arrays"][name].update(fields)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(format_version=2),
        lambda content: content.pop("arrays"),
        lambda content: content.update(model=[]),
        lambda content: content["arrays"].pop("ensemble.feature"),
        lambda content: content["model"].update(estimator="os.system"),
        lambda content: content["model"].update(na_values="?"),
        lambda content: content["model"].update(na_values=[1]),
        set_array("ensemble.feature", dtype="object"),
        set_array("ensemble.feature", dtype=["int32"]),
        set_array("ensemble.feature", dtype="no dtype", shape=[0], values=[]),
        set_array("ensemble.feature", shape=[-1]),
        set_array("ensemble.feature", values=[1e300]),
        set_array("ensemble.feature", shape=[1], values=[2**40]),
        set_array("ensemble.base_score", values=["x"]),
        set_array("ensemble.base_score", values=[None]),
        set_array("ensemble.base_score", values=[10**400]),
        lambda content: content["arrays"].update(more={}),
    ],
)
def test_text_that_is_no_model_is_refused(change):
    with pytest.raises(ModelFileError, match="not a model in Hedgerow's JSON"):
        from_json(changed(change))


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, b"\xff", "NaN"])
def test_text_that_is_no_json_is_refused(text):
    with pytest.raises(ModelFileError, match="not a model in Hedgerow's JSON"):
        from_json(text)


@pytest.mark.parametrize("name", ["model.h", "model.mjs", "model.py", "model.txt"])
def test_a_model_can_be_exported(run, numbers, tmp_path, name):
    (tmp_path / "library").mkdir()
    hr.load(numbers).export(tmp_path / "library" / name)
    assert run("convert", numbers, tmp_path / name).code == 0
    assert (tmp_path / name).read_bytes() == (tmp_path / "library" / name).read_bytes()


def test_a_query_names_its_table_and_the_columns_to_keep(run, numbers, tmp_path):
    out = tmp_path / "model.sql"
    assert run("convert", numbers, out, "--table", "rows", "--keep", "id,day").code == 0
    query = out.read_text(encoding="utf-8")
    assert 'FROM "rows"' in query
    assert query.index('"day" AS k1') < query.index('k1 AS "day"')  # read, and named again
