"""The API misused as users of XGBoost, LightGBM, CatBoost and scikit-learn would.

Each case is a call and what its answer must contain: the argument, and what to write instead.
"""

import io
import json
import pickle
import re
from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hedgerow as hr
from hedgerow._cli.models import read_parameters

rng = np.random.RandomState(0)
X = rng.randn(40, 3)
Y = (X[:, 0] > 0).astype(int)  # classes
T = X[:, 0] * 2.0  # numbers
FRAME = pd.DataFrame(X, columns=["age", "income", "height"])
TEXT = pd.DataFrame({"town": ["Ulm", "Bonn"] * 20})


class Mine(hr.DecisionTreeClassifier):
    pass


def relation():
    return pytest.importorskip("duckdb").from_df(FRAME)


def classifier(**parameters):
    return hr.GradientBoostingClassifier(
        **({"n_estimators": 2, "min_samples_leaf": 2} | parameters)
    )


def regressor(**parameters):
    return hr.GradientBoostingRegressor(**({"n_estimators": 2, "min_samples_leaf": 2} | parameters))


@pytest.fixture(scope="module")
def fitted():
    return {
        "classes": classifier().fit(X, Y),
        "numbers": regressor().fit(X, T),
        "frame": classifier().fit(FRAME, Y),
        "forest": hr.RandomForestClassifier(n_estimators=2).fit(X, Y),
        "svc": hr.SVC().fit(X, Y),
    }


class DMatrix:
    """What a matrix of another library looks like: no table, and of its module."""

    __module__ = "xgboost.core"


class EarlyStopping:
    """As LightGBM's callback: a callable of its module."""

    __module__ = "lightgbm.callback"

    def __call__(self, env):
        raise NotImplementedError


def cases(*rows):
    """Return the cases as pytest wants them, each with a name to find it by."""
    return pytest.mark.parametrize(
        ("call", "pattern"), [pytest.param(*row[1:], id=row[0]) for row in rows]
    )


CONSTRUCTORS = (
    (
        "dict by position",
        lambda: hr.GradientBoostingClassifier({"max_depth": 3}),
        r"parameters by name, .*to pass a dict, write GradientBoostingClassifier\(\*\*params\)",
    ),
    ("params", lambda: classifier(params={}), r"'params'; .*\(\*\*params\)"),
    ("xgboost eta", lambda: classifier(eta=0.1), "'eta'; did you mean 'learning_rate'"),
    ("abbreviation lr", lambda: classifier(lr=0.1), "'lr'; did you mean 'learning_rate'"),
    ("lightgbm num_leaves", lambda: classifier(num_leaves=3), "did you mean 'max_leaves'"),
    ("catboost depth", lambda: classifier(depth=3), "'depth'; did you mean 'max_depth'"),
    ("sklearn max_iter", lambda: classifier(max_iter=3), "did you mean 'n_estimators'"),
    (
        "early_stopping_rounds",
        lambda: classifier(early_stopping_rounds=10),
        "set 'early_stopping' to True and 'n_iter_no_change' to that number",
    ),
    ("missing code", lambda: classifier(missing=-999), "'missing': NaN, None and NA are missing"),
    ("task_type", lambda: classifier(task_type="GPU"), "'task_type'.*'device'"),
    ("gpu_id", lambda: classifier(gpu_id=0), "'gpu_id': device='cuda' trains on a GPU"),
    ("eval_set", lambda: classifier(eval_set=[]), "'eval_set'; it is an argument of fit"),
    ("depth of members", lambda: hr.BaggingClassifier(max_depth=3), "the base estimator"),
    ("by position", lambda: hr.RandomForestClassifier(100), r"by name, .*\(n_estimators=…\)"),
    ("base_estimator", lambda: hr.AdaBoostClassifier(base_estimator=1), "did you mean 'estimator'"),
    (
        "grid",
        lambda: classifier(param_grid={}),
        r"GridSearchCV, with GradientBoostingClassifier\(\)",
    ),
)


