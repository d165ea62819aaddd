"""The weights of the models of an ensemble, by greedy selection on out-of-fold predictions.

The selection is the shortest one with the smallest loss, so it is never worse than a single model.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hedgerow._arithmetic import log, sum_of
from hedgerow._greedy_selection import greedy_selection
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
    added, best_loss, best_length = list[int](), np.inf, 1
    for model, its_loss in greedy_selection(list(evidence), loss, n_steps):
        added.append(model)
        if its_loss < best_loss:
            best_loss, best_length = its_loss, len(added)
    weights: Floats = np.bincount(added[:best_length], minlength=len(evidence)) / best_length
    return weights
