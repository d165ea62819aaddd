"""A fit on the rows of several workers is the fit on one, byte for byte."""

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow import cluster
from hedgerow.exceptions import ClusterError, DataError, ParameterError

SETTINGS = {"n_estimators": 4, "max_leaves": 12, "learning_rate": 0.2, "random_state": 3}


def table(n_rows=2500, seed=0):
    """Return numbers with missing values, small integers, strings, and a number to learn."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)).astype(np.float32), columns=list("abcd"))
    y = (X["a"] + X["b"] * X["c"] + rng.normal(size=n_rows)).to_numpy(np.float64)
    X = X.mask(rng.random(X.shape) < 0.1)
    X["few"] = rng.integers(0, 5, n_rows)
    X["town"] = rng.choice(["Basel", "Bern", "Chur", "Genf"], n_rows, p=[0.5, 0.3, 0.19, 0.01])
    return X, y


def file_of(model, folder):
    model.save(folder / "model")
    return (folder / "model").read_bytes()


def ends_of(n_rows, size, seed):
    """Return where each worker's rows begin, and the end; some workers may have no rows."""
    inner = np.sort(np.random.default_rng(seed).integers(0, n_rows + 1, size - 1))
    return [0, *inner.tolist(), n_rows]


def part_of(values, begin, end):
    return values.iloc[begin:end] if hasattr(values, "iloc") else values[begin:end]


def fit_together(model, X, y, ends, **arguments):
    """Fit on workers with the rows between these ends; return each worker's model."""

    def work(communicator):
        begin, end = ends[communicator.rank], ends[communicator.rank + 1]
        own = {name: part_of(values, begin, end) for name, values in arguments.items()}
        rows = part_of(X, begin, end), part_of(y, begin, end)
        return cluster.fit(hr_clone(model), *rows, communicator=communicator, **own)

    return cluster.run_threads(work, len(ends) - 1)


def hr_clone(model):
    return type(model)(**model.get_params(deep=False))


def assert_same_bytes(tmp_path, model, X, y, ends, **arguments):
    local = file_of(hr_clone(model).fit(X, y, **arguments), tmp_path)
    for together in fit_together(model, X, y, ends, **arguments):
        assert file_of(together, tmp_path) == local


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_the_model_is_that_of_one_worker(tmp_path, size):
    X, y = table()
    for seed in range(3):
        model = hr.GradientBoostingRegressor(**SETTINGS)
        assert_same_bytes(tmp_path, model, X, y, ends_of(len(y), size, seed))


REGRESSION_LOSSES = [
    *("squared_error", "absolute_error", "quantile", "mape", "huber", "pseudo_huber"),
    *("log_cosh", "expectile", "poisson", "gamma", "tweedie", "log_loss"),
]


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted and sampled"])
@pytest.mark.parametrize("loss", REGRESSION_LOSSES)
def test_every_loss_of_numbers(tmp_path, loss, weighted):
    X, y = table()
    y = 1.0 / (1.0 + np.exp(y)) if loss == "log_loss" else np.abs(y) + 0.1
    sampled = {"subsample": 0.4, "colsample_bytree": 0.7} if weighted else {}
    model = hr.GradientBoostingRegressor(loss=loss, **SETTINGS, **sampled)
    weights = {"sample_weight": np.random.default_rng(1).gamma(1.0, size=len(y))}
    arguments = weights if weighted else {}
    assert_same_bytes(tmp_path, model, X, y, ends_of(len(y), 3, 1), **arguments)


@pytest.mark.parametrize("loss", ["log_loss", "exponential", "hinge", "focal"])
def test_every_loss_of_two_classes(tmp_path, loss):
    X, y = table()
    model = hr.GradientBoostingClassifier(loss=loss, class_weight="balanced", **SETTINGS)
    weights = np.random.default_rng(1).gamma(1.0, size=len(y))
    ends = ends_of(len(y), 4, 2)
    assert_same_bytes(tmp_path, model, X, y > 0.5, ends, sample_weight=weights)