FIT = (
    (
        "early_stopping_rounds",
        lambda: classifier().fit(X, Y, early_stopping_rounds=10),
        r"fit got an unexpected .*_rounds'; .*early_stopping=True, n_iter_no_change=…",
    ),
    (
        "eval_metric",
        lambda: classifier().fit(X, Y, eval_metric="auc"),
        r"'eval_metric'; set it in the constructor, .*\(eval_metric=…\)",
    ),
    ("verbose", lambda: classifier().fit(X, Y, verbose=False), r"constructor, .*\(verbose=…\)"),
    ("silent", lambda: classifier().fit(X, Y, silent=True), r"constructor, .*\(verbose=…\)"),
    (
        "categorical_feature",
        lambda: classifier().fit(X, Y, categorical_feature=[0]),
        r"constructor, .*\(categorical_features=…\)",
    ),
    (
        "cat_features",
        lambda: classifier().fit(X, Y, cat_features=[0]),
        r"constructor, .*\(categorical_features=…\)",
    ),
    ("base_margin", lambda: classifier().fit(X, Y, base_margin=T), "'base_margin'.*offset"),
    ("init_score", lambda: classifier().fit(X, Y, init_score=T), "'init_score'.*offset"),
    ("xgb_model", lambda: classifier().fit(X, Y, xgb_model=None), "'xgb_model'; pass init_model="),
    (
        "feature_weights",
        lambda: classifier().fit(X, Y, feature_weights=[1, 1, 1]),
        "constructor's feature_weights multiplies split gains",
    ),
    (
        "group",
        lambda: classifier().fit(X, Y, group=[40]),
        "'group'; for ranking use Gradient",
    ),
    (
        "group_id",
        lambda: hr.GradientBoostingRanker().fit(X, Y, group_id=Y),
        "'group_id'; pass qid=…, the query id",
    ),
    ("use_best_model", lambda: classifier().fit(X, Y, use_best_model=True), "early_stopping=True"),
    ("plot", lambda: classifier().fit(X, Y, plot=True), "'plot'; .*LearningCurveDisplay"),
    ("monitor", lambda: regressor().fit(X, T, monitor=print), "'monitor'; pass callbacks="),
    (
        "weights of sets",
        lambda: classifier().fit(X, Y, sample_weight_eval_set=[Y]),
        r"eval_set=\[\(X, y, sample_weight\)\]",
    ),
    ("weight", lambda: classifier().fit(X, Y, weight=T), "did you mean 'sample_weight'"),
    ("misspelt", lambda: classifier().fit(X, Y, eval_sets=[]), "did you mean 'eval_set'"),
    ("unknown", lambda: classifier().fit(X, Y, wings=2), "'wings'; its arguments are X, y, sample"),
    (
        "forest eval_set",
        lambda: hr.RandomForestClassifier().fit(X, Y, eval_set=[(X, Y)]),
        r"argument 'eval_set'; .*no boosting rounds.*score\(X, y\)",
    ),
    ("validation_data", lambda: classifier().fit(X, Y, validation_data=(X, Y)), "pass eval_set="),
    (
        "lightgbm callback",
        lambda: classifier().fit(X, Y, callbacks=[EarlyStopping()]),
        "callbacks: .* for LightGBM.*early_stopping=True and n_iter_no_change",
    ),
    ("callback name", lambda: classifier().fit(X, Y, callbacks=["stop"]), "callbacks: 'stop' is"),
    ("matrix alone", lambda: classifier().fit(DMatrix()), "needs X and y; y is missing.*XGBoost"),
    ("matrix", lambda: classifier().fit(DMatrix(), Y), r"X is a DMatrix \(XGBoost\).*fit\(X, y\)"),
    ("no y", lambda: classifier().fit(X), "fit needs X and y; y is missing"),
    ("y None", lambda: classifier().fit(X, None), "y to be passed, but the target y is None"),
    (
        "four tables",
        lambda: classifier().fit(X[:30], X[30:], Y[:30], Y[30:]),
        "takes X, y and sample_weight by position, but 4 were given. .*by name, as in groups=…",
    ),
    (
        "X_test for y",
        lambda: classifier().fit(X[:30], X[30:]),
        r"y has 10 values.*fit\(X_train",
    ),
    ("y too short", lambda: classifier().fit(X, Y[:-1]), "y has 39 values, but X has 40 rows"),
    ("y a name", lambda: classifier().fit(FRAME, "age"), r"y is a str.*frame\['age'\]"),
    (
        "labels are fractions",
        lambda: classifier().fit(X, T),
        "y contains fractions.*Use a regressor",
    ),
    (
        "words as numbers",
        lambda: regressor().fit(X, np.where(Y, "yes", "no")),
        "y contains strings.*use a classifier",
    ),
    ("y sparse", lambda: classifier().fit(X, sp.csr_matrix(Y).T), r"y is sparse.*y\.toarray\(\)"),
    (
        "y has NaN",
        lambda: classifier().fit(X, np.where(Y, np.nan, 0.0)),
        "y contains NaN .*row .*Drop the rows",
    ),
    ("y infinite", lambda: regressor().fit(X, np.where(Y, np.inf, 0)), "y contains infinity"),
    ("one class", lambda: classifier().fit(X, 0 * Y), "y contains only one class.*at least two"),
    (
        "frame as y",
        lambda: classifier().fit(X, pd.DataFrame({"a": T, "b": T})),
        "y contains fractions.*Use a regressor",
    ),
    ("negative counts", lambda: regressor(loss="poisson").fit(X, T), "loss='poisson' needs y >= 0"),
    ("X one column", lambda: classifier().fit(X[:, 0], Y), r"X must have two.*X\.reshape\(-1, 1\)"),
    ("X of three", lambda: classifier().fit(X[None], Y), r"X must have two dimensions, .*\(1, 40"),
    ("X infinite", lambda: classifier().fit(X + np.inf, Y), "X, column 0 contains infinity.*NaN"),
    ("X a path", lambda: classifier().fit("train.csv", Y), "X is a str. Pass a table"),
    ("X empty", lambda: classifier().fit(X[:0], Y[:0]), "X has 0 sample"),
    (
        "X lazy",
        lambda: classifier().fit(pl.from_pandas(FRAME).lazy(), Y),
        r"X is a lazy table.*its collect\(\) returns",
    ),
    ("X a DuckDB relation", lambda: classifier().fit(relation(), Y), r"its df\(\) or pl\(\) ret"),
    (
        "a row of a frame",
        lambda: classifier().fit(FRAME, Y).predict(FRAME.iloc[0]),
        r"table\.iloc\[\[0\]\] or the dict X\.to_dict\(\)",
    ),
    (
        "X as y",
        lambda: regressor().fit(X, np.where(X > 2, np.nan, X)),
        r"y contains NaN.*column \d of a y with 3 columns.*pass the target alone",
    ),
    ("X and y swapped", lambda: classifier().fit(Y, X), r"X has one.*call fit\(X, y\)"),
    ("X None", lambda: classifier().fit(X, Y).predict(None), "X is None. Pass a table"),
    (
        "directions of XGBoost",
        lambda: regressor(monotonic_constraints="(1,0,-1)").fit(X, T),
        r"write monotonic_constraints=\[1, 0, -1\]",
    ),
    (
        "a parameter of another estimator",
        lambda: classifier(quantile=0.9),
        r"no parameter 'quantile'; it is a parameter of GradientBoostingRegressor\.",
    ),
    ("a subclass in a file", lambda: Mine().save("x"), r"subclass adds to Decis.*with joblib"),
    (
        "X dates",
        lambda: classifier().fit(pd.DataFrame({"day": pd.date_range("2020", periods=40)}), Y),
        "X, column 'day' contains dates.*numbers",
    ),
    (
        "words for a kernel",
        lambda: hr.SVC().fit(TEXT, Y),
        "X, column 'town' contains strings.*OneHotEncoder",
    ),
    (
        "NaN for a kernel",
        lambda: hr.SVC().fit(np.where(X > 1, np.nan, X), Y),
        "X, column 0 contains NaN.*SimpleImputer",
    ),
    (
        "words for neighbours",
        lambda: hr.KNeighborsClassifier().fit(TEXT, Y),
        "X, column 'town'.*metric='gower'",
    ),
    (
        "weights too few",
        lambda: classifier().fit(X, Y, np.ones(3)),
        "sample_weight has 3 values, but X has 40 rows",
    ),
    (
        "weights negative",
        lambda: classifier().fit(X, Y, -1 - Y),
        "sample_weight is negative in row",
    ),
    ("weights zero", lambda: classifier().fit(X, Y, 0 * Y), "sample_weight is zero in every row"),
    (
        "weights balanced",
        lambda: classifier().fit(X, Y, sample_weight="balanced"),
        "sample_weight is a str.*class_weight",
    ),
    (
        "weights of classes",
        lambda: classifier().fit(X, Y, sample_weight={0: 1.0, 1: 5.0}),
        "sample_weight is a dict.*class_weight",
    ),
    (
        "eval_set by position",
        lambda: classifier().fit(X, Y, [(X, Y)]),
        r"sample_weight is a list of tuples.*eval_set=\[\(X_valid",
    ),
    (
        "eval_set flat",
        lambda: classifier().fit(X, Y, eval_set=[X, Y]),
        r"eval_set must be a list.*eval_set=\[\(X_valid, y_valid\)\]",
    ),
    (
        "eval_set by name",
        lambda: classifier().fit(X, Y, eval_set=[(X, "valid")]),
        "eval_set.*eval_names",
    ),
    (
        "eval_set dict",
        lambda: classifier().fit(X, Y, eval_set={"valid": (X, Y)}),
        r"eval_set must be a list of \(X, y\)",
    ),
    (
        "eval_set columns",
        lambda: classifier().fit(X, Y, eval_set=[(X[:, :2], Y)]),
        r"eval_set\[0\]: X has 2 features, .* 3 features.*columns of fit",
    ),
    (
        "eval_set names",
        lambda: classifier().fit(FRAME, Y, eval_set=[(FRAME.rename(columns={"age": "Age"}), Y)]),
        r"eval_set\[0\]: X has no column 'age', which .* X has the column 'Age', which",
    ),
    (
        "eval_set classes",
        lambda: classifier().fit(X, Y, eval_set=[(X, Y + 5)]),
        r"eval_set\[0\]: y contains 5, .*classes \[0, 1\]",
    ),
    (
        "stop without rows",
        lambda: regressor(early_stopping=True).fit(X[:3], T[:3]),
        "early_stopping needs a holdout.*Pass an eval_set",
    ),
    (
        "no queries",
        lambda: hr.GradientBoostingRanker().fit(X, Y),
        r"one of qid \(an id for each row\), group",
    ),
    (
        "groups too few",
        lambda: hr.GradientBoostingRanker().fit(X, Y, group=[3, 4]),
        "group sums to 7 rows, but X has 40 rows",
    ),
    ("init_model", lambda: classifier().fit(X, Y, init_model=X), "init_model=<ndarray of shape"),
)


