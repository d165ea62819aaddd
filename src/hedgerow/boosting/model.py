"""What a fit leaves behind and a prediction needs; the estimators hold one, files store one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.boosting.losses import Floats, Link
from hedgerow.data.binning import Binner
from hedgerow.data.intake import TableSchema
from hedgerow.tree.structure import Ensemble, sigmoid, softmax


@dataclass(frozen=True, eq=False)
class BoostedModel:
    """An ensemble, how a table is read for it (schema, bins) and what its scores mean (link)."""

    schema: TableSchema
    binner: Binner
    ensemble: Ensemble
    link: Link

    @property
    def n_rounds(self) -> int:
        """Rounds of boosting: a tree for each output."""
        return self.ensemble.n_trees // len(self.ensemble.base_score)


def prediction_of(scores: Floats, link: Link) -> Floats:
    """Return what raw scores (n, K) mean: values, P(class 1), or the (n, K) class probabilities."""
    if link == "softmax":
        return softmax(scores)
    return sigmoid(scores[:, 0]) if link == "sigmoid" else scores[:, 0]


def class_probabilities(scores: Floats, link: Link) -> Floats:
    """Return the probability of every class, (n, K), of two classes as well."""
    p = prediction_of(scores, link)
    if link == "softmax":
        return p
    both = np.empty((len(p), 2))
    both[:, 1] = p
    np.subtract(1.0, p, out=both[:, 0])
    return both
