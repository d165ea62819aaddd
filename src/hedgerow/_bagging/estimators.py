"""The estimators: bagging of trees, or of estimators of any kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, _raise_for_params
from sklearn.utils.metaestimators import available_if

from hedgerow._arguments import with_parameters
from hedgerow._bagging.base_models import BaggedModel, Jobs, joined_trees
from hedgerow._bagging.fitting import (
    OUR_TREES,
    BaggingArguments,
    fit_bag,
    jobs_of,
    voting_of,
)
from hedgerow._bagging.parameters import BAGGING_PARAMETERS
from hedgerow._data.intake import Table, TableSchema, read_table
from hedgerow._data.names import fitted_names, labels_of
from hedgerow._data.outputs import ClassOutputs, NumberOutputs, Outputs
from hedgerow._data.pass_through import check_columns
from hedgerow._estimator import (
    LeafClassifier,
    LeafRegressor,
    TableEstimator,
    adopt,
    model_to_continue,
)
from hedgerow._forest.model import ForestModel
from hedgerow._params import check_parameters, parameters_for
from hedgerow._threads import effective_n_jobs
from hedgerow._tree.additive import AdditiveTrees
from hedgerow._tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor, as_fitted
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError

Score = Callable[[Any, Any], float]


class Bagging(TableEstimator):
    """Base class of the two estimators."""

    _attribute_docs: ClassVar = {
        "bagging": """
            {columns}
            estimator_ : estimator
                The base estimator.
            estimators_ : list of estimators
                The fitted estimators.
            estimators_samples_ : list of arrays
                The row indices of each estimator; a row that was sampled twice is listed twice.
            estimators_features_ : list of arrays
                The columns of each estimator.
            oob_score_ : float
                What `score` measures, of the out-of-bag predictions, if ``oob_score`` is set.
            """
    }

    _outputs: ClassVar[type[Outputs]]
    _tree: ClassVar[type[Any]]
    _model: ForestModel | BaggedModel

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        samples: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the model.

        If `fit` fails or is interrupted by Ctrl-C, the estimator is left unchanged.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Any table that the base estimator supports. Hedgerow's trees support NumPy arrays,
            pandas, Polars and Arrow tables and SciPy sparse matrices, with missing values, strings
            and categories.
        y : array of shape (n_rows,) or (n_rows, n_outputs)
            The target.
        sample_weight : array of shape (n_rows,), optional
            Sample weights, nonnegative and not all 0. With ``bootstrap`` rows are sampled in
            proportion to them; otherwise they are passed to the base estimator. Rows of weight 0
            are in no sample.
        samples : list of arrays of row numbers, optional
            The rows of each estimator, instead of random samples.
        **fit_params
            Arguments of the base estimators' `fit`, if scikit-learn's metadata routing is on.

        Returns
        -------
        self
        """
        check_parameters(self)
        _raise_for_params(fit_params, self, "fit")
        init_model = model_to_continue(self)
        arguments = BaggingArguments(X, y, sample_weight, samples, fit_params)
        adopt(self, fit_bag(self, self._base(), init_model, self._outputs, arguments))
        return self

    @property
    def estimators_(self) -> list[Any]:
        """The fitted estimators."""
        model = self._fitted_model()
        if isinstance(model, BaggedModel):
            return list(model.estimators)
        return [self._tree_of(model, index) for index in range(model.forest.n_trees)]

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, index: int | slice) -> Any:
        """Return one of the estimators, or a list of them for a slice."""
        return self.estimators_[index]

    @property
    def estimators_samples_(self) -> list[NDArray[np.intp]]:
        """The row indices of each estimator; a row that was sampled twice is listed twice."""
        model = self._fitted_model()
        if isinstance(model, BaggedModel):
            return [model.sampling.samples(index) for index in range(len(model.estimators))]
        return model.sampled_rows()

    @property
    def estimators_features_(self) -> list[NDArray[np.intp]]:
        """The columns of each estimator."""
        model = self._fitted_model()
        if isinstance(model, BaggedModel):
            return [model.sampling.features(index) for index in range(len(model.estimators))]
        return [np.arange(self.n_features_in_) for _ in range(model.forest.n_trees)]

    def _base(self) -> Any:
        """Return the base estimator."""
        return self._tree(splitter="hist") if self.estimator is None else self.estimator

    def _tree_of(self, model: ForestModel, index: int) -> Any:
        """Return one of the trees as an estimator."""
        tree = clone(self.estimator_)
        return as_fitted(tree, model.tree(index, tree.criterion))

    def _read(self, X: Any, schema: TableSchema) -> Table:
        name, unknown = type(self).__name__, self.estimator_.unknown_category
        return read_table(X, schema, unknown_category=unknown, estimator_name=name)

    def _jobs(self) -> Jobs:
        return jobs_of(self, self.estimator_)

    def _values(self, X: Any) -> Floats:
        """Return the mean prediction of the estimators, (n_rows, n_values)."""
        model, voting = self._fitted_model(), voting_of(self)
        if isinstance(model, BaggedModel):
            return model.mean(check_columns(self, X), self._jobs(), hard=voting == "hard")
        rows = self._tree_rows(X)
        return model.mean(rows, self._threads_for(rows), model.values(voting))

    def _additive_trees(self) -> AdditiveTrees:
        model, n_threads = self._fitted_model(), effective_n_jobs(self.n_jobs)
        voting = voting_of(self)
        if isinstance(model, ForestModel):
            trees = model.additive_trees(self._matrix, n_threads, model.values(voting))
            return replace(trees, stored=self._stored)
        if not isinstance(self.estimator_, OUR_TREES):
            raise ParameterError(
                f"model: the estimators of this {type(self).__name__} are "
                f"{type(self.estimator_).__name__}s, not Hedgerow's decision trees. If they are "
                "other tree models, explain each of model.estimators_."
            )
        labels = labels_of(fitted_names(self), model.sampling.n_features)
        read, hard = partial(check_columns, self), voting == "hard"
        return joined_trees(model, labels, read, n_threads, hard=hard)

    def _by_base_model(self, X: Any) -> NDArray[Any]:
        """Return each estimator's predictions, (n_estimators, n_rows, n_outputs)."""
        model = self._fitted_model()
        if isinstance(model, BaggedModel):
            return model.by_base_model(check_columns(self, X), self._jobs())
        rows = self._tree_rows(X)
        leaves = model.leaves(rows, self._threads_for(rows))
        by_leaf = model.forest.value
        if isinstance(model.outputs, ClassOutputs):
            return model.outputs.votes(by_leaf)[leaves.T]
        return by_leaf[leaves.T]

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which parameters of `fit` are for bagging, and which for its estimators."""
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self._base(), method_mapping=to_fit)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        of_base = get_tags(self._base())
        tags.input_tags = of_base.input_tags
        tags.target_tags.multi_output = of_base.target_tags.multi_output
        return tags


def _can_decide(bagging: Bagging) -> bool:
    # After a fit the fitted base models count, not the current parameter.
    return hasattr(getattr(bagging, "estimator_", bagging.estimator), "decision_function")


@with_parameters
class BaggingClassifier(LeafClassifier, Bagging):
    """Bagging classifier (Breiman, 1996): a vote of estimators, each fitted to a bootstrap sample.

    Histogram-based decision trees, the default, are grown together, as fast as a random forest. Any
    other classifier is cloned and fitted to one sample after another. If it supports sample_weight,
    a row's weight is the number of times that it was sampled; otherwise rows are repeated.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {outputs}
    {bagging}
    oob_decision_function_ : array of shape (n_rows, n_classes) or (n_rows, n_classes, n_outputs)
        Out-of-bag probabilities of the training rows. If the outputs have different numbers of
        classes, a list with an array for each.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from hedgerow import BaggingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> BaggingClassifier(GaussianNB(), voting="hard").fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    _outputs = ClassOutputs
    _tree = DecisionTreeClassifier
    _parameters = parameters_for("classifier", BAGGING_PARAMETERS)

    def predict_trees(self, X: Any) -> NDArray[np.int32]:
        """Return each estimator's vote, as an index of ``classes_``, shape (n_estimators, n_rows).

        With several outputs the shape is (n_estimators, n_rows, n_outputs).
        """
        votes = self._by_base_model(X)
        return votes[:, :, 0] if self._class_outputs().is_single else votes

    @available_if(_can_decide)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Floats:
        """Return the mean of the estimators' decision functions."""
        model = self._fitted_model()
        decision: Floats = model.mean_decision(check_columns(self, X), self._jobs())
        return decision


@with_parameters
class BaggingRegressor(LeafRegressor, Bagging):
    """Bagging regressor (Breiman, 1996): the mean of estimators fitted to bootstrap samples.

    Histogram-based decision trees, the default, are grown together, as fast as a random forest. Any
    other regressor is cloned and fitted to one sample after another. If it supports sample_weight,
    a row's weight is the number of times that it was sampled; otherwise rows are repeated.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_outputs_ : int
        Number of outputs (columns of y).
    {bagging}
    oob_prediction_ : array of shape (n_rows,) or (n_rows, n_outputs)
        Out-of-bag predictions of the training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from hedgerow import BaggingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bool(BaggingRegressor().fit(X, y).score(X, y) > 0.8)
    True
    """

    _outputs = NumberOutputs
    _tree = DecisionTreeRegressor
    _parameters = parameters_for("regressor", BAGGING_PARAMETERS)

    def predict_trees(self, X: Any) -> Floats:
        """Return each estimator's prediction, shape (n_estimators, n_rows[, n_outputs])."""
        by_base_model: Floats = self._by_base_model(X)
        return by_base_model[:, :, 0] if self._number_outputs().is_single else by_base_model
