"""File formats, tasks and models: all that help and completion need to know."""

from __future__ import annotations

FORMATS = {
    "csv": (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "svmlight": (".svm", ".svmlight", ".libsvm", ".svm.gz", ".svmlight.gz", ".libsvm.gz"),
}
TABLE_ENDS = (".csv", ".csv.gz", ".parquet", ".feather")  # of output tables
PAGE_ENDS = (".html", ".htm")

TASKS = ("classification", "regression", "counts", "ranking", "survival")
# The class of the library that ``--model`` means, by task.
MODELS = {
    "gradient_boosting": {
        "classification": "GradientBoostingClassifier",
        "regression": "GradientBoostingRegressor",
        "counts": "GradientBoostingRegressor",
        "ranking": "GradientBoostingRanker",
        "survival": "GradientBoostingSurvival",
    },
} | {
    name: {"classification": classifier, "regression": regressor}
    for name, classifier, regressor in (
        ("random_forest", "RandomForestClassifier", "RandomForestRegressor"),
        ("extra_trees", "ExtraTreesClassifier", "ExtraTreesRegressor"),
        ("decision_tree", "DecisionTreeClassifier", "DecisionTreeRegressor"),
        ("bagging", "BaggingClassifier", "BaggingRegressor"),
        ("adaboost", "AdaBoostClassifier", "AdaBoostRegressor"),
        ("stagewise", "StagewiseClassifier", "StagewiseRegressor"),
        ("svm", "SVC", "SVR"),
        ("linear_svm", "LinearSVC", "LinearSVR"),
        ("neighbors", "KNeighborsClassifier", "KNeighborsRegressor"),
    )
}

# Files that `train` writes.
MODEL, METRICS, REPORT = "model.hedgerow", "metrics.json", "report.html"
TEST_SIZE = 0.2
COVERAGE = 0.9
