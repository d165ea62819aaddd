"""The one-class SVM for novelty detection."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from hedgerow._constructor import with_parameters
from hedgerow._data.target import read_weights
from hedgerow._params import check_parameters
from hedgerow._svm.kernel import dual
from hedgerow._svm.kernel.base import KernelSVM
from hedgerow._svm.kernel.parameters import ONE_CLASS_PARAMETERS
from hedgerow._types import Floats


@with_parameters
class OneClassSVM(OutlierMixin, KernelSVM):
    """A support vector machine that tells rows like those of `fit` from others.

    Of all planes it takes the one that is farthest from the origin, in the space that the kernel
    stands for, with all but about a part ν of the rows beyond it::

        ½‖w‖² − ν n ρ + Σ_i max(0, ρ − w·φ(x_i)),    f(x) = w·φ(x) − ρ.

    The objective may be negative; `duality_gap_` is the most by which it may exceed the lowest
    possible, as a part of the larger of its size and ½‖w‖².

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    support_ : array of shape (n_vectors,)
        Rows of the support vectors.
    support_vectors_ : array or CSR matrix of shape (n_vectors, n_features)
        Those rows.
    n_support_ : array of shape (1,)
        How many they are.
    dual_coef_ : array of shape (1, n_vectors)
        Their coefficients.
    intercept_ : array of shape (1,)
        The intercept.
    coef_ : array of shape (1, n_features)
        Weights of the columns, if the kernel is linear.
    objective_ : array of shape (1,)
        What the primal problem came to.
    duality_gap_ : array of shape (1,)
        See above.
    n_iter_ : int
        Steps, each of two rows.
    fit_status_ : int
        0 if the gap is within tol, else 1 (there was a `ConvergenceWarning`).
    offset_ : array of shape (1,)
        ρ: ``decision_function = score_samples − offset_``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Feature names, if X has string names.

    Examples
    --------
    >>> from hedgerow import OneClassSVM
    >>> X = [[0.0], [0.44], [0.45], [0.46], [1.0]]
    >>> OneClassSVM(gamma="auto").fit(X).predict(X).tolist()
    [-1, 1, 1, 1, -1]
    """

    _parameters: ClassVar = ONE_CLASS_PARAMETERS

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Fit the model.

        If this raises, Ctrl-C included, the estimator is left unchanged.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Numbers without missing values: NumPy array, pandas, Polars or Arrow table, or SciPy
            sparse matrix; columns of similar sizes. With ``kernel="precomputed"``, the kernels of
            all rows with one another, (n_rows, n_rows).
        y : ignored
            Here for the sake of pipelines.
        sample_weight : array of shape (n_rows,), optional
            Sample weights, nonnegative and not all 0.

        Returns
        -------
        self
        """
        check_parameters(self)
        schema, X = self._learn_rows(X)
        sample_weights = read_weights(sample_weight, X.shape[0])
        weights = np.ones(X.shape[0]) if sample_weights is None else sample_weights
        rows = self._rows(schema, X, weights)
        used = np.flatnonzero(weights > 0.0)
        problem = dual.of_one_class(weights[used], float(self.nu)).of_rows(used)
        return self._fit_one(rows, problem)

    @property
    def offset_(self) -> Floats:
        """Return ρ, as an array of one number."""
        if not hasattr(self, "_model"):
            raise AttributeError("offset_ is available only after a fit.")
        return -self._model.intercepts

    def decision_function(self, X: Any) -> Floats:
        """Return f(x) of every row: negative for those that are unlike the rows of `fit`."""
        return self._scores(X)[:, 0]

    def score_samples(self, X: Any) -> Floats:
        """Return w·φ(x) of every row."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return 1 for rows like those of `fit`, −1 for others."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)
