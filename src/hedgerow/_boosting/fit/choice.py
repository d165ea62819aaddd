"""The result of the automatic search, as the attribute ``auto_`` of a fitted estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import gcd
from typing import Any, ClassVar

import numpy as np

from hedgerow._result import BROWN, GREEN, GREY, Columns, Result

TRIAL_RATE = 0.15  # learning rate of trials: fast, but good enough to compare candidates
ROUNDS_PER_EVALUATION = 5  # between two evaluations on the holdout

_DETAILS = ("min_samples_leaf", "reg_lambda", "subsample", "max_bins")  # of trials, not in the repr
_LINE_STYLES = ("--", "-.", ":", (0, (6, 3)))  # of candidates that were not chosen


@dataclass(frozen=True)
class TrialResult:
    """One candidate, evaluated on the holdout.

    Attributes
    ----------
    parameters : dict
        The parameters of the candidate.
    n_rounds : int
        Its best round.
    score : float
        The metric on the holdout in that round.
    curve : tuple of float
        The metric after every fifth round.
    expected : float, optional
        The metric that is expected of twice as many rounds, if the kind of all models was chosen by
        it; None in trials that were cut short, and if a mean of kinds was chosen.
    """

    parameters: Mapping[str, Any]
    n_rounds: int
    score: float
    curve: tuple[float, ...] = ()
    expected: float | None = None


@dataclass(frozen=True, repr=False)
class Choice(Result):
    """The parameters that ``n_estimators="auto"`` chose.

    Attributes
    ----------
    parameters : dict
        The values in place of "auto", n_estimators included. Where models differ, those of the
        first.
    n_members : int
        The number of models whose mean was taken; ``n_estimators`` counts the rounds of all.
    metric : str
        The metric on the holdout.
    n_folds : int
        The number of folds. 0: there were too few rows for a search.
    tried : tuple of TrialResult
        All trials, in order.
    best : int
        The index of the trial with the best score.
    in_turn : int
        The number of models whose rounds alternate: less than ``n_members`` in a slice such as
        ``model[::2]``. 0: all of them.
    members : tuple of dict
        The values of each model in place of "auto", in the order in which their rounds alternate.
        Empty if all have ``parameters``.
    """

    _is_long: ClassVar[bool] = False

    parameters: Mapping[str, Any]
    n_members: int = 1
    metric: str = ""
    n_folds: int = 0
    tried: tuple[TrialResult, ...] = ()
    best: int = 0
    in_turn: int = 0
    members: tuple[Mapping[str, Any], ...] = ()

    @property
    def n_in_turn(self) -> int:
        """The number of models whose rounds alternate in the ensemble."""
        return self.in_turn or self.n_members

    def member(self, number: int) -> Mapping[str, Any]:
        """Return the parameters of a model, by its place in the order of rounds."""
        return {**self.parameters, **self.members[number]} if self.members else self.parameters

    def of_every(self, step: int, start: int = 0) -> Choice:
        """Return the choice for a slice of the rounds, from `start` on."""
        left = self.n_in_turn // gcd(self.n_in_turn, step)
        places = [(start + number * step) % self.n_in_turn for number in range(left)]
        members = tuple(self.members[place] for place in places) if self.members else ()
        return replace(self, in_turn=0 if left == self.n_members else left, members=members)

    def n_models(self, trial: TrialResult) -> int:
        """Return how many of the models are of the kind of a trial."""
        kinds = [self.member(number) for number in range(self.n_in_turn)]
        own = {k: v for k, v in trial.parameters.items() if k in self.parameters}
        return sum(own.items() <= kind.items() for kind in kinds)

    def _common(self) -> dict[str, Any]:
        """Return the parameters that all models share."""
        members = [self.member(number) for number in range(self.n_in_turn)]
        return {
            name: value
            for name, value in self.parameters.items()
            if all(member[name] == value for member in members)
        }

    def _title(self) -> str:
        chosen = ", ".join(f"{name}={_short(value)}" for name, value in self._common().items())
        if not self.tried:
            return f"Choice: {chosen}; there were too few rows for a search"
        if np.isnan([trial.score for trial in self.tried]).all():
            return f"Choice: {chosen}; the {self.metric} of every trial was NaN"
        title = f"Choice: {chosen}"
        if self.n_members > 1:
            rounds = self.parameters["n_estimators"] // self.n_members
            title += f"; average of {self.n_members} models, {rounds} rounds each"
            title += " (column 'models')" if self.members else ""
        is_rate_chosen = "learning_rate" in self.parameters
        return f"{title}\nTrials with learning_rate={TRIAL_RATE}:" if is_rate_chosen else title

    def _columns(self) -> Columns:
        if not self.tried:
            return {}
        candidates = [trial.parameters for trial in self.tried]
        columns = {name: np.array([each[name] for each in candidates]) for name in candidates[0]}
        columns["rounds"] = np.array([trial.n_rounds for trial in self.tried])
        columns[self.metric] = np.array([trial.score for trial in self.tried])
        expected = [trial.expected for trial in self.tried]
        if any(score is not None for score in expected):
            columns["expected"] = np.array(expected, np.float64)
        return columns | {"models": np.array([self.n_models(trial) for trial in self.tried])}

    def _repr_columns(self) -> Columns:
        return {name: values for name, values in self._columns().items() if name not in _DETAILS}

    def _kinds(self) -> list[str]:
        """Return a name for each trial: how trees grow, their leaves, and what else differs."""
        candidates = [trial.parameters for trial in self.tried]
        kinds = [
            f"{each.get('grow_policy', 'leafwise')}, {each['max_leaves']} leaves"
            for each in candidates
        ]
        for name in candidates[0] if candidates else ():
            namesakes = [
                {other[name] for other, same in zip(candidates, kinds, strict=True) if same == kind}
                for kind in kinds
            ]
            kinds = [
                f"{kind}, {name}={_short(each[name])}" if len(values) > 1 else kind
                for kind, each, values in zip(kinds, candidates, namesakes, strict=True)
            ]
        return kinds

    def _draw(self, ax: Any) -> None:
        for number, (kind, trial) in enumerate(zip(self._kinds(), self.tried, strict=True)):
            n_models = self.n_models(trial)
            color = GREEN if n_models else GREY
            rounds = ROUNDS_PER_EVALUATION * np.arange(1, len(trial.curve) + 1)
            label = f"{kind}, {n_models} of {self.n_in_turn} models" if n_models else kind
            line = "-" if number == self.best else _LINE_STYLES[number % len(_LINE_STYLES)]
            ax.plot(rounds, trial.curve, linestyle=line, color=color, label=label)
            ax.plot(trial.n_rounds, trial.score, "o", color=BROWN if n_models else color, zorder=4)
        ax.set(xlabel="round", ylabel=f"{self.metric} on the holdout", title="Trials")
        if self.tried:
            ax.legend(frameon=False)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else repr(value)
