"""Support vector machines with kernels."""

from hedgerow.svm.kernel.classifiers import SVC, NuSVC
from hedgerow.svm.kernel.one_class import OneClassSVM
from hedgerow.svm.kernel.regressors import SVR, NuSVR

__all__ = ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"]
