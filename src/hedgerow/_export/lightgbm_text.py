"""A model as LightGBM's text format, which holds it without loss.

LightGBM, Triton's FIL backend, treelite and readers in Go, Java, R and Rust take it. Scores are
those of the model, bit for bit: thresholds, leaf values and sums are float64, and trees are added
in order. What differs:

- LightGBM has no base score. It is added to the leaves of the first tree of each output, which is
  the first addition of a prediction here, too.
- There, a missing or unknown category always goes right. A split that sends it left is written with
  its children exchanged: the set lists the categories that go right here.
- LightGBM reads numbers of at most 1e-35 in absolute value as 0, which no threshold can undo.
- Leaves have one value: a tree with a value for each output becomes a tree for each output.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.names import without_spaces
from hedgerow._export.portable import PortableColumn, PortableModel
from hedgerow._tree.structure import Tree

_CATEGORICAL, _DEFAULT_LEFT, _NAN_IS_MISSING = 1, 2, 8  # decision_type
_OBJECTIVES = {
    "identity": "regression",
    "log": "poisson",
    "sigmoid": "binary sigmoid:1",
    "half_sigmoid": "binary sigmoid:2",
    "softmax": "multiclass num_class:{n}",
}
_INDEPENDENT = {"sigmoid": "multiclassova num_class:{n} sigmoid:1"}


def lightgbm_text(model: PortableModel) -> str:
    """Return the text of a model file of LightGBM."""
    trees = [_tree_text(i, fields) for i, fields in enumerate(_trees(model))]
    sizes = " ".join(str(len(tree.encode())) for tree in trees)
    header = "\n".join([*_header(model), f"tree_sizes={sizes}", "", ""])
    categorical = [list(c.labels) for c in model.columns if c.is_set]
    return (
        f"{header}{''.join(trees)}end of trees\n\nfeature_importances:\n"
        f"{_importances(model)}\nparameters:\nend of parameters\n\n"
        f"pandas_categorical:{json.dumps(categorical or None)}\n"
    )


def lightgbm_refusal(model: PortableModel) -> str | None:
    """Return why LightGBM's text format cannot hold a model."""
    ensemble, links = model.ensemble, _links(model)
    if ensemble.slopes is not None:
        return "it cannot represent linear_leaves"
    if model.calibration is not None:
        return "it cannot represent calibration"
    if model.link not in links and model.link not in ("identity", "margin"):
        return (
            f"LightGBM has no objective with {ensemble.n_outputs} outputs whose predictions are "
            f"computed from scores by {model.link!r}"
        )
    return next(filter(None, map(_refusal_of_column, model.columns)), None)


def _refusal_of_column(column: PortableColumn) -> str | None:
    if column.numbers is not None and not column.is_set:
        return (
            f"the categories of column {column.name!r} are encoded by target statistics. Fit the "
            "model with a larger max_categories"
        )
    if column.has_unknown_bin:
        return (
            f"unknown categories of column {column.name!r} do not take the same branch as missing "
            "values"
        )
    if any(letter in column.name for letter in '",:[]{}'):
        return (
            f"LightGBM does not allow the column name {column.name!r}, because names must not "
            'contain any of " , : [ ] { }'
        )
    return None


def _header(model: PortableModel) -> Iterator[str]:
    n_outputs = model.ensemble.n_outputs
    yield "tree"
    yield "version=v4"
    yield f"num_class={n_outputs}"
    yield f"num_tree_per_iteration={n_outputs}"
    yield "label_index=0"
    yield f"max_feature_idx={len(model.columns) - 1}"
    objective = _objective(model)
    if objective is not None:
        yield f"objective={objective}"
    if model.n_averaged > 1:
        yield "average_output"
    yield f"feature_names={' '.join(without_spaces(column.name) for column in model.columns)}"
    yield f"feature_infos={' '.join(map(_feature_info, model.columns))}"


def _objective(model: PortableModel) -> str | None:
    """Return the objective whose link is the model's; None: predictions are the scores."""
    objective = _links(model).get(model.link)
    return None if objective is None else objective.format(n=model.ensemble.n_outputs)


def _links(model: PortableModel) -> dict[str, str]:
    """Return the objective of each link, for models with as many outputs."""
    is_joint = model.ensemble.n_outputs == 1 or model.link == "softmax"
    return _OBJECTIVES if is_joint else _INDEPENDENT


def _feature_info(column: PortableColumn) -> str:
    """Return the range of a column; "none" is one that no tree uses."""
    codes = range(len(column.labels))
    return (":".join(map(str, codes)) or "none") if column.is_set else "[-inf:inf]"


