"""The weights of ensembles against code that follows their definition word for word."""

import itertools

import numpy as np
import pytest

from hedgerow._ensemble.selection import log_loss, select, squared_error


def naive_greedy(evidence, loss, n_steps, row_weights=None):
    """Try every candidate in every step; return the shortest list with the smallest loss."""
    chosen, best = [], (np.inf, [])
    for _ in range(n_steps):
        means = [np.mean([evidence[j] for j in [*chosen, i]], axis=0) for i in range(len(evidence))]
        losses = [np.average(loss(mean), weights=row_weights) for mean in means]
        chosen.append(int(np.argmin(losses)))
        if min(losses) < best[0] - 1e-15:
            best = min(losses), list(chosen)
    return np.bincount(best[1], minlength=len(evidence)) / len(best[1])


def naive_weights(evidence, loss, n_steps, row_weights, baseline):
    """Mix the greedy weights with the baseline: 1 - (1.5 standard errors / gain)² of them."""
    greedy = naive_greedy(evidence, loss, n_steps, row_weights)
    if baseline is None:
        losses = [np.average(loss(own), weights=row_weights) for own in evidence]
        baseline = int(np.argmin(losses))
    n = evidence.shape[1]
    share_of_row = np.full(n, 1 / n) if row_weights is None else row_weights / row_weights.sum()
    differences = loss(evidence[baseline]) - loss(greedy @ evidence)
    gain = np.sum(share_of_row * differences)
    error = np.sqrt(n / (n - 1) * np.sum(share_of_row**2 * (differences - gain) ** 2))
    share = 1 - (1.5 * error / gain) ** 2 if gain > 1.5 * error else 0.0
    return share * greedy + (1 - share) * np.eye(len(evidence))[baseline]


@pytest.mark.parametrize("baseline", [None, 1])
@pytest.mark.parametrize("n_rows", [60, 400])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_weights_are_those_of_the_definition(n_rows, is_weighted, baseline):
    n_shrunk = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        weights = rng.exponential(size=n_rows) if is_weighted else None
        residuals = rng.normal(size=(5, n_rows)) + rng.normal(size=n_rows)
        found = select(residuals, squared_error(weights), 12, baseline)
        expected = naive_weights(residuals, lambda r: r**2, 12, weights, baseline)
        np.testing.assert_allclose(found, expected)
        n_shrunk += 0.0 < found.max() < 1.0
        probabilities = rng.uniform(0.05, 1.0, (4, n_rows))
        found = select(probabilities, log_loss(weights), 12, baseline)
        expected = naive_weights(probabilities, lambda p: -np.log(p), 12, weights, baseline)
        np.testing.assert_allclose(found, expected)
        n_shrunk += 0.0 < found.max() < 1.0
    assert n_shrunk >= 3


@pytest.mark.parametrize("baseline", [0, 1, None])
def test_one_candidate_that_is_much_better_gets_the_weight(baseline):
    rng = np.random.default_rng(0)
    residuals = rng.normal(size=(4, 2000)) * np.array([[3.0], [0.1], [3.0], [3.0]])
    weights = select(residuals, squared_error(None), 25, baseline)
    assert weights[1] > 0.99
    if baseline != 0:
        np.testing.assert_array_equal(weights, [0.0, 1.0, 0.0, 0.0])


@pytest.mark.parametrize("n_rows", [60, 300])
def test_candidates_of_pure_noise_get_no_weight(n_rows):
    """Greedy selection alone mixes them in, because on a few rows they are better by chance."""
    greedy = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p = rng.beta(0.5, 0.5, n_rows).clip(0.02, 0.98)
        own = np.where(rng.random(n_rows) < p, p, 1.0 - p)  # the baseline knows the truth
        evidence = np.concatenate([own[None], rng.uniform(0.05, 0.95, (3, n_rows))])
        weights = select(evidence, log_loss(None), 25, baseline=0)
        np.testing.assert_array_equal(weights, [1.0, 0.0, 0.0, 0.0])
        greedy.append(naive_greedy(evidence, lambda p: -np.log(p), 25)[0])
    assert np.mean(np.array(greedy) < 1.0) > 0.2


def test_the_selection_is_never_worse_than_the_best_candidate():
    rng = np.random.default_rng(0)
    for _ in range(20):
        residuals = rng.normal(size=(6, 40)) * rng.uniform(0.5, 2.0, (6, 1))
        loss = squared_error(None)
        weights = select(residuals, loss, 10)
        assert loss(weights @ residuals) <= min(map(loss, residuals)) + 1e-15


def test_opposite_errors_cancel():
    residual = np.tile([1.0, -1.0], 15)  # every row gains the same: nothing is uncertain
    weights = select(np.stack([residual, -residual, residual * 3]), squared_error(None), 10)
    np.testing.assert_array_equal(weights, [0.5, 0.5, 0.0])


def test_of_equal_candidates_the_first_is_taken():
    same = np.ones((3, 5)) / 2
    np.testing.assert_array_equal(select(same, log_loss(None), 7), [1.0, 0.0, 0.0])


def test_two_candidates_come_close_to_the_best_weights():
    rng = np.random.default_rng(1)
    residuals = rng.normal(size=(2, 20_000))
    loss = squared_error(None)
    best = min(loss(a * residuals[0] + (1 - a) * residuals[1]) for a in np.linspace(0, 1, 101))
    assert loss(select(residuals, loss, 50) @ residuals) < best * 1.001


def test_probabilities_of_zero_have_a_finite_loss():
    certain = np.array([[0.0, 1.0], [1.0, 0.0]])
    weights = select(certain, log_loss(None), 4)
    np.testing.assert_array_equal(weights, [1.0, 0.0])  # two rows are no evidence for a mean
    for pair in itertools.product([0.0, 1.0], repeat=2):
        assert np.isfinite(log_loss(None)(np.array(pair)))


def test_a_model_without_a_loss_is_not_selected():
    evidence = np.array([[np.nan, 1.0], [0.5, 0.5]])
    np.testing.assert_array_equal(select(evidence, squared_error(None), 4), [0.0, 1.0])
    np.testing.assert_array_equal(select(evidence[:1], squared_error(None), 4), [1.0])


@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_gain_and_its_standard_error_are_those_of_paired_rows(is_weighted):
    rng = np.random.default_rng(3)
    before, after = rng.normal(size=(2, 500))
    weights = np.repeat([1.0, 3.0], 250) if is_weighted else None
    gain, error = squared_error(weights).gain(before, after)
    difference = before**2 - after**2
    if weights is None:
        expected = difference.std(ddof=1) / np.sqrt(500)
    else:
        share = weights / weights.sum()
        mean = np.sum(share * difference)
        expected = np.sqrt(np.sum(share**2 * (difference - mean) ** 2) * 500 / 499)
    assert gain == pytest.approx(np.average(difference, weights=weights))
    assert error == pytest.approx(expected)
    draws = rng.integers(0, 500, (4000, 500))  # and by bootstrap
    means = [
        np.average(difference[d], weights=None if weights is None else weights[d]) for d in draws
    ]
    assert error == pytest.approx(np.std(means), rel=0.06)