@pytest.mark.parametrize(
    "parameters",
    [
        {"sampling": "gradient", "subsample": 0.5},
        {"sampling": "minimal_variance", "subsample": 0.3},
        {"sampling": "balanced"},
        {"colsample_bynode": 0.5, "colsample_bylevel": 0.7},
        {"grow_policy": "levelwise", "max_leaves": None, "max_depth": 4},
        {"max_depth": 5, "grow_policy": "symmetric", "monotonic_constraints": {"a": 1}},
        {"monotonic_constraints": {"a": 1, "b": -1}},
        {"interaction_constraints": [["a", "b"], ["c", "d", "town"]]},
        {"max_bins": 16, "subsample_for_bin": 500},
        {"reg_alpha": 0.5, "min_child_weight": 5.0, "max_delta_step": 0.3},
    ],
    ids=lambda parameters: next(iter(parameters)),
)
def test_every_kind_of_growth(tmp_path, parameters):
    X, y = table()
    model = hr.GradientBoostingClassifier(**{**SETTINGS, **parameters})
    assert_same_bytes(tmp_path, model, X, y > 0.3, ends_of(len(y), 3, 4))


def test_classes_that_only_some_workers_have(tmp_path):
    X, y = table()
    order = np.argsort(y, kind="stable")
    X, y = X.iloc[order], y[order]
    classes = np.array(["low", "middle", "high"])[np.digitize(y, [-1.0, 1.0])]
    model = hr.GradientBoostingClassifier(**SETTINGS)
    assert_same_bytes(tmp_path, model, X, classes, ends_of(len(y), 5, 0))


def test_several_outputs(tmp_path):
    X, y = table()
    both = np.column_stack([y, X["few"] - y])
    model = hr.GradientBoostingRegressor(**SETTINGS)
    assert_same_bytes(tmp_path, model, X, both, ends_of(len(y), 3, 0))


@pytest.mark.parametrize("rows", ["random", "last"])
@pytest.mark.parametrize("groups", [False, True], ids=["rows", "groups"])
def test_early_stopping_on_a_holdout(tmp_path, rows, groups):
    X, y = table()
    parameters = {**SETTINGS, "n_estimators": 40, "early_stopping": True, "n_iter_no_change": 2}
    model = hr.GradientBoostingClassifier(**parameters, validation_rows=rows)
    arguments = {"groups": np.arange(len(y)) // 37 % 50} if groups else {}
    assert_same_bytes(tmp_path, model, X, y > 0.5, ends_of(len(y), 5, 1), **arguments)


def test_parameters_that_are_chosen_on_folds(tmp_path):
    X, y = table(600)
    model = hr.GradientBoostingRegressor(budget=0.05, random_state=0)
    assert_same_bytes(tmp_path, model, X, y, ends_of(len(y), 3, 1))


def test_many_rows_whose_gradients_are_packed(tmp_path):
    X, y = table(70_000)
    model = hr.GradientBoostingClassifier(**{**SETTINGS, "n_estimators": 2})
    assert_same_bytes(tmp_path, model, X, y > 0.5, ends_of(len(y), 4, 1))


def test_workers_without_rows(tmp_path):
    X, y = table(300)
    model = hr.GradientBoostingRegressor(**SETTINGS)
    assert_same_bytes(tmp_path, model, X, y, [0, 0, 120, 120, 300, 300])


def test_integers_that_are_floats_on_other_workers(tmp_path):
    X, y = table(400)
    model = hr.GradientBoostingRegressor(**SETTINGS)
    X["few"] = X["few"].astype(float)
    local = file_of(hr_clone(model).fit(X, y), tmp_path)

    def work(communicator):
        own = slice(0, 200) if communicator.rank == 0 else slice(200, 400)
        rows = X.iloc[own]
        if communicator.rank == 0:
            rows = rows.assign(few=rows["few"].astype(int))
        return cluster.fit(hr_clone(model), rows, y[own], communicator=communicator)

    for together in cluster.run_threads(work, 2):
        assert file_of(together, tmp_path) == local


def test_traffic_of_a_tree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 28)).astype(np.float32)
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + rng.normal(size=len(X))
    size, n_trees, n_leaves = 8, 4, 63

    def traffic(n_estimators):
        def work(communicator):
            model = hr.GradientBoostingRegressor(
                n_estimators=n_estimators, max_leaves=n_leaves, random_state=0
            )
            rows = slice(communicator.rank * 5000, (communicator.rank + 1) * 5000)
            model = cluster.fit(model, X[rows], y[rows], communicator=communicator)
            trees = model.__hedgerow__().model().ensemble.trees()
            assert all((tree.feature < 0).sum() == n_leaves for tree in trees)
            return communicator.traffic

        return cluster.run_threads(work, size)[0]

    few, more = traffic(1), traffic(1 + n_trees)
    exchanges = (more.exchanges - few.exchanges) / n_trees
    sent = (more.bytes_sent - few.bytes_sent) / n_trees
    # A ring all-reduce sends 2 (P − 1)/P of a histogram for each split.
    ring = 2 * (size - 1) / size * (n_leaves - 1) * X.shape[1] * 256 * 16
    assert exchanges <= 16
    assert sent <= 0.55 * ring


