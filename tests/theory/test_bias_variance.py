"""Noise, bias and variance: they add up, they are what closed forms and enumeration say."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.cluster import KMeans
from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

import hedgerow as hr
from hedgerow import DataError, ParameterError, theory
from hedgerow.theory._decomposition import squared_error_terms, zero_one_terms

DIABETES = load_diabetes(return_X_y=True)
IRIS = load_iris(return_X_y=True)


def wave(rng, n, sd=0.5):
    x = rng.uniform(0.0, 6.0, n)
    return x[:, None], np.sin(x) + rng.normal(0.0, sd, n), np.sin(x)


def slope(rng, n):
    """Two classes whose log-odds are linear."""
    x = rng.uniform(-1.0, 1.0, (n, 2))
    p = 1.0 / (1.0 + np.exp(-3.0 * (x[:, 0] + x[:, 1])))
    return x, (rng.random(n) < p).astype(int), np.stack([1.0 - p, p], axis=1)


def three(rng, n):
    """Three classes, named, each the likeliest somewhere."""
    x = rng.uniform(0.0, 3.0, (n, 1))
    p = np.full((n, 3), 0.15)
    p[np.arange(n), x[:, 0].astype(int)] = 0.7
    label = (rng.random(n)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    return x, np.array(["a", "b", "c"])[label], p


class Recorder(RegressorMixin, BaseEstimator):
    """Predicts the mean of the training targets."""

    def fit(self, X, y):  # noqa: ARG002
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class ByTurns(ClassifierMixin, BaseEstimator):
    """Predicts, in every row, the class of the first training row."""

    def fit(self, X, y):  # noqa: ARG002
        self.classes_ = np.unique(y)
        self.first_ = y[0]
        return self

    def predict(self, X):
        return np.full(len(X), self.first_)


class Nearest(ClassifierMixin, BaseEstimator):
    """One nearest neighbour on a line."""

    def fit(self, X, y):
        self.classes_, self.X_, self.y_ = np.array([0, 1]), X[:, 0], np.asarray(y)
        return self

    def predict(self, X):
        return self.y_[np.abs(X[:, :1] - self.X_).argmin(axis=1)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["plain", "truth", "repeated"])
def test_squared_error_is_the_sum_of_its_terms(seed, kind):
    rng = np.random.default_rng(seed)
    predicted = rng.normal(size=(7, 30))
    y = rng.normal(size=(30, 4)) if kind == "repeated" else rng.normal(size=30)
    truth = rng.normal(size=30) if kind == "truth" else None
    terms = squared_error_terms(predicted, y, truth, 10)
    assert terms.noise + terms.bias_squared + terms.variance == pytest.approx(
        terms.error, rel=1e-12
    )
    measured = ((predicted[:, :, None] - y.reshape(30, -1)) ** 2).mean()
    assert terms.test_error == pytest.approx(measured, rel=1e-12)
    if truth is None:
        assert terms.error == pytest.approx(measured, rel=1e-12)
    else:
        expected = ((predicted - truth) ** 2).mean() + ((y - truth) ** 2).mean()
        assert terms.error == pytest.approx(expected, rel=1e-12)
    assert terms.noise_is_known == (kind != "plain")


def test_bias_and_variance_are_not_bent_by_few_repeats():
    """With two fits each, the mean of many estimates is the truth."""
    rng = np.random.default_rng(0)
    bias, sd, noise = 0.5, 2.0, 1.5
    estimates = []
    for _ in range(3000):
        predicted = bias + rng.normal(0.0, sd, (2, 5))
        y = rng.normal(0.0, noise, (5, 2))
        terms = squared_error_terms(predicted, y, None, 10)
        estimates.append([terms.noise, terms.bias_squared, terms.variance])
    spread = np.std(estimates, axis=0) / np.sqrt(len(estimates))
    expected = [noise**2, bias**2, sd**2]
    assert (np.abs(np.mean(estimates, axis=0) - expected) < 4 * spread).all()


def test_the_mean_of_a_gaussian_sample_has_variance_sigma_squared_over_n():
    sd, n, centre = 2.0, 25, 3.0

    def draw(rng, n):
        return np.zeros((n, 1)), rng.normal(centre, sd, n), np.full(n, centre)

    result = theory.bias_variance(Recorder(), draw=draw, n_train=n, n_test=5000, n_repeats=2000)
    # The estimate of a variance from B draws has relative standard deviation √(2 / B).
    assert result.variance == pytest.approx(sd**2 / n, rel=4 * np.sqrt(2 / 2000))
    assert result.noise == pytest.approx(sd**2, rel=4 * np.sqrt(2 / 5000))
    assert result.bias_squared == pytest.approx(0.0, abs=4 * np.sqrt(2) * sd**2 / n / 2000)
    assert result.error == pytest.approx(result.noise + result.bias_squared + result.variance)
    np.testing.assert_allclose(result.mean_prediction, centre, atol=4 * sd / np.sqrt(n * 2000))


def test_a_constant_has_only_bias_and_noise():
    result = theory.bias_variance(
        DummyRegressor(strategy="constant", constant=2.0), draw=wave, n_train=5, n_repeats=3
    )
    assert result.variance == 0.0
    _, _, truth = wave(np.random.default_rng(0), 200_000)
    assert result.bias_squared == pytest.approx(((2.0 - truth) ** 2).mean(), rel=0.1)
    assert result.noise == pytest.approx(0.25, rel=0.25)


def test_ordinary_least_squares_has_the_textbook_s_variance():
    """At a fixed design, σ² xᵀ (XᵀX)⁻¹ x, and no bias where the truth is linear."""
    design = np.random.default_rng(0).normal(size=(30, 3))
    weights, sd = np.array([1.0, -2.0, 0.5]), 0.7

    def draw(rng, n):
        return design[:n], design[:n] @ weights + rng.normal(0.0, sd, n), design[:n] @ weights

    result = theory.bias_variance(
        LinearRegression(fit_intercept=False), draw=draw, n_train=30, n_test=30, n_repeats=1500
    )
    expected = sd**2 * np.einsum("ij,jk,ik->i", design, np.linalg.inv(design.T @ design), design)
    np.testing.assert_allclose(result.row_variance, expected, rtol=5 * np.sqrt(2 / 1500))
    assert abs(result.bias_squared) < 5 * np.sqrt(2) * expected.mean() / 1500


def test_deeper_trees_trade_bias_for_variance():
    stump, tree = (
        theory.bias_variance(DecisionTreeRegressor(max_depth=d), draw=wave, n_train=60)
        for d in (1, None)
    )
    assert stump.bias_squared > 5 * tree.bias_squared
    assert stump.variance < tree.variance / 2
    assert stump.noise == tree.noise


def test_several_targets_at_the_same_x_tell_the_noise():
    rng = np.random.default_rng(1)
    x = rng.uniform(0.0, 6.0, 300)
    X_test, y_test = x[:, None], np.sin(x)[:, None] + rng.normal(0.0, 0.5, (300, 5))
    result = theory.bias_variance(
        DecisionTreeRegressor(max_depth=3), draw=wave, n_train=50, X_test=X_test, y_test=y_test
    )
    assert result.noise_is_known
    assert result.noise == pytest.approx(0.25, rel=0.15)
    known = theory.bias_variance(DecisionTreeRegressor(max_depth=3), draw=wave, n_train=50)
    assert result.bias_squared == pytest.approx(known.bias_squared, abs=0.02)


def naive_zero_one(predicted, p, classes):
    """Domingos' terms of one row after another, from his definitions with c₁ and c₂."""
    terms = []
    for i in range(predicted.shape[1]):
        q = [np.mean(predicted[:, i] == label) for label in classes]
        best = int(np.argmax(p[i]))
        main = int(np.argmax(q))
        N, B, V = 1 - p[i][best], float(main != best), 1 - q[main]
        c2 = 1.0 if not B else -q[best] / V if V > 0 else 0.0
        both = sum(p[i][k] * q[k] for k in range(len(classes)) if k != best)
        c1 = q[best] - (both / N if N > 0 else 0.0)
        error = sum(p[i][k] * (1 - q[k]) for k in range(len(classes)))
        assert c1 * N + B + c2 * V == pytest.approx(error, abs=1e-12)
        unbiased, biased = (0.0, -c2 * V) if B else (V, 0.0)
        terms.append((c1 * N, B, unbiased, biased, error, N))
    return np.mean(terms, axis=0)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("kind", ["plain", "truth", "repeated"])
