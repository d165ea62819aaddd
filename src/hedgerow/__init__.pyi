from hedgerow import explain, plot, theory
from hedgerow._native import level as isa_level
from hedgerow.boosting import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    GradientBoostingSurvival,
    Loss,
    StagewiseClassifier,
    StagewiseRegressor,
)
from hedgerow.exceptions import (
    DataError,
    DataWarning,
    HedgerowError,
    ModelFileError,
    NoSplitWarning,
    ParameterError,
)
from hedgerow.forest import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow.model_file import load
from hedgerow.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)
from hedgerow.reporting import report
from hedgerow.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from hedgerow.tree import DecisionTreeClassifier, DecisionTreeRegressor
from hedgerow.validation import cross_validate

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
    "explain",
    "isa_level",
    "load",
    "plot",
    "report",
    "theory",
]
