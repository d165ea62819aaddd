"""Hedgerow's native kernels."""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


level: str

def hashes(seed: int, purpose: str, a: int, first: int, count: int) -> NDArray[numpy.uint64]:
    """The hashes of b = first, first + 1, …: random numbers of 64 bits."""

def small_hashes(seed: int, purpose: str, a: int, first: int, count: int, largest: int) -> tuple:
    """
    The places, and the values, of those of these hashes that are at most `largest`.
    """

def random_parts(hashes: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], stratum: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int = 1, reduction: object | None = None) -> NDArray[numpy.int64]:
    """
    The part of each row, if the strata are divided into parts of these sizes (n_strata, n_parts) by the order of hashes.
    """

def sum_rows(numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int = 1) -> float:
    """The exact sum of numbers, rounded once."""

def sum_columns(matrix: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int) -> NDArray[numpy.float64]:
    """The exact sum of each column, rounded once."""

def sum_words(numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
    """
    The exact sum before it is rounded. The words of several workers add up to those of all.
    """

def sum_of_words(words: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> float:
    """The number nearest to a sum in words."""

def sum_groups(numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_groups: int) -> NDArray[numpy.float64]:
    """
    The sum of the numbers of each group: in order in blocks of `row_block` rows, exact between blocks.
    """

class ValueCells:
    """A fine division of sorted columns, from which bins are made quickly."""

def value_cells(order: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], rank: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], value_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_categorical: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> ValueCells:
    """The cells of sorted columns."""

def sketch_bins(order: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], rank: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], value_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_categorical: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], cells: ValueCells | None, hessian: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], max_bins: int, bins: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
    """
    Bins of nearly equal hessian; returns their thresholds, and where those of each feature start.
    """

def digest_rows(bins: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], words: Sequence[Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]], first_row: int, threads: int) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
    """
    A digest of rows: bins (n_features, n_rows) and further columns of 64 bits. The digests of several workers add up, modulo 2^64, to that of all rows.
    """

def examine_row_lists(starts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int, threads: int) -> tuple:
    """
    Whether the rows of a sparse table are valid, sorted, and without repeated columns.
    """

@overload
def has_infinity(values: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], threads: int) -> bool: ...

@overload
def has_infinity(values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], threads: int) -> bool:
    """Whether a table of any strides holds an infinity."""

def find_thresholds(table: object, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, max_bins: int, sample_size: int, seed: int, threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]: ...

def find_sparse_thresholds(values: object, rows: object, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_rows: int, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, max_bins: int, sample_size: int, seed: int, threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]: ...

def map_to_bins(table: object, thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], category_bins: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], category_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], by_column: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], by_row: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu')] | None, width: int, threads: int, first_row: int = 0) -> bool:
    """
    Writes the rows of a table to the rows of the bins that begin at first_row; returns whether every value was finite or missing.
    """

def map_sparse_to_bins(values: object, rows: object, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], by_column: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], by_row: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu')] | None, width: int, threads: int) -> bool:
    """Returns whether every value was finite or missing."""

def map_stored_to_bins(values: object, rows: object, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_rows: int, thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], bins: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], threads: int) -> bool:
    """Returns whether every stored value was finite or missing."""

def interleave(by_column: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], by_row: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu')], places: Annotated[NDArray[numpy.int32], dict(shape=(None, 5), order='C', device='cpu', writable=False)], width: int, threads: int) -> None:
    """Fills by_row from by_column."""

def bundle_features(by_column: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], n_bins: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], zero_bin: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """
    Bundles exclusive features: five numbers a feature, those of native/table/place.hpp.
    """

def find_missing(by_column: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
    """Whether each feature has missing values, 1 or 0."""

def join_columns(places: Annotated[NDArray[numpy.int32], dict(shape=(None, 5), order='C', device='cpu', writable=False)], n_bins: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], has_missing: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], most_codes: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """Joins columns that have few codes: five numbers a feature."""

