"""The base classes of all estimators: reading X, adopting the result of a fit, files, tags."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags, check_random_state

from hedgerow._arguments import (
    about_attribute,
    answering,
    explain_arguments,
    explain_parameters,
    let_methods_answer,
)
from hedgerow._contract import Internals, TableInternals
from hedgerow._data.intake import Table, TableSchema, as_matrix, read_table
from hedgerow._data.names import COLUMN_NAMES, name_attributes
from hedgerow._params import Parameter
from hedgerow._threads import effective_n_jobs
from hedgerow.exceptions import ParameterError

if TYPE_CHECKING:
    from hedgerow._tree.additive import AdditiveTrees

# Below this, finding out how many threads there may be takes longer than the rows do.
FEW_ROWS = 32


class TableModel(Protocol):
    """What a fit leaves behind, as far as reading a table for it goes."""

    @property
    def schema(self) -> TableSchema:
        """Columns and categories of the table of `fit`."""

    @property
    def category_bins(self) -> list[Any]:
        """Of each categorical feature, the bin of each category code."""


class Estimator(BaseEstimator):
    """An estimator that declares its parameters and, once fitted, holds a model."""

    _parameters: ClassVar[tuple[Parameter, ...]]
    _model: Any

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Explain arguments that the constructor of a user's subclass does not have."""
        explain_arguments(cls, args, kwargs)
        return super().__new__(cls)

    def __init_subclass__(cls, **named: Any) -> None:
        """Let methods suggest the right name for arguments that they do not take."""
        super().__init_subclass__(**named)
        if cls.__module__.partition(".")[0] == __name__.partition(".")[0]:
            let_methods_answer(cls)

    @answering
    def set_params(self, **params: Any) -> Self:
        """Set parameters, as in scikit-learn; ``<component>__<parameter>`` those of a part."""
        explain_parameters(self, params)
        super().set_params(**params)
        return self

    if not TYPE_CHECKING:  # else any attribute would seem to be there

        def __getattr__(self, name: str) -> Any:
            why = None if name.startswith("_") else self._why_not(name)
            if why is None:
                return object.__getattribute__(self, name)  # which raises again, in its own words
            raise AttributeError(why, name=name, obj=None)  # without a guess of Python's behind it

    def _why_not(self, name: str) -> str | None:
        """Return why an attribute is missing, or what to use instead, if there is an answer."""
        return about_attribute(type(self), name)

    @answering
    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file, which `hedgerow.load` reads."""
        from hedgerow import _model_file

        _model_file.save(self, path)

    def __hedgerow__(self) -> Internals[Any]:
        """Return what other packages of the library may ask of the estimator."""
        return Internals(
            model=self._fitted_model,
            additive_trees=self._additive_trees,
            can_be_additive=type(self)._additive_trees is not Estimator._additive_trees,  # noqa: SLF001
            bins_tables=self._bins_tables,
        )

    def _fitted_model(self) -> Any:
        try:
            return self._model
        except AttributeError:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' first."
            ) from None

    def _bins_tables(self) -> bool:
        """Return whether fits bin their tables, so that several can share a `BinnedTable` as X."""
        return False

    def _additive_trees(self) -> AdditiveTrees:
        """Return the fitted model as a sum of trees, for explanations."""
        self._fitted_model()
        raise ParameterError(
            f"{type(self).__name__} is no sum of Hedgerow's trees, which is what can be explained "
            "exactly. Any model can be given to partial_dependence, accumulated_effects, "
            "interaction_strength and permutation_importance of hedgerow.explain."
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
        name, unknown = type(self).__name__, self.unknown_category
        return read_table(X, schema, unknown_category=unknown, estimator_name=name)

    def _matrix(self, X: Any) -> NDArray[Any]:
        """Read a table into the matrix that thresholds and category sets refer to."""
        model: TableModel = self._fitted_model()
        return as_matrix(self._read(X, model.schema), model.category_bins)

    def _threads_for(self, rows: NDArray[Any]) -> int:
        return 1 if len(rows) < FEW_ROWS else effective_n_jobs(self.n_jobs)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags


def adopt(estimator: Estimator, attributes: dict[str, Any]) -> None:
    """Make the estimator the result of a fit, in place of any earlier one.

    A fit computes everything first and calls this last, so one that fails or is interrupted leaves
    the estimator as it was.
    """
    kept = {name: value for name, value in vars(estimator).items() if not _is_fitted(name)}
    estimator.__dict__ = kept | attributes


def _is_fitted(attribute: str) -> bool:
    return attribute in ("_model", COLUMN_NAMES) or (
        attribute.endswith("_") and not attribute.startswith("_")
    )


def column_attributes(schema: TableSchema) -> dict[str, Any]:
    """Return scikit-learn's attributes about the columns that a fit saw."""
    attributes: dict[str, Any] = {"n_features_in_": schema.n_features}
    return attributes | name_attributes(schema.feature_names)


def seed_of(random_state: int | np.random.RandomState | None) -> int:
    """Return the seed that a `random_state` means for one fit."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(2**31))
    return int(random_state)
