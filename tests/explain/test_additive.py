"""Every tree model as a sum of trees: its sum is the score, and what is no such sum is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hedgerow as hr
from hedgerow._tree.additive import additive_trees


def table(n_rows: int = 120, seed: int = 0) -> pd.DataFrame:
    draw = np.random.RandomState(seed)
    frame = pd.DataFrame(
        {
            "a": draw.normal(size=n_rows),
            "b": draw.randint(0, 5, n_rows).astype(float),
            "c": draw.choice(["u", "v", "w"], n_rows),
            "d": draw.normal(size=n_rows),
        }
    )
    frame.loc[frame.index % 7 == 0, "a"] = np.nan
    return frame


X = table()
CODE = X["c"].map({"u": 0.0, "v": 1.0, "w": 2.0}).to_numpy()
NUMBER = np.nan_to_num(X["a"].to_numpy()) * CODE + X["b"].to_numpy() - X["d"].to_numpy()
TWO = np.where(NUMBER > 2.0, "yes", "no")
THREE = np.digitize(NUMBER, [1.0, 3.0])
NUMBERS = np.column_stack([NUMBER, -(CODE**2)])

BOOSTED = {"n_estimators": 5, "max_leaves": 6}
FEW = {"n_estimators": 4, "max_depth": 3}


def test_boosting_of_two_classes_is_its_decision_function() -> None:
    model = hr.GradientBoostingClassifier(**BOOSTED).fit(X, TWO)
    trees = additive_trees(model)
    assert np.array_equal(trees.scores(X)[:, 0], model.decision_function(X))
    assert (trees.output_names, trees.unit) == (("yes",), "log-odds")
    assert trees.feature_names == ("a", "b", "c", "d")


@pytest.mark.parametrize("multi_strategy", ["separate", "vector"])
def test_boosting_of_more_classes_is_its_decision_function(multi_strategy: str) -> None:
    model = hr.GradientBoostingClassifier(multi_strategy=multi_strategy, **BOOSTED).fit(X, THREE)
    trees = additive_trees(model)
    assert np.array_equal(trees.scores(X), model.decision_function(X))
    assert trees.output_names == ("0", "1", "2")


def test_boosting_of_several_labels_names_their_columns() -> None:
    y = np.column_stack([NUMBER > 2.0, CODE > 1.0])
    model = hr.GradientBoostingClassifier(**BOOSTED).fit(X, y)
    trees = additive_trees(model)
    assert np.array_equal(trees.scores(X), model.decision_function(X))
    assert trees.output_names == ("y0=True", "y1=True")


@pytest.mark.parametrize(
    ("loss", "unit"), [("squared_error", "the target"), ("poisson", "log of the mean")]
)
def test_boosting_of_numbers_is_its_prediction_before_the_link(loss: str, unit: str) -> None:
    model = hr.GradientBoostingRegressor(loss=loss, **BOOSTED).fit(X, np.abs(NUMBER))
    trees = additive_trees(model)
    raw = trees.scores(X)[:, 0]
    expected = np.exp(raw) if loss == "poisson" else raw
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-12)
    assert (trees.output_names, trees.unit) == (("y",), unit)


def test_quantiles_are_named_by_their_levels() -> None:
    model = hr.GradientBoostingRegressor(loss="quantile", quantile=[0.1, 0.9], **BOOSTED)
    trees = additive_trees(model.fit(X, NUMBER))
    assert trees.output_names == ("quantile 0.1", "quantile 0.9")


def test_a_column_of_many_categories_is_the_source_of_several_features() -> None:
    draw = np.random.RandomState(1)
    frame = X.assign(e=[f"k{k}" for k in draw.randint(0, 30, len(X))])
    model = hr.GradientBoostingRegressor(max_categories=8, **BOOSTED).fit(frame, NUMBER)
    trees = additive_trees(model)
    assert trees.n_columns == 5
    assert np.count_nonzero(trees.sources == 4) > 1
    assert np.array_equal(trees.scores(frame)[:, 0], model.predict(frame))


def test_a_ranker_is_read_with_and_without_its_queries() -> None:
    table = np.column_stack([np.repeat(np.arange(12), 10), X[["a", "b", "d"]].to_numpy()])
    model = hr.GradientBoostingRanker(qid_column=0, **BOOSTED).fit(table, THREE)
    trees = additive_trees(model)
    assert np.array_equal(trees.scores(table)[:, 0], model.predict(table))
    assert np.array_equal(trees.features(table), table[:, 1:], equal_nan=True)
    assert (trees.feature_names, trees.unit) == (("x0", "x1", "x2"), "score")


@pytest.mark.parametrize(
    ("loss", "unit"), [("cox", "log of the relative risk"), ("aft", "log of the time")]
)
def test_a_survival_model_is_its_score(loss: str, unit: str) -> None:
    times = np.exp(NUMBER / 4.0)
    model = hr.GradientBoostingSurvival(loss=loss, **BOOSTED).fit(X, times)
    trees = additive_trees(model)
    raw = trees.scores(X)[:, 0]
    np.testing.assert_allclose(model.predict(X), np.exp(raw) if loss == "aft" else raw, rtol=1e-12)
    assert trees.unit == unit


@pytest.mark.parametrize("splitter", ["exact", "hist"])
def test_a_decision_tree_is_its_probabilities(splitter: str) -> None:
    tree = hr.DecisionTreeClassifier(splitter=splitter, max_depth=3)
    two = additive_trees(tree.fit(X, TWO))
    assert np.array_equal(two.scores(X)[:, 0], tree.predict_proba(X)[:, 1])
    assert (two.output_names, two.unit) == (("yes",), "probability")
    three = additive_trees(tree.fit(X, THREE))
    assert np.array_equal(three.scores(X), tree.predict_proba(X))


def test_a_decision_tree_of_several_outputs_names_columns_and_classes() -> None:
    tree = hr.DecisionTreeClassifier(max_depth=3).fit(X, np.column_stack([THREE, CODE > 1.0]))
    trees = additive_trees(tree)
    assert trees.output_names == ("y0=0", "y0=1", "y0=2", "y1=1")
    first, second = tree.predict_proba(X)
    assert np.array_equal(trees.scores(X), np.column_stack([first, second[:, 1]]))


@pytest.mark.parametrize("kind", [hr.RandomForestRegressor, hr.ExtraTreesRegressor])
def test_a_forest_is_its_mean(kind: type) -> None:
    forest = kind(**FEW).fit(X, NUMBERS)
    trees = additive_trees(forest)
    np.testing.assert_allclose(trees.scores(X), forest.predict(X), atol=1e-12)
    assert trees.output_names == ("y0", "y1")


@pytest.mark.parametrize("kind", [hr.RandomForestClassifier, hr.ExtraTreesClassifier])
def test_a_forest_is_its_probabilities(kind: type) -> None:
    forest = kind(**FEW).fit(X, THREE)
    np.testing.assert_allclose(
        additive_trees(forest).scores(X), forest.predict_proba(X), atol=1e-12
    )


@pytest.mark.parametrize("voting", ["soft", "hard"])
@pytest.mark.parametrize("max_features", [1.0, 0.5])
@pytest.mark.parametrize("splitter", ["hist", "exact"])
def test_bagging_of_trees_is_its_probabilities(
    voting: str, max_features: float, splitter: str
) -> None:
    tree = hr.DecisionTreeClassifier(max_depth=3, splitter=splitter)
    bag = hr.BaggingClassifier(
        tree, 5, voting=voting, max_features=max_features, max_samples=0.3
    ).fit(X, THREE)
    np.testing.assert_allclose(additive_trees(bag).scores(X), bag.predict_proba(X), atol=1e-12)


def test_bagging_of_trees_that_miss_a_class_is_its_probabilities() -> None:
    samples = [np.flatnonzero(missed != THREE) for missed in (0, 1, 2)]
    bag = hr.BaggingClassifier(n_estimators=3).fit(X, THREE, samples=samples)
    np.testing.assert_allclose(additive_trees(bag).scores(X), bag.predict_proba(X), atol=1e-12)


def test_bagging_of_regression_trees_is_its_mean() -> None:
    bag = hr.BaggingRegressor(n_estimators=4, max_features=0.5, bootstrap_features=True)
    bag.fit(X, NUMBERS)
    trees = additive_trees(bag)
    np.testing.assert_allclose(trees.scores(X), bag.predict(X), atol=1e-12)
    assert trees.sources.tolist() == np.concatenate(bag.estimators_features_).tolist()


@pytest.mark.parametrize("algorithm", ["SAMME", "real", "gentle", "logit"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_adaboost_is_its_decision_function(algorithm: str, y: np.ndarray) -> None:
    model = hr.AdaBoostClassifier(n_estimators=5, max_depth=2, algorithm=algorithm).fit(X, y)
    decision = model.decision_function(X).reshape(len(X), -1)
    np.testing.assert_allclose(additive_trees(model).scores(X), decision, atol=1e-12)


NUMBERS_ONLY = X[["b", "d"]].to_numpy()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (hr.SVC().fit(NUMBERS_ONLY, TWO), "SVC is not a sum of trees"),
        (hr.KNeighborsClassifier().fit(NUMBERS_ONLY, TWO), "not a sum of trees"),
        (hr.AdaBoostRegressor(n_estimators=2).fit(X, NUMBER), "median"),
        (
            hr.AdaBoostClassifier(hr.DecisionTreeClassifier(max_depth=1), n_estimators=2).fit(
                X, TWO
            ),
            "estimator=None",
        ),
        (
            hr.RandomForestRegressor(n_estimators=2, feature_combinations=2).fit(
                NUMBERS_ONLY, NUMBER
            ),
            "feature_combinations=None",
        ),
        (
            hr.BaggingClassifier(LogisticRegression()).fit(NUMBERS_ONLY, TWO),
            "explain each of model.estimators_",
        ),
        (make_pipeline(StandardScaler(), hr.DecisionTreeClassifier()), r"pipeline\[-1\]"),
        (GridSearchCV(hr.DecisionTreeClassifier(), {}).fit(X, TWO), "best_estimator_"),
        (LogisticRegression(), "fitted tree model of Hedgerow"),
        (None, "fitted tree model of Hedgerow"),
    ],
)
def test_what_is_no_sum_of_trees_is_refused(model: object, message: str) -> None:
    with pytest.raises(hr.ParameterError, match=message):
        additive_trees(model)


def test_a_model_that_is_not_fitted_is_refused() -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        additive_trees(hr.RandomForestClassifier())


LEARNERS = [None, hr.DecisionTreeRegressor(max_depth=2), hr.DecisionTreeClassifier(max_depth=1)]


@pytest.mark.parametrize("learner", LEARNERS, ids=["none", "numbers", "signs"])
@pytest.mark.parametrize("frame", [X, X[["a", "b", "d"]]], ids=["categories", "numbers"])
@pytest.mark.parametrize("subsample", [1.0, 0.3])
def test_stagewise_boosting_is_its_decision_function(learner, frame, subsample) -> None:
    for loss, y in (("log_loss", TWO), ("exponential", TWO), ("log_loss", THREE)):
        model = hr.StagewiseClassifier(learner, loss=loss, subsample=subsample, n_estimators=5)
        trees = additive_trees(model.fit(frame, y))
        expected = model.decision_function(frame).reshape(len(y), -1)
        assert np.allclose(trees.scores(frame), expected, rtol=0, atol=1e-12)
        probabilities = trees.prediction.of(trees.scores(frame))
        assert np.allclose(probabilities, model.predict_proba(frame)[:, -probabilities.shape[1] :])


@pytest.mark.parametrize("step", ["line_search", "per_leaf", "newton"])
@pytest.mark.parametrize("loss", ["squared_error", "huber", "poisson"])
def test_stagewise_boosting_of_numbers_is_its_prediction(step, loss) -> None:
    y = NUMBER - NUMBER.min()
    model = hr.StagewiseRegressor(step=step, loss=loss, n_estimators=5).fit(X, y)
    trees = additive_trees(model)
    scores = trees.scores(X)
    message = scores if trees.prediction is None else trees.prediction.of(scores)
    assert np.allclose(message[:, 0], model.predict(X), rtol=1e-12, atol=0)
    explained = hr.explain.shap_values(model, X)
    assert np.allclose(explained.values.sum(axis=1) + explained.base_values, scores[:, 0])


def test_stagewise_boosting_of_other_learners_is_refused() -> None:
    numbers = X[["b", "d"]]
    of_lines = hr.StagewiseClassifier(LogisticRegression(), n_estimators=2).fit(numbers, TWO)
    with pytest.raises(hr.ParameterError, match="learners of this model are LogisticRegressions"):
        additive_trees(of_lines)
    started = hr.StagewiseClassifier(init=LogisticRegression(), n_estimators=2).fit(numbers, TWO)
    with pytest.raises(
        hr.ParameterError, match="initial scores are predictions of init=LogisticRegression"
    ):
        additive_trees(started)