def order_by_place(places: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> NDArray[numpy.int64]:
    """The rows in increasing order of their places, random numbers."""

def sums_before(codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], amount: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, places: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], window: int, sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], totals: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Fills sums, for each row of a circle, with those of its category in the window before it.
    """

class GrowthParams:
    """How trees grow, as kernels take it."""

    def __init__(self, params: object) -> None:
        """Takes the fields of these names from a GrowthParams of Python."""

    def to_bytes(self) -> bytes:
        """The bytes of the struct, for kernels of another compiler."""

def growth_param_names() -> list[str]:
    """The fields of GrowthParams that are numbers or names."""

class Constraints:
    def __init__(self, params: object) -> None:
        """Takes the constraints among the fields of a GrowthParams."""

def constraint_names() -> list[str]:
    """The fields of GrowthParams that are constraints."""

class Draw:
    def __init__(self, sampling: str, fraction: float, reg_lambda: float, seed: int, round: int, first_row: int = 0, n_total: int = 0, reduction: object | None = None) -> None: ...

def sample_tree_features(features: Sequence, fraction: float, seed: int, tree_id: int) -> NDArray[numpy.int32]:
    """A random subset of the features: those that a tree may use."""

def sample_rows(seed: int, round: int, n: int, fraction: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], kind: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, unit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, first_row: int = 0) -> NDArray[numpy.uint32]:
    """
    The rows that a round trains on, in increasing order: each with the fraction of its kind as probability, rows of a unit together.
    """

most_rows: int = 1073741823

class GradientSummary:
    def __init__(self, max_g: float, sum_g: float, max_h: float, sum_h: float, min_h: float) -> None: ...

    def fits_packed(self, n_rows: int) -> bool: ...

    def fits_one_word(self, n_rows: int) -> bool: ...

    def units(self, n_rows: int, packed: bool) -> FixedPoint:
        """The units of one output."""

class FixedPoint:
    @property
    def g_unit(self) -> float: ...

    @property
    def h_unit(self) -> float: ...

    @property
    def count_shift(self) -> int: ...

    def steps(self, g: float, h: float) -> tuple[int, int]:
        """The integers of a row."""

def vector_unit(sum: float, n_rows: int, wide: bool) -> float:
    """The unit of an output of trees of all outputs."""

class GradientStore:
    def __init__(self, n_rows: int, n_outputs: int, threads: int, vector: bool = False, n_total: int = 0, communicator: object | None = None) -> None:
        """
        The gradients of n_rows, which with those of other workers are n_total.
        """

    def differentiate(self, loss: str, parameters: Sequence, scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], leaf: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, leaf_value: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, draw: Draw | None = None) -> tuple[NDArray[numpy.uint32], NDArray[numpy.float64]] | None:
        """
        Adds the leaf values to the scores and computes the loss's gradients at the new scores. With a draw, returns the rows of the sample and their weights.
        """

    def take(self, gradient: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], hessian: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], draw: Draw | None = None) -> tuple[NDArray[numpy.uint32], NDArray[numpy.float64]] | None:
        """
        Takes the gradients of a user-defined loss; samples as differentiate does.
        """

    def to_float(self, output: int) -> NDArray[numpy.float64]:
        """The quantised gradients and hessians as numbers, (n_rows, 2)."""

most_leaves: int = 65535

packed_from_rows: int = 32768

class ScalarGrower:
    def __init__(self, by_column: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], by_row: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], n_bins: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], is_categorical: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.int32], dict(shape=(None, 5), order='C', device='cpu', writable=False)], width: int, thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold_offset: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], params: GrowthParams, constraints: Constraints, threads: int, histogram_bytes: int | None = None, leaves_ahead: int | None = None, communicator: object | None = None) -> None: ...

    def grow(self, gradients: GradientStore, output: int, bag: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, tree_id: int, leaf_of_row: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], leaf_value: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> tuple:
        """
        Grows a tree for one output; writes the leaf of each row and the value of each leaf.
        """

    @staticmethod
    def grow_side_by_side(growers: Sequence[ScalarGrower], threads_each: int, gradients: GradientStore, bag: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, first_tree_id: int, leaf_of_row: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], leaf_value: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> list:
        """
        Grows a tree for each output, as many at the same time as there are growers, each on so many threads; writes the leaf of each row and the value of each leaf.
        """

    @property
    def has_lanes(self) -> bool:
        """
        Whether eight features are scanned side by side; the trees are the same.
        """

class DistributedGrower:
    def __init__(self, by_column: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], by_row: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], n_bins: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], is_categorical: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.int32], dict(shape=(None, 5), order='C', device='cpu', writable=False)], width: int, thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold_offset: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], params: GrowthParams, constraints: Constraints, threads: int, histogram_bytes: int | None = None, leaves_ahead: int | None = None, communicator: object | None = None) -> None: ...

    def grow(self, gradients: GradientStore, output: int, bag: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, tree_id: int, leaf_of_row: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], leaf_value: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> tuple:
        """
        Grows a tree for one output on the rows of all workers; writes the leaf of each row of this worker and the value of each leaf.
        """

class VectorGrower:
    def __init__(self, by_column: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], by_row: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], n_bins: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], is_categorical: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.int32], dict(shape=(None, 5), order='C', device='cpu', writable=False)], width: int, thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold_offset: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], params: GrowthParams, constraints: Constraints, threads: int, histogram_bytes: int | None = None, leaves_ahead: int | None = None, communicator: object | None = None) -> None: ...

    def grow(self, gradients: GradientStore, output: int, bag: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, tree_id: int, leaf_of_row: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], leaf_value: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> tuple:
        """
        Grows a tree for all outputs (`output` is 0); writes the leaf of each row and the values of each leaf.
        """

def boost_rounds(growers: Sequence[ScalarGrower], threads_each: int, gradients: GradientStore, loss: str, parameters: Sequence, scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], leaf_of_row: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], is_pending: bool, leaf_value: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], target: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, fraction: float, seed: int, first_round: int, n_rounds: int) -> tuple:
    """
    Grows the trees of several rounds of a built-in loss on uniformly sampled rows, and returns their arrays, joined, with the nodes and category sets of each. The leaves of the last round are still to be added to the scores.
    """

class SparseGrower:
    def __init__(self, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], bins: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], n_bins: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], zero_bins: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_rows: int, thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold_offset: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], params: GrowthParams, constraints: Constraints, threads: int, histogram_bytes: int | None = None) -> None: ...

    def grow(self, gradients: GradientStore, output: int, bag: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, tree_id: int, leaf_of_row: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], leaf_value: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> tuple:
        """
        Grows a tree for one output of a sparse table; writes the leaf of each row and the value of each leaf.
        """

    @staticmethod
    def grow_side_by_side(growers: Sequence[SparseGrower], threads_each: int, gradients: GradientStore, bag: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, first_tree_id: int, leaf_of_row: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], leaf_value: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> list:
        """
        Grows a tree for each output, as many at the same time as there are growers, each on so many threads; writes the leaf of each row and the value of each leaf.
        """

def update_scores(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], leaf: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], leaf_value: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int) -> None:
    """scores += leaf_value[leaf]."""

def loss_names() -> list[str]:
    """The names of the losses with native gradients."""

def loss_gradients(loss: str, parameters: Sequence, scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], target: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int) -> tuple:
    """
    Gradients and hessians of a built-in loss as numbers, two (n_outputs, n_rows) arrays.
    """

def leaf_weights(params: GrowthParams, G: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], H: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """The weights of leaves with these sums."""

def common_step(params: GrowthParams, G: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], H: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> float:
    """
    The step that all leaves of a tree, with these sums and values, take in common.
    """

def leaf_quantiles(corner: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, leaf: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], bag: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, level: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, reduction: object | None = None) -> NDArray[numpy.float64]:
    """For each leaf, the level-quantile of its rows' kinks."""

