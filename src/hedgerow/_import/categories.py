"""Category sets of another library → bins of ours, or features of their own.

A split of another library lists category codes, any number of them; a split of ours is a set of at
most 255 bins. Categories that are in the same sets of a column need not be told apart, so they
share a bin. A column with more such classes than bins becomes a number for each of its sets: 0 for
its members and 1 for the others, by the tables that models have for target statistics.

A category that no set lists is not missing in every library: where it matters, such a column has a
bin for unknown categories, after those of the categories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.binning import MAX_BINS
from hedgerow._data.columns import Label, LabelKind
from hedgerow._data.table import Categories
from hedgerow._data.target_statistics import BESIDES
from hedgerow._import.fields import refuse
from hedgerow._import.trees import Flags, FlatNodes, Indices, NodeTests
from hedgerow._types import Floats
from hedgerow.exceptions import ModelFileError

MOST_MEMBERSHIPS = 1 << 28  # sets × categories of a column: 256 MiB


@dataclass(frozen=True)
class ForeignColumn:
    """A column of another library's table.

    Attributes
    ----------
    name : str, optional
    is_categorical : bool
    labels : tuple, optional
        The category of each code; None if tables hold the codes themselves.
    listed : tuple of int
        Codes that occur beside those of sets, if tables hold codes.
    unknown_is_missing : bool
        Whether an unknown category goes where missing values go, or where no set lists it.
    zero_is_missing : bool
        Whether 0 counts as missing.
    """

    name: str | None = None
    is_categorical: bool = False
    labels: tuple[Label, ...] | None = None
    listed: tuple[int, ...] = ()
    unknown_is_missing: bool = False
    zero_is_missing: bool = False


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """The categories of a column, and what the trees read in their place.

    Attributes
    ----------
    categories : Categories
    numbers : float64 array (n_features, n_categories + 2)
        For each category, an unknown one and a missing one: a bin, or a 0 or 1 for each set.
    is_set : bool
        Whether numbers are bins.
    bits : uint32 array (n_sets, 8)
        The distinct sets, as bins, if they are.
    set_of : dict
        The number of each node's set.
    """

    categories: Categories
    numbers: Floats
    is_set: bool
    bits: NDArray[np.uint32]
    set_of: dict[int, int]


def code_columns(flat: FlatNodes, columns: Sequence[ForeignColumn]) -> dict[int, CodedColumn]:
    """Return how each categorical column is coded, for the sets of the nodes."""
    nodes: dict[int, list[int]] = {}
    for node in flat.sets:
        nodes.setdefault(int(flat.feature[node]), []).append(node)
    for feature in nodes:
        if feature < 0 or not columns[feature].is_categorical:
            raise ModelFileError(
                f"column {feature} is numeric, but a split lists categories of it."
            )
    missing_left = np.concatenate(
        [np.empty(0, bool), *(tree.missing_left for tree in flat.trees)]
    ).astype(bool)
    return {
        j: _code_column(column, j, nodes.get(j, []), flat.sets, missing_left)
        for j, column in enumerate(columns)
        if column.is_categorical
    }


def _code_column(
    column: ForeignColumn,
    j: int,
    nodes: Sequence[int],
    sets: dict[int, Indices],
    missing_left: Flags,
) -> CodedColumn:
    distinct: dict[bytes, int] = {}
    set_of = {node: distinct.setdefault(sets[node].tobytes(), len(distinct)) for node in nodes}
    members = [np.frombuffer(codes, np.int64) for codes in distinct]
    categories, codes = _categories_of(column, j, members)
    if len(members) * len(codes) > MOST_MEMBERSHIPS:
        raise ModelFileError(
            f"column {j} has {len(members)} sets of {len(codes)} categories, more than can be read."
        )
    is_member = (
        np.stack([np.isin(codes, each) for each in members])
        if members
        else (np.zeros((0, len(codes)), bool))
    )
    unknown_goes_right = not column.unknown_is_missing and bool(missing_left[list(nodes)].any())
    classes, bins = np.unique(
        np.column_stack([is_member, np.zeros(len(members), bool)]), axis=1, return_inverse=True
    )
    bins = bins.reshape(-1)
    if classes.shape[1] <= MAX_BINS:
        numbers = np.append(bins.astype(np.float64), np.nan)
        if not unknown_goes_right:
            numbers[-BESIDES] = np.nan
        return CodedColumn(categories, numbers[np.newaxis], True, _as_bits(classes), set_of)
    numbers = np.ones((len(members), len(codes) + BESIDES))
    numbers[:, : len(codes)][is_member] = 0.0
    numbers[:, -1] = np.nan
    if column.unknown_is_missing:
        numbers[:, -BESIDES] = np.nan
    return CodedColumn(categories, numbers, False, np.empty((0, 8), np.uint32), set_of)


def _categories_of(
    column: ForeignColumn, j: int, members: Sequence[Indices]
) -> tuple[Categories, Indices]:
    """Return the categories of a column, sorted, and their codes."""
    named = np.unique(np.concatenate([np.empty(0, np.int64), *members]))
    if column.labels is None:
        codes = np.unique(np.append(named, np.array(column.listed, np.int64)))
        codes = codes[codes >= 0]
        return Categories("number", tuple(codes.tolist())), codes
    if len(named) and named[-1] >= len(column.labels):
        refuse(f"a category of column {j}", int(named[-1]), f"below {len(column.labels)}")
    kind = _label_kind(column.labels, j)
    try:
        order = sorted(range(len(column.labels)), key=column.labels.__getitem__)
    except TypeError:
        refuse(f"the categories of column {j}", column.labels, "all strings or all numbers")
    values = tuple(column.labels[code] for code in order)
    for a, b in pairwise(values):
        if a == b:
            refuse(f"the categories of column {j}", a, "different from each other")
    return Categories(kind, values), np.array(order, np.int64)


def _label_kind(labels: Sequence[Any], j: int) -> LabelKind:
    types = set(map(type, labels))
    if types <= {str}:
        return "string"
    if types <= {bool}:
        return "boolean"
    if types <= {int, float} and all(np.isfinite(label) for label in labels):
        return "number"
    return refuse(
        f"the categories of column {j}", list(labels), "all strings, all numbers or all flags"
    )


def _as_bits(classes: Flags) -> NDArray[np.uint32]:
    """Return each row of flags, one for each bin, as bits."""
    padded = np.zeros((len(classes), 256), bool)
    padded[:, : classes.shape[1]] = classes
    packed = np.packbits(padded, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u4").astype(np.uint32).reshape(-1, 8)


def node_tests(coded: dict[int, CodedColumn], n_columns: int) -> NodeTests:
    """Return what the nodes with sets test in a table of coded columns.

    Columns that became several features have all but the first at the end, as target statistics
    have; each of these columns has the same number of them.
    """
    n_more = more_features(coded)
    rows: list[tuple[int, int, int, float]] = []
    bits, n_sets, first = [np.empty((0, 8), np.uint32)], 0, n_columns
    for j, column in coded.items():
        for node, number in column.set_of.items():
            if column.is_set:
                rows.append((node, j, n_sets + number, 0.0))
            else:
                rows.append((node, j if number == 0 else first + number - 1, -1, 0.5))
        if column.is_set:
            bits.append(column.bits)
            n_sets += len(column.bits)
        else:
            first += n_more
    by_field = np.array(rows, np.float64).reshape(-1, 4).T  # integers below 2⁵³
    nodes, features, category_sets = by_field[:3].astype(np.int64)
    return NodeTests(nodes, features, category_sets, by_field[3], np.concatenate(bits))


def more_features(coded: dict[int, CodedColumn]) -> int:
    """Return how many features a column of numbers has beside the first."""
    return max((len(c.numbers) - 1 for c in coded.values() if not c.is_set), default=0)