@cases(*CONSTRUCTORS, *FIT)
def test_constructors_and_fit(call, pattern):
    with pytest.raises((TypeError, ValueError), match=pattern):
        call()


VALUES = (
    ("loss mse", lambda: regressor(loss="mse"), "'mse' .*did you mean 'squared_error'"),
    ("loss mae", lambda: regressor(loss="mae"), "did you mean 'absolute_error'"),
    ("loss RMSE", lambda: regressor(loss="RMSE"), "did you mean 'squared_error'"),
    ("loss ls", lambda: regressor(loss="ls"), "did you mean 'squared_error'"),
    ("loss lad", lambda: regressor(loss="lad"), "did you mean 'absolute_error'"),
    ("loss l1", lambda: regressor(loss="regression_l1"), "did you mean 'absolute_error'"),
    ("loss reg", lambda: regressor(loss="reg:squarederror"), "did you mean 'squared_error'"),
    ("loss alpha", lambda: regressor(loss="Quantile:alpha=0.9"), "did you mean 'quantile'"),
    ("loss log1p", lambda: regressor(loss="reg:squaredlogerror"), r"fit to np\.log1p"),
    ("loss binary", lambda: classifier(loss="binary"), "'binary' .*did you mean 'log_loss'"),
    ("loss logistic", lambda: classifier(loss="binary:logistic"), "did you mean 'log_loss'"),
    ("loss softprob", lambda: classifier(loss="multi:softprob"), "did you mean 'log_loss'"),
    ("loss Logloss", lambda: classifier(loss="Logloss"), "did you mean 'log_loss'"),
    ("loss deviance", lambda: classifier(loss="deviance"), "did you mean 'log_loss'"),
    (
        "loss of the regressor",
        lambda: classifier(loss="mse"),
        "it is loss='squared_error' in GradientBoostingRegressor",
    ),
    (
        "loss of the classifier",
        lambda: regressor(loss="binary:logistic"),
        "it is loss='log_loss' in GradientBoostingClassifier",
    ),
    (
        "loss of rankings",
        lambda: regressor(loss="rank:ndcg"),
        "it is loss='ndcg' in GradientBoostingRanker",
    ),
    (
        "loss of survival",
        lambda: regressor(loss="survival:cox"),
        "it is loss='cox' in GradientBoostingSurvival",
    ),
    (
        "loss a class",
        lambda: regressor(loss=hr.Loss),
        r"loss: 'Loss' takes 1 .*Pass an instance, Loss\(…\)",
    ),
    ("grow_policy", lambda: classifier(grow_policy="lossguide"), "did you mean 'leafwise'"),
    ("depthwise", lambda: classifier(grow_policy="depthwise"), "did you mean 'levelwise'"),
    ("SymmetricTree", lambda: classifier(grow_policy="SymmetricTree"), "did you mean 'symmetric'"),
    ("gblinear", lambda: classifier(boosting="gblinear"), "boosting='gblinear'.*linear_leaves"),
    ("goss", lambda: classifier(boosting="goss"), "boosting='goss'.*sampling='gradient'"),
    ("tree_method", lambda: classifier(splitter="gpu_hist"), "did you mean 'hist'"),
    ("MVS", lambda: classifier(sampling="MVS"), "did you mean 'minimal_variance'"),
    ("max_depth -1", lambda: classifier(max_depth=-1), "max_depth=-1.*write max_depth=None"),
    ("max_depth 0", lambda: classifier(max_depth=0), "write max_depth=None"),
    ("max_leaves 0", lambda: classifier(max_leaves=0), "write max_leaves=None"),
    ("n_estimators -1", lambda: classifier(n_estimators=-1), "n_estimators=-1.*an int >= 1"),
    ("n_estimators text", lambda: classifier(n_estimators="10"), "write n_estimators=10"),
    ("n_estimators float", lambda: classifier(n_estimators=1e2), "write n_estimators=100"),
    ("max_bins", lambda: classifier(max_bins=256), "max_bins=256.*maximum is 255"),
    ("subsample 0", lambda: classifier(subsample=0), r"subsample=0.*in \(0, 1\]"),
    ("subsample percent", lambda: classifier(subsample=80), "write subsample=0.8"),
    ("budget in seconds", lambda: classifier(budget=60), "20]. A number is a multiple of 'bal"),
    ("n_jobs 0", lambda: classifier(n_jobs=0), "n_jobs=0.*write n_jobs=-1"),
    ("verbose -1", lambda: classifier(verbose=-1), "verbose=-1.*0 is silent"),
    ("random_state", lambda: classifier(random_state="a"), "random_state='a'.*an int >= 0"),
    (
        "random generator",
        lambda: classifier(random_state=np.random.default_rng(0)),
        r"random_state=.*int\(rng\.integers",
    ),
    ("early_stopping 10", lambda: classifier(early_stopping=10), "to wait is n_iter_no_change"),
    ("class_weight auto", lambda: classifier(class_weight="auto"), "did you mean 'balanced'"),
    (
        "class_weight of forests",
        lambda: classifier(class_weight="balanced_subsample"),
        "only forests support it; use 'balanced'",
    ),
    ("class_weight list", lambda: classifier(class_weight=[1, 5]), "a dict from class to weight"),
    ("column name", lambda: classifier(categorical_features="age"), r"features=\['age'\]"),
    ("all columns", lambda: classifier(categorical_features="all"), "names of all columns"),
    ("categories True", lambda: classifier(categorical_features=True), "did you mean 'auto'"),
    ("n_jobs all", lambda: classifier(n_jobs="all"), "write n_jobs=-1"),
    (
        "metric of one",
        lambda: classifier(eval_metric=lambda y: y),
        "eval_metric: '<lambda>' takes 1 .*y, scores or prediction",
    ),
    ("calibration", lambda: classifier(calibration="platt"), "did you mean 'sigmoid'"),
    ("metric logloss", lambda: classifier(eval_metric="logloss"), "did you mean 'log_loss'"),
    ("metric AUC", lambda: classifier(eval_metric="AUC"), "eval_metric='AUC'.*mean 'auc'"),
    ("metric merror", lambda: classifier(eval_metric="merror"), "did you mean 'error'"),
    ("metric aucpr", lambda: classifier(eval_metric="aucpr"), "did you mean 'average_precision'"),
    ("metric l2", lambda: regressor(eval_metric="l2"), "eval_metric='l2'.*did you mean 'mse'"),
    ("metric of classes", lambda: regressor(eval_metric="auc"), "a metric for classifiers"),
    ("metric of numbers", lambda: classifier(eval_metric="rmse"), "a metric for regressors"),
    ("metric unknown", lambda: classifier(eval_metric="best"), "eval_metric='best'.*one of log_"),
)


