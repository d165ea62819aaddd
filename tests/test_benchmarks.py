"""The benchmark suite on tiny shapes: what it generates, measures, judges and writes."""

import gzip
import importlib
import json
import os
import sys
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import pairwise
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks import kernel_svms, measure
from benchmarks import threads as by_threads
from benchmarks.__main__ import main, parse, select_cases
from benchmarks.boosters import BOOSTERS
from benchmarks.breiman import (
    INPUTS,
    PROBLEMS,
    ringnorm,
    threenorm,
    twonorm,
    waveform,
)
from benchmarks.cases import (
    CASES,
    SLOW_TURNS,
    BoostingSettings,
    Case,
    NeighborSettings,
    TreeSettings,
)
from benchmarks.defaults import FoldResult, difference, line_of_peer, read_table
from benchmarks.defaults import main as compare_defaults
from benchmarks.dependence import DEPENDENCE_CASES, DependenceCase, run_dependence
from benchmarks.frames import CategoryEncoder, prepared, text_columns
from benchmarks.generated import (
    FOREST_NUMERIC,
    FOREST_SMALL_GROUP,
    binary_table,
    digit_table,
    flag_forest_table,
    flag_table,
    forest_table,
    missing_table,
)
from benchmarks.kernel_svms import KERNEL_CASES, run_kernel
from benchmarks.levels import LEVEL_CASES, LEVELS, UNTUNED_CASES
from benchmarks.libraries import LIBRARIES, NEIGHBOR_LIBRARIES, adapter
from benchmarks.linear_svms import LINEAR_CASES, run_linear
from benchmarks.machine import ISA_LEVELS, isa_level
from benchmarks.many_categories import CATEGORY_CASES, run_categories
from benchmarks.measure import (
    Entrant,
    alternating,
    available_cores,
    groups_that_fit,
    run_case,
    take_turns,
)
from benchmarks.processes import (
    PROCESS,
    Worker,
    WorkerError,
    available_bytes,
    peak_extra_bytes,
)
from benchmarks.real_data import REAL_SETS, available_sets, load
from benchmarks.report import (
    CaseReport,
    Report,
    as_json,
    from_json,
    markdown_table,
    table,
    verdict_line,
)
from benchmarks.results import (
    GREATER_IS_BETTER,
    HEDGEROW,
    Bar,
    Result,
    Timing,
    check_bar,
    equally_accurate,
    largest_gap,
    standard_errors_above_zero,
)
from benchmarks.shapes import SHAPES
from benchmarks.summary import short_time, summary
from benchmarks.texts import text_table
from benchmarks.trees import TREE_LIBRARIES

