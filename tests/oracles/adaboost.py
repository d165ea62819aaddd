"""The AdaBoost family written out from the papers, row by row where that helps; and its theorems.

Members are stumps that try every cut between distinct values. Of equal cuts the first is taken, so
comparisons need data without ties.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np


@dataclass
class Stump:
    """``left`` and ``right`` are what it says: shares of the classes, or a mean."""

    feature: int
    threshold: float
    left: np.ndarray
    right: np.ndarray

    def __call__(self, X):
        goes_left = X[:, self.feature] <= self.threshold
        return np.where(goes_left[:, None], self.left, self.right)


def best_stump(X, targets, weights):
    """Fit targets (n, v) by weighted least squares; of one-hot targets that is the Gini gain."""
    best, gained = None, -np.inf
    for feature in range(X.shape[1]):
        values = np.unique(X[:, feature])
        for low, high in pairwise(values):
            threshold = (low + high) / 2
            is_left = X[:, feature] <= threshold
            means, score = [], 0.0
            for side in (is_left, ~is_left):
                total = weights[side].sum()
                sums = weights[side] @ targets[side]
                means.append(sums / total)
                score += sums @ sums / total
            if score > gained + 1e-13:
                best, gained = Stump(feature, threshold, *means), score
    return best


def one_hot(labels, n_classes):
    return np.eye(n_classes)[labels]


def discrete(X, labels, n_classes, n_rounds, learning_rate=1.0):
    """Algorithm 1 of the lectures (SAMME for K > 2): errors, alphas, sums of weights, scores."""
    N = len(labels)
    w = [1.0 / N] * N
    errors, alphas, sums, scores = [], [], [], np.zeros((N, n_classes))
    for _ in range(n_rounds):
        stump = best_stump(X, one_hot(labels, n_classes), np.array(w))
        predicted = stump(X).argmax(axis=1)
        err = sum(w[i] for i in range(N) if predicted[i] != labels[i]) / sum(w)
        alpha = learning_rate * (np.log(1 - err) - np.log(err) + np.log(n_classes - 1))
        for i in range(N):
            if predicted[i] != labels[i]:
                w[i] *= np.exp(alpha)
        scores += alpha * np.where(one_hot(predicted, n_classes) == 1, 1, -1 / (n_classes - 1))
        errors.append(err)
        alphas.append(alpha)
        sums.append(sum(w))
    return errors, alphas, sums, scores


def real(X, labels, n_classes, n_rounds, learning_rate=1.0, smallest_share=1e-4):
    """Real AdaBoost; for K > 2, SAMME.R. The scores are h_k summed."""
    w = np.full(len(labels), 1 / len(labels))
    y = np.where(one_hot(labels, n_classes) == 1, 1, -1 / (n_classes - 1))
    scores, z = np.zeros((len(labels), n_classes)), 1.0
    for _ in range(n_rounds):
        p = np.maximum(best_stump(X, one_hot(labels, n_classes), w)(X), smallest_share)
        h = (n_classes - 1) * (np.log(p) - np.log(p).mean(axis=1, keepdims=True))
        scores += learning_rate * h
        w *= np.exp(-learning_rate * (n_classes - 1) / n_classes * (y * np.log(p)).sum(axis=1))
        z *= w.sum()
        w /= w.sum()
    return scores, z


def gentle(X, y, n_rounds, learning_rate=1.0):
    """Gentle AdaBoost of y = ±1; F."""
    w, F = np.full(len(y), 1 / len(y)), np.zeros(len(y))
    for _ in range(n_rounds):
        f = learning_rate * best_stump(X, y[:, None], w)(X)[:, 0]
        F += f
        w *= np.exp(-y * f)
        w /= w.sum()
    return F


def logit_of_two(X, y, n_rounds, learning_rate=1.0, largest=4.0):
    """LogitBoost of y = 0 or 1; F, of which twice is the log-odds."""
    F, p = np.zeros(len(y)), np.full(len(y), 0.5)
    for _ in range(n_rounds):
        z = np.clip((y - p) / (p * (1 - p)), -largest, largest)
        F += 0.5 * learning_rate * best_stump(X, z[:, None], p * (1 - p))(X)[:, 0]
        p = 1 / (1 + np.exp(-2 * F))
    return F


def logit_of_more(X, labels, n_classes, n_rounds, learning_rate=1.0, largest=4.0):
    """LogitBoost for J classes; the scores F_j."""
    y = one_hot(labels, n_classes)
    F, p = np.zeros(y.shape), np.full(y.shape, 1 / n_classes)
    for _ in range(n_rounds):
        f = np.empty(y.shape)
        for j in range(n_classes):
            w = p[:, j] * (1 - p[:, j])
            z = np.clip((y[:, j] - p[:, j]) / w, -largest, largest)
            f[:, j] = best_stump(X, z[:, None], w)(X)[:, 0]
        step = (n_classes - 1) / n_classes * (f - f.mean(axis=1, keepdims=True))
        F += learning_rate * step
        p = np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)
    return F


def r2(fit, X, y, n_rounds, loss="linear", learning_rate=1.0):
    """AdaBoost.R2 by reweighing, with members that `fit(w)` returns; predictions and weights."""
    w = np.full(len(y), 1 / len(y))
    predictions, weights = [], []
    for _ in range(n_rounds):
        predicted = fit(w)(X)
        L = np.abs(predicted - y) / np.abs(predicted - y).max()
        if loss == "square":
            L = L**2
        elif loss == "exponential":
            L = 1 - np.exp(-L)
        mean_loss = (w * L).sum()
        if mean_loss >= 0.5:
            break
        beta = mean_loss / (1 - mean_loss)
        predictions.append(predicted)
        weights.append(learning_rate * np.log(1 / beta))
        w *= beta ** (learning_rate * (1 - L))
        w /= w.sum()
    return np.array(predictions), np.array(weights)


def weighted_median(predictions, weights):
    """The smallest prediction at which half the weight is reached."""
    reached = 0.0
    for place in np.argsort(predictions, kind="stable"):
        reached += weights[place]
        if reached >= 0.5 * sum(weights):
            return predictions[place]
    raise AssertionError("unreachable")


def assert_theory_holds(model, X, y, sample_weight=None):
    """Claim 1 and theorem 2 of the lectures on every round of a two-class discrete AdaBoost.

    With shrinkage the claim is z_m = (1 − err + err e^α) z_{m−1}, and the bound on the training
    error z_m exp(−½ Σ α), of which theirs is the case without.
    """
    start = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
    start = start / start.sum()
    weights = list(model.staged_weights(X, y, sample_weight))
    np.testing.assert_allclose(weights[0], start, rtol=1e-12)
    z, votes, product = 1.0, 0.0, 1.0
    for m, predicted in enumerate(model.staged_predict(X)):
        err, alpha = model.estimator_errors_[m], model.estimator_weights_[m]
        wrong = model.estimators_[m].predict(X) != y
        np.testing.assert_allclose(weights[m][wrong].sum(), err, rtol=1e-8, atol=1e-15)
        if err > 0 and alpha > 0:  # at err = 0, α is infinite and the claim has nothing to say
            grown = 2 * (1 - err) if model.learning_rate == 1 else 1 - err + err * np.exp(alpha)
            np.testing.assert_allclose(model.weight_sums_[m], grown * z, rtol=1e-9)
            z, votes = model.weight_sums_[m], votes + alpha
            product *= 2 * np.sqrt(err * (1 - err)) if model.learning_rate == 1 else 1
            bound = product if model.learning_rate == 1 else z * np.exp(-votes / 2)
        else:
            bound = 0.0 if err == 0 else 1.0
        assert start[predicted != y].sum() <= bound * (1 + 1e-9)
