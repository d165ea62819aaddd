"""Decision tree estimators: CART trees for classification and regression, optionally pruned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from hedgerow._arguments import with_parameters
from hedgerow._data.outputs import ClassOutputs, NumberOutputs, Outputs
from hedgerow._estimator import (
    LeafClassifier,
    LeafEstimator,
    LeafRegressor,
    adopt,
    by_batch,
    column_attributes,
)
from hedgerow._params import check_parameters, parameters_for
from hedgerow._threads import effective_n_jobs
from hedgerow._tree.additive import AdditiveTrees, column_names, leaf_names, leaf_unit
from hedgerow._tree.cart import n_candidate_features
from hedgerow._tree.export import Wording, lines_of, value_text
from hedgerow._tree.fitting import TreeModel, grow
from hedgerow._tree.parameters import TREE_PARAMETERS
from hedgerow._tree.pruning import prune, weakest_links
from hedgerow._tree.structure import Tree
from hedgerow._tree.view import NodeArrays, view_of
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError

T = TypeVar("T", bound="DecisionTree")


class DecisionTree(LeafEstimator):
    """The base class of decision trees."""

    _outputs: ClassVar[type[Outputs]]
    _model: TreeModel

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        unpruned = grow(self, self._outputs, X, y, sample_weight)
        model = unpruned.model
        if self.ccp_alpha > 0.0:
            model = unpruned.pruned(prune(model.tree, unpruned.decreases, self.ccp_alpha))
        return as_fitted(self, model)

    def _bins_tables(self) -> bool:
        return bool(self.splitter == "hist")

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Return the values of α at which subtrees are pruned, and the impurity after each pruning.

        The estimator is not changed. Parameters are those of `fit`.

        Returns
        -------
        Bunch
            ``ccp_alphas``, increasing from 0, and ``impurities``, the total impurity of the leaves.
        """
        check_parameters(self)
        unpruned = grow(self, self._outputs, X, y, sample_weight)
        impurity = unpruned.root_impurity - float(unpruned.decreases.sum())
        alphas, impurities = [0.0], [impurity]
        for link in weakest_links(unpruned.model.tree, unpruned.decreases):
            impurity += link.increase
            alphas.append(link.alpha)
            impurities.append(impurity)
        return Bunch(ccp_alphas=np.array(alphas), impurities=np.array(impurities))

    @property
    def max_features_(self) -> int:
        """Number of features sampled for each node."""
        return n_candidate_features(self.max_features, self._fitted_model().schema.n_features)

    @property
    def tree_(self) -> NodeArrays:
        """The arrays of the tree, with scikit-learn's names."""
        return view_of(self._fitted_model(), self.criterion)

    @property
    def _tree(self) -> Tree:
        tree: Tree = self._fitted_model().tree
        return tree

    def get_depth(self) -> int:
        """Return the depth of the tree."""
        return self._tree.depth_below()

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        return self._tree.n_leaves

    @by_batch
    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf of every row, as a node number."""
        rows = self._tree_rows(X)
        leaves = self._model.ensemble.apply(rows, n_threads=self._threads_for(rows))
        return leaves[:, 0].copy()

    def decision_path(self, X: Any) -> Any:
        """Return the nodes on the path of each row, as a sparse matrix of ones."""
        return self._fitted_model().tree.paths(self.apply(X))

    @property
    def feature_importances_(self) -> Floats:
        """Each feature's share of the total impurity decrease; all 0 if there is no split."""
        tree = self._tree
        inner = tree.feature >= 0
        decreases = np.bincount(
            tree.feature[inner], tree.gain[inner], minlength=self.n_features_in_
        )
        total = decreases.sum()
        importances: Floats = decreases / total if total > 0.0 else decreases.astype(np.float64)
        return importances

    def export_text(
        self,
        *,
        feature_names: Sequence[str] | None = None,
        max_depth: int = 10,
        spacing: int = 3,
        decimals: int = 2,
        show_weights: bool = False,
        show_missing: bool = False,
    ) -> str:
        """Return the tree as text: the conditions of splits, and the predictions of leaves.

        Parameters
        ----------
        feature_names : list of str, optional
            Names of the features; by default those of `fit`, or ``feature_0`` and so on.
        max_depth : int
            Maximum depth to print; deeper branches are summarized by their depth.
        spacing : int
            Width of the indentation.
        decimals : int
            Digits after the decimal point.
        show_weights : bool
            Whether to show the weight of the training rows in each leaf.
        show_missing : bool
            Whether to show the side to which missing values go.
        """
        model: TreeModel = self._fitted_model()
        if feature_names is not None and len(feature_names) != self.n_features_in_:
            raise ParameterError(
                f"feature_names has {len(feature_names)} names; the tree has "
                f"{self.n_features_in_} features."
            )
        for name, value in (("max_depth", max_depth), ("spacing", spacing), ("decimals", decimals)):
            if value < 0:
                raise ParameterError(f"{name}={value!r} is not allowed; it must be an int >= 0.")
        wording = Wording(model.schema, model.category_bins, feature_names, decimals, show_missing)

        def leaf_text(node: int) -> str:
            weight = f" (weight {model.tree.cover[node]:.{decimals}f})" if show_weights else ""
            value = model.tree.value[node : node + 1]
            return value_text(model.outputs, value, decimals) + weight

        lines = lines_of(model.tree, wording, leaf_text, max_depth, max(spacing, 1))
        return "\n".join(lines) + "\n"

    def _additive_trees(self) -> AdditiveTrees:
        model: TreeModel = self._fitted_model()
        return AdditiveTrees(
            ensemble=model.ensemble,
            matrix=self._matrix,
            stored=self._stored,
            sources=np.arange(model.schema.n_features),
            feature_names=column_names(model.schema),
            output_names=leaf_names(model.outputs),
            unit=leaf_unit(model.outputs),
            n_threads=effective_n_jobs(self.n_jobs),
        )

    @by_batch
    def _values(self, X: Any) -> Floats:
        rows = self._tree_rows(X)
        return self._model.ensemble.predict_raw(rows, n_threads=self._threads_for(rows))


