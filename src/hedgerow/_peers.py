"""Names of XGBoost, LightGBM, CatBoost and scikit-learn, with what to write here instead.

There is a table for each place where such a name may be used: constructors, `fit`, `predict` and
the like, `cross_validate`, attributes of estimators, and names of the modules. Parameters have
their names in other libraries in their declarations (`Peers`); `ALIASES` adds those of the native
interfaces. `hedgerow._arguments` looks names up; values of parameters are in `_peer_values`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Instead:
    """What to use instead of a name.

    Attributes
    ----------
    needs : str
        A method or parameter that an estimator must have for the hint to apply; empty for all.
        If there are several hints, the first that applies is used.
    """

    text: str
    needs: str = ""


Table = Mapping[str, str | Instead | tuple[Instead, ...]]

LIBRARIES = {
    "xgboost": "XGBoost",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
    "_catboost": "CatBoost",
}


def library_of(value: Any) -> str | None:
    """Return the library that an object, a class or a function is from, if it is one of these."""
    module = getattr(value, "__module__", None) or type(value).__module__
    return LIBRARIES.get(module.partition(".")[0]) if isinstance(module, str) else None


def hints(table: Table, name: str) -> Iterator[Instead]:
    """Yield a table's hints for a name, in order."""
    entry = table.get(name, ())
    if isinstance(entry, str):
        yield Instead(entry)
    elif isinstance(entry, Instead):
        yield entry
    else:
        yield from entry


# Names of the native interfaces of other libraries, and abbreviations, for our parameters.
ALIASES: Mapping[str, tuple[str, ...]] = {
    "alpha": ("reg_alpha", "quantile", "delta"),
    "application": ("loss",),
    "auto_class_weights": ("class_weight",),
    "bagging_fraction": ("subsample",),
    "base_estimator": ("estimator",),
    "bin_construct_sample_cnt": ("subsample_for_bin",),
    "cat_feature": ("categorical_features",),
    "early_stopping_round": ("early_stopping", "n_iter_no_change"),
    "eta": ("learning_rate",),
    "feature_fraction": ("colsample_bytree",),
    "feature_types": ("categorical_features",),
    "is_unbalance": ("class_weight", "scale_pos_weight"),
    "l1_regularization": ("reg_alpha",),
    "lambda": ("reg_lambda",),
    "lambda_l1": ("reg_alpha",),
    "lambda_l2": ("reg_lambda",),
    "logging_level": ("verbose",),
    "lr": ("learning_rate",),
    "max_cat_to_onehot": ("max_categories",),
    "max_leaf": ("max_leaves",),
    "metric": ("eval_metric",),
    "metric_period": ("verbose",),
    "metrics": ("eval_metric",),
    "min_data": ("min_samples_leaf",),
    "min_data_in_leaf": ("min_samples_leaf",),
    "min_gain_to_split": ("min_split_gain",),
    "min_impurity_decrease": ("min_split_gain",),
    "min_split_loss": ("min_split_gain",),
    "min_sum_hessian_in_leaf": ("min_child_weight",),
    "n_iter": ("n_estimators",),
    "n_rounds": ("n_estimators",),
    "nthread": ("n_jobs",),
    "nthreads": ("n_jobs",),
    "num_boost_round": ("n_estimators",),
    "num_iterations": ("n_estimators",),
    "num_leaf": ("max_leaves",),
    "num_round": ("n_estimators",),
    "num_threads": ("n_jobs",),
    "num_trees": ("n_estimators",),
    "od_wait": ("n_iter_no_change",),
    "patience": ("n_iter_no_change",),
    "random_seed": ("random_state",),
    "seed": ("random_state",),
    "shrinkage_rate": ("learning_rate",),
    "silent": ("verbose",),
    "verbose_eval": ("verbose",),
    "verbosity": ("verbose",),
}

_BOOSTING = "refit"  # a method that gradient boosting alone has

_STOPPING = Instead(
    "set 'early_stopping' to True and 'n_iter_no_change' to that number of rounds",
    "n_iter_no_change",
)
_DEVICE = "device='cuda' trains on a GPU"
_FOREST_OF_TREES = "use RandomForestClassifier, ExtraTreesClassifier or their regressors"

