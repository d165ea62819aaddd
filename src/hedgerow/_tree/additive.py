"""`AdditiveTrees`, a fitted model of any kind as a sum of trees: the form that explanations use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from hedgerow._contract import internals
from hedgerow._data.binned_rows import stored_rows
from hedgerow._data.names import Labels, labels_of
from hedgerow._data.outputs import ClassOutputs, NumberOutputs, Outputs
from hedgerow._data.sparse import SparseLayouts
from hedgerow._data.table import TableSchema
from hedgerow._estimator import Estimator
from hedgerow._params import short_repr
from hedgerow._tree.structure import Ensemble, Rows
from hedgerow.exceptions import ParameterError


def _as_it_is(X: Any) -> Any:
    return X


def _not_sparse(_: Any) -> SparseLayouts | None:
    return None


@dataclass(frozen=True, eq=False)
class Meaning:
    """The function from scores to predictions, both (n_rows, n_outputs), and their unit."""

    of: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    unit: str


@dataclass(frozen=True, eq=False, kw_only=True)
class AdditiveTrees:
    """Trees whose sum is the score of a model, and how a table becomes their input.

    Attributes
    ----------
    ensemble : Ensemble
        Base score and trees. Their sum is the raw score that is explained.
    matrix : function of a table
        Returns the input of the trees for a table, (n_rows, ensemble.n_features).
    sources : int64 array (ensemble.n_features,)
        For each feature of the ensemble, the column of the table that it comes from. A column with
        many categories may become several features.
    feature_names : Labels, a tuple of str
        The names of the table's columns.
    output_names : tuple of str
        A name for each score: a class, a quantile, a target.
    unit : str
        The unit of scores, such as "log-odds" or "the target".
    n_threads : int
        Number of threads.
    features : function of a table
        Returns the table without columns that are not features, such as a ranker's queries.
    stored : function of a table
        Returns a sparse table whose columns are the features, and None for any other.
    prediction : Meaning or None
        The predictions from scores, such as probabilities; None if they are the scores.
    """

    ensemble: Ensemble
    matrix: Callable[[Any], Rows]
    sources: NDArray[np.int64]
    feature_names: Labels
    output_names: tuple[str, ...]
    unit: str
    n_threads: int = 1
    features: Callable[[Any], Any] = _as_it_is
    stored: Callable[[Any], SparseLayouts | None] = _not_sparse
    prediction: Meaning | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.feature_names, Labels):
            object.__setattr__(self, "feature_names", Labels(self.feature_names))

    @property
    def n_columns(self) -> int:
        """Number of columns of a table."""
        return len(self.feature_names)

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return the raw scores of a table's rows, (n_rows, n_outputs)."""
        stored = self.stored(X)
        rows = self.matrix(X) if stored is None else stored_rows(stored)
        return self.ensemble.predict_raw(rows, n_threads=self.n_threads)

    def of_used_features(self) -> tuple[AdditiveTrees, NDArray[np.intp]]:
        """Return the same trees for a table of the columns that they use, and their indices.

        Its `matrix` accepts the whole table; of a sparse one, only the used columns are filled in.
        """
        ensemble, used = self.ensemble.with_used_features()
        columns, sources = np.unique(self.sources[used], return_inverse=True)

        def matrix(X: Any) -> Rows:
            stored = self.stored(X)
            return self.matrix(X)[:, used] if stored is None else stored.columns(used)

        trees = replace(
            self,
            ensemble=ensemble,
            matrix=matrix,
            sources=sources.astype(np.int64),
            feature_names=Labels([self.feature_names[c] for c in columns.tolist()]),
        )
        return trees, columns


def additive_trees(model: Any) -> AdditiveTrees:
    """Return a fitted model as a sum of trees.

    Parameters
    ----------
    model : fitted estimator
        Gradient boosting of any kind, a decision tree, a random forest, extra trees, bagging of
        Hedgerow's trees, an AdaBoost classifier of trees, or stagewise boosting of Hedgerow's
        trees.

    Raises
    ------
    ParameterError
        If the model is not a sum of trees.
    """
    if isinstance(model, Pipeline):
        raise ParameterError(
            "model is a Pipeline: pass its last step, pipeline[-1], and as X the input of that "
            "step, pipeline[:-1].transform(X)."
        )
    if not isinstance(model, Estimator) and hasattr(model, "best_estimator_"):
        raise ParameterError(f"model is a {type(model).__name__}: pass its best_estimator_.")
    if not isinstance(model, Estimator):
        raise ParameterError(
            f"model={short_repr(model)} is not allowed; it must be a fitted tree model of Hedgerow."
        )
    return internals(model).additive_trees()


def sums_over_splits(
    ensemble: Ensemble, kind: str, sources: NDArray[np.int64], n_columns: int
) -> NDArray[np.float64]:
    """Return for each column of a table the sum over the splits on its features.

    `kind` is what is summed: "gain", "cover", or 1 for "split".
    """
    inner = ensemble.feature >= 0
    summed = None if kind == "split" else getattr(ensemble, kind)[inner]
    columns = sources[ensemble.feature[inner]]
    return np.bincount(columns, summed, minlength=n_columns).astype(np.float64)


def column_names(schema: TableSchema) -> Labels:
    """Return the names of a table's columns; "x0" and so on if they have none."""
    return labels_of(schema.feature_names, schema.n_features)


def numbered_names(n_columns: int) -> Labels:
    """Return names for columns that have none."""
    return labels_of(None, n_columns)


def class_names(classes: NDArray[Any] | Sequence[NDArray[Any]], target: str = "") -> list[str]:
    """Return a name for each score of a classifier; with two classes, only the second has one.

    For multilabel y, names consist of the column and the class.
    """
    if isinstance(classes, list | tuple):
        by_column = (class_names(one, f"y{k}=") for k, one in enumerate(classes))
        return [name for names in by_column for name in names]
    scored = classes[1:] if len(classes) == 2 else classes
    return [f"{target}{label}" for label in scored]


def number_names(n_outputs: int) -> list[str]:
    """Return a name for each output of a regressor."""
    return ["y"] if n_outputs == 1 else [f"y{k}" for k in range(n_outputs)]


def leaf_names(outputs: Outputs) -> tuple[str, ...]:
    """Return a name for each leaf value of CART trees."""
    if isinstance(outputs, NumberOutputs):
        return tuple(number_names(outputs.n_outputs))
    single = outputs.classes[0] if outputs.is_single else outputs.classes
    return tuple(class_names(single))


def leaf_unit(outputs: Outputs) -> str:
    """Return the unit of the leaf values of CART trees."""
    return "probability" if isinstance(outputs, ClassOutputs) else "the target"
