"""Fits at each x86-64 instruction-set level, and what a processor without AVX-512 gets.

Peers run as they are installed, and the fastest is the reference, whatever its accuracy. The
kernels were tuned on ``LEVEL_CASES``; ``UNTUNED_CASES`` had no part in that.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from benchmarks.cases import CASES, XGBOOST, BoostingSettings, Case
from benchmarks.generated import (
    MakeTable,
    binary_table,
    flag_table,
    forest_table,
    missing_table,
)
from benchmarks.ranking import PEERS as RANKERS
from benchmarks.ranking import RANKING_CASES, RankingCase
from benchmarks.report import CaseReport, markdown_table
from benchmarks.results import HEDGEROW, Bar
from benchmarks.shapes import SHAPES

LEVELS = {HEDGEROW: "v4", "hedgerow-v3": "v3", "hedgerow-v2": "v2"}
LEVEL_PEERS = ("lightgbm", *XGBOOST)
FIT = partial(Bar, "fit", "times", peers=LEVEL_PEERS)


def level_case(
    name: str, about: str, table: MakeTable, rows: int, columns: int, **settings: Any
) -> Case:
    """A case of 100 rounds; ``settings`` are those that are not 31 leaves."""
    boosting = BoostingSettings(**({"n_trees": 100, "max_leaves": 31} | settings))
    fits = max(1, min(10, 100_000 // rows))
    return Case(
        name=f"levels-{name}",
        about=f"{about}, 100 rounds of {boosting.max_leaves} leaves",
        rows=rows,
        columns=columns,
        test_rows=10_000,
        table=table,
        metric="AUC" if boosting.n_classes == 2 else "log loss",
        settings=boosting,
        libraries=(*LEVELS, *LEVEL_PEERS),
        fits=fits,
        bars=(FIT(limit=0.45, subject="hedgerow-v3"), FIT(limit=0.65, subject="hedgerow-v2")),
    )


LEVEL_CASES = (
    level_case("large", "500,000 × 28", binary_table, 500_000, 28, max_leaves=63),
    level_case("medium", "10,000 × 20", binary_table, 10_000, 20),
    level_case("small", "1,000 × 20", binary_table, 1_000, 20),
    level_case("flags", "100,000 × 100 flags", flag_table, 100_000, 100),
    level_case("wide", "20,000 × 280", binary_table, 20_000, 280),
    level_case("classes", "100,000 × 28, 7 classes", forest_table, 100_000, 28, n_classes=7),
    level_case("missing", "200,000 × 28, 30 % missing", missing_table, 200_000, 28),
)


def at_levels(case: Case | RankingCase, peers: tuple[str, ...]) -> Case | RankingCase:
    """Another benchmark's case, at each level."""
    bar = Bar("fit", "times", 0.6, peers, subject="hedgerow-v3")
    name, libraries = f"levels-{case.name}", (*LEVELS, *peers)
    return replace(case, name=name, libraries=libraries, bars=(bar,))


BY_NAME = {case.name: case for case in (*CASES, *SHAPES)}
UNTUNED_CASES = (
    *(
        at_levels(BY_NAME[name], LEVEL_PEERS)
        for name in ("words", "text", "leaves-255", "classes-50", "numbers")
    ),
    at_levels(RANKING_CASES[0], RANKERS),
    at_levels(BY_NAME["symmetric"], ("catboost",)),
)


def level_summary(cases: Sequence[CaseReport]) -> str:
    """A Markdown table: times of fits as multiples of the fastest peer's; their geometric means."""
    ratios = {case.about: ratios_of(case) for case in cases}
    rows = [[about, *map(_shown, of_case)] for about, of_case in ratios.items()]
    means = [_mean([row[i] for row in ratios.values()]) for i in range(len(LEVELS))]
    return markdown_table(
        ["fit", *LEVELS.values()], [*rows, ["geometric mean", *map(_shown, means)]]
    )


def ratios_of(case: CaseReport) -> list[float]:
    """Hedgerow's best time at each level over that of the fastest peer; NaN if not measured."""
    best = {result.library: result.fit.best for result in case.results if result.fit}
    fastest = min((best[peer] for peer in best.keys() - LEVELS), default=math.nan)
    return [best.get(library, math.nan) / fastest for library in LEVELS]


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def _shown(ratio: float) -> str:
    return "" if math.isnan(ratio) else f"{ratio:.2f}"
