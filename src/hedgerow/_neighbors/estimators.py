"""k-nearest-neighbour classification and regression, and unsupervised neighbour search."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import Tags

from hedgerow._arguments import with_parameters
from hedgerow._data.outputs import ClassOutputs, NumberOutputs, one_or_list
from hedgerow._estimator import ScoredClassifier
from hedgerow._neighbors.aggregation import class_votes, neighbor_weights, weighted_mean
from hedgerow._neighbors.base import NearestQueries, NeighborsPredictor, RadiusQueries
from hedgerow._neighbors.parameters import PREDICTION, SEARCH_ONLY
from hedgerow._neighbors.search import NeighborsModel
from hedgerow._types import Floats


class NearestPredictor(NeighborsPredictor, NearestQueries):
    """Prediction by the k nearest training rows."""

    def _neighbor_targets(self, X: Any) -> tuple[NDArray[Any], Floats]:
        """Return the targets of the neighbours, (n_queries, k, outputs), and their weights."""
        model: NeighborsModel = self._fitted_model()
        distances, indices = self.kneighbors(X)
        assert model.target is not None
        return model.target[indices], neighbor_weights(self.weights, distances)


@with_parameters
class KNeighborsClassifier(ScoredClassifier, NearestPredictor):
    """k-nearest-neighbours classifier (Fix and Hodges, 1951; Cover and Hart, 1967).

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {outputs}
    {metric}

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
        """Return the class with the largest total weight of neighbours; ties go to the first.

        ``X=None`` predicts the training rows, each from the others.
        """
        outputs: ClassOutputs = self._fitted_model().outputs
        return outputs.labels(np.column_stack([v.argmax(axis=1) for v in self._votes(X)]))

    def predict_proba(self, X: Any) -> Any:
        """Return each class's share of the weights, (n_queries, n_classes), or a list.

        The result is a list if y is multi-output. Columns are in the order of ``classes_``.
        """
        shares = [votes / votes.sum(axis=1, keepdims=True) for votes in self._votes(X)]
        return one_or_list(shares, self._fitted_model().outputs)

    def _votes(self, X: Any) -> list[Floats]:
        outputs: ClassOutputs = self._fitted_model().outputs
        classes, weights = self._neighbor_targets(X)
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
    """k-nearest-neighbours regressor: the mean target of the nearest training rows.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_outputs_ : int
        Number of outputs (columns of y).
    {metric}

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
        """Return the weighted mean of the neighbours' targets, a column for each output.

        ``X=None`` predicts the training rows, each from the others.
        """
        outputs: NumberOutputs = self._fitted_model().outputs
        return outputs.prediction(weighted_mean(*self._neighbor_targets(X)))


@with_parameters
class NearestNeighbors(NearestQueries, RadiusQueries):
    """Unsupervised search for the nearest training rows, or all within a radius.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {metric}

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
        """Store the training rows and build the search index.

        If this raises, Ctrl-C included, the estimator is left unchanged.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            A NumPy array, or a pandas, Polars or Arrow table of numbers without missing values.
            ``metric='gower'`` also supports strings, categories and missing values; the Euclidean
            and cosine distances also support SciPy sparse matrices; with ``metric='precomputed'``
            X holds the distances between all rows, (n_rows, n_rows).
        y : ignored

        Returns
        -------
        self
        """
        return self._fit(X, None)
