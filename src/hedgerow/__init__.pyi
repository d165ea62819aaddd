from hedgerow import exceptions, explain, plot, theory
from hedgerow._adaboost import AdaBoostClassifier, AdaBoostRegressor
from hedgerow._bagging import BaggingClassifier, BaggingRegressor
from hedgerow._boosting import (
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    GradientBoostingSurvival,
    Loss,
)
from hedgerow._forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow._model_file import load
from hedgerow._native import level as isa_level
from hedgerow._neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)
from hedgerow._reporting import report
from hedgerow._stagewise import StagewiseClassifier, StagewiseRegressor
from hedgerow._svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from hedgerow._tree import DecisionTreeClassifier, DecisionTreeRegressor
from hedgerow._validation import cross_validate
from hedgerow.exceptions import (
    DataError,
    DataWarning,
    HedgerowError,
    ModelFileError,
    NoSplitWarning,
    ParameterError,
)

__version__: str

__all__ = [
    "SVC",
    "SVR",
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "DataError",
    "DataWarning",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRanker",
    "GradientBoostingRegressor",
    "GradientBoostingSurvival",
    "HedgerowError",
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "LinearSVC",
    "LinearSVR",
    "Loss",
    "ModelFileError",
    "NearestNeighbors",
    "NoSplitWarning",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "ParameterError",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "StagewiseClassifier",
    "StagewiseRegressor",
    "cross_validate",
    "exceptions",
    "explain",
    "isa_level",
    "load",
    "plot",
    "report",
    "theory",
]
