"""Greedy selection of models whose mean is best (Caruana et al., 2004).

Starting from nothing, each step adds the model with which the mean of the models added so far has
the smallest loss on rows that the models were not fitted to. A model can be added repeatedly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hedgerow._types import Floats


def greedy_selection(
    predictions: Sequence[Floats], loss: Callable[[Floats], float], n_steps: int
) -> Iterator[tuple[int, float]]:
    """Yield, for each step, the index of the model that it adds and the loss of the mean.

    Of equally good models the first is added. A loss of NaN is worse than any other.

    Parameters
    ----------
    predictions : sequence of arrays
        The predictions of each model, or whatever the loss is a function of. Those of a mean of
        models are the mean of theirs.
    loss : function
        Returns the loss of predictions.
    n_steps : int
        Number of steps.
    """
    total = np.zeros_like(predictions[0])
    for step in range(1, n_steps + 1):
        losses = np.array([loss((total + own) / step) for own in predictions])
        added = int(np.argmin(np.where(np.isnan(losses), np.inf, losses)))
        total += predictions[added]
        yield added, float(losses[added])
