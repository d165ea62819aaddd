"""`report`: a model and a dataset → an HTML file. All checks come before anything is written."""

from __future__ import annotations

from importlib.util import find_spec
from os import PathLike
from typing import Any

import numpy as np

from hedgerow._arguments import with_argument_hints
from hedgerow._data.names import listed
from hedgerow._data.parquet_table import ParquetTable
from hedgerow._data.pass_through import take_rows
from hedgerow._data.target import fit_columns, fit_offset
from hedgerow._model_file.atomic import check_target, file_name, write_atomically
from hedgerow._model_file.contents import single_classes
from hedgerow._params import Number, short_repr
from hedgerow._reporting.any_model import reported_model
from hedgerow._reporting.fold_models import require_each_row_once
from hedgerow._reporting.summary import ReportOptions, summarise
from hedgerow._result import imported
from hedgerow._validation import CrossValidation
from hedgerow._validation.fold_data import count_rows, require_rows
from hedgerow.exceptions import ParameterError

MOST_ROWS = 100_000  # of a table in files: curves and contributions need no more
MOST_MISTAKES = 50  # of a kind; more would crowd out the rest of the page


@with_argument_hints
def report(
    model: Any,
    X: Any,
    y: Any,
    path: str | PathLike[str],
    *,
    sample_weight: Any = None,
    qid: Any = None,
    offset: Any = None,
    title: str | None = None,
    target_name: str | None = None,
    positive_class: Any = None,
    cross_validation: CrossValidation | None = None,
    n_mistakes: int = 3,
    n_bootstrap: int = 200,
    random_state: int = 0,
) -> None:
    """Write an HTML report on a model, evaluated on a dataset: one file without external resources.

    It has metrics with confidence intervals; for two classes, a confusion matrix whose positive
    class, decision threshold and costs the reader can choose; ROC, precision–recall and calibration
    curves or residuals; permutation importance, SHAP summary and partial dependence; the worst
    mistakes of each kind; a form to change a row and see its prediction and contributions change; a
    profile of the data; how the model was trained, its trees and all parameters. Sections that do
    not apply to the model are omitted, and the page says why.

    Parameters
    ----------
    model : fitted estimator
        A classifier, regressor, ranker or survival model of Hedgerow, or a classifier or regressor
        of scikit-learn's kind: an estimator, a pipeline, or a search, whose best estimator is used.
        SHAP values, trees and the form are of tree models; those of scikit-learn are converted by
        `from_sklearn` where that is possible.
    X : table of shape (n_rows, n_features)
        The test set, preferably rows that the model was not trained on. The index of a pandas data
        frame identifies its rows in the report. If X is a `ParquetTable`, 100,000 random rows are
        used.
    y : array
        The targets, as in `fit`; None for those of a `ParquetTable`.
    path : str or path-like
        The file to write, ending in .html or .htm. An existing file is replaced atomically.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows in the metrics; ignored for rankers.
    qid : array of shape (n_rows,), optional
        For rankers: the query of each row, unless X has a column of queries.
    offset : array of shape (n_rows,) or (n_rows, n_scores), optional
        For gradient boosting: added to the scores of the rows, as in `predict`; by default that of
        a `ParquetTable`. Explanations and the form do not include it.
    title : str, optional
        Title of the page; by default the target and its classes, or the task.
    target_name : str, optional
        Name of the target; by default the name of y, if it has one.
    positive_class : class label, optional
        The positive class of the confusion matrix, the metrics, the curves, the SHAP values, the
        partial dependence and the mistakes; by default the one with which the command line trained
        the model, or the second of two classes. The reader of the page can choose another one for
        the confusion matrix and the curves. With more than two classes, its curves come first, and
        SHAP values are those of its score.
    cross_validation : CrossValidation, optional
        The result of `hedgerow.cross_validate` for the same rows. Metrics, curves and mistakes are
        then of its out-of-fold predictions, so that X may be the rows that the model was trained
        on. The folds must test each row once.
    n_mistakes : int
        How many of the worst mistakes of each kind to show: false positives and false negatives,
        or over- and under-predictions. At most 50.
    n_bootstrap : int
        Bootstrap samples for the confidence intervals; 0 for none.
    random_state : int
        Seed of the bootstrap. The same call gives the same page.

    Raises
    ------
    ParameterError, DataError, sklearn.exceptions.NotFittedError
        If the model, the dataset or an option is invalid.
    OSError
        If the file cannot be written.
    ImportError
        If a required package is not installed: ``pip install altair jinja2 vl-convert-python``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import hedgerow as hr
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = hr.GradientBoostingRegressor(n_estimators=50).fit(X[:300], y[:300])
    >>> hr.report(model, X[300:], y[300:], "report.html")  # doctest: +SKIP
    """
    _require_packages()
    model = reported_model(model)
    _check_number("n_mistakes", n_mistakes, MOST_MISTAKES)
    _check_number("n_bootstrap", n_bootstrap)
    _check_number("random_state", random_state)
    _check_positive_class(model, positive_class)
    _check_cross_validation(cross_validation)
    _check_texts(title=title, target_name=target_name)
    name = _check_path(path)
    options = ReportOptions(
        title=title,
        target_name=str(getattr(y, "name", None) or "y") if target_name is None else target_name,
        n_mistakes=n_mistakes,
        n_bootstrap=n_bootstrap,
        seed=random_state,
        positive_class=_positive_class(model, positive_class),
    )
    if isinstance(X, ParquetTable):
        offset = fit_offset(X, offset)
        X, y, sample_weight, qid, offset = _sample(X, y, sample_weight, qid, offset, random_state)
    if offset is not None:
        require_rows("offset", offset, count_rows("X", X))
    if cross_validation is not None:
        require_each_row_once(cross_validation, count_rows("X", X))
    by_row = {"sample_weight": sample_weight, "qid": qid, "offset": offset}
    summary = summarise(model, X, y, options, **by_row, folds=cross_validation)
    from hedgerow._reporting.rendering import render

    # A lone surrogate, which a name may contain, cannot be encoded: it becomes "?".
    write_atomically(name, render(summary).encode(errors="replace"))


