"""The page's arithmetic, run by Node: what the model itself returns, to the last bit."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow import _native
from hedgerow._export.javascript import math_script
from hedgerow._reporting import forest_payload
from hedgerow._reporting.columns import read_columns
from hedgerow._reporting.forest_payload import OmittedError, page_trees, trees_payload
from hedgerow._reporting.summary import plain
from hedgerow._reporting.what_if import what_if_payload
from reporting.tables import number_of, table

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="there is no Node to run the page's scripts")

X, NEW = table(), table(120, seed=7)
NUMBER = number_of(X)
TWO = np.where(NUMBER > 2.0, "yes", "no")
MANY = np.digitize(NUMBER, np.quantile(NUMBER, np.arange(1, 10) / 10))
FEW = {"n_estimators": 12, "max_leaves": 7}

RUN = """
const input = JSON.parse(require("fs").readFileSync(0, "utf8"));
const run = new Function("input", input.scripts + input.code);
console.log(JSON.stringify(run(input)));
"""


SCRIPTS = ("what_if.js", "contributions.js", "waterfall.js", "threshold.js")


def in_node(code: str, **inputs: Any) -> Any:
    """Run code after the page's scripts and return what it returns."""
    folder = resources.files("hedgerow._reporting") / "page"
    scripts = "\n".join([math_script(), *((folder / name).read_text() for name in SCRIPTS)])
    message = json.dumps({"scripts": scripts, "code": code, **inputs}, allow_nan=False)
    ran = subprocess.run(
        [str(NODE), "-e", RUN], input=message, capture_output=True, text=True, check=True
    )
    return json.loads(ran.stdout)


def predicted_by_the_page(model: Any, rows: Any = NEW) -> np.ndarray:
    """Return what the page would say of each row."""
    columns = read_columns(model, rows)
    trees = page_trees(model)
    order = range(len(columns))
    what_if = what_if_payload(model, trees, columns, order, range(len(columns[0].values)))
    code = """
      const trees = new Trees(input.trees);
      return input.what_if.rows.map((row) => predictRow(trees, input.what_if, row.values));
    """
    return np.array(in_node(code, trees=trees_payload(trees), what_if=plain(what_if)), np.float64)


def contributions_by_the_page(model: Any, rows: Any = NEW) -> tuple[np.ndarray, np.ndarray]:
    """Return the Shapley values of each row, (rows, columns × outputs), and the base values."""
    columns = read_columns(model, rows)
    trees = page_trees(model)
    what_if = what_if_payload(
        model, trees, columns, range(len(columns)), range(len(columns[0].values))
    )
    code = """
      const trees = new Trees(input.trees);
      const { rule, fields, rows } = input.what_if;
      const divisor = rule.kind === "mean" ? rule.n_trees : 1;
      const contributions = new Contributions(trees, fields.length, divisor);
      return rows.map((row) => {
        const found = contributions.of(seenRow(fields, row.values, trees.n_features));
        return [Array.from(found.values), found.base];
      });
    """
    actual = in_node(code, trees=trees_payload(trees), what_if=plain(what_if))
    return np.array([row[0] for row in actual]), np.array([row[1] for row in actual])


def assert_same(model: Any, rows: Any = NEW) -> None:
    """Compare all bits."""
    if hasattr(model, "predict_proba"):
        expected = model.predict_proba(rows)
        expected = np.hstack(expected) if isinstance(expected, list) else expected
    else:
        expected = model.predict(rows)
    actual = predicted_by_the_page(model, rows)
    assert np.array_equal(actual, expected.reshape(actual.shape))


def test_exp_is_the_librarys() -> None:
    draw = np.random.RandomState(0)
    x = np.concatenate([draw.uniform(-760, 720, 4000), draw.normal(size=4000), [0.0, -0.0, 1.0]])
    expected = x.copy()
    _native.exp_inplace(expected)
    actual = in_node(
        "return input.x.map((x) => { const e = exp(x); return e === Infinity ? 'inf' : e; });",
        x=x.tolist(),
    )
    assert np.array_equal([float(e) for e in actual], expected)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 16, 23, 130, 300])
def test_sums_are_numpys(n: int) -> None:
    rows = np.random.RandomState(n).lognormal(size=(40, n))
    actual = in_node("return input.rows.map((row) => sumOf(row));", rows=rows.tolist())
    assert np.array_equal(actual, rows.sum(axis=1))


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "log_loss", "absolute_error"])
def test_numbers(loss: str) -> None:
    y = {"poisson": np.abs(NUMBER), "log_loss": (NUMBER > 2) * 1.0}.get(loss, NUMBER)
    assert_same(hr.GradientBoostingRegressor(loss=loss, **FEW).fit(X, y))


def test_quantiles_are_sorted() -> None:
    model = hr.GradientBoostingRegressor(loss="quantile", quantile=[0.1, 0.5, 0.9], **FEW)
    assert_same(model.fit(X, NUMBER))


