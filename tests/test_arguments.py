"""What constructors, methods and modules do not take is answered with what to write instead."""

import copy
import inspect
import pickle
import re
import sys

import pytest
from sklearn.base import clone

import hedgerow as hr
from hedgerow import ParameterError
from hedgerow import _peer_values as peer_values
from hedgerow import _peers as peers
from hedgerow._arguments import attribute_hint
from hedgerow._params import _options
from hedgerow._spelling import near


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("n_estimator", "did you mean 'n_estimators'?"),
        ("learning_rates", "did you mean 'learning_rate'?"),
        ("max_bin", "did you mean 'max_bins'?"),
        ("num_leaves", "did you mean 'max_leaves'?"),
        ("iterations", "did you mean 'n_estimators'?"),
        ("l2_regularization", "did you mean 'reg_lambda'?"),
        ("objective", "did you mean 'loss'?"),
        ("early_stopping_rounds", "set 'early_stopping' to True and 'n_iter_no_change' to"),
        ("eta", "did you mean 'learning_rate'?"),
        ("bagging_fraction", "did you mean 'subsample'?"),
        ("eval_set", "it is an argument of fit."),
        ("wings", "its parameters are loss, "),
    ],
)
def test_an_unknown_name_is_answered_with_ours(name, message):
    with pytest.raises(TypeError) as caught:
        hr.GradientBoostingClassifier(**{name: 1})
    expected = f"GradientBoostingClassifier has no parameter {name!r}; {message}"
    assert str(caught.value).startswith(expected)


def test_what_is_not_needed_is_said_to_be_so():
    with pytest.raises(TypeError, match="'missing': NaN, None and NA are missing values"):
        hr.GradientBoostingRegressor(missing=-999)
    with pytest.raises(TypeError, match="its parameters are"):
        hr.LinearSVC(missing=-999)  # where gaps are not taken
    with pytest.raises(ParameterError, match="did you mean 'average_precision'"):
        hr.GradientBoostingClassifier(eval_metric="aucpr", n_estimators=1).fit([[0], [1]], [0, 1])


def test_other_estimators_answer_too():
    with pytest.raises(TypeError, match="SVC has no parameter 'kernal'; did you mean 'kernel'"):
        hr.SVC(kernal="rbf")
    with pytest.raises(TypeError, match=r"RandomForestClassifier .* did you mean 'max_leaves'"):
        hr.RandomForestClassifier(max_leaf_nodes=3)


def test_parameters_are_given_by_name():
    with pytest.raises(TypeError, match=r"by name, as in GradientBoostingRegressor\(loss=…\)"):
        hr.GradientBoostingRegressor(100)


def test_copies_and_signatures_are_as_ever():
    model = hr.GradientBoostingRegressor(n_estimators=3)
    for copied in (clone(model), copy.copy(model), pickle.loads(pickle.dumps(model))):
        assert copied.n_estimators == 3
    signature = inspect.signature(hr.GradientBoostingRegressor)
    assert list(signature.parameters)[:2] == ["loss", "quantile"]


def test_a_class_of_the_user_s_takes_what_it_says():
    class Named(hr.GradientBoostingRegressor):
        def __init__(self, title, *, n_estimators=5):
            super().__init__(n_estimators=n_estimators)
            self.title = title

    assert Named("first").title == "first"
    with pytest.raises(TypeError, match="Named has no parameter 'titel'; did you mean 'title'"):
        Named(titel="first")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'title'"):
        Named()


PUBLIC = [getattr(hr, name) for name in hr.__all__]
ESTIMATORS = [each for each in PUBLIC if isinstance(each, type) and hasattr(each, "fit")]


def suggested(text):
    """Return the names that an answer asks whether they were meant."""
    return re.findall(r"'([^']+)'", text.partition("did you mean")[2])


def texts(table):
    return [(name, hint.text) for name in table for hint in peers.hints(table, name)]


@pytest.mark.parametrize("module", peers.MODULES)
def test_what_is_suggested_for_names_of_modules_is_there(module):
    table = peers.MODULES[module]
    for name, text in texts(table):
        assert not hasattr(sys.modules[module], name)
        for path in [*suggested(text), *re.findall(r"hedgerow\.((?:\w+\.)*\w+)\(?", text)]:
            home = hr if text.startswith("hedgerow.") or "hedgerow." in text else None
            found = home or sys.modules[module]
            for part in path.removeprefix("hedgerow.").split("."):
                found = getattr(found, part)


def test_what_is_suggested_for_arguments_is_one():
    taken = inspect.signature(hr.cross_validate).parameters
    for name, text in texts(peers.CROSS_VALIDATE):
        assert name not in taken
        assert all(each in taken for each in suggested(text))
    for theirs, ours in peers.ALIASES.items():
        known = [p.name for cls in ESTIMATORS for p in cls._parameters]
        assert all(each in known for each in ours), theirs


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_no_attribute_of_ours_is_answered_as_a_peer_s(cls):
    estimator = cls.__new__(cls)
    for name in peers.ATTRIBUTES:
        if hasattr(cls, name):
            assert attribute_hint(cls, name) is None
        else:
            assert not hasattr(estimator, name)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_every_method_answers(cls):
    tables = {"fit": peers.FIT, "predict": peers.PREDICT, "score": peers.SCORE}
    for method in tables.keys() & set(dir(cls)):
        ask = getattr(cls, method)
        for name in tables[method].keys() - inspect.signature(ask).parameters.keys():
            with pytest.raises(TypeError) as caught:
                ask(cls.__new__(cls), **{name: 1})
            answer = str(caught.value)
            assert answer.startswith(
                f"{cls.__name__}.{method} got an unexpected keyword argument {name!r}; "
            )
            assert "{" not in answer


