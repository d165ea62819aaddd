"""`score` of classifiers whose y may have several columns: subset accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from hedgerow._data.target import columns_of, has_columns, read_weights


class ScoredClassifier(ClassifierMixin):
    """A classifier that is scored by its accuracy; several columns of y must all be right."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy; a row with several outputs counts if all are predicted correctly.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
            The test set.
        """
        if not has_columns(y):
            return float(super().score(X, y, sample_weight))
        # scikit-learn's accuracy supports only 0/1 columns, not strings or several classes.
        predicted = self.predict(X)
        columns = [np.asarray(column) for column in columns_of(y)]
        if predicted.shape != (len(columns[0]), len(columns)):
            return float(super().score(X, y, sample_weight))  # which raises the right error
        is_right = [
            own.astype(predicted.dtype) == of for own, of in zip(columns, predicted.T, strict=True)
        ]
        weights = read_weights(sample_weight, len(predicted))
        return float(np.average(np.all(is_right, axis=0), weights=weights))
