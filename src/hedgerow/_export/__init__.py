"""Fitted models → text files of LightGBM, JSON of XGBoost, ONNX, C, JavaScript, Python, SQL.

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
from hedgerow._export.lightgbm_text import lightgbm_refusal, lightgbm_text
from hedgerow._export.onnx import onnx_bytes, onnx_refusal
from hedgerow._export.onnx_rows import has_no_trees, rows_onnx
from hedgerow._export.portable import PortableModel, portable
from hedgerow._export.python import python_source
from hedgerow._export.sql import sql_query, sql_refusal
from hedgerow._export.xgboost_json import xgboost_json, xgboost_refusal
from hedgerow._model_file.atomic import file_name, write_atomically
from hedgerow.exceptions import ExportError, ParameterError

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
    """The endings of a format's files, what writes a model, and why it cannot, if it cannot."""

    title: str
    suffixes: tuple[str, ...]
    write: Callable[[PortableModel, Destination], str | bytes]
    refusal: Callable[[PortableModel], str | None] = lambda _: None


FORMATS: dict[ExportFormat, Format] = {
    "c": Format("C", (".h",), lambda model, to: c_header(model, to.name)),
    "javascript": Format("JavaScript", (".js", ".mjs"), lambda model, _: javascript_module(model)),
    "lightgbm": Format(
        *("LightGBM's text format", (".txt",), lambda model, _: lightgbm_text(model)),
        lightgbm_refusal,
    ),
    "onnx": Format("ONNX", (".onnx",), lambda model, _: onnx_bytes(model), onnx_refusal),
    "python": Format("Python", (".py",), lambda model, _: python_source(model)),
    "sql": Format(
        *("SQL", (".sql",), lambda model, to: sql_query(model, to.table, to.keep)),
        sql_refusal,
    ),
    "xgboost": Format(
        *("XGBoost's JSON", (".xgb.json",), lambda model, _: xgboost_json(model)),
        xgboost_refusal,
    ),
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
        written = _written(FORMATS[name], portable(estimator), to)
    write_atomically(str(file), written.encode() if isinstance(written, str) else written)


def onnx_of(estimator: Estimator) -> bytes:
    """Return the bytes of a fitted estimator as ONNX."""
    if has_no_trees(estimator):
        return rows_onnx(estimator)
    written = _written(FORMATS["onnx"], portable(estimator), Destination("", None, ()))
    assert isinstance(written, bytes)
    return written


def _written(writer: Format, model: PortableModel, to: Destination) -> str | bytes:
    _require_support(writer, model)
    return writer.write(model, to)


def _require_support(writer: Format, model: PortableModel) -> None:
    reason = writer.refusal(model)
    if reason is None:
        return
    others = [repr(name) for name, each in FORMATS.items() if each.refusal(model) is None]
    raise ExportError(
        f"{writer.title} cannot represent this model: {reason}. The formats that can are "
        f"{', '.join(others[:-1])} and {others[-1]}."
    )


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
