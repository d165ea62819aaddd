"""Workers that are lost, errors, interrupts: the same bytes or one clear error, nothing left."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise

import dask
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pytest

import dask_work
import hedgerow as hr
import hedgerow.dask as hd
from dask_work import OPTIONS
from hedgerow.dask import _driver
from hedgerow.exceptions import ClusterError
from patience import LONG, wait_until

rng = np.random.RandomState(0)
FRAME = pd.DataFrame(rng.randn(400, 3), columns=["a", "b", "c"])
T = pd.Series(FRAME["a"] * 2 + rng.randn(400), name="t")
# What a fit notices without waiting for a worker that is silent.
WITHOUT_CLOCKS = partial(
    dask.config.set, {"hedgerow.silence": 2 * LONG, "hedgerow.patience": 2 * LONG}
)
EXPECTED = hr.GradientBoostingRegressor(n_estimators=12).fit(FRAME, T)


def collections(npartitions=4):
    return dd.from_pandas(FRAME, npartitions=npartitions), dd.from_pandas(
        T, npartitions=npartitions
    )


def model(**parameters):
    return hd.GradientBoostingRegressor(**({"n_estimators": 12} | parameters))


def is_expected(fitted):
    return dask_work.file_bytes(fitted.to_local()) == dask_work.file_bytes(EXPECTED)


@pytest.fixture(scope="module")
def mortal():
    """Return a client of three workers of which each test may kill one."""
    with (
        distributed.LocalCluster(n_workers=3, processes=True, **OPTIONS) as cluster,
        distributed.Client(cluster) as client,
    ):
        for nanny in cluster.workers.values():
            nanny.auto_restart = False
        client.run(dask_work.spill_everything)
        yield client


def nothing_is_left(client):
    left = set(client.run(dask_work.leftovers).values())
    assert left == {None}
    return True


# ---- kill -9 -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_frozen_worker_is_lost(mortal, tmp_path):
    freezing = dask_work.KillOnce(tmp_path, 2, sent=signal.SIGSTOP)
    try:
        with dask.config.set({"hedgerow.silence": 8.0, "hedgerow.patience": 15.0}):
            fitted = model().fit(*collections(), callbacks=[freezing])
    finally:
        os.kill(int((tmp_path / "killed").read_text()), signal.SIGCONT)
    assert is_expected(fitted)
    assert nothing_is_left(mortal)


def test_a_fit_survives_the_kill_of_a_worker(mortal, tmp_path):
    with WITHOUT_CLOCKS():
        fitted = model().fit(*collections(), callbacks=[dask_work.KillOnce(tmp_path, 1)])
    assert is_expected(fitted)
    assert nothing_is_left(mortal)
    assert not any(mortal.run(dask_work.files_of).values())  # of partitions, among others


def test_a_fit_goes_on_from_its_checkpoint(mortal, tmp_path, monkeypatch):
    monkeypatch.setattr(_driver, "_BETWEEN_CALLS", 0.1)
    monkeypatch.setattr(_driver, "_BETWEEN_CHECKPOINTS", 0.0)
    folder = tmp_path / "rounds"
    folder.mkdir()
    note = _driver.Attempt._note

    def note_and_tell(attempt, address, answer):
        note(attempt, address, answer)
        if attempt.fit.checkpoint is not None:
            (tmp_path / "checkpoint").touch()

    monkeypatch.setattr(_driver.Attempt, "_note", note_and_tell)
    killing = dask_work.KillOnce(tmp_path, 11, wait_for="checkpoint")
    fitted = model(n_estimators=14).fit(
        *collections(), callbacks=[dask_work.Rounds(folder), killing]
    )
    local = hr.GradientBoostingRegressor(n_estimators=14).fit(FRAME, T)
    assert dask_work.file_bytes(fitted.to_local()) == dask_work.file_bytes(local)
    rounds = [[int(line) for line in file.read_text().split()] for file in folder.iterdir()]
    for of_worker in rounds:
        again = [own for before, own in pairwise(of_worker) if own <= before]
        begins = [of_worker[0], *again]
        assert of_worker[-1] < 14 or begins[-1] > 1  # the last attempt began with a later round
    assert nothing_is_left(mortal)


def test_workers_that_die_too_often_are_an_error(mortal, tmp_path):
    with (
        dask.config.set({"hedgerow.retries": 0}),
        pytest.raises(ClusterError, match="failed, after 0 retries"),
    ):
        model().fit(*collections(), callbacks=[dask_work.KillOnce(tmp_path, 2)])


# ---- errors --------------------------------------------------------------------------------------


def test_the_error_of_a_worker_is_raised_once(processes):
    with WITHOUT_CLOCKS(), pytest.raises(ZeroDivisionError, match="in a callback"):
        model().fit(*collections(), callbacks=[dask_work.Fail()])


def test_an_error_that_cannot_be_sent_is_described(processes):
    with pytest.raises(RuntimeError, match=r"Worker . failed: OddError: this and that"):
        model().fit(*collections(), callbacks=[dask_work.FailOddly()])


def test_errors_of_the_data_are_those_of_the_local_fit(threads):
    X, y = collections()
    with pytest.raises(hr.DataError, match="y contains NaN"):
        model().fit(X, y.where(y > 0))


def test_a_partition_that_cannot_be_loaded_is_named(threads):
    X, y = collections()

    def broken(part):
        if part.index[0] > 0:
            raise OSError("no such file")
        return part

    with pytest.raises(ClusterError, match="partition could not be loaded: OSError: no such file"):
        model().fit(X.map_partitions(broken, meta=X._meta), y)


def parts(*tables):
    return dd.from_delayed([*map(dask.delayed, tables)], meta=tables[0].iloc[:0], verify_meta=False)


def test_partitions_with_other_types_are_an_error(threads):
    X = parts(FRAME[:200], FRAME[200:].astype({"b": str}))
    with pytest.raises(
        hr.DataError, match=r"column 'b', is float64 in partition 0, but (.*str|object)"
    ):
        model().fit(X, parts(T[:200], T[200:]))


def test_partitions_with_other_columns_are_an_error(threads):
    X = parts(FRAME[:200], FRAME[200:].drop(columns="b"))
    with pytest.raises(hr.DataError, match=r"partition 1 has different columns .* without \['b'\]"):
        model().fit(X, parts(T[:200], T[200:]))


def test_rows_that_do_not_match_are_an_error(threads):
    X, y = parts(FRAME[:200], FRAME[200:]), parts(T[:199], T[199:])
    with pytest.raises(hr.DataError, match="y has 199 rows in partition 0, but X has 200"):
        model().fit(X, y)
    with pytest.raises(hr.DataError, match="y has 4 partitions, but X has 2"):
        model().fit(X, collections()[1])


def test_tables_in_memory_are_refused(threads):
    with pytest.raises(hr.DataError, match=r"X is a DataFrame; .*estimator of the same name"):
        model().fit(FRAME, T)
    with pytest.raises(hr.DataError, match=r"y=.* must be a Dask collection"):
        model().fit(collections()[0], T)


def test_workers_that_are_not_there_are_an_error(threads):
    with pytest.raises(hr.ParameterError, match="no running worker 'tcp://nowhere:1'"):
        model().fit(*collections(), workers=["tcp://nowhere:1"])


def test_a_cluster_without_workers_is_an_error(monkeypatch):
    monkeypatch.setattr(_driver, "_FOR_WORKERS", 0.5)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, **OPTIONS) as cluster,
        distributed.Client(cluster),
        pytest.raises(ClusterError, match="No Dask worker is available"),
    ):
        model().fit(*collections())


# ---- interrupts and several fits -----------------------------------------------------------------


def ctrl_c_ends(client, estimator, **arguments):
    """Press Ctrl-C once workers fit, and see that nothing is left of the fit."""

    def interrupt():
        wait_until(lambda: any(client.run(dask_work.is_fitting).values()))
        os.kill(os.getpid(), signal.SIGINT)

    def fit():
        thread.start()
        estimator.fit(*collections(), **arguments)

    thread = threading.Thread(target=interrupt)
    with WITHOUT_CLOCKS(), pytest.raises(KeyboardInterrupt):
        fit()
    thread.join()
    return nothing_is_left(client)


def test_an_interrupt_ends_everything(processes):
    slow = [dask_work.Slow(0.1)]
    assert ctrl_c_ends(processes, model(n_estimators=100_000), callbacks=slow)


def test_an_interrupt_ends_a_fit_on_one_worker(processes):
    one = sorted(processes.scheduler_info(n_workers=-1)["workers"])[:1]
    slow = [dask_work.Slow(0.1)]
    assert ctrl_c_ends(processes, model(n_estimators=100_000), callbacks=slow, workers=one)


def test_an_interrupt_ends_a_forest(processes):
    assert ctrl_c_ends(processes, hd.RandomForestRegressor(n_estimators=100_000))


def test_workers_end_when_the_driver_is_gone(threads, monkeypatch):
    monkeypatch.setattr(_driver.Attempt, "_call_workers", lambda _self: None)
    with (
        WITHOUT_CLOCKS(),
        dask.config.set({"hedgerow.retries": 0}),
        pytest.raises(ClusterError, match="driver of the fit has disconnected"),
    ):
        model(n_estimators=100_000).fit(*collections(), callbacks=[dask_work.Forgotten()])


def test_results_have_the_time_that_workers_may_be_silent(threads, monkeypatch):
    monkeypatch.setattr(_driver, "_ANSWER", 0.0)  # no machine is as fast as that
    with WITHOUT_CLOCKS(), dask.config.set({"hedgerow.retries": 0}):
        assert is_expected(model().fit(*collections()))


def test_results_that_do_not_come_are_an_error_that_says_so(threads, monkeypatch):
    async def gather(_futures):
        raise TimeoutError

    monkeypatch.setattr(threads, "gather", gather)
    with (
        dask.config.set({"hedgerow.retries": 0, "hedgerow.silence": 600}),
        pytest.raises(ClusterError, match="a partition was lost: no answer within 600 s"),
    ):
        model().fit(*collections())


def test_two_fits_at_once_wait_for_each_other(threads):
    addresses = sorted(threads.scheduler_info(n_workers=-1)["workers"])
    sets = [addresses[:2], addresses[1:], addresses[::-1], addresses[:1]]
    with ThreadPoolExecutor(4) as pool:
        fits = [
            pool.submit(model(client=threads).fit, *collections(), workers=workers)
            for workers in sets
        ]
        assert all(is_expected(fit.result()) for fit in fits)