@cases(*VALUES)
def test_values_of_boosting(call, pattern):
    estimator = call()
    target = Y if isinstance(estimator, hr.GradientBoostingClassifier) else T
    with pytest.raises(ValueError, match=pattern):
        estimator.fit(FRAME, target, eval_set=[(FRAME, target)])


OTHER_VALUES = (
    (
        "max_features",
        lambda: hr.RandomForestClassifier(max_features="auto"),
        "max_features='auto'.*'sqrt' for classifiers",
    ),
    (
        "criterion mse",
        lambda: hr.RandomForestRegressor(criterion="mse"),
        "criterion='mse'.*did you mean 'squared_error'",
    ),
    (
        "criterion gini",
        lambda: hr.RandomForestRegressor(criterion="gini"),
        "criterion='gini'.*for classifiers",
    ),
    ("kernel", lambda: hr.SVC(kernel="gaussian"), "kernel='gaussian'.*did you mean 'rbf'"),
    ("loss l2", lambda: hr.LinearSVC(loss="l2"), "loss='l2'.*did you mean 'squared_hinge'"),
    (
        "a class as estimator",
        lambda: hr.BaggingClassifier(hr.DecisionTreeClassifier),
        r"it is a class; write estimator=DecisionTreeClassifier\(\)",
    ),
    (
        "ball_tree",
        lambda: hr.KNeighborsClassifier(algorithm="ball_tree"),
        "did you mean 'kd_tree'",
    ),
    (
        "ranking metric",
        lambda: hr.GradientBoostingRanker(n_estimators=2, eval_metric="rmse"),
        "eval_metric='rmse'.*for regressors.*'ndcg'",
    ),
)


