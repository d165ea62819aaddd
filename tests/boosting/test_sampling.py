"""`sampling` and `groups` of gradient boosting."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import balanced_accuracy_score, log_loss

from hedgerow import (
    DataError,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ParameterError,
)

RNG = np.random.default_rng(3)
N = 6_000
X = RNG.normal(size=(N, 6))
SIGNAL = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
NUMBERS = SIGNAL + RNG.normal(0, 0.3, N)
LABELS = (RNG.random(N) < expit(2 * SIGNAL)).astype(int)
TRAIN, TEST = slice(0, N // 2), slice(N // 2, N)


@pytest.mark.parametrize("splitter", ["hist", "exact"])
@pytest.mark.parametrize("sampling", ["gradient", "minimal_variance"])
def test_a_third_of_the_rows_by_gradients_learns_about_as_well_as_all(sampling, splitter):
    options = {"n_estimators": 60, "max_leaves": 12, "splitter": splitter}
    all_rows = GradientBoostingClassifier(**options).fit(X[TRAIN], LABELS[TRAIN])
    some = GradientBoostingClassifier(**options, sampling=sampling, subsample=0.33)
    some.fit(X[TRAIN], LABELS[TRAIN])
    loss, other = (log_loss(LABELS[TEST], m.predict_proba(X[TEST])) for m in (some, all_rows))
    assert loss < 1.05 * other
    rows = some._model.ensemble.count[some._model.ensemble.tree_offset[:-1]]
    assert rows.mean() == pytest.approx(0.33 * N / 2, rel=0.03)


@pytest.mark.parametrize("sampling", ["gradient", "minimal_variance"])
def test_quantiles_of_drawn_rows_are_those_of_all(sampling):
    """Rows that are drawn by chance count for the others in the leaves too."""
    options = {"loss": "quantile", "quantile": 0.9, "n_estimators": 1, "learning_rate": 1.0}
    options |= {"max_leaves": 2, "min_samples_leaf": 500}
    model = GradientBoostingRegressor(**options, sampling=sampling, subsample=0.5)
    model.fit(X, NUMBERS)
    leaf = model.apply(X)[:, 0]
    for node in np.unique(leaf):
        covered = (model.predict(X) > NUMBERS)[leaf == node].mean()
        assert covered == pytest.approx(0.9, abs=0.02)


def test_balanced_draws_find_the_rare_class():
    rare = (RNG.random(N) < expit(2 * SIGNAL - 5)).astype(int)
    plain = GradientBoostingClassifier(n_estimators=40).fit(X[TRAIN], rare[TRAIN])
    balanced = GradientBoostingClassifier(n_estimators=40, sampling="balanced")
    balanced.fit(X[TRAIN], rare[TRAIN])
    score, other = (
        balanced_accuracy_score(rare[TEST], m.predict(X[TEST])) for m in (balanced, plain)
    )
    assert score > other + 0.05


RARE = (RNG.random(N) < expit(4 * SIGNAL - 7)).astype(int)


def test_balanced_draws_start_where_classes_are_equally_frequent():
    model = GradientBoostingClassifier(n_estimators=2, sampling="balanced").fit(X, RARE)
    np.testing.assert_allclose(model._model.ensemble.base_score, 0.0, atol=1e-12)
    three = np.digitize(SIGNAL, [0.5, 1.5])
    model.fit(X, three)
    np.testing.assert_allclose(np.ptp(model._model.ensemble.base_score), 0.0, atol=1e-12)


def test_rows_held_out_judge_by_the_balance_that_is_drawn():
    stopped = GradientBoostingClassifier(n_estimators=60, sampling="balanced", early_stopping=True)
    stopped.fit(X[TRAIN], RARE[TRAIN])
    assert stopped.best_iteration_ > 5
    loss = stopped.evals_result_["validation"]["log_loss"]
    assert loss[0] == pytest.approx(np.log(2.0), abs=0.1)  # of equal classes
    assert min(loss) < 0.8 * loss[0]


def test_chosen_rounds_of_balanced_draws_learn_as_much_as_many_rounds():
    chosen, fixed = (
        GradientBoostingClassifier(sampling="balanced", **parameters).fit(X[TRAIN], RARE[TRAIN])
        for parameters in ({"budget": "quick"}, {"n_estimators": 100, "min_samples_leaf": 5})
    )
    scores = [
        balanced_accuracy_score(RARE[TEST], model.predict(X[TEST])) for model in (chosen, fixed)
    ]
    assert chosen.auto_.tried[0].curve[0] == pytest.approx(np.log(2.0), abs=0.25)
    assert scores[0] > scores[1] - 0.02


def test_groups_are_drawn_and_held_out_whole():
    groups = np.array([f"patient {i}" for i in RNG.integers(0, 60, N)])
    model = GradientBoostingRegressor(n_estimators=3, sampling="group", subsample=0.5)
    model.fit(X, NUMBERS, groups=groups)
    sizes = np.unique(groups, return_counts=True)[1]
    count = int(model._model.ensemble.count[0])
    assert 0 < count < N
    reachable = {0}
    for size in sizes.tolist():
        reachable |= {total + size for total in reachable}
    assert count in reachable

    observed = []
    early = GradientBoostingRegressor(
        n_estimators=5,
        early_stopping=True,
        validation_fraction=0.2,
        eval_metric=lambda y, _: ("none", observed.append(np.asarray(y)) or 0.0, False),
    )
    early.fit(X, NUMBERS, groups=groups)
    holdout = np.isin(NUMBERS, observed[0])
    assert set(groups[holdout]).isdisjoint(groups[~holdout])
    assert len(set(groups[holdout])) == 12


@pytest.mark.parametrize("sampling", ["balanced", "group", "gradient", "minimal_variance"])
def test_models_do_not_depend_on_threads(sampling):
    groups = np.arange(N) % 50
    options = {"n_estimators": 6, "sampling": sampling, "subsample": 0.4}
    fits = [
        GradientBoostingClassifier(**options, n_jobs=n_jobs).fit(X, LABELS, groups=groups)
        for n_jobs in (1, 3)
    ]
    assert fits[0]._model.ensemble == fits[1]._model.ensemble


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampling": "group", "subsample": 0.5}, "pass groups to fit"),
        ({"sampling": "balanced"}, "samples rows by class"),
        ({"sampling": "gradient"}, r"subsample='auto' uses all rows"),
        ({"sampling": "minimal_variance"}, r"subsample='auto' uses all rows"),
        ({"sampling": "goss"}, "sampling='goss' is not allowed"),
    ],
)
def test_what_cannot_be_drawn_is_named(options, message):
    with pytest.raises(ParameterError, match=message):
        GradientBoostingRegressor(**options).fit(X, NUMBERS)


def test_groups_are_checked():
    model = GradientBoostingRegressor(n_estimators=2, early_stopping=True)
    with pytest.raises(DataError, match="groups has 3 values"):
        model.fit(X, NUMBERS, groups=[1, 2, 3])
    with pytest.raises(DataError, match="of 1 groups is less than one group"):
        model.fit(X, NUMBERS, groups=np.zeros(N))
