"""The display of one tree."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, Literal, Self, TypeVar

import numpy as np

from hedgerow._params import NOTHING, Number, Options, Parameter, any_of
from hedgerow._result import imported
from hedgerow._types import Floats
from hedgerow.plot._colors import COLORS, INK, PALE_INK, class_colors, tint
from hedgerow.plot._display import Display, counted, measured, number, require_axes, shorts
from hedgerow.plot._tree_contents import (
    PictureNode,
    Targets,
    TreeDescription,
    count_targets,
    describe_tree,
    path_of,
    picture_nodes,
    readable_depth,
    tidy_positions,
)

# All lengths are in points (1/72 inch), and scaled together if the axes are smaller.
FONT, SMALL_FONT = 9.0, 7.5
LINE, SMALL_LINE = 13.0, 11.0  # heights of a line of text
PADDING, GAP, BELOW = 6.0, 10.0, 30.0  # within a box, between boxes, between levels
CHART, CHART_WIDTH = 20.0, 66.0
THINNEST, THICKEST = 0.7, 8.0  # lines of no cover, and of the cover of the root
PALEST, STRONGEST = 0.06, 0.42  # tints of leaves
# Colour and width of the lines on the path of a row.
PATH, PATH_WIDTH = COLORS[4], 2.2
# Wider trees are folded, to two levels at least: text that is shrunk to fit a page stays legible.
WIDEST, FEWEST_LEVELS = 12.0 * 72.0, 2
# Rendered text may be wider than its outlines.
SAFETY = 1.06
D = TypeVar("D", bound="TreeDisplay")

Depth = int | Literal["all"] | None
_DEPTH = Parameter(
    "max_depth", None, any_of(Number(1, integer=True), Options(("all",)), NOTHING), ""
)


class TreeDisplay(Display):
    """One tree of a model: splits with their gains and rows, and the values of leaves.

    Create it with `from_estimator`. Rows go left if the condition of a split is true. The width of
    lines is proportional to the cover of the node below.

    Parameters
    ----------
    nodes : sequence of PictureNode
        The nodes with their text, parents before children.
    title : str
        Title of the tree.
    meaning : str
        Meaning of the value of a leaf.
    class_names : list of str, optional
        Names of the classes, if the bars of leaves are classes.
    edges : array of shape (n_bars + 1,), optional
        Edges of the bins, if the bars of leaves are a histogram of numbers.
    centre : float, optional
        The neutral value of a leaf, neither high nor low; None if values have no order.
    path : sequence of int
        Indices of the nodes that a row passes, which are highlighted.
    has_caption : bool
        Whether the lines below the tree explain it.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes and the figure of the last drawing.
    boxes_ : list of matplotlib FancyBboxPatch
        The box of each node.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import hedgerow as hr
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = hr.DecisionTreeClassifier(max_depth=2).fit(X, y)
    >>> display = hr.plot.TreeDisplay.from_estimator(tree)
    >>> display.nodes[0].lines[0]
    'petal length (cm) ≤ 2.45'
    """

    nodes: Sequence[PictureNode]
    title: str
    meaning: str
    class_names: Sequence[str] | None = None
    edges: Floats | None = None
    centre: float | None = None
    path: Sequence[int] = ()
    has_caption: bool = True

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        tree: int = 0,
        X: Any = None,
        y: Any = None,
        *,
        row: Any = None,
        max_depth: Depth = None,
        ax: Any = None,
    ) -> Self:
        """Draw one tree of a model.

        Parameters
        ----------
        model : fitted estimator
            A decision tree, a boosted model, AdaBoost, a forest or bagging of trees.
        tree : int, default=0
            Index of the tree; −1 is the last.
        X, y : rows and their target, optional
            Leaves show the distribution of the targets of these rows. By default, leaves of
            classification trees show the classes of the training rows.
        row : table with one row, optional
            A row whose path through the tree is highlighted.
        max_depth : int or "all", optional
            Maximum depth to draw; "all" draws the whole tree. By default, the largest depth at
            which there are at most 16 leaves and truncated branches in at most 12 inches, or 2.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure that fits all text.
        """
        require_axes(ax)
        return display_of_tree(cls, model, tree, X, y, row, max_depth).plot(ax)

    def _new_axes(self) -> Any:
        """Return axes that fill a new figure, which fits all text."""
        layout, pyplot = _Layout(self), imported("matplotlib.pyplot", "plot()")
        _, ax = pyplot.subplots(figsize=(layout.width / 72.0, layout.height / 72.0))
        ax.set_position((0.0, 0.0, 1.0, 1.0))
        return ax

    def _draw(self) -> None:
        layout = self._layout = _Layout(self)
        self.ax_.set_axis_off()
        self.ax_.set(xlim=(0.0, layout.width), ylim=(0.0, layout.height), aspect="equal")
        self._scale = _points_per_unit(self.ax_, layout)
        for place, node in enumerate(self.nodes):
            for child in node.children or ():
                self._draw_line(place, child)
        self._label_sides()
        self.boxes_ = [self._draw_node(place) for place in range(len(self.nodes))]
        top = layout.height - PADDING
        self._write(layout.width / 2.0, top, self.title, FONT + 1.0, INK, "top")
        for i, line in enumerate(layout.caption):
            y = PADDING + SMALL_LINE * (len(layout.caption) - 1 - i)
            self._write(layout.width / 2.0, y, line, SMALL_FONT, PALE_INK, "bottom")
        self._draw_legend()

    def _draw_line(self, parent: int, child: int) -> None:
        layout, node = self._layout, self.nodes[child]
        y0 = layout.y[parent] - layout.heights[parent] / 2.0
        y1 = layout.y[child] + layout.heights[child] / 2.0
        is_passed = parent in self.path and child in self.path
        width = max(THINNEST + (THICKEST - THINNEST) * node.share, PATH_WIDTH * is_passed)
        self.ax_.plot(
            [layout.x[parent], layout.x[child]],
            [y0, y1],
            color=PATH if is_passed else "#c4c4c4",
            linewidth=width * self._scale,
            solid_capstyle="butt",
            zorder=1.5 if is_passed else 1,
        )

    def _label_sides(self) -> None:
        """Label the two sides of the root; other nodes are alike."""
        if self.nodes[0].children is None:
            return
        layout = self._layout
        # Between the two lines, which are farther apart than this for any width of the boxes.
        y = layout.y[0] - layout.heights[0] / 2.0 - 0.68 * BELOW
        for text, away in (("yes", -15.0), ("no", 15.0)):
            label = self._write(layout.x[0] + away, y, text, SMALL_FONT, PALE_INK, "center")
            label.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.8})

    def _draw_node(self, place: int) -> Any:
        patches = imported("matplotlib.patches", "plot()")
        layout, node = self._layout, self.nodes[place]
        x, y = layout.x[place], layout.y[place]
        width, height = layout.widths[place], layout.heights[place]
        box = patches.FancyBboxPatch(
            (x - width / 2.0, y - height / 2.0),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=3",
            facecolor=self._tint(node),
            edgecolor=PATH if place in self.path else _edge_color(node),
            linestyle="--" if node.kind == "stub" else "-",
            linewidth=(PATH_WIDTH if place in self.path else 0.8) * self._scale,
            zorder=2,
        )
        self.ax_.add_patch(box)
        top = y + height / 2.0 - PADDING
        self._write(x, top - LINE / 2.0, node.lines[0], FONT, INK, "center")
        for i, line in enumerate(node.lines[1:]):
            below = top - LINE - SMALL_LINE * (i + 0.5)
            self._write(x, below, line, SMALL_FONT, PALE_INK, "center")
        if node.bars is not None:
            self._draw_bars(node.bars, x, y - height / 2.0 + PADDING, width - 2.0 * PADDING)
        return box

    def _draw_bars(self, bars: Floats, x: float, bottom: float, width: float) -> None:
        """Draw classes as bars in their colours, or a histogram."""
        largest = bars.max()
        if largest <= 0.0:
            return
        step = width / len(bars)
        if self.class_names is not None:
            colors: Any = class_colors(len(bars), None)
        else:
            colors = PALE_INK
        self.ax_.bar(
            x - width / 2.0 + step * (np.arange(len(bars)) + 0.5),
            CHART * bars / largest,
            width=0.86 * step,
            bottom=bottom,
            color=colors,
            zorder=3,
        )
        self.ax_.plot(
            [x - width / 2.0, x + width / 2.0],
            [bottom, bottom],
            color="#a0a0a0",
            linewidth=0.6 * self._scale,
            zorder=3,
        )

    def _draw_legend(self) -> None:
        """Draw a legend of the classes, in one line below the tree."""
        if self.class_names is None:
            return
        layout = self._layout
        y = layout.legend_y
        x = (layout.width - sum(layout.legend_widths)) / 2.0
        colors = class_colors(len(self.class_names), None)
        names = layout.legend_names
        for color, name, width in zip(colors, names, layout.legend_widths, strict=False):
            self.ax_.bar(x + 4.0, 8.0, width=8.0, bottom=y + 1.0, color=color, zorder=3)
            self._write(x + 12.0, y, name, SMALL_FONT, INK, "bottom", "left")
            x += width

    def _tint(self, node: PictureNode) -> Any:
        colors = imported("matplotlib.colors", "plot()")
        if node.kind != "leaf":
            return "white" if node.kind == "split" else "#f4f4f4"
        if self.class_names is not None and node.bars is not None and self.centre is None:
            palette = class_colors(len(self.class_names), None)
            largest = int(np.argmax(node.bars))
            share = node.bars[largest] / max(float(node.bars.sum()), 1.0)
            return tint(palette[largest], STRONGEST * share)
        if self.centre is None:
            return "#f4f4f4"
        away = float(node.value[0]) - self.centre
        farthest = max(abs(float(n.value[0]) - self.centre) for n in self.nodes if n.kind == "leaf")
        fraction = abs(away) / farthest if farthest > 0.0 else 0.0
        rgb = np.array(colors.to_rgb(COLORS[1] if away > 0.0 else COLORS[0]))
        return tint(rgb, PALEST + (STRONGEST - PALEST) * fraction)

    def _write(
        self, x: float, y: float, text: str, size: float, color: str, va: str, ha: str = "center"
    ) -> Any:
        # Centre by the baseline, so that letters without descenders are not shifted.
        if va == "center":
            va = "center_baseline"
        style = {"fontsize": size * self._scale, "color": color, "va": va, "ha": ha}
        return self.ax_.text(x, y, text, zorder=4, **style)


def tree_size(display: TreeDisplay) -> tuple[float, float]:
    """Return width and height of a tree with all its text, in points."""
    layout = _Layout(display)
    return layout.width, layout.height


def _edge_color(node: PictureNode) -> str:
    return PALE_INK if node.kind == "split" else "#a0a0a0"


class _Layout:
    """Sizes and positions of all parts, in points; y increases upwards."""

    def __init__(self, display: TreeDisplay) -> None:
        nodes = display.nodes
        self.widths, x, tree_width = _placed(nodes)
        self.heights = [_height_of(node) for node in nodes]
        self._legend(display)
        self.caption = _caption(display) if display.has_caption else []
        # The longest line of title, caption and legend must fit as well.
        lines = [_text_width(display.title, FONT + 1.0)]
        lines += [_text_width(line, SMALL_FONT) for line in self.caption]
        self.width = max([tree_width, sum(self.legend_widths), *lines]) + 2.0 * GAP
        self.x = x + (self.width - tree_width) / 2.0
        below = SMALL_LINE * len(self.caption) + 2.0 * PADDING
        self.legend_y = below
        below += LINE + PADDING if self.legend_names else 0.0
        self._levels(nodes, below + GAP)

    def _levels(self, nodes: Sequence[PictureNode], bottom: float) -> None:
        """Place the nodes of each level, with their tops aligned."""
        depth = max(node.depth for node in nodes)
        tallest = [
            max(h for h, node in zip(self.heights, nodes, strict=True) if node.depth == level)
            for level in range(depth + 1)
        ]
        tree_height = sum(tallest) + BELOW * depth
        self.height = bottom + tree_height + GAP + LINE + 2.0 * PADDING
        tops = bottom + tree_height - np.cumsum([0.0, *(t + BELOW for t in tallest[:-1])])
        self.y = [
            tops[node.depth] - height / 2.0
            for node, height in zip(nodes, self.heights, strict=True)
        ]

    def _legend(self, display: TreeDisplay) -> None:
        names = [] if display.class_names is None else list(display.class_names)
        self.legend_names = shorts(names, 20)
        self.legend_widths = [_text_width(name, SMALL_FONT) + 24.0 for name in self.legend_names]


def _placed(nodes: Sequence[PictureNode]) -> tuple[list[float], Floats, float]:
    """Return the widths and the x of the nodes, and the width of the tree."""
    widths = [_width_of(node) for node in nodes]
    x = tidy_positions([node.children for node in nodes], widths, GAP)
    return widths, x, float(max(x + np.array(widths) / 2.0))


def _width_of(node: PictureNode) -> float:
    first, *others = node.lines
    lines = [_text_width(first, FONT), *(_text_width(line, SMALL_FONT) for line in others)]
    return max([*lines, CHART_WIDTH if node.bars is not None else 0.0]) + 2.0 * PADDING


def _height_of(node: PictureNode) -> float:
    chart = CHART + PADDING if node.bars is not None else 0.0
    return LINE + SMALL_LINE * (len(node.lines) - 1) + chart + 2.0 * PADDING


def _text_width(text: str, size: float) -> float:
    """Return the width of a text in points."""
    textpath = imported("matplotlib.textpath", "plot()")
    fonts = imported("matplotlib.font_manager", "plot()")
    width, _, _ = textpath.text_to_path.get_text_width_height_descent(
        text, fonts.FontProperties(size=size), ismath=False
    )
    return SAFETY * float(width)


def _caption(display: TreeDisplay) -> list[str]:
    """Return the explanation below the tree."""
    first = "Rows go left if the condition is true; missing values go right unless it names them."
    colors = " (orange: above, blue: below " + number(display.centre or 0.0) + ")"
    second = f"Leaves: {display.meaning}{'' if display.centre is None else colors}."
    if display.edges is not None:
        low, high = number(float(display.edges[0])), number(float(display.edges[-1]))
        second += f" Bars: histogram of the targets, {low} to {high}."
    elif display.class_names is not None:
        second += " Bars: rows of each class."
    n_hidden = sum(node.kind == "stub" for node in display.nodes)
    if n_hidden:
        second += f" {counted(n_hidden, 'subtree')} not drawn."
    return [first, second]


def _points_per_unit(ax: Any, layout: _Layout) -> float:
    """Return the size of a unit of the layout in the figure, in points."""
    box = measured(ax)
    pixels = min(box.width / layout.width, box.height / layout.height)
    return float(pixels * 72.0 / ax.figure.dpi)


def display_of_tree(
    kind: type[D], model: Any, tree: int, X: Any, y: Any, row: Any, max_depth: Depth
) -> D:
    """Return the display, not drawn yet."""
    _DEPTH.check(max_depth)
    description = describe_tree(model, tree)
    targets = count_targets(model, description, X, y)
    nodes = (
        _readable_nodes(description, targets)
        if max_depth is None
        else picture_nodes(description, targets, inf if max_depth == "all" else max_depth)
    )
    is_classes = targets is not None and targets.edges is None
    has_order = description.shares is None and description.tree.value.shape[1] == 1
    return kind(
        nodes=nodes,
        title=description.title,
        meaning=description.meaning,
        class_names=[str(c) for c in model.classes_.tolist()] if is_classes else None,
        edges=None if targets is None else targets.edges,
        centre=(0.0 if description.adds else float(description.tree.value[0, 0]))
        if has_order
        else None,
        path=() if row is None else path_of(description, nodes, row),
    )


def _readable_nodes(
    description: TreeDescription, targets: Targets | None
) -> tuple[PictureNode, ...]:
    """Return the nodes of the deepest picture that can be read."""
    for depth in range(readable_depth(description.tree), 0, -1):
        nodes = picture_nodes(description, targets, depth)
        if depth <= FEWEST_LEVELS or _placed(nodes)[-1] <= WIDEST:
            return nodes
    return picture_nodes(description, targets, 1)
