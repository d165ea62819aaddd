"""A fit on Ray: actors that are connected by sockets, and all end with the same model.

    pip install hedgerow ray
    python docs/recipes/ray_fit.py

`actors` is a placement group's worth of processes on any nodes of a Ray cluster.
"""

import secrets

import ray
from sklearn.datasets import load_breast_cancer

import hedgerow as hr
from hedgerow import cluster


@ray.remote
class Worker:
    """A process that has some rows."""

    def listen(self):
        self.listener = cluster.SocketListener(ray.util.get_node_ip_address())
        return self.listener.address

    def fit(self, model, X, y, rank, addresses, token):
        with self.listener.connect(rank, addresses, token) as communicator:
            return cluster.fit(model, X, y, communicator=communicator)


if __name__ == "__main__":
    ray.init(num_cpus=3, include_dashboard=False)
    X, y = load_breast_cancer(return_X_y=True)
    ends = [0, 150, 400, len(X)]
    actors = [Worker.remote() for _ in ends[1:]]
    addresses = ray.get([actor.listen.remote() for actor in actors])
    model, token = hr.GradientBoostingClassifier(n_estimators=20), secrets.token_bytes(32)
    fits = []
    for rank, actor in enumerate(actors):
        rows = slice(ends[rank], ends[rank + 1])
        fits.append(actor.fit.remote(model, X[rows], y[rows], rank, addresses, token))
    ray.get(fits)[0].save("ray.hedgerow")
