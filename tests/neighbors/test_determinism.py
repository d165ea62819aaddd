"""The same bytes for any number of threads and at every instruction-set level."""

import hashlib
import os
import subprocess
import sys

import pytest
from hedgerow._native.cpu import isa_level

from hedgerow._native import LEVELS

# Asks everything of every metric in every way, and prints a hash of all that was found.
ASK_AND_HASH = """
import hashlib, sys
import numpy as np, pandas as pd, scipy.sparse
from hedgerow.neighbors import (
    KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors, RadiusNeighborsRegressor)

rng = np.random.default_rng(0)
n = 3_000
X = rng.standard_normal((n, 7)) + 1e6
X[::3] = X[::3].round(1)
Q = rng.standard_normal((200, 7)) + 1e6
y = X[:, 0] - X[:, 1]
mixed = pd.DataFrame(X, columns=list("abcdefg")).assign(town=rng.choice(["Ur", "Kish"], n))
mixed = mixed.mask(rng.random((n, 8)) < 0.1)
sparse = scipy.sparse.random(n, 50, 0.1, "csr", random_state=rng)
for n_jobs in map(int, sys.argv[1].split(",")):
    found = []
    ways = [(m, a, 2) for m in ("euclidean", "manhattan", "chebyshev", "cosine")
            for a in ("brute", "kd_tree")]
    ways += [("minkowski", a, p) for a in ("brute", "kd_tree") for p in (3, 1.7)]
    for metric, algorithm, p in ways:
        rows = NearestNeighbors(metric=metric, algorithm=algorithm, p=p, n_jobs=n_jobs).fit(X)
        distances, indices = rows.kneighbors(Q, 8)
        graph = rows.radius_neighbors_graph(Q, float(distances[:, -1].mean()), mode="distance")
        found += [distances, indices, graph.data, graph.indices, graph.indptr]
    found += NearestNeighbors(metric="gower", n_jobs=n_jobs).fit(mixed).kneighbors(mixed[:200])
    for metric in ("euclidean", "cosine"):
        found += NearestNeighbors(metric=metric, n_jobs=n_jobs).fit(sparse).kneighbors(sparse[:200])
    weighted = {"weights": "distance", "n_jobs": n_jobs}
    found.append(KNeighborsRegressor(**weighted).fit(X, y).predict(Q))
    found.append(KNeighborsClassifier(**weighted).fit(X, y > 0).predict_proba(Q))
    found.append(RadiusNeighborsRegressor(4.0, **weighted).fit(X, y).predict(Q))
    print(hashlib.sha256(b"".join(np.ascontiguousarray(f).tobytes() for f in found)).hexdigest())
"""


def digests(level, n_jobs):
    environment = os.environ | {"HEDGEROW_ISA": level}
    command = [sys.executable, "-c", ASK_AND_HASH, n_jobs]
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout.split()


@pytest.mark.skipif(len(LEVELS) == 1, reason="there is one level on this kind of processor")
def test_neighbours_are_the_same_for_every_thread_count_and_instruction_set():
    levels = [level for level in LEVELS if level <= isa_level()]
    hashes = digests(levels[-1], "1,2,3,8")
    for level in levels[:-1]:
        hashes += digests(level, "1,3")
    assert len(hashes) == 4 + 2 * (len(levels) - 1)
    assert len(set(hashes)) == 1
    assert len(hashes[0]) == len(hashlib.sha256().hexdigest())
