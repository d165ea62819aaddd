"""The HTML summary of a fitted estimator in a notebook: data, size, parameters, importances.

Plain HTML with inline styles that suit light and dark pages. Estimators that are not fitted, and
those within pipelines, keep scikit-learn's diagram.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

import numpy as np

from hedgerow._contract import internals
from hedgerow._data.names import are_positions, fitted_names, labels_of
from hedgerow._estimator import Estimator
from hedgerow._params import parameters_of
from hedgerow._types import Floats

TOP = 5  # features to show
LONGEST = 60  # characters of a parameter's value
WIDEST = 12.0  # width of the longest bar, in em
# Importances of a forest are sums over its nodes; for more nodes they take too long.
MOST_NODES = 2_000_000

_BOX = (
    "display:inline-block;max-width:46em;padding:.6em .9em;border:1px solid rgba(128,128,128,.45);"
    "border-radius:.4em;font-size:.92em;line-height:1.5"
)
# Overrides the colours and sizes that some pages set for tables.
_TABLE = "border-collapse:collapse;margin:.2em 0;color:inherit;font-size:inherit;background:none"
_PALE = "opacity:.7"
_CELL = "padding:0 .9em 0 0;text-align:left;vertical-align:top;border:none;background:none"
_BAR = "display:inline-block;height:.65em;background:#4a90c2;border-radius:.1em;margin-right:.4em"


def summary(estimator: Estimator) -> str:
    """Return the essentials of a fitted estimator as HTML."""
    lines = [
        _line("data", list(_data(estimator))),
        _line("model", list(_size(estimator))),
        _line("auto", list(_automatic_choice(estimator))),
        _line("score", list(_scores(estimator))),
        _line("parameters", list(_changed_parameters(estimator))),
    ]
    facts = "".join(line for line in lines if line)
    name = escape(type(estimator).__name__)
    title = f"<div><b>{name}</b> <span style='{_PALE}'>fitted</span></div>"
    table = f"<table style='{_TABLE}'>{facts}</table>"
    return f"<div style='{_BOX}'>{title}{table}{_features(estimator)}</div>"


def _line(label: str, facts: list[str]) -> str:
    if not facts:
        return ""
    text = escape(", ".join(facts))
    return f"<tr><td style='{_CELL};{_PALE}'>{label}</td><td style='{_CELL}'>{text}</td></tr>"


def _data(estimator: Estimator) -> Iterator[str]:
    """Yield the number of rows, if it is known, of columns and of classes."""
    rows = _rows(estimator)
    if rows is not None:
        yield rows
    n_features = getattr(estimator, "n_features_in_", None)
    if n_features is not None:
        yield _counted(n_features, "column")
    classes = getattr(estimator, "classes_", None)
    if isinstance(classes, list):
        yield _counted(len(classes), "output")
    elif classes is not None:
        yield _counted(len(classes), "class", "classes")


def _rows(estimator: Estimator) -> str | None:
    """Return the number of rows; a boosted model stores that of its trees, which may be sampled."""
    model = getattr(estimator, "_model", None)
    ensemble = getattr(model, "ensemble", None)
    if ensemble is not None and len(ensemble.count):
        n_rows = _counted(int(ensemble.count[0]), "row")
        return n_rows if ensemble.n_trees == 1 else f"{n_rows} in the first tree"
    shape = getattr(estimator, "shape_fit_", (None,))
    candidates = (
        getattr(model, "n_rows", None),
        getattr(getattr(model, "sampling", None), "n_rows", None),
        getattr(estimator, "n_samples_fit_", None),
        shape[0] if len(shape) else None,
    )
    return next((_counted(int(n), "row") for n in candidates if n is not None), None)


def _size(estimator: Estimator) -> Iterator[str]:
    """Yield the number of trees and leaves, or of support vectors."""
    model = getattr(estimator, "_model", None)
    trees = getattr(model, "forest", None) or getattr(model, "ensemble", None)
    if trees is not None:
        if trees.n_trees > 1:
            yield _counted(trees.n_trees, "tree")
        yield _counted(int(trees.n_leaves), "leaf", "leaves")
    vectors = getattr(estimator, "support_", None)
    if vectors is not None:
        yield _counted(len(vectors), "support vector")


def _automatic_choice(estimator: Estimator) -> Iterator[str]:
    """Yield the parameters that were chosen automatically."""
    choice = getattr(estimator, "auto_", None)
    if choice is not None:
        yield from (f"{name}={_short(value)}" for name, value in choice.parameters.items())


def _scores(estimator: Estimator) -> Iterator[str]:
    """Yield the validation and out-of-bag scores, if the fit measured them."""
    best = getattr(estimator, "best_iteration_", None)
    if best is not None:
        yield f"{_metric(estimator)} {estimator.best_score_:.4g} in round {best}, the best"
    out_of_bag = getattr(estimator, "oob_score_", None)
    if out_of_bag is not None:
        yield f"out-of-bag score {float(out_of_bag):.4g}"


def _metric(estimator: Estimator) -> str:
    """Return the name of the validation metric: the first metric on the last evaluation set."""
    history = getattr(estimator, "evals_result_", None)
    if not history:
        return "loss"
    name, by_metric = list(history.items())[-1]
    return f"{next(iter(by_metric))} on {name}"


def _changed_parameters(estimator: Estimator) -> Iterator[str]:
    """Yield the parameters that differ from their defaults."""
    for parameter in parameters_of(estimator):
        value = getattr(estimator, parameter.name)
        if repr(value) != repr(parameter.default):
            yield f"{parameter.name}={_short(value)}"


def _features(estimator: Estimator) -> str:
    """Return the most important features as a bar chart."""
    importances = _importances(estimator)
    if importances is None or not np.isfinite(importances).all() or importances.max() <= 0.0:
        return ""
    names = fitted_names(estimator)
    labels = None if names is None or are_positions(names) else labels_of(names, len(names))
    rows = []
    for j in np.argsort(-importances, kind="stable")[:TOP]:
        if importances[j] > 0.0:
            width = WIDEST * importances[j] / importances.max()
            bar = f"<span style='{_BAR};width:{width:.2f}em'></span>{100.0 * importances[j]:.1f} %"
            name = escape(_cut(f"feature_{j}" if labels is None else labels[j]))
            cells = f"<td style='{_CELL}'>{name}</td><td style='{_CELL}'>{bar}</td>"
            rows.append(f"<tr>{cells}</tr>")
    title = f"<div style='{_PALE}'>share of the gain of all splits</div>"
    return title + f"<table style='{_TABLE}'>{''.join(rows)}</table>"


def _importances(estimator: Estimator) -> Floats | None:
    forest = getattr(internals(estimator).model(), "forest", None)
    if forest is not None and forest.n_nodes > MOST_NODES:
        return None
    importances = getattr(estimator, "feature_importances_", None)
    return None if importances is None else np.asarray(importances, np.float64)


def _counted(n: int, one: str, many: str | None = None) -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def _short(value: Any) -> str:
    return _cut(f"{value:.4g}" if isinstance(value, float) else repr(value))


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
