"""The losses of Python and the table of native formulas are the same."""

import importlib
import pkgutil
from types import SimpleNamespace

import numpy as np
import pytest

from hedgerow import _native
from hedgerow._boosting import losses
from hedgerow._boosting.losses.base import NativeLoss
from hedgerow._boosting.losses.classification import TWO_CLASS_LOSSES, MultinomialLogLoss
from hedgerow._boosting.losses.regression import REGRESSION_LOSSES

ESTIMATOR = SimpleNamespace(quantile=0.3, delta=1.5, tweedie_power=1.5, focal_gamma=2.0)
CHOICES = {**REGRESSION_LOSSES, **TWO_CLASS_LOSSES}


def subclasses(cls):
    for sub in cls.__subclasses__():
        yield sub
        yield from subclasses(sub)


def native_names():
    """Return the names under which the losses of Python ask for native gradients."""
    for module in pkgutil.iter_modules(losses.__path__, losses.__name__ + "."):
        importlib.import_module(module.name)
    by_class = {sub.name for sub in subclasses(NativeLoss) if "name" in vars(sub)}
    by_choice = {choice.loss.from_estimator(n, ESTIMATOR).name for n, choice in CHOICES.items()}
    return by_class | by_choice


def test_every_native_loss_has_a_formula_and_every_formula_a_loss():
    assert native_names() == set(_native.loss_names())


def test_no_name_stands_twice_in_the_table():
    assert len(_native.loss_names()) == len(set(_native.loss_names()))


def test_a_name_that_has_no_formula_is_refused():
    with pytest.raises(ValueError, match="no native loss is called unheard_of"):
        _native.loss_gradients("unheard_of", (), np.zeros((1, 2)), np.zeros((1, 2)), None, 1)


@pytest.mark.parametrize("name", CHOICES)
def test_every_choice_has_gradients(name):
    loss = CHOICES[name].loss.from_estimator(name, ESTIMATOR)
    target, scores = np.array([0.0, 1.0, 1.0]), np.array([[0.1, -0.4, 0.7]])
    gradient, hessian = loss.gradients(target, scores, None)
    assert gradient.shape == hessian.shape == (1, 3)
    assert np.isfinite(gradient).all()
    assert (hessian > 0.0).all()


def test_the_softmax_losses_agree_where_classes_are_certain():
    target, scores = np.array([0.0, 2.0]), np.array([[0.1, 0.2], [0.3, -0.1], [1.0, 0.4]])
    hard = MultinomialLogLoss(3).gradients(target, scores, None)
    soft = losses.CrossEntropy(3).gradients(np.eye(3)[target.astype(int)].T.copy(), scores, None)
    np.testing.assert_array_equal(hard, soft)
