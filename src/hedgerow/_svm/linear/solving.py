"""Which solver a problem gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hedgerow._progress import progress
from hedgerow._svm.linear.dual_descent import dual_descent
from hedgerow._svm.linear.interior_point import interior_point
from hedgerow._svm.linear.lasso import lasso
from hedgerow._svm.linear.newton import by_cholesky, by_conjugate_gradients, newton
from hedgerow._svm.linear.problem import Problem, Solution, Stop
from hedgerow._svm.linear.rows import Rows

# Features for which a matrix of them is formed and factored in each step.
FEW_FEATURES = 300


@dataclass(frozen=True)
class Way:
    """What the user says about how to solve: see the parameters of these names."""

    penalty: str
    dual: bool | str
    verbose: int


def solve(
    rows: Rows, problems: Sequence[Problem], stop: Stop, seed: int, way: Way
) -> list[Solution]:
    """Solve problems on the same rows."""
    with progress(way.verbose, len(problems), unit="machine", title="linear machines") as shown:

        def show(done: int) -> None:
            if shown is not None:
                shown.show(done)

        if way.penalty == "l1":
            return lasso(rows, problems, stop, seed, show)
        if _is_for_descent(rows, problems[0], way.dual):
            return dual_descent(rows, problems, stop, seed, show)
        solutions = []
        for done, problem in enumerate(problems):
            solutions.append(_solve_one(rows, problem, stop))
            show(done + 1)
        return solutions


def _is_for_descent(rows: Rows, problem: Problem, dual: bool | str) -> bool:
    if problem.squared and dual != "auto":
        return bool(dual)
    return rows.width > FEW_FEATURES


def _solve_one(rows: Rows, problem: Problem, stop: Stop) -> Solution:
    if not problem.squared:
        return interior_point(rows, problem, stop)
    few = rows.width <= FEW_FEATURES
    return newton(rows, problem, stop, by_cholesky if few else by_conjugate_gradients)