@cases(*OTHER_VALUES)
def test_values_of_others(call, pattern):
    more = {"qid": Y} if "Ranker" in str(call()) else {}
    with pytest.raises(ValueError, match=pattern):
        call().fit(X, Y, **more)


PREDICT = (
    ("not fitted", lambda _: classifier().predict(X), "not fitted yet. Call 'fit' first"),
    ("importances", lambda _: classifier().feature_importances_, "not fitted yet. Call 'fit'"),
    ("raw_score", lambda m: m["classes"].predict(X, raw_score=True), r"decision_function\(X\)"),
    (
        "output_margin",
        lambda m: m["classes"].predict(X, output_margin=True),
        "predict got an unexpected keyword argument 'output_margin'; decision_function",
    ),
    (
        "raw numbers",
        lambda m: m["numbers"].predict(X, raw_score=True),
        r"'raw_score'; .*predict\(X\) returns",
    ),
    ("pred_contrib", lambda m: m["classes"].predict(X, pred_contrib=True), r"explain\.shap_values"),
    ("pred_leaf", lambda m: m["classes"].predict(X, pred_leaf=True), r"apply\(X\)"),
    (
        "ntree_limit",
        lambda m: m["classes"].predict(X, ntree_limit=1),
        r"'ntree_limit'; .*model\[:n\]\.predict\(X\)",
    ),
    (
        "iteration_range",
        lambda m: m["classes"].predict_proba(X, iteration_range=(0, 1)),
        r"predict_proba got an unexpected keyword argument .*model\[:n\]\.predict_proba\(X\)",
    ),
    ("num_iteration", lambda m: m["classes"].predict(X, num_iteration=1), r"model\[:n\]"),
    ("ntree_end", lambda m: m["classes"].predict(X, ntree_end=1), r"model\[:n\]"),
    (
        "prediction_type",
        lambda m: m["classes"].predict(X, prediction_type="Probability"),
        r"predict_proba\(X\) 'Probability'",
    ),
    ("thread_count", lambda m: m["classes"].predict(X, thread_count=2), r"\(n_jobs=…\)"),
    ("forest", lambda m: m["forest"].predict(X, num_iteration=1), "its arguments are X"),
    ("score", lambda m: m["classes"].score(X, Y, scoring="auc"), r"sklearn\.metrics"),
    ("score without y", lambda m: m["classes"].score(X), "score needs X and y; y is missing"),
    ("refit", lambda m: m["classes"].refit(X, Y, decay_rate=0.9), "'decay_rate'; 'keep' is"),
    ("a row", lambda m: m["classes"].predict(X[0]), r"X must have two.*X\.reshape\(1, -1\)"),
    (
        "columns",
        lambda m: m["classes"].predict(X[:, :2]),
        "X has 2 features, but .* expecting 3 features.*columns of fit",
    ),
    (
        "names",
        lambda m: m["frame"].predict(FRAME.drop(columns="age")),
        "X has no column 'age', which the model was trained on",
    ),
    ("matrix", lambda m: m["classes"].predict(DMatrix()), r"X is a DMatrix \(XGBoost\)"),
    ("probability=False", lambda m: m["svc"].predict_proba(X), "needs probability=True"),
    ("interval", lambda m: m["numbers"].predict_interval(X), "calibration='conformal'"),
    ("round 3", lambda m: m["classes"][3], r"model\[:50\]"),
    ("kind", lambda m: m["classes"].importances("weight"), "kind='weight'.*did you mean 'split'"),
    ("shap of rows", lambda m: hr.explain.shap_values(X, m["classes"]), "model=<ndarray of shape"),
    (
        "shap of a kernel",
        lambda m: hr.explain.shap_values(m["svc"], X),
        "SVC is not a sum of trees.*permutation_importance",
    ),
    (
        "dependence",
        lambda m: hr.explain.partial_dependence(m["frame"], FRAME, "incme"),
        "'incme'.*did you mean 'income'",
    ),
    ("report", lambda m: hr.report(m["classes"], X, Y), "report needs .*path is missing"),
)


