"""Fits of the candidates to the folds, and their out-of-fold predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.validation import has_fit_parameter

from hedgerow._ensemble.candidates import Candidate
from hedgerow._ensemble.model import PlattScaling, decisions_of, values_of
from hedgerow._ensemble.training_set import EnsembleTrainingSet, TargetUnits
from hedgerow._estimator import seed_nested
from hedgerow._progress import Progress
from hedgerow._types import Floats, Indices, SklearnEstimator
from hedgerow._warning import deduplicate_warnings, warn_user
from hedgerow.exceptions import DataError, DataWarning, ParameterError

OUT_OF_TIME = "the time budget was spent"
NO_GAIN = "the step before it was no gain"


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate that was fitted to every fold; `values` are its out-of-fold predictions."""

    candidate: Candidate
    seconds: float
    base_models: list[Any]
    values: Floats
    units: TargetUnits
    scaling: PlattScaling | None


@dataclass(frozen=True)
class FailedTrial:
    """A candidate that was not, and why."""

    candidate: Candidate
    seconds: float
    note: str


class OutOfTimeError(Exception):
    """The time budget is spent."""


@dataclass(eq=False)
class CrossFitting:
    """Fits candidates to folds.

    Attributes
    ----------
    parameters : dict
        Parameters of the ensemble that are set on candidates that have them.
    deadline : float
        Time of the monotonic clock after which no further fit begins.
    are_ours : bool
        Whether the candidates are the library's own choice: one that fails is left out.
    """

    data: EnsembleTrainingSet
    matrix: Floats | None
    fold: NDArray[np.int64]
    parameters: dict[str, Any]
    seed: int
    deadline: float
    are_ours: bool
    display: Progress | None

    def trials(self, candidates: list[Candidate]) -> Iterator[Trial | FailedTrial]:
        """Try the candidates in their order."""
        loss, losses = self.data.loss(), dict[str, float]()
        for number, candidate in enumerate(candidates):
            begin = monotonic()
            if not _is_worthwhile(candidate, losses):
                yield FailedTrial(candidate, 0.0, NO_GAIN)
                continue
            try:
                with self.naming(candidate):
                    trial = self._trial(number, candidate)
                losses[candidate.name] = loss(self.data.evidence(trial.values))
                yield trial
            except OutOfTimeError:
                yield FailedTrial(candidate, monotonic() - begin, OUT_OF_TIME)
            except DataError as error:
                if not self.are_ours:
                    raise
                yield FailedTrial(candidate, monotonic() - begin, str(error))
            if self.display is not None:
                self.display.show((number + 1) * self.n_folds)

    @contextmanager
    def naming(self, candidate: Candidate) -> Iterator[None]:
        """Add the name of a user's candidate to its errors."""
        try:
            yield
        except OutOfTimeError:
            raise
        except Exception as error:
            if not self.are_ours:
                error.add_note(f"The candidate is {candidate.name!r} of estimators.")
            raise

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.fold.max()) + 1

    def _trial(self, number: int, candidate: Candidate) -> Trial:
        begin = monotonic()
        base_models = []
        for index in range(self.n_folds):
            if number > 0 and monotonic() > self.deadline:
                raise OutOfTimeError
            with deduplicate_warnings(is_repeated_fit=index > 0):
                base_models.append(self.fit(number, candidate, np.flatnonzero(self.fold != index)))
            if self.display is not None:
                self.display.show(number * self.n_folds + index + 1)
        units = self.data.units if candidate.is_encoded else TargetUnits()
        scaling = self._scaling(candidate, base_models)
        values = np.zeros((self.data.n_rows, self.data.outputs.n_values))
        for rows, X, base_model in self._holdouts(candidate, base_models):
            values[rows] = values_of(base_model, X, self.data.outputs, units, scaling)
        if not np.isfinite(values).all():
            raise DataError("predictions are not finite")
        seconds = monotonic() - begin
        return Trial(candidate, seconds, base_models, values, units, scaling)

    def fit(self, number: int, candidate: Candidate, rows: Indices) -> Any:
        """Return a fit of a candidate to some rows; seeds differ between candidates."""
        stream = np.random.RandomState([self.seed % 2**32, number, len(rows)])
        base_model = seed_nested(clone(candidate.estimator), stream, 2**31)
        if self.are_ours:  # users have set the parameters of their own candidates
            self._set_parameters(base_model, is_encoded=candidate.is_encoded)
        labels = self.data.labels_for(rows, is_encoded=candidate.is_encoded)
        weights = {}
        if self.data.weights is not None:
            weights["sample_weight"] = self.data.weights[rows]
        matrix = self.matrix if candidate.is_encoded else None
        return base_model.fit(self.data.rows(rows, matrix), labels, **weights)

    def _set_parameters(self, base_model: Any, *, is_encoded: bool) -> None:
        known = base_model.get_params(deep=False)
        own = {name: value for name, value in self.parameters.items() if name in known}
        if is_encoded:  # whose columns are not those of the table
            own.pop("categorical_features", None)
        base_model.set_params(**own)

    def _holdouts(
        self, candidate: Candidate, base_models: list[Any]
    ) -> Iterator[tuple[Indices, Any, Any]]:
        matrix = self.matrix if candidate.is_encoded else None
        for index, base_model in enumerate(base_models):
            rows = np.flatnonzero(self.fold == index)
            yield rows, self.data.rows(rows, matrix), base_model

    def _scaling(self, candidate: Candidate, base_models: list[Any]) -> PlattScaling | None:
        """Calibrate decision functions, for classifiers without probabilities."""
        n_classes = self.data.n_classes
        if n_classes == 0 or hasattr(base_models[0], "predict_proba"):
            return None
        decisions = np.zeros((self.data.n_rows, 1 if n_classes == 2 else n_classes))
        for rows, X, base_model in self._holdouts(candidate, base_models):
            own = decisions_of(base_model, X, n_classes)
            if own.shape[1] != decisions.shape[1]:
                raise DataError("its decision function does not have a score for each class")
            decisions[rows] = own
        return PlattScaling.fit(decisions, self.data.target, self.data.weights)


