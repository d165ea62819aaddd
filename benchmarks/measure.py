"""Run a case: every library in its own process, in alternating order, best of several turns."""

import gc
import math
import os
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from numpy.typing import NDArray

from benchmarks import generated
from benchmarks.cases import QUANTILE, Case
from benchmarks.libraries import adapter
from benchmarks.library import Library
from benchmarks.processes import Worker, WorkerError, available_bytes, peak_extra_bytes
from benchmarks.results import Result, Timing

WARM_UP_ROWS = 500
# What a worker takes: the interpreter and a library, and of the table a copy, bins and gradients.
WORKER_BYTES, WORKER_TABLES = 400_000_000, 3
TURN_SECONDS = 5.0  # of fits: enough to find the best time of a small one even on a busy machine

Say = Callable[[str], None]
T = TypeVar("T")


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def alternating(items: Sequence[T], turn: int) -> list[T]:
    """The order of a turn: forwards, then backwards, then the same starting one item later.

    A machine that drifts (heat, neighbours) then favours nobody.
    """
    first = turn // 2 % max(len(items), 1)
    order = [*items[first:], *items[:first]]
    return order[::-1] if turn % 2 else order


def score(metric: str, y: NDArray[Any], prediction: NDArray[Any]) -> float:
    """Quality of the predictions of a test set."""
    from sklearn import metrics

    functions = {
        "AUC": metrics.roc_auc_score,
        "log loss": metrics.log_loss,
        "RMSE": metrics.root_mean_squared_error,
        "Poisson deviance": metrics.mean_poisson_deviance,
        "pinball loss": partial(metrics.mean_pinball_loss, alpha=QUANTILE),
    }
    return float(functions[metric](y, prediction))


def seconds_of(work: Callable[[], object]) -> float:
    """Wall-clock time of a piece of work, with no garbage of earlier work to collect in it."""
    gc.collect()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def threads_of(case: Case) -> int:
    return case.threads or available_cores()


class GeneratedBench:
    """One library on the table of one case; lives in a worker."""

    def __init__(self, case: Case, library: str, folder: Path) -> None:
        self._case = case
        self._library = adapter(library, case.settings)
        self._data = generated.load(folder)
        self._model: Library | None = None
        self._prediction: NDArray[Any] | None = None
        self._warm_up()

    def fit(self, threads: int) -> list[float]:
        """Seconds of each of the case's fits in a turn, of fewer when they take long."""
        seconds: list[float] = []
        while len(seconds) < self._case.fits and sum(seconds) < TURN_SECONDS:
            seconds.append(self._timed_fit(threads))
        return seconds

    def predict(self) -> list[float]:
        """Seconds of each of the case's predictions in a turn, with the last fitted model."""
        return [seconds_of(self._predict) for _ in range(self._case.predicts)]

    def score(self) -> float:
        """Quality of the last prediction."""
        assert self._prediction is not None
        return score(self._case.metric, self._data.y_test, self._prediction)

    def staged_errors(self) -> tuple[float, ...]:
        """Test error of the last fitted model after each of its trees."""
        return tuple(self._model.staged_errors(self._data.X_test, self._data.y_test))

    def file_bytes(self) -> int:
        """Size of the last fitted model's file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            self._model.save(path)
            return path.stat().st_size

    def extra_bytes(self, threads: int) -> int | None:
        """Peak memory of a fit without its input; only in a fresh process."""
        model = self._library(self._case.settings, threads)
        return peak_extra_bytes(lambda: model.fit(self._data.X, self._data.y))

    def one_row(self, threads: int) -> list[float]:
        """Seconds of single calls, each with another row, after as many calls to warm up."""
        model = self._library(self._case.settings, threads).estimator()
        model.fit(self._data.X, self._data.y)
        test_rows = self._data.X_test
        rows = [test_rows[i : i + 1] for i in range(min(len(test_rows), self._case.one_row_calls))]
        for row in rows:
            model.predict_proba(row)
        return [_seconds_of_call(model.predict_proba, row) for row in rows]

    def _warm_up(self) -> None:
        """Load what the library loads lazily, and start its threads."""
        settings = replace(self._case.settings, n_trees=2)
        model = self._library(settings, threads_of(self._case))
        model.fit(self._data.X[:WARM_UP_ROWS], self._data.y[:WARM_UP_ROWS])
        model.predict(self._data.X[:WARM_UP_ROWS])

    def _timed_fit(self, threads: int) -> float:
        self._model = None  # freed before the clock starts
        model = self._library(self._case.settings, threads)
        seconds = seconds_of(lambda: model.fit(self._data.X, self._data.y))
        self._model = model
        return seconds

    def _predict(self) -> None:
        assert self._model is not None
        self._prediction = self._model.predict(self._data.X_test)


def _seconds_of_call(function: Callable[[NDArray[Any]], object], row: NDArray[Any]) -> float:
    start = time.perf_counter()
    function(row)
    return time.perf_counter() - start


class Entrant(ABC):
    """A library that takes turns with others: its worker and its result."""

    most_turns: float = math.inf

    def __init__(self, library: str, worker: Worker) -> None:
        self.worker = worker
        self.result = Result(library)

    @abstractmethod
    def turn(self, number: int) -> None:
        """Do one turn's work."""

    @abstractmethod
    def finish(self) -> None:
        """Complete the result from what the turns measured."""


