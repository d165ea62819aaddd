"""From ``n_jobs`` to a number of threads, and chains of steps that share threads.

The number reflects the CPUs available to this process (affinity, container quotas) and the context:
inside a joblib or Dask worker the default is that worker's share of the machine.
"""

import math
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from heapq import heapify, heappop, heappush
from numbers import Integral
from pathlib import Path
from threading import Lock
from typing import Any

from joblib.parallel import get_active_backend

from hedgerow.exceptions import ParameterError

Chain = Iterator[Any]  # steps that depend on each other, such as the rounds of a model
_END = object()
# Kernels allocate memory for each thread. More than the largest machines run at once would not
# make anything faster.
MOST_THREADS = 1024


def effective_n_jobs(n_jobs: int | None) -> int:
    """Return the number of threads that ``n_jobs`` means in the current process.

    Parameters
    ----------
    n_jobs : int or None
        - A positive number is the number of threads, of which 1,024 are used at most.
        - ``-1`` means all available CPUs (see `available_cpus`), ``-2`` all but one, and so on, but
          never less than one thread.
        - ``None`` means the first of these that applies:

          1. ``n_jobs`` of the surrounding ``joblib.parallel_config``, outside of joblib's workers;
          2. the environment variable ``HEDGEROW_NUM_THREADS``;
          3. the environment variable ``OMP_NUM_THREADS`` as it was when Hedgerow was imported, in
             which joblib's process workers find their share of the machine (or
             ``inner_max_num_threads``), and Dask's theirs;
          4. one thread, inside a joblib or Dask worker;
          5. all available CPUs.

    Returns
    -------
    int
        At least 1. The number of threads affects speed, never results.

    Raises
    ------
    ParameterError
        If ``n_jobs`` is 0 or not an integer, or ``HEDGEROW_NUM_THREADS`` is not a positive integer.
    """
    if n_jobs is None:
        return _default_threads()
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ParameterError(
            f"n_jobs={n_jobs!r} is not allowed: use a positive number of threads, -1 for all "
            "available CPUs, -2 for all but one, or None for the default"
        )
    if n_jobs > 0:
        return min(int(n_jobs), MOST_THREADS)
    return max(1, available_cpus() + 1 + int(n_jobs))


def available_cpus() -> int:
    """Return the number of CPUs that this process may use, at least 1.

    That is the CPUs in its affinity mask, or fewer if a cgroup (version 1 or 2, its own or one
    above it) grants it less time than that, rounded up: a quota of 1.5 CPUs gives 2. The affinity
    is read each time; the quota is read once in a process, and again after a fork.
    """
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    return max(1, math.ceil(min(allowed, _cpu_quota())))


def _default_threads() -> int:
    in_worker, context_n_jobs = _joblib_context()
    if context_n_jobs is not None and not in_worker:
        return effective_n_jobs(context_n_jobs)
    from_environment = _hedgerow_num_threads() or _OMP_NUM_THREADS
    if from_environment is not None:
        return min(from_environment, MOST_THREADS)
    return 1 if in_worker or _in_dask_worker() else available_cpus()


def _joblib_context() -> tuple[bool, int | None]:
    """Return whether this is a joblib worker, and the n_jobs of the surrounding configuration."""
    backend, n_jobs = get_active_backend()
    return (getattr(backend, "nesting_level", 0) or 0) > 0, n_jobs


def _in_dask_worker() -> bool:
    # Code inside a Dask worker has Dask imported; other code should not import it.
    get_worker = getattr(sys.modules.get("distributed"), "get_worker", None)
    if get_worker is None:
        return False
    try:
        get_worker()
    except ValueError:
        return False
    return True


def _hedgerow_num_threads() -> int | None:
    text = os.environ.get("HEDGEROW_NUM_THREADS", "").strip()
    if not text:
        return None
    if not text.isdecimal() or int(text) == 0:
        raise ParameterError(
            f"HEDGEROW_NUM_THREADS={text!r} is not allowed: use a positive number of threads"
        )
    return int(text)


