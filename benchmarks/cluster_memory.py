"""Memory of the workers of a fit on a Dask cluster: python -m benchmarks.cluster_memory

Prints how far the memory of each worker (resident set) rises during a fit, in bytes of a row of
that worker, beside the bytes of its bins and of what growth needs (34: scores, gradients, leaves,
order of rows, target). What a worker has in use before the fit does not count: the interpreter with
all modules imported, after a small fit, and the table itself if it is there already ("persisted",
each partition on the worker that takes it). Otherwise workers make their partitions during the fit,
and these wait in a file until thresholds are known.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import re
import time
from pathlib import Path

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

import hedgerow.dask as hd
from benchmarks.cluster import block_of_rows
from hedgerow._data.binning import row_bytes

GROWTH_BYTES = 34
BAR = 1.2


def bytes_in_use(field: str) -> int:
    """Return a field of this process's status: VmRSS, or VmHWM for its peak."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    found = re.search(rf"^{field}:\s+(\d+) kB$", status, re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def start() -> int:
    """Forget the peak so far; return the memory in use, without what could be given back."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    return bytes_in_use("VmRSS")


def rise(client: Client, X: da.Array, y: da.Array, trees: int) -> tuple[float, float]:
    """Return the largest rise of a worker's memory in a fit, and the seconds of the fit."""
    before = client.run(start)
    began = time.perf_counter()
    hd.GradientBoostingClassifier(n_estimators=trees, max_leaves=63, random_state=0).fit(X, y)
    seconds = time.perf_counter() - began
    peaks = client.run(bytes_in_use, "VmHWM")
    return max(peaks[worker] - before[worker] for worker in peaks), seconds


def persisted(client: Client, collection: da.Array) -> da.Array:
    """Return a collection whose blocks are on the workers, in the order of the rows."""
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
    n_each = collection.numblocks[0] // len(workers)
    parts = []
    for i, worker in enumerate(workers):
        part = collection.blocks[i * n_each : (i + 1) * n_each]
        parts.append(client.persist(part, workers=[worker], allow_other_workers=False))
    wait(parts)
    return da.concatenate(parts)


def main() -> None:
    """Print the rise of memory for tables that are on the workers, or are made in the fit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--partitions", type=int, default=8, help="of each worker")
    parser.add_argument("--trees", type=int, default=10)
    options = parser.parse_args()
    own_rows = options.rows / options.workers
    bins = options.columns + row_bytes(options.columns)
    need = bins + GROWTH_BYTES
    print(f"{own_rows:,.0f} rows a worker; a row has {bins} bytes of bins and {GROWTH_BYTES} more")
    n_blocks = options.workers * options.partitions
    size = -(-options.rows // n_blocks)
    chunks = (tuple(min(size, options.rows - i) for i in range(0, options.rows, size)), (-1,))
    with (
        LocalCluster(
            n_workers=options.workers,
            threads_per_worker=1,
            dashboard_address=None,
            memory_limit=0,
        ) as cluster,
        Client(cluster) as client,
    ):
        for dtype in (np.float32, np.float64):
            both = da.map_blocks(
                block_of_rows,
                columns=options.columns,
                chunks=(chunks[0], (options.columns + 1,)),
                dtype=np.float32,
            ).astype(dtype)
            X, y = both[:, :-1], both[:, -1]
            few = [collection[: size // 20].persist() for collection in (X, y)]
            few = [collection.rechunk({0: size // 100}) for collection in few]
            hd.GradientBoostingClassifier(n_estimators=2).fit(*few)  # imports, connections
            row = (options.columns + 1) * np.dtype(dtype).itemsize
            for kind in ("made in the fit", "persisted"):
                if kind == "persisted":
                    X_on, y_on = persisted(client, X), persisted(client, y)
                else:
                    X_on, y_on = X, y
                rose, seconds = rise(client, X_on, y_on, options.trees)
                of_row = rose / own_rows
                print(
                    f"{np.dtype(dtype).name}, {row} bytes a row, {kind:16}"
                    f"{of_row:7.1f} bytes a row, {of_row / need:.2f} × {need} (bar {BAR})"
                    f"{seconds:7.1f} s",
                    flush=True,
                )
                del X_on, y_on


if __name__ == "__main__":
    main()
