"""The thread team (through the kernels in ``_native.testing``) and the meaning of ``n_jobs``."""

import math
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hedgerow import _threads as threads
from hedgerow._native import testing
from hedgerow._threads import available_cpus, effective_n_jobs
from hedgerow.exceptions import ParameterError
from interrupts import interrupted
from patience import wait_until

POSIX = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="Windows has no forks and hardly any signals"
)

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def visits(n):
    return np.zeros(n, dtype=np.int32)


def visits_each_index_once(n_threads, count):
    seen = visits(count)
    testing.count_visits(n_threads, seen)
    return bool((seen == 1).all())


def team_folders():
    folders = Path("/proc/self/task").iterdir()
    return [f for f in folders if (f / "comm").read_text().strip() == "hedgerow"]


def succeeds_in_fork(action):
    """Whether ``action()`` is true in a forked child."""
    child = os.fork()
    if child == 0:
        os._exit(0 if action() else 1)
    return os.waitpid(child, 0)[1] == 0


def run_script(source):
    return subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=False
    )


class Ticking:
    """A kernel that runs on another thread until this is left; inside, it has begun."""

    def __init__(self, kernel, *arguments):
        self.ticks = visits(2)
        self._thread = threading.Thread(target=kernel, args=(*arguments, self.ticks))

    def __enter__(self):
        self._thread.start()
        wait_until(lambda: self.ticks[0] > 0)

    def __exit__(self, *_):
        self.ticks[1] = 1
        self._thread.join()


# ---- regions ---------------------------------------------------------------------------------


@settings(max_examples=200)
@given(n_threads=st.integers(-1, 12), count=st.integers(0, 300))
def test_every_index_is_visited_exactly_once(n_threads, count):
    assert visits_each_index_once(n_threads, count)


def test_a_region_has_as_many_threads_as_were_asked_for():
    for n_threads in (2, 3, 5, 4, 2):
        assert testing.meet(n_threads)


@pytest.mark.parametrize("pause", [0.0, 10e-6, 30e-6, 60e-6, 2e-3])
def test_regions_work_whether_the_team_is_awake_or_asleep(pause):
    for _ in range(50):
        time.sleep(pause)
        assert visits_each_index_once(3, 20)


@settings(max_examples=100)
@given(n_threads=st.integers(0, 8), each=st.integers(1, 9), count=st.integers(0, 60))
def test_every_task_with_an_owner_runs_once_wherever_that_is(n_threads, each, count):
    seen = visits(count)
    assert testing.count_owned_visits(n_threads, each, seen) <= count
    assert (seen == 1).all()


def test_the_caller_alone_owns_what_it_runs():
    assert testing.count_owned_visits(1, 20, visits(20)) == 20


NO_TASK = 2**32  # fails


@settings(max_examples=200)
@given(
    n_threads=st.integers(1, 8),
    each=st.integers(1, 9),
    n_stages=st.integers(0, 12),
    n_owned=st.integers(0, 12),
)
def test_no_task_of_a_stage_begins_before_the_stage_that_it_waits_for_has_ended(
    n_threads, each, n_stages, n_owned
):
    seen = visits(each * n_stages)
    assert testing.count_early_tasks(n_threads, each, min(n_owned, n_stages), NO_TASK, seen) == 0
    assert (seen == 1).all()


@pytest.mark.parametrize("n_owned", [0, 2])
@pytest.mark.parametrize("failing", [0, 3, 17, 29])
def test_no_task_waits_for_a_stage_that_has_failed(failing, n_owned):
    for _ in range(50):
        with pytest.raises(RuntimeError, match="a task failed"):
            testing.count_early_tasks(4, 5, n_owned, failing, visits(30))
    assert visits_each_index_once(4, 100)


def test_a_nested_region_visits_every_pair_once():
    seen = visits(40 * 30)
    testing.count_nested_visits(3, 30, seen)
    assert (seen == 1).all()


@pytest.mark.parametrize(("teams", "threads_each"), [(1, 3), (2, 1), (2, 2), (3, 2), (4, 4)])
def test_teams_visit_every_pair_once_and_have_their_own_threads(teams, threads_each):
    seen = visits(teams * 5)
    assert testing.count_team_visits(teams, threads_each, 5, seen) == teams
    assert (seen == 1).all()


