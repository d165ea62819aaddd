"""The training set of an ensemble, and its folds."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
)

from hedgerow._arithmetic import mean_of
from hedgerow._data.intake import Table, TableSchema, learn_schema, read_table
from hedgerow._data.outputs import ClassOutputs, Outputs
from hedgerow._data.pass_through import learn_columns, take_rows
from hedgerow._data.target import has_columns, read_groups, read_weights, rows_with_weight
from hedgerow._ensemble.encoding import TableEncoder
from hedgerow._ensemble.selection import SelectionLoss, log_loss, squared_error
from hedgerow._estimator import Estimator
from hedgerow._types import Attributes, Floats, Indices
from hedgerow.exceptions import DataError, ParameterError

# Filters of warnings belong to the process: fits in several threads must not restore each other's.
_FILTERING = RLock()


@dataclass(frozen=True, eq=False)
class ReadTable:
    """A table as Hedgerow's own estimators read it."""

    schema: TableSchema
    columns: Table

    def encoded(self) -> EncodedTable:
        """Return the table as a matrix."""
        encoder = TableEncoder.learn(self.schema, self.columns)
        return EncodedTable(self.schema, encoder, encoder.encode(self.columns))

    def take(self, rows: Indices) -> ReadTable:
        """Return some of the rows."""
        return ReadTable(self.schema, self.columns.take(rows))


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """A table as a matrix of numbers, and how other tables become one."""

    schema: TableSchema
    encoder: TableEncoder
    matrix: Floats

    def encode(self, X: Any) -> Floats:
        """Return the matrix of another table."""
        return self.encoder.encode(read_table(X, self.schema))


@dataclass(frozen=True)
class TargetUnits:
    """Mean and standard deviation of a numeric target, which SVMs get with mean 0 and deviation 1.

    For classes they are 0 and 1.
    """

    mean: float = 0.0
    deviation: float = 1.0

    @classmethod
    def of(cls, numbers: Floats) -> TargetUnits:
        """Return those of a target; the deviation of a constant is 1."""
        mean = mean_of(numbers)
        deviation = float(np.sqrt(mean_of((numbers - mean) ** 2)))
        return cls(mean, deviation if 0.0 < deviation < np.inf else 1.0)


