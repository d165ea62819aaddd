"""The slopes of linear leaves, as flat arrays.

A linear leaf adds ``value + Σ coefficient · (x − centre)`` over features on its path, where x is
clipped to ``low`` … ``high``, the extended range of the leaf's training rows, and a missing x adds
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._types import Floats

_DTYPES: dict[str, type[np.generic]] = {
    "start": np.int64,
    "feature": np.int32,
    "coefficient": np.float64,
    "centre": np.float64,
    "low": np.float64,
    "high": np.float64,
}
SLOPE_ARRAYS = tuple(_DTYPES)


@dataclass(frozen=True, eq=False)
class LinearLeaves:
    """The slopes of a tree, or of concatenated trees; there is at least one.

    Attributes
    ----------
    start : int64 array (n_nodes + 1,)
        Node i has the terms ``start[i]`` … ``start[i + 1] - 1``; only leaves have any.
    feature : int32 array (n_terms,)
        The numeric feature of a term.
    coefficient, centre : float64 arrays (n_terms, n_values)
        The slope of each of the leaf's values (shrinkage included), and the x where it adds 0.
    low, high : float64 arrays (n_terms,)
        The range that x is clipped to.
    """

    start: NDArray[np.int64]
    feature: NDArray[np.int32]
    coefficient: Floats
    centre: Floats
    low: Floats
    high: Floats

    @property
    def n_terms(self) -> int:
        """Number of slopes of all leaves."""
        return len(self.feature)

    @property
    def node(self) -> NDArray[np.int64]:
        """The node of each term."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearLeaves):
            return NotImplemented
        return all(np.array_equal(getattr(self, n), getattr(other, n)) for n in SLOPE_ARRAYS)

    __hash__ = None  # type: ignore[assignment]

    def of_nodes(self, begin: int, end: int) -> LinearLeaves | None:
        """Return the slopes of some of the nodes; None if they have none."""
        first, last = self.start[begin], self.start[end]
        if first == last:
            return None
        terms = {name: getattr(self, name)[first:last] for name in SLOPE_ARRAYS[1:]}
        return LinearLeaves(start=self.start[begin : end + 1] - first, **terms)

    def steep(self) -> LinearLeaves | None:
        """Return the terms with a nonzero slope; None if there are none."""
        nonzero = (self.coefficient != 0.0).any(axis=1)
        if not nonzero.any():
            return None
        start = np.concatenate([[0], np.cumsum(nonzero)])[self.start].astype(np.int64)
        terms = {name: getattr(self, name)[nonzero] for name in SLOPE_ARRAYS[1:]}
        return LinearLeaves(start=start, **terms)

    def scaled(self, factor: float) -> LinearLeaves:
        """Return the slopes multiplied by a number."""
        return replace(self, coefficient=factor * self.coefficient)

    def native(self) -> _native.LinearTerms:
        """Return the native form, by node."""
        return _native.LinearTerms(*(getattr(self, name) for name in SLOPE_ARRAYS))

    def native_by_leaf(self, is_leaf: NDArray[np.bool_]) -> _native.LinearTerms:
        """Return the native form, by leaf."""
        by_leaf = np.append(self.start[:-1][is_leaf], self.start[-1])
        return replace(self, start=by_leaf).native()

    def check(
        self,
        require: Callable[[bool | np.bool_, str], None],
        is_leaf: NDArray[np.bool_],
        value: Floats,
        n_features: int,
    ) -> None:
        """Check arrays that may come from any file: prediction with them must be safe."""
        self._check_shapes(require, value)
        size = np.diff(self.start)
        require((size >= 0).all(), "slopes.start is not increasing")
        require(not size[~is_leaf].any(), "an inner node has slopes")
        in_range = (self.feature >= 0) & (self.feature < n_features)
        require(in_range.all(), "the feature of a slope is out of range")
        for name in SLOPE_ARRAYS[2:]:
            require(
                np.isfinite(getattr(self, name)).all(), f"slopes.{name} has a non-finite number"
            )
        require((self.low <= self.high).all(), "a slope's range is empty")
        require(np.isfinite(self._reach(value)).all(), "the values of a leaf can overflow")

    def _check_shapes(self, require: Callable[[bool | np.bool_, str], None], value: Floats) -> None:
        n_terms, n_values = self.n_terms, value.shape[1]
        shapes: dict[str, tuple[int, ...]] = {"start": (len(value) + 1,)}
        shapes |= dict.fromkeys(("coefficient", "centre"), (n_terms, n_values))
        for name, dtype in _DTYPES.items():
            array, shape = getattr(self, name), shapes.get(name, (n_terms,))
            require(isinstance(array, np.ndarray), f"slopes.{name} is not an array")
            require(array.dtype == dtype, f"slopes.{name} is {array.dtype}, not {np.dtype(dtype)}")
            require(array.flags.c_contiguous, f"slopes.{name} is not contiguous")
            require(array.shape == shape, f"slopes.{name} is of shape {array.shape}, not {shape}")
        require(n_terms > 0, "slopes have no terms")
        is_whole = self.start[0] == 0 and self.start[-1] == n_terms
        require(is_whole, "slopes.start does not span the terms")

    def _reach(self, value: Floats) -> Floats:
        """Return the largest absolute value that each node can add to a row."""
        with np.errstate(over="ignore", invalid="ignore"):
            far = np.maximum(
                np.abs(self.low[:, None] - self.centre), np.abs(self.high[:, None] - self.centre)
            )
            most = np.abs(self.coefficient) * far
            reach = np.abs(value)
            np.add.at(reach, self.node, most)
        return reach


