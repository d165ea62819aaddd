"""A fitted estimator in a notebook: what it is, what it saw and chose, which features matter most.

Plain HTML with styles of its own, in the colours of the page it is in, light or dark. Estimators
that are not fitted, and those within pipelines, keep scikit-learn's diagram.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

import numpy as np

from hedgerow._data.names import are_positions, labels_of
from hedgerow._estimator import fitted_names
from hedgerow._types import Floats

TOP = 5  # features that are shown
LONGEST = 60  # characters of a parameter's value
WIDEST = 12.0  # a bar, in letters
# Importances of forests are sums over their nodes; beyond so many they take too long for a glance.
MOST_NODES = 2_000_000

_BOX = (
    "display:inline-block;max-width:46em;padding:.6em .9em;border:1px solid rgba(128,128,128,.45);"
    "border-radius:.4em;font-size:.92em;line-height:1.5"
)
# Some pages would give tables colours and sizes of their own.
_TABLE = "border-collapse:collapse;margin:.2em 0;color:inherit;font-size:inherit;background:none"
_PALE = "opacity:.7"
_CELL = "padding:0 .9em 0 0;text-align:left;vertical-align:top;border:none;background:none"
_BAR = "display:inline-block;height:.65em;background:#4a90c2;border-radius:.1em;margin-right:.4em"


def summary(estimator: Any) -> str:
    """Return the essentials of a fitted estimator as HTML."""
    lines = [
        _line("saw", list(_seen(estimator))),
        _line("has", list(_size(estimator))),
        _line("chose", list(_chosen(estimator))),
        _line("scored", list(_scored(estimator))),
        _line("parameters", list(_changed(estimator))),
    ]
    facts = "".join(line for line in lines if line)
    name = escape(type(estimator).__name__)
    title = f"<div><b>{name}</b> <span style='{_PALE}'>fitted</span></div>"
    table = f"<table style='{_TABLE}'>{facts}</table>"
    return f"<div style='{_BOX}'>{title}{table}{_features(estimator)}</div>"


def _line(label: str, facts: list[str]) -> str:
    if not facts:
        return ""
    words = escape(", ".join(facts))
    return f"<tr><td style='{_CELL};{_PALE}'>{label}</td><td style='{_CELL}'>{words}</td></tr>"


def _seen(estimator: Any) -> Iterator[str]:
    """Tell the rows, where they are known, the columns and the classes of fit."""
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


def _rows(estimator: Any) -> str | None:
    """Tell the rows of fit; a boosted model knows those of its trees, which may be drawn."""
    model = getattr(estimator, "_model", None)
    ensemble = getattr(model, "ensemble", None)
    if ensemble is not None and len(ensemble.count):
        n_rows = _counted(int(ensemble.count[0]), "row")
        return n_rows if ensemble.n_trees == 1 else f"{n_rows} in the first tree"
    shape = getattr(estimator, "shape_fit_", (None,))
    known = (
        getattr(model, "n_rows", None),
        getattr(getattr(model, "sampling", None), "n_rows", None),
        getattr(estimator, "n_samples_fit_", None),
        shape[0] if len(shape) else None,
    )
    return next((_counted(int(n), "row") for n in known if n is not None), None)


def _size(estimator: Any) -> Iterator[str]:
    """Tell what the model is made of."""
    model = getattr(estimator, "_model", None)
    trees = getattr(model, "forest", None) or getattr(model, "ensemble", None)
    if trees is not None:
        if trees.n_trees > 1:
            yield _counted(trees.n_trees, "tree")
        yield _counted(int(trees.n_leaves), "leaf", "leaves")
    vectors = getattr(estimator, "support_", None)
    if vectors is not None:
        yield _counted(len(vectors), "support vector")


def _chosen(estimator: Any) -> Iterator[str]:
    """Tell what the automatic choice came to."""
    choice = getattr(estimator, "auto_", None)
    if choice is not None:
        yield from (f"{name}={_short(value)}" for name, value in choice.parameters.items())


def _scored(estimator: Any) -> Iterator[str]:
    """Tell how good the model was where its fit measured that."""
    best = getattr(estimator, "best_iteration_", None)
    if best is not None:
        yield f"{_metric(estimator)} {estimator.best_score_:.4g} in round {best}, the best"
    out_of_bag = getattr(estimator, "oob_score_", None)
    if out_of_bag is not None:
        yield f"out-of-bag score {float(out_of_bag):.4g}"


def _metric(estimator: Any) -> str:
    """Name what rounds are judged by: the first metric on the last evaluation set."""
    history = getattr(estimator, "evals_result_", None)
    if not history:
        return "loss"
    name, by_metric = list(history.items())[-1]
    return f"{next(iter(by_metric))} on {name}"


def _changed(estimator: Any) -> Iterator[str]:
    """Tell the parameters that are not the defaults."""
    for parameter in estimator._parameters:  # noqa: SLF001
        value = getattr(estimator, parameter.name)
        if repr(value) != repr(parameter.default):
            yield f"{parameter.name}={_short(value)}"


def _features(estimator: Any) -> str:
    """Show the most important features as small bars."""
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


def _importances(estimator: Any) -> Floats | None:
    forest = getattr(estimator._model, "forest", None)  # noqa: SLF001
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
