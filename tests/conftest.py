"""What all tests share: their order, threads that sleep, and signals as a shell leaves them."""

import gc
import os
import signal
import threading

from hypothesis import HealthCheck, settings

from patience import LONG

# The processes of the suite share the cores. Threads of other libraries would spin on them while
# they wait: those of OpenMP (scikit-learn, LightGBM, XGBoost), and of NumPy's and SciPy's BLAS.
# They read this when they are loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Whatever takes long does so because the machine is busy.
for _limit in ("COMM__TIMEOUTS__CONNECT", "COMM__TIMEOUTS__TCP", "SCHEDULER__WORKER_TTL"):
    os.environ.setdefault(f"DASK_DISTRIBUTED__{_limit}", f"{LONG}s")
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

# Workers of Dask are forks of one process, which has imported what tests/dask/conftest.py says.
os.environ.setdefault("DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD", "forkserver")

# Until all tests are collected, hardly any object becomes garbage.
gc.disable()

# A shell starts background jobs with SIGINT ignored, nohup a command with SIGHUP ignored. Children
# inherit both, and Python then has no KeyboardInterrupt. Tests of signals need them, here and in
# the processes that they start.
_USUAL = {signal.SIGINT: signal.default_int_handler}
if hasattr(signal, "SIGHUP"):  # not on Windows
    _USUAL[signal.SIGHUP] = signal.SIG_DFL
if threading.current_thread() is threading.main_thread():
    for _number, _usual in _USUAL.items():
        if signal.getsignal(_number) is signal.SIG_IGN:
            signal.signal(_number, _usual)


def pytest_collection_modifyitems(items):
    """Begin with slow tests, so that at the end no process of the suite waits for another's."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish():
    """Keep the many objects of collected tests out of the garbage collector's way."""
    gc.collect()
    gc.freeze()
    gc.enable()
