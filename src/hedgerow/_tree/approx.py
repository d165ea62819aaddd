"""The engine of ``splitter="approx"``: candidate splits that divide the hessian evenly.

Before a tree is grown, or once before the first one, every numeric column is divided into at most
`max_bins` bins of nearly equal hessian (`native/table/sketch.hpp`), as XGBoost's approximate
algorithm does; the tree is then grown from histograms. Columns are sorted once.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._data.binning import BinnedMatrix, block_shape, empty_by_row, own_columns
from hedgerow._tree.cart import SortedMatrix
from hedgerow._tree.engine import Bag, HistogramEngine, Sample, make_grower
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.leaves import TrainerLoss
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats

Sketch = Literal["global", "tree"]


class SketchedTable:
    """A table whose columns are sorted once, and divided into bins again and again.

    `matrix` is the table as predictors read it, with categories as bin numbers; `n_category_bins`
    is the number of bins of each feature that is categorical. It takes 8 bytes per value, and per
    distinct value; another 2 per value if `often`, for bins that are made quickly.
    """

    def __init__(
        self,
        matrix: NDArray[Any],
        is_categorical: NDArray[np.bool_],
        n_category_bins: NDArray[np.int32],
        n_threads: int,
        *,
        often: bool = False,
    ) -> None:
        self.n_rows, n_features = matrix.shape
        self._sorted = SortedMatrix.from_matrix(matrix, is_categorical, n_threads=n_threads)
        self._cells = _native.value_cells(*self._arrays(), n_threads) if often else None
        self._n_category_bins, self._n_threads = n_category_bins, n_threads
        self._places = own_columns(n_features)
        # Written by each call of `bins`: new memory would cost as much time as the bins.
        self._by_column = np.empty((n_features, self.n_rows), np.uint8)
        width, stride = block_shape(n_features)
        self._by_row, self._width = empty_by_row(self.n_rows, n_features, width, stride), width

    def _arrays(self) -> tuple[Any, Any, Any, Any, Any]:
        of = self._sorted
        return of.order, of.rank, of.values, of.value_starts, of.is_categorical

    def bins(self, hessian: Floats, max_bins: int) -> BinnedMatrix:
        """Return the table with bins of nearly equal hessian, in the place of earlier ones."""
        of, hessian = self._sorted, np.ascontiguousarray(hessian)
        thresholds, starts = _native.sketch_bins(
            *self._arrays(), self._cells, hessian, max_bins, self._by_column, self._n_threads
        )
        _native.interleave(
            self._by_column, self._by_row, self._places, self._width, self._n_threads
        )
        n_bins = np.where(of.is_categorical, self._n_category_bins, np.diff(starts) + 1)
        return BinnedMatrix(
            by_column=self._by_column,
            by_row=self._by_row,
            width=self._width,
            n_bins=n_bins.astype(np.int32),
            is_categorical=of.is_categorical,
            threshold_values=thresholds,
            threshold_starts=starts,
            places=self._places,
        )


class ApproxEngine(HistogramEngine):
    """Grows trees from histograms, with bins that follow the hessians.

    `sketch` is "global" for the bins of the first gradients of the fit, or "tree" for new bins
    before each tree; the other parameters are those of `HistogramEngine`.
    """

    def __init__(
        self,
        table: SketchedTable,
        params: GrowthParams,
        base_score: Floats,
        *,
        max_bins: int,
        sketch: Sketch = "global",
        vector: bool = False,
        n_threads: int = 1,
    ) -> None:
        self._table, self._max_bins, self._sketch = table, max_bins, sketch
        self._params, self._vector = params, vector
        self._hessian: Floats = np.empty((0, 0))
        self._last: Floats | None = None  # the hessians of the bins in use
        binned = table.bins(np.ones(table.n_rows), max_bins)
        # Trees of a round have bins of their own, so they are not grown side by side.
        super().__init__(
            binned, params, base_score, vector=vector, n_threads=n_threads, most_growers=1
        )

    @property
    def boosts_rounds(self) -> bool:
        """No: the bins change from round to round."""
        return False

    def differentiate(
        self,
        loss: TrainerLoss,
        target: Floats,
        weights: Floats | None,
        sampling: _native.Draw | None,
    ) -> Sample:
        """Compute the gradients at the scores, which also weigh the candidate splits."""
        return self.take(*loss.gradients(target, self.scores, weights, self._n_threads), sampling)

    def take(self, gradient: Floats, hessian: Floats, sampling: _native.Draw | None) -> Sample:
        """Set the gradients, (n_outputs, n_rows), weights multiplied in."""
        self._hessian = hessian
        return super().take(gradient, hessian, sampling)

    def grow(self, output: int, bag: Bag, tree_id: int) -> Tree:
        """Divide the columns by the hessians, unless these are the same as before, and grow."""
        if self._last is None or self._sketch == "tree":
            self._divide(self._hessian.sum(axis=0) if self._vector else self._hessian[output])
        return super().grow(output, bag, tree_id)

    def _divide(self, hessian: Floats) -> None:
        if self._last is not None and np.array_equal(hessian, self._last):
            return
        self._last = hessian.copy()
        binned = self._table.bins(hessian, self._max_bins)
        self._growers = [make_grower(binned, self._params, self._vector, self._n_threads)]
