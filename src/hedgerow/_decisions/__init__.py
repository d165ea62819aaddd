"""Decisions about classes: codes of two-class problems, thresholds and costs."""

from hedgerow._decisions.estimators import DecisionClassifier, OutputCodeClassifier

__all__ = ["DecisionClassifier", "OutputCodeClassifier"]
