"""The losses of stagewise boosting: formulas with derivatives, and optimal steps.

Scores F have shape (n,), or (n, K) for K outputs; y holds numbers, or the class numbers 0 … K−1;
every row has a weight w. A step is the ρ that minimises Σ w L(y, F + ρ h): in closed form
where there is one, by line search elsewhere. A leaf's step is the same with h = 1 in the leaf.

Base scores are those of the same losses in gradient boosting. Derivatives are not: theirs are made
for Newton steps, with hessians that bound a step. Nor are they found automatically, as those of
`hr.Loss` are, because NumPy's functions do not have the same bits on every processor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from hedgerow._arithmetic import exp, log, log_sum_exp, sigmoid, softmax, softplus, sum_of
from hedgerow._boosting.losses import (
    BaseLoss,
    BinaryLogLoss,
    ExponentialLoss,
    MultinomialLogLoss,
    SquaredError,
    TweedieLoss,
    read_only,
)
from hedgerow._stagewise.line_search import NEGLIGIBLE, line_search, shortened
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError

Link = Literal["identity", "log", "sigmoid", "half_sigmoid", "softmax"]
Function = Callable[[Floats, Floats], Floats]

# A loss is flat where its hessian vanishes; this keeps Newton's response finite there.
LEAST_HESSIAN = 1e-16


class Formula(NamedTuple):
    """A loss as functions of (y, F): the value for every row, and derivatives with respect to F.

    The derivatives have the shape of F; `hessian` is the diagonal, None if there is none.
    """

    loss: Function
    gradient: Function
    hessian: Function | None = None


class StagewiseLoss:
    """A loss with its steps.

    Attributes
    ----------
    name : str
        The value of the parameter `loss`.
    formula : Formula
        The loss and its derivatives.
    boosting_loss : BaseLoss
        The same loss in gradient boosting, which has the best constant.
    link : str
        The function from scores to predictions.
    n_outputs : int
        Scores per row.
    """

    name: str
    formula: Formula
    boosting_loss: BaseLoss
    link: Link = "identity"
    n_outputs: int = 1

    @property
    def has_hessian(self) -> bool:
        """Whether there is a second derivative."""
        return self.formula.hessian is not None

    @property
    def has_newton_step(self) -> bool:
        """Whether there is a `newton_step`."""
        return self.has_hessian

    def loss(self, y: Floats, F: Floats) -> Floats:
        """Return the loss of every row."""
        return self.formula.loss(y, F)

    def gradient(self, y: Floats, F: Floats) -> Floats:
        """Return the derivative with respect to the scores, in their shape."""
        return self.formula.gradient(y, F)

    def hessian(self, y: Floats, F: Floats) -> Floats:
        """Return the second derivative with respect to each score, in the shape of the scores."""
        if self.formula.hessian is None:
            raise NotImplementedError
        return self.formula.hessian(y, F)

    def best_constant(self, y: Floats, w: Floats) -> Floats:
        """Return the initial scores F₀, one for each output."""
        return self.boosting_loss.base_score(y, w)

    def objection(self, y: Floats) -> str | None:  # noqa: ARG002
        """Return why the loss is not defined for this target; None if it is."""
        return None

    def adapted(self, y: Floats, F: Floats, w: Floats) -> Self:  # noqa: ARG002
        """Return the loss that the next round minimises; it may depend on the residuals."""
        return self

    def line_step(self, y: Floats, F: Floats, h: Floats, w: Floats) -> float:
        """Return ρ = argmin Σ w L(y, F + ρ h)."""
        direction = by_row(w, h) * h
        return line_search(lambda rho: sum_of(direction * self.gradient(y, F + rho * h)))

    def leaf_step(self, y: Floats, F: Floats, w: Floats, output: int = 0) -> float:
        """Return the constant that minimises the loss of a leaf's rows when added to an output."""
        h = np.zeros_like(F)
        column_of(h, output)[:] = 1.0
        return self.line_step(y, F, h, w)

    def newton_step(self, y: Floats, F: Floats, w: Floats, output: int = 0) -> float:
        """Return −G/H of a leaf's rows, a first approximation to `leaf_step`."""
        gradient = sum_of(w * column_of(self.gradient(y, F), output))
        hessian = sum_of(w * column_of(self.hessian(y, F), output))
        return float(-gradient / hessian) if hessian > 0.0 else 0.0

    def checked_gradient(self, y: Floats, F: Floats) -> Floats:
        """Return the gradient, or raise if learners could not be fitted to it."""
        gradient = self.gradient(y, F)
        if not np.isfinite(gradient).all():
            raise ParameterError(f"loss: the gradient of {self.name!r} is NaN or infinite.")
        return gradient

    def mean_loss(self, y: Floats, F: Floats, w: Floats) -> float:
        """Return the weighted mean of the rows' losses; it may be infinite."""
        relative = w / w.max()
        with np.errstate(over="ignore", invalid="ignore"):
            return float(sum_of(relative * self.loss(y, F)) / sum_of(relative))


