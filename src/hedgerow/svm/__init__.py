"""Support vector machines."""

from hedgerow.svm.kernel import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from hedgerow.svm.linear import LinearSVC, LinearSVR

__all__ = ["SVC", "SVR", "LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM"]
