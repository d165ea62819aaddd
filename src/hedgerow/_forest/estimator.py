"""Random forests and extra trees: fitting, single trees, importances, proximities."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hedgerow._arguments import with_parameters
from hedgerow._contract import TableInternals
from hedgerow._data.binned_rows import TreeRows
from hedgerow._data.outputs import ClassOutputs, NumberOutputs, Outputs
from hedgerow._estimator import (
    LeafClassifier,
    LeafEstimator,
    LeafRegressor,
    adopt,
    by_batch,
    model_to_continue,
)
from hedgerow._forest.fitting import ForestSettings, fit_forest
from hedgerow._forest.model import ForestModel
from hedgerow._forest.out_of_bag import permutation_importance
from hedgerow._forest.parameters import FOREST_PARAMETERS, with_defaults
from hedgerow._params import IMPORTANCE_KIND, parameters_for
from hedgerow._result import PermutationImportance
from hedgerow._threads import effective_n_jobs
from hedgerow._tree.additive import AdditiveTrees
from hedgerow._tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor, as_fitted
from hedgerow._tree.parameters import GROWTH, TABLE
from hedgerow._tree.unpacked import UnpackedForest
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError

Importance = Literal["gain", "split", "cover"]


@dataclass(frozen=True)
class ForestInternals(TableInternals[ForestModel]):
    """What forests offer to other packages of the library in addition.

    Attributes
    ----------
    leaves : function of a table
        Returns each row's leaf in each tree, counted over all trees, (n_rows, n_trees).
    """

    leaves: Callable[[Any], NDArray[np.int32]]


class Forest(LeafEstimator):
    """Base class of forests."""

    _attribute_docs: ClassVar = {
        "forest": """
            feature_importances_ : array of shape (n_features,)
                The mean decrease in impurity due to each feature, normalised to a sum of 1.
            estimators_samples_ : list of arrays
                The bootstrap sample of each tree, as row indices.
            oob_score_ : float
                What `score` measures, of the out-of-bag predictions, if ``oob_score`` is set.
            """
    }

    _outputs: ClassVar[type[Outputs]]
    _tree: ClassVar[type[Any]]
    _random_thresholds: ClassVar[bool]
    _model: ForestModel

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        init_model = model_to_continue(self)
        if init_model is not None and isinstance(init_model.forest, UnpackedForest):
            raise ParameterError(
                "warm_start=True cannot add trees to a forest imported from another library. Set "
                "it to False."
            )
        settings = ForestSettings.of(self, init_model, random_thresholds=self._random_thresholds)
        adopt(self, fit_forest(settings, self._outputs, X, y, sample_weight))
        return self

    def _bins_tables(self) -> bool:
        return True

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf of every row in every tree, as node numbers, shape (n_rows, n_trees)."""
        return self._fitted_model().forest.nodes_of(self._leaves(X))

    @property
    def estimators_(self) -> list[Any]:
        """The trees as estimators, unpacked on access."""
        return [self[index] for index in range(len(self))]

    def __len__(self) -> int:
        return int(self._fitted_model().forest.n_trees)

    def __getitem__(self, index: int | slice) -> Any:
        """Return a tree as an estimator, or a list of trees for a slice."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = operator.index(index)
        model: ForestModel = self._fitted_model()
        if model.combinations is not None:
            raise AttributeError(
                "trees of feature_combinations split on sums of columns, so they are not "
                "estimators for the columns of X. Use predict_trees and apply."
            )
        if not -len(self) <= index < len(self):
            raise IndexError(f"there is no tree {index}; the forest has {len(self)} trees.")
        names = ("criterion", *(parameter.name for parameter in (*GROWTH, *TABLE)))
        tree = self._tree(splitter="hist", **{name: getattr(self, name) for name in names})
        return as_fitted(tree, model.tree(index % len(self), self.criterion))

    @property
    def estimators_samples_(self) -> list[NDArray[np.intp]]:
        """The bootstrap sample of each tree, as row indices."""
        self._require_known_rows()
        samples: list[NDArray[np.intp]] = self._fitted_model().sampled_rows()
        return samples

    @property
    def feature_importances_(self) -> Floats:
        """Mean decrease in impurity due to each feature, averaged over the trees; the sum is 1.

        It overrates features with many distinct values; see `permutation_importances`.
        """
        by_tree = self._importances_by_tree("gain")
        total = by_tree.sum(axis=1, keepdims=True)
        has_splits = total[:, 0] > 0.0
        if not has_splits.any():
            return np.zeros(self.n_features_in_)
        mean = (by_tree[has_splits] / total[has_splits]).mean(axis=0)
        importances: Floats = mean / mean.sum()
        return importances

    def importances(self, kind: Importance = "gain") -> Floats:
        """Return the importance of each feature: the sum of a quantity over its splits.

        Parameters
        ----------
        kind : {"gain", "split", "cover"}
            What is summed: the decrease in the weighted impurity ("gain"), 1 ("split"), or the
            weight of the node ("cover").
        """
        IMPORTANCE_KIND.check(kind)
        importances: Floats = self._importances_by_tree(kind).sum(axis=0)
        return importances

    def permutation_importances(self, X: Any, y: Any) -> PermutationImportance:
        """Return the increase of the out-of-bag loss when a feature is shuffled.

        Parameters
        ----------
        X, y : the training set of `fit`
            The same rows in the same order, since a tree's sample is stored by row index. Those of
            weight 0 are left out.

        Returns
        -------
        PermutationImportance
            With ``mean``, ``std`` and ``z``, a number for each feature.
        """
        matrix = self._training_matrix(X)
        n_rows, rows = self._model.n_rows, self._model.sampling.rows
        model = self._model.of_rows_with_weight()
        if model.combinations is not None:
            raise ParameterError(
                "permutation_importances needs trees that split on single features, but this "
                f"forest has feature_combinations={self.feature_combinations}."
            )
        if not model.sampling.bootstrap and model.sampling.n_draws == model.n_rows:
            raise ParameterError(
                "permutation_importances needs out-of-bag rows, but with bootstrap=False and "
                "max_samples=None every tree is grown on all rows."
            )
        outputs, target = type(model.outputs).learn(y, n_rows)
        if outputs != model.outputs:
            raise DataError("y has different classes or outputs than in fit.")
        if rows is not None:
            matrix, target = matrix[rows], target[rows]
        return permutation_importance(model, matrix, target, effective_n_jobs(self.n_jobs))

    def proximities(self, X: Any, Y: Any = None) -> Floats:
        """Return the fraction of the trees in which two rows are in the same leaf.

        Parameters
        ----------
        X, Y : tables
            Rows to compare: each of X with each of Y, or with each of X if Y is omitted.

        Returns
        -------
        array of shape (n_rows_X, n_rows_Y)
        """
        mine = self._leaf_indicator(X)
        others = mine if Y is None else self._leaf_indicator(Y)
        shared: Floats = (mine @ others.T).toarray() / self._model.forest.n_trees
        return shared

    def decision_path(self, X: Any) -> tuple[Any, NDArray[np.int64]]:
        """Return the nodes on each row's path, as a sparse matrix, and each tree's first column."""
        leaves = self.apply(X)
        forest = self._model.forest
        paths = [forest.tree(t).paths(leaves[:, t]) for t in range(forest.n_trees)]
        return scipy.sparse.hstack(paths).tocsr(), forest.tree_offset.copy()

    def __hedgerow__(self) -> ForestInternals:
        """Return what other packages of the library may use."""
        return ForestInternals(**vars(super().__hedgerow__()), leaves=self._leaves)

    def _additive_trees(self) -> AdditiveTrees:
        model, n_threads = self._fitted_model(), effective_n_jobs(self.n_jobs)
        trees = model.additive_trees(self._matrix, n_threads, model.values(self._voting))
        return replace(trees, stored=self._stored)

    def _leaf_indicator(self, X: Any) -> Any:
        leaves = self._leaves(X)
        forest = self._model.forest
        starts = np.arange(len(leaves) + 1) * forest.n_trees
        ones = np.ones(leaves.size)
        shape = (len(leaves), forest.n_leaves)
        return scipy.sparse.csr_array((ones, leaves.reshape(-1), starts), shape)

    def _importances_by_tree(self, kind: Importance) -> Floats:
        """Return the sums for each tree and feature."""
        model: ForestModel = self._fitted_model()
        forest = model.forest
        sums = np.zeros((forest.n_trees, forest.n_features))
        for t in range(forest.n_trees):
            begin, end = forest.tree_offset[t], forest.tree_offset[t + 1]
            feature = forest.feature[begin:end]
            inner = feature >= 0
            summed = None if kind == "split" else getattr(forest.tree(t), kind)[inner]
            sums[t] = np.bincount(feature[inner], summed, minlength=forest.n_features)
        if model.combinations is not None:
            return model.combinations.to_inputs(sums)
        return sums

    @by_batch
    def _leaves(self, X: Any) -> NDArray[np.int32]:
        rows = self._tree_rows(X)
        return self._model.leaves(rows, self._threads_for(rows))

    @by_batch
    def _values(self, X: Any) -> Floats:
        rows = self._tree_rows(X)
        model = self._model
        return model.mean(rows, self._threads_for(rows), model.values(self._voting))

    @property
    def _voting(self) -> str:
        return getattr(self, "voting", "soft")

    def _tree_rows(self, X: Any) -> TreeRows:
        is_matrix = self._fitted_model().combinations is not None
        return self._matrix(X) if is_matrix else super()._tree_rows(X)

    def _require_known_rows(self) -> None:
        if isinstance(self._fitted_model().forest, UnpackedForest):
            raise ParameterError(
                f"the training rows of the trees of a forest imported from {self.origin_.library} "
                "are not known."
            )

    def _training_matrix(self, X: Any) -> Any:
        self._require_known_rows()
        matrix = self._matrix(X)
        if len(matrix) != self._model.n_rows:
            raise DataError(
                f"X has {len(matrix)} rows, but fit had {self._model.n_rows}; pass the same rows."
            )
        return matrix


class ForestClassifier(LeafClassifier, Forest):
    """Base class of forest classifiers."""

    _outputs = ClassOutputs
    _tree = DecisionTreeClassifier

    def predict_trees(self, X: Any) -> NDArray[np.int32]:
        """Return each tree's vote, as an index of ``classes_``, shape (n_trees, n_rows).

        With several outputs the shape is (n_trees, n_rows, n_outputs).
        """
        leaves = self._leaves(X)
        outputs = self._class_outputs()
        by_tree = outputs.votes(self._model.forest.value)[leaves.T]
        return by_tree[:, :, 0] if outputs.is_single else by_tree

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class ForestRegressor(LeafRegressor, Forest):
    """Base class of forest regressors."""

    _outputs = NumberOutputs
    _tree = DecisionTreeRegressor

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the mean over the trees of the values of each row's leaves.

        Parameters
        ----------
        X : table
            The rows.
        return_std : bool
            Whether to return the standard deviation of each prediction as well. With the values
            v_t of a row's leaves and their mean m, it is the square root of Σ_t ((v_t − m)² +
            s_t²) / T. The variance s_t² of the training targets in the leaf is known with
            ``keep_targets=True``; otherwise it counts as 0, which it is in leaves of one row, and
            the result is the standard deviation across the trees.

        Returns
        -------
        array of shape (n_rows,) or (n_rows, n_outputs), or a pair of such arrays
        """
        prediction = super().predict(X)
        return (prediction, self._deviations(X, prediction)) if return_std else prediction

    def _deviations(self, X: Any, prediction: Floats) -> Floats:
        model: ForestModel = self._model
        targets = model.leaf_targets
        within = None if targets is None else targets.variances()
        squares = np.zeros((len(prediction), model.forest.n_values))
        mean = prediction.reshape(squares.shape)
        leaves = self._leaves(X)
        for of_tree in leaves.T:
            squares += (model.forest.value[of_tree] - mean) ** 2
            if within is not None:
                squares += within[of_tree]
        return np.sqrt(squares / leaves.shape[1]).reshape(prediction.shape)

    def predict_trees(self, X: Any) -> Floats:
        """Return each tree's prediction, shape (n_trees, n_rows[, n_outputs])."""
        leaves = self._leaves(X)
        by_tree: Floats = self._model.forest.value[leaves.T]
        return by_tree[:, :, 0] if self._number_outputs().is_single else by_tree

    def predict_quantiles(self, X: Any, quantiles: Any = (0.05, 0.5, 0.95)) -> Floats:
        """Return quantiles of the target of each row, from the training rows of its leaves.

        Parameters
        ----------
        X : table
            The rows.
        quantiles : float or sequence of float
            Between 0 and 1.

        Returns
        -------
        array of shape (n_rows, n_quantiles), or (n_rows,) for one number
            With several outputs, there is an additional last axis.
        """
        levels = np.atleast_1d(np.asarray(quantiles, np.float64))
        if levels.ndim != 1 or not ((levels >= 0.0) & (levels <= 1.0)).all():
            raise ParameterError(f"quantiles={quantiles!r} must be numbers in [0, 1].")
        targets = self._fitted_model().leaf_targets
        if targets is None:
            raise ParameterError(
                "predict_quantiles needs the training targets of each leaf: fit with "
                "keep_targets=True."
            )
        result = targets.quantiles(self._leaves(X), levels)
        result = result[:, :, 0] if self._number_outputs().is_single else result
        return result[:, 0] if np.ndim(quantiles) == 0 else result


@with_parameters
class RandomForestClassifier(ForestClassifier):
    """Random forest classifier (Breiman, 2001).

    Each tree is fully grown on a bootstrap sample of the rows; each node considers a random subset
    of the features. The class probabilities of the trees are averaged, or their votes are counted.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {outputs}
    {columns}
    {forest}
    oob_decision_function_ : array of shape (n_rows, n_classes) or (n_rows, n_classes, n_outputs)
        Out-of-bag probabilities of the training rows. If the outputs have different numbers of
        classes, a list with an array for each.

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
    oob_decision_function_ : array of shape (n_rows, n_classes) or (n_rows, n_classes, n_outputs)
        Out-of-bag probabilities of the training rows. If the outputs have different numbers of
        classes, a list with an array for each.

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
