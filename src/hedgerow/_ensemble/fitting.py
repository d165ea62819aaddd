"""One call of an ensemble's `fit`: data → candidates → trials → selection → model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.outputs import ClassOutputs, Outputs
from hedgerow._data.pass_through import take_rows
from hedgerow._ensemble.candidates import BASELINE, Candidate, candidates_for
from hedgerow._ensemble.cross_fitting import (
    CrossFitting,
    FailedTrial,
    Trial,
    check_candidates,
    warn_of_failures,
)
from hedgerow._ensemble.model import EnsembleModel, Member
from hedgerow._ensemble.selection import select, weighted_sum
from hedgerow._ensemble.training_set import EncodedTable, EnsembleTrainingSet, fold_numbers
from hedgerow._estimator import Estimator, seed_of
from hedgerow._progress import progress
from hedgerow._result import GREEN, GREY, Columns, Result
from hedgerow._types import Attributes, Floats
from hedgerow._warning import deduplicate_warnings


@dataclass(frozen=True, repr=False, eq=False)
class EnsembleMembers(Result):
    """The candidates of an ensemble, those with the largest weights first.

    Attributes
    ----------
    name : array of str
        Names of the candidates.
    weight : array
        Their weights, which add up to 1; 0 if a candidate was not selected.
    loss : array
        The loss of their out-of-fold predictions: log loss or root mean squared error. NaN if a
        candidate could not be fitted.
    seconds : array
        The time of their fits; NaN if the model was read from a file.
    note : array of str
        Why a candidate could not be fitted, otherwise empty.
    metric : str
        Name of the loss.
    ensemble_loss : float
        The loss of the weighted mean.
    """

    name: NDArray[Any]
    weight: Floats
    loss: Floats
    seconds: Floats
    note: NDArray[Any]
    metric: str
    ensemble_loss: float

    _is_long = False

    def _title(self) -> str:
        n_selected = int((self.weight > 0.0).sum())
        return (
            f"EnsembleMembers: {n_selected} of {len(self.name)} candidates, out-of-fold "
            f"{self.metric} {self.ensemble_loss:.4g}"
        )

    def _columns(self) -> Columns:
        order = np.lexsort((self.loss, -self.weight))
        columns = {
            "name": self.name,
            "weight": self.weight,
            self.metric.replace(" ", "_"): self.loss,
            "seconds": self.seconds,
            "note": self.note,
        }
        return {name: column[order] for name, column in columns.items()}

    def _repr_columns(self) -> Columns:
        columns = dict(self._columns())
        del columns["note"]
        if np.isnan(self.seconds).all():  # read from a file
            del columns["seconds"]
        return columns

    def _draw(self, ax: Any) -> None:
        order = [i for i in np.lexsort((self.loss, -self.weight)) if np.isfinite(self.loss[i])]
        rows = np.arange(len(order))
        colours = [GREEN if self.weight[i] > 0.0 else GREY for i in order]
        ax.barh(rows, self.loss[order], color=colours, alpha=0.8)
        ax.axvline(self.ensemble_loss, color="black", linewidth=1.2, label="ensemble")
        ax.set_yticks(rows, [f"{self.name[i]} ({self.weight[i]:.2f})" for i in order])
        ax.invert_yaxis()
        ax.set(xlabel=f"out-of-fold {self.metric}", ylabel="candidate (weight)")
        ax.legend(frameon=False)

    def _figure_size(self) -> tuple[float, float]:
        return 6.0, 1.4 + 0.35 * len(self.name)


def fit_ensemble(
    ensemble: Estimator,
    outputs_kind: type[Outputs],
    X: Any,
    y: Any,
    sample_weight: Any,
    groups: Any,
) -> Attributes:
    """Return the attributes of the fitted estimator."""
    begin, seed = monotonic(), seed_of(ensemble.random_state)
    data = EnsembleTrainingSet.read(ensemble, outputs_kind, X, y, sample_weight)
    if ensemble.estimators is not None:
        check_candidates(ensemble.estimators, type(ensemble).__name__, data)
    candidates = candidates_for(ensemble.estimators, data)
    encoded = None
    if data.table is not None and any(each.is_encoded for each in candidates):
        encoded = data.table.encoded()
    fold = fold_numbers(ensemble.cv, data, groups, seed)
    n_fits = len(candidates) * (int(fold.max()) + 1)
    with progress(ensemble.verbose, n_fits, unit="fit", title="ensemble") as display:
        fitting = CrossFitting(
            data=data,
            matrix=None if encoded is None else encoded.matrix,
            fold=fold,
            parameters={
                "n_jobs": ensemble.n_jobs,
                "categorical_features": ensemble.categorical_features,
            },
            seed=seed,
            deadline=np.inf if ensemble.time_budget is None else begin + ensemble.time_budget,
            are_ours=ensemble.estimators is None,
            display=display,
        )
        trials = list(fitting.trials(candidates))
    failed = [trial for trial in trials if isinstance(trial, FailedTrial)]
    warn_of_failures(failed, len(candidates))
    tried = [trial for trial in trials if isinstance(trial, Trial)]
    is_baseline = [fitting.are_ours and trial.candidate.name == BASELINE for trial in tried]
    baseline = is_baseline.index(True) if any(is_baseline) else None
    members, table, values = _selection(tried, failed, data, ensemble.n_selections, baseline)
    if ensemble.refit:
        refit = partial(_refitted, fitting, candidates, keep=bool(ensemble.refit == "both"))
        members = [refit(member) for member in members]
    if not any(member.is_encoded for member in members):
        encoded = None
    fold_of_all = np.full(data.passed.shape[0], -1)
    fold_of_all[data.numbers] = fold
    model = EnsembleModel(
        outputs=data.outputs,
        members=members,
        schema=None if encoded is None else encoded.schema,
        encoder=None if encoded is None else encoded.encoder,
        fold=fold_of_all,
        refit="both" if ensemble.refit == "both" else bool(ensemble.refit),
    )
    out_of_fold = _as_prediction(data, _of_all_rows(data, model, encoded, values))
    return (
        data.columns
        | data.outputs.attributes()
        | {
            "_model": model,
            "members_": table,
            **out_of_fold,
        }
    )


def _selection(
    tried: list[Trial],
    failed: list[FailedTrial],
    data: EnsembleTrainingSet,
    n_steps: int,
    baseline: int | None,
) -> tuple[list[Member], EnsembleMembers, Floats]:
    """Return the members, the table of all candidates, and the ensemble's predictions."""
    evidence, loss = np.stack([data.evidence(trial.values) for trial in tried]), data.loss()
    weights = select(evidence, loss, n_steps, baseline)
    members = [
        Member(
            name=trial.candidate.name,
            weight=weight,
            base_models=trial.base_models,
            is_encoded=trial.candidate.is_encoded,
            units=trial.units,
            scaling=trial.scaling,
        )
        for trial, weight in zip(tried, weights.tolist(), strict=True)
        if weight > 0.0
    ]
    values = weighted_sum(weights, [trial.values for trial in tried])
    losses = np.array([loss(own) for own in [*evidence, data.evidence(values)]])
    if not data.n_classes:
        losses = np.sqrt(losses)
    none = np.zeros(len(failed))
    trials: list[Trial | FailedTrial] = [*tried, *failed]
    table = EnsembleMembers(
        name=np.array([trial.candidate.name for trial in trials], object),
        weight=np.concatenate([weights, none]),
        loss=np.concatenate([losses[:-1], none + np.nan]),
        seconds=np.array([trial.seconds for trial in trials]),
        note=np.array([""] * len(tried) + [trial.note for trial in failed], object),
        metric="log loss" if data.n_classes else "RMSE",
        ensemble_loss=float(losses[-1]),
    )
    return members, table, values


