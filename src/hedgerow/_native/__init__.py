"""The native kernels, in the best instruction-set level that this processor runs.

Every level computes the same bits. ``HEDGEROW_ISA`` (``v2``, ``v3`` or ``v4``) forces one, which is
what tests use it for. A development build (``make dev``) has one level only.
"""

import importlib
import importlib.util
import os
from collections.abc import Sequence

from hedgerow._native.cpu import isa_level

_KNOWN = ("plain",) if isa_level() == "plain" else ("v2", "v3", "v4")
LEVELS = tuple(level for level in _KNOWN if importlib.util.find_spec(f"{__name__}.{level}"))


def _choose_level(override: str | None, best: str, built: Sequence[str]) -> str:
    """Return the level to load: the forced one, else the best that is built and runs here."""
    usable = [level for level in built if level <= best]
    if not override and usable:
        return usable[-1]
    if override in usable:
        return override
    compiled = f"compiled: {', '.join(built) or 'none'}"
    if not override:  # an empty variable is one that is not set
        raise ImportError(f"no kernels for this processor, which supports {best!r}; {compiled}")
    if override not in _KNOWN:
        raise ImportError(f"HEDGEROW_ISA={override!r} is unknown; allowed: {', '.join(_KNOWN)}")
    if override > best:
        raise ImportError(f"HEDGEROW_ISA={override!r}, but this processor only supports {best!r}")
    raise ImportError(f"HEDGEROW_ISA={override!r} is not part of this build; {compiled}")


_level = _choose_level(os.environ.get("HEDGEROW_ISA"), isa_level(), LEVELS)
_module = importlib.import_module(f"{__name__}.{_level}")
globals().update({name: value for name, value in vars(_module).items() if name[:1] != "_"})
