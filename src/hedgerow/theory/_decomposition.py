"""Decompositions of the expected error into noise, bias and variance.

The input is the predictions of many fits on the same test set; the result is the terms of each row
and their means, which add up to the error: squared error for regressors, 0–1 loss for classifiers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow._result import BROWN, GREEN, GREY, Columns, Result, texts
from hedgerow._types import Floats
from hedgerow.exceptions import DataError

UNKNOWN_NOISE = "noise unknown, counted as bias"


class Decomposition(Result):
    """Base class of the two decompositions: printing and plotting."""

    n_repeats: int
    n_train: int
    noise_is_known: bool
    error: float
    _loss: ClassVar[str]

    @abstractmethod
    def _terms(self) -> Mapping[str, float]:
        """Return the terms that add up to the error, in the order of the plot."""

    def _title(self) -> str:
        repeats = f"{self.n_repeats} training sets of {self.n_train} rows"
        note = "" if self.noise_is_known else f" ({UNKNOWN_NOISE})"
        return f"{type(self).__name__}: {repeats}{note}"

    def _figures(self) -> Mapping[str, float]:
        return {**self._terms(), "expected error": self.error}

    def _repr_columns(self) -> Columns:
        return {}

    def _draw(self, ax: Any) -> None:
        """Draw the terms as a waterfall, and their sum last."""
        terms = dict(self._terms())
        if not self.noise_is_known:
            del terms["noise"]
        sizes = np.array(list(terms.values()))
        ends = np.cumsum(sizes)
        places = np.arange(len(sizes) + 1)
        lengths, starts = np.append(sizes, self.error), np.append(ends - sizes, 0.0)
        colours = [GREEN if size >= 0.0 else BROWN for size in sizes]
        bars = ax.barh(places, lengths, left=starts, height=0.6, color=[*colours, GREY])
        ax.bar_label(bars, texts(lengths), padding=3)
        for place, end in zip(places[:-1], ends, strict=True):
            ax.plot([end, end], [place + 0.3, place + 0.7], color=GREY, linewidth=1)
        lowest, highest = min(0.0, *ends), max(self.error, *ends)
        room = 0.2 * (highest - lowest)  # for the numbers
        ax.set_xlim(lowest - (room if lowest < 0.0 else 0.0), highest + room)
        ax.set_yticks(places, [*terms, "expected error"])
        ax.invert_yaxis()
        ax.set_xlabel(self._loss)


@dataclass(frozen=True, eq=False, repr=False)
class SquaredErrorDecomposition(Decomposition):
    """Noise, squared bias and variance of a regressor; they add up to the error.

    Attributes
    ----------
    noise, bias_squared, variance : float
        The terms, averaged over the test set.
    error : float
        The expected squared error: their sum.
    test_error : float
        The mean squared error on ``y_test``. It equals the error unless the truth is known: the
        error is then the expectation over the noise, which a test set only samples.
    noise_is_known : bool
        Whether noise and bias could be separated; if not, the noise is 0 and part of the bias.
    mean_prediction : array of shape (n_test,)
        The mean prediction over the fits.
    row_noise, row_bias_squared, row_variance : array of shape (n_test,)
        The terms of each test row.
    n_repeats, n_train : int
        Number of fits, and of rows in each training set.
    """

    _loss = "squared error"

    noise: float
    bias_squared: float
    variance: float
    error: float
    test_error: float
    noise_is_known: bool
    mean_prediction: Floats
    row_noise: Floats
    row_bias_squared: Floats
    row_variance: Floats
    n_repeats: int
    n_train: int

    def _terms(self) -> Mapping[str, float]:
        return {"noise": self.noise, "bias²": self.bias_squared, "variance": self.variance}

    def _columns(self) -> Columns:
        return {
            "mean_prediction": self.mean_prediction,
            "noise": self.row_noise,
            "bias_squared": self.row_bias_squared,
            "variance": self.row_variance,
            "error": self.row_noise + self.row_bias_squared + self.row_variance,
        }


@dataclass(frozen=True, eq=False, repr=False)
class ZeroOneDecomposition(Decomposition):
    """Noise, bias and net variance of a classifier under 0–1 loss; they add up to the error.

    Attributes
    ----------
    noise : float
        The contribution of the noise to the error, averaged over the test set.
    bias : float
        The share of rows whose main prediction is not the best class.
    variance : float
        The net variance: ``unbiased_variance - biased_variance``.
    unbiased_variance, biased_variance : float
        The cost of deviations from the main prediction where it is the best class, and their
        benefit where it is not.
    error : float
        The expected error: noise + bias + variance.
    test_error : float
        The error on ``y_test``. It equals the error unless the truth is known: the error is then
        the expectation over the noise, which a test set only samples.
    bayes_error : float
        The error of a perfect classifier, which always predicts the best class.
    noise_is_known : bool
        Whether noise and bias could be separated; if not, the noise is 0 and part of the bias.
    main_prediction : array of shape (n_test,)
        The class that most fits predict.
    row_noise, row_bias, row_variance : array of shape (n_test,)
        The terms of each test row.
    n_repeats, n_train : int
        Number of fits, and of rows in each training set.
    """

    _loss = "share of rows"

    noise: float
    bias: float
    variance: float
    unbiased_variance: float
    biased_variance: float
    error: float
    test_error: float
    bayes_error: float
    noise_is_known: bool
    main_prediction: NDArray[Any]
    row_noise: Floats
    row_bias: Floats
    row_variance: Floats
    n_repeats: int
    n_train: int

    def _terms(self) -> Mapping[str, float]:
        return {
            "noise": self.noise,
            "bias": self.bias,
            "unbiased variance": self.unbiased_variance,
            "biased variance": -self.biased_variance,
        }

    def _columns(self) -> Columns:
        return {
            "main_prediction": self.main_prediction,
            "noise": self.row_noise,
            "bias": self.row_bias,
            "variance": self.row_variance,
            "error": self.row_noise + self.row_bias + self.row_variance,
        }


def squared_error_terms(
    predicted: Floats, y_test: Floats, truth: Floats | None, n_train: int
) -> SquaredErrorDecomposition:
    """Decompose the squared error of predictions (n_repeats, n_test).

    `y_test` has shape (n_test,), or (n_test, r) with r targets for each row; `truth` is the
    expected target of each row, if it is known.
    """
    repeats, n_test = predicted.shape
    targets = y_test.reshape(n_test, -1)
    centre, noise, excess = _expected_target(targets, truth)
    mean = predicted.mean(axis=0)
    variance = predicted.var(axis=0, ddof=1)
    # The mean of B fits deviates from the expected fit by variance / B, and that of r targets from
    # the expected target by noise / r: both would be counted as bias.
    bias_squared = (mean - centre) ** 2 - variance / repeats - excess
    return SquaredErrorDecomposition(
        noise=float(noise.mean()),
        bias_squared=float(bias_squared.mean()),
        variance=float(variance.mean()),
        error=float((noise + bias_squared + variance).mean()),
        test_error=float(((predicted[:, :, None] - targets) ** 2).mean()),
        noise_is_known=truth is not None or targets.shape[1] > 1,
        mean_prediction=mean,
        row_noise=noise,
        row_bias_squared=bias_squared,
        row_variance=variance,
        n_repeats=repeats,
        n_train=n_train,
    )


def _expected_target(targets: Floats, truth: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Return each row's expected target, its noise, and the squared error of the former."""
    zeros = np.zeros(len(targets))
    if truth is not None:
        return truth, ((targets - truth[:, None]) ** 2).mean(axis=1), zeros
    if targets.shape[1] == 1:
        return targets[:, 0], zeros, zeros
    noise = targets.var(axis=1, ddof=1)
    return targets.mean(axis=1), noise, noise / targets.shape[1]


