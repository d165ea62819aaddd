"""Checkpoints of fits on several workers: the local ones, so either can go on from the other's."""

import shutil
from functools import cache

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import cluster
from hedgerow.exceptions import ParameterError

rng = np.random.default_rng(0)
N = 5000
X = rng.normal(size=(N, 4))
Y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=N)
PARAMETERS = {"n_estimators": 30, "subsample": 0.7, "early_stopping": True, "random_state": 1}


class Stop(Exception):  # noqa: N818
    """What breaks a fit off."""


def stop(info):
    if info.round == 25:
        raise Stop


def fit_together(ends, **arguments):
    def work(communicator):
        rows = slice(ends[communicator.rank], ends[communicator.rank + 1])
        model = hr.GradientBoostingRegressor(**PARAMETERS)
        return cluster.fit(model, X[rows], Y[rows], communicator=communicator, **arguments)

    return cluster.run_threads(work, len(ends) - 1)[0]


@cache
def local_fit():
    return hr.GradientBoostingRegressor(**PARAMETERS).fit(X, Y)


def bytes_of(model, folder):
    model.save(folder / "model")
    return (folder / "model").read_bytes()


DIVISIONS = [
    [0, N],
    [0, 1024, 2048, N],
    [0, 1000, 1010, 1020, 1024, 1500, N],
    [0, 0, 700, 4999, N],
    [0, 10, 20, 30, N],
]


@pytest.mark.parametrize("ends", DIVISIONS, ids=str)
def test_a_fit_goes_on_wherever_it_was_broken_off(tmp_path, ends):
    broken_off = tmp_path / "broken off"
    with pytest.raises(Stop):
        fit_together(ends, checkpoint=broken_off, callbacks=[stop])
    whole = bytes_of(local_fit(), tmp_path)
    for number, others in enumerate(DIVISIONS):
        path = shutil.copy(broken_off, tmp_path / str(number))
        rounds = []
        resumed = fit_together(
            others, checkpoint=path, callbacks=[lambda info, seen=rounds: seen.append(info.round)]
        )
        assert bytes_of(resumed, tmp_path) == whole
        assert min(rounds) > 10  # those before are in the checkpoint


def test_the_local_fit_goes_on_from_the_checkpoint_of_a_cluster(tmp_path):
    path = tmp_path / "checkpoint"
    with pytest.raises(Stop):
        fit_together([0, 900, 3000, N], checkpoint=path, callbacks=[stop])
    resumed = hr.GradientBoostingRegressor(**PARAMETERS).fit(X, Y, checkpoint=path)
    assert bytes_of(resumed, tmp_path) == bytes_of(local_fit(), tmp_path)


def test_other_rows_are_refused(tmp_path):
    path = tmp_path / "checkpoint"
    fit_together([0, 900, 3000, N], checkpoint=path)
    with pytest.raises(ParameterError, match="of a fit to different data"):
        fit_together([0, 900, 3000, N - 1], checkpoint=path)


def test_workers_share_a_random_seed():
    def work(communicator):
        rows = slice(communicator.rank * 2500, (communicator.rank + 1) * 2500)
        model = hr.GradientBoostingRegressor(n_estimators=3, subsample=0.5, random_state=None)
        cluster.fit(model, X[rows], Y[rows], communicator=communicator)
        return model.predict(X[:10]).tolist()

    one, other = cluster.run_threads(work, 2)
    assert one == other