def rank_discounts(count: int) -> NDArray[numpy.float64]:
    """The discounts of the ranks, first to last."""

def rank_gradients(loss: str, sigma: float, truncation: int, normalise: bool, row: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], gain: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], score: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], hessian: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """
    Writes gradients and hessians of a ranking loss; rows are sorted by query.
    """

def failure_gradients(distribution: str, scale: float, lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], score: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], hessian: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """
    Writes gradients and hessians of failure times from the logarithms of their bounds.
    """

def failure_losses(distribution: str, scale: float, lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], score: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], loss: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], drift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """
    Writes the negative log likelihood of each row and its derivative by log(scale).
    """

def log_survival_inplace(distribution: str, z: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """z becomes log P(Z > z)."""

def count_pairs(rank: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, first: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], beyond: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], last: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """
    Pairs of rows of `first` and those after them with larger, equal and smaller rank.
    """

def exact_presort(columns: Sequence[object], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C')], ranks: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C')], threads: int) -> None:
    """Sort each column once: rows by value, and the ranks of their values."""

class ExactGrower:
    """Grows trees by exact greedy search, one at a time."""

    def __init__(self, columns: Sequence[object], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C')], ranks: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C')], is_categorical: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def grow(self, g: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], h: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], bag: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], params: object, tree_id: int, threads: int) -> tuple:
        """Grow one tree; returns its arrays, and the leaf of each row."""

