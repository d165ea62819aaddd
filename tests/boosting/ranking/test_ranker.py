"""GradientBoostingRanker: what it learns, how queries are told, scikit-learn's contract."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import hedgerow as hr
from contract import SINCE_1_8, parametrize_with_checks, run_check

RNG = np.random.default_rng(0)
QID = np.repeat(np.arange(80), RNG.integers(1, 25, 80))
N = len(QID)
X = RNG.normal(size=(N, 5))
X[RNG.random(X.shape) < 0.05] = np.nan
# What a query adds to all of its rows says nothing about their order.
SIGNAL = np.nan_to_num(X[:, 0]) + np.sin(2 * np.nan_to_num(X[:, 1]))
Y = np.digitize(SIGNAL + RNG.normal(0.0, 0.5, N) + RNG.normal(size=80)[QID], [0.5, 1.5, 2.5])
GROUP = np.bincount(QID)
MIXED = RNG.permutation(N)
SMALL = {"n_estimators": 10, "max_leaves": 6, "n_jobs": 1}
LOSSES = ("ndcg", "map", "pairwise", "listwise")


def ranker(**parameters):
    return hr.GradientBoostingRanker(**SMALL | parameters)


def relevances(loss):
    return (Y > 1).astype(int) if loss == "map" else Y


@pytest.fixture(scope="module")
def fitted():
    return ranker().fit(X, Y, qid=QID)


# What it learns


@pytest.mark.parametrize("splitter", ["hist", "exact"])
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_learns_to_rank(loss, splitter):
    y = relevances(loss)
    train, test = QID < 60, QID >= 60
    model = ranker(loss=loss, splitter=splitter, n_estimators=40)
    model.fit(X[train], y[train], qid=QID[train])
    at_random = model._task.choose_loss(model, None)
    guess = np.mean([_ndcg(at_random, y[test], QID[test], seed) for seed in range(20)])
    assert model.score(X[test], y[test], qid=QID[test]) > guess + 0.1


def _ndcg(loss, y, query, seed):
    from hedgerow._boosting.ranking_metrics import ALL, mean_quality

    scores = np.random.default_rng(seed).normal(size=len(y))
    return mean_quality("ndcg", ALL, loss, np.column_stack([y, query]).astype(float), scores, None)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_metric_of_the_training_rows_rises(loss):
    y = relevances(loss)
    model = ranker(loss=loss, n_estimators=30).fit(X, y, qid=QID, eval_set=[(X, y, QID)])
    (history,) = model.evals_result_["eval_0"].values()
    assert history[-1] > history[0] + 0.05


@pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
def test_a_depth_0_model_ranks_nothing():
    model = ranker(min_samples_leaf=N).fit(X, Y, qid=QID)
    np.testing.assert_allclose(model.predict(X), 0.0, atol=1e-14)
    assert np.ptp(model.predict(X)) == 0.0


def test_queries_that_teach_nothing_change_nothing():
    more = np.vstack([X, X[:30] + 1.0])
    y, qid = np.append(Y, np.full(30, 2)), np.append(QID, np.repeat([900, 901], [29, 1]))
    weights = np.append(np.ones(N), np.full(30, 5.0))
    model = ranker(max_bins=16, min_samples_leaf=1).fit(more, y, weights, qid=qid)
    alone = ranker(max_bins=16, min_samples_leaf=1).fit(more[:N], y[:N], qid=qid[:N])
    values = [m._model.ensemble.value[0, 0] for m in (model, alone)]
    assert values[0] == pytest.approx(values[1])


def test_a_weight_of_two_is_a_query_twice():
    weights = np.where(QID % 3 == 0, 2.0, 1.0)
    twice = QID % 3 == 0
    options = {"min_samples_leaf": 1, "min_child_weight": 1.0, "max_bins": 250}
    weighted = ranker(**options).fit(X, Y, weights, qid=QID)
    repeated = ranker(**options).fit(
        np.vstack([X, X[twice]]), np.append(Y, Y[twice]), qid=np.append(QID, QID[twice] + 1000)
    )
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)


def test_truncation_looks_at_the_top():
    shallow, deep = ranker(truncation=1).fit(X, Y, qid=QID), ranker().fit(X, Y, qid=QID)
    assert not np.array_equal(shallow.predict(X), deep.predict(X))


# How queries are told


def test_ids_sizes_and_columns_tell_the_same(fitted):
    expected = fitted.predict(X)
    frame = pd.DataFrame(X, columns=list("abcde"))
    named = frame.assign(query=np.char.add("q", QID.astype(str)))
    for model, table, arguments in [
        (ranker(), X, {"group": GROUP}),
        (ranker(), X, {"qid": list(QID.astype(str))}),
        (ranker(), X, {"qid": pd.Series(QID, dtype="category")}),
        (ranker(qid_column=2), np.insert(X, 2, QID, axis=1), {}),
        (ranker(qid_column="query"), named, {}),
        (ranker(qid_column="query"), pl.from_pandas(named), {}),
        (ranker(qid_column=5), named, {}),
        (ranker(qid_column=0), scipy.sparse.csr_array(np.insert(X, 0, QID, axis=1)), {}),
    ]:
        model.fit(table, Y, **arguments)
        np.testing.assert_array_equal(model.predict(table), expected)
        assert model.n_features_in_ == 5
        assert model.score(table, Y, **arguments) == pytest.approx(fitted.score(X, Y, qid=QID))


def test_a_column_of_queries_need_not_be_there_to_predict(fitted):
    frame = pd.DataFrame(X, columns=list("abcde"))
    named = ranker(qid_column="query").fit(frame.assign(query=QID), Y)
    np.testing.assert_array_equal(named.predict(frame), fitted.predict(X))
    assert list(named.feature_names_in_) == list("abcde")
    by_index = ranker(qid_column=0).fit(np.column_stack([QID, X]), Y)
    np.testing.assert_array_equal(by_index.predict(X), fitted.predict(X))


def test_rows_of_queries_may_be_mixed(fitted):
    """As long as each query's own rows stay in their order, which decides where scores tie."""
    mixed = np.argsort(RNG.random(80)[QID] + np.linspace(0.0, 1e-9, N), kind="stable")
    interleaved = np.argsort(np.concatenate([np.arange(n) for n in GROUP]), kind="stable")
    for order in (mixed, interleaved):
        model = ranker().fit(X[order], Y[order], qid=QID[order])
        np.testing.assert_allclose(model.predict(X), fitted.predict(X), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "qid .* group .* qid_column .* got none"),
        ({"qid": QID, "group": GROUP}, "got qid and group"),
        ({"qid": QID[:-1]}, f"qid has {N - 1} rows, but X has {N} rows"),
        ({"group": GROUP[:-1]}, r"group sums to \d+ rows, but X has \d+ rows"),
        ({"group": [N - 1, 1.5]}, "as ints >= 1"),
        ({"group": [N, 0]}, "as ints >= 1"),
        ({"group": ["a"]}, "as ints >= 1"),
        ({"group": [2**62, 2**62]}, "adds up to more"),
        ({"qid": np.where(QID == 3, np.nan, QID)}, "qid contains NaN"),
        ({"qid": np.column_stack([QID, QID])}, "qid should be a 1d array"),
        ({"qid": QID, "sample_weight": np.arange(N) + 1.0}, "same in all rows of a query"),
        ({"qid": QID, "eval_set": [(X, Y)]}, r"eval_set must be a list of \(X, y, qid\)"),
        ({"qid": QID, "eval_set": [(X, Y, QID[:-1])]}, r"eval_set\[0\]: .* rows"),
        ({"qid": QID, "eval_set": 3}, "eval_set must be a list"),
    ],
)
def test_what_does_not_tell_queries_is_refused(arguments, message):
    with pytest.raises(hr.DataError, match=message):
        ranker().fit(X, Y, **arguments)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("query", "X has no column 'query'"),
        (7, "qid_column: index 7 is out of range"),
        (0, "NaN"),
    ],
)
def test_columns_that_tell_no_queries_are_refused(column, message):
    frame = pd.DataFrame(X, columns=list("abcde")).assign(a=np.nan)
    with pytest.raises(hr.DataError, match=message):
        ranker(qid_column=column).fit(frame, Y)
    with pytest.raises(hr.DataError, match="is a name"):
        ranker(qid_column="query").fit(X, Y)


