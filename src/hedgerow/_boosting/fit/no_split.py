"""The warning about a model without any split, which predicts the same for every row.

Each limit is lifted in turn, and a round is grown without it. The message names the limits that
make a difference. In a distributed fit, the workers grow these rounds together, so every decision
is based on the rows of all workers.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hedgerow._boosting.fit.constraints import UNCONSTRAINED
from hedgerow._boosting.fit.fit_data import Settings
from hedgerow._boosting.fit.round_grower import round_grower, row_sampler
from hedgerow._boosting.fit.training_set import TrainingSet
from hedgerow._collective import workers
from hedgerow._data.binning import BinnedMatrix
from hedgerow._types import Floats
from hedgerow._warning import warn_user
from hedgerow.exceptions import NoSplitWarning

# The value of each parameter that sets no limit. Those in one dict are lifted together.
LIFTED: Sequence[Mapping[str, Any]] = (
    {"min_samples_leaf": 1},
    {"min_child_weight": 0.0},
    {"min_split_gain": 0.0},
    {"reg_alpha": 0.0},
    {"subsample": 1.0, "sampling": "uniform"},
    {"colsample_bytree": 1.0, "colsample_bylevel": 1.0, "colsample_bynode": 1.0},
)
CONSTRAINTS = ("monotonic_constraints", "interaction_constraints", "feature_weights")


def warn_never_split(training_set: TrainingSet, settings: Settings) -> None:
    """Warn about a model without any split, and say what prevented splits."""
    reason = NoSplit(training_set, settings).reason()
    name = type(settings.estimator).__name__
    message = f"{name}: no tree has a split, so every row gets the same prediction: {reason}"
    warn_user(message, NoSplitWarning, about="splits")


@dataclass(frozen=True)
class NoSplit:
    """A fit in which no tree has a split."""

    training_set: TrainingSet
    settings: Settings

    def reason(self) -> str:
        """Return what prevented splits."""
        if self._has_one_target:
            return "the target is the same in every row."
        limits = [limit for limit in LIFTED if self._is_set(limit)]
        decisive = [limit for limit in limits if self._splits_without(limit)]
        if not decisive and self._constraints and self._splits_without({}, UNCONSTRAINED):
            return f"{' or '.join(self._constraints)} forbids every split."
        if decisive:
            return "; ".join(self._describe(limit) for limit in decisive) + "."
        together = {name: value for limit in limits for name, value in limit.items()}
        if limits and self._splits_without(together):
            return f"{self._named(together)} together prevent every split."
        return self._of_columns()

    def _is_set(self, limit: Mapping[str, Any]) -> bool:
        params = self.settings.params
        return any(getattr(params, name) != value for name, value in limit.items())

    def _splits_without(self, limit: Mapping[str, Any], constraints: Any = None) -> bool:
        """Return whether a round has a split if a limit is lifted."""
        params = copy.copy(self.settings.params)
        for name, value in {**limit, "boosting": "gradient"}.items():
            setattr(params, name, value)
        problem = self.training_set.problem
        problem = replace(problem, constraints=constraints or problem.constraints)
        training_set = replace(self.training_set, problem=problem)
        settings = replace(self.settings, params=params)
        grower = round_grower(training_set, settings, problem.initial_model)
        return any((tree.feature >= 0).any() for tree in grower.grow(range(1)))

    def _describe(self, limit: Mapping[str, Any]) -> str:
        params = self.settings.params
        if "min_samples_leaf" in limit:
            least = params.min_samples_leaf
            return (
                f"a split needs {2 * least} rows (min_samples_leaf={least}), but each round "
                f"uses only {self._n_sampled}"
                if self._n_sampled < 2 * least
                else f"no split leaves min_samples_leaf={least} rows on both sides"
            )
        if "min_child_weight" in limit:
            return (
                f"no split leaves min_child_weight={params.min_child_weight:g} on both sides; "
                f"the hessians of all rows sum to {self._hessian:.3g}"
            )
        if "min_split_gain" in limit:
            return f"no split has a gain of at least min_split_gain={params.min_split_gain:g}"
        if "subsample" in limit:
            n_rows = workers().count(self.training_set.train.table.n_rows)
            return f"{self._named(limit)} samples {self._n_sampled} of {n_rows} rows for a round"
        return f"with {self._named(limit)} no split has a gain"

    def _named(self, limit: Mapping[str, Any]) -> str:
        params = self.settings.params
        changed = [name for name, value in limit.items() if getattr(params, name) != value]
        return " and ".join(f"{name}={getattr(params, name)!r}" for name in changed)

    @property
    def _constraints(self) -> list[str]:
        params = self.settings.params
        return [name for name in CONSTRAINTS if getattr(params, name) is not None]

    @property
    def _n_sampled(self) -> int:
        """The number of rows in the first round."""
        train = self.training_set.train
        rows = row_sampler(train, self.settings).bag(0, None).rows
        return workers().count(train.table.n_rows if rows is None else len(rows))

    @property
    def _has_one_target(self) -> bool:
        target = np.asarray(self.training_set.train.target, np.float64)
        least = workers().combined(target.min(axis=0, initial=np.inf).reshape(-1), np.minimum)
        largest = workers().combined(target.max(axis=0, initial=-np.inf).reshape(-1), np.maximum)
        return bool((least == largest).all())

    @property
    def _hessian(self) -> float:
        """The sum of the hessians of all rows, before the first round."""
        training_set, train = self.training_set, self.training_set.train
        target, loss = train.target_by_output, training_set.problem.loss
        weights = loss.row_weights(target, train.weights)
        scores: Floats = np.empty((loss.n_outputs, train.table.n_rows))
        scores[...] = training_set.base_score[:, np.newaxis]
        if train.offset is not None:
            scores += train.offset.T
        return workers().exact_sum(loss.differentiator(target, weights)(scores)[1].reshape(-1))

    def _of_columns(self) -> str:
        if not self._varies():
            return "every feature is constant."
        return "no feature separates the targets."

    def _varies(self) -> bool:
        """Return whether any feature has different values."""
        training_set = self.training_set
        if training_set.train.table.is_streamed:
            assert isinstance(training_set.binned, BinnedMatrix)
            bins = training_set.binned.by_column
            of_first_row = workers().concatenated_rows(np.ascontiguousarray(bins[:, :1].T))[0]
            pairs = zip(bins, of_first_row, strict=True)
            return workers().any(any((column != bin_).any() for column, bin_ in pairs))
        if training_set.train.table.sparse is not None:
            return _sparse_varies(training_set.train.table.sparse.csc)
        matrix = training_set.matrix(training_set.train)
        first = workers().concatenated_rows(np.asarray(matrix[:1], np.float64))[:1]
        differs = (matrix != first) & ~(np.isnan(matrix) & np.isnan(first))
        return workers().any(bool(differs.any()))


def _sparse_varies(csc: Any) -> bool:
    """Return whether any column of a sparse matrix has different values."""
    for stored in np.split(csc.data, csc.indptr[1:-1]):
        first = stored[0] if len(stored) == csc.shape[0] else stored.dtype.type(0)
        if ((stored != first) & ~(np.isnan(stored) & np.isnan(first))).any():
            return True
    return False
