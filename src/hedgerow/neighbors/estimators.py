"""The estimators: neighbours of rows, and classes and numbers that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags

from hedgerow.estimator import Estimator, adopt
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.neighbors.fitting import fit_neighbors
from hedgerow.neighbors.indexes import Indices
from hedgerow.neighbors.metrics import Floats, chosen_metric
from hedgerow.neighbors.model import NeighborsModel
from hedgerow.neighbors.parameters import N_NEIGHBORS, PREDICTION, RADIUS, SEARCH_ONLY
from hedgerow.neighbors.tables import read_rows
from hedgerow.neighbors.voting import class_votes, neighbor_weights, weighted_mean
from hedgerow.params import check_parameters, documented
from hedgerow.threads import effective_n_jobs
from hedgerow.tree.outputs import ClassOutputs, NumberOutputs, Outputs, one_or_list

Mode = Literal["connectivity", "distance"]


class Neighbors(Estimator):
    """Training rows that can be searched for the nearest of a query."""

    _outputs: ClassVar[type[Outputs] | None] = None
    _model: NeighborsModel

    def _fit(self, X: Any, y: Any) -> Self:
        check_parameters(self)
        adopt(self, fit_neighbors(self, X, y, self._outputs))
        return self

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> tuple[Floats, Indices] | Indices:
        """Find the nearest training rows of each query.

        They are exactly those of a float64 brute force: rows are ranked by sums over the columns in
        their order of the numbers' own differences (squared, for Euclid's distance, which is the
        root of the sum), and of rows with equal sums the one with the smaller index comes first.

        Parameters
        ----------
        X : table of shape (n_queries, n_features), optional
            The queries. If left out, they are the training rows, none of which is then its own
            neighbour.
        n_neighbors : int, optional
            How many neighbours; those of the estimator if left out.
        return_distance : bool
            Whether to return distances too.

        Returns
        -------
        distances : array of shape (n_queries, n_neighbors)
            From the nearest on; left out if ``return_distance`` is false.
        indices : array of shape (n_queries, n_neighbors)
            Which training rows they are.
        """
        model: NeighborsModel = self._fitted_model()
        k = self._count(n_neighbors, model, without_itself=X is None)
        if X is None:
            distances, indices = _without_itself(*self._nearest(model.rows, k + 1))
        else:
            distances, indices = self._nearest(self._rows(X), k)
        return (distances, indices) if return_distance else indices

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: Mode = "connectivity"
    ) -> Any:
        """Return the neighbours as a sparse matrix of shape (n_queries, n_training_rows).

        Its numbers are 1, or the distances if ``mode`` is "distance"; `kneighbors` has the rest.
        """
        _check_mode(mode)
        distances, indices = self.kneighbors(X, n_neighbors)
        counts = np.full(len(indices), indices.shape[1])
        return self._graph(counts, distances.ravel(), indices.ravel(), mode)

    def _count(self, n_neighbors: Any, model: NeighborsModel, *, without_itself: bool) -> int:
        """Check a number of neighbours against the rows there are."""
        count = self.n_neighbors if n_neighbors is None else n_neighbors
        N_NEIGHBORS.check(count)
        if count > model.n_rows - without_itself:
            but_one = ", each of which is no neighbour of its own" if without_itself else ""
            raise DataError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {count}, n_samples_fit "
                f"= {model.n_rows}, n_samples = {model.n_rows}{but_one}."
            )
        return int(count)

    def _rows(self, X: Any) -> Any:
        model: NeighborsModel = self._fitted_model()
        return read_rows(X, model.schema, model.metric, type(self).__name__)

    def _nearest(self, rows: Any, k: int) -> tuple[Floats, Indices]:
        return self._fitted_model().search.nearest(rows, k, effective_n_jobs(self.n_jobs))

    def _graph(self, counts: Indices, distances: Floats, indices: Indices, mode: Mode) -> Any:
        starts = np.concatenate([[0], np.cumsum(counts)])
        values = np.ones(len(indices)) if mode == "connectivity" else distances
        shape = (len(counts), self._fitted_model().n_rows)
        return scipy.sparse.csr_matrix((values, indices, starts), shape=shape)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        try:
            metric = chosen_metric(self.metric, self.p, self.metric_params)
        except (ParameterError, TypeError):  # which fit will tell
            return tags
        tags.input_tags.sparse = metric.has_products and self.algorithm != "kd_tree"
        tags.input_tags.allow_nan = not metric.is_of_numbers
        tags.input_tags.string = not metric.is_of_numbers
        tags.input_tags.categorical = not metric.is_of_numbers
        return tags


class NeighborsPredictor(Neighbors):
    """Neighbours that say what a query is like."""

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the rows, prepared for queries.

        If this raises, Ctrl-C included, the estimator stays what it was before the call.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            A NumPy array, or a pandas, Polars or Arrow table, of numbers without gaps; with
            ``metric='gower'`` of strings, categories and gaps too; with Euclid's or the cosine
            distance also a SciPy sparse matrix.
        y : array of shape (n_rows,) or (n_rows, n_outputs)
            The target.

        Returns
        -------
        self
        """
        return self._fit(X, y)

    def _said(self, X: Any) -> tuple[NDArray[Any], Floats]:
        """Return the targets of the neighbours, (n_queries, k, outputs), and their weights."""
        model: NeighborsModel = self._fitted_model()
        distances, indices = self.kneighbors(X)
        assert model.target is not None
        return model.target[indices], neighbor_weights(self.weights, distances)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


