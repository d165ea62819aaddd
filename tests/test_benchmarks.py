"""The benchmark suite on tiny shapes: what it generates, measures, judges and writes."""

import gzip
import json
import os
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks.__main__ import main
from benchmarks.cases import CASES, Case, Settings
from benchmarks.generated import FOREST_GROUPS, FOREST_NUMERIC, binary_table, forest_table, make
from benchmarks.libraries import LIBRARIES
from benchmarks.machine import ISA_LEVELS, isa_level
from benchmarks.measure import alternating, available_cores
from benchmarks.memory import PROCESS, peak_extra_bytes
from benchmarks.processes import Worker, WorkerError
from benchmarks.real_data import REAL_SETS, found_in, load, prepared, text_columns
from benchmarks.report import CaseReport, markdown_table, table, verdict_line
from benchmarks.results import GREATER_IS_BETTER, HEDGEROW, Bar, Result, Timing, judge

TINY = Case(
    name="tiny",
    about="tiny",
    rows=600,
    columns=12,
    held_out=400,
    settings=Settings(n_trees=5, max_leaves=7),
)


@pytest.fixture(autouse=True)
def one_core():
    """One core for this thread and the workers it starts.

    OpenMP's threads spin while they wait for each other, and beside other tests they wait long.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(allowed)[os.getpid() % len(allowed)]})
    with threadpool_limits(limits=1, user_api="openmp"):
        yield
    os.sched_setaffinity(0, allowed)


def timed(library, seconds):
    return Result(library, fit=Timing((seconds + 1, seconds), threads=2))


# The case table


@pytest.mark.parametrize("case", [*CASES, *REAL_SETS], ids=lambda case: case.name)
def test_a_bar_only_names_libraries_that_its_case_runs(case):
    for bar in case.bars:
        assert set(bar.peers) <= set(case.libraries) <= set(LIBRARIES)
    assert case.metric in GREATER_IS_BETTER


@pytest.mark.parametrize(("leaves", "depth"), [(63, 6), (64, 6), (31, 5), (7, 3)])
def test_a_balanced_tree_gets_the_depth_with_about_as_many_leaves(leaves, depth):
    assert Settings(n_trees=1, max_leaves=leaves).depth == depth


# Generated tables


def test_a_generated_table_is_the_same_every_time_and_float32_in_row_order():
    first, second = make(TINY), make(TINY)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    assert first.X.dtype == np.float32
    assert first.X.flags.c_contiguous
    assert first.X.shape == (600, 12)
    assert first.X_held_out.shape == (400, 12)


def test_the_binary_signal_can_be_learned_but_not_perfectly():
    X, y = binary_table(12_000, 28, seed=0)
    model = HistGradientBoostingClassifier(max_iter=50).fit(X[:10_000], y[:10_000])
    auc = roc_auc_score(y[10_000:], model.predict_proba(X[10_000:])[:, 1])
    assert 0.75 < auc < 0.9


def test_binary_columns_are_correlated_and_some_have_few_values():
    X, _ = binary_table(5_000, 28, seed=0)
    strongest = np.abs(np.corrcoef(X, rowvar=False) - np.eye(28)).max(axis=0)
    assert np.median(strongest) > 0.3
    distinct = np.array([len(np.unique(column)) for column in X.T])
    assert (distinct < 500).sum() >= 7
    assert (distinct > 4_000).sum() >= 10


def test_the_forest_table_has_two_one_hot_groups_and_every_class():
    X, y = forest_table(5_000, 7, seed=0)
    first = FOREST_NUMERIC
    for width in FOREST_GROUPS:
        group = X[:, first : first + width]
        np.testing.assert_array_equal(group.sum(axis=1), 1)
        assert set(np.unique(group)) == {0, 1}
        first += width
    assert first == X.shape[1]
    assert np.bincount(y, minlength=7).min() > 50


# Libraries


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("n_classes", [2, 7])
def test_a_library_predicts_probabilities_that_beat_guessing(name, n_classes):
    pytest.importorskip(LIBRARIES[name].module)
    settings = Settings(n_trees=10, max_leaves=7, n_classes=n_classes)
    if name == "xgboost-exact":
        settings = replace(settings, splitter="exact")
    data = make(replace(TINY, rows=2_000, settings=settings))
    model = LIBRARIES[name](settings, threads=1)
    model.fit(data.X, data.y)
    probabilities = model.predict(data.X_held_out)
    if n_classes == 2:
        assert probabilities.shape == (400,)
        assert roc_auc_score(data.y_held_out, probabilities) > 0.65
    else:
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
        often = np.bincount(data.y_held_out).max() / 400
        assert (probabilities.argmax(axis=1) == data.y_held_out).mean() > often


@pytest.mark.parametrize("name", [HEDGEROW, "lightgbm", "xgboost-leaf", "catboost", "scikit-learn"])
def test_the_estimator_of_a_library_predicts_as_its_fast_path_does(name):
    pytest.importorskip(LIBRARIES[name].module)
    data = make(TINY)
    model = LIBRARIES[name](TINY.settings, threads=1)
    model.fit(data.X, data.y)
    estimator = model.estimator().fit(data.X, data.y)
    np.testing.assert_allclose(
        estimator.predict_proba(data.X_held_out[:5])[:, 1],
        model.predict(data.X_held_out[:5]),
        rtol=1e-5,
    )


# Measuring


def test_turns_alternate_so_that_each_library_goes_first_and_follows_either_neighbour():
    orders = [alternating("abcd", turn) for turn in range(8)]
    assert all(sorted(order) == list("abcd") for order in orders)
    assert {order[0] for order in orders} == set("abcd")
    followers = {pair for order in orders for pair in pairwise(order)}
    assert {("a", "b"), ("b", "a"), ("d", "a"), ("a", "d")} <= followers


def test_no_library_makes_no_turn():
    assert alternating([], 3) == []


@pytest.mark.skipif(not (PROCESS / "clear_refs").exists(), reason="needs Linux")
def test_peak_memory_counts_what_is_freed_again_but_not_what_was_there_before():
    before = np.ones(8_000_000)
    extra = peak_extra_bytes(lambda: np.ones(4_000_000).sum() + before.sum())
    assert 31_000_000 < extra < 48_000_000


def test_a_worker_returns_values_and_raises_what_failed():
    with Worker(dict, {"a": 1}) as worker:
        assert worker.call("get", "a") == 1
        with pytest.raises(WorkerError, match="TypeError"):
            worker.call("get")
        assert worker.call("get", "b", 2) == 2


def test_the_death_of_a_worker_is_an_error_with_its_exit_code():
    with pytest.raises(WorkerError, match="exit code 7"), Worker(os._exit, 7):
        pass


def test_a_worker_that_cannot_start_says_why():
    with pytest.raises(WorkerError, match="ValueError: invalid literal"), Worker(int, "seven"):
        pass


# Judging


def test_a_ratio_is_taken_to_the_fastest_of_the_peers_by_best_time():
    results = [timed(HEDGEROW, 2.0), timed("lightgbm", 5.0), timed("xgboost-leaf", 4.0)]
    verdict = judge(Bar("fit", "times", 0.5, ("lightgbm", "xgboost-leaf")), results)
    assert (verdict.reached, verdict.reference, verdict.met) == (0.5, "xgboost-leaf", True)


def test_a_bar_is_missed_when_the_ratio_is_above_it():
    results = [timed(HEDGEROW, 2.1), timed("lightgbm", 4.0)]
    assert judge(Bar("fit", "times", 0.5, ("lightgbm",)), results).met is False


@pytest.mark.parametrize(
    ("greater_is_better", "reference", "worse"),
    [(True, "catboost", 0.02), (False, "lightgbm", 0.03)],
)
def test_a_score_is_compared_with_the_best_score_in_its_own_direction(
    greater_is_better, reference, worse
):
    ours = 0.88 if greater_is_better else 0.83
    results = [
        Result(HEDGEROW, score=ours),
        Result("lightgbm", score=0.80),
        Result("catboost", score=0.90),
    ]
    bar = Bar("score", "within", 0.025, ("lightgbm", "catboost"))
    verdict = judge(bar, results, greater_is_better=greater_is_better)
    assert verdict.reference == reference
    assert verdict.reached == pytest.approx(worse)
    assert verdict.met is (worse <= 0.025)


def test_an_absolute_bar_holds_the_median_call_to_a_time():
    one_row = Timing((1e-6, 30e-6, 50e-6), threads=1)
    verdict = judge(Bar("one row", "absolute", 40e-6), [Result(HEDGEROW, one_row=one_row)])
    assert (verdict.reached, verdict.met) == (30e-6, True)


def test_nothing_is_judged_when_a_peer_of_the_bar_was_not_measured():
    results = [timed(HEDGEROW, 1.0), timed("lightgbm", 4.0)]
    verdict = judge(Bar("fit", "times", 0.5, ("lightgbm", "xgboost-leaf")), results)
    assert verdict.met is None
    assert verdict_line(verdict, quick=False).startswith("not measured: fit ≤ 0.5 ×")


# Reporting


def test_ratios_are_ours_over_theirs_and_empty_columns_are_left_out():
    results = [timed(HEDGEROW, 1.0), timed("lightgbm", 4.0), Result("catboost", error="broke")]
    headings, rows = table(CaseReport("x", "about x", "AUC", False, results, []))
    assert headings == ["library", "fit s", "median", "ratio", "threads", "failed"]
    assert rows == [
        ["hedgerow", "1.000", "1.500", "1.00", "2", "–"],
        ["lightgbm", "4.000", "4.500", "0.25", "2", "–"],
        ["catboost", "–", "–", "–", "–", "broke"],
    ]


def test_a_markdown_table_is_aligned():
    lines = markdown_table(["library", "fit s"], [["a", "10.5"]]).splitlines()
    assert lines == ["| library | fit s |", "|---------|------:|", "| a       |  10.5 |"]


def test_a_missed_bar_says_so_loudly_but_a_quick_run_says_nothing():
    results = [timed(HEDGEROW, 3.0), timed("lightgbm", 4.0)]
    verdict = judge(Bar("fit", "times", 0.5, ("lightgbm",)), results)
    wanted = "fit ≤ 0.5 × lightgbm; reached 0.75 × lightgbm"
    assert verdict_line(verdict, quick=False) == f"MISSED: {wanted}"
    assert verdict_line(verdict, quick=True) == f"quick run, says nothing: {wanted}"


def test_a_level_needs_the_flags_of_every_level_below():
    assert isa_level(set()) == "v1"
    assert isa_level(ISA_LEVELS["v2"] | ISA_LEVELS["v3"]) == "v3"
    assert isa_level(ISA_LEVELS["v2"] | ISA_LEVELS["v4"]) == "v2"


# The whole


@pytest.mark.parametrize("library", [HEDGEROW, "scikit-learn"])
def test_a_quick_run_measures_a_library_and_writes_what_it_found(tmp_path, library, capsys):
    arguments = ["--quick", "--cases", "small", "one-row", "--libraries", library]
    assert main([*arguments, "--results", str(tmp_path), "--json", str(tmp_path / "x.json")]) == 0
    written = json.loads((tmp_path / "x.json").read_text())
    small, one_row = (case["results"] for case in written["cases"])
    assert [result["library"] for result in small] == [library]
    assert small[0]["fit"]["best"] > 0
    assert small[0]["predict"]["best"] > 0
    assert 0.6 < small[0]["score"] < 1
    assert 0 < one_row[0]["one_row"]["best"] <= one_row[0]["one_row"]["median"] < 1
    assert written["machine"]["cores"] == available_cores()
    assert {path.suffix for path in tmp_path.iterdir()} == {".md", ".json"}
    assert "not measured: fit ≤ 0.4 × lightgbm" in capsys.readouterr().out


@pytest.fixture
def data_folder(tmp_path):
    """A folder with a small table in the shape of adult."""
    rng = np.random.default_rng(0)
    lines = ["age,workclass,income,split"]
    for i in range(1_000):
        age, private = rng.integers(17, 90), rng.random() < 0.5
        rich = rng.random() < (0.8 if private and age > 40 else 0.2)
        workclass = "" if i % 10 == 0 else "Private" if private else "State-gov"
        lines.append(f"{age},{workclass},{'>50K' if rich else '<=50K'},train")
    (tmp_path / "adult.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    return tmp_path


def test_a_real_table_loses_its_target_and_is_prepared_for_each_library(data_folder):
    pytest.importorskip("pandas")
    (adult,) = found_in(data_folder)
    features, y = load(adult, data_folder)
    assert list(features.columns) == ["age", "workclass"]
    assert set(np.unique(y)) == {0, 1}
    assert text_columns(features) == ["workclass"]
    assert prepared(HEDGEROW, features) is features
    assert prepared("lightgbm", features)["workclass"].dtype == "category"
    assert set(prepared("catboost", features)["workclass"]) == {"Private", "State-gov", "missing"}


@pytest.mark.parametrize("library", [HEDGEROW, "scikit-learn"])
def test_a_real_table_is_scored_by_the_mean_of_five_folds(data_folder, library):
    pytest.importorskip("pandas")
    arguments = ["--cases", "adult", "--data", str(data_folder), "--libraries", library]
    out = data_folder / "out.json"
    assert main([*arguments, "--results", str(data_folder), "--json", str(out)]) == 0
    (result,) = json.loads(out.read_text())["cases"][0]["results"]
    assert len(result["fit"]["seconds"]) == 5
    assert 0.6 < result["score"] < 0.9


def test_a_real_case_without_its_folder_is_refused():
    with pytest.raises(SystemExit, match="no data for adult: give their folder with --data"):
        main(["--cases", "adult", "--libraries", "scikit-learn"])
