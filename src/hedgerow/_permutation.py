"""The result of permutation importance: how much worse a model predicts if a column is shuffled.

A forest shuffles columns among the out-of-bag rows of each tree; `hedgerow.explain` shuffles any
rows, several times, for any model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._result import Columns, Result
from hedgerow._types import Floats


@dataclass(frozen=True, repr=False, eq=False)
class PermutationImportance(Result):
    """How much worse a model does if a column, or a group of columns, is shuffled.

    Attributes
    ----------
    feature : array
        Names of the columns or groups; numbers, if a forest was fitted to columns without names.
    mean : array of shape (features,)
        By how much a score falls, or an error rises: the mean over the repeats, or over the trees.
    std : array of shape (features,)
        The standard deviation over the repeats or trees.
    repeats : array of shape (features, n_repeats)
        The value of each repeat or tree.
    baseline : float
        The score or error without shuffling.
    metric : str
        What is measured.
    higher_is_better : bool
        Whether that is a score rather than an error.
    is_by_tree : bool
        Whether repeats are the trees of a forest.
    """

    feature: NDArray[Any]
    mean: Floats
    std: Floats
    repeats: Floats
    baseline: float
    metric: str
    higher_is_better: bool
    is_by_tree: bool = False

    @property
    def by_tree(self) -> Floats:
        """The rise of each tree's out-of-bag loss, (n_trees, features)."""
        if not self.is_by_tree:
            raise AttributeError("by_tree: rows were shuffled for the whole model, not by tree.")
        return self.repeats.T

    @property
    def standard_error(self) -> Floats:
        """The standard error of the mean."""
        return self.std / np.sqrt(self.repeats.shape[1])

    @property
    def z(self) -> Floats:
        """The mean over its standard error, Breiman's z-score; 0 where repeats do not differ."""
        error = self.standard_error
        return np.divide(self.mean, error, out=np.zeros_like(self.mean), where=error > 0)

    @property
    def change(self) -> str:
        """How the metric changes if a useful column is shuffled: a "fall" or a "rise"."""
        return "fall" if self.higher_is_better else "rise"

    def _title(self) -> str:
        n_features, n_repeats = self.repeats.shape
        return (
            f"PermutationImportance of {n_features} features, largest first: {self.change} of "
            f"{self.metric} from {self.baseline:.4g}, {n_repeats} "
            + ("trees" if self.is_by_tree else "repeats")
        )

    def _columns(self) -> Columns:
        order = np.argsort(-self.mean, kind="stable")
        columns = {"feature": self.feature, "mean": self.mean, "std": self.std, "z": self.z}
        return {name: column[order] for name, column in columns.items()}
