"""What XGBoost, LightGBM, CatBoost and scikit-learn call what is here, and where it is here.

A table for each place where their names turn up: constructors, `fit`, `predict` and the like,
`cross_validate`, attributes of estimators, and names of the module. The parameters of estimators
have their peers' names in their declarations (`Peers`); `ALIASES` has what their native interfaces
call them. `hedgerow.arguments` looks names up; values of parameters are in `peer_values`.
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
        A method or parameter without which an estimator cannot be answered so; empty if any can.
        Of several answers, the first that applies is given.
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
    """Return which of the other libraries an object, a class or a function is from."""
    module = getattr(value, "__module__", None) or type(value).__module__
    return LIBRARIES.get(module.partition(".")[0]) if isinstance(module, str) else None


def answers(table: Table, name: str) -> Iterator[Instead]:
    """Yield what a table has for a name, in its order."""
    found = table.get(name, ())
    if isinstance(found, str):
        yield Instead(found)
    elif isinstance(found, Instead):
        yield found
    else:
        yield from found


# What XGBoost, LightGBM and CatBoost call parameters that their estimators have another name for.
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
_PROCESSORS = "it runs on processors"
_FOREST_OF_TREES = "RandomForestClassifier and ExtraTreesClassifier are forests of such trees"

CONSTRUCTOR: Table = {
    "early_stopping_rounds": _STOPPING,
    "early_stopping_round": _STOPPING,
    "importance_type": Instead("ask a fitted model: importances(kind)", "importances"),
    "min_samples_split": Instead("'min_samples_leaf' bounds leaves", "min_samples_leaf"),
    "param": "of a dict write {cls}(**params)",
    "params": "of a dict write {cls}(**params)",
    "param_grid": "it belongs to scikit-learn's GridSearchCV, which takes {cls}() as its estimator",
}

# What other libraries' boosting is asked for that is not needed here, and why.
NOT_NEEDED_FOR_BOOSTING: Mapping[str, str] = {
    "allow_writing_files": "nothing is written but what save is asked for",
    "bagging_freq": "subsample is drawn in every round",
    "bagging_temperature": "scores of splits have no noise",
    "base_score": "scores start at the best constant",
    "boost_from_average": "scores start at the best constant",
    "cat_l2": "categories with little weight in a node are not sorted with the others",
    "cat_smooth": "categories with little weight in a node are not sorted with the others",
    "ccp_alpha": "max_leaves and min_split_gain bound its trees",
    "criterion": "splits lower the loss",
    "deterministic": "every fit is deterministic",
    "device": _PROCESSORS,
    "device_type": _PROCESSORS,
    "devices": _PROCESSORS,
    "extra_trees": _FOREST_OF_TREES,
    "force_col_wise": "how histograms are built is chosen by itself",
    "force_row_wise": "how histograms are built is chosen by itself",
    "gpu_id": _PROCESSORS,
    "init": "scores start at the best constant; StagewiseRegressor takes an init",
    "leaf_estimation_iterations": "leaves take the loss's best step",
    "leaf_estimation_method": "leaves take the loss's best step",
    "missing": "NaN, None and NA are missing values",
    "nan_mode": "missing values go to the side of a split that gains more",
    "num_class": "the classes are those of y",
    "num_parallel_tree": _FOREST_OF_TREES,
    "od_pval": "early_stopping=True stops after n_iter_no_change rounds without improvement",
    "od_type": "early_stopping=True stops after n_iter_no_change rounds without improvement",
    "path_smooth": "reg_lambda draws leaves together",
    "predictor": _PROCESSORS,
    "random_strength": "scores of splits have no noise",
    "subsample_freq": "subsample is drawn in every round",
    "task_type": _PROCESSORS,
    "train_dir": "nothing is written but what save is asked for",
    "use_best_model": "with early_stopping=True the best round is kept",
    "use_label_encoder": "classes may be of any type",
    "validate_parameters": "parameters are always checked",
    "zero_as_missing": "NaN, None and NA are missing values, and zeros are zeros",
}

_NO_OFFSET = (
    "scores cannot start at numbers of your own; init_model=… goes on from a fitted model",
    "init_model",
)
_NO_ROUNDS = "it has no rounds to evaluate; score(X, y) and hedgerow.cross_validate judge a model"
_WEIGHTS_OF_SETS = Instead("give them in eval_set=[(X, y, sample_weight)]", "eval_set")
_QUERIES_OF_SETS = (
    Instead("give them in eval_set=[(X, y, qid)]", "qid"),
    Instead("GradientBoostingRanker takes queries, in eval_set=[(X, y, qid)]"),
)
_QUERIES = (
    Instead("'qid' is the query of each row", "qid"),
    Instead("GradientBoostingRanker learns rankings, from fit(X, y, qid=…) or group=…"),
)
_VALIDATION = (Instead("write eval_set=[(X_valid, y_valid)]", "eval_set"), Instead(_NO_ROUNDS))
_CALLBACKS = (
    Instead("write callbacks=[function], each called with RoundInfo after a round", "callbacks"),
    Instead(_NO_ROUNDS),
)
_NAMES = "names of columns are those of a data frame: fit(pandas.DataFrame(X, columns=names), y)"

FIT: Table = {
    "base_margin": Instead(*_NO_OFFSET),
    "base_margin_eval_set": Instead(*_NO_OFFSET),
    "baseline": Instead(*_NO_OFFSET),
    "callbacks": _NO_ROUNDS,
    "check_input": "X and y are always checked",
    "early_stopping_rounds": Instead(
        "set parameters of the constructor, {cls}(early_stopping=True, n_iter_no_change=…)",
        "n_iter_no_change",
    ),
    "eval_class_weight": _WEIGHTS_OF_SETS,
    "eval_group": _QUERIES_OF_SETS,
    "eval_init_score": Instead(*_NO_OFFSET),
    "eval_qid": _QUERIES_OF_SETS,
    "eval_sample_weight": _WEIGHTS_OF_SETS,
    "eval_set": _NO_ROUNDS,
    "feature_name": _NAMES,
    "feature_names": _NAMES,
    "feature_weights": Instead(
        "the parameter feature_weights of the constructor multiplies gains, where XGBoost's are "
        "probabilities of columns to be drawn",
        "feature_weights",
    ),
    "group": _QUERIES,
    "group_id": _QUERIES,
    "init_score": Instead(*_NO_OFFSET),
    "monitor": _CALLBACKS,
    "n_epochs": Instead("rounds are the parameter n_estimators of the constructor", "n_estimators"),
    "epochs": Instead("rounds are the parameter n_estimators of the constructor", "n_estimators"),
    "pairs": _QUERIES,
    "plot": "draw it after the fit: hedgerow.plot.LearningCurveDisplay.from_estimator(model)",
    "qid": _QUERIES[1],
    "sample_weight_eval_set": _WEIGHTS_OF_SETS,
    "sample_weights": Instead("did you mean 'sample_weight'?", "sample_weight"),
    "save_snapshot": Instead("write checkpoint=FILE", "checkpoint"),
    "snapshot_file": Instead("write checkpoint=FILE", "checkpoint"),
    "snapshot_interval": Instead("write checkpoint_every=ROUNDS", "checkpoint_every"),
    "subgroup_id": _QUERIES,
    "text_features": "columns of text are categories; turn text into numbers before the fit",
    "use_best_model": Instead("with early_stopping=True the best round is kept", "early_stopping"),
    "validation_data": _VALIDATION,
    "validation_split": Instead("set {cls}(validation_fraction=…)", "validation_fraction"),
    "weight": Instead("did you mean 'sample_weight'?", "sample_weight"),
    "weights": Instead("did you mean 'sample_weight'?", "sample_weight"),
    "xgb_model": Instead("write init_model=MODEL, a fitted model or its file", "init_model"),
}

_RAW = (
    Instead("decision_function(X) returns raw scores", "decision_function"),
    Instead("predict(X) is all there is; with the default loss it returns the raw scores"),
)
_FIRST_ROUNDS = Instead("take the first rounds alone, model[:n].{method}(X)", _BOOSTING)
_SHAPLEY = "write hedgerow.explain.shap_values(model, X)"
_LEAVES = Instead("apply(X) returns the leaf of every row in every tree", "apply")

PREDICT: Table = {
    "approx_contribs": _SHAPLEY,
    "base_margin": _NO_OFFSET[0],
    "check_input": "X is always checked",
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
        Instead("predict(X) is all there is: the predicted numbers"),
    ),
    "raw_score": _RAW,
    "return_cov": Instead("predict_interval(X) tells how uncertain it is", "predict_interval"),
    "return_std": Instead("predict_interval(X) tells how uncertain it is", "predict_interval"),
    "start_iteration": _FIRST_ROUNDS,
    "threshold": Instead(
        "compare probabilities with it: predict_proba(X)[:, 1] > threshold", "predict_proba"
    ),
    "tree_limit": _FIRST_ROUNDS,
    "validate_features": "names of columns are always matched",
}
_OTHER_SCORES = "use the functions of sklearn.metrics, or hedgerow.cross_validate(…, scoring=…)"
SCORE: Table = {
    **PREDICT,
    "eval_metric": _OTHER_SCORES,
    "metric": _OTHER_SCORES,
    "metrics": _OTHER_SCORES,
    "scoring": _OTHER_SCORES,
}
REFIT: Table = {"decay_rate": "'keep' is the part of its old value that a leaf keeps"}

_OF_THE_MODEL = "it is a parameter of the model"
_SPLITTER = "give cv=… a splitter of scikit-learn's, as in cv=StratifiedKFold(5, shuffle=True)"
_DATA = "give a model and the table: cross_validate(model, X, y)"
CROSS_VALIDATE: Table = {
    "as_pandas": "the result has it: result.to_frame()",
    "callbacks": "write params={{'callbacks': […]}}",
    "dtrain": _DATA,
    "early_stopping_rounds": (
        "write early_stopping=True here and n_iter_no_change=… in the model's constructor"
    ),
    "error_score": "an error of a fold is raised",
    "estimator": "did you mean 'model'?",
    "eval_metric": "did you mean 'scoring'?",
    "eval_set": "every fold is judged by the rows it holds out",
    "feval": "did you mean 'scoring'?",
    "fit_params": "did you mean 'params'?",
    "fold_count": "did you mean 'cv'?",
    "folds": "did you mean 'cv'?",
    "fpreproc": "put the steps and the model into a scikit-learn pipeline",
    "init_model": "write params={{'init_model': …}}",
    "iterations": "it is n_estimators of the model",
    "k": "did you mean 'cv'?",
    "loss_function": "it is loss of the model",
    "maximize": "metrics know their direction; a function returns (name, number, higher_is_better)",
    "metric": "did you mean 'scoring'?",
    "metrics": "did you mean 'scoring'?",
    "n_folds": "did you mean 'cv'?",
    "n_jobs": f"{_OF_THE_MODEL}; folds are fitted one after the other",
    "n_splits": "did you mean 'cv'?",
    "nfold": "did you mean 'cv'?",
    "nfolds": "did you mean 'cv'?",
    "num_boost_round": "it is n_estimators of the model",
    "obj": "it is loss of the model",
    "objective": "it is loss of the model",
    "partition_random_seed": _SPLITTER,
    "pool": _DATA,
    "random_state": f"{_OF_THE_MODEL}; to shuffle rows, {_SPLITTER}",
    "return_cvbooster": "the result has the models: result.models",
    "return_estimator": "the result has the models: result.models",
    "return_indices": "the result has the rows: result.folds",
    "return_train_score": "only the rows held out are scored; result.models has the models",
    "seed": f"it is random_state of the model; to shuffle rows, {_SPLITTER}",
    "show_stdv": "scores of all folds are in result.scores",
    "shuffle": _SPLITTER,
    "splitter": "did you mean 'cv'?",
    "stratified": f"an int for cv is stratified for classifiers; else {_SPLITTER}",
    "train_set": _DATA,
    "verbose_eval": "did you mean 'verbose'?",
    "weight": "did you mean 'sample_weight'?",
}

_SAVE = "model.save(path) writes it, and hedgerow.load(path) reads it"
_LOAD = "hedgerow.load(path) returns the model"
_TREES = (
    Instead("hedgerow.plot.TreeDisplay.from_estimator(model) draws a tree", "apply"),
    Instead("it has no trees"),
)
_IMPORTANCES = (
    Instead(
        "feature_importances_ has them by gain, importances(kind) by other kinds, and "
        "hedgerow.explain.importance(model) makes a table of them",
        "importances",
    ),
    Instead("feature_importances_ has them", "feature_importances_"),
    Instead("hedgerow.explain.permutation_importance(model, X, y) works with any model"),
)
_BOOSTER = "the estimator is the model itself; there is no other object behind it"
_HISTORY = Instead("did you mean 'evals_result_'?", _BOOSTING)
_BEST = Instead("did you mean 'best_iteration_'?", _BOOSTING)
_BEST_SCORE = Instead("did you mean 'best_score_'?", _BOOSTING)
_COLUMN_NAMES = "did you mean 'feature_names_in_'?"
_SEARCH = "use scikit-learn's GridSearchCV or RandomizedSearchCV with this estimator"
_PICTURE = "hedgerow.plot.ImportanceDisplay.from_estimator(model) draws it"
_MORE_ROWS = (
    Instead(
        "write fit(X, y, init_model=model), or refit(X, y) for new leaf values alone", "init_model"
    ),
    Instead("it learns from all rows at once: fit(X, y)"),
)

_PROBABILITIES = (
    Instead(
        "probabilities are of classes: use a classifier. How uncertain a number is says "
        "predict_interval(X)",
        "predict_interval",
    ),
    Instead(
        "decision_function(X) returns scores, of which scikit-learn's CalibratedClassifierCV makes "
        "probabilities",
        "decision_function",
    ),
    Instead("probabilities are of classes: use a classifier"),
)

ATTRIBUTES: Table = {
    "best_iteration": _BEST,
    "best_ntree_limit": _BEST,
    "best_score": _BEST_SCORE,
    "booster": _BOOSTER,
    "booster_": _BOOSTER,
    "calc_feature_statistics": "hedgerow.explain.partial_dependence(model, X, feature)",
    "calc_leaf_indexes": _LEAVES,
    "compare": "hedgerow.cross_validate judges a model by several metrics",
    "decision_function": (
        Instead("predict_proba(X) returns probabilities", "predict_proba"),
        Instead("predict(X) returns the predicted numbers", "predict"),
    ),
    "dump_model": "hedgerow convert writes a model's file as JSON",
    "eval_metrics": "hedgerow.cross_validate judges a model by several metrics",
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
    "get_dump": "hedgerow convert writes a model's file as JSON",
    "get_evals_result": _HISTORY,
    "get_feature_importance": _IMPORTANCES,
    "get_fscore": _IMPORTANCES,
    "get_score": _IMPORTANCES,
    "get_test_eval": _HISTORY,
    "get_xgb_params": "get_params() returns the parameters",
    "get_all_params": "get_params() returns the parameters",
    "grid_search": _SEARCH,
    "is_fitted": "sklearn.utils.validation.check_is_fitted(model) tells",
    "load_model": _LOAD,
    "load": _LOAD,
    "model_to_string": _SAVE,
    "n_estimators_": Instead("did you mean 'n_iter_'?", _BOOSTING),
    "n_features": "did you mean 'n_features_in_'?",
    "n_features_": "did you mean 'n_features_in_'?",
    "num_boosted_rounds": Instead("did you mean 'n_iter_'?", _BOOSTING),
    "num_trees": Instead("did you mean 'n_iter_'?", _BOOSTING),
    "partial_fit": _MORE_ROWS,
    "plot_importance": _PICTURE,
    "plot_predictions": "hedgerow.explain.partial_dependence(model, X, feature)",
    "plot_tree": _TREES,
    "predict_log_proba": _PROBABILITIES,
    "predict_proba": _PROBABILITIES,
    "randomized_search": _SEARCH,
    "save_model": _SAVE,
    "set_feature_names": _NAMES,
    "shrink": Instead("model[:n] is the model of the first n rounds", _BOOSTING),
    "staged_decision_function": Instead("staged_predict(X) returns it", "staged_predict"),
    "staged_predict": "it has no rounds; n_estimators is how many members a forest has",
    "train_score_": _HISTORY,
    "tree_count_": Instead("did you mean 'n_iter_'?", _BOOSTING),
    "trees_to_dataframe": "hedgerow convert writes a model's file as JSON",
    "validation_score_": _HISTORY,
    "validation_scores_": _HISTORY,
    "virtual_ensembles_predict": Instead(
        "predict_interval(X) tells how uncertain it is", "predict_interval"
    ),
}

_FIT_A_MODEL = (
    "make an estimator and fit it: hedgerow.GradientBoostingClassifier(**params).fit(X, y), or "
    "GradientBoostingRegressor"
)
_TABLES = "estimators take tables as they are: fit(X, y)"
_OF_SCIKIT_LEARN = "import it from scikit-learn; it works with these estimators"
_STOP = "set parameters of the estimator: early_stopping=True, n_iter_no_change=…"

MODULE: Table = {
    "Booster": "hedgerow.load(path) returns the estimator that save wrote",
    "CatBoost": _FIT_A_MODEL,
    "DMatrix": _TABLES,
    "Dataset": _TABLES,
    "EarlyStopping": _STOP,
    "FeaturesData": _TABLES,
    "IsolationForest": "OneClassSVM finds outliers",
    "Pool": _TABLES,
    "QuantileDMatrix": _TABLES,
    "GradientBoosting": "there are GradientBoostingClassifier, …Regressor, …Ranker and …Survival",
    "SVM": "there are SVC and SVR, and LinearSVC and LinearSVR for many rows",
    "TreeExplainer": "hedgerow.explain.shap_values(model, X) returns Shapley values",
    "create_tree_digraph": "hedgerow.plot.TreeDisplay.from_estimator(model) draws a tree",
    "cross_val_predict": "hedgerow.cross_validate(model, X, y).oof_prediction",
    "cross_val_score": "did you mean 'cross_validate'?",
    "cv": "did you mean 'cross_validate'?",
    "dump": _SAVE,
    "early_stopping": _STOP,
    "GridSearchCV": _OF_SCIKIT_LEARN,
    "load_model": "did you mean 'load'?",
    "log_evaluation": "set verbose=… of the estimator, a line every so many rounds",
    "partial_dependence": "did you mean 'explain.partial_dependence'?",
    "permutation_importance": "did you mean 'explain.permutation_importance'?",
    "Pipeline": _OF_SCIKIT_LEARN,
    "plot_importance": _PICTURE,
    "plot_metric": "hedgerow.plot.LearningCurveDisplay.from_estimator(model) draws it",
    "plot_tree": "hedgerow.plot.TreeDisplay.from_estimator(model) draws it",
    "RandomizedSearchCV": _OF_SCIKIT_LEARN,
    "record_evaluation": "evals_result_ of a fitted estimator has it",
    "reset_parameter": "give callbacks=[function] to fit",
    "save": _SAVE,
    "save_model": _SAVE,
    "shap": "did you mean 'explain.shap_values'?",
    "shap_values": "did you mean 'explain.shap_values'?",
    "sum_models": "fit(X, y, init_model=model) goes on from a model",
    "to_graphviz": "hedgerow.plot.TreeDisplay.from_estimator(model) draws a tree",
    "train": _FIT_A_MODEL,
    "train_test_split": _OF_SCIKIT_LEARN,
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
