"""`hedgerow inspect` and `hedgerow convert`: the contents of a model file, and other formats."""

from __future__ import annotations

import hashlib
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

import hedgerow as hr
from hedgerow._cli import output
from hedgerow._cli.options import STANDARD
from hedgerow._contract import internals
from hedgerow._data.names import listed
from hedgerow._data.table import TableSchema
from hedgerow._export import FORMATS
from hedgerow._import.reading import is_foreign
from hedgerow._model_file.atomic import write_atomically
from hedgerow._model_file.container import unpack
from hedgerow._model_file.text import to_json
from hedgerow._params import parameters_of
from hedgerow._tree.additive import additive_trees
from hedgerow._tree.export import Wording
from hedgerow._tree.export import lines_of as tree_lines
from hedgerow.exceptions import ParameterError

_MAX_COLUMN_LINES = 12
_DEPTH = 1_000  # to print the whole tree
_DECIMALS = 6


def inspect(model_file: Path, number_of_tree: int | None, as_json: bool) -> None:
    """Print the contents of a model file, or one of its trees."""
    model = hr.read_model(model_file)
    if number_of_tree is not None:
        text = _tree_text(model, number_of_tree)
        output.answer_json({"tree": number_of_tree, "text": text}) if as_json else output.answer(
            text
        )
        return
    facts = _facts(model, model_file)
    if as_json:
        output.answer_json(facts)
    else:
        output.answer(output.lines_of(_texts(facts, model_file)))


def _facts(model: Any, path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    defaults = {parameter.name: parameter.default for parameter in parameters_of(model)}
    parameters = model.get_params(deep=False)
    classes = getattr(model, "classes_", None)
    return {
        "model": type(model).__name__,
        "hedgerow": _version(data),
        "origin": str(model.origin_) if hasattr(model, "origin_") else None,
        "written": datetime.fromtimestamp(path.stat().st_mtime)
        .astimezone()
        .isoformat(" ", "minutes"),
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "classes": classes.tolist() if isinstance(classes, np.ndarray) else None,
        "trees": _count_trees(model),
        "rounds": getattr(model, "n_iter_", None) if hasattr(model, "evals_result_") else None,
        "best_score": getattr(model, "best_score_", None),
        "columns": _columns(model),
        "na_values": getattr(model, "na_values_", None),
        "positive_class": getattr(model, "positive_class_", None),
        "parameters": {
            name: value for name, value in parameters.items() if value != defaults[name]
        },
        "defaults": {name: value for name, value in parameters.items() if value == defaults[name]},
    }


def _version(data: bytes) -> str | None:
    """Return the version that wrote a model file; None for files of other libraries."""
    return None if is_foreign(data) else str(unpack(data)[0].get("library_version"))


def _count_trees(model: Any) -> int | None:
    learned = internals(model).model()
    for part in ("ensemble", "forest"):
        if hasattr(learned, part):
            return int(getattr(learned, part).n_trees)
    return None


def _columns(model: Any) -> list[dict[str, Any]]:
    """Return the names of the columns and their types."""
    schema = _schema(model)
    names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(model.n_features_in_)])
    columns = []
    for j, name in enumerate(names):
        categories = None if schema is None else schema.categories.get(j)
        column: dict[str, Any] = {"name": str(name), "holds": "numbers"}
        if categories is not None:
            column |= {"holds": "categories", "categories": list(categories.values)}
        columns.append(column)
    return columns


def _schema(model: Any) -> TableSchema | None:
    return getattr(internals(model).model(), "schema", None)


def _texts(facts: dict[str, Any], path: Path) -> dict[str, str]:
    """Return the facts as text, without those that the model does not have."""
    rounds, best = facts["rounds"], facts["best_score"]
    texts = {
        "model": facts["model"],
        "file": f"{path}, {output.size_of(path)}",
        "written": facts["written"]
        + ("" if facts["hedgerow"] is None else f" by Hedgerow {facts['hedgerow']}"),
        "origin": facts["origin"] or "",
        "sha256": facts["sha256"],
        "classes": "" if facts["classes"] is None else listed(list(map(str, facts["classes"]))),
        "trees": "" if facts["trees"] is None else f"{facts['trees']:,}",
        "rounds": "" if rounds is None else f"{rounds}",
        "best score": "" if best is None else f"{output.number(best)} on the validation set",
        "columns": f"{len(facts['columns'])}\n" + _column_lines(facts["columns"]),
        "missing": "" if not facts["na_values"] else f"also {listed(facts['na_values'])}",
        "parameters": "\n".join(f"{name}={value!r}" for name, value in facts["parameters"].items())
        or "all defaults",
    }
    return {name: text for name, text in texts.items() if text}


def _column_lines(columns: list[dict[str, Any]]) -> str:
    lines = [_column_line(column) for column in columns[:_MAX_COLUMN_LINES]]
    more = len(columns) - _MAX_COLUMN_LINES
    return "\n".join([*lines, *([f"and {more} more (--json lists all)"] if more > 0 else [])])


def _column_line(column: dict[str, Any]) -> str:
    categories = column.get("categories")
    if categories is None:
        return f"{column['name']}: numbers"
    return (
        f"{column['name']}: {len(categories)} categories, {listed(list(map(str, categories)), 4)}"
    )


def _tree_text(model: Any, which: int) -> str:
    trees = additive_trees(model)
    ensemble, schema = trees.ensemble, _schema(model)
    if schema is None:
        raise ParameterError(
            f"--tree: the trees of this {type(model).__name__} are separate models."
        )
    if which >= ensemble.n_trees:
        raise ParameterError(f"--tree {which}: the trees are 0 to {ensemble.n_trees - 1}.")
    tree = ensemble.tree(which)
    names = [trees.feature_names[source] for source in trees.sources]
    wording = Wording(schema, internals(model).model().category_bins, names, _DECIMALS, True)

    def leaf_text(node: int) -> str:
        values = ", ".join(f"{value:.{_DECIMALS}g}" for value in tree.value[node])
        return f"{values}  ({tree.count[node]:,} rows)"

    output = trees.output_names[int(ensemble.tree_output[which])]
    of = "all outputs" if tree.value.shape[1] > 1 else output
    title = f"tree {which} of {ensemble.n_trees}; leaves add to {of}, {trees.unit}"
    return "\n".join([title, *tree_lines(tree, wording, leaf_text, _DEPTH, 2)])


def convert(model_file: Path, out: Path, table: str | None, keep: str) -> None:
    """Write a model as JSON, as a model file, or in the format of another program."""
    if out == STANDARD:
        output.answer(to_json(hr.read_model(model_file)))
        return
    output.require_file(out)
    output.require_other_files([out], model_file)
    name = out.name.lower()
    exported = tuple(ending for each in FORMATS.values() for ending in each.suffixes)
    if not name.endswith((".json", ".hedgerow", *exported)):
        raise ParameterError(
            f"cannot convert to {out}: its name must end in .json, .hedgerow, "
            f"{', '.join(exported[:-1])} or {exported[-1]}."
        )
    model = hr.read_model(model_file)
    if name.endswith(exported):
        model.export(out, table=table, keep=[column for column in keep.split(",") if column])
    elif name.endswith(".json"):
        write_atomically(str(out), to_json(model).encode())
    else:
        model.save(out)
    output.say(f"{out} ({output.size_of(out)})")
