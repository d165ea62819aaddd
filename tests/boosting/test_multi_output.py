"""A y of several columns: numbers, or labels of two classes each."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn import metrics as sk
from sklearn.model_selection import cross_val_score
from sklearn.multioutput import MultiOutputClassifier

import hedgerow as hr
from hedgerow._model_file.contents import read_estimator, write_estimator
from hedgerow.exceptions import DataError, ModelFileError, ParameterError

SMALL = {"n_estimators": 10, "max_leaves": 6, "min_samples_leaf": 5}
STRATEGIES = pytest.mark.parametrize("strategy", ["separate", "vector"])
LOSSES = (
    *({"loss": "squared_error"}, {"loss": "absolute_error"}, {"loss": "huber"}),
    *({"loss": "log_cosh", "delta": 0.5}, {"loss": "quantile", "quantile": 0.3}),
    *({"loss": "expectile", "quantile": 0.8}, {"loss": "poisson"}, {"loss": "gamma"}),
    {"loss": "tweedie", "tweedie_power": 1.3},
)


@pytest.fixture(scope="module")
def table():
    """Give X, and positive numbers (n, 3) that depend on it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 4))
    mean = np.stack([X[:, 0], X[:, 1] * X[:, 2], np.sin(2 * X[:, 0])], axis=1)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, np.exp(mean + 0.2 * rng.standard_normal((800, 3)))


@pytest.fixture(scope="module")
def labels(table):
    X, Y = table
    return X, (Y > [0.8, 1.0, 1.5]).astype(int)


def regressor(**parameters):
    return hr.GradientBoostingRegressor(**(SMALL | parameters))


def classifier(**parameters):
    return hr.GradientBoostingClassifier(**(SMALL | parameters))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss["loss"])
def test_separate_trees_are_those_of_each_column_alone(table, loss):
    X, Y = table
    together = regressor(**loss).fit(X, Y)
    assert together.n_outputs_ == 3
    alone = [regressor(**loss).fit(X, column).predict(X) for column in Y.T]
    np.testing.assert_array_equal(together.predict(X), np.stack(alone, axis=1))


@pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss["loss"])
def test_one_tree_for_all_columns_learns_them(table, loss):
    X, Y = table
    model = regressor(**loss, multi_strategy="vector", n_estimators=60).fit(X[:600], Y[:600])
    constant = regressor(**loss, min_samples_leaf=700, n_estimators=1).fit(X[:600], Y[:600])
    assert model._model.ensemble.n_trees == 60
    metric = {"squared_error": "rmse", "huber": "mae", "log_cosh": "mae"}.get(loss["loss"])
    errors = [
        fitted.set_params(n_estimators=fitted.n_estimators, eval_metric=metric)
        .fit(X[:600], Y[:600], eval_set=(X[600:], Y[600:]))
        .evals_result_["eval_0"]
        for fitted in (model, constant)
    ]
    ((learned,), (guessed,)) = (list(history.values()) for history in errors)
    assert learned[-1] < 0.7 * guessed[-1]


def test_a_column_that_is_repeated_changes_no_tree(table):
    X, Y = table
    one = regressor().fit(X, Y[:, 0])
    two = regressor(multi_strategy="vector").fit(X, Y[:, [0, 0]])
    np.testing.assert_allclose(two.predict(X), one.predict(X)[:, None].repeat(2, 1), rtol=1e-9)


@STRATEGIES
def test_stages_warm_starts_and_stopping_work_with_columns(table, strategy):
    X, Y = table
    options = {"multi_strategy": strategy, "subsample": 0.7, "colsample_bytree": 0.8}
    whole = regressor(**options).fit(X, Y)
    stages = list(whole.staged_predict(X))
    np.testing.assert_array_equal(stages[-1], whole.predict(X))
    half = regressor(**options, warm_start=True).set_params(n_estimators=5).fit(X, Y)
    np.testing.assert_array_equal(half.predict(X), stages[4])
    np.testing.assert_array_equal(half.set_params(n_estimators=10).fit(X, Y).predict(X), stages[-1])
    stopping = {"early_stopping": True, "n_estimators": 200, "learning_rate": 0.7}
    stopped = regressor(**options | stopping).fit(X, Y)
    assert stopped.n_iter_ == stopped.best_iteration_ < 200


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rmse", sk.root_mean_squared_error),
        ("mae", sk.mean_absolute_error),
        ("median_absolute_error", sk.median_absolute_error),
        ("r2", sk.r2_score),
    ],
)
def test_metrics_are_means_over_the_columns(table, name, expected):
    X, Y = table
    weights = np.random.default_rng(1).uniform(0.5, 2, len(X))
    model = regressor(eval_metric=name).fit(X, Y, eval_set=(X, Y, weights))
    value = expected(Y, model.predict(X), sample_weight=weights)
    assert model.evals_result_["eval_0"][name][-1] == pytest.approx(value)


