"""The displays of votes: margins with AdaBoost's bound, and a forest's strength and correlation.

What they show is computed and drawn by `hedgerow.theory`; here it has the form of displays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from hedgerow.exceptions import ParameterError
from hedgerow.plot._display import Display, panel, require_axes
from hedgerow.theory._bounds import AdaBoostBound, adaboost_bound
from hedgerow.theory._margin import Margins, margins
from hedgerow.theory._strength import ForestBound, forest_bound


class MarginDisplay(Display):
    """How sure a vote is of rows, as members are added; of AdaBoost, the bound on its error too.

    Make it with `from_estimator`.

    Parameters
    ----------
    margins : Margins
        What `hedgerow.theory.margins` returns.
    bound : AdaBoostBound, optional
        What `hedgerow.theory.adaboost_bound` returns, to be drawn beside.

    Attributes
    ----------
    ax_, bound_ax_, figure_ : matplotlib Axes, Axes or None, and Figure
        Where it was drawn.
    """

    def __init__(self, *, margins: Margins, bound: AdaBoostBound | None = None) -> None:
        self.margins = margins
        self.bound = bound

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, rounds: Sequence[int] | None = None, ax: Any = None
    ) -> Self:
        """Draw the margins of rows.

        Parameters
        ----------
        model : fitted classifier
            A random forest, extra trees, bagging or discrete AdaBoost; Hedgerow's or
            scikit-learn's.
        X, y : rows and their classes
            The training rows, if the bound of AdaBoost is to be about the error beside it.
        rounds : sequence of int, optional
            After how many members to measure.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        MarginDisplay
        """
        require_axes(ax)
        measured = margins(model, X, y, rounds=rounds)
        bound = None
        if hasattr(model, "estimator_weights_"):
            try:
                bound = adaboost_bound(model, X, y)
            except ParameterError:  # there are ways to boost that have margins, but no bound
                bound = None
        return cls(margins=measured, bound=bound).plot(ax)

    def _figure_size(self) -> tuple[float, float]:
        return (6.0, 4.0) if self.bound is None else (9.4, 4.0)

    def _draw(self) -> None:
        self.bound_ax_ = None
        if self.bound is not None:
            self.bound_ax_ = panel(self.ax_, "right", 0.45)
            self.bound.plot(self.bound_ax_)
        self.margins.plot(self.ax_)


class StrengthCorrelationDisplay(Display):
    """A forest's strength, the correlation of its trees and the bound made of the two.

    Make it with `from_estimator`.

    Parameters
    ----------
    bound : ForestBound
        What `hedgerow.theory.forest_bound` returns.
    """

    def __init__(self, *, bound: ForestBound) -> None:
        self.bound = bound

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, out_of_bag: bool = True, ax: Any = None
    ) -> Self:
        """Draw the margin function of a forest.

        Parameters
        ----------
        model : fitted classifier
            A random forest, extra trees or bagging; Hedgerow's or scikit-learn's.
        X, y : the training rows and their classes
            In the order of fit.
        out_of_bag : bool, default=True
            False lets every tree vote on every row: for rows that were not trained on.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        StrengthCorrelationDisplay
        """
        require_axes(ax)
        return cls(bound=forest_bound(model, X, y, out_of_bag=out_of_bag)).plot(ax)

    def _draw(self) -> None:
        self.bound.plot(self.ax_)
