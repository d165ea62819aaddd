"""The results of a run as tables for people (terminal, Markdown) and as JSON for programs."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.results import (
    HEDGEROW,
    Bar,
    Measure,
    Result,
    Timing,
    Verdict,
    largest_gap,
    standard_error,
)

MEGABYTE = 1_000_000
TIMINGS = ("fit", "predict", "explain", "one_row")
MICROSECONDS = 1e6

HOW = (
    "Best of several turns in alternating order, every library in a process of its own, all cores "
    "or as many threads as the case says (small cases: the better of these and one). Where a slow "
    "library took fewer turns, 'fits' says how many fits each number is the best of. Fit includes "
    "binning. Memory is the "
    "peak during a fit beyond what was resident before, so the input is excluded. Ratios are "
    "Hedgerow's number over the peer's: below 1, Hedgerow needs less. Errors over several draws "
    "are means ± their standard errors, every library on the same draws. 'Apart' is the largest "
    "difference from Hedgerow's held-out error after any number of trees."
)


@dataclass(frozen=True)
class CaseReport:
    """A case, what was measured in it, and how Hedgerow stands to its bars."""

    name: str
    about: str
    metric: str
    quick: bool
    results: list[Result]
    verdicts: list[Verdict]
    threads: int | None = None  # all cores

    @property
    def title(self) -> str:
        return self.about if self.threads is None else f"{self.about}; threads: {self.threads}"


@dataclass(frozen=True)
class Report:
    """The results of a run."""

    machine: dict[str, str | float]
    versions: dict[str, str]
    cases: list[CaseReport]


@dataclass(frozen=True)
class Column:
    """A heading, and its cell for a result; empty columns are omitted."""

    heading: str
    show: Callable[[Result], str | None]


def columns(case: CaseReport) -> list[Column]:
    """The columns of a case's table."""
    ours = next((result for result in case.results if result.library == HEDGEROW), None)

    def ratio(measure: Measure) -> Callable[[Result], str | None]:
        return lambda result: _ratio(ours, result, measure)

    uneven = len({len(result.fit.seconds) for result in case.results if result.fit}) > 1
    return [
        Column("fit s", lambda r: f"{r.fit.best:.3f}" if r.fit else None),
        Column("median", lambda r: f"{r.fit.median:.3f}" if r.fit else None),
        Column("ratio", ratio("fit")),
        Column("fits", lambda r: str(len(r.fit.seconds)) if r.fit and uneven else None),
        Column("predict s", lambda r: f"{r.predict.best:.4f}" if r.predict else None),
        Column("ratio", ratio("predict")),
        Column("explain s", lambda r: f"{r.explain.best:.4f}" if r.explain else None),
        Column("ratio", ratio("explain")),
        Column("one row µs", lambda r: _microseconds(r.one_row.median) if r.one_row else None),
        Column("best", lambda r: _microseconds(r.one_row.best) if r.one_row else None),
        Column("ratio", ratio("one row")),
        Column("threads", lambda r: _threads(r.fit or r.one_row)),
        Column(case.metric, lambda r: None if r.score is None else f"{r.score:.5f}"),
        Column("±", lambda r: f"{standard_error(r.scores):.5f}" if r.scores else None),
        Column("draws", lambda r: str(len(r.scores)) if r.scores else None),
        Column("error", lambda r: f"{r.staged_errors[-1]:.5f}" if r.staged_errors else None),
        Column("apart", lambda r: _apart(ours, r)),
        Column("memory MB", lambda r: _megabytes(r.extra_bytes)),
        Column("ratio", ratio("memory")),
        Column("file MB", lambda r: _megabytes(r.file_bytes)),
        Column("ratio", ratio("file")),
        Column("failed", lambda r: r.error),
    ]


def _ratio(ours: Result | None, result: Result, measure: Measure) -> str | None:
    mine = ours and ours.value(measure)
    theirs = result.value(measure)
    return short_ratio(mine / theirs) if mine and theirs else None


def short_ratio(ratio: float) -> str:
    """Two digits, and three of a small one."""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}"


def _apart(ours: Result | None, result: Result) -> str | None:
    mine = ours and ours.staged_errors
    theirs = result.staged_errors
    return f"{largest_gap(mine, theirs):.5f}" if mine and theirs else None


def _megabytes(n_bytes: int | None) -> str | None:
    return f"{n_bytes / MEGABYTE:.0f}" if n_bytes else None


def _microseconds(seconds: float) -> str:
    return f"{seconds * MICROSECONDS:.1f}"


def _threads(timing: Timing | None) -> str | None:
    return str(timing.threads) if timing else None


