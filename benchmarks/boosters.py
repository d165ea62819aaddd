"""Gradient boosting of every library.

How the comparison is kept fair:

- Each peer takes its own fastest documented way in and out: LightGBM a ``Dataset``, XGBoost a
  ``QuantileDMatrix`` and in-place prediction, CatBoost a ``Pool``. Hedgerow and scikit-learn use
  their estimators, checks included.
- Trees, leaves, bins, learning rate, minimum leaf and λ are equal; rows and columns are never
  sampled; nothing stops early. CatBoost and level-wise XGBoost, whose fast trees are balanced,
  get the depth with that number of leaves.
- Input is handed over as it is: float32 in C order, a sparse matrix, or a data frame. LightGBM and
  XGBoost read no strings, and the time that it takes to convert them is theirs.
"""

import os
import sys
from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.cases import QUANTILE, Settings
from benchmarks.frames import CategoryEncoder, text_columns
from benchmarks.library import EstimatorLibrary, Library


class Hedgerow(EstimatorLibrary):
    name = package = module = "hedgerow"

    def estimator(self) -> Any:
        import hedgerow

        s = self.settings
        kind: Any = hedgerow.GradientBoostingClassifier
        if self.numeric:
            level = {"quantile": QUANTILE} if s.number_loss == "quantile" else {}
            kind = partial(hedgerow.GradientBoostingRegressor, loss=s.number_loss, **level)
        return kind(
            n_estimators=s.n_trees,
            learning_rate=s.learning_rate,
            max_leaves=s.max_leaves,
            max_depth=s.max_depth,
            min_samples_leaf=s.min_samples_leaf,
            min_child_weight=s.min_child_weight,
            reg_lambda=s.reg_lambda,
            max_bins=s.max_bins,
            splitter=s.splitter,
            grow_policy=s.grow_policy,
            multi_strategy=s.multi_strategy,
            early_stopping=False,
            n_jobs=self.threads,
            random_state=0,
        )


def use_level(level: str) -> None:
    """Make this process one on a processor without the newest instructions."""
    if os.environ.get("HEDGEROW_ISA") != level and "hedgerow" in sys.modules:
        raise RuntimeError(f"hedgerow was loaded before HEDGEROW_ISA={level} was set")
    os.environ["HEDGEROW_ISA"] = level


class HedgerowAtLevel(Hedgerow):
    """Hedgerow with the kernels of a lower level; needs a process of its own."""

    level: ClassVar[str]

    def __init__(self, settings: Settings, threads: int) -> None:
        super().__init__(settings, threads)
        use_level(self.level)


class HedgerowV3(HedgerowAtLevel):
    name = "hedgerow-v3"
    level = "v3"


class HedgerowV2(HedgerowAtLevel):
    name = "hedgerow-v2"
    level = "v2"


class ScikitLearn(EstimatorLibrary):
    name = package = "scikit-learn"
    module = "sklearn"

    def __init__(self, settings: Settings, threads: int) -> None:
        super().__init__(settings, threads)
        # The estimator has no n_jobs: threads come from OpenMP, limited for this process here.
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits

        self._model_class = HistGradientBoostingClassifier
        threadpool_limits(limits=threads, user_api="openmp")

    def estimator(self) -> Any:
        s = self.settings
        return self._model_class(
            max_iter=s.n_trees,
            learning_rate=s.learning_rate,
            max_leaf_nodes=s.max_leaves,
            max_depth=s.max_depth,
            min_samples_leaf=s.min_samples_leaf,
            l2_regularization=s.reg_lambda,
            max_bins=s.max_bins,
            early_stopping=False,
            random_state=0,
        )


class LightGBM(Library):
    name = package = module = "lightgbm"
    quantised: ClassVar[bool] = False

    def _parameters(self) -> dict[str, Any]:
        s = self.settings
        return {
            "learning_rate": s.learning_rate,
            "num_leaves": s.max_leaves,
            "max_depth": s.max_depth or -1,
            "min_child_samples": s.min_samples_leaf,
            "min_child_weight": s.min_child_weight,
            "reg_lambda": s.reg_lambda,
            "max_bin": s.max_bins,
            "use_quantized_grad": self.quantised,
            "verbosity": -1,
        }

    def _objective(self) -> dict[str, Any]:
        if self.numeric:
            loss = self.settings.number_loss
            objective = "regression" if loss == "squared_error" else loss
            return {"objective": objective, "alpha": QUANTILE}
        if self.binary:
            return {"objective": "binary"}
        return {"objective": "multiclass", "num_class": self.settings.n_classes}

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> None:
        import lightgbm

        parameters = self._parameters() | self._objective() | {"num_threads": self.threads}
        self._encoder = CategoryEncoder()
        data = lightgbm.Dataset(self._encoder.fit_transform(X), label=y, params=parameters)
        self.model = lightgbm.train(parameters, data, num_boost_round=self.settings.n_trees)

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        table = self._encoder.transform(X)
        prediction: NDArray[Any] = self.model.predict(table, num_threads=self.threads)
        return prediction

    def estimator(self) -> Any:
        import lightgbm

        return lightgbm.LGBMClassifier(
            n_estimators=self.settings.n_trees, n_jobs=self.threads, **self._parameters()
        )


