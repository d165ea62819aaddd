"""The types of fitted models, for `skops.io.load(file, trusted=TRUSTED_TYPES)`.

skops refuses to load types that it does not know unless they are listed as trusted. The types here
are classes that contain parameters and arrays; creating them runs no code from the file. However,
skops does not check the arrays, as `hedgerow.load` does: load files from untrusted sources only in
Hedgerow's own format.

The list is derived: fitted models consist of what the readers of model files create, so it is all
records and estimators that those modules name.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib import import_module

import scipy.sparse

from hedgerow import _model_file
from hedgerow._data.binning import Binner
from hedgerow._data.table import Categories
from hedgerow._estimator import Estimator
from hedgerow._model_file.checkpoint import Checkpoint
from hedgerow._model_file.contents import FileKind

__all__ = ["TRUSTED_TYPES"]

# Columns and rows within the schema and the models of SVMs and neighbours.
_WITHIN = (Categories, scipy.sparse.csr_array)
# Records of the readers themselves.
_OF_READERS = (Checkpoint, FileKind)


def _types() -> Iterator[type]:
    """Yield the classes of which fitted models consist."""
    yield from _WITHIN
    for module in pkgutil.iter_modules(_model_file.__path__, f"{_model_file.__name__}."):
        for value in vars(import_module(module.name)).values():
            if isinstance(value, type) and _is_state(value) and value not in _OF_READERS:
                yield value


def _is_state(kind: type) -> bool:
    is_estimator = issubclass(kind, Estimator) and kind is not Estimator
    return is_dataclass(kind) or is_estimator or kind is Binner


TRUSTED_TYPES: tuple[str, ...] = tuple(
    sorted({f"{kind.__module__}.{kind.__qualname__}" for kind in _types()})
)