def joined_slopes(slopes: Sequence[LinearLeaves | None], sizes: Sequence[int]) -> LinearLeaves:
    """Concatenate the slopes of trees, at least one of which has linear leaves."""
    some = [of_tree for of_tree in slopes if of_tree is not None]
    starts: list[Any] = [np.zeros(1, np.int64)]
    n_terms = 0
    for of_tree, size in zip(slopes, sizes, strict=True):
        starts.append(
            n_terms + (np.zeros(size, np.int64) if of_tree is None else of_tree.start[1:])
        )
        n_terms += 0 if of_tree is None else of_tree.n_terms
    terms = {name: np.concatenate([getattr(s, name) for s in some]) for name in SLOPE_ARRAYS[1:]}
    return LinearLeaves(start=np.concatenate(starts), **terms)


def mixed_slopes(
    old: LinearLeaves | None, new: LinearLeaves | None, share_of_old: Floats
) -> tuple[LinearLeaves | None, Floats | float]:
    """Return the weighted mean of the old and new slopes of a tree's leaves, and offsets of values.

    `share_of_old` (n_nodes,) is the weight of the old slopes. Where both have a slope along a
    feature, the centre is averaged too; adding the offsets (n_nodes, n_values) to the values then
    keeps the mean of the two linear functions.
    """
    both = [
        (slopes, share[slopes.node])
        for slopes, share in ((old, share_of_old), (new, 1.0 - share_of_old))
        if slopes is not None
    ]
    if not both:
        return None, 0.0
    share = np.concatenate([of_terms for _, of_terms in both])[:, np.newaxis]
    is_used = share[:, 0] > 0.0
    node, feature, slope, centre, low, high = (
        np.concatenate([getattr(slopes, name) for slopes, _ in both])[is_used]
        for name in ("node", *SLOPE_ARRAYS[1:])
    )
    share = share[is_used]
    term, place = np.unique(node << 32 | feature, return_inverse=True)
    total = _sums(place, share, len(term))
    mean = _sums(place, share * centre, len(term)) / total
    offset = _sums(node, share * slope * (mean[place] - centre), len(share_of_old))
    lowest, highest = np.full(len(term), np.inf), np.full(len(term), -np.inf)
    np.minimum.at(lowest, place, low)
    np.maximum.at(highest, place, high)
    mixture = LinearLeaves(
        start=np.searchsorted(term >> 32, np.arange(len(share_of_old) + 1)).astype(np.int64),
        feature=(term & 0xFFFF_FFFF).astype(np.int32),
        coefficient=_sums(place, share * slope, len(term)),
        centre=mean,
        low=lowest,
        high=highest,
    )
    return mixture.steep(), offset


def _sums(place: NDArray[Any], values: Floats, n_places: int) -> Floats:
    """Return the sums of rows with the same place, of shape (n_places, n_columns)."""
    sums = np.zeros((n_places, values.shape[1]))
    np.add.at(sums, place, values)
    return sums
