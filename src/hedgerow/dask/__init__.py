"""Estimators for Dask DataFrames and Arrays, with the same models on any number of workers.

The models are the same, bit for bit, as those of the estimators of the same names in `hedgerow`.
This module needs ``pip install dask distributed pandas pyarrow``.
"""

try:
    import dask.array
    import dask.dataframe  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"hedgerow.dask needs Dask: pip install dask distributed pandas pyarrow ({error})",
        name=error.name,
    ) from error

from hedgerow.dask._estimators import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow.dask._predicting import predict, predict_proba, shap_values
from hedgerow.dask._transport import DaskCommunicator

__all__ = [
    "DaskCommunicator",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRanker",
    "GradientBoostingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "predict",
    "predict_proba",
    "shap_values",
]