def test_a_users_functions_get_all_columns(table):
    X, Y = table
    seen = []

    def squares(y, scores):
        seen.append((y.shape, scores.shape))
        return scores - y, np.ones_like(y)

    def largest(y, prediction):
        seen.append((y.shape, prediction.shape))
        return np.abs(y - prediction).max()

    model = regressor(loss=squares, eval_metric=largest)
    centred = Y - Y.mean(axis=0)
    model.fit(X, centred, eval_set=(X, centred))
    assert set(seen) == {((800, 3), (800, 3))}
    np.testing.assert_allclose(model.predict(X), regressor().fit(X, centred).predict(X), atol=1e-9)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, np.ndarray.tolist])
def test_columns_come_as_arrays_frames_or_lists(table, frame):
    X, Y = table
    np.testing.assert_array_equal(
        regressor().fit(X, frame(Y)).predict(X), regressor().fit(X, Y).predict(X)
    )


@STRATEGIES
@pytest.mark.parametrize("loss", ["log_loss", "exponential", "focal", "hinge"])
def test_labels_have_a_score_each(labels, loss, strategy):
    X, Y = labels
    model = classifier(loss=loss, multi_strategy=strategy, n_estimators=40).fit(X, Y)
    scores = model.decision_function(X)
    assert scores.shape == model.predict(X).shape == (800, 3)
    assert [classes.tolist() for classes in model.classes_] == [[0, 1]] * 3
    np.testing.assert_array_equal(model.predict(X), scores > 0)
    assert (model.predict(X) == Y).mean() > 0.75
    if loss == "log_loss":
        p = model.predict_proba(X)
        np.testing.assert_allclose(p, 1 / (1 + np.exp(-scores)))
        np.testing.assert_array_equal(p, list(model.staged_predict_proba(X))[-1])
        np.testing.assert_array_equal(np.log(p), model.predict_log_proba(X))


def test_separate_labels_are_those_of_a_classifier_each(labels):
    X, Y = labels
    together = classifier().fit(X, Y)
    apart = MultiOutputClassifier(classifier()).fit(X, Y)
    np.testing.assert_array_equal(together.predict(X), apart.predict(X))
    expected = np.stack([p[:, 1] for p in apart.predict_proba(X)], axis=1)
    np.testing.assert_array_equal(together.predict_proba(X), expected)


def test_labels_may_be_of_any_two_classes(labels):
    X, Y = labels
    names = pd.DataFrame({"dry": np.array(["no", "yes"])[Y[:, 0]], "old": Y[:, 1] == 1})
    model = classifier().fit(X, names)
    assert [classes.tolist() for classes in model.classes_] == [["no", "yes"], [False, True]]
    predicted = model.predict(X)
    assert set(predicted[:, 0]) == {"no", "yes"}
    np.testing.assert_array_equal(
        model.predict_proba(X), classifier().fit(X, Y[:, :2]).predict_proba(X)
    )


def test_a_label_that_no_row_has_is_never_predicted(labels):
    X, Y = labels
    model = classifier().fit(X, np.column_stack([Y[:, 0], np.zeros(800, int), np.ones(800, int)]))
    assert [classes.tolist() for classes in model.classes_] == [[0, 1]] * 3
    predicted = model.predict(X)
    assert not predicted[:, 1].any()
    assert predicted[:, 2].all()


def test_labels_are_measured_and_cross_validated(labels):
    X, Y = labels
    model = classifier(eval_metric=["log_loss", "auc", "accuracy"]).fit(X, Y, eval_set=(X, Y))
    measured = {name: values[-1] for name, values in model.evals_result_["eval_0"].items()}
    p = model.predict_proba(X)
    assert measured["log_loss"] == pytest.approx(
        np.mean([sk.log_loss(Y[:, k], p[:, k]) for k in range(3)])
    )
    assert measured["auc"] == pytest.approx(sk.roc_auc_score(Y, p))
    assert measured["accuracy"] == pytest.approx(1 - sk.hamming_loss(Y, model.predict(X)))
    assert (cross_val_score(classifier(n_estimators=30), X, Y, scoring="f1_macro") > 0.8).all()
    stopped = classifier(early_stopping=True, n_estimators=400, learning_rate=0.7).fit(X, Y)
    assert stopped.n_iter_ < 400


