"""What strangers can do to workers on sockets: nothing but end a fit."""

import ast
import errno
import json
import pickle
import secrets
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cluster_work
import hedgerow
from cluster_relays import Relay
from hedgerow._collective import Workers
from hedgerow._plain_values import NotPlainError, pack_value, unpack_value
from hedgerow.cluster import SocketListener, run_threads
from hedgerow.cluster import _frames as frames
from hedgerow.cluster import _handshake as handshake
from hedgerow.exceptions import ClusterError
from patience import LONG

TOKEN = secrets.token_bytes(32)


class Touch:
    """A pickle that writes a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def on_workers(work, size=2, between=None):
    """Run a function on connected workers; return what each returned, or its ClusterError.

    `between` is the address at which worker 1 finds worker 0.
    """
    with ExitStack() as stack:
        listeners = [stack.enter_context(SocketListener()) for _ in range(size)]
        addresses = [listener.address for listener in listeners]
        relay = None if between is None else between(addresses[0])
        if relay is not None:
            stack.callback(relay.close)

        def run(rank):
            known = addresses if relay is None or rank == 0 else [relay.address, *addresses[1:]]
            try:
                with listeners[rank].connect(rank, known, TOKEN, start=LONG) as communicator:
                    return work(communicator)
            except ClusterError as error:
                return str(error)

        with ThreadPoolExecutor(size) as pool:
            return list(pool.map(run, range(size)))


def three_sums(communicator):
    together = Workers(communicator)
    return [together.objects({"rank": together.rank, "call": i}) for i in range(3)]


def test_a_relay_that_changes_nothing_is_not_noticed():
    expected = [[{"rank": rank, "call": i} for rank in (0, 1)] for i in range(3)]
    assert on_workers(three_sums, between=Relay) == [expected, expected]


def with_another_payload(content):
    def change(frame, answers):
        fields = struct.pack("<QQ", 0, len(content)) + frames.digest_of(content)
        return frame[:1] + fields + frame[1 + len(fields) : frames.HEADER] + content

    return change


CHANGES = {
    "a bit of the payload": lambda frame, _: frame[:-1] + bytes([frame[-1] ^ 1]),
    "the length": lambda frame, _: frame[:12] + b"\xff" + frame[13:],
    "the number of the call": lambda frame, _: frame[:1] + b"\7" + frame[2:],
    "an abort": lambda frame, _: bytes([3]) + frame[1:],
    "all of it": lambda *_: b"GET / HTTP/1.1\r\n" * 20,
    "repeated": lambda frame, _: frame * 2,
    "an answer sent back": lambda frame, answers: answers[-1] if answers else frame,
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_relay_that_changes_frames_ends_the_fit(name):
    for error in on_workers(three_sums, between=lambda a: Relay(a, CHANGES[name])):
        assert isinstance(error, str)
        assert "worker 1 sent a message that is not authentic" in error


def test_a_relay_that_cuts_a_frame_ends_the_fit():
    class Cutter(Relay):
        def _pass(self, source, target, lengths, change):  # noqa: ARG002
            with suppress(OSError, EOFError):
                for length in (*lengths, frames.HEADER + 3):
                    target.sendall(self._read(source, length))
            for end in (source, target):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    for error in on_workers(three_sums, between=Cutter):
        assert "has disconnected" in error


def test_a_relay_that_sends_a_pickle_runs_nothing(tmp_path):
    evil = pickle.dumps(Touch(tmp_path / "ran"))
    for error in on_workers(three_sums, between=lambda a: Relay(a, with_another_payload(evil))):
        assert "not authentic" in error
    assert not (tmp_path / "ran").exists()


def test_a_worker_that_sends_a_pickle_runs_nothing(tmp_path):
    evil = pickle.dumps(Touch(tmp_path / "ran"))

    def work(communicator):
        if communicator.rank == 1:
            return communicator.gather(evil)[1]
        return Workers(communicator).objects(1)

    with pytest.raises(ClusterError, match="Worker 1 sent something that is no plain value"):
        run_threads(work, 2)
    assert not (tmp_path / "ran").exists()
    pickle.loads(evil)
    assert (tmp_path / "ran").exists()


def test_no_file_between_the_sockets_and_the_fit_can_read_pickles():
    source = Path(hedgerow.__file__).parent
    files = [source / "_collective.py", source / "_plain_values.py"]
    files += [path for path in (source / "cluster").glob("*.py") if path.stem != "_processes"]
    assert len(files) > 7
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert not {"pickle", "marshal", "shelve", "joblib", "dill"} & set(names), path


# ---- frames --------------------------------------------------------------------------------------


def test_frames_open_in_their_order_only():
    key = secrets.token_bytes(32)
    sender = frames.Direction(key)
    sealed = [sender.seal(1, i, frames.Payload.of(b"x")) for i in range(3)]
    receiver = frames.Direction(key)
    assert receiver.open(sealed[0]).number == 0
    for wrong in (sealed[0], sealed[2]):  # repeated; one left out
        with pytest.raises(frames.BadMessageError, match="not authentic"):
            receiver.open(wrong)
    assert [receiver.open(each).number for each in sealed[1:]] == [1, 2]


def test_both_directions_and_all_connections_have_keys_of_their_own():
    sealed = set()
    for nonces in (bytes(64), bytes([1] * 64)):
        for ends in ((1, 0, 3), (2, 0, 3), (1, 0, 2)):
            for token in (TOKEN, bytes(32)):
                for direction in handshake._Proofs(token, ends, nonces).directions():
                    sealed.add(direction.seal(1, 0, frames.Payload.of(b"")))
    assert len(sealed) == 2 * 3 * 2 * 2


# ---- callers who prove nothing -------------------------------------------------------------------


def silent_callers(address, n, stack):
    for _ in range(n):
        caller = stack.enter_context(socket.socket())
        caller.setblocking(False)
        caller.connect_ex(address)


@pytest.mark.parametrize("most_pending", [4, handshake.MOST_PENDING])
def test_200_silent_callers_do_not_change_a_fit(most_pending, monkeypatch):
    monkeypatch.setattr(handshake, "MOST_PENDING", most_pending)
    expected = run_threads(cluster_work.model_bytes, 2)[0]
    with ExitStack() as stack:

        def call(address):
            silent_callers(address, 200, stack)  # before the workers connect
            during = threading.Thread(target=silent_callers, args=(address, 200, stack))
            during.start()
            stack.callback(during.join)

        assert on_workers(cluster_work.model_bytes, between=call) == [expected] * 2


def test_a_worker_that_is_turned_away_calls_again():
    assert len(on_workers(three_sums, between=lambda a: Relay(a, n_reset=3))[0]) == 3


def test_those_who_stay_silent_go_first(monkeypatch):
    monkeypatch.setattr(handshake, "MOST_PENDING", 2)
    monkeypatch.setattr(handshake, "PROVING", LONG)
    mesh = handshake.Mesh(None, 0, [("", 0)] * 3, TOKEN, LONG)
    callers = {}
    for descriptor, rank in enumerate([None, 1, None, 2]):
        ours, theirs = socket.socketpair()
        theirs.close()
        with ours:
            callers[descriptor] = handshake._Caller(ours, mesh)
        callers[descriptor].rank = rank
    gone = []
    while late := mesh._late(callers):
        gone += late
        del callers[late[0]]
    assert gone == [0, 2]
    for caller in callers.values():
        caller.since -= 2 * handshake.PROVING
    assert mesh._late(callers) == [1, 3]


def test_a_process_without_file_descriptors_waits_for_some():
    calls = []

    class Exhausted(socket.socket):
        def accept(self):
            calls.append(None)
            raise OSError(errno.EMFILE, "too many open files")

    with Exhausted() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        mesh = handshake.Mesh(listener, 0, [listener.getsockname()] * 2, TOKEN, 0.3)
        with socket.create_connection(listener.getsockname()):
            start = time.monotonic()
            with pytest.raises(ClusterError, match="Worker 1 did not connect"):
                mesh.connect()
    # Without a pause there are thousands.
    assert 1 <= len(calls) <= 2 + (time.monotonic() - start) / handshake._SHORTEST_PAUSE


# ---- plain values --------------------------------------------------------------------------------

# However slow the machine is.
UNTIMED = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
)
VALUES = st.recursive(
    SCALARS,
    lambda each: (
        st.lists(each)
        | st.tuples(each, each)
        | st.dictionaries(st.integers() | st.text() | st.tuples(st.integers()), each)
    ),
    max_leaves=12,
)
ARRAYS = [
    np.arange(6, dtype=np.float32).reshape(2, 3).T,
    np.array(["é", "long string"]),
    np.array(["a", 1, None], object),
    np.zeros((0, 4), np.uint8),
    np.array(True),
    np.array([np.nan, -0.0]),
    np.arange(3, dtype=">i8"),
]


@UNTIMED
@given(VALUES)
def test_plain_values_arrive_as_they_were(value):
    assert unpack_value(pack_value(value)) == value


@pytest.mark.parametrize("array", ARRAYS, ids=str)
def test_arrays_arrive_as_they_were(array):
    name, received = unpack_value(pack_value(("x", array)))
    assert name == "x"
    assert (received.dtype, received.shape) == (array.dtype, array.shape)
    assert received.flags.aligned
    np.testing.assert_array_equal(received, array)
    if array.dtype.kind != "O":
        assert unpack_value(pack_value(array.dtype)) == array.dtype


@UNTIMED
@given(st.binary(max_size=80), st.data())
def test_bytes_that_are_no_plain_value_are_refused(noise, data):
    packed = bytearray(pack_value({"a": np.arange(3), "b": [b"xyz", (1, "t")]}))
    position = data.draw(st.integers(0, len(packed) - 1))
    for damaged in (noise, packed[:position] + noise, packed[:position]):
        try:
            value = unpack_value(bytes(damaged))
        except NotPlainError:
            continue
        assert pack_value(value)


@pytest.mark.parametrize(
    "dtype",
    [
        *("O", "V8", "f8,f8", "M8[ns]", "|O", "<f8 ", "<f3", 8, None, "nonsense"),
        *("i4,(", "<U9999999999", "(2,)<f8", "<U0"),
    ],
)
def test_arrays_of_other_types_are_refused(dtype):
    document = json.dumps({"array": [dtype, [1]]}).encode()
    with pytest.raises(NotPlainError):
        unpack_value(struct.pack("<Q", len(document)) + document + bytes(64))


def test_what_is_not_plain_is_not_sent():
    for value in (object(), {1, 2}, np.array(["2020-01-01"], "M8[D]"), 1j, [print]):
        with pytest.raises(TypeError):
            pack_value(value)
