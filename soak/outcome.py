"""What a check saw."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """What a check saw, and whether its goal holds.

    Attributes
    ----------
    seen : str
        The figure, as docs/reliability.md prints it: counts, latencies, ratios.
    failures : tuple of str
        What went against the goal, a line each; empty if the goal holds.
    """

    seen: str
    failures: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether nothing went against the goal."""
        return not self.failures