class SquaredErrorLoss(StagewiseLoss):
    """½ (y − F)²: pseudo-residuals are residuals."""

    name = "squared_error"
    boosting_loss = SquaredError()
    formula = Formula(
        loss=lambda y, F: 0.5 * (y - F) ** 2,
        gradient=lambda y, F: F - y,
        hessian=lambda _, F: np.ones_like(F),
    )

    def line_step(self, y: Floats, F: Floats, h: Floats, w: Floats) -> float:
        """Return Σ w r h / Σ w h²: 1 for a learner that is itself a least-squares fit."""
        square = sum_of(w * h * h)
        return float(sum_of(w * (y - F) * h) / square) if square > 0.0 else 0.0


class PinballLoss(StagewiseLoss):
    """The pinball loss: α r where r = y − F is positive, (α − 1) r where it is negative."""

    name = "quantile"

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha
        self.formula = Formula(
            loss=lambda y, F: np.maximum(alpha * (y - F), (alpha - 1.0) * (y - F)),
            gradient=lambda y, F: np.where(y > F, -alpha, np.where(y < F, 1.0 - alpha, 0.0)),
        )

    def best_constant(self, y: Floats, w: Floats) -> Floats:
        """Return the quantile."""
        return np.array([weighted_quantile(y, w, self.alpha)])

    def line_step(self, y: Floats, F: Floats, h: Floats, w: Floats) -> float:
        """Return a weighted quantile of the ratios r / h."""
        return _pinball_step(y - F, h, w, self.alpha)


class AbsoluteErrorLoss(PinballLoss):
    """|y − F|: pseudo-residuals are signs, a leaf's step is the median of its residuals."""

    name = "absolute_error"

    def __init__(self) -> None:
        self.alpha = 0.5
        self.formula = Formula(
            loss=lambda y, F: np.abs(y - F), gradient=lambda y, F: np.sign(F - y)
        )


class HuberLoss(StagewiseLoss):
    """½ r² up to |r| = δ and δ (|r| − δ/2) beyond; δ is each round's α-quantile of |r|."""

    name = "huber"
    has_newton_step = True

    def __init__(self, alpha: float, delta: float = 1.0) -> None:
        self.alpha = alpha
        self.delta = delta
        self.formula = Formula(self._value, lambda y, F: np.clip(F - y, -delta, delta))

    def _value(self, y: Floats, F: Floats) -> Floats:
        size = np.abs(y - F)
        inner = np.minimum(size, self.delta)
        return inner * (size - 0.5 * inner)

    def adapted(self, y: Floats, F: Floats, w: Floats) -> Self:
        """Return the loss with δ from the residuals; never 0: all gradients would be 0."""
        size = np.abs(y - F)
        delta = weighted_quantile(size, w, self.alpha)
        if delta == 0.0:
            delta = float(size[size > 0.0].min(initial=np.inf))
        return type(self)(self.alpha, delta)

    def best_constant(self, y: Floats, w: Floats) -> Floats:
        """Return the median, as in Friedman's paper: without residuals there is no δ."""
        return np.array([weighted_quantile(y, w, 0.5)])

    def newton_step(self, y: Floats, F: Floats, w: Floats, output: int = 0) -> float:  # noqa: ARG002
        """Return Friedman's step: the median of the residuals plus the mean of the clipped rest."""
        r = y - F
        median = weighted_quantile(r, w, 0.5)
        rest = np.clip(r - median, -self.delta, self.delta)
        return median + float(sum_of(w * rest) / sum_of(w))