def monotone_links(feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], missing_left: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], category_set: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], category_bits: Annotated[NDArray[numpy.uint32], dict(shape=(None, 8), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int32]:
    """
    The (lower, upper) leaves of a tree whose values must be in this order.
    """

def isotonic(links: Annotated[NDArray[numpy.int32], dict(shape=(None, 2), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float64]:
    """
    The values nearest to the targets that do not fall from the first to the second of a link.
    """

class CartRules:
    def __init__(self) -> None: ...

    def set_criterion(self, name: str) -> None: ...

    @property
    def max_depth(self) -> int: ...

    @max_depth.setter
    def max_depth(self, arg: int, /) -> None: ...

    @property
    def max_leaves(self) -> int: ...

    @max_leaves.setter
    def max_leaves(self, arg: int, /) -> None: ...

    @property
    def min_samples_split(self) -> int: ...

    @min_samples_split.setter
    def min_samples_split(self, arg: int, /) -> None: ...

    @property
    def min_samples_leaf(self) -> int: ...

    @min_samples_leaf.setter
    def min_samples_leaf(self, arg: int, /) -> None: ...

    @property
    def min_weight_leaf(self) -> float: ...

    @min_weight_leaf.setter
    def min_weight_leaf(self, arg: float, /) -> None: ...

    @property
    def min_impurity_decrease(self) -> float: ...

    @min_impurity_decrease.setter
    def min_impurity_decrease(self, arg: float, /) -> None: ...

    @property
    def max_features(self) -> int: ...

    @max_features.setter
    def max_features(self, arg: int, /) -> None: ...

    @property
    def random_thresholds(self) -> bool: ...

    @random_thresholds.setter
    def random_thresholds(self, arg: bool, /) -> None: ...

    @property
    def seed(self) -> int: ...

    @seed.setter
    def seed(self, arg: int, /) -> None: ...

class RowDraws:
    def __init__(self) -> None: ...

    @property
    def bootstrap(self) -> bool: ...

    @bootstrap.setter
    def bootstrap(self, arg: bool, /) -> None: ...

    @property
    def n_draws(self) -> int: ...

    @n_draws.setter
    def n_draws(self, arg: int, /) -> None: ...

    @property
    def seed(self) -> int: ...

    @seed.setter
    def seed(self, arg: int, /) -> None: ...

    def set_classes(self, rows_by_class: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], class_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], class_draws: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Draws from the rows of each class separately."""

def draw_counts(draws: RowDraws, tree: int, n_rows: int) -> NDArray[numpy.uint16]:
    """How often the sample of a tree contains each row."""

def grow_forest(by_column: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_bins: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], is_categorical: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, numbers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, n_values: int, n_outputs: int, weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, balance_sample: bool, rules: CartRules, draws: RowDraws, first_tree: int, n_trees: int, threads: int) -> list:
    """
    Grows trees on bins, each on its own sample; returns a tuple of arrays for each.
    """

def sort_columns(columns: Sequence[object], order: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C')], rank: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C')], threads: int) -> tuple:
    """
    Sorts columns; returns the distinct values, and where those of each column start.
    """

def grow_exact_forest(order: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], rank: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], value_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_categorical: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, numbers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, n_values: int, n_outputs: int, weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, balance_sample: bool, rules: CartRules, draws: RowDraws, first_tree: int, n_trees: int, threads: int) -> list:
    """
    Grows trees on sorted columns, each on its own sample; returns a tuple of arrays for each.
    """

class StoredRows:
    """Rows of a sparse table, for predictors."""

    def __init__(self, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int, are_sorted: bool = True) -> None: ...

    def __len__(self) -> int: ...

    @property
    def shape(self) -> tuple: ...

class LinearTerms:
    """Slopes of leaves, or of nodes."""

    def __init__(self, start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], coefficient: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], centre: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], low: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class EnsembleArrays:
    """The arrays of an ensemble."""

    def __init__(self, feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], missing_left: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], category_set: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], category_bits: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], tree_offset: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], tree_output: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], base_score: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], slopes: LinearTerms | None, has_float_sums: bool = False) -> None: ...

class Predictor:
    """An ensemble made ready for prediction."""

    def __init__(self, ensemble: EnsembleArrays, n_features: int) -> None: ...

    @overload
    def predict(self, rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], stages: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), device='cpu')], first_tree: int, stage_trees: int, start: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)] | None, n_threads: int) -> None: ...

    @overload
    def predict(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], stages: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), device='cpu')], first_tree: int, stage_trees: int, start: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)] | None, n_threads: int) -> None: ...

    @overload
    def predict(self, rows: StoredRows, stages: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), device='cpu')], first_tree: int, stage_trees: int, start: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)] | None, n_threads: int) -> None:
        """
        Fill stages (stages, rows, outputs): the base score, or start, plus trees.
        """

    @overload
    def apply(self, rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], leaves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), device='cpu')], n_threads: int) -> None: ...

    @overload
    def apply(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], leaves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), device='cpu')], n_threads: int) -> None: ...

    @overload
    def apply(self, rows: StoredRows, leaves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), device='cpu')], n_threads: int) -> None:
        """Fill leaves (rows, trees) with the node in which each row ends."""

def add_tree_binned(feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], split_bin: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], missing_left: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], category_set: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], category_bits: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], by_column: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_threads: int) -> None:
    """
    Add a tree's values to the scores of all rows, or of those listed in increasing order.
    """

def sigmoid_inplace(scores: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], n_threads: int = 1) -> None:
    """Replace every score by 1 / (1 + exp(-score))."""

def two_classes(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], factor: float, probabilities: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
    """
    Write the probabilities of two classes, given the scores (n, 1) of the second.
    """

def softmax_inplace(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], n_threads: int = 1) -> None:
    """
    Replace every row of scores (rows, outputs) by its softmax. Any strides.
    """

def exp_inplace(numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

def log_inplace(numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

def log1p_inplace(numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

@overload
def mean_scores(ensemble: EnsembleArrays, rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, place: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None: ...

@overload
def mean_scores(ensemble: EnsembleArrays, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, place: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None:
    """
    Fill mean (points, outputs) with the mean score over rows at each point.
    """

@overload
def scores_at_points(ensemble: EnsembleArrays, rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], place: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], n_threads: int) -> None: ...

@overload
def scores_at_points(ensemble: EnsembleArrays, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], place: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], n_threads: int) -> None:
    """Fill scores (rows, points, outputs)."""

def scores_by_share(ensemble: EnsembleArrays, share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], grids: Sequence[tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]]], mean: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None:
    """
    Fill mean (points of all grids, outputs) with the mean score over the training rows, of which shares go each way.
    """

class TreeNodes:
    def __init__(self, feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], category_set: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], count: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

class SlopeRules:
    def __init__(self, params: GrowthParams, linear_lambda: float) -> None: ...

@overload
def fit_slopes(tree: TreeNodes, place: int, leaf: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], bag: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, table: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], gradients: GradientStore, output: int, rules: SlopeRules, threads: int) -> tuple: ...

@overload
def fit_slopes(tree: TreeNodes, place: int, leaf: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], bag: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, table: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], hessian: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rules: SlopeRules, threads: int) -> tuple: ...

@overload
def fit_slopes(tree: TreeNodes, place: int, leaf: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], bag: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, table: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], gradients: GradientStore, output: int, rules: SlopeRules, threads: int) -> tuple:
    """
    Slopes of a tree's leaves: start by node, feature, coefficient, centre, low and high.
    """

@overload
def fit_slopes(tree: TreeNodes, place: int, leaf: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], bag: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, table: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], hessian: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rules: SlopeRules, threads: int) -> tuple:
    """The same for gradients and hessians as numbers."""

@overload
def add_linear_leaves(terms: LinearTerms, leaf: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], place: int, table: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None: ...

@overload
def add_linear_leaves(terms: LinearTerms, leaf: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], place: int, table: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """
    Adds to the score of each row its leaf's value and slopes; terms are by leaf.
    """

class ShapExplainer:
    """Trees made ready for Shapley values."""

    def __init__(self, ensemble: EnsembleArrays, share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], player: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_players: int) -> None: ...

    @property
    def expected(self) -> list[float]:
        """The mean score by shares."""

    @overload
    def explain(self, rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], background: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)] | None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], n_threads: int) -> None: ...

    @overload
    def explain(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], background: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)] | None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], n_threads: int) -> None:
        """
        Add to values (rows, players, outputs) those of rows, or their mean against the rows of a background.
        """

    @overload
    def interact(self, rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], background: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)] | None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], interactions: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None, None), order='C', device='cpu')], n_threads: int) -> None: ...

    @overload
    def interact(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], background: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)] | None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], interactions: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None, None), order='C', device='cpu')], n_threads: int) -> None:
        """
        Fill interactions (rows, players, players, outputs), which are 0, from values.
        """

@overload
def preorder_links(feature: Annotated[NDArray[numpy.int16], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple: ...

@overload
def preorder_links(feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """The left and right children of nodes in preorder, by their features."""

def preorder(left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int32]:
    """The nodes of a tree in preorder."""

class PackedForest:
    """Packed trees over bins, ready for prediction."""

    @overload
    def __init__(self, tree_offset: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], feature: Annotated[NDArray[numpy.int16], dict(shape=(None,), order='C', device='cpu', writable=False)], split_bin: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], missing_left: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], category_bits: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_categorical: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @overload
    def __init__(self, tree_offset: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], split_bin: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], missing_left: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], category_bits: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_categorical: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @overload
    def add(self, rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], first: int, last: int, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None: ...

    @overload
    def add(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], first: int, last: int, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None: ...

    @overload
    def add(self, rows: StoredRows, first: int, last: int, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None:
        """Add the values of trees [first, last) to the sums (rows, values)."""

    @overload
    def apply(self, rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], leaves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), device='cpu')], n_threads: int) -> None: ...

    @overload
    def apply(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], leaves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), device='cpu')], n_threads: int) -> None: ...

    @overload
    def apply(self, rows: StoredRows, leaves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), device='cpu')], n_threads: int) -> None:
        """Fill leaves (rows, trees) with leaf numbers, counted over all trees."""

    @overload
    def add_out_of_bag(self, rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], bits: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_summed: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], n_threads: int) -> None: ...

    @overload
    def add_out_of_bag(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], bits: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_summed: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], n_threads: int) -> None: ...

    @overload
    def add_out_of_bag(self, rows: StoredRows, bits: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_summed: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], n_threads: int) -> None:
        """
        Add to each row the values of the trees whose bit is set for it, and count them.
        """

    @overload
    def permute(self, rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], bits: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], vote: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, label: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, value: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, target: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, seed: int, increases: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None: ...

    @overload
    def permute(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], bits: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], vote: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, label: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, value: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, target: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, seed: int, increases: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None:
        """
        Fill increases (trees, 1 + features) with the out-of-bag loss, and its increase per feature.
        """

METRICS: tuple = ...

def unit_rows(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None: ...

def order_by_tree(rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], index: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None: ...

class PanelIndex:
    def __init__(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], centre: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: float, index: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, metric: str, threads: int) -> None: ...

    def nearest(self, queries: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], distances: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], indices: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
        """
        Fills in the nearest rows of each query, as many as the arrays have columns.
        """

    def within(self, queries: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], radius: float, threads: int) -> tuple:
        """
        Returns the number of neighbours of each query, and all distances and indices.
        """

class BlockIndex:
    def __init__(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], tree: bool, metric: str, p: float, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, inverse_ranges: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int) -> None: ...

    def nearest(self, queries: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], distances: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], indices: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
        """
        Fills in the nearest rows of each query, as many as the arrays have columns.
        """

    def within(self, queries: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], radius: float, threads: int) -> tuple:
        """
        Returns the number of neighbours of each query, and all distances and indices.
        """

class SparseArrays:
    def __init__(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class SparseIndex:
    def __init__(self, by_row: SparseArrays, by_column: SparseArrays, metric: str) -> None: ...

    def nearest(self, queries: SparseArrays, distances: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], indices: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
        """
        Fills in the nearest rows of each query, as many as the arrays have columns.
        """

    def within(self, queries: SparseArrays, radius: float, threads: int) -> tuple:
        """
        Returns the number of neighbours of each query, and all distances and indices.
        """

class LinearRows:
    """Rows, dense or sparse, with an additional constant feature."""

    @staticmethod
    def dense(values: Annotated[NDArray, dict(shape=(None, None), order='C', writable=False)], bias: float) -> LinearRows: ...

    @staticmethod
    def sparse(values: Annotated[NDArray, dict(shape=(None,), order='C', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_features: int, bias: float) -> LinearRows: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def width(self) -> int: ...

    def times(self, w: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], *, threads: int) -> NDArray[numpy.float64]:
        """X wᵀ, for each row of w."""

    def combine(self, u: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, threads: int) -> NDArray[numpy.float64]:
        """Xᵀ u."""

    def curve(self, theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], v: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, threads: int) -> NDArray[numpy.float64]:
        """Xᵀ diag(θ) X v."""

    def normal_matrix(self, theta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, threads: int) -> NDArray[numpy.float64]:
        """Xᵀ diag(θ) X."""

    def squares(self, *, threads: int) -> NDArray[numpy.float64]:
        """Squared lengths of the rows."""

def cholesky(matrix: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> int:
    """
    Turn a matrix into its Cholesky factor; returns the number of pivots lost to rounding.
    """

def cholesky_solve(factored: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """Solve L Lᵀ x = b in place."""

class Descent:
    """A coordinate descent in progress."""

    @property
    def violation(self) -> float: ...

    @property
    def converged(self) -> bool: ...

def dual_descent(rows: LinearRows, target: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], epsilon: float, square: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], seed: int) -> Descent:
    """Descent in the dual of an SVM with penalty ½‖w‖²."""

def lasso_descent(columns: LinearRows, y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], C: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], slack: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], seed: int) -> Descent:
    """Descent in the primal of an SVM with penalty Σ|w|."""

def crammer_singer(rows: LinearRows, label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], C: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], square: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], seed: int) -> Descent:
    """Descent in Crammer and Singer's dual."""

def descend(descents: Sequence, epochs: int, tolerance: Sequence, threads: int) -> list[int]:
    """Run descents in parallel; returns the number of epochs of each."""

@overload
def pair_steps(kernel: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], slot: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], column: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], first_of_second: int, low: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pull: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], tolerance: float, most_steps: int, room: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], threads: int) -> int: ...

