"""Cross-validation: fit a model to all rows but some, judge it by those, and so on in turn.

Models that bin their tables share that work: the table is read and its bins are learned once, from
all rows, and the folds take their rows of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from inspect import signature
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone

from hedgerow.estimator import Estimator
from hedgerow.exceptions import ParameterError
from hedgerow.params import FLAG, VERBOSE, Options, Parameter
from hedgerow.progress import progress
from hedgerow.validation.predictions import OutOfFold, chosen_method, predict
from hedgerow.validation.result import CrossValidation, Fold
from hedgerow.validation.rows import Indices, Rows
from hedgerow.validation.scoring import HeldOut, Score, Target, read_target, resolve_scores

_OPTIONS = (
    Parameter(
        "method", "auto", Options(("auto", "predict", "predict_proba", "decision_function")), ""
    ),
    Parameter("early_stopping", False, FLAG, ""),
    Parameter("share_bins", True, FLAG, ""),
    VERBOSE,
)


def cross_validate(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    cv: Any = 5,
    groups: Any = None,
    sample_weight: Any = None,
    scoring: Any = None,
    method: str = "auto",
    early_stopping: bool = False,
    share_bins: bool = True,
    params: Mapping[str, Any] | None = None,
    verbose: int = 0,
) -> CrossValidation:
    """Fit clones of a model to parts of the rows and judge each by the rows it has not seen.

    Parameters
    ----------
    model : estimator
        Any of this library's or of scikit-learn's make. It is not changed.
    X : table of shape (n_rows, n_features)
        Whatever the model takes.
    y : array of shape (n_rows,) or (n_rows, n_outputs), optional
        The target.
    cv : int, splitter, or iterable of (train, held out) row numbers
        As in scikit-learn: an int is the number of folds, with the same part of each class if the
        model is a classifier, in the order of the rows. A splitter may shuffle, or respect groups
        or time.
    groups : array of shape (n_rows,), optional
        What splitters of groups keep together. Models whose ``fit`` takes groups get theirs.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows, in the fits and in the metrics.
    scoring : str, callable, list or dict of those, optional
        What is measured on the rows held out. The metrics of gradient boosting by name
        ('log_loss', 'auc', 'rmse', 'mae' …: of these, less is better where less is better);
        a function of (y, prediction[, sample_weight]), as for ``eval_metric``; scikit-learn's
        scorers, by name or as a function of (model, X, y). None is the model's ``eval_metric`` or
        its loss's own, or else the log loss, the root mean squared error, or what ``score`` says.
    method : {"auto", "predict", "predict_proba", "decision_function"}
        What makes the out-of-fold predictions. "auto" is ``predict_proba`` of classifiers that have
        it, else ``decision_function``, and ``predict`` of all others.
    early_stopping : bool
        Let every fold stop by the rows that it holds out, for models whose ``fit`` takes an
        ``eval_set``. Scores are then a little too good: the rows that judge a model have told it
        when to stop.
    share_bins : bool
        Read the table and learn its bins once, from all rows, for models that bin their tables.
        No target is looked at for that, but where bins end, and which categories there are, is then
        known from all rows: False keeps even this from the models, and takes longer.
    params : dict, optional
        Further arguments of ``fit``; of arrays with an entry for each row, a fold gets its own.
    verbose : int
        As in the models: 0 is silent, else there is a bar or a line for every so many folds.

    Returns
    -------
    CrossValidation
        Scores, out-of-fold predictions, and the models.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import hedgerow as hr
    >>> X, y = load_diabetes(return_X_y=True)
    >>> result = hr.cross_validate(hr.RandomForestRegressor(), X, y, scoring=["rmse", "r2"])
    >>> result.scores["rmse"].shape, result.oof_prediction.shape
    ((5,), (442,))
    """
    _check_options(model, (method, early_stopping, share_bins, verbose))
    rows = Rows(model, X, y, groups, sample_weight, params or {})
    splits = rows.split(cv)
    target = read_target(model, y, rows.n_rows)
    scores = resolve_scores(scoring, target)
    if share_bins and isinstance(model, Estimator) and model._bins_tables():  # noqa: SLF001
        rows.bin_once()
    with progress(verbose, len(splits), unit="fold", title="cross-validation") as shown:
        run = _Run(rows, target, scores, method, early_stopping, is_shown=shown is not None)
        for number, (train, held_out) in enumerate(splits, 1):
            values = run.fold(train, held_out)
            if shown is not None:
                shown.show(number, {"held out": values})
    return run.result()


def _check_options(model: Any, values: tuple[Any, ...]) -> None:
    """Refuse what no fold could do; models check their own parameters when they are fitted."""
    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "get_params")):
        raise ParameterError(f"model={model!r} is no estimator: it must be an instance of one.")
    for option, value in zip(_OPTIONS, values, strict=True):
        option.check(value)
    early_stopping = values[1]
    if early_stopping and "eval_set" not in signature(model.fit).parameters:
        raise ParameterError(
            f"early_stopping=True: fit of {type(model).__name__} takes no eval_set to stop by."
        )


class _Run:
    """The folds so far."""

    def __init__(
        self,
        rows: Rows,
        target: Target,
        scores: list[Score],
        method: str,
        early_stopping: bool,
        *,
        is_shown: bool,
    ) -> None:
        self.rows, self.target, self.scores = rows, target, scores
        self.method, self.early_stopping, self.is_shown = method, early_stopping, is_shown
        self.models: list[Any] = []
        self.folds: list[Fold] = []
        self.values: list[dict[str, float]] = []
        self.out_of_fold = OutOfFold(rows.n_rows)

    def fold(self, train: Indices, held_out: Indices) -> dict[str, float]:
        """Fit a model to some rows and judge it by others; return its scores."""
        started = perf_counter()
        model = self._fitted(train, held_out)
        fitted = perf_counter()
        judged = self._judged(model, held_out)
        self.method = chosen_method(self.method, model, self.rows)
        self.out_of_fold.add(held_out, judged.predicted(self.method))
        # Names last: a user's function may tell its name with its value.
        numbers = [score.of(judged) for score in self.scores]
        values = {score.name: number for score, number in zip(self.scores, numbers, strict=True)}
        self.models.append(model)
        self.values.append(values)
        self.folds.append(Fold(train, held_out, fitted - started, perf_counter() - fitted))
        return values

    def _fitted(self, train: Indices, held_out: Indices) -> Any:
        rows, model = self.rows, clone(self.rows.model)
        options = rows.options_of(train)
        if self.early_stopping:
            model.set_params(early_stopping=True)
            judges = rows.table(held_out), rows.y_of(held_out), rows.weights_of(held_out)
            options["eval_set"] = [judges if rows.weights is not None else judges[:2]]
        verbose = model.get_params().get("verbose")
        if self.is_shown and verbose:  # there is room for one bar
            model.set_params(verbose=0)
        given = (rows.table(train),) if rows.y is None else (rows.table(train), rows.y_of(train))
        model.fit(*given, **options)
        return model.set_params(verbose=verbose) if self.is_shown and verbose else model

    def _judged(self, model: Any, held_out: Indices) -> HeldOut:
        rows, classes, values = self.rows, self.target.classes, self.target.values
        table = rows.table(held_out)
        return HeldOut(
            model=model,
            X=partial(rows.raw_table, held_out),
            table=table,
            y=rows.y_of(held_out),
            weights=rows.weights_of(held_out),
            target=None if values is None else values[held_out],
            classes=classes,
            predicted=cache(lambda method: predict(model, table, method, classes)),
        )

    def result(self) -> CrossValidation:
        """Put the folds together."""
        names = list(self.values[0])
        return CrossValidation(
            models=self.models,
            scores={name: np.array([of[name] for of in self.values]) for name in names},
            oof_prediction=self.out_of_fold.result(),
            folds=self.folds,
            method=self.method,
            classes=self.target.classes,
        )
