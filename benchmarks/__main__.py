"""``python -m benchmarks``: Hedgerow and its peers in one run, a table of ratios at the end.

Examples::

    python -m benchmarks                                  # every generated case, some minutes
    python -m benchmarks --quick                          # seconds, to see that it works
    python -m benchmarks --cases big small --repeats 5
    python -m benchmarks --cases shapes --threads 2 16    # boosters on tables of every shape
    python -m benchmarks --summary FILE                   # a table of them, from the JSON of a run
    python -m benchmarks --cases levels levels-untuned    # fits at each instruction-set level
    python -m benchmarks --cases categories               # a column of 100,000 strings
    python -m benchmarks --cases breiman                  # errors of forests on four problems
    python -m benchmarks --cases linear                   # linear SVMs beside scikit-learn's
    python -m benchmarks --cases svc                      # kernel SVMs beside their peers
    python -m benchmarks --cases ranking                  # rankers beside their peers
    python -m benchmarks --cases shap                     # Shapley values beside their peers
    python -m benchmarks --cases dependence               # partial dependence beside its peer
    python -m benchmarks --cases row                      # one row of a mixed table, any container
    python -m benchmarks --cases adult --data FOLDER      # a real table from a folder
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import report
from benchmarks.breiman import PROBLEMS, Problem, run_problem
from benchmarks.cases import CASES, BoostingSettings, Case
from benchmarks.dependence import DEPENDENCE_CASES, DependenceCase, run_dependence
from benchmarks.explanations import EXPLANATION_CASES, ExplanationCase, run_explanations
from benchmarks.kernel_svms import KERNEL_CASES, KernelCase, run_kernel
from benchmarks.levels import LEVEL_CASES, UNTUNED_CASES
from benchmarks.libraries import LIBRARIES
from benchmarks.linear_svms import LINEAR_CASES, LinearCase, run_linear
from benchmarks.machine import machine_facts, versions
from benchmarks.many_categories import CATEGORY_CASES, CategoryCase, run_categories
from benchmarks.measure import available_cores, run_case
from benchmarks.mixed_row import MIXED_ROW_CASES, MixedRowCase, run_mixed_row
from benchmarks.ranking import (
    RANKING_CASES,
    REAL_RANKINGS,
    RankingCase,
    available_rankings,
    run_ranking,
)
from benchmarks.real_data import REAL_SETS, RealSet, available_sets, run_real
from benchmarks.results import GREATER_IS_BETTER, Result, check_bar
from benchmarks.shapes import SHAPES
from benchmarks.summary import summary

RESULTS = Path(__file__).parent / "results"
BUSY_LOAD = 0.5

GROUPS = {
    "shapes": ["big", "medium", "wide", "classes", *(case.name for case in SHAPES)],
    "levels": [case.name for case in LEVEL_CASES],
    "levels-untuned": [case.name for case in UNTUNED_CASES],
    "breiman": [problem.name for problem in PROBLEMS],
    "linear": [case.name for case in LINEAR_CASES],
    "svc": [case.name for case in KERNEL_CASES],
    "dependence": [case.name for case in DEPENDENCE_CASES],
    "row": [case.name for case in MIXED_ROW_CASES],
}

AnyCase = (
    Case
    | CategoryCase
    | Problem
    | LinearCase
    | KernelCase
    | RankingCase
    | ExplanationCase
    | DependenceCase
    | MixedRowCase
    | RealSet
)
GENERATED: list[AnyCase] = [
    *CASES,
    *SHAPES,
    *LEVEL_CASES,
    *UNTUNED_CASES,
    *CATEGORY_CASES,
    *PROBLEMS,
    *LINEAR_CASES,
    *KERNEL_CASES,
    *RANKING_CASES,
    *EXPLANATION_CASES,
    *DEPENDENCE_CASES,
    *MIXED_ROW_CASES,
]


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Hedgerow side by side with its peers."
    )
    names = [*GROUPS, *(case.name for case in (*GENERATED, *REAL_RANKINGS, *REAL_SETS))]
    parser.add_argument(
        "--cases", nargs="+", choices=names, metavar="CASE", help=f"any of: {', '.join(names)}"
    )
    parser.add_argument(
        "--libraries",
        nargs="+",
        choices=list(LIBRARIES),
        metavar="LIBRARY",
        help=f"any of: {', '.join(LIBRARIES)} (default: those installed)",
    )
    parser.add_argument("--repeats", type=_positive, help="turns of each library in a timed case")
    parser.add_argument(
        "--threads",
        nargs="+",
        type=_positive,
        metavar="THREADS",
        help="run the cases of boosters, trees and neighbours with each of these (default: cores)",
    )
    parser.add_argument("--rounds", type=_positive, help="boosting rounds at most")
    parser.add_argument("--quick", action="store_true", help="small tables, one turn")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="folder with real tables")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the JSON here as well")
    parser.add_argument(
        "--summary",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="run nothing: print the summary of JSON files, later ones replacing earlier ones",
    )
    parser.add_argument(
        "--results", type=Path, default=RESULTS, metavar="FOLDER", help="default: %(default)s"
    )
    options = parser.parse_args(arguments)
    if options.data is not None and not options.data.is_dir():
        parser.error(f"--data: {options.data} is not a folder")
    return options


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number


def select_cases(options: argparse.Namespace) -> list[AnyCase]:
    """Return the selected cases, or all; those with real tables only if --data is set."""
    folder = options.data
    real = [*available_rankings(folder), *available_sets(folder)] if folder else []
    every: list[AnyCase] = [*GENERATED, *real]
    names = [case.name for case in every]
    selected = {name for case in options.cases or names for name in GROUPS.get(case, [case])}
    missing = selected - set(names)
    if missing:
        raise SystemExit(f"no data for {', '.join(sorted(missing))}: pass their folder with --data")
    adjusted = [_adjusted(case, options) for case in every if case.name in selected]
    return [each for case in adjusted for each in _with_threads(case, options.threads or [])]


def _adjusted(case: AnyCase, options: argparse.Namespace) -> AnyCase:
    if options.quick and not isinstance(case, RealSet):
        case = case.quick_version()
    if options.rounds and isinstance(case, Case) and isinstance(case.settings, BoostingSettings):
        case = _with_fewer_rounds(case, options.rounds)
    takes_repeats = options.repeats and not isinstance(case, Problem | RealSet)
    return replace(case, turns=options.repeats) if takes_repeats else case


def _with_fewer_rounds(case: Case, most: int) -> Case:
    if case.settings.n_trees <= most:
        return case
    settings = replace(case.settings, n_trees=most)
    return replace(case, about=f"{case.about}, here {most} rounds", settings=settings)


def _with_threads(case: AnyCase, counts: Sequence[int]) -> list[AnyCase]:
    """The case with each number of threads that this machine has cores for."""
    if not isinstance(case, Case) or not counts:
        return [case]
    return [replace(case, threads=count) for count in counts if count <= available_cores()]


def select_libraries(options: argparse.Namespace) -> list[str]:
    """The libraries asked for, or all, as far as they are installed."""
    selected = options.libraries or list(LIBRARIES)
    installed = [name for name in selected if LIBRARIES[name].installed()]
    for name in sorted(set(selected) - set(installed)):
        say(f"{name} is not installed and is skipped")
    return installed


def warn_of_few_cores(counts: Sequence[int]) -> None:
    """Say which thread counts are left out: threads that share a core say nothing of a library."""
    cores = available_cores()
    for count in counts:
        if count > cores:
            say(f"{count} threads are skipped: there are {cores} cores")


def warn_if_busy(machine: dict[str, str | float]) -> None:
    """Warn if other programs are running: OpenMP's spinning threads suffer most from them."""
    load = machine.get("load before the run", 0)
    if isinstance(load, float) and load > BUSY_LOAD:
        say(f"the machine is busy (load {load}): times will be too long, the peers' above all")


