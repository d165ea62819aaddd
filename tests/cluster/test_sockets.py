"""Workers in processes and threads that are connected by TCP."""

import multiprocessing
import secrets
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import cluster_work
from hedgerow.cluster import SocketListener, run_processes, run_threads
from hedgerow.cluster import _frames as frames
from hedgerow.cluster import _handshake as handshake
from hedgerow.cluster import _sockets as sockets
from hedgerow.exceptions import ClusterError, ParameterError
from patience import LONG, wait_until

TOKEN = secrets.token_bytes(32)


def assert_no_process_is_left():
    # joblib keeps the processes of other tests, and these share the workers of a Dask cluster.
    left = [each.name for each in multiprocessing.active_children()]
    assert [name for name in left if "Loky" not in name and "Dask" not in name] == []


def connected(size, **options):
    """Return the communicators of several workers of this process."""
    listeners = [SocketListener() for _ in range(size)]
    addresses = [listener.address for listener in listeners]
    with ThreadPoolExecutor(size) as pool:
        return list(
            pool.map(
                lambda rank: listeners[rank].connect(rank, addresses, TOKEN, **options), range(size)
            )
        )


@pytest.fixture
def workers():
    """Return a function that connects workers, and disconnects them afterwards."""
    opened = []

    def open_(size, **options):
        opened.extend(connected(size, **options))
        return opened

    yield open_
    in_threads(opened, lambda communicator: communicator.close())


def in_threads(communicators, work):
    """Call a function with each communicator; return results and errors."""

    def run(communicator):
        try:
            return work(communicator)
        except ClusterError as error:
            return error

    with ThreadPoolExecutor(max(1, len(communicators))) as pool:
        return list(pool.map(run, communicators))


@pytest.mark.parametrize("size", [1, 2, 5])
def test_every_part_reaches_its_worker(workers, size):
    results = in_threads(workers(size), cluster_work.verbs)
    assert all(right for right, _ in results)
    sent = sum(2 * n + n for n in (0, 1, 100, 3_000_000)) * (size - 1)
    for _, traffic in results:
        assert (traffic.exchanges, traffic.gathers, traffic.bytes_sent) == (4, 4, sent)


def test_many_calls_stay_in_order(workers):
    def work(communicator):
        return [communicator.gather(struct.pack("<I", i)) for i in range(300)]

    for result in in_threads(workers(3), work):
        assert result == [[struct.pack("<I", i)] * 3 for i in range(300)]


def test_processes_return_their_results_in_the_order_of_ranks():
    assert run_processes(cluster_work.ten_calls, 3) == [[b"\0", b"\1", b"\2"]] * 3
    assert_no_process_is_left()


def test_a_worker_that_computes_gives_signs_of_life(workers):
    communicators = workers(2)
    link = communicators[1]._links[0]

    def work(communicator):
        if communicator.rank == 0:
            before = link.last_sign
            wait_until(lambda: link.last_sign > before + sockets.BETWEEN_HEARTBEATS / 2)
        return communicator.gather(b"x")

    assert in_threads(communicators, work) == [[b"x", b"x"]] * 2


def test_the_error_of_a_worker_is_raised_and_the_other_ends():
    with pytest.raises(ZeroDivisionError, match="of worker 1"):
        run_processes(cluster_work.fails, 2)
    assert_no_process_is_left()


def test_a_killed_worker_ends_all_others_however_long_silence_may_last():
    with pytest.raises(
        ClusterError, match=r"orker 1 (has disconnected|ended with exit code -9|cannot be)"
    ):
        run_processes(cluster_work.dies, 3, silence=2 * LONG)
    assert_no_process_is_left()


def test_a_frozen_worker_is_lost_after_a_while():
    with pytest.raises(ClusterError, match="worker 1 has not responded for 2 s"):
        run_processes(cluster_work.freezes, 2, silence=2.0)
    assert_no_process_is_left()


def test_an_abort_reaches_every_worker_in_its_call(workers):
    communicators = workers(3, silence=2 * LONG)

    def work(communicator):
        if communicator.rank == 0:
            time.sleep(0.2)
            communicator.abort("enough.")
        communicator.gather(b"")

    for error in in_threads(communicators, work):
        assert str(error) == "The fit was ended: enough."


def test_an_abort_reaches_workers_that_compute(workers):
    communicators = workers(2)
    communicators[0].abort("enough")
    time.sleep(0.2)
    with pytest.raises(ClusterError, match="enough"):
        communicators[1].exchange([b"", b""])


def test_a_worker_that_ends_early_ends_the_others(workers):
    def work(communicator):
        cluster_work.stops(communicator)
        communicator.close()

    results = in_threads(workers(3), work)
    assert results[1] is None
    assert all("worker 1 has disconnected" in str(results[rank]) for rank in (0, 2))


def test_the_last_message_arrives_although_its_sender_closes(workers):
    def work(communicator):
        result = communicator.gather(bytes(1_000_000))
        communicator.close()
        return result

    assert in_threads(workers(3), work) == [[bytes(1_000_000)] * 3] * 3


def test_different_calls_are_an_error(workers):
    for error in in_threads(workers(2), cluster_work.mixed_up):
        assert "made a different call" in str(error)


def test_a_call_has_a_deadline(workers):
    communicators = workers(2)
    communicators[0]._timeout = 0.5
    with pytest.raises(ClusterError, match=r"worker 1 did not take part in a call within 0\.5 s"):
        communicators[0].gather(b"")
    communicators[1].gather(b"")  # the message of the other was there
    communicators[1]._timeout = 0.5
    with pytest.raises(ClusterError, match=r"did not take part"):
        communicators[1].gather(b"")


