"""The weights of the models of an ensemble, from their out-of-fold predictions.

Greedy selection finds the mean with the smallest loss. That loss is too optimistic, because it was
minimised on the same rows, and often a few rows decide. So the weights are shrunk towards those of
one model, the baseline: the less certain it is that the mean is better, the more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow._arithmetic import log, sum_of
from hedgerow._greedy_selection import greedy_selection
from hedgerow._types import Floats

LEAST_PROBABILITY = 1e-15
# Standard errors by which the mean must be better than the baseline to get any weight.
LEAST_GAIN = 1.5


@dataclass(frozen=True, eq=False)
class SelectionLoss:
    """The loss of some evidence: an array with a number for each row.

    Attributes
    ----------
    of_rows : function
        Returns the loss of each row.
    weights : array of shape (n_rows,), or None
        Sample weights.
    """

    of_rows: Callable[[Floats], Floats]
    weights: Floats | None

    def __call__(self, evidence: Floats) -> float:
        """Return the mean loss."""
        return self._mean(self.of_rows(evidence))

    def gain(self, before: Floats, after: Floats) -> tuple[float, float]:
        """Return by how much the mean loss of `after` is smaller, and the standard error of that.

        The rows are paired: what they have in common does not count.
        """
        differences = self.of_rows(before) - self.of_rows(after)
        mean, n = self._mean(differences), len(differences)
        deviations = differences - mean
        shares = 1.0 / n if self.weights is None else self.weights / sum_of(self.weights)
        variance = sum_of((shares * deviations) ** 2) * n / max(1, n - 1)
        return mean, float(np.sqrt(variance))

    def _mean(self, losses: Floats) -> float:
        if self.weights is None:
            return sum_of(losses) / len(losses)
        return sum_of(losses * self.weights) / sum_of(self.weights)


def log_loss(weights: Floats | None) -> SelectionLoss:
    """Return the log loss, as a function of the probabilities of the rows' own classes."""
    return SelectionLoss(
        lambda probability: -log(np.maximum(probability, LEAST_PROBABILITY)), weights
    )


def squared_error(weights: Floats | None) -> SelectionLoss:
    """Return the squared error, as a function of the residuals."""
    return SelectionLoss(lambda residual: residual * residual, weights)


def select(
    evidence: Floats, loss: SelectionLoss, n_steps: int, baseline: int | None = None
) -> Floats:
    """Return the weight of each model, which add up to 1.

    Parameters
    ----------
    evidence : array of shape (n_models, n_rows)
        What the loss of a model depends on. That of a mean of models is the mean of theirs.
    loss : SelectionLoss
        The loss of a row of `evidence`.
    n_steps : int
        Number of steps of the greedy selection.
    baseline : int, or None
        The model that the mean must be better than; None is the one with the smallest loss.
    """
    weights = _greedy_weights(evidence, loss, n_steps)
    if baseline is None:
        losses = np.array([loss(own) for own in evidence])
        baseline = int(np.argmin(np.where(np.isnan(losses), np.inf, losses)))
    share = _share_of_mean(*loss.gain(evidence[baseline], weighted_sum(weights, evidence)))
    shrunk = share * weights
    shrunk[baseline] += 1.0 - share
    return shrunk


def weighted_sum(weights: Floats, arrays: Sequence[Floats] | Floats) -> Floats:
    """Return the sum of some arrays, each times its weight, without those of weight 0."""
    total: Floats = np.zeros_like(arrays[0])
    for weight, own in zip(weights.tolist(), arrays, strict=True):
        if weight > 0.0:
            total += weight * own
    return total


def _greedy_weights(evidence: Floats, loss: SelectionLoss, n_steps: int) -> Floats:
    """Return the weights of the shortest greedy selection with the smallest loss."""
    added, best_loss, best_length = list[int](), np.inf, 1
    for model, its_loss in greedy_selection(list(evidence), loss, n_steps):
        added.append(model)
        if its_loss < best_loss:
            best_loss, best_length = its_loss, len(added)
    weights: Floats = np.bincount(added[:best_length], minlength=len(evidence)) / best_length
    return weights


def _share_of_mean(gain: float, standard_error: float) -> float:
    """Return the share of the greedy mean: 1 - (LEAST_GAIN * standard error / gain)², or 0.

    This is the positive part of a James-Stein estimate: 0.44 for a gain of 2 standard errors,
    0.75 for 3 and 0.91 for 5.
    """
    if not gain > LEAST_GAIN * standard_error:  # nor if it is NaN
        return 0.0
    return 1.0 - (LEAST_GAIN * standard_error / gain) ** 2
