"""The parameters of ensembles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hedgerow._params import (
    CATEGORICAL_FEATURES,
    COUNT,
    FLAG,
    MOST,
    N_JOBS,
    NOTHING,
    RANDOM_STATE,
    VERBOSE,
    Number,
    Options,
    Parameter,
    ParameterKind,
    Peers,
    any_of,
    is_estimator,
)


def _are_named_estimators(value: Any) -> bool:
    if not isinstance(value, list | tuple) or not value:
        return False
    pairs = all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in value)
    if not pairs or not all(type(name) is str and is_estimator(each) for name, each in value):
        return False
    names = {name for name, _ in value}
    # As parameters they are candidate and candidate__parameter, beside the ensemble's own.
    is_taken = any(parameter.name in names for parameter in ENSEMBLE_PARAMETERS)
    return len(names) == len(value) and not is_taken and not any("__" in name for name in names)


NAMED_ESTIMATORS = ParameterKind(
    "a list of (name, estimator) pairs with unique names, which do not contain '__' and are not "
    "names of the ensemble's parameters",
    _are_named_estimators,
    "Sequence[tuple[str, SklearnEstimator]]",
)
_SPLITTER = ParameterKind(
    "a splitter with a split method",
    lambda value: (
        not isinstance(value, type) and hasattr(value, "split") and type(value) is not str
    ),
    "Any",
)

ENSEMBLE_PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "estimators",
        None,
        any_of(NOTHING, NAMED_ESTIMATORS),
        "The candidates, as a list of names and estimators. None is a list of Hedgerow's own: "
        "boosted trees, random forest, extra trees, linear and kernel SVMs and nearest neighbours, "
        "without those that would take too long for the number of rows.",
        Peers(sklearn="estimators"),
        positional=True,
    ),
    Parameter(
        "cv",
        8,
        any_of(Number(2, MOST, integer=True), _SPLITTER),
        "Folds of the cross-validation: their number, or a scikit-learn splitter that puts every "
        "row into exactly one test set.",
        Peers(sklearn="cv"),
    ),
    Parameter(
        "n_selections",
        25,
        COUNT,
        "Steps of the greedy selection. Each adds the candidate that gives the mean the "
        "smallest loss; a candidate can be added repeatedly, which increases its weight.",
    ),
    Parameter(
        "refit",
        "both",
        any_of(FLAG, Options(("both",))),
        "Whether the selected candidates are fitted again, to all rows. With True, only these "
        "models predict, which is faster and makes the file smaller; with False, the mean of the "
        "models of the folds is predicted; with 'both', the mean of these two predictions.",
    ),
    Parameter(
        "time_budget",
        None,
        any_of(NOTHING, Number(0, open_low=True)),
        "Seconds after which no further candidate is tried; the first is always fitted. Which "
        "candidates are tried then depends on the speed of the machine; None tries all of them.",
    ),
    replace(
        CATEGORICAL_FEATURES,
        description="Categorical features. 'auto' selects the columns of strings or of a "
        "categorical type; a list (names, indices, or a bool for every column) adds numeric "
        "columns to these; None selects none.",
        group="",
    ),
    replace(RANDOM_STATE, group=""),
    replace(N_JOBS, group=""),
    replace(VERBOSE, group=""),
)
