# Written by tools/stubs.py from hedgerow/__init__.py and the declarations of parameters.
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from numpy.random import RandomState
from numpy.typing import NDArray

from hedgerow._types import SklearnEstimator
from hedgerow.dask._estimators import (
    DaskBoosting,
    DaskForest,
    DaskProbabilities,
    DaskRanking,
    DaskScoredProbabilities,
)
from hedgerow.dask._predicting import predict as predict
from hedgerow.dask._predicting import predict_proba as predict_proba
from hedgerow.dask._predicting import shap_values as shap_values
from hedgerow.dask._transport import DaskCommunicator as DaskCommunicator

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

class ExtraTreesClassifier(DaskForest, DaskProbabilities):
    n_estimators: int
    criterion: Literal["gini", "entropy", "log_loss", "gain_ratio", "error"]
    max_depth: int | None
    max_leaves: int | None
    min_samples_split: float
    min_samples_leaf: float
    min_weight_fraction_leaf: float
    max_features: Literal["sqrt", "log2", "log2+1"] | float | None
    min_impurity_decrease: float
    ccp_alpha: float
    bootstrap: bool | Literal["balanced", "undersample", "oversample"]
    max_samples: float | None
    voting: Literal["soft", "hard"]
    feature_combinations: int | None
    oob_score: bool | Callable[..., Any]
    class_weight: (
        Literal["balanced", "balanced_subsample"]
        | Mapping[Any, float]
        | list[Mapping[Any, float]]
        | None
    )
    categorical_features: Literal["auto"] | Iterable[Any] | None
    unknown_category: Literal["missing", "error"]
    max_bins: int
    subsample_for_bin: int
    warm_start: bool
    random_state: int | RandomState | None
    n_jobs: int | None
    verbose: int | bool
    client: Any | None
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
        client: Any | None = None,
    ) -> None: ...

class ExtraTreesRegressor(DaskForest):
    n_estimators: int
    criterion: Literal["squared_error", "absolute_error"]
    max_depth: int | None
    max_leaves: int | None
    min_samples_split: float
    min_samples_leaf: float
    min_weight_fraction_leaf: float
    max_features: Literal["sqrt", "log2", "log2+1"] | float | None
    min_impurity_decrease: float
    ccp_alpha: float
    bootstrap: bool
    max_samples: float | None
    feature_combinations: int | None
    keep_targets: bool
    oob_score: bool | Callable[..., Any]
    categorical_features: Literal["auto"] | Iterable[Any] | None
    unknown_category: Literal["missing", "error"]
    max_bins: int
    subsample_for_bin: int
    warm_start: bool
    random_state: int | RandomState | None
    n_jobs: int | None
    verbose: int | bool
    client: Any | None
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
        client: Any | None = None,
    ) -> None: ...

class GradientBoostingClassifier(DaskBoosting, DaskScoredProbabilities):
    loss: Literal["log_loss", "exponential", "hinge", "focal", "cross_entropy"] | Callable[..., Any]
    focal_gamma: float
    learning_rate: float | Literal["auto"]
    n_estimators: int | Literal["auto"]
    budget: Literal["quick", "balanced", "thorough"] | float
    init_estimator: SklearnEstimator | None
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
    sampling: Literal["uniform", "balanced", "group", "gradient", "minimal_variance"]
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
    multi_strategy: Literal["separate", "vector"]
    monotonic_constraints: Iterable[Any] | None
    interaction_constraints: Literal["pairwise", "no_interactions"] | Iterable[Any] | None
    feature_weights: Iterable[Any] | None
    categorical_features: Literal["auto"] | Iterable[Any] | None
    max_categories: int
    unknown_category: Literal["missing", "error"]
    class_weight: Literal["balanced"] | Mapping[Any, float] | None
    scale_pos_weight: float
    early_stopping: bool
    validation_fraction: float
    validation_rows: Literal["random", "last"]
    calibration: Literal["sigmoid", "isotonic", "temperature"] | None
    calibration_fraction: float
    n_iter_no_change: int
    tol: float
    eval_metric: str | Callable[..., Any] | Sequence[str | Callable[..., Any]] | None
    subsample_for_bin: int
    warm_start: bool
    random_state: int | RandomState | None
    n_jobs: int | None
    device: str
    verbose: int | bool
    client: Any | None
    def __init__(
        self,
        *,
        loss: Literal["log_loss", "exponential", "hinge", "focal", "cross_entropy"]
        | Callable[..., Any] = "log_loss",
        focal_gamma: float = 2.0,
        learning_rate: float | Literal["auto"] = "auto",
        n_estimators: int | Literal["auto"] = "auto",
        budget: Literal["quick", "balanced", "thorough"] | float = "balanced",
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
        client: Any | None = None,
    ) -> None: ...

