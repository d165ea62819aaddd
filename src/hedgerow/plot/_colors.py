"""Colours and markers that tell classes apart, for colour-blind eyes and in grey print too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hedgerow._result import imported
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError

INK, PALE_INK = "#1a1a1a", "#5a5a5a"
# Okabe and Ito's colours for all eyes, ordered so that neighbours differ in lightness as well.
COLORS = ("#0072b2", "#e69f00", "#009e73", "#56b4e9", "#d55e00", "#f0e442", "#cc79a7")
# Of numbers, and of more classes than there are colours: it grows lighter evenly.
COLORMAP = "viridis"
MARKERS = "os^Dv<>Pp*"


def class_colors(n_classes: int, given: Sequence[Any] | None) -> Floats:
    """Return a colour for each class, (n_classes, 3)."""
    colors = imported("matplotlib.colors", "plot()")
    if given is None:
        return _default_colors(n_classes, colors)
    given = [given] if isinstance(given, str) else list(given)
    if len(given) != n_classes or not all(map(colors.is_color_like, given)):
        raise ParameterError(
            f"colors={given!r} is not allowed; it must be a list of {n_classes} colours, one for "
            "each class."
        )
    return colors.to_rgba_array(given)[:, :3]


def _default_colors(n_classes: int, colors: Any) -> Floats:
    if n_classes <= len(COLORS):
        return colors.to_rgba_array(COLORS[:n_classes])[:, :3]
    even = imported("matplotlib", "plot()").colormaps[COLORMAP].resampled(n_classes)
    return even(range(n_classes))[:, :3]


def ramp() -> Any:
    """Return a colormap from low to high whose lightest colour can be seen on white paper."""
    colors = imported("matplotlib.colors", "plot()")
    whole = imported("matplotlib", "plot()").colormaps[COLORMAP]
    return colors.ListedColormap([whole(0.9 * i / 255.0) for i in range(256)])


def tint(color: Floats, strength: Any) -> Floats:
    """Return a colour on white paper: all of it where strength is 1, nothing where it is 0."""
    mixed: Floats = 1.0 - (1.0 - color) * strength
    return mixed


def marker(place: int) -> str:
    """Return the marker of a class."""
    return MARKERS[place % len(MARKERS)]
