"""Rounds: evaluation, early stopping, callbacks, progress, warm start, stages."""

# ruff: noqa: ARG005

import io
import subprocess
import sys
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss, r2_score, root_mean_squared_error

from hedgerow import (
    DataError,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ParameterError,
)
from hedgerow import _progress as progress
from hedgerow._boosting.fit.dataset import Dataset, split_holdout
from hedgerow._boosting.fit.loop import BestRound, boost
from hedgerow._boosting.fit.round_grower import BoostedRounds
from hedgerow._data.intake import Table
from interrupts import interrupted
from oracles.random_numbers import hash_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 5))
SIGNAL = X[:, 0] + X[:, 1] * X[:, 2]
NUMBERS = SIGNAL + RNG.normal(size=600)
TWO = np.where(NUMBERS > 0, "yes", "no")
THREE = np.digitize(NUMBERS, [-1.0, 1.0])
TRAIN, TEST = slice(0, 400), slice(400, 600)


def classifier(**parameters):
    return GradientBoostingClassifier(**{"n_estimators": 15, "max_leaves": 6} | parameters)


def regressor(**parameters):
    return GradientBoostingRegressor(**{"n_estimators": 15, "max_leaves": 6} | parameters)


def test_the_loop_runs_every_round_and_collects_the_trees():
    grower = BoostedRounds(
        lambda rounds: [f"{index}{tree}" for index in rounds for tree in "ab"], ["2a", "2b"]
    )
    boost(grower, range(3, 5), None)
    assert grower.trees == ["2a", "2b", "3a", "3b", "4a", "4b"]


@pytest.mark.parametrize("y", [TWO, THREE])
def test_recorded_log_loss_is_that_of_the_staged_probabilities(y):
    model = classifier().fit(X[TRAIN], y[TRAIN], eval_set=[(X[TEST], y[TEST])])
    staged = [log_loss(y[TEST], p) for p in model.staged_predict_proba(X[TEST])]
    np.testing.assert_allclose(model.evals_result_["eval_0"]["log_loss"], staged, rtol=1e-9)


def test_recorded_rmse_is_that_of_the_staged_predictions_with_weights():
    w = RNG.uniform(0.1, 2.0, 200)
    model = regressor().fit(X[TRAIN], NUMBERS[TRAIN], eval_set=[(X[TEST], NUMBERS[TEST], w)])
    staged = [
        root_mean_squared_error(NUMBERS[TEST], p, sample_weight=w)
        for p in model.staged_predict(X[TEST])
    ]
    np.testing.assert_allclose(model.evals_result_["eval_0"]["rmse"], staged, rtol=1e-9)


def test_several_sets_and_metrics_have_their_names():
    model = classifier(eval_metric=["auc", "error"]).fit(
        X[TRAIN],
        TWO[TRAIN],
        eval_set=[(X[TRAIN], TWO[TRAIN]), (X[TEST], TWO[TEST])],
        eval_names=["train", "test"],
    )
    assert {of: set(values) for of, values in model.evals_result_.items()} == {
        "train": {"auc", "error"},
        "test": {"auc", "error"},
    }


def test_a_metric_that_names_itself_is_recorded_under_that_name():
    model = regressor(eval_metric=lambda y, p: ("bias", abs(np.mean(y - p)), False))
    model.fit(X, NUMBERS, eval_set=[(X, NUMBERS)])
    assert list(model.evals_result_["eval_0"]) == ["bias"]
    assert len(model.evals_result_["eval_0"]["bias"]) == 15


