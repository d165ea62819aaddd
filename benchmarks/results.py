"""What a run yields: timings and scores of each library, and whether Hedgerow reached its bars.

Everything here is plain data: no library is imported, so that the main process stays quiet while
the workers are timed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import Literal

HEDGEROW = "hedgerow"

Measure = Literal[
    "fit", "predict", "explain", "one row", "memory", "file", "score", "staged errors"
]
Rule = Literal["times", "within", "near", "noise", "absolute"]

GREATER_IS_BETTER = {
    "AUC": True,
    "log loss": False,
    "RMSE": False,
    "Poisson deviance": False,
    "pinball loss": False,
    "error": False,
    "objective": False,
    "dual objective": True,
    "NDCG@5": True,
    "NDCG@10": True,
    "gap": False,
}

# An error (1 − AUC, log loss, RMSE) is as good as another if it is at most this times as large.
EQUAL_ERROR = 1.01


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
    """One library in one case; what was not measured is None.

    Where a score is the mean over several draws of the data, ``scores`` holds each.
    """

    library: str
    fit: Timing | None = None
    predict: Timing | None = None
    explain: Timing | None = None
    one_row: Timing | None = None
    extra_bytes: int | None = None
    file_bytes: int | None = None
    score: float | None = None
    scores: tuple[float, ...] | None = None
    staged_errors: tuple[float, ...] | None = None
    error: str | None = None

    def value(self, measure: Measure) -> float | None:
        """The number that stands for a measure: best times, but the median call for one row.

        A batch is disturbed only upwards, so its best time says what the library can do. A single
        row is served thousands of times, and what a caller feels is the usual call.
        """
        match measure:
            case "fit":
                return self.fit.best if self.fit else None
            case "predict":
                return self.predict.best if self.predict else None
            case "explain":
                return self.explain.best if self.explain else None
            case "one row":
                return self.one_row.median if self.one_row else None
            case "memory":
                return self.extra_bytes
            case "file":
                return self.file_bytes
            case "score":
                return self.score
            case "staged errors":
                return self.staged_errors[-1] if self.staged_errors else None


@dataclass(frozen=True)
class Bar:
    """What Hedgerow must reach in a case, relative to the best of some peers or absolutely.

    ``times``: at most ``limit`` times the best peer, or where greater is better, the best peer at
    most ``limit`` times ours; ``within``: at most ``limit`` worse than the
    best peer; ``near``: staged errors nowhere further than ``limit`` from a peer's; ``noise``: on
    the same draws at most ``limit`` standard errors worse than the best peer; ``absolute``: at most
    ``limit``. Where ``equal_accuracy`` is set, peers that predict worse are no reference.
    """

    measure: Measure
    rule: Rule
    limit: float
    peers: tuple[str, ...] = ()
    subject: str = HEDGEROW
    equal_accuracy: bool = False


@dataclass(frozen=True)
class Verdict:
    """A bar, what Hedgerow reached on its scale, and the peer that set the reference."""

    bar: Bar
    reached: float | None
    reference: str | None
    met: bool | None


def check_bar(bar: Bar, results: Sequence[Result], *, greater_is_better: bool = False) -> Verdict:
    """Compare Hedgerow's result with a bar; ``met`` is None if something was not measured.

    Every peer of the bar must have been measured: the best of fewer peers is an easier reference.
    ``greater_is_better`` is about scores; of everything else less is better.
    """
    values = {result.library: result.value(bar.measure) for result in results}
    if any(values.get(library) is None for library in (bar.subject, *bar.peers)):
        return Verdict(bar, None, None, None)
    measured = {result.library: result for result in results}
    ours = measured[bar.subject]
    if bar.rule == "absolute":
        reached = ours.value(bar.measure)
        return Verdict(bar, reached, None, reached <= bar.limit)
    peers = [measured[peer] for peer in bar.peers]
    if bar.equal_accuracy:
        peers = equally_accurate(ours, peers, greater_is_better=greater_is_better)
    sign = -1 if greater_is_better and bar.measure == "score" else 1
    distances = {peer.library: distance(bar, ours, peer, sign) for peer in peers}
    reference = max(distances, key=distances.__getitem__)
    return Verdict(bar, distances[reference], reference, distances[reference] <= bar.limit)


def equally_accurate(
    ours: Result, peers: Sequence[Result], *, greater_is_better: bool
) -> list[Result]:
    """The peers that predict as well as Hedgerow or, where none does, as the best of them."""

    def error(result: Result) -> float:
        if result.score is None:
            return math.inf
        return 1 - result.score if greater_is_better else result.score

    most = EQUAL_ERROR * max(error(ours), min(map(error, peers), default=0))
    return [peer for peer in peers if error(peer) <= most]


def distance(bar: Bar, ours: Result, theirs: Result, sign: int) -> float:
    """How far a result is above a peer's on the bar's scale; from the best peer it is farthest."""
    mine, other = ours.value(bar.measure), theirs.value(bar.measure)
    match bar.rule:
        case "times":
            return mine / other if sign > 0 else other / mine
        case "within":
            return sign * (mine - other)
        case "near":
            return largest_gap(ours.staged_errors, theirs.staged_errors)
        case "noise":
            pairs = zip(ours.scores, theirs.scores, strict=True)
            return standard_errors_above_zero([sign * (a - b) for a, b in pairs])
    raise ValueError(f"no distance for the rule {bar.rule!r}")


def largest_gap(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The largest difference of two curves; one that ended early stays where it ended."""
    longest = max(len(ours), len(theirs))
    pairs = ((ours[min(i, len(ours) - 1)], theirs[min(i, len(theirs) - 1)]) for i in range(longest))
    return max(abs(a - b) for a, b in pairs)


def standard_error(values: Sequence[float]) -> float:
    """Of the mean of some values."""
    return stdev(values) / math.sqrt(len(values))


def standard_errors_above_zero(differences: Sequence[float]) -> float:
    """The mean in units of its standard error; differences that are all the same are no noise."""
    mean, error = fmean(differences), standard_error(differences)
    if error == 0:
        return math.copysign(math.inf, mean) if mean else 0.0
    return mean / error
