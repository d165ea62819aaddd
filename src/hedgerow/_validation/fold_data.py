"""The data of a cross-validation, checked once and selected fold by fold, and its splits."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils.validation import _num_samples

from hedgerow._contract import internals
from hedgerow._data.binned_table import BinnedTable, share_bins
from hedgerow._data.binning import Binner
from hedgerow._data.intake import learn_schema
from hedgerow._data.parquet_table import ParquetTable
from hedgerow._data.pass_through import take_rows
from hedgerow._data.ranking_queries import read_group_sizes, split_column
from hedgerow._data.sparse import sound, sound_rows
from hedgerow._data.target import read_weights
from hedgerow._estimator import Estimator, seed_of
from hedgerow._params import short_repr
from hedgerow._threads import effective_n_jobs
from hedgerow._types import Indices
from hedgerow.exceptions import DataError, ParameterError

Split = tuple[Indices, Indices]


class FoldData:
    """The arguments of a cross-validation that have an entry for each row."""

    def __init__(
        self,
        model: Any,
        X: Any,
        y: Any,
        groups: Any,
        sample_weight: Any,
        offset: Any,
        params: Mapping[str, Any],
    ) -> None:
        self.model, self.X, self.y, self.groups = model, sound_rows(X), sound(y, "y"), groups
        self.params = {name: sound(value, name) for name, value in params.items()}
        self.n_rows = count_rows("X", X)
        for name, values in (("y", y), ("groups", groups)):
            if values is not None:
                require_rows(name, values, self.n_rows)
        self.weights = read_weights(sample_weight, self.n_rows)
        if self.weights is not None and not self._fit_accepts("sample_weight"):
            raise ParameterError(
                f"sample_weight: fit of {type(model).__name__} does not accept it. For a step of a "
                "pipeline, pass params={'step__sample_weight': …}."
            )
        self.offset = offset
        if offset is not None:
            require_rows("offset", offset, self.n_rows)
            if not self._fit_accepts("offset"):
                raise ParameterError(
                    f"offset: fit of {type(model).__name__} does not accept it; gradient boosting "
                    "does."
                )
        self._check_params()
        self._shared: BinnedTable | None = None

    def _fit_accepts(self, name: str) -> bool:
        return name in signature(self.model.fit).parameters

    def _check_params(self) -> None:
        """Refuse arguments that `fit` does not accept, or that folds cannot share."""
        parameters = signature(self.model.fit).parameters.values()
        accepts_any = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters)
        for name in self.params:
            if not (accepts_any or self._fit_accepts(name)):
                raise ParameterError(
                    f"params: fit of {type(self.model).__name__} does not accept {name!r}."
                )
        by_row = {"sample_weight": self.weights, "groups": self.groups, "offset": self.offset}
        for name, values in by_row.items():
            if values is not None and name in self.params:
                raise ParameterError(f"{name} is passed twice: as an argument and in params.")
        if self.params.get("offset") is not None:
            raise ParameterError(
                "params: pass the offset as cross_validate(…, offset=…), which predictions need."
            )
        if self.params.get("checkpoint") is not None:
            raise ParameterError(
                "params: a checkpoint is not allowed, because folds would overwrite it."
            )

    @property
    def has_several_targets(self) -> bool:
        """Whether y has columns."""
        return self.y is not None and np.ndim(self.y) > 1

    def share_bins(self) -> None:
        """Read and bin the table once for all folds, if the model can use that."""
        is_ours = isinstance(self.model, Estimator) and internals(self.model).bins_tables()
        if not is_ours or self.params.get("init_model") is not None:  # which has its own bins
            return
        model = clone(self.model)  # whose random state may be advanced
        verbose = getattr(model, "verbose", 0)
        schema, table = learn_schema(
            self.X, model.categorical_features, streams=True, verbose=verbose
        )
        binner = Binner(
            max_bins=model.max_bins,
            subsample_for_bin=model.subsample_for_bin,
            seed=seed_of(model.random_state),
        )
        threads = effective_n_jobs(model.n_jobs)
        self._shared = share_bins(schema, table, binner, self.weights, threads)

    def tables(self, train: Indices, holdout: Indices) -> tuple[Any, Any]:
        """Return the tables of training set and holdout, binned if bins are shared.

        A training set that lacks a category does not share bins: its model must not know it.
        """
        if self._shared is not None:
            shared = self._shared.take(train)
            if shared.has_every_category():
                return shared, self._shared.take(holdout)
        return self.raw_table(train), self.raw_table(holdout)

    def raw_table(self, rows: Indices) -> Any:
        """Return some rows of the original table."""
        return take_rows(self.X, rows)

    def y_of(self, rows: Indices) -> Any:
        """Return the original targets of some rows."""
        return None if self.y is None else take_rows(self.y, rows)

    def weights_of(self, rows: Indices) -> NDArray[np.float64] | None:
        """Return the weights of some rows."""
        return None if self.weights is None else self.weights[rows]

    def offset_of(self, rows: Indices) -> Any:
        """Return the offset of some rows."""
        return None if self.offset is None else take_rows(self.offset, rows)

    def eval_set(self, rows: Indices, table: Any) -> tuple[Any, ...]:
        """Return some rows as an evaluation set, without the columns at its end that are absent."""
        if self.offset is not None:
            return table, self.y_of(rows), self.weights_of(rows), self.offset_of(rows)
        if self.weights is not None:
            return table, self.y_of(rows), self.weights_of(rows)
        return table, self.y_of(rows)

    def options_of(self, rows: Indices) -> dict[str, Any]:
        """Return the arguments of `fit` besides X and y, for some rows."""
        options = {
            name: take_rows(value, rows) if self._is_by_row(value) else value
            for name, value in self.params.items()
        }
        if self.weights is not None:
            options["sample_weight"] = self.weights_of(rows)
        if self.offset is not None:
            options["offset"] = self.offset_of(rows)
        if self.groups is not None and self._fit_accepts("groups"):
            options["groups"] = take_rows(self.groups, rows)
        return options

    def _is_by_row(self, value: Any) -> bool:
        if isinstance(value, str | bytes | Mapping):
            return False
        try:
            return bool(_num_samples(value) == self.n_rows)
        except TypeError:  # a number, a model, …
            return False


def with_queries(
    model: Any, X: Any, qid: Any, groups: Any, params: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Return the groups of rows and the arguments of `fit`, with queries if it accepts them."""
    options, name = dict(params), type(model).__name__
    if "qid" not in signature(model.fit).parameters:
        if qid is not None:
            raise ParameterError(f"qid: fit of {name} does not accept it.")
        return groups, options
    if options.get("group") is not None:  # sizes, which cannot be split by rows
        options["qid"] = read_group_sizes(options.pop("group"))
    if qid is not None and options.get("qid") is not None:
        raise ParameterError("qid is passed twice: as an argument and in params.")
    if qid is not None:
        options["qid"] = qid
    queries, column = options.get("qid"), getattr(model, "qid_column", None)
    if column is not None:
        queries = split_column(X, column)[0]
    if queries is None:
        raise DataError(
            f"{name} needs the query of each row: cross_validate(model, X, y, qid=qid)."
        )
    return queries if groups is None else groups, options


