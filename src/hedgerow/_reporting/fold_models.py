"""The models of a cross-validation as one: each row is predicted without having been trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.pass_through import take_rows
from hedgerow._validation import CrossValidation
from hedgerow._validation.predictions import predict, with_offset
from hedgerow.exceptions import ParameterError

_METHODS = ("predict", "predict_proba", "decision_function", "predict_interval")


class FoldModels:
    """A model whose predictions for the rows of a cross-validation are those of its folds."""

    def __init__(self, model: Any, result: CrossValidation, offset: Any = None) -> None:
        self._model, self._result, self._offset = model, result, offset

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._model, name)
        if name not in _METHODS:
            return found
        return lambda X, *arguments: self._by_fold(name, X, arguments)

    def __hedgerow__(self) -> Any:
        """Return what other packages of the library may use."""
        return self._model.__hedgerow__()

    def _by_fold(self, method: str, X: Any, arguments: tuple[Any, ...]) -> NDArray[Any]:
        parts, classes = [], getattr(self._model, "classes_", None)
        for model, fold in zip(self._result.models, self._result.folds, strict=True):
            offset = None if self._offset is None else take_rows(self._offset, fold.test)
            of_rows, rows = with_offset(model, offset), take_rows(X, fold.test)
            if arguments:
                parts.append(np.asarray(getattr(of_rows, method)(rows, *arguments)))
            else:
                parts.append(predict(of_rows, rows, method, classes))
        order = np.argsort(np.concatenate([fold.test for fold in self._result.folds]))
        return np.concatenate(parts)[order]


def require_each_row_once(result: CrossValidation, n_rows: int) -> None:
    """Raise if the test sets of the folds are not a division of the rows."""
    tested = np.sort(np.concatenate([fold.test for fold in result.folds]))
    if not np.array_equal(tested, np.arange(n_rows)):
        raise ParameterError(
            f"cross_validation has {len(tested):,} rows in its test sets, but each of the "
            f"{n_rows:,} rows of X must be in one of them. Pass the X of the cross-validation, and "
            "use a cv that tests each row once."
        )