@pytest.mark.parametrize(
    ("y", "parameters", "message"),
    [
        (Y - 1, {}, "y is -1 in row .* 0 or more"),
        (Y + 0.5, {}, "needs ints up to 30; 'linear' takes any"),
        (Y + 29, {}, "needs ints up to 30"),
        (Y, {"loss": "map"}, "loss='map' needs 0 or 1"),
        (Y, {"gain": [0, 1, 2]}, "gain has 3 numbers"),
        (Y.astype(str), {}, "y contains strings"),
        (np.where(Y == 0, np.nan, Y), {}, "y contains NaN"),
    ],
)
def test_relevances_without_a_gain_are_refused(y, parameters, message):
    with pytest.raises(hr.DataError, match=message):
        ranker(**parameters).fit(X, y, qid=QID)


@pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
@pytest.mark.parametrize("loss", LOSSES)
def test_relevances_that_teach_nothing_give_equal_scores(loss):
    for y in (np.zeros(N, int), np.ones(N, int)):
        model = ranker(loss=loss).fit(X, y, qid=QID)
        np.testing.assert_allclose(model.predict(X), 0.0, atol=1e-14)
    alone = ranker(loss=loss).fit(X, relevances(loss), qid=np.arange(N))
    np.testing.assert_allclose(alone.predict(X), 0.0, atol=1e-14)