TINY = Case(
    name="tiny",
    about="tiny",
    rows=600,
    columns=12,
    test_rows=400,
    settings=BoostingSettings(n_trees=5, max_leaves=7),
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


class Here:
    """A `Worker` without a process of its own, whose start takes longer than the work here."""

    def __init__(self, make, *arguments):
        self._make = partial(make, *arguments)

    def __enter__(self):
        self._served = self._try(self._make)
        return self

    def __exit__(self, *_):
        pass

    def call(self, method, *arguments):
        return self._try(partial(getattr(self._served, method), *arguments))

    def _try(self, work):
        try:
            return work()
        except Exception as error:
            raise WorkerError(f"{type(error).__name__}: {error}") from error


@pytest.fixture
def real_processes():
    """Let workers be processes, as they are when libraries are compared."""


@pytest.fixture(autouse=True)
def _in_this_process(request, monkeypatch):
    """Do the work here, and neither repeat it nor collect the garbage of all tests before it."""
    if "real_processes" not in request.fixturenames:
        monkeypatch.setattr(measure, "gc", SimpleNamespace(collect=lambda: None))
        monkeypatch.setattr(kernel_svms, "TURN_SECONDS", 0.0)
        for module in [name for name in sys.modules if name.startswith("benchmarks.")]:
            if hasattr(sys.modules[module], "Worker"):
                monkeypatch.setattr(f"{module}.Worker", Here)


def timed(library, seconds):
    return Result(library, fit=Timing((seconds + 1, seconds), threads=2))


# The case table


@pytest.mark.parametrize(
    "case",
    [*CASES, *SHAPES, *LEVEL_CASES, *UNTUNED_CASES, *CATEGORY_CASES, *PROBLEMS, *REAL_SETS],
    ids=lambda case: case.name,
)
def test_a_bar_only_names_libraries_that_its_case_runs(case):
    for bar in case.bars:
        assert {bar.subject, *bar.peers} <= set(case.libraries) <= set(LIBRARIES)
    assert case.metric in GREATER_IS_BETTER


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_library_of_a_case_has_the_kind_of_model_that_the_case_asks_for(case):
    kinds = {adapter(library, case.settings) for library in case.libraries}
    if isinstance(case.settings, NeighborSettings):
        assert kinds <= set(NEIGHBOR_LIBRARIES.values())
    else:
        is_tree = isinstance(case.settings, TreeSettings)
        assert kinds <= set((TREE_LIBRARIES if is_tree else BOOSTERS).values())


def test_a_slow_library_takes_fewer_turns():
    case = replace(TINY, turns=5, slow=("scikit-learn",))
    assert (case.turns_of(HEDGEROW), case.turns_of("scikit-learn")) == (5, SLOW_TURNS)
    assert replace(case, turns=1).turns_of("scikit-learn") == 1


@pytest.mark.parametrize(("leaves", "depth"), [(63, 6), (64, 6), (31, 5), (7, 3)])
def test_a_balanced_tree_gets_the_depth_with_about_as_many_leaves(leaves, depth):
    assert BoostingSettings(n_trees=1, max_leaves=leaves).depth == depth


# Generated tables


def test_a_generated_table_is_the_same_every_time_and_float32_in_row_order():
    first, second = TINY.split(), TINY.split()
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    assert first.X.dtype == np.float32
    assert first.X.flags.c_contiguous
    assert first.X.shape == (600, 12)
    assert first.X_test.shape == (400, 12)


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
    X, y = forest_table(5_000, 54, seed=0, n_classes=7)
    first = FOREST_NUMERIC
    for width in (FOREST_SMALL_GROUP, 40):
        group = X[:, first : first + width]
        np.testing.assert_array_equal(group.sum(axis=1), 1)
        assert set(np.unique(group)) == {0, 1}
        first += width
    assert first == X.shape[1]
    assert np.bincount(y, minlength=7).min() > 50


def test_the_table_of_flags_and_classes_has_flags_that_do_not_exclude_each_other():
    X, y = flag_forest_table(5_000, 54, seed=0)
    flags = X[:, FOREST_NUMERIC:]
    assert set(np.unique(flags)) == {0, 1}
    together = flags.T @ flags
    assert together.min() > 0
    assert np.bincount(y, minlength=7).min() > 50


@pytest.mark.parametrize(("draw", "n_values"), [(flag_table, 2), (digit_table, 10)])
def test_columns_of_few_values_are_independent_and_have_them_all(draw, n_values):
    X, _ = draw(5_000, 12, seed=0)
    assert [len(np.unique(column)) for column in X.T] == [n_values] * 12
    assert X.min() == 0
    assert X.max() == n_values - 1
    correlations = np.corrcoef(X, rowvar=False) - np.eye(12)
    assert np.abs(correlations).max() < 5 / np.sqrt(5_000)


def test_three_cells_in_ten_are_missing_and_the_others_are_as_they_were():
    X, y = missing_table(5_000, 12, seed=0)
    complete, labels = binary_table(5_000, 12, seed=0)
    missing = np.isnan(X)
    np.testing.assert_allclose(missing.mean(axis=0), 0.3, atol=0.03)
    np.testing.assert_array_equal(X[~missing], complete[~missing])
    np.testing.assert_array_equal(y, labels)


def test_texts_are_sparse_rows_of_length_one_with_some_words_in_many_of_them():
    X, _ = text_table(2_000, 20_000, seed=0)
    assert X.dtype == np.float32
    assert X.nnz / np.prod(X.shape) == pytest.approx(0.003, abs=0.0003)
    np.testing.assert_allclose(np.sqrt(X.multiply(X).sum(axis=1)), 1, rtol=1e-5)
    texts_with = np.sort(np.bincount(X.indices, minlength=20_000))[::-1]
    assert texts_with[0] > 10 * texts_with[1_000]


@pytest.mark.parametrize("case", SHAPES, ids=lambda case: case.name)
def test_the_table_of_a_shape_has_the_classes_that_its_settings_say(case):
    pytest.importorskip("pandas")
    data = case.quick_version().split()
    if case.settings.number_loss is None:
        assert set(data.y) == set(data.y_test) == set(range(case.settings.n_classes))
    else:
        assert len(np.unique(data.y)) > len(data.y) / 2
    assert data.X.shape == (len(data.y), case.quick_version().columns)


def test_strings_become_the_categories_of_the_training_rows_and_all_else_passes():
    pd = pytest.importorskip("pandas")
    train = pd.DataFrame({"number": [1.0, 2.0], "word": ["b", "a"]})
    encoder = CategoryEncoder()
    encoded = encoder.fit_transform(train)
    assert list(encoded["word"].cat.codes) == [1, 0]
    later = encoder.transform(pd.DataFrame({"number": [3.0, 4.0], "word": ["b", "new"]}))
    assert list(later["word"].cat.codes) == [1, -1]
    assert CategoryEncoder().fit_transform(encoded) is encoded
    array = np.zeros((2, 2))
    assert CategoryEncoder().fit_transform(array) is array


def best_error(draw, log_densities):
    """The error of the best rule there is: the class with the greatest density at a row."""
    X, y = draw(np.random.default_rng(0), 20_000)
    return (log_densities(X).argmax(axis=1) != y).mean()


def normal(X, mean, deviation=1.0):
    return -0.5 * np.square((X - mean) / deviation).sum(axis=1) - INPUTS * np.log(deviation)


def test_the_best_error_on_twonorm_is_that_of_two_normals_four_deviations_apart():
    ends = np.full(INPUTS, 2 / np.sqrt(INPUTS))
    error = best_error(twonorm, lambda X: np.stack([normal(X, ends), normal(X, -ends)], axis=1))
    assert error == pytest.approx(NormalDist().cdf(-2), abs=0.004)


def test_the_best_error_on_threenorm_is_breimans():
    ends = np.full(INPUTS, 2 / np.sqrt(INPUTS))
    between = ends * np.where(np.arange(INPUTS) % 2, -1, 1)

    def log_densities(X):
        both = np.logaddexp(normal(X, ends), normal(X, -ends)) - np.log(2)
        return np.stack([both, normal(X, between)], axis=1)

    assert best_error(threenorm, log_densities) == pytest.approx(0.105, abs=0.007)


def test_ringnorm_has_a_wide_class_around_zero_and_a_narrow_one_beside_it():
    X, y = ringnorm(np.random.default_rng(0), 20_000)
    wide, narrow = X[y == 0], X[y == 1]
    np.testing.assert_allclose(np.cov(wide, rowvar=False), 4 * np.eye(INPUTS), atol=0.25)
    np.testing.assert_allclose(np.cov(narrow, rowvar=False), np.eye(INPUTS), atol=0.06)
    np.testing.assert_allclose(wide.mean(axis=0), 0, atol=0.09)
    np.testing.assert_allclose(narrow.mean(axis=0), 1 / np.sqrt(INPUTS), atol=0.045)


def test_the_best_error_on_waveform_is_breimans():
    wave = [0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 0]
    early, late, middle = (np.roll([*wave, *[0] * 8], shift) for shift in (0, 8, 4))
    shares = np.linspace(0, 1, 101)[:, np.newaxis]

    def log_densities(X):
        pairs = [(early, late), (early, middle), (late, middle)]
        mixtures = [shares * a + (1 - shares) * b for a, b in pairs]
        # |x − m|² without |x|², which is the same for every class
        exponents = [X @ m.T - 0.5 * np.square(m).sum(axis=1) for m in mixtures]
        return np.stack([np.logaddexp.reduce(each, axis=1) for each in exponents], axis=1)

    assert best_error(waveform, log_densities) == pytest.approx(0.132, abs=0.007)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_the_classes_of_a_problem_are_equally_likely(problem):
    _, y = problem.make(np.random.default_rng(0), 20_000)
    shares = np.bincount(y) / len(y)
    np.testing.assert_allclose(shares, 1 / len(shares), atol=0.015)


# Libraries


@pytest.mark.parametrize("name", sorted(set(BOOSTERS) - set(LEVELS) | {HEDGEROW}))
@pytest.mark.parametrize("n_classes", [2, 7])
def test_a_library_predicts_probabilities_that_beat_guessing(name, n_classes):
    pytest.importorskip(BOOSTERS[name].module)
    settings = BoostingSettings(n_trees=10, max_leaves=7, n_classes=n_classes)
    shaped = TINY if n_classes == 2 else replace(TINY, columns=54, table=forest_table)
    if name == "xgboost-exact":
        settings = replace(settings, splitter="exact")
    data = replace(shaped, rows=2_000, settings=settings).split()
    model = BOOSTERS[name](settings, threads=1)
    model.fit(data.X, data.y)
    probabilities = model.predict(data.X_test)
    if n_classes == 2:
        assert probabilities.shape == (400,)
        assert roc_auc_score(data.y_test, probabilities) > 0.65
    else:
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
        often = np.bincount(data.y_test).max() / 400
        assert (probabilities.argmax(axis=1) == data.y_test).mean() > often


@pytest.mark.parametrize("name", [HEDGEROW, "lightgbm", "xgboost-leaf", "catboost", "scikit-learn"])
def test_the_estimator_of_a_library_predicts_as_its_fast_path_does(name):
    pytest.importorskip(BOOSTERS[name].module)
    data = TINY.split()
    model = BOOSTERS[name](TINY.settings, threads=1)
    model.fit(data.X, data.y)
    estimator = model.estimator().fit(data.X, data.y)
    np.testing.assert_allclose(
        estimator.predict_proba(data.X_test[:5])[:, 1],
        model.predict(data.X_test[:5]),
        rtol=1e-5,
    )


def fitted_trees(name, data, **settings):
    """A model of a library, or a skip where the library is not installed or lacks the estimator."""
    module = pytest.importorskip(TREE_LIBRARIES[name].module)
    if name == HEDGEROW and not hasattr(module, settings["estimator"]):
        pytest.skip(f"no {settings['estimator']} yet")
    model = TREE_LIBRARIES[name](TreeSettings(**settings), threads=1)
    model.fit(data.X, data.y)
    return model


TREE_MODELS = [
    *((name, "RandomForestClassifier") for name in TREE_LIBRARIES),
    *(
        (name, f"{kind}Classifier")
        for name in (HEDGEROW, "scikit-learn")
        for kind in ("ExtraTrees", "AdaBoost", "DecisionTree", "Bagging")
    ),
]


@pytest.mark.parametrize(("name", "estimator"), TREE_MODELS)
def test_trees_of_every_kind_get_what_they_know_of_and_beat_guessing(name, estimator):
    data = replace(TINY, rows=2_000).split()
    model = fitted_trees(name, data, estimator=estimator, n_trees=7)
    known = model.model.get_params()
    assert known["random_state"] == 0
    assert known.get("n_estimators", 7) == 7
    assert known.get("n_jobs", 1) == 1
    assert roc_auc_score(data.y_test, model.predict(data.X_test)) > 0.52


def test_parameters_of_a_case_reach_the_estimator_and_those_of_a_variant_go_first():
    settings = TreeSettings(
        estimator="RandomForestClassifier",
        n_trees=3,
        parameters={"max_features": 1, "min_samples_leaf": 5},
    )
    plain, combined = (
        TREE_LIBRARIES[name](settings, threads=1).estimator()
        for name in (HEDGEROW, "hedgerow-combined")
    )
    assert (plain.max_features, plain.min_samples_leaf, plain.feature_combinations) == (1, 5, None)
    assert (combined.max_features, combined.feature_combinations) == (2, 3)


def test_a_library_without_an_estimator_says_so():
    with pytest.raises(LookupError, match="scikit-learn has no LinearForest"):
        TREE_LIBRARIES["scikit-learn"](TreeSettings(estimator="LinearForest", n_trees=1), 1).fit(
            np.zeros((2, 1)), np.arange(2)
        )


@pytest.mark.parametrize("name", [HEDGEROW, "scikit-learn"])
def test_staged_errors_end_with_the_error_of_the_whole_model(name):
    data = replace(TINY, rows=2_000).split()
    model = fitted_trees(name, data, estimator="AdaBoostClassifier", n_trees=5)
    errors = model.staged_errors(data.X_test, data.y_test)
    assert len(errors) == 5
    assert errors[-1] == (model.model.predict(data.X_test) != data.y_test).mean()


def test_scikit_learn_on_bins_learns_the_same_where_every_value_has_a_bin():
    data = replace(TINY, rows=2_000).split()
    data = data._replace(X=np.round(data.X), X_test=np.round(data.X_test))
    plain, binned = (
        fitted_trees(name, data, estimator="AdaBoostClassifier", n_trees=5)
        for name in ("scikit-learn", "scikit-learn-binned")
    )
    np.testing.assert_array_equal(plain.predict(data.X), binned.predict(data.X))
    assert plain.staged_errors(data.X, data.y) == binned.staged_errors(data.X, data.y)


def test_adaboost_goes_round_by_round_as_scikit_learns_does_on_the_same_bins():
    data = replace(TINY, rows=2_000).split()
    ours, theirs = (
        fitted_trees(name, data, estimator="AdaBoostClassifier", n_trees=20)
        for name in (HEDGEROW, "scikit-learn-binned")
    )
    test_rows = data.X_test, data.y_test
    np.testing.assert_allclose(ours.staged_errors(*test_rows), theirs.staged_errors(*test_rows))


# Measuring


def test_turns_alternate_so_that_each_library_goes_first_and_follows_either_neighbour():
    orders = [alternating("abcd", turn) for turn in range(8)]
    assert all(sorted(order) == list("abcd") for order in orders)
    assert {order[0] for order in orders} == set("abcd")
    followers = {pair for order in orders for pair in pairwise(order)}
    assert {("a", "b"), ("b", "a"), ("d", "a"), ("a", "d")} <= followers


def test_no_library_makes_no_turn():
    assert alternating([], 3) == []


class TurnTaker(Entrant):
    """Appends its name to the worker, which is a list, whenever it is its turn."""

    def turn(self, _):
        self.worker.append(self.result.library)

    def finish(self):
        self.result.score = self.worker.count(self.result.library)


def test_a_library_that_has_had_its_turns_is_passed_over():
    order = []

    def enter(library, worker):
        entrant = TurnTaker(library, worker)
        entrant.most_turns = {"a": 3, "slow": 1}.get(library, entrant.most_turns)
        return entrant

    results = take_turns(
        "x", 3, ["a", "slow", "b"], lambda _: nullcontext(order), enter, lambda _: None
    )
    assert order == ["a", "slow", "b", "b", "a", "b", "a"]
    assert [result.score for result in results] == [3, 1, 3]


class Allocating:
    """Held: 64 MB. What a turn takes and gives back: 32 MB."""

    def __init__(self):
        self.before = np.ones(8_000_000)

    def peak(self):
        return peak_extra_bytes(lambda: np.ones(4_000_000).sum() + self.before.sum())


@pytest.mark.skipif(not (PROCESS / "clear_refs").exists(), reason="needs Linux")
def test_peak_memory_counts_what_is_freed_again_but_not_what_was_there_before():
    # A process of its own: this one may hold memory that other tests have given back.
    with Worker(Allocating) as worker:
        assert 31_000_000 < worker.call("peak") < 48_000_000


def test_memory_is_at_most_a_containers(tmp_path, monkeypatch):
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:       4 kB\n")
    monkeypatch.setattr("benchmarks.processes.SYSTEM_MEMORY", tmp_path / "meminfo")
    monkeypatch.setattr("benchmarks.processes.CONTAINER_MEMORY", tmp_path / "memory.max")
    assert available_bytes() == 4096
    (tmp_path / "memory.max").write_text("max\n")
    assert available_bytes() == 4096
    (tmp_path / "memory.max").write_text("1000\n")
    assert available_bytes() == 1000
    monkeypatch.setattr("benchmarks.processes.SYSTEM_MEMORY", tmp_path / "nowhere")
    assert available_bytes() == 1000


@pytest.mark.parametrize(
    ("workers", "groups"), [(9, ["abcde"]), (2.5, ["ab", "cd", "e"]), (0.5, [*"abcde"])]
)
def test_where_memory_is_short_fewer_libraries_take_turns_at_a_time(workers, groups, monkeypatch):
    each = measure.WORKER_BYTES + measure.WORKER_TABLES * 1_000_000_000
    monkeypatch.setattr(measure, "available_bytes", lambda: workers * each)
    lines = []
    assert groups_that_fit("abcde", 1_000_000_000, lines.append) == groups
    assert len(lines) == (len(groups) > 1)


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
    verdict = check_bar(Bar("fit", "times", 0.5, ("lightgbm", "xgboost-leaf")), results)
    assert (verdict.reached, verdict.reference, verdict.met) == (0.5, "xgboost-leaf", True)


def test_a_bar_is_missed_when_the_ratio_is_above_it():
    results = [timed(HEDGEROW, 2.1), timed("lightgbm", 4.0)]
    assert check_bar(Bar("fit", "times", 0.5, ("lightgbm",)), results).met is False


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
    verdict = check_bar(bar, results, greater_is_better=greater_is_better)
    assert verdict.reference == reference
    assert verdict.reached == pytest.approx(worse)
    assert verdict.met is (worse <= 0.025)


def test_an_absolute_bar_holds_the_median_call_to_a_time():
    one_row = Timing((1e-6, 30e-6, 50e-6), threads=1)
    verdict = check_bar(Bar("one row", "absolute", 40e-6), [Result(HEDGEROW, one_row=one_row)])
    assert (verdict.reached, verdict.met) == (30e-6, True)


def test_a_faster_peer_that_predicts_worse_is_no_reference_for_equal_accuracy():
    results = [timed(HEDGEROW, 2.0), timed("lightgbm", 5.0), timed("catboost", 3.0)]
    for result, auc in zip(results, (0.85, 0.8490, 0.84), strict=True):
        result.score = auc
    bar = Bar("fit", "times", 0.5, ("lightgbm", "catboost"), equal_accuracy=True)
    verdict = check_bar(bar, results, greater_is_better=True)
    assert (verdict.reached, verdict.reference, verdict.met) == (0.4, "lightgbm", True)
    verdict = check_bar(bar, results, greater_is_better=False)  # now 0.84 is the best of all
    assert (verdict.reference, verdict.met) == ("catboost", False)


def test_where_every_peer_predicts_worse_those_as_good_as_their_best_are_the_reference():
    ours = Result(HEDGEROW, score=1.0)
    losses = {"lightgbm": 1.1, "lightgbm-quantised": 1.105, "catboost": 1.2}
    peers = [Result(library, score=loss) for library, loss in losses.items()]
    equal = equally_accurate(ours, peers, greater_is_better=False)
    assert [peer.library for peer in equal] == ["lightgbm", "lightgbm-quantised"]
    assert equally_accurate(ours, [], greater_is_better=False) == []


def test_nothing_is_judged_when_a_peer_of_the_bar_was_not_measured():
    results = [timed(HEDGEROW, 1.0), timed("lightgbm", 4.0)]
    verdict = check_bar(Bar("fit", "times", 0.5, ("lightgbm", "xgboost-leaf")), results)
    assert verdict.met is None
    assert verdict_line(verdict, quick=False).startswith("not measured: fit ≤ 0.5 ×")


def test_curves_are_compared_where_they_are_furthest_apart():
    bar = Bar("staged errors", "near", 0.02, ("scikit-learn",))
    ours = Result(HEDGEROW, staged_errors=(0.4, 0.33, 0.3))
    verdict = check_bar(bar, [ours, Result("scikit-learn", staged_errors=(0.4, 0.36, 0.3))])
    assert verdict.reached == pytest.approx(0.03)
    assert verdict.met is False
    assert verdict_line(verdict, quick=False) == (
        "MISSED: staged errors nowhere more than 0.02 from scikit-learn; "
        "reached 0.03000 from scikit-learn"
    )


def test_a_curve_that_ended_early_stays_where_it_ended():
    assert largest_gap((0.4, 0.3), (0.4, 0.3, 0.25, 0.1)) == pytest.approx(0.2)
    assert largest_gap((0.4, 0.3, 0.25, 0.1), (0.4, 0.3)) == pytest.approx(0.2)


def on_draws(library, *scores):
    return Result(library, score=float(np.mean(scores)), scores=scores)


@pytest.mark.parametrize(
    ("shift", "met"), [(0.0, True), (0.002, True), (0.01, False), (-0.01, True)]
)
def test_worse_is_worse_beyond_noise_by_the_differences_on_the_same_draws(shift, met):
    base = np.array([0.10, 0.20, 0.15, 0.30])
    wobble = np.array([0.003, -0.003, 0.002, -0.002])
    bar = Bar("score", "noise", 2.0, (HEDGEROW,), subject="hedgerow-combined")
    results = [on_draws(HEDGEROW, *base), on_draws("hedgerow-combined", *(base + wobble + shift))]
    verdict = check_bar(bar, results)
    t = stats.ttest_rel(results[1].scores, results[0].scores).statistic
    assert verdict.reached == pytest.approx(t, abs=1e-9)
    assert verdict.met is met


def test_a_difference_that_is_always_the_same_is_no_noise():
    assert standard_errors_above_zero([0.25, 0.25]) == np.inf
    assert standard_errors_above_zero([-0.25, -0.25]) == -np.inf
    assert standard_errors_above_zero([0.0, 0.0]) == 0


def test_a_bar_about_a_variant_names_it():
    results = [on_draws(HEDGEROW, 0.2, 0.3), on_draws("hedgerow-combined", 0.1, 0.22)]
    verdict = check_bar(
        Bar("score", "noise", 2.0, (HEDGEROW,), subject="hedgerow-combined"), results
    )
    assert verdict_line(verdict, quick=False) == (
        "met: score of hedgerow-combined at most 2 standard errors worse than hedgerow; "
        "reached 9.0 standard errors better than hedgerow"
    )


def test_a_published_error_is_a_bar_of_its_own():
    problem = PROBLEMS[0]
    verdict = check_bar(problem.bars[0], [on_draws(HEDGEROW, 0.17, 0.19)])
    assert verdict_line(verdict, quick=False) == "MISSED: score ≤ 0.178; reached 0.18"


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


def test_small_ratios_have_a_digit_more():
    results = [timed(HEDGEROW, 1.0), timed("scikit-learn", 40.0)]
    _, rows = table(CaseReport("x", "about x", "AUC", False, results, []))
    assert rows[1][3] == "0.025"


def test_the_number_of_fits_is_shown_where_libraries_differ():
    slow = Result("scikit-learn", fit=Timing((9.0,), threads=2))
    headings, rows = table(CaseReport("x", "about x", "AUC", False, [timed(HEDGEROW, 1), slow], []))
    place = headings.index("fits")
    assert [row[place] for row in rows] == ["2", "1"]


def test_a_mean_over_draws_is_shown_with_its_standard_error():
    results = [on_draws(HEDGEROW, 0.1, 0.3), on_draws("scikit-learn", 0.2, 0.2)]
    headings, rows = table(CaseReport("x", "about x", "error", False, results, []))
    assert headings == ["library", "error", "±", "draws"]
    assert rows[0] == ["hedgerow", "0.20000", "0.10000", "2"]


def test_curves_are_shown_by_their_end_and_by_how_far_they_are_from_ours():
    curves = {HEDGEROW: (0.4, 0.3, 0.25), "scikit-learn": (0.4, 0.35, 0.24)}
    results = [Result(library, staged_errors=curve) for library, curve in curves.items()]
    headings, rows = table(CaseReport("x", "about x", "AUC", False, results, []))
    assert headings == ["library", "error", "apart"]
    assert rows == [["hedgerow", "0.25000", "0.00000"], ["scikit-learn", "0.24000", "0.05000"]]


def test_a_markdown_table_is_aligned():
    lines = markdown_table(["library", "fit s"], [["a", "10.5"]]).splitlines()
    assert lines == ["| library | fit s |", "|---------|------:|", "| a       |  10.5 |"]


def test_a_missed_bar_says_so_loudly_but_a_quick_run_says_nothing():
    results = [timed(HEDGEROW, 3.0), timed("lightgbm", 4.0)]
    verdict = check_bar(Bar("fit", "times", 0.5, ("lightgbm",)), results)
    verdict_text = "fit ≤ 0.5 × lightgbm; reached 0.75 × lightgbm"
    assert verdict_line(verdict, quick=False) == f"MISSED: {verdict_text}"
    assert verdict_line(verdict, quick=True) == f"quick run, not meaningful: {verdict_text}"


def complete(library, fit, predict, score, threads=2):
    timings = Timing((fit,), threads), Timing((predict,), threads)
    return Result(library, fit=timings[0], predict=timings[1], score=score)


def compared(name, threads, *results):
    return CaseReport(name, f"about {name}", "AUC", False, list(results), [], threads)


def test_a_summary_has_a_table_for_each_number_of_threads_and_the_ratio_to_the_fastest_equal():
    case = compared(
        "x", 2,
        complete("catboost", 1.0, 0.02, 0.7),
        complete(HEDGEROW, 2.0, 0.05, 0.85),
        complete("lightgbm", 5.0, 0.1, 0.85),
        Result("xgboost-leaf", error="broke"),
    )  # fmt: skip
    faster = compared("x", 16, complete(HEDGEROW, 0.5, 0.01, 0.85, threads=16))
    two, sixteen = summary([faster, case]).split("\n\n16 threads:\n\n")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in two.splitlines()[2:]]
    assert rows[0] == ["case", "Hedgerow", "LightGBM", "CatBoost", "to the fastest"]
    assert rows[2] == ["fit about x", "**2.00 s**", "5.00 s (0.40)", "1.00 s (2.00)", "0.40"]
    assert rows[3][1:] == ["**50.0 ms**", "0.10 s (0.50)", "20.0 ms (2.50)", "0.50"]
    assert rows[4] == ["AUC on it", "0.8500", "0.8500", "0.7000", ""]
    assert "**10.0 ms**" in sixteen


