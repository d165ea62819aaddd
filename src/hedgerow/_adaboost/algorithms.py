"""The AdaBoost family: how each method reweights the rows, and how it interprets the scores.

Each class has the loop of rounds (`boost`), written like the published algorithm and for any
learner, and what prediction needs: the contribution of a base model to the scores (`votes`), the
decision function of the scores (`decision`) and the probabilities. Two classes share one score, F,
which is positive where ``classes_[1]`` wins; more classes have a score each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow._adaboost.learners import (
    Draw,
    Labels,
    Learner,
    RowIndices,
    class_numbers,
    numbers,
    probabilities,
)
from hedgerow._arithmetic import exp, log, sum_of
from hedgerow._links import class_probabilities, prediction_of
from hedgerow._types import Floats

# Maximum number of samples drawn in a round until a base model is better than chance.
MAX_DRAWS = 100
# A base model's weight, or its largest error relative to the largest y, that rounding can explain.
ROUNDING = 1e-12
# Schapire and Singer (1999) smooth class shares by a quarter of a row; this is that for 2,500 rows,
# and does not depend on whether rows are repeated or weighted.
SMALLEST_SHARE = 1e-4
# Bounds of LogitBoost's responses and weights: Friedman, Hastie and Tibshirani (2000) recommend
# 2 to 4 for the former and twice the machine precision for the latter.
LARGEST_RESPONSE = 4.0
SMALLEST_WEIGHT = 2.0 * float(np.finfo(np.float64).eps)


@dataclass
class AdaBoostRounds:
    """The results of the rounds: base models with their samples, weights, errors."""

    draw: Draw | None = None
    estimators: list[list[Any]] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    weight_sums: list[float] = field(default_factory=list)
    resets: list[int] = field(default_factory=list)
    samples: list[list[RowIndices]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.estimators)

    def add(
        self, estimators: list[Any], weight: float, error: float, growth: float, resets: int = 0
    ) -> None:
        """Record a round, in which the sum of the row weights changed by a factor."""
        before = self.weight_sums[-1] if self.weight_sums and not resets else 1.0
        self.estimators.append(estimators)
        self.weights.append(weight)
        self.errors.append(error)
        self.weight_sums.append(before * growth)
        self.resets.append(resets)
        if self.draw is not None:
            self.samples.append(self.draw.last(len(estimators)))


@dataclass(frozen=True)
class _Method:
    """Base class of the methods.

    A method has `boost`, which runs the rounds from weights that sum to 1; `output`, `votes`,
    `decision` and `probabilities`, which lead from a base model to predictions; and `row_weights`,
    the weights that the rounds give rows with some scores.
    """

    unit: ClassVar[str] = "log-odds"

    n_classes: int
    learning_rate: float

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        return 1 if self.n_classes == 2 else self.n_classes

    def output(self, base_model: Any, X: Any, classes: NDArray[Any]) -> NDArray[Any]:  # noqa: ARG002
        """Return the predictions of a fitted estimator, as input of `votes`: numbers."""
        return numbers(base_model, X)

    def probabilities(self, decision: Floats) -> Floats:
        """Return the sigmoid, or the softmax of scores / (K − 1)."""
        return _sigmoid_or_softmax(decision, self.n_classes - 1)

    def _score_of_class(self, scores: Floats, labels: Labels) -> Floats:
        """Return the score of each row's own class; for two classes y F with y = ±1."""
        if self.n_classes == 2:
            return np.where(labels == 1, scores[:, 0], -scores[:, 0])
        return scores[np.arange(len(labels)), labels]

    def _indicators(self, labels: Labels) -> NDArray[np.bool_]:
        """Return indicators of the class of each score: one column, or one for each class."""
        if self.n_classes == 2:
            return labels[:, None] == 1
        return labels[:, None] == np.arange(self.n_classes)


