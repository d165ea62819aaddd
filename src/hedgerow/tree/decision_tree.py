"""The estimators: one tree, grown to the end and perhaps pruned (CART), for classes and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hedgerow.data.binning import Binner
from hedgerow.data.intake import TableSchema
from hedgerow.tree.outputs import Outputs
from hedgerow.tree.structure import Ensemble


@dataclass(frozen=True, eq=False)
class TreeModel:
    """A tree, how a table is read for it, and what its values mean."""

    schema: TableSchema
    binner: Binner
    ensemble: Ensemble
    outputs: Outputs

    @cached_property
    def category_bins(self) -> list[Any]:
        """Of each categorical feature, the bin of each category code."""
        return self.binner.category_bins