def test_a_summary_of_levels_has_ratios_to_the_fastest_peer_and_their_geometric_means():
    def report(case, seconds):
        results = [timed(library, each) for library, each in seconds.items()]
        results = [replace(result, predict=Timing((1.0,), 2), score=0.7) for result in results]
        return CaseReport(case.name, case.about, case.metric, False, results, [])

    peers = {"lightgbm": 4.0, "xgboost-leaf": 2.0, "xgboost-level": 8.0}
    of_levels = {HEDGEROW: 0.5, "hedgerow-v3": 1.0, "hedgerow-v2": 1.5}
    faster = {library: 4 * seconds for library, seconds in of_levels.items()}
    text = summary(
        [report(LEVEL_CASES[0], of_levels | peers), report(LEVEL_CASES[1], faster | peers)]
    )
    heading, _, *rows = text.split("\n\n")[1].splitlines()
    cells = [[cell.strip() for cell in row.split("|")[2:5]] for row in (heading, *rows)]
    assert cells.pop(0) == ["v4", "v3", "v2"]
    assert cells == [["0.25", "0.50", "0.75"], ["1.00", "2.00", "3.00"], ["0.50", "1.00", "1.50"]]


def test_a_level_needs_a_process_that_has_not_loaded_the_library(monkeypatch):
    importlib.import_module("hedgerow")
    monkeypatch.delenv("HEDGEROW_ISA", raising=False)
    with pytest.raises(RuntimeError, match="loaded before HEDGEROW_ISA=v2"):
        BOOSTERS["hedgerow-v2"](TINY.settings, threads=1)


