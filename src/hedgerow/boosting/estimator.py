"""What the two estimators share: fitting, raw scores, importances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.boosting.fitting import Fitting, Given
from hedgerow.boosting.losses import Floats
from hedgerow.boosting.model import BoostedModel
from hedgerow.boosting.tasks import Task
from hedgerow.estimator import TableEstimator, adopt
from hedgerow.exceptions import ParameterError
from hedgerow.params import check_parameters

Importance = Literal["gain", "split", "cover"]


class GradientBoosting(TableEstimator):
    """Gradient boosting of trees, apart from what a target is and what a score means."""

    _task: ClassVar[Task]
    _model: BoostedModel

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        eval_set: Any = None,
        eval_names: Any = None,
        callbacks: Any = None,
    ) -> Self:
        """Fit the model.

        If this raises, Ctrl-C included, the estimator stays what it was before the call.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            NumPy array, pandas, Polars or Arrow table, or SciPy sparse matrix. NaN, None and NA are
            missing values; strings and categories are taken as they are.
        y : array of shape (n_rows,)
            The target.
        sample_weight : array of shape (n_rows,), optional
            Weights of the rows, not negative and not all 0.
        groups : array of shape (n_rows,), optional
            What rows belong together: early stopping holds whole groups out, and
            ``sampling="group"`` draws whole groups.
        eval_set : list of (X, y) or (X, y, sample_weight), optional
            Rows to measure on after each round, with results in ``evals_result_``.
        eval_names : list of str, optional
            Names of the evaluation sets; ``eval_0`` and so on if left out.
        callbacks : list, optional
            Told of every round, and may stop; see `hedgerow.boosting.callbacks`.

        Returns
        -------
        self
        """
        check_parameters(self)
        start = self._model if self.warm_start and self.__sklearn_is_fitted__() else None
        fitting = Fitting(self, self._task, start)
        given = Given(X, y, sample_weight, groups, eval_set, eval_names, callbacks)
        adopt(self, fitting.run(given))
        return self

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf of every row in every tree, as node numbers, shape (n_rows, n_trees)."""
        matrix = self._matrix(X)
        return self._model.ensemble.apply(matrix, n_threads=self._threads_for(matrix))

    @property
    def feature_importances_(self) -> Floats:
        """Each feature's part of the total gain; all 0 if no tree has a split."""
        gain = self.importances("gain")
        total = gain.sum()
        return gain / total if total > 0.0 else gain

    def importances(self, kind: Importance = "gain") -> Floats:
        """Return a number for each feature: the sum over the splits made on it.

        Parameters
        ----------
        kind : {"gain", "split", "cover"}
            What is summed: the split's gain, 1, or the node's sum of hessians.
        """
        if kind not in ("gain", "split", "cover"):
            raise ParameterError(
                f"kind={kind!r} is not allowed; it must be 'gain', 'split' or 'cover'."
            )
        model = self._fitted_model()
        ensemble = model.ensemble
        inner = ensemble.feature >= 0
        summed = None if kind == "split" else getattr(ensemble, kind)[inner]
        counted = np.bincount(ensemble.feature[inner], summed, minlength=self.n_features_in_)
        return counted.astype(np.float64)

    def _scores(self, X: Any) -> Floats:
        """Return raw scores, shape (n_rows, n_outputs)."""
        matrix = self._matrix(X)
        return self._model.ensemble.predict_raw(matrix, n_threads=self._threads_for(matrix))

    def _staged_scores(self, X: Any) -> Iterator[Floats]:
        """Yield raw scores after each round."""
        matrix = self._matrix(X)
        return self._model.ensemble.staged_raw(matrix, n_threads=self._threads_for(matrix))
