"""A model that is nothing but an ensemble of any kind, and reads arrays as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

import hedgerow as hr
from hedgerow._tree.additive import AdditiveTrees
from hedgerow._tree.structure import Ensemble


class TreesAlone(hr.DecisionTreeRegressor):
    """Trees that no fit has grown, for explanations."""

    def __init__(self, ensemble: Any = None, sources: Any = None, n_threads: int = 2) -> None:
        self.ensemble = ensemble
        self.sources = sources
        self.n_threads = n_threads

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _additive_trees(self) -> AdditiveTrees:
        n_columns = int(self.sources.max()) + 1
        return AdditiveTrees(
            ensemble=self.ensemble,
            matrix=np.asarray,
            sources=self.sources,
            feature_names=tuple(f"x{j}" for j in range(n_columns)),
            output_names=tuple(f"y{k}" for k in range(self.ensemble.n_outputs)),
            unit="the target",
            n_threads=self.n_threads,
            features=lambda X: X[:, np.unique(self.sources, return_index=True)[1]],
        )


def alone(ensemble: Ensemble, sources: Any = None, n_threads: int = 2) -> TreesAlone:
    """Return the model; each feature is a column of its own if no sources say otherwise."""
    every = np.arange(ensemble.n_features)
    return TreesAlone(ensemble, every if sources is None else sources, n_threads)
