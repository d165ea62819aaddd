"""Models of other libraries as initial models: which of them further rounds can be added to."""

from __future__ import annotations

import numpy as np

from hedgerow._boosting.model import BoostedModel
from hedgerow._estimator import Estimator
from hedgerow.exceptions import ParameterError


def require_ours(fitted: Estimator, model: BoostedModel) -> None:
    """Refuse a model of another library whose trees cannot be grown further or fitted again."""
    why = _objection(model) if hasattr(fitted, "origin_") else None
    if why is not None:
        raise ParameterError(
            f"this model of {fitted.origin_.library} cannot be continued or refitted: {why}."
        )


def _objection(model: BoostedModel) -> str | None:
    if model.ensemble.arithmetic.is_mean:
        return "it is the mean of its trees"
    if model.zero_is_missing is not None:
        return "it treats 0 as missing"
    if model.statistics.columns:
        return "its splits divide the categories of a column in more than 255 ways"
    if not _bins_have_all_thresholds(model):
        return "it has more than 254 thresholds for a column"
    return None


def _bins_have_all_thresholds(model: BoostedModel) -> bool:
    ensemble = model.ensemble
    numeric = (ensemble.feature >= 0) & (ensemble.category_set < 0)
    feature, threshold = ensemble.feature[numeric], ensemble.threshold[numeric]
    return all(
        np.isin(threshold[feature == j], known).all()
        for j, known in enumerate(model.binner.thresholds)
    )
