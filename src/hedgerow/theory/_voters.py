"""The votes of the base models of a classifier, their weights, and their out-of-bag rows.

The functions `votes`, `vote_weights` and `out_of_bag` support

- Hedgerow's ensembles, by their method ``predict_trees(X)`` (class indices, a row per base model)
  and their ``estimators_samples_``;
- AdaBoost in any form with ``estimators_`` and ``estimator_weights_``;
- scikit-learn's RandomForestClassifier, ExtraTreesClassifier and BaggingClassifier.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.ensemble import AdaBoostClassifier as SklearnAdaBoost
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.utils.validation import check_is_fitted, validate_data

from hedgerow._data.sparse import sound
from hedgerow._data.target import read_fitted_classes
from hedgerow._params import short_repr
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError

Votes = NDArray[np.int32]
ACCEPTED = (
    "a random forest, extra-trees, bagging or discrete AdaBoost classifier "
    "of Hedgerow or scikit-learn"
)


def require_fitted(model: Any, accepted: str, argument: str = "model") -> None:
    """Raise unless the model is a fitted estimator; `accepted` describes those allowed."""
    if isinstance(model, type) or not hasattr(model, "fit"):
        raise ParameterError(
            f"{argument}={short_repr(model)} is not allowed; it must be {accepted}."
        )
    check_is_fitted(model)


def require_voters(model: Any) -> None:
    """Raise unless the model is a fitted ensemble of classifiers with one output."""
    require_fitted(model, ACCEPTED)
    if not is_classifier(model) or not (_has_trees(model) or _is_supported(model)):
        raise ParameterError(f"model: {type(model).__name__} is not {ACCEPTED}.")
    require_discrete(model)
    if isinstance(model.classes_, list):
        raise ParameterError(f"model: this {type(model).__name__} has more than one output.")


def require_discrete(model: Any) -> None:
    """Raise if the base models of an AdaBoost add scores instead of voting for classes."""
    algorithm = getattr(model, "algorithm", "SAMME")
    voting = ("SAMME", "M1", "deprecated")  # the last is SAMME, too: scikit-learn's default to 1.7
    if hasattr(model, "estimator_weights_") and algorithm not in voting:
        raise ParameterError(
            f"model: with algorithm={algorithm!r} the base models of {type(model).__name__} add "
            "scores, but they must vote for classes: use algorithm='SAMME' or 'M1'."
        )


def class_numbers(model: Any, y: Any, n_rows: int) -> NDArray[np.int64]:
    """Return y as indices of the model's classes."""
    return read_fitted_classes(y, model.classes_, n_rows, estimator_name=type(model).__name__)


def votes(model: Any, X: Any) -> Votes:
    """Return the class index that each member predicts for each row, (n_members, n_rows)."""
    if _has_trees(model):
        return np.asarray(model.predict_trees(X)).astype(np.int32, copy=False)
    return np.stack([np.asarray(vote).astype(np.int32) for vote in _predictions(model, X)])


def vote_weights(model: Any, n_members: int) -> Floats:
    """Return the weight of each base model's vote; 1 if all are equal."""
    weights = getattr(model, "estimator_weights_", None)
    # scikit-learn has entries for rounds after early termination.
    return np.ones(n_members) if weights is None else np.asarray(weights, np.float64)[:n_members]


def out_of_bag(model: Any, n_rows: int) -> NDArray[np.bool_]:
    """Return the out-of-bag rows of each member, a mask of shape (n_members, n_rows)."""
    fitted_rows = _fitted_rows(model)
    if fitted_rows != n_rows:
        raise DataError(
            f"X has {n_rows} rows, but the model was trained on {fitted_rows}. Out-of-bag votes "
            "need the training set, in the order of fit."
        )
    samples = model.estimators_samples_
    outside = np.ones((len(samples), n_rows), np.bool_)
    for row, in_bag in zip(outside, samples, strict=True):
        row[in_bag] = False
    return outside


def margins_and_rivals(
    shares: Floats, truth: NDArray[np.int64]
) -> tuple[Floats, NDArray[np.int64]]:
    """Return each row's vote share of its class minus that of its rival, and the rival.

    The rival is the other class with the largest share of the votes; the first of several.
    """
    rows = np.arange(len(shares))
    others = shares.copy()
    others[rows, truth] = -np.inf
    rivals = others.argmax(axis=1)
    return shares[rows, truth] - shares[rows, rivals], rivals


def _fitted_rows(model: Any) -> int:
    """Return the number of training rows of an ensemble of Hedgerow or scikit-learn."""
    inner = getattr(model, "_model", None)
    if inner is None:
        return int(model._n_samples)  # noqa: SLF001
    return int(inner.n_rows if hasattr(inner, "n_rows") else inner.sampling.n_rows)


def _has_trees(model: Any) -> bool:
    return hasattr(model, "predict_trees")


def _is_forest(model: Any) -> bool:
    return isinstance(model, RandomForestClassifier | ExtraTreesClassifier)


def _is_supported(model: Any) -> bool:
    is_boosted = hasattr(model, "estimators_") and hasattr(model, "estimator_weights_")
    return is_boosted or _is_forest(model) or isinstance(model, BaggingClassifier)


def _predictions(model: Any, X: Any) -> Iterator[NDArray[Any]]:
    """Yield the class indices that each base model predicts."""
    X = sound(X)
    if _is_forest(model):
        rows = _checked(model, X, np.float32)
        return (tree.predict(rows) for tree in model.estimators_)
    if isinstance(model, BaggingClassifier):
        rows = _checked(model, X, None)
        members = zip(model.estimators_, model.estimators_features_, strict=True)
        return (member.predict(rows[:, columns]) for member, columns in members)
    rows = _checked(model, X, None) if isinstance(model, SklearnAdaBoost) else X
    return (np.searchsorted(model.classes_, m.predict(rows)) for m in model.estimators_)


def _checked(model: Any, X: Any, dtype: Any) -> Any:
    """Read rows as scikit-learn's ensembles do: base models have no column names."""
    return validate_data(
        model, X, reset=False, dtype=dtype, accept_sparse="csr", ensure_all_finite=False
    )