def test_an_error_on_one_worker_ends_all():
    X, y = table(300)
    y = np.where(np.arange(300) == 250, np.nan, y)
    with pytest.raises(DataError, match="y contains NaN"):
        fit_together(hr.GradientBoostingRegressor(**SETTINGS), X, y, [0, 100, 200, 300])


def test_different_columns_are_one_clear_error():
    X, y = table(200)

    def work(communicator):
        rows = X if communicator.rank == 0 else X.rename(columns={"a": "z"})
        model = hr.GradientBoostingRegressor(**SETTINGS)
        return cluster.fit(model, rows, y, communicator=communicator)

    with pytest.raises(DataError, match="different columns"):
        cluster.run_threads(work, 2)


def test_strings_on_one_worker_and_numbers_on_another():
    X, y = table(200)

    def work(communicator):
        rows = X if communicator.rank == 0 else X.assign(town=1.5)
        model = hr.GradientBoostingRegressor(**SETTINGS)
        return cluster.fit(model, rows, y, communicator=communicator)

    with pytest.raises(DataError, match="'town' contains number and string values"):
        cluster.run_threads(work, 2)


@pytest.mark.parametrize(
    "parameters",
    [
        {"splitter": "exact"},
        {"linear_leaves": True},
        {"boosting": "dart"},
        {"max_categories": 2},
        {"loss": hr.Loss(lambda y, s: (y - s) ** 2)},
        {"init_estimator": hr.DecisionTreeRegressor(max_depth=1)},
    ],
    ids=lambda parameters: next(iter(parameters)),
)
def test_what_is_not_supported_yet_is_refused_by_name(parameters):
    X, y = table(300)
    (name,) = parameters
    with pytest.raises(ParameterError, match=f"{name}.*several workers"):
        fit_together(hr.GradientBoostingRegressor(**SETTINGS, **parameters), X, y, [0, 100, 300])


def cauchy(y, scores):
    """Return derivatives of a loss of the user's; the hessian is bounded from below."""
    distance = scores - y
    weight = 1.0 / (1.0 + distance * distance)
    return distance * weight, np.maximum(weight, 0.1)


def squared_of_all(y, scores, sample_weight):
    """Return derivatives of the squared error of several outputs, weights included."""
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    return (scores - y) * weight[:, None], np.ones_like(scores) * weight[:, None]


@pytest.mark.parametrize("early_stopping", [False, True])
def test_losses_of_your_own(tmp_path, early_stopping):
    X, y = table()
    model = hr.GradientBoostingRegressor(loss=cauchy, early_stopping=early_stopping, **SETTINGS)
    weights = np.random.default_rng(1).gamma(1.0, size=len(y))
    assert_same_bytes(tmp_path, model, X, y, ends_of(len(y), 3, 1))
    assert_same_bytes(tmp_path, model, X, y, [0, 900, 900, len(y)], sample_weight=weights)


