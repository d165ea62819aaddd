"""The same bytes for any number of threads and at every instruction-set level."""

import hashlib

import pytest

from levels import ONE_LEVEL, OTHERS, printed_with_any_threads

# Asks everything of every metric in every way, and prints a hash of all that was found.
ASK_AND_HASH = """
import hashlib, sys
import numpy as np, pandas as pd, scipy.sparse
from hedgerow._neighbors import (
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
n_jobs = int(sys.argv[1])
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


@pytest.mark.skipif(not OTHERS, reason=ONE_LEVEL)
def test_neighbours_are_the_same_for_every_thread_count_and_instruction_set():
    first, *others = printed_with_any_threads(ASK_AND_HASH)
    assert len(first.strip()) == len(hashlib.sha256().hexdigest())
    assert all(found == first for found in others)