_BASE_ESTIMATOR = Instead("set it in the base estimator, {cls}(estimator=…)", "estimator")

CONSTRUCTOR: Table = {
    "criterion": _BASE_ESTIMATOR,
    "max_depth": _BASE_ESTIMATOR,
    "max_leaf_nodes": _BASE_ESTIMATOR,
    "max_leaves": _BASE_ESTIMATOR,
    "min_samples_leaf": _BASE_ESTIMATOR,
    "splitter": _BASE_ESTIMATOR,
    "early_stopping_rounds": _STOPPING,
    "early_stopping_round": _STOPPING,
    "importance_type": Instead("call importances(kind) on the fitted model", "importances"),
    "min_samples_split": Instead(
        "use 'min_samples_leaf', the minimum number of rows in a leaf", "min_samples_leaf"
    ),
    "param": "to pass a dict, write {cls}(**params)",
    "params": "to pass a dict, write {cls}(**params)",
    "param_grid": "pass it to scikit-learn's GridSearchCV, with {cls}() as the estimator",
}

# Parameters of other libraries' boosting that are not needed here, and why.
NOT_NEEDED_FOR_BOOSTING: Mapping[str, str] = {
    "allow_writing_files": "training writes no files",
    "bagging_freq": "rows are sampled in every round",
    "bagging_temperature": "split scores are not randomised",
    "base_score": "scores start at the best constant, or at 0 with init='zero'",
    "boost_from_average": "scores start at the best constant",
    "cat_l2": "rare categories are not smoothed separately",
    "cat_smooth": "rare categories are not smoothed separately",
    "ccp_alpha": "set min_split_gain, and prune=True to apply it after growth",
    "criterion": "splits minimise the loss",
    "deterministic": "every fit is deterministic",
    "devices": _DEVICE,
    "extra_trees": _FOREST_OF_TREES,
    "force_col_wise": "the histogram layout is chosen automatically",
    "force_row_wise": "the histogram layout is chosen automatically",
    "gpu_id": _DEVICE,
    "leaf_estimation_iterations": "leaf values are computed from the loss",
    "leaf_estimation_method": "leaf values are computed from the loss",
    "missing": "NaN, None and NA are missing values",
    "nan_mode": "each split learns where missing values go",
    "num_class": "the classes are taken from y",
    "num_parallel_tree": _FOREST_OF_TREES,
    "od_pval": "early_stopping=True stops after n_iter_no_change rounds without improvement",
    "od_type": "early_stopping=True stops after n_iter_no_change rounds without improvement",
    "path_smooth": "use reg_lambda to shrink leaf values",
    "predictor": _DEVICE,
    "random_strength": "split scores are not randomised",
    "subsample_freq": "rows are sampled in every round",
    "train_dir": "training writes no files",
    "use_best_model": "with early_stopping=True the best round is kept",
    "use_label_encoder": "class labels may be of any type",
    "validate_parameters": "parameters are always checked",
    "zero_as_missing": "NaN, None and NA are missing values; zeros are not",
}

_OFFSET = Instead(
    "pass offset=…, which is added to the scores, in fit and in predictions", "offset"
)
_OFFSETS_OF_SETS = Instead("pass them in eval_set=[(X, y, sample_weight, offset)]", "offset")
_SCORES = "use score(X, y) or hedgerow.cross_validate"
# AdaBoost and stagewise models, which have rounds, but take no evaluation sets.
_STAGES = Instead(f"{_SCORES}, or staged_predict(X) for each round", "staged_predict")
_NO_ROUNDS = f"it has no boosting rounds to evaluate; {_SCORES}"
_WEIGHTS_OF_SETS = Instead("pass them in eval_set=[(X, y, sample_weight)]", "eval_set")
_QUERIES_OF_SETS = (
    Instead("pass them in eval_set=[(X, y, qid)]", "qid"),
    Instead("for ranking use GradientBoostingRanker, with eval_set=[(X, y, qid)]"),
)
_QUERIES = (
    Instead("pass qid=…, the query id of each row", "qid"),
    Instead("for ranking use GradientBoostingRanker, with fit(X, y, qid=…) or group=…"),
)
_VALIDATION = (
    Instead("pass eval_set=[(X_valid, y_valid)]", "eval_set"),
    _STAGES,
    Instead(_NO_ROUNDS),
)
_CALLBACKS = (
    Instead("pass callbacks=[function], called with a RoundInfo after each round", "callbacks"),
    _STAGES,
    Instead(_NO_ROUNDS),
)
_NAMES = "column names come from a data frame: fit(pandas.DataFrame(X, columns=names), y)"

