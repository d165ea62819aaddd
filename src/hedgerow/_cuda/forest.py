"""The trees of a model on a device, and the scores of rows there: the bits of the CPU.

`PackedTrees` are the arrays of `kernels/predict.cu`: nodes whose siblings are neighbours, grouped
into chunks that pass through shared memory together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._cuda.device import Device, DeviceArray
from hedgerow._cuda.intake import DeviceRows, rounded_down
from hedgerow._tree.structure import OWN_ARITHMETIC, Ensemble
from hedgerow._types import Floats

# What a node has room for.
_MOST_NODES = 1 << 16
_MOST_FEATURES = 1 << 14
_MOST_SETS = 1 << 24
_MISSING_LEFT, _CATEGORICAL = 1 << 30, 1 << 31
# Bytes of trees that a block has in shared memory: about eight trees of depth 8.
_TREE_BYTES = 48 << 10
_MOST_THREADS = 512
_FEWEST_THREADS = 64  # with fewer, rows are read where they are
_CHECK_THREADS = 256

_CHUNK = np.dtype(
    [
        (name, np.uint32)
        for name in (
            *("first_tree", "n_trees", "first_node", "n_nodes", "first_leaf", "n_leaves"),
            *("is_staged", "unused"),
        )
    ]
)
_PREDICTION = np.dtype(
    [
        ("numbers", np.uint64),
        ("row_stride", np.int64),
        ("column_stride", np.int64),
        ("n_rows", np.uint64),
        *((name, np.uint64) for name in ("columns", "category_starts", "categories")),
        *((name, np.uint64) for name in ("category_bins", "nodes", "values", "category_sets")),
        *((name, np.uint64) for name in ("trees", "chunks", "chunk_starts", "start")),
        ("start_stride", np.uint64),
        ("scores", np.uint64),
        *((name, np.int32) for name in ("n_features", "n_outputs", "n_values")),
        *((name, np.int32) for name in ("tree_bytes", "stages_rows", "has_sets")),
    ]
)

# For a categorical column: its categories as numbers, sorted, and the bin of each.
CategoryNumbers = Mapping[int, tuple[Floats, NDArray[np.uint8]]]


def can_be_packed(ensemble: Ensemble) -> bool:
    """Return whether nodes have room for the trees, and a device has their arithmetic."""
    largest = int(np.diff(ensemble.tree_offset).max(initial=0))
    n_used = len(np.unique(ensemble.feature[ensemble.feature >= 0]))
    return (
        ensemble.slopes is None
        and ensemble.arithmetic == OWN_ARITHMETIC
        and largest < _MOST_NODES
        and n_used < _MOST_FEATURES
        and len(ensemble.category_bits) < _MOST_SETS
    )


@dataclass(frozen=True, eq=False)
class PackedTrees:
    """Trees as kernels read them.

    Attributes
    ----------
    columns : int32 array
        The features that trees use, in the order of their numbers in nodes.
    nodes : array of structs
        All nodes; those of a tree begin at an even place.
    values : array of shape (n_leaves, n_values)
        The leaf values; those of a tree begin at an even place.
    trees : uint32 array of shape (n_trees, 2)
        Where nodes and leaves of each tree begin in its chunk. Trees are in the order of outputs.
    chunks, chunk_starts : arrays
        The chunks, and the first one of each output.
    """

    columns: NDArray[np.int32]
    nodes: NDArray[Any]
    values: Floats
    trees: NDArray[np.uint32]
    chunks: NDArray[Any]
    chunk_starts: NDArray[np.int32]

    @classmethod
    def of(cls, ensemble: Ensemble, dtype: np.dtype[Any], tree_bytes: int) -> PackedTrees:
        """Pack the trees for rows of float32 or float64."""
        columns = np.unique(ensemble.feature[ensemble.feature >= 0])
        layout = _TreeLayout(ensemble)
        nodes = layout.nodes(columns, dtype)
        chunks, starts, places = layout.chunks(nodes.itemsize, tree_bytes)
        return cls(columns, nodes, layout.values(), places, chunks, starts)


class _TreeLayout:
    """Where the nodes and leaves of an ensemble go: trees by output, siblings side by side."""

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble = e = ensemble
        self.order = np.argsort(e.tree_output, kind="stable")
        sizes, leaf = np.diff(e.tree_offset), e.feature < 0
        leaves_before = np.concatenate([[0], np.cumsum(leaf)])
        n_leaves = np.diff(leaves_before[e.tree_offset])
        self.tree_nodes, self.tree_leaves = _even(sizes), _even(n_leaves)
        self._node_begin = self._begins(self.tree_nodes)
        self._leaf_begin = self._begins(self.tree_leaves)
        # The children of the i-th inner node of a tree are its nodes 2 i + 1 and 2 i + 2.
        tree = np.repeat(np.arange(e.n_trees), sizes)
        inner = np.flatnonzero(~leaf)
        rank = inner - e.tree_offset[tree[inner]]
        rank = rank - (leaves_before[inner] - leaves_before[e.tree_offset[tree[inner]]])
        self._inner, self._left = inner, 2 * rank + 1
        place = np.zeros(e.n_nodes, np.int64)
        first = e.tree_offset[tree[inner]]
        place[first + e.left[inner]] = self._left
        place[first + e.right[inner]] = self._left + 1
        self._node_place = place + self._node_begin[tree]
        self._leaves = np.flatnonzero(leaf)
        self._leaf_number = leaves_before[self._leaves] - leaves_before[e.tree_offset][tree[leaf]]
        self._leaf_place = self._leaf_number + self._leaf_begin[tree[leaf]]

    def _begins(self, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where each tree begins, in the order of outputs."""
        begins = np.empty(len(sizes), np.int64)
        begins[self.order] = np.cumsum(sizes[self.order]) - sizes[self.order]
        return begins

    def nodes(self, columns: NDArray[np.int32], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return all nodes, with the numbers of features among `columns`."""
        e, inner = self._ensemble, self._inner
        kinds: list[tuple[str, Any]] = [("number", dtype), ("packed", np.uint32)]
        if dtype.itemsize == 8:
            kinds.append(("unused", np.uint32))
        nodes = np.zeros(int(self.tree_nodes.sum()), kinds)
        is_set = e.category_set[inner] >= 0
        packed = self._left | np.searchsorted(columns, e.feature[inner]) << 16
        packed |= np.where(e.missing_left[inner], _MISSING_LEFT, 0)
        packed |= np.where(is_set, _CATEGORICAL, 0)
        threshold = rounded_down(e.threshold[inner], dtype)
        to = self._node_place[inner]
        nodes["packed"][to] = packed
        nodes["number"][to] = np.where(is_set, e.category_set[inner].astype(dtype), threshold)
        nodes["number"][self._node_place[self._leaves]] = self._leaf_number
        return nodes

    def values(self) -> Floats:
        """Return the values of all leaves."""
        values = np.zeros((int(self.tree_leaves.sum()), self._ensemble.value.shape[1]))
        values[self._leaf_place] = self._ensemble.value[self._leaves]
        return values

    def chunks(
        self, node_bytes: int, tree_bytes: int
    ) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.uint32]]:
        """Return chunks, the first of each output, and where trees begin in theirs."""
        e = self._ensemble
        n_values = e.value.shape[1]
        sizes = self.tree_nodes * node_bytes + self.tree_leaves * n_values * 8
        outputs, chunks, starts = e.tree_output[self.order], [], [0]
        places = np.empty((e.n_trees, 2), np.uint32)
        for output in range(e.trees_per_round):
            own = np.flatnonzero(outputs == output)
            for trees in _filled(own, sizes[self.order], tree_bytes):
                of = self.order[trees]
                node, leaf = self._node_begin[of], self._leaf_begin[of]
                places[trees, 0], places[trees, 1] = node - node[0], leaf - leaf[0]
                n_nodes, n_leaves = self.tree_nodes[of].sum(), self.tree_leaves[of].sum()
                is_staged = sizes[of].sum() <= tree_bytes
                chunks.append(
                    (trees[0], len(of), node[0], n_nodes, leaf[0], n_leaves, is_staged, 0)
                )
            starts.append(len(chunks))
        return np.array(chunks, _CHUNK), np.array(starts, np.int32), places


def _even(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Round up to even numbers, so that every tree begins at a multiple of 16 bytes."""
    return counts + (counts & 1)


def _filled(trees: NDArray[np.intp], sizes: NDArray[np.int64], room: int) -> list[NDArray[np.intp]]:
    """Divide trees, in order, into groups that have room together; a large one is alone."""
    groups: list[list[int]] = []
    used = room
    for tree in trees.tolist():
        if used + sizes[tree] > room:
            groups.append([])
            used = 0
        groups[-1].append(tree)
        used += int(sizes[tree])
    return [np.array(group) for group in groups]


class DeviceForest:
    """The trees of a model on a device, for rows of one type."""

    def __init__(
        self, ensemble: Ensemble, dtype: np.dtype[Any], categories: CategoryNumbers, device: Device
    ) -> None:
        self._dtype = dtype
        self._tree_bytes = min(_TREE_BYTES, device.shared_bytes // 2)
        packed = PackedTrees.of(ensemble, dtype, self._tree_bytes)
        self._n_features = len(packed.columns)
        self._n_outputs, self._n_values = ensemble.n_outputs, ensemble.value.shape[1]
        self._n_passes = ensemble.trees_per_round
        self._has_sets = len(ensemble.category_bits) > 0
        starts, values, bins = _joined_categories(packed.columns, categories)
        arrays: dict[str, NDArray[Any]] = {
            "columns": packed.columns,
            "category_starts": starts,
            "categories": values,
            "category_bins": bins,
            "nodes": packed.nodes.view(np.uint8),
            "values": packed.values,
            "category_sets": ensemble.category_bits,
            "trees": packed.trees,
            "chunks": packed.chunks.view(np.uint8),
            "chunk_starts": packed.chunk_starts,
            "start": ensemble.base_score,
        }
        self._arrays = {name: device.upload(_not_empty(array)) for name, array in arrays.items()}

    def scores(
        self, device: Device, rows: DeviceRows, start: Floats | None, to: DeviceArray
    ) -> None:
        """Write the scores of rows, (n_rows, n_outputs), which may start from given ones."""
        prediction = self._struct(device, rows)
        if start is not None:
            start_array = device.upload(start)
            prediction["start"] = device.pointer(start_array)
            prediction["start_stride"] = self._n_outputs
        prediction["scores"] = device.pointer(to)
        threads = self._threads(device)
        prediction["stages_rows"] = threads is not None
        row_bytes = self._n_features * self._dtype.itemsize
        shared_bytes = self._tree_bytes + (threads or 0) * row_bytes
        threads = threads or _MOST_THREADS
        device.launch(
            "predict_floats" if self._dtype == np.float32 else "predict_doubles",
            (-(-rows.shape[0] // threads), self._n_passes), threads, _by_value(prediction),
            shared_bytes=shared_bytes,
        )  # fmt: skip

    def count_irregular(self, device: Device, rows: DeviceRows) -> tuple[int, int]:
        """Return the numbers of infinities and of unknown categories."""
        counts = device.upload(np.zeros(2, np.uint32))
        n_values = rows.shape[0] * rows.shape[1]
        blocks = min(-(-n_values // _CHECK_THREADS), 8 * device.n_processors)
        device.launch(
            "check_floats" if self._dtype == np.float32 else "check_doubles", (blocks, 1),
            _CHECK_THREADS, _by_value(self._struct(device, rows)), np.int32(rows.shape[1]), counts,
        )  # fmt: skip
        infinite, unknown = device.read(counts).tolist()
        return infinite, unknown

    def _threads(self, device: Device) -> int | None:
        """Return the threads of a block whose rows have room in shared memory; None: too few."""
        row_bytes = max(1, self._n_features * self._dtype.itemsize)
        most = (device.shared_bytes - self._tree_bytes) // row_bytes
        threads = _MOST_THREADS
        while threads > most:
            threads //= 2
        return threads if threads >= _FEWEST_THREADS else None

    def _struct(self, device: Device, rows: DeviceRows) -> NDArray[np.void]:
        prediction = np.zeros((), _PREDICTION)
        for name, array in self._arrays.items():
            prediction[name] = device.pointer(array)
        prediction["numbers"] = device.pointer(rows.array)
        prediction["row_stride"], prediction["column_stride"] = rows.strides
        prediction["n_rows"] = rows.shape[0]
        prediction["n_features"] = self._n_features
        prediction["n_outputs"], prediction["n_values"] = self._n_outputs, self._n_values
        prediction["tree_bytes"], prediction["has_sets"] = self._tree_bytes, self._has_sets
        return prediction


def _by_value(struct: NDArray[np.void]) -> NDArray[np.void]:
    """Return a struct as kernels take it."""
    return np.array(np.void(struct.tobytes()))


def _joined_categories(
    columns: NDArray[np.int32], categories: CategoryNumbers
) -> tuple[NDArray[np.int32], Floats, NDArray[np.uint8]]:
    """Return where the categories of each column begin, all of them, and their bins."""
    known: Sequence[tuple[Floats, NDArray[np.uint8]]] = [
        categories.get(j, (np.empty(0), np.empty(0, np.uint8))) for j in columns.tolist()
    ]
    starts = np.concatenate([[0], np.cumsum([len(values) for values, _ in known])])
    return (
        starts.astype(np.int32),
        np.concatenate([np.empty(0), *(values for values, _ in known)]),
        np.concatenate([np.empty(0, np.uint8), *(bins for _, bins in known)]),
    )


def _not_empty(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that has an address."""
    return array if array.size else np.zeros(1, array.dtype)
