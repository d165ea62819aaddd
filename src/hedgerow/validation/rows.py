"""The rows of a cross-validation: checked, parted into folds, and handed out fold by fold."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from hedgerow.data.binned_table import BinnedTable, share_bins
from hedgerow.data.binning import Binner
from hedgerow.data.intake import learn_schema
from hedgerow.data.target import read_weights
from hedgerow.estimator import seed_of
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.params import check_parameters
from hedgerow.threads import effective_n_jobs

Indices = NDArray[np.intp]


class Rows:
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
        self.model, self.X, self.y, self.groups, self.params = model, X, y, groups, params
        self.n_rows = _num_samples(X)
        for name, given in (("y", y), ("groups", groups)):
            if given is not None and _num_samples(given) != self.n_rows:
                raise DataError(f"X has {self.n_rows} rows, but {name} has {_num_samples(given)}.")
        self.weights = read_weights(sample_weight, self.n_rows)
        if self.weights is not None and not self._fit_takes("sample_weight"):
            raise ParameterError(
                f"sample_weight: fit of {type(model).__name__} takes none. Of a pipeline, give "
                "that of a step as params={'step__sample_weight': …}."
            )
        self._table: BinnedTable | None = None

    def _fit_takes(self, name: str) -> bool:
        return name in signature(self.model.fit).parameters

    @property
    def has_several_targets(self) -> bool:
        """Whether y has columns."""
        return self.y is not None and np.ndim(self.y) > 1

    def split(self, cv: Any) -> list[tuple[Indices, Indices]]:
        """Return the rows of each fold: to fit to, and to hold out."""
        target = None if self.y is None else np.asarray(self.y)
        groups = None if self.groups is None else np.asarray(self.groups)
        everything = np.arange(self.n_rows)
        try:
            splitter = check_cv(cv, target, classifier=is_classifier(self.model))
            splits = [
                (everything[train], everything[held_out])
                for train, held_out in splitter.split(everything, target, groups)
            ]
        except (ValueError, IndexError) as error:
            raise ParameterError(f"cv: {error}") from error
        if not splits:
            raise ParameterError(f"cv={cv!r} has no folds.")
        for number, split in enumerate(splits, 1):
            if not all(map(len, split)):
                raise ParameterError(f"cv: fold {number} has no rows to fit to, or holds none out.")
        return splits

    def bin_once(self) -> None:
        """Read the table and learn its bins, for all folds."""
        model = self.model
        check_parameters(model)
        schema, table = learn_schema(self.X, model.categorical_features)
        binner = Binner(
            max_bins=model.max_bins,
            subsample_for_bin=model.subsample_for_bin,
            seed=seed_of(model.random_state),
        )
        threads = effective_n_jobs(model.n_jobs)
        self._table = share_bins(schema, table, binner, self.weights, threads)

    def table(self, rows: Indices) -> Any:
        """Return some rows of the table, in bins if these are shared."""
        return self.raw_table(rows) if self._table is None else self._table.take(rows)

    def raw_table(self, rows: Indices) -> Any:
        """Return some rows of the table as it came."""
        return _taken(self.X, rows)

    def y_of(self, rows: Indices) -> Any:
        """Return some rows' targets as they came."""
        return None if self.y is None else _taken(self.y, rows)

    def weights_of(self, rows: Indices) -> NDArray[np.float64] | None:
        """Return some rows' weights."""
        return None if self.weights is None else self.weights[rows]

    def options_of(self, rows: Indices) -> dict[str, Any]:
        """Return what `fit` gets beside X and y, for some rows."""
        options = {
            name: _taken(value, rows) if self._is_by_row(value) else value
            for name, value in self.params.items()
        }
        if self.weights is not None:
            options["sample_weight"] = self.weights_of(rows)
        if self.groups is not None and self._fit_takes("groups"):
            options["groups"] = _taken(self.groups, rows)
        return options

    def _is_by_row(self, value: Any) -> bool:
        if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__len__"):
            return False
        return bool(_num_samples(value) == self.n_rows)


def _taken(array: Any, rows: Indices) -> Any:
    """Return some rows of an array, table or list, as the same kind of thing."""
    native = nw.from_native(array, allow_series=True, pass_through=True)
    if isinstance(native, nw.DataFrame | nw.Series):
        return native[rows].to_native()
    return _safe_indexing(array, rows)
