# Written by tools/stubs.py from hedgerow/__init__.py and the declarations of parameters.
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from numpy.random import RandomState
from numpy.typing import NDArray

from hedgerow import callbacks as callbacks
from hedgerow import cluster as cluster
from hedgerow import exceptions as exceptions
from hedgerow import explain as explain
from hedgerow import plot as plot
from hedgerow import theory as theory
from hedgerow._adaboost import AdaBoostClassifier as _AdaBoostClassifier
from hedgerow._adaboost import AdaBoostRegressor as _AdaBoostRegressor
from hedgerow._bagging import BaggingClassifier as _BaggingClassifier
from hedgerow._bagging import BaggingRegressor as _BaggingRegressor
from hedgerow._boosting import GradientBoostingClassifier as _GradientBoostingClassifier
from hedgerow._boosting import GradientBoostingRanker as _GradientBoostingRanker
from hedgerow._boosting import GradientBoostingRegressor as _GradientBoostingRegressor
from hedgerow._boosting import GradientBoostingSurvival as _GradientBoostingSurvival
from hedgerow._boosting import Loss as Loss
from hedgerow._data.memory import memory_estimate as memory_estimate
from hedgerow._data.parquet_predictions import predict_parquet as predict_parquet
from hedgerow._data.parquet_table import ParquetTable as ParquetTable
from hedgerow._decisions import DecisionClassifier as _DecisionClassifier
from hedgerow._decisions import OutputCodeClassifier as _OutputCodeClassifier
from hedgerow._ensemble import EnsembleClassifier as _EnsembleClassifier
from hedgerow._ensemble import EnsembleRegressor as _EnsembleRegressor
from hedgerow._forest import ExtraTreesClassifier as _ExtraTreesClassifier
from hedgerow._forest import ExtraTreesRegressor as _ExtraTreesRegressor
from hedgerow._forest import RandomForestClassifier as _RandomForestClassifier
from hedgerow._forest import RandomForestRegressor as _RandomForestRegressor
from hedgerow._import import from_catboost as from_catboost
from hedgerow._import import from_lightgbm as from_lightgbm
from hedgerow._import import from_sklearn as from_sklearn
from hedgerow._import import from_xgboost as from_xgboost
from hedgerow._import import read_model as read_model
from hedgerow._model_file import load as load
from hedgerow._native import level as isa_level
from hedgerow._neighbors import KNeighborsClassifier as _KNeighborsClassifier
from hedgerow._neighbors import KNeighborsRegressor as _KNeighborsRegressor
from hedgerow._neighbors import NearestNeighbors as _NearestNeighbors
from hedgerow._neighbors import RadiusNeighborsClassifier as _RadiusNeighborsClassifier
from hedgerow._neighbors import RadiusNeighborsRegressor as _RadiusNeighborsRegressor
from hedgerow._reporting import report as report
from hedgerow._stagewise import StagewiseClassifier as _StagewiseClassifier
from hedgerow._stagewise import StagewiseRegressor as _StagewiseRegressor
from hedgerow._svm import SVC as _SVC
from hedgerow._svm import SVR as _SVR
from hedgerow._svm import LinearSVC as _LinearSVC
from hedgerow._svm import LinearSVR as _LinearSVR
from hedgerow._svm import NuSVC as _NuSVC
from hedgerow._svm import NuSVR as _NuSVR
from hedgerow._svm import OneClassSVM as _OneClassSVM
from hedgerow._tree import DecisionTreeClassifier as _DecisionTreeClassifier
from hedgerow._tree import DecisionTreeRegressor as _DecisionTreeRegressor
from hedgerow._types import SklearnEstimator
from hedgerow._validation import cross_validate as cross_validate
from hedgerow._validation import tune_threshold as tune_threshold
from hedgerow.exceptions import ClusterError as ClusterError
from hedgerow.exceptions import DataError as DataError
from hedgerow.exceptions import DataWarning as DataWarning
from hedgerow.exceptions import DeviceError as DeviceError
from hedgerow.exceptions import ExportError as ExportError
from hedgerow.exceptions import HedgerowError as HedgerowError
from hedgerow.exceptions import MemoryLimitError as MemoryLimitError
from hedgerow.exceptions import ModelFileError as ModelFileError
from hedgerow.exceptions import NoSplitWarning as NoSplitWarning
from hedgerow.exceptions import ParameterError as ParameterError

__version__: str
__all__ = [
    "SVC",
    "SVR",
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "ClusterError",
    "DataError",
    "DataWarning",
    "DecisionClassifier",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "DeviceError",
    "EnsembleClassifier",
    "EnsembleRegressor",
    "ExportError",
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
    "MemoryLimitError",
    "ModelFileError",
    "NearestNeighbors",
    "NoSplitWarning",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "OutputCodeClassifier",
    "ParameterError",
    "ParquetTable",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "StagewiseClassifier",
    "StagewiseRegressor",
    "callbacks",
    "cluster",
    "cross_validate",
    "exceptions",
    "explain",
    "from_catboost",
    "from_lightgbm",
    "from_sklearn",
    "from_xgboost",
    "isa_level",
    "load",
    "memory_estimate",
    "plot",
    "predict_parquet",
    "read_model",
    "report",
    "theory",
    "tune_threshold",
]

class _AdaboostAttributes:
    estimator: SklearnEstimator | None
    n_estimators: int
    learning_rate: float
    resample: bool
    max_depth: int | None
    max_leaves: int | None
    min_samples_leaf: int
    max_bins: int
    categorical_features: Literal["auto"] | Iterable[Any] | None
    unknown_category: Literal["missing", "error"]
    subsample_for_bin: int
    random_state: int | RandomState | None
    n_jobs: int | None