def test_values_of_peers_lead_to_values_of_ours():
    options = {}
    for cls in ESTIMATORS:
        for parameter in cls._parameters:
            options.setdefault(parameter.name, set()).update(_options(parameter.allowed))
    options["kind"] = {"gain", "split", "cover", "shap"}
    options["link"] = {"identity", "log", "sigmoid"}
    for parameter, values in peer_values.VALUES.items():
        for value, candidates in values.items():
            for one in candidates:
                assert " " in one or one in options[parameter], (parameter, value)
    for owner, losses in peer_values.LOSSES.items():
        loss = next(p for p in getattr(hr, owner)._parameters if p.name == "loss")
        assert set(losses) <= set(_options(loss.allowed))


@pytest.mark.parametrize(
    ("word", "words", "found"),
    [
        ("n_estimator", ["n_estimators", "learning_rate"], ["n_estimators"]),
        ("learningRate", ["n_estimators", "learning_rate"], ["learning_rate"]),
        ("titel", ["title", "author"], ["title"]),
        ("forest", ["random_forest", "bagging"], ["random_forest"]),
        ("colsample", ["colsample_bytree", "colsample_bynode", "subsample"], 2),
        ("xgboost", ["adaboost", "gradient_boosting", "bagging"], []),
        ("lightgbm", ["gradient_boosting", "svm", "linear_svm"], []),
        ("x10", ["x11", "x1", "x100"], []),
        ("3", ["x0", "x3", "x13"], ["x3"]),
        ("svc", ["svr", "svm"], []),
        ("hinge", ["huber", "gini"], []),
        ("bagging", ["boosting"], []),
        (3, ["x"], []),
    ],
)
def test_only_what_is_spelt_alike_is_suggested(word, words, found):
    expected = words[:found] if isinstance(found, int) else found
    assert near(word, words) == expected


def test_a_type_error_from_within_is_passed_on():
    def broken(info):
        raise TypeError("on purpose")

    with pytest.raises(TypeError, match=r"^on purpose$"):
        hr.GradientBoostingRegressor(n_estimators=2).fit([[0], [1]], [0, 1], callbacks=[broken])


def test_a_method_of_the_user_s_is_left_alone():
    class Mine(hr.GradientBoostingRegressor):
        def fit(self, *_, **options):
            return options

    assert Mine().fit([[0]], [0], early_stopping_rounds=3) == {"early_stopping_rounds": 3}
    with pytest.raises(TypeError, match=r"Mine\.predict got an unexpected .* 'ntree_limit'"):
        Mine().predict([[0]], ntree_limit=1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: hr.GradientBoostingClassifier.fit([[1.0], [2.0]], [0, 1]),
        lambda: hr.GradientBoostingClassifier.fit(),
        lambda: hr.RandomForestClassifier.predict(data=[[1.0]]),
        lambda: hr.SVC.score([[1.0]], [0]),
    ],
)
def test_a_method_of_the_class_is_answered_with_an_instance(call):
    with pytest.raises(TypeError, match=r"called on the class.*model\.(fit|predict|score)\(X"):
        call()


def test_an_argument_given_twice_is_said_to_be():
    with pytest.raises(TypeError, match="multiple values for argument 'y'"):
        hr.GradientBoostingClassifier().fit([[1.0]], [0], y=[0])


def test_missing_arguments_are_all_named():
    with pytest.raises(TypeError, match="needs X and y; X and y are missing"):
        hr.GradientBoostingClassifier().fit()
    with pytest.raises(TypeError, match="needs X and y; y is missing"):
        hr.GradientBoostingClassifier().fit([[1.0]])


@pytest.mark.parametrize("cls", [hr.StagewiseClassifier, hr.AdaBoostClassifier])
def test_a_booster_without_evaluation_sets_is_not_said_to_have_no_rounds(cls):
    with pytest.raises(TypeError, match=r"argument 'eval_set'; use score") as caught:
        cls().fit([[1.0]], [0], eval_set=[])
    assert "no boosting rounds" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: hr.GradientBoostingClassifier(min_samples_leaf=0.01),
            ParameterError,
            "a fraction",
        ),
        (lambda: hr.GradientBoostingClassifier(device="gpu"), ParameterError, "device='cuda'"),
    ],
)
def test_what_other_libraries_take_is_answered_with_what_to_write(call, error, words):
    with pytest.raises(error, match=words):
        call().fit([[0.0], [1.0]], [0, 1])


def test_a_classifier_says_why_it_predicts_no_intervals():
    with pytest.raises(AttributeError, match=r"only regressors.*predict_proba"):
        _ = hr.GradientBoostingClassifier().predict_interval
