"""What a hostile tester found: each of these once gave a crash, a wrong model or a riddle."""

import numpy as np
import pytest
import scipy.sparse as sp

import hedgerow as hr
from hedgerow._data.binning import Binner, own_columns

R, C = hr.GradientBoostingRegressor, hr.GradientBoostingClassifier


def noise(n_rows=500, seed=0):
    return np.random.default_rng(seed).standard_normal((n_rows, 3))


def file_bytes(model, tmp_path):
    model.save(tmp_path / "model.hedgerow")
    return (tmp_path / "model.hedgerow").read_bytes()


@pytest.mark.parametrize("seed", [3, 62, 65, 95])
def test_ties_are_broken_alike_on_any_number_of_threads(seed, tmp_path):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, (300, 40)).astype(float), rng.integers(0, 2, 300)
    options = {"n_estimators": 1, "max_leaves": 200, "min_samples_leaf": 1, "reg_lambda": 0}
    files = {file_bytes(C(n_jobs=n, **options).fit(X, y), tmp_path) for n in (1, 2, 3, 7, 8)}
    assert len(files) == 1


@pytest.mark.parametrize("seed", [556, *range(20)])
def test_ties_are_broken_alike_with_and_without_shared_columns(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    X = np.eye(10)[rng.integers(0, 10, 300)]
    X = np.hstack([X[:, :5], np.eye(5)[rng.integers(0, 5, 300)], X[:, 5:]])
    y = rng.integers(0, 2, 300)
    options = {"n_estimators": 1, "max_leaves": 100, "min_samples_leaf": 1, "reg_lambda": 0}
    shared = C(**options).fit(X, y)
    monkeypatch.setattr(
        Binner, "_places", lambda _self, bins, _threads: own_columns(bins.n_features)
    )
    assert shared._model.ensemble == C(**options).fit(X, y)._model.ensemble


def test_the_last_cut_of_a_small_node_may_tie_with_another():
    """ "All values | missing" and an earlier cut, equal but for rounding: rows were lost."""
    rng = np.random.default_rng(0)
    n_rows = 4_000
    f, b = rng.normal(size=n_rows), rng.random(n_rows) < 0.5
    f[::7] = np.nan
    y = np.digitize(
        np.nan_to_num(f) + rng.integers(0, 2, n_rows) + 0.3 * rng.normal(size=n_rows), [0, 1]
    )
    X = np.column_stack([f, b])
    for round_ in range(25):
        rows = rng.permutation(n_rows)[: 3_200 + round_ * 30]
        C(n_estimators=10).fit(X[rows], y[rows])


@pytest.mark.parametrize("scale", [1e39, 1e-38, 1e60])
def test_targets_and_weights_beyond_single_precision_are_learned_from(scale):
    X = noise(40_000)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    options = {"n_estimators": 5, "learning_rate": 0.5, "reg_lambda": 0, "min_child_weight": 0}
    plain = R(**options).fit(X, y).score(X, y)
    assert plain > 0.99
    assert R(**options).fit(X, scale * y).score(X, scale * y) == pytest.approx(plain, abs=1e-6)
    weighted = R(**options).fit(X, y, np.full(len(y), scale))
    assert weighted.score(X, y) == pytest.approx(plain, abs=1e-6)


@pytest.mark.parametrize("weight", [1e306, 1e-306])
def test_numbers_that_cannot_be_squared_are_refused(weight):
    X = noise()
    y = np.sign(X[:, 0])
    with pytest.raises(hr.DataError, match="y contains numbers as large as 1e\\+308"):
        R().fit(X, 1e308 * y)
    with pytest.raises(hr.DataError, match="sample_weight: the largest weight is"):
        C().fit(X, y, np.full(len(y), weight))
    with pytest.raises(hr.DataError, match="class_weight times sample_weight"):
        C(class_weight={-1: weight, 1: weight}).fit(X, y)


@pytest.mark.parametrize("learning_rate", [1e100, 1e308, 1000.0])
@pytest.mark.parametrize("splitter", ["hist", "exact"])
def test_a_learning_rate_that_diverges_is_named(learning_rate, splitter):
    X = noise()
    model = R(n_estimators=200, learning_rate=learning_rate, splitter=splitter)
    with pytest.raises(hr.ParameterError, match="learning_rate"):
        model.fit(X, X[:, 0])
    assert not hasattr(model, "n_iter_")


def test_an_overflow_of_the_users_own_is_passed_through():
    def burst(_):
        raise OverflowError("mine")

    with pytest.raises(OverflowError, match="mine"):
        R(n_estimators=3).fit(noise(), noise()[:, 0], callbacks=[burst])


def broken(change):
    X = sp.random(200, 20, density=0.1, format="csc", random_state=0)
    change(X)
    return X


def set_index(X, at, value):
    X.indices[at] = value


BROKEN = {
    "row too large": lambda X: set_index(X, 3, 10**8),
    "row negative": lambda X: set_index(X, 3, -1),
    "start too large": lambda X: X.indptr.__setitem__(3, 10**8),
    "start negative": lambda X: X.indptr.__setitem__(3, -(10**8)),
    "starts fall": lambda X: X.indptr.__setitem__(3, X.indptr[2] - 1),
    "end too large": lambda X: X.indptr.__setitem__(-1, 10**8),
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_sparse_matrix_is_refused(change):
    sound = sp.random(200, 20, density=0.1, format="csc", random_state=0)
    model = R(n_estimators=2).fit(sound, np.arange(200.0))
    for work in (lambda X: R().fit(X, np.arange(200.0)), model.predict):
        with pytest.raises(hr.DataError, match="not a valid sparse matrix"):
            work(broken(change))


def test_a_coordinate_matrix_with_a_row_out_of_range_is_refused():
    X = sp.random(200, 20, density=0.1, format="coo", random_state=0)
    X.row[0] = 10**6
    with pytest.raises(hr.DataError, match="not a valid sparse matrix"):
        R().fit(X, np.arange(200.0))


@pytest.mark.parametrize("dtype", [">f8", "float16", "float32", "int8", "longdouble"])
def test_sparse_numbers_of_any_kind_equal_their_dense_twin(dtype):
    X = sp.random(300, 12, density=0.3, format="csc", random_state=1)
    X.data = np.round(X.data * 20).astype(dtype)
    y = np.arange(300.0)
    dense = np.asarray(X.astype(np.float64).todense())
    model = R(n_estimators=3).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), R(n_estimators=3).fit(dense, y).predict(dense))