def say(line: str) -> None:
    """Progress goes to the error stream, so that the tables can be redirected alone."""
    print(line, file=sys.stderr, flush=True)


def run(case: AnyCase, libraries: Sequence[str], data: Path | None) -> report.CaseReport:
    selected = [name for name in case.libraries if name in libraries]
    results: list[Result]
    if isinstance(case, RealSet):
        assert data is not None
        results = run_real(case, data, selected, say)
    elif isinstance(case, RankingCase):
        results = run_ranking(case, data, selected, say)
    elif isinstance(case, ExplanationCase):
        results = run_explanations(case, selected, say)
    elif isinstance(case, DependenceCase):
        results = run_dependence(case, selected, say)
    elif isinstance(case, MixedRowCase):
        results = run_mixed_row(case, selected, say)
    elif isinstance(case, Problem):
        results = run_problem(case, selected, say)
    elif isinstance(case, LinearCase):
        results = run_linear(case, selected, say)
    elif isinstance(case, CategoryCase):
        results = run_categories(case, selected, say)
    elif isinstance(case, KernelCase):
        results = run_kernel(case, selected, say)
    else:
        results = run_case(case, selected, say)
    greater = GREATER_IS_BETTER[case.metric]
    verdicts = [check_bar(bar, results, greater_is_better=greater) for bar in case.bars]
    threads = case.threads if isinstance(case, Case) else None
    return report.CaseReport(
        case.name, case.about, case.metric, case.quick, results, verdicts, threads
    )


def print_summary(paths: Sequence[Path]) -> None:
    """Print the summary of JSON files."""
    cases = {
        (case.name, case.threads): case
        for path in paths
        for case in report.from_json(path.read_text(encoding="utf-8")).cases
    }
    print(summary(list(cases.values())))


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    if options.summary:
        print_summary(options.summary)
        return 0
    machine = machine_facts()
    warn_if_busy(machine)
    warn_of_few_cores(options.threads or [])
    libraries = select_libraries(options)
    cases: list[report.CaseReport] = []
    full = report.Report(machine, versions(libraries), cases)
    for case in select_cases(options):
        cases.append(run(case, libraries, options.data))
        report.print_case(cases[-1])
        if options.json:  # after every case, so that a run that is ended leaves what it found
            options.json.write_text(report.as_json(full), encoding="utf-8")
    print(summary(cases))
    for path in report.write(full, options.results):
        print(f"written: {path}")
    return int(any(result.error for case in cases for result in case.results))


if __name__ == "__main__":
    sys.exit(main())
