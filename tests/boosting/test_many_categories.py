"""Gradient boosting on columns of many categories: what it learns of them, and what it must not."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from hedgerow import (
    DataError,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ParameterError,
    load,
)
from hedgerow._boosting.fit.dataset import Dataset, split_holdout
from hedgerow._data import target_statistics
from hedgerow._data.intake import learn_schema
from hedgerow.theory import structure_score

RNG = np.random.default_rng(0)
N_ROWS, N_TOWNS = 6_000, 600
NUMBER = RNG.normal(size=N_ROWS)
TOWN = RNG.integers(0, N_TOWNS, N_ROWS)
EFFECT = RNG.normal(size=N_TOWNS)
SCORE = NUMBER + 1.5 * EFFECT[TOWN]
NAMES = np.array([f"town {i:03}" for i in RNG.permutation(N_TOWNS)], dtype=object)
NUMBERS = SCORE + RNG.normal(size=N_ROWS)
TWO = np.where(SCORE + RNG.logistic(size=N_ROWS) > 0, "yes", "no")
THREE = np.digitize(NUMBERS, [-1.0, 1.0])
WEIGHTS = RNG.uniform(0.1, 2.0, N_ROWS)
FRAME = pd.DataFrame({"number": NUMBER, "town": NAMES[TOWN]})
TRAIN, TEST = slice(0, 4_000), slice(4_000, N_ROWS)
SMALL = {"n_estimators": 10, "max_leaves": 8}


def classifier(**parameters):
    return GradientBoostingClassifier(**SMALL | parameters)


def regressor(**parameters):
    return GradientBoostingRegressor(**SMALL | parameters)


def test_many_categories_are_learned():
    errors = {}
    for name, columns in (("with", FRAME), ("without", FRAME[["number"]])):
        model = GradientBoostingRegressor().fit(columns[TRAIN], NUMBERS[TRAIN])
        errors[name] = np.mean((model.predict(columns[TEST]) - NUMBERS[TEST]) ** 2)
    # The effects of towns have variance 2.25 and noise has 1. From seven rows of its own, without
    # the number's variance, a town is known but for 1 / (7 + 1 / 2.25) on average.
    assert errors["without"] > 3.0
    assert errors["with"] < 1.0 + 1.0 / (4_000 / N_TOWNS + 1 / 2.25) + 0.15


def test_what_other_columns_explain_is_not_a_categorys_effect():
    # Rows of a town differ in size from those of another, and size is what matters most. The
    # mean of a town tells its size; only what size leaves over tells the town's own effect.
    rng = np.random.default_rng(1)
    size = rng.normal(size=N_TOWNS)[TOWN] * 3 + rng.normal(size=N_ROWS)
    y = 3 * size + EFFECT[TOWN] + 0.3 * rng.normal(size=N_ROWS)
    frame = pd.DataFrame({"size": size, "town": NAMES[TOWN]})
    without = GradientBoostingRegressor().fit(frame[["size"]][TRAIN], y[TRAIN])
    model = GradientBoostingRegressor().fit(frame[TRAIN], y[TRAIN])
    error = np.mean((model.predict(frame[TEST]) - y[TEST]) ** 2)
    assert error < 0.6 * np.mean((without.predict(frame[["size"]][TEST]) - y[TEST]) ** 2)


@pytest.mark.parametrize("rows_of_each", [1, 2, 10])
@pytest.mark.parametrize("significant", [2.0, -1e9])
@pytest.mark.filterwarnings("ignore::hedgerow.DataWarning")
def test_categories_of_noise_do_no_harm(rows_of_each, significant, monkeypatch):
    # With -1e9, numbers are used even where they differ by chance.
    monkeypatch.setattr(target_statistics, "_SIGNIFICANT", significant)
    rng = np.random.default_rng(2)
    number, noise = rng.normal(size=12_000), rng.permutation(12_000) // rows_of_each
    y = (number + rng.logistic(size=12_000) > 0).astype(int)
    frame = pd.DataFrame({"number": number, "noise": noise.astype(str)})
    chosen = {"with": ["noise"], "without": "auto"}
    losses = {}
    for name, columns in (("with", frame), ("without", frame[["number"]])):
        model = classifier(n_estimators=50, categorical_features=chosen[name])
        model.fit(columns[:6_000], y[:6_000])
        losses[name] = log_loss(y[6_000:], model.predict_proba(columns[6_000:])[:, 1])
    assert losses["with"] < losses["without"] + 0.004


@pytest.mark.parametrize("y", [NUMBERS, TWO, THREE], ids=["numbers", "two", "three"])
@pytest.mark.parametrize("options", [{}, {"splitter": "exact"}, {"subsample": 0.5, "max_bins": 16}])
def test_every_way_of_growing_takes_them(y, options):
    model = (regressor if y is NUMBERS else classifier)(**options)
    model.fit(FRAME[TRAIN], y[TRAIN], WEIGHTS[TRAIN])
    chance = 0.0 if y is NUMBERS else np.unique(y[TEST], return_counts=True)[1].max() / 2_000
    assert model.score(FRAME[TEST], y[TEST]) > chance + 0.1


def test_rows_from_every_library_are_the_same():
    frame = FRAME.assign(town=FRAME["town"].where(TOWN > 5, None))
    model = classifier().fit(frame, TWO)
    expected = model.predict_proba(frame)
    tables = [
        frame.astype({"town": "category"}),
        frame.astype({"town": "string"}),
        pl.from_pandas(frame),
        pl.from_pandas(frame).with_columns(pl.col("town").cast(pl.Categorical)),
        pa.Table.from_pandas(frame),
        frame[["town", "number"]],
    ]
    for table in tables:
        np.testing.assert_array_equal(model.predict_proba(table), expected)
        np.testing.assert_array_equal(classifier().fit(table, TWO).predict_proba(frame), expected)
    objects = frame.to_numpy(dtype=object)
    np.testing.assert_array_equal(classifier().fit(objects, TWO).predict_proba(objects), expected)


def test_numbers_that_are_categories_are_taken_by_their_value():
    numbers = FRAME.assign(town=TOWN)
    model = regressor(categorical_features=["town"]).fit(numbers, NUMBERS)
    same = model.predict(numbers.astype({"town": float}))
    np.testing.assert_array_equal(same, model.predict(numbers))
    assert model.score(numbers, NUMBERS) > regressor().fit(numbers, NUMBERS).score(numbers, NUMBERS)


def test_columns_of_few_categories_keep_splits_into_sets():
    few = np.arange(N_ROWS) % 4
    frame = FRAME.assign(few=np.array(["a", "b", "c", "d"])[few])
    model = regressor().fit(frame, NUMBERS + 3 * (few == 1))
    ensemble = model._model.ensemble
    assert (ensemble.category_set[ensemble.feature == 2] >= 0).all()
    assert (ensemble.feature == 2).any()
    assert (ensemble.category_set[ensemble.feature != 2] < 0).all()


@pytest.mark.parametrize(
    ("options", "is_encoded"),
    [
        ({}, False),
        ({"max_categories": 4}, False),
        ({"max_categories": 3}, True),
        ({"max_categories": 0}, True),
        ({"max_bins": 3}, True),
    ],
)
def test_max_categories_and_max_bins_say_how_many_are_many(options, is_encoded):
    frame = pd.DataFrame({"number": NUMBER, "few": np.array(["a", "b", "c", "d"])[TOWN % 4]})
    model = regressor(**options).fit(frame, NUMBERS + 3 * (TOWN % 4 == 1))
    assert model._model.statistics.features == ((1,) if is_encoded else ())
    assert model.score(frame, NUMBERS + 3 * (TOWN % 4 == 1)) > 0.3


@pytest.mark.parametrize("value", [-1, 256, 2.5, None, "many"])
def test_a_wrong_max_categories_is_named(value):
    with pytest.raises(ParameterError, match="max_categories="):
        regressor(max_categories=value).fit(FRAME, NUMBERS)


def test_a_new_category_is_a_town_of_no_rows_or_an_error():
    model = regressor().fit(FRAME, NUMBERS)
    rows = FRAME[:50].assign(town="Rom")
    mean = model._model.statistics.encode(model._read(rows, model._model.schema)).column(1).values
    np.testing.assert_allclose(mean, NUMBERS.mean(), rtol=1e-12)
    # Fit saw no gap, so a gap is a town of no rows, too.
    np.testing.assert_array_equal(model.predict(rows), model.predict(rows.assign(town=None)))
    with pytest.raises(DataError, match="'Rom'"):
        model.set_params(unknown_category="error").predict(rows)


def test_weights_count_in_the_numbers_of_categories():
    model = regressor().fit(FRAME, NUMBERS, WEIGHTS)
    statistics = model._model.statistics
    assert statistics.priors[0] == pytest.approx(np.average(NUMBERS, weights=WEIGHTS), rel=1e-12)
    alone = regressor().fit(FRAME[TRAIN], NUMBERS[TRAIN])
    zero = np.zeros(N_ROWS)
    zero[TRAIN] = 1.0
    beside = regressor().fit(FRAME, np.where(zero, NUMBERS, 1e6), zero)
    np.testing.assert_allclose(
        beside._model.statistics.encode(beside._read(FRAME, beside._model.schema)).column(1).values,
        alone._model.statistics.encode(alone._read(FRAME, alone._model.schema)).column(1).values,
        rtol=1e-9,
    )


def test_gaps_that_fit_saw_are_learned():
    frame = FRAME.assign(town=FRAME["town"].where(NUMBER**2 < 1, None))
    y = NUMBERS + 5 * (NUMBER**2 >= 1)
    model = GradientBoostingRegressor().fit(frame[["town"]], y)
    gap, new = model.predict(pd.DataFrame({"town": [None, "Rom"]}, dtype=object))
    assert gap == pytest.approx(y[NUMBER**2 >= 1].mean(), abs=0.2)
    assert new < gap - 2


def test_evaluation_sets_have_the_numbers_that_predictions_have():
    model = classifier(eval_metric="log_loss")
    model.fit(FRAME[TRAIN], TWO[TRAIN], eval_set=[(FRAME[TEST], TWO[TEST])])
    measured = [log_loss(TWO[TEST], p) for p in model.staged_predict_proba(FRAME[TEST])]
    np.testing.assert_allclose(model.evals_result_["eval_0"]["log_loss"], measured, rtol=1e-12)


def test_held_out_rows_do_not_enter_the_numbers():
    stopping = {"early_stopping": True, "validation_fraction": 0.3, "random_state": 4}
    model = regressor(**stopping).fit(FRAME, NUMBERS)
    _, table = learn_schema(FRAME)
    rows = Dataset(table, np.arange(float(N_ROWS)), None)
    train, holdout = (
        dataset.target.astype(int) for dataset in split_holdout(rows, 0.3, 4, stratify=False)
    )
    explicit = regressor(early_stopping=True, random_state=4)
    explicit.fit(
        FRAME.iloc[train], NUMBERS[train], eval_set=[(FRAME.iloc[holdout], NUMBERS[holdout])]
    )
    np.testing.assert_array_equal(model.predict(FRAME), explicit.predict(FRAME))
    assert model.best_score_ == explicit.best_score_


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_a_warm_start_ends_where_one_fit_would_have(y, tmp_path):
    options = {"random_state": np.random.RandomState(3)}
    at_once = classifier(n_estimators=12, random_state=3).fit(FRAME, y, WEIGHTS)
    first = classifier(n_estimators=5, random_state=3).fit(FRAME, y, WEIGHTS)
    first.save(tmp_path / "model")
    for model in (first, load(tmp_path / "model")):
        model.set_params(warm_start=True, n_estimators=12, **options).fit(FRAME, y, WEIGHTS)
        np.testing.assert_allclose(
            model.predict_proba(FRAME), at_once.predict_proba(FRAME), rtol=1e-9
        )


def test_a_warm_start_on_other_rows_keeps_the_numbers_of_the_first_fit():
    model = regressor(warm_start=True, n_estimators=5).fit(FRAME[TRAIN], NUMBERS[TRAIN])
    before = model._model.statistics
    rows = FRAME[TEST].assign(town=FRAME["town"][TEST].where(TOWN[TEST] > 9, "Rom"))
    model.set_params(n_estimators=8).fit(rows, NUMBERS[TEST])
    assert model._model.statistics is before
    assert np.isfinite(model.predict(rows)).all()


def test_importances_are_of_the_columns_of_the_table():
    model = classifier().fit(FRAME, THREE)
    ensemble = model._model.ensemble
    assert ensemble.n_features == 7  # three classes, and what the number leaves over of each
    assert model.n_features_in_ == 2
    gain = [ensemble.gain[ensemble.feature == 0].sum(), ensemble.gain[ensemble.feature >= 1].sum()]
    np.testing.assert_allclose(model.importances("gain"), gain)
    assert model.feature_importances_.shape == (2,)
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_very_many_classes_are_told_by_halves_of_them():
    y = TOWN % 40
    frame = FRAME.assign(town=NAMES[TOWN % 320])
    model = classifier(n_estimators=5).fit(frame[TRAIN], y[TRAIN])
    assert model._model.ensemble.n_features == 1 + 2 * 32
    assert model.score(frame[TEST], y[TEST]) > 0.9


def test_probabilities_as_targets_are_told_like_classes():
    p = np.eye(3)[THREE] * 0.8 + 0.2 / 3
    soft = classifier(loss="cross_entropy").fit(FRAME[TRAIN], p[TRAIN])
    hard = classifier().fit(FRAME[TRAIN], THREE[TRAIN])
    assert soft._model.ensemble.n_features == hard._model.ensemble.n_features
    agree = soft.predict(FRAME[TEST]) == hard.predict(FRAME[TEST])
    assert agree.mean() > 0.9


@pytest.mark.parametrize("strategy", ["separate", "vector"])
def test_several_outputs_are_told_each(strategy):
    both = np.column_stack([NUMBERS, EFFECT[TOWN]])
    model = regressor(multi_strategy=strategy).fit(FRAME[TRAIN], both[TRAIN])
    assert model._model.ensemble.n_features == 1 + 2 * 2
    assert model.score(FRAME[TEST], both[TEST]) > 0.5
    labels = both > 0
    model = classifier(multi_strategy=strategy).fit(FRAME[TRAIN], labels[TRAIN])
    assert model._model.ensemble.n_features == 1 + 2 * 2
    assert (model.predict(FRAME[TEST]) == labels[TEST]).mean() > 0.75


def test_calibration_sees_the_numbers_that_predictions_see():
    model = regressor(calibration="conformal", n_estimators=50).fit(FRAME[TRAIN], NUMBERS[TRAIN])
    low, high = model.predict_interval(FRAME[TEST], 0.9).T
    covered = (low <= NUMBERS[TEST]) & (NUMBERS[TEST] <= high)
    # Beside the 2,000 rows here, the 400 rows held out have their own deviation of 0.015.
    assert covered.mean() == pytest.approx(0.9, abs=0.05)


@pytest.mark.parametrize("loss", ["quantile", "poisson", "absolute_error", "gamma"])
def test_losses_of_numbers_take_them(loss):
    y = np.exp(NUMBERS / 2) + 0.01
    with_town = regressor(loss=loss).fit(FRAME[TRAIN], y[TRAIN])
    without = regressor(loss=loss).fit(FRAME[["number"]][TRAIN], y[TRAIN])
    errors = [
        np.abs(model.predict(table[TEST]) - y[TEST]).mean()
        for model, table in ((with_town, FRAME), (without, FRAME[["number"]]))
    ]
    assert errors[0] < 0.95 * errors[1]


def test_a_checkpoint_and_a_refit_find_the_numbers_of_training_again(tmp_path):
    whole = regressor().fit(FRAME, NUMBERS)
    stopped = regressor(n_estimators=4)
    stopped.fit(FRAME, NUMBERS, checkpoint=tmp_path / "rounds", checkpoint_every=2)
    resumed = regressor().fit(FRAME, NUMBERS, checkpoint=tmp_path / "rounds")
    np.testing.assert_array_equal(resumed.predict(FRAME), whole.predict(FRAME))
    refitted = clone(whole).fit(FRAME, NUMBERS).refit(FRAME, NUMBERS)
    np.testing.assert_allclose(refitted.predict(FRAME), whole.predict(FRAME), rtol=1e-6)


def test_a_table_of_nothing_else_is_learned():
    model = GradientBoostingRegressor().fit(FRAME[["town"]][TRAIN], NUMBERS[TRAIN])
    assert model._model.ensemble.n_features == 1  # no other columns leave anything over
    assert model.score(FRAME[["town"]][TEST], NUMBERS[TEST]) > 0.4


def test_the_theorems_hold_for_the_numbers_that_training_rows_had():
    model = classifier().fit(FRAME, THREE, WEIGHTS)
    result = structure_score(model, FRAME, THREE, WEIGHTS)
    np.testing.assert_allclose(result.recomputed, result.score, rtol=1e-3)


def test_cloning_pickling_pipelines_and_searches_work():
    model = regressor(max_categories=100)
    assert clone(model).get_params() == model.get_params()
    fitted = clone(model).fit(FRAME, NUMBERS)
    expected = fitted.predict(FRAME)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(FRAME), expected)
    piped = make_pipeline(FunctionTransformer(), clone(model)).fit(FRAME, NUMBERS)
    np.testing.assert_array_equal(piped.predict(FRAME), expected)
    search = GridSearchCV(clone(model), {"max_categories": [0, 255]}, cv=3).fit(FRAME, NUMBERS)
    assert search.best_score_ > 0.5


def test_the_model_is_the_same_on_any_number_of_threads(tmp_path):
    files = []
    for n_jobs in (1, 2, 3):
        path = tmp_path / str(n_jobs)
        classifier(n_jobs=n_jobs).fit(FRAME, THREE, WEIGHTS).save(path)
        files.append(path.read_bytes())
    assert files[0] == files[1] == files[2]


def test_the_seed_decides_the_order():
    one, other = (
        regressor(random_state=seed).fit(FRAME, NUMBERS).predict(FRAME) for seed in (1, 2)
    )
    assert not np.array_equal(one, other)
