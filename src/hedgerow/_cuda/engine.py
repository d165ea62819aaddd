"""The engine of a GPU: the rows of a training set on the device, and trees grown there.

`CudaEngine` grows the trees of `HistogramEngine`, bit for bit. All trees of a round grow side by
side, so `grow` computes those of all outputs when it is called for the first. Within a round the
host queues kernels without looking at numbers of the device; `kernels/state.hpp` describes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._cuda.device import Device, DeviceArray, bytes_to_device
from hedgerow._cuda.layout import pack
from hedgerow._data.binning import BinnedMatrix
from hedgerow._tree.engine import Bag, Sample
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.leaves import Gradients, LeafSlopes, TrainerLoss
from hedgerow._tree.structure import Tree
from hedgerow._tree.trainer import DivergenceError
from hedgerow._types import Floats

GROUP_COLUMNS = 32
QUAD = 4
BINS = 256
_ROW_THREADS = 256
_MOST_AHEAD = 64  # leaves whose rows are divided in a step of leaf-wise growth
_MOST_IN_VAIN = 256  # of these in a tree, if they turn out not to be split
_GIVEN = -1  # the loss of gradients that come from the host
_OVERFLOW, _MISCOUNTED = 1, 2

_SIZES = (
    *("Fit", "Leaf", "Division", "TreeState", "Node", "NodeTest", "Split"),
    *("GradientTotals", "GradientSummary", "FixedPoint", "split_shared"),
)
_STATE = np.dtype(
    [
        (name, np.int32)
        for name in (
            *("n_leaf_ids", "n_nodes", "n_leaves", "n_slots", "n_frontier", "n_divided", "ahead"),
            *("is_done", "error", "first_division", "n_divisions"),
        )
    ]
)
_NODE = np.dtype(
    [
        ("gain", np.float64),
        ("cover", np.float64),
        ("count", np.int64),
        ("sum", np.uint64, 2),
        ("categories", np.uint32, 8),
    ]
)
_TEST = np.dtype(
    [
        *((name, np.int32) for name in ("feature", "left", "right")),
        *((name, np.uint8) for name in ("bin", "missing_left", "categorical", "unused")),
    ]
)
_ROUND = np.dtype([("tree_id", np.uint64), ("n_rows", np.uint32), ("has_bag", np.uint32)])


def struct_sizes(device: Device) -> dict[str, int]:
    """Return the sizes of the kernels' structs in bytes."""
    sizes = device.empty(len(_SIZES), np.uint64)
    device.launch("sizes", (1, 1), 1, sizes)
    return dict(zip(_SIZES, device.read(sizes).tolist(), strict=True))