@documented
class KNeighborsClassifier(ClassifierMixin, NeighborsPredictor):
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
    effective_metric_ : str
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
    >>> from hedgerow.neighbors import KNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> KNeighborsClassifier(n_neighbors=3).fit(X, y).predict([[6.0, 2.9, 4.5, 1.4]])
    array([1])
    """

    _outputs = ClassOutputs
    _parameters = PREDICTION

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: str | Callable[[Floats], Any] | None = "uniform",
        algorithm: str = "auto",
        metric: str = "minkowski",
        p: float = 2,
        metric_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs

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


@documented
class KNeighborsRegressor(RegressorMixin, NeighborsPredictor):
    """The mean of the numbers of the nearest training rows.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_outputs_ : int
        Columns of y.
    effective_metric_ : str
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
    >>> from hedgerow.neighbors import KNeighborsRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 4.0, 9.0]
    >>> KNeighborsRegressor(n_neighbors=2).fit(X, y).predict([[1.4]])
    array([2.5])
    """

    _outputs = NumberOutputs
    _parameters = PREDICTION

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: str | Callable[[Floats], Any] | None = "uniform",
        algorithm: str = "auto",
        metric: str = "minkowski",
        p: float = 2,
        metric_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def predict(self, X: Any) -> Floats:
        """Return the mean of the neighbours' numbers by their weights, a column for each output.

        ``X=None`` asks about the training rows, each without itself.
        """
        outputs: NumberOutputs = self._fitted_model().outputs
        return outputs.prediction(weighted_mean(*self._said(X)))


@documented
class NearestNeighbors(Neighbors):
    """The nearest training rows of queries, or all within a radius.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    effective_metric_ : str
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
    >>> from hedgerow.neighbors import NearestNeighbors
    >>> rows = NearestNeighbors(n_neighbors=2).fit([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> distances, indices = rows.kneighbors([[0.0, 0.0]])
    >>> distances, indices
    (array([[0., 5.]]), array([[0, 1]]))
    """

    _parameters = SEARCH_ONLY

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        radius: float = 1.0,
        algorithm: str = "auto",
        metric: str = "minkowski",
        p: float = 2,
        metric_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  scikit-learn's signature
        """Keep the rows, prepared for queries.

        If this raises, Ctrl-C included, the estimator stays what it was before the call.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            A NumPy array, or a pandas, Polars or Arrow table, of numbers without gaps; with
            ``metric='gower'`` of strings, categories and gaps too; with Euclid's or the cosine
            distance also a SciPy sparse matrix.
        y : ignored

        Returns
        -------
        self
        """
        return self._fit(X, None)

    def radius_neighbors(
        self,
        X: Any = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = True,  # noqa: ARG002  scikit-learn's signature
    ) -> Any:
        """Find all training rows within a radius of each query, its border included.

        Parameters
        ----------
        X : table of shape (n_queries, n_features), optional
            The queries. If left out, they are the training rows, none of which is then its own
            neighbour.
        radius : float, optional
            The radius; that of the estimator if left out.
        return_distance : bool
            Whether to return distances too.
        sort_results : bool
            Rows come from the nearest on in any case.

        Returns
        -------
        distances : array of n_queries arrays
            From the nearest on; left out if ``return_distance`` is false.
        indices : array of n_queries arrays
            Which training rows they are.
        """
        counts, distances, indices = self._within(X, radius)
        parts = np.cumsum(counts)[:-1]
        found = _ragged(np.split(indices, parts))
        return (_ragged(np.split(distances, parts)), found) if return_distance else found

    def radius_neighbors_graph(
        self,
        X: Any = None,
        radius: float | None = None,
        mode: Mode = "connectivity",
        sort_results: bool = True,  # noqa: ARG002  scikit-learn's signature
    ) -> Any:
        """Return the rows within a radius as a sparse matrix, (n_queries, n_training_rows).

        Its numbers are 1, or the distances if ``mode`` is "distance"; `radius_neighbors` has the
        rest.
        """
        _check_mode(mode)
        return self._graph(*self._within(X, radius), mode)

    def _within(self, X: Any, radius: float | None) -> tuple[Indices, Floats, Indices]:
        model: NeighborsModel = self._fitted_model()
        radius = self.radius if radius is None else radius
        RADIUS.check(radius)
        rows = model.rows if X is None else self._rows(X)
        found = model.search.within(rows, float(radius), effective_n_jobs(self.n_jobs))
        if X is not None:
            return found
        counts, distances, indices = found
        asking = np.repeat(np.arange(len(counts)), counts)
        other = indices != asking
        counts = np.bincount(asking[other], minlength=len(counts))
        return counts, distances[other], indices[other]


def _without_itself(distances: Floats, indices: Indices) -> tuple[Floats, Indices]:
    """Take each row out of its own neighbours, or the last if it has many at distance 0."""
    keep = indices != np.arange(len(indices))[:, None]
    keep[keep.all(axis=1), -1] = False
    shape = (len(indices), indices.shape[1] - 1)
    return distances[keep].reshape(shape), indices[keep].reshape(shape)


def _ragged(arrays: list[NDArray[Any]]) -> NDArray[np.object_]:
    ragged = np.empty(len(arrays), dtype=object)
    for place, array in enumerate(arrays):  # at once, arrays of one length would become a matrix
        ragged[place] = array
    return ragged


def _check_mode(mode: Any) -> None:
    if mode not in ("connectivity", "distance"):
        raise ParameterError(
            f"mode={mode!r} is not allowed; it must be 'connectivity' or 'distance'."
        )