def table(case: CaseReport) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of a case, a row for each library."""
    cells_by_column = [
        (column.heading, [column.show(result) for result in case.results])
        for column in columns(case)
    ]
    used = [(heading, cells) for heading, cells in cells_by_column if any(cells)]
    rows = [
        [result.library, *(cells[i] or "–" for _, cells in used)]
        for i, result in enumerate(case.results)
    ]
    return ["library", *(heading for heading, _ in used)], rows


def verdict_line(verdict: Verdict, *, quick: bool) -> str:
    """A bar in words, with what was reached."""
    goal = bar_text(verdict.bar)
    if verdict.reached is None:
        return f"not measured: {goal}"
    word = "quick run, not meaningful" if quick else "met" if verdict.met else "MISSED"
    return f"{word}: {goal}; reached {reached_text(verdict)}"


def bar_text(bar: Bar) -> str:
    what = bar.measure if bar.subject == HEDGEROW else f"{bar.measure} of {bar.subject}"
    best = f"best of {', '.join(bar.peers)}" if len(bar.peers) > 1 else "".join(bar.peers)
    match bar.rule:
        case "times":
            return f"{what} ≤ {bar.limit:g} × {best}"
        case "within":
            return f"{what} at most {bar.limit:g} worse than {best}"
        case "near":
            return f"{what} nowhere more than {bar.limit:g} from {best}"
        case "noise":
            return f"{what} at most {bar.limit:g} standard errors worse than {best}"
        case "absolute":
            return f"{what} ≤ {_amount(bar.measure, bar.limit)}"


def reached_text(verdict: Verdict) -> str:
    reached, reference = verdict.reached, verdict.reference
    match verdict.bar.rule:
        case "times":
            return f"{short_ratio(reached)} × {reference}"
        case "within":
            return f"{_worse(f'{abs(reached):.5f}', reached)} than {reference}"
        case "near":
            return f"{reached:.5f} from {reference}"
        case "noise":
            return f"{_worse(f'{abs(reached):.1f} standard errors', reached)} than {reference}"
        case "absolute":
            return _amount(verdict.bar.measure, reached)


def _amount(measure: Measure, value: float) -> str:
    return f"{_microseconds(value)} µs" if measure == "one row" else f"{value:.5g}"


def _worse(by: str, amount: float) -> str:
    return f"{by} {'worse' if amount > 0 else 'better'}"


def markdown(report: Report) -> str:
    """The whole report as Markdown."""
    facts = [f"- {name}: {value}" for name, value in report.machine.items()]
    packages = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    parts = ["# Benchmarks", HOW, "\n".join([*facts, f"- versions: {packages}"])]
    for case in report.cases:
        parts += [f"## {case.name}", case.title, markdown_table(*table(case))]
        parts.append("\n".join(f"- {verdict_line(v, quick=case.quick)}" for v in case.verdicts))
    return "\n\n".join(part for part in parts if part) + "\n"


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with columns padded, so that it also reads well as text."""
    lines = [list(headings), *(list(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(headings))]

    def line_of(cells: Sequence[str]) -> str:
        first, *others = cells
        padded = [first.ljust(widths[0])]
        padded += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        return f"| {' | '.join(padded)} |"

    rule = f"|{'-' * (widths[0] + 2)}|" + "".join(f"{'-' * (w + 1)}:|" for w in widths[1:])
    return "\n".join([line_of(lines[0]), rule, *(line_of(line) for line in lines[1:])])


def as_json(report: Report) -> str:
    """The whole report, with every single timing."""
    return json.dumps(_plain(report), indent=1, ensure_ascii=False) + "\n"


def _plain(report: Report) -> dict[str, Any]:
    content = asdict(report)
    for case, plain_case in zip(report.cases, content["cases"], strict=True):
        for result, plain in zip(case.results, plain_case["results"], strict=True):
            for name in TIMINGS:
                timing: Timing | None = getattr(result, name)
                if timing is not None:
                    plain[name] |= {"best": timing.best, "median": timing.median}
    return content


def from_json(text: str) -> Report:
    """What ``as_json`` wrote, without the verdicts."""
    content = json.loads(text)
    cases = [
        CaseReport(**(case | {"results": [_result(r) for r in case["results"]], "verdicts": []}))
        for case in content["cases"]
    ]
    return Report(content["machine"], content["versions"], cases)


def _result(plain: dict[str, Any]) -> Result:
    timings = {
        name: Timing(tuple(plain[name]["seconds"]), plain[name]["threads"])
        for name in TIMINGS
        if plain[name]
    }
    return Result(**(plain | timings))


def write(report: Report, folder: Path) -> list[Path]:
    """Write Markdown and JSON, named by the time, and say where."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
    paths = [folder / f"{stem}.md", folder / f"{stem}.json"]
    for path, text in zip(paths, (markdown(report), as_json(report)), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def print_case(case: CaseReport) -> None:
    """A case on the terminal: with rich where it is installed and the table fits, else Markdown."""
    headings, rows = table(case)
    plain = markdown_table(headings, rows)
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        console = None
    else:
        console = Console()
    if console is None or console.width < len(plain.partition("\n")[0]):
        print(f"\n{case.title}\n\n{plain}")
    else:
        rich_table = Table(title=case.title, title_justify="left")
        for i, heading in enumerate(headings):
            rich_table.add_column(heading, justify="right" if i else "left")
        for row in rows:
            rich_table.add_row(*row)
        console.print(rich_table)
    for verdict in case.verdicts:
        print(verdict_line(verdict, quick=case.quick))
    print(flush=True)