def as_fitted(tree: T, model: TreeModel) -> T:
    """Set the fitted attributes of a decision tree."""
    attributes = column_attributes(model.schema) | model.outputs.attributes()
    adopt(tree, attributes | {"_model": model})
    return tree


@with_parameters
class DecisionTreeClassifier(LeafClassifier, DecisionTree):
    """A classification tree (CART: Breiman, Friedman, Olshen and Stone, 1984).

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {outputs}
    max_features_ : int
        Number of features sampled for each node.
    {columns}
    feature_importances_ : array of shape (n_features,)
        Each feature's share of the total impurity decrease.
    tree_ : NodeArrays
        The arrays of the tree, with the names and shapes of scikit-learn's ``tree_``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import hedgerow as hr
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> print(hr.DecisionTreeClassifier(max_depth=2).fit(X, y).export_text())
    |--- petal length (cm) <= 2.45
    |   |--- class: 0  [1.00, 0.00, 0.00]
    |--- petal length (cm) >  2.45
    |   |--- petal width (cm) <= 1.75
    |   |   |--- class: 1  [0.00, 0.91, 0.09]
    |   |--- petal width (cm) >  1.75
    |   |   |--- class: 2  [0.00, 0.02, 0.98]
    <BLANKLINE>
    """

    _outputs = ClassOutputs
    _parameters = parameters_for("classifier", TREE_PARAMETERS)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@with_parameters
class DecisionTreeRegressor(LeafRegressor, DecisionTree):
    """A regression tree (CART: Breiman, Friedman, Olshen and Stone, 1984).

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_outputs_ : int
        Number of outputs (columns of y).
    max_features_ : int
        Number of features sampled for each node.
    {columns}
    feature_importances_ : array of shape (n_features,)
        Each feature's share of the total impurity decrease.
    tree_ : NodeArrays
        The arrays of the tree, with the names and shapes of scikit-learn's ``tree_``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import hedgerow as hr
    >>> X, y = load_diabetes(return_X_y=True)
    >>> hr.DecisionTreeRegressor(max_leaves=4).fit(X, y).get_n_leaves()
    4
    """

    _outputs = NumberOutputs
    _parameters = parameters_for("regressor", TREE_PARAMETERS)