FIT: Table = {
    "base_margin": _OFFSET,
    "base_margin_eval_set": _OFFSETS_OF_SETS,
    "baseline": _OFFSET,
    "callbacks": (_STAGES, Instead(_NO_ROUNDS)),
    "check_input": "X and y are always validated",
    "early_stopping_rounds": Instead(
        "set it in the constructor, {cls}(early_stopping=True, n_iter_no_change=…)",
        "n_iter_no_change",
    ),
    "eval_class_weight": _WEIGHTS_OF_SETS,
    "eval_group": _QUERIES_OF_SETS,
    "eval_init_score": _OFFSETS_OF_SETS,
    "eval_qid": _QUERIES_OF_SETS,
    "eval_sample_weight": _WEIGHTS_OF_SETS,
    "eval_set": (_STAGES, Instead(_NO_ROUNDS)),
    "feature_name": _NAMES,
    "feature_names": _NAMES,
    "feature_weights": Instead(
        "the constructor's feature_weights multiplies split gains; XGBoost's are probabilities of "
        "sampling a column",
        "feature_weights",
    ),
    "group": _QUERIES,
    "group_id": _QUERIES,
    "init_score": _OFFSET,
    "monitor": _CALLBACKS,
    "n_epochs": Instead(
        "set the number of rounds in the constructor, {cls}(n_estimators=…)", "n_estimators"
    ),
    "epochs": Instead(
        "set the number of rounds in the constructor, {cls}(n_estimators=…)", "n_estimators"
    ),
    "pairs": _QUERIES,
    "plot": "after fitting, use hedgerow.plot.LearningCurveDisplay.from_estimator(model)",
    "qid": _QUERIES[1],
    "sample_weight_eval_set": _WEIGHTS_OF_SETS,
    "sample_weights": Instead("did you mean 'sample_weight'?", "sample_weight"),
    "save_snapshot": Instead("pass checkpoint=FILE", "checkpoint"),
    "snapshot_file": Instead("pass checkpoint=FILE", "checkpoint"),
    "snapshot_interval": Instead("pass checkpoint_every=ROUNDS", "checkpoint_every"),
    "subgroup_id": _QUERIES,
    "text_features": "text columns are treated as categories; vectorise free text before fitting",
    "use_best_model": Instead("with early_stopping=True the best round is kept", "early_stopping"),
    "validation_data": _VALIDATION,
    "validation_split": Instead("set {cls}(validation_fraction=…)", "validation_fraction"),
    "weight": Instead("did you mean 'sample_weight'?", "sample_weight"),
    "weights": Instead("did you mean 'sample_weight'?", "sample_weight"),
    "xgb_model": Instead(
        "pass init_model=…, a fitted model or the path of a model file", "init_model"
    ),
}

_RAW = (
    Instead("decision_function(X) returns raw scores", "decision_function"),
    Instead("with the default loss, predict(X) returns the raw scores"),
)
_FIRST_ROUNDS = Instead("to use the first n rounds only, write model[:n].{method}(X)", _BOOSTING)
_SHAPLEY = "write hedgerow.explain.shap_values(model, X)"
_LEAVES = Instead("apply(X) returns the leaf of every row in every tree", "apply")

_NO_QUERIES = "scores do not depend on the query; rank them within each"

