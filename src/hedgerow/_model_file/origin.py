"""`Origin`: where a model that was read from another library comes from."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from hedgerow._model_file.container import Document
from hedgerow._model_file.stored import require


@dataclass(frozen=True)
class Origin:
    """Where a model comes from, if another library fitted it.

    Attributes
    ----------
    library : str
        The library, such as "XGBoost".
    version : str
        Its version; empty if the file does not tell.
    format : str
        What was read, such as "JSON" or "text v4".
    objective : str
        The objective as the library calls it.
    notes : tuple of str
        What differs from the library's own predictions, if anything does.
    """

    library: str
    version: str = ""
    format: str = ""
    objective: str = ""
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        named = f"{self.library} {self.version}".strip()
        return f"{named} ({self.format}{', ' + self.objective if self.objective else ''})"


def write_origin(origin: Origin) -> Document:
    """Return an origin as JSON values."""
    return asdict(origin) | {"notes": list(origin.notes)}


def read_origin(stored: Any) -> Origin:
    """Read the output of `write_origin`."""
    names = {field.name for field in fields(Origin)}
    is_origin = isinstance(stored, dict) and set(stored) == names
    require(is_origin, f"origin does not have exactly the fields {', '.join(sorted(names))}")
    notes = stored.pop("notes")
    texts = [*stored.values(), *(notes if isinstance(notes, list) else [None])]
    require(all(type(text) is str for text in texts), "origin has something other than strings")
    return Origin(**stored, notes=tuple(notes))
