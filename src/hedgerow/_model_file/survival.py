"""Survival models ↔ a model file: gradient boosting, and what its scores mean for the time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import numpy as np

from hedgerow._boosting.survival_curves import (
    AcceleratedTimes,
    ProportionalHazards,
    SurvivalCurve,
    TimeDistribution,
)
from hedgerow._model_file import boosted
from hedgerow._model_file.container import Arrays, Document
from hedgerow._model_file.stored import Stored, check_array, is_number, require, with_prefix


def write(estimator: Any) -> tuple[Document, Arrays]:
    """Return what a fit has learned."""
    document, arrays = boosted.write(estimator)
    curve = estimator._fitted_model().curve  # noqa: SLF001
    if curve is None:
        return document | {"curve": None}, arrays
    if isinstance(curve, AcceleratedTimes):
        described = {"distribution": curve.distribution, "scale": curve.scale}
        return document | {"curve": described}, arrays
    hazard = with_prefix("curve.", {"times": curve.times, "hazard": curve.hazard})
    return document | {"curve": "hazard"}, arrays | hazard


def read(kind: type[Any], stored: Stored) -> dict[str, Any]:
    """Read the attributes of a fitted estimator."""
    attributes, described = boosted.read(kind, stored), stored.field("curve")
    if described is None:
        return attributes
    has_hazards = described == "hazard"
    curve = _read_hazards(stored) if has_hazards else _read_times(described)
    model = attributes["_model"]
    expected = "identity" if has_hazards else "log"
    require(model.link == expected, "the link does not suit the curve")
    return attributes | {"_model": replace(model, curve=curve)}


def _read_times(described: Any) -> SurvivalCurve:
    fits = isinstance(described, dict) and set(described) == {"distribution", "scale"}
    require(fits, "the curve is not a distribution with a scale")
    distribution, scale = described["distribution"], described["scale"]
    is_valid = isinstance(distribution, str) and distribution in get_args(TimeDistribution)
    require(is_valid, f"the distribution is {distribution!r}")
    require(is_number(scale) and 0.0 < scale < np.inf, f"the scale is {scale!r}")
    return AcceleratedTimes(distribution, float(scale))


def _read_hazards(stored: Stored) -> SurvivalCurve:
    arrays = stored.arrays("curve.", ("times", "hazard"))
    times, hazard = arrays["times"], arrays["hazard"]
    require(times.ndim == 1 and len(times) > 0, "the curve has no times")
    for name, array in arrays.items():
        check_array(array, (len(times),), f"curve.{name}")
        require(bool(np.isfinite(array).all()) and array[0] >= 0.0, f"curve.{name} is not finite")
    require(bool((np.diff(times) > 0.0).all()), "the curve's times do not increase")
    require(bool((np.diff(hazard) >= 0.0).all()), "the curve's hazard decreases")
    return ProportionalHazards(times, hazard)