def test_a_summary_leaves_out_what_has_no_times_and_scores_of_hedgerow():
    alone = compared("y", 2, complete("lightgbm", 1.0, 1.0, 0.8), Result(HEDGEROW, error="broke"))
    assert summary([alone]) == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0123, "12.3 ms"), (0.1, "0.10 s"), (3.456, "3.46 s"), (12.34, "12.3 s")],
)
def test_times_have_about_three_digits(seconds, text):
    assert short_time(seconds) == text


def test_a_report_is_read_back_from_its_json():
    results = [complete(HEDGEROW, 2.0, 0.05, 0.85), Result("lightgbm", error="broke")]
    report = Report({"cores": 2}, {"numpy": "2"}, [compared("x", 2, *results)])
    assert from_json(as_json(report)) == report


def test_a_level_needs_the_flags_of_every_level_below():
    assert isa_level(set()) == "v1"
    assert isa_level(ISA_LEVELS["v2"] | ISA_LEVELS["v3"]) == "v3"
    assert isa_level(ISA_LEVELS["v2"] | ISA_LEVELS["v4"]) == "v2"


# The whole


@pytest.mark.parametrize("library", [HEDGEROW, "scikit-learn"])
def test_a_quick_run_measures_a_library_and_writes_what_it_found(
    tmp_path, library, capsys, real_processes
):
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


