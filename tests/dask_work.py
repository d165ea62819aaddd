"""What Dask workers import in tests: callbacks, and a look at what a fit has left."""

import asyncio
import logging
import math
import os
import signal
import time
from pathlib import Path

from hedgerow._model_file.container import pack
from hedgerow._model_file.contents import write_estimator
from patience import LONG, wait_until

# Of clusters in tests.
OPTIONS = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}


def warm_up():
    """Import what a fit needs, which takes seconds in a new process."""
    import hedgerow.dask  # noqa: F401


def spill_everything():
    """Let partitions wait in a file, however small they are."""
    from hedgerow.dask import _session

    _session._BYTES_IN_MEMORY = 0


def files_of(dask_worker=None):
    """Return the files in the folder of a worker."""
    return [str(path) for path in Path(dask_worker.local_directory).rglob("*") if path.is_file()]


def is_fitting(dask_worker=None):
    """Whether a fit has begun on a worker."""
    from hedgerow.dask._session import _SESSIONS

    return any(key[0] == dask_worker.address for key in _SESSIONS)


async def leftovers(dask_worker=None):
    """Return what a fit has left on a worker, None if nothing."""
    from hedgerow.dask._session import _SESSIONS
    from hedgerow.dask._transport import HANDLER

    deadline = time.monotonic() + LONG
    while time.monotonic() < deadline:
        own = [key for key in _SESSIONS if key[0] == dask_worker.address]
        executing = dask_worker.state.executing_count
        if not own and not executing and HANDLER not in dask_worker.handlers:
            return None
        await asyncio.sleep(0.02)
    return str((own, executing, sorted(dask_worker.handlers)))


def file_bytes(model):
    """Return the bytes of the model file."""
    return bytes(pack(*write_estimator(model)))


# ---- callbacks -----------------------------------------------------------------------------------


class Slow:
    """Make every round take a while."""

    def __init__(self, seconds):
        self.seconds = seconds

    def after_round(self, info):  # noqa: ARG002
        time.sleep(self.seconds)


class Forgotten:
    """Let the workers of this process believe that their driver has not called for an hour."""

    def after_round(self, info):  # noqa: ARG002
        from hedgerow.dask._session import _SESSIONS

        for session in list(_SESSIONS.values()):
            session.last_call = -math.inf
        time.sleep(0.1)


class KillOnce:
    """Send a signal to the process of one worker after a round, the first time."""

    def __init__(self, folder, round_, wait_for=None, sent=signal.SIGKILL):
        self.path, self.round, self.wait_for, self.sent = str(folder), round_, wait_for, sent

    def after_round(self, info):
        if info.round == self.round:
            if self.wait_for:
                wait_until(Path(self.path, self.wait_for).exists)
            try:
                with Path(self.path, "killed").open("x") as file:
                    file.write(str(os.getpid()))
            except FileExistsError:
                return
            os.kill(os.getpid(), self.sent)


class Rounds:
    """Write down the rounds that are computed."""

    def __init__(self, folder):
        self.path = str(folder)

    def after_round(self, info):
        with Path(f"{self.path}/{os.getpid()}").open("a") as file:
            file.write(f"{info.round}\n")


class OddError(Exception):
    """An error that cannot be unpickled."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


class FailOddly:
    """Raise an error that no other process can unpickle."""

    def after_round(self, info):  # noqa: ARG002
        raise OddError("this", "that")


class Fail:
    """Raise after a round."""

    def after_round(self, info):
        if info.round == 3:
            raise ZeroDivisionError("in a callback")