@dataclass(frozen=True)
class Discrete(_Method):
    """AdaBoost with base models that predict classes; SAMME for more than two.

    A base model with weighted error err has the weight α = log((1 − err) / err) + log(K − 1), and
    the weights of misclassified rows are multiplied by exp(α). The score of a class is the weight
    of the base models that predict it, minus 1 / (K − 1) of the weight of the others.
    """

    has_classifiers: ClassVar[bool] = True
    unit: ClassVar[str] = "mean vote"
    error_divisor: str = "weights"

    def boost(
        self, learner: Learner, labels: Labels, start: Floats, n_rounds: int
    ) -> AdaBoostRounds:
        """Fit, measure, reweight the rows; stop at a base model that is perfect or useless.

        A perfect base model is kept, with weight 1 or the weight that makes every training row
        right. One that is no better than chance is discarded, unless it is the first, which then
        has weight 0. With resampling, a new sample is drawn instead; after a base model worse than
        chance, with the initial weights.
        """
        rounds, w = AdaBoostRounds(learner.draw), start.copy()
        draws = resets = 0
        against = np.zeros(len(w))  # the weight of the base models that misclassify a row
        while len(rounds) < n_rounds:
            base_model, predicted = learner.classify(w)
            wrong = predicted != labels
            err = self._error(w, wrong)
            if err <= 0.0:
                majority = 2.0 * against[start > 0.0].max() - sum(rounds.weights)
                rounds.add([base_model], 1.0 + max(0.0, majority), 0.0, 1.0, resets)
                break
            alpha = self._weight(err)
            draws += 1
            if alpha <= 0.0 and learner.draw is not None and draws < MAX_DRAWS:
                if alpha < 0.0:
                    w, resets = start.copy(), resets + 1
                continue
            if alpha <= 0.0:
                if not len(rounds):
                    rounds.add([base_model], 0.0, err, 1.0, resets)
                break
            rounds.add([base_model], alpha, err, weigh_up(w, wrong, alpha), resets)
            against += alpha * wrong
            draws = resets = 0
        return rounds

    def _weight(self, err: float) -> float:
        """Return α, 0 for a base model as good as chance."""
        if err >= 1.0:
            return -math.inf
        alpha = math.log((1.0 - err) / err) + self._allowance
        return self.learning_rate * alpha if abs(alpha) > ROUNDING else 0.0

    @property
    def _allowance(self) -> float:
        """What is added to α so that it is 0 for a base model that guesses among all classes."""
        return math.log(self.n_classes - 1)

    def _error(self, w: Floats, wrong: NDArray[np.bool_]) -> float:
        error = sum_of(w * wrong)  # faster than selecting the misclassified rows
        return error / len(w) if self.error_divisor == "rows" else error

    def output(self, base_model: Any, X: Any, classes: NDArray[Any]) -> Labels:
        """Return class numbers."""
        return class_numbers(base_model, X, classes)

    def votes(self, output: NDArray[Any], weight: float) -> Floats:
        """Return the weight for the base model's class, and against the others."""
        if self.n_classes == 2:
            return np.where(output == 1, weight, -weight)[:, None]
        votes = np.full((len(output), self.n_classes), -weight / (self.n_classes - 1))
        votes[np.arange(len(output)), output] = weight
        return votes

    def decision(self, scores: Floats, total_weight: float) -> Floats:
        """Return the mean vote; for two classes, the difference of their means."""
        total = total_weight or 1.0
        return 2.0 * scores[:, 0] / total if self.n_classes == 2 else scores / total

    def row_weights(self, scores: Floats, labels: Labels, start: Floats) -> Floats:
        """Return weights proportional to the exponential loss."""
        margin = self._score_of_class(scores, labels) * (1.0 - 1.0 / self.n_classes)
        return _reweighed(start, -margin)


@dataclass(frozen=True)
class M1(Discrete):
    """AdaBoost.M1: α = log((1 − err) / err) for any number of classes.

    A base model must be right more than half of the time, which for K > 2 classes is more than
    guessing well. In return, the bound Π 2 √(err (1 − err)) on the training error holds, as for two
    classes. For two classes it is SAMME.
    """

    @property
    def _allowance(self) -> float:
        return 0.0