def _omp_num_threads(text: str) -> int | None:
    # OpenMP allows a list, one number per nesting level, and ignores invalid values.
    first = text.split(",")[0].strip()
    return int(first) or None if first.isdecimal() else None


# Read once, as OpenMP does: Dask sets it for its workers in the process that starts them, too.
_OMP_NUM_THREADS = _omp_num_threads(os.environ.get("OMP_NUM_THREADS", ""))


@cache
def _cpu_quota() -> float:
    return min(_cgroup_quotas(Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")), default=math.inf)


if hasattr(os, "register_at_fork"):  # not on Windows, where no process forks
    os.register_at_fork(after_in_child=_cpu_quota.cache_clear)


def _cgroup_quotas(root: Path, membership: Path) -> Iterator[float]:
    """Yield every quota, in CPUs, on this process's control groups and on those above them.

    Inside a container the groups' paths may be the host's, which are not mounted there; the
    container's own limits are then those of the mounted root, where each walk upwards ends.
    """
    for line in _read(membership).splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            yield from _quotas_upwards(root, path)
        elif "cpu" in controllers.split(","):
            yield from _quotas_upwards(root / "cpu", path)
            yield from _quotas_upwards(root / controllers, path)


def _quotas_upwards(mount: Path, path: str) -> Iterator[float]:
    group = mount / path.lstrip("/")
    while True:
        yield from _quota_of(group)
        if group == mount:
            return
        group = group.parent


def _quota_of(group: Path) -> Iterator[float]:
    version_2 = _read(group / "cpu.max").split()
    version_1 = [
        *_read(group / "cpu.cfs_quota_us").split(),
        *_read(group / "cpu.cfs_period_us").split(),
    ]
    for limit in (version_2, version_1):
        # "max" and -1 mean no limit.
        if len(limit) == 2 and limit[0].isdecimal():
            yield int(limit[0]) / int(limit[1])


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""


class SideBySide:
    """Threads that run chains to their ends.

    A thread takes a step of the chain that has come least far, then of the next. So four chains
    keep three threads busy until all of them end, at about the same time.
    """

    def __init__(self, n_workers: int) -> None:
        self._n_workers = n_workers
        self._pool = ThreadPoolExecutor(n_workers) if n_workers > 1 else None

    def run(self, chains: Sequence[Chain]) -> None:
        """Take all steps of all chains. If one of them raises, the others stop after their step."""
        if self._pool is None:
            for chain in chains:
                for _ in chain:
                    pass
            return
        waiting = _Waiting(chains)
        n_workers = min(self._n_workers, len(chains))
        running = [self._pool.submit(waiting.take_steps) for _ in range(n_workers)]
        try:
            for each in running:
                each.result()
        except BaseException:  # an interrupt of this thread included
            waiting.clear()
            raise

    def close(self) -> None:
        """End the threads, once they have nothing left to do."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)


class _Waiting:
    """The chains that no thread works on, by the number of their steps so far."""

    def __init__(self, chains: Sequence[Chain]) -> None:
        self._chains, self._lock = chains, Lock()
        self._heap = [(0, number) for number in range(len(chains))]
        self._is_cleared = False
        heapify(self._heap)

    def take_steps(self) -> None:
        """Advance chains for as long as one is waiting.

        Where none is, those that are left have a thread each.
        """
        try:
            while (taken := self._take()) is not None:
                n_steps, number = taken
                if next(self._chains[number], _END) is not _END:
                    self._put_back(n_steps + 1, number)
        except BaseException:
            self.clear()
            raise

    def clear(self) -> None:
        """Let no further step begin."""
        with self._lock:
            self._heap, self._is_cleared = [], True

    def _take(self) -> tuple[int, int] | None:
        with self._lock:
            return heappop(self._heap) if self._heap else None

    def _put_back(self, n_steps: int, number: int) -> None:
        with self._lock:
            if not self._is_cleared:
                heappush(self._heap, (n_steps, number))