@cases(*PREDICT)
def test_fitted_models(call, pattern, fitted):
    with pytest.raises((TypeError, ValueError, AttributeError), match=pattern):
        call(fitted)


CROSS_VALIDATE = (
    (
        "nfold",
        {"nfold": 5},
        "cross_validate got an unexpected .* 'nfold'; did you mean 'cv'",
    ),
    ("folds", {"folds": []}, "did you mean 'cv'"),
    ("metrics", {"metrics": "auc"}, "did you mean 'scoring'"),
    ("num_boost_round", {"num_boost_round": 9}, "'num_boost_round'; set n_estimators of the mod"),
    ("stratified", {"stratified": False}, "cv=5 is stratified for classifiers"),
    ("seed", {"seed": 1}, "'seed'; set random_state of the model"),
    ("early_stopping_rounds", {"early_stopping_rounds": 9}, "n_iter_no_change=… in the model's"),
    ("return_estimator", {"return_estimator": True}, r"result\.models"),
    ("scoring", {"scoring": "rmse"}, "scoring='rmse'.*a metric for regressors"),
    ("scoring misspelt", {"scoring": "roc_acu"}, "did you mean 'roc_auc'"),
    ("scorer of classes", {"scoring": "r2_scorer"}, "scoring='r2_scorer' is not allowed"),
    ("splitter class", {"cv": KFold}, r"cv=KFold is a class; write cv=KFold\(\)"),
    ("cv", {"cv": 1}, "cv: 1 is not a number of folds: it must be at least 2"),
)


@pytest.mark.parametrize(("named", "pattern"), [row[1:] for row in CROSS_VALIDATE])
def test_cross_validate(named, pattern):
    with pytest.raises((TypeError, ValueError), match=pattern):
        hr.cross_validate(classifier(), X, Y, **named)


MODELS_OF_FOLDS = (
    ("a class", hr.GradientBoostingClassifier, r"write GradientBoostingClassifier\(\)"),
    ("a dict", {"max_depth": 3}, r"GradientBoostingClassifier\(\*\*params\)"),
    ("a table", X, r"model=<ndarray of shape \(40, 3\)>.*cross_validate\(model, X, y\)"),
)


@pytest.mark.parametrize(("model", "pattern"), [row[1:] for row in MODELS_OF_FOLDS])
def test_models_of_folds(model, pattern):
    with pytest.raises(ValueError, match=pattern):
        hr.cross_validate(model, X, Y)


