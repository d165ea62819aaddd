"""What a user's callbacks see and may do while rounds run.

A callback is a function of `RoundInfo`, or an object with any of ``before_fit(estimator)``,
``after_round(info)`` and ``after_fit(estimator)``. If ``after_round`` returns True, this round is
the last; whatever a callback raises ends the fit and leaves the estimator as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hedgerow._estimator import Estimator
from hedgerow._params import short_repr
from hedgerow._peers import library_of
from hedgerow.exceptions import ParameterError

HOOKS = ("before_fit", "after_round", "after_fit")


@dataclass(frozen=True)
class RoundInfo:
    """A finished round.

    Attributes
    ----------
    round : int
        Rounds in the model so far, this one included.
    n_rounds : int
        Rounds there will be at most.
    metrics : dict
        ``metrics[set][metric]`` is the value after this round.
    """

    round: int
    n_rounds: int
    metrics: Mapping[str, Mapping[str, float]]
    build_model: Callable[[], Any] = field(repr=False)

    @property
    def model(self) -> Any:
        """The estimator as if fitted with the rounds so far: a copy, built when it is asked for."""
        return self.build_model()


class Callbacks:
    """A user's callbacks, called in the order given."""

    def __init__(self, callbacks: Iterable[Any] | None) -> None:
        self.members = [] if callbacks is None else _listed(callbacks)

    def __bool__(self) -> bool:
        return bool(self.members)

    def before_fit(self, estimator: Estimator) -> None:
        """Tell all that the rounds begin."""
        for member in self.members:
            getattr(member, "before_fit", _nothing)(estimator)

    def after_round(self, info: RoundInfo) -> bool:
        """Tell all; whether any of them wants to stop."""
        answers = [_after_round_of(member)(info) for member in self.members]
        return any(isinstance(answer, bool | np.bool_) and answer for answer in answers)

    def after_fit(self, estimator: Estimator) -> None:
        """Hand all the finished model."""
        for member in self.members:
            getattr(member, "after_fit", _nothing)(estimator)


def _listed(callbacks: Any) -> list[Any]:
    members = list(callbacks) if isinstance(callbacks, Iterable) else [callbacks]
    for member in members:
        library = library_of(member)
        if library is not None:
            raise ParameterError(
                f"callbacks: {short_repr(member)} is a callback for {library}. For early stopping "
                "set early_stopping=True and n_iter_no_change in the constructor, for logging "
                "verbose; callbacks here are functions of a RoundInfo."
            )
        if not callable(member) and not any(hasattr(member, hook) for hook in HOOKS):
            raise ParameterError(
                f"callbacks: {short_repr(member)} is neither a function of a RoundInfo nor an "
                f"object with one of the methods {', '.join(HOOKS)}."
            )
    return members


def _after_round_of(member: Any) -> Callable[[RoundInfo], Any]:
    is_function = callable(member) and not any(hasattr(member, hook) for hook in HOOKS)
    return member if is_function else getattr(member, "after_round", _nothing)


def _nothing(_: Any) -> None:
    """Stand in for a hook that a callback does not have."""
