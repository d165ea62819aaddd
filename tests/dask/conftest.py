"""Clusters that the tests share."""

import pytest

distributed = pytest.importorskip("distributed")

import dask  # noqa: E402

import dask_work  # noqa: E402

# Workers record what their threads do, a hundred times a second. Python 3.11.7 stands still
# for ever if garbage is collected meanwhile and a library (hypothesis) is told of that.
dask.config.set({"distributed.worker.profile.enabled": False})

# The library itself is not among them: each worker imports it, as workers elsewhere do.
distributed.utils.get_mp_context().set_forkserver_preload(
    ["distributed", "pandas", "pyarrow.compute", "scipy.stats", "sklearn.metrics"]
)


def pytest_collection_modifyitems(items):
    """Dask does not close sockets whose connection failed while a cluster starts or ends."""
    for item in items:
        if "/tests/dask/" in item.path.as_posix():
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(
                pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
            )


@pytest.fixture(scope="session")
def _processes():
    with distributed.LocalCluster(n_workers=2, processes=True, **dask_work.OPTIONS) as cluster:
        with distributed.Client(cluster) as client:
            client.run(dask_work.warm_up)
        yield cluster


@pytest.fixture(scope="session")
def _threads():
    with distributed.LocalCluster(n_workers=3, processes=False, **dask_work.OPTIONS) as cluster:
        yield cluster


@pytest.fixture
def processes(_processes):
    """Return a client of two workers that are processes; check that a test leaves nothing."""
    with distributed.Client(_processes) as client:
        yield client
        assert set(client.run(dask_work.leftovers).values()) == {None}


@pytest.fixture
def threads(_threads):
    """Return a client of three workers in this process."""
    with distributed.Client(_threads) as client:
        yield client
        assert set(client.run(dask_work.leftovers).values()) == {None}
