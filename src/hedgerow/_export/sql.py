"""A model as one SQL query, for scoring inside a database.

It uses what SQLite, DuckDB and PostgreSQL have in common. Databases limit how deep expressions
nest, and the time that they take to plan a query can grow with the square of its largest part:

- A tree is a CASE with a branch for each split on one long path, so that only the shorter side of a
  split is an expression inside another: nesting grows with the logarithm of the number of leaves.
- A part of the query adds up some trees for all rows, and the parts are added up at the end.

Sums are of float64, in an order that the database chooses, and exp is the database's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hedgerow._export.portable import PortableColumn, PortableModel
from hedgerow._tree.structure import Tree
from hedgerow.exceptions import ParameterError

_LEAVES_OF_A_PART = 500  # DuckDB plans parts of 300 and of 700 leaves equally fast
_MOST_PARTS = 400  # SQLite allows 500 terms of a union


def sql_refusal(model: PortableModel) -> str | None:
    """Return why SQL cannot hold a model."""
    if model.link == "sorted" and model.ensemble.n_outputs > 1:
        return "SQL cannot sort the predicted quantiles of a row; fit a model for each quantile"
    texts = [column.name for column in model.columns]
    texts += [label for c in model.columns for label in c.labels if isinstance(label, str)]
    with_nul = [text for text in (*texts, *model.prediction_names) if "\0" in text]
    return f"databases allow no NUL, which {with_nul[0]!r} contains" if with_nul else None


def sql_query(model: PortableModel, table: str | None, keep: Sequence[str]) -> str:
    """Return a query of the predictions for the rows of a table.

    Its result has the columns `keep` of the table, such as its key, and a column for each number of
    the prediction.
    """
    if table is None:
        raise ParameterError("table=None is not allowed for SQL: pass the name of the table.")
    if isinstance(keep, str) or not all(isinstance(column, str) for column in keep):
        raise ParameterError(f"keep={keep!r} is not allowed; it must be a list of column names.")
    if any("\0" in name for name in (table, *keep)):
        raise ParameterError("table and keep must not contain NUL, which databases do not allow.")
    comment = [
        f"-- A {model.kind} as a query, written by {model.origin}.",
        "-- NULL is a missing value; other values that are not numbers (NaN) must be NULL, too.",
    ]
    kept = {f"k{i}": _quoted(name) for i, name in enumerate(keep)}
    *inner, last = _steps(model, _quoted(table), kept)
    tables = ",\n".join(f"{alias} AS {query}" for alias, query in inner)
    return "\n".join([*comment, f"WITH {tables}", f"{last[1]};", ""])


def _steps(model: PortableModel, table: str, kept: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the name and the query of each step.

    Columns to keep have other names on the way, since the table's may be those of the steps.
    """
    ensemble = model.ensemble
    scores = [f"s{k}" for k in range(ensemble.n_outputs)]
    own = [f"{name} AS {alias}" for alias, name in kept.items()]
    numbered = _select(["row_number() OVER () AS r", *own, *_feature_columns(model)], table)
    # Two readings of the table might number its rows differently.
    yield "features", f"MATERIALIZED (\n{numbered}\n)"
    parts = [_select(["r", *sums], "features") for sums in _parts(model)]
    union = "\nUNION ALL\n".join(parts)
    yield "parts", f"(\n{union}\n)"
    totals = [
        f"{_number(base)} + sum({score}) AS {score}"
        for base, score in zip(ensemble.base_score, scores, strict=True)
    ]
    # Otherwise DuckDB 1.1 reads "features", which two steps use, as a duplicate alias.
    yield "scores", f"MATERIALIZED (\n{_select(['r', *totals], 'parts')}\nGROUP BY r\n)"
    linked = [f"{p} AS p{k}" for k, p in enumerate(_linked(model, scores))]
    joined = "features JOIN scores ON scores.r = features.r"
    yield "predictions", f"(\n{_select([*kept, *linked], joined)}\n)"
    restored = [f"{alias} AS {name}" for alias, name in kept.items()]
    yield "", _select([*restored, *_named(model)], "predictions")


def _parts(model: PortableModel) -> Iterator[list[str]]:
    """Yield the sums of some of the trees, one for each output."""
    ensemble, width = model.ensemble, model.width
    size = max(_LEAVES_OF_A_PART, width * ensemble.n_leaves // _MOST_PARTS)
    terms: list[list[str]] = [[] for _ in range(ensemble.n_outputs)]
    n_leaves = 0
    for t in range(ensemble.n_trees):
        tree = ensemble.tree(t)
        nesting = _nesting(tree)
        for k in range(width):
            terms[ensemble.tree_output[t] + k].append(_expression(tree, nesting, 0, k))
        n_leaves += width * tree.n_leaves
        if n_leaves >= size and t + 1 < ensemble.n_trees:
            yield _sums(terms)
            terms, n_leaves = [[] for _ in terms], 0
    yield _sums(terms)


def _sums(terms: list[list[str]]) -> list[str]:
    return [f"{' + '.join(each) or '0e0'} AS s{k}" for k, each in enumerate(terms)]


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


def _nesting(tree: Tree) -> NDArray[np.int64]:
    """Return how deep the expression of each subtree nests: its Strahler number.

    The side that nests deeper continues the CASE of its parent, the other is inside of it.
    """
    nesting = np.zeros(tree.n_nodes, np.int64)
    for node in np.flatnonzero(tree.feature >= 0)[::-1]:  # children come after their parents
        left, right = nesting[tree.left[node]], nesting[tree.right[node]]
        nesting[node] = max(left, right, min(left, right) + 1)
    return nesting


def _expression(tree: Tree, nesting: NDArray[np.int64], node: int, k: int) -> str:
    branches = []
    while tree.feature[node] >= 0:
        left, right = int(tree.left[node]), int(tree.right[node])
        is_left = bool(nesting[left] <= nesting[right])
        inside, node, at = (left, right, node) if is_left else (right, left, node)
        test = _test(tree, at, is_left)
        branches.append(f"WHEN {test} THEN {_expression(tree, nesting, inside, k)}")
    leaf = _leaf(tree, node, k)
    return f"CASE {' '.join(branches)} ELSE {leaf} END" if branches else leaf


def _test(tree: Tree, node: int, is_left: bool) -> str:
    """Return the condition of going left, or that of going right."""
    feature = f"f{tree.feature[node]}"
    if tree.category_set[node] < 0:
        test = f"{feature} {'<=' if is_left else '>'} {_number(tree.threshold[node])}"
    else:
        members = _members(tree.category_bits[tree.category_set[node]])
        nothing = "1 = 0" if is_left else f"{feature} IS NOT NULL"
        listed = f"{feature} {'' if is_left else 'NOT '}IN ({', '.join(members)})"
        test = listed if members else nothing
    # A comparison with NULL is not true.
    return f"{feature} IS NULL OR {test}" if tree.missing_left[node] == is_left else test


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
