"""The margins of a vote, as base models are added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._result import BROWN, GREEN, GREY, Columns, Result
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError
from hedgerow.theory._voters import (
    Votes,
    class_numbers,
    margins_and_rivals,
    require_voters,
    vote_weights,
    votes,
)


def margins(model: Any, X: Any, y: Any, *, rounds: Sequence[int] | None = None) -> Margins:
    """Return the margins of rows as base models are added to a vote.

    The margin of a row is the share of the votes for its class minus the largest share of another
    class: 1 if all votes are right, −1 if all agree on one wrong class, and not positive if the
    vote is wrong. In AdaBoost base model m has the weight α_m, and shares are relative to Σ|α|; for
    two classes ±1 the margin is y f(x) / Σ|α_m| with f = Σ α_m G_m. In bagging and forests all
    votes have the same weight; each base model votes for the class that it predicts, also if the
    ensemble averages probabilities.

    Parameters
    ----------
    model : fitted classifier
        A random forest, extra trees, bagging or discrete AdaBoost, of Hedgerow or scikit-learn.
    X : table of shape (n_rows, n_features)
        The training set, as in the theory of boosting, or other rows.
    y : array of shape (n_rows,)
        Their classes.
    rounds : sequence of int, optional
        Numbers of base models; by default 1, 2, 5, 10, 20, 50 and so on to the last.

    Returns
    -------
    Margins

    References
    ----------
    Schapire, Freund, Bartlett and Lee, "Boosting the margin", Annals of Statistics 26, 1998.
    """
    require_voters(model)
    all_votes = votes(model, X)
    n_members, n_rows = all_votes.shape
    truth = class_numbers(model, y, n_rows)
    after = _milestones(n_members) if rounds is None else _checked_rounds(rounds, n_members)
    weights = vote_weights(model, n_members)
    return Margins(after, _margins_after(all_votes, weights, truth, len(model.classes_), after))


@dataclass(frozen=True, eq=False, repr=False)
class Margins(Result):
    """Margins of rows after some rounds of a vote.

    Attributes
    ----------
    rounds : array of shape (n_rounds,)
        Numbers of base models.
    margins : array of shape (n_rounds, n_rows)
        The margins, from −1 to 1.
    """

    rounds: NDArray[np.int64]
    margins: Floats

    @property
    def minimum(self) -> Floats:
        """The smallest margin after each round."""
        return self.margins.min(axis=1)

    @property
    def mean(self) -> Floats:
        """The mean margin after each round."""
        return self.margins.mean(axis=1)

    def quantile(self, q: float | Sequence[float]) -> Floats:
        """Return quantiles of the margins after each round; q is in [0, 1] and the first axis."""
        quantiles: Floats = np.quantile(self.margins, q, axis=1)
        return quantiles

    def at_most(self, theta: float = 0.0) -> Floats:
        """Return the share of rows with a margin of at most theta, after each round.

        At 0, these are the rows that are misclassified or tied.
        """
        return (self.margins <= theta).mean(axis=1)

    def _title(self) -> str:
        return f"Margins: {self.margins.shape[1]} rows, rounds {self.rounds[0]}–{self.rounds[-1]}"

    def _columns(self) -> Columns:
        tenth, median, nine_tenths = self.quantile([0.1, 0.5, 0.9])
        return {
            "round": self.rounds,
            "minimum": self.minimum,
            "q10": tenth,
            "median": median,
            "q90": nine_tenths,
            "mean": self.mean,
            "not_positive": self.at_most(0.0),
        }

    def _draw(self, ax: Any) -> None:
        height = np.arange(1, self.margins.shape[1] + 1) / self.margins.shape[1]
        # Five curves at most, the last of which is the full model.
        curves = np.unique(np.linspace(0, len(self.rounds) - 1, 5).astype(np.intp))
        for place, i in enumerate(curves):
            is_last = i == curves[-1]
            x = np.concatenate([[-1.0], np.sort(self.margins[i]), [1.0]])
            ax.step(
                x,
                np.concatenate([[0.0], height, [1.0]]),
                where="post",
                color=GREEN if is_last else BROWN,
                alpha=1.0 if is_last else 0.35 + 0.5 * place / len(curves),
                linewidth=2.0 if is_last else 1.2,
                label=f"{self.rounds[i]} " + ("round" if self.rounds[i] == 1 else "rounds"),
            )
        ax.axvline(0.0, color=GREY, linewidth=1, linestyle=":")
        ax.set(xlabel="margin", ylabel="cumulative share of rows", xlim=(-1.02, 1.02))
        ax.set_ylim(0.0, 1.02)
        ax.legend(frameon=False, loc="upper left")


def _margins_after(
    all_votes: Votes, weights: Floats, truth: NDArray[np.int64], n_classes: int, after: NDArray[Any]
) -> Floats:
    """Count the votes of one base model after another; return the margins after some of them."""
    rows = np.arange(all_votes.shape[1])
    tally = np.zeros((all_votes.shape[1], n_classes))
    measured = np.empty((len(after), all_votes.shape[1]))
    total = 0.0
    for m, (vote, weight) in enumerate(zip(all_votes[: after[-1]], weights, strict=False), start=1):
        tally[rows, vote] += weight
        total += abs(weight)
        if m in after:
            measured[after == m], _ = margins_and_rivals(tally / (total or 1.0), truth)
    return measured


def _milestones(last: int) -> NDArray[np.int64]:
    """Return 1, 2, 5, 10, 20, 50 and so on, and the last."""
    round_numbers = [lead * 10**power for power in range(len(str(last))) for lead in (1, 2, 5)]
    return np.array([*(r for r in round_numbers if r < last), last], np.int64)


def _checked_rounds(rounds: Sequence[int], last: int) -> NDArray[np.int64]:
    array = np.asarray(rounds)
    is_list = array.ndim == 1 and array.dtype.kind in "iu" and len(array) > 0
    if not is_list or array.min() < 1 or array.max() > last:
        raise ParameterError(f"rounds={rounds!r} must be a list of ints from 1 to {last}.")
    return np.unique(array).astype(np.int64)
