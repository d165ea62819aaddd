"""Model files of models that consist of others: what comes back, and forged members."""

import copy

import numpy as np
import pandas as pd
import pytest

from hedgerow import (
    SVC,
    SVR,
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    GradientBoostingSurvival,
    KNeighborsRegressor,
    LinearSVC,
    LinearSVR,
    ModelFileError,
    NearestNeighbors,
    RandomForestRegressor,
    StagewiseClassifier,
    StagewiseRegressor,
)
from hedgerow._model_file.container import pack, unpack
from hedgerow._model_file.contents import read_estimator, write_estimator
from hedgerow._model_file.stored import MOST_DEPTH

RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 3))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
NUMBERS = X[:, 0] - X[:, 1]
LABELS = np.array(["x", "y", "z"])[np.digitize(NUMBERS, [-0.7, 0.7])]
TWO = {"n_estimators": 2}
TREE = DecisionTreeRegressor(max_leaves=3, max_bins=8)
CLASS_TREE = DecisionTreeClassifier(max_depth=1)

HONEST = [
    (BaggingClassifier(SVC(), **TWO), FRAME, LABELS),
    (BaggingClassifier(CLASS_TREE, max_samples=3, max_features=2, **TWO), X, LABELS),
    (BaggingClassifier(LinearSVC(), **TWO, max_features=2), FRAME, LABELS),
    (BaggingClassifier(CLASS_TREE, **TWO, bootstrap_features=True), FRAME, LABELS),
    (BaggingClassifier(CLASS_TREE, **TWO, max_features=2), X, np.c_[LABELS, LABELS == "x"]),
    (BaggingRegressor(KNeighborsRegressor(), **TWO), X, X[:, :2]),
    (BaggingRegressor(GradientBoostingSurvival(**TWO), **TWO), X, NUMBERS),
    (BaggingRegressor(AdaBoostRegressor(BaggingRegressor(SVR(), **TWO), **TWO), **TWO), X, NUMBERS),
    (AdaBoostClassifier(SVC(probability=True), **TWO, algorithm="real"), FRAME, LABELS),
    (AdaBoostClassifier(TREE, **TWO, algorithm="logit"), X, LABELS),
    (AdaBoostClassifier(TREE, **TWO, algorithm="gentle"), X, LABELS == "x"),
    (StagewiseClassifier(**TWO), FRAME, LABELS),
    (StagewiseClassifier(CLASS_TREE, **TWO, loss="exponential"), X, LABELS == "x"),
    (StagewiseClassifier(SVR(), **TWO, init=CLASS_TREE), FRAME, LABELS),
    (StagewiseRegressor(LinearSVR(), **TWO, init=TREE), X.tolist(), NUMBERS),
    (StagewiseRegressor(GradientBoostingRegressor(n_estimators=1), **TWO), X, NUMBERS),
]


@pytest.mark.parametrize(("model", "table", "y"), HONEST, ids=range(len(HONEST)))
def test_models_of_others_come_back(model, table, y):
    model.fit(table, y)
    loaded = read_estimator(*unpack(pack(*write_estimator(model))))
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))


def test_a_ranker_whose_table_names_the_queries_may_be_a_member():
    table = np.column_stack([X, np.repeat(np.arange(12), 5)])
    model = BaggingRegressor(
        GradientBoostingRanker(**TWO, qid_column=3), **TWO, bootstrap=False, max_samples=1.0
    )
    model.fit(table, np.arange(60) % 3)
    loaded = read_estimator(*unpack(pack(*write_estimator(model))))
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))


def forged(model, field, member, place=0):
    """Give the parts of a model with another estimator in the place of a member."""
    document, arrays = map(copy.copy, write_estimator(model))
    prefix = f"{field}.{place}."
    arrays = {name: array for name, array in arrays.items() if not name.startswith(prefix)}
    of_member, more = write_estimator(member)
    document[field] = copy.copy(document[field])
    document[field][place] = of_member
    return document, arrays | {prefix + name: array for name, array in more.items()}


def replaced(model, field, member):
    """Give the parts of a model, all of whose members are another estimator."""
    document, arrays = write_estimator(model)
    of_member, more = write_estimator(member)
    n_members = len(document[field])
    arrays = {name: array for name, array in arrays.items() if not name.startswith(f"{field}.")}
    for place in range(n_members):
        arrays |= {f"{field}.{place}.{name}": array for name, array in more.items()}
    return document | {field: [of_member] * n_members}, arrays


BAG = BaggingClassifier(SVC(), **TWO).fit(FRAME, LABELS)
BAG_OF_NUMBERS = BaggingRegressor(TREE, **TWO, max_features=2).fit(X, NUMBERS)
COMMITTEE = AdaBoostClassifier(LinearSVC(), **TWO).fit(X, LABELS)
REAL = AdaBoostClassifier(CLASS_TREE, **TWO, algorithm="real").fit(X, LABELS)
MEDIANS = AdaBoostRegressor(SVR(), **TWO).fit(X, NUMBERS)
STAGES = StagewiseRegressor(TREE, **TWO).fit(X, NUMBERS)
START = StagewiseClassifier(SVR(), **TWO, init=CLASS_TREE).fit(X, LABELS)


