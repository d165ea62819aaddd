"""The page: it escapes all that users wrote, is one file, and is written whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import hedgerow as hr
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot._colors import COLORS, ramp
from reporting.tables import number_of, table

pytest.importorskip("altair")
pytest.importorskip("jinja2")
pytest.importorskip("vl_convert")

from hedgerow._reporting.charts import charts_of, shared_domain
from hedgerow._reporting.outcomes import ClassOutcome, NumberOutcome
from hedgerow._reporting.rendering import json_text, render
from hedgerow._reporting.summary import ReportOptions, summarise
from hedgerow._reporting.verdict import title_of

EVIL = "</script><script>alert('x')</script>"
X, NEW = (table(n, seed).rename(columns={"size": EVIL}) for n, seed in ((300, 0), (100, 7)))
NUMBER, NEW_NUMBER = (number_of(frame.rename(columns={EVIL: "size"})) for frame in (X, NEW))
TWO, NEW_TWO = (np.where(y > 2.0, EVIL, "no & no") for y in (NUMBER, NEW_NUMBER))
OPTIONS = ReportOptions(title=EVIL, target_name=EVIL, n_mistakes=3, n_bootstrap=10, seed=0)


@pytest.fixture(scope="module")
def summary() -> dict[str, Any]:
    model = hr.GradientBoostingClassifier(n_estimators=8, early_stopping=True).fit(X, TWO)
    return summarise(model, NEW, NEW_TWO, OPTIONS)


@pytest.fixture(scope="module")
def page(summary: dict[str, Any]) -> str:
    return render(summary)


def test_all_that_users_wrote_is_escaped(page: str) -> None:
    assert "alert(" in page
    assert EVIL not in page
    assert len(re.findall(r"<script[ >]", _without_library(page))) == 3
    assert page.count("</script>") == 3


def _without_library(page: str) -> str:
    """Return the page without the charts' library, whose strings may hold anything."""
    start = page.index("<script>(() => {") + len("<script>")
    return page[:start] + page[page.index("</script>", start) :]


def test_data_in_the_page_is_the_summarys(page: str, summary: dict[str, Any]) -> None:
    match = re.search(r'id="report-data">(.*?)</script>', page, re.DOTALL)
    assert match is not None
    data = json.loads(match[1])
    assert data["what_if"] == summary["what_if"]
    assert data["trees"] == summary["trees"]


