"""A fit on MPI: each process has some rows, and all of them end with the same model.

    pip install hedgerow mpi4py mpich
    mpiexec -n 4 python docs/recipes/mpi_fit.py

If a process fails, MPI ends all of them; that is what `abort` asks for.
"""

import sys

from mpi4py import MPI
from sklearn.datasets import load_breast_cancer

import hedgerow as hr
from hedgerow import cluster


class MPICommunicator:
    """The two calls of a fit as those of MPI."""

    def __init__(self, world):
        self.world = world.Dup()
        self.rank, self.size = world.Get_rank(), world.Get_size()

    def exchange(self, parts):
        return self.world.alltoall(list(parts))

    def gather(self, part):
        return self.world.allgather(part)

    def abort(self, reason):
        print(reason, file=sys.stderr, flush=True)
        self.world.Abort(1)


communicator = MPICommunicator(MPI.COMM_WORLD)
X, y = load_breast_cancer(return_X_y=True)  # yours would be the rows of this process alone
rows = slice(
    len(X) * communicator.rank // communicator.size,
    len(X) * (communicator.rank + 1) // communicator.size,
)
model = hr.GradientBoostingClassifier(n_estimators=20)
model = cluster.fit(model, X[rows], y[rows], communicator=communicator)
if communicator.rank == 0:
    model.save("mpi.hedgerow")