def count_rows(name: str, values: Any) -> int:
    """Return the number of rows of an argument."""
    try:
        return int(_num_samples(values))
    except TypeError as error:
        raise DataError(f"{name} has no rows: it is {short_repr(values)}.") from error


def require_rows(name: str, values: Any, n_rows: int) -> None:
    """Raise unless an argument has as many rows as X."""
    count = count_rows(name, values)
    if count != n_rows:
        raise DataError(f"X has {n_rows} rows, but {name} has {count}.")


def split_rows(cv: Any, X: Any, y: Any, groups: Any, *, n_rows: int, stratify: bool) -> list[Split]:
    """Return the rows of each fold: training set and holdout."""
    if isinstance(cv, type):
        raise ParameterError(f"cv={cv.__name__} is a class; write cv={cv.__name__}().")
    target = None if y is None else np.asarray(y)
    groups = None if groups is None else np.asarray(groups)
    everything = np.arange(n_rows)
    try:
        splitter = _splitter(cv, target, stratify, keep_groups=groups is not None)
        splits = [
            (everything[train], everything[holdout])
            for train, holdout in splitter.split(
                everything if isinstance(X, ParquetTable) else X, target, groups
            )
        ]
    except (ValueError, IndexError) as error:
        raise ParameterError(f"cv: {error}") from error
    if not splits:
        raise ParameterError(f"cv={cv!r} has no folds.")
    for number, split in enumerate(splits, 1):
        if not all(map(len, split)):
            raise ParameterError(f"cv: the training set or the test set of fold {number} is empty.")
    return splits


def _splitter(cv: Any, target: Any, stratify: bool, *, keep_groups: bool) -> Any:
    """Return scikit-learn's splitter for `cv`; for a number, one that keeps groups together."""
    is_number = cv is None or isinstance(cv, int | np.integer)
    if is_number and cv is not None and cv < 2:
        raise ParameterError(
            f"{cv!r} is not a number of folds: it must be at least 2, such as cv=5. For a single "
            "test set, write cv=ShuffleSplit(1, test_size=0.2)."
        )
    splitter = check_cv(cv, target, classifier=stratify)
    if not (keep_groups and is_number):
        return splitter
    kind = StratifiedGroupKFold if isinstance(splitter, StratifiedKFold) else GroupKFold
    return kind(splitter.get_n_splits())


def require_weights(splits: list[Split], weights: NDArray[np.float64] | None) -> None:
    """Refuse weights that are all zero in a training set or a holdout."""
    if weights is None:
        return
    for number, (train, holdout) in enumerate(splits, 1):
        if not (weights[train].any() and weights[holdout].any()):
            raise DataError(
                f"sample_weight is zero in the whole training set or test set of fold {number}."
            )
