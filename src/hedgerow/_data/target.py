"""y, sample_weight, offset and class_weight → arrays.

Lists, arrays and series of any library are read like columns of X (`columns.py`, `frames.py`), but
a missing value or an infinity is an error here. The result may be the caller's array: do not write.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from hedgerow._arguments import IN_TABLE, MissingArgumentError
from hedgerow._arithmetic import sum_of, sums_by_class
from hedgerow._collective import workers
from hedgerow._data.columns import LabelColumn, NumericColumn, read_array
from hedgerow._data.parquet_table import ParquetTable
from hedgerow._data.sources import as_array, read_series
from hedgerow._data.suspicious_columns import non_numeric_values, warn_of_many_classes
from hedgerow._params import NOT_NEGATIVE
from hedgerow._types import Floats, Indices
from hedgerow._warning import warn_user
from hedgerow.exceptions import DataError, ParameterError

Read = TypeVar("Read")
# Whole numbers within this range are encoded by counting, which is faster than sorting.
_COUNTABLE = 1 << 16
# Squared sums of target times weight stay finite up to this size.
LARGEST = 1e70
_SAME_ROWS = (
    " X and y must have the same rows: after train_test_split, that is fit(X_train, y_train)."
)
# Squares of smaller numbers underflow.
SMALLEST = 1e-150

# The classes of y; a list with those of each label if y is multilabel.
Classes = NDArray[Any] | list[NDArray[Any]]


def fit_columns(X: Any, y: Any, sample_weight: Any, groups: Any = None) -> tuple[Any, Any, Any]:
    """Return y, weights and groups of a fit: as passed, or the columns of a `ParquetTable`."""
    if not issubclass(type(X), ParquetTable):  # parameters are checked before X is looked at
        if y is IN_TABLE:
            raise MissingArgumentError("y is missing.")
        return y, sample_weight, groups
    y = None if y is IN_TABLE else y
    for argument, passed, of_table, column in (
        ("y", y, "target", X.target),
        ("sample_weight", sample_weight, "weight", X.weight),
        ("groups", groups, "groups", X.groups),
    ):
        if passed is not None and column is not None:
            raise DataError(
                f"{argument} was passed, but the ParquetTable already has {of_table}={column!r}. "
                "Use one of the two."
            )
    if y is None and X.target is None:
        raise DataError(
            "fit needs the target: name its column in ParquetTable(paths, target=…), or pass y."
        )
    if y is None:
        y = X.column_for_fit(X.target) if isinstance(X.target, str) else X.read_target()
    if sample_weight is None and X.weight is not None:
        sample_weight = X.column_for_fit(X.weight)
    if groups is None and X.groups is not None:
        groups = X.column_for_fit(X.groups)
    return y, sample_weight, groups


def fit_offset(X: Any, offset: Any) -> Any:
    """Return the offset of rows: as passed, or the columns of a `ParquetTable`."""
    if not issubclass(type(X), ParquetTable) or X.offset is None:
        return offset
    if offset is not None:
        raise DataError(
            f"offset was passed, but the ParquetTable already has offset={X.offset!r}. Use one of "
            "the two."
        )
    return X.read_offset()


def read_classification_target(
    y: Any,
    n_rows: int | None = None,
    *,
    estimator_name: str = "this classifier",
    fewest_classes: int = 2,
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Read classes: return them sorted, in their dtype, and the class index of each row."""
    column, are_objects = _read_vector(y, n_rows, estimator_name)
    if isinstance(column, LabelColumn):
        classes, index = _encode_labels(column, are_objects)
    else:
        classes, index = _encode_numbers(column.values)
    classes, index = _of_all_workers(classes, index, "y")
    warn_of_many_classes(len(classes), workers().count(len(index)), column)
    if len(classes) < fewest_classes:
        raise DataError(
            f"y contains only one class ({classes.tolist()[0]!r}), but {estimator_name} needs at "
            "least two classes."
        )
    return classes, index