@dataclass(frozen=True)
class Capacity:
    """Upper limits of the trees of one output.

    Attributes
    ----------
    max_leaves : int
        Leaves of a tree.
    divided : int
        Leaves whose rows are divided, whether they are split in the end or not.
    at_once : int
        Leaves that are divided in one step.
    slots : int
        Histograms.
    n_steps : int
        Steps after which the host looks whether trees are finished; most trees are.
    """

    max_leaves: int
    divided: int
    at_once: int
    slots: int
    n_steps: int

    @classmethod
    def of(cls, params: GrowthParams, n_rows: int) -> Capacity:
        """Return the limits that follow from the parameters and the number of rows."""
        most = min(params.max_leaves or _native.most_leaves, _native.most_leaves)
        most = min(most, max(1, n_rows // max(1, params.min_samples_leaf)))
        depth = params.max_depth
        if 0 < depth < 17:
            most = min(most, 1 << depth)
        if params.grow_policy == "leafwise":
            divided = most - 1 + min(most - 1, _MOST_IN_VAIN)
            return cls(most, divided, min(_MOST_AHEAD, max(1, divided)), 1 + divided, 16)
        # The children of the last level are not searched, so they need no histograms.
        slots = min(most, 1 << (depth - 1)) if 0 < depth < 17 else most
        return cls(most, most - 1, max(1, most // 2), slots, depth if 0 < depth < 17 else 8)

    @property
    def leaves(self) -> int:
        """Leaves that exist at any time, split or not."""
        return 1 + 2 * self.divided

    @property
    def nodes(self) -> int:
        """Nodes of a tree."""
        return 2 * self.max_leaves - 1

    def at_step(self, step: int) -> int:
        """Return the leaves that are divided in a step at most."""
        return min(1 << max(step - 1, 0), self.at_once) if step < 32 else self.at_once


class CudaEngine:
    """Grows trees from histograms on a device.

    Parameters
    ----------
    binned : BinnedMatrix
        The table by column.
    params : GrowthParams
        The growth parameters.
    base_score : float64 array (n_outputs,)
        The initial scores.
    device : Device
        Where the rows are.
    """

    def __init__(
        self, binned: BinnedMatrix, params: GrowthParams, base_score: Floats, device: Device
    ) -> None:
        self.n_outputs = self.n_trees = len(base_score)
        self.keeps_monotone = True
        self._binned, self._params, self._device = binned, params, device
        self._capacity = Capacity.of(params, binned.n_rows)
        self._sizes = struct_sizes(device)
        self._arrays: dict[str, DeviceArray] = {}
        self._upload_table()
        self._reserve()
        self._scores = np.empty((self.n_outputs, binned.n_rows))
        self._scores[...] = base_score[:, None]
        # Which copy of the scores is out of date. Trees are added with the next gradients.
        self._device_is_old, self._host_is_old, self._pending = True, False, False
        self._loss = _GIVEN
        self._target_stride = 0
        self._fit: DeviceArray | None = None  # the struct with the addresses, once it is known
        self._trees: list[Tree] = []

    # ---- Memory ----------------------------------------------------------------------------------

    @property
    def _n_groups(self) -> int:
        return -(-self._binned.n_features // GROUP_COLUMNS)

    @property
    def _n_quads(self) -> int:
        return self._n_groups * (GROUP_COLUMNS // QUAD)

    @property
    def _mask_words(self) -> int:
        return -(-self._binned.n_features // 32)

    @property
    def _samples_nodes(self) -> bool:
        return self._params.colsample_bylevel < 1.0 or self._params.colsample_bynode < 1.0

    @cached_property
    def _row_blocks(self) -> int:
        """Blocks of kernels that pass over all rows."""
        return min(-(-self._binned.n_rows // (4 * _ROW_THREADS)), 8 * self._device.n_processors)

    def _upload_table(self) -> None:
        binned, device = self._binned, self._device
        weights = self._params.feature_weights or np.ones(binned.n_features)
        by_column = np.ascontiguousarray(binned.by_column)
        self._arrays |= {
            "by_column": device.upload(by_column),
            "n_bins": device.upload(np.ascontiguousarray(binned.n_bins, np.int32)),
            "is_categorical": device.upload(binned.is_categorical.astype(np.uint8)),
            "feature_weight": device.upload(np.asarray(weights, np.float64)),
            "by_row": device.empty(self._n_groups * binned.n_rows * GROUP_COLUMNS, np.uint8),
        }
        blocks = min(-(-binned.n_rows // _ROW_THREADS), 16 * device.n_processors)
        device.launch(
            "interleave", (blocks, self._n_groups), _ROW_THREADS,
            self._arrays["by_column"], np.uint64(binned.n_rows), np.int32(binned.n_features),
            self._arrays["by_row"],
        )  # fmt: skip

    def _reserve(self) -> None:
        """Reserve the arrays of gradients, rows and trees."""
        n, k, capacity, sizes = self._binned.n_rows, self.n_outputs, self._capacity, self._sizes
        at_once = k * capacity.at_once
        in_bytes = {
            "parts": self._row_blocks * k * sizes["GradientTotals"],
            "summaries": k * sizes["GradientSummary"],
            "fixed": k * sizes["FixedPoint"],
            "wide": 16 * k * n,
            "row_ids": 4 * k * 2 * n,
            "row_words": 4 * k * 2 * n,
            "round": _ROUND.itemsize,
            "trees": k * sizes["TreeState"],
            "leaves": k * capacity.leaves * sizes["Leaf"],
            "frontier": 4 * k * 2 * capacity.leaves,
            "batch": 4 * k * capacity.leaves,
            "merits": 8 * k * capacity.leaves,
            "work": 16,
            "divisions": 2 * at_once * sizes["Division"],
            "candidates": at_once * 2 * self._n_quads * sizes["Split"],
            "histograms": k * capacity.slots * self._n_groups * 2 * BINS * GROUP_COLUMNS * 8,
            "nodes": k * capacity.nodes * sizes["Node"],
            "tests": k * capacity.nodes * sizes["NodeTest"],
            "node_value": 8 * k * capacity.nodes,
            "scores": 8 * k * n,
            "loss_parameter": 8 * k,
            "tree_features": 4 * k * self._mask_words,
        }
        if self._samples_nodes:
            in_bytes["allowed"] = 4 * k * capacity.leaves * self._mask_words
            in_bytes["level_room"] = 4 * 2 * at_once * self._mask_words
        for name, n_bytes in in_bytes.items():
            self._arrays[name] = self._device.empty(n_bytes, np.uint8)
        self._arrays["packed"] = self._arrays["wide"]  # one of the two is in use

    def _set(self, name: str, array: NDArray[Any]) -> None:
        """Copy an array to the device; its address changes if its size does."""
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        known = self._arrays.get(name)
        if known is not None and known.size == flat.size:
            self._device.write(known, flat)
            return
        self._arrays[name] = self._device.upload(flat)
        self._fit = None

    def _struct(self) -> DeviceArray:
        """Return the struct that kernels find the arrays by."""
        if self._fit is None:
            capacity = self._capacity
            numbers = {
                "n_rows": self._binned.n_rows,
                "target_stride": self._target_stride,
                "n_features": self._binned.n_features,
                "n_outputs": self.n_outputs,
                "n_groups": self._n_groups,
                "n_quads": self._n_quads,
                "mask_words": self._mask_words,
                "samples_nodes": self._samples_nodes,
                "leaf_capacity": capacity.leaves,
                "node_capacity": capacity.nodes,
                "division_capacity": self.n_outputs * capacity.at_once,
                "n_slots": capacity.slots,
                "chunks_wanted": max(1, 4 * self._device.n_processors // self._n_groups),
                "most_divided": capacity.divided,
                "most_ahead": capacity.at_once,
            }
            addresses = {name: self._device.pointer(a) for name, a in self._arrays.items()}
            params = _native.GrowthParams(self._params).to_bytes()
            struct = pack(params, addresses, numbers)
            assert len(struct) == self._sizes["Fit"]
            self._fit = bytes_to_device(self._device, struct)
        return self._fit

    def _launch(
        self, kernel: str, grid: tuple[int, int], threads: int, *args: int, shared_bytes: int = 0
    ) -> None:
        numbers = [np.int32(number) for number in args]
        self._device.launch(
            kernel, grid, threads, self._struct(), *numbers, shared_bytes=shared_bytes
        )

    # ---- Scores and gradients --------------------------------------------------------------------

    @property
    def scores(self) -> Floats:
        """Scores of the rows, (n_outputs, n_rows), all trees so far included; may be written."""
        if self._pending:
            self._pending = False
            self._launch("update_scores", (self._row_blocks, 1), _ROW_THREADS)
            self._host_is_old = True
        if self._host_is_old:
            scores = self._device.read(self._arrays["scores"]).view(np.float64)
            self._scores[...] = scores.reshape(self._scores.shape)
            self._host_is_old = False
        self._device_is_old = True  # the caller may write
        return self._scores

    def differentiate(
        self,
        loss: TrainerLoss,
        target: Floats,
        weights: Floats | None,
        sampling: _native.Draw | None,
    ) -> Sample:
        """Add the last trees to the scores, and compute the totals of the gradients there."""
        assert sampling is None
        if loss.is_adaptive or "target" not in self._arrays:
            scores = self.scores if loss.is_adaptive else self._scores
            numbers = loss.parameters(target[0] if len(target) == 1 else target, scores, weights)
            self._set("loss_parameter", np.asarray(numbers or [0.0] * self.n_outputs, np.float64))
        if "target" not in self._arrays:
            self._target_stride = 0 if len(target) == 1 else target.shape[1]
            self._set("target", np.asarray(target, np.float64))
            if weights is not None:
                self._set("weight", np.asarray(weights, np.float64))
        self._loss = _native.loss_names().index(loss.name)
        self._compute_units()
        return None

    def take(self, gradient: Floats, hessian: Floats, sampling: _native.Draw | None) -> Sample:
        """Set the gradients, (n_outputs, n_rows), weights multiplied in."""
        assert sampling is None
        self._set("given_g", np.asarray(gradient, np.float64))
        self._set("given_h", np.asarray(hessian, np.float64))
        self._loss = _GIVEN
        self._compute_units()
        return None

    def _compute_units(self) -> None:
        if self._device_is_old:
            self._set("scores", self._scores)
            self._device_is_old = False
        blocks = self._row_blocks
        self._launch("gradients", (blocks, 1), _ROW_THREADS, self._loss, int(self._pending))
        self._host_is_old = self._host_is_old or self._pending
        self._pending = False
        self._launch("units", (1, 1), 128, blocks)

    def gradients(self, output: int) -> Gradients:
        """Refuse: linear leaves are fitted on the CPU."""
        raise NotImplementedError

    # ---- Trees -----------------------------------------------------------------------------------

    def grow(self, output: int, bag: Bag, tree_id: int) -> Tree:
        """Return the tree of an output; those of all outputs are grown with the first."""
        if output == 0:
            self._trees = self._grow_all(bag, tree_id)
        return self._trees[output]

    def _grow_all(self, bag: Bag, tree_id: int) -> list[Tree]:
        assert bag.factor is None
        self._begin_round(bag, tree_id)
        self._launch("quantise", (self._row_blocks, 1), _ROW_THREADS, self._loss)
        self._launch("begin_trees", (1, 1), 128)
        step = 0
        while True:
            for _ in range(self._capacity.n_steps):
                self._grow_step(step)
                step += 1
            states = self._device.read(self._arrays["trees"]).view(_STATE)
            if states["is_done"].all():
                break
        self._raise(states)
        self._launch("finish_trees", (1, 1), max(32, -(-self.n_outputs // 32) * 32))
        return self._read_trees(states["n_nodes"])

    def _begin_round(self, bag: Bag, tree_id: int) -> None:
        n_rows = self._binned.n_rows
        if bag.rows is not None:
            padded = np.zeros(n_rows, np.uint32)
            padded[: len(bag.rows)] = bag.rows
            self._set("bag", padded)
            n_rows = len(bag.rows)
        self._set("round", np.array([(tree_id, n_rows, bag.rows is not None)], _ROUND))
        if tree_id == 0 or self._params.colsample_bytree < 1.0:
            masks = [self._tree_features(tree_id + k) for k in range(self.n_outputs)]
            self._set("tree_features", np.array(masks, np.uint32))

    def _tree_features(self, tree_id: int) -> NDArray[np.uint32]:
        """Return the features that a tree may use, as bits."""
        n_features = self._binned.n_features
        usable = self._params.usable_features(n_features)
        fraction, seed = self._params.colsample_bytree, self._params.seed
        flags = np.zeros(32 * self._mask_words, bool)
        sampled = _native.sample_tree_features(usable, fraction, seed, tree_id)
        flags[np.asarray(sampled, np.intp)] = True
        return np.packbits(flags, bitorder="little").view(np.uint32)

    def _grow_step(self, step: int) -> None:
        device, at_once = self._device, self.n_outputs * self._capacity.at_step(step)
        self._launch("partition", (8 * device.n_processors, 1), 256, step)
        columns = device.histogram_columns
        self._launch(
            "histogram",
            (2 * device.n_processors, self._n_groups * (GROUP_COLUMNS // columns)),
            device.histogram_threads,
            step,
            shared_bytes=4 * BINS * columns * 4,
        )
        if step == 0:
            self._launch("sum_root", (self.n_outputs, 1), 32)
        if self._samples_nodes:
            self._launch("sample_node_features", (2 * at_once, 1), 128, step)
        self._launch(
            "split", (at_once, self._n_quads), 256, step, shared_bytes=self._sizes["split_shared"]
        )
        self._launch("plan", (self.n_outputs, 1), 256, step)

    @staticmethod
    def _raise(states: NDArray[Any]) -> None:
        if (states["error"] == _OVERFLOW).any():
            raise DivergenceError("the gradients are too large to add up")
        if (states["error"] == _MISCOUNTED).any():
            raise RuntimeError("rows and histograms on the device disagree")

    def _read_trees(self, n_nodes: NDArray[np.int32]) -> list[Tree]:
        def rows(name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
            of_output = self._capacity.nodes * dtype.itemsize
            part = self._arrays[name].reshape(self.n_outputs, of_output)
            read = self._device.read(part[:, : int(n_nodes.max()) * dtype.itemsize])
            return np.ascontiguousarray(read).view(dtype)

        nodes, tests = rows("nodes", _NODE), rows("tests", _TEST)
        values = rows("node_value", np.dtype(np.float64))
        return [
            self._tree(nodes[k, :n], tests[k, :n], values[k, :n])
            for k, n in enumerate(n_nodes.tolist())
        ]

    def _tree(self, nodes: NDArray[Any], tests: NDArray[Any], values: Floats) -> Tree:
        is_category = tests["categorical"].astype(bool)
        # Sets of categories are numbered in the order of splits, and so are left children.
        by_split = np.flatnonzero(is_category)
        by_split = by_split[np.argsort(tests["left"][by_split])]
        category_set = np.full(len(nodes), -1, np.int32)
        category_set[by_split] = np.arange(len(by_split))
        return Tree(
            feature=tests["feature"].copy(),
            threshold=self._thresholds(tests["feature"], tests["bin"], is_category),
            left=tests["left"].copy(),
            right=tests["right"].copy(),
            missing_left=tests["missing_left"].astype(bool),
            category_set=category_set,
            category_bits=nodes["categories"][by_split].copy(),
            value=values[:, None].copy(),
            gain=nodes["gain"].copy(),
            cover=nodes["cover"].copy(),
            count=nodes["count"].copy(),
            split_bin=tests["bin"].copy(),
        )

    def _thresholds(
        self, feature: NDArray[np.int32], bin_: NDArray[np.uint8], is_category: NDArray[np.bool_]
    ) -> Floats:
        """Return the thresholds of numeric splits; that of the last bin exceeds every number."""
        starts, values = self._binned.threshold_starts, self._binned.threshold_values
        is_numeric = (feature >= 0) & ~is_category
        threshold = np.zeros(len(feature))
        place = starts[feature[is_numeric]] + bin_[is_numeric]
        is_last = place >= starts[feature[is_numeric] + 1]
        padded = np.append(values, np.finfo(np.float64).max)
        threshold[is_numeric] = padded[np.where(is_last, len(values), place)]
        return threshold

    def leaf_of_row(self, output: int) -> NDArray[np.uint16]:
        """Return each row's leaf in the last tree grown for an output, in the order of nodes."""
        device, n_rows = self._device, self._binned.n_rows
        number = (np.cumsum(self._trees[output].feature < 0) - 1).astype(np.uint16)
        numbers, leaf = device.upload(number), device.empty(n_rows, np.uint16)
        device.launch(
            "number_rows", (self._row_blocks, 1), _ROW_THREADS,
            self._struct(), np.int32(output), numbers, leaf,
        )  # fmt: skip
        return device.read(leaf)

    def set_leaf_values(self, output: int, values: Floats) -> None:
        """Replace the leaf values of the last tree."""
        tree = self._trees[output]
        of_nodes = np.zeros(self._capacity.nodes)
        of_nodes[: tree.n_nodes][tree.feature < 0] = values
        place = self._arrays["node_value"].reshape(self.n_outputs, -1)[output]
        self._device.write(place, of_nodes.view(np.uint8))

    def add(self, tree: Tree, output: int, slopes: LeafSlopes | None) -> None:  # noqa: ARG002
        """Have the trees added with the next gradients, once all of a round are grown."""
        assert slopes is None
        self._pending = output == self.n_trees - 1
