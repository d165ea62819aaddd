"""`score` of classifiers whose y may have several columns: the part of rows that are all right."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from hedgerow._data.target import columns_of, has_columns, read_weights


class ScoredClassifier(ClassifierMixin):
    """A classifier that is scored by its accuracy, of one column of y or of several."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the part of the rows whose class is predicted; of several columns, all classes.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
            Rows to judge the model by.
        """
        if not has_columns(y):
            return float(super().score(X, y, sample_weight))
        # scikit-learn's accuracy has columns of 0 and 1 alone, no strings and no three classes.
        predicted = self.predict(X)
        columns = [np.asarray(column) for column in columns_of(y)]
        if predicted.shape != (len(columns[0]), len(columns)):
            return float(super().score(X, y, sample_weight))  # which says what is wrong
        is_right = [
            own.astype(predicted.dtype) == of for own, of in zip(columns, predicted.T, strict=True)
        ]
        weights = read_weights(sample_weight, len(predicted))
        return float(np.average(np.all(is_right, axis=0), weights=weights))
