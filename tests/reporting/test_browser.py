"""The page in a real browser: no error, every chart drawn, and a what-if as good as predict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from reporting.browser import CHROMIUM, Browser
from reporting.tables import number_of, table

if CHROMIUM is None:
    pytest.skip("there is no Chromium", allow_module_level=True)
for package in ("websocket", "altair", "jinja2", "vl_convert"):
    pytest.importorskip(package)

pytestmark = pytest.mark.slow

X, NEW = table(600), table(200, seed=7)
NUMBER, NEW_NUMBER = number_of(X), number_of(NEW, seed=8)
N_INPUTS = 200


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, Path]]:
    folder = tmp_path_factory.mktemp("reports")
    two, new_two = (np.where(y > 2.0, "yes", "no") for y in (NUMBER, NEW_NUMBER))
    classifier = hr.GradientBoostingClassifier(
        n_estimators=40, early_stopping=True, calibration="sigmoid", max_categories=10
    ).fit(X, two)
    regressor = hr.GradientBoostingRegressor(n_estimators=40).fit(X, NUMBER)
    hr.report(classifier, NEW, new_two, folder / "classes.html", n_bootstrap=20)
    hr.report(regressor, NEW, NEW_NUMBER, folder / "numbers.html", n_bootstrap=20)
    return {
        "classes": (classifier, folder / "classes.html"),
        "numbers": (regressor, folder / "numbers.html"),
    }


@pytest.fixture(params=["classes", "numbers"])
def opened(
    request: pytest.FixtureRequest, browser: Browser, reports: dict[str, tuple[Any, Path]]
) -> Iterator[tuple[Any, Browser]]:
    """Open a report on a desk in the light; there must be no error until the test has ended."""
    model, path = reports[request.param]
    browser.resize(1200, 900)
    browser.prefer("light")
    browser.errors.clear()
    browser.fetched.clear()
    browser.open(path)
    yield model, browser
    assert browser.errors == []
    assert browser.fetched == [path.resolve().as_uri()]


def test_every_chart_is_drawn(opened: tuple[Any, Browser]) -> None:
    _, browser = opened
    sizes = browser.ask(
        "Array.from(document.querySelectorAll('[data-chart]'), (place) => {"
        "  const svg = place.querySelector('svg');"
        "  const box = svg ? svg.getBoundingClientRect() : {width: 0, height: 0};"
        "  const marks = place.querySelectorAll('svg .mark-rect path, svg .mark-line path,"
        " svg .mark-symbol path, svg .mark-rule line').length;"
        "  return [box.width, box.height, marks]; })"
    )
    assert len(sizes) >= 5
    for width, height, marks in sizes:
        assert width > 200
        assert height > 40
        assert marks > 0


def test_the_what_if_says_what_predict_says(opened: tuple[Any, Browser]) -> None:
    """Values go in through the fields themselves, as a reader's would."""
    model, browser = opened
    fields = browser.ask("hedgerowWhatIf.whatIf.fields")
    order = browser.ask("hedgerowWhatIf.whatIf.order")
    draw = np.random.RandomState(0)
    assert sorted(order) == list(range(len(fields)))
    rows = [[_random_input(field, draw) for field in fields] for _ in range(N_INPUTS)]
    typed = [["" if value is None else repr(value) for value in row] for row in rows]
    script = """
      (rows => rows.map((row) => {
        row.forEach((text, j) => {
          const input = document.getElementById(`field-${j}`);
          input.value = text;
          input.dispatchEvent(new Event(input.tagName === "SELECT" ? "change" : "input"));
        });
        return JSON.parse(document.getElementById("prediction").dataset.prediction);
      }))(ROWS)"""
    actual = np.array(browser.ask(script.replace("ROWS", json.dumps(typed))), np.float64)
    frame = NEW.iloc[[0] * N_INPUTS].reset_index(drop=True)
    for j, field in enumerate(fields):
        values = [row[j] for row in rows]
        if field["kind"] == "choice":
            values = [None if v is None else field["labels"][v] for v in values]
            frame[field["name"]] = np.array(values, dtype=object)
        else:
            frame[field["name"]] = np.array([np.nan if v is None else v for v in values]).astype(
                np.float32 if field["is_float32"] else np.float64
            )
    expected = model.predict_proba(frame) if hasattr(model, "classes_") else model.predict(frame)
    assert np.array_equal(actual, expected.reshape(actual.shape))
    assert len(np.unique(actual[:, 0])) > N_INPUTS // 2  # the inputs do matter


