"""How the work of every kernel divides among threads: ``python -m benchmarks.threads``.

Each case is timed with every number of threads, in turns, and the best time of each counts. A row
of the table has the seconds on one thread, and how many times faster the other numbers are.

Examples::

    python -m benchmarks.threads                            # 1, 2, 4, … up to all cores
    python -m benchmarks.threads --threads 1 16 --repeats 5
    python -m benchmarks.threads --cases svc predict        # those whose names begin like this
    python -m benchmarks.threads --quick                    # seconds, to see that it works
"""

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from benchmarks import generated, linear_svms
from benchmarks.kernel_svms import overlapping_rows
from benchmarks.machine import machine_facts
from benchmarks.measure import alternating, available_cores, seconds_of

QUICK_SHARE = 1 / 50  # of the rows of a case
ENOUGH_SECONDS, MOST_REPEATS = 0.5, 20  # of one number of threads in one turn

Work = Callable[[int], object]  # takes the number of threads


@dataclass(frozen=True)
class ThreadsCase:
    """Some work, and the number of rows that its data have."""

    name: str
    about: str
    rows: int
    prepare: Callable[[int], Work]  # takes the number of rows


CASES: list[ThreadsCase] = []


def case(name: str, rows: int, about: str) -> Callable[[Callable[[int], Work]], Any]:
    """Register the function that prepares a case."""

    def register(prepare: Callable[[int], Work]) -> Callable[[int], Work]:
        CASES.append(ThreadsCase(name, about, rows, prepare))
        return prepare

    return register


def _fitting(model: Any, *data: Any) -> Work:
    return lambda threads: model.set_params(n_jobs=threads).fit(*data)


def _calling(model: Any, method: str, X: Any) -> Work:
    return lambda threads: getattr(model.set_params(n_jobs=threads), method)(X)


# Support vector machines.


@case("svc-28", 20_000, "SVC, 20,000 × 28")
def svc_28(rows: int) -> Work:
    from hedgerow import SVC

    return _fitting(SVC(), *overlapping_rows(rows, 28))


@case("svc-300", 20_000, "SVC, 20,000 × 300")
def svc_300(rows: int) -> Work:
    from hedgerow import SVC

    return _fitting(SVC(), *overlapping_rows(rows, 300))


@case("svc-predict", 20_000, "SVC, predict 20,000 × 28")
def svc_predict(rows: int) -> Work:
    from hedgerow import SVC

    X, y = overlapping_rows(rows, 28)
    return _calling(SVC().fit(X, y), "decision_function", 0.9 * X)


@case("svc-classes", 20_000, "SVC, 5 classes, 20,000 × 28")
def svc_classes(rows: int) -> Work:
    from hedgerow import SVC

    X, _ = overlapping_rows(rows, 28)
    noise = 0.5 * np.random.default_rng(1).standard_normal(rows)
    y = np.searchsorted([-1.0, -0.3, 0.3, 1.0], X[:, 0] + 0.5 * X[:, 1] ** 2 - 0.5 + noise)
    return _fitting(SVC(), X, y)


@case("svc-probability", 10_000, "SVC with probabilities, 10,000 × 28")
def svc_probability(rows: int) -> Work:
    from hedgerow import SVC

    return _fitting(SVC(probability=True), *overlapping_rows(rows, 28))


@case("svr", 20_000, "SVR, 20,000 × 28")
def svr(rows: int) -> Work:
    from hedgerow import SVR

    X, y = overlapping_rows(rows, 28)
    return _fitting(SVR(), X, y + np.sin(X[:, 0]))


@case("svc-linear", 20_000, "SVC, linear kernel, 20,000 × 28")
def svc_linear(rows: int) -> Work:
    from hedgerow import SVC

    return _fitting(SVC(kernel="linear"), *overlapping_rows(rows, 28))


