"""What a Dask worker does in a fit: it opens a session, takes in partitions, and runs its rank.

The functions are called by the driver, `_driver.py`: by `Client.run` (with the Dask worker as an
argument) those that must not wait, and as tasks the rest.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from distributed import Worker, get_worker
from distributed.comm import Comm

from hedgerow import cluster
from hedgerow._estimator import Estimator
from hedgerow._model_file.container import pack
from hedgerow._model_file.contents import write_estimator
from hedgerow._phases import phase, recording
from hedgerow.cluster import SocketCommunicator, SocketListener
from hedgerow.cluster._processes import portable
from hedgerow.dask._pieces import Layout, Piece, join, read_piece, stack
from hedgerow.dask._spill import SpillFile
from hedgerow.dask._transport import HANDLER, DaskCommunicator
from hedgerow.dask._transport import join as join_fit
from hedgerow.exceptions import ClusterError

# Seconds for the sockets of workers that have met through Dask: what a network that drops their
# calls costs "auto".
_FOR_SOCKETS = 5.0
_UNTIL_INTERRUPT = 1.5  # seconds after an abort, which ends the next call between workers
_BYTES_IN_MEMORY = 1 << 25  # of partitions that wait to become bins; more are in a file


@dataclass(frozen=True)
class Plan:
    """What all workers know of a fit.

    Attributes
    ----------
    fit_id : str
        Another for every attempt.
    addresses : tuple of str
        The Dask workers, by rank.
    transport : {"auto", "dask", "sockets"}
        How they exchange messages.
    timeout, silence : float
        As in `hedgerow.cluster.SocketListener.connect`.
    start : float
        Seconds until all workers must have begun.
    patience : float
        Seconds without a call of the driver after which a worker ends the fit.
    spills : bool
        Whether X is in bins soon, so that partitions may wait for that in a file.
    """

    fit_id: str
    addresses: tuple[str, ...]
    transport: str
    timeout: float
    silence: float
    start: float
    patience: float
    spills: bool


@dataclass(frozen=True)
class Job:
    """What every rank computes.

    Attributes
    ----------
    estimator : estimator
        A local one, not fitted.
    layouts : dict
        For each set ("train", "eval_0", …), the layout of each argument.
    options : dict
        Further arguments of `fit`, the same on all workers.
    checkpoint : bytes, optional
        The rounds so far of an earlier attempt.
    keeps_checkpoints : bool
        Whether `fit` accepts a checkpoint.
    in_pieces : bool
        Whether `fit` accepts a table in pieces.
    """

    estimator: Estimator
    layouts: Mapping[str, Mapping[str, Layout]]
    options: Mapping[str, Any]
    checkpoint: bytes | None
    keeps_checkpoints: bool
    in_pieces: bool


@dataclass(frozen=True)
class RankResult:
    """How a rank ended.

    Attributes
    ----------
    digest : str
        Of the model file, the same on all ranks.
    model : estimator, optional
        The fitted estimator, of rank 0.
    error : exception, optional
        What the rank failed with, by itself.
    lost : str, optional
        Why the rank could not go on, if another worker or the network is the reason.
    phases : str
        Where the time of the rank went.
    """

    digest: str = ""
    model: Any = None
    error: BaseException | None = None
    lost: str | None = None
    phases: str = ""


@dataclass(frozen=True)
class Pulse:
    """What a worker answers to the driver.

    Attributes
    ----------
    is_running : bool
        Whether the thread of the fit is at work.
    checkpoint : bytes, optional
        The rounds so far, if they are newer than those that the driver has.
    digest : str
        Of that checkpoint.
    """

    is_running: bool
    checkpoint: bytes | None = None
    digest: str = ""


class _Interrupt(BaseException):
    """Raised in the thread of a fit that the driver has ended."""


@dataclass
class Session:
    """One worker's part of a fit.

    Attributes
    ----------
    pieces : dict
        The partitions that were taken in: for each set and argument, by the number of the
        partition.
    file : SpillFile, optional
        Where those are for which there is no room in memory.
    bytes_in_memory : int
        Of the others, without those that are persisted.
    communicator : DaskCommunicator, optional
        That of this worker, once its task has begun.
    is_over : bool
        Whether the driver has ended it.
    """

    plan: Plan
    rank: int
    pieces: dict[tuple[str, str], dict[int, Piece]] = field(default_factory=dict)
    file: SpillFile | None = None
    bytes_in_memory: int = 0
    communicator: DaskCommunicator | None = None
    sockets: SocketCommunicator | None = None
    listener: SocketListener | None = None
    is_over: bool = False
    last_call: float = field(default_factory=monotonic)
    thread: int | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    checkpoint: Path | None = None
    over: threading.Event = field(default_factory=threading.Event)
    ended_at: float | None = None
    interruptible: int | None = None

    def make_room(self, piece: Piece, folder: str) -> None:
        """Move a piece to a file in a folder, if there are enough in memory."""
        with self.lock:
            if self.bytes_in_memory + piece.n_bytes <= _BYTES_IN_MEMORY:
                self.bytes_in_memory += piece.n_bytes
                return
            self.file = self.file or SpillFile(folder)
        piece.store(self.file)

    def end(self, reason: str) -> None:
        """End the fit on this worker, and with it on all others."""
        self.is_over = True
        for communicator in (self.communicator, self.sockets):
            if communicator is not None:
                communicator.abort(reason)
        if self.listener is not None:
            self.listener.close()
        self.ended_at = self.ended_at or monotonic()
        with self.lock:
            if self.interruptible is not None and self._is_deaf():
                # Where nobody can catch it, as in a finalizer, it is lost: the driver calls again.
                _raise_in(self.interruptible, _Interrupt)

    def _is_deaf(self) -> bool:
        """Return whether an abort does not reach the thread: it talks to nobody for a while."""
        is_alone = len(self.plan.addresses) == 1
        has_waited = monotonic() - (self.ended_at or 0.0) > _UNTIL_INTERRUPT
        return is_alone or has_waited

    @contextmanager
    def running(self) -> Iterator[None]:
        """Note which thread computes."""
        with self.lock:
            self.thread = threading.get_ident()
        try:
            yield
        finally:
            with self.lock:
                self.thread = None

    @contextmanager
    def interrupts(self) -> Iterator[None]:
        """Let `end` interrupt this thread in the block, and not after it."""
        with self.lock:
            self.interruptible = threading.get_ident()
        try:
            yield
        finally:
            is_settled = False
            while not is_settled:
                with suppress(_Interrupt):
                    with self.lock:
                        self.interruptible = None
                    sleep(0)  # one that is pending arrives here, if not before
                    is_settled = True


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Raise an error in a thread, as soon as that runs Python code.

    There is no way to take it back: Python 3.11 would look for it forever.
    """
    identifier, raised = ctypes.c_ulong(thread), ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(identifier, raised)


