"""The rows of a fit: read, checked, and parted into those to train on and those held out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from hedgerow._boosting.fit.calibrating import require_calibratable
from hedgerow._boosting.fit.problem import (
    Problem,
    read_problem,
    require_constraints_kept,
    require_rows_to_draw,
)
from hedgerow._boosting.fit.settings import Settings, is_auto
from hedgerow._boosting.fit.training_data import Examples, Given, hold_out, read_eval_sets
from hedgerow._boosting.metrics import Metric, UserMetric
from hedgerow._boosting.model import BoostedModel
from hedgerow._boosting.targets.tasks import Task
from hedgerow.exceptions import DataError


@dataclass(frozen=True)
class Rows:
    """What there is to learn, from which rows, and how it is judged.

    Attributes
    ----------
    problem : Problem
        What is to be learned.
    train : Examples
        The rows to train on.
    watched : mapping of Examples
        Rows to measure on after each round, by the name of their set.
    for_calibration : Examples, optional
        Rows that tell afterwards how far predictions are to be trusted.
    metrics : sequence of Metric
        What is measured; the first decides.
    """

    problem: Problem
    train: Examples
    watched: Mapping[str, Examples]
    for_calibration: Examples | None
    metrics: Sequence[Metric | UserMetric]


def read_rows(given: Given, task: Task, start: BoostedModel | None, settings: Settings) -> Rows:
    """Check everything that was given; part what to train on from what to measure on."""
    estimator = settings.estimator
    problem, train = read_problem(given, task, start, settings)
    require_constraints_kept(problem)
    require_rows_to_draw(problem, settings, train)
    for_calibration = None
    if estimator.calibration is not None:
        require_calibratable(problem, estimator)
        train, for_calibration = _part_for_calibration(problem, settings, train)
    metrics = task.choose_metrics(estimator, problem.classes, problem.loss)
    read_more = partial(problem.read, estimator)
    watched = read_eval_sets(given.eval_set, given.eval_names, read_more)
    stops_by_itself = is_auto(settings.asked.n_estimators)
    if estimator.early_stopping and not watched and not stops_by_itself:
        train, watched["validation"] = _part_for_stopping(problem, settings, train)
    return Rows(problem, train, watched, for_calibration, metrics)


def _part_for_calibration(
    problem: Problem, settings: Settings, rows: Examples
) -> tuple[Examples, Examples]:
    fraction, where = settings.estimator.calibration_fraction, settings.estimator.validation_rows
    by_class = problem.has_one_class_a_row
    train, held = hold_out(rows, fraction, settings.seed, by_class, where, "calibration")
    objection = objection_to_parts(problem, train, held)
    if not objection and problem.classes is not None and len(np.unique(held.target)) < 2:
        objection = "the rows held out are all of one class"
    _refuse_if(objection, "calibration")
    return train, held


def _part_for_stopping(
    problem: Problem, settings: Settings, rows: Examples
) -> tuple[Examples, Examples]:
    fraction, where = settings.estimator.validation_fraction, settings.estimator.validation_rows
    by_class = problem.has_one_class_a_row
    train, held = hold_out(rows, fraction, settings.seed, by_class, where)
    _refuse_if(objection_to_parts(problem, train, held), "early_stopping")
    return train, as_judges(held, train, settings)


def as_judges(held: Examples, train: Examples, settings: Settings) -> Examples:
    """Return rows held out, with classes in the balance that rounds draw from the others."""
    return held.in_the_balance_of(train) if settings.draws_balanced else held


def objection_to_parts(problem: Problem, train: Examples, held: Examples) -> str | None:
    """Say why nothing can be learned from some rows or measured on others, if it cannot."""
    objection = problem.loss.objection(train.target)
    if objection:
        return f"of the rows to train on, {objection.removesuffix('.')}"
    objection = problem.loss.objection(held.target)
    if objection:
        return f"of the rows held out, {objection.removesuffix('.')}"
    n_classes = 0 if problem.classes is None else len(problem.classes)
    if problem.has_one_class_a_row and len(np.unique(train.target)) < n_classes:
        return "none of the rows to train on is of one of the classes"
    return None


def _refuse_if(objection: str | None, purpose: str) -> None:
    if objection:
        raise DataError(
            f"{purpose} cannot part the rows as it is asked to: {objection}. Give it rows of "
            "your own, or another part of the rows, or other groups."
        )