@pytest.mark.parametrize("metric", ["log_loss", "auc"])
def test_early_stopping_restores_the_best_round(metric):
    model = classifier(
        n_estimators=300,
        learning_rate=0.5,
        early_stopping=True,
        n_iter_no_change=5,
        eval_metric=metric,
    )
    model.fit(X[TRAIN], TWO[TRAIN], eval_set=[(X[TEST], TWO[TEST])])
    history = model.evals_result_["eval_0"][metric]
    best = int(np.argmax(history) if metric == "auc" else np.argmin(history)) + 1
    assert model.n_iter_ == model.best_iteration_ == best
    assert model.best_score_ == history[best - 1]
    assert len(history) == best + 5 < 300
    shorter = classifier(n_estimators=best, learning_rate=0.5).fit(X[TRAIN], TWO[TRAIN])
    np.testing.assert_array_equal(model.predict_proba(X), shorter.predict_proba(X))


def test_early_stopping_is_judged_by_the_last_set_and_the_first_metric():
    model = classifier(
        n_estimators=200, learning_rate=0.5, early_stopping=True, eval_metric=["log_loss", "auc"]
    )
    model.fit(X[TRAIN], TWO[TRAIN], eval_set=[(X[TRAIN], TWO[TRAIN]), (X[TEST], TWO[TEST])])
    assert model.best_score_ == min(model.evals_result_["eval_1"]["log_loss"])


def test_without_early_stopping_the_best_round_is_known_but_all_are_kept():
    model = classifier(n_estimators=60, learning_rate=0.5)
    model.fit(X[TRAIN], TWO[TRAIN], eval_set=[(X[TEST], TWO[TEST])])
    assert model.n_iter_ == 60
    assert model.best_iteration_ < 60


def held_out_rows(y, fraction, seed, stratify):
    rows = Table(None, dense=np.arange(len(y), dtype=float)[:, None])
    splits = split_holdout(Dataset(rows, y, None), fraction, seed, stratify)
    return [dataset.table.dense[:, 0].astype(int) for dataset in splits]


def test_the_held_out_part_is_not_trained_on():
    options = {"early_stopping": True, "random_state": 7, "n_estimators": 100}
    model = regressor(**options, validation_fraction=0.25).fit(X, NUMBERS)
    train, held_out = held_out_rows(NUMBERS, 0.25, 7, False)
    same = regressor(**options)
    same.fit(X[train], NUMBERS[train], eval_set=[(X[held_out], NUMBERS[held_out])])
    np.testing.assert_array_equal(model.predict(X), same.predict(X))
    assert model.evals_result_["validation"] == same.evals_result_["eval_0"]


def test_the_held_out_part_has_the_same_part_of_each_class():
    y = np.repeat([0.0, 1.0, 2.0], [700, 200, 30])
    train, held_out = held_out_rows(y, 0.1, 0, True)
    assert np.bincount(y[held_out].astype(int)).tolist() == [70, 20, 3]
    assert sorted([*train, *held_out]) == list(range(930))


@pytest.mark.parametrize("purpose", ["validation", "calibration"])
def test_what_has_the_smallest_hashes_of_its_class_or_all_groups_is_held_out(purpose):
    rng = np.random.default_rng(0)
    key = ["validation", "calibration"].index(purpose)
    y, groups = rng.integers(0, 3, 200).astype(float), rng.integers(5, 40, 200).astype(np.int32)
    rows = Table(None, dense=np.arange(200.0)[:, None])
    dataset = Dataset(rows, y, None)
    held_out = split_holdout(dataset, 0.2, 11, True, "random", purpose)[1].table.dense[:, 0]
    expected = []
    for label in range(3):
        members = np.flatnonzero(y == label).tolist()
        members.sort(key=lambda row: hash_of(11, "holdout", key, row))
        expected += members[: int(0.2 * len(members) + 0.5)]
    assert held_out.tolist() == sorted(expected)
    with_groups = replace(dataset, groups=groups)
    held_out = split_holdout(with_groups, 0.2, 11, False, "random", purpose)[1].groups
    distinct = sorted(set(groups.tolist()), key=lambda code: hash_of(11, "holdout", key, code))
    assert set(held_out.tolist()) == set(distinct[: int(0.2 * len(distinct) + 0.5)])