def test_a_loss_of_your_own_with_several_outputs(tmp_path):
    X, y = table()
    model = hr.GradientBoostingRegressor(loss=squared_of_all, subsample=0.5, **SETTINGS)
    both = np.column_stack([y, -2.0 * y])
    assert_same_bytes(tmp_path, model, X, both, ends_of(len(y), 3, 2))


def test_an_error_of_a_loss_of_your_own_is_raised():
    X, y = table(300)

    def fails(y, scores):
        if len(y) == 100:
            return np.full(len(y), np.nan), np.ones(len(y))
        return scores - y, np.ones(len(y))

    with pytest.raises(ParameterError, match="gradient has NaN"):
        fit_together(hr.GradientBoostingRegressor(loss=fails, **SETTINGS), X, y, [0, 100, 300])


@pytest.mark.parametrize("name", ["RandomForest", "ExtraTrees"])
def test_forests(tmp_path, name):
    X, y = table()
    parameters = {"n_estimators": 7, "random_state": 1, "min_samples_leaf": 3}
    weights = np.random.default_rng(1).gamma(1.0, size=len(y))
    ends = [0, 900, 900, 1500, len(y)]
    regressor = getattr(hr, f"{name}Regressor")(**parameters)
    assert_same_bytes(tmp_path, regressor, X, y, ends)
    classifier = getattr(hr, f"{name}Classifier")(class_weight="balanced", **parameters)
    assert_same_bytes(tmp_path, classifier, X, y > 0.5, ends, sample_weight=weights)


@pytest.mark.parametrize("loss", ["ndcg", "pairwise", "listwise"])
def test_rankings(tmp_path, loss):
    X, y = table()
    relevance, query = np.digitize(y, [-1.0, 0.0, 1.0]), np.arange(len(y)) // 10
    parameters = {**SETTINGS, "n_estimators": 20, "early_stopping": True, "n_iter_no_change": 2}
    model = hr.GradientBoostingRanker(loss=loss, **parameters)
    assert_same_bytes(tmp_path, model, X, relevance, [0, 700, 710, len(y)], qid=query)
    with pytest.raises(DataError, match="a query are on several workers"):
        fit_together(model, X, relevance, [0, 705, len(y)], qid=query)


def test_other_estimators_are_refused():
    X, y = table(100)
    with pytest.raises(ParameterError, match="AdaBoostRegressor cannot be fitted on several"):
        fit_together(hr.AdaBoostRegressor(), X, y, [0, 50, 100])
    with pytest.raises(ParameterError, match="oob_score=True cannot be used"):
        fit_together(hr.RandomForestRegressor(oob_score=True), X, y, [0, 50, 100])


def test_a_worker_that_does_not_answer_ends_the_others_in_time():
    def work(communicator):
        if communicator.rank == 1:
            return None
        return communicator.gather(b"")

    with pytest.raises(ClusterError, match="did not answer within"):
        cluster.run_threads(work, 2, timeout=0.2)


# ---- what workers must agree on ------------------------------------------------------------------


def fit_two(model_of, arguments_of=lambda _: {}, size=2):
    """Fit with an estimator and arguments that depend on the worker."""
    X, y = table(400)

    def work(communicator):
        rank = communicator.rank
        own = slice(rank * 200, rank * 200 + 200)
        rows = X.iloc[own], y[own]
        arguments = arguments_of(rank)
        return cluster.fit(model_of(rank), *rows, communicator=communicator, **arguments)

    return cluster.run_threads(work, size)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("learning_rate", (0.1, 0.2)),
        ("n_estimators", (3, 5)),
        ("max_bins", (100, 101)),
        ("random_state", (0, 1)),
        ("monotonic_constraints", ({"a": 1}, {"a": -1})),
    ],
)
def test_different_parameters_are_refused_by_name(name, values):
    parameters = [{**SETTINGS, name: value} for value in values]
    with pytest.raises(ParameterError, match=f"^{name}: .* on worker 0, but .* on worker 1"):
        fit_two(lambda rank: hr.GradientBoostingRegressor(**parameters[rank]))


