"""The estimators: random forests and extremely randomised trees, for classes and for numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hedgerow._constructor import with_parameters
from hedgerow._forest.estimator import ForestClassifier, ForestRegressor
from hedgerow._forest.parameters import FOREST_PARAMETERS, with_defaults
from hedgerow._params import parameters_for

Score = Callable[[Any, Any], float]


@with_parameters
class RandomForestClassifier(ForestClassifier):
    """Random forest for classes (Breiman, 2001).

    Each tree is grown to the end on rows drawn with replacement; at each node it tries a few
    features, drawn at random. The trees' probabilities are averaged.

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
        Number of outputs (columns of y).
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Feature names, if X has string names.
    feature_importances_ : array of shape (n_features,)
        Each feature's part of the fall of impurity.
    estimators_samples_ : list of arrays
        The training rows that each tree drew.
    oob_score_ : float
        The score of the out-of-bag predictions, if ``oob_score`` is set.
    oob_decision_function_ : array of shape (n_rows, n_classes), or a list of such
        Probabilities of the training rows by the trees that did not draw them.

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
    """Random forest for numbers (Breiman, 2001).

    Each tree is grown to the end on rows drawn with replacement; at each node it tries the features
    that ``max_features`` leaves it. The trees' values are averaged.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_outputs_ : int
        Number of outputs (columns of y).
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Feature names, if X has string names.
    feature_importances_ : array of shape (n_features,)
        Each feature's part of the fall of impurity.
    estimators_samples_ : list of arrays
        The training rows that each tree drew.
    oob_score_ : float
        The score of the out-of-bag predictions, if ``oob_score`` is set.
    oob_prediction_ : array of shape (n_rows,) or (n_rows, n_outputs)
        Predictions for the training rows by the trees that did not draw them.

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
    """Extremely randomised trees for classes (Geurts, Ernst and Wehenkel, 2006).

    Each tree is grown to the end on all rows; at each node a few features, drawn at random,
    are cut at one random place each, and the best of these cuts is made.

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
        Number of outputs (columns of y).
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Feature names, if X has string names.
    feature_importances_ : array of shape (n_features,)
        Each feature's part of the fall of impurity.
    estimators_samples_ : list of arrays
        The training rows that each tree drew.
    oob_score_ : float
        The score of the out-of-bag predictions, if ``oob_score`` is set.
    oob_decision_function_ : array of shape (n_rows, n_classes), or a list of such
        Probabilities of the training rows by the trees that did not draw them.

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
    """Extremely randomised trees for numbers (Geurts, Ernst and Wehenkel, 2006).

    Each tree is grown to the end on all rows; at each node every feature is cut at one random
    place, and the best of these cuts is made.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_outputs_ : int
        Number of outputs (columns of y).
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Feature names, if X has string names.
    feature_importances_ : array of shape (n_features,)
        Each feature's part of the fall of impurity.
    estimators_samples_ : list of arrays
        The training rows that each tree drew.
    oob_score_ : float
        The score of the out-of-bag predictions, if ``oob_score`` is set.
    oob_prediction_ : array of shape (n_rows,) or (n_rows, n_outputs)
        Predictions for the training rows by the trees that did not draw them.

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
