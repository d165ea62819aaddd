"""The display of several ROC curves: of the classes of one model, or of several models.

Areas have DeLong's intervals (1988), and any two of them DeLong's test. Each row contributes to an
area, and the covariance of two areas is the sum over rows of the products of what it contributes to
both, whether they belong to two models, to two classes, or to means of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from sklearn.base import is_classifier

from hedgerow._contract import Predictor
from hedgerow._curves import CONFIDENCE, ThresholdCounts, area_and_contributions, mean_curve
from hedgerow._data.sparse import sound
from hedgerow._data.target import read_fitted_classes
from hedgerow._result import GREEN, GREY, Columns, Result
from hedgerow._types import Floats
from hedgerow._validation.predictions import with_offset
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot._colors import INK, class_colors
from hedgerow.plot._display import SMALL, Display, open_frame, require_axes, short
from hedgerow.plot._threshold_curves import positive_index
from hedgerow.theory._voters import require_fitted

_ACCEPTED = "a fitted classifier"
MEAN = "mean"


@dataclass(frozen=True, eq=False)
class RocCurve:
    """A curve with its area, the ends of the area's 95 % interval, and the rows' contributions."""

    name: str
    fpr: Floats
    tpr: Floats
    area: float
    contributions: Floats = field(repr=False)

    @property
    def standard_error(self) -> float:
        """The standard error of the area."""
        return float(np.sqrt((self.contributions**2).sum()))

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the 95 % interval of the area, within [0, 1]."""
        half = ndtri(0.5 + CONFIDENCE / 2.0) * self.standard_error
        return max(0.0, self.area - half), min(1.0, self.area + half)

    @classmethod
    def of(cls, name: str, is_positive: NDArray[np.bool_], score: Floats) -> RocCurve:
        """Return the curve of scores."""
        counts = ThresholdCounts.of(is_positive, score)
        return cls(name, counts.fpr, counts.tpr, *area_and_contributions(is_positive, score))

    @classmethod
    def mean_of(cls, name: str, curves: Sequence[RocCurve]) -> RocCurve:
        """Return the mean of curves; its area is the mean of their areas."""
        fpr, tpr = mean_curve([(curve.fpr, curve.tpr) for curve in curves])
        area = float(np.mean([curve.area for curve in curves]))
        return cls(name, fpr, tpr, area, np.mean([c.contributions for c in curves], axis=0))

    def text(self) -> str:
        """Return the name with the area and its interval."""
        low, high = self.interval
        return f"{short(self.name)}: {self.area:.3f} ({low:.3f} to {high:.3f})"