class GradientBoostingRanker(DaskRanking):
    loss: Literal["ndcg", "map", "pairwise", "listwise"]
    gain: Literal["exponential", "linear"] | Sequence[float] | NDArray[Any]
    truncation: int | None
    sigma: float
    normalize: bool
    qid_column: int | str | None
    learning_rate: float | Literal["auto"]
    n_estimators: int | Literal["auto"]
    budget: Literal["quick", "balanced", "thorough"] | float
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
    sampling: Literal["uniform", "group", "gradient", "minimal_variance"]
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
    client: Any | None
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
        client: Any | None = None,
    ) -> None: ...

class GradientBoostingRegressor(DaskBoosting):
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
    tweedie_power: float
    learning_rate: float | Literal["auto"]
    n_estimators: int | Literal["auto"]
    budget: Literal["quick", "balanced", "thorough"] | float
    init_estimator: SklearnEstimator | None
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
    sampling: Literal["uniform", "balanced", "group", "gradient", "minimal_variance"]
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
    multi_strategy: Literal["separate", "vector"]
    monotonic_constraints: Iterable[Any] | None
    interaction_constraints: Literal["pairwise", "no_interactions"] | Iterable[Any] | None
    feature_weights: Iterable[Any] | None
    categorical_features: Literal["auto"] | Iterable[Any] | None
    max_categories: int
    unknown_category: Literal["missing", "error"]
    early_stopping: bool
    validation_fraction: float
    validation_rows: Literal["random", "last"]
    calibration: Literal["conformal"] | None
    calibration_fraction: float
    n_iter_no_change: int
    tol: float
    eval_metric: str | Callable[..., Any] | Sequence[str | Callable[..., Any]] | None
    subsample_for_bin: int
    warm_start: bool
    random_state: int | RandomState | None
    n_jobs: int | None
    device: str
    verbose: int | bool
    client: Any | None
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
        tweedie_power: float = 1.5,
        learning_rate: float | Literal["auto"] = "auto",
        n_estimators: int | Literal["auto"] = "auto",
        budget: Literal["quick", "balanced", "thorough"] | float = "balanced",
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
        client: Any | None = None,
    ) -> None: ...

class RandomForestClassifier(DaskForest, DaskProbabilities):
    n_estimators: int
    criterion: Literal["gini", "entropy", "log_loss", "gain_ratio", "error"]
    max_depth: int | None
    max_leaves: int | None
    min_samples_split: float
    min_samples_leaf: float
    min_weight_fraction_leaf: float
    max_features: Literal["sqrt", "log2", "log2+1"] | float | None
    min_impurity_decrease: float
    ccp_alpha: float
    bootstrap: bool | Literal["balanced", "undersample", "oversample"]
    max_samples: float | None
    voting: Literal["soft", "hard"]
    feature_combinations: int | None
    oob_score: bool | Callable[..., Any]
    class_weight: (
        Literal["balanced", "balanced_subsample"]
        | Mapping[Any, float]
        | list[Mapping[Any, float]]
        | None
    )
    categorical_features: Literal["auto"] | Iterable[Any] | None
    unknown_category: Literal["missing", "error"]
    max_bins: int
    subsample_for_bin: int
    warm_start: bool
    random_state: int | RandomState | None
    n_jobs: int | None
    verbose: int | bool
    client: Any | None
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
        client: Any | None = None,
    ) -> None: ...

class RandomForestRegressor(DaskForest):
    n_estimators: int
    criterion: Literal["squared_error", "absolute_error"]
    max_depth: int | None
    max_leaves: int | None
    min_samples_split: float
    min_samples_leaf: float
    min_weight_fraction_leaf: float
    max_features: Literal["sqrt", "log2", "log2+1"] | float | None
    min_impurity_decrease: float
    ccp_alpha: float
    bootstrap: bool
    max_samples: float | None
    feature_combinations: int | None
    keep_targets: bool
    oob_score: bool | Callable[..., Any]
    categorical_features: Literal["auto"] | Iterable[Any] | None
    unknown_category: Literal["missing", "error"]
    max_bins: int
    subsample_for_bin: int
    warm_start: bool
    random_state: int | RandomState | None
    n_jobs: int | None
    verbose: int | bool
    client: Any | None
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
        client: Any | None = None,
    ) -> None: ...
