"""Choice of the solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hedgerow._progress import progress
from hedgerow._svm.linear.design_matrix import DesignMatrix
from hedgerow._svm.linear.dual_descent import dual_descent
from hedgerow._svm.linear.interior_point import interior_point
from hedgerow._svm.linear.lasso import lasso
from hedgerow._svm.linear.newton import by_cholesky, by_conjugate_gradients, newton
from hedgerow._svm.linear.problem import GapCriterion, LinearSolution, SVMProblem

# Up to this number of features, their Gram matrix is formed and factored in each step.
FEW_FEATURES = 300


@dataclass(frozen=True)
class SolverSettings:
    """The user's parameters of these names."""

    penalty: str
    dual: bool | str
    verbose: int


def solve(
    rows: DesignMatrix,
    problems: Sequence[SVMProblem],
    stop: GapCriterion,
    seed: int,
    settings: SolverSettings,
) -> list[LinearSolution]:
    """Solve problems on the same rows."""
    with progress(settings.verbose, len(problems), unit="SVM", title="linear SVMs") as progress_bar:

        def show(done: int) -> None:
            if progress_bar is not None:
                progress_bar.show(done)

        if settings.penalty == "l1":
            return lasso(rows, problems, stop, seed, show)
        if _is_for_descent(rows, problems[0], settings.dual):
            return dual_descent(rows, problems, stop, seed, show)
        solutions = []
        for done, problem in enumerate(problems):
            solutions.append(_solve_one(rows, problem, stop))
            show(done + 1)
        return solutions


def _is_for_descent(rows: DesignMatrix, problem: SVMProblem, dual: bool | str) -> bool:
    if problem.squared and dual != "auto":
        return bool(dual)
    return rows.width > FEW_FEATURES


def _solve_one(rows: DesignMatrix, problem: SVMProblem, stop: GapCriterion) -> LinearSolution:
    if not problem.squared:
        return interior_point(rows, problem, stop)
    few = rows.width <= FEW_FEATURES
    return newton(rows, problem, stop, by_cholesky if few else by_conjugate_gradients)