class RocCurvesDisplay(Display):
    """ROC curves of several models, or of the classes of one, with areas and their intervals.

    Create it with `from_estimator`, for the classes of one model, each against the rest, and their
    mean; or with `from_estimators`, to compare models on the same rows. Intervals and tests are
    those of DeLong, DeLong and Clarke-Pearson (1988); those of means over classes follow from the
    same contributions of rows.

    Parameters
    ----------
    curves : sequence of RocCurve
        ``name``, ``fpr``, ``tpr``, ``area``, ``standard_error`` and ``interval`` of each curve.
    title : str
        What the curves are.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import hedgerow as hr
    >>> X, y = load_iris(return_X_y=True)
    >>> model = hr.RandomForestClassifier(max_depth=2).fit(X[::2], y[::2])
    >>> display = hr.plot.RocCurvesDisplay.from_estimator(model, X[1::2], y[1::2])
    >>> [curve.name for curve in display.curves]
    ['0 against the rest', '1 against the rest', '2 against the rest', 'mean']
    """

    _size = (5.4, 5.0)

    curves: Sequence[RocCurve]
    title: str = ""

    @classmethod
    def from_estimator(
        cls, estimator: Predictor, X: Any, y: Any, *, offset: Any = None, ax: Any = None
    ) -> Self:
        """Draw the curve of each class against the rest, and their mean.

        Parameters
        ----------
        estimator : fitted classifier
            Any with `predict_proba` or `decision_function`. For two classes there is one curve, of
            the second class.
        X, y : rows and their classes
            The test set: rows that the classifier was not trained on.
        offset : array of shape (n_rows,) or (n_rows, n_scores), optional
            For gradient boosting: added to the scores of the rows, as in `predict`.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        """
        require_axes(ax)
        curves = _curves_of_classes(estimator, X, y, offset)
        if len(curves) > 1:
            curves = [*curves, RocCurve.mean_of(MEAN, curves)]
        return cls(curves=curves, title=type(estimator).__name__).plot(ax)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Predictor] | Sequence[Predictor],
        X: Any,
        y: Any,
        *,
        offset: Any = None,
        pos_label: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw a curve for each model, on the same rows.

        Parameters
        ----------
        estimators : dict from names to fitted classifiers, or a list of these
            All fitted to the same classes. For more than two, a model's curve is the mean of those
            of its classes, each against the rest.
        X, y : rows and their classes
            The test set: rows that no model was trained on.
        offset : array of shape (n_rows,) or (n_rows, n_scores), optional
            For gradient boosting: added to the scores of the rows, as in `predict`.
        pos_label : class, optional
            The positive class of two; by default the second.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        """
        require_axes(ax)
        named = _named(estimators)
        curves = [
            _curve_of_model(name, model, X, y, offset, pos_label) for name, model in named.items()
        ]
        n_classes = len(next(iter(named.values())).classes_)
        title = "" if n_classes == 2 else f"mean of {n_classes} classes, each against the rest"
        return cls(curves=curves, title=title).plot(ax)

    @property
    def comparison(self) -> AreaComparison:
        """The differences of the areas of any two curves, with their intervals and p-values."""
        return compare_areas(self.curves)

    def _draw(self) -> None:
        ax = self.ax_
        of_parts = [curve for curve in self.curves if curve.name != MEAN]
        colors = [*class_colors(len(of_parts), None), *([INK] * (len(self.curves) > len(of_parts)))]
        ax.plot([0.0, 1.0], [0.0, 1.0], color=GREY, linestyle=":", linewidth=1)
        for curve, color in zip(self.curves, colors, strict=True):
            style = {"linewidth": 2.4, "linestyle": "--"} if curve.name == MEAN else {}
            ax.plot(curve.fpr, curve.tpr, color=color, label=curve.text(), **style)
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.02), aspect="equal")
        ax.set(xlabel="false positive rate", ylabel="true positive rate", title=self.title)
        ax.legend(
            loc="lower right",
            frameon=False,
            fontsize=SMALL,
            title="area under the curve (95 % interval)",
            title_fontsize=SMALL,
        )
        open_frame(ax)


@dataclass(frozen=True, eq=False, repr=False)
class AreaComparison(Result):
    """The differences of areas under ROC curves on the same rows, pair by pair.

    Attributes
    ----------
    first, second : array of shape (n_pairs,)
        Names of the curves.
    difference : array of shape (n_pairs,)
        The area of the first minus that of the second.
    low, high : array of shape (n_pairs,)
        The ends of its 95 % interval.
    p_value : array of shape (n_pairs,)
        DeLong's two-sided test that the areas are equal; not corrected for several pairs.
    """

    first: NDArray[Any]
    second: NDArray[Any]
    difference: Floats
    low: Floats
    high: Floats
    p_value: Floats

    def _title(self) -> str:
        return f"AreaComparison: {len(self.first)} pairs of ROC curves"

    def _columns(self) -> Columns:
        return dict(vars(self))

    def _figure_size(self) -> tuple[float, float]:
        return 6.0, 1.2 + 0.4 * len(self.first)

    def _draw(self, ax: Any) -> None:
        places = np.arange(len(self.first))[::-1]
        ax.axvline(0.0, color=GREY, linewidth=1, linestyle=":")
        ax.hlines(places, self.low, self.high, color=GREEN)
        ax.plot(self.difference, places, "o", color=GREEN)
        pairs = zip(self.first, self.second, strict=True)
        ax.set_yticks(places, [f"{short(a)} − {short(b)}" for a, b in pairs])
        ax.set(xlabel="difference of the areas, 95 % interval", ylim=(-0.6, len(places) - 0.4))


def compare_areas(curves: Sequence[RocCurve]) -> AreaComparison:
    """Compare any two curves of the same rows."""
    pairs = list(combinations(curves, 2))
    difference = np.array([a.area - b.area for a, b in pairs])
    apart = [((a.contributions - b.contributions) ** 2).sum() for a, b in pairs]
    error = np.sqrt(np.array(apart, np.float64))
    half = ndtri(0.5 + CONFIDENCE / 2.0) * error
    z = np.divide(np.abs(difference), error, out=np.full(len(pairs), np.inf), where=error > 0.0)
    p_value = np.where((error == 0.0) & (difference == 0.0), 1.0, 2.0 * ndtr(-z))
    first, second = (np.array([pair[i].name for pair in pairs], object) for i in (0, 1))
    return AreaComparison(first, second, difference, difference - half, difference + half, p_value)


def _named(estimators: Any) -> dict[str, Any]:
    """Return models by name; those of a list are named by their classes, numbered if needed."""
    if isinstance(estimators, Mapping):
        named = {str(name): model for name, model in estimators.items()}
    elif isinstance(estimators, Sequence) and not isinstance(estimators, str):
        kinds = [type(model).__name__ for model in estimators]
        named = {
            kind if kinds.count(kind) == 1 else f"{kind} {kinds[:i].count(kind) + 1}": model
            for i, (kind, model) in enumerate(zip(kinds, estimators, strict=True))
        }
    else:
        named = {}
    if not named:
        raise ParameterError(
            f"estimators={type(estimators).__name__} is not allowed; it must be a dict from names "
            "to fitted classifiers, or a list of these."
        )
    return named


def _curve_of_model(name: str, model: Any, X: Any, y: Any, offset: Any, pos_label: Any) -> RocCurve:
    curves = _curves_of_classes(model, X, y, offset, pos_label)
    if len(curves) > 1:
        return RocCurve.mean_of(name, curves)
    only = curves[0]
    return RocCurve(name, only.fpr, only.tpr, only.area, only.contributions)


def _curves_of_classes(
    model: Any, X: Any, y: Any, offset: Any, pos_label: Any = None
) -> list[RocCurve]:
    """Return a curve for each class against the rest; one for two classes."""
    require_fitted(model, _ACCEPTED, "estimator")
    classes: Any = getattr(model, "classes_", None)
    if not is_classifier(model) or isinstance(classes, list):
        raise ParameterError(f"estimator: this {type(model).__name__} is not {_ACCEPTED}.")
    scores = _scores(with_offset(model, offset), sound(X), len(classes))
    name = type(model).__name__
    truth = read_fitted_classes(y, np.asarray(classes), len(scores), estimator_name=name)
    if len(classes) == 2:
        positives = [positive_index(classes, pos_label)]
    elif pos_label is None:
        positives = list(range(len(classes)))
    else:
        raise ParameterError(
            f"pos_label={pos_label!r} is for two classes, but the model has {len(classes)}."
        )
    for k in positives:
        if not 0 < np.count_nonzero(truth == k) < len(truth):
            raise DataError(f"y needs rows of class {classes[k]!r} and of other classes.")
    text = "{}" if len(classes) == 2 else "{} against the rest"
    return [RocCurve.of(text.format(classes[k]), truth == k, scores[:, k]) for k in positives]


def _scores(model: Any, X: Any, n_classes: int) -> Floats:
    """Return a score for each row and class."""
    for method in ("predict_proba", "decision_function"):
        if hasattr(model, method):
            scores = np.asarray(getattr(model, method)(X), np.float64)
            if scores.ndim == 1:
                scores = np.column_stack([-scores, scores])
            if scores.shape[1] == n_classes:
                return scores
    raise ParameterError(
        f"estimator: this {type(model).__name__} has neither predict_proba nor a "
        "decision_function with a column for each class."
    )
