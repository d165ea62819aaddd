"""The outputs of trees: classes or numbers, one output or several.

A leaf stores the shares of the classes (for two classes only the second), or the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.target import has_columns, read_class_columns, read_number_columns
from hedgerow._types import Floats, Snapshot
from hedgerow.exceptions import DataError

MAX_CLASSES = 1 << 16  # the kernels' class numbers have 16 bits


@dataclass(frozen=True)
class TreeTarget:
    """The target of the kernels: a class for each row, or numbers (n_rows, n_values).

    Several outputs of classes are numbers, too: the one-hot columns of the first output, then those
    of the second, …; the impurity is the mean over the outputs.
    """

    n_values: int
    n_outputs: int = 1
    labels: NDArray[np.uint16] | None = None
    numbers: Floats | None = None

    @classmethod
    def of_classes(cls, labels: NDArray[np.uint16], n_classes: int) -> TreeTarget:
        """Return the target of one output of classes."""
        return cls(n_classes, labels=labels)

    @classmethod
    def of_numbers(cls, numbers: Floats, n_outputs: int | None = None) -> TreeTarget:
        """Return the target of numbers; by default each column is an output."""
        return cls(numbers.shape[1], n_outputs or numbers.shape[1], numbers=numbers)


@dataclass(frozen=True, eq=False)
class ClassOutputs(Snapshot):
    """One or several outputs that are classes."""

    classes: tuple[NDArray[Any], ...]

    @classmethod
    def learn(cls, y: Any, n_rows: int) -> tuple[ClassOutputs, NDArray[np.int64]]:
        """Find the classes in y, and each row's index among them, (n_rows, outputs)."""
        classes, index = read_class_columns(y, n_rows)
        most = max(map(len, classes))
        if most > MAX_CLASSES:
            raise DataError(f"y has {most} classes; at most {MAX_CLASSES} are supported.")
        return cls(tuple(classes)), index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClassOutputs):
            return NotImplemented
        return len(self.classes) == len(other.classes) and all(
            map(np.array_equal, self.classes, other.classes)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def is_single(self) -> bool:
        """Whether y has one column."""
        return len(self.classes) == 1

    def attributes(self) -> dict[str, Any]:
        """Return scikit-learn's fitted attributes for y."""
        counts = [len(of_output) for of_output in self.classes]
        return {
            "classes_": one_or_list(self.classes, self),
            "n_classes_": one_or_list(counts, self),
            "n_outputs_": len(self.classes),
        }

    @property
    def n_values(self) -> int:
        """Number of values in a leaf."""
        return sum(end - begin for begin, end in self._stored)

    def target(self, index: NDArray[np.int64]) -> TreeTarget:
        """Return the target of the kernels: labels, or one-hot columns for several outputs."""
        if self.is_single:
            return TreeTarget.of_classes(index[:, 0].astype(np.uint16), len(self.classes[0]))
        numbers = np.ascontiguousarray(np.concatenate(self._ones(index), axis=1))
        return TreeTarget.of_numbers(numbers, len(self.classes))

    def stored(self, values: Floats) -> Floats:
        """Return the part of the leaf values that needs to be stored."""
        return np.ascontiguousarray(values[:, self._stored_columns])

    def probabilities(self, values: Floats) -> list[Floats]:
        """Return the class probabilities of each output, from leaf values."""
        return [
            _both(values[:, begin]) if len(of_output) == 2 else values[:, begin:end].copy()
            for (begin, end), of_output in zip(self._stored, self.classes, strict=True)
        ]

    def values(self, probabilities: Sequence[Floats]) -> Floats:
        """Return the leaf values of class probabilities."""
        return np.ascontiguousarray(np.concatenate(probabilities, axis=1)[:, self._stored_columns])

    def certain(self, votes: NDArray[np.integer[Any]]) -> Floats:
        """Return the leaf values that give a class, by its index, probability 1 in each output."""
        return self.values(self._ones(votes))

    def votes(self, values: Floats) -> NDArray[np.int32]:
        """Return the index of the most probable class of each output, (n_rows, outputs)."""
        votes = [p.argmax(axis=1) for p in self.probabilities(values)]
        return np.column_stack(votes).astype(np.int32)

    def labels(self, votes: NDArray[Any]) -> NDArray[Any]:
        """Return classes for their indices: a column for each output, if they are several."""
        # Not of[column]: where there is no memory to convert its indices in, NumPy crashes.
        columns = [of.take(column) for of, column in zip(self.classes, votes.T, strict=True)]
        return columns[0] if self.is_single else np.column_stack(columns)

    def _ones(self, index: NDArray[np.integer[Any]]) -> list[Floats]:
        """Return for each output a column for each class: 1 where it is a row's, else 0."""
        return [
            np.equal.outer(column, np.arange(len(of_output))).astype(np.float64)
            for column, of_output in zip(index.T, self.classes, strict=True)
        ]

    @cached_property
    def _stored(self) -> list[tuple[int, int]]:
        """The range of stored values of each output."""
        widths = [1 if len(of_output) == 2 else len(of_output) for of_output in self.classes]
        ends = np.cumsum(widths).tolist()
        return list(zip([0, *ends[:-1]], ends, strict=True))

    @cached_property
    def _stored_columns(self) -> NDArray[np.intp]:
        """Indices of the values of a node that are stored."""
        columns: list[int] = []
        begin = 0
        for of_output in self.classes:
            end = begin + len(of_output)
            columns += range(begin + (len(of_output) == 2), end)
            begin = end
        return np.array(columns, np.intp)


@dataclass(frozen=True)
class NumberOutputs:
    """One or several outputs that are numbers."""

    n_outputs: int
    is_single: bool

    @classmethod
    def learn(cls, y: Any, n_rows: int) -> tuple[NumberOutputs, Floats]:
        """Read the numbers, (n_rows, outputs)."""
        numbers = np.ascontiguousarray(read_number_columns(y, n_rows))
        return cls(numbers.shape[1], not has_columns(y)), numbers

    @property
    def n_values(self) -> int:
        """Number of values in a leaf."""
        return self.n_outputs

    def attributes(self) -> dict[str, Any]:
        """Return scikit-learn's fitted attributes for y."""
        return {"n_outputs_": self.n_outputs}

    def target(self, numbers: Floats) -> TreeTarget:
        """Return the target of the kernels."""
        return TreeTarget.of_numbers(numbers)

    def stored(self, values: Floats) -> Floats:
        """Return the values as they are: leaves hold the numbers."""
        return values

    def prediction(self, values: Floats) -> Floats:
        """Return the values of rows: a column for each output, if they are several."""
        return values[:, 0].copy() if self.is_single else values


Outputs = ClassOutputs | NumberOutputs


def one_or_list(by_output: Sequence[Any], outputs: ClassOutputs) -> Any:
    """Return what there is for each output: as scikit-learn does, of a single one no list."""
    return by_output[0] if outputs.is_single else list(by_output)


def _both(p: Floats) -> Floats:
    both = np.empty((len(p), 2))
    both[:, 1] = p
    np.subtract(1.0, p, out=both[:, 0])
    return both
