"""What a run yields: timings and scores of each library, and whether Hedgerow reached its bars.

Everything here is plain data: no library is imported, so that the main process stays quiet while
the workers are timed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

HEDGEROW = "hedgerow"

Measure = Literal["fit", "predict", "one row", "memory", "score"]
Rule = Literal["times", "within", "absolute"]

GREATER_IS_BETTER = {"AUC": True, "log loss": False, "RMSE": False}


@dataclass(frozen=True)
class Timing:
    """Seconds of the same work done several times, with the thread count that did it best."""

    seconds: tuple[float, ...]
    threads: int

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return median(self.seconds)


@dataclass
class Result:
    """One library in one case; what was not measured is None."""

    library: str
    fit: Timing | None = None
    predict: Timing | None = None
    one_row: Timing | None = None
    extra_bytes: int | None = None
    score: float | None = None
    error: str | None = None

    def value(self, measure: Measure) -> float | None:
        """The number that a bar compares: best times, but the median call for one row.

        A batch is disturbed only upwards, so its best time says what the library can do. A single
        row is served thousands of times, and what a caller feels is the usual call.
        """
        match measure:
            case "fit":
                return self.fit.best if self.fit else None
            case "predict":
                return self.predict.best if self.predict else None
            case "one row":
                return self.one_row.median if self.one_row else None
            case "memory":
                return self.extra_bytes
            case "score":
                return self.score


@dataclass(frozen=True)
class Bar:
    """What Hedgerow must reach in a case, relative to the best of some peers or absolutely.

    ``times``: at most ``limit`` times the best peer; ``within``: at most ``limit`` worse than the
    best peer; ``absolute``: at most ``limit``.
    """

    measure: Measure
    rule: Rule
    limit: float
    peers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """A bar, what Hedgerow reached on its scale, and the peer that set the reference."""

    bar: Bar
    reached: float | None
    reference: str | None
    met: bool | None


def judge(bar: Bar, results: Sequence[Result], *, greater_is_better: bool = False) -> Verdict:
    """Hold Hedgerow's result to a bar; ``met`` is None when something was not measured.

    Every peer of the bar must have been measured: the best of fewer peers is an easier reference.
    """
    values = {result.library: result.value(bar.measure) for result in results}
    ours = values.get(HEDGEROW)
    theirs = {peer: v for peer in bar.peers if (v := values.get(peer)) is not None}
    if ours is None or len(theirs) < len(bar.peers):
        return Verdict(bar, None, None, None)
    if bar.rule == "absolute":
        return Verdict(bar, ours, None, ours <= bar.limit)
    sign = -1 if greater_is_better else 1
    reference = min(theirs, key=lambda peer: sign * theirs[peer])
    best = theirs[reference]
    reached = ours / best if bar.rule == "times" else sign * (ours - best)
    return Verdict(bar, reached, reference, reached <= bar.limit)
