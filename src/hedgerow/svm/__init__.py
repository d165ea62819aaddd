"""Support vector machines."""

from hedgerow.svm.linear import LinearSVC, LinearSVR

__all__ = ["LinearSVC", "LinearSVR"]
