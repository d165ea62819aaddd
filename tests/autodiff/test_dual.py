"""Arrays that carry derivatives: shapes, indices, sums, choices, and what is refused."""

# ruff: noqa: ARG005

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from hedgerow import ParameterError
from hedgerow._autodiff import NotDifferentiableError, derivatives, dual

N, K = 7, 3
RNG = np.random.RandomState(0)
SCORES = RNG.normal(size=(N, K))
CLASSES = RNG.randint(K, size=N)
ROWS = np.arange(N)
Y = RNG.normal(size=N)
MATRIX = RNG.normal(size=(K, 2))


def differences(function, scores):
    """Differentiate by differences of the fourth order in long double."""
    scores = scores.astype(np.longdouble)
    step = np.longdouble(1e-3)
    first, second = [], []
    for k in range(scores.shape[1]):
        moved = []
        for by in (-2, -1, 0, 1, 2):
            there = scores.copy()
            there[:, k] += by * step
            moved.append(function(there))
        a, b, c, d, e = moved
        first.append((a - 8 * b + 8 * d - e) / (12 * step))
        second.append((-a + 16 * b - 30 * c + 16 * d - e) / (12 * step**2))
    return np.array(first, float), np.array(second, float)


def gaussian(f):
    mean, log_scale = f.T[:2]
    return 0.5 * ((Y - mean) * np.exp(-log_scale)) ** 2 + log_scale + f[:, 2] ** 2


