"""``python -m benchmarks.defaults --data FOLDER``: default parameters on every table of a folder.

A table is a CSV file, gzipped or not, whose last column is the target. All libraries learn from the
same rows of the same five folds with nothing set, and what is compared is their log loss or RMSE on
the rows left out. A fit is written to a file of its own, named after table, library, version and
fold, and is not repeated: peers are fitted once, and a run that was ended goes on where it stopped.
Hedgerow's version includes a digest of its code.

Examples::

    python -m benchmarks.defaults --data FOLDER --folds 2 --max-rows 20000
    python -m benchmarks.defaults --data FOLDER --libraries hedgerow hedgerow-thorough catboost
    python -m benchmarks.defaults --data FOLDER --tables wine letter --threads 1
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frames import prepared, text_columns
from benchmarks.measure import WARM_UP_ROWS, available_cores, seconds_of
from benchmarks.processes import Worker, WorkerError
from benchmarks.real_data import FOLDS, REAL_SETS, default_model, folds

RESULTS = Path(__file__).parent / "results" / "defaults"
# Another budget of Hedgerow's is another library here; the first one is compared with the others.
BUDGETS = {"hedgerow": "balanced", "hedgerow-quick": "quick", "hedgerow-thorough": "thorough"}
ENSEMBLE = "hedgerow-ensemble"  # of boosted trees, forests, SVMs and neighbours
OURS = (*BUDGETS, ENSEMBLE)
LIBRARIES = (*OURS, "catboost", "lightgbm", "xgboost-level", "scikit-learn")
MOST_CLASSES = 30  # of a target of integers; with more values it is a number
THREAD_PARAMETERS = {"catboost": "thread_count"}  # "n_jobs" elsewhere
ROUND_PARAMETERS = {"scikit-learn": "max_iter", "catboost": "iterations"}  # "n_estimators"
NO_THREAD_PARAMETER = "scikit-learn"


@dataclass(frozen=True)
class Table:
    """Columns and target of a file; classes are numbered."""

    X: Any
    y: NDArray[Any]
    classify: bool

    @property
    def metric(self) -> str:
        """What is compared; less is better."""
        return "log loss" if self.classify else "RMSE"


@dataclass(frozen=True)
class FoldResult:
    """What one library did on one fold of a table."""

    table: str
    library: str
    version: str
    fold: int
    threads: int
    n_rows: int
    n_columns: int
    metric: str
    error: float
    fit_seconds: float
    cpu_seconds: float  # of all threads during the fit
    predict_seconds: float


@dataclass(frozen=True)
class Difference:
    """How much less the error of one library is than another's, relative to the latter.

    Attributes
    ----------
    name : str
        The table.
    mean, deviation : float
        The mean over the folds, and its standard error.
    time : float
        The time to fit, as a multiple of the other's; the median over the folds.
    """

    name: str
    mean: float
    deviation: float
    time: float


def read_table(path: Path, max_rows: int | None, numbers: Sequence[str]) -> Table:
    """Read a file; take a random sample of at most `max_rows` rows.

    A target of strings is a class, and so is one of few integers, unless the table is among
    `numbers`.
    """
    import pandas as pd

    frame = pd.read_csv(path)
    known = next((real for real in REAL_SETS if real.file == path.name), None)
    if known is not None:
        frame = frame.drop(columns=list(known.drop))
    if max_rows is not None and len(frame) > max_rows:
        frame = frame.sample(max_rows, random_state=0).reset_index(drop=True)
    target = frame.pop(known.target if known else frame.columns[-1])
    # Some libraries refuse names with punctuation.
    frame.columns = [f"x{j}" for j in range(frame.shape[1])]
    is_number = pd.api.types.is_numeric_dtype(target) and not pd.api.types.is_bool_dtype(target)
    is_whole = is_number and (target % 1 == 0).all() and target.nunique() <= MOST_CLASSES
    if name_of(path) in numbers or (is_number and not is_whole):
        return Table(frame, target.to_numpy(np.float64), classify=False)
    return Table(frame, np.unique(target.astype(str), return_inverse=True)[1], classify=True)


def name_of(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".csv")


class DefaultBench:
    """One library on one table; lives in a worker."""

    def __init__(self, library: str, table: Table, threads: int) -> None:
        self._library, self._table, self._threads = library, table, threads
        self._family = "hedgerow" if library in OURS else library
        self._text = text_columns(table.X)
        self._X = prepared(self._family, table.X)
        self._folds = folds(table.y, classify=table.classify)
        train = self._folds[0][0]  # loads what is loaded lazily
        train = train[:: max(1, len(train) // WARM_UP_ROWS)]
        self._model(is_warm_up=True).fit(self._X.iloc[train], table.y[train])

    def fold(self, number: int) -> tuple[float, float, float, float]:
        """The error, the seconds to fit, of all threads too, and those to predict of a fold."""
        train, test = self._folds[number]
        X, y, X_test = self._X.iloc[train], self._table.y[train], self._X.iloc[test]
        model = self._model()
        before = time.process_time()
        fit_seconds = seconds_of(lambda: model.fit(X, y))
        cpu_seconds = time.process_time() - before
        predictions: list[NDArray[Any]] = []
        predict_seconds = seconds_of(lambda: predictions.append(self._predict(model, X_test)))
        error = self._error(self._table.y[test], predictions[0])
        return error, fit_seconds, cpu_seconds, predict_seconds

    def _model(self, *, is_warm_up: bool = False) -> Any:
        if self._library == ENSEMBLE and not is_warm_up:
            return self._ensemble()
        model = default_model(self._family, classify=self._table.classify, text=self._text)
        if self._family != NO_THREAD_PARAMETER:
            name = THREAD_PARAMETERS.get(self._family, "n_jobs")
            model.set_params(**{name: self._threads})
        if is_warm_up:
            name = ROUND_PARAMETERS.get(self._family, "n_estimators")
            return model.set_params(**{name: 2})
        if self._library in BUDGETS:
            model.set_params(budget=BUDGETS[self._library])
        return model

    def _ensemble(self) -> Any:
        import hedgerow

        kinds = hedgerow.EnsembleRegressor, hedgerow.EnsembleClassifier
        return kinds[self._table.classify](random_state=0, n_jobs=self._threads)

    def _predict(self, model: Any, X: Any) -> NDArray[Any]:
        values: NDArray[Any] = (model.predict_proba if self._table.classify else model.predict)(X)
        return values

    def _error(self, y: NDArray[Any], prediction: NDArray[Any]) -> float:
        from sklearn import metrics

        if self._table.classify:
            return float(metrics.log_loss(y, prediction, labels=np.unique(self._table.y)))
        return float(metrics.root_mean_squared_error(y, prediction))


def version_of(library: str) -> str:
    """The version of a library; a change of Hedgerow's code is another version."""
    if library not in OURS:
        return version(library.removesuffix("-level"))
    import hedgerow

    folder, digest = Path(hedgerow.__file__).parent, hashlib.sha256()
    for path in sorted([*folder.rglob("*.py"), *folder.rglob("*.so")]):
        digest.update(path.read_bytes())
    return f"{hedgerow.__version__}+{digest.hexdigest()[:8]}"


