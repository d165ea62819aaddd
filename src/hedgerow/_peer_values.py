"""Values of parameters in XGBoost, LightGBM, CatBoost and scikit-learn, and what to write here.

Losses and metrics have tables by estimator, since a loss may belong to another estimator. `VALUES`
has the values of all other parameters, by our name of the parameter. Strings are compared without
regard to case; other objects are identified by the name of their type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from hedgerow._spelling import did_you_mean

# Our name of a loss, and its names in other libraries.
LOSSES: Mapping[str, Mapping[str, str]] = {
    "GradientBoostingClassifier": {
        "log_loss": "auto bernoulli binary binary:logistic binary:logitraw binary_crossentropy "
        "binomial categorical_crossentropy cross-entropy crossentropy deviance entropy logistic "
        "logloss multi:softmax multi:softprob multi_logloss multiclass multiclassova multinomial "
        "softmax binary_logloss multiclassonevsall multilogloss multi_crossentropy "
        "sparse_categorical_crossentropy",
        "exponential": "adaboost exp",
        "hinge": "binary:hinge squared_hinge",
        "focal": "focal_loss focalloss",
        "cross_entropy": "xentropy cross_entropy_lambda xentlambda",
    },
    "GradientBoostingRegressor": {
        "squared_error": "gaussian l2 l2_root least_squares linear ls mean_squared_error mse "
        "multirmse reg:linear reg:squarederror regression regression_l2 rmse "
        "root_mean_squared_error squared",
        "absolute_error": "absolute l1 lad laplace least_absolute_deviation mae "
        "mean_absolute_error reg:absoluteerror regression_l1 multimae",
        "huber": "smooth_l1",
        "pseudo_huber": "reg:pseudohubererror pseudohuber",
        "log_cosh": "fair logcosh",
        "mape": "mean_absolute_percentage_error",
        "quantile": "multiquantile pinball reg:quantileerror",
        "expectile": "reg:expectileerror asymmetric_squared_error",
        "poisson": "count:poisson poisson_loss",
        "gamma": "reg:gamma gamma_deviance",
        "tweedie": "reg:tweedie",
        "log_loss": "reg:logistic cross_entropy xentropy",
    },
    "GradientBoostingRanker": {
        "ndcg": "lambdamart lambdarank rank:ndcg stochasticrank yetirank yetirankpairwise",
        "map": "rank:map",
        "pairwise": "pairlogit pairlogitpairwise rank:pairwise ranknet",
        "listwise": "listnet queryrmse querysoftmax querycrossentropy rank_xendcg xendcg",
    },
    "GradientBoostingSurvival": {
        "cox": "survival:cox coxph",
        "aft": "survival:aft survivalaft weibull",
    },
    "LinearSVC": {"hinge": "l1", "squared_hinge": "l2"},
    "LinearSVR": {"epsilon_insensitive": "l1", "squared_epsilon_insensitive": "l2"},
    "AdaBoostRegressor": {"square": "mse squared_error l2", "linear": "mae absolute_error l1"},
}
OTHER_LOSSES: Mapping[str, str] = {
    "reg:squaredlogerror": "use 'squared_error' and fit to np.log1p(y)",
    "msle": "use 'squared_error' and fit to np.log1p(y)",
    "rmsewithuncertainty": "for prediction intervals set calibration='conformal' and call "
    "predict_interval",
    "binary:logitraw": "use loss='log_loss' and decision_function(X), which returns raw scores",
}

METRICS: Mapping[str, Mapping[str, str]] = {
    "classifiers": {
        "log_loss": "binary_logloss crossentropy deviance logloss mlogloss multi_logloss "
        "multiclass neg_log_loss cross_entropy multilogloss binary_crossentropy",
        "auc": "auc_mu roc_auc roc_auc_score roc auc_ovr roc_auc_ovr",
        "average_precision": "aucpr prauc pr_auc average_precision_score auprc",
        "error": "binary_error merror multi_error zerooneloss zero_one_loss",
        "accuracy": "acc accuracy_score",
        "balanced_accuracy": "balancedaccuracy balanced_accuracy_score",
        "g_mean": "gmean geometric_mean geometric_mean_score",
        "f1": "f1_score totalf1",
        "macro_f1": "f1_macro",
        "mcc": "matthews_corrcoef matthews",
        "quadratic_kappa": "wkappa qwk quadratic_weighted_kappa cohen_kappa kappa "
        "cohen_kappa_score",
        "brier": "brierscore brier_score brier_score_loss neg_brier_score",
    },
    "regressors": {
        "rmse": "l2_root root_mean_squared_error neg_root_mean_squared_error",
        "mse": "l2 mean_squared_error neg_mean_squared_error squared_error regression "
        "regression_l2",
        "mae": "l1 mean_absolute_error neg_mean_absolute_error absolute_error regression_l1 mphe",
        "median_absolute_error": "medianabsoluteerror neg_median_absolute_error",
        "mape": "mean_absolute_percentage_error neg_mean_absolute_percentage_error",
        "rmsle": "root_mean_squared_log_error neg_root_mean_squared_log_error",
        "r2": "r2_score",
        "pinball": "quantile",
        "poisson_deviance": "poisson poisson-nloglik mean_poisson_deviance",
        "gamma_deviance": "gamma gamma-deviance gamma-nloglik mean_gamma_deviance",
        "tweedie_deviance": "tweedie mean_tweedie_deviance tweedie-nloglik",
    },
    "rankers": {
        "ndcg": "lambdarank ndcg_score",
        "map": "mean_average_precision",
        "mrr": "mean_reciprocal_rank",
        "precision@10": "precision pre pre@10 precisionat precision_at_k",
        "recall@10": "recall recallat recall_at_k",
    },
    "survival models": {
        "concordance": "c_index c-index cindex concordance_index harrell",
        "cox_nloglik": "cox-nloglik cox",
        "aft_nloglik": "aft-nloglik aft survivalaft",
    },
}

_NO_LIMIT = "for no limit write {name}=None"
_ALL_THREADS = "for all threads write n_jobs=-1"
_LARGE_C = "use a large C for little regularisation"
_FOR_NUMBERS = "that criterion is for regressors"
_FOR_CLASSES = "that criterion is for classifiers"
_NO_FEATURES = (
    "scikit-learn's 'auto' meant 'sqrt' for classifiers and None (all features) for regressors"
)

# For each value our names, of which the first that is allowed is suggested, or a sentence.
VALUES: Mapping[str, Mapping[Any, tuple[str, ...]]] = {
    "algorithm": {"ball_tree": ("kd_tree",), "kdtree": ("kd_tree",)},
    "boosting": {
        "gbtree": ("gradient",),
        "gbdt": ("gradient",),
        "plain": ("gradient",),
        "ordered": ("gradient",),
        "gblinear": (
            "linear boosters are not supported; linear_leaves=True fits linear models in leaves",
        ),
        "goss": ("use sampling='gradient' with subsample < 1",),
        "mvs": ("use sampling='minimal_variance' with subsample < 1",),
        "rf": ("use RandomForestClassifier or RandomForestRegressor",),
        "random_forest": ("use RandomForestClassifier or RandomForestRegressor",),
    },
    "calibration": {
        "platt": ("sigmoid",),
        "logistic": ("sigmoid",),
        "split": ("conformal",),
        "sigmoid": ("probabilities are calibrated in GradientBoostingClassifier",),
        "isotonic": ("probabilities are calibrated in GradientBoostingClassifier",),
        "temperature": ("probabilities are calibrated in GradientBoostingClassifier",),
        "conformal": ("prediction intervals are calibrated in GradientBoostingRegressor",),
    },
    "categorical_features": {
        "True": ("auto",),
        "False": ("for none write categorical_features=None",),
        "all": ("list the names of all columns",),
    },
    "class_weight": {
        "auto": ("balanced",),
        "sqrtbalanced": ("balanced",),
        "balanced_subsample": ("only forests support it; use 'balanced'",),
    },
    "criterion": {
        "mse": ("squared_error",),
        "friedman_mse": ("squared_error",),
        "mae": ("absolute_error",),
        "deviance": ("log_loss",),
        "poisson": ("for counts use GradientBoostingRegressor(loss='poisson')",),
        "squared_error": (_FOR_NUMBERS,),
        "absolute_error": (_FOR_NUMBERS,),
        "gini": (_FOR_CLASSES,),
        "entropy": (_FOR_CLASSES,),
        "log_loss": (_FOR_CLASSES,),
        "gain_ratio": (_FOR_CLASSES,),
        "error": (_FOR_CLASSES,),
        "gainratio": ("gain_ratio",),
        "misclassification": ("error",),
    },
    "device": {"gpu": ("write device='cuda'",)},
    "early_stopping": {
        "auto": ("n_estimators='auto', the default, already chooses the number of rounds",)
    },
    "grow_policy": {
        "lossguide": ("leafwise",),
        "leaf": ("leafwise",),
        "best_first": ("leafwise",),
        "depthwise": ("levelwise",),
        "depth": ("levelwise",),
        "symmetrictree": ("symmetric",),
        "oblivious": ("symmetric",),
    },
    "kernel": {
        "gaussian": ("rbf",),
        "radial": ("rbf",),
        "polynomial": ("poly",),
        "tanh": ("sigmoid",),
        "laplace": ("laplacian",),
        "cosine": ("normalise the rows and use 'linear'",),
    },
    "kind": {
        "weight": ("split",),
        "fscore": ("split",),
        "total_gain": ("gain",),
        "total_cover": ("cover",),
        "predictionvalueschange": ("gain",),
        "permutation": ("use hedgerow.explain.permutation_importance(model, X, y)",),
        "shapvalues": ("shap",),
    },
    "learning_rate": {
        0: ("with 0 the model would not learn",),
        None: ("auto",),
    },
    "link": {"logit": ("sigmoid",), "logistic": ("sigmoid",), "linear": ("identity",)},
    "max_bins": {
        256: ("the maximum is 255, and missing values have one more bin",),
        -1: ("the maximum is 255",),
    },
    "max_depth": {-1: (_NO_LIMIT,), 0: (_NO_LIMIT,)},
    "max_features": {"auto": (_NO_FEATURES,), "all": ("for all features write max_features=None",)},
    "max_leaves": {
        -1: (_NO_LIMIT,),
        0: (_NO_LIMIT,),
        1: ("a tree needs at least two leaves",),
    },
    "max_iter": {-1: ("there is always a limit; use a large number",)},
    "metric": {
        "hamming": ("for categories use 'gower'",),
        "jaccard": ("for categories use 'gower'",),
        "euclid": ("euclidean",),
    },
    "multi_class": {
        "one_vs_rest": ("ovr",),
        "one_vs_one": ("ovo",),
        "multinomial": ("crammer_singer", "ovr"),
        "auto": ("ovr",),
    },
    "multi_strategy": {
        "one_output_per_tree": ("separate",),
        "multi_output_tree": ("vector",),
    },
    "n_estimators": {
        -1: ("auto",),
        0: ("auto",),
        None: ("auto",),
    },
    "n_jobs": {0: (_ALL_THREADS,), "all": (_ALL_THREADS,), "auto": (_ALL_THREADS,)},
    "penalty": {
        "none": (_LARGE_C,),
        None: (_LARGE_C,),
    },
    "random_state": {
        -1: ("for a new seed in each fit write random_state=None",),
        "Generator": ("draw a seed from the generator, int(rng.integers(2**31))",),
    },
    "sampling": {
        "gradient_based": ("minimal_variance",),
        "mvs": ("minimal_variance",),
        "goss": ("gradient",),
        "bagging": ("uniform",),
        "bernoulli": ("uniform",),
        "poisson": ("uniform",),
        "no": ("for all rows write subsample=1.0",),
        "bayesian": ("the Bayesian bootstrap is not supported; use 'uniform'",),
    },
    "splitter": {
        "best": ("exact",),
        "auto": ("hist",),
        "gpu_hist": ("hist",),
        "random": ("for random splits use ExtraTreesClassifier or ExtraTreesRegressor",),
    },
    "subsample": {
        0: ("it is the fraction of rows sampled in each round; 1.0 uses all rows",),
        None: ("auto", "1.0 uses all rows"),
    },
    "verbose": {-1: ("0 is silent",), None: ("0 is silent",)},
    "voting": {"majority": ("hard",), "mean": ("soft",)},
    "weights": {"inverse": ("distance",)},
}


def _by_theirs(tables: Mapping[str, Mapping[str, str]]) -> Mapping[str, list[tuple[str, str]]]:
    """Return for each name, ours or theirs, the owners and our names."""
    by_name: dict[str, list[tuple[str, str]]] = {}
    for owner, table in tables.items():
        for ours, theirs in table.items():
            for name in (ours, *theirs.split()):
                by_name.setdefault(name, []).append((owner, ours))
    return MappingProxyType(by_name)


_LOSSES = _by_theirs(LOSSES)
_METRICS = _by_theirs(METRICS)


def value_instead(parameter: str, value: Any, options: Iterable[str]) -> str:
    """Suggest a value instead of one that is not allowed, with a space at the end; else ""."""
    allowed = list(options)
    key = _key(value)
    candidates: tuple[str, ...]
    if parameter == "loss":
        candidates = _loss_instead(key, allowed)
    else:
        candidates = VALUES.get(parameter, {}).get(key, ())
    for candidate in candidates:
        if candidate in allowed:
            return f"did you mean {candidate!r}? "
        if " " in candidate:
            return f"{candidate.format(name=parameter)}. "
    return did_you_mean(value, allowed)


def _loss_instead(key: Any, allowed: Iterable[str]) -> tuple[str, ...]:
    """Return our names of a loss, or a sentence if it belongs to another estimator."""
    if key in OTHER_LOSSES:
        return (OTHER_LOSSES[key],)
    entries = _LOSSES.get(key, [])
    owners = {owner for owner, table in LOSSES.items() if table.keys() <= set(allowed)}
    own = [ours for owner, ours in entries if owner in owners or (not owners and ours in allowed)]
    if own or not entries:
        return tuple(own)
    owner, ours = entries[0]
    return (f"it is {'a loss' if ours == key else f'loss={ours!r}'} in {owner}",)


def metric_instead(metric: Any, options: Iterable[str]) -> str:
    """Suggest a metric instead of one that is not allowed, with a space at the end; else ""."""
    allowed = list(options)
    entries = _METRICS.get(_key(metric), [])
    for _, ours in entries:
        if ours in allowed:
            return f"did you mean {ours!r}? "
    if entries:
        owner, ours = entries[0]
        return f"it is {'a metric' if ours == metric else repr(ours)} for {owner}. "
    return did_you_mean(metric, allowed)


def _key(value: Any) -> Any:
    """Return the key of a value in the tables: strings in lower case, no options of CatBoost's."""
    if isinstance(value, bool):
        return str(value)  # as a key, True equals 1
    if isinstance(value, str):
        name, _, option = value.partition(":")
        return (name if "=" in option else value).strip().casefold()
    return value if value is None or isinstance(value, int | float) else type(value).__name__
