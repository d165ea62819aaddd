"""Hedgerow: machine learning for tabular data.

Names are imported on first use, so that `hedgerow --help` takes a tenth of the time that importing
the whole library takes. `__init__.pyi` has the same names for type checkers and editors.
"""

from importlib import import_module
from typing import Any

from hedgerow._native import level as isa_level  # noqa: F401  in __all__, by its name
from hedgerow._shap_package import take_part_in_shap

__version__ = "0.2.0"

_MODULES = ("callbacks", "cluster", "exceptions", "explain", "plot", "theory")
_NAMES = {
    "_adaboost": ("AdaBoostClassifier", "AdaBoostRegressor"),
    "_bagging": ("BaggingClassifier", "BaggingRegressor"),
    "_boosting": (
        *("GradientBoostingClassifier", "GradientBoostingRegressor"),
        *("GradientBoostingRanker", "GradientBoostingSurvival", "Loss"),
    ),
    "_data.memory": ("memory_estimate",),
    "_data.parquet_predictions": ("predict_parquet",),
    "_data.parquet_table": ("ParquetTable",),
    "_decisions": ("DecisionClassifier", "OutputCodeClassifier"),
    "_ensemble": ("EnsembleClassifier", "EnsembleRegressor"),
    "_forest": (
        *("ExtraTreesClassifier", "ExtraTreesRegressor"),
        *("RandomForestClassifier", "RandomForestRegressor"),
    ),
    "_import": ("from_catboost", "from_lightgbm", "from_sklearn", "from_xgboost", "read_model"),
    "_model_file": ("load",),
    "_neighbors": (
        *("KNeighborsClassifier", "KNeighborsRegressor", "NearestNeighbors"),
        *("RadiusNeighborsClassifier", "RadiusNeighborsRegressor"),
    ),
    "_reporting": ("report",),
    "_stagewise": ("StagewiseClassifier", "StagewiseRegressor"),
    "_svm": ("SVC", "SVR", "LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM"),
    "_tree": ("DecisionTreeClassifier", "DecisionTreeRegressor"),
    "_validation": ("cross_validate", "tune_threshold"),
    "exceptions": (
        *("ClusterError", "DataError", "DataWarning", "DeviceError", "ExportError"),
        *("HedgerowError", "MemoryLimitError", "ModelFileError", "NoSplitWarning"),
        "ParameterError",
    ),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted([*_MODULES, *_HOMES, "isa_level"])  # the stub spells them out


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"{__name__}.{name}")
    else:
        from hedgerow._arguments import unknown_name_error

        raise unknown_name_error(__name__, name, __all__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


take_part_in_shap()
