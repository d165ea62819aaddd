"""What a GPU cannot do yet: one table, for the check before a fit and for the documentation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hedgerow.exceptions import ParameterError


@dataclass(frozen=True)
class Refusal:
    """A parameter, the values that a GPU cannot be used with, and what to do instead."""

    parameter: str
    values: str  # as the documentation names them
    is_refused: Callable[[Any], bool]
    advice: str


def _one_of(*values: Any) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str | bool) and value in values


def _is_given(value: Any) -> bool:
    return value is not None


REFUSALS = (
    Refusal("splitter", "'exact', 'approx'", _one_of("exact", "approx"), "splitter='hist'"),
    Refusal("prune", "True", _one_of(True), "prune=False"),
    Refusal("linear_leaves", "True", _one_of(True), "linear_leaves=False"),
    Refusal("multi_strategy", "'vector'", _one_of("vector"), "multi_strategy='separate'"),
    Refusal(
        "sampling",
        "'gradient', 'minimal_variance'",
        _one_of("gradient", "minimal_variance"),
        "sampling='uniform'",
    ),
    Refusal("monotonic_constraints", "any", _is_given, "no constraints"),
    Refusal("interaction_constraints", "any", _is_given, "no constraints"),
)


def require_supported(device: str, params: Any) -> None:
    """Refuse parameters that a device other than the CPU cannot be used with."""
    for refusal in REFUSALS:
        value = getattr(params, refusal.parameter, None)
        if refusal.is_refused(value):
            raise ParameterError(
                f"{refusal.parameter}={value!r} cannot be used with device={device!r} yet. Use "
                f"device='cpu', or {refusal.advice}."
            )