# Several Dask workers may live in one process.
_SESSIONS: dict[tuple[str, str], Session] = {}
_LOCK = threading.Lock()


def _session(worker: Worker, fit_id: str) -> Session:
    session = _SESSIONS.get((worker.address, fit_id))
    if session is None or session.is_over:
        raise ClusterError("The fit was ended by the driver.")
    return session


# ---- called by Client.run ------------------------------------------------------------------------


def open_session(plan: Plan, dask_worker: Worker) -> Any:
    """Prepare a worker for a fit; return the address of its socket, if it needs one."""
    rank = plan.addresses.index(dask_worker.address)
    session = Session(plan, rank)
    with _LOCK:
        _SESSIONS[dask_worker.address, plan.fit_id] = session
        dask_worker.handlers[HANDLER] = _handler(dask_worker.address)
    threading.Thread(target=_watch_driver, args=(session, dask_worker), daemon=True).start()
    # A socket beside encrypted connections would send the data in the clear.
    may_listen = plan.transport == "sockets" or dask_worker.address.startswith(("tcp:", "inproc:"))
    if plan.transport == "dask" or not may_listen or len(plan.addresses) == 1:
        return None
    with suppress(OSError):
        session.listener = SocketListener(dask_worker.ip)
        return session.listener.address
    return None


