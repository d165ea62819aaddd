"""A model as one SQL query, for scoring inside a database.

It uses what SQLite, DuckDB and PostgreSQL have in common. Trees are nested CASE expressions, one
column for each, in common table expressions of at most some hundred trees: databases limit the
depth of an expression and the number of columns. Sums are of float64 in the order of the trees, and
exp is the database's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hedgerow._export.portable import PortableColumn, PortableModel
from hedgerow._tree.structure import Tree
from hedgerow.exceptions import ExportError, ParameterError

_TREES_AT_A_TIME = 200


def sql_query(model: PortableModel, table: str | None, keep: Sequence[str]) -> str:
    """Return a query of the predictions for the rows of a table.

    Its result has the columns `keep` of the table, such as its key, and a column for each number of
    the prediction.
    """
    if table is None:
        raise ParameterError("table=None is not allowed for SQL: pass the name of the table.")
    if isinstance(keep, str) or not all(isinstance(column, str) for column in keep):
        raise ParameterError(f"keep={keep!r} is not allowed; it must be a list of column names.")
    if model.link == "sorted" and model.ensemble.n_outputs > 1:
        raise ExportError("SQL cannot sort the predicted quantiles of a row; export each quantile.")
    comment = [
        f"-- A {model.kind} as a query, written by {model.origin}.",
        "-- NULL is a missing value; other values that are not numbers (NaN) must be NULL, too.",
    ]
    kept = {f"k{i}": _quoted(name) for i, name in enumerate(keep)}
    *inner, last = _steps(model, _quoted(table), kept)
    tables = ",\n".join(f"{alias} AS (\n{query}\n)" for alias, query in inner)
    return "\n".join([*comment, f"WITH {tables}", f"{last[1]};", ""])


def _steps(model: PortableModel, table: str, kept: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the name and the query of each step.

    Columns to keep have other names on the way, since the table's may be those of the steps.
    """
    ensemble = model.ensemble
    features = [f"f{j}" for j in range(ensemble.n_features)]
    scores = [f"s{k}" for k in range(ensemble.n_outputs)]
    base = [f"{_number(b)} AS {s}" for b, s in zip(ensemble.base_score, scores, strict=True)]
    own = [f"{name} AS {alias}" for alias, name in kept.items()]
    yield "step0", _select([*own, *_feature_columns(model), *base], table)
    at = 0
    for begin in range(0, ensemble.n_trees, _TREES_AT_A_TIME):
        chunk = range(begin, min(begin + _TREES_AT_A_TIME, ensemble.n_trees))
        trees = [
            f"{_expression(model, ensemble.tree(t), 0, k)} AS t{t}_{k}"
            for t in chunk
            for k in range(model.width)
        ]
        yield f"step{at + 1}", _select([*kept, *features, *scores, *trees], f"step{at}")
        sums = [_sum(model, chunk, output) for output in range(ensemble.n_outputs)]
        yield f"step{at + 2}", _select([*kept, *features, *sums], f"step{at + 1}")
        at += 2
    linked = [f"{p} AS p{k}" for k, p in enumerate(_linked(model, scores))]
    yield f"step{at + 1}", _select([*kept, *linked], f"step{at}")
    restored = [f"{alias} AS {name}" for alias, name in kept.items()]
    yield "", _select([*restored, *_named(model)], f"step{at + 1}")


def _select(columns: Sequence[str], table: str) -> str:
    listed = ",\n  ".join(columns)
    return f"SELECT {listed}\nFROM {table}"


def _feature_columns(model: PortableModel) -> Iterator[str]:
    """Yield the features of the trees: a number, or what stands for a category."""
    for column in model.columns:
        for k, feature in enumerate(column.features):
            yield f"{_feature(column, k)} AS f{feature}"


def _feature(column: PortableColumn, k: int) -> str:
    if column.categories is None or column.numbers is None:
        return f"CAST({_quoted(column.name)} AS DOUBLE PRECISION)"
    *known, unknown, missing = (_number(number) for number in column.numbers[k])
    name = _quoted(column.name)
    tests = [_is_label(name, label) for label in column.labels]
    cases = " ".join(
        f"WHEN {test} THEN {number}" for test, number in zip(tests, known, strict=True)
    )
    return f"CASE WHEN {name} IS NULL THEN {missing} {cases} ELSE {unknown} END"


def _is_label(name: str, label: object) -> str:
    if isinstance(label, bool):
        return name if label else f"NOT {name}"
    if isinstance(label, str):
        text = label.replace("'", "''")
        return f"{name} = '{text}'"
    return f"{name} = {label!r}"


