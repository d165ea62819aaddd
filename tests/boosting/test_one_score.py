"""Rankers and survival models in every mode of boosting that they share with the others."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow import DataError, GradientBoostingRanker, GradientBoostingSurvival, ParameterError
from hedgerow._arguments import parameter_table
from hedgerow._boosting.estimators.one_score import RANKER_PARAMETERS, SURVIVAL_PARAMETERS
from hedgerow._boosting.fit import checkpoint as checkpoints
from hedgerow._params import check_parameters

RNG = np.random.default_rng(0)
N = 1_200
X = RNG.normal(size=(N, 5))
SIGNAL = np.sin(2 * X[:, 0]) + X[:, 1]
QID = np.repeat(np.arange(N // 12), 12)
GRADES = np.digitize(SIGNAL + RNG.normal(0, 0.5, N), [-0.5, 0.5, 1.5])
TIME = np.exp(SIGNAL + 0.5 * RNG.normal(size=N))
SEEN_OR_NOT = np.where(RNG.random(N) < 0.7, TIME, -0.7 * TIME)
TRAIN, TEST = QID < 70, QID >= 70

SMALL = {"n_estimators": 20, "max_leaves": 8, "n_jobs": 1}
KINDS = {
    "ndcg": GradientBoostingRanker(**SMALL),
    "map": GradientBoostingRanker(**SMALL, loss="map"),
    "listwise": GradientBoostingRanker(**SMALL, loss="listwise"),
    "cox": GradientBoostingSurvival(**SMALL),
    "normal": GradientBoostingSurvival(**SMALL, loss="aft"),
    "extreme": GradientBoostingSurvival(**SMALL, loss="aft", aft_distribution="extreme"),
}
every_kind = pytest.mark.parametrize("kind", KINDS)
two_kinds = pytest.mark.parametrize("kind", ["ndcg", "cox"])


def made(kind, **parameters):
    model = KINDS[kind]
    return type(model)(**(model.get_params() | parameters))


def rows(model, of=None):
    """Return what `fit`, `refit` and `score` take."""
    of = np.ones(N, bool) if of is None else of
    if isinstance(model, GradientBoostingSurvival):
        return (X[of], SEEN_OR_NOT[of]), {}
    y = GRADES > 1 if model.loss == "map" else GRADES
    return (X[of], y[of]), {"qid": QID[of]}


def fitted(model, of=None, **more):
    data, queries = rows(model, of)
    return model.fit(*data, **queries, **more)


def score(model, of=None):
    data, queries = rows(model, of)
    return model.score(*data, **queries)


def bytes_of(model, folder):
    model.save(folder / "bytes")
    return (folder / "bytes").read_bytes()


class Stop(Exception):  # noqa: N818
    """What breaks a fit off."""


def break_off(info):
    if info.round == 8:
        raise Stop


# Parameters


@pytest.mark.parametrize("kind", [GradientBoostingRanker, GradientBoostingSurvival])
def test_parameters_are_those_of_all_boosting_but_for_a_few(kind):
    names = [parameter.name for parameter in kind._parameters]
    model = kind()
    assert list(model.get_params()) == sorted(names)
    assert all(getattr(model, p.name) == p.default for p in kind._parameters)
    shared = {parameter.name for parameter in hr.GradientBoostingRegressor._parameters}
    of_regressors = {"quantile", "delta", "tweedie_power", "leaf_step"}
    assert shared - set(names) - of_regressors == {
        *("multi_strategy", "init_estimator", "calibration", "calibration_fraction")
    }
    for parameter in kind._parameters:
        assert f"\n{parameter.name} : " in kind.__doc__


@pytest.mark.parametrize(
    ("own", "name"), [(RANKER_PARAMETERS, "ranking.md"), (SURVIVAL_PARAMETERS, "survival.md")]
)
def test_the_tables_in_the_documentation_are_the_declarations(own, name):
    page = Path(__file__).parents[2] / "docs" / name
    assert parameter_table(own) in page.read_text(encoding="utf-8")


@two_kinds
def test_rows_without_classes_are_not_drawn_by_class(kind):
    with pytest.raises(ParameterError, match="sampling='balanced' is not allowed"):
        check_parameters(made(kind, sampling="balanced"))


# Modes


@every_kind
@pytest.mark.parametrize(
    "parameters",
    [
        {"subsample": 0.5, "sampling": "gradient"},
        {"subsample": 0.5, "sampling": "minimal_variance"},
        {"subsample": 0.7, "splitter": "exact"},
        {"boosting": "dart", "skip_drop": 0.0, "drop_rate": 0.2},
        {"grow_policy": "levelwise", "max_depth": 3, "colsample_bynode": 0.8},
    ],
    ids=lambda parameters: next(iter(parameters.values())),
)
def test_every_mode_learns_about_as_well_as_the_plain_one(kind, parameters):
    plain = score(fitted(made(kind), TRAIN), TEST)
    assert score(fitted(made(kind, **parameters), TRAIN), TEST) > plain - 0.05


@two_kinds
def test_whole_groups_are_drawn(kind):
    """Counts of roots tell that the twelve rows of a group are drawn together, or none."""
    model = made(kind, subsample=0.5, sampling="group")
    model = fitted(model) if kind == "ndcg" else fitted(model, groups=QID)
    ensemble = model._model.ensemble
    n_sampled = ensemble.count[ensemble.tree_offset[:-1]]
    assert 0.3 * N < n_sampled.min() < n_sampled.max() < 0.7 * N
    assert (n_sampled % 12 == 0).all()
    if kind == "cox":
        with pytest.raises(ParameterError, match="pass groups to fit"):
            fitted(made(kind, subsample=0.5, sampling="group"))


@two_kinds
def test_survivors_and_queries_are_held_out_in_groups(kind):
    sizes = []

    def count(y, prediction):
        sizes.append(len(y))
        return "rows", 0.0, False

    model = made(kind, early_stopping=True, validation_fraction=0.25, eval_metric=count)
    fitted(model, **({} if kind == "ndcg" else {"groups": QID}))
    assert sum(sizes[: 25 if kind == "ndcg" else 1]) == N // 4


@every_kind
def test_a_column_of_many_categories_is_learned_from(kind):
    """A category tells what another column would have told."""
    category = np.digitize(SIGNAL, np.quantile(SIGNAL, np.linspace(0, 1, 42)[1:-1]))
    names = RNG.permutation([f"name {i}" for i in range(41)])
    table = pd.DataFrame({"noise": X[:, 4], "name": names[category]})
    (_, y), queries = rows(made(kind))

    def score_of(columns, **parameters):
        model = made(kind, min_samples_leaf=5, **parameters)
        model.fit(table.loc[TRAIN, columns], y[TRAIN], **{k: v[TRAIN] for k, v in queries.items()})
        of_test = {k: v[TEST] for k, v in queries.items()}
        return model.score(table.loc[TEST, columns], y[TEST], **of_test)

    encoded = score_of(["noise", "name"], max_categories=8)
    assert encoded > score_of(["noise"]) + 0.1
    assert encoded > score_of(["noise", "name"]) - 0.05


# Initial models and checkpoints


@every_kind
@pytest.mark.parametrize(
    "parameters",
    [{"subsample": 0.6}, {"boosting": "dart", "skip_drop": 0.0, "early_stopping": True}],
    ids=["sampled", "dart"],
)
def test_a_fit_that_was_broken_off_ends_as_one_that_was_not(
    kind, parameters, tmp_path, monkeypatch
):
    monkeypatch.setattr(checkpoints, "WRITING", np.inf)
    path = tmp_path / "checkpoint"
    with pytest.raises(Stop):
        fitted(made(kind, **parameters), checkpoint=path, checkpoint_every=3, callbacks=break_off)
    assert hr.load(path).n_iter_ == 6
    resumed = fitted(made(kind, **parameters), checkpoint=path, checkpoint_every=3)
    whole = fitted(made(kind, **parameters))
    assert bytes_of(resumed, tmp_path) == bytes_of(whole, tmp_path)


@two_kinds
def test_a_checkpoint_of_other_rows_is_refused(kind, tmp_path):
    path = tmp_path / "checkpoint"
    fitted(made(kind), checkpoint=path)
    with pytest.raises(ParameterError, match="to different data"):
        fitted(made(kind), TRAIN, checkpoint=path)
    with pytest.raises(ParameterError, match="of a GradientBoosting"):
        fitted(made("cox" if kind == "ndcg" else "ndcg"), checkpoint=path)


@every_kind
def test_a_model_to_go_on_from_gives_its_rounds_first(kind, tmp_path):
    whole = fitted(made(kind))
    fitted(made(kind, n_estimators=8)).save(tmp_path / "model")
    more = fitted(made(kind, n_estimators=12), init_model=tmp_path / "model")
    assert more.n_iter_ == 20
    np.testing.assert_allclose(more.predict(X), whole.predict(X), rtol=1e-6, atol=1e-9)
    with pytest.raises(ParameterError, match="init_model="):
        fitted(made(kind), init_model=hr.GradientBoostingRegressor().fit(X, GRADES))


@every_kind
def test_leaves_refitted_to_the_same_rows_are_the_same(kind):
    model = fitted(made(kind))
    data, queries = rows(model)
    again = fitted(made(kind)).refit(*data, **queries)
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-3, atol=1e-3)
    kept = fitted(made(kind)).refit(*data, **queries, keep=1.0)
    np.testing.assert_allclose(kept.predict(X), model.predict(X), rtol=1e-12, atol=1e-12)


@every_kind
def test_leaves_refitted_to_other_rows_serve_them(kind):
    """Where more is less: the signal has turned round."""
    model = fitted(made(kind))
    (table, y), queries = rows(model)
    turned = 1.0 / y if isinstance(model, GradientBoostingSurvival) else y.max() - y.astype(int)
    before = model.score(table, turned, **queries)
    assert model.refit(table, turned, **queries).score(table, turned, **queries) > before + 0.2


@every_kind
def test_a_slice_is_the_model_of_its_rounds(kind):
    model, short = fitted(made(kind)), fitted(made(kind, n_estimators=7))
    np.testing.assert_allclose(model[:7].predict(X), short.predict(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model[:].predict(X), model.predict(X))
    *_, last = model[:7].staged_predict(X)
    np.testing.assert_array_equal(last, model[:7].predict(X))


@pytest.mark.parametrize("kind", ["cox", "normal"])
def test_a_slice_has_no_curve_until_rows_tell_it_one(kind, tmp_path):
    model, short = fitted(made(kind)), fitted(made(kind, n_estimators=7))
    sliced = model[:7]
    sliced.save(tmp_path / "slice")
    times = [0.5, 1.0, 2.0]
    for each in (sliced, hr.load(tmp_path / "slice")):
        with pytest.raises(ParameterError, match=r"refit\(X, y, keep=1.0\) estimates the curve"):
            each.predict_survival_function(X, times)
        data, _ = rows(each)
        each.refit(*data, keep=1.0)
        expected = short.predict_survival_function(X, times)
        np.testing.assert_allclose(each.predict_survival_function(X, times), expected, rtol=1e-7)
    np.testing.assert_array_equal(
        model[:].predict_survival_function(X, times), model.predict_survival_function(X, times)
    )


@two_kinds
def test_other_columns_or_rows_leave_the_model_as_it_was(kind):
    model = fitted(made(kind))
    before = model.predict(X)
    (table, y), queries = rows(model)
    for call in (
        lambda: model.refit(table[:, :2], y, **queries),
        lambda: model.refit(table, y[:-1], **queries),
        lambda: model.refit(table, -np.abs(y), **queries),
    ):
        with pytest.raises(DataError):
            call()
    with pytest.raises(ParameterError, match="keep="):
        model.refit(table, y, **queries, keep=2.0)
    np.testing.assert_array_equal(model.predict(X), before)


# Rounds that are chosen, folds


@pytest.mark.parametrize("kind", ["ndcg", "cox", "normal"])
def test_rounds_are_chosen_by_whole_queries_and_by_rows(kind, tmp_path):
    options = {"n_estimators": "auto", "max_leaves": "auto", "budget": 0.1}
    model = fitted(made(kind, **options))
    assert model.auto_.n_folds > 0
    assert model.auto_.metric == model._task.choose_loss(model, None).metric
    assert model.n_iter_ == model.auto_.parameters["n_estimators"]
    assert score(model) > score(fitted(made(kind, n_estimators=1))) + 0.01
    threaded = fitted(made(kind, **options | {"n_jobs": 3})).set_params(n_jobs=1)
    assert bytes_of(threaded, tmp_path) == bytes_of(model, tmp_path)
    data, queries = rows(model)
    kept = model.predict(X)
    np.testing.assert_allclose(model.refit(*data, **queries, keep=1.0).predict(X), kept, rtol=1e-9)


@two_kinds
def test_folds_are_judged_by_the_models_own_score(kind):
    model = made(kind)
    (table, y), queries = rows(model)
    result = hr.cross_validate(model, table, y, cv=3, groups=QID, params=queries)
    for number, fold in enumerate(result.models):
        assert fold.n_iter_ == 20
        assert next(iter(result.scores.values()))[number] > (0.7 if kind == "cox" else 0.8)
    assert np.isfinite(result.oof_prediction).all()


def test_folds_take_a_column_of_queries():
    with_queries = np.column_stack([QID, X])
    options = {"cv": 3, "groups": QID, "share_bins": False}
    result = hr.cross_validate(made("ndcg", qid_column=0), with_queries, GRADES, **options)
    by_id = hr.cross_validate(made("ndcg"), X, GRADES, **options, params={"qid": QID})
    np.testing.assert_array_equal(result.oof_prediction, by_id.oof_prediction)