class _BaggingAttributes:
    estimator: SklearnEstimator | None
    n_estimators: int
    max_samples: float | None
    max_features: float
    bootstrap_features: bool
    oob_score: bool | Callable[..., Any]
    warm_start: bool
    random_state: int | RandomState | None
    n_jobs: int | None
    verbose: int | bool

class _BoostingAttributes:
    learning_rate: float | Literal["auto"]
    n_estimators: int | Literal["auto"]
    budget: Literal["quick", "balanced", "thorough"] | float
    init: Literal["constant", "zero"]
    max_leaves: int | Literal["auto"] | None
    max_depth: int | None
    min_samples_leaf: int | Literal["auto"]
    min_child_weight: float
    reg_lambda: float | Literal["auto"]
    reg_alpha: float
    min_split_gain: float
    prune: bool
    max_delta_step: float
    max_bins: int
    subsample: float | Literal["auto"]
    colsample_bytree: float | Literal["auto"]
    colsample_bylevel: float
    colsample_bynode: float | Literal["auto"]
    boosting: Literal["gradient", "dart"]
    drop_rate: float
    skip_drop: float
    max_drop: int
    grow_policy: Literal["leafwise", "levelwise", "symmetric", "auto"]
    linear_leaves: bool
    linear_lambda: float
    splitter: Literal["hist", "approx", "exact"]
    sketch: Literal["global", "tree"]
    monotonic_constraints: Iterable[Any] | None
    interaction_constraints: Literal["pairwise", "no_interactions"] | Iterable[Any] | None
    feature_weights: Iterable[Any] | None
    categorical_features: Literal["auto"] | Iterable[Any] | None
    max_categories: int
    unknown_category: Literal["missing", "error"]
    early_stopping: bool
    validation_fraction: float
    validation_rows: Literal["random", "last"]
    n_iter_no_change: int
    tol: float
    eval_metric: str | Callable[..., Any] | Sequence[str | Callable[..., Any]] | None
    subsample_for_bin: int
    warm_start: bool
    random_state: int | RandomState | None
    n_jobs: int | None
    device: str
    verbose: int | bool

class _DecisionsAttributes:
    estimator: SklearnEstimator | None
    random_state: int | RandomState | None

class _EnsembleAttributes:
    estimators: Sequence[tuple[str, SklearnEstimator]] | None
    cv: int | Any
    n_selections: int
    refit: bool | Literal["both"]
    time_budget: float | None
    categorical_features: Literal["auto"] | Iterable[Any] | None
    random_state: int | RandomState | None
    n_jobs: int | None
    verbose: int | bool

class _ForestAttributes:
    n_estimators: int
    max_depth: int | None
    max_leaves: int | None
    min_samples_split: float
    min_samples_leaf: float
    min_weight_fraction_leaf: float
    max_features: Literal["sqrt", "log2", "log2+1"] | float | None
    min_impurity_decrease: float
    ccp_alpha: float
    max_samples: float | None
    feature_combinations: int | None
    oob_score: bool | Callable[..., Any]
    categorical_features: Literal["auto"] | Iterable[Any] | None
    unknown_category: Literal["missing", "error"]
    max_bins: int
    subsample_for_bin: int
    warm_start: bool
    random_state: int | RandomState | None
    n_jobs: int | None
    verbose: int | bool

class _NeighborsAttributes:
    algorithm: Literal["auto", "brute", "kd_tree"]
    metric: (
        Literal[
            "euclidean",
            "manhattan",
            "chebyshev",
            "minkowski",
            "cosine",
            "gower",
            "precomputed",
            "l2",
            "l1",
            "cityblock",
            "infinity",
        ]
        | Callable[..., Any]
    )
    p: float
    metric_params: Mapping[str, Any] | None
    n_jobs: int | None

class _StagewiseAttributes:
    estimator: SklearnEstimator | None
    search: Literal["gradient", "joint"]
    response: Literal["gradient", "newton"]
    step: Literal["auto", "line_search", "per_leaf", "newton", "unit"]
    normalise: float | None
    learning_rate: float
    n_estimators: int
    subsample: float
    init: Literal["zero"] | SklearnEstimator | None
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    tol: float
    warm_start: bool
    random_state: int | RandomState | None
    verbose: int | bool

class _SvmAttributes:
    tol: float
    max_iter: int
    n_jobs: int | None
    verbose: int | bool

class _TreeAttributes:
    splitter: Literal["exact", "hist", "random"]
    max_depth: int | None
    max_leaves: int | None
    min_samples_split: float
    min_samples_leaf: float
    min_weight_fraction_leaf: float
    max_features: Literal["sqrt", "log2", "log2+1"] | float | None
    min_impurity_decrease: float
    ccp_alpha: float
    categorical_features: Literal["auto"] | Iterable[Any] | None
    unknown_category: Literal["missing", "error"]
    max_bins: int
    subsample_for_bin: int
    random_state: int | RandomState | None
    n_jobs: int | None

class AdaBoostClassifier(_AdaboostAttributes, _AdaBoostClassifier):
    algorithm: Literal["SAMME", "M1", "SAMME.R", "real", "gentle", "logit"]
    error_divisor: Literal["weights", "rows"]
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    criterion: Literal["gini", "entropy", "error"]
    def __init__(
        self,
        estimator: SklearnEstimator | None = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        algorithm: Literal["SAMME", "M1", "SAMME.R", "real", "gentle", "logit"] = "SAMME",
        resample: bool = False,
        error_divisor: Literal["weights", "rows"] = "weights",
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        criterion: Literal["gini", "entropy", "error"] = "gini",
        max_depth: int | None = 1,
        max_leaves: int | None = None,
        min_samples_leaf: int = 1,
        max_bins: int = 255,
        categorical_features: Literal["auto"] | Iterable[Any] | None = "auto",
        unknown_category: Literal["missing", "error"] = "missing",
        subsample_for_bin: int = 200000,
        random_state: int | RandomState | None = 0,
        n_jobs: int | None = None,
    ) -> None: ...

