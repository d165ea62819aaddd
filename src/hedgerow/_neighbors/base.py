"""Base classes of the estimators: fitting, and queries for the nearest or within a radius."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils import Tags

from hedgerow._data.outputs import Outputs
from hedgerow._estimator import Estimator, adopt
from hedgerow._neighbors.fitting import fit_neighbors, read_queries
from hedgerow._neighbors.indexes import Within, selected_entries
from hedgerow._neighbors.metrics import resolve_metric
from hedgerow._neighbors.parameters import N_NEIGHBORS, RADIUS
from hedgerow._neighbors.search import NeighborSearch, NeighborsModel
from hedgerow._params import check_parameters
from hedgerow._threads import effective_n_jobs
from hedgerow._types import Floats, RowNumbers
from hedgerow.exceptions import DataError, ParameterError

Mode = Literal["connectivity", "distance"]


class Neighbors(Estimator):
    """Training rows that can be searched for the nearest of a query."""

    _outputs: ClassVar[type[Outputs] | None] = None
    _attribute_docs: ClassVar = {
        "metric": """
            effective_metric_ : str or function
                The metric that is used; 'minkowski' with p=2, for example, becomes 'euclidean'.
            effective_metric_params_ : dict
                The parameters of the metric.
            n_samples_fit_ : int
                Number of training rows.
            {columns}
            """
    }
    _model: NeighborsModel

    def _fit(self, X: Any, y: Any) -> Self:
        check_parameters(self)
        attributes = fit_neighbors(self, X, y, self._outputs)
        adopt(self, attributes | self._own_attributes(attributes["_model"]))
        return self

    def _own_attributes(self, model: NeighborsModel) -> dict[str, Any]:  # noqa: ARG002
        """Return fitted attributes specific to a subclass."""
        return {}

    def _rows(self, X: Any) -> Any:
        model: NeighborsModel = self._fitted_model()
        return read_queries(X, model.schema, model.metric, type(self).__name__)

    def _search(self) -> NeighborSearch:
        search: NeighborSearch = self._fitted_model().search_by(self.metric)
        return search

    def _graph(self, counts: RowNumbers, distances: Floats, indices: RowNumbers, mode: Mode) -> Any:
        starts = np.concatenate([[0], np.cumsum(counts)])
        values = np.ones(len(indices)) if mode == "connectivity" else distances
        shape = (len(counts), self._fitted_model().n_rows)
        return scipy.sparse.csr_matrix((values, indices, starts), shape=shape)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        try:
            metric = resolve_metric(self.metric, self.p, self.metric_params)
        except (ParameterError, TypeError):  # which fit will report
            return tags
        tags.input_tags.pairwise = tags.input_tags.positive_only = metric.name == "precomputed"
        tags.input_tags.sparse = metric.spec.supports_sparse and self.algorithm != "kd_tree"
        tags.input_tags.allow_nan = not metric.requires_numbers
        tags.input_tags.string = not metric.requires_numbers
        tags.input_tags.categorical = not metric.requires_numbers
        return tags


class NearestQueries(Neighbors):
    """Queries for the k nearest rows."""

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> tuple[Floats, RowNumbers] | RowNumbers:
        """Find the nearest training rows of each query.

        The result is exactly that of a float64 brute-force search: rows are ranked by the sum of
        differences over the columns in their order (squared differences for the Euclidean
        distance), and among equal sums the row with the smaller index comes first.

        Parameters
        ----------
        X : table of shape (n_queries, n_features), optional
            The queries. If omitted, they are the training rows, and a row is not its own neighbour.
        n_neighbors : int, optional
            Number of neighbours; by default the estimator's ``n_neighbors``.
        return_distance : bool
            Whether to return distances, too.

        Returns
        -------
        distances : array of shape (n_queries, n_neighbors)
            In increasing order; omitted if ``return_distance`` is false.
        indices : array of shape (n_queries, n_neighbors)
            Indices of the training rows.
        """
        model: NeighborsModel = self._fitted_model()
        k = self._count(n_neighbors, model, without_itself=X is None)
        if X is None:
            distances, indices = self._nearest_others(model, k)
        else:
            distances, indices = self._nearest(self._rows(X), k)
        return (distances, indices) if return_distance else indices

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: Mode = "connectivity"
    ) -> Any:
        """Return the neighbours as a sparse matrix of shape (n_queries, n_training_rows).

        Its values are 1, or the distances if ``mode`` is "distance". Parameters as in `kneighbors`.
        """
        _check_mode(mode)
        distances, indices = self.kneighbors(X, n_neighbors)
        counts = np.full(len(indices), indices.shape[1])
        return self._graph(counts, distances.ravel(), indices.ravel(), mode)

    def _count(self, n_neighbors: Any, model: NeighborsModel, *, without_itself: bool) -> int:
        """Check the number of neighbours against the number of rows."""
        count = self.n_neighbors if n_neighbors is None else n_neighbors
        N_NEIGHBORS.check(count)
        if count > model.n_rows - without_itself:
            but_one = ", and a row is not its own neighbour" if without_itself else ""
            raise DataError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {count}, n_samples_fit "
                f"= {model.n_rows}, n_samples = {model.n_rows}{but_one}. Set n_neighbors to at "
                f"most {model.n_rows - without_itself}, or fit to more rows."
            )
        return int(count)

    def _nearest_others(self, model: NeighborsModel, k: int) -> tuple[Floats, RowNumbers]:
        """Return the nearest of each training row."""
        rows = model.rows
        if model.metric.name == "precomputed" and scipy.sparse.issparse(rows):
            row = np.repeat(np.arange(model.n_rows), np.diff(rows.indptr))
            return self._nearest(selected_entries(rows, rows.indices != row), k)
        return _without_itself(*self._nearest(rows, k + 1))

    def _nearest(self, rows: Any, k: int) -> tuple[Floats, RowNumbers]:
        return self._search().nearest(rows, k, effective_n_jobs(self.n_jobs))


class RadiusQueries(Neighbors):
    """Queries for all rows within a radius."""

    def radius_neighbors(
        self,
        X: Any = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = True,  # noqa: ARG002  scikit-learn's signature
    ) -> Any:
        """Find all training rows within a radius of each query, boundary included.

        Parameters
        ----------
        X : table of shape (n_queries, n_features), optional
            The queries. If omitted, they are the training rows, and a row is not its own neighbour.
        radius : float, optional
            The radius; by default the estimator's ``radius``.
        return_distance : bool
            Whether to return distances, too.
        sort_results : bool
            Ignored: results are always sorted by distance.

        Returns
        -------
        distances : array of n_queries arrays
            In increasing order; omitted if ``return_distance`` is false.
        indices : array of n_queries arrays
            Indices of the training rows.
        """
        counts, distances, indices = self._within(X, radius)
        ends = np.cumsum(counts)[:-1]
        rows = _ragged(np.split(indices, ends))
        return (_ragged(np.split(distances, ends)), rows) if return_distance else rows

    def radius_neighbors_graph(
        self,
        X: Any = None,
        radius: float | None = None,
        mode: Mode = "connectivity",
        sort_results: bool = True,  # noqa: ARG002  scikit-learn's signature
    ) -> Any:
        """Return the rows within a radius as a sparse matrix, (n_queries, n_training_rows).

        Its values are 1, or the distances if ``mode`` is "distance". Parameters as in
        `radius_neighbors`.
        """
        _check_mode(mode)
        return self._graph(*self._within(X, radius), mode)

    def _within(self, X: Any, radius: float | None = None) -> Within:
        model: NeighborsModel = self._fitted_model()
        radius = self.radius if radius is None else radius
        RADIUS.check(radius)
        rows = model.rows if X is None else self._rows(X)
        neighbors = self._search().within(rows, float(radius), effective_n_jobs(self.n_jobs))
        if X is not None:
            return neighbors
        counts, distances, indices = neighbors
        query = np.repeat(np.arange(len(counts)), counts)
        other = indices != query
        counts = np.bincount(query[other], minlength=len(counts))
        return counts, distances[other], indices[other]


class NeighborsPredictor(Neighbors):
    """Base class of classifiers and regressors."""

    def fit(self, X: Any, y: Any) -> Self:
        """Store the training rows and build the search index.

        If `fit` fails or is interrupted by Ctrl-C, the estimator is left unchanged.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            A NumPy array, or a pandas, Polars or Arrow table of numbers without missing values.
            ``metric='gower'`` also supports strings, categories and missing values; the Euclidean
            and cosine distances also support SciPy sparse matrices; with ``metric='precomputed'``,
            X contains the distances between all rows, (n_rows, n_rows), or is a sparse graph of
            the distances to the near ones.
        y : array of shape (n_rows,) or (n_rows, n_outputs)
            The target.

        Returns
        -------
        self
        """
        return self._fit(X, y)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _without_itself(distances: Floats, indices: RowNumbers) -> tuple[Floats, RowNumbers]:
    """Remove each row from its own neighbours, or the last one if ties at distance 0 hide it."""
    keep = indices != np.arange(len(indices))[:, None]
    keep[keep.all(axis=1), -1] = False
    shape = (len(indices), indices.shape[1] - 1)
    return distances[keep].reshape(shape), indices[keep].reshape(shape)


def _ragged(arrays: list[NDArray[Any]]) -> NDArray[np.object_]:
    ragged = np.empty(len(arrays), dtype=object)
    for position, array in enumerate(arrays):  # ragged[:] = arrays may build a matrix
        ragged[position] = array
    return ragged


def _check_mode(mode: Any) -> None:
    if mode not in ("connectivity", "distance"):
        raise ParameterError(
            f"mode={mode!r} is not allowed; it must be 'connectivity' or 'distance'."
        )
