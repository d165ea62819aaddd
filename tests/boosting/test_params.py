"""Parameters: one declaration each, checked before any work."""

import inspect
from pathlib import Path

import numpy as np
import pytest

from hedgerow import (
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    GradientBoostingSurvival,
    ParameterError,
)
from hedgerow._arguments import grouped, grouped_tables
from hedgerow._boosting.estimators.parameters import PARAMETER_GROUPS, PARAMETERS
from hedgerow._boosting.fit.fit_data import AUTO_DEFAULTS
from hedgerow._boosting.fit.kinds import KINDS, SMALL_KINDS
from hedgerow._params import Number
from hedgerow._tree.engine import MOST_LEAVES
from tools.parameter_tables import with_tables

BOTH = pytest.mark.parametrize(
    ("estimator", "task"),
    [(GradientBoostingClassifier, "classifier"), (GradientBoostingRegressor, "regressor")],
)

NOT_ALLOWED = [
    ("loss", "hinges"),
    ("learning_rate", 0.0),
    ("learning_rate", np.nan),
    ("learning_rate", np.inf),
    ("learning_rate", "0.1"),
    ("learning_rate", True),
    ("n_estimators", 0),
    ("n_estimators", 10.0),
    ("n_estimators", 10**400),
    ("max_leaves", 1),
    ("max_depth", 0),
    ("min_samples_leaf", 0),
    ("min_child_weight", -1e-9),
    ("reg_lambda", -1),
    ("reg_alpha", -1),
    ("min_split_gain", -1),
    ("max_delta_step", -1),
    ("max_bins", 256),
    ("max_bins", 1),
    ("subsample", 0.0),
    ("subsample", 1.01),
    ("colsample_bytree", 0.0),
    ("colsample_bylevel", 2),
    ("colsample_bynode", -0.5),
    ("grow_policy", "depthwise"),
    ("splitter", "best"),
    ("monotonic_constraints", "increasing"),
    ("monotonic_constraints", 1),
    ("interaction_constraints", "triples"),
    ("interaction_constraints", 2),
    ("interaction_constraints", {"a": "b"}),
    ("feature_weights", 0.5),
    ("feature_weights", "all"),
    ("categorical_features", "all"),
    ("categorical_features", 3),
    ("unknown_category", None),
    ("early_stopping", "auto"),
    ("validation_fraction", 1.0),
    ("n_iter_no_change", 0),
    ("tol", -1.0),
    ("eval_metric", []),
    ("eval_metric", 7),
    ("subsample_for_bin", 0),
    ("warm_start", 1),
    ("random_state", -1),
    ("random_state", "seed"),
    ("n_jobs", 0),
    ("n_jobs", 1.5),
    ("verbose", -1),
]


class Untouchable:
    """A table that fails when it is looked at."""

    def __getattribute__(self, name):
        raise AssertionError("the table was touched")


@BOTH
@pytest.mark.parametrize(("name", "value"), NOT_ALLOWED)
def test_what_is_not_allowed_is_named_before_any_work(estimator, task, name, value):
    with pytest.raises(ParameterError, match=rf"^{name}=.* must be "):
        estimator(**{name: value}).fit(Untouchable(), Untouchable())


def test_a_class_weight_must_be_a_dict_or_balanced():
    with pytest.raises(ParameterError, match=r"class_weight='even' .* 'balanced', or a dict"):
        GradientBoostingClassifier(class_weight="even").fit(Untouchable(), Untouchable())


@BOTH
def test_every_default_is_allowed_and_is_the_signature_s(estimator, task):
    signature = inspect.signature(estimator).parameters
    declared = estimator._parameters
    assert [p.name for p in declared] == list(signature)
    for parameter in declared:
        parameter.check(parameter.default)
        assert signature[parameter.name].default == parameter.default


@BOTH
def test_the_docstring_explains_every_parameter(estimator, task):
    lines = [line.strip() for line in estimator.__doc__.splitlines()]
    for parameter in estimator._parameters:
        heading = next(i for i, line in enumerate(lines) if line.startswith(f"{parameter.name} : "))
        assert parameter.description.startswith(lines[heading + 1])
    assert "{parameters}" not in estimator.__doc__


@BOTH
def test_numpy_numbers_are_numbers(estimator, task):
    X, y = np.arange(50.0)[:, None], np.arange(50) % 2
    model = estimator(
        n_estimators=np.int64(3), learning_rate=np.float32(0.5), max_leaves=np.int8(3)
    )
    assert model.fit(X, y).n_iter_ == 3


def test_max_leaves_is_what_the_engine_can_number():
    (declared,) = [p for p in PARAMETERS if p.name == "max_leaves"]
    assert MOST_LEAVES in declared.allowed
    assert MOST_LEAVES + 1 not in declared.allowed


PAGE = Path(__file__).parents[2] / "docs" / "parameters.md"


def test_the_tables_in_the_documentation_are_the_declarations():
    page = PAGE.read_text(encoding="utf-8")
    assert page.endswith(grouped_tables(PARAMETERS, PARAMETER_GROUPS))
    assert with_tables(page) == page  # as `make format` writes it


def test_the_documentation_has_the_numbers_behind_auto():
    text = PAGE.read_text(encoding="utf-8")
    for name, plain in AUTO_DEFAULTS.items():
        kinds = (*SMALL_KINDS, *KINDS)
        values = " | ".join(_shown(kind[name]) if name in kind else "" for kind in kinds)
        assert f"| `{name}` | {_shown(plain)} | {values} |".replace("  |", " |") in text


