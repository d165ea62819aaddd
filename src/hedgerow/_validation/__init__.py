"""Cross-validation of any estimator: `cross_validate`."""

from hedgerow._validation.cross_validation import cross_validate
from hedgerow._validation.result import CrossValidation

__all__ = ["CrossValidation", "cross_validate"]
