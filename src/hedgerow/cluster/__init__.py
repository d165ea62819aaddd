"""Distributed training on any number of workers: the same model as on one machine, bit for bit."""

from hedgerow._collective import Communicator
from hedgerow.cluster._fit import fit
from hedgerow.cluster._processes import run_processes
from hedgerow.cluster._sockets import SocketCommunicator, SocketListener
from hedgerow.cluster._threads import ThreadCommunicator, Traffic, run_threads

__all__ = [
    "Communicator",
    "SocketCommunicator",
    "SocketListener",
    "ThreadCommunicator",
    "Traffic",
    "fit",
    "run_processes",
    "run_threads",
]
