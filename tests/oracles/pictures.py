"""Looking at a figure as a reader would: which texts there are, and whether any two overlap."""

from itertools import combinations

from matplotlib.text import Annotation, Text

# Boxes around text have a margin, so boxes that touch by so many pixels are not seen to.
TOUCH = 1.5


def texts_of(figure):
    """Return all texts that are drawn; of tick labels, those within the limits of their axis."""
    figure.canvas.draw()
    of_ticks, drawn = set(), []
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            every = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            of_ticks.update(id(label) for t in every for label in (t.label1, t.label2))
            if ax.axison and axis.get_visible() and ax.get_visible():
                low, high = sorted(axis.get_view_interval())
                slack = 1e-9 * (high - low)
                for tick in every:
                    if low - slack <= tick.get_loc() <= high + slack and tick.get_visible():
                        drawn += [tick.label1, tick.label2]
    hidden = {id(t) for ax in figure.axes if not ax.axison for t in _labels(ax)}
    drawn += [t for t in figure.findobj(Text) if id(t) not in of_ticks | hidden]
    return [t for t in drawn if t.get_visible() and t.get_text().strip()]


def _labels(ax):
    return [ax.xaxis.label, ax.yaxis.label, ax.xaxis.offsetText, ax.yaxis.offsetText]


def box_of(text, renderer):
    """Return the box of the words alone, without an arrow."""
    if isinstance(text, Annotation):
        text.update_positions(renderer)
        return Text.get_window_extent(text, renderer)
    return text.get_window_extent(renderer)


def assert_no_overlap(figure):
    """Raise if two texts overlap, or if one is cut off by the edge of the figure."""
    renderer = figure.canvas.get_renderer()
    boxes = [(t.get_text(), box_of(t, renderer)) for t in texts_of(figure)]
    assert boxes, "nothing is written"
    for words, box in boxes:
        inside = figure.bbox.x0 - TOUCH <= box.x0 and box.x1 <= figure.bbox.x1 + TOUCH
        inside &= figure.bbox.y0 - TOUCH <= box.y0 and box.y1 <= figure.bbox.y1 + TOUCH
        assert inside, f"{words!r} is cut off"
    for (one, a), (other, b) in combinations(boxes, 2):
        wide = min(a.x1, b.x1) - max(a.x0, b.x0)
        high = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert wide <= TOUCH or high <= TOUCH, f"{one!r} overlaps {other!r}"
