"""scikit-learn's estimator checks over settings drawn from what each parameter is said to allow.

Parameters are drawn within a factor of two of their defaults, a few at a time, and from all names
that are allowed: settings under which an estimator should still learn. Those that `fit` refuses are
drawn again.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from typing import Any
from unittest import SkipTest

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.estimator_checks import estimator_checks_generator

import hedgerow as hr
from hedgerow._params import FLAG, MOST, NOTHING, AnyOf, Number, Options
from soak.outcome import Outcome

GOAL = "scikit-learn's estimator checks, 20 settings of each estimator: pass, or a known exception"
SETTINGS = 20
DRAWS = 200  # of one setting, until `fit` takes it

WEIGHTS = tuple(f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse"))


class OneQuery(hr.GradientBoostingRanker):
    """A ranker that takes all rows for one query, since the checks know of no queries."""

    def fit(self, X: Any, y: Any) -> Any:
        """Fit to one query."""
        return super().fit(X, y, group=[_n_rows(X)])

    def score(self, X: Any, y: Any) -> float:
        """Score one query."""
        return super().score(X, y, group=[_n_rows(X)])


def _n_rows(X: Any) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))


FEW = {"n_estimators": 5}
KINDS: tuple[tuple[type[Any], dict[str, Any]], ...] = (
    (hr.DecisionTreeClassifier, {}),
    (hr.DecisionTreeRegressor, {}),
    (hr.LinearSVC, {}),
    (hr.LinearSVR, {}),
    (hr.SVC, {}),
    (hr.NuSVC, {}),
    (hr.SVR, {}),
    (hr.NuSVR, {}),
    (hr.OneClassSVM, {}),
    (hr.KNeighborsClassifier, {}),
    (hr.KNeighborsRegressor, {}),
    (hr.NearestNeighbors, {}),
    (hr.RadiusNeighborsClassifier, {"outlier_label": "most_frequent"}),
    (hr.RadiusNeighborsRegressor, {}),
    (hr.RandomForestClassifier, {"n_estimators": 10}),
    (hr.RandomForestRegressor, {"n_estimators": 10}),
    (hr.ExtraTreesClassifier, {"n_estimators": 10}),
    (hr.ExtraTreesRegressor, {"n_estimators": 10}),
    (hr.AdaBoostClassifier, {"n_estimators": 10}),
    (hr.AdaBoostRegressor, {"n_estimators": 10}),
    (hr.BaggingClassifier, FEW),
    (hr.BaggingRegressor, FEW),
    (hr.StagewiseClassifier, {"n_estimators": 8, "learning_rate": 0.5}),
    (hr.StagewiseRegressor, {"n_estimators": 8, "learning_rate": 0.5}),
    (hr.GradientBoostingClassifier, {"n_estimators": 40}),
    (hr.GradientBoostingRegressor, {"n_estimators": 40}),
    (hr.GradientBoostingSurvival, {"n_estimators": 10}),
    (OneQuery, {**FEW, "gain": "linear"}),
)
BASES = {
    "classifier": (hr.DecisionTreeClassifier(max_depth=2), hr.LinearSVC(), hr.SVC()),
    "regressor": (hr.DecisionTreeRegressor(max_depth=2), hr.LinearSVR(), hr.SVR()),
}
# How a fit runs, what it continues, or a number of which any other is as good; and what other
# targets than the checks have are for.
FIXED = {"n_jobs", "verbose", "random_state", "warm_start", "n_estimators", "max_iter", "loss"}
FIXED |= {"cache_size", "categorical_features", "radius", "outlier_label", "metric", "kernel"}
FIXED |= {"max_samples", "max_features", "learning_rate"}
CHOICES: dict[str, tuple[Any, ...]] = {
    "kernel": ("rbf", "linear", "poly", "laplacian"),
    "metric": ("euclidean", "manhattan", "chebyshev", "gower"),
    "learning_rate": (0.3, 0.7),
    "max_samples": (0.7,),
    "max_features": (0.7, "sqrt"),
}


def expected_failures(model: Any) -> dict[str, str]:
    """Return the checks that a setting cannot pass, with the reason."""
    return {check: reason for checks, reason in _reasons(model) for check in checks}


def _reasons(model: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield checks that a setting cannot pass, with the reason."""
    yield from _reasons_of_svms(model)
    yield from _reasons_of_trees(model)
    models = [model, *filter(None, (getattr(model, "estimator", None),))]
    if any(map(_draws_rows, models)):
        yield WEIGHTS, "rows are sampled one by one: a row of weight 2 is not two rows"
    if any(isinstance(part, KERNEL_SVMS) for part in models):
        yield WEIGHTS, "gamma='scale' knows no weights, and solutions agree within tol, not 1e-7"