class AdaBoostRegressor(_AdaboostAttributes, _AdaBoostRegressor):
    loss: Literal["linear", "square", "exponential"]
    def __init__(
        self,
        estimator: SklearnEstimator | None = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        loss: Literal["linear", "square", "exponential"] = "linear",
        resample: bool = True,
        max_depth: int | None = 3,
        max_leaves: int | None = None,
        min_samples_leaf: int = 1,
        max_bins: int = 255,
        categorical_features: Literal["auto"] | Iterable[Any] | None = "auto",
        unknown_category: Literal["missing", "error"] = "missing",
        subsample_for_bin: int = 200000,
        random_state: int | RandomState | None = 0,
        n_jobs: int | None = None,
    ) -> None: ...

class BaggingClassifier(_BaggingAttributes, _BaggingClassifier):
    bootstrap: bool | Literal["balanced", "undersample", "oversample"]
    voting: Literal["soft", "hard"]
    class_weight: Literal["balanced"] | Mapping[Any, float] | list[Mapping[Any, float]] | None
    def __init__(
        self,
        estimator: SklearnEstimator | None = None,
        n_estimators: int = 10,
        *,
        max_samples: float | None = None,
        max_features: float = 1.0,
        bootstrap: bool | Literal["balanced", "undersample", "oversample"] = True,
        bootstrap_features: bool = False,
        voting: Literal["soft", "hard"] = "soft",
        class_weight: Literal["balanced"]
        | Mapping[Any, float]
        | list[Mapping[Any, float]]
        | None = None,
        oob_score: bool | Callable[..., Any] = False,
        warm_start: bool = False,
        random_state: int | RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None: ...

class BaggingRegressor(_BaggingAttributes, _BaggingRegressor):
    bootstrap: bool
    def __init__(
        self,
        estimator: SklearnEstimator | None = None,
        n_estimators: int = 10,
        *,
        max_samples: float | None = None,
        max_features: float = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        oob_score: bool | Callable[..., Any] = False,
        warm_start: bool = False,
        random_state: int | RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None: ...

class DecisionClassifier(_DecisionsAttributes, _DecisionClassifier):
    decision_threshold: float | None
    pos_label: Any | None
    cost_matrix: Sequence[Sequence[float]] | NDArray[Any] | None
    def __init__(
        self,
        estimator: SklearnEstimator | None = None,
        *,
        decision_threshold: float | None = None,
        pos_label: Any | None = None,
        cost_matrix: Sequence[Sequence[float]] | NDArray[Any] | None = None,
        random_state: int | RandomState | None = 0,
    ) -> None: ...

class DecisionTreeClassifier(_TreeAttributes, _DecisionTreeClassifier):
    criterion: Literal["gini", "entropy", "log_loss", "gain_ratio", "error"]
    class_weight: Literal["balanced"] | Mapping[Any, float] | list[Mapping[Any, float]] | None
    def __init__(
        self,
        *,
        criterion: Literal["gini", "entropy", "log_loss", "gain_ratio", "error"] = "gini",
        splitter: Literal["exact", "hist", "random"] = "exact",
        max_depth: int | None = None,
        max_leaves: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Literal["sqrt", "log2", "log2+1"] | float | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        class_weight: Literal["balanced"]
        | Mapping[Any, float]
        | list[Mapping[Any, float]]
        | None = None,
        categorical_features: Literal["auto"] | Iterable[Any] | None = "auto",
        unknown_category: Literal["missing", "error"] = "missing",
        max_bins: int = 255,
        subsample_for_bin: int = 200000,
        random_state: int | RandomState | None = 0,
        n_jobs: int | None = None,
    ) -> None: ...

class DecisionTreeRegressor(_TreeAttributes, _DecisionTreeRegressor):
    criterion: Literal["squared_error", "absolute_error"]
    def __init__(
        self,
        *,
        criterion: Literal["squared_error", "absolute_error"] = "squared_error",
        splitter: Literal["exact", "hist", "random"] = "exact",
        max_depth: int | None = None,
        max_leaves: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Literal["sqrt", "log2", "log2+1"] | float | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        categorical_features: Literal["auto"] | Iterable[Any] | None = "auto",
        unknown_category: Literal["missing", "error"] = "missing",
        max_bins: int = 255,
        subsample_for_bin: int = 200000,
        random_state: int | RandomState | None = 0,
        n_jobs: int | None = None,
    ) -> None: ...

class EnsembleClassifier(_EnsembleAttributes, _EnsembleClassifier):
    def __init__(
        self,
        estimators: Sequence[tuple[str, SklearnEstimator]] | None = None,
        *,
        cv: int | Any = 8,
        n_selections: int = 25,
        refit: bool | Literal["both"] = "both",
        time_budget: float | None = None,
        categorical_features: Literal["auto"] | Iterable[Any] | None = "auto",
        random_state: int | RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None: ...

class EnsembleRegressor(_EnsembleAttributes, _EnsembleRegressor):
    def __init__(
        self,
        estimators: Sequence[tuple[str, SklearnEstimator]] | None = None,
        *,
        cv: int | Any = 8,
        n_selections: int = 25,
        refit: bool | Literal["both"] = "both",
        time_budget: float | None = None,
        categorical_features: Literal["auto"] | Iterable[Any] | None = "auto",
        random_state: int | RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None: ...

class ExtraTreesClassifier(_ForestAttributes, _ExtraTreesClassifier):
    criterion: Literal["gini", "entropy", "log_loss", "gain_ratio", "error"]
    bootstrap: bool | Literal["balanced", "undersample", "oversample"]
    voting: Literal["soft", "hard"]
    class_weight: (
        Literal["balanced", "balanced_subsample"]
        | Mapping[Any, float]
        | list[Mapping[Any, float]]
        | None
    )
    def __init__(
        self,
        *,
        n_estimators: int = 100,
        criterion: Literal["gini", "entropy", "log_loss", "gain_ratio", "error"] = "gini",
        max_depth: int | None = None,
        max_leaves: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Literal["sqrt", "log2", "log2+1"] | float | None = "sqrt",
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        bootstrap: bool | Literal["balanced", "undersample", "oversample"] = False,
        max_samples: float | None = None,
        voting: Literal["soft", "hard"] = "soft",
        feature_combinations: int | None = None,
        oob_score: bool | Callable[..., Any] = False,
        class_weight: Literal["balanced", "balanced_subsample"]
        | Mapping[Any, float]
        | list[Mapping[Any, float]]
        | None = None,
        categorical_features: Literal["auto"] | Iterable[Any] | None = "auto",
        unknown_category: Literal["missing", "error"] = "missing",
        max_bins: int = 255,
        subsample_for_bin: int = 200000,
        warm_start: bool = False,
        random_state: int | RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None: ...

class ExtraTreesRegressor(_ForestAttributes, _ExtraTreesRegressor):
    criterion: Literal["squared_error", "absolute_error"]
    bootstrap: bool
    keep_targets: bool
    def __init__(
        self,
        *,
        n_estimators: int = 100,
        criterion: Literal["squared_error", "absolute_error"] = "squared_error",
        max_depth: int | None = None,
        max_leaves: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Literal["sqrt", "log2", "log2+1"] | float | None = 1.0,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        bootstrap: bool = False,
        max_samples: float | None = None,
        feature_combinations: int | None = None,
        keep_targets: bool = False,
        oob_score: bool | Callable[..., Any] = False,
        categorical_features: Literal["auto"] | Iterable[Any] | None = "auto",
        unknown_category: Literal["missing", "error"] = "missing",
        max_bins: int = 255,
        subsample_for_bin: int = 200000,
        warm_start: bool = False,
        random_state: int | RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None: ...

class GradientBoostingClassifier(_BoostingAttributes, _GradientBoostingClassifier):
    loss: Literal["log_loss", "exponential", "hinge", "focal", "cross_entropy"] | Callable[..., Any]
    focal_gamma: float
    init_estimator: SklearnEstimator | None
    sampling: Literal["uniform", "balanced", "group", "gradient", "minimal_variance"]
    multi_strategy: Literal["separate", "vector"]
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    scale_pos_weight: float
    calibration: Literal["sigmoid", "isotonic", "temperature"] | None
    calibration_fraction: float
    def __init__(
        self,
        *,
        loss: Literal["log_loss", "exponential", "hinge", "focal", "cross_entropy"]
        | Callable[..., Any] = "log_loss",
        focal_gamma: float = 2.0,
        learning_rate: float | Literal["auto"] = "auto",
        n_estimators: int | Literal["auto"] = "auto",
        budget: Literal["quick", "balanced", "thorough"] | float = "balanced",
        init: Literal["constant", "zero"] = "constant",
        init_estimator: SklearnEstimator | None = None,
        max_leaves: int | Literal["auto"] | None = "auto",
        max_depth: int | None = None,
        min_samples_leaf: int | Literal["auto"] = "auto",
        min_child_weight: float = 0.001,
        reg_lambda: float | Literal["auto"] = "auto",
        reg_alpha: float = 0.0,
        min_split_gain: float = 0.0,
        prune: bool = False,
        max_delta_step: float = 0.0,
        max_bins: int = 255,
        subsample: float | Literal["auto"] = "auto",
        sampling: Literal[
            "uniform", "balanced", "group", "gradient", "minimal_variance"
        ] = "uniform",
        colsample_bytree: float | Literal["auto"] = "auto",
        colsample_bylevel: float = 1.0,
        colsample_bynode: float | Literal["auto"] = "auto",
        boosting: Literal["gradient", "dart"] = "gradient",
        drop_rate: float = 0.1,
        skip_drop: float = 0.5,
        max_drop: int = 50,
        grow_policy: Literal["leafwise", "levelwise", "symmetric", "auto"] = "auto",
        linear_leaves: bool = False,
        linear_lambda: float = 1.0,
        splitter: Literal["hist", "approx", "exact"] = "hist",
        sketch: Literal["global", "tree"] = "global",
        multi_strategy: Literal["separate", "vector"] = "separate",
        monotonic_constraints: Iterable[Any] | None = None,
        interaction_constraints: Literal["pairwise", "no_interactions"]
        | Iterable[Any]
        | None = None,
        feature_weights: Iterable[Any] | None = None,
        categorical_features: Literal["auto"] | Iterable[Any] | None = "auto",
        max_categories: int = 255,
        unknown_category: Literal["missing", "error"] = "missing",
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        scale_pos_weight: float = 1.0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        validation_rows: Literal["random", "last"] = "random",
        calibration: Literal["sigmoid", "isotonic", "temperature"] | None = None,
        calibration_fraction: float = 0.2,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        eval_metric: str | Callable[..., Any] | Sequence[str | Callable[..., Any]] | None = None,
        subsample_for_bin: int = 200000,
        warm_start: bool = False,
        random_state: int | RandomState | None = 0,
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: int | bool = 0,
    ) -> None: ...

class GradientBoostingRanker(_BoostingAttributes, _GradientBoostingRanker):
    loss: Literal["ndcg", "map", "pairwise", "listwise"]
    gain: Literal["exponential", "linear"] | Sequence[float] | NDArray[Any]
    truncation: int | None
    sigma: float
    normalize: bool
    qid_column: int | str | None
    sampling: Literal["uniform", "group", "gradient", "minimal_variance"]
    def __init__(
        self,
        *,
        loss: Literal["ndcg", "map", "pairwise", "listwise"] = "ndcg",
        gain: Literal["exponential", "linear"] | Sequence[float] | NDArray[Any] = "exponential",
        truncation: int | None = 30,
        sigma: float = 1.0,
        normalize: bool = True,
        qid_column: int | str | None = None,
        learning_rate: float | Literal["auto"] = "auto",
        n_estimators: int | Literal["auto"] = "auto",
        budget: Literal["quick", "balanced", "thorough"] | float = "balanced",
        init: Literal["constant", "zero"] = "constant",
        max_leaves: int | Literal["auto"] | None = "auto",
        max_depth: int | None = None,
        min_samples_leaf: int | Literal["auto"] = "auto",
        min_child_weight: float = 0.001,
        reg_lambda: float | Literal["auto"] = "auto",
        reg_alpha: float = 0.0,
        min_split_gain: float = 0.0,
        prune: bool = False,
        max_delta_step: float = 0.0,
        max_bins: int = 255,
        subsample: float | Literal["auto"] = "auto",
        sampling: Literal["uniform", "group", "gradient", "minimal_variance"] = "uniform",
        colsample_bytree: float | Literal["auto"] = "auto",
        colsample_bylevel: float = 1.0,
        colsample_bynode: float | Literal["auto"] = "auto",
        boosting: Literal["gradient", "dart"] = "gradient",
        drop_rate: float = 0.1,
        skip_drop: float = 0.5,
        max_drop: int = 50,
        grow_policy: Literal["leafwise", "levelwise", "symmetric", "auto"] = "auto",
        linear_leaves: bool = False,
        linear_lambda: float = 1.0,
        splitter: Literal["hist", "approx", "exact"] = "hist",
        sketch: Literal["global", "tree"] = "global",
        monotonic_constraints: Iterable[Any] | None = None,
        interaction_constraints: Literal["pairwise", "no_interactions"]
        | Iterable[Any]
        | None = None,
        feature_weights: Iterable[Any] | None = None,
        categorical_features: Literal["auto"] | Iterable[Any] | None = "auto",
        max_categories: int = 255,
        unknown_category: Literal["missing", "error"] = "missing",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        validation_rows: Literal["random", "last"] = "random",
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        eval_metric: str | Callable[..., Any] | Sequence[str | Callable[..., Any]] | None = None,
        subsample_for_bin: int = 200000,
        warm_start: bool = False,
        random_state: int | RandomState | None = 0,
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: int | bool = 0,
    ) -> None: ...

class GradientBoostingRegressor(_BoostingAttributes, _GradientBoostingRegressor):
    loss: (
        Literal[
            "squared_error",
            "quantile",
            "absolute_error",
            "mape",
            "expectile",
            "huber",
            "pseudo_huber",
            "log_cosh",
            "poisson",
            "gamma",
            "tweedie",
            "log_loss",
        ]
        | Callable[..., Any]
    )
    quantile: float | Sequence[float] | NDArray[Any]
    delta: float | None
    leaf_step: Literal["newton", "minimum"]
    tweedie_power: float
    init_estimator: SklearnEstimator | None
    sampling: Literal["uniform", "balanced", "group", "gradient", "minimal_variance"]
    multi_strategy: Literal["separate", "vector"]
    calibration: Literal["conformal"] | None
    calibration_fraction: float
    def __init__(
        self,
        *,
        loss: Literal[
            "squared_error",
            "quantile",
            "absolute_error",
            "mape",
            "expectile",
            "huber",
            "pseudo_huber",
            "log_cosh",
            "poisson",
            "gamma",
            "tweedie",
            "log_loss",
        ]
        | Callable[..., Any] = "squared_error",
        quantile: float | Sequence[float] | NDArray[Any] = 0.5,
        delta: float | None = None,
        leaf_step: Literal["newton", "minimum"] = "newton",
        tweedie_power: float = 1.5,
        learning_rate: float | Literal["auto"] = "auto",
        n_estimators: int | Literal["auto"] = "auto",
        budget: Literal["quick", "balanced", "thorough"] | float = "balanced",
        init: Literal["constant", "zero"] = "constant",
        init_estimator: SklearnEstimator | None = None,
        max_leaves: int | Literal["auto"] | None = "auto",
        max_depth: int | None = None,
        min_samples_leaf: int | Literal["auto"] = "auto",
        min_child_weight: float = 0.001,
        reg_lambda: float | Literal["auto"] = "auto",
        reg_alpha: float = 0.0,
        min_split_gain: float = 0.0,
        prune: bool = False,
        max_delta_step: float = 0.0,
        max_bins: int = 255,
        subsample: float | Literal["auto"] = "auto",
        sampling: Literal[
            "uniform", "balanced", "group", "gradient", "minimal_variance"
        ] = "uniform",
        colsample_bytree: float | Literal["auto"] = "auto",
        colsample_bylevel: float = 1.0,
        colsample_bynode: float | Literal["auto"] = "auto",
        boosting: Literal["gradient", "dart"] = "gradient",
        drop_rate: float = 0.1,
        skip_drop: float = 0.5,
        max_drop: int = 50,
        grow_policy: Literal["leafwise", "levelwise", "symmetric", "auto"] = "auto",
        linear_leaves: bool = False,
        linear_lambda: float = 1.0,
        splitter: Literal["hist", "approx", "exact"] = "hist",
        sketch: Literal["global", "tree"] = "global",
        multi_strategy: Literal["separate", "vector"] = "separate",
        monotonic_constraints: Iterable[Any] | None = None,
        interaction_constraints: Literal["pairwise", "no_interactions"]
        | Iterable[Any]
        | None = None,
        feature_weights: Iterable[Any] | None = None,
        categorical_features: Literal["auto"] | Iterable[Any] | None = "auto",
        max_categories: int = 255,
        unknown_category: Literal["missing", "error"] = "missing",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        validation_rows: Literal["random", "last"] = "random",
        calibration: Literal["conformal"] | None = None,
        calibration_fraction: float = 0.2,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        eval_metric: str | Callable[..., Any] | Sequence[str | Callable[..., Any]] | None = None,
        subsample_for_bin: int = 200000,
        warm_start: bool = False,
        random_state: int | RandomState | None = 0,
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: int | bool = 0,
    ) -> None: ...

class GradientBoostingSurvival(_BoostingAttributes, _GradientBoostingSurvival):
    loss: Literal["cox", "aft"]
    ties: Literal["efron", "breslow"]
    aft_distribution: Literal["normal", "logistic", "extreme"]
    aft_scale: float | Literal["auto"]
    sampling: Literal["uniform", "group", "gradient", "minimal_variance"]
    def __init__(
        self,
        *,
        loss: Literal["cox", "aft"] = "cox",
        ties: Literal["efron", "breslow"] = "efron",
        aft_distribution: Literal["normal", "logistic", "extreme"] = "normal",
        aft_scale: float | Literal["auto"] = "auto",
        learning_rate: float | Literal["auto"] = "auto",
        n_estimators: int | Literal["auto"] = "auto",
        budget: Literal["quick", "balanced", "thorough"] | float = "balanced",
        init: Literal["constant", "zero"] = "constant",
        max_leaves: int | Literal["auto"] | None = "auto",
        max_depth: int | None = None,
        min_samples_leaf: int | Literal["auto"] = "auto",
        min_child_weight: float = 0.001,
        reg_lambda: float | Literal["auto"] = "auto",
        reg_alpha: float = 0.0,
        min_split_gain: float = 0.0,
        prune: bool = False,
        max_delta_step: float = 0.0,
        max_bins: int = 255,
        subsample: float | Literal["auto"] = "auto",
        sampling: Literal["uniform", "group", "gradient", "minimal_variance"] = "uniform",
        colsample_bytree: float | Literal["auto"] = "auto",
        colsample_bylevel: float = 1.0,
        colsample_bynode: float | Literal["auto"] = "auto",
        boosting: Literal["gradient", "dart"] = "gradient",
        drop_rate: float = 0.1,
        skip_drop: float = 0.5,
        max_drop: int = 50,
        grow_policy: Literal["leafwise", "levelwise", "symmetric", "auto"] = "auto",
        linear_leaves: bool = False,
        linear_lambda: float = 1.0,
        splitter: Literal["hist", "approx", "exact"] = "hist",
        sketch: Literal["global", "tree"] = "global",
        monotonic_constraints: Iterable[Any] | None = None,
        interaction_constraints: Literal["pairwise", "no_interactions"]
        | Iterable[Any]
        | None = None,
        feature_weights: Iterable[Any] | None = None,
        categorical_features: Literal["auto"] | Iterable[Any] | None = "auto",
        max_categories: int = 255,
        unknown_category: Literal["missing", "error"] = "missing",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        validation_rows: Literal["random", "last"] = "random",
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        eval_metric: str | Callable[..., Any] | Sequence[str | Callable[..., Any]] | None = None,
        subsample_for_bin: int = 200000,
        warm_start: bool = False,
        random_state: int | RandomState | None = 0,
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: int | bool = 0,
    ) -> None: ...

class KNeighborsClassifier(_NeighborsAttributes, _KNeighborsClassifier):
    n_neighbors: int
    weights: Literal["uniform", "distance"] | Callable[..., Any] | None
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Literal["uniform", "distance"] | Callable[..., Any] | None = "uniform",
        algorithm: Literal["auto", "brute", "kd_tree"] = "auto",
        metric: Literal[
            "euclidean",
            "manhattan",
            "chebyshev",
            "minkowski",
            "cosine",
            "gower",
            "precomputed",
            "l2",
            "l1",
            "cityblock",
            "infinity",
        ]
        | Callable[..., Any] = "minkowski",
        p: float = 2,
        metric_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
    ) -> None: ...

class KNeighborsRegressor(_NeighborsAttributes, _KNeighborsRegressor):
    n_neighbors: int
    weights: Literal["uniform", "distance"] | Callable[..., Any] | None
    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Literal["uniform", "distance"] | Callable[..., Any] | None = "uniform",
        algorithm: Literal["auto", "brute", "kd_tree"] = "auto",
        metric: Literal[
            "euclidean",
            "manhattan",
            "chebyshev",
            "minkowski",
            "cosine",
            "gower",
            "precomputed",
            "l2",
            "l1",
            "cityblock",
            "infinity",
        ]
        | Callable[..., Any] = "minkowski",
        p: float = 2,
        metric_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None: ...

class LinearSVC(_SvmAttributes, _LinearSVC):
    penalty: Literal["l1", "l2"]
    loss: Literal["hinge", "squared_hinge"]
    dual: Literal["auto"] | bool
    C: float
    multi_class: Literal["ovr", "crammer_singer"]
    fit_intercept: bool
    intercept_scaling: float
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    random_state: int | RandomState | None
    def __init__(
        self,
        penalty: Literal["l1", "l2"] = "l2",
        loss: Literal["hinge", "squared_hinge"] = "squared_hinge",
        *,
        dual: Literal["auto"] | bool = "auto",
        tol: float = 0.0001,
        C: float = 1.0,
        multi_class: Literal["ovr", "crammer_singer"] = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        random_state: int | RandomState | None = 0,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None: ...

class LinearSVR(_SvmAttributes, _LinearSVR):
    epsilon: float
    C: float
    loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"]
    fit_intercept: bool
    intercept_scaling: float
    dual: Literal["auto"] | bool
    random_state: int | RandomState | None
    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 0.0001,
        C: float = 1.0,
        loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        dual: Literal["auto"] | bool = "auto",
        random_state: int | RandomState | None = 0,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None: ...

class NearestNeighbors(_NeighborsAttributes, _NearestNeighbors):
    n_neighbors: int
    radius: float
    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        radius: float = 1.0,
        algorithm: Literal["auto", "brute", "kd_tree"] = "auto",
        metric: Literal[
            "euclidean",
            "manhattan",
            "chebyshev",
            "minkowski",
            "cosine",
            "gower",
            "precomputed",
            "l2",
            "l1",
            "cityblock",
            "infinity",
        ]
        | Callable[..., Any] = "minkowski",
        p: float = 2,
        metric_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None: ...

class NuSVC(_SvmAttributes, _NuSVC):
    nu: float
    kernel: (
        Literal["linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed"] | Callable[..., Any]
    )
    degree: int
    gamma: Literal["scale", "auto"] | float
    coef0: float
    shrinking: bool
    probability: bool
    cache_size: float
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    multi_class: Literal["ovo", "ovr"]
    decision_function_shape: Literal["ovo", "ovr"]
    break_ties: bool
    random_state: int | RandomState | None
    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Literal["linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed"]
        | Callable[..., Any] = "rbf",
        degree: int = 3,
        gamma: Literal["scale", "auto"] | float = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool = False,
        tol: float = 0.001,
        cache_size: float = 200,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        max_iter: int = -1,
        multi_class: Literal["ovo", "ovr"] = "ovo",
        decision_function_shape: Literal["ovo", "ovr"] = "ovr",
        break_ties: bool = False,
        random_state: int | RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None: ...

class NuSVR(_SvmAttributes, _NuSVR):
    nu: float
    C: float
    kernel: (
        Literal["linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed"] | Callable[..., Any]
    )
    degree: int
    gamma: Literal["scale", "auto"] | float
    coef0: float
    shrinking: bool
    cache_size: float
    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Literal["linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed"]
        | Callable[..., Any] = "rbf",
        degree: int = 3,
        gamma: Literal["scale", "auto"] | float = "scale",
        coef0: float = 0.0,
        tol: float = 0.001,
        shrinking: bool = True,
        cache_size: float = 200,
        max_iter: int = -1,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None: ...

class OneClassSVM(_SvmAttributes, _OneClassSVM):
    kernel: (
        Literal["linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed"] | Callable[..., Any]
    )
    degree: int
    gamma: Literal["scale", "auto"] | float
    coef0: float
    nu: float
    shrinking: bool
    cache_size: float
    def __init__(
        self,
        *,
        kernel: Literal["linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed"]
        | Callable[..., Any] = "rbf",
        degree: int = 3,
        gamma: Literal["scale", "auto"] | float = "scale",
        coef0: float = 0.0,
        tol: float = 0.001,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float = 200,
        max_iter: int = -1,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None: ...

class OutputCodeClassifier(_DecisionsAttributes, _OutputCodeClassifier):
    code: (
        Literal["one_vs_rest", "one_vs_one", "exhaustive", "random"]
        | Sequence[Sequence[float]]
        | NDArray[Any]
    )
    n_columns: int | None
    decoding: Literal["soft", "hard"]
    def __init__(
        self,
        estimator: SklearnEstimator | None = None,
        *,
        code: Literal["one_vs_rest", "one_vs_one", "exhaustive", "random"]
        | Sequence[Sequence[float]]
        | NDArray[Any] = "one_vs_rest",
        n_columns: int | None = None,
        decoding: Literal["soft", "hard"] = "soft",
        random_state: int | RandomState | None = 0,
    ) -> None: ...

class RadiusNeighborsClassifier(_NeighborsAttributes, _RadiusNeighborsClassifier):
    radius: float
    weights: Literal["uniform", "distance"] | Callable[..., Any] | None
    outlier_label: str | float | Sequence[str | float] | NDArray[Any] | None
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    def __init__(
        self,
        radius: float = 1.0,
        *,
        weights: Literal["uniform", "distance"] | Callable[..., Any] | None = "uniform",
        outlier_label: str | float | Sequence[str | float] | NDArray[Any] | None = None,
        algorithm: Literal["auto", "brute", "kd_tree"] = "auto",
        metric: Literal[
            "euclidean",
            "manhattan",
            "chebyshev",
            "minkowski",
            "cosine",
            "gower",
            "precomputed",
            "l2",
            "l1",
            "cityblock",
            "infinity",
        ]
        | Callable[..., Any] = "minkowski",
        p: float = 2,
        metric_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
    ) -> None: ...

class RadiusNeighborsRegressor(_NeighborsAttributes, _RadiusNeighborsRegressor):
    radius: float
    weights: Literal["uniform", "distance"] | Callable[..., Any] | None
    def __init__(
        self,
        radius: float = 1.0,
        *,
        weights: Literal["uniform", "distance"] | Callable[..., Any] | None = "uniform",
        algorithm: Literal["auto", "brute", "kd_tree"] = "auto",
        metric: Literal[
            "euclidean",
            "manhattan",
            "chebyshev",
            "minkowski",
            "cosine",
            "gower",
            "precomputed",
            "l2",
            "l1",
            "cityblock",
            "infinity",
        ]
        | Callable[..., Any] = "minkowski",
        p: float = 2,
        metric_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None: ...

class RandomForestClassifier(_ForestAttributes, _RandomForestClassifier):
    criterion: Literal["gini", "entropy", "log_loss", "gain_ratio", "error"]
    bootstrap: bool | Literal["balanced", "undersample", "oversample"]
    voting: Literal["soft", "hard"]
    class_weight: (
        Literal["balanced", "balanced_subsample"]
        | Mapping[Any, float]
        | list[Mapping[Any, float]]
        | None
    )
    def __init__(
        self,
        *,
        n_estimators: int = 100,
        criterion: Literal["gini", "entropy", "log_loss", "gain_ratio", "error"] = "gini",
        max_depth: int | None = None,
        max_leaves: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Literal["sqrt", "log2", "log2+1"] | float | None = "sqrt",
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        bootstrap: bool | Literal["balanced", "undersample", "oversample"] = True,
        max_samples: float | None = None,
        voting: Literal["soft", "hard"] = "soft",
        feature_combinations: int | None = None,
        oob_score: bool | Callable[..., Any] = False,
        class_weight: Literal["balanced", "balanced_subsample"]
        | Mapping[Any, float]
        | list[Mapping[Any, float]]
        | None = None,
        categorical_features: Literal["auto"] | Iterable[Any] | None = "auto",
        unknown_category: Literal["missing", "error"] = "missing",
        max_bins: int = 255,
        subsample_for_bin: int = 200000,
        warm_start: bool = False,
        random_state: int | RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None: ...

class RandomForestRegressor(_ForestAttributes, _RandomForestRegressor):
    criterion: Literal["squared_error", "absolute_error"]
    bootstrap: bool
    keep_targets: bool
    def __init__(
        self,
        *,
        n_estimators: int = 100,
        criterion: Literal["squared_error", "absolute_error"] = "squared_error",
        max_depth: int | None = None,
        max_leaves: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Literal["sqrt", "log2", "log2+1"] | float | None = 1.0,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        bootstrap: bool = True,
        max_samples: float | None = None,
        feature_combinations: int | None = None,
        keep_targets: bool = False,
        oob_score: bool | Callable[..., Any] = False,
        categorical_features: Literal["auto"] | Iterable[Any] | None = "auto",
        unknown_category: Literal["missing", "error"] = "missing",
        max_bins: int = 255,
        subsample_for_bin: int = 200000,
        warm_start: bool = False,
        random_state: int | RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None: ...

class SVC(_SvmAttributes, _SVC):
    C: float
    kernel: (
        Literal["linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed"] | Callable[..., Any]
    )
    degree: int
    gamma: Literal["scale", "auto"] | float
    coef0: float
    shrinking: bool
    probability: bool
    cache_size: float
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    multi_class: Literal["ovo", "ovr"]
    decision_function_shape: Literal["ovo", "ovr"]
    break_ties: bool
    random_state: int | RandomState | None
    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Literal["linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed"]
        | Callable[..., Any] = "rbf",
        degree: int = 3,
        gamma: Literal["scale", "auto"] | float = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool = False,
        tol: float = 0.001,
        cache_size: float = 200,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        max_iter: int = -1,
        multi_class: Literal["ovo", "ovr"] = "ovo",
        decision_function_shape: Literal["ovo", "ovr"] = "ovr",
        break_ties: bool = False,
        random_state: int | RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None: ...

class SVR(_SvmAttributes, _SVR):
    kernel: (
        Literal["linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed"] | Callable[..., Any]
    )
    degree: int
    gamma: Literal["scale", "auto"] | float
    coef0: float
    C: float
    epsilon: float
    shrinking: bool
    cache_size: float
    def __init__(
        self,
        *,
        kernel: Literal["linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed"]
        | Callable[..., Any] = "rbf",
        degree: int = 3,
        gamma: Literal["scale", "auto"] | float = "scale",
        coef0: float = 0.0,
        tol: float = 0.001,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        max_iter: int = -1,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None: ...

class StagewiseClassifier(_StagewiseAttributes, _StagewiseClassifier):
    loss: Literal["log_loss", "exponential"] | Any
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    def __init__(
        self,
        estimator: SklearnEstimator | None = None,
        *,
        loss: Literal["log_loss", "exponential"] | Any = "log_loss",
        search: Literal["gradient", "joint"] = "gradient",
        response: Literal["gradient", "newton"] = "gradient",
        step: Literal["auto", "line_search", "per_leaf", "newton", "unit"] = "auto",
        normalise: float | None = None,
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample: float = 1.0,
        init: Literal["zero"] | SklearnEstimator | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        warm_start: bool = False,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        random_state: int | RandomState | None = 0,
        verbose: int | bool = 0,
    ) -> None: ...

class StagewiseRegressor(_StagewiseAttributes, _StagewiseRegressor):
    loss: Literal["squared_error", "absolute_error", "huber", "quantile", "poisson"] | Any
    alpha: float
    def __init__(
        self,
        estimator: SklearnEstimator | None = None,
        *,
        loss: Literal["squared_error", "absolute_error", "huber", "quantile", "poisson"]
        | Any = "squared_error",
        alpha: float = 0.9,
        search: Literal["gradient", "joint"] = "gradient",
        response: Literal["gradient", "newton"] = "gradient",
        step: Literal["auto", "line_search", "per_leaf", "newton", "unit"] = "auto",
        normalise: float | None = None,
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample: float = 1.0,
        init: Literal["zero"] | SklearnEstimator | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        warm_start: bool = False,
        random_state: int | RandomState | None = 0,
        verbose: int | bool = 0,
    ) -> None: ...