def _shown(value):
    return value if isinstance(value, str) else f"{value:g}"


def test_every_parameter_has_a_group_and_a_place_in_its_docstring():
    assert {parameter.group for parameter in PARAMETERS} == set(PARAMETER_GROUPS)
    groups = grouped(GradientBoostingRanker._parameters, PARAMETER_GROUPS)
    assert "truncation" in [parameter.name for parameter in groups["Loss"]]
    doc = GradientBoostingRanker.__doc__
    assert "- Class weights" not in doc
    assert doc.index("\nn_estimators : ") < doc.index("\nmax_leaves : ")


def test_every_description_is_a_sentence():
    for parameter in PARAMETERS:
        assert parameter.description.endswith("."), parameter.name


def test_an_interval_is_written_as_in_mathematics():
    assert str(Number(0, 1, open_low=True)) == "a number in (0, 1]"
    assert str(Number(1, integer=True)) == "an int >= 1"


TABLE = np.arange(80.0)[:, None]
ODD = np.arange(80) % 2


@pytest.mark.parametrize(
    ("estimator", "parameters", "needs"),
    [
        (GradientBoostingRegressor, {"quantile": 0.9}, "loss='quantile' or 'expectile'"),
        (GradientBoostingRegressor, {"delta": 1.0}, "loss='huber', 'pseudo_huber' or 'log_cosh'"),
        (GradientBoostingRegressor, {"tweedie_power": 1.2}, "loss='tweedie'"),
        (GradientBoostingRegressor, {"calibration_fraction": 0.3}, "calibration=…"),
        (GradientBoostingClassifier, {"focal_gamma": 1.0}, "loss='focal'"),
        (GradientBoostingClassifier, {"drop_rate": 0.2}, "boosting='dart'"),
        (GradientBoostingClassifier, {"skip_drop": 0.2}, "boosting='dart'"),
        (GradientBoostingClassifier, {"max_drop": 3}, "boosting='dart'"),
        (GradientBoostingClassifier, {"linear_lambda": 3}, "linear_leaves=True"),
        (GradientBoostingClassifier, {"n_iter_no_change": 3}, "early_stopping=True"),
        (GradientBoostingClassifier, {"validation_fraction": 0.5}, "early_stopping=True"),
        (GradientBoostingClassifier, {"budget": "quick"}, "n_estimators='auto'"),
        (GradientBoostingSurvival, {"aft_scale": 1.0}, "loss='aft'"),
        (GradientBoostingSurvival, {"aft_distribution": "logistic"}, "loss='aft'"),
        (GradientBoostingSurvival, {"loss": "aft", "ties": "breslow"}, "loss='cox'"),
        (GradientBoostingRanker, {"loss": "pairwise", "truncation": 5}, "loss='ndcg' or 'map'"),
        (GradientBoostingRanker, {"loss": "listwise", "sigma": 2.0}, "loss='ndcg', .*'pairwise'"),
    ],
)
def test_a_parameter_that_has_no_effect_is_warned_of_once(estimator, parameters, needs):
    options = {"n_estimators": 2, "min_samples_leaf": 2} | parameters
    queries = {"qid": np.arange(80) // 8} if estimator is GradientBoostingRanker else {}
    y = ODD + 1 if estimator is GradientBoostingSurvival else ODD
    *_, (name, _) = parameters.items()
    message = f"{estimator.__name__}: {name}=.* has no effect without {needs}"
    with pytest.warns(UserWarning, match=message) as caught:
        estimator(**options).fit(TABLE, y, **queries)
    assert [(one.category, one.filename) for one in caught] == [(UserWarning, __file__)]


def test_all_that_have_no_effect_share_a_warning():
    model = GradientBoostingRegressor(n_estimators=2, quantile=0.9, max_drop=3)
    with pytest.warns(UserWarning, match="quantile=0.9 .*; max_drop=3 ") as caught:
        model.fit(TABLE, ODD)
    assert len(caught) == 1


def test_what_is_used_or_at_its_default_is_not_warned_of():
    """Warnings are errors here."""
    options = {"n_estimators": 2, "min_samples_leaf": 2}
    GradientBoostingRegressor(**options, quantile=0.5, drop_rate=np.float64(0.1)).fit(TABLE, ODD)
    GradientBoostingRegressor(**options, loss="expectile", quantile=0.9).fit(TABLE, ODD)
    GradientBoostingRegressor(**options, boosting="dart", drop_rate=0.9).fit(TABLE, ODD)


@pytest.mark.parametrize("loss", ["squared_error", "expectile", "poisson"])
def test_several_quantiles_are_of_their_loss_alone(loss):
    with pytest.raises(ParameterError, match=r"quantile=\[0.1, 0.9\] .* loss='quantile' supports"):
        GradientBoostingRegressor(loss=loss, quantile=[0.1, 0.9]).fit(TABLE, ODD)


def test_a_misspelt_option_is_answered_with_the_nearest():
    with pytest.raises(ParameterError, match=r"not allowed; did you mean 'log_loss'\? It must be"):
        GradientBoostingClassifier(loss="LogLoss").fit(TABLE, ODD)
    with pytest.raises(ParameterError, match=r"not allowed; did you mean 'accuracy'\? It must be"):
        GradientBoostingClassifier(eval_metric="acuracy").fit(TABLE, ODD)


def test_the_number_of_rounds_to_wait_has_a_parameter_of_its_own():
    with pytest.raises(ParameterError, match=r"True or False\. .* is n_iter_no_change\.$"):
        GradientBoostingClassifier(early_stopping=50).fit(TABLE, ODD)
