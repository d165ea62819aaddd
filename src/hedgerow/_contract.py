"""The interface of estimators for other packages of the library, beyond the public methods.

The protocols describe estimators of any library. Estimators of this library also return their
`internals`: explanations, plots, theory, reports, validation, model files and the command line
work on fitted models, and need the model itself, or a table as its trees read it. A family with
more to offer returns a subclass of `Internals` from `__hedgerow__`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from numpy.typing import NDArray

from hedgerow._data.table import Table, TableSchema

if TYPE_CHECKING:
    from hedgerow._tree.additive import AdditiveTrees

M = TypeVar("M")
I_co = TypeVar("I_co", covariant=True)
I_any = TypeVar("I_any")


class Predictor(Protocol):
    """A fitted model of this library or another: an estimator, a pipeline, a search."""

    def predict(self, X: Any) -> Any:
        """Return a class or number for each row."""


class HasInternals(Protocol[I_co]):
    """An estimator of this library."""

    def __hedgerow__(self) -> I_co:
        """Return what other packages of the library may use."""


def internals(estimator: HasInternals[I_any]) -> I_any:
    """Return the part of an estimator that other packages of the library may use."""
    return estimator.__hedgerow__()


@dataclass(frozen=True)
class Internals(Generic[M]):
    """What every estimator offers to other packages of the library.

    Attributes
    ----------
    model : function
        Returns the fitted model; raises scikit-learn's `NotFittedError` before `fit`.
    additive_trees : function
        Returns the fitted model as a sum of trees; raises `ParameterError` if it is not one.
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
    """What estimators that read tables with categorical features offer in addition.

    Attributes
    ----------
    read : function of a table and a schema
        Returns the table column by column, read according to the estimator's parameters.
    matrix : function of a table
        Returns the matrix of floats that thresholds and category sets of the trees refer to.
    """

    read: Callable[[Any, TableSchema], Table]
    matrix: Callable[[Any], NDArray[Any]]