def test_teams_take_more_tasks_than_there_are_teams():
    seen = visits(60)
    testing.count_team_visits(3, 2, 5, seen)
    assert (seen == 1).all()


def test_an_exception_in_a_region_of_a_team_reaches_the_caller():
    with pytest.raises(RuntimeError, match="task 7 failed"):
        testing.fail_in_team(2, 2, 7, np.zeros(1000, np.int32))
    assert visits_each_index_once(4, 100)
    assert testing.count_team_visits(2, 2, 5, visits(10)) == 2


def test_eight_python_threads_may_use_the_team_at_once():
    with ThreadPoolExecutor(8) as pool:
        outcomes = pool.map(lambda k: visits_each_index_once(2 + k % 3, 50), range(4000))
        assert all(outcomes)


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_an_exception_in_a_task_reaches_the_caller(n_threads):
    with pytest.raises(RuntimeError, match="task 7 failed"):
        testing.fail_at(n_threads, 7, False, visits(100))


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_running_out_of_memory_in_a_task_is_a_memory_error(n_threads):
    with pytest.raises(MemoryError):
        testing.fail_at(n_threads, 7, True, visits(100))


def test_indices_after_an_exception_are_abandoned_and_none_runs_twice():
    seen = visits(10_000_000)
    with pytest.raises(RuntimeError):
        testing.fail_at(2, 0, False, seen)
    assert seen.max() == 1
    assert seen.sum() < seen.size


def test_the_team_works_on_after_exceptions():
    for _ in range(200):
        with pytest.raises(RuntimeError):
            testing.fail_at(3, 5, False, visits(20))
        assert visits_each_index_once(3, 20)
    assert testing.meet(3)


def test_every_thread_of_a_region_rounds_as_its_caller_does():
    assert testing.meet(3)
    assert testing.meet_rounding_upwards(3)