def test_one_query_of_all_rows_is_learned_from():
    model = ranker(n_estimators=30).fit(X, Y, group=[N])
    assert model.score(X, Y, group=[N]) > ranker(n_estimators=1).fit(X, Y, group=[N]).score(
        X, Y, group=[N]
    )
    assert model.score(X, Y, group=[N]) > 0.85


def test_the_largest_relevances_do_not_break_a_fit():
    for gain, most in (("exponential", 30), ("linear", 1e60), ([0, 0, 1e-300, 1e9], 3)):
        y = np.where(Y == 3, most, np.minimum(Y, 2))
        model = ranker(gain=gain, learning_rate=1.0).fit(X, y, qid=QID)
        assert np.isfinite(model.predict(X)).all()
        assert 0.0 <= model.score(X, y, qid=QID) <= 1.0


def test_features_of_any_size_are_ranked_by():
    wild = X.copy()
    wild[::7, 0] = 1e300
    wild[::11, 1] = -1e300
    assert np.isfinite(ranker().fit(wild, Y, qid=QID).predict(wild)).all()
    wild[0, 0] = np.inf
    with pytest.raises(hr.DataError, match="infinity"):
        ranker().fit(wild, Y, qid=QID)


@pytest.mark.parametrize("loss", LOSSES)
def test_huge_steps_end_in_a_ranking_or_are_refused(loss):
    """Forces do not grow with the scores, which a huge step sends far apart."""
    model = ranker(loss=loss, learning_rate=1e300).fit(X, relevances(loss), qid=QID)
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises(hr.ParameterError, match="makes the scores diverge"):
        ranker(loss=loss, learning_rate=1e308, reg_lambda=0.0).fit(X, relevances(loss), qid=QID)


def test_linear_gains_take_any_number():
    assert ranker(gain="linear").fit(X, Y + 0.5, qid=QID).score(X, Y + 0.5, qid=QID) > 0.9


@pytest.mark.parametrize(
    "parameters",
    [
        {"loss": "rank"}, {"gain": "log"}, {"gain": [1, 0]}, {"gain": [-1, 0]}, {"gain": [1]},
        {"truncation": 0}, {"sigma": 0.0}, {"normalize": 1}, {"qid_column": -1},
        {"qid_column": 1.0},
    ],
)  # fmt: skip
def test_parameters_that_are_not_allowed_are_named(parameters):
    (name,) = parameters
    with pytest.raises(hr.ParameterError, match=f"{name}="):
        ranker(**parameters).fit(X, Y, qid=QID)


