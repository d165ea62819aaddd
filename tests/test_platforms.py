"""What Windows lacks or refuses, imitated here: the library takes another way.

The same is run on Windows itself, as far as Wine is it, by tools/platforms.
"""

import errno
import io
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from hedgerow import _files
from hedgerow._cli.streams import use_utf8
from hedgerow._import.cbm import _crash
from hedgerow.cluster._sockets import SocketListener
from patience import LONG

# A fresh interpreter without what only POSIX has, as far as that can be taken away. It imports
# every module of the library, saves a model over another one, and connects three workers.
WITHOUT_POSIX = """
import builtins, os, select, signal, sys
POSIX = ("fcntl", "resource", "pwd", "grp", "termios")
import_any = builtins.__import__
def import_portable(name, variables=None, *rest, **more):
    if name in POSIX and (variables or {}).get("__name__", "").startswith("hedgerow"):
        raise ImportError(name)
    return import_any(name, variables, *rest, **more)
builtins.__import__ = import_portable
FUNCTIONS = {
    os: ("fork", "register_at_fork", "getuid", "O_TMPFILE"),
    select: ("poll", "epoll"),
    signal: ("SIGHUP", "SIGALRM", "SIGUSR1"),
}
for module, names in FUNCTIONS.items():
    for name in names:
        if hasattr(module, name):
            delattr(module, name)

import importlib, pkgutil
import hedgerow
OPTIONAL = {"mlflow", "skl2onnx", "skops", "_shap_package"}
for found in pkgutil.walk_packages(hedgerow.__path__, "hedgerow."):
    if "_native." not in found.name and OPTIONAL.isdisjoint(found.name.split(".")):
        importlib.import_module(found.name)

from hedgerow.cluster import _poll
assert _poll.Poll is _poll.SelectPoll
from concurrent.futures import ThreadPoolExecutor
from hedgerow.cluster import SocketListener
listeners = [SocketListener() for _ in range(3)]
addresses = [listener.address for listener in listeners]
def work(rank):
    with listeners[rank].connect(rank, addresses, b"a token of the test") as communicator:
        return communicator.gather(bytes([rank]) * 3_000_000)
with ThreadPoolExecutor(3) as pool:
    gathered = list(pool.map(work, range(3)))
assert gathered == 3 * [[bytes([rank]) * 3_000_000 for rank in range(3)]]

path = sys.argv[1]
for n in (1, 2):
    model = hedgerow.DecisionTreeRegressor(max_depth=n).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 5.0])
    model.save(path)
assert hedgerow.load(path).get_depth() == 2
assert os.listdir(os.path.dirname(path)) == ["model.hedgerow"]
"""


def test_the_library_works_without_what_only_posix_has(tmp_path):
    command = [sys.executable, "-c", WITHOUT_POSIX, str(tmp_path / "model.hedgerow")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG)
    assert done.returncode == 0, done.stderr


def refuse(monkeypatch, times, winerror):
    """Let this many renames fail as on Windows; return the list of renames that were tried."""
    tried, rename = [], Path.replace

    def replace(source, target):
        tried.append(source)
        if len(tried) <= times:
            error = PermissionError(errno.EACCES, "Access is denied")
            error.winerror = winerror
            raise error
        return rename(source, target)

    monkeypatch.setattr(Path, "replace", replace)
    return tried


@pytest.fixture
def files(tmp_path):
    source, target = tmp_path / "new", tmp_path / "old"
    source.write_text("new")
    target.write_text("old")
    return source, target


@pytest.fixture
def clock(monkeypatch):
    """Let time pass while `replace_file` sleeps, and at no other moment."""
    passed = []
    clock = SimpleNamespace(monotonic=lambda: sum(passed), sleep=passed.append)
    monkeypatch.setattr(_files, "time", clock)


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("winerror", [5, 32])
def test_a_file_that_somebody_has_open_is_replaced_a_moment_later(files, winerror, monkeypatch):
    tried = refuse(monkeypatch, 2, winerror)
    _files.replace_file(*files)
    assert len(tried) == 3
    assert files[1].read_text() == "new"


@pytest.mark.usefixtures("clock")
def test_a_file_that_stays_open_is_an_error(files, monkeypatch):
    tried = refuse(monkeypatch, 10_000, 32)
    with pytest.raises(PermissionError):
        _files.replace_file(*files)
    assert 100 <= len(tried) <= 103  # two seconds, fifty times a second
    assert files[1].read_text() == "old"


def test_other_refusals_are_errors_at_once(files, monkeypatch):
    tried = refuse(monkeypatch, 1, None)
    with pytest.raises(PermissionError):
        _files.replace_file(*files)
    assert len(tried) == 1


class OnePart(socket.socket):
    """A socket without `sendmsg`."""

    def __init__(self, other):
        super().__init__(fileno=other.detach())

    def __getattribute__(self, name):
        if name == "sendmsg":
            raise AttributeError(name)
        return super().__getattribute__(name)


def test_sockets_that_send_one_part_at_a_time_are_enough(monkeypatch):
    from hedgerow.cluster import _sockets

    made = _sockets._Link
    plain = lambda connection: made(connection._replace(socket=OnePart(connection.socket)))  # noqa: E731
    monkeypatch.setattr(_sockets, "_Link", plain)
    listeners = [SocketListener() for _ in range(3)]
    addresses = [listener.address for listener in listeners]

    def work(rank):
        with listeners[rank].connect(rank, addresses, bytes(16)) as communicator:
            return [communicator.gather(bytes([rank]) * n) for n in (0, 1, 2_000_000)]

    with ThreadPoolExecutor(3) as pool:
        for gathered in pool.map(work, range(3)):
            assert gathered == [[bytes([r]) * n for r in range(3)] for n in (0, 1, 2_000_000)]


def test_maps_that_cannot_be_advised_are_kept(tmp_path):
    pytest.importorskip("distributed")
    from hedgerow.dask._spill import SpillFile

    spill = SpillFile(str(tmp_path))
    spill._map = object()
    spill.release()


def test_output_into_files_is_the_same_as_on_linux():
    file = io.BytesIO()
    stream = io.TextIOWrapper(file, "cp1252", newline="\r\n")
    use_utf8(stream)
    stream.write("Köln ▇\n")
    stream.flush()
    assert file.getvalue() == "Köln ▇\n".encode()


@pytest.mark.parametrize(
    ("code", "crash"),
    [
        (0, None),
        (1, None),
        (-11, "SIGSEGV"),
        (-99, "signal 99"),
        (0xC0000005, "exception 0xc0000005"),
    ],
)
def test_a_crash_of_a_child_has_a_name(code, crash):
    assert _crash(code) == crash
