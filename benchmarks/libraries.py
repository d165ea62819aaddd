"""The libraries of each kind of model.

Nearest neighbours are here, under scikit-learn's names. Intel's extension runs twice: with the
algorithm that it chooses, and with brute force, which is faster for it in some shapes. Hedgerow is
compared with the better of the two.
"""

from typing import Any, ClassVar

from benchmarks.boosters import BOOSTERS
from benchmarks.cases import NeighborSettings, Settings, TreeSettings
from benchmarks.library import Library
from benchmarks.trees import (
    TREE_LIBRARIES,
    HedgerowTrees,
    IntelTrees,
    ScikitLearnTrees,
    TreeLibrary,
)


class HedgerowNeighbors(HedgerowTrees):
    homes = ("hedgerow._neighbors",)


class IntelNeighbors(IntelTrees):
    homes = ("sklearnex.neighbors",)


class IntelBruteNeighbors(IntelNeighbors):
    name = "scikit-learn-intelex-brute"
    extra_parameters: ClassVar[dict[str, Any]] = {"algorithm": "brute"}


class ScikitLearnNeighbors(ScikitLearnTrees):
    homes = ("sklearn.neighbors",)


NEIGHBOR_LIBRARIES: dict[str, type[TreeLibrary]] = {
    library.name: library
    for library in (
        HedgerowNeighbors,
        IntelNeighbors,
        IntelBruteNeighbors,
        ScikitLearnNeighbors,
    )
}
LIBRARIES: dict[str, type[Library]] = {**NEIGHBOR_LIBRARIES, **TREE_LIBRARIES, **BOOSTERS}


def adapter(library: str, settings: Settings) -> type[Library]:
    """The adapter of a library for what the settings describe."""
    if isinstance(settings, NeighborSettings):
        return NEIGHBOR_LIBRARIES[library]
    return (TREE_LIBRARIES if isinstance(settings, TreeSettings) else BOOSTERS)[library]