def zero_one_terms(
    predicted: NDArray[Any], y_test: NDArray[Any], truth: Floats | None, n_train: int
) -> ZeroOneDecomposition:
    """Decompose the 0–1 loss of predictions (n_repeats, n_test).

    `y_test` has shape (n_test,), or (n_test, r) with r classes for each row; `truth` has the
    probability of each class in each row, if it is known.
    """
    repeats, n_test = predicted.shape
    targets = y_test.reshape(n_test, -1)
    classes = _classes(predicted, targets, truth)
    q = _shares(predicted, classes)
    p = _shares(targets.T, classes) if truth is None else truth
    rows = np.arange(n_test)
    best, main = p.argmax(axis=1), q.argmax(axis=1)
    is_biased = main != best
    hits_best = q[rows, best]
    # The error against the best class is 1 − q(best). Where the main prediction is the best class,
    # all of it is variance; where it is not, 1 is bias, and variance reduces it by q(best).
    variance = np.where(is_biased, -hits_best, 1.0 - hits_best)
    noise = hits_best - (p * q).sum(axis=1)
    return ZeroOneDecomposition(
        noise=float(noise.mean()),
        bias=float(is_biased.mean()),
        variance=float(variance.mean()),
        unbiased_variance=float(np.where(is_biased, 0.0, variance).mean()),
        biased_variance=float(np.where(is_biased, hits_best, 0.0).mean()),
        error=float((noise + is_biased + variance).mean()),
        test_error=float((predicted[:, :, None] != targets).mean()),
        bayes_error=float(1.0 - p[rows, best].mean()),
        noise_is_known=truth is not None or targets.shape[1] > 1,
        main_prediction=classes[main],
        row_noise=noise,
        row_bias=is_biased.astype(np.float64),
        row_variance=variance,
        n_repeats=repeats,
        n_train=n_train,
    )


def _shares(labels: NDArray[Any], classes: NDArray[Any]) -> Floats:
    """Return the share of each class in each column, (n_columns, n_classes)."""
    return np.stack([(labels == label).mean(axis=0) for label in classes], axis=1)


def _classes(predicted: NDArray[Any], targets: NDArray[Any], truth: Floats | None) -> NDArray[Any]:
    """Return the classes, in the order of the columns of the truth."""
    classes = np.union1d(predicted, targets)
    if truth is None or len(classes) == truth.shape[1]:
        return classes
    numbers = np.arange(truth.shape[1])
    if np.isin(classes, numbers).all():
        return numbers
    raise DataError(
        f"draw: the truth has {truth.shape[1]} columns, but the classes are "
        f"{classes.tolist()!r}. Return a column for each class, in sorted order."
    )
