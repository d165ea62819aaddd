"""What constructors do not take is refused in words that lead on."""

import copy
import inspect
import pickle

import pytest
from sklearn.base import clone

import hedgerow as hr
from hedgerow import ParameterError


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("n_estimator", "did you mean 'n_estimators'?"),
        ("learning_rates", "did you mean 'learning_rate'?"),
        ("max_bin", "did you mean 'max_bins'?"),
        ("num_leaves", "did you mean 'max_leaves'?"),
        ("iterations", "did you mean 'n_estimators'?"),
        ("l2_regularization", "did you mean 'reg_lambda'?"),
        ("objective", "did you mean 'loss'?"),
        ("early_stopping_rounds", "did you mean 'early_stopping' or 'n_iter_no_change'?"),
        ("eta", "did you mean 'learning_rate'?"),
        ("bagging_fraction", "did you mean 'subsample'?"),
        ("eval_set", "it is an argument of fit."),
        ("wings", "its parameters are loss, "),
    ],
)
def test_an_unknown_name_is_answered_with_ours(given, message):
    with pytest.raises(TypeError) as caught:
        hr.GradientBoostingClassifier(**{given: 1})
    expected = f"GradientBoostingClassifier has no parameter {given!r}; {message}"
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
