"""Nearest neighbours of the libraries that have them, under scikit-learn's names.

Intel's extension runs twice: with the algorithm that it chooses, and told to look at all rows,
which is faster for it in some shapes. Hedgerow is held to the better of the two.
"""

from typing import Any, ClassVar

from benchmarks.trees import HedgerowTrees, IntelTrees, ScikitLearnTrees, TreeLibrary


class HedgerowNeighbors(HedgerowTrees):
    homes = ("hedgerow._neighbors",)


class IntelNeighbors(IntelTrees):
    homes = ("sklearnex.neighbors",)


class IntelBruteNeighbors(IntelNeighbors):
    name = "scikit-learn-intelex-brute"
    own_parameters: ClassVar[dict[str, Any]] = {"algorithm": "brute"}


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