def test_different_estimators_are_refused():
    kinds = [hr.GradientBoostingRegressor, hr.RandomForestRegressor]
    with pytest.raises(ParameterError, match="estimator: GradientBoostingRegressor on worker 0"):
        fit_two(lambda rank: kinds[rank](n_estimators=3))


def test_threads_and_messages_may_differ():
    models = fit_two(
        lambda rank: hr.GradientBoostingRegressor(**SETTINGS, n_jobs=1 + rank, verbose=rank)
    )
    assert [model.n_jobs for model in models] == [1, 2]


@pytest.mark.parametrize("name", ["sample_weight", "groups", "eval_set", "init_model"])
def test_an_argument_of_one_worker_is_refused_by_name(name):
    X, y = table(200)
    values = {
        "sample_weight": np.ones(200),
        "groups": np.arange(200),
        "eval_set": [(X, y)],
        "init_model": hr.GradientBoostingRegressor(**SETTINGS).fit(X, y),
    }
    with pytest.raises(ParameterError, match=f"{name}: not passed on worker 0, but passed"):
        fit_two(
            lambda _: hr.GradientBoostingRegressor(**SETTINGS),
            lambda rank: {name: values[name]} if rank == 1 else {},
        )


def test_numbers_of_evaluation_sets_differ():
    X, y = table(200)
    with pytest.raises(ParameterError, match="eval_set: 1 sets on worker 0, but 2 sets"):
        fit_two(
            lambda _: hr.GradientBoostingRegressor(**SETTINGS),
            lambda rank: {"eval_set": [(X, y)] * (1 + rank)},
        )


def test_evaluation_rows_of_a_worker_without_rows_are_not_lost():
    X, y = table(200)
    with pytest.raises(DataError, match="eval_set: worker 2 has 200 rows of it, but no rows of X"):
        fit_two(
            lambda _: hr.GradientBoostingRegressor(**SETTINGS),
            lambda _: {"eval_set": [(X, y)]},
            size=3,
        )


def test_the_estimator_of_a_worker_without_rows_is_fitted(tmp_path):
    estimators = [hr.GradientBoostingRegressor(**SETTINGS, n_jobs=1 + rank) for rank in range(3)]
    models = fit_two(lambda rank: estimators[rank], size=3)
    assert all(model is own for model, own in zip(models, estimators, strict=True))
    assert models[2].n_jobs == 3
    assert file_of(models[2].set_params(n_jobs=1), tmp_path) == file_of(models[0], tmp_path)


@pytest.mark.parametrize("has_all", [True, False], ids=["on all", "on one"])
def test_a_callback_that_stops_on_one_worker_stops_all(has_all):
    def stop(rank):
        return lambda info: rank == 1 and info.round == 2

    models = fit_two(
        lambda _: hr.GradientBoostingRegressor(**{**SETTINGS, "n_estimators": 9}),
        lambda rank: {"callbacks": [stop(rank)]} if has_all or rank == 1 else {},
    )
    assert [model.n_iter_ for model in models] == [2, 2]


def test_an_error_before_the_first_call_ends_the_others():
    class Recorder:
        rank, size, reason = 0, 2, None

        def abort(self, reason):
            self.reason = reason

    recorder = Recorder()
    with pytest.raises(ParameterError):
        cluster.fit(hr.AdaBoostRegressor(), *table(10), communicator=recorder)
    assert "AdaBoostRegressor cannot be fitted" in recorder.reason


def test_the_rows_of_all_workers_are_counted_if_they_are_too_few():
    X, y = table(4)
    model = hr.GradientBoostingRegressor(early_stopping=True, n_estimators=3)
    with pytest.raises(DataError, match=r"validation_fraction=0.1 of 4 rows"):
        fit_together(model, X, y, [0, 1, 4])