def test_a_fit_that_fails_leaves_the_ranker_as_it_was(fitted):
    model = ranker().fit(X, Y, qid=QID)
    with pytest.raises(hr.DataError):
        model.fit(X[:, :2], Y - 1, qid=QID)
    np.testing.assert_array_equal(model.predict(X), fitted.predict(X))


# Evaluation and stopping


def test_evaluation_sets_have_queries_of_their_own():
    holdout = QID >= 60
    weights = np.where(QID % 2, 1.0, 3.0)
    model = ranker(eval_metric=["ndcg@5", "map", "mrr@10"]).fit(
        X[~holdout], Y[~holdout], qid=QID[~holdout],
        eval_set=[
            (X[~holdout], Y[~holdout], QID[~holdout]),
            (X[holdout], Y[holdout], QID[holdout], weights[holdout]),
        ],
        eval_names=["train", "test"],
    )  # fmt: skip
    assert list(model.evals_result_["test"]) == ["ndcg@5", "map", "mrr@10"]
    desired = model.score(X[holdout], Y[holdout], weights[holdout], qid=QID[holdout], k=5)
    assert model.evals_result_["test"]["ndcg@5"][-1] == desired
    assert (
        model.score(X[~holdout], Y[~holdout], qid=QID[~holdout], k=5)
        == (model.evals_result_["train"]["ndcg@5"][-1])
    )


def test_early_stopping_holds_whole_queries_out():
    observed = []

    def rows(y, scores):
        observed.append(len(y))
        return "rows", 0.0, False

    ranker(early_stopping=True, validation_fraction=0.2, eval_metric=rows).fit(X, Y, qid=QID)
    holdout = observed[:16]
    assert len(holdout) == 16
    assert not set(holdout) - set(GROUP.tolist())
    with pytest.raises(hr.DataError, match="of 2 groups is less than one group"):
        ranker(early_stopping=True).fit(X[:20], Y[:20], group=[10, 10])


def test_early_stopping_goes_back_to_the_best_round():
    model = ranker(early_stopping=True, n_estimators=200, learning_rate=0.5, max_leaves=31)
    model.fit(X, Y, qid=QID)
    assert model.n_iter_ == model.best_iteration_ < 200
    assert model.best_score_ == max(model.evals_result_["validation"]["ndcg"])


# scikit-learn's contract


class OneQuery(hr.GradientBoostingRanker):
    """All rows are one ranking, since scikit-learn's checks tell of no queries."""

    def fit(self, X, y):
        return super().fit(X, y, group=[_n_rows(X)])

    def score(self, X, y):
        return super().score(X, y, group=[_n_rows(X)])


def _n_rows(X):
    return X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))


@parametrize_with_checks([OneQuery(n_estimators=5, gain="linear")])
@pytest.mark.filterwarnings("default", "ignore::hedgerow.NoSplitWarning")
def test_scikit_learn_check(estimator, check):
    run_check(estimator, check)


def test_cross_validation_with_routed_ids():
    with sklearn.config_context(enable_metadata_routing=True):
        model = ranker().set_fit_request(qid=True).set_score_request(qid=True)
        results = cross_validate(
            model, X, Y, cv=GroupKFold(4), params={"groups": QID, "qid": QID}, return_estimator=True
        )
        if SINCE_1_8:  # before, the score of a pipeline passed nothing on
            pipeline = make_pipeline(FunctionTransformer(), model)
            in_pipeline = cross_val_score(
                pipeline, X, Y, cv=GroupKFold(4), params={"groups": QID, "qid": QID}
            )
            np.testing.assert_array_equal(results["test_score"], in_pipeline)
    folds = GroupKFold(4).split(X, Y, QID)
    for (train, test), actual in zip(folds, results["test_score"], strict=True):
        by_hand = ranker().fit(X[train], Y[train], qid=QID[train])
        assert actual == by_hand.score(X[test], Y[test], qid=QID[test])


def test_cross_validation_and_search_with_a_column_need_no_routing():
    table = np.column_stack([QID, X])
    model = ranker(qid_column=0)
    scores = cross_val_score(model, table, Y, groups=QID, cv=GroupKFold(4))
    assert scores.mean() > 0.7
    search = GridSearchCV(model, {"max_leaves": [2, 8]}, cv=GroupKFold(3))
    assert search.fit(table, Y, groups=QID).best_score_ > 0.7


