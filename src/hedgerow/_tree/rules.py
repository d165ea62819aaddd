"""A tree as if-then rules: one for each leaf, with the conditions on its path merged by feature.

Several tests of a number become one interval, and several tests of a category one set, so a rule
has at most one condition for each feature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from hedgerow._tree.export import EVERY_NUMBER, Wording, join_categories
from hedgerow._tree.structure import Tree


@dataclass(frozen=True)
class Condition:
    """What the path to a node says of a feature: low < x ≤ high, or one of some categories."""

    low: float | None = None
    high: float | None = None
    categories: tuple[Any, ...] | None = None
    is_missing: bool = True
    """Whether missing values are on the path."""
    is_present: bool = True
    """Whether other values are on the path."""

    def text(self, name: str, decimals: int, show_missing: bool) -> str:
        """Return the condition; missing values are mentioned if asked for, or if they decide."""
        if not self.is_present:
            return f"{name} is missing"
        below = None if self.high is None else f"{self.high:.{decimals}f}"
        above = None if self.low is None else f"{self.low:.{decimals}f}"
        if self.categories is not None:
            text = f"{name} in {{{join_categories(self.categories)}}}"
        elif above is None and below is None:
            return f"{name} is not missing"
        elif above is None:
            text = f"{name} <= {below}"
        elif below is None:
            text = f"{name} > {above}"
        else:
            text = f"{above} < {name} <= {below}"
        return f"({text} or {name} is missing)" if show_missing and self.is_missing else text


Conditions = dict[int, Condition]


def rules_of(
    tree: Tree, wording: Wording, leaf_text: Callable[[int], str], show_missing: bool
) -> Iterator[str]:
    """Yield the rule of each leaf, from left to right."""
    for node, conditions in leaves_of(tree, wording):
        texts = [
            condition.text(wording.names[feature], wording.decimals, show_missing)
            for feature, condition in conditions.items()
        ]
        rows = int(tree.count[node])
        share = 100.0 * rows / max(int(tree.count[0]), 1)
        when = f"if {' and '.join(texts)} then" if texts else "always"
        plural = "row" if rows == 1 else "rows"
        yield f"{when} {leaf_text(node)} ({rows} {plural}, {share:.1f} %)"


def leaves_of(tree: Tree, wording: Wording) -> Iterator[tuple[int, Conditions]]:
    """Yield each leaf with the conditions of its path, in the order of the first tests."""
    stack: list[tuple[int, Conditions]] = [(0, {})]
    while stack:
        node, conditions = stack.pop()
        if tree.feature[node] < 0:
            yield node, conditions
            continue
        feature = int(tree.feature[node])
        known = conditions.get(feature, Condition())
        left, right = _sides(tree, node, known, wording)
        stack.append((int(tree.right[node]), conditions | {feature: right}))
        stack.append((int(tree.left[node]), conditions | {feature: left}))


def _sides(
    tree: Tree, node: int, known: Condition, wording: Wording
) -> tuple[Condition, Condition]:
    """Return what is known of a feature on the two sides of a test of it."""
    missing_left, threshold = bool(tree.missing_left[node]), float(tree.threshold[node])
    left = replace(known, is_missing=known.is_missing and missing_left)
    right = replace(known, is_missing=known.is_missing and not missing_left)
    if tree.category_set[node] >= 0:
        sides = wording.categories(tree, node)
        of_left, of_right = (
            tuple(v for v in side if known.categories is None or v in known.categories)
            for side in sides
        )
        return replace(left, categories=of_left), replace(
            right, categories=of_right, is_present=known.is_present and bool(of_right)
        )
    if threshold == EVERY_NUMBER:  # all numbers, or missing
        return left, replace(right, is_present=False)
    return replace(left, high=threshold), replace(right, low=threshold)