@dataclass(frozen=True)
class Real(_Method):
    """Real AdaBoost, with probabilities as predictions; SAMME.R for more than two classes.

    A base model adds (K − 1) (log p_k − mean of log p) to the score of class k: for two classes,
    half the log-odds. Weights are multiplied by exp(−s / (K − 1)), with s the score added to the
    row's class. Probabilities are at least 1e-4, so that scores of pure leaves are finite.
    """

    has_classifiers: ClassVar[bool] = True

    def boost(
        self, learner: Learner, labels: Labels, start: Floats, n_rounds: int
    ) -> AdaBoostRounds:
        """Fit, measure, reweight the rows; stop if a base model is perfect."""
        rounds, w = AdaBoostRounds(learner.draw), start.copy()
        while len(rounds) < n_rounds:
            base_model, p = learner.estimate(w)
            err = sum_of(w[p.argmax(axis=1) != labels])
            votes = self.votes(p, self.learning_rate)
            growth = reweigh(w, -self._score_of_class(votes, labels) / (self.n_classes - 1))
            rounds.add([base_model], self.learning_rate, err, growth)
            if err <= 0.0:
                break
        return rounds

    def output(self, base_model: Any, X: Any, classes: NDArray[Any]) -> Floats:
        """Return probabilities."""
        return probabilities(base_model, X, classes)

    def votes(self, output: NDArray[Any], weight: float) -> Floats:
        """Return logarithms of the probabilities, minus their mean."""
        logs = log(np.maximum(output, SMALLEST_SHARE))
        votes = weight * (self.n_classes - 1) * (logs - logs.mean(axis=1, keepdims=True))
        return votes[:, 1:] if self.n_classes == 2 else votes

    def decision(self, scores: Floats, total_weight: float) -> Floats:  # noqa: ARG002
        """Return the log-odds, 2 F, or the scores of the classes."""
        return 2.0 * scores[:, 0] if self.n_classes == 2 else scores.copy()

    def row_weights(self, scores: Floats, labels: Labels, start: Floats) -> Floats:
        """Return weights proportional to the exponential loss."""
        return _reweighed(start, -self._score_of_class(scores, labels) / (self.n_classes - 1))


@dataclass(frozen=True)
class Gentle(_Method):
    """Gentle AdaBoost: least-squares fits f of y = ±1, and rows reweighted by exp(−y f).

    With more than two classes, there is a problem for each class against the others, with its own
    weights and its own base model in each round (AdaBoost.MH).
    """

    has_classifiers: ClassVar[bool] = False

    def boost(
        self, learner: Learner, labels: Labels, start: Floats, n_rounds: int
    ) -> AdaBoostRounds:
        """Fit, measure, reweight the rows."""
        rounds, y = AdaBoostRounds(learner.draw), self._signs(labels)
        w = self._spread(start)
        while len(rounds) < n_rounds:
            estimators, f = _regress_each(learner, y, w)
            err = sum_of(w[(f > 0.0) != (y > 0.0)])
            rounds.add(estimators, self.learning_rate, err, reweigh(w, -self.learning_rate * y * f))
        return rounds

    def _signs(self, labels: Labels) -> Floats:
        return np.where(self._indicators(labels), 1.0, -1.0)

    def _spread(self, start: Floats) -> Floats:
        """Return the weights, divided equally among the scores."""
        return np.repeat(start[:, None] / self.n_outputs, self.n_outputs, axis=1)

    def votes(self, output: NDArray[Any], weight: float) -> Floats:
        """Return the numbers, times the learning rate."""
        return weight * output[:, None]

    def decision(self, scores: Floats, total_weight: float) -> Floats:  # noqa: ARG002
        """Return the log-odds, 2 F, of ``classes_[1]`` or of each class against the others."""
        return 2.0 * scores[:, 0] if self.n_classes == 2 else 2.0 * scores

    def probabilities(self, decision: Floats) -> Floats:
        """Return the sigmoid; for more classes, normalised."""
        if self.n_classes == 2:
            return class_probabilities(decision[:, None], "sigmoid")
        p = np.stack([prediction_of(of_class[:, None], "sigmoid") for of_class in decision.T], 1)
        # If no class is likely, all sigmoids may underflow.
        p = np.maximum(p, np.finfo(np.float64).tiny)
        return p / p.sum(axis=1, keepdims=True)

    def row_weights(self, scores: Floats, labels: Labels, start: Floats) -> Floats:
        """Return weights proportional to the exponential loss, for more classes a column each."""
        weights = _reweighed(self._spread(start), -self._signs(labels) * scores)
        return weights[:, 0] if self.n_classes == 2 else weights


