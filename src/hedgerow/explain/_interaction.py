"""Interaction strength: how much of what columns do they do only together (Friedman's H²)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._arguments import with_argument_hints
from hedgerow._estimator import seed_of
from hedgerow._params import COUNT, RANDOM_STATE, VERBOSE, Number, Parameter
from hedgerow._progress import with_progress
from hedgerow._result import Columns, Result
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError
from hedgerow.explain._grid import find_column
from hedgerow.explain._importance import importance
from hedgerow.explain._tables import UserTable
from hedgerow.explain._what_if import (
    RESPONSE,
    RowsAsPoints,
    TreesWhatIf,
    WhatIf,
    fitted,
    known_trees,
    make_what_if,
)

_N_ROWS = Parameter("n_rows", 500, Number(2, 100_000, integer=True), "")
_MAX_FEATURES = Parameter("max_features", 8, COUNT, "")
# A part of the model's variance that is nothing but rounding.
_NOTHING = 1e-20


@dataclass(frozen=True, repr=False, eq=False)
class InteractionStrength(Result):
    """How much of the effect of columns is beyond the sum of their own effects.

    Attributes
    ----------
    features : tuple of str
        The columns that were looked at.
    overall : array of shape (features, outputs)
        H² of each column with all others together: the part of the model's variance that neither
        the column alone nor the others alone explain.
    pairs : tuple of pairs of str
        Every two of the columns.
    h2 : array of shape (pairs, outputs)
        H² of each pair: the part of the variance of their partial dependence that is not the sum
        of the two columns' own; 0 if they do nothing together, 1 if they do nothing alone.
    strength : array of shape (pairs, outputs)
        The standard deviation of what they do together, in the unit of the model's numbers: H² is
        large for pairs that do hardly anything, if what they do they do together.
    output_names : tuple of str
        Classes, quantiles or targets.
    unit : str
        What the model's numbers are, such as "log-odds".
    n_rows : int
        Rows that were looked at.
    """

    features: tuple[str, ...]
    overall: Floats
    pairs: tuple[tuple[str, str], ...]
    h2: Floats
    strength: Floats
    output_names: tuple[str, ...]
    unit: str
    n_rows: int

    def _title(self) -> str:
        return (
            f"InteractionStrength of {len(self.features)} columns on {self.unit}: "
            f"{len(self.pairs)} pairs, {self.n_rows} rows, strongest first"
        )

    def _columns(self) -> Columns:
        order = np.argsort(-self.strength.sum(axis=1), kind="stable")
        columns: dict[str, NDArray[Any]] = {
            "first": np.array([first for first, _ in self.pairs], object)[order],
            "second": np.array([second for _, second in self.pairs], object)[order],
        }
        for k, name in enumerate(self.output_names):
            of = "" if len(self.output_names) == 1 else f" of {name}"
            columns[f"H²{of}"] = self.h2[order, k]
            columns[f"strength{of}"] = self.strength[order, k]
        return columns


@with_argument_hints
def interaction_strength(
    model: Any,
    X: Any,
    features: Sequence[Any] | None = None,
    *,
    n_rows: int = 500,
    max_features: int = 8,
    response: str = "auto",
    random_state: int | np.random.RandomState | None = 0,
    verbose: int = 0,
) -> InteractionStrength:
    """Return how strongly columns interact: Friedman and Popescu's H².

    With partial dependences F of mean 0, at the rows of a sample,
    H²(j, k) = Σ (Fjk − Fj − Fk)² / Σ Fjk², and for a column against all others
    H²(j) = Σ (F − Fj − F₋j)² / Σ F².

    Parameters
    ----------
    model : fitted estimator
        Any of this library's or of scikit-learn's make, a pipeline, or a search.
    X : table of shape (n_rows, n_features)
        The rows, as `predict` takes them.
    features : list of str or int, optional
        Columns to look at, each by itself and in all pairs. By default all if they are at most
        ``max_features``, else those with the largest gain, if the model is one of trees.
    n_rows : int
        Rows that are drawn of X: every pair takes n_rows² predictions, which trees make all at
        once.
    max_features : int
        Columns that are chosen if none are named.
    response : {"auto", "score", "prediction"}
        Which output of the model is used. "auto" is the raw score, if any: predictions of a model
        without interactions are sums only before its link.
    random_state : int, RandomState or None
        Which rows are drawn.
    verbose : int
        As in the estimators: 0 is silent; otherwise a progress bar, or a line every few parts.

    Returns
    -------
    InteractionStrength
        With ``pairs``, ``h2``, ``strength`` and ``overall``; to print, to plot, or to take as a
        data frame.

    References
    ----------
    Friedman and Popescu, "Predictive learning via rule ensembles", Annals of Applied Statistics 2
    (2008).

    Examples
    --------
    >>> import numpy as np
    >>> import hedgerow as hr
    >>> X = np.random.RandomState(0).uniform(-1, 1, (500, 3))
    >>> y = X[:, 0] * X[:, 1] + X[:, 2]
    >>> model = hr.GradientBoostingRegressor(n_estimators=50).fit(X, y)
    >>> found = hr.explain.interaction_strength(model, X, n_rows=100)
    >>> found.pairs[int(found.strength[:, 0].argmax())]
    ('x0', 'x1')
    """
    for parameter, value in (
        (_N_ROWS, n_rows),
        (_MAX_FEATURES, max_features),
        (RESPONSE, response),
        (RANDOM_STATE, random_state),
        (VERBOSE, verbose),
    ):
        parameter.check(value)
    model = fitted(model)
    trees = known_trees(model)
    table = UserTable(X if trees is None else trees.features(X))
    if n_rows < table.n_rows:
        draw = np.random.RandomState(seed_of(random_state))
        table = table.take(np.sort(draw.permutation(table.n_rows)[:n_rows]))
    what_if = _opened(model, table.X, response)
    chosen = _chosen(model, what_if, features, max_features)
    return _Parts(what_if).strengths(chosen, verbose)


def _opened(model: Any, X: Any, response: str) -> WhatIf:
    """Open the model; "auto" is the score, or the prediction of a model that has no score."""
    if response != "auto":
        return make_what_if(model, X, response)
    try:
        return make_what_if(model, X, "score")
    except ParameterError:
        return make_what_if(model, X, "prediction")


def _chosen(model: Any, what_if: WhatIf, features: Any, most: int) -> list[int]:
    """Return the columns that were named, or those that matter most."""
    n_columns = len(what_if.names)
    if features is not None:
        if isinstance(features, str) or not hasattr(features, "__len__"):
            raise ParameterError(f"features={features!r} is not allowed; it must be a list.")
        chosen = [find_column(feature, what_if.names, "features") for feature in features]
        if len(chosen) < 2 or len(set(chosen)) < len(chosen):
            raise ParameterError(f"features={features!r} must be two or more different columns.")
        return chosen
    if n_columns < 2:
        raise ParameterError("X has one column, which has none to interact with.")
    if n_columns <= max(most, 2):
        return list(range(n_columns))
    if not isinstance(what_if, TreesWhatIf):
        raise ParameterError(
            f"features: X has {n_columns} columns, and this model does not tell which matter. Name "
            "some, or set max_features."
        )
    gain = importance(model, "gain")
    found = np.argsort(-gain.value, kind="stable")[: max(most, 2)]
    known, names = what_if.trees.feature_names.names, what_if.table.names
    if known is None or names is None:
        return sorted(found.tolist())
    return sorted(names.index(known[k]) if known[k] in names else int(k) for k in found)


class _Parts:
    """Partial dependences at the rows themselves, each with a mean of 0."""

    def __init__(self, what_if: WhatIf) -> None:
        self.what_if = what_if
        every = np.arange(what_if.table.n_rows)
        unchanged = RowsAsPoints.of(what_if.table, (0,))
        self.whole = _centred(what_if.at_own_points(unchanged, every, every))
        self.nothing = _NOTHING * (self.whole**2).sum(axis=0)

    def strengths(self, columns: list[int], verbose: int) -> InteractionStrength:
        """Compare columns with all others, and with each other."""
        names, every = self.what_if.names, range(len(self.what_if.names))
        others = {column: tuple(k for k in every if k != column) for column in columns}
        pairs = list(combinations(columns, 2))
        sets = [*((column,) for column in columns), *others.values(), *pairs]
        part = self._parts(sets, verbose)
        own = {column: part[(column,)] for column in columns}
        overall = [self._h2(self.whole, own[column], part[others[column]])[0] for column in columns]
        found = [self._h2(part[j, k], own[j], own[k]) for j, k in pairs]
        return InteractionStrength(
            features=tuple(names[column] for column in columns),
            overall=np.array(overall),
            pairs=tuple((names[j], names[k]) for j, k in pairs),
            h2=np.array([h2 for h2, _ in found]),
            strength=np.array([strength for _, strength in found]),
            output_names=self.what_if.output_names,
            unit=self.what_if.unit,
            n_rows=self.what_if.table.n_rows,
        )

    def _parts(self, sets: list[tuple[int, ...]], verbose: int) -> dict[tuple[int, ...], Floats]:
        """Return the partial dependence on each of some sets of columns, (rows, outputs)."""
        sets = list(dict.fromkeys(sets))
        shown = with_progress(sets, len(sets), verbose, unit="part", title="interaction strength")
        return {
            columns: _centred(
                self.what_if.average(RowsAsPoints.of(self.what_if.table, columns), None)
            )
            for columns in shown
        }

    def _h2(self, both: Floats, first: Floats, second: Floats) -> tuple[Floats, Floats]:
        """Return the part of the variance that two do together, and its standard deviation."""
        together = ((both - first - second) ** 2).sum(axis=0)
        together[together <= self.nothing] = 0.0
        total = (both**2).sum(axis=0)
        h2 = np.divide(together, total, out=np.zeros_like(total), where=total > self.nothing)
        return h2, np.sqrt(together / len(both))


def _centred(values: Floats) -> Floats:
    return values - values.mean(axis=0)