def test_what_a_callback_fits_is_its_own():
    X, y = table(300)
    local = hr.GradientBoostingRegressor(**SETTINGS).fit(X, y).predict(X)
    found = []

    class Nested:
        """Fits a model of its own wherever it is called."""

        def before_fit(self, _):
            found.append(hr.GradientBoostingRegressor(**SETTINGS).fit(X, y).predict(X))

        def after_round(self, info):
            assert info.model.n_iter_ == info.round
            self.before_fit(None)

        after_fit = before_fit

    fit_two(
        lambda _: hr.GradientBoostingRegressor(**SETTINGS),
        lambda rank: {"callbacks": [Nested()]} if rank == 1 else {},
    )
    assert len(found) == SETTINGS["n_estimators"] + 2
    assert all(np.array_equal(predicted, local) for predicted in found)


@pytest.mark.parametrize(
    ("columns", "parameters", "reason"),
    [
        ({}, {}, r"a split needs 40 rows \(min_samples_leaf=20\), but each round uses only 9"),
        ({}, {"early_stopping": True, "n_estimators": 3}, "but each round uses only 8"),
        ({}, {"min_samples_leaf": 1, "min_child_weight": 30.0}, "all rows sum to 9"),
        ({"a": 1.0}, {"min_samples_leaf": 1}, "every feature is constant"),
        ({"a": [1.0] * 5 + [2.0] * 4}, {"min_samples_leaf": 6}, "no split leaves|a split needs 12"),
        ({}, {"min_samples_leaf": 1, "min_split_gain": 1e9}, "min_split_gain=1e\\+09"),
    ],
)
@pytest.mark.parametrize("ends", [[0, 1, 9], [0, 5, 9], list(range(10))], ids=str)
def test_a_model_without_splits(tmp_path, columns, parameters, reason, ends):
    X = pd.DataFrame({"a": np.arange(9.0)}).assign(**columns)
    y = np.array([1.0] * 5 + [2.0] * 4)
    model = hr.GradientBoostingRegressor(**{"n_estimators": 1, **parameters})
    with pytest.warns(hr.NoSplitWarning, match=reason):
        local = file_of(hr_clone(model).fit(X, y), tmp_path)
    with pytest.warns(hr.NoSplitWarning, match=reason):
        models = fit_together(model, X, y, ends)
    assert all(file_of(together, tmp_path) == local for together in models)


def test_one_target_in_the_rows_of_all_workers():
    X = pd.DataFrame({"a": np.arange(90.0)})
    with pytest.warns(hr.NoSplitWarning, match="the target is the same in every row"):
        fit_together(hr.GradientBoostingRegressor(n_estimators=1), X, np.ones(90), [0, 30, 90])


@pytest.mark.parametrize("loss", ["poisson", "absolute_error", "squared_error", "huber"])
def test_offsets(tmp_path, loss):
    X, y = table()
    offset = np.random.default_rng(5).normal(size=len(y))
    delta = {"delta": 0.5} if loss == "huber" else {}
    model = hr.GradientBoostingRegressor(**SETTINGS, **delta, loss=loss, early_stopping=True)
    assert_same_bytes(tmp_path, model, X, np.abs(y), [0, 900, 900, len(y)], offset=offset)


def test_offsets_of_three_classes(tmp_path):
    X, y = table()
    offset = np.random.default_rng(5).normal(size=(len(y), 3))
    model = hr.GradientBoostingClassifier(**SETTINGS)
    labels = np.digitize(y, [-0.5, 0.5])
    assert_same_bytes(tmp_path, model, X, labels, [0, 700, 1900, len(y)], offset=offset)


class Subclass(hr.GradientBoostingRegressor):
    """What users write: an estimator with a method more."""


def test_a_worker_without_rows_receives_the_model_of_a_subclass():
    X, y = table(200)
    first, idle = fit_together(Subclass(**SETTINGS), X, y, [0, 200, 200])
    assert type(idle) is Subclass
    np.testing.assert_array_equal(idle.predict(X), first.predict(X))
