"""Models of other libraries → estimators of this one.

Each library has a reader that returns a `ForeignModel` (`model.py`), from which the estimator is
made. Readers parse files themselves; the libraries need not be installed.
"""

from __future__ import annotations

from hedgerow._import.reading import (
    from_catboost,
    from_lightgbm,
    from_sklearn,
    from_xgboost,
    read_model,
)

__all__ = ["from_catboost", "from_lightgbm", "from_sklearn", "from_xgboost", "read_model"]