def read_class_columns(
    y: Any, n_rows: int, *, estimator_name: str = "this classifier"
) -> tuple[list[NDArray[Any]], NDArray[np.int64]]:
    """Read classes of one or several outputs: the classes of each, and indices (n_rows, outputs).

    An output with a single class is allowed: some models can be constant.
    """
    read = _read_each(
        y,
        lambda column: read_classification_target(
            column, n_rows, estimator_name=estimator_name, fewest_classes=1
        ),
    )
    return [classes for classes, _ in read], np.column_stack([index for _, index in read])


def read_labels(y: Any, n_rows: int) -> tuple[list[NDArray[Any]], NDArray[np.float64]]:
    """Read a multilabel target: the two classes of each label, and 1 for the second class, else 0.

    A column of only zeros or only ones is a label that no row, or every row, has.
    """
    classes, index = read_class_columns(y, n_rows)
    for j, labels in enumerate(classes):
        if len(labels) > 2:
            raise DataError(
                f"Column {j} of y has {len(labels)} classes, but a multilabel y has two classes "
                "per column; for more, use sklearn.multioutput.MultiOutputClassifier."
            )
        if len(labels) == 1:
            if labels[0] not in (0, 1):
                raise DataError(
                    f"Column {j} of y contains only one class ({labels.tolist()[0]!r})."
                )
            index[:, j] = labels[0]
            classes[j] = np.array([0, 1], labels.dtype)
    return classes, index.astype(np.float64)


def read_fitted_labels(y: Any, classes: list[NDArray[Any]], n_rows: int) -> NDArray[np.float64]:
    """Read a multilabel target with the classes of an earlier fit."""
    columns = columns_of(y) if has_columns(y) else [y]
    if len(columns) != len(classes):
        raise DataError(f"y has {len(columns)} columns, but there are {len(classes)} labels.")
    read = [read_fitted_classes(c, of, n_rows) for c, of in zip(columns, classes, strict=True)]
    return np.column_stack(read).astype(np.float64)


def decode_labels(classes: list[NDArray[Any]], has_label: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the class of each label, (n_rows, n_labels): the second one for rows that have it."""
    columns = zip(classes, has_label.T.astype(np.intp), strict=True)
    return np.column_stack([of_label[index] for of_label, index in columns])


def read_number_columns(
    y: Any, n_rows: int, *, estimator_name: str = "this regressor"
) -> NDArray[np.float64]:
    """Read numbers of one or several outputs, (n_rows, outputs)."""
    read = _read_each(
        y, lambda column: read_regression_target(column, n_rows, estimator_name=estimator_name)
    )
    return np.column_stack(read)


def _read_each(y: Any, read: Callable[[Any], Read]) -> list[Read]:
    """Read the columns of y; an error names the column, for y may be a table by mistake."""
    if not has_columns(y):
        return [read(y)]
    columns, results = columns_of(y), []
    for j, column in enumerate(columns):
        try:
            results.append(read(column))
        except DataError as error:
            raise type(error)(
                f"{error} This is column {j} of a y with {len(columns)} columns: if y is the whole "
                "table, pass the target alone, such as frame['target']."
            ) from error
    return results


def read_probabilities(
    y: Any, n_rows: int, n_classes: int | None = None
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Read class probabilities, (n_rows, n_classes); return the classes and the probabilities.

    `n_classes` is the required number of classes, if any.
    """
    if not has_columns(y):
        raise DataError(
            "y must contain a probability for each class, with shape (n_rows, n_classes), for "
            f"loss='cross_entropy'; its shape is {np.shape(y)}."
        )
    numbers_ = read_number_columns(y, n_rows)
    if n_classes is not None and numbers_.shape[1] != n_classes:
        raise DataError(f"y has {numbers_.shape[1]} columns, but there are {n_classes} classes.")
    sums = numbers_.sum(axis=1)
    _refuse_rows(numbers_.min(axis=1) < 0.0, "y", "a negative probability")
    _refuse_rows(np.abs(sums - 1.0) > 1e-6, "y", "probabilities that do not add up to 1")
    frame = nw.from_native(y, pass_through=True)
    named = isinstance(frame, nw.DataFrame) and all(isinstance(c, str) for c in frame.columns)
    classes = np.array(frame.columns) if named else np.arange(numbers_.shape[1])
    return classes, numbers_ / sums[:, np.newaxis]


def has_columns(y: Any) -> bool:
    """Return whether y has more than one column (multilabel or multi-output)."""
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, list | tuple):
        shape = np.shape(np.asarray(y, dtype=object))
    return shape is not None and len(shape) == 2 and shape[1] > 1