@dataclass(frozen=True, eq=False)
class EnsembleTrainingSet:
    """The checked arguments of `fit`.

    Attributes
    ----------
    X : table
        As base models get it: with the columns of `fit`, not converted.
    table : ReadTable, or None
        The same, read for the encoder; None if only the user's candidates know how to read it.
    labels : array
        The target as base models get it.
    target : array of shape (n_rows,)
        Class indices or numbers.
    passed : table
        All rows that were passed, of which X are those with weight.
    numbers : int array of shape (n_rows,)
        Their numbers among these.
    """

    X: Any
    table: ReadTable | None
    columns: Attributes
    outputs: Outputs
    labels: NDArray[Any]
    target: NDArray[Any]
    weights: Floats | None
    units: TargetUnits
    passed: Any
    numbers: Indices

    @classmethod
    def read(
        cls, ensemble: Estimator, outputs_kind: type[Outputs], X: Any, y: Any, sample_weight: Any
    ) -> EnsembleTrainingSet:
        """Check the arguments of `fit`."""
        X, columns = learn_columns(X)
        n_rows = X.shape[0]
        if has_columns(y):
            raise DataError(f"y has several columns; {type(ensemble).__name__} needs one.")
        outputs, columns_of_target = outputs_kind.learn(y, n_rows)
        target: NDArray[Any] = columns_of_target[:, 0]
        table = None
        if ensemble.estimators is None:
            table = ReadTable(*learn_schema(X, ensemble.categorical_features))
        weights = read_weights(sample_weight, n_rows)
        passed, rows = X, rows_with_weight(weights)
        if rows is not None and weights is not None:
            X, target, weights = take_rows(X, rows), target[rows], weights[rows]
            table = None if table is None else table.take(rows)
        is_classification = isinstance(outputs, ClassOutputs)
        if isinstance(outputs, ClassOutputs) and len(outputs.classes[0]) < 2:
            (only,) = outputs.classes[0].tolist()
            raise DataError(f"y has one class, {only!r}; a classifier needs at least two.")
        return cls(
            X=X,
            table=table,
            columns=columns,
            outputs=outputs,
            labels=outputs.classes[0][target] if isinstance(outputs, ClassOutputs) else target,
            target=target,
            weights=weights,
            units=TargetUnits() if is_classification else TargetUnits.of(target),
            passed=passed,
            numbers=np.arange(n_rows) if rows is None else rows,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.target)

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 if the target is numeric."""
        return len(self.outputs.classes[0]) if isinstance(self.outputs, ClassOutputs) else 0

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return self.weights is not None

    def rows(self, rows: Indices, matrix: Floats | None) -> Any:
        """Return some rows of the encoded matrix, or of the table if there is no matrix."""
        return take_rows(self.X, rows) if matrix is None else matrix[rows]

    def labels_for(self, rows: Indices, *, is_encoded: bool) -> NDArray[Any]:
        """Return the target of some rows; that of models of the matrix is in units."""
        labels = self.labels[rows]
        if self.n_classes or not is_encoded:
            return labels
        return (labels - self.units.mean) / self.units.deviation

    def evidence(self, values: Floats) -> Floats:
        """Return what the loss of predictions depends on: own probabilities, or residuals."""
        if not isinstance(self.outputs, ClassOutputs):
            return values[:, 0] - self.target
        (probabilities,) = self.outputs.probabilities(values)
        own: Floats = probabilities[np.arange(self.n_rows), self.target]
        return own

    def loss(self) -> SelectionLoss:
        """Return the loss that the selection minimises."""
        return log_loss(self.weights) if self.n_classes else squared_error(self.weights)


def fold_numbers(cv: Any, data: EnsembleTrainingSet, groups: Any, seed: int) -> NDArray[np.int64]:
    """Return the fold in whose holdout each row is."""
    n_passed = data.passed.shape[0]
    codes = None if groups is None else read_groups(groups, n_passed)[data.numbers]
    is_number = isinstance(cv, int | np.integer)
    splitter = _splitter(int(cv), data, codes, seed) if is_number else cv
    if isinstance(cv, PredefinedSplit) and len(cv.test_fold) == n_passed:
        splitter = PredefinedSplit(cv.test_fold[data.numbers])
    fold = np.full(data.n_rows, -1, np.int64)
    try:
        with _FILTERING, warnings.catch_warnings():
            # A class may have fewer rows than there are folds.
            warnings.filterwarnings(
                "ignore", message=".*least populated class", category=UserWarning
            )
            splits = list(splitter.split(np.zeros((data.n_rows, 1)), data.target, codes))
    except ValueError as error:
        raise ParameterError(f"cv: {error}") from error
    times = np.zeros(data.n_rows, np.int64)
    for number, (_, holdout) in enumerate(splits):
        fold[holdout] = number
        times[holdout] += 1
    if len(splits) < 2 or not (times == 1).all():
        raise ParameterError(
            f"cv={cv!r} is not allowed; it must have at least 2 folds, with every row in exactly "
            "one holdout."
        )
    return fold


def _splitter(cv: int, data: EnsembleTrainingSet, codes: Any, seed: int) -> Any:
    """Return scikit-learn's splitter for a number of folds, which few rows may reduce."""
    units = data.n_rows if codes is None else len(np.unique(codes))
    stratify = data.n_classes > 0
    if stratify and codes is None:
        units = int(np.bincount(data.target).max())
    n_folds = min(cv, units)
    if n_folds < 2:
        what = "groups" if codes is not None else "rows of a class" if stratify else "rows"
        raise DataError(
            f"An ensemble needs at least 2 {what} for its folds (n_samples={data.n_rows})."
        )
    if codes is None:
        kind = StratifiedKFold if stratify else KFold
    else:
        kind = StratifiedGroupKFold if stratify else GroupKFold
    return kind(n_folds, shuffle=True, random_state=seed)