def test_no_class_is_held_out_entirely():
    y = np.repeat([0.0, 1.0, 2.0], [20, 1, 2])
    train, _ = held_out_rows(y, 0.9, 0, True)
    assert set(y[train]) == {0.0, 1.0, 2.0}


def test_the_held_out_part_depends_on_the_seed_alone():
    y = np.arange(100.0)
    first, again, other = (held_out_rows(y, 0.2, seed, False)[1].tolist() for seed in (1, 1, 2))
    assert first == again != other


def test_a_table_too_small_to_hold_out_from_is_an_error():
    with pytest.raises(DataError, match=r"validation_fraction=0.1 of 3 rows is less than one row"):
        regressor(early_stopping=True).fit(X[:3], NUMBERS[:3])


def test_a_holdout_is_drawn_from_the_rows_with_weight():
    weights = np.zeros(600)
    weights[0] = 1.0
    with pytest.raises(DataError, match=r"early_stopping needs a holdout, .* of 1 rows"):
        regressor(early_stopping=True).fit(X, NUMBERS, weights)


@pytest.mark.parametrize(
    "wrap", [lambda pair: pair, lambda pair: (pair,), lambda pair: [list(pair)]]
)
def test_one_evaluation_set_need_not_be_in_a_list(wrap):
    model = regressor().fit(X, NUMBERS, eval_set=wrap((X, NUMBERS)))
    assert list(model.evals_result_) == ["eval_0"]


def test_an_improvement_must_exceed_the_tolerance():
    best = BestRound(tol=0.1)
    for round_, score in enumerate([1.0, 0.95, 0.85, 0.80], start=1):
        best.update(round_, score, higher_is_better=False)
    assert (best.round, best.score) == (3, 0.85)


def test_a_metric_that_is_never_a_number_ends_after_the_patience_with_all_rounds_kept():
    model = regressor(early_stopping=True, n_iter_no_change=4)
    model.set_params(eval_metric=lambda y, p: ("none", np.nan, False)).fit(X, NUMBERS)
    assert model.n_iter_ == 4
    assert not hasattr(model, "best_iteration_")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"eval_set": [(X,)]}, DataError, r"eval_set must be a list of \(X, y\)"),
        ({"eval_set": [(X[:, :2], TWO)]}, DataError, r"eval_set\[0\]: X has 2 features"),
        (
            {"eval_set": [(X, TWO), (X, np.full(600, "maybe"))]},
            DataError,
            r"eval_set\[1\]: y contains 'maybe'",
        ),
        ({"eval_set": [(X, TWO, -np.ones(600))]}, DataError, r"eval_set\[0\]: sample_weight"),
        ({"eval_set": [(X, TWO)], "eval_names": ["a", "b"]}, ParameterError, "eval_names"),
        ({"callbacks": [3]}, ParameterError, "callbacks: 3 is neither"),
    ],
)
def test_what_fit_is_given_is_checked(arguments, error, message):
    with pytest.raises(error, match=message):
        classifier().fit(X, TWO, **arguments)


def test_an_evaluation_set_of_one_class_is_fine():
    model = classifier().fit(X, TWO, eval_set=[(X[TWO == "no"], TWO[TWO == "no"])])
    assert len(model.evals_result_["eval_0"]["log_loss"]) == 15


class Recorder:
    def __init__(self):
        self.seen = []

    def before_fit(self, estimator):
        self.seen.append(("before", hasattr(estimator, "n_iter_")))

    def after_round(self, info):
        self.seen.append((info.round, info.n_rounds, info.metrics["eval_0"]["rmse"]))

    def after_fit(self, estimator):
        self.seen.append(("after", estimator.n_iter_))


def test_callbacks_see_every_round_with_its_metrics():
    recorder = Recorder()
    model = regressor(n_estimators=3).fit(X, NUMBERS, eval_set=[(X, NUMBERS)], callbacks=[recorder])
    values = model.evals_result_["eval_0"]["rmse"]
    rounds = [(i, 3, value) for i, value in enumerate(values, start=1)]
    assert recorder.seen == [("before", False), *rounds, ("after", 3)]


