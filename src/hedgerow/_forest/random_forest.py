"""The estimators: random forests and extremely randomised trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hedgerow._arguments import with_parameters
from hedgerow._forest.estimator import ForestClassifier, ForestRegressor
from hedgerow._forest.parameters import FOREST_PARAMETERS, with_defaults
from hedgerow._params import parameters_for

Score = Callable[[Any, Any], float]


@with_parameters
class RandomForestClassifier(ForestClassifier):
    """Random forest classifier (Breiman, 2001).

    Each tree is fully grown on a bootstrap sample of the rows; each node considers a random subset
    of the features. The class probabilities of the trees are averaged.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {outputs}
    {columns}
    {forest}
    oob_decision_function_ : array of shape (n_rows, n_classes), or a list of such arrays
        Out-of-bag probabilities of the training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import hedgerow as hr
    >>> X, y = load_iris(return_X_y=True)
    >>> hr.RandomForestClassifier(n_estimators=20).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    _parameters = with_defaults(
        parameters_for("classifier", FOREST_PARAMETERS), max_features="sqrt"
    )
    _random_thresholds = False


@with_parameters
class RandomForestRegressor(ForestRegressor):
    """Random forest regressor (Breiman, 2001).

    Each tree is fully grown on a bootstrap sample of the rows; each node considers ``max_features``
    features. The predictions of the trees are averaged.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_outputs_ : int
        Number of outputs (columns of y).
    {columns}
    {forest}
    oob_prediction_ : array of shape (n_rows,) or (n_rows, n_outputs)
        Out-of-bag predictions of the training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import hedgerow as hr
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bool(hr.RandomForestRegressor(n_estimators=20).fit(X, y).score(X, y) > 0.8)
    True
    """

    _parameters = with_defaults(parameters_for("regressor", FOREST_PARAMETERS), max_features=1.0)
    _random_thresholds = False


@with_parameters
class ExtraTreesClassifier(ForestClassifier):
    """Extremely randomised trees classifier (Geurts, Ernst and Wehenkel, 2006).

    Each tree is fully grown on all rows. Each node draws one random threshold for each feature of a
    random subset, and uses the best of these splits.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {outputs}
    {columns}
    {forest}
    oob_decision_function_ : array of shape (n_rows, n_classes), or a list of such arrays
        Out-of-bag probabilities of the training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import hedgerow as hr
    >>> X, y = load_iris(return_X_y=True)
    >>> hr.ExtraTreesClassifier(n_estimators=20).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    _parameters = with_defaults(
        parameters_for("classifier", FOREST_PARAMETERS), max_features="sqrt", bootstrap=False
    )
    _random_thresholds = True


@with_parameters
class ExtraTreesRegressor(ForestRegressor):
    """Extremely randomised trees regressor (Geurts, Ernst and Wehenkel, 2006).

    Each tree is fully grown on all rows. Each node draws one random threshold for each feature, and
    uses the best of these splits.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_outputs_ : int
        Number of outputs (columns of y).
    {columns}
    {forest}
    oob_prediction_ : array of shape (n_rows,) or (n_rows, n_outputs)
        Out-of-bag predictions of the training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import hedgerow as hr
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bool(hr.ExtraTreesRegressor(n_estimators=20).fit(X, y).score(X, y) > 0.8)
    True
    """

    _parameters = with_defaults(
        parameters_for("regressor", FOREST_PARAMETERS), max_features=1.0, bootstrap=False
    )
    _random_thresholds = True