@case("linear-svc-dense", 200_000, "LinearSVC, 200,000 × 50")
def linear_svc_dense(rows: int) -> Work:
    from hedgerow import LinearSVC

    return _fitting(LinearSVC(), *linear_svms.dense_rows(rows))


@case("linear-svc-hinge", 200_000, "LinearSVC, hinge loss, 200,000 × 50")
def linear_svc_hinge(rows: int) -> Work:
    from hedgerow import LinearSVC

    return _fitting(LinearSVC(loss="hinge"), *linear_svms.dense_rows(rows))


@case("linear-svc-text", 50_000, "LinearSVC, sparse text, 50,000 × 10,000")
def linear_svc_text(rows: int) -> Work:
    from hedgerow import LinearSVC

    return _fitting(LinearSVC(), *linear_svms.text_rows(rows))


# Neighbours.


def _neighbors(rows: int, columns: int, **params: Any) -> Work:
    from hedgerow import KNeighborsClassifier

    X, y = generated.binary_table(rows + rows // 5, max(columns, 10), 0)
    X = np.ascontiguousarray(X[:, :columns])
    model = KNeighborsClassifier(n_neighbors=10, **params).fit(X[:rows], y[:rows])
    return _calling(model, "predict", X[rows:])


@case("knn-28", 50_000, "neighbours, brute force, 10,000 queries, 50,000 × 28")
def knn_28(rows: int) -> Work:
    return _neighbors(rows, 28)


@case("knn-8", 50_000, "neighbours, k-d tree, 10,000 queries, 50,000 × 8")
def knn_8(rows: int) -> Work:
    return _neighbors(rows, 8)


@case("knn-4", 50_000, "neighbours, k-d tree, 10,000 queries, 50,000 × 4")
def knn_4(rows: int) -> Work:
    return _neighbors(rows, 4)


@case("knn-fit", 1_000_000, "neighbours, building the k-d tree, 1,000,000 × 8")
def knn_fit(rows: int) -> Work:
    from hedgerow import KNeighborsClassifier

    X, y = generated.binary_table(rows, 10, 0)
    model = KNeighborsClassifier(n_neighbors=10, algorithm="kd_tree")
    return _fitting(model, np.ascontiguousarray(X[:, :8]), y)


@case("knn-gower", 20_000, "neighbours, Gower's distance, 4,000 queries, 20,000 × 12")
def knn_gower(rows: int) -> Work:
    from hedgerow import KNeighborsClassifier

    frame, y = mixed_frame(rows + rows // 5)
    model = KNeighborsClassifier(n_neighbors=10, metric="gower").fit(frame[:rows], y[:rows])
    return _calling(model, "predict", frame[rows:])


# Intake and binning.


def mixed_frame(rows: int) -> tuple[Any, Any]:
    """A pandas frame of 8 columns of numbers, 2 of strings and 2 of categories."""
    import pandas as pd

    X, y = generated.binary_table(rows, 10, 0)
    frame = pd.DataFrame(X[:, :8], columns=[f"number_{j}" for j in range(8)])
    rng = np.random.default_rng(2)
    for j, n_values in enumerate((12, 300)):
        words = np.array([f"word {value}" for value in range(n_values)], dtype=object)
        drawn = words[(n_values * rng.random(rows) ** 2).astype(np.int64)]
        frame[f"string_{j}"] = drawn
        frame[f"category_{j}"] = pd.Categorical(drawn)
    return frame, y


@cache
def _large_table(rows: int) -> tuple[Any, Any]:
    return generated.binary_table(rows, 28, 0)


@case("thresholds-28", 1_000_000, "bin thresholds, 1,000,000 × 28")
def thresholds_28(rows: int) -> Work:
    return _thresholds(_large_table(rows)[0])


@case("mapping-28", 1_000_000, "mapping to bins, 1,000,000 × 28")
def mapping_28(rows: int) -> Work:
    return _mapping(_large_table(rows)[0])


@case("thresholds-500", 50_000, "bin thresholds, 50,000 × 500")
def thresholds_500(rows: int) -> Work:
    return _thresholds(generated.binary_table(rows, 500, 0)[0])


@case("mapping-500", 50_000, "mapping to bins, 50,000 × 500")
def mapping_500(rows: int) -> Work:
    return _mapping(generated.binary_table(rows, 500, 0)[0])


def _thresholds(X: Any) -> Work:
    from hedgerow._data.binning import Binner
    from hedgerow._data.intake import learn_schema

    _, table = learn_schema(X)
    return lambda threads: Binner().fit(table, threads=threads)


def _mapping(X: Any) -> Work:
    from hedgerow._data.binning import Binner
    from hedgerow._data.intake import learn_schema

    _, table = learn_schema(X)
    binner = Binner().fit(table, threads=available_cores())
    return lambda threads: binner.transform(table, threads=threads)


# Prediction with trees.


@cache
def _boosted(rows: int) -> Any:
    from hedgerow import GradientBoostingClassifier

    X, y = _large_table(rows)
    return GradientBoostingClassifier(n_estimators=100, max_leaves=63, learning_rate=0.1).fit(X, y)


@case("predict-float32", 1_000_000, "boosting, predict 1,000,000 × 28, float32")
def predict_float32(rows: int) -> Work:
    return _calling(_boosted(rows), "predict_proba", _large_table(rows)[0])


@case("predict-float64", 1_000_000, "the same in float64")
def predict_float64(rows: int) -> Work:
    return _calling(_boosted(rows), "predict_proba", _large_table(rows)[0].astype(np.float64))


@case("predict-fortran", 1_000_000, "the same, float32 in Fortran order")
def predict_fortran(rows: int) -> Work:
    return _calling(_boosted(rows), "predict_proba", np.asfortranarray(_large_table(rows)[0]))


@case("predict-pandas", 1_000_000, "the same, a pandas frame")
def predict_pandas(rows: int) -> Work:
    import pandas as pd

    return _calling(_boosted(rows), "predict_proba", pd.DataFrame(_large_table(rows)[0]))


@case("predict-classes", 200_000, "boosting, predict classes of 200,000 × 54, 7 classes")
def predict_classes(rows: int) -> Work:
    from hedgerow import GradientBoostingClassifier

    X, y = generated.forest_table(rows, 54, 0)
    model = GradientBoostingClassifier(n_estimators=30, max_leaves=31, learning_rate=0.1)
    return _calling(model.fit(X, y), "predict", X)


@case("predict-mixed", 200_000, "boosting, predict a frame of numbers and strings, 200,000 × 12")
def predict_mixed(rows: int) -> Work:
    from hedgerow import GradientBoostingClassifier

    frame, y = mixed_frame(rows)
    model = GradientBoostingClassifier(n_estimators=100, max_leaves=31, learning_rate=0.1)
    return _calling(model.fit(frame, y), "predict_proba", frame)


@cache
def _forest(rows: int) -> Any:
    from hedgerow import RandomForestClassifier

    X, y = _large_table(rows)
    return RandomForestClassifier(n_estimators=100, min_samples_leaf=5, random_state=0).fit(X, y)


@case("forest-fit", 100_000, "random forest, fit 100,000 × 28")
def forest_fit(rows: int) -> Work:
    from hedgerow import RandomForestClassifier

    model = RandomForestClassifier(n_estimators=100, min_samples_leaf=5, random_state=0)
    return _fitting(model, *_large_table(rows))


@case("forest-predict", 100_000, "random forest, predict 100,000 × 28")
def forest_predict(rows: int) -> Work:
    return _calling(_forest(rows), "predict_proba", _large_table(rows)[0])


# Explanations and metrics.


@case("shap", 20_000, "Shapley values of 20,000 × 28")
def shap(rows: int) -> Work:
    from hedgerow.explain import shap_values

    model, X = _boosted(10 * rows), _large_table(rows)[0]
    return lambda threads: shap_values(model.set_params(n_jobs=threads), X)


@case("dependence", 20_000, "partial dependence of 10 columns × 50 points, 20,000 rows")
def dependence(rows: int) -> Work:
    from hedgerow.explain import partial_dependence

    model, X = _boosted(10 * rows), _large_table(rows)[0]
    return lambda threads: partial_dependence(
        model.set_params(n_jobs=threads), X, list(range(10)), method="rows", grid_resolution=50
    )


@case("early-stopping", 500_000, "boosting, 50 rounds with a validation set, 500,000 × 28")
def early_stopping(rows: int) -> Work:
    from hedgerow import GradientBoostingClassifier

    X, y = _large_table(rows)
    half = rows // 2
    model = GradientBoostingClassifier(n_estimators=50, max_leaves=31, learning_rate=0.1)
    return lambda threads: model.set_params(n_jobs=threads).fit(
        X[:half], y[:half], eval_set=[(X[half:], y[half:])]
    )


@case("regions", 2_000, "2,000 regions of 20,000 short tasks, one after the other")
def regions(rows: int) -> Work:
    """How soon a team that is awake begins: a thread's start takes as long as such a region."""
    from hedgerow._native import testing

    visits = np.zeros(20_000, np.int32)
    return lambda threads: [testing.count_visits(threads, visits) for _ in range(rows)]


def _best(work: Callable[[], object]) -> float:
    seconds = [seconds_of(work)]
    while sum(seconds) < ENOUGH_SECONDS and len(seconds) < MOST_REPEATS:
        seconds.append(seconds_of(work))
    return min(seconds)


def timed(work: Work, thread_counts: Sequence[int], repeats: int) -> list[float]:
    """Return the best time with each number of threads."""
    work(max(thread_counts))
    best = dict.fromkeys(thread_counts, np.inf)
    for turn in range(repeats):
        for threads in alternating(thread_counts, turn):
            best[threads] = min(best[threads], _best(lambda n=threads: work(n)))
    return [best[threads] for threads in thread_counts]


def table_lines(
    cases: Sequence[ThreadsCase], thread_counts: Sequence[int], repeats: int, share: float
) -> Iterator[str]:
    """Yield the lines of a Markdown table, each as soon as it is measured."""
    first, *others = thread_counts
    yield f"| case | {first} thread{'s' * (first > 1)} | " + " | ".join(map(str, others)) + " |"
    yield "|---" * (2 + len(others)) + "|"
    for one in cases:
        work = one.prepare(max(500, int(one.rows * share)))
        seconds = timed(work, thread_counts, repeats)
        gains = (f"{seconds[0] / time:.1f} ×" for time in seconds[1:])
        yield f"| {one.about} | {seconds[0]:.3f} s | " + " | ".join(gains) + " |"


def _powers_of_two(most: int) -> list[int]:
    return sorted({min(most, 2**k) for k in range(most.bit_length() + 1)})


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.threads", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--threads", type=int, nargs="+", default=_powers_of_two(available_cores()))
    parser.add_argument("--cases", nargs="+", default=[""], help="beginnings of names")
    parser.add_argument("--repeats", type=int, default=3, help="turns of each case")
    parser.add_argument("--quick", action="store_true", help="a fraction of the rows, one turn")
    chosen = parser.parse_args(arguments)
    cases = [one for one in CASES if one.name.startswith(tuple(chosen.cases))]
    if not cases:
        parser.error(f"no such case; there are {', '.join(one.name for one in CASES)}")
    warnings.simplefilter("ignore")
    print(", ".join(f"{name}: {fact}" for name, fact in machine_facts().items()))
    repeats, share = (1, QUICK_SHARE) if chosen.quick else (chosen.repeats, 1.0)
    for line in table_lines(cases, chosen.threads, repeats, share):
        print(line, flush=True)


if __name__ == "__main__":
    main()