def _random_input(field: dict[str, Any], draw: np.random.RandomState) -> Any:
    """Return what a reader may put into a field: nothing, a number beyond its range, a label."""
    if draw.rand() < 0.1:
        return None
    if field["kind"] == "choice":
        return int(draw.randint(len(field["labels"])))
    width = field["high"] - field["low"]
    value = float(draw.uniform(field["low"] - 0.1 * width, field["high"] + 0.1 * width))
    return float(round(value)) if field["is_whole"] else value


def test_contributions_are_shap_values(opened: tuple[Any, Browser]) -> None:
    model, browser = opened
    browser.ask("document.getElementById('what-if-reset').click()")
    rows = [row["row"] for row in browser.ask("hedgerowWhatIf.whatIf.rows")]
    actual = browser.ask(
        "hedgerowWhatIf.whatIf.rows.map(({ values }) => {"
        " const { base, values: all } = hedgerowWhatIf.explain(values);"
        " return [base[0], ...all]; })"
    )
    expected = hr.explain.shap_values(model, NEW.iloc[rows])
    assert np.abs(np.array(actual)[:, 1:] - expected.values).max() < 1e-9
    assert np.abs(np.array(actual)[:, 0] - expected.base_values).max() < 1e-9


def test_a_change_is_shown_with_its_contributions(opened: tuple[Any, Browser]) -> None:
    _, browser = opened
    numbers = "Array.from(document.querySelectorAll('#contributions td.n'), (n) => n.textContent)"
    browser.wait_for(f"{numbers}.length > 3")
    before = browser.ask(numbers)
    assert browser.ask("document.querySelector('#prediction .change')") is None
    browser.ask(
        "(() => { const first = document.querySelector('#inputs input[type=range]');"
        " const far = first.value - first.min > first.max - first.value;"
        " first.value = far ? first.min : first.max;"
        " first.dispatchEvent(new Event('input')); })()"
    )
    browser.wait_for(f"JSON.stringify({numbers}) !== {json.dumps(json.dumps(before))}")
    assert "was" in browser.ask("document.querySelector('#prediction .change').textContent")
    browser.wait_for("document.querySelectorAll('#contributions .before').length > 0")


SET_THRESHOLD = """
  (([positive, threshold, fp, fn]) => {
    const set = (id, value, kind) => {
      const input = document.getElementById(id);
      input.value = value;
      input.dispatchEvent(new Event(kind));
    };
    set("positive", positive, "change");
    set("cost-fp", fp, "input");
    set("cost-fn", fn, "input");
    set("threshold", threshold, "input");
    const text = (name) => document.querySelector(`[data-metric="${name}"]`).textContent;
    const table = document.getElementById("live-confusion");
    return [
      Array.from(table.querySelectorAll("[data-count]"), (cell) => Number(cell.textContent)),
      text("precision"), text("recall"), text("cost"),
    ];
  })(CHOICE)"""


def test_the_slider_counts_as_python_does(
    browser: Browser, reports: dict[str, tuple[Any, Path]]
) -> None:
    model, path = reports["classes"]
    browser.resize(1200, 900)
    browser.errors.clear()
    browser.open(path)
    truth = np.where(NEW_NUMBER > 2.0, "yes", "no")
    p = model.predict_proba(NEW)
    for k, threshold, cost_fp, cost_fn in ((1, 0.5, 1, 1), (1, 0.21, 2, 5), (0, 0.7, 1, 0)):
        choice = json.dumps([k, threshold, cost_fp, cost_fn])
        counts, precision, recall, cost = browser.ask(SET_THRESHOLD.replace("CHOICE", choice))
        predicted, is_positive = p[:, k] >= threshold, truth == model.classes_[k]
        tp, fp = (predicted & is_positive).sum(), (predicted & ~is_positive).sum()
        fn, tn = (~predicted & is_positive).sum(), (~predicted & ~is_positive).sum()
        assert counts == [tp, fn, fp, tn]
        assert precision == f"{100 * tp / (tp + fp):.1f}%"
        assert recall == f"{100 * tp / (tp + fn):.1f}%"
        assert cost == str(cost_fp * fp + cost_fn * fn)
    least = browser.ask(
        "(() => { document.getElementById('least-cost').click();"
        " return document.querySelector('[data-metric=cost]').textContent; })()"
    )
    assert int(least) == 0  # false negatives are free: call nothing positive
    assert browser.ask("document.getElementById('least-cost').disabled")
    assert browser.errors == []


