"""The parameters of growth are the same in Python and in the kernels."""

from dataclasses import fields, replace

import numpy as np
import pytest

from hedgerow import _native
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.trainer import BY_GRADIENT


def test_kernels_have_the_fields_of_the_dataclass():
    native = [*_native.growth_param_names(), *_native.constraint_names()]
    assert sorted(native) == sorted(field.name for field in fields(GrowthParams))


def test_a_policy_is_known_by_its_name():
    with pytest.raises(ValueError, match="no grow_policy is called sideways"):
        _native.GrowthParams(replace(GrowthParams(), grow_policy="sideways"))


def test_a_sampling_method_is_known_by_its_name():
    for name in BY_GRADIENT:
        _native.Draw(name, 0.5, 1.0, 0, 0)
    with pytest.raises(ValueError, match="no sampling by gradients is called uniform"):
        _native.Draw("uniform", 0.5, 1.0, 0, 0)


def test_leaves_have_the_weight_that_the_parameters_describe():
    params = GrowthParams(reg_lambda=3.0, reg_alpha=0.5, max_delta_step=0.4)
    G, H = np.array([-4.0, 0.3, 2.0]), np.array([10.0, 1.0, 0.5])
    expected = np.clip([3.5 / 13.0, 0.0, -1.5 / 3.5], -0.4, 0.4)
    weights = _native.leaf_weights(_native.GrowthParams(params), G, H)
    np.testing.assert_allclose(weights, expected, rtol=1e-15)
