"""The estimators: an ensemble of different kinds of models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags, get_tags

from hedgerow._arguments import with_parameters
from hedgerow._contract import Internals
from hedgerow._data.intake import read_table
from hedgerow._data.outputs import ClassOutputs, NumberOutputs, Outputs
from hedgerow._data.pass_through import check_columns
from hedgerow._ensemble.fitting import fit_ensemble
from hedgerow._ensemble.model import EnsembleModel
from hedgerow._ensemble.parameters import ENSEMBLE_PARAMETERS, NAMED_ESTIMATORS
from hedgerow._estimator import Estimator, LeafClassifier, LeafRegressor, adopt
from hedgerow._params import check_parameters, parameters_for
from hedgerow._types import Floats, Indices


@dataclass(frozen=True)
class EnsembleInternals(Internals[EnsembleModel]):
    """What ensembles offer to other packages in addition.

    Attributes
    ----------
    predictions : function of a table
        Returns what each model predicts, (n_rows, n_values), as the outputs store it.
    """

    predictions: Callable[[Any], list[Floats]]


class ModelEnsemble(Estimator):
    """Base class of the two estimators."""

    _attribute_docs: ClassVar = {
        "ensemble": """
            {columns}
            members_ : EnsembleMembers
                The candidates with their weights, out-of-fold losses and times.
            estimators_ : list of estimators
                The fitted models of the members: for each member, the models of the folds, then the
                model of all rows, depending on ``refit``. SVMs and neighbours of the default
                candidates are fitted to an encoded table.
            estimators_samples_ : list of arrays
                The rows that each of these models was fitted to.
            estimator_weights_ : array
                The weights of these models, which add up to 1.
            """
    }

    _outputs: ClassVar[type[Outputs]]
    _model: EnsembleModel

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit the candidates to the folds of a cross-validation, and select the members.

        If `fit` fails or is interrupted by Ctrl-C, the estimator is left unchanged.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            NumPy array, pandas, Polars or Arrow table, or SciPy sparse matrix. NaN, None and NA are
            missing values; strings and categories are categorical features. With ``estimators``,
            any table that these support.
        y : array of shape (n_rows,)
            The target.
        sample_weight : array of shape (n_rows,), optional
            Sample weights, nonnegative and not all 0. Rows of weight 0 are left out.
        groups : array of shape (n_rows,), optional
            Groups of rows that are kept in the same fold.

        Returns
        -------
        self
        """
        check_parameters(self)
        adopt(self, fit_ensemble(self, self._outputs, X, y, sample_weight, groups))
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with `deep` also candidates and their parameters."""
        params: dict[str, Any] = super().get_params(deep=False)
        if deep:
            for name, estimator in self._candidates():
                nested = estimator.get_params(deep=True).items()
                params |= {name: estimator} | {f"{name}__{own}": value for own, value in nested}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, including those of candidates.

        ``name`` replaces the candidate of that name; ``name__parameter`` sets its parameter.
        """
        own = {name: value for name, value in params.items() if name == "estimators"}
        super().set_params(**own)
        candidates = self._candidates()
        for key, value in params.items():
            name, _, nested = key.partition("__")
            if name not in dict(candidates):
                super().set_params(**{key: value})
            elif nested:
                dict(candidates)[name].set_params(**{nested: value})
            else:
                candidates = [(n, value if n == name else each) for n, each in candidates]
                super().set_params(estimators=candidates)
        return self

    def _candidates(self) -> list[tuple[str, Any]]:
        """Return the user's candidates, if `estimators` is a valid list of them."""
        return list(self.estimators) if self.estimators in NAMED_ESTIMATORS else []

    @property
    def estimators_(self) -> list[Any]:
        """The fitted models of the members."""
        return [member.base_models[index] for member, index in self._fitted_model().each()]

    @property
    def estimators_samples_(self) -> list[Indices]:
        """The rows that each model was fitted to."""
        samples: list[Indices] = self._fitted_model().samples()
        return samples

    @property
    def estimator_weights_(self) -> Floats:
        """The weights of the models."""
        weights: Floats = self._fitted_model().weights()
        return weights

    def __hedgerow__(self) -> EnsembleInternals:
        """Return what other packages of the library may ask of the estimator."""
        return EnsembleInternals(**vars(super().__hedgerow__()), predictions=self._by_base_model)

    def _encode(self, X: Any) -> Floats:
        """Return the matrix of a table for members that need one."""
        model = self._fitted_model()
        table = read_table(X, model.schema, estimator_name=type(self).__name__, n_jobs=self.n_jobs)
        matrix: Floats = model.encoder.encode(table)
        return matrix

    def _values(self, X: Any) -> Floats:
        """Return the weighted mean of the members, (n_rows, n_values)."""
        model = self._fitted_model()
        X = check_columns(self, X)
        if X.shape[0] == 0:  # not every estimator accepts an empty table
            return np.zeros((0, model.outputs.n_values))
        values: Floats = model.mean(X, self._encode)
        return values

    def _by_base_model(self, X: Any) -> list[Floats]:
        """Return the predictions of each model, as the outputs store them."""
        return list(self._fitted_model().predictions(check_columns(self, X), self._encode))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.estimators is None:
            tags.input_tags.allow_nan = True
            tags.input_tags.categorical = True
            tags.input_tags.string = True
            tags.input_tags.sparse = True
        else:
            of_each = [get_tags(estimator).input_tags for _, estimator in self._candidates()]
            tags.input_tags.allow_nan = all(of.allow_nan for of in of_each)
            tags.input_tags.sparse = all(of.sparse for of in of_each)
        return tags


