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
from hedgerow._export.onnx_rows import has_no_trees, require_expressible, rows_onnx
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

    name: str = "model"
    table: str | None = None
    keep: Sequence[str] = ()


@dataclass(frozen=True)
class Format:
    """The endings of a format's files, what writes a model, and why it cannot, if it cannot.

    `write_rows` writes SVMs and neighbours, which have no trees.
    """

    title: str
    suffixes: tuple[str, ...]
    write: Callable[[PortableModel, Destination], str | bytes]
    refusal: Callable[[PortableModel], str | None] = lambda _: None
    write_rows: Callable[[Estimator], bytes] | None = None


FORMATS: dict[ExportFormat, Format] = {
    "c": Format("C", (".h",), lambda model, to: c_header(model, to.name)),
    "javascript": Format("JavaScript", (".js", ".mjs"), lambda model, _: javascript_module(model)),
    "lightgbm": Format(
        *("LightGBM's text format", (".txt",), lambda model, _: lightgbm_text(model)),
        lightgbm_refusal,
    ),
    "onnx": Format(
        *("ONNX", (".onnx",), lambda model, _: onnx_bytes(model)),
        onnx_refusal,
        rows_onnx,
    ),
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
    """Write a fitted model in the format of another program; see `Estimator.export`."""
    file = Path(file_name(path))
    to = Destination(file.stem, table, keep)
    write_atomically(str(file), exported(estimator, _format_of(file, format), to))


_ANYWHERE = Destination()


def exported(estimator: Estimator, name: ExportFormat, to: Destination = _ANYWHERE) -> bytes:
    """Return what the file of a fitted estimator in a format contains."""
    writer = FORMATS[name]
    if has_no_trees(estimator):
        require_expressible(estimator)
        if writer.write_rows is None:
            can = [name for name, each in FORMATS.items() if each.write_rows is not None]
            raise _refused(writer, f"{type(estimator).__name__} has no trees", can)
        return writer.write_rows(estimator)
    model = portable(estimator)
    reason = writer.refusal(model)
    if reason is not None:
        can = [name for name, each in FORMATS.items() if each.refusal(model) is None]
        raise _refused(writer, reason, can)
    written = writer.write(model, to)
    return written.encode() if isinstance(written, str) else written


def _refused(writer: Format, reason: str, others: Sequence[ExportFormat]) -> ExportError:
    *most, last = map(repr, others)
    can = f"formats that can are {', '.join(most)} and" if most else "format that can is"
    return ExportError(f"{writer.title} cannot represent this model: {reason}. The {can} {last}.")


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
