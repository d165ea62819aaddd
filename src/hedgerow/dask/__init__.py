"""Estimators for Dask DataFrames and Arrays, on any number of workers: the same models.

A fit gives the model of the estimator of the same name in `hedgerow`, bit for bit. It needs
``pip install 'hedgerow[dask]'``.
"""

try:
    import dask.array
    import dask.dataframe  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"hedgerow.dask needs Dask: pip install 'hedgerow[dask]' ({error})", name=error.name
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
