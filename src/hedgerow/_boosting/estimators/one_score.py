"""The base class of rankers and survival models: one score per row, not a probability."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import ClassVar, get_args

from hedgerow._boosting.estimators.base import GradientBoosting
from hedgerow._boosting.estimators.parameters import PARAMETERS
from hedgerow._boosting.model import BoostedModel
from hedgerow._params import Options, Parameter, parameters_for
from hedgerow._tree.row_sampling import Sampling


class OneScore(GradientBoosting):
    """Gradient boosting without several outputs and without calibration."""

    multi_strategy: ClassVar[str] = "separate"
    calibration: ClassVar[None] = None

    def _output_names(self, model: BoostedModel) -> list[str]:  # noqa: ARG002
        return ["score"]

    def _unit(self, model: BoostedModel) -> str:  # noqa: ARG002
        return "score"


_LEFT_OUT = ("multi_strategy", "calibration", "calibration_fraction")
_REWORDED = {
    "monotonic_constraints": "How the score may change with a numeric feature while all others "
    "stay the same: 1 or 'increasing', it never decreases as the feature increases; -1 or "
    "'decreasing', it never increases; 0, no constraint. Columns that are not in a dict are 0. "
    "The constraint holds at every input; it says nothing about missing values.",
}


def one_score_parameters(
    own: Iterable[Parameter], reworded: Mapping[str, str]
) -> tuple[Parameter, ...]:
    """Return an estimator's own parameters and those of all boosting, some with other texts."""
    reworded = _REWORDED | dict(reworded)
    shared = [
        replace(parameter, description=reworded.get(parameter.name, parameter.description))
        for parameter in parameters_for("one score", PARAMETERS)
        if parameter.name not in _LEFT_OUT
    ]
    without_classes = Options(tuple(name for name in get_args(Sampling) if name != "balanced"))
    return (
        *own,
        *(replace(p, allowed=without_classes) if p.name == "sampling" else p for p in shared),
    )
