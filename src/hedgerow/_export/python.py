"""A model as one Python file without imports, for hosts without NumPy, and for reading."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from hedgerow._export.flat_trees import flat_trees
from hedgerow._export.portable import PortableColumn, PortableModel
from hedgerow._export.templates import render
from hedgerow._types import Floats

_EACH = {
    "identity": "{0}",
    "margin": "{0}",
    "sorted": "sorted({0})",
    "log": "[_exp(score) for score in {0}]",
    "sigmoid": "[_sigmoid(score) for score in {0}]",
    "half_sigmoid": "[_sigmoid(2.0 * score) for score in {0}]",
    "softmax": "_softmax({0})",
}


def python_source(model: PortableModel) -> str:
    """Return the source of a module with a function `predict`."""
    trees = flat_trees(model.ensemble)
    values = {
        "title": f"A {model.kind} as a Python function.",
        "origin": model.origin,
        "columns": _tuple(repr(column.name) for column in model.columns),
        "predictions": repr(model.prediction_names),
        "categories": _tuple(map(_categories, model.columns)),
        "features": _tuple(repr(column.features) for column in model.columns),
        "n_features": model.ensemble.n_features,
        "base": _numbers(model.ensemble.base_score),
        "width": model.width,
        "nodes": _tuple(map(repr, map(tuple, trees.nodes.tolist())), "\n"),
        "numbers": _numbers(trees.numbers),
        "sets": _tuple(hex(_bits(words)) for words in trees.sets),
        "roots": repr(tuple(trees.roots.tolist())),
        "outputs": repr(tuple(trees.outputs.tolist())),
        "slopes": _slopes(trees.slopes),
        "prediction": _prediction(model),
    }
    return render("model.py.txt", values)


def _prediction(model: PortableModel) -> str:
    """Return the expression of a prediction."""
    scores = "scores(row)"
    if model.n_averaged > 1:
        scores = f"[score / {float(model.n_averaged)} for score in {scores}]"
    if model.calibration is None:
        prediction = _EACH[model.link].format(scores)
    else:
        prediction = _calibrated(model, scores)
    return f"_with_complements({prediction}, {model.pairs})" if model.pairs else prediction


def _calibrated(model: PortableModel, scores: str) -> str:
    calibration, n_outputs = model.calibration, model.ensemble.n_outputs
    assert calibration is not None
    if calibration.method == "isotonic":
        curves = _tuple(f"({_numbers(x)}, {_numbers(y)})" for x, y in calibration.curves())
        p = f"_interpolated({scores}, {curves})"
    else:
        lines = f"zip({scores}, {_numbers(calibration.slope)}, {_numbers(calibration.offset)})"
        raw = f"[score * slope + offset for score, slope, offset in {lines}]"
        is_joint = calibration.method == "temperature" and n_outputs > 1
        p = _EACH["softmax" if is_joint else "sigmoid"].format(raw)
    return f"_normalised({p})" if n_outputs > 1 else p


def _categories(column: PortableColumn) -> str:
    if column.numbers is None:
        return "None"
    *known, unknown, missing = map(_numbers, column.numbers.T)
    pairs = zip(map(repr, column.labels), known, strict=True)
    by_label = ", ".join(f"{label}: {numbers}" for label, numbers in pairs)
    return f"({{{by_label}}}, {unknown}, {missing})"


def _slopes(slopes: Any) -> str:
    if slopes is None:
        return "()"
    terms = zip(
        slopes.feature.tolist(),
        map(_numbers, slopes.coefficient),
        map(_numbers, slopes.centre),
        *(slopes.low.tolist(), slopes.high.tolist()),
        strict=True,
    )
    return _tuple(f"({', '.join(map(str, term))})" for term in terms)


def _numbers(values: Floats) -> str:
    return _tuple("_NAN" if np.isnan(value) else repr(value) for value in values.tolist())


def _bits(words: Any) -> int:
    return sum(int(word) << (32 * i) for i, word in enumerate(words))


def _tuple(items: Iterable[str], separator: str = " ") -> str:
    listed = list(items)
    return f"({f',{separator}'.join(listed)}{',' if len(listed) == 1 else ''})"
