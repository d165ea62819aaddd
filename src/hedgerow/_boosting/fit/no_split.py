"""Why no tree of a model could be split: a model that says the same of every row needs a word.

Each limit is lifted in turn, and a round is grown without it. What makes the difference is named.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hedgerow._boosting.fit.constraints import UNCONSTRAINED
from hedgerow._boosting.fit.round_grower import rounds_of_one, row_draws
from hedgerow._boosting.fit.settings import Settings
from hedgerow._boosting.fit.training_set import Prepared
from hedgerow._boosting.model import BoostedModel
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats
from hedgerow._warning import warn_user
from hedgerow.exceptions import NoSplitWarning

# What each parameter is if it sets no limit. Those of a row stand and fall together.
LIFTED: Sequence[Mapping[str, Any]] = (
    {"min_samples_leaf": 1},
    {"min_child_weight": 0.0},
    {"min_split_gain": 0.0},
    {"reg_alpha": 0.0},
    {"subsample": 1.0, "sampling": "uniform"},
    {"colsample_bytree": 1.0, "colsample_bylevel": 1.0, "colsample_bynode": 1.0},
)
CONSTRAINTS = ("monotonic_constraints", "interaction_constraints", "feature_weights")


def warn_if_never_split(model: BoostedModel, prepared: Prepared, settings: Settings) -> None:
    """Warn of a model without a single split, and say what kept its trees from splitting."""
    if (model.ensemble.feature >= 0).any():
        return
    why = NoSplit(prepared, settings).reason()
    name = type(settings.asked).__name__
    message = f"{name}: no tree has a split, so every row gets the same prediction: {why}"
    warn_user(message, NoSplitWarning, about="splits")


@dataclass(frozen=True)
class NoSplit:
    """A fit none of whose trees has a split."""

    prepared: Prepared
    settings: Settings

    def reason(self) -> str:
        """Say what kept the trees from being split, and what to do about it."""
        if (self.prepared.train.target == self.prepared.train.target[0]).all():
            return "the target is the same in every row."
        limits = [limit for limit in LIFTED if self._is_set(limit)]
        decisive = [limit for limit in limits if self._splits_without(limit)]
        if not decisive and self._is_constrained and self._splits_without({}, UNCONSTRAINED):
            return f"{' or '.join(self._constraints)} forbids every split."
        if decisive:
            return "; ".join(self._describe(limit) for limit in decisive) + "."
        together = {name: value for limit in limits for name, value in limit.items()}
        if limits and self._splits_without(together):
            return f"{self._named(together)} together leave no split."
        return self._of_columns()

    def _is_set(self, limit: Mapping[str, Any]) -> bool:
        estimator = self.settings.estimator
        return any(getattr(estimator, name) != value for name, value in limit.items())

    def _splits_without(self, limit: Mapping[str, Any], constraints: Any = None) -> bool:
        """Tell whether a round has a split if a limit is lifted."""
        estimator = copy.copy(self.settings.estimator)
        for name, value in {**limit, "boosting": "gradient"}.items():
            setattr(estimator, name, value)
        problem = self.prepared.problem
        free = replace(problem, constraints=constraints or problem.constraints)
        prepared = replace(self.prepared, problem=free)
        settings = replace(self.settings, estimator=estimator)
        grow_round: Callable[[int], Sequence[Tree]] = rounds_of_one(prepared, settings, free.start)
        return any((tree.feature >= 0).any() for tree in grow_round(0))

    def _describe(self, limit: Mapping[str, Any]) -> str:
        estimator = self.settings.estimator
        if "min_samples_leaf" in limit:
            least = estimator.min_samples_leaf
            return (
                f"min_samples_leaf={least} needs {2 * least} rows for a split, and a round has "
                f"{self._n_drawn}"
                if self._n_drawn < 2 * least
                else f"no split leaves min_samples_leaf={least} rows on both sides"
            )
        if "min_child_weight" in limit:
            return (
                f"no split leaves min_child_weight={estimator.min_child_weight:g} on both sides; "
                f"the hessians of all rows sum to {self._hessian:.3g}"
            )
        if "min_split_gain" in limit:
            return f"no split gains min_split_gain={estimator.min_split_gain:g}"
        if "subsample" in limit:
            n_rows = self.prepared.train.table.n_rows
            return f"{self._named(limit)} draws {self._n_drawn} of {n_rows} rows for a round"
        return f"{self._named(limit)} leaves nothing to gain"

    def _named(self, limit: Mapping[str, Any]) -> str:
        estimator = self.settings.estimator
        changed = [name for name, value in limit.items() if getattr(estimator, name) != value]
        return " and ".join(f"{name}={getattr(estimator, name)!r}" for name in changed)

    @property
    def _constraints(self) -> list[str]:
        estimator = self.settings.estimator
        return [name for name in CONSTRAINTS if getattr(estimator, name) is not None]

    @property
    def _is_constrained(self) -> bool:
        return bool(self._constraints)

    @property
    def _n_drawn(self) -> int:
        """The rows of the first round."""
        train = self.prepared.train
        rows = row_draws(train, self.settings).bag(0, None).rows
        return train.table.n_rows if rows is None else len(rows)

    @property
    def _hessian(self) -> float:
        """The sum of the hessians of all rows, before the first round."""
        prepared, train = self.prepared, self.prepared.train
        target, loss = train.target_by_output, prepared.problem.loss
        weights = loss.row_weights(target, train.weights)
        scores: Floats = np.empty((loss.n_outputs, train.table.n_rows))
        scores[...] = prepared.base_score[:, np.newaxis]
        return float(loss.differentiator(target, weights)(scores)[1].sum())

    def _of_columns(self) -> str:
        matrix = self.prepared.matrix(self.prepared.train)
        varies = (matrix != matrix[:1]) & ~(np.isnan(matrix) & np.isnan(matrix[:1]))
        if not varies.any():
            return "no column has two different values."
        return "no column tells the targets apart."
