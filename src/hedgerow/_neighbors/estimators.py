"""The nearest rows, and the classes and numbers that follow from them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import Tags

from hedgerow._accuracy import ScoredClassifier
from hedgerow._constructor import with_parameters
from hedgerow._data.outputs import ClassOutputs, NumberOutputs, one_or_list
from hedgerow._neighbors.model import NeighborsModel
from hedgerow._neighbors.parameters import PREDICTION, SEARCH_ONLY
from hedgerow._neighbors.queries import NearestQueries, NeighborsPredictor, RadiusQueries
from hedgerow._neighbors.voting import class_votes, neighbor_weights, weighted_mean
from hedgerow._types import Floats


class NearestPredictor(NeighborsPredictor, NearestQueries):
    """The nearest rows say what a query is like."""

    def _said(self, X: Any) -> tuple[NDArray[Any], Floats]:
        """Return the targets of the neighbours, (n_queries, k, outputs), and their weights."""
        model: NeighborsModel = self._fitted_model()
        distances, indices = self.kneighbors(X)
        assert model.target is not None
        return model.target[indices], neighbor_weights(self.weights, distances)


@with_parameters
class KNeighborsClassifier(ScoredClassifier, NearestPredictor):
    """The class of most of the nearest training rows (Fix and Hodges, 1951; Cover and Hart, 1967).

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : array of shape (n_classes,), or a list of such
        The classes of each output, sorted.
    n_classes_ : int, or a list of int
        How many there are.
    n_outputs_ : int
        Columns of y.
    effective_metric_ : str or function
        The metric by its own name: 'minkowski' with p=2 is 'euclidean'.
    effective_metric_params_ : dict
        Its parameters.
    n_samples_fit_ : int
        Rows of the table.
    n_features_in_ : int
        Columns of the table.
    feature_names_in_ : array of str
        Names of the columns, if they had names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import KNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> KNeighborsClassifier(n_neighbors=3).fit(X, y).predict([[6.0, 2.9, 4.5, 1.4]])
    array([1])
    """

    _outputs = ClassOutputs
    _parameters = PREDICTION

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the largest weight of neighbours; of equal ones the first.

        ``X=None`` asks about the training rows, each without itself.
        """
        outputs: ClassOutputs = self._fitted_model().outputs
        return outputs.labels(np.column_stack([v.argmax(axis=1) for v in self._votes(X)]))

    def predict_proba(self, X: Any) -> Any:
        """Return each class's part of the weight, (n_queries, n_classes), or a list of such.

        It is a list if y has several columns. Columns are in the order of ``classes_``.
        """
        shares = [votes / votes.sum(axis=1, keepdims=True) for votes in self._votes(X)]
        return one_or_list(shares, self._fitted_model().outputs)

    def _votes(self, X: Any) -> list[Floats]:
        outputs: ClassOutputs = self._fitted_model().outputs
        classes, weights = self._said(X)
        return [
            class_votes(classes[:, :, j], weights, len(of_output))
            for j, of_output in enumerate(outputs.classes)
        ]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@with_parameters
class KNeighborsRegressor(RegressorMixin, NearestPredictor):
    """The mean of the numbers of the nearest training rows.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_outputs_ : int
        Columns of y.
    effective_metric_ : str or function
        The metric by its own name: 'minkowski' with p=2 is 'euclidean'.
    effective_metric_params_ : dict
        Its parameters.
    n_samples_fit_ : int
        Rows of the table.
    n_features_in_ : int
        Columns of the table.
    feature_names_in_ : array of str
        Names of the columns, if they had names.

    Examples
    --------
    >>> from hedgerow import KNeighborsRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 4.0, 9.0]
    >>> KNeighborsRegressor(n_neighbors=2).fit(X, y).predict([[1.4]])
    array([2.5])
    """

    _outputs = NumberOutputs
    _parameters = PREDICTION

    def predict(self, X: Any) -> Floats:
        """Return the mean of the neighbours' numbers by their weights, a column for each output.

        ``X=None`` asks about the training rows, each without itself.
        """
        outputs: NumberOutputs = self._fitted_model().outputs
        return outputs.prediction(weighted_mean(*self._said(X)))


@with_parameters
class NearestNeighbors(NearestQueries, RadiusQueries):
    """The nearest training rows of queries, or all within a radius.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    effective_metric_ : str or function
        The metric by its own name: 'minkowski' with p=2 is 'euclidean'.
    effective_metric_params_ : dict
        Its parameters.
    n_samples_fit_ : int
        Rows of the table.
    n_features_in_ : int
        Columns of the table.
    feature_names_in_ : array of str
        Names of the columns, if they had names.

    Examples
    --------
    >>> from hedgerow import NearestNeighbors
    >>> rows = NearestNeighbors(n_neighbors=2).fit([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> distances, indices = rows.kneighbors([[0.0, 0.0]])
    >>> distances, indices
    (array([[0., 5.]]), array([[0, 1]]))
    """

    _parameters = SEARCH_ONLY

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  scikit-learn's signature
        """Keep the rows, prepared for queries.

        If this raises, Ctrl-C included, the estimator stays what it was before the call.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            A NumPy array, or a pandas, Polars or Arrow table, of numbers without gaps; with
            ``metric='gower'`` of strings, categories and gaps too; with Euclid's or the cosine
            distance also a SciPy sparse matrix; with ``metric='precomputed'`` the distances of
            all rows, (n_rows, n_rows).
        y : ignored

        Returns
        -------
        self
        """
        return self._fit(X, None)
