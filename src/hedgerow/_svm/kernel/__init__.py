"""Support vector machines with kernels."""

from hedgerow._svm.kernel.classifiers import SVC, NuSVC
from hedgerow._svm.kernel.one_class import OneClassSVM
from hedgerow._svm.kernel.regressors import SVR, NuSVR

__all__ = ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"]
