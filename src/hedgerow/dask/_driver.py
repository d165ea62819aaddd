"""The driver of a fit on a Dask cluster: one task for each worker, retries, and a clean end.

An attempt opens a session on every worker, has each take in its partitions, and starts the fit on
all of them. If a worker is lost, all others end within seconds, and the next attempt goes on with
the workers that are left, from the last checkpoint. However it ends, nothing is left on the
cluster.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from inspect import signature
from logging import getLogger
from time import monotonic, sleep
from typing import Any, NoReturn

import dask
from distributed import Client, Future, Lock
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker, NoValidWorkerError

import hedgerow as hr
from hedgerow._estimator import Estimator
from hedgerow._phases import phase, recording
from hedgerow.dask._collections import (
    PartitionedData,
    are_independent,
    nearest_workers,
    runs_of,
)
from hedgerow.dask._pieces import Layout, common_layout
from hedgerow.dask._session import (
    Job,
    Plan,
    Pulse,
    RankResult,
    call_session,
    end_session,
    open_session,
    run_rank,
    take_in,
)
from hedgerow.exceptions import ClusterError, DataError, ParameterError

_BETWEEN_CALLS = 1.0  # seconds between calls of the driver to the workers
_BETWEEN_CHECKPOINTS = 5.0  # seconds
_ANSWER = 2.0  # seconds that a worker has to answer a call, which its event loop does
_ENDING = 10.0  # seconds until the threads of a fit must have ended
_SOON = 3.0  # seconds for workers to tell why they ended
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.005, 0.02  # seconds between looks at the tasks
_FOR_WORKERS = 30.0  # seconds to wait for a worker, if none is left
_TAKE_PIECES = (hr.GradientBoostingClassifier, hr.GradientBoostingRegressor)
_LOG = getLogger("hedgerow.dask")  # where the time of a fit went, at level INFO
_LOSSES = (
    *(KilledWorker, NoValidWorkerError, FutureCancelledError, asyncio.CancelledError),
    *(CommClosedError, TimeoutError),
)


@dataclass(frozen=True)
class RunSettings:
    """How fits run, from Dask's configuration under "hedgerow".

    Attributes
    ----------
    transport : {"auto", "dask", "sockets"}
        How workers exchange messages: through the connections of Dask, or by TCP on ports of
        their own, which are two to seven times as fast for short messages. "auto" uses sockets if
        the workers can connect to each other, unless Dask encrypts its connections.
    retries : int
        How often a fit goes on after the loss of a worker.
    timeout : float
        Seconds that one call between workers may take.
    silence : float
        Seconds without a heartbeat after which a worker is lost.
    start : float
        Seconds until all workers must have begun, which other tasks may delay.
    patience : float
        Seconds after which workers end the fit if the driver does not call.
    """

    transport: str = "auto"
    retries: int = 3
    timeout: float = 3600.0
    silence: float = 30.0
    start: float = 300.0
    patience: float = 60.0

    @classmethod
    def configured(cls) -> RunSettings:
        """Return the settings of the configuration."""
        passed = dask.config.get("hedgerow", None) or {}
        unknown = sorted(set(passed) - set(signature(cls).parameters))
        if unknown:
            raise ParameterError(f"hedgerow.{unknown[0]} is not a setting of Hedgerow.")
        settings = cls(**passed)
        if settings.transport not in ("auto", "dask", "sockets"):
            raise ParameterError(
                f"hedgerow.transport={settings.transport!r} is not allowed; it must be 'auto', "
                "'dask' or 'sockets'."
            )
        for name in ("retries", "timeout", "silence", "start", "patience"):
            value = getattr(settings, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
                raise ParameterError(
                    f"hedgerow.{name}={value!r} is not allowed; it must be a number, 0 or more."
                )
        return settings


class LostError(Exception):
    """An attempt that ended because a worker, or the connection to it, was lost."""

    def __init__(self, reason: str, addresses: Iterable[str] = ()) -> None:
        super().__init__(reason)
        self.addresses = set(addresses)


@dataclass
class FitRun:
    """A fit on a cluster.

    Attributes
    ----------
    estimator : estimator
        A local one, with the parameters of the fit.
    datasets : dict
        The training set, "train", and the evaluation sets, "eval_0" and so on.
    options : dict
        Further arguments of `fit`.
    workers : sequence of str, optional
        The addresses of the Dask workers; by default all.
    """

    client: Client
    estimator: Estimator
    datasets: Mapping[str, PartitionedData]
    options: Mapping[str, Any]
    workers: Sequence[str] | None = None
    settings: RunSettings = field(default_factory=RunSettings.configured)
    checkpoint: bytes | None = None
    excluded: set[str] = field(default_factory=set)

    def run(self) -> Any:
        """Return the fitted estimator."""
        with recording() as record:
            model = self._run()
        _LOG.info("driver: %s", record)
        return model

    def _run(self) -> Any:
        losses: list[str] = []
        while True:
            with phase("workers"):
                addresses = self._arranged(self._addresses())
            with _locks(self.client, addresses):
                attempt = Attempt(self, addresses)
                try:
                    return attempt.run()
                except LostError as error:
                    losses.append(str(error))
                    self.excluded |= error.addresses
                finally:
                    with phase("end"):
                        attempt.end()
            if len(losses) > self.settings.retries:
                raise ClusterError(
                    f"The fit failed, after {self.settings.retries:g} retries: {losses[-1]}."
                )

    def _addresses(self) -> tuple[str, ...]:
        """Return the workers of the next attempt, in a fixed order."""
        deadline = monotonic() + _FOR_WORKERS
        while True:
            addresses = self._available()
            if addresses:
                most = max(dataset.n_partitions for dataset in self.datasets.values())
                return addresses[:most]
            if monotonic() > deadline:
                raise ClusterError("No Dask worker is available for the fit.")
            sleep(0.2)

    def _arranged(self, addresses: tuple[str, ...]) -> tuple[str, ...]:
        """Give each worker the rank whose partitions it has, if possible."""
        train = self.datasets["train"]
        keys = {
            key for tasks in train.tasks for key, task in tasks.items() if isinstance(task, Future)
        }
        if not keys or len(addresses) == 1:
            return addresses
        holders = self.client.sync(self.client.scheduler.who_has, keys=list(keys))
        return nearest_workers(train, addresses, holders)

    def _available(self) -> tuple[str, ...]:
        running = [a for a, status in workers_of(self.client).items() if status == "running"]
        if self.workers is not None:
            if isinstance(self.workers, str) or not self.workers:
                raise ParameterError(
                    f"workers={self.workers!r} must be a nonempty list of addresses of Dask "
                    "workers."
                )
            unknown = set(self.workers) - set(running) - self.excluded
            if unknown and not self.excluded:
                raise ParameterError(f"workers: there is no running worker {sorted(unknown)[0]!r}.")
            running = [address for address in running if address in self.workers]
        return tuple(sorted(address for address in running if address not in self.excluded))


class Attempt:
    """One attempt, with certain workers."""

    def __init__(self, run: FitRun, addresses: tuple[str, ...]) -> None:
        self.fit, self.client, self.addresses = run, run.client, addresses
        settings = run.settings
        self.plan = Plan(
            fit_id=secrets.token_hex(16),
            addresses=addresses,
            transport=settings.transport,
            timeout=settings.timeout,
            silence=settings.silence,
            start=settings.start,
            patience=settings.patience,
            # One worker can do more than several, for which it may need all numbers.
            spills=len(addresses) > 1 and isinstance(run.estimator, _TAKE_PIECES),
        )
        self.futures: list[Future] = []
        self.active = list(addresses)  # workers that have rows
        self.last_answer = dict.fromkeys(addresses, monotonic())
        self.next_call = self.next_checkpoint = 0.0
        self.checkpoint_digest = ""

    def run(self) -> Any:
        """Return the fitted estimator; raise `LostError` if a worker is lost."""
        with phase("sessions"):
            sockets = self._open()
        with phase("partitions"):
            layouts = self._load()
        job = Job(
            estimator=self.fit.estimator,
            layouts=layouts,
            options=self.fit.options,
            checkpoint=self.fit.checkpoint,
            keeps_checkpoints="checkpoint" in signature(self.fit.estimator.fit).parameters,
            in_pieces=len(self.active) > 1 and isinstance(self.fit.estimator, _TAKE_PIECES),
        )
        token = secrets.token_bytes(32)
        ranks = {
            address: self._submit(run_rank, self.plan, job, sockets, token, address=address)
            for address in self.addresses
        }
        with phase("ranks"):
            results = self._results(ranks)
        for rank, result in enumerate(results):
            _LOG.info("rank %d: %s", rank, result.phases)
        return self._model(results)

    def _submit(self, function: Callable[..., Any], *args: Any, address: str) -> Future:
        future = self.client.submit(
            function, *args, workers=[address], allow_other_workers=False, pure=False, priority=10
        )
        self.futures.append(future)
        return future

    def _open(self) -> list[Any]:
        """Open a session on every worker; return the addresses of their sockets, if any."""
        # A new worker imports the library first, and sends no heartbeat meanwhile.
        answers = self._ask(open_session, self.plan, seconds=max(_ANSWER, self.plan.silence))
        for address, answer in answers.items():
            if isinstance(answer, ImportError):
                raise ClusterError(
                    f"The Dask worker {address} cannot import the library: {answer}. All workers "
                    "need the same version of it."
                ) from answer
            if isinstance(answer, Exception):
                raise LostError(f"the Dask worker {address} does not answer: {answer}", [address])
        return [answers[address] for address in self.addresses]

    # ---- partitions ------------------------------------------------------------------------------

    def _load(self) -> dict[str, dict[str, Layout]]:
        """Have every worker take in its partitions; return what all of them hold.

        Evaluation sets go to workers that have rows of the training set: only these take part.
        """
        layouts = {}
        for name, dataset in self.fit.datasets.items():
            tasks = self._load_dataset(name, dataset)
            self._wait(list(tasks), self._loading_error)
            summaries = self._values(list(tasks), "a partition")
            layouts[name] = _layouts(summaries, name)
            if name == "train":
                with_rows = {
                    address
                    for address, summary in zip(tasks.values(), summaries, strict=True)
                    if summary["X"][1]
                }
                self.active = [a for a in self.addresses if a in with_rows] or [self.addresses[0]]
            self.futures = [future for future in self.futures if future not in tasks]
        return layouts

    def _load_dataset(self, name: str, dataset: PartitionedData) -> dict[Future, str]:
        """Return the tasks, in the order of the partitions, with their workers."""
        is_independent = are_independent(dataset)
        names = list(dataset.arguments)
        tasks = {}
        for address, run in zip(self.active, runs_of(dataset, len(self.active)), strict=True):
            if not run:
                continue
            delayed = [dataset.arguments[argument][i] for i in run for argument in names]
            where = {"workers": [address]} if is_independent else {}
            parts = self.client.compute(delayed, **where)
            for position, number in enumerate(run):
                own = parts[position * len(names) : (position + 1) * len(names)]
                is_persisted = dataset.is_persisted(number)
                arguments = (self.plan.fit_id, name, number, names, is_persisted, *own)
                tasks[self._submit(take_in, *arguments, address=address)] = address
        return tasks

    def _loading_error(self, future: Future) -> NoReturn:
        error = _error_of(future)
        if isinstance(error, _LOSSES) or error is None:
            raise LostError(f"a partition was lost: {error}")
        if isinstance(error, DataError):
            raise error
        if isinstance(error, ClusterError):
            raise LostError(str(error))
        raise ClusterError(
            f"A partition could not be loaded: {type(error).__name__}: {error}"
        ) from error

    # ---- waiting ---------------------------------------------------------------------------------

    def _wait(self, futures: Sequence[Future], on_error: Callable[[Future], NoReturn]) -> None:
        """Wait for tasks; raise as soon as a worker is lost, or a task fails."""
        waiting = list(futures)
        pause = _SHORTEST_PAUSE
        while waiting:
            for future in waiting:
                if future.status in ("error", "cancelled", "lost"):
                    on_error(future)
            waiting = [future for future in waiting if future.status != "finished"]
            self._call_workers()
            sleep(pause)
            pause = min(_LONGEST_PAUSE, pause * 1.5)

    def _results(self, ranks: Mapping[str, Future]) -> list[RankResult]:
        """Return the results of all ranks, by worker, or of those that ended when one had failed.

        A rank that fails makes the others fail within seconds.
        """
        results: dict[str, RankResult] = {}
        pause = _SHORTEST_PAUSE
        while len(results) < len(ranks) and all(result.digest for result in results.values()):
            self._collect(ranks, results)
            self._call_workers()
            sleep(pause)
            pause = min(_LONGEST_PAUSE, pause * 1.5)
        if len(results) < len(ranks):
            self._end_sessions("another worker has failed", _SOON)
            self._collect(ranks, results)
        return [results[address] for address in ranks if address in results]

    def _collect(self, ranks: Mapping[str, Future], results: dict[str, RankResult]) -> None:
        """Add the results of ranks that have ended by now."""
        ended = {
            address: future
            for address, future in ranks.items()
            if address not in results and future.status != "pending"
        }
        for future in ended.values():
            if future.status != "finished":
                self._task_error(future)
        if ended:
            values = self._values(list(ended.values()), "the result of a worker")
            results.update(zip(ended, values, strict=True))

    def _values(self, futures: Sequence[Future], what: str) -> list[Any]:
        """Return the results of tasks that have finished, with one call for all of them."""
        seconds = max(_ANSWER, self.plan.silence)  # as long as a worker may be silent elsewhere

        async def values() -> Any:
            return await asyncio.wait_for(self.client.gather(futures), seconds)

        try:
            gathered: list[Any] = self.client.sync(values)
        except _LOSSES as error:
            why = str(error) or f"no answer within {seconds:g} s"
            raise LostError(f"{what} was lost: {why}") from error
        return gathered

    def _task_error(self, future: Future) -> NoReturn:
        raise LostError(f"a worker was lost: {_error_of(future) or future.status}")

    def _call_workers(self) -> None:
        """Every second, see which workers are there, and read the checkpoint of rank 0."""
        now = monotonic()
        if now < self.next_call:
            return
        present = workers_of(self.client)
        for address in self.addresses:
            if present.get(address) != "running":
                state = f"is {present[address]}" if address in present else "has disconnected"
                raise LostError(f"the Dask worker {address} {state}", [address])
        wants = now >= self.next_checkpoint
        writer = self.active[0] if wants else ""
        answers = self._ask(call_session, self.plan.fit_id, self.checkpoint_digest, writer)
        for address, answer in answers.items():
            self._note(address, answer)
        # Reading a long checkpoint may take a while, which is not to hold up the fit.
        took = monotonic() - now
        self.next_call = monotonic() + _BETWEEN_CALLS
        if wants:
            self.next_checkpoint = monotonic() + max(_BETWEEN_CHECKPOINTS, 10 * took)

    def _note(self, address: str, answer: Any) -> None:
        if isinstance(answer, Pulse):
            self.last_answer[address] = monotonic()
            if answer.checkpoint is not None:
                self.fit.checkpoint, self.checkpoint_digest = answer.checkpoint, answer.digest
        elif answer is None:
            raise LostError(f"the Dask worker {address} was restarted during the fit")
        elif monotonic() - self.last_answer[address] > self.plan.silence:
            raise LostError(
                f"the Dask worker {address} has not responded for {self.plan.silence:g} s",
                [address],
            )

    def _ask(
        self, function: Callable[..., Any], *args: Any, seconds: float = _ANSWER
    ) -> dict[str, Any]:
        """Call a function on all workers at once; return what each answers, or its error."""
        return ask(self.client, self.addresses, function, *args, seconds=seconds)

    # ---- the end ---------------------------------------------------------------------------------

    def _model(self, results: Sequence[RankResult]) -> Any:
        for result in results:
            if result.error is not None:
                raise result.error
        lost = [result.lost for result in results if result.lost is not None]
        if lost or len(results) < len(self.addresses):
            raise LostError(lost[0].rstrip(".") if lost else "a worker was lost")
        if len({result.digest for result in results}) > 1:
            raise ClusterError("The workers have different models, which is a bug in Hedgerow.")
        return next(result.model for result in results if result.model is not None)

    def end(self) -> None:
        """Leave nothing on the cluster: no session, no task, no thread that still computes."""
        with suppress(Exception):
            self.client.cancel(self.futures, force=True)
        self.futures.clear()
        self._end_sessions("the driver has ended the fit", _ENDING)

    def _end_sessions(self, reason: str, seconds: float) -> None:
        """End the fit on all workers that are there, and wait for their threads."""
        deadline = monotonic() + seconds
        remaining = list(self.addresses)
        while remaining and monotonic() < deadline:
            present = workers_of(self.client)
            remaining = [address for address in remaining if address in present]
            answers = ask(
                *(self.client, remaining, end_session, self.plan.fit_id, reason), seconds=_SOON
            )
            # One that does not answer ends its session by itself, when the driver does not call.
            remaining = [address for address in remaining if answers[address] is False]
            if remaining:
                sleep(_LONGEST_PAUSE)


def _error_of(future: Future) -> BaseException | None:
    """Return why a task failed; None if its data were lost, and another worker may compute it."""
    if future.status != "error":
        return None
    try:
        error: BaseException | None = future.exception(timeout=_ANSWER)
    except TimeoutError:  # it has been started again
        return None
    return error


def _layouts(
    summaries: Sequence[Mapping[str, tuple[Layout, int]]], dataset: str
) -> dict[str, Layout]:
    """Return what the partitions of a dataset hold; raise if they do not agree."""
    where = "" if dataset == "train" else f"eval_set[{dataset.removeprefix('eval_')}]: "
    for number, summary in enumerate(summaries):
        n_rows = summary["X"][1]
        for name, (_, own) in summary.items():
            if own != n_rows:
                raise DataError(
                    f"{where}{name} has {own} rows in partition {number}, but X has {n_rows}."
                )
    names = list(summaries[0])
    return {
        name: common_layout([summary[name] for summary in summaries], f"{where}{name}")
        for name in names
    }


# ---- the cluster ---------------------------------------------------------------------------------


def workers_of(client: Client) -> dict[str, str]:
    """Return the state of every Dask worker, such as "running" or "paused"."""
    info = client.sync(client.scheduler.identity, n_workers=-1)
    return {
        address: getattr(state := worker.get("status"), "name", state)
        for address, worker in info["workers"].items()
    }


def ask(
    client: Client,
    addresses: Sequence[str],
    function: Callable[..., Any],
    *args: Any,
    seconds: float,
) -> dict[str, Any]:
    """Call a function on some workers; return what each answers, or the error."""

    async def one(address: str) -> Any:
        try:
            answers = await asyncio.wait_for(
                client.run(function, *args, workers=[address], on_error="return"), seconds
            )
        except (TimeoutError, OSError, ValueError, KeyError) as error:
            return TimeoutError(str(error) or f"no answer within {seconds:g} s")
        return answers.get(address, ConnectionError("it has disconnected"))

    async def every() -> list[Any]:
        return list(await asyncio.gather(*map(one, addresses)))

    return dict(zip(addresses, client.sync(every), strict=True)) if addresses else {}


@contextmanager
def _locks(client: Client, addresses: Sequence[str]) -> Iterator[None]:
    """Hold the locks of some workers: fits that share a worker run one after the other.

    All fits take locks in the same order, so that no two wait for each other. A lock has a lease
    that its client renews: that of a client that was killed ends by itself.
    """
    locks = [
        Lock(f"hedgerow-fit-{address}", scheduler_rpc=client.scheduler, loop=client.loop)
        for address in sorted(addresses)
    ]
    acquired: list[Lock] = []
    try:
        for lock in locks:
            while not lock.acquire(timeout=1.0):
                pass
            acquired.append(lock)
        yield
    finally:
        for lock in acquired:
            with suppress(Exception):
                lock.release()
