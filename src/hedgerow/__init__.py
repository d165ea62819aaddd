"""Hedgerow: learning from tables.

Names are imported when they are first asked for: the command line tells its options in a tenth of
the time that all of the library takes. `__init__.pyi` tells type checkers and editors the same.
"""

import sys
from importlib import import_module
from typing import Any

from hedgerow._native import level as isa_level  # noqa: F401  in __all__, by its name

__version__ = "0.2.0"

_MODULES = ("explain", "plot", "theory")
_NAMES = {
    "boosting": (
        *("AdaBoostClassifier", "AdaBoostRegressor"),
        *("GradientBoostingClassifier", "GradientBoostingRegressor"),
        *("GradientBoostingRanker", "GradientBoostingSurvival"),
        *("Loss", "StagewiseClassifier", "StagewiseRegressor"),
    ),
    "exceptions": (
        *("DataError", "DataWarning", "HedgerowError"),
        *("ModelFileError", "NoSplitWarning", "ParameterError"),
    ),
    "forest": (
        *("BaggingClassifier", "BaggingRegressor"),
        *("ExtraTreesClassifier", "ExtraTreesRegressor"),
        *("RandomForestClassifier", "RandomForestRegressor"),
    ),
    "model_file": ("load",),
    "neighbors": (
        *("KNeighborsClassifier", "KNeighborsRegressor", "NearestNeighbors"),
        *("RadiusNeighborsClassifier", "RadiusNeighborsRegressor"),
    ),
    "reporting": ("report",),
    "svm": ("SVC", "SVR", "LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM"),
    "tree": ("DecisionTreeClassifier", "DecisionTreeRegressor"),
    "validation": ("cross_validate",),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted([*_MODULES, *_HOMES, "isa_level"])  # the stub spells them out


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    elif name in _MODULES or name in _NAMES:
        value = import_module(f"{__name__}.{name}")
    else:
        from hedgerow.arguments import about_module

        caller = sys._getframe(1).f_code.co_name  # noqa: SLF001
        raise about_module(__name__, name, __all__, caller)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
