"""A tree as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from hedgerow._data.names import labels_of
from hedgerow._data.outputs import ClassOutputs, Outputs
from hedgerow._data.table import TableSchema
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats

_MAX_CATEGORIES = 6  # listed in a line
EVERY_NUMBER = float(np.finfo(np.float64).max)  # the threshold between all numbers and missing


class Wording:
    """The text of splits: names of features and categories, and formats of thresholds."""

    def __init__(
        self,
        schema: TableSchema,
        category_bins: Sequence[Any],
        feature_names: Sequence[str] | None,
        decimals: int,
        show_missing: bool,
    ) -> None:
        names: Sequence[str] | None = feature_names
        if names is None and not schema.has_no_names:
            names = labels_of(schema.feature_names, schema.n_features)
        self.names = names or [f"feature_{j}" for j in range(schema.n_features)]
        self.schema = schema
        self.category_bins = category_bins
        self.decimals = decimals
        self.missing = " or missing" if show_missing else ""

    def sides(self, tree: Tree, node: int) -> tuple[str, str]:
        """Return the conditions for rows that go left and for rows that go right."""
        feature = int(tree.feature[node])
        name, missing_left = self.names[feature], bool(tree.missing_left[node])
        if tree.category_set[node] >= 0:
            left, right = map(join_categories, self.categories(tree, node))
            conditions = f"{name} in {{{left}}}", f"{name} in {{{right}}}"
        elif tree.threshold[node] == EVERY_NUMBER:
            return f"{name} is not missing", f"{name} is missing"
        else:
            threshold = f"{tree.threshold[node]:.{self.decimals}f}"
            conditions = f"{name} <= {threshold}", f"{name} >  {threshold}"
        left, right = conditions
        return left + self.missing * missing_left, right + self.missing * (not missing_left)

    def categories(self, tree: Tree, node: int) -> tuple[list[Any], list[Any]]:
        """Return the categories that go left and those that go right."""
        feature = int(tree.feature[node])
        bits = tree.category_bits[tree.category_set[node]]
        values = self.schema.categories[feature].values
        bins = np.asarray(self.category_bins[feature][: len(values)], np.intp)
        left = (bits[bins >> 5] >> (bins & 31).astype(np.uint32)) & 1
        return (
            [v for v, is_left in zip(values, left, strict=True) if is_left],
            [v for v, is_left in zip(values, left, strict=True) if not is_left],
        )


def join_categories(values: Sequence[Any]) -> str:
    """Return the first categories, and how many more there are."""
    text = ", ".join(str(value) for value in values[:_MAX_CATEGORIES])
    more = len(values) - _MAX_CATEGORIES
    return text if more <= 0 else f"{text}, … {more} more"


def lines_of(
    tree: Tree, wording: Wording, leaf_text: Callable[[int], str], max_depth: int, spacing: int
) -> Iterator[str]:
    """Yield a line for each side of each split, and for each leaf."""
    stack: list[tuple[int, int, str]] = [(0, 0, "")]
    bar = "|" + " " * spacing
    branch = "|" + "-" * spacing + " "
    while stack:
        node, depth, side = stack.pop()
        if side:
            yield bar * (depth - 1) + branch + side
        if tree.feature[node] < 0:
            yield bar * depth + branch + leaf_text(node)
        elif depth > max_depth:
            yield bar * depth + branch + f"truncated branch of depth {tree.depth_below(node)}"
        else:
            left, right = wording.sides(tree, node)
            stack.append((int(tree.right[node]), depth + 1, right))
            stack.append((int(tree.left[node]), depth + 1, left))


def value_text(outputs: Outputs, value: Floats, decimals: int) -> str:
    """Return what a leaf predicts: a class and the shares of all, or numbers; `value` is a row."""
    if not isinstance(outputs, ClassOutputs):
        return f"value: {_listed(value[0], decimals)}"
    label = outputs.labels(outputs.votes(value))[0]
    shares = [_listed(p[0], decimals) for p in outputs.probabilities(value)]
    return f"class: {label}  {' '.join(shares)}"


def _listed(numbers: Floats, decimals: int) -> str:
    return "[" + ", ".join(f"{number:.{decimals}f}" for number in numbers) + "]"
