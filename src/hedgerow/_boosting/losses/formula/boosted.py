"""A written loss in a fit of gradient boosting: what rounds, trainers and metrics ask of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._boosting.losses.base import Loss as BoostedLoss
from hedgerow._boosting.losses.formula.loss import Loss
from hedgerow._links import Link
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError


class WrittenLoss(BoostedLoss):
    """A `Loss` with the link and the number of outputs that it has in this fit.

    Attributes
    ----------
    is_straight : array of bool
        Of each output, whether its hessian vanished in the last gradients: the best values of its
        leaves are then to be searched.
    """

    name = "custom"

    def __init__(self, loss: Loss, link: Link, n_outputs: int, *, of_classes: bool) -> None:
        self.loss = loss
        self.link = link
        self.n_outputs = n_outputs
        self.metric = loss.name
        self.is_straight = np.zeros(n_outputs, bool)
        self._of_classes = of_classes
        self._is_checked = False

    def of_targets(self, n_targets: int) -> WrittenLoss:
        """Return the same loss for several columns of y, which the function gets all at once."""
        n_outputs = self.loss.n_outputs or n_targets
        if self._of_classes and n_outputs != n_targets:
            raise ParameterError(
                f"loss={self.loss!r}: with {n_targets} columns of labels, n_outputs must be so "
                "many. Leave it out."
            )
        several = WrittenLoss(self.loss, self.link, n_outputs, of_classes=self._of_classes)
        several.n_targets = n_targets
        return several

    @property
    def predicts_targets(self) -> bool:
        """Whether predictions are of the target, and can be measured as such."""
        return self._of_classes or self.n_outputs == self.n_targets

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the constants that minimise the loss."""
        return self.loss.base_score(self._read(target), weights, n_outputs=self.n_outputs)

    def gradients(
        self, target: Floats, scores: Floats, weights: Floats | None
    ) -> tuple[Floats, Floats]:
        """Return gradient and hessian at scores (K, n), both (K, n); the first time, check them."""
        y, f = self._read(target), self._by_row(scores)
        if not self._is_checked:
            self.loss.check(y, f)
            self._is_checked = True
        gradient, second = self.loss.derivatives(y, f)
        hessian, self.is_straight = self.loss.hessian_from(gradient, second)
        if weights is None:
            return gradient, hessian
        return gradient * weights, hessian * weights

    def slopes(self, target: Floats, scores: Floats, output: int) -> Floats:
        """Return the derivatives by one of the scores (K, n); they may be NaN far out."""
        return self.loss.slopes(self._read(target), self._by_row(scores), output)

    def mean(self, target: Floats, scores: Floats, weights: Floats | None) -> float:
        """Return the mean loss of targets and scores (n, K): what is measured by default."""
        f = scores[:, 0] if self.n_outputs == 1 else scores
        return self.loss.mean(self._read(target.T), f, weights)

    def _read(self, target: Floats) -> NDArray[Any]:
        """Return targets by output as the function gets them: by row, classes as integers."""
        return target.T.astype(np.intp) if self._of_classes else target.T

    def _by_row(self, scores: Floats) -> Floats:
        return scores[0] if self.n_outputs == 1 else scores.T


def written_for_numbers(loss: Loss) -> WrittenLoss:
    """Return what a loss means to a regressor."""
    n_outputs, link = loss.n_outputs or 1, loss.link or "identity"
    if link == "softmax" and n_outputs == 1:
        raise ParameterError(
            f"loss={loss!r}: softmax is of several scores, but n_outputs is not given or 1."
        )
    return WrittenLoss(loss, link, n_outputs, of_classes=False)


def written_for_classes(loss: Loss, like: BoostedLoss) -> WrittenLoss:
    """Return what a loss means to a classifier whose log loss has the outputs of `like`."""
    links = ("softmax",) if like.n_outputs > 1 else ("sigmoid", "half_sigmoid")
    if loss.link is not None and loss.link not in links:
        raise ParameterError(
            f"loss={loss!r}: its link must be {' or '.join(map(repr, links))} with these classes, "
            "for scores to mean probabilities. Leave it out."
        )
    if loss.n_outputs not in (None, like.n_outputs):
        raise ParameterError(
            f"loss={loss!r}: with these classes n_outputs must be {like.n_outputs}. Leave it out."
        )
    return WrittenLoss(loss, loss.link or like.link, like.n_outputs, of_classes=True)
