"""Workers that are processes of one machine, connected by sockets."""

from __future__ import annotations

import multiprocessing
import pickle
import secrets
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import monotonic
from typing import Any, TypeVar

from hedgerow._params import short_repr
from hedgerow.cluster._messages import SILENCE, TIMEOUT
from hedgerow.cluster._sockets import SocketCommunicator, SocketListener
from hedgerow.cluster._threads import check_size
from hedgerow.exceptions import ClusterError, ParameterError

T = TypeVar("T")

_STARTING = 60.0  # seconds until every process has imported what it needs
_ENDING = 3.0  # seconds that the other workers have to notice that one has failed


def portable(error: BaseException, rank: int) -> BaseException:
    """Return an error that another process can unpickle: itself, or its message."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001  an error of the user's own
        return RuntimeError(f"Worker {rank} failed: {type(error).__name__}: {error}")
    return error


def run_processes(
    work: Callable[[SocketCommunicator], T],
    size: int,
    *,
    timeout: float = TIMEOUT,
    silence: float = SILENCE,
) -> list[T]:
    """Call a function in several new processes, each with its communicator; return their results.

    The function and its results are pickled. If one process fails, its error is raised here. No
    process is left running when this function returns.

    Parameters
    ----------
    work : function of a communicator
        What every worker does; defined in a module, not inside another function.
    size : int
        The number of processes.
    timeout, silence : float
        As in `SocketListener.connect`.
    """
    check_size(size)
    _require_picklable(work)
    context = multiprocessing.get_context("spawn")
    token = secrets.token_bytes(32)
    pipes: list[Connection] = []
    processes: list[BaseProcess] = []
    try:
        for rank in range(size):
            pipe, end = context.Pipe()
            arguments = (end, work, rank, token, timeout, silence)
            process = context.Process(target=_work, args=arguments, daemon=True)
            process.start()
            end.close()
            pipes.append(pipe)
            processes.append(process)
        addresses = [_address(pipe, rank) for rank, pipe in enumerate(pipes)]
        for pipe in pipes:
            pipe.send(addresses)
        return _results(pipes, processes)
    finally:
        for started in processes:
            started.kill()
            started.join()
        for pipe in pipes:
            pipe.close()


def _require_picklable(work: Callable[..., Any]) -> None:
    try:
        pickle.dumps(work)
    except Exception as error:
        raise ParameterError(
            f"work={short_repr(work)} cannot be sent to a new process: {error}. Define the "
            "function in a module, not inside another function."
        ) from error


def _work(
    pipe: Connection,
    work: Callable[[SocketCommunicator], Any],
    rank: int,
    token: bytes,
    timeout: float,
    silence: float,
) -> None:
    """Connect, work, and send back the result or the error."""
    try:
        with SocketListener() as listener:
            pipe.send(listener.address)
            communicator = listener.connect(
                rank, pipe.recv(), token, timeout=timeout, silence=silence
            )
        with communicator:
            result = work(communicator)
        pipe.send_bytes(pickle.dumps((result, None)))
    except BaseException as error:  # noqa: BLE001  sent to the process that started this one
        pipe.send_bytes(pickle.dumps((None, portable(error, rank))))


def _address(pipe: Connection, rank: int) -> Any:
    with suppress(EOFError, OSError):
        if pipe.poll(_STARTING):
            return pipe.recv()
    raise ClusterError(f"Worker {rank} did not start: can a new process import your function?")


def _results(pipes: list[Connection], processes: list[BaseProcess]) -> list[Any]:
    """Return the result of every process, or raise the first error that another did not cause."""
    results: dict[int, Any] = {}
    errors: list[BaseException] = []
    deadline = float("inf")
    while len(results) < len(pipes) and monotonic() < deadline:
        waiting = [pipe for rank, pipe in enumerate(pipes) if rank not in results]
        for pipe in wait(waiting, min(1.0, max(0.0, deadline - monotonic()))):
            rank = next(rank for rank, other in enumerate(pipes) if other is pipe)
            results[rank], error = _result(pipes[rank], processes[rank], rank)
            if error is not None:
                errors.append(error)
                deadline = min(deadline, monotonic() + _ENDING)
    for error in errors:
        if not isinstance(error, ClusterError):
            raise error
    if errors:
        raise errors[0]
    return [results[rank] for rank in range(len(pipes))]


def _result(pipe: Connection, process: BaseProcess, rank: int) -> tuple[Any, BaseException | None]:
    try:
        result: tuple[Any, BaseException | None] = pickle.loads(pipe.recv_bytes())
    except (EOFError, OSError):
        process.join(1.0)
        return None, ClusterError(f"Worker {rank} ended with exit code {process.exitcode}.")
    return result