@pytest.mark.parametrize("multi_strategy", ["separate", "vector"])
def test_several_numbers(multi_strategy: str) -> None:
    y = np.column_stack([NUMBER, -NUMBER, NUMBER**2])
    assert_same(hr.GradientBoostingRegressor(multi_strategy=multi_strategy, **FEW).fit(X, y))


@pytest.mark.parametrize("loss", ["log_loss", "exponential", "focal", "hinge"])
def test_two_classes(loss: str) -> None:
    model = hr.GradientBoostingClassifier(loss=loss, **FEW).fit(X, TWO)
    if loss != "hinge":
        return assert_same(model)
    assert np.array_equal(predicted_by_the_page(model)[:, 0], model.decision_function(NEW))
    return None


def test_many_classes() -> None:
    assert_same(hr.GradientBoostingClassifier(**FEW).fit(X, MANY))


def test_labels() -> None:
    y = np.column_stack([NUMBER > 2.0, NUMBER > 3.0])
    assert_same(hr.GradientBoostingClassifier(**FEW).fit(X, y))


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("y", [TWO, MANY], ids=["two", "many"])
def test_calibrated_classes(method: str, y: np.ndarray) -> None:
    assert_same(hr.GradientBoostingClassifier(calibration=method, **FEW).fit(X, y))


def test_categories_that_are_encoded_by_targets() -> None:
    model = hr.GradientBoostingClassifier(max_categories=10, **FEW).fit(X, MANY)
    assert len(model._model.statistics.columns) == 1
    rows = NEW.copy()
    rows.loc[::5, "city"] = None
    assert_same(model, rows)


def test_numbers_that_are_categories() -> None:
    model = hr.GradientBoostingRegressor(categorical_features=["count", "color", "city"], **FEW)
    assert_same(model.fit(X, NUMBER))


def test_linear_leaves() -> None:
    assert_same(hr.GradientBoostingRegressor(linear_leaves=True, **FEW).fit(X, NUMBER))


def test_float32_is_rounded() -> None:
    rows = X[["size", "single"]].to_numpy(np.float32)
    model = hr.GradientBoostingRegressor(n_estimators=30).fit(rows, NUMBER)
    assert_same(model, NEW[["size", "single"]].to_numpy(np.float32))
    columns = read_columns(model, rows)
    what_if = what_if_payload(model, page_trees(model), columns, [0, 1], [0])
    # Numbers that float32 cannot hold, as a reader may type them, beside the thresholds.
    typed = np.random.RandomState(3).normal(size=(200, 2))
    actual = in_node(
        "const trees = new Trees(input.trees);"
        "return input.typed.map((row) => predictRow(trees, input.what_if, row)[0]);",
        trees=trees_payload(page_trees(model)),
        what_if=plain(what_if),
        typed=typed.tolist(),
    )
    assert np.array_equal(actual, model.predict(typed.astype(np.float32)))