@dataclass(frozen=True)
class Logit(_Method):
    """LogitBoost: base models are weighted least-squares fits of Newton steps on the log loss.

    With p the current probability, a row of the class has the response 1 / p, any other
    −1 / (1 − p), and the weight is p (1 − p). With more than two classes, a round has a base model
    for each class, and the scores sum to 0.
    """

    has_classifiers: ClassVar[bool] = False

    def boost(
        self, learner: Learner, labels: Labels, start: Floats, n_rounds: int
    ) -> AdaBoostRounds:
        """Fit the responses, add the fits to the scores."""
        rounds, is_class = AdaBoostRounds(learner.draw), self._indicators(labels)
        scores = np.zeros((len(labels), self.n_outputs))
        response, w = self._working(scores, is_class, start)
        while len(rounds) < n_rounds:
            estimators, f = _regress_each(learner, response, w)
            err, before = float(sum_of(w[(f > 0.0) != is_class]) / sum_of(w)), sum_of(w)
            scores += self._step(f, self.learning_rate)
            response, w = self._working(scores, is_class, start)
            rounds.add(estimators, self.learning_rate, err, float(sum_of(w) / before))
        return rounds

    def _working(
        self, scores: Floats, is_class: NDArray[np.bool_], start: Floats
    ) -> tuple[Floats, Floats]:
        """Return the response and the weight of each row in the problem of each score."""
        p = self._probability_of_each(scores)
        with np.errstate(divide="ignore"):
            response = np.where(is_class, 1.0 / p, -1.0 / (1.0 - p))
        np.clip(response, -LARGEST_RESPONSE, LARGEST_RESPONSE, out=response)
        return response, start[:, None] * np.maximum(p * (1.0 - p), SMALLEST_WEIGHT)

    def _probability_of_each(self, scores: Floats) -> Floats:
        p = self.probabilities(scores[:, 0] if self.n_classes == 2 else scores)
        return p[:, 1:] if self.n_classes == 2 else p

    def _step(self, f: Floats, weight: float) -> Floats:
        return f * weight if self.n_classes == 2 else f * (weight * (1.0 - 1.0 / self.n_classes))

    def votes(self, output: NDArray[Any], weight: float) -> Floats:
        """Return the step, times the learning rate."""
        return self._step(output[:, None], weight)

    def decision(self, scores: Floats, total_weight: float) -> Floats:  # noqa: ARG002
        """Return the log-odds of ``classes_[1]``, or scores that sum to 0."""
        if self.n_classes == 2:
            return scores[:, 0].copy()
        return scores - scores.mean(axis=1, keepdims=True)

    def probabilities(self, decision: Floats) -> Floats:
        """Return the sigmoid or the softmax."""
        return _sigmoid_or_softmax(decision)

    def row_weights(self, scores: Floats, labels: Labels, start: Floats) -> Floats:
        """Return weights proportional to p (1 − p), for more classes a column each."""
        _, weights = self._working(scores, self._indicators(labels), start)
        weights /= sum_of(weights)
        return weights[:, 0] if self.n_classes == 2 else weights


Algorithm = Discrete | Real | Gentle | Logit


