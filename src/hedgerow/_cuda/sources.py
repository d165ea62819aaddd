"""The text of the kernels: CUDA C++ in `kernels/`, and the headers that they share with the CPU."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from hedgerow._cuda.layout import header

KERNELS = Path(__file__).parent / "kernels"
# In the order of inclusion.
FILES = (
    *("thresholds.cu", "binning.cu", "gradients.cu", "quantise.cu", "partition.cu", "histogram.cu"),
    *("feature_sampling.cu", "split.cu", "level_scan.cu", "predict.cu", "self_test.cu"),
)
# What headers include from the standard library, which the run-time compiler does not have.
_STANDARD = (
    *("algorithm", "array", "bit", "cmath", "cstddef", "cstdint", "limits", "type_traits"),
)


def source() -> str:
    """Return the translation unit with all kernels."""
    return "".join(f'#include "{name}"\n' for name in FILES)


@cache
def headers() -> dict[str, str]:
    """Return what the translation unit includes, by name; the standard library is not in it."""
    own = [*KERNELS.glob("*.cu"), *KERNELS.glob("*.hpp")]
    texts = {path.name: path.read_text(encoding="utf-8") for path in own}
    shared = {f"shared/{path.name}": path for path in _shared_folder().glob("*.hpp")}
    texts |= {name: path.read_text(encoding="utf-8") for name, path in shared.items()}
    texts["fit.hpp"] = header()
    return dict(sorted(texts.items()))


def standard_headers() -> dict[str, str]:
    """Return the headers of the standard library, all of which are `kernels/std.hpp`."""
    return dict.fromkeys(_STANDARD, '#include "std.hpp"\n')


def _shared_folder() -> Path:
    """Return the folder of shared headers: an installation has a copy, a checkout the original."""
    installed = Path(__file__).parent / "shared"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "native" / "shared"
