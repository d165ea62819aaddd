"""The base classes of all estimators: reading X, adopting the result of a fit, files, tags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if

from hedgerow._arguments import (
    IN_TABLE,
    add_argument_hints,
    attribute_hint,
    explain_arguments,
    explain_parameters,
    with_argument_hints,
)
from hedgerow._collective import workers
from hedgerow._contract import Internals, TableInternals
from hedgerow._data.binned_rows import TreeRows, rows_of, stored_rows
from hedgerow._data.binned_table import BinnedTable
from hedgerow._data.binning import Binner
from hedgerow._data.intake import Table, TableSchema, as_matrix, read_table
from hedgerow._data.names import COLUMN_NAMES, name_attributes
from hedgerow._data.outputs import ClassOutputs, NumberOutputs, one_or_list
from hedgerow._data.parquet_table import ParquetTable
from hedgerow._data.sparse import SparseLayouts, is_sparse
from hedgerow._data.target import columns_of, fit_columns, has_columns, read_weights
from hedgerow._params import Parameter, check_parameters
from hedgerow._threads import effective_n_jobs
from hedgerow._types import Floats, SklearnEstimator
from hedgerow._warning import warn_user
from hedgerow.exceptions import ParameterError

if TYPE_CHECKING:
    from hedgerow._export import ExportFormat
    from hedgerow._tree.additive import AdditiveTrees

S = TypeVar("S")
T = TypeVar("T", bound=np.generic)

# For fewer rows, determining the number of threads takes longer than predicting them.
FEW_ROWS = 32


class TableModel(Protocol):
    """The part of a fitted model that reading a table needs."""

    @property
    def schema(self) -> TableSchema:
        """Columns and categories of the table of `fit`."""

    @property
    def category_bins(self) -> list[Any]:
        """The bin of each category code, for each categorical feature."""


class BinnedModel(Protocol):
    """The part of a fitted model that reading a table in bins needs."""

    @property
    def schema(self) -> TableSchema:
        """Columns and categories of the table of `fit`."""

    @property
    def binner(self) -> Binner:
        """The bins that trees were grown on."""


def by_batch(compute: Callable[[S, Any], NDArray[T]]) -> Callable[[S, Any], NDArray[T]]:
    """Let a method that returns an array with an entry for each row take a `ParquetTable`."""

    @wraps(compute)
    def method(self: S, X: Any) -> NDArray[T]:
        if isinstance(X, ParquetTable):
            return X.computed(partial(compute, self), getattr(self, "verbose", 0))
        return compute(self, X)

    return method


class Estimator(BaseEstimator):
    """An estimator that declares its parameters and, once fitted, holds a model."""

    _parameters: ClassVar[tuple[Parameter, ...]]
    _can_be_additive: ClassVar[bool] = False  # whether a subclass defines `_additive_trees`
    _model: Any

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Explain arguments that the constructor of a user's subclass does not have."""
        explain_arguments(cls, args, kwargs)
        return super().__new__(cls)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Add suggestions to the errors of public methods about unknown arguments."""
        super().__init_subclass__(**kwargs)
        cls._can_be_additive = cls._additive_trees is not Estimator._additive_trees
        if cls.__module__.partition(".")[0] == __name__.partition(".")[0]:
            add_argument_hints(cls)

    @with_argument_hints
    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, as in scikit-learn; nested ones as ``component__parameter``."""
        explain_parameters(self, params)
        super().set_params(**params)
        return self

    if not TYPE_CHECKING:  # a type checker would take any attribute for granted

        def __getattr__(self, name: str) -> Any:
            why = None if name.startswith("_") else self._why_not(name)
            if why is None:
                return object.__getattribute__(self, name)  # which raises Python's own error
            raise AttributeError(why, name=name, obj=None)  # obj=None: Python adds no guess

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return state.copy()  # which no other thread changes

    def _why_not(self, name: str) -> str | None:
        """Return why an attribute is missing, or what to use instead, if that is known."""
        return attribute_hint(type(self), name)

    @with_argument_hints
    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file, which `hedgerow.load` reads."""
        from hedgerow import _model_file

        _model_file.save(self, path)

    @with_argument_hints
    def export(
        self,
        path: str | PathLike[str],
        format: ExportFormat | None = None,  # noqa: A002
        *,
        table: str | None = None,
        keep: Sequence[str] = (),
    ) -> None:
        """Write a fitted model in the format of another program.

        Gradient boosting, random forests, extra trees, decision trees, AdaBoost classifiers with
        the default trees and bagging of histogram-based trees can be exported; support vector
        machines and neighbours as ONNX. The exported model
        predicts the same as this one, bit for bit, with these exceptions: ONNX, SQL and AdaBoost
        agree up to rounding errors, XGBoost and models that were read from XGBoost up to rounding
        errors of float32.

        Parameters
        ----------
        path : str or path-like
            The file. An existing file is replaced once the new one is complete.
        format : {"c", "javascript", "lightgbm", "onnx", "python", "sql", "xgboost"}, optional
            The format; by default it follows from the extension of the path: .h (a header in C99
            that needs no library), .js or .mjs (a module), .onnx, .py (a module without imports),
            .sql (a query), .txt (LightGBM's text format, which many programs read), .xgb.json
            (XGBoost's JSON).
        table : str, optional
            For SQL: the name of the table with the rows to predict.
        keep : list of str, optional
            For SQL: columns of the table to include in the result next to the prediction, such as
            its key.

        Raises
        ------
        ExportError
            If the format cannot represent the model.
        """
        from hedgerow import _export

        _export.export(self, path, format, table=table, keep=keep)

    def __hedgerow__(self) -> Internals[Any]:
        """Return what other packages of the library may ask of the estimator."""
        return Internals(
            model=self._fitted_model,
            additive_trees=self._additive_trees,
            can_be_additive=self._can_be_additive,
            bins_tables=self._bins_tables,
        )

    def _fitted_model(self) -> Any:
        try:
            return self._model
        except AttributeError:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' first."
            ) from None

    @available_if(lambda self: self._can_be_additive)  # type: ignore[untyped-decorator]
    def trees_to_dataframe(self) -> Any:
        """Return the trees as a pandas DataFrame, a row for each node.

        The values of the nodes on a row's path that are leaves, plus a base score, add up to what
        the model predicts: scores of boosting, the mean of a forest.

        Returns
        -------
        DataFrame
            ``tree_index``; ``output``, to which the tree adds; ``node_index``, 0 for the root;
            ``node_depth``; ``parent_index``, ``left_child`` and ``right_child``, −1 if there is
            none; ``split_feature``, the column that is tested, and ``split_gain``; ``threshold``,
            up to which numbers go left, or ``categories``, the list of those that go left;
            ``missing_direction``, "left" or "right"; ``value``, or a column ``value_OUTPUT`` for
            each output; ``weight``, the weight of the training rows, in boosting the sum of their
            hessians; ``count``, their number.
        """
        from hedgerow._tree.frame import frame_of_trees

        return frame_of_trees(self)

    def _bins_tables(self) -> bool:
        """Return whether fits bin their tables, so that several can share a `BinnedTable` as X."""
        return False

    def _additive_trees(self) -> AdditiveTrees:
        """Return the fitted model as a sum of trees, for explanations."""
        self._fitted_model()
        raise ParameterError(
            f"{type(self).__name__} is not a sum of trees, which this explanation needs. For any "
            "model, use partial_dependence, accumulated_effects, interaction_strength or "
            "permutation_importance of hedgerow.explain."
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def _repr_html_inner(self) -> str:
        """Return what a notebook shows: a summary, if the estimator is fitted."""
        from hedgerow._notebook import summary

        html: str = summary(self) if self.__sklearn_is_fitted__() else super()._repr_html_inner()
        return html

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        if not self.__sklearn_is_fitted__() or get_config()["display"] != "diagram":
            bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
            return bundle
        return {"text/plain": repr(self), "text/html": self._repr_html_inner()}


class TableEstimator(Estimator):
    """An estimator that reads any table, with missing values and categorical features."""

    def __hedgerow__(self) -> TableInternals[Any]:
        """Return what other packages of the library may ask of the estimator."""
        return TableInternals(**vars(super().__hedgerow__()), read=self._read, matrix=self._matrix)

    def _read(self, X: Any, schema: TableSchema) -> Table:
        """Read a table according to the estimator's parameters."""
        return read_table(
            X,
            schema,
            unknown_category=self.unknown_category,
            estimator_name=type(self).__name__,
            verbose=self.verbose if hasattr(self, "verbose") else 0,
            n_jobs=self.n_jobs if hasattr(self, "n_jobs") else 1,
        )

    def _tree_rows(self, X: Any) -> TreeRows:
        """Read a table as `_matrix` does, unless it is sparse, or in files and shares its bins."""
        if isinstance(X, BinnedTable) and X.is_streamed:
            return self._rows_in_bins(X)
        stored = self._stored(X)
        return self._matrix(X) if stored is None else stored_rows(stored)

    def _stored(self, X: Any) -> SparseLayouts | None:
        """Read a sparse table whose columns are all numbers; return None for any other."""
        if isinstance(X, np.ndarray) or not is_sparse(X):
            return None
        return self._read(X, self._fitted_model().schema).sparse

    def _rows_in_bins(self, X: BinnedTable) -> TreeRows:
        model: BinnedModel = self._fitted_model()
        return rows_of(self._read(X, model.schema), model.binner)

    def _matrix(self, X: Any) -> NDArray[Any]:
        """Read a table into the matrix that thresholds and category sets refer to."""
        model: TableModel = self._fitted_model()
        return as_matrix(self._read(X, model.schema), model.category_bins)

    def _threads_for(self, rows: TreeRows) -> int:
        return 1 if len(rows) < FEW_ROWS else effective_n_jobs(self.n_jobs)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags


class LeafEstimator(TableEstimator):
    """A decision tree or a forest."""

    def fit(self, X: Any, y: Any = IN_TABLE, sample_weight: Any = None) -> Self:
        """Fit the model.

        If `fit` fails or is interrupted by Ctrl-C, the estimator is left unchanged.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            NumPy array, pandas, Polars or Arrow table, or SciPy sparse matrix. NaN, None and NA are
            missing values; strings and categories are categorical features. A `ParquetTable` is
            read from its files, a few columns at a time; a decision tree needs
            ``splitter="hist"`` for it.
        y : array of shape (n_rows,) or (n_rows, n_outputs)
            The target. Not needed if X is a `ParquetTable` that has one.
        sample_weight : array of shape (n_rows,), optional
            Sample weights, nonnegative and not all 0. Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        check_parameters(self)
        y, sample_weight, _ = fit_columns(X, y, sample_weight)
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit the model with checked parameters."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def adopt(estimator: Estimator, attributes: dict[str, Any]) -> None:
    """Make the estimator the result of a fit, in place of any earlier one.

    A fit computes everything first and calls this last, so one that fails or is interrupted leaves
    the estimator as it was.
    """
    kept = {name: value for name, value in vars(estimator).items() if not _is_fitted(name)}
    estimator.__dict__ = kept | attributes


def fitted_attributes(estimator: Estimator) -> dict[str, Any]:
    """Return what a fit has made of the estimator, for `adopt`."""
    return {name: value for name, value in vars(estimator).items() if _is_fitted(name)}


def _is_fitted(attribute: str) -> bool:
    return attribute in ("_model", COLUMN_NAMES) or (
        attribute.endswith("_") and not attribute.startswith("_")
    )


def column_attributes(schema: TableSchema) -> dict[str, Any]:
    """Return scikit-learn's attributes for the columns of a fitted table."""
    attributes: dict[str, Any] = {"n_features_in_": schema.n_features}
    return attributes | name_attributes(schema.feature_names)


def seed_nested(estimator: SklearnEstimator, stream: np.random.RandomState, high: int) -> Any:
    """Seed every random_state of an estimator and its nested estimators, with seeds below `high`.

    The order is that of scikit-learn, by name.
    """
    seeds = {
        name: int(stream.randint(high))
        for name in sorted(estimator.get_params(deep=True))
        if name.rpartition("__")[2] == "random_state"
    }
    return estimator.set_params(**seeds)


def seed_of(random_state: int | np.random.RandomState | None) -> int:
    """Return the seed of one fit with this `random_state`; all workers get that of the first."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        random_state = int(check_random_state(random_state).randint(2**31))
    return workers().objects(int(random_state))[0]


def model_to_continue(estimator: Any) -> Any:
    """Return the model of the last fit, if warm_start is set and there is one."""
    if not (estimator.warm_start and estimator.__sklearn_is_fitted__()):
        return None
    class_weight = getattr(estimator, "class_weight", None)
    if isinstance(class_weight, str):
        warn_user(
            f"class_weight={class_weight!r} with warm_start=True: each fit balances the classes "
            "of its own rows. If the rows differ between fits, pass the same weights to all of "
            "them, as a dict {class: weight}."
        )
    return estimator._model  # noqa: SLF001


def require_more(estimator: Any, n_done: int, unit: str) -> None:
    """Refuse to lose rounds or trees of the last fit; warn if there are none to add.

    `n_done` is the number of the last fit, `unit` the word for them: "rounds", "trees".
    """
    n_estimators = estimator.n_estimators
    if n_estimators < n_done:
        raise ParameterError(
            f"n_estimators={n_estimators} is less than the {n_done} {unit} of the fit that "
            "warm_start=True continues. Set at least as many, or warm_start=False to start again."
        )
    if n_estimators == n_done:
        warn_user(
            f"The last fit already has n_estimators={n_estimators} {unit}, so warm_start=True adds "
            "none: the model is unchanged. Set a larger n_estimators, or warm_start=False to fit "
            "to these rows."
        )


class ScoredClassifier(ClassifierMixin):
    """A classifier that is scored by its accuracy; several columns of y must all be right."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy; a row with several outputs counts if all are predicted correctly.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
            The test set.
        """
        return accuracy(y, self.predict(X), sample_weight)


def accuracy(y: Any, predicted: NDArray[Any], sample_weight: Any) -> float:
    """Return the weighted share of rows whose classes, in all columns, are predicted correctly."""
    # scikit-learn's accuracy supports only 0/1 columns, not strings or several classes.
    columns = [np.asarray(column) for column in columns_of(y)] if has_columns(y) else []
    if not columns or predicted.shape != (len(columns[0]), len(columns)):
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))
    is_right = [
        own.astype(predicted.dtype) == of for own, of in zip(columns, predicted.T, strict=True)
    ]
    weights = read_weights(sample_weight, len(predicted))
    return float(np.average(np.all(is_right, axis=0), weights=weights))


class LeafClassifier(ScoredClassifier):
    """A classifier that predicts by leaf values: a decision tree, a forest or bagging."""

    # Returns the leaf value of each row, or the mean over several models.
    _values: Callable[[Any], Floats]

    def _class_outputs(self) -> ClassOutputs:
        outputs: ClassOutputs = self._model.outputs
        return outputs

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class, shape (n_rows, n_classes), or a list.

        For a tree, this is the share of the class among the training rows of the leaf; for several
        models, it is their mean. The result is a list of such arrays if y is multi-output.
        """
        values = self._values(X)
        outputs = self._class_outputs()
        return one_or_list(outputs.probabilities(values), outputs)

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of the probabilities."""
        values = self._values(X)
        outputs = self._class_outputs()
        with np.errstate(divide="ignore"):
            logs = [np.log(p) for p in outputs.probabilities(values)]
        return one_or_list(logs, outputs)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row."""
        values = self._values(X)
        outputs = self._class_outputs()
        return outputs.labels(outputs.votes(values))


class LeafRegressor(RegressorMixin):
    """A regressor that predicts by leaf values: a decision tree, a forest or bagging."""

    # Returns the leaf value of each row, or the mean over several models.
    _values: Callable[[Any], Floats]

    def _number_outputs(self) -> NumberOutputs:
        outputs: NumberOutputs = self._model.outputs
        return outputs

    def predict(self, X: Any) -> Floats:
        """Return the value of each row's leaf, or the mean over several models.

        With several outputs there is a column for each.
        """
        means = self._values(X)
        return self._number_outputs().prediction(means)


for mixin in (LeafClassifier, LeafRegressor):  # which are not Estimators by themselves
    add_argument_hints(mixin)
