"""Calibrating a boosted model: whether it can be, and what rows it was not trained on say of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hedgerow._boosting.fit.calibration import calibrate
from hedgerow._boosting.fit.problem import Problem
from hedgerow._boosting.fit.settings import Settings
from hedgerow._boosting.fit.training_data import Examples
from hedgerow._boosting.losses import FormulaLoss
from hedgerow._boosting.model import BoostedModel
from hedgerow._estimator import Estimator
from hedgerow._links import prediction_of
from hedgerow.exceptions import ParameterError


def require_calibratable(problem: Problem, estimator: Estimator) -> None:
    """Refuse a calibration that there is none of."""
    loss = problem.loss
    if loss.n_targets > 1:
        raise ParameterError("calibration needs a y of one column; fit a model for each.")
    if isinstance(loss, FormulaLoss) and not loss.predicts_targets:
        raise ParameterError(
            f"loss={estimator.loss!r} cannot be calibrated: its {loss.n_outputs} "
            "scores are not predictions of y."
        )
    if problem.classes is not None and (loss.is_soft or loss.link == "margin"):
        raise ParameterError(
            f"loss={estimator.loss!r} cannot be calibrated: it has no classes or no probabilities."
        )


def calibrated(
    model: BoostedModel, problem: Problem, settings: Settings, held: Examples
) -> BoostedModel:
    """Return the model with what rows that it was not trained on say of its predictions."""
    matrix = model.matrix(held.table)
    scores = model.ensemble.predict_raw(matrix, n_threads=settings.n_threads)
    if problem.classes is None:
        prediction = prediction_of(scores, model.link).reshape(len(scores), -1)
        missed = held.target[:, np.newaxis] - prediction
        spread = problem.loss.spread.learned_from(scores, missed)
        residuals = missed / spread.scale(scores)
        return replace(model, residuals=residuals, spread=spread)
    method, index = settings.estimator.calibration, held.target.astype(np.intp)
    return replace(model, calibration=calibrate(method, scores, index, held.weights))
