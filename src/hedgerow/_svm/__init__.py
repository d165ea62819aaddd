"""Support vector machines (SVMs), kernel and linear."""

from hedgerow._svm.kernel import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from hedgerow._svm.linear import LinearSVC, LinearSVR

__all__ = ["SVC", "SVR", "LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM"]
