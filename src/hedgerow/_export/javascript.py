"""A model as one JavaScript module, for browsers and Node."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hedgerow._export.flat_trees import FlatTrees, flat_trees
from hedgerow._export.portable import PortableColumn, PortableModel
from hedgerow._export.templates import read, render, string
from hedgerow._types import Floats

_STRICT = '"use strict";\n\n'
_LINKS = {
    "identity": "{0}",
    "margin": "{0}",
    "sorted": "{0}.sort((a, b) => a - b)",
    "log": "{0}.map(exp)",
    "sigmoid": "{0}.map(sigmoid)",
    "half_sigmoid": "{0}.map((score) => sigmoid(2 * score))",
    "softmax": "softmax({0})",
}


def javascript_module(model: PortableModel) -> str:
    """Return the source of a module that exports `predict`."""
    trees = flat_trees(model.ensemble)
    values = {
        "title": f"A {model.kind} as a JavaScript function.",
        "origin": model.origin,
        "columns": _array(string(column.name) for column in model.columns),
        "predictions": _array(map(string, model.prediction_names)),
        "categories": _array(map(_categories, model.columns)),
        "features": repr([list(column.features) for column in model.columns]),
        "n_features": model.ensemble.n_features,
        "base": _numbers(model.ensemble.base_score),
        "width": model.width,
        "nodes": repr(trees.nodes.tolist()),
        "numbers": _numbers(trees.numbers),
        "sets": repr(trees.sets.tolist()),
        "roots": repr(trees.roots.tolist()),
        "outputs": repr(trees.outputs.tolist()),
        "slopes": _slopes(trees),
        "prediction": _prediction(model),
    }
    module = render("model.mjs.txt", values)
    is_linear = model.calibration is None and model.link in ("identity", "margin", "sorted")
    if is_linear:
        return module
    return f"{module}\n{math_script().replace(_STRICT, '')}"  # a module is strict anyway


def math_script() -> str:
    """Return a script with this library's exp, sigmoid, softmax, sumOf and interpolate."""
    return read("math.js")


def _prediction(model: PortableModel) -> str:
    scores = "scores(row)"
    if model.n_averaged > 1:
        scores = f"{scores}.map((score) => score / {model.n_averaged})"
    if model.calibration is None:
        prediction = _LINKS[model.link].format(scores)
    else:
        prediction = _calibrated(model, scores)
    return f"withComplements({prediction}, {list(model.pairs)})" if model.pairs else prediction


def _calibrated(model: PortableModel, scores: str) -> str:
    calibration, n_outputs = model.calibration, model.ensemble.n_outputs
    assert calibration is not None
    if calibration.method == "isotonic":
        curves = _array(f"[{_numbers(x)}, {_numbers(y)}]" for x, y in calibration.curves())
        p = f"interpolated({scores}, {curves})"
    else:
        slope, offset = _numbers(calibration.slope), _numbers(calibration.offset)
        raw = f"{scores}.map((score, k) => score * {slope}[k] + {offset}[k])"
        is_joint = calibration.method == "temperature" and n_outputs > 1
        p = _LINKS["softmax" if is_joint else "sigmoid"].format(raw)
    return f"normalised({p})" if n_outputs > 1 else p


def _categories(column: PortableColumn) -> str:
    if column.categories is None or column.numbers is None:
        return "null"
    is_text = column.categories.kind == "string"
    labels = [string(str(label)) if is_text else repr(float(label)) for label in column.labels]
    *known, unknown, missing = map(_numbers, column.numbers.T)
    pairs = _array(f"[{pair[0]}, {pair[1]}]" for pair in zip(labels, known, strict=True))
    return f"[new Map({pairs}), {unknown}, {missing}]"


def _slopes(trees: FlatTrees) -> str:
    slopes = trees.slopes
    if slopes is None:
        return "[]"
    terms = zip(
        *(slopes.feature.tolist(), slopes.coefficient.tolist(), slopes.centre.tolist()),
        *(slopes.low.tolist(), slopes.high.tolist()),
        strict=True,
    )
    return repr([list(term) for term in terms])


def _numbers(values: Floats) -> str:
    return _array("NaN" if np.isnan(value) else repr(value) for value in values.tolist())


def _array(items: Iterable[str]) -> str:
    return f"[{', '.join(items)}]"
