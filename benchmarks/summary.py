"""One table for all cases of a run with the same number of threads, as in docs/performance.md.

A case has a row for its fit, its prediction and its score. Numbers in brackets are Hedgerow's time
over the peer's; the last column is the ratio to the fastest peer that predicts as well as Hedgerow
or, where none does, as the best peer.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from benchmarks.levels import LEVEL_CASES, UNTUNED_CASES, level_summary
from benchmarks.report import CaseReport, markdown_table, short_ratio
from benchmarks.results import GREATER_IS_BETTER, HEDGEROW, Measure, Result, equally_accurate

NAMES = {
    HEDGEROW: "Hedgerow",
    "lightgbm": "LightGBM",
    "lightgbm-quantised": "LightGBM, quantised",
    "xgboost-leaf": "XGBoost leaf-wise",
    "xgboost-level": "XGBoost level-wise",
    "catboost": "CatBoost",
}
LEVEL_NAMES = frozenset(case.name for case in (*LEVEL_CASES, *UNTUNED_CASES))
TIMES: dict[Measure, str] = {"fit": "fit {}", "predict": "predict its test set"}


def summary(cases: Sequence[CaseReport]) -> str:
    """Markdown tables of the cases that compare boosters, one for each number of threads."""
    compared = [case for case in cases if _scores(case)]
    by_threads = groupby(sorted(compared, key=_threads), _threads)
    return "\n\n".join(_section(threads, list(group)) for threads, group in by_threads)


def _section(threads: int, cases: Sequence[CaseReport]) -> str:
    """What is compared with peers, and fits at instruction-set levels."""
    of_levels = [case for case in cases if case.name in LEVEL_NAMES]
    others = [case for case in cases if case.name not in LEVEL_NAMES]
    tables = [table(part) for part, table in ((others, _peers), (of_levels, level_summary)) if part]
    plural = "" if threads == 1 else "s"
    return f"{threads} thread{plural}:\n\n" + "\n\n".join(tables)


def _threads(case: CaseReport) -> int:
    return max(result.predict.threads for result in _scores(case))


def _scores(case: CaseReport) -> list[Result]:
    """The results that a summary can show, Hedgerow's first; none without Hedgerow's."""
    complete = {r.library: r for r in case.results if r.fit and r.predict and r.score is not None}
    return [complete[name] for name in NAMES if name in complete] if HEDGEROW in complete else []


def _peers(cases: Sequence[CaseReport]) -> str:
    libraries = {result.library for case in cases for result in _scores(case)}
    shown = [name for name in NAMES if name in libraries]
    headings = ["case", *(NAMES[name] for name in shown), "to the fastest"]
    rows = [row for case in cases for row in _rows(case, shown)]
    return markdown_table(headings, rows)


def _rows(case: CaseReport, libraries: Sequence[str]) -> Iterator[list[str]]:
    results = {result.library: result for result in _scores(case)}
    greater = GREATER_IS_BETTER[case.metric]

    def cells(show: Callable[[Result], str]) -> list[str]:
        return [show(results[name]) if name in results else "" for name in libraries]

    ours, *peers = results.values()
    equal = equally_accurate(ours, peers, greater_is_better=greater)
    for measure, label in TIMES.items():
        ratios = [ours.value(measure) / peer.value(measure) for peer in equal]
        yield [
            label.format(case.about),
            *cells(lambda result, measure=measure: _time(ours, result, measure)),
            short_ratio(max(ratios)) if ratios else "",
        ]
    yield [f"{case.metric} on it", *cells(lambda result: f"{result.score:.4f}"), ""]


def _time(ours: Result, result: Result, measure: Measure) -> str:
    seconds = result.value(measure)
    if result is ours:
        return f"**{short_time(seconds)}**"
    return f"{short_time(seconds)} ({short_ratio(ours.value(measure) / seconds)})"


def short_time(seconds: float) -> str:
    """About three digits: milliseconds, or seconds from a tenth of one on."""
    if seconds < 0.1:
        return f"{seconds * 1e3:.1f} ms"
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
