"""Losses that users write as formulas: `Loss`, how it is checked, and where its scores start."""

from hedgerow._boosting.losses.formula.boosted import (
    WrittenLoss,
    written_for_classes,
    written_for_numbers,
)
from hedgerow._boosting.losses.formula.leaf_search import LeafSearch
from hedgerow._boosting.losses.formula.loss import Loss

__all__ = ["LeafSearch", "Loss", "WrittenLoss", "written_for_classes", "written_for_numbers"]
