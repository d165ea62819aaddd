"""Looking at a figure as a reader would: which texts there are, and whether any two overlap."""

from itertools import combinations

import numpy as np
from matplotlib.text import Annotation, Text

# Boxes around text have a margin, so boxes that touch by so many pixels are not seen to.
TOUCH = 1.5


def texts_of(figure):
    """Return all texts that are drawn; of tick labels, those within the limits of their axis."""
    figure.draw_without_rendering()
    of_ticks, texts = set(), []
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            every = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            of_ticks.update(id(label) for t in every for label in (t.label1, t.label2))
            if ax.axison and axis.get_visible() and ax.get_visible():
                low, high = sorted(axis.get_view_interval())
                slack = 1e-9 * (high - low)
                for tick in every:
                    if low - slack <= tick.get_loc() <= high + slack and tick.get_visible():
                        texts += [tick.label1, tick.label2]
    hidden = {id(t) for ax in figure.axes if not ax.axison for t in _labels(ax)}
    texts += [t for t in figure.findobj(Text) if id(t) not in of_ticks | hidden]
    return [t for t in texts if t.get_visible() and t.get_text().strip()]


def _labels(ax):
    return [ax.xaxis.label, ax.yaxis.label, ax.xaxis.offsetText, ax.yaxis.offsetText]


def box_of(text, renderer):
    """Return the box of the words alone, without an arrow."""
    if isinstance(text, Annotation):
        text.update_positions(renderer)
        return Text.get_window_extent(text, renderer)
    return text.get_window_extent(renderer)


def overlap(one, other, a, b):
    """Tell whether two texts in boxes a and b overlap; of parallel slanted ones, their lines."""
    wide = min(a.x1, b.x1) - max(a.x0, b.x0)
    high = min(a.y1, b.y1) - max(a.y0, b.y0)
    if wide <= TOUCH or high <= TOUCH:
        return False
    angle = np.deg2rad(one.get_rotation())
    if one.get_rotation() != other.get_rotation() or one.get_rotation() % 90 == 0:
        return True
    (x0, y0), (x1, y1) = (t.get_transform().transform(t.get_position()) for t in (one, other))
    apart = abs((x1 - x0) * np.sin(angle) - (y1 - y0) * np.cos(angle))
    return apart < one.get_fontsize() * one.get_figure(root=True).dpi / 72.0


def assert_no_overlap(figure):
    """Raise if two texts overlap, or if one is cut off by the edge of the figure."""
    texts = texts_of(figure)
    assert texts, "nothing is written"
    renderer, edge = figure.canvas.get_renderer(), figure.bbox
    boxes = [box_of(text, renderer) for text in texts]
    for text, box in zip(texts, boxes, strict=True):
        inside = edge.x0 - TOUCH <= box.x0 and box.x1 <= edge.x1 + TOUCH
        inside &= edge.y0 - TOUCH <= box.y0 and box.y1 <= edge.y1 + TOUCH
        assert inside, f"{text.get_text()!r} is cut off"
    for i, j in combinations(range(len(texts)), 2):
        words = texts[i].get_text(), texts[j].get_text()
        is_bad = overlap(texts[i], texts[j], boxes[i], boxes[j])
        assert not is_bad, f"{words[0]!r} overlaps {words[1]!r}"