def test_a_callback_that_returns_true_ends_the_rounds():
    assert regressor().fit(X, NUMBERS, callbacks=[lambda info: info.round == 4]).n_iter_ == 4


def test_a_callback_gets_a_model_of_the_rounds_so_far():
    models = []
    model = classifier(n_estimators=5).fit(
        X, THREE, callbacks=[lambda info: models.append(info.model)]
    )
    for seen, expected in zip(models, model.staged_predict_proba(X), strict=True):
        np.testing.assert_array_equal(seen.predict_proba(X), expected)


@pytest.mark.parametrize("exception", [KeyboardInterrupt, RuntimeError])
def test_a_fit_that_is_broken_off_leaves_the_estimator_as_it_was(exception):
    def stop(info):
        if info.round == 3:
            raise exception

    model = regressor().fit(X, NUMBERS, eval_set=[(X, NUMBERS)])
    before = dict(vars(model))
    with pytest.raises(exception):
        model.fit(X[:, :2], NUMBERS, callbacks=[stop])
    assert vars(model) == before
    fresh = regressor()
    with pytest.raises(exception):
        fresh.fit(X, NUMBERS, callbacks=[stop])
    assert vars(fresh) == vars(regressor())


def test_a_second_fit_forgets_the_first():
    named = pd.DataFrame(X, columns=list("abcde"))
    model = regressor().fit(named, NUMBERS, eval_set=[(named, NUMBERS)])
    model.fit(X, NUMBERS)
    assert not hasattr(model, "best_iteration_")
    assert not hasattr(model, "feature_names_in_")
    assert model.evals_result_ == {}


@pytest.mark.parametrize("y", [TWO, THREE])
def test_a_warm_start_ends_where_one_fit_would_have(y):
    at_once = classifier(n_estimators=12).fit(X, y)
    model = classifier(n_estimators=5, warm_start=True).fit(X, y)
    model.set_params(n_estimators=12).fit(X, y)
    assert model.n_iter_ == 12
    np.testing.assert_allclose(model.predict_proba(X), at_once.predict_proba(X), rtol=1e-9)


def test_a_warm_start_with_as_many_rounds_warns_that_it_changes_nothing():
    model = regressor(warm_start=True).fit(X, NUMBERS)
    before = model.predict(X)
    with pytest.warns(UserWarning, match="already has n_estimators=15 rounds"):
        model.fit(X, -NUMBERS)
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("random_state", [0, None])
@pytest.mark.parametrize("boosting", ["gradient", "dart"])
def test_warm_starts_with_early_stopping_never_make_the_model_worse(boosting, random_state):
    options = {"tol": 0.0, "n_iter_no_change": 3, "learning_rate": 0.5, "boosting": boosting}
    model = regressor(warm_start=True, early_stopping=True, **options, random_state=random_state)
    scores = []
    for n_estimators in (20, 30, 40, 50):
        model.set_params(n_estimators=n_estimators).fit(X, NUMBERS)
        assert model.n_iter_ == model.best_iteration_
        scores.append(model.best_score_)
    assert scores == sorted(scores, reverse=True)
    if boosting == "gradient" and random_state == 0:  # the same rounds are grown again
        assert model.n_iter_ < 20
        assert len(set(scores)) == 1


