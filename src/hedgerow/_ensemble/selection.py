"""Greedy selection of an ensemble (Caruana et al., 2004).

Starting from nothing, each step adds the model with which the mean of the models added so far has
the smallest loss on rows that the models were not fitted to. A model can be added repeatedly. The
selection is the shortest one with the smallest loss, so adding cannot make it worse.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hedgerow._arithmetic import log, sum_of
from hedgerow._types import Floats

LEAST_PROBABILITY = 1e-15

Loss = Callable[[Floats], float]
"""The mean loss of some evidence: an array with a number for each row."""


def log_loss(weights: Floats | None) -> Loss:
    """Return the mean log loss, as a function of the probabilities of the rows' own classes."""

    def loss(probability: Floats) -> float:
        return -_mean(log(np.maximum(probability, LEAST_PROBABILITY)), weights)

    return loss


def squared_error(weights: Floats | None) -> Loss:
    """Return the mean squared error, as a function of the residuals."""

    def loss(residual: Floats) -> float:
        return _mean(residual * residual, weights)

    return loss


def _mean(losses: Floats, weights: Floats | None) -> float:
    if weights is None:
        return sum_of(losses) / len(losses)
    return sum_of(losses * weights) / sum_of(weights)


def select(evidence: Floats, loss: Loss, n_steps: int) -> Floats:
    """Return the weight of each model, which add up to 1.

    Parameters
    ----------
    evidence : array of shape (n_models, n_rows)
        What the loss of a model depends on. That of a mean of models is the mean of theirs.
    loss : function
        Returns the mean loss of a row of `evidence`.
    n_steps : int
        Number of steps.
    """
    total = np.zeros(evidence.shape[1])
    counts = np.zeros(len(evidence), np.int64)
    best_loss, best_counts = np.inf, counts
    for step in range(1, n_steps + 1):
        losses = [loss((total + own) / step) for own in evidence]
        added = int(np.argmin(losses))  # the first of equally good ones
        total += evidence[added]
        counts = counts + (np.arange(len(counts)) == added)
        if losses[added] < best_loss:
            best_loss, best_counts = losses[added], counts
    if not best_counts.any():  # no loss is a number
        best_counts = np.eye(1, len(counts), dtype=np.int64)[0]
    weights: Floats = best_counts / best_counts.sum()
    return weights
