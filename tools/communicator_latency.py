"""How long a call between workers takes: sockets, and the connections of Dask.

    python -m tools.communicator_latency [--sizes 2 4 8] [--calls 200]

Prints the median time of a gather and of an exchange with messages of 100 bytes and of 1 MB to each
other worker, for workers that are processes of this machine.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import dask
from distributed import Client, LocalCluster, get_worker

from hedgerow.cluster import run_processes
from hedgerow.dask import _session
from hedgerow.dask._driver import Attempt, FitRun, ask
from hedgerow.exceptions import ClusterError

LENGTHS = {"100 B": 100, "1 MB": 1_000_000}


def measure(communicator: Any, n_calls: int) -> dict[str, float]:
    """Return the median milliseconds of each call."""
    found = {}
    for label, length in LENGTHS.items():
        n = max(10, n_calls if length < 10_000 else n_calls // 10)
        part = bytes(length)
        found[f"gather {label}"] = _median(lambda part=part: communicator.gather(part), n)
        parts = [part] * communicator.size
        found[f"exchange {label}"] = _median(lambda parts=parts: communicator.exchange(parts), n)
    return found


def _median(call: Any, n_calls: int) -> float:
    times = []
    for _ in range(n_calls):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(times[n_calls // 10 :])


class Calls:
    """What each process measures."""

    def __init__(self, n_calls: int) -> None:
        self.n_calls = n_calls

    def __call__(self, communicator: Any) -> dict[str, float]:
        """Return the median milliseconds of each call."""
        return measure(communicator, self.n_calls)


def _rank(plan: Any, sockets: Any, token: bytes, n_calls: int) -> dict[str, float]:
    worker = get_worker()
    session = _session._session(worker, plan.fit_id)  # noqa: SLF001
    with session.running(), _session._communicator(session, worker, sockets, token) as one:  # noqa: SLF001
        session.last_call = float("inf")
        return measure(one, n_calls)


def on_dask(size: int, transport: str, n_calls: int) -> dict[str, float]:
    """Measure within a LocalCluster."""
    options: dict[str, Any] = {"dashboard_address": ":0", "silence_logs": 50}
    with (
        LocalCluster(n_workers=size, threads_per_worker=1, **options) as cluster,
        Client(cluster) as client,
        dask.config.set({"hedgerow.transport": transport, "hedgerow.patience": 1e9}),
    ):
        run = FitRun(client, None, {}, {})
        attempt = Attempt(run, tuple(sorted(client.scheduler_info(n_workers=-1)["workers"])))
        try:
            sockets = list(
                ask(
                    client, attempt.addresses, _session.open_session, attempt.plan, seconds=60
                ).values()
            )
            tasks = [
                attempt._submit(_rank, attempt.plan, sockets, bytes(32), n_calls, address=address)  # noqa: SLF001
                for address in attempt.addresses
            ]
            return client.gather(tasks)[0]
        finally:
            attempt.end()


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[2, 4, 8])
    parser.add_argument("--calls", type=int, default=200)
    options = parser.parse_args()
    names = [f"{verb} {label}" for label in LENGTHS for verb in ("gather", "exchange")]
    print("| workers | transport |", " | ".join(names), "|")
    print("|---|---|" + "---|" * len(names))
    for size in options.sizes:
        measured = {
            "sockets, processes": run_processes(Calls(options.calls), size)[0],
            "sockets, Dask": on_dask(size, "sockets", options.calls),
            "Dask's own": on_dask(size, "dask", options.calls),
        }
        for transport, values in measured.items():
            figures = " | ".join(f"{values[name]:.2f} ms" for name in names)
            print(f"| {size} | {transport} | {figures} |", flush=True)


if __name__ == "__main__":
    try:
        main()
    except ClusterError as error:
        raise SystemExit(str(error)) from error
