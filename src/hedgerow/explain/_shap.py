"""Shapley values: the contribution of each feature to a row's score (`native/explain/shap.hpp`).

`to_shap` converts models for the package `shap`: trees in the custom format of its `TreeExplainer`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Number
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hedgerow import _native
from hedgerow._arguments import with_argument_hints
from hedgerow._contract import internals
from hedgerow._data.names import Labels
from hedgerow._data.sources import require_rows
from hedgerow._params import VERBOSE
from hedgerow._progress import MAX_LINES, progress
from hedgerow._result import drawings, imported
from hedgerow._tree.additive import AdditiveTrees, additive_trees
from hedgerow._tree.structure import Ensemble, Rows, Tree
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.explain._tables import table_values


@dataclass(frozen=True, eq=False, repr=False)
class ShapValues:
    """The Shapley values of rows. `numpy.asarray` returns its `values`.

    A row's values and its base value add up to its raw score.

    Attributes
    ----------
    values : array of shape (n_rows, n_features[, n_outputs])
        The last axis is present if the model has more than one score. Interaction values have a
        second axis of features.
    base_values : array of shape (n_rows[, n_outputs])
        The expected score, the same for all rows.
    data : array of shape (n_rows, n_features)
        The rows: floats, or objects if there are categories.
    feature_names : tuple of str
        Names of the columns as text; "x0", "x1" and so on if they have none.
    output_names : tuple of str
        Names of the scores: classes, quantiles, targets.
    unit : str
        Unit of the score, such as "log-odds" or "the target".
    """

    values: Floats
    base_values: Floats
    data: NDArray[Any]
    feature_names: Labels
    output_names: tuple[str, ...]
    unit: str

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values."""
        return self.values.shape

    @property
    def is_interactions(self) -> bool:
        """Whether these are interaction values."""
        return self.values.ndim - (len(self.output_names) > 1) == 3

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype, copy=copy)

    def __repr__(self) -> str:
        kind = "interactions of " if self.is_interactions else ""
        names = ", ".join(self.output_names[:3]) + (", …" if len(self.output_names) > 3 else "")
        what = names if self.unit == "the target" else f"{self.unit} of {names}"
        base = ", ".join(f"{value:.4g}" for value in np.atleast_1d(self.base_values[0])[:3])
        return (
            f"ShapValues({len(self)} rows, {kind}{len(self.feature_names)} features; "
            f"{what}, base value {base})"
        )

    def to_frame(self) -> Any:
        """Return the values as a pandas DataFrame: the rows of X, a column for each feature.

        Interaction values and several outputs have a column MultiIndex.
        """
        pandas = imported("pandas", "to_frame()")
        axes: list[tuple[str, ...]] = [self.feature_names] * (1 + self.is_interactions)
        axes += [self.output_names] if len(self.output_names) > 1 else []
        columns = pandas.Index(axes[0]) if len(axes) == 1 else pandas.MultiIndex.from_product(axes)
        return pandas.DataFrame(self.values.reshape(len(self), -1), columns=columns)

    def plot(self, ax: Any = None, *, output: Any = None) -> Any:
        """Plot the values with `hedgerow.plot.ShapBeeswarmDisplay`.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        output : int or class, optional
            The output to plot, if there are several.

        Returns
        -------
        matplotlib Axes
        """
        return drawings().draw_shap(self, output, ax)

    def to_explanation(self) -> Any:
        """Return a `shap.Explanation` for the plots of that package."""
        shap = imported("shap", "to_explanation")
        return shap.Explanation(
            values=self.values,
            base_values=self.base_values,
            data=self.data,
            feature_names=list(self.feature_names),
            output_names=list(self.output_names) if len(self.output_names) > 1 else None,
        )


