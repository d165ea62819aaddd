"""What a ranker and a survival model share: one score a row, which is no probability."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import ClassVar

from hedgerow._boosting.estimators.base import GradientBoosting
from hedgerow._boosting.estimators.parameters import PARAMETERS
from hedgerow._boosting.model import BoostedModel
from hedgerow._params import Options, Parameter, parameters_for


class OneScore(GradientBoosting):
    """Gradient boosting without what is for several outputs or for held-out rows to say."""

    multi_strategy: ClassVar[str] = "separate"
    calibration: ClassVar[None] = None

    def _output_names(self, model: BoostedModel) -> list[str]:  # noqa: ARG002
        return ["score"]

    def _unit(self, model: BoostedModel) -> str:  # noqa: ARG002
        return "score"


_NOT_OURS = ("multi_strategy", "calibration", "calibration_fraction")
_REWORDED = {
    "monotonic_constraints": "How the score may change with a numeric column if all else stays the "
    "same: 1 or 'increasing', it never falls as the column rises; -1 or 'decreasing', it never "
    "rises; 0, either. Columns that a dict leaves out are 0. Holds at every input. A missing value "
    "is no number: its score is bound to none.",
}


def one_score_parameters(
    own: Iterable[Parameter], reworded: Mapping[str, str]
) -> tuple[Parameter, ...]:
    """Return an estimator's own parameters and those of all boosting, some in other words."""
    reworded = _REWORDED | dict(reworded)
    shared = [
        replace(parameter, description=reworded.get(parameter.name, parameter.description))
        for parameter in parameters_for("one score", PARAMETERS)
        if parameter.name not in _NOT_OURS
    ]
    without_classes = Options(("uniform", "group", "gradient", "minimal_variance"))
    return (
        *own,
        *(replace(p, allowed=without_classes) if p.name == "sampling" else p for p in shared),
    )
