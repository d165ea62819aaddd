"""The estimators: random forests and extremely randomised trees, for classes and for numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hedgerow._forest.estimator import ForestClassifier, ForestRegressor
from hedgerow._forest.parameters import FOREST_PARAMETERS, with_defaults
from hedgerow._params import documented, parameters_for

Score = Callable[[Any, Any], float]


@documented
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
        Columns of y.
    n_features_in_ : int
        Columns of the table.
    feature_names_in_ : array of str
        Names of the columns, if they had names.
    feature_importances_ : array of shape (n_features,)
        Each feature's part of the fall of impurity.
    estimators_samples_ : list of arrays
        The training rows that each tree drew.
    oob_score_ : float
        The score of the out-of-bag predictions, if ``oob_score`` asked for it.
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
    _random_cuts = False

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        criterion: str = "gini",
        max_depth: int | None = None,
        max_leaves: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = "sqrt",
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        bootstrap: bool = True,
        max_samples: float | None = None,
        feature_combinations: int | None = None,
        oob_score: bool | Score = False,
        class_weight: Any = None,
        categorical_features: Any = "auto",
        unknown_category: str = "missing",
        max_bins: int = 255,
        subsample_for_bin: int = 200_000,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.feature_combinations = feature_combinations
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.unknown_category = unknown_category
        self.max_bins = max_bins
        self.subsample_for_bin = subsample_for_bin
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


@documented
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
        Columns of y.
    n_features_in_ : int
        Columns of the table.
    feature_names_in_ : array of str
        Names of the columns, if they had names.
    feature_importances_ : array of shape (n_features,)
        Each feature's part of the fall of impurity.
    estimators_samples_ : list of arrays
        The training rows that each tree drew.
    oob_score_ : float
        The score of the out-of-bag predictions, if ``oob_score`` asked for it.
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
    _random_cuts = False

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        max_leaves: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = 1.0,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        bootstrap: bool = True,
        max_samples: float | None = None,
        feature_combinations: int | None = None,
        keep_targets: bool = False,
        oob_score: bool | Score = False,
        categorical_features: Any = "auto",
        unknown_category: str = "missing",
        max_bins: int = 255,
        subsample_for_bin: int = 200_000,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.feature_combinations = feature_combinations
        self.keep_targets = keep_targets
        self.oob_score = oob_score
        self.categorical_features = categorical_features
        self.unknown_category = unknown_category
        self.max_bins = max_bins
        self.subsample_for_bin = subsample_for_bin
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


@documented
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
        Columns of y.
    n_features_in_ : int
        Columns of the table.
    feature_names_in_ : array of str
        Names of the columns, if they had names.
    feature_importances_ : array of shape (n_features,)
        Each feature's part of the fall of impurity.
    estimators_samples_ : list of arrays
        The training rows that each tree drew.
    oob_score_ : float
        The score of the out-of-bag predictions, if ``oob_score`` asked for it.
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
    _random_cuts = True

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        criterion: str = "gini",
        max_depth: int | None = None,
        max_leaves: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = "sqrt",
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        bootstrap: bool = False,
        max_samples: float | None = None,
        feature_combinations: int | None = None,
        oob_score: bool | Score = False,
        class_weight: Any = None,
        categorical_features: Any = "auto",
        unknown_category: str = "missing",
        max_bins: int = 255,
        subsample_for_bin: int = 200_000,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.feature_combinations = feature_combinations
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.unknown_category = unknown_category
        self.max_bins = max_bins
        self.subsample_for_bin = subsample_for_bin
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


@documented
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
        Columns of y.
    n_features_in_ : int
        Columns of the table.
    feature_names_in_ : array of str
        Names of the columns, if they had names.
    feature_importances_ : array of shape (n_features,)
        Each feature's part of the fall of impurity.
    estimators_samples_ : list of arrays
        The training rows that each tree drew.
    oob_score_ : float
        The score of the out-of-bag predictions, if ``oob_score`` asked for it.
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
    _random_cuts = True

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        max_leaves: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = 1.0,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        bootstrap: bool = False,
        max_samples: float | None = None,
        feature_combinations: int | None = None,
        keep_targets: bool = False,
        oob_score: bool | Score = False,
        categorical_features: Any = "auto",
        unknown_category: str = "missing",
        max_bins: int = 255,
        subsample_for_bin: int = 200_000,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.feature_combinations = feature_combinations
        self.keep_targets = keep_targets
        self.oob_score = oob_score
        self.categorical_features = categorical_features
        self.unknown_category = unknown_category
        self.max_bins = max_bins
        self.subsample_for_bin = subsample_for_bin
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
