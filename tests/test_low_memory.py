"""Where memory runs out, a fit succeeds or raises MemoryError: the process never aborts."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr

resource = pytest.importorskip("resource", reason="no limits of a process")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3_000, 20))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
FEW = 300
MODELS = {
    "boosting": hr.GradientBoostingClassifier(n_estimators=3, learning_rate=0.1, n_jobs=2),
    "exact": hr.GradientBoostingClassifier(
        n_estimators=2, learning_rate=0.1, splitter="exact", n_jobs=2
    ),
    "vector": hr.GradientBoostingClassifier(
        n_estimators=2, learning_rate=0.1, multi_strategy="vector", n_jobs=2
    ),
    "forest": hr.RandomForestClassifier(n_estimators=4, n_jobs=2),
    "neighbors": hr.KNeighborsClassifier(n_jobs=2),
    "svm": hr.SVC(max_iter=50),
}
MEBIBYTE = 2**20
ROOM = [0, 0.05, 0.1, 0.2, 0.4, 0.7, 1, 1.2, 1.5, 2, 2.5, 3, 4, 6, 9, 14, 30]


def outcome(action, room):
    """Run an action in a forked child with so many MiB to spare; return how the child ended."""
    child = os.fork()
    if child:
        status = os.waitpid(child, 0)[1]
        return os.waitstatus_to_exitcode(status)
    try:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        limit = used + int(room * MEBIBYTE)
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        action()
    except MemoryError:
        os._exit(0)
    except BaseException:  # noqa: BLE001 - the child must not go on as a test run
        os._exit(1)
    os._exit(0)


# A process in which no histogram was built yet: what a thread needs for that must not be allocated
# where a failure cannot be caught, as `thread_local` memory is at its first use.
FIRST_FIT = """
import os, resource
import numpy as np
import hedgerow as hr
X = np.random.default_rng(0).standard_normal((40_000, 20))
y = (X[:, 0] > 0).astype(int)
options = {"n_estimators": 1, "learning_rate": 0.1}
hr.GradientBoostingClassifier(splitter="exact", n_jobs=1, **options).fit(X[:50], y[:50])
model = hr.GradientBoostingClassifier(n_jobs=2, **options)
for room in [*range(1_500, 2_500, 100), 6_700]:
    child = os.fork()
    if child:
        status = os.waitpid(child, 0)[1]
        assert os.waitstatus_to_exitcode(status) == 0, room
        continue
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + room * 1024,) * 2)
    try:
        model.fit(X, y)
    except MemoryError:
        pass
    os._exit(0)
"""


def test_the_first_fit_of_a_process_succeeds_or_raises_memory_error():
    command = [sys.executable, "-W", "ignore", "-c", FIRST_FIT]  # of forks with threads
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_a_fit_succeeds_or_raises_memory_error(name):
    model = MODELS[name]
    n = FEW if name == "svm" else len(X)
    model.fit(X[:n], Y[:n]).predict(X[:n])  # whatever is imported late, is now
    ends = [outcome(lambda: model.fit(X[:n], Y[:n]).predict(X[:n]), room) for room in ROOM]
    assert ends == [0] * len(ROOM), dict(zip(ROOM, ends, strict=True))