def test_functions_of_the_user_cannot_write_into_the_callers_arrays():
    X = noise()
    y = X[:, 0].copy()

    def loss(target, scores):
        target[:] = 7
        return scores - target, np.ones_like(scores)

    def metric(target, prediction):
        prediction[:] = 0
        return 1.0

    with pytest.raises(ValueError, match="read-only"):
        R(loss=loss).fit(X, y)
    with pytest.raises(ValueError, match="read-only"):
        R(eval_metric=metric).fit(X, y, eval_set=[(X, y)])
    np.testing.assert_array_equal(y, X[:, 0])


def test_metrics_of_one_name_are_kept_apart_and_the_first_judges():
    X = noise()
    metrics = [
        lambda y, p: ("mine", float(((y - p) ** 2).mean()), False),
        lambda y, _: ("mine", -float(len(y)), False),
    ]
    model = R(n_estimators=5, early_stopping=True, eval_metric=metrics)
    model.fit(X, X[:, 0], eval_set=[(X, X[:, 0])])
    assert list(model.evals_result_["eval_0"]) == ["mine", "mine_2"]
    assert model.best_iteration_ == 5


def test_a_callback_may_answer_with_a_numpy_bool():
    X = noise()
    model = R(n_estimators=10).fit(X, X[:, 0], callbacks=[lambda i: np.float64(i.round) >= 4])
    assert model.n_iter_ == 4


PARAMETERS = {
    "learning_rate": 10**400,
    "reg_lambda": 10**400,
    "categorical_features": iter([0]),
    "n_estimators": 2**40,
    "random_state": 2**40,
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_impossible_parameters_are_named(name):
    X = noise()
    with pytest.raises(hr.ParameterError, match=name):
        R(**{name: PARAMETERS[name]}).fit(X, X[:, 0])


def test_a_number_above_the_range_is_told_where_the_range_ends():
    X = noise()
    with pytest.raises(hr.ParameterError, match="at most 4294967295"):
        R(random_state=2**40).fit(X, X[:, 0])


@pytest.mark.parametrize("weight", ["a", None, 10**400, 1 + 1j, -1.0])
def test_class_weights_are_numbers(weight):
    X = noise()
    with pytest.raises(hr.ParameterError, match="class_weight"):
        C(class_weight={True: weight}).fit(X, X[:, 0] > 0)


@pytest.mark.parametrize(
    "arguments", [{"eval_set": 5}, {"eval_set": [(noise(), noise()[:, 0])], "eval_names": [1]}]
)
def test_evaluation_sets_and_their_names_are_checked(arguments):
    X = noise()
    with pytest.raises((hr.DataError, hr.ParameterError), match="eval_"):
        R().fit(X, X[:, 0], **arguments)


@pytest.mark.parametrize("X", ["train.csv", b"x"])
def test_what_is_no_table_is_called_by_its_name(X):
    with pytest.raises(TypeError, match=f"X is a {type(X).__name__}"):
        R().fit(X, [1.0, 2.0])


def test_a_loss_of_one_argument_and_a_scorer_are_refused():
    from sklearn.metrics import get_scorer

    X = noise()
    with pytest.raises(hr.ParameterError, match="takes 1 argument"):
        R(loss=lambda _: 1).fit(X, X[:, 0])
    with pytest.raises(hr.ParameterError, match="scorer"):
        R(eval_metric=get_scorer("r2")).fit(X, X[:, 0], eval_set=[(X, X[:, 0])])


def test_more_categories_than_bins_are_told_apart():
    import pandas as pd

    X = pd.DataFrame({"town": [f"t{i % 300}" for i in range(1_500)]})
    y = np.arange(1_500) * 7 % 300.0
    assert R(n_estimators=50).fit(X, y).score(X, y) > 0.95
