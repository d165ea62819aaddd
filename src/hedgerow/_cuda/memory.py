"""How large trees can become, and the memory that a fit needs on the device.

Everything is reserved before the first round: a fit that needs too much memory fails at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hedgerow import _native
from hedgerow._cuda.device import Device
from hedgerow._tree.growth_params import GrowthParams
from hedgerow.exceptions import MemoryLimitError

GROUP_COLUMNS = 32
QUAD = 4
BINS = 256
ROW_THREADS = 256
MOST_AHEAD = 64  # leaves whose rows are divided in a step of leaf-wise growth
MOST_IN_VAIN = 256  # of these in a tree, if they turn out not to be split
_FIRST_LOOK = 16  # steps of leaf-wise growth, with which trees of 255 leaves are finished
_MOST_DEPTH = 16  # beyond it max_leaves is the limit: 2^16 leaves are more than a tree can have


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
    is_certain : bool
        Whether all trees are.
    """

    max_leaves: int
    divided: int
    at_once: int
    slots: int
    n_steps: int
    is_certain: bool = False

    @classmethod
    def of(cls, params: GrowthParams, n_rows: int) -> Capacity:
        """Return the limits that follow from the parameters and the number of rows."""
        most = min(params.max_leaves or _native.most_leaves, _native.most_leaves)
        most = min(most, max(1, n_rows // max(1, params.min_samples_leaf)))
        depth = params.max_depth if params.max_depth <= _MOST_DEPTH else 0
        if depth:
            most = min(most, 1 << depth)
        if params.grow_policy == "symmetric":
            levels = _levels(params)
            most = min(most, 1 << levels)
            slots = max(1, 1 << (levels - 1)) if levels else 1
            return cls(most, most - 1, max(1, most // 2), slots, max(1, levels), is_certain=True)
        if params.grow_policy == "leafwise":
            divided = most - 1 + min(most - 1, MOST_IN_VAIN)
            at_once = min(MOST_AHEAD, max(1, divided))
            return cls(most, divided, at_once, 1 + divided, min(_FIRST_LOOK, most))
        # The children of the last level are not searched, so they need no histograms.
        slots = min(most, 1 << (depth - 1)) if depth else most
        return cls(most, most - 1, max(1, most // 2), slots, depth or 8, bool(depth))

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
        return min(1 << min(max(step - 1, 0), _MOST_DEPTH), self.at_once)


def _levels(params: GrowthParams) -> int:
    """Return the levels of a symmetric tree: the rule of native/shared/growth_order.hpp."""
    by_leaves = min(params.max_leaves or _native.most_leaves, _native.most_leaves).bit_length() - 1
    return min(params.max_depth or by_leaves, by_leaves)


@dataclass(frozen=True)
class Shape:
    """The size of a training set, and how kernels divide it."""

    n_rows: int
    n_features: int
    n_outputs: int
    samples_nodes: bool  # whether levels or nodes sample features
    is_symmetric: bool = False  # whether the leaves of a level share a test

    @property
    def n_groups(self) -> int:
        """Groups of columns: rows of a group are 32 bytes."""
        return -(-self.n_features // GROUP_COLUMNS)

    @property
    def n_quads(self) -> int:
        """Quads of columns, which are searched for splits together."""
        return -(-self.n_features // QUAD)

    @property
    def mask_words(self) -> int:
        """Words of a set of features."""
        return -(-self.n_features // 32)

    def row_blocks(self, device: Device) -> int:
        """Return the number of blocks of kernels that pass over all rows."""
        return min(-(-self.n_rows // (4 * ROW_THREADS)), 8 * device.n_processors)


def array_bytes(
    shape: Shape, capacity: Capacity, sizes: Mapping[str, int], row_blocks: int
) -> dict[str, int]:
    """Return the bytes of each array that `Fit` points to, besides those of the table's columns.

    `sizes` are those of the kernels' structs.
    """
    n, k = shape.n_rows, shape.n_outputs
    at_once = k * capacity.at_once
    arrays = {
        "by_column": shape.n_features * n,
        "by_row": shape.n_groups * n * GROUP_COLUMNS,
        "scores": 8 * k * n,
        "wide": 16 * k * n,
        "row_ids": 4 * k * 2 * n,
        "row_words": 4 * k * 2 * n,
        "histograms": k * capacity.slots * shape.n_groups * 2 * BINS * GROUP_COLUMNS * 8,
        "parts": row_blocks * k * sizes["GradientTotals"],
        "summaries": k * sizes["GradientSummary"],
        "fixed": k * sizes["FixedPoint"],
        "loss_parameter": 8 * k,
        "tree_features": 4 * k * shape.mask_words,
        "round": 24,
        "leaves": k * capacity.leaves * sizes["Leaf"],
        "frontier": 4 * k * 2 * capacity.leaves,
        "batch": 4 * k * capacity.leaves,
        "merits": 8 * k * capacity.leaves,
        "work": 16,
        "divisions": 2 * at_once * sizes["Division"],
        "candidates": at_once * 2 * shape.n_quads * sizes["Split"],
        # What the host reads after a round.
        "trees": k * sizes["TreeState"],
        "nodes": k * capacity.nodes * sizes["Node"],
        "tests": k * capacity.nodes * sizes["NodeTest"],
        "node_value": 8 * k * capacity.nodes,
    }
    if shape.is_symmetric:
        arrays["level_tests"] = k * shape.n_features * sizes["LevelTests"]
        arrays["level_candidates"] = k * shape.n_features * sizes["Split"]
    if shape.samples_nodes:
        arrays["allowed"] = 4 * k * capacity.leaves * shape.mask_words
        arrays["level_room"] = 4 * 2 * at_once * shape.mask_words
    return arrays


def check_room(arrays: Mapping[str, int], target_bytes: int, device: Device) -> None:
    """Refuse a fit that needs more memory than the device has."""
    needed, free = sum(arrays.values()) + target_bytes, device.free_bytes
    if needed <= free:
        return
    histograms = arrays["histograms"]
    advice = (
        "fewer leaves (max_leaves, max_depth), as most of it is for histograms"
        if 2 * histograms > needed
        else "fewer rows or columns"
    )
    raise MemoryLimitError(
        f"This fit needs {_gb(needed)} of memory on the device, which has {_gb(free)} free. Use "
        f"device='cpu', or {advice}."
    )


def _gb(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.2f} GB"
