"""CatBoost's binary format: its loader may crash, hang or fail, in a process of its own.

A module of the name catboost stands for the library, with a loader that does what a test says;
where CatBoost is installed, truncated files of its own are read, too.
"""

import multiprocessing
import sys
import threading
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow._import import cbm
from importing.rows import NUMERIC, table, target
from patience import LONG

FOLDER = Path(__file__).parent / "catboost"
CATBOOST = """
import ctypes, os, shutil, sys, time

class CatBoost:
    def load_model(self, blob):
        assert blob.startswith(b"CBM1")
        {what}

    def save_model(self, path, format):
        shutil.copy({json!r}, path)
"""


@pytest.fixture
def path_with(tmp_path, monkeypatch):
    """Install a CatBoost whose loader runs a statement; return the path of a file to load."""

    def installed(what):
        json = str(FOLDER / "numbers.json")
        (tmp_path / "catboost.py").write_text(CATBOOST.format(what=what, json=json))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(cbm, "SECONDS", LONG)
        (tmp_path / "model.cbm").write_bytes(b"CBM1" + bytes(100))
        return tmp_path / "model.cbm"

    return installed


def test_a_model_is_read_without_importing_catboost_here(path_with):
    path = path_with("print('CatBoost may print'); print('anywhere', file=sys.stderr)")
    imported = "catboost" in sys.modules
    expected = hr.read_model(FOLDER / "numbers.json")
    rows = table(40)[NUMERIC]
    assert (hr.read_model(path).predict(rows) == expected.predict(rows)).all()
    assert ("catboost" in sys.modules) == imported


@pytest.mark.parametrize(
    ("what", "signal"), [("os.abort()", "SIGABRT"), ("ctypes.string_at(8)", "SIGSEGV")]
)
def test_a_crash_of_the_loader_is_an_error_of_the_file(what, signal, path_with, capfd):
    path = path_with(what)
    with pytest.raises(hr.ModelFileError, match=rf"model.cbm.*loader crashed.*\({signal}\)"):
        hr.read_model(path)
    assert capfd.readouterr() == ("", "")


def test_an_error_of_the_loader_is_quoted(path_with):
    path = path_with("raise KeyError('no trees')")
    with pytest.raises(hr.ModelFileError, match="CatBoost cannot read the file: KeyError: 'no tre"):
        hr.read_model(path)


def test_a_loader_that_does_not_end_is_stopped(path_with, monkeypatch):
    path = path_with("time.sleep(600)")
    monkeypatch.setattr(cbm, "SECONDS", 0.5)
    with pytest.raises(hr.ModelFileError, match="has not read the file"):
        hr.read_model(path)


WORKERS = [threading.Thread]
if "fork" in multiprocessing.get_all_start_methods():
    WORKERS.append(multiprocessing.get_context("fork").Process)


@pytest.mark.parametrize("worker", WORKERS)
def test_daemons_read_models_too(worker, path_with, tmp_path):
    path = path_with("pass")
    work = worker(
        target=lambda: (tmp_path / "origin").write_text(str(hr.read_model(path).origin_)),
        daemon=True,
    )
    work.start()
    work.join()
    assert (tmp_path / "origin").read_text() == "CatBoost 1.2.10 (JSON, RMSE)"


@pytest.mark.parametrize(
    ("lacks", "message"),
    [
        (lambda patch: patch.setitem(sys.modules, "catboost", None), "if catboost is installed"),
        (lambda patch: patch.setattr(sys, "executable", None), "this program has none"),
        (lambda patch: patch.setattr(sys, "frozen", True, raising=False), "this program has none"),
    ],
)
def test_what_is_missing_is_said_with_another_way(lacks, message, path_with, monkeypatch):
    path = path_with("pass")
    lacks(monkeypatch)
    with pytest.raises(hr.ModelFileError, match=rf"{message}.* save the model as JSON"):
        hr.read_model(path)


def test_truncated_files_of_catboost_are_refused(tmp_path):
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostRegressor(iterations=5, verbose=0, allow_writing_files=False)
    model.fit(table()[NUMERIC], target(table()))
    path = tmp_path / "model.cbm"
    model.save_model(str(path))
    data = path.read_bytes()
    for share in (0.05, 0.3, 0.6, 0.9, 0.99):
        path.write_bytes(data[: int(share * len(data))])
        with pytest.raises(hr.ModelFileError, match="CatBoost"):
            hr.read_model(path)
