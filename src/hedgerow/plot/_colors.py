"""Colours and markers of classes that work for colour-blind readers and in greyscale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hedgerow._result import imported
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError

INK, PALE_INK = "#1a1a1a", "#5a5a5a"
# The colour-blind safe palette of Okabe and Ito; neighbours differ in lightness as well.
COLORS = ("#0072b2", "#e69f00", "#009e73", "#56b4e9", "#d55e00", "#f0e442", "#cc79a7")
# For numbers, and for more classes than there are colours: lightness increases evenly.
COLORMAP = "viridis"
MARKERS = "os^Dv<>Pp*"


def class_colors(n_classes: int, requested: Sequence[Any] | None) -> Floats:
    """Return a colour for each class, (n_classes, 3)."""
    colors = imported("matplotlib.colors", "plot()")
    if requested is None:
        return _default_colors(n_classes, colors)
    requested = [requested] if isinstance(requested, str) else list(requested)
    if len(requested) != n_classes or not all(map(colors.is_color_like, requested)):
        raise ParameterError(
            f"colors={requested!r} is not allowed; it must be a list of {n_classes} colours, one "
            "for each class."
        )
    return colors.to_rgba_array(requested)[:, :3]


def _default_colors(n_classes: int, colors: Any) -> Floats:
    if n_classes <= len(COLORS):
        return colors.to_rgba_array(COLORS[:n_classes])[:, :3]
    even = imported("matplotlib", "plot()").colormaps[COLORMAP].resampled(n_classes)
    return even(range(n_classes))[:, :3]


def ramp() -> Any:
    """Return a colormap from low to high, blue to orange as in reports."""
    colors = imported("matplotlib.colors", "plot()")
    return colors.LinearSegmentedColormap.from_list("low to high", [COLORS[0], COLORS[4]])


def tint(color: Floats, strength: Any) -> Floats:
    """Return a colour mixed with white: the full colour for strength 1, white for 0."""
    mixed: Floats = 1.0 - (1.0 - color) * strength
    return mixed


def marker(place: int) -> str:
    """Return the marker of a class."""
    return MARKERS[place % len(MARKERS)]
