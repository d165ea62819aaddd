"""`report`: model and rows → a file. All that can be wrong is found before anything is written."""

from __future__ import annotations

import os
from os import PathLike
from typing import Any

from sklearn.pipeline import Pipeline

from hedgerow._arguments import with_argument_hints
from hedgerow._contract import internals
from hedgerow._estimator import Estimator
from hedgerow._model_file.atomic import check_target, write_atomically
from hedgerow._params import Number
from hedgerow._reporting.summary import ReportOptions, summarise
from hedgerow._result import imported
from hedgerow.exceptions import ParameterError

MOST_MISTAKES = 50  # of a kind; more would leave no room for anything else


@with_argument_hints
def report(
    model: Any,
    X: Any,
    y: Any,
    path: str | PathLike[str],
    *,
    sample_weight: Any = None,
    qid: Any = None,
    title: str | None = None,
    target_name: str | None = None,
    n_mistakes: int = 3,
    n_bootstrap: int = 200,
    random_state: int = 0,
) -> None:
    """Write a page about a model and how it does on some rows: one file that loads nothing else.

    It holds metrics with confidence intervals; of two classes, a confusion matrix whose positive
    class, decision threshold and costs the reader chooses; ROC, precision–recall and calibration
    curves or residuals; permutation importance, SHAP summary and partial dependence; the worst
    mistakes of each kind; a form to change a row and see its prediction and contributions change; a
    profile of the data; how the model was trained, its trees and all parameters. What does not
    apply to a model is left out, and the page says why.

    Parameters
    ----------
    model : fitted estimator
        Any of the library's that predicts a target.
    X : table of shape (n_rows, n_features)
        Rows to evaluate the model on, as `predict` takes them; best rows that it was not trained
        on. The index of a pandas frame names its rows in the report.
    y : array
        Their true values, as `fit` takes them.
    path : str or path-like
        Where to. A file of that name is replaced in one step once the new one is whole.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows in the metrics; a ranker's are of no account.
    qid : array of shape (n_rows,), optional
        A ranker's query of each row, unless X has a column of them.
    title : str, optional
        The page's; the estimator's name if left out.
    target_name : str, optional
        What the target is called; the name of y if it has one.
    n_mistakes : int
        How many of the worst mistakes of each kind to show: false positives and false negatives,
        or over- and under-predictions. At most 50.
    n_bootstrap : int
        Draws for the confidence intervals; 0 for none.
    random_state : int
        Seed of the draws. The same call gives the same page.

    Raises
    ------
    ParameterError, DataError, sklearn.exceptions.NotFittedError
        If the model, the rows or the options are not what they should be.
    OSError
        If the file cannot be written.
    ImportError
        If what pages are made with is not installed: ``pip install hedgerow[report]``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import hedgerow as hr
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = hr.GradientBoostingRegressor(n_estimators=50).fit(X[:300], y[:300])
    >>> hr.report(model, X[300:], y[300:], "report.html")  # doctest: +SKIP
    """
    _require_packages()
    _check_model(model)
    _check_number("n_mistakes", n_mistakes, MOST_MISTAKES)
    _check_number("n_bootstrap", n_bootstrap)
    _check_number("random_state", random_state)
    _check_texts(title=title, target_name=target_name)
    name = _check_path(path)
    options = ReportOptions(
        title=type(model).__name__ if title is None else title,
        target_name=str(getattr(y, "name", None) or "y") if target_name is None else target_name,
        n_mistakes=n_mistakes,
        n_bootstrap=n_bootstrap,
        seed=random_state,
    )
    summary = summarise(model, X, y, options, sample_weight=sample_weight, qid=qid)
    from hedgerow._reporting.rendering import render

    # Half a surrogate pair, which a name may hold, has no place in a file: it becomes "?".
    write_atomically(name, render(summary).encode(errors="replace"))


def _require_packages() -> None:
    """Find out what is missing before any work."""
    for package in ("altair", "jinja2", "vl_convert"):
        try:
            imported(package, "report()")
        except ImportError as error:
            raise ImportError(
                "report() needs Altair, Jinja2 and vl-convert. Install them: "
                "pip install hedgerow[report]"
            ) from error


def _check_model(model: Any) -> None:
    if isinstance(model, Pipeline):
        raise ParameterError(
            "model is a Pipeline: give its last step, pipeline[-1], and as X the table that this "
            "step sees, pipeline[:-1].transform(X)."
        )
    if not isinstance(model, Estimator):
        instead = " Give its best_estimator_." if hasattr(model, "best_estimator_") else ""
        raise ParameterError(
            f"model is a {type(model).__name__}; it must be a fitted estimator of Hedgerow's."
            + instead
        )
    internals(model).model()


def _check_number(name: str, value: Any, most: int = 2**31 - 1) -> None:
    allowed = Number(0, most, integer=True)
    if value not in allowed:
        raise ParameterError(f"{name}={value!r} is not allowed; it must be {allowed}.")


def _check_texts(**texts: Any) -> None:
    for name, value in texts.items():
        if not (value is None or isinstance(value, str)):
            raise ParameterError(f"{name}={value!r} is not allowed; it must be a str or None.")


def _check_path(path: Any) -> str:
    """Return the file's name, if a file could be written there."""
    if not isinstance(path, str | bytes | PathLike):
        raise ParameterError(f"path={path!r} is not allowed; it must be a str or path-like.")
    name = os.fsdecode(path)
    if "\0" in name:
        raise ParameterError(f"path={path!r} is not allowed; no file's name holds a null byte.")
    check_target(name)
    return name
