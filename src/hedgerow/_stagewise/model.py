"""The fitted model F(x) = F₀(x) + ν Σ ρ h(x), and the predictions of its scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from hedgerow._arithmetic import exp, log_sum_exp, sigmoid, softmax, softplus
from hedgerow._links import scores_of_numbers, scores_of_probabilities
from hedgerow._stagewise.learners import leaves_of, output_of
from hedgerow._stagewise.losses import Link, column_of
from hedgerow._types import Floats


@dataclass(frozen=True, eq=False)
class Stage:
    """A learner's term: ν ρ h(x), or in a tree with a step per leaf ν times the leaf's step."""

    learner: Any
    step: float | Floats
    shrinkage: float

    def inputs_for(self, X: Any) -> NDArray[Any]:
        """Return the input of `term`: the learner's output for each row, or its leaf."""
        if isinstance(self.step, float):
            return output_of(self.learner, X)
        return leaves_of(self.learner, X)

    def term(self, inputs: NDArray[Any]) -> Floats:
        """Return the term of rows; a leaf without training rows contributes 0."""
        if isinstance(self.step, float):
            return self.shrinkage * self.step * inputs
        has_step = inputs < len(self.step)
        return self.shrinkage * np.where(has_step, self.step[np.where(has_step, inputs, 0)], 0.0)


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """A start and stages; those of a round follow one another, one for each output."""

    start: Any  # scores, one for each output, or a fitted estimator
    stages: Sequence[Stage]
    link: Link
    n_outputs: int

    @property
    def n_rounds(self) -> int:
        """The number of rounds."""
        return len(self.stages) // self.n_outputs

    def start_scores(self, X: Any, n_rows: int) -> Floats:
        """Return F₀, of shape (n,) for one output and (n, K) for more."""
        if isinstance(self.start, np.ndarray):
            scores = np.tile(self.start, (n_rows, 1))
            return scores[:, 0].copy() if self.n_outputs == 1 else scores
        if self.link in ("identity", "log"):
            return scores_of_numbers(output_of(self.start, X), self.link)
        return scores_of_probabilities(_every_class(self.start, X, self.n_outputs), self.link)

    def staged_scores(self, X: Any, n_rows: int) -> Iterator[Floats]:
        """Yield the scores after each round; they are the same array every time."""
        scores = self.start_scores(X, n_rows)
        for first in range(0, len(self.stages), self.n_outputs):
            add_round(scores, self.stages[first : first + self.n_outputs], X)
            yield scores

    def scores(self, X: Any, n_rows: int) -> Floats:
        """Return the scores after the last round."""
        scores = self.start_scores(X, n_rows)
        for first in range(0, len(self.stages), self.n_outputs):
            add_round(scores, self.stages[first : first + self.n_outputs], X)
        return scores


def add_round(scores: Floats, stages: Sequence[Stage], X: Any) -> None:
    """Add a round's stages, one for each output, to the scores of rows."""
    for output, stage in enumerate(stages):
        column_of(scores, output)[:] += stage.term(stage.inputs_for(X))


def predicted_numbers(scores: Floats, link: Link) -> Floats:
    """Return the predictions of a regressor's scores."""
    return exp(scores) if link == "log" else scores.copy()


def class_probabilities(scores: Floats, link: Link) -> Floats:
    """Return the probability of every class, (n, K), for two classes as for more."""
    if link == "softmax":
        return softmax(scores)
    odds = _log_odds(scores, link)
    return np.column_stack([sigmoid(-odds), sigmoid(odds)])


def class_log_probabilities(scores: Floats, link: Link) -> Floats:
    """Return the logarithms, finite where the probabilities are too small for a float64."""
    if link == "softmax":
        return scores - log_sum_exp(scores)[:, np.newaxis]
    odds = _log_odds(scores, link)
    return np.column_stack([-softplus(odds), -softplus(-odds)])


def _log_odds(scores: Floats, link: Link) -> Floats:
    return 2.0 * scores if link == "half_sigmoid" else scores


def _every_class(classifier: Any, X: Any, n_outputs: int) -> Floats:
    """Return probabilities with a column per class, even for classes unknown to the classifier."""
    if _num_samples(X) == 0:
        return np.zeros((0, max(n_outputs, 2)))
    p = np.asarray(classifier.predict_proba(X), dtype=np.float64)
    every = np.zeros((len(p), max(n_outputs, 2)))
    every[:, classifier.classes_] = p
    return every
