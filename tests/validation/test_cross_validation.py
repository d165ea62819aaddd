"""`cross_validate`: against scikit-learn's, with shared bins and without."""

# ruff: noqa: ARG002, ARG005

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn import model_selection as sk
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import log_loss, make_scorer, mean_pinball_loss, root_mean_squared_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hedgerow as hr
from hedgerow import DataError, ParameterError

RNG = np.random.RandomState(0)
N = 240
# Few values, all of them in every fold: so bins are the same, whichever rows they are learned from.
X = np.column_stack([RNG.permutation(np.tile(np.arange(6.0), N // 6)) for _ in range(4)])
Y = X[:, 0] + np.sin(X[:, 1]) + 0.3 * RNG.normal(size=N)
LABELS = np.where(Y > 3.0, "yes", "no")
CLASSES = np.digitize(Y, [2.0, 4.0])
WEIGHTS = RNG.uniform(0.1, 2.0, N)
GROUPS = np.arange(N) // 12
FEW = {"n_estimators": 8, "random_state": 0}
SMALL = {"n_estimators": 8, "min_samples_leaf": 5, "random_state": 0}

BINNING = {
    "boosted numbers": (hr.GradientBoostingRegressor(**SMALL), Y),
    "boosted classes": (hr.GradientBoostingClassifier(**SMALL), CLASSES),
    "exact boosting": (hr.GradientBoostingRegressor(splitter="exact", **SMALL), Y),
    "forest": (hr.RandomForestRegressor(**FEW), Y),
    "forest of classes": (hr.RandomForestClassifier(**FEW), LABELS),
    "extra trees": (hr.ExtraTreesClassifier(**FEW), CLASSES),
    "tree": (hr.DecisionTreeRegressor(splitter="hist", min_samples_leaf=5), Y),
    "adaboost": (hr.AdaBoostClassifier(n_estimators=5), LABELS),
}
OTHERS = {
    "exact tree": (hr.DecisionTreeClassifier(), LABELS),
    "bagging": (hr.BaggingRegressor(n_estimators=4), Y),
    "boosted stumps": (hr.AdaBoostRegressor(hr.DecisionTreeRegressor(), n_estimators=3), Y),
    "stagewise": (hr.StagewiseRegressor(n_estimators=3), Y),
    "neighbours": (hr.KNeighborsClassifier(), CLASSES),
    "machine": (hr.SVC(), LABELS),
    "linear machine": (hr.LinearSVR(), Y),
    "ridge": (Ridge(), Y),
    "logistic": (LogisticRegression(), LABELS),
    "pipeline": (make_pipeline(StandardScaler(), hr.GradientBoostingClassifier(**SMALL)), LABELS),
}


@pytest.mark.parametrize("name", BINNING | OTHERS)
@pytest.mark.parametrize("share_bins", [True, False])
def test_predictions_and_scores_are_scikit_learn_s(name, share_bins):
    model, y = (BINNING | OTHERS)[name]
    scoring = ["accuracy"] if y.dtype.kind in "Ui" else ["neg_mean_squared_error", "r2"]
    result = hr.cross_validate(model, X, y, cv=3, scoring=scoring, share_bins=share_bins)
    theirs = sk.cross_validate(model, X, y, cv=3, scoring=scoring)
    for metric in scoring:
        np.testing.assert_allclose(result.scores[metric], theirs[f"test_{metric}"], rtol=1e-12)
    expected = sk.cross_val_predict(model, X, y, cv=3, method=result.method)
    np.testing.assert_allclose(result.oof_prediction, expected, rtol=1e-12)
    assert len(result.models) == 3
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("name", BINNING)
def test_models_of_folds_are_kept(name):
    model, y = BINNING[name]
    result = hr.cross_validate(model, X, y, cv=4)
    for fitted, fold in zip(result.models, result.folds, strict=True):
        prediction = getattr(fitted, result.method)(X[fold.test])
        np.testing.assert_array_equal(prediction, result.oof_prediction[fold.test])
        assert len(fold.train) + len(fold.test) == N


def frames():
    categories = np.array(["a", "b", "c", "d", "e", "f"])[X[:, 2].astype(int)]
    columns = {"number": X[:, 0], "other": X[:, 1], "category": categories}
    return {
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "arrow": pa.table(columns),
        "sparse": scipy.sparse.csr_array(np.where(X > 3.0, X, 0.0)),
        "list": X.tolist(),
    }


@pytest.mark.parametrize("kind", frames())
def test_tables_of_every_kind(kind):
    table = frames()[kind]
    y = {"pandas": pd.Series, "polars": pl.Series}.get(kind, list)(Y)
    shared, alone = (
        hr.cross_validate(hr.GradientBoostingRegressor(**SMALL), table, y, share_bins=share)
        for share in (True, False)
    )
    np.testing.assert_array_equal(shared.oof_prediction, alone.oof_prediction)
    np.testing.assert_array_equal(shared.scores["rmse"], alone.scores["rmse"])


def test_bins_are_learned_from_all_rows_unless_that_is_not_wanted():
    numbers = RNG.normal(size=(N, 2))
    model = hr.GradientBoostingRegressor(max_bins=8, **SMALL)
    shared = hr.cross_validate(model, numbers, Y)
    alone = hr.cross_validate(model, numbers, Y, share_bins=False)
    thresholds = [m._model.binner.threshold_values for m in shared.models]
    assert all(np.array_equal(values, thresholds[0]) for values in thresholds)
    own = [m._model.binner.threshold_values for m in alone.models]
    assert not any(np.array_equal(values, thresholds[0]) for values in own)


FEW_BINS = {"max_bins": 8, **FEW}


@pytest.mark.parametrize(
    "model",
    [
        hr.GradientBoostingRegressor(**FEW_BINS),
        hr.RandomForestRegressor(bootstrap=False, max_features=1, **FEW_BINS),
    ],
    ids=["boosting", "forest"],
)
def test_models_of_folds_are_fits_to_bins_of_all_rows(model):
    numbers = np.random.RandomState(1).normal(size=(N, 3))
    result = hr.cross_validate(model, numbers, Y, cv=3)
    thresholds = result.models[0]._model.binner.thresholds
    columns = zip(thresholds, numbers.T, strict=True)
    bins = np.column_stack([np.searchsorted(*column) for column in columns]).astype(float)
    for fold, fitted in zip(result.folds, result.models, strict=True):
        train = fold.train  # in other rows, a cut between bins that a node lacks may differ
        own = clone(model).fit(bins[train], Y[train])
        np.testing.assert_array_equal(fitted.predict(numbers[train]), own.predict(bins[train]))


LEAKS = {
    "target statistics": {"max_categories": 2},
    "calibration": {"calibration": "isotonic"},
    "early stopping": {"early_stopping": True},
    "rounds it chooses": {"n_estimators": "auto", "budget": "quick"},
}


@pytest.mark.parametrize("name", LEAKS)
def test_a_fold_s_model_knows_nothing_of_the_targets_held_out(name):
    model = hr.GradientBoostingClassifier(**SMALL | LEAKS[name])
    table = frames()["pandas"]
    one = hr.cross_validate(model, table, CLASSES, cv=sk.KFold(3))
    rows = one.folds[0].test
    changed = CLASSES.copy()
    changed[rows] = 2 - changed[rows]
    two = hr.cross_validate(model, table, changed, cv=sk.KFold(3))
    np.testing.assert_array_equal(one.oof_prediction[rows], two.oof_prediction[rows])
    others = one.folds[1].test
    assert (one.oof_prediction[others] != two.oof_prediction[others]).any()
    own = clone(model).fit(table.iloc[one.folds[0].train], CLASSES[one.folds[0].train])
    np.testing.assert_array_equal(one.oof_prediction[rows], own.predict_proba(table.iloc[rows]))


def with_a_rare_category():
    table = frames()["pandas"]
    table.loc[table.index < 3, "category"] = "rare"
    return table


def test_a_category_that_only_held_out_rows_have_is_not_known():
    table = with_a_rare_category()
    model = hr.GradientBoostingRegressor(**SMALL)
    result = hr.cross_validate(model, table, Y, cv=sk.KFold(4))
    alone = hr.cross_validate(model, table, Y, cv=sk.KFold(4), share_bins=False)
    np.testing.assert_array_equal(result.oof_prediction, alone.oof_prediction)
    values = [fitted._model.schema.categories[2].values for fitted in result.models]
    assert ["rare" in known for known in values] == [False, True, True, True]
    for share in (True, False):
        with pytest.raises(DataError, match=r"'rare' .*which did not occur in fit") as caught:
            hr.cross_validate(
                model.set_params(unknown_category="error"),
                table,
                Y,
                cv=sk.KFold(4),
                share_bins=share,
            )
        assert caught.value.__notes__ == ["This was fold 1 of 4."]


def test_columns_of_many_categories_are_encoded_in_every_fold():
    model = hr.GradientBoostingRegressor(max_categories=3, **SMALL)
    shared, alone = (
        hr.cross_validate(model, frames()["pandas"], Y, share_bins=share) for share in (True, False)
    )
    np.testing.assert_array_equal(shared.oof_prediction, alone.oof_prediction)
    numbers = [m._model.statistics.columns[0].numbers for m in shared.models]
    assert not np.array_equal(numbers[0], numbers[1])


SPLITTERS = {
    "an int": 4,
    "shuffled": sk.KFold(3, shuffle=True, random_state=0),
    "groups": sk.GroupKFold(3),
    "predefined": sk.PredefinedSplit(np.arange(N) % 3),
    "pairs": [(np.arange(N // 2), np.arange(N // 2, N)), (np.arange(N // 2, N), np.arange(N // 2))],
    "masks": [(GROUPS < 10, GROUPS >= 10), (GROUPS >= 10, GROUPS < 10)],
}


@pytest.mark.parametrize("name", SPLITTERS)
def test_folds_are_those_of_scikit_learn(name):
    cv = SPLITTERS[name]
    groups = GROUPS if name == "groups" else None
    result = hr.cross_validate(Ridge(), X, Y, cv=cv, groups=groups)
    expected = sk.check_cv(cv).split(X, Y, groups)
    for fold, (train, holdout) in zip(result.folds, expected, strict=True):
        np.testing.assert_array_equal(fold.train, np.arange(N)[train])
        np.testing.assert_array_equal(fold.test, np.arange(N)[holdout])


class ByFirstColumn:
    """A splitter that looks at the table, as those of time do."""

    def split(self, X, y=None, groups=None):
        for value in range(3):
            yield np.flatnonzero(X[:, 0] != value), np.flatnonzero(X[:, 0] == value)

    def get_n_splits(self, X=None, y=None, groups=None):
        return 3


def test_splitters_see_the_table():
    result = hr.cross_validate(Ridge(), X, Y, cv=ByFirstColumn())
    assert [set(X[fold.test, 0]) for fold in result.folds] == [{0.0}, {1.0}, {2.0}]


@pytest.mark.parametrize("y", [Y, LABELS], ids=["numbers", "classes"])
def test_a_number_of_folds_keeps_groups_together(y):
    model = hr.DecisionTreeClassifier() if y is LABELS else hr.DecisionTreeRegressor()
    result = hr.cross_validate(model, X, y, cv=3, groups=GROUPS)
    for fold in result.folds:
        assert not set(GROUPS[fold.train]) & set(GROUPS[fold.test])
    kind = sk.StratifiedGroupKFold if y is LABELS else sk.GroupKFold
    expected = [holdout for _, holdout in kind(3).split(X, y, GROUPS)]
    np.testing.assert_array_equal(
        np.concatenate([fold.test for fold in result.folds]), np.concatenate(expected)
    )


def test_classes_have_the_same_part_in_every_fold():
    ordered = np.sort(CLASSES)
    result = hr.cross_validate(hr.DecisionTreeClassifier(), X, ordered, cv=3)
    for fold in result.folds:
        assert set(ordered[fold.test]) == {0, 1, 2}


def test_rows_that_are_never_held_out_have_no_prediction():
    result = hr.cross_validate(Ridge(), X, Y, cv=sk.TimeSeriesSplit(3))
    first = result.folds[0].test[0]
    assert np.isnan(result.oof_prediction[:first]).all()
    assert np.isfinite(result.oof_prediction[first:]).all()
    labels = hr.cross_validate(
        hr.DecisionTreeClassifier(), X, LABELS, cv=sk.TimeSeriesSplit(3), method="predict"
    ).oof_prediction
    assert all(label is None for label in labels[:first])
    assert set(labels[first:]) == {"yes", "no"}


def test_rows_that_are_held_out_often_have_the_mean():
    cv = sk.RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    result = hr.cross_validate(hr.DecisionTreeRegressor(), X, Y, cv=cv)
    total = np.zeros(N)
    for model, fold in zip(result.models, result.folds, strict=True):
        total[fold.test] += model.predict(X[fold.test])
    np.testing.assert_allclose(result.oof_prediction, total / 2, rtol=1e-14)
    with pytest.raises(ParameterError, match="in more than one test set, but predicted classes"):
        hr.cross_validate(hr.DecisionTreeClassifier(), X, LABELS, cv=cv, method="predict")


def test_weights_count_in_fits_and_in_metrics():
    model = hr.GradientBoostingRegressor(**SMALL)
    result = hr.cross_validate(
        model, X, Y, sample_weight=WEIGHTS, scoring=["rmse", "neg_root_mean_squared_error"]
    )
    for i, fold in enumerate(result.folds):
        own = hr.GradientBoostingRegressor(**SMALL).fit(
            X[fold.train], Y[fold.train], WEIGHTS[fold.train]
        )
        rows = fold.test
        expected = root_mean_squared_error(
            Y[rows], own.predict(X[rows]), sample_weight=WEIGHTS[rows]
        )
        assert result.scores["rmse"][i] == pytest.approx(expected, rel=1e-12)
        assert result.scores["neg_root_mean_squared_error"][i] == pytest.approx(
            -expected, rel=1e-12
        )


def test_weights_count_where_a_model_scores_itself():
    result = hr.cross_validate(RidgeClassifier(), X, LABELS, cv=3, sample_weight=WEIGHTS)
    fold = result.folds[0]
    own = RidgeClassifier().fit(X[fold.train], LABELS[fold.train], WEIGHTS[fold.train])
    expected = own.score(X[fold.test], LABELS[fold.test], WEIGHTS[fold.test])
    assert result.scores["score"][0] == pytest.approx(expected, rel=1e-12)


def test_scorers_that_take_no_weights_get_none():
    model = hr.GradientBoostingRegressor(**SMALL)
    result = hr.cross_validate(model, X, Y, sample_weight=WEIGHTS, scoring="neg_max_error")
    rows = result.folds[0].test
    assert result.scores["neg_max_error"][0] == -np.abs(Y - result.oof_prediction)[rows].max()


def test_folds_may_go_on_from_a_model():
    start = hr.GradientBoostingRegressor(**SMALL).fit(X[::2], Y[::2])
    model = hr.GradientBoostingRegressor(**SMALL)
    result = hr.cross_validate(model, X, Y, cv=3, params={"init_model": start})
    for fold, fitted in zip(result.folds, result.models, strict=True):
        own = clone(model).fit(X[fold.train], Y[fold.train], init_model=start)
        rows = fold.test
        np.testing.assert_array_equal(result.oof_prediction[rows], own.predict(X[rows]))
        assert fitted.n_iter_ == 16


def test_an_evaluation_set_is_the_same_for_all_folds():
    model = hr.GradientBoostingRegressor(**SMALL)
    result = hr.cross_validate(model, X, Y, params={"eval_set": [(X[:50], Y[:50])]})
    for fitted in result.models:
        rmse = root_mean_squared_error(Y[:50], fitted.predict(X[:50]))
        assert fitted.evals_result_["eval_0"]["rmse"][-1] == pytest.approx(rmse, rel=1e-12)


def test_further_arguments_of_fit_are_cut_to_the_rows():
    pipeline = make_pipeline(StandardScaler(), Ridge())
    result = hr.cross_validate(pipeline, X, Y, params={"ridge__sample_weight": WEIGHTS})
    fold = result.folds[0]
    own = make_pipeline(StandardScaler(), Ridge()).fit(
        X[fold.train], Y[fold.train], ridge__sample_weight=WEIGHTS[fold.train]
    )
    np.testing.assert_allclose(
        result.oof_prediction[fold.test], own.predict(X[fold.test]), rtol=1e-12
    )
    seen = []
    hr.cross_validate(
        hr.GradientBoostingRegressor(**SMALL), X, Y, params={"callbacks": [seen.append]}, cv=2
    )
    assert len(seen) == 16


def test_groups_reach_fits_that_take_them():
    model = hr.GradientBoostingRegressor(subsample=0.5, sampling="group", **SMALL)
    result = hr.cross_validate(model, X, Y, cv=sk.GroupKFold(3), groups=GROUPS)
    assert np.isfinite(result.scores["rmse"]).all()


def test_folds_stop_by_the_rows_they_hold_out():
    model = hr.GradientBoostingRegressor(n_estimators=300, learning_rate=0.5, min_samples_leaf=2)
    result = hr.cross_validate(model, X, Y, early_stopping=True, sample_weight=WEIGHTS)
    for i, (fitted, fold) in enumerate(zip(result.models, result.folds, strict=True)):
        assert fitted.best_iteration_ == fitted.n_iter_ < 300
        assert fitted.best_score_ == pytest.approx(result.scores["rmse"][i], rel=1e-12)
        assert len(fold.train) == 192
    assert result.to_dict()["best_iteration"].tolist() == [m.best_iteration_ for m in result.models]
    assert model.early_stopping is False


def test_the_classes_of_a_fold_may_be_fewer():
    y = np.where(np.arange(N) < 20, 2, CLASSES % 2)
    cv = [(np.arange(20, N), np.arange(20)), (np.arange(0, N, 2), np.arange(1, N, 2))]
    result = hr.cross_validate(hr.GradientBoostingClassifier(**SMALL), X, y, cv=cv)
    assert result.oof_prediction.shape == (N, 3)
    np.testing.assert_array_equal(result.oof_prediction[:20:2, 2], 0.0)
    assert result.scores["log_loss"][0] > 30.0
    with pytest.raises(DataError, match="decision_function of a fold has no column for 2"):
        hr.cross_validate(
            hr.GradientBoostingClassifier(**SMALL), X, y, cv=cv, method="decision_function"
        )


DEFAULTS = {
    "numbers": (hr.GradientBoostingRegressor(**SMALL), Y, "rmse"),
    "a metric of its own": (hr.GradientBoostingRegressor(eval_metric="mae", **SMALL), Y, "mae"),
    "several": (hr.GradientBoostingRegressor(eval_metric=["mae", "r2"], **SMALL), Y, "mae r2"),
    "classes": (hr.GradientBoostingClassifier(**SMALL), LABELS, "log_loss"),
    "a margin": (hr.GradientBoostingClassifier(loss="hinge", **SMALL), LABELS, "error"),
    "counts": (
        hr.GradientBoostingRegressor(loss="poisson", **SMALL),
        np.round(np.abs(Y)),
        "poisson_deviance",
    ),
    "quantiles": (
        hr.GradientBoostingRegressor(loss="quantile", quantile=[0.1, 0.9], **SMALL),
        Y,
        "pinball",
    ),
    "several columns": (hr.GradientBoostingRegressor(**SMALL), np.column_stack([Y, -Y]), "rmse"),
    "labels": (
        hr.GradientBoostingClassifier(**SMALL),
        np.column_stack([Y > 3.0, X[:, 2] > 2.0]).astype(int),
        "log_loss",
    ),
    "probabilities": (
        hr.GradientBoostingClassifier(loss="cross_entropy", **SMALL),
        np.column_stack([X[:, 0] / 6.0, 1.0 - X[:, 0] / 6.0]),
        "cross_entropy",
    ),
    "a written loss": (
        hr.GradientBoostingRegressor(loss=hr.Loss(lambda y, f: np.abs(y - f)), **SMALL),
        Y,
        "loss",
    ),
    "a written loss of classes": (
        hr.GradientBoostingClassifier(
            loss=hr.Loss(
                lambda y, f: np.logaddexp.reduce(f, axis=1) - f[np.arange(len(y)), y], name="own"
            ),
            **SMALL,
        ),
        CLASSES,
        "own",
    ),
    "a forest": (hr.RandomForestRegressor(**FEW), Y, "rmse"),
    "a forest of classes": (hr.RandomForestClassifier(**FEW), LABELS, "log_loss"),
    "a forest of columns": (hr.RandomForestRegressor(**FEW), np.column_stack([Y, -Y]), "r2"),
    "a forest of labels": (
        hr.RandomForestClassifier(**FEW),
        np.column_stack([CLASSES, CLASSES % 2]),
        "accuracy",
    ),
    "a machine": (hr.SVC(), LABELS, "score"),
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_models_are_judged_by_what_suits_them(name):
    model, y, expected = DEFAULTS[name]
    result = hr.cross_validate(model, X, y, cv=2)
    assert list(result.scores) == expected.split()
    assert all(np.isfinite(values).all() for values in result.scores.values())


def test_the_metric_of_a_fold_is_that_of_an_evaluation_set():
    for name in (
        "numbers",
        "classes",
        "a margin",
        "counts",
        "quantiles",
        "labels",
        "probabilities",
        "several columns",
        "a written loss",
        "a written loss of classes",
    ):
        model, y, metric = DEFAULTS[name]
        result = hr.cross_validate(model, X, y, cv=2, share_bins=False)
        fold = result.folds[0]
        own = type(model)(**model.get_params()).fit(
            X[fold.train], y[fold.train], eval_set=[(X[fold.test], y[fold.test])]
        )
        expected = own.evals_result_["eval_0"][metric][-1]
        assert result.scores[metric][0] == pytest.approx(expected, rel=1e-12), name


def test_scoring_may_be_functions_scorers_or_a_dict():
    def pinball(y, prediction):
        return mean_pinball_loss(y, prediction, alpha=0.9)

    def named_metric(y, prediction, sample_weight):
        assert sample_weight is None
        return "bias", float(np.mean(prediction - y)), False

    def scorer(model, X, y):
        return float(np.mean(model.predict(X) > y))

    model = hr.GradientBoostingRegressor(**SMALL)
    scoring = [pinball, named_metric, scorer, make_scorer(root_mean_squared_error)]
    result = hr.cross_validate(model, X, Y, scoring=scoring)
    assert list(result.scores) == ["pinball", "bias", "scorer", "root_mean_squared_error"]
    rows, prediction = result.folds[1].test, result.oof_prediction
    assert result.scores["pinball"][1] == pytest.approx(pinball(Y[rows], prediction[rows]))
    assert result.scores["bias"][1] == pytest.approx(np.mean(prediction[rows] - Y[rows]))
    assert result.scores["scorer"][1] == pytest.approx(np.mean(prediction[rows] > Y[rows]))
    named = hr.cross_validate(
        model, X, Y, scoring={"a": "rmse", "b": pinball, "c": "neg_max_error"}
    )
    assert list(named.scores) == ["a", "b", "c"]


def test_classes_of_functions_are_as_they_were_given():
    def surprise(y, prediction):
        assert set(y) <= {"yes", "no"}
        return log_loss(y == "yes", prediction)

    model = hr.GradientBoostingClassifier(**SMALL)
    result = hr.cross_validate(model, X, LABELS, scoring=[surprise, "log_loss"])
    np.testing.assert_allclose(result.scores["surprise"], result.scores["log_loss"], rtol=1e-9)


def test_a_model_without_a_target():
    result = hr.cross_validate(hr.OneClassSVM(), X, scoring=lambda model, X, y: len(X))
    assert result.method == "decision_function"
    assert result.scores["<lambda>"].tolist() == [48.0] * 5


@pytest.mark.parametrize("kind", [hr.GradientBoostingRegressor, hr.RandomForestRegressor])
def test_threads_change_nothing(kind):
    model, table = kind(**FEW), frames()["pandas"]
    one, two = (hr.cross_validate(model.set_params(n_jobs=n), table, Y) for n in (1, 2))
    np.testing.assert_array_equal(one.oof_prediction, two.oof_prediction)
    np.testing.assert_array_equal(one.scores["rmse"], two.scores["rmse"])


def test_the_model_s_random_stream_is_not_drawn_from():
    model = hr.GradientBoostingRegressor(n_estimators=3, random_state=np.random.RandomState(7))
    one, two = (hr.cross_validate(model, X, Y) for _ in range(2))
    np.testing.assert_array_equal(one.oof_prediction, two.oof_prediction)
    assert model.random_state.randint(2**31) == np.random.RandomState(7).randint(2**31)


def test_progress_is_shown_fold_by_fold(capsys):
    hr.cross_validate(Ridge(), X, Y, cv=3, verbose=1)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[2].startswith("fold 3/3  holdout rmse ")
    hr.cross_validate(Ridge(), X, Y, cv=3)
    assert capsys.readouterr().err == ""


def test_models_are_silent_while_folds_are_shown(capsys):
    model = hr.GradientBoostingRegressor(verbose=1, **SMALL)
    result = hr.cross_validate(model, X, Y, cv=2, verbose=1)
    assert len(capsys.readouterr().err.splitlines()) == 2
    assert [fitted.verbose for fitted in result.models] == [1, 1]
    hr.cross_validate(model, X, Y, cv=2)
    assert len(capsys.readouterr().err.splitlines()) == 16
    flagged = make_pipeline(Ridge(), verbose=True)
    result = hr.cross_validate(flagged, X, Y, cv=2, verbose=1)
    assert result.models[0].verbose is True
    assert capsys.readouterr().out == ""


BAD = {
    "a class": ({"model": Ridge}, r"is not an estimator: it is a class; write Ridge\(\)"),
    "no model": ({"model": 3}, "model=3 is not an estimator"),
    "fewer targets": ({"y": Y[:-1]}, "X has 240 rows, but y has 239"),
    "fewer groups": ({"groups": GROUPS[:5]}, "X has 240 rows, but groups has 5"),
    "fewer weights": ({"sample_weight": WEIGHTS[:5]}, "sample_weight"),
    "a fold": (
        {"cv": 1},
        r"cv: 1 is not a number of folds: .* at least 2.*ShuffleSplit\(1",
    ),
    "too many folds": ({"cv": 500}, "cv: .*n_splits=500"),
    "no folds": ({"cv": []}, r"cv=\[\] has no folds"),
    "an empty fold": (
        {"cv": [(np.arange(N), np.arange(0))]},
        "the training set or the test set of fold 1 is empty",
    ),
    "rows that are not there": ({"cv": [([0, 1], [N])]}, "cv: index 240 is out of bounds"),
    "no groups": ({"cv": sk.GroupKFold(3)}, "cv: The 'groups' parameter should not be None"),
    "a metric": ({"scoring": "rsme"}, "scoring='rsme' is not allowed; did you mean 'rmse'"),
    "a metric of classes": ({"scoring": "auc"}, "scoring='auc' is not allowed"),
    "a number": ({"scoring": [3]}, "scoring=3 is not allowed"),
    "a method": ({"method": "transform"}, "method='transform' is not allowed"),
    "a flag": ({"share_bins": 1}, "share_bins=1 is not allowed"),
    "verbose": ({"verbose": -1}, "verbose=-1 is not allowed"),
    "stopping": ({"early_stopping": True}, "Ridge has no early stopping"),
    "weights of a pipeline": (
        {"model": make_pipeline(Ridge()), "sample_weight": WEIGHTS},
        "fit of Pipeline does not accept it.*step__sample_weight",
    ),
    "a parameter": (
        {"model": hr.GradientBoostingRegressor(learning_rate=-1)},
        "learning_rate=-1 is not allowed",
    ),
    "no table": ({"X": None}, "X has no rows"),
    "no argument of fit": ({"params": {"epochs": 3}}, "fit of Ridge does not accept 'epochs'"),
    "weights twice": (
        {"sample_weight": WEIGHTS, "params": {"sample_weight": WEIGHTS}},
        "sample_weight is passed twice",
    ),
    "weights of an empty holdout": (
        {"sample_weight": np.arange(N) >= 48},
        "zero in the whole training set or test set of fold 1",
    ),
    "a checkpoint": (
        {"model": hr.GradientBoostingRegressor(), "params": {"checkpoint": "a.ckpt"}},
        "a checkpoint is not allowed",
    ),
    "two evaluation sets": (
        {
            "model": hr.GradientBoostingRegressor(),
            "early_stopping": True,
            "params": {"eval_set": [(X, Y)]},
        },
        "params must not contain one",
    ),
    "no metric": ({"scoring": []}, r"scoring=\[\] has no metric"),
    "a metric twice": ({"scoring": ["rmse", "rmse"]}, "several metrics named 'rmse'"),
    "a name that is returned twice": (
        {"scoring": [lambda y, p: ("rmse", 0.0, True), "rmse"]},
        "several metrics named 'rmse'",
    ),
    "a list of arrays": (
        {
            "model": hr.RandomForestClassifier(**FEW),
            "y": np.column_stack([CLASSES, CLASSES % 2]),
            "method": "predict_proba",
        },
        "returns an array for each column of y; set method='predict'",
    ),
    "a loss": (
        {"model": hr.GradientBoostingRegressor(loss="sqare"), "share_bins": False},
        "loss='sqare' is not allowed",
    ),
    "no target": ({"model": hr.GradientBoostingRegressor(), "y": None}, "requires y"),
    "a metric of two": (
        {"scoring": lambda y, p: [1, 2]},
        "scoring: <lambda> returned list, not a number",
    ),
    "no such method": ({"method": "predict_proba"}, "Ridge has no such method"),
    "a score of two": (
        {"scoring": lambda model, X, y: [1, 2]},
        "returned list, not a number",
    ),
    "no probabilities": (
        {"model": hr.SVC(), "y": LABELS, "scoring": lambda y, p: 0.0},
        "SVC has no predict_proba, which this metric needs",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_done_is_refused(name):
    arguments, message = BAD[name]
    with pytest.raises((ParameterError, DataError), match=message):
        hr.cross_validate(**{"model": Ridge(), "X": X, "y": Y, **arguments})


def test_errors_of_models_are_passed_through():
    y = Y.copy()
    y[-1] = np.nan
    with pytest.raises(DataError, match="NaN"):
        hr.cross_validate(hr.GradientBoostingRegressor(), X, y)


def test_an_error_tells_its_fold():
    def fail(y, prediction):
        if 200 in y:
            raise RuntimeError("why not")
        return 0.0

    y = np.arange(N)
    with pytest.raises(RuntimeError, match="why not") as caught:
        hr.cross_validate(Ridge(), X, y, scoring=fail)
    assert caught.value.__notes__ == ["This was fold 5 of 5."]


def test_a_run_can_be_interrupted():
    rounds = []

    def interrupt(info):
        rounds.append(info)
        if len(rounds) == 12:
            raise KeyboardInterrupt

    model = hr.GradientBoostingRegressor(**SMALL)
    with pytest.raises(KeyboardInterrupt):
        hr.cross_validate(model, X, Y, params={"callbacks": [interrupt]}, verbose=1)
    assert len(rounds) == 12
    assert not hasattr(model, "n_iter_")


OFFSET = RNG.normal(size=N)
COUNTS = RNG.poisson(np.exp(0.3 * X[:, 0] - 1 + OFFSET)).astype(float)


@pytest.mark.parametrize("early_stopping", [False, True])
def test_offsets_are_split_like_the_rows(early_stopping):
    model = hr.GradientBoostingRegressor(loss="poisson", **SMALL)
    options = {"early_stopping": early_stopping, "share_bins": False}
    scoring = ["poisson_deviance", "neg_root_mean_squared_error"]
    result = hr.cross_validate(model, X, COUNTS, offset=OFFSET, scoring=scoring, **options)
    for number, fold in enumerate(result.folds):
        by_hand, train, held_out = clone(model), fold.train, fold.test
        entry = (X[held_out], COUNTS[held_out], None, OFFSET[held_out])
        by_hand.set_params(early_stopping=early_stopping)
        by_hand.fit(X[train], COUNTS[train], offset=OFFSET[train], eval_set=[entry])
        predicted = by_hand.predict(X[held_out], offset=OFFSET[held_out])
        np.testing.assert_array_equal(result.oof_prediction[held_out], predicted)
        error = root_mean_squared_error(COUNTS[held_out], predicted)
        assert -result.scores["neg_root_mean_squared_error"][number] == pytest.approx(error)


@pytest.mark.parametrize("scoring", [None, "roc_auc", "accuracy", "error"])
def test_scores_of_classes_use_the_offset(scoring):
    model, y = hr.GradientBoostingClassifier(**SMALL), (COUNTS > 0).astype(int)
    result = hr.cross_validate(model, X, y, offset=3.0 * OFFSET, scoring=scoring)
    without = hr.cross_validate(model, X, y, scoring=scoring)
    (name,) = result.mean
    better = result.mean[name] - without.mean[name]
    assert (better if scoring in ("roc_auc", "accuracy") else -better) > 0.03


def test_margins_without_probabilities_use_the_offset():
    model, y = hr.GradientBoostingClassifier(loss="hinge", **SMALL), (COUNTS > 0).astype(int)
    result = hr.cross_validate(model, X, y, offset=2.0 * OFFSET, scoring="error")
    fold, fitted = result.folds[0].test, result.models[0]
    error = (fitted.predict(X[fold], offset=2.0 * OFFSET[fold]) != y[fold]).mean()
    assert result.scores["error"][0] == pytest.approx(error)


def test_the_score_of_a_model_uses_the_offset():
    y = (COUNTS > 0).astype(int)
    rows = {"offset": OFFSET, "qid": GROUPS}
    result = hr.cross_validate(hr.GradientBoostingRanker(**SMALL), X, y, **rows)
    fold = result.folds[0].test
    expected = result.models[0].score(X[fold], y[fold], qid=GROUPS[fold], offset=OFFSET[fold])
    assert next(iter(result.scores.values()))[0] == pytest.approx(expected)


def test_metrics_of_rankers_are_named_as_in_fit():
    y, ranker = (COUNTS > 0).astype(int), hr.GradientBoostingRanker(**SMALL)
    rows = {"offset": OFFSET, "qid": GROUPS, "scoring": ["ndcg@2", "precision@3", "recall@3"]}
    result = hr.cross_validate(ranker, X, y, **rows)
    fold, model = result.folds[0].test, result.models[0]
    scores = model.predict(X[fold], offset=OFFSET[fold])
    precisions, recalls = [], []
    for query in np.unique(GROUPS[fold]):
        of_query = GROUPS[fold] == query
        relevant = y[fold][of_query][np.argsort(-scores[of_query], kind="stable")]
        if relevant.any():
            precisions.append(relevant[:3].mean())
            recalls.append(relevant[:3].sum() / relevant.sum())
    assert result.scores["precision@3"][0] == pytest.approx(np.mean(precisions))
    assert result.scores["recall@3"][0] == pytest.approx(np.mean(recalls))
    expected = model.score(X[fold], y[fold], qid=GROUPS[fold], offset=OFFSET[fold], k=2)
    assert result.scores["ndcg@2"][0] == pytest.approx(expected)
    with pytest.raises(ParameterError, match=r"did you mean 'precision@10'.*of ndcg, map, mrr"):
        hr.cross_validate(ranker, X, y, qid=GROUPS, scoring="PrecisionAt")


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (hr.RandomForestRegressor(), {"offset": OFFSET}, "RandomForestRegressor does not accept"),
        (hr.GradientBoostingRegressor(), {"offset": OFFSET[1:]}, "offset has 239"),
        (hr.GradientBoostingRegressor(), {"params": {"offset": OFFSET}}, "offset=…"),
    ],
)
def test_offsets_that_cannot_be_used_are_refused(model, options, message):
    with pytest.raises((DataError, ParameterError), match=message):
        hr.cross_validate(model, X, Y, **options)


def test_the_former_name_of_test_rows_is_deprecated():
    fold = hr.cross_validate(hr.DecisionTreeClassifier(), X, LABELS, cv=2).folds[0]
    with pytest.warns(FutureWarning, match="use Fold.test"):
        assert fold.held_out is fold.test