PREDICT: Table = {
    "group": _NO_QUERIES,
    "group_id": _NO_QUERIES,
    "qid": _NO_QUERIES,
    "approx_contribs": _SHAPLEY,
    "base_margin": _OFFSET,
    "check_input": "X is always validated",
    "iteration_range": _FIRST_ROUNDS,
    "ntree_end": _FIRST_ROUNDS,
    "ntree_limit": _FIRST_ROUNDS,
    "ntree_start": _FIRST_ROUNDS,
    "num_iteration": _FIRST_ROUNDS,
    "output_margin": _RAW,
    "pred_contrib": _SHAPLEY,
    "pred_contribs": _SHAPLEY,
    "pred_interactions": "write hedgerow.explain.shap_values(model, X, interactions=True)",
    "pred_leaf": _LEAVES,
    "prediction_type": (
        Instead(
            "decision_function(X) is 'RawFormulaVal', predict_proba(X) 'Probability' and "
            "predict(X) 'Class'",
            "predict_proba",
        ),
        Instead("predict(X) returns the predicted numbers"),
    ),
    "raw_score": _RAW,
    "return_cov": Instead("predict_interval(X) returns prediction intervals", "predict_interval"),
    "return_std": Instead("predict_interval(X) returns prediction intervals", "predict_interval"),
    "start_iteration": _FIRST_ROUNDS,
    "threshold": Instead("write predict_proba(X)[:, 1] > threshold", "predict_proba"),
    "tree_limit": _FIRST_ROUNDS,
    "validate_features": "column names are always checked",
}
_OTHER_SCORES = "use the functions of sklearn.metrics, or hedgerow.cross_validate(…, scoring=…)"
SCORE: Table = {
    **PREDICT,
    "eval_metric": _OTHER_SCORES,
    "metric": _OTHER_SCORES,
    "metrics": _OTHER_SCORES,
    "scoring": _OTHER_SCORES,
}
REFIT: Table = {"decay_rate": "'keep' is the fraction of its old value that a leaf keeps"}

_OF_THE_MODEL = "it is a parameter of the model"
_SPLITTER = "pass a scikit-learn splitter, as in cv=StratifiedKFold(5, shuffle=True)"
_DATA = "pass a model and the data: cross_validate(model, X, y)"
CROSS_VALIDATE: Table = {
    "as_pandas": "the result has it: result.to_frame()",
    "callbacks": "write params={{'callbacks': […]}}",
    "dtrain": _DATA,
    "early_stopping_rounds": (
        "write early_stopping=True here and n_iter_no_change=… in the model's constructor"
    ),
    "error_score": "an error in a fold is always raised",
    "estimator": "did you mean 'model'?",
    "eval_metric": "did you mean 'scoring'?",
    "eval_set": "each fold is evaluated on its test rows",
    "feval": "did you mean 'scoring'?",
    "fit_params": "did you mean 'params'?",
    "fold_count": "did you mean 'cv'?",
    "folds": "did you mean 'cv'?",
    "fpreproc": "put preprocessing and model into a scikit-learn pipeline",
    "init_model": "write params={{'init_model': …}}",
    "iterations": "set n_estimators of the model",
    "k": "did you mean 'cv'?",
    "loss_function": "set loss of the model",
    "maximize": "a metric function may return (name, number, higher_is_better)",
    "metric": "did you mean 'scoring'?",
    "metrics": "did you mean 'scoring'?",
    "n_folds": "did you mean 'cv'?",
    "n_jobs": f"{_OF_THE_MODEL}; folds are fitted one after the other",
    "n_splits": "did you mean 'cv'?",
    "nfold": "did you mean 'cv'?",
    "nfolds": "did you mean 'cv'?",
    "num_boost_round": "set n_estimators of the model",
    "obj": "set loss of the model",
    "objective": "set loss of the model",
    "partition_random_seed": _SPLITTER,
    "pool": _DATA,
    "random_state": f"{_OF_THE_MODEL}; to shuffle rows, {_SPLITTER}",
    "return_cvbooster": "the result has the models: result.models",
    "return_estimator": "the result has the models: result.models",
    "return_indices": "the result has the row indices: result.folds",
    "return_train_score": "only test rows are scored; result.models has the fitted models",
    "seed": f"set random_state of the model; to shuffle rows, {_SPLITTER}",
    "show_stdv": "result.scores has the scores of every fold",
    "shuffle": _SPLITTER,
    "splitter": "did you mean 'cv'?",
    "stratified": f"cv=5 is stratified for classifiers; otherwise {_SPLITTER}",
    "train_set": _DATA,
    "verbose_eval": "did you mean 'verbose'?",
    "weight": "did you mean 'sample_weight'?",
}