@STRATEGIES
def test_files_keep_columns(table, labels, tmp_path, strategy):
    X, Y = table
    for model in (
        regressor(multi_strategy=strategy, loss="poisson").fit(X, Y),
        classifier(multi_strategy=strategy).fit(*labels),
    ):
        model.save(tmp_path / "model")
        loaded = hr.load(tmp_path / "model")
        assert loaded.n_outputs_ == 3
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        np.testing.assert_equal(vars(loaded).get("classes_"), vars(model).get("classes_"))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"classes": [{"dtype": "int64", "values": [0, 1]}] * 2}, "number of outputs"),
        ({"classes": [{"dtype": "int64", "values": [0, 1, 2]}] * 3}, "does not have two classes"),
        ({"classes": [{"dtype": "int64", "values": [0, 1]}]}, "fewer than two labels"),
        ({"classes": []}, "fewer than two labels"),
        ({"classes": {"dtype": "int64", "values": [0, 1]}}, "number of outputs"),
        ({"link": "softmax"}, "the link is 'softmax'"),
    ],
)
def test_files_whose_labels_do_not_fit_are_refused(labels, changed, message):
    document, arrays = write_estimator(classifier(multi_strategy="vector").fit(*labels))
    with pytest.raises(ModelFileError, match=message):
        read_estimator(document | changed, arrays)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "mape"}, "loss='mape' weights rows by their target"),
        ({"loss": "quantile", "quantile": [0.1, 0.9]}, r"quantile=\[0.1, 0.9\].*several columns"),
        ({"loss": "gamma"}, r"Column 1 of y: y is -3 in row 5.*'gamma' needs y > 0"),
    ],
)
def test_what_has_no_meaning_for_columns_is_refused(table, parameters, message):
    X, Y = table
    Y = Y.copy()
    Y[5, 1] = -3
    with pytest.raises((ParameterError, DataError), match=message):
        regressor(**parameters).fit(X, Y)


@pytest.mark.parametrize("parameters", [{"class_weight": "balanced"}, {"scale_pos_weight": 2.0}])
def test_weights_of_classes_need_one_column(labels, parameters):
    with pytest.raises(ParameterError, match="y has 3 labels"):
        classifier(**parameters).fit(*labels)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda Y: np.where(np.arange(800)[:, None] == 3, 7, Y), "Column 0 of y has 3 classes"),
        (lambda Y: 0 * Y + 5, "Column 0 of y contains only one class"),
        (lambda Y: np.where(np.arange(800)[:, None] == 3, np.nan, Y), "first in row 3"),
        (lambda Y: Y + 0.5 * np.arange(800)[:, None], "continuous"),
        (lambda Y: Y[:700], "y has 700 values, but X has 800 rows"),
        (scipy.sparse.csr_array, "y is sparse"),
        (lambda Y: Y[:, :, None], "1d array"),
    ],
)
def test_what_is_no_label_is_refused(labels, change, message):
    X, Y = labels
    with pytest.raises(DataError, match=message):
        classifier().fit(X, change(Y))


def test_evaluation_sets_and_warm_starts_need_the_same_columns(table, labels):
    X, Y = table
    with pytest.raises(DataError, match=r"eval_set\[0\]: y has 2 columns, but had 3 in fit"):
        regressor().fit(X, Y, eval_set=(X, Y[:, :2]))
    with pytest.raises(DataError, match=r"eval_set\[0\]: y has 2 columns, but had 1 in fit"):
        regressor().fit(X, Y[:, 0], eval_set=(X, Y[:, :2]))
    with pytest.raises(DataError, match=r"eval_set\[0\]: y has 2 columns, but there are 3 labels"):
        classifier().fit(*labels, eval_set=(X, labels[1][:, :2]))
    model = regressor(warm_start=True).fit(X, Y)
    with pytest.raises(DataError, match="has 3 outputs, but loss and y now need 1"):
        model.set_params(n_estimators=20).fit(X, Y[:, 0])


def test_structure_scores_add_up_for_columns(table):
    X, Y = table
    model = regressor().fit(X, Y)
    scores = hr.theory.structure_score(model, X, Y)
    np.testing.assert_allclose(scores.recomputed, scores.score, rtol=1e-9)
    assert scores.output.tolist() == [0, 1, 2] * 10


@pytest.mark.parametrize(
    "kind",
    [
        *("GradientBoostingClassifier", "DecisionTreeClassifier", "RandomForestClassifier"),
        *("BaggingClassifier", "KNeighborsClassifier"),
    ],
)
@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame, lambda y: y.tolist()])
def test_two_columns_of_strings_are_scored_by_the_rows_that_are_all_right(kind, container):
    rows = np.random.default_rng(0).normal(size=(80, 2))
    first, second = (np.sin(3 * rows) + rows[:, ::-1] > 0).T
    names = np.column_stack([np.where(first, "a", "b"), np.where(second, "x", "yy")])
    model = getattr(hr, kind)().fit(rows[:40], container(names[:40]))
    is_right = (model.predict(rows) == names).all(axis=1)
    assert 0.3 < model.score(rows, container(names)) == is_right.mean() < 1.0
    weights = np.arange(80.0)
    weighted = model.score(rows, container(names), sample_weight=weights)
    assert weighted == pytest.approx(np.average(is_right, weights=weights))