def test_zero_one_terms_are_those_of_the_definitions(n_classes, kind):
    rng = np.random.default_rng(n_classes)
    classes = np.array(["a", "b", "c", "d"])[:n_classes]
    predicted = rng.choice(classes, size=(9, 60))
    y = rng.choice(classes, size=(60, 5) if kind == "repeated" else 60)
    truth = rng.dirichlet(np.ones(n_classes), 60) if kind == "truth" else None
    terms = zero_one_terms(predicted, y, truth, 10)
    seen = y.reshape(60, -1)
    p = np.stack([(seen == label).mean(axis=1) for label in classes], axis=1)
    p = p if truth is None else truth
    noise, bias, unbiased, biased, error, bayes = naive_zero_one(predicted, p, classes)
    assert terms.noise == pytest.approx(noise, abs=1e-12)
    assert terms.bias == pytest.approx(bias, abs=1e-12)
    assert terms.unbiased_variance == pytest.approx(unbiased, abs=1e-12)
    assert terms.biased_variance == pytest.approx(biased, abs=1e-12)
    assert terms.variance == pytest.approx(unbiased - biased, abs=1e-12)
    assert terms.error == pytest.approx(error, abs=1e-12)
    assert terms.bayes_error == pytest.approx(bayes, abs=1e-12)
    assert terms.noise + terms.bias + terms.variance == pytest.approx(terms.error, abs=1e-12)
    measured = np.mean([predicted != column for column in seen.T])
    assert terms.test_error == pytest.approx(measured, abs=1e-12)
    if truth is None:
        assert terms.error == pytest.approx(measured, abs=1e-12)