def test_a_scorer_that_needs_classes():
    with pytest.raises(ValueError, match=r"scoring='roc_auc' cannot be used with this model"):
        hr.cross_validate(regressor(), X, T, scoring="roc_auc", cv=2)


def test_folds_are_given_by_name():
    with pytest.raises(TypeError, match=r"model, X and y by position, .*as in cv=…"):
        hr.cross_validate(classifier(), X, Y, 5)


MODULE = (
    ("train", r"use an estimator: .*\(\*\*params\)\.fit\(X, y\)"),
    ("cv", "did you mean 'cross_validate'"),
    ("DMatrix", r"data frames to the estimator directly: fit\(X, y\)"),
    ("Dataset", r"fit\(X, y\)"),
    ("Pool", r"fit\(X, y\)"),
    ("XGBClassifier", "did you mean 'GradientBoostingClassifier'"),
    ("LGBMRegressor", "did you mean 'GradientBoostingRegressor'"),
    ("CatBoostClassifier", "did you mean 'GradientBoostingClassifier'"),
    ("LGBMRanker", "did you mean 'GradientBoostingRanker'"),
    ("HistGradientBoostingClassifier", "did you mean 'GradientBoostingClassifier'"),
    ("plot_importance", r"hedgerow\.plot\.ImportanceDisplay"),
    ("early_stopping", "early_stopping=True, n_iter_no_change=…"),
    ("log_evaluation", "verbose=10"),
    ("metrics", r"sklearn\.metrics"),
    ("RandomForest", "did you mean 'RandomForestClassifier' or 'RandomForestRegressor'"),
    ("GradientBoostingClasifier", "did you mean 'GradientBoostingClassifier'"),
)


@pytest.mark.parametrize(("name", "pattern"), MODULE)
def test_names_of_the_module(name, pattern):
    assert not hasattr(hr, name)
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'; .*{pattern}"):
        getattr(hr, name)


def test_a_peer_s_name_that_is_imported():
    with pytest.raises(ImportError, match=r"'XGBRegressor'.*did you mean 'GradientBoostingRegr"):
        from hedgerow import XGBRegressor  # noqa: F401
    with pytest.raises(ImportError, match="did you mean 'TreeDisplay'"):
        from hedgerow.plot import plot_tree  # noqa: F401
    from hedgerow import _spelling as spelling  # a module that is no name of the package

    assert spelling.near("a", []) == []


ATTRIBUTES = (
    ("classes", "get_booster", "the estimator itself is the model"),
    ("classes", "booster_", "the estimator itself is the model"),
    ("classes", "save_model", r"model\.save\(path\)"),
    ("classes", "load_model", r"hedgerow\.load\(path\)"),
    ("classes", "feature_importance", r"feature_importances_ .*importances\(kind\)"),
    ("classes", "get_feature_importance", r"importances\(kind\)"),
    ("classes", "get_score", r"importances\(kind\)"),
    ("svc", "get_feature_importance", "permutation_importance"),
    ("classes", "best_iteration", "did you mean 'best_iteration_'"),
    ("classes", "evals_result", "did you mean 'evals_result_'"),
    ("classes", "best_score_", "pass an eval_set, or set early_stopping=True"),
    ("classes", "feature_name_", "did you mean 'feature_names_in_'"),
    ("classes", "plot_importance", "ImportanceDisplay"),
    ("classes", "plot_tree", "TreeDisplay"),
    ("classes", "partial_fit", "init_model=model"),
    ("classes", "grid_search", "GridSearchCV"),
    ("classes", "shrink", r"model\[:n\]"),
    ("numbers", "predict_proba", r"only classifiers.*predict_interval\(X\)"),
    ("numbers", "decision_function", r"predict\(X\)"),
    ("forest", "oob_score_", "oob_score=True"),
    ("classes", "feature_importances", "did you mean 'feature_importances_'"),
    ("classes", "transform", r"apply\(X\)"),
    ("forest", "staged_predict", "it has no boosting rounds"),
    ("forest", "decision_function", r"predict_proba\(X\)"),
)


@pytest.mark.parametrize(("model", "name", "pattern"), ATTRIBUTES)
def test_attributes(model, name, pattern, fitted):
    assert not hasattr(fitted[model], name)
    with pytest.raises(AttributeError, match=pattern) as caught:
        getattr(fitted[model], name)
    assert name in str(caught.value)
    assert caught.value.name == name


def test_set_params_and_searches():
    with pytest.raises(ValueError, match="no parameter 'num_leaves'; did you mean 'max_leaves'"):
        classifier().set_params(num_leaves=3)
    with pytest.raises(TypeError, match=r"set_params\(\*\*params\)"):
        classifier().set_params({"max_depth": 3})
    search = GridSearchCV(classifier(), {"eta": [0.1]}, cv=2)
    with pytest.raises(ValueError, match="no parameter 'eta'; did you mean 'learning_rate'"):
        search.fit(X, Y)
    piped = make_pipeline(StandardScaler(), classifier())
    with pytest.raises(ValueError, match="no parameter 'depth'; did you mean 'max_depth'"):
        piped.set_params(gradientboostingclassifier__depth=3)
    nested = hr.BaggingClassifier(hr.DecisionTreeClassifier())
    assert nested.set_params(estimator__max_depth=3).estimator.max_depth == 3