@with_argument_hints
def shap_values(
    model: Any, X: Any, *, interactions: bool = False, background: Any = None, verbose: int = 0
) -> ShapValues:
    """Return the exact Shapley values of each column for the score of each row.

    Parameters
    ----------
    model : fitted estimator
        A tree ensemble: gradient boosting of any kind, a decision tree, a random forest, extra
        trees, bagging of Hedgerow's trees, or an AdaBoost classifier of trees. Its raw score is
        explained: log-odds of a boosted classifier, probabilities of a forest.
    X : table of shape (n_rows, n_features)
        The rows to explain, in any form that `predict` accepts.
    interactions : bool
        Whether to return interaction values. Half of the interaction of a pair is at each of its
        two positions; the diagonal has the main effects.
    background : table or int, optional
        How a column is removed. None follows both children of a node, weighted by their training
        rows (path-dependent values). With a table, the column takes its values from the rows of the
        table, and Shapley values are means over these rows (interventional values). With a number,
        that many rows are sampled from X.
    verbose : int
        As in the estimators: 0 is silent; otherwise a progress bar, or a line every few rows.

    Returns
    -------
    ShapValues
        With ``values``, ``base_values`` and ``data``.

    Notes
    -----
    The values of a row and the base value add up to its raw score. A column that no tree uses has
    the value 0. A categorical column that is encoded as several target statistics has a single
    value.

    The time of path-dependent values is proportional to leaves × rows; for trees with at most 12
    different tests, such as symmetric ones, to columns of the tree × rows. They share effects among
    correlated columns; interventional values attribute them to the columns that the model uses.

    References
    ----------
    Lundberg et al., "From local explanations to global understanding with explainable AI for
    trees", Nature Machine Intelligence 2 (2020).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import hedgerow as hr
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = hr.GradientBoostingRegressor(n_estimators=20).fit(X, y)
    >>> explained = hr.explain.shap_values(model, X)
    >>> explained.values.shape
    (442, 10)
    >>> total = explained.values.sum(axis=1) + explained.base_values
    >>> bool(abs(total - model.predict(X)).max() < 1e-9)
    True
    """
    _check_kind(interactions, background)
    VERBOSE.check(verbose)
    trees = additive_trees(model)
    if background is None and trees.ensemble.slopes is not None:
        raise ParameterError(
            "background=None is not supported with linear_leaves=True, because the contribution of "
            "a slope depends on the values of rows. Pass background rows, as in background=100."
        )
    explained, columns = trees, None
    if trees.stored(X) is not None:  # the other columns have the value 0
        explained, columns = trees.of_used_features()
    values, base = _values_and_base(explained, X, background, verbose, interactions=interactions)
    if columns is not None:
        values = _spread(values, columns, trees.n_columns, interactions=interactions)
    base_values = np.tile(base, (len(values), 1))
    if len(base) == 1:
        values, base_values = values[..., 0], base_values[:, 0]
    return ShapValues(
        values=values,
        base_values=base_values,
        data=table_values(trees.features(X), trees.feature_names),
        feature_names=trees.feature_names,
        output_names=trees.output_names,
        unit=trees.unit,
    )


def _values_and_base(
    trees: AdditiveTrees, X: Any, background: Any, verbose: int, *, interactions: bool
) -> tuple[Floats, Floats]:
    """Return Shapley values, (n_rows, n_columns[, n_columns], n_outputs), and the base score."""
    matrix = trees.matrix(X)
    explainer = _explainer(trees)
    rows = None if background is None else _background_rows(trees, matrix, background)
    if rows is None:
        base = np.array(explainer.expected)
    else:
        base = _column_means(trees.ensemble.predict_raw(rows, n_threads=trees.n_threads))
    return _explain(explainer, trees, matrix, rows, verbose, interactions=interactions), base


def _spread(
    values: Floats, columns: NDArray[np.intp], n_columns: int, *, interactions: bool
) -> Floats:
    """Return values of some columns as values of all, 0 for the others."""
    n_rows, n_outputs = values.shape[0], values.shape[-1]
    if interactions:
        spread = np.zeros((n_rows, n_columns, n_columns, n_outputs))
        spread[:, columns[:, np.newaxis], columns] = values
    else:
        spread = np.zeros((n_rows, n_columns, n_outputs))
        spread[:, columns] = values
    return spread


def _check_kind(interactions: Any, background: Any) -> None:
    if not isinstance(interactions, bool | np.bool_):
        raise ParameterError(
            f"interactions={interactions!r} is not allowed; it must be True or False."
        )
    is_count = isinstance(background, Integral) and not isinstance(background, bool)
    is_scalar = isinstance(background, Number | str | bytes)
    if (is_count and background < 1) or (is_scalar and not is_count):
        raise ParameterError(
            f"background={background!r} is not allowed; it must be a table, a positive number of "
            "rows of X, or None."
        )


def _explainer(trees: AdditiveTrees) -> _native.ShapExplainer:
    """Return the native form of the trees."""
    players, shares = trees.sources.astype(np.int32), node_shares(trees.ensemble)
    return _native.ShapExplainer(trees.ensemble.native(), shares, players, trees.n_columns)


def node_shares(ensemble: Ensemble) -> Floats:
    """Return for each node its share of the training rows of its parent; 1 for a root.

    Rows are weighted by their hessian, as in the node's `cover`; equally if it is 0. Without rows,
    both children have the same share.
    """
    inner = np.flatnonzero(ensemble.feature >= 0)
    first = np.repeat(ensemble.tree_offset[:-1], np.diff(ensemble.tree_offset))[inner]
    children = np.stack([first + ensemble.left[inner], first + ensemble.right[inner]])
    weights = ensemble.cover[children]
    for fallback in (ensemble.count[children], np.ones(children.shape)):
        is_undefined = (weights < 0.0).any(axis=0) | ~(weights.sum(axis=0) > 0.0)
        if is_undefined.any():
            weights = np.where(is_undefined, fallback, weights)
    shares = np.ones(ensemble.n_nodes)
    shares[children] = weights / weights.sum(axis=0)
    return shares


