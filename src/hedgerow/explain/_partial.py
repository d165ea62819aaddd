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
    axis_fields,
    categorical_columns,
    points_of,
    read_features,
    read_grids,
    read_percentiles,
)
from hedgerow.explain._what_if import Points, TreesWhatIf, WhatIf, make_what_if, require_fitted

_KIND = Parameter("kind", "average", Options(("average", "individual", "both")), "")
_METHOD = Parameter("method", "rows", Options(("rows", "cover")), "")


@dataclass(frozen=True, repr=False, eq=False)
class PartialDependence(Result):
    """The mean prediction of a model as a function of one or two columns.

    Attributes
    ----------
    features : tuple of str
        The column or the two columns.
    grid : tuple of arrays
        For each column, its grid: floats, with NaN last if the column has missing values; or
        categories, the most frequent first, with None for missing.
    average : array of shape (points[, points], outputs), or None
        The mean over the rows.
    individual : array of shape (rows, points[, points], outputs), or None
        The prediction for each row (ICE curves).
    deciles : tuple of arrays
        For each column, its nine deciles; empty for categorical columns.
    is_categorical : tuple of bool
        For each column, whether it is categorical.
    left_out : tuple of int
        For each column, the number of categories that are too rare to be in the grid.
    output_names : tuple of str
        Classes, quantiles or targets.
    unit : str
        Unit of the predictions, such as "probability" or "log-odds".
    n_rows : int
        Rows of X.
    method : {"rows", "cover"}
        Whether the mean is over the rows of X ("rows"), or over the training rows, estimated from
        the cover of the nodes ("cover").
    """

    measure: ClassVar[str] = "mean"  # of the unit

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
        omitted = "".join(
            f"; {count} rarer categories of {name} omitted"
            for name, count in zip(self.features, self.left_out, strict=True)
            if count
        )
        on = " and ".join(self.features)
        return f"PartialDependence of {self.unit} on {on}: {points} points, mean of {of}{omitted}"

    def _columns(self) -> Columns:
        """Return a row for each point or, for individual curves alone, for each row and point."""
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

    For each grid point, the column gets that value in all rows, the other columns stay unchanged,
    and the predictions are averaged over the rows. Tree ensembles are not evaluated anew for every
    point: rows and points pass through each tree together.

    Parameters
    ----------
    model : fitted estimator
        An estimator of Hedgerow or scikit-learn, a pipeline, or a search.
    X : table of shape (n_rows, n_features)
        The rows, in any form that `predict` accepts.
    features : str, int, pair (tuple) of those, or list
        A column by its name or (if no column has an integer name) by its index; a pair for the
        joint dependence on two columns; a list of these for several results.
    kind : {"average", "individual", "both"}
        The mean, the curve of each row (individual conditional expectation), or both.
    method : {"rows", "cover"}
        "cover" does not use the rows: where a tree splits on another column, both children are
        followed, weighted by their training rows (as with "recursion" in scikit-learn). It is even
        faster, but only gives the average raw score of tree ensembles.
    grid_resolution : int
        Number of points for a numeric column. If it has fewer distinct values, these are the
        points.
    percentiles : pair of floats in [0, 1]
        Points are evenly spaced between these percentiles of the column; between the minimum and
        the maximum if both percentiles are equal.
    grid : dict from column to values, or values, optional
        Grid values to use instead. By default, the grid of a categorical column has its 30 most
        frequent categories, and a column with missing values has an additional point for them.
    response : {"auto", "score", "prediction"}
        Which output of the model is used: its raw score (for a boosted classifier the log-odds) or
        its prediction, such as a probability. "auto" is the prediction or, with
        method="cover", the score.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows in the mean.
    verbose : int
        As in the estimators: 0 is silent; otherwise a progress bar, or a line every few features.

    Returns
    -------
    PartialDependence, or a list of them
        With ``grid`` and ``average``; it can be printed, plotted, or converted to a data frame.

    Notes
    -----
    If features are correlated, the mean includes unrealistic rows; `accumulated_effects` avoids
    this by changing each row only a little.

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
        raise ParameterError(
            "sample_weight is not supported with method='cover', which does not use the rows."
        )
    columns, is_list = read_features(features, what_if.names)
    categorical = categorical_columns(require_fitted(model), what_if.names)
    custom = read_grids(grid, columns, what_if.names)
    maker = GridMaker(what_if, categorical, custom, grid_resolution, between)
    by_place = {place: maker.axis(place) for feature in columns for place in feature}
    grids = [[by_place[place] for place in feature] for feature in columns]
    points = [points_of(axes) for axes in grids]
    if isinstance(what_if, TreesWhatIf):
        what_if.precompute_grids(points)
    if method == "cover":
        assert isinstance(what_if, TreesWhatIf)  # `_make_what_if` checks it
        curves: Iterable[Curves] = [(mean, None) for mean in what_if.average_by_cover(points)]
    else:
        grid_points = with_progress(
            points, len(points), verbose, unit="feature", title="partial dependence"
        )
        curves = _by_rows(what_if, grid_points, kind, weights)
    results = [
        _result(what_if, axes, method, curve) for axes, curve in zip(grids, curves, strict=True)
    ]
    return results if is_list else results[0]


def _make_what_if(model: Any, X: Any, method: str, kind: str, response: str) -> WhatIf:
    """Return the model with its rows, or raise if it does not support the method."""
    if method == "rows":
        return make_what_if(model, X, response)
    what_if = make_what_if(model, X, "score" if response == "auto" else response)
    if kind != "average":
        raise ParameterError(
            f"kind={kind!r} is not supported with method='cover', which does not use the rows."
        )
    if not isinstance(what_if, TreesWhatIf):
        raise ParameterError(
            "method='cover' is for tree ensembles without linear leaves, which this "
            f"{type(model).__name__} is not; use method='rows'."
        )
    if what_if.unit != what_if.trees.unit:
        raise ParameterError(
            f"response='prediction' ({what_if.unit}) is not supported with method='cover', which "
            "averages raw scores. Use response='score', or method='rows'."
        )
    return what_if


# The average (points, outputs) and the individual curves (rows, points, outputs), if requested.
Curves = tuple[Floats | None, Floats | None]


def _by_rows(
    what_if: WhatIf, several: Iterable[Points], kind: str, weights: Floats | None
) -> Iterable[Curves]:
    """Average over the rows, for one column or pair after the other."""
    for points in several:
        individual = None if kind == "average" else what_if.individual(points)
        average = None if kind == "individual" else what_if.average(points, weights)
        yield average, individual


def _result(
    what_if: WhatIf, axes: Sequence[Axis], method: str, curves: Curves
) -> PartialDependence:
    average, individual = curves
    lengths = tuple(len(axis.values) for axis in axes)
    return PartialDependence(
        **axis_fields(axes),
        average=None if average is None else average.reshape(*lengths, -1),
        individual=None
        if individual is None
        else individual.reshape(-1, *lengths, individual.shape[-1]),
        output_names=what_if.output_names,
        unit=what_if.unit,
        n_rows=what_if.table.n_rows,
        method=method,
    )