def test_zero_one_terms_by_enumeration_of_every_training_set():
    """One nearest neighbour, three training rows at fixed x, labels drawn with known chances."""
    X_train, p_train = np.array([[0.0], [1.0], [2.0]]), np.array([0.8, 0.4, 0.7])
    X_test, p_one = np.array([[0.2], [1.1], [1.9]]), np.array([0.7, 0.45, 0.2])
    expected_error = 0.0
    hits = np.zeros(3)  # how often each test row is given class 1, over all training sets
    for labels in product([0, 1], repeat=3):
        chance = np.prod(np.where(labels, p_train, 1 - p_train))
        model = Nearest().fit(X_train, labels)
        predicted = model.predict(X_test)
        hits += chance * predicted
        expected_error += chance * np.where(predicted == 1, 1 - p_one, p_one).mean()
    best, main = p_one > 0.5, hits > 0.5
    bias = (best != main).mean()
    net_variance = np.where(best == main, 1, -1) * np.minimum(hits, 1 - hits)
    noise = (2 * np.where(best, hits, 1 - hits) - 1) * np.minimum(p_one, 1 - p_one)
    assert noise.mean() + bias + net_variance.mean() == pytest.approx(expected_error, abs=1e-12)

    def draw(rng, n):
        if n == 3:
            return X_train, (rng.random(3) < p_train).astype(int)
        truth = np.stack([1 - p_one, p_one], axis=1)
        rows = np.arange(n) % 3
        return X_test[rows], (rng.random(n) < p_one[rows]).astype(int), truth[rows]

    n_repeats = 3000
    result = theory.bias_variance(Nearest(), draw=draw, n_train=3, n_test=300, n_repeats=n_repeats)
    slack = 4 * 0.5 / np.sqrt(n_repeats)
    assert result.bias == pytest.approx(bias)
    assert result.noise == pytest.approx(noise.mean(), abs=slack)
    assert result.variance == pytest.approx(net_variance.mean(), abs=slack)
    assert result.error == pytest.approx(expected_error, abs=slack)
    assert result.test_error == pytest.approx(result.error, abs=4 * 0.5 / np.sqrt(300))