def _blocks(n_rows: int, verbose: int) -> Iterator[slice]:
    """Yield all rows at once or, to show progress, in blocks."""
    size = -(-n_rows // MAX_LINES) if verbose else n_rows
    with progress(verbose, n_rows, unit="row", title="Shapley values") as bar:
        for first in range(0, n_rows, max(size, 1)):
            yield slice(first, first + size)
            if bar is not None:
                bar.show(min(first + size, n_rows))


def _explain(
    explainer: _native.ShapExplainer,
    trees: AdditiveTrees,
    matrix: Rows,
    background: Rows | None,
    verbose: int,
    *,
    interactions: bool,
) -> Floats:
    """Return values (n_rows, n_columns[, n_columns], n_outputs), means over a background if any."""
    shape = (len(matrix), trees.n_columns, trees.ensemble.n_outputs)
    values = np.zeros(shape)
    pairs = np.zeros((shape[0], shape[1], *shape[1:])) if interactions else None
    others = None
    if background is not None:
        others = background.astype(np.result_type(matrix, background), copy=False)
    for block in _blocks(len(matrix), verbose):
        rows = matrix[block]
        if others is not None:
            rows = rows.astype(others.dtype, copy=False)
        explainer.explain(rows, others, values[block], trees.n_threads)
        if pairs is not None:
            explainer.interact(rows, others, values[block], pairs[block], trees.n_threads)
    return values if pairs is None else pairs


def _background_rows(trees: AdditiveTrees, matrix: Rows, background: Any) -> Rows:
    """Return the background in the features of the trees; a number samples rows of the matrix."""
    if not isinstance(background, Integral):
        return _read_background(trees, background)
    if int(background) >= len(matrix):
        return matrix
    sample = np.random.RandomState(0).permutation(len(matrix))[: int(background)]
    return matrix[np.sort(sample)]


def _read_background(trees: AdditiveTrees, background: Any) -> Rows:
    """Read a table as X is read; errors name the background."""
    try:
        matrix = trees.matrix(background)
        require_rows(*matrix.shape)
        return matrix
    except DataError as error:
        raise DataError(f"background must be a table like X: {error}") from error


def _column_means(scores: Floats) -> Floats:
    """Return the mean of each column, rounded once, so that it does not depend on the order."""
    return np.array([math.fsum(column) / len(column) for column in scores.T])


def to_shap(model: Any) -> dict[str, Any]:
    """Return a fitted model in the format of `shap.TreeExplainer`.

    `shap.TreeExplainer(model)` and `shap.Explainer(model)` do this themselves, and
    `hedgerow.explain.shap_values` returns the same values in less time.

    Parameters
    ----------
    model : fitted estimator
        A tree ensemble with numeric features; the shap package does not support categorical splits.

    Returns
    -------
    dict
        Trees and base score, for ``shap.TreeExplainer(to_shap(model))``. Rows to explain are
        arrays of floats, with NaN for missing values.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import hedgerow as hr
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = hr.GradientBoostingRegressor(n_estimators=20).fit(X, y)
    >>> len(hr.explain.to_shap(model)["trees"])
    20
    """
    reason = unsupported_by_shap(model)
    if reason is not None:
        raise ParameterError(
            f"model: the trees of the shap package do not support {reason}. "
            "hedgerow.explain.shap_values does (linear leaves with a background), and "
            "to_explanation() converts its values for the plots of that package."
        )
    trees = additive_trees(model)
    ensemble = trees.ensemble
    shares = node_shares(ensemble)
    return {
        "trees": [_tree(ensemble, shares, index) for index in range(ensemble.n_trees)],
        "base_offset": ensemble.base_score.copy(),
        "internal_dtype": np.float64,
        "input_dtype": np.float64,
        "tree_output": {"log-odds": "log_odds", "probability": "probability"}.get(
            trees.unit, "raw_value"
        ),
    }


def unsupported_by_shap(model: Any) -> str | None:
    """Return what trees of the package `shap` lack for a model; None if they can express it."""
    ensemble = additive_trees(model).ensemble
    schema = getattr(internals(model).model(), "schema", None)
    has_categories = schema is not None and len(schema.categories) > 0  # be they in a split or not
    if has_categories or (ensemble.category_set >= 0).any():
        return "categorical features"
    return None if ensemble.slopes is None else "linear leaves"


def _tree(ensemble: Ensemble, shares: Floats, index: int) -> dict[str, NDArray[Any]]:
    tree = ensemble.tree(index)
    tree_shares = shares[ensemble.tree_offset[index] : ensemble.tree_offset[index + 1]]
    values = tree.value
    if values.shape[1] < ensemble.n_outputs:
        values = np.zeros((tree.n_nodes, ensemble.n_outputs))
        values[:, ensemble.tree_output[index]] = tree.value[:, 0]
    return {
        "children_left": tree.left,
        "children_right": tree.right,
        "children_default": np.where(tree.missing_left, tree.left, tree.right),
        "features": tree.feature,
        "thresholds": tree.threshold,
        "values": values,
        "node_sample_weight": _row_fractions(tree, tree_shares),
    }


def _row_fractions(tree: Tree, shares: Floats) -> Floats:
    """Return the fraction of all rows that reaches each node of a tree."""
    fractions = np.ones(len(shares))
    level = np.zeros(1, np.int32)
    while len(level):
        inner = level[tree.feature[level] >= 0]
        level = np.concatenate([tree.left[inner], tree.right[inner]])
        fractions[level] = np.tile(fractions[inner], 2) * shares[level]
    return fractions