def beats_guessing(case, score):
    match case.metric:
        case "AUC":
            return score > 0.5
        case "log loss":
            return score < np.log(case.settings.n_classes)
        case "RMSE":
            return score < case.split().y_test.std()


@pytest.mark.parametrize("case", SHAPES, ids=lambda case: case.name)
def test_every_shape_is_fitted_and_predicted_by_every_library_there_is(case):
    pytest.importorskip("pandas")
    tiny = replace(case.quick_version(), settings=replace(case.settings, n_trees=3))
    libraries = [name for name in case.libraries if BOOSTERS[name].installed()]
    results = run_case(tiny, libraries, lambda _: None)
    assert [result.library for result in results] == libraries
    assert [result.error for result in results] == [None] * len(results)
    for result in results:
        assert result.fit.best > 0
        assert result.predict.best > 0
        assert len(result.predict.seconds) == 3
        assert beats_guessing(tiny, result.score)


def test_each_case_is_run_with_each_number_of_threads_that_there_are_cores_for(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("benchmarks.__main__.available_cores", lambda: 2)
    arguments = ["--quick", "--cases", "flags", "text", "--libraries", HEDGEROW, "--rounds", "2"]
    path = tmp_path / "x.json"
    written = ["--results", str(tmp_path / "results"), "--json", str(path)]
    assert main([*arguments, "--threads", "1", "2", "4", *written]) == 0
    out, err = capsys.readouterr()
    assert "4 threads are skipped: there are 2 cores" in err
    cases = json.loads(path.read_text())["cases"]
    assert [(case["name"], case["threads"]) for case in cases] == [
        ("flags", 1), ("flags", 2), ("text", 1), ("text", 2),
    ]  # fmt: skip
    for case in cases:
        (result,) = case["results"]
        assert result["fit"]["threads"] == result["predict"]["threads"] == case["threads"]
        assert case["about"].endswith("here 2 rounds")
    assert main(["--summary", str(path)]) == 0
    tables = capsys.readouterr().out
    assert tables in out
    assert tables.startswith("1 thread:\n")
    assert "2 threads:" in tables


def test_a_quick_run_of_a_forest_measures_its_memory_and_its_file(tmp_path):
    arguments = ["--quick", "--cases", "forest", "--libraries", HEDGEROW]
    assert main([*arguments, "--results", str(tmp_path), "--json", str(tmp_path / "x.json")]) == 0
    (result,) = json.loads((tmp_path / "x.json").read_text())["cases"][0]["results"]
    assert result["predict"]["best"] > 0
    assert 0.6 < result["score"] < 1
    assert 1_000 < result["file_bytes"] < 1_000_000


def test_a_quick_run_of_neighbours_has_tables_of_few_columns(tmp_path):
    arguments = ["--quick", "--cases", "neighbors-8", "--libraries", HEDGEROW, "scikit-learn"]
    assert main([*arguments, "--results", str(tmp_path), "--json", str(tmp_path / "x.json")]) == 0
    ours, theirs = json.loads((tmp_path / "x.json").read_text())["cases"][0]["results"]
    assert ours["predict"]["best"] > 0
    assert 0.55 < ours["score"] == pytest.approx(theirs["score"], abs=0.01)


def test_a_quick_run_of_adaboost_follows_the_error_round_by_round(tmp_path):
    arguments = ["--quick", "--cases", "adaboost", "--libraries", "scikit-learn"]
    assert main([*arguments, "--results", str(tmp_path), "--json", str(tmp_path / "x.json")]) == 0
    (result,) = json.loads((tmp_path / "x.json").read_text())["cases"][0]["results"]
    assert len(result["staged_errors"]) == 10
    assert 0.2 < result["staged_errors"][-1] < 0.5


def test_a_quick_run_of_a_problem_finds_the_error_in_each_draw(tmp_path, capsys):
    arguments = ["--quick", "--cases", "ringnorm", "--libraries", HEDGEROW, "hedgerow-combined"]
    assert main([*arguments, "--results", str(tmp_path), "--json", str(tmp_path / "x.json")]) == 0
    results = json.loads((tmp_path / "x.json").read_text())["cases"][0]["results"]
    assert [result["library"] for result in results] == [HEDGEROW, "hedgerow-combined"]
    for result in results:
        assert len(result["scores"]) == 2
        assert result["score"] == pytest.approx(np.mean(result["scores"]))
        assert 0.01 < result["score"] < 0.1
    # One forest may make as many errors in both draws, but not both.
    assert any(len(set(result["scores"])) == 2 for result in results)
    assert "not measured: score at most 0.003 worse than scikit-learn" in capsys.readouterr().out


def test_rounds_are_limited_where_a_case_has_more():
    cases = select_cases(parse(["--cases", "flags", "classes-50", "forest", "--rounds", "30"]))
    assert [case.settings.n_trees for case in cases] == [100, 30, 20]
    assert [case.about.endswith("here 30 rounds") for case in cases] == [False, True, False]


def test_the_name_of_a_group_stands_for_its_cases_and_repeats_are_for_those_that_are_timed():
    cases = select_cases(parse(["--cases", "breiman", "forest", "--repeats", "7"]))
    assert [case.name for case in cases] == ["forest", *(problem.name for problem in PROBLEMS)]
    assert cases[0].turns == 7
    assert cases[1:] == list(PROBLEMS)


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
    (adult,) = available_sets(data_folder)
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
    with pytest.raises(SystemExit, match="no data for adult: pass their folder with --data"):
        main(["--cases", "adult", "--libraries", "scikit-learn"])


@pytest.mark.parametrize("case", LINEAR_CASES[::3], ids=lambda case: case.name)
def test_linear_svms_are_timed_and_reach_the_objective_of_scikit_learn(case):
    results = run_linear(case.quick_version(), case.libraries, print)
    assert [result.library for result in results] == [HEDGEROW, "scikit-learn"]
    ours, theirs = results
    assert ours.error is theirs.error is None
    assert ours.fit.best > 0
    assert ours.score <= theirs.score * (1 + 1e-6)


@pytest.mark.parametrize("case", KERNEL_CASES[::3], ids=lambda case: case.name)
def test_kernel_svms_are_timed_and_reach_the_dual_objective_of_scikit_learn(case):
    ours, theirs = run_kernel(case.quick_version(), [HEDGEROW, "scikit-learn"], print)
    assert ours.error is theirs.error is None
    assert ours.fit.best > 0
    assert ours.predict.best > 0
    assert ours.score >= theirs.score * (1 - 1e-4)


@pytest.mark.parametrize("case", CATEGORY_CASES, ids=lambda case: case.name)
def test_very_many_categories_are_timed_and_scored(case):
    pytest.importorskip("pandas")
    (ours,) = run_categories(case.quick_version(), [HEDGEROW], print)
    assert ours.error is None
    assert ours.fit.best > 0
    assert ours.predict.best > 0
    assert 0.4 < ours.score < 0.6


@pytest.mark.parametrize("case", DEPENDENCE_CASES, ids=lambda case: case.name)
def test_partial_dependence_is_timed_beside_scikit_learn(case: DependenceCase) -> None:
    ours, theirs = run_dependence(case.quick_version(), [HEDGEROW, "scikit-learn"], print)
    for result in (ours, theirs):
        assert result.error is None
        assert result.explain.best > 0.0
        assert result.score is None if case.method == "cover" else result.score < 1e-6


def test_speed_ups_by_threads_are_a_table(capsys):
    by_threads.main(["--quick", "--cases", "predict-float32", "knn-4", "--threads", "1", "2", "3"])
    _, head, rule, *lines = capsys.readouterr().out.splitlines()
    assert head == "| case | 1 thread | 2 | 3 |"
    assert rule == "|---|---|---|---|"
    names = [case.about for case in by_threads.CASES if case.name in ("knn-4", "predict-float32")]
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines] == names
    assert all(line.count(" ×") >= 2 for line in lines)