@overload
def pair_steps(kernel: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], slot: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], column: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], first_of_second: int, low: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], pull: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], tolerance: float, most_steps: int, room: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> int: ...

@overload
def add_products(kernel: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], slot: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], change: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], products: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None: ...

@overload
def add_products(kernel: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], slot: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], change: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], products: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None: ...

@overload
def take_kernels(kernel: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], slot: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], column: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

@overload
def take_kernels(kernel: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], slot: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], column: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

def pair_room(n: int) -> int:
    """Working memory of `pair_steps`, in numbers."""

class KernelRule:
    def __init__(self, kind: str, gamma: float, coef0: float, degree: int) -> None: ...

    @property
    def scale(self) -> float: ...

    def finish(self, half_norms_of_rows: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], half_norms_of_columns: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """Turn products of scaled rows into kernels."""

def weighted_sums(values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], coefficients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

def most_violating(pull: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], low: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], most: int, threads: int) -> NDArray[numpy.int64]: ...

def pull_range(pull: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], low: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[float, float]: ...

class KernelTableFloat:
    def __init__(self, rule: KernelRule, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, centre: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> None: ...

    def fill(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], slots: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

    def fill_diagonal(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    def sum(self, queries: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, coefficients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

class KernelTableDouble:
    def __init__(self, rule: KernelRule, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, centre: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> None: ...

    def fill(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], slots: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...

    def fill_diagonal(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    def sum(self, queries: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, coefficients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None: ...
