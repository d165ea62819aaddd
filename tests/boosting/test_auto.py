"""n_estimators="auto": what is tried is what an explicit fit does, and so is what is chosen."""

import re
from dataclasses import dataclass, replace
from threading import get_ident

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification, make_friedman1
from sklearn.metrics import log_loss, root_mean_squared_error

import hedgerow as hr
from hedgerow import (
    DataError,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ParameterError,
)
from hedgerow._boosting.fit.budget import Budget
from hedgerow._boosting.fit.dataset import Dataset, _fold_sizes, split_folds
from hedgerow._boosting.fit.kinds import kinds_for
from hedgerow._boosting.fit.round_grower import member_seeds
from hedgerow._boosting.fit.trials import select_members
from hedgerow._data.intake import learn_schema
from hedgerow._model_file.boosted import read_choice, write_choice

QUICK = {"budget": 0.1, "random_state": 0}
# With this budget all kinds are tried, and on several holdouts.
ALL_KINDS = {"budget": 0.3, "random_state": 0}
UNSAMPLED = {"subsample": 1.0, "colsample_bytree": 1.0, "colsample_bynode": 1.0}
X, NUMBERS = make_friedman1(400, noise=1.0, random_state=0)
LABELS = NUMBERS > 14.0
# So many rows are parted once.
MANY_X, MANY = make_friedman1(10_400, n_features=5, noise=1.0, random_state=1)


def examples(x, y, groups=None):
    _, table = learn_schema(x, "auto")
    groups = None if groups is None else np.asarray(groups, np.int32)
    return Dataset(table, np.asarray(y, float), None, groups)


def same(a, b):
    return a._model.ensemble == b._model.ensemble


@pytest.fixture(scope="module")
def fitted():
    return GradientBoostingRegressor(**QUICK).fit(X, NUMBERS)


def test_one_model_is_what_its_parameters_give():
    fitted = GradientBoostingRegressor(**QUICK, **UNSAMPLED).fit(MANY_X, MANY)
    assert fitted.auto_.n_members == 1  # for there is nothing in which others could differ
    explicit = GradientBoostingRegressor(random_state=0, **UNSAMPLED | fitted.auto_.parameters)
    assert same(explicit.fit(MANY_X, MANY), fitted)


