"""Fits on Dask collections give the model of the local estimator, byte for byte."""

from itertools import pairwise

import dask
import dask.array as da
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import dask_work
import hedgerow as hr
import hedgerow.dask as hd
from hedgerow.exceptions import DataError, ParameterError

rng = np.random.RandomState(0)
N = 900
FRAME = pd.DataFrame(rng.randn(N, 3), columns=["a", "b", "c"])
FRAME.loc[::7, "b"] = np.nan
FRAME["town"] = rng.choice(["Ulm", "Bonn", "Kiel"], N)
Y = pd.Series((FRAME["a"] + rng.randn(N) > 0).astype(int), name="y")
T = pd.Series(FRAME["a"] * 2 + rng.randn(N), name="t")
WEIGHTS = pd.Series(rng.rand(N), name="w")


def uneven(table, sizes):
    """Return a collection whose partitions have these sizes; some may be empty."""
    edges = np.cumsum([0, *sizes])
    assert edges[-1] == len(table)
    parts = [dask.delayed(table.iloc[a:b]) for a, b in pairwise(edges)]
    return dd.from_delayed(parts, meta=table.iloc[:0], verify_meta=False)


def same(model, local):
    return dask_work.file_bytes(model.to_local()) == dask_work.file_bytes(local)


UNEVEN = [
    [900],
    [1, 899],
    [0, 450, 0, 0, 449, 1, 0],
    [100] * 9,
    [0, 0, 0, 900],
]


@pytest.mark.parametrize("sizes", UNEVEN, ids=str)
def test_a_model_does_not_depend_on_partitions(threads, sizes):
    model = hd.GradientBoostingClassifier(n_estimators=5, early_stopping=True)
    model.fit(uneven(FRAME, sizes), uneven(Y, sizes), uneven(WEIGHTS, sizes))
    local = hr.GradientBoostingClassifier(n_estimators=5, early_stopping=True)
    assert same(model, local.fit(FRAME, Y, WEIGHTS))


@pytest.mark.parametrize("name", ["GradientBoostingRegressor", "RandomForestRegressor"])
def test_rows_of_weight_0_are_left_out_wherever_they_are(threads, name):
    sizes = [200, 0, 300, 400]
    weights = WEIGHTS.where((np.arange(N) < 200) | (np.arange(N) % 3 == 1), 0.0)
    weights[200:500] = 0.0  # a whole partition
    options = {"n_estimators": 4, "random_state": 1}
    model = getattr(hd, name)(**options)
    model.fit(uneven(FRAME, sizes), uneven(T, sizes), uneven(weights, sizes))
    local = getattr(hr, name)(**options).fit(FRAME, T, weights)
    assert same(model, local)
    without = getattr(hr, name)(**options)
    without.fit(FRAME[weights > 0], T[weights > 0], weights[weights > 0])
    np.testing.assert_array_equal(local.predict(FRAME), without.predict(FRAME))


@pytest.mark.parametrize("transport", ["auto", "dask", "sockets"])
def test_a_model_does_not_depend_on_the_transport(processes, transport):
    with dask.config.set({"hedgerow.transport": transport}):
        model = hd.GradientBoostingRegressor(n_estimators=5)
        sizes = [200, 0, 300, 400]
        model.fit(uneven(FRAME, sizes), uneven(T, sizes), eval_set=[(FRAME[:100], T[:100])])
    local = hr.GradientBoostingRegressor(n_estimators=5)
    local.fit(FRAME, T, eval_set=[(FRAME[:100], T[:100])])
    assert same(model, local)
    assert model.evals_result_ == local.evals_result_


