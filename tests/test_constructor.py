"""Constructors derived from declarations: what scikit-learn, users and tools make of them."""

import copy
import inspect
import pickle
from typing import get_type_hints

import pytest
from sklearn.base import clone

import hedgerow as hr

PUBLIC = [getattr(hr, name) for name in hr.__all__]
ESTIMATORS = [each for each in PUBLIC if isinstance(each, type) and hasattr(each, "fit")]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda cls: cls.__name__)

BY_POSITION = {
    "AdaBoostClassifier": ["estimator"],
    "AdaBoostRegressor": ["estimator"],
    "BaggingClassifier": ["estimator", "n_estimators"],
    "BaggingRegressor": ["estimator", "n_estimators"],
    "DecisionClassifier": ["estimator"],
    "EnsembleClassifier": ["estimators"],
    "EnsembleRegressor": ["estimators"],
    "KNeighborsClassifier": ["n_neighbors"],
    "KNeighborsRegressor": ["n_neighbors"],
    "LinearSVC": ["penalty", "loss"],
    "OutputCodeClassifier": ["estimator"],
    "RadiusNeighborsClassifier": ["radius"],
    "RadiusNeighborsRegressor": ["radius"],
    "StagewiseClassifier": ["estimator"],
    "StagewiseRegressor": ["estimator"],
}


def other_values(estimator):
    """Return a value for each parameter that is not its default; constructors do not check."""
    return {parameter.name: object() for parameter in estimator._parameters}


@every_estimator
def test_the_signature_is_that_of_the_declarations(estimator):
    arguments = inspect.signature(estimator).parameters
    assert list(arguments) == [parameter.name for parameter in estimator._parameters]
    for parameter in estimator._parameters:
        assert arguments[parameter.name].default == parameter.default
        parameter.check(parameter.default)
    by_position = [
        name for name, a in arguments.items() if a.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    assert by_position == BY_POSITION.get(estimator.__name__, [])
    assert inspect.signature(estimator.__init__).parameters.keys() - arguments.keys() == {"self"}


@every_estimator
def test_every_value_becomes_an_attribute(estimator):
    values = other_values(estimator)
    assert vars(estimator(**values)) == values
    assert list(vars(estimator())) == list(values)
    assert estimator(**values).get_params(deep=False) == values
    assert vars(estimator().set_params(**values)) == values


@every_estimator
def test_type_hints_can_be_resolved(estimator):
    hints = get_type_hints(estimator.__init__)
    assert list(hints) == [*(parameter.name for parameter in estimator._parameters), "return"]


@every_estimator
def test_the_docstring_explains_every_parameter(estimator):
    for parameter in estimator._parameters:
        assert f"\n{parameter.name} : {parameter.allowed}, default=" in estimator.__doc__
    assert "{parameters}" not in estimator.__doc__


@every_estimator
def test_the_constructor_belongs_to_its_class(estimator):
    constructor = estimator.__init__
    assert constructor.__qualname__ == f"{estimator.__name__}.__init__"
    assert constructor.__module__ == estimator.__module__


@pytest.mark.parametrize("copied", [clone, copy.copy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_have_the_same_parameters(copied):
    model = hr.RandomForestRegressor(n_estimators=3, max_features="log2")
    assert copied(model).get_params() == model.get_params()


def test_values_by_position():
    assert hr.KNeighborsClassifier(3, p=1).n_neighbors == 3
    assert vars(hr.LinearSVC("l1", "hinge", C=2.0)) == vars(
        hr.LinearSVC(penalty="l1", loss="hinge", C=2.0)
    )
    with pytest.raises(TypeError, match=r"takes its parameters by name, as in LinearSVC\(penalty="):
        hr.LinearSVC("l1", "hinge", False)
    with pytest.raises(TypeError, match="takes its parameters by name"):
        hr.KNeighborsClassifier(3, n_neighbors=4)


def test_a_subclass_without_a_constructor():
    class Mine(hr.GradientBoostingRegressor):
        """Has the parameters of its base."""

    assert (
        Mine(n_estimators=3).get_params()
        == hr.GradientBoostingRegressor(n_estimators=3).get_params()
    )
    with pytest.raises(TypeError, match="Mine has no parameter 'n_estimator'; did you mean"):
        Mine(n_estimator=3)


class Shallow(hr.GradientBoostingRegressor):
    """Has fewer parameters than its base."""

    def __init__(self, *, max_depth=2, n_estimators=5, min_samples_leaf=1):
        super().__init__(
            max_depth=max_depth, n_estimators=n_estimators, min_samples_leaf=min_samples_leaf
        )


def test_a_subclass_with_its_own_constructor():
    model = Shallow(max_depth=1).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0])
    assert sorted(model.get_params()) == ["max_depth", "min_samples_leaf", "n_estimators"]
    assert clone(model).max_depth == pickle.loads(pickle.dumps(model)).max_depth == 1
    with pytest.raises(TypeError, match="Shallow has no parameter 'depth'; did you mean 'max_"):
        Shallow(depth=1)


def test_a_subclass_that_passes_an_unknown_name_on():
    class Wrong(hr.GradientBoostingRegressor):
        def __init__(self):
            super().__init__(n_estimator=3)

    with pytest.raises(TypeError, match="Wrong has no parameter 'n_estimator'; did you mean"):
        Wrong()


def test_a_subclass_may_have_a_property_in_place_of_an_attribute():
    class Doubled(hr.KNeighborsRegressor):
        @property
        def n_neighbors(self):
            return 2 * self._half

        @n_neighbors.setter
        def n_neighbors(self, value):
            self._half = value

    assert Doubled(3).n_neighbors == 6