def test_several_models_are_the_mean_of_what_their_seeds_give(fitted):
    choice = fitted.auto_
    assert choice.n_members == 4
    rounds = choice.parameters["n_estimators"] // 4
    members = [
        GradientBoostingRegressor(
            **{**choice.parameters, "n_estimators": rounds, "random_state": seed}
        ).fit(X, NUMBERS)
        for seed in member_seeds(0, 4)
    ]
    mean = np.mean([member.predict(X) for member in members], axis=0)
    np.testing.assert_allclose(fitted.predict(X), mean, rtol=1e-12)
    half = np.mean([member[: rounds // 2].predict(X) for member in members], axis=0)
    np.testing.assert_allclose(fitted[: rounds // 2 * 4].predict(X), half, rtol=1e-12)
    assert not np.allclose(members[0].predict(X), members[1].predict(X))


def test_scores_are_those_of_explicit_fits_on_the_same_rows():
    choice = GradientBoostingRegressor(**ALL_KINDS).fit(X, NUMBERS).auto_
    assert choice.n_folds == 4
    folds = split_folds(examples(X, np.arange(400)), 5, 0, False, "random")[:4]
    for trial in choice.tried:
        errors = []
        for train, holdout in folds:
            inside, outside = (dataset.target.astype(int) for dataset in (train, holdout))
            model = GradientBoostingRegressor(
                n_estimators=trial.n_rounds, learning_rate=0.15, random_state=0, **trial.parameters
            ).fit(X[inside], NUMBERS[inside])
            errors.append(root_mean_squared_error(NUMBERS[outside], model.predict(X[outside])))
        assert trial.score == pytest.approx(np.mean(errors), rel=1e-12)


def test_the_mean_of_several_kinds_is_that_of_explicit_fits():
    numbers = NUMBERS + 5.0 * np.random.default_rng(3).normal(size=400)
    model = GradientBoostingRegressor(**ALL_KINDS).fit(X, numbers)
    choice = model.auto_
    assert len({str(choice.member(k)["grow_policy"]) for k in range(4)}) == 2
    rounds = choice.parameters["n_estimators"] // 4
    members = [
        GradientBoostingRegressor(
            **{**choice.member(k), "n_estimators": rounds, "random_state": seed}
        ).fit(X, numbers)
        for k, seed in enumerate(member_seeds(0, 4))
    ]
    mean = np.mean([member.predict(X) for member in members], axis=0)
    np.testing.assert_allclose(model.predict(X), mean, rtol=1e-12)
    assert sum(choice.n_models(trial) for trial in choice.tried) == 4
    assert "average of 4 models, " in repr(choice)
    assert "rounds each (column 'models')" in repr(choice)
    assert "grow_policy=" not in repr(choice)


def test_members_are_the_best_mean_step_by_step():
    """Against all means of one more, written out; the holdout is of numbers and their noise."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=50)
    trials = [_Tried(y + error) for error in rng.normal(size=(4, 50))]
    trials.append(_Tried(-trials[0].scores[0] + 2.2 * y))
    chosen, total = [], np.zeros(50)
    for n in range(1, 9):
        losses = [np.mean((y - (total + each.scores[0]) / n) ** 2) for each in trials]
        chosen.append(int(np.argmin(losses)))
        total += trials[chosen[-1]].scores[0]
    assert len(set(chosen)) > 2
    assert select_members(trials, 8, _Judge(y)) == chosen


@dataclass
class _Scored:
    scores: np.ndarray


class _Tried:
    """As much of a trial as the selection needs."""

    def __init__(self, scores):
        self.scores = [scores]

    def eval_sets(self):
        return [_Scored(np.zeros_like(self.scores[0]))]


class _Judge:
    def __init__(self, y):
        self.y = y

    def measure(self, eval_sets):
        return float(np.mean((self.y - eval_sets[0].scores) ** 2))

    def loss(self, score):
        return score


def test_weights_count_in_the_fits_that_are_tried_and_in_their_mean():
    weights = np.where(NUMBERS > 16, 5.0, 0.5)
    unscaled = {**ALL_KINDS, "reg_lambda": 0.0, "min_child_weight": 0.0}
    trial = GradientBoostingRegressor(**unscaled).fit(X, NUMBERS, weights).auto_.tried[0]
    errors, sums = [], []
    for train, holdout in split_folds(examples(X, np.arange(400)), 5, 0, False, "random")[:4]:
        inside, outside = (dataset.target.astype(int) for dataset in (train, holdout))
        model = GradientBoostingRegressor(
            n_estimators=trial.n_rounds,
            learning_rate=0.15,
            min_child_weight=0.0,
            **trial.parameters,
        ).fit(X[inside], NUMBERS[inside], weights[inside])
        prediction, w = model.predict(X[outside]), weights[outside]
        errors.append(root_mean_squared_error(NUMBERS[outside], prediction, sample_weight=w))
        sums.append(w.sum())
    assert trial.score == pytest.approx(np.average(errors, weights=sums), rel=1e-6)
    assert trial.score != pytest.approx(np.mean(errors), rel=1e-4)


def test_a_classifier_is_judged_by_its_loss_and_learns_no_less_than_plain_parameters():
    X, y = make_classification(1500, 12, n_informative=5, flip_y=0.1, random_state=0)
    half = slice(None, 750), slice(750, None)
    auto, plain = (
        GradientBoostingClassifier(n_estimators=n).fit(X[half[0]], y[half[0]])
        for n in ("auto", 100)
    )
    assert auto.auto_.metric == "log_loss"
    losses = [log_loss(y[half[1]], model.predict_proba(X[half[1]])) for model in (auto, plain)]
    assert losses[0] < losses[1]


def test_noise_is_not_learned():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(500, 5)), rng.normal(size=500)
    auto, plain = (GradientBoostingRegressor(n_estimators=n).fit(X, y) for n in ("auto", 100))
    assert np.std(auto.predict(X)) < 0.3 * np.std(plain.predict(X))


def test_what_is_asked_for_stays():
    own = {"max_leaves": 7, "subsample": 0.9}
    choice = GradientBoostingRegressor(**QUICK, **own).fit(X, NUMBERS).auto_
    assert not own.keys() & choice.parameters.keys()
    assert all(own.items() <= trial.parameters.items() for trial in choice.tried)
    assert len(choice.tried) == 2
    more = {"grow_policy": "leafwise", "min_samples_leaf": 5, "reg_lambda": 1.0}
    own |= more | {"colsample_bynode": 1.0}  # all in which the two kinds differ
    assert len(GradientBoostingRegressor(**QUICK, **own).fit(X, NUMBERS).auto_.tried) == 1
    slow = GradientBoostingRegressor(**QUICK, learning_rate=0.03).fit(X, NUMBERS)
    assert "learning_rate" not in slow.auto_.parameters
    explicit = GradientBoostingRegressor(
        random_state=0, learning_rate=0.03, **slow.auto_.parameters | {"n_estimators": 1}
    ).fit(X, NUMBERS)
    first = slow[:1]._model.ensemble  # a round of the first model, and its part in the mean
    assert first.scaled(slow.auto_.n_members) == explicit._model.ensemble


@pytest.mark.parametrize(
    ("own", "policies"),
    [
        ({}, {"symmetric", "leafwise"}),
        ({"grow_policy": "symmetric"}, {"symmetric"}),
        ({"grow_policy": "levelwise"}, {"levelwise"}),
        ({"splitter": "exact"}, {"leafwise"}),
        ({"prune": True}, {"leafwise"}),
    ],
)
def test_kinds_are_those_that_the_parameters_allow(own, policies):
    estimator = GradientBoostingRegressor(**own)
    assert {kind["grow_policy"] for kind in kinds_for(estimator, 1000, 10)} == policies


def test_fewer_kinds_are_tried_with_more_rows_or_less_time():
    sizes = [len(kinds_for(GradientBoostingRegressor(), n, 10)) for n in (1_000, 30_000, 200_000)]
    assert sizes == [7, 5, 2]
    quick = GradientBoostingRegressor(budget="quick")
    assert [len(kinds_for(quick, n, 10)) for n in (1_000, 200_000)] == [2, 2]


def test_a_gpu_tries_what_the_cpu_tries():
    on_gpu, on_cpu = GradientBoostingRegressor(device="cuda"), GradientBoostingRegressor()
    assert kinds_for(on_gpu, 1000, 10) == kinds_for(on_cpu, 1000, 10)


def test_explicit_rounds_try_nothing():
    model = GradientBoostingRegressor(n_estimators=3).fit(X, NUMBERS)
    assert not hasattr(model, "auto_")
    spelled_out = GradientBoostingRegressor(
        n_estimators=3,
        learning_rate=0.1,
        max_leaves=31,
        min_samples_leaf=20,
        reg_lambda=1.0,
        subsample=1.0,
        colsample_bytree=1.0,
    )
    assert same(model, spelled_out.fit(X, NUMBERS))


@pytest.mark.parametrize("low", [1, 700, 3000])
def test_a_larger_budget_is_more_rounds(low):
    budgets = [Budget.of(low, 1, dial) for dial in (0.01, "quick", 0.5, "balanced", "thorough", 9)]
    for leaves in (2, 31, 255, None):
        rounds = [budget.rounds_of(leaves) for budget in budgets]
        assert rounds == sorted(rounds)
        assert rounds[0] >= 1
    assert Budget.of(low, 1, "balanced") == Budget.of(low, 1, 1.0)


def test_many_columns_are_rationed():
    """A tree of 7,129 columns costs what one of a thousand rows and more does."""
    few, usual, many, all_of_them = (Budget.of(72, 1, 1.0, n) for n in (5, 100, 1000, 7129))
    assert few == usual
    assert usual.rounds_of(31) == many.rounds_of(31) > 5 * all_of_them.rounds_of(31)
    work = [Budget.of(2000, 1, 1.0, n).work for n in (100, 1000, 7129)]
    assert work[0] == work[1] > 5 * work[2]


@pytest.mark.parametrize(("own", "looked_at"), [({}, 1000), ({"colsample_bytree": 0.9}, 1800)])
def test_trees_of_a_wide_table_look_at_a_thousand_columns(own, looked_at):
    wide = np.random.default_rng(0).normal(size=(40, 2000))
    model = GradientBoostingRegressor(budget=0.1, **own).fit(wide, wide[:, 0] + wide[:, 1])
    fractions = [trial.parameters["colsample_bytree"] for trial in model.auto_.tried]
    np.testing.assert_allclose(fractions, looked_at / 2000)


def test_thorough_is_more_work_than_quick():
    quick, thorough = (
        GradientBoostingRegressor(budget=budget, max_leaves=4).fit(X, NUMBERS)
        for budget in ("quick", 0.5)
    )
    assert quick.n_iter_ < thorough.n_iter_


@pytest.mark.parametrize("budget", [0, -1.0, "slow", np.nan, None, True, 60])
def test_a_budget_must_be_one(budget):
    with pytest.raises(ParameterError, match=r"budget=.*'quick', 'balanced' or 'thorough'"):
        GradientBoostingRegressor(budget=budget).fit(X, NUMBERS)


# Holdouts.


def test_folds_cover_every_row_once():
    numbers = np.arange(103.0)
    folds = split_folds(examples(numbers[:, None], numbers), 5, 3, False, "random")
    holdout = np.concatenate([dataset.target for _, dataset in folds])
    assert sorted(holdout) == sorted(numbers)
    for train, dataset in folds:
        assert not set(train.target) & set(dataset.target)
        assert len(train.target) + len(dataset.target) == 103


def test_folds_hold_out_the_same_part_of_each_class_and_never_all_of_one():
    labels = np.repeat([0.0, 1.0, 2.0, 3.0], [100, 10, 2, 1])
    folds = split_folds(examples(np.zeros((113, 1)), labels), 5, 0, True, "random")
    for train, dataset in folds:
        assert set(train.target) == {0.0, 1.0, 2.0, 3.0}
        assert np.count_nonzero(dataset.target == 0.0) == 20
        assert np.count_nonzero(dataset.target == 1.0) == 2
        assert 3.0 not in dataset.target


@pytest.mark.parametrize("counts", [[17, 9, 31], [1] * 23, [2, 3, 2, 4] * 5])
def test_folds_differ_by_one_row_at_most_in_all_and_in_each_class(counts):
    labels = np.random.RandomState(1).permutation(np.repeat(np.arange(float(len(counts))), counts))
    sizes = _fold_sizes(np.array(counts), 5)
    assert sizes.sum(axis=1).tolist() == counts
    assert np.ptp(sizes.sum(axis=0)) <= 1
    assert np.ptp(sizes, axis=1).max() <= 1
    folds = split_folds(examples(np.zeros((len(labels), 1)), labels), 5, 0, True, "random")
    several = np.array(counts) > 1
    for fold, (_, holdout) in enumerate(folds):
        held_out = np.bincount(holdout.target.astype(int), minlength=len(counts))
        np.testing.assert_array_equal(held_out, np.where(several, sizes[:, fold], 0))


def test_folds_hold_out_whole_groups():
    groups = np.random.RandomState(0).randint(0, 12, 200)
    folds = split_folds(
        examples(np.zeros((200, 1)), np.arange(200.0), groups), 5, 0, False, "random"
    )
    assert len(folds) == 5
    for train, dataset in folds:
        assert not set(train.groups) & set(dataset.groups)


def test_the_last_rows_are_held_out():
    numbers = np.arange(50.0)
    ((train, holdout),) = split_folds(examples(numbers[:, None], numbers), 5, 0, False, "last")
    assert holdout.target.tolist() == list(range(40, 50))
    assert train.target.tolist() == list(range(40))
    groups = np.repeat([7, 3, 9, 1, 5], 10)
    ((_, holdout),) = split_folds(examples(numbers[:, None], numbers, groups), 5, 0, False, "last")
    assert set(holdout.groups) == {5}


def test_groups_and_time_decide_what_is_chosen():
    """A target that is the same within a group looks easier to those who do not hold groups out."""
    rng = np.random.RandomState(0)
    groups = np.repeat(np.arange(30), 20)
    X = np.column_stack([rng.normal(size=30)[groups], rng.normal(size=600)])
    y = rng.normal(size=30)[groups] + 0.1 * rng.normal(size=600)
    alone, together = (
        GradientBoostingRegressor(**QUICK).fit(X, y, groups=of) for of in (None, groups)
    )
    assert min(t.score for t in alone.auto_.tried) < 0.3
    assert min(t.score for t in together.auto_.tried) > 0.6
    time = GradientBoostingRegressor(**QUICK, validation_rows="last").fit(X, y)
    assert time.auto_.n_folds == 1


def test_early_stopping_and_calibration_hold_out_the_last_rows():
    y = np.where(np.arange(400) < 320, NUMBERS, 1000.0)
    model = GradientBoostingRegressor(
        n_estimators=5, early_stopping=True, validation_fraction=0.2, validation_rows="last"
    )
    assert model.fit(X, y).evals_result_["validation"]["rmse"][0] > 900.0
    model.set_params(early_stopping=False, validation_fraction=0.1)
    model.set_params(calibration="conformal", calibration_fraction=0.2)
    assert (model.fit(X, y)._model.residuals > 900.0).all()


def test_the_last_eval_set_is_the_judge_of_early_stopping():
    model = GradientBoostingRegressor(**QUICK, early_stopping=True)
    sets = [(X[:50], NUMBERS[:50]), (X[300:], NUMBERS[300:])]
    model.fit(X[:300], NUMBERS[:300], eval_set=sets)
    assert model.auto_.n_folds == 1
    best = min(model.auto_.tried, key=lambda trial: trial.score)
    again = GradientBoostingRegressor(
        n_estimators=best.n_rounds, learning_rate=0.15, random_state=0, **best.parameters
    ).fit(X[:300], NUMBERS[:300])
    error = root_mean_squared_error(NUMBERS[300:], again.predict(X[300:]))
    assert best.score == pytest.approx(error, rel=1e-12)
    # All rounds that were chosen are kept: a round without a gain ends nothing.
    assert model.n_iter_ == model.auto_.parameters["n_estimators"]


# Small and odd tables.


@pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
@pytest.mark.parametrize("n_rows", [1, 2, 3, 7])
def test_a_few_rows_are_enough(n_rows):
    model = GradientBoostingRegressor(**QUICK).fit(X[:n_rows], NUMBERS[:n_rows])
    assert np.isfinite(model.predict(X)).all()
    assert (model.auto_.n_folds == 0) == (n_rows == 1)
    assert repr(model.auto_).startswith("Choice: n_estimators=")


def test_a_class_of_one_row():
    y = np.repeat(["a", "b", "c"], [20, 20, 1])
    model = GradientBoostingClassifier(**QUICK).fit(X[:41], y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_groups_may_leave_a_class_to_the_rows_held_out():
    y = np.repeat([0, 1], 30)
    model = GradientBoostingClassifier(**QUICK).fit(X[:60], y, groups=np.repeat([0, 1, 2], 20))
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
def test_folds_without_weight_are_left_out():
    weights = np.zeros(400)
    weights[:3] = 1.0
    model = GradientBoostingRegressor(**QUICK).fit(X, NUMBERS, sample_weight=weights)
    assert 0 < model.auto_.n_folds <= 3
    weights[1:] = 0.0
    model.fit(X, NUMBERS, sample_weight=weights)
    assert model.auto_.n_folds == 0
    np.testing.assert_allclose(model.predict(X), NUMBERS[0])


@pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
def test_counts_that_are_all_zero_in_a_part():
    y = np.zeros(30)
    y[4] = 3.0
    model = GradientBoostingRegressor(**QUICK, loss="poisson").fit(X[:30], y)
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises(DataError, match="y is 0 in every row"):
        model.fit(X, np.zeros(400))


def test_a_rate_that_diverges_is_an_error_as_ever():
    with pytest.raises(ParameterError, match="makes the scores diverge"):
        GradientBoostingRegressor(learning_rate=1e200, loss="poisson", reg_lambda=0.0, **QUICK).fit(
            X, NUMBERS
        )


# Every mode.


@pytest.mark.parametrize(
    "options",
    [
        {"splitter": "exact"},
        {"boosting": "dart"},
        {"loss": "absolute_error"},
        {"loss": "quantile", "quantile": [0.1, 0.9]},
        {"loss": "quantile", "quantile": [0.1, 0.9], "multi_strategy": "vector"},
        {"loss": lambda y, f: (f - y, np.ones_like(f))},
        {"loss": hr.Loss(lambda y, f: (y - f) ** 2)},
        {"sampling": "gradient", "subsample": 0.5},
        {"calibration": "conformal"},
        {"eval_metric": "mae"},
        {"max_leaves": None, "max_depth": 3},
    ],
    ids=lambda options: " ".join(options),
)
def test_every_mode(options):
    model = GradientBoostingRegressor(**QUICK, **options).fit(X[:200], NUMBERS[:200])
    assert len(model.auto_.tried) >= 1
    assert all(np.isfinite(trial.score) for trial in model.auto_.tried)
    assert model.n_iter_ == model.auto_.parameters["n_estimators"]


def test_metrics_of_which_more_is_better():
    model = GradientBoostingClassifier(**QUICK, eval_metric="auc").fit(X, LABELS)
    best = max(model.auto_.tried, key=lambda trial: trial.score)
    assert best.parameters.items() <= model.auto_.parameters.items()
    assert model.auto_.metric == "auc"


@pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
@pytest.mark.filterwarnings("ignore::hedgerow.DataWarning")
def test_columns_of_many_categories_are_encoded_without_the_rows_held_out():
    """Categories of one row each say nothing: whoever encodes with the target believes in them."""
    rng = np.random.RandomState(0)
    y = rng.normal(size=600)
    X = np.array([f"id {i}" for i in range(600)], dtype=object)[:, None]
    model = GradientBoostingRegressor(**QUICK, max_categories=10).fit(X, y)
    assert min(trial.score for trial in model.auto_.tried) > 0.97 * y.std()


@pytest.mark.filterwarnings("ignore::hedgerow.DataWarning")
def test_categories_are_tried_as_an_explicit_fit_to_the_same_rows_encodes_them():
    rng = np.random.RandomState(1)
    town = rng.randint(60, size=400)
    y = rng.normal(size=60)[town] + X[:, 0] + 0.3 * rng.normal(size=400)
    table = pd.DataFrame({"town": np.char.add("town ", town.astype(str)), "number": X[:, 0]})
    options = {"max_categories": 10, "random_state": 0}
    trial = GradientBoostingRegressor(budget=0.3, **options).fit(table, y).auto_.tried[0]
    errors = []
    for train, holdout in split_folds(examples(table, np.arange(400)), 5, 0, False, "random")[:4]:
        inside, outside = (dataset.target.astype(int) for dataset in (train, holdout))
        model = GradientBoostingRegressor(
            n_estimators=trial.n_rounds, learning_rate=0.15, **options, **trial.parameters
        ).fit(table.iloc[inside], y[inside])
        errors.append(root_mean_squared_error(y[outside], model.predict(table.iloc[outside])))
    assert trial.score == pytest.approx(np.mean(errors), rel=1e-12)


# Going on, files, threads.


def test_the_same_model_for_any_number_of_threads(fitted):
    for n_jobs in (1, 2, 3, 8):
        other = GradientBoostingRegressor(**QUICK, n_jobs=n_jobs).fit(X, NUMBERS)
        assert same(other, fitted)
        assert other.auto_ == fitted.auto_


class Stops:
    """Ends a fit after some rounds, as a crash would."""

    def __init__(self, after):
        self.after = after

    def after_round(self, info):
        if info.round == self.after:
            raise KeyboardInterrupt


@pytest.mark.parametrize("after", [5, 22, 27])
def test_a_fit_that_was_broken_off_ends_in_the_same_model(tmp_path, fitted, after):
    path = tmp_path / "checkpoint"
    model = GradientBoostingRegressor(**QUICK)
    options = {"checkpoint": path, "checkpoint_every": 5}
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, NUMBERS, callbacks=[Stops(after)], **options)
    assert not hasattr(model, "auto_")
    model.fit(X, NUMBERS, **options)
    assert same(model, fitted)
    assert model.auto_ == fitted.auto_


def test_a_file_holds_what_was_chosen(tmp_path, fitted):
    fitted.save(tmp_path / "model")
    loaded = hr.load(tmp_path / "model")
    assert loaded.auto_ == fitted.auto_
    assert repr(loaded.auto_) == repr(fitted.auto_)
    assert same(loaded, fitted)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n_members", 3),
        ("members", [{"max_leaves": 3}]),
        ("members", [{"grow_policy": "sideways"}] * 4),
        ("n_members", True),
        ("parameters", {"n_estimators": -1}),
        ("parameters", {"n_estimators": 3.5}),
        ("parameters", {"loss": 1}),
        ("parameters", {"learning_rate": 0.1}),
        ("parameters", {"n_estimators": 10, "learning_rate": "fast"}),
        ("metric", None),
        ("n_folds", -1),
        ("tried", [[{"max_leaves": 3}, 1]]),
        ("tried", [[{}, 1, 0.5, [0.5]]]),
        ("tried", [[{"max_leaves": 3}, -1, 0.5, [0.5]]]),
        ("tried", [[{"max_leaves": 3}, 1, "good", [0.5]]]),
        ("tried", [[{"max_leaves": 3}, 1, 0.5, ["good"]]]),
        ("tried", [[{"max_leaves": 3}, 1, 0.5, 0.5]]),
        ("tried", {}),
        ("tried", []),
        ("best", 17),
        ("best", -1),
        ("best", True),
    ],
)
def test_a_file_that_holds_another_choice_is_refused(fitted, field, value):
    document = write_choice(fitted.auto_)
    assert read_choice(document) == fitted.auto_
    with pytest.raises(hr.ModelFileError):
        read_choice(document | {field: value})


@pytest.mark.parametrize("rounds", [slice(7), slice(5, None), slice(1, None, 2), slice(2, 40, 4)])
def test_a_slice_of_a_mean_is_refitted_member_by_member(rounds, tmp_path):
    model = GradientBoostingRegressor(budget=0.1, max_leaves=6, subsample=0.7).fit(X, NUMBERS)
    assert model.auto_.n_members == 4
    sliced_model = model[rounds]
    sliced_model.save(tmp_path / "part.hedgerow")
    for sliced in (sliced_model, hr.load(tmp_path / "part.hedgerow")):
        sliced.refit(X, NUMBERS)
        places = np.arange(model.n_iter_)[rounds]
        expected = np.full(len(X), float(model._model.ensemble.base_score[0]))
        for member in range(4):
            own = np.flatnonzero(places % 4 == member)
            alone = sliced_model[:0]
            ensemble = model._model.ensemble.of_rounds(places[own]).scaled(4)
            alone._model = replace(alone._model, ensemble=ensemble)
            own_parameters = model.auto_.member(member)
            alone.auto_ = replace(
                alone.auto_, parameters=own_parameters, n_members=1, in_turn=0, members=()
            )
            alone.refit(X, NUMBERS)
            expected += (alone.predict(X) - ensemble.base_score[0]) / 4
        np.testing.assert_allclose(sliced.predict(X), expected, rtol=1e-9)


def test_refitting_to_the_same_rows_changes_nothing():
    model = GradientBoostingRegressor(**QUICK, subsample=1.0, colsample_bytree=0.7)
    model.fit(X, NUMBERS)
    before = model.predict(X)
    assert model.auto_.n_members > 1
    np.testing.assert_allclose(model.refit(X, NUMBERS).predict(X), before, rtol=1e-4)


def test_going_on_needs_a_number_of_rounds(fitted):
    with pytest.raises(ParameterError, match="set the number of rounds, as in n_estimators=100"):
        GradientBoostingRegressor().fit(X, NUMBERS, init_model=fitted)
    warm = GradientBoostingRegressor(**QUICK, warm_start=True).fit(X, NUMBERS)
    with pytest.raises(ParameterError, match="n_estimators='auto' chooses all rounds"):
        warm.fit(X, NUMBERS)
    warm.set_params(n_estimators=warm.n_iter_ + 5, budget="balanced").fit(X, NUMBERS)
    assert not hasattr(warm, "auto_")
    more = GradientBoostingRegressor(n_estimators=5).fit(X, NUMBERS, init_model=fitted)
    assert more.n_iter_ == fitted.n_iter_ + 5
    np.testing.assert_allclose(more[: fitted.n_iter_].predict(X), fitted.predict(X))


def test_what_was_tried_can_be_read_and_drawn(fitted):
    choice = fitted.auto_
    title, rate, header, *lines = repr(choice).splitlines()
    assert rate == "Trials with learning_rate=0.15:"
    assert "average of 4 models" in title
    assert header.split()[0] == "grow_policy"
    assert header.split()[-3:] == ["rounds", "rmse", "models"]
    assert len(lines) == len(choice.tried) == len(choice.to_frame())
    for trial in choice.tried:
        assert min(trial.curve) == trial.score == trial.curve[trial.n_rounds // 5 - 1]
    ax = choice.plot()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["symmetric, 64 leaves", "leafwise, 31 leaves, 4 of 4 models"]


def test_trials_of_different_kinds_have_different_names():
    choice = GradientBoostingRegressor(**ALL_KINDS).fit(X, NUMBERS).auto_
    labels = {line.get_label() for line in choice.plot().lines if line.get_label()[0] != "_"}
    assert len(labels) == len(choice.tried) > 4
    assert sum(label.startswith("symmetric, 64 leaves, colsample_bynode=") for label in labels) == 2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "options",
    [
        {"budget": 0.02},
        {"budget": 0.1, "learning_rate": 0.05},
        {"budget": 0.1, "learning_rate": 0.05, "eval_metric": "auc"},
        {"budget": 0.01, "learning_rate": 0.02, "eval_metric": "auc"},
    ],
    ids=str,
)
def test_the_printed_table_never_contradicts_the_choice(options, seed):
    x, numbers = make_friedman1(300, noise=1.0, random_state=seed)
    is_auc = options.get("eval_metric") == "auc"
    kind = GradientBoostingClassifier if is_auc else GradientBoostingRegressor
    choice = kind(**options, random_state=seed).fit(x, numbers > 14.0 if is_auc else numbers).auto_
    table = choice.to_frame()
    decides = table["expected"] if "expected" in table else table[choice.metric]
    best = decides.idxmax() if is_auc else decides.idxmin()
    assert table["models"][best] > 0
    if "expected" in table:
        assert table["models"].sum() == table["models"][best] == choice.n_members
        assert repr(choice).splitlines()[-len(table) - 1].split()[-2:] == ["expected", "models"]
        by_hand = [expected_by_hand(trial) for trial in choice.tried]
        is_known = decides.notna()
        np.testing.assert_allclose(decides[is_known], np.array(by_hand)[is_known])
        assert read_choice(write_choice(choice)) == choice


def expected_by_hand(trial):
    n = len(trial.curve)
    if trial.n_rounds < 5 * n:
        return trial.score
    first, second = (trial.curve[max(1, i) - 1] for i in (n // 4, n // 2))
    ratio = min(0.9, abs((trial.score - second) / (second - first))) if second != first else 0.0
    return trial.score + ratio * (trial.score - second)


def test_what_was_learned_of_one_model_is_not_said_of_another():
    model = GradientBoostingRegressor(n_estimators=20, calibration="conformal").fit(X, NUMBERS)
    assert model[:].predict_interval(X).shape == (400, 2)
    with pytest.raises(ParameterError, match="calibrat"):
        model[:3].predict_interval(X)
    with pytest.raises(ParameterError, match="calibrat"):
        model.refit(X, 100.0 * NUMBERS).predict_interval(X)


def test_theory_refuses_the_mean_of_models(fitted):
    with pytest.raises(ParameterError, match="averaged 4 models"):
        hr.theory.structure_score(fitted)


def test_an_exception_of_the_user_s_function_ends_the_search():
    def broken(y, scores):
        raise ZeroDivisionError("on purpose")

    with pytest.raises(ZeroDivisionError, match="on purpose"):
        GradientBoostingRegressor(loss=broken).fit(X, NUMBERS)


@pytest.mark.parametrize("name", ["loss", "eval_metric"])
def test_a_function_of_the_user_s_is_called_from_one_thread(name):
    callers = set()

    def loss(y, scores):
        callers.add(get_ident())
        return scores - y, np.ones_like(scores)

    def error(y, prediction):
        callers.add(get_ident())
        return float(np.abs(y - prediction).mean())

    options = {"loss": loss, "eval_metric": error}
    model = GradientBoostingRegressor(**QUICK, n_jobs=2, **{name: options[name]}).fit(X, NUMBERS)
    assert model.auto_.n_members > 1
    assert callers == {get_ident()}
    alone = GradientBoostingRegressor(**QUICK, n_jobs=1, **{name: options[name]}).fit(X, NUMBERS)
    assert same(model, alone)


def test_progress_tells_trials_and_rounds(capsys):
    GradientBoostingRegressor(**QUICK, verbose=10).fit(X, NUMBERS)
    output = capsys.readouterr().err
    trials = [line.split("  ") for line in output.splitlines() if line.startswith("trial round ")]
    done, of_all = trials[-1][0].removeprefix("trial round ").split("/")
    assert done == of_all
    assert all(re.fullmatch(r"trial [1-2]/2 rmse \d\.\d+", text) for _, text in trials)
    assert "\nround " in output


# Rows that cannot be parted.


def test_a_metric_that_some_rows_do_not_have_is_the_mean_of_the_others():
    y = np.zeros(100, int)
    y[:3] = 1
    model = GradientBoostingClassifier(**ALL_KINDS, eval_metric=auc_or_nothing).fit(X[:100], y)
    assert all(np.isfinite(trial.score) for trial in model.auto_.tried)


def auc_or_nothing(y, p):
    return "auc", float(np.mean(p[y == 1])) if y.any() else np.nan, True


def test_a_metric_that_is_never_a_number_chooses_nothing():
    model = GradientBoostingRegressor(**QUICK, eval_metric=lambda *_: ("none", np.nan, False)).fit(
        X, NUMBERS
    )
    assert "the none of every trial was NaN" in repr(model.auto_)
    assert model.auto_.parameters["n_estimators"] == model.n_iter_ == 100


def test_rows_that_leave_a_class_out_are_not_trained_on():
    y = np.repeat([0, 1], [80, 20])
    model = GradientBoostingClassifier(**QUICK, validation_rows="last")
    assert model.fit(X[:100], y).auto_.n_folds == 0
    model.set_params(n_estimators=5, early_stopping=True, validation_fraction=0.2)
    with pytest.raises(DataError, match=r"early_stopping cannot split .* one of the classes"):
        model.fit(X[:100], y)


def test_calibration_is_refused_before_anything_is_fitted():
    class Never:
        def before_fit(self, _estimator):
            raise AssertionError("the fit has begun")

    rare = np.arange(100) < 2
    for model, y, error in [
        (GradientBoostingRegressor(calibration="conformal"), np.ones((100, 2)), ParameterError),
        (
            GradientBoostingClassifier(calibration="sigmoid", loss="hinge"),
            X[:100, 0] > 0.5,
            ParameterError,
        ),
        (GradientBoostingClassifier(calibration="sigmoid"), rare, DataError),
    ]:
        with pytest.raises(error, match="calibrat"):
            model.fit(X[:100], y, callbacks=[Never()])


@pytest.mark.parametrize("sampling", ["gradient", "minimal_variance", "group"])
def test_sampling_says_what_to_give(sampling):
    model = GradientBoostingRegressor(sampling=sampling)
    with pytest.raises(ParameterError, match=r"subsample='auto' uses all .* such as subsample=0.5"):
        model.fit(X, NUMBERS, groups=np.arange(400) // 10)


# Parameters that become "auto" afterwards.


def test_a_parameter_may_become_auto_after_the_fit():
    """It had no part in the choice; what needs a number takes the plain one."""
    own = {"reg_lambda": 2.0, **UNSAMPLED}
    model, again = (GradientBoostingRegressor(**QUICK, **own).fit(X, NUMBERS) for _ in range(2))
    assert "reg_lambda" not in model.auto_.parameters
    assert model.auto_.n_members == 1
    model.set_params(reg_lambda="auto").refit(X, NUMBERS)
    again.set_params(reg_lambda=1.0).refit(X, NUMBERS)
    assert same(model, again)


def test_theory_takes_the_plain_number_of_a_parameter_that_became_auto():
    own = {"reg_lambda": 1.0, **UNSAMPLED}
    model = GradientBoostingRegressor(**QUICK, **own).fit(X, NUMBERS)
    before = hr.theory.structure_score(model).score
    after = hr.theory.structure_score(model.set_params(reg_lambda="auto")).score
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize(
    ("depth", "leaves"), [(1, [2] * 5), (3, [8] * 5), (5, [16, 12, 32, 32, 31, 31, 32])]
)
def test_trees_are_not_tried_larger_than_their_depth_allows(depth, leaves):
    choice = GradientBoostingRegressor(**ALL_KINDS, max_depth=depth).fit(X, NUMBERS).auto_
    assert [trial.parameters["max_leaves"] for trial in choice.tried] == leaves
    kinds = [tuple(trial.parameters.items()) for trial in choice.tried]
    assert len(set(kinds)) == len(kinds)
