"""The work that ``n_estimators="auto"`` may take.

It is counted in rounds and rows, never in seconds, so that the model is the same on every machine.
The unit is a round of trees with 31 leaves on all rows of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from hedgerow._boosting.fit.choice import ROUNDS_PER_EVALUATION

BUDGET_FACTORS = {"quick": 0.25, "balanced": 1.0, "thorough": 4.0}
MAX_RATE = 0.2  # of the final fit
# The lowest learning rate of the final fit and the largest number of models, a power of 2, for
# budgets below and from this factor on.
LARGE_FACTOR = 2.0
SMALL_FACTOR = 0.25
MIN_RATES, MAX_MODELS = (0.07, 0.03), (4, 8)
# From this number of rows on there is memory for two models: each has scores, gradients and lists
# of rows of its own (`_data/memory.py`).
MANY_ROWS, MAX_MODELS_OF_MANY_ROWS = 200_000, 2
MAX_SLOWDOWN = 10.0
# All work as a multiple of the rounds of one model, chosen for up to a quarter of the time
# of CatBoost's thousand trees: they take longer with other losses than the squared error, and with
# features of this many bins than with those of few. Small tables have time for more: below this
# number of rows, by the square root of their ratio, or by its fourth root with small budgets, whose
# measure is LightGBM's hundred rounds. And the largest part of the work for trials.
WORK_PER_ROUND, USUAL_BINS, LEAST_FOR_BINS, FEW_ROWS = (2.5, 1.7), 127, (0.7, 0.5), 2500
TRIAL_PART = 0.55
USUAL_LEAVES, UNLIMITED_LEAVES = 31, 255
# The cost of a round by its leaves, as measured on tables of 2,000 to 20,000 rows.
COST_EXPONENT = 0.35
MANY_COLUMNS, MANY_OUTPUTS = 1000, 10  # of a tree and of a round, from which on rounds are reduced


@dataclass(frozen=True)
class Budget:
    """The rounds of the trials and of the final fit.

    Attributes
    ----------
    n_rounds : int
        Rounds of trees with 31 leaves, of one model.
    work : float
        Rounds of trees with 31 leaves on all rows: of all trials and all models together.
    min_rate : float
        The lowest learning rate of the final fit: slower learning gains too little.
    max_models : int
        The largest number of models in the final fit, a power of 2.
    """

    n_rounds: int
    work: float
    min_rate: float = 0.05
    max_models: int = 4

    @classmethod
    def of(
        cls,
        n_rows: int,
        n_outputs: int,
        budget: str | float,
        n_columns: float = 1,
        *,
        n_bins: float = USUAL_BINS,
        is_squared_error: bool = False,
    ) -> Budget:
        """Return the work for the parameter `budget`.

        `n_columns` is the number of columns that a tree uses, `n_bins` the mean of their bins.
        """
        factor = _factor(budget)
        slow = max(n_columns / MANY_COLUMNS, 1.0)
        many = sqrt(max(n_outputs / MANY_OUTPUTS, 1.0))
        n_rounds = int(factor * min(max(n_rows / 40, 500), 1000) / (slow * many))
        n_rounds = max(2 * ROUNDS_PER_EVALUATION, n_rounds)
        small, large = is_small(budget), is_large(budget)
        few = sqrt(max(FEW_ROWS / n_rows, 1.0))
        few = sqrt(few) if small else few
        work = WORK_PER_ROUND[is_squared_error] * n_rounds * few
        work *= min(max(n_bins / USUAL_BINS, LEAST_FOR_BINS[small]), 1.0)
        max_models = MAX_MODELS[large] if n_rows < MANY_ROWS else MAX_MODELS_OF_MANY_ROWS
        return cls(n_rounds, work, min_rate=MIN_RATES[large], max_models=max_models)

    @property
    def trial_work(self) -> float:
        """The largest part of the work that is for trials."""
        return TRIAL_PART * self.work

    def work_after(self, trial_work: float) -> float:
        """Return the work of the final fit, after that of the trials."""
        return self.work - min(trial_work, self.trial_work)

    def rounds_of(self, max_leaves: int | None) -> int:
        """Return the number of rounds of one model of trees with this many leaves."""
        return max(1, int(self.n_rounds / cost(max_leaves)))

    def trial_rounds(self, max_leaves: int | None, rate: float, part: float) -> int:
        """Return the rounds of a trial: a part of the budget, in whole evaluation intervals."""
        rounds = self.rounds_of(max_leaves) * part * slowdown(rate)
        return max(1, int(rounds) // ROUNDS_PER_EVALUATION) * ROUNDS_PER_EVALUATION


def is_small(budget: str | float) -> bool:
    """Return whether there is time for a few kinds only."""
    return _factor(budget) <= SMALL_FACTOR


def is_large(budget: str | float) -> bool:
    """Return whether there is time for more kinds, holdouts and models."""
    return _factor(budget) >= LARGE_FACTOR


def _factor(budget: str | float) -> float:
    return BUDGET_FACTORS[budget] if isinstance(budget, str) else float(budget)


def slowdown(rate: float) -> float:
    """Return how many rounds with a learning rate are equivalent to one with 0.1."""
    return min(max(0.1 / rate, 0.5), MAX_SLOWDOWN)


def cost(max_leaves: int | None) -> float:
    """Return the cost of a round relative to trees with 31 leaves."""
    return max(((max_leaves or UNLIMITED_LEAVES) / USUAL_LEAVES) ** COST_EXPONENT, 0.5)