@given(
    work=st.integers(0, 10**9), per_thread=st.integers(0, 10**6), n_threads=st.integers(-3, 1000)
)
@example(work=10**9, per_thread=0, n_threads=4)
def test_threads_for_is_the_most_threads_that_each_have_enough_work(work, per_thread, n_threads):
    expected = max(1, min(n_threads, work // max(per_thread, 1)))
    assert testing.threads_for(work, per_thread, n_threads) == expected


def switches_of_asleep(folder):
    """How often a thread was taken off its core, None if it runs or is about to."""
    lines = (line.split(":") for line in (folder / "status").read_text().splitlines())
    facts = {name: value.strip() for name, value in lines}
    asleep = facts["State"].startswith("S")
    return asleep and (facts["voluntary_ctxt_switches"], facts["nonvoluntary_ctxt_switches"])


@on_linux
def test_an_idle_team_sleeps_until_it_is_called():
    testing.meet(3)
    wait_until(lambda: all(switches_of_asleep(folder) for folder in team_folders()))
    before = [switches_of_asleep(folder) for folder in team_folders()]
    time.sleep(0.1)  # a thread that looked around now and then would show here
    assert [switches_of_asleep(folder) for folder in team_folders()] == before
    assert len(before) >= 2


# ---- the process around the team ---------------------------------------------------------------


@POSIX
def test_a_forked_child_has_a_team_of_its_own():
    assert testing.meet(3)
    assert succeeds_in_fork(lambda: testing.meet(4) and visits_each_index_once(3, 100))
    assert testing.meet(3)


@POSIX
def test_a_fork_during_another_threads_region_leaves_the_child_a_free_team():
    with Ticking(testing.tick, 2):
        for _ in range(5):
            assert succeeds_in_fork(lambda: testing.meet(3))
    assert testing.meet(3)


@POSIX
def test_multiprocessing_children_made_by_fork_may_use_the_team():
    testing.meet(2)
    fork = multiprocessing.get_context("fork")
    children = [fork.Process(target=lambda: sys.exit(not testing.meet(2))) for _ in range(3)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0, 0]


@on_linux
def test_workers_block_every_signal_that_can_be_blocked():
    testing.meet(3)
    blockable = set(range(1, 32)) - {signal.SIGKILL, signal.SIGSTOP}
    folders = team_folders()
    assert len(folders) >= 2
    for folder in folders:
        mask = next(x for x in (folder / "status").read_text().splitlines() if "SigBlk" in x)
        bits = int(mask.split()[1], 16)
        assert all(bits >> (number - 1) & 1 for number in blockable)


@on_linux
def test_work_is_done_by_fewer_threads_when_no_more_can_be_started():
    script = """
import resource, sys
import numpy as np
from pathlib import Path
from hedgerow._native import testing
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
seen = np.zeros(1000, dtype=np.int32)
resource.setrlimit(resource.RLIMIT_AS, (used + 5 * 2**20, resource.RLIM_INFINITY))
for _ in range(10):
    testing.count_visits(64, seen)
print(set(seen.tolist()), len(list(Path("/proc/self/task").iterdir())) < 20)
"""
    outcome = run_script(script)
    assert (outcome.stdout, outcome.stderr) == ("{10} True\n", "")


@pytest.mark.parametrize(
    "ending",
    [
        pytest.param("time.sleep(0.05)", id="asleep"),
        pytest.param("pass", id="awake"),
        pytest.param("sys.exit(0)", id="exit"),
        pytest.param(
            "sys.exit(os.waitpid(pid, 0)[1]) if (pid := os.fork()) else None",
            id="fork",
            marks=POSIX,
        ),
        pytest.param(
            "threading.Thread(target=testing.tick, args=(3, ticks), daemon=True).start()",
            id="daemon inside a region",
        ),
    ],
)
def test_the_process_ends_cleanly_with_the_team(ending):
    setup = """
import os, sys, threading, time, warnings
import numpy as np
from hedgerow._native import testing
warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
testing.meet(3)
ticks = np.zeros(2, np.int32)
"""
    outcome = run_script(f"{setup}\n{ending}")
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "", "")


# ---- interrupts --------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["tick(2, ticks)", "tick_elsewhere(ticks)"])
@POSIX
def test_ctrl_c_ends_a_kernel_that_has_no_end(call):
    setup = """
import numpy as np
from hedgerow._native import testing
testing.meet(2)
ticks = np.zeros(2, np.int32)
"""
    assert interrupted(setup, f"testing.{call}", "ticks[0] > 0", when="ticks[0] > 0") == "True"


@pytest.fixture
def on_signal():
    """Set the handler of SIGUSR1, which arrives on the main thread once a kernel ticks."""
    before = signal.getsignal(signal.SIGUSR1)
    ticks = visits(2)

    def send():
        wait_until(lambda: ticks[0] > 0)
        os.kill(os.getpid(), signal.SIGUSR1)

    sender = threading.Thread(target=send)

    def install(handler):
        signal.signal(signal.SIGUSR1, handler)
        sender.start()
        return ticks

    yield install
    sender.join()
    signal.signal(signal.SIGUSR1, before)


@POSIX
def test_what_a_signal_handler_raises_is_raised_by_the_kernel(on_signal):
    def handler(*_):
        raise LookupError("from the handler")

    ticks = on_signal(handler)
    with pytest.raises(LookupError, match="from the handler"):
        testing.tick(2, ticks)
    assert testing.meet(2)


@POSIX
def test_a_signal_handler_that_returns_lets_the_kernel_go_on(on_signal):
    ticks_then = []

    def end():
        wait_until(lambda: ticks_then and ticks[0] > ticks_then[0] + 2)
        ticks[1] = 1

    ticks = on_signal(lambda *_: ticks_then.append(ticks[0]))
    ending = threading.Thread(target=end)
    ending.start()
    testing.tick(2, ticks)
    ending.join()
    assert len(ticks_then) == 1


# ---- n_jobs ------------------------------------------------------------------------------------


@pytest.fixture
def plain_environment(monkeypatch):
    monkeypatch.delenv("HEDGEROW_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "_OMP_NUM_THREADS", None)


@pytest.fixture
def sixteen_cpus(monkeypatch):
    monkeypatch.setattr(threads, "available_cpus", lambda: 16)


@pytest.mark.usefixtures("plain_environment", "sixteen_cpus")
@pytest.mark.parametrize(
    ("n_jobs", "expected"),
    [
        *((None, 16), (1, 1), (40, 40), (np.int64(3), 3), (999_999, 1024)),
        *((-1, 16), (-2, 15), (-16, 1), (-99, 1)),
    ],
)
def test_n_jobs_counts_cpus_as_scikit_learn_does(n_jobs, expected):
    assert effective_n_jobs(n_jobs) == expected


@pytest.mark.parametrize("n_jobs", [0, 1.0, "2", True])
def test_an_impossible_n_jobs_is_refused_by_name(n_jobs):
    with pytest.raises(ParameterError, match="n_jobs"):
        effective_n_jobs(n_jobs)


@pytest.mark.usefixtures("plain_environment", "sixteen_cpus")
def test_the_surrounding_parallel_config_sets_the_default():
    with joblib.parallel_config(n_jobs=3):
        assert effective_n_jobs(None) == 3
    with joblib.parallel_config(n_jobs=-2):
        assert effective_n_jobs(None) == 15
    with joblib.parallel_config(backend="threading"):
        assert effective_n_jobs(None) == 16


@pytest.mark.usefixtures("plain_environment", "sixteen_cpus")
def test_environment_variables_set_the_default_and_ours_comes_first(monkeypatch):
    monkeypatch.setattr(threads, "_OMP_NUM_THREADS", 5)
    assert effective_n_jobs(None) == 5
    monkeypatch.setenv("HEDGEROW_NUM_THREADS", "7")
    assert effective_n_jobs(None) == 7
    monkeypatch.setenv("HEDGEROW_NUM_THREADS", "999999")
    assert effective_n_jobs(None) == 1024
    assert effective_n_jobs(-1) == 16


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5"])
def test_a_wrong_hedgerow_num_threads_is_refused_by_name(monkeypatch, text):
    monkeypatch.setenv("HEDGEROW_NUM_THREADS", text)
    with pytest.raises(ParameterError, match="HEDGEROW_NUM_THREADS"):
        effective_n_jobs(None)


@pytest.mark.parametrize(
    ("text", "expected"), [("", None), ("4", 4), (" 4,2 ", 4), ("0", None), ("all", None)]
)
def test_omp_num_threads_is_read_as_openmp_reads_it(text, expected):
    assert threads._omp_num_threads(text) == expected


def default_in_workers(**parallel):
    return joblib.Parallel(n_jobs=2, **parallel)(
        joblib.delayed(effective_n_jobs)(None) for _ in "ab"
    )


@pytest.mark.usefixtures("plain_environment")
def test_a_loky_worker_uses_its_share_of_the_machine(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert default_in_workers(backend="loky") == [max(1, joblib.cpu_count() // 2)] * 2


@pytest.mark.usefixtures("plain_environment")
def test_a_loky_worker_keeps_to_inner_max_num_threads():
    with joblib.parallel_config(backend="loky", inner_max_num_threads=5):
        assert default_in_workers() == [5, 5]


@pytest.mark.usefixtures("plain_environment", "sixteen_cpus")
@pytest.mark.parametrize("backend", ["threading", pytest.param("multiprocessing", marks=POSIX)])
def test_a_joblib_worker_without_a_stated_share_uses_one_thread(backend):
    assert default_in_workers(backend=backend) == [1, 1]


@pytest.mark.usefixtures("plain_environment", "sixteen_cpus")
def test_sequential_joblib_is_no_worker():
    outcome = joblib.Parallel(n_jobs=1)(joblib.delayed(effective_n_jobs)(None) for _ in "ab")
    assert outcome == [16, 16]


@pytest.mark.usefixtures("plain_environment", "sixteen_cpus")
def test_a_dask_task_uses_one_thread_and_its_client_all(monkeypatch):
    def no_worker():
        raise ValueError("No worker found")

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(get_worker=no_worker))
    assert effective_n_jobs(None) == 16
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(get_worker=object))
    assert effective_n_jobs(None) == 1


# ---- available CPUs ----------------------------------------------------------------------------


@on_linux
def test_available_cpus_follow_the_affinity():
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert available_cpus() == 1
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize(("quota", "expected"), [(0.2, 1), (1.0, 1), (1.5, 2), (math.inf, None)])
def test_available_cpus_round_a_quota_up(monkeypatch, quota, expected):
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(threads, "_cpu_quota", lambda: quota)
    assert available_cpus() == (expected or 8)


@POSIX
def test_the_quota_is_read_once_and_again_after_a_fork(monkeypatch):
    threads._cpu_quota.cache_clear()
    monkeypatch.setattr(threads, "_cgroup_quotas", lambda *_: [3.0])
    assert threads._cpu_quota() == 3.0
    monkeypatch.setattr(threads, "_cgroup_quotas", lambda *_: [4.0])
    assert threads._cpu_quota() == 3.0
    assert succeeds_in_fork(lambda: threads._cpu_quota() == 4.0)
    threads._cpu_quota.cache_clear()


V2 = "0::/app/job\n"
V1 = "5:memory:/host/42\n4:cpu,cpuacct:/host/42\n0::/\n"


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        pytest.param(V2, {"app/job/cpu.max": "150000 100000\n"}, [1.5], id="own group"),
        pytest.param(V2, {"app/job/cpu.max": "max 100000\n"}, [], id="no limit"),
        pytest.param(
            V2, {"app/job/cpu.max": "300000 100000", "app/cpu.max": "50000 100000"}, [3.0, 0.5],
            id="parent's limit",
        ),
        pytest.param(V2, {"cpu.max": "200000 100000"}, [2.0], id="container's root"),
        pytest.param("0::/../..\n", {"cpu.max": "200000 100000"}, [2.0], id="outside namespace"),
        pytest.param(
            V1, {"cpu/cpu.cfs_quota_us": "250000", "cpu/cpu.cfs_period_us": "100000"}, [2.5],
            id="version 1",
        ),
        pytest.param(
            V1,
            {
                "cpu,cpuacct/host/42/cpu.cfs_quota_us": "70000",
                "cpu,cpuacct/host/42/cpu.cfs_period_us": "35000",
            },
            [2.0],
            id="version 1, joint mount",
        ),
        pytest.param(
            V1, {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, [],
            id="version 1, no limit",
        ),
        pytest.param("", {}, [], id="no cgroups"),
    ],
)  # fmt: skip
def test_quotas_of_a_group_and_of_those_above_it_are_found(tmp_path, membership, files, expected):
    (tmp_path / "membership").write_text(membership)
    root = tmp_path / "cgroup"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    assert list(threads._cgroup_quotas(root, tmp_path / "membership")) == expected


# ---- the end of the process --------------------------------------------------------------------

DAEMONS = """
import threading, time
import numpy as np
import hedgerow as hr
rng = np.random.default_rng(0)
X, y = rng.standard_normal((2000, 8)), rng.integers(0, 2, 2000)
options = {"n_estimators": 20, "learning_rate": 0.1, "n_jobs": 2}
model = hr.GradientBoostingClassifier(**options).fit(X, y)
near = hr.KNeighborsClassifier(n_jobs=2).fit(X, y)
kernels = [
    lambda: hr.explain.shap_values(model, X),
    lambda: model.predict(X),
    lambda: hr.GradientBoostingClassifier(**options).fit(X, y),
    lambda: near.predict(X),
    lambda: hr.RandomForestClassifier(n_estimators=20, n_jobs=2).fit(X, y),
]
started = threading.Barrier(len(kernels) + 1)
def forever(kernel):
    kernel()
    started.wait()
    while True:
        kernel()
for kernel in kernels:
    threading.Thread(target=forever, args=(kernel,), daemon=True).start()
started.wait()
time.sleep(0.05)
"""


def test_a_process_ends_while_daemon_threads_run_kernels():
    ended = run_script(DAEMONS)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_every_kernel_takes_the_global_lock_back_the_safe_way():
    sections = (Path(__file__).parents[1] / "native" / "bind").glob("*.hpp")
    assert not [s.name for s in sections if "gil_scoped_release" in s.read_text(encoding="utf-8")]