class PoissonLoss(StagewiseLoss):
    """e^F − y F, the Poisson deviance up to a constant; e^F is the expected count."""

    name = "poisson"
    link: Link = "log"
    formula = Formula(
        loss=lambda y, F: exp(F) - y * F,
        gradient=lambda y, F: exp(F) - y,
        hessian=lambda _, F: exp(F),
    )

    def objection(self, y: Floats) -> str | None:
        """Object to negative targets, and to all zeros."""
        return TweedieLoss(1.0).objection(y)

    def best_constant(self, y: Floats, w: Floats) -> Floats:
        """Return the logarithm of the mean."""
        return log(SquaredError().base_score(y, w))


class BinomialLogLoss(StagewiseLoss):
    """−log P(y) = log(1 + e^F) − y F, with p = P(1) = 1 / (1 + e^−F)."""

    name = "log_loss"
    link: Link = "sigmoid"
    boosting_loss = BinaryLogLoss()
    formula = Formula(
        loss=lambda y, F: softplus(F) - y * F,
        gradient=lambda y, F: sigmoid(F) - y,
        hessian=lambda _, F: sigmoid(F) * sigmoid(-F),
    )


class MultinomialDeviance(StagewiseLoss):
    """−log P(y) with P = softmax(F)."""

    name = "log_loss"
    link: Link = "softmax"

    def __init__(self, n_classes: int) -> None:
        self.n_outputs = n_classes
        self.boosting_loss = MultinomialLogLoss(n_classes)
        self.formula = Formula(self._value, self._slope, lambda _, F: _variance(softmax(F)))

    def _value(self, y: Floats, F: Floats) -> Floats:
        return log_sum_exp(F) - F[np.arange(len(y)), y.astype(np.intp)]

    def _slope(self, y: Floats, F: Floats) -> Floats:
        gradient = softmax(F)
        gradient[np.arange(len(y)), y.astype(np.intp)] -= 1.0
        return gradient

    def newton_step(self, y: Floats, F: Floats, w: Floats, output: int = 0) -> float:
        """Return Friedman's step: only K − 1 of the K scores are free, so (K − 1)/K of −G/H."""
        share = (self.n_outputs - 1) / self.n_outputs
        return share * super().newton_step(y, F, w, output)


class AdaBoostLoss(StagewiseLoss):
    """e^−sF with s = ±1 for the classes, the loss of AdaBoost; F is half the log-odds."""

    name = "exponential"
    link: Link = "half_sigmoid"
    boosting_loss = ExponentialLoss()
    formula = Formula(
        loss=lambda y, F: exp(-_sign(y) * F),
        gradient=lambda y, F: -_sign(y) * exp(-_sign(y) * F),
        hessian=lambda y, F: exp(-_sign(y) * F),
    )

    def line_step(self, y: Floats, F: Floats, h: Floats, w: Floats) -> float:
        """Return ½ log((1 − err)/err) for a learner with outputs ±1; else search."""
        if not (np.abs(h) == 1.0).all():
            return super().line_step(y, F, h, w)
        s = _sign(y)
        exponent = -s * F
        weight = w * exp(exponent - exponent.max())
        err = float(sum_of(weight[h != s]) / sum_of(weight))
        err = min(max(err, NEGLIGIBLE), 1.0 - NEGLIGIBLE)
        return float(0.5 * log((1.0 - err) / err))