class QuantisedLightGBM(LightGBM):
    name = "lightgbm-quantised"
    quantised = True


class XGBoost(Library):
    """What the three ways of growing a tree in XGBoost share."""

    package = module = "xgboost"

    @abstractmethod
    def _growth(self) -> dict[str, Any]:
        """The parameters that shape a tree."""

    def _data(self, X: NDArray[Any], y: NDArray[Any]) -> Any:
        import xgboost

        return xgboost.QuantileDMatrix(
            X,
            y,
            max_bin=self.settings.max_bins,
            nthread=self.threads,
            enable_categorical=bool(text_columns(X)),
        )

    def _parameters(self) -> dict[str, Any]:
        s = self.settings
        return {
            "learning_rate": s.learning_rate,
            "min_child_weight": s.min_child_weight,
            "reg_lambda": s.reg_lambda,
            "verbosity": 0,
        } | self._growth()

    def _objective(self) -> dict[str, Any]:
        if self.settings.number_loss == "squared_error":
            return {"objective": "reg:squarederror"}
        if self.settings.number_loss == "poisson":
            return {"objective": "count:poisson"}
        if self.settings.number_loss == "quantile":
            return {"objective": "reg:quantileerror", "quantile_alpha": QUANTILE}
        if self.binary:
            return {"objective": "binary:logistic"}
        return {"objective": "multi:softprob", "num_class": self.settings.n_classes}

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> None:
        import xgboost

        parameters = self._parameters() | self._objective() | {"nthread": self.threads}
        self._encoder = CategoryEncoder()
        data = self._data(self._encoder.fit_transform(X), y)
        self.model = xgboost.train(parameters, data, num_boost_round=self.settings.n_trees)

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        prediction: NDArray[Any] = self.model.inplace_predict(self._encoder.transform(X))
        return prediction

    def estimator(self) -> Any:
        import xgboost

        return xgboost.XGBClassifier(
            n_estimators=self.settings.n_trees, n_jobs=self.threads, **self._parameters()
        )


class LeafWiseXGBoost(XGBoost):
    name = "xgboost-leaf"

    def _growth(self) -> dict[str, Any]:
        return {
            "tree_method": "hist",
            "grow_policy": "lossguide",
            "max_leaves": self.settings.max_leaves,
            "max_depth": self.settings.max_depth or 0,
            "max_bin": self.settings.max_bins,
        }


class LevelWiseXGBoost(XGBoost):
    name = "xgboost-level"

    def _growth(self) -> dict[str, Any]:
        return {
            "tree_method": "hist",
            "grow_policy": "depthwise",
            "max_depth": self.settings.depth,
            "max_bin": self.settings.max_bins,
        }


class VectorXGBoost(LeafWiseXGBoost):
    """One tree for all classes, where there are several; the others grow one for each."""

    name = "xgboost-vector"

    def _growth(self) -> dict[str, Any]:
        strategy = {} if self.binary else {"multi_strategy": "multi_output_tree"}
        return super()._growth() | strategy


class ExactXGBoost(XGBoost):
    name = "xgboost-exact"

    def _growth(self) -> dict[str, Any]:
        return {"tree_method": "exact", "max_depth": self.settings.depth}

    def _data(self, X: NDArray[Any], y: NDArray[Any]) -> Any:
        import xgboost

        return xgboost.DMatrix(X, y, nthread=self.threads)


class CatBoost(Library):
    name = package = module = "catboost"

    def _parameters(self) -> dict[str, Any]:
        s = self.settings
        return {
            "iterations": s.n_trees,
            "learning_rate": s.learning_rate,
            "depth": s.depth,
            "l2_leaf_reg": s.reg_lambda,
            "border_count": s.max_bins - 1,
            "boosting_type": "Plain",
            "bootstrap_type": "No",
            # One Newton step a leaf, as everybody else takes; its default repeats the step.
            "leaf_estimation_iterations": 1,
            "random_strength": 0,
            "random_seed": 0,
            "thread_count": self.threads,
            "logging_level": "Silent",
            "allow_writing_files": False,
        }

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> None:
        import catboost

        loss = "RMSE" if self.numeric else "Logloss" if self.binary else "MultiClass"
        self.model = catboost.CatBoost(self._parameters() | {"loss_function": loss})
        categorical = text_columns(X) or None
        self.model.fit(catboost.Pool(X, y, cat_features=categorical, thread_count=self.threads))

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        kind = "RawFormulaVal" if self.numeric else "Probability"
        prediction = np.asarray(
            self.model.predict(X, prediction_type=kind, thread_count=self.threads)
        )
        return prediction[:, 1] if self.binary else prediction

    def estimator(self) -> Any:
        import catboost

        return catboost.CatBoostClassifier(**self._parameters())


BOOSTERS: dict[str, type[Library]] = {
    library.name: library
    for library in (
        Hedgerow,
        HedgerowV3,
        HedgerowV2,
        LightGBM,
        QuantisedLightGBM,
        LeafWiseXGBoost,
        LevelWiseXGBoost,
        VectorXGBoost,
        ExactXGBoost,
        CatBoost,
        ScikitLearn,
    )
}