@pytest.fixture(params=["fsspec", "arrow"])
def files(request, tmp_path):
    """Return a collection of four Parquet files, of which Dask reads several as one if it can."""
    columns = {"y": Y, "t": T, "w": WEIGHTS, "group": np.arange(N) // 30, "offset": FRAME["c"] / 9}
    whole = FRAME.assign(**columns)
    for number, rows in enumerate(np.split(np.arange(N), [400, 401, 700])):
        whole.iloc[rows].to_parquet(tmp_path / f"part-{number}.parquet", index=False)
    return dd.read_parquet(tmp_path, filesystem=request.param)


def test_columns_of_parquet_files_keep_the_partitions_of_the_table(threads, files):
    assert [len(files[c].to_delayed()) for c in ("a", "t", "w")] == [2, 2, 2]
    models = []
    for source, kind in ((files, hd), (files.compute(), hr)):  # arrow sorts files in its own way
        X, y, w, offset = source[list(FRAME)], source["t"], source["w"], source["offset"]
        model = kind.GradientBoostingRegressor(n_estimators=3, early_stopping=True)
        options = {"groups": source["group"], "eval_set": [(X, y, w, offset)]}
        models.append(model.fit(X, y, w, offset=offset, **options))
    assert same(*models)
    predicted = models[0].predict(files[list(FRAME)], offset=files.offset)
    assert predicted.npartitions == 4
    np.testing.assert_array_equal(predicted.compute(), models[1].predict(X, offset=offset))


def test_the_target_may_be_dropped_from_the_columns_of_parquet_files(threads, files):
    for kind in ("GradientBoostingClassifier", "RandomForestClassifier"):
        models = []
        for source, module in ((files, hd), (files.compute(), hr)):
            X = source.drop(columns=["y", "t", "w", "group", "offset"])
            models.append(getattr(module, kind)(n_estimators=3, random_state=0).fit(X, source["y"]))
        assert same(*models)


def test_shap_values_of_parquet_files_have_their_partitions(threads, files):
    y = files["town"]
    model = hd.GradientBoostingClassifier(n_estimators=2).fit(files[["a", "b", "c"]], y)
    few = files[["a", "b", "c"]]
    values = hd.shap_values(model, few)
    assert values.numblocks[0] == 4
    expected = hr.explain.shap_values(model.to_local(), few.compute()).values
    np.testing.assert_array_equal(values.compute(), expected)


def test_two_columns_of_a_random_table_are_from_the_same_draw(threads):
    def draw(part):
        return part + np.random.randn(*part.shape)  # noqa: NPY002  without a seed

    table = dd.from_pandas(FRAME[["a", "c"]], npartitions=3).map_partitions(draw)
    model = hd.GradientBoostingRegressor(n_estimators=30).fit(table[["a"]], table["a"])
    assert np.corrcoef(model.predict(FRAME[["a"]]), FRAME["a"])[0, 1] > 0.95


def test_evaluation_sets_are_collections_with_any_partitions(threads):
    X, y = dd.from_pandas(FRAME, npartitions=4), dd.from_pandas(T, npartitions=4)
    valid = (uneven(FRAME, [0, 899, 1]), uneven(T, [0, 899, 1]), uneven(WEIGHTS, [0, 899, 1]))
    model = hd.GradientBoostingRegressor(n_estimators=4).fit(
        X, y, eval_set=[valid], eval_names=["valid"]
    )
    local = hr.GradientBoostingRegressor(n_estimators=4)
    local.fit(FRAME, T, eval_set=[(FRAME, T, WEIGHTS)], eval_names=["valid"])
    assert same(model, local)


@pytest.mark.parametrize(
    "name", ["RandomForestClassifier", "ExtraTreesClassifier", "GradientBoostingClassifier"]
)
def test_arrays_are_tables(threads, name):
    X = FRAME[["a", "b", "c"]].to_numpy()
    model = getattr(hd, name)(n_estimators=3).fit(
        da.from_array(X, chunks=(400, 2)), da.from_array(Y.to_numpy(), chunks=250)
    )
    assert same(model, getattr(hr, name)(n_estimators=3).fit(X, Y.to_numpy()))


def test_arrays_that_are_on_the_cluster_already(threads):
    X, y = FRAME[["a", "b", "c"]].to_numpy(), T.to_numpy()
    both = da.from_array(np.column_stack([X, y]), chunks=(300, 4)).persist()
    model = hd.GradientBoostingRegressor(n_estimators=3)
    model.fit(both[:, :3].persist(), both[:, 3].persist())
    assert same(model, hr.GradientBoostingRegressor(n_estimators=3).fit(X, y))


def test_a_ranker_needs_the_rows_of_a_query_on_one_worker(threads):
    query = pd.Series(np.arange(N) // 10, name="query")
    sizes = [300, 200, 400]
    X, y = uneven(FRAME, sizes), uneven(Y, sizes)
    model = hd.GradientBoostingRanker(n_estimators=3).fit(X, y, qid=uneven(query, sizes))
    assert same(model, hr.GradientBoostingRanker(n_estimators=3).fit(FRAME, Y, qid=query))
    with pytest.raises(hr.DataError, match="query are on several workers"):
        hd.GradientBoostingRanker(n_estimators=3).fit(X, y, qid=uneven(Y, sizes))


def test_what_several_workers_cannot_fit_is_refused_by_name(threads):
    X, y = dd.from_pandas(FRAME, npartitions=5), dd.from_pandas(Y, npartitions=5)
    with pytest.raises(hr.ParameterError, match="boosting='dart' cannot be used"):
        hd.GradientBoostingClassifier(n_estimators=2, boosting="dart").fit(X, y)


def test_anything_can_be_fitted_by_one_worker(threads):
    X, y = dd.from_pandas(FRAME, npartitions=5), dd.from_pandas(Y, npartitions=5)
    model = hd.GradientBoostingClassifier(n_estimators=2, boosting="dart")
    one = sorted(threads.scheduler_info(n_workers=-1)["workers"])[:1]
    model.fit(X, y, workers=one)
    assert same(model, hr.GradientBoostingClassifier(n_estimators=2, boosting="dart").fit(FRAME, Y))


def test_categories_that_partitions_know_in_part(threads):
    frame = FRAME.astype({"town": "category"})
    halves = [frame[:450].copy(), frame[450:].copy()]
    halves[0].loc[halves[0]["town"] == "Ulm", "town"] = "Bonn"
    halves = [half.assign(town=half["town"].cat.remove_unused_categories()) for half in halves]
    whole = pd.concat([half.astype({"town": str}) for half in halves]).astype({"town": "category"})
    X = dd.from_delayed([*map(dask.delayed, halves)], meta=frame.iloc[:0], verify_meta=False)
    model = hd.GradientBoostingRegressor(n_estimators=3).fit(X, uneven(T, [450, 450]))
    local = hr.GradientBoostingRegressor(n_estimators=3).fit(whole, T)
    assert same(model, local)
    assert list(model.predict(X).compute()) == list(local.predict(whole))


def test_unknown_categories_of_an_evaluation_set_are_missing_or_an_error(threads):
    X, y = uneven(FRAME, [450, 450]), uneven(T, [450, 450])
    others = FRAME.assign(town=FRAME["town"].replace("Ulm", "Jena"))
    for valid in ((others, T), (uneven(others, [300, 600]), uneven(T, [300, 600]))):
        model = hd.GradientBoostingRegressor(n_estimators=3).fit(X, y, eval_set=[valid])
        local = hr.GradientBoostingRegressor(n_estimators=3).fit(FRAME, T, eval_set=[(others, T)])
        assert same(model, local)
        strict = hd.GradientBoostingRegressor(n_estimators=3, unknown_category="error")
        with pytest.raises(DataError, match="Jena"):
            strict.fit(X, y, eval_set=[valid])


def test_whole_numbers_in_some_partitions_are_numbers(threads):
    frame = FRAME.assign(count=np.arange(N) % 7)
    halves = [frame[:450], frame[450:].astype({"count": float})]
    X = dd.from_delayed([*map(dask.delayed, halves)], meta=frame.iloc[:0], verify_meta=False)
    model = hd.GradientBoostingRegressor(n_estimators=3).fit(X, uneven(T, [450, 450]))
    local = hr.GradientBoostingRegressor(n_estimators=3).fit(frame.astype({"count": float}), T)
    assert same(model, local)


def test_a_fit_with_some_workers(threads):
    one = sorted(threads.scheduler_info(n_workers=-1)["workers"])[:1]
    X, y = dd.from_pandas(FRAME, npartitions=4), dd.from_pandas(T, npartitions=4)
    model = hd.GradientBoostingRegressor(n_estimators=3).fit(X, y, workers=one)
    assert same(model, hr.GradientBoostingRegressor(n_estimators=3).fit(FRAME, T))


def test_a_model_is_continued(threads):
    X, y = dd.from_pandas(FRAME, npartitions=4), dd.from_pandas(T, npartitions=4)
    start = hd.GradientBoostingRegressor(n_estimators=3).fit(X, y)
    model = hd.GradientBoostingRegressor(n_estimators=2).fit(X, y, init_model=start)
    local = hr.GradientBoostingRegressor(n_estimators=2)
    assert same(model, local.fit(FRAME, T, init_model=start.to_local()))


# ---- the estimators themselves -------------------------------------------------------------------

NAMES = [name for name in hd.__all__ if hasattr(getattr(hd, name), "_parameters")]


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_those_of_the_local_estimator(name):
    model, local = getattr(hd, name)(), getattr(hr, name)()
    assert model.get_params() == local.get_params() | {"client": None}
    assert f"`hedgerow.{name}`" in type(model).__doc__


def test_unknown_parameters_are_explained():
    with pytest.raises(TypeError, match="did you mean 'learning_rate'"):
        hd.GradientBoostingClassifier(eta=0.1)
    with pytest.raises(hr.ParameterError, match="client='here' is not allowed"):
        hd.GradientBoostingClassifier(client="here").fit(None, None)


def test_a_clone_has_the_same_client(threads):
    model = hd.RandomForestRegressor(max_depth=3, client=threads)
    assert clone(model).get_params() == model.get_params()


def test_fitted_attributes_are_those_of_the_local_model(threads, tmp_path):
    X, y = dd.from_pandas(FRAME, npartitions=2), dd.from_pandas(Y, npartitions=2)
    model = hd.GradientBoostingClassifier(n_estimators=2, client=threads).fit(X, y)
    assert list(model.classes_) == [0, 1]
    assert model.n_iter_ == 2
    assert model.feature_importances_.shape == (4,)
    model.save(tmp_path / "model")
    assert same(model, hr.load(tmp_path / "model"))
    with pytest.raises(AttributeError):
        model.nothing_  # noqa: B018


def test_without_a_client_there_is_an_error():
    with pytest.raises(hr.ParameterError, match="no Dask client"):
        hd.GradientBoostingRegressor().fit(dd.from_pandas(FRAME, 2), dd.from_pandas(T, 2))


def test_unknown_settings_are_an_error(threads):
    X, y = dd.from_pandas(FRAME, npartitions=2), dd.from_pandas(T, npartitions=2)
    for settings in ({"hedgerow.transport": "pigeons"}, {"hedgerow.retry": 3}):
        with (
            dask.config.set(settings),
            pytest.raises(hr.ParameterError, match=r"hedgerow\.(tr|retry)"),
        ):
            hd.GradientBoostingRegressor().fit(X, y)


@pytest.mark.parametrize("kind", ["polars", "arrow", "dicts", "pair", "lists"])
def test_evaluation_sets_in_memory_keep_their_columns(threads, kind):
    import polars as pl
    import pyarrow as pa

    rows, target = FRAME.iloc[:200, ::-1], T.iloc[:200]
    tables = {
        "polars": [(pl.from_pandas(rows), target.to_numpy())],
        "arrow": [(pa.Table.from_pandas(rows), target.to_numpy())],
        "dicts": [(rows.to_dict("records"), target.tolist())],
        "pair": (rows, target),
        "lists": [[rows, target]],
    }
    parameters = {"n_estimators": 15, "early_stopping": True, "n_iter_no_change": 2}
    arguments = {"eval_set": tables[kind]}
    model = hd.GradientBoostingRegressor(**parameters)
    model.fit(dd.from_pandas(FRAME, npartitions=3), dd.from_pandas(T, npartitions=3), **arguments)
    assert same(model, hr.GradientBoostingRegressor(**parameters).fit(FRAME, T, **arguments))


def test_an_array_that_is_no_table_is_refused(threads):
    X, y = da.from_array(FRAME[["a", "b"]].to_numpy(), chunks=(300, 2)), da.from_array(T.to_numpy())
    model = hd.GradientBoostingRegressor(n_estimators=2)
    for wrong, n in ((X[:, 0], 1), (X[:, :, None], 3)):
        with pytest.raises(DataError, match=rf"X has {n} dimension\(s\), but a table has two"):
            model.fit(wrong, y)
    fitted = model.fit(X, y)
    with pytest.raises(DataError, match="X has 1 dimension"):
        fitted.predict(X[:, 0])


def test_eval_set_of_another_shape_is_refused(threads):
    collections = dd.from_pandas(FRAME, npartitions=2), dd.from_pandas(T, npartitions=2)
    for eval_set in ([FRAME], FRAME, [(FRAME,)], 3):
        with pytest.raises(
            DataError, match=r"eval_set must be a list of \(X, y, sample_weight, offset\)"
        ):
            hd.GradientBoostingRegressor(n_estimators=2).fit(*collections, eval_set=eval_set)


@pytest.mark.parametrize("workers", [[], "tcp://127.0.0.1:1"], ids=["none", "text"])
def test_workers_that_are_no_list_are_refused_at_once(threads, workers):
    collections = dd.from_pandas(FRAME, npartitions=2), dd.from_pandas(T, npartitions=2)
    with pytest.raises(ParameterError, match=r"workers=.* must be a nonempty list of addresses"):
        hd.GradientBoostingRegressor(n_estimators=2).fit(*collections, workers=workers)


def test_a_closed_client_is_refused(threads):
    client = distributed.Client(threads.scheduler.address, set_as_default=False)
    client.close()
    collections = dd.from_pandas(FRAME, npartitions=2), dd.from_pandas(T, npartitions=2)
    with pytest.raises(ParameterError, match="client is closed"):
        hd.GradientBoostingRegressor(n_estimators=2, client=client).fit(*collections)


@pytest.mark.parametrize("value", ["x", -1, None, True, float("nan")])
def test_settings_that_are_no_numbers_are_refused(threads, value):
    collections = dd.from_pandas(FRAME, npartitions=2), dd.from_pandas(T, npartitions=2)
    with (
        dask.config.set({"hedgerow.retries": value}),
        pytest.raises(ParameterError, match=r"hedgerow\.retries=.* must be a number"),
    ):
        hd.GradientBoostingRegressor(n_estimators=2).fit(*collections)


def test_offsets_are_collections_too(threads):
    sizes = [200, 0, 300, 400]
    counts, offset = T.abs().round(), WEIGHTS.rename("offset")
    rows = [uneven(each, sizes) for each in (FRAME, counts, offset)]
    valid = (FRAME[:300], counts[:300], None, offset[:300])
    options = {"loss": "poisson", "n_estimators": 4}
    model = hd.GradientBoostingRegressor(**options)
    model.fit(rows[0], rows[1], offset=rows[2], eval_set=[valid])
    local = hr.GradientBoostingRegressor(**options)
    local.fit(FRAME, counts, offset=offset, eval_set=[valid])
    assert same(model, local)
    assert model.evals_result_ == local.evals_result_
    expected = local.predict(FRAME, offset=offset)
    np.testing.assert_array_equal(model.predict(rows[0], offset=rows[2]).compute(), expected)
    np.testing.assert_array_equal(model.predict(FRAME, offset=offset), expected)
