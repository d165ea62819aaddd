"""Partitions that wait in a file: the same rows, no memory, no file that is left."""

import gc
import re
import warnings
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dask_work
import hedgerow as hr
import hedgerow.dask as hd
from hedgerow.dask import _session
from hedgerow.dask._collections import read_dataset
from hedgerow.dask._spill import SpillFile
from hedgerow.exceptions import ClusterError

rng = np.random.RandomState(0)
N = 600
FRAME = pd.DataFrame(rng.randn(N, 3), columns=["a", "b", "c"])
FRAME.loc[::7, "b"] = np.nan
FRAME["few"] = rng.randint(0, 4, N)
FRAME["gaps"] = pd.array(np.where(rng.rand(N) < 0.2, None, rng.randint(0, 9, N)), "Int64")
FRAME["town"] = rng.choice(["Ulm", "Bonn", "Kiel"], N)
FRAME["kind"] = pd.Categorical(rng.choice(list("xyz"), N))
Y = pd.Series((FRAME["a"] + rng.randn(N) > 0).astype(int), name="y")


# ---- the file ------------------------------------------------------------------------------------

MATRIX = rng.randn(5000, 60)
ARRAYS = {
    "rows": MATRIX,
    "columns": np.asfortranarray(MATRIX),
    "gaps between rows": MATRIX[::2, :-1],
    "single": MATRIX[:, 0].astype(np.float32),
    "flags": MATRIX[:, 0] > 0,
    "empty": MATRIX[:0],
    "dates": np.arange(5).astype("datetime64[D]"),
    "objects": np.array(["a", None, 3], object),
    "strings": FRAME["town"].array,
    "categories": FRAME["kind"].array,
    "nullable": FRAME["gaps"].array,
}


def test_arrays_come_back(tmp_path):
    file = SpillFile(str(tmp_path))
    stored = [file.write([array]) for array in ARRAYS.values()]
    for array, where in zip(ARRAYS.values(), stored, strict=True):
        (read,) = file.read(where)
        file.release()
        pd.testing.assert_series_equal(
            pd.Series(np.asarray(read).ravel()), pd.Series(np.asarray(array).ravel())
        )
        assert (read.dtype, read.shape) == (array.dtype, array.shape)


def test_the_file_has_no_name(tmp_path):
    file = SpillFile(str(tmp_path))
    file.write([MATRIX])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("is_read", [False, True])
def test_the_file_is_closed_when_nobody_refers_to_it(tmp_path, is_read):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        file = SpillFile(str(tmp_path))
        stored = file.write([MATRIX])
        arrays = file.read(stored) if is_read else []
        inner = file._file
        del file
        gc.collect()
        assert inner.closed
        assert not arrays or arrays[0].sum() == MATRIX.sum()  # which is mapped
    assert caught == []


def resident_file_bytes():
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024 * int(re.search(r"^RssFile:\s+(\d+) kB$", status, re.MULTILINE)[1])


def test_arrays_take_no_memory_when_they_are_released(tmp_path):
    file = SpillFile(str(tmp_path))
    array = rng.rand(1 << 21)
    (read,) = file.read(file.write([array]))
    before = resident_file_bytes()
    assert read.sum() == array.sum()
    assert resident_file_bytes() - before > 0.9 * array.nbytes
    file.release()
    assert resident_file_bytes() - before < 0.1 * array.nbytes
    assert read.sum() == array.sum()


def test_a_full_disk_is_an_error_that_names_the_folder(tmp_path):
    file = SpillFile(str(tmp_path))
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        file._file = full
        with pytest.raises(OSError, match=rf"No space left on device, .* waits in {tmp_path}"):
            file.write([MATRIX])


# ---- fits ----------------------------------------------------------------------------------------


@pytest.fixture
def written(monkeypatch):
    """Let partitions wait in files, however small they are; return what was written."""
    monkeypatch.setattr(_session, "_BYTES_IN_MEMORY", 0)
    arrays, write = [], SpillFile.write

    def write_and_note(file, own):
        arrays.append(own)
        return write(file, own)

    monkeypatch.setattr(SpillFile, "write", write_and_note)
    return arrays


