"""The displays of voting ensembles: margins, AdaBoost's bound, strength and correlation.

`hedgerow.theory` computes and draws them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Self

from hedgerow.exceptions import ParameterError
from hedgerow.plot._display import Display, panel, require_axes
from hedgerow.theory._bounds import AdaBoostBound, ForestBound, adaboost_bound, forest_bound
from hedgerow.theory._margin import Margins, margins


class MarginDisplay(Display):
    """The margins of rows as base models are added, and AdaBoost's bound on its training error.

    Create it with `from_estimator`.

    Parameters
    ----------
    margins : Margins
        The result of `hedgerow.theory.margins`.
    bound : AdaBoostBound, optional
        The result of `hedgerow.theory.adaboost_bound`, for a second panel.

    Attributes
    ----------
    ax_, bound_ax_, figure_ : matplotlib Axes, Axes or None, and Figure
        The axes and the figure of the last drawing.
    """

    margins: Margins
    bound: AdaBoostBound | None = None

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, rounds: Sequence[int] | None = None, ax: Any = None
    ) -> Self:
        """Draw the margins of rows.

        Parameters
        ----------
        model : fitted classifier
            A random forest, extra trees, bagging or discrete AdaBoost, of Hedgerow or
            scikit-learn.
        X, y : rows and their classes
            For AdaBoost, the training set: the bound is one on the training error.
        rounds : sequence of int, optional
            Numbers of base models for which margins are drawn.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        """
        require_axes(ax)
        measured = margins(model, X, y, rounds=rounds)
        bound = None
        if hasattr(model, "estimator_weights_"):
            with suppress(ParameterError):  # some kinds of boosting have margins, but no bound
                bound = adaboost_bound(model, X, y)
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
    """A forest's strength, the correlation of its trees, and the resulting bound on its error.

    Create it with `from_estimator`.

    Parameters
    ----------
    bound : ForestBound
        The result of `hedgerow.theory.forest_bound`.
    """

    bound: ForestBound

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, out_of_bag: bool = True, ax: Any = None
    ) -> Self:
        """Draw the margin function of a forest.

        Parameters
        ----------
        model : fitted classifier
            A random forest, extra trees or bagging, of Hedgerow or scikit-learn.
        X, y : the training rows and their classes
            In the order of fit.
        out_of_bag : bool, default=True
            If False, every tree votes on every row: for rows that the model was not trained on.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        """
        require_axes(ax)
        return cls(bound=forest_bound(model, X, y, out_of_bag=out_of_bag)).plot(ax)

    def _draw(self) -> None:
        self.bound.plot(self.ax_)
