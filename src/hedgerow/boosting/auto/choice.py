"""What was tried and chosen, as a fitted estimator reports it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hedgerow.result import texts


@dataclass(frozen=True)
class Tried:
    """One kind of trees: its parameters, the best round, and the metric on held-out rows then."""

    parameters: Mapping[str, Any]
    n_rounds: int
    score: float


@dataclass(frozen=True)
class Choice:
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
    tried : list of Tried
        All that was tried, in order; the chosen one has the best score.
    """

    parameters: Mapping[str, Any]
    n_members: int = 1
    metric: str = ""
    n_folds: int = 0
    tried: tuple[Tried, ...] = field(default=())

    def __repr__(self) -> str:
        chosen = ", ".join(f"{name}={_short(value)}" for name, value in self.parameters.items())
        lines = [f"Choice({chosen})"]
        if self.n_members > 1:
            rounds = self.parameters["n_estimators"] // self.n_members
            lines.append(f"  the mean of {self.n_members} models of {rounds} rounds")
        scores = texts(np.array([tried.score for tried in self.tried]))
        for tried, score in zip(self.tried, scores, strict=True):
            what = ", ".join(f"{name}={_short(value)}" for name, value in tried.parameters.items())
            lines.append(f"  tried {what}: {self.metric} {score} after {tried.n_rounds} rounds")
        if not self.tried:
            lines.append("  nothing was tried: there are too few rows to hold any out")
        return "\n".join(lines)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else repr(value)
