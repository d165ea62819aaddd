"""A forest's strength, the correlation of its trees, and the bound on its error made of the two."""

from __future__ import annotations

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
    votes,
)
from hedgerow.theory._voters import out_of_bag as out_of_bag_rows

Flags = NDArray[np.bool_]
Classes = NDArray[np.int64]
BARS = 40


def forest_bound(model: Any, X: Any, y: Any, *, out_of_bag: bool = True) -> ForestBound:
    """Return a forest's strength and mean correlation, and the bound ρ̄ (1 − s²) / s² on its error.

    Every number is estimated from out-of-bag votes, as in the second appendix of Breiman's paper.
    Q(x, j) is the part of the votes for class j among the trees that were not fitted on row x, and
    the rival ĵ of a row is the other class with the largest part. Then

    - the margin function is mr = Q(x, y) − Q(x, ĵ), and the strength s is its mean over the rows;
    - var(mr) is the mean of mr² less s²;
    - a tree's raw margin function is 1 where it is right, −1 where it votes for the rival and 0
      elsewhere; over the rows that the tree was not fitted on, right in the part p₁ of them and for
      the rival in the part p₂, its standard deviation is √(p₁ + p₂ − (p₁ − p₂)²);
    - ρ̄ = var(mr) / (mean standard deviation of the trees)².

    The rivals come from the votes of all trees. Rows that every tree was fitted on do not count.

    Parameters
    ----------
    model : fitted classifier
        A random forest, extra trees or bagging, Hedgerow's or scikit-learn's. A tree votes for the
        class that it predicts.
    X : table of shape (n_rows, n_features)
        The training rows, in the order of fit.
    y : array of shape (n_rows,)
        Their classes.
    out_of_bag : bool
        False lets every tree vote on every row: for rows that were not trained on, and for forests
        without bootstrap.

    Returns
    -------
    ForestBound

    References
    ----------
    Breiman, "Random Forests", Machine Learning 45, 2001.
    """
    require_voters(model)
    if hasattr(model, "estimator_weights_"):
        raise ParameterError(
            f"model: the members of {type(model).__name__} depend on each other, and the bound is "
            "about independent ones: give a random forest, extra trees or bagging."
        )
    given = votes(model, X)
    truth = class_numbers(model, y, given.shape[1])
    counted = _counted(model, given, out_of_bag)
    return _estimate(given, counted, truth, len(model.classes_))


@dataclass(frozen=True, eq=False, repr=False)
class ForestBound(Result):
    """Strength, correlation and what they say of a forest's error.

    Attributes
    ----------
    strength : float
        s, the mean of the margin function.
    correlation : float
        ρ̄, the mean correlation of the trees' raw margin functions; NaN if no tree errs.
    bound : float
        ρ̄ (1 − s²) / s²; infinite if the strength is not positive, where it says nothing.
    error : float
        The part of the rows that the vote gets wrong (the first class of equals wins).
    margin_variance : float
        var(mr). Chebyshev's inequality gives error ≤ var(mr) / s², from which the bound follows.
    margins : array of shape (n_rows,)
        The margin function of each row; NaN where no tree voted.
    tree_rows : array of shape (n_trees,)
        Rows that each tree voted on.
    tree_right, tree_rival : array of shape (n_trees,)
        p₁ and p₂, the parts of them where it is right and where it votes for the rival.
    tree_sd : array of shape (n_trees,)
        Standard deviation of each tree's raw margin function; NaN if it voted on no row.
    """

    strength: float
    correlation: float
    bound: float
    error: float
    margin_variance: float
    margins: Floats
    tree_rows: NDArray[np.int64]
    tree_right: Floats
    tree_rival: Floats
    tree_sd: Floats

    @property
    def ratio(self) -> float:
        """ρ̄ / s²: the smaller, the better the forest."""
        return self.correlation / self.strength**2 if self.strength > 0.0 else np.inf

    def _title(self) -> str:
        n_rows = int(np.isfinite(self.margins).sum())
        return f"ForestBound: {len(self.tree_sd)} trees, {n_rows} rows"

    def _figures(self) -> dict[str, float]:
        return {
            "strength s": self.strength,
            "mean correlation ρ": self.correlation,
            "ρ / s²": self.ratio,
            "bound ρ (1 − s²) / s²": self.bound,
            "error of the vote": self.error,
        }

    def _columns(self) -> Columns:
        return {
            "tree": np.arange(len(self.tree_sd)),
            "rows": self.tree_rows,
            "right": self.tree_right,
            "rival": self.tree_rival,
            "sd": self.tree_sd,
        }

    def _repr_columns(self) -> Columns:
        return {}

    def _draw(self, ax: Any) -> None:
        known = self.margins[np.isfinite(self.margins)]
        edges = np.linspace(-1.0, 1.0, BARS + 1)
        heights = np.histogram(known, edges)[0] / len(known)
        half = BARS // 2
        for bars, colour, label in (
            (slice(0, half), BROWN, f"error {self.error:.3f}"),
            (slice(half, BARS), GREEN, None),
        ):
            ax.bar(
                edges[:-1][bars],
                heights[bars],
                width=2.0 / BARS,
                align="edge",
                color=colour,
                alpha=0.8,
                label=label,
            )
        ax.axvline(
            self.strength, color="black", linewidth=1.2, label=f"strength {self.strength:.3f}"
        )
        ax.axvline(0.0, color=GREY, linewidth=1, linestyle=":")
        ax.set(xlabel="margin function", ylabel="share of rows", xlim=(-1.02, 1.02))
        ax.legend(
            title=f"correlation {self.correlation:.3f}\nbound {self.bound:.3f}",
            frameon=False,
            loc="upper left",
            alignment="left",
        )