def softmax(f):
    e = np.exp(f - f.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


EXPRESSIONS = {
    "a column": lambda f: np.sin(f[:, 1]),
    "the last column": lambda f: f[..., -1] ** 2,
    "two columns": lambda f: f[:, 0] * np.exp(f[:, 2]),
    "columns by transposing": gaussian,
    "a column of each row": lambda f: f[ROWS, CLASSES] ** 3,
    "take_along_axis": lambda f: np.take_along_axis(f, CLASSES[:, None], axis=1)[:, 0] ** 2,
    "take": lambda f: np.take(f, [2, 0], axis=1).prod(axis=1),
    "slices": lambda f: ((f[:, 1:] - f[:, :-1]) ** 2).sum(axis=1),
    "a list of columns": lambda f: (f[:, [0, 2]] * f[:, [1, 1]]).sum(axis=1),
    "a sum": lambda f: np.exp(f).sum(axis=1),
    "a sum of a quotient": lambda f: (f**2 / (1 + np.exp(f).sum(axis=1, keepdims=True))).sum(1),
    "a sum of products with new axes": lambda f: (f[:, :, None] * f[:, None, :]).sum(axis=(1, 2)),
    "a mean": lambda f: np.log1p(np.mean(f**2, axis=1)),
    "np.sum": lambda f: np.sqrt(np.sum(f * f, axis=-1)),
    "add.reduce": lambda f: np.add.reduce(f**3, axis=1),
    "a product": lambda f: f.prod(axis=1),
    "prod, keeping axes": lambda f: np.prod(f, axis=1, keepdims=True)[:, 0] ** 2,
    "multiply.reduce": lambda f: np.multiply.reduce(f, axis=1),
    "logaddexp.reduce": lambda f: np.logaddexp.reduce(f, axis=1) - f[ROWS, CLASSES],
    "log of a sum": lambda f: np.log(np.exp(f).sum(axis=1)),
    "softmax": lambda f: (MATRIX[:, 0] * softmax(f)).sum(axis=1),
    "log softmax": lambda f: -np.log(softmax(f))[ROWS, CLASSES],
    "the largest": lambda f: f.max(axis=1) ** 2,
    "np.max": lambda f: np.exp(np.max(f, axis=1)),
    "maximum.reduce": lambda f: np.maximum.reduce(f, axis=1) ** 3,
    "the smallest": lambda f: np.min(f, 1) * f[:, 0],
    "the smallest, keeping axes": lambda f: f.min(axis=1, keepdims=True)[:, 0] ** 2,
    "amax and amin": lambda f: np.amax(f, axis=1) ** 2 * np.amin(f, axis=1),
    "sorted": lambda f: np.sort(f, axis=1)[:, 1] ** 2,
    "cumsum": lambda f: (np.cumsum(f, axis=1) ** 2).sum(axis=1),
    "cumsum of a gap": lambda f: np.cumsum(np.exp(f[:, [0, 0]]), axis=1)[:, 1],
    "diff": lambda f: (np.diff(np.exp(f), axis=1) ** 2).sum(axis=1),
    "norm": lambda f: np.linalg.norm(f - Y[:, None], axis=1),
    "matmul": lambda f: ((f @ MATRIX) ** 2).sum(axis=1),
    "matmul with a vector": lambda f: np.exp(f @ MATRIX[:, 0]),
    "stack": lambda f: (np.stack([f[:, 0], f[:, 2] ** 2, Y], axis=1) ** 2).sum(axis=1),
    "column_stack": lambda f: np.column_stack([f[:, 1], f]).prod(axis=1),
    "stack of mixtures": lambda f: np.stack([f[:, 0] * f[:, 1], f[:, 2]]).prod(axis=0),
    "concatenate": lambda f: (np.concatenate([f, 2 * f**2], axis=1) ** 2).sum(axis=1),
    "where": lambda f: np.where(f[:, 0] > 0.0, f[:, 1] ** 2, np.exp(f[:, 2])),
    "where with numbers": lambda f: np.where(f > 0.0, f**2, 0.0).sum(axis=1),
    "where with numbers first": lambda f: np.where(f.sum(axis=1) > 0.0, 1.0, f.prod(axis=1)),
    "where of more axes": lambda f: np.where(f > 0.0, f.sum(axis=1)[:, None], Y[:, None]).sum(1),
    "select": lambda f: np.select([f[:, 0] > 1, f[:, 1] > 0], [f[:, 2] ** 2, f[:, 0]], f[:, 1]),
    "clip": lambda f: (np.clip(f, -0.5, 0.7) * f).sum(axis=1),
    "clip from below": lambda f: f.clip(0.1).prod(axis=1),
    "maximum": lambda f: np.maximum(f[:, 0], f[:, 1]) ** 2,
    "fmin": lambda f: np.fmin(f, 0.2).sum(axis=1) ** 2,
    "reshape": lambda f: (f.reshape(N, K, 1) ** 2).squeeze(2).sum(axis=1),
    "moveaxis": lambda f: np.moveaxis(f, 1, 0)[0] ** 2,
    "roll": lambda f: (f * np.roll(f, 1, axis=1)).sum(axis=1),
    "repeat": lambda f: np.repeat(f, 2, axis=1).prod(axis=1),
    "expand_dims": lambda f: np.expand_dims(f[:, 0], 1)[:, 0] ** 2,
    "broadcast_to": lambda f: np.broadcast_to(f[:, :1], (N, K)).prod(axis=1),
    "constant power": lambda f: 2.0 ** f[:, 0] + f[:, 1] ** 2,
    "a power": lambda f: np.exp(f[:, 0]) ** f[:, 1],
    "arithmetic": lambda f: (1.0 - f[:, 0]) / (2.0 + f[:, 1] ** 2) - (-f[:, 2]) * +f[:, 0],
    "sign and steps": lambda f: f[:, 0] * np.sign(f[:, 1]) + np.floor(f[:, 2]) * f[:, 2],
    "a row's rank": lambda f: f[ROWS, np.argmax(f, axis=1)] ** 2,
    "numbers without scores": lambda f: f[:, 0] * np.zeros_like(f)[:, 0] + np.ones_like(f)[:, 1],
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_derivatives_equal_differences(name):
    function = EXPRESSIONS[name]
    actual = derivatives(function, SCORES)
    first, second = differences(function, SCORES)
    np.testing.assert_allclose(actual.value, function(SCORES), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(actual.first, first, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(actual.second, second, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_passes_over_some_of_the_scores_give_the_same_bits(name, monkeypatch):
    at_once = derivatives(EXPRESSIONS[name], SCORES)
    monkeypatch.setattr(dual.Directions, "require_room_for", _refuse_more_than_one)
    one_by_one = derivatives(EXPRESSIONS[name], SCORES)
    np.testing.assert_array_equal(one_by_one.first, at_once.first)
    np.testing.assert_array_equal(one_by_one.second, at_once.second)


def _refuse_more_than_one(directions, n_numbers):
    if len(directions.outputs) > 1:
        raise dual.TooWideError


def test_wide_derivatives_are_taken_in_passes(monkeypatch):
    monkeypatch.setattr(dual, "WIDEST", 2**12)
    calls = []

    def loss(f):
        calls.append(len(f))
        return softmax(f)[:, 0]

    n_rows, n_scores = 20, 60
    scores = np.random.RandomState(1).normal(size=(n_rows, n_scores))
    actual = derivatives(loss, scores)
    assert len(calls) > 2
    p = softmax(scores)
    expected = p[:, 0] * ((np.arange(n_scores) == 0)[:, None] - p.T)
    np.testing.assert_allclose(actual.first, expected, atol=1e-15)


def test_a_loss_of_sums_needs_one_pass_for_many_scores(monkeypatch):
    monkeypatch.setattr(dual, "WIDEST", 2**12)
    calls = []

    def loss(f):
        calls.append(len(f))
        return np.logaddexp.reduce(f, axis=1) - f[np.arange(len(f)), 0]

    derivatives(loss, np.zeros((2000, 100)))
    assert len(calls) == 1


@settings(max_examples=20)
@given(st.integers(0, 2**31))
def test_choices_at_a_tie_have_the_mean_of_both_sides(seed):
    x = np.random.RandomState(seed).normal(size=4)
    actual = derivatives(lambda f: np.maximum(0.3 * (x - f), -0.7 * (x - f)), x)
    np.testing.assert_allclose(actual.first[0], 0.5 * (-0.3 + 0.7))
    np.testing.assert_array_equal(derivatives(lambda f: np.abs(x - f), x).first, 0.0)


def test_the_side_that_is_not_chosen_may_have_no_derivative():
    f = np.array([-1.0, 0.0, 4.0])
    actual = derivatives(lambda f: np.where(f > 0.0, np.sqrt(f), 0.0), f)
    cut = derivatives(lambda f: np.maximum(np.log(f), -3.0), f)
    np.testing.assert_array_equal(actual.first[0], [0.0, 0.0, 0.25])
    np.testing.assert_array_equal(cut.first[0, 1:], [0.0, 0.25])


def test_what_is_not_a_number_stays_so():
    actual = derivatives(lambda f: np.maximum(f, 0.0), np.array([np.nan, 1.0]))
    np.testing.assert_array_equal(actual.value, [np.nan, 1.0])


def test_comparisons_are_plain():
    def loss(f):
        assert (f > 0).dtype == bool
        assert isinstance(np.isnan(f), np.ndarray)
        assert np.any(f == f)
        return f

    derivatives(loss, Y)


def test_an_array_knows_its_shape():
    def loss(f):
        assert (f.shape, f.ndim, f.size, len(f), f.dtype) == ((N, K), 2, N * K, N, float)
        assert (np.shape(f), np.ndim(f), np.size(f)) == ((N, K), 2, N * K)
        assert repr(f) == "<scores with derivatives, shape (7, 3)>"
        return f.copy().astype(float)[:, 0]

    derivatives(loss, SCORES)


def test_numbers_that_do_not_depend_on_scores_have_derivatives_of_zero():
    actual = derivatives(lambda f: Y, SCORES)
    assert actual.first.shape == (K, N)
    assert not actual.first.any()


REFUSED = {
    "np.asarray": lambda f: np.asarray(f),
    "np.asarray, or a function that calls it": lambda f: special.logsumexp(f),
    "np.interp": lambda f: np.interp(f, [0, 1], [0, 1]),
    "np.median": lambda f: np.median(f),
    "jv": lambda f: special.jv(1.0, f),
    "modf": lambda f: np.modf(f),
    "np.sum with these arguments": lambda f: np.sum(f, where=f > 0),
    "exp with where=": lambda f: np.exp(f, where=f.value > 0),
    "add.accumulate": lambda f: np.add.accumulate(f),
    "subtract.reduce": lambda f: np.subtract.reduce(f),
    "float\\(\\)": lambda f: math.exp(f),
    "int\\(\\)": lambda f: int(f),
    "'if', 'and', 'or'": lambda f: f or 0,
    "a\\[...\\] = b": lambda f: f.__setitem__(0, 1.0),
    "out=": lambda f: np.exp(f, out=np.empty(N)),
    "astype": lambda f: f.astype(int),
    "@": lambda f: f @ f,
    "np.linalg.norm with ord=1": lambda f: np.linalg.norm(f, 1, axis=0),
    "np.clip with these arguments": lambda f: np.clip(f, 0, 1, out=None),
    "in an argument other than the first": lambda f: np.take_along_axis(Y, f, axis=0),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_loses_derivatives_is_refused(message):
    with pytest.raises(NotDifferentiableError, match=f"^loss: .*{message}"):
        derivatives(REFUSED[message], Y)


def in_place(f):
    f += 1.0
    return f


def into_the_target(f):
    residual = Y.copy()
    residual -= f
    return residual


@pytest.mark.parametrize("function", [in_place, into_the_target])
def test_operators_in_place_are_refused(function):
    with pytest.raises(NotDifferentiableError, match=r"in place.*a = a \+ b"):
        derivatives(function, Y)


def test_a_refusal_is_a_type_error_and_a_parameter_error_and_says_what_there_is():
    with pytest.raises(TypeError, match=r"logaddexp.*where") as caught:
        derivatives(lambda f: np.median(f), Y)
    assert isinstance(caught.value, ParameterError)