@pytest.mark.parametrize("boosting", ["gradient", "dart"])
@pytest.mark.parametrize("eval_metric", [None, lambda y, p: ("mae", abs(y - p).mean(), False)])
def test_the_initial_model_stays_if_no_round_is_better(boosting, eval_metric):
    initial = regressor(n_estimators=15).fit(X, NUMBERS)
    noise = np.random.default_rng(0).normal(size=100)
    more = regressor(early_stopping=True, n_iter_no_change=2, eval_metric=eval_metric)
    if boosting == "dart":
        more.set_params(boosting=boosting, drop_rate=0.9, skip_drop=0.0)
    more.fit(X[:100], noise, eval_set=[(X, NUMBERS)], init_model=initial)
    assert more.best_iteration_ == more.n_iter_ == 15
    name, *_ = more.evals_result_["eval_0"]
    error = NUMBERS - initial.predict(X)
    expected = abs(error).mean() if name == "mae" else np.sqrt(np.mean(error**2))
    assert more.best_score_ == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(more.predict(X), initial.predict(X), rtol=1e-12)


def test_balanced_classes_and_a_warm_start_do_not_go_together_silently():
    model = classifier(class_weight="balanced", warm_start=True).fit(X, TWO)
    with pytest.warns(UserWarning, match="class_weight='balanced' with warm_start=True"):
        model.set_params(n_estimators=16).fit(X, TWO)


def test_a_warm_start_cannot_lose_rounds():
    model = regressor(warm_start=True).fit(X, NUMBERS)
    with pytest.raises(ParameterError, match="n_estimators=3 is less than the 15 rounds"):
        model.set_params(n_estimators=3).fit(X, NUMBERS)


def test_a_warm_start_needs_the_same_columns_and_classes():
    model = classifier(warm_start=True).fit(X, TWO)
    model.set_params(n_estimators=20)
    with pytest.raises(DataError, match="X has 4 features"):
        model.fit(X[:, :4], TWO)
    with pytest.raises(DataError, match="y contains 0"):
        model.fit(X, THREE)


def test_a_warm_start_measures_the_rounds_it_adds():
    arguments = {"eval_set": [(X[TEST], NUMBERS[TEST])]}
    at_once = regressor(n_estimators=9).fit(X[TRAIN], NUMBERS[TRAIN], **arguments)
    model = regressor(n_estimators=5, warm_start=True).fit(X[TRAIN], NUMBERS[TRAIN])
    model.set_params(n_estimators=9).fit(X[TRAIN], NUMBERS[TRAIN], **arguments)
    np.testing.assert_allclose(
        model.evals_result_["eval_0"]["rmse"],
        at_once.evals_result_["eval_0"]["rmse"][5:],
        rtol=1e-9,
    )


@pytest.mark.parametrize("y", [TWO, THREE])
def test_the_last_stage_is_the_prediction(y):
    model = classifier().fit(X, y)
    for staged, whole in [
        (model.staged_predict, model.predict),
        (model.staged_predict_proba, model.predict_proba),
        (model.staged_decision_function, model.decision_function),
    ]:
        stages = list(staged(X))
        assert len(stages) == 15
        np.testing.assert_array_equal(stages[-1], whole(X))


def test_stages_of_a_regressor_are_independent_arrays():
    stages = list(regressor().fit(X, NUMBERS).staged_predict(X))
    assert not np.array_equal(stages[0], stages[-1])


def test_nothing_is_printed_unless_asked_for(capfd):
    regressor().fit(X, NUMBERS, eval_set=[(X, NUMBERS)])
    assert capfd.readouterr() == ("", "")


