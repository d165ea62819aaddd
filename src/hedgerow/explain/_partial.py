"""Partial dependence: the mean prediction of a model as a function of one or two columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow._arguments import with_argument_hints
from hedgerow._data.target import read_weights
from hedgerow._params import VERBOSE, Options, Parameter
from hedgerow._progress import with_progress
from hedgerow._result import Columns, Result
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError
from hedgerow.explain._grid import (
    RESOLUTION,
    Axis,
    GridMaker,
    categorical_columns,
    points_of,
    read_column,
    read_features,
    read_grids,
    read_percentiles,
)
from hedgerow.explain._what_if import Points, TreesWhatIf, WhatIf, fitted, make_what_if

_KIND = Parameter("kind", "average", Options(("average", "individual", "both")), "")
_METHOD = Parameter("method", "rows", Options(("rows", "cover")), "")


@dataclass(frozen=True, repr=False, eq=False)
class PartialDependence(Result):
    """What a model says on average if one or two columns had these values, and other columns stay.

    Attributes
    ----------
    features : tuple of str
        The column, or both.
    grid : tuple of arrays
        Of each column, the values that were looked at: floats, with NaN as the last if the column
        has missing values; or labels, the most frequent first, with None for missing.
    average : array of shape (points[, points], outputs), or None
        The mean over the rows.
    individual : array of shape (rows, points[, points], outputs), or None
        What the model says of each row.
    deciles : tuple of arrays
        Of each column, its nine deciles; empty for categories.
    is_categorical : tuple of bool
        Of each column, whether its values are labels.
    left_out : tuple of int
        Of each column, the number of categories that are too rare to be in the grid.
    output_names : tuple of str
        Classes, quantiles or targets.
    unit : str
        What the numbers are, such as "probability" or "log-odds".
    n_rows : int
        Rows of X.
    method : {"rows", "cover"}
        Whose mean it is: that of the rows of X, or of the training rows as trees remember them.
    """

    measure: ClassVar[str] = "mean"  # of what `unit` says

    features: tuple[str, ...]
    grid: tuple[NDArray[Any], ...]
    average: Floats | None
    individual: Floats | None
    deciles: tuple[Floats, ...]
    is_categorical: tuple[bool, ...]
    left_out: tuple[int, ...]
    output_names: tuple[str, ...]
    unit: str
    n_rows: int
    method: str

    def _title(self) -> str:
        points = " × ".join(str(len(values)) for values in self.grid)
        of = f"{self.n_rows} rows" if self.method == "rows" else "the training rows"
        rest = "".join(
            f"; {count} rarer categories of {name} left out"
            for name, count in zip(self.features, self.left_out, strict=True)
            if count
        )
        on = " and ".join(self.features)
        return f"PartialDependence of {self.unit} on {on}: {points} points, mean of {of}{rest}"

    def _columns(self) -> Columns:
        """Return a row for each point or, of individual values alone, for each row and point."""
        if self.average is not None:
            return grid_columns(self.features, self.grid, self.output_names, self.average)
        assert self.individual is not None
        rows = np.arange(len(self.individual))
        return grid_columns(
            ("row", *self.features), (rows, *self.grid), self.output_names, self.individual
        )


def grid_columns(
    names: Sequence[str],
    grid: Sequence[NDArray[Any]],
    output_names: Sequence[str],
    values: Floats,
) -> Columns:
    """Return values (…, outputs) over a grid as a long table."""
    index = np.indices([len(axis) for axis in grid]).reshape(len(grid), -1)
    columns = {name: axis[at] for name, axis, at in zip(names, grid, index, strict=True)}
    by_output = zip(output_names, values.reshape(-1, len(output_names)).T, strict=True)
    return columns | {
        f"{name} (output)" if name in columns else name: numbers for name, numbers in by_output
    }


@with_argument_hints
def partial_dependence(
    model: Any,
    X: Any,
    features: Any,
    *,
    kind: str = "average",
    method: str = "rows",
    grid_resolution: int = 50,
    percentiles: tuple[float, float] = (0.05, 0.95),
    grid: Any = None,
    response: str = "auto",
    sample_weight: Any = None,
    verbose: int = 0,
) -> Any:
    """Return the mean prediction of a model as a function of columns (Friedman, 2001).

    Every row's value of the column is replaced by that of a grid point, all else stays as it is,
    and the mean is taken over the rows; so for one point after another. Sums of trees are not
    asked again for every point: rows and points go down each tree together.

    Parameters
    ----------
    model : fitted estimator
        Any of this library's or of scikit-learn's make, a pipeline, or a search.
    X : table of shape (n_rows, n_features)
        The rows, as `predict` takes them.
    features : str, int, pair (tuple) of those, or list
        A column by its name or, where no column is named by a number, by its place from 0 on; a
        pair to look at two together; a list of any of these for several results.
    kind : {"average", "individual", "both"}
        The mean, the curve of each row (individual conditional expectation), or both.
    method : {"rows", "cover"}
        "cover" looks at no rows: where a tree tests another column, both ways are taken, in
        proportion to the training rows that went there (in scikit-learn, "recursion"). It is for
        averages of scores of trees, and much faster still.
    grid_resolution : int
        Points for a column of numbers. If it has fewer different values, these are the points.
    percentiles : pair of floats in [0, 1]
        Points lie evenly between these percentiles of the column; from the smallest to the largest
        value if both are the same number.
    grid : dict from column to values, or values, optional
        Points to look at instead. Without it, columns of labels are looked at in their 30 most
        frequent categories, and columns with missing values also for missing.
    response : {"auto", "score", "prediction"}
        Which output of the model is used: its raw score (for a boosted classifier the log-odds) or
        its prediction, such as a probability, whose mean is taken. "auto" is the prediction
        or, with method="cover", the score.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows in the mean.
    verbose : int
        As in the estimators: 0 is silent; otherwise a progress bar, or a line every few features.

    Returns
    -------
    PartialDependence, or a list of them
        With ``grid`` and ``average``; to print, to plot, or to take as a data frame.

    Notes
    -----
    If columns go together, rows are changed into some that there could not be, and the mean says
    what the model makes of those. `accumulated_effects` changes rows only a little.

    References
    ----------
    Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29
    (2001). Goldstein et al., "Peeking inside the black box", Journal of Computational and Graphical
    Statistics 24 (2015).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import hedgerow as hr
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = hr.GradientBoostingRegressor(n_estimators=20).fit(X, y)
    >>> by_bmi = hr.explain.partial_dependence(model, X, "bmi")
    >>> by_bmi.average.shape
    (50, 1)
    >>> bool(by_bmi.average[-1, 0] > by_bmi.average[0, 0])
    True
    """
    for parameter, value in (
        (_KIND, kind),
        (_METHOD, method),
        (RESOLUTION, grid_resolution),
        (VERBOSE, verbose),
    ):
        parameter.check(value)
    between = read_percentiles(percentiles)
    what_if = _make_what_if(model, X, method, kind, response)
    weights = read_weights(sample_weight, what_if.table.n_rows)
    if weights is not None and method == "cover":
        raise ParameterError("sample_weight: method='cover' looks at no rows, so none can weigh.")
    wanted, is_list = read_features(features, what_if.names)
    makes = GridMaker(grid_resolution, between, read_grids(grid, wanted, what_if.names))
    categorical = categorical_columns(fitted(model), what_if.names)
    by_place = {
        place: makes.axis(what_if.names[place], place, read_column(what_if, place, categorical))
        for feature in wanted
        for place in feature
    }
    grids = [[by_place[place] for place in feature] for feature in wanted]
    points = [points_of(axes) for axes in grids]
    what_if.precompute_grids(points)
    if method == "cover":
        answers = _by_cover(what_if, points)
    else:
        shown = with_progress(
            points, len(points), verbose, unit="feature", title="partial dependence"
        )
        answers = _by_rows(what_if, shown, kind, weights)
    results = [
        _result(what_if, axes, method, answer) for axes, answer in zip(grids, answers, strict=True)
    ]
    return results if is_list else results[0]


def _make_what_if(model: Any, X: Any, method: str, kind: str, response: str) -> WhatIf:
    """Return the model with its rows, or raise if the method does not suit it."""
    if method == "rows":
        return make_what_if(model, X, response)
    what_if = make_what_if(model, X, "score" if response == "auto" else response)
    if kind != "average":
        raise ParameterError(f"kind={kind!r}: method='cover' looks at no rows, only at averages.")
    if not isinstance(what_if, TreesWhatIf):
        raise ParameterError(
            f"method='cover' is for sums of trees without linear leaves, and this "
            f"{type(model).__name__} is none; use method='rows'."
        )
    if what_if.unit != what_if.trees.unit:
        raise ParameterError(
            "response='prediction': method='cover' averages scores, of which this model's "
            f"predictions ({what_if.unit}) are no means. Use response='score', or method='rows'."
        )
    return what_if


# Means (points, outputs), and what is said of each row (rows, points, outputs), if what_if for.
Answer = tuple[Floats | None, Floats | None]


def _by_cover(what_if: WhatIf, several: Sequence[Points]) -> Iterable[Answer]:
    """Take the means of the training rows that trees remember."""
    assert isinstance(what_if, TreesWhatIf)  # as `_make_what_if` has seen to
    return [(mean, None) for mean in what_if.average_by_cover(several)]


def _by_rows(
    what_if: WhatIf, several: Iterable[Points], kind: str, weights: Floats | None
) -> Iterable[Answer]:
    """Look at the rows, at the points of one column or pair after the other."""
    for points in several:
        individual = None if kind == "average" else what_if.individual(points)
        average = None if kind == "individual" else what_if.average(points, weights)
        yield average, individual


def _result(
    what_if: WhatIf, axes: Sequence[Axis], method: str, answer: Answer
) -> PartialDependence:
    """Say what was found at the points of the axes."""
    average, individual = answer
    lengths = tuple(len(axis.values) for axis in axes)
    return PartialDependence(
        features=tuple(axis.name for axis in axes),
        grid=tuple(axis.values for axis in axes),
        average=None if average is None else average.reshape(*lengths, -1),
        individual=None
        if individual is None
        else individual.reshape(-1, *lengths, individual.shape[-1]),
        deciles=tuple(axis.deciles for axis in axes),
        is_categorical=tuple(axis.is_categorical for axis in axes),
        left_out=tuple(axis.left_out for axis in axes),
        output_names=what_if.output_names,
        unit=what_if.unit,
        n_rows=what_if.table.n_rows,
        method=method,
    )