def _refitted(
    fitting: CrossFitting, candidates: list[Candidate], member: Member, *, keep: bool
) -> Member:
    """Return a member with a base model that is fitted to all rows; `keep` those of the folds."""
    number = [candidate.name for candidate in candidates].index(member.name)
    candidate, rows = candidates[number], np.arange(fitting.data.n_rows)
    with deduplicate_warnings(is_repeated_fit=True), fitting.naming(candidate):
        of_all_rows = fitting.fit(number, candidate, rows)
    return replace(member, base_models=[*member.base_models * keep, of_all_rows])


def _of_all_rows(
    data: EnsembleTrainingSet, model: EnsembleModel, encoded: EncodedTable | None, values: Floats
) -> Floats:
    """Add the mean of all models for rows of weight 0, to which none was fitted."""
    others = np.flatnonzero(model.fold < 0)
    if not len(others):
        return values
    of_all = np.empty((model.n_rows, values.shape[1]))
    of_all[data.numbers] = values

    def encode(X: Any) -> Floats:
        assert encoded is not None  # as some member needs it
        return encoded.encode(X)

    of_all[others] = model.mean(take_rows(data.passed, others), encode)
    return of_all


def _as_prediction(data: EnsembleTrainingSet, values: Floats) -> Attributes:
    """Return the out-of-fold predictions as an attribute."""
    if isinstance(data.outputs, ClassOutputs):
        return {"oof_decision_function_": data.outputs.probabilities(values)[0]}
    return {"oof_prediction_": values[:, 0].copy()}