def test_a_clone_has_the_parameters_and_not_the_model(fitted):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert repr(hr.GradientBoostingRanker(sigma=2.0)) == "GradientBoostingRanker(sigma=2.0)"
    with pytest.raises(NotFittedError):
        copy.predict(X)
    with pytest.raises(NotFittedError):
        clone(ranker(qid_column=0)).score(np.column_stack([QID, X]), Y)


def test_fitting_again_gives_the_same_model_and_takes_nothing_from_the_first(fitted):
    model = ranker().fit(X[:, :2], Y, qid=QID, eval_set=[(X[:, :2], Y, QID)])
    model.fit(X, Y, qid=QID)
    assert vars(model).keys() == vars(fitted).keys()
    assert model._model.ensemble == fitted._model.ensemble
    assert model.n_features_in_ == 5


def test_pickles_and_files_rank_the_same(fitted, tmp_path):
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    frame = pd.DataFrame(X, columns=list("abcde")).assign(query=QID)
    model = ranker(qid_column="query", gain=[0, 1, 3, 9], early_stopping=True).fit(frame, Y)
    model.save(tmp_path / "model.hedgerow")
    loaded = hr.load(tmp_path / "model.hedgerow")
    assert loaded.get_params() == model.get_params() | {"n_jobs": None}
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    assert loaded.score(frame, Y) == model.score(frame, Y)
    assert loaded.best_iteration_ == model.best_iteration_


def test_a_warm_start_adds_rounds(fitted):
    model = ranker(n_estimators=4, warm_start=True).fit(X, Y, qid=QID)
    model.set_params(n_estimators=10).fit(X, Y, qid=QID)
    np.testing.assert_allclose(model.predict(X), fitted.predict(X), rtol=1e-10, atol=1e-12)


def test_stages_end_with_the_prediction(fitted):
    stages = list(fitted.staged_predict(X))
    assert len(stages) == 10
    np.testing.assert_array_equal(stages[-1], fitted.predict(X))
    assert fitted.feature_importances_.argmax() in (0, 1)


@pytest.mark.parametrize("k", [0, -1, 1.5, "5"])
def test_a_rank_that_is_none_is_refused(fitted, k):
    with pytest.raises(hr.ParameterError, match="k="):
        fitted.score(X, Y, qid=QID, k=k)


def test_cross_validation_keeps_queries_together():
    ours = hr.cross_validate(ranker(), X, Y, qid=QID, cv=4, share_bins=False)
    assert all(not set(QID[f.train]) & set(QID[f.test]) for f in ours.folds)
    for fold, score in zip(ours.folds, ours["test_score"], strict=True):
        model = ranker().fit(X[fold.train], Y[fold.train], qid=QID[fold.train])
        holdout = fold.test
        assert score == model.score(X[holdout], Y[holdout], qid=QID[holdout])


@pytest.mark.parametrize("form", ["params", "group", "column"])
def test_cross_validation_may_be_told_of_queries_in_other_ways(form):
    ours = hr.cross_validate(ranker(), X, Y, qid=QID, cv=4, share_bins=False)
    if form == "column":
        model, table, options = ranker(qid_column=0), np.column_stack([QID, X]), {}
    else:
        model, table = ranker(), X
        options = {"params": {"qid": QID} if form == "params" else {"group": GROUP}}
    other = hr.cross_validate(model, table, Y, cv=4, share_bins=False, **options)
    np.testing.assert_array_equal(other.scores["score"], ours.scores["score"])


def test_cross_validation_without_queries_says_how_to_give_them():
    with pytest.raises(hr.DataError, match=r"cross_validate\(model, X, y, qid=qid\)"):
        hr.cross_validate(ranker(), X, Y)
    with pytest.raises(hr.ParameterError, match="qid is passed twice"):
        hr.cross_validate(ranker(), X, Y, qid=QID, params={"qid": QID})
    with pytest.raises(
        hr.ParameterError, match="fit of GradientBoostingRegressor does not accept it"
    ):
        hr.cross_validate(hr.GradientBoostingRegressor(), X, Y, qid=QID)
