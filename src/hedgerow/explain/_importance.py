"""Feature importance of tree ensembles, by their splits or by Shapley values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._arguments import with_argument_hints
from hedgerow._data.names import Labels, fitted_names, labels_of
from hedgerow._data.sources import require_rows
from hedgerow._estimator import Estimator
from hedgerow._params import Options, Parameter
from hedgerow._result import Columns, Result
from hedgerow._tree.additive import additive_trees, sums_over_splits
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError
from hedgerow.explain._shap import shap_values
from hedgerow.explain._what_if import require_fitted

_KIND = Parameter("kind", "gain", Options(("gain", "cover", "split", "shap")), "")
_UNITS = {
    "gain": "total gain of splits",
    "cover": "total cover of splits",
    "split": "number of splits",
    "shap": "mean absolute Shapley value",
}


@dataclass(frozen=True, repr=False, eq=False)
class Importance(Result):
    """The importance of each feature.

    Attributes
    ----------
    feature : array of str
        Names of the columns.
    value : array of shape (features,)
        The importance; for Shapley values, the sum over the outputs.
    by_output : array of shape (features, outputs), or None
        Mean absolute Shapley values of each output.
    output_names : tuple of str
        Classes, quantiles or targets.
    kind : {"gain", "cover", "split", "shap"}
    unit : str
        Meaning of the values.
    """

    feature: NDArray[Any]
    value: Floats
    by_output: Floats | None
    output_names: tuple[str, ...]
    kind: str
    unit: str

    @property
    def share(self) -> Floats:
        """Each feature's fraction of the sum; all 0 if the sum is 0."""
        total = self.value.sum()
        return self.value / total if total > 0.0 else np.zeros_like(self.value)

    def _title(self) -> str:
        return f"Importance of {len(self.feature)} features, largest first: {self.unit}"

    def _columns(self) -> Columns:
        order = np.argsort(-self.value, kind="stable")
        columns: dict[str, NDArray[Any]] = {
            "feature": self.feature[order],
            "value": self.value[order],
            "share": self.share[order],
        }
        if self.by_output is not None and len(self.output_names) > 1:
            columns |= dict(zip(self.output_names, self.by_output[order].T, strict=True))
        return columns


@with_argument_hints
def importance(model: Any, kind: str = "gain", *, X: Any = None) -> Importance:
    """Return the importance of each feature in a tree ensemble.

    Parameters
    ----------
    model : fitted estimator
        Gradient boosting of any kind, a decision tree, a random forest, extra trees, bagging of
        Hedgerow's trees, or AdaBoost of trees.
    kind : {"gain", "cover", "split", "shap"}
        The quantity summed over the splits on a feature: their gain, the weight of the training
        rows that they split, or 1. "shap" is the mean absolute Shapley value over the rows of X.
    X : table, optional
        Rows to explain, for kind="shap".

    Returns
    -------
    Importance
        With ``feature`` and ``value``; it can be printed, plotted, or converted to a data frame.

    Notes
    -----
    Gains are computed on the training rows, and features with many distinct values have more splits
    that reduce the loss by chance. `permutation_importance` uses rows that the model was not
    trained on. For AdaBoost, gains are normalised in each tree and averaged with the trees'
    weights.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import hedgerow as hr
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = hr.GradientBoostingRegressor(n_estimators=20).fit(X, y)
    >>> hr.explain.importance(model, "shap", X=X).to_frame()["feature"].iloc[0] in ("bmi", "s5")
    True
    """
    _KIND.check(kind)
    model = require_fitted(model)
    if kind == "shap":
        return _by_shapley_values(model, X)
    if X is not None:
        raise ParameterError(f"X is only used with kind='shap', not with kind={kind!r}.")
    value, names = _by_splits(model, kind)
    return Importance(np.array(names, object), value, None, (), kind, _UNITS[kind])


def _by_splits(model: Any, kind: str) -> tuple[Floats, Labels]:
    """Return the model's own importances, or the sums over the splits of its trees."""
    values = None
    if isinstance(model, Estimator) and hasattr(model, "importances"):
        values = model.importances(kind)
    elif isinstance(model, Estimator) and kind == "gain":
        values = getattr(model, "feature_importances_", None)
    if values is not None:
        return values, labels_of(fitted_names(model), len(values))
    trees = additive_trees(model)
    sums = sums_over_splits(trees.ensemble, kind, trees.sources, trees.n_columns)
    return sums, trees.feature_names


def _by_shapley_values(model: Any, X: Any) -> Importance:
    if X is None:
        raise ParameterError("kind='shap' needs X: the rows to explain.")
    explained = shap_values(model, X)
    require_rows(*explained.data.shape)
    sizes = np.abs(explained.values).mean(axis=0).reshape(len(explained.feature_names), -1)
    return Importance(
        feature=np.array(explained.feature_names, object),
        value=sizes.sum(axis=1),
        by_output=sizes,
        output_names=explained.output_names,
        kind="shap",
        unit=f"{_UNITS['shap']} ({explained.unit})",
    )
