"""Sums and elementary functions: the same bits whatever NumPy, its processor code or BLAS do."""

import contextlib
import io
import math
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy.special import expit, log_softmax, logsumexp

from hedgerow import _arithmetic as arithmetic
from hedgerow._forest.combinations import Combinations


@pytest.mark.parametrize("n", [0, 1, 9, 1000, 33_001])
def test_sums_are_exact_and_rounded_once(n):
    rng = np.random.default_rng(n)
    numbers = rng.standard_normal(n) * 10.0 ** rng.integers(-9, 9, n)
    expected = math.fsum(numbers.tolist())
    assert arithmetic.sum_of(numbers) == expected
    strided = np.zeros((n, 2))
    strided[:, 1] = numbers
    assert arithmetic.sum_of(strided[:, 1]) == expected
    if n:
        assert arithmetic.mean_of(numbers) == expected / n


def test_sums_of_rows_and_groups_are_those_of_their_numbers():
    numbers = np.random.default_rng(0).standard_normal((3, 2000))
    assert arithmetic.sums_of_rows(numbers).tolist() == [arithmetic.sum_of(row) for row in numbers]
    group = np.arange(2000, dtype=np.uint16) % 7
    expected = [math.fsum(numbers[0, group == k]) for k in range(8)]
    np.testing.assert_allclose(arithmetic.sums_by_group(numbers[0], group, 8), expected)


def test_no_numbers_have_no_mean():
    assert math.isnan(arithmetic.mean_of([]))


def test_elementary_functions_are_those_of_the_definition():
    x = np.array([-np.inf, -800.0, -30.0, -1e-9, 0.0, 0.3, 30.0, 700.0])
    np.testing.assert_allclose(arithmetic.exp(x), np.exp(x), rtol=4e-16)
    np.testing.assert_allclose(
        arithmetic.log(x[4:]), np.log(x[4:], where=x[4:] > 0, out=np.full(4, -np.inf)), rtol=4e-16
    )
    np.testing.assert_allclose(arithmetic.sigmoid(x), expit(x), rtol=1e-15)
    np.testing.assert_allclose(arithmetic.softplus(x), np.logaddexp(0.0, x), rtol=1e-15)
    assert arithmetic.exp(1.0) == pytest.approx(math.e, rel=3e-16)
    scores = np.array([[0.0, 1.0, -2.0], [900.0, -900.0, 899.0]])
    np.testing.assert_allclose(arithmetic.log_sum_exp(scores), logsumexp(scores, axis=1))
    np.testing.assert_allclose(
        arithmetic.softmax(scores), np.exp(log_softmax(scores, axis=1)), atol=1e-300
    )


def test_combinations_are_sums_of_inputs_one_after_the_other():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 6))
    X[rng.random(X.shape) < 0.2] = np.nan
    pool = Combinations.draw(X, np.zeros(6, bool), 3, seed=1)
    found = pool.of(X)
    for i, row in enumerate(X.tolist()):
        for c in range(0, pool.n_combinations, 37):
            total, inputs = 0.0, pool.inputs[c].tolist()
            for j, coefficient in zip(inputs, pool.coefficients[c].tolist(), strict=True):
                total += (pool.centres[j] if math.isnan(row[j]) else row[j]) * coefficient
            expected = math.nan if all(math.isnan(row[j]) for j in inputs) else total
            assert found[i, c] == expected or (math.isnan(found[i, c]) and math.isnan(expected))


def test_combinations_share_out_amounts_in_their_order():
    rng = np.random.default_rng(0)
    pool = Combinations.draw(rng.standard_normal((50, 4)), np.zeros(4, bool), 3, seed=1)
    amounts = rng.random((2, pool.n_combinations))
    expected = np.zeros((2, 4))
    for place in range(3):
        own = np.zeros((2, 4))
        for c, size in enumerate(np.abs(pool.coefficients).tolist()):
            share = size[place] / ((size[0] + size[1]) + size[2])
            own[:, pool.inputs[c, place]] += share * amounts[:, c]
        expected += own
    np.testing.assert_array_equal(pool.to_inputs(amounts), expected)
    np.testing.assert_allclose(expected.sum(), amounts.sum())


HASH_MODELS = """
import hashlib, warnings
import numpy as np
import hedgerow as hr
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.standard_normal((300, 7))
y = X[:, 0] * X[:, 1] + rng.standard_normal(300)
def show(*arrays):
    print(hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest())
forest = hr.RandomForestRegressor(n_estimators=10, feature_combinations=3).fit(X, y)
show(forest.predict(X), forest.feature_importances_, forest.importances("gain"))
show(hr.AdaBoostRegressor(n_estimators=10, loss="exponential").fit(X, y).predict(X))
show(hr.AdaBoostClassifier(n_estimators=10, algorithm="real").fit(X, y > 0).decision_function(X))
for loss in ("log_loss", "exponential"):
    staged = hr.StagewiseClassifier(loss=loss, n_estimators=5).fit(X, y > 0)
    show(staged.decision_function(X), staged.predict_proba(X))
show(hr.StagewiseRegressor(loss="poisson", n_estimators=5).fit(X, y * y).predict(X))
show(hr.SVC(probability=True).fit(X, y > 0).predict_proba(X))
"""
# What can be taken from NumPy and OpenBLAS without building others. Names that a version of NumPy
# does not know are passed over.
LESS = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR AVX2 FMA3 AVX512_SKX",
    "OPENBLAS_CORETYPE": "Prescott",
}


def test_models_do_not_depend_on_the_code_that_numpy_and_blas_choose_for_a_processor():
    with contextlib.redirect_stdout(io.StringIO()) as here, warnings.catch_warnings():
        exec(HASH_MODELS, {})
    elsewhere = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", HASH_MODELS],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | LESS,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert len(set(elsewhere)) == 7
    assert elsewhere == here.getvalue().split()


def test_hypot_is_within_two_units_of_the_last_place_and_does_not_overflow():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 1000)) * 10.0 ** rng.integers(-150, 300, (2, 1000))
    expected = np.array([math.hypot(*pair) for pair in zip(a, b, strict=True)])
    np.testing.assert_array_max_ulp(arithmetic.hypot(a, b), expected, maxulp=2)
    assert arithmetic.hypot(np.zeros(1), np.zeros(1)) == 0.0