def test_names_of_cases_by_threads_are_different():
    names = [case.name for case in by_threads.CASES]
    assert len(set(names)) == len(names)


def test_a_case_by_threads_that_does_not_exist_is_an_error(capsys):
    with pytest.raises(SystemExit):
        by_threads.main(["--cases", "nothing"])
    assert "no such case; there are svc-28" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("target", "numbers", "classify"),
    [
        (["no", "yes", "no", "yes"], [], True),
        ([0, 2, 1, 1], [], True),
        ([0, 2, 1, 1], ["table"], False),
        ([0.5, 2, 1, 1], [], False),
    ],
)
def test_a_target_of_words_or_few_integers_is_a_class(target, numbers, classify, tmp_path):
    lines = ["a.b,target", *(f"{i},{value}" for i, value in enumerate(target))]
    (tmp_path / "table.csv").write_text("\n".join(lines))
    table = read_table(tmp_path / "table.csv", None, numbers)
    assert table.classify is classify
    assert list(table.X.columns) == ["x0"]


def _folds(library, errors, seconds):
    return [
        FoldResult("wine", library, "1", fold, 1, 100, 5, "RMSE", error, seconds, seconds, 0.1)
        for fold, error in enumerate(errors)
    ]


def test_defaults_are_compared_fold_by_fold_relative_to_the_peer():
    gain = difference(_folds("hedgerow", [1.0, 2.0], 1.0), _folds("catboost", [2.0, 2.5], 4.0))
    assert gain.mean == pytest.approx((0.5 + 0.2) / 2)
    assert gain.deviation == pytest.approx(0.15)
    assert gain.time == 0.25
    line = line_of_peer("catboost", [gain, replace(gain, name="letter", mean=-0.05)])
    assert line.startswith("| catboost | +15.00 ± 20.00 % | +15.00 % | 1 | 1 | -5.0 % (letter) |")


def test_a_fit_with_default_parameters_is_recorded_and_not_repeated(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))
    lines = ["a,b,target", *(f"{a},{b},{'up' if a > b else 'down'}" for a, b in rows)]
    (tmp_path / "table.csv").write_text("\n".join(lines))
    arguments = ["--data", str(tmp_path), "--results", str(tmp_path / "results"), "--folds", "2"]
    arguments += ["--libraries", "scikit-learn", "hedgerow-quick", "--threads", "1"]
    assert compare_defaults(arguments) == 0
    printed = capsys.readouterr()
    assert "| table, 60 × 2 | log loss |" in printed.out
    assert printed.err.count(" fold ") == 4
    assert compare_defaults(arguments) == 0
    again = capsys.readouterr()
    assert (again.out, again.err) == (printed.out, "")
