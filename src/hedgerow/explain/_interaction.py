"""Interaction strength: how much of the effect of features is joint (Friedman's H²)."""

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
from hedgerow.explain._importance import importance
from hedgerow.explain._tables import UserTable
from hedgerow.explain._what_if import (
    RESPONSE,
    RowsAsPoints,
    TreesWhatIf,
    WhatIf,
    make_what_if,
    require_fitted,
    trees_or_none,
)

_N_ROWS = Parameter("n_rows", 500, Number(2, 100_000, integer=True), "")
_MAX_FEATURES = Parameter("max_features", 8, COUNT, "")
# A fraction of the model's variance that is due to rounding.
_ROUNDING = 1e-20


@dataclass(frozen=True, repr=False, eq=False)
class InteractionStrength(Result):
    """How far the joint effect of columns differs from the sum of their individual effects.

    Attributes
    ----------
    features : tuple of str
        The columns that are compared.
    overall : array of shape (features, outputs)
        H² of each column with all others: the fraction of the model's variance that neither the
        column alone nor the others alone explain.
    pairs : tuple of pairs of str
        All pairs of the columns.
    h2 : array of shape (pairs, outputs)
        H² of each pair: the fraction of the variance of their joint partial dependence that their
        individual partial dependences do not explain; 0 without interaction, 1 if the whole effect
        is joint.
    strength : array of shape (pairs, outputs)
        The standard deviation of the joint effect, in the unit of the model's output. Unlike H²,
        it is small for pairs with hardly any effect.
    output_names : tuple of str
        Classes, quantiles or targets.
    unit : str
        Unit of the model's output, such as "log-odds".
    n_rows : int
        Number of rows that are used.
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
            f"InteractionStrength of {len(self.features)} columns ({self.unit}): "
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
        An estimator of Hedgerow or scikit-learn, a pipeline, or a search.
    X : table of shape (n_rows, n_features)
        The rows, in any form that `predict` accepts.
    features : list of str or int, optional
        Columns to compare, individually and in all pairs. By default all columns, if there are at
        most ``max_features``, otherwise those with the largest gain (tree ensembles only).
    n_rows : int
        Number of rows to sample from X: every pair takes n_rows² predictions, which tree
        ensembles make all at once.
    max_features : int
        Maximum number of columns if ``features`` is None.
    response : {"auto", "score", "prediction"}
        Which output of the model is used. "auto" is the raw score, if the model has one: without
        interactions, scores are sums of effects, while predictions are not if the loss has a link
        function.
    random_state : int, RandomState or None
        Seed of the row sample.
    verbose : int
        As in the estimators: 0 is silent; otherwise a progress bar, or a line every few
        columns or pairs.

    Returns
    -------
    InteractionStrength
        With ``pairs``, ``h2``, ``strength`` and ``overall``; it can be printed, plotted, or
        converted to a data frame.

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
    >>> result = hr.explain.interaction_strength(model, X, n_rows=100)
    >>> result.pairs[int(result.strength[:, 0].argmax())]
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
    model = require_fitted(model)
    trees = trees_or_none(model)
    table = UserTable(X if trees is None else trees.features(X))
    if n_rows < table.n_rows:
        random = np.random.RandomState(seed_of(random_state))
        table = table.take(np.sort(random.permutation(table.n_rows)[:n_rows]))
    what_if = _make_what_if(model, table.X, response)
    columns = _choose_columns(model, what_if, features, max_features)
    return _PartialDependences(what_if).strengths(columns, verbose)


def _make_what_if(model: Any, X: Any, response: str) -> WhatIf:
    """Return the model with its rows; "auto" is the score, or else the prediction."""
    if response != "auto":
        return make_what_if(model, X, response)
    try:
        return make_what_if(model, X, "score")
    except ParameterError:
        return make_what_if(model, X, "prediction")


def _choose_columns(model: Any, what_if: WhatIf, features: Any, most: int) -> list[int]:
    """Return the named columns, or the most important ones."""
    n_columns = len(what_if.names)
    if features is not None:
        if isinstance(features, str) or not hasattr(features, "__len__"):
            raise ParameterError(
                f"features={features!r} is not allowed; it must be a list of columns."
            )
        columns = [what_if.names.find(feature, "features") for feature in features]
        if len(columns) < 2 or len(set(columns)) < len(columns):
            raise ParameterError(f"features={features!r} must be two or more different columns.")
        return columns
    if n_columns < 2:
        raise ParameterError("X has only one column, so there are no interactions.")
    if n_columns <= max(most, 2):
        return list(range(n_columns))
    if not isinstance(what_if, TreesWhatIf):
        raise ParameterError(
            f"features: X has {n_columns} columns, and this model has no importances to choose by. "
            "Name some columns, or set max_features."
        )
    gain = importance(model, "gain")
    order = np.argsort(-gain.value, kind="stable")[: max(most, 2)]
    fitted, names = what_if.trees.feature_names.names, what_if.table.names
    if fitted is None or names is None:
        return sorted(order.tolist())
    return sorted(names.index(fitted[k]) if fitted[k] in names else int(k) for k in order)


class _PartialDependences:
    """Partial dependences at the rows themselves, each with mean 0."""

    def __init__(self, what_if: WhatIf) -> None:
        self.what_if = what_if
        every = np.arange(what_if.table.n_rows)
        unchanged = RowsAsPoints((0,), (), what_if.table)
        self.prediction = _centred(what_if.predict_at(unchanged, every, every))
        self.rounding = _ROUNDING * (self.prediction**2).sum(axis=0)

    def strengths(self, columns: list[int], verbose: int) -> InteractionStrength:
        """Compare each column with all others together, and with each other one."""
        names, every = self.what_if.names, range(len(self.what_if.names))
        others = {column: tuple(k for k in every if k != column) for column in columns}
        pairs = list(combinations(columns, 2))
        sets = [*((column,) for column in columns), *others.values(), *pairs]
        joint = self._dependences(sets, verbose)
        single = {column: joint[(column,)] for column in columns}
        overall = [
            self._h2(self.prediction, single[column], joint[others[column]])[0]
            for column in columns
        ]
        strengths = [self._h2(joint[j, k], single[j], single[k]) for j, k in pairs]
        return InteractionStrength(
            features=tuple(names[column] for column in columns),
            overall=np.array(overall),
            pairs=tuple((names[j], names[k]) for j, k in pairs),
            h2=np.array([h2 for h2, _ in strengths]),
            strength=np.array([strength for _, strength in strengths]),
            output_names=self.what_if.output_names,
            unit=self.what_if.unit,
            n_rows=self.what_if.table.n_rows,
        )

    def _dependences(
        self, sets: list[tuple[int, ...]], verbose: int
    ) -> dict[tuple[int, ...], Floats]:
        """Return the partial dependence on each set of columns, (rows, outputs)."""
        sets = list(dict.fromkeys(sets))
        iterator = with_progress(
            sets, len(sets), verbose, unit="part", title="interaction strength"
        )
        return {
            columns: _centred(
                self.what_if.average(RowsAsPoints(columns, (), self.what_if.table), None)
            )
            for columns in iterator
        }

    def _h2(self, both: Floats, first: Floats, second: Floats) -> tuple[Floats, Floats]:
        """Return H² of two effects, and the standard deviation of their joint effect."""
        interaction = ((both - first - second) ** 2).sum(axis=0)
        interaction[interaction <= self.rounding] = 0.0
        total = (both**2).sum(axis=0)
        h2 = np.divide(interaction, total, out=np.zeros_like(total), where=total > self.rounding)
        return h2, np.sqrt(interaction / len(both))


def _centred(values: Floats) -> Floats:
    return values - values.mean(axis=0)