@with_parameters
class EnsembleClassifier(LeafClassifier, ModelEnsemble):
    """Ensemble of classifiers of different kinds, selected and weighted by cross-validation.

    Boosted trees, forests, extra trees, support vector machines and nearest neighbours make
    different errors, so their mean is usually better than the best of them. Every candidate is
    fitted to the folds of a cross-validation. Greedy selection (Caruana et al., 2004) then finds
    weights that give the mean of the out-of-fold probabilities a small log loss. The less
    certain the gain is, the more of the weight goes to boosted trees (or to the best of your own
    candidates) instead. SVMs and neighbours get scaled numbers and one-hot categories;
    probabilities of SVMs come from Platt scaling of out-of-fold decision values.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {outputs}
    {ensemble}
    oof_decision_function_ : array of shape (n_rows, n_classes)
        Out-of-fold probabilities of the training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hedgerow import EnsembleClassifier, KNeighborsClassifier, RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> candidates = [("forest", RandomForestClassifier()), ("knn", KNeighborsClassifier())]
    >>> model = EnsembleClassifier(candidates).fit(X, y)
    >>> model.predict(X[:3])
    array([0, 0, 0])
    """

    _outputs = ClassOutputs
    _parameters = parameters_for("classifier", ENSEMBLE_PARAMETERS)

    def predict_trees(self, X: Any) -> NDArray[np.int32]:
        """Return each model's vote, as an index of ``classes_``, shape (n_models, n_rows)."""
        by_model = self._by_base_model(X)
        outputs = self._class_outputs()
        return np.stack([outputs.votes(values)[:, 0] for values in by_model])


@with_parameters
class EnsembleRegressor(LeafRegressor, ModelEnsemble):
    """Ensemble of regressors of different kinds, selected and weighted by cross-validation.

    Boosted trees, forests, extra trees, support vector machines and nearest neighbours make
    different errors, so their mean is usually better than the best of them. Every candidate is
    fitted to the folds of a cross-validation. Greedy selection (Caruana et al., 2004) then finds
    weights that give the mean of the out-of-fold predictions a small squared error. The less
    certain the gain is, the more of the weight goes to boosted trees (or to the best of your own
    candidates) instead. SVMs and neighbours get scaled numbers and one-hot categories.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_outputs_ : int
        Number of outputs: 1.
    {ensemble}
    oof_prediction_ : array of shape (n_rows,)
        Out-of-fold predictions of the training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from hedgerow import EnsembleRegressor, ExtraTreesRegressor, LinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> candidates = [("trees", ExtraTreesRegressor()), ("linear", LinearSVR(C=100.0))]
    >>> bool(EnsembleRegressor(candidates).fit(X, y).score(X, y) > 0.5)
    True
    """

    _outputs = NumberOutputs
    _parameters = parameters_for("regressor", ENSEMBLE_PARAMETERS)

    def predict_trees(self, X: Any) -> Floats:
        """Return each model's prediction, shape (n_models, n_rows)."""
        return np.stack([values[:, 0] for values in self._by_base_model(X)])
