"""One tree a round for all classes: the promises of boosting hold for it as for a tree a class."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import hedgerow as hr
from hedgerow.exceptions import ParameterError

VECTOR = {"multi_strategy": "vector", "n_estimators": 12, "max_leaves": 8, "min_samples_leaf": 5}


@pytest.fixture(scope="module")
def classes():
    """Four classes of a table with gaps and a categorical column."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 5))
    X[:, 3] = rng.integers(0, 12, 900)
    y = np.digitize(X[:, 0] + np.sin(X[:, 3]) + 0.3 * rng.standard_normal(900), [-1, 0, 1])
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, np.array(["ash", "beech", "elm", "oak"])[y]


def fitted(classes, **changes):
    X, y = classes
    model = hr.GradientBoostingClassifier(**(VECTOR | {"categorical_features": [3]} | changes))
    return model.fit(X[:600], y[:600])


def test_a_round_has_one_tree_with_a_value_for_each_class(classes):
    model = fitted(classes)
    ensemble = model._model.ensemble
    assert (ensemble.n_trees, ensemble.n_rounds, model.n_iter_) == (12, 12, 12)
    assert ensemble.value.shape[1] == 4
    assert model.apply(classes[0]).shape == (900, 12)
    assert model.predict_proba(classes[0]).shape == (900, 4)
    assert model.score(*classes) > 0.7


def test_stages_end_with_the_model(classes):
    X, _ = classes
    model = fitted(classes)
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == 12
    np.testing.assert_array_equal(stages[-1], model.predict_proba(X))
    np.testing.assert_array_equal(stages[4], fitted(classes, n_estimators=5).predict_proba(X))


def test_a_warm_start_ends_where_one_fit_would(classes):
    X, y = classes
    model = fitted(classes, n_estimators=5, warm_start=True, subsample=0.7, colsample_bytree=0.8)
    model.set_params(n_estimators=12).fit(X[:600], y[:600])
    straight = fitted(classes, subsample=0.7, colsample_bytree=0.8)
    np.testing.assert_array_equal(model.decision_function(X), straight.decision_function(X))


def test_rounds_are_measured_and_the_best_is_kept(classes):
    X, y = classes
    model = hr.GradientBoostingClassifier(
        **VECTOR | {"n_estimators": 300}, learning_rate=0.5, early_stopping=True
    )
    model.fit(X[:600], y[:600], eval_set=[(X[600:], y[600:])])
    history = model.evals_result_["eval_0"]["log_loss"]
    assert model.n_iter_ == model.best_iteration_ == int(np.argmin(history)) + 1 < 290
    assert model._model.ensemble.n_trees == model.n_iter_
    for value, p in zip(history, model.staged_predict_proba(X[600:]), strict=False):
        assert value == pytest.approx(log_loss(y[600:], p))


def test_files_pickles_and_clones_keep_the_model(classes, tmp_path):
    X, y = classes
    model = fitted(classes)
    model.save(tmp_path / "model")
    for copy in (hr.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
        assert copy.multi_strategy == "vector"
    again = clone(model).fit(X[:600], y[:600])
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_importances_are_sums_over_the_splits(classes):
    model = fitted(classes)
    ensemble = model._model.ensemble
    inner = ensemble.feature >= 0
    assert model.importances("split").sum() == inner.sum()
    assert model.importances("gain").sum() == pytest.approx(ensemble.gain.sum())
    assert model.feature_importances_.argmax() in (0, 3)


def test_a_users_loss_grows_vectors_too(classes):
    X, y = classes

    def multinomial(y, scores):
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return p - np.eye(4)[y.astype(int)], p * (1 - p)

    model = fitted(classes, loss=multinomial)
    assert model._model.ensemble.value.shape[1] == 4
    assert model.score(X, y) > 0.7


@pytest.mark.parametrize(
    "mode",
    [
        {"sampling": "gradient", "subsample": 0.5},
        {"sampling": "minimal_variance", "subsample": 0.5},
        {"sampling": "balanced"},
        {"boosting": "dart", "drop_rate": 0.5, "skip_drop": 0.0},
        {"calibration": "isotonic"},
        {"grow_policy": "levelwise", "max_depth": 3, "max_leaves": None},
    ],
    ids=lambda mode: "-".join(map(str, mode.values())),
)
def test_vectors_grow_in_every_mode(classes, mode):
    model = fitted(classes, **mode)
    assert model._model.ensemble.value.shape[1] == 4
    assert model.score(*classes) > 0.6


def test_rounds_can_be_taken_out_and_leaves_refitted(classes):
    X, y = classes
    model = fitted(classes)
    np.testing.assert_array_equal(
        model[:5].predict_proba(X), list(model.staged_predict_proba(X))[4]
    )
    before = model.decision_function(X)
    np.testing.assert_allclose(
        model.refit(X[:600], y[:600]).decision_function(X), before, atol=1e-9
    )
    assert np.abs(model.refit(X[600:], y[600:]).decision_function(X) - before).max() > 0.1


def test_a_broken_off_fit_goes_on_from_its_checkpoint(classes, tmp_path):
    X, y = classes

    def stop(info):
        if info.round == 7:
            raise KeyboardInterrupt

    options = {"checkpoint": tmp_path / "checkpoint", "checkpoint_every": 3}
    model = hr.GradientBoostingClassifier(**VECTOR, subsample=0.7)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, callbacks=[stop], **options)
    model.fit(X, y, **options)
    straight = hr.GradientBoostingClassifier(**VECTOR, subsample=0.7).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), straight.decision_function(X))