def _handler(address: str) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Return the handler of calls that other workers make to this one."""

    async def hedgerow_join(comm: Comm, fit_id: str, sender: int, rank: int, seconds: float) -> Any:
        return await join_fit(comm, _SESSIONS.get((address, fit_id)), sender, rank, seconds)

    return hedgerow_join


def call_session(fit_id: str, known: str, writer: str, dask_worker: Worker) -> Pulse | None:
    """Answer the driver; None if there is no such session.

    The worker `writer` sends its checkpoint, unless the driver knows it.
    """
    session = _SESSIONS.get((dask_worker.address, fit_id))
    if session is None:
        return None
    session.last_call = monotonic()
    is_running = session.thread is not None
    path, data = session.checkpoint, b""
    if writer == dask_worker.address and path is not None:
        with suppress(FileNotFoundError):
            data = path.read_bytes()
    if not data:
        return Pulse(is_running)
    digest = hashlib.sha256(data).hexdigest()
    return Pulse(is_running) if digest == known else Pulse(is_running, data, digest)


def end_session(fit_id: str, reason: str, dask_worker: Worker) -> bool:
    """End a fit on a worker and forget it; return whether its thread has ended."""
    session = _SESSIONS.get((dask_worker.address, fit_id))
    if session is None:
        return True
    session.end(reason)
    session.pieces.clear()
    if session.thread is not None:
        return False
    with _LOCK:
        _SESSIONS.pop((dask_worker.address, fit_id), None)
        if not any(address == dask_worker.address for address, _ in _SESSIONS):
            dask_worker.handlers.pop(HANDLER, None)
    session.over.set()
    return True


def _watch_driver(session: Session, worker: Worker) -> None:
    """End a session by itself if the driver does not call any more."""
    reason = "the driver of the fit has disconnected"
    while not session.over.wait(1.0):
        if monotonic() - session.last_call > session.plan.patience:
            end_session(session.plan.fit_id, reason, worker)


# ---- tasks ---------------------------------------------------------------------------------------


def take_in(
    fit_id: str, dataset: str, number: int, names: Sequence[str], is_persisted: bool, *parts: Any
) -> dict[str, tuple[Layout, int]]:
    """Keep one partition of every argument of a dataset; return what it holds.

    If that of X is persisted, it is in memory anyway.
    """
    worker = get_worker()
    session = _session(worker, fit_id)
    pieces = {
        name: read_piece(part, f"Partition {number} of {name}")
        for name, part in zip(names, parts, strict=True)
    }
    if session.plan.spills and not is_persisted:
        session.make_room(pieces["X"], worker.local_directory)
    for name, piece in pieces.items():
        session.pieces.setdefault((dataset, name), {})[number] = piece
    return {name: piece.summary for name, piece in pieces.items()}


def run_rank(plan: Plan, job: Job, sockets: Sequence[Any], token: bytes) -> RankResult:
    """Fit the model to the rows of this worker, with all others."""
    worker = get_worker()
    try:
        session = _session(worker, plan.fit_id)
        with (
            recording() as record,
            session.running(),
            _communicator(session, worker, sockets, token) as communicator,
        ):
            result = _fit(session, job, communicator, worker.state.nthreads)
        return replace(result, phases=str(record))
    except _Interrupt:
        return RankResult(lost="the driver has ended the fit")
    except ClusterError as error:
        return RankResult(lost=str(error))
    except Exception as error:  # noqa: BLE001  raised by the driver
        return RankResult(error=portable(error, plan.addresses.index(worker.address)))


@contextmanager
def _communicator(
    session: Session, worker: Worker, sockets: Sequence[Any], token: bytes
) -> Iterator[Any]:
    communicator: Any = None
    try:
        with phase("connections"):
            communicator = _meet(session, worker)
            if session.plan.transport != "dask" and session.communicator is not None:
                communicator = _faster(session, session.communicator, sockets, token)
        yield communicator
    finally:
        with phase("disconnection"):
            for opened in (session.sockets, session.communicator):
                if opened is not None:
                    opened.close()


def _faster(
    session: Session, through_dask: DaskCommunicator, sockets: Sequence[Any], token: bytes
) -> Any:
    """Return a communicator over sockets, if all workers can connect, or the one through Dask."""
    plan, why = session.plan, b"a worker cannot listen"
    if session.listener is not None and None not in sockets:
        try:
            session.sockets = session.listener.connect(
                *(session.rank, sockets, token),
                start=_FOR_SOCKETS,
                timeout=plan.timeout,
                silence=plan.silence,
            )
            why = b""
        except ClusterError as error:
            why = str(error).encode()
    trouble = [reason for reason in through_dask.gather(why) if reason]
    if not trouble and session.sockets is not None:
        return session.sockets
    if plan.transport == "sockets" and len(plan.addresses) > 1:
        raise ClusterError(f"The workers cannot connect through sockets: {trouble[0].decode()}")
    return through_dask


def _meet(session: Session, worker: Worker) -> DaskCommunicator:
    """Connect through Dask, and wait until everybody has."""
    plan = session.plan
    communicator = DaskCommunicator(
        *(worker, plan.fit_id, session.rank, plan.addresses),
        timeout=plan.timeout,
        silence=plan.silence,
    )
    session.communicator = communicator
    if session.is_over:
        raise ClusterError("The fit was ended by the driver.")
    communicator.connect(plan.start)
    communicator.gather(b"")
    return communicator


def _fit(session: Session, job: Job, communicator: Any, n_threads: int) -> RankResult:
    tables = {
        dataset: {
            name: _rows(session, dataset, name, layout, in_pieces=name == "X" and job.in_pieces)
            for name, layout in layouts.items()
        }
        for dataset, layouts in job.layouts.items()
    }
    estimator, options = job.estimator, dict(job.options)
    n_jobs = estimator.n_jobs
    if n_jobs is None:
        estimator.set_params(n_jobs=n_threads)
    with _checkpoint(session, job, options), session.interrupts():
        model = cluster.fit(
            estimator, communicator=communicator, **tables.pop("train"), **_sets(tables), **options
        )
    model.set_params(n_jobs=n_jobs)
    with phase("model file"):
        digest = hashlib.sha256(bytes(pack(*write_estimator(model)))).hexdigest()
    return RankResult(digest, model if session.rank == 0 else None)


def _rows(session: Session, dataset: str, name: str, layout: Layout, *, in_pieces: bool) -> Any:
    """Return this worker's rows of an argument; the session loses them."""
    numbered = session.pieces.pop((dataset, name), {})
    pieces = [numbered.pop(number) for number in sorted(numbered)]
    if session.file is not None:
        for piece in pieces:
            piece.load(session.file)
    if in_pieces and any(piece.n_rows for piece in pieces):
        return stack(pieces, layout, None if session.file is None else session.file.release)
    return join(pieces, layout)


def _sets(tables: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the argument eval_set."""
    sets = [_entry(tables[f"eval_{i}"]) for i in range(len(tables))]
    return {"eval_set": sets} if sets else {}


def _entry(table: dict[str, Any]) -> tuple[Any, ...]:
    """Return an entry of eval_set; an offset comes after weights, which may be None."""
    if "offset" not in table:
        return tuple(table.values())
    first = [value for name, value in table.items() if name not in ("sample_weight", "offset")]
    return (*first, table.get("sample_weight"), table["offset"])


@contextmanager
def _checkpoint(session: Session, job: Job, options: dict[str, Any]) -> Iterator[None]:
    """Let the fit resume from the checkpoint of an earlier attempt, and write its own.

    Only the first worker that has rows reads and writes it.
    """
    if not job.keeps_checkpoints:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="hedgerow-") as folder:
        path = Path(folder) / "checkpoint"
        if job.checkpoint is not None:
            path.write_bytes(job.checkpoint)
        options["checkpoint"] = os.fspath(path)
        session.checkpoint = path
        try:
            yield
        finally:
            session.checkpoint = None
            with suppress(OSError):
                path.unlink()
