"""What packages of the library ask of an estimator, beyond the methods that users call.

Of an estimator of any library they ask what the protocols below name. Of one of this library they
ask `internals`: explanations, plots, theory, reports, validation, model files and the command line
all work on fitted models, and need the model itself, or a table as its trees see it. Families
return a class of their own from `__hedgerow__` where they have more to offer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from numpy.typing import NDArray

from hedgerow._data.schema import TableSchema
from hedgerow._data.table import Table

if TYPE_CHECKING:
    from hedgerow._tree.additive import AdditiveTrees

M = TypeVar("M")
I_co = TypeVar("I_co", covariant=True)
I_any = TypeVar("I_any")


class SklearnEstimator(Protocol):
    """An estimator in scikit-learn's sense, of this library or another: parameters, and a fit."""

    def fit(self, X: Any, y: Any) -> Any:
        """Fit the estimator to a table and its target."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's parameters by name."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""


class Predictor(Protocol):
    """A fitted model of this library or another: an estimator, a pipeline, a search."""

    def predict(self, X: Any) -> Any:
        """Return a class or number for each row."""


class HasInternals(Protocol[I_co]):
    """An estimator of this library."""

    def __hedgerow__(self) -> I_co:
        """Return what other packages may ask of the estimator."""


def internals(estimator: HasInternals[I_any]) -> I_any:
    """Return the part of an estimator that other packages of the library may use."""
    return estimator.__hedgerow__()


@dataclass(frozen=True)
class Internals(Generic[M]):
    """What every estimator of the library offers to its other packages.

    Attributes
    ----------
    model : function
        Returns what `fit` learned; raises scikit-learn's `NotFittedError` before it.
    additive_trees : function
        Returns the fitted model as a sum of trees; raises `ParameterError` if it is none.
    can_be_additive : bool
        Whether models of this kind can be sums of trees.
    bins_tables : function
        Returns whether fits bin their tables, so that several can share a `BinnedTable` as X.
    """

    model: Callable[[], M]
    additive_trees: Callable[[], AdditiveTrees]
    can_be_additive: bool
    bins_tables: Callable[[], bool]


@dataclass(frozen=True)
class TableInternals(Internals[M]):
    """What estimators offer that read tables of numbers and categories.

    Attributes
    ----------
    read : function of a table and a schema
        Returns the table column by column, as the estimator's parameters have it.
    matrix : function of a table
        Returns it as the fitted trees see it: the matrix that thresholds and category sets are of.
    """

    read: Callable[[Any, TableSchema], Table]
    matrix: Callable[[Any], NDArray[Any]]