@pytest.mark.parametrize(
    "model",
    [
        hr.RandomForestClassifier(n_estimators=7),
        hr.ExtraTreesClassifier(n_estimators=7),
        hr.BaggingClassifier(n_estimators=7),
        hr.DecisionTreeClassifier(max_depth=5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_trees_grown_to_the_end(model: Any) -> None:
    assert_same(model.fit(X, TWO))
    assert_same(model.fit(X, MANY))
    assert_same(model.fit(X, np.column_stack([NUMBER > 2.0, MANY])))


@pytest.mark.parametrize(
    "model",
    [hr.RandomForestRegressor(n_estimators=7), hr.DecisionTreeRegressor(max_leaves=9)],
    ids=lambda model: type(model).__name__,
)
def test_numbers_of_trees_grown_to_the_end(model: Any) -> None:
    assert_same(model.fit(X, NUMBER))
    assert_same(model.fit(X, np.column_stack([NUMBER, -NUMBER])))


def test_survival_and_rankings() -> None:
    assert_same(hr.GradientBoostingSurvival(loss="aft", **FEW).fit(X, np.exp(NUMBER / 4.0)))
    assert_same(hr.GradientBoostingSurvival(loss="cox", **FEW).fit(X, np.exp(NUMBER / 4.0)))
    model = hr.GradientBoostingRanker(**FEW)
    assert_same(model.fit(X, MANY % 4, qid=np.arange(len(X)) // 20))


def test_labels_of_columns_in_another_order_are_found() -> None:
    model = hr.GradientBoostingClassifier(**FEW).fit(X, TWO)
    shuffled = NEW[NEW.columns[::-1]]
    assert np.array_equal(predicted_by_the_page(model, shuffled), model.predict_proba(NEW))


def test_what_the_page_cannot_add_up_is_refused() -> None:
    model = hr.AdaBoostClassifier(n_estimators=3).fit(X, TWO)
    columns = read_columns(model, NEW)
    with pytest.raises(OmittedError, match="but not AdaBoostClassifier"):
        what_if_payload(model, page_trees(model), columns, [0], [0])


def test_a_model_too_large_for_a_page_is_shown_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest_payload, "MOST_LETTERS", 2600)
    model = hr.GradientBoostingClassifier(**FEW).fit(X, TWO)
    trees = page_trees(model)
    assert 1 <= trees.ensemble.n_trees < trees.n_trees == 12
    with pytest.raises(OmittedError, match="too large"):
        what_if_payload(model, trees, read_columns(model, NEW), [0], [0])


@pytest.mark.parametrize("n_letters", [100_000, 200_000])
def test_trees_take_no_more_of_a_page_than_they_may(
    monkeypatch: pytest.MonkeyPatch, n_letters: int
) -> None:
    monkeypatch.setattr(forest_payload, "MOST_LETTERS", n_letters)
    for model in (
        hr.RandomForestClassifier(n_estimators=30),
        hr.GradientBoostingClassifier(n_estimators=60),
    ):
        payload = trees_payload(page_trees(model.fit(X, MANY)))
        arrays = [part for part in payload.values() if isinstance(part, dict) and "data" in part]
        assert 0.5 * n_letters < sum(len(array["data"]) for array in arrays) <= n_letters


def test_a_tree_too_large_for_a_page_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest_payload, "MOST_LETTERS", 1000)
    with pytest.raises(OmittedError, match="one of its trees"):
        page_trees(hr.RandomForestClassifier(n_estimators=3).fit(X, MANY))


def test_categories_have_names_without_a_what_if(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest_payload, "MOST_LETTERS", 100_000)
    trees = page_trees(hr.RandomForestClassifier(n_estimators=30).fit(X, MANY))
    assert not trees.is_complete
    colors = trees_payload(trees)["categories"]["3"]
    assert sorted(colors["labels"]) == ["<script>", "blue", "green", "red"]
    assert len(set(colors["bins"])) == 4


def test_fields_too_large_for_a_page_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    from hedgerow._reporting import what_if

    monkeypatch.setattr(what_if, "MOST_LETTERS", 500)
    model = hr.GradientBoostingClassifier(**FEW).fit(X, TWO)
    with pytest.raises(OmittedError, match="do not fit"):
        what_if_payload(model, page_trees(model), read_columns(model, NEW), [0], [0])


CITY = np.array([int(city[5:]) % 5 for city in X["city"]])
EXPLAINED = {
    "numbers": (hr.GradientBoostingRegressor(**FEW), NUMBER),
    "weights": (hr.GradientBoostingRegressor(loss="poisson", **FEW), np.abs(NUMBER)),
    "two classes": (hr.GradientBoostingClassifier(calibration="sigmoid", **FEW), TWO),
    "many classes": (hr.GradientBoostingClassifier(**FEW), MANY),
    "one tree for all": (
        hr.GradientBoostingRegressor(multi_strategy="vector", **FEW),
        np.column_stack([NUMBER, -NUMBER]),
    ),
    "encoded categories": (hr.GradientBoostingClassifier(max_categories=10, **FEW), CITY),
    "forest": (hr.RandomForestClassifier(n_estimators=5), TWO),
    "deep tree": (hr.DecisionTreeRegressor(), NUMBER),
}


@pytest.mark.parametrize("kind", EXPLAINED)
def test_contributions_are_shap_values(kind: str) -> None:
    model, y = EXPLAINED[kind]
    rows = NEW[:25]
    model.fit(X, y)
    actual, base = contributions_by_the_page(model, rows)
    expected = hr.explain.shap_values(model, rows)
    assert np.abs(actual - expected.values.reshape(actual.shape)).max() < 1e-9
    assert np.abs(base - expected.base_values.reshape(base.shape)).max() < 1e-9
    assert np.abs(actual).max() > 1e-3


def test_shares_are_left_out_where_counts_say_as_much() -> None:
    plain_counts = page_trees(hr.GradientBoostingRegressor(**FEW).fit(X, NUMBER))
    weighted = page_trees(hr.GradientBoostingClassifier(**FEW).fit(X, TWO))
    assert "share" not in trees_payload(plain_counts)
    assert "share" in trees_payload(weighted)


def test_linear_leaves_have_no_contributions_in_the_page() -> None:
    model = hr.GradientBoostingRegressor(linear_leaves=True, **FEW).fit(X, NUMBER)
    actual = what_if_payload(model, page_trees(model), read_columns(model, NEW), [0], [0])
    assert "background=100" in actual["explained"]["absent"]


def test_a_folder_of_scripts_is_installed(tmp_path: Path) -> None:
    folder = resources.files("hedgerow._reporting") / "page"
    assert {"page.html", "style.css", "what_if.js"} <= {entry.name for entry in folder.iterdir()}


def test_a_category_that_fit_did_not_see_is_a_gap_like_in_predict() -> None:
    model = hr.GradientBoostingClassifier(**FEW).fit(X, TWO)
    rows = pd.concat([NEW[:3], NEW[:3].assign(color="violet")])
    assert_same(model, rows)