def _is_worthwhile(candidate: Candidate, losses: Mapping[str, float]) -> bool:
    """Return whether a step in the direction of a candidate was a gain, if it goes on from one."""
    if candidate.goes_on_from is None:
        return True
    before, after = (losses.get(name, inf) for name in candidate.goes_on_from)
    return after < before


def check_candidates(
    estimators: list[tuple[str, SklearnEstimator]], name: str, data: EnsembleTrainingSet
) -> None:
    """Refuse candidates of the user that cannot be members."""
    for label, estimator in estimators:
        is_wrong = is_regressor(estimator) if data.n_classes else is_classifier(estimator)
        kind = "classifier" if data.n_classes else "regressor"
        if is_wrong:
            raise ParameterError(
                f"estimators: {label!r} is a {type(estimator).__name__}; {name} needs a {kind}."
            )
        scores = hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function")
        if data.n_classes and not scores:
            raise ParameterError(
                f"estimators: {label!r}, a {type(estimator).__name__}, has neither predict_proba "
                "nor decision_function."
            )
        if data.is_weighted and not has_fit_parameter(estimator, "sample_weight"):
            raise ParameterError(
                f"estimators: {label!r}, a {type(estimator).__name__}, does not support "
                "sample_weight."
            )


def warn_of_failures(failed: list[FailedTrial], n_candidates: int) -> None:
    """Warn of candidates that could not be fitted, and raise if there is no other."""
    if len(failed) == n_candidates:
        first = failed[0]
        name = repr(first.candidate.name)
        raise DataError(f"No candidate could be fitted; the first, {name}, failed: {first.note}")
    reasons = [
        f"{each.candidate.name} ({each.note})"
        for each in failed
        if each.note not in (OUT_OF_TIME, NO_GAIN)
    ]
    if reasons:
        warn_user(
            f"Candidates that could not be fitted were left out: {'; '.join(reasons)}.", DataWarning
        )
