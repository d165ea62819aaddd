"""Chains of work on several threads: every step once, in order, and none after a failure."""

from threading import Lock
from time import sleep

import pytest

from hedgerow._threads import SideBySide


class Chain:
    """Counts its steps, and notices two threads at once."""

    def __init__(self, n_steps, fails_at=None):
        self.n_steps, self.fails_at = n_steps, fails_at
        self.taken, self.lock = [], Lock()

    def __iter__(self):
        return self

    def __next__(self):
        assert self.lock.acquire(blocking=False), "two threads advance a chain at the same time"
        try:
            if len(self.taken) == self.fails_at:
                raise ZeroDivisionError
            if len(self.taken) == self.n_steps:
                raise StopIteration
            self.taken.append(len(self.taken))
        finally:
            self.lock.release()


def run(chains, n_workers):
    threads = SideBySide(n_workers)
    try:
        threads.run(chains)
    finally:
        threads.close()


@pytest.mark.parametrize("n_workers", [1, 3, 8])
def test_all_steps_are_taken_in_order(n_workers):
    chains = [Chain(n_steps) for n_steps in (0, 1, 40, 7, 40)]
    run(chains, n_workers)
    assert [chain.taken for chain in chains] == [list(range(chain.n_steps)) for chain in chains]


def test_the_chain_that_has_come_least_far_is_next():
    order = []

    def chain(number, n_steps):
        for _ in range(n_steps):
            order.append(number)
            yield

    threads = SideBySide(2)
    # One worker for two chains: with as many workers as chains nobody would have to choose.
    threads._n_workers = 1
    try:
        threads.run([chain(0, 3), chain(1, 3)])
    finally:
        threads.close()
    assert order == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_failure_is_passed_on_and_ends_the_others(n_workers):
    failing, endless = Chain(10, fails_at=3), Chain(10**9)
    with pytest.raises(ZeroDivisionError):
        run([failing, endless] if n_workers == 2 else [failing], n_workers)
    n_taken = len(endless.taken)
    sleep(0.01)  # time for thousands of steps
    assert len(endless.taken) <= n_taken + 1  # that in which it was