def test_verbose_prints_every_so_many_rounds_where_there_is_no_terminal(capfd):
    regressor(verbose=7).fit(X, NUMBERS, eval_set=[(X, NUMBERS)])
    out, err = capfd.readouterr()
    assert out == ""
    assert [line.split("  ")[0] for line in err.splitlines()] == [
        "round 7/15",
        "round 14/15",
        "round 15/15",
    ]
    assert "eval_0 rmse 1." in err


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_a_bar_with_the_metric(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", Terminal())
    regressor(verbose=1).fit(X, NUMBERS, eval_set=[(X, NUMBERS)])
    output = sys.stderr.getvalue()
    assert "15/15" in output
    assert "rmse" in output


def test_a_terminal_without_rich_gets_lines(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    monkeypatch.setattr(sys, "stderr", Terminal())
    regressor(verbose=15).fit(X, NUMBERS)
    assert sys.stderr.getvalue() == "round 15/15\n"


def test_a_log_has_twenty_lines_at_most_and_the_last_one(monkeypatch, capfd):
    clock = iter(range(10**6))
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    regressor(verbose=1, n_estimators=211).fit(X, NUMBERS)
    lines = capfd.readouterr().err.splitlines()
    assert 15 <= len(lines) <= 22
    assert lines[:2] == ["round 2/211", "round 11/211"]
    assert lines[-1] == "round 211/211"


def test_lines_of_a_log_have_seconds_between_them(monkeypatch, capfd):
    clock = iter(np.arange(10**6) * progress.SECONDS_BETWEEN / 128)
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    regressor(verbose=1, n_estimators=300).fit(X, NUMBERS)
    lines = capfd.readouterr().err.splitlines()
    assert [line.split()[1] for line in lines] == ["128/300", "256/300", "300/300"]


def test_the_last_round_is_told_if_a_fit_ends_early(capfd):
    model = regressor(verbose=1, n_estimators=1000, learning_rate=1.0, early_stopping=True)
    rounds = []
    model.fit(X, NUMBERS, callbacks=lambda info: rounds.append(info.round))
    assert capfd.readouterr().err.splitlines()[-1].startswith(f"round {rounds[-1]}/1000  ")
    assert rounds[-1] < 1000


class Kernel:
    kernel = "of a notebook"


@pytest.mark.parametrize(
    ("shell", "widgets", "is_bar"),
    [(Kernel(), "io", True), (Kernel(), "no_such_module", False), (None, "io", False)],
    ids=["notebook", "without widgets", "IPython in a script"],
)
def test_notebooks_show_a_bar(shell, widgets, is_bar, monkeypatch, capfd):
    ipython = ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setattr(progress, "find_spec", lambda name: find_spec(widgets) and name)
    regressor(verbose=15).fit(X, NUMBERS)
    output = capfd.readouterr().err
    assert output.rstrip().startswith("boosting ") == is_bar
    assert output.startswith("round 15/15\n") != is_bar


def test_nothing_is_imported_to_ask_for_a_notebook():
    asks = "import sys, hedgerow._progress as p; p._in_notebook(); print('IPython' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", asks], check=True, capture_output=True)
    assert done.stdout == b"False\n"


A_LONG_FIT = """
import numpy as np
from hedgerow import GradientBoostingRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(200_000, 10)).astype(np.float32)
y = X[:, 0] + rng.normal(size=200_000)
model = GradientBoostingRegressor(n_estimators=1).fit(X[:100], y[:100])
model.set_params(n_estimators=100_000)
before = dict(vars(model))
"""


def test_ctrl_c_ends_a_fit_and_leaves_the_estimator_as_it_was():
    assert interrupted(A_LONG_FIT, "model.fit(X, y)", "vars(model) == before") == "True"


def hits(y, p):
    return float(np.mean(np.abs(y - p) < 1.0))


@pytest.mark.parametrize(
    "parameters", [{"early_stopping": True}, {"n_estimators": "auto", "budget": 0.1}]
)
def test_a_metric_of_unknown_direction_decides_nothing(parameters):
    model = regressor(eval_metric=hits, **parameters)
    with pytest.raises(
        ParameterError, match=r"hits does not return whether .* \(name, value, higher"
    ):
        model.fit(X, NUMBERS)
    assert not hasattr(model, "n_iter_")


def test_a_metric_of_unknown_direction_is_recorded():
    model = regressor(eval_metric=hits).fit(X, NUMBERS, eval_set=[(X, NUMBERS)])
    staged = [hits(NUMBERS, p) for p in model.staged_predict(X)]
    assert model.evals_result_["eval_0"]["hits"] == staged
    with pytest.raises(AttributeError, match="does not say whether higher is better"):
        _ = model.best_iteration_