def test_two_classes_have_one_output_and_so_the_same_trees(classes):
    X, y = classes
    two = [
        hr.GradientBoostingClassifier(**VECTOR | {"multi_strategy": strategy}).fit(X, y > "c")
        for strategy in ("vector", "separate")
    ]
    assert two[0]._model.ensemble == two[1]._model.ensemble


def test_one_tree_for_ten_classes_learns_the_digits():
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = hr.GradientBoostingClassifier(multi_strategy="vector", budget=0.3)
    model.fit(X_train, y_train)
    assert model.score(X_test, y_test) > 0.95


@pytest.mark.parametrize("strategy", ["vector", "separate"])
def test_several_quantiles_of_one_tree_are_in_order_and_cover_their_part(strategy):
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (6_000, 3))
    y = X[:, 0] + (0.2 + np.abs(X[:, 1])) * rng.standard_normal(6_000)
    levels = [0.1, 0.5, 0.9]
    model = hr.GradientBoostingRegressor(
        loss="quantile", quantile=levels, multi_strategy=strategy, n_estimators=60
    ).fit(X[:4_000], y[:4_000])
    at = model.predict(X[4_000:])
    assert at.shape == (2_000, 3)
    assert (np.diff(at, axis=1) >= 0).all()
    np.testing.assert_allclose((y[4_000:, None] <= at).mean(axis=0), levels, atol=0.03)


def test_the_leaves_of_one_tree_hold_each_outputs_quantile():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((500, 2)), rng.standard_normal(500)
    model = hr.GradientBoostingRegressor(
        loss="quantile", quantile=[0.25, 0.75], multi_strategy="vector",
        n_estimators=1, max_leaves=4, learning_rate=1.0,
    ).fit(X, y)  # fmt: skip
    leaf = model.apply(X)[:, 0]
    for node in np.unique(leaf):
        predicted = model.predict(X[leaf == node])[0]
        low, high = np.quantile(y[leaf == node], [0.25, 0.75], method="inverted_cdf")
        np.testing.assert_allclose(predicted, [low, high], atol=0.1)


def test_exact_splits_are_refused_before_any_work():
    model = hr.GradientBoostingClassifier(multi_strategy="vector", splitter="exact")
    with pytest.raises(ParameterError, match=r"with splitter='exact'.*splitter='hist' or 'approx'"):
        model.fit("no table", "no classes")


def test_an_unknown_strategy_is_refused():
    with pytest.raises(ParameterError, match=r"multi_strategy='one'.*'separate' or 'vector'"):
        hr.GradientBoostingRegressor(multi_strategy="one").fit([[1.0], [2.0]], [1.0, 2.0])


def test_a_warm_start_refuses_trees_of_the_other_kind(classes):
    X, y = classes
    model = fitted(classes, warm_start=True)
    before = model.predict_proba(X)
    with pytest.raises(ParameterError, match=r"multi_strategy='separate'.*other strategy"):
        model.set_params(multi_strategy="separate", n_estimators=20).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_structure_scores_need_the_sums_of_every_output(classes):
    with pytest.raises(ParameterError, match=r"multi_strategy='vector'"):
        hr.theory.structure_score(fitted(classes))
