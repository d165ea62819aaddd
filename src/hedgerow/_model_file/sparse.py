"""Sparse rows ↔ the arrays of a CSR matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from hedgerow._model_file.container import Arrays
from hedgerow._model_file.stored import require

CSR = {"data": np.float64, "indices": np.int32, "indptr": np.int64}


def write_csr(rows: Any) -> Arrays:
    """Return the arrays of sparse rows."""
    return {name: getattr(rows, name).astype(dtype) for name, dtype in CSR.items()}


def read_csr(arrays: Arrays, n_features: int, fewest_rows: int = 1) -> Any:
    """Read what `write_csr` gave; kernels take each of the indices as a place in another array."""
    for name, dtype in CSR.items():
        fits = arrays[name].dtype == dtype and arrays[name].ndim == 1
        require(fits, f"{name} of the rows is not an array as expected")
    data, indices, indptr = (arrays[name] for name in CSR)
    require(n_features < 2**31 and len(indptr) > fewest_rows, "there are no rows")
    starts_fit = indptr[0] == 0 and indptr[-1] == len(data) == len(indices)
    require(starts_fit and (indptr[1:] >= indptr[:-1]).all(), "rows do not follow one another")
    in_range = ((indices >= 0) & (indices < n_features)).all()
    require(in_range, "a row has a number in no column")
    is_first = np.zeros(len(indices) + 1, bool)
    is_first[indptr] = True
    ascending = (indices[1:] > indices[:-1]) | is_first[1:-1]
    require(ascending.all(), "columns of a row are not in their order")
    return scipy.sparse.csr_array((data, indices, indptr), (len(indptr) - 1, n_features))