def _counted(model: Any, given: Votes, only_out_of_bag: bool) -> Flags:
    """Return which votes count, of shape (n_trees, n_rows)."""
    if not only_out_of_bag:
        return np.ones(given.shape, np.bool_)
    counted = out_of_bag_rows(model, given.shape[1])
    if not counted.any():
        raise ParameterError(
            f"model: every member of this {type(model).__name__} was fitted on every row, so that "
            "none is out of bag. Fit it with bootstrap=True, or give other rows and "
            "out_of_bag=False."
        )
    return counted


def _estimate(given: Votes, counted: Flags, truth: Classes, n_classes: int) -> ForestBound:
    shares = _vote_shares(given, counted, n_classes)
    voted = counted.any(axis=0)
    margins, rivals = margins_and_rivals(shares, truth)
    strength = float(margins[voted].mean())
    variance = float((margins[voted] ** 2).mean()) - strength**2
    rows, right, rival = _tree_votes(given, counted, truth, rivals)
    # Of a tree that is always right, or never, rounding can leave less than nothing.
    sd = np.sqrt(np.maximum(right + rival - (right - rival) ** 2, 0.0))
    mean_sd = float(np.nanmean(sd))
    correlation = variance / mean_sd**2 if mean_sd > 0.0 else np.nan
    return ForestBound(
        strength=strength,
        correlation=correlation,
        bound=_bound(strength, correlation),
        error=float((shares.argmax(axis=1) != truth)[voted].mean()),
        margin_variance=variance,
        margins=np.where(voted, margins, np.nan),
        tree_rows=rows,
        tree_right=right,
        tree_rival=rival,
        tree_sd=sd,
    )


def _vote_shares(given: Votes, counted: Flags, n_classes: int) -> Floats:
    """Return Q, of shape (n_rows, n_classes); 0 where no tree voted."""
    tally = np.zeros((given.shape[1], n_classes))
    for vote, counts in zip(given, counted, strict=True):
        rows = np.flatnonzero(counts)
        tally[rows, vote[rows]] += 1.0
    return tally / np.maximum(counted.sum(axis=0), 1)[:, None]


def _tree_votes(
    given: Votes, counted: Flags, truth: Classes, rivals: Classes
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return for each tree its rows, and the parts of them where it is right and for the rival."""
    rows = counted.sum(axis=1)
    right = ((given == truth) & counted).sum(axis=1)
    rival = ((given == rivals) & counted).sum(axis=1)
    voters = np.where(rows > 0, rows, np.nan)
    return rows, right / voters, rival / voters


def _bound(strength: float, correlation: float) -> float:
    if strength <= 0.0:
        return np.inf
    return 0.0 if strength == 1.0 else correlation * (1.0 - strength**2) / strength**2