def test_the_slider_is_moved_by_keyboard(
    browser: Browser, reports: dict[str, tuple[Any, Path]]
) -> None:
    browser.open(reports["classes"][1])
    counts = "document.getElementById('live-confusion').dataset.counts"
    before = browser.ask(counts)
    browser.ask("document.getElementById('threshold-slider').focus()")
    for _ in range(40):
        browser.press("ArrowRight")
    browser.wait_for(f"{counts} !== {json.dumps(before)}")
    assert float(browser.ask("document.getElementById('threshold').value")) > 0.5


def test_contents_open_on_a_phone_and_close_after_a_choice(
    browser: Browser, reports: dict[str, tuple[Any, Path]]
) -> None:
    browser.resize(390, 800, phone=True)
    browser.open(reports["numbers"][1])
    is_visible = "getComputedStyle(document.getElementById('contents')).display !== 'none'"
    assert not browser.ask(is_visible)
    browser.ask("document.getElementById('open-contents').click()")
    assert browser.ask(is_visible)
    links = browser.ask(
        "Array.from(document.querySelectorAll('#contents a'),"
        " (link) => document.querySelector(link.getAttribute('href')) !== null)"
    )
    assert len(links) > 9
    assert all(links)
    browser.ask("document.querySelector('#contents a').click()")
    assert not browser.ask(is_visible)


def test_a_slider_moves_the_number_and_the_prediction(opened: tuple[Any, Browser]) -> None:
    _, browser = opened
    before, after, number, slider = browser.ask(
        "(() => { const out = document.getElementById('prediction');"
        " const first = document.querySelector('#inputs input[type=range]');"
        " const before = out.dataset.prediction;"
        " const values = new Set();"
        " for (const at of [first.min, first.max]) { first.value = at;"
        "   first.dispatchEvent(new Event('input')); values.add(out.dataset.prediction); }"
        " const number = first.parentElement.querySelector('input[type=number]');"
        " return [before, [...values], Number(number.value), Number(first.value)]; })()"
    )
    assert len({before, *after}) > 1
    assert number == pytest.approx(slider, rel=1e-5)


def test_a_row_to_start_from_fills_the_fields(opened: tuple[Any, Browser]) -> None:
    model, browser = opened
    for place in (1, 3):
        row, predicted = browser.ask(
            f"(() => {{ const s = document.getElementById('start'); s.value = {place};"
            " s.dispatchEvent(new Event('change'));"
            " return [Number(s.selectedOptions[0].textContent),"
            " JSON.parse(document.getElementById('prediction').dataset.prediction)]; })()"
        )
        one = NEW.iloc[[row]]
        expected = model.predict_proba(one)[0] if hasattr(model, "classes_") else model.predict(one)
        assert predicted == expected.tolist()


def test_the_tree_is_browsed_by_keyboard(opened: tuple[Any, Browser]) -> None:
    _, browser = opened
    browser.ask("document.querySelector('#tree [tabindex=\"0\"]').focus()")
    visible = "document.querySelectorAll('#tree [role=treeitem]').length"
    focused = "document.activeElement.getAttribute('aria-level')"
    before = browser.ask(visible)
    assert browser.ask(focused) == "1"
    browser.press("ArrowLeft")
    assert browser.ask(visible) == 1
    browser.press("ArrowRight")
    browser.press("ArrowRight")
    assert browser.ask(focused) == "2"
    browser.press("ArrowLeft")
    browser.press("ArrowLeft")
    assert browser.ask(focused) == "1"
    assert browser.ask(visible) <= before
    assert browser.ask("document.querySelectorAll('#tree [tabindex=\"0\"]').length") == 1


