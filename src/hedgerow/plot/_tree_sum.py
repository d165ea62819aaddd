"""The display of a sum of trees: the path of one row through each, and their values adding up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from hedgerow._adaboost.model import TreeCommittee
from hedgerow._boosting.model import BoostedModel
from hedgerow._contract import internals
from hedgerow._params import COUNT, Parameter
from hedgerow._result import GREY, imported
from hedgerow._tree.structure import Ensemble
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot._colors import COLORS, INK
from hedgerow.plot._display import SMALL, Display, counted, number, open_frame, require_axes, signed
from hedgerow.plot._tree import Depth, TreeDisplay, display_of_tree, tree_size
from hedgerow.plot._tree_contents import describe_tree
from hedgerow.theory._voters import require_fitted

_ACCEPTED = "a fitted gradient boosting model, or an AdaBoost classifier of the default trees"
_N_TREES = Parameter("n_trees", 3, COUNT, "")
SUM_HEIGHT = 150.0  # of the bars below the trees, in points
APART = 14.0  # points between trees


@dataclass(frozen=True)
class Term:
    """A term of the sum, as a bar."""

    name: str
    value: float


class TreeSumDisplay(Display):
    """A prediction as a sum of trees, ŷ = F₀ + f₁(x) + f₂(x) + …, with the path of a row in each.

    The first trees are drawn side by side. The bars below show
    how the values of the leaves add up from the base score, with the trees that are not drawn as
    one bar, to the score of the row. Create it with `from_estimator`.

    Parameters
    ----------
    trees : sequence of TreeDisplay
        The trees that are drawn.
    terms : sequence of Term
        ``name`` and ``value`` of each term: base score, trees, other trees.
    score_name : str
        What the sum is.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import hedgerow as hr
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = hr.GradientBoostingRegressor(n_estimators=20, max_leaves=4).fit(X, y)
    >>> display = hr.plot.TreeSumDisplay.from_estimator(model, X[:1])
    >>> bool(abs(display.score - model.predict(X[:1])[0]) < 1e-9)
    True
    """

    trees: Sequence[TreeDisplay]
    terms: Sequence[Term]
    score_name: str

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        row: Any,
        *,
        n_trees: int = 3,
        label: Any = None,
        max_depth: Depth = None,
        ax: Any = None,
    ) -> Self:
        """Draw the first trees of a model with the path of a row.

        Parameters
        ----------
        model : fitted model
            Gradient boosting, or an `AdaBoostClassifier` of the default trees.
        row : table with one row
            The row whose score is explained.
        n_trees : int, default=3
            Number of trees to draw.
        label : class, optional
            For more than two classes, the class whose score is drawn; by default the first.
        max_depth : int or "all", optional
            Maximum depth to draw of each tree, as for `TreeDisplay`.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure that fits all text.
        """
        require_axes(ax)
        _N_TREES.check(n_trees)
        ensemble = _ensemble(model)
        output = _output(model, ensemble, label)
        numbers = np.flatnonzero(ensemble.tree_output == output)
        values = _values(model, ensemble, numbers, row)
        n_pictures = min(n_trees, len(numbers))
        displays = [
            replace(
                display_of_tree(TreeDisplay, model, int(t), None, None, row, max_depth),
                title=f"tree {place + 1}: {signed(values[place])}",
                has_caption=False,
            )
            for place, t in enumerate(numbers[:n_pictures])
        ]
        terms = [Term("F₀", float(ensemble.base_score[output]))]
        terms += [Term(f"tree {k + 1}", float(values[k])) for k in range(n_pictures)]
        if n_pictures < len(numbers):
            name = f"{counted(len(numbers) - n_pictures, 'other tree')}"
            terms.append(Term(name, float(values[n_pictures:].sum())))
        meaning = describe_tree(model, int(numbers[0])).meaning
        name = meaning.removeprefix("contribution to ").removesuffix(", before its slopes")
        return cls(trees=displays, terms=terms, score_name=name).plot(ax)

    @property
    def score(self) -> float:
        """The sum of all terms."""
        return float(sum(term.value for term in self.terms))

    def _figure_size(self) -> tuple[float, float]:
        width, height = self._size_in_points()
        return width / 72.0, height / 72.0

    @cached_property
    def _sizes(self) -> Floats:
        """Width and height of each tree in points; text has to be measured for them."""
        return np.array([tree_size(tree) for tree in self.trees])

    def _size_in_points(self) -> tuple[float, float]:
        widths, heights = self._sizes.T
        width = float(widths.sum() + APART * (len(widths) - 1))
        return width, float(heights.max() + SUM_HEIGHT)

    def _new_axes(self) -> Any:
        pyplot = imported("matplotlib.pyplot", "plot()")
        _, ax = pyplot.subplots(figsize=self._figure_size())
        ax.set_position((0.0, 0.0, 1.0, 1.0))
        return ax

    def _draw(self) -> None:
        self.ax_.set_axis_off()
        width, height = self._size_in_points()
        self.tree_axes_, left = [], 0.0
        for tree, of_tree in zip(self.trees, self._sizes, strict=True):
            bottom = height - of_tree[1]  # the roots are in line
            box = left / width, bottom / height, of_tree[0] / width, of_tree[1] / height
            self.tree_axes_.append(self.ax_.inset_axes(box))
            tree.plot(self.tree_axes_[-1])
            left += of_tree[0] + APART
        share = SUM_HEIGHT / height
        self.sum_ax_ = self.ax_.inset_axes((0.06, 0.27 * share, 0.88, 0.66 * share))
        self._draw_sum(self.sum_ax_)

    def _draw_sum(self, ax: Any) -> None:
        """Draw the terms as bars that begin where the one before ends."""
        values = np.array([term.value for term in self.terms])
        ends = np.cumsum(values)
        starts = ends - values
        starts[0] = ends[0]  # the base score is a line, from which the trees depart
        colors = [COLORS[1] if value > 0.0 else COLORS[0] for value in values]
        places = np.arange(len(values))
        ax.bar(places, ends - starts, bottom=starts, color=colors, width=0.6)
        for place, end in enumerate(ends):
            ax.hlines(end, place - 0.3, place + 1.3, color=GREY, linewidth=1)
        ax.hlines(ends[-1], len(values) - 0.3, len(values) + 0.3, color=INK, linewidth=2.5)
        heights = np.maximum(starts, ends)
        for place, (term, height) in enumerate(zip(self.terms, heights, strict=True)):
            text = number(term.value) if place == 0 else signed(term.value)
            _label(ax, place, height, text)
        _label(ax, len(values), ends[-1], number(float(ends[-1])), weight="bold")
        names = [term.name for term in self.terms]
        ax.set_xticks([*places, len(values)], [*names, self.score_name], fontsize=SMALL)
        ax.set_xlim(-0.5, len(values) + 0.5)
        low, high = min(*starts, *ends), max(*starts, *ends)
        apart = (high - low) or 1.0
        ax.set_ylim(low - 0.12 * apart, high + 0.3 * apart)
        ax.set_yticks([])
        open_frame(ax)
        ax.spines["left"].set_visible(False)


def _label(ax: Any, place: int, height: float, text: str, **style: Any) -> None:
    above = {"xytext": (0, 2), "textcoords": "offset points", "ha": "center", "va": "bottom"}
    ax.annotate(text, (place, height), fontsize=SMALL, **above, **style)


def _ensemble(model: Any) -> Ensemble:
    """Return trees that add up to the scores, or raise if there are none."""
    require_fitted(model, _ACCEPTED)
    inner: Any = internals(model).model() if hasattr(model, "_model") else None
    is_sum = isinstance(inner, BoostedModel) or (
        isinstance(inner, TreeCommittee) and inner.classes is not None
    )
    if not is_sum:
        raise ParameterError(f"model: {type(model).__name__} is not {_ACCEPTED}.")
    ensemble: Ensemble = inner.ensemble
    if ensemble.value.shape[1] > 1:
        raise ParameterError(
            "model: each tree adds to several outputs, which one plot cannot show. Fit with "
            "multi_strategy='separate', or to two classes."
        )
    if ensemble.slopes is not None or getattr(inner, "init_estimator", None) is not None:
        raise ParameterError(
            "model: with linear_leaves or init_estimator, the score is not the sum of the values "
            "of leaves."
        )
    return ensemble


def _output(model: Any, ensemble: Ensemble, label: Any) -> int:
    """Return the index of the score that is drawn."""
    if label is None:
        return 0
    labels = np.asarray(getattr(model, "classes_", [])).tolist()
    if ensemble.n_outputs == 1 or label not in labels:
        allowed = labels if ensemble.n_outputs > 1 else None
        raise ParameterError(f"label={label!r} is not allowed; it must be one of {allowed}.")
    return labels.index(label)


def _values(model: Any, ensemble: Ensemble, numbers: Any, row: Any) -> Floats:
    """Return the value of the leaf that the row reaches in each tree."""
    matrix = internals(model).matrix(row)
    if len(matrix) != 1:
        raise DataError(f"row has {len(matrix)} rows; it must be a table with one row.")
    leaves = ensemble.apply(matrix)[0]
    return np.asarray(ensemble.value[ensemble.tree_offset[numbers] + leaves[numbers], 0])
