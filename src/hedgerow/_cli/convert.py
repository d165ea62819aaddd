"""`hedgerow convert`: a model file ↔ the same model as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hedgerow as hr
from hedgerow._cli.options import STANDARD
from hedgerow._cli.output import answer, require_file, say, size_of
from hedgerow._model_file.atomic import write_atomically
from hedgerow._model_file.text import from_json, to_json
from hedgerow.exceptions import ParameterError


def convert(model_file: Path, out: Path) -> None:
    """Write a model in the other of the two formats, or in its own."""
    if out == STANDARD:
        answer(to_json(_read(model_file)))
        return
    require_file(out)
    end = out.suffix.lower()
    if end not in (".json", ".hedgerow"):
        raise ParameterError(f"cannot convert to {out}: its name must end in .json or .hedgerow.")
    model = _read(model_file)
    if end == ".json":
        write_atomically(str(out), to_json(model).encode())
    else:
        model.save(out)
    say(f"{out} ({size_of(out)})")


def _read(path: Path) -> Any:
    if path.suffix.lower() != ".json":
        return hr.load(path)
    return from_json(path.read_bytes(), str(path))
