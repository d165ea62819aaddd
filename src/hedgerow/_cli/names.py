"""Names that were mistyped or are other libraries', and which of ours may have been meant."""

from __future__ import annotations

from collections.abc import Iterable

from hedgerow._cli.choices import MODELS
from hedgerow._data.schema import listed
from hedgerow._spelling import near

# What other libraries and textbooks call the models of ``--model``.
_ELSEWHERE = {
    "gradient_boosting": (
        *("xgboost", "xgb", "lightgbm", "lgbm", "lgb", "catboost", "gbm", "gbdt", "gbt", "gbrt"),
        *("mart", "hist_gradient_boosting", "boosting", "boosted_trees", "gradient_boosted_trees"),
        *("lambdamart", "cox", "coxph", "poisson", "dart", "h2o", "ngboost"),
    ),
    "random_forest": ("rf", "forest", "random_forests", "ranger", "randomforest"),
    "extra_trees": ("et", "extra_tree", "extremely_randomized_trees"),
    "decision_tree": ("dt", "tree", "cart", "rpart", "c45", "id3"),
    "bagging": ("bag", "bagged_trees"),
    "adaboost": ("ada", "ada_boost", "samme", "adaboost_m1", "logitboost", "gentleboost"),
    "stagewise": ("forward_stagewise", "additive_model", "l2boost"),
    "svm": ("svc", "svr", "nusvc", "nusvr", "libsvm", "kernel_svm", "support_vector_machine"),
    "linear_svm": ("linear_svc", "linear_svr", "liblinear"),
    "neighbors": ("knn", "k_neighbors", "nearest_neighbors", "kneighbors", "neighbours"),
}
# Models that are not here, and the one that does what comes nearest.
_NOT_HERE = {
    "linear_svm": (
        *("logistic_regression", "logistic", "logreg", "linear", "linear_regression", "ridge"),
        *("lasso", "elastic_net", "sgd", "perceptron", "glm", "lm", "lda", "linear_model"),
    ),
    "gradient_boosting": (
        *("mlp", "neural_network", "nn", "tabnet", "tabpfn", "naive_bayes", "gaussian_nb"),
        *("gaussian_process", "gp", "gam", "ebm", "mars", "automl"),
    ),
}


def suggestion(given: str, known: Iterable[str]) -> str:
    """Return a sentence that names the nearest of the known names, or all of them."""
    names = list(known)
    found = next(iter(near(given, names)), None)
    if found is not None:
        return f"Did you mean {found!r}?"
    return f"There are {listed(names)}."


def model_suggestion(given: str) -> str:
    """Return a sentence about a name that is none of a model here, but may be one elsewhere."""
    bare = _bare(given)
    for ours, names in _ELSEWHERE.items():
        if bare in map(_bare, (ours, *MODELS[ours].values(), *names)):
            return f"Use {ours!r}, which corresponds to it."
    for ours, names in _NOT_HERE.items():
        if bare in map(_bare, names):
            return f"Hedgerow does not have it; {ours!r} comes nearest."
    return suggestion(given, MODELS)


def _bare(name: str) -> str:
    """Return a name without what libraries write differently: XGBClassifier is xgb."""
    letters = "".join(sign for sign in name.lower() if sign.isalnum())
    for end in ("classifier", "regressor", "ranker", "survival"):
        if letters != end:
            letters = letters.removesuffix(end)
    return letters
