"""Which libraries there are, and which of their models a case asks for."""

from benchmarks.boosters import BOOSTERS
from benchmarks.cases import NeighborSettings, Settings, TreeSettings
from benchmarks.library import Library
from benchmarks.neighbors import NEIGHBOR_LIBRARIES
from benchmarks.trees import TREE_LIBRARIES

LIBRARIES: dict[str, type[Library]] = {**NEIGHBOR_LIBRARIES, **TREE_LIBRARIES, **BOOSTERS}


def adapter(library: str, settings: Settings) -> type[Library]:
    """The adapter of a library for what the settings describe."""
    if isinstance(settings, NeighborSettings):
        return NEIGHBOR_LIBRARIES[library]
    return (TREE_LIBRARIES if isinstance(settings, TreeSettings) else BOOSTERS)[library]
