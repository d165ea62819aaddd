"""AdaBoost.M1 for several classes, its bound with and without resets, and class weights."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow import theory
from hedgerow.exceptions import ParameterError

RNG = np.random.default_rng(5)
X = np.round(RNG.normal(size=(160, 3)), 1)
NUMBERS = X[:, 0] + X[:, 1] ** 2 + RNG.normal(size=160) * 0.5
FOUR = np.digitize(NUMBERS, [0.0, 1.0, 2.0])
TWO = (NUMBERS > 1).astype(int)
TREE = DecisionTreeClassifier(max_depth=3)


def algorithm_57(base, X, y, n_rounds, seed):
    """Algorithm 5.7 for any number of classes: errors, α, resets, and the votes for each class.

    A member with ε = ½ exactly has α = 0 and changes nothing, so it is not counted as a round.
    """
    random, N = np.random.RandomState(seed), len(y)
    w, votes = np.full(N, 1 / N), np.zeros((N, y.max() + 1))
    errors, alphas, resets = [], [], []
    while len(errors) < n_rounds:
        resets.append(0)
        while True:
            base.set_params(random_state=random.randint(2**31 - 1))
            sample = random.choice(N, size=N, p=w)
            predicted = base.fit(X[sample], y[sample]).predict(X)
            epsilon = w[predicted != y].sum()
            if epsilon < 0.5 - 1e-12:
                break
            if epsilon > 0.5 + 1e-12:
                w = np.full(N, 1 / N)
                resets[-1] += 1
        alpha = 0.5 * np.log((1 - epsilon) / epsilon)
        w = w * np.where(predicted == y, np.exp(-alpha), np.exp(alpha))
        w /= w.sum()
        errors.append(epsilon)
        alphas.append(alpha)
        votes[np.arange(N), predicted] += alpha
    return errors, alphas, resets, votes


@pytest.fixture(scope="module")
def reset_model():
    options = {"algorithm": "M1", "resample": True, "n_estimators": 25, "random_state": 4}
    weak = DecisionTreeClassifier(max_depth=2)
    return hr.AdaBoostClassifier(weak, **options).fit(X, FOUR), weak


def test_m1_with_resampling_is_algorithm_57_for_several_classes(reset_model):
    model, weak = reset_model
    errors, alphas, resets, votes = algorithm_57(weak, X, FOUR, 25, seed=4)
    assert sum(resets[1:]) > 0
    np.testing.assert_allclose(model.estimator_errors_, errors, rtol=1e-9)
    np.testing.assert_allclose(model.estimator_weights_ / 2, alphas, rtol=1e-9)
    assert model.resets_.tolist() == resets
    np.testing.assert_array_equal(model.predict(X), votes.argmax(axis=1))


def test_after_a_reset_the_mean_of_the_exponential_loss_is_the_bound(reset_model):
    model, _ = reset_model
    bound = theory.adaboost_bound(model, X, FOUR)
    f = np.zeros(len(X))  # the weight of the votes for a row's class minus that of the others
    for m, (alpha, member) in enumerate(
        zip(model.estimator_weights_, model.estimators_, strict=True)
    ):
        f += alpha * np.where(member.predict(X) == FOUR, 1, -1)
        assert bound.bound[m] == pytest.approx(np.exp(-f / 2).mean(), rel=1e-9)
    assert (bound.training_error <= bound.bound).all()
    product = np.cumprod(2 * np.sqrt(bound.errors * (1 - bound.errors)))
    before = int(np.flatnonzero(model.resets_[1:])[0]) + 1
    np.testing.assert_allclose(bound.bound[:before], product[:before], rtol=1e-9)
    assert abs(bound.bound[-1] - product[-1]) > 0.01 * product[-1]


def test_the_bound_of_m1_falls_with_every_round_for_several_classes():
    model = hr.AdaBoostClassifier(TREE, algorithm="M1", n_estimators=15).fit(X, FOUR)
    w = np.full(len(X), 1 / len(X))
    for err, alpha, member in zip(
        model.estimator_errors_, model.estimator_weights_, model.estimators_, strict=True
    ):
        wrong = member.predict(X) != FOUR
        assert err == pytest.approx(w[wrong].sum(), rel=1e-9)
        assert alpha == pytest.approx(np.log((1 - err) / err), rel=1e-9)
        w[wrong] *= np.exp(alpha)
        w /= w.sum()
    bound = theory.adaboost_bound(model, X, FOUR)
    np.testing.assert_allclose(
        bound.bound, np.cumprod(2 * np.sqrt(bound.errors * (1 - bound.errors))), rtol=1e-9
    )
    assert (np.diff(bound.bound) < 0.0).all()
    assert (bound.training_error <= bound.bound).all()


def test_for_two_classes_m1_is_samme():
    m1, samme = (
        hr.AdaBoostClassifier(algorithm=a, n_estimators=8).fit(X, TWO) for a in ("M1", "SAMME")
    )
    np.testing.assert_array_equal(m1.decision_function(X), samme.decision_function(X))


def test_m1_ends_at_a_base_model_that_errs_half_of_the_time():
    samme = hr.AdaBoostClassifier(max_depth=2, n_estimators=20).fit(X, FOUR)
    assert (samme.estimator_errors_ >= 0.5).any()
    m1 = hr.AdaBoostClassifier(algorithm="M1", max_depth=2, n_estimators=20).fit(X, FOUR)
    assert 0 < len(m1.estimator_errors_) < 20
    assert (m1.estimator_errors_ < 0.5).all()
    with pytest.warns(UserWarning, match="has an error below 0.5"):
        hr.AdaBoostClassifier(algorithm="M1").fit(X, FOUR)


def test_m1_is_saved(tmp_path):
    model = hr.AdaBoostClassifier(algorithm="M1", max_depth=3, n_estimators=5).fit(X, FOUR)
    model.save(tmp_path / "m1.hedgerow")
    read = hr.load(tmp_path / "m1.hedgerow")
    np.testing.assert_array_equal(read.predict_proba(X), model.predict_proba(X))
    assert next(read.staged_weights(X, FOUR)).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("algorithm", ["SAMME", "M1", "real", "gentle", "logit"])
def test_class_weights_are_initial_weights(algorithm):
    of_class = {0: 4.0, 3: 0.5}
    w = np.array([of_class.get(label, 1.0) for label in FOUR])
    options = {"algorithm": algorithm, "n_estimators": 4, "max_depth": 2}
    weighted = hr.AdaBoostClassifier(class_weight=of_class, **options).fit(X, FOUR)
    expected = hr.AdaBoostClassifier(**options).fit(X, FOUR, sample_weight=w)
    np.testing.assert_array_equal(weighted.decision_function(X), expected.decision_function(X))
    for ours, theirs in zip(
        weighted.staged_weights(X, FOUR), expected.staged_weights(X, FOUR, w), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_balanced_classes_have_the_same_initial_weight():
    model = hr.AdaBoostClassifier(class_weight="balanced", n_estimators=3).fit(X, FOUR)
    start = next(model.staged_weights(X, FOUR))
    np.testing.assert_allclose(np.bincount(FOUR, start), 0.25)
    bound = theory.adaboost_bound(model, X, FOUR)
    errors = [start[stage != FOUR].sum() for stage in model.staged_predict(X)]
    np.testing.assert_allclose(bound.training_error, errors)


def test_a_class_weight_for_a_class_that_does_not_exist_is_refused():
    with pytest.raises(ParameterError, match=r"class_weight refers to \[9\]"):
        hr.AdaBoostClassifier(class_weight={9: 1.0}).fit(X, FOUR)


@pytest.mark.parametrize("y", [TWO, FOUR], ids=["two", "four"])
def test_stumps_by_error_have_the_least_weighted_error_of_all(y):
    model = hr.AdaBoostClassifier(criterion="error", n_estimators=8).fit(X, y)
    cuts = [(j, c) for j in range(X.shape[1]) for c in np.unique(X[:, j])[1:]]
    for w, err in zip(model.staged_weights(X, y), model.estimator_errors_, strict=False):
        least = min(
            1 - sum(np.bincount(y[side], w[side]).max() for side in (X[:, j] < c, X[:, j] >= c))
            for j, c in cuts
        )
        assert err == pytest.approx(least, abs=1e-9)
