"""Classification and regression by the k nearest rows or by all within a radius, and search."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import Tags

from hedgerow._arguments import with_parameters
from hedgerow._data.outputs import ClassOutputs, NumberOutputs, one_or_list
from hedgerow._data.target import class_weight_vector
from hedgerow._estimator import ScoredClassifier
from hedgerow._neighbors.aggregation import (
    RadiusNeighborhoods,
    class_votes,
    neighbor_weights,
    weighted_mean,
)
from hedgerow._neighbors.base import NearestQueries, NeighborsPredictor, RadiusQueries
from hedgerow._neighbors.parameters import (
    CLASSIFICATION,
    PREDICTION,
    RADIUS_CLASSIFICATION,
    RADIUS_REGRESSION,
    SEARCH_ONLY,
)
from hedgerow._neighbors.search import NeighborsModel
from hedgerow._types import Floats
from hedgerow._warning import warn_user
from hedgerow.exceptions import DataError, ParameterError


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
    _parameters = CLASSIFICATION

    def _own_attributes(self, model: NeighborsModel) -> dict[str, Any]:
        class_factors(self.class_weight, model)
        return {}

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
        model: NeighborsModel = self._fitted_model()
        classes, weights = self._neighbor_targets(X)
        return [
            factors * class_votes(classes[:, :, j], weights, len(factors))
            for j, factors in enumerate(class_factors(self.class_weight, model))
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

        X as in `KNeighborsClassifier.fit`; y is ignored.
        """
        return self._fit(X, None)


@with_parameters
class RadiusNeighborsClassifier(ScoredClassifier, NeighborsPredictor, RadiusQueries):
    """Radius-neighbours classifier: the majority class of the training rows within a radius.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {outputs}
    outlier_label_ : list, or None
        The class of queries without neighbours, for each output.
    {metric}

    Examples
    --------
    >>> from hedgerow import RadiusNeighborsClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["near", "near", "far", "far"]
    >>> RadiusNeighborsClassifier(radius=1.0).fit(X, y).predict([[1.2]]).tolist()
    ['far']
    """

    _outputs = ClassOutputs
    _parameters = RADIUS_CLASSIFICATION

    def _own_attributes(self, model: NeighborsModel) -> dict[str, Any]:
        class_factors(self.class_weight, model)
        return {"outlier_label_": _outlier_labels(self.outlier_label, model)}

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the largest total weight of neighbours; ties go to the first.

        ``X=None`` predicts the training rows, each from the others.
        """
        outputs: ClassOutputs = self._fitted_model().outputs
        columns = []
        for j, shares in enumerate(self._shares(X)):
            labels = outputs.classes[j][shares.argmax(axis=1)]
            is_outlier = ~shares.any(axis=1)
            if is_outlier.any():
                labels = np.where(is_outlier, np.asarray(self.outlier_label_[j]), labels)
            columns.append(labels)
        return columns[0] if outputs.is_single else np.column_stack(columns)

    def predict_proba(self, X: Any) -> Any:
        """Return each class's share of the weights, (n_queries, n_classes), or a list.

        The result is a list if y is multi-output. Columns are in the order of ``classes_``.
        """
        return one_or_list(self._shares(X), self._fitted_model().outputs)

    def _shares(self, X: Any) -> list[Floats]:
        """Return the class shares of each output; all 0 for outliers without a training class."""
        model: NeighborsModel = self._fitted_model()
        neighbors = RadiusNeighborhoods(*self._within(X))
        outliers = np.flatnonzero(neighbors.counts == 0)
        if len(outliers) and self.outlier_label_ is None:
            raise DataError(
                f"No neighbors found for {len(outliers)} of {len(neighbors.counts)} rows of X "
                f"(first for row {outliers[0]}) within radius={self.radius}. Increase the radius, "
                "or set outlier_label."
            )
        weights = neighbors.weights(self.weights)
        assert isinstance(model.outputs, ClassOutputs)
        assert model.target is not None
        shares = []
        factors = class_factors(self.class_weight, model)
        for j, classes in enumerate(model.outputs.classes):
            votes = factors[j] * neighbors.votes(model.target[:, j], weights, len(classes))
            if len(outliers):
                _vote(votes, outliers, classes, self.outlier_label_[j])
            total = votes.sum(axis=1, keepdims=True)
            shares.append(votes / np.where(total == 0.0, 1.0, total))
        return shares

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@with_parameters
class RadiusNeighborsRegressor(RegressorMixin, NeighborsPredictor, RadiusQueries):
    """Radius-neighbours regressor: the mean target of the training rows within a radius.

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
    >>> from hedgerow import RadiusNeighborsRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 4.0, 9.0]
    >>> RadiusNeighborsRegressor(radius=1.0).fit(X, y).predict([[1.4]])
    array([2.5])
    """

    _outputs = NumberOutputs
    _parameters = RADIUS_REGRESSION

    def predict(self, X: Any) -> Floats:
        """Return the weighted mean of the neighbours' targets, a column for each output.

        The prediction for a query without neighbours is NaN, with a warning. ``X=None`` predicts
        the training rows, each from the others.
        """
        model: NeighborsModel = self._fitted_model()
        neighbors = RadiusNeighborhoods(*self._within(X))
        n_outliers = int((neighbors.counts == 0).sum())
        if n_outliers:
            warn_user(
                f"{n_outliers} of {len(neighbors.counts)} rows of X have no neighbors within "
                f"radius={self.radius}; predicting NaN for them.",
            )
        assert isinstance(model.outputs, NumberOutputs)
        assert model.target is not None
        return model.outputs.prediction(
            neighbors.mean(model.target, neighbors.weights(self.weights))
        )


def class_factors(class_weight: Any, model: NeighborsModel) -> list[Floats]:
    """Return the factor of each class's votes, for each output."""
    assert isinstance(model.outputs, ClassOutputs)
    assert model.target is not None
    if class_weight is None:
        return [np.ones(len(classes)) for classes in model.outputs.classes]
    columns = zip(model.outputs.classes, model.target.T, strict=True)
    factors = [class_weight_vector(class_weight, classes, at, None) for classes, at in columns]
    for classes, of_classes in zip(model.outputs.classes, factors, strict=True):
        if not of_classes.all():
            label = classes.tolist()[int(of_classes.argmin())]
            raise ParameterError(
                f"class_weight[{label!r}]=0 is not allowed; it must be a number > 0: all "
                "neighbours of a query may be of that class."
            )
    return factors


