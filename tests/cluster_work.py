"""What the processes of the tests do: a new process imports it by name."""

import os
import signal

import numpy as np


def verbs(communicator):
    """Make every call a few times, with long and empty messages; return what arrived."""
    rank, size = communicator.rank, communicator.size
    found = []
    for n in (0, 1, 100, 3_000_000):
        parts = [bytes([rank, to]) * n for to in range(size)]
        got = communicator.exchange(parts)
        found.append(got == [bytes([sender, rank]) * n for sender in range(size)])
        found.append(
            communicator.gather(bytes([rank]) * n) == [bytes([r]) * n for r in range(size)]
        )
    return all(found), communicator.traffic


def ten_calls(communicator):
    return [communicator.gather(bytes([communicator.rank])) for _ in range(10)][-1]


def fails(communicator):
    communicator.gather(b"")
    if communicator.rank == 1:
        raise ZeroDivisionError("of worker 1")
    communicator.gather(b"")


def stops(communicator):
    """One worker returns while the others go on."""
    if communicator.rank == 1:
        return
    communicator.gather(b"")


def dies(communicator):
    """Worker 1 is killed; the others wait for it."""
    communicator.gather(b"")
    if communicator.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    communicator.gather(b"")


def freezes(communicator):
    """Worker 1 is stopped, as by a debugger, and its connections stay open."""
    if communicator.rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    communicator.gather(b"")


def mixed_up(communicator):
    if communicator.rank == 0:
        communicator.gather(b"")
    else:
        communicator.exchange([b""] * communicator.size)


def model_bytes(communicator):
    """Fit a model to a share of the rows."""
    import hedgerow as hr
    from hedgerow import cluster
    from hedgerow._model_file.container import pack
    from hedgerow._model_file.contents import write_estimator

    X, y = table()
    rows = np.array_split(np.arange(len(X)), communicator.size)[communicator.rank]
    model = hr.GradientBoostingClassifier(n_estimators=3)
    cluster.fit(model, X[rows], y[rows], communicator=communicator)
    return bytes(pack(*write_estimator(model)))


def table():
    rng = np.random.RandomState(0)
    X = rng.randn(500, 4)
    return X, (X[:, 0] + rng.randn(500) > 0).astype(int)
