"""The trees of a round are the same whether they are grown one after another or side by side."""

import itertools

import numpy as np
import pytest
from scipy import sparse

import hedgerow as hr
from hedgerow._data.sparse_bins import SparseBinnedMatrix
from hedgerow._tree import engine
from hedgerow._tree.engine import trees_side_by_side

N_CLASSES = 7


def classes_of(score, rng):
    noisy = score + 0.3 * rng.standard_normal(len(score))
    return noisy.argsort().argsort() * N_CLASSES // len(score)


def dense_table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3_000, 9))
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 3] = rng.integers(0, 12, len(X))
    X[:, 5:] = X[:, 5:] > 0.5
    return X, classes_of(np.nan_to_num(X[:, 0] * X[:, 1]) + X[:, 3] % 5 + X[:, 6], rng)


def sparse_table():
    rng = np.random.default_rng(1)
    X = sparse.random(2_000, 400, density=0.01, random_state=1, format="csr")
    return X, classes_of(10 * X[:, :20].sum(axis=1).A1 + rng.random(2_000), rng)


def bytes_of_fit(path, X, y, n_jobs=4, **options):
    model = hr.GradientBoostingClassifier(
        n_estimators=4, learning_rate=0.3, max_leaves=9, random_state=2, n_jobs=n_jobs, **options
    )
    model.fit(X, y).set_params(n_jobs=None).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("table", [dense_table, sparse_table])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"subsample": 0.6, "colsample_bynode": 0.5, "reg_alpha": 0.1},
        {"linear_leaves": True},
        {"boosting": "dart"},
        {"categorical_features": [3], "max_bins": 40},
    ],
    ids=lambda options: "-".join(options) or "defaults",
)
def test_models_are_the_same_bytes_for_any_number_of_trees_at_a_time(
    table, options, monkeypatch, tmp_path
):
    X, y = table()
    if sparse.issparse(X) and "linear_leaves" in options:
        pytest.skip("linear leaves need a dense table")
    files = []
    for n_growers in (1, 2, 3, N_CLASSES):
        monkeypatch.setattr(engine, "trees_side_by_side", lambda *_, n=n_growers: n)
        files.append(bytes_of_fit(tmp_path / "model", X, y, n_jobs=2 * n_growers, **options))
    assert len(set(files)) == 1


def test_the_grown_table_is_sparse_where_this_is_tested(monkeypatch, tmp_path):
    seen = []

    def note(binned, *_):
        seen.append(type(binned))
        return 2

    monkeypatch.setattr(engine, "trees_side_by_side", note)
    bytes_of_fit(tmp_path / "model", *sparse_table())
    assert seen == [SparseBinnedMatrix]


class Shape:
    """What the number of trees at a time depends on, of a table."""

    def __init__(self, n_rows, n_columns):
        self.n_rows, self.n_entries = n_rows, n_rows * n_columns
        self.n_bytes = 2 * self.n_entries
        self.histogram_bytes = 4224 * n_columns


def test_one_tree_or_one_thread_leaves_nothing_to_choose():
    assert trees_side_by_side(Shape(10_000, 20), 1, 16) == 1
    assert trees_side_by_side(Shape(10_000, 20), 50, 1) == 1
    assert trees_side_by_side(Shape(0, 20), 5, 2) in (1, 2)


def test_many_classes_of_few_rows_are_grown_side_by_side():
    assert trees_side_by_side(Shape(10_000, 20), 50, 16) >= 8
    assert trees_side_by_side(Shape(100_000, 17), 7, 16) == 4


def test_a_few_trees_of_a_large_table_are_grown_one_after_another():
    assert trees_side_by_side(Shape(10_000_000, 100), 3, 2) == 1
    assert trees_side_by_side(Shape(10_000_000, 100), 5, 4) == 1


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_trees", "n_threads"),
    itertools.product((100, 100_000), (1, 50), (2, 7, 100), (2, 16, 64)),
)
def test_lists_of_rows_and_histograms_add_little_memory(n_rows, n_columns, n_trees, n_threads):
    table = Shape(n_rows, n_columns)
    n_growers = trees_side_by_side(table, n_trees, n_threads)
    assert 1 <= n_growers <= min(n_trees, n_threads)
    # Bins, scores, gradients and leaves; then two lists of rows, and a histogram at least.
    others = table.n_bytes + 18 * n_trees * n_rows
    each = 8 * n_rows + table.histogram_bytes
    assert (n_growers - 1) * each <= max(0.15 * others, 4.5e6)