@pytest.mark.parametrize(
    ("assignment", "pattern"),
    [
        ("num_leaves=31", "--param num_leaves: .*did you mean 'max_leaves'"),
        ("loss=mse", "loss='mse' is not allowed; did you mean 'squared_error'"),
        ("max_depth=-1", "write max_depth=None"),
        ("gpu_id=0", "--param gpu_id: .*device='cuda' trains on a GPU"),
    ],
)
def test_parameters_of_the_command_line(assignment, pattern):
    with pytest.raises(ValueError, match=pattern):
        read_parameters([assignment], hr.GradientBoostingRegressor)


FILES = (
    ("pickle", pickle.dumps({"a": 1}), r"a pickle: use pickle\.load"),
    (
        "xgboost json",
        json.dumps({"learner": {}}).encode(),
        r"an XGBoost model, which hedgerow\.read_model reads",
    ),
    ("xgboost ubj", b"{L\x00\x00\x00\x00\x00\x00\x00\x07learner{", "an XGBoost model"),
    ("lightgbm", b"tree\nversion=v4\nnum_class=1\n" + b"x" * 100, "a LightGBM model"),
    ("catboost", b"CBM1" + bytes(200), "a CatBoost model"),
    ("json", b'{"estimator": "GradientBoostingClassifier"}' + b" " * 100, "JSON: .*convert"),
    ("a table", b"age,income\n1,2\n" * 20, "not a Hedgerow model file"),
)


@pytest.mark.parametrize(("content", "pattern"), [row[1:] for row in FILES])
def test_files_of_others(content, pattern, tmp_path):
    (tmp_path / "model.bin").write_bytes(content)
    with pytest.raises(hr.ModelFileError, match=rf"model\.bin': .*{pattern}"):
        hr.load(tmp_path / "model.bin")


def test_where_to_save(fitted, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"folder to save into does not exist.*nowhere"):
        fitted["classes"].save(tmp_path / "nowhere" / "m.hedgerow")
    with pytest.raises(TypeError, match="save needs path; path is missing"):
        fitted["classes"].save()
    with pytest.raises(TypeError, match="path must be a file name, not a BytesIO"):
        fitted["classes"].save(io.BytesIO())
    with pytest.raises(TypeError, match="path must be a file name"):
        hr.load(io.BytesIO())
    with pytest.raises(ValueError, match=r"not fitted yet\. Call 'fit' first"):
        classifier().save(tmp_path / "m.hedgerow")


def test_there_are_a_hundred_of_them():
    tables = (CONSTRUCTORS, FIT, VALUES, OTHER_VALUES, PREDICT, CROSS_VALIDATE, MODELS_OF_FOLDS)
    tables += (MODULE, ATTRIBUTES, FILES)
    assert sum(map(len, tables)) >= 100
    named = [row[0] for table in tables[:5] for row in table]
    assert all(re.search(r"[a-zA-Z]", name) for name in named)


@pytest.mark.parametrize("model", ["classes", "numbers", "forest", "svc"])
def test_what_scikit_learn_asks_of_estimators_is_as_ever(model, fitted):
    """Duck typing by hasattr, and signatures, which decide what weights are passed on."""
    estimator = fitted[model]
    assert not hasattr(estimator, "transform")
    assert not hasattr(estimator, "partial_fit")
    assert "sample_weight" in signature(estimator.fit).parameters
    scored = ["offset"] if model in ("classes", "numbers") else []
    assert list(signature(estimator.predict).parameters) == ["X", *scored]
    assert "sample_weight" in signature(type(estimator).score).parameters
    assert type(estimator).fit.__doc__.startswith("Fit ")


def test_scikit_learn_s_own_around_ours():
    CalibratedClassifierCV(hr.LinearSVC(), cv=2).fit(X, Y).predict_proba(X)
    StackingClassifier([("a", hr.SVC()), ("b", classifier())], cv=2).fit(X, Y)
    permutation_importance(classifier().fit(X, Y), X, Y, n_repeats=1)
    GridSearchCV(regressor(), {"max_depth": [1, 2]}, cv=KFold(2)).fit(X, T)


def test_no_message_and_no_page_names_a_package_that_no_index_has():
    root = Path(hr.__file__).parents[2]
    paths = [*root.glob("src/**/*.py"), *root.glob("docs/**/*.md"), root / "README.md"]
    assert [path for path in paths if "hedgerow[" in path.read_text(encoding="utf-8")] == []


def test_voting_names_an_estimator_without_sample_weight():
    # scikit-learn looks for Python's words about an argument that a fit does not have.
    with pytest.raises(TypeError, match="unexpected keyword argument 'sample_weight'"):
        hr.KNeighborsClassifier().fit(X, Y, sample_weight=np.ones(len(Y)))
