"""How much may be spent on trying and on the last fit: in work, never in seconds.

Work is rounds, times rows, times the columns that a tree looks at where these are many. Counted so,
the model is the same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

DIALS = {"quick": 0.25, "balanced": 1.0, "thorough": 4.0}

FASTEST, SLOWEST = 0.1, 0.05  # learning rates of the last fit
TRIAL_RATE = 0.15  # hasty, but good enough to tell kinds of trees apart
PATIENCE = 50  # rounds without a gain before a kind of trees is given up, at a rate of 0.1
LOOK = 5  # rounds between looks at the rows held out
STEPS = 8e6
MOST_SLOWNESS = 10.0
USUAL_LEAVES, MANY_LEAVES = 31, 255
# Columns of a tree up to which rounds, and the steps of small tables, are not rationed.
USUAL_COLUMNS, MANY_COLUMNS = 100, 1000


@dataclass(frozen=True)
class Budget:
    """What the last fit may spend.

    Attributes
    ----------
    n_rounds : int
        Rounds of trees with 31 leaves.
    n_steps : float
        Rounds times rows, of up to 100 columns: small tables have time for more models.
    n_rows : float
        Rows of the table, times the outputs, and more if columns are many.
    """

    n_rounds: int
    n_steps: float
    n_rows: float

    @classmethod
    def of(cls, n_rows: int, n_outputs: int, dial: str | float, n_columns: float = 1) -> Budget:
        """Return what a budget means for so many rows, and columns that a tree looks at."""
        factor = DIALS[dial] if isinstance(dial, str) else float(dial)
        slow = max(n_columns / MANY_COLUMNS, 1.0)
        n_rounds = int(factor * min(max(n_rows / 40, 350), 1000) / slow)
        wide = max(n_columns / USUAL_COLUMNS, 1.0)
        return cls(max(2 * LOOK, n_rounds), factor * STEPS, n_rows * n_outputs * wide)

    def rounds_of(self, max_leaves: int | None) -> int:
        """Return how many rounds of trees with so many leaves cost about as much."""
        return max(1, int(self.n_rounds / _cost(max_leaves)))

    def members(self, max_leaves: int | None, n_rounds: int) -> int:
        """Return how many models of so many rounds can be had."""
        by_rounds = self.rounds_of(max_leaves) / n_rounds
        by_steps = self.n_steps / (n_rounds * self.n_rows * _cost(max_leaves))
        return max(1, int(max(by_rounds, by_steps)))

    def trial_rounds(self, max_leaves: int | None, rate: float) -> int:
        """Return the rounds that a trial may have: half of the budget, up to a look."""
        rounds = self.rounds_of(max_leaves) / 2 * slowness(rate)
        return max(1, int(rounds) // LOOK) * LOOK


def slowness(rate: float) -> float:
    """Return how many rounds of a rate do what one of 0.1 does."""
    return min(max(FASTEST / rate, 0.5), MOST_SLOWNESS)


def _cost(max_leaves: int | None) -> float:
    """Return what a round costs beside one of trees with 31 leaves."""
    return max(sqrt((max_leaves or MANY_LEAVES) / USUAL_LEAVES), 0.5)