@pytest.mark.parametrize(
    ("metric", "is_higher_better"),
    [
        (root_mean_squared_error, False),
        (r2_score, True),
        (partial(r2_score, force_finite=True), True),
    ],
)
def test_a_metric_s_name_may_tell_its_direction(metric, is_higher_better):
    model = regressor(eval_metric=metric, early_stopping=True).fit(X, NUMBERS)
    (history,) = model.evals_result_["validation"].values()
    assert model.best_score_ == (max if is_higher_better else min)(history)


def test_what_is_not_there_says_why():
    model = regressor()
    with pytest.raises(AttributeError, match="no best_iteration_ before fit"):
        _ = model.best_iteration_
    model.fit(X, NUMBERS)
    with pytest.raises(AttributeError, match="no best_score_, because rounds were not evaluated"):
        _ = model.best_score_
    with pytest.raises(AttributeError, match="auto_ exists only with n_estimators='auto'"):
        _ = model.auto_
    with pytest.raises(
        AttributeError, match="'GradientBoostingRegressor' object has no attribute 'trees'"
    ):
        _ = model.trees
    hinge = classifier(loss="hinge").fit(X, TWO)
    for name in ("predict_proba", "predict_log_proba", "staged_predict_proba"):
        assert not hasattr(hinge, name)
        with pytest.raises(AttributeError, match="With loss='hinge' there are no probabilities"):
            getattr(hinge, name)


def test_a_round_is_shown_without_functions():
    output = []
    regressor(n_estimators=1).fit(
        X, NUMBERS, eval_set=[(X, NUMBERS)], callbacks=[lambda info: output.append(repr(info))]
    )
    assert output[0].startswith("RoundInfo(round=1, n_rounds=1, metrics={'eval_0': {'rmse': ")
    assert "lambda" not in output[0]


@pytest.mark.parametrize(
    ("weights", "factors"),
    [
        ({"class_weight": {"no": 1.0, "yes": 6.0}}, {"no": 1.0, "yes": 6.0}),
        ({"class_weight": "balanced"}, None),
        ({"scale_pos_weight": 3.0}, {"no": 1.0, "yes": 3.0}),
    ],
    ids=str,
)
def test_classes_weigh_as_much_in_an_evaluation_set_as_in_the_training_set(weights, factors):
    rare = np.where(NUMBERS > 1.2, "yes", "no")
    if factors is None:
        names, counts = np.unique(rare[TRAIN], return_counts=True)
        factors = dict(zip(names, 400 / (2 * counts), strict=True))
    by_row = np.array([factors[label] for label in rare])
    own = RNG.uniform(0.5, 2.0, 200)
    options = {"early_stopping": True, "n_iter_no_change": 4, "n_estimators": 40, "max_leaves": 5}
    by_class = GradientBoostingClassifier(**options, **weights)
    by_class.fit(X[TRAIN], rare[TRAIN], eval_set=[(X[TEST], rare[TEST], own)])
    as_weights = GradientBoostingClassifier(**options)
    eval_set = [(X[TEST], rare[TEST], own * by_row[TEST])]
    as_weights.fit(X[TRAIN], rare[TRAIN], by_row[TRAIN], eval_set=eval_set)
    assert by_class.best_iteration_ == as_weights.best_iteration_
    ours, others = by_class.evals_result_["eval_0"], as_weights.evals_result_["eval_0"]
    np.testing.assert_allclose(ours["log_loss"], others["log_loss"], rtol=1e-9)


def test_an_evaluation_set_of_classes_without_weight_is_refused():
    model = GradientBoostingClassifier(class_weight={"no": 0.0, "yes": 1.0})
    only_no = TWO == "no"
    with pytest.raises(DataError, match=r"eval_set\[0\]: class_weight=.* no row with a positive"):
        model.fit(X, TWO, eval_set=[(X[only_no], TWO[only_no])])