class GeneratedEntrant(Entrant):
    """A library on a generated table."""

    def __init__(self, case: Case, library: str, worker: Worker) -> None:
        super().__init__(library, worker)
        self.most_turns = case.turns_of(library)
        self._case = case
        self._by_threads: dict[int, list[float]] = {}
        self._predicts: list[float] = []

    def turn(self, number: int) -> None:  # noqa: ARG002  every turn is the same
        work = "one_row" if self._case.one_row_calls else "fit"
        most = threads_of(self._case)
        # The most threads come last, so that the predictions that follow are made with them.
        for threads in sorted({1, most}) if self._case.also_one_thread else [most]:
            self._by_threads.setdefault(threads, []).extend(self.worker.call(work, threads))
        if work == "fit":
            self._predicts += self.worker.call("predict")

    def finish(self) -> None:
        if self._case.one_row_calls:
            self.result.one_row = fastest(self._by_threads)
            return
        self.result.fit = fastest(self._by_threads)
        self.result.predict = Timing(tuple(self._predicts), threads_of(self._case))
        self.result.score = self.worker.call("score")
        if self._case.file:
            self.result.file_bytes = self.worker.call("file_bytes")
        if self._case.staged_errors:
            self.result.staged_errors = self.worker.call("staged_errors")


def fastest(by_threads: dict[int, list[float]]) -> Timing:
    """The timing of the thread count with the best time."""
    timings = [Timing(tuple(seconds), threads) for threads, seconds in by_threads.items()]
    return min(timings, key=lambda timing: timing.best)


def run_case(case: Case, libraries: Sequence[str], say: Say) -> list[Result]:
    """Measure some libraries on a generated table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table_bytes = generated.save(case.split(), folder)

        def worker(library: str) -> Worker:
            return Worker(GeneratedBench, case, library, folder)

        enter = partial(GeneratedEntrant, case)
        results = []
        for group in groups_that_fit(libraries, table_bytes, say):
            results += take_turns(case.name, case.turns, group, worker, enter, say)
        if case.memory:
            for result in results:
                say(f"{case.name}: memory of {result.library}")
                attempt(result, partial(measure_memory, result, worker, threads_of(case)))
    return results


def groups_that_fit(libraries: Sequence[str], table_bytes: int, say: Say) -> list[Sequence[str]]:
    """The libraries all at once or, where memory is short, as many as there is memory for."""
    each = WORKER_BYTES + WORKER_TABLES * table_bytes
    size = max(1, int(min(len(libraries), available_bytes() / each)))
    if size < len(libraries):
        say(f"memory is short: {size} of {len(libraries)} libraries take turns at a time")
    return [libraries[i : i + size] for i in range(0, len(libraries), size)]


def take_turns(
    title: str,
    turns: int,
    libraries: Sequence[str],
    make_worker: Callable[[str], Worker],
    enter: Callable[[str, Worker], Entrant],
    say: Say,
) -> list[Result]:
    """Let the libraries take turns; one that fails is skipped from then on."""
    results: dict[str, Result] = {}
    with ExitStack() as stack:
        entrants: list[Entrant] = []
        # All start together, and are ready before the first turn.
        for library, started in [(library, make_worker(library)) for library in libraries]:
            try:
                worker = stack.enter_context(started)
            except WorkerError as error:
                results[library] = Result(library, error=str(error))
            else:
                entrants.append(enter(library, worker))
        for turn in range(turns):
            still_in = [entrant for entrant in entrants if turn < entrant.most_turns]
            for entrant in alternating(still_in, turn):
                say(f"{title}: turn {turn + 1} of {turns}, {entrant.result.library}")
                attempt(entrant.result, partial(entrant.turn, turn))
        for entrant in entrants:
            attempt(entrant.result, entrant.finish)
            results[entrant.result.library] = entrant.result
    return [results[library] for library in libraries]


def attempt(result: Result, work: Callable[[], object]) -> None:
    """Do the work unless it failed before; a failure is noted in the result, not raised."""
    if result.error is not None:
        return
    try:
        work()
    except WorkerError as error:
        result.error = str(error)


def measure_memory(result: Result, make_worker: Callable[[str], Worker], threads: int) -> None:
    """Peak memory of one fit, in a fresh process: earlier fits leave freed memory behind."""
    with make_worker(result.library) as worker:
        result.extra_bytes = worker.call("extra_bytes", threads)