_SAVE = "use model.save(path) and hedgerow.load(path)"
_LOAD = "use hedgerow.load(path), which returns the model"
_TREES = (
    Instead("use hedgerow.plot.TreeDisplay.from_estimator(model)", "apply"),
    Instead("it has no trees"),
)
_IMPORTANCES = (
    Instead(
        "use feature_importances_ (by gain), importances(kind), or "
        "hedgerow.explain.importance(model) for a table",
        "importances",
    ),
    Instead("use feature_importances_", "feature_importances_"),
    Instead("use hedgerow.explain.permutation_importance(model, X, y)"),
)
_BOOSTER = "the estimator itself is the model; there is no separate booster"
_HISTORY = Instead("did you mean 'evals_result_'?", _BOOSTING)
_BEST = Instead("did you mean 'best_iteration_'?", _BOOSTING)
_BEST_SCORE = Instead("did you mean 'best_score_'?", _BOOSTING)
_COLUMN_NAMES = "did you mean 'feature_names_in_'?"
_SEARCH = "use scikit-learn's GridSearchCV or RandomizedSearchCV with this estimator"
_PICTURE = "use hedgerow.plot.ImportanceDisplay.from_estimator(model)"
_MORE_ROWS = (
    Instead(
        "use fit(X, y, init_model=model), or refit(X, y) to update leaf values only", "init_model"
    ),
    Instead("it cannot be trained incrementally; use fit(X, y)"),
)

_PROBABILITIES = (
    Instead(
        "only classifiers predict probabilities; for prediction intervals use predict_interval(X)",
        "predict_interval",
    ),
    Instead(
        "it has decision_function(X) only; scikit-learn's CalibratedClassifierCV turns scores into "
        "probabilities",
        "decision_function",
    ),
    Instead("only classifiers predict probabilities"),
)

_OUT_OF_BAG = Instead("it is set by a fit with oob_score=True", "oob_score")
_NO_TRANSFORM = (
    Instead("apply(X) returns the leaf of every row in every tree", "apply"),
    Instead("it does not transform X"),
)

ATTRIBUTES: Table = {
    "classes": Instead("did you mean 'classes_'?", "decision_function"),
    "feature_importances": Instead("did you mean 'feature_importances_'?", "feature_importances_"),
    "fit_predict": "use fit(X, y).predict(X)",
    "fit_transform": _NO_TRANSFORM,
    "oob_decision_function_": _OUT_OF_BAG,
    "oob_prediction_": _OUT_OF_BAG,
    "oob_score_": _OUT_OF_BAG,
    "transform": _NO_TRANSFORM,
    "predict_interval": (
        Instead("only regressors predict intervals; use predict_proba(X)", "predict_proba"),
        Instead(
            "only GradientBoostingRegressor has it; predict_quantiles(X) is similar",
            "predict_quantiles",
        ),
        Instead("only GradientBoostingRegressor has it, with calibration='conformal'"),
    ),
    "best_iteration": _BEST,
    "best_ntree_limit": _BEST,
    "best_score": _BEST_SCORE,
    "booster": _BOOSTER,
    "booster_": _BOOSTER,
    "calc_feature_statistics": "use hedgerow.explain.partial_dependence(model, X, feature)",
    "calc_leaf_indexes": _LEAVES,
    "compare": "use hedgerow.cross_validate(model, X, y, scoring=[…])",
    "decision_function": (
        Instead("predict_proba(X) returns probabilities", "predict_proba"),
        Instead("predict(X) returns the predicted numbers", "predict"),
    ),
    "dump_model": "the command hedgerow convert writes a model file as JSON",
    "eval_metrics": "use hedgerow.cross_validate(model, X, y, scoring=[…])",
    "evals_result": _HISTORY,
    "evals_log": _HISTORY,
    "feature_importance": _IMPORTANCES,
    "feature_name": _COLUMN_NAMES,
    "feature_name_": _COLUMN_NAMES,
    "feature_names": _COLUMN_NAMES,
    "feature_names_": _COLUMN_NAMES,
    "get_best_iteration": _BEST,
    "get_best_score": _BEST_SCORE,
    "get_booster": _BOOSTER,
    "get_dump": "the command hedgerow convert writes a model file as JSON",
    "get_evals_result": _HISTORY,
    "get_feature_importance": _IMPORTANCES,
    "get_fscore": _IMPORTANCES,
    "get_score": _IMPORTANCES,
    "get_test_eval": _HISTORY,
    "get_xgb_params": "get_params() returns the parameters",
    "get_all_params": "get_params() returns the parameters",
    "grid_search": _SEARCH,
    "is_fitted": "use sklearn.utils.validation.check_is_fitted(model)",
    "load_model": _LOAD,
    "load": _LOAD,
    "model_to_string": _SAVE,
    "n_features": "did you mean 'n_features_in_'?",
    "n_features_": "did you mean 'n_features_in_'?",
    "num_boosted_rounds": Instead("did you mean 'n_iter_'?", _BOOSTING),
    "num_trees": Instead("did you mean 'n_iter_'?", _BOOSTING),
    "partial_fit": _MORE_ROWS,
    "plot_importance": _PICTURE,
    "plot_predictions": "use hedgerow.explain.partial_dependence(model, X, feature)",
    "plot_tree": _TREES,
    "predict_log_proba": _PROBABILITIES,
    "predict_proba": _PROBABILITIES,
    "randomized_search": _SEARCH,
    "save_model": _SAVE,
    "set_feature_names": _NAMES,
    "shrink": Instead("model[:n] is the model of the first n rounds", _BOOSTING),
    "staged_decision_function": Instead("use staged_predict(X)", "staged_predict"),
    "staged_predict": "it has no boosting rounds",
    "train_score_": _HISTORY,
    "tree_count_": Instead("did you mean 'n_iter_'?", _BOOSTING),
    "validation_score_": _HISTORY,
    "validation_scores_": _HISTORY,
    "virtual_ensembles_predict": Instead(
        "predict_interval(X) returns prediction intervals", "predict_interval"
    ),
}

