"""Which rows the automatic choice is made by: those the user gave for it, or some held out."""

from __future__ import annotations

from typing import Any

from hedgerow._boosting.fit.auto.choice import Choice
from hedgerow._boosting.fit.auto.search import Search, no_choice
from hedgerow._boosting.fit.fit_data import Rows, as_judges, objection_to_parts
from hedgerow._boosting.fit.settings import Settings
from hedgerow._boosting.fit.training_data import Examples, partings

# A fifth of the rows is held out; of few rows, times the outputs, each fifth in turn.
FOLDS, FEW_ROWS = 5, 3000
# A quarter more rows than were tried on are worth so much more learning.
MORE_ROWS = 1.1


def choose(rows: Rows, settings: Settings, resumed: Any) -> Choice:
    """Choose what is "auto", or take what a fit that was broken off had chosen.

    The judge is the last of the watched sets, if it is to stop the fit, or else rows held out.
    """
    if resumed is not None:
        choice: Choice = resumed.model.auto_
        return choice
    if settings.estimator.early_stopping and rows.watched:
        judges = [*rows.watched.values()][-1]
        return Search(rows, settings, [(rows.train, judges)], more_rows=1.0).run()
    parts = _parts(rows, settings)
    if not parts:
        return no_choice(settings.asked)
    few = rows.train.table.n_rows * rows.problem.loss.n_outputs < FEW_ROWS
    return Search(rows, settings, parts if few else parts[:1], more_rows=MORE_ROWS).run()


def _parts(rows: Rows, settings: Settings) -> list[tuple[Examples, Examples]]:
    """Return the partings of the training rows by which a model can be learned and judged."""
    by_class, where = rows.problem.has_one_class_a_row, settings.estimator.validation_rows
    parts = partings(rows.train, FOLDS, settings.seed, by_class, where)
    return [
        (train, as_judges(held, train, settings))
        for train, held in parts
        if not objection_to_parts(rows.problem, train, held)
    ]