def _expression(model: PortableModel, tree: Tree, node: int, k: int) -> str:
    if tree.feature[node] < 0:
        return _leaf(tree, node, k)
    feature = f"f{tree.feature[node]}"
    if tree.category_set[node] >= 0:
        members = _members(tree.category_bits[tree.category_set[node]])
        test = f"{feature} IN ({', '.join(members)})" if members else "1 = 0"
    else:
        test = f"{feature} <= {_number(tree.threshold[node])}"
    if tree.missing_left[node]:
        test = f"{feature} IS NULL OR {test}"
    left = _expression(model, tree, int(tree.left[node]), k)
    right = _expression(model, tree, int(tree.right[node]), k)
    return f"CASE WHEN {test} THEN {left} ELSE {right} END"


def _leaf(tree: Tree, node: int, k: int) -> str:
    value = _number(tree.value[node, k])
    slopes = tree.slopes
    if slopes is None:
        return value
    terms = [value]
    for t in range(slopes.start[node], slopes.start[node + 1]):
        x, low, high = f"f{slopes.feature[t]}", _number(slopes.low[t]), _number(slopes.high[t])
        clipped = f"CASE WHEN {x} < {low} THEN {low} WHEN {x} > {high} THEN {high} ELSE {x} END"
        slope, centre = _number(slopes.coefficient[t, k]), _number(slopes.centre[t, k])
        terms.append(f"CASE WHEN {x} IS NULL THEN 0e0 ELSE {slope} * ({clipped} - {centre}) END")
    return f"({' + '.join(terms)})"


def _members(bits: NDArray[np.uint32]) -> list[str]:
    return [str(b) for b in range(256) if int(bits[b >> 5]) >> (b & 31) & 1]


def _sum(model: PortableModel, chunk: range, output: int) -> str:
    if model.width > 1:
        terms = [f"t{t}_{output}" for t in chunk]
    else:
        terms = [f"t{t}_0" for t in chunk if model.ensemble.tree_output[t] == output]
    return f"{' + '.join([f's{output}', *terms])} AS s{output}"


def _linked(model: PortableModel, scores: Sequence[str]) -> list[str]:
    """Return the expressions of predictions, or of one probability of each pair."""
    if model.n_averaged > 1:
        return [f"{score} / {_number(model.n_averaged)}" for score in scores]
    if model.calibration is not None:
        return _calibrated(model, scores)
    if model.link == "softmax":
        return _softmax(scores)
    functions = {
        "log": "exp({0})",
        "sigmoid": _SIGMOID,
        "half_sigmoid": _SIGMOID.replace("{0}", "(2e0 * {0})"),
    }
    return [functions.get(model.link, "{0}").format(score) for score in scores]


# Without overflow, which some databases report as an error.
_SIGMOID = "CASE WHEN {0} >= 0 THEN 1e0 / (1e0 + exp(-{0})) ELSE exp({0}) / (1e0 + exp({0})) END"
_POWER = "exp(CASE WHEN {0} > 700 THEN 700 ELSE {0} END)"


def _softmax(scores: Sequence[str]) -> list[str]:
    return [
        f"1e0 / ({' + '.join(_POWER.format(f'({other} - {score})') for other in scores)})"
        for score in scores
    ]


def _calibrated(model: PortableModel, scores: Sequence[str]) -> list[str]:
    calibration = model.calibration
    assert calibration is not None
    if calibration.method == "isotonic":
        curves = calibration.curves()
        p = [_curve(score, *curve) for score, curve in zip(scores, curves, strict=True)]
    else:
        lines = zip(scores, calibration.slope, calibration.offset, strict=True)
        raw = [f"({score} * {_number(a)} + {_number(b)})" for score, a, b in lines]
        if calibration.method == "temperature" and len(scores) > 1:
            return _softmax(raw)
        p = [_SIGMOID.format(score) for score in raw]
    if len(p) == 1:
        return p
    total = f"({' + '.join(f'({one})' for one in p)})"
    return [
        f"CASE WHEN {total} > 0 THEN ({one}) / {total} ELSE {_number(1 / len(p))} END" for one in p
    ]


def _curve(score: str, x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    cases = [f"WHEN {score} < {_number(x[0])} THEN {_number(y[0])}"]
    for i in range(len(x) - 1):
        slope = (y[i + 1] - y[i]) / (x[i + 1] - x[i])
        value = f"{_number(slope)} * ({score} - {_number(x[i])}) + {_number(y[i])}"
        cases.append(f"WHEN {score} < {_number(x[i + 1])} THEN {value}")
    return f"CASE {' '.join(cases)} ELSE {_number(y[-1])} END"


def _named(model: PortableModel) -> Iterator[str]:
    """Yield the columns of the result."""
    names = iter(model.prediction_names)
    for k in range(model.ensemble.n_outputs):
        if k in model.pairs:
            yield f"1e0 - p{k} AS {_quoted(next(names))}"
        yield f"p{k} AS {_quoted(next(names))}"


def _number(value: float) -> str:
    """Return a literal of type double; without an exponent it would be a decimal."""
    if np.isnan(value):
        return "NULL"
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def _quoted(name: str) -> str:
    return f'"{name.replace(chr(34), 2 * chr(34))}"'