def _reasons_of_svms(model: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(model, LINEAR_SVMS):
        yield WEIGHTS, "solutions agree within tol, not 1e-7"
        if not model.fit_intercept:
            yield (
                ("check_class_weight_classifiers",),
                "no line through the origin has nine of ten of those rows on one side",
            )
    if isinstance(model, hr.NuSVC):
        yield INFEASIBLE, "nu=0.5 is infeasible, or leaves no margin, for the classes of these"
    if getattr(model, "probability", False):
        yield (
            ("check_classifiers_train",),
            "the most probable class is predicted, which need not be the one of the score's sign",
        )


def _reasons_of_trees(model: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    if getattr(model, "class_weight", None) == "balanced_subsample":
        yield WEIGHTS, "classes are balanced by the rows that a tree drew, whatever these weigh"
        yield MULTI_OUTPUT, "classes are balanced for one output"
    if getattr(model, "error_divisor", "weights") == "rows":
        yield (*WEIGHTS, "check_classifiers_train"), "errors are divided by the number of rows"
    limits = {name: getattr(model, name, None) for name in COUNTED}
    if any(isinstance(limits[name], int) and limits[name] != few for name, few in COUNTED.items()):
        yield WEIGHTS, "limits count rows, whatever these weigh"
    if getattr(model, "feature_combinations", None) is not None:
        yield WEIGHTS, "inputs are scaled by the spread of the rows, whatever these weigh"
    if getattr(model, "oob_score", False):
        yield ("check_fit2d_1sample",), "the message is about rows that no sample leaves out"


KERNEL_SVMS = (hr.SVC, hr.NuSVC, hr.SVR, hr.NuSVR, hr.OneClassSVM)
LINEAR_SVMS = (hr.LinearSVC, hr.LinearSVR)
FORESTS = (
    *(hr.RandomForestClassifier, hr.RandomForestRegressor, hr.ExtraTreesClassifier),
    *(hr.ExtraTreesRegressor, hr.BaggingClassifier, hr.BaggingRegressor),
)
COUNTED = {"min_samples_split": 2, "min_samples_leaf": 1}
MULTI_OUTPUT = (
    "check_classifier_multioutput",
    "check_classifiers_multilabel_representation_invariance",
    *(
        f"check_classifiers_multilabel_output_format_{method}"
        for method in ("predict", "predict_proba", "decision_function")
    ),
)
INFEASIBLE = (
    *(*WEIGHTS, "check_class_weight_classifiers", "check_estimator_sparse_tag"),
    *("check_estimator_sparse_array", "check_estimator_sparse_matrix", "check_fit_idempotent"),
    *("check_fit_check_is_fitted", "check_n_features_in"),
)


def _draws_rows(model: Any) -> bool:
    parameters = model.get_params(deep=False)
    if isinstance(model, FORESTS):
        return bool(parameters["bootstrap"]) or parameters["max_samples"] not in (None, 1.0)
    if isinstance(model, hr.AdaBoostClassifier | hr.AdaBoostRegressor):
        return bool(parameters["resample"]) and parameters["estimator"] is not None
    draws = parameters.get("subsample", 1.0) != 1.0 or parameters.get(
        "sampling", "uniform"
    ) not in (
        "uniform",
        None,
    )
    holds_out = parameters.get("early_stopping", False) or parameters.get("calibration") is not None
    return bool(draws or holds_out)


def random_setting(kind: type[Any], base: dict[str, Any], rng: random.Random) -> Any:
    """Return an estimator with some random parameters that `fit` accepts."""
    for _ in range(DRAWS):
        candidates = [p for p in kind._parameters if _choices(p)]
        parameters = rng.sample(candidates, min(rng.randint(1, 3), len(candidates)))
        values = {parameter.name: rng.choice(_choices(parameter)) for parameter in parameters}
        model = kind(**base | _with_estimator(kind, values, rng))
        if _is_accepted(model):
            return model
    raise RuntimeError(f"{kind.__name__} takes none of {DRAWS} settings")


def _with_estimator(kind: type[Any], values: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    if any(parameter.name == "estimator" for parameter in kind._parameters) and rng.random() < 0.3:
        bases = BASES["classifier" if is_classifier(kind()) else "regressor"]
        return values | {"estimator": rng.choice(bases)}
    return values


def _choices(parameter: Any) -> list[Any]:
    if parameter.name in FIXED:
        return list(CHOICES.get(parameter.name, ()))
    values = _values(parameter.allowed, parameter.default)
    return [value for value in values if _is_other(value, parameter.default)]


def _is_other(value: Any, default: Any) -> bool:
    return type(value) is not type(default) or value != default


def _values(allowed: Any, default: Any) -> list[Any]:
    if isinstance(allowed, AnyOf):
        return [value for kind in allowed.kinds for value in _values(kind, default)]
    if isinstance(allowed, Options):
        return list(allowed.names)
    if allowed is FLAG:
        return [True, False]
    if allowed is NOTHING:
        return [None]
    if isinstance(allowed, Number):
        return _numbers(allowed, default)
    return []


def _numbers(allowed: Number, default: Any) -> list[Any]:
    """Return numbers near the default, or near the lower end if that is no number."""
    is_number = isinstance(default, int | float) and not isinstance(default, bool)
    if is_number and default not in allowed:  # parts of the rows, where the default counts them
        return []
    start = default if is_number else None
    if allowed.integer:
        near = (3, 7, 20) if start is None else (start * 2, start // 2, start + 1)
    elif start is None:
        near = (0.3, 0.7) if allowed.high <= 1 else (0.5, 2.0)
    else:
        near = (start * 2.0, start / 2.0) if start else (0.01, 0.001)
    return [value for value in near if value in allowed and value < MOST]


def _is_accepted(model: Any) -> bool:
    """Tell whether `fit` allows the parameters, on a table that is easy to learn."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(40, 5)))
    y = (X[:, 0] > 0.7).astype(int) if is_classifier(model) else X[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y)
        except (hr.ParameterError, hr.DataError):
            return False
    return True


def failures_of(model: Any, every: int = 1) -> tuple[int, int, list[str]]:
    """Run every so many-th check; return how many passed, how many were excused, and failures."""
    passed = excused = 0
    failures = []
    exempt = expected_failures(model)
    checks = estimator_checks_generator(model, mark=None)
    for number, (estimator, check) in enumerate(checks):
        if number % every:
            continue
        name = check.func.__name__
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                check(estimator)
            except SkipTest:
                continue
            except Exception as error:  # noqa: BLE001  any is a failure of the check
                if name in exempt:
                    excused += 1
                else:
                    message = " ".join(str(error).split())[:200]
                    failures.append(f"{model!r}: {name}: {type(error).__name__}: {message}")
                continue
        passed += 1
    return passed, excused, failures


def run(share: float) -> Outcome:
    """Check settings of every kind; at share 0, a part of the checks of one."""
    if share == 0.0:
        kinds, n_settings, every = KINDS[:1], 1, 6
    else:
        kinds, n_settings, every = KINDS, max(1, round(SETTINGS * share)), 1
    total = np.zeros(2, int)
    failures: list[str] = []
    for kind, base in kinds:
        for number in range(n_settings):
            rng = random.Random(f"{kind.__name__} {number}")
            passed, excused, new_failures = failures_of(random_setting(kind, base, rng), every)
            total += passed, excused
            failures += new_failures
    summary = (
        f"{len(kinds) * n_settings} settings, {len(kinds)} estimators: {total[0]:,} checks passed"
    )
    summary += f", {total[1]} known exceptions" if total[1] else ""
    return Outcome(summary + (f", {len(failures)} failed" if failures else ""), tuple(failures))