def collections(npartitions=7):
    table = dd.from_pandas(FRAME.assign(y=Y), npartitions=npartitions)
    return table.drop(columns="y"), table["y"]


def same(model, local):
    return dask_work.file_bytes(model.to_local()) == dask_work.file_bytes(local)


@pytest.mark.parametrize(
    "parameters",
    [
        {"early_stopping": True},
        {"categorical_features": ["few"], "max_bins": 20},
        {"subsample_for_bin": 200, "subsample": 0.5},
    ],
    ids=str,
)
def test_the_model_is_the_same(threads, written, parameters):
    parameters = {"n_estimators": 8} | parameters
    model = hd.GradientBoostingClassifier(**parameters).fit(*collections())
    assert len(written) == 7
    assert same(model, hr.GradientBoostingClassifier(**parameters).fit(FRAME, Y))


def test_evaluation_sets_wait_in_the_file_as_well(threads, written):
    model = hd.GradientBoostingClassifier(n_estimators=5)
    model.fit(*collections(4), eval_set=[collections(3)])
    assert len(written) == 7
    local = hr.GradientBoostingClassifier(n_estimators=5).fit(FRAME, Y, eval_set=[(FRAME, Y)])
    assert same(model, local)
    assert model.evals_result_ == local.evals_result_


def test_partitions_of_other_types_wait_in_the_file(threads, written):
    table = pd.DataFrame({"a": FRAME["few"], "b": FRAME["a"]})
    parts = [table[:300], table[300:].astype({"a": np.float32})]
    X = dd.from_delayed([*map(dask.delayed, parts)], meta=table[:0], verify_meta=False)
    y = dd.from_delayed([dask.delayed(Y[:300]), dask.delayed(Y[300:])], meta=Y[:0])
    model = hd.GradientBoostingClassifier(n_estimators=3).fit(X, y)
    assert len(written) == 2
    assert same(model, hr.GradientBoostingClassifier(n_estimators=3).fit(table.astype(float), Y))


@pytest.mark.parametrize("estimator", ["RandomForestClassifier", "GradientBoostingRanker"])
def test_what_needs_all_numbers_writes_nothing(threads, written, estimator):
    X, y = collections(1)
    options = {"qid": y * 0} if estimator == "GradientBoostingRanker" else {}
    getattr(hd, estimator)(n_estimators=2).fit(X, y, **options)
    assert written == []


def test_what_is_persisted_is_not_written(threads, written):
    X, y = (collection.persist() for collection in collections())
    hd.GradientBoostingClassifier(n_estimators=2).fit(X, y)
    assert written == []


def test_few_bytes_are_not_written(threads, written, monkeypatch):
    monkeypatch.setattr(_session, "_BYTES_IN_MEMORY", 1 << 25)
    hd.GradientBoostingClassifier(n_estimators=2).fit(*collections())
    assert written == []


def test_a_full_disk_ends_a_fit(threads, written, monkeypatch):
    def fail(_file, _arrays):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(SpillFile, "write", fail)
    with pytest.raises(ClusterError, match=r"partition could not be loaded: OSError: .*No space"):
        hd.GradientBoostingClassifier(n_estimators=2).fit(*collections())


def persisted(X):
    dataset = read_dataset({"X": X})
    return {dataset.is_persisted(i) for i in range(dataset.n_partitions)}


def test_what_is_persisted(threads):
    array, frame = da.from_array(MATRIX, chunks=(1000, 60)), collections()[0]
    assert persisted(array) == persisted(frame) == persisted(array + 1) == {False}
    on_cluster = array.persist(), frame.persist()
    assert persisted(on_cluster[0]) == persisted(on_cluster[1]) == {True}
    assert persisted(da.concatenate([on_cluster[0].blocks[:2], on_cluster[0].blocks[2:]])) == {True}
    assert persisted(on_cluster[0] + 1) == persisted(on_cluster[1][["a"]]) == {False}
