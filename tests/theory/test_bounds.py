"""AdaBoost's bound: theorem 2 and claim 1 on every round, and against weights kept by hand."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_classification
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from hedgerow import DataError, GradientBoostingClassifier, ParameterError, theory

CANCER = load_breast_cancer(return_X_y=True)
IRIS = load_iris(return_X_y=True)
DIGITS = tuple(part[:500] for part in load_digits(return_X_y=True))
NOISY = make_classification(400, 10, flip_y=0.3, random_state=0)
HARD = make_classification(300, 5, n_informative=2, n_redundant=0, class_sep=0.2, random_state=1)
DATA = {"cancer": CANCER, "noisy": NOISY, "hard": HARD, "iris": IRIS, "digits": DIGITS}


def boosted(X, y, sample_weight=None, **parameters):
    parameters = {"n_estimators": 30, "random_state": 0} | parameters
    return AdaBoostClassifier(**parameters).fit(X, y, sample_weight)


def replay(model, X, y, start=None):
    """Boost by hand with the model's members: errors, sums of weights, exponential losses."""
    w = np.full(len(y), 1 / len(y)) if start is None else start / start.sum()
    errors, sums, losses = [], [], []
    against, total = np.zeros(len(y)), 0.0
    start = w.copy()
    for member, alpha in zip(model.estimators_, model.estimator_weights_, strict=False):
        wrong = member.predict(X) != y
        errors.append(w[wrong].sum() / w.sum())
        w = w * np.exp(alpha * wrong)
        sums.append(w.sum())
        against += alpha * wrong
        total += alpha
        losses.append((start * np.exp(against - total / 2)).sum())
    return np.array(errors), np.array(sums), np.array(losses)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("learning_rate", [1.0, 0.3])
def test_the_bound_holds_on_every_round(name, depth, learning_rate):
    X, y = DATA[name]
    member = DecisionTreeClassifier(max_depth=depth)
    model = boosted(X, y, estimator=member, learning_rate=learning_rate)
    result = theory.adaboost_bound(model, X, y)
    assert len(result.rounds) == len(model.estimators_)
    assert (result.training_error <= result.bound + 1e-12).all()
    expected = [(predicted != y).mean() for predicted in model.staged_predict(X)]
    np.testing.assert_allclose(result.training_error, expected)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("learning_rate", [1.0, 0.3])
def test_error_sums_and_bound_are_those_of_weights_kept_by_hand(name, learning_rate):
    X, y = DATA[name]
    model = boosted(X, y, learning_rate=learning_rate)
    result = theory.adaboost_bound(model, X, y)
    errors, sums, losses = replay(model, X, y)
    np.testing.assert_allclose(result.errors, errors, rtol=1e-9)
    np.testing.assert_allclose(result.weight_sums, sums, rtol=1e-9)
    np.testing.assert_allclose(result.bound, losses, rtol=1e-9)


@pytest.mark.parametrize("name", ["cancer", "noisy", "hard"])
def test_two_classes_have_the_theorem_s_product_and_the_claim_s_sums(name):
    result = theory.adaboost_bound(boosted(*DATA[name]))
    err = result.errors
    np.testing.assert_allclose(result.bound, np.cumprod(2 * np.sqrt(err * (1 - err))), rtol=1e-12)
    np.testing.assert_allclose(result.weights, np.log((1 - err) / err), rtol=1e-12)
    before = np.concatenate([[1.0], result.weight_sums[:-1]])
    np.testing.assert_allclose(result.weight_sums, 2 * (1 - err) * before, rtol=1e-12)
    by_edges = np.exp(-2 * np.cumsum(result.edges**2))
    assert (result.bound <= by_edges + 1e-12).all()
    assert result.training_error is None


def test_with_weights_the_weighted_error_is_bounded():
    X, y = NOISY
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(y))
    model = boosted(X, y, weights)
    result = theory.adaboost_bound(model, X, y, weights)
    errors, sums, losses = replay(model, X, y, weights)
    np.testing.assert_allclose(result.errors, errors, rtol=1e-9)
    np.testing.assert_allclose(result.weight_sums, sums, rtol=1e-9)
    np.testing.assert_allclose(result.bound, losses, rtol=1e-9)
    np.testing.assert_allclose(
        result.training_error[-1], np.average(model.predict(X) != y, weights=weights)
    )
    assert (result.training_error <= result.bound).all()


def test_a_perfect_first_member_leaves_nothing_to_bound():
    X = np.arange(10.0)[:, None]
    y = X[:, 0] > 4
    result = theory.adaboost_bound(boosted(X, y), X, y)
    np.testing.assert_array_equal(result.bound, [0.0])
    np.testing.assert_array_equal(result.training_error, [0.0])


def test_a_perfect_member_that_does_not_outvote_the_others_does_not_zero_the_bound():
    """scikit-learn gives a perfect member the weight 1, less than that of the first here."""

    class Scripted(DecisionTreeClassifier):
        calls = 0

        def fit(self, X, y, sample_weight=None):  # noqa: ARG002
            Scripted.calls += 1
            self.is_perfect = Scripted.calls > 1
            return super().fit(X, y)

        def predict(self, X, check_input=True):  # noqa: ARG002
            right = super().predict(X)
            return right if self.is_perfect else np.where(X[:, 0] == 0, 1 - right, right)

    X = np.arange(40.0)[:, None]
    y = (X[:, 0] % 2).astype(int)
    model = AdaBoostClassifier(Scripted(), n_estimators=5).fit(X, y)
    np.testing.assert_array_equal(model.estimator_errors_[:2], [1 / 40, 0.0])
    result = theory.adaboost_bound(model, X, y)
    np.testing.assert_allclose(result.training_error, [1 / 40, 1 / 40])
    assert (result.training_error <= result.bound).all()


def test_labels_of_any_kind():
    X, y = CANCER
    names = np.array(["no", "yes"])[y]
    result = theory.adaboost_bound(boosted(X, names), X, names)
    np.testing.assert_allclose(
        result.training_error, theory.adaboost_bound(boosted(X, y), X, y).training_error
    )


def test_other_models_are_refused_with_a_word_on_what_is_accepted():
    X, y = CANCER
    with pytest.raises(NotFittedError):
        theory.adaboost_bound(AdaBoostClassifier())
    for model in (RandomForestClassifier(5).fit(X, y), GradientBoostingClassifier().fit(X, y)):
        with pytest.raises(ParameterError, match="is not a discrete AdaBoost classifier"):
            theory.adaboost_bound(model, X, y)
    for model in ("model", AdaBoostClassifier, None):
        with pytest.raises(ParameterError, match="must be a discrete AdaBoost"):
            theory.adaboost_bound(model)


def test_what_cannot_be_bounded_is_refused():
    X, y = CANCER
    model = boosted(X, y)
    with pytest.raises(ParameterError, match="both X and y"):
        theory.adaboost_bound(model, X)
    with pytest.raises(DataError, match="y has 5 values"):
        theory.adaboost_bound(model, X, y[:5])
    with pytest.raises(DataError, match="not among the classes"):
        theory.adaboost_bound(model, X, y + 1)
    for name, value, message in (
        ("algorithm", "real", "add scores"),
        ("error_divisor", "rows", "relative to the total weight"),
    ):
        other = boosted(X, y)
        setattr(other, name, value)
        with pytest.raises(ParameterError, match=message):
            theory.adaboost_bound(other, X, y)
    model.resets_ = np.array([0, 0, 2, 0])
    with pytest.raises(ParameterError, match="round 3 of this"):
        theory.adaboost_bound(model)
