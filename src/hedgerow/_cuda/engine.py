"""The engine of a GPU: the rows of a training set on the device, and trees grown there.

`CudaEngine` grows the trees of `HistogramEngine`, bit for bit. All trees of a round grow side by
side, so `grow` computes those of all outputs when it is called for the first. Within a round the
host queues kernels without reading anything back from the device; `kernels/state.hpp` describes
them. If the next round does not depend on a decision of the host, it is queued before the host
reads the trees of the last one, so that the device does not wait for the host.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._cuda.device import Device, DeviceArray
from hedgerow._cuda.intake import bin_on_device
from hedgerow._cuda.layout import pack
from hedgerow._cuda.memory import (
    BINS,
    GROUP_COLUMNS,
    ROW_THREADS,
    Capacity,
    Shape,
    array_bytes,
    check_room,
)
from hedgerow._data.binning import BinnedMatrix, UnbinnedMatrix
from hedgerow._tree.engine import Bag, Sample
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.leaves import Gradients, LeafSlopes, TrainerLoss
from hedgerow._tree.structure import Tree
from hedgerow._tree.trainer import DivergenceError
from hedgerow._types import Floats

_FROM_HOST = -1  # the loss of gradients that come from the host
_OVERFLOW, _MISCOUNTED = 1, 2
# Arrays that the host reads after a round lie side by side, so that one copy is enough, unless they
# are as large as this.
_OUTPUT = ("trees", "nodes", "tests", "node_value")
_LARGE_OUTPUT = 1 << 20
_ALIGNMENT = 256

_SIZES = (
    *("Fit", "Leaf", "Division", "TreeState", "Node", "NodeTest", "Split"),
    *("GradientTotals", "GradientSummary", "FixedPoint", "split_shared"),
    "LevelTests",
)
_STATE = np.dtype(
    [("tree_id", np.uint64)]
    + [
        (name, np.int32)
        for name in (
            *("n_leaf_ids", "n_nodes", "n_leaves", "n_slots", "n_frontier", "n_divided", "ahead"),
            *("is_done", "error", "first_division", "n_divisions", "n_arrived"),
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
_ROUND = np.dtype(
    [
        ("tree_id", np.uint64),
        *((name, np.uint32) for name in ("n_rows", "has_bag", "n_arrived", "unused")),
    ]
)


def struct_sizes(device: Device) -> dict[str, int]:
    """Return the sizes of the kernels' structs in bytes."""
    sizes = device.empty(len(_SIZES), np.uint64)
    device.launch("sizes", (1, 1), 1, sizes)
    return dict(zip(_SIZES, device.read(sizes).tolist(), strict=True))


@dataclass(frozen=True)
class _Output:
    """What the host reads after a round, as bytes (n_outputs, …)."""

    trees: NDArray[np.uint8]
    nodes: NDArray[np.uint8]
    tests: NDArray[np.uint8]
    node_value: NDArray[np.uint8]

    @property
    def states(self) -> NDArray[Any]:
        """The state of each tree."""
        return np.ascontiguousarray(self.trees).view(_STATE)[:, 0]

    def tree(self, k: int) -> tuple[NDArray[Any], NDArray[Any], Floats]:
        """Return nodes, tests and values of a tree."""
        n_nodes = int(self.states["n_nodes"][k])
        rows = (self.nodes, _NODE), (self.tests, _TEST), (self.node_value, np.dtype(np.float64))
        parts: list[NDArray[Any]] = [
            np.ascontiguousarray(part[k]).view(dtype)[:n_nodes] for part, dtype in rows
        ]
        return parts[0], parts[1], parts[2]


@dataclass(frozen=True)
class _QueuedRound:
    """A round that is queued: its first tree, and where on the host its trees will be."""

    tree_id: int
    place: int
    wait: Callable[[], None]


def _call(method: weakref.WeakMethod[Callable[[int], None]], argument: int) -> None:
    bound = method()
    assert bound is not None
    bound(argument)


def _raise_error(errors: NDArray[np.int32]) -> None:
    if (errors == _OVERFLOW).any():
        raise DivergenceError("the gradients are too large to add up")
    if (errors == _MISCOUNTED).any():
        raise RuntimeError("rows and histograms on the device disagree")


