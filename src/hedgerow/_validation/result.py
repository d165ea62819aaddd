"""The result of a cross-validation: scores, out-of-fold predictions, models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._result import GREEN, GREY, Columns, Result, texts
from hedgerow._types import Floats
from hedgerow._validation.by_round import RoundsByFold, rounds_by_fold
from hedgerow._warning import warn_user


@dataclass(frozen=True)
class Fold:
    """The training and test rows of a fold, and the time of its fit and evaluation."""

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    fit_time: float
    score_time: float

    @property
    def held_out(self) -> NDArray[np.intp]:
        """The former name of `test`."""
        warn_user("Fold.held_out is deprecated; use Fold.test.", FutureWarning)
        return self.test


@dataclass(frozen=True, repr=False, eq=False)
class CrossValidation(Result):
    """The models of the folds, their scores, and out-of-fold predictions.

    Attributes
    ----------
    models : list
        The fitted models, one for each fold.
    scores : dict from str to array of shape (n_folds,)
        The value of each metric on the test rows of each fold.
    oof_prediction : array of shape (n_rows, …)
        Out-of-fold predictions: the result of `method` of a model that was not trained on the row.
        The mean if a row is a test row in several folds, NaN (None for classes) if in none.
    folds : list of Fold
        ``train`` and ``test`` are row indices, ``fit_time`` and ``score_time`` seconds.
    method : str
        The method of the predictions.
    classes : array, list of arrays, or None
        The classes of a classifier, in the order of the columns of ``oof_prediction``. For
        multilabel y, the classes of each label.
    """

    models: Sequence[Any]
    scores: dict[str, Floats]
    oof_prediction: NDArray[Any]
    folds: Sequence[Fold]
    method: str
    classes: Any

    @property
    def mean(self) -> dict[str, float]:
        """The mean of each metric over the folds."""
        return {name: float(values.mean()) for name, values in self.scores.items()}

    @property
    def std(self) -> dict[str, float]:
        """The standard deviation of each metric over the folds."""
        return {name: float(values.std()) for name, values in self.scores.items()}

    def by_round(
        self,
        X: Any,
        y: Any,
        metric: str | None = None,
        sample_weight: Any = None,
        *,
        offset: Any = None,
    ) -> RoundsByFold:
        """Return a metric on the holdouts after each round, and its mean over the folds.

        The round with the best mean is a number of rounds chosen by cross-validation.

        Parameters
        ----------
        X, y, sample_weight, offset
            The arguments of `cross_validate`.
        metric : str, optional
            A metric of gradient boosting by name; by default the log loss, or the root mean squared
            error.

        Returns
        -------
        RoundsByFold
            ``best_round``, ``mean`` and ``folds``; ``plot()`` draws the curves of the folds and
            their mean.
        """
        return rounds_by_fold(self, X, y, metric, sample_weight, offset)

    def keys(self) -> tuple[str, ...]:
        """Return the keys of scikit-learn's `cross_validate` by which the result can be indexed.

        ``result["test_score"]`` is the first metric, ``result["test_rmse"]`` the one of that name.
        """
        return tuple(self._by_name())

    def __getitem__(self, name: str) -> Any:
        by_name = self._by_name()
        if name not in by_name:
            raise KeyError(f"{name!r} is not a key; the keys are {', '.join(by_name)}")
        return by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def _by_name(self) -> dict[str, Any]:
        return {
            "fit_time": np.array([fold.fit_time for fold in self.folds]),
            "score_time": np.array([fold.score_time for fold in self.folds]),
            "estimator": self.models,
            "indices": {
                "train": [fold.train for fold in self.folds],
                "test": [fold.test for fold in self.folds],
            },
            "test_score": next(iter(self.scores.values())),
            **{f"test_{name}": values for name, values in self.scores.items()},
        }

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Return a column for each metric and more, with an entry for each fold."""
        return dict(self._columns())

    def _title(self) -> str:
        name = type(self.models[0]).__name__
        return f"Cross-validation of {name}: {len(self.folds)} folds, {self._n_rows()} rows"

    def _n_rows(self) -> int:
        return len(self.oof_prediction)

    def _columns(self) -> Columns:
        columns: dict[str, NDArray[Any]] = {
            "fold": np.arange(1, len(self.folds) + 1),
            "train_rows": np.array([len(fold.train) for fold in self.folds]),
            "test_rows": np.array([len(fold.test) for fold in self.folds]),
            **self.scores,
        }
        if all(hasattr(model, "best_iteration_") for model in self.models):
            columns["best_iteration"] = np.array([model.best_iteration_ for model in self.models])
        for name in ("fit_time", "score_time"):
            columns[name] = np.array([getattr(fold, name) for fold in self.folds])
        return columns

    def _repr_columns(self) -> Columns:
        return {name: column for name, column in self._columns().items() if name != "score_time"}

    def _draw(self, ax: Any) -> None:
        name, values = next(iter(self.scores.items()))
        places = np.arange(1, len(values) + 1)
        ax.axhline(values.mean(), color=GREY, linestyle="--", linewidth=1.0)
        ax.plot(places, values, "o", color=GREEN)
        ax.set(xlabel="fold", ylabel=name, xticks=places)
        ax.set_title(f"{name} {_with_spread(values)}")

    def __repr__(self) -> str:
        width = max(map(len, self.scores))
        lines = [f"  {name:<{width}}  {_with_spread(of)}" for name, of in self.scores.items()]
        title, *table = super().__repr__().split("\n")
        return "\n".join([title, *lines, *table])


def _with_spread(values: Floats) -> str:
    mean, spread = texts(np.array([values.mean(), values.std()]))
    return f"{mean} ± {spread}"
