"""The native kernels, in the best instruction-set level that this processor runs.

Every level computes the same bits. ``HEDGEROW_ISA`` (``v2``, ``v3`` or ``v4``) forces one, which is
what tests use it for.
"""

import importlib
import os

from hedgerow._native.cpu import isa_level

LEVELS = ("plain",) if isa_level() == "plain" else ("v2", "v3", "v4")


def _chosen_level() -> str:
    best = isa_level()
    wanted = os.environ.get("HEDGEROW_ISA", best)
    if wanted not in LEVELS:
        raise ImportError(f"HEDGEROW_ISA={wanted!r} is unknown; allowed: {', '.join(LEVELS)}")
    if wanted > best:
        raise ImportError(f"HEDGEROW_ISA={wanted!r}, but this processor only runs {best!r}")
    return wanted


_module = importlib.import_module(f"hedgerow._native.{_chosen_level()}")
globals().update({name: value for name, value in vars(_module).items() if name[:1] != "_"})