class CudaEngine:
    """Grows trees from histograms on a device.

    Parameters
    ----------
    binned : BinnedMatrix or UnbinnedMatrix
        The table by column, or numbers that are binned on the device.
    params : GrowthParams
        The growth parameters.
    base_score : float64 array (n_outputs,)
        The initial scores.
    device : Device
        Where the rows are.
    """

    def __init__(
        self,
        binned: BinnedMatrix | UnbinnedMatrix,
        params: GrowthParams,
        base_score: Floats,
        device: Device,
    ) -> None:
        self.n_outputs = self.n_trees = len(base_score)
        self.keeps_monotone = True
        self._binned, self._params, self._device = binned, params, device
        samples_nodes = params.colsample_bylevel < 1.0 or params.colsample_bynode < 1.0
        n_rows, n_features = binned.n_rows, binned.n_features
        is_symmetric = params.grow_policy == "symmetric"
        self._shape = Shape(n_rows, n_features, self.n_outputs, samples_nodes, is_symmetric)
        self._capacity = Capacity.of(params, n_rows)
        self._row_blocks = self._shape.row_blocks(device)
        self._sizes = struct_sizes(device)
        self._fit: NDArray[np.void] | None = None  # the struct with the addresses of arrays
        self._recordings: dict[Hashable, Callable[[], None]] = {}
        self._arrays = self._reserve()
        self._upload_table()
        self._scores = np.empty((self.n_outputs, n_rows))
        self._scores[...] = base_score[:, None]
        # Which copy of the scores is out of date. Trees are added with the next gradients.
        self._device_is_old, self._host_is_old, self._pending = True, False, False
        self._loss = _FROM_HOST
        self._target_stride = 0
        self._round: tuple[int, int, bool] | None = None  # what the device expects to be next
        self._place = 0
        self._ahead: _QueuedRound | None = None
        self._runs_ahead, self._is_undisturbed = True, False
        self._trees: list[Tree] = []

    # ---- Memory ----------------------------------------------------------------------------------

    def _reserve(self) -> dict[str, DeviceArray]:
        """Reserve all arrays, if there is room for them."""
        sizes = array_bytes(self._shape, self._capacity, self._sizes, self._row_blocks)
        check_room(sizes, 16 * self._shape.n_rows, self._device)
        offsets, end = {}, 0
        for name in _OUTPUT:
            offsets[name] = end
            end += -(-sizes[name] // _ALIGNMENT) * _ALIGNMENT
        self._output = self._device.empty(end, np.uint8)
        if end <= _LARGE_OUTPUT:
            self._on_host = [self._device.host_buffer(end) for _ in range(2)]
        arrays = {
            name: self._device.empty(size, np.uint8)
            for name, size in sizes.items()
            if name not in _OUTPUT
        }
        self._output_places = {
            name: slice(start, start + sizes[name]) for name, start in offsets.items()
        }
        arrays |= {name: self._output[place] for name, place in self._output_places.items()}
        arrays["packed"] = arrays["wide"]  # one of the two is in use
        arrays["raw"] = arrays["row_words"]  # rows are moved after they are quantised
        return arrays

    def _upload_table(self) -> None:
        binned, device, shape = self._binned, self._device, self._shape
        weights = self._params.feature_weights or np.ones(shape.n_features)
        if isinstance(binned, UnbinnedMatrix):
            bin_on_device(binned, device, self._arrays["by_column"])
        else:
            self._set("by_column", binned.by_column)
        self._set("n_bins", binned.n_bins)
        self._set("is_categorical", binned.is_categorical)
        self._set("feature_weight", np.asarray(weights, np.float64))
        device.launch(
            "interleave", (self._row_blocks, shape.n_groups), ROW_THREADS,
            self._arrays["by_column"], np.uint64(shape.n_rows), np.int32(shape.n_features),
            self._arrays["by_row"],
        )  # fmt: skip

    def _set(self, name: str, array: NDArray[Any]) -> None:
        """Copy an array to the device; its address changes if its size does."""
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        known = self._arrays.get(name)
        if known is not None and known.size == flat.size:
            self._device.write(known, flat)
            return
        self._arrays[name] = self._device.upload(flat)
        self._fit = None
        self._recordings.clear()

    def _struct(self) -> NDArray[np.void]:
        """Return the struct that kernels find the arrays by, which is passed by value."""
        if self._fit is None:
            capacity, shape = self._capacity, self._shape
            numbers = {
                "n_rows": shape.n_rows,
                "target_stride": self._target_stride,
                "n_features": shape.n_features,
                "n_outputs": shape.n_outputs,
                "n_groups": shape.n_groups,
                "n_quads": shape.n_quads,
                "mask_words": shape.mask_words,
                "samples_nodes": shape.samples_nodes,
                "leaf_capacity": capacity.leaves,
                "node_capacity": capacity.nodes,
                "division_capacity": shape.n_outputs * capacity.at_once,
                "n_slots": capacity.slots,
                "histogram_blocks": self._histogram_blocks()[0],
                "most_divided": capacity.divided,
                "most_ahead": capacity.at_once,
            }
            addresses = {name: self._device.pointer(a) for name, a in self._arrays.items()}
            params = _native.GrowthParams(self._params).to_bytes()
            struct = pack(params, addresses, numbers)
            assert len(struct) == self._sizes["Fit"]
            self._fit = np.array(np.void(struct))
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
            self._upload_scores()
            self._pending = False
            self._launch("update_scores", (self._row_blocks, 1), ROW_THREADS)
            self._host_is_old = True
        if self._host_is_old:
            scores = self._device.read(self._arrays["scores"]).view(np.float64)
            self._scores[...] = scores.reshape(self._scores.shape)
            self._host_is_old = False
        self._device_is_old = True  # the caller may write
        self._is_undisturbed = False
        return self._scores

    def _upload_scores(self) -> None:
        if self._device_is_old:
            self._set("scores", self._scores)
            self._device_is_old = False

    def differentiate(
        self,
        loss: TrainerLoss,
        target: Floats,
        weights: Floats | None,
        sampling: _native.Draw | None,
    ) -> Sample:
        """Set the loss; its gradients are computed when trees are grown."""
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
        return None

    def take(self, gradient: Floats, hessian: Floats, sampling: _native.Draw | None) -> Sample:
        """Set the gradients, (n_outputs, n_rows), weights multiplied in."""
        assert sampling is None
        self._set("given_g", np.asarray(gradient, np.float64))
        self._set("given_h", np.asarray(hessian, np.float64))
        self._loss = _FROM_HOST
        return None

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
        queued, self._ahead = self._ahead, None
        if queued is None or self._device_is_old or queued.tree_id != tree_id:
            self._runs_ahead = self._runs_ahead and queued is None
            self._round = self._round if queued is None else None
            self._upload_scores()
            self._begin_round(bag, tree_id)
            queued = self._queue(tree_id, self._pending)
        if self._may_run_ahead(bag):
            self._ahead = self._queue(tree_id + self.n_outputs, updates=True)
        output = self._finish(queued)
        _raise_error(output.states["error"])
        self._is_undisturbed = True
        return [self._tree(*output.tree(k)) for k in range(self.n_outputs)]

    def _may_run_ahead(self, bag: Bag) -> bool:
        """Return whether the next round can be queued before the host has seen this one.

        That needs trees that are finished without a look at them, nothing new from the host, and
        leaf values and scores that nobody else writes: as far as the last round tells.
        """
        is_same = bag.rows is None and self._params.colsample_bytree == 1.0
        from_device = self._loss != _FROM_HOST and self._output.size <= _LARGE_OUTPUT
        may = is_same and from_device and self._capacity.is_certain and self._runs_ahead
        return may and self._is_undisturbed

    def _queue(self, tree_id: int, updates: bool) -> _QueuedRound:
        """Queue a round, whose trees are copied to one of two places on the host, in turn."""
        self._run(("round", self._loss, updates), self._queue_round, updates)
        self._host_is_old = self._host_is_old or updates
        self._pending = False
        self._place = 1 - self._place
        return _QueuedRound(tree_id, self._place, self._copy_output(self._place))

    def _copy_output(self, place: int) -> Callable[[], None]:
        """Queue the copy of the trees; return a function that waits for it."""
        if self._output.size <= _LARGE_OUTPUT:
            self._device.copy_to_host(self._output, self._on_host[place])
        return self._device.marker()

    def _finish(self, queued: _QueuedRound) -> _Output:
        """Wait for a round, and continue until its trees are finished."""
        queued.wait()
        output = self._read_output(queued.place)
        step = self._capacity.n_steps
        while not output.states["is_done"].all():
            self._run(("steps", step), self._queue_steps, step)
            self._copy_output(queued.place)()
            output = self._read_output(queued.place)
            step += self._capacity.n_steps
        return output

    def _begin_round(self, bag: Bag, tree_id: int) -> None:
        """Tell the device what is different from the last round."""
        assert bag.factor is None
        n_rows, has_bag = self._shape.n_rows, bag.rows is not None
        if bag.rows is not None:
            padded = np.zeros(n_rows, np.uint32)
            n_rows = len(bag.rows)
            padded[:n_rows] = bag.rows
            self._set("bag", padded)
        if self._round is None or self._params.colsample_bytree < 1.0:
            masks = [self._tree_features(tree_id + k) for k in range(self.n_outputs)]
            self._set("tree_features", np.array(masks, np.uint32))
        if self._round != (tree_id, n_rows, has_bag):
            self._set("round", np.array([(tree_id, n_rows, has_bag, 0, 0)], _ROUND))
        self._round = (tree_id + self.n_outputs, n_rows, has_bag)

    def _run(self, key: Hashable, queue: Callable[[int], None], argument: int) -> None:
        """Queue what is always the same for a key, recorded if the device can do that."""
        self._struct()
        if key not in self._recordings:
            # A recording must not keep the engine, and with it its memory, until the garbage
            # collector runs.
            method = weakref.WeakMethod(queue)
            self._recordings[key] = self._device.recorded(partial(_call, method, argument))
        self._recordings[key]()

    def _queue_round(self, updates: int) -> None:
        """Queue a round: gradients, their units and integers, and trees."""
        blocks = (self._row_blocks, 1)
        self._launch("gradients", blocks, ROW_THREADS, self._loss, updates)
        self._launch("quantise", blocks, ROW_THREADS, self._loss)
        self._queue_steps(0)

    def _queue_steps(self, first: int) -> None:
        for step in range(first, first + self._capacity.n_steps):
            self._queue_step(step)

    def _queue_step(self, step: int) -> None:
        device, shape = self._device, self._shape
        at_once = shape.n_outputs * self._capacity.at_step(step)
        if step > 0:  # the root is not divided
            self._launch("partition", (8 * device.n_processors, 1), 256, step)
        room = 3 * 4 * BINS * device.histogram_columns
        self._launch(
            "histogram", self._histogram_blocks(), device.histogram_threads, step, shared_bytes=room
        )
        if shape.is_symmetric:
            self._queue_level(step, at_once)
            return
        if shape.samples_nodes:
            self._launch("sample_node_features", (2 * at_once, 1), 128, step)
        room = self._sizes["split_shared"]
        self._launch("split", (at_once, shape.n_quads), 256, step, shared_bytes=room)

    def _queue_level(self, step: int, at_once: int) -> None:
        """Queue the search for the test of a level, for symmetric trees."""
        shape = self._shape
        self._launch("complete_level", (at_once, shape.n_groups), 256, step)
        if shape.samples_nodes:
            self._launch("sample_level_features", (shape.n_outputs, 1), 128, step)
        self._launch("level_search", (shape.n_features, shape.n_outputs), 256, step)

    def _histogram_blocks(self) -> tuple[int, int]:
        """Return the blocks that add up histograms: as many as run at once, for all columns."""
        device = self._device
        n_parts = self._shape.n_groups * (GROUP_COLUMNS // device.histogram_columns)
        return max(1, 2 * device.n_processors // n_parts), n_parts

    def _tree_features(self, tree_id: int) -> NDArray[np.uint32]:
        """Return the features that a tree may use, as bits."""
        n_features = self._binned.n_features
        usable = self._params.usable_features(n_features)
        fraction, seed = self._params.colsample_bytree, self._params.seed
        flags = np.zeros(32 * self._shape.mask_words, bool)
        sampled = _native.sample_tree_features(usable, fraction, seed, tree_id)
        flags[np.asarray(sampled, np.intp)] = True
        return np.packbits(flags, bitorder="little").view(np.uint32)

    def _read_output(self, place: int) -> _Output:
        """Return the trees of a finished round; large ones are read as far as they have nodes."""
        places, n_outputs = self._output_places, self.n_outputs
        if self._output.size <= _LARGE_OUTPUT:
            read = self._on_host[place]
            parts = {name: read[at].reshape(n_outputs, -1) for name, at in places.items()}
            return _Output(*(parts[name] for name in _OUTPUT))
        states = self._device.read(self._arrays["trees"])
        n_nodes = int(states.view(_STATE)["n_nodes"].max())
        parts = {"trees": states.reshape(n_outputs, -1)}
        for name, dtype in (("nodes", _NODE), ("tests", _TEST), ("node_value", np.dtype("f8"))):
            of_output = self._arrays[name].reshape(n_outputs, -1)
            parts[name] = self._device.read(of_output[:, : n_nodes * dtype.itemsize])
        return _Output(*(parts[name] for name in _OUTPUT))

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
        assert self._ahead is None
        self._runs_ahead = False  # the caller may replace leaf values
        device, n_rows = self._device, self._binned.n_rows
        number = (np.cumsum(self._trees[output].feature < 0) - 1).astype(np.uint16)
        numbers, leaf = device.upload(number), device.empty(n_rows, np.uint16)
        device.launch(
            "number_rows", (self._row_blocks, 1), ROW_THREADS,
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
        self._pending = output == self.n_trees - 1 and self._ahead is None