def _trees(model: PortableModel) -> Iterator[dict[str, str]]:
    """Yield the fields of each tree of LightGBM, in the order of rounds and outputs."""
    ensemble = model.ensemble
    n_outputs, per_round = ensemble.n_outputs, ensemble.trees_per_round
    if ensemble.n_trees == 0:
        yield from (_constant(base) for base in ensemble.base_score)
        return
    for t in range(ensemble.n_trees):
        tree, is_first = ensemble.tree(t), t < per_round
        outputs = range(n_outputs) if model.width > 1 else [int(ensemble.tree_output[t])]
        for column, output in enumerate(outputs):
            value = tree.value[:, column]
            yield _fields(model, tree, ensemble.base_score[output] + value if is_first else value)


def _constant(value: float) -> dict[str, str]:
    return {"num_leaves": "1", "num_cat": "0", "leaf_value": repr(float(value)), "shrinkage": "1"}


def _fields(model: PortableModel, tree: Tree, value: NDArray[np.float64]) -> dict[str, str]:
    """Return the fields of a tree: inner nodes and leaves are numbered apart."""
    if tree.n_nodes == 1:
        return _constant(value[0])
    is_leaf = tree.feature < 0
    inner = np.flatnonzero(~is_leaf)
    n_leaves = np.cumsum(is_leaf, dtype=np.int64)  # up to each node
    number = np.where(is_leaf, -n_leaves, np.arange(tree.n_nodes) - n_leaves)  # leaf k is ~k
    sets = _Sets(model, tree)
    left = np.where(sets.is_exchanged, tree.right, tree.left)
    right = np.where(sets.is_exchanged, tree.left, tree.right)
    fields = {
        "num_leaves": str(int(is_leaf.sum())),
        "num_cat": str(len(sets.words)),
        "split_feature": _integers(tree.feature[inner]),
        "split_gain": _numbers(tree.gain[inner]),
        "threshold": _numbers(np.where(sets.index >= 0, sets.index, tree.threshold)[inner]),
        "decision_type": _integers(sets.decision_type[inner]),
        "left_child": _integers(number[left[inner]]),
        "right_child": _integers(number[right[inner]]),
        "leaf_value": _numbers(value[is_leaf]),
        "leaf_weight": _numbers(tree.cover[is_leaf]),
        "leaf_count": _integers(tree.count[is_leaf]),
        "internal_value": _numbers(value[inner]),
        "internal_weight": _numbers(tree.cover[inner]),
        "internal_count": _integers(tree.count[inner]),
    }
    if sets.words:
        ends = np.cumsum([0, *map(len, sets.words)])
        fields["cat_boundaries"] = _integers(ends)
        fields["cat_threshold"] = _integers(np.concatenate(sets.words))
    return fields | {"is_linear": "0", "shrinkage": "1"}


class _Sets:
    """The sets of the categorical splits of a tree, by codes of categories instead of bins.

    Attributes
    ----------
    words : list of uint32 arrays
        A set of codes for each categorical split, as bits.
    index : int array (n_nodes,)
        The set of a node, −1 if it has none.
    is_exchanged : bool array (n_nodes,)
        Whether the set lists the categories that go right, because missing values go left.
    decision_type : int array (n_nodes,)
    """

    def __init__(self, model: PortableModel, tree: Tree) -> None:
        is_set = tree.category_set >= 0
        self.words: list[NDArray[np.uint32]] = []
        self.index = np.full(tree.n_nodes, -1)
        self.is_exchanged = is_set & tree.missing_left
        numeric = _NAN_IS_MISSING + _DEFAULT_LEFT * tree.missing_left
        self.decision_type = np.where(is_set, _CATEGORICAL, numeric)
        for node in np.flatnonzero(is_set):
            bits = tree.category_bits[tree.category_set[node]]
            is_left = model.columns[tree.feature[node]].members(bits)
            self.index[node] = len(self.words)
            self.words.append(_as_words(is_left ^ self.is_exchanged[node]))


def _as_words(members: NDArray[np.bool_]) -> NDArray[np.uint32]:
    padded = np.append(members, np.zeros(-len(members) % 32, bool))
    return np.packbits(padded, bitorder="little").view("<u4")


def _tree_text(index: int, fields: dict[str, str]) -> str:
    lines = [f"Tree={index}", *(f"{name}={value}" for name, value in fields.items())]
    return "\n".join([*lines, "", "", ""])


def _importances(model: PortableModel) -> str:
    """Return how often each column is split on, the most frequent first."""
    ensemble = model.ensemble
    counts = np.bincount(ensemble.feature[ensemble.feature >= 0], minlength=len(model.columns))
    order = np.argsort(-counts, kind="stable")
    used = [j for j in order.tolist() if counts[j] > 0]
    return "".join(f"{without_spaces(model.columns[j].name)}={counts[j]}\n" for j in used)


def _integers(values: Any) -> str:
    return " ".join(map(str, np.asarray(values).astype(np.int64).tolist()))


def _numbers(values: NDArray[Any]) -> str:
    return " ".join(map(repr, np.asarray(values, np.float64).tolist()))
