"""A model as one C99 header, for firmware, databases and services without Python."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from hedgerow._export.flat_trees import FlatTrees, flat_trees
from hedgerow._export.portable import PortableModel
from hedgerow._export.templates import render

_EACH = "for (int k = 0; k < {P}_N_OUTPUTS; ++k) scores[k] = {value};"
_LINKS = {
    "identity": "",
    "margin": "",
    "sorted": "{p}_sort(scores);",
    "log": _EACH.replace("{value}", "{p}_exp(scores[k])"),
    "sigmoid": _EACH.replace("{value}", "{p}_sigmoid(scores[k])"),
    "half_sigmoid": _EACH.replace("{value}", "{p}_sigmoid(2.0 * scores[k])"),
    "softmax": "{p}_softmax(scores);",
}
# Letters that need no octal escape; "\x" would swallow hexadecimal digits that follow. "??/" and
# the like are other letters in strict C and in C++ before C++17, so "?" is none of these.
_PLAIN = re.compile(rb"[ !#->@-\[\]-~]")


def c_header(model: PortableModel, name: str) -> str:
    """Return a header whose functions begin with `name`."""
    trees = flat_trees(model.ensemble)
    p = prefix(name)
    values = {
        "p": p,
        "P": p.upper(),
        "title": f"A {model.kind} as a C function.",
        "origin": model.origin,
        "n_columns": len(model.columns),
        "n_predictions": model.n_predictions,
        "n_features": model.ensemble.n_features,
        "n_outputs": model.ensemble.n_outputs,
        "n_trees": model.ensemble.n_trees,
        "width": model.width,
        "columns": _list(_string(column.name) for column in model.columns),
        "predictions": _list(map(_string, model.prediction_names)),
        **_columns(model),
        "nodes": _list(f"{{{', '.join(map(str, node))}}}" for node in trees.nodes.tolist()),
        "numbers": _numbers(trees.numbers),
        "sets": _list(f"{word}u" for word in trees.sets.reshape(-1).tolist()) or "0",
        "roots": _list(map(str, trees.roots.tolist())) or "0",
        "outputs": _list(map(str, trees.outputs.tolist())) or "0",
        "base": _numbers(model.ensemble.base_score),
        **_slopes(trees, p),
        "help": _help(model, p),
        "steps": _indented(step.format(p=p, P=p.upper()) for step in _steps(model)),
    }
    return render("model.h.txt", values)


def prefix(name: str) -> str:
    """Return a C identifier like a name."""
    word = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "model"
    return f"model_{word}" if word[0].isdigit() else word


def _columns(model: PortableModel) -> dict[str, str]:
    """Return the table of columns, and their categories one after another."""
    rows: list[str] = []
    features: list[int] = []
    numbers: list[float] = []
    labels: dict[bool, list[Any]] = {True: [], False: []}  # by whether they are strings
    for column in model.columns:
        is_text = column.categories is not None and column.categories.kind == "string"
        n_categories = -1 if column.categories is None else len(column.labels)
        first = (len(features), n_categories, len(labels[is_text]), len(numbers))
        rows.append(f"{{{len(column.features)}, {', '.join(map(str, first))}}}")
        features += column.features
        labels[is_text] += column.labels
        numbers += [] if column.numbers is None else column.numbers.reshape(-1).tolist()
    return {
        "column_table": _list(rows),
        "features": _list(map(str, features)),
        "category_numbers": _numbers(numbers),
        "labels": _list(map(_string, labels[True])) or _string(""),
        "number_labels": _numbers([float(label) for label in labels[False]]),
    }


def _slopes(trees: FlatTrees, p: str) -> dict[str, str]:
    """Return the arrays of slopes, and the expression of the value of a leaf."""
    slopes = trees.slopes
    if slopes is None:
        names = ("slope_features", "coefficients", "centres", "lows", "highs")
        return dict.fromkeys(names, "") | {"leaf_value": f"{p}_numbers[leaf->index + k]"}
    return {
        "slope_features": _list(map(str, slopes.feature.tolist())),
        "coefficients": _numbers(slopes.coefficient.reshape(-1)),
        "centres": _numbers(slopes.centre.reshape(-1)),
        "lows": _numbers(slopes.low),
        "highs": _numbers(slopes.high),
        "leaf_value": f"{p}_leaf_value(leaf, x, k)",
    }


def _help(model: PortableModel, p: str) -> str:
    """Return the lines of the header's comment on categories."""
    kinds = {column.categories.kind for column in model.columns if column.categories is not None}
    lines = []
    if "string" in kinds:
        lines.append(f'The number of a category is {p}_category(column, "label").')
    if kinds - {"string"}:
        lines.append(f"If the categories are numbers, it is {p}_number_category(column, category).")
    return "".join(f" * {line}\n" for line in ["", *lines]) if lines else ""


def _steps(model: PortableModel) -> Iterable[str]:
    """Yield the statements that turn scores into the prediction."""
    if model.n_averaged > 1:
        yield _EACH.replace("{value}", f"scores[k] / {model.n_averaged}.0")
    yield from _calibrated(model) if model.calibration else [_LINKS[model.link]]
    at = 0
    for k in range(model.ensemble.n_outputs):
        if k in model.pairs:
            yield f"prediction[{at}] = 1.0 - scores[{k}];"
            at += 1
        yield f"prediction[{at}] = scores[{k}];"
        at += 1


def _calibrated(model: PortableModel) -> Iterable[str]:
    calibration, n_outputs = model.calibration, model.ensemble.n_outputs
    assert calibration is not None
    if calibration.method == "isotonic":
        yield f"static const double x[] = {{{{{_numbers(calibration.x)}}}}};"
        yield f"static const double y[] = {{{{{_numbers(calibration.y)}}}}};"
        starts = _list(map(str, calibration.start.tolist()))
        yield f"static const int start[] = {{{{{starts}}}}};"
        points = "start[k + 1] - start[k], x + start[k], y + start[k]"
        yield _EACH.replace("{value}", f"{{p}}_interpolate(scores[k], {points})")
    else:
        yield f"static const double slope[] = {{{{{_numbers(calibration.slope)}}}}};"
        yield f"static const double offset[] = {{{{{_numbers(calibration.offset)}}}}};"
        yield _EACH.replace("{value}", "{p}_times(scores[k], slope[k]) + offset[k]")
        is_joint = calibration.method == "temperature" and n_outputs > 1
        yield _LINKS["softmax" if is_joint else "sigmoid"]
    if n_outputs > 1:
        yield "{p}_normalise(scores);"


def _indented(statements: Iterable[str]) -> str:
    return "\n".join(f"  {statement}" for statement in statements if statement)


def _numbers(values: Iterable[float]) -> str:
    """Return numbers that C reads to the last bit; an array of C has at least one.

    C++ has no hexadecimal numbers before C++17. Of 17 digits, a compiler makes the same number even
    if it rounds to an extended precision first.
    """
    return _list("NAN" if np.isnan(value) else f"{value:.16e}" for value in values) or "0.0"


def _string(text: str) -> str:
    escaped = (
        chr(byte) if _PLAIN.fullmatch(bytes([byte])) else f"\\{byte:03o}" for byte in text.encode()
    )
    return f'"{"".join(escaped)}"'


def _list(items: Iterable[str]) -> str:
    return ", ".join(items)
