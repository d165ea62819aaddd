"""Platt's sigmoids and the coupling of pairs, against general minimisers and known truths."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_wine
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from hedgerow._links import fit_sigmoid
from hedgerow._svm import SVC, NuSVC
from hedgerow._svm.kernel.cache import RowCache
from hedgerow._svm.kernel.multiclass import couple, folds


def test_the_sigmoid_is_the_most_likely_one():
    random = np.random.default_rng(0)
    for trial in range(20):
        n = 60
        scores = random.normal(size=n) * 10.0 ** random.integers(-3, 3)
        y = np.where(scores + np.abs(scores).mean() * random.normal(size=n) > 0, 1.0, -1.0)
        weights = random.uniform(0.1, 3.0, n) if trial % 2 else np.ones(n)
        up, down = weights[y > 0].sum(), weights[y < 0].sum()
        target = np.where(y > 0, (up + 1) / (up + 2), 1 / (down + 2))

        def loss(AB, scores=scores, target=target, weights=weights):
            z = AB[0] * scores + AB[1]
            return float((weights * (np.logaddexp(0.0, z) - (1.0 - target) * z)).sum())

        found = fit_sigmoid(scores, y, weights)
        best = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"maxiter": 5000}).fun
        assert loss(found) <= best + 1e-6 * abs(best)


def test_separated_and_constant_scores_have_a_sigmoid():
    y = np.array([1.0] * 10 + [-1.0] * 10)
    A, B = fit_sigmoid(y * 5.0, y, np.ones(20))
    assert A < 0
    assert 1 / (1 + np.exp(5.0 * A + B)) == pytest.approx(11 / 12, abs=1e-6)
    A, B = fit_sigmoid(np.zeros(20), y, np.ones(20))
    assert np.isfinite([A, B]).all()


def test_probabilities_that_agree_are_found_again():
    random = np.random.default_rng(1)
    p = random.dirichlet(np.ones(5), 200)
    first, second = np.triu_indices(5, 1)
    pairwise = p[:, first] / (p[:, first] + p[:, second])
    np.testing.assert_allclose(couple(pairwise, 5), p, atol=1e-9)


def test_probabilities_that_do_not_agree_are_the_nearest():
    random = np.random.default_rng(2)
    r = np.zeros((4, 4))
    first, second = np.triu_indices(4, 1)
    for _ in range(10):
        pairwise = random.uniform(0.02, 0.98, len(first))
        r[first, second], r[second, first] = pairwise, 1.0 - pairwise

        def apart(p, r=r):
            return sum((r[j, i] * p[i] - r[i, j] * p[j]) ** 2 for i in range(4) for j in range(4))

        best = minimize(
            apart,
            np.full(4, 0.25),
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose(couple(pairwise[np.newaxis], 4)[0], best.x, atol=1e-4)


def test_certain_pairs_are_coupled_without_trouble():
    pairwise = np.array([[1.0, 1.0, 0.5], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.5, 0.5, 0.5]])
    p = couple(pairwise, 3)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(p[0], [1.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(p[2:], 1 / 3)


def test_folds_have_every_row_once_and_both_classes():
    y = np.where(np.arange(53) < 12, 1.0, -1.0)
    parts = folds(y, seed=3)
    assert sorted(np.concatenate(parts).tolist()) == list(range(53))
    assert all(2 <= (y[part] > 0).sum() <= 3 for part in parts)
    again = folds(y, seed=3)
    assert all((a == b).all() for a, b in zip(parts, again, strict=True))
    assert any(
        (a != b).any() for a, b in zip(parts, folds(y, seed=4), strict=False) if len(a) == len(b)
    )


@pytest.mark.parametrize("kind", [SVC, NuSVC])
@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_predict_and_predict_proba_agree(kind, scheme):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)[:, :3]
    nu = {"nu": 0.3} if kind is NuSVC else {}
    for target in (y, y == 1):
        machine = kind(probability=True, multi_class=scheme, **nu).fit(X[::2], target[::2])
        p = machine.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert (machine.classes_[p.argmax(axis=1)] == machine.predict(X)).all()
        np.testing.assert_allclose(machine.predict_log_proba(X), np.log(p))
        assert log_loss(target[1::2], p[1::2]) < 0.7 * np.log(len(machine.classes_))


def test_scores_of_a_fold_are_those_of_a_machine_without_it():
    """The table of kernels is shared, but no fold sees its rows."""
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 3))
    y = (X[:, 0] + random.normal(size=120) > 0).astype(int)
    machine = SVC(probability=True, gamma=0.4, tol=1e-8, random_state=7).fit(X, y)
    sign = np.where(y == 1, 1.0, -1.0)
    scores = np.empty(120)
    for fold in folds(sign, 7):
        rest = np.setdiff1d(np.arange(120), fold)
        alone = SVC(gamma=0.4, tol=1e-8).fit(X[rest], y[rest])
        scores[fold] = alone.decision_function(X[fold])
    A, B = fit_sigmoid(scores, sign, np.ones(120))
    assert machine.probA_[0] == pytest.approx(A, abs=1e-5)
    assert machine.probB_[0] == pytest.approx(B, abs=1e-5)


def test_folds_share_the_rows_of_the_kernel_matrix(monkeypatch):
    computed = []
    slots = RowCache.slots

    def counted(self, rows, threads):
        fill = self.table.fill
        self.table.fill = lambda rows, *rest: (computed.append(len(rows)), fill(rows, *rest))
        try:
            return slots(self, rows, threads)
        finally:
            self.table.fill = fill

    monkeypatch.setattr(RowCache, "slots", counted)
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    SVC(probability=True).fit(X, X[:, 0] + random.normal(size=200) > 0)
    assert sum(computed) <= 200


def test_without_probability_there_is_no_predict_proba():
    machine = SVC().fit([[0.0], [1.0]], [0, 1])
    assert not hasattr(machine, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba") as raised:
        machine.set_params(probability=True).predict_proba([[0.0]])
    assert "probability=True when fit" in str(raised.value)


def test_folds_of_a_nu_at_its_limit_are_fitted():
    X = np.random.default_rng(0).normal(size=(42, 3))
    machine = NuSVC(nu=0.57, probability=True).fit(X, [0] * 30 + [1] * 12)
    np.testing.assert_allclose(machine.predict_proba(X).sum(axis=1), 1.0)