def test_a_closed_communicator_says_so(workers):
    communicators = workers(1)
    communicators[0].close()
    communicators[0].close()
    with pytest.raises(ClusterError, match="closed"):
        communicators[0].gather(b"")


# ---- strangers -----------------------------------------------------------------------------------


def test_a_worker_with_another_token_is_refused_at_once_and_nobody_else():
    listeners = [SocketListener() for _ in range(2)]
    addresses = [listener.address for listener in listeners]

    def connect(rank, token=TOKEN):
        return listeners[rank].connect(rank, addresses, token, start=2 * LONG)

    with ThreadPoolExecutor(1) as pool:
        zero = pool.submit(connect, 0)
        with SocketListener() as stranger, pytest.raises(ClusterError, match="not know the token"):
            stranger.connect(1, addresses, TOKEN[::-1], start=2 * LONG)
        communicators = [connect(1), zero.result()]
    assert in_threads(communicators, lambda one: one.gather(b"x")) == [[b"x", b"x"]] * 2
    in_threads(communicators, lambda one: one.close())


@pytest.mark.parametrize(
    "greeting", [b"", b"GET / HTTP/1.1\r\n\r\n" * 10, b"hedgerow\1\0\0\0" + bytes(2000)]
)
def test_strangers_do_not_disturb(greeting):
    listeners = [SocketListener() for _ in range(2)]
    addresses = [listener.address for listener in listeners]
    strangers = [socket.create_connection(addresses[0]) for _ in range(5)]
    for stranger in strangers:
        stranger.sendall(greeting)
    with ThreadPoolExecutor(2) as pool:
        communicators = list(
            pool.map(lambda rank: listeners[rank].connect(rank, addresses, TOKEN), range(2))
        )
    assert in_threads(communicators, lambda one: one.gather(b"x")) == [[b"x", b"x"]] * 2
    in_threads(communicators, lambda one: one.close())
    for stranger in strangers:
        stranger.close()


def test_a_worker_that_does_not_come_is_an_error():
    with SocketListener() as first, SocketListener() as other:
        addresses = [first.address, other.address]
    with pytest.raises(ClusterError, match=r"Worker 1 did not connect to worker 0 within 0\.5 s"):
        SocketListener().connect(0, addresses, TOKEN, start=0.5)
    with pytest.raises(ClusterError, match="Worker 1 cannot connect to worker 0"):
        SocketListener().connect(1, [other.address, addresses[0]], TOKEN, start=0.5)


def test_a_token_must_be_long():
    with pytest.raises(ClusterError, match="at least 16 bytes"):
        SocketListener().connect(0, [("127.0.0.1", 1)], b"short")


def pair():
    """Return our end of a connection, the other socket, and what seals its frames."""
    ours, theirs = socket.socketpair()
    keys = secrets.token_bytes(32), secrets.token_bytes(32)
    incoming, outgoing = map(frames.Direction, keys)
    return handshake.Connection(ours, outgoing, incoming), theirs, frames.Direction(keys[0])


def sealed(direction, kind, number, content=b"", length=None):
    """Return a frame; it may announce another length than that of its payload."""
    announced = range(len(content) if length is None else length)
    payload = frames.Payload(announced, frames.digest_of(content))
    return direction.seal(kind, number, payload) + content


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ((1, 0, b"", 1 << 60), "invalid message, of 1152921504606846976 bytes"),
        ((1, 7), "sent message 7 out of order"),
        ((1, 0), "made a different call from worker 0"),
    ],
)
def test_messages_that_make_no_sense_end_the_fit(frame, message):
    connection, theirs, direction = pair()
    other, silent, _ = pair()
    with sockets.SocketCommunicator(0, {1: connection, 2: other}) as communicator:
        theirs.sendall(sealed(direction, *frame))
        with pytest.raises(ClusterError, match=message):
            communicator.gather(b"")
        theirs.close()
        silent.close()


def test_a_message_that_comes_twice_ends_the_fit():
    connection, theirs, direction = pair()
    with sockets.SocketCommunicator(0, {1: connection}) as communicator:
        theirs.sendall(sealed(direction, 2, 0) + sealed(direction, 2, 0))
        assert communicator.gather(b"") == [b"", b""]
        with pytest.raises(ClusterError, match="worker 1 sent message 0 out of order"):
            communicator.gather(b"")
        theirs.close()


def test_signs_of_life_do_not_part_a_message(workers):
    def work(communicator):
        for link in communicator._links.values():
            link.beat()
        return communicator.gather(bytes(20_000_000))[1:] == [bytes(20_000_000)]

    assert in_threads(workers(2), work) == [True, True]


def test_no_thread_is_left(workers):
    before = threading.active_count()
    communicators = connected(3)
    assert threading.active_count() > before
    in_threads(communicators, lambda one: one.close())
    assert threading.active_count() == before


@pytest.mark.parametrize("size", [0, -1, 1.5, "2", True])
@pytest.mark.parametrize("run", [run_threads, run_processes])
def test_a_number_of_workers_that_is_none_is_refused(run, size):
    with pytest.raises(ParameterError, match=r"size=.* must be an int >= 1"):
        run(cluster_work.ten_calls, size)


def test_a_function_that_cannot_be_sent_to_processes_is_refused():
    with pytest.raises(ParameterError, match=r"work=.* Define the function in a module"):
        run_processes(lambda communicator: communicator.rank, 2)