@pytest.mark.parametrize(
    ("model", "field", "member", "reason"),
    [
        (BAG, "members", LinearSVC().fit(FRAME, LABELS), "is not a base model"),
        (BAG, "members", SVC().fit(FRAME[["a", "b"]], LABELS), "columns"),
        (BAG, "members", SVC().fit(FRAME[["b", "a", "c"]], LABELS), "different column names"),
        (BAG, "members", SVC().fit(FRAME, LABELS == "x"), "different classes"),
        (BAG, "members", SVC().fit(FRAME, np.char.add(LABELS, "!")), "different classes"),
        (BAG_OF_NUMBERS, "members", TREE.__class__().fit(X, NUMBERS), "columns"),
        (BAG_OF_NUMBERS, "members", TREE.__class__().fit(X[:, :2], X[:, :2]), "lacks outputs"),
        (COMMITTEE, "members", SVR().fit(X, NUMBERS), "does not predict classes"),
        (COMMITTEE, "members", LinearSVC().fit(X, NUMBERS > 0), "different classes"),
        (COMMITTEE, "members", NearestNeighbors().fit(X), "does not predict classes"),
        (REAL, "members", LinearSVC().fit(X, LABELS), "does not predict probabilities"),
        (MEDIANS, "members", SVC().fit(X, LABELS), "does not predict numbers"),
        (MEDIANS, "members", KNeighborsRegressor().fit(X, X), "lacks outputs"),
        (
            MEDIANS,
            "members",
            GradientBoostingRegressor(loss="quantile", quantile=[0.1, 0.9], **TWO).fit(X, NUMBERS),
            "lacks outputs",
        ),
        (STAGES, "learners", RandomForestRegressor(**TWO).fit(X, NUMBERS), "not a single tree"),
        (STAGES, "learners", SVR().fit(X, NUMBERS), "not a single tree"),
        (STAGES, "learners", DecisionTreeClassifier().fit(X, LABELS), "different classes"),
        (STAGES, "learners", DecisionTreeRegressor().fit(X[:, :2], NUMBERS), "columns"),
        (START, "start", LinearSVC().fit(X, LABELS == "x"), "different classes|not predict prob"),
        (START, "start", CLASS_TREE.__class__().fit(X, LABELS), "different classes"),
        (START, "start", CLASS_TREE.__class__().fit(X, np.arange(60) % 3 * 1.0), "not integers"),
        (START, "start", SVR().fit(X, NUMBERS), "does not predict classes"),
    ],
)
def test_members_that_do_not_suit_are_refused(model, field, member, reason):
    with pytest.raises(ModelFileError, match=reason):
        read_estimator(*replaced(model, field, member))


def test_members_of_several_kinds_are_refused():
    parts = forged(COMMITTEE, "members", SVC().fit(X, LABELS))
    with pytest.raises(ModelFileError, match="have different classes"):
        read_estimator(*parts)


def nested(model, levels):
    """Give the parts of a bag of a bag of …"""
    document, arrays = write_estimator(model)
    for _ in range(levels):
        prefix = "members.0."
        arrays = {prefix + name: array for name, array in arrays.items()} | {
            name: array for name, array in arrays.items() if not name.startswith(prefix)
        }
        document = document | {"members": [document, *document["members"][1:]]}
    return document, arrays


@pytest.mark.parametrize("levels", [MOST_DEPTH, 50, 400])
def test_models_nested_without_end_are_refused(levels):
    model = BaggingRegressor(SVR(), **TWO).fit(X, NUMBERS)
    with pytest.raises(ModelFileError, match="nested"):
        read_estimator(*nested(model, levels))


@pytest.mark.parametrize("levels", [MOST_DEPTH + 1, 200])
def test_parameters_nested_without_end_are_refused(levels):
    document, arrays = write_estimator(BAG)
    base = document["base"]
    for _ in range(levels):
        base = {"estimator": "BaggingClassifier", "parameters": {"estimator": base}}
    with pytest.raises(ModelFileError, match="nested"):
        read_estimator(document | {"base": base}, arrays)
    value = []
    for _ in range(levels * 3):
        value = [value]
    parameters = document["parameters"] | {"random_state": value}
    with pytest.raises(ModelFileError, match="nested"):
        read_estimator(document | {"parameters": parameters}, arrays)


def test_steps_of_no_leaf_are_refused():
    document, arrays = write_estimator(STAGES)
    with pytest.raises(ModelFileError, match="no steps"):
        read_estimator(document, arrays | {"steps.0": np.zeros(0)})


def test_a_round_has_one_classifier():
    document, arrays = write_estimator(
        AdaBoostClassifier(LinearSVC(), n_estimators=1).fit(X, LABELS)
    )
    of_member = {name: a for name, a in arrays.items() if name.startswith("members.0.")}
    for place in (1, 2):
        arrays |= {
            name.replace("members.0.", f"members.{place}."): array
            for name, array in of_member.items()
        }
    document = document | {"members": document["members"] * 3}
    with pytest.raises(ModelFileError, match="lacks base models"):
        read_estimator(document, arrays)