def test_json_in_a_page_cannot_end_its_element() -> None:
    value = {"</script>": ["<!--", "&amp;", "\u2028", 0.1]}
    text = json_text(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028") & set(text)
    with pytest.raises(ValueError, match="Out of range"):
        json_text(float("nan"))


def test_nothing_is_fetched(page: str) -> None:
    markup = _without_library(page)
    assert not re.findall(r'(?:src|href)="(?!#)[^"]*"', markup)
    assert "@import" not in markup
    assert "url(" not in markup
    assert len(page) < 5_000_000


def test_sections_are_landmarks_with_names(page: str) -> None:
    ids = re.findall(r'<section id="([\w-]+)" aria-labelledby="([\w-]+)"', page)
    assert len(ids) == 12
    for section, title in ids:
        assert f'<h2 id="{title}"' in page
        assert f'<a href="#{section}">' in page  # in the contents
    assert '<main id="content"' in page
    assert '<nav id="contents" aria-label="' in page
    assert '<html lang="en">' in page


def test_charts_hold_to_the_schema(summary: dict[str, Any]) -> None:
    import altair as alt

    for chart in charts_of(summary):
        spec = {name: part for name, part in chart["spec"].items() if name != "config"}
        alt.Chart.from_dict(spec, validate=True)


def test_a_page_of_a_model_without_trees_says_why() -> None:
    filled = NEW[["single", "count"]].to_numpy(float)
    model = hr.SVC().fit(filled, NEW_TWO)
    page = render(summarise(model, filled, NEW_TWO, OPTIONS))
    assert page.count("Not available:") >= 3


def test_panels_of_partial_dependence_have_one_scale(summary: dict[str, Any]) -> None:
    panels = [chart["spec"] for chart in charts_of(summary) if chart["place"] == "effects"]
    assert len(panels) == 6
    scales = [layer["encoding"]["y"].get("scale") for panel in panels for layer in panel["layer"]]
    domains = {tuple(scale["domain"]) for scale in scales if scale and scale["range"][1] == 0}
    assert len(domains) == 1
    values = [p["y"] for curve in summary["effects"]["curves"] for p in curve["points"]]
    (domain,) = domains
    assert domain[0] < min(values) < max(values) < domain[1]


def test_shap_dots_have_the_colours_of_the_plots_in_python(summary: dict[str, Any]) -> None:
    colors = pytest.importorskip("matplotlib.colors")
    (spec,) = [chart["spec"] for chart in charts_of(summary) if chart["place"] == "shap"]
    encodings = [layer["encoding"] for layer in spec["layer"]]
    (scale,) = [encoding["color"]["scale"] for encoding in encodings if "color" in encoding]
    variables = {f"var(--c{i})": np.array(colors.to_rgb(color)) for i, color in enumerate(COLORS)}
    form = r"color-mix\(in srgb, (.*) (\d+)%, (.*)\)"
    mixes = [re.fullmatch(form, one) for one in scale["range"][1:]]
    assert len(mixes) == 6
    for mix in mixes:
        assert mix is not None
        share = int(mix[2]) / 100
        mixed = share * variables[mix[1]] + (1.0 - share) * variables[mix[3]]
        assert ramp()(share)[:3] == pytest.approx(mixed, abs=0.01)


def test_a_feature_without_effect_has_an_axis_about_its_number() -> None:
    assert shared_domain([0.3, 0.3])["domain"] == pytest.approx([0.27, 0.33])
    assert shared_domain([0.0])["domain"] == [-1.0, 1.0]
    assert shared_domain([0.3, 0.4])["domain"] == pytest.approx([0.295, 0.405])


def test_sections_have_their_usual_names(page: str) -> None:
    for name in (
        *("Metrics", "Confusion matrix", "ROC curve", "Precision–recall curve"),
        *("Calibration curve", "Permutation importance", "SHAP summary", "Partial dependence"),
        *("Largest errors", "What-if", "Data profile", "Learning curve"),
    ):
        assert re.search(rf"<a href=\"#[\w-]+\">{name}</a>", page), name


def test_a_waterfall_has_a_number_at_every_bar(page: str, summary: dict[str, Any]) -> None:
    entry = summary["mistakes"]["kinds"][0]["rows"][0]
    bars = re.findall(r'<span class="(up|down)" style="[^"]*"></span></td><td class="n">(.)', page)
    n_bars = sum(
        len(row["waterfall"]["bars"])
        for kind in summary["mistakes"]["kinds"]
        for row in kind["rows"]
    )
    assert len(bars) == n_bars
    assert all((side == "up") == (sign == "+") for side, sign in bars)
    assert f"Row {entry['id']}<" in page


def test_a_page_says_how_large_it_is(page: str, summary: dict[str, Any]) -> None:
    from hedgerow._reporting import rendering

    assert f"a single file of {len(page.encode()) / 1e6:.1f} MB and" in page
    assert "most of it the trees" in rendering._size_text(" " * 4_000_000)


def test_possible_leakage_is_said_at_the_top() -> None:
    rows = NEW.assign(outcome_code=(NEW_TWO == EVIL) * 1.0)
    model = hr.GradientBoostingClassifier(n_estimators=3).fit(rows, NEW_TWO)
    page = render(summarise(model, rows, NEW_TWO, OPTIONS))
    top = page[page.index("<h1>") : page.index("<section")]
    assert "Possible target leakage:</strong> outcome_code" in top


def test_the_positive_class_can_be_chosen(summary: dict[str, Any]) -> None:
    model = hr.GradientBoostingClassifier(n_estimators=8, early_stopping=True).fit(X, TWO)
    other = summarise(model, NEW, NEW_TWO, replace(OPTIONS, positive_class=EVIL))
    assert (summary["threshold"]["positive"], other["threshold"]["positive"]) == (1, 0)
    before, after = (one["threshold"]["at_start"] for one in (summary, other))
    assert [before[name] for name in ("tp", "fp", "fn", "tn")] == [
        after[name] for name in ("tn", "fn", "fp", "tp")
    ]
    assert {point["class"] for point in other["outcomes"][0]["curves"]["roc"]} == {EVIL}
    false_positives = other["mistakes"]["kinds"][0]
    assert false_positives["meaning"].startswith("Predicted </script>")
    assert '<option value="0" selected>' in render(other)


def test_the_curves_of_the_positive_class_come_first() -> None:
    three = np.digitize(NEW_NUMBER, [1.5, 2.5])
    model = hr.GradientBoostingClassifier(n_estimators=3).fit(NEW, three)
    summary = summarise(model, NEW, three, replace(OPTIONS, positive_class=2))
    curves = [point["class"] for point in summary["outcomes"][0]["curves"]["roc"]]
    assert list(dict.fromkeys(curves)) == ["2", "0", "1"]


def test_only_the_scripts_and_the_style_of_the_page_are_allowed(page: str) -> None:
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    allowed = dict(part.split(" ", 1) for part in unescape(policy[1]).split("; "))
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)

    def hash_of(text: str) -> str:
        digest = hashlib.sha256(text.encode()).digest()
        return f"'sha256-{base64.b64encode(digest).decode()}'"

    assert len(scripts) == 2
    assert allowed == {
        "default-src": "'none'",
        "script-src": " ".join(map(hash_of, scripts)),
        "style-src-elem": hash_of(style),
        "style-src": "'unsafe-inline'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_text_of_users_is_not_a_template(summary: dict[str, Any]) -> None:
    title = "{page size} {{ summary.target }} {% if %}"
    page = render(summary | {"title": title})
    assert f"<title>{title}</title>" in page
    assert re.search(r"a single file of \d\.\d MB and", page)


def test_a_title_says_what_is_predicted() -> None:
    def outcome_of(*classes: str, positive: int | None = None) -> ClassOutcome:
        index = np.arange(len(classes))
        return ClassOutcome("", classes, index, index, None, positive_class=positive)

    assert title_of([outcome_of("bad", "good")], "credit") == "Credit: good or bad"
    assert title_of([outcome_of("bad", "good", positive=0)], "pH") == "pH: bad or good"
    assert title_of([outcome_of("a", "b", "c")], "kind") == "Kind: a, b or c"
    assert title_of([outcome_of(*"abcdef")], "kind") == "Kind: 6 classes"
    assert title_of([outcome_of("a", "b")] * 2, "y") == "Classification of 2 targets"
    number = NumberOutcome("", np.zeros(2), np.zeros(2))
    assert title_of([number], "price") == "Regression of price"


def report_of(path: Any, **options: Any) -> None:
    model = hr.GradientBoostingRegressor(n_estimators=3).fit(X, NUMBER)
    hr.report(model, NEW, NEW_NUMBER, path, **({"n_bootstrap": 3} | options))


def test_a_report_is_a_file_that_is_the_same_every_time(tmp_path: Path) -> None:
    first, second = tmp_path / "a.html", tmp_path / "b.html"
    report_of(first)
    report_of(str(second))
    assert first.read_bytes() == second.read_bytes()
    assert "<title>Regression of y</title>" in first.read_text()


def test_an_error_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    model = hr.GradientBoostingRegressor(n_estimators=3).fit(X, NUMBER)
    for error, arguments in (
        (NotFittedError, (hr.GradientBoostingRegressor(), NEW, NEW_NUMBER)),
        (ParameterError, ("model", NEW, NEW_NUMBER)),
        (DataError, (model, NEW[["single"]], NEW_NUMBER)),
        (DataError, (model, NEW.rename(columns={"single": "other"}), NEW_NUMBER)),
        (DataError, (model, NEW, None)),
        (DataError, (model, NEW, NEW_NUMBER[:5])),
    ):
        with pytest.raises(error):
            hr.report(*arguments, path)
    for options in (
        *({"n_bootstrap": -1}, {"n_mistakes": 1.5}, {"n_mistakes": 51}, {"random_state": None}),
        *({"title": 3}, {"target_name": object()}, {"positive_class": "yes"}),
    ):
        with pytest.raises(ParameterError, match=next(iter(options))):
            report_of(path, **options)
    assert not list(tmp_path.iterdir())


def test_an_old_report_stays_if_the_new_one_fails(tmp_path: Path, monkeypatch: Any) -> None:
    from hedgerow._reporting import rendering

    def interrupted(*_: Any) -> str:
        raise KeyboardInterrupt

    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(rendering, "render", interrupted)
    with pytest.raises(KeyboardInterrupt):
        report_of(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_half_a_surrogate_pair_is_written_as_a_question_mark(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    report_of(path, title="half \ud800", target_name="\udfff")
    assert "<title>half ?</title>" in path.read_text(encoding="utf-8")


def test_a_bad_path_is_refused_before_any_work(tmp_path: Path, monkeypatch: Any) -> None:
    def no_work(*_: Any, **__: Any) -> None:
        raise AssertionError("worked before the path was looked at")

    from hedgerow._reporting import writing

    monkeypatch.setattr(writing, "summarise", no_work)
    with pytest.raises(FileNotFoundError):
        report_of(tmp_path / "no such folder" / "report.html")
    with pytest.raises(IsADirectoryError):
        report_of(tmp_path)
    names = ("a\0b.html", "report.pdf", "report.xlsx", "report", "html")
    for path in (None, 3, *(f"{tmp_path}/{name}" for name in names)):
        with pytest.raises(ParameterError, match="path="):
            report_of(path)


def test_classes_in_an_error_are_written_as_python_would(tmp_path: Path) -> None:
    rows = NEW[["single", "count"]]
    model = hr.DecisionTreeClassifier(max_depth=1).fit(rows, NEW_NUMBER > 2.0)
    for classes, text in (([0, 1], "the classes are 0, 1."), (["a", "b"], "are 'a', 'b'.")):
        y = np.array(classes)[(NEW_NUMBER > 2.0).astype(int)]
        model.fit(rows, y)
        with pytest.raises(ParameterError, match=re.escape(text)):
            hr.report(model, rows, y, tmp_path / "a.html", positive_class="1")


def test_a_package_that_is_missing_is_named(tmp_path: Path, monkeypatch: Any) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ImportError, match="pip install altair jinja2 vl-convert"):
        report_of(tmp_path / "report.html")
