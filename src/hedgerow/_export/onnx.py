"""A model as ONNX, with strings, missing values and links inside the graph, in double precision.

    columns ─▶ codes of categories ─▶ features ─▶ TreeEnsemble ─▶ link ─▶ label, probabilities

A graph has an input of shape (n, 1) for each column: doubles, or strings for categories that are
strings. Every distinct set of categories that a split tests is a feature of its own, 0 for members
and 1 for others, which a table lookup computes. Chains of comparisons with single categories, into
which runtimes expand set membership, are thus avoided, and columns may have many thousands of
categories.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._export.onnx_graph import ML, OnnxGraph, label_values
from hedgerow._export.portable import PortableColumn, PortableModel
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats

_LESS_OR_EQUAL, _SUM = 0, 1  # of TreeEnsemble
_MEMBER, _OTHER = 0.0, 1.0
_MISSING_TEXTS = ("", "NaN", "<missing>", "<missing value>")


def onnx_refusal(model: PortableModel) -> str | None:
    """Return why ONNX cannot hold a model."""
    if model.ensemble.slopes is not None:
        return "it cannot represent linear_leaves"
    for column in model.columns:
        if set(_MISSING_TEXTS) <= set(column.labels):
            return (
                f"ONNX has no missing strings, and all texts that could stand for them, "
                f"{', '.join(map(repr, _MISSING_TEXTS))}, are categories of column {column.name!r}"
            )
    return None


def onnx_bytes(model: PortableModel) -> bytes:
    """Return the bytes of an ONNX model."""
    graph = OnnxGraph([column.name for column in model.columns])
    features, place = _features(graph, model)
    scores = _scores(graph, model, features, place)
    _outputs(graph, model, _prediction(graph, model, scores))
    return graph.serialised(model.kind)


# A numeric feature of the trees, or a set of categories of one.
_Key = tuple[int, bytes]


def _features(graph: OnnxGraph, model: PortableModel) -> tuple[str, dict[_Key, int]]:
    """Return the matrix of features, and the column of each feature and set in it."""
    place: dict[_Key, int] = {}
    blocks = []
    for column in model.columns:
        block, keys = _block(graph, model, column)
        if keys:
            blocks.append(block)
        for key in keys:
            place[key] = len(place)
    return graph.apply("Concat", *blocks, axis=1), place


def _block(
    graph: OnnxGraph, model: PortableModel, column: PortableColumn
) -> tuple[str, list[_Key]]:
    """Return the features of a column side by side, and which these are."""
    is_text = column.categories is not None and column.categories.kind == "string"
    values = graph.input(column.name, is_text)
    if column.numbers is None:
        return values, [(column.features[0], b"")]
    if column.is_set:
        keys, table = _membership(model, column)
    else:
        keys = [(feature, b"") for feature in column.features]
        table = column.numbers.T
    if not keys:
        return "", []
    codes = _codes(graph, column, values, is_text)
    rows = graph.apply("Gather", graph.constant(np.ascontiguousarray(table)), codes)  # (n, 1, m)
    shape = graph.constant(np.array([-1, len(keys)], np.int64))
    return graph.apply("Reshape", rows, shape), keys


def _codes(graph: OnnxGraph, column: PortableColumn, values: str, is_text: bool) -> str:
    """Return the codes of categories, of shape (n, 1); n_categories if unknown, then missing."""
    n = len(column.labels)
    if is_text:
        # ONNX has no missing strings: the first of these that is not a category is one.
        missing_text = next(text for text in _MISSING_TEXTS if text not in column.labels)
        labels: NDArray[Any] = np.array([*column.labels, missing_text], object)
        codes = np.array([*range(n), n + 1])
    else:
        labels, codes = np.array(column.labels, np.float64), np.arange(n)
    found = graph.apply(
        "LabelEncoder",
        values,
        domain=ML,
        keys_tensor=labels,
        values_tensor=codes.astype(np.int64),
        default_tensor=np.array([n], np.int64),
    )
    if is_text:
        return found
    missing = graph.constant(np.array([n + 1], np.int64))
    return graph.apply("Where", graph.apply("IsNaN", values), missing, found)


def _membership(model: PortableModel, column: PortableColumn) -> tuple[list[_Key], Floats]:
    """Return the sets of a column, and a table (n_categories + 2, n_sets) of their members."""
    ensemble, (feature,) = model.ensemble, column.features
    used = ensemble.category_set[(ensemble.feature == feature) & (ensemble.category_set >= 0)]
    sets = np.unique(ensemble.category_bits[np.unique(used)], axis=0)
    table = np.full((len(column.labels) + 2, len(sets)), np.nan)
    for k, bits in enumerate(sets):
        table[:-2, k] = np.where(column.members(bits), _MEMBER, _OTHER)
    if column.has_unknown_bin:  # which is a member of no set
        table[-2] = _OTHER
    return [(feature, bits.tobytes()) for bits in sets], table


@dataclass
class _EnsembleAttributes:
    """The attributes of the operator TreeEnsemble."""

    roots: list[int] = field(default_factory=list)
    features: list[int] = field(default_factory=list)
    splits: list[float] = field(default_factory=list)
    missing_left: list[int] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=lambda: [[], []])
    are_leaves: list[list[int]] = field(default_factory=lambda: [[], []])
    targets: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, tree: Tree, value: Floats, target: int, place: dict[_Key, int]) -> None:
        """Add a tree with at least one split."""
        is_leaf = tree.feature < 0
        inner = np.flatnonzero(~is_leaf)
        first, first_leaf = len(self.features), len(self.values)
        n_leaves = np.cumsum(is_leaf, dtype=np.int64)
        number = np.where(
            is_leaf, first_leaf + n_leaves - 1, first + np.arange(tree.n_nodes) - n_leaves
        )
        if number[tree.left[0]] == number[tree.right[0]]:
            # A leaf and a node: onnxruntime 1.23 takes such a root for a leaf. Another leaf, to
            # which no node refers, shifts the numbers of the leaves.
            number += is_leaf
            self.targets.append(target)
            self.values.append(0.0)
        self.roots.append(first)
        for node in inner.tolist():
            key, split = _test(tree, node)
            self.features.append(place[key])
            self.splits.append(split)
        self.missing_left += tree.missing_left[inner].astype(int).tolist()
        for side, child in enumerate((tree.left[inner], tree.right[inner])):
            self.children[side] += number[child].tolist()
            self.are_leaves[side] += is_leaf[child].astype(int).tolist()
        self.targets += [target] * int(is_leaf.sum())
        self.values += value[is_leaf].tolist()


def _test(tree: Tree, node: int) -> tuple[_Key, float]:
    """Return the feature of a node, and the largest number that goes left."""
    which = tree.category_set[node]
    if which < 0:
        return (int(tree.feature[node]), b""), float(tree.threshold[node])
    bits = tree.category_bits[which].tobytes()
    return (int(tree.feature[node]), bits), 0.5 * (_MEMBER + _OTHER)


def _scores(graph: OnnxGraph, model: PortableModel, features: str, place: dict[_Key, int]) -> str:
    """Return the sum over the trees, (n, n_outputs)."""
    ensemble, nodes = model.ensemble, _EnsembleAttributes()
    base = ensemble.base_score.copy()
    for t in range(ensemble.n_trees):
        tree = ensemble.tree(t)
        outputs = range(model.width) if model.width > 1 else [int(ensemble.tree_output[t])]
        for column, output in enumerate(outputs):
            if tree.n_nodes == 1:
                base[output] += tree.value[0, column]
            else:
                nodes.add(tree, tree.value[:, column], output, place)
    constant = graph.constant(base[np.newaxis])
    if not nodes.roots:
        n_rows = graph.apply("Shape", features, start=0, end=1)
        shape = graph.apply("Concat", n_rows, graph.constant(np.array([1], np.int64)), axis=0)
        return graph.apply("Expand", constant, shape)
    return graph.apply("Add", _tree_sum(graph, nodes, features, ensemble.n_outputs), constant)


def _tree_sum(graph: OnnxGraph, nodes: _EnsembleAttributes, features: str, n_outputs: int) -> str:
    return graph.apply(
        "TreeEnsemble",
        features,
        domain=ML,
        n_targets=n_outputs,
        aggregate_function=_SUM,
        post_transform=0,
        tree_roots=nodes.roots,
        nodes_featureids=nodes.features,
        nodes_modes=np.full(len(nodes.features), _LESS_OR_EQUAL, np.uint8),
        nodes_splits=np.array(nodes.splits),
        nodes_truenodeids=nodes.children[0],
        nodes_falsenodeids=nodes.children[1],
        nodes_trueleafs=nodes.are_leaves[0],
        nodes_falseleafs=nodes.are_leaves[1],
        nodes_missing_value_tracks_true=nodes.missing_left,
        leaf_targetids=nodes.targets,
        leaf_weights=np.array(nodes.values),
    )


def _prediction(graph: OnnxGraph, model: PortableModel, scores: str) -> str:
    """Return predictions, or one probability of each pair."""
    if model.n_averaged > 1:
        return graph.apply("Div", scores, graph.constant(np.float64(model.n_averaged)))
    if model.calibration is not None:
        return _calibrated(graph, model, scores)
    if model.link == "half_sigmoid":
        return graph.apply("Sigmoid", graph.apply("Add", scores, scores))
    if model.link == "softmax":
        return graph.apply("Softmax", scores, axis=1)
    if model.link == "sorted":
        return _sorted(graph, scores, model.ensemble.n_outputs)
    operation = {"log": "Exp", "sigmoid": "Sigmoid"}.get(model.link)
    return scores if operation is None else graph.apply(operation, scores)


def _sorted(graph: OnnxGraph, scores: str, n: int) -> str:
    """Return each row in increasing order."""
    k = graph.constant(np.array([n], np.int64))
    return graph.apply("TopK", scores, k, axis=1, largest=0, n_results=2)


def _calibrated(graph: OnnxGraph, model: PortableModel, scores: str) -> str:
    calibration, n_outputs = model.calibration, model.ensemble.n_outputs
    assert calibration is not None
    if calibration.method == "isotonic":
        curves = calibration.curves()
        columns = [_curve(graph, scores, k, *curve) for k, curve in enumerate(curves)]
        p = graph.apply("Concat", *columns, axis=1)
    else:
        scaled = graph.apply("Mul", scores, graph.constant(calibration.slope[np.newaxis]))
        raw = graph.apply("Add", scaled, graph.constant(calibration.offset[np.newaxis]))
        if calibration.method == "temperature" and n_outputs > 1:
            return graph.apply("Softmax", raw, axis=1)
        p = graph.apply("Sigmoid", raw)
    if n_outputs == 1:
        return p
    total = graph.apply("ReduceSum", p, graph.constant(np.array([1], np.int64)), keepdims=1)
    positive = graph.apply("Greater", total, graph.constant(np.float64(0.0)))
    equal = graph.constant(np.float64(1.0 / n_outputs))
    one = graph.apply("Where", positive, total, graph.constant(np.float64(1.0)))
    return graph.apply("Where", positive, graph.apply("Div", p, one), equal)


def _curve(graph: OnnxGraph, scores: str, k: int, x: Floats, y: Floats) -> str:
    """Return the broken line through (x, y) at a column of scores, (n, 1)."""
    score = graph.apply("Gather", scores, graph.constant(np.array([k], np.int64)), axis=1)
    passed = graph.apply("LessOrEqual", graph.constant(x[np.newaxis]), score)
    counts = graph.apply("Cast", passed, to=7)  # int64
    piece = graph.apply("ReduceSum", counts, graph.constant(np.array([1], np.int64)), keepdims=1)
    slope = np.concatenate([[0.0], np.diff(y) / np.diff(x), [0.0]])
    low, start = np.append(x[0], x), np.append(y[0], y)
    at = [graph.apply("Gather", graph.constant(values), piece) for values in (slope, low, start)]
    rise = graph.apply("Mul", at[0], graph.apply("Sub", score, at[1]))
    return graph.apply("Add", rise, at[2])


def _outputs(graph: OnnxGraph, model: PortableModel, p: str) -> None:
    """Declare the outputs: label and probabilities of a classifier, otherwise the prediction."""
    with_pairs = _with_complements(graph, model, p)
    name = "probabilities" if model.classes else "prediction"
    if len(model.classes) == 1 and model.link != "margin":
        classes = label_values(model.classes[0])
        best = graph.apply("ArgMax", with_pairs, axis=1, keepdims=0)
        label = graph.apply("Gather", graph.constant(classes), best)
        graph.output(label, "label", classes, None)
    graph.output(with_pairs, name, np.empty(0), model.n_predictions)


def _with_complements(graph: OnnxGraph, model: PortableModel, p: str) -> str:
    if not model.pairs:
        return p
    columns: list[str] = []
    one = graph.constant(np.float64(1.0))
    for k in range(model.ensemble.n_outputs):
        column = graph.apply("Gather", p, graph.constant(np.array([k], np.int64)), axis=1)
        columns += [graph.apply("Sub", one, column)] if k in model.pairs else []
        columns.append(column)
    return graph.apply("Concat", *columns, axis=1)
