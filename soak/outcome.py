"""The result of a check."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """The result of a check, and whether its goal holds.

    Attributes
    ----------
    summary : str
        The figure, as docs/reliability.md prints it: counts, latencies, ratios.
    failures : tuple of str
        Violations of the goal, a line each; empty if the goal holds.
    """

    summary: str
    failures: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the goal holds."""
        return not self.failures