def _vote(votes: Floats, outliers: NDArray[Any], classes: NDArray[Any], label: Any) -> None:
    """Assign the outliers' votes to their class, if it is a training class."""
    if label in classes.tolist():
        votes[outliers, classes.tolist().index(label)] = 1.0
        return
    warn_user(
        f"outlier_label {label!r} is not a class of the training set: all class probabilities of "
        f"{len(outliers)} rows without neighbors are 0.",
    )


def _outlier_labels(outlier_label: Any, model: NeighborsModel) -> list[Any] | None:
    """Return the class of outliers for each output, as plain Python values."""
    assert isinstance(model.outputs, ClassOutputs)
    assert model.target is not None
    all_classes = model.outputs.classes
    if outlier_label is None:
        return None
    if isinstance(outlier_label, str) and outlier_label == "most_frequent":
        counts = [np.bincount(column) for column in model.target.T]
        return [
            classes[[most.argmax()]].tolist()[0]
            for classes, most in zip(all_classes, counts, strict=True)
        ]
    is_list = isinstance(outlier_label, list | tuple | np.ndarray)
    labels = [np.asarray(one).tolist() for one in outlier_label] if is_list else None
    labels = [np.asarray(outlier_label).tolist()] * len(all_classes) if labels is None else labels
    check_outlier_labels(labels, model.outputs)
    return labels


def check_outlier_labels(labels: list[Any], outputs: ClassOutputs) -> None:
    """Raise unless there is a label for each output, of the type that its classes have."""
    if len(labels) != len(outputs.classes):
        raise ParameterError(
            f"outlier_label={labels!r} is a list of {len(labels)}, but y has "
            f"{len(outputs.classes)} outputs."
        )
    for label, classes in zip(labels, outputs.classes, strict=True):
        if np.asarray(label).dtype.kind not in _COMPATIBLE_KINDS[classes.dtype.kind]:
            raise ParameterError(
                f"outlier_label={label!r} does not have the type of the classes, such as "
                f"{classes.tolist()[0]!r}."
            )


# dtype kinds of labels allowed for each dtype kind of classes; objects are strings.
_COMPATIBLE_KINDS = {"O": "U", "U": "U", "b": "b", "i": "iu", "u": "iu", "f": "iuf"}