def test_every_tree_can_be_chosen(opened: tuple[Any, Browser]) -> None:
    model, browser = opened
    ensemble = model._model.ensemble
    browser.ask(
        "(() => { const n = document.getElementById('tree-number');"
        f" n.value = {ensemble.n_trees}; n.dispatchEvent(new Event('change')); }})()"
    )
    leaves = ensemble.tree(ensemble.n_trees - 1).n_leaves
    facts = browser.ask("document.getElementById('tree-facts').textContent")
    assert facts == f"of {ensemble.n_trees}: {leaves} leaves"
    root = browser.ask("document.querySelector('#tree .facts-of').textContent")
    assert root == f"{ensemble.tree(ensemble.n_trees - 1).count[0]} rows"


def test_dark_and_light_follow_the_system_and_the_button(opened: tuple[Any, Browser]) -> None:
    _, browser = opened
    paper = "getComputedStyle(document.body).backgroundColor"
    light = browser.ask(paper)
    browser.prefer("dark")
    browser.wait_for(f"{paper} !== {json.dumps(light)}")
    browser.ask("document.getElementById('theme').click()")
    assert browser.ask(paper) == light
    assert browser.ask("document.getElementById('theme').textContent") == "Dark"
    browser.ask("document.getElementById('theme').click()")
    assert browser.ask("document.getElementById('theme').textContent") == "Light"


def test_a_script_that_is_not_the_pages_does_not_run(
    browser: Browser, reports: dict[str, tuple[Any, Path]], tmp_path: Path
) -> None:
    page, _, end = reports["numbers"][1].read_text(encoding="utf-8").rpartition("</body>")
    other = tmp_path / "other.html"
    other.write_text(f"{page}<script>window.foreign = 1;</script></body>{end}", encoding="utf-8")
    browser.open(other)
    assert browser.ask("window.foreign === undefined")
    assert any("Content Security Policy" in error for error in browser.errors)


def test_names_that_every_object_has_are_drawn(browser: Browser, tmp_path: Path) -> None:
    names = {"size": "__proto__", "color": "constructor", "city": "toString"}
    rows, new = X.rename(columns=names), NEW.rename(columns=names)
    labels = np.array(["__proto__", "valueOf", "hasOwnProperty"])
    for n_classes in (2, 3):
        y, new_y = (
            labels[np.digitize(v, [1.0, 2.5][: n_classes - 1])] for v in (NUMBER, NEW_NUMBER)
        )
        model = hr.GradientBoostingClassifier(n_estimators=4).fit(rows, y)
        path = tmp_path / f"{n_classes}.html"
        hr.report(model, new, new_y, path, n_bootstrap=2, target_name="__proto__")
        browser.errors.clear()
        browser.open(path)
        assert browser.errors == []
        texts = browser.ask(
            "Array.from(document.querySelectorAll('[data-chart] svg text'), (t) => t.textContent)"
        )
        shown = {text.removeprefix("\u2060") for text in texts}
        assert {"__proto__", "constructor", "toString"} <= shown
        assert browser.ask("document.querySelectorAll('[data-chart]:not(:has(svg))').length") == 0


def test_contributions_follow_the_positive_class(browser: Browser, tmp_path: Path) -> None:
    two, new_two = (np.where(y > 2.0, "yes", "no") for y in (NUMBER, NEW_NUMBER))
    for model in (hr.GradientBoostingClassifier(n_estimators=8), hr.DecisionTreeClassifier()):
        model.fit(X, two)
        hr.report(model, NEW, new_two, tmp_path / "no.html", n_bootstrap=2, positive_class="no")
        browser.open(tmp_path / "no.html")
        found = browser.ask("hedgerowWhatIf.explain()")
        row = browser.ask("hedgerowWhatIf.whatIf.rows[0].row")
        expected = hr.explain.shap_values(model, NEW.iloc[[row]])
        assert list(found["values"].values()) == pytest.approx(list(-expected.values[0]))
        base = expected.base_values[0]
        mirrored = 1.0 - base if expected.unit == "probability" else -base
        assert found["base"] == [pytest.approx(mirrored)]
        browser.wait_for("document.querySelector('#contributions caption') !== null")
        caption = browser.ask("document.querySelector('#contributions caption').textContent")
        assert f"{expected.unit} of no" in caption


