"""Losses that users write as formulas: `Loss`, how it is checked, and where its scores start."""

from hedgerow.boosting.written_loss.boosted import (
    WrittenLoss,
    written_for_classes,
    written_for_numbers,
)
from hedgerow.boosting.written_loss.leaf_search import LeafSearch
from hedgerow.boosting.written_loss.loss import Loss

__all__ = ["LeafSearch", "Loss", "WrittenLoss", "written_for_classes", "written_for_numbers"]