def columns_of(y: Any, name: str = "y") -> list[Any]:
    """Return the columns of a y with several columns, unchanged."""
    if scipy.sparse.issparse(y):
        raise DataError(f"{name} is sparse. Pass an array: {name}.toarray().")
    frame = nw.from_native(y, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return [column.to_native() for column in frame.iter_columns()]
    return list(as_array(y, name).T)


def read_fitted_classes(
    y: Any,
    classes: NDArray[Any],
    n_rows: int | None = None,
    *,
    estimator_name: str = "this classifier",
) -> NDArray[np.int64]:
    """Read a target with the classes of an earlier fit: the class index of each row."""
    column, _ = _read_vector(y, n_rows, estimator_name)
    if isinstance(column, LabelColumn):
        labels, index = _encode_labels(column, False)
    else:
        labels, index = _encode_numbers(column.values)
    index_of = {label: i for i, label in enumerate(classes.tolist())}
    unknown = [label for label in labels.tolist() if label not in index_of]
    if unknown:
        raise DataError(
            f"y contains {unknown[0]!r}, which is not among the classes {list(index_of)!r} of "
            f"{estimator_name}."
        )
    return np.array([index_of[label] for label in labels.tolist()], np.int64)[index]


def read_regression_target(
    y: Any, n_rows: int | None = None, *, estimator_name: str = "this regressor"
) -> NDArray[np.float64]:
    """Read numbers as float64."""
    column, _ = _read_vector(y, n_rows, estimator_name)
    if isinstance(column, LabelColumn):
        raise _strings_error(column, estimator_name)
    target = np.ascontiguousarray(column.values, np.float64)
    largest = workers().largest(float(max(target.max(initial=0.0), -target.min(initial=0.0))))
    if largest > LARGEST:
        raise DataError(
            f"y contains numbers as large as {largest:.3g}, whose squares overflow. Divide "
            f"y by a constant, so that none exceeds {LARGEST:g}."
        )
    if 0.0 < largest < SMALLEST:
        raise DataError(
            f"y contains only numbers up to {largest:.3g}, whose squares underflow. Multiply y by "
            f"a constant, so that the largest is {SMALLEST:g} or more."
        )
    return target


def _strings_error(column: LabelColumn, estimator_name: str) -> DataError:
    """Describe the non-numeric values in the y of a regressor."""
    bad = non_numeric_values(column)
    if column.kind != "string" or bad.count == bad.n_rows:
        return DataError(
            f"y contains strings or categories (such as {column.labels[0]!r}), but "
            f"{estimator_name} needs a numeric target. Convert y to numbers, or use a classifier."
        )
    fix = "Convert y to numbers, for example with pd.to_numeric(y, errors='coerce')"
    rows = ", and drop the rows that are then missing" if bad.count else ""
    return DataError(
        f"y contains strings, but {estimator_name} needs a numeric target: {bad}. {fix}{rows}."
    )


def require_moderate(weights: NDArray[np.float64], name: str) -> None:
    """Refuse weights so large or so small that products with y overflow or underflow."""
    largest = workers().largest(float(weights.max(initial=0.0)))
    if not 1.0 / LARGEST <= largest <= LARGEST:
        raise DataError(
            f"{name}: the largest weight is {largest:.3g}. Multiply the weights by a constant, so "
            f"that it is between {1.0 / LARGEST:g} and {LARGEST:g}."
        )


def read_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Read weights as float64; None stays None, and a scalar applies to every row."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n_rows, sample_weight)
    if isinstance(sample_weight, list) and sample_weight and isinstance(sample_weight[0], tuple):
        raise DataError(
            "sample_weight is a list of tuples, but it must have a value for each row. Evaluation "
            "sets are passed by name: fit(X, y, eval_set=[(X_valid, y_valid)])."
        )
    column, _ = _read_column(sample_weight, "sample_weight")
    if isinstance(column, LabelColumn):
        raise DataError("sample_weight contains strings or categories, but weights are numbers.")
    _require_length(len(column.values), n_rows, "sample_weight")
    _require_finite(column, "sample_weight")
    weights = np.ascontiguousarray(column.values, np.float64)
    if weights.min(initial=0.0) < 0:
        row = int(np.argmax(weights < 0))
        raise DataError(
            f"sample_weight is negative in row {row} ({weights[row]}). Weights must be 0 or more."
        )
    if not workers().any(bool(weights.any())):
        raise DataError("sample_weight is zero in every row.")
    require_moderate(weights, "sample_weight")
    return weights


def rows_with_weight(weights: Floats | None) -> Indices | None:
    """Return the rows whose weight is not 0; None if that is every row.

    A fit takes only these: it learns from a row of weight 0 as if the row were not there.
    """
    return None if weights is None or weights.all() else np.flatnonzero(weights)


def read_offset(offset: Any, n_rows: int, n_outputs: int) -> NDArray[np.float64] | None:
    """Read what is added to scores, (n_rows, n_outputs); None stays None.

    A scalar applies to every row if a row has one score.
    """
    if offset is None:
        return None
    if isinstance(offset, numbers.Number):
        offset = np.full(n_rows, offset)
    is_matrix = len(getattr(offset, "shape", ())) == 2 or has_columns(offset)
    columns = columns_of(offset, "offset") if is_matrix else [offset]
    if len(columns) != n_outputs:
        shape = "(n_rows,)" if n_outputs == 1 else f"(n_rows, {n_outputs})"
        raise DataError(
            f"offset has {_count_of(columns)} for each row, but the model has "
            f"{_count_of(range(n_outputs))}: its shape must be {shape}."
        )
    return np.column_stack([_read_offset(column, n_rows) for column in columns])


def _count_of(scores: Sequence[Any]) -> str:
    return "one score" if len(scores) == 1 else f"{len(scores)} scores"


def _read_offset(column: Any, n_rows: int) -> NDArray[np.float64]:
    read, _ = _read_column(column, "offset")
    if isinstance(read, LabelColumn):
        raise DataError("offset contains strings or categories, but it is added to scores.")
    if len(read.values) != n_rows:  # which may be 0: a table without rows can be predicted
        raise DataError(f"offset has {len(read.values)} values, but X has {n_rows} rows.")
    _require_finite(read, "offset")
    values = np.ascontiguousarray(read.values, np.float64)
    largest = float(np.abs(values).max(initial=0.0))
    if largest > LARGEST:
        raise DataError(
            f"offset contains numbers as large as {largest:.3g}, whose squares overflow. None may "
            f"exceed {LARGEST:g}."
        )
    return values


def read_groups(groups: Any, n_rows: int) -> NDArray[np.int32]:
    """Read the group of each row (numbers, strings or categories) as integers from 0."""
    column, _ = _read_column(groups, "groups")
    values = column.codes if isinstance(column, LabelColumn) else column.values
    _require_length(len(values), n_rows, "groups")
    _require_finite(column, "groups")
    if isinstance(column, LabelColumn):
        distinct, index = _encode_labels(column, as_objects=False)
    else:
        distinct, index = np.unique(values, return_inverse=True)
    return _of_all_workers(distinct, index, "groups")[1].astype(np.int32)


def _of_all_workers(
    distinct: NDArray[Any], index: NDArray[np.int64], name: str
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct values of all workers, sorted, and each row's index among them."""
    together = workers()
    if together.size == 1:
        return distinct, index
    of_workers = together.objects(distinct)
    are_strings = [part.dtype.kind in "OU" for part in of_workers]
    if any(are_strings) and not all(are_strings):
        raise DataError(f"{name} contains strings on some workers and numbers on others.")
    every = np.unique(np.concatenate(of_workers))
    return every, np.searchsorted(every, distinct)[index]


def read_column(values: Any, name: str) -> NumericColumn | LabelColumn:
    """Read numbers or labels without missing values or infinities."""
    column, _ = _read_column(values, name)
    length = len(column.codes if isinstance(column, LabelColumn) else column.values)
    _require_length(length, None, name)
    _require_finite(column, name)
    return column


def read_numbers_with_missing(values: Any, name: str) -> NDArray[np.float64]:
    """Read numbers as float64, with infinities allowed and NaN for missing values."""
    column, _ = _read_column(values, name)
    if isinstance(column, LabelColumn):
        raise DataError(f"{name} contains strings or categories: {non_numeric_values(column)}.")
    _require_length(len(column.values), None, name)
    numbers_ = np.array(column.values, np.float64)
    if column.missing is not None:
        numbers_[column.missing] = np.nan
    return numbers_


def _read_vector(
    y: Any, n_rows: int | None, estimator_name: str
) -> tuple[NumericColumn | LabelColumn, bool]:
    """Read a y without missing values; also return whether its strings were Python objects."""
    if y is None:
        name = estimator_name[0].upper() + estimator_name[1:]
        raise DataError(f"{name} requires y to be passed, but the target y is None.")
    column, are_objects = _read_column(y, "y")
    length = len(column.codes if isinstance(column, LabelColumn) else column.values)
    _require_length(length, n_rows, "y")
    _require_finite(column, "y")
    return column, are_objects


def _read_column(values: Any, name: str) -> tuple[NumericColumn | LabelColumn, bool]:
    if scipy.sparse.issparse(values):
        raise DataError(f"{name} is sparse. Pass an array: {name}.toarray().ravel().")
    if isinstance(values, str | bytes | Mapping):
        raise DataError(_not_values(values, name))
    series = nw.from_native(values, pass_through=True, allow_series=True)
    if isinstance(series, nw.DataFrame):
        _require_one_dimension(series.shape, name)
        series = series[series.columns[0]]
    if isinstance(series, nw.Series):
        return read_series(series, name), True
    if np.ma.is_masked(values):
        raise DataError(f"{name} has masked values. Drop the rows without a value.")
    array = as_array(values, name)
    _require_one_dimension(array.shape, name)
    is_object_array = isinstance(values, np.ndarray) and array.dtype.kind == "O"
    return read_array(array.reshape(-1), name), is_object_array


def _not_values(values: Any, name: str) -> str:
    """Return what to pass instead of a name or a dict."""
    text = f"{name} is a {type(values).__name__}, but it must have a value for each row."
    if name == "sample_weight":
        return f"{text} For class weights, set class_weight in the constructor of a classifier."
    return f"{text} Pass the column itself, such as frame[{values!r}]." if name == "y" else text


def _require_one_dimension(shape: tuple[int, ...], name: str) -> None:
    """Accept a column vector as y, with scikit-learn's warning."""
    if name == "y" and len(shape) == 2 and shape[1] == 1:
        warn_user(
            "A column-vector y was passed when a 1d array was expected. Pass y with the shape "
            "(n_samples,), for example y.ravel().",
            DataConversionWarning,
        )
    elif len(shape) != 1:
        raise DataError(f"{name} should be a 1d array, got an array of shape {shape} instead.")


def _require_length(length: int, n_rows: int | None, name: str) -> None:
    if n_rows is not None and length != n_rows:
        advice = _SAME_ROWS if name == "y" else ""
        raise DataError(f"{name} has {length} values, but X has {n_rows} rows.{advice}")
    if not workers().any(length > 0):  # of an evaluation set, a worker may have no rows
        raise DataError(f"{name} has no values.")


def _require_finite(column: NumericColumn | LabelColumn, name: str) -> None:
    """Refuse missing values and infinities, and report the first row that has one."""
    if isinstance(column, LabelColumn):
        _refuse_rows(column.codes < 0, name, "NaN or another missing value")
        return
    if column.missing is not None:
        _refuse_rows(column.missing, name, "NaN or another missing value")
    if column.values.dtype.kind == "f" and not np.isfinite(column.values).all():
        _refuse_rows(np.isnan(column.values), name, "NaN or another missing value")
        _refuse_rows(np.isinf(column.values), name, "infinity")


def _refuse_rows(bad: NDArray[np.bool_], name: str, what: str) -> None:
    if bad.any():
        raise DataError(
            f"{name} contains {what} (first in row {int(bad.argmax())}). "
            "Drop the rows without a usable value."
        )


def _encode_labels(column: LabelColumn, as_objects: bool) -> tuple[NDArray[Any], NDArray[np.int64]]:
    labels = sorted(set(column.labels))
    rank = {label: i for i, label in enumerate(labels)}
    index = np.array([rank[label] for label in column.labels], np.int64)[column.codes]
    return np.array(labels, object if as_objects and column.kind == "string" else None), index


def _encode_numbers(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct numbers, sorted, and each row's index among them."""
    if values.dtype.kind == "f" and not (values == np.floor(values)).all():
        raise DataError(
            "Unknown label type: continuous. y contains fractions, which do not look like class "
            "labels. Use a regressor, or convert y to strings if each distinct number is a class."
        )
    low, high = int(values.min()), int(values.max())
    if high - low >= _COUNTABLE or max(abs(low), abs(high)) > 2**53:
        classes, index = np.unique(values, return_inverse=True)
        return classes, index.astype(np.int64, copy=False)
    offset = values.astype(np.int64) - low
    occurs = np.bincount(offset) > 0
    classes = (np.flatnonzero(occurs) + low).astype(values.dtype)
    return classes, offset if occurs.all() else (np.cumsum(occurs) - 1)[offset]


def class_weight_vector(
    class_weight: Any, classes: NDArray[Any], index: NDArray[Any], weights: Floats | None
) -> Floats:
    """Return a weight for each class, in the order of `classes`; `index` is each row's class."""
    if isinstance(class_weight, str):  # "balanced"
        rows = rows_with_weight(weights)
        if weights is not None and rows is not None:
            index, weights = index[rows], weights[rows]
        totals = sums_by_class(index, weights, len(classes))
        # A class without weight has no effect, whatever its factor.
        return sum_of(totals) / (len(classes) * np.where(totals > 0.0, totals, 1.0))
    by_class = np.ones(len(classes))
    index_of = {label: i for i, label in enumerate(classes.tolist())}
    unknown = [label for label in class_weight if label not in index_of]
    if unknown and len(class_weight) - len(unknown) < len(classes):
        raise ParameterError(
            f"class_weight refers to {unknown!r}, but the classes of y are {list(index_of)!r}."
        )
    for label, weight in class_weight.items():
        if weight not in NOT_NEGATIVE:
            raise ParameterError(f"class_weight[{label!r}]={weight!r} must be a number >= 0.")
        if label in index_of:
            by_class[index_of[label]] = weight
    return by_class


def weigh_by_class(
    class_weight: Any,
    classes: Sequence[NDArray[Any]],
    index: NDArray[np.int64],
    weights: Floats | None,
) -> Floats | None:
    """Return row weights times the weights of the rows' classes in every output.

    `class_weight` is "balanced", a dict, a list with a dict for each output, or None.
    """
    if class_weight is None:
        return weights
    by_output = class_weight if isinstance(class_weight, list) else [class_weight] * len(classes)
    if len(by_output) != len(classes):
        raise ParameterError(
            f"class_weight has {len(by_output)} dicts; y has {len(classes)} outputs."
        )
    product = np.ones(len(index)) if weights is None else weights
    for each, of_output, column in zip(by_output, classes, index.T, strict=True):
        product = product * class_weight_vector(each, of_output, column, weights)[column]
    if not product.any():
        raise ParameterError(f"class_weight={class_weight!r} leaves no row with a positive weight.")
    require_moderate(product, "class_weight times sample_weight")
    return product
