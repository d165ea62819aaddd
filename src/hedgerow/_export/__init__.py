"""Fitted models → other programs: LightGBM's text format, ONNX, C, JavaScript, Python, SQL.

`portable.py` is the form of tree models that all formats start from, and a file for each format
writes it. SVMs and neighbours are written as ONNX only, by `onnx_rows.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal

from hedgerow._estimator import Estimator
from hedgerow._export.c import c_header
from hedgerow._export.javascript import javascript_module
from hedgerow._export.lightgbm_text import lightgbm_text
from hedgerow._export.onnx import onnx_bytes
from hedgerow._export.onnx_rows import has_no_trees, rows_onnx
from hedgerow._export.portable import PortableModel, portable
from hedgerow._export.python import python_source
from hedgerow._export.sql import sql_query
from hedgerow._export.xgboost_json import xgboost_json
from hedgerow._model_file.atomic import file_name, write_atomically
from hedgerow.exceptions import ParameterError

__all__ = ["FORMATS", "ExportFormat", "export"]

ExportFormat = Literal["c", "javascript", "lightgbm", "onnx", "python", "sql", "xgboost"]


@dataclass(frozen=True)
class Destination:
    """What an export may depend on beside the model: the name of the file, and the SQL table."""

    name: str
    table: str | None
    keep: Sequence[str]


@dataclass(frozen=True)
class Format:
    """The endings of a format's files, and the function that writes a model."""

    suffixes: tuple[str, ...]
    write: Callable[[PortableModel, Destination], str | bytes]


FORMATS: dict[ExportFormat, Format] = {
    "c": Format((".h",), lambda model, to: c_header(model, to.name)),
    "javascript": Format((".js", ".mjs"), lambda model, _: javascript_module(model)),
    "lightgbm": Format((".txt",), lambda model, _: lightgbm_text(model)),
    "onnx": Format((".onnx",), lambda model, _: onnx_bytes(model)),
    "python": Format((".py",), lambda model, _: python_source(model)),
    "sql": Format((".sql",), lambda model, to: sql_query(model, to.table, to.keep)),
    "xgboost": Format((".xgb.json",), lambda model, _: xgboost_json(model)),
}


def export(
    estimator: Estimator,
    path: str | PathLike[str],
    format: ExportFormat | None = None,  # noqa: A002
    *,
    table: str | None = None,
    keep: Sequence[str] = (),
) -> None:
    """Write a fitted tree model in the format of another program; see `Estimator.export`."""
    file = Path(file_name(path))
    name = _format_of(file, format)
    written: str | bytes
    if name == "onnx":
        written = onnx_of(estimator)
    else:
        to = Destination(file.stem, table, keep)
        written = FORMATS[name].write(portable(estimator), to)
    write_atomically(str(file), written.encode() if isinstance(written, str) else written)


def onnx_of(estimator: Estimator) -> bytes:
    """Return the bytes of a fitted estimator as ONNX."""
    if has_no_trees(estimator):
        return rows_onnx(estimator)
    return onnx_bytes(portable(estimator))


def _format_of(file: Path, format: str | None) -> ExportFormat:  # noqa: A002
    if format is None:
        for name, each in FORMATS.items():
            if file.name.lower().endswith(each.suffixes):
                return name
        endings = ", ".join(f"{' or '.join(each.suffixes)}" for each in FORMATS.values())
        raise ParameterError(
            f"path={str(file)!r} does not determine the format: its extension must be one of "
            f"{endings}, unless format is passed."
        )
    for name in FORMATS:
        if format == name:
            return name
    raise ParameterError(
        f"format={format!r} is not allowed; it must be one of {', '.join(map(repr, FORMATS))}."
    )