@pytest.mark.parametrize("width", [320, 390])
def test_nothing_is_wider_than_a_phone(opened: tuple[Any, Browser], width: int) -> None:
    """Charts follow the window a moment later."""
    _, browser = opened
    browser.resize(width, 800, phone=True)
    browser.wait_for(f"innerWidth === {width}")
    browser.wait_for(f"document.documentElement.scrollWidth <= {width}")


CUT_OFF = """
  Array.from(document.querySelectorAll("[data-chart] svg")).flatMap((svg) => {
    const box = svg.getBoundingClientRect();
    return Array.from(svg.querySelectorAll("text")).filter((text) => {
      const { left, right, top, bottom, width } = text.getBoundingClientRect();
      return width > 0 && (left < box.left - 1 || right > box.right + 1
        || top < box.top - 1 || bottom > box.bottom + 1);
    }).map((text) => text.textContent);
  })"""


@pytest.mark.parametrize("width", [320, 390, 1200])
def test_no_label_of_a_chart_is_cut_off(opened: tuple[Any, Browser], width: int) -> None:
    _, browser = opened
    browser.resize(width, 800, phone=width < 500)
    browser.wait_for(f"innerWidth === {width}")
    browser.wait_for(f"({CUT_OFF}).length === 0")


@pytest.mark.parametrize("width", [320, 1200])
def test_legends_of_many_classes_are_whole(browser: Browser, tmp_path: Path, width: int) -> None:
    names = np.array([*(f"a class of its own, number {k}" for k in range(6)), "w" * 200])
    y, new_y = (names[np.digitize(y, range(6))] for y in (NUMBER, NEW_NUMBER))
    model = hr.DecisionTreeClassifier(max_depth=3).fit(X, y)
    hr.report(model, NEW, new_y, tmp_path / "many.html", n_bootstrap=5)
    browser.resize(width, 800, phone=width < 500)
    browser.open(tmp_path / "many.html")
    assert browser.ask(CUT_OFF) == []
    assert browser.ask("document.documentElement.scrollWidth") <= width
    assert browser.ask("document.querySelectorAll('.role-legend-label text').length") > 12


def _contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, #rrggbb, as the WCAG define it."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255.0 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_lines_stand_out(opened: tuple[Any, Browser], scheme: str) -> None:
    """4.5 to 1 for text, 3 to 1 for what charts draw: level AA."""
    _, browser = opened
    browser.prefer(scheme)
    browser.wait_for(f"document.documentElement.dataset.theme === '{scheme}'")
    names = ["paper", "card", "shade", "ink", "soft", "brand", *(f"c{i}" for i in range(7))]
    colors = {
        name: browser.ask(
            f"getComputedStyle(document.documentElement).getPropertyValue('--{name}').trim()"
        )
        for name in names
    }
    for ground in ("paper", "card", "shade"):
        for text in ("ink", "soft", "brand"):
            assert _contrast(colors[text], colors[ground]) >= 4.5, (text, ground)
    for i in range(7):
        assert _contrast(colors[f"c{i}"], colors["card"]) >= 3.0, i


def test_headings_are_in_order(opened: tuple[Any, Browser]) -> None:
    _, browser = opened
    levels = browser.ask(
        "Array.from(document.querySelectorAll('h1, h2, h3, h4'), (h) => Number(h.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert max(np.diff(levels)) <= 1


def test_every_control_has_a_name(opened: tuple[Any, Browser]) -> None:
    _, browser = opened
    nameless = browser.ask(
        "Array.from(document.querySelectorAll('input, select, button')).filter((control) =>"
        " !control.getAttribute('aria-label') && !control.textContent.trim()"
        " && !(control.labels && control.labels.length)).map((control) => control.outerHTML)"
    )
    assert nameless == []
