"""Cross-validation: fit a model to all folds but one, evaluate it on that one, for each fold.

Models that bin their tables share that work: the table is read and its bins are learned once, from
all rows, and the folds take their rows of it. All that looks at a target (statistics of categories,
calibration, early stopping) is done anew in every fold, with its own rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from inspect import signature
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from hedgerow._arguments import with_argument_hints
from hedgerow._estimator import Estimator
from hedgerow._params import FLAG, VERBOSE, Options, Parameter, check_parameters, short_repr
from hedgerow._progress import progress
from hedgerow._types import Indices
from hedgerow._validation.fold_data import FoldData
from hedgerow._validation.folds import require_weights, split_rows
from hedgerow._validation.predictions import OutOfFold, chosen_method, predict
from hedgerow._validation.queries import with_queries
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
    scoring: Any = None,
    method: str = "auto",
    early_stopping: bool = False,
    share_bins: bool = True,
    params: Mapping[str, Any] | None = None,
    verbose: int = 0,
) -> CrossValidation:
    """Fit clones of a model on training folds and evaluate each on its holdout fold.

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
        Rows of a group stay together, unless a splitter does otherwise. Models whose ``fit`` takes
        groups get theirs.
    qid : array of shape (n_rows,), optional
        Of a ranker without a ``qid_column``, the query of each row. Queries are its groups, unless
        others are given.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows, in the fits and in the metrics that take any.
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
        No target is looked at for that, but where bins end is then known from all rows. False keeps
        even this from the models, and takes longer. Categories that only held-out rows have are
        never known: such a fold shares nothing.
    params : dict, optional
        Further arguments of ``fit``; of arrays with an entry for each row, a fold gets its own. A
        ``checkpoint`` is refused, for folds would overwrite it.
    verbose : int
        As in the estimators: 0 is silent; otherwise a progress bar, or a line every few folds.

    Returns
    -------
    CrossValidation
        Scores, out-of-fold predictions, and the models; also by the names that scikit-learn's
        function gives them, as in ``result["test_score"]``.

    Notes
    -----
    One fold is fitted after the other, each with the model's ``n_jobs``. If a fold fails, its error
    is raised, with a note of which it was.

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
    groups, options = with_queries(model, X, qid, groups, params or {})
    rows = FoldData(model, X, y, groups, sample_weight, options)
    splits = split_rows(cv, X, y, groups, n_rows=rows.n_rows, stratify=is_classifier(model))
    require_weights(splits, rows.weights)
    with deduplicate_warnings():  # not by every fold
        target = read_target(model, y, rows.n_rows)
        scores = resolve_scores(scoring, target)
        if share_bins:
            rows.share_bins()
        with progress(verbose, len(splits), unit="fold", title="cross-validation") as shown:
            run = _FoldRunner(
                rows, target, scores, method, early_stopping, is_shown=shown is not None
            )
            for number, split in enumerate(splits, 1):
                with _noted(f"This was fold {number} of {len(splits)}."):
                    values = run.fold(*split)
                if shown is not None:
                    shown.show(number, {"held out": values})
    return run.result()


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
            f"early_stopping=True: {type(model).__name__} cannot stop by the rows held out, for "
            "fit takes no eval_set, or there is no parameter early_stopping."
        )
    if "eval_set" in params:
        raise ParameterError(
            "early_stopping=True stops by the rows held out; params must have no eval_set."
        )


def _how_to_make_one(model: Any) -> str:
    if isinstance(model, Mapping):
        return "create one from the parameters, GradientBoostingClassifier(**params)"
    if isinstance(model, type):
        return f"it is a class; write {model.__name__}()"
    return "pass an estimator first"


@contextmanager
def _noted(note: str) -> Iterator[None]:
    """Add a note to what is raised."""
    try:
        yield
    except Exception as error:
        error.add_note(note)
        raise


class _FoldRunner:
    """The folds so far."""

    def __init__(
        self,
        rows: FoldData,
        target: ScoringTarget,
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
        self.values: list[list[float]] = []
        self.out_of_fold = OutOfFold(rows.n_rows)

    def fold(self, train: Indices, holdout: Indices) -> dict[str, float]:
        """Fit a model to some rows and judge it by others; return its scores."""
        started = perf_counter()
        table, holdout_table = self.rows.tables(train, holdout)
        model = self._fitted(train, table, holdout, holdout_table)
        fitted = perf_counter()
        judged = self._holdout(model, holdout, holdout_table)
        self.method = chosen_method(self.method, model, self.rows)
        self.out_of_fold.add(holdout, judged.predicted(self.method))
        self.values.append([score.of(judged) for score in self.scores])
        self.models.append(model)
        self.folds.append(Fold(train, holdout, fitted - started, perf_counter() - fitted))
        return dict(zip(self.names, self.values[-1], strict=True))

    @property
    def names(self) -> list[str]:
        """What the scores are called; a user's function may tell that with its value."""
        require_names(self.scores)
        return [score.name for score in self.scores]

    def _fitted(self, train: Indices, table: Any, holdout: Indices, holdout_table: Any) -> Any:
        rows, model = self.rows, clone(self.rows.model)
        options = rows.options_of(train)
        if self.early_stopping:
            model.set_params(early_stopping=True)
            judges = holdout_table, rows.y_of(holdout), rows.weights_of(holdout)
            options["eval_set"] = [judges if rows.weights is not None else judges[:2]]
        verbose = model.get_params(deep=False).get("verbose")
        is_silenced = self.is_shown and verbose  # there is room for one bar
        if is_silenced:
            model.set_params(verbose=type(verbose)(0))  # False, if it is a flag
        model.fit(*((table,) if rows.y is None else (table, rows.y_of(train))), **options)
        return model.set_params(verbose=verbose) if is_silenced else model

    def _holdout(self, model: Any, holdout: Indices, table: Any) -> FoldHoldout:
        rows, classes, values = self.rows, self.target.classes, self.target.values
        return FoldHoldout(
            model=model,
            X=partial(rows.raw_table, holdout),
            table=table,
            y=rows.y_of(holdout),
            weights=rows.weights_of(holdout),
            options=rows.options_of(holdout),
            target=None if values is None else values[holdout],
            classes=classes,
            predicted=cache(lambda method: predict(model, table, method, classes)),
        )

    def result(self) -> CrossValidation:
        """Put the folds together."""
        columns = np.array(self.values).T
        return CrossValidation(
            models=self.models,
            scores=dict(zip(self.names, columns, strict=True)),
            oof_prediction=self.out_of_fold.result(),
            folds=self.folds,
            method=self.method,
            classes=self.target.classes,
        )