_FIT_A_MODEL = (
    "use an estimator: hedgerow.GradientBoostingClassifier(**params).fit(X, y), or "
    "GradientBoostingRegressor"
)
_TABLES = "pass arrays or data frames to the estimator directly: fit(X, y)"
_OF_SCIKIT_LEARN = "import it from scikit-learn; it works with these estimators"
_STOP = "set it in the estimator: early_stopping=True, n_iter_no_change=…"

MODULE: Table = {
    "callback": _STOP,
    "datasets": "use sklearn.datasets",
    "ensemble": "import estimators from hedgerow itself, as in hedgerow.RandomForestClassifier",
    "inspection": "did you mean 'explain'?",
    "metrics": "use sklearn.metrics",
    "model_selection": "use sklearn.model_selection; for cross-validation, hedgerow.cross_validate",
    "sklearn": "hedgerow's estimators follow scikit-learn's interface; import them from hedgerow",
    "Booster": "hedgerow.load(path) returns a saved estimator",
    "CatBoost": _FIT_A_MODEL,
    "DMatrix": _TABLES,
    "Dataset": _TABLES,
    "EarlyStopping": _STOP,
    "FeaturesData": _TABLES,
    "IsolationForest": "for outlier detection there is OneClassSVM",
    "Pool": _TABLES,
    "QuantileDMatrix": _TABLES,
    "GradientBoosting": "there are GradientBoostingClassifier, …Regressor, …Ranker and …Survival",
    "SVM": "there are SVC and SVR, and LinearSVC and LinearSVR for many rows",
    "TreeExplainer": "use hedgerow.explain.shap_values(model, X)",
    "create_tree_digraph": "use hedgerow.plot.TreeDisplay.from_estimator(model)",
    "cross_val_predict": "use hedgerow.cross_validate(model, X, y).oof_prediction",
    "cross_val_score": "did you mean 'cross_validate'?",
    "cv": "did you mean 'cross_validate'?",
    "dump": _SAVE,
    "early_stopping": _STOP,
    "FixedThresholdClassifier": "use hedgerow.DecisionClassifier(model, decision_threshold=…)",
    "GridSearchCV": _OF_SCIKIT_LEARN,
    "load_model": "did you mean 'load'?",
    "log_evaluation": "set it in the estimator: verbose=10 logs every tenth round",
    "OneVsOneClassifier": "use hedgerow.OutputCodeClassifier(model, code='one_vs_one')",
    "OneVsRestClassifier": "use hedgerow.OutputCodeClassifier(model, code='one_vs_rest')",
    "partial_dependence": "did you mean 'explain.partial_dependence'?",
    "permutation_importance": "did you mean 'explain.permutation_importance'?",
    "Pipeline": _OF_SCIKIT_LEARN,
    "plot_importance": _PICTURE,
    "plot_metric": "use hedgerow.plot.LearningCurveDisplay.from_estimator(model)",
    "plot_tree": "use hedgerow.plot.TreeDisplay.from_estimator(model)",
    "RandomizedSearchCV": _OF_SCIKIT_LEARN,
    "record_evaluation": "use evals_result_ of the fitted estimator",
    "reset_parameter": "pass callbacks=[function] to fit",
    "save": _SAVE,
    "save_model": _SAVE,
    "shap": "did you mean 'explain.shap_values'?",
    "shap_values": "did you mean 'explain.shap_values'?",
    "sum_models": "fit(X, y, init_model=model) continues from a model",
    "to_graphviz": "use hedgerow.plot.TreeDisplay.from_estimator(model)",
    "train": _FIT_A_MODEL,
    "train_test_split": _OF_SCIKIT_LEARN,
    "TunedThresholdClassifierCV": "use hedgerow.tune_threshold(model, X, y).classifier()",
    # Estimators, by what follows the library's prefix.
    **{
        theirs: f"did you mean {ours!r}?"
        for ours, names in {
            "GradientBoostingClassifier": (
                *("XGBClassifier", "LGBMClassifier", "CatBoostClassifier"),
                "HistGradientBoostingClassifier",
            ),
            "GradientBoostingRegressor": (
                *("XGBRegressor", "LGBMRegressor", "CatBoostRegressor"),
                "HistGradientBoostingRegressor",
            ),
            "GradientBoostingRanker": ("XGBRanker", "LGBMRanker", "CatBoostRanker"),
            "RandomForestClassifier": ("XGBRFClassifier",),
            "RandomForestRegressor": ("XGBRFRegressor",),
        }.items()
        for theirs in names
    },
}
PLOT: Table = {
    "plot_importance": "did you mean 'ImportanceDisplay'?",
    "plot_metric": "did you mean 'LearningCurveDisplay'?",
    "plot_partial_dependence": "did you mean 'PartialDependenceDisplay'?",
    "plot_tree": "did you mean 'TreeDisplay'?",
    "plot_roc_curve": "did you mean 'RocDisplay'?",
    "RocCurveDisplay": "did you mean 'RocDisplay'?",
    "PredictionErrorDisplay": "did you mean 'ResidualDisplay'?",
    "summary_plot": "did you mean 'ShapBeeswarmDisplay'?",
    "beeswarm": "did you mean 'ShapBeeswarmDisplay'?",
    "waterfall": "did you mean 'ShapWaterfallDisplay'?",
    "dependence_plot": "did you mean 'ShapDependenceDisplay'?",
}
EXPLAIN: Table = {
    "beeswarm": "did you mean 'hedgerow.plot.ShapBeeswarmDisplay'?",
    "force_plot": "did you mean 'hedgerow.plot.ShapWaterfallDisplay'?",
    "summary_plot": "did you mean 'hedgerow.plot.ShapBeeswarmDisplay'?",
    "waterfall": "did you mean 'hedgerow.plot.ShapWaterfallDisplay'?",
    "TreeExplainer": "did you mean 'shap_values'?",
    "Explainer": "did you mean 'shap_values'?",
    "feature_importances": "did you mean 'importance'?",
    "plot_importance": "did you mean 'hedgerow.plot.ImportanceDisplay'?",
    "ale": "did you mean 'accumulated_effects'?",
}

METHODS: Mapping[str, Table] = {"fit": FIT, "refit": REFIT, "score": SCORE}
FUNCTIONS: Mapping[str, Table] = {"cross_validate": CROSS_VALIDATE}
MODULES: Mapping[str, Table] = {
    "hedgerow": MODULE,
    "hedgerow.explain": EXPLAIN,
    "hedgerow.plot": PLOT,
}
