"""One tree of any tree model as a picture: its nodes, their text, target counts and positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from hedgerow._adaboost.estimators import AdaBoost
from hedgerow._adaboost.model import TreeCommittee
from hedgerow._bagging.estimators import Bagging
from hedgerow._boosting.estimators.base import GradientBoosting
from hedgerow._boosting.model import BoostedModel
from hedgerow._contract import internals
from hedgerow._data.outputs import ClassOutputs
from hedgerow._data.target import has_columns, read_fitted_classes, read_regression_target
from hedgerow._forest.estimator import Forest
from hedgerow._forest.model import ForestModel
from hedgerow._tree.additive import column_names
from hedgerow._tree.decision_tree import DecisionTree
from hedgerow._tree.export import Wording
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot._display import counted, number, short, signed

# Maximum number of leaves and stubs, unless max_depth is set.
MOST_LEAVES = 16
# Bars of a histogram of targets.
BARS = 12
# Maximum number of characters of the categories in a split.
LISTED = 22
# What leaves add to, by the link of a boosted model.
_ADDED_TO = {
    "identity": "the prediction",
    "log": "the logarithm of the prediction",
    "sigmoid": "the log-odds",
    "half_sigmoid": "half the log-odds",
    "margin": "the margin",
    "softmax": "the score",
    "sorted": "the prediction",
}


@dataclass(frozen=True, eq=False)
class TreeDescription:
    """A tree, and how to describe it."""

    tree: Tree
    title: str
    meaning: str  # of the value of a leaf
    wording: Wording  # names of columns and categories
    value_text: Callable[[Floats], str]  # the text of a leaf, of its values
    shares: Callable[[Floats], Floats] | None  # class shares of a node, if its values are these
    leaves: Callable[[Any], NDArray[Any]]  # the leaf of each row of a table
    adds: bool = False  # whether values are added up over trees

    def test(self, node: int) -> str:
        """Return the condition that is true for the rows that go left."""
        tree, wording = self.tree, self.wording
        name = short(wording.names[int(tree.feature[node])])
        if tree.category_set[node] >= 0:
            text = f"{name} is {_listed(wording.categories(tree, node)[0])}"
        elif tree.threshold[node] == np.finfo(np.float64).max:
            return f"{name} is not missing"
        else:
            text = f"{name} ≤ {number(float(tree.threshold[node]))}"
        return text + (" or missing" if tree.missing_left[node] else "")


def describe_tree(model: Any, index: int) -> TreeDescription:
    """Return a tree of a fitted model."""
    if isinstance(model, DecisionTree):
        check_is_fitted(model)
        _require_index(index, 1, model)
        return _decision_tree(model, type(model).__name__, model.apply)
    if isinstance(model, GradientBoosting | AdaBoost | Forest | Bagging):
        check_is_fitted(model)
        return _tree_of_ensemble(model, index)
    raise ParameterError(
        f"model: {type(model).__name__} is not allowed; it must be a fitted decision tree, boosted "
        "model, AdaBoost, forest or bagging of Hedgerow's trees."
    )


def _tree_of_ensemble(model: Any, index: int) -> TreeDescription:
    inner = internals(model).model()
    if isinstance(inner, ForestModel):
        return _forest_tree(model, inner, index)
    if isinstance(inner, BoostedModel):
        return _boosted_tree(model, inner, index)
    if isinstance(inner, TreeCommittee):
        return _adaboost_tree(model, inner, index)
    raise ParameterError(
        f"model: the base models of this {type(model).__name__} are separate estimators. Pass "
        "one of its estimators_ that is a tree."
    )


def _require_index(index: Any, n_trees: int, model: Any) -> None:
    is_int = isinstance(index, int | np.integer) and not isinstance(index, bool)
    if not is_int or not -n_trees <= index < n_trees:
        trees = "one tree" if n_trees == 1 else f"trees 0 to {n_trees - 1}"
        raise ParameterError(
            f"tree={index!r} is not allowed; this {type(model).__name__} has {trees}."
        )


def _decision_tree(tree: Any, title: str, leaves: Callable[[Any], NDArray[Any]]) -> TreeDescription:
    inner = internals(tree).model()
    outputs = inner.outputs
    wording = Wording(inner.schema, inner.category_bins, column_names(inner.schema), 2, True)
    if not (isinstance(outputs, ClassOutputs) and outputs.is_single):
        meaning = "shares of classes" if isinstance(outputs, ClassOutputs) else "predicted value"
        return TreeDescription(inner.tree, title, meaning, wording, _numbers, None, leaves)

    def shares(values: Floats) -> Floats:
        p: Floats = outputs.probabilities(values[np.newaxis])[0][0]
        return p

    def text(values: Floats) -> str:
        p = shares(values)
        return f"{short(outputs.classes[0][p.argmax()], 16)}: {100.0 * p.max():.0f} %"

    meaning = "the largest class and its share"
    return TreeDescription(inner.tree, title, meaning, wording, text, shares, leaves)


def _forest_tree(model: Any, inner: ForestModel, index: int) -> TreeDescription:
    n_trees = inner.forest.n_trees
    _require_index(index, n_trees, model)
    if inner.combinations is not None:
        raise ParameterError(
            "model: with feature_combinations, trees test sums of columns, which have no names."
        )
    one = model[index]
    title = f"Tree {index % n_trees} of {n_trees}, {type(model).__name__}"
    return _decision_tree(one, title, one.apply)


def _boosted_tree(model: Any, inner: BoostedModel, index: int) -> TreeDescription:
    ensemble = inner.ensemble
    _require_index(index, ensemble.n_trees, model)
    place = index % ensemble.n_trees
    names = encoded_names(inner)
    schema = inner.statistics.encoded_schema(inner.schema)
    wording = Wording(schema, inner.category_bins, names, 2, True)
    added_to = _ADDED_TO[inner.link] + _of_output(model, int(ensemble.tree_output[place]))
    if ensemble.n_outputs == ensemble.value.shape[1] > 1:
        added_to = "each output's score"
    title = f"Tree {place} of {ensemble.n_trees}, {type(model).__name__}"
    tree = ensemble.tree(place)
    meaning = f"contribution to {added_to}"
    if tree.slopes is not None:
        meaning += ", before its slopes"

    def leaves(X: Any) -> NDArray[Any]:
        return model.apply(X)[:, place]

    return TreeDescription(tree, title, meaning, wording, _added, None, leaves, adds=True)


def _adaboost_tree(model: Any, inner: TreeCommittee, index: int) -> TreeDescription:
    ensemble = inner.ensemble
    _require_index(index, ensemble.n_trees, model)
    place = index % ensemble.n_trees
    wording = Wording(inner.schema, inner.category_bins, column_names(inner.schema), 2, True)
    is_regressor = inner.classes is None
    meaning = "predicted value" if is_regressor else "contribution to the scores of the classes"
    if inner.classes is not None and len(inner.classes) == 2 and ensemble.value.shape[1] == 1:
        meaning = f"contribution to the score of {short(inner.classes[1])}"
    title = f"Tree {place} of {ensemble.n_trees}, {type(model).__name__}"

    def leaves(X: Any) -> NDArray[Any]:
        return ensemble.apply(internals(model).matrix(X))[:, place]

    text = _numbers if is_regressor else _added
    tree = ensemble.tree(place)
    return TreeDescription(tree, title, meaning, wording, text, None, leaves, adds=not is_regressor)


def _of_output(model: Any, output: int) -> str:
    """Return the class or output that a tree contributes to, if there are several."""
    classes = getattr(model, "classes_", None)
    if isinstance(classes, list):
        return f" of label {output}"
    if classes is not None:
        return f" of {short(classes[1 if len(classes) == 2 else output])}"
    return f" of output {output}" if getattr(model, "n_outputs_", 1) > 1 else ""


def encoded_names(inner: BoostedModel) -> list[str]:
    """Return the names of features: columns, or target statistics of categorical columns."""
    names, encoded = column_names(inner.schema), set(inner.statistics.features)
    return [
        f"mean target of {names[source]}" if source in encoded else names[source]
        for source in inner.statistics.sources.tolist()
    ]


def _numbers(values: Floats, text_of: Callable[[float], str] = number) -> str:
    first = ", ".join(text_of(float(value)) for value in values[:3])
    return first + (f", … {len(values) - 3} more" if len(values) > 3 else "")


def _added(values: Floats) -> str:
    return _numbers(values, signed)


def _listed(categories: Sequence[Any]) -> str:
    """List as many categories as there is space for, and count the others."""
    texts = [short(category, LISTED) for category in categories]
    n_listed, length = 0, 0
    for text in texts:
        length += len(text) + 2
        if n_listed and length > LISTED:
            break
        n_listed += 1
    listed, more = texts[:n_listed], len(texts) - n_listed
    if more:
        return ", ".join(listed) + f", … {more} more"
    return " or ".join([", ".join(listed[:-1]), listed[-1]]) if len(listed) > 1 else "".join(listed)


@dataclass(frozen=True, eq=False)
class PictureNode:
    """A node of the picture. A stub replaces a subtree that is too deep to be drawn."""

    node: int  # its index in the tree
    kind: Literal["split", "leaf", "stub"]
    depth: int  # number of splits above it
    children: tuple[int, int] | None  # their indices among the nodes of the picture
    lines: tuple[str, ...]  # its text, the most important line first
    share: float  # its fraction of the root's cover
    value: Floats  # in the tree
    bars: Floats | None = None  # rows of a leaf by class, or by bin of their target


@dataclass(frozen=True, eq=False)
class Targets:
    """Target counts of the leaves: by class, or by bin.

    `bars` is (n_nodes, n_bars), filled for leaves; `edges` are those of the bins, None for classes.
    """

    bars: Floats
    edges: Floats | None


def count_targets(model: Any, description: TreeDescription, X: Any, y: Any) -> Targets | None:
    """Count the targets of rows by leaf; without rows, use the class shares of the leaves."""
    if (X is None) != (y is None):
        raise ParameterError("pass both X and y, or neither.")
    if X is None:
        return _shares(description)
    if has_columns(y) or (np.asarray(y).dtype.names is not None):
        raise ParameterError(
            "y has several columns, but leaves can only show one target. Omit X and y."
        )
    leaves = description.leaves(X)
    if is_classifier(model):
        return _class_counts(model, description, y, leaves)
    numbers = read_regression_target(y, len(leaves), estimator_name=type(model).__name__)
    low, high = float(numbers.min()), float(numbers.max())
    edges = np.linspace(low, high if high > low else low + 1.0, BARS + 1)
    place = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, BARS - 1)
    return Targets(_counts(leaves, place, description.tree.n_nodes, BARS), edges)


def _shares(description: TreeDescription) -> Targets | None:
    if description.shares is None:
        return None
    shares = np.array([description.shares(value) for value in description.tree.value])
    return Targets(shares * description.tree.cover[:, np.newaxis], None)


def _class_counts(
    model: Any, description: TreeDescription, y: Any, leaves: NDArray[Any]
) -> Targets:
    if isinstance(model.classes_, list):
        raise ParameterError(
            "model is multilabel, but leaves can only show one label. Omit X and y."
        )
    name = type(model).__name__
    place = read_fitted_classes(y, model.classes_, len(leaves), estimator_name=name)
    return Targets(_counts(leaves, place, description.tree.n_nodes, len(model.classes_)), None)


def _counts(leaves: NDArray[Any], place: NDArray[Any], n_nodes: int, n_bars: int) -> Floats:
    flat = np.bincount(leaves * n_bars + place, minlength=n_nodes * n_bars)
    return flat.reshape(n_nodes, n_bars).astype(np.float64)


def picture_nodes(
    description: TreeDescription, targets: Targets | None, max_depth: float
) -> tuple[PictureNode, ...]:
    """Return the nodes of a picture, parents before children."""
    tree = description.tree
    todo = [(0, 0)]
    visible: list[tuple[int, int]] = []
    children: list[tuple[int, int] | None] = []
    for node, depth in todo:
        visible.append((node, depth))
        if tree.feature[node] >= 0 and depth < max_depth:
            children.append((len(todo), len(todo) + 1))
            todo += [(int(tree.left[node]), depth + 1), (int(tree.right[node]), depth + 1)]
        else:
            children.append(None)
    leaves_below = _leaves_below(tree)
    return tuple(
        _picture_node(description, targets, node, depth, below, int(leaves_below[node]))
        for (node, depth), below in zip(visible, children, strict=True)
    )


def path_of(
    description: TreeDescription, nodes: Sequence[PictureNode], row: Any
) -> tuple[int, ...]:
    """Return the indices among the nodes of a picture that one row passes, from the root on."""
    leaves = description.leaves(row)
    if len(leaves) != 1:
        raise DataError(f"row has {len(leaves)} rows; it must be a table with one row.")
    passed = set(description.tree.paths(leaves.astype(np.int32)).indices.tolist())
    return tuple(place for place, node in enumerate(nodes) if node.node in passed)


def _picture_node(
    description: TreeDescription,
    targets: Targets | None,
    node: int,
    depth: int,
    children: tuple[int, int] | None,
    n_leaves: int,
) -> PictureNode:
    tree, root_cover = description.tree, float(description.tree.cover[0])
    share = float(tree.cover[node]) / root_cover if root_cover > 0.0 else 1.0
    rows = counted(int(tree.count[node]), "row")
    if tree.feature[node] < 0:
        lines: tuple[str, ...] = (description.value_text(tree.value[node]), rows)
        bars = None if targets is None else targets.bars[node]
        return PictureNode(node, "leaf", depth, None, lines, share, tree.value[node], bars)
    if children is None:
        lines = (f"… {n_leaves} more leaves", rows)
        return PictureNode(node, "stub", depth, None, lines, share, tree.value[node])
    cover, count = float(tree.cover[node]), float(tree.count[node])
    is_weighted = abs(cover - count) > 1e-6 * count
    gain = f"gain {number(float(tree.gain[node]))}"
    size = f"{rows}, cover {number(cover)}" if is_weighted else rows
    lines = (description.test(node), f"{gain} · {size}")
    return PictureNode(node, "split", depth, children, lines, share, tree.value[node])


def _leaves_below(tree: Tree) -> NDArray[np.int64]:
    """Return the number of leaves at or below each node; children come after their parents."""
    n_leaves = np.ones(tree.n_nodes, np.int64)
    for node in reversed(np.flatnonzero(tree.feature >= 0).tolist()):
        n_leaves[node] = n_leaves[tree.left[node]] + n_leaves[tree.right[node]]
    return n_leaves


def readable_depth(tree: Tree) -> int:
    """Return the largest depth at which there are few enough nodes; at least 1."""
    ends, level, depth = 0, np.array([0]), 0
    while len(level):
        inner = level[tree.feature[level] >= 0]
        ends += len(level) - len(inner)
        if ends + 2 * len(inner) > MOST_LEAVES:
            return max(depth, 1)
        level = np.concatenate([tree.left[inner], tree.right[inner]])
        depth += 1
    return depth


# The left and right edge of a subtree on each level, relative to its root's centre.
_Outline = list[tuple[float, float]]


def tidy_positions(
    children: Sequence[tuple[int, int] | None], widths: Sequence[float], gap: float
) -> Floats:
    """Return the x of each node's centre; the leftmost edge is at 0.

    Reingold and Tilford, "Tidier drawings of trees", 1981: subtrees are laid out separately, then
    moved together until their outlines are `gap` apart on every level; a parent is above the middle
    of its children. Here nodes have different widths. Node 0 is the root, and children, the left
    and right one of each node or None, come after their parent.
    """
    outlines: list[_Outline] = [[]] * len(children)
    half_distance = np.zeros(len(children))
    for node in reversed(range(len(children))):
        half, below = widths[node] / 2.0, children[node]
        outlines[node] = [(-half, half)]
        if below is not None:
            left, right = (outlines[child] for child in below)
            distance = max(a[1] - b[0] for a, b in zip(left, right, strict=False)) + gap
            half_distance[node] = distance / 2.0
            outlines[node] += _side_by_side(left, right, distance / 2.0)
    x = np.zeros(len(children))
    for node, below in enumerate(children):
        if below is not None:
            x[below[0]] = x[node] - half_distance[node]
            x[below[1]] = x[node] + half_distance[node]
    return x - min(edge for edge, _ in outlines[0])


def _side_by_side(left: _Outline, right: _Outline, half: float) -> _Outline:
    """Return the outline of two subtrees whose roots are at −half and half."""
    levels = zip_longest(
        [(a - half, b - half) for a, b in left], [(a + half, b + half) for a, b in right]
    )
    return [((a or b)[0], (b or a)[1]) for a, b in levels]
