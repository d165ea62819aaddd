"""What was tried and chosen, as a fitted estimator reports it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import gcd
from typing import Any

import numpy as np

from hedgerow._boosting.fit.auto.budget import LOOK, TRIAL_RATE
from hedgerow._result import BROWN, GREEN, GREY, Columns, Result

LINES = ("--", "-.", ":", (0, (6, 3)))  # of what was not chosen


@dataclass(frozen=True)
class Tried:
    """One kind of trees.

    Attributes
    ----------
    parameters : dict
        What the kind is.
    n_rounds : int
        Its best round.
    score : float
        The metric on the rows held out, in that round.
    curve : tuple of float
        The metric after every fifth round.
    """

    parameters: Mapping[str, Any]
    n_rounds: int
    score: float
    curve: tuple[float, ...] = ()


@dataclass(frozen=True, repr=False)
class Choice(Result):
    """What ``n_estimators="auto"`` chose.

    Attributes
    ----------
    parameters : dict
        The numbers in place of "auto", n_estimators among them.
    n_members : int
        Models of which the mean was taken; ``n_estimators`` are the rounds of all of them.
    metric : str
        What was measured on the rows held out.
    n_folds : int
        How often a part of the rows was held out. 0: there were too few rows to try anything.
    tried : tuple of Tried
        All that was tried, in order.
    best : int
        Which of them has the best score.
    in_turn : int
        Models whose rounds stand in turn: fewer than ``n_members`` in a slice such as
        ``model[::2]``. 0: all of them.
    """

    parameters: Mapping[str, Any]
    n_members: int = 1
    metric: str = ""
    n_folds: int = 0
    tried: tuple[Tried, ...] = ()
    best: int = 0
    in_turn: int = 0

    @property
    def n_in_turn(self) -> int:
        """Models whose rounds stand in the ensemble, one round of each in turn."""
        return self.in_turn or self.n_members

    def of_every(self, step: int) -> Choice:
        """Return the choice for a slice of every so many rounds."""
        left = self.n_in_turn // gcd(self.n_in_turn, step)
        return replace(self, in_turn=0 if left == self.n_members else left)

    def _title(self) -> str:
        chosen = ", ".join(f"{name}={_short(value)}" for name, value in self.parameters.items())
        if not self.tried:
            return f"Choice: {chosen}; there were too few rows to try anything"
        if np.isnan([tried.score for tried in self.tried]).all():
            return f"Choice: {chosen}; nothing tried had a {self.metric} that is a number"
        title = f"Choice: {chosen}"
        if self.n_members > 1:
            rounds = self.parameters["n_estimators"] // self.n_members
            title += f"; the mean of {self.n_members} models of {rounds} rounds"
        is_hasty = "learning_rate" in self.parameters
        return f"{title}\nTried with learning_rate={TRIAL_RATE}:" if is_hasty else title

    def _columns(self) -> Columns:
        if not self.tried:
            return {}
        kinds = [tried.parameters for tried in self.tried]
        columns = {name: np.array([kind[name] for kind in kinds]) for name in kinds[0]}
        columns["rounds"] = np.array([tried.n_rounds for tried in self.tried])
        return columns | {self.metric: np.array([tried.score for tried in self.tried])}

    def _draw(self, ax: Any) -> None:
        for number, tried in enumerate(self.tried):
            is_best = number == self.best
            color = GREEN if is_best else GREY
            rounds = LOOK * np.arange(1, len(tried.curve) + 1)
            label = f"{tried.parameters['max_leaves']} leaves{', chosen' if is_best else ''}"
            line = "-" if is_best else LINES[number % len(LINES)]
            ax.plot(rounds, tried.curve, linestyle=line, color=color, label=label)
            ax.plot(tried.n_rounds, tried.score, "o", color=BROWN if is_best else color, zorder=4)
        ax.set(xlabel="round", ylabel=f"held-out {self.metric}", title="What was tried")
        if self.tried:
            ax.legend(frameon=False)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else repr(value)
