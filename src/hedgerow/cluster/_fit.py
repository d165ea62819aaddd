"""`fit` on a table whose rows are divided among workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from hedgerow._boosting import (
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
)
from hedgerow._collective import Communicator, Workers, working_together
from hedgerow._data.parquet_table import ParquetTable
from hedgerow._estimator import adopt, fitted_attributes
from hedgerow._forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow._model_file.container import pack, unpack
from hedgerow._model_file.contents import read_estimator, write_estimator
from hedgerow._params import Declared, parameters_of
from hedgerow.exceptions import DataError, ParameterError

DISTRIBUTABLE = (
    *(GradientBoostingClassifier, GradientBoostingRegressor, GradientBoostingRanker),
    *(RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor),
)

# What may differ between workers: it does not decide what the model is.
_OWN_PARAMETERS = ("n_jobs", "verbose")
_OWN_ARGUMENTS = ("callbacks", "checkpoint", "checkpoint_every", "memory_limit")

E = TypeVar("E")


def fit(estimator: E, X: Any, y: Any = None, *, communicator: Communicator, **arguments: Any) -> E:
    """Fit an estimator to the rows of all workers.

    Every worker calls this with an estimator that has the same parameters, and with its own rows:
    those of worker 0 come first in the table, then those of worker 1, and so on. A worker may have
    no rows. Every worker returns the model, which is the same, bit for bit, as that of
    ``estimator.fit`` with the whole table.

    Parameters
    ----------
    estimator : estimator
        A gradient boosting classifier, regressor or ranker, or a forest; the documentation lists
        the parameters that cannot be distributed. For a forest, every worker receives the binned
        rows of all workers, a byte for each value; for a ranker, all rows of a query must be on the
        same worker.
    X, y : table and target
        The rows of this worker.
    communicator : Communicator
        How the workers exchange bytes.
    **arguments
        Further arguments of ``estimator.fit``, such as sample_weight or eval_set. Each worker
        passes the part that belongs to its own rows. All workers with rows must pass the same
        arguments, except that callbacks may differ: the fit stops if a callback on any worker
        returns True.

    Returns
    -------
    estimator
        The fitted estimator.
    """
    try:
        return _fit(estimator, X, y, communicator, arguments)
    except BaseException as error:
        communicator.abort(f"worker {communicator.rank}: {type(error).__name__}: {error}")
        raise


def _fit(
    estimator: E, X: Any, y: Any, communicator: Communicator, arguments: Mapping[str, Any]
) -> E:
    _require_distributable(estimator)
    if isinstance(X, ParquetTable):
        raise DataError(
            "X is a ParquetTable, which is read on a single machine. On a cluster, each worker "
            "passes its own rows; hedgerow.dask reads Parquet files with "
            "dask.dataframe.read_parquet."
        )
    model: Any = estimator
    own = asdict(_Terms.of(model, X, arguments))
    terms = [_Terms(**of_worker) for of_worker in Workers(communicator).objects(own)]
    _require_agreement(terms)
    active = [rank for rank, of_rank in enumerate(terms) if of_rank.n_rows > 0]
    if communicator.rank not in active and active:
        adopt(model, _wait_for_model(communicator))
        return estimator
    busy = _BusyWorkers(communicator, active or list(range(communicator.size)))
    with working_together(busy):
        model.fit(X, y, **arguments)
    busy.finish(estimator)
    return estimator


def _require_distributable(estimator: object) -> None:
    if not isinstance(estimator, DISTRIBUTABLE):
        names = ", ".join(kind.__name__ for kind in DISTRIBUTABLE)
        raise ParameterError(
            f"{type(estimator).__name__} cannot be fitted on several workers; these can: {names}."
        )
    for name in ("oob_score", "keep_targets", "feature_combinations", "warm_start"):
        if getattr(estimator, name, None):
            raise ParameterError(
                f"{name}={getattr(estimator, name)!r} cannot be used in a fit on several workers "
                "yet."
            )


# ---- what all workers must agree on --------------------------------------------------------------


@dataclass(frozen=True)
class _Terms:
    """What a worker tells the others before a fit.

    Attributes
    ----------
    n_rows : int
        Its rows of the training set.
    eval_rows : list of int
        Its rows of each evaluation set.
    kind : str
        The class of its estimator.
    parameters : dict
        The parameters, as text.
    arguments : list of str
        The further arguments of `fit` that it passes.
    """

    n_rows: int
    eval_rows: list[int]
    kind: str
    parameters: dict[str, str]
    arguments: list[str]

    @classmethod
    def of(cls, estimator: Declared, X: Any, arguments: Mapping[str, Any]) -> _Terms:
        names = [parameter.name for parameter in parameters_of(estimator)]
        passed = [name for name, value in arguments.items() if value is not None]
        return cls(
            _count_rows(X),
            _count_eval_rows(arguments.get("eval_set")),
            type(estimator).__name__,
            {n: _text(getattr(estimator, n)) for n in names if n not in _OWN_PARAMETERS},
            sorted(set(passed) - set(_OWN_ARGUMENTS)),
        )


def _count_rows(X: Any) -> int:
    try:
        return int(X.shape[0]) if hasattr(X, "shape") else len(X)
    except (TypeError, IndexError):
        return 1  # not a table, as `fit` will say


def _count_eval_rows(eval_set: Any) -> list[int]:
    if not isinstance(eval_set, tuple | list):
        return []
    is_one = isinstance(eval_set, tuple) and not all(isinstance(e, tuple) for e in eval_set)
    entries = [eval_set] if is_one else eval_set
    return [_count_rows(e[0]) for e in entries if isinstance(e, tuple | list) and e]


def _text(value: Any) -> str:
    """Return a parameter as text; of objects that each process has its own of, the type."""
    if isinstance(value, dict):
        return str({_text(key): _text(each) for key, each in value.items()})
    if isinstance(value, list | tuple):
        return str([_text(each) for each in value])
    if value is None or isinstance(value, str | bool | int | float):
        return repr(value)
    return type(value).__name__


def _require_agreement(terms: Sequence[_Terms]) -> None:
    """Raise on all workers if the arguments of one do not suit those of another."""
    ranks = [rank for rank, of_rank in enumerate(terms) if of_rank.n_rows > 0]
    for rank, idle in enumerate(terms):
        if ranks and rank not in ranks and any(idle.eval_rows):
            raise DataError(
                f"eval_set: worker {rank} has {max(idle.eval_rows)} rows of it, but no rows of X. "
                "Pass evaluation sets only on workers that have rows of X."
            )
    for rank in ranks[1:]:
        _require_same_terms(terms[ranks[0]], terms[rank], ranks[0], rank)


def _require_same_terms(first: _Terms, other: _Terms, rank: int, other_rank: int) -> None:
    advice = "All workers need the same estimator, parameters and arguments."

    def require_same(what: str, value: Any, other_value: Any) -> None:
        if value != other_value:
            raise ParameterError(
                f"{what}: {value} on worker {rank}, but {other_value} on worker {other_rank}. "
                f"{advice}"
            )

    require_same("estimator", first.kind, other.kind)
    for name, value in first.parameters.items():
        require_same(name, value, other.parameters.get(name))
    for name in sorted({*first.arguments, *other.arguments}):
        states = ["passed" if name in each.arguments else "not passed" for each in (first, other)]
        require_same(name, *states)
    require_same("eval_set", *(f"{len(each.eval_rows)} sets" for each in (first, other)))


# ---- workers without rows ------------------------------------------------------------------------


class _BusyWorkers:
    """The communicator of the workers that have rows.

    The others take part in every call without a contribution, because calls are collective. At the
    end they receive the model.
    """

    def __init__(self, communicator: Communicator, active: Sequence[int]) -> None:
        self._communicator, self._active = communicator, active
        self._has_idle = len(active) < communicator.size
        self.rank, self.size = active.index(communicator.rank), len(active)

    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        """Send ``parts[j]`` to worker j; return what each worker has sent to this worker."""
        to_all = [b""] * self._communicator.size
        for rank, part in zip(self._active, parts, strict=True):
            to_all[rank] = part
        received = self._communicator.exchange(to_all)
        return [received[rank] for rank in self._active]

    def gather(self, part: bytes) -> list[bytes]:
        """Return what each worker has passed, in the order of their ranks."""
        if self._has_idle:
            return self.exchange([part] * self.size)
        return self._communicator.gather(part)

    def abort(self, reason: str) -> None:
        """Make all pending and future calls fail, on all workers."""
        self._communicator.abort(reason)

    def finish(self, model: Any) -> None:
        """Send the model to the workers without rows."""
        if self._has_idle:
            parts = [b""] * self._communicator.size
            if self.rank == 0:
                idle = set(range(self._communicator.size)) - set(self._active)
                file = _as_file(model)
                parts = [file if rank in idle else b"" for rank in range(len(parts))]
            self._communicator.exchange(parts)


def _as_file(model: Any) -> bytes:
    """Return the model file; of a subclass, that of the estimator of this library."""
    kind = next(each for each in DISTRIBUTABLE if isinstance(model, each))
    plain = kind(
        **{parameter.name: getattr(model, parameter.name) for parameter in parameters_of(kind)}
    )
    adopt(plain, fitted_attributes(model))
    return pack(*write_estimator(plain))


def _wait_for_model(communicator: Communicator) -> dict[str, Any]:
    """Take part in the calls of the other workers until they have a model; return what it is."""
    while True:
        received = communicator.exchange([b""] * communicator.size)
        file = b"".join(received)
        if file:
            return fitted_attributes(read_estimator(*unpack(file)))
