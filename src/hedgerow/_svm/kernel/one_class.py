"""The one-class SVM for novelty detection."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from hedgerow._arguments import with_parameters
from hedgerow._data.target import read_weights, rows_with_weight
from hedgerow._svm.kernel import dual
from hedgerow._svm.kernel.base import KernelSVM
from hedgerow._svm.kernel.parameters import ONE_CLASS_PARAMETERS
from hedgerow._types import Floats


@with_parameters
class OneClassSVM(OutlierMixin, KernelSVM):
    """One-class SVM for novelty detection (Schölkopf et al., 2001).

    In the feature space of the kernel, it finds the plane farthest from the origin that leaves only
    about a fraction ν of the rows on the side of the origin, by minimising::

        ½‖w‖² − ν n ρ + Σ_i max(0, ρ − w·φ(x_i)),    f(x) = w·φ(x) − ρ.

    The objective may be negative; `duality_gap_` is an upper bound on its distance from the
    optimum, relative to the larger of its absolute value and ½‖w‖².

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {svm}
    duality_gap_ : array of shape (1,)
        See above.
    offset_ : array of shape (1,)
        ρ: ``decision_function = score_samples − offset_``.
    {columns}

    Examples
    --------
    >>> from hedgerow import OneClassSVM
    >>> X = [[0.0], [0.44], [0.45], [0.46], [1.0]]
    >>> OneClassSVM(gamma="auto").fit(X).predict(X).tolist()
    [-1, 1, 1, 1, -1]
    """

    _parameters: ClassVar = ONE_CLASS_PARAMETERS

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Fit the model; parameters as in `SVC.fit`, but y is ignored."""
        return super().fit(X, None, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:  # noqa: ARG002
        schema, X = self._learn_rows(X)
        sample_weights = read_weights(sample_weight, X.shape[0])
        weights = np.ones(X.shape[0]) if sample_weights is None else sample_weights
        numbers = rows_with_weight(weights)
        if numbers is not None:
            weights = weights[numbers]
        rows = self._rows(schema, X, numbers, weights)
        return self._fit_one(rows, dual.of_one_class(weights, float(self.nu)))

    @property
    def offset_(self) -> Floats:
        """Return ρ, as an array with one number."""
        if not hasattr(self, "_model"):
            raise AttributeError("offset_ is available only after a fit.")
        return -self._model.intercepts

    def decision_function(self, X: Any) -> Floats:
        """Return f(x) for every row, negative for outliers."""
        return self._scores(X)[:, 0]

    def score_samples(self, X: Any) -> Floats:
        """Return w·φ(x) for every row."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return 1 for inliers, −1 for outliers."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)