def _sample(
    table: ParquetTable, y: Any, sample_weight: Any, qid: Any, offset: Any, seed: int
) -> tuple[Any, ...]:
    """Return some rows of files, in memory, and their target, weights, queries and offset."""
    if y is None or table.target is not None:
        y, sample_weight, qid = fit_columns(table, y, sample_weight, qid)
    rows = np.arange(table.n_rows)
    if table.n_rows > MOST_ROWS:
        rows = np.sort(np.random.RandomState(seed).permutation(rows)[:MOST_ROWS])
    by_row = (y, sample_weight, qid, offset)
    others = (None if values is None else take_rows(values, rows) for values in by_row)
    X = table.take(rows).read()
    return X.to_pandas() if find_spec("pandas") else X, *others


def _require_packages() -> None:
    """Raise before any work if a package is missing."""
    for package in ("altair", "jinja2", "vl_convert"):
        try:
            imported(package, "report()")
        except ImportError as error:
            raise ImportError(
                "report() needs Altair, Jinja2 and vl-convert. Install them: "
                "pip install altair jinja2 vl-convert-python"
            ) from error


def _check_positive_class(model: Any, positive_class: Any) -> None:
    if positive_class is None:
        return
    classes = getattr(model, "classes_", None)
    if not isinstance(classes, np.ndarray):
        raise ParameterError(
            f"positive_class={positive_class!r} is not allowed; a {type(model).__name__} with "
            "this target has no single list of classes."
        )
    if positive_class not in classes.tolist():
        raise ParameterError(
            f"positive_class={positive_class!r} is not allowed; the classes are "
            f"{listed(classes.tolist())}."
        )


def _positive_class(model: Any, positive_class: Any) -> Any:
    """Return the positive class, by default the one that the command line recorded."""
    recorded = getattr(model, "positive_class_", None)
    if positive_class is None and recorded in single_classes(getattr(model, "classes_", None)):
        return recorded
    return positive_class


def _check_cross_validation(result: Any) -> None:
    if not (result is None or isinstance(result, CrossValidation)):
        raise ParameterError(
            f"cross_validation={short_repr(result)} is not allowed; it must be what "
            "hedgerow.cross_validate returns, or None."
        )


def _check_number(name: str, value: Any, most: int = 2**31 - 1) -> None:
    allowed = Number(0, most, integer=True)
    if value not in allowed:
        raise ParameterError(f"{name}={value!r} is not allowed; it must be {allowed}.")


def _check_texts(**texts: Any) -> None:
    for name, value in texts.items():
        if not (value is None or isinstance(value, str)):
            raise ParameterError(f"{name}={value!r} is not allowed; it must be a str or None.")


def _check_path(path: Any) -> str:
    """Return the file name, if a file can be written there."""
    if not isinstance(path, str | bytes | PathLike):
        raise ParameterError(f"path={path!r} is not allowed; it must be a str or path-like.")
    name = file_name(path)
    check_target(name)
    if not name.lower().endswith((".html", ".htm")):
        raise ParameterError(
            f"path={path!r} is not allowed; a report is a web page, so the name must end in .html "
            "or .htm."
        )
    return name