@dataclass(frozen=True)
class R2:
    """AdaBoost.R2: regression, with weights by the size of the error and the weighted median.

    A row's loss is its error relative to the largest, optionally squared or 1 − exp(−loss). For a
    base model with the mean loss L, β = L / (1 − L); its weight is log(1 / β), and the weights of
    rows are multiplied by β^(1 − loss).
    """

    has_classifiers: ClassVar[bool] = False

    loss: str
    learning_rate: float

    def boost(self, learner: Learner, y: Floats, start: Floats, n_rounds: int) -> AdaBoostRounds:
        """Fit, measure, reweight the rows; stop if a base model is perfect or too inaccurate.

        A perfect base model would have infinite weight; here it outweighs all others together.
        One with a mean loss of ½ or more is discarded, unless it is the first, which has weight 0.
        """
        rounds, w = AdaBoostRounds(), start.copy()
        while len(rounds) < n_rounds:
            base_model, predicted = learner.regress(y, w)
            losses = self._losses(predicted, y, w)
            err = sum_of(w * losses)
            if err <= 0.0:
                rounds.add([base_model], 1.0 + sum(rounds.weights), 0.0, 1.0)
                break
            if err >= 0.5:
                if not len(rounds):
                    rounds.add([base_model], 0.0, err, 1.0)
                break
            log_beta = self.learning_rate * math.log(err / (1.0 - err))
            rounds.add([base_model], -log_beta, err, reweigh(w, log_beta * (1.0 - losses)))
        return rounds

    def _losses(self, predicted: Floats, y: Floats, w: Floats) -> Floats:
        errors, counts = np.abs(predicted - y), w > 0.0
        largest = float(errors[counts].max())
        if largest <= ROUNDING * np.abs(y[counts]).max():
            return np.zeros(len(y))
        losses = errors / largest
        if self.loss == "square":
            return losses**2
        return 1.0 - exp(-losses) if self.loss == "exponential" else losses


def weighted_median(predictions: Floats, weights: Floats) -> Floats:
    """Return each row's smallest prediction with at least half the weight at or below it."""
    order = np.argsort(predictions, axis=1, kind="stable")
    reached = np.cumsum(weights[order], axis=1)
    place = (reached >= 0.5 * reached[:, -1:]).argmax(axis=1)
    rows = np.arange(len(predictions))
    return predictions[rows, order[rows, place]]


def weigh_up(weights: Floats, wrong: NDArray[np.bool_], alpha: float) -> float:
    """Multiply the weights of wrong rows by exp(α) and scale all to sum to 1, in place.

    Returns the sum before scaling. The other rows are divided instead, which cannot overflow.
    """
    weights *= np.where(wrong, 1.0, math.exp(-alpha))
    total = sum_of(weights)
    weights /= total
    return total * _exp(alpha)


def reweigh(weights: Floats, exponent: Floats) -> float:
    """Multiply the weights by exp(exponent) and scale all to sum to 1, in place.

    Returns the sum before scaling. The largest exponent is subtracted, so nothing can overflow.
    """
    top = float(exponent[weights > 0.0].max())
    weights *= exp(np.minimum(exponent - top, 0.0))
    total = sum_of(weights)
    weights /= total
    return total * _exp(top)


def _reweighed(weights: Floats, exponent: Floats) -> Floats:
    weights = weights.copy()
    reweigh(weights, exponent)
    return weights


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def _regress_each(learner: Learner, targets: Floats, weights: Floats) -> tuple[list[Any], Floats]:
    """Fit a base model to each column; return the base models and their fits, a column each."""
    fitted = [
        learner.regress(np.ascontiguousarray(target), w / sum_of(w))
        for target, w in zip(targets.T, weights.T, strict=True)
    ]
    return [base_model for base_model, _ in fitted], np.stack([f for _, f in fitted], axis=1)


def _sigmoid_or_softmax(decision: Floats, divisor: int = 1) -> Floats:
    if decision.ndim == 1:
        return class_probabilities(decision[:, None], "sigmoid")
    return class_probabilities(decision / divisor, "softmax")
