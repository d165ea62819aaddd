"""Greedy selection against code that follows its definition word for word."""

import itertools

import numpy as np
import pytest

from hedgerow._ensemble.selection import log_loss, select, squared_error


def naive_selection(evidence, loss, n_steps):
    """Try every candidate in every step; return the shortest list with the smallest loss."""
    chosen, best = [], (np.inf, [])
    for _ in range(n_steps):
        losses = [
            loss(np.mean([evidence[j] for j in [*chosen, i]], axis=0)) for i in range(len(evidence))
        ]
        chosen.append(int(np.argmin(losses)))
        if min(losses) < best[0] - 1e-15:
            best = min(losses), list(chosen)
    return np.bincount(best[1], minlength=len(evidence)) / len(best[1])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("is_weighted", [False, True])
def test_weights_are_those_of_the_definition(seed, is_weighted):
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=60) if is_weighted else None
    residuals = rng.normal(size=(5, 60)) + rng.normal(size=60)
    error = squared_error(weights)
    expected = naive_selection(residuals, lambda r: np.average(r**2, weights=weights), 12)
    np.testing.assert_allclose(select(residuals, error, 12), expected)
    probabilities = rng.uniform(0.05, 1.0, (4, 60))
    expected = naive_selection(probabilities, lambda p: -np.average(np.log(p), weights=weights), 12)
    np.testing.assert_allclose(select(probabilities, log_loss(weights), 12), expected)


def test_the_selection_is_never_worse_than_the_best_candidate():
    rng = np.random.default_rng(0)
    for _ in range(20):
        residuals = rng.normal(size=(6, 40)) * rng.uniform(0.5, 2.0, (6, 1))
        loss = squared_error(None)
        weights = select(residuals, loss, 10)
        assert loss(weights @ residuals) <= min(map(loss, residuals)) + 1e-15


def test_opposite_errors_cancel():
    residual = np.random.default_rng(0).normal(size=30)
    weights = select(np.stack([residual, -residual, residual * 3]), squared_error(None), 10)
    np.testing.assert_array_equal(weights, [0.5, 0.5, 0.0])


def test_of_equal_candidates_the_first_is_taken():
    same = np.ones((3, 5)) / 2
    np.testing.assert_array_equal(select(same, log_loss(None), 7), [1.0, 0.0, 0.0])


def test_two_candidates_come_close_to_the_best_weights():
    rng = np.random.default_rng(1)
    residuals = rng.normal(size=(2, 200))
    loss = squared_error(None)
    best = min(loss(a * residuals[0] + (1 - a) * residuals[1]) for a in np.linspace(0, 1, 101))
    assert loss(select(residuals, loss, 50) @ residuals) < best * 1.001


def test_probabilities_of_zero_have_a_finite_loss():
    certain = np.array([[0.0, 1.0], [1.0, 0.0]])
    weights = select(certain, log_loss(None), 4)
    np.testing.assert_array_equal(weights, [0.5, 0.5])
    for pair in itertools.product([0.0, 1.0], repeat=2):
        assert np.isfinite(log_loss(None)(np.array(pair)))


def test_a_model_without_a_loss_is_not_selected():
    evidence = np.array([[np.nan, 1.0], [0.5, 0.5]])
    np.testing.assert_array_equal(select(evidence, squared_error(None), 4), [0.0, 1.0])
    np.testing.assert_array_equal(select(evidence[:1], squared_error(None), 4), [1.0])
