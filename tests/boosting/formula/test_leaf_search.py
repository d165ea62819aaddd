"""The search for the best value of every leaf: against quantiles, and where there is none."""

import numpy as np
import pytest

from hedgerow._boosting.losses.formula.leaf_search import LeafSearch
from hedgerow._tree.leaves import LeafRows
from hedgerow._tree.structure import Tree

RNG = np.random.RandomState(0)
N, N_LEAVES = 3000, 6
Y = RNG.standard_cauchy(N) + 5.0 * RNG.normal(size=N)
LEAF = RNG.randint(N_LEAVES, size=N).astype(np.uint16)
WEIGHTS = RNG.uniform(0.1, 2.0, N)


class Sloped:
    """A loss of which only slopes are known."""

    def __init__(self, slopes, *, is_piecewise_linear=True):
        self.slopes = lambda target, scores, output: slopes(target, scores[output])
        self.is_piecewise_linear = np.array([is_piecewise_linear])


def pinball(level):
    return Sloped(lambda y, f: np.where(y > f, -level, 1.0 - level))


def star():
    """Return a root whose children are leaves, with values that none would be given."""
    n_nodes = 2 * N_LEAVES - 1
    feature = np.full(n_nodes, -1, np.int32)
    left, right = np.full(n_nodes, -1, np.int32), np.full(n_nodes, -1, np.int32)
    for inner in range(N_LEAVES - 1):
        feature[2 * inner] = 0
        left[2 * inner], right[2 * inner] = 2 * inner + 1, 2 * inner + 2
    counts = np.ones(n_nodes, np.int64)
    numbers = {
        name: np.zeros(n_nodes, dtype)
        for name, dtype in (("threshold", float), ("gain", float), ("cover", float))
    }
    return Tree(
        feature=feature,
        left=left,
        right=right,
        missing_left=np.zeros(n_nodes, bool),
        category_set=np.full(n_nodes, -1, np.int32),
        category_bits=np.zeros((0, 8), np.uint32),
        value=np.full((n_nodes, 1), 99.0),
        count=counts,
        split_bin=np.zeros(n_nodes, np.uint8),
        **numbers,
    )


def rows(scores=None, weights=None, bag=None):
    scores = np.zeros((1, N)) if scores is None else scores
    return LeafRows(Y, scores[0], scores, weights, LEAF, bag)


def leaf_steps(loss, of=None, **options):
    search = LeafSearch(loss, Y, **{"learning_rate": 1.0, "max_delta_step": 0.0, **options})
    return search.replace(star(), 0, rows() if of is None else of, 1)


def excess(level, step, y, weights=None):
    """Return by how much a step's pinball loss exceeds the least, relative to that of no step."""

    def loss(at):
        r = y - at
        return np.average(np.maximum(level * r, (level - 1.0) * r), weights=weights)

    least = min(loss(at) for at in y)
    return (loss(step) - least) / least


@pytest.mark.parametrize("level", [0.1, 0.5, 0.93])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_leaves_of_the_pinball_loss_are_quantiles(level, weights):
    steps = leaf_steps(pinball(level), rows(weights=weights))
    for leaf, step in enumerate(steps):
        members = leaf == LEAF
        of_members = None if weights is None else weights[members]
        assert excess(level, step, Y[members], of_members) < 2e-3


def test_only_rows_of_the_bag_count():
    bag = np.flatnonzero(Y > 0.0).astype(np.uint32)
    steps = leaf_steps(pinball(0.5), rows(bag=bag))
    for leaf, step in enumerate(steps):
        assert excess(0.5, step, Y[(leaf == LEAF) & (Y > 0.0)]) < 2e-3


def test_steps_are_from_the_scores():
    shift = np.arange(N_LEAVES)[LEAF].astype(float)
    steps = leaf_steps(pinball(0.5), rows(scores=shift[None]))
    for leaf, step in enumerate(steps):
        assert excess(0.5, leaf + step, Y[leaf == LEAF]) < 2e-3


def test_values_are_written_into_the_tree_shrunk_and_capped():
    tree = star()
    search = LeafSearch(pinball(0.9), Y, learning_rate=0.5, max_delta_step=2.0)
    values = search.replace(tree, 0, rows(), 1)
    np.testing.assert_array_equal(tree.value[tree.feature < 0, 0], values)
    np.testing.assert_array_equal(values, 1.0)
    np.testing.assert_array_equal(tree.value, 1.0)


def test_leaves_of_a_loss_that_is_not_straight_stay():
    bent = Sloped(lambda y, f: f - y, is_piecewise_linear=False)
    np.testing.assert_array_equal(leaf_steps(bent), 99.0)


def test_a_leaf_that_is_at_its_best_stays_there():
    medians = np.array([np.median(Y[leaf == LEAF]) for leaf in range(N_LEAVES)])
    steps = leaf_steps(pinball(0.5), rows(scores=medians[LEAF][None]))
    np.testing.assert_allclose(steps, 0.0, atol=0.3)


def test_slopes_that_are_not_finite_are_too_far():
    barrier = Sloped(lambda y, f: np.where(f < 30.0, np.where(y + 20.0 > f, -1.0, 1.0), np.nan))
    steps = leaf_steps(barrier)
    assert (steps < 30.0).all()
    for leaf, step in enumerate(steps):
        assert step == pytest.approx(np.median(Y[leaf == LEAF]) + 20.0, abs=0.6)


def test_a_loss_that_falls_for_ever_gives_finite_steps():
    assert np.isfinite(leaf_steps(Sloped(lambda y, _: np.full_like(y, -1.0)))).all()


def test_the_scale_of_the_target_does_not_matter():
    small, large = (
        LeafSearch(pinball(0.5), s * Y, 1.0, 0.0).replace(
            star(), 0, LeafRows(s * Y, np.zeros(N), np.zeros((1, N)), None, LEAF, None), 1
        )
        for s in (2.0**-40, 2.0**40)
    )
    np.testing.assert_allclose(large, 2.0**80 * small, rtol=1e-12)
