"""Cross-validation: for each fold, fit a model to the other rows and evaluate it on the holdout.

Models that bin their tables share that work: the table is read and binned once, using all rows, and
each fold takes its rows of it. Whatever depends on a target (target statistics, calibration, early
stopping) is repeated in every fold with its own training set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from inspect import signature
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from hedgerow._arguments import with_argument_hints
from hedgerow._data.parquet_table import ParquetTable
from hedgerow._data.target import fit_columns, fit_offset
from hedgerow._estimator import Estimator
from hedgerow._params import FLAG, VERBOSE, Options, Parameter, check_parameters, short_repr
from hedgerow._progress import progress
from hedgerow._types import Indices
from hedgerow._validation.client import on_client
from hedgerow._validation.fold_data import (
    FoldData,
    Split,
    require_weights,
    split_rows,
    with_queries,
)
from hedgerow._validation.predictions import OutOfFold, WithOffset, chosen_method, predict
from hedgerow._validation.result import CrossValidation, Fold
from hedgerow._validation.scoring import (
    FoldHoldout,
    Score,
    ScoringTarget,
    read_target,
    require_names,
    resolve_scores,
)
from hedgerow._warning import deduplicate_warnings
from hedgerow.exceptions import ParameterError

_OPTIONS = (
    Parameter(
        "method", "auto", Options(("auto", "predict", "predict_proba", "decision_function")), ""
    ),
    Parameter("early_stopping", False, FLAG, ""),
    Parameter("share_bins", True, FLAG, ""),
    VERBOSE,
)


@with_argument_hints
def cross_validate(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    cv: Any = 5,
    groups: Any = None,
    qid: Any = None,
    sample_weight: Any = None,
    offset: Any = None,
    scoring: Any = None,
    method: str = "auto",
    early_stopping: bool = False,
    share_bins: bool = True,
    params: Mapping[str, Any] | None = None,
    client: Any = None,
    verbose: int = 0,
) -> CrossValidation:
    """Fit clones of a model on training folds and evaluate each on its test fold.

    Parameters
    ----------
    model : estimator
        An estimator of Hedgerow, or any with scikit-learn's interface. It is not changed.
    X : table of shape (n_rows, n_features)
        Any table that the model accepts. A `ParquetTable` provides its own target, weights, groups
        and offset.
    y : array of shape (n_rows,) or (n_rows, n_outputs), optional
        The target.
    cv : int, splitter, or iterable of (train, test) row indices
        As in scikit-learn: an int is the number of folds, stratified if the model is a classifier,
        in the order of the rows. A splitter may shuffle, or respect groups or time.
    groups : array of shape (n_rows,), optional
        The group of each row. Groups stay together, unless a splitter separates them, and are
        passed to ``fit`` if it accepts them.
    qid : array of shape (n_rows,), optional
        The query of each row, for rankers without a ``qid_column``. Queries are used as groups,
        unless groups are passed.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows, for fits and for metrics that accept weights.
    offset : array of shape (n_rows,) or (n_rows, n_scores), optional
        Offsets, which gradient boosting adds to the scores of the rows, in fits and in predictions.
    scoring : str, callable, list or dict of those, optional
        The metrics on the test rows: a metric of gradient boosting by name ('log_loss', 'auc',
        'rmse', 'mae' …, with its usual sign; for rankers 'ndcg@10', 'precision@10' …); a function
        of (y, prediction[, sample_weight]), as for ``eval_metric``; or a scikit-learn scorer, by
        name or as a function of (model, X, y).
        None is the model's ``eval_metric`` or the metric of its loss, otherwise the log loss, the
        root mean squared error, or the model's ``score``.
    method : {"auto", "predict", "predict_proba", "decision_function"}
        The method for out-of-fold predictions. "auto" is ``predict_proba`` or, if there is none,
        ``decision_function`` for classifiers, and ``predict`` for all others.
    early_stopping : bool
        Use the test rows of each fold as the validation set for early stopping, for models whose
        ``fit`` accepts an ``eval_set``. Scores are then slightly optimistic, because the test rows
        have influenced when to stop.
    share_bins : bool
        Read and bin the table once, using all rows, for models that bin their tables. This uses no
        target, but the bins of a fold then depend on its test rows. False bins the training rows of
        each fold separately, which takes longer. A fold whose training set lacks a category never
        shares bins, so that its model does not know that category.
    params : dict, optional
        Further arguments of ``fit``. Arrays with an entry for each row are split like the rows. A
        ``checkpoint`` is not allowed, because folds would overwrite it.
    client : distributed.Client, optional
        The client of a Dask cluster, on which the folds are then fitted, each by a task. The table
        is sent to the workers once. The result is the same.
    verbose : int
        As in the estimators: 0 is silent; otherwise a progress bar, or a line every few folds.

    Returns
    -------
    CrossValidation
        Scores, out-of-fold predictions and models. The keys of scikit-learn's `cross_validate` work
        as well, as in ``result["test_score"]``.

    Notes
    -----
    Folds are fitted one after another, each with the model's ``n_jobs``, or at the same time if
    there is a client. If a fold fails, its error is raised, with a note that names the fold.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import hedgerow as hr
    >>> X, y = load_diabetes(return_X_y=True)
    >>> result = hr.cross_validate(hr.RandomForestRegressor(), X, y, scoring=["rmse", "r2"])
    >>> result.scores["rmse"].shape, result.oof_prediction.shape
    ((5,), (442,))
    """
    _check_options(model, (method, early_stopping, share_bins, verbose), params or {})
    offset = fit_offset(X, offset)
    if isinstance(X, ParquetTable):
        X, y, sample_weight, groups, qid = _columns_of(model, X, y, sample_weight, groups, qid)
    groups, options = with_queries(model, X, qid, groups, params or {})
    data = FoldData(model, X, y, groups, sample_weight, offset, options)
    splits = split_rows(cv, X, y, groups, n_rows=data.n_rows, stratify=is_classifier(model))
    require_weights(splits, data.weights)
    with deduplicate_warnings():  # not in every fold
        target = read_target(model, y, data.n_rows)
        scores = resolve_scores(scoring, target)
        if share_bins:
            data.share_bins()
        with progress(verbose, len(splits), unit="fold", title="cross-validation") as progress_bar:
            has_bar = progress_bar is not None
            runner = _FoldRunner(data, target, scores, method, early_stopping, has_bar=has_bar)
            outcomes = (
                _in_order(runner, splits)
                if client is None
                else on_client(client, runner.run, splits)
            )
            folds = FoldResults(data.n_rows, target.classes)
            for number in range(1, len(splits) + 1):
                with _add_note(f"This was fold {number} of {len(splits)}."):
                    outcome = next(outcomes)
                    folds.add(outcome)
                if progress_bar is not None:
                    progress_bar.show(number, {"holdout": outcome.values})
    return folds.result()


def _columns_of(
    model: Any, X: ParquetTable, y: Any, sample_weight: Any, groups: Any, qid: Any
) -> tuple[Any, ...]:
    """Return the features of files, and the other columns; the groups of a ranker are queries."""
    if "qid" in signature(model.fit).parameters:
        y, sample_weight, qid = fit_columns(X, y, sample_weight, qid)
    else:
        y, sample_weight, groups = fit_columns(X, y, sample_weight, groups)
    return X.without_roles(), y, sample_weight, groups, qid


def _check_options(model: Any, values: tuple[Any, ...], params: Mapping[str, Any]) -> None:
    """Raise if the options do not suit the model."""
    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "get_params")):
        raise ParameterError(
            f"model={short_repr(model)} is not an estimator: {_how_to_make_one(model)}, as in "
            "cross_validate(model, X, y)."
        )
    if isinstance(model, Estimator):
        check_parameters(model)
    for option, value in zip(_OPTIONS, values, strict=True):
        option.check(value)
    early_stopping = values[1]
    if not early_stopping:
        return
    can_stop = "early_stopping" in model.get_params(deep=False)
    if not can_stop or "eval_set" not in signature(model.fit).parameters:
        raise ParameterError(
            f"early_stopping=True: {type(model).__name__} has no early stopping: its fit accepts "
            "no eval_set, or it has no parameter early_stopping."
        )
    if "eval_set" in params:
        raise ParameterError(
            "early_stopping=True uses the test rows of each fold as eval_set; params must not "
            "contain one."
        )


def _how_to_make_one(model: Any) -> str:
    if isinstance(model, Mapping):
        return "create one from the parameters, GradientBoostingClassifier(**params)"
    if isinstance(model, type):
        return f"it is a class; write {model.__name__}()"
    return "pass an estimator first"


@contextmanager
def _add_note(note: str) -> Iterator[None]:
    """Add a note to exceptions."""
    try:
        yield
    except Exception as error:
        error.add_note(note)
        raise


@dataclass(frozen=True)
class FoldOutcome:
    """A fitted fold: its model, its predictions for the holdout, and the value of each metric."""

    model: Any
    method: str
    prediction: NDArray[Any]
    values: dict[str, float]
    fold: Fold


class _FoldRunner:
    """Fits and evaluates folds."""

    def __init__(
        self,
        data: FoldData,
        target: ScoringTarget,
        scores: list[Score],
        method: str,
        early_stopping: bool,
        *,
        has_bar: bool,
    ) -> None:
        self.data, self.target, self.scores = data, target, scores
        self.method, self.early_stopping, self.has_bar = method, early_stopping, has_bar

    def run(self, train: Indices, holdout: Indices) -> FoldOutcome:
        """Fit a model to the training set of a fold and evaluate it on the holdout."""
        started = perf_counter()
        table, holdout_table = self.data.tables(train, holdout)
        model = self._fit(train, table, holdout, holdout_table)
        fitted = perf_counter()
        fold_holdout = self._holdout(model, holdout, holdout_table)
        method = chosen_method(self.method, model, self.data)
        prediction = fold_holdout.predicted(method)
        values = [score.of(fold_holdout) for score in self.scores]
        require_names(self.scores)  # a user's function may return its name with its value
        return FoldOutcome(
            model=model,
            method=method,
            prediction=prediction,
            values={score.name: value for score, value in zip(self.scores, values, strict=True)},
            fold=Fold(train, holdout, fitted - started, perf_counter() - fitted),
        )

    def _fit(self, train: Indices, table: Any, holdout: Indices, holdout_table: Any) -> Any:
        data, model = self.data, clone(self.data.model)
        options = data.options_of(train)
        if self.early_stopping:
            model.set_params(early_stopping=True)
            options["eval_set"] = [data.eval_set(holdout, holdout_table)]
        verbose = model.get_params(deep=False).get("verbose")
        is_silenced = self.has_bar and verbose  # there is room for one progress bar
        if is_silenced:
            model.set_params(verbose=type(verbose)(0))  # False, if it is a flag
        model.fit(*((table,) if data.y is None else (table, data.y_of(train))), **options)
        return model.set_params(verbose=verbose) if is_silenced else model

    def _holdout(self, model: Any, holdout: Indices, table: Any) -> FoldHoldout:
        data, classes, values = self.data, self.target.classes, self.target.values
        offset = data.offset_of(holdout)
        model = model if offset is None else WithOffset(model, offset)
        return FoldHoldout(
            model=model,
            X=partial(data.raw_table, holdout),
            table=table,
            y=data.y_of(holdout),
            weights=data.weights_of(holdout),
            options=data.options_of(holdout),
            target=None if values is None else values[holdout],
            classes=classes,
            predicted=cache(lambda method: predict(model, table, method, classes)),
        )


class FoldResults:
    """Collects the outcomes of folds."""

    def __init__(self, n_rows: int, classes: Any) -> None:
        self.classes = classes
        self.outcomes: list[FoldOutcome] = []
        self.out_of_fold = OutOfFold(n_rows)

    def add(self, outcome: FoldOutcome) -> None:
        """Add the outcome of the next fold."""
        self.out_of_fold.add(outcome.fold.test, outcome.prediction)
        self.outcomes.append(outcome)

    def result(self) -> CrossValidation:
        """Return the results of all folds."""
        columns = np.array([list(outcome.values.values()) for outcome in self.outcomes]).T
        return CrossValidation(
            models=[outcome.model for outcome in self.outcomes],
            scores=dict(zip(self.outcomes[-1].values, columns, strict=True)),
            oof_prediction=self.out_of_fold.result(),
            folds=[outcome.fold for outcome in self.outcomes],
            method=self.outcomes[-1].method,
            classes=self.classes,
        )


def _in_order(runner: _FoldRunner, splits: Iterable[Split]) -> Iterator[FoldOutcome]:
    """Yield the outcome of each fold."""
    for split in splits:
        yield runner.run(*split)
