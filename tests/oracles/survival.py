"""Survival by its definitions: products over events, sums over pairs."""

import numpy as np


def cox_loss(bounds, scores, weights, ties):
    """Return the negative log of Cox's partial likelihood, event by event."""
    time, observed = bounds[:, 0], bounds[:, 0] == bounds[:, 1]
    risk, total = weights * np.exp(scores), 0.0
    for t in np.unique(time[observed]):
        ending = np.flatnonzero(observed & (time == t))
        at_risk = risk[time >= t].sum()
        mean_weight = weights[ending].mean()
        for place, row in enumerate(ending):
            gone = place / len(ending) * risk[ending].sum() if ties == "efron" else 0.0
            total -= weights[row] * scores[row]
            total += mean_weight * np.log(at_risk - gone)
    return total


def concordance(bounds, longer, weights):
    """Return Harrell's index by a look at every pair."""
    good = pairs = 0.0
    for i, (_, upper) in enumerate(bounds):
        for j, (lower, open_end) in enumerate(bounds):
            if upper < lower or (upper == lower and open_end > lower):
                weight = weights[i] * weights[j]
                pairs += weight
                good += weight * (0.5 if longer[i] == longer[j] else longer[j] > longer[i])
    return good / pairs
