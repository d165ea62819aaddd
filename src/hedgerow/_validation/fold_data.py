"""The rows of a cross-validation: checked once, and handed out fold by fold."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from hedgerow._contract import internals
from hedgerow._data.binned_table import BinnedTable, share_bins
from hedgerow._data.binning import Binner
from hedgerow._data.frames import with_usual_columns
from hedgerow._data.intake import learn_schema
from hedgerow._data.sparse import sound, sound_rows
from hedgerow._data.target import read_weights
from hedgerow._estimator import Estimator, seed_of
from hedgerow._threads import effective_n_jobs
from hedgerow._types import Indices
from hedgerow.exceptions import DataError, ParameterError


class FoldData:
    """All that was given with the model, row by row."""

    def __init__(
        self,
        model: Any,
        X: Any,
        y: Any,
        groups: Any,
        sample_weight: Any,
        params: Mapping[str, Any],
    ) -> None:
        self.model, self.X, self.y, self.groups = model, sound_rows(X), sound(y, "y"), groups
        self.params = {name: sound(value, name) for name, value in params.items()}
        self.n_rows = _count("X", X)
        for name, given in (("y", y), ("groups", groups)):
            if given is not None:
                require_rows(name, given, self.n_rows)
        self.weights = read_weights(sample_weight, self.n_rows)
        if self.weights is not None and not self._fit_takes("sample_weight"):
            raise ParameterError(
                f"sample_weight: fit of {type(model).__name__} takes none. Of a pipeline, give "
                "that of a step as params={'step__sample_weight': …}."
            )
        self._check_params()
        self._shared: BinnedTable | None = None

    def _fit_takes(self, name: str) -> bool:
        return name in signature(self.model.fit).parameters

    def _check_params(self) -> None:
        """Refuse what `fit` would not take, or what folds would take from each other."""
        parameters = signature(self.model.fit).parameters.values()
        takes_any = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters)
        for name in self.params:
            if not (takes_any or self._fit_takes(name)):
                raise ParameterError(
                    f"params: fit of {type(self.model).__name__} takes no {name!r}."
                )
        for name, given in (("sample_weight", self.weights), ("groups", self.groups)):
            if given is not None and name in self.params:
                raise ParameterError(f"{name} is given twice: as it is and in params.")
        if self.params.get("checkpoint") is not None:
            raise ParameterError(
                "params: folds would overwrite each other's checkpoint. Fit them one by one, or "
                "without."
            )

    @property
    def has_several_targets(self) -> bool:
        """Whether y has columns."""
        return self.y is not None and np.ndim(self.y) > 1

    def share_bins(self) -> None:
        """Read the table and learn its bins once for all folds, if the model can use that."""
        is_ours = isinstance(self.model, Estimator) and internals(self.model).bins_tables()
        if not is_ours or self.params.get("init_model") is not None:  # which has bins of its own
            return
        model = clone(self.model)  # whose random stream may be drawn from
        schema, table = learn_schema(self.X, model.categorical_features)
        binner = Binner(
            max_bins=model.max_bins,
            subsample_for_bin=model.subsample_for_bin,
            seed=seed_of(model.random_state),
        )
        threads = effective_n_jobs(model.n_jobs)
        self._shared = share_bins(schema, table, binner, self.weights, threads)

    def tables(self, train: Indices, holdout: Indices) -> tuple[Any, Any]:
        """Return the table to fit to and that to hold out, in shared bins if there are any.

        A fold that lacks a category shares nothing: its model must not know of it.
        """
        if self._shared is not None:
            shared = self._shared.take(train)
            if shared.has_every_category():
                return shared, self._shared.take(holdout)
        return self.raw_table(train), self.raw_table(holdout)

    def raw_table(self, rows: Indices) -> Any:
        """Return some rows of the table as it came."""
        return take_rows(self.X, rows)

    def y_of(self, rows: Indices) -> Any:
        """Return some rows' targets as they came."""
        return None if self.y is None else take_rows(self.y, rows)

    def weights_of(self, rows: Indices) -> NDArray[np.float64] | None:
        """Return some rows' weights."""
        return None if self.weights is None else self.weights[rows]

    def options_of(self, rows: Indices) -> dict[str, Any]:
        """Return what `fit` gets beside X and y, for some rows."""
        options = {
            name: take_rows(value, rows) if self._is_by_row(value) else value
            for name, value in self.params.items()
        }
        if self.weights is not None:
            options["sample_weight"] = self.weights_of(rows)
        if self.groups is not None and self._fit_takes("groups"):
            options["groups"] = take_rows(self.groups, rows)
        return options

    def _is_by_row(self, value: Any) -> bool:
        if isinstance(value, str | bytes | Mapping):
            return False
        try:
            return bool(_num_samples(value) == self.n_rows)
        except TypeError:  # a number, a model, …
            return False


def _count(name: str, given: Any) -> int:
    try:
        return int(_num_samples(given))
    except TypeError as error:
        raise DataError(f"{name} has no rows: {error}") from error


def require_rows(name: str, given: Any, n_rows: int) -> None:
    """Raise unless something that was given under a name has as many rows as X."""
    found = _count(name, given)
    if found != n_rows:
        raise DataError(f"X has {n_rows} rows, but {name} has {found}.")


def take_rows(array: Any, rows: Indices) -> Any:
    """Return some rows of an array, table or list, as the same kind of thing."""
    if isinstance(array, np.ndarray):
        return array[rows]
    native = nw.from_native(with_usual_columns(array), allow_series=True, pass_through=True)
    if isinstance(native, nw.DataFrame | nw.Series):
        return native[rows].to_native()
    return _safe_indexing(array, rows)