class UserLoss(StagewiseLoss):
    """A user-defined object with loss(y, F), gradient(y, F) and optionally hessian(y, F)."""

    name = "custom"

    def __init__(self, user_loss: Any, link: Link, n_outputs: int) -> None:
        self.user_loss = user_loss
        self.link = link
        self.n_outputs = n_outputs
        has_hessian = callable(getattr(user_loss, "hessian", None))
        self.formula = Formula(
            loss=lambda y, F: self._call("loss", y, F, y.shape),
            gradient=lambda y, F: self._call("gradient", y, F, F.shape),
            hessian=self._hessian if has_hessian else None,
        )

    def best_constant(self, y: Floats, w: Floats) -> Floats:
        """Return the constant by line search from 0; zeros for several outputs."""
        if self.n_outputs > 1:
            return np.zeros(self.n_outputs)
        return np.array([self.leaf_step(y, np.zeros_like(y), w)])

    def line_step(self, y: Floats, F: Floats, h: Floats, w: Floats) -> float:
        """Search, but assume neither convexity nor a correct gradient."""
        step = super().line_step(y, F, h, w)
        rounding = float(np.finfo(float).eps * (np.abs(y).max() + np.abs(F).max()))
        return shortened(step, lambda rho: self.mean_loss(y, F + rho * h, w), rounding)

    def _hessian(self, y: Floats, F: Floats) -> Floats:
        hessian = self._call("hessian", y, F, F.shape)
        if (hessian < 0.0).any():
            raise ParameterError("loss: hessian(y, F) returned a negative number.")
        return hessian

    def _call(self, method: str, y: Floats, F: Floats, shape: tuple[int, ...]) -> Floats:
        returned = np.asarray(getattr(self.user_loss, method)(read_only(y), read_only(F)))
        if returned.dtype.kind not in "fiub":
            raise ParameterError(f"loss: {method}(y, F) returned {returned.dtype}, not numbers.")
        if returned.shape != shape:
            raise ParameterError(
                f"loss: {method}(y, F) returned shape {returned.shape}; it must be {shape}."
            )
        return returned.astype(np.float64)


def regression_loss(loss: Any, alpha: float) -> StagewiseLoss:
    """Return the loss that a regressor's parameter selects."""
    if not isinstance(loss, str):
        return UserLoss(loss, "identity", 1)
    if loss == "quantile":
        return PinballLoss(alpha)
    if loss == "huber":
        return HuberLoss(alpha)
    simple = {"absolute_error": AbsoluteErrorLoss, "poisson": PoissonLoss}
    return simple.get(loss, SquaredErrorLoss)()


def classification_loss(loss: Any, n_classes: int) -> StagewiseLoss:
    """Return the loss that a classifier's parameter selects."""
    if loss == "exponential":
        if n_classes > 2:
            raise DataError(
                f"Only binary classification is supported. y has {n_classes} classes, but "
                "loss='exponential' supports two; loss='log_loss' supports more."
            )
        return AdaBoostLoss()
    built_in = BinomialLogLoss() if n_classes == 2 else MultinomialDeviance(n_classes)
    if isinstance(loss, str):
        return built_in
    return UserLoss(loss, built_in.link, built_in.n_outputs)


def weighted_quantile(values: Floats, w: Floats, alpha: float) -> float:
    """Return the α-quantile: a minimiser of the pinball loss, the middle one if there are many."""
    return _pinball_step(values, np.ones_like(values), w, alpha)


def by_row(w: Floats, scores: Floats) -> Floats:
    """Return the rows' weights in a shape that multiplies scores of one or more outputs."""
    return w if scores.ndim == 1 else w[:, np.newaxis]


def column_of(scores: Floats, output: int) -> Floats:
    """Return a view of one output's scores."""
    return scores if scores.ndim == 1 else scores[:, output]


def _pinball_step(r: Floats, h: Floats, w: Floats, alpha: float) -> float:
    """Return the ρ that minimises Σ w pinball(r − ρ h), the middle one if there are many.

    The sum is convex and piecewise linear in ρ with kinks at r / h, where the slope increases
    by w |h|. A negative h swaps the two sides of its kink.
    """
    used = h != 0.0
    if not used.any():
        return 0.0
    r, h, w = r[used], h[used], w[used]
    order = np.argsort(r / h, kind="stable")
    kink, increase = (r / h)[order], (w * np.abs(h))[order]
    slope = np.cumsum(increase) - sum_of(increase * np.where(h > 0.0, alpha, 1.0 - alpha)[order])
    rounding = len(r) * np.finfo(float).eps * sum_of(increase)
    first = int(np.argmax(slope >= -rounding))
    is_flat = abs(slope[first]) <= rounding and first + 1 < len(kink)
    return float(0.5 * (kink[first] + kink[first + 1]) if is_flat else kink[first])


def _sign(y: Floats) -> Floats:
    return 2.0 * y - 1.0


def _variance(p: Floats) -> Floats:
    return p * (1.0 - p)
