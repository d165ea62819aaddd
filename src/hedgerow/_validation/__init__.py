"""Cross-validation of any estimator: `cross_validate`; and `tune_threshold`, which uses it."""

from hedgerow._validation.cross_validation import cross_validate
from hedgerow._validation.result import CrossValidation
from hedgerow._validation.threshold import ThresholdChoice, tune_threshold

__all__ = ["CrossValidation", "ThresholdChoice", "cross_validate", "tune_threshold"]