def run_table(path: Path, options: argparse.Namespace, versions: dict[str, str]) -> None:
    """Fit every library to every fold of a table, as far as that has not been done."""
    table: Table | None = None
    for library in options.libraries:
        files = {
            fold: result_file(path, library, versions[library], fold, options)
            for fold in range(options.folds)
        }
        missing = {fold: file for fold, file in files.items() if not file.exists()}
        if not missing:
            continue
        table = table or read_table(path, options.max_rows, options.numbers)
        try:
            with Worker(partial(DefaultBench, library, table, options.threads)) as worker:
                for fold, file in missing.items():
                    about = name_of(path), library, versions[library], fold, options.threads
                    shape = len(table.X), table.X.shape[1]
                    found = worker.call("fold", fold)
                    record(FoldResult(*about, *shape, table.metric, *found), file)
        except WorkerError as error:
            say(f"{name_of(path)} {library}: {error}")


def record(result: FoldResult, file: Path) -> None:
    """Write a result to its file, and say that it is there."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(asdict(result), indent=1), encoding="utf-8")
    about = f"{result.table} {result.library} fold {result.fold}"
    say(f"{about}: {result.error:.5g}, {result.fit_seconds:.2f} s")


def result_file(
    path: Path, library: str, version: str, fold: int, options: argparse.Namespace
) -> Path:
    rows = f"-{options.max_rows}" if options.max_rows else ""
    name = f"{library}-{version}{rows}-{fold}.json"
    folder: Path = options.results
    return folder / name_of(path) / name


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def read_results(
    path: Path, options: argparse.Namespace, versions: dict[str, str]
) -> dict[str, list[FoldResult]]:
    """The results of each library on a table, as far as they are complete."""
    results = {}
    for library in options.libraries:
        files = [
            result_file(path, library, versions[library], fold, options)
            for fold in range(options.folds)
        ]
        if all(file.exists() for file in files):
            results[library] = [FoldResult(**json.loads(file.read_text())) for file in files]
    return results


def difference(ours: Sequence[FoldResult], theirs: Sequence[FoldResult]) -> Difference:
    """Compare two libraries fold by fold."""
    gains = [1.0 - a.error / b.error for a, b in zip(ours, theirs, strict=True)]
    deviation = stdev(gains) / len(gains) ** 0.5 if len(gains) > 1 else float("nan")
    ratio = median(a.fit_seconds / b.fit_seconds for a, b in zip(ours, theirs, strict=True))
    return Difference(ours[0].table, fmean(gains), deviation, ratio)


def lines_of_tables(results: dict[str, dict[str, list[FoldResult]]]) -> Iterator[str]:
    """The error and the time of each library, table by table, and the gain of the first."""
    for of_table in results.values():
        first = next(iter(of_table.values()))
        some = first[0]
        yield (
            f"| {some.table}, {some.n_rows:,} × {some.n_columns} | {some.metric} | "
            + " | ".join(_cell(first, each) for each in of_table.values())
            + " |"
        )


def _cell(first: list[FoldResult], each: list[FoldResult]) -> str:
    error = f"{fmean(one.error for one in each):.5g}"
    seconds = f"{fmean(one.fit_seconds for one in each):.2f} s"
    if each is first:
        return f"{error}, {seconds}"
    gain = difference(first, each)
    spread = "" if np.isnan(gain.deviation) else f" ± {100 * gain.deviation:.1f}"
    return f"{error} ({100 * gain.mean:+.1f}{spread} %), {seconds} ({gain.time:.2f})"


def line_of_peer(peer: str, gains: Sequence[Difference]) -> str:
    """The differences from one library over all tables."""
    means = [100 * gain.mean for gain in gains]
    deviation = stdev(means) / len(means) ** 0.5 if len(means) > 1 else float("nan")
    wins = sum(mean > 0 for mean in means)
    times = [gain.time for gain in gains]
    return (
        f"| {peer} | {fmean(means):+.2f} ± {deviation:.2f} % | {median(means):+.2f} % | {wins} | "
        f"{len(means) - wins} | {min(means):+.1f} % ({min(gains, key=lambda g: g.mean).name}) | "
        f"{median(times):.2f} | {max(times):.2f} |"
    )


def print_report(results: dict[str, dict[str, list[FoldResult]]], libraries: Sequence[str]) -> None:
    """Print a table of all tables, and one of the differences from the first library."""
    first, *peers = libraries
    print(f"| table | metric | {' | '.join(libraries)} |\n|{'---|' * (len(libraries) + 2)}")
    complete = {name: of for name, of in results.items() if len(of) == len(libraries)}
    for line in lines_of_tables(complete):
        print(line)
    print(
        f"\nHow much less the error of {first} is, and its time as a multiple:\n\n"
        "| than | mean | median | better | worse | least | time, median | most |\n|" + "---|" * 8
    )
    for peer in peers:
        gains = [
            difference(of[first], of[peer]) for of in results.values() if first in of and peer in of
        ]
        if gains:
            print(line_of_peer(peer, gains))


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.defaults",
        description="Default parameters of Hedgerow and its peers on every table of a folder.",
    )
    add = parser.add_argument
    add(
        "--data",
        type=Path,
        required=True,
        help="a folder of CSV files, the target in the last column",
    )
    add("--tables", nargs="+", help="only these")
    add("--without", nargs="+", default=[], metavar="TABLE", help="all but these")
    add(
        "--numbers",
        nargs="+",
        default=[],
        metavar="TABLE",
        help="targets of few integers that are no classes",
    )
    add("--libraries", nargs="+", choices=LIBRARIES, default=["hedgerow", "catboost", "lightgbm"])
    add("--folds", type=int, default=FOLDS, help=f"how many of the {FOLDS} folds")
    add("--max-rows", type=int, help="a random sample of larger tables")
    add("--threads", type=int, default=available_cores())
    add("--results", type=Path, default=RESULTS, help="where each fit is recorded")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    versions = {library: version_of(library) for library in options.libraries}
    paths = [
        path
        for path in sorted([*options.data.glob("*.csv"), *options.data.glob("*.csv.gz")])
        if name_of(path) not in options.without
        and (options.tables is None or name_of(path) in options.tables)
    ]
    results = {}
    for path in sorted(paths, key=lambda each: each.stat().st_size):
        run_table(path, options, versions)
        results[name_of(path)] = read_results(path, options, versions)
    if options.max_rows:
        print(f"Tables with more than {options.max_rows:,} rows are represented by a sample.\n")
    print_report(results, options.libraries)
    return 0


if __name__ == "__main__":
    sys.exit(main())