def test_a_perfect_model_has_only_noise_and_a_coin_only_variance():
    logit = theory.bias_variance(LogisticRegression(), draw=slope, n_train=2000, n_repeats=20)
    assert logit.bias < 0.03
    assert logit.noise == pytest.approx(logit.bayes_error, abs=0.02)
    turns = theory.bias_variance(
        ByTurns(), draw=slope, n_train=50, n_repeats=400, X_test=[[0.0, 0.0]] * 2, y_test=[0, 1]
    )
    assert turns.error == pytest.approx(0.5)
    assert turns.bias == 0.5
    assert turns.unbiased_variance == turns.biased_variance


def test_classes_of_any_name_and_number():
    result = theory.bias_variance(DecisionTreeClassifier(), draw=three, n_train=40, n_repeats=40)
    assert set(result.main_prediction) == {"a", "b", "c"}
    assert result.bayes_error == pytest.approx(0.3)
    assert result.noise + result.bias + result.variance == pytest.approx(result.error)
    assert result.test_error == pytest.approx(result.error, abs=0.05)
    frame = result.to_frame()
    assert frame["error"].mean() == pytest.approx(result.error)


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize(
    ("estimator", "data"),
    [(DecisionTreeRegressor(), DIABETES), (DecisionTreeClassifier(), IRIS)],
    ids=["regressor", "classifier"],
)
def test_rows_of_a_table(estimator, data, bootstrap):
    result = theory.bias_variance(estimator, *data, n_repeats=15, bootstrap=bootstrap)
    assert not result.noise_is_known
    assert result.noise == 0.0
    assert result.error == pytest.approx(result.test_error, rel=1e-12)
    n_rows = len(data[1])
    assert len(result.row_variance) == pytest.approx(n_rows / 3, abs=1)
    left = n_rows - len(result.row_variance)
    assert result.n_train == (left if bootstrap else left // 2)


def test_test_rows_given_are_the_rows_predicted():
    X, y = DIABETES
    result = theory.bias_variance(
        LinearRegression(), X[:300], y[:300], X_test=X[300:], y_test=y[300:], n_repeats=300
    )
    single = LinearRegression().fit(X[:300], y[:300])
    np.testing.assert_allclose(result.mean_prediction, single.predict(X[300:]), rtol=0.1)
    assert result.n_train == 300


def test_frames_and_series_of_words():
    X, y = IRIS
    frame = pd.DataFrame(X, columns=list("abcd"))
    names = pd.Series(np.array(["x", "y", "z"])[y], index=range(1000, 1150))
    of_frame = theory.bias_variance(DecisionTreeClassifier(), frame, names, n_repeats=5)
    of_array = theory.bias_variance(DecisionTreeClassifier(), X, y, n_repeats=5)
    assert of_frame.error == of_array.error


def test_hedgerow_s_own_estimators():
    result = theory.bias_variance(
        hr.GradientBoostingRegressor(n_estimators=10, min_samples_leaf=5),
        draw=wave,
        n_train=100,
        n_repeats=10,
    )
    assert result.noise + result.bias_squared + result.variance == pytest.approx(result.error)
    assert result.variance < 0.2


@pytest.mark.parametrize(
    ("estimator", "draw"), [(ExtraTreeRegressor(), wave), (DecisionTreeClassifier(), slope)]
)
def test_the_result_does_not_depend_on_n_jobs(estimator, draw):
    one, two = (
        theory.bias_variance(
            estimator, draw=draw, n_train=30, n_repeats=12, n_test=50, n_jobs=n_jobs
        )
        for n_jobs in (1, 2)
    )
    pd.testing.assert_frame_equal(one.to_frame(), two.to_frame(), check_exact=True)
    assert repr(one) == repr(two)


def test_the_seed_decides_and_randomness_of_the_estimator_counts():
    options = {"draw": wave, "n_train": 30, "n_repeats": 8}
    first = theory.bias_variance(DecisionTreeRegressor(), **options, random_state=1)
    again = theory.bias_variance(DecisionTreeRegressor(), **options, random_state=1)
    other = theory.bias_variance(DecisionTreeRegressor(), **options, random_state=2)
    assert first.error == again.error != other.error
    fresh = [
        theory.bias_variance(DecisionTreeRegressor(), **options, random_state=None).error
        for _ in range(2)
    ]
    assert fresh[0] != fresh[1]

    def same(rng, n):
        return np.arange(n)[:, None], np.arange(n) % 7.0

    random = theory.bias_variance(
        ExtraTreeRegressor(max_depth=2, random_state=0), draw=same, n_train=20, n_test=20
    )
    assert random.variance > 0.0


def test_bad_calls_say_what_is_wrong():
    X, y = DIABETES
    tree = DecisionTreeRegressor()
    for estimator in (KMeans(), DecisionTreeRegressor, "tree", None):
        with pytest.raises(ParameterError, match="must be a classifier or a regressor"):
            theory.bias_variance(estimator, X, y)
    for options, message in (
        ({}, "either X and y, or draw"),
        ({"X": X, "y": y, "draw": wave}, "either X and y, or draw"),
        ({"X": X}, "must be passed together"),
        ({"X": X, "y": y, "X_test": X}, "must be passed together"),
        ({"draw": wave}, "n_train is required"),
        ({"draw": "wave", "n_train": 5}, "must be a function"),
        ({"X": X, "y": y, "n_repeats": 1}, "n_repeats=1"),
        ({"X": X, "y": y, "n_test": 442}, "leaves no training rows"),
        ({"X": X, "y": y, "n_train": 0}, "n_train=0"),
        ({"X": X, "y": y, "n_train": 400, "bootstrap": False}, "more than the 294 rows"),
        ({"X": X, "y": y, "random_state": -1}, "random_state=-1"),
        ({"X": X, "y": y, "n_jobs": 0}, "n_jobs=0"),
        ({"X": X, "y": y, "bootstrap": "yes"}, "bootstrap='yes'"),
        ({"draw": lambda *_: 3, "n_train": 5}, "must return .* not int"),
        ({"draw": lambda *_: (1, 2, 3, 4), "n_train": 5}, "a tuple of 4"),
    ):
        with pytest.raises(ParameterError, match=message):
            theory.bias_variance(tree, **options)


def test_bad_data_says_what_is_wrong():
    X, y = DIABETES
    tree = DecisionTreeRegressor()

    def with_truth(truth):
        return lambda rng, n: (rng.random((n, 1)), rng.random(n), truth)

    for options, message in (
        ({"X": X, "y": y, "X_test": X, "y_test": y[:5]}, r"y_test has shape \(5,\)"),
        ({"X": X, "y": y, "X_test": X[:2], "y_test": ["a", "b"]}, "finite numbers"),
        ({"draw": lambda *_: (np.ones((4, 1)), np.ones(4)), "n_train": 5}, "returned 4 rows"),
        ({"draw": with_truth(np.ones(3)), "n_train": 5}, "the truth has shape"),
    ):
        with pytest.raises(DataError, match=message):
            theory.bias_variance(tree, **options, n_repeats=2)

    def labelled(truth):
        return lambda rng, n: (rng.random((n, 1)), np.arange(n) % 2 * 5, np.tile(truth, (n, 1)))

    for truth, message in (
        ([0.2, 0.2], "sum to 1"),
        ([0.2, 0.3, 0.5], "3 columns, but the classes"),
    ):
        with pytest.raises(DataError, match=message):
            theory.bias_variance(
                DecisionTreeClassifier(), draw=labelled(truth), n_train=6, n_test=6, n_repeats=2
            )
    two_outputs = lambda rng, n: (rng.random((n, 1)), rng.random((n, 2)))  # noqa: E731
    with pytest.raises(ParameterError, match="one number or class per row"):
        theory.bias_variance(tree, draw=two_outputs, n_train=6, n_test=6, n_repeats=2)
